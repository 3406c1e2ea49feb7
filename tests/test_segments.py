"""The best k jumps of a cumulative distribution, against enumeration of supports and general least squares."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewer import Atoms, Moments
from fewer.objectives import cumulative
from fewer.objectives.cumulative import Cumulative


def last_answer(F, k):
    """The last of the distributions that the search shows, and its bounds."""
    answers, bounds = [], []
    for p, bound in F.solved(k):
        answers += [] if p is None else [p]
        bounds += [] if bound is None else [bound]
    return answers, [*bounds, F.value(answers[-1])]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_jumps_are_the_best_support(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    k = int(rng.integers(1, n + 1))
    p = rng.dirichlet(np.full(n, 0.4)) * (rng.random(n) < 0.8)
    p = p / p.sum() if p.sum() > 0 else np.full(n, 1 / n)
    F = Cumulative(Atoms(n), p)
    naive = Moments(Atoms(n), np.tril(np.ones((n, n))), np.cumsum(p))
    best = min(naive.value_on(np.array(c)) for c in combinations(range(n), k))
    answers, bounds = last_answer(F, k)
    for answer in answers:
        assert np.count_nonzero(answer) <= k
        assert answer.sum() == pytest.approx(1.0, abs=1e-12)
        assert F.value(answer) >= best - 1e-12
    assert F.value(answers[-1]) == pytest.approx(best, abs=1e-12)
    assert bounds == [0.0, F.value(answers[-1])]


def test_pauses_change_nothing(monkeypatch):
    F = Cumulative(Atoms(200), np.random.default_rng(1).dirichlet(np.ones(200)))
    whole = last_answer(F, 7)[0][-1]
    monkeypatch.setattr(cumulative, "WORK", 1)
    assert np.array_equal(last_answer(F, 7)[0][-1], whole)


def test_the_quick_start_is_nearly_best():
    q = np.random.default_rng(2).random(2000)
    F = Cumulative(Atoms(2000), q / q.sum())
    answers, _ = last_answer(F, 20)
    assert F.value(answers[-1]) <= F.value(answers[0]) <= 1.1 * F.value(answers[-1])
