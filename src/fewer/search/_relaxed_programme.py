"""The programme without a limit on the support: what a branch is bounded by."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..constraints.feasibility import feasible_member
from ..deadline import Deadline
from ._programme import Programmes, Weighed

Mask = npt.NDArray[np.bool_]

WHOLE = 100
"""Units up to which a relaxation is one programme; beyond, units enter it as their slopes ask for them."""
MOST_WHOLE = 3000
"""Units beyond which all of them never are one programme, whose matrix would have their number squared."""
ENTERING = 30
"""Units that enter a relaxation at a time."""
MOST_ROUNDS = 100
"""Rounds of that."""
CLOSED = 1e-8
"""A branch that could win no more than this share is closed."""


class Relaxed:
    """Programmes over all units that a branch leaves, with rigorous bounds."""

    def __init__(self, programmes: Programmes, limits: Any, deadline: Deadline) -> None:
        self.programmes, self.limits, self.deadline = programmes, limits, deadline

    def over(
        self, units: Indices, inside: Mask, known: Weighed | None
    ) -> tuple[Weighed | None, float]:
        """The programme over some units, those inside with their least weight, and its bound.

        Where there is none, the bound is infinite if a linear programme says that nothing is
        feasible, else minus that; of very many units no linear programme is asked.
        """
        low = np.where(inside, self.limits.min_weight, 0.0)
        high = np.full(len(units), min(self.limits.max_weight, 1.0))
        found, bound = self._solved(units, inside, low, high, known)
        if found is None:
            unknown = len(units) > MOST_WHOLE or self.programmes.feasible(units, low, high)
            bound = -math.inf if unknown else math.inf
        return found, bound

    def _solved(
        self, units: Indices, inside: Mask, low: Vector, high: Vector, known: Weighed | None
    ) -> tuple[Weighed | None, float]:
        """In one programme, or with units that enter."""
        if len(units) <= WHOLE:
            found = self.programmes.fitted(units, low, high)
            return found, -math.inf if found is None else self.programmes.bound(
                found, self.programmes.slopes(found), units, low, high
            )
        return self._entering(units, inside, low, high, known)

    def _entering(
        self, units: Indices, inside: Mask, low: Vector, high: Vector, known: Weighed | None
    ) -> tuple[Weighed | None, float]:
        """The same for many units: those whose slopes ask for weight enter, until none does."""
        chosen = inside.copy()
        if known is not None:
            chosen |= np.isin(units, known.units)
        if (
            not chosen.any()
            or self.programmes.fitted(units[chosen], low[chosen], high[chosen]) is None
        ):
            v = -np.asarray(
                self.programmes.objective.gradient(
                    np.full(self.limits.space.size, 1.0 / self.limits.space.size)
                )
            )
            start = self._feasible_start(v)
            chosen |= np.isin(units, start)
        best = -math.inf
        for _ in range(MOST_ROUNDS):
            found = self.programmes.fitted(units[chosen], low[chosen], high[chosen])
            if found is None:
                return None if len(units) > MOST_WHOLE else self.programmes.fitted(
                    units, low, high
                ), best
            slopes = self.programmes.slopes(found)
            best = max(best, self.programmes.bound(found, slopes, units, low, high))
            if best >= found.value - CLOSED * abs(found.value) or self.deadline.passed:
                break
            rank = np.where(chosen, np.inf, slopes[units])
            entering = np.argsort(rank, kind="stable")[:ENTERING]
            entering = entering[np.isfinite(rank[entering])]
            if not len(entering):
                break
            at = np.flatnonzero(chosen)
            chosen[at[(found.weights <= 0.0) & ~inside[at]]] = (
                False  # what weighs nothing makes room
            )
            chosen[entering] = True
        return found, best

    def _feasible_start(self, v: Vector) -> Indices:
        """Some units on which conditions can be met, steep ones first."""
        steep = np.argsort(-v, kind="stable")[:ENTERING]
        if self.limits.rules.conditions is None:
            return steep
        held = feasible_member(self.limits.rules, v)
        return steep if held is None else np.union1d(steep, np.flatnonzero(held))
