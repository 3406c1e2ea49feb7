"""Rows of a data set at the door: dense, sparse or a DataFrame; equal rows merged, weightless ones left out."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..door import Indices, InvalidInput, Vector, as_integer, as_weights

MOST_SORTED = 2 * 10**7
"""Entries of a table up to which its rows are sorted; beyond, they are hashed."""
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def as_bytes(x: Any, name: str = "max_memory") -> int:
    """A number of bytes, or a string such as "500MB" (decimal units).

    >>> as_bytes("1.5GB"), as_bytes(4096)
    (1500000000, 4096)
    """
    if not isinstance(x, str):
        return as_integer(x, name, 1, what="bytes")
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?B?)\s*", x.upper())
    if not found or found[2] not in UNITS or float(found[1]) * UNITS[found[2]] < 1:
        raise InvalidInput(f"{name} must be bytes or a text such as '500MB' or '1GB', got {x!r}")
    return int(float(found[1]) * UNITS[found[2]])


def as_rows(X: Any, sparse: bool = True) -> Any:
    """X as finite rows (N, d): float32 and float64 stay so, CSR where it is sparse."""
    if sp.issparse(X):
        if not sparse:
            raise InvalidInput(
                "this similarity needs dense rows, got a sparse matrix; use rbf, matern, cosine or linear"
            )
        rows = sp.csr_array(X)
        rows = rows.astype(np.float64) if rows.dtype not in (np.float32, np.float64) else rows
        rows.sum_duplicates()
        values = rows.data
    else:
        try:
            rows = np.asarray(X)
        except (ValueError, TypeError) as error:
            raise InvalidInput(f"X must be a table of numbers, got {X!r:.60}: {error}") from None
        if rows.dtype.kind not in "fiub":
            raise InvalidInput(f"X must hold real numbers, got dtype {rows.dtype} ({type(X).__name__})")
        rows = np.ascontiguousarray(rows, rows.dtype if rows.dtype in (np.float32, np.float64) else np.float64)
        values = rows
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidInput(f"X must have shape (rows, columns) with at least one of each, got {rows.shape}")
    if not np.isfinite(values).all():
        raise InvalidInput("X must be finite, got NaN or infinity")
    return rows


def as_gram(X: Any) -> Any:
    """X as a symmetric matrix of similarities (N, N)."""
    gram = as_rows(X, sparse=False)
    if gram.shape[0] != gram.shape[1]:
        raise InvalidInput(f"precomputed similarities must be square (rows, rows), got {gram.shape}")
    skew = max(float(np.abs(gram[a : a + 256] - gram[:, a : a + 256].T).max()) for a in range(0, len(gram), 256))
    if skew > 1e-6 * max(float(np.abs(gram).max()), 1e-300):
        raise InvalidInput(f"precomputed similarities must be symmetric, got entries {skew:.3g} from their mirror")
    return gram


@dataclass(frozen=True, eq=False)
class Sample:
    """The distinct rows with weight: `rows` (M, d), `weights` (M,) of sum 1, `first` (M,) their indices in X.

    `labels` (M,) are codes of `classes`, or None. Equal rows with different labels are different. `size` is len(X).
    """

    rows: Any
    weights: Vector
    first: Indices
    size: int
    labels: Indices | None = None
    classes: npt.NDArray[Any] | None = None

    @classmethod
    def of(cls, rows: Any, y: Any, sample_weight: Any, merge: bool = True) -> "Sample":
        """Check the labels and weights of checked rows, and fold equal rows."""
        size = rows.shape[0]
        weights: Vector = (
            np.full(size, 1.0 / size) if sample_weight is None else as_weights(sample_weight, size, "sample_weight")
        )
        classes, labels = (None, None) if y is None else _codes(y, size)
        kept = np.flatnonzero(weights)
        of_row = rows if len(kept) == size else rows[kept]
        groups = _groups(of_row, None if labels is None else labels[kept]) if merge else np.arange(len(kept))
        _, first = np.unique(groups, return_index=True)
        chosen = kept[first]
        merged: Vector = np.bincount(groups, weights[kept]).astype(np.float64)
        return cls(rows[chosen], merged, chosen, size, None if labels is None else labels[chosen], classes)


def _codes(y: Any, size: int) -> tuple[npt.NDArray[Any], Indices]:
    """The classes of labels, sorted, and the code of each row."""
    labels = np.asarray(y)
    if labels.shape != (size,):
        raise InvalidInput(f"y must have one label for each of the {size} rows, got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InvalidInput("y must not hold NaN or infinity")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise InvalidInput(f"y must hold labels that can be sorted, got {labels[:3]!r}: {error}") from None
    return classes, codes.reshape(-1).astype(np.int64)


def _groups(rows: Any, labels: Indices | None) -> Indices:
    """A number for each row, equal for equal rows (and labels), which does not depend on the order of the rows."""
    n, d = rows.shape
    if n * d > MOST_SORTED:
        return _hashed_groups(rows, labels)
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


def _hashed_groups(rows: Any, labels: Indices | None) -> Indices:
    """The same by hashes, for large tables: each match is verified."""
    hashes = row_hashes(rows)
    if labels is not None:
        hashes = hashes ^ (labels.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    _, first, groups = np.unique(hashes, return_index=True, return_inverse=True)
    groups = groups.reshape(-1)
    if len(first) < len(hashes):
        later = np.setdiff1d(np.arange(len(hashes)), first)
        apart = _differ(rows, later, first[groups[later]])
        if labels is not None:
            apart |= labels[later] != labels[first[groups[later]]]
        groups[later[apart]] = len(first) + np.arange(apart.sum())  # equal hashes of different rows: kept apart
    return np.asarray(groups)


def row_hashes(rows: Any) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of each row, equal for equal rows: Σ of each entry's bits times an odd number of its column."""
    d = rows.shape[1]
    factors = np.random.default_rng(0).integers(2**63, size=d, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if sp.issparse(rows):
        words = _bits(rows.data) * factors[rows.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64)])
        return np.asarray(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])
    hashes = np.empty(rows.shape[0], np.uint64)
    step = max(1, 2**18 // d)
    for a in range(0, rows.shape[0], step):
        hashes[a : a + step] = (_bits(rows[a : a + step]) * factors).sum(axis=1, dtype=np.uint64)
    return hashes


def _bits(values: Any) -> npt.NDArray[np.uint64]:
    """The bits of numbers, mixed; minus zero is zero, and zero is 0."""
    wide = (values + values.dtype.type(0)).astype(np.float64)
    bits = wide.view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(mixed ^ (mixed >> np.uint64(32)))


def _differ(rows: Any, a: Indices, b: Indices) -> npt.NDArray[np.bool_]:
    """Whether rows a and b differ, for each pair."""
    if sp.issparse(rows):
        return np.asarray(abs(rows[a] - rows[b]).sum(axis=1)).reshape(-1) > 0
    return np.asarray((rows[a] != rows[b]).any(axis=1))
