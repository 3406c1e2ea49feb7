"""Quadratics on the simplex cut by a box: against all active sets, an outside solver and the KKT conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_quadratic as naive
from fewer.active_set import box_weights

some = settings(max_examples=40)
seeds = st.integers(0, 10**6)


def data(rng, size, rows, kind=0):
    """Columns and a target: plain, rounded, with equal columns, or far from the origin."""
    A, b = rng.standard_normal((rows, size)), rng.standard_normal(rows)
    if kind == 1:
        A = np.round(A)
    if kind == 2 and size > 1:
        A[:, size // 2] = A[:, 0]
    return (A + 100.0 if kind == 3 else A), b


def box(rng, size, even):
    """Bounds between which weights can sum to one."""
    lo = np.where(rng.random(size) < 0.5, 0.0, rng.random(size) * 0.9 / size)
    hi = np.minimum(lo + rng.random(size) * 2.5 / size, 1.0)
    if even:
        lo, hi = np.full(size, 0.5 / size), np.full(size, min(1.0, 2.0 / size))
    if hi.sum() < 1.0:
        hi = lo + (1.2 - lo.sum()) / size
    return lo, hi


@some
@given(seeds, st.integers(1, 6), st.integers(1, 7), st.integers(0, 3))
def test_equals_all_active_sets(seed, size, rows, kind):
    rng = np.random.default_rng(seed)
    A, b = data(rng, size, rows, kind)
    lo, hi = box(rng, size, seed % 2)
    H, c = A.T @ A, A.T @ b
    w = box_weights(H, c, lo, hi, rng.random(size) * (rng.random(size) < 0.5))
    assert abs(w.sum() - 1) < 1e-12
    assert np.all(w >= lo)
    assert np.all(w <= hi)
    best = naive.refit_by_active_sets(H, c, lo, hi)
    assert naive.value(H, c, w) == pytest.approx(best, abs=1e-9 * (1 + np.abs(H).max()))


@some
@given(seeds, st.integers(2, 25), st.integers(1, 30), st.integers(0, 2))
def test_equals_clarabel_and_satisfies_kkt(seed, size, rows, kind):
    rng = np.random.default_rng(seed)
    A, b = data(rng, size, rows, kind)
    lo, hi = box(rng, size, seed % 2)
    w = box_weights(A.T @ A, A.T @ b, lo, hi, np.zeros(size))
    assert np.square(A @ w - b).sum() <= naive.refit_by_clarabel(A, b, lo, hi) + 1e-7
    slopes = A.T @ (b - A @ w)
    up = slopes[w < hi - 1e-12].max(initial=-np.inf)
    down = slopes[w > lo + 1e-12].min(initial=np.inf)
    assert up - down < 1e-9


def test_takes_a_column_at_the_origin_but_for_rounding():
    H = np.array([[1.0, -2.7e-16, 0.4], [-2.7e-16, -8e-16, -2.7e-16], [0.4, -2.7e-16, 0.8]])
    w = box_weights(H, np.zeros(3), np.zeros(3), np.full(3, 0.9), np.array([0.0, 0.9, 0.1]))
    assert w == pytest.approx(
        [0.04, 0.9, 0.06], abs=1e-12
    )  # of the other two: (H_33 - H_13) : (H_11 - H_13)
