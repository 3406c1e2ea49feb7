"""Points in one pass: each block keeps m weighted rows that stand for it, and what is merged is reduced again.

With P_b the rows of block b, of share w_b, and Q_b what stands for them, MMD(Σ w_b Q_b, Σ w_b P_b)
<= Σ w_b MMD(Q_b, P_b), and a reduction of Q to Q' adds MMD(Q', Q): all of it the triangle
inequality. Every MMD(Q', Q) is computed, not estimated, so `error` is a proven bound on the MMD
between what is kept and all rows so far.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..._validation import Indices, Vector
from ...row_blocks import merged_in_tree
from ...tables.frames import stacked, take_rows
from ...tables.source import Block
from .rows import Sample
from .second_pass import PointsPlan

LEAF_ROWS = 1024
"""Rows that are reduced at once: all their pairs are compared."""
MIN_KEPT, KEPT_PER_POINT = 200, 4
"""Rows that stand for a block: at least so many, and so many for each point."""
JITTER = 1e-10
"""The share of the diagonal that is added to it: rows may be nearly equal."""


class OnePassPlan(NamedTuple):
    """How rows are compared, by the first of them, and how many stand for a block; `most` at most.

    `originals` says whether rows are kept as they came, too.
    """

    plan: PointsPlan
    most: int
    originals: bool = True


@dataclass(frozen=True, eq=False)
class Coreset:
    """Weighted rows that stand for `sample.size` others, of weight `sample.total`, at an MMD of at most `error`.

    `raw` are these rows as they came, or None.
    """

    sample: Sample
    raw: Any
    error: float
    plan: PointsPlan
    most: int
    job = "points"
    exact = True

    @classmethod
    def of(cls, block: Block, how: OnePassPlan) -> "Coreset":
        """Find what stands for the rows of a block."""
        every = how.plan.read(block)
        leaves = []
        for start in range(0, max(len(every.weights), 1), LEAF_ROWS):
            part = every.take(np.arange(start, min(start + LEAF_ROWS, len(every.weights))))
            mass = float(part.weights.sum())
            if not mass:
                part = part.take(np.arange(0))
            part = replace(part.loaded(), weights=part.weights / (mass or 1.0), size=0, total=mass)
            raw = take_rows(block.X, part.first) if how.originals else None
            leaves.append(cls(part, raw, 0.0, how.plan, how.most).reduced())
        result = merged_in_tree(leaves, cls.merged)
        return replace(result, sample=replace(result.sample, size=every.size))

    @property
    def rows(self) -> int:
        """How many rows were summarised."""
        return self.sample.size

    @classmethod
    def merged(cls, parts: Sequence["Coreset"]) -> "Coreset":
        """Find what stands for all their rows."""
        samples = [part.sample for part in parts]
        total, size = sum(one.total for one in samples), sum(one.size for one in samples)
        starts = np.cumsum([0, *(one.size for one in samples)])[:-1]
        labels = [one.labels for one in samples if one.labels is not None]
        sample = replace(
            samples[0],
            rows=stacked([one.rows for one in samples]),
            weights=np.concatenate([one.weights * (one.total / (total or 1.0)) for one in samples]),
            first=np.concatenate(
                [one.first + start for one, start in zip(samples, starts, strict=True)]
            ),
            labels=np.concatenate(labels) if labels else None,
            size=size,
            total=total,
        )
        error = sum(part.error * part.sample.total for part in parts) / (total or 1.0)
        raw = stacked([part.raw for part in parts])
        return replace(parts[0], sample=sample, raw=raw, error=error).reduced()

    def reduced(self) -> "Coreset":
        """Keep at most `most` of the rows, at their best weights, and add the MMD that this costs to the error."""
        sample = self.sample
        if len(sample.weights) <= self.most:
            return self
        similarity = self.plan.comparison.similarity
        centre = similarity.centre(sample.rows)
        left = similarity.left(sample.rows, centre, np.float64)
        right = similarity.right(sample.rows, centre, np.float64)
        gram = np.asarray(similarity.between(left, right), np.float64)
        if sample.labels is not None:
            gram = gram * (sample.labels[:, None] == sample.labels)
        mean = gram @ sample.weights
        units = herd(gram, mean, self.most)
        own = gram[np.ix_(units, units)]
        weights = near_best_weights(own, mean[units])
        value = float(weights @ own @ weights - 2 * mean[units] @ weights + sample.weights @ mean)
        rounding = 64 * float(np.finfo(np.float64).eps) * float(np.abs(np.diagonal(gram)).max())
        used = units[weights > 0]
        weights = weights[weights > 0]
        return replace(
            self,
            sample=sample.take(used, weights / weights.sum()).loaded(),
            raw=take_rows(self.raw, used),
            error=self.error + math.sqrt(max(value, 0.0) + rounding),
        )


def herd(gram: Vector, mean: Vector, count: int) -> Indices:
    """Choose rows by kernel herding without repetition: each next one is where the mean is least represented.

    >>> gram = np.exp(-(np.subtract.outer([0.0, 0.1, 5.0], [0.0, 0.1, 5.0]) ** 2))
    >>> herd(gram, gram.mean(axis=1), 2).tolist()
    [1, 2]
    """
    units = np.zeros(count, np.int64)
    free = np.zeros(len(mean))
    sums = np.zeros(len(mean))
    for i in range(count):
        units[i] = int(np.argmax((i + 1) * mean - sums + free))
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
    weights = np.zeros(len(mean))
    used = np.arange(len(mean))
    jitter = JITTER * float(np.trace(gram)) / len(mean)
    while True:
        own = gram[np.ix_(used, used)] + jitter * np.eye(len(used))
        factor = cho_factor(own, lower=True, check_finite=False)
        both = np.column_stack([mean[used], np.ones(len(used))])
        free, ones = cho_solve(factor, both, check_finite=False).T
        result = free + ones * ((1.0 - free.sum()) / ones.sum())
        if result.min() >= 0 or len(used) == 1:
            weights[used] = np.maximum(result, 0.0)
            return weights
        used = used[result > 0]


def kept_for(k: int) -> int:
    """Count the rows that stand for a block, where k are to be chosen."""
    return max(MIN_KEPT, KEPT_PER_POINT * k)
