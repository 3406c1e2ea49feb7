"""Every job tells its callback how far it is, and stops when told."""

import numpy as np
import pytest

import fewer

RNG = np.random.default_rng(11)
A = RNG.standard_normal((40, 12))
JOBS = {
    "dims": lambda callback: fewer.dims((RNG.random((80, 10)) < 0.3).astype(int), 4, rng=0, callback=callback),
    "bins": lambda callback: fewer.bins(np.arange(1, 30), 4, callback=callback),
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
