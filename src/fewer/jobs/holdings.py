"""Linear conditions on weights and their turnover, by position or by the names of columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector, as_array, as_vector, library_of, shown
from ..constraints.conditions import Conditions
from ..data.align import nearest
from ..data.frames import columns_of, is_table, names_of
from ..result import Result


def conditions_of(
    previous: Any, max_turnover: Any, constraints: Any, names: Sequence[Any] | None, n: int
) -> Conditions | None:
    """Conditions as a user gives them: by position, or by the names of columns; None where there are none."""
    if previous is None and max_turnover is None and constraints is None:
        return None
    if (previous is None) != (max_turnover is None):
        raise InvalidInput("previous and max_turnover go together: give both or neither")
    held = None if previous is None else weights_of(previous, names, n)
    if constraints is None:
        return Conditions(previous=held, max_turnover=max_turnover)
    try:
        G, h = constraints
    except (TypeError, ValueError):
        raise InvalidInput(f"constraints must be two arrays, (G, h) for G q <= h, got {shown(constraints)}") from None
    rows, called = _rows_of(G, names, n)
    right = as_vector(np.atleast_1d(as_array(h, "h")), (len(rows),), "h")
    return Conditions(rows, right, held, max_turnover, called)


def weights_of(given: Any, names: Sequence[Any] | None, n: int, option: str = "previous") -> Vector:
    """Weights of n columns: an array, a mapping or Series by name (other columns have none), or a Result."""
    if isinstance(given, Result):
        given = given.p
    if library_of(given) == "pandas" and hasattr(given, "index") and names is not None:
        given = dict(zip(given.index, given.tolist(), strict=True))
    if not isinstance(given, Mapping):
        return as_vector(given, (n,), option)
    if names is None:
        raise InvalidInput(f"{option} goes by names, which needs a table; give {n} weights")
    place, weights = {name: at for at, name in enumerate(names)}, np.zeros(n)
    for name, weight in given.items():
        if name not in place:
            raise InvalidInput(f"{option}: there is no column {shown(name)}{nearest(name, names)}")
        weights[place[name]] = float(as_array(weight, f"{option} of {shown(name)}"))
    return weights


def _rows_of(G: Any, names: Sequence[Any] | None, n: int) -> tuple[Vector, tuple[str, ...]]:
    """The rows of G in the order of the columns, and what they are called."""
    if not is_table(G) or names is None:
        rows = np.atleast_2d(as_array(G, "G"))
        if rows.ndim != 2 or rows.shape[1] != n:
            raise InvalidInput(f"constraints: G must have {n} columns, one for each column of X, got {rows.shape}")
        return rows, tuple(f"row {i} of constraints" for i in range(len(rows)))
    place = {name: at for at, name in enumerate(names)}
    given = names_of(G)
    for name in given:
        if name not in place:
            raise InvalidInput(f"constraints: there is no column {shown(name)}{nearest(name, names)}")
    columns = [
        as_array(column.values, f"constraints, column {shown(name)}")
        for column, name in zip(columns_of(G), given, strict=True)
    ]
    rows = np.zeros((len(columns[0]), n))
    for name, column in zip(given, columns, strict=True):
        rows[:, place[name]] = column
    labels = list(G.index) if library_of(G) == "pandas" else list(range(len(rows)))
    return rows, tuple(f"row {shown(label)} of constraints" for label in labels)
