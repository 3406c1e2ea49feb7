"""parquet, arrow and jsonl: files that say the types of their columns, which are taken as they are."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput
from ..npy import check_memory
from .cells import parsed
from .table import DAMAGES, FileTable, Refuse, ScannedTable, at_once, stamp_of, unreadable

SCANS: dict[str, Callable[..., Any]] = {
    "parquet": lambda path: pl.scan_parquet(path, glob=False),
    "arrow": lambda path: pl.scan_ipc(path, glob=False),
    "jsonl": lambda path: pl.scan_ndjson(path, infer_schema_length=None),
}
MAX_NESTING = 100
"""Brackets in brackets that a line of jsonl may open: each takes some of the reader's stack."""
HEAD_ROWS = 10_000
"""Rows of jsonl from which it is guessed what texts are: it has no dates."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TypedFile(ScannedTable):
    """A file that polars scans by its own types."""

    kind: str  # type: ignore[misc] # of each file
    content: Any

    def lazy(self, names: Sequence[str], as_text: Collection[str] = ()) -> Any:
        """Columns of the file."""
        lazy = self.content.select(names)
        return lazy.with_columns(pl.col(list(as_text)).cast(pl.String)) if as_text else lazy

    def counted(self) -> int:
        """Return the number of rows, by the footer of the file."""
        return int(self.content.select(pl.len()).collect().item())

    @property
    def stored_rows(self) -> int | None:
        """The number of rows, where the file has a footer."""
        return None if self.kind == "jsonl" else self.declared

    def read(
        self, names: Sequence[str], as_text: Collection[str] = (), refuse: Refuse = at_once
    ) -> Any:
        """These columns with their types: a few bytes of parquet can stand for any number of rows."""
        check_memory(self.label, 8 * len(names) * self.declared)
        return super().read(names, as_text, refuse)


def open_scan(path: Path, label: str, kind: str) -> FileTable:
    """A parquet, arrow or jsonl file; of the first two only the head is read yet."""
    stamp = stamp_of(path)
    if kind == "jsonl":
        check_nesting(path, label)
    try:
        lazy = SCANS[kind](path)
        schema = dict(lazy.collect_schema())
        texts = [name for name, dtype in schema.items() if kind == "jsonl" and dtype == pl.String]
        head = lazy.select(texts).head(HEAD_ROWS).collect() if texts else pl.DataFrame()
    except DAMAGES as error:
        raise unreadable(label, kind, error) from None
    if not schema:
        raise InvalidInput(f"{label}: has no columns")
    looks = {column.name: parsed(column) for column in head}
    own: dict[str, Any] = {"path": path, "stamp": stamp, "kind": kind, "content": lazy}
    return TypedFile(label=label, schema=schema, looks=looks, **own)


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
