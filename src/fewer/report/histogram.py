"""What paths of histograms share: bins and bars."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._validation import Vector
from ..result import Result
from .path import Baselines, Split, proven_bound


@dataclass(frozen=True, eq=False)
class Histogram(ABC):
    """Counts (n,), compared as shares by `distance`."""

    counts: Any
    job = "bins"

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
        facts["largest difference of cumulative shares"] = float(
            np.abs(np.cumsum(result.p - self.target)).max()
        )
        facts["value"] = result.value
        return (
            facts
            if result.gap is None or proven_bound(result) is None
            else {**facts, "gap": result.gap}
        )

    def largest(self, k: int) -> Vector:
        """The k largest with their shares scaled up, (n,)."""
        chosen = np.argsort(-self.target, kind="stable")[:k]
        p = np.zeros(self.size)
        p[chosen] = self.target[chosen] / self.target[chosen].sum()
        return p

    @property
    @abstractmethod
    def rules(self) -> Mapping[str, Callable[[int], Vector]]:
        """Baselines: shares for any k, by name."""

    def errors_on(self, other: "Histogram") -> Baselines:
        """The error of each baseline, made from these counts, on another histogram of the same bins."""
        return {
            name: partial(lambda rule, k: other.distance(rule(k), other.target), rule)
            for name, rule in self.rules.items()
        }

    @property
    def baselines(self) -> Baselines:
        """The error of each baseline."""
        return self.errors_on(self)

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Some of the counted values are held out, each with the same chance; None where counts are not whole."""
        if (self.counts != np.round(self.counts)).any():
            return None
        held = rng.binomial(self.counts.astype(np.int64), share).astype(np.float64)
        left = self.counts - held
        if held.sum() == 0 or left.sum() == 0:
            return None
        test: Any = replace(self, counts=held)
        train: Any = replace(self, counts=left)
        return Split(train, test.error, lambda: train.errors_on(test))


def rms(p: Vector, q: Vector) -> float:
    """The root mean squared difference."""
    return math.sqrt(float(np.mean(np.square(p - q))))
