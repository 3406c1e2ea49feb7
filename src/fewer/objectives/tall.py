"""Many rows and few columns: the triangular factor of [A b] says all that ‖A p - b‖² does."""

from typing import Any

import numpy as np

from .._validation import Vector
from ..row_blocks import canonical_rows, merged_in_tree
from .matrix import scaled

MIN_TALL_ROWS, TALL_ROWS_PER_COLUMN = 4096, 8
"""Rows from which a matrix is factored, and so many for each column: below, searches cost less than the factor."""
MAX_TALL_COLUMNS = 600
"""Columns up to which it is: beyond, searches look at few of them, and the factor is of all."""
PART_ROWS = 1000
"""Rows that are factored at a time: they stay in the cache, see `benchmarks/limits.py`."""
MAX_FACTOR_WORK = 1e11
"""Multiplications of a factor, at most: some seconds, which no callback interrupts."""


def is_tall(A: Any) -> bool:
    """Whether a matrix in memory is worth its factor."""
    if not isinstance(A, np.ndarray):
        return False
    r, n = A.shape
    least = max(MIN_TALL_ROWS, TALL_ROWS_PER_COLUMN * (n + 1))
    return bool(r >= least and n <= MAX_TALL_COLUMNS and r * n * n <= MAX_FACTOR_WORK)


def factored(both: Vector) -> Vector:
    """The triangular factor of rows, at most as many as there are columns, with a diagonal that is not negative.

    >>> np.abs(factored(np.array([[3.0, 1.0], [4.0, 1.0], [0.0, 0.0]]))).round(3).tolist()
    [[5.0, 1.4], [0.0, 0.2]]
    """
    rows, columns = both.shape
    if rows == 0:
        return np.zeros((0, columns))
    parts = rows // PART_ROWS
    if parts > 1 and columns <= PART_ROWS // 4:
        tall = np.asarray(np.linalg.qr(both[: parts * PART_ROWS].reshape(parts, PART_ROWS, columns), mode="r"))
        both = np.concatenate([tall.reshape(-1, columns), both[parts * PART_ROWS :]])
    factor = np.linalg.qr(both, mode="r")
    signs = np.where(np.diagonal(factor) < 0, -1.0, 1.0)
    return np.asarray(factor * signs[:, None])


def merged_factors(factors: list[Vector]) -> Vector:
    """The factor of the rows of several."""
    return factored(np.concatenate(factors))


def tall_factor(A: Any, b: Vector, power: int, roots: Vector | None) -> Vector:
    """The factor of [A b] / 2^power, (n + 1, n + 1), rows times `roots`: as data in blocks have it, to the last bit.

    >>> A, b = np.random.default_rng(0).normal(size=(50, 3)), np.ones(50)
    >>> R = tall_factor(A, b, 0, None)
    >>> bool(np.allclose(R.T @ R, np.c_[A, b].T @ np.c_[A, b]))
    True
    """
    step, factors = canonical_rows(A.shape[1]), []
    for start in range(0, len(A), step):
        rows = slice(start, start + step)
        both = scaled(np.column_stack([A[rows], b[rows]]).astype(np.float64, copy=False), -power)
        factors.append(factored(both if roots is None else both * roots[rows][:, None]))
    return merged_in_tree(factors, merged_factors)
