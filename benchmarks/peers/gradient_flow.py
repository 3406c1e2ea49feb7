"""MMD gradient flow (Arbel et al. 2019): k places of equal weight that descend MMD² with noise injected on the way."""

from typing import Any

import numpy as np

from peers import Found, Peer

ITERATIONS = 500


def flow(X: np.ndarray, k: int, gamma: float, seed: int = 0) -> np.ndarray:
    """Gradient descent from k random rows, the step halved where MMD² rises, noise that falls to zero."""
    rng = np.random.default_rng(seed)
    X = np.asarray(X, np.float64 if X.size < 10**7 else np.float32)
    X = X if len(X) <= 20_000 else X[rng.choice(len(X), 20_000, replace=False)]
    Y = X[rng.choice(len(X), k, replace=False)]
    width, rate, last = 1.0 / np.sqrt(2.0 * gamma), 0.5 * k / (2.0 * gamma), np.inf
    for step in range(ITERATIONS):
        noise = 0.2 * width / np.sqrt(X.shape[1]) * max(0.0, 1.0 - 2.0 * step / ITERATIONS)
        at = Y + noise * rng.standard_normal(Y.shape)
        K, c = similarities(at, at, gamma), similarities(at, X, gamma) / len(X)
        value = K.mean() - 2.0 * c.sum(axis=1).mean()
        rate = 0.5 * rate if noise == 0.0 and value > last else rate
        last = value if noise == 0.0 else np.inf
        away = (K.sum(axis=1)[:, None] * at - K @ at) / k
        toward = c.sum(axis=1)[:, None] * at - c @ X
        Y = Y + rate * 4.0 * gamma / k * (away - toward)
    return Y


def similarities(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
    squared = (A**2).sum(axis=1)[:, None] - 2.0 * A @ B.T + (B**2).sum(axis=1)
    return np.exp(-gamma * np.maximum(squared, 0.0))


def method(problem: Any, k: int, seed: int, seconds: float) -> Found:
    return Found(flow(problem.X, k, problem.gamma, seed))


PEER = Peer("MMD gradient flow", ("numpy",), {"places": {"with noise": method}})
