"""csv and its kin through polars: read once, each column with the type that its first rows show.

Columns that programs wrote (numbers, booleans, dates such as 2024-05-31) are parsed while they are
read. Others come as texts and are looked at whole (`cells`). Where a cell further down is not of
the type of the first rows, all cells are tried in one pass that keeps nothing, and the columns in
question are read again as texts.
"""

import csv
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput
from .cells import FALSE, MISSING, MOSTLY, TRUE, Parsed, is_grouped, parsed, without_missing
from .formats import SNIFFED_BYTES, WINDOWS, encoding_of, recoded, start_of, trimmed
from .table import DAMAGES, FileTable, stamp_of, unreadable

HEAD_ROWS = 10_000
"""Rows from which types are guessed ..."""
HEAD_CELLS = 2_000_000
"""... or so many that they have fewer cells than this."""
MAX_COLUMNS = 100_000
"""Columns that a text file may have: polars needs 3 kB of memory for each."""
NOT_UTF8 = "the file is not in UTF-8, so it is read as Windows-1252"
CODE = r"^[-+]?0\d"
"""Codes with leading zeros, which are no numbers."""
ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
"""Dates that polars parses while it reads."""
COMMA_NUMBER = r"^[-+]?\d+(,\d*)?$"
"""Numbers with a decimal comma that polars parses while it reads."""
SEPARATORS = ("\t", ";", "|", ",")
"""What may be between cells; where several fit equally, the first of them."""
SNIFFED_LINES = 200
MAX_LINE_BYTES = 1 << 28
MIN_COUNTED = 4
"""Cells from which a line that counts its columns from 0 on is a head: fewer may well be data."""
COUNTED = "the first line counts the columns (0, 1, 2, ...), so it is taken for their names"


@dataclass(frozen=True)
class Dialect:
    """The layout of a text file: the sign between cells, whether the first line is a head, and the names."""

    separator: str
    header: bool
    names: list[str]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: Path, label: str) -> "Dialect":
        """Read the layout of a text file in UTF-8; a first line of numbers is a head if it counts columns."""
        with path.open("rb") as file:
            line = file.readline(MAX_LINE_BYTES)
        if b"\r" in line.rstrip(b"\r\n") and not line.endswith(b"\n"):
            raise InvalidInput(f"{label}: its lines end in CR alone; expected LF or CRLF")
        separator = separator_of(start_of(path))
        try:
            with path.open(newline="", encoding="utf-8-sig", errors="replace") as text:
                first = next(csv.reader(text, delimiter=separator), [])
        except csv.Error as error:
            raise InvalidInput(f"{label}: cannot be read as csv: {error}") from None
        if len(first) >= MIN_COUNTED and first == [str(i) for i in range(len(first))]:
            return cls(separator, True, first, (COUNTED,))
        if all(map(is_number, first)):
            return cls(separator, False, [f"column_{i + 1}" for i in range(len(first))])
        return cls(separator, True, *distinct(first))

    def layout(self, types: dict[str, Any]) -> dict[str, Any]:
        """Options by which polars reads these types, and texts where none is given."""
        return {
            "schema": {name: types.get(name, pl.String) for name in self.names},
            "separator": self.separator,
            "has_header": False,
            "skip_rows": int(self.header),
            "glob": False,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class CsvTable(FileTable):
    """A text file in UTF-8: columns of types that polars parses, and texts, some of which are looked at.

    `decimal` is the decimal sign that columns show, and `decimal_comma` says whether polars parses
    numbers with decimal commas.
    """

    path: Path
    dialect: Dialect
    decimal: str | None
    decimal_comma: bool
    kind: str = "csv"

    def lazy(self, names: Sequence[str], as_text: Collection[str] = ()) -> Any:
        """Columns of the file, missing values as nulls."""
        types = {name: dtype for name, dtype in self.schema.items() if name not in as_text}
        return self._scan(types).select(names)

    def raw(self, names: Sequence[str]) -> Any:
        """Columns with their cells as they are written."""
        return pl.scan_csv(self.path, **self.dialect.layout({})).select(names)

    def _scan(self, types: dict[str, Any]) -> Any:
        return pl.scan_csv(
            self.path,
            null_values=list(MISSING),
            decimal_comma=self.decimal_comma,
            **self.dialect.layout(types),
        )

    def text(self, column: Any) -> Any:
        """A column of texts with missing ones as nulls."""
        return without_missing(column)

    def parsed(self, column: Any) -> Parsed:
        """A column of texts by its cells."""
        return parsed(column, self.decimal, self.dialect.separator == ";")

    def counted(self) -> int:
        """Return the number of rows, by a count of lines."""
        return int(self._scan({}).select(pl.len()).collect().item())

    def stored_bytes(self, names: Sequence[str]) -> int:
        """About what columns take in memory: eight bytes for a cell, by the length of the first rows."""
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            start = file.read(HEAD_CELLS)
        rows = size / len(start) * start.count(b"\n")
        return max(size, int(8 * rows * len(names)))

    def amended(self, error: BaseException) -> "CsvTable":
        """Return the file in another encoding, or without the types that a cell further down has not."""
        if is_encoding(error):
            return self.recoded
        if "could not parse" not in str(error) or "dtype `str`" in str(error):
            raise self._ragged(error) from None
        types = {name: dtype for name, dtype in self.schema.items() if dtype != pl.String}
        tests = [self._are_of_type(pl.col(name), dtype).all() for name, dtype in types.items()]
        try:
            kept = self._scan({}).select(tests).collect(engine="streaming").row(0)
        except DAMAGES as reason:
            raise self._ragged(reason) from None
        lost = [name for name, right in zip(types, kept, strict=True) if not right]
        if not lost:
            raise self._ragged(error) from None
        looks = {name: Parsed(pl.Series(name, [], types[name])) for name in lost}
        schema = self.schema | dict.fromkeys(lost, pl.String)
        return replace(self, schema=schema, looks=self.looks | looks)

    def _are_of_type(self, cell: Any, dtype: Any) -> Any:
        """Which texts are of a type, or missing."""
        if dtype == pl.Float64 and self.decimal_comma:
            return cell.str.contains(COMMA_NUMBER)
        if dtype == pl.Boolean:
            return cell.is_in([*TRUE, *FALSE])
        day = dtype == pl.Date
        value = (
            cell.str.to_date("%Y-%m-%d", strict=False) if day else cell.cast(dtype, strict=False)
        )
        return value.is_not_null() | cell.is_null()

    def _ragged(self, error: BaseException) -> InvalidInput:
        return ragged(self.path, self.dialect, self.label, error)

    @cached_property
    def recoded(self) -> "CsvTable":
        """The file, taken for Windows-1252."""
        path = recoded(self.path, self.label, WINDOWS)
        self.said.append(NOT_UTF8)
        dialect = Dialect.of(path, self.label)
        return replace(self, path=path, stamp=stamp_of(path), dialect=dialect)


def is_encoding(error: BaseException) -> bool:
    """Whether polars met bytes that are not UTF-8."""
    return re.search("utf-?8", str(error), re.I) is not None


def ragged(path: Path, dialect: Dialect, label: str, error: BaseException) -> InvalidInput:
    """The error about the first row with more cells than the head, or what polars says."""
    width = len(dialect.names)
    with path.open(newline="", encoding="utf-8", errors="replace") as file, suppress(csv.Error):
        for line, cells in enumerate(csv.reader(file, delimiter=dialect.separator)):
            if len(cells) > width:
                row = line - int(dialect.header)
                return InvalidInput(f"{label}, row {row}: expected {width} cells, got {len(cells)}")
    return unreadable(label, "csv", error)


def open_csv(path: Path, label: str, encoding: str | None = None) -> CsvTable:
    """A csv file: its layout, and its columns by their first rows; bytes that are not UTF-8 are Windows-1252."""
    written = encoding or encoding_of(start_of(path), label)
    own = trimmed(path if written is None else recoded(path, label, written))
    stamp, dialect = stamp_of(own), Dialect.of(own, label)
    if len(dialect.names) > MAX_COLUMNS:
        raise InvalidInput(
            f"{label}: a text file must have at most {MAX_COLUMNS} columns, got"
            f" {len(dialect.names)}; save it as npz"
        )
    try:
        types, looks, decimal, decimal_comma = head_types(own, label, dialect)
    except pl.exceptions.PolarsError as error:
        if encoding is None and is_encoding(error):
            return open_csv(path, label, WINDOWS)
        raise ragged(own, dialect, label, error) from None
    return CsvTable(
        label=label,
        schema={name: types.get(name, pl.String) for name in dialect.names},
        looks=looks,
        said=[*dialect.notes, *([NOT_UTF8] if encoding else [])],
        path=own,
        stamp=stamp,
        dialect=dialect,
        decimal=decimal,
        decimal_comma=decimal_comma,
    )


def head_types(
    path: Path, label: str, dialect: Dialect
) -> tuple[dict[str, Any], dict[str, Parsed], str | None, bool]:
    """The types by which polars reads columns, columns in disguise, and the decimal sign, by the first rows."""
    names = dialect.names
    if not names:
        raise InvalidInput(f"{label}: has no columns, or is changed while it is read")
    rows = max(min(HEAD_ROWS, HEAD_CELLS // len(names)), 20)
    head = pl.read_csv(path, n_rows=rows, null_values=list(MISSING), **dialect.layout({}))
    if head.height == 0:
        raise InvalidInput(f"{label}: has a head but no rows, or a quote that is never closed")
    cells = head.unpivot()["value"]  # one long column, as columns cost more than cells

    def counts(test: pl.Series) -> Any:
        """How many cells of each column pass."""
        passed = test.fill_null(False).to_numpy().reshape(head.width, head.height)
        return passed.sum(axis=1)

    filled = counts(cells.is_not_null())
    plain = (counts(cells.str.contains(CODE)) == 0) & (filled > 0)
    tests = {
        pl.Int64: cells.cast(pl.Int64, strict=False).is_not_null(),
        pl.Float64: cells.cast(pl.Float64, strict=False).is_not_null(),
        pl.Boolean: cells.is_in([*TRUE, *FALSE]),
        pl.Date: cells.str.contains(ISO_DATE),
    }
    types: dict[str, Any] = {}
    for dtype, test in tests.items():
        fitting = plain & (counts(test) == filled)
        types = {names[j]: dtype for j in np.flatnonzero(fitting)} | types
    floats = [name for name, dtype in types.items() if dtype == pl.Float64]
    decimal_comma = False
    if dialect.separator != "," and all(is_grouped(head[name]) for name in floats):
        fitting = plain & (counts(cells.str.contains(COMMA_NUMBER)) == filled)
        commas = {names[j]: pl.Float64 for j in np.flatnonzero(fitting) if names[j] not in types}
        if dialect.separator == ";" or not all(is_grouped(head[name], ",") for name in commas):
            decimal_comma, types = bool(commas), types | commas
    decimal = "," if decimal_comma else None
    mostly = (counts(cells.str.contains(r"\d")) > MOSTLY * filled) | (filled == 0)
    suspects = [names[j] for j in np.flatnonzero(mostly) if names[j] not in types]
    looks = {name: parsed(head[name], decimal, dialect.separator == ";") for name in suspects}
    signs = {look.decimal for look in looks.values()} - {None}
    if decimal is None and len(signs) == 1:
        decimal = signs.pop()
        looks = {name: parsed(head[name], decimal) for name in suspects}
    if decimal == ",":
        grouped = [name for name in floats if is_grouped(head[name])]
        looks |= {name: parsed(head[name], decimal, True) for name in grouped}
        types = {name: dtype for name, dtype in types.items() if name not in grouped}
    return types, looks, decimal, decimal_comma


def separator_of(start: bytes) -> str:
    r"""The separator with which the most of the first lines have as many cells as the first has.

    Where the first line has only one cell, it is one that is nowhere.

    >>> texts = (b"a;b\n1,5;2,5\n", b"a,b\n1,x;y\n", b"a\n1\n", b"a\n1,5\n")
    >>> [separator_of(text) for text in texts]
    [';', ',', ',', ';']
    """
    text = start.decode("utf-8", "replace").lstrip("\ufeff")
    lines = text.splitlines(keepends=True)
    if len(start) == SNIFFED_BYTES and len(lines) > 1:
        lines = lines[:-1]
    shares = {}
    for separator in SEPARATORS:
        try:
            rows = [row for row in csv.reader(lines[:SNIFFED_LINES], delimiter=separator) if row]
            sizes = list(map(len, rows))
        except csv.Error:
            sizes = [1 + lines[0].count(separator)]
        if sizes and sizes[0] > 1:
            shares[separator] = sizes.count(sizes[0]) / len(sizes)
    if shares:
        return max(shares, key=shares.__getitem__)
    return next((separator for separator in (",", *SEPARATORS[1:]) if separator not in text), ",")


def distinct(names: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The names with those that come again numbered, and notes on the first of these.

    >>> distinct(["a", "b", "a"])
    (['a', 'b', 'a_2'], ("two columns are called 'a'; the later one is read as 'a_2'",))
    """
    unique: dict[str, None] = {}
    taken, notes = set(names), []
    for name in names:
        new, count = name, 1
        while new in unique or (count > 1 and new in taken):
            count += 1
            new = f"{name}_{count}"
        if new != name:
            notes.append(f"two columns are called {name!r}; the later one is read as {new!r}")
        unique[new] = None
    return list(unique), tuple(notes[:3])


def is_number(cell: str) -> bool:
    """Whether a cell is a number.

    >>> is_number(" 1e3"), is_number("x1"), is_number(""), is_number("2,5")
    (True, False, False, True)
    """
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return "_" not in cell
