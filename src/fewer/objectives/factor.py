"""Many rows and few columns: the triangular factor of [A b] says all that ‖A p - b‖² does."""

from typing import Any

import numpy as np

from .._validation import Vector
from ..row_blocks import canonical_rows, merged_in_tree
from ..threads import own_threads

MIN_TALL_ROWS, TALL_ROWS_PER_COLUMN = 4096, 8
"""Rows from which a matrix is factored, and so many for each column: below, searches cost less than
the factor."""
MAX_TALL_COLUMNS = 600
"""Columns up to which it is: beyond, searches look at few of them, and the factor is of all."""
PART_ROWS = 1000
"""Rows that are factored at a time: they stay in the cache."""
BLOCK_COLUMNS = 32
"""Columns that LAPACK eliminates at once."""
MAX_FACTOR_WORK = 1e11
"""Multiplications of a factor, at most: some seconds, which no callback interrupts."""


def is_tall(A: Any) -> bool:
    """Whether a matrix in memory is worth its factor."""
    if not isinstance(A, np.ndarray):
        return False
    r, n = A.shape
    least = max(MIN_TALL_ROWS, TALL_ROWS_PER_COLUMN * (n + 1))
    return bool(r >= least and n <= MAX_TALL_COLUMNS and r * n * n <= MAX_FACTOR_WORK)


def triangular_factor(rows: Vector) -> Vector:
    """The triangular factor of rows (n, d), with a diagonal that is not negative.

    >>> np.abs(triangular_factor(np.array([[3.0, 1.0], [4.0, 1.0], [0, 0]]))).round(3).tolist()
    [[5.0, 1.4], [0.0, 0.2]]
    """
    n, d = rows.shape
    if n >= 2 * PART_ROWS and d <= PART_ROWS // 4:
        parts = [_triangle(rows[start : start + PART_ROWS]) for start in range(0, n, PART_ROWS)]
        rows = np.concatenate(parts)
    R = _triangle(rows)
    return np.asarray(R * np.where(np.diagonal(R) < 0, -1.0, 1.0)[:, None])


def _triangle(rows: Vector) -> Vector:
    """The triangular factor of a few rows."""
    from scipy.linalg.lapack import dgeqrf  # here: most calls need none

    d = rows.shape[1]
    if not len(rows):
        return np.zeros((0, d))
    return np.asarray(np.triu(dgeqrf(rows, lwork=BLOCK_COLUMNS * d)[0][:d]))


def merged_factors(factors: list[Vector]) -> Vector:
    """The factor of the rows of several."""
    return triangular_factor(np.concatenate(factors))


def tall_factor(A: Any, b: Vector) -> Vector:
    """The factor of [A b]: as data in blocks have it, to the last bit.

    >>> A, b = np.random.default_rng(0).normal(size=(50, 3)), np.ones(50)
    >>> R = tall_factor(A, b)
    >>> bool(np.allclose(R.T @ R, np.c_[A, b].T @ np.c_[A, b]))
    True
    """
    step, factors = canonical_rows(A.shape[1]), []
    with own_threads():  # panels are too small for several
        for start in range(0, len(A), step):
            some = slice(start, start + step)
            factors.append(triangular_factor(np.column_stack([A[some], b[some]])))
        return merged_in_tree(factors, merged_factors)
