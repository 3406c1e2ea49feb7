"""The best weights on a support of a quadratic, and which units look promising."""

from collections.abc import Generator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..active_set import box_weights
from ..constraints.conditions import Conditioned, Conditions
from ..deadline import Deadline
from ..programmes import quadratic_programme
from ..protocols import Quadratic
from ..rules import Rules

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NONE = np.empty(0, np.int64)
NEARLY_ZERO = 1e-8
"""The share of the constant term below which F has lost half of its digits."""
SLACK, MET = 1e-12, 1e-12
"""How far sums of bounds may miss one, and weights of the active set a condition."""
EPS = float(np.finfo(float).eps)
MULTIPLICATIONS_PER_SECOND, NEGLIGIBLE_SECONDS = 1e9, 0.1
"""Multiplications in a second, about, and how many seconds are no matter."""


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


Answers = Generator[Fit | None, None, None]
"""What growing and improving yield: a better answer, or nothing (a chance to stop)."""


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
    block = np.asarray(problem.cross(units, others) + (problem.constant - right), np.float64)
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
    low = np.where(inside, rules.min_weight, 0.0)
    return low, np.full(len(inside), min(rules.max_weight, 1.0))


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
    w = box_weights(H, c, rules.min_weight, rules.max_weight, first)
    kept = w > 0.0
    if len(rules.include):
        kept |= np.isin(units, rules.include)
    units, w = units[kept], w[kept]
    return Fit(units, w, problem.value_at(units, w))


def polished(problem: Quadratic, rules: Rules, fit: Fit) -> Fit:
    """Newton steps with slopes from F itself rather than from the Gram matrix, kept while they help.

    H_FF d = s_F + mu 1, 1ᵀd = 0 on the weights F strictly inside their bounds. Matters where F is
    nearly zero, and is left out elsewhere if slopes are costly.
    """
    if not hasattr(problem, "centred") and fit.value > NEARLY_ZERO * abs(problem.constant):
        return fit
    low, high = rules.min_weight, rules.max_weight
    free = (fit.weights > low) & (fit.weights < high)
    units, size = fit.units[free], int(free.sum())
    if size < 2:
        return fit
    K = np.ones((size + 1, size + 1))
    K[:size, :size] = on_support(problem, units)[0]
    K[size, size] = 0.0
    for _ in range(2):
        slopes = problem.slopes(fit.units, fit.weights)[units]
        step = np.linalg.lstsq(K, np.append(slopes - slopes.mean(), 0.0), rcond=None)[0][:size]
        w = fit.weights.copy()
        w[free] += step - step.mean()
        w[free] /= w[free].sum() / (1.0 - w[~free].sum())
        value = problem.value_at(fit.units, w)
        if not value < fit.value or np.any(w < low) or np.any(w > high):
            break
        fit = Fit(fit.units, w, value)
    return fit


def line_gains(problem: Quadratic, fit: Fit) -> Vector:
    """How promising each unit is, (n,): the slope on the line to its vertex over the line's length.

    F, conditions priced, falls by at most g_j² / c_j on that line: g_j = s_j - wᵀs, c_j = H_jj -
    2 (Hq)_j + qᵀHq. Source: Frank & Wolfe 1956, exact line search.
    """
    units, weights = fit.units, fit.weights
    slopes = problem.slopes(units, weights)
    image = problem.slopes(NONE, np.empty(0)) - slopes
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
