"""Tables of small non-negative integers: checked, and kept as canonical CSR arrays."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ._compiled.fold import group_rows
from ._validation import Indices, InvalidInput, as_numbers, as_sparse, shown

MOST_CODES = 2**31
"""Codes are below this: four bytes hold one."""
EVERY_BIT = np.uint64(2**64 - 1)
"""A hash is taken whole; the tests take less, for collisions."""


def as_table(rows: Any, name: str = "rows") -> Any:
    """`rows` as a canonical CSR array of small non-negative integers, int8 or int32.

    The caller's stays as it is.

    >>> as_table([[0, 2.0], [1, 0]]).data
    array([2, 1], dtype=int32)
    """
    table = numbers_as_csr(rows, name)
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidInput(
            f"{name} must be a table (N, n) with at least one row and one column, got shape"
            f" {table.shape}"
        )
    numbers = table.data
    if numbers.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} must hold whole numbers, got dtype {numbers.dtype}")
    narrow = numbers.dtype in (np.bool_, np.int8)
    with np.errstate(invalid="ignore"):  # of NaN, which is then no code
        codes = numbers.astype(np.int8 if narrow else np.int32, copy=False)
    wrong = (codes != numbers) | (codes < 0)
    if wrong.any():
        raise InvalidInput(f"{name} must hold whole numbers in 0..2^31-1, got {numbers[wrong][0]}")
    whole = codes.all()
    table = sp.csr_array((codes, table.indices, table.indptr), shape=table.shape, copy=not whole)
    if not whole:
        table.eliminate_zeros()
    return table


def as_csr(x: Any, name: str) -> Any:
    """A sparse matrix of any format as a CSR array with sorted indices and no duplicates.

    `x` itself is not changed.
    """
    table = sp.csr_array(as_sparse(x, name))
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def numbers_as_csr(x: Any, name: str) -> Any:
    """Rows of numbers, dense or sparse, as a CSR array."""
    if sp.issparse(x):
        return as_csr(x, name)
    array = as_numbers(x, name)
    if array.ndim != 2:
        raise InvalidInput(f"{name} must be a table (rows, columns), got shape {array.shape}")
    if array.dtype == np.float16 or not array.dtype.isnative:  # of which SciPy takes none
        array = array.astype(np.float64)
    return sp.csr_array(array)


def distinct_rows(table: Any) -> tuple[Indices, Indices]:
    """The first row of each distinct one, in order of appearance, and which of them each row equals."""
    inverse, first = grouped(table, np.arange(table.shape[0]), True)
    return first.astype(np.int64), inverse.astype(np.int64)


def grouped(table: Any, rows: Any, by_value: bool) -> tuple[Any, Any]:
    """Which of these rows of a canonical CSR table are equal (labels), and the first row of each kind.

    Equal in their supports, or `by_value` in their entries too.

    >>> labels, first = grouped(as_table([[0, 1], [2, 0], [0, 3]]), np.arange(3), False)
    >>> labels.tolist(), first.tolist()
    ([0, 1, 0], [0, 1])
    """
    arrays = [as_signature(x, np.int32) for x in (table.indices, table.data, rows)]
    indptr = as_signature(table.indptr, np.int64)
    return group_rows(indptr, arrays[0], arrays[1], arrays[2], by_value, EVERY_BIT)


def as_signature(x: Any, kind: type) -> Any:
    """An array as compiled functions take it, so that each is compiled once: of this type, contiguous, writeable."""
    return np.require(x, kind, ["C", "W"])


def as_cardinalities(m: Any, least: Indices) -> tuple[int, ...]:
    """One cardinality for each dimension, at least `least` (n,).

    `m` is one integer for all or one for each.

    >>> as_cardinalities(3, np.array([1, 2])), as_cardinalities((4, 2), np.array([1, 2]))
    ((3, 3), (4, 2))
    """
    sizes = as_numbers(m, "m")
    if sizes.dtype.kind not in "iu" or sizes.shape not in ((), least.shape):
        raise InvalidInput(f"m must be an integer or {least.size} integers, got {shown(m)}")
    sizes = np.broadcast_to(sizes, least.shape)
    wrong = np.flatnonzero((sizes < least) | (sizes > MOST_CODES))
    if wrong.size:
        low, got = least[wrong[0]], sizes[wrong[0]]
        raise InvalidInput(f"each m must be at least {low} and at most 2^31, got {got}")
    return tuple(sizes.tolist())
