"""The engine for quadratics on sparse simplices, against enumeration, exact refits and outside solvers."""

import heapq
import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator
from sklearn.datasets import load_digits

import naive_quadratic as naive
from fewer import (
    MMD,
    Atoms,
    InvalidInput,
    Moments,
    RowsMMD,
    SparseSimplex,
    Status,
    minimize,
    points,
)
from fewer.active_set import box_weights
from fewer.deadline import Deadline
from fewer.search import quadratic
from fewer.search.engine import Branch, engine_of
from fewer.search.quadratic import QuadraticEngine
from fewer.similarity import similarity_of

some = settings(max_examples=40)
seeds = st.integers(0, 10**6)
BUDGET = 1e7  # work: enough for small problems
limit_sets = st.fixed_dictionaries(
    {
        "k": st.integers(1, 4),
        "min_weight": st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.5]),
        "max_weight": st.sampled_from([1.0, 1.0, 0.6, 0.35, 0.25]),
        "held": st.integers(0, 2),
        "barred": st.integers(0, 2),
        "cap": st.sampled_from([None, None, 1, 2]),
    }
)


def limits_of(rng, n, rules):
    """A constraint with some rules; None where nothing can meet them."""
    order = rng.permutation(n)
    groups = None if rules["cap"] is None else rng.integers(0, 3, n)
    held, barred = np.sort(order[: rules["held"]]), np.sort(order[n - rules["barred"] :])
    bounds = rules["min_weight"], rules["max_weight"], held, barred, groups, rules["cap"]
    try:
        return SparseSimplex(Atoms(n), rules["k"], *bounds)
    except InvalidInput:
        return None


def data(rng, n, rows, kind=0):
    """Columns and a target: plain, rounded, with equal columns, or far from the origin."""
    A, b = rng.standard_normal((rows, n)), rng.standard_normal(rows)
    if kind == 1:
        A = np.round(A)
    if kind == 2:
        A[:, n // 2] = A[:, 0]
    return (A + 100.0 if kind == 3 else A), b


def least_squares(A, b):
    return Moments(Atoms(A.shape[1]), A, b)


def problem(seed, n, rows, k, kind=0, **bounds):
    F = least_squares(*data(np.random.default_rng(seed), n, rows, kind))
    return F, SparseSimplex(F.space, k, **bounds)


def exact_refit(A, b, lo, hi):
    w = box_weights(A.T @ A, A.T @ b, lo, hi, np.full(len(lo), 1.0 / len(lo)))
    return float(np.square(A @ w - b).sum())


def feasible(p, limits, tol=1e-12):
    """Every rule, one by one."""
    units = np.union1d(np.flatnonzero(p), limits.include)
    w = p[units]
    assert abs(w.sum() - 1) <= tol
    assert len(units) <= limits.k
    assert w.min() >= limits.min_weight - tol
    assert w.max() <= limits.max_weight + tol
    assert not set(limits.exclude.tolist()) & set(units.tolist())
    if limits.groups is not None:
        assert (
            np.bincount(limits.groups[units], minlength=len(limits.labels)) <= limits.max_per_group
        ).all()


def visited(engine, perturbations=20, rng=0):
    """The engine after every stretch of a local search."""
    rng = np.random.default_rng(rng)
    for act, count in ((engine.grow, 32), (engine.improve, 64)):
        while act(count):
            yield engine
    for _ in range(perturbations):
        engine.perturb(rng)
        yield engine


@settings(max_examples=150)
@given(seeds, st.integers(5, 9), limit_sets, st.integers(0, 3))
def test_auto_equals_enumeration(seed, n, rules, kind):
    rng = np.random.default_rng(seed)
    A, b = data(rng, n, 6, kind)
    limits = limits_of(rng, n, rules)
    if limits is None:
        return
    truth = naive.best_by_enumeration(A, b, limits, exact_refit)
    found = minimize(least_squares(A, b), limits, "auto", budget=BUDGET, rng=0)
    feasible(found.p, limits)
    assert found.value == pytest.approx(truth, rel=1e-7, abs=1e-7 * (kind == 3) + 1e-12)
    assert found.bound <= truth * (1 + 1e-9) + 1e-9


@some
@given(seeds, limit_sets)
def test_every_answer_is_feasible_and_the_value_that_of_its_weights(seed, rules):
    rng = np.random.default_rng(seed)
    limits = limits_of(rng, 40, rules | {"k": rules["k"] + 4})
    if limits is None:
        return
    F = least_squares(*data(rng, 40, 15))
    engine, last = engine_of(F, limits), math.inf
    for now in visited(engine):
        assert now.value <= last
        last = now.value
        if now.answer() is None:
            assert last == math.inf
            continue
        feasible(now.answer(), limits)
        assert now.value == pytest.approx(F.value(now.answer()), rel=1e-9)
        assert now.support.tolist() == limits.support(now.answer()).tolist()
    for solver in ("greedy", "iht", "frank_wolfe"):
        feasible(minimize(F, limits, solver, rng=0).p, limits, 1e-9)


@pytest.mark.parametrize("bounds", [{}, {"min_weight": 0.05, "max_weight": 0.3}])
@pytest.mark.parametrize("solver", ["auto", "exchange", "iht"])
def test_same_seed_same_bits(solver, bounds):
    F, C = problem(5, 120, 40, 8, **bounds)
    first, second = (
        minimize(F, C, solver, rng=7, **({} if solver == "iht" else {"budget": 20 * BUDGET}))
        for _ in range(2)
    )
    assert first.p.tobytes() == second.p.tobytes()
    assert first.history.tobytes() == second.history.tobytes()
    assert first.bound == second.bound


@pytest.mark.parametrize("kind", ["float32", "csc", "operator", "fortran"])
def test_all_kinds_of_matrices_agree(kind):
    rng = np.random.default_rng(8)
    A = (
        np.where(rng.random((30, 900)) < 0.3, rng.standard_normal((30, 900)), 0.0)
        .astype(np.float32)
        .astype(float)
    )
    b = A @ np.where(rng.random(900) < 0.02, 0.05, 0.0)
    kinds = {
        "float32": A.astype(np.float32),
        "csc": sp.csc_array(A),
        "operator": aslinearoperator(A),
        "fortran": np.asfortranarray(A),
    }
    F, G = least_squares(A, b), least_squares(kinds[kind], b)
    limits = SparseSimplex(F.space, 6)
    units, w = np.array([3, 77]), np.array([0.4, 0.6])
    assert np.allclose(F.diagonal, G.diagonal, rtol=1e-5)
    assert np.allclose(F.slopes(units, w), G.slopes(units, w), atol=1e-4)
    assert np.allclose(F.cross(units, units), G.cross(units, units), rtol=1e-12)
    best, found = (minimize(each, limits, "exchange", budget=20 * BUDGET, rng=0) for each in (F, G))
    feasible(found.p, limits)
    assert found.value == pytest.approx(F.value(found.p), rel=1e-5)
    assert found.value <= best.value * 1.05


def embedded(seed, n):
    """MMD of points in the plane: a quadratic that is not least squares."""
    X = np.random.default_rng(seed).standard_normal((n, 2))
    return MMD(Atoms(n), np.exp(-np.square(X[:, None] - X[None]).sum(axis=2)), np.full(n, 1 / n))


# targets that can be reached, and pools


@pytest.mark.parametrize("bounds", [{}, {"max_weight": 0.3, "include": [17]}])
def test_pools_that_are_not_everything_find_as_much_as_one_of_all(bounds):
    F = embedded(3, 300)
    C = SparseSimplex(F.space, 5, **bounds)
    whole = minimize(F, C, "exchange", budget=20 * BUDGET, rng=0).value
    engine = QuadraticEngine(F, C.rules, Deadline.after(None), width=100)
    sizes = {len(now._pool.units) for now in visited(engine, 300) if now._pool is not None}
    assert sizes == {100}
    assert engine._gathered > 5
    feasible(engine.answer(), C)
    assert engine.value <= 1.1 * whole


# bounds


def optimum(A, b, limits, branch):
    """The least value over the supports of a branch."""
    S = [
        units
        for units in naive.feasible_supports(limits)
        if set(branch.included.tolist()) <= set(units)
        and not set(branch.excluded.tolist()) & set(units)
    ]
    refits = (
        exact_refit(
            A[:, units], b, *np.outer([limits.min_weight, limits.max_weight], np.ones(len(units)))
        )
        for units in S
    )
    return min(refits, default=math.inf)


@settings(max_examples=25)
@given(seeds, limit_sets, st.booleans())
def test_bounds_are_below_the_optimum_of_their_branch_and_no_better_support_is_lost(
    seed, rules, searched
):
    rng = np.random.default_rng(seed)
    A, b = data(rng, 7, 6)
    limits = limits_of(rng, 7, rules)
    if limits is None:
        return
    engine = engine_of(least_squares(A, b), limits)
    engine.grow(32)
    for _ in visited(engine, 0) if searched else ():
        pass
    truth = naive.best_by_enumeration(A, b, limits, exact_refit)
    branches, looks = [(-math.inf, 0, Branch())], itertools.count(1)
    while branches:
        _, _, branch = heapq.heappop(branches)
        rest, at = engine.bound(branch), next(looks)
        assert at < 3000
        for index, each in enumerate(rest):
            assert each.bound >= branch.bound
            assert each.bound <= optimum(A, b, limits, each) * (1 + 1e-9) + 1e-12
            heapq.heappush(branches, (each.bound, 2 * at + index, each))
        left = min((optimum(A, b, limits, each) for _, _, each in branches), default=math.inf)
        assert min(left, engine.proven) <= truth * (1 + 1e-9) + 1e-12
        assert min(left, engine.value) <= truth * (1 + 1e-8) + 1e-12
    assert engine.value == pytest.approx(truth, rel=1e-8, abs=1e-12)
    assert engine.proven <= truth * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("bounds", [{}, {"min_weight": 0.1, "max_weight": 0.6, "include": [2]}])
@pytest.mark.parametrize("seed", range(4))
def test_past_the_proof_the_convex_relaxation_bounds_every_support(monkeypatch, seed, bounds):
    monkeypatch.setattr(quadratic, "PROVABLE", 0)
    F, C = problem(seed, 9, 12, 3, **bounds)
    found = minimize(F, C, "exact", budget=1e9, rng=0)
    truth = naive.best_by_enumeration(F.A, F.b, C, exact_refit)
    relaxed = naive.refit_by_clarabel(F.A, F.b, np.zeros(9), np.ones(9))
    assert found.bound <= truth * (1 + 1e-9)
    assert found.bound == pytest.approx(relaxed, rel=1e-4)


@pytest.mark.parametrize("k", [1, 3])
def test_points_beyond_the_usual_size_are_bounded_by_the_same_relaxation(monkeypatch, k):
    monkeypatch.setattr(quadratic, "PROVABLE", 5)
    rows = np.random.default_rng(k).normal(size=(11, 2))
    F = RowsMMD.between(rows, np.full(11, 1 / 11), similarity_of("rbf", 0.5))
    truth = min(F.value_on(np.array(face)) for face in itertools.combinations(range(11), k))
    found = minimize(F, SparseSimplex(F.space, k), "exact", rng=0, time_limit=1000)
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(truth, rel=1e-9)
    cut = minimize(F, SparseSimplex(F.space, k), "exact", rng=0, time_limit=1000, budget=1e7)
    assert 0.0 <= cut.bound <= truth * (1 + 1e-9)
    assert (
        minimize(F, SparseSimplex(F.space, k), "exact", rng=0).bound == 0.0
    )  # a proof without a limit would take hours


def test_many_rows_have_a_bound_above_zero_and_the_answer_of_the_search():
    """Single precision in the rounds, as there are more than 600 rows.

    Steps are counted, not seconds.
    """
    X, looks = load_digits().data[:620], itertools.count()
    found = points(
        X,
        10,
        solver="exact",
        rng=0,
        time_limit=1e6,
        callback=lambda p: p.bound > 0.3 * p.best or next(looks) > 5000,
    )
    searched = points(X, 10, solver="exchange", rng=0).value
    assert found.value <= searched * (1 + 1e-12)
    assert 0.3 * searched < found.bound < searched
