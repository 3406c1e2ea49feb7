"""Descent on the simplex of a face, for smooth F.

A search is asked for `value_at(weights)`, for `slopes_at(weights, value)`, None where the gradient
is no guide, and whether it is `done()`; it keeps the best `weights` and their `value`.
"""

import math
from typing import Any

import numpy as np

from .._compiled.simplex import project_simplex
from .._validation import Vector
from ..active_set import simplex_weights

MOST_STEPS, MOST_ACCELERATED = 100, 2000
"""Quasi-Newton steps, of which superlinear convergence needs a few dozen; and accelerated ones."""
SHARES = 0.1, 1e-2, 1e-4, 1e-6
"""Shares of even weights that are mixed in to find a point with a gradient."""
IDLE = 3
"""Quasi-Newton steps in a row with next to no gain: F is not smooth, or rounding has the last word.
"""
STALLED, PATIENCE = 1e-7, 20
"""A relative gain that counts as none, and how many accelerated steps in a row without gain end a
descent."""
MOST_HALVINGS, MOST_FINITE = 60, 4
"""Halvings of a quasi-Newton step, and how many of them where F is finite: a smooth F needs few."""

Point = tuple[Vector, float, Vector | None]
"""Weights, F and its slopes there."""


def inner_point(search: Any) -> Point:
    """The best point so far, or one near it inside the face, where the gradient is finite."""
    best: Vector = search.weights
    weights, value = best, search.value
    slopes = search.slopes_at(weights, value)
    for share in SHARES:
        if slopes is not None:
            break
        weights = (1.0 - share) * best + share / best.size
        value = search.value_at(weights)
        slopes = search.slopes_at(weights, value) if value < math.inf else None
    return weights, value, slopes


def quasi_newton(search: Any) -> None:
    """Minimise F by quadratic models on the simplex whose curvature is learnt from the gradients (BFGS).

    Each model is minimised exactly, so entries leave and join the support many at a time.
    """
    w, value, slopes = inner_point(search)
    if slopes is None:
        return
    idle, B = 0, np.eye(w.size) * (float(np.ptp(slopes)) or 1.0)
    for _ in range(MOST_STEPS):
        if search.done() or idle > IDLE:
            return
        target = simplex_weights(0.5 * B, 0.5 * (B @ w - slopes), w)
        promise = float(slopes @ (w - target))
        if not promise > 0.0:
            return
        after, after_value, after_slopes = line(search, w, value, target, promise)
        if after_slopes is None:
            return
        idle = idle + 1 if value - after_value <= 0.05 * promise else 0
        B = updated(B, after - w, after_slopes - slopes)
        w, value, slopes = after, after_value, after_slopes


def line(search: Any, w: Vector, value: float, target: Vector, promise: float) -> Point:
    """The first of target, halfway there, a quarter of the way, ...

    Where F falls enough and has a gradient.
    """
    length, finite = 1.0, 0
    for _ in range(MOST_HALVINGS):
        after = target if length == 1.0 else w + length * (target - w)
        after_value = search.value_at(after)
        if after_value <= value - 1e-4 * length * promise:
            slopes = search.slopes_at(after, after_value)
            if slopes is not None:
                return after, after_value, slopes
        finite += after_value < math.inf
        if search.done() or finite > MOST_FINITE:
            break
        length *= 0.5
    return w, value, None


def updated(B: Vector, step: Vector, change: Vector) -> Vector:
    """The curvature after a step along which the gradient changed so (BFGS, damped where F seems not to curve).

    Source: Powell, "A fast algorithm for nonlinearly constrained optimization calculations", 1978.
    """
    along = B @ step
    expected, seen = float(step @ along), float(step @ change)
    if not expected > 0.0:
        return B
    if seen < 0.2 * expected:
        share = 0.8 * expected / (expected - seen)
        change, seen = share * change + (1.0 - share) * along, 0.2 * expected
    return B - np.outer(along, along) / expected + np.outer(change, change) / seen


def accelerated(search: Any) -> None:
    """Accelerated projected descent: backtracking finds the step, momentum restarts when F rises.

    For large faces.

    Source: Beck & Teboulle, SIAM J. Imaging Sci. 2 (2009); O'Donoghue & Candès, Found. Comput.
    Math. 15 (2015).
    """
    best: Point = inner_point(search)
    ahead, t, mu, idle = best, 1.0, 1.0, 0
    for _ in range(MOST_ACCELERATED):
        w, value, _slopes = best
        if search.done() or ahead[2] is None:
            return
        after, after_value, mu = projected(search, ahead[0], ahead[1], ahead[2], mu)
        if after_value > value:  # momentum overshot: from w itself the next step descends
            if t == 1.0:
                return
            ahead, t = best, 1.0
            continue
        idle = idle + 1 if value - after_value <= STALLED * abs(value) else 0
        best = after, after_value, search.slopes_at(after, after_value)
        if idle > PATIENCE or best[2] is None:
            return
        t_next = (1.0 + math.sqrt(1.0 + 4.0 * t * t)) / 2.0
        beyond = np.maximum(after + (t - 1.0) / t_next * (after - w), 0.0)
        beyond /= beyond.sum()
        beyond_value = search.value_at(beyond)
        ahead = beyond, beyond_value, search.slopes_at(beyond, beyond_value)
        t, mu = t_next, 2.0 * mu
        if ahead[2] is None:
            ahead, t = best, 1.0


def projected(
    search: Any, w: Vector, value: float, slopes: Vector, mu: float
) -> tuple[Vector, float, float]:
    """A projected step whose length mu is halved until F keeps its quadratic promise."""
    while True:
        after = project_simplex(w - mu * slopes)
        change = after - w
        promised = value + float(slopes @ change) + float(change @ change) / (2.0 * mu)
        after_value = search.value_at(after)
        if after_value <= promised + 1e-15 * abs(value) or mu < 1e-30:
            return after, after_value, mu
        mu /= 2.0
