"""Sums over pairs of rows in tiles: never more of the matrix of similarities than one tile for each thread."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from ..door import Indices, Vector
from ..similarity import Matrix, Similarity

TILE = 2**19
"""Entries of a tile: a few megabytes stay near the processor."""
HIGH = 512
"""Rows of a tile, at most."""
PRECISE = 2 * 10**7
"""Pairs up to which everything is float64; beyond, tiles are float32 and only their sums float64."""


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def threads() -> int:
    """As many threads as BLAS would use, so that the user's settings for it hold."""
    return max([pool["num_threads"] for pool in _controller().info() if pool["user_api"] == "blas"], default=1)


def spread(work: Callable[[Any], Any], parts: list[Any]) -> list[Any]:
    """work(part) for each part, on all threads, with BLAS on one in each; results in the order of the parts."""
    many = min(threads(), len(parts))
    if many <= 1:
        return [work(part) for part in parts]
    with _controller().limit(limits=1, user_api="blas"), ThreadPoolExecutor(many) as pool:
        return list(pool.map(work, parts))


def spans(n: int, high: int) -> list[slice]:
    """0..n cut into slices of nearly equal length, at most `high`.

    >>> spans(5, 2)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    count = max(1, -(-n // high))
    ends = [round(n * i / count) for i in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


def centre_of(X: Any, similarity: Similarity) -> Matrix | None:
    """What may be subtracted from all rows without changing a similarity, and keeps rounding small."""
    if sp.issparse(X) or not similarity.sparse or similarity.plain:
        return None
    return np.asarray(X.mean(axis=0, dtype=np.float64))


def cut(X: Any, part: slice | Indices, centre: Matrix | None, dtype: Any) -> Any:
    """Some rows of X, centred and in a precision; codes and row numbers stay what they are."""
    rows = X[part]
    if centre is not None:
        return (rows - centre).astype(dtype, copy=False)
    return rows.astype(dtype) if rows.dtype.kind == "f" and rows.dtype != dtype else rows


def image(
    X: Any, others: Any, weights: Vector, similarity: Similarity, dtype: Any, centre: Matrix | None, memory: int
) -> Vector:
    """Σ_j weights_j k(x_i, other_j) for each row of X, (n,): one tile at a time.

    others: (m, d) rows, weights: (m,).
    """
    n, m = X.shape[0], others.shape[0]
    entries = tile_entries(memory)
    wide = max(1, min(m, entries))
    high = max(1, min(HIGH, entries // wide)) if m <= entries // HIGH else HIGH
    high = max(high, min(n, entries // max(m, 1)))
    columns = spans(m, max(1, entries // high))
    scaled = weights.astype(dtype, copy=False)

    def work(part: slice) -> Vector:
        left = similarity.left(cut(X, part, centre, dtype))
        total = np.zeros(left.shape[0])
        for column in columns:
            total += similarity.between(left, similarity.right(cut(others, column, centre, dtype))) @ scaled[column]
        return total

    return np.concatenate(spread(work, spans(n, high))) if m else np.zeros(n)


def tile_entries(memory: int) -> int:
    """Entries of a tile so that all threads' tiles, with their temporaries, take an eighth of the memory."""
    return int(min(TILE, max(memory // (64 * threads()), 1)))


def own_image(
    X: Any, weights: Vector, similarity: Similarity, dtype: Any, centre: Matrix | None, memory: int
) -> Vector:
    """Σ_j weights_j k(x_i, x_j) for each row, (n,); each pair is compared once."""
    n = X.shape[0]
    parts = spans(n, max(1, min(HIGH, int(tile_entries(memory) ** 0.5))))
    scaled = weights.astype(dtype, copy=False)
    shares = [list(_every(len(parts), first, threads())) for first in range(threads())]

    def work(rows: list[int]) -> Vector:
        total = np.zeros(n)
        for i in rows:
            left = similarity.left(cut(X, parts[i], centre, dtype))
            for j in range(i, len(parts)):
                block = similarity.between(left, similarity.right(cut(X, parts[j], centre, dtype)))
                total[parts[i]] += block @ scaled[parts[j]]
                if i != j:
                    total[parts[j]] += scaled[parts[i]] @ block
        return total

    return np.asarray(sum(spread(work, shares)))


def _every(count: int, first: int, step: int) -> Iterator[int]:
    """Rows of tiles for one thread of `step`: to and fro, so that long and short ones are shared alike."""
    for i in range(count):
        turn, place = divmod(i, step)
        if (place if turn % 2 == 0 else step - 1 - place) == first:
            yield i
