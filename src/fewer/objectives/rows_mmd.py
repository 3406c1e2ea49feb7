"""Maximum mean discrepancy over the rows of a data set, without ever forming their matrix of similarities."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_distribution,
    as_numbers,
    as_vector,
    shown,
)
from ..codes import as_csr
from ..deadline import Deadline
from ..distances import Matrix
from ..lazy_rows import LazyRows, some_rows
from ..similarity import Similarity
from ..spaces import Atoms, Space
from .pairs import PRECISE, check, image, own_block, own_image, spans, tile_rows
from .quadratic import Discrepancy


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
        mean = own_mean(rows, target, similarity, labels, memory, deadline)
        where = Atoms(rows.shape[0]) if space is None else space
        return cls(where, rows, similarity, mean, float(target @ mean), labels, memory)

    @cached_property
    def _dtype(self) -> type:
        return precision(self.rows, self.space.size)

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
        if (
            self.space.size * (self.rows.shape[1] + 2) * 8 > self.memory // 8
            or not self.similarity.sparse
        ):
            return None
        return self.similarity.left(self.rows[:], self._centre, np.float64)

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of K in float64, (len(units), len(others)); on the diagonal it is exact."""
        if units is others:
            block = own_block(self.rows, units, self.similarity, self._centre)
            np.fill_diagonal(block, self.diagonal[units])
        elif len(others) == self.space.size and len(units) == 1 and self._prepared is not None:
            right = self.similarity.right(self.rows[units], self._centre, np.float64)
            block = np.asarray(self.similarity.between(self._prepared, right)[others].T, np.float64)
        else:
            left = self.similarity.left(self.rows[units], self._centre, np.float64)
            right = self.similarity.right(self.rows[others], self._centre, np.float64)
            block = np.asarray(self.similarity.between(left, right), np.float64)
        if self.labels is not None:
            block *= self.labels[units][:, None] == self.labels[others][None, :]
        return np.asarray(block)

    def image(self, units: Indices, weights: Vector) -> Vector:
        """K q for these weights, (size,)."""
        args = self.similarity, self._dtype, self._centre, self.memory
        if self.labels is None:
            return image(self.rows, self.rows[units], weights, *args)

        def among(here: Indices, mine: Indices) -> Vector:
            return image(some_rows(self.rows, here), self.rows[units[mine]], weights[mine], *args)

        return by_label((self.labels, self.labels[units]), among)


def by_label(
    labels: tuple[Indices, Indices], among: Callable[[Indices, Indices], Vector]
) -> Vector:
    """What some rows have of others of their own label, (n,): among(here, there) for each label."""
    total = np.zeros(len(labels[0]))
    for label in np.unique(labels[1]):
        here, there = (np.flatnonzero(each == label) for each in labels)
        total[here] = among(here, there)
    return total


def precision(rows: Any, others: int) -> type:
    """The type in which rows are compared with so many others."""
    pairs = rows.shape[0] * others
    return (
        np.float32
        if pairs > (PRECISE if rows.dtype == np.float32 else 20 * PRECISE)
        else np.float64
    )


def as_comparable_rows(rows: Any, similarity: Any) -> Any:
    """Rows (n, d) that a similarity can compare: finite, dense or CSR.

    The numbers of rows where it is a matrix.
    """
    if not isinstance(similarity, Similarity):
        raise InvalidInput(
            f"similarity must be made by fewer.similarity.similarity_of, got {shown(similarity)}"
        )
    if isinstance(rows, LazyRows):
        return rows
    table: Any = as_csr(rows, "rows") if sp.issparse(rows) else as_numbers(rows, "rows")
    if len(table.shape) != 2 or 0 in table.shape:
        raise InvalidInput(
            f"rows must have shape (rows, columns) with at least one of each, got {table.shape}"
        )
    if table.dtype.kind not in "fiub":
        raise InvalidInput(f"rows must hold real numbers, got dtype {table.dtype}")
    entries = table.data if sp.issparse(table) else table
    if entries.size and not (np.isfinite(entries.min()) and np.isfinite(entries.max())):
        as_array(entries, "rows")  # says where
    if table.dtype in (np.float32, np.float64) or similarity.name == "precomputed":
        return table
    return table.astype(np.float64) if sp.issparse(table) else as_array(table, "rows")


def own_mean(
    rows: Any,
    target: Vector,
    similarity: Similarity,
    labels: Indices | None,
    memory: int,
    deadline: Deadline | None = None,
) -> Vector:
    """K t for weights t on the rows themselves, (n,)."""
    how = similarity, memory, deadline
    if labels is not None:
        return by_label(
            (labels, labels),
            lambda here, _: own_mean(
                some_rows(rows, here), target[here], similarity, None, memory, deadline
            ),
        )
    if similarity.plain:
        return plain_mean(rows, rows, target, *how)
    dtype, centre = precision(rows, rows.shape[0]), similarity.centre(rows)
    return own_image(rows, target, similarity, dtype, centre, memory, deadline)


def mean_to(
    rows: Any,
    data: Any,
    target: Vector,
    similarity: Similarity,
    labels: tuple[Indices, Indices] | None,
    memory: int,
    deadline: Deadline | None = None,
) -> Vector:
    """Σ_j target_j k(row_i, data_j) for each of the rows, (n,).

    labels: of the rows, and of the data.
    """
    how = similarity, memory, deadline
    if labels is not None:

        def among(here: Indices, there: Indices) -> Vector:
            part = some_rows(data, there)
            return mean_to(rows[here], part, target[there], similarity, None, memory, deadline)

        return by_label(labels, among)
    if similarity.plain:
        return plain_mean(rows, data, target, *how)
    dtype, centre = precision(rows, data.shape[0]), similarity.centre(data)
    return image(rows, data, target, similarity, dtype, centre, memory, deadline)


def plain_mean(
    rows: Any,
    data: Any,
    target: Vector,
    similarity: Similarity,
    memory: int,
    deadline: Deadline | None,
) -> Vector:
    """The same for an inner product, in float64: with the mean m of the prepared data it is xᵀm for each row x."""
    middle = np.zeros(data.shape[1])
    for part in spans(data.shape[0], tile_rows(data.shape[1], memory)):
        check(deadline)
        middle += similarity.left(data[part], dtype=np.float64).T @ target[part]
    parts = spans(rows.shape[0], tile_rows(rows.shape[1], memory))
    lefts = (similarity.left(rows[part], dtype=np.float64) for part in parts)
    return np.concatenate([left @ middle for left in lefts])
