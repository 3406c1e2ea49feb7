"""dims: the job and its estimator, against enumeration, the dense lattice, and the proven optima of real data."""

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewer import (
    KL,
    L2,
    DimensionSparse,
    FewerDims,
    InvalidInput,
    Lattice,
    States,
    Status,
    coverage,
    dims,
    exact,
    iht,
)
from fewer.datasets import baskets

SOLVERS = ("auto", "exact", "exchange", "greedy", "iht")
REAL = Path(__file__).parents[2] / "shared/data"


FRACTIONS = (
    "the check feeds fractions, which FewerDims refuses; test_weights_equal_repeated_rows checks"
    " the same"
)


@pytest.mark.filterwarnings("ignore:k = .* is more than the:UserWarning")
@parametrize_with_checks(
    [
        FewerDims(),
        FewerDims(k=2, objective="l2"),
        FewerDims(k=1, solver="exchange"),
        FewerDims(k=3, solver="iht"),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": FRACTIONS,
        "check_sample_weight_equivalence_on_sparse_data": FRACTIONS,
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def random_rows(seed, n=None, m=4):
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 7))
    rows = int(rng.integers(1, 40))
    X = rng.integers(0, m, (rows, n)) * (rng.random((rows, n)) < rng.uniform(0.2, 0.7))
    X[rng.integers(rows)] = 0
    return X, rng.dirichlet(np.ones(rows)), int(rng.integers(1, n + 1)), rng


def dense(X, weights, objective):
    """The same problem on the whole lattice."""
    space = Lattice(X.shape[1], tuple(int(c) + 1 for c in X.max(axis=0)))
    q = np.zeros(space.size)
    np.add.at(q, space.ravel(X), weights)
    return (KL if objective == "kl" else L2)(space, q)


@pytest.mark.parametrize("objective", ["kl", "l2"])
@pytest.mark.parametrize("seed", range(25))
def test_states_and_dense_lattice_give_the_same(seed, objective):
    X, weights, k, _ = random_rows(seed)
    F = dense(X, weights, objective)
    C = DimensionSparse(F.space, k)
    best = min(F.value_on(C.face(units)) for units in combinations(range(X.shape[1]), k))
    everything = F.space.unravel(np.arange(F.space.size))
    for solver in SOLVERS:
        result = dims(X, k, objective=objective, sample_weight=weights, solver=solver, rng=seed)
        face = C.face(result.support)
        assert result.value == pytest.approx(F.value_on(face), abs=1e-10)
        assert np.allclose(result.distribution.pmf(everything), F.best_on(face), atol=1e-10)
        assert result.distribution.weights.sum() + result.distribution.rest == pytest.approx(
            1, abs=1e-12
        )
        assert result.support.size <= k
        assert result.value >= best - 1e-10
        if solver in ("auto", "exact"):
            assert result.value == pytest.approx(best, abs=1e-10)
            assert result.status is Status.OPTIMAL
            assert abs(result.gap) <= 1e-9
    assert exact(F, C).value == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("objective", ["kl", "l2"])
def test_iht_on_a_small_lattice_is_the_papers_on_the_dense_table(objective):
    """It visits the same supports, so it ends no worse than the best iterate of the dense run."""
    X, weights, _, _ = random_rows(3, n=6, m=2)
    F = dense(X, weights, objective)
    result = dims(X, 3, objective=objective, sample_weight=weights, solver="iht", rng=5)
    rng = np.random.default_rng(5)
    twin = iht(F, DimensionSparse(F.space, 3), rng=rng)
    assert result.value <= twin.value + 1e-10


def test_sparse_input_is_never_densified(monkeypatch):
    X = baskets(300, 5000, 4, rng=0)

    def refuse(self, *args, **kwargs):
        if self.shape[1] > 100:
            raise AssertionError("densified")
        return original(self, *args, **kwargs)

    original = sp.csr_array.toarray
    monkeypatch.setattr(sp.csr_array, "toarray", refuse)
    result = dims(X, 20, solver="exchange", rng=0)
    assert result.support.size == 20
    assert FewerDims(5, solver="exchange").fit(X).transform(X).shape == (300, 5)


@pytest.mark.parametrize("seed", range(10))
def test_baseline_is_a_recoding(seed):
    """With a baseline b the answer is the one for codes swapped so that b is 0, told in the codes of X."""
    X, weights, k, rng = random_rows(seed)
    b = rng.integers(0, X.max(axis=0) + 1)
    X[0] = b
    moved = np.where(b == X, 0, np.where(b > X, X + 1, X))
    for objective in ("kl", "l2"):
        result = dims(X, k, objective=objective, sample_weight=weights, baseline=b, rng=0)
        twin = dims(moved, k, objective=objective, sample_weight=weights, rng=0)
        assert result.value == pytest.approx(twin.value, abs=1e-12)
        assert result.support.tolist() == twin.support.tolist()
        d, e = result.distribution, twin.distribution
        assert np.allclose(d.pmf(X), e.pmf(moved))
        assert (
            np.delete(d.sample(50, rng=1), result.support, axis=1) == np.delete(b, result.support)
        ).all()
    assert coverage(X, result.support, sample_weight=weights, baseline=b) == pytest.approx(
        coverage(moved, result.support, sample_weight=weights)
    )


def test_mode_takes_the_heaviest_code_of_each_column():
    X = np.array([[3, 0, 1], [3, 0, 2], [1, 0, 2], [0, 1, 2]])
    selector = FewerDims(1, baseline="mode").fit(X)
    assert selector.baseline_.tolist() == [3, 0, 2]
    assert FewerDims(1, baseline="mode").fit(X, sample_weight=[0, 0, 5, 1]).baseline_.tolist() == [
        1,
        0,
        2,
    ]


def test_weights_equal_repeated_rows():
    X, _, k, rng = random_rows(4)
    counts = rng.integers(0, 4, len(X))
    counts[0] += 1
    for objective in ("kl", "l2"):
        weighted = dims(X, k, objective=objective, sample_weight=counts, rng=0)
        repeated = dims(np.repeat(X, counts, axis=0), k, objective=objective, rng=0)
        assert weighted.value == pytest.approx(repeated.value, abs=1e-12)
        assert weighted.bound == pytest.approx(repeated.bound, abs=1e-9)


def test_greedy_takes_the_lowest_index_where_searches_look_ahead():
    """No single item completes any order, and the empty one is complete in any case: Algorithm 3 picks items 0, 1."""
    orders = np.zeros((11, 12), int)
    orders[:7, [5, 9]] = 1
    orders[7:10, [0, 1, 2]] = 1
    assert dims(orders, 2, solver="exchange", rng=0).support.tolist() == [5, 9]
    assert dims(orders, 2, solver="greedy").value == pytest.approx(-np.log(1 / 11))


def test_estimator_attributes_and_frames():
    X = pd.DataFrame(random_rows(5, n=5)[0], columns=list("abcde"))
    selector = FewerDims(k=2, random_state=0).fit(X)
    assert selector.indices_.tolist() == np.flatnonzero(selector.get_support()).tolist()
    assert (selector.support_ == selector.get_support()).all()
    assert selector.get_support().dtype == bool
    assert selector.feature_names_in_.tolist() == list("abcde")
    assert selector.get_feature_names_out().tolist() == [
        list("abcde")[i] for i in selector.indices_
    ]
    assert (selector.transform(X) == X.to_numpy()[:, selector.indices_]).all()
    assert selector.coverage_ == pytest.approx(math.exp(-selector.value_)) == selector.score(X)
    assert selector.gap_ == selector.value_ - selector.bound_ == selector.result_.gap
    assert selector.distribution_ is selector.result_.distribution
    with pytest.warns(UserWarning, match="k = 99 is more than the 5 columns there are") as raised:
        assert FewerDims(k=99).fit(X).support_.all()
    assert len(raised) == 1


BAD = [
    ([[0, -1], [1, 0]], {}, r"X must hold whole numbers in 0\.\.2\^31-1, got -1"),
    ([[0, 0.5], [1, 0]], {}, "X must hold whole numbers in .*, got 0.5"),
    ([[0, np.nan], [1, 0]], {}, r"X must hold whole numbers in 0\.\.2\^31-1, got nan"),
    ([["a", "b"]], {}, "X must hold real numbers, got dtype <U1"),
    (np.empty((0, 3)), {}, r"X must be a table .* got shape \(0, 3\)"),
    ([1, 0, 1], {}, r"X must be a table .* got shape \(3,\)"),
    ([[0, 1], [1]], {}, r"X must be an array with rows of one length, got \[\[0, 1\], \[1\]\]"),
    ([[0, 1]], {"k": 3}, r"k must be in 1\.\.2 \(columns\), got 3"),
    ([[0, 1]], {"k": 0}, r"k must be in 1\.\.2 \(columns\), got 0"),
    ([[0, 1]], {"k": 1.0}, r"k must be an integer in 1\.\.2 \(columns\), got 1.0 \(float\)"),
    ([[0, 1]], {"objective": "tv"}, "objective must be one of 'kl', 'l2', got 'tv'"),
    (
        [[0, 1]],
        {"solver": "magic"},
        (
            "solver must be one of 'auto', 'exact', 'exchange', 'frank_wolfe', 'greedy', 'iht', got"
            " 'magic'"
        ),
    ),
    (
        [[0, 1]],
        {"baseline": "mean"},
        "baseline must be one of 'auto', 'mode', 'zero', got 'mean'",
    ),
    ([[0, 1]], {"baseline": [0]}, "baseline must be 'zero', 'mode' or 2 non-negative integers"),
    ([[0, 1]], {"time_limit": -1}, "time_limit must be above 0, got -1"),
    (
        [[0, 1], [1, 0]],
        {"sample_weight": [1, -1]},
        "sample_weight must be non-negative, got -1.0 at index 1",
    ),
    (
        [[0, 1], [1, 0]],
        {"sample_weight": [0, 0]},
        "sample_weight must have a positive sum, got all zeros",
    ),
    ([[0, 1], [1, 0]], {"sample_weight": [1]}, r"sample_weight must have shape \(2,\), got \(1,\)"),
]


@pytest.mark.parametrize(("X", "options", "sentence"), BAD, ids=[case[2] for case in BAD])
def test_bad_input_gets_a_sentence(X, options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        dims(X, **{"k": 1, **options})


def test_strange_but_good_input():
    nothing = dims(np.zeros((5, 4), int), 2)
    assert nothing.value == nothing.gap == 0.0
    assert len(nothing.distribution) == 1
    same = dims(np.ones((10**6, 3), np.int8), 3)
    assert same.value == 0.0
    assert len(same.distribution) == 1
    uniform = dims([[1, 1, 1]], 2, objective="l2")  # no row fits: the best is uniform on the face
    assert uniform.value == pytest.approx(1 + 1 / 4)
    assert uniform.distribution.pmf([0, 0, 0]) == pytest.approx(1 / 4)
    none = dims([[1, 1, 1], [1, 1, 2]], 2)  # KL is infinite whatever is chosen, and that is proven
    assert none.value == none.bound == math.inf
    assert none.gap == 0.0
    with_codes = dims([[0, 200000], [0, 0]], 1)
    assert with_codes.distribution.pmf([0, 200000]) == pytest.approx(0.5)


needs_data = pytest.mark.skipif(
    not REAL.exists(), reason="the real data sets are not beside the repository"
)


@needs_data
@pytest.mark.parametrize(
    ("name", "k", "optimum"),
    [
        ("nltcs", 6, 0.424881),
        ("msnbc", 7, 0.358609),
        ("plants", 10, 0.227487),
        ("plants", 20, 0.416896),
        ("tretail", 15, 0.380836),
        ("kosarek", 20, 0.606472),
    ],
)
def test_real_data_is_proven(name, k, optimum):
    with np.load(REAL / "debd.npz", allow_pickle=False) as file:
        X = np.unpackbits(file[f"{name}_train"], axis=1, count=int(file[f"{name}_n_vars"]))
    result = dims(X, k, rng=0)
    assert math.exp(-result.value) == pytest.approx(optimum, abs=1e-6)
    assert abs(result.gap) <= 1e-9
    assert result.status is Status.OPTIMAL
    swaps = dims(X, k, solver="exchange", rng=0)
    assert math.exp(-swaps.value) >= 0.99 * optimum
    assert coverage(X, result.support) == pytest.approx(optimum, abs=1e-6)


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
        r"must not overlap, both hold columns \[1\]": {"include": [1], "exclude": [1, 2]},
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


def budget_case(seed, n_most=8):
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


def check_units(result, X, weights, labels, objective, best, solver):
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
    X, weights, labels, _, _ = budget_case(seed)
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
        check_units(result, X, weights, labels, objective, best, solver)


@pytest.mark.parametrize("objective", ["kl", "l2"])
@pytest.mark.parametrize("seed", range(20))
def test_a_budget_is_kept_and_spent_best(seed, objective):
    X, weights, labels, costs, budget = budget_case(seed)
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
        check_units(result, X, weights, labels, objective, best, solver)


def test_a_column_that_costs_nothing_may_be_excluded():
    X = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1]])
    assert dims(X, costs=[0.0, 1.0, 1.0], budget=2.0, exclude=[0]).indices.tolist() == [1, 2]


@pytest.mark.parametrize("seed", range(12))
def test_a_budget_with_columns_that_must_and_must_not(seed):
    X, weights, _, costs, _ = budget_case(seed)
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
        check_units(result, X, weights, np.arange(n), objective, best, "auto")


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


def test_units_and_costs_that_cannot_be_asked_for():
    X = np.eye(4, dtype=int)
    for words, asked in {
        "budget is what may be spent on costs": {"budget": 2.0},
        "give k, or costs and budget: how much may be chosen, got both": {
            "k": 2,
            "budget": 2.0,
            "costs": np.ones(4),
        },
        "how much may be chosen, got neither": {},
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
        "both hold units \\['a'\\]": {
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


@pytest.mark.parametrize(
    "space", [Lattice(4, (2, 3, 2, 2)), States(np.eye(4, dtype=int)[[0, 1, 3]])]
)
def test_projections_include_and_exclude(space):
    """The exact one is the nearest over all allowed supports; members hold nothing that is excluded."""
    asked = {"include": [3], "exclude": [2]}
    nearest = DimensionSparse(space, 2, "exact", **asked)
    greedy = DimensionSparse(space, 2, **asked)
    rng = np.random.default_rng(0)
    for _ in range(20):
        v = rng.normal(size=space.size)
        p, q = nearest.project(v), greedy.project(v)
        for member in (p, q):
            assert nearest.contains(member)
            assert 3 in nearest.support(member)
            assert 2 not in nearest.support(member)
        alone = [DimensionSparse(space, 2, "exact", include=[3, i], exclude=[2]) for i in (0, 1)]
        best = min(np.square(C.project(v) - v).sum() for C in alone)
        assert np.square(p - v).sum() == pytest.approx(best)
        assert np.square(q - v).sum() >= best - 1e-12
    full = np.zeros(space.size)
    full[space.ravel([0, 0, 0, 1])] = 1.0
    assert nearest.contains(full)
    assert not DimensionSparse(space, 2, exclude=[3]).contains(full)
    with pytest.raises(InvalidInput, match=r"include must be in 0\.\.3"):
        DimensionSparse(space, 2, include=[4])
    with pytest.raises(InvalidInput, match=r"must not overlap, both hold \[1\]"):
        DimensionSparse(space, 2, include=[1], exclude=[1])
    with pytest.raises(InvalidInput, match="include must be within k or the budget"):
        DimensionSparse(space, 2, include=[0, 1, 2])
