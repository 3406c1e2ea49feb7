"""Bad input: each gets a sentence naming what, what was expected and what came.

Odd but good input works.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fewer import (
    KL,
    L2,
    MMD,
    Atoms,
    Constant,
    DimensionSparse,
    Doubling,
    InvalidInput,
    Lattice,
    Moments,
    Simplex,
    SparseSimplex,
    SparseStates,
    States,
    dimensions_to_vector,
    iht,
    vector_to_dimensions,
)

CUBE = Lattice(3, 2)
FLAT = np.full(8, 0.125)


def with_entry(value, at=2):
    table = FLAT.copy()
    table[at] = value
    return table


BAD = [
    (lambda: L2(CUBE, with_entry(np.nan)), "q must be finite, got nan at index 2"),
    (lambda: KL(CUBE, with_entry(-0.1)), "q must be non-negative, got -0.1 at index 2"),
    (lambda: KL(CUBE, FLAT * 3), "q must sum to 1, got 3; divide it by its sum"),
    (lambda: KL(CUBE, FLAT, floor=0), "floor must be above 0, got 0"),
    (lambda: L2(CUBE, np.ones(7)), r"q must have shape \(8,\) or \(2, 2, 2\), got \(7,\)"),
    (
        lambda: L2(CUBE, np.array([{}] * 8, dtype=object)),
        r"q must hold real numbers, got {} \(dict\) at index 0",
    ),
    (lambda: L2(CUBE, ["a"] * 8), "q must hold real numbers, got dtype <U1"),
    (lambda: L2(CUBE, FLAT * 1j), "q must hold real numbers, got dtype complex128"),
    (lambda: L2(CUBE, [[1], [1, 2]]), "q must be an array with rows"),
    (
        lambda: L2(CUBE, sp.csr_array(FLAT[None])),
        r"q must be dense, got a csr_array of shape \(1, 8\)",
    ),
    (lambda: DimensionSparse(CUBE, 0), r"k must be in 1\.\.3 \(dimensions\), got 0"),
    (
        lambda: DimensionSparse(CUBE, 2.0),
        r"k must be an integer in 1\.\.3 \(dimensions\), got 2.0 \(float\)",
    ),
    (lambda: DimensionSparse(CUBE, True), r"k must be an integer .* got True \(bool\)"),
    (
        lambda: DimensionSparse(CUBE, 2, "magic"),
        "projection must be one of 'exact', 'greedy', got 'magic'",
    ),
    (
        lambda: DimensionSparse(Atoms(3), 2),
        r"DimensionSparse needs a Lattice or States, got Atoms\(n=3\)",
    ),
    (
        lambda: DimensionSparse(States([[1, 1, 1]]), 2),
        "no listed state fits into k = 2 dimensions: the smallest uses 3",
    ),
    (lambda: DimensionSparse(Lattice(26, 2), 13, "exact"), r"would walk 1.04e\+07 supports"),
    (lambda: SparseStates(States([[1, 1]]), 1), "the set is empty"),
    (lambda: Atoms(0), r"n must be at least 1 \(atoms\), got 0"),
    (lambda: Lattice(3, 0), "each m must be at least 1"),
    (lambda: Lattice(3, (2, 2)), r"m must be an integer or 3 integers, got \(2, 2\)"),
    (
        lambda: CUBE.ravel([0, 0, 2]),
        r"rows must lie in the lattice of shape \(2, 2, 2\), got 0\.\.2",
    ),
    (lambda: Simplex(CUBE).project(with_entry(np.nan)), "v must be finite, got nan at index 2"),
    (
        lambda: Moments(Atoms(3), np.full((1, 3), np.nan), [1]),
        "A must be finite, got nan at index 0, 0",
    ),
    (lambda: MMD(Atoms(2), [[1, 0.5], [0, 1]], [0.5, 0.5]), "gram must be symmetric"),
    (lambda: Constant(0.0), "mu must be above 0, got 0"),
    (lambda: Doubling(-0.1), "mu must be above 0, got -0.1"),
    (
        lambda: Doubling(0.1, "bored"),
        "trapped must be one of 'objective', 'seen', 'support', got 'bored'",
    ),
    (
        lambda: iht(L2(CUBE, FLAT), DimensionSparse(CUBE, 2), start=FLAT),
        "start must lie in the constraint",
    ),
    (lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), step=0.1), "step must be a step rule .* got 0.1"),
    (lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), max_iter=0), "max_iter must be at least 1, got 0"),
    (lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), tol=-1), "tol must be at least 0, got -1"),
    (lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), time_limit=0), "time_limit must be above 0, got 0"),
    (lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), callback=3), "callback must be a function"),
    (
        lambda: iht(L2(CUBE, FLAT), Simplex(CUBE), rng="x"),
        "rng must be None, a non-negative seed or a Generator",
    ),
    (lambda: vector_to_dimensions([[0.5, 0.5]]), r"p must be a vector, got shape \(1, 2\)"),
    (lambda: dimensions_to_vector([0.5, 0.2, 0.3]), r"q must have 2\^N entries, got 3"),
]


@pytest.mark.parametrize(("call", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        call()


def test_invalid_input_is_both_errors_people_catch():
    assert issubclass(InvalidInput, ValueError)
    assert issubclass(InvalidInput, TypeError)


def forms(q):
    locked = q.copy()
    locked.setflags(write=False)
    return {
        "list": q.tolist(),
        "float32": q.astype(np.float32),
        "read-only": locked,
        "strided": np.repeat(q, 2)[::2],
        "reversed twice": q[::-1].copy()[::-1],
        "series": pd.Series(q),
        "table": q.reshape(2, 2, 2),
        "fortran table": np.asfortranarray(q.reshape(2, 2, 2)),
    }


@pytest.mark.parametrize("form", forms(FLAT))
def test_odd_but_good_input_works(form):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(8)).astype(np.float32).astype(np.float64)
    q[0] += 1 - q.sum()
    given = forms(q)[form]
    tol = 1e-6 if form == "float32" else 1e-15
    for F in (L2(CUBE, given), KL(CUBE, given)):
        assert np.allclose(F.q, q, atol=tol)
        assert iht(F, DimensionSparse(CUBE, 2), rng=0, start=None).support.size <= 2
    assert np.allclose(
        DimensionSparse(CUBE, 2).project(given), DimensionSparse(CUBE, 2).project(q), atol=tol
    )


def test_integer_counts_and_booleans_are_tables_too():
    assert L2(CUBE, [1, 0, 0, 0, 0, 0, 0, 0]).q.dtype == np.float64
    assert L2(CUBE, np.array([True] + [False] * 7)).value(FLAT) == pytest.approx(0.875)


def test_smallest_problems():
    one = Lattice(1, 1)
    assert iht(L2(one, [3.0]), DimensionSparse(one, 1), rng=0).p.tolist() == [1.0]
    assert iht(KL(Atoms(1), [1.0]), SparseSimplex(Atoms(1), 1), rng=0).value == 0.0
    assert Simplex(Atoms(2)).project([0.0, 0.0]).tolist() == [0.5, 0.5]
    assert SparseSimplex(Atoms(4), 2).project([0.0, 0.0, 0.0, 0.0]).tolist() == [0.5, 0.5, 0, 0]
