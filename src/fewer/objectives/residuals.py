"""Losses of residuals that are no least squares: absolute errors, and squared shortfalls."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from .._validation import Indices, InvalidInput, Vector, as_number, as_vector
from ..programmes import Solved, least_absolute, quadratic_programme
from ..spaces import Space, as_space
from .matrix import as_matrix, as_row_weights

MOST_STEPS = 60
"""Newton steps of one fit."""
LEAST = 1e-200
"""The least smoothness: a step of its reciprocal times 2**60 is finite."""
HALVINGS = 40
"""Halvings of a bracket in a line search."""
STILL = 1e-15
"""Relative fall of F below which a fit has ended."""


@dataclass(frozen=True, eq=False)
class ResidualLoss:
    """A loss of the residuals A p - b, w_i of row i, and ridge ‖p‖².

    Each kind has `loss` and `loss_gradient`, without the ridge, and its fits.
    """

    space: Space
    A: Any
    b: Any
    sample_weight: Any = None
    ridge: float = 0.0

    def __post_init__(self) -> None:
        who = type(self).__name__
        as_space(self.space, who)
        A = as_matrix(self.A)
        if isinstance(A, LinearOperator):
            raise InvalidInput(
                f"{who} needs a dense or sparse matrix whose columns can be read, got a"
                " LinearOperator"
            )
        if A.shape[1] != self.space.size:
            raise InvalidInput(
                f"A must have {self.space.size} columns, one for each entry of p, got {A.shape[1]}"
            )
        rows, weights = A.shape[0], np.ones(A.shape[0])
        if self.sample_weight is not None:
            weights = np.asarray(as_row_weights(self.sample_weight, rows), np.float64)
        A = A if sp.issparse(A) else np.asarray(A, np.float64)
        b, ridge = as_vector(self.b, (rows,), "b"), as_number(self.ridge, "ridge", allow_equal=True)
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
        A, w, centre = self.A, self.sample_weight, product(self.A, p)
        squares = np.asarray(squared(A).T @ w).reshape(-1)
        return np.asarray(squares - 2.0 * (A.T @ (w * centre)) + float(w @ centre**2))

    def _typical(self, order: int) -> float:
        """The norm of a typical column less the target, to the power of its order, by which rounding is measured."""
        some = np.unique(np.linspace(0, self.space.size - 1, 64).astype(np.int64))
        sizes = np.linalg.norm(columns(self.A, some) - self.b[:, None], order, axis=0) ** order
        return max(float(sizes.mean() * self.sample_weight.max()) + self.ridge, 1e-300)


@dataclass(frozen=True, eq=False)
class AbsoluteError(ResidualLoss):
    """How far the expectations of some functions are from given ones, in absolute numbers.

        F[p] = Σ_i w_i |A p - b|_i + ridge ‖p‖²

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    A : array or sparse matrix of shape (r, size)
        The functions, one in each row.
    b : array of shape (r,)
        Their expectations.
    sample_weight : array of shape (r,), optional
        Row i counts w_i times.
    ridge : float
        A larger one spreads the mass over more entries; the error of the rows alone is `loss`.

    Attributes
    ----------
    smoothness : float
        Infinite: F has kinks.

    Examples
    --------
    >>> from fewer import Atoms
    >>> F = AbsoluteError(Atoms(3), [[0.0, 1.0, 4.0], [1.0, 1.0, 0.0]], [1.0, 1.0])
    >>> F.value(np.array([0.5, 0.5, 0.0]))
    0.5
    """

    @property
    def smoothness(self) -> float:
        """Infinite: F has kinks."""
        return math.inf

    @cached_property
    def scale(self) -> float:
        """The error of a typical column."""
        return self._typical(1)

    def loss(self, p: Vector) -> float:
        """`Σ w |A p - b|`."""
        return float(self.sample_weight @ np.abs(product(self.A, p) - self.b))

    def loss_gradient(self, p: Vector) -> Vector:
        """Aᵀ(w sign(A p - b)): a subgradient."""
        return np.asarray(self.A.T @ (self.sample_weight * np.sign(product(self.A, p) - self.b)))

    def fitted(
        self, entries: Indices, low: Vector, high: Vector, rows: Vector, right: Vector
    ) -> tuple[Solved, Vector] | None:
        """The best weights on some entries by convex programmes, and the subgradient (size,) that proves them."""
        part = columns(self.A, entries)
        found = least_absolute(part, self.b, self.sample_weight, self.ridge, low, high, rows, right)
        if found is None:
            return None
        subgradient = np.asarray(self.A.T @ found[1])
        subgradient[entries] += 2.0 * self.ridge * found[0].weights
        return found[0], subgradient

    def fit_cost(self, count: int) -> float:
        """Multiplications of one fit, about."""
        return 3e6 + 20.0 * len(self.b) * count


@dataclass(frozen=True, eq=False)
class DownsideError(ResidualLoss):
    """How far the expectations of some functions fall short of given ones.

        F[p] = Σ_i w_i max(b - A p, 0)_i² + ridge ‖p‖²

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    A : array or sparse matrix of shape (r, size)
        The functions, one in each row.
    b : array of shape (r,)
        What they should reach.
    sample_weight : array of shape (r,), optional
        Row i counts w_i times.
    ridge : float
        A larger one spreads the mass over more entries; the error of the rows alone is `loss`.

    Examples
    --------
    >>> from fewer import Atoms
    >>> F = DownsideError(Atoms(2), [[0.0, 1.0], [3.0, 1.0]], [1.0, 1.0])
    >>> F.value(np.array([0.5, 0.5])), F.value(np.array([0.0, 1.0]))
    (0.25, 0.0)
    """

    @cached_property
    def smoothness(self) -> float:
        """2 (‖√w A‖² + ridge), by its Frobenius norm: an upper estimate, and large enough to divide by."""
        square = float(np.asarray(squared(self.A).sum(axis=1)).reshape(-1) @ self.sample_weight)
        return max(2.0 * (square + self.ridge), LEAST)

    @cached_property
    def scale(self) -> float:
        """The squared distance of a typical column from b."""
        return self._typical(2)

    def _short(self, p: Vector) -> Vector:
        return np.asarray(np.maximum(self.b - product(self.A, p), 0.0))

    def loss(self, p: Vector) -> float:
        """Σ w max(b - A p, 0)²."""
        return float(self.sample_weight @ np.square(self._short(p)))

    def loss_gradient(self, p: Vector) -> Vector:
        """-2 Aᵀ(w max(b - A p, 0))."""
        return np.asarray(-2.0 * (self.A.T @ (self.sample_weight * self._short(p))))

    def fitted(
        self, entries: Indices, low: Vector, high: Vector, rows: Vector, right: Vector
    ) -> tuple[Solved, Vector] | None:
        """The best weights on some entries, and the gradient (size,) there.

        Newton's method for a piecewise quadratic: least squares over the rows that fall short, then
        a line search. Source: Mangasarian 2002, Optim. Methods Softw. 17 (finite Newton method).
        """
        part = columns(self.A, entries)

        def newton(short: Vector) -> Solved | None:
            root = np.sqrt(self.sample_weight[short])
            X, y = part[short] * root[:, None], self.b[short] * root
            H = X.T @ X + self.ridge * np.eye(len(low))
            return quadratic_programme(H, X.T @ y, low, high, rows, right)

        def value(w: Vector) -> float:
            short = np.maximum(self.b - part @ w, 0.0)
            return float(self.sample_weight @ np.square(short) + self.ridge * (w @ w))

        best = newton(np.ones(len(self.b), bool))
        if best is None:
            return None
        now = value(best.weights)
        for _ in range(MOST_STEPS):
            short = self.b - part @ best.weights > 0.0
            if not short.any() and not self.ridge:
                best = Solved(best.weights, np.zeros(len(right)))
                break
            after = newton(short)
            if after is None:
                break
            w, step = best.weights, after.weights - best.weights
            best = Solved(w + self._length(part, w, step) * step, after.multipliers)
            before, now = now, value(best.weights)
            if before - now <= STILL * before:
                break
        p = np.zeros(self.space.size)
        p[entries] = best.weights
        return best, self.gradient(p)

    def _length(self, part: Vector, w: Vector, step: Vector) -> float:
        """The length in [0, 1] at which F along a step is least: its slope, which rises, by bisection."""
        gap, move = self.b - part @ w, part @ step
        weighed = self.sample_weight * move

        def falls(t: float) -> bool:
            rising = self.ridge * float(step @ (w + t * step))
            return rising <= float(weighed @ np.maximum(gap - t * move, 0.0))

        if falls(1.0):
            return 1.0
        least, most = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (least + most)
            least, most = (middle, most) if falls(middle) else (least, middle)
        return least

    def fit_cost(self, count: int) -> float:
        """Multiplications of one fit, about."""
        return 1.5e6 + 6.0 * len(self.b) * count**2


def columns(A: Any, entries: Indices) -> Vector:
    """Some columns of a matrix, dense."""
    part = A[:, entries]
    return np.asarray(part.toarray() if sp.issparse(part) else part, np.float64)


def squared(A: Any) -> Any:
    """The squares of the entries of a dense or sparse matrix."""
    return A.multiply(A) if sp.issparse(A) else np.square(A)


def product(A: Any, p: Vector) -> Vector:
    """A times p; only the columns that p uses are touched."""
    used = np.flatnonzero(p)
    return columns(A, used) @ p[used] if used.size < p.size // 2 else np.asarray(A @ p)
