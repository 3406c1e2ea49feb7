"""What was kept as a table by columns: the same for rows in memory and in blocks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._result_frame import columns_of, ours
from ..result import Result
from ..tables.frames import take_rows

Table = dict[str, list[Any]]
"""A table by columns: name -> values."""


def kept_table(result: Result, names: Sequence[Any] | None = None) -> Table:
    """Points heaviest first with their columns, terms heaviest first, bins in their order, dims most used first.

    `names` are those of all columns where the result has none.
    """
    if result.words.unit == "points":
        return kept_points(result, names)
    if result.words.unit == "columns":
        return kept_columns(result, names)
    return {name: np.asarray(column).tolist() for name, column in ours(result).items()}


def kept_points(result: Result, names: Sequence[Any] | None = None) -> Table:
    """Rows with their weights, heaviest first."""
    rows, weights = result.heaviest_first()
    table: Table = {"index": rows.tolist(), "weight": weights.tolist()}
    if result.rows is None:
        return table
    columns = columns_of(take_rows(result.rows, np.searchsorted(result.indices, rows)))
    if names is not None and len(names) == len(columns):
        columns = dict(zip(map(str, names), columns.values(), strict=True))
    return table | columns


def kept_columns(result: Result, names: Sequence[Any] | None = None) -> Table:
    """Columns with their weights, heaviest first; of dims with the share of covered rows in which each occurs."""
    called = list(range(result.space.n_units)) if names is None and result.labels is None else names
    labels = result.labels if called is None else [called[i] for i in result.indices.tolist()]
    sizes, name = (
        (uses(result), "in covered rows") if result.weights is None else (result.weights, "weight")
    )
    order = np.argsort(-sizes, kind="stable").tolist()
    table: Table = {"column": [labels[i] for i in order], "index": result.indices[order].tolist()}
    return table | {name: sizes[order].tolist()}


def uses(result: Result) -> Any:
    """The share of covered rows in which each column occurs, (k,); zero where no row is covered."""
    found = result.distribution
    shares = dict(
        zip(
            found.dims.tolist(),
            found.weights @ (found.codes != found.origin[found.dims]),
            strict=True,
        )
    )
    return np.array([shares.get(i, 0.0) for i in result.indices.tolist()])
