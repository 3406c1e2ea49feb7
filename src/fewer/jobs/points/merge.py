"""Equal rows of a table: found by sorting small tables, by hashes in large ones, a part of the rows at a time."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import Indices, Vector
from ...bandwidths import blocks
from ...deadline import Deadline

MAX_SORTED_ENTRIES = 5 * 10**5
"""Entries of a table up to which its rows are sorted, so that their order does not matter; beyond, they are hashed."""
N_PARTS = 16
"""Parts of a large table in each of which equal rows are looked for."""
SECONDS_PER_ENTRY, SECONDS_PER_ROW = 2e-8, 4e-7
"""What hashing and comparing takes, for deciding whether a time limit allows it."""
LABEL_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Hashes = npt.NDArray[np.uint64]


def merged(
    rows: Any, labels: Indices | None, weights: Vector, deadline: Deadline | None = None
) -> tuple[Indices | None, Vector]:
    """The first of each set of equal rows (with equal labels) and their total weights; None where all rows stay.

    Past the deadline some equal rows may stay apart. Small tables come back sorted.
    """
    if rows.shape[0] * rows.shape[1] > MAX_SORTED_ENTRIES:
        return _by_hashes(rows, labels, weights, deadline)
    groups = _groups(rows, labels)
    _, first = np.unique(groups, return_index=True)
    return first, np.bincount(groups, weights).astype(np.float64)


def seconds_for(rows: Any) -> float:
    """About how long merging takes."""
    return float(rows.shape[0] * (rows.shape[1] * SECONDS_PER_ENTRY + SECONDS_PER_ROW))


def _groups(rows: Any, labels: Indices | None) -> Indices:
    """A number for each row, equal for equal rows (and labels), which does not depend on the order of the rows."""
    rows = rows[:]
    dense = rows.toarray() if sp.issparse(rows) else rows
    keys = np.ascontiguousarray(_sortable(dense))
    if labels is not None:
        keys = np.hstack([labels.astype(keys.dtype)[:, None], keys])
    flat = keys.view(f"V{keys.shape[1] * keys.itemsize}").reshape(-1)
    return np.asarray(np.unique(flat, return_inverse=True)[1]).reshape(-1)


def _sortable(values: Any) -> npt.NDArray[Any]:
    """Numbers as big-endian integers of the same order, so that bytes of rows sort as rows do."""
    size = values.dtype.itemsize
    if values.dtype.kind != "f":
        return np.asarray(values.astype(">u8"))
    bits = (values + values.dtype.type(0)).view(f"u{size}")  # minus zero becomes zero
    top = bits.dtype.type(1 << (8 * size - 1))
    return np.asarray(np.where(bits & top, ~bits, bits | top).astype(f">u{size}"))


def _by_hashes(
    rows: Any, labels: Indices | None, weights: Vector, deadline: Deadline | None
) -> tuple[Indices | None, Vector]:
    """The same for a large table; every match of hashes is verified. The rows stay in order."""
    hashes = row_hashes(rows)
    if labels is not None:
        hashes ^= labels.astype(np.uint64) * LABEL_FACTOR
    gone = np.zeros(len(hashes), bool)
    total: Vector | None = None
    for part in range(N_PARTS):
        if deadline is not None and deadline.passed:
            break
        here = np.flatnonzero(hashes % np.uint64(N_PARTS) == part)
        later, first = _repeated(rows, labels, hashes, here)
        if later.size:
            total = np.array(weights) if total is None else total
            np.add.at(total, first, weights[later])
            gone[later] = True
    if total is None:
        return None, weights
    first = np.flatnonzero(~gone)
    return first, total[first]


def _repeated(
    rows: Any, labels: Indices | None, hashes: Hashes, here: Indices
) -> tuple[Indices, Indices]:
    """Of some rows those that equal an earlier one, and the first that they equal."""
    order = here[np.argsort(hashes[here], kind="stable")]
    ranked = hashes[order]
    new = np.ones(len(order), bool)
    new[1:] = ranked[1:] != ranked[:-1]
    later = np.flatnonzero(~new)
    first = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))[later]]
    later = order[later]
    same = ~_differ(rows, later, first)
    if labels is not None:
        same &= labels[later] == labels[first]
    return later[same], first[same]


def row_hashes(rows: Any) -> Hashes:
    """A 64-bit hash of each row, equal for equal rows: Σ of each entry's bits times an odd number of its column."""
    d = rows.shape[1]
    factors = np.random.default_rng(0).integers(2**63, size=d, dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    hashes = np.empty(rows.shape[0], np.uint64)
    for part in blocks(rows):
        here = rows[part]
        if sp.issparse(here):
            words = _bits(here.data) * factors[here.indices]
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
            hashes[part] = sums[here.indptr[1:]] - sums[here.indptr[:-1]]
        else:
            hashes[part] = (_bits(here) * factors).sum(axis=1, dtype=np.uint64)
    hashes ^= hashes >> np.uint64(32)
    return hashes


def _bits(values: Any) -> Hashes:
    """The bits of numbers, mixed; minus zero is zero, and zero is 0."""
    bits = (values + values.dtype.type(0)).astype(np.float64, copy=False).view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _differ(rows: Any, a: Indices, b: Indices) -> npt.NDArray[np.bool_]:
    """Whether rows a and b differ, for each pair, some pairs at a time."""
    found = np.zeros(len(a), bool)
    if len(a) == 0:
        return found
    step = next(iter(blocks(rows))).stop
    for start in range(0, len(a), step):
        part = slice(start, start + step)
        first, second = rows[a[part]], rows[b[part]]
        if sp.issparse(first):
            found[part] = np.diff((first != second).tocsr().indptr) > 0
        else:
            found[part] = (first != second).any(axis=1)
    return found
