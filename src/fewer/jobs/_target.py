"""The discrepancy from a whole data set, all pairs of it compared, or as much as the work allows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..door import Indices, InvalidInput, Vector
from ..objectives._pairs import centre_of, cut, spans, spread
from ..objectives.rows_mmd import RowsMMD, mean_to
from ..similarity import Similarity
from ..spaces import Atoms
from ._sample import Sample

ALL = 10**11
"""Work (pairs times columns plus 20) up to which all pairs of rows are compared."""
SOME = 2 * 10**11
"""Work for the mean similarities of candidates beyond that."""
MOST = 3 * 10**12
"""Work at which the target itself is sampled."""
FEW, MANY = 2000, 10000
"""Candidates, at least (or 4 k) and at most."""
WAVES = 10**9
"""Rows times frequencies of the random features by which values are estimated."""
WAVE = 50
"""The work of one row and frequency."""
PACE = 4 * 10**9
"""Work for each second of a time limit that comparisons may take."""
CAREFUL = 1.25
"""The first estimate of a value is raised by this, so that no later value falls below zero."""

Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Target:
    """The objective over candidate rows, which rows of the sample they are, and what is estimated in it.

    `waves` are frequencies (D, d) with the features' means of the target (classes, D), or None where F is exact.
    """

    F: RowsMMD
    candidates: Indices
    waves: tuple[Any, Complex] | None = None
    note: str = ""
    error: float = 0.0

    def judged(self, units: Indices, weights: Vector) -> tuple[float, float]:
        """The value of weights on candidates and its standard error: exact, or by random features."""
        if self.waves is None:
            return self.F.value_at(units, weights), self.error
        return estimate(self.F, self.waves, units, weights)


def target_of(
    sample: Sample, similarity: Similarity, k: int, memory: int, rng: np.random.Generator, limit: float | None = None
) -> Target:
    """The target of a sample: exact where all pairs can be compared, else over candidates with estimated values.

    A time limit (seconds) makes both the sizes that are compared whole and the numbers of candidates smaller.
    """
    n, d = sample.rows.shape
    cost = d + 20
    labels = sample.labels
    work = math.inf if limit is None else PACE * limit
    small = n <= max(FEW, 4 * k) or n * n * cost <= min(ALL, work)  # as many candidates would be all rows
    few = small or similarity.plain or similarity.name == "precomputed"
    if few and 8 * k * n <= memory:
        F = RowsMMD.between(sample.rows, sample.weights, similarity, labels=labels, memory=memory)
        return Target(F, np.arange(n))
    count = int(min(n, MANY, max(min(SOME, work) // (n * cost), FEW, 4 * k), memory // (16 * k)))
    if count < k:
        raise InvalidInput(f"max_memory must hold k = {k} columns of at least {k} similarities, got {memory} bytes")
    chosen = np.sort(rng.choice(n, count, replace=False))
    if similarity.name not in SPECTRA and not similarity.plain:
        return _of_sample(sample, similarity, chosen, memory)
    return _of_candidates(sample, similarity, k, chosen, memory, rng, work)


def _of_sample(sample: Sample, similarity: Similarity, chosen: Indices, memory: int) -> Target:
    """The rows of a sample stand for all: the error is the discrepancy of the two, of expectation (s_ii - s̄) / m."""
    labels = None if sample.labels is None else sample.labels[chosen]
    weights = sample.weights[chosen] / sample.weights[chosen].sum()
    F = RowsMMD.between(sample.rows[chosen], weights, similarity, labels=labels, memory=memory)
    error = max(float(weights @ F.diagonal) - F.constant, 0.0) / len(chosen)
    note = f"{len(chosen)} of {len(sample.weights)} rows, drawn at random, stand for all: their own MMD² is {error:.2g}"
    return Target(F, chosen, note=note, error=error)


def _of_candidates(
    sample: Sample,
    similarity: Similarity,
    k: int,
    chosen: Indices,
    memory: int,
    rng: np.random.Generator,
    work: float,
) -> Target:
    """Candidates drawn at random, each compared with all rows (or with a sample of them)."""
    rows, n = sample.rows[chosen], len(sample.weights)
    against = int(min(n, max(min(MOST, work) // (len(chosen) * (rows.shape[1] + 20)), FEW)))
    data = np.arange(n) if against >= n or similarity.plain else np.sort(rng.choice(n, against, replace=False))
    weights = sample.weights[data] / sample.weights[data].sum()
    both = None if sample.labels is None else (sample.labels[chosen], sample.labels[data])
    others = sample.rows if len(data) == n else sample.rows[data]
    mean = mean_to(rows, others, weights, similarity, both, memory)
    own = None if both is None else both[0]
    F = RowsMMD(Atoms(len(chosen)), rows, similarity, mean, 0.0, own, memory)
    sampled = f", compared with {len(data)} of {n} rows" if len(data) < n else f", each compared with all {n}"
    note = f"{len(chosen)} candidate rows, drawn at random{sampled}"
    if similarity.plain:
        return Target(_with_constant(F, _plain_constant(sample, similarity)), chosen, note=note)
    waves = waves_of(sample, F, min(WAVES, work / WAVE), rng)
    units = np.sort(rng.choice(len(chosen), k, replace=False))
    start = F.best_on(units)[units]
    value, _ = estimate(F, waves, units, start)
    constant = CAREFUL * value - float(start @ F.cross(units, units) @ start) + 2.0 * float(mean[units] @ start)
    note += f"; the value is an estimate by {len(waves[0])} random Fourier features"
    return Target(_with_constant(F, constant), chosen, waves, note)


def _with_constant(F: RowsMMD, constant: float) -> RowsMMD:
    return RowsMMD(F.space, F.rows, F.similarity, F.mean, constant, F.labels, F.memory)


def _plain_constant(sample: Sample, similarity: Similarity) -> float:
    """tᵀKt for an inner product: the squared length of the mean, of each class."""
    codes = np.zeros(len(sample.weights), np.int64) if sample.labels is None else sample.labels
    prepared = similarity.left(sample.rows)
    means = [prepared[codes == code].T @ sample.weights[codes == code] for code in np.unique(codes)]
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


def waves_of(sample: Sample, F: RowsMMD, most: float, rng: np.random.Generator) -> tuple[Any, Complex]:
    """Frequencies (D, d) and the mean of exp(i ωᵀx) over the target, for each class: (classes, D)."""
    n, d = sample.rows.shape
    D = int(np.clip(most // n, 256, 2048))
    frequencies = SPECTRA[F.similarity.name](F.similarity.gamma, D, d, rng)
    codes = np.zeros(n, np.int64) if sample.labels is None else sample.labels
    means = [
        mean_wave(sample.rows, sample.weights * (codes == code), frequencies, F, np.float32)
        for code in np.unique(codes)
    ]
    return frequencies, np.array(means)


def mean_wave(rows: Any, weights: Vector, frequencies: Vector, F: RowsMMD, dtype: Any) -> Complex:
    """Σ_j weights_j exp(i ωᵀx_j) for each frequency, (D,)."""
    narrow = frequencies.T.astype(dtype)
    centre = None if sp.issparse(rows) else centre_of(F.rows, F.similarity)

    def work(part: slice) -> Complex:
        here = np.flatnonzero(weights[part]) + part.start
        phase = np.asarray(cut(rows, here, centre, dtype) @ narrow)
        w = weights[here].astype(dtype)
        return np.asarray(w @ np.cos(phase) + 1j * (w @ np.sin(phase)), np.complex128)

    return np.asarray(sum(spread(work, spans(rows.shape[0], max(1, 2**20 // len(frequencies))))), np.complex128)


def estimate(F: RowsMMD, waves: tuple[Any, Complex], units: Indices, weights: Vector) -> tuple[float, float]:
    """MMD² of weights on candidates as the mean of |E_q exp(iωᵀx) - E_t exp(iωᵀx)|², and its standard error."""
    frequencies, means = waves
    codes = np.zeros(len(units), np.int64) if F.labels is None else F.labels[units]
    classes = np.zeros(1, np.int64) if F.labels is None else np.arange(len(means))
    own = [mean_wave(F.rows[units], weights * (codes == code), frequencies, F, np.float64) for code in classes]
    squared = (np.abs(np.array(own) - means) ** 2).sum(axis=0)
    return float(squared.mean()), float(squared.std() / math.sqrt(len(squared)))
