"""What the first pass of points over blocks decides: how rows are compared, with which candidates, by which gamma."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput
from ...bandwidths import Bandwidth, bandwidth_in_units, largest
from ...deadline import Deadline
from ...distances import centre_of
from ...similarity import BANDED, Similarity, similarity_of
from ...tables.column import Levels, objects
from ...tables.encode import Encoding
from ...tables.missing import dropped_note
from .bandwidth import validated_width
from .comparison import Comparison, comparison_of, odd
from .first_pass import Candidates, FirstSummary, PointsSpec
from .merge import merged
from .sample import Sample
from .scaling import NOTE, Standardization
from .setting import a_child_of
from .sums import frequencies_of
from .target import MAX_FEATURE_CELLS, MAX_FEATURES, MIN_SAMPLED


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
        return comparison_of(self.comparison_parts)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "comparison"}

    @property
    def sample(self) -> Sample:
        """The candidates as rows of all, numbered by their positions."""
        found = self.first.candidates
        weights = found.weights / found.weights.sum()
        more = {"labels": self.labels, "classes": self.classes, "total": self.first.columns.total}
        return Sample(self.rows, weights, found.positions, self.first.rows, **more)


def plan_of(first: FirstSummary) -> PointsPlan:
    """What the merged first pass decides; of the candidates as many remain as can be compared with all rows."""
    count = first.spec.compared(first.rows, first.candidates.numbers.shape[1])
    if not first.exact:
        first = replace(first, candidates=first.candidates.leading(count))
    spec, found = first.spec, first.candidates
    if len(found.keys) == 0:
        raise InvalidInput("there are no rows with weight")
    encoding = _encoding(first)
    raw = encoded_candidates(encoding, found)
    if first.exact:
        order = order_in_memory(raw, _classes(first)[1], found.positions)
        first, raw = replace(first, candidates=found.take(order, complete=True)), raw[order]
        found = first.candidates
    scaling = _scaling(first, raw, encoding)
    rows = raw if scaling is None else scaling(raw)[:]
    exponent, gamma, note = 0, None, ""
    width: float | None = None
    if isinstance(spec.similarity, str) and spec.similarity in BANDED:
        found_width = _width(first, rows)
        exponent, gamma, note, width = (
            found_width.exponent,
            found_width.gamma,
            odd(found_width),
            found_width.scaled,
        )
        rows = np.ldexp(rows, -exponent) if exponent else rows
    similarity = similarity_of(spec.similarity, *([] if width is None else [width]))
    comparison = Comparison(similarity, gamma, exponent, 0, scaling, encoding)
    classes, labels = _classes(first)
    frequencies = _frequencies(similarity, first, rows.shape[1])
    numbers = first.candidates.numbers.shape[1] > 0
    notes = tuple(
        filter(
            None,
            (
                NOTE if spec.scales and numbers else "",
                *spec.schema.notes,
                missing_note(first),
                note,
            ),
        )
    )
    how = comparison.stored(spec.similarity)
    return PointsPlan(first, how, rows, labels, classes, frequencies, centre_of(rows), notes)


def _width(first: FirstSummary, rows: Any) -> Bandwidth:
    """The bandwidth by number or rule, from the candidates, which are a random sample."""
    spec, weights, labels = first.spec, first.candidates.weights, _classes(first)[1]
    if isinstance(spec.gamma, str) and spec.gamma == "cv":
        sample = Sample(rows, weights / weights.sum(), None, len(weights), labels)
        rng, total = (
            a_child_of(np.random.default_rng(spec.seed)),
            len(weights) if first.exact else first.rows,
        )
        return validated_width(
            sample, spec.k, spec.similarity, spec.memory, rng, Deadline.after(None), total
        )
    return bandwidth_in_units(rows, spec.similarity, spec.gamma, weights, largest(rows))


def missing_note(first: FirstSummary) -> str:
    """What is to be said of missing values."""
    if first.spec.schema.fills is not None:
        return first.spec.schema.note
    return dropped_note(first.dropped, first.rows)


def _encoding(first: FirstSummary) -> Encoding | None:
    """How a table's columns are encoded: numbers first, then a column for each label; None for arrays."""
    chosen = first.spec.schema
    if not chosen.named:
        return None
    equality = isinstance(first.spec.similarity, str) and first.spec.similarity == "hamming"
    levels = first.levels[: len(chosen.categories)]
    return Encoding(chosen, tuple(objects(each) for each in levels), equality=equality)


def order_in_memory(rows: Any, labels: Indices | None, positions: Indices) -> Indices:
    """The order that distinct rows have in memory: with it the search takes the same way to the same answer."""
    order = np.argsort(positions)
    first, _ = merged(rows[order], None if labels is None else labels[order], np.ones(len(order)))
    return np.asarray(order if first is None else order[first])


def encoded_candidates(encoding: Encoding | None, found: Candidates) -> Any:
    """Candidates as the encoding has rows."""
    if encoding is None:
        return found.numbers
    categories = []
    for j, levels in enumerate(encoding.levels):
        number = {label: i for i, label in enumerate(levels)}
        codes = np.array([number[label] for label in found.labels[:, j]], np.int64)
        categories.append(Levels(levels, codes))
    return encoding.rows(found.numbers, categories)


def _scaling(first: FirstSummary, raw: Any, encoding: Encoding | None) -> Standardization | None:
    """How numbers are scaled: where asked for, and for linear without labels to mean zero."""
    spec, columns, width = first.spec, first.columns, raw.shape[1]
    if first.exact and spec.scales:  # all rows are here: as in memory
        weights = first.candidates.weights
        return Standardization.of(
            raw, weights / weights.sum(), None if encoding is None else encoding.numbers
        )
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


def drawn_plan(first: FirstSummary) -> PointsPlan:
    """How rows are compared, by the candidates; its candidates are the rows that were drawn, apart from these."""
    plan, drawn = plan_of(first), first.drawn
    assert drawn is not None  # noqa: S101 - asked before
    rows = plan.comparison.scaled(encoded_candidates(plan.comparison.encoding, drawn))
    own = replace(plan.first, candidates=drawn)
    return replace(plan, first=own, rows=rows, labels=_classes(own)[1], centre=centre_of(rows))


def _classes(first: FirstSummary) -> tuple[Any, Indices | None]:
    """The classes, and the code of each candidate's."""
    if not first.spec.labelled:
        return None, None
    classes = np.array(first.levels[-1])
    number = {label: i for i, label in enumerate(first.levels[-1])}
    return classes, np.array([number[label] for label in first.candidates.labels[:, -1]], np.int64)


def _frequencies(similarity: Similarity, first: FirstSummary, width: int) -> Any:
    """Frequencies of random features; None where the similarity has none, or nothing is estimated."""
    if first.exact:
        return None
    count = int(np.clip(MAX_FEATURE_CELLS // max(first.rows, 1), 2 * MIN_SAMPLED, MAX_FEATURES))
    return frequencies_of(similarity, count, width, np.random.default_rng([first.spec.seed, 1]))
