"""The strip of responses and the search in crowds, against inverses and values written out; swaps of the classifier."""

import numpy as np
import pytest

from fewer import MMD, Atoms, SparseSimplex
from fewer._compiled import strip as strips
from fewer.jobs import _refine
from fewer.similarity import similarity_of
from fewer.solvers import _crowd


def problem(seed, n=25):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return MMD(Atoms(n), similarity_of("rbf", 0.7)(X, X), np.full(n, 1 / n))


def naive_strip(G, units):
    """M, u, R, curve, edge of a support, by inverting its matrix."""
    M = np.linalg.inv(G[np.ix_(units, units)])
    u, R = M.sum(axis=1), M @ G[units]
    return M, u, R, np.diag(G) - np.einsum("ij,ij->j", G[units], R), 1 - u @ G[units]


def check(G, strip):
    s = strip.count[0]
    units = strip.units[:s]
    M, u, R, curve, edge = naive_strip(G, units)
    out = ~strip.inside
    np.testing.assert_allclose(strip.M[:s, :s], M, rtol=1e-6, atol=1e-6 * np.abs(M).max())
    np.testing.assert_allclose(strip.u[:s], u, rtol=1e-6, atol=1e-6 * np.abs(u).max())
    np.testing.assert_allclose(strip.R[:s], R, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(strip.curve[out], curve[out], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(strip.edge[out], edge[out], rtol=1e-6, atol=1e-9)
    assert np.array_equal(np.flatnonzero(strip.inside), np.sort(units))


@pytest.mark.parametrize("seed", range(5))
def test_a_strip_stays_what_it_says_through_joins_and_leaves(seed):
    G = _crowd.centred(problem(seed), np.arange(25))
    strip = _crowd.blank(G, 6)
    for j in (3, 8, 1, 20, 14):
        strips.join(G, strip, j)
        check(G, strip)
    for a in (1, 3, 0):
        strips.leave(strip, a)
        check(G, strip)
    afresh = _crowd.blank(G, 6)
    _crowd.settle(G, afresh, strip.units[: strip.count[0]].copy())
    assert afresh.u[: afresh.count[0]].sum() <= strip.u[: strip.count[0]].sum() * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_gains_of_swaps_are_differences_of_one_over_f(seed):
    G = _crowd.centred(problem(seed), np.arange(25))
    strip = _crowd.blank(G, 4)
    for j in (2, 9, 17, 23):
        strips.join(G, strip, j)
    before, gains = strip.u[:4].sum(), np.empty(25)
    for a in range(4):
        strips.swap_gains(strip, a, np.zeros(25), gains)
        for j in np.flatnonzero(~strip.inside):
            units = [j if b == a else strip.units[b] for b in range(4)]
            _, u, *_ = naive_strip(G, np.array(units))
            if u[a] > 0:  # the newcomer's weight; the formula counts nothing where it would be negative
                assert gains[j] == pytest.approx(u.sum() - before, rel=1e-5, abs=1e-6 * before)
            assert strips.positive_after(strip, a, j, 0.0) == bool((u > 0).all())


@pytest.mark.parametrize("seed", range(5))
def test_a_crowd_ends_where_no_swap_helps_and_kicks_never_worsen(seed):
    F = problem(seed)
    crowd = _crowd.Crowd(F, 4, np.arange(25), np.empty(0, np.int64), np.random.default_rng(0))
    crowd.exchange()
    support = crowd.support.tolist()
    value = F.value_on(np.sort(support))
    assert value == pytest.approx(crowd.f, rel=1e-6, abs=1e-9)
    swaps = [np.array(sorted({*support} - {i} | {j})) for i in support for j in range(25) if j not in support]
    positive = [S for S in swaps if (F.best_on(S)[S] > 0).all()]
    assert value <= min(F.value_on(S) for S in positive) * (1 + 1e-6)
    for _ in range(30):
        before = crowd.f
        assert crowd.kick() == (crowd.f < before)
        assert crowd.f <= before


def test_crowds_of_strangers_find_as_much_as_one_of_all(monkeypatch):
    F = problem(3, 300)
    C = SparseSimplex(F.space, 5)
    whole = min(found.value for found in _crowd.search(F, C, np.random.default_rng(0)) if found)
    monkeypatch.setattr(_crowd, "WIDE", 60)
    parts = min(found.value for found in _crowd.search(F, C, np.random.default_rng(0)) if found)
    assert whole <= parts <= 1.3 * whole


def test_the_cost_of_replacing_a_point_is_that_of_the_new_points():
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((60, 3)), rng.integers(0, 3, 60)
    similarity, mass = similarity_of("rbf", 1.0), rng.dirichlet(np.ones(60))

    def total(units):
        apart = _refine.squared_apart(X[units], X, similarity)
        margins = _refine.Margins(apart, codes[units][:, None] == codes[None])
        return margins, float(mass @ _refine.loss(margins.same, margins.other))

    units = np.array([0, 7, 11, 30, 42])
    margins, _ = total(units)
    for j in (3, 19, 55):
        d = _refine.squared_apart(X[[j]], X, similarity)[0]
        costs = margins.costs(d, codes[j] == codes, mass, 5)
        for out in range(5):
            changed = units.copy()
            changed[out] = j
            assert costs[out] == pytest.approx(total(changed)[1], abs=1e-5)
    margins.replace(2, d, codes[55] == codes)
    fresh, _ = total(np.array([0, 7, 55, 30, 42]))
    for name in ("same", "same2", "other", "other2"):
        np.testing.assert_allclose(getattr(margins, name), getattr(fresh, name), rtol=1e-5, atol=1e-12)


def test_refined_points_classify_their_rows_better():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.standard_normal((80, 2)) + shift for shift in ([0, 0], [3, 0], [0, 3])])
    codes, similarity = np.repeat([0, 1, 2], 80), similarity_of("rbf", 1.0)
    start = np.array([0, 1, 80, 81, 160, 161])

    def wrong(units):
        return (codes[units][_refine.squared_apart(X, X[units], similarity).argmin(axis=1)] != codes).mean()

    better = _refine.refined(X, codes, np.full(240, 1 / 240), start, similarity, np.random.default_rng(0))
    assert len(np.unique(better)) == 6
    assert wrong(better) <= wrong(start)
    assert wrong(better) < 0.1
