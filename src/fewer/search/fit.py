"""The best weights on a support, and which units look promising beside it."""

from collections.abc import Generator
from functools import partial
from typing import NamedTuple

import numpy as np

from .._validation import Indices, Vector
from ..active_set import box_weights
from ..constraints.conditions import Conditioned as Priced
from ..constraints.conditions import Conditions
from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..programmes import quadratic_programme
from ..protocols import Centred, Quadratic, implements
from ._gram import steepest_units, target_gram

NONE = np.empty(0, np.int64)
NEARLY_ZERO = 1e-8
"""The share of the constant term below which F has lost half of its digits."""
SLACK, MET = 1e-12, 1e-12
"""How far sums of bounds may miss one, and weights of the active set a condition."""
EPS = float(np.finfo(float).eps)
MULTIPLICATIONS_PER_SECOND, NEGLIGIBLE_SECONDS = 1e9, 0.1
"""Multiplications in a second, about, and how many seconds are no matter."""


class Found(NamedTuple):
    """A feasible answer: sorted units, their weights (which sum to one), and F."""

    units: Indices
    weights: Vector
    value: float


Answers = Generator[Found | None, None, None]
"""What growing and improving yield: a better answer, or nothing (a chance to stop)."""


def bounds(limits: SparseSimplex, count: int) -> tuple[Vector, Vector]:
    """Lower and upper bounds of `count` units."""
    return np.full(count, limits.min_weight), np.full(count, limits.max_weight)


def affordable(deadline: Deadline | None, multiplications: float) -> bool:
    """Whether a computation that cannot be stopped fits into the time left; short ones always do."""
    seconds = multiplications / MULTIPLICATIONS_PER_SECOND
    return deadline is None or seconds <= max(deadline.left(), NEGLIGIBLE_SECONDS)


def refit_cost(size: int) -> float:
    """Multiplications that refitting takes, about, when many units enter and leave."""
    return 5.0 * size**3


def on_support(problem: Quadratic, units: Indices) -> tuple[Vector, Vector]:
    """(H, c) of F on a few units whose weights sum to one, but for a constant; about the target where possible."""
    if implements(problem, Centred):
        return target_gram(problem, units, units), np.zeros(len(units))
    return problem.cross(units, units), problem.linear(units)


def best_weights(
    H: Vector,
    c: Vector,
    low: Vector,
    high: Vector,
    start: Vector,
    conditions: Conditions | None,
    units: Indices,
) -> Priced | None:
    """argmin w'Hw - 2c'w over Σw = 1, low <= w <= high and conditions, and their price; None where nothing is feasible.

    By the active set, and where its weights miss a condition by a quadratic programme. H: (s, s),
    the other arrays (s,).
    """
    if low.sum() > 1.0 + SLACK or high.sum() < 1.0 - SLACK:
        return None
    w = box_weights(H, c, low, high, start)
    if conditions is None:
        return Priced(w, np.zeros(1), 0.0)
    p = np.zeros(conditions_size(conditions))
    p[units] = w
    if conditions.holds(p, MET):
        return Priced(w, np.zeros(1), 0.0)
    return conditions.solved(units, partial(quadratic_programme, H, c, low, high))


def conditions_size(conditions: Conditions) -> int:
    """How many entries conditions are about."""
    return len(conditions.previous) if conditions.G is None else int(conditions.G.shape[1])


def vertex(slopes: Vector, lower: Vector, upper: Vector) -> Vector:
    """The vertex of {lower <= w <= upper, 1'w = 1} with the least slopes'w: lower bounds, the rest to the least slopes.

    >>> vertex(np.array([3.0, 1.0, 2.0]), np.zeros(3), np.full(3, 0.6)).tolist()
    [0.0, 0.6, 0.4]
    """
    order = np.argsort(slopes, kind="stable")
    room = (upper - lower)[order]
    taken = np.minimum(
        room, np.maximum(1.0 - lower.sum() - np.append(0.0, np.cumsum(room)[:-1]), 0.0)
    )
    w = lower.copy()
    w[order] += taken
    return w


def refitted(
    problem: Quadratic, limits: SparseSimplex, units: Indices, start: Vector | None = None
) -> Found:
    """The best weights on a support of feasible size, exact to rounding; units at zero are left out unless included.

    min F over Σw = 1, min_weight <= w <= max_weight. units: sorted.
    """
    first = np.full(len(units), 1.0 / len(units)) if start is None else start
    H, c = on_support(problem, units)
    w = box_weights(H, c, limits.min_weight, limits.max_weight, first)
    kept = w > 0.0
    if len(limits.include):
        kept |= np.isin(units, limits.include)
    units, w = units[kept], w[kept]
    return Found(units, w, problem.value_at(units, w))


def polished(problem: Quadratic, limits: SparseSimplex, found: Found) -> Found:
    """Newton steps with slopes from F itself rather than from the Gram matrix, kept while they help.

    H_FF d = s_F + mu 1, 1ᵀd = 0 on the weights F strictly inside their bounds. Matters where F is
    nearly zero, and is left out elsewhere if slopes are costly.
    """
    if not implements(problem, Centred) and found.value > NEARLY_ZERO * abs(problem.constant):
        return found
    lo, hi = bounds(limits, len(found.units))
    free = (found.weights > lo) & (found.weights < hi)
    units, size = found.units[free], int(free.sum())
    if size < 2:
        return found
    K = np.ones((size + 1, size + 1))
    K[:size, :size] = on_support(problem, units)[0]
    K[size, size] = 0.0
    for _ in range(2):
        slopes = problem.slopes(found.units, found.weights)[units]
        step = np.linalg.lstsq(K, np.append(slopes - slopes.mean(), 0.0), rcond=None)[0][:size]
        w = found.weights.copy()
        w[free] += step - step.mean()
        w[free] /= w[free].sum() / (1.0 - w[~free].sum())
        value = problem.value_at(found.units, w)
        if not value < found.value or np.any(w < lo) or np.any(w > hi):
            break
        found = Found(found.units, w, value)
    return found


def promising(problem: Quadratic, limits: SparseSimplex, found: Found, count: int) -> Indices:
    """The units outside a support whose vertex lies in the best direction, best first.

    F falls by at most g_j² / c_j on the line to vertex j: g_j = s_j - wᵀs, c_j = H_jj - 2 (Hq)_j +
    qᵀHq. Where fewer have g_j > 0 than asked for, those that lose least fill up. Source: Frank &
    Wolfe 1956, exact line search.
    """
    units, weights = found.units, found.weights
    slopes = problem.slopes(units, weights)
    image = problem.slopes(NONE, np.empty(0)) - slopes
    diagonal = problem.diagonal
    curvature = np.maximum(diagonal - 2.0 * image + weights @ image[units], EPS * diagonal)
    slopes -= float(weights @ slopes[units])
    gains = slopes / np.sqrt(np.maximum(curvature, 1e-300))
    gains[units] = -np.inf
    gains[~limits.open] = -np.inf
    return steepest_units(gains, count)


def feasible_support(
    problem: Quadratic, limits: SparseSimplex, ranked: Indices, size: int | None = None
) -> Indices:
    """The first units of a ranking that fit; where they are too few to carry weight one, steep ones are added."""
    units = limits.fitting(ranked, limits.sizes[1] if size is None else size)
    if not limits.lacking(units):
        return units
    slopes = problem.slopes(units, np.full(len(units), 1.0 / max(1, len(units))))
    slopes[~limits.open] = -np.inf
    slopes[units] = -np.inf
    rest = steepest_units(slopes, problem.space.size)
    return limits.fitting(np.concatenate([units, rest]), len(units) + limits.lacking(units))
