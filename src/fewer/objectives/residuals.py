"""Losses of the residuals of a linear model that are no quadratics: absolute errors and shortfalls."""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, Vector, as_number
from ..programmes import Solved, least_absolute, quadratic_programme
from ..spaces import Space
from .moments import columns_of, evenly_spread, read_rows

MAX_STEPS = 60
"""Newton steps of one fit."""
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
        A, b, weights = read_rows(self.space, self.A, self.b, self.sample_weight, who)
        A = A if sp.issparse(A) else np.asarray(A, np.float64)
        weights = np.ones(len(b)) if weights is None else weights
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

    def residual(self, p: Vector) -> Vector:
        """A p - b, from the columns that p uses where they are few."""
        used = np.flatnonzero(p)
        if used.size < p.size // 2:
            return np.asarray(columns_of(self.A, used) @ p[used] - self.b)
        return np.asarray(self.A @ p - self.b)

    @property
    def lower_bound(self) -> float:
        """The least of the ridge: no error is below 0."""
        return self.lower_bound_for(self.space.size)

    def lower_bound_for(self, entries: int) -> float:
        """The bound ridge / s for distributions on at most s entries, as ‖p‖² >= 1 / s there."""
        return self.ridge / entries

    def toward(self, b: Any) -> Self:
        """The loss toward another target."""
        return replace(self, b=b)

    def distances(self, p: Vector) -> Vector:
        """Σ_i w_i (A_ij - A p)_i² of each entry j, (size,)."""
        w, centre = self.sample_weight, self.residual(p) + self.b
        squares = self._squares.T @ w
        return np.asarray(squares - 2.0 * (self.A.T @ (w * centre)) + float(w @ centre**2))

    @property
    def _squares(self) -> Any:
        """The squares of the entries of A."""
        return self.A.multiply(self.A) if sp.issparse(self.A) else np.square(self.A)

    def _typical(self, order: int) -> float:
        """The norm, to the power of its order, of a typical column less the target."""
        off = columns_of(self.A, evenly_spread(self.space.size)) - self.b[:, None]
        mean = float((np.abs(off) ** order).sum(axis=0).mean())
        return max(mean * float(self.sample_weight.max()) + self.ridge, 1e-300)


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
        """Σ w |A p - b|."""
        return float(self.sample_weight @ np.abs(self.residual(p)))

    def loss_gradient(self, p: Vector) -> Vector:
        """Aᵀ(w sign(A p - b)): a subgradient."""
        return np.asarray(self.A.T @ (self.sample_weight * np.sign(self.residual(p))))

    def fitted(
        self, entries: Indices, low: Vector, high: Vector, rows: Vector, right: Vector
    ) -> tuple[Solved, Vector] | None:
        """The best weights on some entries, and the subgradient (size,) that proves them."""
        part = columns_of(self.A, entries)
        fit = least_absolute(part, self.b, self.sample_weight, self.ridge, low, high, rows, right)
        if fit is None:
            return None
        solved, signs = fit
        subgradient = np.asarray(self.A.T @ signs)
        subgradient[entries] += 2.0 * self.ridge * solved.weights
        return solved, subgradient

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
        """2 (‖√w A‖² + ridge), by its Frobenius norm: an upper estimate, never 0."""
        square = float((self._squares.T @ self.sample_weight).sum())
        return max(2.0 * (square + self.ridge), 1e-200)

    @cached_property
    def scale(self) -> float:
        """The squared distance of a typical column from b."""
        return self._typical(2)

    def loss(self, p: Vector) -> float:
        """Σ w max(b - A p, 0)²."""
        return float(self.sample_weight @ np.minimum(self.residual(p), 0.0) ** 2)

    def loss_gradient(self, p: Vector) -> Vector:
        """-2 Aᵀ(w max(b - A p, 0))."""
        short = np.minimum(self.residual(p), 0.0)
        return np.asarray(2.0 * (self.A.T @ (self.sample_weight * short)))

    def fitted(
        self, entries: Indices, low: Vector, high: Vector, rows: Vector, right: Vector
    ) -> tuple[Solved, Vector] | None:
        """The best weights on some entries, and the gradient (size,) there.

        Newton's method for a piecewise quadratic: least squares over the rows that fall short, then
        a line search. Source: Mangasarian 2002, Optim. Methods Softw. 17 (finite Newton method).
        """
        part = columns_of(self.A, entries)

        def newton(short: Vector) -> Solved | None:
            X, weights = part[short], self.sample_weight[short]
            H = (X.T * weights) @ X + self.ridge * np.eye(len(low))
            c = X.T @ (weights * self.b[short])
            return quadratic_programme(H, c, low, high, rows, right)

        def value(w: Vector) -> float:
            short = np.maximum(self.b - part @ w, 0.0)
            return float(self.sample_weight @ np.square(short) + self.ridge * (w @ w))

        best = newton(np.ones(len(self.b), bool))
        if best is None:
            return None
        now = value(best.weights)
        for _ in range(MAX_STEPS):
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
        """The length in [0, 1] at which F along a step is least."""
        from scipy.optimize import brentq  # here: it is slow to import

        gap, move = self.b - part @ w, part @ step

        def slope(t: float) -> float:
            short = np.maximum(gap - t * move, 0.0)
            rise = self.ridge * (step @ (w + t * step))
            return float(rise - (self.sample_weight * move) @ short)

        if slope(1.0) <= 0.0:
            return 1.0
        return float(brentq(slope, 0.0, 1.0)) if slope(0.0) < 0.0 else 0.0

    def fit_cost(self, count: int) -> float:
        """Multiplications of one fit, about."""
        return 1.5e6 + 6.0 * len(self.b) * count**2
