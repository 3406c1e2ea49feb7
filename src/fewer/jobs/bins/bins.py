"""Keep k bins of a histogram, or k of many values, so that expectations are preserved."""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._validation import (
    InvalidInput,
    Vector,
    as_array,
    as_integer,
    as_shares,
    as_vector,
    as_weights,
    callers_level,
    known,
    renamed,
)
from ...constraints.sparse_simplex import SparseSimplex
from ...objectives.covered import L2
from ...objectives.cumulative import Cumulative
from ...objectives.moments import BLOCK, Moments, as_matrix
from ...options import takes
from ...result import Result
from ...row_blocks import canonical_rows
from ...solvers.loop import in_units, watched
from ...spaces import Atoms
from ...tables.frames import width
from ...tables.source import Source, source_of
from ..terms.terms import loss_of, solve
from .bars import best_bars
from .early_stopping import stop_early
from .empirical import SMALLEST_WIDTH, BinsSummary, Empirical, exponents_of, widths_of
from .options import BinsOptions
from .values import as_edges, best_values, edges_of, place_on_line, weights_of_bins

HEAD_ROWS = 1024
"""Rows by which the width of blocks is known."""
OF_VALUES = "counts: it is for values"
OF_COUNTS = "values: it is for counts; for values give edges as grid"
WITHOUT_MATRIX = 'preserve="cdf" or "entries": it is for a matrix of functionals'
LOSSES = {"cdf": "squared difference of the cdf", "entries": "squared difference"}


@takes(BinsOptions)
def bins(values: Any = None, k: Any = None, **options: Any) -> Result:
    """Keep k of many values, or k bins of a histogram, with weights that preserve expectations.

        values   min ∫ (Q(x) - P(x))² dx    P the cumulative distribution of the values themselves, Q the new one
        cdf      min Σ_t g_t (Q_t - P_t)²   P, Q the cumulative sums of the old and new shares p and q
        entries  min ‖q - p‖²
        matrix   min ‖A q - A p‖² + ridge ‖q‖²   over q >= 0, Σ q = 1, at most k entries not zero
        bars     min ‖q - p‖²               over q that are constant on k runs of bins (`contiguous`)

    Parameters
    ----------
    values : array of shape (N,), optional
        Numbers in any order, a column of a DataFrame among them. The loss is to the values,
        whatever the grid. Also data in blocks: a Dask array, paths or a pattern of them, a callable
        that returns an iterator of blocks.
    k : int
        How many bins or values are kept; with `contiguous` bars.
    {options}

    Returns
    -------
    Result
        `indices` are bins, or positions of the grid; `p` is the new histogram on all of them;
        `labels` where the kept ones sit; `distribution` is in these values, and has `edges`: of the
        bins, or with grid="auto" the range of the values that each kept one represents. For
        `values`, `bound` is a lower bound on ∫ (Q - P)² dx over all Q with k values, wherever they
        sit: `gap` includes what the grid costs. With `contiguous`, `indices` are the bins where
        bars begin, `weights` the masses of the bars, and the edges say from where to where each
        reaches.

    References
    ----------
    Wang and Song (2011), Ckmeans.1d.dp: optimal k-means clustering in one dimension by dynamic
    programming. Jagadish et al. (1998), Optimal histograms with quality guarantees (v-optimal).

    Examples
    --------
    >>> result = bins(counts=[4, 0, 1, 5], k=2)
    >>> result.indices.tolist(), result.weights.round(3).tolist(), result.gap
    ([0, 3], [0.433, 0.567], 0.0)
    >>> result = bins([1.5, 9.0, 1.0, 2.0, 8.0, 1.5], 2)
    >>> result.labels.tolist(), result.weights.round(3).tolist(), result.distribution.quantile(0.5)
    ([1.5, 8.0], [0.654, 0.346], 1.5)
    >>> result = bins(counts=[4, 5, 1, 0, 0, 2], k=2, contiguous=True)
    >>> result.indices.tolist(), result.weights.tolist(), result.p.tolist()
    ([0, 2], [0.75, 0.25], [0.375, 0.375, 0.0625, 0.0625, 0.0625, 0.0625])
    """
    with BinsOptions.of(options).watched() as own:
        return best_histogram(values, k, own)


def best_histogram(values: Any, k: Any, options: BinsOptions) -> Result:
    """Keep k of many values, or k bins of a histogram."""
    counts = options.counts
    if (counts is None) == (values is None):
        which = "neither" if counts is None else "both"
        raise InvalidInput(
            f"give values, or counts=, a histogram of them: exactly one, got {which}"
        )
    if counts is not None:
        options.refuse("n_bins", "sample_weight", road=OF_VALUES)
        return of_histogram(Histogram.of(counts, options), k, options)
    options.refuse("positions", "edges", road=OF_COUNTS)
    if not options.plain and options.automatic:
        what = "contiguous=True" if options.contiguous else 'preserve other than "cdf"'
        raise InvalidInput(f'{what} needs bins: give grid as "equal", "log", "quantile" or edges')
    P = distribution_of(values, options)
    if not options.plain:
        return of_histogram(Histogram.from_values(P, options), k, options)
    options.refuse("validation", "ridge", road=WITHOUT_MATRIX)
    return best_values(P, k, options)


def distribution_of(values: Any, options: BinsOptions) -> Empirical:
    """The distribution of values, in memory or in blocks."""
    if isinstance(values, Empirical):
        return values
    source = source_of(values, None, options.sample_weight)
    whole = source.whole(options.max_memory // 2)
    if whole is not None:
        return Empirical.of(whole.X, whole.weight, options.missing)
    distributions = distributions_of(source, options)
    if len(distributions) > 1:
        raise InvalidInput(f"values must be one column, got {len(distributions)}; give one of them")
    return distributions[0]


def distributions_of(source: Source, options: BinsOptions) -> list[Empirical]:
    """The distributions of columns in blocks: of one pass where that counts all values, else of two.

    The second pass counts between the edges of the grid too.
    """

    def edges(P: Empirical) -> Vector | None:
        return edges_of(P, options.grid, options.n_bins)

    rows = canonical_rows(width(source.head(HEAD_ROWS).X))
    merge = BinsSummary.merged
    summary = source.fold("bins-1", BinsSummary.of, options.missing, merge, rows)
    if not summary.exact:
        summary = source.fold("bins-2", BinsSummary.of, summary.with_cells(edges), merge, rows)
    return summary.distributions()


class Histogram(NamedTuple):
    """Shares of bins, what they are shares of, where the bins sit, (n,) or None, and their edges, (n + 1,) or None."""

    shares: Vector
    total: float
    positions: Vector | None
    edges: Vector | None

    @classmethod
    def of(cls, counts: Any, options: BinsOptions) -> "Histogram":
        """Check counts or shares, and where the bins sit."""
        array = as_array(counts, "counts")
        if array.ndim != 1 or not array.size:
            raise InvalidInput(
                "counts must be a histogram of one dimension with at least one bin, got shape"
                f" {array.shape}"
            )
        shares, n = as_shares(array, "counts"), array.size
        with np.errstate(over="ignore"):
            total = float(array.sum())
        if not (isinstance(counts, np.ndarray) and counts.dtype.kind in "iub"):
            warn_of_values(array, total)
        at, edges = options.positions, options.edges
        at = None if at is None else as_vector(at, (n,), "positions")
        if edges is None:
            return cls(shares, total, at, None)
        edges = as_edges(edges, "edges")
        if edges.size != n + 1:
            raise InvalidInput(f"edges must be {n + 1} for {n} bins, got {edges.size}")
        at = edges[:-1] / 2 + edges[1:] / 2 if at is None else at
        if ((at < edges[:-1]) | (at > edges[1:])).any():
            raise InvalidInput("positions must lie between the edges of their bins")
        return cls(shares, total, at, edges)

    @classmethod
    def from_values(cls, P: Empirical, options: BinsOptions) -> "Histogram":
        """Count values in the bins of a grid."""
        edges = np.asarray(edges_of(P, options.grid, options.n_bins))
        shares = as_weights(weights_of_bins(P, edges), edges.size - 1, "values")
        return cls(shares, P.total, edges[:-1] / 2 + edges[1:] / 2, edges)


def warn_of_values(counts: Vector, total: float) -> None:
    """Warn of counts that are neither whole nor shares, and so look like values."""
    fractions = counts != np.round(counts)
    if abs(total - 1.0) <= 1e-6 or not fractions.any():
        return
    at = int(np.argmax(fractions))
    sentence = (
        f"counts are neither whole (there is {counts[at]:g} at index {at}) nor shares that sum to 1"
        f" (they sum to {total:g}); numbers that are not counted yet are values, and no counts"
    )
    warnings.warn(sentence, stacklevel=callers_level())


def of_histogram(histogram: Histogram, k: Any, options: BinsOptions) -> Result:
    """Keep k bars, or k bins, of a histogram."""
    named, n = isinstance(options.preserve, str), histogram.shares.size
    if named:
        known(options.preserve, LOSSES, "preserve")
    if named or options.contiguous:
        options.refuse("validation", "ridge", road=WITHOUT_MATRIX)
    if not options.contiguous:
        return best_bins(histogram, as_integer(k, "k", 1, n, "bins"), options)
    if not named:
        raise InvalidInput(
            "contiguous=True preserves the entries; a matrix of functionals is for k single bins"
        )
    return best_bars(histogram, as_integer(k, "k", 1, n, "bars"), options)


def best_bins(histogram: Histogram, k: int, options: BinsOptions) -> Result:
    """Keep k bins of a histogram."""
    target, positions, edges = histogram.shares, histogram.positions, histogram.edges
    space, preserve, exponent = Atoms(target.size), options.preserve, 0
    C = SparseSimplex(space, k)
    if not isinstance(preserve, str):
        loss = "squared error" + (" + ridge" if options.ridge else "")
        result = fit_matrix(expectations_loss(preserve, target, options.ridge), C, options)
    else:
        loss = LOSSES[preserve]
        F: Any = L2(space, target)
        if preserve == "cdf":
            widths, exponent = gaps(positions)
            F = Cumulative(space, target, widths)
        callback = watched(options.callback, exponent)
        result = in_units(solve(F, C, options.replace(callback=callback)), exponent)
    words = result.words._replace(unit="bins", loss=loss)
    result = replace(result, total=histogram.total, words=words)
    if positions is None:
        return result
    at = result.indices
    ends = None if edges is None else np.column_stack([edges[at], edges[at + 1]])
    return place_on_line(result, positions[at], ends)


def gaps(positions: Vector | None) -> tuple[Vector | None, int]:
    """(g, e): how far it is from each position to the next is 2**e g.

    After the last one as far as in the mean.

    >>> gaps(np.array([0.0, 2.0, 8.0]))
    (array([0.25, 0.75, 0.5 ]), 3)
    """
    if positions is None:
        return None, 0
    if not (positions[1:] > positions[:-1]).all():
        raise InvalidInput("positions must increase from bin to bin")
    if positions.size == 1:
        return np.ones(1), 0
    exponents = exponents_of(positions)
    widths = np.maximum(widths_of(positions[:-1], positions[1:], exponents), SMALLEST_WIDTH)
    return np.append(widths, widths.mean()), sum(exponents)


def expectations_loss(preserve: Any, target: Vector, ridge: float) -> Moments:
    """The squared difference of the expectations of functionals, and a ridge."""
    with renamed(A="preserve"):
        A = as_matrix(preserve)
    if A.shape[1] != target.size:
        raise InvalidInput(
            f"preserve must have {target.size} columns, one for each bin, got {A.shape[1]}"
        )
    if not isinstance(A, np.ndarray) or A.dtype == np.float64:
        return Moments(Atoms(target.size), A, np.asarray(A @ target), None, ridge)
    rows = range(0, A.shape[0], max(BLOCK // target.size, 1))
    parts = [A[row : row + rows.step].astype(np.float64) @ target for row in rows]
    return Moments(Atoms(target.size), A, np.concatenate(parts), None, ridge)


def fit_matrix(F: Moments, C: SparseSimplex, options: BinsOptions) -> Result:
    """Preserve the expectations of functionals, with or without rows kept for early stopping."""
    if options.validation is None:
        return solve(F, C, options)
    result = stop_early(F, C, options)
    return replace(result, seconds=options.deadline.elapsed(), loss=loss_of(F, result))
