"""Rows that come in blocks: re-cut to canonical sizes, summarised block by block, merged in a fixed tree.

A job over blocks is *summarise each block, merge, solve*. Blocks are cut by the positions of their
rows alone and their summaries merged in a tree that depends on their number alone, so neither
depends on how the data were cut before, on files, partitions, threads or workers.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, cast

from .._validation import InvalidInput, gathered, shown
from ..row_blocks import MIN_BLOCK_ROWS, Merge, S, Tree
from ..threads import one_thread
from .align import aligned
from .checksum import checksum
from .cutting import cut, height, size_in_bytes, some, stacked

Work = Callable[["Block", Any], S]


class Block(NamedTuple):
    """Some rows, what belongs to them (None where there is none), and the position of the first."""

    X: Any
    y: Any = None
    weight: Any = None
    start: int = 0

    @property
    def parts(self) -> tuple[Any, ...]:
        """All that has an entry for each row."""
        return self.X, self.y, self.weight

    @classmethod
    def put(cls, parts: Iterable[Any], start: int = 0) -> "Block":
        """A block of such parts."""
        X, y, weight = parts
        return cls(X, y, weight, start)

    def cut(self, start: int, stop: int) -> "Block":
        """Some of the rows."""
        return Block.put((cut(part, start, stop) for part in self.parts), self.start + start)


class Source(Protocol):
    """Rows, in memory or in blocks."""

    @property
    def label(self) -> str:
        """What to call them."""
        ...

    @property
    def once(self) -> bool:
        """Whether only one pass can be made."""
        ...

    def head(self, rows: int) -> Block:
        """The first rows, so many or all there are."""
        ...

    def fold(self, name: str, work: Work[S], plan: Any, merge: Merge[S], rows: int) -> S:
        """`work(block, plan)` for canonical blocks of so many rows, merged in the fixed tree; `name` is the pass's."""
        ...

    def take(self, positions: Any) -> Any:
        """Rows by their positions, in the container of the blocks."""
        ...

    def whole(self, memory: int) -> Block | None:
        """All rows, where they are in memory or take no more than so many bytes of it."""
        ...


def recut(blocks: Iterable[Block], rows: int, start: int = 0) -> Iterator[Block]:
    """Blocks of exactly so many rows, the last one of what is left; empty ones are passed over.

    >>> import numpy as np
    >>> [(b.start, b.X.tolist()) for b in recut([Block(np.arange(3)), Block(np.arange(0)), Block(np.arange(3, 5))], 2)]
    [(0, [0, 1]), (2, [2, 3]), (4, [4])]
    """
    parts: list[Block] = []
    have = 0
    for block in blocks:
        at, size = 0, height(block.X)
        while at < size:
            stop = min(at + rows - have, size)
            parts.append(block.cut(at, stop))
            have, at = have + stop - at, stop
            if have == rows:
                yield joined(parts, start)
                parts, have, start = [], 0, start + rows
    if parts:
        yield joined(parts, start)


def joined(parts: Sequence[Block], start: int) -> Block:
    """Blocks that follow each other as one."""
    return Block.put(
        (stacked(column) for column in zip(*(part.parts for part in parts), strict=True)), start
    )


@dataclass(frozen=True)
class Execution:
    """How passes over files and callables are run: threads, and who hears of rows done.

    `passes` keeps the merged summaries of finished passes by name, for further calls of the same
    job.
    """

    workers: int = 1
    progress: Callable[[str, int], None] | None = None
    passes: dict[str, Any] | None = None


_EXECUTION: ContextVar[Execution] = ContextVar("execution", default=Execution())  # noqa: B039 - it is frozen


@contextmanager
def executed(how: Execution) -> Iterator[None]:
    """Within it, passes are run so."""
    token = _EXECUTION.set(how)
    try:
        yield
    finally:
        _EXECUTION.reset(token)


def execution() -> Execution:
    """How passes are run at the moment."""
    return _EXECUTION.get()


class ReadAhead:
    """Blocks of an iterator, which can be read again from the first on until the pass that takes them."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self.blocks, self.kept, self.last = blocks, deque[Any](), False

    def __call__(self) -> Iterator[Any]:
        """Begin again; in the last pass blocks are kept no more."""
        return self._taken() if self.last else self._read()

    def _read(self) -> Iterator[Any]:
        yield from list(self.kept)
        for block in self.blocks:
            self.kept.append(block)
            yield block

    def _taken(self) -> Iterator[Any]:
        if self.blocks is None:
            raise InvalidInput(
                "an iterator of blocks is read once, and this takes two passes; give a callable that returns an "
                "iterator for each pass"
            )
        blocks, self.blocks = self.blocks, None  # type: ignore[assignment] # nothing is read after this pass
        while self.kept:
            yield self.kept.popleft()
        yield from blocks


@dataclass(frozen=True, eq=False)
class Stream:
    """Blocks that come one after the other on this machine.

    `raw()` begins a pass; `size` is in bytes, where it is known. A pass that has other rows than
    the first one is refused: rows are counted, and a checksum of them is taken.
    """

    label: str
    raw: Callable[[], Iterator[Block]]
    pick: Callable[[Any], Any] | None = None
    size: int | None = None
    ahead: ReadAhead | None = None
    """The iterator, where there is only one pass."""
    seen: dict[int, int] = field(default_factory=dict)
    """Numbers of rows after which blocks ended in any pass, and the checksum of the rows before."""
    ends: list[int] = field(default_factory=list)
    """The number of all rows, once a pass has come to its end."""

    @property
    def once(self) -> bool:
        """Whether only one pass can be made."""
        return self.ahead is not None

    def beside(self, y: Any, weight: Any) -> "Stream":
        """These blocks with what belongs to their rows."""
        from .streams import with_rows

        return replace(self, raw=with_rows(self.raw, y, weight), seen={}, ends=[])

    def parts(self) -> Iterator[Block]:
        """Blocks of a pass as they come."""
        rows, total = 0, 0
        for block in self.raw():
            rows += height(block.X)
            found = (checksum(part, block.start) for part in block.parts if part is not None)
            total = (total + sum(found)) & 2**64 - 1
            if self.ends and rows > self.ends[0]:
                self._refuse(f"a pass had {self.ends[0]} rows, another one has more")
            if self.seen.setdefault(rows, total) != total:
                self._refuse(f"the first {rows} rows differ between two passes")
            yield block
        most = max(self.seen, default=0)
        if rows < most:
            self._refuse(f"a pass had {most} rows or more, another one has {rows}")
        self.ends[:] = [rows]

    def _refuse(self, reason: str) -> None:
        raise InvalidInput(f"{self.label}: every pass must give the same rows; {reason}")

    def blocks(self, rows: int) -> Iterator[Block]:
        """Canonical blocks of a pass."""
        return recut(self.parts(), rows)

    def head(self, rows: int) -> Block:
        """The first rows."""
        found = next(self.blocks(rows), None)
        if found is None:
            raise InvalidInput(f"{self.label}: there are no rows")
        return found

    def fold(self, name: str, work: Work[S], plan: Any, merge: Merge[S], rows: int) -> S:
        """Summarise and merge, on as many threads as `executed` says; results do not depend on them."""
        how = execution()
        if how.passes is not None and name in how.passes:
            return cast(S, how.passes[name])
        if self.ahead is not None:
            self.ahead.last = True
        tree = Tree(merge)
        for block, summary in _in_order(self.blocks(rows), work, plan, how.workers):
            tree.add(summary)
            if how.progress is not None:
                how.progress(name, block.start + height(block.X))
        found = tree.root()
        if how.passes is not None:
            how.passes[name] = found
        return found

    def take(self, positions: Any) -> Any:
        """Rows by their positions; one more pass where there is no way to go to them, up to the last of them."""
        if self.pick is not None:
            return self.pick(positions)
        wanted = sorted({int(p) for p in positions})
        found: list[Any] = []
        start = 0
        for block in self.parts():
            stop = start + height(block.X)
            here = [p - start for p in wanted if start <= p < stop]
            if here:
                found.append(some(block.X, here))
            start = stop
            if start > wanted[-1]:
                break
        order = [wanted.index(int(p)) for p in positions]
        return some(stacked(found), order)

    def whole(self, memory: int) -> Block | None:
        """All rows, if they fit; reading stops where they do not."""
        if self.size is not None and self.size > memory:
            return None
        parts, size = [], 0
        for block in self.parts():
            size += sum(size_in_bytes(part) for part in block.parts if part is not None)
            if size > memory:
                return None
            if height(block.X):
                parts.append(block)
        if not parts:
            raise InvalidInput(f"{self.label}: there are no rows")
        return joined(parts, 0)


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows in memory: a source of one block, which is always whole."""

    block: Block
    label: str = "X"
    once: bool = False

    def beside(self, y: Any, weight: Any) -> "InMemory":
        """These rows with what belongs to them."""
        X = self.block.X
        return InMemory(Block(X, aligned(y, X), aligned(weight, X, "sample_weight")))

    def head(self, rows: int) -> Block:
        """The first rows."""
        return self.block.cut(0, min(rows, height(self.block.X)))

    def fold(self, name: str, work: Work[S], plan: Any, merge: Merge[S], rows: int) -> S:
        """Summarise canonical blocks and merge them."""
        return Stream(self.label, lambda: iter([self.block])).fold(name, work, plan, merge, rows)

    def take(self, positions: Any) -> Any:
        """Rows by their positions."""
        return some(self.block.X, positions)

    def whole(self, memory: int) -> Block:
        """All rows."""
        return self.block


def _in_order(
    blocks: Iterator[Block], work: Work[S], plan: Any, workers: int
) -> Iterator[tuple[Block, S]]:
    """Blocks with their summaries, in order; a few of them at the same time."""
    if workers <= 1:
        for block in blocks:
            yield block, located(work, block, plan)
        return
    waiting: deque[tuple[Block, Future[S]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for block in blocks:
                waiting.append((block, pool.submit(copy_context().run, _alone, work, block, plan)))
                if len(waiting) > workers:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def _alone(work: Work[S], block: Block, plan: Any) -> S:
    """`work` on one thread, beside others."""
    with one_thread():
        return located(work, block, plan)


def located(work: Work[S], block: Block, plan: Any) -> S:
    """`work`, with what it refuses said of the block's place among all rows."""
    try:
        return work(block, plan)
    except InvalidInput as error:
        if block.start == 0:
            raise
        text = f"{error} (rows count from row {block.start} on)"
        raise InvalidInput(text, error.parameter, error.fixes) from None


def is_lazy(X: Any) -> bool:
    """Whether X comes in blocks: Dask, a list of delayed blocks, paths or a pattern, a callable or an iterator.

    >>> is_lazy("data/*.parquet"), is_lazy(["a.npy", "b.npy"]), is_lazy([[1.0]]), is_lazy(lambda: iter([]))
    (True, True, False, True)
    """
    try:
        if is_paths(X) or is_dask(X) or isinstance(X, (Stream, InMemory, Iterator)):
            return True
        return callable(X) and not hasattr(X, "shape") and not isinstance(X, type)
    except Exception:  # an object that cannot even be asked; whoever reads it says so
        return False


def is_paths(X: Any) -> bool:
    """Whether X is a path, a pattern, or a list of them."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return (
        isinstance(X, (list, tuple))
        and len(X) > 0
        and all(isinstance(x, (str, os.PathLike)) for x in X)
    )


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, or a list of delayed blocks; nothing is imported for that."""
    if "dask" not in sys.modules:
        return False
    from dask.base import is_dask_collection

    listed = isinstance(X, (list, tuple)) and len(X) > 0
    return all(is_dask_collection(x) for x in X) if listed else bool(is_dask_collection(X))


def source_of(
    X: Any, y: Any = None, weight: Any = None, names: Sequence[str] | None = None
) -> Source:
    """Rows as a source, whatever they came in; `y` and `weight` belong to them, given likewise or as arrays (N,).

    Of files only the columns `names` are read, all if None. A callable's blocks may be (X, y) or
    (X, y, weight). What is in memory is one block, and Series of pandas that belong to it are
    brought into the order of its index.
    """
    if isinstance(X, Stream | InMemory):
        return X if y is None and weight is None else X.beside(y, weight)
    if is_dask(X):
        from .dask import dask_blocks

        return dask_blocks(X, y, weight)
    if not is_lazy(X):
        return InMemory(Block(gathered(X))).beside(y, weight)
    from .streams import of_callable, of_paths

    for value, option in ((y, "y"), (weight, "sample_weight")):
        if is_dask(value) or callable(value):
            raise InvalidInput(
                f"{option} must be an array or the name of a column where X is files, got {shown(value)}"
            )
    beside = y, weight
    if is_paths(X):
        return of_paths(X, beside, names)
    ahead = ReadAhead(X) if isinstance(X, Iterator) else None
    return of_callable(X if ahead is None else ahead, beside, ahead)


def lazily(X: Any, function: Callable[[Any], Any], columns: int | None, dtype: Any = float) -> Any:
    """`function` of the blocks of X when they are asked for: (N, columns), or (N,) where that is None.

    Of a Dask collection an array of Dask, of a list of delayed blocks a list, of files and
    callables an iterator.
    """
    if is_dask(X):
        from .dask import lazily as on_dask

        return on_dask(X, function, columns, dtype)
    stream: Any = source_of(X)  # of files or a callable, which have `parts`
    return (function(block.X) for block in stream.parts() if height(block.X))


def head_of(X: Any) -> Any:
    """The first rows of data in blocks: what estimators check."""
    return source_of(X).head(MIN_BLOCK_ROWS).X
