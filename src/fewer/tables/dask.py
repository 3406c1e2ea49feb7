"""Blocks from Dask: arrays, frames and lists of delayed blocks, summarised where they are. Only here is Dask imported.

Nothing is scattered or pinned to a worker: all that a task needs is in the graph, so that lost work
is done again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from dask import base
from dask.base import is_dask_collection
from dask.delayed import Delayed, delayed

from .._validation import InvalidInput, shown
from ..row_blocks import FAN_IN, Merge, S
from .frames import cut, height, size_in_bytes, stacked, take_rows
from .source import Block, Work, located

compute: Any = base.compute
"""The scheduler there is: that of the active client, or threads."""


@dataclass(frozen=True, eq=False)
class Partitions:
    """A collection as its partitions, and how many rows each has; None where that is to be counted."""

    parts: list[Any]
    known: list[int] | None = None

    @cached_property
    def lengths(self) -> list[int]:
        """Rows of each partition; counted by the workers where nobody knows."""
        if self.known is not None:
            return self.known
        return [int(n) for n in compute(*(delayed(height)(part) for part in self.parts))]

    @cached_property
    def starts(self) -> Any:
        """The position of the first row of each partition, and the number of all rows."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.starts[-1])

    def between(self, start: int, stop: int) -> list[Any]:
        """The parts of the partitions with these rows, as delayed blocks."""
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        found = []
        for i in range(first, len(self.parts)):
            low, high = (
                int(np.clip(at - self.starts[i], 0, self.lengths[i])) for at in (start, stop)
            )
            if high > low:
                found.append(delayed(cut)(self.parts[i], low, high))
            if self.starts[i + 1] >= stop:
                break
        return found


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """A Dask collection, and what belongs to its rows."""

    X: Partitions
    y: Partitions | None
    weight: Partitions | None
    label: str = "X"
    once: bool = False

    @property
    def beside(self) -> list[Partitions | None]:
        """X, y and the weights, as in `Block.parts`."""
        return [self.X, self.y, self.weight]

    def head(self, rows: int) -> Block:
        """The first rows."""
        self._check()
        stop = min(rows, self.X.rows)
        parts = [None if p is None else delayed(stacked)(p.between(0, stop)) for p in self.beside]
        return Block(*compute(*parts))

    def _check(self) -> None:
        """A sentence where there are no rows, or others than there are of what belongs to them."""
        if self.X.rows == 0:
            raise InvalidInput("X has no rows: all blocks are empty")
        for name, other in (("y", self.y), ("sample_weight", self.weight)):
            if other is not None and other.rows != self.X.rows:
                raise InvalidInput(
                    f"{name} must have an entry for each of the {self.X.rows} rows, got {other.rows}"
                )

    def fold(self, name: str, work: Work[S], plan: Any, merge: Merge[S], rows: int) -> S:
        """One graph: canonical blocks cut from partitions, summarised, merged in the fixed tree."""
        self._check()
        shared = delayed(plan, traverse=False)
        nodes: list[Any] = []
        for start in range(0, self.X.rows, rows):
            stop = min(start + rows, self.X.rows)
            parts = [None if p is None else p.between(start, stop) for p in self.beside]
            nodes.append(delayed(_worked)(work, parts, start, shared))
        while len(nodes) > 1:
            groups = [nodes[i : i + FAN_IN] for i in range(0, len(nodes), FAN_IN)]
            nodes = [delayed(merge)(group) if len(group) > 1 else group[0] for group in groups]
        found: S = compute(nodes[0])[0]
        return found

    def take(self, positions: Any) -> Any:
        """Rows by their positions."""
        positions = np.asarray(positions, np.int64)
        home = np.searchsorted(self.X.starts, positions, side="right") - 1
        homes = np.unique(home)
        rows = [
            delayed(take_rows)(self.X.parts[i], positions[home == i] - self.X.starts[i])
            for i in homes
        ]
        found = stacked(list(compute(*rows)))
        order = np.concatenate([np.flatnonzero(home == i) for i in homes])
        return take_rows(found, np.argsort(order))

    def whole(self, memory: int) -> Block | None:
        """All rows, where they fit."""
        self._check()
        first = self.head(min(1000, self.X.rows))
        each = sum(size_in_bytes(part) for part in first.parts if part is not None) / height(
            first.X
        )
        if each * self.X.rows > memory:
            return None
        parts = [None if p is None else delayed(stacked)(p.between(0, p.rows)) for p in self.beside]
        return Block(*compute(*parts))


def _worked(work: Any, parts: list[Any], start: int, plan: Any) -> Any:
    """One task: the block put together, and its summary."""
    block = Block._make((*(None if part is None else stacked(part) for part in parts), start))
    return located(work, block, plan)


def dask_blocks(X: Any, y: Any = None, weight: Any = None) -> DaskBlocks:
    """A Dask collection with what belongs to its rows: collections too, or arrays in memory; names are left alone."""
    return DaskBlocks(partitions(X, "X"), beside(y, "y"), beside(weight, "sample_weight"))


def beside(value: Any, name: str) -> Partitions | None:
    """What belongs to rows."""
    if value is None or isinstance(value, str):
        return None
    if is_dask_collection(value) or isinstance(value, list | tuple):
        listed = not is_dask_collection(value) and not all(is_dask_collection(v) for v in value)
        return _in_memory(value) if listed else partitions(value, name)
    return _in_memory(value)


def _in_memory(value: Any) -> Partitions:
    array = np.asarray(value)
    return Partitions([delayed(array, traverse=False)], [len(array)])


def partitions(X: Any, name: str) -> Partitions:
    """The partitions of a collection by rows."""
    if isinstance(X, list | tuple):
        return Partitions(list(X))
    if isinstance(X, Delayed):
        return Partitions([X])
    if hasattr(X, "numblocks"):
        if X.ndim not in (1, 2):
            raise InvalidInput(f"{name} must have one or two axes, got {X.ndim}")
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        known = None if np.isnan(X.chunks[0]).any() else [int(n) for n in X.chunks[0]]
        return Partitions(list(X.to_delayed().ravel()), known)
    if hasattr(X, "npartitions") and hasattr(X, "to_delayed"):
        return Partitions(list(X.to_delayed()))
    raise InvalidInput(
        f"{name} must be a Dask array, a Dask frame or a list of delayed blocks, got {shown(X)}"
    )


def lazily(X: Any, function: Any, columns: int | None, dtype: Any) -> Any:
    """`function` of the blocks of X, when they are asked for: an array (N, columns), or (N,) where that is None.

    A list of delayed blocks gives a list.
    """
    from dask import array

    da: Any = array
    if isinstance(X, list | tuple):
        return [delayed(function)(part) for part in X]
    shape: Sequence[int] = () if columns is None else (columns,)
    if hasattr(X, "numblocks"):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        lengths = X.chunks[0]
    else:
        lengths = (float("nan"),) * X.npartitions
    parts = partitions(X, "X").parts
    arrays = [
        da.from_delayed(delayed(function)(part), shape=(n, *shape), dtype=dtype)
        for part, n in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(arrays, axis=0, allow_unknown_chunksizes=True)
