"""Time limits: wall time as the caller sees it, but for compiling, on any machine."""

import math
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core import caching, event

from fewer import (
    L2,
    Atoms,
    Doubling,
    FewerPointsClassifier,
    InvalidInput,
    SparseSimplex,
    Status,
    iht,
)
from fewer import deadline as deadlines
from fewer._compiled import _compile, compilation
from fewer.deadline import Deadline

SPACE = Atoms(6)
C = SparseSimplex(SPACE, 2)
Q = np.array([0.3, 0.25, 0.2, 0.15, 0.06, 0.04])


@pytest.fixture
def clock(monkeypatch):
    """Seconds that only the test moves."""
    hand = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(deadlines, "time", SimpleNamespace(perf_counter=lambda: hand.now))
    return hand


def test_everything_counts(clock):
    options = {"step": Doubling(0.01), "max_iter": 5, "rng": 0}
    iht(L2(SPACE, Q), C, **options)  # whatever has to be compiled is

    def slow(progress):
        clock.now += 100.0

    limited = iht(L2(SPACE, Q), C, callback=slow, time_limit=150.0, **options)
    assert (limited.status, limited.n_iter, limited.seconds) == (Status.TIME_LIMIT, 1, 200.0)
    free = iht(L2(SPACE, Q), C, callback=slow, **options)
    assert (free.status, free.n_iter, free.seconds) == (Status.MAX_ITER, 5, 600.0)


def test_a_deadline_is_handed_through_and_shared(clock):
    deadline = Deadline.after(10.0)
    clock.now += 4.0
    assert Deadline.after(deadline) is deadline
    assert (deadline.left(), deadline.elapsed(), deadline.passed) == (6.0, 4.0, False)
    assert deadline.share(0.5).left() == 3.0
    clock.now += 6.0
    assert deadline.passed
    assert deadline.share(0.5).left() == 0.0
    endless = Deadline.after(None)
    assert (endless.limited, endless.left(), endless.share(0.5)) == (False, math.inf, endless)
    with pytest.raises(InvalidInput, match="time_limit must be above 0, got 0"):
        Deadline.after(0)


@pytest.mark.parametrize("nested", [False, True])
def test_the_clock_of_a_limit_stands_still_while_numba_compiles(nested, clock, monkeypatch):
    monkeypatch.setattr(compilation, "time", deadlines.time)
    options = {"step": Doubling(0.01), "max_iter": 5, "rng": 0}
    iht(L2(SPACE, Q), C, **options)  # whatever has to be compiled is

    def compiles(progress):
        with event.trigger_event("numba:compile"):
            clock.now += 50.0
            with event.trigger_event("numba:compile") if nested else nullcontext():
                clock.now += 50.0
        clock.now += 1.0

    limited = iht(L2(SPACE, Q), C, callback=compiles, time_limit=10.0, **options)
    assert (limited.status, limited.n_iter, limited.seconds) == (Status.MAX_ITER, 5, 606.0)
    short = iht(L2(SPACE, Q), C, callback=compiles, time_limit=2.0, **options)
    assert (short.status, short.n_iter) == (Status.TIME_LIMIT, 1)


def test_a_limit_that_no_one_can_wait_for_is_none():
    """A search uses a limit up: 150,000 perturbations among eleven rows took 84 s."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((11, 3)), np.arange(11) % 2
    free, limited = (
        FewerPointsClassifier(k=1, random_state=0, time_limit=limit).fit(X, y)
        for limit in (None, 1e30)
    )
    assert limited.result_.n_iter == free.result_.n_iter
    assert limited.result_.status is free.result_.status
    assert limited.indices_.tolist() == free.indices_.tolist()
    assert not Deadline.after(1e30).limited
    assert Deadline.after(1e9).limited


FRESH = """
from fewer import dims
result = dims([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], 1, objective="l2", time_limit=0.5)
print(result.indices.tolist(), repr(result.value))
"""


def test_dims_in_l2_under_a_limit_in_a_fresh_process_report_the_value_of_their_answer():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    indices, value = done.stdout.strip().rsplit(" ", 1)
    assert indices == "[2]"
    # q = (.2, .2, .2, .4), of which only the state e_3 of mass .4 lies in X_S; the rest goes to
    # both states there
    assert float(value) == pytest.approx(3 * 0.2**2 + 2 * 0.3**2)


def test_without_a_directory_for_the_cache_it_warns_once_and_works(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    monkeypatch.setattr(_compile, "_warned", False)
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR") as warned:
        functions = [_compile.compiled(lambda x, n=n: x + n) for n in range(2)]
    assert len(warned) == 1
    assert functions[0](1) == 1


def test_a_cache_that_cannot_be_written_to_costs_no_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(_compile, "_warned", False)

    def full(*args):
        raise OSError("No space left on device")

    function = _compile.compiled(lambda x: x + 1)
    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert function(1) == 2
    assert function(2) == 3
