"""The distinct rows of a data set with their weights: equal rows merged, weightless ones left out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import Indices, Vector, as_array, as_weights
from ...bandwidths import blocks
from ...deadline import Deadline
from ...lazy_rows import some_rows

MERGING_TIME_SHARE, MIN_MERGING_SECONDS = 0.2, 0.05
"""The share of a time limit that looking for equal rows may take, and the seconds under any limit.
"""
SECONDS_PER_ENTRY, SECONDS_PER_ROW = 2e-8, 4e-7
"""What hashing and comparing takes, for deciding whether a time limit allows it."""
MAX_SORTED_ENTRIES = 5 * 10**5
"""Entries of a table up to which its rows are sorted, so that their order does not matter; beyond,
they are hashed."""
LABEL_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows with weight: `rows` (M, d), `weights` (M,) of sum 1, `first` (M,) their indices in X.

    `labels` (M,) are codes of `classes`, or None. Equal rows with different labels, or different
    `groups` (M,), are different. `size` is len(X); `first` None means all rows of X. `note` says
    what was left undone; `top` is the largest |x_ij|, where known; `total` is what the weights are
    shares of.
    """

    rows: Any
    weights: Vector
    first: Indices | None
    size: int
    labels: Indices | None = None
    classes: npt.NDArray[Any] | None = None
    note: str = ""
    top: float | None = None
    total: float = 0.0
    groups: Indices | None = None

    @classmethod
    def of(
        cls,
        rows: Any,
        sample_weight: Any = None,
        labels: Indices | None = None,
        classes: npt.NDArray[Any] | None = None,
        groups: Indices | None = None,
        always: Indices | None = None,
    ) -> "Sample":
        """Take the rows that have weight, and the rows `always` even without any."""
        size = rows.shape[0]
        even, total = np.broadcast_to(1.0 / size, size), float(size)
        sample = cls(rows, even, None, size, labels, classes, total=total, groups=groups)
        if sample_weight is None:
            return sample
        weights = as_weights(sample_weight, size, "sample_weight")
        with np.errstate(over="ignore"):
            total = float(as_array(sample_weight, "sample_weight").sum())
        sample = replace(sample, weights=weights, total=total)
        used = weights > 0
        used[[] if always is None else always] = True
        return sample if used.all() else sample.take(np.flatnonzero(used))

    @property
    def kinds(self) -> Indices | None:
        """Numbers that differ where rows are different whatever they hold: by labels and groups."""
        if self.groups is None or self.labels is None:
            return self.groups if self.labels is None else self.labels
        return np.asarray(self.labels * (int(self.groups.max()) + 1) + self.groups)

    @property
    def n_classes(self) -> int:
        """The number of classes of the labels, 1 where there are none."""
        return 1 if self.classes is None else len(self.classes)

    def at(self, index: Indices) -> Indices:
        """Return indices in X of some of the rows."""
        return index if self.first is None else self.first[index]

    def within(self, kept: Indices, size: int) -> "Sample":
        """Return the rows as rows of X, where they are numbered by the kept ones of `size`."""
        return replace(self, first=kept[self.at(np.arange(self.rows.shape[0]))], size=size)

    def take(self, index: Indices, weights: Vector | None = None) -> "Sample":
        """Take some of the rows, with their weights or with others."""
        return replace(
            self,
            rows=some_rows(self.rows, index),
            weights=self.weights[index] if weights is None else weights,
            first=self.at(index),
            labels=None if self.labels is None else self.labels[index],
            groups=None if self.groups is None else self.groups[index],
        )

    def as_shares(self, size: int, total: float) -> "Sample":
        """Return rows of `size` in all, with weights of sum one that are shares of `total`."""
        return replace(self, size=size, weights=self.weights / self.weights.sum(), total=total)

    def loaded(self) -> "Sample":
        """Return the rows as an array or CSR."""
        return replace(self, rows=self.rows[:])

    def merged(self, deadline: Deadline) -> "Sample":
        """Return the distinct rows, or all of them with a note where there is no time to compare them."""
        n, d = self.rows.shape
        allowed = max(MERGING_TIME_SHARE * deadline.seconds, MIN_MERGING_SECONDS)
        if n * (d * SECONDS_PER_ENTRY + SECONDS_PER_ROW) > allowed:
            return replace(self, note="equal rows were not merged within the time limit")
        first, weights = merge_equal_rows(self.rows, self.kinds, self.weights)
        return self if first is None else self.take(first, weights)

    def distinct(self, index: Indices) -> Indices:
        """Return those of some rows that are not equal, in order."""
        if self.note == "":  # equal rows are merged already
            return index
        some = self.take(index).loaded()
        first, _ = merge_equal_rows(some.rows, some.kinds, np.ones(len(index)))
        return index if first is None else np.sort(index[first])


def merge_equal_rows(
    rows: Any, kinds: Indices | None, weights: Vector
) -> tuple[Indices | None, Vector]:
    """Find the first of each set of equal rows of a kind and their total weights.

    None where all rows stay.

    Small tables come back sorted, large ones in order; there every match of hashes is verified.
    """
    if rows.shape[0] * rows.shape[1] <= MAX_SORTED_ENTRIES:
        groups = _groups(rows, kinds)
        first = np.unique(groups, return_index=True)[1]
        return first, np.bincount(groups, weights).astype(np.float64)
    hashes = row_hashes(rows)
    if kinds is not None:
        hashes ^= kinds.astype(np.uint64) * LABEL_FACTOR
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    new = np.append(True, ranked[1:] != ranked[:-1])
    later = np.flatnonzero(~new)
    first = order[np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))[later]]
    later = order[later]
    same = ~_differ(rows, later, first)
    if kinds is not None:
        same &= kinds[later] == kinds[first]
    if not same.any():
        return None, weights
    total, kept = np.array(weights), np.ones(len(weights), bool)
    np.add.at(total, first[same], weights[later[same]])
    kept[later[same]] = False
    return np.flatnonzero(kept), total[kept]


def _groups(rows: Any, kinds: Indices | None) -> Indices:
    """Number rows, equal ones of a kind alike, in a way that does not depend on their order."""
    rows = rows[:]
    dense = rows.toarray() if sp.issparse(rows) else rows
    keys = np.ascontiguousarray(_sortable(dense))
    if kinds is not None:
        keys = np.hstack([kinds.astype(keys.dtype)[:, None], keys])
    flat = keys.view(f"V{keys.shape[1] * keys.itemsize}").reshape(-1)
    return np.asarray(np.unique(flat, return_inverse=True)[1]).reshape(-1)


def _sortable(values: Any) -> npt.NDArray[Any]:
    """Return numbers as big-endian integers of the same order, so that bytes of rows sort as rows do."""
    size = values.dtype.itemsize
    if values.dtype.kind != "f":
        return np.asarray(values.astype(">u8"))
    bits = (values + values.dtype.type(0)).view(f"u{size}")  # minus zero becomes zero
    top = bits.dtype.type(1 << (8 * size - 1))
    return np.asarray(np.where(bits & top, ~bits, bits | top).astype(f">u{size}"))


def row_hashes(rows: Any) -> Hashes:
    """Hash each row to 64 bits, equal rows alike: Σ of each entry's bits times an odd number of its column."""
    two = np.uint64(2)
    draws = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64)
    factors = draws * two + np.uint64(1)
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
    """Mix the bits of numbers; minus zero is zero, and zero is 0."""
    bits = (values + values.dtype.type(0)).astype(np.float64, copy=False).view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _differ(rows: Any, a: Indices, b: Indices) -> npt.NDArray[np.bool_]:
    """Find whether rows a and b differ, for each pair, some pairs at a time."""
    differs = np.zeros(len(a), bool)
    step = next(blocks(rows)).stop
    for start in range(0, len(a), step):
        part = slice(start, start + step)
        first, second = rows[a[part]], rows[b[part]]
        if sp.issparse(first):
            differs[part] = np.diff((first != second).tocsr().indptr) > 0
        else:
            differs[part] = (first != second).any(axis=1)
    return differs
