"""The baselines that choose rows, against obvious twins."""

from itertools import combinations

import numpy as np
import pytest

from fewer import MMD, Atoms, InvalidInput
from fewer.similarity import similarity_of
from reproduction.baselines import prototypes as baselines

METHODS = [
    baselines.herding,
    baselines.k_medoids,
    baselines.kmeans_snapped,
    baselines.mmd_critic,
    baselines.prototype_selection,
    baselines.random_rows,
]


def rows(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.standard_normal((n, d)) + 2.0 * y[:, None], y


def dense(X, y, gamma):
    K = similarity_of("rbf", gamma)(X, X)
    return K if y is None else K * (y[:, None] == y[None])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("labelled", [False, True])
def test_k_distinct_rows_with_weights_and_better_ones_when_reweighed(method, labelled):
    X, y = rows(0)
    y = y if labelled else None
    indices, weights = method(X, 5, y=y, gamma=0.2, rng=1)
    again, better = method(X, 5, y=y, gamma=0.2, rng=1, reweigh=True)
    assert np.array_equal(indices, again)
    assert 1 <= len(indices) <= 5
    assert np.array_equal(indices, np.unique(indices))
    assert weights.min() > 0
    assert weights.sum() == pytest.approx(1)
    F = MMD(Atoms(30), dense(X, y, 0.2), np.full(30, 1 / 30))
    p, q = np.zeros(30), np.zeros(30)
    p[indices], q[indices] = weights, better
    assert F.value(q) <= F.value(p) + 1e-12
    assert F.value(q) == pytest.approx(F.value_on(indices), rel=1e-9)


def critic_twin(K, k):
    chosen = []
    for _ in range(k):
        rest = [j for j in range(len(K)) if j not in chosen]
        score = [
            2 * K[[*chosen, j]].mean() - K[np.ix_([*chosen, j], [*chosen, j])].mean() for j in rest
        ]
        chosen.append(rest[int(np.argmax(score))])
    return sorted(chosen)


def herding_twin(K, k):
    chosen = []
    for t in range(k):
        score = [K[j].mean() - sum(K[i, j] for i in chosen) / (t + 1) for j in range(len(K))]
        chosen.append(max((j for j in range(len(K)) if j not in chosen), key=lambda j: score[j]))
    return sorted(chosen)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("labelled", [False, True])
def test_critic_and_herding_equal_their_definitions(seed, labelled):
    X, y = rows(seed)
    y = y if labelled else None
    K = dense(X, y, 0.3)
    assert baselines.mmd_critic(X, 6, y=y, gamma=0.3)[0].tolist() == critic_twin(K, 6)
    assert baselines.herding(X, 6, y=y, gamma=0.3)[0].tolist() == herding_twin(K, 6)


def cover_twin(near, codes, k):
    chosen, covered = [], set()
    for _ in range(k):
        gains = {}
        for j in range(len(codes)):
            mine = {i for i in range(len(codes)) if near[j, i] and codes[i] == codes[j]}
            others = sum(bool(near[j, i]) and codes[i] != codes[j] for i in range(len(codes)))
            gains[j] = len(mine - covered) - others if j not in chosen else -(10**9)
        best = max(gains, key=lambda j: (gains[j], -j))
        if gains[best] <= 0 and chosen:
            break
        chosen.append(best)
        covered |= {i for i in range(len(codes)) if near[best, i] and codes[i] == codes[best]}
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_prototype_selection_is_the_greedy_cover(seed):
    X, y = rows(seed)
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    for radius in (1.0, 4.0, 9.0):
        near = squared <= radius
        assert baselines.cover(near, y, 6).tolist() == cover_twin(near, y, 6)


@pytest.mark.parametrize("seed", range(5))
def test_medoids_end_where_no_swap_helps_and_never_beat_enumeration(seed):
    X, _ = rows(seed, n=12)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))

    def total(medoids):
        return D[list(medoids)].min(axis=0).sum()

    found = baselines.k_medoids(X, 3, rng=seed)[0].tolist()
    swaps = [{*found} - {i} | {j} for i in found for j in range(12) if j not in found]
    assert total(found) <= min(map(total, swaps)) + 1e-9
    assert total(found) >= min(map(total, combinations(range(12), 3))) - 1e-9


def test_kmeans_is_snapped_to_the_nearest_rows():
    X = np.array([[0.0], [1.0], [2.1], [50.0], [51.0], [52.1]])
    indices, weights = baselines.kmeans_snapped(X, 2, rng=0)
    assert indices.tolist() == [1, 4]
    assert weights.tolist() == [0.5, 0.5]


def test_classes_share_k_in_proportion_and_each_gets_one():
    assert baselines.shares(np.array([90, 9, 1]), 10).tolist() == [8, 1, 1]
    assert baselines.shares(np.array([5, 4, 3]), 2).tolist() == [1, 1, 0]
    X, y = rows(3)
    for method in (baselines.kmeans_snapped, baselines.k_medoids):
        assert set(y[method(X, 3, y=y, rng=0)[0]]) == {0, 1, 2}


@pytest.mark.parametrize("method", METHODS)
def test_too_many_points_is_a_sentence(method):
    with pytest.raises(InvalidInput, match=r"k must be in 1\.\.30"):
        method(rows(0)[0], 31)
