"""Spaces: faces, indices, merging, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import naive
from fewer import Atoms, InvalidInput, Lattice, States, codes
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
    with pytest.raises(
        InvalidInput,
        match=r"1.15e\+18 entries of 8 bytes, more than .* GiB; list only .* States\(rows\)",
    ):
        Lattice(60, 2)
    with pytest.raises(InvalidInput, match=r"10\^1505 entries"):
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


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[0, -1]], r"0\.\.2\^31-1, got -1"),
        ([[0.5, 1.0]], "whole numbers, got 0.5"),
        ([[np.nan, 1.0]], "whole numbers, got nan"),
        ([["a", "b"]], "rows must hold real numbers, got dtype <U1"),
        (
            np.array([[None, 1]], dtype=object),
            r"rows must hold real numbers, got None \(NoneType\) at index 0, 0",
        ),
        ([1, 2, 3], r"a table \(N, n\) with at least one row and one column, got shape \(3,\)"),
        (np.empty((0, 3)), r"got shape \(0, 3\)"),
        (np.empty((3, 0)), r"got shape \(3, 0\)"),
    ],
)
def test_states_refuse_with_a_sentence(rows, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        States(rows)


def test_states_refuse_weights_and_cardinalities_that_do_not_fit():
    rows = [[0, 1], [1, 0]]
    for weights, sentence in [
        ([1, -1], "weights must be non-negative, got -1.0 at index 1"),
        ([0, 0], "weights must have a positive sum"),
        ([1, 2, 3], r"weights must have shape \(2,\), got \(3,\)"),
        ([1, np.nan], "weights must be finite, got nan at index 1"),
    ]:
        with pytest.raises(InvalidInput, match=sentence):
            States(rows, weights)
    with pytest.raises(InvalidInput, match=r"each m must be at least 2 and at most 2\^31, got 1"):
        States(rows, m=1)
    with pytest.raises(InvalidInput, match=r"m must be an integer or 2 integers, got \[2, 2, 2\]"):
        States(rows, m=[2, 2, 2])
    assert States(rows, m=5).m == (5, 5)
    assert States(rows, weights=[1e300, 1e300]).weights.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("space", [Atoms(3), Lattice(3, 2), States([[0, 0, 1]])])
def test_units_out_of_range_are_named(space):
    with pytest.raises(
        InvalidInput, match=r"units must be in 0\.\.2 \((atoms|dimensions)\), got 1\.\.3"
    ):
        space.face([1, 3])
    with pytest.raises(InvalidInput, match="units must be a list"):
        space.face([0.5])


@pytest.mark.parametrize(("codes", "got"), [([0, 2**31], 2**31), ([0, -1], -1), ([2**31, -1], -1)])
@pytest.mark.parametrize("kind", [np.array, sp.csr_array], ids=["dense", "sparse"])
def test_a_code_out_of_range_is_named(kind, codes, got):
    with pytest.raises(InvalidInput, match=rf"rows must hold integers in 0\.\.2\^31-1, got {got}$"):
        as_table(kind([codes]))


def test_the_largest_code_is_held():
    assert as_table([[0, 2**31 - 1]]).data.tolist() == [2**31 - 1]


@pytest.mark.parametrize(
    ("m", "low", "got"),
    [([1, 3], 2, 1), ([2, 2], 3, 2), ([1, 2], 2, 1), ([2, 2**31 + 1], 3, 2**31 + 1)],
)
def test_the_first_cardinality_that_is_wrong_is_named(m, low, got):
    with pytest.raises(
        InvalidInput, match=rf"each m must be at least {low} and at most 2\^31, got {got}$"
    ):
        States([[0, 2], [1, 0]], m=m)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (bool, np.int8),
        (np.int8, np.int8),
        (np.int16, np.int32),
        (np.int64, np.int32),
        (float, np.int32),
    ],
)
def test_tables_of_booleans_and_bytes_stay_narrow(given, kept):
    table = np.array([[0, 1], [1, 0]], given)
    assert as_table(table, "X").dtype == kept


@pytest.mark.parametrize(("rows", "kept"), [(3, np.int32), (4, np.int64)])
def test_indices_are_narrow_where_they_suffice(rows, kept, monkeypatch):
    monkeypatch.setattr(codes, "MOST_CODES", 4)
    table = as_table(np.eye(rows, 2, dtype=int), "X")
    assert table.indices.dtype == table.indptr.dtype == kept
