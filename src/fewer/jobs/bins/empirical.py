"""The distribution of many values, exact: sorted once, integrated in pieces."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._validation import Indices, InvalidInput, Vector, as_numbers, as_vector, known
from ...tables.frames import is_table
from ...tables.table import Table, numbers_of_column

PIECE = 2**19
"""Values that are looked at together; what is made from them takes a few times 4 MB."""
BLOCK = 2**12
"""Values between two places where the integrals of P are remembered."""
MISSING = {"error": False, "drop": True}
ROUNDING = 1e-12
"""Cumulative weights that differ by less than this share of the total count as equal."""


@dataclass(frozen=True, eq=False)
class Empirical:
    """P(x), the share of values at or below x, for values that are sorted.

    x: the values (n,), in order. before: the weight before each of them and after the last, (n +
    1,); None where all count as one. Equal values are one entry or several. total: the sum of the
    weights. dropped: missing values that were left out.
    """

    x: Vector
    before: Vector | None
    total: float
    dropped: int = 0

    @classmethod
    def of(
        cls, values: Any, sample_weight: Any = None, missing: str = "error", name: str = "values"
    ) -> "Empirical":
        """Values in any order, weighted or not; those without weight are left out.

        >>> P = Empirical.of([3.0, 1.0, 3.0, 2.0])
        >>> P.x.tolist(), P.cdf([1.0, 2.5]).tolist(), P.quantile(0.5).tolist(), P.total
        ([1.0, 2.0, 3.0, 3.0], [0.25, 0.5], 2.0, 4.0)
        """
        x, kept = as_values(values, missing, name)
        dropped = 0 if kept is None else int(kept.size - x.size)
        if sample_weight is None:
            return cls(np.sort(x), None, float(x.size), dropped)
        weights = as_vector(sample_weight, (x.size + dropped,), "sample_weight")
        weights = weights if kept is None else weights[kept]
        if weights.min() < 0 or not weights.max() > 0 or not np.isfinite(weights.sum()):
            raise InvalidInput(
                f"sample_weight must be non-negative with a positive, finite sum, got a least entry of "
                f"{weights.min():g} and a sum of {weights.sum():g}"
            )
        order = np.argsort(x, kind="stable")
        order = order[weights[order] > 0]
        return cls.weighted(x[order], weights[order], dropped)

    @classmethod
    def weighted(cls, x: Vector, weights: Vector, dropped: int = 0) -> "Empirical":
        """Values in order with positive weights."""
        before = np.append(0.0, np.cumsum(weights))
        return cls(x, before, float(before[-1]), dropped)

    def part(self, chosen: npt.NDArray[np.bool_]) -> "Empirical":
        """The distribution of some of the values."""
        if self.before is None:
            return Empirical(self.x[chosen], None, float(np.count_nonzero(chosen)))
        return Empirical.weighted(self.x[chosen], np.diff(self.before)[chosen])

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.x.size

    @cached_property
    def distinct(self) -> int:
        """How many different values there are."""
        return 1 + int(np.count_nonzero(self.x[1:] != self.x[:-1]))

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """(a, b): differences of values times 2**-a are finite, and times 2**-(a + b) their sum is in 1..2."""
        first = int(np.frexp(max(abs(self.x[0]), abs(self.x[-1])))[1]) + 1
        span = float(np.diff(np.ldexp(self.x[[0, -1]], -first))[0])
        return first, int(np.frexp(span)[1]) - 1 if span else 0

    @property
    def exponent(self) -> int:
        """The integrals of this class times 2**exponent are in the units of the values."""
        return sum(self.exponents)

    def steps(self, points: Vector) -> Vector:
        """How far it is from each of some sorted points to the next."""
        first, further = self.exponents
        return np.asarray(np.ldexp(np.diff(np.ldexp(points, -first)), -further))

    def share_before(self, at: Any) -> Vector:
        """The share of the values before these indices."""
        return np.asarray((np.asarray(at) if self.before is None else self.before[at]) / self.total)

    def cdf(self, x: npt.ArrayLike) -> Vector:
        """P at some x."""
        return self.share_before(np.searchsorted(self.x, x, "right"))

    def quantile(self, q: npt.ArrayLike) -> Vector:
        """The least value with P >= q."""
        at = self._reached(np.asarray(q) * self.total)
        return np.asarray(self.x[np.clip(at, 0, self.x.size - 1)])

    def _reached(self, weight: Any) -> Indices:
        """The index at which the cumulative weight reaches these."""
        least = weight - ROUNDING * self.total
        if self.before is None:
            return np.asarray(np.ceil(least).astype(np.int64) - 1)
        return np.asarray(np.searchsorted(self.before, least) - 1)

    def between(self, cuts: Indices) -> Vector:
        """The weight of the values from each of these indices to before the next."""
        return np.diff(cuts if self.before is None else self.before[cuts]).astype(np.float64)

    def middles(self, low: Indices, high: Indices) -> Indices:
        """The index of the lower median of the values in each range of indices."""
        ends = (low, high) if self.before is None else (self.before[low], self.before[high])
        return np.clip(self._reached((ends[0] + ends[1]) / 2), low, high - 1)

    def first_of(self, at: Any) -> Indices:
        """The first index with the same value, sorted and each once."""
        return np.unique(np.searchsorted(self.x, self.x[at])).astype(np.int64)

    def moments(self, starts: Indices) -> tuple[Vector, Vector, Vector, Vector]:
        """(P0, w, A, B) of the cells from each value x[start] to the next, the last one up to the largest value.

        P0 is P at the start of a cell, w its width, A = ∫ (P - P0) dx and B = ∫ (P - P0)² dx; what
        is small is summed small, so that no digits are lost. Starts are first indices of their
        values.
        """
        base = self.cdf(self.x[starts])
        sums = np.zeros((3, starts.size))
        for low in range(int(starts[0]), self.x.size - 1, PIECE):
            high = min(low + PIECE, self.x.size - 1)
            first, last = (
                int(np.searchsorted(starts, low, "right")) - 1,
                int(np.searchsorted(starts, high)),
            )
            cuts = np.maximum(starts[first:last], low) - low
            width = self.steps(self.x[low : high + 1])
            off = self.share_before(np.arange(low + 1, high + 1))
            off -= np.repeat(base[first:last], np.diff(np.append(cuts, high - low)))
            for power in range(3):
                sums[power, first:last] += np.add.reduceat(width, cuts)
                width *= off
        return base, sums[0], sums[1], sums[2]

    @cached_property
    def _blocks(self) -> tuple[Indices, tuple[Vector, Vector, Vector, Vector]]:
        """Some starts of cells, and their moments."""
        starts = self.first_of(np.arange(0, self.x.size, BLOCK))
        return starts, self.moments(starts)

    def distance(self, at: Vector, weights: Vector) -> float:
        """∫ (Q - P)² dx times 2**-exponent, for Q with these masses at increasing positions, anywhere."""
        starts, (base, width, first, second) = self._blocks
        edges = self.x[starts]
        crossed = np.zeros(starts.size, np.bool_)  # blocks that a jump of Q lies inside of
        block = np.searchsorted(edges, at, "right") - 1
        inside = (block >= 0) & (at < self.x[-1]) & (at != edges[np.maximum(block, 0)])
        crossed[block[inside]] = True
        off = _level(at, weights, edges) - base
        whole = (off * off * width - 2 * off * first + second)[~crossed].sum()
        stops = np.append(starts[1:], self.x.size - 1)
        parts = [self.x[starts[i] : stops[i] + 1] for i in np.flatnonzero(crossed)]
        outside = [
            np.append(at[at < self.x[0]], self.x[0]),
            np.append(self.x[-1], at[at > self.x[-1]]),
        ]
        return float(whole) + sum(self._direct(part, at, weights) for part in [*parts, *outside])

    def _direct(self, part: Vector, at: Vector, weights: Vector) -> float:
        """∫ (Q - P)² dx from the first to the last of some sorted points, where nothing else but Q jumps."""
        points = np.union1d(part, at[(at > part[0]) & (at < part[-1])])
        difference = (_level(at, weights, points) - self.cdf(points))[:-1]
        return float(self.steps(points) @ difference**2)

    def mean_difference(self, at: Vector, weights: Vector) -> float:
        """√(∫ (Q - P)² dP), the root mean squared difference at the values themselves, for Q with these masses."""
        total = 0.0
        for low in range(0, self.x.size, PIECE):
            high = min(low + PIECE, self.x.size)
            x, mass = self.x[low:high], np.diff(self.share_before(np.arange(low, high + 1)))
            total += float(mass @ np.square(_level(at, weights, x) - self.cdf(x)))
        return math.sqrt(total)

    def largest_difference(self, at: Vector, weights: Vector) -> float:
        """The largest |Q - P|, the Kolmogorov distance."""
        levels = np.append(0.0, np.minimum(np.cumsum(weights), 1.0))
        after, until = self.cdf(at), self.share_before(np.searchsorted(self.x, at))
        return float(max(np.abs(levels[1:] - after).max(), np.abs(levels[:-1] - until).max()))


def _level(at: Vector, weights: Vector, x: Vector) -> Vector:
    """Q at some x."""
    return np.append(0.0, np.minimum(np.cumsum(weights), 1.0))[np.searchsorted(at, x, "right")]


def column_of(table: Any, name: str) -> npt.NDArray[Any]:
    """The one column of numbers of a table, NaN where it is missing."""
    columns = Table.of(table).columns
    if len(columns) != 1:
        some = ", ".join(str(column.name) for column in columns[:8])
        raise InvalidInput(
            f"{name} must be one column, got {len(columns)} ({some}); give one of them"
        )
    return numbers_of_column(columns[0], name)


def as_values(values: Any, missing: Any, name: str) -> tuple[Vector, npt.NDArray[np.bool_] | None]:
    """(x, kept): finite numbers (n,); where some were missing and are dropped, which were kept."""
    drop = known(missing, MISSING, "missing")
    array = column_of(values, name) if is_table(values) else as_numbers(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not array.size:
        raise InvalidInput(f"{name} must be numbers (n,), at least one, got shape {array.shape}")
    with np.errstate(over="ignore"):  # a longdouble beyond float64 is met below
        x = array.astype(np.float64, copy=False)
    kept = None
    if not np.isfinite(x.min()) or not np.isfinite(x.max()):
        kept = ~np.isnan(x)
        gone, first = int(x.size - kept.sum()), int(np.argmin(kept))
        if gone and (not drop or gone == x.size):
            raise InvalidInput(
                f"{name} has {gone} missing of {x.size}, the first at index {first}"
                + (
                    "; nothing is left without them"
                    if drop
                    else '; fill them, or drop them by missing="drop"'
                )
            )
        if np.isinf(x).any():
            at = int(np.argmax(np.isinf(x)))
            raise InvalidInput(f"{name} must be finite, got {x[at]} at index {at}")
    return (x, None) if kept is None else (x[kept], kept)
