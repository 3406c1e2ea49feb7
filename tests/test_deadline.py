"""Time limits: wall time as the caller sees it, compiling included, on any machine."""

import math
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core import caching

from fewer import L2, MMD, Atoms, Doubling, InvalidInput, SparseSimplex, Status, exact, iht, warm
from fewer import deadline as deadlines
from fewer._compiled import _compile, compilation
from fewer.deadline import CompilationTimeout, Deadline, answer_by
from fewer.solvers.uncompiled import box_by_bisection, uncompiled_result

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


COLD = """
import numpy as np
from fewer import KL, L2, Atoms, DimensionSparse, Lattice, Moments, SparseSimplex, SparseStates
from fewer import bins, dims, exact, exchange, frank_wolfe, greedy, iht, points, terms
rng = np.random.default_rng(0)
A = rng.standard_normal((20, 15))
b = A @ rng.dirichlet(np.ones(15))
X, orders = rng.standard_normal((60, 3)), (rng.random((80, 9)) < 0.3).astype(int)
cube, q = Lattice(4, 2), rng.dirichlet(np.ones(16))
F, M = L2(cube, q), Moments(Atoms(15), A, b)
C, S = DimensionSparse(cube, 2), SparseSimplex(Atoms(15), 4, max_weight=0.5)
limit = {"time_limit": 1.0}
found = {
    "terms": terms(A, b, 4, include=[2], min_weight=0.1, **limit),
    "bins": bins(rng.integers(1, 99, 40), 5, **limit),
    "bins of a matrix": bins(rng.integers(1, 99, 15), 4, preserve=A, **limit),
    "points": points(X, 4, rng=0, **limit),
    "labelled points": points(X, 4, labels=(X[:, 0] > 0).astype(int), rng=0, **limit),
    "points that move": points(X, 4, move=True, rng=0, **limit),
    "dims": dims(orders, 3, **limit),
    "dims in l2": dims(orders, 3, objective="l2", **limit),
    "greedy": greedy(F, C, **limit),
    "iht": iht(F, C, rng=0, **limit),
    "exact": exact(KL(cube, q), C, **limit),
    "exchange": exchange(M, S, rng=0, **limit),
    "frank_wolfe": frank_wolfe(M, S, **limit),
    "states of few dimensions": iht(F, SparseStates(cube, 2), rng=0, **limit),
}
for name, result in found.items():
    mass = result.p.sum() + result.distribution.rest
    fits = abs(mass - 1) < 1e-9 and result.p.min() >= 0 and len(result.support) <= 5 and np.isfinite(result.value)
    print(name, fits, "fewer.warm()" in result.note, sep=";")
"""


def test_limited_first_calls_of_all_jobs_and_solvers_compile_nothing(tmp_path):
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", COLD],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split(";") for line in done.stdout.splitlines()]
    assert len(lines) == 14
    assert [line for line in lines if line[1:] != ["True", "True"]] == []
    assert list(tmp_path.rglob("*.nbc")) == []


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


def test_warm_takes_names_of_jobs():
    with pytest.raises(InvalidInput, match="each job must be one of 'bins', 'dims', 'points', 'terms'"):
        warm(["rows"])
    with pytest.raises(InvalidInput, match="jobs must be a list of names"):
        warm(3)
    assert warm("bins") > 0.0


def test_an_answer_without_compiled_code_is_no_worse_than_the_start_that_was_given():
    F = MMD(Atoms(4), np.diag([1.0, 1e14, 1.0, 1.0]) + 0.1, [0.1, 0.7, 0.1, 0.1])
    C = SparseSimplex(F.space, 2)
    start = np.array([0.0, 0.7, 0.3, 0.0])
    alone, begun = (uncompiled_result(F, C, Deadline.after(60.0), "iht", given) for given in (None, start))
    assert begun.value <= min(alone.value, F.value(start))
    best = exact(F, C, rng=0)
    assert uncompiled_result(F, C, Deadline.after(60.0), "iht", best.p).value <= best.value
