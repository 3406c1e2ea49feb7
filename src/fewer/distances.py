"""Squared distances between blocks of rows by one matrix product, and by differences where the product cancels.

‖x‖² - 2 xᵀy + ‖y‖² has an absolute error of a few eps (‖x‖² + ‖y‖²), however near x and y are to
each other. Rows are centred first, which keeps it small for most data. The pairs for which it still
matters are computed again from x - y.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Matrix = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ROUNDING_ULPS = 4.0
"""Units of rounding by which a squared distance from a product is off, relative to the two squared lengths."""
MAX_SIMILARITY_ERROR = 1e-12
"""The largest error of a similarity in float64 that is left as it is."""
MAX_FLOAT32_LENGTH = 10.0
"""The largest squared length, in bandwidths, of rows that may be compared in float32: beyond, float64."""
MAX_RELATIVE_ERROR = 1e-9
"""The largest relative error of a squared distance that is left as it is, where no bandwidth says what matters."""
BLOCK_ENTRIES = 2**18
"""Entries of the differences that are formed at once."""
DENSE_SHARE = 0.1
"""The share of a block above which all of it is computed from differences."""
SAMPLED_ENTRIES, SAMPLED_ROWS = 10**6, 1000
"""Entries and rows, at most, from which a centre is taken."""


class Block(NamedTuple):
    """Rows made ready for products: as they are, centred with two more columns, and their squared lengths.

    rows: (a, d), factor: (a, d + 2), lengths: (a,).
    """

    rows: Any
    factor: Any
    lengths: Matrix


def squared_lengths(X: Any) -> Matrix:
    """‖x‖² of each row, (n,), in the precision of X."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)
    return np.asarray(np.einsum("ij,ij->i", X, X))


def evenly(n: int, count: int) -> Indices:
    """`count` of the numbers 0..n-1, evenly spaced; all of them where there are no more."""
    return np.arange(n) if n <= count else np.linspace(0, n - 1, count).astype(np.int64)


def centre_of(X: Any) -> Matrix | None:
    """The median of each column over some rows, (d,): near most rows, whatever a few of them are; None if sparse."""
    if sp.issparse(X) or getattr(X, "sparse", False):
        return None
    n, d = X.shape
    some = X[evenly(n, max(1, min(SAMPLED_ROWS, SAMPLED_ENTRIES // d)))]
    return np.asarray(np.median(some.astype(np.float64), axis=0))


def prepared(X: Any, centre: Matrix | None, dtype: Any, sharp: float, left: bool) -> Block:
    """A block for `squared_distances`: its product with one of the other side gives squared distances.

    `sharp` is one over the squared distance at which a similarity falls off. Rows further away than
    float32 can resolve stay in float64.
    """
    with np.errstate(over="ignore"):
        wide = X.astype(np.float64) if centre is None else X - centre
        lengths = squared_lengths(wide)
        reach = float(lengths.max(initial=0.0))
    narrow = (
        X.dtype if dtype is None else np.dtype(dtype)
    ) == np.float32 and sharp * reach <= MAX_FLOAT32_LENGTH
    if narrow:
        wide, lengths = wide.astype(np.float32), lengths.astype(np.float32)
    ones = np.ones_like(lengths)
    if left:
        return Block(X, _beside(wide * wide.dtype.type(-2.0), lengths, ones), lengths)
    return Block(X, _beside(wide, ones, lengths), lengths)


def _beside(X: Any, *columns: Matrix) -> Any:
    """X with further columns on its right."""
    if sp.issparse(X):
        return sp.hstack([X, sp.csr_array(np.stack(columns, axis=1))], format="csr")
    wide = np.empty((X.shape[0], X.shape[1] + len(columns)), X.dtype)
    wide[:, : X.shape[1]] = X
    for place, column in enumerate(columns, X.shape[1]):
        wide[:, place] = column
    return wide


def product(left: Any, right: Any) -> Matrix:
    """The inner products of rows, dense: (a, b)."""
    block = left @ right.T
    return np.asarray(block.toarray() if sp.issparse(block) else block)


def squared_distances(left: Block, right: Block, sharp: float, beyond: float) -> Matrix:
    """‖x - y‖² for the rows of two blocks, (a, b), as exact as a similarity needs that falls off at 1 / sharp.

    Where sharp ‖x - y‖² > beyond the similarity is zero to rounding, and so is its error.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squared = product(left.factor, right.factor)
        unit = ROUNDING_ULPS * float(np.finfo(squared.dtype).eps)
        most = (
            MAX_SIMILARITY_ERROR / unit / max(sharp, 1e-300)
            if squared.dtype == np.float64
            else np.inf
        )
        if left.lengths.max(initial=0.0) + right.lengths.max(initial=0.0) <= most:
            return squared
        far, away = ~(left.lengths <= most / 2.0), ~(right.lengths <= most / 2.0)
        for some, others in ((far, np.ones(len(away), bool)), (~far, away)):
            a, b = np.flatnonzero(some), np.flatnonzero(others)
            if a.size and b.size:
                part = squared[np.ix_(a, b)]
                error = unit * (left.lengths[a][:, None] + right.lengths[b])
                near = ~(sharp * (part - error) >= beyond)  # also where overflow left no number
                squared[np.ix_(a, b)] = by_differences(part, near, left.rows[a], right.rows[b])
    return squared


def by_differences(squared: Matrix, wanted: Mask, A: Any, B: Any) -> Matrix:
    """Squared distances (a, b), those `wanted` (a, b) computed anew from the differences of rows A and B."""
    count = int(np.count_nonzero(wanted))
    small = not sp.issparse(A) or (A.shape[0] + B.shape[0]) * A.shape[1] <= 4 * BLOCK_ENTRIES
    if count > DENSE_SHARE * wanted.size and small:
        dense = [rows.toarray() if sp.issparse(rows) else rows for rows in (A, B)]
        from scipy.spatial.distance import (
            cdist,
        )  # here: few calls need it, and its import takes long

        return np.asarray(cdist(*dense, "sqeuclidean"))
    i, j = np.nonzero(wanted)
    width = (
        A.shape[1] if not sp.issparse(A) else 1 + (A.nnz + B.nnz) // max(A.shape[0] + B.shape[0], 1)
    )
    step = max(1, BLOCK_ENTRIES // width)
    for start in range(0, count, step):
        a, b = i[start : start + step], j[start : start + step]
        squared[a, b] = squared_lengths(A[a].astype(np.float64) - B[b].astype(np.float64))
    return squared


def distance_blocks(A: Any, B: Any) -> Matrix:
    """‖x - y‖² for rows x of A (a, d) and y of B (b, d) in float64: (a, b), with a small relative error.

    >>> distance_blocks(np.array([[1e8], [1e8 + 1]]), np.array([[1e8], [0.0]])).tolist()
    [[0.0, 1e+16], [1.0, 1.00000002e+16]]
    """
    centre = centre_of(B)
    left, right = (
        prepared(X, centre, np.float64, 1.0, side) for X, side in ((A, True), (B, False))
    )
    with np.errstate(over="ignore", invalid="ignore"):
        squared = product(left.factor, right.factor)
        error = (
            ROUNDING_ULPS
            * float(np.finfo(np.float64).eps)
            * (left.lengths[:, None] + right.lengths)
        )
        wanted = ~(error <= MAX_RELATIVE_ERROR * squared)
        return by_differences(squared, wanted, A, B) if wanted.any() else squared
