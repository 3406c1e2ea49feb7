"""Names of columns and labels of rows: which are meant, and what is said where there is none."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, as_units, is_frame, shown
from ..constraints.groups import Groups, as_groups
from .frames import is_indexed

MAX_COMPARED_NAMES = 2000
"""Names among which the nearest to a wrong one is looked for."""
MAX_NAMED, MAX_LABELS = 5, 3
"""Names of columns, and labels of rows, that a message quotes."""


def quoted(labels: Sequence[Any], most: int = MAX_NAMED) -> str:
    """The first of some names, and how many more there are.

    >>> quoted(["a", "b"]), quoted(range(9))
    ("'a', 'b'", '0, 1, 2, 3, 4 and 4 more')
    """
    first = ", ".join(shown(label) for label in list(labels[:most]))
    more = len(labels) - most
    return f"{first} and {more} more" if more > 0 else first


def nearest(name: Any, names: Sequence[Any]) -> str:
    """A hint at the column that was meant.

    >>> nearest("AAPL.", ["AAPL", "MSFT"]), nearest(7, ["AAPL", "MSFT"])
    ("; did you mean 'AAPL'?", "; the columns are 'AAPL', 'MSFT'")
    """
    texts = [str(other) for other in names[:MAX_COMPARED_NAMES]]
    close = difflib.get_close_matches(name, texts, 1) if isinstance(name, str) else []
    return f"; did you mean {close[0]!r}?" if close else f"; the columns are {quoted(names)}"


def known_name(name: Any, names: Sequence[Any], option: str) -> Any:
    """`name` if a table has such a column; else an error with the nearest, or with what there is.

    >>> known_name("b", ["a", "b"], "date")
    'b'
    """
    try:
        known = name in names
    except Exception:  # names of any type, compared with any object
        known = False
    if known:
        return name
    raise InvalidInput(f"{option}: there is no column {shown(name)}{nearest(name, names)}")


def refuse_twins(names: Sequence[Any], owner: str = "X") -> None:
    """Refuse a table in which two columns have one name."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InvalidInput(
            f"{owner} has the column {shown(twice)} twice; columns are told apart by their names"
        )


def positions(columns: Any, names: Sequence[Any] | None, option: str) -> Indices:
    """Columns columns by name, or by number where no name is meant, as sorted distinct positions.

    >>> positions(["b", 0], ["a", "b", "c"], "include").tolist()
    [0, 1]
    """
    if names is None:
        return columns  # type: ignore[no-any-return] # checked by the constraint
    try:
        wanted = [columns] if isinstance(columns, str) else list(columns)
    except Exception:  # what a foreign container raises when it is read
        raise InvalidInput(
            f"{option} must be a list of names or numbers of columns, got {shown(columns)}"
        ) from None
    place = {name: at for at, name in enumerate(names)}
    places = [_position(label, place, names, option) for label in wanted]
    return as_units(np.array(places, np.int64), len(names), "columns", option)


def _position(label: Any, place: dict[Any, int], names: Sequence[Any], option: str) -> int:
    """The position of a column by its name, or by its number where it is no name."""
    try:
        if label in place:
            return place[label]
    except TypeError:  # no hash
        known_name(label, names, option)
    whole = isinstance(label, (int, np.integer)) and not isinstance(label, (bool, np.bool_))
    if whole and 0 <= label < len(names):
        return int(label)
    return place[known_name(label, names, option)]


def aligned(y: Any, X: Any, name: str = "y", of: str = "X") -> Any:
    """`y` in the order of the rows of X, where both are of pandas and have the same index labels.

    Else as it is.

    >>> import pandas as pd
    >>> X = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=["u", "v", "w"])
    >>> aligned(pd.Series([30.0, 10.0, 20.0], index=["w", "u", "v"]), X).tolist()
    [10.0, 20.0, 30.0]
    """
    if not is_indexed(y) or not is_indexed(X) or X.index.equals(y.index):
        return y
    here, there = X.index, y.index
    for index, whose in ((here, of), (there, name)):
        if not index.is_unique:
            twice = index[index.duplicated()][0]
            raise InvalidInput(
                f"{of} and {name} have their index labels in different order, and {whose} has"
                f" {shown(twice)} twice; rows can be told apart by distinct labels only, or by"
                f" position: give {name}.to_numpy()"
            )
    place = there.get_indexer(here)
    only = {of: here[place < 0], name: there[here.get_indexer(there) < 0]}
    parts = [
        f"only {whose} has {quoted(labels, MAX_LABELS)}"
        for whose, labels in only.items()
        if len(labels)
    ]
    if not parts:
        return y.iloc[place]
    raise InvalidInput(
        f"{of} and {name} have different index labels: {'; '.join(parts)}. Give both the same rows,"
        f" or {name}.to_numpy() to go by position"
    )


def by_name(values: Any, names: Sequence[Any] | None) -> Any:
    """A Series with names of columns for its index as a mapping, one without as an array.

    Anything else as it is.
    """
    if not is_indexed(values) or is_frame(values):
        return values
    if names is None or not set(values.index) & set(names):
        return values.to_numpy()
    return dict(zip(values.index, values.tolist(), strict=True))


def group_codes(
    groups: Any, names: Sequence[Any] | None, candidates: Indices, excluded: Indices
) -> Any:
    """A label for each column of a table: from a mapping, a Series with names for index, or an array.

    The columns that may be candidates need a label; `excluded` ones keep it where they have one, so
    that a group of which no column may be candidates is known. All others, such as the target, are
    in no group: their code is the first one.

    >>> codes, labels = group_codes(
    ...     {"a": "oil", "c": "gas"}, ["a", "b", "c"], np.array([0]), np.array([2])
    ... )
    >>> codes.tolist(), labels
    ([0, 0, 1], ('oil', 'gas'))
    """
    if groups is None or names is None:
        return groups
    groups = by_name(groups, names)
    codes = np.zeros(len(names), np.int64)
    if not isinstance(groups, Mapping):
        every, labels = as_groups(groups, len(names))
        named = np.union1d(candidates, excluded)
        kept, codes[named] = np.unique(every[named], return_inverse=True)
        return Groups(codes, tuple(labels[g] for g in kept))
    lacking = [names[i] for i in candidates if names[i] not in groups]
    if lacking:
        raise InvalidInput(f"groups has no label for the column {quoted(lacking)}")
    number: dict[Any, int] = {}
    for i in [*candidates, *(i for i in excluded if names[i] in groups)]:
        codes[i] = number.setdefault(groups[names[i]], len(number))
    return Groups(codes, tuple(number))
