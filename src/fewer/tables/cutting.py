"""Blocks of rows in any container: how many rows they have, some of these, and several blocks as one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import InvalidInput, gathered, is_frame, library_of, read, shown
from ..codes import numbers_as_csr
from .frames import is_table, names_of, narwhal, take_rows


def height(X: Any) -> int:
    """How many rows a block has.

    >>> height([[1, 2], [3, 4]]), height(np.zeros(5))
    (2, 5)
    """
    X = gathered(X)
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    try:
        return len(X)
    except TypeError:
        raise InvalidInput(
            f"a block must be an array, a sparse matrix or a table with rows, got {shown(X)}"
        ) from None


def width(X: Any) -> int:
    """How many columns it has; 1 where it has one axis."""
    shape = getattr(gathered(X), "shape", None) or read(X, "a block").shape
    return int(shape[1]) if len(shape) > 1 else 1


def cut(X: Any, start: int, stop: int) -> Any:
    """The rows from start to before stop, without a copy where that can be; None stays None."""
    if X is None:
        return None
    X = gathered(X)
    if start == 0 and stop == height(X):
        return X
    if sp.issparse(X) and X.format not in ("csr", "csc", "lil"):
        X = X.tocsr()
    rows = getattr(X, "iloc", X) if hasattr(X, "shape") else read(X, "a block")
    return rows[start:stop]


def stacked(parts: Sequence[Any]) -> Any:
    """The rows of several blocks, one after the other, in their container; None where they are None.

    >>> stacked([np.ones((1, 2)), np.zeros((1, 2))]).tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """
    if parts[0] is None or len(parts) == 1:
        return parts[0]
    if is_table(parts[0]):
        return _stacked_tables(parts)
    if any(sp.issparse(part) for part in parts):
        tables = [numbers_as_csr(part, "a block") for part in parts]
        same_width(tables)
        return sp.csr_array(sp.vstack(tables, format="csr"))
    arrays = [read(part, "a block") for part in parts]
    same_width(arrays)
    try:
        return np.concatenate(arrays)
    except TypeError:  # numbers and dates
        raise InvalidInput(
            f"all blocks must hold the same kind of values, got {', '.join({str(a.dtype): 0 for a in arrays})}"
        ) from None


def _stacked_tables(parts: Sequence[Any]) -> Any:
    """The rows of several tables of the same columns, one after the other."""
    first = names_of(parts[0])
    for part in parts[1:] if is_frame(parts[0]) else ():
        if not is_frame(part) or names_of(part) != first:
            came = names_of(part) if is_frame(part) else type(part).__name__
            raise InvalidInput(
                f"all blocks must have the columns {shown(first)}, got {shown(came)}"
            )
    library = library_of(parts[0])
    if library == "polars":  # whose types may differ from block to block
        import polars as pl

        return pl.concat(list(parts), how="vertical_relaxed")
    if library == "pandas":  # of which narwhals takes no Series here
        import pandas as pd

        return pd.concat(list(parts))
    import narwhals as nw

    return nw.concat([narwhal(part) for part in parts]).to_native()


def same_width(parts: Sequence[Any]) -> None:
    """A sentence where blocks have different numbers of columns."""
    first = parts[0].shape[1:]
    for part in parts[1:]:
        if part.shape[1:] != first:
            raise InvalidInput(
                f"all blocks must have {first or 'no'} columns, got one of shape {part.shape}"
            )


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


def some(X: Any, rows: Any) -> Any:
    """Rows by their numbers; None stays None."""
    return None if X is None else take_rows(X, np.asarray(rows, np.int64))
