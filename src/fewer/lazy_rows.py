"""Rows of a table that are picked, scaled and shifted when they are asked for: never a second table in memory."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .bandwidths import scaled_rows

Indices = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LazyRows:
    """(X 2^exponent - shift) factor, some rows of it.

    Indexed as an array is, by a slice or by row numbers.

    `index` (n,) are the rows of X, all if None; `shift` and `factor` (d,) apply to columns, and
    `exponent` may be one number for each of them. Sparse rows have no shift.

    >>> LazyRows(np.array([[1.0], [2.0], [4.0]]), np.array([0, 2]), exponent=1)[:].tolist()
    [[2.0], [8.0]]
    """

    X: Any
    index: Indices | None = None
    exponent: Any = 0
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
        return not np.any(self.exponent) and self.shift is None and self.factor is None

    def __getitem__(self, part: Any) -> Any:
        rows = self.X[part if self.index is None else self.index[part]]
        rows = scaled_rows(rows, self.exponent)
        if self.shift is not None:
            rows = rows - self.shift
        if self.factor is not None:
            rows = (
                sp.csr_array(rows.multiply(self.factor))
                if sp.issparse(rows)
                else rows * self.factor
            )
        return rows

    def times_power_of_two(self, exponent: int) -> "LazyRows":
        """Return the rows times 2^exponent."""
        if exponent == 0:
            return self
        if self.shift is None and self.factor is None:
            return replace(self, exponent=self.exponent + exponent)
        factor = np.ones(self.shape[1]) if self.factor is None else self.factor
        return replace(self, factor=np.ldexp(factor, exponent))

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
