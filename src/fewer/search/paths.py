"""Where a search begins: the Lawson-Hanson path, with or without the sum constraint, greedily priced."""

import math
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..active_set import climb
from ..deadline import Deadline
from ..protocols import Quadratic
from ..rules import Rules
from .fit import Fit, steepest_units

Mask = npt.NDArray[np.bool_]

WIDTH = 32
"""Units listed at each look at all slopes."""
SHARE = 0.8
"""The list is renewed when its steepest slope falls below this share of what it was."""
REACHED = 1e-20
"""Relative value at which the target counts as reached."""
CLOSED = 1e-9
"""Relative gain of the relaxation below which its bound is as good as it gets."""
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


def stopped(walk: Walk, deadline: Deadline) -> tuple[Indices, Vector]:
    """Where a walk ends, or stands when the time is over or the caller wants to stop."""
    while True:
        try:
            found = next(walk)
        except StopIteration as end:
            final: tuple[Indices, Vector] = end.value
            return final
        if deadline.passed:
            return found


def paused(walk: Walk) -> Generator[None, None, tuple[Indices, Vector]]:
    """A walk of which only the end matters."""
    while True:
        try:
            next(walk)
        except StopIteration as end:
            final: tuple[Indices, Vector] = end.value
            return final
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


def prepared(problem: Any) -> Iterator[None]:
    """Compute what every search needs of all units, with pauses."""
    if hasattr(problem, "prepare"):
        yield from problem.prepare()


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
