"""points and its estimators: against enumeration, dense algebra, repeated rows; claims, limits, bad input."""

import pickle
import tracemalloc
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewer import (
    MMD,
    Atoms,
    FewerPoints,
    FewerPointsClassifier,
    FewerSampler,
    InvalidInput,
    RowsMMD,
    Status,
    points,
    split_evenly,
)
from fewer.jobs.points import target as _target
from fewer.jobs.points.rows import merge_equal_rows
from fewer.similarity import bandwidth, similarity_of

SOLVERS = ("auto", "exact", "exchange", "greedy", "iht")
REAL = Path(__file__).parents[2] / "shared/data/usps.npz"
needs_data = pytest.mark.skipif(
    not REAL.exists(), reason="the real data sets are not beside the repository"
)


columns_follow_rows = dict.fromkeys(
    (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")),
    "they shuffle the rows, and the columns of transform follow these",
)


@pytest.mark.filterwarnings("ignore:k = .* is more than the:UserWarning")
@parametrize_with_checks(
    [
        FewerPoints(
            solver="greedy"
        ),  # how an estimator behaves does not depend on how long it searches
        FewerPoints(k=3, similarity="cosine", solver="greedy"),
        FewerPointsClassifier(k=5, solver="greedy"),
    ],
    expected_failed_checks=lambda estimator: (
        columns_follow_rows if isinstance(estimator, FewerPoints) else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rows(seed, n=12, d=3):
    return np.random.default_rng(seed).standard_normal((n, d))


def dense(X, gamma, y=None, weights=None):
    K = similarity_of("rbf", gamma)(X, X)
    K = K if y is None else K * (np.asarray(y)[:, None] == np.asarray(y)[None])
    return MMD(Atoms(len(X)), K, np.full(len(X), 1 / len(X)) if weights is None else weights)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_the_dense_matrix_and_the_proven_optimum_is_enumeration(seed, solver):
    X, y = rows(seed), np.arange(12) % 2 if seed % 2 else None
    F = dense(X, 0.4, y)
    best = min(F.value_on(np.array(S)) for S in combinations(range(12), 3))
    result = points(X, 3, labels=y, gamma=0.4, solver=solver, rng=0)
    assert result.p.sum() == pytest.approx(1, abs=1e-12)
    assert np.array_equal(result.support, np.flatnonzero(result.p))
    assert len(result.support) <= 3
    assert result.value == pytest.approx(F.value(result.p), rel=1e-9)
    assert result.value == pytest.approx(F.value_on(result.support), rel=1e-8)
    assert result.value >= best * (1 - 1e-9)
    assert 0 <= result.bound <= best * (1 + 1e-9)
    if solver in ("auto", "exact"):
        assert result.value == pytest.approx(best, rel=1e-8)
    if solver == "exact":
        assert result.status is Status.OPTIMAL
        assert result.gap <= 1e-8 * best


def test_auto_is_the_best_of_the_solvers_and_all_see_every_row():
    X = load_digits().data[:700]
    found = {
        solver: points(X, 15, solver=solver, rng=0).value
        for solver in ("auto", "exchange", "greedy", "iht")
    }
    assert found["auto"] <= min(found.values()) * (1 + 1e-9)
    assert found["auto"] < 0.95 * found["greedy"]
    assert found["greedy"] <= found["iht"] * (1 + 1e-9)


@pytest.mark.parametrize("k", [5, 20])
def test_greedy_is_greedy_with_full_refits(k):
    X = load_digits().data[:150]
    F = dense(X, bandwidth(X, "rbf", "median"))
    support = []
    for _ in range(k):
        rest = [j for j in range(len(X)) if j not in support]
        support.append(min(rest, key=lambda j: F.value_on(np.array([*support, j]))))
    assert points(X, k, solver="greedy").value == pytest.approx(
        F.value_on(np.array(support)), rel=1e-6
    )


@pytest.mark.parametrize(
    "similarity", ["rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming"]
)
@pytest.mark.parametrize("rule", ["median", "scale", 0.3])
def test_every_similarity_serves_and_its_value_is_right(similarity, rule):
    X = rows(3, 30).round(1)
    result = points(X, 4, similarity=similarity, gamma=rule, rng=0)
    K = similarity_of(similarity, bandwidth(X, similarity, rule) or 1.0)(X, X)
    t = result.p - 1 / 30
    assert result.value == pytest.approx(t @ K @ t, rel=1e-6, abs=1e-12)
    assert result.value <= np.mean(
        [MMD(Atoms(30), K, np.full(30, 1 / 30)).value_on(np.arange(i, i + 4)) for i in (0, 9)]
    )


def test_forms_of_x_give_the_same_points():
    X = rows(1, 40) * (rows(2, 40) > 0)
    want = points(X, 5, gamma=0.5, rng=0)
    forms = [X.tolist(), pd.DataFrame(X), np.asfortranarray(X), sp.csr_matrix(X), sp.coo_array(X)]
    for form in forms:
        found = points(form, 5, gamma=0.5, standardize=False, rng=0)
        assert np.array_equal(found.support, want.support)
        assert found.value == pytest.approx(want.value, rel=1e-9)
    gram = similarity_of("rbf", 0.5)(X, X)
    assert points(gram, 5, similarity="precomputed", rng=0).value == pytest.approx(
        want.value, rel=1e-9
    )
    called = points(X, 5, similarity=lambda a, b: similarity_of("rbf", 0.5)(a, b), rng=0)
    assert called.value == pytest.approx(want.value, rel=1e-9)


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("gamma", [0.4, "median", "scale"])
def test_weights_equal_repeated_rows_and_the_order_does_not_matter(labelled, gamma):
    rng = np.random.default_rng(5)
    X, counts, y = rows(5, 40), rng.integers(0, 4, 40), rng.integers(0, 2, 40)
    order = rng.permutation(counts.sum())
    many, labels = np.repeat(X, counts, axis=0)[order], np.repeat(y, counts)[order]
    weighted = points(
        X, 6, labels=y if labelled else None, gamma=gamma, sample_weight=counts, rng=0
    )
    repeated = points(many, 6, labels=labels if labelled else None, gamma=gamma, rng=0)
    assert weighted.value == pytest.approx(repeated.value, rel=1e-9)
    by_row = {X[i].tobytes(): weighted.p[i] for i in weighted.support}
    assert {many[i].tobytes() for i in repeated.support} == set(by_row)
    for i in repeated.support:
        assert repeated.p[i] == pytest.approx(by_row[many[i].tobytes()], rel=1e-7)
    assert not set(weighted.support) & set(np.flatnonzero(counts == 0))


@pytest.fixture
def shrunk(monkeypatch):
    """Limits of work beyond which not all pairs of some thousand rows are compared."""
    for name in ("MAX_PAIRWISE_WORK", "MAX_CANDIDATE_WORK"):
        monkeypatch.setattr(_target, name, 10**5)
    monkeypatch.setattr(_target, "MIN_CANDIDATES", 100)


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("similarity", ["rbf", "laplace", "matern32", "matern52", "linear"])
def test_beyond_the_work_for_all_pairs_the_error_is_stated(shrunk, similarity, labelled):
    X, y = rows(10, 1500), np.arange(1500) % 2 if labelled else None
    gamma = bandwidth(X, similarity, "median") or 1.0
    result = points(X, 10, labels=y, similarity=similarity, gamma=gamma, rng=0)
    K = similarity_of(similarity, gamma)(X, X)
    t = result.p - 1 / 1500
    truth = t @ (K if y is None else K * (y[:, None] == y[None])) @ t
    assert len(result.support) <= 10
    if similarity == "linear":
        assert result.value == pytest.approx(truth, abs=1e-10)
        return
    assert "100 candidate rows" in result.note
    assert "estimate by" in result.note
    assert abs(result.value - truth) < 5 * result.value_se


@pytest.mark.parametrize("solver", ["auto", "exact", "exchange", "greedy", "iht"])
def test_a_bound_over_sampled_candidates_is_none_over_all_rows(shrunk, solver):
    result = points(rows(0, 600, 2), 3, gamma=0.5, solver=solver, rng=0)
    assert "100 candidate rows" in result.note
    assert result.bound is None
    assert result.status is not Status.OPTIMAL


def test_similarities_without_features_are_sampled_and_say_so(shrunk):
    X = rows(11, 3000).round()
    result = points(X, 10, similarity="hamming", gamma=2.0, rng=0)
    assert "stand for all" in result.note
    K = similarity_of("hamming", 2.0)(X, X)
    t = result.p - 1 / 3000
    assert abs(np.sqrt(t @ K @ t) - np.sqrt(result.value)) < 3 * np.sqrt(result.value_se)


def test_a_short_time_limit_compares_fewer_rows_and_says_so():
    X = rows(0, 20000, 4)
    hurried = points(X, 20, gamma=0.2, time_limit=0.3, rng=0)
    assert "candidate rows" in hurried.note
    whole = RowsMMD.between(X, np.full(len(X), 1 / len(X)), similarity_of("rbf", 0.2))
    truth = whole.value_at(hurried.support, hurried.p[hurried.support])
    assert hurried.value == pytest.approx(truth, abs=5 * hurried.value_se)
    assert "candidate" not in points(X[:2000], 20, gamma=0.2, time_limit=0.001, rng=0).note


def test_estimator_has_what_it_promises():
    X, y = load_digits(return_X_y=True)
    frame = pd.DataFrame(X[:200])
    model = FewerPoints(k=8, standardize=False, random_state=0).fit(frame)
    assert model.indices_.shape == model.weights_.shape == (8,)
    assert model.weights_.sum() == pytest.approx(1)
    assert model.counts_.sum() == pytest.approx(200)
    assert np.array_equal(model.points_, X[model.indices_])
    assert model.mmd_ == pytest.approx(np.sqrt(model.value_))
    assert model.gap_ == model.value_ - model.bound_
    K = similarity_of("rbf", model.gamma_)(X[:200], X[model.indices_])
    np.testing.assert_allclose(model.transform(frame), K)
    sampler = FewerSampler(k=8, standardize=False, random_state=0)
    chosen, labels = sampler.fit_resample(frame, pd.Series(y[:200]))
    assert chosen.index.tolist() == labels.index.tolist() == sampler.sample_indices_.tolist()
    gram = similarity_of("rbf", 0.001)(X[:100], X[:100])
    pairwise = FewerPoints(k=3, similarity="precomputed", random_state=0).fit(gram)
    np.testing.assert_array_equal(pairwise.transform(gram), gram[:, pairwise.indices_])
    with pytest.warns(UserWarning, match="k = 99 is more than the 5 distinct rows there are"):
        assert FewerPoints(k=99).fit(X[:5]).value_ <= 1e-12


def test_swapped_points_are_the_result_of_a_classifier():
    X, y = load_digits(return_X_y=True)
    model = FewerPointsClassifier(k=20, gamma="median", random_state=0).fit(X[:300], y[:300])
    result = model.result_
    assert result.indices.tolist() == model.indices_.tolist()
    assert np.array_equal(result.rows, X[model.indices_])
    assert np.array_equal(model.labels_, y[model.indices_])
    F = dense(X[:300], model.gamma_, y[:300])
    assert result.value == pytest.approx(F.value_on(result.indices), rel=1e-6)
    assert result.status is not Status.OPTIMAL


def test_classifier_is_the_nearest_of_its_points_and_better_than_chance():
    X, y = load_digits(return_X_y=True)
    model = FewerPointsClassifier(k=40, random_state=0).fit(X[:900], y[:900])
    twin = KNeighborsClassifier(1).fit(X[model.indices_], y[model.indices_])
    assert np.array_equal(model.predict(X[900:]), twin.predict(X[900:]))
    drawn = np.random.default_rng(0).choice(900, 40, replace=False)
    at_random = KNeighborsClassifier(1).fit(X[drawn], y[drawn])
    assert model.score(X[900:], y[900:]) > at_random.score(X[900:], y[900:]) + 0.05


X3 = rows(0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: points(X3, 13), r"k must be in 1\.\.12 \(distinct rows\), got 13"),
        (lambda: points(np.ones((5, 2)), 2), r"k must be in 1\.\.1 \(distinct rows\), got 2"),
        (lambda: points(X3, 0), "k must be"),
        (lambda: points(X3, 2.0), "k must be an integer"),
        (lambda: points(np.full((3, 2), np.nan), 1), "finite"),
        (lambda: points(np.ones(3), 1), "shape"),
        (lambda: points(X3, 2, gamma=0), "gamma must be above 0"),
        (lambda: points(X3, 2, gamma="mean"), "gamma must be one of"),
        (lambda: points(X3, 2, gamma="cv"), "needs labels"),
        (lambda: points(X3, 2, labels=[0, 1]), "one label for each of the 12 rows"),
        (lambda: points(X3, 2, labels=[np.nan] * 12), "labels must be known and finite"),
        (lambda: points(X3, 2, sample_weight=[1.0]), "sample_weight"),
        (lambda: points(X3, 2, sample_weight=np.zeros(12)), "all zeros"),
        (lambda: points(X3, 2, solver="fast"), "solver must be one of"),
        (lambda: points(X3, 2, similarity="gauss"), "similarity must be one of"),
        (lambda: points(X3, 2, similarity="precomputed"), "square"),
        (lambda: points(np.triu(np.ones((3, 3))), 2, similarity="precomputed"), "symmetric"),
        (lambda: points(sp.csr_array(X3), 2, similarity="laplace"), "dense rows"),
        (lambda: points(X3, 2, max_memory="much"), "max_memory must be bytes"),
        (
            lambda: points(X3, 5, max_memory=100),
            "max_memory must hold 24 bytes for each of the 12 rows",
        ),
    ],
)
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        call()


@needs_data
def test_usps_within_the_figures_of_the_paper_and_far_below():
    with np.load(REAL, allow_pickle=False) as file:
        X = file["X_train"]
    assert points(X, 20, gamma=0.004117, rng=0).value < 0.95 * 0.009337
    assert points(X, 100, gamma=0.004117, rng=0).value < 0.000874


def test_equal_rows_have_the_same_prediction_where_two_points_are_as_near():
    X = np.array([[3, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 1]] * 2)  # many equal distances
    y = np.array([1, 1, 1, 2, 2, 2] * 2)
    for k in range(1, 6):
        model = FewerPointsClassifier(k=k, solver="greedy", random_state=0).fit(X, y)
        guesses = model.predict(np.tile(X, (20, 1))).reshape(40, 6)
        assert (guesses == guesses[0]).all(), k
        likeliest = model.predict_proba(X).argmax(axis=1)
        assert (model.classes_[likeliest] == model.predict(X)).all()


@pytest.mark.parametrize("convert", [lambda t: t, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("kind", [FewerPointsClassifier, FewerSampler])
def test_labels_may_be_a_column_of_the_table(kind, convert):
    frame, labels = pd.DataFrame(rows(0, 30, 2), columns=["a", "b"]), list("xyz") * 10
    model = kind(4, random_state=0)
    expected = clone(model).fit(convert(frame), labels)
    again = clone(model).fit(convert(frame.assign(label=labels)), "label")
    assert again.indices_.tolist() == expected.indices_.tolist()
    assert again.feature_names_in_.tolist() == ["a", "b"]


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


@pytest.mark.parametrize("value", ["yes", 1, None, 0.5])
def test_standardize_is_auto_true_or_false(value):
    with pytest.raises(InvalidInput, match="standardize must be 'auto', True or False"):
        points(rows(0), 2, standardize=value)
    with pytest.raises(InvalidInput, match="standardize is not for similarity"):
        points(np.eye(3), 2, similarity="precomputed", standardize=True)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_an_estimator_scales_new_rows_as_it_scaled_its_own(form):
    X = np.column_stack([TABLE, np.full(40, 7.0)])
    model = FewerPoints(4, standardize=True, random_state=0).fit(form(X))
    Z = by_hand(TABLE)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    np.testing.assert_allclose(model.scale_, [*TABLE.std(axis=0), 1.0])
    wanted = naive_similarity("rbf", model.gamma_, Z, Z[model.indices_])
    np.testing.assert_allclose(model.transform(form(X)), wanted, rtol=1e-8)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(form(X)), model.transform(form(X)))


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


def test_a_time_limit_leaves_values_of_inner_products_exact():
    X = rows(0, 20_000)
    result = points(X, 2, similarity="linear", solver="greedy", time_limit=0.01, rng=0)
    off = result.weights @ X[result.indices] - X.mean(axis=0)
    np.testing.assert_allclose(result.value, off @ off, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("copies", [1, 4000])
def test_equal_rows_are_merged_in_small_tables_and_in_large_ones(sparse, labelled, copies):
    X = np.tile(rows(12, 50).round(), (copies, 1))
    labels = np.arange(len(X)) % 2 if labelled else None
    form = sp.csr_array(X) if sparse else X
    first, weights = merge_equal_rows(form, labels, np.ones(len(X)))
    keys = X if labels is None else np.column_stack([labels, X])
    _, wanted, counts = np.unique(keys + 0.0, axis=0, return_index=True, return_counts=True)
    order, there = np.argsort(first), np.argsort(wanted)
    assert first[order].tolist() == wanted[there].tolist()
    assert weights[order].tolist() == counts[there].tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        {"X": np.full((5, 2), np.nan)},
        {"y": [0, 1]},
        {"sample_weight": -np.ones(5)},
    ],
)
@pytest.mark.parametrize("kind", [partial(FewerPoints, by_label=True), FewerPointsClassifier])
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(kind, wrong):
    model = kind(3, gamma=0.5, random_state=0).fit(rows(0), np.arange(12) % 2)
    before = dict(vars(model))
    with pytest.raises(InvalidInput):
        model.fit(**{"X": rows(0, 5, 2), "y": [0, 1, 0, 1, 0], **wrong})
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


@pytest.mark.parametrize("similarity", ["rbf", "linear", "hamming"])
def test_the_callers_arrays_stay_as_they_are(similarity):
    X, w = rows(0), np.arange(12.0)
    options = {"labels": KINDS[:12], "similarity": similarity, "standardize": True, "rng": 0}
    points(X, 3, sample_weight=w, **options)
    assert X.tobytes() == rows(0).tobytes()
    assert w.tolist() == list(range(12))


def test_cosine_misses_clusters_that_rbf_on_rows_of_length_one_finds():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(30), 20)
    centres = rng.standard_normal((30, 8))
    centres /= np.linalg.norm(centres, axis=1)[:, None]
    X = centres[y] + 0.02 * rng.standard_normal((600, 8))
    X /= np.linalg.norm(X, axis=1)[:, None]
    shares = {}
    for name in ("rbf", "cosine", "linear"):
        result = points(X, 30, similarity=name, rng=0)
        shares[name] = len(set(y[result.indices])) / 30
        assert (f"{name} compares" in result.note) == (name != "rbf")
    assert shares["rbf"] > 0.9
    assert max(shares["cosine"], shares["linear"]) < 0.8


def test_both_parts_of_a_split_are_nearer_to_all_rows_than_any_random_part():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((150, 3)), rng.standard_normal((50, 3)) + 4.0])
    F = dense(X, bandwidth(X, "rbf", "median"))

    def error(part):
        return F.value_at(part, np.full(len(part), 1 / len(part)))

    first, second = split_evenly(X, 40, rng=0)
    assert (len(first), len(second)) == (160, 40)
    assert np.array_equal(np.union1d(first, second), np.arange(200))
    at_random = min(error(rng.choice(200, 40, replace=False)) for _ in range(50))
    assert error(second) < 0.2 * at_random
    assert error(first) == pytest.approx(error(second) * (40 / 160) ** 2, rel=1e-9)
    _, kept = split_evenly(X, 5, include=[3], exclude=[4, 5], rng=0)
    assert 3 in kept
    assert not {4, 5} & set(kept)


@pytest.mark.parametrize(
    ("k", "options", "words"),
    [
        (2, {"move": True}, "move is not for a split"),
        (2, {"missing": "drop"}, "would leave rows in neither part"),
        (5, {}, "k must be below the number of rows, 5"),
    ],
)
def test_what_is_no_split_is_refused_in_a_sentence(k, options, words):
    with pytest.raises(InvalidInput, match=words):
        split_evenly(np.arange(5.0)[:, None], k, rng=0, **options)


def test_standardize_sees_numbers_that_differ_little_beside_their_size():
    """Such as consecutive numbers of sixteen digits; a constant column of this size counts nothing."""
    near, size = np.column_stack([TABLE, np.arange(40.0)]), 2.0**52
    far = np.column_stack([TABLE, size + np.arange(40), np.full(40, 0.1 * size)])
    one, two = (points(X, 3, standardize=True, rng=0) for X in (near, far))
    assert two.indices.tolist() == one.indices.tolist()
    assert two.value == pytest.approx(one.value)


@pytest.mark.parametrize("labels", [["a", 1], [None, "b"]])
def test_labels_of_a_classifier_that_cannot_be_sorted_are_shown(labels):
    y = np.array(labels * 20, object)
    with pytest.raises(InvalidInput, match="labels must be such that they can be sorted, got"):
        FewerPointsClassifier(2).fit(TABLE, y)


def test_a_sparse_matrix_says_which_entry_is_not_finite():
    X = sp.csr_array(np.array([[0.0, 1.0], [0.0, 0.0], [0.0, np.nan]]))
    with pytest.raises(InvalidInput, match="X must be finite, got nan at index 2, 1"):
        points(X, 1)
