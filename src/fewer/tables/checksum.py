"""A checksum of rows that does not depend on how they are cut into blocks."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import as_sparse, gathered, is_frame, library_of, read

Hashes = npt.NDArray[np.uint64]

ROWS_AT_ONCE = 2**14
"""Rows that are converted at once."""


def checksum(X: Any, start: int) -> int:
    """Sum the hashes of rows modulo 2**64, each times an odd number that its position determines.

    `start` is the position of the first row.

    >>> X = np.arange(6.0).reshape(3, 2)
    >>> checksum(X, 0) == checksum(X[:1], 0) + checksum(X[1:], 1) & 2**64 - 1
    True
    >>> checksum(X, 0) == checksum(X[::-1], 0)
    False
    """
    X = gathered(X)
    if sp.issparse(X):
        table = as_sparse(X, "a block").tocoo()
        axes = table.coords if table.ndim > 1 else (table.coords[0], np.zeros_like(table.coords[0]))
        return _total(_hashes(table.data) * _odd(axes[1]), start + axes[0].astype(np.uint64))
    if not is_frame(X) and library_of(X) is None and not hasattr(X, "shape"):
        X = read(X, "a block")
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    return (
        sum(_rows(X, low, min(low + ROWS_AT_ONCE, n), start) for low in range(0, n, ROWS_AT_ONCE))
        & 2**64 - 1
    )


def _rows(X: Any, low: int, stop: int, start: int) -> int:
    """The part of the sum that some rows have."""
    library = library_of(X)
    if library is None:
        part = np.asarray(X[low:stop])
        hashes = _hashes(part).reshape(stop - low, -1) @ _odd(np.arange(math.prod(part.shape[1:])))
        return _total(hashes, np.arange(start + low, start + stop))
    if library == "pandas":
        part = X.iloc[low:stop]
        columns = [part.iloc[:, j] for j in range(part.shape[1])] if is_frame(X) else [part]
    else:
        part = X.slice(low, stop - low)
        columns = (
            list(part.columns if library == "pyarrow" else part.get_columns())
            if is_frame(X)
            else [part]
        )
    found = sum(_hashes(_values(column, library)) * _odd(j) for j, column in enumerate(columns))
    return _total(np.asarray(found), np.arange(start + low, start + stop))


def _values(column: Any, library: str) -> Any:
    """The values of a column: numbers where they are numbers, hashes of texts where there is a quick way to them."""
    if library == "polars":
        numeric = (
            column.dtype.is_numeric()
            or column.dtype.is_temporal()
            or str(column.dtype) in ("Boolean", "Null")
        )
        if numeric:
            physical = column.to_physical() if column.dtype.is_temporal() else column
            return physical.cast(float).to_numpy()
        return (
            column.cast(str).hash().to_numpy()
            if not column.dtype.is_nested()
            else column.hash().to_numpy()
        )
    if library == "pyarrow":
        return (
            column.to_numpy(zero_copy_only=False) if hasattr(column, "type") else np.asarray(column)
        )
    if column.dtype.kind in "fiubmM":
        return column.to_numpy()
    import pandas as pd

    return pd.util.hash_pandas_object(column, index=False).to_numpy()


def _hashes(values: Any) -> Hashes:
    """A number for each value, the same for equal numbers of any type."""
    values = np.asarray(values)
    if values.dtype == np.uint64:
        return np.asarray(values, np.uint64)
    if values.dtype.kind in "mM":
        return np.asarray(values.view(np.int64).astype(np.float64).view(np.uint64))
    if values.dtype.kind in "fiub":
        numbers = np.ascontiguousarray(values, np.float64)
        return np.asarray(np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64))
    found = [hash(repr(value)) & 2**64 - 1 for value in values.ravel().tolist()]
    return np.array(found, np.uint64).reshape(values.shape)


def _odd(places: Any) -> Hashes:
    """An odd number for each place, far from those of its neighbours."""
    return np.asarray(places, np.uint64) * np.uint64(0x9E3779B97F4A7C16) + np.uint64(1)


def _total(hashes: Hashes, positions: Any) -> int:
    """The sum of hashes by their positions."""
    return int((hashes * _odd(positions)).sum(dtype=np.uint64))
