"""Blocks from files, by row groups and memory maps, and from callables of the user."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import InvalidInput, read, shown
from ..io.files import FileTable, expanded, open_table
from .cutting import cut, height
from .source import Block, ReadAhead, Stream

MAPPED_ROWS = 2**16
"""Rows of a mapped file that are handed on at once."""


def of_paths(X: Any, parts: Sequence[Any], names: Sequence[str] | None) -> Stream:
    """Files as blocks: npy by memory map, all others as polars reads them."""
    paths = expanded(X)
    beside = _Beside(*parts)
    if all(path.endswith(".npy") for path in paths):
        return _mapped(paths, beside)
    return of_table(open_table(paths), names, parts)


def of_table(
    table: FileTable, names: Sequence[str] | None = None, parts: Sequence[Any] = (None, None)
) -> Stream:
    """Columns of files that are open as blocks, and what belongs to their rows."""
    columns = table.names if names is None else list(names)
    beside = _Beside(*parts)

    def raw() -> Iterator[Block]:
        start = 0
        for part in table.batches(columns):
            yield beside.of(part, start)
            start += part.height

    return Stream(
        table.label,
        raw,
        lambda positions: table.rows(positions, columns, typed=True),
        table.stored_bytes(columns),
    )


def _mapped(paths: Sequence[str], beside: "_Beside") -> Stream:
    """Npy files as blocks that are read when they are looked at."""
    arrays = [_opened(path) for path in paths]
    ends = np.cumsum([len(array) for array in arrays])

    def raw() -> Iterator[Block]:
        start = 0
        for array in arrays:
            for low in range(0, len(array), MAPPED_ROWS):
                part = np.asarray(array[low : low + MAPPED_ROWS])
                yield beside.of(part, start + low)
            start += len(array)

    def pick(positions: Any) -> Any:
        home = np.searchsorted(ends, positions, side="right")
        first = ends - [len(array) for array in arrays]
        return np.stack([arrays[i][p - first[i]] for i, p in zip(home, positions, strict=True)])

    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return Stream(f"{paths[0]}{more}", raw, pick, sum(array.nbytes for array in arrays))


def _opened(path: str) -> Any:
    """An array of numbers in a file, mapped into memory; nothing is unpickled."""
    if not Path(path).exists():
        raise InvalidInput(f"{path}: there is no such file")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InvalidInput(f"{path}: cannot be read as npy: {error}") from None
    if array.ndim not in (1, 2) or array.dtype.kind not in "fiub":
        raise InvalidInput(
            f"{path}: expected numbers with one or two axes, got {array.dtype} of shape {array.shape}"
        )
    return array


class _Beside:
    """What belongs to the rows and is in memory: y and weights (N,), cut as the rows are; names are the job's."""

    def __init__(self, y: Any, weight: Any) -> None:
        named = ("y", y), ("weight", weight)
        self.parts = {
            name: _column(value, "sample_weight" if name == "weight" else name)
            for name, value in named
        }

    def of(self, X: Any, start: int) -> Block:
        """A block of rows with what belongs to them."""
        return self.on(Block(X, start=start))

    def on(self, block: Block) -> Block:
        """The same for a block that may have them already."""
        stop = block.start + height(block.X)
        for name, values in self.parts.items():
            if values is not None and len(values) < stop:
                raise InvalidInput(
                    f"{name} must have an entry for each row of X, got {len(values)} for more than {stop - 1}"
                )
        found = {
            name: cut(values, block.start, stop)
            for name, values in self.parts.items()
            if values is not None
        }
        return block._replace(**found)


def _column(value: Any, name: str) -> Any:
    """An array (N,), or None for names and what is not given."""
    if value is None or isinstance(value, str):
        return None
    array = read(value, name)
    if array.ndim != 1:
        raise InvalidInput(f"{name} must have shape (N,), got {array.shape}")
    return array


def of_callable(
    X: Callable[[], Any], parts: Sequence[Any], ahead: ReadAhead | None = None
) -> Stream:
    """A callable that begins a pass: it returns an iterator of blocks, of (X, y), or of (X, y, weight)."""
    beside = _Beside(*parts)

    def raw() -> Iterator[Block]:
        start = 0
        found = X()
        if not hasattr(found, "__iter__") or hasattr(found, "shape"):
            raise InvalidInput(f"X() must return an iterator of blocks, got {shown(found)}")
        for given in found:
            block = Block(*given[:3]) if isinstance(given, tuple) else Block(given)
            yield beside.on(block._replace(start=start))
            start += height(block.X)

    return Stream(getattr(X, "__name__", "X"), raw, ahead=ahead)


def with_rows(raw: Callable[[], Iterator[Block]], y: Any, weight: Any) -> Callable[[], Any]:
    """Passes over blocks with what belongs to their rows."""
    beside = _Beside(y, weight)
    return lambda: (beside.on(block) for block in raw())
