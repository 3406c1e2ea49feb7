"""What studies of histograms share: bins and bars."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from .._validation import Vector
from ..result import Result
from .path import Judge, proven_bound


@dataclass(frozen=True, eq=False)
class Histogram(ABC):
    """Counts (n,), compared as shares by `distance`."""

    counts: Any
    job = "bins"
    usual_seconds = None

    @property
    @abstractmethod
    def metric(self) -> str:
        """The metric that `error` is."""

    @abstractmethod
    def distance(self, p: Vector, target: Vector) -> float:
        """How far shares are from others."""

    @property
    def size(self) -> int:
        """The number of bins."""
        return int(self.counts.size)

    @cached_property
    def target(self) -> Vector:
        """The histogram as shares."""
        return np.asarray(self.counts / self.counts.sum())

    def error(self, result: Result) -> float:
        """How far the new shares are from those of the histogram."""
        return self.distance(result.p, self.target)

    def lost(self, result: Result) -> dict[str, float]:
        """The error, the largest difference of the cumulative shares, the value and its gap."""
        facts = {self.metric: self.error(result)}
        facts["largest difference of cumulative shares"] = float(np.abs(np.cumsum(result.p - self.target)).max())
        facts["value"] = result.value
        return facts if result.gap is None or proven_bound(result) is None else {**facts, "gap": result.gap}

    def largest(self, k: int) -> float:
        """The error of the k largest with their shares scaled up."""
        chosen = np.argsort(-self.target, kind="stable")[:k]
        p = np.zeros(self.size)
        p[chosen] = self.target[chosen] / self.target[chosen].sum()
        return self.distance(p, self.target)

    def split(self, share: float, rng: np.random.Generator) -> tuple[Self, Judge] | None:
        """Some of the counted values are held out, each with the same chance; None where counts are not whole."""
        if (self.counts != np.round(self.counts)).any():
            return None
        held = rng.binomial(self.counts.astype(np.int64), share).astype(np.float64)
        left = self.counts - held
        if held.sum() == 0 or left.sum() == 0:
            return None
        other = held / held.sum()
        return replace(self, counts=left), lambda result: self.distance(result.p, other)


def rms(p: Vector, q: Vector) -> float:
    """The root mean squared difference."""
    return math.sqrt(float(np.mean(np.square(p - q))))
