"""Blocks from Dask: arrays, frames and lists of delayed blocks, summarised where they are.

Only here is Dask imported.

Nothing is scattered or pinned to a worker: all that a task needs is in the graph, so that lost work
is done again.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from dask import array, base
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed

from .._validation import InvalidInput, shown
from ..row_blocks import FAN_IN, Merge, S
from .frames import cut, height, size_in_bytes, stacked, take_rows
from .source import Block, Work, summarize_block

compute: Any = base.compute
"""The scheduler there is: that of the active client, or threads."""
HEAD_ROWS = 1000
"""Rows by which the memory that all rows take is estimated."""


@dataclass(frozen=True, eq=False)
class Partitions:
    """A collection as its partitions, and how many rows each has.

    None where that is to be counted.
    """

    parts: list[Any]
    known: list[int] | None = None

    @classmethod
    def of(cls, X: Any, name: str) -> "Partitions | None":
        """The partitions of a collection by rows, or an array in memory as one of them.

        None of nothing and of names.
        """
        if X is None or isinstance(X, str):
            return None
        if isinstance(X, list | tuple) and all(map(is_dask_collection, X)):
            return cls(list(X))
        if isinstance(X, Delayed):
            return cls([X])
        if not is_dask_collection(X):
            values = np.asarray(X)
            return cls([delayed(values, traverse=False)], [len(values)])
        if not hasattr(X, "to_delayed"):
            raise InvalidInput(
                f"{name} must be a Dask array, a Dask frame or a list of delayed blocks, got"
                f" {shown(X)}"
            )
        if not hasattr(X, "numblocks"):
            return cls(list(X.to_delayed()))
        if X.ndim not in (1, 2):
            raise InvalidInput(f"{name} must have one or two axes, got {X.ndim}")
        X = X.rechunk({1: -1}) if X.ndim == 2 else X
        known = None if np.isnan(X.chunks[0]).any() else [int(n) for n in X.chunks[0]]
        return cls(list(X.to_delayed().ravel()), known)

    @cached_property
    def ends(self) -> Any:
        """The position after the last row of each partition.

        Counted by the workers where nobody knows.
        """
        lengths = self.known or compute(*(delayed(height)(part) for part in self.parts))
        return np.cumsum(lengths, dtype=np.int64)

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.ends[-1]) if self.parts else 0

    def between(self, start: int, stop: int) -> list[Any]:
        """The parts of the partitions with these rows, as delayed blocks."""
        parts, low = [], 0
        for part, high in zip(self.parts, self.ends.tolist(), strict=True):
            if low < stop and high > start and high > low:
                ends = max(start - low, 0), min(stop, high) - low
                parts.append(delayed(cut)(part, *ends))
            low = high
        return parts


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """A Dask collection, and what belongs to its rows: as many partitions as `Block.parts`, None where there are none."""

    parts: list[Any]
    label: str = "X"
    once: bool = False

    @cached_property
    def rows(self) -> int:
        """All rows; there must be some, and as many of what belongs to them."""
        rows = self.parts[0].rows
        if rows == 0:
            raise InvalidInput("X has no rows: all blocks are empty")
        for name, other in zip(("y", "sample_weight"), self.parts[1:], strict=True):
            if other is not None and other.rows != rows:
                raise InvalidInput(
                    f"{name} must have an entry for each of the {rows} rows, got {other.rows}"
                )
        return int(rows)

    def between(self, start: int, stop: int) -> list[Any]:
        """Lists of delayed parts with these rows, None where there are none."""
        return [None if part is None else part.between(start, stop) for part in self.parts]

    def head(self, rows: int) -> Block:
        """The first rows."""
        parts = self.between(0, min(rows, self.rows))
        return Block(
            *compute(*(None if part is None else delayed(stacked)(part) for part in parts))
        )

    def fold(self, name: str, work: Work[S], plan: Any, merge: Merge[S], rows: int) -> S:
        """One graph: canonical blocks cut from partitions, summarised, merged in the fixed tree."""
        shared = delayed(plan, traverse=False)
        nodes: list[Any] = [
            delayed(_worked)(work, self.between(start, stop), start, stop, shared)
            for start in range(0, self.rows, rows)
            for stop in [min(start + rows, self.rows)]
        ]
        while len(nodes) > 1:
            groups = [nodes[i : i + FAN_IN] for i in range(0, len(nodes), FAN_IN)]
            nodes = [delayed(merge)(group) if len(group) > 1 else group[0] for group in groups]
        summary: S = compute(nodes[0])[0]
        return summary

    def take(self, positions: Any) -> Any:
        """Rows by their positions."""
        positions, X = np.asarray(positions, np.int64), self.parts[0]
        starts = np.append(0, X.ends[:-1])
        home = np.searchsorted(X.ends, positions, side="right")
        homes = np.unique(home)
        rows = [delayed(take_rows)(X.parts[i], positions[home == i] - starts[i]) for i in homes]
        order = np.concatenate([np.flatnonzero(home == i) for i in homes])
        return take_rows(stacked(list(compute(*rows))), np.argsort(order))

    def whole(self, memory: int) -> Block | None:
        """All rows, where they fit."""
        first = self.head(HEAD_ROWS)
        size = sum(size_in_bytes(part) for part in first.parts if part is not None)
        return None if size / height(first.X) * self.rows > memory else self.head(self.rows)


def _worked(work: Any, parts: list[Any], start: int, stop: int, plan: Any) -> Any:
    """One task: the block put together, and its summary.

    Rows that partitions lost since they were counted are refused.
    """
    block = Block._make((*(None if part is None else stacked(part) for part in parts), start))
    if height(block.X) != stop - start:
        raise InvalidInput(
            f"X: every pass must give the same rows; rows {start} to {stop - 1} were counted, now"
            f" they are {height(block.X)}"
        )
    return summarize_block(work, block, plan)


def dask_blocks(X: Any, y: Any = None, weight: Any = None) -> DaskBlocks:
    """A Dask collection with what belongs to its rows: collections too, or arrays in memory.

    Names are left alone.
    """
    named = (X, "X"), (y, "y"), (weight, "sample_weight")
    return DaskBlocks([Partitions.of(value, name) for value, name in named])


def lazily(X: Any, function: Any, columns: int | None, dtype: Any) -> Any:
    """`function` of the blocks of X, when they are asked for: an array (N, columns), or (N,) where that is None.

    A list of delayed blocks gives a list.
    """
    partitions = Partitions.of(X, "X")
    assert partitions is not None  # noqa: S101 - it is a collection
    parts = [delayed(function)(part) for part in partitions.parts]
    if isinstance(X, list | tuple):
        return parts
    shape = () if columns is None else (columns,)
    lengths: list[Any] = partitions.known or [np.nan] * len(parts)
    da: Any = array
    arrays = [
        da.from_delayed(part, shape=(n, *shape), dtype=dtype)
        for part, n in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)
