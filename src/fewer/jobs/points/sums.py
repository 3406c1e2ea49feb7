"""Sums over very many rows: how similar they are to candidates, and their random Fourier features."""

import math
from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._compiled.narrow_sums import rbf_sums, turn_sums
from ..._validation import Indices, Vector
from ...deadline import Deadline
from ...distances import centre_of
from ...objectives.pairs import spans, spread, tile_entries
from ...objectives.rows_mmd import RowsMMD, precision
from ...similarity import Similarity
from ...threads import threads

CHUNK_ROWS, NARROW_CHUNK_ROWS = 512, 4096
"""Rows that are compared at once, at most, and in float32; sums are taken over so many, in order.
"""
TILES = 4
"""Ordinary tiles that a chunk of rows beside all candidates may take."""
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
) -> Vector | None:
    """Draw frequencies (count, columns) of random features; None where the similarity has none."""
    if similarity.name not in SPECTRA:
        return None
    drawn = SPECTRA[similarity.name](similarity.gamma, count, columns, rng)
    return np.asarray(drawn, np.float32).astype(np.float64)


MIN_CHUNK_ROWS = 64
"""Rows that are compared at a time, at least."""


@dataclass(frozen=True, eq=False)
class RowSums:
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
        return cls(*(reduce(add, (getattr(part, f.name) for part in parts)) for f in fields(cls)))


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
        self.rows, self.labels, self.classes = rows, labels, classes
        self.similarity, self.frequencies = similarity, frequencies
        self.centre = centre_of(rows)
        self.dtype = precision(rows, others)
        self.narrow: NarrowRows | None = None
        if self.dtype == np.float32 and resolves_in_float32(similarity, rows, self.centre):
            self.narrow = NarrowRows(self)
        if not similarity.plain:
            self.left = similarity.left(rows, self.centre, self.dtype)

    def sums(
        self,
        rows: Any,
        weights: Vector,
        labels: Indices | None,
        memory: int = 2**30,
        until: Deadline | None = None,
    ) -> RowSums:
        """Sum over rows (n, d); past a deadline over the first ones of them."""
        high = NARROW_CHUNK_ROWS
        if self.narrow is None:
            fitting = TILES * tile_entries(memory) // self.rows.shape[0]
            high = max(MIN_CHUNK_ROWS, min(CHUNK_ROWS, fitting))
        codes = np.zeros(len(weights), np.int64) if labels is None else labels

        def work(part: slice) -> RowSums:
            return self._chunk(rows[part], weights[part], codes[part])

        parts = [slice(a, a + high) for a in range(0, len(weights), high)]
        together = 2 * threads()
        total = self._chunk(rows[:0], weights[:0], codes[:0])
        for start in range(0, len(parts), together):
            total = RowSums.merged([total, *spread(work, parts[start : start + together])])
            if until is not None and until.passed:
                break
        return total

    def _chunk(self, rows: Any, weights: Vector, codes: Indices) -> RowSums:
        """Sum over some rows, all of them at once."""
        (m, d), D = self.rows.shape, 0 if self.frequencies is None else len(self.frequencies)
        similarities, features = np.zeros(m), np.zeros((self.classes, D), complex)
        middles = np.zeros((self.classes, d if self.similarity.plain else 0))
        near = None if self.narrow is None else self.narrow.near(rows)
        if not len(weights):
            pass  # sums over nothing
        elif self.similarity.plain:
            prepared = self.similarity.left(rows, dtype=np.float64)
            shares = class_weights(weights, codes, self.classes)
            middles = np.asarray(shares @ prepared).reshape(self.classes, d)
        elif self.narrow is not None and near is not None:
            similarities, features = self.narrow.sums(near, weights, codes)
        else:
            right = self.similarity.right(rows, self.centre, self.dtype)
            tile = self.similarity.between(self.left, right)
            if self.labels is not None:
                tile *= self.labels[:, None] == codes
            similarities = (tile @ weights.astype(tile.dtype)).astype(np.float64)
            if self.frequencies is not None:
                features = feature_sums(
                    rows, weights, codes, self.classes, self.frequencies, self.centre
                )
        squares = np.bincount(codes, weights**2, self.classes).astype(np.float64)
        total = float(weights.sum())
        return RowSums(similarities, features, middles, squares, total, len(weights))

    def means(self, sums: RowSums) -> Vector:
        """Return the mean similarity of each candidate to the rows of its class that were summed, (m,)."""
        if not self.similarity.plain:
            return sums.similarities / sums.total
        own = np.zeros(self.rows.shape[0], np.int64) if self.labels is None else self.labels
        products = self.similarity.left(self.rows, dtype=np.float64) @ sums.middles.T
        return np.asarray(products)[np.arange(len(own)), own] / sums.total


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
    dtype: Any = np.float32,
) -> Complex:
    """Compute Σ w exp(iωᵀ(x - centre)) over each class, (classes, D), in float32 where phases are small enough."""
    block = rows if centre is None else rows - centre
    size = float(np.abs(block.data if sp.issparse(block) else block).max(initial=0.0))
    small = float(np.quantile(np.abs(frequencies), 0.99)) * size < MAX_FLOAT32_PHASE
    narrow: Any = dtype if small else np.float64
    phase = np.asarray(block.astype(narrow) @ frequencies.T.astype(narrow))
    shares = class_weights(weights.astype(narrow), codes, classes)
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
        if candidates.frequencies is None:
            return None
        means, squares = sums.features / sums.total, sums.squares / sums.total**2
        spread_ = squares[:, None] - np.abs(means) ** 2 * squares.sum()
        variance = spread_.sum(axis=0) * (1.0 - sums.rows / size)
        return cls(candidates.frequencies, means, np.maximum(variance, 0.0), candidates.centre)

    def estimate(self, F: RowsMMD, units: Indices, weights: Vector) -> tuple[float, float]:
        """Estimate MMD² of weights on candidates by the mean of |E_q exp(iωᵀx) - E_t exp(iωᵀx)|², and its error.

        Where the means come from a sample of the target, their variance is subtracted and counted
        as an error.
        """
        codes = np.zeros(len(units), np.int64) if F.labels is None else F.labels[units]
        own = np.zeros_like(self.means)
        for part in spans(len(units), CHUNK_ROWS):
            own += feature_sums(
                F.rows[units[part]],
                weights[part],
                codes[part],
                len(own),
                self.frequencies,
                self.centre,
                np.float64,
            )
        squared = (np.abs(own - self.means) ** 2).sum(axis=0)
        extra = float(self.variance.mean())
        value = max(float(squared.mean()) - extra, 0.0)
        error = float(squared.std() / math.sqrt(len(squared)))
        return value, error + extra + 2.0 * math.sqrt(value * extra)


def resolves_in_float32(similarity: Similarity, rows: Any, centre: Any) -> bool:
    """Whether compiled loops in float32 serve these candidates: rbf, and dense rows of few columns near the centre."""
    if similarity.name != "rbf" or centre is None or rows.shape[1] > MAX_NARROW_COLUMNS:
        return False
    lengths = np.square(rows - centre).sum(axis=1)
    return float(lengths.max(initial=0.0)) * float(similarity.gamma or 0.0) <= MAX_NARROW_LENGTH


class NarrowRows:
    """Candidates and frequencies in float32, by class, for the compiled loops."""

    def __init__(self, candidates: CandidateRows) -> None:
        self.centre, self.gamma = candidates.centre, float(candidates.similarity.gamma or 0.0)
        m, d = candidates.rows.shape
        labels = np.zeros(m, np.int64) if candidates.labels is None else candidates.labels
        near = np.asarray(candidates.rows - self.centre, np.float32)
        self.count = m
        self.members = [np.flatnonzero(labels == c) for c in range(candidates.classes)]
        self.points = [np.ascontiguousarray(near[mine].T) for mine in self.members]
        turns = np.zeros((0, d)) if candidates.frequencies is None else candidates.frequencies
        self.turns = np.ascontiguousarray((turns / (2.0 * math.pi)).T.astype(np.float32))

    def near(self, rows: Any) -> Any:
        """Return rows less the centre in float32; None where some are too far away for that."""
        off = rows - self.centre
        lengths = np.einsum("ij,ij->i", off, off)
        resolved = self.gamma * float(lengths.max(initial=0.0)) <= MAX_NARROW_LENGTH
        return off.astype(np.float32) if resolved else None

    def sums(self, near: Any, weights: Vector, codes: Indices) -> tuple[Vector, Complex]:
        """Compute Σ w s(candidate, row) (m,), and Σ w exp(iωᵀx) of each class (classes, D)."""
        sums = np.zeros(self.count)
        features = np.zeros((len(self.members), self.turns.shape[1]), complex)
        narrow = weights.astype(np.float32)
        for c, members in enumerate(self.members):
            mine = np.flatnonzero(codes == c) if len(self.members) > 1 else slice(None)
            rows, w = near[mine], narrow[mine]
            own = np.zeros(len(members))
            rbf_sums(self.points[c], rows, w, np.float32(self.gamma), own)
            sums[members] = own
            real, imaginary = np.zeros((2, features.shape[1]))
            turn_sums(self.turns, rows, w, real, imaginary)
            features[c] = real + 1j * imaginary
        return sums, features
