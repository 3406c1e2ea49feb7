"""Candidate pools: how wide they are, how they are gathered around an answer, and what that costs."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Indices
from ..deadline import Deadline
from ..rules import Rules
from .fit import Fit, promising
from .pool import CandidatePool, move_work

# Tuned by `python benchmarks/against.py a220a01`: values and seconds beside the search before engines.
WHOLE = 600
"""Up to this many units all are candidates."""
WIDE = 2000
"""Candidates of a pool, at least; at most twice as many, but for a very large k."""
PER_UNIT, CELLS = 20, 1.6e6
"""Candidates for each of the k units, while k times the pool is no more than so many cells."""
AROUND = 256
"""Candidates of a pool beside the support where slopes are cheap, at least; half of k where that is more."""
POOL_WORK = 1e9
"""Multiplications that forming the matrix of a pool may cost."""
POOL_SHARE = 0.4
"""The share of `max_memory` for a pool's matrix and tables."""
PER_SECOND = 4e6
"""Entries of a pool's matrix for each second of a time limit."""
RANDOM_SHARE = 0.3
"""The share of random units in a pool that is not everything."""
POOL_PATIENCE, KERNEL_POOL_PATIENCE = 1.5e6, 6e4
"""Work of perturbations after which a pool that is not everything is renewed, in roots of the work of a move; the same
where F is known by entries of H alone."""
BLAS_WORK = 0.25
"""Work of a multiplication by BLAS: it makes four while the search makes one."""


class Pools:
    """The candidate pools of one problem, one after the other; `spent` is the work in those that are gone."""

    def __init__(self, problem: Any, rules: Rules, deadline: Deadline) -> None:
        self.problem, self.rules, self.deadline = problem, rules, deadline
        self.spent, self.gathered = 0.0, 0

    @cached_property
    def centred(self) -> bool:
        """Whether F can be looked at from its target; otherwise it is known by entries of H alone."""
        return hasattr(self.problem, "centred")

    @cached_property
    def open(self) -> int:
        """How many units there are to choose from."""
        return int(self.rules.open.sum())

    @cached_property
    def follows(self) -> bool:
        """Whether pools are small and follow the search: slopes are cheap there, and a pool around it finds more."""
        return self.centred and self.width < self.open

    @cached_property
    def counts(self) -> bool:
        """Whether the objective counts its own work."""
        return hasattr(self.problem, "work")

    @cached_property
    def entry_cost(self) -> float:
        """Multiplications for one entry of H."""
        return float(getattr(self.problem, "entry_cost", 1.0))

    @cached_property
    def width(self) -> int:
        """How many candidates a pool has: as many as memory, time and the cost of their matrix allow."""
        memory, k = float(getattr(self.problem, "memory", 2**33)), self.rules.sizes[1]
        if self.centred and self.open > 2 * WIDE:
            return min(self.open, k + max(AROUND, k // 2))
        return width(self.open, k, self.entry_cost, memory, self.deadline.seconds)

    @property
    def patience(self) -> float:
        """Work of perturbations in one pool."""
        each = POOL_PATIENCE if self.centred else KERNEL_POOL_PATIENCE
        return each * math.sqrt(move_work(self.rules.sizes[1], self.width))

    def of(self, units: Indices) -> CandidatePool:
        """A pool of these units; the work of forming its matrix is counted once."""
        entry = 1.0 if self.counts else BLAS_WORK * self.entry_cost
        return CandidatePool(self.problem, self.rules, units, entry)

    def around(self, found: Fit, known: Indices) -> CandidatePool:
        """A pool around an answer: what is known, the most promising units, and some random ones."""
        units = np.flatnonzero(self.rules.open)
        width = max(self.width, len(known))
        if width < len(units):
            share = 0.0 if self.centred else RANDOM_SHARE
            drawn = int(share * (width - len(known))) if len(units) > 2 * width else 0
            near = promising(self.problem, self.rules, found, width - len(known) - drawn)
            known = np.union1d(known, near)
            rest = np.setdiff1d(units, known)
            self.gathered += 1
            drawn_units = np.random.default_rng(self.gathered).choice(
                rest, min(drawn, len(rest)), replace=False
            )
            units = np.union1d(known, drawn_units)
        pool = self.of(units)
        pool.stand(found.units, found.weights)
        return pool

    def after(self, pool: CandidatePool, found: Fit) -> CandidatePool:
        """The pool that follows one that ends, in its place in memory."""
        self.spent += pool.work
        pool.release()
        return self.around(found, found.units)


def width(n: int, k: int, entry_cost: float, memory: float, seconds: float) -> int:
    """Candidates of a pool for k of n units: as many as memory, a time limit and the cost of their matrix allow.

    >>> width(500, 10, 100.0, 2**30, math.inf), width(10**6, 20, 28.0, 2**30, math.inf)
    (500, 2000)
    """
    wide = min(
        max(WIDE, min(PER_UNIT * k, int(CELLS / k))),
        2 * WIDE,
        int(math.sqrt(POOL_WORK / entry_cost)),
    )
    wide = max(wide, WHOLE, k + WHOLE // 2)
    fits = int(math.sqrt(2.25 * k * k + POOL_SHARE * memory / 8) - 1.5 * k)
    in_time = max(int(math.sqrt(PER_SECOND * min(seconds, 1e9))), k + WHOLE // 5)
    return min(n, max(min(wide, fits, in_time), k + 1))
