"""Blocks of lines of a csv file, of which compiled code parses those that are plain (`_plain_cells`)."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ._blocks import usable_cores
from ._encoded_rows import MARK
from ._line_blocks import Block, Lines
from ._plain_cells import DATE, NUMBER, SKIP, TEXT, WHOLE, known_texts, parse

if TYPE_CHECKING:
    from .read_table import Filling

MAX_REFUSED = 3
"""Blocks that are found not to be plain before no further one is tried."""
KINDS = {pl.Float64: NUMBER, pl.Int64: WHOLE, pl.Date: DATE}


class PlainRows:
    """Blocks of lines parsed into the rows of a table, by several threads ahead of what is taken up."""

    def __init__(self, filling: "Filling", lines: Lines, chosen: Sequence[str]) -> None:
        self.filling, self.names, self.chosen, self.refused = filling, lines.names, chosen, 0
        self.separator: Any = np.uint8(ord(lines.separator))
        kinds = {name: KINDS[dtype] for name, dtype in filling.types.items()} | dict.fromkeys(filling.coded, TEXT)
        self.kinds = np.array([kinds.get(name, SKIP) for name in self.names], np.uint8)
        self.places = np.array([filling.start(name) for name in self.names], np.int64)
        self.coded = [filling.coded[name] for name in self.names if name in filling.coded]
        self.known = known_texts([[_spelled(level) for level in column.levels] for column in self.coded])

    def frames(self, blocks: Iterable[Block]) -> Iterator[pl.DataFrame]:
        """Parse blocks; those that are not plain are given back as frames, in their order."""
        with ThreadPoolExecutor(usable_cores()) as pool:
            begun: deque[tuple[Block, int, Future[Any]]] = deque()
            at = self.filling.n
            for block in blocks:
                if at + block.lines > len(self.filling.matrix):
                    yield from self._settled(begun)
                    at = self.filling.n
                    self.filling.grow(at + block.lines)
                begun.append((block, at, pool.submit(self._parsed, block, at)))
                at += block.lines
                if len(begun) > usable_cores():
                    yield from self._taken(begun)
                    at = at if begun else self.filling.n
            yield from self._settled(begun)

    def _settled(self, begun: deque[tuple[Block, int, Future[Any]]]) -> Iterator[pl.DataFrame]:
        """Take up all blocks that are begun."""
        while begun:
            yield from self._taken(begun)

    def _taken(self, begun: deque[tuple[Block, int, Future[Any]]]) -> Iterator[pl.DataFrame]:
        """Take up the next block; where it is not plain, all that are begun come as frames, as their rows may shift."""
        _, at, future = begun[0]
        found = future.result()
        if not isinstance(found, pl.DataFrame):
            begun.popleft()
            self.filling.written(*found)
            return
        self.refused += 1
        every = [(block, future.result()) for block, _, future in begun]
        self.filling.matrix[at : begun[-1][1] + begun[-1][0].lines] = 0.0
        begun.clear()
        for block, parsed in every:
            yield parsed if isinstance(parsed, pl.DataFrame) else block.frame(self.chosen)

    def _parsed(self, block: Block, at: int) -> Any:
        """Parse a block into the rows from `at` on: what `Filling.written` takes up, or its frame."""
        if not block.data or self.refused >= MAX_REFUSED:
            return block.frame(self.chosen)
        gone = np.zeros(len(self.names), bool)
        codes = np.empty((len(self.coded), block.lines), np.int16)
        table = self.filling.matrix[at : at + block.lines]
        cells = np.frombuffer(block.data, np.uint8)
        if parse(cells, self.separator, self.kinds, self.places, self.known, MARK, table, codes, gone) < 0:
            return block.frame(self.chosen)
        for column, found in zip(self.coded, codes, strict=True):
            column.codes[at : at + block.lines] = found
        kept = block.frame(list(self.filling.kept)) if self.filling.kept else None
        return block.lines, [name for name, missing in zip(self.names, gone, strict=True) if missing], kept


def _spelled(level: Any) -> str:
    """A level as it is in the file, where it is plain."""
    return str(level).lower() if isinstance(level, bool) else level
