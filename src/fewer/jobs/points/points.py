"""k weighted rows that stand for a whole data set: rows made ready, the search, the answer in terms of X."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._validation import Indices, InvalidInput, as_generator, as_integer, gathered, renamed
from ...constraints.groups import Groups
from ...options import takes
from ...result import Result
from ...similarity import from_matrix
from ...tables.frames import height, index_of, take_rows
from ...tables.source import is_lazy, source_of
from ...threads import own_threads
from .blocks import points_in_blocks
from .comparison import MEANS_ONLY, STANDARDIZED, Comparison, standardizes, with_bandwidth
from .explain import Source
from .moving import move_points
from .options import PointsOptions
from .rows import (
    Limits,
    RowInput,
    Sample,
    as_gram,
    by_position,
    distinct_rows,
    groups_of,
    read_rows,
)
from .target import Answer, target_of
from .units import choose_units

BYTES_PER_ROW = 24
"""Bytes for each row of X that positions and the answer take, at least."""
NOT_FOR_A_SPLIT = ("equal_weights", "max_weight", "min_weight", "move", "sample_weight")
"""Options of `points` that a split leaves no choice about: its rows count alike, and stay rows."""


@takes(PointsOptions)
def points(X: Any, k: int, **options: Any) -> Result:
    """Choose k rows of X and weights q on them, as near as possible to all rows in MMD.

        MMD²(q) = Σ q_i q_j s(x_i, x_j) - 2 Σ q_i t_j s(x_i, x_j) + Σ t_i t_j s(x_i, x_j)

    over q >= 0, Σ q = 1, with t the weights of the rows. No N x N matrix is formed. If all pairs
    would take more than 1e11 operations, some thousand rows drawn at random are the candidates,
    each compared with all rows, and the value is estimated by random Fourier features (for hamming
    and functions: on a sample). Then `value_se` is its standard error, `bound` is None, and `note`
    says what was done.

    In a table, numbers are scaled and categories are compared by equality:

        s(x, y) = exp(-gamma Σ_numbers (x_j - y_j)²) Π_categories exp(-2 gamma [x_c ≠ y_c])

    which is positive definite. Two random rows then differ by 2 in each scaled number, on average,
    and by 2 in each category in which they differ.

    Parameters
    ----------
    X : array, sparse matrix, or table of shape (N, d), or data in blocks
        A table is a DataFrame of pandas or polars or a Table of pyarrow, with numbers, booleans,
        texts, categories, dates and times. float32 stays float32; sparse rows are for rbf, matern,
        cosine and linear. Blocks come from a Dask array or frame, a list of delayed blocks, paths
        or a pattern of them, a callable that returns an iterator of blocks for each pass, or such
        an iterator. What exceeds half of `max_memory` is read twice: some thousand random rows are
        compared with all rows. An iterator is read once: each block keeps some weighted rows that
        represent it, and `note` has a proven bound on the MMD to all rows.
    k : int
        How many rows to keep; at most the number of distinct rows.
    {options}

    Returns
    -------
    Result
        `indices` are rows of X (of equal rows the first), `rows` these rows in the container of X,
        `counts` how many rows each represents, `value` is MMD², `bound` a proven lower bound over
        all rows, at least 0, or None if only some rows were candidates. With `move`, `rows` are the
        points, and `indices` the rows they started from. With `units`, `indices` are all rows of
        the chosen units, `units` their labels and `unit_weights` their weights.

    References
    ----------
    Gretton et al. (2012), A kernel two-sample test. Kim, Khanna and Koyejo (2016), Examples are not
    enough, learn to criticize! Teymur et al. (2021), Optimal quantisation of probability measures
    using MMD.

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    >>> result = points(X, 2, rng=0)
    >>> result.indices.tolist(), result.weights.round(2).tolist()
    ([0, 3], [0.4, 0.6])
    >>> result = points(X, 2, units=["ann", "ann", "bob", "cid", "cid"], rng=0)
    >>> result.indices.tolist(), result.units.tolist(), result.unit_weights.round(2).tolist()
    ([0, 1, 3, 4], ['ann', 'cid'], [0.4, 0.6])
    """
    with PointsOptions.of(options).watched() as checked:
        return choose_points(X, k, checked).result


def split_evenly(X: Any, k: int, **options: Any) -> tuple[Indices, Indices]:
    """Cut the rows of X into two parts of nearly equal distribution, the second with k rows.

    The second part are k rows of equal weight that are as near as possible to all rows in MMD. With
    p and t the mean embeddings of this part and of all N rows the first part is as near, for its
    own is t + (t - p) k / (N - k).

    Parameters
    ----------
    X : array, sparse matrix or table of shape (N, d)
        The rows; see `points`.
    k : int
        How many rows the second part has, fewer than there are and at most the number of distinct
        ones.
    **options
        Options of `points`, such as labels, include (in the second part), exclude (in the first),
        groups, similarity, time_limit and rng. Those about weights and moving are not for a split,
        nor is missing="drop".

    Returns
    -------
    first, second : ndarray of int
        Sorted row numbers, (N - k,) and (k,).

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> first, second = split_evenly(X, 2, rng=0)
    >>> len(first), len(second), sorted(int(i > 1) for i in second)
    (2, 2, [0, 1])
    """
    fixed = [name for name in NOT_FOR_A_SPLIT if name in options]
    if fixed:
        raise InvalidInput(f"{fixed[0]} is not for a split: its rows count alike, and stay rows")
    if options.get("missing") == "drop":
        raise InvalidInput(
            "missing='drop' would leave rows in neither part; use 'impute' or 'category', or drop"
            " them"
        )
    X = gathered(X)
    second = points(X, k, equal_weights=True, **options).indices
    n = height(X)
    if len(second) == n:
        raise InvalidInput(
            f"k must be below the number of rows, {n}, so that a first part is left, got {k}"
        )
    return np.setdiff1d(np.arange(n), second), second


def choose_points(X: Any, k: int, options: PointsOptions, most: bool = True) -> Answer:
    """Choose points of rows in memory or in blocks; what fits into half of the memory is gathered.

    With `most` False a k above the distinct rows means all of them.
    """
    if not is_lazy(X):
        return solve_points(gathered(X), k, options, most)
    k = as_integer(k, "k", 1)
    source = source_of(X, options.labels, options.sample_weight)
    whole = source.whole(options.max_memory // 2)
    if whole is None:
        with own_threads():
            return points_in_blocks(source, k, options, most)
    roles = {"labels": whole.y, "sample_weight": whole.weight}
    roles = {name: x for name, x in roles.items() if not isinstance(getattr(options, name), str)}
    options = by_position(height(whole.X), options.replace(**roles))
    return solve_points(whole.X, k, options, most)


def solve_points(X: Any, k: int, options: PointsOptions, most: bool = True) -> Answer:
    """Choose points of rows in memory."""
    rng, seed = as_generator(options.rng)
    with own_threads():
        prepared = prepare(X, k, options, rng, most)
        k = k if most else min(k, len(prepared.sample.weights))
        return prepared.solve(k, options, rng, seed)


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Rows as they are compared: those to choose from, the `target` to stand for, and what limits the choice.

    `units` are those of the rows of X where whole units are chosen.
    """

    X: Any
    input: RowInput
    limits: Limits
    units: Groups | None
    sample: Sample
    target: Sample
    comparison: Comparison
    notes: list[str]

    def solve(
        self, k: int, options: PointsOptions, rng: np.random.Generator, seed: int | None
    ) -> Answer:
        """Choose k points, and say what they are in X."""
        entry, sample, units, limits = self.input, self.sample, self.units, self.limits
        comparison, similarity = self.comparison, self.comparison.similarity
        if units is not None:
            how = limits, similarity, options, rng, self.notes
            answer = choose_units(entry, sample, units, k, *how)
        else:
            k = as_integer(k, "k", 1, len(sample.weights), "distinct rows")
            target = target_of(sample, self.target, similarity, k, options, rng, limits)
            rows = sample.first[target.candidates]
            C = limits.constraint(target.F.space, min(k, len(rows)), rows, options)
            answer = Answer.of(target, sample, C, options, rng, self.notes)
        indices, labels = answer.result.indices, index_of(self.X)
        X, start = (gathered(options.target), entry.n) if entry.others else (self.X, 0)
        mine = entry.kept >= start
        result = replace(
            answer.result,
            rows=None if options.precomputed else take_rows(self.X, indices),
            labels=None if labels is None else labels[indices],
            compared=None if options.precomputed else comparison,
            source=Source(X, entry.kept[mine] - start, entry.weights[mine], comparison),
            seed=seed,
        )
        if options.moves:
            result = move_points(result, answer.solution, answer.target, self, options, rng)
        return answer._replace(result=replace(result, seconds=options.deadline.elapsed()))


def prepare(
    X: Any, k: int, options: PointsOptions, rng: np.random.Generator, most: bool = True
) -> PreparedRows:
    """Make rows ready to be compared; `rng` is left as it is."""
    k = as_integer(k, "k", 1)
    scales, comparison, rows = standardizes(X, options), Comparison(options.similarity), X
    if options.precomputed:
        gram = as_gram(X)
        comparison, rows = Comparison(from_matrix(gram)), np.arange(len(gram))[:, None]
    entry = read_rows(rows, options, scales)
    if not entry.n:
        raise InvalidInput("X must have at least one row, got none")
    limits, units = Limits.of(X, entry.n, options), None
    always = entry.at(limits.include, "include")
    kinds = limits.kinds(entry.n, entry.others)
    if options.units is not None:
        options.refuse("move", "target", road="units; they are kept as they are and stand for X")
        with renamed(groups="units"):
            units = groups_of(X, options.units, entry.n)
        kinds, always = units.codes, always[:0]
    sample, unmerged = distinct_rows(entry, kinds, always, options.deadline)
    distinct = len(entry.split(sample)[0].weights)
    k = k if most and units is None else min(k, distinct)
    k = as_integer(k, "k", 1, distinct, "distinct rows")
    least = BYTES_PER_ROW * sample.size
    if least > options.max_memory:
        raise InvalidInput(
            f"max_memory must hold {BYTES_PER_ROW} bytes for each of the {sample.size} rows,"
            f" {least} bytes, got {options.max_memory}"
        )
    comparison = comparison._replace(encoding=entry.encoding)
    if scales:
        comparison = comparison.standardized_by(sample)
        sample = replace(sample, rows=comparison.view(sample.rows))
    sample, comparison, note = with_bandwidth(sample, comparison, k, options, rng)
    scaled = scales and (entry.encoding is None or entry.encoding.numbers > 0)
    means = "" if callable(options.similarity) else MEANS_ONLY.get(options.similarity, "")
    notes = [STANDARDIZED if scaled else "", *entry.notes, note, means, unmerged]
    return PreparedRows(X, entry, limits, units, *entry.split(sample), comparison, notes)
