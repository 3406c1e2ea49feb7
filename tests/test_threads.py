"""BLAS on one thread while a search runs, and as many as before after it."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from fewer import bins, terms
from fewer import threads as module
from fewer.threads import one_thread, own_threads, threads


class Library:
    """A library of BLAS that remembers what it was told."""

    def __init__(self, many):
        self.many, self.told = many, []

    def get_num_threads(self):
        return self.many

    def set_num_threads(self, many):
        self.many = many
        self.told.append(many)


@pytest.fixture
def library(monkeypatch):
    found = Library(8)
    monkeypatch.setattr(module, "_libraries", lambda: [found])
    return found


def test_the_number_of_threads_is_kept_and_given_back(library):
    assert threads() == 8
    with own_threads():
        assert (library.many, threads()) == (1, 8)
        with one_thread():
            assert threads() == 1
        with own_threads():
            assert (library.many, threads()) == (1, 8)
        assert library.many == 1
    assert (library.many, threads(), library.told) == (8, 8, [1, 8])


def test_calls_that_overlap_on_several_threads_leave_blas_as_it_was(library):
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with own_threads():
            seen.append(threads())
            entered.set()
            leave.wait(60)
        seen.append(library.many)

    with own_threads():
        beside = threading.Thread(target=other)
        beside.start()
        assert entered.wait(60)
    assert library.many == 1  # the other is still inside
    assert threads() == 8
    leave.set()
    beside.join(60)
    assert seen == [8, 8]
    assert library.many == 8


@pytest.mark.parametrize("solver", ["auto", "greedy", "iht", "exchange", "frank_wolfe"])
def test_searches_keep_blas_to_one_thread(solver, library):
    rng = np.random.default_rng(0)
    X, seen = rng.normal(size=(30, 12)), []
    terms(
        X,
        X[:, :4].mean(axis=1),
        3,
        solver=solver,
        rng=0,
        callback=lambda progress: seen.append(library.many),
    )
    bins(
        counts=rng.integers(1, 9, 12),
        k=3,
        preserve=X,
        solver=solver,
        callback=lambda progress: seen.append(library.many),
    )
    assert set(seen) == {1}
    assert library.many == 8


BESIDE = """
import threading
import numpy as np
from threadpoolctl import threadpool_info
from fewer import terms

def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

def call():
    terms(A, A[:, 0], 3, rng=0, callback=lambda progress: inside.update(threads()))

A, inside = np.random.default_rng(0).standard_normal((30, 12)), set()
call()  # the thread that threadpoolctl heeds from now on
before, seen = threads(), inside.copy()
inside.clear()
beside = threading.Thread(target=call)
beside.start()
beside.join()
print(before, seen, inside, threads())
"""


def test_a_search_on_another_thread_keeps_blas_to_one_thread_too():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", BESIDE], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split("\n")[0] == "{2} {1} {1} {2}", done.stderr


JOBS = """
import numpy as np
from fewer import bins, dims, points, terms

rng = np.random.default_rng(0)
X, orders = rng.standard_normal((1600, 20)), (rng.random((2000, 40)) < 0.1).astype(int)
counts = rng.integers(1, 99, 300)
A = rng.standard_normal((300, 200))
found = {
    "points": points(X, 15, rng=0),
    "points with labels": points(X, 6, labels=X[:, 0] > 0, gamma="cv", rng=0),
    "points in little memory": points(X, 5, max_memory="2MB", solver="greedy", rng=0),
    "points that move": points(X[:1100], 4, move=True, rng=0),
    "points by units": points(X, 4, units=np.arange(1600) // 20, rng=0),
    "terms": terms(A, A[:, :30].mean(axis=1), 8, rng=0),
    "terms of a tall table": terms(np.tile(A[:, :40], (50, 1)), np.tile(A[:, 50] + A[:, 3], 50), 5, rng=0),
    "bins": bins(counts=counts, k=12, rng=0),
    "bins of a matrix": bins(counts=counts, k=12, preserve=rng.standard_normal((60, 300)), rng=0),
    "dims": dims(orders, 8, solver="exchange", rng=0),
}
for name, result in found.items():
    weights = result.p if result.weights is None else result.weights
    print(name, result.indices.tolist(), weights.tobytes().hex(), result.value.hex(), sep=";")
"""


def test_the_number_of_threads_decides_no_answer_of_any_job():
    """With one thread and with three: indices, and weights and values to the last bit."""
    lines = []
    for many in ("1", "3"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": many, "OMP_NUM_THREADS": many}
        done = subprocess.run(
            [sys.executable, "-c", JOBS],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        lines.append(done.stdout.splitlines())
    assert len(lines[0]) == 10
    for others in lines[1:]:
        assert [line for line, other in zip(lines[0], others, strict=True) if line != other] == []
