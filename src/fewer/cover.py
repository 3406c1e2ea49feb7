"""A target as mass on supports: what remains of rows when only faces of k dimensions matter."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._validation import Vector
from .codes import as_signature, as_table, grouped
from .spaces import Lattice, States

Ints = npt.NDArray[Any]
MAX_LOG_COPIES = 346.0
"""The log of copies beyond which mass spread over them costs less than a float can tell."""
KL, L2 = 0, 1
"""Modes: the gain of a face is Q, or Q2 - (1 - Q)² / M."""


@dataclass(frozen=True, eq=False)
class Cover:
    """E distinct supports with their mass and squared mass, and the log cardinality of n dimensions.

    For a face S: Q(S) = sum of mass over supports inside S, Q2(S) likewise of squares, log M(S) =
    sum of log_m over S. l2 is multiplied by `copies`. Shapes: indptr (E+1,), indices (nnz,) sorted within a support, mass and
    squares (E,), log_m (n,). KL over D_k is -log max Q; l2 is norm - max (Q2 - (1 - Q)² / M), with
    the squared norm of the target.

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
    mode: int = KL
    norm: float = 0.0
    copies: float = 1.0

    def __post_init__(self) -> None:
        kinds = (np.int64, np.int32, np.float64, np.float64, np.float64)
        names = ("indptr", "indices", "mass", "squares", "log_m")
        for name, kind in zip(names, kinds, strict=True):
            object.__setattr__(self, name, as_signature(getattr(self, name), kind))

    def __len__(self) -> int:
        return len(self.mass)

    @property
    def n(self) -> int:
        """The number of dimensions."""
        return len(self.log_m)

    @cached_property
    def index(self) -> tuple[Ints, Ints]:
        """The supports of dimension i are holders[starts[i]:starts[i+1]]."""
        ones = np.ones(len(self.indices), np.int8)
        pattern = sp.csr_array((ones, self.indices, self.indptr), (len(self), self.n))
        columns = pattern.tocsc()
        return as_signature(columns.indptr, np.int64), as_signature(columns.indices, np.int32)

    def missing(self, face: Ints) -> Ints:
        """How many dimensions each support lacks: (E,) int32."""
        outside = np.ones(self.n, np.bool_)
        outside[face] = False
        before = np.zeros(len(self.indices) + 1, np.int32)
        np.cumsum(outside[self.indices], dtype=np.int32, out=before[1:])
        return np.asarray(before[self.indptr[1:]] - before[self.indptr[:-1]])

    def measure(self, face: Ints) -> tuple[float, float, float]:
        """(Q, Q2, log M) of a face, summed afresh from the data."""
        inside = self.missing(face) == 0
        Q, Q2 = float(self.mass[inside].sum()), float(self.squares[inside].sum())
        return Q, Q2, float(self.log_m[face].sum())

    def gain(self, face: Ints) -> float:
        """What a face is worth: Q (KL), or Q2 - (1 - Q)² / M (l2)."""
        Q, Q2, log_size = self.measure(face)
        return Q if self.mode == KL else Q2 - (1.0 - Q) ** 2 * math.exp(-log_size)

    def loss(self, gain: float) -> float:
        """F of a face of this gain."""
        if self.mode == KL:
            return -math.log(min(gain, 1.0)) if gain > 0.0 else math.inf
        return max(self.norm - gain, 0.0) / self.copies

    def costs(self, prices: Vector) -> Vector:
        """The price of the dimensions of each support, (E,); prices: (n,)."""
        owners = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        return np.asarray(np.bincount(owners, prices[self.indices], len(self)), np.float64)

    def reduce_to(self, held: Ints, free: Ints) -> "Cover":
        """What `free` dimensions cover beside those that are held; all others are never used.

        With M(S ∪ T) = M(S) M(T) squares and losses are multiplied by the M of those held.
        """
        barred = np.ones(self.n)
        barred[held] = barred[free] = 0.0
        left = self.take(np.flatnonzero(self.costs(barred) == 0.0))
        pattern = np.ones(len(left.indices), np.int32), left.indices, left.indptr
        supports = sp.csr_array(pattern, (len(left), self.n))[:, free]
        labels, first = grouped(supports, np.arange(len(left)), False)
        copies = math.exp(min(float(self.log_m[held].sum()), MAX_LOG_COPIES))
        mass, squares = (np.bincount(labels, x, len(first)) for x in (left.mass, left.squares))
        supports = supports[first]
        parts: tuple[Any, ...] = (supports.indptr, supports.indices, mass, copies * squares)
        lattice: tuple[Any, ...] = self.log_m[free], self.mode, copies * self.norm, copies
        return Cover(*parts, *lattice)

    def take(self, supports: Ints) -> "Cover":
        """Only the numbered supports."""
        lengths = np.diff(self.indptr)[supports]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[supports] - indptr[:-1], lengths)
        parts = self.indices[entries], self.mass[supports], self.squares[supports]
        return Cover(indptr, *parts, self.log_m, self.mode, self.norm, self.copies)


def cover_of(space: Lattice | States, q: Vector, k: int, mode: int = KL) -> Cover:
    """The cover of a distribution q on a space; supports of more than k dimensions are left out.

    mass[e] = Σ q(x) and squares[e] = Σ q(x)² over the states x with support e.

    >>> cube = Lattice(2, 2)
    >>> cover_of(cube, np.array([0.1, 0.2, 0.3, 0.4]), 1).mass.tolist()
    [0.1, 0.2, 0.3]
    """
    used = np.flatnonzero(q)
    squared = np.square(q)
    if isinstance(space, States):
        used = used[np.diff(space.indptr)[used] <= k]
        table = space.rows[used]
    else:
        table = as_table(space.unravel(used))
        few = np.diff(table.indptr) <= k
        used, table = used[few], table[few]
    labels, first = grouped(table, np.arange(len(used)), False)
    mass: Vector = np.bincount(labels, q[used], len(first)).astype(np.float64)
    squares: Vector = np.bincount(labels, squared[used], len(first)).astype(np.float64)
    supports = table[first]
    log_m = np.log(np.array(space.cardinalities, np.float64))
    norm = float(squared.sum())
    return Cover(supports.indptr, supports.indices, mass, squares, log_m, mode, norm)
