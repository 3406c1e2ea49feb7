"""Covers: compiled functions against twins, answers against enumeration, bounds against the truth."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from fewer.solvers._proof import Proof, by_zeta, common_unit, first_bound
from fewer.solvers._search import Search
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

import naive_cover as naive
from fewer._compiled import cover as _cover
from fewer._compiled import fold as _fold
from fewer._compiled import prices as _prices
from fewer._compiled import zeta as _zeta
from fewer.cover import KL, L2, fold, promise
from fewer.result import Status
from fewer.solvers import faces
from fewer.solvers._drive import drive
from fewer.tables import as_table

MODES = [KL, L2]
seeds = st.integers(0, 10**6)
quick = settings(max_examples=60, deadline=None)


class Solution(NamedTuple):
    face: np.ndarray
    gain: float
    proven: bool


def folded(x, weights=None, m=None, max_size=None):
    """The cover of a table, dense or sparse."""
    table = as_table(x)
    N, n = table.shape
    weights = np.full(N, 1 / N) if weights is None else weights
    m = 1 + table.max(axis=0).toarray().reshape(-1) if m is None else m
    return fold(table.indptr, table.indices, table.data, weights, np.asarray(m), max_size or n)[0]


def solve(cover, k, mode, seed=0):
    """(face, gain, proven) of the exact solver."""
    problem = faces.FaceProblem(cover.fitting(k), 2.0, k, mode)
    result = drive(problem, problem, faces.exact(problem, seed))
    proven = result.status is Status.OPTIMAL and abs(result.gap) <= 1e-9
    return Solution(result.support, cover.gain(result.support, mode), proven)


def filled(cover, k, mode, seed, face=None):
    search = Search(cover, k, mode, seed, face)
    search.fill(k)
    return search


def random_cover(rng, n=None, rows=None, counted=True):
    """A cover of random rows with varying cardinalities, density and weights; some columns may repeat."""
    n = n or int(rng.integers(2, 10))
    rows = rows or int(rng.integers(1, 60))
    m = rng.integers(2, 5, n)
    x = (rng.random((rows, n)) < rng.uniform(0.1, 0.7)) * rng.integers(1, m, (rows, n))
    if rng.random() < 0.3:
        x[:, -1] = x[:, 0]
    weights = np.full(rows, 1 / rows) if counted else rng.dirichlet(np.ones(rows))
    return folded(x, weights, np.maximum(m, x.max(axis=0) + 1))


def random_inside(rng, n, k):
    inside = np.zeros(n, np.bool_)
    inside[rng.choice(n, k, replace=False)] = True
    return inside


def prove(cover, k, mode, face=None):
    proof = Proof(cover, k, mode, np.arange(k) if face is None else face)
    while not proof.done:
        proof.step()
    return proof


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


def test_fold_reads_unsorted_rows_and_explicit_zeros():
    messy = sp.csr_array((np.array([1, 0, 1, 1, 1]), np.array([2, 1, 0, 0, 2]), np.array([0, 3, 5])), shape=(2, 3))
    before = messy.indices.copy()
    cover = folded(messy)
    assert naive.supports(cover) == [{0, 2}]
    assert cover.mass.tolist() == [1.0]
    assert (messy.indices == before).all()


def test_group_rows_survives_hash_collisions(monkeypatch):
    monkeypatch.setattr(_fold, "_hash", lambda *_: np.uint64(0))
    monkeypatch.setattr(_fold, "_same", _fold._same.py_func)
    indptr, indices = np.array([0, 1, 3, 4, 6]), np.array([0, 0, 1, 0, 0, 2])
    labels, rows = _fold.group_rows.py_func(indptr, indices, np.ones(6, int), np.arange(4), False)
    assert labels.tolist() == [0, 1, 0, 2]
    assert rows.tolist() == [0, 1, 3]


@quick
@given(seeds, st.sampled_from(MODES))
def test_kernels_equal_their_twins(seed, mode):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng, counted=False)
    k = int(rng.integers(1, cover.n))
    inside = random_inside(rng, cover.n, k)
    face = np.flatnonzero(inside)
    missing = _cover.count_missing(cover.indptr, cover.indices, inside)
    assert missing.tolist() == [len(s - set(face.tolist())) for s in naive.supports(cover)]
    np.testing.assert_allclose(cover.measure(face), naive.measure(cover, face.tolist()), atol=1e-14)
    scores = _cover.lookahead(cover.indptr, cover.indices, cover.mass, inside, missing, 3)
    np.testing.assert_allclose(scores, naive.lookahead(cover, cover.mass, inside, 3), atol=1e-14)
    r, a, after, before = _cover.best_swap(
        cover.indptr, cover.indices, inside, missing, cover.mass, cover.squares, cover.log_m, mode
    )
    assert inside[r]
    assert not inside[a]
    assert before == pytest.approx(cover.gain(face, mode), abs=1e-14)
    assert after == pytest.approx(naive.best_swap_gain(cover, face.tolist(), mode), abs=1e-13)
    assert after == pytest.approx(cover.gain(np.append(face[face != r], a), mode), abs=1e-13)
    prices, base = _prices.even(cover.indptr, cover.indices, cover.mass, cover.n)
    np.testing.assert_allclose(prices, naive.even(cover, cover.mass)[0], atol=1e-14)
    assert base == pytest.approx(naive.even(cover, cover.mass)[1])
    values = promise(cover, k, mode)
    search = Search(cover, k, mode, 0)
    while search.grow(2):
        pass
    assert search.face.tolist() == naive.greedy(cover, k, mode, values)
    for i in range(cover.n):
        starts, holders = cover.index
        assert holders[starts[i] : starts[i + 1]].tolist() == [e for e, s in enumerate(naive.supports(cover)) if i in s]


@quick
@given(seeds)
def test_look_ahead_equals_its_twin_and_exchange_ends_where_no_swap_helps(seed):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng, counted=False)
    k = int(rng.integers(1, cover.n))
    assert filled(cover, k, KL, 0).face.tolist() == naive.fill(cover, cover.mass, [], k).tolist()
    for mode in MODES:
        search = Search(cover, k, mode, 0, face=rng.choice(cover.n, k, replace=False))
        search.exchange()
        gain = cover.gain(search.face, mode)
        assert naive.best_swap_gain(cover, search.face.tolist(), mode) <= gain + 1e-11 * abs(gain) + 1e-15


def test_moves_need_no_index():
    cover = random_cover(np.random.default_rng(7), n=9, rows=100)
    inside = random_inside(np.random.default_rng(8), 9, 4)
    none = np.zeros(0, np.int64), np.zeros(0, np.int32)
    for i, step in ((int(np.flatnonzero(~inside)[0]), -1), (int(np.flatnonzero(inside)[1]), 1)):
        results = []
        for index in (cover.index, none):
            now, missing = inside.copy(), _cover.count_missing(cover.indptr, cover.indices, inside)
            _cover.move(i, step, now, missing, cover.indptr, cover.indices, *index)
            assert (missing == _cover.count_missing(cover.indptr, cover.indices, now)).all()
            results.append(missing)
        assert (results[0] == results[1]).all()


@quick
@given(st.integers(0, 2**63), st.integers(1, 1000))
def test_draws_equal_their_twin(seed, bound):
    state = np.array([seed], np.uint64)
    assert [_cover.draw(state, bound) for _ in range(5)] == [x % bound for x in naive.draws(seed, 5)]


@quick
@given(st.integers(0, 7), seeds)
def test_zeta_equals_its_twin(n, seed):
    f = np.random.default_rng(seed).random(1 << n)
    expected = naive.zeta(f)
    _zeta.zeta(f, n)
    np.testing.assert_allclose(f, expected)


def test_zeta_of_many_bits_counts_subsets():
    f = np.ones(1 << 16)
    _zeta.zeta(f, 16)
    assert all(f[s] == 2 ** s.bit_count() for s in (0, 1, 77, 65535, 40000))


@quick
@given(seeds)
def test_levelling_equals_its_twin_and_never_raises_the_spread(seed):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng, n=8)
    fixed = rng.choice(3, 8, p=[0.8, 0.1, 0.1]).astype(np.int8)
    _, lone, ptr, items, value, share, _, entry = _prices.restrict(
        cover.indptr, cover.indices, cover.mass.copy(), rng.random(len(cover.indices)), fixed, 5
    )
    prices = _prices.price(lone, items, share)
    expected, _ = naive.level(prices, ptr, items, value, share)
    before = (prices**2).sum()
    _prices.level(prices, ptr, items, value, share, entry)
    np.testing.assert_allclose(prices, expected, atol=1e-12)
    np.testing.assert_allclose(prices, _prices.price(lone, items, share), atol=1e-12)
    np.testing.assert_allclose(np.add.reduceat(share, ptr[:-1]) if len(value) else [], value, atol=1e-12)
    assert (prices**2).sum() <= before + 1e-12


@quick
@given(seeds)
def test_prices_bound_every_face(seed):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng)
    k = int(rng.integers(1, cover.n))
    fixed, values, split = np.zeros(cover.n, np.int8), cover.mass.copy(), np.zeros(len(cover.indices))
    floor = rng.random()
    ended, bound, _ = _prices.tighten(cover.indptr, cover.indices, values, split, fixed, k, floor, np.inf, 50)
    better = [f for f in combinations(range(cover.n), k) if cover.gain(np.array(f), KL) > floor + 1e-12]
    assert not (better and ended == _prices.CLOSED)
    for face in better:
        assert cover.gain(np.array(face), KL) <= bound + 1e-12
        assert all(fixed[j] != _prices.OUT for j in face)
        assert all(j in face for j in np.flatnonzero(fixed == _prices.IN))
        covered = [s <= set(face) for s in naive.supports(cover)]
        assert (values[covered] > 0).all()


@settings(max_examples=80, deadline=None)
@given(seeds, st.sampled_from(MODES), st.booleans())
def test_everything_agrees_with_enumeration(seed, mode, counted):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng, counted=counted)
    for k in range(1, cover.n + 1):
        best = naive.best(cover, k, mode)
        assert cover.gain(by_zeta(cover, k, mode), mode) == pytest.approx(best, abs=1e-13)
        proof = prove(cover.fitting(k), k, mode)
        assert cover.gain(proof.face, mode) == pytest.approx(best, abs=1e-11)
        assert best - 1e-13 <= proof.bound <= best + 1e-9
        assert first_bound(cover, k, mode) >= best - 1e-12
        search = filled(cover, k, mode, seed)
        gains = [cover.gain(search.face, mode)]
        search.exchange()
        gains.append(cover.gain(search.face, mode))
        search.kick(5)
        gains.append(cover.gain(search.face, mode))
        assert (np.diff([*gains, best]) >= -1e-12).all()
        assert len(search.face) == k
        solution = solve(cover, k, mode)
        assert solution.proven
        assert solution.gain == pytest.approx(best, abs=1e-11)


@settings(max_examples=40, deadline=None)
@given(seeds, st.sampled_from(MODES))
def test_bounds_hold_at_every_step(seed, mode):
    rng = np.random.default_rng(seed)
    cover = random_cover(rng, n=9, rows=200)
    k = int(rng.integers(2, 8))
    best = naive.best(cover, k, mode)
    proof = Proof(cover.fitting(k), k, mode, np.arange(k))
    while not proof.done:
        assert proof.gain <= best + 1e-12
        assert proof.bound >= best - 1e-12
        proof.step()


@pytest.mark.parametrize("mode", MODES)
def test_proof_agrees_with_zeta_on_larger_problems(mode):
    for seed in range(5):
        cover = random_cover(np.random.default_rng(seed), n=16, rows=3000)
        for k in (4, 8, 12):
            proof = prove(cover.fitting(k), k, mode)
            assert cover.gain(proof.face, mode) == pytest.approx(cover.gain(by_zeta(cover, k, mode), mode), abs=1e-11)


def test_solve_agrees_with_highs():
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 6, 30)
    x = rng.random((800, 30)) < 0.02 + 0.3 * (groups == rng.integers(0, 6, (800, 1)))
    cover = folded(x.astype(int))
    for k in (5, 10):
        c = cover.fitting(k)
        r, entries = np.repeat(np.arange(len(c)), np.diff(c.indptr)), np.arange(len(c.indices))
        a = sp.csr_array(
            (np.r_[np.ones(len(r)), -np.ones(len(r))], (np.r_[entries, entries], np.r_[30 + r, c.indices]))
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
        solution = solve(cover, k, KL)
        assert solution.proven
        assert solution.gain == pytest.approx(-answer.fun, abs=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_same_seed_same_bits_and_arguments_untouched(mode):
    cover = random_cover(np.random.default_rng(3), n=30, rows=500)
    before = [a.copy() for a in (cover.indptr, cover.indices, cover.mass, cover.squares, cover.log_m)]
    faces = []
    for _ in range(2):
        search = filled(cover, 8, mode, seed=11)
        search.exchange()
        search.kick(10)
        search.kick(15)
        faces.append(search.face.tolist())
    assert faces[0] == faces[1]
    first, second = solve(cover, 5, mode, seed=1), solve(cover, 5, mode, seed=1)
    assert first.gain == second.gain
    assert (first.face == second.face).all()
    for old, new in zip(before, (cover.indptr, cover.indices, cover.mass, cover.squares, cover.log_m), strict=False):
        assert (old == new).all()


@pytest.mark.parametrize("mode", MODES)
def test_edges(mode):
    one = folded(np.array([[1], [0], [1]]))
    assert solve(one, 1, mode).gain == pytest.approx(1.0 if mode == KL else 5 / 9)
    assert prove(one, 1, mode).face.tolist() == [0]
    wide = np.zeros((4, 40), int)
    wide[:, :30] = 1
    nothing = solve(folded(wide), 5, mode)
    assert nothing.proven
    assert len(nothing.face) == 5
    assert nothing.gain == pytest.approx(0.0 if mode == KL else -(2.0**-5))
    everything = solve(folded(wide), 40, mode)
    assert everything.proven
    assert everything.gain == pytest.approx(1.0)
    wide[:2] = 0
    half = solve(folded(wide), 5, mode)
    assert half.gain == pytest.approx(0.5 if mode == KL else 0.25 - 0.25 * 2.0**-5)
    assert half.proven
    single = np.eye(40, dtype=int)
    assert solve(folded(single), 1, mode).proven
    assert prove(folded(single[:, :1]), 1, mode).gain == solve(folded(single[:, :1]), 1, mode).gain
    pairs = np.repeat(np.eye(15, dtype=int), 2, axis=1)
    assert folded(pairs).measure(solve(folded(pairs), 6, mode).face)[0] == pytest.approx(3 / 15)


def test_l2_prefers_larger_dimensions_when_nothing_fits():
    rows = np.ones((1, 25), int)
    solution = solve(folded(rows, m=np.r_[np.full(20, 2), np.full(5, 3)]), 5, L2)
    assert solution.face.tolist() == [20, 21, 22, 23, 24]
    assert solution.gain == pytest.approx(-(3.0**-5))


def test_common_unit():
    assert common_unit(np.array([2, 3, 5]) / 10) == pytest.approx(0.1)
    assert common_unit(np.array([0.3, 0.31831])) == 0.0
    assert common_unit(np.zeros(0)) == 0.0
