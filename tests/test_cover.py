"""Covers: compiled functions against twins, searches and bounds against enumeration and HiGHS."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import naive_cover as naive
from fewer._compiled import cover as _cover
from fewer._compiled import fold as _fold
from fewer._compiled import prices as _prices
from fewer.codes import grouped
from fewer.cover import KL, L2, Cover, cover_of
from fewer.rules import NO_UNITS, Rules
from fewer.search.coverage import CoverSearch as Search
from fewer.search.coverage import best_mask, subset_sums
from fewer.search.prices import Proof, common_unit, even_bound
from fewer.spaces import States

MODES = [KL, L2]
seeds = st.integers(0, 10**6)
quick = settings(max_examples=60, deadline=None)


def folded(x, weights=None, m=None, max_size=None):
    """The cover of a table, dense or sparse."""
    states = States(x, weights, m)
    return cover_of(states, states.weights, max_size or states.n)


def filled(cover, k):
    search = Search(cover, Rules(cover.n, k))
    search.grow(cover.n)
    return search


def fitting(cover, k):
    """Without the supports of more than k dimensions."""
    return cover.take(np.flatnonzero(np.diff(cover.indptr) <= k))


def random_cover(rng, n=None, rows=None, counted=True, mode=KL):
    """A cover of random rows with varying cardinalities, density and weights.

    Some columns may repeat.
    """
    n = n or int(rng.integers(2, 10))
    rows = rows or int(rng.integers(1, 60))
    m = rng.integers(2, 5, n)
    x = (rng.random((rows, n)) < rng.uniform(0.1, 0.7)) * rng.integers(1, m, (rows, n))
    if rng.random() < 0.3:
        x[:, -1] = x[:, 0]
    weights = np.full(rows, 1 / rows) if counted else rng.dirichlet(np.ones(rows))
    return replace(folded(x, weights, np.maximum(m, x.max(axis=0) + 1)), mode=mode)


def random_inside(rng, n, k):
    inside = np.zeros(n, np.bool_)
    inside[rng.choice(n, k, replace=False)] = True
    return inside


def prove(cover, k):
    """(face, gain, bounds) by branch and bound from the first dimensions, the newest branch first."""
    face = np.arange(k)
    gain = cover.gain(face)
    proof = Proof(cover, Rules(cover.n, k), cover.measure(face)[0])
    nodes, bounds = [(np.inf, proof.node(NO_UNITS, NO_UNITS))], []
    while nodes:
        above, node = nodes.pop()
        bound, left, found = proof.look(node, gain)
        nodes += [(min(above, bound), after) for after in left]
        if found is not None and cover.gain(found) > gain:
            face, gain = found, cover.gain(found)
        bounds.append(max([gain, *(proof.rounded(top) for top, _ in nodes)]) + proof.rounding)
    return face, gain, bounds


@quick
@given(seeds)
def test_fold_adds_up_states_then_supports(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (rng.integers(1, 40), rng.integers(1, 5)))
    weights = rng.dirichlet(np.ones(len(x)))
    mass, squares = naive.fold(x, weights)
    for rows in (x, sp.csr_array(x), sp.csr_matrix(x.astype(np.int8))):
        cover = folded(rows, weights)
        found = naive.supports(cover)
        assert len(set(found)) == len(found) == len(mass)
        np.testing.assert_allclose(cover.mass, [mass[s] for s in found])
        np.testing.assert_allclose(cover.squares, [squares[s] for s in found])
    np.testing.assert_allclose(np.exp(cover.log_m), x.max(axis=0) + 1)
    small = folded(x, weights, max_size=1)
    assert set(naive.supports(small)) == {s for s in mass if len(s) <= 1}


@pytest.mark.parametrize("bits", [0, 1, 2**64 - 1])
def test_group_rows_survives_hash_collisions(bits):
    table = sp.csr_array(
        np.array([[1, 0, 0], [1, 1, 0], [2, 0, 0], [1, 0, 1], [0, 0, 0], [1, 1, 0]], np.int32)
    )
    arrays = (
        table.indptr.astype(np.int64),
        table.indices.astype(np.int32),
        table.data,
        np.arange(6, dtype=np.int32),
    )
    labels, rows = _fold.group_rows(*arrays, False, np.uint64(bits))
    assert labels.tolist() == [0, 1, 0, 2, 3, 1]
    assert rows.tolist() == [0, 1, 3, 4]
    assert _fold.group_rows(*arrays, True, np.uint64(bits))[0].tolist() == [0, 1, 2, 3, 4, 1]
    assert grouped(table, np.array([2, 3, 0]), True)[0].tolist() == [0, 1, 2]


@quick
@given(seeds, st.sampled_from(MODES))
def test_kernels_equal_their_twins(seed, mode):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng, counted=False, mode=mode)
    k = int(rng.integers(1, cover.n))
    inside = random_inside(rng, cover.n, k)
    face = np.flatnonzero(inside)
    missing = cover.missing(face)
    assert missing.tolist() == [len(s - set(face.tolist())) for s in naive.supports(cover)]
    np.testing.assert_allclose(cover.measure(face), naive.measure(cover, face.tolist()), atol=1e-14)
    index = cover.indptr, cover.indices, *cover.index
    values = cover.mass, cover.squares, cover.mass, cover.log_m, mode, np.ones(cover.n)
    state = _cover.Face(inside, missing)
    ahead = _cover.look_ahead(state, _cover.Supports(*index, *values, k + 3.0))
    np.testing.assert_allclose(ahead, naive.lookahead(cover, cover.mass, inside, 3), atol=1e-14)
    full = _cover.Supports(*index, *values, float(k))
    r, a, after, before = _cover.best_swap(state, full)
    assert inside[r]
    assert not inside[a]
    assert before == pytest.approx(cover.gain(face), abs=1e-14)
    assert after == pytest.approx(naive.best_swap_gain(cover, face.tolist(), mode), abs=1e-13)
    assert after == pytest.approx(cover.gain(np.append(face[face != r], a)), abs=1e-13)
    prices, base = naive.even(cover, cover.mass)
    assert even_bound(replace(cover, mode=KL), Rules(cover.n, k)) == pytest.approx(
        base + np.sort(prices)[cover.n - k :].sum()
    )
    search = Search(cover, Rules(cover.n, k))
    while search.add_best():
        pass
    assert search.units.tolist() == naive.greedy(cover, k, mode)
    assert search.gain == pytest.approx(cover.gain(search.units), abs=1e-14)
    for i in range(cover.n):
        starts, holders = cover.index
        assert holders[starts[i] : starts[i + 1]].tolist() == [
            e for e, s in enumerate(naive.supports(cover)) if i in s
        ]


@quick
@given(st.integers(0, 7), seeds)
def test_zeta_equals_its_twin(n, seed):
    f = np.random.default_rng(seed).random(1 << n)
    expected = naive.zeta(f)
    np.testing.assert_allclose(subset_sums(f), expected)


@quick
@given(seeds)
def test_levelling_equals_its_twin_and_never_raises_the_spread(seed):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng, n=8)
    fixed = rng.choice(3, 8, p=[0.8, 0.1, 0.1]).astype(np.int8)
    costs, room = (np.ones(8), 5.0) if rng.random() < 0.5 else (rng.uniform(0.5, 3.0, 8), 8.0)
    left = _prices.restrict(
        cover.indptr,
        cover.indices,
        cover.mass.copy(),
        rng.random(len(cover.indices)),
        fixed,
        costs,
        room,
    )
    _, lone, ptr, items, value, share, _, _ = left
    before = lone + np.bincount(items, share, 8)
    expected, _ = naive.level(before, ptr, items, value, share, costs)
    prices = _prices.level(left, costs)
    np.testing.assert_allclose(prices, expected, atol=1e-12)
    np.testing.assert_allclose(prices, lone + np.bincount(items, share, 8), atol=1e-12)
    np.testing.assert_allclose(
        np.add.reduceat(share, ptr[:-1]) if len(value) else [], value, atol=1e-12
    )
    assert (prices**2 / costs).sum() <= (before**2 / costs).sum() + 1e-12


@quick
@given(seeds)
def test_prices_bound_every_face(seed):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng)
    k = int(rng.integers(1, cover.n))
    fixed, values, split = (
        np.zeros(cover.n, np.int8),
        cover.mass.copy(),
        np.zeros(len(cover.indices)),
    )
    floor = rng.random()
    ended, bound, _, work = _prices.tighten(
        cover.indptr, cover.indices, values, split, fixed, np.ones(cover.n), k, floor, np.inf, 50
    )
    better = [f for f in combinations(range(cover.n), k) if cover.gain(np.array(f)) > floor + 1e-12]
    assert not (better and ended == _prices.CLOSED)
    assert work >= 0
    for face in better:
        assert cover.gain(np.array(face)) <= bound + 1e-12
        assert all(fixed[j] != _prices.OUT for j in face)
        assert all(j in face for j in np.flatnonzero(fixed == _prices.IN))
        covered = [s <= set(face) for s in naive.supports(cover)]
        assert (values[covered] > 0).all()


@quick
@given(seeds)
def test_the_dearest_equal_a_sort(seed):
    rng = np.random.default_rng(seed)
    prices = rng.integers(0, 6, 9) / 4
    fixed = rng.choice(3, 9, p=[0.7, 0.2, 0.1]).astype(np.int8)
    free = np.sort(prices[fixed == _prices.FREE])[::-1]
    for room in range(1, len(free)):
        found = _prices.dearest(prices, fixed, np.ones(9), float(room))
        assert found == (free[:room].sum(), free[room - 1], free[room])


@settings(max_examples=60, deadline=None)
@given(seeds, st.sampled_from(MODES), st.booleans())
def test_everything_agrees_with_enumeration(seed, mode, counted):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng, counted=counted, mode=mode)
    for k in range(1, cover.n + 1):
        best = naive.best(cover, k, mode)
        assert cover.gain(best_mask(cover, Rules(cover.n, k))) == pytest.approx(best, abs=1e-13)
        face, gain, bounds = prove(fitting(cover, k), k)
        assert cover.gain(face) == pytest.approx(best, abs=1e-11)
        assert min(bounds) >= best - 1e-13
        assert bounds[-1] <= best + 1e-9
        assert gain == pytest.approx(best, abs=1e-11)
        assert even_bound(cover, Rules(cover.n, k)) >= best - 1e-12
        search = filled(cover, k)
        gains = [cover.gain(search.units)]
        search.improve()
        gains.append(cover.gain(search.units))
        for _ in range(0 if search.exhausted else 5):
            search.perturb(rng)
            gains.append(cover.gain(search.units))
            assert search.gain == pytest.approx(gains[-1], abs=1e-13)
            assert (search.face.missing == cover.missing(search.units)).all()
        assert (np.diff([*gains, best]) >= -1e-12).all()
        assert len(search.units) == k


@pytest.mark.parametrize("mode", MODES)
def test_proof_agrees_with_all_masks_on_larger_problems(mode):
    for seed in range(4):
        cover = random_cover(np.random.default_rng(seed), n=16, rows=3000, mode=mode)
        for k in (4, 8, 12):
            gain = cover.gain(best_mask(cover, Rules(cover.n, k)))
            assert prove(fitting(cover, k), k)[1] == pytest.approx(gain, abs=1e-11)


def test_the_proof_agrees_with_highs():
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 6, 30)
    x = rng.random((300, 30)) < 0.02 + 0.3 * (groups == rng.integers(0, 6, (300, 1)))
    cover = folded(x.astype(int))
    for k in (5, 10):
        c = fitting(cover, k)
        r, entries = np.repeat(np.arange(len(c)), np.diff(c.indptr)), np.arange(len(c.indices))
        a = sp.csr_array(
            (
                np.r_[np.ones(len(r)), -np.ones(len(r))],
                (np.r_[entries, entries], np.r_[30 + r, c.indices]),
            )
        )
        budget = np.r_[np.ones(30), np.zeros(len(c))]
        rules = [LinearConstraint(a, -np.inf, 0), LinearConstraint(budget, -np.inf, k)]
        answer = milp(
            np.r_[np.zeros(30), -c.mass],
            constraints=rules,
            integrality=budget,
            bounds=Bounds(0, 1),
            options={"mip_rel_gap": 0},
        )
        assert prove(c, k)[1] == pytest.approx(-answer.fun, abs=1e-9)


def test_common_unit():
    assert common_unit(np.array([2, 3, 5]) / 10) == pytest.approx((0.1, 0.0))
    assert common_unit(np.array([0.3, 0.31831])) == (0.0, 0.0)
    assert common_unit(np.zeros(0)) == (0.0, 0.0)


def test_masses_that_are_nearly_whole_rows_are_told_apart_by_the_bound():
    """The second mass is 4e-7 rows above the first: a face of as many rows may be better by that."""
    mass = np.array([1.0, 1.0 + 4e-7])
    near = Cover(np.arange(3), np.arange(2), mass / mass.sum(), np.square(mass), np.log([2.0, 2.0]))
    proof = Proof(near, Rules(near.n, 1), 0.0)
    _bound, left, found = proof.look(proof.node(NO_UNITS, NO_UNITS), near.gain(np.array([0])))
    assert not left
    assert found is None or found.tolist() == [1]
    assert near.gain(np.array([0])) + proof.rounding >= near.gain(np.array([1]))
