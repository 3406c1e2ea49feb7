"""Inputs as people have them: odd but good ones give the same answer, wrong ones a sentence; nothing of the caller's
is changed, and no warning of another library comes out (pytest turns those into errors)."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from fewer import (
    KL,
    L2,
    Atoms,
    Distribution,
    FewerDims,
    InvalidInput,
    Lattice,
    SparseSimplex,
    States,
    bins,
    coverage,
    dims,
    vector_to_dimensions,
)
from fewer._validation import (
    as_array,
    as_generator,
    as_integer,
    as_number,
    as_numbers,
    as_units,
    as_weights,
    shown,
)
from fewer.codes import as_table

ROWS = np.array([[0, 2, 0], [1, 0, 0], [0, 2, 1], [1, 0, 2]])


def refused(sentence, call, *args, **options):
    with pytest.raises(InvalidInput, match=sentence):
        call(*args, **options)


# -- masked and missing entries


@pytest.mark.parametrize(
    "call",
    [
        lambda x: L2(Atoms(4), x),
        lambda x: KL(Atoms(4), x),
        lambda x: SparseSimplex(Atoms(4), 2).project(x),
        lambda x: Distribution.of(Atoms(4), x),
        lambda x: States(np.eye(4, dtype=int), weights=x),
        lambda x: dims(np.eye(4, dtype=int), 1, sample_weight=x),
        vector_to_dimensions,
    ],
)
def test_a_masked_entry_is_refused_by_its_index(call):
    values = [0.25, 0.25, 0.25, 0.25]
    refused("masked entries, the first at index 2", call, np.ma.array(values, mask=[0, 0, 1, 1]))
    refused(r"\[2\] has masked entries", call, [0.25, 0.25, np.ma.masked, 0.25])
    call(np.ma.array(values))
    call(np.ma.array(values, mask=[0, 0, 0, 0]))


def test_a_mask_is_found_in_tables_lists_and_codes():
    refused(
        "values has masked entries, the first at index 0",
        bins,
        np.ma.array([96, 1, 2], mask=[1, 0, 0]),
        2,
    )
    rows = np.ma.array(ROWS, mask=ROWS == 1)
    refused("X has masked entries, the first at index 1, 0", dims, rows, 1)
    refused(r"X\[1\] has masked entries, the first at index 0", dims, list(rows), 1)
    refused(r"X\[0\]\[1\] has masked entries", dims, [[1, np.ma.masked]], 1)
    refused("rows has masked entries", Lattice(3, 3).ravel, rows)
    refused("units has masked entries", Atoms(3).face, np.ma.array([0, 1], mask=[0, 1]))
    refused("X has masked entries", FewerDims(1).fit, rows)
    fitted = FewerDims(1).fit(np.ma.array(ROWS))
    refused("X has masked entries", fitted.score, rows)
    refused("X has masked entries", fitted.transform, rows)
    refused("masked entries", as_array, np.ma.zeros(3, dtype=[("a", float)]), "x")
    refused("masked entries; fill or drop them", as_array, np.ma.masked, "x")


@pytest.mark.parametrize("kind", ["Int64", "Int8", "UInt16", "Float64", "Float32", "object"])
def test_nullable_columns_without_gaps_are_plain_numbers(kind):
    frame = pd.DataFrame(ROWS, columns=list("abc")).astype(kind)
    frame["c"] = frame["c"].astype("int64")
    assert coverage(frame, [1]) == coverage(ROWS, [1])
    assert (
        dims(frame, 1, solver="greedy", rng=0).support.tolist()
        == dims(ROWS, 1, solver="greedy").support.tolist()
    )
    assert L2(Atoms(3), pd.Series([1, 0, 0], dtype=kind)).q.tolist() == [1.0, 0.0, 0.0]
    assert FewerDims(1).fit(frame).indices_.tolist() == FewerDims(1).fit(ROWS).indices_.tolist()


def test_booleans_beside_numbers_and_polars_frames_are_read():
    frame = pd.DataFrame(
        {"a": [True, False], "b": pd.array([True, False], dtype="boolean"), "c": [2, 0]}
    )
    assert as_table(frame).toarray().tolist() == [[1, 1, 2], [0, 0, 0]]
    assert as_table(pl.DataFrame({"a": [1, 0], "b": [True, False]})).toarray().tolist() == [
        [1, 1],
        [0, 0],
    ]
    mixed = pl.DataFrame({"a": [Decimal("1.5")], "b": [2]})
    assert as_array(mixed, "x").tolist() == [[1.5, 2.0]]
    assert as_numbers(pd.DataFrame(index=[0, 1]), "x").shape == (2, 0)
    twice = pd.DataFrame([[1, 2.5]], columns=["a", "a"], dtype=object)
    assert as_array(twice, "x").tolist() == [[1.0, 2.5]]


def test_a_missing_value_is_named_by_column_and_row():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1, None], dtype="Int64"), "c": [0, 1]})
    refused("has a missing value in column 'b', row 1", States, frame)
    for call in (lambda x: dims(x, 1), FewerDims(1).fit):
        refused("column 'b', row 1: is missing; missing='drop'", call, frame)
    refused("column 'b', row 0: is missing", dims, pl.DataFrame({"a": [1, 2], "b": [None, 2]}), 1)
    refused("column 'a', row 1: is missing", dims, pd.DataFrame({"a": [0.0, np.nan]}), 1)
    refused(
        "q must be finite, got nan at index 1", L2, Atoms(2), pd.array([1, None], dtype="Int64")
    )
    refused(
        r"column 'b' must hold real numbers, got 'x' \(str\) at index 0",
        States,
        frame.assign(b="x"),
    )
    refused(
        "no column of labels or small whole numbers",
        dims,
        pd.DataFrame({"b": pd.to_datetime(["2020"])}),
        1,
    )


# -- numbers


@pytest.mark.parametrize(
    "half",
    [
        0.5,
        np.float16(0.5),
        np.float32(0.5),
        np.longdouble(0.5),
        Fraction(1, 2),
        Decimal("0.5"),
        np.array(0.5),
    ],
)
def test_any_real_number_is_a_number(half):
    assert as_number(half, "x") == 0.5
    assert type(as_number(half, "x")) is float
    assert as_array([half, 1], "x").tolist() == [0.5, 1.0]


NO_NUMBERS = [
    *(
        10**400,
        -(10**400),
        Fraction(10**400),
        Decimal("1e400"),
        Decimal("sNaN"),
        Decimal("NaN"),
        np.longdouble("1e400"),
    ),
    *(
        np.float16("inf"),
        float("nan"),
        "1",
        b"1",
        None,
        True,
        np.True_,
        1j,
        [1.0],
        np.array([1.0]),
        np.ma.masked,
        pd.NA,
    ),
]


@pytest.mark.parametrize("wrong", NO_NUMBERS)
def test_what_is_no_finite_number_gets_a_sentence(wrong):
    refused("^x must be a finite number above 0, got .", as_number, wrong, "x")
    refused(r"^x must be (an integer )?in 1\.\.5, got .", as_integer, wrong, "x", 1, 5)


def test_integers_of_any_type_are_integers_and_limits_hold():
    for three in (3, np.int8(3), np.uint64(3), np.array(3)):
        assert as_integer(three, "k", 1, 3) == 3
        assert type(as_integer(three, "k", 1, 3)) is int
    refused(r"k must be in 1\.\.3, got 4", as_integer, 4, "k", 1, 3)
    refused(r"k must be in 1\.\.3, got 0", as_integer, 0, "k", 1, 3)
    assert [as_integer(end, "k", 1, 3) for end in (1, 3)] == [1, 3]
    refused(r"k must be an integer in 1\.\.3, got 3.0 \(float\)", as_integer, 3.0, "k", 1, 3)
    refused(r"k must be an integer in 1\.\.3, got Fraction", as_integer, Fraction(3), "k", 1, 3)
    refused("k must be at least 1, got a value of type int", as_integer, -(10**5000), "k", 1)
    assert as_number(0, "x", allow_equal=True) == 0.0
    refused("x must be above 0, got 0", as_number, 0, "x")
    refused("x must be at least 1, got 0.5", as_number, 0.5, "x", above=1.0, allow_equal=True)


def test_arrays_of_narrow_and_wide_types():
    assert as_array(np.array([0.5, 65504], np.float16), "x").tolist() == [0.5, 65504.0]
    assert as_array(np.array([1, 2], ">f8"), "x").dtype == np.float64
    refused(
        r"x must be finite, got 1e\+400, more than float64 can hold at index 1",
        as_array,
        [np.longdouble(1), np.longdouble("1e400")],
        "x",
    )
    refused("x must hold numbers that float64 can hold", as_array, [10**400], "x")
    assert as_array([2**63, 2**70], "x").tolist() == [2.0**63, 2.0**70]
    assert as_numbers(np.array([1, True], object), "x").dtype == np.int64
    assert as_table(np.array([[3, 0]], np.float16)).toarray().tolist() == [[3, 0]]
    for kind in (
        np.int8,
        np.uint8,
        np.int16,
        np.uint64,
        np.float16,
        np.float32,
        np.longdouble,
        bool,
    ):
        table = as_table(np.eye(2, dtype=kind))
        assert table.toarray().tolist() == [[1, 0], [0, 1]]
        assert table.dtype in (np.int8, np.int32)
        assert table.indices.dtype == table.indptr.dtype == np.int32


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        (["1", "2"], "x must hold real numbers, got dtype <U1"),
        (np.array(["1", 2], object), r"x must hold real numbers, got '1' \(str\) at index 0"),
        ([1, None], r"got None \(NoneType\) at index 1"),
        ([[1], [1, 2]], r"x must be an array with rows of one length, got \[\[1\], \[1, 2\]\]"),
        ([1 + 0j], "got dtype complex128"),
        (np.array(["2020"], "M8[Y]"), "got dtype datetime64"),
        (np.zeros(2, [("a", float)]), "must hold real numbers"),
        (None, r"x must hold real numbers, got None \(NoneType\)$"),
        ({"a": 1}, r"x must hold real numbers, got {'a': 1} \(dict\)"),
        (
            sp.eye_array(2).tocsr(),
            r"x must be dense, got a csr_array of shape \(2, 2\); use its toarray",
        ),
        ([1.0, np.inf], "x must be finite, got inf at index 1"),
        (np.array(np.nan), r"x must be finite, got nan at index \(\)"),
    ],
)
def test_what_is_no_array_of_numbers_gets_a_sentence(x, sentence):
    refused(sentence, as_array, x, "x")


def test_containers_that_break_get_a_sentence():
    class Broken:
        def __array__(self, *args, **options):
            raise RuntimeError("gone")

        def __repr__(self):
            raise RuntimeError("gone, too")

    refused("x must be an array with rows", as_array, Broken(), "x")
    assert shown(Broken()).startswith("<Broken instance")
    itself = []
    itself.append(itself)
    refused("^x must ", as_array, itself, "x")
    refused("x must be an array with rows", as_array, range(10**15), "x")


def test_weights_of_any_size_are_scaled_and_none_is_refused():
    assert as_weights([1e308, 1e308], 2, "w").tolist() == [0.5, 0.5]
    assert as_weights([0.0, 5e-324], 2, "w").tolist() == [0.0, 1.0]
    refused("w must have at least one entry", as_weights, [], 0, "w")
    refused("q must sum to 1, got inf", KL, Atoms(2), [1e308, 1e308])


def test_units_are_read_from_any_collection_of_integers():
    for units in (
        [2, 0, 2],
        {0, 2},
        (0, 2),
        np.array([2, 0], np.int8),
        {0: 1, 2: 1}.keys(),
        pd.array([0, 2], dtype="Int64"),
        pd.Series([2, 0]),
    ):
        assert as_units(units, 3, "entries").tolist() == [0, 2]
    assert as_units([], 3, "entries").dtype == np.int64
    for wrong in (
        [0, "a"],
        [[0], [1, 2]],
        [0, None],
        [0.0],
        [True],
        "0",
        None,
        {0: 1},
        iter([0]),
        [10**400],
        [float("nan")],
    ):
        refused("^include ", as_units, wrong, 3, "entries", "include")
    refused(
        r"include must be a list of entries indices, got \[\[0\]\]",
        as_units,
        [[0]],
        3,
        "entries",
        "include",
    )
    refused(
        r"include must be in 0\.\.2 \(entries\), got -1\.\.0",
        as_units,
        [0, -1],
        3,
        "entries",
        "include",
    )
    refused(
        r"include must be in 0\.\.2 \(entries\), got 0\.\.3",
        as_units,
        [0, 3],
        3,
        "entries",
        "include",
    )
    refused("got 18446744073709551615", as_units, np.array([2**64 - 1], np.uint64), 3, "entries")


def test_generators_are_made_from_what_numpy_takes():
    assert as_generator(7)[1] == 7
    for wrong in ("x", -1, 1.5, [1, "a"], {}, np.ma.masked, object()):
        refused("rng must be None, a non-negative seed or a Generator", as_generator, wrong)


# -- sparse tables


def made(kind, name):
    return lambda x: getattr(sp, f"{kind}_{name}")(x)


def of_rows(values, columns, starts, kind=np.int32):
    return lambda x: sp.csr_array(
        (np.array(values), np.array(columns, kind), np.array(starts, kind)), shape=(2, 3)
    )


FORMATS = {
    **{kind: made(kind, "array") for kind in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")},
    **{f"{kind} matrix": made(kind, "matrix") for kind in ("csr", "dok", "dia", "bsr")},
    "unsorted": of_rows([2, 1, 4, 3], [1, 0, 2, 1], [0, 2, 4]),
    "doubled": of_rows([0.5, 0.5, 1, 1, 1.5, 1.5, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2], [0, 4, 8]),
    "doubled coo": lambda x: sp.coo_array(
        ([0.5, 0.5, 2, 3, 4], ([0, 0, 0, 1, 1], [0, 0, 1, 1, 2])), shape=(2, 3)
    ),
    "wide indices": of_rows([1, 2, 3, 4], [0, 1, 1, 2], [0, 2, 4], np.int64),
    "stored zeros": of_rows([1, 2, 0, 3, 4], [0, 1, 0, 1, 2], [0, 2, 5]),
}


def arrays_of(x):
    if x.format == "dok":
        return sorted(x.items())
    names = ("data", "indices", "indptr", "offsets", "rows", "coords")
    return [
        (name, np.asarray(getattr(x, name)).tolist())
        for name in names
        if hasattr(x, name) and x.format != "lil"
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_every_sparse_format_is_read_and_left_as_it_is(form):
    dense = np.array([[1, 2, 0], [0, 3, 4]])
    given = FORMATS[form](dense)
    before = arrays_of(given)
    table = as_table(given)
    assert table.toarray().tolist() == dense.tolist()
    assert table.has_canonical_format
    assert table.data.all()
    assert States(given) == States(dense)
    assert coverage(given, [0, 1]) == coverage(dense, [0, 1]) == 0.5
    assert FewerDims(2).fit(given).score(given) == 0.5
    assert arrays_of(given) == before


def test_sparse_matrices_that_are_broken_or_hold_other_things_get_a_sentence():
    broken = sp.csr_array(np.eye(3))
    broken.indices[:] = 7
    refused("rows is not a valid sparse matrix: .*< 3", States, broken)
    broken = sp.csc_array(np.eye(3))
    broken.indices[:] = 7
    refused("X is not a valid sparse matrix", dims, broken, 1)
    refused("rows must hold whole numbers, got 0.5", States, sp.csr_array([[0.5, 1]]))
    refused("rows must hold whole numbers, got nan", States, sp.csr_array([[np.nan, 1]]))
    refused(
        "rows must hold small non-negative integers, got dtype complex128",
        States,
        sp.csr_array([[1j, 1]]),
    )
    refused(r"0\.\.2\^31-1, got -1", States, sp.csr_array([[-1, 1]]))
    refused(r"got shape \(3,\)", States, sp.coo_array(np.array([1, 2, 3])))
    overflow = sp.csr_array(
        (np.array([100, 100], np.int8), np.array([0, 0]), np.array([0, 2])), shape=(1, 1)
    )
    refused(r"0\.\.2\^31-1, got -56", States, overflow)  # SciPy's own sum of int8


def test_codes_up_to_four_bytes():
    assert as_table([[2**31 - 1]]).data.tolist() == [2**31 - 1]
    refused(r"0\.\.2\^31-1, got 2147483648", as_table, [[2**31]])
    refused("got 18446744073709551615", as_table, np.array([[2**64 - 1]], np.uint64))
    refused(r"whole numbers, got 1e\+300|2\^31-1, got 1000", as_table, [[1e300]])
