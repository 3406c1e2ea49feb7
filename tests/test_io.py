"""Files of every format and dialect come back as they were written, to their end, or a sentence names the cell."""

import bz2
import datetime as dt
import gzip
import lzma
import os
import sqlite3
import string
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import fewer
from commands import run
from fewer import InvalidInput
from fewer.io.cells import MISSING
from fewer.io.files import open_table
from fewer.tables.frames import take_rows
from fewer.tables.source import source_of

FRAME = pl.DataFrame(
    {
        "whole": [1, 2, None, -4],
        "number": [1.5, None, -3.25, 1e-300],
        "flag": [True, False, None, True],
        "text": ["a", 'b, "c"', None, "é\n2"],
        "day": [dt.date(2020, 1, 31), None, dt.date(1999, 12, 1), dt.date(2024, 2, 29)],
        "moment": [
            dt.datetime(2020, 1, 1, 10, 30),
            dt.datetime(2020, 1, 2),
            None,
            dt.datetime(2021, 5, 6, 7, 8, 9),
        ],
    }
)
COMPRESSIONS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
}


def same(found, expected=FRAME):
    assert_frame_equal(found, expected, check_dtypes=False, check_exact=True)
    for name, dtype in expected.schema.items():
        assert found.schema[name].is_temporal() == dtype.is_temporal()
        assert found.schema[name].is_numeric() == dtype.is_numeric()


def in_pandas(path):
    FRAME.to_pandas().to_csv(path, index=False)


def in_sqlite(path):
    with closing(sqlite3.connect(path)) as base, base:
        base.execute(
            "CREATE TABLE rows (whole INT, number REAL, flag TEXT, text TEXT, day TEXT, moment"
            " TEXT)"
        )
        texts = FRAME.with_columns(
            pl.col("flag").cast(pl.String), pl.col("day", "moment").cast(pl.String)
        )
        base.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", texts.rows())


WRITERS = {
    "a.csv": FRAME.write_csv,
    "pandas.csv": in_pandas,
    "a.tsv": lambda path: FRAME.write_csv(path, separator="\t"),
    "a.parquet": FRAME.write_parquet,
    "a.feather": FRAME.write_ipc,
    "a.arrow": lambda path: FRAME.write_ipc(path, compression="zstd"),
    "a.jsonl": FRAME.write_ndjson,
    "a.xlsx": FRAME.write_excel,
    "a.sqlite": in_sqlite,
}


@pytest.mark.parametrize("ending", COMPRESSIONS)
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_comes_back_as_it_was_written(name, ending, tmp_path):
    WRITERS[name](tmp_path / name)
    path = tmp_path / f"{name}{ending}"
    path.write_bytes(COMPRESSIONS[ending]((tmp_path / name).read_bytes()))
    table = open_table(path)
    assert table.names == FRAME.columns
    assert table.numeric == ["whole", "number", "flag"]
    same(table.frame())
    same(table.frame(["day", "whole"]), FRAME.select("day", "whole"))
    same(table.rows([3, 0, 3], typed=True), FRAME[[3, 0, 3]])


def test_rows_are_as_the_file_writes_them(tmp_path):
    (tmp_path / "a.csv").write_text("zip,price,who\n01234,$1.50,x\n02345,NA,\n")
    table = open_table(tmp_path / "a.csv")
    assert table.rows([1, 0]).rows() == [("02345", "NA", None), ("01234", "$1.50", "x")]
    assert table.frame().rows() == [("01234", 1.5, "x"), ("02345", None, None)]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"]
)
def test_encodings(encoding, tmp_path):
    content = "näme,x\nZoë,1\nJosé,2\n".encode(encoding)
    if encoding == "utf-16-be":
        content = b"\xfe\xff" + content
    (tmp_path / "a.csv").write_bytes(content)
    table = open_table(tmp_path / "a.csv")
    assert table.frame().to_dict(as_series=False) == {"näme": ["Zoë", "José"], "x": [1, 2]}
    assert bool(table.notes) == (encoding in ("cp1252", "latin-1"))


def test_a_byte_that_is_no_utf8_far_from_the_head_is_said(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n" + b"x,1\n" * 30_000 + b"\xe9,2\n")
    table = open_table(tmp_path / "a.csv")
    assert table.frame()["a"][-1] == "é"
    assert "Windows-1252" in table.notes[0]
    assert table.rows([30_000])["a"].to_list() == ["é"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["$1,234.00", "$5", "-$3.50", "($2,000)"], [1234.0, 5.0, -3.5, -2000.0]),
        (["1.234,50 €", "7 €", "-1,5 €"], [1234.5, 7.0, -1.5]),
        (["1 234,5", "2"], [1234.5, 2.0]),
        (["1'234.5", "2"], [1234.5, 2.0]),
        (["12%", "3.5%"], [0.12, 0.035]),
        (["1,5", "2,25"], [1.5, 2.25]),
        (["1,234", "5,678"], [1234.0, 5678.0]),
        (["EUR 5", "EUR 1,000.50"], [5.0, 1000.5]),
        (["1", "?", "N/A", "-", "", " 2 "], [1, None, None, None, None, 2]),
        (["1", "2.5", "1e3"], [1.0, 2.5, 1000.0]),
        (["9223372036854775808", "1"], [9.223372036854775808e18, 1.0]),
        (["true", "FALSE", "NA"], [True, False, None]),
        (["2020-01-31", "NA"], [dt.date(2020, 1, 31), None]),
        (["31/01/2020", "01/02/2020"], [dt.date(2020, 1, 31), dt.date(2020, 2, 1)]),
        (["01/31/2020", "02/01/2020"], [dt.date(2020, 1, 31), dt.date(2020, 2, 1)]),
        (["31.01.2020", "01.02.2020"], [dt.date(2020, 1, 31), dt.date(2020, 2, 1)]),
        (["007", "012"], ["007", "012"]),
        (["a", "NA", "1"], ["a", None, "1"]),
    ],
)
def test_what_cells_are_taken_for(cells, expected, tmp_path):
    pl.DataFrame({"c": cells, "other": ["x"] * len(cells)}).write_csv(
        tmp_path / "a.csv", quote_style="always"
    )
    found = open_table(tmp_path / "a.csv").frame(["c"])["c"].to_list()
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            ["1", "2", "x"],
            "row 2, column 'c': expected a number (2 of 3 cells are numbers such as '1'), got 'x'",
        ),
        (["12%", "3"], "row 1, column 'c': expected percent, as other cells have it, got '3'"),
        (["$5", "€5"], "row 1, column 'c': expected an amount in $, as in other cells, got '€5'"),
        (["1,234.5", "1.234,5", "2"], "row 1, column 'c': expected a number"),
        (["1.5", "2,5", "3"], "row 1, column 'c': expected a number"),
        (["1,23", "1,2,3", "5"], "row 1, column 'c': expected a number"),
    ],
)
def test_a_column_that_is_mostly_numbers_is_refused_with_its_cell(cells, words, tmp_path):
    pl.DataFrame({"c": cells}).write_csv(tmp_path / "a.csv", quote_style="always")
    table = open_table(tmp_path / "a.csv")
    with pytest.raises(InvalidInput) as error:
        table.frame()
    assert words in str(error.value)
    assert table.frame(categories=["c"])["c"].to_list() == cells
    noted = []
    assert table.frame(refuse=noted.append)["c"].to_list() == cells
    assert len(noted) == 1


def test_a_late_cell_changes_the_type_of_its_column_only(tmp_path):
    rows = [f"{i},{i},{i}.5" for i in range(12_000)] + ["3,2.5,x", "4,NA,1.5"]
    (tmp_path / "a.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    table = open_table(tmp_path / "a.csv")
    frame = table.frame(["a", "b"])
    assert frame.schema == {"a": pl.Int64, "b": pl.Float64}
    assert frame["b"][-2:].to_list() == [2.5, None]
    with pytest.raises(InvalidInput, match=r"row 12000, column 'c': expected a number .*, got 'x'"):
        table.frame()


def test_a_file_with_decimal_commas_has_dots_between_thousands(tmp_path):
    (tmp_path / "a.csv").write_text("price;units\n1,50;1.234\n2,25;5.678\n")
    assert open_table(tmp_path / "a.csv").numbers(["price", "units"]).tolist() == [
        [1.5, 1234.0],
        [2.25, 5678.0],
    ]


@pytest.mark.parametrize(("separator", "first"), [("\t", 1234.0), ("|", 1234.0), (";", 1.234)])
def test_one_comma_alone_stands_between_thousands_unless_semicolons_part_cells(
    separator, first, tmp_path
):
    (tmp_path / "a.txt").write_text(f"a{separator}b\n1,234{separator}x\n5,678{separator}y\n")
    assert open_table(tmp_path / "a.txt").frame()["a"][0] == first


def test_the_note_on_a_column_follows_the_decimal_sign_of_other_columns(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\n1,234\t1.234,50\n5,678\t2.000,25\n")
    table = open_table(tmp_path / "a.tsv")
    assert table.frame()["a"].to_list() == [1.234, 5.678]
    assert "'a' holds numbers written like '1,234', taken as 1.234" in table.notes


def test_layouts(tmp_path):
    for separator in ",;\t|":
        (tmp_path / "a.txt").write_text(f"a{separator}b\n1{separator}x\n2{separator}y\n\n\n")
        assert open_table(tmp_path / "a.txt").frame().to_dict(as_series=False) == {
            "a": [1, 2],
            "b": ["x", "y"],
        }
    (tmp_path / "b.csv").write_text("1;2,5\n3;4,5\n")
    assert open_table(tmp_path / "b.csv").frame().rows() == [(1, 2.5), (3, 4.5)]
    (tmp_path / "c.csv").write_text("a,b,a\n1,2,3\n")
    table = open_table(tmp_path / "c.csv")
    assert table.names == ["a", "b", "a_2"]
    assert "two columns are called 'a'" in table.notes[0]


def test_several_files_are_one_table(tmp_path):
    parts = [FRAME[:1], FRAME[1:3], FRAME[3:]]
    parts[0].write_csv(tmp_path / "1.csv")
    parts[1].select(reversed(FRAME.columns)).write_parquet(tmp_path / "2.parquet")
    parts[2].write_ipc(tmp_path / "3.feather")
    files = [tmp_path / name for name in ("1.csv", "2.parquet", "3.feather")]
    table = open_table(files)
    same(table.frame())
    same(table.rows([3, 1, 0], typed=True), FRAME[[3, 1, 0]])
    for i in range(3):
        FRAME[i : i + 1].write_parquet(tmp_path / f"part{i}.parquet")
    same(open_table(str(tmp_path / "part*.parquet")).frame(), FRAME[:3])


def test_several_files_that_differ_are_refused(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("a,c\n1,2\n")
    (tmp_path / "3.csv").write_text("a,b\nx,2\n")
    with pytest.raises(
        InvalidInput, match=r"2.csv: has no column 'b'; expected the columns of .*1.csv"
    ):
        open_table([tmp_path / "1.csv", tmp_path / "2.csv"])
    with pytest.raises(
        InvalidInput, match=r"3.csv, column 'a': expected numbers in .*1.csv, got texts"
    ):
        open_table([tmp_path / "1.csv", tmp_path / "3.csv"]).frame()
    with pytest.raises(InvalidInput, match="no file has a name like this"):
        open_table(str(tmp_path / "*.parquet"))


def test_tables_of_a_database_are_named_and_nothing_of_them_is_run(tmp_path):
    path = tmp_path / "base.sqlite"
    evil = 'x"; DROP TABLE good; --'
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE good (a INT)")
        base.execute("INSERT INTO good VALUES (1), (2)")
        base.execute('CREATE TABLE "x""; DROP TABLE good; --" ("b"" c" TEXT)')
        base.execute('INSERT INTO "x""; DROP TABLE good; --" VALUES (\'$1.50\')')
        base.execute("CREATE VIEW slow AS SELECT * FROM good, good, good")
    content = path.read_bytes()
    assert open_table(f"{path}::good").frame()["a"].to_list() == [1, 2]
    assert open_table(f"{path}::{evil}").frame().to_dict(as_series=False) == {'b" c': [1.5]}
    with pytest.raises(InvalidInput, match=r"has 2 tables \('good', .*; name one by .*::TABLE"):
        open_table(path)
    with pytest.raises(InvalidInput, match="has no table 'slow'"):
        open_table(f"{path}::slow")
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([b"ab", "x"], ["6162", "x"]),
        ([b"ab", 1, None], ["6162", "1", None]),
        (["x"] * 30_000 + [b"\xff"], ["x"] * 30_000 + ["ff"]),
        ([1] * 30_000 + [b"\xff"], ["1"] * 30_000 + ["ff"]),
    ],
)
def test_bytes_beside_other_cells_of_a_database_are_texts(cells, values, tmp_path):
    path = tmp_path / "base.sqlite"
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE t (a)")
        base.executemany("INSERT INTO t VALUES (?)", [[cell] for cell in cells])
    assert open_table(path).frame(categories=["a"])["a"].to_list() == values


def test_sheets_are_named(tmp_path):
    with pd.ExcelWriter(tmp_path / "a.xlsx", engine="xlsxwriter") as book:
        pd.DataFrame({"a": [1, 2]}).to_excel(book, sheet_name="May", index=False)
        pd.DataFrame({"b": ["$1.50", "$2.00"]}).to_excel(book, sheet_name="June", index=False)
    assert open_table(f"{tmp_path}/a.xlsx::June").frame()["b"].to_list() == [1.5, 2.0]
    with pytest.raises(InvalidInput, match="has 2 sheets"):
        open_table(tmp_path / "a.xlsx")


@pytest.mark.parametrize("ending", ["json", "pdf", "xml", "dta", "xls", "h5", "pkl"])
def test_other_formats_are_refused_before_they_are_read(ending, tmp_path):
    (tmp_path / f"a.{ending}").write_text("a,b\n1,2\n")
    with pytest.raises(InvalidInput, match="format not supported: "):
        open_table(tmp_path / f"a.{ending}")


def test_nested_values_are_refused_where_they_are_asked_for(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1, "b": [1, 2]}\n{"a": 2, "b": []}\n')
    table = open_table(tmp_path / "a.jsonl")
    assert table.frame(["a"])["a"].to_list() == [1, 2]
    with pytest.raises(InvalidInput, match="column 'b': expected single values"):
        table.frame()
    (tmp_path / "deep.jsonl").write_text('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(InvalidInput, match="nested deeper"):
        open_table(tmp_path / "deep.jsonl")


def test_arrays_are_frames_too(tmp_path):
    numbers = np.array([[1.0, np.nan], [3.0, 4.0]])
    np.savez(
        tmp_path / "a.npz",
        x=numbers,
        who=np.array(["a", "b"]),
        day=np.array(["2020-01-31", "NaT"], "M8[D]"),
    )
    table = open_table(tmp_path / "a.npz")
    assert table.plain
    frame = table.frame()
    assert frame.to_dict(as_series=False) == {
        "x_1": [1.0, 3.0],
        "x_2": [None, 4.0],
        "who": ["a", "b"],
        "day": [dt.date(2020, 1, 31), None],
    }
    for kind in ("<f2", ">f8", "<i2", ">i4", "?", "<U3", "S3"):
        np.save(tmp_path / "b.npy", np.array([0, 1, 1]).astype(kind))
        assert len(open_table(tmp_path / "b.npy").frame()) == 3


def test_a_bomb_of_every_compression_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("fewer.io.formats.ALWAYS_INFLATED", 10_000)
    for ending, compress in COMPRESSIONS.items():
        if ending:
            (tmp_path / f"a.csv{ending}").write_bytes(compress(b"a\n" + b"1\n" * 2_000_000))
            with pytest.raises(InvalidInput, match="is inflated to more than"):
                open_table(tmp_path / f"a.csv{ending}")


@pytest.mark.parametrize(
    "kind", ["M8[D]", "M8[M]", "M8[h]", "M8[25s]", "M8[ns]", "m8[s]", "m8[ps]"]
)
def test_times_of_every_unit_are_columns(kind, tmp_path):
    np.save(tmp_path / "times.npy", np.arange(6).reshape(3, 2).astype(kind))
    frame = open_table(tmp_path / "times.npy").frame()
    assert frame.shape == (3, 2)
    assert all(dtype.is_temporal() for dtype in frame.dtypes)


def test_fine_times_stay_apart(tmp_path):
    np.save(tmp_path / "times.npy", np.array([1_000, 2_000], "m8[ps]"))
    frame = open_table(tmp_path / "times.npy").frame()
    assert frame["column"].dt.total_nanoseconds().to_list() == [1, 2]


QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
WORDS = st.text(string.ascii_letters + " éü,;|'\"\n", min_size=1, max_size=8).filter(
    lambda text: (
        text.strip() == text
        and text not in MISSING
        and text.lower() not in ("true", "false", "inf", "nan")
    )
)
COLUMNS = {
    "whole": st.integers(-(10**12), 10**12),
    "number": st.floats(-1e9, 1e9).map(lambda x: round(x, 3) + 0.0),
    "flag": st.booleans(),
    "text": WORDS.filter(lambda text: not any(c.isdigit() for c in text)),
    "day": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
}
DIALECTS = st.fixed_dictionaries(
    {
        "separator": st.sampled_from([",", ";", "\t", "|"]),
        "decimal": st.sampled_from([".", ","]),
        "thousands": st.sampled_from(["", " ", "'", "\u00a0"]),
        "encoding": st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
        "missing": st.sampled_from(MISSING),
        "money": st.sampled_from(["", "$", "€"]),
        "end": st.sampled_from(["\n", "\r\n", "\n\n\n"]),
    }
)


def written_number(value, dialect, places):
    """As `dialect` writes it."""
    text = (
        f"{abs(value):,.{places}f}".replace(".", "!")
        .replace(",", dialect["thousands"])
        .replace("!", dialect["decimal"])
    )
    return ("-" if value < 0 else "") + dialect["money"] + text


def written_cell(value, dialect, kind):
    if value is None:
        return dialect["missing"]
    return {
        "whole": lambda: written_number(value, {**dialect, "money": ""}, 0),
        "number": lambda: written_number(value, dialect, 3),
        "flag": lambda: str(value).lower(),
        "day": lambda: value.isoformat(),
        "text": lambda: value,
    }[kind]()


def quoted_cell(text, separator):
    special = separator in text or any(c in text for c in '"\n\r')
    return '"' + text.replace('"', '""') + '"' if special else text


@st.composite
def written_tables(draw):
    n = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=4))
    values = [draw(st.lists(st.none() | COLUMNS[kind], min_size=n, max_size=n)) for kind in kinds]
    return [
        (f"{kind}_{i}", kind, column)
        for i, (kind, column) in enumerate(zip(kinds, values, strict=True))
    ]


@QUICK
@given(written_tables(), DIALECTS)
def test_a_table_in_any_dialect_comes_back_or_its_cell_is_named(tmp_path, table, dialect):
    rows = zip(
        *([written_cell(value, dialect, kind) for value in values] for _, kind, values in table),
        strict=True,
    )
    separator, end = dialect["separator"], dialect["end"].replace("\n\n\n", "\n")
    lines = [separator.join(name for name, _, _ in table)]
    lines += [separator.join(quoted_cell(text, separator) for text in row) for row in rows]
    blank = table and all(line == "" for line in lines[1:])  # a column of nothing at all
    (tmp_path / "a.csv").write_bytes((end.join(lines) + dialect["end"]).encode(dialect["encoding"]))
    try:
        found = open_table(tmp_path / "a.csv").frame()
    except InvalidInput as error:
        known = any(f"column {name!r}" in str(error) for name, _, _ in table)
        assert known or blank or lines[-1] == "", error  # noqa: PT017 - one of two outcomes
        return
    for name, kind, values in table:
        if len(table) == 1 and dialect["missing"] == "":
            continue  # its missing values are empty lines, of which those at the end are no rows
        check_column(found[name], kind, values, dialect)


def check_column(column, kind, values, dialect):
    read = column.to_list()
    assert [value is None for value in read] == [value is None for value in values]
    for got, value in zip(read, values, strict=True):
        if value is None:
            continue
        if kind == "number" or (kind == "whole" and isinstance(got, float)):
            near = np.isclose(got, value, rtol=1e-15, atol=0)
            assert near or ambiguous(values, dialect), (got, value)
        else:
            assert got == value
            assert type(got) is type(value)


def ambiguous(values, dialect):
    """Numbers of three decimals after a comma below 1,000 may as well be thousands.

    Which it is, a note says.
    """
    small = all(value is None or 1 <= abs(value) < 1000 for value in values)
    return dialect["decimal"] == "," and small and dialect["separator"] != ";"


@QUICK
@given(
    st.lists(
        st.sampled_from(["1", "2.5", "x", "$3", "4%", "1,5", "NA", "", "(7)", "1e3"]),
        min_size=2,
        max_size=8,
    )
)
def test_any_column_is_an_answer_or_a_sentence_with_its_cell(tmp_path, cells):
    (tmp_path / "a.csv").write_text("c;d\n" + "".join(f"{text};k\n" for text in cells))
    table = open_table(tmp_path / "a.csv")
    try:
        column = table.frame()["c"]
    except InvalidInput as error:
        row = int(str(error).split(", row ")[1].split(",")[0])
        assert "column 'c'" in str(error)  # noqa: PT017 - one of two outcomes
        assert repr(cells[row]) in str(error)  # noqa: PT017
        return
    assert column.is_null().to_list() == [text in MISSING for text in cells]
    if not column.dtype.is_numeric():
        assert column.drop_nulls().to_list() == [text for text in cells if text not in MISSING]


def test_a_first_line_that_counts_columns_is_a_head_and_said(tmp_path):
    path = tmp_path / "counted.csv"
    path.write_text("0,1,2,3\n5,6,7,8\n1,2,3,4\n")
    table = open_table(path)
    assert (table.names, table.frame().height) == (["0", "1", "2", "3"], 2)
    assert "counts the columns" in table.notes[0]
    path.write_text("0,1\n5,6\n")
    assert open_table(path).frame().height == 2


def test_a_ragged_line_is_named_where_the_file_is_not_utf8_either(tmp_path):
    from fewer._validation import InvalidInput
    from fewer.io.files import open_table

    lines = [b"a,b", *[b"x,1"] * 3000, b"\xe9,1", b"x,2,3"]
    (tmp_path / "t.csv").write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(InvalidInput, match=r"t\.csv"):
        open_table(str(tmp_path / "t.csv")).frame(["a", "b"])


def test_a_polars_that_loses_rows_is_refused(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n3,4\n")
    for version in ("1.36.1", "1.9.0"):
        monkeypatch.setattr("polars.__version__", version)
        with pytest.raises(
            InvalidInput,
            match=r"t\.csv: reading files needs polars 1\.37\.1 or later, got " + version,
        ):
            open_table(tmp_path / "t.csv")
    for version in ("1.37.1", "2.0.0rc1"):
        monkeypatch.setattr("polars.__version__", version)
        assert open_table(tmp_path / "t.csv").names == ["x", "y"]


def test_bytes_that_an_encoding_leaves_open_stay_apart(tmp_path):
    path = tmp_path / "open.csv"
    path.write_bytes(b"a,b\n1,x\x81\n2,x\x8d\n3,\xe9\n")
    assert open_table(path).frame()["b"].to_list() == ["x\x81", "x\x8d", "\u00e9"]
    path.write_bytes("\ufeffa,b\n1,x\n".encode("utf-16-le") + b"3\x00,\x00\x00\xd8x\x00\n\x00")
    with pytest.raises(InvalidInput, match="is not text in utf-16"):
        open_table(path)


SMALL = "20KB"


def damage(path):
    """Cut the pages of a parquet file and leave its footer whole."""
    content = path.read_bytes()
    path.write_bytes(content[:4] + content[len(content) // 2 :])


@pytest.fixture
def damaged(tmp_path):
    """Three files of 5,000 rows, the second of which has lost its pages."""
    rng = np.random.default_rng(0)
    for i in range(3):
        table = pl.DataFrame({"x": rng.random(5000), "y": rng.random(5000)})
        table.with_columns(d=(pl.col("x") > 0.5).cast(int)).write_parquet(
            tmp_path / f"v{i}.parquet"
        )
    damage(tmp_path / "v1.parquet")
    return str(tmp_path / "v*.parquet")


CALLS = {
    "points": lambda files, **more: fewer.points(files, 3, rng=0, **more),
    "terms": lambda files, **more: fewer.terms(files, "y", 1, **more),
    "dims": lambda files, **more: fewer.dims(
        files, 1, columns={"x": "ignore", "y": "ignore"}, **more
    ),
}


@pytest.mark.parametrize("memory", ["1GB", SMALL])
@pytest.mark.parametrize("job", list(CALLS))
def test_damaged_pages_of_parquet_are_refused_by_every_job(job, memory, damaged):
    with pytest.raises(
        InvalidInput, match=r"v1.parquet: (is damaged: it declares 5000 rows|cannot be read)"
    ):
        CALLS[job](damaged, max_memory=memory)


def test_damaged_pages_of_parquet_are_refused_by_bins(tmp_path):
    for i in range(3):
        pl.DataFrame({"x": np.random.default_rng(i).random(5000)}).write_parquet(
            tmp_path / f"v{i}.parquet"
        )
    damage(tmp_path / "v1.parquet")
    with pytest.raises(
        InvalidInput, match=r"v1.parquet: is damaged: it declares 5000 rows, 0 can be read"
    ):
        fewer.bins(values=str(tmp_path / "v*.parquet"), k=3)


@pytest.mark.parametrize("memory", ["1GB", SMALL])
def test_damaged_pages_of_parquet_are_refused_by_the_command(memory, damaged):
    _, err = run("points", damaged, "-k", "3", "-q", "--max-memory", memory, code=2)
    assert "v1.parquet" in err.splitlines()[-1]


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_a_file_that_is_written_to_while_it_is_read_is_refused(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    write = {
        "parquet": pl.DataFrame.write_parquet,
        "csv": pl.DataFrame.write_csv,
        "arrow": pl.DataFrame.write_ipc,
    }

    def put(rows):
        write[ending](pl.DataFrame({"x": np.arange(rows) + 0.5}), tmp_path / "new")
        os.replace(tmp_path / "new", path)

    put(5000)
    table = open_table(path)
    assert sum(part.height for part in table.batches(["x"])) == 5000
    put(3000)
    with pytest.raises(
        InvalidInput, match=r"t\..*(must not change while it is read|cannot be read|is damaged)"
    ):
        sum(part.height for part in table.batches(["x"]))


def changing(first, later, until):
    """A callable that gives other rows from one of its calls on."""
    calls = []

    def rows():
        calls.append(1)
        return iter(np.array_split(first if len(calls) <= until else later, 10))

    return rows


X = np.random.default_rng(0).random((20_000, 2))


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (X[:8000], "a pass had 20000 rows or more, another one has 8000"),
        (np.concatenate([X, X[:5]]), "a pass had 20000 rows, another one has more"),
        (X[::-1], "rows 0 to 1999 differ between two passes"),
        (np.concatenate([X[:-1], [[0.5, 0.5]]]), "rows 0 to 19999 differ between two passes"),
    ],
)
def test_passes_that_differ_are_refused(later, words):
    """The first three calls are for the size of the data, the first rows, and the first pass."""
    with pytest.raises(InvalidInput, match=f"every pass must give the same rows; {words}"):
        fewer.points(changing(X, later, 3), 5, rng=0, max_memory="100KB")


@pytest.mark.parametrize("until", [1, 2])
@pytest.mark.parametrize("job", ["points", "bins", "dims", "terms"])
def test_a_pass_with_other_values_than_the_first_look_is_refused(job, until):
    rows = changing(X, X[::-1], until)
    calls = {
        "points": lambda: fewer.points(rows, 2, rng=0, max_memory="100KB"),
        "bins": lambda: fewer.bins(lambda: (block[:, 0] for block in rows()), 2, max_memory="9KB"),
        "dims": lambda: fewer.dims(
            lambda: ((block > 0.5).astype(int) for block in rows()), 1, max_memory="9KB"
        ),
        "terms": lambda: fewer.terms(rows, np.arange(20_000.0), 1, max_memory="9KB"),
    }
    with pytest.raises(InvalidInput, match="rows 0 to 1999 differ between two passes"):
        calls[job]()


def test_passes_may_be_cut_differently():
    cuts = iter([3, 7, 11, 13, 2])
    found = fewer.points(lambda: iter(np.array_split(X, next(cuts))), 5, rng=0, max_memory="100KB")
    same = fewer.points(changing(X, X, 0), 5, rng=0, max_memory="100KB")
    assert found.indices.tolist() == same.indices.tolist()


TABLE = pd.DataFrame({"x": [0.5, np.nan, 2.0, 3.0], "t": ["a", None, "b", "é"]})
CONTAINERS = {
    "array": TABLE[["x"]].to_numpy(),
    "objects": np.array([["a", "b"], ["c", None], [1, 2.0], ["a", "b"]], object),
    "sparse": sp.csr_array(np.eye(4)),
    "pandas": TABLE,
    "polars": pl.from_pandas(TABLE),
    "arrow": pa.Table.from_pandas(TABLE),
    "lists": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_passes_with_other_rows_are_told_apart_in_every_container(name):
    rows = CONTAINERS[name]
    passes = [[0, 1, 2, 3], [0, 1, 2, 3], [1, 0, 2, 3]]
    source = source_of(lambda: iter([take_rows(rows, passes.pop(0))]))
    height = lambda: source.fold("pass", lambda block, _: block.X.shape[0], None, sum, 4)
    assert height() == height() == 4
    with pytest.raises(InvalidInput, match="rows 0 to 3 differ between two passes"):
        height()


def test_sparse_blocks_whose_indices_are_out_of_range_are_refused():
    block = sp.csr_array(np.eye(3))
    block.indices[1] = 9
    with pytest.raises(InvalidInput, match="not a valid sparse matrix: indices must be < 3"):
        fewer.points(lambda: iter([block]), 1)


def test_rows_that_dask_lost_since_they_were_counted_are_refused():
    dask = pytest.importorskip("dask")
    calls = []

    def part():
        calls.append(1)
        return X[:5000] if len(calls) < 3 else X[:3000]

    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(InvalidInput, match="every pass must give the same rows"),
    ):
        fewer.terms([dask.delayed(part, pure=False)()], np.arange(5000.0), 1, max_memory="9KB")


@pytest.mark.parametrize("ending", ["csv", "arrow"])
def test_rows_of_a_file_that_was_written_to_are_refused(ending, tmp_path):
    path = tmp_path / f"t.{ending}"
    table = pl.DataFrame({"x": X[:, 0]})
    write = table.write_csv if ending == "csv" else table.write_ipc
    write(path)
    opened = open_table(path)
    os.utime(path, ns=(1, 1))
    for read in (lambda: opened.rows([3]), opened.frame):
        with pytest.raises(InvalidInput, match="must not change while it is read"):
            read()
