"""bins as k bars, and as cells of two or three dimensions, as studies."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._result_frame import order_of, ours
from .._validation import Vector
from ..jobs.bins import bins
from ..result import Result
from .study import Judge, Table, proven_bound
from .views import Cloud, Profile, profile

RANDOM_DRAWS = 10
"""Draws over which the error of random cells is averaged."""


@dataclass(frozen=True, eq=False)
class BarsProblem:
    """A histogram with k bars: `counts` (n,), `edges` (n + 1,) or None."""

    counts: Vector
    edges: Vector | None = None
    job = "bins"
    unit = "bars"
    usual_seconds = None
    metric = "root mean squared difference of shares"
    shares = frozenset({"weight", "share of each bin", "largest difference of cumulative shares", metric})

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
        return bins(self.counts, k, edges=self.edges, contiguous=True, **search)

    def error(self, result: Result) -> float:
        """The root mean squared difference."""
        return rms(result.p, self.target)

    def kept(self, result: Result) -> Table:
        """The bars in their order: mass, first bin, how many, from where to where, and the share of each bin."""
        table: Table = {name: np.asarray(column).tolist() for name, column in ours(result, order_of(result)).items()}
        lengths = np.diff(np.append(result.indices, self.size))
        return table | {"bins": lengths.tolist(), "share of each bin": result.p[result.indices].tolist()}

    def view(self, result: Result) -> Profile:
        """The histogram before and after."""
        at = np.arange(self.size + 1.0) if self.edges is None else self.edges
        return profile(at, self.target, result.p, "bin" if self.edges is None else "value")

    def lost(self, result: Result) -> dict[str, float]:
        """The error, the largest difference of the cumulative shares, the value and its gap."""
        facts = {self.metric: self.error(result)}
        facts["largest difference of cumulative shares"] = float(np.abs(np.cumsum(result.p - self.target)).max())
        facts["value"] = result.value
        return facts if result.gap is None or proven_bound(result) is None else {**facts, "gap": result.gap}

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

    def split(self, share: float, rng: np.random.Generator) -> tuple["BarsProblem", Judge] | None:
        """Some of the counted values are held out, each with the same chance; None where counts are not whole."""
        parts = thinned(self.counts, share, rng)
        if parts is None:
            return None
        other = parts[1] / parts[1].sum()
        return BarsProblem(parts[0], self.edges), lambda result: rms(result.p, other)


@dataclass(frozen=True, eq=False)
class CellsProblem:
    """Which k cells stand for a histogram of two or three dimensions: `counts` of its shape, `names` of its axes."""

    counts: Any
    preserve: str = "entries"
    names: Sequence[str] = ("i", "j", "l")
    job = "bins"
    unit = "cells"
    usual_seconds = None
    shares = frozenset(
        {"weight", "share before", *(f"root mean squared difference of {what}" for what in ("shares", "marginals"))}
    )

    @property
    def metric(self) -> str:
        """The metric that `error` is."""
        return f"root mean squared difference of {'shares' if self.preserve == 'entries' else 'marginals'}"

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.counts.size)

    @cached_property
    def target(self) -> Vector:
        """The histogram as flat shares."""
        return np.asarray(self.counts.reshape(-1) / self.counts.sum())

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        return bins(self.counts, k, preserve=self.preserve, **search)

    def error(self, result: Result) -> float:
        """The root mean squared difference."""
        return self._error(result.p, self.target)

    def _error(self, p: Vector, target: Vector) -> float:
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

    def lost(self, result: Result) -> dict[str, float]:
        """The error, the value and its gap."""
        facts = {self.metric: self.error(result), "value": result.value}
        return facts if result.gap is None or proven_bound(result) is None else {**facts, "gap": result.gap}

    @property
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """The k largest cells with their shares scaled up, and cells drawn by their shares."""
        return {"top-k truncation": self._largest, "random sampling": self._at_random}

    def _largest(self, k: int) -> float:
        chosen = np.argsort(-self.target, kind="stable")[:k]
        p = np.zeros(self.size)
        p[chosen] = self.target[chosen] / self.target[chosen].sum()
        return self._error(p, self.target)

    def _at_random(self, k: int) -> float:
        rng = np.random.default_rng(1)
        draws = (rng.multinomial(k, self.target) / k for _ in range(RANDOM_DRAWS))
        return float(np.mean([self._error(draw, self.target) for draw in draws]))

    def split(self, share: float, rng: np.random.Generator) -> tuple["CellsProblem", Judge] | None:
        """Some of the counted values are held out, each with the same chance; None where counts are not whole."""
        parts = thinned(self.counts, share, rng)
        if parts is None:
            return None
        other = parts[1].reshape(-1) / parts[1].sum()
        return replace(self, counts=parts[0]), lambda result: self._error(result.p, other)


def rms(p: Vector, q: Vector) -> float:
    """The root mean squared difference."""
    return math.sqrt(float(np.mean(np.square(p - q))))


def thinned(counts: Any, share: float, rng: np.random.Generator) -> tuple[Any, Any] | None:
    """Counts in two parts, each counted value in the second with the same chance; None where they are not whole."""
    if (counts != np.round(counts)).any():
        return None
    held = rng.binomial(counts.astype(np.int64), share).astype(np.float64)
    left = counts - held
    return None if held.sum() == 0 or left.sum() == 0 else (left, held)
