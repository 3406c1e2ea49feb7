"""Tables of encoded rows that are filled column by column, dense or sparse."""

import math
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Indices
from ..parallel import zeros

MISMATCH = 2.0
"""What a mismatch of categories adds to a squared distance: the mean squared difference of two rows, drawn at random,
in a column of standard deviation one."""
MARK = math.sqrt(MISMATCH / 2.0)
"""What stands in the column of a category where a row has it."""
MAX_DENSE_WIDTH, MAX_FILLED_SHARE = 100, 0.3
"""Encoded columns beyond which rows with a smaller share of entries than this are kept as CSR."""


def is_thin(columns: int, width: int) -> bool:
    """Whether so many columns fill so little of the encoded ones that these are kept as CSR."""
    return width > MAX_DENSE_WIDTH and columns / max(width, 1) < MAX_FILLED_SHARE


class DenseRows:
    """Rows that are filled column by column."""

    def __init__(self, encoding: Any, n: int) -> None:
        self.table = zeros((n, encoding.width), encoding.dtype)
        self.slot = encoding.width > encoding.numbers and not encoding.equality
        self.unknown: Any = 0.0

    def block(self, start: int, stop: int) -> "DenseRows":
        """Some of the rows, to be filled in the same way."""
        part = copy(self)
        part.table = self.table[start:stop]
        return part

    def put(self, start: int, values: Any) -> None:  # noqa: D102
        self.table[:, start] = values

    def choose(self, start: int, at: Indices) -> None:  # noqa: D102
        width = self.table.shape[1]
        entries = (
            np.arange(start, start + len(at) * width, width) + at
        )  # of the table as one long row
        if at.min(initial=0) < 0:
            entries = entries[at >= 0]
        self.table.reshape(-1)[entries] = MARK

    def done(self) -> Any:  # noqa: D102
        if self.slot and np.any(self.unknown):
            self.table[:, -1] = np.sqrt(self.unknown)
        return self.table


class SparseRows:
    """The same as CSR: each row has as many entries as there are columns in the table, flags and one more."""

    def __init__(self, encoding: Any, n: int) -> None:
        each = len(encoding.codes) + sum(code.flag >= 0 for code in encoding.codes) + 1
        self.indices, self.data = np.zeros((n, each), np.int32), np.zeros((n, each), encoding.dtype)
        self.width, self.used = encoding.width, 0
        self.unknown: Any = 0.0

    def put(self, start: int, values: Any) -> None:  # noqa: D102
        self.indices[:, self.used], self.data[:, self.used] = start, values
        self.used += 1

    def choose(self, start: int, at: Indices) -> None:  # noqa: D102
        self.put(start, np.where(at >= 0, MARK, 0.0))
        self.indices[:, self.used - 1] += np.maximum(at, 0).astype(np.int32)

    def done(self) -> Any:  # noqa: D102
        n = len(self.data)
        self.put(self.width - 1, np.sqrt(self.unknown))
        while self.used < self.data.shape[1]:  # flags that were not set
            self.put(self.width - 1, 0.0)
        starts = np.arange(n + 1, dtype=np.int64) * self.data.shape[1]
        rows = sp.csr_array(
            (self.data.reshape(-1), self.indices.reshape(-1), starts), shape=(n, self.width)
        )
        rows.eliminate_zeros()
        rows.sum_duplicates()
        return rows
