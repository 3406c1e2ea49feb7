"""What the first pass decides, and the second pass over blocks: how alike each candidate is to all rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, Vector
from ...objectives.mmd import RowsMMD
from ...tables.column import Levels, dropped_note
from ...tables.encode import Encoding
from ...tables.source import Block
from . import target as work
from .comparison import STANDARDIZED, Comparison, with_bandwidth
from .first_pass import FirstPlan, FirstSummary, RowSet
from .rows import Sample, as_labels, merge_equal_rows
from .sums import CandidateRows, RowSums, frequencies_of
from .target import Target, candidate_target


@dataclass(frozen=True, eq=False)
class PointsPlan:
    """What the first pass decided: how rows are compared, and the candidates as they are compared.

    The candidates are all rows where that is `exact`. `numbers` are candidates of arrays as they
    came, None for tables; `frequencies` are those of random features.
    """

    first: FirstPlan
    sample: Sample
    comparison: Comparison
    exact: bool
    numbers: Any
    frequencies: Vector | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, first: FirstSummary) -> "PointsPlan":
        """Decide; of the candidates as many remain as can be compared with all rows."""
        plan, candidates, options = first.plan, first.candidates, first.plan.options
        if not first.exact:
            candidates = candidates.take(
                slice(plan.compared(first.rows, candidates.numbers.shape[1]))
            )
        if not len(candidates.keys):
            raise InvalidInput("there are no rows with weight")
        encoding = None
        if plan.schema.named:
            levels = [np.array([*level, None], object)[:-1] for level in first.levels]
            equality = isinstance(options.similarity, str) and options.similarity == "hamming"
            count = len(plan.schema.categories)
            encoding = Encoding(plan.schema, tuple(levels[:count]), equality=equality)
        comparison = Comparison(options.similarity, encoding=encoding)
        sample = sample_of(candidates, first, comparison)
        if first.exact:  # in the order of memory the search takes the same way to the same answer
            order = np.argsort(candidates.positions)
            ordered = sample.take(order)
            order = order[merge_equal_rows(ordered.rows, ordered.labels, ordered.weights)[0]]
            candidates, sample = candidates.take(order), sample.take(order)
        sample = sample.loaded()
        comparison = standardized(first, sample, comparison)
        sample = replace(sample, rows=comparison.view(sample.rows))
        rng, total = np.random.default_rng(plan.seed), None if first.exact else first.rows
        sample, comparison, note = with_bandwidth(sample, comparison, plan.k, options, rng, total)
        sample, frequencies = sample.loaded(), None
        if not first.exact:
            cells = work.MAX_FEATURE_CELLS // max(first.rows, 1)
            count = int(np.clip(cells, 2 * work.MIN_SAMPLED, work.MAX_FEATURES))
            rng = np.random.default_rng([plan.seed, 1])
            width = sample.rows.shape[1]
            frequencies = frequencies_of(comparison.similarity, count, width, rng)
        scaled = STANDARDIZED if plan.scales and candidates.numbers.shape[1] else ""
        gaps = plan.schema.note or dropped_note(first.dropped, first.rows)
        notes = tuple(filter(None, (scaled, *plan.schema.notes, gaps, note)))
        numbers = None if plan.schema.named else candidates.numbers
        return cls(plan, sample, comparison, first.exact, numbers, frequencies, notes)

    def drawn(self, first: FirstSummary) -> "PointsPlan":
        """Take the rows that were drawn by weight for candidates that stand for all rows."""
        sample = sample_of(first.drawn, first, self.comparison)
        sample = replace(sample, rows=self.comparison.scaled(sample.rows))
        rows, weights = merge_equal_rows(sample.rows, sample.labels, sample.weights)
        numbers = None if self.numbers is None else first.drawn.numbers[rows]
        return replace(
            self, sample=sample.take(rows, weights).loaded(), numbers=numbers, exact=True
        )

    def read(self, block: Block) -> Sample:
        """Read rows of a block as they are compared, with their own weights."""
        read, encoding = self.first.schema.read(block), self.comparison.encoding
        rows = read.numbers
        if encoding is not None:
            rows = encoding.rows(read.numbers, read.categories, read.gone)
        n = rows.shape[0]
        labels, classes = None, self.sample.classes
        if classes is not None:
            values, codes = as_labels(read.y, n)
            number = {label: i for i, label in enumerate(classes.tolist())}
            places = [number.get(label, -1) for label in values.tolist()]
            if -1 in places:
                raise InvalidInput(
                    "the blocks of the second pass hold labels that those of the first had not"
                )
            labels = np.array(places, np.int64)[codes]
        weights = np.ones(n) if read.weight is None else read.weight
        kept = np.arange(read.size) if read.kept is None else read.kept
        rows = self.comparison.scaled(rows)
        return Sample(rows, weights, kept, read.size, labels, classes, total=float(weights.sum()))

    @property
    def candidates(self) -> CandidateRows:
        """The candidates, ready to be compared with rows."""
        own, similarity = self.sample, self.comparison.similarity
        how = similarity, own.size, self.frequencies
        return CandidateRows(own.rows, own.labels, own.n_classes, *how)

    def target(self, summary: "SecondSummary | None", k: int, rng: np.random.Generator) -> Target:
        """Make the objective over the candidates: by what the second pass summed, exact where they are all rows."""
        own, memory = self.sample, self.first.options.max_memory
        if summary is not None:
            sums = summary.sums
            return candidate_target(self.candidates, sums, sums.rows, k, memory, rng, own.weights)
        similarity = self.comparison.similarity
        F = RowsMMD.between(own.rows, own.weights, similarity, labels=own.labels, memory=memory)
        return Target(F, np.arange(len(own.weights)), whole=True)


def sample_of(rows: RowSet, first: FirstSummary, comparison: Comparison) -> Sample:
    """Make a sample of rows, encoded, with weights of sum one."""
    codes = []
    for j, levels in enumerate(first.levels):
        number = {label: i for i, label in enumerate(levels)}
        codes.append(np.array([number[label] for label in rows.labels[:, j]], np.int64))
    labels: Indices | None = None
    classes = None
    if first.plan.labelled:
        labels, classes = codes.pop(), np.array(first.levels[-1])
    numbers, encoding = rows.numbers, comparison.encoding
    if encoding is not None:
        categories = [Levels(*both) for both in zip(encoding.levels, codes, strict=True)]
        numbers = encoding.rows(numbers, categories)
    weights, total = rows.weights / rows.weights.sum(), first.columns.total
    return Sample(numbers, weights, rows.positions, first.rows, labels, classes, total=total)


def standardized(first: FirstSummary, sample: Sample, comparison: Comparison) -> Comparison:
    """Decide how numbers are scaled: where that is asked for, and for linear without labels to mean zero."""
    plan = first.plan
    if first.exact and plan.scales:  # all rows are here: as in memory
        return comparison.standardized_by(sample)
    centres = plan.options.similarity == "linear" and not plan.labelled
    if not plan.scales and (not centres or sp.issparse(sample.rows)):
        return comparison
    return comparison.standardized(first.columns, plan.scales)


@dataclass(frozen=True, eq=False)
class SecondSummary:
    """Sums over rows by which candidates are compared with all of them, and the number of rows, left out or not."""

    sums: RowSums
    rows: int
    plan: PointsPlan | None = None
    job = "points"
    exact = True

    @classmethod
    def of(cls, block: Block, plan: PointsPlan) -> "SecondSummary":
        """Sum over one block."""
        part = plan.read(block)
        memory = plan.first.options.max_memory
        sums = plan.candidates.sums(part.rows, part.weights, part.labels, memory)
        return cls(sums, part.size, plan)

    @classmethod
    def bare(cls, block: Block, plan: PointsPlan) -> "SecondSummary":
        """Sum over a block, without the plan in the summary, for those who know it."""
        return replace(cls.of(block, plan), plan=None)

    @classmethod
    def merged(cls, parts: Sequence["SecondSummary"]) -> "SecondSummary":
        """Add up the sums in order."""
        sums = RowSums.merged([part.sums for part in parts])
        return cls(sums, sum(part.rows for part in parts), parts[0].plan)
