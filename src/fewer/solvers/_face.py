"""The minimum of a convex F over the distributions on one face."""

import math
from typing import Any, NamedTuple

import numpy as np

from .._compiled.simplex import project_simplex
from .._validation import Indices, Vector
from ..protocols import FaceSolvable, Objective, offers

MOST_STEPS = 2000
PRECISION = 1e-9
STALLED, PATIENCE = 1e-7, 20
"""A relative gain that counts as none, and how many steps in a row without gain end the descent."""


class FaceOptimum(NamedTuple):
    """A distribution on a face, its value, and a proven lower bound on F over that face."""

    p: Vector | None
    value: float
    bound: float


def face_value(objective: Objective, face: Indices) -> tuple[float, float]:
    """(value, lower bound) of the minimum over the face, as cheaply as the objective allows."""
    if face.size == 0:
        return math.inf, math.inf
    if offers(objective, FaceSolvable):
        solvable: Any = objective
        value = float(solvable.value_on(face))
        return value, value
    best = descend(objective, face)
    return best.value, best.bound


def face_best(objective: Objective, face: Indices) -> Vector:
    """The distribution on the face that minimises F."""
    if offers(objective, FaceSolvable):
        solvable: Any = objective
        best: Vector = solvable.best_on(face)
        return best
    found = descend(objective, face).p
    assert found is not None  # noqa: S101 - descend is only called on non-empty faces
    return found


def descend(objective: Objective, face: Indices) -> FaceOptimum:
    """Accelerated projected descent on the simplex of a face, for any convex F.

    Backtracking finds the step, momentum restarts when F rises. It ends when the Frank-Wolfe gap
    <g, p> - min g, which bounds F[p] - min F, is below 1e-9 of |F| + 1e-9, or after 2000 steps.
    """
    p = np.zeros(objective.space.size)
    p[face] = 1.0 / face.size
    ahead, t, mu, idle = p, 1.0, 1.0, 0
    value, bound = objective.value(p), -math.inf
    for _ in range(MOST_STEPS):
        gradient = objective.gradient(p)[face]
        gap = float(gradient @ p[face] - gradient.min())
        bound = max(bound, value - gap)
        if value - bound <= PRECISION * (abs(value) + PRECISION) or face.size == 1:
            break
        after, after_value, mu = _line(objective, face, ahead, mu)
        if after_value > value:  # momentum overshot: from p itself the next step descends
            if t == 1.0:
                break
            ahead, t = p, 1.0
            continue
        idle = idle + 1 if value - after_value <= STALLED * abs(value) else 0
        if idle > PATIENCE:  # F is not smooth, or this is as low as rounding lets it get
            break
        t_next = (1.0 + math.sqrt(1.0 + 4.0 * t * t)) / 2.0
        ahead = np.maximum(after + (t - 1.0) / t_next * (after - p), 0.0)
        p, value, t, mu = after, after_value, t_next, 2.0 * mu
    return FaceOptimum(p, value, bound)


def _line(objective: Objective, face: Indices, ahead: Vector, mu: float) -> tuple[Vector, float, float]:
    """A projected step from `ahead` whose length mu is halved until F keeps its quadratic promise."""
    gradient = objective.gradient(ahead)[face]
    value = objective.value(ahead)
    after = np.zeros(ahead.size)
    while True:
        after[face] = project_simplex(ahead[face] - mu * gradient)
        change = after[face] - ahead[face]
        promised = value + gradient @ change + change @ change / (2.0 * mu)
        after_value = objective.value(after)
        if after_value <= promised + 1e-15 * abs(value) or mu < 1e-30:
            return after, after_value, mu
        mu /= 2.0
