"""Points of rows in memory or in blocks: one block, two passes or one, then the search over what they leave."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..._validation import InvalidInput, as_generator, as_integer
from ...constraints.sparse_simplex import SparseSimplex
from ...objectives.mmd import RowsMMD
from ...result import Result
from ...row_blocks import MAX_BLOCK_ROWS, canonical_rows
from ...tables.frames import take_rows, width
from ...tables.source import Block, Source
from .first_pass import FirstPlan, FirstSummary
from .one_pass import Coreset, OnePassPlan, kept_for
from .options import PointsOptions
from .second_pass import PointsPlan, SecondSummary
from .target import Answer, Target

MISSED = 0.05
"""The probability with which a statement about rows drawn at random may be false."""


def points_in_blocks(source: Source, k: int, options: PointsOptions, most: bool) -> Answer:
    """Choose points of rows in blocks."""
    generator, seed = as_generator(options.rng)
    number = int(generator.integers(2**32)) if seed is None else int(seed)
    head = source.head(canonical_rows(1) if source.once else MAX_BLOCK_ROWS)
    rows = canonical_rows(width(head.X))
    first = FirstPlan.of(head.X, k, options, number)
    data = head if source.once else source
    first = replace(first, schema=first.schema.filled(data, "points", rows, weighted=True))
    if source.once:
        plan = PointsPlan.of(FirstSummary.of(head, first))
        how = OnePassPlan(plan, kept_for(k))
        kept = source.fold("points-once", Coreset.of, how, Coreset.merged, rows)
        answer = solve_summary(kept, k, options, number, most)
    else:
        solution = source.fold("points-1", FirstSummary.of, first, FirstSummary.merged, rows)
        plan, second = PointsPlan.of(solution), None
        if not plan.exact:
            second = source.fold("points-2", SecondSummary.bare, plan, SecondSummary.merged, rows)
        answer = _of_plan(plan, second, k, options, number, most)
        filled = first.schema.fills is not None
        own = None if filled else _as_they_came(answer.result.rows, head.X)
        own = source.take(answer.result.indices) if own is None else own
        answer = answer._replace(result=replace(answer.result, rows=own))
    return answer._replace(result=replace(answer.result, seed=seed))


def streamed_plan(block: Block, k: Any, options: PointsOptions) -> PointsPlan:
    """Decide how the rows of a stream are encoded, scaled and compared.

    `rng` of the options is a seed.
    """
    weight = options.sample_weight if isinstance(options.sample_weight, str) else None
    options = options.replace(sample_weight=weight)
    first = FirstPlan.of(block.X, as_integer(k, "k", 1), options, options.rng)
    schema = first.schema.filled(block, "points", 0, weighted=True)
    return PointsPlan.of(FirstSummary.of(block, replace(first, schema=schema)))


def _as_they_came(rows: Any, head: Any) -> Any:
    """Return kept rows that candidates have as they came.

    None where others have to be read again for them.
    """
    if rows is None or not isinstance(head, np.ndarray) or head.ndim != 2:
        return None
    exact = head.dtype.itemsize <= (8 if head.dtype.kind == "f" else 4)
    return np.asarray(rows).astype(head.dtype) if exact else None


def solve_summary(
    summary: Any, k: int, options: PointsOptions, seed: int, most: bool = True
) -> Answer:
    """Search over what summaries leave."""
    if isinstance(summary, Coreset):
        return _of_coreset(summary, k, options, seed, most)
    if isinstance(summary, SecondSummary):
        assert summary.plan is not None  # noqa: S101 - it travels with summaries of the user
        return _of_plan(summary.plan, summary, k, options, seed, most)
    plan = PointsPlan.of(summary)
    if summary.exact:
        return _of_plan(plan, None, k, options, seed, most)
    return _of_draws(plan.drawn(summary), summary, k, options, seed, most)


def _of_plan(
    plan: PointsPlan,
    second: SecondSummary | None,
    k: int,
    options: PointsOptions,
    seed: int,
    most: bool,
) -> Answer:
    """Choose k of the candidates."""
    rng = np.random.default_rng(seed)
    k = _at_most(k, len(plan.sample.weights), plan.exact, most)
    return _searched(plan.target(second, k, rng), plan, k, options, rng, seed)


def _of_draws(
    plan: PointsPlan,
    summary: FirstSummary,
    k: int,
    options: PointsOptions,
    seed: int,
    most: bool,
) -> Answer:
    """Choose k of the rows that one pass drew, and say how far these are from all rows with high probability.

    m independent draws by weight have MMD(drawn, all) <= (1 + √(2 ln(1/δ))) / √m with probability 1
    - δ where s(x, x) <= 1: the mean is at most 1 / √m, and one draw changes it by at most 2 / m
    (McDiarmid 1989; Smola, Gretton, Song and Schölkopf 2007, A Hilbert space embedding for
    distributions). How rows are compared does not depend on the draws.
    """
    rng, m = np.random.default_rng(seed), summary.plan.draws
    k = _at_most(k, len(plan.sample.weights), False, most)
    target = replace(plan.target(None, k, rng), whole=False)
    answer = _searched(target, plan, k, options, rng, seed)
    note = f"one pass: {m} rows drawn at random by weight stand for all {summary.rows}"
    if summary.plan.options.similarity == "cosine" or plan.comparison.similarity.power:
        off = (1.0 + math.sqrt(2.0 * math.log(1.0 / MISSED))) / math.sqrt(m)
        reach = math.sqrt(max(answer.result.value, 0.0)) + off
        note += (
            f"; with probability {1 - MISSED:.0%} the MMD of the points to all rows is at most"
            f" {reach:.3g}"
        )
    note = "; ".join(filter(None, (answer.result.note, note)))
    return answer._replace(result=replace(answer.result, note=note))


def _of_coreset(summary: Coreset, k: int, options: PointsOptions, seed: int, most: bool) -> Answer:
    """Choose k of the rows that stand for all, and prove how far they may be from all rows."""
    sample, plan, rng = summary.sample, summary.plan, np.random.default_rng(seed)
    if sample.total <= 0:
        raise InvalidInput("there are no rows with weight")
    k = _at_most(k, len(sample.weights), False, most)
    seen = plan.sample.size
    if seen < sample.size:
        how = f"how rows are compared was decided by the first {seen}"
        plan = replace(plan, notes=(*plan.notes, how))
    plan = replace(plan, sample=sample, numbers=None)
    similarity, memory = plan.comparison.similarity, options.max_memory
    F = RowsMMD.between(
        sample.rows, sample.weights, similarity, labels=sample.labels, memory=memory
    )
    target = Target(F, np.arange(len(sample.weights)))
    answer = _searched(target, plan, k, options, rng, seed)
    result = answer.result
    most_mmd = math.sqrt(max(result.value, 0.0)) + summary.error
    note = (
        f"one pass: {len(sample.weights)} weighted rows stand for all {sample.size}, at an MMD of"
        f" at most {summary.error:.3g}; the MMD of the points to all rows is at most {most_mmd:.3g}"
        " (proven)"
    )
    place = np.argsort(sample.first)
    at = place[np.searchsorted(sample.first[place], result.indices)]
    note = "; ".join(filter(None, (result.note, note)))
    result = replace(result, note=note, bound=0.0, value_se=most_mmd**2 - result.value)
    return answer._replace(result=replace(result, rows=take_rows(summary.raw, at)))


def _at_most(k: int, candidates: int, all_rows: bool, most: bool) -> int:
    """Return k, if there are so many candidates."""
    k = as_integer(k, "k", 1)
    if k <= candidates or not most:
        return min(k, candidates)
    what = "distinct rows" if all_rows else "candidates; summarize with candidates= a larger number"
    raise InvalidInput(f"k must be in 1..{candidates} ({what}), got {k}")


def _searched(
    target: Target,
    plan: PointsPlan,
    k: int,
    options: PointsOptions,
    rng: np.random.Generator,
    seed: int,
) -> Answer:
    """Search over candidates, and answer in positions of all rows."""
    C = SparseSimplex(target.F.space, k, *options.weights(k))
    answer = Answer.of(target, plan.sample, C, options, rng, plan.notes)
    order = np.argsort(plan.sample.first[answer.solution.indices])
    rows = None if plan.numbers is None else plan.numbers[answer.solution.indices[order]]
    result = replace(answer.result, compared=plan.comparison, rows=rows, seed=seed)
    return answer._replace(result=replace(result, seconds=options.deadline.elapsed()))


def error_bound(result: Result) -> float:
    """Return the proven bound on the MMD of an answer of one pass to all rows."""
    return math.sqrt(result.value + result.value_se)
