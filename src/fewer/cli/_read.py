"""Columns of files as options name them, and files that say something of columns."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .._validation import InvalidInput, as_bytes
from ..io.files import FileTable, open_table
from ..tables.frames import nearest
from ..tables.schema import KINDS
from ..tables.source import Source, of_table, source_of
from ._options import Request, flag

MAX_COMPARED_NAMES = 2000
"""Names among which the nearest to a wrong one is looked for."""
MAX_NOTES = 5
"""Sentences about how a file was read."""


def known_columns(table: FileTable, names: Sequence[str], option: str) -> list[str]:
    """Return names that the table has; others are refused by what is near, or what there is."""
    known = set(table.names)
    for name in names:
        if name not in known:
            hint = nearest(name, table.names[:MAX_COMPARED_NAMES])
            raise InvalidInput(f"{table.label}: has no column {name!r} ({flag(option)}){hint}")
    return list(dict.fromkeys(names))


def known_column(table: FileTable, name: str, option: str) -> str:
    """Return a name that the table has."""
    return known_columns(table, [name], option)[0]


def role_columns(table: FileTable, request: Request, names: Sequence[str]) -> dict[str, str]:
    """Return the columns that options of these names name."""
    options = {name: request.options[name] for name in names if name in request.options}
    return {name: known_column(table, column, name) for name, column in options.items()}


def chosen_columns(
    table: FileTable,
    columns: Sequence[str],
    ignore: Sequence[str],
    without: Collection[str] = (),
) -> tuple[list[str], dict[str, str]]:
    """Return the columns to read, and what the options say some of them are.

    A name alone chooses; a name with a kind says what it is, and chooses too where names stand
    alone as well.
    """
    kinds: dict[str, str] = {}
    chosen: list[str] = []
    alone, known = False, set(table.names)
    for part in columns:
        name, _, kind = part.rpartition(":")
        if name and part not in known and (kind in KINDS or name in known):
            kinds[name] = kind
        else:
            name, alone = part, True
        chosen += table.expand([name])
    names = known_columns(table, chosen, "columns")
    if not alone:
        names = table.numeric if table.plain else table.names
    left = {*without, *known_columns(table, ignore, "ignore")}
    left.update(name for name, kind in kinds.items() if kind == "ignore")
    names = [name for name in names if name not in left]
    if not names:
        raise InvalidInput(f"{table.label}: has no column besides {', '.join(left)}")
    return names, {name: kind for name, kind in kinds.items() if name in names}


def notes(table: FileTable, *more: str) -> str:
    """Return what is to be said about how the file was read, a line each."""
    lines = [f"{note[0].upper()}{note[1:]}." for note in table.notes if note[0].isalpha()]
    lines += [f"Column {note}." for note in table.notes if not note[0].isalpha()]
    if len(lines) > MAX_NOTES:
        lines[MAX_NOTES:] = [f"And {len(lines) - MAX_NOTES} notes more."]
    return "\n".join([*filter(None, more), *lines])


def blocks_of(table: FileTable, names: Sequence[str], request: Request) -> Source | None:
    """Return columns as blocks, if they take more than half of --max-memory and can be read so."""
    memory = as_bytes(request.options.get("max_memory", "1GB"), "max_memory")
    size = table.stored_bytes(names)
    if size is None or size <= memory // 2:
        return None
    mapped = list(names) == list(table.names) and all(one.endswith(".npy") for one in request.files)
    return source_of(list(request.files)) if mapped else of_table(table, names)


def frame_of(table: FileTable, names: Sequence[str], kinds: Mapping[str, str] | None = None) -> Any:
    """Return columns as a frame in which a column without a name has none, so that it is left out."""
    texts = [name for name, kind in (kinds or {}).items() if kind == "category"]
    frame = table.frame(names, categories=texts)
    if list(names).count("") != 1:
        return frame
    return frame.rename({frame.columns[list(names).index("")]: ""})


def pairs_in(file: str, second: str, *, numbers: bool = False) -> dict[str, Any]:
    """Return what a table of two columns says of each name: `column` (or `item`) and `second`."""
    table = open_table(file)
    first = next((name for name in ("column", "item") if name in table.names), None)
    names = [first, second] if first is not None and second in table.names else table.names
    if len(names) != 2:
        expected = f"two columns, column and {second}"
        raise InvalidInput(f"{table.label}: expected {expected}, got {len(names)}")
    frame = table.frame(names, categories=names[:1] if numbers else names)
    for name in names:
        if frame[name].null_count():
            row = frame[name].is_null().arg_max()
            raise InvalidInput(f"{table.label}, row {row}, column {name!r}: is missing")
    if numbers:
        table.numbers(names[1:])
    return unique_pairs(frame[names[0]], frame[names[1]], f"{table.label}: has {{}} twice")


def pairs_of(frame: Any, item: str, column: str, label: str) -> dict[str, Any]:
    """Return what a column of a long table says of each item: the same on all its lines."""
    both = frame.select([item, column]).unique()
    expected = f"expected one value for each {item!r}, {{}} has several"
    return unique_pairs(both[item], both[column], f"{label}, column {column!r}: {expected}")


def unique_pairs(names: Any, values: Any, words: str) -> dict[str, Any]:
    """Return a dictionary; a name that comes twice is refused in these words."""
    twice = names.filter(names.is_duplicated())
    if len(twice):
        raise InvalidInput(words.format(repr(twice[0])))
    return dict(zip(names.to_list(), values.to_list(), strict=True))


def conditions_in(file: str) -> tuple[Any, Any]:
    """Return the rows G of a table, but for its column `limit`, and that column: h."""
    table = open_table(file)
    if "limit" not in table.names or len(table.names) < 2:
        expected = "columns of the data and one named limit, for G q <= limit"
        raise InvalidInput(f"{table.label}: expected {expected}")
    frame = frame_of(table, table.names)
    return frame.drop("limit"), frame["limit"].to_numpy()
