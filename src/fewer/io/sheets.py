"""xlsx and sqlite: tables inside a file, one of which is named by FILE::NAME.

Read when they are asked for.
"""

import re
import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from .._validation import InvalidInput
from ..npy import ALWAYS_INFLATED, MAX_RATIO, amount, check_inflated, check_memory
from .table import LoadedTable

FETCHED_ROWS = 50_000
"""Rows of a database that are taken at once."""


CELL_BYTES = 32
"""What the reader of a sheet takes for each cell between the first and the last one."""
CHUNK_BYTES = 1 << 20
REFERENCE = re.compile(
    rb"""<(?:\w+:)?(?:c|row)\s[^<]*?\br\s*=\s*["']([A-Za-z]{0,3})(\d{1,7})["']"""
)
"""Where a cell or a row of a sheet is."""


def table_name(label: str, what: str, names: Sequence[str], name: str | None) -> str:
    """The named table or sheet, or the only one."""
    some = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    if name is not None and name not in names:
        raise InvalidInput(f"{label}: has no {what} {name!r}; it has {some}")
    if name is None and len(names) != 1:
        raise InvalidInput(
            f"{label}: has {len(names)} {what}s ({some}); name one by {label}::{what.upper()}"
        )
    return names[0] if name is None else name


def check_extent(label: str, file: Any, compressed: int) -> None:
    """Refuse a sheet whose cells lie so far apart that a table of all between them would fill the memory."""
    rows, columns, tail = 0, 0, b""
    while chunk := file.read(CHUNK_BYTES):
        text = tail + chunk
        places = REFERENCE.findall(text)
        rows = max([rows, *(int(row) for _, row in places)])
        columns = max(
            [columns, *(place_of(letters) for letters in {letters for letters, _ in places})]
        )
        tail = text[max(text.rfind(b"<"), 0) :]
    size = CELL_BYTES * rows * columns
    if size > ALWAYS_INFLATED and size > MAX_RATIO * compressed:
        raise InvalidInput(
            f"{label}: its cells reach as far as row {rows} of column {columns}, which takes"
            f" {amount(size)}; save the table alone as csv"
        )
    check_memory(label, size)


def place_of(letters: bytes) -> int:
    """The number of a column of a sheet.

    >>> place_of(b"A"), place_of(b"AB"), place_of(b"XFD"), place_of(b"")
    (1, 28, 16384, 0)
    """
    place = 0
    for letter in letters.upper():
        place = 26 * place + letter - ord("A") + 1
    return place


def open_xlsx(path: Path, label: str, name: str | None) -> LoadedTable:
    """A sheet of a workbook."""
    import fastexcel

    try:
        with zipfile.ZipFile(path) as archive:
            check_inflated(
                label, sum(member.file_size for member in archive.infolist()), path.stat().st_size
            )
            for member in archive.infolist():
                with archive.open(member) as file:
                    check_extent(label, file, path.stat().st_size)
        book = fastexcel.read_excel(path)
        sheet = table_name(label, "sheet", book.sheet_names, name)
        frame = pl.read_excel(
            path, sheet_name=sheet, infer_schema_length=None, raise_if_empty=False
        )
    except InvalidInput:
        raise
    except Exception as error:  # of a foreign reader, about a file that may be made to break it
        raise InvalidInput(
            f"{label}: cannot be read as xlsx: {str(error).splitlines()[0]}"
        ) from None
    if frame.width == 0:
        raise InvalidInput(f"{label}: its sheet {sheet!r} is empty; expected a table")
    return LoadedTable.of(label, frame)


def open_sqlite(path: Path, label: str, name: str | None) -> LoadedTable:
    """A table of a database, which is opened to be read only."""
    with connected(path, label) as base:
        rows = base.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
        ).fetchall()
        virtual = {name for name, sql in rows if (sql or "").upper().startswith("CREATE VIRTUAL")}
        tables = [
            name for name, _ in rows if name not in virtual and not name.startswith("sqlite_")
        ]
        if not tables:
            raise InvalidInput(f"{label}: has no tables")
        table = table_name(label, "table", tables, name)
        columns = [row[1] for row in base.execute("SELECT * FROM pragma_table_info(?)", (table,))]
        (count,) = base.execute(f"SELECT count(*) FROM {identifier(table)}").fetchone()  # noqa: S608 - of the schema
        check_memory(label, 8 * count * len(columns))
        wanted = ", ".join(map(identifier, columns))
        cursor = base.execute(f"SELECT {wanted} FROM {identifier(table)}")  # noqa: S608 - names of the schema
        parts = [pl.DataFrame(schema=columns)]
        while rows := cursor.fetchmany(FETCHED_ROWS):
            how: Any = {"orient": "row", "strict": False, "infer_schema_length": None}
            parts.append(pl.DataFrame(in_texts(rows), schema=columns, **how))
    mixed = [n for n in columns if {pl.Binary} < {part.schema[n] for part in parts} - {pl.Null}]
    for i, part in enumerate(parts):
        binary = [name for name in mixed if part.schema[name] == pl.Binary]
        parts[i] = part.with_columns(pl.col(binary).bin.encode("hex"))
    return LoadedTable.of(label, pl.concat(parts, how="vertical_relaxed"))


def in_texts(rows: list[Any]) -> list[Any]:
    """Rows of a database, whose bytes are hexadecimal in columns that hold other cells too."""
    kinds = [set(map(type, cells)) - {type(None)} for cells in zip(*rows, strict=True)]
    mixed = [{bytes} < each for each in kinds]
    if not any(mixed):
        return rows
    return [
        [cell.hex() if other and isinstance(cell, bytes) else cell for cell, other in both]
        for both in (zip(row, mixed, strict=True) for row in rows)
    ]


@contextmanager
def connected(path: Path, label: str) -> Iterator[sqlite3.Connection]:
    """A database that is only read, and nothing in whose schema is trusted.

    Damage becomes an error with its name.
    """
    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
        ) as base:
            base.text_factory = lambda text: text.decode("utf-8", "replace")
            base.execute("PRAGMA trusted_schema = OFF")
            base.execute("PRAGMA cell_size_check = ON")
            yield base
    except sqlite3.Error as error:
        raise InvalidInput(f"{label}: cannot be read as sqlite: {error}") from None


def identifier(name: str) -> str:
    """A name as SQL writes it.

    >>> print(identifier('5" pipe'))
    "5"" pipe"
    """
    return '"' + name.replace('"', '""') + '"'
