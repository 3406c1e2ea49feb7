"""Numbering equal rows alike: exact grouping by hash table."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Ints = npt.NDArray[Any]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT = np.uint64(29)


@compiled
def group_rows(
    indptr: Ints, indices: Ints, data: Ints, rows: Ints, by_value: bool, hash_bits: Any
) -> tuple[Ints, Ints]:
    """Number equal rows alike, in order of first appearance: labels (R,), representatives (G,).

    Open addressing on the `hash_bits` of a 64-bit hash of the support, or of support and values;
    every match is verified entry by entry, so a collision costs a comparison and never merges two
    different rows. O(nnz) expected time, O(R) memory.
    """
    size = 4
    while size < 2 * len(rows):
        size *= 2
    table = np.full(size, -1, np.int32)
    labels = np.empty(len(rows), np.int32)
    representatives = np.empty(len(rows), np.int32)
    found = 0
    for r in range(len(rows)):
        start, stop = indptr[rows[r]], indptr[rows[r] + 1]
        h = np.uint64(stop - start) * _PRIME
        for j in range(start, stop):
            h = (h ^ np.uint64(indices[j])) * _MIX
            h ^= h >> _SHIFT
            if by_value:
                h = (h ^ np.uint64(data[j])) * _PRIME
                h ^= h >> _SHIFT
        slot = np.int64(h & hash_bits & np.uint64(size - 1))
        while table[slot] >= 0:
            other = representatives[table[slot]]
            first = indptr[other]
            same = indptr[other + 1] - first == stop - start
            j = 0
            while same and j < stop - start:
                same = indices[start + j] == indices[first + j] and (
                    not by_value or data[start + j] == data[first + j]
                )
                j += 1
            if same:
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = found
            representatives[found] = rows[r]
            found += 1
        labels[r] = table[slot]
    return labels, representatives[:found].copy()
