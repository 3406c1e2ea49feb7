"""Many rows and few columns: the triangular factor of [A b] says all that ‖A p - b‖² does."""

from functools import lru_cache
from typing import Any

import numpy as np

from .._validation import Vector
from ..row_blocks import canonical_rows, merged_in_tree
from ..threads import own_threads
from .matrix import scaled

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


def factored(rows: Vector, last: Vector | None = None, roots: Vector | None = None) -> Vector:
    """The triangular factor of rows, at most as many as there are columns, with a diagonal that is not negative.

    `last` (n,) is one more column, and `roots` (n,) is what rows are multiplied by. Rows are copied
    once, a part of them at a time, into the panel that LAPACK factors.

    >>> np.abs(factored(np.array([[3.0, 1.0], [4.0, 1.0], [0.0, 0.0]]))).round(3).tolist()
    [[5.0, 1.4], [0.0, 0.2]]
    """
    n, columns = rows.shape[0], rows.shape[1] + (last is not None)
    if n == 0:
        return np.zeros((0, columns))
    parts = n // PART_ROWS if n >= 2 * PART_ROWS and columns <= PART_ROWS // 4 else 0
    done = parts * PART_ROWS
    panel = np.empty((PART_ROWS if parts else 0, columns), order="F")
    below = np.empty((parts * columns + n - done, columns), order="F")
    for part in range(parts):
        start = part * PART_ROWS
        _filled(panel, slice(start, start + PART_ROWS), rows, last, roots)
        below[part * columns : (part + 1) * columns] = _triangle(panel)
    _filled(below[parts * columns :], slice(done, n), rows, last, roots)
    factor = _triangle(below)
    signs = np.where(np.diagonal(factor) < 0, -1.0, 1.0)
    return np.asarray(factor * signs[:, None])


def _filled(
    panel: Vector, some: slice, rows: Vector, last: Vector | None, roots: Vector | None
) -> None:
    """Put some rows, with what belongs to them, into a panel."""
    panel[:, : rows.shape[1]] = rows[some]
    if last is not None:
        panel[:, -1] = last[some]
    if roots is not None:
        panel *= roots[some][:, None]


def _triangle(panel: Vector) -> Vector:
    """The triangular factor of a panel in the order of Fortran, which is overwritten."""
    from scipy.linalg.lapack import dgeqrf  # here: most calls need none

    rows, columns = panel.shape
    factored, _, _, _ = dgeqrf(panel, lwork=BLOCK_COLUMNS * columns, overwrite_a=1)
    return np.asarray(
        np.where(_upper(min(rows, columns), columns), factored[: min(rows, columns)], 0.0)
    )


@lru_cache(maxsize=4)
def _upper(rows: int, columns: int) -> Any:
    """Where a triangular matrix may have entries: made once, for it takes a tenth of the time of a small panel."""
    return np.tri(columns, rows, dtype=bool).T


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
    with own_threads():  # panels are too small for several
        for start in range(0, len(A), step):
            some = slice(start, start + step)
            rows, last = (scaled(part[some], -power) for part in (A, b))
            factors.append(factored(rows, last, None if roots is None else roots[some]))
        return merged_in_tree(factors, merged_factors)
