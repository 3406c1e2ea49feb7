"""goodpoints: kernel thinning and Compress++.

Sizes are n / 2^m, so each is given as many rows as lead to k.
"""

from typing import Any

import numpy as np

from peers import Found, Peer


def thinning(problem: Any, k: int, seed: int, seconds: float) -> Found:
    """Kernel thinning of k 2^m rows, with the similarity itself to split and to swap."""
    return Found(thinned(problem, np.random.default_rng(seed).permutation(len(problem.X)), k, seed))


def thinned(problem: Any, units: Any, k: int, seed: int) -> Any:
    """K of these rows by kernel thinning; the first k 2^m of them are used."""
    from goodpoints import kt

    rounds = int(np.log2(len(units) // k))
    kept = units[: k * 2**rounds]

    def similarity(y: Any, X: Any) -> Any:
        return np.exp(-problem.gamma * ((np.atleast_2d(X) - y) ** 2).sum(axis=1))

    stored = len(kept) <= 20_000
    return kept[
        kt.thin(
            problem.X[kept], rounds, similarity, similarity, seed=seed, store_K=stored, unique=True
        )
    ]


def compress(problem: Any, k: int, seed: int, seconds: float) -> Found:
    """Compress++ on the largest power of four of rows, to its root, then to k.

    Where that root is below k, Compress alone with as much oversampling as leaves at least 2 k
    rows, then to k.
    """
    from goodpoints.compress import compress_kt, compresspp_kt

    kept = np.random.default_rng(seed).permutation(len(problem.X))
    rows = np.ascontiguousarray(problem.X[kept])
    own = {"k_params": np.array([1.0 / problem.gamma]), "seed": seed}
    root = 2 ** int(np.log2(len(rows)) // 2)
    if root >= k:
        first = kept[compresspp_kt(rows, b"gaussian", g=4, **own)]
    else:
        first = kept[compress_kt(rows, b"gaussian", g=int(np.ceil(np.log2(2 * k / root))), **own)]
    return Found(thinned(problem, first, k, seed))


PEER = Peer(
    "goodpoints",
    ("goodpoints",),
    {"points": {"kernel thinning": thinning, "Compress++": compress}},
    modest={"kernel thinning": 20_000},
)
