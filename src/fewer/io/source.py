"""What every format offers to `FileTable`, and what several of them share."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .._validation import InvalidInput

Refuse = Callable[[InvalidInput], None]
"""What to do about a column that is refused: raise, or note it and take the column as texts."""
CHUNK_CELLS = 4_000_000
"""Cells in a part of a table."""
MAX_SHOWN_CHARS = 40
"""Characters of a cell in a sentence."""


class Source(Protocol):
    """A file that holds a table, of which nothing but the head is read until it is asked for."""

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
        """The columns that hold numbers, or are meant to."""
        ...

    @property
    def notes(self) -> list[str]:
        """What is to be said about how the file is read."""
        ...

    def read(self, names: Sequence[str], as_text: Collection[str], refuse: Refuse) -> Any:
        """These columns as a polars DataFrame with their types; those in `as_text` as texts."""
        ...

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The same in parts."""
        ...

    def original(self, rows: Any, names: Sequence[str], typed: bool) -> Any:
        """Rows, by their numbers from 0 and in that order, as the file has them, or `typed` as `read` gives them."""
        ...


def at_once(error: InvalidInput) -> None:
    """Refuse a column by raising."""
    raise error


def bad_cell(label: str, row: int, column: str, cell: Any, expected: str) -> InvalidInput:
    """The sentence about a cell; rows count from 0."""
    found = (
        "an empty cell"
        if cell is None or cell == ""
        else cell
        if isinstance(cell, float)
        else quoted(cell)
    )
    return InvalidInput(f"{label}, row {row}, column {column!r}: expected {expected}, got {found}")


def unconcerned(error: InvalidInput) -> None:
    """Take a column that might be refused as texts."""


def quoted(cell: Any) -> str:
    """A cell in quotes, shortened."""
    text = repr(str(cell))
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…'"


def chunk_rows(width: int) -> int:
    """Rows in a part of a table with so many columns."""
    return max(CHUNK_CELLS // max(width, 1), 1)


class Countable(Protocol):
    """A file that says how many rows it has, and what it was when it was opened."""

    @property
    def label(self) -> str:
        """What to call the file."""
        ...

    @property
    def path(self) -> Path:
        """Where the file is."""
        ...

    @property
    def stamp(self) -> tuple[int, int]:
        """Size and time of change of the file when it was opened."""
        ...

    def rows(self) -> int:
        """The number of rows, by the footer or a count of lines."""
        ...


def stamp_of(path: Path) -> tuple[int, int]:
    """Size and time of change of a file."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def complete(source: Countable, parts: Iterable[Any]) -> Iterator[Any]:
    """Parts of a file; refuse it at their end if it has other rows, or was changed since it was opened.

    Readers of parts may end without an error where a page of the file is damaged.
    """
    rows = 0
    for part in parts:
        rows += part.height
        yield part
    if stamp_of(source.path) != source.stamp:
        raise InvalidInput(f"{source.label}: must not change while it is read; it was written to")
    expected = source.rows()
    if rows != expected:
        raise InvalidInput(
            f"{source.label}: is damaged: it declares {expected} rows, {rows} can be read"
        )


def check_found(label: str, found: Any, rows: Any) -> None:
    """Refuse a file that no longer has the rows that were asked for."""
    lost = np.setdiff1d(rows, found.to_numpy())
    if len(lost):
        raise InvalidInput(f"{label}: must not change while it is read; row {lost[0]} is gone")
