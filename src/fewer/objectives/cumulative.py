"""Squared distance of cumulative distributions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._validation import Indices, Vector, as_distribution, as_vector
from ..active_set import simplex_weights
from ..spaces import Space
from ._segments import best_steps, sums_before, sums_from
from .quadratic import QuadraticForm


@dataclass(frozen=True, eq=False)
class Cumulative(QuadraticForm):
    """F[p] = Σ_t g_t (P_t - Q_t)² for the cumulative sums P of p and Q of a distribution q on ordered entries.

    The `widths` g are positive, by default one. It is `Moments` with a lower triangular matrix,
    every block of which has a closed form: H_ij = Σ_{t >= max(i, j)} g_t.

    >>> from fewer import Atoms
    >>> F = Cumulative(Atoms(3), [0.5, 0.0, 0.5])
    >>> F.value(np.array([1.0, 0.0, 0.0])), F.best_on(np.array([0, 2])).round(9).tolist()
    (0.5, [0.5, 0.0, 0.5])
    """

    space: Space
    q: Any
    widths: Any = None
    lower_bound: ClassVar[float] = 0.0
    lower_bound_attained: ClassVar[bool] = True  # by the target, which is a distribution

    def __post_init__(self) -> None:
        q = as_distribution(as_vector(self.q, self.space.shape, "q"), "q")
        object.__setattr__(self, "q", q)
        if self.widths is not None:
            object.__setattr__(self, "widths", as_vector(self.widths, self.space.shape, "widths"))

    @cached_property
    def g(self) -> Vector:
        """The widths, (size,)."""
        return np.ones(self.space.size) if self.widths is None else np.asarray(self.widths)

    @cached_property
    def Q(self) -> Vector:  # noqa: N802 - the field's name for a cumulative distribution
        """The cumulative sums of q, at most one."""
        sums = np.cumsum(self.q)
        return np.asarray(np.minimum(sums, 1.0, out=sums))

    @cached_property
    def _above(self) -> Vector:
        """Σ_{t >= i} g_t Q_t, (size + 1,)."""
        return sums_from(self.g * self.Q)

    @cached_property
    def _squares(self) -> tuple[Vector, Vector, Vector]:
        """Σ_{t < i} g_t Q_t², Σ_{t < i} g_t Q_t (1 - Q_t) and Σ_{t >= i} g_t (1 - Q_t)², (size + 1,) each."""
        g, rest = self.g, 1.0 - self.Q
        return sums_before(g * self.Q**2), sums_before(g * self.Q * rest), sums_from(g * rest**2)

    @property
    def smoothness(self) -> float:
        """2 max g ‖L‖², with ‖L‖² = 1 / (4 sin²(π / (4 n + 2))) for the n x n lower triangle L of ones."""
        return float(self.g.max() * 0.5 / np.sin(np.pi / (4 * self.space.size + 2)) ** 2)

    @cached_property
    def scale(self) -> float:
        """The mean over t of what all mass at one entry t would give: what rounding is measured by."""
        n, after = self.space.size, np.arange(1.0, self.space.size + 1.0)
        return (
            float((self.g * self.Q**2) @ (n - after) + (self.g * (1.0 - self.Q) ** 2) @ after) / n
            or 1.0
        )

    def slope_error(self, value: float) -> float:
        """How far rounding may move an entry of `slopes`: n eps times the root of F Σ g."""
        n = self.space.size
        return n * float(np.finfo(float).eps) * float(np.sqrt(self.g.sum() * max(value, 0.0)))

    @cached_property
    def constant(self) -> float:
        """Σ g_t Q_t², the value at p = 0."""
        return float(self._squares[0][-1])

    @cached_property
    def diagonal(self) -> Vector:
        """H_ii = Σ_{t >= i} g_t."""
        return np.asarray(np.cumsum(self.g[::-1])[::-1])

    def linear(self, units: Indices) -> Vector:
        """c_i = Σ_{t >= i} g_t Q_t at these entries."""
        return self._above[units]

    def cross(self, units: Indices, others: Indices) -> Vector:
        """H_ij = Σ_{t >= max(i, j)} g_t, (len(units), len(others))."""
        return self.diagonal[np.maximum.outer(units, others)]

    def centred(self, units: Indices, others: Indices) -> Vector:
        """G_ij = Σ_t g_t (1[t >= i] - Q_t)(1[t >= j] - Q_t): three sums, before, between and after i and j."""
        below, mixed, above = self._squares
        low, high = np.minimum.outer(units, others), np.maximum.outer(units, others)
        return np.asarray(below[low] - (mixed[high] - mixed[low]) + above[high])

    def _difference(self, units: Indices, weights: Vector) -> Vector:
        """Q - P for p with these weights at sorted or unsorted entries."""
        p = np.zeros(self.space.size)
        p[units] = weights
        sums = np.cumsum(p)
        return np.asarray(np.subtract(self.Q, sums, out=sums))

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """Minus half the gradient: Σ_{t >= i} g_t (Q_t - P_t) for every entry i."""
        return np.asarray(np.cumsum((self.g * self._difference(units, weights))[::-1])[::-1])

    def value_at(self, units: Indices, weights: Vector) -> float:
        """Σ_t g_t (P_t - Q_t)² for these weights at these entries."""
        difference = self._difference(units, weights)
        return float((difference if self.widths is None else self.g * difference) @ difference)

    def best_on(self, face: Indices) -> Vector:
        """The best weights on the simplex of the face, exact to rounding."""
        p = np.zeros(self.space.size)
        p[face] = simplex_weights(self.centred(face, face), np.zeros(face.size))
        return p

    def solved(self, k: int) -> Iterator[tuple[Vector | None, float | None]]:
        """The best k jumps: k-means on the cumulative values, then dynamic programming."""
        return best_steps(self, k)
