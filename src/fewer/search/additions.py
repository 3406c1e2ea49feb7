"""Algorithm 3: units are added one by one, each time the one that lowers F most."""

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from .._validation import Indices, Vector
from ..active_set import box_weights
from ..deadline import Deadline
from ..protocols import Quadratic
from ..rules import Rules
from .fit import NONE, SLACK, Fit, bounds, on_support, with_unit

TIE, NOISE = 1e-12, 1e-15
"""Values of F that differ by this share of F, and this share of its largest terms, are a tie."""
MARGIN = 1e-12
"""Rounding granted to what bounds are made of, as a share of its terms."""
quiet = np.errstate(divide="ignore", invalid="ignore", over="ignore")
"""Units without curvature rise as far as their weight may: their quotient is left out."""


class Adding(Protocol):
    """What Algorithm 3 asks about supports."""

    def fit(self, units: Indices) -> Fit | None:
        """The best weights on a support; None where none are feasible."""
        ...

    def lows(self, units: Indices, fit: Fit | None, others: Indices) -> Vector:
        """F is at least this where a support and one of the others have weight, (m,)."""
        ...

    def tie(self, value: float) -> float:
        """Values that exceed this one by no more are the same."""
        ...


def additions(oracle: Adding, rules: Rules, deadline: Deadline) -> Iterator[Fit]:
    """Hold `include`, add the unit that lowers F most until the support is full.

    Yields feasible answers.
    """
    units = np.sort(rules.include)
    while True:
        fit = oracle.fit(units)
        if fit is not None and not rules.lacking(units):
            kept = (fit.weights > 0.0) | np.isin(units, rules.include)
            yield fit._replace(units=units[kept], weights=fit.weights[kept])
        fits = rules.addable(units)
        fits[units] = False
        others = np.flatnonzero(fits)
        if not len(others):
            return
        lows, ceiling = oracle.lows(units, fit, others), math.inf
        if fit is not None and rules.min_weight == 0.0:
            ceiling = fit.value  # a further unit may have no weight

        def value_of(unit: int, units: Indices = units) -> float:
            longer = oracle.fit(with_unit(units, unit))
            return math.inf if longer is None else longer.value

        units = with_unit(
            units, best_addition(others, lows, value_of, ceiling, oracle.tie, deadline)
        )


def best_addition(
    others: Indices,
    lows: Vector,
    value_of: Callable[[int], float],
    ceiling: float,
    tie: Callable[[float], float],
    deadline: Deadline,
) -> int:
    """The unit whose entry lowers F most, ties to the lowest index.

    The lowest where none brings F below `ceiling`.

    Units are valued in the order of their lower bounds until the next cannot be the best.
    """
    values: dict[int, float] = {}
    least = ceiling
    for position in np.argsort(lows, kind="stable"):
        unit, low, near = int(others[position]), float(lows[position]), tie(least)
        if low > least + near or low >= ceiling - near or (values and deadline.passed):
            break
        tied = [u for u, value in values.items() if value <= least + near]
        if tied and min(tied) < unit and low >= least - near:
            continue
        values[unit] = value_of(unit)
        least = min(least, values[unit])
    near = tie(least)
    if least == math.inf or least >= ceiling - near:
        return int(others.min())
    return min(unit for unit, value in values.items() if value <= least + near)


class QuadraticAdditions:
    """The least F that a support S of a quadratic and one more unit could reach.

    `slopes` (S, n) are those at the vertices of S, `whitened` the differences H_t - H_r to the
    first unit r, reduced by a Cholesky factorisation: what remains of the squared distance of j
    from r is its curvature beside S.
    """

    def __init__(self, problem: Quadratic, rules: Rules) -> None:
        self.problem, self.rules = problem, rules
        self._origin = problem.slopes(NONE, np.empty(0))
        self._diagonal = np.asarray(problem.diagonal, np.float64)
        rows = min(rules.sizes[1], 8), len(self._origin)
        self._slopes, self._whitened = np.empty(rows), np.empty(rows)
        self._order: list[int] = []
        self._pivots = 0
        self._curvature, self._distances = np.empty(0), np.empty(0)
        self._base: Fit | None = None

    def fit(self, units: Indices) -> Fit | None:
        """The best weights on a support, from those on the support before."""
        rules, size = self.rules, len(units)
        short = not size or (rules.min_weight > 0.0 and rules.lacking(units))
        if short or size * rules.min_weight > 1.0 + SLACK or size * rules.max_weight < 1.0 - SLACK:
            return None
        return self._fit(units, *bounds(rules, np.ones(size, np.bool_)))

    def _fit(self, units: Indices, low: Vector, high: Vector) -> Fit:
        start = np.full(len(units), 1.0 / len(units))
        if self._base is not None:
            start = np.zeros(len(units))
            start[np.searchsorted(units, self._base.units)] = self._base.weights
        w = box_weights(*on_support(self.problem, units), low, high, start)
        used = w > 0.0
        return Fit(units, w, self.problem.value_at(units[used], w[used]))

    def tie(self, value: float) -> float:
        """Rounding of F and of its largest terms."""
        noise = NOISE * float(self._diagonal.max())
        return TIE * abs(value) + noise if value < math.inf else 0.0

    def _hold(self, unit: int) -> None:
        """Let one more unit into S."""
        at, first = len(self._order), self._order[0] if self._order else unit
        self._slopes = _with_row(
            self._slopes, at, self.problem.slopes(np.array([unit]), np.ones(1))
        )
        self._order.append(unit)
        if at == 0:
            row = self._origin - self._slopes[0]
            self._distances = np.maximum(self._diagonal - 2.0 * row + self._diagonal[first], 0.0)
            self._curvature = self._distances.copy()
            return
        if not self._curvature[unit] > MARGIN * self._distances[unit]:
            return  # S reaches it already
        known = self._whitened[: self._pivots]
        row = self._slopes[0] - self._slopes[at]
        row -= row[first] + known[:, unit] @ known
        row /= math.sqrt(self._curvature[unit])
        self._whitened = _with_row(self._whitened, self._pivots, row)
        self._pivots += 1
        self._curvature -= np.square(row)

    @quiet
    def lows(self, units: Indices, fit: Fit | None, others: Indices) -> Vector:
        """F[w] - 2 g t + s t² for the best weight t of each of the others, (m,).

        g is the slope above the level that free weights share, s the curvature beside S. It is the
        minimum over all weights whose sum is one, the multipliers of the bounds at w kept, so no
        weights within the bounds are better.
        """
        for unit in units[~np.isin(units, self._order)]:
            self._hold(int(unit))
        self._base = fit
        if not len(units):
            terms = self._diagonal[others], 2.0 * self._origin[others]
            error = MARGIN * (terms[0] + np.abs(terms[1]))
            return np.asarray(terms[0] - terms[1] + self.problem.constant - error)
        low, high = self.rules.min_weight, min(self.rules.max_weight, 1.0)
        if fit is None:
            low, high = 0.0, 1.0
            fit = self._fit(units, np.zeros(len(units)), np.ones(len(units)))
        w, value = fit.weights, fit.value
        slopes = w[np.searchsorted(units, self._order)] @ self._slopes[: len(w)]
        own = slopes[units]
        free = (w > low) & ((w < high) | (high == 1.0))
        multiplier = float(own[free].mean() if free.any() else own.min())
        distances = self._distances[others]
        error = MARGIN * (np.sqrt(distances * max(value, 0.0)) + NOISE * self._diagonal[others])
        if hasattr(self.problem, "slope_error"):
            rounded: Any = self.problem
            error = error + 2.0 * rounded.slope_error(value)
        excess = np.maximum(slopes[others] - multiplier + error, 0.0)
        curvature = np.maximum(self._curvature[others] - MARGIN * distances, 0.0)
        t = np.clip(np.where(curvature > 0.0, excess / curvature, np.inf), low, high)
        return np.asarray(value - 2.0 * excess * t + curvature * np.square(t))


def _with_row(rows: Vector, count: int, row: Vector) -> Vector:
    """Rows with one more after the first `count`; twice as many where there is no place for it."""
    if count == len(rows):
        rows = np.concatenate([rows, np.empty_like(rows)])
    rows[count] = row
    return rows
