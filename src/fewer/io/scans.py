"""parquet, arrow and jsonl: files that say the types of their columns, which are taken as they are."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput
from ..npy import check_memory
from .cells import Parsed, parsed
from .source import (
    Refuse,
    at_once,
    bad_cell,
    check_found,
    chunk_rows,
    complete,
    stamp_of,
    unconcerned,
)

SCANS: dict[str, Callable[..., Any]] = {
    "parquet": lambda path: pl.scan_parquet(path, glob=False),
    "arrow": lambda path: pl.scan_ipc(path, glob=False),
    "jsonl": lambda path: pl.scan_ndjson(path, infer_schema_length=None),
}
MAX_NESTING = 100
"""Brackets in brackets that a line of jsonl may open: each takes some of the reader's stack."""
HEAD_ROWS = 10_000
"""Rows of jsonl from which it is guessed what texts are."""


@dataclass(frozen=True, eq=False)
class ScanSource:
    """A file that polars scans by its own types."""

    label: str
    path: Path
    stamp: tuple[int, int]
    """Size and time of change of the file when it was opened."""
    kind: str
    lazy: Any
    schema: dict[str, Any]
    looks: dict[str, Parsed] = field(default_factory=dict)
    """Texts of jsonl, which has no dates, by their first rows."""

    def rows(self) -> int:
        """The number of rows, by the footer of the file."""
        with readable(self.label, self.kind):
            return int(self.lazy.select(pl.len()).collect().item())

    @property
    def notes(self) -> list[str]:
        """What texts were taken for."""
        return [found.note for found in self.looks.values() if found.note]

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(self.schema)

    @property
    def numeric(self) -> list[str]:
        """The columns of numbers and booleans."""
        own = {
            name for name, dtype in self.schema.items() if dtype.is_numeric() or dtype == pl.Boolean
        }
        return [
            name
            for name in self.names
            if name in own or (name in self.looks and self.looks[name].numeric)
        ]

    def read(self, names: Sequence[str], as_text: Collection[str], refuse: Refuse) -> Any:
        """The columns; lists and records are refused."""
        for name in names:
            if self.schema[name].is_nested() or self.schema[name] in (pl.Binary, pl.Object):
                refuse(
                    InvalidInput(
                        f"{self.label}, column {name!r}: expected single values, got {self.schema[name]}"
                    )
                )
        lazy = self.lazy.select(names)
        if as_text:
            lazy = lazy.with_columns(pl.col(list(as_text)).cast(pl.String))
        with readable(
            self.label, self.kind
        ):  # a few bytes of parquet can stand for any number of rows
            check_memory(self.label, 8 * len(names) * self.rows())
            frame = lazy.collect(engine="streaming")
        return pl.DataFrame([self._typed(column, as_text, refuse) for column in frame])

    def _typed(self, column: Any, as_text: Collection[str], refuse: Refuse) -> Any:
        """A column as it is, or as its texts say."""
        if column.name not in self.looks or column.name in as_text:
            return column
        found = parsed(column)
        if found.problem is not None:
            refuse(
                bad_cell(
                    self.label,
                    found.problem.row,
                    column.name,
                    found.problem.cell,
                    found.problem.expected,
                )
            )
        return found.values

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The columns in parts."""
        if any(name in self.looks for name in names):
            yield self.read(names, (), at_once)
            return
        with readable(self.label, self.kind):
            parts = self.lazy.select(names).collect_batches(
                chunk_size=chunk_rows(len(names)), maintain_order=True
            )
            yield from complete(self, parts)

    def original(self, rows: Any, names: Sequence[str], typed: bool) -> Any:
        """Rows with their own types."""
        with readable(self.label, self.kind):
            numbered = self.lazy.with_row_index("\x00row").filter(
                pl.col("\x00row").is_in(np.unique(rows).tolist())
            )
            found = numbered.collect(engine="streaming")
        check_found(self.label, found["\x00row"], rows)
        frame = found.select(names)[np.searchsorted(found["\x00row"].to_numpy(), rows)]
        return (
            pl.DataFrame([self._typed(column, (), unconcerned) for column in frame])
            if typed
            else frame
        )


class readable:  # noqa: N801 - used as a function
    """What polars raises about a file becomes a sentence."""

    def __init__(self, label: str, kind: str) -> None:
        self.label, self.kind = label, kind

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)):
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidInput(f"{self.label}: cannot be read as {self.kind}: {reason}") from None


def open_scan(path: Path, label: str, kind: str) -> ScanSource:
    """A parquet, arrow or jsonl file; of the first two only the head is read yet."""
    stamp = stamp_of(path)
    if kind == "jsonl":
        check_nesting(path, label)
    with readable(label, kind):
        lazy = SCANS[kind](path)
        schema = dict(lazy.collect_schema())
        texts = [name for name, dtype in schema.items() if kind == "jsonl" and dtype == pl.String]
        head = lazy.select(texts).head(HEAD_ROWS).collect() if texts else pl.DataFrame()
    if not schema:
        raise InvalidInput(f"{label}: has no columns")
    return ScanSource(
        label, path, stamp, kind, lazy, schema, {column.name: parsed(column) for column in head}
    )


def check_nesting(path: Path, label: str) -> None:
    """Refuse lines that nest deeper than tables do; brackets in texts count as well."""
    with path.open("rb") as file:
        for number, line in enumerate(file):
            if line.count(b"[") + line.count(b"{") > MAX_NESTING and depth(line) > MAX_NESTING:
                raise InvalidInput(
                    f"{label}, row {number}: is nested deeper than {MAX_NESTING} levels"
                )


def depth(line: bytes) -> int:
    """How deep brackets nest.

    >>> depth(b'{"a": [1, [2]]}'), depth(b'{"a": 1}')
    (3, 1)
    """
    bytes_ = np.frombuffer(line, np.uint8)
    opened = np.isin(bytes_, [ord("["), ord("{")]).astype(np.int64)
    closed = np.isin(bytes_, [ord("]"), ord("}")])
    return int(np.cumsum(opened - closed).max(initial=0))
