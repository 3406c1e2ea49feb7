"""dims with columns that must, and columns that must not be held: against enumeration, solver by solver."""

import math
from itertools import combinations

import numpy as np
import pytest

from fewer import (
    InvalidInput,
    Status,
    coverage,
    dims,
)

SOLVERS = ("auto", "exact", "exchange", "greedy", "iht")


def loss(X, weights, columns, objective):
    """The objective of one support, straight from its definition."""
    states, inverse = np.unique(X, axis=0, return_inverse=True)
    q = np.bincount(inverse.reshape(-1), weights / weights.sum())
    inside = ~np.delete(states, columns, axis=1).any(axis=1)
    if objective == "kl":
        return -math.log(q[inside].sum()) if q[inside].sum() else math.inf
    size = math.prod(int(X[:, c].max()) + 1 for c in columns)
    return (q[~inside] ** 2).sum() + (1 - q[inside].sum()) ** 2 / size


def supports(n, k, include, exclude):
    free = [i for i in range(n) if i not in exclude and i not in include]
    count = min(k - len(include), len(free))
    return [sorted([*include, *chosen]) for chosen in combinations(free, count)]


def case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    X = rng.integers(0, 4, (30, n)) * (rng.random((30, n)) < 0.35)
    X[0] = 0
    columns = rng.permutation(n)
    k = int(rng.integers(1, n))
    include = columns[: rng.integers(0, k + 1)]
    exclude = columns[len(include) : len(include) + rng.integers(0, n - len(include))]
    return X, rng.dirichlet(np.ones(30)), k, sorted(include.tolist()), sorted(exclude.tolist())


@pytest.mark.parametrize("objective", ["kl", "l2"])
@pytest.mark.parametrize("seed", range(40))
def test_every_solver_keeps_to_it_and_proofs_are_those_of_enumeration(seed, objective):
    X, weights, k, include, exclude = case(seed)
    best = min(loss(X, weights, s, objective) for s in supports(X.shape[1], k, include, exclude))
    asked = {
        "include": include,
        "exclude": exclude,
        "objective": objective,
        "sample_weight": weights,
    }
    for solver in SOLVERS:
        result = dims(X, k, solver=solver, rng=seed, **asked)
        held = result.indices.tolist()
        assert set(include) <= set(held)
        assert not set(exclude) & set(held)
        assert len(held) <= k
        assert result.value == pytest.approx(loss(X, weights, held, objective), abs=1e-12)
        assert result.value >= best - 1e-12
        assert result.bound is None or result.bound <= best + 1e-9
        if solver in ("auto", "exact"):
            assert result.status is Status.OPTIMAL
            assert result.value == pytest.approx(best, abs=1e-10)
            assert result.bound == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("objective", ["kl", "l2"])
@pytest.mark.parametrize("seed", range(4))
def test_branch_and_bound_equals_enumeration(seed, objective):
    """Past 22 columns the proof is branch and bound."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (80, 30)) * (rng.random((80, 30)) < 0.06)
    weights = np.ones(80)
    result = dims(X, 4, objective=objective, include=[3, 7], exclude=[0, 1, 12], rng=seed)
    every = supports(30, 4, [3, 7], [0, 1, 12])
    assert result.value == pytest.approx(
        min(loss(X, weights, s, objective) for s in every), abs=1e-12
    )
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("objective", ["kl", "l2"])
def test_nothing_left_to_choose_is_proven(objective):
    X, weights, *_ = case(5)
    n = X.shape[1]
    asked = dims(X, 2, objective=objective, sample_weight=weights, include=[0, 2])
    assert asked.indices.tolist() == [0, 2]
    assert (
        asked.value == asked.bound == pytest.approx(loss(X, weights, [0, 2], objective), abs=1e-12)
    )
    left = dims(X, n, objective=objective, sample_weight=weights, exclude=[0])
    assert left.indices.tolist() == list(range(1, n))
    assert left.status is Status.OPTIMAL


def test_rows_that_none_of_the_columns_can_cover():
    X = np.array([[1, 1, 0, 3], [1, 0, 1, 0], [1, 1, 1, 0]])
    lost = dims(X, 2, exclude=[0])
    assert lost.value == lost.bound == math.inf
    assert lost.status is Status.OPTIMAL
    squared = dims(X, 2, objective="l2", exclude=[0])
    assert squared.indices.tolist() == [1, 3]
    assert squared.value == pytest.approx(1 / 3 + 1 / 8)
    assert dims(X, 1, include=[0]).value == math.inf


def test_what_cannot_be_asked_for():
    X = np.eye(4, dtype=int)
    for words, asked in {
        r"must not overlap, both hold \[1\]": {"include": [1], "exclude": [1, 2]},
        "include must hold at most k = 2 columns, got 3": {"include": [0, 1, 2]},
        "exclude must leave a column": {"exclude": range(4)},
        r"include must be in 0\.\.3": {"include": [4]},
    }.items():
        with pytest.raises(InvalidInput, match=words):
            dims(X, 2, **asked)


FEW = np.zeros((12, 3), int)
FEW[[0, 2, 4, 9, 9], [0, 2, 2, 1, 2]] = 1
UNEVEN = [0.355407, 0.827581, 0.062302, 0.483135, 0.17191, 0.070982]
UNEVEN += [0.301659, 0.65475, 0.95324, 1.0, 0.482827, 0.522975]
TWOS, ONES = np.zeros((10, 3), int), np.zeros((10, 3), int)
TWOS[[1, 2, 6], 1], TWOS[3, 2], TWOS[5, 1:] = 2, 2, 1
ONES[[0, 1, 3, 5, 7], [0, 0, 0, 1, 1]] = 1


@pytest.mark.parametrize(
    ("X", "k", "options"),
    [
        (FEW, 1, {"sample_weight": UNEVEN}),
        (TWOS, 3, {"include": [1]}),
        (ONES, None, {"costs": [2.0, 3.0, 2.0], "budget": 7.0}),
    ],
)
def test_the_value_is_that_of_the_columns_and_not_of_an_iterate_on_them(X, k, options):
    for seed in range(4):
        result = dims(X, k, solver="iht", rng=seed, **options)
        share = coverage(X, result.indices, sample_weight=options.get("sample_weight"))
        assert result.value == pytest.approx(-math.log(share), rel=1e-12, abs=1e-12)
        assert result.value >= 0.0
        assert result.history.min() == pytest.approx(result.value, abs=1e-12)


def test_where_no_row_can_be_covered_the_bound_is_that_of_the_budget():
    X = [[1, 2, 0, 0], [1, 2, 1, 0], [1, 0, 0, 0], [1, 0, 0, 3], [1, 0, 0, 0]]
    result = dims(X, objective="l2", exclude=[0], costs=[1.0] * 4, budget=2)
    assert result.bound == pytest.approx(result.value, rel=1e-6)
