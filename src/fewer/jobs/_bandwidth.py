"""A bandwidth by cross-validation: the one whose points classify best."""

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ..door import Indices, InvalidInput
from ..objectives.rows_mmd import RowsMMD
from ..similarity import Similarity, bandwidth, distance_blocks, similarity_of
from ..solvers._crowd import Crowd
from ._sample import Sample

FACTORS = 2.0 ** np.arange(-2, 5)
"""What the median bandwidth is multiplied by."""
FOLDS = 3
MOST_ROWS = 2400
"""Rows from which a bandwidth is chosen, at most."""


def nearest(rows: Any, prototypes: Any, similarity: Similarity, block: int = 2048) -> Indices:
    """The most similar prototype of each row, (n,); by distance where that is what the similarity comes from."""
    few = prototypes.astype(np.float64)
    by_distance = similarity.sparse and similarity.power
    parts = [rows[a : a + block].astype(np.float64) for a in range(0, rows.shape[0], block)]
    return np.concatenate(
        [(-distance_blocks(part, few) if by_distance else similarity(part, few)).argmax(axis=1) for part in parts]
    )


def validated_gamma(sample: Sample, k: int, name: str, memory: int, rng: np.random.Generator) -> float:
    """The multiple of the median bandwidth with the lowest cross-validated 1-NN error of k points chosen locally."""
    if sample.labels is None:
        raise InvalidInput('gamma="cv" needs labels y: it is chosen by the cross-validated error of 1-NN')
    n = len(sample.labels)
    kept = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
    X, codes, mass = sample.rows[kept], sample.labels[kept], sample.weights[kept]
    middle = float(bandwidth(X, name, "median", mass) or 1.0)
    counts = np.bincount(codes)
    fewest = int(counts[counts > 0].min())
    if fewest < 2 or (counts > 0).sum() < 2:  # nothing to validate with, or nothing to tell apart
        return middle
    k = max(-(-k * len(kept) // n), min(k, int((counts > 0).sum())))  # as many for each row as will be kept
    seed = int(rng.integers(2**31))
    folds = list(StratifiedKFold(min(FOLDS, fewest), shuffle=True, random_state=seed).split(X, codes))
    errors = [np.mean([_error(X, codes, mass, k, name, middle * f, memory, fold) for fold in folds]) for f in FACTORS]
    return float(middle * FACTORS[int(np.argmin(errors))])


def _error(
    X: Any, codes: Indices, mass: Any, k: int, name: str, gamma: float, memory: int, fold: tuple[Indices, Indices]
) -> float:
    """The 1-NN error on held-out rows of points chosen among the others."""
    inside, out = fold
    similarity = similarity_of(name, gamma)
    t = mass[inside] / mass[inside].sum()
    F = RowsMMD.between(X[inside], t, similarity, labels=codes[inside], memory=memory)
    crowd = Crowd(F, min(k, len(inside)), np.arange(len(inside)), np.empty(0, np.int64), np.random.default_rng(0))
    crowd.exchange(0)
    units = crowd.support
    guess = codes[inside][units][nearest(X[out], X[inside][units], similarity)]
    return float(np.average(guess != codes[out], weights=mass[out]))
