"""Baselines that choose k rows of a data set, as the paper and its users know them.

Each takes X (N, d) and k and returns (indices, weights): k sorted indices into X and weights of sum
one. Weights are equal (or the shares of clusters) unless `reweigh=True`, which gives the best ones
on the simplex in MMD, so that a baseline is judged by the rows it found. With labels y the choice
is "local": similarities across classes are zero, and clusterings are made class by class.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from fewer import InvalidInput, RowsMMD
from fewer.similarity import bandwidth, similarity_of

from ..arrays import Indices, Vector

Chosen = tuple[Indices, Vector]


def _rows(X: Any, k: int) -> Any:
    """X as rows (N, d), of which k can be chosen: dense float32 or float64, or CSR."""
    rows = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if not 1 <= k <= rows.shape[0]:
        raise InvalidInput(f"k must be in 1..{rows.shape[0]} rows, got {k}")
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _labels(y: Any, n: int) -> Indices:
    """The class of each row as a code; one class without labels."""
    if y is None:
        return np.zeros(n, np.int64)
    return np.unique(np.asarray(y), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _discrepancy(X: Any, y: Any, similarity: Any, gamma: Any) -> RowsMMD:
    """MMD from the rows X with equal weights."""
    width = 1.0 if callable(similarity) else bandwidth(X, similarity, gamma) or 1.0
    n = X.shape[0]
    labels = None if y is None else _labels(y, n)
    return RowsMMD.between(X, np.full(n, 1.0 / n), similarity_of(similarity, width), labels=labels)


def _handed(F: RowsMMD | None, indices: Any, weights: Any, reweigh: bool) -> Chosen:
    """Sorted indices with their weights, the best ones where asked for."""
    order = np.argsort(indices, kind="stable")
    units = np.asarray(indices, np.int64)[order]
    if reweigh and F is not None:
        return units, F.best_on(units)[units]
    share = np.full(len(units), 1.0) if weights is None else np.asarray(weights, np.float64)[order]
    return units, share / share.sum()


def critic_order(
    X: Any, k: int, *, y: Any = None, similarity: Any = "rbf", gamma: Any = "median"
) -> Indices:
    """The rows that MMD-critic's greedy adds, in their order, (k,): the first m are its answer for m.

    Adds k times the row that raises J(S) = 2/|S| Σ_{j in S} c_j - 1/|S|² Σ_{i,j in S} k_ij most,
    c_j the mean similarity of j; global, or local with labels. Source: Kim, Khanna & Koyejo,
    "Examples are not enough, learn to criticize!", NeurIPS 2016.

    >>> critic_order(np.array([[0.0], [0.1], [8.8], [9.0]]), 3).tolist()
    [2, 0, 3]
    """
    F = _discrepancy(_rows(X, k), y, similarity, gamma)
    n = F.space.size
    sums, linear, inner = np.zeros(n), 0.0, 0.0  # sums_j = Σ_{i in S} k_ij
    chosen: list[int] = []
    for m in range(1, k + 1):
        gains = 2.0 / m * (linear + F.mean) - (inner + 2.0 * sums + F.diagonal) / m**2
        gains[chosen] = -np.inf
        j = int(np.argmax(gains))
        linear, inner = linear + F.mean[j], inner + 2.0 * sums[j] + F.diagonal[j]
        chosen.append(j)
        sums += _column(F, j)
    return np.array(chosen)


def mmd_critic(
    X: Any,
    k: int,
    *,
    y: Any = None,
    similarity: Any = "rbf",
    gamma: Any = "median",
    reweigh: bool = False,
    rng: Any = None,
) -> Chosen:
    """Greedy prototypes with equal weights; global, or local with labels; see `critic_order`.

    >>> mmd_critic(np.array([[0.0], [0.1], [8.8], [9.0]]), 2)[0].tolist()
    [0, 2]
    """
    order = critic_order(X, k, y=y, similarity=similarity, gamma=gamma)
    return _handed(
        _discrepancy(_rows(X, k), y, similarity, gamma) if reweigh else None, order, None, reweigh
    )


def _column(F: RowsMMD, j: int) -> Vector:
    """The similarity of all rows to row j."""
    return F.mean - F.slopes(np.array([j]), np.ones(1))


def herding(
    X: Any,
    k: int,
    *,
    y: Any = None,
    similarity: Any = "rbf",
    gamma: Any = "median",
    reweigh: bool = False,
    rng: Any = None,
) -> Chosen:
    """Herding: the next row maximises c_j - 1/(t+1) Σ_{i chosen} k_ij; no row twice.

    Source: Chen, Welling & Smola, "Super-samples from kernel herding", UAI 2010.

    >>> herding(np.array([[0.0], [0.1], [8.8], [9.0]]), 2)[0].tolist()
    [0, 2]
    """
    F = _discrepancy(_rows(X, k), y, similarity, gamma)
    sums = np.zeros(F.space.size)
    chosen: list[int] = []
    for t in range(k):
        score = F.mean - sums / (t + 1)
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
        sums += _column(F, chosen[-1])
    return _handed(F, chosen, None, reweigh)


def random_rows(
    X: Any,
    k: int,
    *,
    y: Any = None,
    similarity: Any = "rbf",
    gamma: Any = "median",
    reweigh: bool = False,
    rng: Any = None,
) -> Chosen:
    """K rows drawn without replacement.

    >>> len(random_rows(np.arange(5.0)[:, None], 3, rng=0)[0])
    3
    """
    X = _rows(X, k)
    n = X.shape[0]
    units = np.random.default_rng(rng).choice(n, k, replace=False)
    return _handed(_discrepancy(X, y, similarity, gamma) if reweigh else None, units, None, reweigh)


def shares(counts: Indices, k: int) -> Indices:
    """K split over classes in proportion to their counts, at least one each while k suffices; largest remainders.

    >>> shares(np.array([6, 3, 1]), 5).tolist()
    [3, 1, 1]
    """
    given = np.minimum(counts, 1)
    if given.sum() > k:
        given[np.argsort(-counts, kind="stable")[k:]] = 0
    while given.sum() < min(k, counts.sum()):
        lack = np.where(given < counts, k * counts / counts.sum() - given, -np.inf)
        given[int(np.argmax(lack))] += 1
    return given


def _by_class(X: Any, k: int, y: Any, choose: Callable[[Any, int], Chosen]) -> Chosen:
    """Choose within each class, its points sharing the mass of the class; without labels there is one class."""
    codes = _labels(y, X.shape[0])
    parts = []
    for label, size in enumerate(shares(np.bincount(codes), k)):
        here = np.flatnonzero(codes == label)
        if size:
            units, weights = choose(X[here], int(size))
            parts.append((here[units], weights * len(here)))
    return np.concatenate([units for units, _ in parts]), np.concatenate(
        [weights for _, weights in parts]
    )


def kmeans_snapped(
    X: Any,
    k: int,
    *,
    y: Any = None,
    similarity: Any = "rbf",
    gamma: Any = "median",
    reweigh: bool = False,
    rng: Any = None,
) -> Chosen:
    """The rows nearest to the centres of k-means, each with the share of its cluster; with labels class by class.

    >>> kmeans_snapped(np.array([[0.0], [1.0], [2.0], [9.0]]), 2, rng=0)[0].tolist()
    [1, 3]
    """
    X = _rows(X, k)
    seed = int(np.random.default_rng(rng).integers(2**31))

    def choose(rows: Any, size: int) -> Chosen:
        model = KMeans(size, n_init=1, random_state=seed).fit(rows)
        squared = euclidean_distances(
            model.cluster_centers_.astype(np.float64), rows.astype(np.float64), squared=True
        )
        units: list[int] = []
        for row in squared:
            row[units] = np.inf
            units.append(int(row.argmin()))
        return np.array(units), np.maximum(
            np.bincount(model.labels_, minlength=size), 1
        ) / rows.shape[0]

    units, weights = _by_class(X, k, y, choose)
    return _handed(
        _discrepancy(X, y, similarity, gamma) if reweigh else None, units, weights, reweigh
    )


def k_medoids(
    X: Any,
    k: int,
    *,
    y: Any = None,
    similarity: Any = "rbf",
    gamma: Any = "median",
    reweigh: bool = False,
    rng: Any = None,
    passes: int = 10,
) -> Chosen:
    """Rows with the least total Euclidean distance of all rows to the nearest of them; with labels class by class.

    Eager swaps from a random start: each row in turn replaces the medoid with which that gains
    most, until a pass gains nothing. Weights are the shares of the clusters. N² distances in
    memory. Source: Schubert & Rousseeuw, "Fast and eager k-medoids clustering", Information Systems
    2021.

    >>> k_medoids(np.array([[0.0], [1.0], [2.0], [9.0]]), 2, rng=0)[0].tolist()
    [1, 3]
    """
    X = _rows(X, k)
    generator = np.random.default_rng(rng)

    def choose(rows: Any, size: int) -> Chosen:
        wide = rows.astype(np.float64)
        distances = np.sqrt(np.maximum(euclidean_distances(wide, wide, squared=True), 0.0))
        np.fill_diagonal(distances, 0.0)
        medoids = eager_swaps(
            distances, generator.choice(len(distances), size, replace=False), passes
        )
        owner = distances[medoids].argmin(axis=0)
        return medoids, np.maximum(np.bincount(owner, minlength=size), 1) / len(distances)

    units, weights = _by_class(X, k, y, choose)
    return _handed(
        _discrepancy(X, y, similarity, gamma) if reweigh else None, units, weights, reweigh
    )


def eager_swaps(distances: npt.NDArray[np.float64], medoids: Indices, passes: int) -> Indices:
    """Swap medoids (k,) for rows while that lowers Σ_i min_m distances_mi; distances: (n, n)."""
    medoids, n = medoids.copy(), len(distances)
    last = 0
    nearest = _two_nearest(distances, medoids)
    for step in range(passes * n):
        row = step % n
        if step - last > n:
            break
        owner, first, second = nearest
        d = distances[row]
        closer = d < first
        gain = float((first - d)[closer].sum())  # what the newcomer alone gains
        loss = np.bincount(
            owner, np.where(closer, 0.0, np.minimum(d, second) - first), len(medoids)
        )
        out = int(loss.argmin())
        if loss[out] - gain < -1e-12 * first.sum() and row not in medoids:
            medoids[out], last = row, step
            nearest = _two_nearest(distances, medoids)
    return medoids


def _two_nearest(
    distances: npt.NDArray[np.float64], medoids: Indices
) -> tuple[Indices, Vector, Vector]:
    """Position and distance of each row's nearest medoid, and the distance of its second."""
    part = distances[medoids]
    owner = part.argmin(axis=0)
    every = np.arange(part.shape[1])
    first = part[owner, every]
    part[owner, every] = np.inf
    return owner, first, part.min(axis=0)


def prototype_selection(
    X: Any,
    k: int,
    *,
    y: Any = None,
    similarity: Any = "rbf",
    gamma: Any = "median",
    reweigh: bool = False,
    rng: Any = None,
    radii: int = 12,
) -> Chosen:
    """Prototypes that cover rows of their own class within a radius and few of the others; the paper's PS.

    Greedy for the set cover: add the row with the most newly covered rows of its class, less the
    rows of other classes within the radius, while that is positive and at most k times. The radius
    is, of `radii` quantiles of the distances, the one whose prototypes classify the other rows best
    (without labels: cover most). N² distances in memory. Source: Bien & Tibshirani, "Prototype
    selection for interpretable classification", Annals of Applied Statistics 2011.

    >>> prototype_selection(np.array([[0.0], [1.0], [2.0], [9.0]]), 2, y=[0, 0, 0, 1])[0].tolist()
    [1, 3]
    """
    X = _rows(X, k)
    wide = X.astype(np.float32 if X.shape[0] > 3000 else np.float64)
    squared = euclidean_distances(wide, squared=True)
    squared = np.minimum(squared, squared.T)  # a product of matrices is symmetric to rounding alone
    codes = _labels(y, X.shape[0])
    levels = np.quantile(squared[:: max(1, len(squared) // 500)], np.linspace(0.005, 0.5, radii))
    tried = [cover(squared <= level, codes, k) for level in np.unique(levels)]
    best = min(tried, key=lambda units: _missed(squared, codes, units))
    F = _discrepancy(X, y, similarity, gamma) if reweigh else None
    return _handed(F, best, None, reweigh)


def cover(near: npt.NDArray[np.bool_], codes: Indices, k: int) -> Indices:
    """The greedy cover: near (n, n), symmetric, says who lies within the radius of whom; at least one prototype."""
    same = codes[:, None] == codes[None, :]
    wrong = (near & ~same).sum(axis=1)
    right = near & same
    gains = right.sum(axis=1) - wrong
    covered = np.zeros(len(codes), bool)
    chosen: list[int] = []
    while len(chosen) < k:
        gains[chosen] = np.iinfo(np.int64).min
        j = int(gains.argmax())
        if gains[j] <= 0 and chosen:
            break
        chosen.append(j)
        fresh = np.flatnonzero(right[j] & ~covered)
        covered[fresh] = True
        gains = gains - right[fresh].sum(axis=0)
    return np.array(chosen)


def _missed(squared: npt.NDArray[np.floating[Any]], codes: Indices, units: Indices) -> float:
    """The share of the other rows whose nearest prototype has another label; distances decide between equals."""
    part = squared[units]
    rest = np.setdiff1d(np.arange(len(codes)), units)
    wrong = codes[units[part[:, rest].argmin(axis=0)]] != codes[rest]
    return (
        float(wrong.mean() + 1e-9 * part.min(axis=0).mean() / max(float(squared.max()), 1e-300))
        if rest.size
        else 0.0
    )
