"""A path of histograms with k bars."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import Vector
from ..jobs.bins.bins import bins
from ..result import Result
from .histogram import Histogram, rms
from .kept import Table, kept_table
from .views import Profile, profile


@dataclass(frozen=True, eq=False)
class BarsProblem(Histogram):
    """A histogram with k bars: `counts` (n,), `edges` (n + 1,) or None."""

    edges: Vector | None = None
    unit = "bars"
    metric = "root mean squared difference of shares"
    shares = frozenset(
        {"weight", "share of each bin", "largest difference of cumulative shares", metric}
    )

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        return bins(counts=self.counts, k=k, edges=self.edges, contiguous=True, **search)

    def distance(self, p: Vector, target: Vector) -> float:
        """The root mean squared difference of shares."""
        return rms(p, target)

    def kept(self, result: Result) -> Table:
        """The bars in their order: mass, first bin, how many, from where to where, and the share of each bin."""
        table = kept_table(result)
        lengths = np.diff(np.append(result.indices, self.size))
        return table | {
            "bins": lengths.tolist(),
            "share of each bin": result.p[result.indices].tolist(),
        }

    def view(self, result: Result) -> Profile:
        """The histogram before and after."""
        at = np.arange(self.size + 1.0) if self.edges is None else self.edges
        return profile(at, self.target, result.p, "bin" if self.edges is None else "value")

    @property
    def rules(self) -> Mapping[str, Callable[[int], Vector]]:
        """Bars of as many bins each, and bars of equal mass."""
        return {"equal-width bars": self._equal_widths, "equal-mass bars": self._equal_masses}

    def _equal_widths(self, k: int) -> Vector:
        return self._with_bars(np.linspace(0, self.size, k + 1)[:-1].round().astype(int))

    def _equal_masses(self, k: int) -> Vector:
        levels = np.linspace(0.0, 1.0, k + 1)[:-1]
        return self._with_bars(np.searchsorted(np.cumsum(self.target), levels, side="right"))

    def _with_bars(self, begins: Any) -> Vector:
        """The shares of bins, (n,), where bars begin there."""
        starts = np.unique(np.append(0, np.minimum(begins, self.size - 1)))
        lengths = np.diff(np.append(starts, self.size))
        return np.repeat(np.add.reduceat(self.target, starts) / lengths, lengths)
