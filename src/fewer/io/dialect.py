"""How a text file is laid out: what is between its cells, whether its first line is a head, and its names."""

import csv
from dataclasses import dataclass
from pathlib import Path

from .._validation import InvalidInput
from .formats import SNIFFED_BYTES, start_of

SEPARATORS = ("\t", ";", "|", ",")
"""What may be between cells; where several fit equally, the first of them."""
SNIFFED_LINES = 200
MAX_LINE_BYTES = 1 << 28
MAX_CELL_CHARS = 131_072
MIN_COUNTED = 4
"""Cells from which a line that counts its columns from 0 on is a head: fewer may well be data."""
COUNTED = "the first line counts the columns (0, 1, 2, ...), so it is taken for their names"


@dataclass(frozen=True)
class Dialect:
    """The layout of a text file."""

    separator: str
    header: bool
    names: list[str]
    notes: tuple[str, ...] = ()


def dialect_of(path: Path, label: str) -> Dialect:
    """Separator, head and names of a text file in UTF-8; a first line of numbers is a head if it counts columns."""
    with path.open("rb") as file:
        line = file.readline(MAX_LINE_BYTES)
    if b"\r" in line.rstrip(b"\r\n") and not line.endswith(b"\n"):
        raise InvalidInput(f"{label}: its lines end in CR alone; expected LF or CRLF")
    separator = separator_of(start_of(path))
    first = first_record(path, separator, label)
    if counts_columns(first):
        return Dialect(separator, True, first, (COUNTED,))
    if all(is_number(cell) for cell in first):
        return Dialect(separator, False, [f"column_{i + 1}" for i in range(len(first))])
    names, notes = distinct(first)
    return Dialect(separator, True, names, notes)


def counts_columns(cells: list[str]) -> bool:
    """Whether a line is 0, 1, 2, ... to the end: what pandas writes over columns without names.

    >>> counts_columns(["0", "1", "2", "3"]), counts_columns(["0", "1"]), counts_columns(["0", "1", "2", "4"])
    (True, False, False)
    """
    return len(cells) >= MIN_COUNTED and cells == [str(i) for i in range(len(cells))]


def separator_of(start: bytes) -> str:
    r"""The separator with which the most of the first lines have as many cells as the first has.

    Where the first line has only one cell, it is one that is nowhere.

    >>> [separator_of(text) for text in (b"a;b\n1,5;2,5\n", b"a,b\n1,x;y\n", b"a\n1\n", b"a\n1,5\n")]
    [';', ',', ',', ';']
    """
    text = start.decode("utf-8", "replace").lstrip("\ufeff")
    lines = text.splitlines(keepends=True)
    if len(start) == SNIFFED_BYTES and len(lines) > 1:
        lines = lines[:-1]
    best, share = ",", 0.0
    for separator in SEPARATORS:
        try:
            sizes = [
                len(cells)
                for cells in csv.reader(lines[:SNIFFED_LINES], delimiter=separator)
                if cells
            ]
        except csv.Error:
            sizes = [1 + lines[0].count(separator)]
        if sizes and sizes[0] > 1 and sizes.count(sizes[0]) / len(sizes) > share:
            best, share = separator, sizes.count(sizes[0]) / len(sizes)
    if share == 0.0:
        return next(
            (separator for separator in (",", *SEPARATORS[1:]) if separator not in text), ","
        )
    return best


def first_record(path: Path, separator: str, label: str) -> list[str]:
    """The cells of the first line."""
    csv.field_size_limit(MAX_CELL_CHARS)
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            found = next(csv.reader(file, delimiter=separator), [])
    except csv.Error as error:
        raise InvalidInput(f"{label}: cannot be read as csv: {error}") from None
    return [cell.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for cell in found]


def distinct(names: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """The names with those that come again numbered, and what to say of it.

    >>> distinct(["a", "b", "a"])
    (['a', 'b', 'a_2'], ("two columns are called 'a'; the later one is read as 'a_2'",))
    """
    if len(set(names)) == len(names):
        return names, ()
    taken, found, notes, counts = set(names), [], [], dict.fromkeys(names, 0)
    for name in names:
        counts[name] += 1
        new = name
        while counts[name] > 1 and new in taken:
            new = f"{name}_{counts[name]}"
            counts[name] += new in taken
        if new != name:
            notes.append(f"two columns are called {name!r}; the later one is read as {new!r}")
        taken.add(new)
        found.append(new)
    return found, tuple(notes[:3])


def is_number(cell: str) -> bool:
    """Whether a cell is a number.

    >>> is_number(" 1e3"), is_number("x1"), is_number(""), is_number("2,5")
    (True, False, False, True)
    """
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return "_" not in cell
