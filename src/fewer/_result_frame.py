"""A result as a table of the user's own library: one row for each that was kept."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ._validation import InvalidInput, is_frame, known, labels_of, library_of

if TYPE_CHECKING:
    from .result import Result

OURS = ("index", "weight", "count")
"""Columns of ours; one of the user's that is called so gets an ending."""
BACKENDS = {"pandas": "pandas", "polars": "polars"}
IN_ORDER = ("bins", "bars", "values")
"""Units that displays show in their own order, not heaviest first."""


def to_frame(result: "Result", backend: Any) -> Any:
    """The kept units: index, weight, count, and what is known of each."""
    library = known("pandas" if backend is None else backend, BACKENDS, "backend")
    rows = result.rows
    if library_of(rows) == library and is_frame(rows):
        rows = renamed(rows, library)
    elif rows is not None:
        rows = columns_of(rows)
    return (_pandas if library == "pandas" else _polars)(result, ours(result), rows)


def ours(result: "Result") -> dict[str, Any]:
    """The columns that every result has, and those of bins or of what has names."""
    columns: dict[str, Any] = {"index": result.indices}
    columns |= {} if result.weights is None else {"weight": result.weights}
    columns |= {} if result.counts is None else {"count": result.counts}
    if result.kept is not None and result.kept.values is not None:
        columns["value"] = result.kept.values
        if result.kept.edges is not None:
            columns |= {"from": result.kept.edges[:, 0], "to": result.kept.edges[:, 1]}
    elif result.labels is not None and result.words.unit == "columns":
        columns["name"] = list(result.labels)
    return columns


def columns_of(rows: Any) -> dict[str, list[Any]]:
    """Columns of a table of another library, or of an array as x0, x1, ..., as lists by their names."""
    library = library_of(rows)
    if library is None:
        dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
        flat = dense.reshape(len(dense), -1)
        return {f"x{j}": flat[:, j].tolist() for j in range(flat.shape[1])}
    if not is_frame(rows):
        return {
            beside(str(rows.name or "x0"), ()): rows.tolist()
            if library == "pandas"
            else rows.to_list()
        }
    labels = labels_of(rows)
    if library == "pandas":
        lists = [rows.iloc[:, j].tolist() for j in range(len(labels))]
    elif library == "polars":
        lists = [rows[label].to_list() for label in labels]
    else:
        lists = [rows.column(j).to_pylist() for j in range(len(labels))]
    names = [beside(str(label), [str(other) for other in labels]) for label in labels]
    return dict(zip(names, lists, strict=True))


def beside(name: Any, names: Any) -> Any:
    """The name of a user's column beside ours.

    >>> beside("weight", ["weight", "x"]), beside("x", ["weight", "x"])
    ('weight_in_table', 'x')
    """
    if name in OURS:
        name = f"{name}_in_table"
        while name in names:
            name += "_"
    return name


def renamed(rows: Any, library: str) -> Any:
    """A frame without columns that are called like ours."""
    labels = labels_of(rows)
    new = {
        label: beside(label, labels) for label in labels if isinstance(label, str) and label in OURS
    }
    if not new:
        return rows
    return rows.rename(columns=new) if library == "pandas" else rows.rename(new)


def _pandas(result: "Result", own: dict[str, Any], rows: Any) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise InvalidInput(
            'to_frame needs pandas, or backend="polars" and polars; neither comes with fewer'
        ) from None
    if rows is not None and not isinstance(rows, dict):
        return pd.concat([pd.DataFrame(own, index=rows.index), rows], axis=1)
    labels = result.labels if result.labels is not None and result.words.unit == "points" else None
    index = None if labels is None else pd.Index(list(labels))
    return pd.DataFrame({**own, **(rows or {})}, index=index)


def _polars(result: "Result", own: dict[str, Any], rows: Any) -> Any:
    try:
        import polars as pl
    except ImportError:
        raise InvalidInput(
            'to_frame(backend="polars") needs polars, which is not installed'
        ) from None
    if result.labels is not None and result.words.unit == "points":
        taken_names = [] if rows is None else list(rows) if isinstance(rows, dict) else rows.columns
        name = "label" if "label" not in taken_names else "index_label"
        own = {**own, name: list(result.labels)}
    if rows is not None and not isinstance(rows, dict):
        return pl.concat([pl.DataFrame(own), rows], how="horizontal")
    return pl.DataFrame({**own, **(rows or {})}, strict=False)


def frame_of(columns: dict[str, list[Any]], backend: Any) -> Any:
    """Lists by name as a table of pandas or polars."""
    library = known("pandas" if backend is None else backend, BACKENDS, "backend")
    try:
        if library == "pandas":
            import pandas as pd

            return pd.DataFrame(columns)
        import polars as pl

        return pl.DataFrame(columns, strict=False)
    except ImportError:
        raise InvalidInput(f"to_frame needs {library}, which is not installed") from None
