"""What terms claims of its answers: data of any size, included columns, limits and budgets, odd inputs."""

import itertools

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import fewer.deadline
import fewer.jobs.terms.terms
from fewer import (
    L2,
    Atoms,
    FewerTerms,
    Moments,
    SparseSimplex,
    Status,
    exchange,
    frank_wolfe,
    terms,
)
from fewer.report.path import study_of

SOLVERS = ("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht")
RNG = np.random.default_rng(0)
A = RNG.standard_normal((12, 8))
B = A @ RNG.dirichlet(np.ones(8)) + 0.2 * RNG.standard_normal(12)


@pytest.fixture
def slow_clock(monkeypatch):
    """A clock that moves on by ten seconds whenever somebody looks at it."""
    ticks = itertools.count(0.0, 10.0)
    monkeypatch.setattr(fewer.deadline.time, "perf_counter", lambda: next(ticks))


# The size of the numbers


def test_weights_of_rows_do_not_round_single_precision_and_suit_operators():
    weights = np.linspace(0.1, 0.9, 12)
    single = A.astype(np.float32)
    result = terms(single, B, 3, sample_weight=weights, rng=0)
    assert result.value == pytest.approx(
        float(weights @ (single.astype(float) @ result.p - B) ** 2), rel=1e-12
    )
    applied = terms(aslinearoperator(single.astype(float)), B, 3, sample_weight=weights, rng=0)
    assert applied.value == pytest.approx(result.value, rel=1e-9)


def test_an_offset_that_all_columns_share_with_the_target_blurs_nothing():
    plain = terms(A, B, 3, rng=0)
    for solver in ("auto", "frank_wolfe"):
        far = terms(A + 1e6, B + 1e6, 3, solver=solver, rng=0)
        assert far.support.tolist() == plain.support.tolist()
        assert far.value == pytest.approx(plain.value, rel=1e-8)
        assert far.bound <= plain.value * (1 + 1e-8)


# Included columns


def test_included_columns_are_held_by_every_solver_whatever_their_weight():
    b = A[:, 0] * 0.5 + A[:, 1] * 0.5
    for solver in SOLVERS:
        result = terms(A, b, 2, include=[7], solver=solver, rng=0)
        assert 7 in result.support
        assert result.support.size <= 2
        assert np.flatnonzero(result.p).size <= 2


@pytest.mark.parametrize("seed", range(5))
def test_frank_wolfe_holds_at_most_k_places(seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((30, 20))
    F = Moments(Atoms(20), Z, Z[:, :3] @ np.full(3, 1 / 3) + 1e-10 * rng.standard_normal(30))
    assert np.count_nonzero(frank_wolfe(F, SparseSimplex(F.space, 3)).p) <= 3


def test_frank_wolfe_never_claims_less_than_is_known():
    F = Moments(Atoms(8), A * 30, B * 30)
    for steps in (1, 2, 5):
        assert frank_wolfe(F, SparseSimplex(F.space, 3), max_iter=steps).bound >= 0.0
    assert (
        frank_wolfe(L2(Atoms(3), [9.0, 0.0, 0.0]), SparseSimplex(Atoms(3), 1), max_iter=1).bound
        >= 0.0
    )


# Limits and budgets


def test_without_a_limit_the_clock_decides_nothing(slow_clock, monkeypatch):
    slow = terms(A, B, 3, rng=0)
    monkeypatch.undo()
    assert np.array_equal(slow.history, terms(A, B, 3, rng=0).history)
    assert slow.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_answers_within_the_first_tick_of_a_limit(solver, slow_clock):
    rng = np.random.default_rng(4)
    Z, b = rng.standard_normal((20, 700)), rng.standard_normal(20)
    result = terms(Z, b, 5, solver=solver, time_limit=1.0, rng=0)
    assert result.status is Status.TIME_LIMIT
    assert SparseSimplex(Atoms(700), 5).contains(result.p)
    assert result.n_iter <= 1


@pytest.mark.parametrize(
    "options", [{"loss": "absolute"}, {"groups": np.arange(700) % 7, "max_group_weight": 0.3}]
)
def test_a_callback_that_stops_at_once_gets_the_first_answer(options, slow_clock):
    rng = np.random.default_rng(4)
    Z, seen = rng.standard_normal((60, 700)), []
    b = Z[:, :50].mean(axis=1) + 0.1 * rng.standard_normal(60)
    result = terms(
        Z, b, 5, rng=0, callback=lambda progress: seen.append(progress) or len(seen) == 1, **options
    )
    assert result.status is Status.CALLBACK
    assert [(each.n_iter, each.p.size) for each in seen] == [(1, 700)]
    assert SparseSimplex(Atoms(700), 5).contains(result.p)


def test_a_limit_is_for_all_targets_of_an_estimator(slow_clock):
    model = FewerTerms(k=2, time_limit=1.0, random_state=0).fit(A, np.column_stack([B, B, B]))
    assert [result.status for result in model.result_] == [Status.TIME_LIMIT] * 3


def test_the_same_generator_moves_on_and_a_seed_does_not():
    rng = np.random.default_rng(6)
    Z, b = rng.standard_normal((20, 40)), rng.standard_normal(20)
    own = np.random.default_rng(0)
    exchange(Moments(Atoms(40), Z, b), SparseSimplex(Atoms(40), 4), rng=own)
    before = own.bit_generator.state
    terms(Z, b, 4, solver="exchange", rng=own)
    assert own.bit_generator.state != before


# Inputs


# What bounds there are


def test_an_answer_worse_than_the_mean_of_the_target_is_said_to_be_so():
    problem = study_of("terms", np.full((4, 2), 100.0), y=(y := np.array([1.0, 2.0, 3.0, 2.0])))
    lost = problem.lost(problem.solve(1, rng=0))
    error = np.sqrt(np.mean((100.0 - y) ** 2))
    assert lost["worse than the mean of the target by a factor of"] == pytest.approx(
        error / y.std()
    )
    assert "variance explained" not in lost
