"""csv files of a hundred thousand columns and more, read line by line: memory goes to cells, not to columns."""

import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput, Vector
from ..npy import check_memory
from ._cells import Parsed, parsed, without_missing
from ._dialect import MAX_CELL_CHARS, Dialect
from ._source import Refuse, at_once, bad_cell

HEAD_CELLS = 4_000_000
"""Cells from which it is guessed which columns hold numbers."""
MAX_FRAME_COLUMNS = 100_000
"""Columns that a frame may have."""


@dataclass(frozen=True, eq=False)
class WideSource:
    """Columns of a csv file that is too wide for polars; numbers are those that programs write."""

    path: Path
    label: str
    dialect: Dialect
    numeric: list[str]
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """All columns."""
        return self.dialect.names

    def read(self, names: Sequence[str], as_text: Collection[str], refuse: Refuse) -> Any:
        """Some of the columns, as a frame can hold them."""
        if len(names) >= MAX_FRAME_COLUMNS:
            known = set(self.numeric)
            texts = [name for name in names if name not in known]
            some = f", of which {len(texts)} are no numbers ({texts[0]!r} is the first)," if texts else ""
            raise InvalidInput(
                f"{self.label}: {len(names)} columns{some} are too many for a table (it has below "
                f"{MAX_FRAME_COLUMNS}); name those to use, as in --columns {names[0]},{names[1]}"
            )
        numeric = set(self.numeric) - set(as_text)
        rows = [cells for _, cells in self._rows(names)]
        columns = []
        for name, cells in zip(names, zip(*rows, strict=True), strict=True):
            column = pl.Series(name, cells, pl.String)
            found = parsed(column) if name in numeric else Parsed(without_missing(column))
            if found.problem is not None:
                refuse(bad_cell(self.label, found.problem.row, name, found.problem.cell, found.problem.expected))
            columns.append(found.values)
        return pl.DataFrame(columns)

    def matrix(self, names: Sequence[str]) -> Any:
        """These columns as finite numbers, (rows, columns)."""
        found = []
        for row, cells in self._rows(names):
            numbers = self._numbers(row, cells, names)
            self._check(np.isfinite(numbers), row, cells, names, "a finite number")
            found.append(numbers)
            check_memory(self.label, 2 * len(found) * numbers.nbytes)
        return np.stack(found)

    def matrices(self, names: Sequence[str]) -> Iterator[Any]:
        """The same row by row; missing and other cells are refused."""
        for row, cells in self._rows(names):
            yield self._numbers(row, cells, names)[None]

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Some of the columns at once."""
        yield self.read(names, (), at_once)

    def original(self, rows: Any, names: Sequence[str], typed: bool) -> Any:
        """Rows with their cells as they are written; as a frame of texts, which is wide."""
        wanted = {int(row) for row in rows}
        found = {row: cells for row, cells in self._rows(names) if row in wanted}
        texts = [pl.Series(name, [found[int(row)][j] for row in rows], pl.String) for j, name in enumerate(names)]
        return pl.DataFrame([parsed(column).values for column in texts] if typed else texts)

    def _rows(self, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        """The number of each row and its cells in these columns."""
        positions = {name: i for i, name in enumerate(self.names)}
        chosen = [positions[name] for name in names]
        every = chosen == list(range(len(self.names)))
        row = -1
        for row, cells in data_rows(self.path, self.label, self.dialect):
            if len(cells) != len(self.names):
                raise InvalidInput(f"{self.label}, row {row}: expected {len(self.names)} cells, got {len(cells)}")
            yield row, cells if every else [cells[i] for i in chosen]
        if row < 0:
            raise InvalidInput(f"{self.label}: has a head but no rows")

    def _numbers(self, row: int, cells: list[str], names: Sequence[str]) -> Vector:
        try:
            return np.fromiter(map(number, cells), np.float64, len(cells))
        except ValueError:
            right = np.fromiter(map(is_number, cells), np.bool_, len(cells))
            self._check(right, row, cells, names, "a number")
            raise

    def _check(self, right: Any, row: int, cells: list[str], names: Sequence[str], expected: str) -> None:
        if not right.all():
            position = int(np.argmin(right))
            found = f"{cells[position]!r:.40}" if cells[position].strip() else "an empty cell"
            raise InvalidInput(f"{self.label}, row {row}, column {names[position]!r}: expected {expected}, got {found}")


def data_rows(path: Path, label: str, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file without its head, numbered from 0."""
    csv.field_size_limit(MAX_CELL_CHARS)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            for i, cells in enumerate(csv.reader(file, delimiter=dialect.separator)):
                if cells and i >= dialect.header:
                    yield i - dialect.header, cells
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidInput(f"{label}: cannot be read as csv: {error}") from None


def number(cell: str) -> float:
    """A cell as a number, which has no underscores in it.

    >>> number(" 1e3")
    1000.0
    """
    if "_" in cell:
        raise ValueError
    return float(cell)


def is_number(cell: str) -> bool:
    """Whether a cell is a number."""
    try:
        number(cell)
    except ValueError:
        return False
    return True


def open_wide(path: Path, label: str, dialect: Dialect) -> WideSource:
    """A csv file with many columns; columns are numeric where most of the first cells are."""
    width = len(dialect.names)
    count = np.zeros(width, np.int64)
    filled = np.zeros(width, np.int64)
    for row, cells in data_rows(path, label, dialect):
        if len(cells) != width:
            raise InvalidInput(f"{label}, row {row}: expected {width} cells, got {len(cells)}")
        count += np.fromiter(map(is_number, cells), np.bool_, width)
        filled += np.fromiter(map(bool, cells), np.bool_, width)
        if (row + 1) * width > HEAD_CELLS:
            break
    if not filled.any():
        raise InvalidInput(f"{label}: has a head but no rows")
    numeric = [name for name, most in zip(dialect.names, count > 0.5 * filled, strict=True) if most and name]
    return WideSource(path, label, dialect, numeric, list(dialect.notes))
