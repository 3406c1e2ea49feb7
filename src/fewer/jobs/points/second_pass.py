"""The second pass of points over blocks: how alike each candidate is to all rows, and the rows' random features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, Vector
from ...objectives.pairs import spread
from ...objectives.rows_mmd import RowsMMD
from ...spaces import Atoms
from ...tables.cutting import some
from ...tables.source import Block
from .first_pass import classes_of
from .narrow import NarrowSums
from .plan import PointsPlan
from .target import Target, first_constant, with_constant
from .waves import MAX_FLOAT32_PHASE, Complex, Waves

CHUNK_ROWS = 512
"""Rows that are compared at once; sums are taken over so many, in order, whatever the threads."""
NARROW_ROWS = 4096
"""The same in float32."""


@dataclass(frozen=True, eq=False)
class SecondSummary:
    """Σ w s(candidate, row) over rows (m,), Σ w exp(iωᵀx) of each class (classes, D), and Σ w.

    Of inner products `middles` (classes, d), Σ w x of each class, takes the place of both.
    """

    sums: Vector
    waves: Complex
    middles: Vector
    total: float
    rows: int
    plan: PointsPlan | None = None
    job = "points"
    exact = True

    @classmethod
    def of(cls, block: Block, plan: PointsPlan) -> "SecondSummary":
        """Of one block."""
        rows, weights, codes, size = compared_rows(block, plan)
        return cls(*summed(rows, weights, codes, plan), float(weights.sum()), size, plan)

    @classmethod
    def merged(cls, parts: Sequence["SecondSummary"]) -> "SecondSummary":
        """The sums, in order."""
        sums, waves, middles = (
            np.add.reduce([getattr(part, name) for part in parts])
            for name in ("sums", "waves", "middles")
        )
        total, rows = sum(part.total for part in parts), sum(part.rows for part in parts)
        return cls(sums, waves, middles, total, rows, parts[0].plan)

    def bare(self) -> "SecondSummary":
        """The same without the plan, which need not travel with each block."""
        return replace(self, plan=None)


def bare_second(block: Block, plan: PointsPlan) -> SecondSummary:
    """The summary of a block, for those who know the plan."""
    return SecondSummary.of(block, plan).bare()


def summed(
    rows: Any, weights: Vector, codes: Indices, plan: PointsPlan
) -> tuple[Vector, Complex, Vector]:
    """Σ w s(candidate, row), waves and middles over some rows."""
    similarity = plan.comparison.similarity
    classes, (m, d) = 1 if plan.classes is None else len(plan.classes), plan.rows.shape
    frequencies = None if plan.frequencies is None else plan.frequencies.astype(np.float32)
    narrow = None
    if not plan.precise:
        narrow = NarrowSums.of(
            similarity, plan.rows, plan.labels, classes, plan.centre, frequencies
        )
    tiles = Tiles(plan, classes, frequencies)

    def work(start: int) -> tuple[Any, Any, Any]:
        part = slice(start, start + high)
        w, own = weights[part], codes[part]
        near = None if narrow is None else narrow.near(rows[part])
        if narrow is not None and near is not None:
            return *narrow.sums(near, w, own), np.zeros((classes, 0))
        return tiles.sums(rows[part], w, own)

    high = CHUNK_ROWS if narrow is None else NARROW_ROWS
    done = spread(work, list(range(0, len(weights), high)))
    D = 0 if frequencies is None else len(frequencies)
    empty = (
        np.zeros(m),
        np.zeros((classes, D), complex),
        np.zeros((classes, d if similarity.plain else 0)),
    )
    sums, waves, middles = (sum((part[i] for part in done), start=empty[i]) for i in range(3))
    return sums, waves, middles


class Tiles:
    """The same in NumPy, a tile of similarities at a time."""

    def __init__(self, plan: PointsPlan, classes: int, frequencies: Any) -> None:
        self.plan, self.classes, self.frequencies = plan, classes, frequencies
        self.similarity = similarity = plan.comparison.similarity
        self.dtype = np.float64 if plan.precise or similarity.plain else np.float32
        self.left = (
            None if similarity.plain else similarity.left(plan.rows, plan.centre, self.dtype)
        )
        self.limit = None if frequencies is None else float(np.quantile(np.abs(frequencies), 0.99))

    def sums(self, rows: Any, weights: Vector, codes: Indices) -> tuple[Any, Any, Any]:
        """Of some rows."""
        similarity, plan, (m, d) = self.similarity, self.plan, self.plan.rows.shape
        shares = _shares(weights, codes, self.classes)
        if similarity.plain:
            prepared = similarity.left(rows, dtype=np.float64)
            middles = np.asarray(shares @ prepared).reshape(self.classes, d)
            return np.zeros(m), np.zeros((self.classes, 0), complex), middles
        tile = similarity.between(self.left, similarity.right(rows, plan.centre, self.dtype))
        if plan.labels is not None:
            tile *= plan.labels[:, None] == codes
        sums = (tile @ weights.astype(tile.dtype)).astype(np.float64)
        waves = _features(rows, shares, self.frequencies, plan.centre, self.limit)
        return sums, waves, np.zeros((self.classes, 0))


def _shares(w: Vector, codes: Indices, classes: int) -> Any:
    """Weights of rows as a matrix (classes, n)."""
    return (
        w[None]
        if classes == 1
        else sp.csr_array((w, (codes, np.arange(len(w)))), (classes, len(w)))
    )


def _features(
    part: Any, shares: Any, frequencies: Any, centre: Any, limit: float | None
) -> Complex:
    """Σ w exp(iωᵀx) of each class, in float32 where phases are small enough."""
    if frequencies is None or limit is None:
        return np.zeros((shares.shape[0], 0), complex)
    block = part if centre is None else part - centre
    size = float(np.abs(block.data if sp.issparse(block) else block).max(initial=0.0))
    narrow: Any = np.float32 if limit * size < MAX_FLOAT32_PHASE else np.float64
    phase = np.asarray(block.astype(narrow) @ frequencies.T.astype(narrow))
    return np.asarray(shares @ np.cos(phase) + 1j * (shares @ np.sin(phase)), np.complex128)


def compared_rows(block: Block, plan: PointsPlan) -> tuple[Any, Vector, Indices, int]:
    """The rows of a block as they are compared, their weights, the codes of their classes, and the block's size."""
    spec, comparison = plan.spec, plan.comparison
    read = spec.schema.read(block)
    if not spec.schema.named:
        rows = comparison.scaled(read.numbers)
    else:
        X = block.X if read.kept is None else some(block.X, read.kept)
        rows = comparison.rows(X) if X.shape[0] else np.zeros((0, plan.rows.shape[1]))
    n = rows.shape[0]
    weights = np.ones(n) if read.weight is None else read.weight
    if plan.classes is None:
        return rows, weights, np.zeros(n, np.int64), read.size
    values, codes = classes_of(read.y, n)
    number = {label: i for i, label in enumerate(plan.classes.tolist())}
    if any(label not in number for label in values.tolist()):
        raise InvalidInput(
            "the blocks of the second pass hold labels that those of the first had not"
        )
    return (
        rows,
        weights,
        np.array([number[label] for label in values.tolist()], np.int64)[codes],
        read.size,
    )


def target_from(
    summary: SecondSummary | None, plan: PointsPlan, k: int, rng: np.random.Generator
) -> Target:
    """The objective over the candidates: exact where they are all rows, else by what the second pass summed."""
    similarity, memory = plan.comparison.similarity, plan.spec.memory
    m = plan.rows.shape[0]
    if summary is None:
        sample = plan.sample
        F = RowsMMD.between(
            plan.rows, sample.weights, similarity, labels=plan.labels, memory=memory
        )
        return Target(F, np.arange(m), whole=True)
    note = f"{m} candidate rows, drawn at random, each compared with all {summary.rows}"
    if similarity.plain:
        middles = summary.middles / summary.total
        own = np.zeros(m, np.int64) if plan.labels is None else plan.labels
        prepared = similarity.left(plan.rows, dtype=np.float64)
        mean = np.asarray([prepared[[i]] @ middles[own[i]] for i in range(m)]).reshape(-1)
        F = RowsMMD(
            Atoms(m),
            plan.rows,
            similarity,
            mean,
            float(np.square(middles).sum()),
            plan.labels,
            memory,
        )
        return Target(F, np.arange(m), note=note)
    mean = summary.sums / summary.total
    F = RowsMMD(Atoms(m), plan.rows, similarity, mean, 0.0, plan.labels, memory)
    if plan.frequencies is None:
        weights = plan.sample.weights
        constant = float(weights @ mean)
        error = float(np.sqrt(np.square(weights * (mean - constant)).sum()))
        note += "; the constant of the value is estimated from the candidates"
        return Target(with_constant(F, constant), np.arange(m), note=note, error=error)
    means = summary.waves / summary.total
    waves = Waves(
        plan.frequencies.astype(np.float32).astype(np.float64),
        means,
        np.zeros(means.shape[1]),
        plan.centre,
    )
    note += f"; the value is an estimate by {means.shape[1]} random Fourier features"
    return Target(with_constant(F, first_constant(F, waves, k, rng)), np.arange(m), waves, note)
