"""Where a search begins: a first answer, and the Lawson-Hanson path with or without the sum constraint."""

import math
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..active_set import climb
from ..deadline import Deadline
from ..protocols import Quadratic
from ..rules import Rules
from .fit import Fit, feasible_support, refitted, steepest_units, target_gram

Mask = npt.NDArray[np.bool_]

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


def lower_bound_of(objective: Any, rules: Rules | None = None) -> float:
    """Known lower bound on F, under rules for entries if there are any."""
    if rules is not None and hasattr(objective, "lower_bound_for"):
        return float(objective.lower_bound_for(rules.sizes[1]))
    return float(getattr(objective, "lower_bound", -math.inf))


def slope_error(objective: Any, value: float) -> float:
    """How far rounding may move a slope where F has this value, as far as the objective can tell."""
    return float(objective.slope_error(value)) if hasattr(objective, "slope_error") else 0.0


Path = tuple[Indices, Vector]
"""Units and their weights."""
Walk = Generator[Path, None, Path]
"""A search that shows where it stands when it may be stopped, and returns where it ends."""


def stopped(walk: Walk, deadline: Deadline) -> Path:
    """Where a walk ends, or stands when the time is over."""
    while True:
        try:
            path = next(walk)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # what a walk returns
        if deadline.passed:
            return path


def paused(walk: Walk) -> Generator[None, None, Path]:
    """A walk of which only the end matters."""
    while True:
        try:
            next(walk)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # what a walk returns
        yield


def walked(
    problem: Quadratic,
    rules: Rules,
    limit: int,
    summed: bool,
    begin: tuple[Indices, Vector] | None = None,
) -> Walk:
    """The active-set path of min F over q >= 0 (and Σq = 1 if `summed`), from zero, up to `limit` units.

    `begin` goes on where an earlier call ended.

    One look at all n slopes lists the WIDTH steepest units; the path goes on among those until
    their slopes fall to SHARE of the first. It ends where F falls no more: units may enter that
    depend on those held and get no weight. The path without the sum constraint finds the support
    where b is nearly reachable; it stands still where b points away from all columns, and the
    summed one does not. Returns (units, weights), heaviest first. Source: Lawson & Hanson 1974;
    partial pricing as in the simplex method.
    """
    open_units = rules.open
    units, weights = begin if begin is not None else (np.empty(0, np.int64), np.empty(0))
    if summed and not len(units):
        values = problem.diagonal - 2.0 * problem.slopes(units, weights)
        values[~open_units] = np.inf
        units, weights = np.array([int(np.argmin(values))]), np.ones(1)
    entered, before = 1, np.inf
    while entered and len(units) < limit:
        slopes = problem.slopes(units, weights)
        yield units, weights
        level = float(weights @ slopes[units]) if summed else 0.0
        slopes[~open_units] = slopes[units] = -np.inf
        slopes[slopes <= level] = -np.inf
        listed = np.concatenate([units, steepest_units(slopes, WIDTH)])
        if len(listed) == len(units):
            break
        H = problem.cross(listed, listed)
        start = np.concatenate([weights, np.zeros(len(listed) - len(units))])
        sigma = float(H.diagonal().max()) if summed else 0.0
        c = np.ascontiguousarray(problem.linear(listed))
        w, entered = climb(np.ascontiguousarray(H), c, sigma, start, limit, SHARE)
        held = np.flatnonzero(w)
        units, weights = listed[held], w[held]
        value = problem.value_at(units, weights)
        if value <= REACHED * abs(problem.constant) or not value < before:
            break
        before = value
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


def path_supports(
    problem: Quadratic, rules: Rules
) -> Generator[tuple[bool, Indices] | None, None, None]:
    """Supports from the path without the sum constraint: at k units, from there a sixth further with it, and without.

    Each is the k heaviest units of where the path stands. Where it ends early, or its weights do
    not nearly sum to one, also from the path with the constraint from the beginning. Whenever the
    first path has doubled, where it stands (False); the others are True, and None is a pause.
    """
    k, size = rules.sizes[1], FIRST_UNITS
    more, walk = k + max(16, k // 6), walked(problem, rules, k, summed=False)
    while True:
        try:
            units, weights = next(walk)
        except StopIteration as end:
            free: Path = end.value
            break
        doubled = len(units) >= size
        size = 2 * len(units) if doubled else size
        heaviest = units[np.argsort(-weights, kind="stable")]
        yield (False, feasible_support(problem, rules, heaviest)) if doubled else None
    yield True, feasible_support(problem, rules, free[0])
    if len(free[0]):
        loose = replace(rules, min_weight=0.0, max_weight=1.0)
        first = refitted(problem, loose, np.sort(free[0]))
        bent = yield from paused(walked(problem, rules, more, True, (first.units, first.weights)))
        yield True, feasible_support(problem, rules, bent[0])
    if len(free[0]) == k and k <= MAX_UNITS_OF_FURTHER_START:
        free = yield from paused(walked(problem, rules, more, False, free))
        yield True, feasible_support(problem, rules, free[0])
    if len(free[0]) < k or abs(free[1].sum() - 1.0) > MAX_SUM_ERROR:
        summed = yield from paused(walked(problem, rules, more, summed=True))
        yield True, feasible_support(problem, rules, summed[0])


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


def relaxed_bounds(
    problem: Quadratic, rules: Rules, begin: tuple[Indices, Vector]
) -> Iterator[float | None]:
    """Lower bounds on F over the whole simplex, better and better, from the path with the sum constraint.

    Ends where the bound is reached, or where it would say little. `begin`: sorted units, and the
    best weights on them without bounds. None is a pause.
    """
    units, weights = begin
    value = first = problem.value_at(units, weights)
    while value > POINTLESS * first:
        yield simplex_bound(problem, rules, Fit(units, weights, value))
        before = value
        units, weights = yield from paused(
            walked(problem, rules, len(units) + WIDTH, True, (units, weights))
        )
        value = problem.value_at(units, weights)
        if value > (1.0 - CLOSED) * before:
            return
