"""The active-set path on which searches start: against Lawson-Hanson written out, SciPy and Clarabel."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_quadratic as naive
from fewer import MMD, Atoms, Moments, SparseSimplex, Status, minimize
from fewer.deadline import Deadline
from fewer.search.fits import Fit, refitted, simplex_bound, stopped, walked
from fewer.search.quadratic import QuadraticEngine


def least_squares(A, b):
    return Moments(Atoms(A.shape[1]), A, b)


def path(F, limits, limit, summed):
    return stopped(walked(F, limits.rules, limit, summed), Deadline.after(None))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_the_path_without_the_sum_is_lawson_hanson(seed, limit):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((20, 60))
    b = A @ np.where(rng.random(60) < 0.2, rng.random(60), 0.0)
    F = least_squares(A, b)
    units, weights = path(F, SparseSimplex(F.space, limit), limit, summed=False)
    mine = np.zeros(60)
    mine[units] = weights
    assert np.allclose(mine, naive.nonnegative_path(A, b, limit), atol=1e-8)
    assert np.all(np.diff(weights) <= 0)


def test_the_path_with_the_sum_goes_to_the_optimum_on_the_simplex():
    rng = np.random.default_rng(4)
    F = least_squares(rng.standard_normal((20, 50)), rng.standard_normal(20))
    limits = SparseSimplex(F.space, 50)
    units, weights = path(F, limits, 50, summed=True)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights.min() > 0
    best = naive.refit_by_clarabel(F.A, F.b, np.zeros(50), np.ones(50))
    assert F.value_at(units, weights) == pytest.approx(best, rel=1e-6)


def test_the_path_ends_where_units_depend_on_those_held():
    """Similarities of rank five, rounded to single precision: units enter for ever and get no weight."""
    for seed in (2, 8, 33):
        Z = np.random.default_rng(seed).random((20, 5)).astype(np.float32)
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        gram = (Z @ Z.T).astype(float) + 3e-7 * np.eye(20)  # rounding must not make it indefinite
        F = MMD(Atoms(20), gram, np.full(20, 0.05))
        units, weights = path(F, SparseSimplex(F.space, 3), 19, summed=True)
        assert weights.sum() == pytest.approx(1.0)
        assert F.value_at(units, weights) < 1e-7


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([1.0, 0.7, 0.5, 0.3, 0.25]), st.integers(0, 2))
def test_the_bound_over_the_whole_simplex_holds_everywhere_and_is_reached_at_its_optimum(
    seed, high, barred
):
    rng = np.random.default_rng(seed)
    F = least_squares(rng.standard_normal((6, 9)), 3.0 * rng.standard_normal(6))
    limits = SparseSimplex(F.space, 9, max_weight=high, exclude=range(barred))
    units = np.flatnonzero(limits.rules.open)
    best = refitted(F, limits.rules, units)
    assert best.value == pytest.approx(
        naive.refit_by_clarabel(F.A[:, units], F.b, 0.0, high), rel=1e-7, abs=1e-9
    )
    weights = limits.project(rng.random(9))[units]
    for q in (
        weights,
        *(0.9**i * weights + (1.0 - 0.9**i) * whole(best, 9)[units] for i in (10, 30)),
    ):
        assert simplex_bound(F, limits.rules, Fit(units, q, F.value_at(units, q))) <= best.value * (
            1 + 1e-12
        )
    assert simplex_bound(F, limits.rules, best) == pytest.approx(best.value, rel=1e-9, abs=1e-9)


def whole(found, n):
    p = np.zeros(n)
    p[found.units] = found.weights
    return p


def never(*_):
    raise AssertionError("nothing can be gained here")


@pytest.mark.parametrize("solver", ["auto", "exact"])
@pytest.mark.parametrize(
    ("size", "rules"), [(40, {}), (40, {"max_weight": 0.3, "exclude": [1, 5]}), (900, {})]
)
def test_an_optimum_over_the_whole_simplex_with_few_entries_is_proven_without_a_search(
    monkeypatch, solver, size, rules
):
    monkeypatch.setattr(QuadraticEngine, "perturb", never)
    rng = np.random.default_rng(size)
    A = rng.standard_normal((60, size)) + 2.0
    F = least_squares(A, 5.0 + A[:, 10:20].mean(axis=1))
    open_units = np.setdiff1d(np.arange(size), rules.get("exclude", []))
    found = minimize(F, SparseSimplex(F.space, 30, **rules), solver, rng=0)
    assert found.status is Status.OPTIMAL
    assert len(found.indices) < 30
    assert found.bound <= found.value * (1 + 1e-12)
    best = naive.refit_by_clarabel(A[:, open_units], F.b, 0.0, rules.get("max_weight", 1.0))
    assert found.value == pytest.approx(best, rel=1e-7)


@settings(max_examples=30)
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.sampled_from([1.0, 0.6, 0.5]),
    st.sampled_from([0.0, 0.2]),
)
def test_what_is_proven_by_the_whole_simplex_is_the_best_of_all_supports(seed, k, high, low):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((5, 8)) + 1.0
    F = least_squares(A, rng.uniform(0.0, 8.0) + A[:, :3].mean(axis=1))
    limits = SparseSimplex(F.space, k, min_weight=low, max_weight=high)
    found = minimize(F, limits, rng=0)
    supports = (
        s for size in range(1, k + 1) for s in combinations(range(8), size) if size * high >= 1.0
    )
    truth = min(
        refitted(F, limits.rules, np.array(s)).value for s in supports if len(s) * low <= 1.0
    )
    assert found.bound <= truth * (1 + 1e-9) + 1e-12
    if found.status is Status.OPTIMAL:
        assert found.value == pytest.approx(truth, rel=1e-6, abs=1e-9)
