"""Keep k of many values, or k bins of a histogram, so that expectations are preserved."""

import math
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ..._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_generator,
    as_integer,
    as_number,
    as_shares,
    as_vector,
    callers_level,
    known,
    renamed,
)
from ...constraints.sparse_simplex import SparseSimplex
from ...deadline import Deadline
from ...distribution import Distribution
from ...objectives.covered import L2
from ...objectives.cumulative import Cumulative
from ...objectives.moments import Moments, as_matrix
from ...options import takes
from ...result import Result, Status, Words
from ...row_blocks import canonical_rows
from ...search.fits import stopped, walked
from ...solvers.loop import Affine, Outcome, Progress, Step, Steps, drive, says_stop
from ...solvers.minimize import minimize
from ...spaces import Atoms
from ...tables.frames import width
from ...tables.source import Source, source_of
from ..terms.terms import loss_of, solve
from .bars import best_bars
from .empirical import BinsPlan, BinsSummary, Empirical, check_size, distributions_in_memory
from .options import BinsOptions

HEAD_ROWS = 1024
"""Rows by which the width of blocks is known."""
COMPARISONS, COMPARISONS_PER_SECOND = 2e8, 4e7
"""Comparisons that the dynamic program may cost on a grid that is chosen for it, about half a
second; and for each second of a time limit."""
MAX_POSITIONS_PER_K, MIN_POSITIONS_PER_K = 5000, 16
"""With 5000 positions for each one kept, the gap left by the grid is about a millionth of the
value."""
FINER = 1.25
"""The limit of width x rise is divided by this, round after round."""
DEFAULT_BINS = 1000
"""Bins of the other grids where nothing else was asked."""
TOLERANCE = 1e-6
"""A gap of this share of the value counts as none, as in the loop of solvers."""
PERTURBING = ("auto", "exact", "exchange")
"""Solvers that would go on after a first local optimum: with early stopping they do not."""
OF_VALUES = "counts: it is for values"
OF_COUNTS = "values: it is for counts; for values give edges as grid"
WITHOUT_MATRIX = 'preserve="cdf" or "entries": it is for a matrix of functionals'
LOSSES = {"cdf": "squared difference of the cdf", "entries": "squared difference"}
GRIDS = ("auto", "equal", "log", "quantile")


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
    if (options.counts is None) == (values is None):
        which = "neither" if values is None else "both"
        raise InvalidInput(
            f"give values, or counts=, a histogram of them: exactly one, got {which}"
        )
    if options.counts is not None:
        options.refuse("n_bins", "sample_weight", road=OF_VALUES)
        return best_bins(Histogram.of(options.counts, options), k, options)
    options.refuse("positions", "edges", road=OF_COUNTS)
    if not options.plain and options.automatic:
        what = "contiguous=True" if options.contiguous else 'preserve other than "cdf"'
        raise InvalidInput(f'{what} needs bins: give grid as "equal", "log", "quantile" or edges')
    P = distribution_of(values, options)
    if not options.plain:
        return best_bins(Histogram.from_values(P, options), k, options)
    options.refuse("validation", "ridge", road=WITHOUT_MATRIX)
    return best_values(P, k, options)


def distribution_of(values: Any, options: BinsOptions) -> Empirical:
    """The distribution of values, in memory or in blocks."""
    if isinstance(values, Empirical):
        return values
    distributions = distributions_of(source_of(values, None, options.sample_weight), options)
    if len(distributions) > 1:
        raise InvalidInput(f"values must be one column, got {len(distributions)}; give one of them")
    return distributions[0]


def distributions_of(source: Source, options: BinsOptions) -> list[Empirical]:
    """The distribution of each column: of values that fit into memory, of one pass that counts all values, or of two.

    The second pass counts between the edges of the grid too.
    """
    whole = source.whole(options.max_memory // 2)
    if whole is not None:
        return distributions_in_memory(whole.X, whole.weight, options.missing)
    rows = canonical_rows(width(source.head(HEAD_ROWS).X))

    def counted(name: str, plan: BinsPlan) -> BinsSummary:
        return source.fold(name, BinsSummary.of, plan, BinsSummary.merged, rows)

    summary = counted("bins-1", BinsPlan(options.missing))
    if not summary.exact:
        plan = summary.plan(lambda P: edges_of(P, options.grid, options.n_bins))
        summary = counted("bins-2", plan)
    return summary.distributions()


def edges_of(P: Empirical, grid: Any, n_bins: Any) -> Vector | None:
    """The edges of the bins of a grid, which hold all values; None where it is to be chosen."""
    low, high = float(P.x[0]), float(P.x[-1])
    by_name = isinstance(grid, str)
    if by_name:
        known(grid, dict.fromkeys(GRIDS), "grid")
    if n_bins is not None and (not by_name or grid == "auto"):
        raise InvalidInput('n_bins is for grid="equal", "log" or "quantile", not for others')
    if by_name and grid == "auto":
        return None
    if not by_name:
        edges = as_edges(grid, "grid")
        if edges[0] > low or edges[-1] < high:
            raise InvalidInput(
                f"the edges must hold all values: they go from {edges[0]:g} to {edges[-1]:g}, the"
                f" values from {low:g} to {high:g}"
            )
        return edges
    steps = np.linspace(
        0.0, 1.0, 1 + as_integer(DEFAULT_BINS if n_bins is None else n_bins, "n_bins", 1)
    )
    if grid == "quantile":
        edges = P.quantile(steps)
    elif grid == "equal":
        edges = np.linspace(low, high, steps.size)
    elif low > 0:
        edges = np.exp(np.linspace(math.log(low), math.log(high), steps.size)).clip(low, high)
    else:
        raise InvalidInput(
            f'grid="log" needs values above 0, got {low:g}; use "auto" or "quantile"'
        )
    edges[[0, -1]] = low, high
    edges = np.unique(edges)
    return edges if edges.size > 1 else np.append(edges, np.nextafter(high, np.inf))


def as_edges(edges: Any, name: str) -> Vector:
    """Increasing edges of at least one bin."""
    array = as_array(edges, name)
    if array.ndim != 1 or array.size < 2 or not (array[1:] > array[:-1]).all():
        raise InvalidInput(
            f"{name} must be increasing edges, one more than there are bins, got {array.shape}"
            " numbers"
        )
    return array


def cuts_of(P: Empirical, edges: Vector) -> Indices:
    """How many positions lie before each edge, the last with all."""
    inner = edges[(edges > P.x[0]) & (edges < P.x[-1])]
    if P.in_cells and not np.isin(inner, P.x).all():
        raise InvalidInput(
            "beyond 65,536 different values only `bins` counts by a grid other than 'auto'"
        )
    return np.append(np.searchsorted(P.x, edges[:-1]), P.x.size)


def weights_of_bins(P: Empirical, edges: Vector) -> Vector:
    """The weight of the values in each bin, (n_bins,)."""
    return np.diff(P.before[cuts_of(P, edges)])


def available(P: Empirical, grid: Any, n_bins: Any) -> int:
    """How many positions a grid has to choose from."""
    edges = edges_of(P, grid, n_bins)
    return P.x.size if edges is None else int(np.count_nonzero(weights_of_bins(P, edges)))


def best_values(P: Empirical, k: Any, options: BinsOptions) -> Result:
    """The best k positions of a grid, with the loss to the values and a bound over all positions there are."""
    edges = edges_of(P, options.grid, options.n_bins)
    if edges is None:
        k = as_integer(k, "k", 1, P.x.size, "distinct values")
        starts = finest(P, k, options.deadline.seconds)
        numbers, size = np.arange(starts.size), starts.size
    else:
        cuts, size = cuts_of(P, edges), edges.size - 1
        numbers = np.flatnonzero(np.diff(P.before[cuts]))
        k = as_integer(k, "k", 1, numbers.size, "bins that hold values")
        starts = P.middles(cuts[numbers], cuts[numbers + 1])
    F, to_values = steps_at(P, k, starts)
    own = options.replace(callback=to_values.callback(options.callback))
    result = solve(F, SparseSimplex(F.space, k), own)
    result = to_values.result(replace(result, bound=result.bound or 0.0))
    result = add_doubts(result, P, starts.size if to_values.slack else 0)
    values, numbers = P.x[starts[result.indices]], numbers[result.indices]
    if edges is None:
        upto = np.cumsum(np.asarray(result.weights))[:-1]
        inner = np.clip(P.quantile(upto), values[:-1], values[1:])
        ends = np.column_stack([np.append(P.x[0], inner), np.append(inner, P.x[-1])])
        words = Words("values", P.x.size, LOSSES["cdf"])
    else:
        ends = np.column_stack([edges[numbers], edges[numbers + 1]])
        words = Words("bins", size, LOSSES["cdf"])
    result = replace(result, words=words, total=P.total, indices=numbers, space=Atoms(size))
    return place_on_line(result, values, ends)


def finest(P: Empirical, k: int, seconds: float) -> Indices:
    """All positions, or so many that the dynamic program is quick: cells of the largest width x rise are split in two."""
    most = int(min(COMPARISONS, COMPARISONS_PER_SECOND * seconds) / (18 * k))
    most = max(MIN_POSITIONS_PER_K * k, min(MAX_POSITIONS_PER_K * k, most))
    if P.x.size <= most:
        return np.arange(P.x.size)
    starts = np.array([0, P.x.size - 1])
    sizes = cell_sizes(P, starts[:-1], starts[1:])
    limit = float(sizes.max())
    while True:
        sizes[np.diff(starts) == 1] = 0.0  # of cells that cannot be split
        large = np.flatnonzero(sizes > limit)
        if starts.size + large.size > most or not sizes.any():
            return starts
        if not large.size:
            limit /= FINER
            continue
        new = split(P, starts[large], starts[large + 1])
        halves = cell_sizes(P, starts[large], new), cell_sizes(P, new, starts[large + 1])
        sizes[large] = halves[0]
        sizes, starts = np.insert(sizes, large + 1, halves[1]), np.insert(starts, large + 1, new)


def cell_sizes(P: Empirical, starts: Indices, stops: Indices) -> Vector:
    """Width times rise of P of the cells between these positions."""
    rise = P.share_before(stops) - P.upto[starts] / P.total
    return np.asarray((P.x[stops] - P.x[starts]) * rise)


def split(P: Empirical, starts: Indices, stops: Indices) -> Indices:
    """A position inside each cell: its median or the middle of its range, whichever leaves the smaller cells."""
    half = (P.before[starts + 1] + P.before[stops]) / 2
    middle = (P.x[starts] + P.x[stops]) / 2
    trials = [np.searchsorted(P.before, half, "right") - 1, np.searchsorted(P.x, middle)]
    trials = [np.clip(at, starts + 1, stops - 1) for at in trials]
    costs = [np.maximum(cell_sizes(P, starts, at), cell_sizes(P, at, stops)) for at in trials]
    return np.where(costs[0] <= costs[1], *trials)


def steps_at(P: Empirical, k: int, starts: Indices) -> tuple[Cumulative, Affine]:
    """F for Q that jumps only at the positions `starts`, and what is added for ∫ (Q - P)² dx and taken off bounds.

        ∫ (Q - P)² dx = Σ_t w_t (Q_t - P̄_t)² + shift

    with P̄_t the mean of P between x_t and x_{t+1}.

    slack: how much lower ∫ (Q - P)² dx can be where Q may jump anywhere. Take the best such Q. In a
    cell of width w, where P rises by d, one jump by b moved to the better end costs at most b w d /
    2 (P crosses the middle of the jump where that was, so the cost is at most 2 b min(v α, (w -
    v)(d - α)) for some v and α; the lesser of two products is at most their geometric mean, w d /
    4). Two jumps or more become one at each end, with the mean of P between them: at most w d² / 4,
    w times the variance of P. All b sum to one; the d of cells with two jumps, of which there are
    at most k / 2, sum to at most min(1, k/2 max d). So together it is at most max(w d) (1/2 +
    min(1, k/2 max d) / 4). Before the first position and after the last it is at most what Q = 0
    and Q = 1 cost there.
    """
    head = int(starts[0] > 0)
    base, width, first, second = P.moments(np.append(0, starts) if head else starts)
    levels = base + first / np.where(width > 0, width, 1.0)
    levels[:head], levels[-1] = 0.0, 1.0
    off = levels - base
    costs = np.maximum(width * off**2 - 2 * off * first + second, 0.0)
    lost = float(costs[:head].sum() + costs[-1])
    inner = slice(head, -1)
    rise = P.share_before(starts[1:]) - base[inner]
    share = 0.5 + 0.25 * min(1.0, 0.5 * k * float(rise.max(initial=0.0)))
    slack = share * float((width[inner] * rise).max(initial=0.0)) + lost
    Q = np.minimum(np.maximum.accumulate(levels[head:]), 1.0)
    q = np.maximum(np.diff(Q, prepend=0.0), 0.0)
    F = Cumulative(Atoms(starts.size), q / q.sum(), with_last(width[inner]))
    return F, Affine(shift=float(costs[inner][rise > 0].sum()) + lost, slack=slack)


def with_last(widths: Vector) -> Vector:
    """Widths between positions, and for the last one their mean."""
    return np.append(widths, widths.mean() if widths.size else 1.0)


def add_doubts(result: Result, P: Empirical, positions: int) -> Result:
    """A result with the bound and the notes that counts in cells and a sketch leave, and a grid of so many positions."""
    value, bound, notes = result.value, float(result.bound or 0.0), [result.note]
    error = float(np.sum(P.squares[1]))
    reason = f"values are counted in {P.x.size - 1} cells"
    if P.error:
        rank = P.error / P.total
        off = rank * math.sqrt(float(P.x[-1] - P.x[0]))
        error = (math.sqrt(max(value, 0.0)) + off) ** 2 - value
        bound = max(math.sqrt(bound) - off, 0.0) ** 2
        reason = f"ranks are off by at most {rank:.2g} (proven)"
    else:
        bound = max(bound - error, 0.0)
    if P.dropped:
        notes.append(f"{P.dropped} missing values were dropped")
    if error:
        notes.append(f"the value is exact to within {error:.2g}: {reason}")
    open_gap = (error or positions) and value - bound > TOLERANCE * value
    if result.status is Status.OPTIMAL and open_gap:
        result = replace(result, status=Status.FINISHED)
        if positions:
            notes.append(
                f"this is proven best on the grid of {positions} positions; any other positions"
                " could gain at most the gap"
            )
    return replace(result, bound=bound, value_se=error, note="; ".join(filter(None, notes)))


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
        shares, n, total = as_shares(array, "counts"), array.size, float(array.sum())
        fractions = np.flatnonzero(array != np.round(array))
        if fractions.size and abs(total - 1.0) > 1e-6:
            warnings.warn(
                f"counts are neither whole (there is {array[fractions[0]]:g} at index"
                f" {fractions[0]}) nor shares that"
                f" sum to 1 (they sum to {total:g}); numbers that are not counted yet are values,"
                " and no counts",
                stacklevel=callers_level(),
            )
        at = None
        if options.positions is not None:
            at = as_vector(options.positions, (n,), "positions")
            if not (at[1:] > at[:-1]).all():
                raise InvalidInput("positions must increase from bin to bin")
            check_size(at, "positions")
        if options.edges is None:
            return cls(shares, total, at, None)
        edges = as_edges(options.edges, "edges")
        if edges.size != n + 1:
            raise InvalidInput(f"edges must be {n + 1} for {n} bins, got {edges.size}")
        check_size(edges, "edges")
        at = (edges[:-1] + edges[1:]) / 2 if at is None else at
        if ((at < edges[:-1]) | (at > edges[1:])).any():
            raise InvalidInput("positions must lie between the edges of their bins")
        return cls(shares, total, at, edges)

    @classmethod
    def from_values(cls, P: Empirical, options: BinsOptions) -> "Histogram":
        """Count values in the bins of a grid."""
        edges = np.asarray(edges_of(P, options.grid, options.n_bins))
        shares = as_shares(weights_of_bins(P, edges), "values")
        return cls(shares, P.total, (edges[:-1] + edges[1:]) / 2, edges)


def best_bins(histogram: Histogram, k: Any, options: BinsOptions) -> Result:
    """Keep k bars, or k bins, of a histogram."""
    target, positions, edges = histogram.shares, histogram.positions, histogram.edges
    preserve, n = options.preserve, target.size
    k = as_integer(k, "k", 1, n, "bars" if options.contiguous else "bins")
    if isinstance(preserve, str):
        loss = known(preserve, LOSSES, "preserve")
        options.refuse("validation", "ridge", road=WITHOUT_MATRIX)
    elif options.contiguous:
        raise InvalidInput(
            "contiguous=True preserves the entries; a matrix of functionals is for k single bins"
        )
    if options.contiguous:
        result, values, ends = best_bars(histogram, k, options)
        return place_on_line(replace(result, total=histogram.total), values, ends)
    space = Atoms(n)
    C = SparseSimplex(space, k)
    if not isinstance(preserve, str):
        loss = "squared error + ridge" if options.ridge else "squared error"
        F = expectations_loss(preserve, target, options.ridge)
        if options.validation is None:
            result = solve(F, C, options)
        else:
            early = stop_early(F, C, options)
            result = replace(early, seconds=options.deadline.elapsed(), loss=loss_of(F, early))
    elif preserve == "entries":
        result = solve(L2(space, target), C, options)
    else:
        gaps = None if positions is None else with_last(np.diff(positions))
        result = solve(Cumulative(space, target, gaps), C, options)
    words = result.words._replace(unit="bins", loss=loss)
    result = replace(result, total=histogram.total, words=words)
    if positions is None:
        return result
    at = result.indices
    if edges is not None:
        edges = np.column_stack([edges[at], edges[at + 1]])
    return place_on_line(result, positions[at], edges)


def place_on_line(result: Result, values: Vector, edges: Any) -> Result:
    """A result that knows where the kept bins sit."""
    weights, shape = np.asarray(result.weights), (result.space.size,)
    codes, dims = result.indices[:, None], np.array([0])
    kept = Distribution(codes, weights, dims, shape, values=values, edges=edges)
    return replace(result, labels=values, kept=kept)


def expectations_loss(preserve: Any, target: Vector, ridge: float) -> Moments:
    """The squared difference of the expectations of functionals, and a ridge."""
    with renamed(A="preserve"):
        A = as_matrix(preserve)
    if A.shape[1] != target.size:
        raise InvalidInput(
            f"preserve must have {target.size} columns, one for each bin, got {A.shape[1]}"
        )
    return Moments(Atoms(target.size), A, np.asarray(A @ target), None, ridge)


def stop_early(F: Moments, C: SparseSimplex, options: BinsOptions) -> Result:
    """Solve on most rows and let the rest say how far down to go; then go as far on all rows.

    How far is F of an answer as a share of F of the first, which is the projection of non-negative
    least squares. Of the answers met the first is taken whose error on the rest is not above the
    best one's by more than the standard error of their difference (the one-standard-error rule,
    Breiman et al. 1984): a few rows cannot tell more. Half of a time limit is for most rows.
    """
    share, rows = as_number(options.validation, "validation"), F.A.shape[0]
    if share >= 1.0 or rows < 2 or isinstance(F.A, LinearOperator):
        raise InvalidInput(
            "validation must be a share of the rows in (0, 1) of a dense or sparse matrix with at"
            f" least two rows, got {share:g} of {rows} rows"
        )
    count = min(max(round(share * rows), 1), rows - 1)
    rng, seed = as_generator(options.rng)
    order, deadline = rng.permutation(rows), options.deadline
    fitted, judge = (F.of_rows(np.sort(part)) for part in (order[count:], order[:count]))
    first = least_squares(fitted, C, deadline.share(0.25))
    values, errors = [first.value], [squares(judge, first.p)]
    limits: dict[str, Any] = {"rng": rng}
    if options.solver in PERTURBING:
        limits["budget"] = 0.0
    enough, stops = -math.inf, False

    def watch(progress: Progress) -> bool:
        nonlocal stops
        if options.callback is not None and not stops:
            stops = says_stop(options.callback, progress)
        return stops or progress.value <= enough

    def judged(progress: Progress) -> bool:
        if progress.n_iter >= len(values):  # an iterate, not a pause after it
            values.append(progress.value)
            errors.append(squares(judge, progress.p))
        return watch(progress)

    half = deadline.share(0.5)
    minimize(fitted, C, options.solver, time_limit=half, callback=judged, **limits)
    if stops or deadline.passed:
        best = drive(F, C, single_step(first.p))
    else:
        best = least_squares(F, C, deadline)
        ratio = values[first_as_good(np.array(errors))] / (first.value or 1.0)
        enough = ratio * best.value
        if best.value > enough:
            limits |= {"time_limit": deadline, "callback": watch}
            best = minimize(F, C, options.solver, **limits)
    status = Status.TIME_LIMIT if deadline.passed else Status.FINISHED
    return replace(best, bound=None, status=Status.CALLBACK if stops else status, seed=seed)


def squares(F: Moments, p: Vector) -> Vector:
    """The squared error of each row."""
    support = np.flatnonzero(p)
    return np.asarray(F.residual(support, p[support]) ** 2)


def first_as_good(errors: Vector) -> int:
    """The first of some answers whose errors (answers, rows) sum to no more than the least, but for a standard error.

    >>> first_as_good(np.array([[9.0, 9.0, 9.0], [1.0, 2.1, 3.0], [1.0, 3.0, 2.0]]))
    1
    """
    errors = errors / (errors.max() or 1.0)
    above = errors - errors[np.argmin(errors.sum(axis=1))]
    spread = np.sqrt(above.shape[1]) * above.std(axis=1)
    return int(np.argmax(above.sum(axis=1) <= spread))


def least_squares(F: Moments, C: SparseSimplex, deadline: Deadline) -> Result:
    """Non-negative least squares without the sum constraint, projected: an answer that has not been polished."""
    q = np.zeros(C.space.size)
    units, weights = stopped(walked(F, C.rules, len(F.b), summed=False), deadline)
    if len(units):
        q[units] = weights
    else:
        q = F.slopes(units, weights)
    return drive(F, C, single_step(C.project(q)))


def single_step(p: Vector) -> Steps:
    """A solver that knows its answer."""
    yield Step(p)
    return Outcome(Status.FINISHED)
