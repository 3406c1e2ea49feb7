"""points that stand for another set: against enumeration, and the discrepancy computed pair by pair."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from fewer import InvalidInput, points
from fewer.jobs.points import target as _target
from test_points_limits import best

N, M, K = 12, 30, 3


def two_sets(seed, n=N, m=M, d=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), 0.7 * rng.standard_normal((m, d)) + 0.5


def discrepancy(rows, weights, target, masses, gamma):
    """MMD² between two weighted sets, by the whole matrices."""
    within = [w @ rbf_kernel(A, A, gamma=gamma) @ w for A, w in ((rows, weights), (target, masses))]
    return sum(within) - 2 * weights @ rbf_kernel(rows, target, gamma=gamma) @ masses


CASES = [
    ({}, lambda at: True, 0.0, 1.0),
    ({"include": [4], "exclude": [0]}, lambda at: 4 in at and 0 not in at, 0.0, 1.0),
    ({"equal_weights": True}, lambda at: True, 1 / K, 1 / K),
    ({"max_weight": 0.4}, lambda at: True, 0.0, 0.4),
]


@pytest.mark.parametrize(("options", "allowed", "low", "high"), CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_rows_for_the_other_set(options, allowed, low, high, weighted):
    X, T = two_sets(1)
    weight = np.random.default_rng(0).integers(0, 4, M).astype(float) if weighted else np.ones(M)
    masses = weight / weight.sum()
    found = points(
        X, K, target=T, target_weight=weight if weighted else None, gamma=0.5, rng=0, **options
    )
    c = rbf_kernel(X, T, gamma=0.5) @ masses
    constant = masses @ rbf_kernel(T, gamma=0.5) @ masses
    least = best(rbf_kernel(X, gamma=0.5), c, constant, allowed, low, high)
    assert found.value == pytest.approx(least, rel=1e-6)
    assert found.value == pytest.approx(
        discrepancy(X[found.indices], found.weights, T, masses, 0.5), rel=1e-9
    )
    assert allowed(list(found.indices))
    assert found.rows == pytest.approx(X[found.indices])
    assert found.counts.sum() == pytest.approx(weight.sum())


def test_a_target_that_is_x_itself_changes_nothing():
    X, _ = two_sets(3, 60)
    plain, again = points(X, 5, gamma=0.5, rng=0), points(X, 5, target=X, gamma=0.5, rng=0)
    assert np.array_equal(plain.indices, again.indices)
    assert again.value == pytest.approx(plain.value, rel=1e-9)
    assert again.bound is not None


@pytest.mark.parametrize("similarity", ["rbf", "matern32", "cosine", "linear"])
def test_sparse_rows_are_as_dense_ones(similarity):
    X, T = two_sets(4, 40, 50, 3)
    X[X < 0], T[T < 0] = 0.0, 0.0
    dense, thin = (
        points(f(X), 3, target=f(T), similarity=similarity, rng=0)
        for f in (np.asarray, sp.csr_array)
    )
    if (
        similarity != "cosine"
    ):  # three points reach the mean of a target in three dimensions in more than one way
        assert np.array_equal(dense.indices, thin.indices)
    assert dense.value == pytest.approx(thin.value, rel=1e-6, abs=1e-9)


def test_labels_by_name_are_matched_class_by_class():
    X, T = two_sets(7, 40, 60)
    y, z = np.arange(40) % 2, (np.arange(60) % 3 == 0) + 0
    tables = [pd.DataFrame(A, columns=["a", "b"]).assign(y=c) for A, c in ((X, y), (T, z))]
    options = {"labels": "y", "gamma": 0.5, "standardize": False, "rng": 0}
    found = points(tables[0], 6, target=tables[1], **options)
    value, at = 0.0, found.indices
    for c in (0, 1):
        own = y[at] == c
        masses = np.full((z == c).sum(), 1 / 60)
        value += discrepancy(X[at][own], found.weights[own], T[z == c], masses, 0.5)
    assert found.value == pytest.approx(value, rel=1e-9)


def frame(X, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(X, columns=["a", "b"])
    return table.assign(
        plan=rng.choice(["free", "gold", "team"], len(X)), id=[f"c{i}" for i in range(len(X))]
    )


@pytest.mark.parametrize("form", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
def test_tables_of_mixed_columns(form):
    X, T = two_sets(6)
    mine, theirs = frame(X, 0), frame(T, 1).assign(w=np.arange(1.0, M + 1))
    theirs.loc[0, "plan"] = "new"
    found = points(form(mine), K, target=form(theirs), target_weight="w", rng=0)
    masses = theirs["w"].to_numpy() / theirs["w"].sum()
    both = pd.concat([mine, theirs], ignore_index=True)
    pooled = np.concatenate([np.ones(N), M * masses])
    pooled /= pooled.sum()
    centred = both[["a", "b"]].to_numpy() - pooled @ both[["a", "b"]].to_numpy()
    numbers = centred / np.sqrt(pooled @ centred**2)
    S = rbf_kernel(numbers, gamma=found.compared.gamma)
    plan = both["plan"].to_numpy()
    S = S * np.exp(-2 * found.compared.gamma * (plan[:, None] != plan[None]))
    q = np.zeros(N + M)
    q[found.indices], q[N:] = found.weights, q[N:] - masses
    assert found.value == pytest.approx(q @ S @ q, rel=1e-9)
    assert found.indices.max() < N
    assert "identifiers left out: 'id'" in found.note


def test_a_large_target_is_estimated_and_the_estimate_is_near(monkeypatch):
    for name, value in {
        "MAX_PAIRWISE_WORK": 10,
        "MAX_CANDIDATE_WORK": 10**7,
        "MIN_CANDIDATES": 100,
    }.items():
        monkeypatch.setattr(_target, name, value)
    X, T = two_sets(8, 500, 3000)
    exclude = np.arange(250)
    found = points(X, 10, target=T, gamma=0.5, rng=0, include=[300], exclude=exclude)
    truth = discrepancy(X[found.indices], found.weights, T, np.full(3000, 1 / 3000), 0.5)
    assert "each compared with all 3000" in found.note
    assert found.bound is None
    assert 300 in found.indices
    assert found.indices.min() >= 250
    assert abs(found.value - truth) < 4 * found.value_se


def test_points_move_towards_the_target():
    X, T = two_sets(10, 60, 200)
    start, found = (points(X, 5, target=T, gamma=0.5, rng=0, move=move) for move in (False, True))
    assert found.value == pytest.approx(
        discrepancy(found.rows, found.weights, T, np.full(200, 1 / 200), 0.5), rel=1e-6
    )
    assert found.value < 0.8 * start.value
    assert np.array_equal(found.indices, start.indices)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": np.ones((4, 3))}, r"target must have shape \(rows, 2\)"),
        ({"target": sp.coo_array(np.ones(2))}, r"target must have shape \(rows, 2\)"),
        (
            {"target": np.full((4, 2), np.nan)},
            "target must be finite, got NaN or infinity",
        ),
        (
            {"target": pd.DataFrame(np.ones((4, 2)))},
            "target must be an array as X is, got 'DataFrame'",
        ),
        ({"target": np.ones((4, 2)), "target_weight": np.ones(3)}, "target_weight"),
        (
            {"target": np.ones((4, 2)), "labels": np.arange(N) % 2},
            "labels beside a target must name a column",
        ),
        (
            {"target": np.ones((4, 2)), "similarity": "precomputed"},
            "target is not for similarity=.precomputed.",
        ),
        ({"target_weight": np.ones(3)}, "target_weight needs a target"),
    ],
)
def test_what_is_no_target_is_refused_in_a_sentence(options, words):
    with pytest.raises(InvalidInput, match=words):
        points(two_sets(0)[0], K, **options)


def test_tables_that_do_not_fit_are_refused_in_a_sentence():
    X, T = (frame(part, 0) for part in two_sets(0))
    for target, words in (
        (T.drop(columns="a"), "target: there is no column 'a'"),
        (T.assign(b="x"), "target: column 'b' holds texts, in X it holds numbers"),
        (pl.from_pandas(T), "target must be a table of pandas as X is"),
        (T.assign(a=np.nan), "target: column 'a', row 0: is missing"),
    ):
        with pytest.raises(InvalidInput, match=words):
            points(X, K, target=target)
