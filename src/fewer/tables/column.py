"""Columns of tables: each of one kind, whatever container it came in, with values that are read when asked for."""

import datetime
import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_numbers,
    gathered,
    is_frame,
    library_of,
    read,
    shown,
)
from ..codes import as_csr
from .frames import is_table, names_of, narwhal, stacked, take_columns
from .names import aligned, known_name, refuse_twins

Mask = npt.NDArray[np.bool_]
SECONDS_PER_UNIT = {"D": 86400.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds in one step of a date, a time or a duration."""
HOLDS = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "texts",
    "date": "dates",
    "other": "nested values",
}
"""What columns of each kind hold."""
NUMBER = (numbers.Real, Decimal, np.bool_)


class Levels(NamedTuple):
    """The distinct values of a column, sorted where they can be, and which of them each row has, -1 where missing."""

    values: npt.NDArray[Any]
    codes: Indices


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table; its values are made when they are asked for.

    `kind` is "number" (durations too, in seconds), "boolean" (0 and 1), "date" (dates, instants,
    times of day, in seconds), "category" (text, and what its container calls categories), or
    "other": nested or binary values that no job can use. `dtype` names the type where that matters:
    "category" for what its container calls one, of numbers and others their type. `missing` is None
    where nothing is missing. Numbers are read by `read`, categories by `group`, in any order.
    """

    name: Any
    kind: str
    missing: Mask | None
    read: Callable[[], Any] | None
    group: Callable[[], tuple[npt.NDArray[Any], Indices]] | None = None
    dtype: str = ""

    @cached_property
    def values(self) -> npt.NDArray[Any]:
        """float64, NaN where missing; of a category objects, None where missing: (N,)."""
        if self.kind != "category":
            assert self.read is not None  # noqa: S101 - only categories have none
            return np.asarray(self.read())
        return objects([*self.levels.values, None])[self.levels.codes]

    @cached_property
    def levels(self) -> Levels:
        """The distinct values, and which of them each row has."""
        if self.group is not None:
            return sorted_levels(*self.group())
        distinct, codes = np.unique(self.values, return_inverse=True)
        present = distinct if self.missing is None else distinct[~np.isnan(distinct)]
        codes = codes.reshape(-1).astype(np.int64)
        return Levels(present, np.where(codes < len(present), codes, -1))


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
            return cls(tuple(columns_of(X)), int(X.shape[0]))
        array = numbers_of(X)
        return cls(tuple(_of_array(i, column) for i, column in enumerate(array.T)), len(array))

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


def columns_of(X: Any) -> list[Column]:
    """The columns of a table, each of the kind that its type says.

    Examples
    --------
    >>> import polars
    >>> table = polars.DataFrame({"age": [31, None], "plan": ["gold", "free"]})
    >>> [(column.name, column.kind, column.values.tolist()) for column in columns_of(table)]
    [('age', 'number', [31.0, nan]), ('plan', 'category', ['gold', 'free'])]
    """
    X = gathered(X)
    if not is_table(X):
        raise InvalidInput(f"a table of pandas, polars or pyarrow was expected, got {shown(X)}")
    return [_column(name, each) for name, each in zip(names_of(X), _each_series(X), strict=True)]


def role(X: Any, value: Any, option: str) -> Column | None:
    """The column of X that an option names, None where its value is no name."""
    if not isinstance(value, str):
        return None
    if not is_frame(X) and not isinstance(X, Table):
        raise InvalidInput(
            f"{option}={value!r} names a column, which needs a table, got {shown(type(X).__name__)}"
        )
    return Table.of(X).column(value, option)


def role_values(X: Any, value: Any, name: str) -> tuple[Any, int | None]:
    """The numbers of the column that `value` names, and its position.

    Of anything else `value` in the order of X.
    """
    column = role(X, value, name)
    if column is None:
        return aligned(value, X, name), None
    return numbers_of_column(column, name), names_of(X).index(value)


def without_roles(X: Any, **roles: Any) -> tuple[Any, ...]:
    """X without the columns that are named, then the numbers of these.

    What is no name stays as it is.
    """
    X = gathered(X) if is_frame(X) else X
    columns = [role_values(X, value, name) for name, value in roles.items()]
    named = {at for _, at in columns if at is not None}
    if named:
        X = take_columns(X, [i for i in range(len(names_of(X))) if i not in named])
    return X, *(values for values, _ in columns)


def below(X: Any, other: Any, names: Sequence[Any], option: str) -> Any:
    """Columns of a table, of its rows and then of those of another table, given by `option`, in its own container.

    >>> import polars
    >>> first, second = (polars.DataFrame({"a": values, "b": values}) for values in ([1, 2], [3]))
    >>> below(first, second, ["a"], "target").rows()
    [(1,), (2,), (3,)]
    """
    tables = Table.of(X), Table.of(other)
    for table, owner in zip(tables, ("X", option), strict=True):
        refuse_twins(table.names, owner)
    for name in names:
        mine, theirs = (table.column(name, option) for table in tables)
        empty = any(c.missing is not None and c.missing.all() for c in (mine, theirs))
        if mine.kind != theirs.kind and not empty:
            raise InvalidInput(
                f"{option}: column {name!r} holds {HOLDS[theirs.kind]}, in X it holds"
                f" {HOLDS[mine.kind]}"
            )
    both = zip((X, other), tables, strict=True)
    return stacked(
        [take_columns(one, [table.names.index(n) for n in names]) for one, table in both]
    )


def below_array(X: Any, other: Any, option: str, missing: bool) -> Any:
    """The rows of an array, then those of another one, given by `option`.

    `missing` says whether NaN is a missing value.
    """
    arrays = [
        as_csr(part, option) if sp.issparse(part) else numbers_of(part) for part in (X, other)
    ]
    width, other_width = (part.shape[1:] for part in arrays)
    if len(width) != 1 or width != other_width or 0 in arrays[1].shape:
        columns = width[0] if width else "columns"
        raise InvalidInput(
            f"{option} must have shape (rows, {columns}) with the columns of X, got"
            f" {arrays[1].shape}"
        )
    entries = arrays[1].data if sp.issparse(other) else arrays[1]
    wrong = np.isinf(entries) if missing else ~np.isfinite(entries)
    if wrong.any():
        where = "" if sp.issparse(other) else f" in row {int(np.argmax(wrong.any(axis=1)))}"
        raise InvalidInput(f"{option} must be finite, got NaN or infinity{where}")
    return stacked(arrays)


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
    array = X if isinstance(X, np.ndarray) else read(X, "X")
    if array.dtype == object:
        gone = np.array([entry is None for entry in array.flat], bool).reshape(array.shape)
        array = np.where(gone, np.nan, array)
    array = as_numbers(array, "X")
    if array.ndim != 2:
        raise InvalidInput(
            f"X must have shape (rows, columns) with at least one of each, got {array.shape}"
        )
    return array


def objects(entries: Sequence[Any]) -> npt.NDArray[Any]:
    """Values as an array of objects with one axis, whatever they are."""
    values = np.empty(len(entries), object)
    values[:] = entries
    return values


def seconds(instants: npt.NDArray[Any]) -> Vector:
    """Seconds from 1970, or of a length of time; NaN where missing.

    >>> seconds(np.array(["1970-01-02", "NaT"], "datetime64[D]")).tolist()
    [86400.0, nan]
    """
    steps = instants.astype(np.int64) * SECONDS_PER_UNIT[np.datetime_data(instants.dtype)[0]]
    return np.where(np.isnat(instants), np.nan, steps)


def sorted_levels(values: npt.NDArray[Any], codes: Indices) -> Levels:
    """Levels in order, whatever order they were met in; those that no row has are left out."""
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(values)))
    entries = values[used].tolist()
    try:
        order = sorted(range(len(entries)), key=entries.__getitem__)
    except TypeError:  # of different types
        order = sorted(range(len(entries)), key=lambda i: type_and_text(entries[i]))
    place = np.full(len(values) + 1, -1, np.int64)  # whose last one -1 finds
    place[used[order]] = np.arange(len(order))
    return Levels(objects([entries[i] for i in order]), place[codes])


def type_and_text(value: Any) -> tuple[str, str]:
    """A key that orders values of different types."""
    return type(value).__name__, str(value)


def _each_series(X: Any) -> Iterator[Any]:
    """The columns of a table in its own library, by place: two may have one name."""
    if not is_frame(X):
        yield X
    elif hasattr(X, "iloc"):
        yield from (X.iloc[:, i] for i in range(X.shape[1]))
    elif hasattr(X, "get_columns"):
        yield from X.get_columns()
    else:
        yield from X.columns


def _column(name: Any, native: Any) -> Column:
    """A Series, Array or ChunkedArray as a column, by its type."""
    import narwhals as nw

    series = narwhal(_plain(native))
    dtype, missing = series.dtype, _missing(series)
    kind = "number" if dtype.is_numeric() or dtype == nw.Duration else "date"
    if dtype.is_nested() or dtype == nw.Binary:
        return Column(name, "other", missing, series.to_numpy, dtype=str(dtype))
    native_type = getattr(native, "dtype", None)
    if isinstance(native_type, np.dtype) and native_type.hasobject:
        return _of_objects(name, series.to_numpy(), missing)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        own = "" if dtype == nw.String else "category"
        return Column(name, "category", missing, None, lambda: _grouped(series), own)
    if dtype == nw.Time:
        nanoseconds = series.cast(nw.Time).cast(nw.Int64)
        return Column(name, kind, missing, lambda: nanoseconds.to_numpy() / 1e9)
    if dtype.is_temporal():
        return Column(name, kind, missing, lambda: seconds(series.to_numpy()))
    if dtype == nw.Boolean:
        series, kind = series.cast(nw.UInt8), "boolean"
    elif not dtype.is_numeric():
        return _of_array(name, series.to_numpy(), missing)
    if dtype in (nw.Decimal, nw.Int128, nw.UInt128):
        series = series.cast(nw.Float64)
    return Column(
        name,
        kind,
        missing,
        lambda: np.asarray(series.to_numpy(), np.float64),
        dtype="" if dtype == nw.Boolean else str(dtype),
    )


def _plain(native: Any) -> Any:
    """A Series of a type that narwhals knows: Arrow's own in pandas, and what pandas alone has."""
    dtype = str(getattr(native, "dtype", ""))
    if dtype.endswith("[pyarrow]") and hasattr(native.array, "__arrow_array__"):
        native = native.array.__arrow_array__()
    if dtype.startswith("period["):
        native = native.dt.to_timestamp()
    if library_of(native) is None and not hasattr(native, "chunks"):
        import pyarrow as pa

        native = pa.chunked_array([native])
    return native


def _missing(series: Any) -> Mask | None:
    """Where a value is null, or a number NaN; None where all are there."""
    if series.dtype.is_float():
        gone = np.isnan(series.to_numpy())
    elif series.dtype.is_integer() and series.null_count() == 0:
        return None  # at once, where there are many columns
    else:
        gone = np.asarray(series.is_null().to_numpy(), bool)
    return gone if gone.any() else None


def _of_array(name: Any, values: npt.NDArray[Any], missing: Mask | None = None) -> Column:
    """A column of an array with one axis."""
    kind, dtype = values.dtype.kind, str(values.dtype)
    if kind not in "fiub":
        return _of_objects(name, values.astype(object), missing)
    gone = np.isnan(values) if kind == "f" else np.zeros(0, bool)
    missing = gone if gone.any() else None
    return Column(name, "number", missing, lambda: values.astype(np.float64), dtype=dtype)


def _of_objects(name: Any, entries: npt.NDArray[Any], missing: Mask | None) -> Column:
    """A column of Python's objects: of the one kind that all of them are, else a category of different types."""
    present = np.ones(len(entries), bool) if missing is None else ~missing
    values_there = entries[present].tolist()
    kinds = set(map(type, values_there))
    if not kinds:
        return Column(name, "number", missing, lambda: np.full(len(entries), np.nan), dtype="null")
    for kind, types, convert in _READERS:
        if all(issubclass(one, types) for one in kinds):

            def values(convert: Callable[[Any], Any] = convert) -> Vector:
                filled = np.full(len(entries), np.nan)
                filled[present] = _converted(name, values_there, present, convert)
                return filled

            return Column(name, kind, missing, values)
    wrong = [one for one in kinds if one.__hash__ is None or issubclass(one, _NO_LEVELS)]
    if wrong:
        return Column(name, "other", missing, lambda: entries, dtype=wrong[0].__name__)
    return Column(name, "category", missing, None, lambda: _numbered(values_there, present))


def _converted(
    name: Any, values_there: list[Any], present: Mask, convert: Callable[[Any], Any]
) -> Vector:
    """Objects of one kind as numbers, in the rows where they are present."""
    values = np.empty(len(values_there))
    for i, value in enumerate(values_there):
        try:
            values[i] = convert(value)
        except (OverflowError, ValueError) as error:
            row = int(np.flatnonzero(present)[i])
            raise InvalidInput(
                f"column {name!r}, row {row}: {shown(value)} is more than float64 can hold: {error}"
            ) from None
    return values


def _numbered(values_there: list[Any], present: Mask) -> tuple[npt.NDArray[Any], Indices]:
    """The distinct ones of hashable objects, and which of them each row has."""
    number: dict[Any, int] = {}
    codes = np.full(len(present), -1, np.int64)
    codes[present] = [number.setdefault(value, len(number)) for value in values_there]
    return objects(list(number)), codes


def _grouped(series: Any) -> tuple[npt.NDArray[Any], Indices]:
    """Texts or categories by the distinct ones, which each library numbers in its own way."""
    library = series.implementation.value
    if library == "polars":
        import polars as pl

        texts = series.to_native().cast(pl.String)
        levels = texts.drop_nulls().unique()
        codes = texts.cast(pl.Enum(levels)).to_physical().cast(pl.Int64).fill_null(-1)
        return objects(levels.to_list()), codes.to_numpy()
    if library == "pyarrow":
        array = series.to_native()
        coded = array if hasattr(array.type, "index_type") else array.dictionary_encode()
        coded = coded.unify_dictionaries()
        parts = [
            chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in coded.chunks
        ]
        return objects(coded.chunk(0).dictionary.to_pylist()), np.concatenate(parts).astype(
            np.int64
        )
    import pandas as pd

    codes, values = pd.factorize(series.to_pandas())
    return objects(values.tolist()), codes.astype(np.int64)


def _instant(value: Any) -> float:
    """Seconds from 1970 of a date or a datetime; one without a zone is taken as UTC."""
    if getattr(value, "tzinfo", None) is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return float(np.datetime64(value, "us").astype(np.int64)) * 1e-6


def _clock(value: datetime.time) -> float:
    """Seconds from midnight."""
    return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond * 1e-6


def _length(value: Any) -> float:
    """Seconds of a length of time."""
    return float(np.timedelta64(value, "us").astype(np.int64)) * 1e-6


_NO_LEVELS = (bytes, tuple, complex)
"""Hashable objects that are no labels."""
_READERS: tuple[tuple[str, tuple[type, ...], Callable[[Any], float]], ...] = (
    ("boolean", (bool, np.bool_), float),
    ("number", NUMBER, float),
    ("date", (datetime.date, np.datetime64), _instant),
    ("date", (datetime.time,), _clock),
    ("number", (datetime.timedelta, np.timedelta64), _length),
)
"""Kinds of objects: what all entries must be, and how one is read."""
