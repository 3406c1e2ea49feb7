"""Properties of the active-set solvers, each against an independent witness."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import naive
from fewer._compiled.cholesky import advance, append, remove, steepest
from fewer.active_set import box_weights, climb


def simplex_quadratic(H, c, start):
    return box_weights(H, c, 0.0, 1.0, start)


seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 7)
starts = st.sampled_from(["cold", "uniform", "vertex", "random"])
examples = settings(max_examples=100, deadline=None)


def start_of(kind, size, rng):
    if kind == "cold":
        return np.zeros(size)
    if kind == "uniform":
        return np.full(size, 1.0 / size)
    if kind == "vertex":
        return np.eye(size)[rng.integers(size)]
    return rng.dirichlet(np.full(size, 0.3))


def sparse_problem(rows, size, seed, noise=0.1):
    """Gram matrix of Gaussian columns, target a noisy mixture of a tenth of them."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, size))
    mixture = rng.dirichlet(np.ones(max(1, size // 10)))
    target = A[:, : mixture.size] @ mixture + noise * rng.standard_normal(rows)
    return A, target, A.T @ A, A.T @ target


def magnitude(H, c):
    return max(np.abs(H).max(), np.abs(c).max(), np.finfo(float).tiny)


def assert_optimal(H, c, w, tolerance=1e-12):
    """Feasible, and the KKT conditions hold relative to the data."""
    assert np.all(w >= 0.0)
    assert abs(w.sum() - 1.0) <= 4e-15
    gradient = 2.0 * (H @ w - c)
    level = gradient @ w
    allowed = tolerance * magnitude(H, c)
    assert np.abs(gradient[w > 0.0] - level).max() <= allowed
    assert gradient.min() >= level - allowed


def solve(H, c, start=None):
    return simplex_quadratic(H, c, np.zeros(c.size) if start is None else start)


def assert_as_good_as_enumeration(H, c, start):
    w = solve(H, c, start)
    assert_optimal(H, c, w)
    best = naive.simplex_quadratic(H, c)
    gap = naive.quadratic(H, c, w) - naive.quadratic(H, c, best)
    assert abs(gap) <= 1e-10 * magnitude(H, c)


@examples
@given(seeds, sizes, st.integers(1, 9), starts)
def test_equals_enumeration(seed, size, rows, kind):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, size))
    start = start_of(kind, size, rng)
    assert_as_good_as_enumeration(A.T @ A, A.T @ rng.standard_normal(rows), start)


@examples
@given(seeds, sizes, st.integers(1, 4), starts)
def test_equals_enumeration_on_degenerate_data(seed, size, rows, kind):
    """Small integers: ties, duplicates, zero columns, and c outside the range of H."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-1, 2, (rows, size)).astype(float)
    c = rng.integers(-2, 3, size).astype(float)
    assert_as_good_as_enumeration(A.T @ A, c, start_of(kind, size, rng))


@examples
@given(seeds, st.integers(2, 7), starts)
def test_equals_enumeration_on_uneven_columns(seed, size, kind):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((8, size)) * 10.0 ** rng.integers(-3, 4, size)
    start = start_of(kind, size, rng)
    assert_as_good_as_enumeration(A.T @ A, A.T @ rng.standard_normal(8), start)


@pytest.mark.parametrize(("size", "rows"), [(50, 200), (50, 20), (300, 600), (300, 100)])
def test_equals_clarabel(size, rows):
    A, target, H, c = sparse_problem(rows, size, seed=size + rows)
    w = solve(H, c)
    assert_optimal(H, c, w)
    x = cp.Variable(size)
    loss = cp.sum_squares(A @ x - target)
    cp.Problem(cp.Minimize(loss), [x >= 0, cp.sum(x) == 1]).solve(solver=cp.CLARABEL)
    other = np.maximum(x.value, 0.0)
    gap = naive.quadratic(H, c, w) - naive.quadratic(H, c, other / other.sum())
    assert -1e-7 <= gap / (target @ target) <= 1e-9


@pytest.mark.parametrize("kind", ["cold", "uniform", "vertex", "random"])
def test_singular_matrices(kind):
    rng = np.random.default_rng(5)
    A = rng.standard_normal((40, 20))
    doubled = np.hstack([A, A, np.zeros((40, 3)), A])
    flat = rng.standard_normal((3, 60))
    for columns in (doubled, flat, np.ones((4, 30)), np.zeros((4, 30))):
        H = columns.T @ columns
        size = len(H)
        consistent = columns.T @ rng.standard_normal(len(columns))
        for c in (consistent, rng.standard_normal(size), np.zeros(size)):
            w = solve(H, c, start_of(kind, size, rng))
            assert_optimal(H, c, w)


@pytest.mark.parametrize("outlier", [1e3, 1e6, 1e10])
def test_long_columns_do_not_spoil_short_ones(outlier):
    A, target, _, _ = sparse_problem(200, 60, seed=3)
    A[:, 30:] *= outlier
    H, c = A.T @ A, A.T @ target
    for kind in ("cold", "uniform"):
        w = solve(H, c, start_of(kind, 60, None))
        slack = (H @ w - c - w @ (H @ w - c)) / np.sqrt(np.diag(H))
        assert slack.min() > -1e-12 * np.linalg.norm(target)


@pytest.mark.parametrize("spread", [1e-3, 1e-6, 1e-7, 1e-8, 1e-12])
@pytest.mark.parametrize("kind", ["cold", "uniform", "random"])
def test_nearly_dependent_columns(spread, kind):
    rng = np.random.default_rng(6)
    base = rng.standard_normal((50, 20))
    A = np.repeat(base, 6, axis=1) + spread * rng.standard_normal((50, 120))
    target = base[:, :4].mean(axis=1) + 0.1 * rng.standard_normal(50)
    H, c = A.T @ A, A.T @ target
    w = solve(H, c, start_of(kind, 120, rng))
    assert_optimal(H, c, w)


@examples
@given(seeds, st.integers(1, 40), st.integers(1, 40))
def test_the_path_ends_where_scipy_does(seed, size, rows):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, size))
    A[:, rng.random(size) < 0.1] = 0.0
    target = rng.standard_normal(rows)
    w, _ = climb(A.T @ A, A.T @ target, 0.0, np.zeros(size), size, 0.0)
    loss = np.linalg.norm(A @ w - target)
    assert abs(loss - nnls(A, target)[1]) <= 1e-7 * np.linalg.norm(
        target
    )  # a Gram matrix keeps half the digits
    assert np.all(w >= 0.0)


@pytest.mark.parametrize("limit", [0, 1, 5, 12])
def test_the_path_stops_at_the_limit(limit):
    A, target, H, c = sparse_problem(300, 100, seed=11)
    w, entered = climb(H, c, 0.0, np.zeros(100), limit, 0.0)
    order = np.flatnonzero(w)
    assert order.size == limit <= entered
    if limit > 0:
        best, _ = nnls(A[:, order], target)
        np.testing.assert_allclose(w[order], best, rtol=0.0, atol=1e-12)


@examples
@given(seeds, st.integers(2, 30))
def test_append_and_remove_keep_the_factor(seed, size):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((size + 5, size))
    H = A.T @ A
    factor, passive = np.full((size, size), np.nan), np.empty(size, np.int64)
    count = 0
    for unit in rng.permutation(size):
        count = append(H, 2.0, np.diag(H), factor, passive, count, np.array([unit]))
        if rng.random() < 0.4:
            count = remove(factor, passive, count, rng.integers(count))
    L = np.tril(factor[:count, :count])
    expected = H[np.ix_(passive[:count], passive[:count])] + 2.0
    np.testing.assert_allclose(L @ L.T, expected, atol=1e-11)


def slow_step(H, r, total):
    """argmin x'Hx / 2 - r'x over 1'x = total, or over all x where that is None, by its KKT system."""
    if total is None:
        return np.linalg.solve(H, r)
    border = np.ones((len(r), 1))
    K = np.block([[H, border], [border.T, np.zeros((1, 1))]])
    return np.linalg.solve(K, np.append(r, total))[:-1]


def slow_advance(x, longest, w, lo, hi):
    """The ratio test in NumPy: the weights, the position that meets its bound and how far."""
    end = w + longest * x
    out = np.flatnonzero(~((lo < end) & (end < hi)))
    if not len(out):
        return np.clip(end, lo, hi), -1, longest
    wall = np.where(end[out] <= lo[out], lo[out], hi[out])
    ratio = np.maximum((wall - w[out]) / x[out], 0.0)
    first = int(np.argmin(ratio))
    after = np.clip(w + ratio[first] * x, lo, hi)
    after[out[first]] = wall[first]
    return after, int(out[first]), ratio[first]


@examples
@given(seeds, st.integers(1, 12), st.booleans(), st.sampled_from([0.01, 0.3, 1.0]))
def test_a_step_within_bounds_is_that_of_numpy(seed, size, summed, longest):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((size + 5, size))
    H, sigma = A.T @ A, 2.0 if summed else 0.0
    factor, passive = np.empty((size, size)), np.empty(size, np.int64)
    chosen = rng.permutation(size)[: rng.integers(1, size + 1)]
    count = append(H, sigma, np.diag(H), factor, passive, 0, chosen)
    assert count == len(chosen)
    lo, hi = np.zeros(size), np.full(size, 2.0 if seed % 2 else 0.7)
    w, r = rng.dirichlet(np.ones(size)) * 0.7, 10.0 * rng.standard_normal(count)
    total = rng.normal() if summed else None
    x = slow_step(H[np.ix_(chosen, chosen)], r, total)
    expected, position, length = slow_advance(x, longest, w[chosen], lo[chosen], hi[chosen])
    rest = np.setdiff1d(np.arange(size), chosen)
    before, moved = w.copy(), r.copy()
    found = advance(factor, passive[:count], sigma, total or 0.0, moved, longest, w, lo, hi)
    np.testing.assert_allclose(moved, x, atol=1e-9)
    assert found[0] == position
    assert found[1] == pytest.approx(length, abs=1e-9)
    np.testing.assert_allclose(w[chosen], expected, atol=1e-9)
    np.testing.assert_array_equal(w[rest], before[rest])
    assert position < 0 or w[chosen[position]] in (lo[0], hi[0])  # exactly at its bound
    assert np.all((w >= lo) & (w <= hi))


@examples
@given(seeds, st.integers(1, 12))
def test_the_steepest_unit_is_that_of_numpy(seed, size):
    rng = np.random.default_rng(seed)
    slope, error = (
        np.round(rng.standard_normal(size), 1),
        np.round(rng.random(size), 1),
    )  # ties are frequent
    lo, hi = np.zeros(size), np.ones(size)
    w, tried = rng.choice([0.0, 0.5, 1.0], size), rng.random(size) < 0.3
    able = np.where(slope > 0.0, w < hi, w > lo) & (np.abs(slope) > error) & ~tried
    gains = np.where(able, np.abs(slope), 0.0)
    assert steepest(slope, error, w, lo, hi, tried) == (int(np.argmax(gains)) if able.any() else -1)
