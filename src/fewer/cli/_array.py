"""npy and npz: arrays as columns; only those that are asked for are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector
from ..npy import StoredArray, check_memory, stored_arrays

MAX_COLUMNS = 10_000_000


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """Arrays (rows,) are columns under their names; an array (rows, d) is d columns, and its name means all of them."""

    label: str
    names: list[str]
    numeric: list[str]
    arrays: dict[str, StoredArray]
    homes: dict[str, tuple[str, int]]

    def expand(self, names: Sequence[str]) -> list[str]:
        """The name of a matrix stands for its columns."""
        inside: dict[str, list[str]] = {}
        for column, (home, _) in self.homes.items():
            inside.setdefault(home, []).append(column)
        return [column for name in names for column in ([name] if name in self.homes else inside.get(name, [name]))]

    def _matrix(self, names: Sequence[str]) -> Any:
        """The columns side by side; a whole matrix in its own order is not copied."""
        homes = [self.homes[name] for name in names]
        arrays = {home: self.arrays[home] for home, _ in homes}
        rows = {home: array.shape[0] for home, array in arrays.items()}
        if len(set(rows.values())) > 1:
            sizes = ", ".join(f"{home} {count}" for home, count in rows.items())
            raise InvalidInput(f"{self.label}: its arrays have different numbers of rows ({sizes}); name the columns")
        check_memory(self.label, 8 * len(homes) * max(rows.values(), default=0))
        whole = next(iter(arrays.values())).data if len(arrays) == 1 else None
        if whole is not None and [j for _, j in homes] == list(range(width(whole))):
            return whole if whole.ndim == 2 else whole[:, None]
        return np.column_stack([column(arrays[home].data, j) for home, j in homes])

    def numbers(self, names: Sequence[str]) -> Vector:
        """These columns as finite numbers."""
        matrix = np.ascontiguousarray(self._matrix(names), np.float64)
        self._check(np.isfinite(matrix), matrix, names, "a finite number")
        return matrix

    def whole(self, names: Sequence[str]) -> Any:
        """These columns as non-negative whole numbers."""
        import scipy.sparse as sp

        matrix = self._matrix(names)
        with np.errstate(invalid="ignore", over="ignore"):
            self._check(
                (matrix >= 0) & (matrix == np.floor(matrix)) & (matrix < 2**24),
                matrix,
                names,
                "a small non-negative whole number",
            )
        return sp.csr_array(matrix.astype(np.int32))

    def _check(self, right: Any, matrix: Any, names: Sequence[str], expected: str) -> None:
        if len(matrix) == 0:
            raise InvalidInput(f"{self.label}: has no rows")
        if not right.all():
            row, position = np.unravel_index(int(np.argmin(right)), matrix.shape)
            where = f"{self.label}, row {row + 1}, column {names[int(position)]!r}"
            raise InvalidInput(f"{where}: expected {expected}, got {matrix[row, position]:g}")

    def values(self, name: str) -> Any:
        """A column as it is."""
        home, j = self.homes[name]
        return np.asarray(column(self.arrays[home].data, j))


def width(array: Any) -> int:
    """The number of columns an array makes."""
    return 1 if array.ndim == 1 else int(array.shape[1])


def column(array: Any, j: int) -> Any:
    """One column of an array."""
    return array if array.ndim == 1 else array[:, j]


def open_arrays(path: Path, label: str) -> ArrayTable:
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
    return ArrayTable(label, list(homes), numeric, arrays, homes)
