"""Squared distance of cumulative distributions, and its best k jumps by dynamic programming."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._compiled.segments import advance
from .._validation import Indices, Vector, as_distribution, as_vector
from ..spaces import Space
from .quadratic import QuadraticForm

WORK = 4_000_000
"""Comparisons between two chances to stop: about a hundredth of a second."""
MAX_ROUNDS = 50
"""Rounds of k-means that the quick start takes, at most."""


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
        shape = self.space.shape
        q = as_distribution(as_vector(self.q, shape, "q"), "q")
        widths = np.ones(self.space.size) if self.widths is None else self.widths
        self.__dict__.update(q=q, widths=as_vector(widths, shape, "widths"))

    @cached_property
    def Q(self) -> Vector:  # noqa: N802 - the field's name for a cumulative distribution
        """The cumulative sums of q, at most one."""
        sums = np.cumsum(self.q)
        return np.asarray(np.minimum(sums, 1.0, out=sums))

    @cached_property
    def _squares(self) -> tuple[Vector, Vector, Vector]:
        """Σ_{t < i} g_t Q_t², Σ_{t < i} g_t Q_t (1 - Q_t) and Σ_{t >= i} g_t (1 - Q_t)², (size + 1,) each."""
        g, rest = self.widths, 1.0 - self.Q
        after = np.append(sums_from(g * rest**2), 0.0)
        return sums_before(g * self.Q**2), sums_before(g * self.Q * rest), after

    @property
    def smoothness(self) -> float:
        """2 max g ‖L‖², with ‖L‖² = 1 / (4 sin²(π / (4 n + 2))) for the n x n lower triangle L of ones."""
        return float(self.widths.max() * 0.5 / np.sin(np.pi / (4 * self.space.size + 2)) ** 2)

    @cached_property
    def scale(self) -> float:
        """The mean over t of what all mass at one entry t would give: what rounding is measured by."""
        n, after = self.space.size, np.arange(1.0, self.space.size + 1.0)
        below, above = self.widths * self.Q**2, self.widths * (1.0 - self.Q) ** 2
        return float(below @ (n - after) + above @ after) / n or 1.0

    def slope_error(self, value: float) -> float:
        """How far rounding may move an entry of `slopes`: n eps times the root of F Σ g."""
        eps = float(np.finfo(float).eps)
        return self.space.size * eps * float(np.sqrt(self.widths.sum() * max(value, 0.0)))

    @cached_property
    def constant(self) -> float:
        """Σ g_t Q_t², the value at p = 0."""
        return float(self._squares[0][-1])

    @cached_property
    def diagonal(self) -> Vector:
        """H_ii = Σ_{t >= i} g_t."""
        return sums_from(self.widths)

    @cached_property
    def _above(self) -> Vector:
        return sums_from(self.widths * self.Q)

    def linear(self, units: Indices) -> Vector:
        """c_i = Σ_{t >= i} g_t Q_t at these entries."""
        return np.asarray(self._above[units])

    def cross(self, units: Indices, others: Indices) -> Vector:
        """H_ij = Σ_{t >= max(i, j)} g_t, (len(units), len(others))."""
        return self.diagonal[np.maximum.outer(units, others)]

    def centred(self, units: Indices, others: Indices) -> Vector:
        """G_ij = Σ_t g_t (1[t >= i] - Q_t)(1[t >= j] - Q_t): three sums, before, between and after i and j."""
        below, mixed, above = self._squares
        low, high = np.minimum.outer(units, others), np.maximum.outer(units, others)
        return np.asarray(below[low] - (mixed[high] - mixed[low]) + above[high])

    def _difference(self, units: Indices, weights: Vector) -> Vector:
        """Q - P for p with these weights."""
        p = np.zeros(self.space.size)
        p[units] = weights
        return self.Q - np.cumsum(p)

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """Minus half the gradient: Σ_{t >= i} g_t (Q_t - P_t) for every entry i."""
        return sums_from(self.widths * self._difference(units, weights))

    def value_at(self, units: Indices, weights: Vector) -> float:
        """Σ_t g_t (P_t - Q_t)² for these weights at these entries."""
        difference = self._difference(units, weights)
        return float((self.widths * difference) @ difference)

    def solved(self, k: int) -> Iterator[tuple[Vector | None, float | None]]:
        """The best k jumps: a quick start, then dynamic programming to the proven optimum.

        O(k n log n) time and 4 k n bytes for the n entries that have mass: only there can the best
        step function jump. The bound is 0 until it is done.
        """
        entries = np.flatnonzero(self.q)
        P, widths = self.Q[entries], np.add.reduceat(self.widths, entries)
        yield self._steps(entries, quick_jumps(P, widths, k)), 0.0
        m, rounds = len(P), min(k, len(P))
        off = P - P @ widths / widths.sum()  # centring keeps the digits of the sums
        sums = sums_before(widths), sums_before(widths * off), sums_before(widths * off * off)
        before, tail = sums_before(widths * P * P)[:m], sums_from(widths * (1.0 - P) ** 2)
        choices = np.empty((rounds, m), np.int32)
        for jump in range(1, rounds):
            after, stack, depth = np.full(m, np.inf), np.empty((64, 4), np.int64), 1
            stack[0] = jump, m - 1, jump - 1, m - 2
            while depth:
                depth = advance(before, sums, after, choices[jump], stack, depth, WORK)
                yield None, None
            before = after
        jumps = np.empty(rounds, np.int64)
        jumps[-1] = np.argmin(before + tail)
        for jump in range(rounds - 1, 0, -1):
            jumps[jump - 1] = choices[jump, jumps[jump]]
        yield self._steps(entries, jumps), None

    def _steps(self, entries: Indices, jumps: Indices) -> Vector:
        """The best step function that jumps at some of the entries with mass, as masses.

        Between two jumps it is the mean of Q, and in the end 1.
        """
        widths = np.add.reduceat(self.widths, entries)
        areas = np.add.reduceat(widths * self.Q[entries], jumps)
        heights = areas / np.add.reduceat(widths, jumps)
        heights[-1] = 1.0
        masses = np.maximum(np.diff(heights, prepend=0.0), 0.0)
        p = np.zeros(self.space.size)
        p[entries[jumps]] = masses / masses.sum()
        return p


def quick_jumps(P: Vector, widths: Vector, k: int) -> Indices:
    """Jumps of a good step function in O(k log n): k-means of P (n,), its end levels held at 0 and 1.

    A value goes to its nearest level, a level to the mean of its values. Source: Lloyd 1982.
    """
    total, mass = sums_before(widths), sums_before(widths * P)
    levels, jumps = np.linspace(0.0, 1.0, k + 1), np.empty(0, np.int64)
    for _ in range(MAX_ROUNDS):
        before = jumps
        jumps = np.minimum(np.searchsorted(P, (levels[1:] + levels[:-1]) / 2), len(P) - 1)
        if np.array_equal(before, jumps):
            break
        wide = np.diff(total[jumps])
        inner = np.flatnonzero(wide)
        levels[1:-1][inner] = np.diff(mass[jumps])[inner] / wide[inner]
    return np.unique(jumps)


def sums_before(x: Vector) -> Vector:
    """Σ_{t < i} x_t for i = 0..n, (n + 1,).

    >>> sums_before(np.array([1.0, 2.0])).tolist()
    [0.0, 1.0, 3.0]
    """
    sums = np.zeros(len(x) + 1)
    np.cumsum(x, out=sums[1:])
    return sums


def sums_from(x: Vector) -> Vector:
    """Σ_{t >= i} x_t for i = 0..n - 1, (n,).

    >>> sums_from(np.array([1.0, 2.0])).tolist()
    [3.0, 2.0]
    """
    return np.asarray(np.cumsum(x[::-1])[::-1])
