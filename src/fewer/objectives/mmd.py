"""Maximum mean discrepancy, with a matrix of similarities at hand, or over rows whose matrix is never formed.

Sums over pairs of rows are taken in tiles, never more of the matrix than one tile for each thread.
They are cut alike for any number of threads, so that number decides no digit.
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_distribution,
    as_vector,
    shown,
)
from ..deadline import Deadline
from ..distances import Matrix
from ..lazy_rows import LazyRows, as_rows, some_rows
from ..similarity import Similarity, require_semidefinite
from ..spaces import Atoms, Space, as_space
from ..threads import is_shared, own_threads, threads
from .quadratic import MOST_OFFSET, Discrepancy

TILE = 2**19
"""Entries of a tile: a few megabytes stay near the processor."""
BLOCK_SIDE = 512
"""Rows of a tile of a block that is kept."""
AT_ONCE = 16
"""Parts of the work that are done at once, at most."""
MAX_PRECISE_PAIRS = 2 * 10**7
"""Pairs of float32 rows up to which everything is float64; beyond, tiles are float32 and only their
sums float64."""
Labels = tuple[Indices, Indices]
"""Labels of some rows, and of those they are compared with."""


@dataclass(frozen=True, eq=False)
class MMD(Discrepancy):
    """Maximum mean discrepancy from a distribution t, with the matrix of similarities at hand.

    The paper's section 4.2.

        F[p] = MMD²(p, t) = (p - t)ᵀ K (p - t)

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    gram : array of shape (size, size)
        K, symmetric and positive semi-definite.
    target : array of shape (size,)
        t, a distribution.

    Attributes
    ----------
    smoothness : float
        Twice the largest eigenvalue of K.

    References
    ----------
    Gretton et al. (2012), A kernel two-sample test.

    Examples
    --------
    >>> from fewer import Atoms
    >>> F = MMD(Atoms(3), np.eye(3), [0.2, 0.3, 0.5])
    >>> round(F.value_on(np.array([1, 2])), 6), F.best_on(np.array([1, 2])).round(6).tolist()
    (0.06, [0.0, 0.4, 0.6])
    """

    spectral_error = 1e-6

    space: Space
    gram: Any
    target: Any

    def __post_init__(self) -> None:
        as_space(self.space, "MMD")
        size = self.space.size
        gram = as_array(self.gram, "gram")
        if gram.shape != (size, size):
            raise InvalidInput(f"gram must have shape ({size}, {size}), got {gram.shape}")
        require_semidefinite(gram, "gram")
        target = as_distribution(as_vector(self.target, self.space.shape, "target"), "target")
        object.__setattr__(self, "gram", gram)
        object.__setattr__(self, "target", target)

    @cached_property
    def _similarities(self) -> Vector:
        """K, or the inner products about the target where most of K is an offset that counts for nothing."""
        mean = self.gram @ self.target
        constant = float(self.target @ mean)
        distances = np.diag(self.gram) - 2.0 * mean + constant
        if np.abs(np.diag(self.gram)).mean() <= MOST_OFFSET * np.abs(distances).mean():
            return np.asarray(self.gram)
        centred = self.gram - mean - mean[:, None] + constant
        return np.asarray(0.5 * (centred + centred.T))

    @cached_property
    def mean(self) -> Vector:
        """c = K t, the mean similarity of each entry to the target."""
        return np.asarray(self._similarities @ self.target)

    @cached_property
    def constant(self) -> float:
        """tᵀ K t, the value at p = 0."""
        return float(self.target @ self.mean)

    @property
    def diagonal(self) -> Vector:
        """The similarity of each entry to itself, (size,)."""
        return np.diag(self._similarities)

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of K, (len(units), len(others))."""
        return np.asarray(self._similarities[np.ix_(units, others)])

    def image(self, units: Indices, weights: Vector) -> Vector:
        """K q for these weights, (size,)."""
        rows = self._similarities[units]  # rows are contiguous, and K is symmetric
        return np.asarray(weights @ rows)


@dataclass(frozen=True, eq=False)
class RowsMMD(Discrepancy):
    """Maximum mean discrepancy over the rows of a data set, whose matrix of similarities is never formed.

        F[p] = MMD²(p, t) = pᵀKp - 2 cᵀp + constant,   c = K t, constant = tᵀKt for a target t

    The target may have more rows than these: only c and the constant know it. K is only ever formed
    in tiles and in blocks of the rows asked for. Where there are more than 2e7 pairs of float32
    rows, or 4e8 of any, slopes and means are sums in float64 of similarities in float32 (an
    absolute error of a few 1e-8); blocks of K are always float64. `RowsMMD.between(rows, target,
    similarity)` computes c and the constant for a target on the same rows.

    Parameters
    ----------
    space : Atoms
        Where p lives: one atom for each row.
    rows : array, CSR matrix or LazyRows of shape (size, d)
        What is compared.
    similarity : Similarity
        How; see `fewer.similarity`.
    mean : array of shape (size,)
        c.
    constant : float
        tᵀKt.
    labels : array of int of shape (size,), optional
        Rows of different labels have similarity zero.
    memory : int
        Bytes that tiles and blocks may take.

    Attributes
    ----------
    smoothness : float
        Twice the largest eigenvalue of K.

    References
    ----------
    Gretton et al. (2012), A kernel two-sample test.

    Examples
    --------
    >>> from fewer.similarity import similarity_of
    >>> F = RowsMMD.between(
    ...     np.array([[0.0], [1.0], [5.0]]), np.full(3, 1 / 3), similarity_of("rbf", 1.0)
    ... )
    >>> F.best_on(np.array([0, 2])).round(3).tolist()
    [0.561, 0.0, 0.439]
    """

    space: Space
    rows: Any
    similarity: Similarity
    mean: Vector
    constant: float
    labels: Indices | None = None
    memory: int = 2**30

    @classmethod
    def between(
        cls,
        rows: Any,
        target: Vector,
        similarity: Similarity,
        *,
        labels: Indices | None = None,
        memory: int = 2**30,
        space: Space | None = None,
        deadline: Deadline | None = None,
    ) -> "RowsMMD":
        """The discrepancy from weights on the same rows, all pairs compared once.

        `OutOfTime` past a deadline.
        """
        rows = as_comparable_rows(rows, similarity)
        target = as_distribution(as_vector(target, rows.shape[:1], "target"), "target")
        both = None if labels is None else (labels, labels)
        mean = mean_similarities(rows, rows, target, similarity, both, memory, deadline)
        where = Atoms(rows.shape[0]) if space is None else space
        return cls(where, rows, similarity, mean, float(target @ mean), labels, memory)

    @cached_property
    def _centre(self) -> Matrix | None:
        return self.similarity.centre(self.rows)

    @cached_property
    def diagonal(self) -> Vector:
        """The similarity of each row to itself, (size,)."""
        return self.similarity.itself(self.rows)

    @property
    def entry_cost(self) -> float:
        """One multiplication for each column, and what a similarity costs."""
        return float(self.rows.shape[1]) + 20.0

    @cached_property
    def _prepared(self) -> Any:
        """The prepared rows in float64 where they take little of the memory, else None."""
        size = 8 * self.space.size * (self.rows.shape[1] + 2)
        if size > self.memory // 8 or not self.similarity.sparse:
            return None
        return self.similarity.left(self.rows[:], self._centre, np.float64)

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of K in float64, (len(units), len(others)); on the diagonal it is exact."""
        compare, centre = self.similarity, self._centre
        if units is others:
            block: Any = own_block(self.rows, units, compare, centre)
            np.fill_diagonal(block, self.diagonal[units])
        elif len(units) == 1 and len(others) == self.space.size and self._prepared is not None:
            right = compare.right(self.rows[units], centre, np.float64)
            block = compare.between(self._prepared, right)[others].T
        else:
            left = compare.left(self.rows[units], centre, np.float64)
            right = compare.right(self.rows[others], centre, np.float64)
            block = compare.between(left, right)
        block = np.asarray(block, np.float64)
        if self.labels is not None:
            block *= self.labels[units][:, None] == self.labels[others]
        return np.asarray(block)

    def image(self, units: Indices, weights: Vector) -> Vector:
        """K q for these weights, (size,)."""
        if not len(units):
            return np.zeros(self.space.size)
        both = None if self.labels is None else (self.labels, self.labels[units])
        dtype = precision(self.rows, self.space.size)
        how = self.similarity, both, self.memory, None, dtype, self._centre
        return mean_similarities(self.rows, self.rows[units], weights, *how)


def as_comparable_rows(rows: Any, similarity: Any) -> Any:
    """Return finite rows (n, d), dense or CSR, that a similarity can compare."""
    if not isinstance(similarity, Similarity):
        raise InvalidInput(
            f"similarity must be made by fewer.similarity.similarity_of, got {shown(similarity)}"
        )
    return rows if isinstance(rows, LazyRows) else as_rows(rows, "rows")


def precision(rows: Any, others: int) -> type:
    """Return the type in which rows are compared with so many others."""
    most = MAX_PRECISE_PAIRS if rows.dtype == np.float32 else 20 * MAX_PRECISE_PAIRS
    return np.float32 if rows.shape[0] * others > most else np.float64


def mean_similarities(
    rows: Any,
    data: Any,
    weights: Vector,
    similarity: Similarity,
    labels: Labels | None = None,
    memory: int = 2**30,
    deadline: Deadline | None = None,
    dtype: Any = None,
    centre: Matrix | None = None,
) -> Vector:
    """Compute Σ_j weights_j s(row_i, data_j) for each row (n, d), (n,); `OutOfTime` past the deadline.

    labels: of the rows and of the data (m, d), of which those with equal ones are compared.
    """
    how = memory, deadline, dtype, centre
    if labels is not None:
        total = np.zeros(rows.shape[0])
        for label in np.unique(labels[1]):
            here, there = (np.flatnonzero(each == label) for each in labels)
            some = some_rows(rows, here)
            others = some if data is rows else some_rows(data, there)
            total[here] = mean_similarities(some, others, weights[there], similarity, None, *how)
        return total
    if similarity.plain:
        return _mean_products(rows, data, weights, similarity, memory, deadline)
    dtype = precision(rows, data.shape[0]) if dtype is None else dtype
    centre = similarity.centre(data) if centre is None else centre
    if data is rows:
        return _own_sums(rows, weights, similarity, memory, deadline, dtype, centre)
    high, wide = tile_shape(data.shape[0], rows.shape[1], memory)
    columns = spans(data.shape[0], wide)

    def work(part: slice) -> Vector:
        left = similarity.left(rows[part], centre, dtype)
        total = np.zeros(part.stop - part.start)
        for column in columns:
            check(deadline)
            block = similarity.between(left, similarity.right(data[column], centre, dtype))
            total += block.astype(np.float64, copy=False) @ weights[column]
        return total

    return np.concatenate(spread(work, spans(rows.shape[0], high)))


def _mean_products(
    rows: Any,
    data: Any,
    weights: Vector,
    similarity: Similarity,
    memory: int,
    deadline: Deadline | None,
) -> Vector:
    """Compute the sums of inner products in float64, xᵀm for each row x and the sum m of the weighted data."""
    high, _ = tile_shape(1, data.shape[1], memory)
    middle = np.zeros(data.shape[1])
    for part in spans(data.shape[0], high):
        check(deadline)
        middle += similarity.left(data[part], dtype=np.float64).T @ weights[part]
    parts = spans(rows.shape[0], high)
    return np.concatenate([similarity.left(rows[p], dtype=np.float64) @ middle for p in parts])


def _own_sums(
    rows: Any,
    weights: Vector,
    similarity: Similarity,
    memory: int,
    deadline: Deadline | None,
    dtype: Any,
    centre: Matrix | None,
) -> Vector:
    """Compute the sums of rows with themselves: each pair is compared once."""
    n = rows.shape[0]
    parts = spans(n, tile_shape(n, rows.shape[1], memory)[1])

    def work(first: int) -> Vector:
        total = np.zeros(n)
        for i in range(first, len(parts), AT_ONCE):
            here = parts[i]
            for other, block in own_tiles(rows, parts, i, similarity, dtype, centre, deadline):
                tile = block.astype(np.float64, copy=False)
                total[here] += tile @ weights[other]
                if other != here:
                    total[other] += weights[here] @ tile
        return total

    return np.asarray(sum(spread(work, list(range(AT_ONCE)))))


def own_tiles(
    rows: Any,
    parts: list[slice],
    i: int,
    similarity: Similarity,
    dtype: Any,
    centre: Matrix | None,
    deadline: Deadline | None = None,
) -> Iterator[tuple[slice, Matrix]]:
    """Compare part i of rows with itself and with each later part; `OutOfTime` past the deadline."""
    left = similarity.left(rows[parts[i]], centre, dtype)
    for part in parts[i:]:
        check(deadline)
        yield part, similarity.between(left, similarity.right(rows[part], centre, dtype))


def own_block(X: Any, units: Indices, similarity: Similarity, centre: Matrix | None) -> Vector:
    """Compute the similarities of some rows to each other in float64, (s, s), each pair once."""
    rows, parts = X[units], spans(len(units), BLOCK_SIDE)
    block = np.empty((len(units), len(units)))

    def work(i: int) -> None:
        for part, tile in own_tiles(rows, parts, i, similarity, np.float64, centre):
            block[parts[i], part] = tile
            block[part, parts[i]] = tile.T
        here = block[parts[i], parts[i]]
        here[:] = (here + here.T) / 2.0

    spread(work, list(range(len(parts))))
    return block


def tile_shape(others: int, columns: int, memory: int) -> tuple[int, int]:
    """Return height and width of tiles that compare rows with so many others.

    All tiles at once, with their temporaries, take an eighth of the memory, their rows as much.
    """
    entries = memory // (64 * AT_ONCE)
    most = max(1, entries // columns)
    entries = max(1, min(TILE, entries))
    wide = max(1, min(others, math.isqrt(entries), most))
    return min(entries // wide, most), wide


def spans(n: int, high: int) -> list[slice]:
    """Cut 0..n into slices of nearly equal length, at most `high`.

    >>> spans(5, 2)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    count = max(1, -(-n // high))
    ends = [round(n * i / count) for i in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


def spread(work: Callable[[Any], Any], parts: list[Any]) -> list[Any]:
    """Return work(part) for each part, in order, computed on all threads with BLAS on one in each."""
    many = min(threads(), AT_ONCE, len(parts))
    if many <= 1:
        return [work(part) for part in parts]
    with nullcontext() if is_shared() else own_threads(), ThreadPoolExecutor(many) as pool:
        return list(pool.map(work, parts))


class OutOfTime(Exception):  # noqa: N818 - a reason to compare fewer rows, not an error
    """The time for comparisons is over."""


def check(deadline: Deadline | None) -> None:
    """Raise `OutOfTime` once the deadline has passed."""
    if deadline is not None and deadline.passed:
        raise OutOfTime
