"""Rows as users hand them in, checked and encoded, and the distinct ones of them with their weights."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_shares,
    as_weights,
    gathered,
    is_frame,
    library_of,
    read,
    shown,
)
from ...deadline import Deadline
from ...distances import row_slices
from ...lazy_rows import as_rows, some_rows
from ...similarity import require_semidefinite
from ...tables.column import Column, Table, below, below_array, refuse_missing, role
from ...tables.frames import height, is_table
from ...tables.schema import RULES, Encoding, Schema, encoded
from ...tables.source import Block
from .options import SPARSE, PointsOptions

MAX_FLOAT_CLASSES = 20
"""Different floats beyond which they are no labels where they have fractions."""
LEAST_SIZE, LARGEST_SIZE = 1e-70, 1e70
"""Sizes of rows whose fourth powers keep clear of overflow and underflow."""
MERGING_TIME_SHARE, MIN_MERGING_SECONDS = 0.2, 0.05
"""The share of a time limit that looking for equal rows may take, and the seconds under any limit.
"""
SECONDS_PER_ENTRY, SECONDS_PER_ROW = 2e-8, 4e-7
"""What hashing and comparing takes, for deciding whether a time limit allows it."""
MAX_SORTED_ENTRIES = 5 * 10**5
"""Entries of a table up to which its rows are sorted, so that their order does not matter; beyond,
they are hashed."""
KIND_FACTOR = np.uint64(0x9E3779B97F4A7C15)

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class RowInput:
    """Encoded rows (M, d) of the `n` rows of X and, below these, of `others` rows of another target.

    `kept` (M,) are their positions among all of them, `weights` (M,) what each counts, `labels`
    (M,) codes of `classes`. `total` is the weight of the rows to stand for.
    """

    rows: Any
    kept: Indices
    weights: Vector
    n: int
    total: float
    others: int = 0
    labels: Indices | None = None
    classes: npt.NDArray[Any] | None = None
    encoding: Encoding | None = None
    notes: tuple[str, ...] = ()

    def at(self, rows: Indices, name: str) -> Indices:
        """Find where rows of X, which an option names, are among those that are compared."""
        gone = np.setdiff1d(rows, self.kept)
        if gone.size:
            raise InvalidInput(
                f"{name} names row {gone[0]}, which is left out: it has a missing value"
            )
        return np.searchsorted(self.kept, rows)

    def split(self, sample: "Sample") -> tuple["Sample", "Sample"]:
        """Split a sample into the rows to choose from and those to stand for: twice itself without a target."""
        if not self.others:
            return sample, sample
        of_x = sample.first < self.n
        own, target = (sample.take(np.flatnonzero(mine)) for mine in (of_x, ~of_x))
        own = replace(own, weights=as_shares(own.weights, "X"), size=self.n)
        return own, replace(target, weights=as_shares(target.weights, "target"))


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows (M, d) with weights (M,) of sum 1; `first` (M,) are their positions among `size` rows.

    `labels` (M,) are codes of `classes`, or None. The weights are shares of `total`.
    """

    rows: Any
    weights: Vector
    first: Indices
    size: int
    labels: Indices | None = None
    classes: npt.NDArray[Any] | None = None
    total: float = 0.0

    @property
    def n_classes(self) -> int:
        """The number of classes of the labels, 1 where there are none."""
        return 1 if self.classes is None else len(self.classes)

    def take(self, index: Indices, weights: Vector | None = None) -> "Sample":
        """Take some of the rows, with their weights or with others."""
        return replace(
            self,
            rows=some_rows(self.rows, index),
            weights=self.weights[index] if weights is None else weights,
            first=self.first[index],
            labels=None if self.labels is None else self.labels[index],
        )

    def loaded(self) -> "Sample":
        """Return the rows as an array or CSR."""
        return replace(self, rows=self.rows[:])


def distinct_rows(
    entry: RowInput, kinds: Indices, always: Indices, deadline: Deadline
) -> tuple[Sample, str]:
    """Take the rows that have weight, and those `always`, and merge equal ones of one kind and label.

    Where there is no time to compare them, a note says so.
    """
    shares = as_weights(entry.weights, len(entry.kept), "sample_weight")
    labels, size = (entry.labels, entry.classes), entry.n + entry.others
    used = shares > 0
    used[always] = True
    every = Sample(entry.rows, shares, entry.kept, size, *labels, entry.total)
    sample = every.take(np.flatnonzero(used))
    n, d = sample.rows.shape
    allowed = max(MERGING_TIME_SHARE * deadline.seconds, MIN_MERGING_SECONDS)
    if n * (d * SECONDS_PER_ENTRY + SECONDS_PER_ROW) > allowed:
        return sample, "equal rows were not merged within the time limit"
    kinds = kinds[sample.first]
    if sample.labels is not None:
        kinds = kinds + sample.labels * (int(kinds.max()) + 1)
    return sample.take(*merge_equal_rows(sample.rows, kinds, sample.weights)), ""


def read_rows(X: Any, options: PointsOptions, scales: bool) -> RowInput:
    """Read the rows of X, and of another target, as their similarity compares them.

    `scales` says if that is scaled.
    """
    if options.target is not None:
        return _read_with_target(X, options, scales)
    return _read(X, options, scales, options.sample_weight, options.columns)


def is_encoded(X: Any, options: Any) -> bool:
    """Whether X goes column by column: a table does, and an array where columns or missing values are spoken of."""
    if is_frame(X) or isinstance(X, Table):
        return True
    encodes = options.columns is not None or options.missing != "error"
    if encodes and sp.issparse(X):
        raise InvalidInput(
            f"columns and missing are for tables and dense arrays, got a {type(X).__name__}"
        )
    return encodes


def _read(X: Any, options: PointsOptions, scales: bool, weights: Any, columns: Any) -> RowInput:
    """Read rows; labels and weights that are columns belong to them."""
    sparse, labels = options.similarity in SPARSE, options.labels
    source: Any = Table.of(X) if is_frame(X) else X
    given = {"labels": labels, "sample_weight": weights}
    roles = {name: role(source, value, name) for name, value in given.items()}
    if not is_encoded(X, options):
        rows = finite_rows(X, sparse)
        n = rows.shape[0]
        encoding, notes, kept = None, [], np.arange(n)
    else:
        table = Table.of(source)
        n = table.rows
        result = encoded(
            Block(table, None, weights if roles["sample_weight"] is None else None),
            columns,
            {name: column.name for name, column in roles.items() if column is not None},
            options.missing,
            without=[name for name in (options.groups, options.units) if isinstance(name, str)],
            equality=options.similarity == "hamming",
            sparse=sparse,
            shifts=scales,
        )
        rows, encoding, notes = finite_rows(result.encoded), result.encoding, result.notes
        kept = np.arange(n) if result.rows.kept is None else result.rows.kept
        weights = result.rows.weight
    mass = np.ones(len(kept)) if weights is None else as_array(weights, "sample_weight")
    as_weights(mass, len(kept), "sample_weight")
    entry = RowInput(rows, kept, mass, n, float(mass.sum()), 0, None, None, encoding, tuple(notes))
    if labels is None:
        return entry
    classes, codes = as_labels(roles["labels"] or labels, n, kept)
    return replace(entry, labels=codes, classes=classes)


def _read_with_target(X: Any, options: PointsOptions, scales: bool) -> RowInput:
    """Read the rows of X and of the target as one.

    Weights are such that rows of both count alike, on average.
    """
    weights: list[Any] = [options.sample_weight, options.target_weight]
    labels, target, columns = options.labels, gathered(options.target), options.columns
    if labels is not None and not isinstance(labels, str):
        raise InvalidInput(
            "labels beside a target must name a column that X and the target have, got an array for"
            " X alone"
        )
    if is_frame(X) != is_frame(target) or library_of(X) != library_of(target):
        container = f"a table of {library_of(X)}" if is_frame(X) else "an array"
        raise InvalidInput(
            f"target must be {container} as X is, got {shown(type(target).__name__)}"
        )
    notes: tuple[str, ...] = ()
    if is_frame(X):
        tables = Table.of(X), Table.of(target)
        named = (labels, options.sample_weight, options.groups, options.units)
        without = [name for name in named if isinstance(name, str)]
        schema = Schema.of(tables[0], columns, without=without)
        columns, notes = dict(zip(schema.names, schema.kinds, strict=True)), schema.notes
        if options.missing == "error":
            try:
                refuse_missing([c for c in tables[1].columns if c.name in columns], RULES[1:])
            except InvalidInput as error:
                raise error.at("target") from None
        for at, name in enumerate(("sample_weight", "target_weight")):
            column = role(tables[at], weights[at], name)
            weights[at] = weights[at] if column is None else column.values
        names = [*columns, *([] if labels is None else [labels])]
        both = below(X, target, names, "target")
    else:
        both = below_array(X, target, "target", options.missing != "error")
    m = height(target)
    n = height(both) - m
    counts = (n, "sample_weight"), (m, "target_weight")
    shares = [
        np.full(count, 1.0 / count) if weight is None else as_weights(weight, count, name)
        for weight, (count, name) in zip(weights, counts, strict=True)
    ]
    pooled = np.concatenate([n * shares[0], m * shares[1]])
    entry = _read(both, options, scales, pooled, columns)
    mass = np.ones(m) if weights[1] is None else np.asarray(weights[1], np.float64)
    total = float(mass[entry.kept[entry.kept >= n] - n].sum())
    return replace(entry, n=n, others=m, total=total, notes=(*notes, *entry.notes))


def finite_rows(X: Any, sparse: bool = True) -> Any:
    """Return X as finite rows (N, d) of ordinary size: float32 and float64 stay so, CSR where it is sparse."""
    if sp.issparse(X) and not sparse:
        raise InvalidInput(
            "this similarity needs dense rows, got a sparse matrix; use rbf, matern, cosine or"
            " linear"
        )
    rows = as_rows(X, "X")
    entries = rows.data if sp.issparse(rows) else rows
    top = max(entries.max(initial=0.0), -entries.min(initial=0.0))
    if top and not LEAST_SIZE < top < LARGEST_SIZE:
        raise InvalidInput(
            f"X must hold numbers between {LEAST_SIZE:g} and {LARGEST_SIZE:g} in size, of which the"
            f" largest is {top:.3g}; give it in another unit"
        )
    return rows


def as_gram(X: Any) -> Any:
    """Return X as a symmetric positive semi-definite matrix of similarities (N, N)."""
    gram = finite_rows(X, sparse=False)
    if gram.shape[0] != gram.shape[1]:
        raise InvalidInput(
            f"precomputed similarities must be square (rows, rows), got {gram.shape}"
        )
    require_semidefinite(gram, "precomputed similarities")
    return gram


def as_labels(y: Any, size: int, kept: Any = slice(None)) -> tuple[npt.NDArray[Any], Indices]:
    """Return the classes of labels of so many rows, sorted, and the code of each row that is kept."""
    if is_table(y) and not is_frame(y):
        y = Table.of(y).columns[0]
    if isinstance(y, Column):
        classes, codes = y.levels
    else:
        labels = read(y, "labels")
        try:
            classes, codes = np.unique(labels, return_inverse=True)
        except Exception:  # labels are any objects, and so is what comparing them raises
            raise InvalidInput(
                f"labels must be such that they can be sorted, got {shown(labels[:3].tolist())}"
            ) from None
        codes = codes.reshape(labels.shape).astype(np.int64)
        if labels.dtype.kind in "fc":
            codes[~np.isfinite(labels)] = -1
    if codes.shape != (size,):
        raise InvalidInput(
            f"labels must have one label for each of the {size} rows, got shape {codes.shape}"
        )
    codes = codes[kept]
    if (codes < 0).any():
        raise InvalidInput(
            f"labels must be known and finite, but one is not in row {int(np.argmin(codes))}"
        )
    if classes.dtype.kind == "f" and len(classes) > MAX_FLOAT_CLASSES and (classes % 1 > 0).any():
        raise InvalidInput(
            f"labels must be classes, got {len(classes)} different numbers such as {classes[0]:g}"
            f" and {classes[1]:g} in {size} rows; drop labels, or bin them first"
        )
    return classes, codes


def merge_equal_rows(rows: Any, kinds: Indices | None, weights: Vector) -> tuple[Indices, Vector]:
    """Find the first of each set of equal rows of a kind, and their total weights.

    Small tables come back sorted, large ones in order; there rows of equal hash are compared.
    """
    n, d = rows.shape
    kinds = np.zeros(n, np.int64) if kinds is None else kinds
    small = n * d <= MAX_SORTED_ENTRIES
    if small:
        rows = rows[:]
        rows = rows.toarray() if sp.issparse(rows) else rows
        order = np.lexsort((*rows.T[::-1], kinds))
        same = kinds[order[1:]] == kinds[order[:-1]]
    else:
        hashes = row_hashes(rows) ^ (kinds.astype(np.uint64) * KIND_FACTOR)
        order = np.argsort(hashes, kind="stable")
        same = hashes[order[1:]] == hashes[order[:-1]]
        same &= kinds[order[1:]] == kinds[order[:-1]]
    alike = np.flatnonzero(same)
    same[alike] = ~_differ(rows, order[alike], order[alike + 1])
    new = np.append(True, ~same)
    first = order[new]
    mass = np.bincount(np.cumsum(new) - 1, weights[order]).astype(np.float64)
    in_order = np.arange(len(first)) if small else np.argsort(first)
    return first[in_order], mass[in_order]


def row_hashes(rows: Any) -> Hashes:
    """Hash each row to 64 bits, equal rows alike: Σ of each entry's bits times an odd number of its column."""
    two = np.uint64(2)
    draws = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64)
    factors = draws * two + np.uint64(1)
    hashes = np.empty(rows.shape[0], np.uint64)
    for part in row_slices(rows):
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
    step = next(row_slices(rows)).stop
    for start in range(0, len(a), step):
        part = slice(start, start + step)
        first, second = rows[a[part]], rows[b[part]]
        unequal = first != second
        if sp.issparse(unequal):
            differs[part] = np.diff(unequal.tocsr().indptr) > 0
        else:
            differs[part] = unequal.any(axis=1)
    return differs
