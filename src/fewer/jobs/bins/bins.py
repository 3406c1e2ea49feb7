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
from ...objectives.cumulative import Cumulative
from ...objectives.l2 import L2
from ...objectives.matrix import BLOCK
from ...objectives.moments import Moments, as_matrix
from ...options import takes
from ...result import Result
from ...solvers.units import in_units, watched
from ...spaces import Atoms
from ...tables.source import is_lazy, source_of
from ..lazy import NEEDS_BINS, bins_of_blocks, counted_grid, counted_values, solved_bins
from ..terms.terms import loss_of, solve
from .bars import with_bars
from .early_stopping import early_stopped
from .empirical import Empirical
from .grid import as_edges, grid_of, histogram
from .options import BinsOptions
from .values import best_values, in_values

SMALLEST_GAP = 1e-300
"""Below this share of the range of values, gaps are told apart from zero and not from each other."""
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
    with BinsOptions.of(options).watched() as given:
        return best_histogram(values, k, given)


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
        array = as_array(counts, "counts")
        counted = isinstance(counts, np.ndarray) and counts.dtype.kind in "iub"
        return of_histogram(
            Histogram.of(array, options.positions, options.edges, counted), k, options
        )
    options.refuse("positions", "edges", road=OF_COUNTS)
    if is_lazy(values):
        blocks = source_of(values, None, options.sample_weight)
        whole = blocks.whole(options.max_memory // 2)
        if whole is not None:
            values, weight = whole.X, whole.weight
        else:
            summary = bins_of_blocks(blocks, options)
            if options.plain and not (options.validation or options.ridge):
                return solved_bins(summary, 0, k, options)
            values, weight = counted_values(summary, options), None
            options = counted_grid(summary, 0, options)
        options = options.replace(sample_weight=weight)
    P = values
    if not isinstance(values, Empirical):
        P = Empirical.of(values, options.sample_weight, options.missing)
    grid, n_bins = options.grid, options.n_bins
    if options.plain:
        options.refuse("validation", "ridge", road=WITHOUT_MATRIX)
        return best_values(P, k, grid_of(P, k, grid, n_bins, options.deadline.seconds), options)
    if options.contiguous and options.automatic:
        raise InvalidInput(
            'contiguous=True needs bins: give grid as "equal", "log", "quantile" or edges'
        )
    return of_histogram(Histogram.from_values(P, k, grid, n_bins), k, options)


class Histogram(NamedTuple):
    """Shares of bins, what they are shares of, where the bins sit, (n,) or None, and their edges, (n + 1,) or None."""

    shares: Vector
    total: float
    positions: Vector | None
    edges: Vector | None

    @classmethod
    def of(cls, counts: Vector, positions: Any, edges: Any, whole: bool) -> "Histogram":
        """Of finite counts; a warning where they look like values, which those known to be `whole` never do."""
        shares, total = as_histogram(counts, whole)
        n = shares.size
        at = None if positions is None else as_vector(positions, (n,), "positions")
        if edges is None:
            return cls(shares, total, at, None)
        ends = as_edges(edges, "edges")
        if ends.size != n + 1:
            raise InvalidInput(f"edges must be {n + 1} for {n} bins, got {ends.size}")
        at = ends[:-1] / 2 + ends[1:] / 2 if at is None else at
        if ((at < ends[:-1]) | (at > ends[1:])).any():
            raise InvalidInput("positions must lie between the edges of their bins")
        return cls(shares, total, at, ends)

    @classmethod
    def from_values(cls, P: Empirical, k: Any, grid: Any, n_bins: Any) -> "Histogram":
        """The values counted in the bins of a grid."""
        if isinstance(grid, str) and grid == "auto":
            raise InvalidInput(NEEDS_BINS)
        found = grid_of(P, k, grid, n_bins)
        edges = np.asarray(found.edges)
        shares = as_weights(histogram(P, found), found.n_bins, "values")
        return cls(shares, P.total, edges[:-1] / 2 + edges[1:] / 2, edges)


def of_histogram(given: Histogram, k: Any, options: BinsOptions) -> Result:
    """Keep k bars, or k bins, of a histogram."""
    return (contiguous_bars if options.contiguous else best_bins)(given, k, options)


def contiguous_bars(given: Histogram, k: Any, options: BinsOptions) -> Result:
    """A histogram with k bars."""
    options.refuse("validation", "ridge", road=WITHOUT_MATRIX)
    if not isinstance(options.preserve, str):
        raise InvalidInput(
            "contiguous=True preserves the entries; a matrix of functionals is for k single bins"
        )
    known(options.preserve, LOSSES, "preserve")
    return with_bars(given, as_integer(k, "k", 1, given.shares.size, "bars"), options)


def best_bins(given: Histogram, k: Any, options: BinsOptions) -> Result:
    """Keep k bins of a histogram."""
    preserve = options.preserve
    target, n = given.shares, given.shares.size
    k = as_integer(k, "k", 1, n, "bins")
    space = Atoms(n)
    C = SparseSimplex(space, k)
    named = known(preserve, LOSSES, "preserve") if isinstance(preserve, str) else ""
    exponent = 0
    if not named:
        found = fit_matrix(preserved(preserve, target, options.ridge), C, options)
    else:
        options.refuse("validation", "ridge", road=WITHOUT_MATRIX)
        widths = None
        if given.positions is not None and preserve == "cdf":
            widths, exponent = gaps(given.positions)
        F: Any = Cumulative(space, target, widths) if preserve == "cdf" else L2(space, target)
        callback = watched(options.callback, exponent)
        found = solve(F, C, options.replace(callback=callback))
    words = found.words._replace(
        unit="bins", loss=named or "squared error" + (" + ridge" if options.ridge else "")
    )
    found = replace(in_units(found, exponent), total=given.total, words=words)
    if given.positions is None:
        return found
    at = found.indices
    ends = None if given.edges is None else np.column_stack([given.edges[at], given.edges[at + 1]])
    return in_values(found, given.positions[at], ends)


def fit_matrix(F: Moments, C: SparseSimplex, options: BinsOptions) -> Result:
    """Preserve the expectations of functionals, with or without rows kept for early stopping."""
    if options.validation is None:
        return solve(F, C, options)
    how = (options.solver, options.validation, options.deadline, options.rng, options.callback)
    found = early_stopped(F, C, *how)
    return replace(found, seconds=options.deadline.elapsed(), loss=loss_of(F, found))


def as_histogram(array: Vector, whole: bool) -> tuple[Vector, float]:
    """Finite counts or probabilities of at least one bin, as probabilities, and their sum."""
    if array.ndim != 1 or not array.size:
        raise InvalidInput(
            f"counts must be a histogram of one dimension with at least one bin, got shape {array.shape}"
        )
    shares = as_shares(array, "counts")
    with np.errstate(over="ignore"):
        total = float(array.sum())
    if whole or abs(total - 1.0) <= 1e-6:
        return shares, total
    fractions = array != np.round(array)
    if fractions.any():
        at = int(np.argmax(fractions))
        sentence = (
            f"counts are neither whole (there is {array[at]:g} at index {at}) nor shares that sum to 1 (they sum to "
            f"{total:g}); numbers that are not counted yet are values, and no counts"
        )
        warnings.warn(sentence, stacklevel=callers_level())
    return shares, total


def gaps(positions: Vector) -> tuple[Vector, int]:
    """(g, e): how far it is from each position to the next is 2**e g; after the last one as far as in the mean.

    >>> gaps(np.array([0.0, 2.0, 8.0]))
    (array([0.25, 0.75, 0.5 ]), 3)
    """
    exponent = (
        int(np.frexp(np.abs(positions).max())[1]) + 1
    )  # half the largest float is the largest gap that can be held
    widths = np.diff(np.ldexp(positions, -exponent))
    if not (positions[1:] > positions[:-1]).all():
        raise InvalidInput("positions must increase from bin to bin")
    if not widths.size:
        return np.ones(1), 0
    further = int(np.frexp(widths.sum())[1]) - 1
    widths = np.maximum(np.ldexp(widths, -further), SMALLEST_GAP)
    return np.append(widths, widths.mean()), exponent + further


def preserved(preserve: Any, target: Vector, ridge: float) -> Moments:
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
