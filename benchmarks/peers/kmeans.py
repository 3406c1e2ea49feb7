"""scikit-learn's k-means, centres snapped to the nearest rows, weighted by the shares of the clusters."""

from typing import Any

import numpy as np

from peers import Found, Peer


def snapped(problem: Any, k: int, seed: int, seconds: float) -> Found:
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin

    model = KMeans(k, n_init=1, random_state=seed).fit(problem.X)
    units, place = np.unique(
        pairwise_distances_argmin(model.cluster_centers_, problem.X), return_inverse=True
    )
    shares = np.bincount(model.labels_, minlength=k)
    return Found(units, np.bincount(place, shares))


PEER = Peer("k-means", ("scikit-learn",), {"points": {"snapped": snapped}})
