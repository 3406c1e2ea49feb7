"""What terms claims of its answers: data of any size, included columns, limits and budgets, odd inputs."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import fewer.deadline
import fewer.jobs.terms.terms
from fewer import (
    L2,
    Atoms,
    FewerTerms,
    InvalidInput,
    Moments,
    SparseSimplex,
    Status,
    bins,
    exact,
    exchange,
    frank_wolfe,
    iht,
    terms,
)
from fewer.report.path import study_of
from fewer.search import quadratic

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


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("power", [-200, -165, 111, 200])
def test_data_scaled_by_a_power_of_two_give_the_same_bits(solver, power):
    plain = terms(A, B, 3, solver=solver, rng=0)
    scaled = terms(np.ldexp(A, power), np.ldexp(B, power), 3, solver=solver, rng=0)
    assert np.array_equal(scaled.p, plain.p)
    assert scaled.status is plain.status
    assert scaled.n_iter == plain.n_iter


def test_an_ordinary_value_has_no_note_and_keeps_its_units():
    result = terms(A * 2.0**40, B * 2.0**40, 3, rng=0)
    plain = terms(A, B, 3, rng=0)
    assert result.note == ""
    assert result.value == plain.value * 2.0**80
    assert result.bound == plain.bound * 2.0**80
    assert np.array_equal(result.history, plain.history * 2.0**80)


def test_a_callback_sees_values_in_the_units_of_the_data():
    seen = []
    result = terms(A * 2.0**40, B * 2.0**40, 3, rng=0, callback=seen.append)
    assert seen[-1].best == result.value
    assert next(s.value for s in seen if s.n_iter == 1) == result.history[0]


@pytest.mark.parametrize("size", [1e-38, 3e19, 1e38])
def test_single_precision_of_any_size_gives_the_columns_of_double(size):
    single = (A * size / 3).astype(np.float32)
    found = terms(single, B * size / 3, 3, rng=0)
    double = terms(single.astype(np.float64), B * size / 3, 3, rng=0)
    assert found.support.tolist() == double.support.tolist()
    assert found.value == pytest.approx(double.value, rel=1e-9)


def test_weights_of_rows_of_any_size():
    weights = np.arange(1.0, 13.0)
    plain = terms(A, B, 3, sample_weight=weights, rng=0)
    scaled = terms(A, B, 3, sample_weight=weights * 2.0**1000, rng=0)
    assert np.array_equal(scaled.p, plain.p)
    assert scaled.value == plain.value * 2.0**1000


def test_weights_of_rows_do_not_round_single_precision_and_suit_operators():
    weights = np.linspace(0.1, 0.9, 12)
    single = A.astype(np.float32)
    result = terms(single, B, 3, sample_weight=weights, rng=0)
    assert result.value == pytest.approx(
        float(weights @ (single.astype(float) @ result.p - B) ** 2), rel=1e-12
    )
    applied = terms(aslinearoperator(single.astype(float)), B, 3, sample_weight=weights, rng=0)
    assert applied.value == pytest.approx(result.value, rel=1e-9)


def test_a_step_length_stays_in_the_units_of_the_data():
    from fewer import Constant

    F, C, start = Moments(Atoms(8), A * 8, B * 8), SparseSimplex(Atoms(8), 3), np.eye(8)[0]
    once = iht(F, C, step=Constant(1e-4), start=start, max_iter=1)
    expected = C.project(start - 1e-4 * F.gradient(start))
    assert once.value == min(F.value(start), F.value(expected))


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


def test_membership_demands_room_for_what_is_included():
    C = SparseSimplex(Atoms(3), 2, include=[2])
    assert not C.contains([0.5, 0.5, 0.0])
    assert C.contains([1.0, 0.0, 0.0])
    assert C.support([1.0, 0.0, 0.0]).tolist() == [0, 2]
    grouped = SparseSimplex(Atoms(3), 3, include=[2], groups=[0, 1, 1], max_per_group=1)
    assert not grouped.contains([0.0, 1.0, 0.0])
    assert grouped.contains([1.0, 0.0, 0.0])


def test_a_trace_of_mass_is_mass():
    assert not SparseSimplex(Atoms(2), 1).contains([1.0 - 1e-10, 1e-10])
    assert not SparseSimplex(Atoms(2), 2, exclude=[1]).contains([1.0 - 1e-10, 1e-10])
    assert not SparseSimplex(Atoms(2), 2, min_weight=0.1).contains([1.0 - 1e-10, 1e-10])
    assert SparseSimplex(Atoms(2), 1).contains([1.0 - 1e-10, 0.0])


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


def test_the_bound_of_the_relaxation_allows_for_single_precision():
    rng = np.random.default_rng(1)
    Z, b = rng.standard_normal((30, 650)).astype(np.float32), 3 * rng.standard_normal(30)
    found = terms(Z, b, 4, rng=0)
    q = cp.Variable(650, nonneg=True)
    loss = cp.sum_squares(Z.astype(float) @ q - b)
    relaxed = cp.Problem(cp.Minimize(loss), [cp.sum(q) == 1]).solve(solver=cp.CLARABEL)
    assert 0.9 * relaxed <= found.bound <= relaxed * (1 + 1e-7)


# Limits and budgets


def test_without_a_limit_the_clock_decides_nothing(slow_clock, monkeypatch):
    slow = terms(A, B, 3, rng=0)
    monkeypatch.undo()
    assert np.array_equal(slow.history, terms(A, B, 3, rng=0).history)
    assert slow.status is Status.OPTIMAL


def test_the_default_budget_is_counted_in_work(monkeypatch):
    rng = np.random.default_rng(3)
    Z, b = rng.standard_normal((40, 60)), rng.standard_normal(40)
    monkeypatch.setattr(quadratic, "PROOF_BUDGET", 1e8)
    first, second = (terms(Z, b, 8, rng=0) for _ in range(2))
    assert first.status is Status.FINISHED
    assert 0.0 < first.bound < first.value
    assert first.bound == second.bound
    assert np.array_equal(first.history, second.history)
    monkeypatch.setattr(quadratic, "PROOF_BUDGET", 0.0)
    assert terms(Z, b, 8, rng=0).bound == 0.0


def test_the_proof_counts_its_work():
    F, C = Moments(Atoms(8), A, B).normalised()[0], SparseSimplex(Atoms(8), 3)
    free = exact(F, C, rng=0)
    assert free.status is Status.OPTIMAL
    cut = exact(F, C, rng=0, budget=0.0)
    assert cut.n_iter < free.n_iter or cut.bound < free.bound


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


@pytest.mark.parametrize("solver", ["greedy", "auto"])
def test_a_limit_is_kept_with_rows_held_out(solver, slow_clock):
    given = {"counts": np.arange(1, 9), "preserve": A, "validation": 0.25}
    result = bins(k=3, solver=solver, time_limit=1.0, rng=0, **given)
    assert result.status is Status.TIME_LIMIT
    assert result.bound is None
    assert SparseSimplex(Atoms(8), 3).contains(result.p)


@pytest.mark.parametrize("asks", [1, 2, 5])
def test_a_callback_is_heard_while_rows_are_held_out(asks, slow_clock):
    rng = np.random.default_rng(4)
    Z, seen = rng.standard_normal((60, 700)), []
    given = {"counts": rng.integers(1, 9, 700), "preserve": Z, "validation": 0.25}
    result = bins(
        k=5, rng=0, callback=lambda progress: seen.append(progress) or len(seen) == asks, **given
    )
    assert result.status is Status.CALLBACK
    assert {each.p.size for each in seen} == {700}
    assert len(seen) == asks
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


def unsorted(kind):
    """The matrix [[1, 2], [0, 3]], entries listed backwards."""
    if kind is sp.csr_array:
        return kind((np.array([2.0, 1.0, 3.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), (2, 2))
    return kind((np.array([1.0, 3.0, 2.0]), np.array([0, 1, 0]), np.array([0, 1, 3])), (2, 2))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_the_callers_sparse_matrix_is_not_sorted(kind):
    X = unsorted(kind)
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    terms(X, [1.0, 2.0], 1, rng=0)
    FewerTerms(k=1).fit(X, [1.0, 2.0])
    assert all(
        np.array_equal(a, b) for a, b in zip(before, (X.data, X.indices, X.indptr), strict=True)
    )
    assert X.dtype == np.float64


@pytest.mark.parametrize(
    "groups",
    [
        [0, "a", 0, 1, 1, 1, 2, 2],
        [[0, 1], [2], 3, 4, 5, 6, 7, 8],
        [0, 1, None, 1, 1, 1, 2, 2],
        np.ma.array(np.arange(8), mask=np.arange(8) == 2),
        [1j] * 8,
        7,
    ],
    ids=str,
)
def test_groups_that_are_no_labels_get_a_sentence(groups):
    with pytest.raises(InvalidInput, match=r"groups (must|has masked)"):
        terms(A, B, 3, groups=groups, max_per_group=1)


@pytest.mark.parametrize(
    "groups", [list("aabbccdd"), np.array(list("aabbccdd")), [b"a", b"b"] * 4, [0.5, 1.5] * 4]
)
def test_groups_may_be_labels_of_any_one_kind(groups):
    C = SparseSimplex(Atoms(8), 3, groups=groups, max_per_group=1)
    assert C.groups.max() == len(set(groups)) - 1


@pytest.mark.parametrize(
    "validation", [1e308, 10**400, -1.0, 0.0, 1.0, "half", np.nan, None.__class__]
)
def test_a_share_of_rows_that_is_none_gets_a_sentence(validation):
    with pytest.raises(InvalidInput, match="validation must be"):
        bins(counts=np.arange(1, 9), k=3, preserve=A, validation=validation)


def test_one_row_is_not_held_out():
    with pytest.raises(InvalidInput, match=r"at least two rows, got 0\.5 of 1 rows"):
        bins(counts=np.arange(1, 9), k=2, preserve=A[:1], validation=0.5)


def test_an_operator_needs_no_rmatvec_and_holds_real_numbers():
    operator = LinearOperator((12, 8), matvec=lambda v: A @ v, dtype=np.float64)
    assert terms(operator, B, 2, rng=0).value == pytest.approx(terms(A, B, 2, rng=0).value)
    with pytest.raises(InvalidInput, match="X must hold real numbers"):
        terms(aslinearoperator(A * 1j), B, 2)


# What bounds there are


def test_a_study_measures_errors():
    problem = study_of("terms", A, y=B)
    result = problem.solve(3, rng=0)
    train, test = problem.split(0.25, np.random.default_rng(0))
    error = np.sqrt(np.mean((A @ result.p - B) ** 2))
    assert problem.error(result) == pytest.approx(error)
    assert problem.lost(result)["variance explained"] == pytest.approx(1 - error**2 / B.var())
    assert all(
        baseline(3) >= problem.error(result) * (1 - 1e-9)
        for baseline in problem.baselines(problem).values()
    )
    assert test.error(train.solve(3, rng=0)) == pytest.approx(error, rel=1.0)


def test_an_answer_worse_than_the_mean_of_the_target_is_said_to_be_so():
    problem = study_of("terms", np.full((4, 2), 100.0), y=(y := np.array([1.0, 2.0, 3.0, 2.0])))
    lost = problem.lost(problem.solve(1, rng=0))
    error = np.sqrt(np.mean((100.0 - y) ** 2))
    assert lost["worse than the mean of the target by a factor of"] == pytest.approx(
        error / y.std()
    )
    assert "variance explained" not in lost
