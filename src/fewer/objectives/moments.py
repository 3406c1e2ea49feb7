"""Squared error of expectations: least squares over distributions."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, svds

from .._jit.active_set import simplex_quadratic
from ..door import Indices, InvalidInput, Vector, as_array, as_vector
from ..spaces import Space

DENSE_SPECTRUM = 2000
"""Up to this many rows or columns the largest singular value comes from a dense Gram matrix."""
FEW = 600
"""Up to this many places AᵀA is formed whole, once."""
HUGE = 1e150
"""Entries beyond this have infinite squares."""


@dataclass(frozen=True, eq=False)
class Moments:
    """F[p] = ‖A p - b‖²: how far the expectations A p of r functions are from b; the paper's section 4.2.

    A (r, size) is dense (float32 is kept as it is), `scipy.sparse` or a `LinearOperator` with `rmatvec`; b (r,).
    As a quadratic it has H = AᵀA and c = Aᵀb, of which only the blocks asked for are ever formed.

    >>> from fewer import Atoms
    >>> F = Moments(Atoms(3), [[0.0, 1.0, 2.0]], [0.5])
    >>> F.best_on(np.array([0, 2])).tolist()
    [0.75, 0.0, 0.25]
    """

    space: Space
    A: Any
    b: Any

    def __post_init__(self) -> None:
        A = as_matrix(self.A)
        if A.shape[1] != self.space.size:
            raise InvalidInput(f"A must have {self.space.size} columns, one for each place, got {A.shape[1]}")
        b = as_vector(self.b, (A.shape[0],), "b")
        for name, entries in (("A", A.data if sp.issparse(A) else A), ("b", b)):
            if (
                isinstance(entries, np.ndarray)
                and entries.size
                and max(float(entries.max()), -float(entries.min())) > HUGE
            ):
                raise InvalidInput(f"{name} must stay below {HUGE:g} in size, so that squares are finite; rescale it")
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "b", b)

    def toward(self, b: Any) -> "Moments":
        """The same functions with other expectations; what is known of A is shared."""
        other = replace(self, b=b)
        known: dict[str, Any] = {
            name: self.__dict__[name] for name in ("smoothness", "diagonal", "_gram") if name in self.__dict__
        }
        other.__dict__.update(known)
        return other

    @cached_property
    def smoothness(self) -> float:
        """2 ‖A‖², the largest squared singular value."""
        r, size = self.A.shape
        if isinstance(self.A, LinearOperator) or min(r, size) > DENSE_SPECTRUM:
            if min(r, size) == 1:
                return 2.0 * float(np.square(self.A @ np.eye(size) if size == 1 else self.A.T @ np.ones(r)).sum())
            largest = svds(self.A, k=1, return_singular_vectors=False, rng=np.random.default_rng(0))[0]
            return 2.0 * (1 + 1e-6) * float(largest) ** 2  # Lanczos comes from below
        gram = self.A @ self.A.T if r <= size else self.A.T @ self.A
        dense = np.asarray(gram.toarray() if sp.issparse(gram) else gram, np.float64)
        return 2.0 * max(float(np.linalg.eigvalsh(dense)[-1]), 0.0)

    @cached_property
    def constant(self) -> float:
        """‖b‖², the value at p = 0."""
        return float(self.b @ self.b)

    @cached_property
    def diagonal(self) -> Vector:
        """The squared norm of each column of A, (size,)."""
        if isinstance(self.A, LinearOperator):
            norms = [np.square(self.columns(np.array([i]))).sum() for i in range(self.space.size)]
            return np.array(norms)
        if sp.issparse(self.A):
            return np.asarray(self.A.multiply(self.A).sum(axis=0), np.float64).reshape(-1)
        return np.asarray(np.einsum("ij,ij->j", self.A, self.A, dtype=np.float64))

    @cached_property
    def _gram(self) -> Vector:
        """The whole of AᵀA, for few places."""
        whole = self.columns(np.arange(self.space.size))
        return np.asarray(whole.T @ whole)

    @cached_property
    def _first_slopes(self) -> Vector:
        """Aᵀb, (size,), in the precision of A."""
        return self._against(self.b)

    def _against(self, residual: Vector) -> Vector:
        """Aᵀ times a residual, in the precision of A."""
        if isinstance(self.A, np.ndarray):
            residual = residual.astype(self.A.dtype, copy=False)
        return np.asarray(self.A.T @ residual, np.float64)

    def columns(self, face: Indices) -> Vector:
        """A restricted to these places, dense (r, len(face)) float64; an operator is applied to unit vectors."""
        if not isinstance(self.A, LinearOperator):
            part = self.A[:, face]
            return np.asarray(part.toarray() if sp.issparse(part) else part, np.float64)
        columns = np.empty((self.A.shape[0], face.size))
        unit = np.zeros(self.space.size)
        for j, place in enumerate(face):
            unit[place] = 1.0
            columns[:, j] = self.A @ unit
            unit[place] = 0.0
        return columns

    def linear(self, units: Indices) -> Vector:
        """Aᵀb at these places."""
        return np.asarray(self.columns(units).T @ self.b)

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of AᵀA, (len(units), len(others))."""
        if self.space.size <= FEW:
            return np.asarray(self._gram[np.ix_(units, others)])
        left = self.columns(units)
        return np.asarray(left.T @ (left if units is others else self.columns(others)))

    def residual(self, units: Indices, weights: Vector) -> Vector:
        """What these weights leave of b: b - A q, (r,)."""
        if isinstance(self.A, LinearOperator):
            p = np.zeros(self.space.size)
            p[units] = weights
            return np.asarray(self.b - self.A @ p)
        return np.asarray(self.b - self.columns(units) @ weights)

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """Minus half the gradient at these weights, Aᵀ(b - A q), (size,), in the precision of A."""
        return self._against(self.residual(units, weights)) if len(units) else self._first_slopes.copy()

    def value_at(self, units: Indices, weights: Vector) -> float:
        """‖A q - b‖² for these weights on these places."""
        residual = self.residual(units, weights)
        return float(residual @ residual)

    def value(self, p: Vector) -> float:
        """‖A p - b‖²; only the columns where p is positive are touched."""
        units = np.flatnonzero(p)
        return self.value_at(units, p[units])

    def gradient(self, p: Vector) -> Vector:
        """2 Aᵀ(A p - b)."""
        units = np.flatnonzero(p)
        gradient = self.slopes(units, p[units])
        gradient *= -2.0
        return gradient

    def _fit(self, face: Indices) -> tuple[Vector, float]:
        part = self.columns(face)
        weights, _ = simplex_quadratic(part.T @ part, part.T @ self.b, np.zeros(face.size))
        residual = part @ weights - self.b
        return weights, float(residual @ residual)

    def best_on(self, face: Indices) -> Vector:
        """The least-squares weights on the simplex of the face, by an active-set method exact to rounding."""
        p = np.zeros(self.space.size)
        p[face], _ = self._fit(face)
        return p

    def value_on(self, face: Indices) -> float:
        """The squared error of `best_on`."""
        return self._fit(face)[1] if face.size else np.inf


def as_matrix(A: Any) -> Any:
    """A as ndarray (float64, or float32 as given), csc_array or LinearOperator; finite and not empty."""
    if isinstance(A, LinearOperator):
        return A
    if sp.issparse(A):
        A = sp.csc_array(A)
        as_array(A.data, "A")
        A = A.astype(np.float64, copy=False)
    elif getattr(A, "dtype", None) == np.float32 and isinstance(A, np.ndarray):
        if not np.isfinite(A.sum(dtype=np.float64)):
            as_array(A, "A")  # says where
    else:
        A = as_array(A, "A")
    if len(A.shape) != 2 or 0 in A.shape:
        raise InvalidInput(f"A must be a matrix with at least one row and one column, got shape {A.shape}")
    return A
