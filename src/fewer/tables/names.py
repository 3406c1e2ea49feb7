"""Columns by name: which one is meant, and what is said where there is none."""

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, as_units, shown

MAX_COMPARED_NAMES = 2000
"""Names among which the nearest to a wrong one is looked for."""
MAX_NAMED = 5
"""Names that a message quotes."""


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
    """`name` if a table has such a column; else a sentence with the nearest, or with what there is.

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
        raise InvalidInput(
            f"{option} must be a list of names or numbers of columns, got {shown(given)}"
        ) from None
    place = {name: at for at, name in enumerate(names)}
    found = [_position(label, place, names, option) for label in wanted]
    return as_units(np.array(found, np.int64), len(names), "columns", option)


def _position(label: Any, place: dict[Any, int], names: Sequence[Any], option: str) -> int:
    """The position of a column by its name, or by its number where it is no name."""
    try:
        if label in place:
            return place[label]
    except TypeError:  # no hash
        raise InvalidInput(
            f"{option}: there is no column {shown(label)}{nearest(label, names)}"
        ) from None
    whole = isinstance(label, (int, np.integer)) and not isinstance(label, (bool, np.bool_))
    if whole and 0 <= label < len(names):
        return int(label)
    return place[known_name(label, names, option)]
