"""csv files of a hundred thousand columns and more, read line by line: memory goes to cells, not to columns."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector
from ..npy import check_memory

HEAD_CELLS = 4_000_000
"""Cells from which it is guessed which columns hold numbers."""
MAX_CELL_CHARS = 131_072
"""Characters of a cell."""


@dataclass(frozen=True, eq=False)
class WideTable:
    """Columns of a csv file that is too wide for polars."""

    path: Path
    label: str
    separator: str
    header: bool
    names: list[str]
    numeric: list[str]

    def expand(self, names: Sequence[str]) -> list[str]:
        """Every name is a column."""
        return list(names)

    def numbers(self, names: Sequence[str]) -> Vector:
        """These columns as finite numbers."""
        found = []
        for row, cells in self._rows(names):
            numbers = self._numbers(row, cells, names)
            self._check(np.isfinite(numbers), row, cells, names, "a finite number")
            found.append(numbers)
            check_memory(self.label, 2 * len(found) * numbers.nbytes)
        return np.stack(found)

    def whole(self, names: Sequence[str]) -> Any:
        """These columns as non-negative whole numbers, of which only those that are not zero are kept."""
        import scipy.sparse as sp

        parts = []
        for row, cells in self._rows(names):
            numbers = self._numbers(row, cells, names)
            right = (numbers >= 0) & (numbers == np.floor(numbers)) & (numbers < 2**24)
            self._check(right, row, cells, names, "a small non-negative whole number")
            parts.append(sp.csr_array(numbers[None].astype(np.int32)))
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def values(self, name: str) -> Any:
        """A column as texts, or as numbers if all are."""
        cells = [cells[0] for _, cells in self._rows([name])]
        if name not in self.numeric:
            return np.array(cells, object)
        return self.numbers([name])[:, 0]

    def _rows(self, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        """The number of each row, from one, and its cells in these columns."""
        positions = {name: i for i, name in enumerate(self.names)}
        chosen = [positions[name] for name in names]
        every = chosen == list(range(len(self.names)))
        row = 0
        for row, cells in data_rows(self.path, self.label, self.separator, self.header):
            if len(cells) != len(self.names):
                raise InvalidInput(f"{self.label}, row {row}: expected {len(self.names)} cells, got {len(cells)}")
            yield row, cells if every else [cells[i] for i in chosen]
        if row == 0:
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


def rows_of(path: Path, label: str, separator: str, header: bool) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file, numbered; the head, if there is one, has the number 0."""
    csv.field_size_limit(MAX_CELL_CHARS)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            for i, cells in enumerate(csv.reader(file, delimiter=separator)):
                if cells:
                    yield (i if header else i + 1), cells
    except (csv.Error, UnicodeDecodeError) as error:
        raise InvalidInput(f"{label}: cannot be read as csv: {error}") from None


def data_rows(path: Path, label: str, separator: str, header: bool) -> Iterator[tuple[int, list[str]]]:
    """The rows without the head."""
    return (found for found in rows_of(path, label, separator, header) if found[0])


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


def open_wide(path: Path, label: str, separator: str, header: bool) -> WideTable:
    """A csv file with many columns; columns are numeric where most of the first cells are."""
    _, first = next(rows_of(path, label, separator, header))
    names = first if header else [f"column_{i + 1}" for i in range(len(first))]
    if len(set(names)) < len(names):
        raise InvalidInput(f"{label}: has two columns of the same name")
    count = np.zeros(len(names), np.int64)
    filled = np.zeros(len(names), np.int64)
    for row, cells in data_rows(path, label, separator, header):
        if len(cells) != len(names):
            raise InvalidInput(f"{label}, row {row}: expected {len(names)} cells, got {len(cells)}")
        count += np.fromiter(map(is_number, cells), np.bool_, len(cells))
        filled += np.fromiter(map(bool, cells), np.bool_, len(cells))
        if row * len(names) > HEAD_CELLS:
            break
    if not filled.any():
        raise InvalidInput(f"{label}: has a head but no rows")
    numeric = [name for name, most in zip(names, count > 0.5 * filled, strict=True) if most and name]
    return WideTable(path, label, separator, header, names, numeric)
