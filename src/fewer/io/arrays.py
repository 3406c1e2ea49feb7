"""npy and npz: arrays as columns; only those that are asked for are read."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import InvalidInput
from ..npy import StoredArray, check_memory, stored_arrays
from .source import Refuse, at_once, bad_cell

MAX_COLUMNS = 10_000_000


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Arrays (rows,) are columns under their names; an array (rows, d) is d columns, and its name means all of them."""

    label: str
    names: list[str]
    numeric: list[str]
    arrays: dict[str, StoredArray]
    homes: dict[str, tuple[str, int]]
    notes: list[str] = field(default_factory=list)

    def expand(self, names: Sequence[str]) -> list[str]:
        """The name of a matrix stands for its columns."""
        inside: dict[str, list[str]] = {}
        for column, (home, _) in self.homes.items():
            inside.setdefault(home, []).append(column)
        return [
            column
            for name in names
            for column in ([name] if name in self.homes else inside.get(name, [name]))
        ]

    def _matrix(self, names: Sequence[str]) -> Any:
        """The columns side by side; a whole matrix in its own order is not copied."""
        homes = [self.homes[name] for name in names]
        arrays = {home: self.arrays[home] for home, _ in homes}
        rows = {home: array.shape[0] for home, array in arrays.items()}
        if len(set(rows.values())) > 1:
            sizes = ", ".join(f"{home} {count}" for home, count in rows.items())
            raise InvalidInput(
                f"{self.label}: its arrays have different numbers of rows ({sizes}); name the columns"
            )
        check_memory(self.label, 8 * len(homes) * max(rows.values(), default=0))
        whole = next(iter(arrays.values())).data if len(arrays) == 1 else None
        if whole is not None and [j for _, j in homes] == list(range(width(whole))):
            return whole if whole.ndim == 2 else whole[:, None]
        return np.column_stack([column(arrays[home].data, j) for home, j in homes])

    def read(self, names: Sequence[str], as_text: Collection[str], refuse: Refuse) -> Any:
        """The columns as a frame; NaN is missing."""
        import polars as pl

        matrix_free = {name: self._column(name) for name in names}
        if len({len(values) for values in matrix_free.values()}) > 1:
            self._matrix(names)  # which says so
        frame = pl.DataFrame({name: as_series(values) for name, values in matrix_free.items()})
        floats = [name for name, dtype in frame.schema.items() if dtype.is_float()]
        frame = frame.with_columns(pl.col(floats).fill_nan(None)) if floats else frame
        return frame.with_columns(pl.col(list(as_text)).cast(pl.String)) if as_text else frame

    def matrix(self, names: Sequence[str]) -> Any:
        """These columns as finite numbers, (rows, columns)."""
        matrix = np.ascontiguousarray(self._matrix(names), np.float64)
        if len(matrix) == 0:
            raise InvalidInput(f"{self.label}: has no rows")
        right = np.isfinite(matrix)
        if not right.all():
            row, position = np.unravel_index(int(np.argmin(right)), matrix.shape)
            cell = float(matrix[row, position])
            raise bad_cell(self.label, int(row), names[int(position)], cell, "a finite number")
        return matrix

    def matrices(self, names: Sequence[str]) -> Iterator[Any]:
        """The columns side by side, in one part and of their own type."""
        yield self._matrix(names)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The columns at once."""
        yield self.read(names, (), at_once)

    def original(self, rows: Any, names: Sequence[str], typed: bool) -> Any:
        """Rows with their own types."""
        import polars as pl

        return pl.DataFrame({name: as_series(self._column(name)[rows]) for name in names})

    def _column(self, name: str) -> Any:
        """A column as it is."""
        home, j = self.homes[name]
        return column(self.arrays[home].data, j)


def as_series(values: Any) -> Any:
    """A column of an array as a Series of polars, which has neither half nor long numbers nor bytes."""
    import polars as pl

    if (
        values.dtype.kind in "fiu" and values.dtype.char in "egG"
    ) or values.dtype.byteorder not in "=|<":
        values = values.astype(
            np.float64 if values.dtype.kind == "f" else values.dtype.newbyteorder("=")
        )
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "c":
        raise InvalidInput("complex numbers are no columns; expected numbers or texts")
    return pl.Series(np.ascontiguousarray(values))


def width(array: Any) -> int:
    """The number of columns an array makes."""
    return 1 if array.ndim == 1 else int(array.shape[1])


def column(array: Any, j: int) -> Any:
    """One column of an array."""
    return array if array.ndim == 1 else array[:, j]


def open_arrays(path: Path, label: str) -> ArraySource:
    """An npy or npz file as a table."""
    found = stored_arrays(path, label)
    arrays = {name or "column": array for name, array in found.items() if array.ndim in (1, 2)}
    if not arrays:
        raise InvalidInput(f"{label}: has no array of one or two axes")
    homes: dict[str, tuple[str, int]] = {}
    if sum(width(array) for array in arrays.values()) > MAX_COLUMNS:
        raise InvalidInput(f"{label}: has more than {MAX_COLUMNS} columns")
    for name, array in arrays.items():
        if array.ndim == 1:
            homes[name] = name, 0
        else:
            homes |= {f"{name}_{j + 1}": (name, j) for j in range(array.shape[1])}
    numeric = [name for name, (home, _) in homes.items() if arrays[home].dtype.kind in "fiub"]
    return ArraySource(label, list(homes), numeric, arrays, homes)
