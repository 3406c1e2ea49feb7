"""Where mass can sit: a list of atoms, a dense lattice, or only the states that were seen.

And the paper's appendix A: vector sparsity as dimension sparsity, and back.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_distribution,
    as_indices,
    as_integer,
    as_numbers,
    as_units,
    as_vector,
    as_weights,
    lacking,
    shown,
)
from .codes import as_cardinalities, as_table, distinct_rows
from .npy import amount, memory

MOST_DIMENSIONS = 10**6
"""Dimensions of a lattice, at most; one with more than 64 has dimensions of a single entry."""
Units = Iterable[int] | npt.ArrayLike


class Space(Protocol):
    """A finite set of states; a distribution on it is a vector of `size` entries.

    `shape`: the shape, beside (size,), in which a table on it may be given; `cardinalities`: how
    many entries each dimension of a state has; `n_units`: how many units name the faces.
    """

    unit: ClassVar[str]

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """How many entries each dimension of a state has."""
        ...

    @property
    def size(self) -> int:
        """How many states there are."""
        return math.prod(self.cardinalities)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, beside (size,), in which a table on this space may be given."""
        return self.cardinalities

    @property
    def n_units(self) -> int:
        """How many units name the faces: one for each dimension."""
        return len(self.cardinalities)

    def face(self, units: Units) -> Indices:
        """Sorted flat indices of the states that use no unit outside `units`."""
        ...

    def unravel(self, indices: npt.ArrayLike) -> npt.NDArray[Any]:
        """The states with these flat indices, as a user would write them."""
        ...


@dataclass(frozen=True)
class Atoms(Space):
    """n entries without structure: bins, columns, rows of a data set. A unit is an atom.

    Parameters
    ----------
    n : int
        How many atoms there are.

    Attributes
    ----------
    size, n_units : int
        n.
    shape, cardinalities : tuple of int
        (n,).

    Examples
    --------
    >>> Atoms(5).face([3, 1])
    array([1, 3])
    """

    n: int
    unit: ClassVar[str] = "atoms"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", as_integer(self.n, "n", 1, what="atoms"))
        fitting((self.n,), "these atoms")

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """(n,): an atom is one coordinate with n entries."""
        return (self.n,)

    @property
    def n_units(self) -> int:
        """n: every atom is a unit."""
        return self.n

    def face(self, units: Units) -> Indices:
        """The atoms themselves, sorted."""
        return as_units(units, self.n, self.unit)

    def unravel(self, indices: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """An atom is written as its own index."""
        return as_indices(indices, self.n, "indices", self.unit)


@dataclass(frozen=True)
class Lattice(Space):
    """All of {0..m-1}^n. A unit is a dimension.

        face(S) = X_S = {x : supp(x) ⊆ S}

    The flat index is in C order: the first dimension is the most significant. A table on it has Π m
    entries of 8 bytes; one that would not fit in memory is refused.

    Parameters
    ----------
    n : int
        How many dimensions there are.
    m : int or tuple of int
        The cardinality of all dimensions, or one for each.

    Attributes
    ----------
    size : int
        Π m.
    shape, cardinalities : tuple of int
        The cardinality of each dimension.
    n_units : int
        n.
    strides : ndarray of int
        How far one step in each dimension moves the flat index.

    Examples
    --------
    >>> cube = Lattice(3, 2)
    >>> cube.size, cube.face([1, 2]).tolist()
    (8, [0, 1, 2, 3])
    >>> cube.unravel(cube.face([0])).tolist()
    [[0, 0, 0], [1, 0, 0]]
    """

    n: int
    m: int | tuple[int, ...]
    unit: ClassVar[str] = "dimensions"

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "n", as_integer(self.n, "n", 1, MOST_DIMENSIONS, what="dimensions")
        )
        sizes = as_cardinalities(self.m, np.ones(self.n, np.int64))
        object.__setattr__(self, "m", sizes[0] if np.ndim(self.m) == 0 else sizes)
        fitting(sizes, "this lattice", "; list only the states that occur with States(rows)")

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """m, one for each dimension."""
        return (self.m,) * self.n if isinstance(self.m, int) else self.m

    @cached_property
    def size(self) -> int:
        """Π m."""
        return math.prod(self.shape)

    @cached_property
    def strides(self) -> Indices:
        """How far one step in each dimension moves the flat index."""
        return np.cumprod((1, *self.shape[:0:-1]), dtype=np.int64)[::-1].copy()

    def face(self, units: Units) -> Indices:
        """Flat indices of X_S, ascending."""
        indices = np.zeros(1, np.int64)
        for i in as_units(units, self.n, self.unit):
            indices = (indices[:, None] + np.arange(self.shape[i]) * self.strides[i]).reshape(-1)
        return indices

    def ravel(self, rows: npt.ArrayLike) -> Indices:
        """Flat indices of rows (N, n), or the one of a row (n,)."""
        codes = as_numbers(rows, "rows")
        whole = codes.shape[-1:] == (self.n,) and codes.dtype.kind in "iub"
        if not whole or (codes < 0).any() or (codes >= np.array(self.shape)).any():
            raise InvalidInput(
                f"rows must lie in the lattice of shape {self.shape}: integers (N, {self.n}), got"
                f" {shown(rows)}"
            )
        return np.asarray(codes.astype(np.int64) @ self.strides)

    def unravel(self, indices: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Rows (..., n) with these flat indices."""
        flat = as_indices(indices, self.size, "indices", "states")
        return np.asarray(flat[..., None] // self.strides % np.array(self.shape))


@dataclass(frozen=True, eq=False)
class States(Space):
    """Only the listed distinct rows of small non-negative integers.

    A unit is a dimension (a column).

    Equal rows are merged, in order of first appearance, and their weights added up. face(S) holds
    the listed states whose support lies in S.

    Parameters
    ----------
    rows : array or sparse matrix of shape (N, n)
        The states; kept sparse.
    weights : array of shape (N,), optional
        Their weights, equal if not given. After merging, `weights` is the distribution of the rows.
    m : int or tuple of int, optional
        The cardinalities, where rows do not show them all.

    Attributes
    ----------
    size : int
        The number of distinct states.
    n, n_units : int
        The number of columns.
    indptr, indices : ndarray of int
        The dimensions that each state uses, one state after the other, and where each begins.

    Examples
    --------
    >>> seen = States([[0, 1], [2, 0], [0, 1]])
    >>> seen.size, seen.weights.round(2).tolist(), seen.m
    (2, [0.67, 0.33], (3, 2))
    >>> seen.face([0]).tolist()
    [1]
    """

    rows: Any
    weights: Any = None
    m: Any = None
    unit: ClassVar[str] = "dimensions"

    def __post_init__(self) -> None:
        table = as_table(self.rows)
        weights = np.ones(table.shape[0]) if self.weights is None else self.weights
        first, inverse = distinct_rows(table)
        weights = as_weights(weights, table.shape[0], "weights")
        merged: Vector = np.bincount(inverse, weights).astype(np.float64)
        merged /= merged.sum()  # a million additions leave their rounding
        rows = table[first]
        largest = np.zeros(table.shape[1], rows.data.dtype)  # NumPy's loop for this type is fast
        np.maximum.at(largest, rows.indices, rows.data)
        least = largest.astype(np.int64) + 1
        object.__setattr__(self, "m", as_cardinalities(least if self.m is None else self.m, least))
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "weights", merged)

    @property
    def size(self) -> int:
        """The number of distinct states."""
        return int(self.rows.shape[0])

    @property
    def shape(self) -> tuple[int, ...]:
        """(size,)."""
        return (self.size,)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """m, one for each dimension."""
        return tuple(self.m)

    @property
    def n(self) -> int:
        """The number of dimensions."""
        return int(self.rows.shape[1])

    @cached_property
    def indptr(self) -> Indices:
        """Where the support of each state starts in `indices`."""
        return np.asarray(self.rows.indptr, np.int64)

    @cached_property
    def indices(self) -> Indices:
        """The dimensions that each state uses, one state after the other."""
        return np.asarray(self.rows.indices, np.int64)

    def face(self, units: Units) -> Indices:
        """Indices of the listed states whose support lies in `units`, ascending."""
        outside = np.ones(self.n, np.float32)
        outside[as_units(units, self.n, self.unit)] = 0.0
        return np.flatnonzero(self._pattern @ outside == 0.0)

    @cached_property
    def _pattern(self) -> Any:
        """Ones where the states use a dimension, in the type that they are multiplied in."""
        ones = np.ones(self.rows.nnz, np.float32)
        return sp.csr_array((ones, self.rows.indices, self.rows.indptr), shape=self.rows.shape)

    def ravel(self, rows: npt.ArrayLike) -> Indices:
        """Indices of rows (N, n), or the one of a row (n,); -1 where a row is not listed."""
        wanted = as_numbers(rows, "rows")
        if wanted.shape[-1:] != (self.n,):
            raise InvalidInput(f"rows must have {self.n} columns, got shape {wanted.shape}")
        if wanted.size == 0:
            return np.empty(wanted.shape[:-1], np.int64)
        both = sp.vstack([self.rows, as_table(wanted.reshape(-1, self.n))], format="csr")
        which = distinct_rows(both)[1][self.size :]
        return np.where(which < self.size, which, -1).reshape(wanted.shape[:-1])

    def unravel(self, indices: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Dense rows (..., n) with these indices."""
        flat = as_indices(indices, self.size, "indices", "states")
        dense = self.rows[flat.reshape(-1)].toarray().astype(np.int64)
        return np.asarray(dense).reshape(*flat.shape, self.n)

    def __eq__(self, other: object) -> bool:
        """Whether both list the same states in the same order."""
        if not isinstance(other, States) or self.m != other.m:
            return False
        parts = ("indptr", "indices", "data")
        pairs = ((getattr(self.rows, part), getattr(other.rows, part)) for part in parts)
        return self is other or all(np.array_equal(*pair) for pair in pairs)

    def __hash__(self) -> int:
        return hash((self.rows.shape, self.m))

    def __repr__(self) -> str:
        return f"States({self.size} distinct rows, n={self.n})"


def as_space(space: Any, who: str) -> None:
    """Refuse what is not a space, for an objective or a constraint that needs one."""
    if isinstance(space, type) or lacking(
        space, ("size", "shape", "cardinalities", "n_units", "face", "unravel")
    ):
        raise InvalidInput(
            f"{who} needs a space such as Atoms(n), Lattice(n, m) or States(rows), got"
            f" {shown(space)}"
        )


def fitting(sizes: tuple[int, ...], what: str, instead: str = "") -> None:
    """Refuse a space whose tables, of 8 bytes for each of Π sizes states, would not fit in memory."""
    bits = math.fsum(map(math.log2, sizes))
    if bits + 3 > math.log2(memory()):
        raise InvalidInput(
            f"a table on {what} has 2^{bits:.4g} entries of 8 bytes, more than this machine's"
            f" {amount(memory())}{instead}"
        )


def vector_to_dimensions(p: npt.ArrayLike) -> tuple[Lattice, Vector]:
    """Vector sparsity of p as dimension sparsity on {0,1}^N, with P(Z = z) ∝ zᵀp.

    The paper's appendix A.

    Dimension i of Z says whether atom i is allowed, so keeping k dimensions of Z keeps k entries of
    p. Only for small N: the lattice has 2^N states.

    Parameters
    ----------
    p : array of shape (N,)
        A distribution.

    Returns
    -------
    lattice : Lattice
        {0,1}^N.
    q : ndarray of shape (2^N,)
        The distribution of Z.

    Examples
    --------
    >>> cube, q = vector_to_dimensions([0.75, 0.25])
    >>> q.tolist()
    [0.0, 0.125, 0.375, 0.5]
    """
    vector = as_array(p, "p")
    if vector.ndim != 1:
        raise InvalidInput(f"p must be a vector, got shape {vector.shape}")
    as_distribution(vector, "p")
    cube = Lattice(vector.size, 2)
    q: Vector = cube.unravel(np.arange(cube.size)) @ vector
    return cube, q / q.sum()


def dimensions_to_vector(q: npt.ArrayLike) -> Vector:
    """Back from a distribution on {0,1}^N to a vector on N atoms: the mass of the N unit vectors, rescaled.

    Parameters
    ----------
    q : array of shape (2^N,)
        A distribution.

    Returns
    -------
    ndarray of shape (N,)

    Examples
    --------
    >>> dimensions_to_vector(vector_to_dimensions([0.75, 0.25])[1]).tolist()
    [0.75, 0.25]
    """
    table = as_array(q, "q")
    n = int(np.log2(max(table.size, 1)))
    cube = Lattice(n, 2) if n >= 1 else None
    if cube is None or cube.size != table.size:
        raise InvalidInput(f"q must have 2^N entries, got {table.size}")
    alone = as_vector(table, cube.shape, "q")[cube.strides]
    return as_weights(alone, n, "q on the unit vectors")
