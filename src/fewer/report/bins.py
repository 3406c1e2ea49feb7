"""Studies of bins: values by their cumulative shares, and histograms."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector, as_array, known
from ..jobs.bins.bins import as_edges, available, bins, distribution_of, edges_of, weights_of_bins
from ..jobs.bins.empirical import Empirical
from ..jobs.bins.options import BinsOptions
from ..result import Result
from .drawings import cumulative, histograms
from .html import Html
from .study import Baselines, Split, Study, Table, kept_table

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
CUMULATIVE = "root mean squared difference of cumulative shares over the data"
BIN_BY_BIN = "root mean squared difference of shares"
LARGEST = "largest difference of cumulative shares"
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
DRAWN_QUANTILES = 400
"""Quantiles of the values at which their curve is drawn."""


def bins_study(values: Any = None, **options: Any) -> Study:
    """Make the study of `bins` with these options."""
    own = BinsOptions.of(options)
    own.serve(*SERVED, road="a path of bins")
    known(own.preserve, dict.fromkeys(("cdf", "entries")), "preserve of a path")
    if (own.counts is None) == (values is None):
        raise InvalidInput("give values, or counts=, a histogram of them: exactly one")
    if own.counts is not None:
        counts = as_array(own.counts, "counts")
        if counts.ndim == 1 and (counts < 0).any():
            row = int(counts.argmin())
            raise InvalidInput(
                f"counts must be at least 0, got {counts[row]:g} in row {row}", "counts"
            )
        edges = None if own.edges is None else as_edges(own.edges, "edges")
        return HistogramStudy(counts, edges, own.plain, own.contiguous)
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

    @cached_property
    def size(self) -> int:
        """The number of positions to choose from."""
        return available(self.P, self.grid, self.n_bins)

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        return bins(self.P, k, grid=self.grid, n_bins=self.n_bins, **search)

    def error(self, result: Result) -> float:
        """Return the root mean squared difference of cumulative shares at the values."""
        return self.P.mean_difference(*masses(result))

    def facts(self, result: Result) -> dict[str, float]:
        """Return the error, the largest difference, and some quantiles before and after."""
        facts = {self.metric: self.error(result)}
        facts[LARGEST] = self.P.largest_difference(*masses(result))
        for name, q in QUANTILES.items():
            spread = result.distribution.quantile(q, spread=True)
            facts[f"{name} of the values"] = float(self.P.quantile(q))
            facts[f"{name} kept, spread between the edges"] = float(spread)
        return {**facts, "value": result.value}

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the cumulative shares before and after."""
        quantiles = self.P.quantile(np.linspace(0.0, 1.0, DRAWN_QUANTILES))
        x = np.union1d(quantiles, np.asarray(result.labels))
        levels = self.P.cdf(x), np.asarray(result.distribution.cdf(x))
        before, after = (np.diff(each, prepend=0.0) for each in levels)
        return cumulative(x, before, after, "value")

    @property
    def baselines(self) -> Baselines:
        """The errors of quantiles and of equal bins on the values."""
        return self.baselines_on(self.P)

    def baselines_on(self, P: Empirical) -> Baselines:
        """Return the errors on other values of quantiles of equal weight and of equal bins."""
        return {
            "quantile binning": lambda k: P.mean_difference(*quantiles(self.P, k)),
            "equal-width bins": lambda k: P.mean_difference(*equal_bins(self.P, k)),
        }

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Hold out some of the values, each with the same chance."""
        parts = self.P.split(share, rng)
        if parts is None:
            return None
        train, test = (replace(self, P=P) for P in parts)
        return Split(train, test.error, train.baselines_on(test.P))


def masses(result: Result) -> tuple[Vector, Vector]:
    """Return where the kept values sit, and their weights."""
    return np.asarray(result.labels), np.asarray(result.weights)


def quantiles(P: Empirical, k: int) -> tuple[Vector, Vector]:
    """Return k quantiles of equal weight, equal ones as one."""
    at, codes = np.unique(P.quantile((np.arange(k) + 0.5) / k), return_inverse=True)
    return at, np.bincount(codes.reshape(-1)) / k


def equal_bins(P: Empirical, k: int) -> tuple[Vector, Vector]:
    """Return the centres of k bins of equal width, and the shares of the values in them."""
    edges = np.linspace(P.x[0], P.x[-1], k + 1)
    below = P.share_before(np.searchsorted(P.x, edges[1:-1]))
    return edges[:-1] / 2 + edges[1:] / 2, np.diff(below, prepend=0.0, append=1.0)


@dataclass(frozen=True, eq=False)
class HistogramStudy(Study):
    """k weighted bins, or k bars, of a histogram: `counts` (n,), `edges` (n + 1,) or None."""

    counts: Any
    edges: Vector | None = None
    cumulative: bool = True
    contiguous: bool = False
    job = "bins"
    shares = frozenset(
        {"weight", "share before", "share of each bin", LARGEST, CUMULATIVE, BIN_BY_BIN}
    )

    @property
    def unit(self) -> str:
        """Bins, or bars."""
        return "bars" if self.contiguous else "bins"

    @property
    def metric(self) -> str:
        """The difference of shares, or of cumulative ones."""
        return CUMULATIVE if self.cumulative else BIN_BY_BIN

    @property
    def size(self) -> int:
        """The number of bins."""
        return int(self.counts.size)

    @property
    def scope(self) -> str:
        """What there is to choose from, in words."""
        return f"bars over {self.size} bins" if self.contiguous else super().scope

    @cached_property
    def target(self) -> Vector:
        """The histogram as shares."""
        return np.asarray(self.counts / self.counts.sum())

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
        largest = np.abs(np.cumsum(result.p - self.target)).max()
        return {self.metric: self.error(result), LARGEST: float(largest), "value": result.value}

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
        if self.contiguous:
            return histograms(ends, self.target, result.p, name)
        places = ends[:-1] if self.edges is None else ends[1:]
        return cumulative(places, self.target, result.p, name)

    @property
    def rules(self) -> Mapping[str, Callable[[int], Vector]]:
        """The shares of each baseline for any k."""
        if self.contiguous:
            return {"equal-width bars": self.equal_widths, "equal-mass bars": self.equal_masses}
        return {"quantile binning": self.quantiles, "top-k truncation": self.largest}

    def quantiles(self, k: int) -> Vector:
        """Return the shares of k quantiles of equal weight."""
        levels = np.searchsorted(np.cumsum(self.target), (np.arange(k) + 0.5) / k)
        return np.bincount(np.minimum(levels, self.size - 1), minlength=self.size) / k

    def largest(self, k: int) -> Vector:
        """Return the k largest shares, scaled up."""
        p = np.zeros(self.size)
        top = np.argsort(-self.target, kind="stable")[:k]
        p[top] = self.target[top] / self.target[top].sum()
        return p

    def equal_widths(self, k: int) -> Vector:
        """Return the shares of k bars of as many bins each."""
        return self.bars(np.linspace(0, self.size, k + 1)[:-1].round().astype(int))

    def equal_masses(self, k: int) -> Vector:
        """Return the shares of k bars of equal mass."""
        levels = np.linspace(0.0, 1.0, k + 1)[:-1]
        return self.bars(np.searchsorted(np.cumsum(self.target), levels, side="right"))

    def bars(self, begins: Any) -> Vector:
        """Return the shares of all bins where bars begin at these."""
        starts = np.union1d(0, np.minimum(begins, self.size - 1)).astype(np.int64)
        lengths = np.diff(starts, append=self.size)
        return np.repeat(np.add.reduceat(self.target, starts) / lengths, lengths)

    @property
    def baselines(self) -> Baselines:
        """The error of each baseline on the histogram."""
        return self.baselines_on(self)

    def baselines_on(self, other: "HistogramStudy") -> Baselines:
        """Return the errors of baselines of this histogram on another one of the same bins."""

        def error(rule: Callable[[int], Vector]) -> Callable[[int], float]:
            return lambda k: other.distance(rule(k))

        return {name: error(rule) for name, rule in self.rules.items()}

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Hold out some of the counted values, each with the same chance.

        None of parts of counts.
        """
        if (self.counts != np.round(self.counts)).any():
            return None
        held = rng.binomial(self.counts.astype(np.int64), share).astype(np.float64)
        left = self.counts - held
        if held.sum() == 0 or left.sum() == 0:
            return None
        train, test = replace(self, counts=left), replace(self, counts=held)
        return Split(train, test.error, train.baselines_on(test))
