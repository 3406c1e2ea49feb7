"""Keep k bins of a histogram, or k of many values, so that expectations are preserved."""

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import (
    InvalidInput,
    Vector,
    as_array,
    as_flag,
    as_integer,
    as_shares,
    as_vector,
    as_weights,
    callers_level,
    known,
    renamed,
)
from ..constraints.sparse_simplex import SparseSimplex
from ..data.blocks import as_blocks, is_lazy
from ..deadline import Deadline
from ..objectives.cumulative import Cumulative
from ..objectives.l2 import L2
from ..objectives.matrix import BLOCK
from ..objectives.moments import Moments, as_matrix
from ..progress import watched_by_user
from ..result import Result
from ..solvers.loop import Callback
from ..solvers.minimize import SOLVERS
from ..solvers.units import in_units, watched
from ..spaces import Atoms
from ._bars import with_bars
from ._lazy import bins_of_blocks, counted_grid, counted_values, solved_bins
from ._values import best_values, in_values
from .empirical import Empirical
from .grid import as_edges, grid_of, histogram
from .sample import as_bytes
from .terms import solve

SMALLEST_GAP = 1e-300
"""Below this share of the range of values, gaps are told apart from zero and not from each other."""
LOSSES = {"cdf": "squared difference of the cdf", "entries": "squared difference"}


def bins(
    values: Any = None,
    k: Any = None,
    *,
    counts: npt.ArrayLike | None = None,
    grid: Any = "auto",
    n_bins: int | None = None,
    sample_weight: npt.ArrayLike | None = None,
    missing: str = "error",
    edges: npt.ArrayLike | None = None,
    positions: npt.ArrayLike | None = None,
    preserve: Any = "cdf",
    contiguous: bool = False,
    validation: float | None = None,
    solver: str = "auto",
    max_memory: Any = "1GB",
    time_limit: float | None = None,
    rng: Any = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Keep k of many values, or k bins of a histogram, with weights that preserve expectations.

        values   min ∫ (Q(x) - P(x))² dx    P the cumulative distribution of the values themselves, Q the new one
        cdf      min Σ_t g_t (Q_t - P_t)²   P, Q the cumulative sums of the old and new shares p and q
        entries  min ‖q - p‖²
        matrix   min ‖A q - A p‖²           over q >= 0, Σ q = 1, at most k entries not zero
        bars     min ‖q - p‖²               over q that are constant on k runs of bins (`contiguous`)

    Parameters
    ----------
    values : array of shape (N,), optional
        Numbers in any order, a column of a DataFrame among them. The loss is to the values, whatever the grid. Also
        data in blocks: a Dask array, paths or a pattern of them, a callable that returns an iterator of blocks.
    k : int
        How many bins or values are kept; with `contiguous` bars.
    counts : array of shape (n,), optional
        A histogram instead of values: counts or probabilities. Exactly one of `values` and `counts` is given.
    grid : {"auto", "equal", "log", "quantile"} or array of edges (n + 1,)
        For `values`, where the kept ones may sit. "auto": at every distinct value, or at so many of them that more
        would gain next to nothing. Otherwise each bin that holds values sits at their median: `n_bins` bins of
        equal width, of equal ratio or of equal share, or bins [edge, next edge), the last with its upper edge.
    n_bins : int, optional
        Bins of the grids "equal", "log" and "quantile"; 1000 unless given.
    sample_weight : array of shape (N,), optional
        Weights of the values.
    missing : {"error", "drop"}
        How to treat missing values (NaN): raise an error with the index, or drop them; `note` says how many.
    edges : array of shape (n + 1,), optional
        For `counts`: where bins begin and end.
    positions : array of shape (n,), optional
        For `counts`: where bins sit, increasing; the centres where only edges are given. Then "cdf" has
        g_t = positions_{t+1} - positions_t, so that the loss is the integral of (Q - P)² dx. Without both g_t = 1.
    preserve : {"cdf", "entries"} or a matrix or LinearOperator A of shape (r, n)
        What should change least: cumulative shares (for ordered bins), shares, or the expectations of functionals, of
        which only A p is used. Shares and cumulative ones are solved to proven optimality on the n bins or positions
        of the grid, "cdf" by dynamic programming in O(k n log n) time and 4 k n bytes. For `values` anything but "cdf"
        needs a grid with bins.
    contiguous : bool
        A histogram with k bars instead of k bins: constant on k runs that cover all bins, with the least squared
        difference of the entries (v-optimal), proven by dynamic programming in about k n log n steps. Where k times the
        number of bins is above 50 million, neighbours are merged first, and `gap` says what that may cost. For `values`
        a grid with bins is needed; `preserve` is "entries" then, whatever it says.
    validation : float, optional
        For a matrix: a share of its rows for early stopping, as in `terms`.
    solver : {"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}
        As in `terms`.
    max_memory : int or str
        Values in blocks are gathered where they take at most half of it. Others are counted, up to 65,536 different
        ones; beyond, a first pass finds quantiles with a proven rank error, and a second counts between them.
    time_limit : float, optional
        Wall time in seconds, but for compiling. "cdf", cut short, gives k-means on the cumulative shares.
    rng : None, int or Generator
        Seed or generator of the random choices.
    callback : callable, optional
        Called with the progress so far; a true return value stops the run.
    progress : bool
        Whether to show a progress bar, in a terminal or a notebook.

    Returns
    -------
    Result
        `indices` are bins, or positions of the grid; `p` is the new histogram on all of them; `labels` where the kept
        ones sit; `distribution` is in these values, and has `edges`: of the bins, or with grid="auto" the range of
        the values that each kept one represents. For `values`, `bound` is a lower bound on ∫ (Q - P)² dx over all Q
        with k values, wherever they sit: `gap` includes what the grid costs. With `contiguous`, `indices` are the bins
        where bars begin, `weights` the masses of the bars, and the edges say from where to where each reaches.

    References
    ----------
    Wang and Song (2011), Ckmeans.1d.dp: optimal k-means clustering in one dimension by dynamic programming.
    Jagadish et al. (1998), Optimal histograms with quality guarantees (v-optimal).

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
    deadline = Deadline.after(time_limit)
    known(solver, SOLVERS, "solver")
    if (counts is None) == (values is None):
        raise InvalidInput(
            f"give values, or counts=, a histogram of them: exactly one, got {'neither' if counts is None else 'both'}"
        )
    memory = as_bytes(max_memory)
    with watched_by_user(progress, "bins", deadline, callback) as watching:
        search: Search = {"solver": solver, "deadline": deadline, "rng": rng, "callback": watching}
        if counts is not None:
            refuse({"n_bins": n_bins, "sample_weight": sample_weight}, "values, not for counts")
            array = as_array(counts, "counts")
            counted = isinstance(counts, np.ndarray) and counts.dtype.kind in "iub"
            given = Histogram.of(array, positions, edges, counted)
            if as_flag(contiguous, "contiguous"):
                return contiguous_bars(given, k, preserve, validation, search)
            return best_bins(given, k, preserve, validation, search)
        refuse({"positions": positions, "edges": edges}, "counts; for values give edges as grid")
        if is_lazy(values):
            blocks = as_blocks(values, None, sample_weight)
            whole = blocks.gathered(memory // 2)
            if whole is None:
                plain = isinstance(preserve, str) and preserve == "cdf" and not as_flag(contiguous, "contiguous")
                summary = bins_of_blocks(blocks, missing, grid, n_bins)
                if plain and validation is None:
                    return solved_bins(summary, 0, k, grid, n_bins, search)
                values, sample_weight = counted_values(summary, grid), None
                grid, n_bins = counted_grid(summary, 0, grid, n_bins)
            else:
                values, sample_weight = whole.X, whole.weight
        P = values if isinstance(values, Empirical) else Empirical.of(values, sample_weight, missing)
        if as_flag(contiguous, "contiguous"):
            if isinstance(grid, str) and grid == "auto":
                raise InvalidInput('contiguous=True needs bins: give grid as "equal", "log", "quantile" or edges')
            return contiguous_bars(Histogram.from_values(P, k, grid, n_bins), k, preserve, validation, search)
        if isinstance(preserve, str) and preserve == "cdf":
            refuse({"validation": validation}, "a matrix of functionals")
            return best_values(P, k, grid_of(P, k, grid, n_bins, deadline.seconds), search)
        return best_bins(Histogram.from_values(P, k, grid, n_bins), k, preserve, validation, search)


def refuse(options: dict[str, Any], what: str) -> None:
    """Refuse options that are given and have no meaning here."""
    for name, value in options.items():
        if value is not None:
            raise InvalidInput(f"{name} is for {what}")


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
            raise InvalidInput('preserve other than "cdf" needs bins: give grid as "equal", "log", "quantile" or edges')
        found = grid_of(P, k, grid, n_bins)
        edges = np.asarray(found.edges)
        shares = as_weights(histogram(P, found), found.n_bins, "values")
        return cls(shares, P.total, edges[:-1] / 2 + edges[1:] / 2, edges)


Search = dict[str, Any]


def contiguous_bars(given: Histogram, k: Any, preserve: Any, validation: Any, search: Search) -> Result:
    """A histogram with k bars."""
    refuse({"validation": validation}, "a matrix of functionals; contiguous=True has none")
    if not isinstance(preserve, str):
        raise InvalidInput("contiguous=True preserves the entries; a matrix of functionals is for k single bins")
    known(preserve, LOSSES, "preserve")
    return with_bars(given, as_integer(k, "k", 1, given.shares.size, "bars"), search)


def best_bins(given: Histogram, k: Any, preserve: Any, validation: Any, search: Search) -> Result:
    """Keep k bins of a histogram."""
    target, n = given.shares, given.shares.size
    k = as_integer(k, "k", 1, n, "bins")
    space = Atoms(n)
    C = SparseSimplex(space, k)
    named = known(preserve, LOSSES, "preserve") if isinstance(preserve, str) else ""
    exponent = 0
    if not named:
        found = solve(preserved(preserve, target), C, validation=validation, **search)
    else:
        refuse({"validation": validation}, f"a matrix of functionals; preserve={preserve!r} has none")
        widths = None
        if given.positions is not None and preserve == "cdf":
            widths, exponent = gaps(given.positions)
        F: Any = Cumulative(space, target, widths) if preserve == "cdf" else L2(space, target)
        callback = watched(search["callback"], exponent)
        found = solve(F, C, validation=None, **{**search, "callback": callback})
    words = found.words._replace(unit="bins", loss=named or "squared error")
    found = replace(in_units(found, exponent), total=given.total, words=words)
    if given.positions is None:
        return found
    at = found.indices
    ends = None if given.edges is None else np.column_stack([given.edges[at], given.edges[at + 1]])
    return in_values(found, given.positions[at], ends)


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
            f"{total:g}); numbers that are not counted yet are values: bins(x, k)"
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


def preserved(preserve: Any, target: Vector) -> Moments:
    """The squared difference of the expectations of functionals."""
    with renamed(A="preserve"):
        A = as_matrix(preserve)
    if A.shape[1] != target.size:
        raise InvalidInput(f"preserve must have {target.size} columns, one for each bin, got {A.shape[1]}")
    if not isinstance(A, np.ndarray) or A.dtype == np.float64:
        return Moments(Atoms(target.size), A, np.asarray(A @ target))
    rows = range(0, A.shape[0], max(BLOCK // target.size, 1))
    parts = [A[row : row + rows.step].astype(np.float64) @ target for row in rows]
    return Moments(Atoms(target.size), A, np.concatenate(parts))
