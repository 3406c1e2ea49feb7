"""At least and at most so many of each group, against enumeration: sets, projections, every solver, and proofs."""

from itertools import combinations

import numpy as np
import pytest

from fewer import Atoms, InvalidInput, Moments, SparseSimplex, Status, minimize
from fewer.active_set import box_weights

SEEDS = range(24)


def refit(A, b, low, high):
    s = A.shape[1]
    w = box_weights(A.T @ A, A.T @ b, low, high, np.full(s, 1.0 / s))
    return float(np.square(A @ w - b).sum())


def supports(n, k, rules, groups, fewest, most):
    """Every support the rules allow, one by one."""
    for size in range(1, k + 1):
        if size * rules["min_weight"] > 1 + 1e-12 or size * rules["max_weight"] < 1 - 1e-12:
            continue
        for S in combinations(range(n), size):
            used = np.bincount(groups[list(S)], minlength=len(fewest))
            fits = set(rules["include"]) <= set(S) and not set(rules["exclude"]) & set(S)
            if fits and (used >= fewest).all() and (used <= most).all():
                yield list(S)


def drawn(seed):
    """A small problem: columns, target, and what is asked of the groups."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 9)), int(rng.integers(2, 5))
    groups = np.unique(rng.integers(0, 3, n), return_inverse=True)[1]
    fewest = rng.integers(0, 3, groups.max() + 1)
    most = fewest + rng.integers(0, 3, groups.max() + 1)
    order = rng.permutation(n).tolist()
    rules = {
        "min_weight": float(rng.choice([0.0, 0.0, 0.1, 0.2])),
        "max_weight": float(rng.choice([1.0, 1.0, 0.6])),
        "include": order[: rng.integers(0, 2)],
        "exclude": order[n - 1 :] if seed % 3 == 0 else [],
    }
    A = rng.standard_normal((int(rng.integers(2, 8)), n))
    A = np.round(A) if seed % 4 == 0 else A
    return A, rng.standard_normal(len(A)), k, rules, groups, fewest, most


@pytest.mark.parametrize("seed", SEEDS)
def test_every_solver_keeps_the_counts_and_exact_proves_the_optimum(seed):
    A, b, k, rules, groups, fewest, most = drawn(seed)
    n, counts = (
        A.shape[1],
        {"max_per_group": most.tolist(), "min_per_group": dict(enumerate(fewest.tolist()))},
    )
    allowed = list(supports(n, k, rules, groups, fewest, most))
    if not allowed:
        with pytest.raises(InvalidInput):
            SparseSimplex(Atoms(n), k, **rules, groups=groups, **counts)
        return
    C, F = SparseSimplex(Atoms(n), k, **rules, groups=groups, **counts), Moments(Atoms(n), A, b)
    bounds = rules["min_weight"], rules["max_weight"]
    best = min(refit(A[:, S], b, *bounds) for S in allowed)
    for solver in ("exact", "exchange", "greedy", "iht", "frank_wolfe"):
        found = minimize(F, C, solver, rng=seed)
        used = np.bincount(groups[found.support], minlength=len(fewest))
        assert C.contains(found.p), solver
        assert (used >= fewest).all(), solver
        assert (used <= most).all(), solver
        assert found.value >= best - 1e-9 * F.scale
        if solver == "exact":
            assert found.status is Status.OPTIMAL
            assert found.value == pytest.approx(best, rel=1e-6, abs=1e-9 * F.scale)
        assert found.bound is None or found.bound <= best + 1e-9 * F.scale
    v = np.random.default_rng(seed).standard_normal(n)
    nearest = min(refit(np.eye(n)[:, S], v, *bounds) for S in allowed)
    assert C.contains(C.project(v))
    assert np.square(C.project(v) - v).sum() == pytest.approx(nearest, abs=1e-9)


def test_a_group_may_be_held_at_mass_zero_and_takes_its_places():
    C = SparseSimplex(Atoms(4), 2, groups=[0, 0, 1, 1], min_per_group={1: 1})
    assert C.contains([1.0, 0.0, 0.0, 0.0])
    assert C.support(np.array([1.0, 0.0, 0.0, 0.0])).tolist() == [0, 2]
    assert not C.contains([0.5, 0.5, 0.0, 0.0])
    above = SparseSimplex(Atoms(4), 2, 0.1, groups=[0, 0, 1, 1], min_per_group={1: 1})
    assert not above.contains([1.0, 0.0, 0.0, 0.0])
    assert above.contains([0.9, 0.0, 0.1, 0.0])
