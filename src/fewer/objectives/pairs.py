"""Sums over pairs of rows in tiles: never more of the matrix of similarities than one tile for each thread."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..deadline import Deadline
from ..distances import Matrix
from ..similarity import Similarity
from ..threads import is_shared, own_threads, threads

TILE = 2**19
"""Entries of a tile: a few megabytes stay near the processor."""
HIGH = 512
"""Rows of a tile, at most."""
AT_ONCE = 16
"""Parts of the work that are done at once, at most: sums are cut by it, not by how many threads
there are."""
PRECISE = 2 * 10**7
"""Pairs of float32 rows up to which everything is float64; beyond, tiles are float32 and only their
sums float64."""


def spread(work: Callable[[Any], Any], parts: list[Any]) -> list[Any]:
    """work(part) for each part, on all threads, with BLAS on one in each.

    Results in the order of the parts.
    """
    many = min(threads(), AT_ONCE, len(parts))
    if many <= 1:
        return [work(part) for part in parts]
    with nullcontext() if is_shared() else own_threads(), ThreadPoolExecutor(many) as pool:
        futures = [pool.submit(work, part) for part in parts]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


def spans(n: int, high: int) -> list[slice]:
    """0..n cut into slices of nearly equal length, at most `high`.

    >>> spans(5, 2)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    count = max(1, -(-n // high))
    ends = [round(n * i / count) for i in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


class OutOfTime(Exception):  # noqa: N818 - a reason to compare fewer rows, not an error
    """The time for comparisons is over."""


def check(deadline: Deadline | None) -> None:
    """Raise `OutOfTime` once the deadline has passed."""
    if deadline is not None and deadline.passed:
        raise OutOfTime


def image(
    X: Any,
    others: Any,
    weights: Vector,
    similarity: Similarity,
    dtype: Any,
    centre: Matrix | None,
    memory: int,
    deadline: Deadline | None = None,
) -> Vector:
    """Σ_j weights_j k(x_i, other_j) for each row of X, (n,): one tile at a time.

    others: (m, d) rows, weights: (m,).
    """
    n, m = X.shape[0], others.shape[0]
    entries = tile_entries(memory)
    wide = max(1, min(m, entries))
    high = max(1, min(HIGH, entries // wide)) if m <= entries // HIGH else HIGH
    most = tile_rows(X.shape[1], memory)
    high = min(max(high, min(n, entries // max(m, 1))), most)
    columns = spans(m, max(1, min(entries // high, most)))

    def work(part: slice) -> Vector:
        left = similarity.left(X[part], centre, dtype)
        total = np.zeros(part.stop - part.start)
        for column in columns:
            check(deadline)
            block = similarity.between(left, similarity.right(others[column], centre, dtype))
            total += block.astype(np.float64, copy=False) @ weights[column]
        return total

    return np.concatenate(spread(work, spans(n, high))) if m else np.zeros(n)


def tile_entries(memory: int) -> int:
    """Entries of a tile so that all tiles at once, with their temporaries, take an eighth of the memory."""
    return int(min(TILE, max(memory // (64 * AT_ONCE), 1)))


def tile_rows(d: int, memory: int) -> int:
    """Rows of d columns at one side of a tile, so that those of all tiles at once, prepared, take as much again."""
    return max(1, memory // (64 * AT_ONCE * d))


def own_image(
    X: Any,
    weights: Vector,
    similarity: Similarity,
    dtype: Any,
    centre: Matrix | None,
    memory: int,
    deadline: Deadline | None = None,
) -> Vector:
    """Σ_j weights_j k(x_i, x_j) for each row, (n,); each pair is compared once."""
    n = X.shape[0]
    parts = spans(
        n, max(1, min(HIGH, int(tile_entries(memory) ** 0.5), tile_rows(X.shape[1], memory)))
    )
    shares = [list(_every(len(parts), first, AT_ONCE)) for first in range(AT_ONCE)]

    def work(rows: list[int]) -> Vector:
        total = np.zeros(n)
        for i in rows:
            left = similarity.left(X[parts[i]], centre, dtype)
            for j in range(i, len(parts)):
                check(deadline)
                block = similarity.between(left, similarity.right(X[parts[j]], centre, dtype))
                block = block.astype(np.float64, copy=False)
                total[parts[i]] += block @ weights[parts[j]]
                if i != j:
                    total[parts[j]] += weights[parts[i]] @ block
        return total

    return np.asarray(sum(spread(work, shares)))


def own_block(X: Any, units: Indices, similarity: Similarity, centre: Matrix | None) -> Vector:
    """The similarities of some rows to each other in float64, (s, s).

    Each pair is compared once.
    """
    parts = spans(len(units), HIGH)
    block = np.empty((len(units), len(units)))
    rows = [X[units[part]] for part in parts]
    rights = [similarity.right(part, centre, np.float64) for part in rows]

    def work(i: int) -> None:
        left = similarity.left(rows[i], centre, np.float64)
        for j in range(i, len(parts)):
            block[parts[i], parts[j]] = similarity.between(left, rights[j])
            if i != j:
                block[parts[j], parts[i]] = block[parts[i], parts[j]].T
        here = block[parts[i], parts[i]]
        here[:] = (here + here.T) / 2.0

    spread(work, list(range(len(parts))))
    return block


def _every(count: int, first: int, step: int) -> Iterator[int]:
    """Rows of tiles for one part of `step`: to and fro, so that long and short ones are shared alike."""
    for i in range(count):
        turn, position = divmod(i, step)
        if (position if turn % 2 == 0 else step - 1 - position) == first:
            yield i
