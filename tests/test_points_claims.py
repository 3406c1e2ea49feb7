"""points, true to its word: distances far from the origin, units, outliers, claims, inputs, limits, the command."""

import math
import pickle
import tracemalloc
import warnings
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from fewer import (
    MMD,
    Atoms,
    FewerPoints,
    FewerPointsClassifier,
    InvalidInput,
    RowsMMD,
    SparseSimplex,
    Status,
    frank_wolfe,
    points,
)
from fewer.deadline import Deadline
from fewer.distances import distance_blocks
from fewer.jobs.points import target as _target
from fewer.jobs.points.limits import Limits
from fewer.jobs.points.options import PointsOptions
from fewer.jobs.points.rows import Sample, merge_equal_rows
from fewer.jobs.points.sums import CandidateRows
from fewer.jobs.points.target import target_of
from fewer.objectives.mmd import OutOfTime
from fewer.search.quadratic import pool_width
from fewer.similarity import bandwidth, similarity_of

OVER = Deadline(-1e6, 1e5)
"""A deadline that has passed, after long."""


def rows(seed, n=12, d=3):
    return np.random.default_rng(seed).standard_normal((n, d))


def naive_distances(A, B):
    """Squared distances from differences, one pair at a time."""
    return np.array([[sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) for b in B] for a in A])


def naive_similarity(name, gamma, A, B):
    squared = naive_distances(A, B)
    if name == "rbf":
        return np.exp(-gamma * squared)
    s = np.sqrt((3 if name == "matern32" else 5) * squared) * gamma
    return (1 + s) * np.exp(-s) if name == "matern32" else (1 + s + s * s / 3) * np.exp(-s)


def optimum(K, k, t=None):
    """The least MMD² over all supports of k rows, by enumeration."""
    F = MMD(Atoms(len(K)), K, np.full(len(K), 1 / len(K)) if t is None else t)
    return min(F.value_on(np.array(S)) for S in combinations(range(len(K)), k))


FAR = np.concatenate([np.arange(6) * 0.5, 1e8 + np.arange(6) * 0.5])[:, None]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_far_from_their_mean_are_compared_by_differences(form):
    result = points(form(FAR), 4, gamma=1.0, rng=0)
    K = naive_similarity("rbf", 1.0, FAR, FAR)
    t = result.p - 1 / 12
    assert result.value == pytest.approx(t @ K @ t, rel=1e-9)
    assert result.value == pytest.approx(0.0104, abs=1e-4)
    assert result.value == pytest.approx(optimum(K, 4), rel=1e-9)
    assert result.bound <= optimum(K, 4) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["rbf", "matern32", "matern52"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_similarities_equal_a_twin_wherever_the_rows_lie(name, sparse, dtype):
    rng = np.random.default_rng(0)
    A = (rng.choice([0.0, 1e3, 1e6, -1e7], (9, 1)) + rng.integers(0, 9, (9, 2)) / 4).astype(dtype)
    B = np.concatenate([A[:5], rng.integers(0, 9, (3, 2)).astype(dtype)])
    found = similarity_of(name, 0.7)(*((sp.csr_array(A), sp.csr_array(B)) if sparse else (A, B)))
    tolerance = 1e-11 if dtype is np.float64 else 3e-6
    np.testing.assert_allclose(
        found, naive_similarity(name, 0.7, A.astype(float), B.astype(float)), atol=tolerance
    )


def test_distances_have_a_small_relative_error_and_never_overflow_into_nonsense():
    A = np.concatenate([rows(0, 5), rows(1, 5) + 1e9, np.array([[1e60, 0.0, 0.0]])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = distance_blocks(A, A)
    np.testing.assert_allclose(found, cdist(A, A, "sqeuclidean"), rtol=1e-8)
    assert found.diagonal().tolist() == [0.0] * 11


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_an_offset_changes_nothing(form):
    X = rows(0) * 2.0**-17
    near, far = points(X, 3, rng=0), points(form(1024.0 + X), 3, rng=0)
    assert far.value == pytest.approx(near.value, rel=1e-4)
    assert far.support.tolist() == near.support.tolist()


def test_sums_in_tiles_are_right_for_far_rows_with_labels():
    X, y = np.concatenate([rows(0, 40), rows(1, 40) + 3e7]), np.arange(80) % 2
    F = RowsMMD.between(X, np.full(80, 1 / 80), similarity_of("rbf", 0.5), labels=y, memory=10**5)
    K = naive_similarity("rbf", 0.5, X, X) * (y[:, None] == y)
    np.testing.assert_allclose(F.mean, K.mean(axis=1), rtol=1e-9)
    assert F.value_at(np.array([3, 50]), np.array([0.5, 0.5])) == pytest.approx(
        MMD(Atoms(80), K, np.full(80, 1 / 80)).value_at(np.array([3, 50]), np.array([0.5, 0.5])),
        rel=1e-9,
    )


@pytest.mark.parametrize("name", ["rbf", "laplace", "matern32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_outlier_does_not_move_the_median_bandwidth(name, weighted):
    X, w = rows(0, 200, 5), np.random.default_rng(1).uniform(1, 2, 200) if weighted else None
    usual = bandwidth(X, name, "median", w)
    X[3, 2] = 1e7
    assert bandwidth(X, name, "median", w) == pytest.approx(usual, rel=0.1)
    assert "outliers" in points(X, 3, similarity=name, rng=0).note


def test_the_linear_bound_of_float32_rows_lies_below_the_optimum():
    for seed in range(6):
        X = (rows(seed, 9, 3) + 3.0).astype(np.float32)
        result = points(X, 2, similarity="linear", solver="exact", rng=0)
        wide = X.astype(float) - X.astype(float).mean(axis=0)
        best = optimum(wide @ wide.T, 2)
        assert result.bound <= best * (1 + 1e-9)
        assert result.value == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("similarity", ["rbf", "laplace", "matern32", "cosine"])
@pytest.mark.parametrize("scale", [2.0**-200, 2.0**200])
def test_the_answer_does_not_depend_on_the_unit(similarity, scale):
    X = rows(4, 14)
    usual, scaled = (
        points(Z, 3, similarity=similarity, solver="exchange", rng=0) for Z in (X, X * scale)
    )
    assert usual.support.tolist() == scaled.support.tolist()
    assert usual.value == pytest.approx(scaled.value, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-80, 1e80])
def test_numbers_of_extraordinary_size_are_refused(scale):
    with pytest.raises(InvalidInput, match="between 1e-70 and 1e\\+70 in size"):
        points(rows(4, 14) * scale, 3)


@pytest.mark.parametrize("scale", [1e19, 1e30, 1e-30])
def test_float32_rows_of_any_size_have_linear_values(scale):
    X = (rows(4, 14) * scale).astype(np.float32)
    result = points(X, 3, similarity="linear", solver="greedy", rng=0)
    t = result.p - 1 / 14
    assert result.value == pytest.approx(((X.astype(float).T @ t) ** 2).sum(), rel=1e-6)


@pytest.mark.parametrize("similarity", ["linear", "cosine"])
def test_rows_that_span_fewer_dimensions_than_k_do_not_divide_by_zero(similarity):
    for seed in range(25):
        result = points(
            rows(seed, 20).astype(np.float32), 4, similarity=similarity, solver="exchange", rng=0
        )
        assert result.p.sum() == pytest.approx(1)
        assert result.value < 0.1


def indefinite(n):
    A = np.random.default_rng(0).standard_normal((n, n))
    return A + A.T


@pytest.mark.parametrize("n", [12, 700])
def test_similarities_that_are_not_positive_semi_definite_get_a_sentence(n):
    with pytest.raises(
        InvalidInput, match="must be positive semi-definite, got an eigenvalue of -"
    ):
        points(indefinite(n), 3, similarity="precomputed")
    with pytest.raises(InvalidInput, match="gram must be positive semi-definite"):
        MMD(Atoms(n), indefinite(n), np.full(n, 1 / n))
    with pytest.raises(InvalidInput, match="similarity's blocks"):
        points(rows(0), 3, similarity=lambda a, b: np.tanh(a @ b.T - 3))
    with pytest.raises(InvalidInput, match="symmetric"):
        points(rows(0), 3, similarity=lambda a, b: a[:, :1] + 0 * b[:, :1].T)


def test_rounding_of_a_matrix_of_similarities_is_tolerated():
    X = np.repeat(rows(0, 20), 2, axis=0)
    K = similarity_of("rbf", 0.5)(X, X).astype(np.float32)
    assert points(K, 3, similarity="precomputed", rng=0).value >= 0


@pytest.mark.parametrize("solver", ["auto", "exact", "exchange", "greedy", "iht"])
def test_a_bound_over_sampled_candidates_is_none_over_all_rows(monkeypatch, solver):
    for name, value in {
        "MAX_PAIRWISE_WORK": 10,
        "MAX_CANDIDATE_WORK": 10**4,
        "MIN_CANDIDATES": 12,
    }.items():
        monkeypatch.setattr(_target, name, value)
    result = points(rows(0, 60, 2), 3, gamma=0.5, solver=solver, rng=0)
    assert "12 candidate rows" in result.note or "stand for all" in result.note
    assert result.bound is None
    assert result.gap is None
    assert result.status is not Status.OPTIMAL


def test_no_bound_on_a_squared_distance_is_negative():
    K = similarity_of("rbf", 0.5)(rows(0), rows(0))
    F = MMD(Atoms(12), K, np.full(12, 1 / 12))
    G = RowsMMD.between(rows(0), np.full(12, 1 / 12), similarity_of("rbf", 0.5))
    for objective in (F, G):
        assert frank_wolfe(objective, SparseSimplex(Atoms(12), 12)).bound >= 0.0


def test_all_rows_as_points_are_optimal():
    result = points(rows(0, 5), 5, solver="exchange", rng=0)
    assert (result.status, result.bound) == (Status.OPTIMAL, 0.0)


TABLE = np.round(
    np.random.default_rng(3).standard_normal((40, 3)) * [1.0, 100.0, 0.01] + [0.0, 50.0, 3.0], 4
)
WEIGHTS = np.arange(1.0, 41.0)
KINDS = np.arange(40) % 2


def by_hand(X, weights=None):
    mean = np.average(X, axis=0, weights=weights)
    return (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X: pl.DataFrame(X, schema=["a", "b", "c"])])
def test_columns_of_a_table_are_scaled_and_arrays_are_taken_as_they_are(frame):
    X = TABLE[:20]
    want = points(by_hand(X), 3, rng=0)
    auto, told = points(frame(X), 3, rng=0), points(X, 3, standardize=True, rng=0)
    plain, off = points(X, 3, rng=0), points(frame(X), 3, standardize=False, rng=0)
    for found in (auto, told):
        assert found.support.tolist() == want.support.tolist()
        assert found.value == pytest.approx(want.value, rel=1e-9)
        assert "scaled to mean 0 and standard deviation 1" in found.note
    assert plain.p.tobytes() == off.p.tobytes()
    assert plain.note == off.note == ""
    codes = points(frame(np.round(X)), 3, similarity="hamming", rng=0)
    assert "scaled" not in codes.note


def test_weights_count_in_scaling_and_in_the_bandwidth():
    X, counts = TABLE[:20], np.arange(20) % 4
    frame = pd.DataFrame(X)
    repeated = points(frame.loc[np.repeat(np.arange(20), counts)], 3, rng=0)
    weighted = points(frame, 3, sample_weight=counts, rng=0)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-9)


def test_scaling_of_sparse_and_constant_columns():
    X = np.column_stack([TABLE[:20, 0], np.full(20, 7.0), TABLE[:20, 1]])
    dense, sparse = (points(f(X), 3, standardize=True, rng=0) for f in (np.asarray, sp.csr_array))
    assert dense.compared.spread[1] == 1.0
    assert np.abs(dense.compared.rows(X)[:, 1]).max() < 1e-12
    assert sparse.support.tolist() == dense.support.tolist()
    assert sparse.value == pytest.approx(dense.value, rel=1e-7)


@pytest.mark.parametrize("value", ["yes", 1, None, 0.5])
def test_standardize_is_auto_true_or_false(value):
    with pytest.raises(InvalidInput, match="standardize must be 'auto', True or False"):
        points(rows(0), 2, standardize=value)
    with pytest.raises(InvalidInput, match="needs rows to compare"):
        points(np.eye(3), 2, similarity="precomputed", standardize=True)


def test_an_estimator_scales_new_rows_as_it_scaled_its_own():
    frame = pd.DataFrame(TABLE, columns=["a", "b", "c"])
    model = FewerPoints(4, random_state=0).fit(frame)
    Z = by_hand(TABLE)
    np.testing.assert_allclose(model.mean_, TABLE.mean(axis=0))
    np.testing.assert_allclose(model.scale_, TABLE.std(axis=0))
    want = naive_similarity("rbf", model.gamma_, Z, Z[model.indices_])
    np.testing.assert_allclose(model.transform(frame), want, rtol=1e-8)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).transform(frame),
        model.transform(frame),
    )
    labels = np.where(TABLE[:, 0] > 0, "up", "down")
    guesses = FewerPointsClassifier(6, random_state=0).fit(frame, labels).predict(frame)
    assert np.mean(guesses == labels) > 0.8


@pytest.mark.parametrize(
    "break_it",
    [
        lambda model: model.fit(np.full((5, 2), np.nan), [0, 1, 0, 1, 0]),
        lambda model: model.fit(rows(0, 5, 2), [0, 1]),
        lambda model: model.fit(rows(0, 5, 2), [0, 1, 0, 1, 0], sample_weight=-np.ones(5)),
        lambda model: model.set_params(solver="none").fit(rows(0, 5, 2), [0, 1, 0, 1, 0]),
    ],
)
@pytest.mark.parametrize(
    "kind",
    [partial(FewerPoints, by_label=True), FewerPointsClassifier],
    ids=["points", "classifier"],
)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(kind, break_it):
    frame = pd.DataFrame(rows(0), columns=["a", "b", "c"])
    model = kind(3, gamma=0.5, random_state=0).fit(frame, np.arange(12) % 2)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(InvalidInput):
        break_it(model)
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert before.keys() == after.keys()
    assert all(after[name] is value for name, value in before.items())


def test_the_callers_arrays_stay_as_they_are():
    shuffled = sp.csr_array(
        (np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3)
    )
    twin = shuffled.copy()
    points(shuffled, 1, gamma=0.5, rng=0)
    FewerPoints(1, gamma=0.5).fit(shuffled)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(twin, name))
    X, w, kept = rows(0), np.arange(12.0), np.empty(0)
    copies = X.copy(), w.copy()
    for similarity in ("rbf", "linear", "hamming"):
        points(
            X, 3, labels=KINDS[:12], sample_weight=w, similarity=similarity, standardize=True, rng=0
        )

    def remembered(a, b):
        nonlocal kept
        kept = a @ b.T + 1.0
        return kept

    points(X, 3, labels=KINDS[:12], similarity=remembered, rng=0)
    assert kept.min() != 0.0 or kept.size == 0 or (kept != 0.0).all()
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(w, copies[1])


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: points(X, 2, labels=y),
        lambda X, y: FewerPoints(2, by_label=y is not None).fit(X, y),
    ],
)
def test_masked_entries_are_refused(fit):
    with pytest.raises(InvalidInput, match="X has masked entries"):
        fit(np.ma.masked_greater(rows(0), 1.0), None)
    with pytest.raises(InvalidInput, match="labels has masked entries"):
        fit(rows(0), np.ma.masked_equal(np.arange(12) % 2, 1))
    assert fit(np.ma.array(rows(0)), None) is not None


@pytest.mark.parametrize(
    "form", [sp.dok_array, sp.dia_array, sp.bsr_array, sp.lil_array, sp.coo_matrix, sp.csc_array]
)
def test_every_sparse_format_is_read(form):
    X = rows(0) * (rows(1) > 0)
    assert points(form(X), 3, gamma=0.5, rng=0).value == pytest.approx(
        points(X, 3, gamma=0.5, rng=0).value, rel=1e-9
    )


def objective(X, similarity, deadline, k=5):
    """The objective for k points of the rows of X within a time limit."""
    options = PointsOptions(deadline=deadline)
    sample = Sample(X, np.full(len(X), 1 / len(X)), np.arange(len(X)), len(X))
    limits = Limits.of(X, len(X), options)
    return target_of(sample, sample, similarity, k, options, np.random.default_rng(0), limits)


def test_past_the_deadline_fewer_rows_are_compared_and_it_is_said(monkeypatch):
    X = rows(0, 400)
    with pytest.raises(OutOfTime):
        RowsMMD.between(X, np.full(400, 1 / 400), similarity_of("rbf", 0.5), deadline=OVER)
    monkeypatch.setattr(_target, "MIN_PAIRWISE_WORK", 10**5)
    target = objective(X, similarity_of("rbf", 0.5), OVER)
    assert not target.whole
    assert "candidate rows" in target.note


@pytest.mark.parametrize("labelled", [False, True])
def test_means_over_the_rows_that_were_reached_are_means(labelled):
    X, order = rows(0, 3000, 2), np.random.default_rng(0).permutation(3000)
    own, codes = np.arange(30) % 2, order % 2
    similarity, weights = similarity_of("rbf", 0.5), np.full(3000, 1 / 3000)
    exact = similarity(X[:30], X)
    if labelled:
        exact *= own[:, None] == np.arange(3000) % 2
    how = (own, 2) if labelled else (None, 1)
    candidates = CandidateRows(X[:30], *how, similarity, 3000)
    given = X[order], weights, codes if labelled else None, 10**6
    whole, part = candidates.sums(*given), candidates.sums(*given, OVER)
    assert whole.rows == 3000
    np.testing.assert_allclose(candidates.means(whole), exact.mean(axis=1), rtol=1e-9)
    assert part.rows < 3000
    np.testing.assert_allclose(candidates.means(part), exact.mean(axis=1), atol=0.15)


def test_an_estimate_from_a_sample_of_the_target_counts_the_sampling(monkeypatch):
    X = rows(0, 3000, 2)
    monkeypatch.setattr(_target, "MIN_PAIRWISE_WORK", 10)
    monkeypatch.setattr(_target, "PAIRWISE_WORK_PER_SECOND", 10)
    similarity = similarity_of("rbf", 0.5)
    target = objective(X, similarity, Deadline.after(0.01))
    units, weights = np.arange(5), np.full(5, 0.2)
    value, error = target.judge(units, weights)
    whole = RowsMMD.between(X, np.full(3000, 1 / 3000), similarity)
    assert abs(value - whole.value_at(target.candidates[units], weights)) < 3 * error


def test_merging_takes_no_second_table_and_keeps_to_the_time():
    X = np.repeat(rows(0, 100_000, 10), 2, axis=0)
    weights = np.broadcast_to(1.0 / len(X), len(X))
    tracemalloc.start()
    first, merged = merge_equal_rows(X, None, weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert first.tolist() == list(range(0, 200_000, 2))
    np.testing.assert_allclose(merged, 1e-5)
    assert peak < 1.1 * X.nbytes
    assert "not merged" in points(X, 3, time_limit=1e-3, rng=0).note


def test_pools_keep_to_the_memory_and_to_a_share_of_the_time():
    for k in (1, 50, 500):
        p = pool_width(10**6, k, 30.0, 50 * 10**6, math.inf)
        assert 8 * p * p + 24 * k * p <= 50 * 10**6 or p == k + 1
    assert pool_width(10**6, 10, 30.0, 10**9, 0.05) < pool_width(10**6, 10, 30.0, 10**9, 1.0)
    with pytest.raises(InvalidInput, match="bytes for each of the 3000 rows"):
        points(rows(0, 3000), 2, max_memory=50_000)


def test_a_time_limit_leaves_values_of_inner_products_exact():
    X = rows(0, 20_000)
    result = points(X, 2, similarity="linear", solver="greedy", time_limit=0.01, rng=0)
    off = result.weights @ X[result.indices] - X.mean(axis=0)
    np.testing.assert_allclose(result.value, off @ off, rtol=1e-6, atol=1e-12)


def test_the_scale_rule_does_not_overflow_in_single_precision():
    X = sp.coo_array(np.array([[0.0, 1e7, 3.0], [1.0, 0.0, 2.0]], np.float32) * np.float32(7e15))
    dense = points(
        X.toarray().astype(np.float64), 2, similarity="matern52", gamma="scale", solver="greedy"
    )
    found = points(X, 2, similarity="matern52", gamma="scale", solver="greedy")
    assert found.value == pytest.approx(dense.value, abs=1e-12)
