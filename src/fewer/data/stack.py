"""Two tables of the same columns, or two arrays, as one: the rows of the first, then those of the second."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import InvalidInput, as_numbers, is_frame, labels_of, library_of, read, shown
from ..tables import as_csr, numbers_as_csr
from .column import Column
from .frames import columns_of
from .names import known_name

KINDS = {"number": "numbers", "boolean": "booleans", "category": "texts", "date": "dates", "other": "nested values"}


def stacked_tables(X: Any, other: Any, needed: Sequence[Any], name: str) -> Any:
    """Both tables as one with the columns of X; of those that are not needed the second may lack some.

    >>> import polars
    >>> both = stacked_tables(polars.DataFrame({"a": [1], "b": [2]}), polars.DataFrame({"a": [3]}), ["a"], "target")
    >>> both["a"].to_list()
    [1, 3]
    """
    library = library_of(X)
    if not is_frame(other) or library_of(other) != library:
        raise InvalidInput(f"{name} must be a table of {library} as X is, got {shown(type(other).__name__)}")
    names, there = labels_of(X), labels_of(other)
    for owner, found in (("X", names), (name, there)):
        if len(set(found)) < len(found):
            raise InvalidInput(f"{owner} must have columns of different names beside another table, got one twice")
    for column in needed:
        known_name(column, there, name)
    _same_kinds(columns_of(X), columns_of(other), needed, name)
    return {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow}[str(library)](X, other, names)


def _same_kinds(mine: Sequence[Column], theirs: Sequence[Column], needed: Sequence[Any], name: str) -> None:
    """A sentence where a column holds one kind of values here and another there."""
    by_name = {column.name: column for column in theirs}
    for column in mine:
        if column.name not in needed:
            continue
        other = by_name[column.name]
        empty = any(one.missing is not None and one.missing.all() for one in (column, other))
        if column.kind != other.kind and not empty:
            raise InvalidInput(
                f"{name}: column {column.name!r} holds {KINDS[other.kind]}, in X it holds {KINDS[column.kind]}"
            )


def _of_pandas(X: Any, other: Any, names: list[Any]) -> Any:
    import pandas as pd

    other = other.reindex(columns=names)
    empty = [name for name in names if other[name].isna().all()]
    if not empty:
        return pd.concat([X, other], ignore_index=True)
    given = pd.concat([X.drop(columns=empty), other.drop(columns=empty)], ignore_index=True)
    for name in empty:
        given[name] = X[name].reset_index(drop=True).reindex(range(len(given)))
    return given[names]


def _of_polars(X: Any, other: Any, names: list[Any]) -> Any:
    import polars as pl

    lacking = [pl.lit(None, X.schema[name]).alias(name) for name in names if name not in other.columns]
    texts = [name for name in names if isinstance(X.schema[name], (pl.Categorical, pl.Enum))]
    parts = [table.with_columns(pl.col(texts).cast(pl.String)) for table in (X, other.with_columns(lacking))]
    return pl.concat([part.select(names) for part in parts], how="vertical_relaxed")


def _of_pyarrow(X: Any, other: Any, names: list[Any]) -> Any:
    import pyarrow as pa

    parts = []
    for table in (X, other):
        arrays = {}
        for name in names:
            array = table.column(name) if name in table.column_names else pa.nulls(len(table))
            arrays[name] = array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
        parts.append(pa.table(arrays))
    return pa.concat_tables(parts, promote_options="permissive")


def stacked_arrays(X: Any, other: Any, name: str, missing: bool) -> Any:
    """Both arrays as one, CSR where one of them is sparse; `missing` says whether NaN is a missing value."""
    parts = [
        as_csr(part, whose) if sp.issparse(part) else _numbers(part, whose) for part, whose in ((X, "X"), (other, name))
    ]
    if parts[0].ndim != 2:
        raise InvalidInput(f"X must have shape (rows, columns) beside a {name}, got {parts[0].shape}")
    if parts[1].ndim != 2 or parts[1].shape[1] != parts[0].shape[-1] or 0 in parts[1].shape:
        raise InvalidInput(
            f"{name} must have shape (rows, {parts[0].shape[-1]}) with the columns of X, got {parts[1].shape}"
        )
    entries = parts[1].data if sp.issparse(parts[1]) else parts[1]
    wrong = np.isinf(entries) if missing else ~np.isfinite(entries)
    if wrong.any():
        where = "" if sp.issparse(parts[1]) else f" in row {int(np.argmax(wrong.any(axis=1)))}"
        raise InvalidInput(f"{name} must be finite, got NaN or infinity{where}")
    if any(sp.issparse(part) for part in parts):
        whose = ("X", name)
        return sp.vstack([numbers_as_csr(part, who) for part, who in zip(parts, whose, strict=True)], format="csr")
    return np.vstack(parts)


def _numbers(X: Any, name: str) -> Any:
    """An array of numbers; None counts as NaN."""
    array = X if isinstance(X, np.ndarray) else read(X, name)
    if array.dtype == object:
        gone = np.array([entry is None for entry in array.flat], bool).reshape(array.shape)
        array = np.where(gone, np.nan, array)
    return as_numbers(array, name)
