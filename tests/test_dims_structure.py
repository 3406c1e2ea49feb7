"""dims with units that are chosen whole and columns that cost: against enumeration, HiGHS and each other."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from fewer import DimensionSparse, InvalidInput, Status, coverage, dims
from fewer.datasets import baskets
from fewer.spaces import Lattice, States
from test_dims_restricted import loss

SOLVERS = ("auto", "exact", "exchange", "greedy", "iht")


def case(seed, n_most=8):
    """A random table with labels of units, costs and a budget."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, n_most))
    X = rng.integers(0, 3, (30, n)) * (rng.random((30, n)) < 0.35)
    X[0] = 0
    labels = rng.integers(0, max(n - 2, 2), n)
    costs = np.round(rng.uniform(0.1, 3.0, n), 1) if rng.random() < 0.7 else np.ones(n)
    budget = float(rng.uniform(costs.min() + 0.01, costs.sum()))
    return X, rng.dirichlet(np.ones(30)), labels, costs, budget


def subsets(items):
    return [chosen for size in range(len(items) + 1) for chosen in combinations(items, size)]


def best_of(X, weights, labels, allowed, objective, include=(), exclude=()):
    """The least loss over sets of units that are allowed, hold the units of `include` and none of `exclude`."""
    held, never = set(labels[list(include)].tolist()), set(labels[list(exclude)].tolist())
    found = math.inf
    for chosen in subsets(sorted(set(labels.tolist()))):
        if held <= set(chosen) and not never & set(chosen) and allowed(chosen):
            found = min(found, loss(X, weights, np.flatnonzero(np.isin(labels, chosen)), objective))
    return found


def check(result, X, weights, labels, objective, best, solver):
    held = result.indices
    assert set(labels[held]).isdisjoint(np.delete(labels, held))  # units are whole
    assert result.value == pytest.approx(loss(X, weights, held, objective), abs=1e-12)
    assert result.value >= best - 1e-12
    assert result.bound is None or result.bound <= best + 1e-9
    if solver in ("auto", "exact"):
        assert result.value == pytest.approx(best, abs=1e-10)
        assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("objective", ["kl", "l2"])
@pytest.mark.parametrize("seed", range(20))
def test_units_are_chosen_whole_and_best(seed, objective):
    X, weights, labels, _, _ = case(seed)
    rng = np.random.default_rng(seed + 1000)
    k = int(rng.integers(1, len(set(labels.tolist())) + 1))
    columns = rng.permutation(X.shape[1])
    include = columns[:1] if seed % 3 == 0 else columns[:0]
    exclude = (
        [c for c in columns[1:3] if not np.isin(labels[c], labels[include]).any()]
        if seed % 2
        else []
    )
    if len(exclude) and len(set(labels.tolist()) - set(labels[exclude].tolist())) == 0:
        exclude = []
    best = best_of(X, weights, labels, lambda chosen: len(chosen) <= k, objective, include, exclude)
    asked = {
        "include": include,
        "exclude": exclude,
        "sample_weight": weights,
        "objective": objective,
    }
    for solver in SOLVERS if seed < 3 else SOLVERS[:-1]:
        result = dims(X, k, units=labels, solver=solver, rng=seed, **asked)
        assert len(result.units) <= k
        assert sorted(result.units) == sorted(set(labels[result.indices].tolist()))
        assert set(labels[include]) <= set(result.units)
        assert not set(labels[exclude]) & set(result.units)
        check(result, X, weights, labels, objective, best, solver)


@pytest.mark.parametrize("objective", ["kl", "l2"])
@pytest.mark.parametrize("seed", range(20))
def test_a_budget_is_kept_and_spent_best(seed, objective):
    X, weights, labels, costs, budget = case(seed)
    labels = labels if seed % 2 else np.arange(X.shape[1])
    cost_of = {label: costs[labels == label].sum() for label in set(labels.tolist())}
    if min(cost_of.values()) > budget:
        with pytest.raises(InvalidInput, match="pays for none"):
            dims(X, budget=budget, costs=costs, units=labels)
        return
    best = best_of(
        X, weights, labels, lambda some: sum(cost_of[u] for u in some) <= budget, objective
    )
    asked = {
        "sample_weight": weights,
        "objective": objective,
        "units": labels if seed % 2 else None,
    }
    for solver in SOLVERS if seed < 3 else SOLVERS[:-1]:
        result = dims(X, budget=budget, costs=costs, solver=solver, rng=seed, **asked)
        assert costs[result.indices].sum() <= budget * (1 + 1e-9)
        check(result, X, weights, labels, objective, best, solver)


@pytest.mark.parametrize("seed", range(12))
def test_a_budget_with_columns_that_must_and_must_not(seed):
    X, weights, _, costs, _ = case(seed)
    n = X.shape[1]
    include, exclude = [0], [n - 1]
    budget = float(costs[0] + 0.6 * costs[1:-1].sum())
    costs[1] = 0.0  # what costs nothing is always held
    for objective in ("kl", "l2"):
        allowed = lambda some: costs[list(some)].sum() <= budget
        best = best_of(X, weights, np.arange(n), allowed, objective, include, exclude)
        asked = {
            "include": include,
            "exclude": exclude,
            "sample_weight": weights,
            "objective": objective,
        }
        result = dims(X, budget=budget, costs=costs, rng=seed, **asked)
        assert 0 in result.indices
        assert n - 1 not in result.indices
        check(result, X, weights, np.arange(n), objective, best, "auto")


def by_highs(X, costs, budget):
    """The most rows that columns within a budget cover, by SciPy's MILP."""
    supports, inverse = np.unique(X != 0, axis=0, return_inverse=True)
    mass = np.bincount(inverse.reshape(-1)) / len(X)
    n, count = X.shape[1], len(supports)
    rows, columns = np.nonzero(supports)
    entries = np.arange(len(rows))
    ends = np.r_[np.ones(len(rows)), -np.ones(len(rows))]
    rules = sp.csr_array(
        (ends, (np.r_[entries, entries], np.r_[n + rows, columns])), shape=(len(rows), n + count)
    )
    spent = np.r_[costs, np.zeros(count)]
    return -milp(
        np.r_[np.zeros(n), -mass],
        constraints=[LinearConstraint(rules, -np.inf, 0), LinearConstraint(spent, -np.inf, budget)],
        integrality=np.r_[np.ones(n), np.zeros(count)],
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0},
    ).fun


@pytest.mark.parametrize("seed", range(4))
def test_budgets_past_all_masks_agree_with_highs(seed):
    rng = np.random.default_rng(seed)
    X = baskets(400, 40, 4, rng=seed).toarray()
    costs = np.round(rng.uniform(0.5, 4.0, 40), 1)
    result = dims(X, budget=20.0, costs=costs, rng=0)
    assert costs[result.indices].sum() <= 20.0 + 1e-9
    assert math.exp(-result.value) == pytest.approx(by_highs(X, costs, 20.0 + 1e-9), abs=1e-9)
    assert result.status is Status.OPTIMAL
    assert math.exp(-result.value) == pytest.approx(coverage(X, result.indices))


def test_a_table_with_labels_needs_no_dummies():
    """Its columns are the units of its dummies, the most frequent label left out."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {f"v{j}": rng.choice(list("abcd"), 200, p=[0.7, 0.1, 0.1, 0.1]) for j in range(8)}
    )
    dummies = pd.get_dummies(frame, prefix_sep="=")
    dummies = dummies.drop(columns=[f"{name}={frame[name].mode()[0]}" for name in frame]).astype(
        int
    )
    units = {name: name.split("=")[0] for name in dummies}
    whole, apart = dims(frame, 3, rng=0), dims(dummies, 3, units=units, rng=0)
    assert apart.value == pytest.approx(whole.value, abs=1e-12)
    assert sorted(apart.units) == sorted(whole.labels)
    assert set(apart.labels) == {name for name in dummies if units[name] in set(whole.labels)}


def test_names_of_units_and_costs_by_name():
    X = pd.DataFrame(
        [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]], columns=list("abcd")
    )
    units = pd.Series({"a": "left", "b": "left", "c": "right", "d": "right"})
    assert dims(X, 1, units=units, exclude=["left"]).labels.tolist() == ["c", "d"]
    assert dims(X, 1, units=units, include=["d"]).units.tolist() == ["right"]
    costs = {"left": 3.0, "c": 1.0, "d": 1.0}
    assert dims(X, units=units, costs=costs, budget=2.5).labels.tolist() == ["c", "d"]
    assert dims(X, budget=3, units=units, costs=costs).labels.tolist() == ["a", "b"]
    lines = pd.DataFrame({"order": [1, 1, 2, 3, 3], "item": ["tea", "milk", "tea", "rum", "cola"]})
    paid = {"tea": 2.0, "milk": 2.0, "rum": 1.0, "cola": 1.0}
    assert sorted(dims(lines, costs=paid, budget=2, order="order", item="item").labels) == ["tea"]
    bar = {"rum": "bar", "cola": "bar"}
    assert sorted(
        dims(lines, 1, units=bar, order="order", item="item", exclude=["tea"]).labels
    ) == ["cola", "rum"]


def test_what_cannot_be_asked_for():
    X = np.eye(4, dtype=int)
    for words, asked in {
        "budget is what may be spent on costs": {"budget": 2.0},
        "give k or budget: how much may be chosen, got both": {
            "k": 2,
            "budget": 2.0,
            "costs": np.ones(4),
        },
        "give k: how much may be chosen, got neither": {},
        r"costs must have shape \(4,\), got \(3,\)": {"budget": 2, "costs": np.ones(3)},
        "costs must not be negative, got -1 at index 2": {"budget": 2, "costs": [1, 1, -1, 1]},
        "a budget of 0.5 pays for none of the columns: the cheapest costs 1": {
            "budget": 0.5,
            "costs": np.ones(4),
        },
        "include costs 2 together, more than the budget of 1.5": {
            "budget": 1.5,
            "costs": np.ones(4),
            "include": [0, 1],
        },
        "costs need a budget": {"k": 2, "costs": np.ones(4)},
        "k must be an integer in 1..4 .columns., got 1.5": {"k": 1.5},
        "units must have one label for each of the 4 columns": {"k": 1, "units": [0, 1]},
        "units must have a label for each column, got None at 1": {
            "k": 1,
            "units": ["a", None, "a", "b"],
        },
        "units: there is no column 'x'": {"k": 1, "units": {"x": 1}},
        r"k must be in 1\.\.2 \(units\), got 3": {"k": 3, "units": [0, 0, 1, 1]},
        "both hold columns of unit 'a'": {
            "k": 1,
            "units": ["a", "a", "b", "b"],
            "include": [0],
            "exclude": [1],
        },
    }.items():
        with pytest.raises(InvalidInput, match=words):
            dims(X, **asked)
    wide = np.eye(40, dtype=int)
    with pytest.raises(InvalidInput, match="more than the 2\\^31"):
        dims(wide, 1, units=np.zeros(40), objective="l2")


def test_members_of_a_budget():
    rng = np.random.default_rng(0)
    for space in (Lattice(4, 2), States(rng.integers(0, 2, (12, 4)))):
        C = DimensionSparse(space, incumbent=True, costs=[1.0, 2.0, 1.5, 0.5], budget=2.5)
        for _ in range(20):
            v = rng.normal(size=space.size)
            p = C.project(v)
            assert C.contains(p)
            near = C.project(p, near=p)
            assert ((near - p) ** 2).sum() < 1e-20
    with pytest.raises(
        InvalidInput, match="no listed state fits into the budget of 1: the cheapest costs 3"
    ):
        DimensionSparse(States([[1, 1]]), costs=[1.0, 2.0], budget=1.0)
