"""Squared distances between rows by one matrix product, and by differences where the product cancels.

‖x‖² - 2 xᵀy + ‖y‖² has an absolute error of a few eps (‖x‖² + ‖y‖²), however near x and y are to
each other. Rows are centred first, which keeps it small for most data. The pairs for which it still
matters are computed again from x - y.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Matrix = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

UNIT = 4.0 * float(np.finfo(np.float64).eps)
"""By how much a squared distance from a product is off, relative to the two squared lengths."""
MAX_SIMILARITY_ERROR = 1e-12
"""The largest error of a similarity in float64 that is left as it is."""
MAX_FLOAT32_LENGTH = 10.0
"""The largest squared length, in bandwidths, of rows that may be compared in float32: beyond,
float64."""
MAX_RELATIVE_ERROR = 1e-9
"""The largest relative error of a squared distance that is left as it is, where no bandwidth says
what matters."""
BLOCK_ENTRIES = 2**18
"""Entries of a table that are looked at together."""
DENSE_SHARE = 0.1
"""The share of a block above which all of it is computed from differences."""
SAMPLED_ENTRIES, SAMPLED_ROWS = 10**6, 1000
"""Entries and rows, at most, from which a centre is taken."""


class Block(NamedTuple):
    """Rows (a, d) made ready for products: `factor` (a, d + 2) are rows, centred, with two more columns.

    `lengths` (a,) are squared.
    """

    rows: Any
    factor: Any
    lengths: Matrix


def row_slices(X: Any) -> Iterator[slice]:
    """Cut 0..n into slices of some hundred thousand entries of X."""
    n, d = X.shape
    step = max(1, BLOCK_ENTRIES // d)
    return (slice(a, min(a + step, n)) for a in range(0, n, step))


def squared_lengths(X: Any) -> Matrix:
    """Return ‖x‖² of each row in float64, (n,)."""
    if sp.issparse(X):
        return np.asarray(X.astype(np.float64, copy=False).power(2).sum(axis=1)).reshape(-1)
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def evenly(n: int, count: int) -> Indices:
    """Return `count` of the numbers 0..n-1, evenly spaced; all of them where there are no more."""
    return np.arange(n) if n <= count else np.linspace(0, n - 1, count).astype(np.int64)


def centre_of(X: Any) -> Matrix | None:
    """Return the median of each column over some rows, (d,): near most rows, whatever a few of them are; None if sparse."""
    if sp.issparse(X) or getattr(X, "sparse", False):
        return None
    n, d = X.shape
    some = X[evenly(n, max(1, min(SAMPLED_ROWS, SAMPLED_ENTRIES // d)))]
    return np.asarray(np.median(some.astype(np.float64), axis=0))


def prepared(
    X: Any, centre: Matrix | None = None, dtype: Any = None, *, sharp: float, left: bool
) -> Block:
    """Return rows such that the product of a left block with a right one gives squared distances.

    `sharp` is one over the squared distance at which a similarity falls off. Rows further away than
    float32 can resolve stay in float64.
    """
    wide = X.astype(np.float64) if centre is None else X - centre
    lengths = squared_lengths(wide)
    reach = float(lengths.max(initial=0.0))
    precision = X.dtype if dtype is None else np.dtype(dtype)
    if precision == np.float32 and max(sharp, 1e-30) * reach <= MAX_FLOAT32_LENGTH:
        wide, lengths = wide.astype(np.float32), lengths.astype(np.float32)
    ones = np.ones_like(lengths)
    columns = (lengths, ones) if left else (ones, lengths)
    if left:
        wide = wide * wide.dtype.type(-2.0)
    if sp.issparse(wide):
        more = sp.csr_array(np.column_stack(columns))
        return Block(X, sp.hstack([wide, more], format="csr"), lengths)
    return Block(X, np.column_stack([wide, *columns]), lengths)


def product(left: Any, right: Any) -> Matrix:
    """Return the inner products of rows, dense: (a, b)."""
    block = left @ right.T
    return np.asarray(block.toarray() if sp.issparse(block) else block)


def squared_distances(left: Block, right: Block, sharp: float, beyond: float) -> Matrix:
    """Return ‖x - y‖² for the rows of two blocks, (a, b), as exact as a similarity needs that falls off at 1 / sharp.

    Where sharp ‖x - y‖² > beyond the similarity is zero to rounding, and so is its error.
    """
    squared = product(left.factor, right.factor)
    tolerance = MAX_SIMILARITY_ERROR / max(sharp, 1e-300)
    longest = left.lengths.max(initial=0.0) + right.lengths.max(initial=0.0)
    if squared.dtype == np.float32 or UNIT * longest <= tolerance:
        return squared
    error = UNIT * (left.lengths[:, None] + right.lengths)
    wanted = (error > tolerance) & (squared - error < beyond / max(sharp, 1e-300))
    return by_differences(squared, wanted, left.rows, right.rows)


def distance_blocks(A: Any, B: Any) -> Matrix:
    """Return ‖x - y‖² for rows x of A (a, d) and y of B (b, d) in float64: (a, b), with a small relative error.

    >>> distance_blocks(np.array([[1e8], [1e8 + 1]]), np.array([[1e8], [0.0]])).tolist()
    [[0.0, 1e+16], [1.0, 1.00000002e+16]]
    """
    centre = centre_of(B)
    left = prepared(A, centre, np.float64, sharp=1.0, left=True)
    right = prepared(B, centre, np.float64, sharp=1.0, left=False)
    squared = product(left.factor, right.factor)
    error = UNIT * (left.lengths[:, None] + right.lengths)
    return by_differences(squared, error > MAX_RELATIVE_ERROR * squared, A, B)


def by_differences(squared: Matrix, wanted: Mask, A: Any, B: Any) -> Matrix:
    """Return squared distances (a, b), those `wanted` (a, b) computed anew from the differences of rows A and B."""
    if sp.issparse(A) != sp.issparse(B):
        A, B = (rows.toarray() if sp.issparse(rows) else rows for rows in (A, B))
    i, j = np.nonzero(wanted)
    width = A.shape[1]
    if sp.issparse(A):
        width = 1 + (A.nnz + B.nnz) // max(A.shape[0] + B.shape[0], 1)
    elif len(i) > DENSE_SHARE * wanted.size:
        from scipy.spatial.distance import cdist  # here: few calls need it

        return np.asarray(cdist(A, B, "sqeuclidean"))
    step = max(1, BLOCK_ENTRIES // width)
    for start in range(0, len(i), step):
        a, b = i[start : start + step], j[start : start + step]
        squared[a, b] = squared_lengths(A[a].astype(np.float64) - B[b].astype(np.float64))
    return squared
