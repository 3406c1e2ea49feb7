"""fewer.path: for each k what the function says, beside baselines; claims of what was measured."""

import sys
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fewer
from fewer.jobs.points.points import prepare
from fewer.report.bins import HistogramStudy
from fewer.report.page import path_page
from fewer.report.path import (
    SPLITS,
    compare,
    matching_size,
    solve_path,
    study_of,
)
from fewer.report.study import Study

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
        ("points", {"gama": 1.0}, "'gama' is no option of points; did you mean 'gamma'"),
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
    with pytest.raises(fewer.InvalidInput, match=f"{next(iter(option))} is not for a path of bins"):
        fewer.path("bins", None, [1, 2], counts=[1, 2, 3], **option)


def test_what_a_baseline_does_is_said_as_it_is():
    study = study_of("bins", None, counts=np.random.default_rng(1).integers(1, 40, 30))
    path = solve_path(study, [5])
    assert path.comparison.startswith("baseline quantile binning matches this with ")
    own = path.answer.errors["fewer"]
    for other, words in ((own, "does as well here"), (own / 2, "is better here")):
        answer = replace(path.answer, errors={"fewer": own, "other": other})
        assert compare(study, answer) == f"baseline other {words}"
    without = solve_path(study, [5], baselines=False)
    assert (without.comparison, without.answer.errors) == ("", {"fewer": own})


class Noisy(Study):
    """Errors that are known on all data, and have noise where some are held out."""

    job, metric, size, unit = "bins", "error", 9, "bins"
    curve: ClassVar = {1: 10.0, 2: 1.0, 3: 0.95, 4: 0.94}
    noise = np.zeros(10)

    def solve(self, k, **search):
        return fewer.bins(counts=[1, 2, 3, 4, 5, 6, 7, 8, 9], k=k)

    def error(self, result):
        return self.curve[len(result.indices)] + float(self.noise[len(result.indices)])

    def split(self, share, rng):
        test = Noisy()
        test.noise = 0.3 * rng.normal() + 0.02 * rng.normal(size=10)  # splits differ more than k do
        return self, test


def test_several_splits_are_averaged_and_the_smallest_k_within_their_error_is_taken():
    path = solve_path(Noisy(), [1, 2, 3, 4], held_out=0.3)
    for answer in path.answers:
        assert len(answer.splits) == SPLITS
        assert answer.held_out["fewer"] == pytest.approx(np.mean(answer.splits))
        spread = np.var(answer.splits, ddof=1) * (1 / SPLITS + 0.3 / 0.7)
        assert answer.held_out_se == pytest.approx(spread**0.5)
    assert path.recommended == 2
    assert path.reason == "no larger k has a held-out error that is clearly lower, over 5 splits"
    chosen = [solve_path(Noisy(), [1, 2, 3, 4], held_out=0.3, rng=s).recommended for s in range(20)]
    assert chosen.count(2) >= 14
    assert 1 not in chosen
    assert len(solve_path(Noisy(), [1, 2], k=2, held_out=0.3).answers[0].splits) == 1
    page = path_page(path, "title", {})
    assert 'class="band"' in page
    assert "± standard error" in page


def test_an_interrupt_after_the_search_keeps_its_answer():
    def stop(k):
        raise KeyboardInterrupt

    study = HistogramStudy(np.ones(30))
    study.baselines = lambda test: {"other": stop}
    path = solve_path(study, [3, 5])
    assert path.interrupted
    assert path.ks == [3]
    assert list(path.errors) == ["fewer"]
    assert "What was kept" in path_page(path, "stopped", {})
    study.solve = lambda k, **search: stop(k)
    with pytest.raises(KeyboardInterrupt):
        solve_path(study, [3, 5])


def test_baselines_of_dims_are_what_they_say():
    rows = (np.random.default_rng(3).random((80, 7)) < 0.3).astype(np.int8)
    study = study_of("dims", rows, names="abcdefg")
    order = np.argsort(-rows.sum(axis=0), kind="stable")
    for k in range(1, 8):
        left = rows[:, order[k:]].any(axis=1).mean()
        assert study.baselines(study)["frequency ranking"](k) == pytest.approx(left)


def test_held_out_points_are_compared_by_the_definition():
    X = np.random.default_rng(0).standard_normal((60, 3))
    study = study_of("points", X, 4, gamma=0.5)
    train, test = study.split(0.3, np.random.default_rng(0))
    held = np.random.default_rng(0).permutation(60)[:18]
    result = train.solve(4, solver="greedy", rng=0)
    assert not np.isin(result.indices, held).any()
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    w = np.zeros(60)
    w[result.indices] = result.weights
    w[held] -= 1 / 18
    assert test.error(result) == pytest.approx(w @ K @ w)


def test_held_out_bins_are_a_random_part_of_the_values():
    counts = np.random.default_rng(2).integers(0, 9, 50).astype(float)
    train, test = HistogramStudy(counts).split(0.3, np.random.default_rng(0))
    assert (train.counts + test.counts == counts).all()
    assert (test.counts >= 0).all()
    assert 0 < test.counts.sum() < counts.sum()
    P, Q = np.cumsum(test.target), np.cumsum(train.target)
    same = replace(train.solve(5), table=train.target)
    assert test.error(same) == pytest.approx(np.sqrt(test.target @ (P - Q) ** 2))
    assert HistogramStudy(counts + 0.5).split(0.3, np.random.default_rng(0)) is None


@pytest.mark.parametrize("seed", range(40))
def test_sizes_are_claimed_as_measured_whatever_a_baseline_does(seed):
    rng = np.random.default_rng(seed)
    errors = rng.random(200) / np.arange(1, 201) ** rng.uniform(0, 1)  # not monotone
    errors[rng.integers(20, 220) :] = np.inf  # more cannot be served
    asked = []

    def baseline(k):
        asked.append(k)
        return float(errors[k - 1])

    k, error = int(rng.integers(1, 19)), float(rng.uniform(0, 0.1))
    size, tried = matching_size(baseline, k, error, 200)
    assert len(set(asked)) == len(asked) < 30
    assert all(k < each <= 200 for each in asked)
    assert tried == sorted(each for each in asked if error < errors[each - 1] < np.inf)
    assert size == min((each for each in asked if errors[each - 1] <= error), default=None)


def test_the_error_of_bins_is_a_mean_over_the_data():
    x = np.array([1.0, 1.0, 2.0, 5.0])
    problem = study_of("bins", x)
    result = problem.solve(2)
    differences = [result.weights[result.labels <= v].sum() - (x <= v).mean() for v in x]
    assert problem.error(result) == pytest.approx(np.sqrt(np.mean(np.square(differences))))
    counts = np.array([2.0, 1.0, 0.0, 1.0])
    problem = study_of("bins", None, counts=counts)
    result = problem.solve(2)
    differences = np.repeat(np.cumsum(result.p - counts / 4), counts.astype(int))
    assert problem.error(result) == pytest.approx(np.sqrt(np.mean(np.square(differences))))
