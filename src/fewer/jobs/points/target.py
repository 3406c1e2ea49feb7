"""The discrepancy from a whole data set, all pairs of it compared, or as much as the work allows."""

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..._validation import Indices, InvalidInput, Vector
from ...deadline import Deadline
from ...distances import centre_of
from ...lazy_rows import in_memory, some_rows
from ...objectives.pairs import OutOfTime, image_until
from ...objectives.rows_mmd import RowsMMD, mean_to, own_mean, plain_middle
from ...similarity import Similarity
from ...spaces import Atoms
from .merge import merged
from .sample import Sample
from .waves import SPECTRA, Waves, estimate, wave_sums

# Work is counted in pairs of rows times (columns + 20). What sizes without a time limit cost and gain up to a million
# rows: `python benchmarks/points.py --part scale`. Whether limits are kept: `python -m soak --parts limits`.
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
"""Work for each second of a time limit that comparing candidates may take: about half of what a core does."""
PAIRWISE_WORK_PER_SECOND = 10**9
"""The same for comparing all pairs."""
MIN_PAIRWISE_WORK, MIN_CANDIDATE_WORK = 2 * 10**8, 5 * 10**7
"""Work that any time limit allows for comparing all pairs, and for comparing candidates."""
PAIRWISE_TIME_SHARE, STAGE_TIME_SHARE = 0.4, 0.5
"""The shares of what is left of a time limit that comparing all pairs, or one stage of an estimate, may take."""
MIN_SAMPLED = 256
"""Rows of the target that candidates are compared with, and frequencies, at least."""
MAX_FIRST_ROWS = 200
"""Rows of the first answer from which the constant is taken, at most."""
VALUE_MARGIN = 1.25
"""The first estimate of a value is raised by this factor, so that no later value falls below zero."""


@dataclass(frozen=True, eq=False)
class Target:
    """The objective over candidate rows, which rows of the sample they are, and what is estimated in it.

    `waves` is None where F is exact. `whole` says whether the candidates are all rows: only then is
    a bound one over all of them.
    """

    F: RowsMMD
    candidates: Indices
    waves: Waves | None = None
    note: str = ""
    error: float = 0.0
    whole: bool = False

    def judged(self, units: Indices, weights: Vector) -> tuple[float, float]:
        """The value of weights on candidates and its standard error: exact, or by random features."""
        if self.waves is None:
            return self.F.value_at(units, weights), self.error
        return estimate(self.F, self.waves, units, weights)


@dataclass(frozen=True)
class Plan:
    """How much may be compared: it depends on the size of the data, k, the memory and the time limit alone.

    `others` is how many rows the target has where it is another set; 0 where the n rows are the
    target too.
    """

    n: int
    cost: int
    k: int
    memory: int
    limit: float
    others: int = 0

    @classmethod
    def of(
        cls, sample: Sample, k: int, memory: int, limit: float, against: Sample | None = None
    ) -> "Plan":
        """For all rows of a sample, k of which are chosen within `limit` seconds to stand for those of `against`."""
        n, d = sample.rows.shape
        others = 0 if against is None or against is sample else len(against.weights)
        return cls(n, d + 20, k, memory, limit, others)

    @property
    def m(self) -> int:
        """The number of rows of the target."""
        return self.others or self.n

    @property
    def pairs(self) -> int:
        """How many pairs of rows an exact value takes: those of the target, and each row with it."""
        return self.n**2 if not self.others else self.others * (self.n + self.others)

    @property
    def limited(self) -> bool:
        """Whether there is a time limit."""
        return self.limit < math.inf

    @property
    def work(self) -> float:
        """What comparing candidates may cost."""
        return max(CANDIDATE_WORK_PER_SECOND * self.limit, MIN_CANDIDATE_WORK)

    @property
    def whole(self) -> bool:
        """Whether all pairs of rows are compared."""
        few = max(self.n, self.others) <= max(
            MIN_CANDIDATES, 4 * self.k
        )  # as many candidates would be all rows
        return (few and not self.limited) or self.pairs * self.cost <= min(
            MAX_PAIRWISE_WORK, max(PAIRWISE_WORK_PER_SECOND * self.limit, MIN_PAIRWISE_WORK)
        )

    @property
    def fits(self) -> bool:
        """Whether k columns of similarities to all rows do."""
        return 12 * self.k * self.n <= self.memory

    @property
    def count(self) -> int:
        """The number of candidates."""
        least = max(min(MIN_CANDIDATES, math.sqrt(self.work / self.cost)), 1.1 * self.k)
        most = max(
            min(MAX_CANDIDATE_WORK, self.work) // (self.m * self.cost),
            least,
            min(4 * self.k, self.work / self.cost / self.k),
        )
        return int(min(self.n, MAX_CANDIDATES, most, self.memory // (16 * self.k)))

    @property
    def against(self) -> int:
        """The number of rows that they are compared with."""
        return int(
            min(
                self.m,
                max(min(MAX_TARGET_WORK, self.work) // (self.count * self.cost), MIN_SAMPLED),
            )
        )

    @property
    def frequencies(self) -> int:
        """The number of random features."""
        least = MIN_SAMPLED if self.limit < 0.5 else 2 * MIN_SAMPLED
        return int(
            np.clip(
                min(MAX_FEATURE_CELLS, self.work / WORK_PER_FEATURE_CELL) // self.m, least, 2048
            )
        )

    @property
    def felt(self) -> int:
        """The number of rows from which their means are taken."""
        return (
            int(np.clip(self.work / WORK_PER_FEATURE_CELL // self.frequencies, MIN_SAMPLED, self.m))
            if self.limited
            else self.m
        )


class Choice(NamedTuple):
    """Rows of a sample that may be candidates, all if None, and those that must be: sorted."""

    allowed: Indices | None = None
    always: Indices = np.zeros(0, np.int64)


def target_of(
    sample: Sample,
    similarity: Similarity,
    k: int,
    memory: int,
    rng: np.random.Generator,
    deadline: Deadline,
    choice: Choice = Choice(),  # noqa: B008 - it is a constant
    against: Sample | None = None,
) -> Target:
    """The target of a sample: exact where all pairs can be compared, else over candidates with estimated values.

    `against` are the rows to stand for where they are not those of the sample. Under a time limit
    both the sizes that are compared whole and the numbers of candidates are smaller, and each stage
    ends after a share of it.
    """
    against = sample if against is None else against
    plan = Plan.of(sample, k, memory, deadline.seconds, against)
    cheap = not plan.limited and (similarity.plain or similarity.name == "precomputed")
    if (plan.whole or cheap) and plan.fits:
        with suppress(OutOfTime):
            until = (
                deadline.share(PAIRWISE_TIME_SHARE)
                if plan.pairs * plan.cost > MIN_PAIRWISE_WORK
                else None
            )
            return Target(
                _exact(sample, against, similarity, memory, until), np.arange(plan.n), whole=True
            )
    if plan.count < k:
        raise InvalidInput(
            f"max_memory must hold k = {k} columns of at least {k} similarities, got {memory} bytes"
        )
    stands = (
        similarity.name not in SPECTRA and not similarity.plain
    )  # then candidates stand for all rows
    pool = (
        np.arange(plan.n)
        if choice.allowed is None or (stands and not plan.others)
        else choice.allowed
    )
    some = rng.choice(len(pool), min(plan.count, len(pool)), replace=False)
    chosen = _distinct(sample, np.union1d(pool[some], choice.always))
    if stands:
        part = rng.choice(plan.m, min(plan.count, plan.m), replace=False) if plan.others else None
        others = None if part is None else against.take(np.sort(part))
        return _of_sample(sample, similarity, chosen, memory, deadline, others)
    return _of_candidates(sample, similarity, plan, chosen, rng, deadline, against)


def _exact(
    sample: Sample, against: Sample, similarity: Similarity, memory: int, until: Deadline | None
) -> RowsMMD:
    """The discrepancy of weights on all rows of a sample, every pair that it takes compared."""
    rows = in_memory(sample.rows, memory // 8)
    if against is sample:
        return RowsMMD.between(
            rows, sample.weights, similarity, labels=sample.labels, memory=memory, deadline=until
        )
    others = in_memory(against.rows, memory // 8)
    both = (
        None if sample.labels is None or against.labels is None else (sample.labels, against.labels)
    )
    mean = mean_to(rows, others, against.weights, similarity, both, memory, until)
    constant = against.weights @ own_mean(
        others, against.weights, similarity, against.labels, memory, until
    )
    return RowsMMD(Atoms(len(mean)), rows, similarity, mean, float(constant), sample.labels, memory)


def _distinct(sample: Sample, chosen: Indices) -> Indices:
    """Of rows drawn at random those that are not equal, in order."""
    if sample.note == "":  # equal rows are merged already
        return chosen
    kinds = None if sample.kinds is None else sample.kinds[chosen]
    first, _ = merged(sample.rows[chosen], kinds, np.ones(len(chosen)))
    return chosen if first is None else np.sort(chosen[first])


def _of_sample(
    sample: Sample,
    similarity: Similarity,
    chosen: Indices,
    memory: int,
    deadline: Deadline,
    others: Sample | None,
) -> Target:
    """The rows of a sample stand for all: the error is the discrepancy of the two, of expectation (s_ii - s̄) / m.

    `others` are rows of the target where it is another set.
    """
    own = sample.take(chosen)
    data = own if others is None else others
    rows, weights = sample.rows[chosen], data.weights / data.weights.sum()
    there = rows if others is None else data.rows[:]
    if deadline.limited:
        order = np.random.default_rng(0).permutation(len(weights))
        part, mass, until = there[order], weights[order], deadline.share(STAGE_TIME_SHARE)
        codes = None if data.labels is None else data.labels[order]
        mean = _mean_until(rows, own.labels, part, mass, codes, similarity, memory, until)
        inner = (
            mean
            if others is None
            else _mean_until(there, data.labels, part, mass, codes, similarity, memory, until)
        )
        F = RowsMMD(
            Atoms(len(chosen)), rows, similarity, mean, float(weights @ inner), own.labels, memory
        )
    else:
        own, data = (
            replace(part, rows=kept, weights=weights) for part, kept in ((own, rows), (data, there))
        )
        F = _exact(own, own if others is None else data, similarity, memory, None)
    error = max(float(weights @ similarity.itself(there)) - F.constant, 0.0) / len(weights)
    said = (
        f"{len(weights)} rows of the target"
        if others is not None
        else f"{len(chosen)} of {len(sample.weights)} rows"
    )
    note = f"{said}, drawn at random, stand for all: their own MMD² is {error:.2g}"
    return Target(F, chosen, note=note, error=error)


def _mean_until(
    rows: Any, own: Indices | None, data: Any, weights: Vector, codes: Indices | None, *how: Any
) -> Vector:
    """The mean similarity of rows to data in random order, as much of it as a deadline allows, (n,)."""
    similarity, memory, until = how
    both = None if own is None or codes is None else (own, codes)
    return image_until(rows, data, weights, similarity, both, memory, until)[0]


def _of_candidates(
    sample: Sample,
    similarity: Similarity,
    plan: Plan,
    chosen: Indices,
    rng: np.random.Generator,
    deadline: Deadline,
    against: Sample,
) -> Target:
    """Candidates drawn at random, each compared with all rows, or with as many as the work and a deadline allow."""
    rows, own = sample.rows[chosen], None if sample.labels is None else sample.labels[chosen]
    mean, used = target_means(against, rows, own, similarity, plan, rng, deadline)
    F = RowsMMD(Atoms(len(chosen)), rows, similarity, mean, 0.0, own, plan.memory)
    sampled = (
        f", each compared with all {plan.m}"
        if used == plan.m
        else f", compared with {used} of {plan.m} rows"
    )
    note = f"{len(chosen)} candidate rows, drawn at random{sampled}"
    if similarity.plain:
        return Target(
            with_constant(F, _plain_constant(against, similarity, plan.memory)), chosen, note=note
        )
    waves = waves_of(against, F, plan, rng, deadline)
    note += f"; the value is an estimate by {len(waves.frequencies)} random Fourier features"
    return Target(with_constant(F, first_constant(F, waves, plan.k, rng)), chosen, waves, note)


def drawn(sample: Sample, count: int, rng: np.random.Generator) -> Sample:
    """So many rows in random order: the first of them, however many, are a random sample too."""
    return sample.take(rng.choice(len(sample.weights), count, replace=False))


def target_means(
    sample: Sample,
    rows: Any,
    own: Indices | None,
    similarity: Similarity,
    plan: Plan,
    rng: np.random.Generator,
    deadline: Deadline,
) -> tuple[Vector, int]:
    """The mean similarity of candidates to the target, (n,), and to how many rows of it they were compared."""
    whole = similarity.plain or (plan.against >= plan.m and not plan.limited)
    data = sample if whole else drawn(sample, plan.against, rng)
    weights = data.weights if whole else data.weights / data.weights.sum()
    both = None if own is None or data.labels is None else (own, data.labels)
    if not plan.limited or similarity.plain:
        return mean_to(rows, data.rows, weights, similarity, both, plan.memory), len(data.weights)
    return image_until(
        rows, data.rows, weights, similarity, both, plan.memory, deadline.share(STAGE_TIME_SHARE)
    )


def first_constant(F: RowsMMD, waves: Waves, k: int, rng: np.random.Generator) -> float:
    """The constant by which a first answer, k rows at random at their best, gets a little more than its value."""
    units = np.sort(rng.choice(F.space.size, min(k, F.space.size, MAX_FIRST_ROWS), replace=False))
    weights = F.best_on(units)[units]
    value, error = estimate(F, waves, units, weights)
    inner = float(weights @ F.cross(units, units) @ weights) - 2.0 * float(F.mean[units] @ weights)
    return VALUE_MARGIN * (value + error) - inner


def with_constant(F: RowsMMD, constant: float) -> RowsMMD:  # noqa: D103
    return RowsMMD(F.space, F.rows, F.similarity, F.mean, constant, F.labels, F.memory)


def _plain_constant(sample: Sample, similarity: Similarity, memory: int) -> float:
    """tᵀKt for an inner product: the squared length of the mean, of each class."""
    codes = np.zeros(len(sample.weights), np.int64) if sample.labels is None else sample.labels
    parts = (np.flatnonzero(codes == code) for code in np.unique(codes))
    means = [
        plain_middle(some_rows(sample.rows, part), sample.weights[part], similarity, memory)
        for part in parts
    ]
    return float(sum(np.square(mean).sum() for mean in means))


def waves_of(
    sample: Sample, F: RowsMMD, plan: Plan, rng: np.random.Generator, deadline: Deadline
) -> Waves:
    """Frequencies and the mean of exp(i ωᵀx) over the target, or over as many of its rows as work and time allow."""
    frequencies = SPECTRA[F.similarity.name](
        F.similarity.gamma, plan.frequencies, sample.rows.shape[1], rng
    )
    data = drawn(sample, plan.felt, rng) if plan.limited else sample
    codes = np.zeros(len(data.weights), np.int64) if data.labels is None else data.labels
    classes = 1 if sample.classes is None else len(sample.classes)
    centre = centre_of(F.rows)
    until = deadline.share(STAGE_TIME_SHARE)
    sums, squares, used = wave_sums(
        data.rows, data.weights, codes, classes, frequencies, centre, F.memory, until
    )
    mass = 1.0 if used == plan.m else float(data.weights[:used].sum())
    means, squares = sums / mass, squares / mass**2
    variance = (squares[:, None] - np.abs(means) ** 2 * squares.sum()).sum(axis=0) * (
        1.0 - used / plan.m
    )
    return Waves(frequencies, means, np.maximum(variance, 0.0), centre)
