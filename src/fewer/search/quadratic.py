"""The engine for quadratics on sparse simplices: all bounds, groups, few columns or millions of candidates."""

import math
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..deadline import Deadline
from ..rules import Rules
from .additions import QuadraticAdditions, additions
from .engine import Branch
from .fit import (
    NONE,
    Answers,
    Fit,
    affordable,
    polished,
    promising,
    refit_cost,
    refitted,
    target_gram,
)
from .paths import (
    REACHED,
    first_answer,
    lower_bound_of,
    path_supports,
    relaxed_bounds,
    simplex_bound,
)
from .pool import CandidatePool, move_work
from .relaxation import PROVABLE, Relaxations

# Tuned by `python benchmarks/against.py a220a01`: values and seconds beside the search before
# engines.
WHOLE = 600
"""Up to this many units all are candidates."""
WIDE = 2000
"""Candidates of a pool, at least; at most twice as many, but for a very large k."""
PER_UNIT, CELLS = 20, 1.6e6
"""Candidates for each of the k units, while k times the pool is no more than so many cells."""
AROUND = 256
"""Candidates of a pool beside the support where slopes are cheap, at least; half of k where that is
more."""
POOL_WORK = 1e9
"""Multiplications that forming the matrix of a pool may cost."""
POOL_SHARE = 0.4
"""The share of `max_memory` for a pool's matrix and tables."""
PER_SECOND = 4e6
"""Entries of a pool's matrix for each second of a time limit."""
RANDOM_SHARE = 0.3
"""The share of random units in a pool that is not everything."""
POOL_PATIENCE, KERNEL_POOL_PATIENCE = 1.5e6, 6e4
"""Work of perturbations after which a pool that is not everything is renewed, in roots of the work
of a move; the same where F is known by entries of H alone."""
BLAS_WORK = 0.25
"""Work of a multiplication by BLAS: it makes four while the search makes one."""
FIRST_FILLED = 128
"""Units that are added before a first answer is given."""
ENOUGH = 1e-3
"""Relative gain for which a further pool is worth gathering."""
FEWEST_POOLS, MOST_POOLS = 3, 8
"""Pools gathered around the answer before the first perturbation."""
PATIENCE, KERNEL_PATIENCE = 6e8, 9e7
"""Default work that perturbations may cost in a row without a gain; where F is known by entries of
H alone."""
FEW_UNITS = 14
"""So many units or fewer get at least twice that: moves are cheap, and local optima far apart."""
FEWEST_IDLE, IDLE_PER_UNIT, MOVES_PER_PERTURBATION = 20, 2, 8
"""Perturbations in a row without a gain that are enough for few units, and for each of them; their
moves, about."""
TOLERATED, MOVED = 0.05, 5
"""How far above the best answer a search may go on from, as a share of its value, where F is not
known by entries of H alone; after how many such steps a small pool is gathered anew around where it
stands."""
FEW_CANDIDATES, TOLERATED_OF_FEW = 400, 0.3
"""Where F is known by entries of H alone: up to how many candidates a search goes on from worse
answers, and from how much worse ones; with more candidates that only loses time."""
SETTLED = 1e-4
"""Relative gain for which a small pool is renewed once more."""
MATRIX_SHARE = 0.5
"""What perturbations may cost in any case, as a share of the work of forming the matrix of all
units."""
PROVEN_GAP = 1e-7
"""Share of the value within which the bound over the whole simplex proves an answer."""
BRIEF = 5e7
"""Work between two chances to stop: some hundredths of a second."""
PROVABLE_ATTAINED = 2000
"""Units up to which a proof forms their whole matrix under a time limit, where F reaches its lower
bound outside the constraint: the convex relaxation would say nothing there, and a proof takes
hours."""
SPECTRAL = 150
"""Units from which on a proof starts from the best value, where F reaches its lower bound outside
the constraint: with fewer, hundreds of rounds are cheap, and rounds from no multipliers end nearer
to the optimum of the relaxation."""
LOOK_WORK = 0.2
"""Multiplications of a look at a relaxation that cannot be stopped, in cubed units."""
PROOF_BUDGET = 5e8
"""Default work of a proof by "auto"."""
ATTAINED_BUDGET = 1e8
"""The same where F reaches its lower bound outside the constraint: relaxations say little there."""
LOOSE_BUDGET = 1e8
"""The same where only the convex relaxation is looked at."""


class QuadraticEngine:
    """F[p] = pᵀHp - 2cᵀp + constant over at most k weighted units, all rules kept.

    The support grows along an active-set path of non-negative least squares; it is improved by
    swaps in a pool of candidates, which is everything where that is not much and else gathered
    around the answer again and again.
    """

    def __init__(
        self, problem: Any, rules: Rules, deadline: Deadline, width: int | None = None
    ) -> None:
        self.problem, self.rules, self.deadline = problem, rules, deadline
        self.centred = hasattr(problem, "centred")  # else F is known by entries of H alone
        self.entry_cost = float(getattr(problem, "entry_cost", 1.0))
        self.open = int(rules.open.sum())
        self.width = self._pool_width() if width is None else width
        self.best: Fit | None = None
        self._pool: CandidatePool | None = None
        self._spent, self._gathered = (
            0.0,
            0,
        )  # the work in pools that are gone, and how many drew at random
        self._starts: list[Indices] = []
        self._pool_began, self._moved = 0.0, 0
        self._simplex_bound = -math.inf
        self._growing, self._improving = self._start(), self._improved()
        self._relaxations: Relaxations | None = None
        self._loose: Iterator[float | None] | None = None

    # what it stands on

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
        counted = BLAS_WORK * float(getattr(self.problem, "work", 0.0))
        parts = [part.work for part in (self._relaxations, self._pool) if part is not None]
        return self._spent + counted + sum(parts)

    @property
    def patience(self) -> float:
        """Work of idle perturbations: more where pools have to be renewed on the way.

        0 where nothing can be gained.
        """
        if self._reached or (self._pool is not None and self._hopeless(self._pool)):
            return 0.0
        matrix = BLAS_WORK * self.entry_cost * float(self.width) ** 2
        if self.width < self.open:
            return self._pool_patience + matrix
        k = self.rules.sizes[1]
        each = MOVES_PER_PERTURBATION * move_work(k, self.open)
        most = (PATIENCE if self.centred else KERNEL_PATIENCE) * (1.0 + FEW_UNITS / k)
        most = max(most, MATRIX_SHARE * matrix)
        return min(most, (FEWEST_IDLE + IDLE_PER_UNIT * self.open) * each)

    @property
    def _pool_patience(self) -> float:
        """Work of perturbations in one pool that is not everything."""
        each = POOL_PATIENCE if self.centred else KERNEL_POOL_PATIENCE
        return each * math.sqrt(move_work(self.rules.sizes[1], self.width))

    def answer(self) -> Vector | None:
        """The weights on all units."""
        if self.best is None:
            return None
        return self.best.on_all(self.rules.n)

    def _take(self, found: Fit | None) -> bool:
        """Move to an answer if it is better; whether it is."""
        if found is None or not found.value < self.value:
            return False
        self.best = found
        return True

    @property
    def _reached(self) -> bool:
        """Whether the target or the optimum over the whole simplex is reached: nothing can be gained any more."""
        return self.best is not None and (
            self.value <= REACHED * abs(self.problem.constant) or self._convex
        )

    @property
    def _convex(self) -> bool:
        """Whether the answer is the optimum over the whole simplex, which happens to have few units."""
        return self._simplex_bound >= (1.0 - PROVEN_GAP) * self.value

    # growing

    @cached_property
    def _adding(self) -> Iterator[Fit]:
        oracle = QuadraticAdditions(self.problem, self.rules)
        return additions(oracle, self.rules, self.deadline)

    def grow(self, count: int) -> int:
        """Algorithm 3 (count = 1), or a stretch of the path from which searches start."""
        if count == 1:
            for added in self._adding:
                self.best = added
                return 1
            return 0
        for found in self._growing:
            self._take(found)
            return 1
        return 0

    def _start(self) -> Answers:
        """A first answer, then supports of the path; each is kept to start a local search from.

        Where F is known by entries of H alone, slopes cost more than the path gains: it grows in a
        pool instead.
        """
        yield first_answer(self.problem, self.rules)
        if hasattr(self.problem, "prepare"):
            yield from self.problem.prepare()
        if not self.centred and not self.rules.bounded and not len(self.rules.include):
            yield from self._filled()
            return
        for start in path_supports(self.problem, self.rules):
            if start is None:
                yield None
                continue
            ends, units = start
            if not affordable(self.deadline, refit_cost(len(units))):
                return
            if ends:
                self._starts.append(units)
            fit = refitted(self.problem, self.rules, units)
            yield fit
            if self._compared() or fit.value <= REACHED * self.problem.constant:
                return

    def _compared(self) -> bool:
        """Bound F over the whole simplex from where the answer is.

        Whether nothing can be gained any more.
        """
        if self.centred and self.best is not None and not self._reached:
            self._simplex_bound = max(
                self._simplex_bound, simplex_bound(self.problem, self.rules, self.best)
            )
        return self._reached

    def _filled(self) -> Answers:
        """Best additions in a pool of everything, or of random units.

        An answer whenever the support has doubled.
        """
        k, units = self.rules.sizes[1], np.flatnonzero(self.rules.open)
        if not affordable(self.deadline, self.entry_cost * float(self.width) ** 2):
            return
        if self.width < len(units):
            units = np.sort(np.random.default_rng(0).choice(units, self.width, replace=False))
        self._pool, size = self._pool_of(units), 0
        while size < k:
            size = min(max(FIRST_FILLED, 2 * size), k)
            self._pool.fill(size)
            yield self._answer_of(self._pool)

    # improving

    def improve(self, moves: int) -> int:
        """A stretch of local search from each start, in pools that are renewed while that helps."""
        for found in self._improving:
            self._take(found)
            return 1
        return 0

    def _improved(self) -> Answers:
        """Local search from every start; the best one is polished."""
        if self._reached or self.best is None:
            return
        k = self.rules.sizes[1]
        if not affordable(self.deadline, refit_cost(k) + k * float(self.width) ** 2):
            return
        best, known = self.best, np.unique(np.concatenate([self.best.units, *self._starts]))
        pool = self._pool_around(best, known) if self._pool is None else self._pool
        for units in self._starts or [pool.support]:
            pool.stand(np.sort(units))
            while pool.improve(self._brief(pool)) == self._brief(pool):
                yield None
            pool.replace_lightest()
            best = min(best, self._answer_of(pool), key=lambda each: each.value)
            yield best
        self._starts = []
        pool.stand(best.units, best.weights)
        self._pool = yield from self._renewing(pool, best)
        self._pool_began = self._pool.work
        yield polished(self.problem, self.rules, self.best)

    def _brief(self, pool: CandidatePool) -> int:
        """Moves that are made in a moment."""
        return min(64, max(1, int(BRIEF / (8.0 * pool.k * len(pool.units)))))

    def _renewing(
        self, pool: CandidatePool, found: Fit
    ) -> Generator[Fit | None, None, CandidatePool]:
        """New pools around the answer, and swaps in each, while that helps."""
        for turn in range(1, MOST_POOLS + 1):
            if len(pool.units) == self.open or pool.nothing:
                break
            before = found.value
            pool = self._pool_after(pool, found)
            while pool.improve(self._brief(pool)) == self._brief(pool):
                yield None
            found = min(found, self._answer_of(pool), key=lambda each: each.value)
            yield found
            if turn >= FEWEST_POOLS and found.value >= before * (1.0 - ENOUGH):
                break
        return pool

    def _answer_of(self, pool: CandidatePool) -> Fit:
        """The support of a pool with its best weights."""
        return refitted(self.problem, self.rules, pool.support, pool.weights)

    # leaving local optima

    def perturb(self, rng: np.random.Generator) -> bool:
        """Replace some units and improve.

        Go on from there unless that is much worse than the answer.

        Small pools follow the search, and one that has been searched enough is followed by another
        around the answer. Source: Lourenço, Martin & Stützle 2003, "Iterated local search", sec.
        3.3 (acceptance of worse local optima).
        """
        pool = self._pool
        if pool is None or self._hopeless(pool):
            self._spent += math.inf
            return False
        if len(pool.units) < self.open and pool.work - self._pool_began > self._pool_patience:
            return self._renewed(pool, self.best)
        if not pool.perturb(rng, self._ceiling()):
            return False
        found = self._answer_of(pool) if pool.promises(self.value) else None
        better = found is not None and self._take(polished(self.problem, self.rules, found))
        self._moved = 0 if better else self._moved + 1
        if self.centred and self.width < self.open and (better or self._moved == MOVED):
            here, self._moved = self.best if better else self._answer_of(pool), 0
            better |= self._renewed(pool, here, settles=better)
        return better

    def _ceiling(self) -> float:
        """The value below which a search goes on from a worse answer."""
        if self.centred:
            return (1.0 + TOLERATED) * self.value
        return (1.0 + TOLERATED_OF_FEW) * self.value if self.open <= FEW_CANDIDATES else -math.inf

    def _hopeless(self, pool: CandidatePool) -> bool:
        """Whether nothing can be gained: the target is reached, or there is no other support."""
        few = (
            self.open <= max(len(self.rules.include), self.rules.sizes[1])
            and not self.rules.bounded
        )
        return (
            pool.nothing or self._reached or few or len(self.rules.include) == self.rules.sizes[1]
        )

    def _renewed(self, pool: CandidatePool, here: Fit | None, settles: bool = False) -> bool:
        """Local search in a new pool around an answer, in place of another pool.

        Whether the best answer is new.

        If it `settles`, the lightest units are replaced too, and this is repeated while it helps.
        """
        better = False
        while True:
            assert here is not None  # noqa: S101 - there is a pool, hence an answer
            before, pool = here.value, self._pool_after(pool, here)
            if settles:
                pool.replace_lightest()
            pool.improve()
            here = self._answer_of(pool)
            better |= self._take(here)
            if not settles or not here.value < before * (1.0 - SETTLED):
                self._pool, self._pool_began = pool, pool.work
                return better

    # pools

    def _pool_width(self) -> int:
        """How many candidates a pool has: as many as memory, time and the cost of their matrix allow."""
        k = self.rules.sizes[1]
        if self.centred and self.open > 2 * WIDE:
            return min(self.open, k + max(AROUND, k // 2))
        memory = float(getattr(self.problem, "memory", 2**33))
        return pool_width(self.open, k, self.entry_cost, memory, self.deadline.seconds)

    def _pool_of(self, units: Indices) -> CandidatePool:
        """A pool of these units; the work of forming its matrix is counted once."""
        entry = 1.0 if hasattr(self.problem, "work") else BLAS_WORK * self.entry_cost
        return CandidatePool(self.problem, self.rules, units, entry)

    def _pool_around(self, fit: Fit, known: Indices) -> CandidatePool:
        """A pool around an answer: what is known, the most promising units, and some random ones."""
        units = np.flatnonzero(self.rules.open)
        width = max(self.width, len(known))
        if width < len(units):
            share = 0.0 if self.centred else RANDOM_SHARE
            drawn = int(share * (width - len(known))) if len(units) > 2 * width else 0
            near = promising(self.problem, self.rules, fit, width - len(known) - drawn)
            known = np.union1d(known, near)
            rest = np.setdiff1d(units, known)
            self._gathered += 1
            rng = np.random.default_rng(self._gathered)
            units = np.union1d(known, rng.choice(rest, min(drawn, len(rest)), replace=False))
        pool = self._pool_of(units)
        pool.stand(fit.units, fit.weights)
        return pool

    def _pool_after(self, pool: CandidatePool, fit: Fit) -> CandidatePool:
        """The pool that follows one that ends, in its place in memory."""
        self._spent += pool.work
        pool.release()
        return self._pool_around(fit, fit.units)

    # proofs

    @property
    def proof_refusal(self) -> str:
        """A proof of any size ends in a bound."""
        return ""

    @property
    def proof_budget(self) -> float:
        """Work of a proof by default.

        None for many units where the convex relaxation says nothing new.
        """
        if self._convex:
            return LOOSE_BUDGET
        if self.rules.n <= PROVABLE:
            return ATTAINED_BUDGET if self._attained else PROOF_BUDGET
        return 0.0 if self._attained else LOOSE_BUDGET

    @property
    def _attained(self) -> bool:
        """Whether F reaches its lower bound outside the constraint."""
        return bool(getattr(self.problem, "lower_bound_attained", False))

    @property
    def proven(self) -> float:
        """What is known of branches that were closed, and before that what F can never be below."""
        if self._loose is not None:
            return math.inf  # it closes none
        known = max(self._simplex_bound, lower_bound_of(self.problem, self.rules))
        return known if self._relaxations is None else max(self._relaxations.proven, known)

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """Branch and bound on doubly non-negative relaxations.

        For many units the convex relaxation at the root.
        """
        if self._convex:
            return ()
        size = self.rules.n
        if size > (PROVABLE_ATTAINED if self._attained and self.deadline.limited else PROVABLE):
            return self._bound_loosely(branch)
        if size > PROVABLE and not affordable(self.deadline, LOOK_WORK * float(size) ** 3):
            return (branch,)
        if self._relaxations is None:
            units = np.arange(size)
            G = target_gram(self.problem, units, units)
            spectral = self._attained and size > SPECTRAL
            self._relaxations = Relaxations(G, self.rules, spectral)
        known = self._relaxations
        if self.best is not None:
            known.offer(self.best.units, self.best.weights)
        rest = known.look(branch)
        if known.value < self.value:
            self._take(refitted(self.problem, self.rules, known.support, known.weights))
        return rest

    def _bound_loosely(self, branch: Branch) -> tuple[Branch, ...]:
        """The convex relaxation, a stretch further.

        When it has no more to say the branch stays open.
        """
        assert self.best is not None  # noqa: S101 - a proof follows a search
        if self._loose is None:
            loose = replace(self.rules, min_weight=0.0, max_weight=1.0, include=NONE)
            start = refitted(self.problem, loose, self.best.units)
            self._loose = relaxed_bounds(self.problem, loose, (start.units, start.weights))
        assert self._loose is not None  # noqa: S101
        for found in self._loose:
            return (
                branch._replace(
                    bound=max(
                        branch.bound, min(found if found is not None else -math.inf, self.value)
                    )
                ),
            )
        return (branch,)


def pool_width(n: int, k: int, entry_cost: float, memory: float, seconds: float) -> int:
    """Candidates of a pool for k of n units: as many as memory, a time limit and the cost of their matrix allow.

    >>> pool_width(500, 10, 100.0, 2**30, math.inf), pool_width(10**6, 20, 28.0, 2**30, math.inf)
    (500, 2000)
    """
    per_unit = max(WIDE, min(PER_UNIT * k, int(CELLS / k)))
    wide = min(per_unit, 2 * WIDE, int(math.sqrt(POOL_WORK / entry_cost)))
    wide = max(wide, WHOLE, k + WHOLE // 2)
    fits = int(math.sqrt(2.25 * k * k + POOL_SHARE * memory / 8) - 1.5 * k)
    in_time = max(int(math.sqrt(PER_SECOND * min(seconds, 1e9))), k + WHOLE // 5)
    return min(n, max(min(wide, fits, in_time), k + 1))
