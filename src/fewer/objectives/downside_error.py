"""The sum of squared shortfalls: only falling behind the target counts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..programmes import Solved, quadratic_programme
from ._residuals import ResidualLoss, column_sizes, columns, product

MOST_STEPS = 60
"""Newton steps of one fit."""
LEAST = 1e-200
"""The least smoothness: a step of its reciprocal times 2**60 is finite."""
HALVINGS = 40
"""Halvings of a bracket in a line search."""
STILL = 1e-15
"""Relative fall of F below which a fit has ended."""


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
        squares = self.A.multiply(self.A) if hasattr(self.A, "multiply") else np.square(self.A)
        square = float(np.asarray(squares.sum(axis=1)).reshape(-1) @ self.sample_weight)
        return max(2.0 * (square + self.ridge), LEAST)

    @cached_property
    def scale(self) -> float:
        """The squared distance of a typical column from b."""
        typical = float(
            np.square(column_sizes(self.A, self.b, 2)).mean() * self.sample_weight.max()
        )
        return max(typical + self.ridge, 1e-300)

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
        found = self._newton(part, np.ones(len(self.b), bool), low, high, rows, right)
        if found is None:
            return None
        w, multipliers, value = (
            found.weights,
            found.multipliers,
            self._value_of(part, found.weights),
        )
        for _ in range(MOST_STEPS):
            short = self.b - part @ w > 0.0
            if not short.any() and not self.ridge:
                multipliers = np.zeros(len(right))
                break
            after = self._newton(part, short, low, high, rows, right)
            if after is None:
                break
            step = after.weights - w
            length = self._line(part, w, step)
            w, multipliers = w + length * step, after.multipliers
            before, value = value, self._value_of(part, w)
            if before - value <= STILL * before:
                break
        p = np.zeros(self.space.size)
        p[entries] = w
        return Solved(w, multipliers), self.gradient(p)

    def _value_of(self, part: Vector, w: Vector) -> float:
        short = np.maximum(self.b - part @ w, 0.0)
        return float(self.sample_weight @ np.square(short) + self.ridge * (w @ w))

    def _newton(
        self, part: Vector, short: Vector, low: Vector, high: Vector, rows: Vector, right: Vector
    ) -> Any:
        """Least squares over some rows, all conditions kept."""
        root = np.sqrt(self.sample_weight[short])
        X, y = part[short] * root[:, None], self.b[short] * root
        return quadratic_programme(
            X.T @ X + self.ridge * np.eye(len(low)), X.T @ y, low, high, rows, right
        )

    def _line(self, part: Vector, w: Vector, step: Vector) -> float:
        """The length in [0, 1] at which F along the step is least: its slope, which rises, by bisection."""
        gap, move = self.b - part @ w, part @ step

        def slope(t: float) -> float:
            rising = self.ridge * float(step @ (w + t * step))
            return 2.0 * (
                rising - float((self.sample_weight * move) @ np.maximum(gap - t * move, 0.0))
            )

        if slope(1.0) <= 0.0:
            return 1.0
        least, most = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = 0.5 * (least + most)
            least, most = (middle, most) if slope(middle) < 0.0 else (least, middle)
        return least

    def fit_cost(self, count: int) -> float:
        """Multiplications of one fit, about."""
        return 1.5e6 + 6.0 * len(self.b) * count**2
