"""How rows are compared: columns standardized, by a similarity with its bandwidth."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._validation import Fix, Indices, InvalidInput, Vector, is_frame
from ...distances import MAX_RELATIVE_ERROR, Matrix, row_slices
from ...lazy_rows import LazyRows, in_memory
from ...objectives.mmd import RowsMMD
from ...rules import Rules
from ...search.pool import CandidatePool
from ...similarity import (
    BANDED,
    Similarity,
    fit_bandwidth,
    require_semidefinite,
    similarity_of,
)
from ...tables.schema import Encoding
from .options import PointsOptions
from .rows import Sample

STANDARDIZED = "columns were scaled to mean 0 and standard deviation 1 (standardize)"
MEANS_ONLY = {
    "cosine": (
        "cosine compares means of rows of length one only: clusters can be missed; rbf on such rows"
        " sees them"
    ),
    "linear": "linear compares the means of the rows only: clusters can be missed; rbf sees them",
}
"""What similarities that are inner products do not see."""
MAX_CHECKED_ROWS = 100
"""Rows on which a function of the user is asked whether it is a similarity."""
CHILD = 2**31
"""The key of the generator that a bandwidth is validated with."""
BANDWIDTH_FACTORS = (1.0, 0.5, 2.0, 0.25, 4.0, 8.0, 16.0)
"""What the median bandwidth is multiplied by, in this order while there is time; of equals the least."""
FOLDS = 3
TINY = 1e-300
MAX_ROWS, MIN_ROWS = 2400, 100
"""Rows from which a bandwidth is chosen, at most, and under any time limit."""
WORK_PER_SECOND = 4 * 10**7
"""Squared rows times columns for each second of a time limit."""
TIME_SHARE = 0.3
"""The share of what is left of a time limit that trying bandwidths may take."""
TIE = 4.0 * MAX_RELATIVE_ERROR
"""Scores that differ by a smaller share are equal: distances are not known better."""
BLOCK_ROWS = 2048
"""Rows that are scored at once."""
FLAT, ROUNDING = 1e-13, 1e-14
"""Means of two sets of rows differ by rounding alone below this share, and a sparse column is
constant whose variance is below this share of its mean square."""


def standardizes(X: Any, options: PointsOptions) -> bool:
    """Whether columns are scaled: as the user says, or for "auto" those of tables, but for codes and functions."""
    if options.standardize != "auto":
        return bool(options.standardize)
    name = options.similarity
    return is_frame(X) and isinstance(name, str) and name not in ("hamming", "precomputed")


class ColumnMoments(NamedTuple):
    """Weight, and of each column the mean and Σ w (x - mean)²: (p,) each."""

    total: float
    mean: Vector
    squares: Vector

    @classmethod
    def of(cls, numbers: Any, weights: Vector) -> "ColumnMoments":
        """Compute the moments of rows (n, p)."""
        total = float(weights.sum())
        if not sp.issparse(numbers):
            first = numbers[:1].astype(np.float64).sum(axis=0)  # zeros where there is no row
            off = numbers - first
            shift = np.asarray(weights @ off) / max(total, TINY)
            return cls(total, first + shift, np.asarray(weights @ (off - shift) ** 2))
        mean = np.asarray(weights @ numbers) / max(total, TINY)
        about_zero = weights @ numbers.astype(np.float64).power(2)
        squares = about_zero - total * mean**2
        return cls(total, mean, np.where(squares > ROUNDING * about_zero, squares, 0.0))

    @classmethod
    def merged(cls, parts: Sequence["ColumnMoments"]) -> "ColumnMoments":
        """Merge moments of several sets of rows (Chan, Golub and LeVeque's update)."""
        total = sum(part.total for part in parts)
        mean = np.add.reduce([part.total * part.mean for part in parts]) / max(total, TINY)
        gaps = [part.mean - mean for part in parts]
        gaps = [np.where(np.abs(gap) > FLAT * np.abs(mean), gap, 0.0) for gap in gaps]
        squares = [
            part.squares + part.total * gap**2 for part, gap in zip(parts, gaps, strict=True)
        ]
        return cls(total, mean, np.add.reduce(squares))


class Comparison(NamedTuple):
    """A similarity, by name or as it is, with its bandwidth, of rows z = (x - mean) / spread.

    `mean` and `spread` (d,) are None where rows are compared as they are encoded; sparse rows are
    not shifted. `gamma` is None where there is none.
    """

    kind: Any
    gamma: float | None = None
    mean: Vector | None = None
    spread: Vector | None = None
    encoding: Encoding | None = None

    @property
    def similarity(self) -> Similarity:
        """The similarity of scaled rows."""
        if isinstance(self.kind, Similarity):
            return self.kind
        return similarity_of(self.kind, 1.0 if self.gamma is None else self.gamma)

    @property
    def means_and_scales(self) -> tuple[Vector | None, Vector | None]:
        """What numbers were shifted and divided by, in the units of X; None where they were not."""
        if self.mean is None or self.spread is None or self.encoding is None:
            return self.mean, self.spread
        numbers, shift = self.encoding.numbers, self.encoding.shift
        return self.mean[:numbers] + (0.0 if shift is None else shift), self.spread[:numbers]

    def standardized(self, columns: ColumnMoments, spreads: bool = True) -> "Comparison":
        """Shift numbers to mean 0 and, with `spreads`, scale them to standard deviation 1; constants go to about 0."""
        p = len(columns.mean)
        width = p if self.encoding is None else self.encoding.width
        mean, spread = np.zeros(width), np.ones(width)
        mean[:p] = columns.mean
        if spreads:
            deviation = np.sqrt(columns.squares / max(columns.total, TINY))
            spread[:p] = np.where(deviation > 0, deviation, 1.0)
        return self._replace(mean=mean, spread=spread)

    def standardized_by(self, sample: Sample) -> "Comparison":
        """Standardize by the rows of a sample; a weight counts as so many rows."""
        rows = sample.rows
        p = rows.shape[1] if self.encoding is None else self.encoding.numbers
        parts = [
            ColumnMoments.of(rows[part][:, :p], sample.weights[part]) for part in row_slices(rows)
        ]
        return self.standardized(ColumnMoments.merged(parts))

    def rows(self, X: Any, dtype: Any = None) -> Any:
        """Encode and scale new rows."""
        if sp.issparse(X) and (self.encoding is not None or not self.similarity.sparse):
            raise InvalidInput(
                "X must be dense, as the rows were that the points were chosen from; got a sparse"
                " matrix"
            )
        rows = X if self.encoding is None else self.encoding(X)
        return self.scaled(rows if dtype is None else rows.astype(dtype))

    def scaled(self, rows: Any) -> Any:
        """Scale rows that are encoded."""
        return self.view(rows)[:]

    def view(self, rows: Any) -> LazyRows:
        """Scale rows that are encoded when they are asked for."""
        base = rows if isinstance(rows, LazyRows) else LazyRows(rows)
        if self.spread is None:
            return base
        return LazyRows(base.X, base.index, None if base.sparse else self.mean, 1.0 / self.spread)

    def unscaled(self, rows: Any, columns: Indices) -> Vector:
        """Return some columns of compared rows as they are encoded."""
        if self.mean is None or self.spread is None:
            return np.asarray(rows)
        return np.asarray(rows * self.spread[columns] + self.mean[columns])


def with_bandwidth(
    sample: Sample,
    comparison: Comparison,
    k: int,
    options: PointsOptions,
    rng: np.random.Generator,
    total: int | None = None,
) -> tuple[Sample, Comparison, str]:
    """Choose the bandwidth of rows that are scaled already, and say what is odd about them.

    `rng` is left as it is; `total` is how many rows k are chosen from where the sample is a part of
    them. Rows of an inner product without labels are centred, if they are dense: MMD² stays what it
    is, and inner products then round by the spread of the rows.
    """
    name, rows = comparison.kind, sample.rows
    rows = rows if isinstance(rows, LazyRows) else LazyRows(rows)
    if isinstance(name, Similarity):
        return sample, comparison, ""
    if callable(name):
        some = rows[np.arange(min(MAX_CHECKED_ROWS, rows.shape[0]))]
        require_semidefinite(comparison.similarity(some, some), "similarity's blocks f(X, X)")
    elif name == "linear" and rows.as_they_are and sample.labels is None and not rows.sparse:
        shift = sum(sample.weights[part] @ rows[part] for part in row_slices(rows))
        rows = replace(rows, shift=shift)
    if callable(name) or name not in BANDED:
        return replace(sample, rows=rows), comparison, ""
    if isinstance(options.gamma, str) and options.gamma == "cv":
        gamma, note = validated_bandwidth(sample, k, options, child_of(rng), total)
    else:
        gamma, note = fit_bandwidth(sample.rows, name, options.gamma, sample.weights)
    rows = in_memory(rows, options.max_memory // 8)
    return replace(sample, rows=rows), comparison._replace(gamma=gamma), note


def child_of(rng: np.random.Generator) -> np.random.Generator:
    """Return a generator that depends on `rng` and leaves it as it is, where it can have one."""
    parent: Any = getattr(rng.bit_generator, "seed_seq", None)
    if not isinstance(parent, np.random.SeedSequence):
        return rng
    key = *parent.spawn_key, CHILD
    return np.random.default_rng(np.random.SeedSequence(parent.entropy, spawn_key=key))


def validated_bandwidth(
    sample: Sample, k: int, options: PointsOptions, rng: np.random.Generator, total: int | None
) -> tuple[float, str]:
    """Choose the multiple of the median bandwidth with the lowest cross-validated 1-NN error of k points.

    A time limit has fewer rows and, when its share is over, fewer multiples tried.
    """
    if sample.labels is None:
        fix = Fix("labels")
        words = f'gamma="cv" needs {fix}: it is chosen by the cross-validated error of 1-NN'
        raise InvalidInput(words, "gamma", [fix])
    name, memory, n = options.similarity, options.max_memory, len(sample.labels)
    in_time = math.sqrt(
        WORK_PER_SECOND * min(options.deadline.seconds, 1e9) / (sample.rows.shape[1] + 20)
    )
    most = int(min(MAX_ROWS, max(math.sqrt(memory / 32), 10), max(in_time, MIN_ROWS)))
    kept = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    part = sample.take(kept).loaded()
    middle, note = fit_bandwidth(part.rows, name, "median", part.weights)
    codes = sample.labels[kept]
    counts = np.unique(codes, return_counts=True)[1]
    if counts.min() < 2 or len(counts) < 2:  # nothing to validate with, or nothing to tell apart
        return middle, note
    k = max(-(-k * len(kept) // (total or n)), min(k, len(counts)))  # for each row as many as kept
    # here: scikit-learn takes longer to import than most calls take
    from sklearn.model_selection import StratifiedKFold

    seed = int(rng.integers(2**31))
    splitter = StratifiedKFold(min(FOLDS, int(counts.min())), shuffle=True, random_state=seed)
    folds = [outside for _, outside in splitter.split(codes, codes)]
    until = options.deadline.share(TIME_SHARE)
    errors: dict[float, float] = {}
    for factor in BANDWIDTH_FACTORS:
        similarity = similarity_of(name, middle * factor)
        each = [validation_error(part, outside, k, similarity, memory) for outside in folds]
        errors[factor] = float(np.mean(each))
        if until.passed:
            break
    return middle * min(sorted(errors), key=errors.__getitem__), note


def validation_error(
    sample: Sample, outside: Any, k: int, similarity: Similarity, memory: int
) -> float:
    """Compute the 1-NN error on the rows outside of points chosen among the others."""
    inside = np.setdiff1d(np.arange(len(sample.weights)), outside)
    own, test = (sample.take(part).loaded() for part in (inside, outside))
    n, t = len(own.weights), own.weights / own.weights.sum()
    F = RowsMMD.between(own.rows, t, similarity, labels=own.labels, memory=memory)
    pool = CandidatePool(F, Rules(n, min(k, n)), np.arange(n))
    pool.fill(pool.k)
    few = own.take(pool.support).loaded()
    nearest = first_best(log_similarities(test.rows, few.rows, similarity))
    wrong = np.asarray(few.labels)[nearest] != test.labels
    return float(np.average(wrong, weights=test.weights))


def first_best(scores: Matrix) -> Indices:
    """Find the first of the largest entries of each row, (n,): those count as equal that only rounding tells apart.

    >>> first_best(np.array([[-1.0 - 1e-15, -1.0, -2.0], [0.0, 1.0, 1.0]])).tolist()
    [0, 1]
    """
    best = scores.max(axis=1, keepdims=True)
    return np.asarray((scores >= best - TIE * np.abs(best)).argmax(axis=1))


def log_similarities(rows: Any, few: Any, similarity: Similarity) -> Vector:
    """Compute the logarithms of similarities of rows to points, (n, k), some rows at a time."""
    few = few.astype(np.float64)
    starts = range(0, rows.shape[0], BLOCK_ROWS)
    parts = (rows[start : start + BLOCK_ROWS].astype(np.float64) for start in starts)
    return np.concatenate([similarity.log(part, few) for part in parts])
