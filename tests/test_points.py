"""points: the job and its two estimators, against enumeration, dense algebra, repeated rows and bad input."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import fewer
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
)
from fewer.jobs.points import rows as _merge
from fewer.jobs.points import target as _target
from fewer.similarity import bandwidth, similarity_of

SOLVERS = ("auto", "exact", "exchange", "greedy", "iht")
REAL = Path(__file__).parents[2] / "shared/data/usps.npz"
needs_data = pytest.mark.skipif(
    not REAL.exists(), reason="the real data sets are not beside the repository"
)


WHY = (
    "they shuffle the rows, and the columns of transform follow these: compared below, in one order"
)
columns_follow_rows = {
    f"check_sample_weight_equivalence_on_{kind}_data": WHY for kind in ("dense", "sparse")
}


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("similarity", ["rbf", "cosine"])
def test_sample_weights_are_repeated_rows_whatever_the_order(kind, similarity):
    rng = np.random.default_rng(0)
    X, counts = rng.standard_normal((15, 4)), rng.integers(0, 4, 15)
    repeated = rng.permutation(np.repeat(X, counts, axis=0))
    model = FewerPoints(3, similarity=similarity, solver="greedy", random_state=0)
    here, there = (
        clone(model).fit(kind(rows), sample_weight=weight).transform(kind(X))
        for rows, weight in ((X, counts), (repeated, None))
    )
    assert here[:, np.argsort(here[0])] == pytest.approx(
        there[:, np.argsort(there[0])], rel=1e-7, abs=1e-9
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
    narrow = points(X.astype(np.float32), 5, gamma=0.5, rng=0)
    assert narrow.value == pytest.approx(want.value, rel=1e-4)
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


def test_scaling_rows_and_gamma_together_changes_nothing():
    X = rows(7, 60)
    first, second = points(X, 6, gamma=0.5, rng=0), points(8.0 * X, 6, gamma=0.5 / 64, rng=0)
    assert np.array_equal(first.support, second.support)
    assert first.value == pytest.approx(second.value, rel=1e-10)
    assert np.array_equal(points(X, 6, rng=0).support, points(1000.0 * X, 6, rng=0).support)


def test_same_seed_same_bits():
    X = rows(8, 300)
    first, second = points(X, 7, rng=3), points(X, 7, rng=3)
    assert first.p.tobytes() == second.p.tobytes()
    assert first.seed == second.seed == 3


def test_more_points_never_hurt_and_all_rows_are_exact():
    X = rows(9, 30)
    values = [points(X, k, rng=0).value for k in (1, 3, 9, 30)]
    assert values == sorted(values, reverse=True)
    assert values[-1] <= 1e-12


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("similarity", ["rbf", "laplace", "matern32", "matern52", "linear"])
def test_beyond_the_work_for_all_pairs_the_error_is_stated(monkeypatch, similarity, labelled):
    X, y = rows(10, 1500), np.arange(1500) % 2 if labelled else None
    gamma = bandwidth(X, similarity, "median") or 1.0
    exact = points(X, 10, labels=y, similarity=similarity, gamma=gamma, rng=0)
    for name, value in {
        "MAX_PAIRWISE_WORK": 10**5,
        "MAX_CANDIDATE_WORK": 10**7,
        "MIN_CANDIDATES": 100,
    }.items():
        monkeypatch.setattr(_target, name, value)
    large = points(X, 10, labels=y, similarity=similarity, gamma=gamma, rng=0)
    K = similarity_of(similarity, gamma)(X, X)
    K = K if y is None else K * (y[:, None] == y[None])
    t = large.p - 1 / 1500
    assert len(large.support) <= 10
    if similarity == "linear":
        assert large.value == pytest.approx(t @ K @ t, abs=1e-10)
        return
    assert "estimate by" in large.note
    assert "candidate" in large.note
    assert large.value_se > 0
    assert abs(large.value - t @ K @ t) < 5 * large.value_se
    assert t @ K @ t < 2 * exact.value


def test_similarities_without_features_are_sampled_and_say_so(monkeypatch):
    X = rows(11, 3000).round()
    for name, value in {
        "MAX_PAIRWISE_WORK": 10**5,
        "MAX_CANDIDATE_WORK": 3 * 10**7,
        "MIN_CANDIDATES": 100,
    }.items():
        monkeypatch.setattr(_target, name, value)
    result = points(X, 10, similarity="hamming", gamma=2.0, rng=0)
    assert "stand for all" in result.note
    assert result.value_se > 0
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


def equal_pairs(X, form, labels=None):
    """The first of each set of equal rows, and their weights."""
    return _merge.merge_equal_rows(form, labels, np.arange(1.0, len(X) + 1))


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_large_tables_are_merged_by_hashes(monkeypatch, sparse, labelled):
    X, labels = rows(12, 50).round(), np.arange(50) % 2 if labelled else None
    keys = [(*row, -1 if labels is None else labels[i]) for i, row in enumerate((X + 0.0).tolist())]
    first = [i for i, key in enumerate(keys) if key not in keys[:i]]
    weights = [sum(j + 1.0 for j, key in enumerate(keys) if key == keys[i]) for i in first]
    monkeypatch.setattr(_merge, "MAX_SORTED_ENTRIES", 10)
    found = equal_pairs(X, sp.csr_array(X) if sparse else X, labels)
    assert found[0].tolist() == first
    assert found[1].tolist() == weights


def test_rows_whose_hashes_collide_stay_apart(monkeypatch):
    X = rows(13, 20)
    monkeypatch.setattr(_merge, "MAX_SORTED_ENTRIES", 10)
    monkeypatch.setattr(_merge, "row_hashes", lambda table: np.zeros(table.shape[0], np.uint64))
    assert _merge.merge_equal_rows(X, None, np.ones(20))[0].tolist() == list(range(20))


def test_estimator_has_what_it_promises():
    X, y = load_digits(return_X_y=True)
    frame = pd.DataFrame(X[:200])
    model = FewerPoints(k=8, standardize=False, random_state=0).fit(frame)
    assert model.indices_.shape == model.weights_.shape == (8,)
    assert model.weights_.sum() == pytest.approx(1)
    assert (np.diff(model.indices_) > 0).all()
    assert np.array_equal(model.points_, X[model.indices_])
    assert model.mmd_ == pytest.approx(np.sqrt(model.value_))
    assert model.gap_ == model.value_ - model.bound_
    np.testing.assert_allclose(
        model.transform(frame), similarity_of("rbf", model.gamma_)(X[:200], X[model.indices_])
    )
    sampler = FewerSampler(k=8, standardize=False, random_state=0)
    chosen, labels = sampler.fit_resample(frame, pd.Series(y[:200]))
    assert chosen.index.tolist() == labels.index.tolist() == sampler.sample_indices_.tolist()
    assert (
        FewerPoints(k=8, by_label=True, gamma="cv", random_state=0).fit(X[:200], y[:200]).gamma_ > 0
    )
    gram = similarity_of("rbf", 0.001)(X[:100], X[:100])
    pairwise = FewerPoints(k=3, similarity="precomputed", random_state=0).fit(gram)
    np.testing.assert_array_equal(pairwise.transform(gram), gram[:, pairwise.indices_])
    with pytest.warns(
        UserWarning, match="k = 99 is more than the 5 distinct rows there are"
    ) as raised:
        assert FewerPoints(k=99).fit(X[:5]).value_ <= 1e-12
    assert len(raised) == 1


def test_classifier_is_the_nearest_of_its_points_and_better_than_chance():
    X, y = load_digits(return_X_y=True)
    model = FewerPointsClassifier(k=40, random_state=0).fit(X[:900], y[:900])
    twin = KNeighborsClassifier(1).fit(X[model.indices_], y[model.indices_])
    assert np.array_equal(model.predict(X[900:]), twin.predict(X[900:]))
    rng = np.random.default_rng(0)
    draws = [rng.choice(900, 40, replace=False) for _ in range(5)]
    at_random = [KNeighborsClassifier(1).fit(X[i], y[i]).score(X[900:], y[900:]) for i in draws]
    assert model.score(X[900:], y[900:]) > max(at_random)


def test_strange_but_good_input():
    assert points([[1.0, 2.0]], 1).value == 0.0
    constant = points(np.ones((5, 2)), 1)
    assert constant.value == 0.0
    assert constant.support.tolist() == [0]
    one = points(rows(0), 3, labels=["a"] * 12, gamma=0.5, rng=0)
    assert one.value == pytest.approx(points(rows(0), 3, gamma=0.5, rng=0).value, rel=1e-9)
    assert (
        FewerPointsClassifier(k=2).fit(rows(0), ["a"] * 12).predict(rows(1)).tolist() == ["a"] * 12
    )
    limited = points(load_digits().data[:700], 20, time_limit=1.0, rng=0)
    assert limited.status is Status.TIME_LIMIT


X3 = rows(0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: points(X3, 13), r"k must be in 1\.\.12 \(distinct rows\), got 13"),
        (lambda: points(np.ones((5, 2)), 2), r"k must be in 1\.\.1 \(distinct rows\), got 2"),
        (lambda: points(X3, 0), "k must be"),
        (lambda: points(X3, 2.0), "k must be an integer"),
        (lambda: points(np.full((3, 2), np.nan), 1), "finite"),
        (lambda: points(sp.csr_array(np.full((3, 2), np.inf)), 1), "finite"),
        (lambda: points(np.ones(3), 1), "shape"),
        (lambda: points([["a", "b"]], 1), "real numbers"),
        (lambda: points(X3, 2, gamma=0), "gamma must be above 0"),
        (lambda: points(X3, 2, gamma=-1.0), "gamma must be above 0"),
        (lambda: points(X3, 2, gamma="mean"), "gamma must be one of"),
        (lambda: points(X3, 2, gamma="cv"), "needs labels"),
        (lambda: points(X3, 2, labels=[0, 1]), "one label for each of the 12 rows"),
        (lambda: points(X3, 2, labels=[np.nan] * 12), "labels must be known and finite"),
        (lambda: points(X3, 2, sample_weight=[1.0]), "sample_weight"),
        (lambda: points(X3, 2, sample_weight=np.zeros(12)), "all zeros"),
        (lambda: points(X3, 2, sample_weight=-np.ones(12)), "non-negative"),
        (lambda: points(X3, 2, solver="fast"), "solver must be one of"),
        (lambda: points(X3, 2, similarity="gauss"), "similarity must be one of"),
        (lambda: points(X3, 2, similarity="precomputed"), "square"),
        (lambda: points(np.triu(np.ones((3, 3))), 2, similarity="precomputed"), "symmetric"),
        (lambda: points(sp.csr_array(X3), 2, similarity="laplace"), "dense rows"),
        (lambda: points(X3, 2, max_memory="much"), "max_memory must be bytes"),
        (lambda: points(X3, 2, max_memory=0), "max_memory"),
        (
            lambda: points(X3, 5, max_memory=100),
            "max_memory must hold 24 bytes for each of the 12 rows",
        ),
        (lambda: points(X3, 2, time_limit=0), "time_limit"),
        (lambda: points(X3, 2, rng="x"), "rng must be"),
    ],
)
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        call()


def test_tiles_do_not_depend_on_the_memory():
    X = rows(14, 500)
    t = np.random.default_rng(0).dirichlet(np.ones(500))
    wide = RowsMMD.between(X, t, similarity_of("rbf", 0.4))
    tight = RowsMMD.between(X, t, similarity_of("rbf", 0.4), memory=10**5)
    np.testing.assert_allclose(wide.mean, tight.mean, rtol=1e-12)
    units = np.array([3, 99])
    slopes = [F.slopes(units, np.array([0.3, 0.7])) for F in (wide, tight)]
    np.testing.assert_allclose(*slopes, rtol=1e-10, atol=1e-14)


def test_float32_means_are_accurate():
    X = np.random.default_rng(0).standard_normal((5000, 20)).astype(np.float32) + 10
    similarity = similarity_of("rbf", 0.02)
    F = RowsMMD.between(X, np.full(5000, 1 / 5000), similarity)
    exact = similarity(X.astype(float), X.astype(float)).mean(axis=1)
    assert np.abs(F.mean - exact).max() < 1e-7
    assert abs(F.constant - exact.mean()) < 1e-8


@needs_data
def test_usps_within_the_figures_of_the_paper_and_far_below():
    with np.load(REAL, allow_pickle=False) as file:
        X = file["X_train"]
    assert points(X, 20, gamma=0.004117, rng=0).value < 0.95 * 0.009337
    assert points(X, 100, gamma=0.004117, rng=0).value < 0.000874


def test_equal_rows_have_the_same_prediction_where_two_points_are_as_near():
    X = np.array(
        [[3, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 1]] * 2
    )  # a grid: many distances are equal
    y = np.array([1, 1, 1, 2, 2, 2] * 2)
    for k in range(1, 6):
        model = FewerPointsClassifier(k=k, solver="greedy", random_state=0).fit(X, y)
        said = model.predict(np.tile(X, (20, 1))).reshape(40, 6)
        assert (said == said[0]).all(), k
        assert (
            model.predict_proba(X).argmax(axis=1)
            == np.searchsorted(model.classes_, model.predict(X))
        ).all()
    moved = FewerPoints(k=3, solver="greedy", random_state=0).fit(X)
    assert (moved.assign(np.tile(X, (20, 1))).reshape(40, 6) == moved.assign(X[:6])).all()


@pytest.mark.parametrize("similarity", ["linear", "cosine"])
def test_a_classifier_may_keep_every_row(similarity):
    X = np.array([[0.6, 0.3], [0.1, 0.9]])
    model = FewerPointsClassifier(2, similarity=similarity).fit(X, [0, 1])
    assert model.predict(X).tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_labels_may_be_a_column_of_the_table(kind):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.standard_normal(30), "b": rng.standard_normal(30)})
    whole = frame.assign(label=list("xyz") * 10)
    library = pytest.importorskip(kind)
    convert = {
        "pandas": lambda table: table,
        "polars": lambda table: library.from_pandas(table),
        "pyarrow": lambda table: library.Table.from_pandas(table, preserve_index=False),
    }[kind]
    for model in (
        fewer.FewerPointsClassifier(4, random_state=0),
        fewer.FewerSampler(4, random_state=0),
    ):
        expected = clone(model).fit(convert(frame), whole["label"])
        again = clone(model).fit(convert(whole), "label")
        assert again.indices_.tolist() == expected.indices_.tolist()
        assert again.feature_names_in_.tolist() == ["a", "b"]
    few, labels = fewer.FewerSampler(4, random_state=0).fit_resample(convert(whole), "label")
    assert few.shape == (4, 2)
    assert set(np.asarray(labels)) <= set("xyz")
