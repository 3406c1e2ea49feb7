"""Rows in memory or in blocks: re-cut to canonical sizes, summarised block by block, merged in a fixed tree.

A job over blocks is *summarise each block, merge, solve*. Blocks are cut by the positions of their
rows alone and their summaries merged in a tree that depends on their number alone, so neither
depends on how the data were cut before, on files, partitions, threads or workers.

A source has a `label` for messages, says whether only one pass can be made (`once`), and gives the
first rows (`head`), merged summaries of canonical blocks (`fold`), rows by their positions (`take`),
and all rows where they fit into memory (`whole`).
"""

import os
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Union, cast

import numpy as np
import scipy.sparse as sp

from .._validation import InvalidInput, as_sparse, gathered, is_frame, library_of, read, shown
from ..npy import stored_arrays
from ..row_blocks import MIN_BLOCK_ROWS, Merge, S, Tree
from ..threads import one_thread
from .frames import aligned, cut, height, series_of, size_in_bytes, stacked, take_rows

if TYPE_CHECKING:
    from ..io.files import FileTable
    from .dask import DaskBlocks

MAPPED_ROWS = 2**16
"""Rows of a mapped file that are handed on at once."""
Source: TypeAlias = Union["Stream", "DaskBlocks"]
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


def recut(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """Blocks of exactly so many rows, the last one of what is left; empty ones are passed over.

    >>> blocks = [Block(np.arange(3)), Block(np.arange(0)), Block(np.arange(3, 5))]
    >>> [(block.start, block.X.tolist()) for block in recut(blocks, 2)]
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
    """Blocks of an iterator, which can be read again from the first on until the last pass takes them."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self.blocks: Iterator[Any] | None = blocks
        self.kept, self.last = deque[Any](), False

    def __call__(self) -> Iterator[Any]:
        """Begin again; in the last pass blocks are kept no more."""
        blocks = self.blocks
        if blocks is None:
            raise InvalidInput(
                "an iterator of blocks is read once, and this takes two passes; give a callable"
                " that returns an iterator for each pass"
            )
        if self.last:
            self.blocks = None
        return self._blocks(blocks, self.last)

    def _blocks(self, blocks: Iterator[Any], last: bool) -> Iterator[Any]:
        yield from list(self.kept) if not last else ()
        while last and self.kept:
            yield self.kept.popleft()
        for block in blocks:
            if not last:
                self.kept.append(block)
            yield block


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows that come one block after the other on this machine, or are there already.

    `raw()` begins a pass, `size` is in bytes, where it is known, `ahead` the iterator where there
    is only one pass, and `in_memory` the only block of rows that need not be read. Passes that have
    different rows are refused: `seen` are checksums of the first rows by their number, wherever a
    block of any pass ended, and `counts` the most rows that a pass has shown and the number of all.
    """

    label: str
    raw: Callable[[], Iterator[Block]]
    pick: Callable[[Any], Any] | None = None
    size: int | None = None
    ahead: ReadAhead | None = None
    in_memory: Block | None = None
    seen: dict[int, list[tuple[int, ...]]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def once(self) -> bool:
        """Whether only one pass can be made."""
        return self.ahead is not None

    def with_rows(self, y: Any, weight: Any) -> "Stream":
        """Return these rows with what belongs to them; names of columns are left to the job."""
        if self.in_memory is not None:
            X = self.in_memory.X
            return in_memory(Block(X, aligned(y, X), aligned(weight, X, "sample_weight")))
        arrays = {}
        for key, value, name in (("y", y, "y"), ("weight", weight, "sample_weight")):
            if value is not None and not isinstance(value, str):
                arrays[key] = read(value, name)
                if arrays[key].ndim != 1:
                    raise InvalidInput(f"{name} must have shape (N,), got {arrays[key].shape}")
        if not arrays:
            return self

        def raw() -> Iterator[Block]:
            for block in self.raw():
                stop = block.start + height(block.X)
                for name, values in arrays.items():
                    if len(values) < stop:
                        raise InvalidInput(
                            f"{name} must have an entry for each row of X, got {len(values)} for"
                            f" more than {stop - 1}"
                        )
                own: Any = {name: values[block.start : stop] for name, values in arrays.items()}
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
        """The first rows, so many or all there are."""
        block = next(self.blocks(rows), None)
        if block is None:
            raise InvalidInput(f"{self.label}: there are no rows")
        return block

    def fold(self, name: str, work: Work[S], plan: Any, merge: Merge[S], rows: int) -> S:
        """`work(block, plan)` for canonical blocks of so many rows, merged in the fixed tree.

        `name` is the pass's. Results do not depend on the number of threads that `executed` sets.
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
        """Rows by their positions; without a way to go to them, by one more pass up to the last of them."""
        if self.pick is not None:
            return self.pick(positions)
        wanted, order = np.unique(np.asarray(positions, np.int64), return_inverse=True)
        parts: list[Any] = []
        for block in self.blocks(MIN_BLOCK_ROWS):
            low, high = np.searchsorted(wanted, (block.start, block.start + height(block.X)))
            if high > low:
                parts.append(take_rows(block.X, wanted[low:high] - block.start))
            if high == len(wanted):
                break
        else:
            self._refuse(f"row {wanted[-1]} is not there any more")
        return take_rows(stacked(parts), order)

    def whole(self, memory: int) -> Block | None:
        """All rows, if they take no more than so many bytes; reading stops where they do."""
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
    return tuple(zlib.crc32(_bytes(entries), total) for entries, total in both)


def _entries(X: Any) -> list[Any]:
    """The entries of rows, in their order; of polars and pandas hashes of rows."""
    if sp.issparse(X):
        rows = as_sparse(X, "a block").tocsr()
        return [rows.data, rows.indices.astype(np.int64), np.diff(rows.indptr).astype(np.int64)]
    if library_of(X) == "polars":
        return [(X if is_frame(X) else X.to_frame()).hash_rows().to_numpy()]
    if library_of(X) == "pandas":
        import pandas as pd

        with suppress(TypeError):  # of lists and other cells without a hash
            return [pd.util.hash_pandas_object(X, index=False).to_numpy()]
    if library_of(X) is not None:
        return [np.asarray(series) for series in series_of(X)]
    return [read(X, "a block")]


def _bytes(values: Any) -> bytes:
    """The values of an array as bytes."""
    if not values.dtype.hasobject:
        return bytes(np.ascontiguousarray(values).tobytes())
    text = "\0".join([*map(repr, values.ravel().tolist()), ""])
    return text.encode("utf-8", "surrogatepass")


def _in_order(
    blocks: Iterator[Block], work: Work[S], plan: Any, workers: int
) -> Iterator[tuple[Block, S]]:
    """Blocks with their summaries, in order; a few of them at the same time."""
    if workers <= 1:
        for block in blocks:
            yield block, summarize_block(work, block, plan)
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
        return summarize_block(work, block, plan)


def summarize_block(work: Work[S], block: Block, plan: Any) -> S:
    """Summarise a block by `work`, with the place of the block among all rows in its errors."""
    try:
        return work(block, plan)
    except InvalidInput as error:
        if block.start == 0:
            raise
        text = f"{error} (rows count from row {block.start} on)"
        raise InvalidInput(text, error.parameter, error.fixes) from None


def is_lazy(X: Any) -> bool:
    """Whether X comes in blocks: Dask, a list of delayed blocks, paths or a pattern, a callable or an iterator.

    >>> is_lazy("data/*.parquet"), is_lazy(["a.npy", "b.npy"]), is_lazy([[1.0]])
    (True, True, False)
    >>> is_lazy(lambda: iter([]))
    True
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

    listed = X if isinstance(X, (list, tuple)) else [X]
    return len(listed) > 0 and all(map(is_dask_collection, listed))


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
    begin = ahead or X

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
    starts = np.cumsum([0, *map(len, arrays)])

    def raw() -> Iterator[Block]:
        for start, array in zip(starts.tolist(), arrays, strict=False):
            for low in range(0, len(array), MAPPED_ROWS):
                yield Block(np.asarray(array[low : low + MAPPED_ROWS]), start=start + low)

    def pick(positions: Any) -> Any:
        home = np.searchsorted(starts, positions, side="right") - 1
        return np.stack([arrays[i][p - starts[i]] for i, p in zip(home, positions, strict=True)])

    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return Stream(f"{paths[0]}{more}", raw, pick, sum(array.nbytes for array in arrays))


def _mapped(path: str) -> Any:
    """An array of numbers in a file, mapped into memory."""
    array = stored_arrays(Path(path), path)[""].data
    if array.ndim not in (1, 2) or array.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{path}: expected numbers with one or two axes, got {array.dtype} of shape"
            f" {array.shape}"
        )
    return array


def of_table(table: "FileTable", names: Sequence[str] | None = None) -> Stream:
    """Columns of files that are open as blocks."""
    columns = table.names if names is None else list(names)

    def raw() -> Iterator[Block]:
        start = 0
        for part in table.batches(columns):
            yield Block(part, start=start)
            start += part.height

    pick = lambda positions: table.rows(positions, columns, typed=True)  # noqa: E731
    return Stream(table.label, raw, pick, table.stored_bytes(columns))


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
