"""What losses of residuals share: a matrix, a target, and weights of rows."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from .._validation import Indices, InvalidInput, Vector, as_vector
from ..spaces import Space, as_space
from .matrix import as_matrix, as_row_weights


@dataclass(frozen=True, eq=False)
class ResidualLoss:
    """A loss of the residuals A p - b, w_i of row i: what all of them have; each adds F, its slopes and its fits."""

    space: Space
    A: Any
    b: Any
    sample_weight: Any = None

    def __post_init__(self) -> None:
        A, b, weights = as_residuals(self.space, self.A, self.b, self.sample_weight, type(self).__name__)
        self.__dict__.update(A=A, b=b, sample_weight=weights)

    @property
    def lower_bound(self) -> float:
        """0: no error is less."""
        return 0.0

    def toward(self, b: Any) -> Self:
        """The same functions with another target."""
        return type(self)(self.space, self.A, b, self.sample_weight)

    def distances(self, p: Vector) -> Vector:
        """Σ_i w_i (A_ij - A p)_i² of each entry j, (size,)."""
        return squared_distances(self.A, product(self.A, p), self.sample_weight)


def as_residuals(space: Space, A: Any, b: Any, sample_weight: Any, who: str) -> tuple[Any, Vector, Vector]:
    """(A, b, w): a dense or sparse matrix of float64, the target, and the weight of each row."""
    as_space(space, who)
    A = as_matrix(A)
    if isinstance(A, LinearOperator):
        raise InvalidInput(f"{who} needs a dense or sparse matrix whose columns can be read, got a LinearOperator")
    if A.shape[1] != space.size:
        raise InvalidInput(f"A must have {space.size} columns, one for each entry of p, got {A.shape[1]}")
    b = as_vector(b, (A.shape[0],), "b")
    weights = np.ones(len(b)) if sample_weight is None else as_row_weights(sample_weight, len(b))
    return A if sp.issparse(A) else np.asarray(A, np.float64), b, np.asarray(weights, np.float64)


def columns(A: Any, entries: Indices) -> Vector:
    """Some columns of a matrix, dense."""
    part = A[:, entries]
    return np.asarray(part.toarray() if sp.issparse(part) else part, np.float64)


def product(A: Any, p: Vector) -> Vector:
    """A times p; only the columns that p uses are touched."""
    used = np.flatnonzero(p)
    return columns(A, used) @ p[used] if used.size < p.size // 2 else np.asarray(A @ p)


def column_sizes(A: Any, b: Vector, order: int) -> Vector:
    """The norm of some columns less the target, by which rounding is measured."""
    some = np.unique(np.linspace(0, A.shape[1] - 1, 64).astype(np.int64))
    return np.asarray(np.linalg.norm(columns(A, some) - b[:, None], order, axis=0))


def squared_distances(A: Any, centre: Vector, weights: Vector) -> Vector:
    """Σ_i w_i (A_ij - centre_i)² of each column j."""
    squares = A.multiply(A) if sp.issparse(A) else np.square(A)
    across = np.asarray(A.T @ (weights * centre))
    return np.asarray(np.asarray(squares.T @ weights).reshape(-1) - 2.0 * across + float(weights @ centre**2))
