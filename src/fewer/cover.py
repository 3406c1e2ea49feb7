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
INDEX_LIMIT = 4_000_000
"""Entries beyond which an inverted index costs more memory than it saves time."""
KL, L2 = 0, 1
"""Modes: the gain of a face is Q, or Q2 - (1 - Q)² / M."""


@dataclass(frozen=True, eq=False)
class Cover:
    """E distinct supports with their mass and squared mass, and the log cardinality of n dimensions.

    For a face S: Q(S) = sum of mass over supports inside S, Q2(S) likewise of squares, log M(S) =
    sum of log_m over S. Shapes: indptr (E+1,), indices (nnz,) sorted within a support, mass and
    squares (E,), log_m (n,). KL over D_k is -log max Q; l2 is ‖q‖² - max (Q2 - (1 - Q)² / M).

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

    def __post_init__(self) -> None:
        kinds = (np.int64, np.int32, np.float64, np.float64, np.float64)
        for name, kind in zip(
            ("indptr", "indices", "mass", "squares", "log_m"), kinds, strict=True
        ):
            object.__setattr__(self, name, as_signature(getattr(self, name), kind))

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
        pattern = sp.csr_array(
            (np.ones(len(self.indices), np.int8), self.indices, self.indptr), (len(self), self.n)
        )
        columns = pattern.tocsc()
        return as_signature(columns.indptr, np.int64), as_signature(columns.indices, np.int32)

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints]:
        """(indptr, indices, starts, holders), as the compiled searches take them."""
        return (self.indptr, self.indices, *self.index)

    def missing(self, face: Ints) -> Ints:
        """How many dimensions each support lacks: (E,) int32."""
        outside = np.ones(self.n, np.bool_)
        outside[face] = False
        before = np.zeros(len(self.indices) + 1, np.int32)
        np.cumsum(outside[self.indices], dtype=np.int32, out=before[1:])
        return np.asarray(before[self.indptr[1:]] - before[self.indptr[:-1]])

    def measure(self, face: Ints, missing: Ints | None = None) -> tuple[float, float, float]:
        """(Q, Q2, log M) of a face, summed afresh from the data; `missing` if it is known."""
        inside = (self.missing(face) if missing is None else missing) == 0
        return (
            float(self.mass[inside].sum()),
            float(self.squares[inside].sum()),
            float(self.log_m[face].sum()),
        )

    def gain(self, face: Ints, mode: int, missing: Ints | None = None) -> float:
        """What a face is worth: Q (KL), or Q2 - (1 - Q)² / M (l2)."""
        q, q2, log_size = self.measure(face, missing)
        return q if mode == KL else q2 - (1.0 - q) ** 2 * math.exp(-log_size)

    def take(self, supports: Ints) -> "Cover":
        """Only the numbered supports."""
        lengths = np.diff(self.indptr)[supports]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[supports] - indptr[:-1], lengths)
        return Cover(
            indptr, self.indices[entries], self.mass[supports], self.squares[supports], self.log_m
        )


def cover_of(
    space: Lattice | States, q: Vector, k: int, squared: Vector | None = None
) -> tuple[Cover, float]:
    """The cover of a distribution q on a space, and ‖q‖²; supports of more than k dimensions are left out.

    mass[e] = Σ q(x) and squares[e] = Σ q(x)² over the states x with support e; `squared` where that
    is not q².

    >>> cube = Lattice(2, 2)
    >>> cover_of(cube, np.array([0.1, 0.2, 0.3, 0.4]), 1)[0].mass.tolist()
    [0.1, 0.2, 0.3]
    """
    used, squared = np.flatnonzero(q), np.square(q) if squared is None else squared
    if isinstance(space, States):
        used = used[np.diff(space.indptr)[used] <= k]
        table = space.rows[used]
    else:
        table = as_table(space.unravel(used))
        used, table = used[np.diff(table.indptr) <= k], table[np.diff(table.indptr) <= k]
    labels, first = grouped(table, np.arange(len(used)), False)
    mass: Vector = np.bincount(labels, q[used], len(first)).astype(np.float64)
    squares: Vector = np.bincount(labels, squared[used], len(first)).astype(np.float64)
    supports = table[first]
    log_m = np.log(np.array(space.cardinalities, np.float64))
    return Cover(supports.indptr, supports.indices, mass, squares, log_m), float(squared.sum())


@dataclass(frozen=True, eq=False)
class Allowance:
    """Which faces are allowed: those whose dimensions cost at most `room` together, costs (n,) above zero.

    k dimensions are costs of one and room for k.

    >>> Allowance(np.array([2.0, 1.0, 4.0]), 3.5).most, Allowance.count(5, 2).most
    (2, 2)
    """

    costs: Vector
    room: float

    @classmethod
    def count(cls, n: int, k: int) -> "Allowance":
        """k of n dimensions."""
        return cls(np.ones(n), float(k))

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", as_signature(self.costs, np.float64))

    @cached_property
    def most(self) -> int:
        """The largest number of dimensions that an allowed face may have."""
        return int(np.searchsorted(np.cumsum(np.sort(self.costs)), self.room, side="right"))

    @cached_property
    def counts(self) -> bool:
        """Whether all dimensions cost one: only their number matters."""
        return bool((self.costs == 1.0).all())

    @property
    def everything(self) -> bool:
        """Whether all dimensions together are allowed."""
        return self.most == len(self.costs)

    def allows(self, face: Ints) -> bool:
        """Whether a face is within the room."""
        return float(self.costs[face].sum()) <= self.room

    def of_supports(self, indptr: Ints, indices: Ints) -> Vector:
        """What each support costs, (E,)."""
        owners = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        return np.asarray(np.bincount(owners, self.costs[indices], len(indptr) - 1), np.float64)

    def most_worth(self, worth: Vector, among: Any = None, room: float | None = None) -> float:
        """No allowed face has more of `worth` (n,): the best by worth for its cost first, the last in part.

        >>> Allowance(np.array([2.0, 1.0, 4.0]), 3.0).most_worth(np.array([2.0, 3.0, 8.0]))
        7.0
        """
        costs, room = self.costs, self.room if room is None else room
        if among is not None:
            costs, worth = costs[among], worth[among]
        order = np.argsort(-(worth / costs), kind="stable")
        spent = np.cumsum(costs[order])
        whole = int(np.searchsorted(spent, room, side="right"))
        total = float(worth[order[:whole]].sum())
        if whole < len(order) and room > 0.0:
            left = room - (float(spent[whole - 1]) if whole else 0.0)
            total += left * float(worth[order[whole]] / costs[order[whole]])
        return total


def promise(cover: Cover, allowance: Allowance, mode: int) -> Vector:
    """What covering each support is worth to look-ahead: its mass (KL), or squares + 2 mass / M (l2), (E,)."""
    if mode != L2:
        return cover.mass
    values: Vector = cover.squares + 2.0 * np.exp(-allowance.most_worth(cover.log_m)) * cover.mass
    return values
