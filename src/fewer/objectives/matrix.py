"""Matrices of any size and kind: checked, and scaled by powers of two."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from .._validation import Indices, InvalidInput, Vector, as_array, as_sparse, as_vector

FLOATS = np.float32, np.float64
BLOCK = 2**20
"""Numbers handled at a time where a copy of all would be too much."""


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


def largest_size(entries: npt.NDArray[Any]) -> float:
    """The largest absolute value of some numbers, without a copy.

    Not finite where one of them is not.
    """
    if entries.size == 0:
        return 0.0
    return max(float(entries.max()), -float(entries.min()))


def as_matrix(A: Any) -> Any:
    """A as ndarray (float64, or float32 as given), csc_array or LinearOperator.

    Finite and not empty.
    """
    return sized_matrix(A)[0]


def sized_matrix(A: Any) -> tuple[Any, float]:
    """`as_matrix`, and the size of its largest entry.

    Of an operator, of those of a few columns and their mean.
    """
    lazy, sparse = isinstance(A, LinearOperator), sp.issparse(A)
    if not (lazy or sparse) and not (isinstance(A, np.ndarray) and A.dtype in FLOATS):
        A = as_array(A, "A")
    if len(A.shape) != 2 or 0 in A.shape:
        raise InvalidInput(
            f"A must be a matrix with at least one row and one column, got shape {A.shape}"
        )
    if A.dtype is not None and np.dtype(A.dtype).kind not in "fiub":
        raise InvalidInput(f"A must hold real numbers, got dtype {A.dtype} ({type(A).__name__})")
    if lazy:
        _require_transpose(A)
        n = A.shape[1]
        probes = [np.full(n, 1.0 / n), *(np.eye(1, n, entry)[0] for entry in {0, n // 2, n - 1})]
        return A, max(largest_size(applied(A, probe)) for probe in probes)
    if sparse:
        A = sp.csc_array(as_sparse(A, "A")).astype(np.float64, copy=False)
        if not A.has_canonical_format:
            A = A.copy()  # sorting is in place
            A.sum_duplicates()
    else:  # sums depend on the order of memory: the same numbers give the same answer
        A = np.ascontiguousarray(A)
    size = largest_size(A.data if sparse else A)
    if not math.isfinite(size):
        raise InvalidInput(_not_finite(A))
    return A, size


def _not_finite(A: Any) -> str:
    """Where a matrix is not finite."""
    row, column, value = sp.find(A) if sp.issparse(A) else (*np.nonzero(A), A[np.nonzero(A)])
    at = int(np.argmin(np.isfinite(value)))
    return f"A must be finite, got {value[at]} at index {int(row[at])}, {int(column[at])}"


def _require_transpose(A: Any) -> None:
    """Refuse an operator that cannot be applied backwards."""
    try:
        A.rmatvec(np.zeros(A.shape[0]))
    except (NotImplementedError, AttributeError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise InvalidInput(
            f"A must be a LinearOperator with rmatvec, its transpose times a vector ({reason})"
        ) from None


def applied(A: Any, v: Vector) -> Vector:
    """An operator times a vector, as finite float64."""
    try:
        product = A @ v
    except Exception as error:  # what a caller's function raises, or SciPy about what it returns
        raise InvalidInput(
            f"A must give {A.shape[0]} real numbers for a vector of {v.size}, but its matvec failed"
            f" ({type(error).__name__})"
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
            f"sample_weight must be non-negative, got {weights.min()} at index"
            f" {int(weights.argmin())}"
        )
    if weights.max() == 0:
        raise InvalidInput("sample_weight must have a positive sum, got all zeros")
    return weights
