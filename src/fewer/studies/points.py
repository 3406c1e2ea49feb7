"""points as a study: MMD² to all rows, against random rows and k-means centres snapped to rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from ..door import Indices, Vector
from ..jobs.points import FewerPoints, points
from ..result import Result
from ..similarity import bandwidth, similarity_of
from .study import Judge, Table

COMPARED = 2000
"""Rows on which rivals and held-out errors are measured, at most: all their pairs are compared."""
DRAWS = 10


@dataclass(frozen=True, eq=False)
class PointsProblem:
    """Which k rows of Z (N, d), with which weights, stand for all; `shown` is the table as the user knows it.

    `labels` and `weights` (N,) may be None; `gamma` is a number, resolved by `PointsProblem.of`.
    """

    Z: npt.NDArray[np.float64]
    shown: Mapping[str, Sequence[Any]]
    labels: Any = None
    weights: Vector | None = None
    similarity: str = "rbf"
    gamma: Any = "median"
    pixels: npt.NDArray[np.float64] | None = None
    job = "points"
    unit = "points"
    usual_seconds = None
    measure = "MMD²"
    shares = frozenset({"weight"})

    @classmethod
    def of(cls, Z: npt.NDArray[np.float64], k: int, seed: int, gamma: Any, **rest: Any) -> "PointsProblem":
        """The problem with its bandwidth as a number, so that every k and every part of the data is measured alike."""
        problem = cls(Z, gamma=gamma, **rest)
        if problem.similarity == "precomputed":
            return problem
        if gamma == "cv":
            model = FewerPoints(k, similarity=problem.similarity, gamma="cv", solver="greedy", random_state=seed)
            width = model.fit(Z, problem.labels, problem.weights).gamma_
        else:
            width = bandwidth(Z, problem.similarity, gamma)
        return replace(problem, gamma="median" if width is None else float(width))

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.Z)

    @property
    def masses(self) -> Vector:
        """The weights of the rows, of sum one."""
        return np.full(self.size, 1.0 / self.size) if self.weights is None else self.weights / self.weights.sum()

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        setting = {"y": self.labels, "sample_weight": self.weights, "similarity": self.similarity, "gamma": self.gamma}
        return points(self.Z, k, **setting, **search)

    def error(self, result: Result) -> float:
        """MMD² to all rows."""
        return result.value

    def heaviest_first(self, result: Result) -> Indices:
        """The kept rows, in the order in which they are shown."""
        return result.support[np.argsort(-result.p[result.support], kind="stable")]

    def kept(self, result: Result) -> Table:
        """The rows with their weights, heaviest first, as the user's table has them."""
        rows = self.heaviest_first(result)
        table: Table = {"row": (rows + 1).tolist(), "weight": result.p[rows].tolist()}
        return table | {name: [plain(values[i]) for i in rows] for name, values in self.shown.items()}

    def rows_of(self, result: Result) -> npt.NDArray[np.float64]:
        """The kept rows as they are in the file, in the same order."""
        return (self.Z if self.pixels is None else self.pixels)[self.heaviest_first(result)]

    def lost(self, result: Result) -> dict[str, float]:
        """MMD² and its root, and the gap where a bound above zero is proven."""
        facts = {"MMD² to all rows": result.value, "MMD": math.sqrt(max(result.value, 0.0))}
        if isinstance(self.gamma, float):
            facts["gamma"] = self.gamma
        return {**facts, "gap": result.gap} if result.gap is not None and result.bound else facts

    @cached_property
    def sample(self) -> "Sampled":
        """The rows, or as many as are compared pair by pair."""
        rng = np.random.default_rng(0)
        few = np.arange(self.size) if self.size <= COMPARED else np.sort(rng.choice(self.size, COMPARED, replace=False))
        masses = self.masses[few]
        return Sampled(self, few, self.block(few, few), masses / masses.sum())

    def block(self, some: Indices, others: Indices) -> npt.NDArray[np.float64]:
        """Similarities between rows; zero across labels."""
        if self.similarity == "precomputed":
            found = self.Z[np.ix_(some, others)]
        else:
            width = self.gamma if isinstance(self.gamma, float) else 1.0
            found = np.asarray(similarity_of(self.similarity, width)(self.Z[some], self.Z[others]), np.float64)
        if self.labels is not None:
            found = found * (self.labels[some][:, None] == self.labels[others][None, :])
        return found

    @cached_property
    def rivals(self) -> Mapping[str, Callable[[int], float]]:
        """Random rows of equal weight (mean of 10 draws); for few rows also k-means centres snapped to rows."""
        found: dict[str, Callable[[int], float]] = {"random points": self.sample.at_random}
        if self.size <= COMPARED and self.similarity not in ("precomputed", "hamming"):
            found["k-means points"] = self.sample.snapped
        return found

    def split(self, share: float, rng: np.random.Generator) -> tuple["PointsProblem", Judge] | None:
        """Some rows are held out; the error there is MMD² to them."""
        order = rng.permutation(self.size)
        held = max(round(share * self.size), 1)
        if held >= self.size:
            return None
        test, train = np.sort(order[:held][:COMPARED]), np.sort(order[held:])
        masses = self.masses[test] / self.masses[test].sum()
        inner = float(masses @ self.block(test, test) @ masses)

        def judge(result: Result) -> float:
            units = train[result.support]
            q = result.p[result.support]
            cross = float(q @ self.block(units, test) @ masses)
            return max(float(q @ self.block(units, units) @ q) - 2.0 * cross + inner, 0.0)

        rows = self.Z[np.ix_(train, train)] if self.similarity == "precomputed" else self.Z[train]
        labels = None if self.labels is None else self.labels[train]
        weights = None if self.weights is None else self.weights[train]
        return replace(self, Z=rows, shown={}, labels=labels, weights=weights), judge


@dataclass(frozen=True, eq=False)
class Sampled:
    """Some rows with all similarities K between them and weights t: where rivals are measured."""

    problem: PointsProblem
    rows: Indices
    K: npt.NDArray[np.float64]
    t: Vector

    def discrepancy(self, q: Vector) -> float:
        """(q - t)ᵀ K (q - t)."""
        d = q - self.t
        return max(float(d @ (self.K @ d)), 0.0)

    def at_random(self, k: int) -> float:
        """The mean over draws of k rows with equal weights; rows may come twice where they weigh differently."""
        rng = np.random.default_rng(1)
        n, again = len(self.t), self.problem.weights is not None or k > len(self.t) or self.problem.size > len(self.t)
        draws = (rng.choice(n, k, replace=again, p=self.t) for _ in range(DRAWS))
        return float(np.mean([self.discrepancy(np.bincount(draw, minlength=n) / k) for draw in draws]))

    def snapped(self, k: int) -> float:
        """The rows nearest to k-means centres, with the shares of their clusters."""
        Z = self.problem.Z[self.rows]
        model = KMeans(min(k, len(Z)), n_init=1, max_iter=30, random_state=0).fit(Z, sample_weight=self.t)
        distances = model.transform(Z)
        shares = np.bincount(model.labels_, self.t, model.n_clusters)
        return self.discrepancy(np.asarray(np.bincount(distances.argmin(axis=0), shares, len(Z)), np.float64))


def plain(value: Any) -> Any:
    """A value as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
