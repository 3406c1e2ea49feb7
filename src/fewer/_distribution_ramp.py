"""Mass spread evenly over intervals that do not overlap."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._validation import InvalidInput, Vector


class Ramp(NamedTuple):
    """A cumulative distribution that is linear between `points`, at which it has `levels`; equal points are a jump."""

    points: Vector
    levels: Vector

    @classmethod
    def of(cls, edges: Vector, values: Vector, weights: Vector) -> "Ramp":
        """From intervals (s, 2), a value inside each, and their masses: half of it lies on either side of the value."""
        order = np.lexsort((edges[:, 1], edges[:, 0]))
        low, high = edges[order].T
        points = np.column_stack([low, values[order], high]).reshape(-1)
        if (points[1:] < points[:-1]).any():
            raise InvalidInput("spread needs edges that do not overlap")
        after = np.cumsum(weights[order])
        after /= after[-1]
        before = np.append(0.0, after[:-1])
        return cls(points, np.column_stack([before, before / 2 + after / 2, after]).reshape(-1))

    def cdf(self, x: npt.NDArray[np.float64]) -> Vector:
        """The level at some x."""
        at = np.searchsorted(self.points, x, "right")
        low, high = np.clip(at - 1, 0, None), np.clip(at, None, self.points.size - 1)
        inside = (at > 0) & (at < self.points.size)
        share = np.zeros(np.shape(x))
        reach = self.points[high] / 2 - self.points[low] / 2
        np.divide(np.asarray(x) / 2 - self.points[low] / 2, reach, out=share, where=inside)
        return np.asarray(
            np.where(at > 0, self.levels[low] + share * (self.levels[high] - self.levels[low]), 0.0)
        )

    def quantile(self, q: Vector) -> Vector:
        """The least point at which a level is reached."""
        high = np.minimum(np.searchsorted(self.levels, q - 1e-12), self.levels.size - 1)
        low = np.maximum(high - 1, 0)
        rise = self.levels[high] - self.levels[low]
        share = np.ones(np.shape(q))
        np.divide(
            np.minimum(q, self.levels[high]) - self.levels[low], rise, out=share, where=rise > 0
        )
        return np.asarray((1.0 - share) * self.points[low] + share * self.points[high])
