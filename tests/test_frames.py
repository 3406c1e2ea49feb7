"""Columns of tables, against what pandas, polars and pyarrow say of them, for every dtype."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fewer._validation import InvalidInput, as_numbers, is_frame
from fewer.tables.column import below, columns_of
from fewer.tables.frames import height, index_of, is_table, names_of, put_columns, take_rows

UTC = dt.UTC
EAST = dt.timezone(dt.timedelta(hours=2))
DAY = dt.date(2024, 3, 1)
MOMENT = dt.datetime(2024, 3, 1, 12, 30, 15, 250000)
EPOCH = dt.datetime(1970, 1, 1)


def seconds(moment):
    """Seconds from 1970 of a datetime without a zone."""
    return (moment - EPOCH).total_seconds()


def entries(column):
    """Values with None for what is missing, the mask checked against them."""
    values = column.values
    gone = np.array(
        [value is None or (isinstance(value, float) and math.isnan(value)) for value in values]
    )
    assert (
        gone.tolist()
        == (np.zeros(len(values), bool) if column.missing is None else column.missing).tolist()
    )
    assert (column.missing is None) == (not gone.any())
    assert values.dtype == (object if column.kind == "category" else np.float64)
    back = np.append(column.levels.values.astype(object), None)[column.levels.codes]
    found = [None if out else value for value, out in zip(values, gone, strict=True)]
    assert back.tolist() == found
    return found


def numbers_of_every_width():
    """3, 1, 2 in every type of numbers of each library."""
    pandas = "uint64 float16 float32 Int8 Float64 int64[pyarrow] double[pyarrow]"
    yield from (pd.Series([3, 1, 2], dtype=kind) for kind in pandas.split())
    decimals = [Decimal(3), Decimal(1), Decimal(2)]
    yield from (pd.Series(values, dtype=object) for values in (decimals, [3, 1.0, Decimal(2)]))
    yield pd.arrays.SparseArray([3.0, 1.0, 2.0])
    polars = (
        pl.Int8,
        pl.Int64,
        pl.Int128,
        pl.UInt8,
        pl.UInt64,
        pl.Float32,
        pl.Float64,
        pl.Decimal(9, 2),
    )
    yield from (pl.Series([3, 1, 2]).cast(kind) for kind in polars)
    arrow = (pa.int8(), pa.int64(), pa.uint16(), pa.float32(), pa.float64(), pa.decimal128(30, 2))
    yield from (pa.array([3, 1, 2]).cast(kind) for kind in arrow)
    yield pa.chunked_array([[3], [1, 2]])


NUMBERS = list(numbers_of_every_width())


def held(values):
    """A frame with one column of these values, in the library that they are of."""
    if isinstance(values, pl.Series):
        return pl.DataFrame({"x": values})
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return pa.table({"x": values})
    return pd.DataFrame({"x": values})


@pytest.mark.parametrize(
    "values", NUMBERS, ids=lambda s: f"{type(s).__module__.split('.')[0]}-{getattr(s, 'dtype', '')}"
)
def test_numbers_of_any_width_are_numbers(values):
    (column,) = columns_of(held(values))
    assert (column.name, column.kind, entries(column)) == ("x", "number", [3.0, 1.0, 2.0])


MISSING = {
    "nullable integers": (pd.Series([3, None, 2], dtype="Int64"), "number", [3.0, None, 2.0]),
    "floats": (pd.Series([3, np.nan, 2]), "number", [3.0, None, 2.0]),
    "booleans": (pd.Series([True, False, True]), "boolean", [1.0, 0.0, 1.0]),
    "nullable booleans": (
        pd.Series([True, None, False], dtype="boolean"),
        "boolean",
        [1.0, None, 0.0],
    ),
    "decimals": (pd.Series([Decimal("0.5"), None], dtype=object), "number", [0.5, None]),
    "nothing": (pd.Series([None, None], dtype=object), "number", [None, None]),
    "text": (pd.Series(["b", None, "a"], dtype="str"), "category", ["b", None, "a"]),
    "categories": (pd.Series(["b", None, "a"], dtype="category"), "category", ["b", None, "a"]),
    "mixed objects": (pd.Series(["b", 1, None], dtype=object), "category", ["b", 1, None]),
    "datetimes": (pd.Series([MOMENT, None]), "date", [seconds(MOMENT), None]),
    "datetimes with a zone": (
        pd.Series([MOMENT.replace(tzinfo=UTC), None]).dt.tz_convert("America/New_York"),
        "date",
        [seconds(MOMENT), None],
    ),
    "dates as objects": (pd.Series([DAY, None], dtype=object), "date", [19783 * 86400.0, None]),
    "objects with zones": (
        pd.Series([MOMENT.replace(tzinfo=EAST)], dtype=object),
        "date",
        [seconds(MOMENT) - 7200],
    ),
    "times": (pd.Series([dt.time(1, 2, 3, 500000), None], dtype=object), "date", [3723.5, None]),
    "lengths of time": (pd.Series([dt.timedelta(seconds=90), None]), "number", [90.0, None]),
    "periods": (pd.Series(pd.PeriodIndex(["2024-03"], freq="M")), "date", [19783 * 86400.0]),
    "polars numbers": (pl.Series([3, None, 2]), "number", [3.0, None, 2.0]),
    "polars floats": (pl.Series([3.0, None, math.nan]), "number", [3.0, None, None]),
    "polars booleans": (pl.Series([True, None, False]), "boolean", [1.0, None, 0.0]),
    "polars decimals": (pl.Series([Decimal("0.5"), None]), "number", [0.5, None]),
    "polars categories": (
        pl.Series(["b", None, "a"], dtype=pl.Categorical),
        "category",
        ["b", None, "a"],
    ),
    "polars datetimes": (pl.Series([MOMENT, None]), "date", [seconds(MOMENT), None]),
    "polars datetimes with a zone": (
        pl.Series([MOMENT]).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        "date",
        [seconds(MOMENT)],
    ),
    "polars nothing": (pl.Series([None, None]), "number", [None, None]),
    "arrow numbers": (pa.array([3, None, 2]), "number", [3.0, None, 2.0]),
    "arrow floats": (pa.array([3.0, None, math.nan]), "number", [3.0, None, None]),
    "arrow booleans": (pa.array([True, None, False]), "boolean", [1.0, None, 0.0]),
    "arrow text": (pa.array(["b", None, "a"]), "category", ["b", None, "a"]),
    "arrow categories": (
        pa.array(["b", None, "a"]).dictionary_encode(),
        "category",
        ["b", None, "a"],
    ),
    "arrow dates": (pa.array([DAY, None]), "date", [19783 * 86400.0, None]),
    "arrow datetimes with a zone": (
        pa.array([MOMENT.replace(tzinfo=EAST)]),
        "date",
        [seconds(MOMENT) - 7200],
    ),
    "arrow nothing": (pa.nulls(2), "number", [None, None]),
}


@pytest.mark.parametrize("case", MISSING)
def test_every_dtype_has_its_kind_values_and_missing_cells(case):
    values, kind, expected = MISSING[case]
    (column,) = columns_of(held(values))
    assert column.kind == kind
    found = entries(column)
    assert found == pytest.approx(expected) if kind != "category" else found == expected


NESTED = [
    pd.Series([[1], [2, 3]]),
    pd.Series([{"a": 1}, {"a": 2}]),
    pd.Series([b"a", b"b"]),
    pd.Series([1j, 2j]),
    pl.Series([[1], [2, 3]]),
    pl.Series([{"a": 1}]),
    pl.Series([b"a"]),
    pa.array([[1], [2]]),
    pa.array([b"a"]),
]


@pytest.mark.parametrize("values", NESTED, ids=lambda s: type(s).__module__.split(".")[0])
def test_nested_and_binary_columns_are_other_and_name_their_type(values):
    (column,) = columns_of(held(values))
    assert column.kind == "other"
    assert column.dtype


MANY = [None if i % 7 == 3 else f"v{i * 37 % 101}" for i in range(3000)]
TEXTS = {
    "pandas": pd.Series(MANY, dtype="str"),
    "pandas objects": pd.Series(MANY, dtype=object),
    "pandas categories": pd.Series(MANY, dtype="category"),
    "polars": pl.Series(MANY),
    "polars categories": pl.Series(MANY, dtype=pl.Categorical),
    "arrow": pa.chunked_array([MANY[:1000], MANY[1000:]]),
    "arrow categories": pa.chunked_array([MANY[:1000], MANY[1000:]]).dictionary_encode(),
}


@pytest.mark.parametrize("library", TEXTS)
def test_many_texts_have_the_levels_that_few_have(library):
    (column,) = columns_of(held(TEXTS[library]))
    assert column.levels.values.tolist() == sorted(set(MANY) - {None})
    assert entries(column) == MANY


def test_a_number_beyond_float64_is_refused_with_its_cell():
    (column,) = columns_of(pd.DataFrame({"big": pd.Series([1, 10**400], dtype=object)}))
    with pytest.raises(InvalidInput, match=r"column .big. must hold numbers that float64 can hold"):
        _ = column.values


FRAMES = {
    "pandas": pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}),
    "polars": pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}),
    "lazy": pl.LazyFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}),
    "arrow": pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}),
    "batch": pa.record_batch({"a": [1, 2, 3], "b": ["x", "y", "z"]}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_tables_have_rows_names_and_columns(name):
    X = FRAMES[name]
    assert is_table(X)
    assert is_frame(X)
    assert (height(X), names_of(X), index_of(X)) == (3, ["a", "b"], None)
    few = take_rows(X, np.array([2, 0]))
    assert isinstance(few, pl.DataFrame if name == "lazy" else type(X))
    assert [column.values.tolist() for column in columns_of(few)] == [[3.0, 1.0], ["z", "x"]]


@pytest.mark.parametrize("name", FRAMES)
def test_as_numbers_reads_every_frame_of_numbers(name):
    X = FRAMES[name]
    numbers = X.select(["a"]) if name != "pandas" else X[["a"]]
    assert as_numbers(numbers, "X").tolist() == [[1], [2], [3]]


def test_a_missing_value_in_an_arrow_table_is_named():
    with pytest.raises(InvalidInput, match="X has a missing value in column 'b', row 1"):
        as_numbers(pa.table({"a": [1.0, 2.0], "b": [1.0, None]}), "X")


def test_series_are_tables_of_one_column():
    for series in (pd.Series([1, 2], name="a"), pl.Series("a", [1, 2])):
        assert (is_table(series), is_frame(series), names_of(series), height(series)) == (
            True,
            False,
            ["a"],
            2,
        )
        assert columns_of(series)[0].values.tolist() == [1.0, 2.0]


def test_the_index_of_pandas_is_known_unless_it_is_the_row_number():
    frame = pd.DataFrame({"a": [1, 2]}, index=["p", "q"])
    assert index_of(frame).tolist() == ["p", "q"]
    assert index_of(frame.reset_index(drop=True)) is None
    assert index_of(frame.reset_index(drop=True).iloc[1:]).tolist() == [1]
    both = pd.DataFrame({"a": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, "x"), (2, "y")]))
    assert index_of(both).tolist() == [(1, "x"), (2, "y")]


def test_columns_of_one_name_are_told_apart_by_place():
    frame = pd.DataFrame([[1, "x"], [2, "y"]], columns=["a", "a"])
    assert [column.kind for column in columns_of(frame)] == ["number", "category"]
    with pytest.raises(InvalidInput, match="X's column 'a' must hold real numbers"):
        as_numbers(frame, "X")


@pytest.mark.parametrize("name", [name for name in FRAMES if name != "lazy"])
def test_columns_are_put_into_the_container_and_nan_is_missing(name):
    found = put_columns(FRAMES[name], {0: np.array([1.5, np.nan, 2.0])})
    first, second = columns_of(found)
    assert (first.name, entries(first), entries(second)) == ("a", [1.5, None, 2.0], ["x", "y", "z"])


@pytest.mark.parametrize("form", [pl.from_pandas, pa.Table.from_pandas, pd.DataFrame])
def test_a_table_below_another_has_the_rows_of_both(form):
    here = form(pd.DataFrame({"x": ["b", "a"], "n": [1, 2], "more": [3.0, 4.0]}))
    there = form(pd.DataFrame({"n": [None, 0.5], "x": ["c", "a"]}))
    both = columns_of(below(here, there, ["x", "n"], "target"))
    assert [entries(column) for column in both] == [["b", "a", "c", "a"], [1.0, 2.0, None, 0.5]]
    with pytest.raises(InvalidInput, match="target: there is no column 'more'"):
        below(here, there, ["more"], "target")
    words = form(pd.DataFrame({"n": ["u", "v"]}))
    with pytest.raises(InvalidInput, match="target: column 'n' holds texts, in X it holds numbers"):
        below(here, words, ["n"], "target")
