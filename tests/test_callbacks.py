"""Every job tells its callback how far it is, and stops when told."""

import threading

import numpy as np
import pytest

import fewer
from fewer import deadline
from fewer.jobs import setting
from fewer.objectives import pairs

RNG = np.random.default_rng(11)
A = RNG.standard_normal((40, 12))
JOBS = {
    "dims": lambda callback: fewer.dims((RNG.random((80, 10)) < 0.3).astype(int), 4, rng=0, callback=callback),
    "bins": lambda callback: fewer.bins(counts=np.arange(1, 30), k=4, callback=callback),
    "terms": lambda callback: fewer.terms(A, A[:, 0], 3, rng=0, solver="greedy", callback=callback),
    "terms, validated": lambda callback: fewer.terms(
        A, A[:, :3].mean(axis=1), 3, rng=0, solver="greedy", validation=0.3, callback=callback
    ),
    "points": lambda callback: fewer.points(A, 3, rng=0, solver="greedy", callback=callback),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_callback_sees_the_best_so_far(name):
    seen = []
    result = JOBS[name](seen.append)
    assert seen
    best = [progress.best for progress in seen]
    assert best == sorted(best, reverse=True)
    assert all(progress.best <= progress.value for progress in seen)
    bounds = [progress.bound for progress in seen if progress.bound is not None]
    assert bounds == sorted(bounds)
    if name in ("dims", "bins"):
        assert best[-1] == result.value


@pytest.mark.parametrize("name", JOBS)
def test_a_callback_that_says_yes_stops_the_search(name):
    result = JOBS[name](lambda progress: True)
    assert result.status in (fewer.Status.CALLBACK, fewer.Status.OPTIMAL)
    assert result.n_iter == 1


def test_a_callback_sees_the_bound_rise_between_iterates():
    rows = (np.random.default_rng(0).random((4000, 120)) < 0.05).astype(np.int8)
    seen = []

    def patient(progress):
        seen.append(progress)
        return len({p.bound for p in seen if p.bound is not None}) > 1

    result = fewer.dims(rows, 40, solver="exact", rng=0, callback=patient)
    bounded = [progress for progress in seen if progress.bound is not None]
    assert result.status is fewer.Status.CALLBACK
    assert len({progress.bound for progress in bounded}) > 1
    assert all(progress.bound <= progress.best for progress in bounded)


@pytest.fixture
def asked_at_once(monkeypatch):
    """Callbacks are asked at every pause, whatever the clock, and with few rows, too."""
    monkeypatch.setattr(deadline, "SECONDS_BETWEEN", -1.0)
    monkeypatch.setattr(setting, "MANY_ROWS", 10)


OPTIONS = [
    {},
    {"similarity": "laplace"},
    {"move": True},
    {"target": A[:20]},
    {"units": np.arange(40) // 2},
    {"labels": A[:, 0] > 0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "".join(options) or "none")
def test_points_are_stopped_while_rows_are_compared(options, asked_at_once):
    seen = []

    def stop(progress):
        seen.append(progress)
        return True

    result = fewer.points(A, 3, rng=0, callback=stop, **options)
    assert [(progress.n_iter, progress.p.size, progress.value) for progress in seen] == [(0, 0, np.inf)]
    assert result.status is fewer.Status.CALLBACK
    assert len(result.indices) <= (6 if "units" in options else 3)
    assert result.weights.sum() == pytest.approx(1.0)


DIMS = [
    {"k": 3},
    {"k": 3, "objective": "l2"},
    {"k": 3, "include": [0], "exclude": [1]},
    {"k": 3, "units": np.arange(10) // 2},
    {"k": 2, "units": np.arange(10) // 2, "objective": "l2"},
    {"budget": 3.0, "costs": np.ones(10)},
]


@pytest.mark.parametrize("options", DIMS, ids=lambda options: " ".join(options))
def test_dims_are_stopped_while_rows_are_folded(options, asked_at_once):
    X, seen = (np.random.default_rng(3).random((80, 10)) < 0.3).astype(int), []

    def stop(progress):
        seen.append(progress)
        return True

    result = fewer.dims(X, rng=0, callback=stop, **options)
    assert [(progress.n_iter, progress.p.size, progress.value) for progress in seen] == [(0, 0, np.inf)]
    assert result.status is fewer.Status.CALLBACK
    assert len(result.indices) <= (6 if "units" in options else 3)
    watched, alone = fewer.dims(X, rng=0, callback=seen.append, **options), fewer.dims(X, rng=0, **options)
    assert (watched.indices.tolist(), watched.value) == (alone.indices.tolist(), alone.value)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_callback_that_lets_points_go_on_changes_nothing(threads, asked_at_once, monkeypatch):
    monkeypatch.setattr(pairs, "threads", lambda: threads)
    seen = []
    watched, alone = fewer.points(A, 3, rng=0, callback=seen.append), fewer.points(A, 3, rng=0)
    assert seen[0].n_iter == 0
    assert [progress.best for progress in seen] == sorted((progress.best for progress in seen), reverse=True)
    assert watched.p.tobytes() == alone.p.tobytes()
    assert watched.value == alone.value


def test_other_threads_hear_of_a_stop_and_ask_nobody(monkeypatch):
    monkeypatch.setattr(pairs, "threads", lambda: 2)
    asked = []

    def work(part):
        while part:  # until the stop is heard
            deadline.pause()

    with deadline.asking(lambda: bool(asked.append(threading.get_ident())) or len(asked) > 1):
        monkeypatch.setattr(deadline, "SECONDS_BETWEEN", -1.0)
        deadline._asking.get().due = 0.0
        with pytest.raises(deadline.Stopped):
            pairs.spread(work, [True, True, True])
    assert asked == 2 * [threading.get_ident()]
