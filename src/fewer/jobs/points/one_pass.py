"""Points in one pass: each block keeps m weighted rows that stand for it, and what is merged is reduced again.

With P_b the rows of block b, of share w_b, and Q_b what stands for them, MMD(Σ w_b Q_b, Σ w_b P_b)
<= Σ w_b MMD(Q_b, P_b), and a reduction of Q to Q' adds MMD(Q', Q): all of it the triangle
inequality. Every MMD(Q', Q) is computed, not estimated, so `error` is a proven bound on the MMD
between what is kept and all rows so far.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..._validation import Indices, InvalidInput, Vector
from ...row_blocks import merged_in_tree
from ...tables.frames import stacked, take_rows
from ...tables.source import Block
from .plan import PointsPlan
from .second_pass import compared_rows

LEAF_ROWS = 1024
"""Rows that are reduced at once: all their pairs are compared."""
MIN_KEPT, KEPT_PER_POINT = 200, 4
"""Rows that stand for a block: at least so many, and so many for each point."""
JITTER = 1e-10
"""What is added to the diagonal, relative to it: rows may be nearly equal."""


@dataclass(frozen=True, eq=False)
class Coreset:
    """Weighted rows that stand for others, of weight `total`, at an MMD of at most `error`.

    `points` (s, d) are rows as they are compared, `weights` (s,) have sum one, `positions` and
    `labels` are (s,).
    """

    points: Any
    weights: Vector
    positions: Indices
    labels: Indices
    total: float
    rows: int
    error: float
    plan: PointsPlan | None
    most: int
    raw: Any = None
    job = "points"
    exact = True

    @classmethod
    def merged(cls, parts: Sequence["Coreset"]) -> "Coreset":
        """What stands for all their rows, reduced."""
        filled = [part for part in parts if part.total > 0]
        plan = next((part.plan for part in parts if part.plan is not None), None)
        total = sum(part.total for part in parts)
        starts = np.cumsum([0, *(part.rows for part in parts)])[:-1]
        places = [
            part.positions + start
            for part, start in zip(parts, starts, strict=True)
            if part.total > 0
        ]
        rows = int(sum(part.rows for part in parts))
        if not filled:
            return replace(parts[0], rows=rows)
        found = replace(
            filled[0],
            points=stacked([part.points for part in filled]),
            weights=np.concatenate([part.weights * (part.total / total) for part in filled]),
            positions=np.concatenate(places),
            labels=np.concatenate([part.labels for part in filled]),
            total=total,
            rows=rows,
            error=sum(part.error * part.total for part in filled) / total,
            plan=plan,
            raw=stacked([part.raw for part in filled]),
        )
        return found.reduced()

    def reduced(self) -> "Coreset":
        """At most `most` of the rows, at their best weights, and the MMD that this adds."""
        if self.points.shape[0] <= self.most:
            return self
        assert self.plan is not None  # noqa: S101 - only summaries on their way have none
        gram = _gram(self.points, self.labels, self.plan)
        mean = gram @ self.weights
        units = herded(gram, mean, self.most)
        weights = near_best_weights(gram[np.ix_(units, units)], mean[units])
        value = (
            weights @ gram[np.ix_(units, units)] @ weights
            - 2 * mean[units] @ weights
            + self.weights @ mean
        )
        used = units[weights > 0]
        weights = weights[weights > 0]
        rounding = 64 * float(np.finfo(np.float64).eps) * float(np.abs(np.diagonal(gram)).max())
        return replace(
            self,
            points=self.points[used],
            weights=weights / weights.sum(),
            positions=self.positions[used],
            labels=self.labels[used],
            raw=take_rows(self.raw, used),
            error=self.error + math.sqrt(max(float(value), 0.0) + rounding),
        )


def _gram(points: Any, labels: Indices, plan: PointsPlan) -> Vector:
    """The similarities of all pairs, zero across classes."""
    similarity = plan.comparison.similarity
    gram = np.asarray(
        similarity.between(
            similarity.left(points, plan.centre, np.float64),
            similarity.right(points, plan.centre, np.float64),
        ),
        np.float64,
    )
    return gram if plan.classes is None else gram * (labels[:, None] == labels)


def herded(gram: Vector, mean: Vector, count: int) -> Indices:
    """So many rows by kernel herding without repetition: each next one is where the mean is least represented.

    >>> gram = np.exp(-np.subtract.outer([0.0, 0.1, 5.0], [0.0, 0.1, 5.0]) ** 2)
    >>> herded(gram, gram.mean(axis=1), 2).tolist()
    [1, 2]
    """
    chosen = np.zeros(count, np.int64)
    free = np.zeros(len(mean))
    sums = np.zeros(len(mean))
    for i in range(count):
        chosen[i] = int(np.argmax((i + 1) * mean - sums + free))
        free[chosen[i]] = -np.inf
        sums += gram[chosen[i]]
    return np.sort(chosen)


def near_best_weights(gram: Vector, mean: Vector) -> Vector:
    """Weights on the simplex that nearly minimise wᵀ gram w - 2 meanᵀ w, by a few linear systems.

    Those that would be negative are left out, until none is: seldom quite the best ones, and a
    tenth of the time. What they cost is computed, so it is no matter to the bound.

    >>> near_best_weights(np.eye(3), np.array([0.6, 0.4, -0.9])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    weights = np.zeros(len(mean))
    used = np.arange(len(mean))
    jitter = JITTER * float(np.trace(gram)) / len(mean)
    while True:
        factor = cho_factor(
            gram[np.ix_(used, used)] + jitter * np.eye(len(used)), lower=True, check_finite=False
        )
        free, ones = (
            cho_solve(factor, b, check_finite=False) for b in (mean[used], np.ones(len(used)))
        )
        found = free + ones * ((1.0 - free.sum()) / ones.sum())
        if found.min() >= 0 or len(used) == 1:
            weights[used] = np.maximum(found, 0.0)
            return weights
        used = used[found > 0]


def coreset_of(block: Block, plan: PointsPlan, most: int, originals: bool = False) -> Coreset:
    """What stands for the rows of a block; with `originals` the rows are kept as they came, too."""
    points, weights, labels, size = compared_rows(block, plan)
    kept = kept_positions(block, plan, size)
    leaves = []
    for start in range(0, len(weights), LEAF_ROWS):
        part = slice(start, start + LEAF_ROWS)
        mass = float(weights[part].sum())
        own = weights[part] / mass if mass else weights[part]
        raw = take_rows(block.X, kept[part]) if originals else None
        leaf = Coreset(points[part], own, kept[part], labels[part], mass, 0, 0.0, plan, most, raw)
        leaves.append(leaf.reduced() if mass else replace(leaf, points=points[:0]))
    if not leaves:
        return Coreset(points[:0], weights[:0], kept[:0], labels[:0], 0.0, size, 0.0, plan, most)
    return replace(merged_in_tree(leaves, Coreset.merged), rows=size)


def kept_positions(block: Block, plan: PointsPlan, size: int) -> Indices:
    """Which rows of the block are used."""
    if plan.spec.schema.missing == "error":
        return np.arange(size)
    read = plan.spec.schema.read(block)
    return np.arange(size) if read.kept is None else read.kept


@dataclass(frozen=True, eq=False)
class OnePassPlan:
    """What one pass goes by: how rows are compared, by the first of them, and how many stand for a block."""

    plan: PointsPlan
    most: int


def bare_coreset(block: Block, plan: OnePassPlan) -> Coreset:
    """The coreset of a block with its rows as they came, for those who know the plan."""
    return coreset_of(block, plan.plan, plan.most, originals=True)


def kept_for(k: int) -> int:
    """How many rows stand for a block, where k are to be chosen."""
    if k < 1:
        raise InvalidInput(f"k must be at least 1, got {k}")
    return max(MIN_KEPT, KEPT_PER_POINT * k)
