"""A result as a table of pandas or polars: one row for each unit that was kept."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ._validation import InvalidInput, is_frame, known, labels_of, library_of

if TYPE_CHECKING:
    from .result import Result

OURS = ("index", "weight", "count")
"""Columns of ours; one of the user's that is called so gets an ending."""
IN_ORDER = ("bins", "bars", "values")
"""Units that displays show in their own order, not heaviest first."""


def to_frame(result: "Result", backend: Any) -> Any:
    """Return the kept units: index, weight, count, and what is known of each."""
    library = known_backend(backend)
    rows, columns = result.rows, columns_of(result.rows, library)
    is_labelled = result.words.unit == "points" and result.labels is not None
    labels = list(result.labels) if is_labelled else None
    if library == "pandas":
        index = rows.index if library_of(rows) == "pandas" else labels
        return frame_of({**ours(result), **columns}, library, index=index)
    name = "index_label" if "label" in columns else "label"
    named = {} if labels is None else {name: labels}
    return frame_of({**ours(result), **named, **columns}, library)


def ours(result: "Result") -> dict[str, Any]:
    """Return the columns that every result has, and those of bins or of what has names."""
    columns: dict[str, Any] = {
        "index": result.indices,
        "weight": result.weights,
        "count": result.counts,
    }
    if result.kept is not None and result.kept.values is not None:
        columns["value"] = result.kept.values
        if result.kept.edges is not None:
            columns |= {"from": result.kept.edges[:, 0], "to": result.kept.edges[:, 1]}
    elif result.labels is not None and result.words.unit == "columns":
        columns["name"] = list(result.labels)
    return {name: column for name, column in columns.items() if column is not None}


def columns_of(rows: Any, library: str = "") -> dict[Any, Any]:
    """Return the columns of kept rows by name, of an array as x0, x1, ....

    As lists if they are of another library.
    """
    if rows is None:
        return {}
    if library_of(rows) is None:
        dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
        flat = dense.reshape(len(dense), -1)
        return {f"x{j}": flat[:, j].tolist() for j in range(flat.shape[1])}
    frame = rows if is_frame(rows) else rows.to_frame(rows.name or "x0")
    names = labels_of(frame)
    if hasattr(frame, "iloc"):
        columns = [frame.iloc[:, j] for j in range(len(names))]
    else:
        columns = frame.get_columns() if hasattr(frame, "get_columns") else frame.columns
    if library_of(rows) != library:
        names = [str(name) for name in names]
        method = "to_pylist" if hasattr(frame, "column_names") else "to_list"
        columns = [getattr(column, method)() for column in columns]
    return {free_name(name, names): column for name, column in zip(names, columns, strict=True)}


def free_name(name: Any, names: Any) -> Any:
    """Return the name of a user's column next to ours.

    >>> free_name("weight", ["weight", "x"]), free_name("x", ["weight", "x"])
    ('weight_in_table', 'x')
    """
    if isinstance(name, str) and name in OURS:
        name = f"{name}_in_table"
        while name in names:
            name += "_"
    return name


def known_backend(backend: Any) -> str:
    """Return the library of tables that is asked for; None is pandas."""
    library: str = known(backend or "pandas", {"pandas": "pandas", "polars": "polars"}, "backend")
    return library


def frame_of(columns: dict[Any, Any], backend: Any, **more: Any) -> Any:
    """Return columns by name as a table of pandas or polars."""
    library = known_backend(backend)
    try:
        module = import_module(library)
    except ImportError:
        other = "; neither pandas nor polars comes with fewer"
        raise InvalidInput(f"to_frame needs {library}, which is not installed{other}") from None
    more = more if library == "pandas" else {"strict": False}
    return module.DataFrame(columns, **more)
