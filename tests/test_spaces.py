"""Spaces: faces, indices, merging, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import naive
from fewer import Atoms, InvalidInput, Lattice, States
from fewer.codes import as_table


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), st.data())
def test_lattice_faces_and_indices(m, data):
    space = Lattice(len(m), tuple(m))
    units = data.draw(st.sets(st.integers(0, len(m) - 1)))
    assert space.face(units).tolist() == naive.lattice_face(space.shape, units).tolist()
    everything = np.arange(space.size)
    assert np.array_equal(space.unravel(everything), naive.lattice_rows(space.shape))
    assert np.array_equal(space.ravel(space.unravel(everything)), everything)


def test_lattice_index_is_in_c_order():
    space = Lattice(3, (2, 3, 4))
    table = np.arange(24.0).reshape(2, 3, 4)
    assert table[1, 2, 3] == space.ravel([1, 2, 3])
    assert space.shape == (2, 3, 4)
    assert Lattice(15, 2).size == 32768


def test_a_lattice_too_large_for_memory_points_to_states():
    with pytest.raises(InvalidInput, match=r"2\^60 entries of 8 bytes, .* list only .* States"):
        Lattice(60, 2)
    with pytest.raises(InvalidInput, match=r"2\^5000 entries"):
        Lattice(5000, 2)


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_array, sp.csr_matrix, sp.coo_array, sp.csc_array]
)
def test_states_merge_duplicates_whatever_their_form(form):
    rows = np.array([[0, 2, 0], [1, 0, 0], [0, 2, 0], [0, 0, 0], [1, 0, 0], [0, 2, 0]])
    space = States(form(rows), weights=[1, 1, 2, 4, 1, 1])
    assert space.rows.toarray().tolist() == [[0, 2, 0], [1, 0, 0], [0, 0, 0]]
    assert space.weights.tolist() == [0.4, 0.2, 0.4]
    assert space.m == (2, 3, 1)
    assert space.ravel(rows).tolist() == [0, 1, 0, 2, 1, 0]
    assert space.ravel([1, 1, 0]) == -1
    assert space.face([]).tolist() == [2]
    assert space.face([1]).tolist() == [0, 2]
    assert space.unravel([2, 0]).tolist() == [[0, 0, 0], [0, 2, 0]]
    assert space == States(rows, weights=[1, 1, 2, 4, 1, 1])


@given(st.integers(0, 2**32 - 1))
def test_states_faces_equal_their_twin(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (8, 4)) * rng.integers(0, 2, (8, 4))
    space = States(rows)
    units = np.flatnonzero(rng.integers(0, 2, 4))
    assert space.face(units).tolist() == naive.state_face(space.rows.toarray(), units).tolist()
    assert space.weights.sum() == pytest.approx(1)


def test_floats_that_are_whole_and_explicit_zeros_are_fine():
    space = States(sp.csr_array(([0.0, 2.0], ([0, 1], [0, 1])), shape=(2, 2)))
    assert space.rows.nnz == 1
    assert space.indptr.tolist() == [0, 0, 1]


@pytest.mark.parametrize("kind", [np.array, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[0, -1]], r"whole numbers in 0\.\.2\^31-1, got -1$"),
        ([[2**31, -1]], r"whole numbers in 0\.\.2\^31-1, got 2147483648$"),
        ([[0, 2**31]], r"whole numbers in 0\.\.2\^31-1, got 2147483648$"),
        ([[0.5, 1.0]], "whole numbers in .*, got 0.5"),
        ([[np.nan, 1.0]], r"whole numbers in 0\.\.2\^31-1, got nan"),
        (np.empty((0, 3)), r"got shape \(0, 3\)"),
        (np.empty((3, 0)), r"got shape \(3, 0\)"),
    ],
)
def test_states_refuse_with_a_sentence(rows, sentence, kind):
    with pytest.raises(InvalidInput, match=sentence):
        States(kind(rows))


def test_states_refuse_what_does_not_fit():
    rows = [[0, 1], [1, 0]]
    for weights, sentence in [
        ([1, -1], "weights must be non-negative, got -1.0 at index 1"),
        ([0, 0], "weights must have .* got all zeros"),
        ([1, 2, 3], r"weights must have shape \(2,\), got \(3,\)"),
        ([1, np.nan], "weights must be finite, got nan at index 1"),
    ]:
        with pytest.raises(InvalidInput, match=sentence):
            States(rows, weights)
    for m, sentence in (
        (1, r"each m must be at least 2 and at most 2\^31, got 1"),
        ([2, 2**31 + 1], r"each m must be at least 2 and at most 2\^31, got 2147483649"),
        ([2, 2, 2], r"m must be an integer or 2 integers, got \[2, 2, 2\]"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            States(rows, m=m)
    for wrong, sentence in (([["a", "b"]], "real numbers"), ([1, 2], r"got shape \(2,\)")):
        with pytest.raises(InvalidInput, match=f"rows must .*{sentence}"):
            States(wrong)
    assert States(rows, m=5).m == (5, 5)


@pytest.mark.parametrize("space", [Atoms(3), Lattice(3, 2), States([[0, 0, 1]])])
def test_units_out_of_range_are_named(space):
    with pytest.raises(
        InvalidInput, match=r"units must be in 0\.\.2 \((atoms|dimensions)\), got 1\.\.3"
    ):
        space.face([1, 3])
    with pytest.raises(InvalidInput, match="units must be a list"):
        space.face([0.5])


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        (bool, np.int8),
        (np.int8, np.int8),
        (np.int16, np.int32),
        (np.int64, np.int32),
        (float, np.int32),
    ],
)
def test_tables_of_booleans_and_bytes_stay_narrow(kind, kept):
    table = np.array([[0, 1], [1, 0]], kind)
    assert as_table(table, "X").dtype == kept
