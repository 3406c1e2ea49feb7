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


def squared_apart(A: Any, B: Any, similarity: Similarity) -> Vector:
    """Squared distances (a, b): of the rows, or s(x, x) + s(y, y) - 2 s(x, y) where the similarity has none."""
    if similarity.sparse and similarity.power:
        return np.asarray(np.maximum(distance_blocks(A, B), 0.0))
    apart = similarity.itself(A)[:, None] + similarity.itself(B)[None, :] - 2.0 * similarity(A, B)
    return np.asarray(np.maximum(apart, 0.0))


def narrowed(apart: Vector, exponent: int) -> Narrow:
    """Squared distances in float32, divided by a power of two: the loss knows only their ratios."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(apart, -exponent).astype(np.float32)


def loss(same: Narrow, other: Narrow) -> Narrow:
    """1 / (1 + exp(-LOSS_STEEPNESS μ)), μ = (d₊ - d₋) / (d₊ + d₋): near 0 where the nearest point has the right label.

    Source: Sato & Yamada, "Generalized learning vector quantization", NeurIPS 1995.
    """
    total = same + other
    mu = np.where(np.isinf(same), 1.0, np.where(np.isinf(other), -1.0, 0.0)).astype(np.float32)
    finite = np.isfinite(total) & (total > 0)
    np.divide(np.subtract(same, other, where=finite, out=mu.copy()), total, out=mu, where=finite)
    return np.asarray(1.0 / (1.0 + np.exp(-LOSS_STEEPNESS * mu)), np.float32)


class Margins:
    """For each row the nearest and second nearest point of its own class and of the others.

    apart: (k, n) squared distances from the points, kin: (k, n) whether the labels agree.
    """

    def __init__(self, apart: Narrow, kin: npt.NDArray[np.bool_]) -> None:
        self.apart, self.kin = apart, kin
        self.same, self.owner, self.same2 = _two(np.where(kin, apart, np.float32(np.inf)))
        self.other, self.other_owner, self.other2 = _two(np.where(kin, np.float32(np.inf), apart))

    def replace(self, out: int, d: Narrow, kin: npt.NDArray[np.bool_]) -> None:
        """Put a newcomer in the place of a point; only the rows that either is near to are looked at again."""
        second = np.where(kin, self.same2, self.other2)
        leaving = self.apart[out] <= np.where(self.kin[out], self.same2, self.other2)
        at = np.flatnonzero(leaving | (d <= second))
        self.apart[out], self.kin[out] = d, kin
        part, mine = self.apart[:, at], self.kin[:, at]
        self.same[at], self.owner[at], self.same2[at] = _two(
            np.where(mine, part, np.float32(np.inf))
        )
        self.other[at], self.other_owner[at], self.other2[at] = _two(
            np.where(mine, np.float32(np.inf), part)
        )

    def costs(self, d: Narrow, kin: npt.NDArray[np.bool_], weights: Vector, k: int) -> Vector:
        """The loss after each of the k points is replaced by a newcomer at distances d (n,), (k,)."""
        near_same, near_other = (
            np.where(kin, d, np.float32(np.inf)),
            np.where(kin, np.float32(np.inf), d),
        )
        same, other = np.minimum(self.same, near_same), np.minimum(self.other, near_other)
        base = loss(same, other)
        without_owner = (loss(np.minimum(self.same2, near_same), other) - base) * weights
        without_other = (loss(same, np.minimum(self.other2, near_other)) - base) * weights
        changes = np.bincount(self.owner, without_owner, k) + np.bincount(
            self.other_owner, without_other, k
        )
        return np.asarray(float(weights @ base) + changes)


def _two(table: Narrow) -> tuple[Narrow, Indices, Narrow]:
    """The least entry of each column, its row, and the second least."""
    every = np.arange(table.shape[1])
    owner = table.argmin(axis=0)
    first = table[owner, every]
    table[owner, every] = np.inf
    return first, owner, table.min(axis=0)


def refined(
    rows: Any,
    codes: Indices,
    weights: Vector,
    units: Indices,
    similarity: Similarity,
    rng: np.random.Generator,
    deadline: Deadline | None = None,
) -> Indices:
    """Points (k,) after swaps with other rows, each of which lowers the loss; rows with much loss are tried first.

    rows: (n, d), codes, weights: (n,). Past the deadline the swaps end.
    """
    n, k = rows.shape[0], len(units)
    most = (
        MAX_ROWS
        if deadline is None
        else int(
            min(MAX_ROWS, max(DISTANCES_PER_SECOND * deadline.left() / k, CANDIDATES_PER_BATCH))
        )
    )
    judged = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    judges, labels, mass = rows[judged], codes[judged], weights[judged] / weights[judged].sum()
    units = units.copy()
    apart = squared_apart(rows[units], judges, similarity)
    unit = int(np.frexp(apart.max(where=np.isfinite(apart), initial=0.0))[1])
    margins = Margins(narrowed(apart, unit), codes[units][:, None] == labels[None])
    value = float(mass @ loss(margins.same, margins.other))
    for _ in range(-(-min(MIN_TRIED + TRIED_PER_POINT * k, 4 * n) // CANDIDATES_PER_BATCH)):
        odds = mass * (0.05 + loss(margins.same, margins.other))
        tried = judged[
            rng.choice(
                len(judged),
                min(CANDIDATES_PER_BATCH, len(judged)),
                replace=False,
                p=odds / odds.sum(),
            )
        ]
        tried = tried[~np.isin(tried, units)]
        if tried.size == 0:
            continue
        if deadline is not None and deadline.passed:
            break
        for j, d in zip(
            tried, narrowed(squared_apart(rows[tried], judges, similarity), unit), strict=True
        ):
            costs = margins.costs(d, codes[j] == labels, mass, k)
            out = int(costs.argmin())
            if costs[out] < value - 1e-6:
                units[out], value = j, float(costs[out])
                margins.replace(out, d, codes[j] == labels)
    return units
