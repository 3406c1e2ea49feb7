"""k weighted rows that stand for a whole data set."""

from typing import Any

import numpy as np

from ..._validation import Indices, InvalidInput, gathered
from ...options import takes
from ...result import Result
from ...tables.frames import height
from .blocks import choose_points
from .options import PointsOptions


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


NOT_FOR_A_SPLIT = ("equal_weights", "max_weight", "min_weight", "move", "sample_weight")
"""Options of `points` that a split leaves no choice about: its rows count alike, and stay rows."""


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
