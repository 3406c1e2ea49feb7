"""Points of rows in blocks: two passes or one, then the search over what they leave."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..._validation import as_generator, as_integer
from ...constraints.sparse_simplex import SparseSimplex
from ...objectives.mmd import RowsMMD
from ...result import Result
from ...row_blocks import MAX_BLOCK_ROWS, canonical_rows
from ...tables.frames import take_rows, width
from ...tables.source import Block, Source
from .options import PointsOptions
from .passes import Coreset, FirstPlan, FirstSummary, PointsPlan, SecondSummary, row_sums
from .sums import RowSums
from .target import Answer, Target, candidate_target

MISSED = 0.05
"""The probability with which a statement about rows drawn at random may be false."""


def points_in_blocks(source: Source, k: int, options: PointsOptions, most: bool) -> Answer:
    """Choose points of rows in blocks: in one pass where only one can be made."""
    generator, seed = as_generator(options.rng)
    number = int(generator.integers(2**32)) if seed is None else int(seed)
    head = source.head(canonical_rows(1) if source.once else MAX_BLOCK_ROWS)
    rows = canonical_rows(width(head.X))
    first = FirstPlan.of(head, k, options, number).filled(head if source.once else source, rows)
    if source.once:
        plan = PointsPlan.of(FirstSummary.of(head, first))
        kept = source.fold("points-once", Coreset.of, plan, Coreset.merged, rows)
        answer = solve_summary(kept, k, options, number, most)
    else:
        summary = source.fold("points-1", FirstSummary.of, first, FirstSummary.merged, rows)
        plan, sums = PointsPlan.of(summary), None
        if not plan.exact:
            sums = source.fold("points-2", row_sums, plan, RowSums.merged, rows)
        answer = solve_summary(SecondSummary(plan, sums), k, options, number, most)
        own = None if first.schema.fills else _as_they_came(answer.result.rows, head.X)
        own = source.take(answer.result.indices) if own is None else own
        answer = answer._replace(result=replace(answer.result, rows=own))
    return answer._replace(result=replace(answer.result, seed=seed))


def streamed_plan(block: Block, k: Any, options: PointsOptions) -> PointsPlan:
    """Decide how the rows of a stream are encoded, scaled and compared; `rng` of the options is a seed."""
    first = FirstPlan.of(block, as_integer(k, "k", 1), options, options.rng).filled(block)
    return PointsPlan.of(FirstSummary.of(block, first))


def _as_they_came(rows: Any, head: Any) -> Any:
    """Return kept rows that candidates have as they came; None where others have to be read again for them."""
    if rows is None or not isinstance(head, np.ndarray) or head.ndim != 2:
        return None
    exact = head.dtype.itemsize <= (8 if head.dtype.kind == "f" else 4)
    return np.asarray(rows).astype(head.dtype) if exact else None


def solve_summary(
    summary: Any, k: int, options: PointsOptions, seed: int, most: bool = True
) -> Answer:
    """Search over what summaries leave, and answer in positions of all rows."""
    rng, sums = np.random.default_rng(seed), None
    if isinstance(summary, FirstSummary):
        plan = PointsPlan.of(summary)
        plan = plan if summary.exact else plan.drawn(summary)
    elif isinstance(summary, Coreset):
        plan = summary.standing
    else:
        plan, sums = summary.plan, summary.sums
    sample, similarity, memory = plan.sample, plan.comparison.similarity, options.max_memory
    count = len(sample.weights)
    what = "candidates; summarize with candidates= a larger number"
    what = "distinct rows" if plan.exact else what
    k = min(as_integer(k, "k", 1, count if most else None, what), count)
    if sums is None:
        F = RowsMMD.between(
            sample.rows, sample.weights, similarity, labels=sample.labels, memory=memory
        )
        target = Target(F, np.arange(count), whole=plan.exact)
    else:
        how = sums.rows, k, memory, rng, sample.weights
        target = candidate_target(plan.candidates, sums, *how)
    C = SparseSimplex(target.F.space, k, *options.weights(k))
    answer = Answer.of(target, sample, C, options, rng, plan.notes)
    units = answer.solution.indices
    rows = take_rows(plan.originals, units[np.argsort(sample.first[units])])
    result = replace(answer.result, compared=plan.comparison, rows=rows, seed=seed)
    if isinstance(summary, Coreset):
        result = _with_proven_error(result, summary)
    elif isinstance(summary, FirstSummary) and not summary.exact:
        result = _with_likely_error(result, summary)
    return answer._replace(result=replace(result, seconds=options.deadline.elapsed()))


def _with_likely_error(result: Result, summary: FirstSummary) -> Result:
    """Say how far points of rows that one pass drew are from all rows with high probability.

    m independent draws by weight have MMD(drawn, all) <= (1 + √(2 ln(1/δ))) / √m with probability 1
    - δ where s(x, x) <= 1: the mean is at most 1 / √m, and one draw changes it by at most 2 / m
    (McDiarmid 1989; Smola, Gretton, Song and Schölkopf 2007, A Hilbert space embedding for
    distributions). How rows are compared does not depend on the draws.
    """
    m = summary.plan.draws
    note = f"one pass: {m} rows drawn at random by weight stand for all {summary.rows}"
    similarity = result.compared.similarity
    if similarity.name == "cosine" or similarity.power:
        off = (1.0 + math.sqrt(2.0 * math.log(1.0 / MISSED))) / math.sqrt(m)
        reach = math.sqrt(max(result.value, 0.0)) + off
        note += (
            f"; with probability {1 - MISSED:.0%} the MMD of the points to all rows is at most"
            f" {reach:.3g}"
        )
    return replace(result, note="; ".join(filter(None, (result.note, note))))


def _with_proven_error(result: Result, summary: Coreset) -> Result:
    """Say how far points of rows that stand for all may be from all rows."""
    error = summary.error / float(summary.kept.weights.sum())
    most = math.sqrt(max(result.value, 0.0)) + error
    note = (
        f"one pass: {len(summary.kept.weights)} weighted rows stand for all {summary.rows}, at an"
        f" MMD of at most {error:.3g}; the MMD of the points to all rows is at most {most:.3g}"
        " (proven)"
    )
    note = "; ".join(filter(None, (result.note, note)))
    return replace(result, note=note, bound=0.0, value_se=most**2 - result.value)


def error_bound(result: Result) -> float:
    """Return the proven bound on the MMD of an answer of one pass to all rows."""
    return math.sqrt(result.value + result.value_se)
