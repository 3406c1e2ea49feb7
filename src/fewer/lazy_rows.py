"""Rows of a table that are picked, scaled and shifted when they are asked for: never a second table in memory."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._validation import InvalidInput, as_array, as_numbers
from .codes import as_csr

Indices = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LazyRows:
    """(X - shift) factor, some rows of it; indexed as an array is, by a slice or by row numbers.

    `index` (n,) are the rows of X, all if None; `shift` and `factor` (d,) apply to columns. Sparse
    rows have no shift.

    >>> LazyRows(np.array([[1.0], [2.0], [4.0]]), np.array([0, 2]), factor=np.array([2.0]))[
    ...     :
    ... ].tolist()
    [[2.0], [8.0]]
    """

    X: Any
    index: Indices | None = None
    shift: Vector | None = None
    factor: Vector | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.X.shape[0] if self.index is None else len(self.index)), self.X.shape[1]

    @property
    def dtype(self) -> Any:
        """The precision of the rows; those that are scaled or shifted are float64."""
        return self.X.dtype if self.as_they_are else np.dtype(np.float64)

    @property
    def sparse(self) -> bool:
        """Whether the rows are `scipy.sparse`."""
        return bool(sp.issparse(self.X))

    @property
    def as_they_are(self) -> bool:
        """Whether nothing is scaled or shifted."""
        return self.shift is None and self.factor is None

    def __getitem__(self, part: Any) -> Any:
        rows = self.X[part if self.index is None else self.index[part]]
        if self.shift is not None:
            rows = rows - self.shift
        if self.factor is None:
            return rows
        return sp.csr_array(rows.multiply(self.factor)) if self.sparse else rows * self.factor

    def take(self, index: Indices) -> "LazyRows":
        """Return some of the rows."""
        return replace(self, index=index if self.index is None else self.index[index])


def some_rows(X: Any, index: Indices) -> Any:
    """Return rows of X without copying them: X itself where they are all of it, in order."""
    if len(index) == X.shape[0] and np.array_equal(index, np.arange(len(index))):
        return X
    return (X if isinstance(X, LazyRows) else LazyRows(X)).take(index)


def in_memory(X: Any, memory: int) -> Any:
    """Return rows as an array or CSR where that takes no more than so many bytes, else as they are."""
    if not isinstance(X, LazyRows):
        return X
    if X.index is None and X.as_they_are:
        return X.X
    each = X.shape[1] if not X.sparse else 2 + X.X.nnz // max(X.X.shape[0], 1)
    return X[:] if 8 * X.shape[0] * each <= memory else X


def as_rows(X: Any, name: str) -> Any:
    """Return finite rows (n, d), dense or CSR; float32 and float64 stay so."""
    rows: Any = as_csr(X, name) if sp.issparse(X) else as_numbers(X, name)
    if len(rows.shape) != 2 or 0 in rows.shape:
        raise InvalidInput(
            f"{name} must have shape (rows, columns) with at least one of each, got {rows.shape}"
        )
    if rows.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} must hold real numbers, got dtype {rows.dtype}")
    entries = rows.data if sp.issparse(rows) else rows
    if entries.size and not np.isfinite([entries.min(), entries.max()]).all():
        if sp.issparse(rows):
            every = rows.tocoo()
            at = int(np.argmin(np.isfinite(entries)))
            place = f"{every.row[at]}, {every.col[at]}"
            raise InvalidInput(f"{name} must be finite, got {entries[at]} at index {place}")
        as_array(entries, name)  # says where
    if rows.dtype not in (np.float32, np.float64) or not rows.dtype.isnative:
        rows = rows.astype(np.float64)
    return rows if sp.issparse(rows) else np.ascontiguousarray(rows)
