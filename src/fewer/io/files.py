"""Files as tables: csv, parquet, feather, xlsx, jsonl, sqlite, npy and npz, one or several, compressed or not."""

import glob
import os
import re
import sqlite3
import zipfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from .._validation import InvalidInput
from ..npy import ALWAYS_INFLATED, MAX_RATIO, amount, check_inflated, check_memory
from .arrays import ArrayTable
from .csv import open_csv
from .formats import CHUNK_BYTES, format_of, located
from .table import FileTable, SeveralTables, TypedTable, loaded, open_scan

__all__ = ["FileTable", "TypedTable", "expanded", "loaded", "open_table"]
MIN_POLARS = (1, 37, 1)
"""Versions before end a file that they read in parts at a bad cell, without an error."""
FETCHED_ROWS = 50_000
"""Rows of a database that are taken at once."""
CELL_BYTES = 32
"""What the reader of a sheet takes for each cell between the first and the last one."""
REFERENCE = re.compile(
    rb"""<(?:\w+:)?(?:c|row)\s[^<]*?\br\s*=\s*["']([A-Za-z]{0,3})(\d{1,7})["']"""
)
"""Where a cell or a row of a sheet is."""


def open_table(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> FileTable:
    """The table in a file, or in several that have the same columns; nothing but heads is read yet.

    Formats: csv, tsv and other text with a separator; parquet; feather and arrow; xlsx; jsonl;
    sqlite; npy and npz; all of them also compressed by gzip, bzip2, zstd or xz.

    Parameters
    ----------
    files : path or sequence of paths
        Files, patterns such as ``data/*.parquet``, or ``-`` for standard input.
        ``base.sqlite::orders`` is a table of a database, ``book.xlsx::May`` a sheet of a workbook.

    Returns
    -------
    FileTable
        Its columns, to be read by `frame`.
    """
    paths = expanded(files)
    if not paths:
        raise InvalidInput("no file was given")
    return SeveralTables.of([opened(path) for path in paths])


def expanded(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files that paths and patterns mean, those of a pattern in the order of their names."""
    if not isinstance(files, str | os.PathLike):
        return [path for file in files for path in expanded(file)]
    file = os.fspath(files)
    if file == "-" or Path(file).exists() or not glob.has_magic(file):
        return [file]
    paths = sorted(path for path in glob.glob(file) if Path(path).is_file())
    if not paths:
        raise InvalidInput(f"{file}: no file has a name like this")
    return paths


def opened(file: str) -> FileTable:
    """The table in one file."""
    name = None
    if "::" in file and not Path(file).exists():
        file, name = file.rsplit("::", 1)
    path, label = located(file)
    if path.stat().st_size == 0:
        raise InvalidInput(f"{label}: is empty; expected a table")
    kind = format_of(path, label)
    if name is not None and kind not in ("sqlite", "xlsx"):
        raise InvalidInput(
            f"{label}::{name}: only sqlite and xlsx files have named tables; this is {kind}"
        )
    if kind in ("npy", "npz"):
        return ArrayTable.of(path, label)
    if tuple(map(int, re.findall(r"\d+", pl.__version__)[:3])) < MIN_POLARS:
        least = ".".join(map(str, MIN_POLARS))
        raise InvalidInput(
            f"{label}: reading files needs polars {least} or later, got {pl.__version__}"
        )
    if kind == "csv":
        return open_csv(path, label)
    if kind == "xlsx":
        return open_xlsx(path, label, name)
    if kind == "sqlite":
        return open_sqlite(path, label, name)
    return open_scan(path, label, kind)


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


def open_xlsx(path: Path, label: str, name: str | None) -> TypedTable:
    """A sheet of a workbook."""
    import fastexcel

    compressed = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            check_inflated(label, sum(member.file_size for member in members), compressed)
            for member in members:
                with archive.open(member) as file:
                    check_extent(label, file, compressed)
        sheet = table_name(label, "sheet", fastexcel.read_excel(path).sheet_names, name)
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
    return loaded(label, frame)


def check_extent(label: str, file: Any, compressed: int) -> None:
    """Refuse a sheet whose cells lie so far apart that a table of all between them would fill the memory."""
    rows, columns, tail = 0, 0, b""
    while chunk := file.read(CHUNK_BYTES):
        text = tail + chunk
        places = REFERENCE.findall(text)
        rows = max([rows, *(int(row) for _, row in places)])
        columns = max([columns, *map(place_of, {letters for letters, _ in places})])
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


def open_sqlite(path: Path, label: str, name: str | None) -> TypedTable:
    """A table of a database, which is only read, and nothing in whose schema is trusted."""
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as base:
            base.text_factory = lambda text: text.decode("utf-8", "replace")
            base.execute("PRAGMA trusted_schema = OFF")
            base.execute("PRAGMA cell_size_check = ON")
            return loaded(label, fetched(base, label, name))
    except sqlite3.Error as error:
        raise InvalidInput(f"{label}: cannot be read as sqlite: {error}") from None


def fetched(base: sqlite3.Connection, label: str, name: str | None) -> Any:
    """A table of a database as a frame; bytes are in hexadecimal."""
    entries = base.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
    ).fetchall()
    tables = [
        entry
        for entry, sql in entries
        if not entry.startswith("sqlite_") and not (sql or "").upper().startswith("CREATE VIRTUAL")
    ]
    if not tables:
        raise InvalidInput(f"{label}: has no tables")
    table = table_name(label, "table", tables, name)
    columns = [row[1] for row in base.execute("SELECT * FROM pragma_table_info(?)", (table,))]
    (count,) = base.execute(f"SELECT count(*) FROM {identifier(table)}").fetchone()  # noqa: S608 - of the schema
    check_memory(label, 8 * count * len(columns))
    wanted = ", ".join(
        f"CASE typeof({cell}) WHEN 'blob' THEN lower(hex({cell})) ELSE {cell} END"
        for cell in map(identifier, columns)
    )
    cursor = base.execute(f"SELECT {wanted} FROM {identifier(table)}")  # noqa: S608 - names of the schema
    how: Any = {"orient": "row", "strict": False, "infer_schema_length": None}
    parts = [pl.DataFrame(schema=columns)]
    while rows := cursor.fetchmany(FETCHED_ROWS):
        parts.append(pl.DataFrame(rows, schema=columns, **how))
    return pl.concat(parts, how="vertical_relaxed")


def identifier(name: str) -> str:
    """A name as SQL writes it.

    >>> print(identifier('5" pipe'))
    "5"" pipe"
    """
    return '"' + name.replace('"', '""') + '"'
