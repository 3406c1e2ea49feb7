"""core: projections, judged by their distance to v above that of the exact projection."""

from itertools import product
from pathlib import Path

import numpy as np


def by_sorting(v: np.ndarray) -> np.ndarray:
    """Onto the simplex, by sorting: the textbook's way."""
    descending = np.sort(v)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, v.size + 1)
    return np.maximum(v - excess[np.flatnonzero(descending > excess)[-1]], 0.0)


def top_by_sorting(v: np.ndarray, k: int) -> np.ndarray:
    """Onto the k-sparse simplex: the k largest entries by a full sort, then the simplex."""
    largest = np.argsort(-v, kind="stable")[:k]
    p = np.zeros(v.size)
    p[largest] = by_sorting(v[largest])
    return p


def literal(v: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """Algorithm 2 as printed: for every candidate, project onto its face and take the whole distance."""

    def project(units: list[int]) -> np.ndarray:
        outside = [i for i in range(rows.shape[1]) if i not in units]
        face = ~rows[:, outside].any(axis=1)
        p = np.zeros(v.size)
        p[face] = by_sorting(v[face])
        return p

    dimensions: list[int] = []
    while len(dimensions) < k:
        free = [i for i in range(rows.shape[1]) if i not in dimensions]
        distances = [((project([*dimensions, i]) - v) ** 2).sum() for i in free]
        dimensions.append(free[int(np.argmin(distances))])
    return project(dimensions)


class Vector:
    """A vector to project: Gaussian entries around 1/n, a few of them large."""

    measure = "largest difference from the exact projection"

    def __init__(self, n: int, seed: int = 0, data: Path | None = None) -> None:
        rng = np.random.default_rng(seed)
        self.v = 1.0 / n + rng.standard_normal(n) * 0.1
        self.k = 0

    def reference(self, k: int) -> np.ndarray:
        return top_by_sorting(self.v, k) if k else by_sorting(self.v)

    def judge(self, p: np.ndarray, k: int) -> float:
        return float(np.abs(np.asarray(p, np.float64) - self.reference(k)).max())


class Table(Vector):
    """A table over {0,1}^n to project onto D_k: fifty states with mass, and noise."""

    def __init__(self, n: int, seed: int = 0, data: Path | None = None) -> None:
        rng = np.random.default_rng(seed)
        self.n = n
        self.rows = np.array(list(product(range(2), repeat=n)), np.int8)
        q = np.zeros(2**n)
        q[rng.choice(2**n, 50, replace=False)] = rng.dirichlet(np.ones(50))
        self.v = q - 0.008 * rng.standard_normal(2**n)

    def reference(self, k: int) -> np.ndarray:
        return literal(self.v, self.rows, k)


KINDS = {"simplex": Vector, "sparse simplex": Vector, "greedy projection": Table}
