"""The first pass of points over blocks: how many rows, what their columns are like, and candidates drawn at random.

Candidates are the distinct rows with the smallest keys, and a key is hashed from what is in the row
and the seed. So they depend neither on how the rows were cut nor on their order, equal rows are one
candidate, and the weight of each is exact: a row that is among the smallest of all was among the
smallest of every block it is in.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import Indices, Vector
from ...tables.column import Levels
from ...tables.frames import stacked
from ...tables.schema import Rows, Schema, united
from ...tables.source import Block
from .merge import row_hashes
from .target import MAX_CANDIDATE_WORK

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PointsSpec:
    """How blocks are read and compared: everything that is decided before the first pass."""

    schema: Schema
    similarity: Any = "rbf"
    gamma: Any = "median"
    scales: bool = False
    seed: int = 0
    candidates: int = 10_000
    least: int = 2000
    labelled: bool = False
    memory: int = 10**9
    k: int = 1
    draws: int = 0

    def compared(self, rows: int, columns: int) -> int:
        """How many candidates are compared with so many rows: the more rows, the fewer."""
        return max(self.least, MAX_CANDIDATE_WORK // max(rows * (columns + 20), 1))

    @property
    def categories(self) -> list[Any]:
        """Names of the columns of labels."""
        return self.schema.categories


@dataclass(frozen=True, eq=False)
class Candidates:
    """Distinct rows in the order of their keys: keys, positions and weights (s,), numbers (s, p), labels (s, c + 1).

    The last column of `labels` are the classes, None where there are none. `complete` says that no
    row was left out.
    """

    keys: Keys
    positions: Indices
    weights: Vector
    numbers: Any
    labels: Any
    complete: bool

    @classmethod
    def of(cls, read: Rows, classes: Levels | None, spec: PointsSpec) -> "Candidates":
        """Of the rows of a block."""
        columns = [*read.categories, *([] if classes is None else [classes])]
        hashes = row_keys(read.numbers, columns, spec.seed)
        keys, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        weights = np.bincount(inverse.reshape(-1), read.weight, len(keys)).astype(np.float64)
        some = np.flatnonzero(weights > 0)
        chosen = some[: spec.candidates]
        rows = first[chosen]
        labels = np.full((len(rows), len(read.categories) + 1), None, object)
        for j, column in enumerate(columns):
            labels[:, j if j < len(read.categories) else -1] = column.values[column.codes[rows]]
        positions = rows if read.kept is None else read.kept[rows]
        found = (
            keys[chosen],
            positions.astype(np.int64),
            weights[chosen],
            read.numbers[rows],
            labels,
        )
        return cls(*found, len(some) == len(chosen))

    @classmethod
    def merged(
        cls, parts: Sequence["Candidates"], starts: Sequence[int], spec: PointsSpec
    ) -> "Candidates":
        """Of blocks that begin at these positions, in order."""
        positions = np.concatenate(
            [part.positions + start for part, start in zip(parts, starts, strict=True)]
        )
        every = np.concatenate([part.keys for part in parts])
        keys, first, inverse = np.unique(every, return_index=True, return_inverse=True)
        mass = np.concatenate([part.weights for part in parts])
        weights = np.bincount(inverse.reshape(-1), mass, len(keys)).astype(np.float64)
        found = cls(
            keys,
            positions[first],
            weights,
            stacked([part.numbers for part in parts])[first],
            np.concatenate([part.labels for part in parts])[first],
            all(part.complete for part in parts),
        )
        return found.leading(spec.candidates)

    def leading(self, count: int) -> "Candidates":
        """The first of them, a random sample too."""
        return self if count >= len(self.keys) else self.take(np.arange(count), complete=False)

    def take(self, rows: Any, complete: bool) -> "Candidates":
        """Some of them, or all in another order."""
        names = ("keys", "positions", "weights", "numbers", "labels")
        taken: dict[str, Any] = {name: getattr(self, name)[rows] for name in names}
        return Candidates(**taken, complete=complete)


def drawn_rows(found: Candidates, spec: PointsSpec) -> Candidates:
    """`spec.draws` rows of a block, drawn independently by weight, each with the number of times that it was drawn.

    The generator is seeded by the rows themselves, so that blocks that differ are drawn
    independently.
    """
    rng = np.random.default_rng(
        [spec.seed, 2, int(found.keys.sum(dtype=np.uint64)), len(found.keys)]
    )
    total = found.weights.sum()
    counts = rng.multinomial(spec.draws if total > 0 else 0, found.weights / (total or 1.0))
    some = np.flatnonzero(counts)
    return replace(found.take(some, complete=False), weights=counts[some].astype(np.float64))


def drawn_again(
    parts: Sequence["FirstSummary"], starts: Sequence[int], spec: PointsSpec
) -> Candidates:
    """Of the draws of blocks as many in all: each draw comes from a block by its weight, and no draw is used twice."""
    totals = np.array([part.columns.total for part in parts])
    drawn = [part.drawn for part in parts if part.drawn is not None]
    seed = [spec.seed, 3, *(int(part.keys.sum(dtype=np.uint64)) for part in drawn)]
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(spec.draws, totals / (totals.sum() or 1.0))
    taken = []
    for part, size in zip(drawn, sizes, strict=True):
        counts = part.weights.astype(np.int64)
        kept = rng.multivariate_hypergeometric(
            counts, min(int(size), int(counts.sum())), method="marginals"
        )
        some = np.flatnonzero(kept)
        taken.append(
            replace(part.take(some, complete=False), weights=kept[some].astype(np.float64))
        )
    return Candidates.merged(taken, starts, replace(spec, candidates=spec.draws))


@dataclass(frozen=True, eq=False)
class Columns:
    """Weight, and of each column of numbers the mean, Σ w (x - mean)², the least and the largest: (p,) each."""

    total: float
    mean: Vector
    squares: Vector
    low: Vector
    high: Vector

    @classmethod
    def of(cls, numbers: Any, weight: Vector | None) -> "Columns":
        """Of some rows."""
        n, p = numbers.shape
        w = np.ones(n) if weight is None else weight
        total = float(w.sum())
        if total == 0.0:
            return cls(0.0, np.zeros(p), np.zeros(p), np.full(p, np.inf), np.full(p, -np.inf))
        mean = np.asarray(w @ numbers).reshape(-1) / total
        if sp.issparse(numbers):
            squares = np.asarray(w @ numbers.multiply(numbers)).reshape(-1) - total * mean**2
            ends = [
                np.asarray(getattr(numbers, name)(axis=0).toarray()).reshape(-1)
                for name in ("min", "max")
            ]
        else:
            squares = w @ (numbers - mean) ** 2
            ends = [numbers.min(axis=0), numbers.max(axis=0)]
        return cls(total, mean, np.maximum(squares, 0.0), *ends)

    @classmethod
    def merged(cls, parts: Sequence["Columns"]) -> "Columns":
        """Of all their rows (Chan, Golub and LeVeque's update)."""
        total = sum(part.total for part in parts)
        if total == 0.0:
            return parts[0]
        mean = np.add.reduce([part.total * part.mean for part in parts]) / total
        squares = np.add.reduce(
            [part.squares + part.total * (part.mean - mean) ** 2 for part in parts]
        )
        low, high = (
            np.min([part.low for part in parts], axis=0),
            np.max([part.high for part in parts], axis=0),
        )
        return cls(total, mean, squares, low, high)


@dataclass(frozen=True, eq=False)
class FirstSummary:
    """What the first pass leaves of blocks."""

    candidates: Candidates
    columns: Columns
    levels: tuple[tuple[Any, ...], ...]
    spec: PointsSpec
    rows: int
    dropped: int = 0
    drawn: Candidates | None = None
    job = "points"

    @classmethod
    def of(cls, block: Block, spec: PointsSpec) -> "FirstSummary":
        """Of one block."""
        read = spec.schema.read(block)
        classes = classes_of(read.y, read.numbers.shape[0]) if spec.labelled else None
        found = Candidates.of(read, classes, spec)
        levels = tuple(
            tuple(column.values)
            for column in (*read.categories, *([] if classes is None else [classes]))
        )
        kept = read.size if read.kept is None else len(read.kept)
        drawn = None
        if spec.draws:
            drawn = drawn_rows(
                Candidates.of(read, classes, replace(spec, candidates=read.size)), spec
            )
        return cls(
            found,
            Columns.of(read.numbers, read.weight),
            levels,
            spec,
            read.size,
            read.size - kept,
            drawn,
        )

    @classmethod
    def merged(cls, parts: Sequence["FirstSummary"]) -> "FirstSummary":
        """Of all their blocks, in order."""
        spec = parts[0].spec
        starts = np.concatenate([[0], np.cumsum([part.rows for part in parts])])[:-1]
        names = [*spec.categories, "labels"]
        levels = tuple(
            tuple(united(column, name))
            for column, name in zip(
                zip(*(part.levels for part in parts), strict=True), names, strict=False
            )
        )
        rows, dropped = sum(part.rows for part in parts), sum(part.dropped for part in parts)
        found = Candidates.merged([part.candidates for part in parts], starts.tolist(), spec)
        found = (
            found if found.complete else found.leading(spec.compared(rows, found.numbers.shape[1]))
        )
        columns = Columns.merged([part.columns for part in parts])
        drawn = drawn_again(parts, starts.tolist(), spec) if spec.draws else None
        return cls(found, columns, levels, spec, rows, dropped, drawn)

    @property
    def exact(self) -> bool:
        """Whether no second pass is needed: all distinct rows are candidates, with their weights."""
        return self.candidates.complete


def classes_of(y: Any, size: int) -> Levels:
    """The labels of rows as classes; many different floats are refused."""
    from .sample import as_labels

    values, codes = as_labels(y, size)
    return Levels(values, codes)


def row_keys(numbers: Any, columns: Sequence[Levels], seed: int) -> Keys:
    """A random number for each row, the same for rows that are equal."""
    size = numbers.shape[0]
    keys = row_hashes(numbers) if numbers.shape[1] else np.zeros(size, np.uint64)
    for j, column in enumerate(columns):
        each = np.array([label_hash(label, j) for label in column.values], np.uint64)
        keys = keys + each[column.codes]
    return _mixed(keys ^ _mixed(np.full(1, seed, np.uint64) + np.uint64(0x9E3779B97F4A7C15)))


def label_hash(label: Any, column: int) -> int:
    """The same number for the same label of a column, in every process."""
    plain = label.item() if isinstance(label, np.generic) else label
    text = f"{column}|{type(plain).__name__}|{plain}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(keys: Keys) -> Keys:
    """splitmix64's finish: every bit depends on every other."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
