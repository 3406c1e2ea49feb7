"""A path of bins of values: the difference to the distribution of the values, against quantiles and equal bins."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Vector
from ..jobs.bins.bins import bins
from ..jobs.bins.empirical import Empirical
from ..jobs.bins.values import available
from ..result import Result
from .kept import Table, kept_table
from .path import Baselines, Split, proven_bound
from .views import Cumulative, cumulative

QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
DRAWN = 400
"""Quantiles of the values at which their curve is drawn."""


@dataclass(frozen=True, eq=False)
class ValuesProblem:
    """Which k values, with which weights, stand for many: P, where they may sit, and in how many bins."""

    P: Empirical
    grid: Any = "auto"
    n_bins: int | None = None
    job = "bins"
    unit = "values"
    metric = "root mean squared difference of cumulative shares over the data"
    shares = frozenset(
        {
            "weight",
            "largest difference of cumulative shares",
            "root mean squared difference of cumulative shares over the data",
        }
    )

    @cached_property
    def size(self) -> int:
        """The number of positions to choose from."""
        return available(self.P, self.grid, self.n_bins)

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        return bins(self.P, k, grid=self.grid, n_bins=self.n_bins, **search)

    def error(self, result: Result) -> float:
        """The root mean squared difference of cumulative shares at the values."""
        return self.P.mean_difference(np.asarray(result.labels), np.asarray(result.weights))

    def kept(self, result: Result) -> Table:
        """The values in their order with their weights, and from where to where they stand for values."""
        return kept_table(result)

    def view(self, result: Result) -> Cumulative:
        """The cumulative shares before and after."""
        at = np.asarray(result.labels)
        x = np.unique(np.concatenate([self.P.quantile(np.linspace(0.0, 1.0, DRAWN)), at]))
        before, after = self.P.cdf(x), np.asarray(result.distribution.cdf(x))
        return cumulative(x, np.diff(before, prepend=0.0), np.diff(after, prepend=0.0), "value")

    def lost(self, result: Result) -> dict[str, float]:
        """The error, the largest difference of the cumulative shares, some quantiles, the value and its gap."""
        at, weights = np.asarray(result.labels), np.asarray(result.weights)
        facts = {self.metric: self.error(result)}
        facts["largest difference of cumulative shares"] = self.P.largest_difference(at, weights)
        for name, q in QUANTILES.items():
            facts[f"{name} of the values"] = float(self.P.quantile(q))
            facts[f"{name} kept, spread between the edges"] = float(
                result.distribution.quantile(q, spread=True)
            )
        facts["value"] = result.value
        return (
            facts
            if result.gap is None or proven_bound(result) is None
            else {**facts, "gap": result.gap}
        )

    def errors_on(self, P: Empirical) -> Baselines:
        """On other values, the errors of quantiles of equal weight, and of bins of equal width at their centres."""
        return {
            "quantile binning": lambda k: P.mean_difference(*quantiles(self.P, k)),
            "equal-width bins": lambda k: P.mean_difference(*equal_bins(self.P, k)),
        }

    @property
    def baselines(self) -> Baselines:
        """The error of each baseline."""
        return self.errors_on(self.P)

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Some of the values are held out, each with the same chance."""
        parts = self.P.split(share, rng)
        if parts is None:
            return None
        train, test = (replace(self, P=P) for P in parts)
        return Split(train, test.error, lambda: train.errors_on(test.P))


def quantiles(P: Empirical, k: int) -> tuple[Vector, Vector]:
    """K quantiles of equal weight."""
    at, codes = np.unique(P.quantile((np.arange(k) + 0.5) / k), return_inverse=True)
    return at, np.bincount(codes.reshape(-1)) / k


def equal_bins(P: Empirical, k: int) -> tuple[Vector, Vector]:
    """The centres of k bins of equal width, and the shares of the values in them."""
    edges = np.linspace(P.x[0], P.x[-1], k + 1)
    below = np.append(0.0, P.share_before(np.searchsorted(P.x, edges[1:-1])))
    return edges[:-1] / 2 + edges[1:] / 2, np.diff(np.append(below, 1.0))
