"""Baselines of points, measured on as many rows as can be compared pair by pair."""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..threads import own_threads

if TYPE_CHECKING:
    from .points import PointsProblem

MAX_ROUNDS = 30
"""How often k-means moves its centres, at most."""
RANDOM_DRAWS = 10
"""Samples over which the error of random sampling is averaged."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """Some rows with all similarities K between them and weights t: where baselines are measured.

    Errors are MMD² to rows that have the mean similarities b with these, and c with each other.

    The first `choices` of them may be kept, all if None: the others are of another target.
    """

    problem: "PointsProblem"
    rows: Indices
    K: npt.NDArray[np.float64]
    t: Vector
    b: Vector
    c: float
    choices: int | None = None

    def discrepancy(self, q: Vector) -> float:
        """Qᵀ K q - 2 qᵀ b + c."""
        return max(float(q @ (self.K @ q) - 2.0 * (q @ self.b) + self.c), 0.0)

    def at_random(self, k: int) -> float:
        """The mean over draws of k rows with equal weights; rows may come twice where they weigh differently."""
        rng = np.random.default_rng(1)
        n, m = len(self.t), self.choices or len(self.t)
        shares = self.t if self.choices is None else np.full(m, 1.0 / m)
        again = self.problem.weights is not None or k > m or self.problem.size > m
        draws = (rng.choice(m, k, replace=again, p=shares) for _ in range(RANDOM_DRAWS))
        return float(
            np.mean([self.discrepancy(np.bincount(draw, minlength=n) / k) for draw in draws])
        )

    def units_at_random(self, k: int) -> float:
        """The mean over draws of k units with equal weights; infinite where there are fewer."""
        _, members = np.unique(self.problem.members[self.rows], return_inverse=True)
        rng, total = np.random.default_rng(1), np.bincount(members, self.t)
        if k > len(total):
            return math.inf
        draws = (
            np.isin(members, rng.choice(len(total), k, replace=False)) for _ in range(RANDOM_DRAWS)
        )
        return float(
            np.mean([self.discrepancy(drawn * self.t / total[members] / k) for drawn in draws])
        )

    def snapped(self, k: int) -> float:
        """The rows nearest to k-means centres, with the shares of their clusters."""
        Z = self.problem.Z[self.rows]
        there = slice(None) if self.choices is None else slice(self.choices, None)
        k = min(k, len(Z[there]))
        with own_threads():
            model = clustered(Z[there], k, self.t[there])
            shares = np.bincount(model.labels_, self.t[there], k)
            snapped = nearest(model.cluster_centers_, Z[: self.choices])
            return self.discrepancy(np.asarray(np.bincount(snapped, shares, len(Z)), np.float64))


def clustered(Z: npt.NDArray[np.float64], k: int, weights: Vector) -> Any:
    """k-means of weighted rows, fitted by scikit-learn from one k-means++ start."""
    from sklearn.cluster import KMeans  # here: it is slow to import
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct rows than k
        return KMeans(k, n_init=1, max_iter=MAX_ROUNDS, random_state=0).fit(
            Z, sample_weight=weights
        )


def nearest(centres: npt.NDArray[np.float64], rows: npt.NDArray[np.float64]) -> Indices:
    """The row nearest to each centre, (k,)."""
    from sklearn.metrics import pairwise_distances_argmin

    return np.asarray(pairwise_distances_argmin(centres, rows), np.int64)
