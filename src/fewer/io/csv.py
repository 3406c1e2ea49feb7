"""csv and its kin through polars: read once, each column with the type that its first rows show.

Columns that programs wrote (numbers, booleans, dates such as 2024-05-31) are parsed while they are
read. Others come as texts and are looked at whole (`_cells`). Where a cell further down is not of
the type of the first rows, all cells are tried in one pass that keeps nothing, and the columns in
question are read again as texts.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput
from ..parallel import in_threads
from .cells import FALSE, MISSING, MOSTLY, TRUE, Parsed, is_grouped, parsed, without_missing
from .copies import CHUNK_BYTES, recoded, trimmed
from .dialect import Dialect, dialect_of
from .formats import encoding_of, start_of
from .source import (
    Refuse,
    Source,
    at_once,
    bad_cell,
    check_found,
    chunk_rows,
    complete,
    stamp_of,
    unconcerned,
)

HEAD_ROWS = 10_000
"""Rows from which types are guessed ..."""
HEAD_CELLS = 2_000_000
"""... or so many that they have fewer cells than this."""
HEAD_BYTES = 1 << 22
"""Bytes of a large file in which the first rows are looked for."""
MAX_COLUMNS = 100_000
"""Columns that a text file may have: polars needs 3 kB of memory for each."""
NOT_UTF8 = "the file is not in UTF-8, so it is read as Windows-1252"
ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
"""Dates that polars parses while it reads."""
COMMA_NUMBER = r"^[-+]?\d+(,\d*)?$"
"""Numbers with a decimal comma that polars parses while it reads."""
ROW = "\x00row"
"""A name that no column has."""


@dataclass(frozen=True, eq=False)
class CsvSource:
    """A text file in UTF-8: types that polars parses (`native`), and texts that are looked at (`suspects`)."""

    path: Path
    stamp: tuple[int, int]
    """Size and time of change of the file when it was opened."""
    label: str
    dialect: Dialect
    native: dict[str, Any]
    suspects: set[str]
    numeric: list[str]
    decimal: str | None
    decimal_comma: bool = False
    """Whether polars parses numbers with decimal commas."""
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """All columns."""
        return self.dialect.names

    def scan(self, types: dict[str, Any]) -> Any:
        """The file with these types and texts elsewhere, missing values as nulls."""
        schema = {name: types.get(name, pl.String) for name in self.names}
        return scan(
            self.path,
            self.dialect,
            schema,
            null_values=list(MISSING),
            decimal_comma=self.decimal_comma,
        )

    def read(self, names: Sequence[str], as_text: Collection[str], refuse: Refuse) -> Any:
        """The columns with their types."""
        types = {
            name: self.native[name] for name in names if name in self.native and name not in as_text
        }
        try:
            frame = self.scan(types).select(names).collect(engine="streaming")
        except pl.exceptions.PolarsError as error:
            if is_encoding(error):
                return self.recoded.read(names, as_text, refuse)
            types = self._surviving(types, error)
            try:
                frame = self.scan(types).select(names).collect(engine="streaming")
            except pl.exceptions.PolarsError as reason:
                raise self._unreadable(reason) from None
        return self._typed(frame, types, as_text, refuse)

    def _is_text(self, name: str, as_text: Collection[str]) -> bool:
        """Whether a column that polars does not parse is texts, as they are."""
        return name in as_text or not (name in self.suspects or name in self.native)

    def _typed(
        self, frame: Any, types: dict[str, Any], as_text: Collection[str], refuse: Refuse
    ) -> Any:
        """Columns as their cells say."""
        found = in_threads(lambda column: self._parsed(column, types, as_text), frame.get_columns())
        for column in found:
            problem = column.problem
            if problem is not None:
                refuse(
                    bad_cell(
                        self.label, problem.row, column.values.name, problem.cell, problem.expected
                    )
                )
        return pl.DataFrame([column.values for column in found])

    def _parsed(self, column: Any, types: dict[str, Any], as_text: Collection[str]) -> Parsed:
        """A column as its cells say."""
        name = column.name
        if name in types:
            has_nan = types[name] == pl.Float64 and column.is_nan().any()
            return Parsed(column.fill_nan(None) if has_nan else column)
        if self._is_text(name, as_text):
            return Parsed(without_missing(column))
        return parsed(column, self.decimal, self.dialect.separator == ";")

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The columns in parts of some million cells; those that polars does not parse are looked at whole."""
        yield from complete(self, self._parts(names))

    def _parts(self, names: Sequence[str]) -> Iterator[Any]:
        """The same; where a cell further down is of another type than the first rows show, go on without that type."""
        source, done = self, 0
        types = {name: self.native[name] for name in names if name in self.native}
        while True:
            try:
                for part in source._streamed(names, types, done):
                    done += part.height
                    yield part
                return
            except pl.exceptions.PolarsError as error:
                if is_encoding(error) and source is self:
                    source = self.recoded
                    continue
                types, before = source._surviving(types, error), types
                if types == before:
                    raise self._unreadable(error) from None

    def _streamed(self, names: Sequence[str], types: dict[str, Any], skip: int) -> Iterator[Any]:
        """The columns in parts, without the first rows."""
        whole = [name for name in names if name not in types and not self._is_text(name, ())]
        looked = self.read(whole, (), at_once).slice(skip) if whole else None
        size, done = chunk_rows(len(names)), 0
        if looked is not None and len(whole) == len(names):
            yield from looked.select(names).iter_slices(size)
            return
        others = [name for name in names if name not in whole]
        lazy = self.scan(types).select(others).slice(skip)
        for part in lazy.collect_batches(chunk_size=size, maintain_order=True):
            found = self._typed(part, types, (), at_once)
            beside = [] if looked is None else looked.slice(done, part.height).get_columns()
            done += part.height
            yield found.hstack(beside).select(names)

    def rows(self) -> int:
        """The number of rows, by a count of lines."""
        return int(self.scan({}).select(pl.len()).collect().item())

    def bytes_in_memory(self, names: Sequence[str]) -> int:
        """About what columns take in memory: eight bytes for a cell, by the length of the first rows."""
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            start = file.read(HEAD_BYTES)
        rows = size / len(start) * start.count(b"\n")
        return max(size, int(8 * rows * len(names)))

    def original(self, rows: Any, names: Sequence[str], typed: bool) -> Any:
        """Rows with their cells as they are written."""
        schema = dict.fromkeys(self.names, pl.String)
        numbered = (
            scan(self.path, self.dialect, schema)
            .with_row_index(ROW)
            .filter(pl.col(ROW).is_in(np.unique(rows).tolist()))
        )
        try:
            found = numbered.collect(engine="streaming")
        except pl.exceptions.PolarsError as error:
            if is_encoding(error):
                return self.recoded.original(rows, names, typed)
            raise self._unreadable(error) from None
        check_found(self.label, found[ROW], rows)
        frame = found.select(names)[np.searchsorted(found[ROW].to_numpy(), rows)]
        return self._typed(frame, {}, (), unconcerned) if typed else frame

    def _surviving(self, types: dict[str, Any], error: Exception) -> dict[str, Any]:
        """The types that all cells of their columns have, if that is what went wrong."""
        if "could not parse" not in str(error) or "dtype `str`" in str(error):
            raise self._unreadable(error) from None
        tests = []
        for name, dtype in types.items():
            cell = pl.col(name)
            tests.append((held(cell, dtype, self.decimal_comma) | cell.is_null()).all().alias(name))
        try:
            kept = self.scan({}).select(tests).collect(engine="streaming").row(0, named=True)
        except pl.exceptions.PolarsError as reason:
            raise self._unreadable(reason) from None
        return {name: dtype for name, dtype in types.items() if kept[name]}

    @cached_property
    def recoded(self) -> "CsvSource":
        """The same file, taken for Windows-1252."""
        path = recoded(self.path, self.label, "cp1252" if is_cp1252(self.path) else "latin-1")
        self.notes.append(NOT_UTF8)
        return replace(self, path=path, stamp=stamp_of(path), dialect=dialect_of(path, self.label))

    def _unreadable(self, error: Exception) -> InvalidInput:
        return unreadable(self.path, self.dialect, self.label, error)


def scan(
    path: Path | io.BytesIO | bytes, dialect: Dialect, schema: dict[str, Any], **options: Any
) -> Any:
    """A text file with these types."""
    layout: dict[str, Any] = {
        "separator": dialect.separator,
        "has_header": False,
        "skip_rows": int(dialect.header),
    }
    return pl.scan_csv(path, schema=schema, glob=False, **(layout | options))


def held(cell: Any, dtype: Any, decimal_comma: bool = False) -> Any:
    """Which texts are of a type."""
    if dtype == pl.Float64 and decimal_comma:
        return cell.str.contains(COMMA_NUMBER)
    if dtype == pl.Boolean:
        return cell.is_in([*TRUE, *FALSE])
    dates = dtype == pl.Date
    return (
        cell.str.to_date("%Y-%m-%d", strict=False) if dates else cell.cast(dtype, strict=False)
    ).is_not_null()


def is_encoding(error: Exception) -> bool:
    """Whether polars met bytes that are not UTF-8."""
    return "utf-8" in str(error).lower() or "utf8" in str(error).lower()


def is_cp1252(path: Path) -> bool:
    """Whether no byte of the file is undefined in Windows-1252."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            if any(byte in chunk for byte in (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")):
                return False
    return True


def unreadable(path: Path, dialect: Dialect, label: str, error: Exception) -> InvalidInput:
    """The first row with more cells than the head, or what polars says."""
    width = len(dialect.names)
    with path.open(newline="", encoding="utf-8", errors="replace") as file, suppress(csv.Error):
        for line, cells in enumerate(csv.reader(file, delimiter=dialect.separator)):
            if len(cells) > width:
                row = line - int(dialect.header)
                return InvalidInput(f"{label}, row {row}: expected {width} cells, got {len(cells)}")
    return InvalidInput(f"{label}: cannot be read as csv: {str(error).splitlines()[0]}")


def open_csv(path: Path, label: str) -> Source:
    """A csv file: its layout, and its columns by their first rows; one that is not UTF-8 is said to be so."""
    encoding = encoding_of(start_of(path), label)
    path = trimmed(path if encoding is None else recoded(path, label, encoding))
    dialect = dialect_of(path, label)
    if len(dialect.names) > MAX_COLUMNS:
        raise InvalidInput(
            f"{label}: a text file must have at most {MAX_COLUMNS} columns, got {len(dialect.names)}; save it as npz"
        )
    try:
        return by_head(path, label, dialect, first_rows(path, dialect))
    except pl.exceptions.PolarsError as error:
        if not is_encoding(error):
            raise unreadable(path, dialect, label, error) from None
    unknown = CsvSource(path, stamp_of(path), label, dialect, {}, set(), [], None).recoded
    try:
        head = first_rows(unknown.path, unknown.dialect)
    except pl.exceptions.PolarsError as error:
        raise unreadable(unknown.path, unknown.dialect, label, error) from None
    return by_head(unknown.path, label, unknown.dialect, head, NOT_UTF8)


def first_rows(path: Path, dialect: Dialect) -> Any:
    """The first rows as texts."""
    rows = max(min(HEAD_ROWS, HEAD_CELLS // len(dialect.names)), 20)
    schema = dict.fromkeys(dialect.names, pl.String)
    if path.stat().st_size > HEAD_BYTES:  # of which polars would touch large parts
        with path.open("rb") as file:
            start = file.read(HEAD_BYTES)
        lines = start[: start.rfind(b"\n") + 1]
        if lines.count(b'"') % 2 == 0:  # else the last line end may be inside a cell
            with suppress(pl.exceptions.PolarsError):  # which the whole file explains
                found = scan(io.BytesIO(lines), dialect, schema, n_rows=rows).collect()
                if found.height == rows:
                    return found
    return scan(path, dialect, schema, n_rows=rows).collect()


def by_head(path: Path, label: str, dialect: Dialect, head: Any, *notes: str) -> CsvSource:
    """The columns by what their first rows show.

    All cells are looked at as one long column: columns cost more than cells.
    """
    stamp = stamp_of(path)
    if head.height == 0:
        raise InvalidInput(f"{label}: has a head but no rows, or a quote that is never closed")
    cells = head.unpivot()["value"]
    shape = head.width, head.height
    empty = _table((cells.is_null() | cells.is_in(MISSING)), shape)
    filled = (~empty).sum(axis=1)
    coded = cells.str.contains(r"^[-+]?0\d")
    tests = {
        pl.Int64: held(cells, pl.Int64) & ~coded,
        pl.Float64: held(cells, pl.Float64) & ~coded,
        pl.Boolean: held(cells, pl.Boolean),
    }
    names = head.columns  # which polars makes anew each time it is asked
    native: dict[str, Any] = {}
    for dtype, fitting in tests.items():
        fits = (_table(fitting, shape) | empty).all(axis=1) & (filled > 0)
        native |= {names[i]: dtype for i in np.flatnonzero(fits) if names[i] not in native}
    starts = dict(zip(names, head.row(0), strict=True))
    others = [name for name in names if name not in native and may_be_date(starts[name])]
    native |= {name: pl.Date for name in others if is_dated(head[name])}
    digits = _table(cells.str.contains(r"\d") | tests[pl.Boolean], shape).sum(axis=1)
    odd = np.flatnonzero((digits > MOSTLY * filled) | (filled == 0))
    suspects = [names[i] for i in odd if names[i] not in native]
    looks = _looks(head, suspects, dialect.separator == ";")
    decimals = {found.decimal for found in looks.values()} - {None}
    decimal = decimals.pop() if len(decimals) == 1 else None
    if decimal == ",":
        doubtful = [
            name for name, dtype in native.items() if dtype == pl.Float64 and is_grouped(head[name])
        ]
        suspects += doubtful
        looks |= _looks(head, doubtful, True, decimal)
        native = {name: dtype for name, dtype in native.items() if name not in doubtful}
    decimal_comma = (
        decimal == "," and dialect.separator != "," and pl.Float64 not in native.values()
    )
    if decimal_comma:
        commas = [
            name for name in suspects if held(without_missing(head[name]), pl.Float64, True).all()
        ]
        native |= dict.fromkeys(commas, pl.Float64)
        suspects = [name for name in suspects if name not in commas]
    numbers = {
        *(name for name, dtype in native.items() if dtype != pl.Date),
        *(name for name, found in looks.items() if found.numeric),
    }
    numeric = [name for name in names if name in numbers and name]
    said = [*dialect.notes, *notes, *(found.note for found in looks.values() if found.note)]
    return CsvSource(
        path, stamp, label, dialect, native, set(suspects), numeric, decimal, decimal_comma, said
    )


def may_be_date(cell: str | None) -> bool:
    """Whether the first cell of a column is a date such as 2024-05-31, or missing."""
    return cell is None or cell in MISSING or re.fullmatch(ISO_DATE, cell) is not None


def is_dated(cells: Any) -> bool:
    """Whether all cells are dates such as 2024-05-31, or empty."""
    bare = cells.set(cells.is_in(MISSING), None).drop_nulls()
    if not len(bare) or not re.fullmatch(ISO_DATE, bare[0]):
        return False
    return bool(bare.str.contains(ISO_DATE).all() and held(bare, pl.Date).all())


def _table(flags: Any, shape: tuple[int, int]) -> Any:
    """Flags of all cells as a matrix, a row for each column."""
    return flags.fill_null(False).to_numpy().reshape(shape)


def _looks(
    head: Any, names: Sequence[str], comma_first: bool, decimal: str | None = None
) -> dict[str, Parsed]:
    """What the first rows of columns of texts show."""
    return {name: parsed(head[name], decimal, comma_first) for name in names}
