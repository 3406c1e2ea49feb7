"""Mass on supports: the engine of problems whose minimum on a face depends only on the mass that the face covers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._compiled import cover as _cover
from .._compiled.prices import IN, OUT
from .._validation import Indices, Vector
from ..cover import KL, Cover, Ints
from ..rules import NO_UNITS, Rules
from .engine import Branch
from .prices import Node, Proof, even_bound

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
GAP = 1e-11
"""A bound this close to the gain, relative to it (KL) or to ‖q‖² (l2), is rounding and counts as
equal."""
TRIES = 20
"""Supports drawn at random, of which a perturbation may take in the first that fits."""
NO_LIMIT = 2**62
SHORT = 16
"""Runs below this are not worth a loop of their own in NumPy: one strided sum for each of their
entries instead."""


def coverage_engine(objective: Any, constraint: Any) -> "CoverageEngine | None":
    """The engine of a `Covered` objective over allowed faces, or None where its q or its space does not allow it."""
    cover = objective.cover(constraint.k)
    return None if cover is None else CoverageEngine(objective, constraint, cover)


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
        self.objective, self.constraint, rules = objective, constraint, constraint.rules
        self._free = np.setdiff1d(np.flatnonzero(rules.open), rules.include)
        if len(self._free) < rules.n:
            cover, rules = cover.reduce_to(rules.include, self._free), rules.reduce_to(self._free)
        if rules.costs is not None or len(self._free) < constraint.space.n:
            cover = cover.take(np.flatnonzero(cover.costs(rules.prices) <= rules.room))
        self.cover, self.rules = cover, rules
        self._search = CoverSearch(cover, rules)
        self._unseen = bool(constraint.include)  # those included are a support by themselves
        self._known: tuple[bytes | None, Vector | None, float] = (None, None, math.inf)
        self._began, self._complete, self._looked = False, False, False
        self._rounding, self._more_work = 0.0, 0.0

    @property
    def value(self) -> float:
        """F at `answer()`; infinite while there is no answer."""
        return self._best()[1]

    @property
    def support(self) -> Indices:
        """The dimensions of the face, sorted."""
        return np.union1d(self.constraint.rules.include, self._free[self._search.units])

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
        return self._grown(self._search.add_best)

    def grow(self, count: int) -> int:
        """Add dimensions by look-ahead."""
        affordable = 1 + int(WORK_PER_CALL / self._search.one_pass)
        return self._grown(lambda: self._search.grow(min(count, affordable)))

    def _grown(self, add: Callable[[], int]) -> int:
        """How many dimensions come in; those included are a support by themselves.

        A face that is full and holds no state makes place for another.
        """
        added, self._unseen = int(self._unseen), False
        added = added or add()
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
        self._complete = not left
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
        cover = self.cover
        if len(cover):
            e = int(cover.mass.argmax())
            units = cover.indices[cover.indptr[e] : cover.indptr[e + 1]]
        else:  # of listed states: a lattice always holds the origin
            table = self.constraint.space.rows
            costs = self.constraint.rules.added_costs[table.indices]
            uses = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
            e = int(np.bincount(uses, costs, table.shape[0]).argmin())
            state = table.indices[table.indptr[e] : table.indptr[e + 1]]
            units = np.flatnonzero(np.isin(self._free, state))
        self._search.go_to(units)
        self._search.grow(self._search.k)

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """Look at a branch once: all masks of few dimensions, or a round of prices, and sometimes perturbations."""
        if self._complete:
            return ()
        node: Node | None = branch.memory
        if node is None:
            if self._few and not len(branch.included) and not len(branch.excluded):
                return self._value_all_masks()
            touch = self.cover.measure(self._search.units)[0]
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


def _branch(bound: float, node: Node) -> Branch:
    """A node of the proof as solvers see it."""
    included, excluded = (np.flatnonzero(node.fixed == side) for side in (IN, OUT))
    return Branch(included, excluded, bound, node)


def promise(cover: Cover, rules: Rules) -> Vector:
    """What covering each support is worth to look-ahead: its mass (KL), or squares + 2 mass / M (l2), (E,)."""
    if cover.mode == KL:
        return cover.mass
    return np.asarray(cover.squares + 2.0 * np.exp(-rules.most_worth(cover.log_m)) * cover.mass)


class CoverSearch:
    """An allowed face on the move: which dimensions are inside, and how many every support still lacks.

    `grow` fills it up; the other methods improve it in place and never worsen it. `gain` is kept up
    to rounding, `work` counts the entries passed over.

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(
    ...     *supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0])
    ... )
    >>> search = CoverSearch(cover, Rules(3, 2))
    >>> search.grow(2), search.improve(), search.units.tolist(), search.gain
    (2, 1, [1, 2], 0.7)
    """

    def __init__(self, cover: Cover, rules: Rules, units: Ints = NO_UNITS) -> None:
        self.cover, self.rules, self.k = cover, rules, rules.most_held
        self.work = 0.0
        index = cover.indptr, cover.indices, *cover.index
        worth = cover.mass, cover.squares, promise(cover, rules), cover.log_m
        limits = cover.mode, rules.prices, rules.room
        self._supports = _cover.Supports(*index, *worth, *limits)
        self.go_to(units)

    @property
    def units(self) -> Indices:
        """The dimensions of the face, ascending."""
        return np.flatnonzero(self.face.inside)

    @property
    def lacking(self) -> int:
        """How many dimensions may still be added, at most."""
        costs = np.sort(self.rules.prices[~self.face.inside])
        left = _cover.spare(self.face, self._supports)
        return int(np.searchsorted(np.cumsum(costs), left, side="right"))

    @property
    def one_pass(self) -> float:
        """The work of looking at every support and dimension once.

        Most supports lack too much to be looked into.
        """
        return 1.0 + 0.25 * len(self.cover.indices) + len(self.cover) + self.cover.n

    @property
    def exhausted(self) -> bool:
        """Whether swaps alone see every face: a perturbation cannot help."""
        return self.k < 2 or self.k == self.cover.n or len(self.cover) == 0

    def go_to(self, units: Ints) -> None:
        """Take the face of these dimensions."""
        inside = np.zeros(self.cover.n, np.bool_)
        inside[units] = True
        self.face = _cover.Face(inside, self.cover.missing(units))
        self.gain = self.cover.gain(units)
        self.work += self.one_pass

    def add_best(self) -> int:
        """Add the dimension whose face has the largest gain, ties to the lowest index.

        0 where none fits, else 1.

        >>> alone = Cover(
        ...     np.array([0, 2]), np.array([1, 2]), np.ones(1), np.ones(1), np.log([2.0, 2.0, 2.0])
        ... )
        >>> search = CoverSearch(alone, Rules(3, 2))
        >>> search.add_best(), search.add_best(), search.add_best(), search.units.tolist()
        (1, 1, 0, [0, 1])
        """
        c, left = self.cover, _cover.spare(self.face, self._supports)
        fits = ~self.face.inside & (self.rules.prices <= left)
        if not fits.any():
            return 0
        Q, Q2, log_size = _cover.measure(self.face, self._supports)
        add, add2, _lacks = _cover.lone_gains(self.face, self._supports)
        gains, scale = Q + add, 0.0
        if c.mode != KL:
            gains = Q2 + add2 - np.square(1.0 - gains) * np.exp(-log_size - c.log_m)
            scale = float(c.squares.sum())
        gains[~fits] = -np.inf
        best = float(gains.max())
        ties: Any = np.flatnonzero(gains >= best - _cover.CLOSE * max(abs(best), scale))
        inward: Any = np.int64(-1)
        _cover.move(ties[0], inward, self.face, self._supports)
        self.gain = float(gains[ties[0]])
        self.work += self.one_pass
        return 1

    def grow(self, count: int) -> int:
        """Add at most `count` dimensions by look-ahead; how many were added."""
        count = min(count, self.lacking)
        if count:
            barred = np.zeros(self.cover.n, np.bool_)
            count = int(_cover.grow(self.face, self._supports, count, barred))
            self.gain = self.cover.gain(self.units)
            self.work += count * self.one_pass
        return count

    def improve(self, moves: int = NO_LIMIT) -> int:
        """Best swaps until none helps, at most `moves`; how many were made."""
        swaps, gain = _cover.improve(self.face, self._supports, moves)
        self.gain = max(self.gain, float(gain))
        self._count(swaps)
        return int(swaps)

    def perturb(self, rng: np.random.Generator) -> bool:
        """Drop 2..k/2 dimensions, sometimes take in a random support, refill, improve.

        Back where that is worse.

        Every other time what was dropped is barred from coming back in the refill. A face of equal
        gain is kept too. Whether the gain is larger.
        """
        units = self.units
        count = min(len(units), 2 + int(rng.integers(max(1, self.k // 2 - 1))))
        drops = rng.choice(units, count, replace=False)
        supports = rng.integers(len(self.cover), size=TRIES) if rng.random() < 0.5 else NO_UNITS
        barred = np.zeros(self.cover.n, np.bool_)
        barred[drops] = rng.random() < 0.5
        before, face = self.gain, _cover.Face(*(part.copy() for part in self.face))
        swaps, gain = _cover.perturb(self.face, self._supports, drops, supports, barred, NO_LIMIT)
        self._count(swaps)
        self.work += count * self.one_pass
        close = _cover.CLOSE * abs(before)
        if gain < before - close:
            self.face = face
            return False
        self.gain = float(gain)
        return bool(gain > before + close)

    def _count(self, swaps: int) -> None:
        """Add the work of swaps: two passes, and a look at every pair."""
        pairs = self.k * (self.cover.n - self.k)
        self.work += (swaps + 1) * (2.0 * self.one_pass + pairs)


def best_mask(cover: Cover, rules: Rules) -> Indices:
    """The best allowed face among all masks (of k dimensions where these count), of equals the lowest.

    n 2^n additions, some 2^n numbers.

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(
    ...     *supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0])
    ... )
    >>> best_mask(cover, Rules(3, 2)).tolist()
    [1, 2]
    """
    masks = masks_of(cover)
    if rules.costs is None:
        allowed = np.flatnonzero(over_masks(np.ones(cover.n, np.int8)) == rules.most_held)
    else:
        allowed = np.flatnonzero(over_masks(rules.prices) <= rules.room)
    gains = subset_sums(np.bincount(masks, cover.mass, 1 << cover.n).astype(np.float64))[allowed]
    if cover.mode != KL:
        squares = subset_sums(np.bincount(masks, cover.squares, 1 << cover.n).astype(np.float64))
        uncovered = (1.0 - gains) ** 2 * np.exp(-over_masks(cover.log_m)[allowed])
        gains = squares[allowed] - uncovered
    return np.flatnonzero((allowed[gains.argmax()] >> np.arange(cover.n)) & 1)


def masks_of(cover: Cover) -> Ints:
    """The supports as bits of a number each, (E,)."""
    bits = np.append(np.left_shift(1, cover.indices, dtype=np.int64), 0)
    masks = np.bitwise_or.reduceat(bits, cover.indptr[:-1]) if len(cover) else np.zeros(0, np.int64)
    masks[np.diff(cover.indptr) == 0] = 0
    return np.asarray(masks)


def subset_sums(f: Vector) -> Vector:
    """f[S] becomes the sum of f[T] over all T inside S (the zeta transform), in place.

    >>> subset_sums(np.array([1.0, 2.0, 4.0, 8.0])).tolist()
    [1.0, 3.0, 5.0, 15.0]
    """
    half = 1
    while half < len(f):
        for first in range(min(half, SHORT)):  # short runs by strides, long ones at once
            step = first if half < SHORT else slice(None)
            pairs = f.reshape(-1, 2, half)
            pairs[:, 1, step] += pairs[:, 0, step]
            if half >= SHORT:
                break
        half *= 2
    return f


def over_masks(x: Ints) -> Ints:
    """The sum of x (n,) over the bits of each of the 2^n masks.

    >>> over_masks(np.array([1, 10])).tolist()
    [0, 1, 10, 11]
    """
    sums = np.zeros(1, x.dtype)
    for value in x:
        sums = np.concatenate([sums, sums + value])
    return sums
