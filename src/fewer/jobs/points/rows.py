"""Rows as users hand them in, checked and encoded, the distinct ones of them, and which may be kept together."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import (
    Fix,
    Indices,
    InvalidInput,
    Vector,
    as_shares,
    as_units,
    as_vector,
    gathered,
    is_frame,
    library_of,
    read,
    shown,
)
from ...constraints.groups import Groups, as_groups, limits_of_groups
from ...constraints.sparse_simplex import SparseSimplex
from ...deadline import Deadline
from ...distances import row_slices
from ...lazy_rows import as_rows, some_rows
from ...similarity import require_semidefinite
from ...spaces import Space
from ...tables.column import (
    Column,
    Table,
    below,
    below_array,
    columns_of,
    refuse_missing,
    role,
)
from ...tables.frames import aligned, height, index_of, is_table, nearest
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
CANDIDATES_PER_ROW = 10
"""Candidates of a group for each row of it that must be kept."""
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
        at = np.minimum(np.searchsorted(self.kept, rows), len(self.kept) - 1)
        gone = rows[self.kept[at] != rows]
        if gone.size:
            raise InvalidInput(
                f"{name} names row {gone[0]}, which is left out: it has a missing value"
            )
        return at

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
    entry: RowInput, kinds: Indices | None, always: Indices, deadline: Deadline
) -> tuple[Sample, str]:
    """Take the rows that have weight, and those `always`, and merge equal ones of one kind and label.

    Where there is no time to compare them, a note says so.
    """
    shares = as_shares(entry.weights, "sample_weight")
    labels, size = (entry.labels, entry.classes), entry.n + entry.others
    used = shares > 0
    used[always] = True
    sample = Sample(entry.rows, shares, entry.kept, size, *labels, entry.total)
    if not used.all():
        sample = sample.take(np.flatnonzero(used))
    n, d = sample.rows.shape
    allowed = max(MERGING_TIME_SHARE * deadline.seconds, MIN_MERGING_SECONDS)
    if n * (d * SECONDS_PER_ENTRY + SECONDS_PER_ROW) > allowed:
        return sample, "equal rows were not merged within the time limit"
    kinds = None if kinds is None else kinds[sample.first]
    if kinds is None or sample.labels is None:
        kinds = sample.labels if kinds is None else kinds
    else:
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
    mass: Vector = np.broadcast_to(1.0, len(kept))
    if weights is not None:
        mass = as_vector(weights, (len(kept),), "sample_weight")
        as_shares(mass, "sample_weight")
    entry = RowInput(rows, kept, mass, n, float(mass.sum()), 0, None, None, encoding, tuple(notes))
    if labels is None:
        return entry
    classes, codes = as_labels(roles["labels"] or labels, n, kept)
    return replace(entry, labels=codes, classes=classes)


def _read_with_target(X: Any, options: PointsOptions, scales: bool) -> RowInput:
    """Read the rows of X and of the target as one.

    Weights are such that rows of both count alike, on average.
    """
    labels, target, columns = options.labels, gathered(options.target), options.columns
    weights = {"sample_weight": options.sample_weight, "target_weight": options.target_weight}
    if labels is not None and not isinstance(labels, str):
        raise InvalidInput(
            "labels beside a target must name a column that X and the target have, got an array for"
            " X alone"
        )
    if library_of(X) != library_of(target):
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
        for table, (name, weight) in zip(tables, list(weights.items()), strict=True):
            column = role(table, weight, name)
            weights[name] = weight if column is None else column.values
        both = below(X, target, [*columns, *filter(None, [labels])], "target")
    else:
        both = below_array(X, target, "target", options.missing != "error")
    m = height(target)
    n = height(both) - m
    mass = [
        np.ones(count) if weight is None else as_vector(weight, (count,), name)
        for count, (name, weight) in zip((n, m), weights.items(), strict=True)
    ]
    shares = [as_shares(part, name) for part, name in zip(mass, weights, strict=True)]
    entry = _read(both, options, scales, np.append(n * shares[0], m * shares[1]), columns)
    total = float(mass[1][entry.kept[entry.kept >= n] - n].sum())
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
    small = n * d <= MAX_SORTED_ENTRIES
    if small:
        rows = rows[:]
        rows = rows.toarray() if sp.issparse(rows) else rows
        order = np.lexsort(rows.T[::-1] if kinds is None else (*rows.T[::-1], kinds))
        alike = np.arange(n - 1)
    else:
        hashes = row_hashes(rows)
        if kinds is not None:
            hashes ^= kinds.astype(np.uint64) * KIND_FACTOR
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        alike = np.flatnonzero(hashes[1:] == hashes[:-1])
    one, other, new = order[alike], order[alike + 1], np.ones(n, bool)
    new[alike + 1] = _differ(rows, one, other)
    if kinds is not None:
        new[alike + 1] |= kinds[one] != kinds[other]
    if new.all() and not small:
        return np.arange(n), weights
    first = order[new]
    mass = np.bincount(np.cumsum(new) - 1, weights[order]).astype(np.float64, copy=False)
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


class Limits(NamedTuple):
    """Rows of X that are kept in any case, rows that never are, and their groups, None where there are none.

    `fewest` and `most` (groups,) say how many rows of each group are kept.
    """

    include: Indices
    exclude: Indices
    groups: Groups | None
    fewest: Indices
    most: Indices

    @classmethod
    def of(cls, X: Any, n: int, options: PointsOptions) -> "Limits":
        """Read what the options say of the n rows of X."""
        labels = index_of(X)
        include = rows_named(options.include, labels, n, "include")
        exclude = rows_named(options.exclude, labels, n, "exclude")
        clash = np.intersect1d(include, exclude)
        if clash.size:
            words = f"include and exclude must not overlap, both hold row {clash[0]}"
            raise InvalidInput(words, "include", [Fix("exclude")])
        groups = None if options.groups is None else groups_of(X, options.groups, n)
        names = () if groups is None else groups.names
        fewest = limits_of_groups(options.min_per_group, names, "min_per_group", n)
        most = limits_of_groups(options.max_per_group, names, "max_per_group", n)
        return cls(include, exclude, groups, fewest, most)

    def kinds(self, n: int, others: int = 0) -> Indices | None:
        """Number the n rows of X, and `others` below them, so that rows which may be merged have one number.

        None where all may be.
        """
        if not (self.include.size or self.exclude.size or others) and self.groups is None:
            return None
        codes = np.zeros(n, np.int64) if self.groups is None else 2 * self.groups.codes
        codes[self.exclude] += 1
        codes[self.include] = codes.max() + 1 + np.arange(len(self.include))
        return np.append(codes, np.full(others, codes.max() + 1))

    def allowed(self, rows: Indices) -> Indices:
        """Find which of these rows of X may be kept."""
        return np.flatnonzero(~np.isin(rows, self.exclude))

    def required(self, rows: Indices, k: int, rng: np.random.Generator) -> Indices:
        """Find which of these rows of X must be candidates for k points: those included, and enough of each group."""
        included = np.flatnonzero(np.isin(rows, self.include))
        if self.groups is None:
            return included
        order = rng.permutation(self.allowed(rows))
        codes = self.groups.codes[rows[order]]
        enough = np.maximum(CANDIDATES_PER_ROW * self.fewest, np.minimum(self.most, k))
        return np.union1d(included, order[ranks_in_groups(codes) < enough[codes]])

    def constraint(
        self, space: Space, k: int, rows: Indices, options: PointsOptions
    ) -> SparseSimplex:
        """Make the set of weights on at most k of these rows of X within all limits."""
        low, high = options.weights(k)
        include, exclude = (
            np.flatnonzero(np.isin(rows, some)) for some in (self.include, self.exclude)
        )
        if self.groups is None:
            return SparseSimplex(space, k, low, high, include, exclude)
        present, codes = np.unique(self.groups.codes[rows], return_inverse=True)
        lacking = np.setdiff1d(np.flatnonzero(self.fewest), present)
        if lacking.size:
            name, fewest = shown(self.groups.names[lacking[0]]), self.fewest[lacking[0]]
            raise InvalidInput(
                f"min_per_group asks for {fewest} rows of group {name}, all of which are left out"
            )
        groups = Groups(codes, tuple(self.groups.names[at] for at in present))
        most = None if options.max_per_group is None else self.most[present]
        fewest = None if options.min_per_group is None else self.fewest[present]
        return SparseSimplex(space, k, low, high, include, exclude, groups, most, fewest)


def ranks_in_groups(codes: Indices) -> Indices:
    """Count for each entry (n,) how many before it are in its group.

    >>> ranks_in_groups(np.array([0, 1, 0, 0])).tolist()
    [0, 0, 1, 2]
    """
    order, ranks = np.argsort(codes, kind="stable"), np.empty(len(codes), np.int64)
    by_group = codes[order]
    ranks[order] = np.arange(len(codes)) - np.searchsorted(by_group, by_group)
    return ranks


def rows_named(value: Any, labels: Any, n: int, name: str) -> Indices:
    """Read rows by a mask, by labels of an index, or by number, sorted."""
    array = read(value, name)
    if array.dtype == bool:
        if array.shape != (n,):
            raise InvalidInput(
                f"{name}: a mask must have shape ({n},), one for each row, got {array.shape}"
            )
        return np.flatnonzero(array)
    if labels is not None:
        place = {label: at for at, label in enumerate(labels)}
        value = [
            place.get(label, label) for label in ([value] if isinstance(value, str) else value)
        ]
        for at in value:
            if not isinstance(at, (int, np.integer)):
                hint = nearest(at, labels).replace("the columns are", "labels are")
                raise InvalidInput(f"{name}: no row has the index label {shown(at)}{hint}")
    return as_units(value, n, "rows", name)


def groups_of(X: Any, groups: Any, n: int) -> Groups:
    """Read the group of each of n rows from an array, a Series or the name of a column."""
    column = role(X, groups, "groups")
    if column is None and is_table(groups):
        column = columns_of(aligned(groups, X, "groups"))[0]
    if column is None:
        return as_groups(groups, n)
    names, codes = column.levels
    if len(codes) != n or (codes < 0).any():
        gap = f"with one missing in row {int(np.argmin(codes))}" if (codes < 0).any() else ""
        raise InvalidInput(
            f"groups must have one label for each of the {n} rows, got {len(codes)} {gap}"
        )
    return Groups(codes, tuple(names.tolist()))


def by_position(n: int, options: PointsOptions) -> PointsOptions:
    """Make options for n rows of blocks that were gathered: rows by position, whatever the index of the blocks."""
    changes = {}
    for name in ("include", "exclude"):
        rows = rows_named(getattr(options, name), None, n, name)
        changes[name] = np.isin(np.arange(n), rows)
    for name in ("groups", "units"):
        value = getattr(options, name)
        if value is not None and not isinstance(value, str):
            changes[name] = read(value, name)
    return options.replace(**changes)
