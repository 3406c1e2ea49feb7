"""Baselines of points, measured on as many rows as can be compared pair by pair."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..baselines.lloyd import lloyd, nearest
from ..threads import own_threads

if TYPE_CHECKING:
    from .points import PointsProblem

RANDOM_DRAWS = 10
"""Samples over which the error of random sampling is averaged."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """Some rows with all similarities K between them and weights t: where baselines are measured.

    The first `choices` of them may be kept, all if None: the others are of another target.
    """

    problem: "PointsProblem"
    rows: Indices
    K: npt.NDArray[np.float64]
    t: Vector
    choices: int | None = None

    def discrepancy(self, q: Vector) -> float:
        """(q - t)ᵀ K (q - t)."""
        d = q - self.t
        return max(float(d @ (self.K @ d)), 0.0)

    def at_random(self, k: int) -> float:
        """The mean over draws of k rows with equal weights; rows may come twice where they weigh differently."""
        rng = np.random.default_rng(1)
        n, m = len(self.t), self.choices or len(self.t)
        shares = self.t if self.choices is None else np.full(m, 1.0 / m)
        again = self.problem.weights is not None or k > m or self.problem.size > m
        draws = (rng.choice(m, k, replace=again, p=shares) for _ in range(RANDOM_DRAWS))
        return float(np.mean([self.discrepancy(np.bincount(draw, minlength=n) / k) for draw in draws]))

    def units_at_random(self, k: int) -> float:
        """The mean over draws of k units with equal weights; infinite where there are fewer."""
        _, members = np.unique(self.problem.members[self.rows], return_inverse=True)
        rng, total = np.random.default_rng(1), np.bincount(members, self.t)
        if k > len(total):
            return math.inf
        draws = (np.isin(members, rng.choice(len(total), k, replace=False)) for _ in range(RANDOM_DRAWS))
        return float(np.mean([self.discrepancy(drawn * self.t / total[members] / k) for drawn in draws]))

    def snapped(self, k: int) -> float:
        """The rows nearest to k-means centres, with the shares of their clusters."""
        Z = self.problem.Z[self.rows]
        there = slice(None) if self.choices is None else slice(self.choices, None)
        k = min(k, len(Z[there]))
        with own_threads():
            centres, labels = lloyd(Z[there], k, self.t[there], np.random.default_rng(0))
            shares = np.bincount(labels, self.t[there], k)
            snapped = nearest(centres, Z[: self.choices])[0]
            return self.discrepancy(np.asarray(np.bincount(snapped, shares, len(Z)), np.float64))
