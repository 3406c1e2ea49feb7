"""The coverage engine against enumeration, and dims against the minimize that it is."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewer import KL, L2, DimensionSparse, Lattice, States, Status, exact, minimize
from fewer.search.coverage import coverage_engine
from fewer.search.engine import Branch

SOLVERS = ("auto", "exact", "exchange", "greedy", "iht")
OBJECTIVES = ("kl", "l2", "seen")
seeds = st.integers(0, 10**6)
quick = settings(max_examples=40, deadline=None)


def random_table(rng, n=None, m=None):
    """Rows of few codes, many of them zero; at least one row uses few columns."""
    n = n or int(rng.integers(2, 8))
    m = m or int(rng.integers(2, 4))
    rows = int(rng.integers(2, 50))
    X = rng.integers(0, m, (rows, n)) * (rng.random((rows, n)) < rng.uniform(0.2, 0.7))
    X[0] = 0
    X[0, rng.integers(n)] = 1
    return X


def random_problem(seed, objective, n=None):
    """(F, C) on random states: KL, L2 on the whole lattice, or L2 with only the seen states listed."""
    rng = np.random.default_rng(seed)
    X = random_table(rng, n)
    weights = rng.random(len(X)) if rng.random() < 0.5 else None
    seen = States(X, weights)
    k = int(rng.integers(1, X.shape[1] + 1))
    if objective == "l2":
        space = Lattice(seen.n, seen.m)
        q = np.zeros(space.size)
        q[space.ravel(seen.unravel(np.arange(seen.size)))] = seen.weights
        return L2(space, q), DimensionSparse(space, k)
    F = KL(seen, seen.weights) if objective == "kl" else L2.on_lattice(seen)
    return F, DimensionSparse(F.space, k)


def value_of(F, C, units):
    """Min F on a face, through the objective alone; infinite on an empty face."""
    face = C.face(units)
    return float(F.value(F.best_on(face))) if face.size else math.inf


def supports(C, included=(), excluded=()):
    """Every support of at most k units that holds `included` and nothing of `excluded`."""
    free = [i for i in range(C.n_units) if i not in included and i not in excluded]
    for size in range(C.k - len(included) + 1):
        for units in combinations(free, size):
            yield sorted([*included, *units])


def test_without_a_cover_there_is_no_coverage_engine():
    cube = Lattice(3, 2)
    assert coverage_engine(L2(cube, np.linspace(-1, 1, 8)), DimensionSparse(cube, 2)) is None


@quick
@given(seeds, st.sampled_from(OBJECTIVES))
def test_values_are_those_of_the_objective_and_never_rise(seed, objective):
    F, C = random_problem(seed, objective)
    engine = coverage_engine(F, C)
    rng = np.random.default_rng(seed)
    added = engine.grow(C.k)
    while added < C.k:
        added += engine.grow(C.k)
    assert engine.grow(1) == 0
    assert len(engine.support) == C.k
    values = [engine.value]
    for act in (
        lambda: engine.improve(1),
        lambda: engine.improve(50),
        *6 * [lambda: engine.perturb(rng)],
    ):
        work = engine.work
        act()
        assert engine.work > work
        p = engine.answer()
        assert C.contains(p)
        assert engine.value == F.value(p)
        assert engine.value == pytest.approx(value_of(F, C, engine.support), abs=1e-14)
        values.append(engine.value)
    assert (np.diff(values) <= 1e-12).all()
    best = min(value_of(F, C, units) for units in supports(C))
    assert values[-1] >= best - 1e-12
    assert engine.proven <= best + 1e-12


@quick
@given(seeds, st.sampled_from(OBJECTIVES))
def test_growing_by_one_is_algorithm_three(seed, objective):
    """Each unit added lowers F most; `test_cover` compares how ties are broken."""
    F, C = random_problem(seed, objective)
    engine = coverage_engine(F, C)
    for _ in range(C.k):
        before = set(engine.support.tolist())
        values = {i: value_of(F, C, [*before, i]) for i in range(C.n_units) if i not in before}
        assert engine.add_best() == 1
        new = set(engine.support.tolist()) - before
        best = min(values.values())
        if (
            math.isinf(best) and len(new) > 1
        ):  # the face held no state to the end, and another was taken
            assert len(engine.support) == C.k
            break
        (added,) = new
        assert values[added] == best or values[added] <= best + 1e-9 * max(abs(best), 1e-3)


@quick
@given(seeds, st.sampled_from(OBJECTIVES))
def test_bounds_hold_on_any_branch(seed, objective):
    """What `bound` leaves of a branch holds every support of it that is better than `proven`, and bounds it."""
    F, C = random_problem(seed, objective, n=6)
    engine = coverage_engine(F, C)
    rng = np.random.default_rng(seed)
    engine.grow(C.k)
    sides = rng.choice(3, C.n_units, p=[0.6, 0.2, 0.2])
    included = np.flatnonzero(sides == 1)[: C.k]
    excluded = np.flatnonzero(sides == 2)
    values = {tuple(units): value_of(F, C, units) for units in supports(C, included, excluded)}
    branches = [Branch(included, excluded)]
    while branches:
        branch = branches.pop()
        left = engine.bound(branch)
        inside = [
            u
            for u in values
            if set(branch.included) <= set(u) and not set(branch.excluded) & set(u)
        ]
        for units in inside:
            holders = [
                b
                for b in left
                if set(b.included) <= set(units) and not set(b.excluded) & set(units)
            ]
            dominated = min((values[v] for v in values if set(units) <= set(v)), default=math.inf)
            assert all(b.bound <= values[units] + 1e-10 for b in holders)
            assert (
                holders
                or dominated >= engine.proven - 1e-10
                or values[units] >= engine.proven - 1e-10
            )
        assert all(b.bound >= branch.bound for b in left)
        branches.extend(b for b in left if b.bound < engine.value)
    assert engine.value <= min(values.values(), default=math.inf) + 1e-10


@quick
@given(seeds, st.sampled_from(OBJECTIVES), st.sampled_from(["auto", "exact"]))
def test_proofs_agree_with_enumeration(seed, objective, solver):
    F, C = random_problem(seed, objective)
    best = min(value_of(F, C, units) for units in supports(C))
    result = minimize(F, C, solver, rng=seed)
    assert result.value == pytest.approx(best, abs=1e-10)
    assert result.status is Status.OPTIMAL
    assert abs(result.gap) <= 1e-9


@pytest.mark.parametrize("objective", ["kl", "seen"])
@pytest.mark.parametrize("n", [21, 26])
def test_branch_and_bound_beyond_all_masks(objective, n):
    """Past twenty columns: compared with every support of two and three columns."""
    rng = np.random.default_rng(n)
    X = np.zeros((80, n), int)
    used = np.sort(rng.choice(n, 9, replace=False))
    X[:, used] = rng.integers(0, 3, (80, 9)) * (rng.random((80, 9)) < 0.25)
    seen = States(X)
    F = KL(seen, seen.weights) if objective == "kl" else L2.on_lattice(seen)
    for k in (2, 3):
        C = DimensionSparse(F.space, k)
        best = min(F.value_on(C.face(units)) for units in combinations(range(n), k))
        result = exact(F, C, rng=0)
        assert result.value == pytest.approx(best, abs=1e-10)
        assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("solver", ["greedy", "exchange", "auto"])
def test_a_face_without_states_is_left(solver):
    """Look-ahead prefers the columns that many rows lack one of.

    With k columns none of those rows fits.
    """
    heavy = [[1, 1, 1, 1, i, 0, 0] for i in range(1, 9)]
    X = np.array([*heavy, [0, 0, 0, 0, 0, 1, 1]])
    seen = States(X)
    result = minimize(KL(seen, seen.weights), DimensionSparse(seen, 2), solver, rng=0)
    assert result.support.tolist() == [5, 6]
    assert result.value == pytest.approx(math.log(9))
    weightless = States(X, [1.0] * 8 + [0.0])
    result = minimize(
        KL(weightless, weightless.weights), DimensionSparse(weightless, 2), solver, rng=0
    )
    assert result.value == math.inf
    assert weightless.size == 9
    assert result.support.tolist() == [5, 6]


def test_k_of_one_and_k_of_all_need_no_perturbation():
    X = np.eye(40, dtype=int)
    for k in (1, 40):
        F = KL(States(X), States(X).weights)
        engine = coverage_engine(F, DimensionSparse(F.space, k))
        engine.grow(40)
        assert engine.patience == 0.0
        assert not engine.perturb(np.random.default_rng(0))
        result = exact(F, DimensionSparse(F.space, k))
        assert result.status is Status.OPTIMAL
        assert result.value == pytest.approx(math.log(40 / k))


@quick
@given(seeds)
def test_seen_states_and_the_whole_lattice_have_the_same_distance(seed):
    F, C = random_problem(seed, "seen")
    G, D = random_problem(seed, "l2")
    for units in supports(D):
        face = C.face(units)
        if not face.size:  # of no dimension, and the origin was not seen
            continue
        assert F.value_on(face) == pytest.approx(G.value_on(D.face(units)), abs=1e-12)
        assert F.value(F.best_on(face)) == pytest.approx(F.value_on(face), abs=1e-12)
        assert F.best_on(face).sum() == pytest.approx(1.0)
        seen = F.best_on(face)[: F.states.size]
        at = G.space.ravel(F.states.unravel(np.arange(F.states.size)))
        np.testing.assert_allclose(seen, G.best_on(D.face(units))[at], atol=1e-12)
    p = np.random.default_rng(seed).dirichlet(np.ones(F.space.size))
    step = 1e-6 * np.random.default_rng(seed + 1).standard_normal(F.space.size)
    if F.value(p) < math.inf:
        slope = (F.value(p + step) - F.value(p - step)) / 2.0
        assert slope == pytest.approx(F.gradient(p) @ step, abs=1e-12)
