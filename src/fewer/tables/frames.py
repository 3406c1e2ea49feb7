"""Rows in any container: frames of every library that narwhals knows, arrays, sparse matrices and lists.

No such library is imported unless the caller's own object comes from there, and neither is
narwhals.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import (
    InvalidInput,
    Vector,
    gathered,
    is_frame,
    labels_of,
    library_of,
    read,
    shown,
)
from ..codes import numbers_as_csr


def is_table(X: Any) -> bool:
    """Whether X is a frame or a Series of pandas, polars, pyarrow, modin or cuDF."""
    return library_of(X) is not None


def is_indexed(X: Any) -> bool:
    """Whether X is a table whose rows have index labels, as those of pandas."""
    return is_table(X) and hasattr(X, "iloc")


def narwhal(X: Any) -> Any:
    """A frame or a Series as narwhals wraps it, a RecordBatch as a Table."""
    import narwhals as nw

    if library_of(X) == "pyarrow" and hasattr(X, "schema") and not hasattr(X, "to_batches"):
        import pyarrow as pa

        X = pa.Table.from_batches([X])
    return nw.from_native(X, eager_only=True, allow_series=True)


def names_of(X: Any) -> list[Any]:
    """The names of a table's columns, as the user wrote them."""
    X = gathered(X)
    return labels_of(X) if is_frame(X) else [X.name]


def index_of(X: Any) -> Any:
    """The index labels of a table, (N,).

    None where they are only its row numbers, and where it has none.
    """
    if not is_indexed(X):
        return None
    labels = X.index
    counted = type(labels).__name__ == "RangeIndex"
    if counted and (labels.start, labels.step, labels.name) == (0, 1, None):
        return None
    values = np.empty(len(labels), object)
    values[:] = labels.tolist()
    return values


def height(X: Any) -> int:
    """How many rows a block has.

    >>> height([[1, 2], [3, 4]]), height(np.zeros(5))
    (2, 5)
    """
    X = gathered(X)
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    if isinstance(X, list | tuple):
        return len(X)
    raise InvalidInput(f"a block must be a table or an array of rows; got {shown(X)}")


def width(X: Any) -> int:
    """How many columns a block has; 1 where it has one axis."""
    shape = getattr(gathered(X), "shape", None) or read(X, "a block").shape
    return int(shape[1]) if len(shape) > 1 else 1


def size_in_bytes(X: Any) -> int:
    """The memory that a block takes, about."""
    X = gathered(X)
    if sp.issparse(X):
        return int((X.dtype.itemsize + 12) * X.nnz)
    library = library_of(X)
    if library == "pandas":
        return int(np.sum(X.memory_usage(deep=True)))
    if library == "polars":
        return int(X.estimated_size())
    return int(X.nbytes if hasattr(X, "nbytes") else read(X, "a block").nbytes)


def _as_sliceable(X: Any) -> Any:
    """X, of which rows can be taken by brackets."""
    X = gathered(X)
    if sp.issparse(X) and X.format not in ("csr", "csc", "lil"):
        return X.tocsr()
    return X if hasattr(X, "shape") or is_table(X) else read(X, "a block")


def cut(X: Any, start: int, stop: int) -> Any:
    """The rows from start to before stop, without a copy where that can be; None stays None."""
    if X is None or (start == 0 and stop == height(X)):
        return X
    rows = _as_sliceable(X)
    return getattr(rows, "iloc", rows)[start:stop]


def take_rows(X: Any, rows: Any) -> Any:
    """Rows by their numbers, in the user's own container; None stays None."""
    if X is None:
        return None
    X, rows = _as_sliceable(X), np.asarray(rows, np.int64)
    if is_table(X):
        return X.take(rows) if hasattr(X, "take") else X[rows]
    return X[rows]


def take_columns(X: Any, places: Sequence[int]) -> Any:
    """Columns of a frame by their places."""
    if is_indexed(X):
        return X.iloc[:, list(places)]
    names = names_of(X)
    return gathered(X).select([names[i] for i in places])


def stacked(parts: Sequence[Any]) -> Any:
    """The rows of several blocks, one after the other, in their container.

    None where they are None.

    >>> stacked([np.ones((1, 2)), np.zeros((1, 2))]).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    first = parts[0]
    if first is None or len(parts) == 1:
        return first
    if is_table(first):
        return _stacked_tables(parts)
    is_sparse = any(sp.issparse(part) for part in parts)
    as_rows = numbers_as_csr if is_sparse else read
    arrays = [as_rows(part, "a block") for part in parts]
    shape = arrays[0].shape[1:]
    for array in arrays[1:]:
        if array.shape[1:] != shape:
            raise InvalidInput(
                f"all blocks must have {shape or 'no'} columns, got one of shape {array.shape}"
            )
    if is_sparse:
        return sp.csr_array(sp.vstack(arrays, format="csr"))
    try:
        return np.concatenate(arrays)
    except TypeError:  # numbers and dates
        kinds = ", ".join({str(array.dtype): 0 for array in arrays})
        raise InvalidInput(f"all blocks must hold the same kind of values, got {kinds}") from None


def _stacked_tables(parts: Sequence[Any]) -> Any:
    """The rows of several tables of the same columns, one after the other."""
    names = names_of(parts[0])
    for part in parts[1:] if is_frame(parts[0]) else ():
        if not is_frame(part) or names_of(part) != names:
            came = names_of(part) if is_frame(part) else type(part).__name__
            raise InvalidInput(
                f"all blocks must have the columns {shown(names)}, got {shown(came)}"
            )
    library = library_of(parts[0])
    if library == "polars":  # whose types may differ from block to block
        import polars as pl

        return pl.concat(list(parts), how="vertical_relaxed")
    if library == "pandas":  # of which narwhals takes no Series here
        import pandas as pd

        return pd.concat(list(parts))
    if library == "pyarrow":
        import pyarrow as pa

        tables = [narwhal(part).to_native() for part in parts]
        return pa.concat_tables(tables, promote_options="permissive")
    import narwhals as nw

    return nw.concat([narwhal(part) for part in parts]).to_native()


def put_columns(X: Any, values: Mapping[int, Vector]) -> Any:
    """X with other numbers in the columns at these places, in the user's own container.

    NaN is a missing value.

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
        names = frame.columns
        new = [
            nw.new_series(names[place], column, backend=frame.implementation)
            for place, column in values.items()
        ]
        present = [nw.when(~series.is_nan()).then(series) for series in new]
        return frame.with_columns(present).to_native()
    table = np.array(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    for place, column in values.items():
        table[:, place] = column
    return table
