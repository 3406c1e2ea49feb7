"""points with rows chosen whole by unit: against the whole matrix of similarities, enumeration and cvxpy."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from fewer import InvalidInput, Status, points
from fewer.jobs.points import units as module


def case(seed, rows=24, patients=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2)) + rng.integers(0, 3, (rows, 1))
    who = np.append(np.arange(patients), rng.integers(0, patients, rows - patients))
    weights = rng.uniform(0.5, 2.0, rows) if seed % 2 else np.ones(rows)
    if seed % 3 == 0:
        X[-1] = X[0]  # equal rows of different patients stay apart
    return X, who, weights


def mixtures(X, who, weights, gamma):
    """H and t straight from the definition."""
    K = rbf_kernel(X, gamma=gamma)
    U = np.array([(who == u) * weights / weights[who == u].sum() for u in np.unique(who)])
    shares = np.array([weights[who == u].sum() for u in np.unique(who)]) / weights.sum()
    return U @ K @ U.T, shares, K, U


def best_by_cvxpy(H, t, k, low=0.0, high=1.0):
    best = np.inf
    root = np.linalg.cholesky(H + 1e-12 * np.eye(len(H)))
    for chosen in combinations(range(len(t)), k):
        q = cp.Variable(k)
        placed = np.eye(len(t))[:, list(chosen)]
        rules = [cp.sum(q) == 1, q >= low, q <= high]
        problem = cp.Problem(cp.Minimize(cp.sum_squares(root.T @ (placed @ q - t))), rules)
        best = min(best, problem.solve(solver=cp.CLARABEL))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_units_are_the_best_of_all(seed):
    X, who, weights = case(seed)
    H, t, K, _ = mixtures(X, who, weights, 0.5)
    given = weights if seed % 2 else None
    for k in (1, 2, 3):
        result = points(X, k, units=who, sample_weight=given, gamma=0.5, solver="exact", rng=0)
        best = best_by_cvxpy(H, t, k)
        assert result.value == pytest.approx(best, abs=1e-7)
        assert result.bound <= best + 1e-7
        assert result.status is Status.OPTIMAL
        assert len(result.units) <= k
        assert set(result.indices) == set(np.flatnonzero(np.isin(who, result.units)))
        q = np.zeros(len(X))
        q[result.indices] = result.weights
        off = q - weights / weights.sum()
        assert result.value == pytest.approx(off @ K @ off, abs=1e-12)
        for u, weight in zip(result.units, result.unit_weights, strict=True):
            assert q[who == u].sum() == pytest.approx(weight)
            np.testing.assert_allclose(
                q[who == u], weight * weights[who == u] / weights[who == u].sum()
            )


def test_limits_are_on_units():
    X, who, _ = case(1, patients=5)
    H, t, _, _ = mixtures(X, who, np.ones(len(X)), 0.5)
    limits = {"min_weight": 0.2, "max_weight": 0.5}
    result = points(X, 3, units=who, gamma=0.5, solver="exact", rng=0, **limits)
    assert result.value == pytest.approx(best_by_cvxpy(H, t, 3, 0.2, 0.5), abs=1e-7)
    row, gone = int(np.argmax(who == 3)), int(np.argmax(who == 0))
    held = points(X, 2, units=who, include=[row], exclude=[gone], rng=0)
    assert 3 in held.units
    assert 0 not in held.units
    apart = points(X, 2, units=who, groups=who < 3, max_per_group=1, equal_weights=True, rng=0)
    assert sorted(apart.units < 3) == [False, True]
    assert apart.unit_weights.tolist() == [0.5, 0.5]
    with pytest.raises(InvalidInput, match="groups must be the same for all rows of a unit"):
        points(X, 2, units=who, groups=np.arange(len(X)), max_per_group=1)


def test_tables_name_their_units():
    X, who, _ = case(2)
    names = np.array(["ann", "bob", "cid", "dan", "eve", "fay"])[who]
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "patient": names})
    result = points(frame, 2, units="patient", rng=0)
    for units in (names, frame["patient"]):
        assert points(frame[["x", "y"]], 2, units=units, rng=0).value == result.value
    assert set(result.rows["patient"]) == set(result.units)
    assert len(result.to_frame()) == np.isin(names, result.units).sum()
    frame.loc[0, "x"] = np.nan
    dropped = points(frame, 2, units="patient", missing="drop", rng=0)
    assert 0 not in dropped.indices
    assert dropped.weights.sum() == pytest.approx(1.0)


def test_labels_keep_classes_apart_and_matrices_of_similarities_do():
    X, who, _ = case(4)
    y = who % 2
    K = rbf_kernel(X, gamma=0.5) * (y[:, None] == y)
    one = points(X, 2, units=who, labels=y, gamma=0.5, rng=0)
    two = points(K, 2, units=who, similarity="precomputed", rng=0)
    assert one.value == pytest.approx(two.value, abs=1e-12)
    assert one.indices.tolist() == two.indices.tolist()


def test_too_many_rows_are_sampled_within_units(monkeypatch):
    X, who, _ = case(6, rows=400, patients=8)
    whole = points(X, 3, units=who, gamma=0.5, rng=0)
    monkeypatch.setattr(module, "MAX_PAIRWISE_WORK", 22 * 200**2)
    some = points(X, 3, units=who, gamma=0.5, rng=0)
    assert "drawn at random; the value is an estimate" in some.note
    assert some.bound is None
    assert some.status is not Status.OPTIMAL
    assert set(some.indices) == set(np.flatnonzero(np.isin(who, some.units)))
    assert some.value == pytest.approx(whole.value, rel=1.0, abs=0.02)


@pytest.mark.parametrize("limits", [{}, {"include": [3], "exclude": [0]}, {"min_per_group": 1}])
def test_a_limit_that_is_over_at_once_still_gives_units(limits, monkeypatch):
    monkeypatch.setattr(module, "FEWEST", 5)
    X, who, _ = case(6, rows=400, patients=40)
    groups = who % 2 if "min_per_group" in limits else None
    result = points(X, 3, units=who, time_limit=1e-9, rng=0, groups=groups, **limits)
    assert result.status is Status.TIME_LIMIT
    assert "of 40 units were compared, drawn at random" in result.note
    assert result.bound is None
    assert set(result.indices) == set(np.flatnonzero(np.isin(who, result.units)))
    assert result.weights.sum() == pytest.approx(1.0)
    assert set(who[limits.get("include", [])]) <= set(result.units)
    assert not set(who[limits.get("exclude", [])]) & set(result.units)
    assert groups is None or set(result.units % 2) == {0, 1}


def test_what_cannot_be_asked_for():
    X, who, _ = case(0)
    for words, asked in {
        r"k must be in 1\.\.6 \(units\), got 7": {"k": 7},
        "move is not for units": {"k": 2, "move": True},
    }.items():
        with pytest.raises(InvalidInput, match=words):
            points(X, units=who, **asked)
    with pytest.raises(
        InvalidInput, match=r"units must have shape \(24,\), one label for each entry"
    ):
        points(X, 2, units=who[:-1])
    with pytest.raises(InvalidInput, match="a matrix of 24 units twice, 9216 bytes, got 6000"):
        points(X, 2, units=np.arange(24), max_memory=6000)
