"""Every job tells its callback how far it is, and stops when told."""

import numpy as np
import pytest

import fewer

RNG = np.random.default_rng(11)
A = RNG.standard_normal((40, 12))
X = (np.random.default_rng(3).random((80, 10)) < 0.3).astype(int)
JOBS = {
    "dims": lambda callback: fewer.dims(
        (RNG.random((80, 10)) < 0.3).astype(int), 4, rng=0, callback=callback
    ),
    "bins": lambda callback: fewer.bins(counts=np.arange(1, 30), k=4, callback=callback),
    "terms": lambda callback: fewer.terms(A, A[:, 0], 3, rng=0, solver="greedy", callback=callback),
    "bins, validated": lambda callback: fewer.bins(
        counts=np.arange(1, 13),
        k=3,
        preserve=A,
        rng=0,
        solver="greedy",
        validation=0.3,
        callback=callback,
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


STOPPED = {
    "points": lambda **options: fewer.points(A, 3, **options),
    "points, laplace": lambda **options: fewer.points(A, 3, similarity="laplace", **options),
    "points that move": lambda **options: fewer.points(A, 3, move=True, **options),
    "points, another target": lambda **options: fewer.points(A, 3, target=A[:20], **options),
    "points, units": lambda **options: fewer.points(A, 3, units=np.arange(40) // 2, **options),
    "points, labels": lambda **options: fewer.points(A, 3, labels=A[:, 0] > 0, **options),
    "dims": lambda **options: fewer.dims(X, 3, **options),
    "dims, l2": lambda **options: fewer.dims(X, 3, objective="l2", **options),
    "dims, include": lambda **options: fewer.dims(X, 3, include=[0], exclude=[1], **options),
    "dims, units": lambda **options: fewer.dims(X, 3, units=np.arange(10) // 2, **options),
    "dims, costs": lambda **options: fewer.dims(X, budget=3.0, costs=np.ones(10), **options),
}


@pytest.mark.parametrize("name", STOPPED)
def test_a_callback_that_says_stop_at_once_gets_the_first_answer(name):
    seen = []

    def stop(progress):
        seen.append(progress)
        return True

    call = STOPPED[name]
    result = call(rng=0, callback=stop)
    assert len(seen) == (2 if "move" in name else 1)
    assert seen[0].n_iter == 1
    assert seen[0].best < np.inf
    assert seen[0].p.sum() == pytest.approx(1.0)
    assert result.status in (fewer.Status.CALLBACK, fewer.Status.OPTIMAL)
    assert result.value >= call(rng=0).value - 1e-12


@pytest.mark.parametrize("name", STOPPED)
def test_a_callback_that_lets_a_job_go_on_changes_nothing(name):
    seen, call = [], STOPPED[name]
    watched, alone = call(rng=0, callback=seen.append), call(rng=0)
    assert seen
    assert (watched.indices.tolist(), watched.value) == (alone.indices.tolist(), alone.value)
