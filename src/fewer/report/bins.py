"""bins as a study: the difference of cumulative shares, against quantile binning and top-k truncation."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import Vector
from ..jobs.bins import bins
from ..result import Result
from .histogram import Histogram, rms
from .path import Table
from .views import Cumulative, cumulative


@dataclass(frozen=True, eq=False)
class BinsProblem(Histogram):
    """Which k bins, with which weights, represent a histogram: `counts` (n,), `edges` (n + 1,) or None."""

    edges: Vector | None = None
    preserve: str = "cdf"
    unit = "bins"
    shares = frozenset(
        {
            "weight",
            "share before",
            "largest difference of cumulative shares",
            "root mean squared difference of cumulative shares over the data",
            "root mean squared difference of shares",
        }
    )

    @property
    def metric(self) -> str:
        """The metric that `error` is."""
        whole = self.preserve == "cdf"
        return "root mean squared difference of " + ("cumulative shares over the data" if whole else "shares")

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        edges = None if self.preserve == "cdf" else self.edges
        return bins(counts=self.counts, k=k, preserve=self.preserve, edges=edges, **search)

    def distance(self, p: Vector, target: Vector) -> float:
        """The root mean squared difference of shares, or of cumulative ones over what was counted."""
        if self.preserve == "cdf":
            return math.sqrt(float(target @ np.square(np.cumsum(p - target))))
        return rms(p, target)

    def kept(self, result: Result) -> Table:
        """The bins in their order, with their weights and the shares they had."""
        at = result.indices
        table: Table = {"index": at.tolist(), "weight": result.p[at].tolist()}
        table |= {} if result.counts is None else {"count": result.counts.tolist()}
        if self.edges is not None:
            low, high = self.edges[at], self.edges[at + 1]
            table |= {"value": (low / 2 + high / 2).tolist(), "from": low.tolist(), "to": high.tolist()}
        return table | {"share before": self.target[at].tolist()}

    def view(self, result: Result) -> Cumulative:
        """The cumulative shares before and after, at the upper edges of the bins."""
        if self.edges is None:
            return cumulative(np.arange(self.size, dtype=np.float64), self.target, result.p, "bin")
        return cumulative(self.edges[1:], self.target, result.p, "value")

    @property
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """Quantiles of equal weight, and the k largest bins with their shares scaled up."""
        return {
            "quantile binning": lambda k: self.distance(self._quantiles(k), self.target),
            "top-k truncation": self.largest,
        }

    def _quantiles(self, k: int) -> Vector:
        levels = (np.arange(k) + 0.5) / k
        chosen = np.minimum(np.searchsorted(np.cumsum(self.target), levels), self.size - 1)
        return np.bincount(chosen, minlength=self.size) / k
