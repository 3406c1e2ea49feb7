"""The response table and its local search, against inverses, exact refits and enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_quadratic as naive
from fewer import MMD, Atoms, Moments, SparseSimplex
from fewer._compiled import local_search as search
from fewer._compiled import response_table as tables
from fewer._compiled.box_quadratic import box_weights
from fewer.engines.pool import CandidatePool, blank, regular, rules_of, settle
from fewer.similarity import similarity_of

some = settings(max_examples=40)
seeds = st.integers(0, 10**6)
BOXES = {"simplex": (0.0, 1.0), "wide": (0.001, 0.8), "lower": (0.05, 1.0), "both": (0.05, 0.3), "fixed": (0.2, 0.2)}


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
    return rules_of(C, np.arange(len(G)), np.diag(G).copy(), k)


def check(G, table):
    """Every entry of the table is what its definition says."""
    s = int(table.count[0])
    units, free = table.units[:s], table.free[:s]
    M, u, T, curve, edge = naive.response_table(G, units, free)
    np.testing.assert_allclose(table.M[:s, :s], M, rtol=1e-6, atol=1e-6 * max(np.abs(M).max(), 1.0))
    np.testing.assert_allclose(table.u[:s], u, rtol=1e-6, atol=1e-6 * max(np.abs(u).max(), 1.0))
    np.testing.assert_allclose(table.T[:s], T, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(table.curve, curve, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(table.edge, edge, rtol=1e-6, atol=1e-8)
    assert np.flatnonzero(table.inside).tolist() == sorted(units.tolist())


def standing(G, k, units, weights, limits):
    """A table on some units, and the slopes, F, level and 1 / h that belong to it."""
    table, slope = blank(G, k), np.empty(len(G))
    settle(G, limits, table, np.asarray(units), np.asarray(weights, float))
    return table, slope, tables.slopes(table, slope)


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
        tables.join(G, table, j, 0.2)
        check(G, table)
        if rng.random() < 0.7:
            tables.let_go(table, int(table.count[0]) - 1)
            check(G, table)
    for _ in range(12):
        a = int(rng.integers(table.count[0]))
        tables.lay_down(table, a) if table.free[a] else tables.let_go(table, a)
        check(G, table)
    for a in (1, 3, 0):
        tables.leave(table, a)
        check(G, table)


@pytest.mark.parametrize("box", BOXES)
def test_a_table_computed_afresh_equals_its_definition(box):
    G, (low, high) = gram(7), BOXES[box]
    units, w = np.array([4, 9, 0, 17, 22]), np.array([low, 0.1, 0.3, 0.2, min(high, 0.4)])
    table, _, _ = standing(G, 5, units, w, rules(G, 5, min_weight=low, max_weight=high))
    check(G, table)
    at_bound = (w <= low + 1e-13) | (w >= (high if high < 1 else 2.0) - 1e-13)
    assert table.free[:5].tolist() == (~at_bound).tolist()


def test_copies_are_the_table_bit_for_bit():
    G = gram(1)
    limits = rules(G, 5, max_weight=0.5)
    table, _, _ = standing(G, 5, [2, 6, 11, 19], [0.5, 0.2, 0.2, 0.1], limits)
    other = blank(G, 5)
    tables.copied(table, other)
    for name in table._fields:
        assert getattr(other, name).tobytes() == getattr(table, name).tobytes()


@some
@given(seeds, st.integers(1, 6), st.sampled_from(list(BOXES)))
def test_sliding_ends_at_the_best_weights(seed, size, box):
    G, (low, high) = gram(seed % 50), BOXES[box]
    if size * low > 1 or size * high < 1 - 1e-12:
        return
    units = np.random.default_rng(seed).permutation(25)[:size]
    limits = rules(G, 6, min_weight=low, max_weight=high)
    table, slope, _ = standing(G, 6, units, np.full(size, 1.0 / size), limits)
    found, w = tables.slide(limits, table, slope), table.w[: table.count[0]]
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
    limits = rules(G, k, min_weight=low, max_weight=high)
    return (*standing(G, k, units[kept], w[kept], limits), limits)


def swapped_weights(G, table, a, j, t):
    """The weights when unit j takes t and the place of a, the free others follow and the resting ones stay."""
    s = int(table.count[0])
    others = [b for b in range(s) if b != a]
    free, rest = [b for b in others if table.free[b]], [b for b in others if not table.free[b]]
    units = table.units[free]
    fixed = np.append(table.units[rest], j).astype(int)
    v = np.append(table.w[rest], t)
    if not free:
        return fixed, v
    K = np.ones((len(free) + 1,) * 2)
    K[:-1, :-1], K[-1, -1] = G[np.ix_(units, units)], 0.0
    right = np.append(-G[np.ix_(units, fixed)] @ v, 1.0 - v.sum())
    return np.append(units, fixed), np.append(np.linalg.solve(K, right)[:-1], v)


def equal_refits(seed, low, high):
    """Check the values of all moves from the best weights on a support; how many of them are those of a refit."""
    G, equal = gram(seed), 0
    table, slope, (value, _, inverse), limits = best_support(G, 5, low, high, seed)
    s, values, shares = int(table.count[0]), np.empty(25), np.empty(25)
    for a in range(-1, s):
        if (a < 0 and s == 5) or (a >= 0 and table.free[:s].sum() == table.free[a]):
            continue
        search.move_values(limits, table, a, slope, inverse, False, values, shares)
        for j in np.flatnonzero(~table.inside):
            units, w = swapped_weights(G, table, a, j, shares[j])
            moved = float(w @ G[np.ix_(units, units)] @ w)
            assert value + values[j] == pytest.approx(moved, rel=1e-5, abs=1e-9)
            rests = not table.free[:s].all() or not low + 1e-9 < shares[j] < high - 1e-9
            if rests or w.min() < low or w.max() > high:
                continue
            equal += 1
            assert value + values[j] == pytest.approx(exact_value(G, units, low, high), rel=1e-5, abs=1e-9)
            assert search.sure(limits, table, a, j, inverse, shares[j])
    return equal


@pytest.mark.parametrize("box", BOXES)
def test_move_values_equal_fresh_refits_where_no_further_bound_is_met(box):
    """Where others would leave their bounds, the value is that of the weights that do."""
    equal = sum(equal_refits(seed, *BOXES[box]) for seed in range(6))
    assert equal > 20 or box in ("both", "fixed")


@pytest.mark.parametrize("seed", range(3))
def test_a_unit_that_leaves_alone_changes_f_by_what_is_said(seed):
    G = gram(seed)
    table, slope, (value, _, inverse), limits = best_support(G, 5, 0.0, 1.0, seed)
    units, values, shares = table.units[: table.count[0]], np.empty(25), np.empty(25)
    for a in range(len(units)):
        alone = search.move_values(limits, table, a, slope, inverse, False, values, shares)
        rest = np.delete(units, a)
        M = np.linalg.inv(G[np.ix_(rest, rest)])
        assert value + alone == pytest.approx(1.0 / M.sum(), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_best_moves_lists_the_best_swap(seed):
    """Of all swaps after which all weights stay positive, by enumeration."""
    G = gram(seed, 12)
    table, slope, (value, _, inverse), limits = best_support(G, 4, 0.0, 1.0, seed)
    s = int(table.count[0])
    moves = search.Moves(np.empty(6), np.empty(6, np.int64), np.empty(6))
    search.best_moves(limits, table, slope, np.zeros(12, bool), value, inverse, moves)
    for a in range(s):
        values = {}
        for j in np.flatnonzero(~table.inside):
            units = np.append(np.delete(table.units[:s], a), j)
            w = box_weights(G[np.ix_(units, units)], np.zeros(s), 0.0, 1.0, np.full(s, 1.0 / s))
            if w.min() > 0:
                values[int(j)] = float(w @ G[np.ix_(units, units)] @ w)
        best = min(values.values(), default=np.inf)
        if best < value * (1 - 1e-6):
            assert value + moves.change[a] <= best + 1e-9
            if moves.enter[a] in values:
                assert values[moves.enter[a]] == pytest.approx(best, rel=1e-6)


def test_barred_and_held_units_take_no_part_in_moves():
    G = gram(2, 12)
    limits = rules(G, 4, include=[1])
    table, slope, (value, _, inverse) = standing(G, 4, [1, 5, 7], [0.4, 0.3, 0.3], limits)
    value = tables.slide(limits, table, slope)
    _, _, inverse = tables.slopes(table, slope)
    moves = search.Moves(np.empty(6), np.empty(6, np.int64), np.empty(6))
    barred = np.zeros(12, bool)
    barred[[0, 2, 3, 4]] = True
    search.best_moves(limits, table, slope, barred, value, inverse, moves)
    held = int(np.flatnonzero(table.units[: table.count[0]] == 1)[0])
    assert moves.change[held] == np.inf
    assert not set(moves.enter[: table.count[0] + 1].tolist()) & {0, 1, 2, 3, 4, 5, 7}


def improved(F, k, start):
    """A pool after local search from a support."""
    pool = CandidatePool(F, SparseSimplex(F.space, k), np.arange(F.space.size))
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
    F = MMD(Atoms(25), gram(seed), np.full(25, 1 / 25)) if kind == "mmd" else least_squares(seed, 25, 15)
    pool = improved(F, 4, np.sort(np.random.default_rng(seed).permutation(25)[:4]))
    assert pool.value <= min(positive_swaps(pool)) * (1 + 1e-6)


def test_a_swap_is_found_although_a_better_one_would_turn_a_weight_negative():
    pool = improved(least_squares(5, 4, 4), 2, np.array([0, 1]))
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
        assert np.bincount(limits.groups[units]).max() <= limits.max_per_group


def pool_of(seed, name, k=6):
    """A pool in a random support that obeys some rules."""
    F = least_squares(seed, 30, 20)
    limits = SparseSimplex(F.space, k, **RULES[name])
    pool = CandidatePool(F, limits, np.flatnonzero(limits.open))
    pool.stand(limits.fitting(np.random.default_rng(seed).permutation(30), limits.sizes[1]))
    return pool, limits


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_rules_are_kept_and_f_never_rises(seed, name):
    pool, limits = pool_of(seed, name)
    rng = np.random.default_rng(seed)
    obeys(pool, limits)
    actions = [lambda: pool.improve(1), pool.improve, pool.replace_lightest, *[lambda: pool.perturb(rng)] * 25]
    for act in actions:
        before = pool.value
        act()
        obeys(pool, limits)
        assert pool.value <= before * (1 + 1e-9)
        low, high = limits.min_weight, limits.max_weight
        assert pool.value == pytest.approx(exact_value(pool.G, np.searchsorted(pool.units, pool.support), low, high))
        check(pool.G, pool._table)


@pytest.mark.parametrize("name", ["plain", "weights", "all"])
def test_perturbations_stay_only_where_f_is_lower_and_go_back_bit_for_bit(name):
    pool, _ = pool_of(1, name)
    pool.improve()
    rng, stayed = np.random.default_rng(0), []
    for _ in range(40):
        before, value = [array[: pool.size].copy() for array in pool._table[:5]], pool.value
        state = pool._table.curve.copy(), pool._table.edge.copy(), pool._table.inside.copy()
        stayed.append(pool.perturb(rng))
        if stayed[-1]:
            assert pool.value < value
            continue
        assert pool.value == value
        assert all(a.tobytes() == b[: pool.size].tobytes() for a, b in zip(before, pool._table[:5], strict=True))
        assert all(a.tobytes() == b.tobytes() for a, b in zip(state, pool._table[7:], strict=True))
    assert not all(stayed)
    assert not pool._barred.any()


@pytest.mark.parametrize("seed", range(4))
def test_perturbations_reach_the_optimum_of_all_supports(seed):
    pool, _ = pool_of(seed, "plain", k=3)
    pool.improve()
    rng = np.random.default_rng(0)
    for _ in range(60):
        pool.perturb(rng)
    best = min(exact_value(pool.G, np.array(S), 0.0, 1.0) for S in itertools.combinations(range(30), 3))
    assert pool.value == pytest.approx(best, rel=1e-6)
