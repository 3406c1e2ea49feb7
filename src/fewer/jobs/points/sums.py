"""Sums over very many rows: how similar they are to candidates, and their random Fourier features."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._compiled.narrow_sums import rbf_sums, turn_sums
from ..._validation import Indices, Vector
from ...deadline import Deadline
from ...distances import centre_of, squared_lengths
from ...objectives.mmd import AT_ONCE, RowsMMD, precision, spans, spread
from ...similarity import Similarity

MIN_CHUNK_ROWS, CHUNK_ROWS, NARROW_CHUNK_ROWS = 64, 512, 4096
"""Rows that are compared at once, at least and at most, and at most in compiled loops; sums are taken
over so many, in order."""
CHUNK_ENTRIES = 2**21
"""Similarities of a chunk to all candidates, at most."""
MAX_FLOAT32_PHASE = 1e3
"""The largest phase of a random feature that is computed in float32, in radians."""
MAX_NARROW_COLUMNS = 16
"""Columns up to which compiled loops are quicker than a product of matrices (`benchmarks/scale.py
--part block`)."""
MAX_NARROW_LENGTH = 1e3
"""The largest squared length of rows, in bandwidths: differences of float32 then give similarities
to about 1e-5."""

Complex = npt.NDArray[np.complex128]


def _student(freedom: int, D: int, d: int, rng: np.random.Generator) -> Vector:
    normal = rng.standard_normal((D, d))
    return np.asarray(normal / np.sqrt(rng.chisquare(freedom, D) / freedom)[:, None])


SPECTRA = {
    "rbf": lambda gamma, D, d, rng: math.sqrt(2.0 * gamma) * rng.standard_normal((D, d)),
    "laplace": lambda gamma, D, d, rng: gamma * rng.standard_cauchy((D, d)),
    "matern32": lambda gamma, D, d, rng: gamma * _student(3, D, d, rng),
    "matern52": lambda gamma, D, d, rng: gamma * _student(5, D, d, rng),
}
"""Draws of D frequencies in d dimensions from the Fourier transform of a similarity (Rahimi & Recht
2007)."""


def frequencies_of(
    similarity: Similarity, count: int, columns: int, rng: np.random.Generator
) -> Vector:
    """Draw frequencies (count, columns) of random features; none where the similarity has none."""
    if similarity.name not in SPECTRA:
        return np.zeros((0, columns))
    draws = SPECTRA[similarity.name](similarity.gamma, count, columns, rng)
    return np.asarray(draws, np.float32).astype(np.float64)


class RowSums(NamedTuple):
    """Sums over rows x of weights w, and the number of these rows.

    `similarities` (m,) are Σ w s(candidate, x) over the rows of the candidate's class, `features`
    (classes, D) are Σ w exp(iωᵀx), and `middles` (classes, d) are Σ w x for inner products, which
    need no more. `squares` (classes,) are Σ w².
    """

    similarities: Vector
    features: Complex
    middles: Vector
    squares: Vector
    total: float
    rows: int

    @classmethod
    def merged(cls, parts: "list[RowSums]") -> "RowSums":
        """Add up the sums in order."""
        return cls(*map(sum, zip(*parts, strict=True)))  # type: ignore[arg-type]


class CandidateRows:
    """Candidates (m, d), ready to be compared with about `others` rows of so many classes.

    Beyond 4e8 pairs similarities are float32 and only their sums float64: by compiled loops for rbf
    and few columns, by products of matrices else.
    """

    def __init__(
        self,
        rows: Any,
        labels: Indices | None,
        classes: int,
        similarity: Similarity,
        others: int,
        frequencies: Vector | None = None,
    ) -> None:
        m, d = rows.shape
        self.rows, self.similarity = rows, similarity
        self.labels, self.classes = np.zeros(m, np.int64) if labels is None else labels, classes
        self.frequencies = np.zeros((0, d)) if frequencies is None else frequencies
        self.centre, self.dtype = centre_of(rows), precision(rows, others)
        self.near: Any = None
        serves = similarity.name == "rbf" and self.dtype == np.float32
        if serves and self.centre is not None and d <= MAX_NARROW_COLUMNS:
            self.near = self.narrow(rows)
        if not similarity.plain:
            self.left = similarity.left(rows, self.centre, self.dtype)

    def narrow(self, rows: Any) -> Any:
        """Return rows less the centre in float32; None where some are too far away for that."""
        off = rows - self.centre
        reach = float(self.similarity.gamma or 0.0) * squared_lengths(off).max(initial=0.0)
        return off.astype(np.float32) if reach <= MAX_NARROW_LENGTH else None

    def sums(
        self,
        rows: Any,
        weights: Vector,
        labels: Indices | None,
        memory: int = 2**30,
        until: Deadline | None = None,
    ) -> RowSums:
        """Sum over rows (n, d); past a deadline over the first ones of them."""
        m, d = self.rows.shape
        fitting = min(CHUNK_ENTRIES, memory // 256) // m
        high = max(MIN_CHUNK_ROWS, min(CHUNK_ROWS, fitting))
        high = high if self.near is None else NARROW_CHUNK_ROWS
        codes = np.zeros(len(weights), np.int64) if labels is None else labels

        parts = [slice(a, a + high) for a in range(0, len(weights), high)]
        features = np.zeros((self.classes, len(self.frequencies)), complex)
        squares = np.zeros(self.classes)
        nothing = RowSums(np.zeros(m), features, np.zeros((self.classes, d)), squares, 0.0, 0)

        def work(first: int) -> RowSums:
            total = nothing
            for part in parts[first::AT_ONCE]:
                chunk = self._chunk(rows[part], weights[part], codes[part])
                total = RowSums.merged([total, chunk])
                if until is not None and until.passed:
                    break
            return total

        return RowSums.merged(spread(work, list(range(AT_ONCE))))

    def _chunk(self, rows: Any, weights: Vector, codes: Indices) -> RowSums:
        """Sum over some rows, all of them at once."""
        similarities, middles = np.zeros(len(self.labels)), np.zeros((self.classes, rows.shape[1]))
        features = np.zeros((self.classes, len(self.frequencies)), complex)
        near = None if self.near is None else self.narrow(rows)
        if self.similarity.plain:
            shares = class_weights(weights, codes, self.classes)
            middles = np.asarray(shares @ self.similarity.left(rows, dtype=np.float64))
        elif near is not None:
            for label in range(self.classes):
                own, mine = self.labels == label, codes == label
                masses = weights[mine].astype(np.float32)
                sums = self._narrow_sums(self.near[own], near[mine], masses)
                similarities[own], features[label] = sums
        else:
            right = self.similarity.right(rows, self.centre, self.dtype)
            tile = self.similarity.between(self.left, right)
            if self.classes > 1:
                tile *= self.labels[:, None] == codes
            similarities = (tile @ weights.astype(tile.dtype)).astype(np.float64)
            if len(self.frequencies):
                how = self.classes, self.frequencies, self.centre
                features = feature_sums(rows, weights, codes, *how, np.float32)
        squares = np.bincount(codes, weights**2, self.classes).astype(np.float64)
        total = float(weights.sum())
        return RowSums(similarities, features, middles, squares, total, len(weights))

    def _narrow_sums(self, points: Any, rows: Any, weights: Any) -> tuple[Vector, Complex]:
        """Compute Σ w s(point, row) and Σ w exp(iωᵀ row) over rows of one class by compiled loops."""
        similarities, (real, imaginary) = (
            np.zeros(len(points)),
            np.zeros((2, len(self.frequencies))),
        )
        gamma = np.float32(self.similarity.gamma or 0.0)
        rbf_sums(np.ascontiguousarray(points.T), rows, weights, gamma, similarities)
        turns = np.ascontiguousarray((self.frequencies / (2.0 * math.pi)).T.astype(np.float32))
        turn_sums(turns, rows, weights, real, imaginary)
        return similarities, real + 1j * imaginary

    def means(self, sums: RowSums) -> Vector:
        """Return the mean similarity of each candidate to the rows of its class that were summed, (m,)."""
        if not self.similarity.plain:
            return sums.similarities / sums.total
        products = self.similarity.left(self.rows, dtype=np.float64) @ sums.middles.T
        return np.asarray(products)[np.arange(len(self.labels)), self.labels] / sums.total


def class_weights(weights: Vector, codes: Indices, classes: int) -> Any:
    """Return weights of rows as a matrix (classes, n)."""
    if classes == 1:
        return weights[None]
    return sp.csr_array((weights, (codes, np.arange(len(weights)))), (classes, len(weights)))


def feature_sums(
    rows: Any,
    weights: Vector,
    codes: Indices,
    classes: int,
    frequencies: Vector,
    centre: Any,
    dtype: Any,
) -> Complex:
    """Compute Σ w exp(iωᵀ(x - centre)) over each class, (classes, D), in a dtype where phases are small enough."""
    block = rows if centre is None else rows - centre
    size = float(np.abs(block.data if sp.issparse(block) else block).max(initial=0.0))
    if float(np.quantile(np.abs(frequencies), 0.99)) * size >= MAX_FLOAT32_PHASE:
        dtype = np.float64
    phase = np.asarray(block.astype(dtype) @ frequencies.T.astype(dtype))
    shares = class_weights(weights.astype(dtype), codes, classes)
    return np.asarray(shares @ np.cos(phase) + 1j * (shares @ np.sin(phase)), np.complex128)


class RandomFeatures(NamedTuple):
    """Means of exp(iωᵀ(x - centre)) over a target: frequencies (D, d), means (classes, D), their variance (D,)."""

    frequencies: Vector
    means: Complex
    variance: Vector
    centre: Any

    @classmethod
    def of(cls, candidates: CandidateRows, sums: RowSums, size: int) -> "RandomFeatures | None":
        """Take the means over rows of a target of so many; None where there are no features."""
        if not len(candidates.frequencies):
            return None
        means, squares = sums.features / sums.total, sums.squares / sums.total**2
        variance = (squares[:, None] - np.abs(means) ** 2 * squares.sum()).sum(axis=0)
        variance = np.maximum(variance * (1.0 - sums.rows / size), 0.0)
        return cls(candidates.frequencies, means, variance, candidates.centre)

    def estimate(self, F: RowsMMD, units: Indices, weights: Vector) -> tuple[float, float]:
        """Estimate MMD² of weights on candidates by the mean of |E_q exp(iωᵀx) - E_t exp(iωᵀx)|², and its error.

        Where the means come from a sample of the target, their variance is subtracted and counted
        as an error.
        """
        codes = np.zeros(len(units), np.int64) if F.labels is None else F.labels[units]
        how = len(self.means), self.frequencies, self.centre, np.float64
        own = sum(
            feature_sums(F.rows[units[part]], weights[part], codes[part], *how)
            for part in spans(len(units), CHUNK_ROWS)
        )
        squared = (np.abs(own - self.means) ** 2).sum(axis=0)
        extra = float(self.variance.mean())
        value = max(float(squared.mean()) - extra, 0.0)
        error = float(squared.std() / math.sqrt(len(squared)))
        return value, error + extra + 2.0 * math.sqrt(value * extra)
