"""The second pass of points over blocks: how alike each candidate is to all rows, and the rows' random features."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, Vector
from ..bandwidths import bandwidth_in_units, largest
from ..data.blocks import Block
from ..data.encode import Code, Encoding
from ..deadline import CompilationTimeout
from ..distances import centre_of
from ..objectives.pairs import spread
from ..objectives.rows_mmd import RowsMMD
from ..similarity import BANDED, Similarity, similarity_of
from ..spaces import Atoms
from ._block_columns import Fills, read_block
from ._merge import merged
from ._narrow import NarrowSums
from ._points_first import FirstSummary, PointsSpec, classes_of
from ._scaling import NOTE, Standardization
from ._target import MAX_FEATURE_CELLS, MIN_SAMPLED, Target, first_constant, with_constant
from ._waves import MAX_FLOAT32_PHASE, SPECTRA, Complex, Waves
from .comparison import Comparison, odd
from .sample import Sample

CHUNK_ROWS = 512
"""Rows that are compared at once; sums are taken over so many, in order, whatever the threads."""
NARROW_ROWS = 4096
"""The same in float32."""
MAX_PRECISE_PAIRS = 4 * 10**8
"""Pairs up to which similarities are float64; beyond, tiles are float32 and their sums float64, as in memory."""


@dataclass(frozen=True, eq=False)
class PointsPlan:
    """What the first pass decided: how rows are compared, the candidates as they are compared, and the frequencies."""

    first: FirstSummary
    comparison_parts: Any
    rows: Any
    labels: Indices | None
    classes: Any
    frequencies: Any
    centre: Any
    notes: tuple[str, ...]

    @property
    def spec(self) -> PointsSpec:
        """How blocks are read."""
        return self.first.spec

    @cached_property
    def comparison(self) -> Comparison:
        """How rows are compared."""
        from .comparison import comparison_of

        return comparison_of(self.comparison_parts)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "comparison"}

    @property
    def precise(self) -> bool:
        """Whether similarities are float64."""
        return bool(self.first.rows * self.rows.shape[0] <= MAX_PRECISE_PAIRS)

    @property
    def sample(self) -> Sample:
        """The candidates as rows of all, numbered by their positions."""
        found = self.first.candidates
        weights = found.weights / found.weights.sum()
        more = {"labels": self.labels, "classes": self.classes, "total": self.first.columns.total}
        return Sample(self.rows, weights, found.positions, self.first.rows, **more)


def plan_of(first: FirstSummary) -> PointsPlan:
    """What the merged first pass decides; of the candidates as many remain as can be compared with all rows."""
    if not first.exact:
        count = first.spec.compared(first.rows, first.candidates.numbers.shape[1])
        first = replace(first, candidates=first.candidates.leading(count))
    spec, found = first.spec, first.candidates
    if len(found.keys) == 0:
        raise InvalidInput("there are no rows with weight")
    encoding = _encoding(first)
    raw = found.numbers if encoding is None else _encoded(encoding, found.numbers, found.labels)
    if first.exact:
        order = order_in_memory(raw, _classes(first)[1], found.positions)
        first, raw = replace(first, candidates=found.take(order, complete=True)), raw[order]
        found = first.candidates
    scaling = _scaling(first, raw, encoding)
    rows = raw if scaling is None else scaling(raw)[:]
    exponent, gamma, note = 0, None, ""
    width: float | None = None
    if isinstance(spec.similarity, str) and spec.similarity in BANDED:
        if isinstance(spec.gamma, str) and spec.gamma == "cv":
            raise InvalidInput("gamma='cv' needs all rows in memory; give a number, 'median' or 'scale'")
        found_width = bandwidth_in_units(rows, spec.similarity, spec.gamma, found.weights, largest(rows))
        exponent, gamma, note, width = found_width.exponent, found_width.gamma, odd(found_width), found_width.scaled
        rows = np.ldexp(rows, -exponent) if exponent else rows
    similarity = similarity_of(spec.similarity, *([] if width is None else [width]))
    comparison = Comparison(similarity, gamma, exponent, 0, scaling, encoding)
    classes, labels = _classes(first)
    frequencies = _frequencies(similarity, first, rows.shape[1])
    chosen = () if spec.chosen is None else spec.chosen.notes
    numbers = first.candidates.numbers.shape[1] > 0
    notes = tuple(filter(None, (NOTE if spec.scales and numbers else "", *chosen, missing_note(first), note)))
    return PointsPlan(
        first, comparison.stored(spec.similarity), rows, labels, classes, frequencies, centre_of(rows), notes
    )


def missing_note(first: FirstSummary) -> str:
    """What is to be said of missing values."""
    if isinstance(first.spec.missing, Fills):
        return first.spec.missing.note
    return f"{first.dropped} of {first.rows} rows left out, for values are missing in them" if first.dropped else ""


def _encoding(first: FirstSummary) -> Encoding | None:
    """How a table's columns are encoded: numbers first, then a column for each label; None for arrays."""
    chosen = first.spec.chosen
    if chosen is None:
        return None
    equality = isinstance(first.spec.similarity, str) and first.spec.similarity == "hamming"
    codes: list[Code] = []
    places = chosen.places
    numbers = [i for i, kind in enumerate(chosen.kinds) if kind != "category"]
    labels = [i for i, kind in enumerate(chosen.kinds) if kind == "category"]
    fills = first.spec.missing if isinstance(first.spec.missing, Fills) else None
    at = 0
    for i in numbers:
        fill = math.nan if fills is None or fills.rule == "category" else float(fills.numbers[at])
        codes.append(Code(places[i], chosen.names[i], chosen.kinds[i], at, None, fill))
        at += 1
    for j, (i, levels) in enumerate(zip(labels, first.levels, strict=False)):
        values = np.empty(len(levels), object)
        values[:] = levels
        fill = levels.index(fills.labels[j]) if fills is not None and fills.labels[j] in levels else -1
        codes.append(Code(places[i], chosen.names[i], "category", at, values, fill))
        at += 1 if equality else len(levels)
    slot = bool(labels) and not equality
    rule = "error" if fills is None else fills.rule
    return Encoding(tuple(codes), at + slot, len(numbers), rule, equality=equality)


def order_in_memory(rows: Any, labels: Indices | None, positions: Indices) -> Indices:
    """The order that distinct rows have in memory: with it the search takes the same way to the same answer."""
    order = np.argsort(positions)
    first, _ = merged(rows[order], None if labels is None else labels[order], np.ones(len(order)))
    return np.asarray(order if first is None else order[first])


def _encoded(encoding: Encoding, numbers: Any, labels: Any) -> Any:
    """The candidates as the encoding has rows."""
    rows = np.zeros((len(numbers), encoding.width))
    rows[:, : encoding.numbers] = numbers
    categories = [code for code in encoding.codes if code.levels is not None]
    for j, code in enumerate(categories):
        assert code.levels is not None  # noqa: S101 - by the choice above
        number = {label: i for i, label in enumerate(code.levels)}
        at = np.array([number[label] for label in labels[:, j]], np.int64)
        if encoding.equality:
            rows[:, code.start] = at
        else:
            rows[np.arange(len(at)), code.start + at] = 1.0
    return rows


def _scaling(first: FirstSummary, raw: Any, encoding: Encoding | None) -> Standardization | None:
    """How numbers are scaled: where asked for, and for linear without labels to mean zero."""
    spec, columns, width = first.spec, first.columns, raw.shape[1]
    if first.exact and spec.scales:  # all rows are here: as in memory
        weights = first.candidates.weights
        return Standardization.of(raw, weights / weights.sum(), None if encoding is None else encoding.numbers)
    linear = isinstance(spec.similarity, str) and spec.similarity == "linear"
    sparse = sp.issparse(first.candidates.numbers)
    if not spec.scales and not (linear and not spec.labelled and not sparse):
        return None
    mean, spread_ = np.zeros(width), np.ones(width)
    p = len(columns.mean)
    flat = columns.low == columns.high
    mean[:p] = np.where(flat, columns.low, columns.mean)
    if spec.scales:
        deviation = np.sqrt(columns.squares / max(columns.total, 1e-300))
        spread_[:p] = np.where(flat | (deviation == 0), 1.0, deviation)
    return Standardization(np.zeros(width, np.int32), mean, spread_)


def _classes(first: FirstSummary) -> tuple[Any, Indices | None]:
    """The classes, and the code of each candidate's."""
    if not first.spec.labelled:
        return None, None
    classes = np.array(first.levels[-1])
    number = {label: i for i, label in enumerate(first.levels[-1])}
    return classes, np.array([number[label] for label in first.candidates.labels[:, -1]], np.int64)


def _frequencies(similarity: Similarity, first: FirstSummary, width: int) -> Any:
    """Frequencies of random features; None where the similarity has none, or nothing is estimated."""
    if similarity.name not in SPECTRA or first.exact:
        return None
    count = int(np.clip(MAX_FEATURE_CELLS // max(first.rows, 1), 2 * MIN_SAMPLED, 2048))
    return SPECTRA[similarity.name](similarity.gamma, count, width, np.random.default_rng([first.spec.seed, 1]))


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
            np.add.reduce([getattr(part, name) for part in parts]) for name in ("sums", "waves", "middles")
        )
        total, rows = sum(part.total for part in parts), sum(part.rows for part in parts)
        return cls(sums, waves, middles, total, rows, parts[0].plan)

    def bare(self) -> "SecondSummary":
        """The same without the plan, which need not travel with each block."""
        return replace(self, plan=None)


def bare_second(block: Block, plan: PointsPlan) -> SecondSummary:
    """The summary of a block, for those who know the plan."""
    return SecondSummary.of(block, plan).bare()


def summed(rows: Any, weights: Vector, codes: Indices, plan: PointsPlan) -> tuple[Vector, Complex, Vector]:
    """Σ w s(candidate, row), waves and middles over some rows."""
    similarity = plan.comparison.similarity
    classes, (m, d) = 1 if plan.classes is None else len(plan.classes), plan.rows.shape
    frequencies = None if plan.frequencies is None else plan.frequencies.astype(np.float32)
    narrow = None
    if not plan.precise:
        narrow = NarrowSums.of(similarity, plan.rows, plan.labels, classes, plan.centre, frequencies)
    tiles = Tiles(plan, classes, frequencies)

    def work(start: int) -> tuple[Any, Any, Any]:
        part = slice(start, start + high)
        w, own = weights[part], codes[part]
        near = None if narrow is None else narrow.near(rows[part])
        if narrow is not None and near is not None:
            try:
                return *narrow.sums(near, w, own), np.zeros((classes, 0))
            except CompilationTimeout:  # by NumPy then
                pass
        return tiles.sums(rows[part], w, own)

    high = CHUNK_ROWS if narrow is None else NARROW_ROWS
    done = spread(work, list(range(0, len(weights), high)))
    D = 0 if frequencies is None else len(frequencies)
    empty = np.zeros(m), np.zeros((classes, D), complex), np.zeros((classes, d if similarity.plain else 0))
    sums, waves, middles = (sum((part[i] for part in done), start=empty[i]) for i in range(3))
    return sums, waves, middles


class Tiles:
    """The same in NumPy, a tile of similarities at a time."""

    def __init__(self, plan: PointsPlan, classes: int, frequencies: Any) -> None:
        self.plan, self.classes, self.frequencies = plan, classes, frequencies
        self.similarity = similarity = plan.comparison.similarity
        self.dtype = np.float64 if plan.precise or similarity.plain else np.float32
        self.left = None if similarity.plain else similarity.left(plan.rows, plan.centre, self.dtype)
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
    return w[None] if classes == 1 else sp.csr_array((w, (codes, np.arange(len(w)))), (classes, len(w)))


def _features(part: Any, shares: Any, frequencies: Any, centre: Any, limit: float | None) -> Complex:
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
    from ..data.cutting import some

    spec, comparison = plan.spec, plan.comparison
    read = read_block(block, spec.chosen, spec.missing)
    if spec.chosen is None:
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
        raise InvalidInput("the blocks of the second pass hold labels that those of the first had not")
    return rows, weights, np.array([number[label] for label in values.tolist()], np.int64)[codes], read.size


def target_from(summary: SecondSummary | None, plan: PointsPlan, k: int, rng: np.random.Generator) -> Target:
    """The objective over the candidates: exact where they are all rows, else by what the second pass summed."""
    similarity, memory = plan.comparison.similarity, plan.spec.memory
    m = plan.rows.shape[0]
    if summary is None:
        sample = plan.sample
        F = RowsMMD.between(plan.rows, sample.weights, similarity, labels=plan.labels, memory=memory)
        return Target(F, np.arange(m), whole=True)
    note = f"{m} candidate rows, drawn at random, each compared with all {summary.rows}"
    if similarity.plain:
        middles = summary.middles / summary.total
        own = np.zeros(m, np.int64) if plan.labels is None else plan.labels
        prepared = similarity.left(plan.rows, dtype=np.float64)
        mean = np.asarray([prepared[[i]] @ middles[own[i]] for i in range(m)]).reshape(-1)
        F = RowsMMD(Atoms(m), plan.rows, similarity, mean, float(np.square(middles).sum()), plan.labels, memory)
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
    waves = Waves(plan.frequencies.astype(np.float32).astype(np.float64), means, np.zeros(means.shape[1]), plan.centre)
    note += f"; the value is an estimate by {means.shape[1]} random Fourier features"
    return Target(with_constant(F, first_constant(F, waves, k, rng)), np.arange(m), waves, note)
