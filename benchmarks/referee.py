"""Who judges answers of the default calls: the definitions in NumPy, none of the package's code."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

SAMPLED_ROWS = 1000
"""Evenly spaced rows from which the median distance is taken where there are more than twice as
many."""
EXACT_ROWS = 20_000
"""Rows up to which all pairs are compared; a mixture with more is known in closed form."""
BLOCK_ROWS = 1000
SLACK = 1e-9
"""Rounding that a weight or a sum of weights may have."""


def fault(n: int, k: int, indices: np.ndarray, weights: np.ndarray | None, **limits: Any) -> str:
    """The fault of an answer as a sentence, empty where there is none."""
    if len(indices) > k or len(set(indices.tolist())) < len(indices):
        return (
            f"{len(indices)} indices, {len(set(indices.tolist()))} of them distinct, where k = {k}"
        )
    if len(indices) and (indices.min() < 0 or indices.max() >= n):
        return f"indices outside 0..{n - 1}"
    if weights is None:
        return ""
    low, high = limits.get("min_weight", 0.0), limits.get("max_weight", 1.0)
    positive = weights[weights > 0]
    if (
        abs(weights.sum() - 1.0) > SLACK
        or weights.min() < 0
        or positive.min() < low - SLACK
        or positive.max() > high + SLACK
    ):
        return (
            f"weights in [{weights.min():g}, {weights.max():g}] of sum {weights.sum():g}, allowed"
            f" [{low:g}, {high:g}]"
        )
    missing = sorted(set(limits.get("include", ())) - set(indices.tolist()))
    if missing:
        return f"columns {missing} are not included"
    groups = limits.get("groups")
    if (
        groups is not None
        and np.bincount(groups[indices[weights > 0]]).max() > limits["max_per_group"]
    ):
        return "too many columns of one group"
    return ""


class LeastSquares:
    """‖X q - y‖²."""

    def __init__(self, X: Any, y: np.ndarray) -> None:
        self.X, self.y, self.n = X, y, X.shape[1]
        self.scale = float(y @ y)

    def judge(self, indices: np.ndarray, weights: np.ndarray) -> float:
        columns = self.X[:, indices]
        return float((((columns.astype(np.float64) @ weights) - self.y) ** 2).sum())


class Histogram:
    """Σ (Q - P)² of the cumulative distributions, or ‖q - p‖² of the entries."""

    scale = 1.0

    def __init__(self, counts: np.ndarray, cumulative: bool) -> None:
        self.p, self.cumulative, self.n = counts / counts.sum(), cumulative, len(counts)

    def judge(self, indices: np.ndarray, weights: np.ndarray) -> float:
        difference = -self.p
        difference[indices] += weights
        return float(((np.cumsum(difference) if self.cumulative else difference) ** 2).sum())


class Coverage:
    """KL -log Q(S), or l2 ‖q‖² - Q2(S) + (1 - Q(S))² / 2^|S|, of a table of zeros and ones."""

    scale = 1.0

    def __init__(self, X: np.ndarray, metric: str) -> None:
        self.X, self.metric, self.n = X, metric, X.shape[1]
        packed, counts = np.unique(np.packbits(X != 0, axis=1), axis=0, return_counts=True)
        self.states = np.unpackbits(packed, axis=1, count=self.n).astype(bool)
        self.q = counts / counts.sum()

    def judge(self, indices: np.ndarray, weights: None) -> float:
        outside = np.delete(self.states, indices, axis=1)
        inside = self.q[~outside.any(axis=1)]
        covered = math.fsum(inside)
        if self.metric == "kl":
            return -math.log(covered) if covered > 0 else math.inf
        return float(
            (self.q**2).sum() - (inside**2).sum() + (1.0 - covered) ** 2 / 2.0 ** len(indices)
        )


class Mmd:
    """MMD² of weighted rows to all rows, rbf with the median distance for its width.

    Across labels nothing is similar.

    With `centres` (m, d) the rows are an equal mixture of unit Gaussians around them, and past
    EXACT_ROWS rows the answer is compared with that mixture.
    """

    scale = 1.0

    def __init__(
        self, X: Any, labels: np.ndarray | None = None, centres: np.ndarray | None = None
    ) -> None:
        self.X = X if sp.issparse(X) else X - X.mean(axis=0, dtype=np.float64)
        self.labels, self.n = labels, X.shape[0]
        self.centres = (
            centres - X.mean(axis=0) if centres is not None and self.n > EXACT_ROWS else None
        )
        some = (
            np.linspace(0, self.n - 1, SAMPLED_ROWS).astype(int)
            if self.n > 2 * SAMPLED_ROWS
            else np.arange(self.n)
        )
        between = self.squared(some, some)[np.triu_indices(len(some), 1)]
        self.gamma = 0.5 / float(np.median(between[between > 1e-12 * between.max()]))
        self.constant = self.mean_of_all()

    def squared(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Squared distances between rows a and rows b."""
        A, B = self.X[a], self.X[b]
        lengths = [np.asarray((M * M).sum(axis=1)).reshape(-1) for M in (A, B)]
        product = A @ B.T
        product = product.toarray() if sp.issparse(product) else product
        return np.maximum(lengths[0][:, None] + lengths[1] - 2.0 * product, 0.0)

    def similar(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        similarities = np.exp(-self.gamma * self.squared(a, b))
        return (
            similarities
            if self.labels is None
            else similarities * (self.labels[a][:, None] == self.labels[b])
        )

    def smoothed(self, rows: np.ndarray, variance: float) -> np.ndarray:
        """The expected similarity of each row to the mixture, whose Gaussians are widened to the variance."""
        squared = ((rows[:, None] - self.centres[None]) ** 2).sum(axis=2)
        spread = 1.0 + 2.0 * self.gamma * variance
        return (spread ** (-rows.shape[1] / 2) * np.exp(-self.gamma / spread * squared)).mean(
            axis=1
        )

    def means(self, rows: np.ndarray) -> np.ndarray:
        """The mean similarity of each row to all."""
        if self.centres is not None:
            return self.smoothed(self.X[rows], 1.0)
        blocks = [np.arange(a, min(a + BLOCK_ROWS, self.n)) for a in range(0, self.n, BLOCK_ROWS)]
        return sum(self.similar(rows, block).sum(axis=1) for block in blocks) / self.n

    def mean_of_all(self) -> float:
        if self.centres is not None:
            return float(self.smoothed(self.centres, 2.0).mean())
        blocks = [np.arange(a, min(a + BLOCK_ROWS, self.n)) for a in range(0, self.n, BLOCK_ROWS)]
        return math.fsum(float(self.means(block).sum()) for block in blocks) / self.n

    def judge(self, indices: np.ndarray, weights: np.ndarray) -> float:
        inner = weights @ self.similar(indices, indices) @ weights
        return float(inner - 2.0 * self.means(indices) @ weights + self.constant)
