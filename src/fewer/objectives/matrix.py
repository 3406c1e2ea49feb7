"""Matrices of any size and kind: checked, and scaled by powers of two."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from .._validation import Indices, InvalidInput, Vector, as_array, as_sparse, as_vector
from ..threads import own_threads

BLOCK = 2**20
"""Numbers handled at a time where a copy of all would be too much."""
SAFE, SAFE32 = (1e-200, 1e200), (1e-20, 1e20)
"""Sums of squares that are known without scaling first, in double and in single precision."""


def scaled(x: Any, exponent: int) -> Any:
    """X times 2**exponent; what is too large becomes infinite, what is too small zero."""
    if exponent == 0:
        return x
    with np.errstate(over="ignore", under="ignore"):
        if abs(exponent) <= 1000:
            return x * 2.0**exponent
        return np.ldexp(x, exponent)


def rows_of(A: Any, rows: Indices) -> Any:
    """Some rows of a dense or sparse matrix."""
    if sp.issparse(A):
        return A[rows]
    some = np.empty((len(rows), A.shape[1]), A.dtype)
    step = max(1, BLOCK // max(A.shape[1], 1))
    for at in range(0, len(rows), step):
        some[at : at + step] = A[rows[at : at + step]]
    return some


def typical_size(entries: npt.NDArray[Any]) -> float:
    """The root mean square of some numbers of any size; not finite where one of them is not. One pass as a rule.

    >>> f"{typical_size(np.array([1e200, 7e200])):.6g}"
    '5e+200'
    """
    if entries.size == 0:
        return 0.0
    low, high = SAFE32 if entries.dtype == np.float32 else SAFE
    with (
        own_threads(),
        np.errstate(over="ignore", under="ignore", invalid="ignore"),
    ):  # one pass: threads would wait
        total = _squares(entries)
    if low < total < high:
        return math.sqrt(total / entries.size)
    largest = max(float(entries.max()), -float(entries.min()))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    exponent, flat = int(np.frexp(largest)[1]), entries.ravel(order="K")
    blocks = (
        flat[start : start + BLOCK].astype(np.float64) for start in range(0, flat.size, BLOCK)
    )
    total = math.fsum(float(np.square(scaled(block, -exponent)).sum()) for block in blocks)
    return float(scaled(math.sqrt(total / flat.size), exponent))


def _squares(entries: npt.NDArray[Any]) -> float:
    """The sum of squares of an array, without a copy."""
    if entries.flags.c_contiguous or entries.flags.f_contiguous:
        flat = entries.ravel(order="K")
        return float(np.dot(flat, flat))
    axes = list(range(entries.ndim))
    return float(np.einsum(entries, axes, entries, axes, []))


def as_matrix(A: Any) -> Any:
    """A as ndarray (float64, or float32 as given), csc_array or LinearOperator; finite and not empty."""
    return sized_matrix(A)[0]


def sized_matrix(A: Any) -> tuple[Any, float]:
    """`as_matrix`, and the typical size of an entry; of an operator, of those of a few columns and their mean."""
    if isinstance(A, LinearOperator):
        A = _as_operator(A)
        n = A.shape[1]
        probes = [np.full(n, 1.0 / n), *(np.eye(1, n, entry)[0] for entry in {0, n // 2, n - 1})]
        return A, max(float(np.abs(applied(A, probe)).max()) for probe in probes)
    if sp.issparse(A):
        A = _as_sparse(A)
    elif type(A) is not np.ndarray or A.dtype not in (np.float32, np.float64):
        A = as_array(A, "A")
    if len(A.shape) != 2 or 0 in A.shape:
        raise InvalidInput(
            f"A must be a matrix with at least one row and one column, got shape {A.shape}"
        )
    if not sp.issparse(A):
        A = np.ascontiguousarray(
            A
        )  # sums depend on the order of memory: the same numbers give the same answer
    size = typical_size(A.data if sp.issparse(A) else A)
    if not math.isfinite(size):
        raise InvalidInput(_not_finite(A))
    return A, size


def _not_finite(A: Any) -> str:
    """Where a matrix is not finite."""
    entries = A.tocoo() if sp.issparse(A) else None
    at = int(np.argmin(np.isfinite(A if entries is None else entries.data)))
    where = np.unravel_index(at, A.shape) if entries is None else (entries.row[at], entries.col[at])
    value = A[where] if entries is None else entries.data[at]
    return f"A must be finite, got {value} at index {int(where[0])}, {int(where[1])}"


def _as_sparse(A: Any) -> Any:
    """A sparse matrix as canonical csc of finite float64; the caller's arrays stay as they are."""
    if len(A.shape) != 2:
        raise InvalidInput(
            f"A must be a matrix with at least one row and one column, got shape {A.shape}"
        )
    if A.dtype.kind not in "fiub":
        raise InvalidInput(f"A must hold real numbers, got dtype {A.dtype} ({type(A).__name__})")
    A = sp.csc_array(as_sparse(A, "A"))
    if not A.has_canonical_format:
        A = A.copy()  # sorting is in place
        A.sum_duplicates()
    return A.astype(np.float64, copy=False)


def _as_operator(A: Any) -> Any:
    """A linear operator of real numbers that can also be applied backwards."""
    if 0 in A.shape:
        raise InvalidInput(
            f"A must be a matrix with at least one row and one column, got shape {A.shape}"
        )
    if A.dtype is not None and np.dtype(A.dtype).kind not in "fiub":
        raise InvalidInput(f"A must hold real numbers, got a LinearOperator of dtype {A.dtype}")
    try:
        A.rmatvec(np.zeros(A.shape[0]))
    except (NotImplementedError, AttributeError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise InvalidInput(
            f"A must be a LinearOperator with rmatvec, its transpose times a vector ({reason})"
        ) from None
    return A


def applied(A: Any, v: Vector) -> Vector:
    """An operator times a vector, as finite float64."""
    try:
        product = A @ v
    except Exception as error:  # what a caller's function raises, or SciPy about what it returns
        raise InvalidInput(
            f"A must give {A.shape[0]} real numbers for a vector of {v.size}, but its matvec failed "
            f"({type(error).__name__})"
        ) from error
    return as_array(product, "A times a vector").reshape(-1)


def applied_columns(A: Any, face: Indices) -> Vector:
    """Columns of an operator, (r, len(face)): unit vectors it is applied to."""
    columns, unit = np.empty((A.shape[0], face.size)), np.zeros(A.shape[1])
    for j, entry in enumerate(face):
        unit[entry] = 1.0
        columns[:, j] = applied(A, unit)
        unit[entry] = 0.0
    return columns


def as_row_weights(sample_weight: Any, rows: int) -> Vector:
    """Weights (rows,) that are not negative and not all zero."""
    weights = as_vector(sample_weight, (rows,), "sample_weight")
    if weights.min() < 0:
        raise InvalidInput(
            f"sample_weight must be non-negative, got {weights.min()} at index {int(weights.argmin())}"
        )
    if weights.max() == 0:
        raise InvalidInput("sample_weight must have a positive sum, got all zeros")
    return weights
