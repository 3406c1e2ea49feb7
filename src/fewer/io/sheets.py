"""xlsx and sqlite: tables inside a file, one of which is named by FILE::NAME; read when they are asked for."""

import re
import sqlite3
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from .._validation import InvalidInput
from ..npy import ALWAYS_INFLATED, MAX_RATIO, amount, check_inflated, check_memory
from .cells import Parsed, parsed
from .source import Refuse, at_once, bad_cell, unconcerned

FETCHED_ROWS = 50_000
"""Rows of a database that are taken at once."""


CELL_BYTES = 32
"""What the reader of a sheet takes for each cell between the first and the last one."""
CHUNK_BYTES = 1 << 20
REFERENCE = re.compile(
    rb"""<(?:\w+:)?(?:c|row)\s[^<]*?\br\s*=\s*["']([A-Za-z]{0,3})(\d{1,7})["']"""
)
"""Where a cell or a row of a sheet is."""


@dataclass(frozen=True, eq=False)
class SheetSource:
    """A table that is read whole: columns of numbers, dates and texts; texts are looked at as those of csv are."""

    label: str
    names: list[str]
    load: Callable[[Sequence[str]], Any]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def frame(self) -> Any:
        """All columns as the file has them."""
        found = self.load(self.names)
        if found.height == 0:
            raise InvalidInput(f"{self.label}: has a head but no rows")
        return found

    @cached_property
    def looks(self) -> dict[str, Parsed]:
        """The columns by their cells."""
        found = {}
        for name in self.names:
            column = self.frame[name]
            found[name] = parsed(column) if column.dtype == pl.String else Parsed(column)
        self.notes.extend(look.note for look in found.values() if look.note)
        return found

    @property
    def numeric(self) -> list[str]:
        """The columns of numbers and booleans."""
        return [name for name, found in self.looks.items() if found.numeric and name]

    def read(self, names: Sequence[str], as_text: Collection[str], refuse: Refuse) -> Any:
        """The columns with their types."""
        columns = []
        for name in names:
            found = self.looks[name]
            if found.values.dtype == pl.Binary:
                refuse(
                    InvalidInput(
                        f"{self.label}, column {name!r}: expected single values, got bytes"
                    )
                )
            problem = None if name in as_text else found.problem
            if problem is not None:
                refuse(bad_cell(self.label, problem.row, name, problem.cell, problem.expected))
            columns.append(self.frame[name].cast(pl.String) if name in as_text else found.values)
        return pl.DataFrame(columns)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The columns at once."""
        yield self.read(names, (), at_once)

    def original(self, rows: Any, names: Sequence[str], typed: bool) -> Any:
        """Rows as the file has them."""
        frame = self.read(names, (), unconcerned) if typed else self.frame.select(names)
        return frame[rows]


def chosen(label: str, what: str, names: Sequence[str], name: str | None) -> str:
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
        found = REFERENCE.findall(text)
        rows = max([rows, *(int(row) for _, row in found)])
        columns = max(
            [columns, *(place_of(letters) for letters in {letters for letters, _ in found})]
        )
        tail = text[max(text.rfind(b"<"), 0) :]
    size = CELL_BYTES * rows * columns
    if size > ALWAYS_INFLATED and size > MAX_RATIO * compressed:
        raise InvalidInput(
            f"{label}: its cells reach as far as row {rows} of column {columns}, which takes {amount(size)}; "
            "save the table alone as csv"
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


def open_xlsx(path: Path, label: str, name: str | None) -> SheetSource:
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
        sheet = chosen(label, "sheet", book.sheet_names, name)
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
    return SheetSource(label, frame.columns, lambda names: frame.select(names))


def open_sqlite(path: Path, label: str, name: str | None) -> SheetSource:
    """A table of a database, which is opened to be read only."""
    with closing(connected(path, label)) as base, answering(label):
        rows = base.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
        ).fetchall()
        virtual = {name for name, sql in rows if (sql or "").upper().startswith("CREATE VIRTUAL")}
        tables = [
            name for name, _ in rows if name not in virtual and not name.startswith("sqlite_")
        ]
        if not tables:
            raise InvalidInput(f"{label}: has no tables")
        table = chosen(label, "table", tables, name)
        columns = [row[1] for row in base.execute("SELECT * FROM pragma_table_info(?)", (table,))]
        (count,) = base.execute(f"SELECT count(*) FROM {identifier(table)}").fetchone()  # noqa: S608 - of the schema
    check_memory(label, 8 * count * len(columns))

    def load(names: Sequence[str]) -> Any:
        wanted = ", ".join(map(identifier, names))
        with closing(connected(path, label)) as base, answering(label):
            cursor = base.execute(f"SELECT {wanted} FROM {identifier(table)}")  # noqa: S608 - names of the schema
            parts = []
            while rows := cursor.fetchmany(FETCHED_ROWS):
                parts.append([typed(list(cells)) for cells in zip(*rows, strict=True)])
        return joined(names, parts)

    return SheetSource(label, columns, load)


def connected(path: Path, label: str) -> sqlite3.Connection:
    """A database that is only read; nothing in its schema is trusted."""
    base = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
    base.text_factory = lambda text: text.decode("utf-8", "replace")
    with answering(label):
        base.execute("PRAGMA trusted_schema = OFF")
        base.execute("PRAGMA cell_size_check = ON")
    return base


class answering:  # noqa: N801 - used as a function
    """What sqlite raises about a file becomes a sentence."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, sqlite3.Error):
            raise InvalidInput(f"{self.label}: cannot be read as sqlite: {error}") from None


def identifier(name: str) -> str:
    """A name as SQL writes it.

    >>> print(identifier('5" pipe'))
    "5"" pipe"
    """
    return '"' + name.replace('"', '""') + '"'


def typed(cells: list[Any]) -> Any:
    """Cells of a database as whole numbers or numbers where all are, else as texts."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds == {int} or kinds == {bytes}:
        return pl.Series(cells, dtype=pl.Int64 if kinds == {int} else pl.Binary)
    if kinds and kinds <= {int, float}:
        return pl.Series(
            [None if cell is None else float(cell) for cell in cells], dtype=pl.Float64
        )
    texts = [
        None if cell is None else cell.hex() if isinstance(cell, bytes) else str(cell)
        for cell in cells
    ]
    return pl.Series(texts, dtype=pl.String if kinds else pl.Null)


def joined(names: Sequence[str], parts: list[list[Any]]) -> Any:
    """Columns from parts that may have different types."""
    columns = []
    for i, name in enumerate(names):
        pieces = [part[i] for part in parts]
        kinds = {piece.dtype for piece in pieces} - {pl.Null}
        if len(kinds) > 1 and not kinds <= {pl.Int64, pl.Float64}:
            pieces = [as_texts(piece) for piece in pieces]
        frames = [piece.to_frame("x") for piece in pieces] or [pl.DataFrame({"x": []})]
        columns.append(pl.concat(frames, how="vertical_relaxed")["x"].rename(name))
    return pl.DataFrame(columns)


def as_texts(piece: Any) -> Any:
    """Cells as texts, bytes in hexadecimal."""
    return piece.bin.encode("hex") if piece.dtype == pl.Binary else piece.cast(pl.String)
