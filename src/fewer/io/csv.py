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
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput
from .cells import FALSE, MISSING, MOSTLY, TRUE, Parsed, is_grouped, parsed, without_missing
from .copies import recoded, trimmed
from .formats import SNIFFED_BYTES, encoding_of, start_of
from .table import DAMAGES, FileTable, ScannedTable, stamp_of, unreadable

HEAD_ROWS = 10_000
"""Rows from which types are guessed ..."""
HEAD_CELLS = 2_000_000
"""... or so many that they have fewer cells than this."""
MAX_COLUMNS = 100_000
"""Columns that a text file may have: polars needs 3 kB of memory for each."""
NOT_UTF8 = "the file is not in UTF-8, so it is read as Windows-1252"
WINDOWS = "cp1252"
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
MAX_CELL_CHARS = 131_072
MIN_COUNTED = 4
"""Cells from which a line that counts its columns from 0 on is a head: fewer may well be data."""
COUNTED = "the first line counts the columns (0, 1, 2, ...), so it is taken for their names"


@dataclass(frozen=True)
class Dialect:
    """How a text file is laid out: what is between its cells, whether its first line is a head, and its names."""

    separator: str
    header: bool
    names: list[str]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: Path, label: str) -> "Dialect":
        """Read the layout of a text file in UTF-8.

        a first line of numbers is a head if it counts columns.
        """
        with path.open("rb") as file:
            line = file.readline(MAX_LINE_BYTES)
        if b"\r" in line.rstrip(b"\r\n") and not line.endswith(b"\n"):
            raise InvalidInput(f"{label}: its lines end in CR alone; expected LF or CRLF")
        separator = separator_of(start_of(path))
        first = first_record(path, separator, label)
        if counts_columns(first):
            return cls(separator, True, first, (COUNTED,))
        if all(is_number(cell) for cell in first):
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
class CsvTable(ScannedTable):
    """A text file in UTF-8: columns of types that polars parses, and texts, some of which are looked at."""

    dialect: Dialect
    decimal: str | None
    """The decimal sign that columns show."""
    decimal_comma: bool
    """Whether polars parses numbers with decimal commas."""
    late: list[str] = field(default_factory=list)
    """Sentences about what showed itself below the first rows."""
    kind = "csv"

    @property
    def notes(self) -> list[str]:
        """How the file is read: its encoding, numbers in disguise, dates that could be others."""
        return list(dict.fromkeys([*super().notes, *self.late]))

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
        """A column of texts as what it holds."""
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
        types = {name: dtype for name, dtype in self.schema.items() if dtype != pl.String}
        if "could not parse" not in str(error) or "dtype `str`" in str(error):
            raise ragged(self.path, self.dialect, self.label, error) from None
        tests = [
            (are_of_type(pl.col(name), dtype, self.decimal_comma) | pl.col(name).is_null()).all()
            for name, dtype in types.items()
        ]
        try:
            kept = self._scan({}).select(tests).collect(engine="streaming").row(0)
        except DAMAGES as reason:
            raise ragged(self.path, self.dialect, self.label, reason) from None
        lost = [name for name, right in zip(types, kept, strict=True) if not right]
        if not lost:
            raise ragged(self.path, self.dialect, self.label, error) from None
        looks = {name: Parsed(pl.Series(name, [], types[name])) for name in lost}
        schema = self.schema | dict.fromkeys(lost, pl.String)
        return replace(self, schema=schema, looks=self.looks | looks)

    @cached_property
    def recoded(self) -> "CsvTable":
        """The file, taken for Windows-1252."""
        path = recoded(self.path, self.label, WINDOWS)
        dialect = Dialect.of(path, self.label)
        self.late.append(NOT_UTF8)
        return replace(self, path=path, stamp=stamp_of(path), dialect=dialect)


def are_of_type(cell: Any, dtype: Any, decimal_comma: bool = False) -> Any:
    """Which texts are of a type."""
    if dtype == pl.Float64 and decimal_comma:
        return cell.str.contains(COMMA_NUMBER)
    if dtype == pl.Boolean:
        return cell.is_in([*TRUE, *FALSE])
    if dtype == pl.Date:
        return cell.str.to_date("%Y-%m-%d", strict=False).is_not_null()
    return cell.cast(dtype, strict=False).is_not_null()


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


def open_csv(path: Path, label: str) -> FileTable:
    """A csv file: its layout, and its columns by their first rows.

    One that is not UTF-8 is said to be so.
    """
    encoding = encoding_of(start_of(path), label)
    path = trimmed(path if encoding is None else recoded(path, label, encoding))
    dialect = Dialect.of(path, label)
    if len(dialect.names) > MAX_COLUMNS:
        raise InvalidInput(
            f"{label}: a text file must have at most {MAX_COLUMNS} columns, got"
            f" {len(dialect.names)}; save it as npz"
        )
    try:
        return by_head(path, label, dialect)
    except pl.exceptions.PolarsError as error:
        if not is_encoding(error):
            raise ragged(path, dialect, label, error) from None
    path = recoded(path, label, WINDOWS)
    dialect = Dialect.of(path, label)
    try:
        return by_head(path, label, dialect, NOT_UTF8)
    except pl.exceptions.PolarsError as error:
        raise ragged(path, dialect, label, error) from None


def by_head(path: Path, label: str, dialect: Dialect, *notes: str) -> CsvTable:
    """The columns by what their first rows show."""
    stamp, names = stamp_of(path), dialect.names
    if not names:
        raise InvalidInput(f"{label}: has no columns, or is changed while it is read")
    rows = max(min(HEAD_ROWS, HEAD_CELLS // len(names)), 20)
    head = pl.read_csv(path, n_rows=rows, **dialect.layout({}))
    if head.height == 0:
        raise InvalidInput(f"{label}: has a head but no rows, or a quote that is never closed")
    # all cells are looked at as one long column: columns cost more than cells
    cells, shape = head.unpivot()["value"], (head.width, head.height)
    flags = [
        cells.is_null() | cells.is_in(MISSING),
        *(cells.str.contains(p) for p in (CODE, r"\d")),
    ]
    empty, coded, digits = (each.fill_null(False).to_numpy().reshape(shape) for each in flags)
    filled = (~empty).sum(axis=1)
    codes = {names[i] for i in np.flatnonzero(coded.any(axis=1))}
    disguised = {
        names[i] for i in np.flatnonzero((digits.sum(axis=1) > MOSTLY * filled) | (filled == 0))
    }

    def is_grouped_float(name: str) -> bool:
        """Whether all numbers of a column may have a dot between thousands."""
        return types.get(name) == pl.Float64 and is_grouped(head[name])

    types = native_types(path, dialect, head, rows, False)
    comma_first, decimal_comma, decimal = dialect.separator == ";", False, None
    if dialect.separator != ",":
        others = native_types(path, dialect, head, rows, True)
        floats = [name for name, dtype in types.items() if dtype == pl.Float64]
        decimal_comma = pl.Float64 in others.values() and all(map(is_grouped_float, floats))
    if decimal_comma:
        types, decimal = others, ","
    types = {name: dtype for name, dtype in types.items() if name not in codes}
    suspects = [name for name in names if name in disguised and name not in types]
    looks = {name: parsed(head[name], decimal, comma_first) for name in suspects}
    signs = {look.decimal for look in looks.values()} - {None}
    decimal = decimal or (signs.pop() if len(signs) == 1 else None)
    if decimal == "," and not decimal_comma:
        doubtful = [name for name in types if is_grouped_float(name)]
        looks |= {name: parsed(head[name], decimal, True) for name in doubtful}
        types = {name: dtype for name, dtype in types.items() if name not in doubtful}
    return CsvTable(
        label=label,
        schema={name: types.get(name, pl.String) for name in names},
        looks=looks,
        said=(*dialect.notes, *notes),
        path=path,
        stamp=stamp,
        dialect=dialect,
        decimal=decimal,
        decimal_comma=decimal_comma,
    )


def native_types(
    path: Path, dialect: Dialect, head: Any, rows: int, decimal_comma: bool
) -> dict[str, Any]:
    """The columns that polars parses while it reads: numbers, booleans, and dates such as 2024-05-31."""
    how = dialect.layout({}) | {"schema": None, "new_columns": dialect.names}
    how |= {"null_values": list(MISSING), "decimal_comma": decimal_comma, "try_parse_dates": True}
    schema = pl.scan_csv(path, infer_schema_length=rows, **how).collect_schema()
    types = {n: dtype for n, dtype in schema.items() if dtype in (pl.Int64, pl.Float64, pl.Boolean)}
    for name, dtype in schema.items():
        if dtype == pl.Date:
            first = without_missing(head[name]).drop_nulls()
            types |= {name: dtype} if re.fullmatch(ISO_DATE, first[0]) else {}
    return types


def counts_columns(cells: list[str]) -> bool:
    """Whether a line is 0, 1, 2, ... to the end: what pandas writes over columns without names.

    >>> (
    ...     counts_columns(["0", "1", "2", "3"]),
    ...     counts_columns(["0", "1"]),
    ...     counts_columns(["0", "1", "2", "4"]),
    ... )
    (True, False, False)
    """
    return len(cells) >= MIN_COUNTED and cells == [str(i) for i in range(len(cells))]


def separator_of(start: bytes) -> str:
    r"""The separator with which the most of the first lines have as many cells as the first has.

    Where the first line has only one cell, it is one that is nowhere.

    >>> [
    ...     separator_of(text)
    ...     for text in (b"a;b\n1,5;2,5\n", b"a,b\n1,x;y\n", b"a\n1\n", b"a\n1,5\n")
    ... ]
    [';', ',', ',', ';']
    """
    text = start.decode("utf-8", "replace").lstrip("\ufeff")
    lines = text.splitlines(keepends=True)
    if len(start) == SNIFFED_BYTES and len(lines) > 1:
        lines = lines[:-1]
    best, share = ",", 0.0
    for separator in SEPARATORS:
        try:
            sizes = [
                len(cells)
                for cells in csv.reader(lines[:SNIFFED_LINES], delimiter=separator)
                if cells
            ]
        except csv.Error:
            sizes = [1 + lines[0].count(separator)]
        if sizes and sizes[0] > 1 and sizes.count(sizes[0]) / len(sizes) > share:
            best, share = separator, sizes.count(sizes[0]) / len(sizes)
    if share == 0.0:
        return next(
            (separator for separator in (",", *SEPARATORS[1:]) if separator not in text), ","
        )
    return best


def first_record(path: Path, separator: str, label: str) -> list[str]:
    """The cells of the first line."""
    csv.field_size_limit(MAX_CELL_CHARS)
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            cells = next(csv.reader(file, delimiter=separator), [])
    except csv.Error as error:
        raise InvalidInput(f"{label}: cannot be read as csv: {error}") from None
    return [cell.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for cell in cells]


def distinct(names: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The names with those that come again numbered, and what to say of it.

    >>> distinct(["a", "b", "a"])
    (['a', 'b', 'a_2'], ("two columns are called 'a'; the later one is read as 'a_2'",))
    """
    if len(set(names)) == len(names):
        return names, ()
    taken, unique, notes, counts = set(names), [], [], dict.fromkeys(names, 0)
    for name in names:
        counts[name] += 1
        new = name
        while counts[name] > 1 and new in taken:
            new = f"{name}_{counts[name]}"
            counts[name] += new in taken
        if new != name:
            notes.append(f"two columns are called {name!r}; the later one is read as {new!r}")
        taken.add(new)
        unique.append(new)
    return unique, tuple(notes[:3])


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
