"""fewer.path: for each k what the function says, beside baselines, from rows that are prepared once."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fewer
from fewer.jobs.points.points import prepare

RNG = np.random.default_rng(5)
ROWS = RNG.standard_normal((60, 3))
TABLE = pl.DataFrame(
    {"a": ROWS[:, 0], "b": ROWS[:, 1], "kind": ["x", "y", "z"] * 20, "team": np.arange(60) % 4}
)
ORDERS = (RNG.random((80, 7)) < 0.3).astype(int)
PRICES = RNG.standard_normal((50, 6))
TARGET = PRICES[:, :2].mean(axis=1) + 0.1 * RNG.standard_normal(50)
VALUES = RNG.lognormal(size=90)

CASES = {
    "points": ((TABLE,), {"labels": "kind", "max_weight": 0.6}),
    "points of an array": ((ROWS,), {"gamma": "scale", "standardize": True, "include": [3]}),
    "points that move": ((ROWS,), {"move": True}),
    "points in units": ((TABLE,), {"units": "team"}),
    "points for a target": ((ROWS[:30],), {"target": ROWS[30:]}),
    "bins": ((VALUES,), {"grid": "equal", "n_bins": 30}),
    "bins of counts": ((), {"counts": np.arange(1, 12), "preserve": "entries"}),
    "bins as bars": ((VALUES,), {"grid": "log", "contiguous": True, "n_bins": 12}),
    "terms": ((PRICES,), {"y": TARGET, "max_weight": 0.7, "sample_weight": np.arange(1.0, 51.0)}),
    "dims": ((ORDERS,), {"include": [1], "sample_weight": np.arange(1.0, 81.0)}),
}


@pytest.mark.parametrize("case", CASES)
def test_each_k_is_the_answer_of_the_function(case):
    (X, *_), options = (*CASES[case][0], None), CASES[case][1]
    job, ks = case.split()[0], [2, 3]
    solver = "auto" if job == "bins" else "greedy"
    found = fewer.path(job, X, ks, rng=0, solver=solver, splits=2, **options)
    assert found.ks == ks
    assert found.recommended in ks
    data = () if X is None else (X,)
    for k, result in zip(ks, found.results, strict=True):
        expected = getattr(fewer, job)(*data, k=k, rng=0, solver=solver, **options)
        assert result.indices.tolist() == expected.indices.tolist()
        assert result.value == pytest.approx(expected.value, rel=1e-12)
        np.testing.assert_allclose(result.p, expected.p, atol=1e-12)
    for errors in (found.errors, found.held_out):
        assert all(len(each) == len(ks) and np.isfinite(each).all() for each in errors.values())
    if case not in ("points for a target",):
        assert set(found.held_out) == set(found.errors)
        assert len(found.errors) > 1
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["k"].tolist() == ks
    assert frame["error"].to_numpy() == pytest.approx(found.errors["fewer"])
    assert frame["recommended"].sum() == 1


def test_baselines_are_held_out_as_fewer_is():
    found = fewer.path(
        "terms", PRICES, [2, 4], y=TARGET, rng=0, solver="greedy", test=[40, 41, 42, 43], splits=1
    )
    train = np.arange(50)[~np.isin(np.arange(50), [40, 41, 42, 43])]
    A, b = PRICES[train], TARGET[train]
    ranking = np.argsort(-np.array([np.corrcoef(column, b)[0, 1] for column in A.T]))
    for at, k in enumerate((2, 4)):
        p = np.zeros(6)
        p[ranking[:k]] = fewer.terms(A[:, ranking[:k]], b, k, rng=0).p
        error = np.sqrt(np.mean((PRICES[40:44] @ p - TARGET[40:44]) ** 2))
        assert found.held_out["correlation ranking"][at] == pytest.approx(error, rel=1e-6)


def test_rows_are_prepared_once_for_all_k():
    calls = []

    def note(frame, event, _):
        if event == "call" and frame.f_code is prepare.__code__:
            calls.append(1)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        fewer.path("points", ROWS, [2, 3, 4, 5], solver="greedy", splits=5)
    finally:
        sys.setprofile(before)
    assert len(calls) == 6  # all rows, and those of each split


def test_data_in_blocks_have_one_set_of_passes():
    passes = []

    def blocks():
        passes.append(1)
        return iter([ROWS[:25], ROWS[25:]])

    found = fewer.path(
        "points", blocks, [2, 4], rng=0, max_memory="1KB", similarity="rbf", gamma=0.5
    )
    expected = [fewer.points(blocks, k, rng=0, max_memory="1KB", gamma=0.5) for k in (2, 4)]
    assert [r.indices.tolist() for r in found.results] == [r.indices.tolist() for r in expected]
    assert found.held_out == {}
    assert list(found.errors) == ["fewer"]


@pytest.mark.parametrize(
    ("job", "options", "words"),
    [
        ("point", {}, "job must be"),
        ("points", {"gama": 1.0}, "gama is no option of points; did you mean 'gamma'"),
        ("points", {"y": TARGET}, "y is the target of terms"),
        ("points", {"rng": np.random.default_rng(0)}, "rng must be a seed"),
        ("points", {"k": 99}, "k must be in 1..60"),
        ("points", {"test": 1.5}, "test must be a share below 1"),
        ("terms", {"y": TARGET, "test": ("last", 0.0)}, "test must be above 0"),
        ("terms", {}, "y must"),
    ],
)
def test_what_a_path_cannot_serve_is_refused(job, options, words):
    with pytest.raises(fewer.InvalidInput, match=words):
        fewer.path(job, ROWS, [2], **options)


def test_a_k_above_the_rows_of_the_training_part_keeps_all_of_them():
    found = fewer.path("points", ROWS[:10], [3, 9])
    assert np.isfinite(found.held_out["fewer"]).all()


def test_no_k_at_all():
    with pytest.raises(fewer.InvalidInput, match="ks must have at least one k"):
        fewer.path("bins", VALUES, [])


def test_a_path_is_drawn():
    pytest.importorskip("matplotlib").use("agg")
    ax = fewer.path("bins", VALUES, [2, 3]).plot()
    assert {line.get_label() for line in ax.lines} >= {
        "fewer",
        "fewer, held out",
        "quantile binning",
    }


@pytest.mark.parametrize(
    "option", [{"positions": [1.0, 2.0, 4.0]}, {"ridge": 1.0}, {"validation": 0.1}]
)
def test_an_option_that_a_path_of_bins_has_not_is_named(option):
    with pytest.raises(
        fewer.InvalidInput, match=f"'{next(iter(option))}' is no option of a path of bins"
    ):
        fewer.path("bins", None, [1, 2], counts=[1, 2, 3], **option)


def test_a_ridge_is_that_of_terms():
    found = fewer.path("terms", PRICES, [3], y=TARGET, rng=0, ridge=5.0)
    assert found.results[0].value == fewer.terms(PRICES, TARGET, 3, rng=0, ridge=5.0).value
