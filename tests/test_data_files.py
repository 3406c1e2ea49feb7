"""Files of every format read back as they were written, and what is said where they cannot be."""

import bz2
import datetime as dt
import gzip
import lzma
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pytest
import zstandard
from polars.testing import assert_frame_equal

from fewer import InvalidInput
from fewer.io.files import open_table

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
