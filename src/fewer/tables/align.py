"""Rows by index labels and columns by name: what belongs to a table, brought into its order."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, gathered, is_frame, shown
from ..constraints.groups import Groups, as_groups
from .frames import is_indexed, names_of
from .names import quoted
from .table import numbers_of_column, role

SHOWN = 3
"""Index labels that a message quotes."""


def aligned(y: Any, X: Any, name: str = "y", of: str = "X") -> Any:
    """`y` in the order of the rows of X, where both are of pandas and have the same index labels; else as it is.

    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["u", "v", "w"])
    >>> aligned(pd.Series([30.0, 10.0, 20.0], index=["w", "u", "v"]), X).tolist()
    [10.0, 20.0, 30.0]
    """
    if not is_indexed(y) or not is_indexed(X):
        return y
    here, there = X.index, y.index
    if here.equals(there):
        return y
    for index, whose in ((here, of), (there, name)):
        if not index.is_unique:
            twice = index[index.duplicated()][0]
            raise InvalidInput(
                f"{of} and {name} have their index labels in different order, and {whose} has {shown(twice)} twice; "
                f"rows can be told apart by distinct labels only, or by position: give {name}.to_numpy()"
            )
    place = there.get_indexer(here)
    if len(here) == len(there) and (place >= 0).all():
        return y.iloc[place]
    only = {of: here[place < 0], name: there[here.get_indexer(there) < 0]}
    parts = [
        f"only {whose} has {quoted(labels, SHOWN)}" for whose, labels in only.items() if len(labels)
    ]
    raise InvalidInput(
        f"{of} and {name} have different index labels: {'; '.join(parts)}. Give both the same rows, or "
        f"{name}.to_numpy() to go by position"
    )


def column_beside(X: Any, given: Any, name: str) -> tuple[Any, int | None]:
    """The numbers of the column that `given` names, and its position; of anything else `given` in the order of X."""
    column = role(X, given, name)
    if column is None:
        return aligned(given, X, name), None
    return numbers_of_column(column, name), names_of(X).index(given)


def taken_apart(X: Any, **given: Any) -> tuple[Any, ...]:
    """X without the columns that are named, then the numbers of these; what is no name stays as it is."""
    X = gathered(X) if is_frame(X) else X
    found = [column_beside(X, value, name) for name, value in given.items()]
    named = {at for _, at in found if at is not None}
    if named:
        names = names_of(X)
        left = [i for i in range(len(names)) if i not in named]
        X = X.iloc[:, left] if hasattr(X, "iloc") else X.select([names[i] for i in left])
    return X, *(values for values, _ in found)


def by_name(given: Any, names: Sequence[Any] | None) -> Any:
    """A Series with names of columns for its index as a mapping, one without as an array; anything else as it is."""
    if not is_indexed(given) or is_frame(given):
        return given
    if names is None or not set(given.index) & set(names):
        return given.to_numpy()
    return dict(zip(given.index, given.tolist(), strict=True))


def group_codes(groups: Any, names: Sequence[Any] | None, held: Indices, excluded: Indices) -> Any:
    """A label for each column of a table: from a mapping, a Series with names for index, or an array.

    The columns that may be held need a label; `excluded` ones keep it where they have one, so that
    a group of which no column may be held is known. All others, such as the target, are in no
    group: their code is the first one.

    >>> codes, labels = group_codes({"a": "oil", "c": "gas"}, ["a", "b", "c"], np.array([0]), np.array([2]))
    >>> codes.tolist(), labels
    ([0, 0, 1], ('oil', 'gas'))
    """
    if groups is None or names is None:
        return groups
    groups = by_name(groups, names)
    codes = np.zeros(len(names), np.int64)
    if not isinstance(groups, Mapping):
        every, labels = as_groups(groups, len(names))
        named = np.union1d(held, excluded)
        kept, codes[named] = np.unique(every[named], return_inverse=True)
        return Groups(codes, tuple(labels[g] for g in kept))
    lacking = [names[i] for i in held if names[i] not in groups]
    if lacking:
        raise InvalidInput(f"groups has no label for the column {quoted(lacking)}")
    number: dict[Any, int] = {}
    for i in [*held, *(i for i in excluded if names[i] in groups)]:
        codes[i] = number.setdefault(groups[names[i]], len(number))
    return Groups(codes, tuple(number))
