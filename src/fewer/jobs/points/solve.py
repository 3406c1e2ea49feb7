"""Points of rows in memory: rows made ready to be compared, the search, and the answer in terms of X."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._validation import InvalidInput, as_generator, as_integer, gathered, renamed
from ...constraints.groups import Groups
from ...constraints.sparse_simplex import SparseSimplex
from ...result import Result
from ...solvers.minimize import minimize
from ...tables.frames import index_of, take_rows
from ...threads import own_threads
from .answer import Answer, on_rows
from .comparison import (
    MEANS_ONLY,
    STANDARDIZED,
    Comparison,
    Standardization,
    choose_bandwidth,
    of_matrix,
    standardizes,
)
from .explain import Source
from .limits import Limits, groups_of
from .moving import move_points
from .options import PointsOptions
from .rows import RowInput, finite_rows, read_rows
from .sample import Sample
from .target import Target, target_of
from .units import solve_units

BYTES_PER_ROW, BYTES_PER_LABEL_OR_WEIGHT = 24, 8
"""Bytes for each row of X that indices and the answer take, and for each of labels and weights."""
SEARCH_TIME_SHARE = 0.4
"""The share of what is left of a time limit that choosing rows may take where they are to move."""


@dataclass(frozen=True, eq=False)
class PreparedRows:
    """Rows as they are compared: those to choose from, the `target` to stand for, and what limits the choice.

    `units` are those of the rows of X where whole units are chosen.
    """

    X: Any
    input: RowInput
    limits: Limits
    units: Groups | None
    sample: Sample
    target: Sample
    comparison: Comparison
    notes: list[str]

    def solve(
        self, k: int, options: PointsOptions, rng: np.random.Generator, seed: int | None
    ) -> Answer:
        """Choose k points."""
        if self.units is not None:
            return self._answered(solve_units(self, k, options, rng), options, seed)
        sample, unit = self.sample, self.comparison.unit
        k = as_integer(k, "k", 1, len(sample.weights), "distinct rows")
        how = self.comparison.similarity, k, options, rng, self.limits
        target = target_of(sample, self.target, *how)
        rows = sample.at(target.candidates)
        C = self.limits.constraint(target.F.space, min(k, len(rows)), rows)
        solution = search(target, C, options, rng)
        result = on_rows(solution, target, sample, unit, [*self.notes, target.note])
        answer = self._answered(Answer(result, self.comparison, target, sample), options, seed)
        if not options.moves:
            return answer
        moved = move_points(answer.result, solution, target, self, options, rng)
        return answer._replace(result=moved)

    def _answered(self, answer: Answer, options: PointsOptions, seed: int | None) -> Answer:
        """Add the kept rows of X, what its index calls them, and how they were compared."""
        indices, labels, entry = answer.result.indices, index_of(self.X), self.input
        weights = None if entry.weights is None else np.asarray(entry.weights, np.float64)
        source = Source(self.X, entry.kept, weights, options.precomputed)
        if entry.mass is not None:
            mine = slice(entry.n, None) if entry.kept is None else entry.kept >= entry.n
            kept = None if entry.kept is None else entry.kept[mine] - entry.n
            own = None if weights is None else weights[mine]
            source = Source(gathered(options.target), kept, own)
        result = replace(
            answer.result,
            rows=None if options.precomputed else take_rows(self.X, indices),
            labels=None if labels is None else labels[indices],
            compared=None if options.precomputed else self.comparison,
            source=source,
            seed=seed,
            seconds=options.deadline.elapsed(),
        )
        return answer._replace(result=result)


def solve_points(X: Any, k: int, options: PointsOptions, most: bool = True) -> Answer:
    """Choose points of rows in memory.

    With `most` False a k above the distinct rows means all of them.
    """
    rng, seed = as_generator(options.rng)
    with own_threads():
        prepared = prepare(X, k, options, rng, most)
        k = k if most else min(k, len(prepared.sample.weights))
        return prepared.solve(k, options, rng, seed)


def prepare(
    X: Any, k: int, options: PointsOptions, rng: np.random.Generator, most: bool = True
) -> PreparedRows:
    """Make rows ready to be compared; `rng` is left as it is."""
    k = as_integer(k, "k", 1)
    scales = standardizes(X, options)
    rows = read_rows(X, options, scales)
    if not rows.n:
        raise InvalidInput("X must have at least one row, got none")
    limits, units, always = Limits.of(X, rows.n, options), None, None
    if options.units is None:
        kinds, always = limits.kinds(rows.n, rows.others), rows.at(limits.include, "include")
    else:
        options.refuse("move", "target", road="units; they are kept as they are and stand for X")
        with renamed(groups="units"):
            units = groups_of(X, options.units, rows.n)
        kinds = units.codes
    if kinds is not None and rows.kept is not None:
        kinds = kinds[rows.kept]
    how = rows.labels, rows.classes, kinds, always
    sample = replace(Sample.of(rows.rows, rows.weights, *how), top=rows.top)
    sample = sample if options.precomputed else sample.merged(options.deadline)
    if rows.kept is not None:
        sample = sample.within(rows.kept, rows.size)
    distinct = len(rows.split(sample)[0].weights)
    k = min(k, distinct) if not most or units is not None else k
    k = as_integer(k, "k", 1, distinct, "distinct rows")
    check_memory(k, sample.size, options)
    comparison = Comparison(options.similarity, encoding=rows.encoding)
    if options.precomputed:
        comparison = of_matrix(finite_rows(X, sparse=False)[0])
    if scales:
        numbers = None if rows.encoding is None else rows.encoding.numbers
        scaling = Standardization.of(sample.rows, sample.weights, numbers)
        sample = replace(sample, rows=scaling(sample.rows), top=1.0)
        comparison = comparison._replace(scaling=scaling)
    note = ""
    if not options.precomputed:
        sample, comparison, note = choose_bandwidth(sample, comparison, k, options, rng)
    named = scales and (rows.encoding is None or rows.encoding.numbers > 0)
    means = MEANS_ONLY.get(options.similarity, "") if isinstance(options.similarity, str) else ""
    notes = [STANDARDIZED if named else "", *rows.notes, note, means, sample.note]
    own, target = rows.split(sample)
    return PreparedRows(X, rows, limits, units, own, target, comparison, notes)


def check_memory(k: int, n: int, options: PointsOptions) -> None:
    """Refuse a limit on memory in which not even the least that is kept fits."""
    roles = [one for one in (options.labels, options.sample_weight) if one is not None]
    each, memory = BYTES_PER_ROW + BYTES_PER_LABEL_OR_WEIGHT * len(roles), options.max_memory
    if 8 * k * k > memory:
        raise InvalidInput(
            f"max_memory must hold k = {k} columns of at least {k} similarities, {8 * k * k} bytes,"
            f" got {memory}"
        )
    if each * n > memory:
        raise InvalidInput(
            f"max_memory must hold {each} bytes for each of the {n} rows, {each * n} bytes, got"
            f" {memory}"
        )


def search(
    target: Target, C: SparseSimplex, options: PointsOptions, rng: np.random.Generator
) -> Result:
    """Search for the best weights on candidates."""
    solver, until = options.solver, options.deadline
    if solver in ("auto", "exact") and (options.moves or not target.whole):
        solver = "exchange"  # there is nothing to prove
    if options.moves:
        until = options.deadline.share(SEARCH_TIME_SHARE)
    return minimize(target.F, C, solver, time_limit=until, callback=options.callback, rng=rng)
