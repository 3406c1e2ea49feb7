"""The baselines that choose rows, against obvious twins."""

import numpy as np
import pytest

from fewer.similarity import similarity_of
from reproduction import prototypes


def rows(seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.standard_normal((n, d)) + 2.0 * y[:, None], y


@pytest.mark.parametrize("method", [prototypes.kmeans_snapped, prototypes.prototype_selection])
@pytest.mark.parametrize("labelled", [False, True])
def test_k_distinct_rows_with_weights(method, labelled):
    X, y = rows(0)
    labels = y if labelled else None
    indices, weights = method(X, 5, y=labels, rng=1)
    assert 1 <= len(indices) <= 5
    assert np.array_equal(indices, np.unique(indices))
    assert weights.min() > 0
    assert weights.sum() == pytest.approx(1)
    assert np.array_equal(indices, method(X, 5, y=labels, rng=1)[0])


def critic_twin(K, k):
    order = []
    for _ in range(k):
        rest = [j for j in range(len(K)) if j not in order]
        sets = [[*order, j] for j in rest]
        score = [2 * K[units].mean() - K[np.ix_(units, units)].mean() for units in sets]
        order.append(rest[int(np.argmax(score))])
    return order


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("labelled", [False, True])
def test_critic_equals_its_definition(seed, labelled):
    X, y = rows(seed)
    K = similarity_of("rbf", 0.3)(X, X)
    K = K * (y[:, None] == y[None]) if labelled else K
    order = prototypes.critic_order(X, 6, y=y if labelled else None, gamma=0.3)
    assert order.tolist() == critic_twin(K, 6)


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
        assert prototypes.cover(near, y, 6).tolist() == cover_twin(near, y, 6)


def test_classes_share_k_in_proportion_and_each_gets_one():
    assert prototypes.shares(np.array([90, 9, 1]), 10).tolist() == [8, 1, 1]
    assert prototypes.shares(np.array([5, 4, 3]), 2).tolist() == [1, 1, 0]
    X, y = rows(3)
    assert set(y[prototypes.kmeans_snapped(X, 3, y=y, rng=0)[0]]) == {0, 1, 2}
