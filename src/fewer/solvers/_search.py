"""Finding good faces of k dimensions of a cover: look-ahead, exchange, kicks."""

import numpy as np

from .._compiled import cover as _cover
from .._validation import Indices
from ..cover import Cover, Ints, promise


class Search:
    """A face of k dimensions on the move: kept as `inside` (n,) and what every support still lacks.

    Each method improves the face in place and never worsens it; the same seed and the same calls give the
    same bits. It starts from the given face, or from none, and is first filled up by look-ahead.

    >>> supports = np.array([0, 2, 3]), np.array([1, 2, 0])
    >>> cover = Cover(*supports, np.array([0.7, 0.3]), np.array([0.49, 0.09]), np.log([2.0, 2.0, 2.0]))
    >>> search = Search(cover, k=2, mode=0, seed=0)
    >>> search.fill(2), search.exchange(), search.face.tolist()
    (0, 1, [1, 2])
    """

    def __init__(self, cover: Cover, k: int, mode: int, seed: int, face: Ints | None = None) -> None:
        self.cover, self.k, self.mode = cover, k, mode
        self._values = promise(cover, k, mode)
        self._state = np.array([seed], np.uint64)
        self._inside = np.zeros(cover.n, np.bool_)
        if face is not None:
            self._inside[face] = True
        self._missing = _cover.count_missing(cover.indptr, cover.indices, self._inside)

    def fill(self, count: int) -> int:
        """Add at most `count` dimensions by look-ahead; returns how many are still lacking."""
        c, nothing = self.cover, np.zeros(self.cover.n, np.bool_)
        room = self.k - int(self._inside.sum())
        count = min(count, room)
        state = self._values, self._inside, self._missing
        _cover.fill(*c.arrays, *state, room, count, c.log_m, self.mode, nothing)
        return room - count

    def grow(self, count: int) -> int:
        """Add at most `count` dimensions by Algorithm 3, ties broken by look-ahead; returns how many are lacking.

        >>> alone = Cover(np.array([0, 2]), np.array([1, 2]), np.ones(1), np.ones(1), np.log([2.0, 2.0, 2.0]))
        >>> search = Search(alone, k=2, mode=0, seed=0)
        >>> search.grow(1), search.grow(1), search.face.tolist()
        (1, 0, [1, 2])
        """
        c, room = self.cover, self.k - int(self._inside.sum())
        count = min(count, room)
        state = self._inside, self._missing
        _cover.greedy(*c.arrays, c.mass, c.squares, self._values, c.log_m, *state, room, count, self.mode)
        return room - count

    @property
    def face(self) -> Indices:
        """The dimensions of the face, ascending."""
        return np.flatnonzero(self._inside)

    def exchange(self, limit: int = 1_000_000) -> int:
        """Best swaps until none helps, at most `limit`; returns how many were made."""
        c = self.cover
        swaps, _ = _cover.exchange(*c.arrays, c.mass, c.squares, c.log_m, self._inside, self._missing, self.mode, limit)
        return int(swaps)

    def kick(self, count: int, limit: int = 1_000_000) -> int:
        """Kick `count` times (at most `limit` swaps each); returns how many kicks improved the face."""
        c = self.cover
        if self.k < 2 or self.k == c.n or len(c) == 0:
            return 0
        face, state = (self._inside, self._missing), self._state
        _, improved = _cover.kicks(
            *c.arrays, c.mass, c.squares, self._values, c.log_m, *face, self.mode, count, limit, state
        )
        return int(improved)
