"""Inputs of spaces, objectives, constraints, solvers and jobs: odd but good ones work, wrong ones get a sentence."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from fewer import (
    KL,
    L2,
    MMD,
    Atoms,
    Backtracking,
    Constant,
    DimensionSparse,
    Distribution,
    Doubling,
    FewerDims,
    FewerPoints,
    FewerPointsClassifier,
    FewerSampler,
    FewerTerms,
    Functional,
    InvalidInput,
    Lattice,
    Moments,
    Momentum,
    RowsMMD,
    Simplex,
    SparseSimplex,
    SparseStates,
    States,
    bins,
    coverage,
    dims,
    exact,
    frank_wolfe,
    iht,
    minimize,
    points,
    terms,
)
from fewer.similarity import similarity_of

ROWS = np.array([[0, 2, 0], [1, 0, 0], [0, 2, 1], [1, 0, 2]])


def refused(sentence, call, *args, **options):
    with pytest.raises(InvalidInput, match=sentence):
        call(*args, **options)


# -- spaces


def test_spaces_too_large_for_any_memory_are_refused_at_once():
    refused("a table on these atoms has .* entries of 8 bytes", Atoms, 10**400)
    refused("these atoms has 1e\\+15 entries", Atoms, 10**15)
    refused(r"n must be in 1\.\.1000000", Lattice, 10**400, 2)
    refused("each m must be at least 1 and at most 2.31", Lattice, 2, 2**40)
    refused("m must hold numbers that float64 can hold", Lattice, 2, 10**400)
    flat = Lattice(100, 1)  # more dimensions than NumPy's arrays may have
    assert flat.unravel([0]).shape == (1, 100)
    assert flat.ravel(np.zeros(100, int)) == 0


@pytest.mark.parametrize(
    "m",
    [
        None,
        2.5,
        "22",
        b"22",
        {},
        {2, 3},
        True,
        [2, 2.0],
        [[2, 2]],
        [2, None],
        -1,
        np.ma.masked,
        object(),
    ],
)
def test_cardinalities_are_integers(m):
    refused("^(each )?m", Lattice, 2, m)
    if m is not None:
        refused("^(each )?m", States, [[1, 1]], None, m)


def test_rows_of_a_lattice_are_integers_of_the_right_length_and_inside():
    cube = Lattice(3, 2)
    refused(
        "rows must be integers of shape", cube.ravel, [[0.0, 1.0, 0.0]]
    )  # the right length, the wrong kind
    refused(
        "rows must be integers of shape", cube.ravel, [[0, 1]]
    )  # the right kind, the wrong length
    refused("rows must lie in the lattice", cube.ravel, [[0, -1, 0]])
    refused("rows must lie in the lattice", cube.ravel, [[0, 2, 0]])
    refused("rows must be an array with rows", cube.ravel, [[0], [1, 1]])
    assert cube.ravel(np.array([[True, False, True]])).tolist() == [5]
    assert cube.ravel(np.array([[1, 0, 1]], np.int8)).tolist() == [5]
    assert cube.ravel(np.empty((0, 3), int)).shape == (0,)
    assert cube.ravel([1, 1, 1]) == 7


def test_rows_of_listed_states():
    seen = States([[0, 1], [2, 0]])
    assert seen.ravel([[2, 0], [1, 1]]).tolist() == [1, -1]
    assert seen.ravel(np.zeros((0, 2), int)).shape == (0,)
    assert seen.ravel([[[0, 1]], [[2, 0]]]).tolist() == [[0], [1]]
    refused(r"rows must have 2 columns, got shape \(3,\)", seen.ravel, [0, 1, 2])
    refused("rows must be dense", seen.ravel, sp.csr_array([[0, 1]]))
    refused("rows must hold integers", seen.ravel, [[-1, 0]])


@pytest.mark.parametrize(
    "space", [Atoms(4), Lattice(2, 2), States([[0, 0], [0, 1], [1, 0], [1, 1]])]
)
def test_indices_are_integers_in_range(space):
    assert len(space.unravel([3, 0, 3])) == 3
    assert space.unravel(np.int8(3)).shape == space.unravel([3]).shape[1:]
    for wrong in ([4], [-1], [0.0], ["a"], [None], [[0], [0, 1]], 10**400, None):
        refused("^indices ", space.unravel, wrong)


@pytest.mark.parametrize("wrong", [None, 3, "x", [1, 2], Atoms, object()])
def test_objectives_and_constraints_need_a_space(wrong):
    for kind, args in (
        (KL, ([1.0],)),
        (L2, ([1.0],)),
        (Moments, ([[1.0]], [1.0])),
        (MMD, ([[1.0]], [1.0])),
    ):
        refused(rf"{kind.__name__} needs a space such as Atoms\(n\)", kind, wrong, *args)
    for kind, args in ((Simplex, ()), (SparseSimplex, (1,))):
        refused(rf"{kind.__name__} needs a space such as Atoms\(n\)", kind, wrong, *args)
    refused(r"Functional needs a space such as Atoms\(n\)", Functional, wrong, lambda p: 0.0)
    refused("DimensionSparse needs a Lattice or States", DimensionSparse, wrong, 1)
    refused("SparseStates needs a Lattice or States", SparseStates, wrong, 1)
    refused("Distribution.of needs a space", Distribution.of, wrong, [1.0])


# -- objectives of users


# -- dims


@pytest.mark.parametrize("objective", ["kl", "l2"])
def test_iht_answers_where_every_row_uses_more_than_k_columns(objective):
    rows = np.ones((3, 20), int)
    rows[0, 0] = 2
    results = {
        solver: dims(rows, 2, objective=objective, solver=solver, rng=0)
        for solver in ("iht", "exact")
    }
    assert results["iht"].support.size <= 2
    assert results["iht"].value >= results["exact"].value
    assert results["iht"].distribution.pmf(np.zeros(20, int)) > 0


def test_baselines_are_codes():
    X = [[0, 1], [1, 1]]
    assert coverage(X, [0], baseline=np.array([0, 1], np.uint8)) == 1.0
    for wrong in (
        [0],
        [0, -1],
        [0.0, 1.0],
        [0, 2**31],
        [0, 2**64 - 1],
        [[0], [0, 1]],
        ["a", "b"],
        None,
        "median",
        [0, 10**400],
    ):
        refused("^baseline", coverage, X, [0], baseline=wrong)


def test_of_equally_frequent_codes_the_smallest_is_the_mode():
    X = np.array([[0, 2], [1, 1], [1, 2], [0, 1]])
    assert dims(X, 1, baseline="mode", solver="greedy").distribution.origin.tolist() == [0, 1]


def test_what_scikit_learn_refuses_is_invalid_input():
    model = FewerDims(1).fit(ROWS)
    for method in (model.transform, model.score, model.inverse_transform):
        refused(".", method, np.ones((2, 7)))
        refused(".", method, None)
    refused(
        r"X must hold real numbers, got '1' \(str\) at index 0, 0",
        model.score,
        np.array([["1", "0", "0"]], object),
    )
    assert model.inverse_transform(model.transform(ROWS)).shape == ROWS.shape


# -- constraints on dimensions


def test_the_smallest_state_decides_whether_k_is_enough():
    seen = States([[1, 1, 1], [1, 1, 0]])
    assert DimensionSparse(seen, 2).contains([0.0, 1.0])
    refused(
        "no listed state fits into k = 1 dimensions: the smallest uses 2", DimensionSparse, seen, 1
    )
    assert SparseStates(seen, 2).project([1.0, 0.0]).tolist() == [0.0, 1.0]
    refused("no listed state has at most k = 1", SparseStates, seen, 1)


def test_exact_projections_are_refused_by_their_cost_alone():
    refused("an exact projection would walk", DimensionSparse, Lattice(26, 2), 13, "exact")
    assert DimensionSparse(Lattice(26, 2), 13).k == 13
    assert (
        DimensionSparse(Lattice(5, 2), 2, "exact").project(np.eye(32)[3]).tolist()
        == np.eye(32)[3].tolist()
    )


# -- matrices, solvers and their options


def test_matrices_that_cannot_be_multiplied_get_a_sentence():
    broken = sp.csr_array(np.eye(3))
    broken.indices[:] = 1000
    refused("X is not a valid sparse matrix", terms, broken, [1.0, 1.0, 1.0], 1)
    refused("X is not a valid sparse matrix", FewerTerms(1).fit, broken, [1.0, 1.0, 1.0])
    short = LinearOperator((3, 3), matvec=lambda v: v[:2], rmatvec=lambda v: v, dtype=float)
    refused(
        "A must give 3 real numbers for a vector of 3, but its matvec failed",
        Moments,
        Atoms(3),
        short,
        [1.0, 1.0, 1.0],
    )


def test_options_of_any_number_type_work_in_solvers():
    space = Atoms(4)
    F, C = L2(space, [0.5, 0.3, 0.2, 0.0]), SparseSimplex(space, 2)
    half = iht(F, C, step=Constant(0.5), tol=0.25, rng=0)
    for kind in (Fraction, Decimal, np.float16, np.array):
        for rule in (
            Constant(kind(0.5)),
            Doubling(kind(0.5)),
            Backtracking(kind(0.5)),
            Momentum(kind(0.5), kind(0.5)),
        ):
            assert iht(F, C, step=rule, rng=0, max_iter=5).support.size <= 2
        assert (
            iht(F, C, step=Constant(kind(0.5)), tol=kind(0.25), rng=0).p.tolist() == half.p.tolist()
        )
        assert frank_wolfe(F, C, tol=kind(0.25)).support.size <= 2
        assert C.contains([0.5, 0.5, 0.0, 0.0], kind(0.25))
    for wrong in (object(), None, 2.0):
        refused("max_iter must be an integer", frank_wolfe, F, C, max_iter=wrong)
        refused("max_iter must be an integer", iht, F, C, max_iter=wrong)
    assert SparseSimplex(space, 2, groups=[0, 0, 1, 1], max_per_group=10**400).rules.most_held == 2


@pytest.mark.parametrize("tol", [None, "x", -1.0, np.nan, (1, 2), np.array([1.0, 2.0]), object()])
def test_tolerances_are_numbers(tol):
    cube = Lattice(2, 2)
    for C in (
        Simplex(cube),
        SparseSimplex(cube, 2),
        DimensionSparse(cube, 1),
        SparseStates(cube, 1),
    ):
        refused("tol must be", C.contains, [1.0, 0.0, 0.0, 0.0], tol)


def test_minimize_knows_the_options_of_a_solver():
    F, C = L2(Atoms(2), [1.0, 0.0]), SparseSimplex(Atoms(2), 1)
    refused(
        "greedy has no option 'max_iter'; its options are budget, callback, rng, time_limit",
        minimize,
        F,
        C,
        "greedy",
        max_iter=3,
    )
    refused("solver must be one of", minimize, F, C, int)
    refused("a solver must return a Result", minimize, F, C, lambda F, C: 3)
    assert minimize(F, C, lambda F, C: exact(F, C)).value == 0.0


def test_a_callback_answers_yes_or_no():
    F, C = L2(Atoms(2), [1.0, 0.0]), SparseSimplex(Atoms(2), 1)
    refused(
        "callback must return something that is true or false",
        iht,
        F,
        C,
        rng=0,
        callback=lambda progress: progress.p,
    )
    refused("callback must be a function", iht, F, C, callback=3)


# -- rows


def test_rows_and_target_of_a_discrepancy_are_checked():
    rbf = similarity_of("rbf", 1.0)
    rows, even = np.array([[0.0], [1.0]]), [0.5, 0.5]
    plain = RowsMMD.between(rows, np.array(even), rbf)
    for same in (
        rows.tolist(),
        pd.DataFrame(rows),
        rows.astype(np.float16),
        rows.astype(int),
        sp.coo_array(rows),
    ):
        assert RowsMMD.between(same, even, rbf).mean.tolist() == pytest.approx(plain.mean.tolist())
    refused(
        "similarity must be made by fewer.similarity.similarity_of",
        RowsMMD.between,
        rows,
        even,
        "rbf",
    )
    refused("rows must have shape", RowsMMD.between, [0.0, 1.0], even, rbf)
    refused(
        "rows must be finite, got nan at index 1, 0", RowsMMD.between, [[0.0], [np.nan]], even, rbf
    )
    refused("rows must hold real numbers", RowsMMD.between, sp.csr_array([[1j], [0]]), even, rbf)
    refused("target must sum to 1", RowsMMD.between, rows, [1.0, 1.0], rbf)
    refused(r"target must have shape \(2,\)", RowsMMD.between, rows, [1.0], rbf)


def test_points_take_k_of_any_integer_type_and_rows_of_any_format():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, 1.0], [6.0, 0.0]])
    plain = points(X, 2, rng=0)
    assert points(X, np.int8(2), rng=0).p.tolist() == plain.p.tolist()
    for kind in (sp.coo_array, sp.coo_matrix, sp.dia_array, sp.bsr_array):
        assert FewerSampler(2, by_label=False, random_state=0).fit_resample(kind(X)).shape == (2, 2)
    refused("abc: there is no such file", FewerPoints(2).fit, "abc")
    refused(
        "refine must be True or False",
        FewerPointsClassifier(2, refine=np.ones(3)).fit,
        X,
        [0, 0, 1, 1],
    )
    refused("similarity must be one of", FewerPoints(2, similarity=np.ones(3)).fit, X)
    refused(
        "callback must be a function",
        bins,
        None,
        1,
        counts=[1, 2],
        preserve=np.eye(2),
        validation=0.5,
        callback=3,
    )
