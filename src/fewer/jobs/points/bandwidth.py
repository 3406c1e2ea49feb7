"""A bandwidth by cross-validation: the one whose points classify best."""

import math
from typing import Any

import numpy as np

from ..._validation import Fix, Indices, InvalidInput, Vector
from ...bandwidths import Bandwidth, bandwidth_in_units, scaled_rows
from ...distances import MAX_RELATIVE_ERROR, Matrix, distance_blocks
from ...objectives.mmd import RowsMMD
from ...rules import Rules
from ...search.pool import CandidatePool
from ...similarity import Similarity, similarity_of
from .options import PointsOptions
from .sample import Sample

BANDWIDTH_FACTORS = 2.0 ** np.arange(-2, 5)
"""What the median bandwidth is multiplied by."""
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


def first_best(scores: Matrix) -> Indices:
    """Find the first of the largest entries of each row, (n,): those count as equal that only rounding tells apart.

    >>> first_best(np.array([[-1.0 - 1e-15, -1.0, -2.0], [0.0, 1.0, 1.0]])).tolist()
    [0, 1]
    """
    best = scores.max(axis=1, keepdims=True)
    return np.asarray((scores >= best - TIE * np.abs(best)).argmax(axis=1))


def scores_and_nearest(rows: Any, few: Any, similarity: Similarity) -> tuple[Vector, Indices]:
    """Compute logarithms of similarities (n, k), and the nearest point of each row (n,), the first of equal ones.

    Both come from distances where similarities do, so that far rows are told apart. Of similarities
    without a bandwidth, which may be negative, the scores are themselves.
    """
    few = few.astype(np.float64)
    scores, nearest = [], []
    for start in range(0, rows.shape[0], BLOCK_ROWS):
        part = rows[start : start + BLOCK_ROWS].astype(np.float64)
        if similarity.sparse and similarity.power:
            squared = distance_blocks(part, few)
            scores.append(_log_of_distance(squared, similarity))
            nearest.append(first_best(-squared))
            continue
        block = np.asarray(similarity(part, few), np.float64)
        scores.append(np.log(np.maximum(block, TINY)) if similarity.power else block)
        nearest.append(first_best(block))
    return np.concatenate(scores).astype(np.float64), np.concatenate(nearest)


def _log_of_distance(squared: Matrix, similarity: Similarity) -> Matrix:
    """Compute the logarithm of s from squared distances, by the formulas of `similarity_of`."""
    gamma = float(similarity.gamma or 0.0)
    if similarity.name == "rbf":
        return np.asarray(-gamma * squared)
    degree = 3.0 if similarity.name == "matern32" else 5.0
    s = math.sqrt(degree) * gamma * np.sqrt(np.maximum(squared, 0.0))
    front = s if similarity.name == "matern32" else s + s * s / 3.0
    return np.asarray(np.log1p(front) - s)


def validated_width(
    sample: Sample,
    k: int,
    options: PointsOptions,
    rng: np.random.Generator,
    total: int | None = None,
) -> Bandwidth:
    """Choose the multiple of the median bandwidth with the lowest cross-validated 1-NN error of k points.

    A time limit has fewer rows and, when its share is over, fewer multiples tried. `total` is how
    many rows k are chosen from, where the sample is a part of them.
    """
    if sample.labels is None:
        fix = Fix("labels")
        words = f'gamma="cv" needs {fix}: it is chosen by the cross-validated error of 1-NN'
        raise InvalidInput(words, "gamma", [fix])
    name, memory, n = options.similarity, options.max_memory, len(sample.labels)
    most = most_rows(sample.rows.shape[1], memory, options.deadline.seconds)
    kept = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    X, codes, mass = sample.rows[kept], sample.labels[kept], sample.weights[kept]
    middle = bandwidth_in_units(X, name, "median", mass)
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    if counts.min() < 2 or len(counts) < 2:  # nothing to validate with, or nothing to tell apart
        return middle
    k = max(-(-k * len(kept) // (total or n)), min(k, len(counts)))  # for each row as many as kept
    # here: scikit-learn takes longer to import than most calls take
    from sklearn.model_selection import StratifiedKFold

    seed = int(rng.integers(2**31))
    splitter = StratifiedKFold(min(FOLDS, int(counts.min())), shuffle=True, random_state=seed)
    folds = list(splitter.split(np.zeros(len(codes)), codes))
    rows, until = scaled_rows(X, -middle.exponent), options.deadline.share(TIME_SHARE)
    errors = np.full(len(BANDWIDTH_FACTORS), np.inf)
    for at in np.argsort(np.abs(np.log2(BANDWIDTH_FACTORS)), kind="stable"):
        similarity = similarity_of(name, float(middle.scaled * BANDWIDTH_FACTORS[at]))
        each = [_error(rows, codes, mass, k, similarity, memory, *fold) for fold in folds]
        errors[at] = np.mean(each)
        if until.passed:
            break
    factor = float(BANDWIDTH_FACTORS[int(np.argmin(errors))])
    return middle._replace(scaled=middle.scaled * factor, gamma=middle.gamma * factor)


def most_rows(d: int, memory: int, seconds: float) -> int:
    """Count the rows on which bandwidths are tried: a matrix of them fits, in a share of a time limit."""
    in_time = math.sqrt(WORK_PER_SECOND * min(seconds, 1e9) / (d + 20))
    return int(min(MAX_ROWS, max(math.sqrt(memory / 32), 10), max(in_time, MIN_ROWS)))


def _error(
    X: Any,
    codes: Indices,
    mass: Vector,
    k: int,
    similarity: Similarity,
    memory: int,
    inside: Indices,
    outside: Indices,
) -> float:
    """Compute the 1-NN error on rows outside of points chosen inside."""
    t = mass[inside] / mass[inside].sum()
    F = RowsMMD.between(X[inside], t, similarity, labels=codes[inside], memory=memory)
    rules = Rules(len(inside), min(k, len(inside)))
    pool = CandidatePool(F, rules, np.arange(len(inside)))
    pool.fill(pool.k)
    units = inside[pool.support]
    guess = codes[units][scores_and_nearest(X[outside], X[units], similarity)[1]]
    return float(np.average(guess != codes[outside], weights=mass[outside]))
