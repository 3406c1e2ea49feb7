"""What a round of a relaxation is made of: projections, and choices of units, against slow twins and enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import naive_proof as naive
from fewer._compiled import certificate, dnn_admm
from fewer.search.fits import vertex


def nearest(point, found, others):
    """Whether `found` is the projection of `point` onto a convex set that holds `others`."""
    assert ((point - found) @ (others - found).T <= 1e-9 * (1.0 + np.abs(point).max()) ** 2).all()


@pytest.mark.parametrize("shift", [-9.0, -2.0, 0.0, 2.0, 9.0])
def test_the_nearest_semidefinite_matrix_on_the_face(shift):
    """Whether few of the eigenvalues are negative, or most, and in both precisions."""
    rng = np.random.default_rng(0)
    for m in (1, 2, 5, 12):
        T = rng.normal(size=(m + 1, m + 1)) + 0.5 * shift * np.eye(m + 1)
        T += T.T
        expected = naive.psd_on_face(T, np.append(-1 / np.sqrt(0.3), np.ones(m)))
        for single, error in ((False, 1e-12), (True, 1e-5)):
            assert dnn_admm.psd_on_face(T.copy(), dnn_admm.mirror(0.3, m), single) == pytest.approx(
                expected, abs=error
            )


def test_the_nearest_weight_square_and_indicator():
    rng = np.random.default_rng(4)
    norm = np.array([1.0, np.sqrt(2.0), 1.0])
    for point in rng.normal(size=(300, 3)):
        low, high = rng.choice([0.0, 0.3, 0.9]), rng.choice([0.9, 1.5])
        found = np.array(dnn_admm.project_perspective_cone(*point, low, high))
        t = rng.uniform(low, high, 50)
        rays = 3.0 * rng.random((50, 1)) * np.column_stack([t**2, t, np.ones(50)])
        nearest(
            point * norm,
            found * norm,
            np.vstack([rays, [low**2, low, 1.0], [high**2, high, 1.0]]) * norm,
        )
        x, q, z = found
        assert min(found) >= 0.0
        assert x * z >= q * q - 1e-9
        assert x <= (low + high) * q - low * high * z + 1e-9


def test_the_nearest_indicators_with_capped_sums():
    rng = np.random.default_rng(2)
    for _ in range(50):
        v, inside = rng.normal(size=8), rng.random(8) < 0.2
        group, left, more = rng.integers(0, 3, 8), rng.integers(0, 3, 3), int(rng.integers(0, 4))
        found = dnn_admm.capped(v, dnn_admm.Places(inside, more, group, left), 0.7)
        assert (found[inside] == 0.7).all()
        free = ~inside
        supports = rng.random((4000, 8)) * (rng.random((4000, 8)) < 0.5) * 0.7 * free
        sums = np.array([np.bincount(group, row, 3) for row in np.vstack([supports, found * free])])
        fits = (sums <= left * 0.7 + 1e-11).all(1) & (sums.sum(1) <= more * 0.7 + 1e-11)
        assert fits[-1]
        nearest(v * free, found * free, supports[fits[:-1]])


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_the_vertex_of_the_least_slope_is_that_of_a_linear_programme(seed, size):
    rng = np.random.default_rng(seed)
    slopes, lower = rng.normal(size=size), rng.choice([0.0, 0.05, 0.1], size)
    upper = np.maximum(lower, rng.choice([0.3, 0.5, 1.0], size))
    if upper.sum() < 1:
        return
    w = vertex(slopes, lower, upper)
    best = linprog(
        slopes, A_eq=np.ones((1, size)), b_eq=[1.0], bounds=np.column_stack([lower, upper])
    )
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert (w >= lower).all()
    assert (w <= upper + 1e-12).all()
    assert slopes @ w == pytest.approx(best.fun, abs=1e-9)


def test_the_largest_gain_by_enumeration():
    rng = np.random.default_rng(3)
    for _ in range(100):
        gains, inside = rng.normal(size=7), rng.random(7) < 0.2
        group, left, more = rng.integers(0, 3, 7), rng.integers(0, 3, 3), int(rng.integers(0, 4))
        chosen = certificate.choose(gains, dnn_admm.Places(inside, more, group, left))
        expected = naive.largest_gain(gains, inside, more, group, left)
        assert gains[chosen].sum() == pytest.approx(expected, abs=1e-12)
