"""The bar of functions and estimators: in terminals, in notebooks, silent elsewhere, and never in the way."""

import io
import sys
import time
from contextlib import redirect_stderr
from types import SimpleNamespace

import numpy as np
import pytest

import fewer
from fewer import progress
from fewer.deadline import Deadline

RNG = np.random.default_rng(5)
A = RNG.standard_normal((40, 12))
X = (RNG.random((60, 8)) < 0.3).astype(int)
F = fewer.Moments(fewer.Atoms(12), A, A[:, 0])
FUNCTIONS = {
    "points": lambda **more: fewer.points(A, 3, rng=0, solver="greedy", **more),
    "bins": lambda **more: fewer.bins(counts=np.arange(1, 30), k=4, **more),
    "terms": lambda **more: fewer.terms(
        A, A[:, :2].mean(axis=1), 3, rng=0, solver="greedy", **more
    ),
    "dims": lambda **more: fewer.dims(X, 3, rng=0, **more),
    "minimize": lambda **more: fewer.minimize(F, fewer.SparseSimplex(F.space, 2), "greedy", **more),
}
ESTIMATORS = {
    "FewerPoints": lambda **more: fewer.FewerPoints(3, solver="greedy", **more).fit(A),
    "FewerBins": lambda **more: fewer.FewerBins(4, **more).fit(A[:, :2]),
    "FewerTerms": lambda **more: fewer.FewerTerms(3, solver="greedy", **more).fit(A, A[:, :2]),
    "FewerDims": lambda **more: fewer.FewerDims(3, random_state=0, **more).fit(X),
}


class Tty(io.StringIO):
    def isatty(self):
        return True


def in_terminal(call):
    """What `call()` returns, and what a terminal shows meanwhile."""
    with redirect_stderr(Tty()) as stream:
        answer = call()
    return answer, stream.getvalue()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_shows_a_bar_and_the_same_answer(name):
    plain = FUNCTIONS[name]()
    watched, text = in_terminal(lambda: FUNCTIONS[name](progress=True, time_limit=100.0))
    assert watched.indices.tolist() == plain.indices.tolist()
    assert watched.value == plain.value
    lines = text.strip().split("\r")
    assert lines[0].startswith(f"{name} |")
    assert progress.STARTING in "".join(lines[:2])
    value = float(lines[-1].split("value ")[1].split(",")[0])
    assert value == pytest.approx(plain.value, rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_shows_a_bar_where_it_is_verbose(name):
    assert in_terminal(ESTIMATORS[name])[1] == ""
    assert in_terminal(lambda: ESTIMATORS[name](verbose=1))[1].startswith(f"\r{name} |")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_is_written_where_nobody_looks(name, capfd):
    FUNCTIONS[name](progress=True)
    assert capfd.readouterr() == ("", "")


def test_the_bar_fills_with_the_time_limit():
    def work():
        deadline = Deadline(time.perf_counter() - 25.0, 100.0)
        with progress.watched_by_user(True, "terms", deadline, None) as watch:
            watch(SimpleNamespace(best=2.0, bound=1.5))

    last = in_terminal(work)[1].strip().split("\r")[-1]
    assert "value 2, gap 0.5" in last
    full = last.split("|")[1]
    assert len(full) == 24
    assert len(full.rstrip()) in (6, 7)


def test_rows_are_counted_and_the_line_is_wiped():
    def work():
        with progress.rows_bar(100) as update:
            update("points-1", 40)
            time.sleep(0.12)
            update("points-2", 100)

    text = in_terminal(work)[1]
    assert "points-2: 100%" in text
    assert text.endswith("\r")


def test_an_error_ends_the_line():
    def work():
        with pytest.raises(fewer.InvalidInput, match="k must be"):
            fewer.points(A, 0, progress=True)

    text = in_terminal(work)[1]
    assert text.rstrip().endswith("no answer")
    assert text.endswith("\n")


@pytest.mark.parametrize("wrong", [1, "yes", None, np.array([True, False])])
def test_what_is_no_yes_or_no_is_refused(wrong):
    with pytest.raises(fewer.InvalidInput, match="progress must be True or False, got"):
        fewer.points(A, 2, progress=wrong)


@pytest.mark.parametrize("wrong", [-1, 0.5, "much", None])
def test_what_is_no_verbosity_is_refused(wrong):
    with pytest.raises(fewer.InvalidInput, match="verbose must be 0 or 1, got"):
        fewer.FewerPoints(2, verbose=wrong).fit(A)


def test_in_a_notebook_there_is_a_bar_without_a_terminal(monkeypatch, capsys):
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with progress.watched_by_user(True, "terms", Deadline.after(50.0), None) as watch:
        watch(SimpleNamespace(best=2.0, bound=1.5))
    assert "value 2, gap 0.5" in capsys.readouterr().out


def test_flags_that_blas_raises_by_itself_are_no_warnings():
    with progress.watched_by_user(False, "points", Deadline.after(None), None):
        assert np.isnan(np.array([np.inf]) - np.array([np.inf])).all()
    with pytest.warns(RuntimeWarning, match="invalid value"):
        np.array([np.inf]) - np.array([np.inf])
