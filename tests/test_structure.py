"""Conditions on weights, losses and groups of entries, against enumeration and an outside solver."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from fewer import (
    AbsoluteError,
    Atoms,
    Conditions,
    DownsideError,
    FewerTerms,
    GroupSparse,
    InvalidInput,
    Moments,
    SparseSimplex,
    Status,
    minimize,
    terms,
)
from fewer.constraints.feasibility import feasible_member
from soak.structure import LOSSES, best_by_enumeration, drawn, nearest_groups

OBJECTIVES = {"squared": Moments, "absolute": AbsoluteError, "downside": DownsideError}


@pytest.mark.parametrize("seed", range(12))
def test_answers_under_conditions_are_feasible_bounded_and_exact_is_proven(seed):
    case = drawn(seed, LOSSES[seed % 3])
    best = best_by_enumeration(case)
    if not np.isfinite(best):
        with pytest.raises(InvalidInput):
            SparseSimplex(Atoms(case.n), case.k, **case.limits())
        return
    C = SparseSimplex(Atoms(case.n), case.k, **case.limits())
    F = OBJECTIVES[case.loss](Atoms(case.n), case.A, case.b, case.sample_weight)
    tol = 1e-7 * best + 2e-8
    for solver in ("exact", "exchange", "greedy"):
        found = minimize(F, C, solver, rng=seed)
        assert C.contains(found.p), solver
        assert case.violation(found.p) <= 1e-8, solver
        assert found.value >= best - tol, solver
        assert found.bound is None or found.bound <= best + tol, solver
        if solver == "exact":
            assert found.status is Status.OPTIMAL
            assert found.value <= best + tol


def test_terms_and_its_estimator_take_conditions_by_name():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((40, 6)), columns=list("abcdef"))
    y = X.to_numpy() @ [0.4, 0.3, 0.1, 0.1, 0.1, 0.0]
    groups = {"a": "tech", "b": "tech", "c": "oil", "d": "oil", "e": "bank", "f": "bank"}
    asked = {
        "groups": groups,
        "max_group_weight": {"tech": 0.3},
        "min_per_group": {"bank": 1},
        "min_weight": 0.05,
        "previous": {"a": 0.5, "e": 0.5},
        "max_turnover": 1.3,
        "constraints": (pd.DataFrame({"c": [1.0], "d": [1.0]}, index=["oil cap"]), [0.45]),
    }
    found = terms(X, y, 4, rng=0, solver="exact", **asked)
    p = found.p
    assert found.status is Status.OPTIMAL
    assert p[:2].sum() <= 0.3 + 1e-9
    assert p[2:4].sum() <= 0.45 + 1e-9
    assert (p[4:] > 0.0).any()
    assert np.abs(p - [0.5, 0, 0, 0, 0.5, 0]).sum() <= 1.3 + 1e-9
    fitted = FewerTerms(4, random_state=0, solver="exact", **asked).fit(X, y)
    assert fitted.coef_ == pytest.approx(p, abs=1e-9)
    again = terms(X, y, 4, rng=0, previous=found, max_turnover=0.0)
    assert again.p == pytest.approx(p, abs=1e-8)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"previous": [0.25] * 4}, "previous and max_turnover go together"),
        ({"max_turnover": 0.2}, "previous and max_turnover go together"),
        ({"constraints": (np.eye(3), [1, 1, 1])}, "G must have 4 columns"),
        ({"constraints": 3}, r"constraints must be two arrays, \(G, h\)"),
        ({"loss": "cubic"}, "loss must be one of 'absolute', 'downside', 'squared'"),
        (
            {"groups": list("aabb"), "max_group_weight": 0.4},
            "cannot hold together: max_group_weight = 0.4 of group 'a' and",
        ),
        (
            {"previous": [1, 0, 0, 0], "max_turnover": 0.4, "max_weight": 0.5},
            "these conditions cannot hold together: max_weight = 0.5 and max_turnover = 0.4",
        ),
        ({"validation": 0.3}, "'validation' is no option of terms"),
        ({"groups": list("aabb"), "min_group_weight": {"c": 0.1}}, "there is no group 'c'"),
        ({"min_group_weight": 0.1}, "groups and min_group_weight go together"),
    ],
)
def test_conditions_that_cannot_be_met_get_a_sentence(options, sentence):
    X, y = np.eye(4), [0.5, 0.3, 0.2, 0.0]
    with pytest.raises(InvalidInput, match=sentence):
        terms(X, y, 3, **options)


@pytest.mark.parametrize("seed", range(30))
def test_projection_onto_groups_is_the_nearest_of_all_choices(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 14))
    groups = np.unique(rng.integers(0, 6, n), return_inverse=True)[1]
    k, most = int(rng.integers(1, groups.max() + 2)), None if seed % 2 else int(rng.integers(1, 3))
    C, v = (
        GroupSparse(Atoms(n), groups, k, most),
        rng.standard_normal(n) * rng.choice([0.2, 1.0, 3.0]),
    )
    p = C.project(v)
    assert C.contains(p)
    assert np.square(p - v).sum() == pytest.approx(nearest_groups(v, groups, k, most), abs=1e-9)


def test_exact_over_groups_is_the_best_choice_of_groups():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A, b, groups = rng.standard_normal((6, 9)), rng.standard_normal(6), np.arange(9) % 4
        for most in (None, 1):
            F = Moments(Atoms(9), A, b)
            found = minimize(F, GroupSparse(F.space, groups, 2, most), "exact", rng=0)
            best = np.inf
            for S in combinations(range(4), 2):
                inside = [np.flatnonzero(groups == g) for g in S]
                picks = (
                    [np.concatenate(inside)]
                    if most is None
                    else [[i, j] for i in inside[0] for j in inside[1]]
                )
                best = min(best, *(F.value_on(np.sort(np.array(pick))) for pick in picks))
            assert found.status is Status.OPTIMAL
            assert found.value == pytest.approx(best, rel=1e-6)


def test_what_is_greedy_says_so():
    overlapping = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], bool)
    C = GroupSparse(Atoms(4), overlapping, 2)
    assert C.projection == "greedy"
    F = Moments(Atoms(4), np.eye(4), [0.4, 0.1, 0.1, 0.4])
    found = minimize(F, C, "iht", rng=0)
    assert "greedy for groups that overlap" in found.note
    assert minimize(F, C, "exact", rng=0).support.tolist() == [0, 2]
    assert GroupSparse(Atoms(101), np.arange(101), 3).projection == "greedy"
    assert C.support(np.array([0.0, 0.5, 0.5, 0.0])).tolist() == [1]
    with pytest.raises(InvalidInput, match="max_per_group needs groups that do not overlap"):
        GroupSparse(Atoms(4), overlapping, 2, 1)
    with pytest.raises(InvalidInput, match="a boolean matrix"):
        GroupSparse(Atoms(4), np.ones((2, 3)), 1)


def test_binding_conditions_are_named():
    C = Conditions([[1.0, 1.0, 0.0]], [0.5], [0.0, 0.0, 1.0], 1.0, ["first two"])
    assert C.binding(np.array([0.25, 0.25, 0.5])) == ["first two", "max_turnover = 1"]
    assert C.binding(np.array([0.1, 0.1, 0.8])) == []


def test_exact_over_overlapping_groups_ends():
    """The support of a relaxation may name groups that its branch has left out: branching goes on all the same."""
    inside = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 1], [0, 0, 1, 1, 0], [1, 0, 1, 0, 1]], bool)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        A, b = rng.standard_normal((4, 5)), rng.standard_normal(4)
        for F in (AbsoluteError(Atoms(5), A, b), Moments(Atoms(5), A, b)):
            found = minimize(F, GroupSparse(F.space, inside, 1), "exact", rng=0, budget=1e9)
            faces = [np.flatnonzero(row) for row in inside]
            best = min(
                minimize(
                    F, SparseSimplex(F.space, 5, exclude=np.setdiff1d(np.arange(5), S)), "exact"
                ).value
                for S in faces
            )
            assert found.status is Status.OPTIMAL
            assert found.value == pytest.approx(best, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_groups_solve_a_subset_sum(seed):
    """Theorem 1 for groups: ‖v_g‖² = a - c β_g leaves a parabola in Σ β_g, least at the sum asked for."""
    rng = np.random.default_rng(seed)
    numbers, k = rng.integers(1, 40, 9), 4
    asked = int(rng.choice(numbers, k, replace=False).sum())
    beta = 0.1 + 1e-4 * numbers
    c = (1.0 - (k * 0.1 + 1e-4 * asked)) / k
    squares = (c * beta + beta**2 / 2).max() - c * beta
    apart = np.sqrt(np.maximum(squares - beta**2 / 2, 0.0) / 2)
    v = np.column_stack([beta / 2 + apart, beta / 2 - apart]).ravel()
    groups = np.repeat(np.arange(9), 2)
    p = GroupSparse(Atoms(18), groups, k).project(v)
    assert np.count_nonzero(p) == 2 * k  # no entry is clipped
    assert int(numbers[np.unique(groups[np.flatnonzero(p)])].sum()) == asked


@pytest.mark.parametrize("seed", range(4))
def test_iht_with_exact_projections_onto_groups_converges_linearly(seed):
    """Theorem 4 for groups, phi = 0: ‖p' - p*‖ <= 2 ‖I - mu H‖ ‖p - p*‖, as for any set whose projection is exact."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(6), 3)
    A = np.eye(18) + 0.04 * rng.standard_normal((18, 18))
    C = GroupSparse(Atoms(18), groups, 2)
    best = C.project(rng.random(18))
    F = Moments(Atoms(18), A, A @ best)
    H = 2.0 * A.T @ A
    mu = 2.0 / (np.linalg.eigvalsh(H)[[0, -1]].sum())
    rate = 2.0 * np.linalg.norm(np.eye(18) - mu * H, 2)
    assert rate < 1.0
    p = C.project(rng.random(18))
    for _ in range(12):
        after = C.project(p - mu * F.gradient(p))
        assert np.linalg.norm(after - best) <= rate * np.linalg.norm(p - best) + 1e-12
        p = after


def test_entries_that_no_condition_tells_apart_are_asked_about_as_one():
    n = 40_000
    C = SparseSimplex(
        Atoms(n), 5, groups=np.arange(n) % 4, max_group_weight=0.3, include=[7], exclude=[9]
    )
    v = np.arange(n, dtype=float)
    best = feasible_member(C.rules, v)
    assert C.contains(np.where(best > 0, best, 0.0))
    assert 7 in np.flatnonzero(best)
    assert set(range(n - 4, n)) <= set(np.flatnonzero(best))  # the steepest of each group
    with pytest.raises(InvalidInput, match="cannot hold together"):
        SparseSimplex(Atoms(n), 3, groups=np.arange(n) % 4, max_group_weight=0.3)
