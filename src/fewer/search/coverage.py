"""Mass on supports: the engine of problems whose minimum on a face depends only on the mass that the face covers."""

import math
from typing import Any

import numpy as np

from .._compiled.prices import IN, OUT
from .._validation import Indices, Vector
from ..cover import KL, Cover
from ._masks import best_mask
from ._prices import Node, Proof, even_bound
from ._search import Search
from .engine import Branch

MAX_DIMENSIONS_BY_MASKS, MAX_DIMENSIONS_IN_MEMORY = 20, 24
"""Dimensions up to which valuing all masks is the fastest proof, and up to which they fit in
memory."""
LOOKS_BEFORE_MASKS = 100
"""Looks of a proof after which all masks of `MAX_DIMENSIONS_IN_MEMORY` dimensions are the faster
one."""
PERTURBATIONS = 128
"""Passes of k times all entries that a search goes on without a gain, about a perturbation each."""
LEAST_WORK = 1e6
"""Entries that they may pass over in any case: milliseconds, enough to value all masks of few
dimensions instead."""
MOST_WORK = 2.5e8
"""Entries passed over by such perturbations, at most: about half a second."""
PROOF_WORK = 1e8
"""Entries passed over by the proof of "auto": about a second."""
WORK_PER_CALL = 2e7
"""Entries that may be passed over between two chances to stop."""
SEARCH_SHARE, MOST_SEARCHES = 0.25, 16
"""Perturbations go on within a proof for this share of its work, so many after a look at most."""
GAP = 1e-11
"""A bound this close to the gain, relative to it (KL) or to ‖q‖² (l2), is rounding and counts as
equal."""


def coverage_engine(objective: Any, constraint: Any) -> "CoverageEngine | None":
    """The engine of a `Covered` objective over allowed faces, or None where its q or its space does not allow it."""
    cover, rules = objective.cover(constraint.k), constraint.rules
    if cover is None:
        return None
    if rules.costs is not None:
        cover = cover.take(np.flatnonzero(cover.costs(rules.prices) <= rules.room))
    return CoverageEngine(objective, constraint, cover)


class CoverageEngine:
    """A face on the move: max Q(S) (KL) or max Q2(S) - (1 - Q(S))² / M(S) (l2) over |S| <= k, or Σ_S costs <= budget.

    Q and Q2 are the sums of q and q² over X_S, M the number of its states. Supports are proven best
    by all masks of few dimensions, else by branch and bound on prices.

    >>> from fewer import KL, DimensionSparse, Lattice
    >>> F = KL(Lattice(3, 2), [0.3, 0.1, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])
    >>> engine = coverage_engine(F, DimensionSparse(F.space, 2))
    >>> (
    ...     engine.grow(1),
    ...     engine.grow(2),
    ...     engine.grow(1),
    ...     engine.support.tolist(),
    ...     round(math.exp(-engine.value), 6),
    ... )
    (1, 1, 0, [1, 2], 0.7)
    >>> engine.bound(Branch()), engine.proven == engine.value
    ((), True)
    """

    proof_refusal, proof_budget = "", PROOF_WORK

    def __init__(self, objective: Any, constraint: Any, cover: Cover) -> None:
        self.objective, self.constraint, self.cover = objective, constraint, cover
        self.rules = constraint.rules
        self._search = Search(cover, self.rules)
        self._near: Search | None = None  # within a proof, on what is left of the cover
        self._known: tuple[bytes, Vector | None, float] = (b"", None, math.inf)
        self._began, self._complete, self._looked = False, False, False
        self._left: tuple[Branch, ...] | None = None  # of all supports, after the first looks
        self._rounding, self._more_work = 0.0, 0.0

    @property
    def value(self) -> float:
        """F at `answer()`; infinite while there is no answer."""
        return self._best()[1]

    @property
    def support(self) -> Indices:
        """The dimensions of the face, sorted."""
        return self._search.units

    @property
    def work(self) -> float:
        """Entries of the cover passed over so far."""
        return self._search.work + self._more_work

    @property
    def patience(self) -> float:
        """The work of some perturbations.

        None where swaps see every face, or the face is known to be best.
        """
        if self._search.exhausted or self._complete:
            return 0.0
        passes = PERTURBATIONS * self._search.k * self._search.one_pass
        return min(max(passes, LEAST_WORK), MOST_WORK)

    @property
    def proven(self) -> float:
        """The value less rounding, once `bound` was called.

        Before that what one pass proves of all supports.
        """
        if not self._began:
            return self.cover.loss(even_bound(self.cover, self.rules))
        gain = self._search.gain
        if self._rounding <= GAP * (gain if self.cover.mode == KL else self.cover.norm):
            return self.value
        return self.cover.loss(gain + self._rounding)

    def answer(self) -> Vector | None:
        """The best distribution on the face, or None while the face holds no state."""
        return self._best()[0]

    def _best(self) -> tuple[Vector | None, float]:
        """The best distribution on the face and F there, remembered."""
        key = self._search.face.inside.tobytes()
        if self._known[0] != key:
            states = self.constraint.face(self.support)
            p = self.objective.best_on(states) if states.size else None
            self._known = key, p, math.inf if p is None else float(self.objective.value(p))
        return self._known[1:]

    def add_best(self) -> int:
        """A step of Algorithm 3."""
        return self._with_state(self._search.add_best())

    def grow(self, count: int) -> int:
        """Add dimensions by look-ahead."""
        affordable = 1 + int(WORK_PER_CALL / self._search.one_pass)
        return self._with_state(self._search.grow(min(count, affordable)))

    def _with_state(self, added: int) -> int:
        """Another face where the one that is full holds no state."""
        if added and not self._search.lacking and self.answer() is None:
            self._hold_a_state()
        return added

    def improve(self, moves: int) -> int:
        """Swap a dimension for the one that lowers F most, at most `moves` times.

        How many moves were made.

        At the first local optimum some looks at all supports may tell that none is better, or find
        one.
        """
        each = 2.0 * self._search.one_pass + self._search.k * self.cover.n
        affordable = 1 + int(WORK_PER_CALL / each)
        return self._search.improve(min(moves, affordable)) or int(self._look_at_all())

    def _look_at_all(self) -> bool:
        """Begin the proof, once, for as long as nothing has to be branched on.

        Whether it found a better support.
        """
        if self._looked or self._began or self._search.lacking:
            return False
        if self._few and float(self.cover.n << self.cover.n) > self.patience:
            return False
        gain, until = self._search.gain, self.work + WORK_PER_CALL
        self._looked = True
        left = self.bound(Branch())
        while len(left) == 1 and self.work < until:
            left = self.bound(left[0])
        self._left, self._complete = left, not left
        return self._search.gain > gain

    @property
    def _few(self) -> bool:
        """Whether valuing all masks is the fastest proof."""
        return self.cover.n <= MAX_DIMENSIONS_BY_MASKS

    def perturb(self, rng: np.random.Generator) -> bool:
        """Replace some dimensions at random, swap until none helps, and go back where F is not lower or equal."""
        if self._search.exhausted:
            self._more_work += self._search.one_pass
            return False
        return self._search.perturb(rng)

    def _hold_a_state(self) -> None:
        """Take another face: around the heaviest support, or where there is none the cheapest state."""
        if len(self.cover):
            source, e = self.cover, int(self.cover.mass.argmax())
        else:
            source = self.constraint.space.rows  # listed states: a lattice always holds the origin
            uses = np.repeat(np.arange(source.shape[0]), np.diff(source.indptr))
            e = int(np.bincount(uses, self.rules.prices[source.indices], source.shape[0]).argmin())
        self._search.go_to(source.indices[source.indptr[e] : source.indptr[e + 1]])
        self._search.grow(self._search.k)

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
                if self._few:
                    return self._value_all_masks()
            touch = self.cover.measure(self.support)[0]
            proof = Proof(self.cover, self.rules, touch)
            node = proof.node(branch.included, branch.excluded)
        proof = node.proof
        self._began, self._rounding = True, proof.rounding
        if proof.steps >= LOOKS_BEFORE_MASKS and self.cover.n <= MAX_DIMENSIONS_IN_MEMORY:
            return self._value_all_masks()
        before = proof.work
        bound, nodes, face = proof.look(node, self._search.gain)
        self._more_work += proof.work - before
        moved = face is not None and self._offer(face)
        if nodes and proof.shrunk:
            moved |= self._search_near(proof)
        if moved and len(nodes) == 1 and nodes[0].whole:
            proof.shrunk = False  # a better face leaves fewer supports that matter
        lowest = max(self.cover.loss(proof.rounded(bound)), branch.bound)
        return tuple(_branch(lowest, after) for after in nodes)

    def _offer(self, face: Indices) -> bool:
        """Move to a face if it is better; whether it was."""
        gain = self._search.gain
        better = self.cover.gain(face) > gain + 1e-12 * abs(gain)
        if better:
            self._search.go_to(face)
        return better

    def _value_all_masks(self) -> tuple[Branch, ...]:
        """Move to the best face of all; nothing is left then."""
        self._offer(best_mask(self.cover, self.rules))
        self._more_work += float(self.cover.n << self.cover.n)
        self._began, self._rounding, self._complete = True, 0.0, True
        return ()

    def _search_near(self, proof: Proof) -> bool:
        """Perturbations on what is left of the cover, for a share of the proof's work.

        Whether they found better.
        """
        if self._near is None or self._near.cover is not proof.cover:
            self._near = Search(proof.cover, self.rules, self.support)
            self._near.work = 0.0
        search, before, improved = self._near, self._near.work, False
        if search.exhausted:
            return False
        rng = np.random.default_rng(proof.steps)
        for _ in range(MOST_SEARCHES):
            if search.work >= SEARCH_SHARE * proof.work:
                break
            improved |= search.perturb(rng)
        self._more_work += search.work - before
        return improved and self._offer(search.units)


def _branch(bound: float, node: Node) -> Branch:
    """A node of the proof as solvers see it."""
    included, excluded = (np.flatnonzero(node.fixed == side) for side in (IN, OUT))
    return Branch(included, excluded, bound, node)
