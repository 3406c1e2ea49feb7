"""Inputs of spaces, objectives, constraints, solvers and jobs: odd but good ones work, wrong ones get a sentence."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fewer import (
    KL,
    L2,
    MMD,
    Atoms,
    DimensionSparse,
    InvalidInput,
    Lattice,
    RowsMMD,
    SparseSimplex,
    SparseStates,
    States,
    exact,
    iht,
    minimize,
)
from fewer.similarity import similarity_of

ROWS = np.array([[0, 2, 0], [1, 0, 0], [0, 2, 1], [1, 0, 2]])


def refused(sentence, call, *args, **options):
    with pytest.raises(InvalidInput, match=sentence):
        call(*args, **options)


# -- spaces


def test_rows_of_a_lattice_are_integers_of_the_right_length_and_inside():
    cube = Lattice(3, 2)
    refused("rows must lie in the lattice of shape", cube.ravel, [[0.0, 1.0, 0.0]])
    refused("rows must lie in the lattice of shape", cube.ravel, [[0, 1]])
    refused("rows must lie in the lattice of shape", cube.ravel, [[0, -1, 0]])
    refused("rows must be an array with rows", cube.ravel, [[0], [1, 1]])
    assert cube.ravel(np.array([[1, 0, 1]], np.int8)).tolist() == [5]
    assert cube.ravel([1, 1, 1]) == 7


@pytest.mark.parametrize("wrong", [None, 3, [1, 2]])
def test_objectives_and_constraints_need_a_space(wrong):
    for kind, args in ((KL, ([1.0],)), (MMD, ([[1.0]], [1.0])), (SparseSimplex, (1,))):
        refused(rf"{kind.__name__} needs a space such as Atoms\(n\)", kind, wrong, *args)
    refused("DimensionSparse needs a Lattice or States", DimensionSparse, wrong, 1)


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
