"""What losses of residuals share: a matrix, a target, and weights of rows."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from .._validation import Indices, InvalidInput, Vector, as_number, as_vector
from ..spaces import Space, as_space
from .matrix import as_matrix, as_row_weights


@dataclass(frozen=True, eq=False)
class ResidualLoss:
    """A loss of the residuals A p - b, w_i of row i, and ridge ‖p‖².

    Each adds `loss` and `loss_gradient`, without the ridge, and its fits.
    """

    space: Space
    A: Any
    b: Any
    sample_weight: Any = None
    ridge: float = 0.0

    def __post_init__(self) -> None:
        A, b, weights = as_residuals(
            self.space, self.A, self.b, self.sample_weight, type(self).__name__
        )
        ridge = as_number(self.ridge, "ridge", allow_equal=True)
        self.__dict__.update(A=A, b=b, sample_weight=weights, ridge=ridge)

    @abstractmethod
    def loss(self, p: Vector) -> float:
        """The loss of the residuals alone."""

    @abstractmethod
    def loss_gradient(self, p: Vector) -> Vector:
        """Its gradient, or a subgradient."""

    def value(self, p: Vector) -> float:
        """The loss and the ridge."""
        return self.loss(p) + self.ridge * float(p @ p)

    def gradient(self, p: Vector) -> Vector:
        """The gradient of both, or a subgradient."""
        return self.loss_gradient(p) + 2.0 * self.ridge * p

    @property
    def lower_bound(self) -> float:
        """0 where there is no ridge: no error is less."""
        return self.lower_bound_for(self.space.size)

    def lower_bound_for(self, entries: int) -> float:
        """The bound ridge / s for distributions on at most s entries, as ‖p‖² >= 1 / s there."""
        return self.ridge / entries

    def toward(self, b: Any) -> Self:
        """The same functions with another target."""
        return type(self)(self.space, self.A, b, self.sample_weight, self.ridge)

    def distances(self, p: Vector) -> Vector:
        """Σ_i w_i (A_ij - A p)_i² of each entry j, (size,)."""
        return squared_distances(self.A, product(self.A, p), self.sample_weight)


def as_residuals(
    space: Space, A: Any, b: Any, sample_weight: Any, who: str
) -> tuple[Any, Vector, Vector]:
    """(A, b, w): a dense or sparse matrix of float64, the target, and the weight of each row."""
    as_space(space, who)
    A = as_matrix(A)
    if isinstance(A, LinearOperator):
        raise InvalidInput(
            f"{who} needs a dense or sparse matrix whose columns can be read, got a LinearOperator"
        )
    if A.shape[1] != space.size:
        raise InvalidInput(
            f"A must have {space.size} columns, one for each entry of p, got {A.shape[1]}"
        )
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
    return np.asarray(
        np.asarray(squares.T @ weights).reshape(-1) - 2.0 * across + float(weights @ centre**2)
    )
