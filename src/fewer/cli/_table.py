"""What the commands ask of a file, whatever its format."""

import difflib
from collections.abc import Sequence
from typing import Any, Protocol

from .._validation import InvalidInput, Vector

MAX_COMPARED_NAMES = 2000
"""Names among which the nearest to a wrong one is looked for."""


class Table(Protocol):
    """Named columns."""

    @property
    def label(self) -> str:
        """What to call the file."""
        ...

    @property
    def names(self) -> list[str]:
        """All columns."""
        ...

    @property
    def numeric(self) -> list[str]:
        """The columns that hold numbers."""
        ...

    def numbers(self, names: Sequence[str]) -> Vector:
        """These columns as finite numbers, (rows, columns)."""
        ...

    def whole(self, names: Sequence[str]) -> Any:
        """These columns as non-negative whole numbers, as a CSR array (rows, columns)."""
        ...

    def values(self, name: str) -> Any:
        """A column as it is, (rows,)."""
        ...

    def expand(self, names: Sequence[str]) -> list[str]:
        """The columns that these names stand for."""
        ...


def known_column(table: Table, name: str, option: str) -> str:
    """`name` if the table has it; else a sentence that lists what is near, or what there is."""
    if name in table.names:
        return name
    near = difflib.get_close_matches(name, table.names[:MAX_COMPARED_NAMES], 1)
    some = ", ".join(table.names[:8]) + (", …" if len(table.names) > 8 else "")
    hint = f"the nearest is {near[0]!r}" if near else f"it has {some}"
    raise InvalidInput(f"{table.label}: has no column {name!r} ({option}); {hint}")


def listed(text: str | None) -> list[str]:
    """Names given with commas between them.

    >>> listed("a, b"), listed(None)
    (['a', 'b'], [])
    """
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def unused(table: Table, used: Sequence[str]) -> str:
    """A sentence about the columns that were left out, as they hold no numbers or have no name."""
    known = {*used, *table.numeric}
    left = [name for name in table.names if name not in known]
    some = ", ".join(map(repr, left[:5])) + (", …" if len(left) > 5 else "")
    return f"Not used (not numbers, or without a name): {some}." if left else ""


def chosen_columns(table: Table, text: str | None, option: str, without: Sequence[str] = ()) -> list[str]:
    """The columns named by an option, or all numeric ones except `without`."""
    named = listed(text)
    if not named:
        found = [name for name in table.numeric if name not in without]
        if not found:
            besides = f" besides {', '.join(without)}" if without else ""
            raise InvalidInput(f"{table.label}: has no column of numbers{besides}")
        return found
    found = list(dict.fromkeys(table.expand(named)))
    known = set(table.names)
    for name in found:
        if name not in known:
            known_column(table, name, option)
    return found
