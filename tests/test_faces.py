"""The faces engine: the minimum on one face, its cuts, and the search over supports, against slow twins."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import rel_entr

from fewer import (
    KL,
    L2,
    MMD,
    Atoms,
    DimensionSparse,
    Functional,
    InvalidInput,
    Lattice,
    Moments,
    SparseSimplex,
    States,
    exact,
    exchange,
)
from fewer.deadline import Deadline
from fewer.search.engine import Branch, engine_of
from fewer.search.faces import LARGE_FACE, FaceSolver, game
from fewer.search.search import search_by_faces
from grid import SPACES, gram, matrix, target


def random_games():
    rng = np.random.default_rng(0)
    for i in range(60):
        M = rng.normal(size=(rng.integers(1, 30), rng.integers(1, 10))) * 10.0 ** rng.uniform(-3, 3)
        if i % 3 == 0:
            M = np.round(3 * M / np.abs(M).max())  # many ties
        if i % 5 == 0:
            M[:, -1] = M[:, 0]
        yield M


def test_game_is_the_linear_program():
    for M in random_games():
        m, s = M.shape
        bound, p = game(M)
        upper = np.hstack([M, -np.ones((m, 1))])
        total = np.append(np.ones(s), 0.0)[None]
        limits = [(0, None)] * s + [(None, None)]
        found = linprog(np.append(np.zeros(s), 1.0), upper, np.zeros(m), total, [1.0], limits)
        scale = np.ptp(M) or 1.0
        assert bound == pytest.approx(found.fun, abs=1e-9 * scale)
        assert (M @ p).max() == pytest.approx(bound, abs=1e-9 * scale)
        assert p.min() >= 0
        assert p.sum() == pytest.approx(1.0)


def engine_for(F, C, deadline=None):
    return search_by_faces(F, C, Deadline.after(deadline))


def largest_entry(space, weights):
    """F = max_i weights_i p_i: not smooth; on a face the minimum is 1 / Σ (1 / weights)."""

    def gradient(p):
        g = np.zeros(p.size)
        i = int((weights * p).argmax())
        g[i] = weights[i]
        return g

    return Functional(space, lambda p: float((weights * p).max()), gradient)


def relative_entropy(space, q):
    """KL written by a user: unbounded slopes at p = 0, infinite where q = 0 < p."""
    with np.errstate(divide="ignore"):
        log_q = np.log(q)
    kl = SimpleNamespace(space=space, smoothness=math.inf)
    kl.value = lambda p: float(rel_entr(p, q).sum())
    kl.gradient = lambda p: np.log(p) - log_q + 1.0
    return kl


def faces_of(n, rng, count=25):
    return [np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False)) for _ in range(count)]


def test_a_maximum_is_minimised_and_its_bound_reached():
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 3.0, 10)
    solver = FaceSolver(largest_entry(Atoms(10), weights))
    for face in faces_of(10, rng):
        best = 1.0 / (1.0 / weights[face]).sum()
        found = solver.best(face)
        assert found.value == pytest.approx(best, rel=1e-8)
        assert found.bound <= best * (1 + 1e-12)
        assert found.value - found.bound <= 1e-8 * best
        assert found.weights.sum() == pytest.approx(1.0)


def test_unbounded_slopes_and_infinite_values():
    rng = np.random.default_rng(2)
    q = rng.dirichlet(np.ones(9))
    q[[2, 5]] = 0.0
    q /= q.sum()
    solver = FaceSolver(relative_entropy(Atoms(9), q))
    assert np.flatnonzero(~solver.allowed).tolist() == [2, 5]
    for face in [*faces_of(9, rng), np.array([2, 5])]:
        mass = q[face].sum()
        found = solver.best(face)
        if mass == 0.0:
            assert (found.value, found.bound) == (math.inf, math.inf)
            continue
        assert found.value == pytest.approx(-math.log(mass), rel=1e-7, abs=1e-9)
        assert found.bound <= -math.log(mass) + 1e-9
        np.testing.assert_allclose(found.weights, q[face] / mass, atol=1e-4)


def test_a_large_face_is_searched_by_accelerated_steps():
    n = LARGE_FACE + 100
    q = np.random.default_rng(3).dirichlet(np.ones(n))
    stretched = 1.0 + np.arange(n) / n
    F = Functional(
        Atoms(n), lambda p: float(stretched @ (p - q) ** 2), lambda p: 2 * stretched * (p - q)
    )
    face = np.arange(50, n)
    found = FaceSolver(F).best(face)
    spare = q[:50].sum() / (1.0 / stretched[face]).sum()  # the same slope everywhere
    p = q[face] + spare / stretched[face]
    best = stretched[:50] @ q[:50] ** 2 + stretched[face] @ (p - q[face]) ** 2
    assert found.value == pytest.approx(best, rel=1e-8)
    assert best * (1 - 1e-6) <= found.bound <= best * (1 + 1e-12)


def closed_forms():
    atoms, cube, states = SPACES["atoms"], SPACES["cube"], SPACES["states"]
    table = np.random.default_rng(3).standard_normal
    for space in (atoms, cube, states):
        sets = [SparseSimplex(space, 3)] + (
            [DimensionSparse(space, 2)] if space is not atoms else []
        )
        for C in sets:
            yield L2(space, table(space.size)), C
            yield KL(space, target(space)), C
            yield Moments(space, matrix(space), matrix(space) @ target(space) + 0.1), C
            yield MMD(space, gram(space), target(space)), C


@pytest.mark.parametrize(
    "case", list(closed_forms()), ids=lambda c: f"{type(c[0]).__name__} {c[1]!r}"[:60]
)
def test_closed_forms_against_enumeration(case):
    """Built directly, so that the general engine meets what the special ones usually take."""
    F, C = case
    values = {
        s: F.value_on(C.face(np.array(s))) for s in itertools.combinations(range(C.n_units), C.k)
    }
    best = min(values.values())
    engine = engine_for(F, C)
    while engine.add_best():
        pass
    while engine.improve(1):
        pass
    support = set(engine.support.tolist())
    support |= set([i for i in range(C.n_units) if i not in support][: C.k - len(support)])
    swaps = [
        support - {out} | {into} for out in support for into in set(range(C.n_units)) - support
    ]
    assert all(engine.value <= values[tuple(sorted(swap))] + 1e-9 for swap in swaps)
    branches = [Branch()]
    while branches:
        branch = branches.pop()
        branches += [rest for rest in engine.bound(branch) if rest.bound < engine.value]
        assert branch.bound <= max(best, engine.value) + 1e-9
    assert engine.value == pytest.approx(best, abs=1e-9)
    assert engine.proven == pytest.approx(best, abs=1e-9)
    assert F.value(engine.answer()) == pytest.approx(best, abs=1e-9)
    assert C.contains(engine.answer())


@pytest.mark.parametrize("k", [1, 2, 3])
def test_every_branch_is_bounded_from_below(k):
    """Whatever is included and excluded: no support of the branch lies below what `bound` returns or has closed."""
    rng = np.random.default_rng(k)
    n, weights = 6, np.random.default_rng(5).uniform(0.5, 3.0, 6)
    F, C = largest_entry(Atoms(n), weights), SparseSimplex(Atoms(n), k)
    for _ in range(20):
        order = rng.permutation(n)
        included, excluded = order[: rng.integers(0, k)], order[n - rng.integers(0, n - k) :]
        engine = engine_for(F, C)
        left = engine.bound(Branch(np.array(included), np.array(excluded)))
        for support in itertools.combinations(range(n), k):
            if set(included) <= set(support) and not set(excluded) & set(support):
                lowest = 1.0 / (1.0 / weights[list(support)]).sum()
                within = [
                    b.bound
                    for b in left
                    if set(b.included.tolist()) <= set(support)
                    and not set(b.excluded.tolist()) & set(support)
                ]
                assert min([*within, engine.proven]) <= lowest + 1e-9
                assert within or engine.proven <= lowest + 1e-9


def test_states_that_no_single_unit_reaches():
    space = States([[0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [1, 1, 1, 1, 1]], [5, 1, 1])
    engine = engine_for(L2(space, space.weights), DimensionSparse(space, 3))
    while engine.add_best():
        pass
    engine.improve(10)
    assert engine.support.tolist() == [2, 3, 4]
    assert engine.answer().tolist() == [1.0, 0.0, 0.0]


def test_too_many_supports_are_refused_with_their_number():
    F = largest_entry(Atoms(3000), np.ones(3000))
    with pytest.raises(InvalidInput, match="supports apart; give time_limit"):
        exact(F, SparseSimplex(F.space, 1500))
    assert engine_of(F, SparseSimplex(F.space, 1500)).patience > 0


def test_a_relaxation_of_many_entries_needs_no_square_table():
    """Moments on a lattice of 4,096 states: its relaxation is bounded by first-order steps."""
    space = Lattice(12, 2)
    rng = np.random.default_rng(0)
    F = Moments(space, rng.standard_normal((3, space.size)), np.ones(3))
    engine = engine_for(F, DimensionSparse(space, 2))
    engine.grow(2)
    left = engine.bound(Branch())
    assert len(left) == 2
    assert all(0.0 <= b.bound + 1e-9 <= engine.value for b in left)


def test_exchange_leaves_a_local_optimum_of_a_users_objective():
    """No single swap helps there; a perturbation does."""
    rng = np.random.default_rng(2)
    A, b = rng.standard_normal((5, 12)), 0.3 * rng.standard_normal(5)
    F = Functional(
        Atoms(12), lambda p: float(((A @ p - b) ** 2).sum()), lambda p: 2 * A.T @ (A @ p - b)
    )
    C = SparseSimplex(F.space, 3)
    swapped, searched = exchange(F, C, rng=0, budget=0.0), exchange(F, C, rng=0)
    best = min(
        Moments(F.space, A, b).value_on(np.array(s)) for s in itertools.combinations(range(12), 3)
    )
    assert swapped.value > 2.0 * best
    assert searched.value == pytest.approx(best, rel=1e-6)
