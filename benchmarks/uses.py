"""What points are good for: expectations, quantiles, classifiers, sets under limits, outliers, and clusters found.

Parts of `python benchmarks/points.py --part downstream|limits|outliers|clusters`.
"""

import time
from itertools import combinations

import numpy as np
from scipy.optimize import minimize
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances_argmin
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from fewer import criticisms, points
from fewer.active_set import box_weights
from fewer.similarity import bandwidth, similarity_of

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def sets_of(X, k: int, seed: int = 0):
    """Places with weights, by method: random rows, k-means, rows, and points that move."""
    rng = np.random.default_rng(seed)
    model = KMeans(k, n_init=3, random_state=seed).fit(X)
    rows, moved = points(X, k, rng=seed), points(X, k, rng=seed, move=True)
    return {
        "random": (X[rng.choice(len(X), k, replace=False)], np.full(k, 1 / k)),
        "k-means": (model.cluster_centers_, np.bincount(model.labels_, minlength=k) / len(X)),
        "rows": (X[rows.indices], rows.weights),
        "move=True": (moved.rows, moved.weights),
    }


def functions(X, kind: str, seed: int = 0):
    """200 random functions, smooth on the scale of the data, or rough: cosines of random directions."""
    rng = np.random.default_rng(seed)
    spread = np.sqrt(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    size = {"smooth": 1.0, "rough": 5.0}[kind] / spread
    directions, phases = (
        size * rng.standard_normal((X.shape[1], 200)),
        rng.uniform(0, 2 * np.pi, 200),
    )
    return lambda rows: np.cos(rows @ directions + phases)


def quantile_error(X, places, weights) -> float:
    """The mean error of five quantiles of each column, in its standard deviations."""
    found = []
    for j in np.flatnonzero(X.std(axis=0) > 0):
        order = np.argsort(places[:, j])
        at = np.minimum(np.searchsorted(np.cumsum(weights[order]), LEVELS), len(order) - 1)
        found.append(
            np.abs(places[order[at], j] - np.quantile(X[:, j], LEVELS)).mean() / X[:, j].std()
        )
    return float(np.mean(found))


def downstream(options) -> None:
    rng = np.random.default_rng(0)
    centres, part = rng.normal(0, 3, (10, 8)), rng.integers(10, size=4000)
    data = {"digits": load_digits().data, "mixture": centres[part] + rng.standard_normal((4000, 8))}
    print(
        "\nExpectations of 200 random functions (root mean squared error) and quantiles (in standard deviations)"
    )
    for name, X in data.items():
        for k in (20,) if options.quick else (20, 100):
            print(f"{name}, k = {k}:        smooth     rough  quantiles")
            for method, (places, weights) in sets_of(X, k).items():
                errors = [
                    np.sqrt(np.mean((f(X).mean(axis=0) - weights @ f(places)) ** 2))
                    for f in (functions(X, "smooth"), functions(X, "rough"))
                ]
                print(
                    f"  {method:18s}{errors[0]:9.5f} {errors[1]:9.5f} {quantile_error(X, places, weights):9.4f}",
                    flush=True,
                )
    learned(options)


def learned(options) -> None:
    """Accuracy of classifiers that see k labelled points."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    print("Digits, classifiers trained on k points: accuracy of 1-NN and of logistic regression")
    for k in (20,) if options.quick else (20, 100):
        rng = np.random.default_rng(0)
        some = rng.choice(len(X), k, replace=False)
        found = {"random": (X[some], np.full(k, 1 / k), y[some])}
        centres, shares, labels = [], [], []
        for c in range(10):
            model = KMeans(k // 10, n_init=3, random_state=0).fit(X[y == c])
            centres.append(model.cluster_centers_)
            shares.append(np.bincount(model.labels_, minlength=k // 10) / len(X))
            labels.append(np.full(k // 10, c))
        found["k-means by class"] = (
            np.vstack(centres),
            np.concatenate(shares),
            np.concatenate(labels),
        )
        for method, how in (("rows", False), ("move=True", True)):
            result = points(X, k, labels=y, rng=0, move=how)
            found[method] = result.rows, result.weights, y[result.indices]
        print(f"k = {k}:                 1-NN  logistic")
        scale = StandardScaler().fit(X)
        for method, (rows, weights, own) in found.items():
            near = KNeighborsClassifier(1).fit(rows, own).score(X_test, y_test)
            linear = LogisticRegression(max_iter=2000).fit(
                scale.transform(rows), own, sample_weight=len(X) * weights
            )
            print(
                f"  {method:18s}{near:9.3f} {linear.score(scale.transform(X_test), y_test):9.3f}",
                flush=True,
            )


def limits(options) -> None:
    """The value of `points` under limits over that of the best feasible set, by enumeration."""
    n, k = 16, 4
    groups = np.arange(n) % 4
    cases = {
        "none": ({}, lambda at: True, 0.0, 1.0),
        "include": ({"include": [4]}, lambda at: 4 in at, 0.0, 1.0),
        "one of each group": (
            {"groups": groups, "min_per_group": 1, "max_per_group": 1},
            lambda at: len(set(groups[list(at)])) == 4,
            0.0,
            1.0,
        ),
        "equal weights": ({"equal_weights": True}, lambda at: True, 1 / k, 1 / k),
        "weights in 0.1..0.4": ({"min_weight": 0.1, "max_weight": 0.4}, lambda at: True, 0.1, 0.4),
    }
    seeds = range(5 if options.quick else 20)
    print(
        f"\nLimits: {n} rows, k = {k}, {len(seeds)} data sets: value / optimum, worst and mean, and how many within 1 %"
    )
    for name, (how, allowed, low, high) in cases.items():
        ratios, feasible = [], True
        for seed in seeds:
            X = np.random.default_rng(seed).standard_normal((n, 2))
            found = points(X, k, gamma=0.5, rng=0, **how)
            S = similarity_of("rbf", 0.5)(X, X)
            c, best = S.mean(axis=1), np.inf
            for at in combinations(range(n), k):
                if allowed(at):
                    K, b = S[np.ix_(at, at)], c[list(at)]
                    w = box_weights(K, b, low, high, np.full(k, 1 / k))
                    best = min(best, w @ K @ w - 2 * b @ w + S.mean())
            kept = found.weights[found.weights > 0]
            within = kept.min() >= low - 1e-12 and kept.max() <= high + 1e-12
            feasible = feasible and bool(allowed(found.indices.tolist()) and within)
            ratios.append(found.value / best)
        near = np.mean(np.array(ratios) <= 1.01)
        said = "" if feasible else "  NOT FEASIBLE"
        print(f"  {name:22s}{max(ratios):8.4f}{np.mean(ratios):9.4f}{near:8.0%}{said}", flush=True)

    boxed()


def boxed(sets: int = 5, n: int = 30, k: int = 3, starts: int = 30) -> None:
    """The value of points that move in a box over the best of many descents from random places in it."""
    ratios, feasible, similarity = [], True, similarity_of("rbf", 0.5)
    low, high = np.array([-1.0, -0.5]), np.array([0.5, 1.0])
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 2))
        constant = similarity(X, X).mean()

        def value(flat, X=X, constant=constant):
            Y = flat.reshape(k, 2)
            K, c = similarity(Y, Y), similarity(Y, X).mean(axis=1)
            w = box_weights(K, c, 0.0, 1.0, np.full(k, 1 / k))
            return w @ K @ w - 2 * c @ w + constant

        begin = rng.uniform(np.tile(low, k), np.tile(high, k), (starts, 2 * k))
        box = list(zip(np.tile(low, k), np.tile(high, k), strict=True))
        best = min(minimize(value, one, method="L-BFGS-B", bounds=box).fun for one in begin)
        found = points(X, k, gamma=0.5, rng=0, move=(low, high))
        feasible = feasible and bool((found.rows >= low).all() and (found.rows <= high).all())
        ratios.append(found.value / best)
    near, said = np.mean(np.array(ratios) <= 1.01), "" if feasible else "  NOT FEASIBLE"
    name = f"move in a box, {sets} sets"
    print(f"  {name:22s}{max(ratios):8.4f}{np.mean(ratios):9.4f}{near:8.0%}{said}", flush=True)


def outliers(options) -> None:
    """Of 20 planted outliers those among the first 30 criticisms."""
    X = np.vstack([load_digits().data, np.random.default_rng(0).uniform(0.0, 16.0, (20, 64))])
    print("\nDigits with 20 planted outliers: how many are among the first 30 criticisms")
    for k in (10, 20, 50):
        result = points(X, k, rng=0)
        counts = [
            int((criticisms(result, X, 30, method=m) >= 1797).sum())
            for m in ("residual", "witness")
        ]
        print(f"  k = {k:3d}: residual {counts[0]}, witness (MMD-critic) {counts[1]}", flush=True)


def clusters(options) -> None:
    """Embeddings: 300 planted clusters of very different size on a sphere; the share of them that k rows meet."""
    rng = np.random.default_rng(0)
    n, d, parts = (6000, 64, 300) if options.quick else (20_000, 128, 300)
    centres = rng.standard_normal((parts, d))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    z = rng.choice(parts, n, p=rng.dirichlet(np.full(parts, 1.0)))
    X = (centres[z] + 0.6 / np.sqrt(d) * rng.standard_normal((n, d))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    print(
        f"\nEmbeddings, {n} x {d}, {len(set(z))} planted clusters of different size: the share met by k rows"
    )
    gamma, rare = bandwidth(X, "rbf", "median"), inverse_density(X)
    names = ["rbf", "10 gamma", "rare", "cosine", "k-means", "facility", "random"]
    print(f"{'k':>6s}" + "".join(f"{name:>10s}" for name in names) + "   seconds of rbf")
    for k in (100, 300):
        took, first = timed(points, X, k, rng=0)
        rows = {"rbf": first.indices, "10 gamma": points(X, k, gamma=10 * gamma, rng=0).indices}
        rows["rare"] = points(X, k, sample_weight=rare, rng=0).indices
        rows["cosine"] = points(X, k, similarity="cosine", rng=0).indices
        model = MiniBatchKMeans(k, random_state=0, n_init=1).fit(X)
        rows["k-means"] = pairwise_distances_argmin(model.cluster_centers_, X)
        rows["facility"] = facility_location(X, k)
        rows["random"] = rng.choice(n, k, replace=False)
        shares = {name: len(set(z[some])) / len(set(z)) for name, some in rows.items()}
        print(
            f"{k:6d}" + "".join(f"{shares[name]:10.0%}" for name in names) + f"{took:10.1f}",
            flush=True,
        )


def inverse_density(X, seen: int = 3000):
    """Weights by which rare rows count as much as frequent ones: one over the mean similarity at 20 times gamma."""
    some = np.random.default_rng(0).choice(len(X), min(seen, len(X)), replace=False)
    near = similarity_of("rbf", 20 * bandwidth(X, "rbf", "median"))
    return 1 / np.concatenate(
        [near(part, X[some]).mean(axis=1) for part in np.array_split(X, len(X) // 2000 + 1)]
    )


def timed(call, *arguments, **options):
    began = time.process_time()
    result = call(*arguments, **options)
    return time.process_time() - began, result


def facility_location(X, k: int, seen: int = 4000):
    """Lazy greedy facility location on cosine similarities to some thousand rows, as in apricot."""
    import heapq

    some = np.random.default_rng(0).choice(len(X), min(seen, len(X)), replace=False)
    S = np.maximum(X @ X[some].T, 0.0)
    best, found = np.zeros(len(some), np.float32), []
    heap = [(-float(gain), i) for i, gain in enumerate(S.sum(axis=1))]
    heapq.heapify(heap)
    while len(found) < k:
        _, i = heapq.heappop(heap)
        gain = float(np.maximum(S[i] - best, 0.0).sum())
        if not heap or gain >= -heap[0][0] - 1e-9:
            found.append(i)
            best = np.maximum(best, S[i])
        else:
            heapq.heappush(heap, (-gain, i))
    return np.array(found)
