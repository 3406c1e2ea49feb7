"""The best weights on a support of a quadratic, which units look promising, and the path that searches start from."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..active_set import box_weights, climb
from ..constraints.conditions import Conditioned, Conditions
from ..deadline import Deadline
from ..programmes import linear_programme, quadratic_programme
from ..protocols import Quadratic, is_ours, slope_error
from ..rules import NO_UNITS, Rules

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

SLACK, MET = 1e-12, 1e-12
"""How far sums of bounds may miss one, and weights of the active set a condition."""
EPS = float(np.finfo(float).eps)
MULTIPLICATIONS_PER_SECOND, NEGLIGIBLE_SECONDS = 1e9, 0.1
"""Multiplications in a second, about, and how many seconds are no matter."""
WIDTH = 32
"""Units listed at each look at all slopes."""
SHARE = 0.8
"""The list is renewed when its steepest slope falls below this share of what it was."""
REACHED = 1e-20
"""Relative value at which the target counts as reached."""
CLOSED = 1e-9
"""Relative gain of the relaxation below which its bound is as good as it gets."""
MAX_UNITS_OF_FURTHER_START = 350
"""Units up to which one more point of the path is worth its time."""
FIRST_UNITS = 64
"""Units looked at for a first answer."""
MAX_SUM_ERROR = 0.15
"""How far from one the weights of the path without the sum constraint may sum before the other path
is tried."""
POINTLESS = 1e-2
"""Share of the first value below which no bound is worth having."""


class Fit(NamedTuple):
    """Sorted units, their weights (which sum to one), and F there.

    Conditions cost price'q - charge <= 0 for all weights q that meet them. `gradient` (n,) belongs
    to a linear function below F that touches it there, where an objective finds one by itself.
    """

    units: Indices
    weights: Vector
    value: float
    price: Vector | float = 0.0
    charge: float = 0.0
    gradient: Vector | None = None

    def on_all(self, size: int) -> Vector:
        """The weights on all units, (size,)."""
        return spread(self.units, self.weights, size)


class Relaxed(NamedTuple):
    """The minimum over some units without a limit on their number: p, F there, and a lower bound on F over them.

    p is None where no weights are feasible (the bound is infinite) or none were found.
    """

    units: Indices
    p: Vector | None
    value: float
    bound: float
    fit: Fit | None = None


def spread(units: Indices, weights: Vector, size: int) -> Vector:
    """Weights of some units as a vector of all, (size,)."""
    p = np.zeros(size)
    p[units] = weights
    return p


def target_gram(problem: Any, units: Indices, others: Indices) -> Matrix:
    """The block of G = H - c1ᵀ - 1cᵀ + constant, so that F = pᵀGp where Σp = 1.

    Without cancellation if possible.
    """
    if hasattr(problem, "centred"):
        return np.asarray(problem.centred(units, others))
    left, right = problem.linear(units), problem.linear(others)
    block = np.asarray(problem.cross(units, others), np.float64)
    block = block if is_ours(problem) else block.copy()  # large ones are changed in place
    block += problem.constant - right
    block -= left[:, None]
    return block


def on_support(problem: Quadratic, units: Indices) -> tuple[Vector, Vector]:
    """(H, c) of F on a few units whose weights sum to one, but for a constant.

    About the target where possible.
    """
    if hasattr(problem, "centred"):
        return target_gram(problem, units, units), np.zeros(len(units))
    return problem.cross(units, units), problem.linear(units)


def steepest_units(slopes: Vector, count: int) -> Indices:
    """Indices of the `count` largest slopes, steepest first; minus infinity never counts.

    >>> steepest_units(np.array([1.0, 3.0, -np.inf, 2.0]), 3).tolist()
    [1, 3, 0]
    """
    count = min(count, len(slopes))
    top = np.argpartition(-slopes, count - 1)[:count]
    top = top[np.argsort(-slopes[top], kind="stable")]
    return top[slopes[top] > -np.inf]


def with_unit(units: Indices, unit: int) -> Indices:
    """Sorted units with one more, in their order."""
    at = int(units.searchsorted(unit))
    return np.concatenate([units[:at], [unit], units[at:]])


def bounds(rules: Rules, inside: Mask) -> tuple[Vector, Vector]:
    """The least and the largest weights of units; those that are not inside may have none."""
    low, high = rules.bounds(len(inside))
    return np.where(inside, low, 0.0), high


def affordable(deadline: Deadline | None, multiplications: float) -> bool:
    """Whether a computation that cannot be stopped fits into the time left.

    Short ones always do.
    """
    seconds = multiplications / MULTIPLICATIONS_PER_SECOND
    return deadline is None or seconds <= max(deadline.left(), NEGLIGIBLE_SECONDS)


def refit_cost(size: int) -> float:
    """Multiplications that refitting takes, about, when many units enter and leave."""
    return 5.0 * size**3


def conditioned_weights(
    H: Matrix,
    c: Vector,
    ends: tuple[Vector, Vector],
    start: Vector | None,
    conditions: Conditions | None,
    units: Indices,
) -> Conditioned | None:
    """argmin w'Hw - 2c'w over Σw = 1, low <= w <= high and conditions, with their price.

    None where nothing is feasible.

    By the active set from `start`, and where its weights miss a condition, or without a start, by a
    quadratic programme. H: (s, s), the other arrays (s,); `ends` are low and high.
    """
    low, high = ends
    if low.sum() > 1.0 + SLACK or high.sum() < 1.0 - SLACK:
        return None
    if conditions is None or start is not None:
        w = box_weights(H, c, low, high, np.zeros(len(c)) if start is None else start)
        if conditions is None or conditions.holds(spread(units, w, conditions.size), MET):
            return Conditioned(w, 0.0, 0.0)
    return conditions.solved(units, partial(quadratic_programme, H, c, low, high))


def feasible_weights(rules: Rules, units: Indices, inside: Mask) -> bool:
    """Whether some weights on these units, those inside with their least, meet all conditions."""
    low, high = bounds(rules, inside)
    if not len(units) or low.sum() > 1.0 + SLACK or high.sum() < 1.0 - SLACK:
        return False
    flat = partial(linear_programme, np.zeros(len(units)), low, high)
    return rules.conditions is None or rules.conditions.solved(units, flat) is not None


def vertex(slopes: Vector, lower: Vector, upper: Vector) -> Vector:
    """The vertex of {lower <= w <= upper, 1'w = 1} with the least slopes'w: lower bounds, the rest to the least slopes.

    >>> vertex(np.array([3.0, 1.0, 2.0]), np.zeros(3), np.full(3, 0.6)).tolist()
    [0.0, 0.6, 0.4]
    """
    order = np.argsort(slopes, kind="stable")
    room = (upper - lower)[order]
    before = np.append(0.0, np.cumsum(room)[:-1])
    w = lower.copy()
    w[order] += np.minimum(room, np.maximum(1.0 - lower.sum() - before, 0.0))
    return w


def refitted(problem: Quadratic, rules: Rules, units: Indices, start: Vector | None = None) -> Fit:
    """The best weights on a support of feasible size, exact to rounding.

    Units at zero are left out unless included.

    min F over Σw = 1, min_weight <= w <= max_weight. units: sorted.
    """
    first = np.full(len(units), 1.0 / len(units)) if start is None else start
    H, c = on_support(problem, units)
    w = box_weights(H, c, *rules.bounds(len(units)), first)
    kept = w > 0.0
    if len(rules.include):
        kept |= np.isin(units, rules.include)
    units, w = units[kept], w[kept]
    return Fit(units, w, problem.value_at(units, w))


def line_gains(problem: Quadratic, fit: Fit) -> Vector:
    """How promising each unit is, (n,): the slope on the line to its vertex over the line's length.

    F, conditions priced, falls by at most g_j² / c_j on that line: g_j = s_j - wᵀs, c_j = H_jj -
    2 (Hq)_j + qᵀHq. Source: Frank & Wolfe 1956, exact line search.
    """
    units, weights = fit.units, fit.weights
    slopes = problem.slopes(units, weights)
    image = problem.slopes(NO_UNITS, np.empty(0)) - slopes
    diagonal = problem.diagonal
    curvature = np.maximum(diagonal - 2.0 * image + weights @ image[units], EPS * diagonal)
    slopes -= 0.5 * fit.price
    slopes -= float(weights @ slopes[units])
    return np.asarray(slopes / np.sqrt(np.maximum(curvature, 1e-300)))


def promising(problem: Quadratic, rules: Rules, fit: Fit, count: int) -> Indices:
    """The units outside a support that look best, best first; those that lose least fill up."""
    gains = line_gains(problem, fit)
    gains[fit.units] = -np.inf
    gains[~rules.open] = -np.inf
    return steepest_units(gains, count)


def feasible_support(
    problem: Quadratic, rules: Rules, ranked: Indices, size: int | None = None
) -> Indices:
    """The first units of a ranking that fit.

    Where they are too few to carry weight one, steep ones are added.
    """
    units = rules.fitting(ranked, rules.sizes[1] if size is None else size)
    if not rules.lacking(units):
        return units
    slopes = problem.slopes(units, np.full(len(units), 1.0 / max(1, len(units))))
    slopes[~rules.open] = -np.inf
    slopes[units] = -np.inf
    rest = steepest_units(slopes, problem.space.size)
    return rules.fitting(np.concatenate([units, rest]), len(units) + rules.lacking(units))


Path = tuple[Indices, Vector]
"""Units and their weights, heaviest first."""


def stopped(walk: Iterator[Path], deadline: Deadline) -> Path:
    """Where a walk ends, or stands when the time is over."""
    for path in walk:  # noqa: B007 - the last one is what is asked for
        if deadline.passed:
            break
    return path


def walked(
    problem: Quadratic,
    rules: Rules,
    limit: int,
    summed: bool,
    begin: Path | None = None,
) -> Iterator[Path]:
    """The active-set path of min F over q >= 0 (and Σq = 1 if `summed`), from zero, up to `limit` units.

    Yields where it stands before each look at all slopes, and where it ends. `begin` goes on where
    an earlier call ended.

    One look at all n slopes lists the WIDTH steepest units; the path goes on among those until
    their slopes fall to SHARE of the first. It ends where F falls no more: units may enter that
    depend on those held and get no weight. The path without the sum constraint finds the support
    where b is nearly reachable; it stands still where b points away from all columns, and the
    summed one does not. Source: Lawson & Hanson 1974; partial pricing as in the simplex method.
    """
    units, weights = (NO_UNITS, np.empty(0)) if begin is None else begin
    if summed and not len(units):
        values = problem.diagonal - 2.0 * problem.slopes(units, weights)
        values[~rules.open] = np.inf
        units, weights = np.array([int(np.argmin(values))]), np.ones(1)
    entered, before = 1, np.inf
    while entered and len(units) < limit:
        slopes = problem.slopes(units, weights)
        yield heaviest_first(units, weights)
        level = float(weights @ slopes[units]) if summed else 0.0
        slopes[~rules.open] = slopes[units] = -np.inf
        slopes[slopes <= level] = -np.inf
        listed = np.concatenate([units, steepest_units(slopes, WIDTH)])
        if len(listed) == len(units):
            break
        H = np.ascontiguousarray(problem.cross(listed, listed))
        start = np.concatenate([weights, np.zeros(len(listed) - len(units))])
        sigma = float(H.diagonal().max()) if summed else 0.0
        c = np.ascontiguousarray(problem.linear(listed))
        w, entered = climb(H, c, sigma, start, limit, SHARE)
        units, weights = listed[w != 0.0], w[w != 0.0]
        value = problem.value_at(units, weights)
        if value <= REACHED * abs(problem.constant) or not value < before:
            break
        before = value
    yield heaviest_first(units, weights)


def heaviest_first(units: Indices, weights: Vector) -> Path:
    """Units and their weights, heaviest first."""
    order = np.argsort(-weights, kind="stable")
    return units[order], weights[order]


def first_answer(problem: Quadratic, rules: Rules) -> Fit:
    """The best weights on units near the target among a few that are evenly spread: quick, however many there are."""
    fewest, most = rules.sizes
    listed = np.flatnonzero(rules.open)
    some = np.linspace(0, len(listed) - 1, max(FIRST_UNITS, 2 * fewest)).astype(np.int64)
    units = np.union1d(listed[some], rules.include)
    nearest = units[np.argsort(np.diag(target_gram(problem, units, units)))]
    size = max(fewest, min(most, FIRST_UNITS // 2))
    return refitted(problem, rules, feasible_support(problem, rules, nearest, size))


def path_supports(problem: Quadratic, rules: Rules) -> Iterator[tuple[bool, Indices] | None]:
    """Supports from the path without the sum constraint: at k units, from there a sixth further with it, and without.

    Each is the k heaviest units of where the path stands. Where it ends early, or its weights do
    not nearly sum to one, also from the path with the constraint from the beginning. Whenever the
    first path has doubled, where it stands (False); the others are True, and None is a pause.
    """
    k, size = rules.sizes[1], FIRST_UNITS
    more, free = k + max(16, k // 6), (NO_UNITS, np.empty(0))
    for free in walked(problem, rules, k, summed=False):
        doubled = len(free[0]) >= size
        size = 2 * len(free[0]) if doubled else size
        yield (False, feasible_support(problem, rules, free[0])) if doubled else None
    yield True, feasible_support(problem, rules, free[0])
    further: list[tuple[bool, Path | None]] = []
    if len(free[0]):
        loose = replace(rules, min_weight=0.0, max_weight=1.0)
        first = refitted(problem, loose, np.sort(free[0]))
        further.append((True, (first.units, first.weights)))
    if len(free[0]) == k and k <= MAX_UNITS_OF_FURTHER_START:
        further.append((False, free))
    if len(free[0]) < k or abs(free[1].sum() - 1.0) > MAX_SUM_ERROR:
        further.append((True, None))
    for summed, begin in further:
        for path in walked(problem, rules, more, summed, begin):
            free = path
            yield None
        yield True, feasible_support(problem, rules, free[0])


def simplex_bound(problem: Any, rules: Rules, fit: Fit) -> float:
    """A lower bound on F over all weights of sum one on the open units, none above max_weight: whatever their number.

    F is a squared distance ‖r‖² to a target t, and <r, t - Ap> >= m = F(q) - max_p (pᵀs - qᵀs) for
    every such p: all of them lie beyond a plane at distance m / ‖r‖, so m² / F(q) <= F where m > 0.
    The best p fills the steepest units.
    """
    units, weights, value = fit.units, fit.weights, fit.value
    slopes = problem.slopes(units, weights)
    full = int(1.0 / rules.max_weight)
    steepest = steepest_units(np.where(rules.open, slopes, -np.inf), full + 1)
    shares = np.full(len(steepest), min(rules.max_weight, 1.0))
    shares[full:] = max(1.0 - full * rules.max_weight, 0.0)
    margin = (
        value
        - float(shares @ slopes[steepest] - weights @ slopes[units])
        - 2.0 * slope_error(problem, value)
    )
    return margin * (margin / value) if margin > 0.0 and value > 0.0 else 0.0


def relaxed_bounds(problem: Quadratic, rules: Rules, begin: Path) -> Iterator[float | None]:
    """Lower bounds on F over the whole simplex, better and better, from the path with the sum constraint.

    Ends where the bound is reached, or where it would say little. `begin`: sorted units, and the
    best weights on them without bounds. None is a pause.
    """
    units, weights = begin
    value = first = problem.value_at(units, weights)
    while value > POINTLESS * first:
        yield simplex_bound(problem, rules, Fit(units, weights, value))
        before = value
        for path in walked(problem, rules, len(units) + WIDTH, True, (units, weights)):
            units, weights = path
            yield None
        value = problem.value_at(units, weights)
        if value > (1.0 - CLOSED) * before:
            return
