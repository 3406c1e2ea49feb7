"""Points that move: gradients against differences, values against dense algebra, boxes, tables, large data, limits."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits

from fewer import FewerPoints, InvalidInput, Status, points
from fewer.deadline import Deadline
from fewer.jobs.points import moving as _moving
from fewer.jobs.points import target as _target
from fewer.jobs.points.moving import Box, Descent, MovingMMD, Places, Seats
from fewer.similarity import bandwidth, similarity_of

SMOOTH = ("rbf", "matern32", "matern52")


def mixture(seed=0, n=300, d=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((4, d))[rng.integers(4, size=n)] * 3.0 + rng.standard_normal((n, d))


def mmd2(Y, w, X, similarity, t=None, labels=None):
    """MMD² of weights on any places from weighted rows, all pairs at once."""
    t = np.full(len(X), 1.0 / len(X)) if t is None else np.asarray(t) / np.sum(t)
    both, q = np.vstack([Y, X]), np.concatenate([w, -t])
    K = similarity(both, both)
    if labels is not None:
        codes = np.concatenate(labels)
        K = K * (codes[:, None] == codes[None])
    return float(q @ K @ q)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.1, 0.3)])
def test_gradient_is_that_of_the_projected_value(name, bounds):
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((30, 4)), rng.standard_normal((5, 4))
    labels, own = rng.integers(2, size=30), np.array([0, 0, 1, 1, 1])
    space = Places.about(X, similarity_of(name, 0.4))
    f = MovingMMD.of(space.of(X, labels), rng.dirichlet(np.ones(30)), name, *bounds)
    Y, start = space.of(Y, own), np.full(5, 0.2)
    gradient, h = f(Y, start)[2], 1e-5
    for i, j in np.ndindex(5, 4):
        up, down = Y.copy(), Y.copy()
        up[i, j] += h
        down[i, j] -= h
        slope = (f(up, start)[0] - f(down, start)[0]) / (2 * h)
        assert slope == pytest.approx(gradient[i, j], abs=1e-8)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_value_is_the_discrepancy_of_the_moved_points_and_below_that_of_the_rows(
    name, weighted, labelled
):
    X, rng = mixture(), np.random.default_rng(2)
    t = rng.uniform(0.0, 1.0, len(X)) if weighted else None
    y = (X[:, 0] > 0).astype(int) if labelled else None
    how = {"similarity": name, "gamma": 0.05, "sample_weight": t, "labels": y, "rng": 0}
    rows, found = points(X, 6, **how, solver="exchange"), points(X, 6, **how, move=True)
    codes = None if y is None else [y[found.indices], y]
    direct = mmd2(found.rows, found.weights, X, similarity_of(name, 0.05), t, codes)
    assert found.value == pytest.approx(direct, rel=1e-7, abs=1e-13)
    assert found.value < 0.9 * rows.value
    assert np.array_equal(found.indices, rows.indices)
    assert found.rows.shape == (6, 3)
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.bound is None
    assert found.gap is None
    assert found.status is Status.FINISHED
    assert "the points moved" in found.note
    assert found.history[-1] == pytest.approx(found.value, rel=1e-6)
    assert (found.rows >= X.min(axis=0)).all()
    assert (found.rows <= X.max(axis=0)).all()


def test_points_that_crowd_one_cluster_are_put_into_the_others():
    rng = np.random.default_rng(3)
    centres = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 100.0]])
    X = np.repeat(centres, 20, axis=0) + rng.standard_normal((60, 2))
    similarity, t = similarity_of("rbf", 0.1), np.full(60, 1 / 60)
    space = Places.about(X, similarity)
    places = space.of(X)
    problem = MovingMMD.of(places, t, "rbf")
    free = np.ones((3, 3), bool)
    free[0], free[:, -1] = False, False  # the first is an included row
    box = Box(places.min(axis=0), places.max(axis=0), free)
    way = Descent(problem, places[:3], np.full(3, 1 / 3), box, 1.0, Deadline.after(None))
    way.search(400, Seats(places, similarity(X, X) @ t), np.random.default_rng(0))
    assert way.places[0].tolist() == places[0].tolist()
    ends = space.rows(way.places)
    nearest = np.linalg.norm(ends[:, None] - centres, axis=2).argmin(axis=1)
    assert sorted(nearest.tolist()) == [0, 1, 2]
    assert way.history == sorted(way.history, reverse=True)


def test_digits_fall_to_a_third_within_their_box():
    X = load_digits().data
    rows, found = points(X, 20, rng=0, solver="exchange"), points(X, 20, rng=0, move=True)
    assert found.value <= 0.35 * rows.value
    assert found.rows.min() >= 0.0
    assert found.rows.max() <= 16.0
    free = points(X, 20, rng=0, move="free")
    assert free.value <= found.value
    assert free.rows.min() < 0.0


def test_bounds_hold_in_the_units_of_the_user():
    X = mixture(4) * [1.0, 100.0, 0.01] + [5.0, -3000.0, 0.0]
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    for standardize in (False, True):
        found = points(X, 5, move=(low, high), standardize=standardize, rng=0)
        assert (found.rows >= low).all()
        assert (found.rows <= high).all()
    one = points(X, 5, move={1: (-3000.0, np.inf)}, standardize=True, rng=0)
    assert one.rows[:, 1].min() >= -3000.0
    assert one.rows[:, 0].max() <= X[:, 0].max()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    same = points(frame, 5, move={"b": (-3000.0, np.inf)}, rng=0)
    assert same.rows.to_numpy() == pytest.approx(one.rows, rel=1e-9)


def table(n=240):
    rng = np.random.default_rng(5)
    plan = rng.choice(["free", "gold", "team"], n)
    age = rng.normal(40, 9, n) + 10 * (plan == "gold")
    since = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D")
    visits = rng.poisson(5, n)
    index = [f"u{i}" for i in range(n)]
    return pd.DataFrame({"plan": plan, "age": age, "since": since, "visits": visits}, index=index)


def test_of_a_table_only_the_numbers_move():
    frame = table()
    rows, found = points(frame, 8, rng=0, solver="exchange"), points(frame, 8, rng=0, move=True)
    assert found.value < 0.9 * rows.value
    start = frame.iloc[found.indices]
    assert found.rows.index.equals(start.index)
    assert list(found.labels) == list(start.index)
    for name in ("plan", "since"):
        assert found.rows[name].equals(start[name])
    for name in ("age", "visits"):
        assert not np.allclose(found.rows[name], start[name])
        assert found.rows[name].between(frame[name].min(), frame[name].max()).all()


def test_missing_numbers_stay_missing_as_a_category_and_are_numbers_when_imputed():
    frame = table()
    frame.loc[frame.index[::3], "age"] = np.nan
    found = points(frame, 12, missing="category", rng=0, move=True)
    assert found.rows["age"].isna().tolist() == frame["age"].iloc[found.indices].isna().tolist()
    assert found.rows["age"].isna().any()
    assert not points(frame, 12, missing="impute", rng=0, move=True).rows["age"].isna().any()


def test_many_categories_make_sparse_rows_whose_numbers_move():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(
        {"town": [f"t{i}" for i in rng.integers(150, size=600)], "x": rng.standard_normal(600)}
    )
    frame["y"] = 100.0 + rng.standard_normal(600)
    kinds = {"town": "category"}
    rows = points(frame, 10, columns=kinds, rng=0, solver="exchange")
    found = points(frame, 10, columns=kinds, rng=0, move=True)
    assert found.value < rows.value
    assert found.rows["y"].between(frame["y"].min(), frame["y"].max()).all()
    assert found.rows["town"].tolist() == rows.rows["town"].tolist()


def test_large_data_are_judged_on_all_rows(monkeypatch):
    monkeypatch.setattr(_target, "MAX_PAIRWISE_WORK", 1)
    monkeypatch.setattr(_target, "MIN_CANDIDATES", 200)
    monkeypatch.setattr(_target, "MAX_CANDIDATE_WORK", 10**6)
    monkeypatch.setattr(_moving, "MAX_WORK", 4 * 10**7)
    X = mixture(7, 3000)
    gamma = bandwidth(X, "rbf", "median")
    found = points(X, 8, gamma=gamma, rng=0, move=True)
    assert "rows, drawn at random" in found.note
    assert "random Fourier features" in found.note
    direct = mmd2(found.rows, found.weights, X, similarity_of("rbf", gamma))
    assert abs(found.value - direct) <= 6 * found.value_se
    rows = points(X, 8, gamma=gamma, rng=0)
    assert direct < 0.5 * mmd2(X[rows.indices], rows.weights, X, similarity_of("rbf", gamma))


def test_limits_and_callbacks_end_it_with_an_answer_no_worse_than_the_rows():
    X = mixture(8, 2000, 8)
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) > 3 and progress.n_iter == 2 and len(progress.p[progress.p > 0]) <= 20

    found = points(X, 20, rng=0, solver="greedy", move=True, callback=stop)
    assert found.status is Status.CALLBACK
    assert found.value <= points(X, 20, rng=0, solver="greedy").value
    short = points(X, 20, rng=0, move=True, time_limit=0.3)
    assert short.rows.shape == (len(short.indices), 8)  # on a slow machine fewer than 20 were grown
    assert short.value + 3 * short.value_se > 0  # an estimate of it may be 0


def test_float32_stays_float32_and_integers_become_numbers():
    X = mixture(10).round()
    assert points(X.astype(np.float32), 3, rng=0, move=True).rows.dtype == np.float32
    assert points(X.astype(int).tolist(), 3, rng=0, move=True).rows.dtype == np.float64


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"move": "far"}, "move must be True, False, 'free', a pair .* got 'far'"),
        ({"move": 3}, "move must be .* got 3"),
        ({"move": (1, 0)}, "low <= high"),
        ({"move": ([0, 1], 1)}, "one number for each column"),
        ({"move": {9: (0, 1)}}, "no column of numbers is called 9"),
        ({"move": (np.nan, 1)}, "move must be"),
        ({"move": True, "similarity": "cosine"}, "move needs a smooth similarity .* got 'cosine'"),
        (
            {"move": True, "similarity": "laplace"},
            "move needs a smooth similarity .* got 'laplace'",
        ),
        ({"move": True, "similarity": lambda a, b: a @ b.T}, "got a function"),
    ],
)
def test_what_cannot_be_moved_is_refused_in_a_sentence(options, words):
    with pytest.raises(InvalidInput, match=words):
        points(mixture(), 3, rng=0, **options)


def test_sparse_rows_and_tables_without_numbers_are_refused():
    with pytest.raises(InvalidInput, match="move needs a dense array or a table, got a csr"):
        points(sp.csr_array(mixture()), 3, rng=0, move=True)
    frame = pd.DataFrame({"a": list("abcabcab"), "b": list("xxyyxyxy")})
    with pytest.raises(InvalidInput, match="categories and dates never move"):
        points(frame, 2, rng=0, move=True)


def test_no_step_of_the_history_is_below_the_value_that_is_reported():
    rows = [[0.0, 0.0], [0.625, 0.75], [1.0, 0.875], [0.25, 0.5]]
    for X in (np.array(rows), np.array([[1.0, 0.875], [0.125, 0.375], [1.0, 0.125]])):
        result = points(X, 3, move="free", rng=0)
        assert result.history.min() == result.value


def test_points_that_are_put_elsewhere_keep_their_class():
    X, rng = mixture(1), np.random.default_rng(0)
    labels = rng.integers(3, size=len(X))
    result = points(X, 9, labels=labels, gamma=0.2, rng=0, move=True)
    codes = [labels[result.indices], labels]
    direct = mmd2(result.rows, result.weights, X, similarity_of("rbf", 0.2), None, codes)
    assert result.value == pytest.approx(direct, rel=1e-7)
    model = clone(FewerPoints(5, move=(-1.0, 1.0), random_state=0)).fit(X)
    assert np.abs(model.points_).max() <= 1.0


def test_where_nothing_can_move_the_rows_come_back():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    result = points(X, 2, gamma=1.0, rng=0, move=True)
    assert result.value == pytest.approx(0.0, abs=1e-12)
    assert result.rows.tolist() == X[[0, 2]].tolist()
