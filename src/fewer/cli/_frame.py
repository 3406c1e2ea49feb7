"""csv, tsv and parquet through polars: only the named columns, in chunks, and errors that name row and column."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput, Vector
from ..npy import check_memory
from ._table import Table

HEAD_ROWS = 1000
"""Rows from which types are guessed."""
CHUNK_CELLS = 4_000_000
"""Cells in a chunk."""
WIDE_COLUMNS = 100_000
"""Columns from which a csv file is read line by line: polars needs 3 kB of memory for each."""
MAX_LINE_BYTES = 1 << 28


@dataclass(frozen=True, eq=False)
class FrameTable:
    """Columns of a file that polars scans; `text` rescans a csv as plain text, to find what is wrong in it."""

    label: str
    names: list[str]
    numeric: list[str]
    scan: Any
    text: Any = None

    def expand(self, names: Sequence[str]) -> list[str]:
        """Every name is a column."""
        return list(names)

    def numbers(self, names: Sequence[str]) -> Vector:
        """These columns as finite numbers."""
        frame = self._read(names, pl.Float64)
        matrix = frame.to_numpy(order="c") if frame.width > 1 else frame.to_series().to_numpy().reshape(-1, 1)
        if not np.isfinite(matrix.sum()) and not np.isfinite(matrix).all():  # the sum is the cheaper look
            row, column = np.unravel_index(int(np.argmin(np.isfinite(matrix))), matrix.shape)
            raise self._bad(int(row), names[int(column)], f"{matrix[row, column]}", "a finite number")
        return np.ascontiguousarray(matrix, np.float64)

    def _read(self, names: Sequence[str], dtype: Any) -> Any:
        """The columns with no empty cell in them."""
        try:
            lazy = self.scan(dict.fromkeys(names, dtype)).select(names)
            if self.text is None:  # a few bytes of parquet can stand for any number of rows
                check_memory(self.label, 8 * len(names) * lazy.select(pl.len()).collect().item())
            frame = lazy.collect(engine="streaming")
        except pl.exceptions.PolarsError as error:
            raise self._explain(names, dtype, error) from None
        if frame.height == 0:
            raise InvalidInput(f"{self.label}: has a head but no rows")
        holes = frame.null_count().row(0)
        for name, count in zip(names, holes, strict=True):
            if count:
                raise self._bad(frame[name].is_null().arg_max(), name, "an empty cell", "a number")
        return frame

    def whole(self, names: Sequence[str]) -> Any:
        """These columns as non-negative whole numbers, read in chunks that keep only what is not zero."""
        import scipy.sparse as sp

        parts, rows = [], 0
        try:
            for chunk in self._chunks(names):
                matrix = chunk.to_numpy()
                self._check_whole(matrix, names, rows)
                parts.append(sp.csr_array(matrix.astype(np.int32)))
                rows += len(matrix)
        except pl.exceptions.PolarsError as error:
            raise self._explain(names, pl.Float64, error) from None
        if not rows:
            raise InvalidInput(f"{self.label}: has a head but no rows")
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _chunks(self, names: Sequence[str]) -> Iterator[Any]:
        size = max(CHUNK_CELLS // max(len(names), 1), 1)
        lazy = self.scan(dict.fromkeys(names, pl.Float32)).select(names)
        yield from lazy.collect_batches(chunk_size=size, maintain_order=True)

    def _check_whole(self, matrix: Any, names: Sequence[str], before: int) -> None:
        """Non-negative whole numbers only; NaN and empty cells (which polars gives as NaN) fail as well."""
        right = (matrix >= 0) & (matrix == np.floor(matrix)) & (matrix < 2**24)
        if not right.all():
            row, column = np.unravel_index(int(np.argmin(right)), matrix.shape)
            cell = matrix[row, column]
            shown = "an empty cell" if np.isnan(cell) else f"{cell:g}"
            raise self._bad(before + int(row), names[int(column)], shown, "a small non-negative whole number")

    def values(self, name: str) -> Any:
        """A column as it is."""
        return self._read([name], None)[name].to_numpy()

    def _bad(self, row: int, column: str, found: str, expected: str) -> InvalidInput:
        return InvalidInput(f"{self.label}, row {row + 1}, column {column!r}: expected {expected}, got {found}")

    def _explain(self, names: Sequence[str], dtype: Any, error: Exception) -> InvalidInput:
        """What polars stumbled over, found by reading the columns as text."""
        reason = str(error).split("\n", 1)[0]
        if self.text is None or dtype is None:
            return InvalidInput(f"{self.label}: cannot be read: {reason}")
        ragged = self._ragged()
        if ragged is not None:
            return ragged
        frame = self.text().select(names).collect(engine="streaming")
        for name in names:
            cells = frame[name]
            wrong = (cells.str.strip_chars().cast(dtype, strict=False).is_null() & cells.is_not_null()).arg_max()
            if wrong is not None and cells[wrong] is not None:
                parsed = cells.slice(wrong, 1).str.strip_chars().cast(dtype, strict=False)
                if parsed[0] is None:
                    return self._bad(wrong, name, f"{cells[wrong]!r:.40}", "a number")
        return InvalidInput(f"{self.label}: cannot be read: {reason}")

    def _ragged(self) -> InvalidInput | None:
        """The first row with more cells than the head."""
        path, separator = self.text.path, self.text.separator
        with path.open(newline="", encoding="utf-8", errors="replace") as file, suppress(csv.Error):
            for line, cells in enumerate(csv.reader(file, delimiter=separator)):
                if len(cells) > len(self.names):
                    row = line if self.text.header else line + 1
                    return InvalidInput(f"{self.label}, row {row}: expected {len(self.names)} cells, got {len(cells)}")
        return None


@dataclass(frozen=True)
class Text:
    """A csv file, to be scanned with given types, or as text when called."""

    path: Path
    separator: str
    header: bool
    quotes: bool = False
    """Whether names have quotes in them, which polars leaves doubled."""

    @property
    def options(self) -> dict[str, Any]:
        """How the file is to be scanned."""
        names = {"with_column_names": single_quotes} if self.quotes else {}
        return {"separator": self.separator, "has_header": self.header, "glob": False, **names}

    def scan(self, types: dict[str, Any] | None = None) -> Any:
        """The file with some types given and the others guessed."""
        given = {name: dtype for name, dtype in (types or {}).items() if dtype is not None}
        return pl.scan_csv(self.path, schema_overrides=given or None, infer_schema_length=HEAD_ROWS, **self.options)

    def __call__(self) -> Any:
        """The file with every cell as text."""
        return pl.scan_csv(self.path, infer_schema=False, **self.options)


def open_csv(path: Path, label: str, kind: str) -> Table:
    """A csv or tsv file: separator and head by its first line (a line of numbers is no head)."""
    with path.open("rb") as file:
        line = file.readline(MAX_LINE_BYTES)
    if b"\r" in line.rstrip(b"\r") and not line.endswith(b"\n"):
        raise InvalidInput(f"{label}: its lines end in CR alone; expected LF or CRLF")
    first = line.decode("utf-8", "replace").lstrip("\ufeff").rstrip("\r\n")
    separator = "\t" if kind == "tsv" else ";" if ";" in first and "," not in first else ","
    if kind == "csv" and "\t" in first and "," not in first and ";" not in first:
        separator = "\t"
    header = not all(is_number(cell) for cell in first.split(separator))
    text = Text(path, separator, header, header and '""' in first)
    if first.count(separator) >= WIDE_COLUMNS:
        from ._wide import open_wide

        return open_wide(path, label, separator, text.header)
    try:
        head = text().head(HEAD_ROWS).collect()
    except pl.exceptions.PolarsError as error:
        table = FrameTable(label, first.split(separator), [], text.scan, text)
        ragged = table._ragged()
        raise ragged or InvalidInput(f"{label}: cannot be read as csv: {str(error).splitlines()[0]}") from None
    if head.height == 0:
        raise InvalidInput(f"{label}: has a head but no rows, or a quote that is never closed")
    return FrameTable(label, head.columns, numeric_columns(head), text.scan, text)


def open_parquet(path: Path, label: str) -> FrameTable:
    """A parquet file; only the head is read yet."""
    try:
        schema = pl.scan_parquet(path, glob=False).collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InvalidInput(f"{label}: cannot be read as parquet: {str(error).splitlines()[0]}") from None

    def scan(types: dict[str, Any]) -> Any:
        lazy = pl.scan_parquet(path, glob=False)
        for name, dtype in types.items():
            if dtype is not None and not (schema[name].is_numeric() or schema[name] == pl.Boolean):
                raise InvalidInput(f"{label}, column {name!r}: expected numbers, got {schema[name]}")
        return lazy.with_columns(pl.col(name).cast(dtype) for name, dtype in types.items() if dtype is not None)

    numeric = [name for name, dtype in schema.items() if dtype.is_numeric() or dtype == pl.Boolean]
    return FrameTable(label, list(schema), numeric, scan)


def single_quotes(names: list[str]) -> list[str]:
    """Names with the quotes in them single again."""
    return [name.replace('""', '"') for name in names]


def is_number(cell: str) -> bool:
    """Whether a cell is a number.

    >>> is_number(" 1e3"), is_number("x1"), is_number("")
    (True, False, False)
    """
    try:
        float(cell.strip().strip('"'))
    except ValueError:
        return False
    return True


def numeric_columns(head: Any) -> list[str]:
    """The columns of texts of which most are numbers; if not all are, there is a mistake, which reading will name.

    One without a name is an index. All are looked at as one long column: columns cost more than cells.
    """
    cells = head.unpivot()["value"]
    filled = cells.is_not_null().to_numpy().reshape(head.width, head.height).sum(axis=1)
    numbers = cells.str.strip_chars().cast(pl.Float64, strict=False).is_not_null().to_numpy()
    most = numbers.reshape(head.width, head.height).sum(axis=1) > 0.5 * filled
    return [name for name, numeric in zip(head.columns, most, strict=True) if numeric and name]
