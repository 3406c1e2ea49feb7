"""Points that leave their rows, beside other places that are no rows: k-means, mixtures, support points, gradient flow.

Every peer gets the best weights in MMD on its places, as they are and after they were clipped to the box of the data,
which `move=True` never leaves. Values are relative to those of the best rows at the default gamma, judged on all rows:
exactly up to 20,000 of them, beyond by random Fourier features that nobody else saw (one draw for all methods; about
3 % of a value). Peers see at most 20,000 rows. Seconds are processor time on one thread.
`points.py --part move` runs it.
"""

import time

import numpy as np
from scipy import ndimage
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.mixture import GaussianMixture

from fewer import RowsMMD, points
from fewer.active_set import simplex_weights
from fewer.similarity import bandwidth, similarity_of
from peers.gradient_flow import flow
from peers.support_points import support_points

MAX_ROWS = 20_000
"""Rows that peers see, and up to which all pairs are compared by the judge."""
FREQUENCIES = 1024
"""Random frequencies of the judge beyond that."""
PEERS = {
    "k-means": lambda X, k, gamma: (
        KMeans(k, random_state=0, n_init=3 if X.size * k < 10**9 else 1).fit(X).cluster_centers_
    ),
    "mixture EM": lambda X, k, gamma: (
        GaussianMixture(k, covariance_type="diag", random_state=0, reg_covar=1e-3, max_iter=50)
        .fit(X)
        .means_
    ),
    "support points": lambda X, k, gamma: support_points(X, k),
    "MMD gradient flow": flow,
}


class Judge:
    """MMD² of weighted places from all rows: exact, or by features where pairs of rows are too many."""

    def __init__(self, X) -> None:
        self.X = X
        self.gamma = bandwidth(X, "rbf", "median")
        self.similarity = similarity_of("rbf", self.gamma)
        if len(X) <= MAX_ROWS:
            self.constant = RowsMMD.between(
                X, np.full(len(X), 1 / len(X)), self.similarity
            ).constant
        else:
            rng = np.random.default_rng(12345)
            self.frequencies = np.sqrt(2.0 * self.gamma) * rng.standard_normal(
                (X.shape[1], FREQUENCIES)
            )
            self.mean = sum(self.waves(part).sum(axis=1) for part in self.parts()) / len(X)

    def parts(self):
        return (
            np.asarray(part, np.float64)
            for part in np.array_split(self.X, max(1, len(self.X) // 10_000))
        )

    def waves(self, rows):
        turned = rows @ self.frequencies
        return np.concatenate([np.cos(turned), np.sin(turned)], axis=1).T

    def means(self, places):
        return sum(self.similarity(places, part).sum(axis=1) for part in self.parts()) / len(self.X)

    def value(self, places, weights=None) -> float:
        """With these weights, or the best ones."""
        places = np.asarray(places, np.float64)
        K, c = self.similarity(places, places), self.means(places)
        w = simplex_weights(K, c) if weights is None else weights
        if len(self.X) <= MAX_ROWS:
            return float(w @ K @ w - 2.0 * (c @ w) + self.constant)
        return float(np.square(self.waves(places) @ w - self.mean).sum() / FREQUENCIES)


def compare(data, sizes) -> None:
    """`data`: a function that makes the rows, by name."""
    print(
        "\nPoints that move: MMD² relative to the best rows, in brackets clipped to the box; seconds; times the rows'"
    )
    names = [*PEERS, "move=True", "move='free'"]
    print(f"{'':32s}{'rows':>22s}" + "".join(f"{name:>24s}" for name in names))
    for name, make in data.items():
        X = make()
        judge, low, high = Judge(X), X.min(axis=0), X.max(axis=0)
        some = (
            X
            if len(X) <= MAX_ROWS
            else X[np.random.default_rng(0).choice(len(X), MAX_ROWS, replace=False)]
        )
        for k in sizes:
            first, rows = timed(points, X, k, rng=0)
            base = judge.value(rows.rows, rows.weights)
            print(f"{f'{name}, k = {k}':32s}{base:12.3e} {first:7.1f} s", end="", flush=True)
            for method in PEERS.values():
                took, places = timed(method, np.asarray(some, np.float64), k, judge.gamma)
                inside = judge.value(np.clip(places, low, high)) / base
                shown = f"{judge.value(places) / base:.3f} ({inside:.3f}) {took:.1f} s"
                print(f"{shown:>24s}", end="", flush=True)
            for move in (True, "free"):
                took, moved = timed(points, X, k, move=move, rng=0)
                shown = f"{judge.value(moved.rows, moved.weights) / base:.3f} {took:.1f} s, {took / first:.1f} x"
                print(f"{shown:>24s}", end="", flush=True)
            print(flush=True)


def timed(call, *arguments, **options):
    began = time.process_time()
    result = call(*arguments, **options)
    return time.process_time() - began, result


def distorted_digits(n: int, seed: int = 0):
    """Pictures of 28 x 28 pixels in 0..255: scikit-learn's digits, enlarged, turned, sheared and shifted at random."""
    rng = np.random.default_rng(seed)
    large = np.stack(
        [ndimage.zoom(x, 20 / 8, order=1) for x in load_digits().data.reshape(-1, 8, 8) / 16.0]
    )
    found = np.zeros((n, 28, 28), np.float32)
    for i in range(n):
        angle, shear, scale = rng.normal(0, 0.15), rng.normal(0, 0.1), rng.uniform(0.85, 1.15, 2)
        turn = np.array(
            [[np.cos(angle), shear - np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        ) @ np.diag(1 / scale)
        shift = np.array([10, 10]) - turn @ np.array([14, 14]) + rng.normal(0, 0.7, 2)
        picture = large[rng.integers(len(large))]
        found[i] = ndimage.affine_transform(picture, turn, shift, output_shape=(28, 28), order=1)
    return 255 * np.clip(found, 0, 1).reshape(n, 784)
