"""Searches over k weighted places: against slow twins, enumeration and an outside solver."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from fewer._compiled.pool_face import common_level
from fewer._compiled.pool_search import best_moves, entering_terms, leaving_terms, move_value
from fewer._compiled.tableau import bordered, rebuild, sweep, sync
from fewer.solvers._classic import greedy, iht
from fewer.solvers._exchange import Search, auto, feasible_support, polished, refitted, starts
from fewer.solvers._starts import path
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.sparse.linalg import aslinearoperator

import naive_places as naive
from fewer import MMD, Atoms, InvalidInput, Moments, SparseSimplex
from fewer._compiled.box_quadratic import box_quadratic
from fewer.solvers import places
from fewer.solvers._drive import drive


def Limits(n, k, *bounds, **more):  # noqa: N802
    return SparseSimplex(Atoms(n), k, *bounds, **more)


def LeastSquares(A, b):  # noqa: N802
    return Moments(Atoms(A.shape[1]), A, b)


def best_of(answers):
    return min((found for found in answers if found is not None), key=lambda found: found.value)


slow = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 10**6)


def quadratic(rng, size, rows, kind=0):
    A, b = rng.standard_normal((rows, size)), rng.standard_normal(rows)
    if kind == 1:
        A = np.round(A)
    if kind == 2 and size > 1:
        A[:, size // 2] = A[:, 0]
    if kind == 3:
        A += 100.0
    return A, b


def box(rng, size, kind):
    lo = np.where(rng.random(size) < 0.5, 0.0, rng.random(size) * 0.9 / size)
    hi = np.minimum(lo + rng.random(size) * 2.5 / size, 1.0)
    if kind == 1:
        lo, hi = np.full(size, 0.5 / size), np.full(size, min(1.0, 2.0 / size))
    if hi.sum() < 1.0:
        hi = lo + (1.2 - lo.sum()) / size
    return lo, hi


def refit_exact(A, b, lo, hi):
    w, _ = box_quadratic(A.T @ A, A.T @ b, lo, hi, np.full(len(lo), 1.0 / len(lo)))
    return float(np.square(A @ w - b).sum())


def feasible(found, limits, tol=1e-12):
    w, units = found.weights, found.units
    assert abs(w.sum() - 1) <= tol
    assert len(units) <= limits.k
    assert np.all(np.diff(units) > 0)
    assert w.min() >= limits.min_weight - tol
    assert w.max() <= limits.max_weight + tol
    assert set(limits.include.tolist()) <= set(units.tolist())
    assert not set(limits.exclude.tolist()) & set(units.tolist())
    if limits.groups is not None:
        assert np.bincount(limits.groups[units]).max() <= limits.max_per_group
    return True


@slow
@given(seeds, st.integers(1, 6), st.integers(1, 7), st.integers(0, 3))
def test_box_refit_equals_all_active_sets(seed, size, rows, kind):
    rng = np.random.default_rng(seed)
    A, b = quadratic(rng, size, rows, kind)
    lo, hi = box(rng, size, seed % 2)
    H, c = A.T @ A, A.T @ b
    w, _ = box_quadratic(H, c, lo, hi, rng.random(size) * (rng.random(size) < 0.5))
    assert abs(w.sum() - 1) < 1e-12
    assert np.all(w >= lo)
    assert np.all(w <= hi)
    scale = 1 + np.abs(H).max()
    assert naive.value(H, c, w) <= naive.refit_by_active_sets(H, c, lo, hi) + 1e-9 * scale


@slow
@given(seeds, st.integers(2, 25), st.integers(1, 30), st.integers(0, 2))
def test_box_refit_equals_clarabel_and_satisfies_kkt(seed, size, rows, kind):
    rng = np.random.default_rng(seed)
    A, b = quadratic(rng, size, rows, kind)
    lo, hi = box(rng, size, seed % 2)
    w, _ = box_quadratic(A.T @ A, A.T @ b, lo, hi, np.zeros(size))
    assert np.square(A @ w - b).sum() <= naive.refit_by_clarabel(A, b, lo, hi) + 1e-7
    slopes = A.T @ (b - A @ w)
    up = slopes[w < hi - 1e-12].max(initial=-np.inf)
    down = slopes[w > lo + 1e-12].min(initial=np.inf)
    assert up - down < 1e-9


def test_box_refit_takes_a_column_at_the_origin_but_for_rounding():
    H = np.array([[1.0, -2.7e-16, 0.4], [-2.7e-16, -8e-16, -2.7e-16], [0.4, -2.7e-16, 0.8]])
    w, _ = box_quadratic(H, np.zeros(3), np.zeros(3), np.full(3, 0.9), np.array([0.0, 0.9, 0.1]))
    assert w == pytest.approx([0.04, 0.9, 0.06], abs=1e-12)  # of the other two: (H_33 - H_13) : (H_11 - H_13)


def test_box_refit_is_the_simplex_one_where_no_bound_binds():
    rng = np.random.default_rng(0)
    A, b = quadratic(rng, 8, 5)
    H, c, zero, one = A.T @ A, A.T @ b, np.zeros(8), np.ones(8)
    w, _ = box_quadratic(H, c, zero, one, zero)
    almost, _ = box_quadratic(H, c, zero, one * 0.999, zero)
    assert np.allclose(w, almost, atol=1e-12)
    third, _ = box_quadratic(np.eye(3), np.array([1.0, 0, 0]), np.zeros(3), np.full(3, 0.5), np.zeros(3))
    assert np.allclose(third, [0.5, 0.25, 0.25], atol=1e-15)
    equal, _ = box_quadratic(H, c, np.full(8, 1 / 8), np.full(8, 1 / 8), zero)
    assert np.allclose(equal, 1 / 8, atol=1e-16)


@slow
@given(seeds, st.integers(2, 9))
def test_tableau_equals_its_definition(seed, size):
    rng = np.random.default_rng(seed)
    A, _ = quadratic(rng, size, size + 2)
    K = bordered(A.T @ A)
    free = rng.random(size) < 0.6
    free[0] = True
    T, swept = np.empty_like(K), np.zeros(size + 1, bool)
    rebuild(K, T, swept, free)
    inside, out = np.flatnonzero(swept), np.flatnonzero(~swept)
    inverse = np.linalg.inv(K[np.ix_(inside, inside)])
    assert np.allclose(T[np.ix_(inside, inside)], -inverse, atol=1e-8)
    assert np.allclose(T[np.ix_(inside, out)], inverse @ K[np.ix_(inside, out)], atol=1e-8)
    again, mark = T.copy(), swept.copy()
    sweep(again, mark, size - 1)
    other = free.copy()
    other[size - 1] = not free[size - 1]
    if other.any() and free.sum() > 1:
        sync(K, T, swept, other)
        assert np.allclose(T, again, atol=1e-7)


@pytest.mark.parametrize(("lo", "hi"), [(0.0, 1.0), (0.05, 0.3), (0.2, 0.2)])
def test_move_values_equal_fresh_refits(lo, hi):
    rng = np.random.default_rng(1)
    exact = 0
    for _ in range(10):
        A, b = quadratic(rng, 12, 15)
        limits = Limits(n=12, k=5, min_weight=lo, max_weight=hi)
        search = Search(LeastSquares(A, b), limits, np.sort(rng.permutation(12)[:5]), rng)
        pool, face, f = search.pool, search._face, search.f
        level = common_level(face)
        curvature, slope = entering_terms(pool, face, level)
        units = np.flatnonzero(face.inside)
        for i in units[face.swept[units]]:
            for j in np.flatnonzero(~face.inside):
                if face.swept[:-1].sum() < 2:
                    continue
                terms = leaving_terms(pool, face, level, i)
                value, _ = move_value(lo, hi, terms, curvature[j], slope[j], face.tableau[i, j])
                swapped = search.units[np.append(units[units != i], j)]
                truth = refitted(search.problem, limits, np.sort(swapped)).value
                exact += abs(f + value - truth) < 1e-9
                if lo == 0.0:
                    assert f + value <= truth + 1e-9
    assert exact > 50 or lo == hi


@slow
@given(seeds, st.integers(5, 9), st.integers(1, 4))
def test_best_moves_lists_the_best_swap(seed, n, k):
    rng = np.random.default_rng(seed)
    A, b = quadratic(rng, n, n + 3)
    search = Search(LeastSquares(A, b), Limits(n=n, k=k), np.sort(rng.permutation(n)[:k]), rng)
    out, enter = best_moves(search.pool, search._face, np.zeros(n, bool), 1e-12)
    before = search.found.value
    if enter[0] < 0:
        for i in search.found.units:
            for j in np.setdiff1d(np.arange(n), search.found.units):
                units = np.sort(np.append(np.setdiff1d(search.found.units, [i]), j))
                assert refitted(search.problem, search.limits, units).value >= before - 1e-9
    else:
        assert not search._face.inside[enter[0]]
        assert out[0] < 0 or search._face.inside[out[0]]


@slow
@given(seeds, st.integers(1, 12))
def test_path_without_sum_is_lawson_hanson(seed, limit):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((20, 60))
    b = A @ np.where(rng.random(60) < 0.2, rng.random(60), 0.0)
    units, weights = path(LeastSquares(A, b), Limits(n=60, k=limit), limit, summed=False)
    mine = np.zeros(60)
    mine[units] = weights
    assert np.allclose(mine, naive.nonnegative_path(A, b, limit), atol=1e-8)


def test_path_goes_to_the_nnls_optimum():
    rng = np.random.default_rng(3)
    A, b = np.abs(rng.standard_normal((40, 300))), rng.standard_normal(40) + 1.0
    _, norm = nnls(A, b)
    units, weights = path(LeastSquares(A, b), Limits(n=300, k=40), 300, summed=False)
    assert np.linalg.norm(A[:, units] @ weights - b) <= norm * (1 + 1e-9)


def test_path_where_no_column_points_to_the_target():
    A = np.eye(5)
    F, limits = LeastSquares(A, -np.ones(5)), Limits(n=5, k=2)
    assert len(path(F, limits, 2, summed=False)[0]) == 0
    assert best_of(auto(F, limits, np.random.default_rng(0))).value == pytest.approx(3 + 2 * 1.5**2)


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


def test_path_ends_where_units_depend_on_those_held():
    """Similarities of rank five, rounded to single precision: units enter for ever and get no weight."""
    for seed in (2, 8, 33):
        Z = np.random.default_rng(seed).random((20, 5)).astype(np.float32)
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        gram = (Z @ Z.T).astype(float) + 3e-7 * np.eye(20)  # rounding must not make it indefinite
        F, limits = MMD(Atoms(20), gram, np.full(20, 0.05)), Limits(n=20, k=3)
        units, weights = path(F, limits, 19, summed=True)
        assert weights.sum() == pytest.approx(1.0)
        assert F.value_at(units, weights) < 1e-7


def some_limits(rng, n, rules):
    order = rng.permutation(n)
    groups = None if rules["cap"] is None else rng.integers(0, 3, n)
    return Limits(
        n,
        rules["k"],
        rules["min_weight"],
        rules["max_weight"],
        np.sort(order[: rules["held"]]),
        np.sort(order[n - rules["barred"] :]),
        groups,
        rules["cap"],
    )


@settings(max_examples=150, deadline=None, derandomize=True)
@given(seeds, st.integers(5, 9), limit_sets, st.integers(0, 3))
def test_auto_equals_enumeration(seed, n, rules, kind):
    rng = np.random.default_rng(seed)
    A, b = quadratic(rng, n, 6, kind)
    try:
        limits = some_limits(rng, n, rules)
    except InvalidInput:
        return
    truth = naive.best_by_enumeration(A, b, limits, refit_exact)
    found = best_of(auto(LeastSquares(A, b), limits, np.random.default_rng(0)))
    assert feasible(found, limits)
    assert found.value <= truth + 1e-7 * (1 + truth)


@slow
@given(seeds, limit_sets)
def test_every_answer_is_feasible_and_none_is_worse_than_rounding(seed, rules):
    rng = np.random.default_rng(seed)
    n = 40
    A, b = quadratic(rng, n, 15)
    try:
        limits = some_limits(rng, n, rules | {"k": rules["k"] + 4})
    except InvalidInput:
        return
    F = LeastSquares(A, b)
    answers = [found for found in auto(F, limits, np.random.default_rng(0)) if found is not None]
    assert all(feasible(found, limits) for found in answers)
    free = best_of(auto(F, Limits(n=n, k=limits.k), np.random.default_rng(0)))
    heavy = free.units[np.argsort(-free.weights, kind="stable")]
    for size in range(limits.sizes[0], limits.sizes[1] + 1):
        units = feasible_support(F, limits, heavy, size)
        assert answers[-1].value <= refitted(F, limits, units).value + 1e-9
    for found in greedy(F, limits):
        assert feasible(found, limits)
    for found in iht(F, limits, refitted(F, limits, feasible_support(F, limits, heavy))):
        assert found is None or feasible(found, limits)


def test_same_seed_same_bits():
    rng = np.random.default_rng(5)
    A, b = quadratic(rng, 120, 40)
    runs = [best_of(auto(LeastSquares(A, b), Limits(n=120, k=8), np.random.default_rng(7))) for _ in range(2)]
    assert np.array_equal(runs[0].units, runs[1].units)
    assert np.array_equal(runs[0].weights, runs[1].weights)


@pytest.mark.parametrize("kind", ["float32", "csc", "operator", "fortran"])
def test_all_kinds_of_matrices_agree(kind):
    rng = np.random.default_rng(8)
    A = np.where(rng.random((30, 900)) < 0.3, rng.standard_normal((30, 900)), 0.0).astype(np.float32).astype(float)
    b = A @ np.where(rng.random(900) < 0.02, 0.05, 0.0)
    kinds = {
        "float32": A.astype(np.float32),
        "csc": sp.csc_array(A),
        "operator": aslinearoperator(A),
        "fortran": np.asfortranarray(A),
    }
    F, G, limits = LeastSquares(A, b), LeastSquares(kinds[kind], b), Limits(n=900, k=6)
    assert np.allclose(F.diagonal, G.diagonal, rtol=1e-5)
    units, w = np.array([3, 77]), np.array([0.4, 0.6])
    assert np.allclose(F.slopes(units, w), G.slopes(units, w), atol=1e-4)
    assert np.allclose(F.cross(units, units), G.cross(units, units), rtol=1e-12)
    found = best_of(auto(G, limits, np.random.default_rng(0)))
    best = best_of(auto(F, limits, np.random.default_rng(0)))
    assert feasible(found, limits)
    assert found.value <= best.value * 1.2


def test_any_quadratic_will_do():
    X = np.random.default_rng(11).standard_normal((700, 2))
    K = np.exp(-np.square(X[:, None] - X[None]).sum(axis=2))
    F, limits = MMD(Atoms(700), K, np.full(700, 1 / 700)), Limits(n=700, k=5, max_weight=0.4)
    found = best_of(auto(F, limits, np.random.default_rng(0)))
    assert feasible(found, limits)
    assert found.value <= list(greedy(F, limits))[-1].value


def test_greedy_takes_the_best_unit_each_time_and_auto_beats_it():
    rng = np.random.default_rng(9)
    A, b = quadratic(rng, 30, 20)
    F, limits = LeastSquares(A, b), Limits(n=30, k=5)
    answers = list(greedy(F, limits))
    for before, after in itertools.pairwise(answers):
        others = np.setdiff1d(np.arange(30), before.units)
        best = min(refitted(F, limits, np.sort(np.append(before.units, j))).value for j in others)
        assert after.value == pytest.approx(best, rel=1e-9)
    assert best_of(auto(F, limits, rng)).value <= answers[-1].value + 1e-12


def test_iht_improves_on_the_starts_of_exchange():
    gains = []
    for seed in range(8):
        A, b = quadratic(np.random.default_rng(seed), 60, 40)
        F, limits = LeastSquares(A, b), Limits(n=60, k=8)
        begun = min(pair[1].value for pair in starts(F, limits) if pair is not None)
        ended = drive(F, limits, places.iht(F, limits, np.random.default_rng(0))).value
        assert ended <= begun
        gains.append(begun - ended)
    assert max(gains) > 0


def test_polish_reaches_zero_where_the_target_is_reachable():
    rng = np.random.default_rng(10)
    A = rng.standard_normal((60, 400))
    q = np.where(np.arange(400) < 8, 0.125, 0.0)
    F, limits = LeastSquares(A, A @ q), Limits(n=400, k=12)
    found = best_of(auto(F, limits, rng))
    assert found.value < 1e-20
    assert polished(F, limits, found).value <= found.value
