"""Squared error of expectations: least squares over distributions."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_number,
    as_sparse,
    as_vector,
    refuse_negative,
)
from ..spaces import Space, as_space, fitting
from .factor import is_tall, tall_factor
from .quadratic import QuadraticForm

BLOCK = 2**20
"""Numbers handled at a time where a copy of all would be too much."""
DENSE_SPECTRUM = 2000
"""Up to this many rows or columns the largest singular value comes from a dense Gram matrix."""
MAX_WHOLE_GRAM = 600
"""Up to this many entries the Gram matrix is formed whole, once."""
TYPICAL = 64
"""Columns that tell how long a column is."""
LARGEST = 1e100
"""Numbers beyond this, or whose largest is below its reciprocal, have no squares in floats."""
LARGEST_SINGLE = 1e12
"""Numbers beyond this, or whose largest is below its reciprocal, are not multiplied in float32."""


@dataclass(frozen=True, eq=False)
class Moments(QuadraticForm):
    """How far the expectations of some functions are from given ones: least squares.

    The paper's section 4.2.

        F[p] = ‖A p - b‖² + ridge ‖p‖²,   or Σ_i w_i (A p - b)_i² + ridge ‖p‖² with row weights w

    As a quadratic it has H = AᵀA + ridge I and c = Aᵀb, of which only the blocks asked for are ever
    formed.

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    A : array, sparse matrix or LinearOperator of shape (r, size)
        The functions, one in each row; float32 is kept as it is, an operator is written out.
    b : array of shape (r,)
        Their expectations.
    sample_weight : array of shape (r,), optional
        Row i counts w_i times.
    ridge : float
        A larger one spreads the mass over more entries; the error of the expectations alone is
        `loss`.
    factor : float
        F is this times the above.

    Attributes
    ----------
    work : float
        Multiplications with entries of A so far, about: what default budgets are counted in.

    Examples
    --------
    >>> from fewer import Atoms
    >>> F = Moments(Atoms(3), [[0.0, 1.0, 2.0]], [0.5])
    >>> F.best_on(np.array([0, 2])).tolist()
    [0.75, 0.0, 0.25]
    """

    space: Space
    A: Any
    b: Any
    sample_weight: Any = None
    ridge: float = 0.0
    factor: float = 1.0
    work: float = field(init=False, repr=False, default=0.0)
    _A: Any = field(init=False, repr=False)
    _b: Vector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        A, b, weights = read_rows(self.space, self.A, self.b, self.sample_weight, "Moments")
        if A.dtype == np.float32 and not 1.0 / LARGEST_SINGLE < largest_size(A) < LARGEST_SINGLE:
            A = A.astype(np.float64)
        ridge = as_number(self.ridge, "ridge", allow_equal=True)
        self.__dict__.update(A=A, b=b, sample_weight=weights, ridge=ridge)
        if weights is not None:
            roots = np.sqrt(weights)
            A = A.multiply(roots[:, None]).tocsc() if sp.issparse(A) else A * roots[:, None]
            b = b * roots
        self.__dict__.update(_A=A, _b=b)

    def toward(self, b: Any) -> "Moments":
        """The distance of the expectations from other ones."""
        return replace(self, b=b)

    def of_rows(self, rows: Indices) -> "Moments":
        """The error of some of the rows."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(self, A=self.A[rows], b=self.b[rows], sample_weight=weights)

    def normalised(self) -> tuple["Moments", int]:
        """(G, e) with F = 2**e G and numbers near one; G of a tall A has the rows of its factor."""
        return (self._reduced if is_tall(self.A) else self).near_one()

    def near_one(self) -> tuple["Moments", int]:
        """(G, e) with F = 2**e G and numbers near one."""
        size = max(largest_size(self._A), largest_size(self._b)) ** 2
        exponent = int(np.frexp(self.factor * max(size, self.ridge))[1])
        return replace(self, factor=math.ldexp(self.factor, -exponent)), exponent

    @cached_property
    def _reduced(self) -> "Moments":
        """F with the triangular factor of [A b] for A and b."""
        R = tall_factor(self._A, self._b)
        return replace(self, A=R[:, :-1], b=R[:, -1], sample_weight=None)

    def _count(self, multiplications: float) -> None:
        self.__dict__["work"] = self.work + multiplications

    def _columns(self, units: Indices) -> Vector:
        """Columns of A, weighted, dense (r, len(units)) float64."""
        return columns_of(self._A, units)

    def _from_target(self, units: Indices) -> Vector:
        """Columns of A with b for origin: what is common to all cancels before it is squared."""
        return self._columns(units) - self._b[:, None]

    def _against(self, residual: Vector) -> Vector:
        """Aᵀ times a weighted residual, in the precision of A."""
        self._count(float(getattr(self.A, "nnz", self.A.size)))
        return np.asarray(self._A.T @ residual.astype(self._A.dtype, copy=False), np.float64)

    def residual(self, units: Indices, weights: Vector) -> Vector:
        """What these weights leave of b: b - A q = (1 - Σq) b - (A - b1ᵀ) q, (r,), weighted."""
        rest = (1.0 - weights.sum()) * self._b
        for part in self._blocks(len(units)):
            rest = rest - self._from_target(units[part]) @ weights[part]
        return np.asarray(rest)

    def _blocks(self, count: int) -> list[slice]:
        """As many columns at a time as make a small matrix."""
        wide = max(BLOCK // self.A.shape[0], TYPICAL)
        return [slice(start, start + wide) for start in range(0, count, wide)]

    @cached_property
    def smoothness(self) -> float:
        """2 (‖A‖² + ridge) with the largest squared singular value of A."""
        return 2.0 * self.factor * (self._largest_square() + self.ridge)

    def _largest_square(self) -> float:
        r, size = self.A.shape
        if min(r, size) > DENSE_SPECTRUM:

            def image(v: Vector) -> Vector:
                return self._against(self._A @ v.reshape(-1))

            gram = LinearOperator((size, size), image, dtype=np.float64)
            top = eigsh(gram, k=1, return_eigenvectors=False, v0=np.ones(size), tol=1e-7)[0]
            return float(top) * (1.0 + 1e-6)  # Lanczos comes from below
        if r > size:
            whole = self._columns(np.arange(size))
            gram = whole.T @ whole
        else:
            gram = np.zeros((r, r))
            for part in self._blocks(size):
                block = self._columns(np.arange(size)[part])
                gram += block @ block.T
        return max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)

    @property
    def entry_cost(self) -> float:
        """One multiplication for each row."""
        return float(self.A.shape[0])

    @property
    def lower_bound(self) -> float:
        """The least of the ridge: a squared distance is never below 0."""
        return self.lower_bound_for(self.space.size)

    def lower_bound_for(self, entries: int) -> float:
        """The bound ridge / s for distributions on at most s entries, as ‖p‖² >= 1 / s there."""
        return self.factor * self.ridge / entries

    @cached_property
    def scale(self) -> float:
        """The squared distance of a typical column from b: what rounding is measured by."""
        typical = float(np.square(self._from_target(self._some)).sum(axis=0).mean())
        return self.factor * max(typical + self.ridge, 1e-300)

    def slope_error(self, value: float) -> float:
        """How far rounding may move an entry of `slopes` at this value: r eps ‖a‖ ‖A q - b‖."""
        eps = float(np.finfo(self._A.dtype).eps)
        longest = float(self.diagonal.max())
        return (len(self.b) + 4) * eps * math.sqrt(longest * max(value, 0.0))

    @property
    def _some(self) -> Indices:
        return evenly_spread(self.space.size)

    @cached_property
    def constant(self) -> float:
        """‖b‖², the value at p = 0."""
        return self.factor * float(self._b @ self._b)

    @cached_property
    def diagonal(self) -> Vector:
        """The squared norm of each column of A, and the ridge, (size,)."""
        rows = self._A
        if sp.issparse(rows):
            squares = rows.multiply(rows).sum(axis=0)
        else:
            squares, step = np.zeros(rows.shape[1]), max(BLOCK // rows.shape[1], 1)
            for start in range(0, len(rows), step):
                squares += np.square(rows[start : start + step], dtype=np.float64).sum(axis=0)
        return np.asarray(self.factor * (np.asarray(squares).reshape(-1) + self.ridge))

    def prepare(self) -> Iterator[None]:
        """Compute `diagonal` and the first slopes, pausing between them."""
        for name in ("diagonal", "_first_slopes"):
            getattr(self, name)
            yield

    @cached_property
    def _first_slopes(self) -> Vector:
        """Aᵀb, (size,), in the precision of A."""
        return self.factor * self._against(self._b)

    def linear(self, units: Indices) -> Vector:
        """Aᵀb at these entries."""
        return np.asarray(self.factor * (self._columns(units).T @ self._b))

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of AᵀA + ridge I, (len(units), len(others))."""
        return self._gram(self._columns, units, others)

    def centred(self, units: Indices, others: Indices) -> Vector:
        """The block of G = (A - b1ᵀ)ᵀ(A - b1ᵀ) + ridge I: F[p] = pᵀGp for weights of sum one."""
        if self.space.size <= MAX_WHOLE_GRAM:
            return np.asarray(self._whole_centred[units[:, None], others])
        return self._gram(self._from_target, units, others)

    @cached_property
    def _whole_centred(self) -> Vector:
        every = np.arange(self.space.size)
        return self._gram(self._from_target, every, every)

    def _gram(self, columns: Any, units: Indices, others: Indices) -> Vector:
        """Inner products of columns, and the ridge where two are the same."""
        self._count(float(self.A.shape[0] * len(units) * len(others)))
        left = columns(units)
        block = left.T @ (left if units is others else columns(others))
        if self.ridge:
            block += self.ridge * np.equal.outer(units, others)
        return np.asarray(self.factor * block)

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """Minus half the gradient, Aᵀ(b - A q) - ridge q, (size,), in the precision of A."""
        if not len(units):
            return self._first_slopes.copy()
        slopes = self._against(self.residual(units, weights))
        slopes[units] -= self.ridge * weights
        return self.factor * slopes

    def value_at(self, units: Indices, weights: Vector) -> float:
        """‖A q - b‖² + ridge ‖q‖² for these weights on these entries."""
        residual = self.residual(units, weights)
        return self.factor * float(residual @ residual + self.ridge * (weights @ weights))

    def loss(self, p: Vector) -> float:
        """‖A p - b‖²."""
        units = p.nonzero()[0]
        residual = self.residual(units, p[units])
        return self.factor * float(residual @ residual)


def read_rows(
    space: Any, A: Any, b: Any, sample_weight: Any, who: str
) -> tuple[Any, Vector, Vector | None]:
    """Check A (r, size), b (r,) and weights (r,), which may be None, of a loss of A p - b."""
    as_space(space, who)
    A = as_matrix(A)
    if A.shape[1] != space.size:
        raise InvalidInput(
            f"A must have {space.size} columns, one for each entry of p, got {A.shape[1]}"
        )
    b = as_vector(b, A.shape[:1], "b")
    if sample_weight is not None:
        sample_weight = as_vector(sample_weight, b.shape, "sample_weight")
        refuse_negative(sample_weight, "sample_weight")
        if not sample_weight.any():
            raise InvalidInput("sample_weight must have a positive sum, got all zeros")
    size, name = max((largest_size(A), "A"), (largest_size(b), "b"))
    if size > LARGEST or 0.0 < size < 1.0 / LARGEST:
        raise InvalidInput(
            f"{name} must have numbers that can be squared, between {1 / LARGEST:g} and"
            f" {LARGEST:g} in size, got {size:g}; rescale both",
            name,
        )
    return A, b, sample_weight


def as_matrix(A: Any) -> Any:
    """A as ndarray (float64, or float32 as given) or csc_array, finite and not empty."""
    foreign = isinstance(A, LinearOperator) or sp.issparse(A)
    if not foreign and getattr(A, "dtype", None) != np.float32:
        A = as_array(A, "A")
    if len(A.shape) != 2 or 0 in A.shape:
        raise InvalidInput(
            f"A must be a matrix with at least one row and one column, got shape {A.shape}"
        )
    if A.dtype is not None and np.dtype(A.dtype).kind not in "fiub":
        raise InvalidInput(f"A must hold real numbers, got dtype {A.dtype}")
    if sp.issparse(A):
        copied = not getattr(A, "has_canonical_format", False)
        A = sp.csc_array(as_sparse(A, "A"), dtype=np.float64, copy=copied)
        A.sum_duplicates()
    elif isinstance(A, LinearOperator):
        A = written_out(A)
    else:  # sums depend on the order of memory: the same numbers give the same answer
        A = np.ascontiguousarray(A)
    if not math.isfinite(largest_size(A)):
        rows, columns, values = sp.find(A)
        at = int(np.argmin(np.isfinite(values)))
        raise InvalidInput(
            f"A must be finite, got {values[at]} at index {int(rows[at])}, {int(columns[at])}"
        )
    return A


def written_out(A: LinearOperator) -> Vector:
    """An operator as a matrix: it is applied to unit vectors."""
    fitting(A.shape, "the columns of the LinearOperator A")
    columns, unit = np.empty(A.shape), np.zeros(A.shape[1])
    for j in range(A.shape[1]):
        unit[j] = 1.0
        try:
            column = A @ unit
        except Exception as error:  # what a caller's function raises, or SciPy about its answer
            raise InvalidInput(
                f"A must give {A.shape[0]} real numbers for a vector of {A.shape[1]}, but its"
                f" matvec failed ({type(error).__name__})"
            ) from error
        columns[:, j] = as_array(column, "A times a vector").reshape(-1)
        unit[j] = 0.0
    return columns


def largest_size(A: Any) -> float:
    """The largest absolute value of a dense or sparse matrix; not finite where an entry is not."""
    entries = A.data if sp.issparse(A) else A
    return max(float(entries.max()), -float(entries.min())) if entries.size else 0.0


def evenly_spread(n: int) -> Indices:
    """A few of n entries."""
    return np.unique(np.linspace(0, n - 1, min(n, TYPICAL)).astype(np.int64))


def columns_of(A: Any, units: Indices) -> Vector:
    """Some columns, dense float64."""
    part = A[:, units]
    return np.asarray(part.toarray() if sp.issparse(part) else part, np.float64)
