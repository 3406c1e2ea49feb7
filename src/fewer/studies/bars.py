"""bins as k bars, and as cells of two or three dimensions, as studies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._result_frame import order_of, ours
from .._validation import Vector
from ..jobs.bins import bins
from ..result import Result
from .histogram import Histogram, rms
from .study import Table
from .views import Cloud, Profile, profile

RANDOM_DRAWS = 10
"""Draws over which the error of random cells is averaged."""


@dataclass(frozen=True, eq=False)
class BarsProblem(Histogram):
    """A histogram with k bars: `counts` (n,), `edges` (n + 1,) or None."""

    edges: Vector | None = None
    unit = "bars"
    metric = "root mean squared difference of shares"
    shares = frozenset({"weight", "share of each bin", "largest difference of cumulative shares", metric})

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        return bins(self.counts, k, edges=self.edges, contiguous=True, **search)

    def distance(self, p: Vector, target: Vector) -> float:
        """The root mean squared difference of shares."""
        return rms(p, target)

    def kept(self, result: Result) -> Table:
        """The bars in their order: mass, first bin, how many, from where to where, and the share of each bin."""
        table: Table = {name: np.asarray(column).tolist() for name, column in ours(result, order_of(result)).items()}
        lengths = np.diff(np.append(result.indices, self.size))
        return table | {"bins": lengths.tolist(), "share of each bin": result.p[result.indices].tolist()}

    def view(self, result: Result) -> Profile:
        """The histogram before and after."""
        at = np.arange(self.size + 1.0) if self.edges is None else self.edges
        return profile(at, self.target, result.p, "bin" if self.edges is None else "value")

    @property
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """Bars of as many bins each, and bars of equal mass."""
        return {
            "equal-width bars": lambda k: self._with_bars(np.linspace(0, self.size, k + 1)[:-1].round().astype(int)),
            "equal-mass bars": lambda k: self._with_bars(
                np.searchsorted(np.cumsum(self.target), np.linspace(0.0, 1.0, k + 1)[:-1], side="right")
            ),
        }

    def _with_bars(self, begins: Any) -> float:
        """The error of bars that begin there."""
        starts = np.unique(np.append(0, np.minimum(begins, self.size - 1)))
        lengths = np.diff(np.append(starts, self.size))
        return rms(np.repeat(np.add.reduceat(self.target, starts) / lengths, lengths), self.target)


@dataclass(frozen=True, eq=False)
class CellsProblem(Histogram):
    """Which k cells represent a histogram of two or three dimensions: `counts` of its shape, `names` of its axes."""

    preserve: str = "entries"
    names: Sequence[str] = ("i", "j", "l")
    unit = "cells"
    shares = frozenset(
        {"weight", "share before", *(f"root mean squared difference of {what}" for what in ("shares", "marginals"))}
    )

    @property
    def metric(self) -> str:
        """The metric that `error` is."""
        return f"root mean squared difference of {'shares' if self.preserve == 'entries' else 'marginals'}"

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        return bins(self.counts, k, preserve=self.preserve, **search)

    def distance(self, p: Vector, target: Vector) -> float:
        """The root mean squared difference of shares, or of the shares of each dimension by itself."""
        if self.preserve == "entries":
            return rms(p, target)
        off = (p - target).reshape(self.counts.shape)
        axes = range(off.ndim)
        sides = [off.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
        return rms(np.concatenate(sides), np.zeros(sum(off.shape)))

    def kept(self, result: Result) -> Table:
        """The cells with their weights, heaviest first, and the shares they had."""
        order = order_of(result)
        table = {name: np.asarray(column).tolist() for name, column in ours(result, order).items()}
        renamed = dict(zip("ijl", self.names, strict=False))
        table = {renamed.get(name, name): column for name, column in table.items()}
        return table | {"share before": self.target[result.indices[order]].tolist()}

    def view(self, result: Result) -> Cloud:
        """The kept cells among all that hold something, on the first two axes."""
        filled = np.argwhere(self.counts > 0)[:, :2].astype(np.float64)
        rows, weights = result.heaviest_first()
        kept = np.column_stack(np.unravel_index(rows, self.counts.shape))[:, :2].astype(np.float64)
        return Cloud(filled, kept, weights, (str(self.names[0]), str(self.names[1])), len(filled), "filled cells")

    @property
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """The k largest cells with their shares scaled up, and cells drawn by their shares."""
        return {"top-k truncation": self.largest, "random sampling": self._at_random}

    def _at_random(self, k: int) -> float:
        rng = np.random.default_rng(1)
        draws = (rng.multinomial(k, self.target) / k for _ in range(RANDOM_DRAWS))
        return float(np.mean([self.distance(draw, self.target) for draw in draws]))
