"""bins as a study: the difference of cumulative shares, against quantile binning and top-k truncation."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Vector
from ..jobs.bins import bins
from ..result import Result
from .study import Judge, Table, proven_bound
from .views import Cumulative, cumulative


@dataclass(frozen=True, eq=False)
class BinsProblem:
    """Which k bins, with which weights, stand for a histogram: `counts` (n,), `edges` (n + 1,) or None."""

    counts: Vector
    edges: Vector | None = None
    preserve: str = "cdf"
    job = "bins"
    unit = "bins"
    usual_seconds = None
    shares = frozenset(
        {
            "weight",
            "share before",
            "largest difference of cumulative shares",
            "root mean squared difference of cumulative shares",
            "root mean squared difference of shares",
        }
    )

    @property
    def metric(self) -> str:
        """The metric that `error` is."""
        return "root mean squared difference of " + ("cumulative shares" if self.preserve == "cdf" else "shares")

    @property
    def size(self) -> int:
        """The number of bins."""
        return self.counts.size

    @cached_property
    def target(self) -> Vector:
        """The histogram as shares."""
        return np.asarray(self.counts / self.counts.sum())

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        edges = None if self.preserve == "cdf" else self.edges
        return bins(self.counts, k, preserve=self.preserve, edges=edges, **search)

    def error(self, result: Result) -> float:
        """The root mean squared difference."""
        return self._error(result.p, self.target)

    def _error(self, p: Vector, target: Vector) -> float:
        gap = np.cumsum(p - target) if self.preserve == "cdf" else p - target
        return math.sqrt(float(np.mean(gap**2)))

    def kept(self, result: Result) -> Table:
        """The bins in their order, with their weights and the shares they had."""
        at = result.indices
        table: Table = {"weight": result.p[at].tolist(), "index": at.tolist()}
        if self.edges is not None:
            low, high = self.edges[at], self.edges[at + 1]
            table |= {"value": (low / 2 + high / 2).tolist(), "from": low.tolist(), "to": high.tolist()}
        return table | {"share before": self.target[at].tolist()}

    def view(self, result: Result) -> Cumulative:
        """The cumulative shares before and after, at the upper edges of the bins."""
        if self.edges is None:
            return cumulative(np.arange(self.size, dtype=np.float64), self.target, result.p, "bin")
        return cumulative(self.edges[1:], self.target, result.p, "value")

    def lost(self, result: Result) -> dict[str, float]:
        """The error, the largest difference of the cumulative shares, the value and its gap."""
        facts = {self.metric: self.error(result)}
        facts["largest difference of cumulative shares"] = float(np.abs(np.cumsum(result.p - self.target)).max())
        facts["value"] = result.value
        return facts if result.gap is None or proven_bound(result) is None else {**facts, "gap": result.gap}

    @property
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """Quantiles of equal weight, and the k largest bins with their shares scaled up."""
        return {
            "quantile binning": lambda k: self._error(self._quantiles(k), self.target),
            "top-k truncation": lambda k: self._error(self._largest(k), self.target),
        }

    def _quantiles(self, k: int) -> Vector:
        levels = (np.arange(k) + 0.5) / k
        chosen = np.minimum(np.searchsorted(np.cumsum(self.target), levels), self.size - 1)
        return np.bincount(chosen, minlength=self.size) / k

    def _largest(self, k: int) -> Vector:
        chosen = np.argsort(-self.target, kind="stable")[:k]
        p = np.zeros(self.size)
        p[chosen] = self.target[chosen] / self.target[chosen].sum()
        return p

    def split(self, share: float, rng: np.random.Generator) -> tuple["BinsProblem", Judge] | None:
        """Some of the counted values are held out, each with the same chance; None where counts are not whole."""
        if (self.counts != np.round(self.counts)).any():
            return None
        held = rng.binomial(self.counts.astype(np.int64), share).astype(np.float64)
        left = self.counts - held
        if held.sum() == 0 or left.sum() == 0:
            return None
        other = held / held.sum()
        return BinsProblem(left, self.edges, self.preserve), lambda result: self._error(result.p, other)
