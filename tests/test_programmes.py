"""Convex programmes of a few weights: what is done where a library gives up."""

import numpy as np
import pytest
import scipy.optimize

from fewer.programmes import least_absolute, nonnegative_least_squares


@pytest.mark.parametrize("ends", [True, False])
def test_nonnegative_least_squares_answer_even_where_scipys_active_set_does_not_end(
    ends, monkeypatch
):
    def endless(A, b, maxiter=None):
        raise RuntimeError("Maximum number of iterations reached.")

    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 12)), rng.standard_normal(30)
    A[:, 4] = 0.0
    if not ends:
        monkeypatch.setattr(scipy.optimize, "nnls", endless)
    q = nonnegative_least_squares(A, b)
    slopes = A.T @ (A @ q - b)
    assert (q >= 0.0).all()
    assert q[4] == 0.0
    assert (slopes >= -1e-6).all()  # the conditions of optimality
    assert abs(slopes @ q) <= 1e-6


def drawn(rng):
    """A small problem of least absolute errors, half of them of small whole numbers.

    Conditions may not be feasible.
    """
    s, whole = int(rng.integers(1, 7)), rng.random() < 0.5
    r, m = int(rng.integers(s, 20)), int(rng.integers(0, 4))
    numbers = (
        (lambda *shape: rng.integers(-2, 3, shape) / 2.0)
        if whole
        else (lambda *shape: rng.standard_normal(shape))
    )
    A, b, rows = numbers(r, s), numbers(r), numbers(m, s)
    if rng.random() < 0.3:
        A = A[:, rng.integers(0, s, s)]
    low = np.full(s, rng.choice([0.0, 0.5 / s, 1.0 / s]))
    high = np.full(s, max(rng.choice([1.0, 0.5, 0.3]), 1.0 / s))
    right = rows @ rng.dirichlet(np.ones(s)) + rng.choice([0.0, 0.1, -0.1], m)
    return A, b, rng.integers(1, 4, r).astype(float), 0.0, low, high, rows, right


def test_least_absolute_errors_are_those_of_a_linear_programme():
    rng, served = np.random.default_rng(0), 0
    for _ in range(300):
        A, b, weights, _, low, high, rows, right = problem = drawn(rng)
        (r, s), eye = A.shape, np.eye(len(A))
        twin = scipy.optimize.linprog(
            np.append(np.zeros(s), np.append(weights, weights)),
            np.hstack([rows, np.zeros((len(rows), 2 * r))]) if len(rows) else None,
            right if len(rows) else None,
            np.vstack([np.hstack([A, -eye, eye]), np.append(np.ones(s), np.zeros(2 * r))]),
            np.append(b, 1.0),
            [*zip(low, high, strict=True), *[(0.0, None)] * (2 * r)],
        )
        found = least_absolute(*problem)
        if found is None:
            assert twin.status != 0
            continue
        served += 1
        (w, multipliers), signs = found
        assert weights @ np.abs(A @ w - b) == pytest.approx(twin.fun, abs=1e-8)
        assert (w >= low).all()
        assert (w <= high).all()
        assert (rows @ w <= right + 1e-8).all()
        slopes = A.T @ signs + rows.T @ multipliers
        corner = scipy.optimize.linprog(
            slopes, A_eq=np.ones((1, s)), b_eq=[1.0], bounds=[*zip(low, high, strict=True)]
        )
        assert corner.fun - signs @ b - multipliers @ right == pytest.approx(
            twin.fun, abs=1e-8
        )  # the proof
        assert (np.abs(signs) <= weights).all()
        assert (multipliers >= 0.0).all()
    assert served > 150
