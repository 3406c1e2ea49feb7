"""The best weights on a support by a convex programme, with a linear bound on everything else."""

from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, Vector
from ..constraints.conditions import Conditions
from ..programmes import Solved, linear_programme, quadratic_programme
from ..protocols import FaceSolvable, Programmed, Quadratic, implements
from ._relaxation import vertex
from .face import face_best
from .fit import on_support

LOOSE = 1e-8
"""A bound that is further below the value asks for better multipliers."""
MOST_PRICED = 10_000
"""Units up to which a linear programme, which no limit interrupts, looks for those."""
STEEP = 1e12
"""What stands for an infinite slope."""
QP_COST = 3e5
"""Multiplications that a quadratic programme costs beside its cube."""
ROUNDING = 64.0 * float(np.finfo(float).eps)
"""Relative error granted to the terms of a bound."""


class Weighed(NamedTuple):
    """Entries with their best weights, F there, and what conditions cost: λ'(G q - h) = price'q - charge for all q.

    `gradient` (n,) belongs to a linear function below F that touches it there; None until it is
    asked for.
    """

    units: Indices
    weights: Vector
    value: float
    price: Vector | float
    charge: float
    gradient: Vector | None


class Programmes:
    """Weights of one objective under the conditions of one constraint; `work` counts multiplications, about."""

    def __init__(self, objective: Any, conditions: Conditions | None) -> None:
        self.objective, self.conditions = objective, conditions
        self.own = implements(objective, Programmed)
        self.quadratic = not self.own and implements(objective, Quadratic)
        self.work = 0.0

    def fitted(self, units: Indices, low: Vector, high: Vector) -> Weighed | None:
        """The best weights on some entries within bounds; None where no weights meet all conditions."""
        if not len(units) or low.sum() > 1.0 + 1e-12 or high.sum() < 1.0 - 1e-12:
            return None
        self.work += (
            self.objective.fit_cost(len(units)) if self.own else QP_COST + 4.0 * len(units) ** 3
        )
        if not self.own and not self.quadratic:
            return self._on_face(units)
        gradient: list[Vector] = []
        H, c = (np.zeros(0), np.zeros(0)) if self.own else on_support(self.objective, units)

        def solve(rows: Vector, right: Vector) -> Solved | None:
            if not self.own:
                return quadratic_programme(H, c, low, high, rows, right)
            found = self.objective.fitted(units, low, high, rows, right)
            if found is None:
                return None
            gradient[:] = [found[1]]
            return found[0]  # type: ignore[no-any-return] # an objective's own

        if self.conditions is None:
            plain = solve(np.zeros((0, len(units))), np.zeros(0))
            if plain is None:
                return None
            weights, price, charge = plain.weights, np.zeros(self.objective.space.size), 0.0
        else:
            found = self.conditions.solved(units, solve)
            if found is None:
                return None
            weights, price, charge = found.weights, found.price, found.charge
        return Weighed(
            units,
            weights,
            self.value(units, weights),
            price,
            charge,
            gradient[0] if gradient else None,
        )

    def feasible(self, units: Indices, low: Vector, high: Vector) -> bool:
        """Whether some weights on these entries meet all conditions, by a linear programme."""
        if not len(units) or low.sum() > 1.0 + 1e-12 or high.sum() < 1.0 - 1e-12:
            return False
        self.work += QP_COST
        flat = np.zeros(len(units))
        if self.conditions is None:
            return True
        return (
            self.conditions.solved(units, lambda *sides: linear_programme(flat, low, high, *sides))
            is not None
        )

    def _on_face(self, units: Indices) -> Weighed | None:
        """The best weights on a face for any F, where there is nothing but the face."""
        p = face_best(self.objective, units)
        value = float(self.objective.value(p))
        return Weighed(units, p[units], value, 0.0, 0.0, None) if value < np.inf else None

    def value(self, units: Indices, weights: Vector) -> float:
        """F for these weights."""
        if self.quadratic:
            return float(self.objective.value_at(units, weights))
        p = np.zeros(self.objective.space.size)
        p[units] = weights
        return float(self.objective.value(p))

    def slopes(self, at: Weighed) -> Vector:
        """How fast F and the price of the conditions rise with the weight of each entry, (n,)."""
        self.work += float(self.objective.space.size)
        if at.gradient is not None:
            return np.asarray(at.gradient + at.price)
        if self.quadratic:
            return np.asarray(-2.0 * self.objective.slopes(at.units, at.weights) + at.price)
        p = np.zeros(self.objective.space.size)
        p[at.units] = at.weights
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(
                np.nan_to_num(self.objective.gradient(p), nan=0.0, posinf=STEEP, neginf=-STEEP)
            )

    def ranks(self, at: Weighed) -> Vector:
        """How promising each entry is, least first, (n,): the slope on the line to its vertex over the line's length.

        A quadratic falls by the square of it on that line. Source: Frank & Wolfe 1956, exact line
        search.
        """
        slopes = self.slopes(at)
        slopes = slopes - float(at.weights @ slopes[at.units])
        p = np.zeros(slopes.size)
        p[at.units] = at.weights
        if self.own:
            lengths = self.objective.distances(p)
        elif self.quadratic:
            nothing = np.empty(0, np.int64), np.empty(0)
            image = self.objective.slopes(*nothing) - self.objective.slopes(at.units, at.weights)
            lengths = self.objective.diagonal - 2.0 * image + float(at.weights @ image[at.units])
        else:
            return slopes
        least = 1e-9 * max(float(lengths.max()), 1e-300)
        return np.asarray(slopes / np.sqrt(np.maximum(lengths, least)))

    def bound(
        self, at: Weighed, slopes: Vector, units: Indices, low: Vector, high: Vector
    ) -> float:
        """No weights on `units` within bounds that meet all conditions have a lower F.

        F[q] >= F[w] + <g, q - w> + λ'(G q - h), whose least value over bounds and sum is at a
        vertex. Where the multipliers of a loss's own programme are not the best ones, a linear
        programme finds those.
        """
        if not self.own and not self.quadratic and implements(self.objective, FaceSolvable):
            return float(self.objective.value_on(units)) - ROUNDING * max(1.0, abs(at.value))
        g = slopes - at.price
        low_value = self._vertex_bound(at, g, slopes, at.charge, units, low, high)
        loose = at.value - low_value > LOOSE * abs(at.value)
        if self.own and self.conditions is not None and loose and len(units) <= MOST_PRICED:
            cost = g[units]
            found = self.conditions.solved(
                units, lambda rows, right: linear_programme(cost, low, high, rows, right)
            )
            self.work += QP_COST
            if found is not None:
                better = self._vertex_bound(at, g, g + found.price, found.charge, units, low, high)
                low_value = max(low_value, better)
        return low_value

    def _vertex_bound(
        self,
        at: Weighed,
        g: Vector,
        slopes: Vector,
        charge: float,
        units: Indices,
        low: Vector,
        high: Vector,
    ) -> float:
        """The least value of the linear function below F, conditions priced, over bounds and sum."""
        corner = vertex(slopes[units], low, high)
        terms = np.array(
            [at.value, -float(g[at.units] @ at.weights), -charge, float(slopes[units] @ corner)]
        )
        return float(terms.sum() - ROUNDING * np.abs(terms).sum())


def best_weights(objective: Any, constraint: Any, p: Vector) -> Vector:
    """The best member with the support of p under all conditions; p where none is found."""
    units = constraint.support(p)
    bounds = (
        np.full(len(units), constraint.min_weight),
        np.full(len(units), min(constraint.max_weight, 1.0)),
    )
    found = Programmes(objective, constraint.all_conditions).fitted(units, *bounds)
    if found is None:
        return p
    best = np.zeros(p.size)
    best[found.units] = found.weights
    return best
