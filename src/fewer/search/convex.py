"""The best weights by convex programmes, with a linear bound on everything else."""

import math
from functools import partial
from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..constraints.conditions import Conditioned
from ..constraints.feasibility import feasible_member
from ..deadline import Deadline
from ..programmes import Solved, linear_programme
from ..protocols import FaceSolvable, Programmed, Quadratic, implements
from ..rules import Rules
from .face import face_best
from .fit import (
    SLACK,
    Fit,
    Mask,
    bounds,
    conditioned_weights,
    line_gains,
    on_support,
    spread,
    vertex,
    with_unit,
)

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
TIE = 1e-9
"""Values of programmes that differ by this share are a tie when a unit is added."""
REMEMBERED, LOOKED_UP = 4e6, 2e4
"""Numbers kept of supports that were fitted, and the work of looking one up."""
WHOLE = 100
"""Units up to which a relaxation is one programme; beyond, units enter it as their slopes ask for
them."""
MOST_WHOLE = 3000
"""Units beyond which all of them never are one programme, whose matrix would have their number
squared."""
ENTERING, MOST_ROUNDS = 30, 100
"""Units that enter a relaxation at a time, and rounds of that."""
CLOSED = 1e-8
"""A branch that could win no more than this share is closed."""


class Programmes:
    """Weights of one objective under all rules of one constraint.

    `work` counts multiplications, about.
    """

    def __init__(self, objective: Any, rules: Rules, deadline: Deadline) -> None:
        self.objective, self.rules, self.deadline = objective, rules, deadline
        self.conditions = rules.conditions
        self.own = implements(objective, Programmed)
        self.quadratic = not self.own and implements(objective, Quadratic)
        self.scale = float(getattr(objective, "scale", 0.0))
        self.work = 0.0
        self._binding = False  # whether conditions bound the last weights
        self._known: dict[bytes, Fit | None] = {}

    def fit(self, units: Indices) -> Fit | None:
        """The best weights on a support, remembered; None where no weights meet all rules."""
        short = self.rules.min_weight > 0.0 and self.rules.lacking(units)
        if short or not len(units):
            return None
        key = np.asarray(units, np.int64).tobytes()
        if key in self._known:
            self.work += LOOKED_UP
            return self._known[key]
        if len(self._known) * (self.objective.space.size + 50) >= REMEMBERED:
            self._known.clear()
        self._known[key] = self.solve(units, np.ones(len(units), np.bool_))
        return self._known[key]

    def solve(self, units: Indices, inside: Mask) -> Fit | None:
        """The best weights on any units, those inside with their least.

        None where no weights meet all conditions.
        """
        ends = bounds(self.rules, inside)
        if not _room(units, ends):
            return None
        size, n = len(units), self.objective.space.size
        self.work += self.objective.fit_cost(size) if self.own else QP_COST + 4.0 * size**3
        if self.own:
            return self._own_fit(units, ends)
        if not self.quadratic:
            p = face_best(self.objective, units)
            value = float(self.objective.value(p))
            return Fit(units, p[units], value) if value < math.inf else None
        start = np.full(size, 1.0 / size) if size <= self.rules.sizes[1] else np.zeros(size)
        H, c = on_support(self.objective, units)
        likely = start if not self._binding else None
        best = conditioned_weights(H, c, ends, likely, self.conditions, units)
        if best is None:
            return None
        self._binding = bool(np.any(best.price))
        value = float(self.objective.value_at(units, best.weights))
        return Fit(units, best.weights, value, np.zeros(n) + best.price, best.charge)

    def _own_fit(self, units: Indices, ends: tuple[Vector, Vector]) -> Fit | None:
        """The best weights by the objective's own programme, with its subgradient."""
        gradient: list[Vector] = []

        def solve(rows: Vector, right: Vector) -> Solved | None:
            found = self.objective.fitted(units, *ends, rows, right)
            if found is None:
                return None
            gradient[:] = [found[1]]
            return found[0]  # type: ignore[no-any-return] # an objective's own

        best: Any = None
        if self.conditions is not None:
            best = self.conditions.solved(units, solve)
        else:
            plain = solve(np.zeros((0, len(units))), np.zeros(0))
            best = None if plain is None else Conditioned(plain.weights, 0.0, 0.0)
        if best is None:
            return None
        n = self.objective.space.size
        value = float(self.objective.value(spread(units, best.weights, n)))
        return Fit(units, best.weights, value, np.zeros(n) + best.price, best.charge, gradient[0])

    def feasible(self, units: Indices, inside: Mask) -> bool:
        """Whether some weights on these units meet all conditions, by a linear programme."""
        ends = bounds(self.rules, inside)
        if not _room(units, ends):
            return False
        self.work += QP_COST
        flat = partial(linear_programme, np.zeros(len(units)), *ends)
        return self.conditions is None or self.conditions.solved(units, flat) is not None

    def slopes(self, at: Fit) -> Vector:
        """How fast F and the price of the conditions rise with the weight of each entry, (n,)."""
        self.work += float(self.objective.space.size)
        if at.gradient is not None:
            return np.asarray(at.gradient + at.price)
        if self.quadratic:
            return np.asarray(-2.0 * self.objective.slopes(at.units, at.weights) + at.price)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gradient = self.objective.gradient(at.on_all(self.objective.space.size))
            return np.asarray(np.nan_to_num(gradient, nan=0.0, posinf=STEEP, neginf=-STEEP))

    def gains(self, at: Fit) -> Vector:
        """How promising each entry is, (n,): `fit.line_gains`, of a quadratic and of other losses."""
        if self.quadratic:
            self.work += float(self.objective.space.size)
            return line_gains(self.objective, at)
        slopes = self.slopes(at)
        slopes = float(at.weights @ slopes[at.units]) - slopes
        if not self.own:
            return np.asarray(slopes)
        lengths = self.objective.distances(at.on_all(slopes.size))
        least = 1e-9 * max(float(lengths.max()), 1e-300)
        return np.asarray(slopes / np.sqrt(np.maximum(lengths, least)))

    def lows(self, units: Indices, fit: Fit | None, others: Indices) -> Vector:
        """F is at least this where a support and one of the others have weight, (m,)."""
        if fit is None or self.rules.min_weight > 0.0:
            return np.full(len(others), -math.inf)
        slopes, inside = self.slopes(fit), np.ones(len(units) + 1, np.bool_)
        longer = [with_unit(units, int(unit)) for unit in others]
        return np.array([self.bound(fit, slopes, each, inside) for each in longer])

    def tie(self, value: float) -> float:
        """The precision of programmes."""
        return TIE * abs(value) + 1e-15 * self.scale if math.isfinite(value) else 0.0

    def bound(self, at: Fit, slopes: Vector, units: Indices, inside: Mask) -> float:
        """No weights on `units` within bounds that meet all conditions have a lower F.

        F[q] >= F[w] + <g, q - w> + λ'(G q - h), whose least value over bounds and sum is at a
        vertex. Where the multipliers of a loss's own programme are not the best ones, a linear
        programme finds those.
        """
        if not self.own and not self.quadratic and implements(self.objective, FaceSolvable):
            return float(self.objective.value_on(units)) - ROUNDING * max(1.0, abs(at.value))
        ends, g = bounds(self.rules, inside), slopes - at.price

        def lowest(price: Vector | float, charge: float) -> float:
            priced = (g + price)[units]
            corner = float(priced @ vertex(priced, *ends))
            terms = np.array([at.value, -float(g[at.units] @ at.weights), -charge, corner])
            return float(terms.sum() - ROUNDING * np.abs(terms).sum())

        low = lowest(at.price, at.charge)
        loose = at.value - low > LOOSE * abs(at.value)
        if self.own and self.conditions is not None and loose and len(units) <= MOST_PRICED:
            self.work += QP_COST
            found = self.conditions.solved(units, partial(linear_programme, g[units], *ends))
            if found is not None:
                low = max(low, lowest(found.price, found.charge))
        return low

    def relaxed(self, units: Indices, inside: Mask, known: Fit | None) -> tuple[Fit | None, float]:
        """The programme over units without a limit on their number, those inside with their least weight, and its bound.

        Where there is none, the bound is infinite if a linear programme says that nothing is
        feasible, else minus that; of very many units no linear programme is asked.
        """
        if len(units) <= WHOLE:
            fit = self.solve(units, inside)
            low = -math.inf if fit is None else self.bound(fit, self.slopes(fit), units, inside)
        else:
            fit, low = self._entering(units, inside, known)
        if fit is None:
            unknown = len(units) > MOST_WHOLE or self.feasible(units, inside)
            low = -math.inf if unknown else math.inf
        return fit, low

    def _entering(
        self, units: Indices, inside: Mask, known: Fit | None
    ) -> tuple[Fit | None, float]:
        """Of many units those whose slopes ask for weight enter, until none does."""
        listed = inside.copy()
        if known is not None:
            listed |= np.isin(units, known.units)
        if not listed.any() or self.solve(units[listed], inside[listed]) is None:
            listed |= np.isin(units, self._feasible_start())
        low = -math.inf
        for _ in range(MOST_ROUNDS):
            fit = self.solve(units[listed], inside[listed])
            if fit is None:
                return None if len(units) > MOST_WHOLE else self.solve(units, inside), low
            slopes = self.slopes(fit)
            low = max(low, self.bound(fit, slopes, units, inside))
            if low >= fit.value - CLOSED * abs(fit.value) or self.deadline.passed:
                break
            rank = np.where(listed, np.inf, slopes[units])
            entering = np.argsort(rank, kind="stable")[:ENTERING]
            entering = entering[np.isfinite(rank[entering])]
            if not len(entering):
                break
            at = np.flatnonzero(listed)
            listed[at[(fit.weights <= 0.0) & ~inside[at]]] = False  # makes room
            listed[entering] = True
        return fit, low

    def _feasible_start(self) -> Indices:
        """Some units on which conditions can be met, steep ones first."""
        size = self.objective.space.size
        v = -np.asarray(self.objective.gradient(np.full(size, 1.0 / size)))
        steep = np.argsort(-v, kind="stable")[:ENTERING]
        return np.union1d(steep, self.feasible_support(v))

    def feasible_support(self, v: Vector) -> Indices:
        """A support near v on which the conditions can be met, found by HiGHS.

        Empty where none is found.
        """
        if self.conditions is None:
            return np.empty(0, np.int64)
        held = feasible_member(self.rules, v)
        return np.empty(0, np.int64) if held is None else np.flatnonzero(held)


def _room(units: Indices, ends: tuple[Vector, Vector]) -> bool:
    """Whether bounds of weights let them sum to one."""
    return bool(len(units) and ends[0].sum() <= 1.0 + SLACK and ends[1].sum() >= 1.0 - SLACK)


def best_weights(objective: Any, constraint: Any, p: Vector) -> Vector:
    """The best member with the support of p under all conditions; p where none is found."""
    units = constraint.support(p)
    programmes = Programmes(objective, constraint.rules, Deadline.after(None))
    fit = programmes.solve(units, np.ones(len(units), np.bool_))
    return p if fit is None else fit.on_all(p.size)
