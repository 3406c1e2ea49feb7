"""Finding good faces of a cover: Algorithm 3, look-ahead, swaps, perturbations."""

from typing import Any

import numpy as np

from .._compiled import cover as _cover
from .._validation import Indices
from ..cover import KL, Allowance, Cover, Ints, promise

TRIES = 20
"""Supports drawn at random, of which a perturbation may take in the first that fits."""
NO_LIMIT = 2**62
NOTHING = np.zeros(0, np.int64)


class Search:
    """An allowed face on the move: kept as `inside` (n,) and what every support still lacks.

    `grow` fills it up; the other methods improve it in place and never worsen it. `gain` is kept up
    to rounding, `work` counts the entries passed over.

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(*supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0]))
    >>> search = Search(cover, Allowance.count(3, 2), mode=0)
    >>> search.grow(2), search.improve(), search.face.tolist(), search.gain
    (2, 1, [1, 2], 0.7)
    """

    def __init__(self, cover: Cover, allowance: Allowance, mode: int, face: Ints = NOTHING) -> None:
        self.cover, self.allowance, self.mode = cover, allowance, mode
        self.k = allowance.most
        self.work = 0.0
        self._arrays = (
            *cover.arrays,
            cover.mass,
            cover.squares,
            promise(cover, allowance, mode),
            cover.log_m,
        )
        self.go_to(face)

    @property
    def face(self) -> Indices:
        """The dimensions of the face, ascending."""
        return np.flatnonzero(self._inside)

    @property
    def key(self) -> bytes:
        """What tells this face from another."""
        return self._inside.tobytes()

    @property
    def lacking(self) -> int:
        """How many dimensions may still be added, at most."""
        costs = np.sort(self.allowance.costs[~self._inside])
        return int(np.searchsorted(np.cumsum(costs), self._left, side="right"))

    @property
    def _left(self) -> float:
        """What the face leaves of the room."""
        return float(_cover.spare(self._inside, self.allowance.costs, self.allowance.room))

    @property
    def one_pass(self) -> float:
        """The work of looking at every support and dimension once; most supports lack too much to be looked into."""
        return 1.0 + 0.25 * len(self.cover.indices) + len(self.cover) + self.cover.n

    @property
    def exhausted(self) -> bool:
        """Whether swaps alone see every face: a perturbation cannot help."""
        return self.k < 2 or self.allowance.everything or len(self.cover) == 0

    def go_to(self, face: Ints) -> None:
        """Take this face."""
        self._inside = np.zeros(self.cover.n, np.bool_)
        self._inside[face] = True
        self._missing = self.cover.missing(face)
        self.gain = self.cover.gain(face, self.mode, self._missing)
        self.work += self.one_pass

    def add_best(self) -> int:
        """Add the dimension whose face has the largest gain, ties to the lowest index; 0 where none fits, else 1.

        >>> alone = Cover(np.array([0, 2]), np.array([1, 2]), np.ones(1), np.ones(1), np.log([2.0, 2.0, 2.0]))
        >>> search = Search(alone, Allowance.count(3, 2), mode=0)
        >>> search.add_best(), search.add_best(), search.add_best(), search.face.tolist()
        (1, 1, 0, [0, 1])
        """
        fits = ~self._inside & (self.allowance.costs <= self._left)
        if not fits.any():
            return 0
        c, now = self.cover, (self._inside, self._missing)
        q, q2, log_size = _cover.measure(*now, c.mass, c.squares, c.log_m)
        add, add2, _near, _lacks = _cover.lone_gains(c.indptr, c.indices, *now, c.mass, c.squares)
        gains, scale = q + add, 0.0
        if self.mode != KL:
            gains = q2 + add2 - np.square(1.0 - gains) * np.exp(-log_size - c.log_m)
            scale = float(c.squares.sum())
        gains[~fits] = -np.inf
        best = float(gains.max())
        chosen: Any = np.flatnonzero(gains >= best - _cover.CLOSE * max(abs(best), scale))[0]
        no_one: Any = np.int64(-1)
        _cover.move(chosen, no_one, *now, *c.arrays)
        self.gain = float(gains[chosen])
        self.work += self.one_pass
        return 1

    def grow(self, count: int) -> int:
        """Add at most `count` dimensions by look-ahead; how many were added."""
        count = min(count, self.lacking)
        if count:
            barred = np.zeros(self.cover.n, np.bool_)
            state: Any = self._inside, self._missing, self.mode, self.allowance.costs, self._left
            values = self._arrays[6:]
            # the call has as many arguments as `grow` takes, behind the stars
            count = int(_cover.grow(*self.cover.arrays, *values, *state, count, barred))  # type: ignore[call-arg]
            self.gain = self.cover.gain(self.face, self.mode, self._missing)
            self.work += count * self.one_pass
        return count

    def improve(self, moves: int = NO_LIMIT) -> int:
        """Best swaps until none helps, at most `moves`; how many were made."""
        swaps, gain = _cover.improve(*self._arrays, *self._state, moves)  # type: ignore[call-arg] # as many as it has
        self.gain = max(self.gain, float(gain))
        self._count(swaps)
        return int(swaps)

    def perturb(self, rng: np.random.Generator) -> bool:
        """Drop 2..k/2 dimensions, sometimes take in a random support, refill, improve; back where that is worse.

        Every other time what was dropped is barred from coming back in the refill. A face of equal
        gain is kept too. Whether the gain is larger.
        """
        chosen, c = self.face, self.cover
        count = min(len(chosen), 2 + int(rng.integers(max(1, self.k // 2 - 1))))
        drops = rng.choice(chosen, count, replace=False)
        supports = rng.integers(len(c), size=TRIES) if rng.random() < 0.5 else NOTHING
        barred = np.zeros(c.n, np.bool_)
        barred[drops] = rng.random() < 0.5
        before, kept = self.gain, (self._inside.copy(), self._missing.copy())
        more = drops, supports, barred, NO_LIMIT
        swaps, gain = _cover.perturb(*self._arrays, *self._state, *more)  # type: ignore[call-arg] # as many as it has
        self._count(swaps)
        self.work += count * self.one_pass
        close = _cover.CLOSE * abs(before)
        if gain < before - close:
            self._inside, self._missing = kept
            return False
        self.gain = float(gain)
        return bool(gain > before + close)

    @property
    def _state(self) -> tuple[Any, ...]:
        """What the compiled searches change, and the limits they keep."""
        return self._inside, self._missing, self.mode, self.allowance.costs, self.allowance.room

    def _count(self, swaps: int) -> None:
        """Add the work of swaps: two passes, and a look at every pair."""
        pairs = self.k * (self.cover.n - self.k)
        self.work += (swaps + 1) * (2.0 * self.one_pass + pairs)
