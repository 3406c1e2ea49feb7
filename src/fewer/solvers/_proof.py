"""The best face of k dimensions, with proof: all masks for few dimensions, branch and bound on prices for many."""

import heapq
import itertools

import numpy as np
import numpy.typing as npt

from .._compiled import prices as _prices
from .._compiled import zeta as _zeta
from .._validation import Vector
from ..cover import KL, L2, Cover, Ints, largest_log_size

Fixed = npt.NDArray[np.int8]
Node = tuple[float, int, Fixed, npt.NDArray[np.uint8], float]  # -bound, -serial, fixed, alive (packed), mark
ENTRIES_PER_CALL = 4_000_000  # levelling work between two looks at the clock: some hundredths of a second
ROUNDING = 1e-12  # of the total value: bounds closer than this to the gain count as reached


def by_zeta(cover: Cover, k: int, mode: int) -> Ints:
    """The best face among all masks of k dimensions: n 2^n additions, 2^n numbers (twice that for l2).

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(*supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0]))
    >>> by_zeta(cover, 2, KL).tolist()
    [1, 2]
    """
    q = _zeta.fold_masks(cover.indptr, cover.indices, cover.mass, cover.n)
    _zeta.zeta(q, cover.n)
    q2 = q
    if mode == L2:
        q2 = _zeta.fold_masks(cover.indptr, cover.indices, cover.squares, cover.n)
        _zeta.zeta(q2, cover.n)
    mask = _zeta.best_mask(q, q2, cover.log_m, cover.n, k, mode)
    return np.flatnonzero((mask >> np.arange(cover.n)) & 1)


def common_unit(mass: Vector) -> float:
    """The mass of one row, if every mass is a whole number of rows to rounding error; 0 if not.

    >>> common_unit(np.array([2, 3]) / 16), common_unit(np.array([1.0, np.sqrt(2)]))
    (0.0625, 0.0)
    """
    if len(mass) == 0:
        return 0.0
    for divisor in range(1, 13):
        unit = float(mass.min()) / divisor
        if mass.max() < 1e9 * unit and np.abs(mass / unit - np.rint(mass / unit)).sum() < 1e-6:
            return unit
    return 0.0


def tangent(cover: Cover, k: int, mode: int, fixed: Fixed, h: float) -> tuple[Vector, float]:
    """Values (E,) and a constant with values(S) + constant >= gain(S) for every face S that agrees with `fixed`.

    l2 is bounded by its tangent at h, with the largest M the node allows:
    -(1 - Q)² / M <= 2 (1 - h) Q / M - (1 - h²) / M.
    """
    if mode == KL:
        return cover.mass.copy(), 0.0
    kept = fixed == _prices.IN
    room = k - int(kept.sum())
    log_size = cover.log_m[kept].sum() + largest_log_size(cover.log_m[fixed == _prices.FREE], room)
    shrink = float(np.exp(-log_size))
    values: Vector = cover.squares + 2.0 * (1.0 - h) * shrink * cover.mass
    return values, -(1.0 - h * h) * shrink


def dearest_evenly(cover: Cover, k: int, values: Vector) -> float:
    """No k dimensions cover more than this: each support's value split evenly, the k dearest dimensions paid."""
    prices, base = _prices.even(cover.indptr, cover.indices, values, cover.n)
    return base + float(np.sort(prices)[cover.n - k :].sum())


def first_bound(cover: Cover, k: int, mode: int) -> float:
    """A gain that no face of k dimensions exceeds, in one pass.

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(*supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0]))
    >>> first_bound(cover, 2, KL)
    0.7
    """
    values, constant = tangent(cover, k, mode, np.zeros(cover.n, np.int8), 0.0)
    return dearest_evenly(cover, k, values) + constant


class Proof:
    """Branch and bound above a known face: `step` until `done`; gain <= optimum <= bound holds throughout.

    Each node fixes some dimensions in or out and is bounded by prices (see `_compiled/prices.py`), which also fix
    further dimensions and discard supports no better face can cover; the largest bound comes first. Once the root
    is stuck, `cover` shrinks to the supports that still matter: any better face has the same gain there.
    l2 is bounded by its tangent at h = Q(face), with the largest M the node allows:
    -(1 - Q)^2 / M <= 2 (1 - h) Q / M - (1 - h^2) / M. Single faces are valued exactly.

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(*supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0]))
    >>> proof = Proof(cover, 2, KL, np.array([0, 1]))
    >>> while not proof.done:
    ...     proof.step()
    >>> proof.face.tolist(), proof.gain == proof.bound
    ([1, 2], True)
    """

    def __init__(self, cover: Cover, k: int, mode: int, face: Ints) -> None:
        self.cover, self.k, self.mode = cover, k, mode
        self.face, self.gain = face, cover.gain(face, mode)
        self.shrunk = False
        self.steps = 0
        self._unit = common_unit(cover.mass) if mode == KL else 0.0
        self._touch = cover.measure(face)[0]
        self._split = np.zeros(len(cover.indices))
        self._serial = itertools.count()
        self._open: list[Node] = []
        root = np.zeros(cover.n, np.int8)
        values, constant = self._linear(root)
        total = float(values.sum())
        self._slack = (1.0 - 1e-6) * self._unit or ROUNDING * total
        first = dearest_evenly(cover, k, values)
        self._push(first * self._scale + constant, root, np.ones(len(cover), np.bool_))

    @property
    def done(self) -> bool:
        """Whether nothing is left that could beat the face."""
        return not self._open

    @property
    def bound(self) -> float:
        """No face has a larger gain; rounded down to whole rows, or up by the rounding allowed."""
        top = -self._open[0][0] if self._open else -np.inf
        if not self._unit:
            return max(self.gain, top) + self._slack
        return max(self.gain, float(np.floor(top / self._unit + 1e-6)) * self._unit)

    def offer(self, face: Ints) -> None:
        """Take the face over if it is better than the one known; an unbranched root may then shrink again."""
        gain = self.cover.gain(face, self.mode)
        if gain > self.gain:
            self.face, self.gain = face, gain
            self.shrunk = self.shrunk and len(self._open) != 1

    def step(self) -> None:
        """Tighten the most promising node by one bounded call; if stuck, shrink at the root, branch elsewhere."""
        least, _, fixed, packed, mark = heapq.heappop(self._open)
        alive = np.unpackbits(packed, count=len(self.cover)).view(np.bool_)
        values, constant = self._linear(fixed)
        values[~alive] = 0.0
        floor = (self.gain + self._slack - constant) / self._scale
        rounds = _prices.PATIENCE + ENTRIES_PER_CALL // (1 + len(self._split))
        c = self.cover
        ended, bound, i = _prices.tighten(c.indptr, c.indices, values, self._split, fixed, self.k, floor, mark, rounds)
        self.steps += 1
        least = max(least, -(bound * self._scale + constant))
        alive = values > 0.0
        if ended == _prices.LEAF:
            self.offer(np.flatnonzero(fixed == _prices.IN))
        elif ended == _prices.MORE:
            self._push(-least, fixed, alive, bound)
        elif ended == _prices.STUCK and not self.shrunk:
            self._push(-least, fixed, alive)
            self._shrink()
        elif ended == _prices.STUCK:
            for side in (_prices.OUT, _prices.IN):
                child = fixed.copy()
                child[i] = side
                self._push(-least, child, alive)

    @property
    def _scale(self) -> float:
        return self._unit or 1.0

    def _push(self, bound: float, fixed: Fixed, alive: npt.NDArray[np.bool_], mark: float = np.inf) -> None:
        heapq.heappush(self._open, (-bound, -next(self._serial), fixed, np.packbits(alive), mark))

    def _linear(self, fixed: Fixed) -> tuple[Vector, float]:
        """Values (E,) and a constant such that scale * values(S) + constant >= gain(S) for every S of the node."""
        values, constant = tangent(self.cover, self.k, self.mode, fixed, self._touch)
        return (np.rint(values / self._unit) if self._unit else values), constant

    def _shrink(self) -> None:
        """Keep only the supports of the one open node, and their splits."""
        least, _, fixed, packed, _ = self._open.pop()
        keep = np.unpackbits(packed, count=len(self.cover)).view(np.bool_)
        self._split = self._split[np.repeat(keep, np.diff(self.cover.indptr))]
        self.cover = self.cover.take(np.flatnonzero(keep))
        self._push(-least, fixed, np.ones(len(self.cover), np.bool_))
        self.shrunk = True
