"""The first pass of points over blocks: how many rows, what their columns are like, and candidates drawn at random.

Candidates are the distinct rows with the smallest keys, and a key is hashed from what is in the row
and the seed. So they depend neither on how the rows were cut nor on their order, equal rows are one
candidate, and the weight of each is exact: a row that is among the smallest of all was among the
smallest of every block it is in.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._validation import Indices, InvalidInput, Vector
from ...options import IN_BLOCKS
from ...tables.column import Levels
from ...tables.frames import stacked, width
from ...tables.schema import Rows, Schema, united
from ...tables.source import Block
from . import target as work
from .comparison import ColumnMoments, standardizes
from .options import GROUP_LIMITS, PointsOptions
from .rows import Hashes, as_labels, row_hashes

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


@dataclass(frozen=True, eq=False)
class FirstPlan:
    """How blocks are read: everything that is decided before the first pass.

    `candidates` rows are kept at most and `least` at least, and `draws` drawn by weight.
    """

    schema: Schema
    options: PointsOptions
    k: int
    seed: int
    labelled: bool
    scales: bool
    candidates: int
    least: int
    draws: int = 0

    @classmethod
    def of(cls, head: Any, k: int, options: PointsOptions, seed: int) -> "FirstPlan":
        """Decide by the first rows."""
        if options.precomputed:
            raise InvalidInput("similarity='precomputed' is a matrix in memory, got data in blocks")
        options.refuse("move", road=MOVED)
        options.refuse("target", road=OTHER_TARGET)
        options.refuse("include", "exclude", "groups", *GROUP_LIMITS, "units", road=IN_BLOCKS)
        recode = {"boolean": "category"}
        if isinstance(options.similarity, str) and options.similarity == "hamming":
            recode |= {"number": "category", "date": "category"}
        roles = {"labels": options.labels, "sample_weight": options.sample_weight}
        schema = Schema.of(head, options.columns, roles, options.missing, recode=recode)
        least = max(work.MIN_CANDIDATES, CANDIDATES_PER_POINT * k)
        count = max(least, min(work.MAX_CANDIDATES, MAX_KEPT_CELLS // width(head)))
        labelled, scales = options.labels is not None, standardizes(head, options)
        bare = options.replace(labels=None, sample_weight=None, columns=None, callback=None, rng=0)
        return cls(schema, bare, k, seed, labelled, scales, count, least)

    def compared(self, rows: int, columns: int) -> int:
        """Count the candidates that are compared with so many rows: the more rows, the fewer."""
        return max(self.least, work.MAX_CANDIDATE_WORK // max(rows * (columns + 20), 1))


@dataclass(frozen=True, eq=False)
class RowSet:
    """Some rows: keys, positions and weights (s,), numbers (s, p), labels of categories and classes (s, c)."""

    keys: Hashes
    positions: Indices
    weights: Vector
    numbers: Any
    labels: Any

    @classmethod
    def of(
        cls, read: Rows, columns: Sequence[Levels], keys: Hashes, rows: Indices, weights: Vector
    ) -> "RowSet":
        """Take rows of a block with other weights."""
        labels = np.empty((len(rows), len(columns)), object)
        for j, column in enumerate(columns):
            labels[:, j] = column.values[column.codes[rows]]
        positions = (rows if read.kept is None else read.kept[rows]).astype(np.int64)
        return cls(keys[rows], positions, weights, read.numbers[rows], labels)

    @classmethod
    def joined(cls, parts: Sequence["RowSet"], starts: Sequence[int]) -> "RowSet":
        """Put sets of blocks that begin at these positions behind each other."""
        positions = [part.positions + start for part, start in zip(parts, starts, strict=True)]
        return cls(
            np.concatenate([part.keys for part in parts]),
            np.concatenate(positions),
            np.concatenate([part.weights for part in parts]),
            stacked([part.numbers for part in parts]),
            np.concatenate([part.labels for part in parts]),
        )

    def take(self, rows: Any, weights: Vector | None = None) -> "RowSet":
        """Take some of the rows, with their weights or with others."""
        weights = self.weights[rows] if weights is None else weights
        positions, numbers = self.positions[rows], self.numbers[rows]
        return RowSet(self.keys[rows], positions, weights, numbers, self.labels[rows])


def smallest(keys: Hashes, weights: Vector, count: int) -> tuple[Indices, Vector, bool]:
    """Find the rows of the smallest keys, one of each, their total weights, and whether these are all with weight."""
    unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    mass = np.bincount(inverse.reshape(-1), weights, len(unique)).astype(np.float64)
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
    job = "points"

    @classmethod
    def of(cls, block: Block, plan: FirstPlan) -> "FirstSummary":
        """Summarise one block."""
        read = plan.schema.read(block)
        n = read.numbers.shape[0]
        columns = list(read.categories)
        if plan.labelled:
            columns.append(Levels(*as_labels(read.y, n)))
        weights = np.ones(n) if read.weight is None else read.weight
        keys = row_keys(read.numbers, columns, plan.seed)
        rows, mass, exact = smallest(keys, weights, plan.candidates)
        candidates = RowSet.of(read, columns, keys, rows, mass)
        moments = ColumnMoments.of(read.numbers, weights)
        count = plan.draws if moments.total > 0 else 0
        rng = np.random.default_rng([plan.seed, 2, int(keys.sum(dtype=np.uint64)), n])
        some = rng.choice(n, count, p=weights / moments.total) if count else np.arange(0)
        drawn = RowSet.of(read, columns, keys, some, np.ones(count))
        levels = tuple(tuple(column.values) for column in columns)
        return cls(candidates, exact, drawn, moments, levels, plan, read.size, read.size - n)

    @classmethod
    def merged(cls, parts: Sequence["FirstSummary"]) -> "FirstSummary":
        """Merge summaries of blocks, in order."""
        plan = parts[0].plan
        rows, dropped = sum(part.rows for part in parts), sum(part.dropped for part in parts)
        starts = [0, *np.cumsum([part.rows for part in parts])[:-1].tolist()]
        names = [*plan.schema.categories, "labels"]
        by_column = zip(names, zip(*(part.levels for part in parts), strict=True), strict=False)
        levels = tuple(tuple(united(column, name)) for name, column in by_column)
        every = RowSet.joined([part.candidates for part in parts], starts)
        some, mass, all_ = smallest(every.keys, every.weights, plan.candidates)
        exact = all_ and all(part.exact for part in parts)
        if not exact:
            count = plan.compared(rows, every.numbers.shape[1])
            some, mass = some[:count], mass[:count]
        columns = ColumnMoments.merged([part.columns for part in parts])
        drawn = cls._drawn_again(parts, starts, columns.total)
        return cls(every.take(some, mass), exact, drawn, columns, levels, plan, rows, dropped)

    @staticmethod
    def _drawn_again(
        parts: Sequence["FirstSummary"], starts: Sequence[int], total: float
    ) -> RowSet:
        """Merge the draws of blocks into as many: each comes from a block by its weight, none is used twice."""
        plan, keys = parts[0].plan, [part.drawn.keys.sum(dtype=np.uint64) for part in parts]
        rng = np.random.default_rng([plan.seed, 3, *map(int, keys)])
        shares = np.array([part.columns.total for part in parts]) / (total or 1.0)
        count = plan.draws if total > 0 else 0
        origin = rng.choice(len(parts), count, p=shares) if count else np.zeros(0, np.int64)
        taken = [part.drawn.take(np.flatnonzero(origin == b)) for b, part in enumerate(parts)]
        return RowSet.joined(taken, starts)


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
