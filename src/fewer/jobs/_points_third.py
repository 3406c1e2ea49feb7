"""The third pass of points over blocks: rows near to where the points would rather be.

All candidates, at their best weights, stand for the rows far better than k of them do. Against these the points leave
their rows and move to better places, which costs no pass. Then each block proposes the rows nearest to these places.
How alike a proposed row is to all rows is taken from the weighted candidates; what k of all of them are worth is judged
by the random features, which the second pass summed over all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, Vector
from ..data.blocks import Block
from ..objectives.rows_mmd import RowsMMD
from ..spaces import Atoms
from ._locations import SLOPES
from ._moving import Start, moved
from ._places import Movable
from ._points_onepass import kept_positions, near_best_weights
from ._points_plan import PointsPlan
from ._points_second import SecondSummary, compared_rows
from ._target import Target
from .sample import Sample
from .setting import Chosen, Setting

NEAR = 16
"""Rows that are proposed for each place: 4 and 64 did worse on two million (`benchmarks/scale.py --part third`)."""
MAX_POOL = 3000
"""Candidates that stand for all rows while the points move."""
CHUNK_ROWS = 4096
"""Rows that are compared with the places at once."""


@dataclass(frozen=True, eq=False)
class NearPlan:
    """Places (k, d) as rows are compared, their classes (k,), and how many rows each block proposes for each."""

    plan: PointsPlan
    places: Vector
    labels: Indices
    count: int = NEAR


@dataclass(frozen=True, eq=False)
class ThirdSummary:
    """The rows nearest to each place: squared distances and positions (k, c), and the rows as compared (k, c, d).

    Where there are fewer than c, distances are infinite.
    """

    squared: Vector
    positions: Indices
    rows: Vector
    job = "points"
    exact = True

    @classmethod
    def of(cls, block: Block, plan: NearPlan) -> "ThirdSummary":
        """Of one block."""
        rows, weights, codes, size = compared_rows(block, plan.plan)
        own = kept_positions(block, plan.plan, size) + block.start
        k, d = plan.places.shape
        lengths = np.square(plan.places).sum(axis=1)[:, None]
        found = cls(np.full((k, 0), np.inf), np.zeros((k, 0), np.int64), np.zeros((k, 0, d)))
        for start in range(0, len(weights), CHUNK_ROWS):
            part: Any = slice(start, start + CHUNK_ROWS)
            here = rows[part]
            squared = lengths - 2.0 * plan.places @ here.T + np.square(here).sum(axis=1)
            squared[(plan.labels[:, None] != codes[part]) | (weights[part] <= 0)] = np.inf
            if found.squared.shape[1] == plan.count:  # most rows are no nearer than those before
                hot = np.flatnonzero((squared < found.squared[:, -1:]).any(axis=0))
                squared, here, part = squared[:, hot], here[hot], hot + start
            if not len(here):
                continue
            near = np.argpartition(squared, min(plan.count, len(here)) - 1, axis=1)[:, : plan.count]
            more = cls(np.take_along_axis(squared, near, axis=1), own[part][near], here[near])
            found = cls.merged([found, more])._first(plan.count)
        return found

    @classmethod
    def merged(cls, parts: Sequence["ThirdSummary"]) -> "ThirdSummary":
        """Of all their blocks."""
        names = ("squared", "positions", "rows")
        found = cls(*(np.concatenate([getattr(part, name) for part in parts], axis=1) for name in names))
        return found._first(NEAR)

    def _first(self, count: int) -> "ThirdSummary":
        order = np.lexsort((self.positions, self.squared), axis=1)[:, :count]
        squared = np.take_along_axis(self.squared, order, axis=1)
        positions = np.take_along_axis(self.positions, order, axis=1)
        return ThirdSummary(squared, positions, np.take_along_axis(self.rows, order[:, :, None], axis=1))

    def distinct(self, labels: Indices) -> tuple[Vector, Indices, Indices]:
        """Rows, none of them twice, their positions and classes; `labels` (k,) are those of the places."""
        classes = np.repeat(labels, self.squared.shape[1])
        near = np.flatnonzero(np.isfinite(self.squared.reshape(-1)))
        flat = self.rows.reshape(-1, self.rows.shape[2])[near]
        _, first = np.unique(np.column_stack([flat, classes[near]]), axis=0, return_index=True)
        return flat[first], self.positions.reshape(-1)[near][first], classes[near][first]


def check_third(plan: PointsPlan) -> None:
    """A sentence where points of this similarity cannot move."""
    if plan.comparison.similarity.name not in SLOPES or sp.issparse(plan.rows):
        raise InvalidInput(
            f"passes=3 goes with dense rows and {', '.join(SLOPES)}, got {plan.comparison.similarity.name!r}"
        )


def better_places(
    chosen: Chosen, plan: PointsPlan, mean: Vector, setting: Setting, rng: Any
) -> tuple[NearPlan, Vector]:
    """Where the points would rather be, and the weights of the first candidates, which stand for the rows."""
    similarity, memory, rows = plan.comparison.similarity, setting.memory, plan.rows
    some = np.arange(min(rows.shape[0], MAX_POOL))
    pool = near_best_weights(np.asarray(chosen.target.F.cross(some, some), np.float64), mean[some])
    labels = None if plan.labels is None else plan.labels[some]
    against = Sample(rows[some], pool, some, len(some), labels, plan.classes, total=1.0)
    F = RowsMMD.between(rows[some], pool, similarity, labels=labels, memory=memory)
    place = {int(position): i for i, position in enumerate(plan.first.candidates.positions)}
    units = np.array([place[int(i)] for i in chosen.result.indices])
    weights = chosen.result.weights
    assert weights is not None  # noqa: S101 - rows are entries
    encoding = plan.comparison.encoding
    columns = np.arange(rows.shape[1] if encoding is None else encoding.numbers)
    low, high = rows[:, columns].min(axis=0), rows[:, columns].max(axis=0)
    movable = Movable(columns, low, high, np.zeros((len(units), len(columns)), bool))
    target, begin = Target(F, some, whole=True), Start(units, units, weights)
    bounds = setting.limits.weights(len(units))
    found = moved(plan.sample, against, target, similarity, begin, movable, bounds, memory, rng, setting.deadline, None)
    places = np.array(rows[units], np.float64)
    places[:, columns] = found.places
    classes = np.zeros(len(units), np.int64) if plan.labels is None else plan.labels[units]
    return NearPlan(plan, places, classes), pool


def with_proposed(
    target: Target, sample: Sample, plan: PointsPlan, near: NearPlan, pool: Vector, third: ThirdSummary, mean: Vector
) -> tuple[Target, Sample]:
    """The objective over candidates and proposed rows together."""
    rows, positions, classes = third.distinct(near.labels)
    new = ~np.isin(positions, plan.first.candidates.positions)
    rows, positions, classes = rows[new], positions[new], classes[new]
    similarity = plan.comparison.similarity
    alike = np.asarray(similarity(rows, plan.rows[: len(pool)]), np.float64)
    labels = None
    if plan.labels is not None:
        labels = np.concatenate([plan.labels, classes])
        alike *= classes[:, None] == plan.labels[: len(pool)]
    both = np.vstack([plan.rows, rows])
    means = np.concatenate([mean, alike @ pool])
    F = RowsMMD(Atoms(len(both)), both, similarity, means, target.F.constant, labels, target.F.memory)
    note = f"{target.note}; {len(rows)} more in the third pass"
    weights = np.concatenate([sample.weights, np.zeros(len(rows))])
    first = np.concatenate([plan.first.candidates.positions, positions])
    wider = replace(sample, rows=both, weights=weights, first=first, labels=labels)
    return replace(target, F=F, candidates=np.arange(len(both)), note=note), wider


def mean_of(summary: SecondSummary) -> Vector:
    """How alike each candidate is to all rows."""
    return np.asarray(summary.sums / summary.total)
