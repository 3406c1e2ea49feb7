"""Squared error of expectations: least squares over distributions."""

from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class Moments:
    """F[p] = ‖A p - b‖²: how far the expectations A p of r functions are from b; the paper's section 4.2.

    A (r, size) is dense, `scipy.sparse` or a `LinearOperator` with `rmatvec`; b (r,).

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
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "b", as_vector(self.b, (A.shape[0],), "b"))

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
        dense = gram.toarray() if sp.issparse(gram) else gram
        return 2.0 * max(float(np.linalg.eigvalsh(dense)[-1]), 0.0)

    def value(self, p: Vector) -> float:
        """‖A p - b‖²."""
        residual = self.A @ p - self.b
        return float(residual @ residual)

    def gradient(self, p: Vector) -> Vector:
        """2 Aᵀ(A p - b)."""
        gradient: Vector = self.A.T @ (self.A @ p - self.b)
        gradient *= 2.0
        return gradient

    def columns(self, face: Indices) -> Vector:
        """A restricted to these places, dense (r, len(face)); an operator is applied to unit vectors."""
        if not isinstance(self.A, LinearOperator):
            part = self.A[:, face]
            return np.asarray(part.toarray() if sp.issparse(part) else part)
        columns = np.empty((self.A.shape[0], face.size))
        unit = np.zeros(self.space.size)
        for j, place in enumerate(face):
            unit[place] = 1.0
            columns[:, j] = self.A @ unit
            unit[place] = 0.0
        return columns

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
    """A as float64 ndarray, csr_array or LinearOperator, with at least one row and finite entries."""
    if isinstance(A, LinearOperator):
        return A
    if sp.issparse(A):
        A = sp.csr_array(A)
        as_array(A.data, "A")
        A = A.astype(np.float64, copy=False)
    else:
        A = as_array(A, "A")
    if len(A.shape) != 2 or 0 in A.shape:
        raise InvalidInput(f"A must be a matrix with at least one row and one column, got shape {A.shape}")
    return A
