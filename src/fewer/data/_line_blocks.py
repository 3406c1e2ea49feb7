"""A csv file in blocks of whole lines."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BLOCK_BYTES = 1 << 21
"""Bytes of a block: they and what is made of them stay in the cache (`benchmarks/reading.py`)."""


class Lines(NamedTuple):
    """How the lines of a file are made up: all its columns, and what is between them."""

    names: Sequence[str]
    separator: str


class Block(NamedTuple):
    """Rows of a file: `frame` has their columns, or some of them, by polars; `data` the lines where they are whole."""

    frame: Callable[[Sequence[str]], Any]
    data: bytes = b""
    lines: int = 0


def whole_lines(path: Path) -> Iterator[bytes]:
    """A file in blocks of lines, up to the first one with a quote: line ends may be inside of cells from there on."""
    left = b""
    with path.open("rb", buffering=0) as file:
        while data := file.read(BLOCK_BYTES):
            if b'"' in data:
                return
            end = data.rfind(b"\n") + 1
            if end:
                yield left + data[:end]
            left = data[end:] if end else left + data
    if left:
        yield left + b"\n"


def line_count(data: bytes) -> int:
    """How many lines end in a block."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord("\n")))
