"""Points that leave their rows, beside other places that are no rows: k-means, mixtures, support points, gradient flow.

Every peer gets the best weights in MMD on its places. Values are relative to those of the best rows at the default
gamma; beyond what can be compared pair by pair they are estimates by random features. `points.py --part move` runs it.
"""

import time

import numpy as np
from scipy import ndimage
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.mixture import GaussianMixture

from fewer import points
from fewer.active_set import simplex_weights
from fewer.similarity import bandwidth, similarity_of
from peers.gradient_flow import flow
from peers.support_points import support_points

PATIENCE = 2 * 10**6
"""Rows times k up to which the peers are run."""
PEERS = {
    "k-means": lambda X, k, gamma: KMeans(k, random_state=0, n_init=3).fit(X).cluster_centers_,
    "mixture EM": lambda X, k, gamma: (
        GaussianMixture(k, covariance_type="diag", random_state=0, reg_covar=1e-3).fit(X).means_
    ),
    "support points": lambda X, k, gamma: support_points(X, k),
    "MMD gradient flow": flow,
}


def compare(data, sizes) -> None:
    print("\nPoints that move: MMD² to all rows relative to the best rows, seconds, and times those of rows")
    for name, X in data.items():
        similarity = similarity_of("rbf", bandwidth(X, "rbf", "median"))
        for k in sizes:
            first, rows = timed(points, X, k, rng=0)
            print(f"{name}, k = {k}: rows {rows.value:.3e} in {first:.1f} s")
            took, moved = timed(points, X, k, move=True, rng=0)
            print(
                f"  {'move=True':18s}{moved.value / rows.value:8.3f} {took:7.1f} s, {took / first:.1f} times",
                flush=True,
            )
            if len(X) * k > PATIENCE:
                continue
            base = quadratic(X, rows.rows, rows.weights, similarity)
            for peer, method in PEERS.items():
                took, places = timed(method, np.asarray(X, np.float64), k, similarity.gamma)
                weights = simplex_weights(similarity(places, places), mean_similarity(X, places, similarity))
                value = rows.value + quadratic(X, places, weights, similarity) - base
                print(f"  {peer:18s}{value / rows.value:8.3f} {took:7.1f} s", flush=True)


def timed(call, *arguments, **options):
    began = time.perf_counter()
    result = call(*arguments, **options)
    return time.perf_counter() - began, result


def quadratic(X, places, weights, similarity) -> float:
    """MMD² of weighted places from the rows X, without its constant."""
    return float(weights @ similarity(places, places) @ weights - 2 * mean_similarity(X, places, similarity) @ weights)


def mean_similarity(X, places, similarity):
    parts = np.array_split(X, max(1, len(X) // 10_000))
    places = np.asarray(places, np.float64)
    return sum(similarity(places, np.asarray(part, np.float64)).sum(axis=1) for part in parts) / len(X)


def distorted_digits(n: int, seed: int = 0):
    """Pictures of 28 x 28 pixels in 0..255: scikit-learn's digits, enlarged, turned, sheared and shifted at random."""
    rng = np.random.default_rng(seed)
    large = np.stack([ndimage.zoom(x, 20 / 8, order=1) for x in load_digits().data.reshape(-1, 8, 8) / 16.0])
    found = np.zeros((n, 28, 28), np.float32)
    for i in range(n):
        angle, shear, scale = rng.normal(0, 0.15), rng.normal(0, 0.1), rng.uniform(0.85, 1.15, 2)
        turn = np.array([[np.cos(angle), shear - np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ np.diag(1 / scale)
        shift = np.array([10, 10]) - turn @ np.array([14, 14]) + rng.normal(0, 0.7, 2)
        picture = large[rng.integers(len(large))]
        found[i] = ndimage.affine_transform(picture, turn, shift, output_shape=(28, 28), order=1)
    return 255 * np.clip(found, 0, 1).reshape(n, 784)
