"""The engine for weights under linear side conditions, and for losses that are no quadratics.

A support is valued by a convex programme (search/_programme.py). Local search and proofs are
plain: swaps guided by the slopes of F and the prices of the conditions, and branch and bound on the
programme without a limit on the support.
"""

import math
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Indices, Vector, magnitude
from ..constraints.feasibility import Feasibility
from ..deadline import Deadline
from ..protocols import Scaled, implements
from ._additions import with_unit
from ._programme import Programmes, Weighed
from ._programme import best_weights as best_weights
from ._relaxed_programme import CLOSED, Relaxed
from .engine import Branch
from .relaxation import Relaxations
from ._gram import target_gram
from ..probe import is_ours
from ..protocols import Centred
from .paths import lower_bound_of

TRIED = 6
"""Candidates for a place that are fitted."""
TIE = 1e-9
"""Values of programmes that differ by this share are a tie when a unit is added."""
CLOSE = 1e-9
"""A smaller relative improvement is none."""
IDLE_WORK = 1e6
"""Work that a perturbation counts for where it finds nothing to change, so that searches end and proofs go on."""
MASS = 1e-10
"""A weight above this is one."""
REMEMBERED, LOOKED_UP = 4e6, 2e4
"""Numbers kept of supports that were fitted, and the work of looking one up."""
PATIENCE, PROOF_BUDGET = 4e8, 8e8
"""Work of perturbations in a row without a gain, and of a proof, by default."""
PER_SUPPORT = 5e5
"""The same for each support, where there are few."""
MOST_SUPPORTS = 5_000_000
"""Without a limit, a proof over more supports is refused."""
RANDOM = 0.3
"""The share of perturbations whose units come in at random."""


class ConditionedEngine:
    """F over the supports of a sparse set and the weights that meet its conditions.

    `limits` says which entries may be held together (`addable`, `allows`, `lacking`, `fitting`),
    the bounds of weights, and the conditions.
    """

    def __init__(self, objective: Any, limits: Any, deadline: Deadline) -> None:
        self.problem, self.limits, self.deadline = objective, limits, deadline
        self.programmes = Programmes(objective, limits.all_conditions)
        self.relaxed = Relaxed(self.programmes, limits, deadline)
        self.found: Weighed | None = None
        self._known: dict[bytes, Weighed | None] = {}
        self._adding: Indices | None = None
        self._relaxed: list[Weighed | None] = []  # once it is known
        self._grown = self._settled = False
        self._floor = math.inf

    @property
    def value(self) -> float:
        """F at the answer."""
        return math.inf if self.found is None else self.found.value

    @property
    def support(self) -> Indices:
        """The units in use, sorted."""
        return np.empty(0, np.int64) if self.found is None else self.found.units

    @property
    def work(self) -> float:
        """Multiplications so far, about."""
        return self.programmes.work + (0.0 if "_doubly" not in self.__dict__ or self._doubly is None else self._doubly.work)

    @property
    def patience(self) -> float:
        """Work of idle perturbations; none where there is only one support."""
        alone = len(self.limits.include) == self.limits.sizes[1] or self._n_open <= 1
        return 0.0 if alone else min(PATIENCE, PER_SUPPORT * self._n_supports)

    @property
    def _n_open(self) -> int:
        return int(self.limits.open.sum())

    @cached_property
    def _n_supports(self) -> int:
        """How many supports there are, were it for their size alone."""
        n, k = self._n_open, min(self.limits.sizes[1], self._n_open)
        return sum(math.comb(n, size) for size in range(1, k + 1))

    def answer(self) -> Vector | None:
        """The weights on all units."""
        if self.found is None:
            return None
        p = np.zeros(self.limits.space.size)
        p[self.found.units] = self.found.weights
        return p

    # valuing

    def _fit(self, units: Indices) -> Weighed | None:
        """The best weights on a support, remembered."""
        key = np.asarray(units, np.int64).tobytes()
        if key in self._known:
            self.programmes.work += LOOKED_UP
        else:
            if len(self._known) * (self.limits.space.size + 50) >= REMEMBERED:
                self._known.clear()
            self._known[key] = self.programmes.fitted(units, *self._bounds(len(units)))
        return self._known[key]

    def _bounds(self, count: int) -> tuple[Vector, Vector]:
        return np.full(count, self.limits.min_weight), np.full(
            count, min(self.limits.max_weight, 1.0)
        )

    def _value_of(self, units: Indices) -> float:
        """F on a support; if it is better, that is the answer from now on."""
        fit = self._fit(units)
        self._take(fit)
        return math.inf if fit is None else fit.value

    def _take(self, fit: Weighed | None) -> bool:
        """Move to weights that are better."""
        if fit is None or not fit.value < self.value - self._worth:
            return False
        kept = (fit.weights > 0.0) | np.isin(fit.units, self.limits.include)
        if self.limits.min_weight == 0.0 and not kept.all():
            fit = fit._replace(units=fit.units[kept], weights=fit.weights[kept])
        self.found, self._settled = fit, False
        return True

    @property
    def _worth(self) -> float:
        """The least fall of F that counts."""
        if self.found is None:
            return 0.0
        scale = float(self.problem.scale) if implements(self.problem, Scaled) else 0.0
        return CLOSE * abs(self.found.value) + 1e-15 * scale

    # growing

    def grow(self, count: int) -> int:
        """Algorithm 3 (count = 1), or first the support that the programme without a limit on it suggests."""
        if count == 1:
            return self._add_one()
        if self._grown:
            added = 0
            while (
                added < count
                and not (self.deadline.passed and self.found is not None)
                and self._add_one()
            ):
                added += 1
            return added
        self._grown = True
        for units in self._first_supports():
            self._take(self._fit(units))
        if self.found is None:
            self._take(self._fit(self._by_highs()))
        return 1 if self.found is not None else 0

    def _relaxation(self) -> Weighed | None:
        """The programme without a limit on the support, once."""
        if not self._relaxed:
            units = np.flatnonzero(self.limits.open)
            self._relaxed.append(
                self.relaxed.over(units, np.isin(units, self.limits.include), None)[0]
            )
        return self._relaxed[0]

    def _first_supports(self) -> list[Indices]:
        """The heaviest units of the relaxation, and then the steepest."""
        relaxed = self._relaxation()
        if relaxed is None:
            return []
        q = np.zeros(self.limits.space.size)
        q[relaxed.units] = relaxed.weights
        order = np.lexsort((self.programmes.slopes(relaxed), -q))
        return [self.limits.fitting(order, size) for size in dict.fromkeys(self.limits.sizes[::-1])]

    def _by_highs(self) -> Indices:
        """A support on which the conditions can be met, found by HiGHS."""
        relaxed = self._relaxation()
        v = np.zeros(self.limits.space.size)
        if relaxed is not None:
            v[relaxed.units] = relaxed.weights
        held = (
            Feasibility(self.limits, self.limits.all_conditions).best(v)
            if self.limits.all_conditions
            else None
        )
        return np.flatnonzero(held) if held is not None else np.empty(0, np.int64)

    def _add_one(self) -> int:
        """A step of Algorithm 3: hold `include`, then add the unit that lowers F most."""
        first = self._adding is None
        units = np.sort(self.limits.include) if self._adding is None else self._adding
        here = self._held(units)
        others = np.setdiff1d(np.flatnonzero(self.limits.addable(units)), units)
        if len(others) and not (first and here is not None):
            units = with_unit(units, self._best_addition(units, here, others))
            here = self._held(units)
        elif not first:
            if self.found is None and not self._grown:
                self._grown = True
                return int(self._take(self._fit(self._by_highs())))
            return 0
        self._adding = units
        if here is not None and not self.limits.lacking(units) and here.value < self.value:
            self.found = here
        return 1

    def _held(self, units: Indices) -> Weighed | None:
        """The best weights where all of these units are held; None where F is infinite."""
        short = self.limits.min_weight > 0.0 and self.limits.lacking(units)
        return None if short or not len(units) else self._fit(units)

    def _best_addition(self, units: Indices, here: Weighed | None, others: Indices) -> int:
        """The unit whose entry lowers F most, ties to the lowest index; the lowest where F is infinite for all.

        F falls by at most the slope below the level that weights share, conditions priced, so the
        steepest are fitted until the next cannot be the best.
        """
        lows = np.full(len(others), -math.inf)
        ceiling = math.inf
        if here is not None and self.limits.min_weight == 0.0:
            ceiling, slopes = here.value, self.programmes.slopes(here)
            low, high = self._bounds(len(units) + 1)
            every = [with_unit(units, int(j)) for j in others]
            lows = np.array(
                [self.programmes.bound(here, slopes, each, low, high) for each in every]
            )
        values = dict.fromkeys(others.tolist(), math.inf)
        least = ceiling
        for position in np.argsort(lows, kind="stable"):
            if lows[position] > self._tied(least) or ceiling <= self._tied(lows[position]):
                break
            unit = int(others[position])
            fit = self._held(with_unit(units, unit))
            values[unit] = math.inf if fit is None else fit.value
            least = min(least, values[unit])
            if self.deadline.passed:
                break
        if least == math.inf or ceiling <= self._tied(least):
            return int(others.min())
        ties: list[int] = [unit for unit, value in values.items() if value <= self._tied(least)]
        return min(ties)

    def _tied(self, value: float) -> float:
        """The highest value that is the same but for the precision of programmes."""
        scale = float(self.problem.scale) if implements(self.problem, Scaled) else 0.0
        return value + TIE * abs(value) + 1e-15 * scale if math.isfinite(value) else value

    # improving

    def improve(self, moves: int) -> int:
        """Swaps, the lightest units first, each for one of the candidates whose slope promises most."""
        if self.found is None or self._settled:
            return 0
        made = self._round(moves)
        self._settled = self._settled or made == 0
        return made

    def _round(self, moves: int) -> int:
        """One try for the place of every unit, and for a free place."""
        made, start = 0, self.found
        assert start is not None  # noqa: S101 - there is an answer
        order = start.units[np.argsort(start.weights, kind="stable")]
        for unit in [-1, *order.tolist()]:
            if self.deadline.passed or made >= moves:
                break
            if unit in self.limits.include or (unit >= 0 and unit not in self.support):
                continue
            before = self.value
            self._try_place(unit)
            made += self.value < before
        return made

    def _try_place(self, unit: int) -> None:
        """Fit the best candidates for the place of a unit, or for a free place (-1)."""
        here = self.found
        assert here is not None  # noqa: S101
        rest = here.units[here.units != unit]
        base = here
        if unit >= 0 and len(rest) and not self.limits.lacking(rest):
            base = self._fit(rest) or here
            self._take(base if base is not here else None)
        fits = self.limits.addable(rest)
        fits[rest] = False
        if unit >= 0:
            fits[unit] = False
        others = np.flatnonzero(fits)
        ranked = others[np.argsort(self.programmes.ranks(base)[others], kind="stable")[:TRIED]]
        for j in ranked:
            support = np.sort(np.append(rest, j))
            if not self.limits.lacking(support):
                self._value_of(support)

    def perturb(self, rng: np.random.Generator) -> bool:
        """Replace some units, improve, stay if better."""
        if self.found is None:
            self.programmes.work += IDLE_WORK
            return False
        kept, before = self.found, self.value
        loose = np.setdiff1d(kept.units, self.limits.include)
        if not len(loose):
            self.programmes.work += IDLE_WORK
            return False
        count = int(rng.integers(1, max(2, len(loose) // 2) + 1))
        out = rng.permutation(loose)[:count]
        units = self._refilled(
            np.setdiff1d(kept.units, out), out, max(len(kept.units), self.limits.sizes[1]), rng
        )
        fit = self._fit(units) if len(units) and not self.limits.lacking(units) else None
        if fit is None:
            self.programmes.work += IDLE_WORK
            return False
        self.found, self._settled = fit, False
        for _ in range(2):
            if self.value < before or not self._round(10**6):
                break
        if self.value < before - CLOSE * abs(before):
            return True
        self.found, self._settled = kept, True
        return False

    def _refilled(
        self, units: Indices, out: Indices, size: int, rng: np.random.Generator
    ) -> Indices:
        """A support filled up, at random or by slopes, without the units that just left."""
        random = bool(rng.random() < RANDOM)
        base = (
            self.found
            if random or self.limits.lacking(units) or not len(units)
            else self._fit(units) or self.found
        )
        assert base is not None  # noqa: S101
        rank = rng.random(self.limits.space.size) if random else self.programmes.ranks(base)
        rank = (
            rank + 0.0
            if random
            else rank + rng.exponential(0.1 * max(float(np.std(rank)), 1e-300), rank.size)
        )
        rank[out] = np.inf
        while len(units) < size:
            fits = self.limits.addable(units) & np.isfinite(rank)
            fits[units] = False
            others = np.flatnonzero(fits)
            if not len(others):
                break
            units = np.sort(np.append(units, others[np.argmin(rank[others])]))
        return units

    # proofs

    @cached_property
    def _doubly(self):
        if not self.programmes.quadratic or self.limits.all_conditions is None or self.limits.space.size > 600:
            return None
        if not (is_ours(self.problem) or implements(self.problem, Centred)):
            return None
        units = np.arange(self.limits.space.size)
        return Relaxations(target_gram(self.problem, units, units), self.limits)

    @property
    def proof_refusal(self) -> str:
        """A proof without limits is for few supports."""
        if self._n_supports <= MOST_SUPPORTS:
            return ""
        return f"there are {magnitude(self._n_supports)} supports under these conditions"

    @property
    def proof_budget(self) -> float:
        """Work of a proof by default."""
        return PROOF_BUDGET

    @property
    def proven(self) -> float:
        """What is known of closed branches."""
        if self._doubly is not None:
            return self._doubly.proven
        if self._floor == math.inf and self.found is None:
            return lower_bound_of(self.problem, self.limits)
        return min(self._floor, self.value - CLOSED * abs(self.value))

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """The programme over all units that a branch leaves; a leaf where its answer is a member."""
        limits = self.limits
        if self._doubly is not None:
            known = self._doubly
            if self.found is not None:
                known.offer(self.found.units, self.found.weights)
            rest = known.look(branch)
            if known.value < self.value:
                self._take(self._fit(known.support))
            return rest
        included = np.union1d(branch.included, limits.include).astype(np.int64)
        if not limits.allows(included):
            return ()
        units = np.flatnonzero(limits.addable(included) & limits.open)
        units = np.union1d(np.setdiff1d(units, branch.excluded), included).astype(np.int64)
        if not limits.reachable(units):
            return ()
        relaxed, low = self.relaxed.over(units, np.isin(units, included), self.found)
        if relaxed is None:
            return () if low == math.inf else (branch,)
        low = max(low, branch.bound)
        used = np.union1d(relaxed.units[relaxed.weights > MASS], included).astype(np.int64)
        free = np.setdiff1d(used, included)
        if limits.allows(used):
            self._take(
                self._fit(used) if not limits.lacking(used) or limits.min_weight == 0.0 else None
            )
            if self._is_member(relaxed, used):
                self._floor = min(self._floor, low)
                return ()
        if low >= self.value - CLOSED * abs(self.value):
            self._floor = min(self._floor, low)
            return ()
        at = self._branching(relaxed, units, free, included)
        if at < 0:
            self._floor = min(self._floor, low)
            return ()
        inside = Branch(np.append(included, at), branch.excluded, low)
        return inside, Branch(included, np.append(branch.excluded, at), low)

    def _is_member(self, relaxed: Weighed, used: Indices) -> bool:
        """Whether weights of a relaxation obey all rules."""
        w = relaxed.weights[relaxed.weights > MASS]
        small = self.limits.min_weight > 0.0 and bool((w < self.limits.min_weight - 1e-12).any())
        return not small and (self.limits.min_weight == 0.0 or not self.limits.lacking(used))

    def _branching(self, relaxed: Weighed, units: Indices, free: Indices, included: Indices) -> int:
        """The heaviest unit that is not decided; where all that weigh are, any that may still enter; -1 for none."""
        if len(free):
            at = np.isin(relaxed.units, free)
            return int(relaxed.units[at][np.argmax(relaxed.weights[at])])
        rest = np.setdiff1d(units, included)
        return int(rest[0]) if len(rest) else -1
