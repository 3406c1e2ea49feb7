"""The best k jumps of a cumulative distribution: dynamic programming that can be stopped, from a quick start."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._compiled.segments import advance
from .._validation import Indices, Vector

if TYPE_CHECKING:
    from .cumulative import Cumulative

Choices = npt.NDArray[np.int32]
WORK = 4_000_000
"""Comparisons between two chances to stop: about a hundredth of a second."""
ROUNDS = 50
"""Rounds of k-means that the quick start takes, at most."""


@dataclass(frozen=True, eq=False)
class Runs:
    """A cumulative distribution as runs of equal values: only where mass sits can the best step function jump.

    F: the distance; k: jumps. `entries` (m,) where mass sits, `P` the cumulative value, `widths`
    how long it lasts.
    """

    F: "Cumulative"
    k: int

    @cached_property
    def entries(self) -> Indices:
        """Where mass sits, (m,)."""
        return np.flatnonzero(self.F.q)

    @cached_property
    def P(self) -> Vector:  # noqa: N802 - the field's name for a cumulative distribution
        """The cumulative value of each run, (m,)."""
        return np.asarray(self.F.Q[self.entries])

    @cached_property
    def widths(self) -> Vector:
        """How wide each run is, (m,)."""
        return np.add.reduceat(self.F.g, self.entries)

    @cached_property
    def sums(self) -> tuple[Vector, Vector, Vector]:
        """Σ w, Σ w (P - P̄) and Σ w (P - P̄)² before each run, (m + 1,) each.

        Centring keeps their digits.
        """
        off = self.P - self.P @ self.widths / self.widths.sum()
        first = self.widths * off
        return self.total, sums_before(first), sums_before(np.multiply(first, off, out=off))

    @cached_property
    def total(self) -> Vector:
        """Σ w before each run, (m + 1,)."""
        return sums_before(self.widths)

    @cached_property
    def weighted(self) -> Vector:
        """The cumulative value of each run times its width, (m,)."""
        return np.asarray(self.widths * self.P)

    def distribution(self, jumps: Indices) -> Vector:
        """The best step function with jumps at these runs, as masses: the mean of P between two jumps, in the end 1."""
        heights = np.add.reduceat(self.weighted, jumps) / np.add.reduceat(self.widths, jumps)
        heights[-1] = 1.0
        masses = np.maximum(np.diff(heights, prepend=0.0), 0.0)
        p = np.zeros(self.F.space.size)
        p[self.entries[jumps]] = masses / masses.sum()
        return p

    def quick(self) -> Indices:
        """Jumps of a good step function in O(k log n): k-means on the values of P, its end levels held at 0 and 1.

        A value goes to its nearest level, a level to the mean of its values. Source: Lloyd 1982.
        """
        total, mass = self.total, sums_before(self.weighted)
        levels, jumps = np.linspace(0.0, 1.0, self.k + 1), np.empty(0, np.int64)
        for _ in range(ROUNDS):
            before, jumps = (
                jumps,
                np.minimum(
                    np.searchsorted(self.P, (levels[1:] + levels[:-1]) / 2), self.P.size - 1
                ),
            )
            if np.array_equal(before, jumps):
                break
            wide = np.diff(total[jumps])
            inner = np.flatnonzero(wide)
            levels[1:-1][inner] = np.diff(mass[jumps])[inner] / wide[inner]
        return np.unique(jumps)


def best_steps(F: "Cumulative", k: int) -> Iterator[tuple[Vector | None, float | None]]:
    """The quick start, then dynamic programming over jumps to the proven optimum: O(k n log n) time, 4 k n bytes.

    Its bound is 0 until it is done.
    """
    runs = Runs(F, k)
    yield runs.distribution(runs.quick()), 0.0
    rounds, m = min(k, runs.P.size), runs.P.size
    before = sums_before(runs.weighted * runs.P)[:m]
    tail = np.cumsum((runs.widths * (1.0 - runs.P) ** 2)[::-1])[::-1]
    choices = np.empty((rounds, m), np.int32)
    for jump in range(1, rounds):
        after, stack, depth = np.full(m, np.inf), np.empty((64, 4), np.int64), 1
        stack[0] = jump, m - 1, jump - 1, m - 2
        while depth:
            depth = advance(before, runs.sums, after, choices[jump], stack, depth, WORK)
            yield None, None
        before = after
    yield runs.distribution(followed(choices, rounds, before + tail)), None


def sums_before(x: Vector) -> Vector:
    """Σ_{t < i} x_t for i = 0..n, (n + 1,).

    >>> sums_before(np.array([1.0, 2.0])).tolist()
    [0.0, 1.0, 3.0]
    """
    sums = np.empty(len(x) + 1)
    sums[0] = 0.0
    np.cumsum(x, out=sums[1:])
    return sums


def sums_from(x: Vector) -> Vector:
    """Σ_{t >= i} x_t for i = 0..n, (n + 1,).

    >>> sums_from(np.array([1.0, 2.0])).tolist()
    [3.0, 2.0, 0.0]
    """
    sums = np.empty(len(x) + 1)
    sums[-1] = 0.0
    np.cumsum(x[::-1], out=sums[-2::-1])
    return sums


def followed(choices: Choices, count: int, costs: Vector) -> Indices:
    """The jumps (count,) that lead to the least cost, back through the choices of each round."""
    jumps = np.empty(count, np.int64)
    jumps[-1] = np.argmin(costs)
    for jump in range(count - 1, 0, -1):
        jumps[jump - 1] = choices[jump, jumps[jump]]
    return jumps
