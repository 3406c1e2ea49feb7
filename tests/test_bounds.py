"""SparseSimplex with bounds: its projection against enumeration with cvxpy, and what it refuses."""

from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewer import Atoms, InvalidInput, SparseSimplex
from fewer.constraints.sparse_simplex import project_box


def by_cvxpy(v, low, high):
    q = cp.Variable(v.size)
    cp.Problem(cp.Minimize(cp.sum_squares(q - v)), [q >= low, q <= high, cp.sum(q) == 1]).solve(
        solver=cp.CLARABEL
    )
    return q.value


@pytest.mark.parametrize("seed", range(30))
def test_box_projection_equals_cvxpy(seed):
    rng = np.random.default_rng(seed)
    s = int(rng.integers(1, 9))
    low = rng.uniform(0, 1 / s, s) * rng.integers(0, 2)
    high = low + rng.uniform(1 / s, 1, s)
    v = rng.standard_normal(s) * rng.choice([0.1, 1, 10])
    q = project_box(v, low, high)
    assert abs(q.sum() - 1) <= 1e-12
    assert (q >= low).all()
    assert (q <= high).all()
    assert np.allclose(q, by_cvxpy(v, low, high), atol=1e-5)
    assert ((q - v) ** 2).sum() <= ((by_cvxpy(v, low, high) - v) ** 2).sum() + 1e-6 * (1 + v @ v)


def supports(C):
    """Every set of entries that may be held together."""
    for size in range(1, C.k + 1):
        for S in combinations(range(C.space.size), size):
            groups = (
                C.groups is None
                or (
                    np.bincount(C.groups[list(S)], minlength=len(C.labels)) <= C.max_per_group
                ).all()
            )
            if set(C.include) <= set(S) and not set(C.exclude) & set(S) and groups:
                yield np.array(S)


def by_enumeration(C, v):
    best = np.inf
    for S in supports(C):
        low = np.full(S.size, C.min_weight)
        if S.size * C.min_weight <= 1 and S.size * C.max_weight >= 1:
            q = project_box(v[S], low, np.full(S.size, C.max_weight))
            best = min(best, ((q - v[S]) ** 2).sum() + (np.delete(v, S) ** 2).sum())
    return best


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_bounded_projection_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    k = int(rng.integers(1, n + 1))
    options = {}
    if rng.random() < 0.5:
        options["min_weight"] = float(rng.uniform(0, 0.4))
    if rng.random() < 0.5:
        options["max_weight"] = float(rng.uniform(0.3, 1.0))
    shuffled = rng.permutation(n)
    if rng.random() < 0.4:
        options["include"] = shuffled[: rng.integers(0, k + 1)]
    if rng.random() < 0.4:
        options["exclude"] = shuffled[k : k + 1]
    if rng.random() < 0.5:
        options |= {"groups": rng.integers(0, 3, n), "max_per_group": int(rng.integers(1, 3))}
    try:
        C = SparseSimplex(Atoms(n), k, **options)
    except InvalidInput:
        return
    v = rng.standard_normal(n) * rng.choice([0.2, 1.0])
    p = C.project(v)
    assert C.contains(p, 1e-12)
    assert ((p - v) ** 2).sum() == pytest.approx(by_enumeration(C, v), abs=1e-9)
    assert np.allclose(C.project(p), p, atol=1e-9)


BAD = [
    ({"include": [0, 1, 2, 3]}, "cannot hold together: k = 3 and include"),
    ({"include": [1], "exclude": [1]}, r"include and exclude must not overlap, both hold \[1\]"),
    (
        {"max_weight": 0.3},
        "these conditions cannot hold together: k = 3 and max_weight = 0.3",
    ),
    (
        {"min_weight": 0.4, "include": [0, 1, 2]},
        "cannot hold together: min_weight = 0.4 and include",
    ),
    (
        {"min_weight": 0.6, "max_weight": 0.5},
        "cannot hold together: max_weight = 0.5 and min_weight = 0.6",
    ),
    (
        {"min_weight": 0.45, "max_weight": 0.48},
        "cannot hold together: max_weight = 0.48 and min_weight = 0.45",
    ),
    ({"min_weight": -0.1}, "min_weight must be at least 0, got -0.1"),
    ({"max_weight": 0.0}, "max_weight must be above 0, got 0"),
    ({"include": [9]}, r"include must be in 0\.\.5 \(entries\), got 9\.\.9"),
    ({"groups": [0, 0, 1, 1, 2, 2]}, "groups and max_per_group go together"),
    (
        {"groups": [0, 1], "max_per_group": 1},
        r"groups must have shape \(6,\), one label for each entry, got \(2,\)",
    ),
    (
        {"groups": [0] * 6, "max_per_group": 1, "include": [0, 1]},
        "cannot hold together: include and max_per_group = 1 of group 0",
    ),
    (
        {"groups": [0] * 6, "max_per_group": 1, "max_weight": 0.5},
        "max_weight = 0.5 and max_per_group = 1 of",
    ),
    ({"min_per_group": 1}, "groups and min_per_group go together"),
    (
        {"groups": list("aabbcc"), "min_per_group": 2},
        (
            "cannot hold together: k = 3, min_per_group = 2 of group 'b' and min_per_group = 2 of"
            " group 'c'"
        ),
    ),
    (
        {"groups": list("aabbcc"), "min_per_group": {"b": 2}, "max_per_group": {"b": 1}},
        "cannot hold together: max_per_group = 1 of group 'b' and min_per_group = 2 of group 'b'",
    ),
    (
        {"groups": list("aabbcc"), "min_per_group": {"c": 2}, "exclude": [5]},
        "cannot hold together: exclude and min_per_group = 2 of group 'c'",
    ),
    (
        {"groups": list("aabbcc"), "min_per_group": {"d": 1}},
        "min_per_group: there is no group 'd'; the groups are 'a'",
    ),
    (
        {"groups": list("aabbcc"), "max_per_group": [1, 2]},
        "one number for each of the 3 groups, got 2 numbers",
    ),
    (
        {"groups": list("aabbcc"), "max_per_group": {"a": 0.5}},
        "max_per_group of group 'a' must be an integer",
    ),
    (
        {"groups": list("aabbcc"), "min_per_group": {"a": 2, "b": 1}, "include": [4]},
        "cannot hold together: k = 3, include, min_per_group = 2 of group 'a' and min",
    ),
]


@pytest.mark.parametrize(("options", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bounds_that_cannot_be_met_get_a_sentence(options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        SparseSimplex(Atoms(6), 3, **options)


def test_membership_sees_every_bound():
    C = SparseSimplex(
        Atoms(5), 3, 0.2, 0.6, include=[0], exclude=[4], groups=[0, 0, 0, 1, 1], max_per_group=2
    )
    assert C.contains([0.4, 0.6, 0, 0, 0])
    assert not C.contains([0.3, 0.7, 0, 0, 0])  # above max_weight
    assert not C.contains([0.9, 0.1, 0, 0, 0])  # below min_weight
    assert not C.contains([0, 0.5, 0, 0.5, 0])  # 0 is not held
    assert not C.contains([0.5, 0, 0, 0, 0.5])  # 4 is held
    assert not C.contains([0.4, 0.3, 0.3, 0, 0])  # three of a group
