"""Columns as options name them, and what is said about those that are not used."""

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .._validation import InvalidInput, as_bytes

if TYPE_CHECKING:
    from ..io.files import FileTable
    from ._options import Asked

MAX_COMPARED_NAMES = 2000
"""Names among which the nearest to a wrong one is looked for."""
MAX_NOTES = 5
"""Sentences about how a file was read."""


def known_column(table: "FileTable", name: str, option: str) -> str:
    """`name` if the table has it; else a sentence that lists what is near, or what there is."""
    if name in table.names:
        return name
    near = difflib.get_close_matches(name, table.names[:MAX_COMPARED_NAMES], 1)
    some = ", ".join(table.names[:8]) + (", …" if len(table.names) > 8 else "")
    hint = f"the nearest is {near[0]!r}" if near else f"it has {some}"
    raise InvalidInput(f"{table.label}: has no column {name!r} ({option}); {hint}")


def check_weights(column: Any, label: str) -> None:
    """Refuse a column of weights by its first negative one; what else may be wrong with it the library says."""
    if column.dtype.is_numeric() and (column < 0).any():
        row = int((column < 0).fill_null(False).arg_max())
        raise InvalidInput(
            f"{label}, column {column.name!r}, row {row}: expected a weight of at least 0, got {column[row]}"
        )


def listed(text: str | None) -> list[str]:
    """Names given with commas between them.

    >>> listed("a, b"), listed(None)
    (['a', 'b'], [])
    """
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def noted(table: "FileTable", used: Sequence[str] | None = None) -> str:
    """What is to be said about how the file was read, and about its columns that are not used."""
    notes = [
        f"{note[0].upper()}{note[1:]}." if note[0].isalpha() else f"Column {note}."
        for note in table.notes
    ]
    some = notes[:MAX_NOTES] + (
        [f"And {len(notes) - MAX_NOTES} notes more."] if len(notes) > MAX_NOTES else []
    )
    return "\n".join(filter(None, ["" if used is None else unused(table, used), *some]))


def unused(table: "FileTable", used: Sequence[str]) -> str:
    """A sentence about the columns that were left out, as they hold no numbers or have no name."""
    known = {*used, *table.numeric}
    left = [name for name in table.names if name not in known]
    some = ", ".join(map(repr, left[:5])) + (", …" if len(left) > 5 else "")
    return f"Not used (not numbers, or without a name): {some}." if left else ""


def chosen_columns(
    table: "FileTable", text: str | None, option: str, without: Sequence[str] = ()
) -> list[str]:
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


def asked_columns(
    table: "FileTable", columns: str | None, ignore: str | None, apart: Sequence[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """The columns to read, and what the options say of some of them.

    A name alone chooses; a name with a kind says what it is, and chooses too where names stand
    alone beside it.
    """
    from ..tables.schema import KINDS

    kinds: dict[str, str] = {}
    chosen, alone = [], False
    for part in listed(columns):
        name, _, kind = part.rpartition(":")
        if name and part not in table.names and (kind in KINDS or name in table.names):
            kinds[known_column(table, name, "--columns")] = kind
        else:
            name, alone = part, True
        chosen += [known_column(table, one, "--columns") for one in table.expand([name])]
    left_out = {known_column(table, name, "--ignore") for name in listed(ignore)}
    names = (
        list(dict.fromkeys(chosen)) if alone else (table.numeric if table.plain else table.names)
    )
    found = [
        name
        for name in names
        if name not in left_out and name not in apart and kinds.get(name) != "ignore"
    ]
    if not found:
        raise InvalidInput(f"{table.label}: has no column besides {', '.join([*apart, *left_out])}")
    return found, {name: kind for name, kind in kinds.items() if name in found}


def numbered(table: "FileTable", names: Sequence[str]) -> list[int]:
    """Where columns are in the file."""
    place = {name: i for i, name in enumerate(table.names)}
    return [place[name] for name in names]


def framed(table: "FileTable", names: Sequence[str], categories: Sequence[str] = ()) -> Any:
    """Columns as a frame in which a column without a name has none, so that it is left out and said."""
    frame = table.frame(names, categories=categories)
    return (
        frame.rename({frame.columns[list(names).index("")]: ""})
        if list(names).count("") == 1
        else frame
    )


def pairs_in(file: str, second: str, numbers: bool = False) -> dict[str, Any]:
    """What a table of two columns says of each name: `column` (or `item`) and `second`, or in this order."""
    from ..io.files import open_table

    table = open_table(file)
    first = next((name for name in ("column", "item") if name in table.names), None)
    names = [first, second] if first is not None and second in table.names else table.names
    if len(names) != 2:
        raise InvalidInput(
            f"{table.label}: expected two columns, column and {second}, got {len(names)}"
        )
    frame = table.frame(names, categories=names[:1] if numbers else names)
    for name in names:
        if frame[name].null_count():
            raise InvalidInput(
                f"{table.label}, row {frame[name].is_null().arg_max()}, column {name!r}: is missing"
            )
    members = frame[names[0]].to_list()
    if len(set(members)) < len(members):
        twice = next(name for i, name in enumerate(members) if name in members[:i])
        raise InvalidInput(f"{table.label}: has {twice!r} twice")
    values = table.numbers(names[1:])[:, 0].tolist() if numbers else frame[names[1]].to_list()
    return dict(zip(members, values, strict=True))


def pairs_of(frame: Any, item: str, column: str, label: str) -> dict[str, Any]:
    """What a column of a long table says of each item: the same on all its lines."""
    both = frame.select([item, column]).unique()
    members = both[item].to_list()
    if len(set(members)) < len(members):
        twice = next(name for i, name in enumerate(members) if name in members[:i])
        raise InvalidInput(
            f"{label}, column {column!r}: expected one value for each {item!r}, {twice!r} has several"
        )
    return dict(zip(members, both[column].to_list(), strict=True))


def stored(table: "FileTable", names: Sequence[str], asked: "Asked") -> Any:
    """Columns of files as blocks, where these take more than half of --max-memory and can be read so; else None."""
    from ..tables.source import of_table, source_of

    memory = as_bytes(asked.max_memory, "--max-memory")
    size = table.stored_bytes(names)
    if size is None or size <= memory // 2:
        return None
    mapped = list(names) == list(table.names) and all(file.endswith(".npy") for file in asked.files)
    return source_of(list(asked.files)) if mapped else of_table(table, names)


def refuse_in_blocks(options: dict[str, Any], *names: str) -> None:
    """Refuse options that need all rows in memory."""
    for name in names:
        if options[name]:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"{option} is not for data in blocks; raise --max-memory, or omit it"
            )
