"""Where mass can sit: a list of atoms, a dense lattice, or only the states that were seen."""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._jit.cover import count_missing
from ._jit.fold import group_rows
from .door import (
    Indices,
    InvalidInput,
    Vector,
    as_distribution,
    as_integer,
    as_units,
    as_vector,
    as_weights,
    magnitude,
)

Units = Iterable[int] | npt.ArrayLike


class Space(Protocol):
    """A finite set of places; a distribution on it is a vector of `size` entries."""

    unit: ClassVar[str]

    @property
    def size(self) -> int:
        """How many places there are."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, beside (size,), in which a table on this space may be given."""
        ...

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """How many entries each dimension of a place has."""
        ...

    @property
    def n_units(self) -> int:
        """How many units name the faces."""
        ...

    def face(self, units: Units) -> Indices:
        """Sorted flat indices of the places that use no unit outside `units`."""
        ...

    def unravel(self, indices: npt.ArrayLike) -> npt.NDArray[Any]:
        """The places with these flat indices, as a user would write them."""
        ...


@dataclass(frozen=True)
class Atoms:
    """n places without structure: bins, columns, rows of a data set. A unit is an atom.

    >>> Atoms(5).face([3, 1])
    array([1, 3])
    """

    n: int
    unit: ClassVar[str] = "atoms"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", as_integer(self.n, "n", 1, what="atoms"))

    @property
    def size(self) -> int:
        """N."""
        return self.n

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,)."""
        return (self.n,)

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
        return np.asarray(indices, np.int64)


@dataclass(frozen=True)
class Lattice:
    """All of {0..m-1}^n, m one cardinality or one for each dimension. A unit is a dimension.

    The flat index is in C order: the first dimension is the most significant. face(S) is the paper's
    X_S = {x : supp(x) ⊆ S}. A table on it has Π m entries of 8 bytes; one that would not fit in memory is
    refused.

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
        object.__setattr__(self, "n", as_integer(self.n, "n", 1, what="dimensions"))
        if isinstance(self.m, (int, np.integer)):
            object.__setattr__(self, "m", as_integer(self.m, "m", 1, what="entries of a dimension"))
        else:
            object.__setattr__(self, "m", tuple(as_integer(c, "each m", 1) for c in self.m))
            if len(self.shape) != self.n:
                raise InvalidInput(f"m must be an integer or {self.n} integers, got {len(self.shape)}")
        if 8 * self.size > physical_memory():
            raise InvalidInput(
                f"a table on this lattice has {magnitude(self.size)} entries of 8 bytes, more than this machine's "
                f"{physical_memory() / 2**30:.3g} GiB; list only the states that occur with States(rows)"
            )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The cardinality of each dimension."""
        return (self.m,) * self.n if isinstance(self.m, int) else tuple(self.m)

    @cached_property
    def size(self) -> int:
        """Π m."""
        return math.prod(self.shape)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """m, one for each dimension."""
        return self.shape

    @property
    def n_units(self) -> int:
        """N."""
        return self.n

    @cached_property
    def strides(self) -> Indices:
        """How far one step in each dimension moves the flat index."""
        return np.array([math.prod(self.shape[i + 1 :]) for i in range(self.n)], np.int64)

    def face(self, units: Units) -> Indices:
        """Flat indices of X_S, ascending."""
        indices = np.zeros(1, np.int64)
        for i in as_units(units, self.n, self.unit):
            indices = (indices[:, None] + np.arange(self.shape[i]) * self.strides[i]).reshape(-1)
        return indices

    def ravel(self, rows: npt.ArrayLike) -> Indices:
        """Flat indices of rows (N, n), or the one of a row (n,)."""
        rows = np.asarray(rows)
        if rows.shape[-1:] != (self.n,) or rows.dtype.kind not in "iub":
            raise InvalidInput(f"rows must be integers of shape (N, {self.n}), got {rows.dtype} of shape {rows.shape}")
        if rows.size and ((rows < 0) | (rows >= np.array(self.shape))).any():
            raise InvalidInput(f"rows must lie in the lattice of shape {self.shape}, got {rows.min()}..{rows.max()}")
        return np.asarray(rows.astype(np.int64) @ self.strides)

    def unravel(self, indices: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Rows (..., n) with these flat indices."""
        return np.stack(np.unravel_index(np.asarray(indices, np.int64), self.shape), axis=-1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class States:
    """Only the listed distinct rows of small non-negative integers. A unit is a dimension (a column).

    Equal rows are merged, in order of first appearance, and their weights added up: `weights` is the
    distribution of the rows. face(S) holds the listed states whose support lies in S. Rows are dense or
    `scipy.sparse` (N, n) and are kept sparse; `m` gives the cardinalities where rows do not show them all.

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
        given = np.ones(table.shape[0]) if self.weights is None else self.weights
        first, inverse = distinct_rows(table)
        weights = np.bincount(inverse, as_weights(given, table.shape[0], "weights"))
        kept = table[first]
        seen = np.zeros(table.shape[1], np.int64)
        np.maximum.at(seen, kept.indices, kept.data)
        object.__setattr__(self, "m", as_cardinalities(self.m, seen))
        object.__setattr__(self, "rows", kept)
        object.__setattr__(self, "weights", weights)

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

    @property
    def n_units(self) -> int:
        """N."""
        return self.n

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
        chosen = np.zeros(self.n, bool)
        chosen[as_units(units, self.n, self.unit)] = True
        return np.flatnonzero(count_missing(self.indptr, self.indices, chosen) == 0)

    def ravel(self, rows: npt.ArrayLike) -> Indices:
        """Indices of rows (N, n), or the one of a row (n,); -1 where a row is not listed."""
        wanted = np.atleast_2d(np.asarray(rows))
        if wanted.shape[1] != self.n:
            raise InvalidInput(f"rows must have {self.n} columns, got {wanted.shape[1]}")
        index = {key: e for e, key in enumerate(row_keys(self.rows))}
        found = [index.get(key, -1) for key in row_keys(as_table(wanted))]
        return np.array(found, np.int64).reshape(np.shape(rows)[:-1])

    def unravel(self, indices: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Dense rows (..., n) with these indices."""
        flat = np.asarray(indices, np.int64)
        dense = self.rows[flat.reshape(-1)].toarray().astype(np.int64)
        return np.asarray(dense).reshape(*flat.shape, self.n)

    def __eq__(self, other: object) -> bool:
        """Whether both list the same states in the same order."""
        if self is other:
            return True
        if not isinstance(other, States) or self.rows.shape != other.rows.shape or self.m != other.m:
            return False
        pairs = (
            (self.indptr, other.indptr),
            (self.indices, other.indices),
            (self.rows.data, other.rows.data),
        )
        return all(np.array_equal(a, b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash((self.rows.shape, self.m))

    def __repr__(self) -> str:
        return f"States({self.size} distinct rows, n={self.n})"


def physical_memory() -> int:
    """Bytes of memory in this machine; 16 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**34


def as_table(rows: Any, name: str = "rows") -> Any:
    """`rows` as a canonical CSR array of small non-negative integers; one that is so already is not copied."""
    try:
        dense = None if sp.issparse(rows) else np.asarray(rows)
    except ValueError:
        raise InvalidInput(f"{name} must be a table with rows of one length, got {rows!r:.60}") from None
    values = rows.data if dense is None else dense
    shape = rows.shape if dense is None else dense.shape
    if len(shape) != 2 or 0 in shape:
        raise InvalidInput(f"{name} must be a table (N, n) with at least one row and one column, got shape {shape}")
    if values.dtype.kind not in "iubf":
        raise InvalidInput(f"{name} must hold small non-negative integers, got dtype {values.dtype}")
    if values.dtype.kind == "f" and not (np.isfinite(values).all() and (values == np.floor(values)).all()):
        bad = values[~(values == np.floor(values)) | ~np.isfinite(values)].flat[0]
        raise InvalidInput(f"{name} must hold whole numbers, got {bad}")
    if values.size and (values.min() < 0 or values.max() >= 2**31):
        worst = values.min() if values.min() < 0 else values.max()
        raise InvalidInput(f"{name} must hold integers in 0..2^31-1, got {worst}")
    table = sp.csr_array(rows if dense is None else dense)
    if table.data.dtype.kind in "fb":
        table = table.astype(np.int8 if table.dtype.kind == "b" else np.int32)
    if not table.has_canonical_format or not table.data.all():
        table = table.copy()
        table.sum_duplicates()
        table.eliminate_zeros()
    return table


def row_keys(table: Any) -> list[bytes]:
    """One hashable key for each row of a canonical CSR table."""
    bounds = table.indptr
    indices, data = table.indices.astype(np.int32), table.data.astype(np.int32)
    return [indices[a:b].tobytes() + data[a:b].tobytes() for a, b in pairwise(bounds)]


def distinct_rows(table: Any) -> tuple[Indices, Indices]:
    """The first row of each distinct one, in order of appearance, and which of them each row equals."""
    every = np.arange(table.shape[0], dtype=np.int32)
    inverse, first = group_rows(table.indptr, table.indices, table.data, every, True)
    return first.astype(np.int64), inverse.astype(np.int64)


def as_cardinalities(m: Any, largest: Indices) -> tuple[int, ...]:
    """One cardinality for each dimension, at least one more than its largest entry."""
    if m is None:
        return tuple(int(c) + 1 for c in largest)
    given = [m] * largest.size if isinstance(m, (int, np.integer)) else list(m)
    if len(given) != largest.size:
        raise InvalidInput(f"m must be an integer or {largest.size} integers, got {len(given)}")
    return tuple(as_integer(c, "each m", int(top) + 1) for c, top in zip(given, largest, strict=True))


def vector_to_dimensions(p: npt.ArrayLike) -> tuple[Lattice, Vector]:
    """Appendix A: vector sparsity of p (N,) as dimension sparsity on {0,1}^N, with P(Z = z) ∝ zᵀp.

    Dimension i of Z says whether atom i is allowed, so keeping k dimensions of Z keeps k entries of p. Only
    for small N: the lattice has 2^N states.

    >>> cube, q = vector_to_dimensions([0.75, 0.25])
    >>> q.tolist()
    [0.0, 0.125, 0.375, 0.5]
    """
    shape = np.shape(p)
    if len(shape) != 1:
        raise InvalidInput(f"p must be a vector, got shape {shape}")
    p = as_distribution(as_vector(p, shape, "p"), "p")
    cube = Lattice(p.size, 2)
    q: Vector = cube.unravel(np.arange(cube.size)) @ p
    return cube, q / q.sum()


def dimensions_to_vector(q: npt.ArrayLike) -> Vector:
    """Back from a distribution on {0,1}^N to a vector on N atoms: the mass of the N unit vectors, rescaled.

    >>> dimensions_to_vector(vector_to_dimensions([0.75, 0.25])[1]).tolist()
    [0.75, 0.25]
    """
    n = int(np.log2(max(np.size(q), 1)))
    cube = Lattice(n, 2) if n >= 1 else None
    if cube is None or cube.size != np.size(q):
        raise InvalidInput(f"q must have 2^N entries, got {np.size(q)}")
    alone = as_vector(q, cube.shape, "q")[cube.strides]
    return as_weights(alone, n, "q on the unit vectors")
