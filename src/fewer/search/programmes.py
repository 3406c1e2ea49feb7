"""The best weights of entries by convex programmes, with a linear bound on everything else."""

import math
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..constraints.conditions import Conditioned
from ..constraints.feasibility import feasible_member
from ..deadline import Deadline
from ..programmes import Solved, linear_programme
from ..protocols import FaceSolvable, Programmed, Quadratic, implements
from ..rules import NO_UNITS, Rules
from .faces import Counts, face_best
from .fits import (
    EPS,
    SLACK,
    Fit,
    Mask,
    Relaxed,
    bounds,
    conditioned_weights,
    feasible_weights,
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
ROUNDING = 64.0 * EPS
"""Relative error granted to the terms of a bound."""
TIE = 1e-9
"""Values of programmes that differ by this share are a tie."""
REMEMBERED, LOOKED_UP = 4e6, 2e4
"""Numbers kept of supports that were fitted, and the work of looking one up."""
WHOLE, MOST_WHOLE = 100, 3000
"""Units up to which a relaxation is one programme at once, and up to which it ever is; of more,
units enter it as their slopes ask for them."""
ENTERING, MOST_ROUNDS = 30, 100
"""Units that enter a relaxation at a time, and rounds of that."""
CLOSED = 1e-8
"""A branch that could win no more than this share is closed."""
MASS = 1e-10
"""A weight above this is one."""
TRIED = 6
"""Candidates for a place that are fitted."""


class Programmes:
    """Weights of one objective under all rules of one constraint; `work` counts multiplications, about."""

    counts = Counts(patience=4e8, per_support=5e5, proof=8e8, most_supports=5_000_000)

    def __init__(self, objective: Any, rules: Rules, deadline: Deadline) -> None:
        self.objective, self.rules, self.deadline = objective, rules, deadline
        self.conditions, self.monotone = rules.conditions, rules.min_weight == 0.0
        self.own = implements(objective, Programmed)
        self.quadratic = not self.own and implements(objective, Quadratic)
        self.scale = float(getattr(objective, "scale", 0.0))
        self.n, self.work = objective.space.size, 0.0
        self._binding = False  # whether conditions bound the last weights
        self._known: dict[bytes, Fit | None] = {}

    def member(self, fit: Fit) -> Vector:
        """The weights on all units."""
        return fit.on_all(self.n)

    def fit(self, units: Indices, enough: float = math.inf) -> Fit | None:
        """The best weights on a support, remembered; None where no weights meet all rules."""
        if not len(units) or (not self.monotone and self.rules.lacking(units)):
            return None
        key = np.asarray(units, np.int64).tobytes()
        self.work += LOOKED_UP
        if key not in self._known:
            if len(self._known) * (self.n + 50) >= REMEMBERED:
                self._known.clear()
            self._known[key] = self.solve(units, np.ones(len(units), np.bool_))
        return self._known[key]

    def solve(self, units: Indices, inside: Mask) -> Fit | None:
        """The best weights on any units, those inside with their least; None where none meet all conditions."""
        ends, size = bounds(self.rules, inside), len(units)
        if not _room(units, ends):
            return None
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
        return Fit(units, best.weights, value, np.zeros(self.n) + best.price, best.charge)

    def _own_fit(self, units: Indices, ends: tuple[Vector, Vector]) -> Fit | None:
        """The best weights by the objective's own programme, with its subgradient."""
        gradient: list[Vector] = []

        def solve(rows: Vector, right: Vector) -> Solved | None:
            answer = self.objective.fitted(units, *ends, rows, right)
            if answer is None:
                return None
            gradient[:] = [answer[1]]
            return answer[0]  # type: ignore[no-any-return] # an objective's own

        best: Conditioned | None
        if self.conditions is not None:
            best = self.conditions.solved(units, solve)
        else:
            plain = solve(np.zeros((0, len(units))), np.zeros(0))
            best = None if plain is None else Conditioned(plain.weights, 0.0, 0.0)
        if best is None:
            return None
        value = float(self.objective.value(spread(units, best.weights, self.n)))
        price = np.zeros(self.n) + best.price
        return Fit(units, best.weights, value, price, best.charge, gradient[0])

    def slopes(self, at: Fit) -> Vector:
        """How fast F and the price of the conditions rise with the weight of each entry, (n,)."""
        self.work += float(self.n)
        if at.gradient is not None:
            return np.asarray(at.gradient + at.price)
        if self.quadratic:
            return np.asarray(-2.0 * self.objective.slopes(at.units, at.weights) + at.price)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gradient = self.objective.gradient(self.member(at))
            return np.asarray(np.nan_to_num(gradient, nan=0.0, posinf=STEEP, neginf=-STEEP))

    def gains(self, at: Fit) -> Vector:
        """How promising each entry is, (n,): `line_gains`, of a quadratic and of other losses."""
        if self.quadratic:
            self.work += float(self.n)
            return line_gains(self.objective, at)
        slopes = self.slopes(at)
        slopes = float(at.weights @ slopes[at.units]) - slopes
        if not self.own:
            return np.asarray(slopes)
        lengths = self.objective.distances(self.member(at))
        least = 1e-9 * max(float(lengths.max()), 1e-300)
        return np.asarray(slopes / np.sqrt(np.maximum(lengths, least)))

    def promising(self, fit: Fit, others: Indices, bar: float) -> Indices:
        """The few units whose gains are largest."""
        return others[np.argsort(-self.gains(fit)[others], kind="stable")[:TRIED]]

    def lows(self, units: Indices, fit: Fit | None, others: Indices) -> Vector:
        """F is at least this where a support and one of the others have weight, (m,)."""
        if fit is None or not self.monotone:
            return np.full(len(others), -math.inf)
        slopes, inside = self.slopes(fit), np.ones(len(units) + 1, np.bool_)
        longer = [with_unit(units, int(unit)) for unit in others]
        return np.array([self._bound(fit, slopes, each, inside) for each in longer])

    def tie(self, value: float) -> float:
        """The precision of programmes."""
        return TIE * abs(value) + 1e-15 * self.scale if math.isfinite(value) else 0.0

    def closing(self, value: float) -> float:
        """The bound from which a branch is closed."""
        return value - CLOSED * abs(value) if math.isfinite(value) else value

    def _bound(self, at: Fit, slopes: Vector, units: Indices, inside: Mask) -> float:
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
            flat = partial(linear_programme, g[units], *ends)
            priced = self.conditions.solved(units, flat)
            if priced is not None:
                low = max(low, lowest(priced.price, priced.charge))
        return low

    @cached_property
    def root(self) -> Relaxed:
        """The relaxation of all units."""
        return self.relaxed(np.flatnonzero(self.rules.open), self.rules.include, math.inf, None)

    def relaxed(self, units: Indices, included: Indices, enough: float, start: Any) -> Relaxed:
        """The programme over units without a limit on their number, those included with their least weight.

        Where there is none, the bound is infinite if a linear programme says that nothing is
        feasible, else minus that; of very many units no linear programme is asked.
        """
        inside, low = np.isin(units, included), -math.inf
        if len(units) <= WHOLE:
            fit = self.solve(units, inside)
            if fit is not None:
                low = self._bound(fit, self.slopes(fit), units, inside)
        else:
            fit, low = self._entering(units, inside, start)
        if fit is None:
            self.work += QP_COST
            unknown = len(units) > MOST_WHOLE or feasible_weights(self.rules, units, inside)
            return Relaxed(units, None, math.inf, -math.inf if unknown else math.inf)
        return Relaxed(units, self.member(fit), fit.value, low, fit)

    def _entering(
        self, units: Indices, inside: Mask, start: Vector | None
    ) -> tuple[Fit | None, float]:
        """Of many units those whose slopes ask for weight enter, until none does."""
        listed = inside.copy()
        if start is not None:
            listed |= start[units] > 0.0
        if not listed.any() or self.solve(units[listed], inside[listed]) is None:
            v = -np.asarray(self.objective.gradient(np.full(self.n, 1.0 / self.n)))
            steep = np.argsort(-v, kind="stable")[:ENTERING]
            listed |= np.isin(units, np.union1d(steep, self._feasible_support(v)))
        low = -math.inf
        for _ in range(MOST_ROUNDS):
            fit = self.solve(units[listed], inside[listed])
            if fit is None:
                return None if len(units) > MOST_WHOLE else self.solve(units, inside), low
            slopes = self.slopes(fit)
            low = max(low, self._bound(fit, slopes, units, inside))
            if low >= self.closing(fit.value) or self.deadline.passed:
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

    def used(self, p: Vector) -> Indices:
        """The units that have weight."""
        return np.flatnonzero(p > MASS)

    def heaviest(self, p: Vector, units: Indices, undecided: Indices) -> int:
        """The undecided unit of the largest weight; where all are zero, any."""
        return int(undecided[np.argmax(p[undecided])])

    def starts(self) -> list[Indices]:
        """The heaviest units of the relaxation, and then the steepest."""
        relaxed = self.root.fit
        if relaxed is None:
            return []
        order = np.lexsort((self.slopes(relaxed), -self.member(relaxed)))
        return [self.rules.fitting(order, size) for size in dict.fromkeys(self.rules.sizes[::-1])]

    def rescue(self) -> Indices:
        """A support on which the conditions can be met, found by HiGHS."""
        return self._feasible_support(np.zeros(self.n) if self.root.p is None else self.root.p)

    def _feasible_support(self, v: Vector) -> Indices:
        """A support near v on which the conditions can be met, empty where none is found."""
        member = None if self.conditions is None else feasible_member(self.rules, v)
        return NO_UNITS if member is None else np.flatnonzero(member)


def _room(units: Indices, ends: tuple[Vector, Vector]) -> bool:
    """Whether bounds of weights let them sum to one."""
    return bool(len(units) and ends[0].sum() <= 1.0 + SLACK and ends[1].sum() >= 1.0 - SLACK)


def best_weights(objective: Any, rules: Rules, units: Indices, p: Vector) -> Vector:
    """The best member on these units under all conditions; p where none is found."""
    programmes = Programmes(objective, rules, Deadline.after(None))
    fit = programmes.solve(units, np.ones(len(units), np.bool_))
    return p if fit is None else fit.on_all(p.size)


def with_implied_counts(rules: Rules) -> Rules:
    """Rules whose groups hold as many units as conditions on their weight alone ask for.

    Where Gq <= h < 0 needs units of one group, Σ_j |G_j| q_j >= |h| there, so at least
    |h| / (max_j |G_j| max_weight) of them.

    >>> from fewer import Atoms, SparseSimplex
    >>> C = SparseSimplex(
    ...     Atoms(4), 3, max_weight=0.4, groups=[0, 0, 1, 1], min_group_weight=[0.6, 0]
    ... )
    >>> with_implied_counts(C.rules).fewest.tolist()
    [2, 0]
    """
    if rules.groups is None or rules.conditions is None:
        return rules
    fewest = rules.fewest.copy()
    for row, right in zip(rules.conditions.G, rules.conditions.h, strict=True):
        groups = np.unique(rules.groups[row < 0.0])
        if right < 0.0 and len(groups) == 1:
            share = right / (float(row.min()) * min(rules.max_weight, 1.0))
            fewest[groups] = np.maximum(fewest[groups], math.ceil(share * (1.0 - 1e-9)))
    return replace(rules, fewest=fewest)
