"""Algorithm 3 for quadratics: the unit that lowers F most, found by refits of those whose bound allows it."""

import math
from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..active_set import box_weights
from ..constraints.sparse_simplex import SparseSimplex
from ..protocols import Quadratic, Rounded, implements
from .fit import Answers, Found, bounds, on_support

TIE, NOISE = 1e-12, 1e-15
"""Values of F that differ by this share of F, and this share of its largest terms, are a tie."""
MARGIN = 1e-12
"""Rounding granted to what bounds are made of, as a share of its terms."""
NONE = np.empty(0, np.int64)
quiet = np.errstate(divide="ignore", invalid="ignore", over="ignore")
"""Units without curvature rise as far as their weight may: their quotient is left out."""


class Additions:
    """A support S that grows by Algorithm 3, and the least F that one more unit could reach.

    `slopes` (S, n) are those at the vertices of S, `whitened` the differences H_t - H_r to the
    first unit r, reduced by a Cholesky factorisation: what remains of the squared distance of j
    from r is its curvature beside S.
    """

    def __init__(self, problem: Quadratic, limits: SparseSimplex) -> None:
        self.problem, self.limits = problem, limits
        self.units, self.weights, self.value = NONE, np.empty(0), math.inf
        self._origin = problem.slopes(NONE, np.empty(0))
        self._diagonal = np.asarray(problem.diagonal, np.float64)
        most, n = limits.sizes[1], len(self._origin)
        self._slopes, self._whitened = np.empty((min(most, 8), n)), np.empty((min(most, 8), n))
        self._order: list[int] = []
        self._pivots = 0
        self._curvature, self._distances = np.empty(0), np.empty(0)

    def hold(self, unit: int) -> None:
        """Let one more unit into the support."""
        at = len(self._order)
        if at == len(self._slopes):
            self._slopes = np.concatenate([self._slopes, np.empty_like(self._slopes)])
            self._whitened = np.concatenate([self._whitened, np.empty_like(self._whitened)])
        self._slopes[at] = self.problem.slopes(np.array([unit]), np.ones(1))
        self._order.append(unit)
        self.units = np.sort(np.append(self.units, unit))
        first = self._order[0]
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
        self._whitened[self._pivots] = row
        self._pivots += 1
        self._curvature -= np.square(row)

    def fit(self, units: Indices, loose: bool = False) -> tuple[Vector, float]:
        """The best weights on a support, and F; infinite where no weights are within the bounds."""
        limits, size = self.limits, len(units)
        low, high = (np.zeros(size), np.ones(size)) if loose else bounds(limits, size)
        if not loose and not self._feasible(units):
            return np.empty(0), math.inf
        start = np.full(size, 1.0 / size)
        if len(self.weights):
            start = np.zeros(size)
            start[np.searchsorted(units, self.units)] = self.weights
        w = box_weights(*on_support(self.problem, units), low, high, start)
        used = w > 0.0
        return w, self.problem.value_at(units[used], w[used])

    def _feasible(self, units: Indices) -> bool:
        """Whether weights within the bounds sum to one, with the fewest of each group where all must have weight."""
        limits, size = self.limits, len(units)
        if (
            not size
            or size * limits.min_weight > 1.0 + 1e-12
            or size * limits.max_weight < 1.0 - 1e-12
        ):
            return False
        return limits.min_weight == 0.0 or not limits.lacking(units)

    def refit(self) -> None:
        """Give the support its best weights."""
        self.weights, self.value = self.fit(self.units)

    def best(self, others: Indices) -> int:
        """The unit whose entry lowers F most, ties to the lowest index; the lowest where F is infinite for all."""
        tops = self._lowest_values(others)
        noise = NOISE * float(self._diagonal[others].max())
        ceiling = (
            self.value if self.limits.min_weight == 0.0 else math.inf
        )  # a further unit may have no weight
        found: dict[int, float] = {}
        least = ceiling
        for position in np.argsort(tops, kind="stable"):
            unit, low = int(others[position]), float(tops[position])
            tie = TIE * abs(least) + noise if least < math.inf else 0.0
            if low > least + tie or low >= ceiling - tie:
                break
            tied = [u for u, value in found.items() if value <= least + tie]
            if tied and min(tied) < unit and low >= least - tie:
                continue
            found[unit] = self.fit(with_unit(self.units, unit))[1]
            least = min(least, found[unit])
        tie = TIE * abs(least) + noise if least < math.inf else 0.0
        if least == math.inf or least >= ceiling - tie:
            return int(others.min())
        return min(unit for unit, value in found.items() if value <= least + tie)

    @quiet
    def _lowest_values(self, others: Indices) -> Vector:
        """F is at least this where S and one of these units have weight, (m,).

        F[w] - 2 g t + s t² for the best weight t: g the slope above the level that free weights
        share, s the curvature beside S. It is the minimum over all weights whose sum is one, the
        multipliers of the bounds at w kept, so no weights within the bounds are better.
        """
        if not len(self.units):
            terms = self._diagonal[others], 2.0 * self._origin[others]
            return np.asarray(
                terms[0] - terms[1] + self.problem.constant - MARGIN * (terms[0] + np.abs(terms[1]))
            )
        w, value, low, high = (
            self.weights,
            self.value,
            self.limits.min_weight,
            min(self.limits.max_weight, 1.0),
        )
        if not len(w):
            (w, value), low, high = self.fit(self.units, loose=True), 0.0, 1.0
        in_order = w[np.searchsorted(self.units, self._order)]
        slopes = in_order @ self._slopes[: len(w)]
        own = slopes[self.units]
        free = (w > low) & ((w < high) | (high == 1.0))
        multiplier = float(own[free].mean() if free.any() else own.min())
        distances = self._distances[others]
        error = MARGIN * (np.sqrt(distances * max(value, 0.0)) + NOISE * self._diagonal[others])
        if implements(self.problem, Rounded):
            rounded: Any = self.problem
            error = error + 2.0 * rounded.slope_error(value)
        excess = np.maximum(slopes[others] - multiplier + error, 0.0)
        curvature = np.maximum(self._curvature[others] - MARGIN * distances, 0.0)
        t = np.clip(np.where(curvature > 0.0, excess / curvature, np.inf), low, high)
        return np.asarray(value - 2.0 * excess * t + curvature * np.square(t))


def additions(problem: Quadratic, limits: SparseSimplex) -> Answers:
    """Hold `include`, add the unit that lowers F most until the support is full; yields feasible answers."""
    state = Additions(problem, limits)
    for unit in limits.include:
        state.hold(int(unit))
    state.refit()
    while True:
        units = state.units
        if state.value < math.inf and not limits.lacking(units):
            kept = (state.weights > 0.0) | np.isin(units, limits.include)
            yield Found(units[kept], state.weights[kept], state.value)
        fits = limits.addable(units)
        fits[units] = False
        others = np.flatnonzero(fits)
        if not len(others):
            return
        state.hold(state.best(others))
        state.weights = np.empty(0)
        state.refit()


def with_unit(units: Indices, unit: int) -> Indices:
    """Sorted units with one more, in their order."""
    at = int(units.searchsorted(unit))
    return np.concatenate([units[:at], [unit], units[at:]])
