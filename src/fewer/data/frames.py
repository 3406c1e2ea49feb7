"""Tables of pandas, polars and pyarrow: their columns by kind, their index, and rows of them.

None of the three is imported unless the caller's own object comes from there.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, gathered, is_frame, labels_of, library_of, shown
from .column import Column

__all__ = ["Column", "columns_of", "index_of", "is_table", "n_rows", "names_of", "put_columns", "take_rows"]


def is_table(X: Any) -> bool:
    """Whether X is a DataFrame, a Series, a LazyFrame, or a Table or RecordBatch of pandas, polars or pyarrow."""
    return library_of(X) is not None


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
    library = library_of(X)
    if library is None:
        raise InvalidInput(f"a table of pandas, polars or pyarrow was expected, got {shown(X)}")
    names = names_of(X)
    if library == "pandas":
        from . import _pandas

        frame = X if is_frame(X) else X.to_frame()
        return [_pandas.column(name, frame.iloc[:, i]) for i, name in enumerate(names)]
    if library == "polars":
        from . import _polars

        return [_polars.column(series) for series in (X.get_columns() if is_frame(X) else [X])]
    from . import _arrow

    return [_arrow.column(name, X.column(i)) for i, name in enumerate(names)]


def n_rows(X: Any) -> int:
    """The number of rows of a table."""
    return int(gathered(X).shape[0])


def index_of(X: Any) -> npt.NDArray[Any] | None:
    """The index labels of a pandas object, (N,); None where they are only its row numbers, and for other libraries."""
    if library_of(X) != "pandas":
        return None
    import pandas as pd

    labels = X.index
    if isinstance(labels, pd.RangeIndex) and (labels.start, labels.step, labels.name) == (0, 1, None):
        return None
    found = np.empty(len(labels), object)
    found[:] = labels.tolist()
    return found


def take_rows(X: Any, indices: Indices) -> Any:
    """Rows of a table in the user's own container; of an array, a sparse matrix or a list likewise."""
    X = gathered(X)
    library = library_of(X)
    if library == "pandas":
        return X.iloc[indices]
    if library == "pyarrow":
        return X.take(np.asarray(indices))
    if library == "polars":
        return X[np.asarray(indices)]
    if sp.issparse(X) and X.format in ("bsr", "coo", "dia"):  # which have no rows to take
        X = X.tocsr()
    return X[indices] if hasattr(X, "shape") else np.asarray(X)[indices]


def put_columns(X: Any, values: Mapping[int, npt.NDArray[np.float64]]) -> Any:
    """X with other numbers in the columns at these places, in the user's own container; NaN is a missing value.

    An array of integers becomes one of float64.
    """
    library = library_of(X)
    if library == "pandas":
        X = X.copy()
        for place, column in values.items():
            X.isetitem(place, column)
        return X
    if library == "polars":
        import polars as pl

        return X.with_columns(
            [pl.Series(X.columns[place], column, nan_to_null=True) for place, column in values.items()]
        )
    if library == "pyarrow":
        import pyarrow as pa

        for place, column in values.items():
            array = pa.array(column, mask=np.isnan(column))
            X = X.set_column(place, X.schema.field(place).name, array)
        return X
    table = np.array(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
    for place, column in values.items():
        table[:, place] = column
    return table
