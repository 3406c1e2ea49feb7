"""The best k jumps of a cumulative distribution, against enumeration of supports and general least squares."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewer import Atoms, Moments
from fewer._jit.segments import best_jumps, prefix_sums, spread_of, step_weights


def value(P, jumps, weights):
    q = np.zeros(P.size)
    np.add.at(q, jumps, weights)
    return ((np.cumsum(q) - P) ** 2).sum()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_jumps_are_the_best_support(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    k = int(rng.integers(1, n + 1))
    p = rng.dirichlet(np.full(n, 0.4)) * (rng.random(n) < 0.8)
    p = p / p.sum() if p.sum() > 0 else np.full(n, 1 / n)
    P = np.cumsum(p)
    jumps = best_jumps(P, k)
    F = Moments(Atoms(n), np.tril(np.ones((n, n))), P)
    best = min(F.value_on(np.array(c)) for c in combinations(range(n), k))
    assert (np.diff(jumps) > 0).all()
    assert value(P, jumps, step_weights(P, jumps)) == pytest.approx(best, abs=1e-12)


def test_many_bins_beat_every_single_move_of_a_jump():
    rng = np.random.default_rng(0)
    P = np.cumsum(rng.dirichlet(np.full(400, 0.3)))
    jumps = best_jumps(P, 12)
    best = value(P, jumps, step_weights(P, jumps))
    for j in range(12):
        for to in range(400):
            moved = np.unique(np.append(np.delete(jumps, j), to))
            assert value(P, moved, step_weights(P, moved)) >= best - 1e-12


def test_spread_equals_its_definition():
    P = np.sort(np.random.default_rng(1).random(30))
    first, second = prefix_sums(P)
    for start, stop in [(0, 1), (0, 30), (3, 17), (28, 30), (5, 5)]:
        part = P[start:stop]
        expected = ((part - part.mean()) ** 2).sum() if part.size else 0.0
        assert spread_of(first, second, start, stop) == pytest.approx(expected, abs=1e-13)
