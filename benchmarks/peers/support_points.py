"""Support points (Mak & Joseph 2018): k places of equal weight that minimise the energy distance to the rows."""

from typing import Any

import numpy as np

from peers import Found, Peer

ITERATIONS = 200
BATCH = 5000


def support_points(X: np.ndarray, k: int, seed: int = 0) -> np.ndarray:
    """The stochastic majorisation-minimisation of the paper (sp.sccp): each step solves for all points at once."""
    rng = np.random.default_rng(seed)
    X = np.asarray(X, np.float64)
    Y = X[rng.choice(len(X), k, replace=False)] + 1e-6 * X.std() * rng.standard_normal(
        (k, X.shape[1])
    )
    for step in range(ITERATIONS):
        part = X if len(X) <= BATCH else X[rng.choice(len(X), BATCH, replace=False)]
        near = 1.0 / np.maximum(distances(Y, part), 1e-9)
        own = distances(Y, Y)
        np.fill_diagonal(own, np.inf)
        away = 1.0 / np.maximum(own, 1e-9)
        push = Y * away.sum(axis=1)[:, None] - away @ Y
        moved = (near @ part + len(part) / k * push) / near.sum(axis=1)[:, None]
        Y = moved if len(part) == len(X) else Y + (moved - Y) / np.sqrt(1.0 + step / 20.0)
    return Y


def distances(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    squared = (A**2).sum(axis=1)[:, None] - 2.0 * A @ B.T + (B**2).sum(axis=1)
    return np.sqrt(np.maximum(squared, 0.0))


def method(problem: Any, k: int, seed: int, seconds: float) -> Found:
    return Found(support_points(problem.X, k, seed))


def snapped(problem: Any, k: int, seed: int, seconds: float) -> Found:
    """The row nearest to each point."""
    return Found(distances(support_points(problem.X, k, seed), problem.X).argmin(axis=1))


PEER = Peer(
    "support points",
    ("numpy",),
    {"places": {"energy distance": method}, "points": {"energy distance, snapped": snapped}},
    modest={"energy distance, snapped": 200_000},
)
