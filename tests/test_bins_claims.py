"""What bins claims of its answers: limits, callbacks, bounds, and objectives with closed forms."""

import itertools

import numpy as np
import pytest

import fewer.deadline
from fewer import L2, Atoms, InvalidInput, Moments, SparseSimplex, Status, bins
from fewer.objectives import cumulative
from fewer.objectives.cumulative import Cumulative
from fewer.protocols import Quadratic, implements

SOLVERS = ("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht")
P = np.random.default_rng(0).integers(1, 2**40, 300).astype(float)


@pytest.fixture
def slow_clock(monkeypatch):
    """A clock that moves on by ten seconds whenever somebody looks at it."""
    ticks = itertools.count(0.0, 10.0)
    monkeypatch.setattr(fewer.deadline.time, "perf_counter", lambda: next(ticks))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("preserve", ["cdf", "entries"])
def test_a_limit_that_is_over_at_once_still_gives_a_feasible_answer(solver, preserve, slow_clock):
    result = bins(counts=P, k=10, solver=solver, preserve=preserve, time_limit=1.0, rng=0)
    assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    assert SparseSimplex(Atoms(300), 10).contains(result.p)
    assert result.seconds > 1.0


def test_what_a_limit_leaves_of_the_dynamic_program_is_good_and_has_a_bound(
    slow_clock, monkeypatch
):
    cut = bins(counts=P, k=10, time_limit=1.0)
    monkeypatch.undo()
    best = bins(counts=P, k=10)
    assert cut.status is Status.TIME_LIMIT
    assert cut.bound == 0.0
    assert best.status is Status.OPTIMAL
    assert best.value <= cut.value <= 1.2 * best.value


def test_a_callback_stops_the_dynamic_program_between_rounds(monkeypatch):
    monkeypatch.setattr(cumulative, "WORK", 100)
    calls = []

    def stop_at_the_third(progress):
        calls.append(progress)
        return len(calls) == 3

    result = bins(counts=P, k=10, callback=stop_at_the_third)
    assert result.status is Status.CALLBACK
    assert len(calls) == 3
    assert (result.n_iter, result.bound) == (1, 0.0)


def test_the_seconds_are_those_of_the_whole_call(slow_clock):
    looks = bins(counts=P, k=3).seconds / 10.0
    assert looks >= 2  # at the beginning, and at the very end


def test_entries_are_projected_as_the_constraint_projects():
    for p, k in ((P / P.sum(), 7), (np.array([0.5, 0.5, 0.0, 0.0]), 3), (np.array([1.0]), 1)):
        assert bins(counts=p, k=k, preserve="entries").p == pytest.approx(
            SparseSimplex(Atoms(p.size), k).project(p), abs=1e-15
        )


def test_bins_without_mass_are_not_kept_and_enough_bins_keep_all():
    p = np.zeros(50)
    p[[3, 17, 18, 40]] = [1.0, 2.0, 3.0, 4.0]
    few = bins(counts=p, k=3)
    assert set(few.support) <= {3, 17, 18, 40}
    assert few.status is Status.OPTIMAL
    everything = bins(counts=p, k=20)
    assert everything.p == pytest.approx(p / 10.0, abs=1e-15)
    assert everything.value == pytest.approx(0.0, abs=1e-30)
    assert everything.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_is_feasible_and_none_beats_the_optimum(solver):
    p = P[:30]
    for preserve in ("cdf", "entries"):
        best = bins(counts=p, k=4, preserve=preserve)
        found = bins(counts=p, k=4, preserve=preserve, solver=solver, rng=0)
        assert SparseSimplex(Atoms(30), 4).contains(found.p)
        assert best.value * (1 - 1e-9) <= found.value <= 2.0 * best.value
        assert found.bound is None or found.bound <= best.value * (1 + 1e-9)


def test_cumulative_distances_equal_least_squares_with_a_triangle():
    q = P[:12] / P[:12].sum()
    F, G = Cumulative(Atoms(12), q), Moments(Atoms(12), np.tril(np.ones((12, 12))), np.cumsum(q))
    units, others, weights = np.array([2, 5, 11]), np.array([0, 5, 7, 9]), np.array([0.2, 0.5, 0.3])
    p = np.zeros(12)
    p[units] = weights
    assert F.cross(units, others) == pytest.approx(G.cross(units, others))
    assert F.centred(units, others) == pytest.approx(G.centred(units, others))
    assert F.linear(others) == pytest.approx(G.linear(others))
    assert F.diagonal == pytest.approx(G.diagonal)
    assert F.constant == pytest.approx(G.constant)
    assert F.slopes(units, weights) == pytest.approx(G.slopes(units, weights))
    assert F.value_at(units, weights) == pytest.approx(G.value(p)) == F.value(p)
    assert F.gradient(p) == pytest.approx(G.gradient(p))
    assert F.smoothness == pytest.approx(G.smoothness)
    assert F.scale == pytest.approx(np.mean(np.diag(G.centred(np.arange(12), np.arange(12)))))
    assert F.best_on(units) == pytest.approx(G.best_on(units))
    assert F.value_on(units) == pytest.approx(G.value_on(units))
    assert implements(F, Quadratic)


def test_squared_distances_of_tables_are_quadratics():
    q = np.random.default_rng(1).standard_normal(9)
    F, G = L2(Atoms(9), q), Moments(Atoms(9), np.eye(9), q)
    units, weights = np.array([1, 8]), np.array([0.25, 0.75])
    assert F.cross(units, np.arange(9)) == pytest.approx(G.cross(units, np.arange(9)))
    assert F.linear(units) == pytest.approx(G.linear(units))
    assert F.diagonal == pytest.approx(G.diagonal)
    assert F.constant == pytest.approx(G.constant)
    assert F.slopes(units, weights) == pytest.approx(G.slopes(units, weights))
    assert F.value_at(units, weights) == pytest.approx(G.value_at(units, weights))
    assert implements(F, Quadratic)
    with pytest.raises(InvalidInput, match=r"q must stay below 1e\+150 in size"):
        L2(Atoms(2), [1e200, 0.0])


def test_functionals_reached_exactly_are_called_optimal():
    A = np.random.default_rng(2).standard_normal((3, 700))
    result = bins(counts=np.eye(700)[5], k=4, preserve=A, rng=0)
    assert result.value == pytest.approx(0.0, abs=1e-20)
    assert result.bound == 0.0
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("power", [-260, 300])
def test_functionals_of_any_size(power):
    A = np.random.default_rng(3).standard_normal((6, 12))
    p = P[:12]
    plain = bins(counts=p, k=3, preserve=A, rng=0)
    assert np.array_equal(bins(counts=p, k=3, preserve=np.ldexp(A, power), rng=0).p, plain.p)


def test_functionals_in_single_precision_meet_their_own_expectations():
    A = np.random.default_rng(4).standard_normal((6, 12)).astype(np.float32)
    p = P[:12] / P[:12].sum()
    result = bins(counts=p, k=12, preserve=A, rng=0)
    assert result.value < 1e-20
