"""Folding rows onto distinct supports: exact grouping by hash table, gathering, inverting."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(29)


@compiled
def _hash(indices: Ints, data: Ints, start: int, stop: int, by_value: bool) -> Any:
    """A 64-bit hash of one row: of its support, or of support and values."""
    h = np.uint64(stop - start) * _PRIME
    for j in range(start, stop):
        h = (h ^ np.uint64(indices[j])) * _MIX
        h ^= h >> _SHIFT
        if by_value:
            h = (h ^ np.uint64(data[j])) * _PRIME
            h ^= h >> _SHIFT
    return h


@compiled
def _same(indices: Ints, data: Ints, a: int, b: int, length: int, by_value: bool) -> bool:
    """Whether the rows starting at a and b, of equal length, are equal."""
    for j in range(length):
        if indices[a + j] != indices[b + j] or (by_value and data[a + j] != data[b + j]):
            return False
    return True


@compiled
def group_rows(indptr: Ints, indices: Ints, data: Ints, rows: Ints, by_value: bool) -> tuple[Ints, Ints]:
    """Number equal rows alike, in order of first appearance: labels (R,), representatives (G,).

    Open addressing on a 64-bit hash; every match is verified entry by entry, so a collision costs
    a comparison and never merges two different rows. O(nnz) expected time, O(R) memory.
    """
    size = 4
    while size < 2 * len(rows):
        size *= 2
    table = np.full(size, -1, np.int32)
    labels = np.empty(len(rows), np.int32)
    representatives = np.empty(len(rows), np.int32)
    found = 0
    for r in range(len(rows)):
        row = rows[r]
        start, stop = indptr[row], indptr[row + 1]
        slot = np.int64(_hash(indices, data, start, stop, by_value) & np.uint64(size - 1))
        while table[slot] >= 0:
            other = representatives[table[slot]]
            first = indptr[other]
            length = indptr[other + 1] - first
            if length == stop - start and _same(indices, data, start, first, length, by_value):
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = found
            representatives[found] = row
            found += 1
        labels[r] = table[slot]
    return labels, representatives[:found].copy()


@compiled
def gather_rows(indptr: Ints, indices: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """The CSR (indptr, indices) of the chosen rows, in the given order."""
    out_ptr = np.zeros(len(rows) + 1, np.int64)
    for r in range(len(rows)):
        out_ptr[r + 1] = out_ptr[r] + indptr[rows[r] + 1] - indptr[rows[r]]
    out = np.empty(out_ptr[-1], np.int32)
    for r in range(len(rows)):
        start = indptr[rows[r]]
        for j in range(out_ptr[r + 1] - out_ptr[r]):
            out[out_ptr[r] + j] = indices[start + j]
    return out_ptr, out


@compiled
def invert(indptr: Ints, indices: Ints, n: int) -> tuple[Ints, Ints]:
    """The inverted index: supports of dimension i are holders[starts[i]:starts[i + 1]], ascending."""
    starts = np.zeros(n + 1, np.int64)
    for j in range(len(indices)):
        starts[indices[j] + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    cursor = starts[:-1].copy()
    holders = np.empty(len(indices), np.int32)
    for e in range(len(indptr) - 1):
        for j in range(indptr[e], indptr[e + 1]):
            i = indices[j]
            holders[cursor[i]] = e
            cursor[i] += 1
    return starts, holders
