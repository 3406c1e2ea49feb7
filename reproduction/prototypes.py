"""Baselines that choose k rows of a data set, as the paper and its users know them.

Each takes X (N, d), k and labels y and returns (indices, weights): k sorted indices into X and
weights of sum one, equal ones or the shares of clusters. With labels the choice is "local":
similarities across classes are zero, and clusterings are made class by class.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from fewer import RowsMMD
from fewer.similarity import similarity_of

from .arrays import Indices, Vector

Chosen = tuple[Indices, Vector]


def critic_order(X: Vector, k: int, *, y: Any = None, gamma: float) -> Indices:
    """The rows that MMD-critic's greedy adds, in their order, (k,): the first m are its answer for m.

    Adds k times the row that raises J(S) = 2/|S| Σ_{j in S} c_j - 1/|S|² Σ_{i,j in S} k_ij most,
    c_j the mean similarity of j; global, or local with labels. Source: Kim, Khanna & Koyejo,
    "Examples are not enough, learn to criticize!", NeurIPS 2016.

    >>> critic_order(np.array([[0.0], [0.1], [8.8], [9.0]]), 3, gamma=0.0065).tolist()
    [2, 0, 3]
    """
    n = len(X)
    codes = None if y is None else np.unique(y, return_inverse=True)[1]
    F = RowsMMD.between(X, np.full(n, 1.0 / n), similarity_of("rbf", gamma), labels=codes)
    sums, linear, inner = np.zeros(n), 0.0, 0.0  # sums_j = Σ_{i in S} k_ij
    order: list[int] = []
    for m in range(1, k + 1):
        gains = 2.0 / m * (linear + F.mean) - (inner + 2.0 * sums + F.diagonal) / m**2
        gains[order] = -np.inf
        j = int(np.argmax(gains))
        linear, inner = linear + F.mean[j], inner + 2.0 * sums[j] + F.diagonal[j]
        order.append(j)
        sums += F.mean - F.slopes(np.array([j]), np.ones(1))  # the similarity of all rows to row j
    return np.array(order)


def shares(counts: Indices, k: int) -> Indices:
    """K split over classes in proportion to their counts, at least one each while k suffices.

    Largest remainders.

    >>> shares(np.array([6, 3, 1]), 5).tolist()
    [3, 1, 1]
    """
    sizes = np.minimum(counts, 1)
    if sizes.sum() > k:
        sizes[np.argsort(-counts, kind="stable")[k:]] = 0
    while sizes.sum() < min(k, counts.sum()):
        lack = np.where(sizes < counts, k * counts / counts.sum() - sizes, -np.inf)
        sizes[int(np.argmax(lack))] += 1
    return sizes


def kmeans_snapped(X: Vector, k: int, *, y: Any = None, rng: Any = None) -> Chosen:
    """The rows nearest to the centres of k-means, each with the share of its cluster.

    With labels class by class.

    >>> kmeans_snapped(np.array([[0.0], [1.0], [2.0], [9.0]]), 2, rng=0)[0].tolist()
    [1, 3]
    """
    seed = int(np.random.default_rng(rng).integers(2**31))
    codes = np.zeros(len(X), np.int64) if y is None else np.unique(y, return_inverse=True)[1]
    units: list[int] = []
    weights: list[float] = []
    for label, size in enumerate(shares(np.bincount(codes), k)):
        if size == 0:
            continue
        here = np.flatnonzero(codes == label)
        model = KMeans(int(size), n_init=1, random_state=seed).fit(X[here])
        for squared in euclidean_distances(model.cluster_centers_, X[here], squared=True):
            squared[np.isin(here, units)] = np.inf
            units.append(int(here[squared.argmin()]))
        weights += np.maximum(np.bincount(model.labels_, minlength=size), 1).tolist()
    order = np.argsort(units, kind="stable")
    return np.array(units)[order], np.array(weights)[order] / sum(weights)


def prototype_selection(
    X: Vector, k: int, *, y: Any = None, rng: Any = None, radii: int = 12
) -> Chosen:
    """Prototypes that cover rows of their own class within a radius and few of the others.

    The paper's PS.

    Greedy for the set cover: add the row with the most newly covered rows of its class, less the
    rows of other classes within the radius, while that is positive and at most k times. The radius
    is, of `radii` quantiles of the distances, the one whose prototypes classify the other rows best
    (without labels: cover most). N² distances in memory. Source: Bien & Tibshirani, "Prototype
    selection for interpretable classification", Annals of Applied Statistics 2011.

    >>> prototype_selection(np.array([[0.0], [1.0], [2.0], [9.0]]), 2, y=[0, 0, 0, 1])[0].tolist()
    [1, 3]
    """
    wide = X.astype(np.float32 if len(X) > 3000 else np.float64)
    squared = euclidean_distances(wide, squared=True)
    squared = np.minimum(squared, squared.T)  # a product of matrices is symmetric to rounding alone
    codes = np.zeros(len(X), np.int64) if y is None else np.unique(y, return_inverse=True)[1]
    levels = np.quantile(squared[:: max(1, len(squared) // 500)], np.linspace(0.005, 0.5, radii))
    tried = [cover(squared <= level, codes, k) for level in np.unique(levels)]
    units = np.sort(min(tried, key=lambda units: _missed(squared, codes, units)))
    return units, np.full(len(units), 1.0 / len(units))


def cover(near: npt.NDArray[np.bool_], codes: Indices, k: int) -> Indices:
    """The greedy cover: near (n, n), symmetric, says who lies within the radius of whom.

    At least one prototype.
    """
    same = codes[:, None] == codes[None, :]
    wrong = (near & ~same).sum(axis=1)
    right = near & same
    gains = right.sum(axis=1) - wrong
    covered = np.zeros(len(codes), bool)
    units: list[int] = []
    while len(units) < k:
        gains[units] = np.iinfo(np.int64).min
        j = int(gains.argmax())
        if gains[j] <= 0 and units:
            break
        units.append(j)
        fresh = np.flatnonzero(right[j] & ~covered)
        covered[fresh] = True
        gains = gains - right[fresh].sum(axis=0)
    return np.array(units)


def _missed(squared: npt.NDArray[np.floating[Any]], codes: Indices, units: Indices) -> float:
    """The share of the other rows whose nearest prototype has another label.

    Distances decide between equals.
    """
    part = squared[units]
    rest = np.setdiff1d(np.arange(len(codes)), units)
    wrong = codes[units[part[:, rest].argmin(axis=0)]] != codes[rest]
    return (
        float(wrong.mean() + 1e-9 * part.min(axis=0).mean() / max(float(squared.max()), 1e-300))
        if rest.size
        else 0.0
    )
