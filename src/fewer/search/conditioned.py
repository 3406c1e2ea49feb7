"""The engine for weights under linear side conditions, and for losses that are no quadratics.

A support is valued by a convex programme (`convex`). Local search is plain: swaps guided by the
slopes of F and the prices of the conditions. Proofs branch on the doubly non-negative relaxation of
a squared distance (`relaxation`), and else on the programme without a limit on the support.
"""

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Indices, Vector, magnitude
from ..deadline import Deadline
from ..probe import is_ours
from ..rules import Rules
from .additions import additions
from .convex import CLOSED, Programmes
from .convex import best_weights as best_weights
from .engine import Branch
from .fit import Fit, target_gram, with_unit
from .paths import lower_bound_of
from .quadratic import QuadraticEngine
from .relaxation import PROVABLE, Relaxations

TRIED = 6
"""Candidates for a place that are fitted."""
CLOSE = 1e-9
"""A smaller relative improvement is none."""
IDLE_WORK = 1e6
"""Work that a perturbation counts for where it finds nothing to change, so that searches end and
proofs go on."""
MASS = 1e-10
"""A weight above this is one."""
PATIENCE, PROOF_BUDGET = 4e8, 8e8
"""Work of perturbations in a row without a gain, and of a proof, by default."""
PER_SUPPORT = 5e5
"""The same for each support, where there are few."""
FEW_SUPPORTS, MOST_SUPPORTS = 10_000, 5_000_000
"""Up to so many supports a proof goes by programmes; without a limit, one over more than these is
refused."""
NEARLY = 0.99
"""Where the programme of all units has a bound of this share of the value, branching on programmes
ends soon."""
RANDOM = 0.3
"""The share of perturbations whose units come in at random."""


class ConditionedEngine:
    """F over the supports of a sparse set and the weights that meet its conditions."""

    def __init__(self, objective: Any, rules: Rules, deadline: Deadline) -> None:
        rules = with_implied_counts(rules)
        self.problem, self.rules, self.deadline = objective, rules, deadline
        self.programmes = Programmes(objective, rules, deadline)
        self.best: Fit | None = None
        self._adding = additions(self.programmes, rules, deadline)
        self._grown = self._settled = self._unbound = False
        self._floor = math.inf
        self._free = self._without_conditions()

    @property
    def value(self) -> float:
        """F at the answer."""
        return math.inf if self.best is None else self.best.value

    @property
    def support(self) -> Indices:
        """The units in use, sorted."""
        return np.empty(0, np.int64) if self.best is None else self.best.units

    @property
    def work(self) -> float:
        """Multiplications so far, about."""
        tree = self.__dict__.get("_relaxations")
        parts = [part.work for part in (self.programmes, self._free, tree) if part is not None]
        return float(sum(parts))

    @property
    def patience(self) -> float:
        """Work of idle perturbations; none where there is only one support."""
        if self._unbound and self._free is not None:
            return self._free.patience
        alone = len(self.rules.include) == self.rules.sizes[1] or self._n_open <= 1
        return 0.0 if alone else min(PATIENCE, PER_SUPPORT * self._n_supports)

    @property
    def _n_open(self) -> int:
        return int(self.rules.open.sum())

    @cached_property
    def _n_supports(self) -> int:
        """How many supports there are, were it for their size alone."""
        n, k = self._n_open, min(self.rules.sizes[1], self._n_open)
        return sum(math.comb(n, size) for size in range(1, k + 1))

    def answer(self) -> Vector | None:
        """The weights on all units."""
        return None if self.best is None else self.best.on_all(self.rules.n)

    def _take(self, fit: Fit | None) -> bool:
        """Move to weights that are better; whether they are."""
        if fit is None or not fit.value < self.value - self._worth:
            return False
        kept = (fit.weights > 0.0) | np.isin(fit.units, self.rules.include)
        if self.rules.min_weight == 0.0 and not kept.all():
            fit = fit._replace(units=fit.units[kept], weights=fit.weights[kept])
        self.best, self._settled = fit, False
        return True

    @property
    def _worth(self) -> float:
        """The least fall of F that counts."""
        if self.best is None:
            return 0.0
        return CLOSE * abs(self.best.value) + 1e-15 * self.programmes.scale

    # growing

    def grow(self, count: int) -> int:
        """Algorithm 3 (count = 1), or the support that the programme without a limit on it suggests.

        Then what a search without conditions finds; where they do not bind there, that is all.
        """
        if count == 1:
            return self._add_one()
        if not self._grown:
            self._grown = True
            for units in self._first_supports():
                self._take(self.programmes.fit(units))
            if self.best is None:
                self._take(self._by_highs())
            return int(self.best is not None)
        if self._free is not None and not self._unbound:
            if self._free.grow(count) or self._free.improve(count):
                return 1
            if self._follow():
                return 1
            self._free = None
        added = 0
        while added < count and not (self._unbound or self.deadline.passed) and self._add_one():
            added += 1
        return added

    def _without_conditions(self) -> QuadraticEngine | None:
        """The search for a squared distance without conditions on weights.

        None for anything else.
        """
        if self.rules.conditions is None or not self._squared:
            return None
        return QuadraticEngine(self.problem, replace(self.rules, conditions=None), self.deadline)

    def _follow(self) -> bool:
        """Take the support of the search without conditions; whether they do not bind there."""
        if self._free is None or self._free.best is None:
            return False
        fit = self.programmes.fit(self._free.support)
        self._take(fit)
        self._unbound = fit is not None and not np.any(fit.price)
        return self._unbound

    def _add_one(self) -> int:
        """A step of Algorithm 3; where none of its supports is feasible, one found by HiGHS."""
        for fit in self._adding:
            if fit.value < self.value:
                self.best = fit
            return 1
        if self.best is None and not self._grown:
            self._grown = True
            return int(self._take(self._by_highs()))
        return 0

    @cached_property
    def _relaxed(self) -> tuple[Fit | None, float]:
        """The programme without a limit on the support, and its bound."""
        units = np.flatnonzero(self.rules.open)
        return self.programmes.relaxed(units, np.isin(units, self.rules.include), None)

    def _first_supports(self) -> list[Indices]:
        """The heaviest units of the relaxation, and then the steepest."""
        relaxed = self._relaxed[0]
        if relaxed is None:
            return []
        weights = relaxed.on_all(self.rules.n)
        order = np.lexsort((self.programmes.slopes(relaxed), -weights))
        return [self.rules.fitting(order, size) for size in dict.fromkeys(self.rules.sizes[::-1])]

    def _by_highs(self) -> Fit | None:
        """The best weights on a support on which the conditions can be met, found by HiGHS."""
        relaxed, size = self._relaxed[0], self.rules.n
        v = np.zeros(size) if relaxed is None else relaxed.on_all(size)
        return self.programmes.fit(self.programmes.feasible_support(v))

    # improving

    def improve(self, moves: int) -> int:
        """Swaps, the lightest units first, each for one of the candidates whose slope promises most."""
        if self.best is None or self._settled or self._unbound:
            return 0
        made = self._round(self.best, moves)
        self._settled = self._settled or made == 0
        return made

    def _round(self, start: Fit, moves: int) -> int:
        """One try for the place of every unit, and for a free place (-1)."""
        made = 0
        for unit in [-1, *start.units[np.argsort(start.weights, kind="stable")].tolist()]:
            if self.deadline.passed or made >= moves:
                break
            if unit in self.rules.include or (unit >= 0 and unit not in self.support):
                continue
            before = self.value
            self._try_place(unit)
            made += self.value < before
        return made

    def _try_place(self, unit: int) -> None:
        """Fit the best candidates for the place of a unit, or for a free place (-1)."""
        here = self.best
        rest, base = self.support[self.support != unit], here
        if unit >= 0 and len(rest) and not self.rules.lacking(rest):
            base = self.programmes.fit(rest) or here
            self._take(base)
        assert base is not None  # noqa: S101 - there is an answer
        fits = self.rules.addable(rest)
        fits[rest] = False
        if unit >= 0:
            fits[unit] = False
        others = np.flatnonzero(fits)
        ranked = others[np.argsort(-self.programmes.gains(base)[others], kind="stable")[:TRIED]]
        for j in ranked:
            support = with_unit(rest, int(j))
            if not self.rules.lacking(support):
                self._take(self.programmes.fit(support))

    def perturb(self, rng: np.random.Generator) -> bool:
        """Replace some units, improve, stay if better."""
        if self._unbound and self._free is not None:
            before = self.value
            if self._free.perturb(rng) and not self._follow():
                self._free, self._settled = None, False
            return self.value < before
        kept, before = self.best, self.value
        fit = None if kept is None else self._replaced(kept, rng)
        if fit is None:
            self.programmes.work += IDLE_WORK
            return False
        self.best, self._settled = fit, False
        for _ in range(2):
            if self.value < before or not self._round(self.best, 10**6):
                break
        if self.value < before - CLOSE * abs(before):
            return True
        self.best, self._settled = kept, True
        return False

    def _replaced(self, here: Fit, rng: np.random.Generator) -> Fit | None:
        """The best weights after some units, drawn at random, made place for others.

        None where none are feasible.
        """
        loose = np.setdiff1d(here.units, self.rules.include)
        if not len(loose):
            return None
        count = int(rng.integers(1, max(2, len(loose) // 2) + 1))
        out = rng.permutation(loose)[:count]
        size = max(len(here.units), self.rules.sizes[1])
        units = self._refilled(here, np.setdiff1d(here.units, out), out, size, rng)
        if not len(units) or self.rules.lacking(units):
            return None
        return self.programmes.fit(units)

    def _refilled(
        self, here: Fit, units: Indices, out: Indices, size: int, rng: np.random.Generator
    ) -> Indices:
        """A support filled up, at random or by slopes, without the units that just left."""
        if rng.random() < RANDOM:
            rank = rng.random(self.rules.n)
        else:
            lacks = self.rules.lacking(units) or not len(units)
            rank = -self.programmes.gains(here if lacks else self.programmes.fit(units) or here)
            rank += rng.exponential(0.1 * max(float(np.std(rank)), 1e-300), rank.size)
        rank[out] = np.inf
        while len(units) < size:
            fits = self.rules.addable(units) & np.isfinite(rank)
            fits[units] = False
            others = np.flatnonzero(fits)
            if not len(others):
                break
            units = with_unit(units, int(others[np.argmin(rank[others])]))
        return units

    @property
    def _squared(self) -> bool:
        """Whether F is a squared distance, under rules that `QuadraticEngine` and `Relaxations` know."""
        ours = is_ours(self.problem) or hasattr(self.problem, "centred")
        return self.programmes.quadratic and ours and self.rules.most_groups is None

    # proofs

    @property
    def _few(self) -> bool:
        """Whether doubly non-negative relaxations can bound F, and enumeration by programmes is no shorter."""
        return self._squared and self.rules.n <= PROVABLE and self._n_supports > FEW_SUPPORTS

    @cached_property
    def _relaxations(self) -> Relaxations | None:
        """The relaxations that bound a squared distance on few units.

        None where programmes do that.
        """
        if not self._few or self._relaxed[1] >= NEARLY * self.value:
            return None
        units = np.arange(self.rules.n)
        return Relaxations(target_gram(self.problem, units, units), self.rules)

    @property
    def proof_refusal(self) -> str:
        """A proof by programmes without limits is for few supports."""
        if self._n_supports <= MOST_SUPPORTS or self._few:
            return ""
        return f"there are {magnitude(self._n_supports)} supports under these conditions"

    @property
    def proof_budget(self) -> float:
        """Work of a proof by default."""
        return PROOF_BUDGET

    @property
    def proven(self) -> float:
        """What is known of closed branches."""
        known = lower_bound_of(self.problem, self.rules)
        tree = self.__dict__.get("_relaxations")
        if tree is not None:
            return max(float(tree.proven), known)
        if self._floor == math.inf and self.best is None:
            return known
        return min(self._floor, self.value - CLOSED * abs(self.value))

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """What is left of a branch once its relaxation was tightened."""
        tree = self._relaxations
        if tree is None:
            return self._bound_by_programme(branch)
        if branch.memory is None:
            branch = branch._replace(bound=max(branch.bound, min(self._relaxed[1], self.value)))
        if self.best is not None:
            tree.offer(self.best.units, self.best.weights)
        rest = tree.look(branch)
        if tree.value < self.value:
            self._take(self.programmes.fit(tree.support))
        return rest

    def _bound_by_programme(self, branch: Branch) -> tuple[Branch, ...]:
        """The programme over all units that a branch leaves.

        a leaf where its answer is a member.
        """
        rules = self.rules
        included = np.union1d(branch.included, rules.include).astype(np.int64)
        if not rules.allows(included):
            return ()
        units = np.flatnonzero(rules.addable(included) & rules.open)
        units = np.union1d(np.setdiff1d(units, branch.excluded), included).astype(np.int64)
        if not rules.reachable(units):
            return ()
        relaxed, low = self.programmes.relaxed(units, np.isin(units, included), self.best)
        if relaxed is None:
            return () if low == math.inf else (branch,)
        low = max(low, branch.bound)
        used = np.union1d(relaxed.units[relaxed.weights > MASS], included).astype(np.int64)
        closed = low >= self.value - CLOSED * abs(self.value)
        if rules.allows(used):
            if not rules.lacking(used) or rules.min_weight == 0.0:
                self._take(self.programmes.fit(used))
            closed |= self._is_member(relaxed, used)
        at = -1 if closed else self._branching(relaxed, units, used, included)
        if at < 0:
            self._floor = min(self._floor, low)
            return ()
        inside = Branch(np.append(included, at), branch.excluded, low)
        return inside, Branch(included, np.append(branch.excluded, at), low)

    def _is_member(self, relaxed: Fit, used: Indices) -> bool:
        """Whether weights of a relaxation obey all rules."""
        if self.rules.min_weight == 0.0:
            return True
        w = relaxed.weights[relaxed.weights > MASS]
        return not bool((w < self.rules.min_weight - 1e-12).any()) and not self.rules.lacking(used)

    def _branching(self, relaxed: Fit, units: Indices, used: Indices, included: Indices) -> int:
        """The heaviest unit that is not decided.

        Where all that weigh are, any that may still enter; -1 for none.
        """
        free = np.setdiff1d(used, included)
        if len(free):
            at = np.isin(relaxed.units, free)
            return int(relaxed.units[at][np.argmax(relaxed.weights[at])])
        rest = np.setdiff1d(units, included)
        return int(rest[0]) if len(rest) else -1


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
