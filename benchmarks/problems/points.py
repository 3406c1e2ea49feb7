"""points: rows, a similarity, and MMD² computed in blocks.

a mixture of Gaussians has its own in closed form.
"""

from functools import cached_property
from pathlib import Path

import numpy as np

from fewer import Atoms, Moments
from fewer.similarity import bandwidth

EXACT_ROWS = 20_000
"""Above this many rows of a mixture an answer is judged against the mixture itself."""


class Rows:
    """Rows X (N, d) with the similarity exp(-gamma ‖x - y‖²), gamma by the median rule."""

    measure = "MMD²"

    def __init__(self, X: np.ndarray) -> None:
        self.X = np.ascontiguousarray(X, np.float64)
        self.gamma = float(bandwidth(self.X, "rbf", "median") or 1.0)

    def similarity(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        squared = (A**2).sum(axis=1)[:, None] - 2.0 * A @ B.T + (B**2).sum(axis=1)[None, :]
        return np.exp(-self.gamma * np.maximum(squared, 0.0))

    def means(self, rows: np.ndarray) -> np.ndarray:
        """The mean similarity of these rows to all rows, in blocks."""
        step = max(1, 2_000_000 // len(rows))
        total = np.zeros(len(rows))
        for first in range(0, len(self.X), step):
            total += self.similarity(rows, self.X[first : first + step]).sum(axis=1)
        return total / len(self.X)

    @cached_property
    def whole(self) -> np.ndarray:
        """K, for peers that want it; its cost is counted where they ask for it."""
        return self.similarity(self.X, self.X)

    @cached_property
    def constant(self) -> float:
        parts = np.array_split(self.X, max(len(self.X) // 500, 1))
        return float(
            np.concatenate([self.means(part) for part in parts]).mean()
        )  # parts differ in size

    def judged_means(self, rows: np.ndarray) -> np.ndarray:
        return self.means(rows)

    def judge(self, units: np.ndarray, weights: np.ndarray) -> float:
        rows = self.X[units]
        inner = weights @ self.similarity(rows, rows) @ weights
        return float(max(inner - 2.0 * self.judged_means(rows) @ weights + self.constant, 0.0))

    def refit(self, units: np.ndarray) -> np.ndarray:
        """The best weights on the simplex: least squares in the factor of K on the units, solved exactly."""
        rows = self.X[units]
        values, vectors = np.linalg.eigh(self.similarity(rows, rows))
        kept = values > 1e-12 * values[-1]
        factor = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
        target = (vectors[:, kept].T @ self.means(rows)) / np.sqrt(values[kept])
        return Moments(Atoms(len(units)), factor, target).best_on(np.arange(len(units)))


class Mixture(Rows):
    """N rows of an equal mixture of 20 round Gaussians in d dimensions."""

    def __init__(self, N: int, d: int = 8, seed: int = 0, data: Path | None = None) -> None:
        rng = np.random.default_rng(seed)
        self.centres, self.width = 3.0 * rng.standard_normal((20, d)), 1.0
        super().__init__(self.centres[rng.integers(0, 20, N)] + rng.standard_normal((N, d)))

    @cached_property
    def constant(self) -> float:
        if len(self.X) <= EXACT_ROWS:
            return super().constant
        return float(self.smoothed(self.centres, 2.0 * self.width**2).mean())

    def smoothed(self, rows: np.ndarray, variance: float) -> np.ndarray:
        """The expected similarity of each row to the mixture, in closed form."""
        squared = ((rows[:, None] - self.centres[None]) ** 2).sum(axis=2)
        spread = 1.0 + 2.0 * self.gamma * variance
        return (spread ** (-rows.shape[1] / 2) * np.exp(-self.gamma / spread * squared)).mean(
            axis=1
        )

    def judged_means(self, rows: np.ndarray) -> np.ndarray:
        return self.means(rows) if len(self.X) <= EXACT_ROWS else self.smoothed(rows, self.width**2)


def digits(data: Path | None = None) -> Rows:
    from sklearn.datasets import load_digits

    return Rows(load_digits().data)


def usps(data: Path) -> Rows:
    with np.load(data / "usps.npz", allow_pickle=False) as file:
        return Rows(file["X_train"])


KINDS = {"digits": digits, "usps": usps, "mixture": Mixture}
