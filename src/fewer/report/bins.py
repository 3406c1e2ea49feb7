"""Studies of bins: values by their cumulative shares, and histograms."""

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector, known
from ..jobs.bins.bins import Histogram, available, bins, distribution_of, edges_of, weights_of_bins
from ..jobs.bins.empirical import Empirical
from ..jobs.bins.options import BinsOptions
from ..result import Result
from .charts import Html, cumulative, steps
from .study import Baselines, Halves, Study, Table, kept_table

CUMULATIVE = "root mean squared difference of cumulative shares over the data"
BIN_BY_BIN = "root mean squared difference of shares"
LARGEST = "largest difference of cumulative shares"
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def bins_study(values: Any = None, **options: Any) -> Study:
    """Make the study of `bins` with these options."""
    own = BinsOptions.of(options)
    own.refuse("positions", "validation", "ridge", road="a path of bins")
    known(own.preserve, dict.fromkeys(("cdf", "entries")), "preserve of a path")
    if (own.counts is None) == (values is None):
        raise InvalidInput("give values, or counts=, a histogram of them: exactly one")
    if own.counts is not None:
        edges = Histogram.of(own.counts, own).edges
        return HistogramStudy(np.asarray(own.counts), edges, own.plain, own.contiguous)
    P = distribution_of(values, own)
    if own.plain:
        return ValuesStudy(P, own.grid, own.n_bins)
    edges = edges_of(P, own.grid, own.n_bins)
    if edges is None:
        raise InvalidInput('grid must have bins: give "equal", "log", "quantile" or edges', "grid")
    counts = weights_of_bins(P, edges)
    return HistogramStudy(counts, edges, cumulative=False, contiguous=own.contiguous)


@dataclass(frozen=True, eq=False)
class ValuesStudy(Study):
    """k weighted values that stand for many: P, where they may sit, and in how many bins."""

    P: Empirical
    grid: Any = "auto"
    n_bins: int | None = None
    job = "bins"
    unit = "values"
    metric = CUMULATIVE
    shares = frozenset({"weight", LARGEST, CUMULATIVE})

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of positions to choose from."""
        return available(self.P, self.grid, self.n_bins)

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        return bins(self.P, k, grid=self.grid, n_bins=self.n_bins, **search)

    def error(self, result: Result) -> float:
        """Return the root mean squared difference of cumulative shares at the values."""
        return self.P.mean_difference(*kept_masses(result))

    def facts(self, result: Result) -> dict[str, float]:
        """Return the error, the largest difference, and some quantiles before and after."""
        facts = super().facts(result)
        facts[LARGEST] = self.P.largest_difference(*kept_masses(result))
        for name, q in QUANTILES.items():
            facts[f"{name} of the values"] = float(self.P.quantile(q))
            spread = result.distribution.quantile(q, spread=True)
            facts[f"{name} kept, spread between the edges"] = float(spread)
        return {**facts, "value": result.value}

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the cumulative shares before and after."""
        x = np.union1d(self.P.quantile(np.linspace(0.0, 1.0, 400)), np.asarray(result.labels))
        return cumulative(x, self.P.cdf(x), np.asarray(result.distribution.cdf(x)), "value")

    def baselines(self, test: "ValuesStudy") -> Baselines:
        """Return the errors on other values of quantiles of equal weight and of equal bins."""
        P = self.P

        def quantiles(k: int) -> float:
            at, numbers = np.unique(P.quantile((np.arange(k) + 0.5) / k), return_counts=True)
            return test.P.mean_difference(at, numbers / k)

        def equal_bins(k: int) -> float:
            edges = np.linspace(P.x[0], P.x[-1], k + 1)
            below = P.share_before(np.searchsorted(P.x, edges[1:-1]))
            shares = np.diff(below, prepend=0.0, append=1.0)
            return test.P.mean_difference(edges[:-1] / 2 + edges[1:] / 2, shares)

        return {"quantile binning": quantiles, "equal-width bins": equal_bins}

    def split(self, share: float, rng: np.random.Generator) -> Halves:
        """Hold out some of the values, each with the same chance."""
        parts = self.P.split(share, rng)
        return None if parts is None else (replace(self, P=parts[0]), replace(self, P=parts[1]))


def kept_masses(result: Result) -> tuple[Vector, Vector]:
    """Return where the kept values sit, and their weights."""
    return np.asarray(result.labels), np.asarray(result.weights)


class HistogramStudy(Study):
    """k weighted bins, or k bars, of a histogram: `counts` (n,), `edges` (n + 1,) or None."""

    job = "bins"
    shares = frozenset(
        {"weight", "share before", "share of each bin", LARGEST, CUMULATIVE, BIN_BY_BIN}
    )

    def __init__(
        self,
        counts: Any,
        edges: Vector | None = None,
        cumulative: bool = True,
        contiguous: bool = False,
    ) -> None:
        self.counts, self.edges = counts, edges
        self.cumulative, self.contiguous = cumulative, contiguous
        self.size, self.target = counts.size, counts / counts.sum()
        self.unit = "bars" if contiguous else "bins"
        self.metric = CUMULATIVE if cumulative else BIN_BY_BIN

    @property
    def scope(self) -> str:
        """What there is to choose from, in words."""
        return f"bars over {self.size} bins" if self.contiguous else super().scope

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        preserve = "cdf" if self.cumulative else "entries"
        what = {"preserve": preserve, "contiguous": self.contiguous, "edges": self.edges}
        return bins(counts=self.counts, k=k, **what, **search)

    def distance(self, p: Vector) -> float:
        """Return the root mean squared difference of shares p to those of the histogram."""
        difference = p - self.target
        if self.cumulative:
            return math.sqrt(float(self.target @ np.cumsum(difference) ** 2))
        return math.sqrt(float(np.mean(difference**2)))

    def error(self, result: Result) -> float:
        """Return the difference of the new shares to those of the histogram."""
        return self.distance(result.p)

    def facts(self, result: Result) -> dict[str, float]:
        """Return the error, the largest difference of cumulative shares, and the value."""
        largest = float(np.abs(np.cumsum(result.p - self.target)).max())
        return super().facts(result) | {LARGEST: largest, "value": result.value}

    def kept(self, result: Result) -> Table:
        """Return the bins or bars in their order, with the shares of their bins."""
        table, at = kept_table(result), result.indices
        if not self.contiguous:
            return table | {"share before": self.target[at].tolist()}
        lengths = np.diff(at, append=self.size)
        return table | {"bins": lengths.tolist(), "share of each bin": result.p[at].tolist()}

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the shares before and after: of bars as bins, else cumulative ones."""
        name = "bin" if self.edges is None else "value"
        ends = np.arange(self.size + 1.0) if self.edges is None else self.edges
        before, after = self.target, result.p
        if not self.contiguous:
            places = ends[:-1] if self.edges is None else ends[1:]
            return cumulative(places, np.cumsum(before), np.cumsum(after), name)
        before, after = (np.append(each, each[-1]) for each in (before, after))
        return steps(ends, before, after, (name, "share of each bin"), "A histogram and its bars")

    def baselines(self, test: "HistogramStudy") -> Baselines:
        """Return the errors of baselines of this histogram on another one of the same bins."""
        n, target, below = self.size, self.target, np.cumsum(self.target)

        def bars(begins: Any) -> float:
            starts = np.union1d(0, np.minimum(begins, n - 1)).astype(np.int64)
            lengths = np.diff(starts, append=n)
            return test.distance(np.repeat(np.add.reduceat(target, starts) / lengths, lengths))

        def equal_widths(k: int) -> float:
            return bars(np.linspace(0, n, k + 1)[:-1].round())

        def equal_masses(k: int) -> float:
            return bars(np.searchsorted(below, np.arange(k) / k, side="right"))

        def quantiles(k: int) -> float:
            places = np.minimum(np.searchsorted(below, (np.arange(k) + 0.5) / k), n - 1)
            return test.distance(np.bincount(places, minlength=n) / k)

        def largest(k: int) -> float:
            p = np.zeros(n)
            top = np.argsort(-target, kind="stable")[:k]
            p[top] = target[top] / target[top].sum()
            return test.distance(p)

        if self.contiguous:
            return {"equal-width bars": equal_widths, "equal-mass bars": equal_masses}
        return {"quantile binning": quantiles, "top-k truncation": largest}

    def split(self, share: float, rng: np.random.Generator) -> Halves:
        """Hold out some of the counted values, each with the same chance; none of parts of counts."""
        if (self.counts != np.round(self.counts)).any():
            return None
        held = rng.binomial(self.counts.astype(np.int64), share).astype(np.float64)
        parts = [copy(self), copy(self)]
        for part, counts in zip(parts, (self.counts - held, held), strict=True):
            if not counts.any():
                return None
            part.counts, part.target = counts, counts / counts.sum()
        return parts[0], parts[1]
