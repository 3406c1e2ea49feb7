"""Columns of tables: each of one kind, whatever container it came in, with values that are read when asked for.

Missing values, and what is said of them.
"""

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import (
    NUMBER,
    Fix,
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
from .frames import (
    aligned,
    is_table,
    known_name,
    listed,
    names_of,
    narwhal,
    quoted,
    refuse_twins,
    series_of,
    stacked,
    take_columns,
    width,
)

Mask = npt.NDArray[np.bool_]
HOLDS = {
    "number": "numbers",
    "boolean": "booleans",
    "category": "texts",
    "date": "dates",
    "other": "nested values",
}
"""What columns of each kind hold."""
OBJECTS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("boolean", (bool, np.bool_)),
    ("number", NUMBER),
    ("number", (datetime.timedelta, np.timedelta64)),
    ("date", (datetime.time,)),
    ("date", (datetime.date, np.datetime64)),
)
"""Kinds of columns of Python's objects, by what all entries are."""
NO_LEVELS = (bytes, tuple, complex)
"""Hashable objects that are no labels."""
ACTIONS = {
    "drop": "leaves such rows out",
    "impute": "takes the median or the most frequent value",
    "category": "makes missing a label of its own",
    "ffill": "carries the last price forward",
}
"""What each rule does about missing values, but for "error"."""


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
        if self.read is None:
            return objects([*self.levels.values, None])[self.levels.codes]
        return np.asarray(self.read())

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
    return [_column(name, each) for name, each in zip(names_of(X), series_of(X), strict=True)]


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
    """The numbers of the column that `value` names, and its position; else `value` in the order of X."""
    column = role(X, value, name)
    if column is None:
        return aligned(value, X, name), None
    return numbers_of_column(column, name), names_of(X).index(value)


def without_roles(X: Any, **roles: Any) -> tuple[Any, ...]:
    """X without the columns that are named, then the numbers of these; other values stay as they are."""
    X = gathered(X)
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
    return stacked([take_columns(one, [t.names.index(n) for n in names]) for one, t in both])


def below_array(X: Any, other: Any, option: str, missing: bool) -> Any:
    """The rows of an array, then those of another one, given by `option`.

    `missing` says whether NaN is a missing value.
    """
    first, second = (
        as_csr(part, option) if sp.issparse(part) else numbers_of(part) for part in (X, other)
    )
    if 0 in first.shape:
        raise InvalidInput(f"X must have rows and columns, got shape {first.shape}")
    if second.shape[1:] != first.shape[1:] or 0 in second.shape:
        expected = f"(rows, {width(first)}) with the columns of X"
        raise InvalidInput(f"{option} must have shape {expected}, got {second.shape}")
    entries = second.data if sp.issparse(second) else second
    if (np.isinf(entries) if missing else ~np.isfinite(entries)).any():
        raise InvalidInput(f"{option} must be finite, got NaN or infinity")
    return stacked([first, second])


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
    array = read(X, "X")
    if array.dtype == object:
        array = np.where(array == None, np.nan, array)  # noqa: E711 - entry by entry
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


def seconds(times: npt.NDArray[Any]) -> Vector:
    """Seconds from 1970, or of a length of time; NaN where missing.

    >>> seconds(np.array(["1970-01-02", "NaT"], "datetime64[D]")).tolist()
    [86400.0, nan]
    """
    lengths = times - np.datetime64(0, "s") if times.dtype.kind == "M" else times
    return np.asarray(lengths / np.timedelta64(1, "s"), np.float64)


def sorted_values(values: Iterable[Any]) -> list[Any]:
    """Values in order; those of different types by type and text."""
    entries = list(values)
    try:
        return sorted(entries)
    except TypeError:
        return sorted(entries, key=lambda value: (type(value).__name__, str(value)))


def sorted_levels(values: npt.NDArray[Any], codes: Indices) -> Levels:
    """Levels in order, whatever order they were met in; those that no row has are left out."""
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(values)))
    number = {value: i for i, value in zip(used.tolist(), values[used].tolist(), strict=True)}
    levels = sorted_values(number)
    place = np.full(len(values) + 1, -1, np.int64)  # whose last one -1 finds
    place[[number[value] for value in levels]] = np.arange(len(levels))
    return Levels(objects(levels), place[codes])


def _column(name: Any, native: Any) -> Column:
    """A Series, Array or ChunkedArray as a column, by its type."""
    import narwhals as nw

    series = narwhal(_plain(native))
    dtype, missing = series.dtype, _missing(series)
    native_type = getattr(native, "dtype", None)
    if dtype.is_nested() or dtype == nw.Binary:
        return Column(name, "other", missing, series.to_numpy, dtype=str(dtype))
    if isinstance(native_type, np.dtype) and native_type.hasobject:
        return _of_objects(name, series.to_numpy(), missing)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        own = "" if dtype == nw.String else "category"
        return Column(name, "category", missing, None, lambda: _grouped(series), own)
    if dtype == nw.Time:
        nanoseconds = series.cast(nw.Time).cast(nw.Int64)
        return Column(name, "date", missing, lambda: nanoseconds.to_numpy() / 1e9)
    if dtype.is_temporal():
        kind = "number" if dtype == nw.Duration else "date"
        return Column(name, kind, missing, lambda: seconds(series.to_numpy()))
    if dtype == nw.Boolean:
        numbers = series.cast(nw.UInt8)
        return Column(name, "boolean", missing, lambda: np.asarray(numbers.to_numpy(), np.float64))
    if not dtype.is_numeric():
        return _of_array(name, series.to_numpy(), missing)
    wide = dtype in (nw.Decimal, nw.Int128, nw.UInt128)
    series = series.cast(nw.Float64) if wide else series
    read = lambda: np.asarray(series.to_numpy(), np.float64)  # noqa: E731
    return Column(name, "number", missing, read, dtype=str(dtype))


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
    if values.dtype.kind not in "fiub":
        return _of_objects(name, values.astype(object), missing)
    gone = np.isnan(values)
    read = lambda: values.astype(np.float64)  # noqa: E731
    return Column(name, "number", gone if gone.any() else None, read, dtype=str(values.dtype))


def _of_objects(name: Any, entries: npt.NDArray[Any], missing: Mask | None) -> Column:
    """A column of Python's objects: of the one kind that all of them are, else a category of different types."""
    present = np.ones(len(entries), bool) if missing is None else ~missing
    there = entries[present].tolist()
    types = set(map(type, there))
    kinds = (kind for kind, fitting in OBJECTS if all(issubclass(one, fitting) for one in types))
    kind = next(kinds, "category")
    wrong = [one for one in types if one.__hash__ is None or issubclass(one, NO_LEVELS)]
    if wrong:
        return Column(name, "other", missing, lambda: entries, dtype=wrong[0].__name__)
    if not there:
        return Column(name, "number", missing, lambda: np.full(len(entries), np.nan), dtype="null")
    if kind == "category":
        return Column(name, kind, missing, None, lambda: _numbered(there, present))

    def values() -> Vector:
        filled = np.full(len(entries), np.nan)
        filled[present] = _object_numbers(name, there)
        return filled

    return Column(name, kind, missing, values)


def _object_numbers(name: Any, values: list[Any]) -> Any:
    """Objects of one kind as numbers: times in seconds; instants without a zone are taken as UTC."""
    first = values[0]
    if isinstance(first, datetime.time):
        microseconds = [
            ((t.hour * 60 + t.minute) * 60 + t.second) * 10**6 + t.microsecond for t in values
        ]
        return np.array(microseconds) / 1e6
    if isinstance(first, datetime.timedelta | np.timedelta64):
        return seconds(np.array(values, "timedelta64[us]"))
    if isinstance(first, datetime.date | np.datetime64):
        plain = [
            value.astimezone(datetime.UTC).replace(tzinfo=None)
            if getattr(value, "tzinfo", None) is not None
            else value
            for value in values
        ]
        return seconds(np.array(plain, "datetime64[us]"))
    return as_numbers(objects(values), f"column {name!r}")


def _numbered(values: list[Any], present: Mask) -> tuple[npt.NDArray[Any], Indices]:
    """The distinct ones of hashable objects, and which of them each row has."""
    number: dict[Any, int] = {}
    codes = np.full(len(present), -1, np.int64)
    codes[present] = [number.setdefault(value, len(number)) for value in values]
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
        whole = coded.unify_dictionaries().combine_chunks()
        whole = whole.chunk(0) if hasattr(whole, "chunks") else whole
        codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return objects(whole.dictionary.to_pylist()), codes.astype(np.int64)
    import pandas as pd

    codes, values = pd.factorize(series.to_pandas())
    return objects(values.tolist()), codes.astype(np.int64)


def refuse_missing(
    columns: Iterable[Column],
    rules: Sequence[str] = ("drop",),
    hint: str = "",
    *,
    ignorable: bool = False,
) -> None:
    """Refuse the first missing value.

    `rules` are those that would allow it, beside leaving an `ignorable` column.
    """
    for column in columns:
        if column.missing is not None:
            fixes = [ignored(column.name)] if ignorable else []
            what = f"column {shown(column.name)}"
            raise missing_value(what, column.missing, rules, hint=hint, fixes=fixes)


def ignored(name: Any) -> Fix:
    """That a column is left out."""
    return Fix("columns", {name: "ignore"})


def missing_value(
    what: str,
    missing: Mask,
    rules: Sequence[str] = ("drop",),
    row: Callable[[int], str] = "row {}".format,
    hint: str = "",
    fixes: Sequence[Fix] = (),
) -> InvalidInput:
    """The error that a value of `what` is missing: in which row, how many more, and which rules allow it.

    `fixes` leave the column out.

    >>> str(missing_value("column 'age'", np.array([False, True, True])))
    "column 'age', row 1: is missing, and 1 more; missing='drop' leaves such rows out"
    """
    more = int(missing.sum()) - 1
    others = f", and {more} more" if more else ""
    allowing = [Fix("missing", rule) for rule in rules]
    remedies = [f"{fix} {ACTIONS[fix.value]}" for fix in allowing]
    remedies += [f"{fix} leaves the column out" for fix in fixes]
    remedy = ", ".join([*remedies, *([hint] if hint else [])])
    text = f"{what}, {row(int(np.argmax(missing)))}: is missing{others}; {remedy}"
    return InvalidInput(text, fixes=[*allowing, *fixes])


def whole_rows(columns: Iterable[Column]) -> Indices | None:
    """The rows in which nothing is missing; None where that is all of them.

    >>> age = Column("age", "number", np.array([False, True]), lambda: np.array([31.0, np.nan]))
    >>> whole_rows([age]).tolist(), whole_rows([])
    ([0], None)
    """
    gaps = [column.missing for column in columns if column.missing is not None]
    return np.flatnonzero(~np.logical_or.reduce(gaps)) if gaps else None


def nothing_whole(names: Sequence[Any] = ()) -> InvalidInput:
    """The error that no row is left; `names` are the columns with missing values."""
    fix = Fix("missing", "drop")
    where = f" in {quoted(names)}" if names else ""
    return InvalidInput(f"every row has a missing value{where}; {fix} leaves none", fixes=[fix])


def dropped_note(dropped: int, rows: int) -> str:
    """Say how many rows were left out.

    >>> dropped_note(2, 60), dropped_note(0, 60)
    ('2 of 60 rows left out, as values are missing there', '')
    """
    return f"{dropped} of {rows} rows left out, as values are missing there" if dropped else ""


def filled_note(counts: Mapping[Any, int], action: str) -> str:
    """Say how many missing values were filled; `counts` are the missing values of each column.

    >>> filled_note({"age": 3, "plan": 0}, "replaced by medians and modes")
    "missing values replaced by medians and modes: 'age' (3)"
    """
    gaps = [f"{name!r} ({count})" for name, count in counts.items() if count]
    return f"missing values {action}: {listed(gaps)}" if gaps else ""
