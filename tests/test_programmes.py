"""Convex programmes of a few weights: what is done where a library gives up."""

import numpy as np
import pytest
import scipy.optimize

from fewer.programmes import nonnegative_least_squares


@pytest.mark.parametrize("ends", [True, False])
def test_nonnegative_least_squares_answer_even_where_scipys_active_set_does_not_end(ends, monkeypatch):
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
