"""Time limits: wall time as the caller sees it, compiling included, on any machine."""

import math
import time
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from fewer import L2, Atoms, Doubling, InvalidInput, SparseSimplex, Status, iht
from fewer import deadline as deadlines
from fewer._jit import compilation
from fewer.deadline import CompilationTimeout, Deadline, answer_by
from fewer.solvers.uncompiled import box_by_bisection

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
    assert (limited.status, limited.n_iter, limited.seconds) == (Status.TIME_LIMIT, 2, 200.0)
    free = iht(L2(SPACE, Q), C, callback=slow, **options)
    assert (free.status, free.n_iter, free.seconds) == (Status.MAX_ITER, 5, 500.0)


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


def uncompiled_function():
    """A function that no process has compiled before."""
    return numba.njit(lambda x: x + 1)


def test_compiling_is_refused_where_there_is_no_time_and_works_afterwards():
    add = uncompiled_function()
    with pytest.raises(CompilationTimeout) as cut, Deadline.after(60.0).uncompiled():
        add(1)
    assert not cut.value.final
    with pytest.raises(CompilationTimeout) as cut, compilation.compiling_until(time.perf_counter() + 0.1):
        add(1)
    assert cut.value.final
    before = compilation.count()
    assert add(1) == 2
    assert compilation.count() == before + 1
    with Deadline.after(60.0).uncompiled():
        assert add(2) == 3  # compiled by now
    with Deadline.after(None).uncompiled():
        assert uncompiled_function()(1) == 2  # no limit, no refusal


def test_a_compilation_may_be_cut_at_any_pass():
    refused = []
    for passes in range(0, 60, 7):
        heard = []

        class Ends(float):
            """A moment that comes after some passes of the compiler."""

            def __lt__(self, other, heard=heard, passes=passes):
                heard.append(other)
                return len(heard) > passes

        add = uncompiled_function()
        try:
            with compilation.compiling_until(Ends("inf")):
                add(1)
        except CompilationTimeout:
            refused.append(passes)
        assert add(1) == 2
    assert refused[:3] == [0, 7, 14]


class Slow(L2):
    """An objective whose value needs code that is not compiled yet."""

    def value(self, p):
        return float(SLOW[0](super().value(p)) - 1.0)


SLOW = [None]


def test_a_limited_first_call_answers_without_compiling_and_names_warm():
    SLOW[0] = uncompiled_function()
    F = Slow(SPACE, Q)
    calls = []

    def uncompiled():
        calls.append("uncompiled")
        return "first"

    assert answer_by(Deadline.after(1.0), lambda: F.value(Q), uncompiled) == "first"
    assert calls == ["uncompiled"]
    assert answer_by(Deadline.after(None), lambda: F.value(Q), uncompiled) == 0.0
    assert answer_by(Deadline.after(1.0), lambda: F.value(Q), uncompiled) == 0.0
    assert calls == ["uncompiled"]


def test_where_time_allows_a_limited_first_call_compiles_after_all():
    add = uncompiled_function()
    assert answer_by(Deadline.after(600.0), lambda: add(1), lambda: "first") == 2


@pytest.mark.parametrize("low", [0.0, 0.1])
@pytest.mark.parametrize("high", [0.4, 1.0])
def test_the_uncompiled_projection_is_the_compiled_one(low, high):
    for seed in range(20):
        v = np.random.default_rng(seed).standard_normal(6)
        box = SparseSimplex(SPACE, 6, min_weight=low, max_weight=high)
        assert np.allclose(box_by_bisection(v, low, high), box.fit_box(v), atol=1e-12)
