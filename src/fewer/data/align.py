"""Rows by index labels and columns by name: what belongs to a table, brought into its order."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, as_units, gathered, is_frame, library_of, shown
from ..constraints.groups import Groups, as_groups
from .frames import columns_of, names_of

MAX_COMPARED_NAMES = 2000
"""Names among which the nearest to a wrong one is looked for."""
SHOWN = 3
"""Names or labels that a message quotes."""


def aligned(y: Any, X: Any, name: str = "y", of: str = "X") -> Any:
    """`y` in the order of the rows of X, where both are of pandas and have the same index labels; else as it is.

    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["u", "v", "w"])
    >>> aligned(pd.Series([30.0, 10.0, 20.0], index=["w", "u", "v"]), X).tolist()
    [10.0, 20.0, 30.0]
    """
    if library_of(y) != "pandas" or library_of(X) != "pandas":
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
    parts = [f"only {whose} has {quoted(labels)}" for whose, labels in only.items() if len(labels)]
    raise InvalidInput(
        f"{of} and {name} have different index labels: {'; '.join(parts)}. Give both the same rows, or "
        f"{name}.to_numpy() to go by position"
    )


def quoted(labels: Sequence[Any]) -> str:
    """The first of some names, and how many more there are.

    >>> quoted(["a", "b", "c", "d"]), quoted([1])
    ("'a', 'b', 'c' and 1 more", '1')
    """
    first = ", ".join(shown(label) for label in list(labels[:SHOWN]))
    more = len(labels) - SHOWN
    return f"{first} and {more} more" if more > 0 else first


def column_beside(X: Any, given: Any, name: str) -> tuple[Any, int | None]:
    """The numbers of the column that `given` names, and its position; of anything else `given` in the order of X."""
    if not isinstance(given, str) or not is_frame(X):
        return aligned(given, X, name), None
    at = int(positions([given], names_of(X), name)[0])
    column = columns_of(X)[at]
    if column.kind not in ("number", "boolean"):
        raise InvalidInput(f"{name} must hold numbers; got the column {shown(given)} of kind {column.kind!r}")
    return np.array(column.values, np.float64), at


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


def positions(given: Any, names: Sequence[Any] | None, option: str) -> Indices:
    """Columns given by name, or by number where no name is meant, as sorted distinct positions.

    >>> positions(["b", 0], ["a", "b", "c"], "include").tolist()
    [0, 1]
    """
    if names is None:
        return given  # type: ignore[no-any-return] # checked by the constraint
    try:
        wanted = [given] if isinstance(given, str) else list(given)
    except Exception:  # what a foreign container raises when it is read
        raise InvalidInput(f"{option} must be a list of names or numbers of columns, got {shown(given)}") from None
    place = {name: at for at, name in enumerate(names)}
    found = [place[w] if _hashable(w) and w in place else _by_number(w, names, option) for w in wanted]
    return as_units(np.array(found, np.int64), len(names), "columns", option)


def _hashable(label: Any) -> bool:
    """Whether a dict can be asked for it."""
    try:
        hash(label)
    except TypeError:
        return False
    return True


def _by_number(label: Any, names: Sequence[Any], option: str) -> int:
    """A position that was given as one."""
    whole = isinstance(label, (int, np.integer)) and not isinstance(label, (bool, np.bool_))
    if whole and 0 <= label < len(names):
        return int(label)
    raise InvalidInput(f"{option}: there is no column {shown(label)}{nearest(label, names)}")


def nearest(name: Any, names: Sequence[Any]) -> str:
    """A hint at the column that was meant.

    >>> nearest("AAPL.", ["AAPL", "MSFT"]), nearest(7, ["AAPL", "MSFT"])
    ("; did you mean 'AAPL'?", "; the columns are 'AAPL', 'MSFT'")
    """
    texts = [str(other) for other in names[:MAX_COMPARED_NAMES]]
    close = difflib.get_close_matches(str(name), texts, 1)
    return f"; did you mean {close[0]!r}?" if close else f"; the columns are {quoted(names)}"


def group_codes(groups: Any, names: Sequence[Any] | None, held: Indices, excluded: Indices) -> Any:
    """A label for each column of a table: from a mapping, a Series with names for index, or an array.

    The columns that may be held need a label; `excluded` ones keep it where they have one, so that a group of which no
    column may be held is known. All others, such as the target, are in no group: their code is the first one.

    >>> codes, labels = group_codes({"a": "oil", "c": "gas"}, ["a", "b", "c"], np.array([0]), np.array([2]))
    >>> codes.tolist(), labels
    ([0, 0, 1], ('oil', 'gas'))
    """
    if groups is None or names is None:
        return groups
    if library_of(groups) == "pandas" and hasattr(groups, "index") and not hasattr(groups, "columns"):
        by_position = len(groups) == len(names) and not set(groups.index) & set(names)
        groups = groups.to_numpy() if by_position else dict(zip(groups.index, groups.tolist(), strict=True))
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
