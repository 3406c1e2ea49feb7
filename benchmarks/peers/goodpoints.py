"""goodpoints: kernel thinning and Compress++; sizes are n / 2^m, so each is given as many rows as lead to k."""

from typing import Any

import numpy as np

from peers import Found, Peer


def thinning(problem: Any, k: int, seed: int, seconds: float) -> Found:
    """Kernel thinning of k 2^m rows, with the similarity itself to split and to swap."""
    from goodpoints import kt

    rounds = int(np.log2(len(problem.X) // k))
    kept = np.random.default_rng(seed).permutation(len(problem.X))[: k * 2**rounds]
    rows = problem.X[kept]

    def similarity(y: Any, X: Any) -> Any:
        return np.exp(-problem.gamma * ((np.atleast_2d(X) - y) ** 2).sum(axis=1))

    chosen = kt.thin(rows, rounds, similarity, similarity, seed=seed, store_K=len(rows) <= 20_000, unique=True)
    return Found(kept[chosen])


def compress(problem: Any, k: int, seed: int, seconds: float) -> Found:
    """Compress++ on the largest power of four of rows, to its root, then to k where that is larger."""
    from goodpoints import kt
    from goodpoints.compress import compresspp_kt

    root = 2 ** int(np.log2(len(problem.X)) // 2)
    if root < k:
        raise ValueError(f"Compress++ ends at the root of a power of four of rows, {root}, below k = {k}")
    kept = np.random.default_rng(seed).permutation(len(problem.X))
    width = np.array([1.0 / problem.gamma])
    chosen = compresspp_kt(np.ascontiguousarray(problem.X[kept]), b"gaussian", k_params=width, g=4, seed=seed)
    first = kept[chosen]
    rounds = int(np.log2(len(first) // k))
    some = first[: k * 2**rounds]

    def similarity(y: Any, X: Any) -> Any:
        return np.exp(-problem.gamma * ((np.atleast_2d(X) - y) ** 2).sum(axis=1))

    return Found(some[kt.thin(problem.X[some], rounds, similarity, similarity, seed=seed, store_K=True, unique=True)])


PEER = Peer(
    "goodpoints",
    ("goodpoints",),
    {"points": {"kernel thinning": thinning, "Compress++": compress}},
    modest={"kernel thinning": 20_000},
)
