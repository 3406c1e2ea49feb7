"""A sketch of many numbers: exact up to some hundred thousand distinct ones, then with a proven error of ranks.

The sketch is a list of values with weights. Merging adds lists up; one of more than `SKETCHED`
values keeps its ends as they are, and what lies between, of weight W, is replaced by its quantiles
at (j + 1/2) / s, each with weight W / s. With F the cumulative weight before and F' after, F'(x) =
(W / s) floor(s F(x) / W + 1/2) between the ends, so |F' - F| <= W / 2s at every x, whatever the
weights were. Errors of lists that are added up add up too. So `error` is a proven bound on how far
any rank is off, with certainty and not only with high probability; in a tree of H levels it is at
most H W / 2s.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._validation import Vector

SKETCHED = 2**16
"""Values that a sketch keeps, and distinct ones up to which it is exact."""
END_SHARE = 16
"""One in so many of these are the least values, and as many the largest, which are all kept."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """One column: sorted distinct values x (s,), their weights (s,), and by how much any cumulative weight is off."""

    x: Vector
    weights: Vector
    low: float
    high: float
    error: float = 0.0

    @classmethod
    def of(cls, values: Vector, weights: Vector | None, most: int | None = None) -> "Sketch":
        """Sketch values in any order, by at most so many of them."""
        if weights is not None:
            values, weights = values[weights > 0], weights[weights > 0]
        x, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        mass = (
            counts.astype(np.float64)
            if weights is None
            else np.bincount(inverse.reshape(-1), weights).astype(np.float64)
        )
        ends = (float(x[0]), float(x[-1])) if x.size else (math.inf, -math.inf)
        return cls(x, mass, *ends).compressed(most)

    @classmethod
    def merged(cls, parts: Sequence["Sketch"]) -> "Sketch":
        """Merge the sketches of several parts."""
        if len(parts) == 1:
            return parts[0]
        x, inverse = np.unique(np.concatenate([part.x for part in parts]), return_inverse=True)
        every = np.concatenate([part.weights for part in parts])
        mass = np.bincount(inverse.reshape(-1), every, len(x)).astype(np.float64)
        low, high = min(part.low for part in parts), max(part.high for part in parts)
        return cls(x, mass, low, high, math.fsum(part.error for part in parts)).compressed()

    def compressed(self, most: int | None = None) -> "Sketch":
        """Reduce to at most so many values; `SKETCHED` by default."""
        most = SKETCHED if most is None else most
        if self.x.size <= most:
            return self
        end = most // END_SHARE
        inner, size = slice(end, self.x.size - end), most - 2 * end
        middle = self.x[inner]
        before = np.cumsum(self.weights[inner])
        total = float(before[-1])
        at = np.searchsorted(before, (np.arange(size) + 0.5) * (total / size))
        x, counts = np.unique(middle[np.minimum(at, middle.size - 1)], return_counts=True)
        x = np.concatenate([self.x[:end], x, self.x[self.x.size - end :]])
        ends = self.weights[:end], self.weights[self.x.size - end :]
        weights = np.concatenate([ends[0], counts * (total / size), ends[1]])
        return replace(self, x=x, weights=weights, error=self.error + total / (2 * size))

    @property
    def total(self) -> float:
        """The weight of all values."""
        return float(self.weights.sum())

    @property
    def median(self) -> float:
        """The weighted median: the mean of the lower and the upper one."""
        sums = np.cumsum(self.weights)
        half = 0.5 * sums[-1]
        low, high = (int(np.searchsorted(sums, half * side)) for side in (1 - 1e-12, 1 + 1e-12))
        return float((self.x[low] + self.x[min(high, len(sums) - 1)]) / 2.0)

    @property
    def mode(self) -> float:
        """The value of largest weight; of equals the least."""
        return float(self.x[int(np.argmax(self.weights))])
