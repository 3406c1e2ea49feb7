"""kmedoids: FasterPAM on all distances.

Weights are the shares of the clusters, then re-optimised.
"""

from typing import Any

import numpy as np

from peers import Found, Peer


def fasterpam(problem: Any, k: int, seed: int, seconds: float) -> Found:
    import kmedoids
    from sklearn.metrics import euclidean_distances

    result = kmedoids.fasterpam(euclidean_distances(problem.X), k, random_state=seed, n_cpu=1)
    return Found(
        np.asarray(result.medoids, int), np.bincount(np.asarray(result.labels, int), minlength=k)
    )


PEER = Peer(
    "kmedoids", ("kmedoids",), {"points": {"FasterPAM": fasterpam}}, modest={"FasterPAM": 12_000}
)
