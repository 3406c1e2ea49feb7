"""Swaps of prototypes that lower a margin loss of the nearest-prototype rule on the rows themselves."""

from typing import Any

import numpy as np
import numpy.typing as npt

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

Narrow = npt.NDArray[np.float32]


def squared_distances(A: Any, B: Any, similarity: Similarity) -> Vector:
    """Compute squared distances (a, b): of the rows, or s(x, x) + s(y, y) - 2 s(x, y) where the similarity has none."""
    if similarity.sparse and similarity.power:
        return np.asarray(np.maximum(distance_blocks(A, B), 0.0))
    distances = (
        similarity.itself(A)[:, None] + similarity.itself(B)[None, :] - 2.0 * similarity(A, B)
    )
    return np.asarray(np.maximum(distances, 0.0))


def loss(same: Narrow, other: Narrow) -> Narrow:
    """Compute 1 / (1 + exp(-LOSS_STEEPNESS μ)), μ = (d₊ - d₋) / (d₊ + d₋): near 0 where the nearest point has the right label.

    Source: Sato & Yamada, "Generalized learning vector quantization", NeurIPS 1995.
    """
    total = same + other
    mu = np.where(np.isinf(same), 1.0, np.where(np.isinf(other), -1.0, 0.0)).astype(np.float32)
    finite = np.isfinite(total) & (total > 0)
    np.divide(np.subtract(same, other, where=finite, out=mu.copy()), total, out=mu, where=finite)
    return np.asarray(1.0 / (1.0 + np.exp(-LOSS_STEEPNESS * mu)), np.float32)


class Margins:
    """For each row the nearest and second nearest point of its own class and of the others, (2, n) each.

    distances: (k, n) squared distances from the points, kin: (k, n) whether the labels agree.
    """

    def __init__(self, distances: Narrow, kin: npt.NDArray[np.bool_]) -> None:
        self.distances, self.kin = distances, kin
        self.first, self.owner, self.second = _two_least(by_class(distances, kin))

    def replace(self, out: int, d: Narrow, kin: npt.NDArray[np.bool_]) -> None:
        """Put a newcomer in the place of a point.

        Only the rows that either is near to are looked at again.
        """
        leaving = self.distances[out] <= np.where(self.kin[out], *self.second)
        at = np.flatnonzero(leaving | (d <= np.where(kin, *self.second)))
        self.distances[out], self.kin[out] = d, kin
        near = by_class(self.distances[:, at], self.kin[:, at])
        self.first[:, at], self.owner[:, at], self.second[:, at] = _two_least(near)

    def costs(self, d: Narrow, kin: npt.NDArray[np.bool_], weights: Vector, k: int) -> Vector:
        """Compute the loss after each of the k points is replaced by a newcomer at distances d (n,), (k,)."""
        new = by_class(d, kin)
        near, without = np.minimum(self.first, new), np.minimum(self.second, new)
        base = loss(*near)
        changes = np.full(k, float(weights @ base))
        for owner, gone in zip(
            self.owner, (loss(without[0], near[1]), loss(near[0], without[1])), strict=True
        ):
            changes += np.bincount(owner, (gone - base) * weights, k)
        return changes


def by_class(distances: Narrow, kin: npt.NDArray[np.bool_]) -> Narrow:
    """Return distances to points of a row's own class, and to those of the others: infinite where there is none."""
    return np.where(np.stack([kin, ~kin]), distances, np.float32(np.inf))


def _two_least(table: Narrow) -> tuple[Narrow, Indices, Narrow]:
    """Find the least entries over the points (2, k, n), their places, and the second least ones, (2, n) each."""
    owner = table.argmin(axis=1)
    at = owner[:, None]
    first = np.take_along_axis(table, at, axis=1)[:, 0]
    np.put_along_axis(table, at, np.float32(np.inf), axis=1)
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
    """Swap points (k,) for other rows, each swap lowering the loss.

    Rows with much loss are tried first.

    rows: (n, d), codes, weights: (n,). Past the deadline the swaps end.
    """
    n, k = rows.shape[0], len(units)
    in_time = max(DISTANCES_PER_SECOND * deadline.left() / k, CANDIDATES_PER_BATCH)
    most = int(min(MAX_ROWS, in_time))
    judged = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    judges, labels, mass = rows[judged], codes[judged], weights[judged] / weights[judged].sum()
    units, distances = units.copy(), squared_distances(rows[units], judges, similarity)
    top = (
        float(distances.max(where=np.isfinite(distances), initial=0.0)) or 1.0
    )  # only ratios count
    margins = Margins((distances / top).astype(np.float32), codes[units][:, None] == labels)
    value = float(mass @ loss(*margins.first))
    tries, size = min(MIN_TRIED + TRIED_PER_POINT * k, 4 * n), CANDIDATES_PER_BATCH
    for _ in range(-(-tries // size)):
        odds = mass * (0.05 + loss(*margins.first))
        drawn = rng.choice(len(judged), min(size, len(judged)), replace=False, p=odds / odds.sum())
        tried = np.setdiff1d(judged[drawn], units, assume_unique=True)
        if not len(tried):
            continue
        if deadline.passed:
            break
        with np.errstate(over="ignore"):
            near = (squared_distances(rows[tried], judges, similarity) / top).astype(np.float32)
        for j, d in zip(tried, near, strict=True):
            kin = codes[j] == labels
            costs = margins.costs(d, kin, mass, k)
            out = int(costs.argmin())
            if costs[out] < value - 1e-6:
                units[out], value = j, float(costs[out])
                margins.replace(out, d, kin)
    return units
