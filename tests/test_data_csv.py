"""csv in any dialect: what was written is read back, or a sentence names the column and the cell."""

import datetime as dt
import string

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewer import InvalidInput
from fewer.io import csv as _csv
from fewer.io.cells import MISSING, without_missing
from fewer.io.files import open_table

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


def cell(value, dialect, kind):
    if value is None:
        return dialect["missing"]
    return {
        "whole": lambda: written_number(value, {**dialect, "money": ""}, 0),
        "number": lambda: written_number(value, dialect, 3),
        "flag": lambda: str(value).lower(),
        "day": lambda: value.isoformat(),
        "text": lambda: value,
    }[kind]()


def quoted(text, separator):
    special = separator in text or any(c in text for c in '"\n\r')
    return '"' + text.replace('"', '""') + '"' if special else text


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))
    kinds = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=4))
    values = [draw(st.lists(st.none() | COLUMNS[kind], min_size=n, max_size=n)) for kind in kinds]
    return [
        (f"{kind}_{i}", kind, column)
        for i, (kind, column) in enumerate(zip(kinds, values, strict=True))
    ]


@QUICK
@given(tables(), DIALECTS)
def test_a_table_in_any_dialect_comes_back_or_its_cell_is_named(tmp_path, table, dialect):
    rows = zip(
        *([cell(value, dialect, kind) for value in values] for _, kind, values in table),
        strict=True,
    )
    separator, end = dialect["separator"], dialect["end"].replace("\n\n\n", "\n")
    lines = [separator.join(name for name, _, _ in table)]
    lines += [separator.join(quoted(text, separator) for text in row) for row in rows]
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
        check(found[name], kind, values, dialect)


def check(column, kind, values, dialect):
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


@pytest.mark.parametrize(
    ("last", "kept"),
    [
        ("2024-05-06", [dt.date(2024, 5, 6)]),
        ("", [None]),
        ("NA", [None]),
        ("2024-13-06", ["2024-13-06"]),
        ("soon", ["soon"]),
    ],
)
def test_dates_are_parsed_while_they_are_read_and_cells_further_down_decide(
    tmp_path, monkeypatch, last, kept
):
    monkeypatch.setattr(_csv, "HEAD_ROWS", 20)
    path = tmp_path / "days.csv"
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(50)]
    path.write_text("day,x\n" + "".join(f"{day},{i}\n" for i, day in enumerate([*days, last])))
    table = open_table(path)
    assert table.numeric == ["x"]
    column = table.frame()["day"]
    assert column[-1:].to_list() == kept
    assert str(column[0]) == days[0]


@QUICK
@given(
    st.lists(
        st.sampled_from(["gold", " NA", "free", "?", "", "NA ", "none", "a b"]),
        min_size=1,
        max_size=400,
    )
)
def test_missing_texts_are_found_among_few_and_among_many(texts):
    cells = pl.Series("plan", texts, pl.String)
    expected = [None if text.strip() in MISSING else text for text in texts]
    assert without_missing(cells).to_list() == expected


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


def test_a_wide_csv_is_opened_in_time_linear_in_its_columns(tmp_path, monkeypatch):
    asked = []
    real = pl.DataFrame.columns
    monkeypatch.setattr(
        pl.DataFrame,
        "columns",
        property(lambda self: asked.append(1) or real.fget(self), real.fset),
    )
    path = tmp_path / "wide.csv"
    path.write_text(
        ",".join(f"c{i}" for i in range(500)) + "\n" + (",".join(["1.5", "x"] * 250) + "\n") * 3
    )
    table = open_table(path)
    assert len(table.numeric) == 250
    assert len(asked) < 20  # each time polars makes all the names anew


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


def test_an_encoding_that_shows_itself_late_is_noted(tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"a,b\n" + b"12345,some text\n" * 1_000_000 + b"5,caf\xe9\n")
    table = open_table(path)
    assert table.frame(["b"])["b"][-1] == "caf\u00e9"
    assert any("Windows-1252" in note for note in table.notes)


def test_bytes_that_an_encoding_leaves_open_stay_apart(tmp_path):
    path = tmp_path / "open.csv"
    path.write_bytes(b"a,b\n1,x\x81\n2,x\x8d\n3,\xe9\n")
    assert open_table(path).frame()["b"].to_list() == ["x\x81", "x\x8d", "\u00e9"]
    path.write_bytes("\ufeffa,b\n1,x\n".encode("utf-16-le") + b"3\x00,\x00\x00\xd8x\x00\n\x00")
    with pytest.raises(InvalidInput, match="is not text in utf-16"):
        open_table(path)
