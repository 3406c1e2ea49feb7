"""Rows in memory or in blocks: re-cut to canonical sizes, summarised block by block, merged in a fixed tree.

A job over blocks is *summarise each block, merge, solve*. Blocks are cut by the positions of their
rows alone and their summaries merged in a tree that depends on their number alone, so neither
depends on how the data were cut before, on files, partitions, threads or workers.
"""

import os
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
import scipy.sparse as sp

from .._validation import InvalidInput, as_sparse, gathered, library_of, read, shown
from ..npy import stored_arrays
from ..row_blocks import MIN_BLOCK_ROWS, Merge, S, Tree
from ..threads import one_thread
from .frames import cut, height, narwhal, size_in_bytes, stacked, take_rows
from .names import aligned

if TYPE_CHECKING:
    from ..io.files import FileTable

MAPPED_ROWS = 2**16
"""Rows of a mapped file that are handed on at once."""
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

    def cut(self, start: int, stop: int) -> "Block":
        """Some of the rows."""
        return Block._make((*(cut(part, start, stop) for part in self.parts), self.start + start))


class Source(Protocol):
    """Rows, in memory or in blocks."""

    @property
    def label(self) -> str:
        """Their name in messages."""
        ...

    @property
    def once(self) -> bool:
        """Whether only one pass can be made."""
        ...

    def head(self, rows: int) -> Block:
        """The first rows, so many or all there are."""
        ...

    def fold(self, name: str, work: Work[S], plan: Any, merge: Merge[S], rows: int) -> S:
        """`work(block, plan)` for canonical blocks of so many rows, merged in the fixed tree.

        `name` is the pass's.
        """
        ...

    def take(self, positions: Any) -> Any:
        """Rows by their positions, in the container of the blocks."""
        ...

    def whole(self, memory: int) -> Block | None:
        """All rows, where they are in memory or take no more than so many bytes of it."""
        ...


def recut(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """Blocks of exactly so many rows, the last one of what is left; empty ones are passed over.

    >>> [
    ...     (b.start, b.X.tolist())
    ...     for b in recut([Block(np.arange(3)), Block(np.arange(0)), Block(np.arange(3, 5))], 2)
    ... ]
    [(0, [0, 1]), (2, [2, 3]), (4, [4])]
    """
    parts: list[Block] = []
    have = start = 0
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
    columns = zip(*(part.parts for part in parts), strict=True)
    return Block._make((*map(stacked, columns), start))


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
execution = _EXECUTION.get
"""How passes are run at the moment."""


@contextmanager
def executed(how: Execution) -> Iterator[None]:
    """Within it, passes are run so."""
    token = _EXECUTION.set(how)
    try:
        yield
    finally:
        _EXECUTION.reset(token)


class ReadAhead:
    """Blocks of an iterator, which can be read again from the first on until the pass that takes them."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self.blocks, self.kept, self.last = blocks, deque[Any](), False

    def __call__(self) -> Iterator[Any]:
        """Begin again; in the last pass blocks are kept no more."""
        if self.blocks is None:
            raise InvalidInput(
                "an iterator of blocks is read once, and this takes two passes; give a callable"
                " that returns an iterator for each pass"
            )
        return self._taken() if self.last else self._read()

    def _read(self) -> Iterator[Any]:
        yield from list(self.kept)
        for block in self.blocks:
            self.kept.append(block)
            yield block

    def _taken(self) -> Iterator[Any]:
        blocks, self.blocks = self.blocks, None  # type: ignore[assignment] # nothing is read after this pass
        while self.kept:
            yield self.kept.popleft()
        yield from blocks


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows that come one block after the other on this machine, or are there already.

    `raw()` begins a pass, `size` is in bytes, where it is known, and `in_memory` the only block of
    rows that need not be read. Passes that have different rows are refused.
    """

    label: str
    raw: Callable[[], Iterator[Block]]
    pick: Callable[[Any], Any] | None = None
    size: int | None = None
    ahead: ReadAhead | None = None
    """The iterator, where there is only one pass."""
    in_memory: Block | None = None
    seen: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    """Checksums of the first rows by their number, wherever a block of any pass ended."""
    counts: dict[str, int] = field(default_factory=dict)
    """The most rows that a pass has shown, and the number of all rows once a pass has ended."""

    @property
    def once(self) -> bool:
        """Whether only one pass can be made."""
        return self.ahead is not None

    def with_rows(self, y: Any, weight: Any) -> "Stream":
        """Return these rows with what belongs to them.

        Names are those of columns, and left to the job.
        """
        block = self.in_memory
        if block is not None:
            X = block.X
            return in_memory(Block(X, aligned(y, X), aligned(weight, X, "sample_weight")))
        if all(value is None or isinstance(value, str) for value in (y, weight)):
            return self
        arrays = {"y": _vector(y, "y"), "weight": _vector(weight, "sample_weight")}

        def raw() -> Iterator[Block]:
            for block in self.raw():
                stop = block.start + height(block.X)
                own = {}
                for name, values in arrays.items():
                    if values is not None:
                        own[name] = values[block.start : stop]
                        if len(values) < stop:
                            raise InvalidInput(
                                f"{name} must have an entry for each row of X, got {len(values)}"
                                f" for more than {stop - 1}"
                            )
                yield block._replace(**own)

        return replace(self, raw=raw, seen={}, counts={})

    def counted(self) -> Iterator[Block]:
        """Blocks of a pass as they come; a pass with other rows than another is refused."""
        rows = 0
        totals: list[tuple[int, ...]] = [(), (), ()]
        for block in self.raw():
            rows += height(block.X)
            if rows > self.counts.get("all", rows):
                self._refuse(f"a pass had {self.counts['all']} rows, another one has more")
            self.counts["most"] = max(self.counts.get("most", 0), rows)
            totals = list(map(checksum, block.parts, totals))
            if self.seen.setdefault(rows, totals) != totals:
                self._refuse(f"rows 0 to {rows - 1} differ between two passes")
            yield block
        if rows < self.counts.get("most", 0):
            self._refuse(f"a pass had {self.counts['most']} rows or more, another one has {rows}")
        self.counts["all"] = rows

    def blocks(self, rows: int) -> Iterator[Block]:
        """Canonical blocks of a pass."""
        return recut(self.counted(), rows)

    def _refuse(self, reason: str) -> None:
        raise InvalidInput(f"{self.label}: every pass must give the same rows; {reason}")

    def head(self, rows: int) -> Block:
        """The first rows."""
        block = next(recut(self.counted(), rows), None)
        if block is None:
            raise InvalidInput(f"{self.label}: there are no rows")
        return block

    def fold(self, name: str, work: Work[S], plan: Any, merge: Merge[S], rows: int) -> S:
        """Summarise and merge, on as many threads as `executed` says.

        Results do not depend on them.
        """
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
        summary = tree.root()
        if how.passes is not None:
            how.passes[name] = summary
        return summary

    def take(self, positions: Any) -> Any:
        """Rows by their positions.

        One more pass where there is no way to go to them, up to the last of them.
        """
        if self.pick is not None:
            return self.pick(positions)
        wanted, order = np.unique(np.asarray(positions, np.int64), return_inverse=True)
        parts: list[Any] = []
        for block in recut(self.counted(), MIN_BLOCK_ROWS):
            low, high = np.searchsorted(wanted, (block.start, block.start + height(block.X)))
            if high > low:
                parts.append(take_rows(block.X, wanted[low:high] - block.start))
            if high == len(wanted):
                break
        else:
            self._refuse(f"row {wanted[-1]} is not there any more")
        return take_rows(stacked(parts), order)

    def whole(self, memory: int) -> Block | None:
        """All rows, if they fit; reading stops where they do not."""
        if self.in_memory is not None:
            return self.in_memory
        if self.size is not None and self.size > memory:
            return None
        parts, size = [], 0
        for block in self.counted():
            size += sum(size_in_bytes(part) for part in block.parts if part is not None)
            if size > memory:
                return None
            if height(block.X):
                parts.append(block)
        if not parts:
            raise InvalidInput(f"{self.label}: there are no rows")
        return joined(parts, 0)


def in_memory(block: Block) -> Stream:
    """Rows in memory as a source of one block."""
    pick = lambda positions: take_rows(block.X, positions)  # noqa: E731
    return Stream("X", lambda: iter([block]), pick, in_memory=block)


def checksum(X: Any, before: Sequence[int] = ()) -> tuple[int, ...]:
    """Continue checksums of rows by those of further ones, wherever rows are cut into blocks.

    >>> X = np.arange(6.0).reshape(3, 2)
    >>> checksum(X) == checksum(X[1:], checksum(X[:1])) != checksum(X[::-1])
    True
    """
    if X is None or height(X) == 0:
        return tuple(before)
    both = zip(_entries(gathered(X)), chain(before, repeat(0)), strict=False)
    return tuple(zlib.crc32(entries, total) for entries, total in both)


def _entries(X: Any) -> list[bytes]:
    """What rows hold, in their order; of a table hashes of its rows."""
    library = library_of(X)
    if sp.issparse(X):
        rows = as_sparse(X, "a block").tocsr()
        arrays = [rows.data, rows.indices.astype(np.int64), np.diff(rows.indptr).astype(np.int64)]
    elif library == "pandas":
        import pandas as pd

        try:
            hashes = pd.util.hash_pandas_object(X, index=False)
        except TypeError:  # of lists and other cells without a hash
            hashes = pd.util.hash_pandas_object(X.astype(str), index=False)
        arrays = [hashes.to_numpy()]
    elif library == "polars":
        frame = X.to_frame() if hasattr(X, "to_frame") else X
        arrays = [frame.hash_rows().to_numpy()]
    elif library is not None:
        frame = narwhal(X)
        columns = frame.iter_columns() if hasattr(frame, "iter_columns") else [frame]
        arrays = [column.to_numpy() for column in columns]
    else:
        arrays = [read(X, "a block")]
    return [_bytes(array) for array in arrays]


def _bytes(values: Any) -> bytes:
    """The values of an array as bytes."""
    if not values.dtype.hasobject:
        return bytes(np.ascontiguousarray(values).tobytes())
    text = "".join(f"{value!r}\0" for value in values.ravel().tolist())
    return text.encode("utf-8", "surrogatepass")


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

    >>> (
    ...     is_lazy("data/*.parquet"),
    ...     is_lazy(["a.npy", "b.npy"]),
    ...     is_lazy([[1.0]]),
    ...     is_lazy(lambda: iter([])),
    ... )
    (True, True, False, True)
    """
    try:
        if is_paths(X) or is_dask(X) or isinstance(X, (Stream, Iterator)):
            return True
        return callable(X) and not hasattr(X, "shape") and not isinstance(X, type)
    except Exception:  # an object that cannot even be asked; whoever reads it says so
        return False


def is_paths(X: Any) -> bool:
    """Whether X is a path, a pattern, or a list of them."""
    listed = X if isinstance(X, (list, tuple)) else [X]
    return len(listed) > 0 and all(isinstance(x, (str, os.PathLike)) for x in listed)


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
    """Rows as a source, whatever they came in.

    `y` and `weight` belong to them, given likewise or as arrays (N,).

    Of files only the columns `names` are read, all if None. A callable's blocks may be (X, y) or
    (X, y, weight). What is in memory is one block, and Series of pandas that belong to it are
    brought into the order of its index.
    """
    if is_dask(X):
        from .dask import dask_blocks

        return dask_blocks(X, y, weight)
    if isinstance(X, Stream):
        return X.with_rows(y, weight)
    if not is_lazy(X):
        return in_memory(Block(gathered(X))).with_rows(y, weight)
    for value, option in ((y, "y"), (weight, "sample_weight")):
        if is_dask(value) or callable(value):
            raise InvalidInput(
                f"{option} must be an array or the name of a column where X is files, got"
                f" {shown(value)}"
            )
    stream = of_paths(X, names) if is_paths(X) else of_callable(X)
    return stream.with_rows(y, weight)


def of_callable(X: Any) -> Stream:
    """A callable that begins a pass, or an iterator, of blocks, of (X, y), or of (X, y, weight)."""
    ahead = ReadAhead(X) if isinstance(X, Iterator) else None
    begin = X if ahead is None else ahead

    def raw() -> Iterator[Block]:
        start, blocks = 0, begin()
        if not hasattr(blocks, "__iter__") or hasattr(blocks, "shape"):
            raise InvalidInput(f"X() must return an iterator of blocks, got {shown(blocks)}")
        for part in blocks:
            block = Block(*part[:3]) if isinstance(part, tuple) else Block(part)
            size = height(block.X)
            yield block._replace(start=start)
            start += size

    return Stream(getattr(X, "__name__", "X"), raw, ahead=ahead)


def of_paths(X: Any, names: Sequence[str] | None) -> Stream:
    """Files as blocks: npy by memory map, all others as polars reads them."""
    from ..io.files import expanded, open_table

    paths = expanded(X)
    if not all(path.endswith(".npy") and os.path.exists(path) for path in paths):
        return of_table(open_table(paths), names)
    arrays = [_mapped(path) for path in paths]
    ends = np.cumsum([len(array) for array in arrays])
    first = ends - [len(array) for array in arrays]

    def raw() -> Iterator[Block]:
        for start, array in zip(first.tolist(), arrays, strict=True):
            for low in range(0, len(array), MAPPED_ROWS):
                yield Block(np.asarray(array[low : low + MAPPED_ROWS]), start=start + low)

    def pick(positions: Any) -> Any:
        home = np.searchsorted(ends, positions, side="right")
        return np.stack([arrays[i][p - first[i]] for i, p in zip(home, positions, strict=True)])

    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return Stream(f"{paths[0]}{more}", raw, pick, sum(array.nbytes for array in arrays))


def of_table(table: "FileTable", names: Sequence[str] | None = None) -> Stream:
    """Columns of files that are open as blocks."""
    columns = table.names if names is None else list(names)

    def raw() -> Iterator[Block]:
        start = 0
        for part in table.batches(columns):
            yield Block(part, start=start)
            start += part.height

    def pick(positions: Any) -> Any:
        return table.rows(positions, columns, typed=True)

    return Stream(table.label, raw, pick, table.stored_bytes(columns))


def _mapped(path: str) -> Any:
    """An array of numbers in a file, mapped into memory."""
    from pathlib import Path

    array = stored_arrays(Path(path), path)[""].data
    if array.ndim not in (1, 2) or array.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{path}: expected numbers with one or two axes, got {array.dtype} of shape"
            f" {array.shape}"
        )
    return array


def _vector(value: Any, name: str) -> Any:
    """An array (N,), or None for names and what is not given."""
    if value is None or isinstance(value, str):
        return None
    array = read(value, name)
    if array.ndim != 1:
        raise InvalidInput(f"{name} must have shape (N,), got {array.shape}")
    return array


def lazily(X: Any, function: Callable[[Any], Any], columns: int | None, dtype: Any = float) -> Any:
    """`function` of the blocks of X when they are asked for: (N, columns), or (N,) where that is None.

    Of a Dask collection an array of Dask, of a list of delayed blocks a list, of files and
    callables an iterator.
    """
    if is_dask(X):
        from .dask import lazily as on_dask

        return on_dask(X, function, columns, dtype)
    stream = cast(Stream, source_of(X))
    return (function(block.X) for block in stream.raw() if height(block.X))


def head_of(X: Any) -> Any:
    """The first rows of data in blocks: what estimators check."""
    return source_of(X).head(MIN_BLOCK_ROWS).X
