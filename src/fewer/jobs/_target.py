"""The discrepancy from a whole data set, all pairs of it compared, or as much as the work allows."""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, Vector
from ..deadline import CompilationTimeout, Deadline
from ..distances import centre_of
from ..lazy_rows import in_memory, some_rows
from ..objectives.pairs import OutOfTime, image_until, spans, spread, threads, tile_rows
from ..objectives.rows_mmd import RowsMMD, mean_to, plain_middle
from ..similarity import Similarity
from ..spaces import Atoms
from ._merge import merged
from .sample import Sample

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
MAX_FLOAT32_PHASE = 1e3
"""The largest phase of a random feature that is computed in float32, in radians."""
VALUE_MARGIN = 1.25
"""The first estimate of a value is raised by this factor, so that no later value falls below zero."""

Complex = npt.NDArray[np.complex128]


class Waves(NamedTuple):
    """Frequencies (D, d), the features' means of the target (classes, D), and the variance of these, (D,).

    `centre` (d,) is what is subtracted from all rows first, None where that is nothing.
    """

    frequencies: Any
    means: Complex
    variance: Vector
    centre: Any


@dataclass(frozen=True, eq=False)
class Target:
    """The objective over candidate rows, which rows of the sample they are, and what is estimated in it.

    `waves` is None where F is exact. `whole` says whether the candidates are all rows: only then is a bound one over
    all of them.
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
    """How much may be compared: it depends on the size of the data, k, the memory and the time limit alone."""

    n: int
    cost: int
    k: int
    memory: int
    limit: float

    @classmethod
    def of(cls, sample: Sample, k: int, memory: int, limit: float) -> "Plan":
        """For all rows of a sample, k of which are chosen within `limit` seconds."""
        n, d = sample.rows.shape
        return cls(n, d + 20, k, memory, limit)

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
        few = self.n <= max(MIN_CANDIDATES, 4 * self.k) and not self.limited  # as many candidates would be all rows
        return few or self.n**2 * self.cost <= min(
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
            min(MAX_CANDIDATE_WORK, self.work) // (self.n * self.cost),
            least,
            min(4 * self.k, self.work / self.cost / self.k),
        )
        return int(min(self.n, MAX_CANDIDATES, most, self.memory // (16 * self.k)))

    @property
    def against(self) -> int:
        """The number of rows that they are compared with."""
        return int(min(self.n, max(min(MAX_TARGET_WORK, self.work) // (self.count * self.cost), MIN_SAMPLED)))

    @property
    def frequencies(self) -> int:
        """The number of random features."""
        least = MIN_SAMPLED if self.limit < 0.5 else 2 * MIN_SAMPLED
        return int(np.clip(min(MAX_FEATURE_CELLS, self.work / WORK_PER_FEATURE_CELL) // self.n, least, 2048))

    @property
    def felt(self) -> int:
        """The number of rows from which their means are taken."""
        return (
            int(np.clip(self.work / WORK_PER_FEATURE_CELL // self.frequencies, MIN_SAMPLED, self.n))
            if self.limited
            else self.n
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
) -> Target:
    """The target of a sample: exact where all pairs can be compared, else over candidates with estimated values.

    Under a time limit both the sizes that are compared whole and the numbers of candidates are smaller, and each
    stage ends after a share of it.
    """
    plan = Plan.of(sample, k, memory, deadline.seconds)
    cheap = not plan.limited and (similarity.plain or similarity.name == "precomputed")
    if (plan.whole or cheap) and plan.fits:
        rows = in_memory(sample.rows, memory // 8)
        with suppress(OutOfTime):
            until = deadline.share(PAIRWISE_TIME_SHARE) if plan.n**2 * plan.cost > MIN_PAIRWISE_WORK else None
            F = RowsMMD.between(rows, sample.weights, similarity, labels=sample.labels, memory=memory, deadline=until)
            return Target(F, np.arange(plan.n), whole=True)
    if plan.count < k:
        raise InvalidInput(f"max_memory must hold k = {k} columns of at least {k} similarities, got {memory} bytes")
    stands = similarity.name not in SPECTRA and not similarity.plain  # then candidates stand for all rows
    pool = np.arange(plan.n) if stands or choice.allowed is None else choice.allowed
    some = rng.choice(len(pool), min(plan.count, len(pool)), replace=False)
    chosen = _distinct(sample, np.union1d(pool[some], choice.always))
    if stands:
        return _of_sample(sample, similarity, chosen, memory, deadline)
    return _of_candidates(sample, similarity, plan, chosen, rng, deadline)


def _distinct(sample: Sample, chosen: Indices) -> Indices:
    """Of rows drawn at random those that are not equal, in order."""
    if sample.note == "":  # equal rows are merged already
        return chosen
    kinds = None if sample.kinds is None else sample.kinds[chosen]
    first, _ = merged(sample.rows[chosen], kinds, np.ones(len(chosen)))
    return chosen if first is None else np.sort(chosen[first])


def _of_sample(sample: Sample, similarity: Similarity, chosen: Indices, memory: int, deadline: Deadline) -> Target:
    """The rows of a sample stand for all: the error is the discrepancy of the two, of expectation (s_ii - s̄) / m."""
    own = sample.take(chosen)
    rows, weights = sample.rows[chosen], own.weights / own.weights.sum()
    if deadline.limited:
        order = np.random.default_rng(0).permutation(len(chosen))
        labels = None if own.labels is None else (own.labels, own.labels[order])
        until = deadline.share(STAGE_TIME_SHARE)
        mean, _ = image_until(rows, rows[order], weights[order], similarity, labels, memory, until)
        F = RowsMMD(Atoms(len(chosen)), rows, similarity, mean, float(weights @ mean), own.labels, memory)
    else:
        F = RowsMMD.between(rows, weights, similarity, labels=own.labels, memory=memory)
    error = max(float(weights @ F.diagonal) - F.constant, 0.0) / len(chosen)
    note = f"{len(chosen)} of {len(sample.weights)} rows, drawn at random, stand for all: their own MMD² is {error:.2g}"
    return Target(F, chosen, note=note, error=error)


def _of_candidates(
    sample: Sample, similarity: Similarity, plan: Plan, chosen: Indices, rng: np.random.Generator, deadline: Deadline
) -> Target:
    """Candidates drawn at random, each compared with all rows, or with as many as the work and a deadline allow."""
    rows, own = sample.rows[chosen], None if sample.labels is None else sample.labels[chosen]
    mean, used = target_means(sample, rows, own, similarity, plan, rng, deadline)
    F = RowsMMD(Atoms(len(chosen)), rows, similarity, mean, 0.0, own, plan.memory)
    sampled = f", each compared with all {plan.n}" if used == plan.n else f", compared with {used} of {plan.n} rows"
    note = f"{len(chosen)} candidate rows, drawn at random{sampled}"
    if similarity.plain:
        return Target(with_constant(F, _plain_constant(sample, similarity, plan.memory)), chosen, note=note)
    waves = waves_of(sample, F, plan, rng, deadline)
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
    whole = similarity.plain or (plan.against >= plan.n and not plan.limited)
    data = sample if whole else drawn(sample, plan.against, rng)
    weights = data.weights if whole else data.weights / data.weights.sum()
    both = None if own is None or data.labels is None else (own, data.labels)
    if not plan.limited or similarity.plain:
        return mean_to(rows, data.rows, weights, similarity, both, plan.memory), len(data.weights)
    return image_until(rows, data.rows, weights, similarity, both, plan.memory, deadline.share(STAGE_TIME_SHARE))


def first_constant(F: RowsMMD, waves: Waves, k: int, rng: np.random.Generator) -> float:
    """The constant by which a first answer, k rows at random at their best, gets a little more than its value."""
    units = np.sort(rng.choice(F.space.size, min(k, F.space.size, MAX_FIRST_ROWS), replace=False))
    try:
        weights = F.best_on(units)[units]
    except CompilationTimeout:
        weights = np.full(len(units), 1.0 / len(units))
    value, error = estimate(F, waves, units, weights)
    inner = float(weights @ F.cross(units, units) @ weights) - 2.0 * float(F.mean[units] @ weights)
    return VALUE_MARGIN * (value + error) - inner


def with_constant(F: RowsMMD, constant: float) -> RowsMMD:
    return RowsMMD(F.space, F.rows, F.similarity, F.mean, constant, F.labels, F.memory)


def _plain_constant(sample: Sample, similarity: Similarity, memory: int) -> float:
    """tᵀKt for an inner product: the squared length of the mean, of each class."""
    codes = np.zeros(len(sample.weights), np.int64) if sample.labels is None else sample.labels
    parts = (np.flatnonzero(codes == code) for code in np.unique(codes))
    means = [plain_middle(some_rows(sample.rows, part), sample.weights[part], similarity, memory) for part in parts]
    return float(sum(np.square(mean).sum() for mean in means))


def _student(freedom: int, D: int, d: int, rng: np.random.Generator) -> Vector:
    normal = rng.standard_normal((D, d))
    return np.asarray(normal / np.sqrt(rng.chisquare(freedom, D) / freedom)[:, None])


SPECTRA = {
    "rbf": lambda gamma, D, d, rng: math.sqrt(2.0 * gamma) * rng.standard_normal((D, d)),
    "laplace": lambda gamma, D, d, rng: gamma * rng.standard_cauchy((D, d)),
    "matern32": lambda gamma, D, d, rng: gamma * _student(3, D, d, rng),
    "matern52": lambda gamma, D, d, rng: gamma * _student(5, D, d, rng),
}
"""Draws of D frequencies in d dimensions from the Fourier transform of a similarity (Rahimi & Recht 2007)."""


def waves_of(sample: Sample, F: RowsMMD, plan: Plan, rng: np.random.Generator, deadline: Deadline) -> Waves:
    """Frequencies and the mean of exp(i ωᵀx) over the target, or over as many of its rows as work and time allow."""
    frequencies = SPECTRA[F.similarity.name](F.similarity.gamma, plan.frequencies, sample.rows.shape[1], rng)
    data = drawn(sample, plan.felt, rng) if plan.limited else sample
    codes = np.zeros(len(data.weights), np.int64) if data.labels is None else data.labels
    classes = 1 if sample.classes is None else len(sample.classes)
    centre = centre_of(F.rows)
    until = deadline.share(STAGE_TIME_SHARE)
    sums, squares, used = wave_sums(data.rows, data.weights, codes, classes, frequencies, centre, F.memory, until)
    mass = 1.0 if used == plan.n else float(data.weights[:used].sum())
    means, squares = sums / mass, squares / mass**2
    variance = (squares[:, None] - np.abs(means) ** 2 * squares.sum()).sum(axis=0) * (1.0 - used / plan.n)
    return Waves(frequencies, means, np.maximum(variance, 0.0), centre)


def wave_sums(
    rows: Any,
    weights: Vector,
    codes: Indices,
    classes: int,
    frequencies: Vector,
    centre: Any,
    memory: int,
    deadline: Deadline | None = None,
    dtype: Any = np.float32,
) -> tuple[Complex, Vector, int]:
    """Σ_j weights_j exp(i ωᵀx_j) over each class, (classes, D), Σ_j weights_j² of each, and over how many rows.

    These are the first ones, as many as the deadline allows.
    """
    size = float(np.quantile(np.abs(frequencies), 0.99))
    high = min(max(1, 2**20 // len(frequencies)), tile_rows(rows.shape[1] + len(frequencies), memory))
    parts = spans(rows.shape[0], high)

    def work(part: slice) -> Complex:
        block = rows[part] if centre is None else rows[part] - centre
        near = size * float(np.abs(block.data if centre is None else block).max(initial=0.0)) < MAX_FLOAT32_PHASE
        narrow = dtype if near else np.float64
        phase = np.asarray(block.astype(narrow) @ frequencies.T.astype(narrow))
        w, own = weights[part].astype(narrow), codes[part]
        shares = w[None] if classes == 1 else sp.csr_array((w, (own, np.arange(len(w)))), (classes, len(w)))
        return np.asarray(shares @ np.cos(phase) + 1j * (shares @ np.sin(phase)), np.complex128)

    sums, used = np.zeros((classes, len(frequencies)), np.complex128), 0
    for some in (parts[a : a + 2 * threads()] for a in range(0, len(parts), 2 * threads())):
        sums += sum(spread(work, some))
        used = some[-1].stop
        if deadline is not None and deadline.passed:
            break
    return sums, np.bincount(codes[:used], weights[:used] ** 2, classes).astype(np.float64), used


def estimate(F: RowsMMD, waves: Waves, units: Indices, weights: Vector) -> tuple[float, float]:
    """MMD² of weights on candidates as the mean of |E_q exp(iωᵀx) - E_t exp(iωᵀx)|², and its standard error.

    Where the means of the target come from a sample of it, their variance is subtracted and counted as an error.
    """
    codes = np.zeros(len(units), np.int64) if F.labels is None else F.labels[units]
    how = (waves.frequencies, waves.centre, F.memory)
    own, _, _ = wave_sums(F.rows[units], weights, codes, len(waves.means), *how, dtype=np.float64)
    squared = (np.abs(own - waves.means) ** 2).sum(axis=0)
    extra = float(waves.variance.mean())
    value = max(float(squared.mean()) - extra, 0.0)
    error = float(squared.std() / math.sqrt(len(squared)))
    return value, error + extra + 2.0 * math.sqrt(value * extra)
