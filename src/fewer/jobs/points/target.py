"""The discrepancy from a data set: over all rows, or over candidates where all pairs would take too much work.

And the search over the candidates, with its answer in rows of X.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..._validation import Indices, InvalidInput, Vector
from ...constraints.sparse_simplex import SparseSimplex
from ...deadline import Deadline
from ...lazy_rows import in_memory
from ...objectives.mmd import OutOfTime, RowsMMD, mean_similarities
from ...result import Result, Status, Words
from ...similarity import Similarity
from ...solvers.minimize import minimize
from ...spaces import Atoms
from .options import PointsOptions
from .rows import Limits, Sample
from .sums import SPECTRA, CandidateRows, RandomFeatures, RowSums, frequencies_of

# Work is counted in pairs of rows times (columns + 20). What sizes without a time limit cost was
# measured up to a million rows. Whether limits are kept: `python -m soak --parts limits`.
MAX_PAIRWISE_WORK = 10**11
"""Work up to which all pairs of rows are compared."""
MAX_CANDIDATE_WORK = 2 * 10**11
"""Work for the mean similarities of candidates beyond that."""
MAX_TARGET_WORK = 3 * 10**12
"""Work at which the target itself is sampled."""
MIN_CANDIDATES, MAX_CANDIDATES = 2000, 10000
"""Candidate rows, at least (or 4 k) and at most."""
MAX_FEATURE_CELLS = 10**9
"""Rows times frequencies of the random features by which values are estimated."""
WORK_PER_FEATURE_CELL = 50
"""The work of one row and frequency."""
CANDIDATE_WORK_PER_SECOND = 2 * 10**9
"""Work for each second of a time limit that comparing candidates may take: about half of what a
core does."""
PAIRWISE_WORK_PER_SECOND = 10**9
"""Work for each second of a time limit that comparing all pairs may take."""
MIN_PAIRWISE_WORK, MIN_CANDIDATE_WORK = 2 * 10**8, 5 * 10**7
"""Work that any time limit allows for comparing all pairs, and for comparing candidates."""
PAIRWISE_TIME_SHARE, STAGE_TIME_SHARE = 0.4, 0.5
"""The shares of what is left of a time limit that comparing all pairs, or comparing candidates, may
take."""
MIN_SAMPLED, MAX_FEATURES = 256, 2048
"""Rows of the target that candidates are compared with, and frequencies, at least; frequencies at
most."""
MAX_FIRST_ROWS = 200
"""Rows of the first answer from which the constant is taken, at most."""
VALUE_MARGIN = 1.25
"""The first estimate of a value is raised by this factor, so that no later value falls below zero.
"""
SEARCH_TIME_SHARE = 0.4
"""The share of what is left of a time limit that choosing rows may take where they are to move."""


@dataclass(frozen=True, eq=False)
class Target:
    """The objective over candidate rows, which rows of the sample they are, and what is estimated in it.

    `features` is None where F is exact, but for an `error`. `whole` says whether the candidates are
    all rows: only then is a bound one over all of them.
    """

    F: Any
    candidates: Indices
    features: RandomFeatures | None = None
    note: str = ""
    error: float = 0.0
    whole: bool = False
    rows: "TargetRows | None" = None

    def judge(self, units: Indices, weights: Vector) -> tuple[float, float]:
        """Compute the value of weights on candidates and its standard error."""
        if self.features is None:
            return self.F.value_at(units, weights), self.error
        return self.features.estimate(self.F, units, weights)

    def at(self, rows: Any, labels: Indices | None) -> "Target":
        """Make the objective over other rows, compared with the target in the same way."""
        assert self.rows is not None  # noqa: S101 - targets of rows in memory
        own, data, memory = self.F, self.rows.data, self.F.memory
        if self.whole:
            both = None if labels is None or data.labels is None else (labels, data.labels)
            mean = mean_similarities(rows, data.rows, data.weights, own.similarity, both, memory)
        else:
            candidates, sums = self.rows.compare(rows, labels)
            mean = candidates.means(sums)
        space = Atoms(len(mean))
        F = RowsMMD(space, rows, own.similarity, mean, own.constant, labels, memory)
        return replace(self, F=F, candidates=np.arange(len(mean)))


@dataclass(frozen=True, eq=False)
class TargetRows:
    """The rows `data` to stand for, and how many of them other rows are compared with."""

    data: Sample
    similarity: Similarity
    compared: int
    memory: int
    deadline: Deadline
    rng: np.random.Generator

    def compare(
        self, rows: Any, labels: Indices | None, frequencies: Vector | None = None
    ) -> tuple[CandidateRows, RowSums]:
        """Compare rows with the target, in random order where not all of it is compared.

        Inner products take one sum over all of it.
        """
        data, similarity, until = self.data, self.similarity, None
        m = len(data.weights)
        if not similarity.plain and (self.deadline.limited or self.compared < m):
            data = data.take(self.rng.choice(m, self.compared, replace=False))
            until = self.deadline.share(STAGE_TIME_SHARE)
        size = len(data.weights)
        candidates = CandidateRows(rows, labels, data.n_classes, similarity, size, frequencies)
        sums = candidates.sums(data.rows, data.weights, data.labels, self.memory, until)
        return candidates, sums


class WorkPlan(NamedTuple):
    """Whether all pairs of rows are compared, at what work, and else the numbers of what is."""

    whole: bool
    pairwise: float
    candidates: int
    compared: int
    frequencies: int


def plan_work(
    n: int, m: int, own: bool, cost: int, k: int, memory: int, limit: float, cheap: bool
) -> WorkPlan:
    """Plan how k of n rows are chosen for m within `limit` seconds, where a pair costs so much work.

    `own` says whether rows stand for themselves, `cheap` whether an exact value takes no pairs.
    """
    pairwise = (n**2 if own else m * (n + m)) * cost
    in_time = max(PAIRWISE_WORK_PER_SECOND * limit, MIN_PAIRWISE_WORK)
    whole = pairwise <= min(MAX_PAIRWISE_WORK, in_time)
    if limit == math.inf and (cheap or max(n, m) <= max(MIN_CANDIDATES, 4 * k)):
        whole = True  # so many would be candidates
    fits = 12 * k * n <= memory  # k columns of similarities to all rows
    work = max(CANDIDATE_WORK_PER_SECOND * limit, MIN_CANDIDATE_WORK)
    least = max(min(MIN_CANDIDATES, math.sqrt(work / cost)), 1.1 * k)
    most = max(min(MAX_CANDIDATE_WORK, work) // (m * cost), least, min(4 * k, work / cost / k))
    candidates = int(min(n, MAX_CANDIDATES, most, memory // (16 * k)))
    rows = min(MAX_TARGET_WORK, work) // max(candidates * cost, 1)
    compared = int(min(m, max(rows, MIN_SAMPLED)))
    least = MIN_SAMPLED if limit < 0.5 else 2 * MIN_SAMPLED
    frequencies = min(MAX_FEATURE_CELLS, work / WORK_PER_FEATURE_CELL) // compared
    frequencies = int(np.clip(frequencies, least, MAX_FEATURES))
    return WorkPlan(whole and fits, pairwise, candidates, compared, frequencies)


def target_of(
    sample: Sample,
    target: Sample,
    similarity: Similarity,
    k: int,
    options: PointsOptions,
    rng: np.random.Generator,
    limits: Limits,
) -> Target:
    """Make the objective: exact where all pairs can be compared, else over candidates with estimated values.

    Points are rows of `sample` and stand for those of `target`. Under a time limit both the sizes
    that are compared whole and the numbers of candidates are smaller, and each stage ends after a
    share of it.
    """
    (n, d), m, own = sample.rows.shape, len(target.weights), target is sample
    memory, deadline = options.max_memory, options.deadline
    cheap = similarity.plain or similarity.name == "precomputed"
    plan = plan_work(n, m, own, d + 20, k, memory, deadline.seconds, cheap)
    rows = TargetRows(target, similarity, plan.compared, memory, deadline, rng)
    if plan.whole:
        long = plan.pairwise > MIN_PAIRWISE_WORK
        until = deadline.share(PAIRWISE_TIME_SHARE) if long else None
        with suppress(OutOfTime):
            F = exact_discrepancy(sample, target, similarity, memory, until)
            return Target(F, np.arange(n), whole=True, rows=rows)
    if plan.candidates < k:
        raise InvalidInput(
            f"max_memory must hold k = {k} columns of at least {k} similarities, got {memory} bytes"
        )
    sampled = similarity.name not in SPECTRA and not similarity.plain
    pool = np.arange(n) if sampled and own else limits.allowed(sample.first)
    drawn = rng.choice(len(pool), min(plan.candidates, len(pool)), replace=False)
    units = np.union1d(pool[drawn], limits.required(sample.first, k, rng))
    few = sample.take(units).loaded()
    if sampled:
        others, what = few, f"{len(units)} of {n} rows"
        if not own:
            size = min(plan.candidates, m)
            others = target.take(rng.choice(m, size, replace=False)).loaded()
            what = f"{size} rows of the target"
        return replace(sampled_target(few, others, similarity, memory, what), candidates=units)
    frequencies = frequencies_of(similarity, plan.frequencies, d, rng)
    candidates, sums = rows.compare(few.rows, few.labels, frequencies)
    objective = candidate_target(candidates, sums, m, k, memory, rng)
    return replace(objective, candidates=units, rows=rows)


def exact_discrepancy(
    sample: Sample, target: Sample, similarity: Similarity, memory: int, until: Deadline | None
) -> RowsMMD:
    """Make the discrepancy of weights on all rows of a sample, every pair that it takes compared."""
    rows, weights, own = in_memory(sample.rows, memory // 8), target.weights, target is sample
    others = rows if own else in_memory(target.rows, memory // 8)
    both = within = None
    if sample.labels is not None and target.labels is not None:
        both, within = (sample.labels, target.labels), (target.labels, target.labels)
    mean = mean_similarities(rows, others, weights, similarity, both, memory, until)
    inner = mean
    if not own:
        inner = mean_similarities(others, others, weights, similarity, within, memory, until)
    constant = float(weights @ inner)
    return RowsMMD(Atoms(len(mean)), rows, similarity, mean, constant, sample.labels, memory)


def sampled_target(
    few: Sample, others: Sample, similarity: Similarity, memory: int, what: str
) -> Target:
    """Make the objective where rows drawn at random stand for the target: MMD² between them is about (s_ii - s̄) / m.

    For similarities without random features this beats candidates compared with all rows: what the
    drawn rows lack is the same for all weights.
    """
    mass = others.weights / others.weights.sum()
    data = replace(others, weights=mass)
    F = exact_discrepancy(data if few is others else few, data, similarity, memory, None)
    error = max(float(mass @ similarity.itself(data.rows)) - F.constant, 0.0) / len(mass)
    note = f"{what}, drawn at random, stand for all: their own MMD² is {error:.2g}"
    return Target(F, np.arange(len(few.weights)), note=note, error=error)


def candidate_target(
    candidates: CandidateRows,
    sums: RowSums,
    size: int,
    k: int,
    memory: int,
    rng: np.random.Generator,
    weights: Vector | None = None,
) -> Target:
    """Make the objective over candidates from sums over a target of so many rows.

    Where a similarity has no random features, the constant is estimated from candidates that were
    drawn from the target, with these weights.
    """
    similarity, m = candidates.similarity, candidates.rows.shape[0]
    mean = candidates.means(sums)
    F = RowsMMD(Atoms(m), candidates.rows, similarity, mean, 0.0, candidates.labels, memory)
    features = RandomFeatures.of(candidates, sums, size)
    compared = f"each compared with all {size}"
    if sums.rows < size:
        compared = f"compared with {sums.rows} of {size} rows"
    note = f"{m} candidate rows, drawn at random, {compared}"
    error = 0.0
    if similarity.plain:
        constant = float(np.square(sums.middles / sums.total).sum())
    elif features is not None:
        constant = first_constant(F, features, k, rng)
        note += f"; the value is an estimate by {len(features.frequencies)} random Fourier features"
    else:
        shares = np.full(m, 1.0 / m) if weights is None else weights
        constant = float(shares @ mean)
        error = float(np.sqrt(np.square(shares * (mean - constant)).sum()))
        note += "; the constant of the value is estimated from the candidates"
    return Target(replace(F, constant=constant), np.arange(m), features, note, error)


def first_constant(F: RowsMMD, features: RandomFeatures, k: int, rng: np.random.Generator) -> float:
    """Choose the constant by which a first answer, k rows at random at their best, gets a little more than its value."""
    size = F.space.size
    units = np.sort(rng.choice(size, min(k, size, MAX_FIRST_ROWS), replace=False))
    weights = F.best_on(units)[units]
    value, error = features.estimate(F, units, weights)
    inner = float(weights @ F.cross(units, units) @ weights) - 2.0 * float(F.mean[units] @ weights)
    return VALUE_MARGIN * (value + error) - inner


class Answer(NamedTuple):
    """The points, what they were chosen from, and the result in terms of candidates."""

    result: Result
    target: Target
    sample: Sample
    solution: Result

    @classmethod
    def of(
        cls,
        target: Target,
        sample: Sample,
        C: SparseSimplex,
        options: PointsOptions,
        rng: np.random.Generator,
        notes: Sequence[str],
    ) -> "Answer":
        """Search for the best weights on candidates, and answer in rows of X.

        The value is judged anew where it was estimated. A bound over candidates is none over all
        rows.
        """
        solver, until = options.solver, options.deadline
        if solver in ("auto", "exact") and (options.moves or not target.whole):
            solver = "exchange"  # there is nothing to prove
        if options.moves:
            until = until.share(SEARCH_TIME_SHARE)
        how = {"time_limit": until, "callback": options.callback, "rng": rng}
        solution = minimize(target.F, C, solver, **how)
        weights = np.asarray(solution.weights)
        rows = sample.first[target.candidates[solution.indices]]
        order = np.argsort(rows)
        value, error = target.judge(solution.indices, weights)
        result = replace(
            solution,
            indices=rows[order],
            weights=weights[order],
            value=value,
            history=solution.history + (value - solution.value),
            space=Atoms(sample.size),
            value_se=error,
            note="; ".join(filter(None, [*notes, target.note, solution.note])),
            words=Words("points", sample.size, "MMD²"),
            total=sample.total,
        )
        status = result.status
        bound = None
        if target.whole:  # a squared distance is never negative
            bound = min(max(result.bound or 0.0, 0.0), value)
        elif status is Status.OPTIMAL:
            status = Status.FINISHED
        return cls(replace(result, bound=bound, status=status), target, sample, solution)
