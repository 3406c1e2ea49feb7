"""k of many values: where they may sit, the problem on these positions, and the answer in values."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._validation import Indices, InvalidInput, Vector, as_array, as_integer, known
from ...constraints.sparse_simplex import SparseSimplex
from ...distribution import Distribution
from ...objectives.cumulative import Cumulative
from ...result import Result, Status, Words
from ...solvers.loop import Affine, in_units, watched
from ...spaces import Atoms
from ..terms.terms import solve
from .empirical import SMALLEST_WIDTH, Empirical
from .options import BinsOptions

COMPARISONS = 2e8
"""Comparisons that the dynamic program may cost on a grid that is chosen for it: about half a
second."""
COMPARISONS_PER_SECOND = 4e7
"""... and for each second of a time limit: half of it on a slow machine."""
MAX_POSITIONS_PER_K, MIN_POSITIONS_PER_K = 5000, 16
"""With 5000 positions for each one kept, the gap left by the grid is about a millionth of the
value."""
FINER = 1.25
"""The limit of width x rise is divided by this, round after round."""
DEFAULT_BINS = 1000
"""Bins of the other grids where nothing else was asked."""
TOLERANCE = 1e-6
"""A gap of this share of the value counts as none, as in the loop of solvers."""
LOSS = "squared difference of the cdf"


@dataclass(frozen=True, eq=False)
class Grid:
    """Positions x_t among the values; Q may only jump there, P is exact.

        ∫ (Q - P)² dx = Σ_t w_t (Q_t - P̄_t)² + constant

    with P̄_t the mean of P between x_t and x_{t+1}. positions (m,); target: Σ_t w_t (Q_t - P̄_t)²;
    numbers: the position's bin, (m,), of n_bins; edges: those of the bins, (n_bins + 1,), or None
    where a position is its own bin.

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

    positions: Vector
    target: Cumulative
    numbers: Indices
    n_bins: int
    constant: float
    slack: float
    edges: Vector | None = None


def grid_on(
    P: Empirical,
    k: int,
    starts: Indices,
    numbers: Indices,
    n_bins: int,
    edges: Vector | None = None,
) -> Grid:
    """The grid of the values x[starts], to keep k of them."""
    head = starts[0] > 0
    base, width, first, second = P.moments(np.append(0, starts) if head else starts)
    lost = 0.0
    if head:
        lost = float(base[0] ** 2 * width[0] + 2 * base[0] * first[0] + second[0])
        base, width, first, second = base[1:], width[1:], first[1:], second[1:]
    after = 1.0 - base[-1]
    if after > 0:
        lost += max(float(after**2 * width[-1] - 2 * after * first[-1] + second[-1]), 0.0)
    inner = np.maximum(width[:-1], SMALLEST_WIDTH)
    levels = np.append(base[:-1] + first[:-1] / inner, 1.0)
    levels = np.minimum(np.maximum.accumulate(levels), 1.0)
    q = np.maximum(np.diff(levels, prepend=0.0), 0.0)
    within = np.maximum(second[:-1] - first[:-1] ** 2 / inner, 0.0)
    rise = P.share_before(starts[1:]) - base[:-1]
    share = 0.5 + 0.25 * min(1.0, 0.5 * k * float(rise.max(initial=0.0)))
    slack = share * float((width[:-1] * rise).max(initial=0.0)) + lost
    last = inner.mean() if inner.size else 1.0
    target = Cumulative(Atoms(starts.size), q / q.sum(), np.append(inner, last))
    constant = float(within[rise > 0].sum()) + lost
    return Grid(P.x[starts], target, numbers, n_bins, constant, slack, edges)


def grid_of(P: Empirical, k: Any, options: BinsOptions) -> Grid:
    """The grid by name, or by edges, to keep k of its positions."""
    edges = edges_of(P, options.grid, options.n_bins)
    if edges is None:
        k = as_integer(k, "k", 1, P.x.size, "distinct values")
        starts = finest(P, k, options.deadline.seconds)
        return grid_on(P, k, starts, np.arange(starts.size), starts.size)
    cuts = cuts_of(P, edges)
    numbers = np.flatnonzero(P.between(cuts)).astype(np.int64)
    k = as_integer(k, "k", 1, numbers.size, "bins that hold values")
    middle = P.middles(cuts[numbers], cuts[numbers + 1])
    return grid_on(P, k, middle, numbers, edges.size - 1, edges)


def available(P: Empirical, grid: Any, n_bins: Any) -> int:
    """How many positions a grid has to choose from."""
    edges = edges_of(P, grid, n_bins)
    return P.x.size if edges is None else int(np.count_nonzero(weights_of_bins(P, edges)))


def edges_of(P: Empirical, grid: Any, n_bins: Any) -> Vector | None:
    """The edges of the bins of a grid, which hold all values; None where it is to be chosen."""
    if isinstance(grid, str):
        known(grid, {"auto": 0, **EDGES}, "grid")
        if grid == "auto":
            if n_bins is not None:
                raise InvalidInput(
                    'n_bins is for grid="equal", "log" or "quantile"; "auto" chooses it'
                )
            return None
        count = DEFAULT_BINS if n_bins is None else as_integer(n_bins, "n_bins", 1)
        edges = EDGES[grid](P, count)
        edges[[0, -1]] = P.x[[0, -1]]
        edges = np.unique(edges)
    else:
        if n_bins is not None:
            raise InvalidInput("n_bins is for grids by name; edges were given")
        edges = as_edges(grid, "grid")
    if edges.size < 2:
        edges = np.append(edges, np.nextafter(edges[-1], np.inf))
    if edges[0] > P.x[0] or edges[-1] < P.x[-1]:
        raise InvalidInput(
            f"the edges must hold all values: they go from {edges[0]:g} to {edges[-1]:g}, the"
            f" values from {P.x[0]:g} to {P.x[-1]:g}"
        )
    return edges


def cuts_of(P: Empirical, edges: Vector) -> Indices:
    """How many positions lie before each edge, the last with all."""
    cuts = np.searchsorted(P.x, edges)
    inner = edges[(edges > P.x[0]) & (edges < P.x[-1])]
    if P.area is not None and not np.isin(inner, P.x).all():
        raise InvalidInput(
            "beyond 65,536 different values only `bins` counts by a grid other than 'auto'"
        )
    cuts[-1] = P.x.size
    return cuts


def weights_of_bins(P: Empirical, edges: Vector) -> Vector:
    """The weight of the values in each bin, (n_bins,)."""
    return P.between(cuts_of(P, edges))


def finest(P: Empirical, k: int, seconds: float) -> Indices:
    """All positions, or so many that the dynamic program is quick: cells of the largest width x rise are split in two."""
    most = int(min(COMPARISONS, COMPARISONS_PER_SECOND * seconds) / (18 * k))
    most = max(MIN_POSITIONS_PER_K * k, min(MAX_POSITIONS_PER_K * k, most))
    if P.x.size <= most:
        return np.arange(P.x.size)
    starts = np.array([0, P.x.size - 1])
    sizes = cell_sizes(P, starts[:-1], starts[1:])
    limit = float(sizes.max())
    while limit > 0:
        large = np.flatnonzero((sizes > limit) & (np.diff(starts) > 1))
        if starts.size + large.size > most:
            break
        if not large.size:
            limit /= FINER
            continue
        new = split(P, starts[large], starts[large + 1])
        halves = cell_sizes(P, starts[large], new), cell_sizes(P, new, starts[large + 1])
        sizes[large] = halves[0]
        sizes, starts = np.insert(sizes, large + 1, halves[1]), np.insert(starts, large + 1, new)
    return starts


def cell_sizes(P: Empirical, starts: Indices, stops: Indices) -> Vector:
    """Width times rise of P of the cells between these positions."""
    rise = P.share_before(stops) - P.upto[starts] / P.total
    return np.asarray(P.width(P.x[starts], P.x[stops]) * rise)


def split(P: Empirical, starts: Indices, stops: Indices) -> Indices:
    """A position inside each cell: its median or the middle of its range, whichever leaves the smaller cells."""
    half = (P.before[starts + 1] + P.before[stops]) / 2
    middle = P.x[starts] / 2 + P.x[stops] / 2
    trials = [np.searchsorted(P.before, half, "right") - 1, np.searchsorted(P.x, middle)]
    trials = [np.clip(at, starts + 1, stops - 1) for at in trials]
    costs = [np.maximum(cell_sizes(P, starts, at), cell_sizes(P, at, stops)) for at in trials]
    return np.where(costs[0] <= costs[1], *trials).astype(np.int64)


def _equal(P: Empirical, count: int) -> Vector:
    """Edges at equal distances."""
    scale = P.exponents[0]
    low, high = np.ldexp(P.x[[0, -1]], -scale).tolist()
    return np.asarray(np.ldexp(np.linspace(low, high, count + 1), scale))


def _log(P: Empirical, count: int) -> Vector:
    """Edges at equal ratios."""
    if P.x[0] <= 0:
        raise InvalidInput(
            f'grid="log" needs values above 0, got {P.x[0]:g}; use "auto" or "quantile"'
        )
    low, high = np.log(P.x[[0, -1]]).tolist()
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(np.linspace(low, high, count + 1)).clip(P.x[0], P.x[-1]))


def _quantile(P: Empirical, count: int) -> Vector:
    """Edges at equal shares."""
    return P.quantile(np.linspace(0.0, 1.0, count + 1))


EDGES: dict[str, Callable[[Empirical, int], Vector]] = {
    "equal": _equal,
    "log": _log,
    "quantile": _quantile,
}


def as_edges(edges: Any, name: str) -> Vector:
    """Increasing edges of at least one bin."""
    array = as_array(edges, name)
    if array.ndim != 1 or array.size < 2 or not (array[1:] > array[:-1]).all():
        raise InvalidInput(
            f"{name} must be increasing edges, one more than there are bins, got {array.shape}"
            " numbers"
        )
    return array


def best_values(P: Empirical, k: Any, options: BinsOptions) -> Result:
    """The best k positions of a grid, with the loss to the values and a bound over all positions there are."""
    grid = grid_of(P, k, options)
    to_values = Affine(shift=grid.constant, slack=grid.slack)
    callback = to_values.callback(watched(options.callback, P.exponent))
    C = SparseSimplex(Atoms(grid.positions.size), k)
    result = solve(grid.target, C, options.replace(callback=callback))
    result = to_values.result(replace(result, bound=result.bound or 0.0))
    result = in_units(add_doubts(result, grid, P), P.exponent)
    at, weights = result.indices, np.asarray(result.weights)
    values, numbers = grid.positions[at], grid.numbers[at]
    if grid.edges is None:
        inner = np.clip(P.quantile(np.cumsum(weights)[:-1]), values[:-1], values[1:])
        lows, highs = np.append(P.x[0], inner), np.append(inner, P.x[-1])
        words = Words("values", P.x.size, LOSS)
    else:
        lows, highs = grid.edges[numbers], grid.edges[numbers + 1]
        words = Words("bins", grid.n_bins, LOSS)
    result = replace(result, words=words, total=P.total, indices=numbers, space=Atoms(grid.n_bins))
    return place_on_line(result, values, np.column_stack([lows, highs]))


def place_on_line(result: Result, values: Vector, edges: Any) -> Result:
    """A result that knows where the kept bins sit."""
    weights, size = np.asarray(result.weights), result.space.size
    kept = Distribution(
        result.indices[:, None], weights, np.array([0]), (size,), values=values, edges=edges
    )
    return replace(result, labels=values, kept=kept)


def add_doubts(result: Result, grid: Grid, P: Empirical) -> Result:
    """A result with the bound and the notes that the grid, the counts in cells and the sketch leave."""
    notes, status, bound, error = [result.note], result.status, float(result.bound or 0.0), 0.0
    if P.dropped:
        notes.append(f"{P.dropped} missing values were dropped")
    if P.error:
        rank = P.error / P.total
        off = rank * math.sqrt(float(P.width(P.x[0], P.x[-1])))
        bound = max(math.sqrt(bound) - off, 0.0) ** 2
        most = (math.sqrt(max(result.value, 0.0)) + off) ** 2
        error = most - result.value
        notes.append(
            f"ranks are off by at most {rank:.2g} (proven), so the value is at most"
            f" {math.ldexp(most, P.exponent):.6g}"
        )
    if P.area is not None and P.unknown > 0.0:
        bound, error = max(bound - P.unknown, 0.0), P.unknown
        notes.append(
            f"the value is exact to within {math.ldexp(error, P.exponent):.2g}: values are counted"
            f" in {P.x.size - 1} cells"
        )
    doubtful = grid.slack > 0.0 or error > 0.0
    if status is Status.OPTIMAL and doubtful and result.value - bound > TOLERANCE * result.value:
        status = Status.FINISHED
        if grid.slack > 0.0:
            notes.append(
                f"this is proven best on the grid of {grid.positions.size} positions; any other"
                " positions could gain at most the gap"
            )
    note = "; ".join(filter(None, notes))
    return replace(result, bound=bound, status=status, value_se=error, note=note)
