"""The response table and its local search, against inverses, exact refits and enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_quadratic as naive
from fewer import MMD, Atoms, Moments, SparseSimplex
from fewer._compiled.moves import Moves, best_entry, best_moves, forced_swaps
from fewer.active_set import box_weights
from fewer.search.pool import CandidatePool, ResponseTable, pool_rules, regular
from fewer.similarity import similarity_of

some = settings(max_examples=40)
seeds = st.integers(0, 10**6)
BOXES = {
    "simplex": (0.0, 1.0),
    "wide": (0.001, 0.8),
    "lower": (0.05, 1.0),
    "both": (0.05, 0.3),
    "fixed": (0.2, 0.2),
}


def gram(seed, n=25):
    """G of n points in the plane, their mean embedding at the origin."""
    X = np.random.default_rng(seed).standard_normal((n, 2))
    K = similarity_of("rbf", 0.7)(X, X)
    return regular(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())[0]


def least_squares(seed, n, rows):
    rng = np.random.default_rng(seed)
    return Moments(Atoms(n), rng.standard_normal((rows, n)), rng.standard_normal(rows))


def rules(G, k, **bounds):
    C = SparseSimplex(Atoms(len(G)), k, **bounds)
    return pool_rules(C.rules, np.arange(len(G)), np.diag(G).copy())


def blank(G, k, **bounds):
    return ResponseTable(G, rules(G, k, **bounds))


def check(G, table):
    """Every entry of the table is what its definition says."""
    s, arrays = table.size, table.arrays
    units, free = table.units, table.free
    M, u, T, schur, ones_residual = naive.response_table(G, units, free)
    np.testing.assert_allclose(
        arrays.M[:s, :s], M, rtol=1e-6, atol=1e-6 * max(np.abs(M).max(), 1.0)
    )
    np.testing.assert_allclose(arrays.u[:s], u, rtol=1e-6, atol=1e-6 * max(np.abs(u).max(), 1.0))
    np.testing.assert_allclose(arrays.T[:s], T, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(arrays.schur, schur, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(arrays.ones_residual, ones_residual, rtol=1e-6, atol=1e-8)
    assert np.flatnonzero(arrays.inside).tolist() == sorted(units.tolist())


def standing(G, k, units, weights, **bounds):
    """A table on some units, its slopes, F, multiplier and 1 / h up to date."""
    table = blank(G, k, **bounds)
    table.refactorise(np.asarray(units), np.asarray(weights, float))
    table.slopes()
    return table


def exact_value(G, units, low, high):
    """The least w'Gw on a support; infinite where no weights obey the bounds."""
    s = len(units)
    if s == 0 or s * low > 1 + 1e-12 or s * high < 1 - 1e-12:
        return np.inf
    block = G[np.ix_(units, units)]
    w = box_weights(block, np.zeros(s), low, min(high, 1.0), np.full(s, 1.0 / s))
    return float(w @ block @ w)


@pytest.mark.parametrize("seed", range(4))
def test_the_table_equals_its_definition_through_every_change(seed):
    G, rng = gram(seed), np.random.default_rng(seed)
    table = blank(G, 6)
    for j in (3, 8, 1, 20, 14):
        at = table.join(j, 0.2)
        check(G, table)
        if rng.random() < 0.7:
            table.make_free(at)
            check(G, table)
    for _ in range(12):
        a = int(rng.integers(table.size))
        table.fix_at_bound(a) if table.free[a] else table.make_free(a)
        check(G, table)
    for a in (1, 3, 0):
        table.leave(a)
        check(G, table)


def affine_value(G, units):
    """min wᵀGw over weights of sum one, of any sign: 1 / 1ᵀG⁻¹1."""
    return 1.0 / np.linalg.solve(G[np.ix_(units, units)], np.ones(len(units))).sum()


@pytest.mark.parametrize("seed", range(6))
def test_forced_swaps_take_the_candidates_that_lower_f_most_and_keep_the_table(seed):
    G, units = gram(seed), [4, 9, 0, 17, 22]
    table, barred = standing(G, 5, units, np.full(5, 0.2)), np.zeros(25, bool)
    barred[[9, 13]] = True
    used, value = np.array([5]), affine_value(G, units)
    others = [j for j in range(25) if j not in units and not barred[j]]
    expected = min(others, key=lambda j: affine_value(G, [4, j, 0, 17, 22]))
    picked = best_entry(table.rules, table.arrays, 1, value, barred, used, True)
    assert affine_value(G, [4, picked, 0, 17, 22]) == pytest.approx(
        affine_value(G, [4, expected, 0, 17, 22])
    )
    forced_swaps(
        G, table.rules, table.arrays, table.size, np.array([9]), np.empty(0, np.int64), barred, used
    )
    assert table.units.tolist() == [4, picked, 0, 17, 22]
    check(G, table)
    listed = np.array([0, 13, 2, 3, 5])  # the first is in, the second barred
    forced_swaps(G, table.rules, table.arrays, table.size, np.array([4, 17]), listed, barred, used)
    assert {2, 3}.issubset(table.units.tolist()) or picked in (2, 3)
    assert not {4, 17, 13}.intersection(table.units.tolist())
    check(G, table)


@pytest.mark.parametrize("box", BOXES)
def test_a_table_computed_afresh_equals_its_definition(box):
    G, (low, high) = gram(7), BOXES[box]
    units, w = np.array([4, 9, 0, 17, 22]), np.array([low, 0.1, 0.3, 0.2, min(high, 0.4)])
    table = standing(G, 5, units, w, min_weight=low, max_weight=high)
    check(G, table)
    at_bound = (w <= low + 1e-13) | (w >= (high if high < 1 else 2.0) - 1e-13)
    assert table.free.tolist() == (~at_bound).tolist()


@some
@given(seeds, st.integers(1, 6), st.sampled_from(list(BOXES)))
def test_sliding_ends_at_the_best_weights(seed, size, box):
    G, (low, high) = gram(seed % 50), BOXES[box]
    if size * low > 1 or size * high < 1 - 1e-12:
        return
    units = np.random.default_rng(seed).permutation(25)[:size]
    table = standing(G, 6, units, np.full(size, 1.0 / size), min_weight=low, max_weight=high)
    found, w = table.solve_weights(), table.w
    assert found == pytest.approx(exact_value(G, units, low, high), rel=1e-6, abs=1e-10)
    assert w.sum() == pytest.approx(1.0, abs=1e-9)
    assert w.min() >= low - 1e-12
    assert w.max() <= min(high, 1.0) + 1e-9
    check(G, table)


def best_support(G, k, low, high, seed):
    """A table at the best weights on a random support."""
    units = np.sort(np.random.default_rng(seed).permutation(len(G))[:k])
    w = box_weights(G[np.ix_(units, units)], np.zeros(k), low, high, np.full(k, 1.0 / k))
    kept = (w > 0) | (low > 0)
    return standing(G, k, units[kept], w[kept], min_weight=low, max_weight=high)


def listed_moves(table, barred=()):
    """The best move for each unit, and at the end for none."""
    size, out = table.rules.k + 2, np.zeros(len(table.G), bool)
    out[list(barred)] = True
    moves = Moves(np.empty(size), np.empty(size, np.int64), np.empty(size), np.empty(size, bool))
    used = np.bincount(table.rules.group[table.units], minlength=len(table.rules.cap))
    best_moves(
        table.rules, table.arrays, table.size, table.slope, out, used, 0.0, table.inverse, moves
    )
    return moves


@pytest.mark.parametrize("seed", range(6))
def test_best_moves_lists_the_best_swap(seed):
    """Of all swaps after which all weights stay positive, by enumeration."""
    G = gram(seed, 12)
    table = best_support(G, 4, 0.0, 1.0, seed)
    s, value, moves = table.size, table.value, listed_moves(table)
    for a in range(s):
        values = {}
        for j in np.flatnonzero(~table.arrays.inside):
            units = np.append(np.delete(table.units, a), j)
            w = box_weights(G[np.ix_(units, units)], np.zeros(s), 0.0, 1.0, np.full(s, 1.0 / s))
            if w.min() > 0:
                values[int(j)] = float(w @ G[np.ix_(units, units)] @ w)
        best = min(values.values(), default=np.inf)
        if best < value * (1 - 1e-6):
            assert value + moves.change[a] <= best + 1e-9
            if moves.enter[a] in values:
                assert values[moves.enter[a]] == pytest.approx(best, rel=1e-6)


def improved(F, k, start):
    """A pool after local search from a support."""
    pool = CandidatePool(F, SparseSimplex(F.space, k).rules, np.arange(F.space.size))
    pool.stand(start)
    before = pool.value
    made = pool.improve()
    assert pool.value <= before
    assert made > 0 or pool.value == pytest.approx(before, rel=1e-9)
    assert pool.value == pytest.approx(exact_value(pool.G, pool.support, 0.0, 1.0), rel=1e-6)
    return pool


def positive_swaps(pool):
    """The values of all supports that differ by one swap and whose best weights are all positive."""
    units, outside = pool.support, np.setdiff1d(np.arange(len(pool.G)), pool.support)
    for i, j in itertools.product(units, outside):
        S = np.append(np.setdiff1d(units, [i]), j)
        block = pool.G[np.ix_(S, S)]
        w = box_weights(block, np.zeros(len(S)), 0.0, 1.0, np.full(len(S), 1.0 / len(S)))
        if w.min() > 0:
            yield float(w @ block @ w)


@pytest.mark.parametrize("kind", ["mmd", "least squares"])
@pytest.mark.parametrize("seed", range(6))
def test_improving_ends_where_no_swap_helps(seed, kind):
    F = (
        MMD(Atoms(25), gram(seed), np.full(25, 1 / 25))
        if kind == "mmd"
        else least_squares(seed, 25, 15)
    )
    pool = improved(F, 4, np.sort(np.random.default_rng(seed).permutation(25)[:4]))
    assert pool.value <= min(positive_swaps(pool)) * (1 + 1e-6)


RULES = {
    "plain": {},
    "weights": {"min_weight": 0.1, "max_weight": 0.3},
    "held": {"include": [3, 8]},
    "groups": {"groups": [i % 6 for i in range(30)], "max_per_group": 1},
    "all": {
        "min_weight": 0.05,
        "max_weight": 0.4,
        "include": [3],
        "exclude": [0, 7, 12],
        "groups": [i % 5 for i in range(30)],
        "max_per_group": 2,
    },
}


def obeys(pool, limits):
    """Every rule, to rounding."""
    units, w = pool.support, pool.weights
    assert np.all(np.diff(units) > 0)
    assert len(units) <= limits.k
    assert w.sum() == pytest.approx(1.0, abs=1e-9)
    assert w.min() >= limits.min_weight - 1e-9
    assert w.max() <= limits.max_weight + 1e-9
    assert set(limits.include.tolist()) <= set(units.tolist())
    assert not set(limits.exclude.tolist()) & set(units.tolist())
    if limits.groups is not None:
        assert (
            np.bincount(limits.groups[units], minlength=len(limits.labels)) <= limits.max_per_group
        ).all()


def pool_of(seed, name, k=6):
    """A pool in a random support that obeys some rules."""
    F = least_squares(seed, 30, 20)
    limits = SparseSimplex(F.space, k, **RULES[name])
    pool = CandidatePool(F, limits.rules, np.flatnonzero(limits.rules.open))
    pool.stand(
        limits.rules.fitting(np.random.default_rng(seed).permutation(30), limits.rules.sizes[1])
    )
    return pool, limits


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_rules_are_kept_and_f_never_rises(seed, name):
    pool, limits = pool_of(seed, name)
    rng = np.random.default_rng(seed)
    obeys(pool, limits)
    actions = [
        lambda: pool.improve(1),
        pool.improve,
        pool.replace_lightest,
        *[lambda: pool.perturb(rng)] * 25,
    ]
    for act in actions:
        before = pool.value
        act()
        obeys(pool, limits)
        assert pool.value <= before * (1 + 1e-9)
        low, high = limits.min_weight, limits.max_weight
        assert pool.value == pytest.approx(
            exact_value(pool.G, np.searchsorted(pool.units, pool.support), low, high)
        )
        check(pool.G, pool.table)


@pytest.mark.parametrize("seed", range(4))
def test_perturbations_reach_the_optimum_of_all_supports(seed):
    pool, _ = pool_of(seed, "plain", k=3)
    pool.improve()
    rng = np.random.default_rng(0)
    for _ in range(60):
        pool.perturb(rng)
    best = min(
        exact_value(pool.G, np.array(S), 0.0, 1.0) for S in itertools.combinations(range(30), 3)
    )
    assert pool.value == pytest.approx(best, rel=1e-6)
