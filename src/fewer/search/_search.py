"""Finding good faces of a cover: Algorithm 3, look-ahead, swaps, perturbations."""

from typing import Any

import numpy as np

from .._compiled import cover as _cover
from .._validation import Indices, Vector
from ..cover import KL, Cover, Ints
from ..rules import NO_UNITS, Rules

TRIES = 20
"""Supports drawn at random, of which a perturbation may take in the first that fits."""
NO_LIMIT = 2**62


def promise(cover: Cover, rules: Rules) -> Vector:
    """What covering each support is worth to look-ahead: its mass (KL), or squares + 2 mass / M (l2), (E,)."""
    if cover.mode == KL:
        return cover.mass
    return np.asarray(cover.squares + 2.0 * np.exp(-rules.most_worth(cover.log_m)) * cover.mass)


class Search:
    """An allowed face on the move: which dimensions are inside, and how many every support still lacks.

    `grow` fills it up; the other methods improve it in place and never worsen it. `gain` is kept up
    to rounding, `work` counts the entries passed over.

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(
    ...     *supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0])
    ... )
    >>> search = Search(cover, Rules(3, 2))
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
        >>> search = Search(alone, Rules(3, 2))
        >>> search.add_best(), search.add_best(), search.add_best(), search.units.tolist()
        (1, 1, 0, [0, 1])
        """
        c, left = self.cover, _cover.spare(self.face, self._supports)
        fits = ~self.face.inside & (self.rules.prices <= left)
        if not fits.any():
            return 0
        Q, Q2, log_size = _cover.measure(self.face, self._supports)
        add, add2, _near, _lacks = _cover.lone_gains(self.face, self._supports)
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
