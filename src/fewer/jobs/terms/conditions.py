"""Linear conditions on weights and their turnover, by position or by the names of columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._validation import InvalidInput, Vector, as_array, as_vector, shown
from ...constraints.conditions import Conditions
from ...result import Result
from ...tables.column import Table
from ...tables.frames import is_indexed, is_table
from ...tables.names import known_name


def conditions_of(
    previous: Any, max_turnover: Any, constraints: Any, names: Sequence[Any] | None, n: int
) -> Conditions | None:
    """Return conditions as a user gives them: by position, or by the names of columns; None where there are none."""
    if previous is None and max_turnover is None and constraints is None:
        return None
    if (previous is None) != (max_turnover is None):
        raise InvalidInput("previous and max_turnover go together: give both or neither")
    before = None if previous is None else weights_of(previous, names, n)
    if constraints is None:
        return Conditions(previous=before, max_turnover=max_turnover)
    try:
        G, h = constraints
    except (TypeError, ValueError):
        raise InvalidInput(
            f"constraints must be two arrays, (G, h) for G q <= h, got {shown(constraints)}"
        ) from None
    rows, called = _rows_of(G, names, n)
    right = as_vector(np.atleast_1d(as_array(h, "h")), (len(rows),), "h")
    return Conditions(rows, right, before, max_turnover, called)


def weights_of(
    values: Any, names: Sequence[Any] | None, n: int, option: str = "previous"
) -> Vector:
    """Return weights of n columns: an array, a mapping or Series by name (other columns have none), or a Result."""
    if isinstance(values, Result):
        values = values.p
    if is_indexed(values) and names is not None:
        values = dict(zip(values.index, values.tolist(), strict=True))
    if not isinstance(values, Mapping):
        return as_vector(values, (n,), option)
    if names is None:
        raise InvalidInput(f"{option} goes by names, which needs a table; give {n} weights")
    weights = np.zeros(n)
    for name, weight in values.items():
        place = names.index(known_name(name, names, option))
        weights[place] = float(as_array(weight, f"{option} of {shown(name)}"))
    return weights


def _rows_of(G: Any, names: Sequence[Any] | None, n: int) -> tuple[Vector, tuple[str, ...]]:
    """Return the rows of G in the order of the columns, and what they are called."""
    if not is_table(G) or names is None:
        rows = np.atleast_2d(as_array(G, "G"))
        if rows.ndim != 2 or rows.shape[1] != n:
            raise InvalidInput(
                f"constraints: G must have {n} columns, one for each column of X, got {rows.shape}"
            )
        return rows, tuple(f"row {i} of constraints" for i in range(len(rows)))
    place = {name: at for at, name in enumerate(names)}
    table = Table.of(G)
    rows = np.zeros((table.rows, n))
    for column in table.columns:
        at = place[known_name(column.name, names, "constraints")]
        rows[:, at] = as_array(column.values, f"constraints, column {shown(column.name)}")
    labels = list(G.index) if is_indexed(G) else list(range(len(rows)))
    return rows, tuple(f"row {shown(label)} of constraints" for label in labels)
