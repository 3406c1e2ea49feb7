"""The general search of supports: Algorithm 3, swaps, perturbations, branch and bound over one oracle.

An oracle knows the best weights on a support. There are two: `Programmes` for weights of entries
under conditions and for losses with a programme of their own, `Faces` for any F on any union of
faces.
"""

import math
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .._validation import Indices, Vector, magnitude
from ..deadline import Deadline
from ..protocols import is_distance, lower_bound_of
from ..rules import Rules
from .additions import additions, trimmed
from .engine import Branch, Incumbent
from .faces import Counts, Faces
from .fits import Fit, Relaxed, target_gram, with_unit
from .programmes import Programmes, with_implied_counts
from .quadratic import QuadraticEngine
from .relaxation import PROVABLE, Relaxations

IDLE_WORK = 1e6
"""Work that a perturbation counts for where it finds nothing to change, so that searches end and
proofs go on."""
RANDOM, NOISE = 0.3, 0.1
"""The share of perturbations whose units come in at random; what the gains of others are blurred
by, in their standard deviations."""
FEW_SUPPORTS = 10_000
"""Up to so many supports a proof enumerates them instead of relaxing a squared distance."""
NEARLY = 0.99
"""Where the relaxation of all units has a bound of this share of the value, branching on it ends
soon."""


class Oracle(Protocol):
    """The best weights on supports of one objective, under all rules of one constraint."""

    work: float
    counts: Counts
    monotone: bool
    """Whether a further unit never raises F."""

    def fit(self, units: Indices, enough: float = math.inf) -> Fit | None:
        """The best weights on a support, None where none are feasible.

        No further than to the proof that F is at least `enough`.
        """
        ...

    def member(self, fit: Fit) -> Vector:
        """The distribution with these weights."""
        ...

    def gains(self, fit: Fit) -> Vector:
        """How promising each unit is, (n,)."""
        ...

    def lows(self, units: Indices, fit: Fit | None, others: Indices) -> Vector:
        """F is at least this where a support and one of the others have weight, (m,)."""
        ...

    def promising(self, fit: Fit, others: Indices, bar: float) -> Indices:
        """The units worth a fit beside those of `fit`, best first, where F has to fall below `bar`."""
        ...

    def tie(self, value: float) -> float:
        """Values that exceed this one by no more are the same."""
        ...

    def closing(self, value: float) -> float:
        """The bound from which a branch is closed when this value is known."""
        ...

    def relaxed(self, units: Indices, included: Indices, enough: float, start: Any) -> Relaxed:
        """The minimum without a limit on the number of units, from a distribution p near it."""
        ...

    def used(self, p: Vector) -> Indices:
        """The units of a relaxation that have weight."""
        ...

    def heaviest(self, p: Vector, units: Indices, undecided: Indices) -> int:
        """The undecided unit without which the face of `units` has least of the mass of p."""
        ...

    def starts(self) -> list[Indices]:
        """Supports that slopes and relaxations suggest."""
        ...

    def rescue(self) -> Indices:
        """A support for when no other is feasible; empty where none is known."""
        ...


class Search(Incumbent):
    """F over the supports that rules allow.

    Swaps go through the places of a support, the lightest unit first; each is given to the best of
    the units that its oracle calls promising. A branch is bounded by the relaxation over all units
    that it leaves, and split at the heaviest undecided one. A squared distance under conditions is
    first searched without them (`free`), and bounded by doubly non-negative relaxations (`squared`).
    """

    def __init__(
        self,
        objective: Any,
        oracle: Oracle,
        rules: Rules,
        deadline: Deadline,
        free: QuadraticEngine | None = None,
        squared: Programmes | None = None,
    ) -> None:
        self.objective, self.rules, self.deadline = objective, rules, deadline
        self.oracle = oracle
        self._adding = additions(oracle, rules, deadline)
        self._started = self._settled = self._unbound = False
        self._floor = math.inf
        self._free, self._squared = free, squared
        self._tree: Relaxations | None = None

    @property
    def work(self) -> float:
        """Multiplications so far, about."""
        parts = (self.oracle, self._free, self._tree)
        return float(sum(part.work for part in parts if part is not None))

    @property
    def patience(self) -> float:
        """Work of idle perturbations; none where there is only one support."""
        if self._unbound and self._free is not None:
            return self._free.patience
        if len(self.rules.include) == self.rules.sizes[1] or self._n_open <= 1:
            return 0.0
        counts = self.oracle.counts
        most = int(counts.patience / counts.per_support)
        return counts.per_support * min(self._n_supports, most)

    @cached_property
    def _n_open(self) -> int:
        return int(self.rules.open.sum())

    @cached_property
    def _n_supports(self) -> int:
        """How many supports there are, were it for their size alone."""
        return math.comb(self._n_open, min(self.rules.sizes[1], self._n_open))

    def answer(self) -> Vector | None:
        """The best member on the support."""
        return None if self.best is None else self.oracle.member(self.best)

    def _take(self, fit: Fit | None) -> bool:
        """Move to a support that is better; whether it is."""
        if fit is None:
            return False
        if self.best is not None and not fit.value < self.value - self.oracle.tie(self.value):
            return False
        self.best, self._settled = trimmed(fit, self.rules), False
        return True

    # growing

    def add_best(self) -> int:
        """A step of Algorithm 3; where none of its supports is feasible, one that is."""
        for fit in self._adding:
            if self.best is None or fit.value < self.value:
                self.best = fit
            return 1
        return int(self._rescued())

    def _rescued(self) -> bool:
        """Whether another support is feasible where none was found so far."""
        if self.value < math.inf or self._started:
            return False
        self._started = True
        return self._take(self.oracle.fit(self.oracle.rescue()))

    def grow(self, count: int) -> int:
        """Supports that relaxations suggest, then what a search without conditions finds, then Algorithm 3.

        Where conditions do not bind the answer found without them, that is all.
        """
        if not self._started:
            for units in self.oracle.starts():
                self._take(self.oracle.fit(units))
            self._rescued()
            self._started = True
            return 1
        if self._free is not None and not self._unbound:
            if self._free.grow(count) or self._free.improve(count) or self._follow():
                return 1
            self._free = None
        added = 0
        while added < count and not (self._unbound or self.deadline.passed) and self.add_best():
            added += 1
        return added

    def _follow(self) -> bool:
        """Take the support of the search without conditions; whether they do not bind there."""
        if self._free is None or self._free.best is None:
            return False
        fit = self.oracle.fit(self._free.support)
        self._take(fit)
        self._unbound = fit is not None and not np.any(fit.price)
        return self._unbound

    # improving

    def improve(self, moves: int) -> int:
        """Give at most `moves` places to better units."""
        if self.best is None or self._settled or self._unbound:
            return 0
        made = self._round(moves)
        self._settled = self._settled or made == 0
        return made

    def _round(self, moves: int) -> int:
        """One try for a free place (-1), and for the place of every unit."""
        made, start = 0, self.best
        if start is None:
            return 0
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
        """Fit the promising units for the place of a unit, or for a free place (-1)."""
        rest = self.support[self.support != unit]
        fits = self.rules.addable(rest)
        base: Any = self.best
        if unit >= 0 and len(rest) and not self.rules.lacking(rest):
            base = self.oracle.fit(rest) or base
            self._take(base)
        fits[np.append(rest, unit) if unit >= 0 else rest] = False
        bar = self.value - self.oracle.tie(self.value)
        for other in self.oracle.promising(base, np.flatnonzero(fits), bar):
            longer = with_unit(rest, int(other))
            if not self.rules.lacking(longer) and not self.deadline.passed:
                self._take(self.oracle.fit(longer, self.value - self.oracle.tie(self.value)))

    # leaving local optima

    def perturb(self, rng: np.random.Generator) -> bool:
        """Replace some units, improve, stay if better."""
        before, kept = self.value, self.best
        if self._unbound and self._free is not None:
            if self._free.perturb(rng) and not self._follow():
                self._free, self._settled = None, False
            return self.value < before
        fit = None if kept is None else self._replaced(kept, rng)
        if fit is None:
            self.oracle.work += IDLE_WORK
            return False
        self.best, self._settled = trimmed(fit, self.rules), False
        for _ in range(2):
            if self.value < before or not self._round(10**6):
                break
        if self.value < before - self.oracle.tie(before):
            return True
        self.best, self._settled = kept, True
        return False

    def _replaced(self, here: Fit, rng: np.random.Generator) -> Fit | None:
        """The best weights after some units, drawn at random, made place for others; None where none are feasible."""
        loose = np.setdiff1d(here.units, self.rules.include)
        if not len(loose):
            return None
        count = int(rng.integers(1, max(2, len(loose) // 2) + 1))
        out = rng.permutation(loose)[:count]
        size = max(len(here.units), self.rules.sizes[1])
        units = self._refilled(here, np.setdiff1d(here.units, out), out, size, rng)
        if not len(units) or self.rules.lacking(units):
            return None
        return self.oracle.fit(units)

    def _refilled(
        self, here: Fit, units: Indices, out: Indices, size: int, rng: np.random.Generator
    ) -> Indices:
        """A support filled up, at random or by gains, without the units that just left."""
        if rng.random() < RANDOM:
            rank = rng.random(self.rules.n)
        else:
            lacks = self.rules.lacking(units) or not len(units)
            rank = -self.oracle.gains(here if lacks else self.oracle.fit(units) or here)
            rank += rng.exponential(NOISE * max(float(np.std(rank)), 1e-300), rank.size)
        rank[out] = np.inf
        while len(units) < size:
            fits = self.rules.addable(units) & np.isfinite(rank)
            fits[units] = False
            others = np.flatnonzero(fits)
            if not len(others):
                break
            units = with_unit(units, int(others[np.argmin(rank[others])]))
        return units

    # proofs

    @property
    def proof_refusal(self) -> str:
        """A proof by enumeration without limits is for few supports."""
        if self._n_supports <= self.oracle.counts.most_supports or self._relaxes:
            return ""
        return f"exact would have to tell {magnitude(self._n_supports)} supports apart"

    @property
    def _relaxes(self) -> bool:
        """Whether doubly non-negative relaxations can bound F, and enumeration is no shorter."""
        few = self.rules.n <= PROVABLE and self._n_supports > FEW_SUPPORTS
        return self._squared is not None and few

    @property
    def proof_budget(self) -> float:
        """Work of a proof by default."""
        return self.oracle.counts.proof

    @property
    def proven(self) -> float:
        """What is known of closed branches."""
        known = lower_bound_of(self.objective, self.rules)
        if self._tree is not None:
            return max(float(self._tree.proven), known)
        if self.best is None:
            return known
        return min(self._floor, self.oracle.closing(self.value))

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """What is left of a branch once its relaxation was tightened."""
        if branch.memory is None and self._squared is not None and self._relaxes:
            low, every = self._squared.root.bound, np.arange(self.rules.n)
            if low < NEARLY * self.value:
                self._tree = Relaxations(target_gram(self.objective, every, every), self.rules)
                branch = branch._replace(bound=max(branch.bound, min(low, self.value)))
        if self._tree is None:
            return self._bound_by_relaxation(branch)
        rest = self._tree.look(branch, self.best)
        if self._tree.value < self.value:
            self._take(self.oracle.fit(self._tree.support))
        return rest

    def _bound_by_relaxation(self, branch: Branch) -> tuple[Branch, ...]:
        """The relaxation over all units that a branch leaves: a leaf where its answer is a member."""
        rules, oracle = self.rules, self.oracle
        included = np.union1d(branch.included, rules.include).astype(np.int64)
        if not rules.allows(included):
            return ()
        units = np.flatnonzero(rules.addable(included) & rules.open)
        units = np.union1d(np.setdiff1d(units, branch.excluded), included).astype(np.int64)
        if not rules.reachable(units):
            return ()
        goal = oracle.closing(self.value)
        before = branch.memory
        if before is not None and rules.min_weight == 0.0 and np.array_equal(units, before.units):
            relaxed = before
        else:
            relaxed = oracle.relaxed(units, included, goal, None if before is None else before.p)
        if relaxed.p is None:
            return () if relaxed.bound == math.inf else (branch,)
        low = max(relaxed.bound, branch.bound)
        used = np.union1d(oracle.used(relaxed.p), included).astype(np.int64)
        member = False
        if rules.min_weight > 0.0:
            if rules.allows(used) and not rules.lacking(used):
                self._take(oracle.fit(used, goal))
                member = relaxed.p[oracle.used(relaxed.p)].min() >= rules.min_weight - 1e-12
        elif rules.allows(units):
            self._take(oracle.fit(units, goal))
            member = True
        elif relaxed.value < math.inf and rules.allows(used):
            self._take(oracle.fit(used, goal))
            member = oracle.monotone
        undecided = np.setdiff1d(units, included)
        if member or low >= oracle.closing(self.value) or not len(undecided):
            self._floor = min(self._floor, low)
            return ()
        at = oracle.heaviest(relaxed.p, units, undecided)
        inside = Branch(np.append(included, at), branch.excluded, low, relaxed)
        return inside, Branch(included, np.append(branch.excluded, at), low, relaxed)


def search_by_programmes(objective: Any, rules: Rules, deadline: Deadline) -> Search:
    """The search of entries whose weights are found by convex programmes."""
    rules = with_implied_counts(rules)
    oracle = Programmes(objective, rules, deadline)
    if not is_distance(objective) or oracle.own or rules.most_groups is not None:
        return Search(objective, oracle, rules, deadline)
    free = QuadraticEngine(objective, replace(rules, conditions=None), deadline)
    return Search(objective, oracle, rules, deadline, free, oracle)


def search_by_faces(objective: Any, constraint: Any, deadline: Deadline) -> Search:
    """The search of any F over any union of faces."""
    oracle = Faces(objective, constraint, deadline)
    return Search(objective, oracle, oracle.rules, deadline)
