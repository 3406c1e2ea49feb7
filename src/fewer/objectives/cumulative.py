"""Squared distance of cumulative distributions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._compiled.box_quadratic import simplex_weights
from .._validation import Indices, Vector, as_distribution, as_vector
from ..spaces import Space
from ._segments import best_steps


@dataclass(frozen=True, eq=False)
class Cumulative:
    """F[p] = Σ_t (P_t - Q_t)² for the cumulative sums P of p and Q of a distribution q on ordered places.

    `Moments` with a lower triangular matrix of ones, every block of which has a closed form: H_ij = n - max(i, j).

    >>> from fewer import Atoms
    >>> F = Cumulative(Atoms(3), [0.5, 0.0, 0.5])
    >>> F.value(np.array([1.0, 0.0, 0.0])), F.best_on(np.array([0, 2])).round(9).tolist()
    (0.5, [0.5, 0.0, 0.5])
    """

    space: Space
    q: Any

    def __post_init__(self) -> None:
        q = as_distribution(as_vector(self.q, self.space.shape, "q"), "q")
        object.__setattr__(self, "q", q)

    @cached_property
    def Q(self) -> Vector:  # noqa: N802 - the field's name for a cumulative distribution
        """The cumulative sums of q, at most one."""
        return np.asarray(np.minimum(np.cumsum(self.q), 1.0))

    @cached_property
    def _above(self) -> Vector:
        """Σ_{t >= i} Q_t, (size + 1,)."""
        return np.append(np.cumsum(self.Q[::-1])[::-1], 0.0)

    @cached_property
    def _squares(self) -> tuple[Vector, Vector, Vector]:
        """Σ_{t < i} Q_t², Σ_{t < i} Q_t (1 - Q_t) and Σ_{t >= i} (1 - Q_t)², (size + 1,) each."""
        rest = 1.0 - self.Q
        below, mixed = (np.append(0.0, np.cumsum(x)) for x in (self.Q**2, self.Q * rest))
        return below, mixed, np.append(np.cumsum((rest**2)[::-1])[::-1], 0.0)

    @property
    def smoothness(self) -> float:
        """2 ‖L‖² = 1 / (2 sin²(π / (4 n + 2))) for the n x n lower triangle L of ones."""
        return float(0.5 / np.sin(np.pi / (4 * self.space.size + 2)) ** 2)

    @property
    def floor(self) -> float:
        """0: a squared distance is never less."""
        return 0.0

    @cached_property
    def scale(self) -> float:
        """The mean over t of what all mass at one place t would give: what rounding is measured by."""
        n, after = self.space.size, np.arange(1.0, self.space.size + 1.0)
        return float((self.Q**2) @ (n - after) + ((1.0 - self.Q) ** 2) @ after) / n or 1.0

    def slope_error(self, value: float) -> float:
        """How far rounding may move an entry of `slopes`: n eps times the root of n F."""
        n = self.space.size
        return n * float(np.finfo(float).eps) * float(np.sqrt(n * max(value, 0.0)))

    @cached_property
    def constant(self) -> float:
        """Σ Q_t², the value at p = 0."""
        return float(self._squares[0][-1])

    @cached_property
    def diagonal(self) -> Vector:
        """H_ii = n - i."""
        return np.arange(self.space.size, 0.0, -1.0)

    def linear(self, units: Indices) -> Vector:
        """c_i = Σ_{t >= i} Q_t at these places."""
        return self._above[units]

    def cross(self, units: Indices, others: Indices) -> Vector:
        """H_ij = n - max(i, j), (len(units), len(others))."""
        return self.space.size - np.maximum.outer(units, others).astype(np.float64)

    def centred(self, units: Indices, others: Indices) -> Vector:
        """G_ij = Σ_t (1[t >= i] - Q_t)(1[t >= j] - Q_t): three sums, before, between and after i and j."""
        below, mixed, above = self._squares
        low, high = np.minimum.outer(units, others), np.maximum.outer(units, others)
        return np.asarray(below[low] - (mixed[high] - mixed[low]) + above[high])

    def _difference(self, units: Indices, weights: Vector) -> Vector:
        """Q - P for p with these weights at sorted or unsorted places."""
        p = np.zeros(self.space.size)
        p[units] = weights
        return np.asarray(self.Q - np.cumsum(p))

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """Minus half the gradient: Σ_{t >= i} (Q_t - P_t) for every place i."""
        return np.asarray(np.cumsum(self._difference(units, weights)[::-1])[::-1])

    def value_at(self, units: Indices, weights: Vector) -> float:
        """F for these weights at these places."""
        difference = self._difference(units, weights)
        return float(difference @ difference)

    def value(self, p: Vector) -> float:
        """Σ_t (P_t - Q_t)²."""
        difference = self.Q - np.cumsum(p)
        return float(difference @ difference)

    def gradient(self, p: Vector) -> Vector:
        """2 Σ_{t >= i} (P_t - Q_t)."""
        return np.asarray(2.0 * np.cumsum((np.cumsum(p) - self.Q)[::-1])[::-1])

    def best_on(self, face: Indices) -> Vector:
        """The best weights on the simplex of the face, exact to rounding."""
        p = np.zeros(self.space.size)
        p[face] = simplex_weights(self.centred(face, face), np.zeros(face.size))
        return p

    def solved(self, k: int) -> Iterator[tuple[Vector | None, float | None]]:
        """The best k jumps: k-means on the cumulative values, then dynamic programming."""
        return best_steps(self, k)

    def value_on(self, face: Indices) -> float:
        """F of `best_on`."""
        return self.value(self.best_on(face)) if face.size else np.inf
