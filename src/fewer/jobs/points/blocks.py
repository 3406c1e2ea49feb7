"""Points of data in blocks: two passes, or one, then the search in memory over what they leave."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..._validation import InvalidInput, as_generator, as_integer, gathered
from ...constraints.sparse_simplex import SparseSimplex
from ...objectives.rows_mmd import RowsMMD
from ...options import IN_BLOCKS
from ...result import Result, Status
from ...row_blocks import MAX_BLOCK_ROWS, canonical_rows
from ...tables.frames import height, take_rows, width
from ...tables.schema import Schema
from ...tables.source import Block, Source, is_lazy, source_of
from ...threads import own_threads
from .first_pass import FirstSummary, PointsSpec
from .limits import by_position
from .one_pass import Coreset, OnePassPlan, bare_coreset, kept_for
from .options import GROUP_LIMITS, PointsOptions
from .plan import PointsPlan, drawn_plan, plan_of
from .sample import Sample
from .scaling import standardizes
from .second_pass import SecondSummary, bare_second, target_from
from .setting import Chosen, on_rows, search, solve_points
from .target import MAX_CANDIDATES, MIN_CANDIDATES, Target

MOVED = (
    "data in blocks; choose some hundred rows of them first, then move points among these, "
    "points(kept.rows, k, sample_weight=kept.weights, move=True)"
)
OTHER_TARGET = "data in blocks; choose some thousand rows of them first, then of these those that stand for the target"
CANDIDATES_PER_POINT = 4
"""Candidates for each point, at least."""
MISSED = 0.05
"""The probability with which a statement about rows drawn at random may be false."""
MAX_KEPT_CELLS = 2**20
"""Cells of the candidates that a summary of the first pass keeps, unless more are needed."""


def spec_of(head: Any, k: int, options: PointsOptions, seed: int) -> PointsSpec:
    """How blocks are read and compared, by the first rows."""
    if options.precomputed:
        raise InvalidInput("similarity='precomputed' is a matrix in memory, got data in blocks")
    options.refuse("move", road=MOVED)
    options.refuse("target", road=OTHER_TARGET)
    options.refuse("include", "exclude", "groups", *GROUP_LIMITS, road=IN_BLOCKS)
    roles = {"labels": options.labels, "sample_weight": options.sample_weight}
    recode = {"boolean": "category"}
    schema = Schema.of(head, options.columns, roles, options.missing, recode=recode)
    scales = standardizes(options.standardize, head, options.similarity)
    least = max(MIN_CANDIDATES, CANDIDATES_PER_POINT * k)
    count = max(least, min(MAX_CANDIDATES, MAX_KEPT_CELLS // width(head)))
    how = (options.similarity, options.gamma, scales, seed, count, least)
    return PointsSpec(schema, *how, options.labels is not None, options.max_memory, k)


def choose_points(X: Any, k: int, options: PointsOptions, most: bool = True) -> Chosen:
    """Choose points of rows in memory or in blocks; what fits into half of the memory is gathered.

    An iterator that is larger is read once, everything else twice.
    """
    if not is_lazy(X):
        return solve_points(gathered(X), k, options, most)
    k = as_integer(k, "k", 1)
    blocks = source_of(X, options.labels, options.sample_weight)
    whole = blocks.whole(options.max_memory // 2)
    if whole is not None:
        options = by_position(height(whole.X), with_rows(options, whole))
        return solve_points(whole.X, k, options, most)
    with own_threads():
        return _chosen(blocks, k, options, most)


def with_rows(options: PointsOptions, whole: Block) -> PointsOptions:
    """Options with labels and weights that were gathered; names of columns stay."""
    labels, weight = options.labels, options.sample_weight
    return options.replace(
        labels=labels if isinstance(labels, str) else whole.y,
        sample_weight=weight if isinstance(weight, str) else whole.weight,
    )


def _chosen(blocks: Source, k: int, options: PointsOptions, most: bool) -> Chosen:
    generator, seed = as_generator(options.rng)
    number = int(generator.integers(2**32)) if seed is None else int(seed)
    once = blocks.once
    head = blocks.head(canonical_rows(1) if once else MAX_BLOCK_ROWS)
    rows = canonical_rows(width(head.X))
    spec = spec_of(head.X, k, options, number)
    filled = spec.schema.filled(head if once else blocks, "points", rows, weighted=True)
    spec = replace(spec, schema=filled)
    if once:
        plan = plan_of(FirstSummary.of(head, spec))
        found: Any = blocks.fold(
            "points-once", bare_coreset, OnePassPlan(plan, kept_for(k)), Coreset.merged, rows
        )
    else:
        first = blocks.fold("points-1", FirstSummary.of, spec, FirstSummary.merged, rows)
        plan, found = plan_of(first), first
        if not first.exact:
            second = blocks.fold("points-2", bare_second, plan, SecondSummary.merged, rows)
            found = replace(second, plan=plan)
    chosen = solved(found, k, options, number, most, plan)
    if once:
        return chosen._replace(result=replace(chosen.result, seed=seed))
    kept = _as_they_came(chosen.result.rows, head.X, spec)
    kept = blocks.take(chosen.result.indices) if kept is None else kept
    return chosen._replace(result=replace(chosen.result, rows=kept, seed=seed))


def _as_they_came(rows: Any, head: Any, spec: PointsSpec) -> Any:
    """The kept rows as candidates have them, where that is as they came: then nothing is read again for them."""
    plain = (
        isinstance(head, np.ndarray)
        and head.ndim == 2
        and (head.dtype.kind == "f" or head.dtype.itemsize <= 4)
    )
    if rows is None or not plain or head.dtype.itemsize > 8 or spec.schema.fills is not None:
        return None
    return np.asarray(rows).astype(head.dtype)


def solved(
    summary: Any,
    k: int,
    options: PointsOptions,
    seed: int,
    most: bool = True,
    plan: PointsPlan | None = None,
) -> Chosen:
    """The search over what summaries leave."""
    rng = np.random.default_rng(seed)
    if isinstance(summary, Coreset):
        return _of_coreset(summary, k, options, rng, seed, most)
    if isinstance(summary, FirstSummary):
        if not summary.exact:
            return _of_draws(summary, k, options, rng, seed, most)
        plan, second = plan_of(summary) if plan is None else plan, None
    else:
        second, plan = summary, summary.plan or plan
    assert plan is not None  # noqa: S101 - one of the two has it
    sample = plan.sample
    k = _at_most(k, plan.rows.shape[0], plan.first.exact, most)
    target = target_from(second, plan, k, rng)
    return _searched(target, sample, plan, k, options, rng, seed, [*plan.notes, target.note])


def _of_draws(
    summary: FirstSummary, k: int, options: PointsOptions, rng: Any, seed: int, most: bool
) -> Chosen:
    """K of the rows that one pass drew, and how far these are from all rows with high probability.

    m independent draws by weight have MMD(drawn, all) <= (1 + √(2 ln(1/δ))) / √m with probability 1
    - δ where s(x, x) <= 1: the mean is at most 1 / √m, and one draw changes it by at most 2 / m
    (McDiarmid 1989; Smola, Gretton, Song and Schölkopf 2007, A Hilbert space embedding for
    distributions). How rows are compared does not depend on the draws.
    """
    if summary.drawn is None or not len(summary.drawn.keys):
        raise InvalidInput("there are no rows with weight")
    plan, m = drawn_plan(summary), summary.spec.draws
    sample = plan.sample
    k = _at_most(k, len(sample.weights), False, most)
    target = replace(target_from(None, plan, k, rng), whole=False)
    chosen = _searched(target, sample, plan, k, options, rng, seed, list(plan.notes))
    result = chosen.result
    note = f"one pass: {m} rows drawn at random by weight stand for all {summary.rows}"
    if summary.spec.similarity == "cosine" or plan.comparison.similarity.power:
        off = (1.0 + math.sqrt(2.0 * math.log(1.0 / MISSED))) / math.sqrt(m)
        reach = math.sqrt(max(result.value, 0.0)) + off
        note += f"; with probability {1 - MISSED:.0%} the MMD of the points to all rows is at most {reach:.3g}"
    status = Status.FINISHED if result.status is Status.OPTIMAL else result.status
    notes = "; ".join(filter(None, (result.note, note)))
    return chosen._replace(result=replace(result, bound=None, status=status, note=notes))


def _at_most(k: int, candidates: int, all_rows: bool, most: bool) -> int:
    """K, if there are so many candidates."""
    k = as_integer(k, "k", 1)
    if k <= candidates or not most:
        return min(k, candidates)
    what = "distinct rows" if all_rows else "candidates; summarize with candidates= a larger number"
    raise InvalidInput(f"k must be in 1..{candidates} ({what}), got {k}")


def _searched(
    target: Target,
    sample: Sample,
    plan: PointsPlan,
    k: int,
    options: PointsOptions,
    rng: Any,
    seed: int,
    notes: list[str],
) -> Chosen:
    """The in-memory engine over candidates, and its answer in positions of all rows."""
    low, high = options.weights(k)
    C = SparseSimplex(target.F.space, k, low, high)
    found = search(target, C, options, rng, seed)
    result = on_rows(found, target, sample, 0, options.deadline.elapsed(), notes)
    result = replace(
        result, compared=plan.comparison_parts, rows=_own_rows(plan, target, found, result)
    )
    return Chosen(result, plan.comparison, target, sample)


def _own_rows(plan: PointsPlan, target: Target, found: Result, result: Result) -> Any:
    """Kept rows as arrays, where they are arrays and were kept."""
    if plan.spec.schema.named or len(plan.first.candidates.keys) != len(target.candidates):
        return None
    order = np.argsort(plan.first.candidates.positions[target.candidates[found.indices]])
    return plan.first.candidates.numbers[target.candidates[found.indices][order]]


def _of_coreset(
    summary: Coreset, k: int, options: PointsOptions, rng: Any, seed: int, most: bool
) -> Chosen:
    """K of the rows that stand for all, and the proven bound on how far they are from all."""
    plan = summary.plan
    assert plan is not None  # noqa: S101 - it travels with the summary
    if summary.total <= 0:
        raise InvalidInput("there are no rows with weight")
    labels = None if plan.classes is None else summary.labels
    k = _at_most(k, summary.points.shape[0], False, most)
    similarity = plan.comparison.similarity
    F = RowsMMD.between(
        summary.points, summary.weights, similarity, labels=labels, memory=options.max_memory
    )
    sample = Sample(
        summary.points,
        summary.weights,
        summary.positions,
        summary.rows,
        labels,
        plan.classes,
        total=summary.total,
    )
    target = Target(F, np.arange(len(summary.weights)), whole=False)
    rows_seen = plan.first.rows
    how = (
        f"how rows are compared was decided by the first {rows_seen}"
        if rows_seen < summary.rows
        else ""
    )
    chosen = _searched(target, sample, plan, k, options, rng, seed, [*plan.notes, how])
    result = chosen.result
    most_mmd = math.sqrt(max(result.value, 0.0)) + summary.error
    note = (
        f"one pass: {len(summary.weights)} weighted rows stand for all {summary.rows}, at an MMD of at most "
        f"{summary.error:.3g}; the MMD of the points to all rows is at most {most_mmd:.3g} (proven)"
    )
    status = Status.FINISHED if result.status is Status.OPTIMAL else result.status
    place = {int(position): i for i, position in enumerate(summary.positions)}
    result = replace(
        result,
        rows=take_rows(summary.raw, [place[int(i)] for i in result.indices]),
        bound=0.0,
        status=status,
        value_se=most_mmd**2 - result.value,
        note="; ".join(filter(None, (result.note, note))),
    )
    return chosen._replace(result=result)


def error_bound(result: Result) -> float:
    """The proven bound on the MMD of an answer of one pass to all rows."""
    return math.sqrt(result.value + result.value_se)
