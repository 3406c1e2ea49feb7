"""A bandwidth by cross-validation: the one whose points classify best."""

import math
from typing import Any

import numpy as np

from ..._validation import Fix, Indices, InvalidInput
from ...bandwidths import Bandwidth, bandwidth_in_units, scaled_rows
from ...deadline import Deadline
from ...distances import MAX_RELATIVE_ERROR, Matrix, distance_blocks
from ...objectives.rows_mmd import RowsMMD
from ...rules import Rules
from ...search.pool import CandidatePool
from ...similarity import Similarity, similarity_of
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


def nearest(rows: Any, prototypes: Any, similarity: Similarity, block: int = 2048) -> Indices:
    """The most similar prototype of each row, (n,); by distance where that is what the similarity comes from.

    Of those that are as near to rounding it is the first, so that equal rows always have the same
    one.
    """
    few = prototypes.astype(np.float64)
    by_distance = similarity.sparse and similarity.power
    parts = (rows[a : a + block].astype(np.float64) for a in range(0, rows.shape[0], block))
    return np.concatenate(
        [
            first_best(-distance_blocks(part, few) if by_distance else similarity(part, few))
            for part in parts
        ]
    )


def first_best(scores: Matrix) -> Indices:
    """The first of the largest entries of each row, (n,), where those count as equal that only rounding tells apart.

    >>> first_best(np.array([[-1.0 - 1e-15, -1.0, -2.0], [0.0, 1.0, 1.0]])).tolist()
    [0, 1]
    """
    best = scores.max(axis=1, keepdims=True)
    return np.asarray((scores >= best - TIE * np.abs(best)).argmax(axis=1))


def log_similarities(rows: Any, few: Any, similarity: Similarity, block: int = 2048) -> Matrix:
    """Logarithms of similarities (n, k), from distances where they come from them, so that far rows are told apart.

    Of similarities without a bandwidth, which may be negative, the similarities themselves.
    """
    few = few.astype(np.float64)

    def scores(part: Any) -> Matrix:
        if similarity.sparse and similarity.power:
            return _log_of_distance(distance_blocks(part, few), similarity)
        found = np.asarray(similarity(part, few), np.float64)
        return np.log(np.maximum(found, TINY)) if similarity.power else found

    parts = (rows[a : a + block].astype(np.float64) for a in range(0, rows.shape[0], block))
    return np.concatenate([scores(part) for part in parts])


def _log_of_distance(squared: Matrix, similarity: Similarity) -> Matrix:
    """The logarithm of s from squared distances, by the formulas of `similarity_of`."""
    assert similarity.gamma is not None  # noqa: S101 - it has a bandwidth
    if similarity.name == "rbf":
        return np.asarray(-similarity.gamma * squared)
    s = (
        math.sqrt(3.0 if similarity.name == "matern32" else 5.0)
        * similarity.gamma
        * np.sqrt(np.maximum(squared, 0.0))
    )
    return np.asarray(np.log1p(s if similarity.name == "matern32" else s + s * s / 3.0) - s)


def validated_gamma(
    sample: Sample, k: int, name: str, memory: int, rng: np.random.Generator
) -> float:
    """The multiple of the median bandwidth with the lowest cross-validated 1-NN error of k points chosen locally."""
    return validated_width(sample, k, name, memory, rng, Deadline.after(None)).gamma


def validated_width(
    sample: Sample,
    k: int,
    name: str,
    memory: int,
    rng: np.random.Generator,
    deadline: Deadline,
    total: int | None = None,
) -> Bandwidth:
    """The same in units; a time limit has fewer rows and, when its share is over, fewer multiples tried.

    `total` is how many rows k are chosen from, where the sample is a part of them.
    """
    if sample.labels is None:
        fix = Fix("labels")
        words = f'gamma="cv" needs {fix}: it is chosen by the cross-validated error of 1-NN'
        raise InvalidInput(words, "gamma", [fix])
    n, most = len(sample.labels), most_rows(sample.rows.shape[1], memory, deadline.seconds)
    kept = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    X, codes, mass = sample.rows[kept], sample.labels[kept], sample.weights[kept]
    middle = bandwidth_in_units(X, name, "median", mass)
    counts = np.bincount(codes)
    fewest = int(counts[counts > 0].min())
    if fewest < 2 or (counts > 0).sum() < 2:  # nothing to validate with, or nothing to tell apart
        return middle
    k = max(
        -(-k * len(kept) // (total or n)), min(k, int((counts > 0).sum()))
    )  # as many for each row as will be kept
    from sklearn.model_selection import (
        StratifiedKFold,
    )  # here: it takes longer to import than most calls take

    seed = int(rng.integers(2**31))
    folds = list(
        StratifiedKFold(min(FOLDS, fewest), shuffle=True, random_state=seed).split(
            np.zeros(len(codes)), codes
        )
    )
    rows, until = scaled_rows(X, -middle.exponent), deadline.share(TIME_SHARE)
    errors = np.full(len(BANDWIDTH_FACTORS), np.inf)
    for at in np.argsort(np.abs(np.log2(BANDWIDTH_FACTORS)), kind="stable"):
        width = float(middle.scaled * BANDWIDTH_FACTORS[at])
        errors[at] = np.mean(
            [_error(rows, codes, mass, k, name, width, memory, fold) for fold in folds]
        )
        if until.passed:
            break
    factor = float(BANDWIDTH_FACTORS[int(np.argmin(errors))])
    return middle._replace(scaled=middle.scaled * factor, gamma=middle.gamma * factor)


def most_rows(d: int, memory: int, seconds: float) -> int:
    """Rows on which bandwidths are tried: so that a matrix of their similarities fits, and a share of a time limit."""
    in_time = math.sqrt(WORK_PER_SECOND * min(seconds, 1e9) / (d + 20))
    return int(min(MAX_ROWS, max(math.sqrt(memory / 32), 10), max(in_time, MIN_ROWS)))


def _error(
    X: Any,
    codes: Indices,
    mass: Any,
    k: int,
    name: str,
    gamma: float,
    memory: int,
    fold: tuple[Indices, Indices],
) -> float:
    """The 1-NN error on held-out rows of points chosen among the others."""
    inside, out = fold
    similarity = similarity_of(name, gamma)
    t = mass[inside] / mass[inside].sum()
    F = RowsMMD.between(X[inside], t, similarity, labels=codes[inside], memory=memory)
    pool = CandidatePool(F, Rules(len(inside), min(k, len(inside))), np.arange(len(inside)))
    pool.fill(pool.k)
    units = pool.support
    guess = codes[inside][units][nearest(X[out], X[inside][units], similarity)]
    return float(np.average(guess != codes[out], weights=mass[out]))
