"""npy and npz: arrays as columns; only those that are asked for are read."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput, Vector
from ..npy import StoredArray, check_memory, stored_arrays
from .cells import Problem
from .table import FileTable, refusal

MAX_COLUMNS = 10_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class ArrayTable(FileTable):
    """Arrays (rows,) are columns under their names.

    An array (rows, d) is d columns, and its name means all of them.

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
        widths = {name: array.shape[1:] for name, array in arrays.items()}
        if sum(width[0] if width else 1 for width in widths.values()) > MAX_COLUMNS:
            raise InvalidInput(f"{label}: has more than {MAX_COLUMNS} columns")
        homes: dict[str, tuple[str, int]] = {}
        for name, width in widths.items():
            columns = [f"{name}_{j + 1}" for j in range(width[0])] if width else [name]
            homes |= {column: (name, j) for j, column in enumerate(columns)}
        types = {name: series_type(array.dtype) for name, array in arrays.items()}
        schema = {column: types[name] for column, (name, _) in homes.items()}
        return cls(label=label, schema=schema, looks={}, arrays=arrays, homes=homes)

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

    def column(self, name: str) -> Any:
        """A column as it is."""
        home, j = self.homes[name]
        array = self.arrays[home].data
        return array if array.ndim == 1 else array[:, j]

    def check_heights(self, names: Sequence[str]) -> None:
        """Refuse columns of different heights, and what would fill the memory."""
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
        homes = [self.homes[name] for name in names]
        whole = self.arrays[homes[0][0]]
        width = whole.shape[1] if whole.ndim == 2 else 1
        if homes == [(homes[0][0], j) for j in range(width)]:
            return whole.data.reshape(-1, width)
        return np.column_stack([self.column(name) for name in names])

    def numbers(self, names: Sequence[str]) -> Vector:
        """Columns as finite numbers, (rows, columns)."""
        matrix = np.ascontiguousarray(self.side_by_side(names), np.float64)
        if len(matrix) == 0:
            raise InvalidInput(f"{self.label}: has no rows")
        right = np.isfinite(matrix)
        if not right.all():
            row, place = (int(i) for i in np.unravel_index(int(np.argmin(right)), matrix.shape))
            problem = Problem(row, float(matrix[row, place]), "a finite number")
            raise refusal(self.label, names[place], problem)
        return matrix

    def matrices(self, names: Sequence[str]) -> Iterator[Any]:
        """The columns side by side, in one part and of their own type."""
        yield self.side_by_side(names)


def series_type(dtype: Any) -> Any:
    """The type of a column of polars that holds such an array."""
    return as_series(np.empty(0, dtype)).dtype


def as_series(values: Any) -> Any:
    """A column of an array as a Series of polars, which has neither half nor long numbers nor bytes."""
    kind, dtype = values.dtype.kind, values.dtype
    if kind == "c":
        raise InvalidInput("complex numbers are no columns; expected numbers or texts")
    if kind in "fiu" and dtype.char in "egG":
        values = values.astype(np.float64)
    elif dtype.byteorder not in "=|<":
        values = values.astype(dtype.newbyteorder("="))
    if kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if kind in "mM":
        values = in_known_units(values)
    return pl.Series(np.ascontiguousarray(values))


def in_known_units(times: Any) -> Any:
    """Return dates, times or durations in a unit that polars has: days, or milli-, micro- or nanoseconds."""
    kind, (unit, count) = times.dtype.kind, np.datetime_data(times.dtype)
    calendar = kind == "M" and unit in ("Y", "M", "W", "D")
    if count == 1 and unit in ("ms", "us", "ns", *("D" if calendar else "")):
        return times
    fine = unit in ("us", "ns", "ps", "fs", "as")
    target = "D" if calendar else "ns" if fine else "ms"
    try:
        return times.astype(f"{kind}8[{target}]")
    except (TypeError, ValueError):
        raise InvalidInput(
            f"times of type {times.dtype} are no columns; expected days or seconds"
        ) from None
