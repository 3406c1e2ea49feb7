"""Frames of any library that narwhals knows: their columns by kind, their index, and rows of them.

No such library is imported unless the caller's own object comes from there, and neither is
narwhals.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, gathered, is_frame, labels_of, library_of, shown
from .column import (
    Column,
    Levels,
    Mask,
    grouped_objects,
    objects,
    of_objects,
    seconds,
    sorted_levels,
)

__all__ = [
    "Column",
    "columns_of",
    "index_of",
    "is_indexed",
    "is_table",
    "n_rows",
    "names_of",
    "narwhal",
    "put_columns",
    "take_rows",
]

FEW_CELLS = 2000
"""Texts up to which Python numbers them sooner than a library does."""


def is_table(X: Any) -> bool:
    """Whether X is a frame or a Series of pandas, polars, pyarrow, modin or cuDF."""
    return library_of(X) is not None


def is_indexed(X: Any) -> bool:
    """Whether X is a table whose rows have index labels, as those of pandas."""
    return is_table(X) and hasattr(X, "iloc")


def names_of(X: Any) -> list[Any]:
    """The names of a table's columns, as the user wrote them."""
    X = gathered(X)
    return labels_of(X) if is_frame(X) else [X.name]


def columns_of(X: Any) -> list[Column]:
    """The columns of a table, each of the kind that its type says; values are made when they are asked for.

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
    names = names_of(X)
    return [_column(name, series) for name, series in zip(names, _each_series(X), strict=True)]


def narwhal(X: Any) -> Any:
    """A frame as narwhals wraps it, a RecordBatch as a Table."""
    import narwhals as nw

    if library_of(X) == "pyarrow" and not hasattr(X, "to_batches"):
        import pyarrow as pa

        X = pa.Table.from_batches([X])
    return nw.from_native(X, eager_only=True)


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

    series = nw.from_native(_plain(native), series_only=True)
    dtype, missing = series.dtype, _missing(series)
    if dtype.is_nested() or dtype == nw.Binary:
        return Column(name, "other", missing, series.to_numpy, dtype=str(dtype))
    if _holds_objects(native):
        return of_objects(name, series.to_numpy(), missing)
    if dtype == nw.Boolean:
        return _numbers(name, "boolean", missing, series.cast(nw.UInt8))
    if dtype in (nw.Decimal, nw.Int128, nw.UInt128):
        return _numbers(name, "number", missing, series.cast(nw.Float64), str(dtype))
    if dtype.is_numeric():
        return _numbers(name, "number", missing, series, str(dtype))
    if dtype == nw.Time:
        nanoseconds = series.cast(nw.Time).cast(nw.Int64)
        return Column(name, "date", missing, lambda: np.asarray(nanoseconds.to_numpy() / 1e9))
    if dtype.is_temporal():
        kind = "number" if dtype == nw.Duration else "date"
        return Column(
            name,
            kind,
            missing,
            lambda: seconds(series.to_numpy()),
            part=lambda start, stop: seconds(series[start:stop].to_numpy()),
        )
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        told = "" if dtype == nw.String else "category"
        return Column(
            name, "category", missing, series.to_numpy, lambda: _levels(series, missing), told
        )
    return _of_array(name, series.to_numpy(), missing)


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


def _holds_objects(native: Any) -> bool:
    """Whether a Series of pandas holds Python's own objects, texts among them."""
    dtype = getattr(native, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.hasobject


def _numbers(name: Any, kind: str, missing: Mask | None, series: Any, dtype: str = "") -> Column:
    """A column of numbers as float64, without a copy where they are that already."""

    def part(start: int, stop: int) -> npt.NDArray[np.float64]:
        return np.asarray(series[start:stop].to_numpy(), np.float64)

    return Column(
        name, kind, missing, lambda: np.asarray(series.to_numpy(), np.float64), None, dtype, part
    )


def _of_array(name: Any, values: npt.NDArray[Any], missing: Mask | None) -> Column:
    """A column of a type that narwhals does not know, by the array that it makes."""
    kind = values.dtype.kind
    if kind == "O":
        return of_objects(name, values, missing)
    if kind in "mM":
        return Column(name, "number" if kind == "m" else "date", missing, lambda: seconds(values))
    if kind in "fiub":
        floats = values.astype(np.float64)
        return Column(
            name,
            "boolean" if kind == "b" else "number",
            missing,
            lambda: floats,
            dtype=str(values.dtype),
        )
    return Column(name, "other", missing, lambda: values, dtype=str(values.dtype))


def _missing(series: Any) -> Mask | None:
    """Where a value is null, or a number NaN; None where all are there."""
    import narwhals as nw

    if series.dtype.is_float():
        gone = np.isnan(series.to_numpy())
        return gone if gone.any() else None
    if (
        series.null_count() == 0 and series.dtype != nw.Categorical
    ):  # whose dictionary may hold a null
        return None
    gone = np.asarray(series.is_null().to_numpy(), bool)
    return gone if gone.any() else None


def _levels(series: Any, missing: Mask | None) -> Levels:
    """Texts or categories by the distinct ones, which each library numbers in its own way."""
    if len(series) <= FEW_CELLS:
        return grouped_objects(objects(series.to_list()), missing)
    by_library = {"polars": _polars_codes, "pyarrow": _arrow_codes}
    return sorted_levels(*by_library.get(series.implementation.value, _pandas_codes)(series))


def _pandas_codes(series: Any) -> tuple[npt.NDArray[Any], Indices]:
    """The distinct values of a Series, and which of them each row has."""
    import pandas as pd

    native = series.to_pandas()
    if isinstance(native.dtype, pd.CategoricalDtype):
        return objects(native.cat.categories.tolist()), native.cat.codes.to_numpy(np.int64)
    codes, values = pd.factorize(native)
    return objects(values.tolist()), codes.astype(np.int64)


def _polars_codes(series: Any) -> tuple[npt.NDArray[Any], Indices]:
    """Numbers in a table of categories that other columns may share, and that table."""
    import polars as pl

    coded = series.to_native()
    coded = coded.cast(pl.Categorical) if coded.dtype == pl.String else coded
    physical = coded.to_physical()
    first = physical.arg_unique()
    first = first.filter(physical.gather(first).is_not_null())
    codes = physical.cast(pl.Int64).fill_null(-1).to_numpy()
    values = np.empty(int(codes.max(initial=-1)) + 1, object)
    values[codes[first.to_numpy()]] = objects(coded.gather(first).cast(pl.String).to_list())
    return values, codes


def _arrow_codes(series: Any) -> tuple[npt.NDArray[Any], Indices]:
    """The dictionary of an array, and which of its entries each row has."""
    array = series.to_native()
    coded = array if hasattr(array.type, "index_type") else array.dictionary_encode()
    coded = coded.unify_dictionaries()
    parts = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in coded.chunks]
    return objects(coded.chunk(0).dictionary.to_pylist()), np.concatenate(parts).astype(np.int64)


def n_rows(X: Any) -> int:
    """The number of rows of a table."""
    return int(gathered(X).shape[0])


def index_of(X: Any) -> npt.NDArray[Any] | None:
    """The index labels of a table, (N,); None where they are only its row numbers, and where it has none."""
    if not is_indexed(X):
        return None
    labels = X.index
    counted = type(labels).__name__ == "RangeIndex"
    if counted and (labels.start, labels.step, labels.name) == (0, 1, None):
        return None
    return objects(labels.tolist())


def take_rows(X: Any, indices: Indices) -> Any:
    """Rows of a table in the user's own container; of an array, a sparse matrix or a list likewise."""
    X = gathered(X)
    if is_table(X):
        rows = np.asarray(indices)
        return X.take(rows) if hasattr(X, "take") else X[rows]
    if sp.issparse(X) and X.format in ("bsr", "coo", "dia"):  # which have no rows to take
        X = X.tocsr()
    return X[indices] if hasattr(X, "shape") else np.asarray(X)[indices]


def put_columns(X: Any, values: Mapping[int, npt.NDArray[np.float64]]) -> Any:
    """X with other numbers in the columns at these places, in the user's own container; NaN is a missing value.

    An array of integers becomes one of float64.
    """
    if is_indexed(X):  # columns may share a name
        X = X.copy()
        for place, column in values.items():
            X.isetitem(place, column)
        return X
    if is_table(X):
        import narwhals as nw

        frame = narwhal(X)
        new = [
            nw.new_series(frame.columns[place], column, backend=frame.implementation)
            for place, column in values.items()
        ]
        return frame.with_columns(
            [nw.when(~series.is_nan()).then(series) for series in new]
        ).to_native()
    table = np.array(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    for place, column in values.items():
        table[:, place] = column
    return table
