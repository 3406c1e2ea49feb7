"""What passes over blocks leave of the rows of points: candidates, then sums; or weighted rows that stand for all.

*Two passes.* Candidates are the distinct rows with the smallest keys, and a key is hashed from what
is in the row and the seed. So they depend neither on how the rows were cut nor on their order, equal
rows are one candidate, and the weight of each is exact: a row that is among the smallest of all was
among the smallest of every block it is in. The second pass sums how similar each is to all rows.

*One pass.* Each block keeps some weighted rows that stand for it, and what is merged is reduced
again. With P_b the rows of block b, of share w_b, and Q_b what stands for them, MMD(Σ w_b Q_b, Σ w_b
P_b) <= Σ w_b MMD(Q_b, P_b), and a reduction of Q to Q' adds MMD(Q', Q): all of it the triangle
inequality. Every MMD(Q', Q) is computed, not estimated, so `error` is a proven bound.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve

from ..._validation import Indices, InvalidInput, Vector
from ...objectives.mmd import RowsMMD
from ...options import IN_BLOCKS
from ...row_blocks import merged_in_tree
from ...spaces import Atoms
from ...tables.column import Levels, dropped_note
from ...tables.frames import stacked, take_rows, width
from ...tables.schema import EVERY_KIND, Encoding, Schema, level_codes, united
from ...tables.source import Block, Source
from . import target as work
from .comparison import STANDARDIZED, ColumnMoments, Comparison, standardizes, with_bandwidth
from .options import GROUP_LIMITS, PointsOptions
from .rows import Hashes, Sample, as_labels, merge_equal_rows, row_hashes
from .sums import CandidateRows, RowSums, frequencies_of

MOVED = (
    "data in blocks; choose some hundred rows of them first, then move points among these, "
    "points(kept.rows, k, sample_weight=kept.weights, move=True)"
)
OTHER_TARGET = (
    "data in blocks; choose some thousand rows of them first, then of these those that stand for"
    " the target"
)
CANDIDATES_PER_POINT = 4
"""Candidates for each point, at least."""
MAX_KEPT_CELLS = 2**20
"""Cells of the candidates that a summary of the first pass keeps, unless more are needed."""
LEAF_ROWS = 1024
"""Rows that are reduced at once: all their pairs are compared."""
MIN_KEPT, KEPT_PER_POINT = 200, 4
"""Rows that stand for a block: at least so many, and so many for each point."""
JITTER = 1e-10
"""The share of the diagonal that is added to it: rows may be nearly equal."""


class RowSet(NamedTuple):
    """Some rows: positions and weights (s,), numbers (s, p), labels, hash keys (s,), and the rows as they came."""

    positions: Indices
    weights: Vector
    numbers: Any
    labels: Any
    keys: Any = None
    originals: Any = None

    def take(self, rows: Indices) -> "RowSet":
        """Take some of the rows."""
        return RowSet(*(take_rows(column, rows) for column in self))

    @classmethod
    def joined(cls, parts: Sequence["RowSet"], sizes: Sequence[int]) -> "RowSet":
        """Put sets from blocks of these sizes behind each other."""
        starts = np.cumsum([0, *sizes[:-1]])
        rows = cls(*(stacked(column) for column in zip(*parts, strict=True)))
        return rows._replace(
            positions=rows.positions + np.repeat(starts, [len(p[0]) for p in parts])
        )


@dataclass(frozen=True, eq=False)
class FirstPlan:
    """How blocks are read: everything that is decided before the first pass.

    Of the candidates `most` are kept at most, and `least` are compared; `draws` rows are drawn by
    weight. `labelled` says whether rows have classes.
    """

    schema: Schema
    options: PointsOptions
    k: int
    seed: int
    labelled: bool
    most: int
    least: int
    draws: int = 0

    @classmethod
    def of(cls, head: Block, k: int, options: PointsOptions, seed: int) -> "FirstPlan":
        """Decide by the first rows."""
        if options.precomputed:
            raise InvalidInput("similarity='precomputed' is a matrix in memory, got data in blocks")
        options.refuse("move", road=MOVED)
        options.refuse("target", road=OTHER_TARGET)
        options.refuse("include", "exclude", "groups", *GROUP_LIMITS, "units", road=IN_BLOCKS)
        recode = EVERY_KIND if options.similarity == "hamming" else {"boolean": "category"}
        roles = {name: getattr(options, name) for name in ("labels", "sample_weight")}
        roles = {name: column for name, column in roles.items() if isinstance(column, str)}
        schema = Schema.of(head.X, options.columns, roles, options.missing, recode=recode)
        least = max(work.MIN_CANDIDATES, CANDIDATES_PER_POINT * k)
        most = max(least, min(work.MAX_CANDIDATES, MAX_KEPT_CELLS // width(head.X)))
        labelled = head.y is not None or "labels" in roles
        bare = options.replace(
            standardize=standardizes(head.X, options),
            **dict.fromkeys(("labels", "sample_weight", "columns", "callback")),
            rng=0,
        )
        return cls(schema, bare, k, seed, labelled, most, least)

    def filled(self, data: Source | Block, rows: int = 0) -> "FirstPlan":
        """Find what stands for missing values, by a pass over a source or by one block."""
        return replace(self, schema=self.schema.filled(data, "points", rows, weighted=True))


def smallest(keys: Hashes, weights: Vector, count: int) -> tuple[Indices, Vector, bool]:
    """Find the rows of the smallest keys, one of each, their total weights, and whether these are all with weight."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    mass = np.bincount(inverse, weights, len(first)).astype(np.float64)
    some = np.flatnonzero(mass > 0)
    return first[some[:count]], mass[some[:count]], len(some) <= count


@dataclass(frozen=True, eq=False)
class FirstSummary:
    """What the first pass leaves of blocks; `exact` says that all distinct rows are candidates.

    `drawn` are rows drawn independently by weight, so many as the plan says. `levels` are the
    labels of each category, and last the classes.
    """

    candidates: RowSet
    exact: bool
    drawn: RowSet
    columns: ColumnMoments
    levels: tuple[tuple[Any, ...], ...]
    plan: FirstPlan
    rows: int
    dropped: int

    @classmethod
    def of(cls, block: Block, plan: FirstPlan) -> "FirstSummary":
        """Summarise one block."""
        read = plan.schema.read(block)
        n, columns = read.numbers.shape[0], list(read.categories)
        if plan.labelled:
            columns.append(Levels(*as_labels(read.y, n)))
        weights = np.ones(n) if read.weight is None else read.weight
        positions = np.arange(n) if read.kept is None else read.kept
        keys, moments = (
            row_keys(read.numbers, columns, plan.seed),
            ColumnMoments.of(read.numbers, weights),
        )

        def some(rows: Indices, mass: Vector) -> RowSet:
            labels = np.empty((len(rows), len(columns)), object)
            for j, column in enumerate(columns):
                labels[:, j] = column.values[column.codes[rows]]
            return RowSet(positions[rows], mass, read.numbers[rows], labels, keys[rows])

        rows, mass, exact = smallest(keys, weights, plan.most)
        draws = np.arange(0)
        if plan.draws and moments.total > 0:
            rng = np.random.default_rng([plan.seed, 2, int(keys.sum(dtype=np.uint64)), n])
            draws = rng.choice(n, plan.draws, p=weights / moments.total)
        levels = tuple(tuple(column.values) for column in columns)
        sets = some(rows, mass), exact, some(draws, np.ones(len(draws)))
        return cls(*sets, moments, levels, plan, read.size, read.size - n)

    @classmethod
    def merged(cls, parts: Sequence["FirstSummary"]) -> "FirstSummary":
        """Merge summaries of blocks, in order."""
        plan, sizes = parts[0].plan, [part.rows for part in parts]
        names = [*plan.schema.categories, "labels"]
        by_column = zip(names, zip(*(part.levels for part in parts), strict=True), strict=False)
        levels = tuple(tuple(united(column, name)) for name, column in by_column)
        rows = RowSet.joined([part.candidates for part in parts], sizes)
        some, mass, exact = smallest(rows.keys, rows.weights, plan.most)
        candidates = rows.take(some)._replace(weights=mass)
        exact = exact and all(part.exact for part in parts)
        columns = ColumnMoments.merged([part.columns for part in parts])
        drawn = RowSet.joined([part.drawn for part in parts], sizes)
        if (
            plan.draws and columns.total > 0
        ):  # each draw from a block by its weight, none used twice
            keys = [int(part.drawn.keys.sum(dtype=np.uint64)) for part in parts]
            rng = np.random.default_rng([plan.seed, 3, *keys])
            shares = np.array([part.columns.total for part in parts]) / columns.total
            starts = np.cumsum([0, *(len(part.drawn.keys) for part in parts[:-1])])
            origin = rng.choice(len(parts), plan.draws, p=shares)
            drawn = drawn.take(starts[origin] + np.arange(plan.draws))
        dropped = sum(part.dropped for part in parts)
        return cls(candidates, exact, drawn, columns, levels, plan, sum(sizes), dropped)


def row_keys(numbers: Any, columns: Sequence[Levels], seed: int) -> Hashes:
    """Return a random number for each row, the same for rows that are equal."""
    keys = np.zeros(numbers.shape[0], np.uint64)
    if numbers.shape[1]:
        keys = row_hashes(numbers)
    for j, column in enumerate(columns):
        each = np.array([label_hash(label, j) for label in column.values], np.uint64)
        keys = keys + each[column.codes]
    return _mixed(keys ^ _mixed(np.full(1, seed, np.uint64) + np.uint64(0x9E3779B97F4A7C15)))


def label_hash(label: Any, column: int) -> int:
    """Return the same number for the same label of a column, in every process."""
    plain = label.item() if isinstance(label, np.generic) else label
    text = f"{column}|{type(plain).__name__}|{plain}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(keys: Hashes) -> Hashes:
    """Mix keys by the finish of splitmix64: every bit depends on every other."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class PointsPlan:
    """What the first pass decided: how rows are compared, and the candidates as they are compared.

    The candidates are all rows where that is `exact`. `originals` are candidates of arrays as they
    came, None for tables; `kept` rows stand for a block where one pass is made.
    """

    first: FirstPlan
    sample: Sample
    comparison: Comparison
    exact: bool
    originals: Any
    kept: int
    notes: tuple[str, ...]

    @classmethod
    def of(cls, first: FirstSummary) -> "PointsPlan":
        """Decide; of the candidates as many remain as can be compared with all rows: the more rows, the fewer."""
        plan, rows, options = first.plan, first.candidates, first.plan.options
        if not len(rows.weights):
            raise InvalidInput("there are no rows with weight")
        encoding = None
        if plan.schema.named:
            levels = first.levels[: len(plan.schema.categories)]
            values = tuple(np.array([*level, None], object)[:-1] for level in levels)
            encoding = Encoding(plan.schema, values, equality=options.similarity == "hamming")
        if first.exact:  # in the order of memory the search takes the same way to the same answer
            rows = rows.take(np.argsort(rows.positions))
            sample = sample_of(rows, first, encoding)
            distinct, _ = merge_equal_rows(sample.rows, sample.labels, sample.weights)
            rows, sample = rows.take(distinct), sample.take(distinct).loaded()
        else:
            pair = first.rows * (rows.numbers.shape[1] + 20)
            count = max(plan.least, work.MAX_CANDIDATE_WORK // pair)
            rows = rows.take(np.arange(min(count, len(rows.weights))))
            sample = sample_of(rows, first, encoding)
        comparison = Comparison(options.similarity, encoding=encoding)
        centres = options.similarity == "linear" and not plan.labelled
        if options.standardize and first.exact:  # all rows are here: as in memory
            comparison = comparison.standardized_by(sample)
        elif options.standardize or (centres and not sp.issparse(sample.rows)):
            comparison = comparison.standardized(first.columns, bool(options.standardize))
        sample = replace(sample, rows=comparison.view(sample.rows))
        rng, total = np.random.default_rng(plan.seed), None if first.exact else first.rows
        sample, comparison, note = with_bandwidth(sample, comparison, plan.k, options, rng, total)
        scaled = STANDARDIZED if options.standardize and rows.numbers.shape[1] else ""
        gaps = plan.schema.note or dropped_note(first.dropped, first.rows)
        notes = tuple(filter(None, (scaled, *plan.schema.notes, gaps, note)))
        originals = None if plan.schema.named else rows.numbers
        kept = max(MIN_KEPT, KEPT_PER_POINT * plan.k)
        return cls(plan, sample.loaded(), comparison, first.exact, originals, kept, notes)

    def drawn(self, first: FirstSummary) -> "PointsPlan":
        """Take the rows that were drawn by weight for candidates."""
        sample = sample_of(first.drawn, first, self.comparison.encoding)
        sample = replace(sample, rows=self.comparison.scaled(sample.rows))
        rows, weights = merge_equal_rows(sample.rows, sample.labels, sample.weights)
        originals = None if self.originals is None else first.drawn.numbers[rows]
        return replace(self, sample=sample.take(rows, weights).loaded(), originals=originals)

    def read(self, block: Block) -> Sample:
        """Read rows of a block as they are compared, with their own weights."""
        read, encoding = self.first.schema.read(block), self.comparison.encoding
        rows = read.numbers
        if encoding is not None:
            rows = encoding.rows(read.numbers, read.categories, read.gone)
        n, labels, classes = rows.shape[0], None, self.sample.classes
        if classes is not None:
            labels = level_codes(Levels(*as_labels(read.y, n)), classes)
            if labels.min(initial=0) < 0:
                raise InvalidInput(
                    "the blocks of the second pass hold labels that those of the first had not"
                )
        weights = np.ones(n) if read.weight is None else read.weight
        kept = np.arange(read.size) if read.kept is None else read.kept
        total = float(weights.sum())
        return Sample(
            self.comparison.scaled(rows), weights, kept, read.size, labels, classes, total
        )

    @property
    def candidates(self) -> CandidateRows:
        """The candidates, ready to be compared with rows, and the frequencies of random features."""
        own, similarity = self.sample, self.comparison.similarity
        cells = work.MAX_FEATURE_CELLS // max(own.size, 1)
        count = int(np.clip(cells, 2 * work.MIN_SAMPLED, work.MAX_FEATURES))
        rng = np.random.default_rng([self.first.seed, 1])
        frequencies = frequencies_of(similarity, count, own.rows.shape[1], rng)
        return CandidateRows(own.rows, own.labels, own.n_classes, similarity, own.size, frequencies)


def sample_of(rows: RowSet, first: FirstSummary, encoding: Encoding | None) -> Sample:
    """Make a sample of rows, encoded, with weights of sum one."""
    columns = [Levels(column, np.arange(len(column))) for column in rows.labels.T]
    numbers, labels, classes = rows.numbers, None, None
    if first.plan.labelled:
        classes = np.array(first.levels[-1])
        labels = level_codes(columns.pop(), classes)
    if encoding is not None:
        numbers = encoding.rows(numbers, columns)
    shares, total = rows.weights / rows.weights.sum(), first.columns.total
    return Sample(numbers, shares, rows.positions, first.rows, labels, classes, total)


def row_sums(block: Block, plan: PointsPlan) -> RowSums:
    """Sum how similar the candidates are to the rows of a block."""
    part, memory = plan.read(block), plan.first.options.max_memory
    return plan.candidates.sums(part.rows, part.weights, part.labels, memory)


class SecondSummary(NamedTuple):
    """Sums over rows by which candidates are compared with all of them; None where these are all rows."""

    plan: PointsPlan
    sums: RowSums | None

    @property
    def rows(self) -> int:
        """How many rows were summed."""
        return 0 if self.sums is None else self.sums.rows

    @property
    def exact(self) -> bool:
        """Whether no further pass is needed."""
        return True

    @classmethod
    def of(cls, block: Block, plan: PointsPlan) -> "SecondSummary":
        """Sum over one block."""
        return cls(plan, row_sums(block, plan))

    @classmethod
    def merged(cls, parts: Sequence["SecondSummary"]) -> "SecondSummary":
        """Add up the sums in order."""
        return cls(parts[0].plan, RowSums.merged([part.sums for part in parts if part.sums]))


@dataclass(frozen=True, eq=False)
class Coreset:
    """Weighted rows that stand for `rows` others; their MMD times the total weight is at most `error`."""

    kept: RowSet
    rows: int
    error: float
    plan: PointsPlan
    exact = True

    @classmethod
    def of(cls, block: Block, plan: PointsPlan) -> "Coreset":
        """Find what stands for the rows of a block."""
        sample, leaves = plan.read(block), []
        weighted = np.flatnonzero(sample.weights)
        for start in range(0, max(len(weighted), 1), LEAF_ROWS):
            part = sample.take(weighted[start : start + LEAF_ROWS])
            rows = RowSet(part.first, part.weights, part.rows[:], part.labels)
            rows = rows._replace(originals=take_rows(block.X, part.first))
            leaves.append(cls(rows, 0, 0.0, plan).reduced())
        return replace(merged_in_tree(leaves, cls.merged), rows=sample.size)

    @classmethod
    def merged(cls, parts: Sequence["Coreset"]) -> "Coreset":
        """Find what stands for all their rows."""
        sizes, error = [part.rows for part in parts], sum(part.error for part in parts)
        rows = RowSet.joined([part.kept for part in parts], sizes)
        return cls(rows, sum(sizes), error, parts[0].plan).reduced()

    def reduced(self) -> "Coreset":
        """Keep so many rows as the plan says, at their best weights, and add the MMD that this costs to the error."""
        rows, similarity, total = (
            self.kept,
            self.plan.comparison.similarity,
            self.kept.weights.sum(),
        )
        if len(rows.weights) <= self.plan.kept:
            return self
        shares, every = rows.weights / total, np.arange(len(rows.weights))
        F = RowsMMD(Atoms(len(every)), rows.numbers, similarity, shares, 0.0, rows.labels)
        gram = F.cross(every, every)
        mean = gram @ shares
        units = herd(gram, mean, self.plan.kept)
        own = gram[np.ix_(units, units)]
        weights = near_best_weights(own, mean[units])
        value = float(weights @ own @ weights - 2 * mean[units] @ weights + shares @ mean)
        used = weights > 0
        kept = rows.take(units[used])._replace(weights=total * weights[used] / weights.sum())
        error = self.error + total * math.sqrt(max(value, 0.0) + 16.0 * F.rounding)
        return replace(self, kept=kept, error=error)

    @property
    def standing(self) -> PointsPlan:
        """The plan with the rows that stand for all as its candidates."""
        rows, plan, total = self.kept, self.plan, float(self.kept.weights.sum())
        if not total:
            raise InvalidInput("there are no rows with weight")
        notes, seen = plan.notes, plan.sample.size
        if seen < self.rows:
            notes = (*notes, f"how rows are compared was decided by the first {seen}")
        labels, shares = (rows.labels, plan.sample.classes), rows.weights / total
        sample = Sample(rows.numbers, shares, rows.positions, self.rows, *labels, total)
        return replace(plan, sample=sample, originals=rows.originals, exact=False, notes=notes)


def herd(gram: Vector, mean: Vector, count: int) -> Indices:
    """Choose rows by kernel herding without repetition: each next one is where the mean is least represented.

    >>> gram = np.exp(-(np.subtract.outer([0.0, 0.1, 5.0], [0.0, 0.1, 5.0]) ** 2))
    >>> herd(gram, gram.mean(axis=1), 2).tolist()
    [1, 2]
    """
    units, sums, free = np.zeros(count, np.int64), np.zeros(len(mean)), np.zeros(len(mean))
    for i in range(count):
        units[i] = np.argmax((i + 1) * mean - sums + free)
        free[units[i]] = -np.inf
        sums += gram[units[i]]
    return np.sort(units)


def near_best_weights(gram: Vector, mean: Vector) -> Vector:
    """Nearly minimise wᵀ gram w - 2 meanᵀ w over the simplex by a few linear systems.

    Weights that would be negative are left out, until none is: seldom quite the best ones, and a
    tenth of the time. What they cost is computed, so it is no matter to the bound.

    >>> near_best_weights(np.eye(3), np.array([0.6, 0.4, -0.9])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    used, jitter = np.arange(len(mean)), JITTER * float(np.trace(gram)) / len(mean)
    while True:
        own = gram[np.ix_(used, used)] + jitter * np.eye(len(used))
        both = np.column_stack([mean[used], np.ones(len(used))])
        free, ones = solve(own, both, assume_a="pos", check_finite=False).T
        some = free + ones * ((1.0 - free.sum()) / ones.sum())
        if some.min() >= 0:
            weights = np.zeros(len(mean))
            weights[used] = some
            return weights
        used = used[some > 0]
