"""terms and bins: the jobs and the estimator, against enumeration, proven optima and bad input."""

import itertools
from itertools import combinations
from pathlib import Path

import cvxpy as cp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse.linalg import aslinearoperator
from sklearn.utils.estimator_checks import parametrize_with_checks

import fewer.deadline
import fewer.jobs.terms.terms
from fewer import (
    Atoms,
    FewerTerms,
    InvalidInput,
    Moments,
    SparseSimplex,
    Status,
    frank_wolfe,
    terms,
)
from fewer.search.fits import refitted

SOLVERS = ("auto", "exact", "exchange", "frank_wolfe", "greedy", "iht")
REAL = Path(__file__).parents[2] / "shared/data"
needs_data = pytest.mark.skipif(
    not REAL.exists(), reason="the real data sets are not beside the repository"
)


@pytest.fixture(autouse=True, scope="module")
def _compiled_outside_the_clock():
    """The default time limit of auto is no time to compile in."""
    A, b = problem(0)
    terms(A, b, 3, solver="exact", rng=0)
    terms(A, b, 3, min_weight=0.1, max_weight=0.6, solver="exact", rng=0)


@pytest.mark.filterwarnings("ignore:k = .* is more than the:UserWarning")
@parametrize_with_checks([FewerTerms(), FewerTerms(k=2, solver="greedy")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(seed, rows=12, n=8):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, n)) + rng.standard_normal((rows, 1))
    return A, A @ rng.dirichlet(np.full(n, 0.5)) + 0.2 * rng.standard_normal(rows)


@pytest.mark.parametrize("seed", range(8))
def test_every_solver_is_feasible_and_the_proven_optimum_is_enumeration(seed):
    A, b = problem(seed)
    F = Moments(Atoms(8), A, b)
    best = min(F.value_on(np.array(S)) for S in combinations(range(8), 3))
    C = SparseSimplex(F.space, 3)
    for solver in SOLVERS:
        result = terms(A, b, 3, solver=solver, rng=0)
        assert C.contains(result.p, 1e-12)
        assert result.value == pytest.approx(F.value(result.p), rel=1e-12)
        assert result.value >= best * (1 - 1e-9)
        if solver in ("auto", "exact"):
            assert result.value == pytest.approx(best, rel=1e-8)
            assert result.status is Status.OPTIMAL
            assert 0 <= result.gap <= 1e-8 * best
        if result.bound is not None:
            assert result.bound <= best * (1 + 1e-9)


def admissible(C):
    """Every support that the bounds allow."""
    for size in range(1, C.k + 1):
        for S in combinations(range(C.space.size), size):
            groups = (
                C.groups is None
                or (
                    np.bincount(C.groups[list(S)], minlength=len(C.labels)) <= C.max_per_group
                ).all()
            )
            fits = size * C.min_weight <= 1 <= size * C.max_weight
            if fits and groups and set(C.include) <= set(S) and not set(C.exclude) & set(S):
                yield np.array(S)


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_kept_and_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    A, b = problem(seed)
    bounds = {
        "min_weight": float(rng.choice([0.0, 0.1, 0.15])),
        "max_weight": float(rng.choice([0.4, 0.5, 1.0])),
        "include": rng.choice(8, 1) if seed % 2 else (),
        "groups": rng.integers(0, 4, 8) if seed % 3 else None,
        "max_per_group": 2 if seed % 3 else None,
    }
    bounds["exclude"] = np.setdiff1d([6], bounds["include"])
    C = SparseSimplex(Atoms(8), 4, **bounds)
    F = Moments(C.space, A, b)
    best = min(refitted(F, C.rules, S).value for S in admissible(C))
    for solver in SOLVERS:
        result = terms(A, b, 4, solver=solver, rng=0, **bounds)
        assert C.contains(result.p, 1e-12)
        assert result.value >= best * (1 - 1e-9)
        if solver in ("auto", "exact"):
            assert result.value == pytest.approx(best, rel=1e-7)
            assert result.bound <= best * (1 + 1e-9)
    loose = terms(A, b, 4, rng=0)
    rounded = C.project(loose.p)
    assert terms(A, b, 4, rng=0, **bounds).value <= F.value(rounded) + 1e-12


def test_bound_of_the_relaxation_past_the_proof_equals_clarabel():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((40, 700)), rng.standard_normal(40) * 3
    found = terms(A, b, 5, rng=0)
    q = cp.Variable(700, nonneg=True)
    relaxed = cp.Problem(cp.Minimize(cp.sum_squares(A @ q - b)), [cp.sum(q) == 1]).solve(
        solver=cp.CLARABEL
    )
    assert found.bound == pytest.approx(relaxed, rel=1e-5)
    assert found.bound <= relaxed * (1 + 1e-7)
    assert found.bound <= found.value


def test_estimator_with_several_targets_and_bounds():
    A, b = problem(5, rows=30)
    y = np.column_stack([b, A[:, 2]])
    model = FewerTerms(k=3, max_weight=0.9, random_state=0).fit(A, y)
    assert model.coef_.shape == (2, 8)
    assert model.predict(A).shape == (30, 2)
    assert model.coef_[0] == pytest.approx(terms(A, b, 3, max_weight=0.9, rng=0).p, abs=1e-8)
    assert model.coef_[1][2] == pytest.approx(0.9)
    weights = np.arange(1.0, 31.0)
    heavy = FewerTerms(k=3, random_state=0).fit(A, y, sample_weight=weights)
    assert heavy.coef_[0] == pytest.approx(terms(A, b, 3, sample_weight=weights, rng=0).p, abs=1e-8)
    one = FewerTerms(k=3).fit(pd.DataFrame(A), b)
    assert one.predict(pd.DataFrame(A)) == pytest.approx(A @ one.coef_)
    assert one.gap_ == one.result_.gap
    assert np.sort(one.indices_).tolist() == np.flatnonzero(one.coef_).tolist()
    assert (one.weights_ == one.coef_[one.indices_]).all()
    assert (np.diff(one.indices_) > 0).all()


def test_estimator_passes_over_columns_that_were_left_out():
    A, b = problem(5, rows=30)
    numbers = pd.DataFrame(A, columns=list("abcdefgh"))
    frame = numbers.assign(id=np.arange(30), day=pd.date_range("2024-01-01", periods=30), y=b)
    model = FewerTerms(k=3, random_state=0).fit(frame, "y")
    assert model.feature_names_in_.tolist() == list(numbers)
    expected = pytest.approx(A @ model.coef_)
    assert model.predict(frame) == expected
    assert model.predict(pl.DataFrame(frame).lazy()) == expected
    assert model.predict(numbers) == expected


@pytest.mark.parametrize("options", [{}, {"missing": "drop"}, {"returns": "simple"}])
@pytest.mark.parametrize("convert", [np.asarray, pd.DataFrame])
def test_estimator_answers_in_the_shape_of_its_targets(convert, options):
    A, b = problem(5, rows=30)
    A, b = 10.0 + A, 10.0 + b
    for y in (b, b[:, None], pd.DataFrame({"y": b}), np.column_stack([b, A[:, 2]])):
        model = FewerTerms(k=3, random_state=0, solver="greedy", **options).fit(convert(A), y)
        assert model.coef_.shape == (*np.shape(y)[1:], 8)
        assert model.predict(convert(A)).shape == np.shape(y)


BAD = [
    ({"k": 9}, r"k must be in 1\.\.8 \(columns\), got 9"),
    ({"max_weight": 0.2}, "max_weight = 0.2"),
    (
        {"min_weight": 0.4, "include": [0, 1, 2]},
        "cannot hold together: min_weight = 0.4 and include",
    ),
    ({"include": [1], "exclude": [1]}, "include and exclude must not overlap"),
    (
        {"solver": "magic"},
        "solver must be one of 'auto', 'exact', 'exchange', 'frank_wolfe', 'greedy', 'iht'",
    ),
    ({"ridge": -1.0}, "ridge must be at least 0, got -1"),
    ({"ridge": np.inf}, "ridge must be a finite number"),
    ({"sample_weight": -np.ones(12)}, "sample_weight must be non-negative, got -1.0 at index 0"),
    ({"X": np.full((12, 8), np.nan)}, "X must be finite, got nan at index 0, 0"),
    ({"X": np.full((12, 8), np.nan, np.float32)}, "X must be finite, got nan at index 0, 0"),
    ({"y": np.ones(3)}, r"y must have shape \(12,\), got \(3,\)"),
    ({"time_limit": 0}, "time_limit must be above 0"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_input_gets_a_sentence(change, sentence):
    A, b = problem(0)
    with pytest.raises(InvalidInput, match=sentence):
        terms(**{"X": A, "y": b, "k": 3, "rng": 0, **change})


def test_strange_but_good_input():
    assert terms([[1.0]], [5.0], 1).p.tolist() == [1.0]
    A, b = problem(1)
    twins = np.hstack([A, A, np.zeros((12, 2))])
    assert terms(twins, b, 3, rng=0).value <= terms(A, b, 3, rng=0).value * (1 + 1e-9)
    far = terms(A, b + 1e6, 3, rng=0)
    assert SparseSimplex(Atoms(8), 3).contains(far.p, 1e-12)
    scaled = terms(A * 1e-9, b * 1e-9, 3, rng=0)
    assert scaled.p == pytest.approx(terms(A, b, 3, rng=0).p, abs=1e-6)


@needs_data
@pytest.mark.parametrize(
    ("name", "k", "value", "proven"),
    [
        ("orlib1_hangseng31_prices", 5, 0.0118070577, True),
        ("orlib1_hangseng31_prices", 10, 0.0039582396, True),
        ("orlib3_ftse89_prices", 10, 0.0086260976, False),
        ("orlib3_ftse89_prices", 20, 0.0027329088, False),
    ],
)
def test_or_library_index_tracking(name, k, value, proven):
    with np.load(REAL / "index_tracking.npz", allow_pickle=False) as file:
        prices = file[name]
    returns = prices[1:] / prices[:-1] - 1
    result = terms(returns[:, 1:], returns[:, 0], k, rng=0)
    assert result.value <= value + 1e-10
    assert result.gap is not None
    if proven:
        assert result.status is Status.OPTIMAL
        assert result.gap <= 1e-9


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


@pytest.mark.parametrize("seed", range(5))
def test_frank_wolfe_holds_at_most_k_places(seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((30, 20))
    F = Moments(Atoms(20), Z, Z[:, :3] @ np.full(3, 1 / 3) + 1e-10 * rng.standard_normal(30))
    assert np.count_nonzero(frank_wolfe(F, SparseSimplex(F.space, 3)).p) <= 3


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


def test_a_limit_is_for_all_targets_of_an_estimator(slow_clock):
    model = FewerTerms(k=2, time_limit=1.0, random_state=0).fit(A, np.column_stack([B, B, B]))
    assert [result.status for result in model.result_] == [Status.TIME_LIMIT] * 3


# Inputs


# What bounds there are
