"""Projections against enumeration, transcriptions of the paper and independent methods."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from fewer import (
    KL,
    L2,
    Atoms,
    DimensionSparse,
    Lattice,
    Simplex,
    SparseSimplex,
    SparseStates,
    States,
    dimensions_to_vector,
    exact,
    vector_to_dimensions,
)
from fewer._compiled.lattice import greedy_units
from fewer._compiled.simplex import largest, simplex_distance
from fewer._compiled.states import greedy_state_units


def random_table(seed):
    """A lattice with n <= 6, m <= 3 and a table on it, with negative values and any sum."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    m = (
        tuple(int(c) for c in rng.integers(1, 4, n))
        if rng.random() < 0.5
        else int(rng.integers(2, 4))
    )
    space = Lattice(n, m)
    v = rng.standard_normal(space.size) * rng.choice([0.05, 1.0, 20.0]) + rng.choice(
        [-1.0, 0.0, 0.5]
    )
    return space, v, int(rng.integers(1, n + 1)), rng


@pytest.mark.parametrize("seed", range(200))
def test_two_hundred_random_tables(seed):
    space, v, k, rng = random_table(seed)
    scale = 1.0 + (v**2).sum()

    p = DimensionSparse(space, k, "exact").project(v)
    q, distance = naive.best_face(v, naive.dimension_faces(space.shape, k))
    assert ((p - v) ** 2).sum() == pytest.approx(distance, abs=1e-10 * scale)
    assert np.allclose(p, q, atol=1e-7)
    assert DimensionSparse(space, k).contains(p, 1e-12)

    p = DimensionSparse(space, k).project(v)
    assert np.allclose(p, naive.greedy_projection(v, space.shape, k), atol=1e-9)
    assert DimensionSparse(space, k).contains(p, 1e-12)

    places = min(space.size, 12)  # enumeration of entries on a slice of the table
    short = v[:places]
    few = int(rng.integers(1, places + 1)) if places <= 8 else int(rng.integers(1, 4))
    p = SparseSimplex(Atoms(places), few).project(short)
    q, distance = naive.best_face(short, [np.array(c) for c in combinations(range(places), few)])
    assert ((p - short) ** 2).sum() == pytest.approx(distance, abs=1e-10 * scale)
    assert np.allclose(p, q, atol=1e-7)
    assert SparseSimplex(Atoms(places), few).contains(p, 1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_projections_on_states(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    rows = rng.integers(0, 3, (15, n)) * rng.integers(0, 2, (15, n))
    rows[0] = 0
    space = States(rows)
    v = rng.standard_normal(space.size)
    k = int(rng.integers(1, n + 1))
    faces = [naive.state_face(space.rows.toarray(), units) for units in combinations(range(n), k)]
    p = DimensionSparse(space, k, "exact").project(v)
    assert ((p - v) ** 2).sum() == pytest.approx(naive.best_face(v, faces)[1], abs=1e-10)
    near = DimensionSparse(space, k).project(v)
    assert DimensionSparse(space, k).contains(near, 1e-12)
    assert ((near - v) ** 2).sum() >= ((p - v) ** 2).sum() - 1e-12


def tables(size):
    entries = st.floats(-10, 10, width=32) | st.sampled_from([0.0, 0.5, 1.0, -1e-9, 1e-9])
    return arrays(np.float64, size, elements=entries)


PROJECTIONS = {
    "simplex": Simplex(Atoms(9)),
    "sparse simplex": SparseSimplex(Atoms(9), 3),
    "dimensions, greedy": DimensionSparse(Lattice(4, 2), 2),
    "dimensions, exact": DimensionSparse(Lattice(4, 2), 2, "exact"),
    "dimensions, incumbent": DimensionSparse(Lattice(4, 2), 2, incumbent=True),
    "sparse states": SparseStates(Lattice(4, 2), 2),
}
EXACT = {
    name: C for name, C in PROJECTIONS.items() if "greedy" not in name and "incumbent" not in name
}


@pytest.mark.parametrize("name", PROJECTIONS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_projection_is_feasible_and_ignores_a_common_shift_of_one_face(name, data):
    C = PROJECTIONS[name]
    v = data.draw(tables(C.space.size))
    p = C.project(v)
    assert C.contains(p, 1e-12)
    assert abs(p.sum() - 1) <= 1e-12


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_exact_projection_beats_every_member_and_is_idempotent(name, data):
    C = EXACT[name]
    v = data.draw(tables(C.space.size))
    p = C.project(v)
    other = C.project(data.draw(tables(C.space.size)))
    assert ((p - v) ** 2).sum() <= ((other - v) ** 2).sum() + 1e-9
    assert np.allclose(C.project(p), p, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(v=tables(11))
def test_simplex_projection_equals_sorting_and_bisection(v):
    p = Simplex(Atoms(11)).project(v)
    assert np.allclose(p, naive.project_simplex(v), atol=1e-12)
    assert np.allclose(p, naive.project_simplex_bisection(v), atol=1e-9)
    assert simplex_distance(v) == pytest.approx(((p - v) ** 2).sum() - (v**2).sum(), abs=1e-9)


LONG = {
    "noise": lambda rng, n: 0.1 * rng.standard_normal(n),
    "a distribution": lambda rng, n: rng.dirichlet(np.ones(n)),
    "steps": lambda rng, n: rng.integers(0, 4, n) / 8.0,
    "equal": lambda rng, n: np.full(n, -3.0),
    "rising": lambda rng, n: np.arange(n) / n,
    "one peak": lambda rng, n: np.eye(1, n, n // 2)[0] * 50.0,
    "far away": lambda rng, n: 1e6 + rng.standard_normal(n),
}


@pytest.mark.parametrize("n", [63, 64, 65, 1000, 20_000])
@pytest.mark.parametrize("kind", LONG)
def test_long_projections_equal_sorting(n, kind):
    v = LONG[kind](np.random.default_rng(n), n)
    tol = 1e-9 if kind == "far away" else 1e-12
    assert np.allclose(Simplex(Atoms(n)).project(v), naive.project_simplex(v), atol=tol)
    for k in (1, 7, 60):
        first = np.sort(np.argsort(-v, kind="stable")[:k])
        assert largest(v, k).tolist() == first.tolist()
        expected = np.zeros(n)
        expected[first] = naive.project_simplex(v[first])
        assert np.allclose(SparseSimplex(Atoms(n), k).project(v), expected, atol=tol)


@settings(max_examples=60, deadline=None)
@given(v=tables(16), near=tables(16))
def test_incumbent_is_never_worse_than_greedy_or_than_staying(v, near):
    cube = Lattice(4, 2)
    plain, kept = DimensionSparse(cube, 2), DimensionSparse(cube, 2, incumbent=True)
    member = plain.project(near)
    p = kept.project(v, near=member)
    stay, _ = naive.on_face(v, cube.face(plain.support(member)))
    distance = naive.squared_distance(p, v)
    assert distance <= naive.squared_distance(plain.project(v), v) + 1e-9
    assert distance <= naive.squared_distance(stay, v) + 1e-9


def test_the_known_flaw_of_the_greedy_projection_and_its_repair():
    """All mass on (0, 1, 1) lies in D_2, yet no first dimension shows a gain: greedy ends at 1.25."""
    cube = Lattice(3, 2)
    v = np.zeros(8)
    v[cube.ravel([0, 1, 1])] = 1.0
    lost = DimensionSparse(cube, 2).project(v)
    assert naive.squared_distance(lost, v) == pytest.approx(1.25)
    assert np.array_equal(DimensionSparse(cube, 2, incumbent=True).project(v), v)
    assert np.array_equal(DimensionSparse(cube, 2).project(v, near=v), lost)
    assert np.array_equal(DimensionSparse(cube, 2, "exact").project(v), v)


def test_compiled_searches_return_the_supports_of_their_twins():
    rng = np.random.default_rng(4)
    space = Lattice(5, 2)
    m, rows = np.full(5, 2), space.unravel(np.arange(space.size))
    seen = States(rows)
    for _ in range(20):
        v = rng.standard_normal(space.size)
        best = min(
            combinations(range(5), 2),
            key=lambda S: naive.on_face(v, naive.lattice_face(space.shape, S))[1],
        )
        nearest = naive.on_face(v, naive.lattice_face(space.shape, best))[0]
        for exact_on in (space, seen):
            assert np.allclose(DimensionSparse(exact_on, 2, "exact").project(v), nearest)
        picked = sorted(greedy_units(v, space.strides, m, 2, 4, np.ones(5), 2.0))
        face = naive.lattice_face(space.shape, picked)
        assert np.allclose(naive.on_face(v, face)[0], naive.greedy_projection(v, space.shape, 2))
        for costs, room in (np.ones(5), 2.0), (rng.integers(1, 4, 5).astype(float), 5.0):
            listed = greedy_state_units(v, seen.indptr, seen.indices, 5, costs, room)
            assert listed.tolist() == naive.greedy_state_units(v, rows, costs, room)


def test_sparse_states_holds_d_k_and_is_convex():
    cube = Lattice(4, 2)
    rng = np.random.default_rng(5)
    inner, outer = DimensionSparse(cube, 2), SparseStates(cube, 2)
    members = [inner.project(rng.standard_normal(16)) for _ in range(10)]
    assert all(outer.contains(p) for p in members)
    middle = sum(members) / 10
    assert outer.contains(middle)
    assert not inner.contains(middle)


@pytest.mark.parametrize("seed", range(20))
def test_appendix_a_both_routes_keep_the_same_entries(seed):
    """k-sparse vectors directly, and through dimensions of {0,1}^N: same support for l2 and KL, same p for KL."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(6))
    k = int(rng.integers(1, 6))
    cube, q = vector_to_dimensions(p)
    top = np.sort(np.argsort(p)[-k:]).tolist()
    assert SparseSimplex(Atoms(6), k).support(SparseSimplex(Atoms(6), k).project(p)).tolist() == top
    through = {F: exact(F(cube, q), DimensionSparse(cube, k)) for F in (L2, KL)}
    assert through[L2].support.tolist() == through[KL].support.tolist() == top
    direct = exact(KL(Atoms(6), p), SparseSimplex(Atoms(6), k))
    assert np.allclose(dimensions_to_vector(through[KL].p), direct.p, atol=1e-12)
