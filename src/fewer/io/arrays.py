"""npy and npz: arrays as columns; only those that are asked for are read."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput, Vector
from ..npy import StoredArray, check_memory, stored_arrays
from .table import FileTable

MAX_COLUMNS = 10_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class ArrayTable(FileTable):
    """Arrays (rows,) are columns under their names, and an array (rows, d) is d columns.

    `homes` are for each column the name of its array, and its place there.
    """

    arrays: dict[str, StoredArray]
    homes: dict[str, tuple[str, int]]
    plain = True

    @classmethod
    def of(cls, path: Path, label: str) -> "ArrayTable":
        """Open an npy or npz file as a table."""
        stored = stored_arrays(path, label)
        arrays = {name or "column": array for name, array in stored.items() if array.ndim in (1, 2)}
        if not arrays:
            raise InvalidInput(f"{label}: has no array of one or two axes")
        widths = {name: (*array.shape[1:], 1)[0] for name, array in arrays.items()}
        if sum(widths.values()) > MAX_COLUMNS:
            raise InvalidInput(f"{label}: has more than {MAX_COLUMNS} columns")
        homes: dict[str, tuple[str, int]] = {}
        for name, array in arrays.items():
            numbered = [f"{name}_{j + 1}" for j in range(widths[name])]
            columns = numbered if array.ndim == 2 else [name]
            homes |= {column: (name, j) for j, column in enumerate(columns)}
        types = {name: as_series(np.empty(0, array.dtype)).dtype for name, array in arrays.items()}
        schema = {column: types[name] for column, (name, _) in homes.items()}
        return cls(label=label, schema=schema, arrays=arrays, homes=homes)

    def expand(self, names: Sequence[str]) -> list[str]:
        """The name of a matrix stands for its columns."""
        inside: dict[str, list[str]] = {}
        for column, (home, _) in self.homes.items():
            inside.setdefault(home, []).append(column)
        each = ([name] if name in self.homes else inside.get(name, [name]) for name in names)
        return [column for columns in each for column in columns]

    @property
    def stored_rows(self) -> int:
        """The number of rows that the heads of the arrays declare."""
        return max(array.shape[0] for array in self.arrays.values())

    def counted(self) -> int:
        """Return the number of rows that the heads of the arrays declare."""
        return self.stored_rows

    def column(self, name: str) -> Any:
        """A column as it is."""
        home, j = self.homes[name]
        array = self.arrays[home].data
        return array if array.ndim == 1 else array[:, j]

    def check_heights(self, names: Sequence[str]) -> None:
        """Refuse columns of different heights, and more than the memory holds."""
        rows = {home: self.arrays[home].shape[0] for home, _ in map(self.homes.__getitem__, names)}
        if len(set(rows.values())) > 1:
            sizes = ", ".join(f"{home} {count}" for home, count in rows.items())
            raise InvalidInput(
                f"{self.label}: its arrays have different numbers of rows ({sizes}); name the"
                " columns"
            )
        check_memory(self.label, 8 * len(names) * max(rows.values(), default=0))

    def lazy(self, names: Sequence[str], as_text: Collection[str] = ()) -> Any:
        """Columns of the arrays."""
        self.check_heights(names)
        return pl.DataFrame({name: as_series(self.column(name)) for name in names}).lazy()

    def rows(self, indices: Any, names: Sequence[str] | None = None, *, typed: bool = False) -> Any:
        """Rows with their own types."""
        columns = self.names if names is None else names
        return pl.DataFrame({name: as_series(self.column(name)[indices]) for name in columns})

    def side_by_side(self, names: Sequence[str]) -> Any:
        """Columns of their own type; a whole matrix in its own order is not copied."""
        self.check_heights(names)
        home = self.homes[names[0]][0]
        array = self.arrays[home]
        width = (*array.shape[1:], 1)[0]
        if [self.homes[name] for name in names] == [(home, j) for j in range(width)]:
            return array.data.reshape(-1, width)
        return np.column_stack([self.column(name) for name in names])

    def numbers(self, names: Sequence[str]) -> Vector:
        """Columns as finite numbers, (rows, columns)."""
        matrix = np.ascontiguousarray(self.side_by_side(names), np.float64)
        if len(matrix) == 0:
            raise InvalidInput(f"{self.label}: has no rows")
        self.check_finite(matrix, names)
        return matrix

    def matrices(self, names: Sequence[str]) -> Iterator[Any]:
        """The columns side by side, in one part and of their own type."""
        yield self.side_by_side(names)


def as_series(values: Any) -> Any:
    """A column of an array as a Series of polars, which has neither half nor long numbers nor bytes.

    Times in a unit that polars has not become days, micro- or nanoseconds.
    """
    dtype = values.dtype
    if dtype.kind == "c":
        raise InvalidInput("complex numbers are no columns; expected numbers or texts")
    if dtype.char in "egG":
        values = values.astype(np.float64)
    elif dtype.byteorder not in "=|<":
        values = values.astype(dtype.newbyteorder("="))
    if dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if dtype.kind in "mM":
        unit, count = np.datetime_data(dtype)
        fine = unit in ("ns", "ps", "fs", "as")
        days = dtype.kind == "M" and unit in ("Y", "M", "W", "D")
        target = "D" if days else "ns" if fine else "us"
        if count > 1 or unit not in ("ms", "us", "ns"):
            try:
                values = values.astype(f"{dtype.kind}8[{target}]")
            except TypeError:
                words = f"times of type {dtype} are no columns; expected days or seconds"
                raise InvalidInput(words) from None
    return pl.Series(np.ascontiguousarray(values))
