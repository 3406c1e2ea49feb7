"""bins with k bars: against enumeration, a plain dynamic program and cvxpy."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from fewer import InvalidInput, Status, bins
from fewer._compiled.segments import advance_bars
from fewer.jobs.bins import bars


def cost_of(x, begins):
    """The squared difference to the means of runs that begin there."""
    return sum(((x[a:b] - x[a:b].mean()) ** 2).sum() for a, b in pairwise([*begins, len(x)]))


def by_enumeration(x, k):
    return min(
        cost_of(x, [0, *cuts]) for cuts in combinations(range(1, len(x)), min(k, len(x)) - 1)
    )


def by_numpy(x, k):
    """The plain O(k n²) dynamic program."""
    n = len(x)
    c1, c2 = np.append(0.0, np.cumsum(x)), np.append(0.0, np.cumsum(x**2))
    best = np.append(0.0, np.full(n, np.inf))
    for _ in range(k):
        after = np.full(n + 1, np.inf)
        for e in range(1, n + 1):
            s = np.arange(e)
            after[e] = (best[:e] + (c2[e] - c2[s]) - (c1[e] - c1[s]) ** 2 / (e - s)).min()
        best = after
    return best[n]


@pytest.mark.parametrize("seed", range(60))
def test_bars_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    k = int(rng.integers(1, n + 1))
    counts = rng.integers(0, 4, n) + (rng.random(n) if seed % 2 else 0.0)
    counts[rng.integers(n)] += 1
    x = counts / counts.sum()
    result = bins(counts=x, k=k, contiguous=True)
    best = by_enumeration(x, k)
    assert result.value == pytest.approx(best, abs=1e-15)
    assert result.bound <= best + 1e-15
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(((result.p - x) ** 2).sum(), abs=1e-15)
    assert result.indices[0] == 0
    assert len(result.indices) <= k
    assert len(np.flatnonzero(np.diff(result.p))) <= k - 1
    assert result.weights.sum() == pytest.approx(1.0)
    stops = np.append(result.indices[1:], n)
    np.testing.assert_allclose(
        result.weights, [result.p[a:b].sum() for a, b in zip(result.indices, stops, strict=True)]
    )


@pytest.mark.parametrize("kind", ["normal", "noise", "ramp", "steps", "spikes"])
def test_long_histograms_agree_with_the_plain_program(kind):
    rng = np.random.default_rng(1)
    n = 400
    counts = {
        "normal": np.histogram(rng.normal(size=5000), n)[0],
        "noise": rng.integers(0, 1000, n),
        "ramp": np.arange(n) ** 2,
        "steps": np.repeat(rng.integers(0, 50, 20), 20),
        "spikes": (rng.random(n) < 0.05) * rng.integers(1, 10**6, n),
    }[kind]
    x = counts / counts.sum()
    for k in (1, 2, 7, 25):
        result = bins(counts=counts, k=k, contiguous=True)
        assert result.value == pytest.approx(by_numpy(x, k), rel=1e-9, abs=1e-15)
        assert result.status is Status.OPTIMAL


def test_a_round_equals_its_twin():
    rng = np.random.default_rng(2)
    for _ in range(50):
        m = int(rng.integers(1, 12))
        x, w = rng.normal(size=m), rng.integers(1, 4, m).astype(float)
        sums = tuple(np.append(0.0, np.cumsum(term)) for term in (w, w * x, w * x**2))
        before = np.sort(rng.random(m + 1))
        before[: rng.integers(0, m)] = np.inf
        before[rng.integers(0, m)] = 0.1
        after, choice = np.full(m + 1, np.inf), np.zeros(m + 1, np.int32)
        ends, owners = np.empty((2, 2 * m + 2, 2)), np.full((2, 2 * m + 2), -1)
        state, ceilings = np.array([1, 0, 1]), np.full(m + 1, np.finfo(float).max)
        ends[0, 0] = x.min() - 1.0, x.max() + 1.0
        while state[2] <= m:
            advance_bars(before, sums, after, choice, ends, owners, state, ceilings, 3)
        for e in range(1, m + 1):
            costs = []
            for s in range(e):
                off = x[s:e] - np.average(x[s:e], weights=w[s:e])
                costs.append(before[s] + w[s:e] @ off**2)
            assert after[e] == pytest.approx(min(costs), abs=1e-12)
            assert min(costs) == np.inf or costs[choice[e]] == pytest.approx(min(costs), abs=1e-12)


def test_bars_are_the_best_whatever_is_looked_ahead(monkeypatch):
    """Bounds of what follows, from longer runs, cut no optimum off.

    Nor does the shortcut for monotone bins.
    """
    monkeypatch.setattr(bars, "COARSE", 8)
    monkeypatch.setattr(bars, "COARSE_PER_BAR", 2)
    rng, t = np.random.default_rng(5), np.linspace(0.0, 1.0, 70)
    shapes = (
        1.1 + np.sin(9.0 * t),
        np.exp(-20.0 * (t - 0.4) ** 2),
        np.minimum(t, 1.0 - t) + 0.1,
        t + 0.1,
        np.exp(-3.0 * t),
    )
    for shape in shapes:
        for noise in (0.0, 0.01, 0.3):
            x = np.maximum(shape + noise * rng.normal(size=t.size), 0.0)
            for k in (1, 3, 6):
                result = bins(counts=x / x.sum(), k=k, contiguous=True)
                assert result.value == pytest.approx(by_numpy(x / x.sum(), k), rel=1e-9, abs=1e-15)
                assert result.status is Status.OPTIMAL


def test_merged_neighbours_leave_a_true_bound(monkeypatch):
    monkeypatch.setattr(bars, "MAX_CHOICES", 60)
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = rng.dirichlet(np.ones(60))
        result = bins(counts=x, k=3, contiguous=True)
        best = by_numpy(x, 3)
        assert result.bound <= best + 1e-12 <= result.value + 2e-12
        assert result.bound > 0.0


def test_bars_speak_in_edges():
    result = bins(counts=[4, 4, 1, 1, 1, 1], k=2, contiguous=True, edges=[0, 1, 2, 4, 6, 8, 10])
    assert (result.value, result.indices.tolist()) == (0.0, [0, 2])
    assert result.distribution.edges.tolist() == [[0, 2], [2, 10]]
    assert result.to_frame()[["from", "to"]].to_numpy().tolist() == [[0, 2], [2, 10]]
    assert result.counts.tolist() == [8.0, 4.0]
    assert result.distribution.mean() == pytest.approx((8 * 1 + 4 * 6) / 12)
    values = np.r_[np.full(30, 1.0), np.full(10, 9.0)]
    grid = [0.0, 2.0, 8.0, 10.0]
    assert bins(values, 2, contiguous=True, grid=grid).indices.tolist() == [0, 1]
    alone = bins(counts=[3, 1, 2], k=2, contiguous=True)
    assert alone.distribution.edges.tolist() == [[0, 0], [1, 2]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"values": [1.0, 2.0]}, "needs bins: give grid"),
        ({"counts": [1, 2], "solver": "iht"}, "solver must be 'auto' or 'exact', got 'iht'"),
        ({"counts": [1, 2], "preserve": np.eye(2)}, "a matrix of functionals is for k single bins"),
        ({"counts": [1, 2], "k": 3}, r"k must be in 1\.\.2 \(bars\), got 3"),
        ({"counts": [1, 2], "contiguous": "yes"}, "contiguous must be True or False, got 'yes'"),
    ],
)
def test_what_bars_cannot_do(options, words):
    with pytest.raises(InvalidInput, match=words):
        bins(**{"k": 1, "contiguous": True, **options})


def test_a_time_limit_leaves_merged_neighbours():
    x = np.random.default_rng(0).random(5000)
    result = bins(counts=x / x.sum(), k=40, contiguous=True, time_limit=1e-9)
    assert result.status is Status.TIME_LIMIT
    assert len(result.indices) == 40
    assert result.bound == 0.0
