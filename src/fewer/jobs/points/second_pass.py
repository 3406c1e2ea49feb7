"""The second pass of points over blocks: how alike each candidate is to all rows, and the rows' random features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._validation import Indices, InvalidInput, Vector
from ...objectives.rows_mmd import RowsMMD
from ...tables.frames import take_rows
from ...tables.source import Block
from .first_pass import classes_of
from .plan import PointsPlan
from .sums import CandidateRows, RowSums
from .target import Target, candidate_target


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
        rows, weights, codes, size = compared_rows(block, plan)
        return cls(candidate_rows(plan).sums(rows, weights, codes, plan.spec.memory), size, plan)

    @classmethod
    def merged(cls, parts: Sequence["SecondSummary"]) -> "SecondSummary":
        """Add up the sums in order."""
        sums = RowSums.merged([part.sums for part in parts])
        return cls(sums, sum(part.rows for part in parts), parts[0].plan)


def bare_second(block: Block, plan: PointsPlan) -> SecondSummary:
    """Sum over a block, without the plan in the summary, for those who know it."""
    return replace(SecondSummary.of(block, plan), plan=None)


def candidate_rows(plan: PointsPlan) -> CandidateRows:
    """Make the candidates ready to be compared with rows."""
    classes = 1 if plan.classes is None else len(plan.classes)
    how = classes, plan.comparison.similarity, plan.first.rows, plan.frequencies
    return CandidateRows(plan.rows, plan.labels, *how)


def compared_rows(block: Block, plan: PointsPlan) -> tuple[Any, Vector, Indices, int]:
    """The rows of a block as they are compared, their weights, the codes of their classes, and the block's size."""
    spec, comparison = plan.spec, plan.comparison
    read = spec.schema.read(block)
    if not spec.schema.named:
        rows = comparison.scaled(read.numbers)
    else:
        X = block.X if read.kept is None else take_rows(block.X, read.kept)
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
    """Make the objective over the candidates: exact where they are all rows, else by what the second pass summed."""
    similarity, memory, weights = plan.comparison.similarity, plan.spec.memory, plan.sample.weights
    if summary is not None:
        candidates = candidate_rows(plan)
        return candidate_target(
            candidates, summary.sums, summary.sums.rows, k, memory, rng, weights
        )
    F = RowsMMD.between(plan.rows, weights, similarity, labels=plan.labels, memory=memory)
    return Target(F, np.arange(len(weights)), whole=True)
