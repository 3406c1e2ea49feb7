"""What points are chosen from, as the user hands it in: a table or an array, its labels and weights."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, Vector, as_weights, is_frame, known
from ...tables.column import Column, Table, role
from ...tables.encode import Encoding, encoded
from ...tables.schema import RULES
from .sample import rows_and_top


class Given(NamedTuple):
    """Rows to compare, their labels and weights, which rows of X they are (all if None), and how they were encoded."""

    rows: Any
    top: float | None
    labels: Any
    weights: Any
    size: int
    kept: Indices | None = None
    encoding: Encoding | None = None
    notes: tuple[str, ...] = ()
    held: Any = None

    def of_rows(self, rows: Indices, name: str) -> Indices:
        """Where rows of X are among those that are compared."""
        if self.kept is None:
            return rows
        at = np.minimum(np.searchsorted(self.kept, rows), len(self.kept) - 1)
        gone = rows[self.kept[at] != rows]
        if gone.size:
            raise InvalidInput(
                f"{name} names row {gone[0]}, which is left out, for a value is missing in it"
            )
        return at

    def some(self, values: Any) -> Any:
        """What belongs to rows of X, of those that are compared; None stays None."""
        return values if values is None or self.kept is None else values[self.kept]


def is_encoded(X: Any, columns: Any, missing: Any) -> bool:
    """Whether X goes column by column: a table does, and an array where columns or missing values are spoken of."""
    known(missing, dict.fromkeys(RULES), "missing")
    if is_frame(X) or isinstance(X, Table):
        return True
    if columns is None and missing == "error":
        return False
    if sp.issparse(X):
        raise InvalidInput(
            f"columns and missing are for tables and dense arrays, got a {type(X).__name__}"
        )
    return True


def given_rows(
    X: Any,
    labels: Any,
    sample_weight: Any,
    columns: Any,
    missing: str,
    apart: Sequence[str] = (),
    *,
    codes: bool,
    sparse: bool,
    scales: bool,
) -> Given:
    """X as rows; `labels` and `sample_weight` may name columns, which like those of `apart` are no part of the rows."""
    if not is_encoded(X, columns, missing):
        for value, option in ((labels, "labels"), (sample_weight, "sample_weight")):
            role(X, value, option)
        rows, top = rows_and_top(X, sparse)
        return Given(rows, top, labels, sample_weight, rows.shape[0])
    is_named = is_frame(X) or isinstance(X, Table)
    table = Table.of(X)
    n, width = table.shape
    if n == 0 or width == 0:
        raise InvalidInput(
            f"X must have shape (rows, columns) with at least one of each, got {(n, width)}"
        )
    source = table if is_named else X
    by_name = {
        option: role(source, value, option)
        for option, value in (("labels", labels), ("sample_weight", sample_weight))
    }
    apart = [*apart, *(column.name for column in by_name.values() if column is not None)]
    labels = labels if by_name["labels"] is None else by_name["labels"]
    weights = sample_weight if by_name["sample_weight"] is None else by_name["sample_weight"].values
    complete = None
    if missing == "drop":
        complete = np.ones(n, bool)
        for column in by_name.values():
            complete &= True if column is None or column.missing is None else ~column.missing
    shares = _shares(weights, n, complete)
    found = encoded(
        table,
        columns,
        missing,
        shares,
        apart=apart,
        complete=complete,
        equality=codes,
        sparse=sparse,
        shifts=scales,
    )
    rows, top = rows_and_top(found.rows, sparse)
    if found.kept is not None:
        labels = _taken(labels, found.kept)
        weights = None if weights is None else np.asarray(weights)[found.kept]
    return Given(rows, top, labels, weights, n, found.kept, found.encoding, tuple(found.notes))


def _shares(weights: Any, n: int, complete: Any) -> Vector | None:
    """Weights of sum one by which medians and modes are taken; rows that are left out have none."""
    if weights is None:
        return None
    if complete is not None and not complete.all():
        weights = np.where(complete, np.asarray(weights), 0.0)
    return as_weights(weights, n, "sample_weight")


def _taken(labels: Any, kept: Indices) -> Any:
    """Labels of the rows that are kept."""
    if labels is None:
        return None
    if not isinstance(labels, Column):
        return np.asarray(labels)[kept]
    values, gone = labels.values[kept], None if labels.missing is None else labels.missing[kept]
    whole = labels.levels
    missing = gone if gone is not None and gone.any() else None
    levels = whole._replace(codes=whole.codes[kept])
    return Column(labels.name, labels.kind, missing, lambda: values, lambda: levels, labels.dtype)
