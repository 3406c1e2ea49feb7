"""The active-set path on which searches start: against Lawson-Hanson written out, SciPy and Clarabel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import naive_quadratic as naive
from fewer import MMD, Atoms, Moments, SparseSimplex, minimize
from fewer.deadline import Deadline
from fewer.engines.paths import stopped, walked


def least_squares(A, b):
    return Moments(Atoms(A.shape[1]), A, b)


def path(F, limits, limit, summed):
    return stopped(walked(F, limits, limit, summed), Deadline.after(None))


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


def test_the_path_goes_to_the_nnls_optimum():
    rng = np.random.default_rng(3)
    A, b = np.abs(rng.standard_normal((40, 300))), rng.standard_normal(40) + 1.0
    _, norm = nnls(A, b)
    F = least_squares(A, b)
    units, weights = path(F, SparseSimplex(F.space, 40), 300, summed=False)
    assert np.linalg.norm(A[:, units] @ weights - b) <= norm * (1 + 1e-9)


def test_the_path_with_the_sum_goes_to_the_optimum_on_the_simplex():
    rng = np.random.default_rng(4)
    F = least_squares(rng.standard_normal((20, 50)), rng.standard_normal(20))
    limits = SparseSimplex(F.space, 50)
    units, weights = path(F, limits, 50, summed=True)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert weights.min() > 0
    best = naive.refit_by_clarabel(F.A, F.b, np.zeros(50), np.ones(50))
    assert F.value_at(units, weights) == pytest.approx(best, rel=1e-6)


def test_the_path_where_no_column_points_to_the_target():
    F = least_squares(np.eye(5), -np.ones(5))
    limits = SparseSimplex(F.space, 2)
    assert len(path(F, limits, 2, summed=False)[0]) == 0
    assert minimize(F, limits, "exchange", budget=1e6, rng=0).value == pytest.approx(3 + 2 * 1.5**2)


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
