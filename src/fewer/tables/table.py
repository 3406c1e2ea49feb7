"""Rows in memory as columns, by place and by name, whatever container they came in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import InvalidInput, Vector, as_numbers, gathered, is_frame, read, shown
from .column import Column, Levels, objects, sorted_levels
from .frames import columns_of, is_table, n_rows
from .names import known_name, refuse_twins

KINDS = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "texts",
    "date": "dates",
    "other": "nested values",
}
"""What columns of each kind hold."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equally many rows.

    >>> import polars
    >>> table = Table.of(polars.DataFrame({"age": [31, 45], "plan": ["gold", "free"]}))
    >>> table.names, table.rows, table.column("age", "sample_weight").values.tolist()
    (['age', 'plan'], 2, [31.0, 45.0])
    """

    columns: tuple[Column, ...]
    rows: int

    @classmethod
    def of(cls, X: Any) -> "Table":
        """The columns of a frame or a Series, or of an array of numbers, where they are named by their places."""
        X = gathered(X)
        if isinstance(X, Table):
            return X
        if is_table(X):
            return cls(tuple(columns_of(X)), n_rows(X))
        array = numbers_of(X)
        return cls(tuple(array_columns(array)), len(array))

    @property
    def names(self) -> list[Any]:
        """The names of the columns, as the user wrote them."""
        return [column.name for column in self.columns]

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows, len(self.columns)

    def column(self, name: Any, option: str) -> Column:
        """The column that an option names."""
        names = self.names
        return self.columns[names.index(known_name(name, names, option))]

    def below(self, other: "Table", needed: Sequence[Any], name: str) -> "Table":
        """These rows, then those of another table, which may lack columns that are not needed.

        >>> import polars
        >>> first, second = (Table.of(polars.DataFrame({"a": values})) for values in ([1, 2], [3]))
        >>> first.below(second, ["a"], "target").columns[0].values.tolist()
        [1.0, 2.0, 3.0]
        """
        for table, owner in ((self, "X"), (other, name)):
            refuse_twins(table.names, owner)
        theirs = {column.name: column for column in other.columns}
        for label in needed:
            _same_kinds(self.column(label, "X"), other.column(label, name), name)
        columns = [
            _joined(column, theirs.get(column.name), self.rows, other.rows)
            for column in self.columns
        ]
        return Table(tuple(columns), self.rows + other.rows)


def role(X: Any, value: Any, option: str) -> Column | None:
    """The column of X that an option names, None where its value is no name."""
    if not isinstance(value, str):
        return None
    if not is_frame(X) and not isinstance(X, Table):
        raise InvalidInput(
            f"{option}={value!r} names a column, which needs a table, got {shown(type(X).__name__)}"
        )
    return Table.of(X).column(value, option)


def numbers_of_column(column: Column, what: str) -> Vector:
    """A column of numbers, NaN where missing."""
    if column.kind not in ("number", "boolean"):
        raise InvalidInput(
            f"{what} must hold numbers, got the column {shown(column.name)} of kind {column.kind!r}"
        )
    return np.array(column.values, np.float64)


def numbers_of(X: Any) -> npt.NDArray[Any]:
    """An array of numbers with two axes; None counts as NaN.

    >>> numbers_of([[1, None]]).tolist()
    [[1.0, nan]]
    """
    array = numbers_or_nan(X, "X")
    if array.ndim != 2:
        raise InvalidInput(
            f"X must have shape (rows, columns) with at least one of each, got {array.shape}"
        )
    return array


def numbers_or_nan(X: Any, name: str) -> npt.NDArray[Any]:
    """An array of numbers of any shape; None counts as NaN."""
    array = X if isinstance(X, np.ndarray) else read(X, name)
    if array.dtype == object:
        gone = np.array([entry is None for entry in array.flat], bool).reshape(array.shape)
        array = np.where(gone, np.nan, array)
    return as_numbers(array, name)


def array_columns(X: npt.NDArray[Any]) -> list[Column]:
    """The columns of an array of numbers, named by their place."""

    def column(i: int) -> Column:
        gone = np.isnan(X[:, i]) if X.dtype.kind == "f" else np.zeros(0, bool)
        missing = gone if gone.any() else None
        return Column(
            i, "number", missing, lambda: np.asarray(X[:, i], np.float64), dtype=str(X.dtype)
        )

    return [column(i) for i in range(X.shape[1])]


def _same_kinds(mine: Column, theirs: Column, name: str) -> None:
    """Refuse a column that holds one kind of values here and another there, unless all are missing."""
    empty = any(column.missing is not None and column.missing.all() for column in (mine, theirs))
    if mine.kind != theirs.kind and not empty:
        raise InvalidInput(
            f"{name}: column {mine.name!r} holds {KINDS[theirs.kind]}, in X it holds {KINDS[mine.kind]}"
        )


def _joined(first: Column, second: Column | None, n: int, m: int) -> Column:
    """The values of two columns, one after the other; of a second that is not there all are missing."""
    if second is None:
        second = Column(
            first.name, first.kind, np.ones(m, bool), lambda: np.full(m, np.nan), _no_levels(m)
        )
    gaps = [
        np.zeros(size, bool) if column.missing is None else column.missing
        for column, size in ((first, n), (second, m))
    ]
    missing = np.concatenate(gaps)
    shown_first = second if gaps[0].all() and n else first
    dtype = first.dtype if first.dtype == second.dtype else ""
    pair = first, second
    return Column(
        first.name,
        shown_first.kind,
        missing if missing.any() else None,
        lambda: np.concatenate([column.values for column in pair]),
        (lambda: _joined_levels(pair)) if shown_first.kind == "category" else None,
        dtype,
    )


def _no_levels(m: int) -> Any:
    return lambda: Levels(objects([]), np.full(m, -1, np.int64))


def _joined_levels(pair: Sequence[Column]) -> Levels:
    """The distinct values of two columns, and which of them each row has."""
    number: dict[Any, int] = {}
    codes = []
    for column in pair:
        present = np.array(
            [number.setdefault(value, len(number)) for value in column.levels.values], np.int64
        )
        codes.append(np.append(present, -1)[column.levels.codes])
    return sorted_levels(objects(list(number)), np.concatenate(codes))
