"""Conditions in any unit, without room and with a singular H: every answer beside enumeration."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fewer import Atoms, Conditions, InvalidInput, SparseSimplex, Status, terms
from soak.convex import least

LOSSES = ("squared", "absolute", "downside")
UNITS = (1e-12, 1e-10, 1e-6, 1.0, 1e6, 1e12)
NEAR = 1e-6


def drawn(seed):
    """A feasible or impossible small problem: X, y, k and the options of `terms`, rows of G in the unit one."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    k = int(rng.integers(1, min(n, 3) + 1))
    whole = rng.random() < 0.4
    X = rng.integers(-2, 3, (r, n)) / 2.0 if whole else rng.standard_normal((r, n))
    y = rng.integers(-2, 3, r) / 2.0 if whole else rng.standard_normal(r)
    if rng.random() < 0.3:
        X = X[:, rng.integers(0, n, n)]
    most = float(rng.choice([1.0, 1.0, 0.8, 1.0 / k, 0.5]))
    options = {
        "loss": str(rng.choice(LOSSES)),
        "max_weight": most,
        "min_weight": float(rng.choice([0, 0, 0.1])),
    }
    inner = rng.permutation(np.append(np.full(k, 1.0 / k), np.zeros(n - k)))
    if rng.random() < 0.6:
        m = int(rng.integers(1, 3))
        G = rng.integers(-2, 3, (m, n)) / 2.0 if whole else rng.standard_normal((m, n))
        room = rng.choice([0.0, 0.1, 0.3, -0.1], m)
        options["constraints"] = (G, G @ inner + room)
    if rng.random() < 0.35:
        before = rng.dirichlet(np.ones(n)) if rng.random() < 0.5 else inner
        turnover = float(np.abs(before - inner).sum()) * float(rng.choice([1.0, 1.2, 0.7]))
        options |= {"previous": before, "max_turnover": turnover}
    if rng.random() < 0.3:
        groups = np.unique(rng.integers(0, 3, n), return_inverse=True)[1]
        weight = np.bincount(groups, inner) + float(rng.choice([0.0, 0.1]))
        options |= {"groups": groups, "max_group_weight": weight.tolist()}
    return X, y, k, options


def optimum(X, y, k, options):
    """The least loss over all supports, each by Clarabel; infinite where none is feasible."""
    n = X.shape[1]
    G, h = options.get("constraints", (np.zeros((0, n)), np.zeros(0)))
    if "groups" in options:
        inside = options["groups"] == np.unique(options["groups"])[:, None]
        G, h = np.vstack([G, inside]), np.append(h, options["max_group_weight"])
    best = np.inf
    for count in range(1, k + 1):
        for S in map(list, combinations(range(n), count)):
            low, high = options["min_weight"], options["max_weight"]
            if count * low > 1.0 + 1e-12 or count * high < 1.0 - 1e-12:
                continue
            rules = {"G": G[:, S], "h": h + 1e-10}  # an interior method needs some room
            if "previous" in options:
                before = options["previous"]
                beyond = float(np.delete(before, S).sum())
                rules |= {
                    "previous": before[S],
                    "beyond": beyond,
                    "max_turnover": options["max_turnover"] + 1e-10,
                }
            best = min(
                best, least(options["loss"], X[:, S], y, np.ones(len(y)), low, high + 1e-10, rules)
            )
    return best


def violation(p, options):
    """How far weights miss any condition on them, rows of G in the unit one."""
    missed = [
        abs(p.sum() - 1.0),
        -p.min(),
        p.max() - options["max_weight"],
        options["min_weight"] - p[p > 0].min(),
    ]
    if "constraints" in options:
        G, h = options["constraints"]
        missed.append((G @ p - h).max())
    if "previous" in options:
        missed.append(np.abs(p - options["previous"]).sum() - options["max_turnover"])
    if "groups" in options:
        missed.append((np.bincount(options["groups"], p) - options["max_group_weight"]).max())
    return max(missed)


def fault(seed, solver="exact"):
    """What is wrong with the answer to a drawn problem in some unit; "" for nothing."""
    X, y, k, options = drawn(seed)
    best = optimum(X, y, k, options)
    asked = dict(options)
    if "constraints" in asked:
        unit = UNITS[seed % len(UNITS)]
        G, h = asked["constraints"]
        asked["constraints"] = (unit * G, unit * h)
    try:
        found = terms(X, y, k, solver=solver, rng=0, **asked)
    except InvalidInput as error:
        return f"refused though {best} is feasible: {error}" if np.isfinite(best) else ""
    missed = violation(found.p, options)
    if missed > 1e-8:
        return f"missed by {missed}"
    if not np.isfinite(best):
        return "an answer where there is none" if missed > 1e-9 else ""
    near = NEAR * (1.0 + best)
    if found.bound is not None and found.bound > best + near:
        return f"a bound {found.bound} above {best}"
    if found.value < best - near:
        return f"the referee has {best}, it {found.value}"
    if found.status is Status.OPTIMAL and found.value > best + near:
        return f"a false proof of {found.value}, the optimum is {best}"
    return (
        f"not proven: {found.value}, {best}"
        if solver == "exact" and found.status is not Status.OPTIMAL
        else ""
    )


def test_answers_under_conditions_equal_enumeration_in_any_unit():
    faults = {seed: fault(seed) for seed in range(150)}
    assert {seed: said for seed, said in faults.items() if said} == {}


@pytest.mark.parametrize(
    ("solver", "count"), [("greedy", 40), ("exchange", 25), ("iht", 12), ("auto", 25)]
)
def test_no_solver_refuses_what_is_feasible_or_misses_a_condition(solver, count):
    faults = {seed: fault(seed, solver) for seed in range(1000, 1000 + count)}
    assert {seed: said for seed, said in faults.items() if said} == {}


@pytest.mark.parametrize("unit", [*UNITS, 1e-60, 1e60])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_unit_of_the_data_changes_no_answer(unit, loss):
    rng = np.random.default_rng(13)
    X, y = rng.standard_normal((6, 5)), rng.standard_normal(6)
    for more in ({}, {"constraints": (rng.standard_normal((1, 5)), [0.3])}):
        expected = terms(X, y, 2, loss=loss, rng=0, **more)
        found = terms(unit * X, unit * y, 2, loss=loss, rng=0, **more)
        assert found.weights == pytest.approx(expected.weights, abs=1e-6)
        assert found.status is expected.status is Status.OPTIMAL


def test_rows_of_any_size_and_rows_of_zeros_are_kept_as_conditions():
    C = Conditions(G=[[1e90, 0.0], [0.0, 1e-90], [0.0, 0.0]], h=[1e89, 1e90, 1e-90])
    assert C.holds(np.array([0.1, 0.9]))
    assert not C.holds(np.array([0.11, 0.89]))
    with pytest.raises(InvalidInput, match="no distribution meets row 0"):
        terms(np.eye(2), [1.0, 0.0], 1, constraints=([[0.0, 0.0]], [-1e-12]))


def test_a_turnover_that_k_leaves_too_little_room_for_is_named_with_k():
    with pytest.raises(InvalidInput, match="together: k = 3 and max_turnover"):
        terms(np.eye(8), np.eye(8)[0], 3, previous=np.full(8, 1 / 8), max_turnover=0.5)


def test_a_singular_programme_is_not_read_as_infeasible():
    found = terms([[1.0, 0.0]], [0.0], 2, constraints=([[1.2, 1.5]], [1.3]), rng=0)
    assert found.value == pytest.approx(4.0 / 9.0, rel=1e-8)
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", ["auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"])
def test_weights_that_bounds_leave_no_choice_of_are_found(solver):
    X, y = [[3.1, -0.1]], [-2.0]
    more = (
        {"constraints": ([[0.7, -0.5]], [0.7])},
        {"previous": [0.6, 0.4], "max_turnover": 0.2},
        {"groups": ["a", "b"], "max_group_weight": 0.5},
    )
    for options in more:
        found = terms(X, y, 2, max_weight=0.5, solver=solver, rng=0, **options)
        assert found.p.tolist() == [0.5, 0.5]
        assert found.value == pytest.approx(12.25)


def test_frank_wolfe_relaxes_over_what_may_be_held():
    X, y = np.array([[1.0, 0.9, 0.0], [0.0, 0.1, 0.4]]), [1.0, 0.0]
    found = terms(X, y, 1, exclude=[0], solver="frank_wolfe")
    assert found.bound == pytest.approx(terms(X[:, 1:], y, 2, solver="exact").value)
    assert found.status is Status.OPTIMAL
    table = pd.DataFrame(X - 2.0, columns=list("abc")).assign(y=[0.5, 0.5])
    inside = terms(table, "y", 2, solver="frank_wolfe")
    outside = terms(table[["a", "b", "c"]], table["y"], 2, solver="frank_wolfe")
    assert inside.bound == pytest.approx(outside.bound)
    assert inside.value == pytest.approx(outside.value)


@pytest.mark.parametrize("solver", ["frank_wolfe", "iht", "greedy", "exchange"])
def test_the_same_numbers_give_the_same_answer_in_every_container(solver):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((int(rng.integers(5, 60)), int(rng.integers(10, 60))))
        y = X @ rng.dirichlet(np.full(X.shape[1], 0.3)) + 0.05 * rng.standard_normal(len(X))
        names = [f"c{j}" for j in range(X.shape[1])]
        wide = np.zeros((2 * X.shape[0], 2 * X.shape[1]))
        wide[::2, ::2] = X
        forms = [
            np.asfortranarray(X),
            wide[::2, ::2],
            pd.DataFrame(X, columns=names),
            pl.DataFrame(X, schema=names),
            pa.table(dict(zip(names, X.T, strict=True))),
        ]
        expected = terms(X, y, 4, solver=solver, rng=0)
        for form in forms:
            found = terms(form, y, 4, solver=solver, rng=0)
            assert found.indices.tolist() == expected.indices.tolist()
            assert found.weights.tolist() == expected.weights.tolist()
        inside = terms(pd.DataFrame(X, columns=names).assign(y=y), "y", 4, solver=solver, rng=0)
        assert inside.indices.tolist() == expected.indices.tolist()
        assert inside.weights == pytest.approx(expected.weights, abs=1e-7)


@pytest.mark.parametrize(
    "limit", [{"min_per_group": 1}, {"min_per_group": {"b": 1}}, {"min_group_weight": 0.1}]
)
def test_a_group_that_is_wholly_excluded_cannot_be_asked_for(limit):
    X, y, names = np.eye(4), [0.5, 0.3, 0.2, 0.0], list("wxyz")
    table = pd.DataFrame(X, columns=names)
    for data, groups in (
        (X, list("aabb")),
        (table, list("aabb")),
        (table, dict(zip(names, "aabb", strict=True))),
    ):
        with pytest.raises(InvalidInput, match="group 'b'"):
            terms(data, y, 3, groups=groups, exclude=[2, 3], **limit)
    table["t"] = y  # the target is in no group
    for groups in (list("aabbc"), dict(zip([*names, "t"], "aabbc", strict=True))):
        assert terms(table, "t", 3, groups=groups, **limit).indices.size == 3


@pytest.mark.parametrize(
    ("limits", "guilty"),
    [
        ({"k": 1, "max_weight": 0.8, "exclude": [2]}, "k = 1 and max_weight = 0.8"),
        (
            {"k": 2, "conditions": Conditions(previous=np.full(10, 0.1), max_turnover=0.2)},
            "k = 2 and max_turnover = 0.2",
        ),
    ],
)
def test_a_conflict_names_k_where_more_entries_would_do(limits, guilty):
    with pytest.raises(InvalidInput, match=f"together: {guilty}$"):
        SparseSimplex(Atoms(10), **limits)
