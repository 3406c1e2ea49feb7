"""A target as mass on supports: what remains of rows when only faces of k dimensions matter."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ._compiled import cover as _cover
from ._compiled import fold as _fold
from ._validation import Vector
from .spaces import Lattice, States
from .tables import as_table

Ints = npt.NDArray[Any]
INDEX_LIMIT = 4_000_000
"""Entries beyond which an inverted index costs more memory than it saves time."""
KL, L2 = 0, 1
"""Modes: the gain of a face is Q, or Q2 - (1 - Q)² / M."""


@dataclass(frozen=True, eq=False)
class Cover:
    """E distinct supports with their mass and squared mass, and the log cardinality of n dimensions.

    For a face S: Q(S) = sum of mass over supports inside S, Q2(S) likewise of squares, log M(S) = sum of
    log_m over S. Shapes: indptr (E+1,), indices (nnz,) sorted within a support, mass and squares (E,),
    log_m (n,). KL over D_k is -log max Q; l2 is ‖q‖² - max (Q2 - (1 - Q)² / M).

    >>> supports = np.array([0, 1, 3]), np.array([0, 0, 1])
    >>> c = Cover(*supports, np.array([0.25, 0.75]), np.array([0.0625, 0.5625]), np.log([2.0, 2.0]))
    >>> c.n, len(c), c.measure(np.array([0]))[:2]
    (2, 2, (0.25, 0.0625))
    """

    indptr: Ints
    indices: Ints
    mass: Vector
    squares: Vector
    log_m: Vector

    def __len__(self) -> int:
        return len(self.mass)

    @property
    def n(self) -> int:
        """The number of dimensions."""
        return len(self.log_m)

    @cached_property
    def index(self) -> tuple[Ints, Ints]:
        """The supports of dimension i are holders[starts[i]:starts[i+1]]; empty for large covers."""
        if len(self.indices) > INDEX_LIMIT:
            return np.zeros(0, np.int64), np.zeros(0, np.int32)
        return _fold.invert(self.indptr, self.indices, self.n)

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints]:
        """(indptr, indices, starts, holders), as the compiled searches take them."""
        return (self.indptr, self.indices, *self.index)

    def measure(self, face: Ints) -> tuple[float, float, float]:
        """(Q, Q2, log M) of a face, summed afresh from the data."""
        inside = np.zeros(self.n, np.bool_)
        inside[face] = True
        missing = _cover.count_missing(self.indptr, self.indices, inside)
        q, q2, log_size = _cover.measure(inside, missing, self.mass, self.squares, self.log_m)
        return float(q), float(q2), float(log_size)

    def gain(self, face: Ints, mode: int) -> float:
        """What a face is worth: Q (KL), or Q2 - (1 - Q)² / M (l2)."""
        return float(_cover.gain_of(*self.measure(face), mode))

    def fitting(self, k: int) -> "Cover":
        """Without the supports of more than k dimensions, which no face of k can hold."""
        keep = np.flatnonzero(np.diff(self.indptr) <= k)
        return self if len(keep) == len(self) else self.take(keep)

    def take(self, supports: Ints) -> "Cover":
        """Only the numbered supports."""
        indptr, indices = _fold.gather_rows(self.indptr, self.indices, supports)
        return Cover(indptr, indices, self.mass[supports], self.squares[supports], self.log_m)


def fold(indptr: Ints, indices: Ints, data: Ints, p: Vector, cardinalities: Ints, max_size: int) -> tuple[Cover, float]:
    """Fold N weighted rows of a canonical CSR pattern onto their distinct supports; also Σ q(x)².

    mass[e] = Σ q(x) and squares[e] = Σ q(x)² over the distinct states x with support e, where q(x) sums p
    over the rows equal to x. Supports of more than `max_size` dimensions are left out of the cover, not of
    the second value. O(nnz) by a verified hash table, which needs 12 bytes a row.

    >>> rows = np.array([0, 1, 2, 4, 5]), np.array([1, 1, 0, 1, 1]), np.array([1, 2, 1, 1, 1])
    >>> c, norm = fold(*rows, np.full(4, 0.25), np.array([2, 3]), 2)
    >>> c.indices.tolist(), c.mass.tolist(), c.squares.tolist(), norm
    ([1, 0, 1], [0.75, 0.25], [0.3125, 0.0625], 0.375)
    """
    labels, states = _fold.group_rows(indptr, indices, data, np.arange(len(p), dtype=np.int32), True)
    q: Vector = np.bincount(labels, p, len(states)).astype(np.float64)
    q /= q.sum()  # a million additions leave their rounding
    norm = float(q @ q)
    fits = np.diff(indptr)[states] <= max_size
    states, q = states[fits], q[fits]
    labels, supports = _fold.group_rows(indptr, indices, data, states, False)
    out_ptr, out = _fold.gather_rows(indptr, indices, supports)
    mass = np.bincount(labels, q, len(supports)).astype(np.float64)
    squares = np.bincount(labels, q * q, len(supports)).astype(np.float64)
    return Cover(out_ptr, out, mass, squares, np.log(cardinalities.astype(np.float64))), norm


def cover_of(space: Lattice | States, q: Vector, k: int) -> tuple[Cover, float]:
    """The cover of a distribution q on a space, and ‖q‖²; supports of more than k dimensions are left out.

    >>> cube = Lattice(2, 2)
    >>> cover_of(cube, np.array([0.1, 0.2, 0.3, 0.4]), 1)[0].mass.tolist()
    [0.1, 0.2, 0.3]
    """
    places = np.flatnonzero(q)
    table = space.rows[places] if isinstance(space, States) else as_table(space.unravel(places))
    arrays = table.indptr, table.indices, table.data
    return fold(*arrays, q[places], np.array(space.cardinalities), k)


def largest_log_size(log_m: Vector, k: int) -> float:
    """Log M of the largest face of k dimensions: the sum of the k largest log_m."""
    return float(np.sort(log_m)[len(log_m) - k :].sum())


def promise(cover: Cover, k: int, mode: int) -> Vector:
    """What covering each support is worth to look-ahead: its mass (KL), or squares + 2 mass / M (l2), (E,)."""
    if mode != L2:
        return cover.mass
    values: Vector = cover.squares + 2.0 * np.exp(-largest_log_size(cover.log_m, k)) * cover.mass
    return values
