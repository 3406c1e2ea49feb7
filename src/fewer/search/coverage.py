"""Mass on supports: the engine of problems whose minimum on a face depends only on the mass that the face covers."""

import math
from typing import Any

import numpy as np

from .._compiled.prices import IN, OUT
from .._validation import Indices, Vector
from ..cover import KL, Allowance, Cover
from ..spaces import States
from ._masks import best_mask
from ._prices import Node, Proof, even_bound
from ._search import Search
from .engine import Branch

MAX_DIMENSIONS_BY_MASKS, MAX_DIMENSIONS_IN_MEMORY = 20, 24
"""Dimensions up to which valuing all masks is the fastest proof, and up to which they fit in memory."""
LOOKS_BEFORE_MASKS = 100
"""Looks of a proof after which all masks of `MAX_DIMENSIONS_IN_MEMORY` dimensions are the faster one."""
PERTURBATIONS = 128
"""Passes of k times all entries that a search goes on without a gain, about a perturbation each."""
LEAST_WORK = 1e6
"""Entries that they may pass over in any case: milliseconds, enough to value all masks of few dimensions instead."""
MOST_WORK = 2.5e8
"""Entries passed over by such perturbations, at most: about half a second."""
PROOF_WORK = 1e8
"""Entries passed over by the proof of "auto": about a second."""
WORK_PER_CALL = 2e7
"""Entries that may be passed over between two chances to stop."""
SEARCH_SHARE, MOST_SEARCHES = 0.25, 16
"""Perturbations go on within a proof for this share of its work, so many after a look at most."""
GAP = 1e-11
"""A bound this close to the gain, relative to it (KL) or to ‖q‖² (l2), is rounding and counts as equal."""


def coverage_engine(objective: Any, constraint: Any) -> "CoverageEngine | None":
    """The engine of a `Covered` objective over allowed faces, or None where its q or its space does not allow it."""
    covered = objective.cover(constraint.k)
    if covered is None:
        return None
    cover, norm, mode = covered
    if not constraint.allowance.counts:
        costs = constraint.allowance.of_supports(cover.indptr, cover.indices)
        cover = cover.take(np.flatnonzero(costs <= constraint.allowance.room))
    return CoverageEngine(objective, constraint, cover, norm, mode)


class CoverageEngine:
    """A face on the move: max Q(S) (KL) or max Q2(S) - (1 - Q(S))² / M(S) (l2) over |S| <= k, or Σ_S costs <= budget.

    Q and Q2 are the sums of q and q² over X_S, M the number of its states. Supports are proven best
    by all masks of few dimensions, else by branch and bound on prices.

    >>> from fewer import KL, DimensionSparse, Lattice
    >>> F = KL(Lattice(3, 2), [0.3, 0.1, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])
    >>> engine = coverage_engine(F, DimensionSparse(F.space, 2))
    >>> engine.grow(1), engine.grow(2), engine.grow(1), engine.support.tolist(), round(math.exp(-engine.value), 6)
    (1, 1, 0, [1, 2], 0.7)
    >>> engine.bound(Branch()), engine.proven == engine.value
    ((), True)
    """

    def __init__(
        self, objective: Any, constraint: Any, cover: Cover, norm: float, mode: int
    ) -> None:
        self.objective, self.constraint = objective, constraint
        self.cover, self.norm, self.mode, self.k = cover, norm, mode, int(constraint.k)
        self.allowance: Allowance = constraint.allowance
        self._search = Search(cover, self.allowance, mode)
        self._answered: tuple[bytes, Vector | None] = (b"", None)
        self._valued: tuple[bytes, float] = (b"", math.inf)
        self._beside: Search | None = (
            None  # the search within a proof, on what is left of the cover
        )
        self._began, self._complete, self._looked = False, False, False
        self._left: tuple[Branch, ...] | None = None  # of all supports, after the first looks
        self._rounding, self._more_work = 0.0, 0.0

    @property
    def value(self) -> float:
        """F at `answer()`; infinite while there is no answer."""
        key = self._search.key
        if self._valued[0] != key:
            p = self.answer()
            self._valued = key, math.inf if p is None else float(self.objective.value(p))
        return self._valued[1]

    @property
    def support(self) -> Indices:
        """The dimensions chosen, sorted."""
        return self._search.face

    @property
    def work(self) -> float:
        """Entries of the cover passed over so far."""
        return self._search.work + self._more_work

    @property
    def patience(self) -> float:
        """The work of some perturbations; none where swaps see every face, or the face is known to be best."""
        if self._search.exhausted or self._complete:
            return 0.0
        return min(max(PERTURBATIONS * self.k * self._search.one_pass, LEAST_WORK), MOST_WORK)

    @property
    def proof_refusal(self) -> str:
        """Nothing: the proof ends, if late."""
        return ""

    @property
    def proof_budget(self) -> float:
        """About a second."""
        return PROOF_WORK

    @property
    def proven(self) -> float:
        """The value less rounding, once `bound` was called; before that what one pass proves of all supports."""
        if not self._began:
            return self._loss(even_bound(self.cover, self.allowance, self.mode))
        close = GAP * (self._search.gain if self.mode == KL else self.norm)
        return (
            self.value
            if self._rounding <= close
            else self._loss(self._search.gain + self._rounding)
        )

    def grow(self, count: int) -> int:
        """Add dimensions: one by Algorithm 3, several by look-ahead."""
        affordable = 1 + int(WORK_PER_CALL / self._search.one_pass)
        added = self._search.add_best() if count == 1 else self._search.grow(min(count, affordable))
        if added and not self._search.lacking and self.answer() is None:
            self._hold_a_state()
        return added

    def improve(self, moves: int) -> int:
        """Swap a dimension for the one that lowers F most, at most `moves` times; how many moves were made.

        At the first local optimum some looks at all supports may tell that none is better, or find
        one.
        """
        affordable = 1 + int(WORK_PER_CALL / (2.0 * self._search.one_pass + self.k * self.cover.n))
        return self._search.improve(min(moves, affordable)) or int(self._look_at_all())

    def _look_at_all(self) -> bool:
        """Begin the proof, once, for as long as nothing has to be branched on; whether it found a better support."""
        if self._looked or self._began or self._search.lacking:
            return False
        if (
            self.cover.n <= MAX_DIMENSIONS_BY_MASKS
            and float(self.cover.n << self.cover.n) > self.patience
        ):
            return False
        gain, until = self._search.gain, self.work + WORK_PER_CALL
        self._looked = True
        left = self.bound(Branch())
        while len(left) == 1 and self.work < until:
            left = self.bound(left[0])
        self._left, self._complete = left, not left
        return self._search.gain > gain

    def perturb(self, rng: np.random.Generator) -> bool:
        """Replace some dimensions at random, swap until none helps, and go back where F is not lower or equal."""
        if self._search.exhausted:
            self._more_work += self._search.one_pass
            return False
        return self._search.perturb(rng)

    def answer(self) -> Vector | None:
        """The best distribution on the face, or None while the face holds no state."""
        key = self._search.key
        if self._answered[0] != key:
            states = self.constraint.face(self.support)
            self._answered = key, self.objective.best_on(states) if states.size else None
        return self._answered[1]

    def _hold_a_state(self) -> None:
        """Take another face: around the heaviest support, or where there is none the smallest state."""
        if len(self.cover):
            e = int(self.cover.mass.argmax())
            units = self.cover.indices[self.cover.indptr[e] : self.cover.indptr[e + 1]]
        else:
            rows = self._states.rows
            smallest = int(self.allowance.of_supports(rows.indptr, rows.indices).argmin())
            units = rows.indices[rows.indptr[smallest] : rows.indptr[smallest + 1]]
        self._search.go_to(units)
        self._search.grow(self.k)

    @property
    def _states(self) -> States:
        space = self.constraint.space
        assert isinstance(space, States)  # noqa: S101 - every face of a lattice holds the origin
        return space

    def _loss(self, gain: float) -> float:
        """F of a face of this gain."""
        if self.mode == KL:
            return -math.log(min(gain, 1.0)) if gain > 0.0 else math.inf
        return max(self.norm - gain, 0.0)

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """Look at a branch once: all masks of few dimensions, or a round of prices, and sometimes perturbations."""
        if self._complete:
            return ()
        node: Node | None = branch.memory
        if node is None:
            if not len(branch.included) and not len(branch.excluded):
                if self._left is not None:
                    left, self._left = self._left, None
                    return left
                if self.cover.n <= MAX_DIMENSIONS_BY_MASKS:
                    return self._value_all_masks()
            touch = self.cover.measure(self.support)[0]
            node = Proof(self.cover, self.allowance, self.mode, touch).node(
                branch.included, branch.excluded
            )
        proof = node.proof
        self._began, self._rounding = True, proof.rounding
        if proof.steps >= LOOKS_BEFORE_MASKS and self.cover.n <= MAX_DIMENSIONS_IN_MEMORY:
            return self._value_all_masks()
        before = proof.work
        bound, nodes, face = proof.look(node, self._search.gain)
        self._more_work += proof.work - before
        moved = face is not None and self._offer(face)
        if nodes and proof.shrunk:
            moved |= self._search_beside(proof)
        if moved and len(nodes) == 1 and nodes[0].whole:
            proof.shrunk = False  # a better face leaves fewer supports that matter
        lowest = max(self._loss(proof.rounded(bound)), branch.bound)
        return tuple(_branch(lowest, after) for after in nodes)

    def _offer(self, face: Indices) -> bool:
        """Move to a face if it is better; whether it was."""
        gain = self.cover.gain(face, self.mode)
        better = gain > self._search.gain + 1e-12 * abs(self._search.gain)
        if better:
            self._search.go_to(face)
        return better

    def _value_all_masks(self) -> tuple[Branch, ...]:
        """Move to the best face of all; nothing is left then."""
        self._offer(best_mask(self.cover, self.allowance, self.mode))
        self._more_work += float(self.cover.n << self.cover.n)
        self._began, self._rounding, self._complete = True, 0.0, True
        return ()

    def _search_beside(self, proof: Proof) -> bool:
        """Perturbations on what is left of the cover, for a share of the proof's work; whether they found better."""
        if self._beside is None or self._beside.cover is not proof.cover:
            self._beside = Search(proof.cover, self.allowance, self.mode, self.support)
            self._beside.work = 0.0
        search, before = self._beside, self._beside.work
        if search.exhausted or before >= SEARCH_SHARE * proof.work:
            return False
        rng = np.random.default_rng(proof.steps)
        improved = False
        for _ in range(MOST_SEARCHES):
            if search.work >= SEARCH_SHARE * proof.work:
                break
            improved |= search.perturb(rng)
        self._more_work += search.work - before
        return improved and self._offer(search.face)


def _branch(bound: float, node: Node) -> Branch:
    """A node of the proof as solvers see it."""
    included, excluded = (np.flatnonzero(node.fixed == side) for side in (IN, OUT))
    return Branch(included, excluded, bound, node)
