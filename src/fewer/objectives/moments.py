"""Squared error of expectations: least squares over distributions."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, svds

from .._validation import Indices, InvalidInput, Vector, as_integer, as_number, as_vector
from ..active_set import simplex_weights
from ..spaces import Space, as_space
from .matrix import (
    BLOCK,
    applied,
    applied_columns,
    as_matrix,
    as_row_weights,
    rows_of,
    scaled,
    sized_matrix,
)
from .quadratic import QuadraticForm
from .tall import is_tall, tall_factor

__all__ = ["Moments", "as_matrix"]

DENSE_SPECTRUM = 2000
"""Up to this many rows or columns the largest singular value comes from a dense Gram matrix."""
MAX_WHOLE_GRAM = 600
"""Up to this many entries AᵀA is formed whole, once."""
MAX_KEPT = 10**5
"""Up to this many numbers A with b for origin is kept beside A."""
WRITTEN_OUT = 128
"""Up to this many columns an operator is written out as a matrix, whose differences from b are
exact."""
LOOKED_AT = 64
"""Columns that tell how long a column is."""
SQUARABLE = 300
"""Powers of two up to which squares of entries, also of much smaller ones, are exact."""


@dataclass(frozen=True, eq=False)
class Moments(QuadraticForm):
    """How far the expectations of some functions are from given ones: least squares.

    The paper's section 4.2.

        F[p] = ‖A p - b‖² + ridge ‖p‖²,   or Σ_i w_i (A p - b)_i² + ridge ‖p‖² with row weights w

    As a quadratic it has H = AᵀA + ridge I and c = Aᵀb, of which only the blocks asked for are ever
    formed. Entries may have any size: all arithmetic is on A and b divided by one power of two,
    `power`, that brings the largest near one (A itself is not copied), and results are multiplied
    by its square at the end. Solvers work on `normalised()`, which leaves out that last step.

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    A : array, sparse matrix or LinearOperator of shape (r, size)
        The functions, one in each row; float32 is kept as it is, an operator needs `rmatvec`.
    b : array of shape (r,)
        Their expectations.
    sample_weight : array of shape (r,), optional
        Row i counts w_i times.
    ridge : float
        A larger one spreads the mass over more entries; the error of the expectations alone is
        `loss`.
    exponent : int
        F is 4**exponent times the above.

    Attributes
    ----------
    work : float
        Multiplications with entries of A so far, about: what default budgets are counted in.
    power : int
        The exponent of the power of two that A and b are divided by.

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
    exponent: int = 0
    work: float = field(init=False, repr=False)
    _size: float = field(init=False, repr=False)
    _known: dict[tuple[str, int], Any] = field(init=False, repr=False)
    _one_target: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        as_space(self.space, "Moments")
        A, size = sized_matrix(self.A)
        if A.shape[1] != self.space.size:
            raise InvalidInput(
                f"A must have {self.space.size} columns, one for each entry of p, got {A.shape[1]}"
            )
        as_integer(self.exponent, "exponent", -10_000, 10_000)
        ridge = as_number(self.ridge, "ridge", allow_equal=True)
        if isinstance(A, LinearOperator) and A.shape[1] <= WRITTEN_OUT:
            A = np.stack([applied(A, unit) for unit in np.eye(A.shape[1])], axis=1)
        b = as_vector(self.b, (A.shape[0],), "b")
        if self.sample_weight is not None:
            self.__dict__["sample_weight"] = as_row_weights(self.sample_weight, A.shape[0])
        self.__dict__.update(
            A=A, b=b, ridge=ridge, work=0.0, _size=size, _known={}, _one_target=True
        )

    def _like(self, **changes: Any) -> "Moments":
        """The same with some fields changed; what is known of A is shared."""
        other = object.__new__(Moments)
        names = (
            "space",
            "A",
            "b",
            "sample_weight",
            "ridge",
            "exponent",
            "_size",
            "_known",
            "_one_target",
        )
        other.__dict__.update(
            {**{name: self.__dict__[name] for name in names}, "work": 0.0, **changes}
        )
        return other

    def toward(self, b: Any) -> "Moments":
        """The same functions with other expectations; what is known of A is shared."""
        return self._like(b=as_vector(b, (self.A.shape[0],), "b"), _one_target=False)

    def of_rows(self, rows: Indices) -> "Moments":
        """The same with some of the rows."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return Moments(self.space, rows_of(self.A, rows), self.b[rows], weights, self.ridge)

    def _shared(self, name: str, compute: Callable[[], Any]) -> Any:
        """What depends on A and the units alone, computed once for all targets."""
        if (name, self.exponent) not in self._known:
            self._known[name, self.exponent] = compute()
        return self._known[name, self.exponent]

    def normalised(self) -> tuple["Moments", int]:
        """(G, e) with F = 2**e G: the same problem with its numbers near one, and of a tall A with few rows."""
        return (self.reduced if self._one_target and is_tall(self.A) else self).near_one()

    @cached_property
    def reduced(self) -> "Moments":
        """The same F with the triangular factor of [A b] for A and b."""
        factor = tall_factor(self.A, self.b, self.power, self._roots)
        exponent = self.exponent + self.power + self._weight_power
        return Moments(self.space, factor[:, :-1], factor[:, -1], None, self._ridge, exponent)

    def near_one(self) -> tuple["Moments", int]:
        """The same with all its rows."""
        shift = self.power + self._weight_power
        return self._like(exponent=-shift), 2 * (self.exponent + shift)

    @cached_property
    def power(self) -> int:
        """The exponent of the power of two that A and b are divided by, so that squares of their entries are finite."""
        return int(np.frexp(max(self._size, float(np.abs(self.b).max()), math.sqrt(self.ridge)))[1])

    @cached_property
    def _weight_power(self) -> int:
        """The exponent of the power of four that row weights are divided by, so that none is above one."""
        if self.sample_weight is None:
            return 0
        largest = max(self.sample_weight.max(), 1.0 if self.ridge else 0.0)
        return int(np.frexp(largest)[1] + 1) // 2

    @cached_property
    def _roots(self) -> Vector | None:
        """The roots of the scaled row weights."""
        if self.sample_weight is None:
            return None
        return np.asarray(np.sqrt(scaled(self.sample_weight, -2 * self._weight_power)))

    def _out(self, x: Any) -> Any:
        """Numbers of the scaled problem in the units of F."""
        return scaled(x, 2 * (self.exponent + self.power + self._weight_power))

    @cached_property
    def _ridge(self) -> float:
        """The ridge of the scaled problem."""
        return float(scaled(self.ridge, -2 * (self.power + self._weight_power)))

    def _with_ridge(self, block: Vector, units: Indices, others: Indices) -> Vector:
        """A block of a matrix with `ridge` on its diagonal."""
        if self.ridge:
            block = block + self._ridge * (units[:, None] == others)
        return block

    @cached_property
    def _b(self) -> Vector:
        b = np.asarray(scaled(self.b, -self.power))
        return b if self._roots is None else b * self._roots

    def _count(self, multiplications: float) -> None:
        self.__dict__["work"] += multiplications

    def _columns(self, face: Indices) -> Vector:
        """Scaled columns of A, dense (r, len(face)) float64.

        An operator is applied to unit vectors.
        """
        if isinstance(self.A, LinearOperator):
            columns = applied_columns(self.A, face)
        else:
            part = self.A[:, face]
            columns = np.asarray(
                part if isinstance(part, np.ndarray) else part.toarray(), np.float64
            )
        columns = np.asarray(scaled(columns, -self.power))
        if self._roots is not None:
            columns *= self._roots[:, None]
        return columns

    def _from_target(self, face: Indices) -> Vector:
        """Scaled columns of A with b for origin: what they have in common cancels before anything is squared."""
        if "_whole" in self.__dict__:
            return np.asarray(self._whole[:, face])
        columns = self._columns(face)
        columns -= self._b[:, None]
        return columns

    @cached_property
    def _whole(self) -> Vector:
        """`_from_target` of all entries.

        Kept where they are few, for it is asked for again and again.
        """
        return self._from_target(np.arange(self.space.size))

    def _against(self, residual: Vector) -> Vector:
        """Scaled Aᵀ times a residual, in the precision of A.

        Half of the power before and half after the product.
        """
        half = -self.power // 2
        residual = residual if self._roots is None else residual * self._roots
        dense = isinstance(self.A, np.ndarray)
        self._count(
            self.A.size if dense else self.A.nnz if sp.issparse(self.A) else math.prod(self.A.shape)
        )
        if isinstance(self.A, LinearOperator):
            product = np.asarray(self.A.rmatvec(scaled(residual, half)), np.float64).reshape(-1)
        else:
            dtype = self.A.dtype if dense else np.float64
            product = np.asarray(
                self.A.T @ scaled(residual, half).astype(dtype, copy=False), np.float64
            )
        return np.asarray(scaled(product, -self.power - half))

    def residual(self, units: Indices, weights: Vector) -> Vector:
        """What these weights leave of b, scaled by `power`: b - A q = (1 - Σq) b - (A - b1ᵀ) q, (r,)."""
        if isinstance(self.A, LinearOperator):
            p = np.zeros(self.space.size)
            p[units] = weights
            return np.asarray(self._b - self._forward(p))
        left, done = (1.0 - weights.sum()) * self._b, 0
        for part in self._blocks(units):
            left -= self._from_target(part) @ weights[done : done + len(part)]
            done += len(part)
        return np.asarray(left)

    @property
    def smoothness(self) -> float:
        """2 (‖A‖² + ridge) with the largest squared singular value of A."""
        return float(self._shared("smoothness", self._smoothness)) + 2.0 * float(
            self._out(self._ridge)
        )

    def _smoothness(self) -> float:
        r, size = self.A.shape
        if isinstance(self.A, LinearOperator) or min(r, size) > DENSE_SPECTRUM:
            return float(self._out(2.0 * self._largest_square()))
        dense = self._columns(np.arange(size)) if r > size else self._rows_gram()
        gram = dense.T @ dense if r > size else dense
        return float(self._out(2.0 * max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)))

    def _rows_gram(self) -> Vector:
        """Scaled A Aᵀ, in blocks of columns."""
        total = np.zeros((self.A.shape[0],) * 2)
        for block in self._blocks():
            part = self._columns(block)
            total += part @ part.T
        return total

    def _largest_square(self) -> float:
        """The largest squared singular value of scaled A by Lanczos, which comes from below."""
        r, size = self.A.shape
        if min(r, size) == 1:
            row = self._columns(np.arange(1))[:, 0] if size == 1 else self._against(np.ones(r))
            return float(row @ row)
        operator = LinearOperator(
            (r, size), matvec=self._forward, rmatvec=self._against, dtype=np.float64
        )
        largest = svds(operator, k=1, return_singular_vectors=False, rng=np.random.default_rng(0))[
            0
        ]
        return float((1 + 1e-6) * largest**2)

    def _forward(self, v: Vector) -> Vector:
        """Scaled A times a vector."""
        product = np.asarray(scaled(applied(self.A, v), -self.power))
        return product if self._roots is None else product * self._roots

    @property
    def entry_cost(self) -> float:
        """One multiplication for each row."""
        return float(self.A.shape[0])

    @property
    def lower_bound(self) -> float:
        """0 where there is no ridge: a squared distance is never less."""
        return self.lower_bound_for(self.space.size)

    def lower_bound_for(self, entries: int) -> float:
        """The bound ridge / s for distributions on at most s entries, as ‖p‖² >= 1 / s there."""
        return float(self._out(self._ridge / entries))

    @cached_property
    def scale(self) -> float:
        """The squared distance of a typical column from b: what rounding is measured by."""
        typical = float(np.square(self._from_target(self._some)).sum(axis=0).mean())
        return max(
            float(self._out(max(typical + self._ridge, 1e-30))), float(np.finfo(np.float64).tiny)
        )

    def slope_error(self, value: float) -> float:
        """How far rounding may move an entry of `slopes` at weights of this value: r eps ‖a‖ ‖A q - b‖."""
        precise = isinstance(self.A, np.ndarray) and self.A.dtype == np.float32
        eps = float(np.finfo(np.float32 if precise else np.float64).eps)
        return float(
            (self.A.shape[0] + 4) * eps * math.sqrt(self._longest) * math.sqrt(max(value, 0.0))
        )

    @property
    def _longest(self) -> float:
        """The largest squared norm of a column; of an operator, of those looked at."""
        if isinstance(self.A, LinearOperator):
            return float(
                self._out(np.square(self._columns(self._some)).sum(axis=0).max() + self._ridge)
            )
        return float(self.diagonal.max())

    @property
    def _some(self) -> Indices:
        """A few entries, evenly spread."""
        n = self.space.size
        return (
            np.arange(n)
            if n <= LOOKED_AT
            else np.unique(np.linspace(0, n - 1, LOOKED_AT).astype(np.int64))
        )

    @cached_property
    def constant(self) -> float:
        """‖b‖², the value at p = 0."""
        return float(self._out(float(self._b @ self._b)))

    @property
    def diagonal(self) -> Vector:
        """The squared norm of each column of A, and the ridge, (size,)."""
        return np.asarray(self._shared("diagonal", self._diagonal) + self._out(self._ridge))

    def _diagonal(self) -> Vector:
        if sp.issparse(self.A):
            entries = scaled(self.A.data, -self.power)
            entries = entries if self._roots is None else entries * self._roots[self.A.indices]
            squares = sp.csc_array(
                (np.square(entries), self.A.indices, self.A.indptr), self.A.shape
            )
            return np.asarray(self._out(np.asarray(squares.sum(axis=0), np.float64).reshape(-1)))
        if isinstance(self.A, np.ndarray) and abs(self.power) < SQUARABLE and self._roots is None:
            squares = np.einsum("ij,ij->j", self.A, self.A, dtype=np.float64)
            return np.asarray(scaled(squares, 2 * self.exponent))
        norms = [np.square(self._columns(part)).sum(axis=0) for part in self._blocks()]
        return np.asarray(self._out(np.concatenate(norms)))

    def _blocks(self, units: Indices | None = None) -> list[Indices]:
        """Entries, all unless told, a few at a time: as many as make a small matrix of their columns."""
        units = np.arange(self.space.size) if units is None else units
        wide = max(BLOCK // self.A.shape[0], LOOKED_AT)
        return (
            [units]
            if 0 < len(units) <= wide
            else [units[at : at + wide] for at in range(0, len(units), wide)]
        )

    def prepare(self) -> Iterator[None]:
        """Compute `diagonal` and the first slopes, pausing between pieces."""
        if isinstance(self.A, LinearOperator) and ("diagonal", self.exponent) not in self._known:
            norms = []
            for part in self._blocks():
                norms.append(np.square(self._columns(part)).sum(axis=0))
                yield
            self._known["diagonal", self.exponent] = self._out(np.concatenate(norms))
        for name in ("diagonal", "_first_slopes"):
            getattr(self, name)
            yield

    def _gram(self) -> Vector:
        """The whole of AᵀA + ridge I, for few entries."""
        every = np.arange(self.space.size)
        whole = self._columns(every)
        return np.asarray(self._out(self._with_ridge(whole.T @ whole, every, every)))

    @cached_property
    def _target_gram(self) -> Vector:
        """The whole of (A - b1ᵀ)ᵀ(A - b1ᵀ) + ridge I, for few entries."""
        every = np.arange(self.space.size)
        whole = self._whole if math.prod(self.A.shape) <= MAX_KEPT else self._from_target(every)
        return np.asarray(self._out(self._with_ridge(whole.T @ whole, every, every)))

    @cached_property
    def _first_slopes(self) -> Vector:
        """Aᵀb, (size,), in the precision of A."""
        return np.asarray(self._out(self._against(self._b)))

    def linear(self, units: Indices) -> Vector:
        """Aᵀb at these entries."""
        return np.asarray(self._out(self._columns(units).T @ self._b))

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of AᵀA + ridge I, (len(units), len(others))."""
        if self.space.size <= MAX_WHOLE_GRAM:
            return np.asarray(self._shared("gram", self._gram)[units[:, None], others])
        self._count(self.A.shape[0] * len(units) * len(others))
        left = self._columns(units)
        block = left.T @ (left if units is others else self._columns(others))
        return np.asarray(self._out(self._with_ridge(block, units, others)))

    def centred(self, units: Indices, others: Indices) -> Vector:
        """The block of G = (A - b1ᵀ)ᵀ(A - b1ᵀ) + ridge I: F[p] = pᵀGp for weights that sum to one."""
        if self.space.size <= MAX_WHOLE_GRAM:
            return np.asarray(self._target_gram[units[:, None], others])
        self._count(self.A.shape[0] * len(units) * len(others))
        left = self._from_target(units)
        block = left.T @ (left if units is others else self._from_target(others))
        return np.asarray(self._out(self._with_ridge(block, units, others)))

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """Minus half the gradient at these weights, Aᵀ(b - A q) - ridge q, (size,), in the precision of A."""
        if not len(units):
            return self._first_slopes.copy()
        slopes = self._against(self.residual(units, weights))
        if self.ridge:
            slopes[units] -= self._ridge * weights
        return np.asarray(self._out(slopes))

    def value_at(self, units: Indices, weights: Vector) -> float:
        """‖A q - b‖² + ridge ‖q‖² for these weights on these entries."""
        residual = self.residual(units, weights)
        return float(self._out(float(residual @ residual) + self._ridge * float(weights @ weights)))

    def loss(self, p: Vector) -> float:
        """‖A p - b‖²."""
        units = p.nonzero()[0]
        residual = self.residual(units, p[units])
        return float(self._out(float(residual @ residual)))

    def best_on(self, face: Indices) -> Vector:
        """The least-squares weights on the simplex of the face, by an active-set method exact to rounding."""
        p = np.zeros(self.space.size)
        p[face] = simplex_weights(self.centred(face, face), np.zeros(face.size))
        return p
