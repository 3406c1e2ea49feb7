"""A path of bins: the difference of cumulative shares, against quantile binning and top-k truncation."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector, as_array, known
from ..jobs.bins.bins import bins
from ..jobs.bins.empirical import Empirical
from ..jobs.bins.options import BinsOptions
from ..jobs.bins.values import as_edges, edges_of, weights_of_bins
from ..result import Result
from .bars import BarsProblem
from .histogram import Histogram, rms
from .kept import Table
from .path import Problem
from .values import ValuesProblem
from .views import Cumulative, cumulative

SERVED = (
    "counts",
    "grid",
    "n_bins",
    "sample_weight",
    "missing",
    "edges",
    "preserve",
    "contiguous",
    "max_memory",
)
"""Options of bins that a path takes beside those of its search."""


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
        return "root mean squared difference of " + (
            "cumulative shares over the data" if whole else "shares"
        )

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        return bins(counts=self.counts, k=k, preserve=self.preserve, edges=self.edges, **search)

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
            table |= {
                "value": (low / 2 + high / 2).tolist(),
                "from": low.tolist(),
                "to": high.tolist(),
            }
        return table | {"share before": self.target[at].tolist()}

    def view(self, result: Result) -> Cumulative:
        """The cumulative shares before and after, at the upper edges of the bins."""
        if self.edges is None:
            return cumulative(np.arange(self.size, dtype=np.float64), self.target, result.p, "bin")
        return cumulative(self.edges[1:], self.target, result.p, "value")

    @property
    def rules(self) -> Mapping[str, Callable[[int], Vector]]:
        """Quantiles of equal weight, and the k largest bins with their shares scaled up."""
        return {"quantile binning": self._quantiles, "top-k truncation": self.largest}

    def _quantiles(self, k: int) -> Vector:
        levels = (np.arange(k) + 0.5) / k
        chosen = np.minimum(np.searchsorted(np.cumsum(self.target), levels), self.size - 1)
        return np.bincount(chosen, minlength=self.size) / k


def bins_problem(values: Any = None, **options: Any) -> Problem:
    """The problem of `bins` with these options of it."""
    own = BinsOptions.of(options)
    own.serve(*SERVED, road="a path of bins")
    known(own.preserve, dict.fromkeys(("cdf", "entries")), "preserve of a path")
    if (own.counts is None) == (values is None):
        raise InvalidInput("give values, or counts=, a histogram of them: exactly one")
    if own.counts is not None:
        array = as_array(own.counts, "counts")
        if array.ndim == 1 and (array < 0).any():
            row = int(array.argmin())
            raise InvalidInput(f"counts must be at least 0, got {array[row]:g} in row {row}")
        bounds = None if own.edges is None else as_edges(own.edges, "edges")
        return (
            BarsProblem(array, bounds)
            if own.contiguous
            else BinsProblem(array, bounds, own.preserve)
        )
    P = (
        values
        if isinstance(values, Empirical)
        else Empirical.of(values, own.sample_weight, own.missing)
    )
    if own.preserve == "cdf" and not own.contiguous:
        return ValuesProblem(P, own.grid, own.n_bins)
    ends = np.asarray(edges_of(P, own.grid, own.n_bins))
    counted = weights_of_bins(P, ends)
    return (
        BarsProblem(counted, ends) if own.contiguous else BinsProblem(counted, ends, own.preserve)
    )
