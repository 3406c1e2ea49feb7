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
from dataclasses import dataclass

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
    error: float = 0.0

    @classmethod
    def of(
        cls, values: Vector, weights: Vector | None, most: int | None = None, error: float = 0.0
    ) -> "Sketch":
        """Sketch values in any order, by at most so many of them."""
        x, inverse = np.unique(values, return_inverse=True)
        mass = np.bincount(inverse.reshape(-1), weights, len(x)).astype(np.float64)
        return cls(x[mass > 0], mass[mass > 0], error).compressed(most or SKETCHED)

    @classmethod
    def merged(cls, parts: Sequence["Sketch"]) -> "Sketch":
        """Merge the sketches of several parts."""
        x, weights = (
            np.concatenate(each) for each in zip(*((p.x, p.weights) for p in parts), strict=True)
        )
        return cls.of(x, weights, error=math.fsum(part.error for part in parts))

    def compressed(self, most: int) -> "Sketch":
        """Reduce to at most so many values."""
        if self.x.size <= most:
            return self
        end = most // END_SHARE
        low, middle, high = np.split(self.x, [end, self.x.size - end])
        below, weights, above = np.split(self.weights, [end, self.x.size - end])
        before, size = np.cumsum(weights), most - 2 * end
        share = float(before[-1]) / size
        at = np.searchsorted(before, (np.arange(size) + 0.5) * share)
        x, counts = np.unique(middle[np.minimum(at, middle.size - 1)], return_counts=True)
        return Sketch(
            np.concatenate([low, x, high]),
            np.concatenate([below, counts * share, above]),
            self.error + share / 2,
        )

    @property
    def total(self) -> float:
        """The weight of all values."""
        return float(self.weights.sum())

    @property
    def median(self) -> float:
        """The weighted median: the mean of the lower and the upper one."""
        sums = np.cumsum(self.weights)
        sides = 0.5 * sums[-1] * np.array([1 - 1e-12, 1 + 1e-12])
        at = np.minimum(np.searchsorted(sums, sides), len(sums) - 1)
        return float(self.x[at].mean())

    @property
    def mode(self) -> float:
        """The value of largest weight; of equals the least."""
        return float(self.x[int(np.argmax(self.weights))])
