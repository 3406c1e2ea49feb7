"""Swaps of prototypes that lower a margin loss of the nearest-prototype rule on the rows themselves."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from ..._validation import Indices, Vector
from ...deadline import Deadline
from ...distances import distance_blocks
from ...similarity import Similarity

LOSS_STEEPNESS = 14.0
"""How steep the loss is around the border between two classes."""
CANDIDATES_PER_BATCH = 64
"""Candidates compared with all rows at once."""
MAX_ROWS = 10_000
"""Rows on which the loss is taken, at most."""
DISTANCES_PER_SECOND = 2 * 10**6
"""Rows times points on which it is taken for each second that is left."""
MIN_TRIED, TRIED_PER_POINT = 2000, 8
"""Candidates tried: so many, and so many for each point."""
FAR = np.float32(1e30)
"""The distance to a point where there is none, in units of the largest."""

Narrow = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


def squared_distances(A: Any, B: Any, similarity: Similarity) -> Vector:
    """Compute squared distances (a, b): of the rows, or s(x, x) + s(y, y) - 2 s(x, y) where the similarity has none."""
    if similarity.sparse and similarity.power:
        return np.asarray(np.maximum(distance_blocks(A, B), 0.0))
    lengths = similarity.itself(A)[:, None] + similarity.itself(B)
    return np.asarray(np.maximum(lengths - 2.0 * similarity(A, B), 0.0))


def loss(same: Narrow, other: Narrow) -> Narrow:
    """Compute 1 / (1 + exp(-LOSS_STEEPNESS μ)), μ = (d₊ - d₋) / (d₊ + d₋): near 0 where the nearest point has the right label.

    Source: Sato & Yamada, "Generalized learning vector quantization", NeurIPS 1995.
    """
    mu = (same - other) / np.maximum(same + other, np.finfo(np.float32).tiny)
    return np.asarray(expit(LOSS_STEEPNESS * mu), np.float32)


class Margins:
    """For each row the nearest and second nearest point of its own class and of the others, (2, n) each.

    distances: (k, n) squared distances from the points, kin: (k, n) whether the labels agree.
    """

    def __init__(self, distances: Narrow, kin: Mask) -> None:
        self.distances, self.kin = distances, kin
        self.first, self.owner, self.second = _two_least(by_class(distances, kin))

    def replace(self, out: int, d: Narrow, kin: Mask) -> None:
        """Put a newcomer in the place of a point; only rows that either is near to are looked at again."""
        near = self.distances[out] <= np.where(self.kin[out], *self.second)
        at = np.flatnonzero(near | (d <= np.where(kin, *self.second)))
        self.distances[out], self.kin[out] = d, kin
        least = _two_least(by_class(self.distances[:, at], self.kin[:, at]))
        self.first[:, at], self.owner[:, at], self.second[:, at] = least

    def costs(self, d: Narrow, kin: Mask, weights: Vector) -> Vector:
        """Compute the loss after each of the k points is replaced by a newcomer at distances d (n,), (k,)."""
        new = by_class(d, kin)
        near, without = np.minimum(self.first, new), np.minimum(self.second, new)
        base, k = loss(*near), len(self.kin)
        changes = np.full(k, float(weights @ base))
        changes += np.bincount(self.owner[0], (loss(without[0], near[1]) - base) * weights, k)
        changes += np.bincount(self.owner[1], (loss(near[0], without[1]) - base) * weights, k)
        return changes


def by_class(distances: Narrow, kin: Mask) -> Narrow:
    """Return distances to points of a row's own class, and to those of the others: FAR where there is none."""
    return np.where(np.stack([kin, ~kin]), distances, FAR)


def _two_least(table: Narrow) -> tuple[Narrow, Indices, Narrow]:
    """Find the least entries over the points (2, k, n), their places, and the second least ones, (2, n) each."""
    owner = table.argmin(axis=1)
    at = owner[:, None]
    first = np.take_along_axis(table, at, axis=1)[:, 0]
    np.put_along_axis(table, at, FAR, axis=1)
    return first, owner, table.min(axis=1)


def swap_points(
    rows: Any,
    codes: Indices,
    weights: Vector,
    units: Indices,
    similarity: Similarity,
    rng: np.random.Generator,
    deadline: Deadline,
) -> Indices:
    """Swap points (k,) for other rows, each swap lowering the loss; rows with much loss are tried first.

    rows: (n, d), codes, weights: (n,). Past the deadline the swaps end.
    """
    n, k, size = rows.shape[0], len(units), CANDIDATES_PER_BATCH
    most = int(min(n, MAX_ROWS, max(DISTANCES_PER_SECOND * deadline.left() / k, size)))
    judged = np.sort(rng.choice(n, most, replace=False)) if most < n else np.arange(n)
    judges, labels, mass = rows[judged], codes[judged], weights[judged] / weights[judged].sum()
    units, distances = units.copy(), squared_distances(rows[units], judges, similarity)
    unit = float(distances.max()) or 1.0  # only ratios count
    margins = Margins((distances / unit).astype(np.float32), codes[units][:, None] == labels)
    value = float(mass @ loss(*margins.first))
    tries = min(MIN_TRIED + TRIED_PER_POINT * k, 4 * n)
    for _ in range(-(-tries // size)):
        odds = mass * (0.05 + loss(*margins.first))
        drawn = rng.choice(most, min(size, most), replace=False, p=odds / odds.sum())
        tried = np.setdiff1d(judged[drawn], units, assume_unique=True)
        if not len(tried) or deadline.passed:
            break
        near = squared_distances(rows[tried], judges, similarity) / unit
        for j, d in zip(tried, near.astype(np.float32), strict=True):
            kin = codes[j] == labels
            costs = margins.costs(d, kin, mass)
            out = int(costs.argmin())
            if costs[out] < value - 1e-6:
                units[out], value = j, float(costs[out])
                margins.replace(out, d, kin)
    return units
