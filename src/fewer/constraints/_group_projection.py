"""Which k groups are nearest to a vector: greedily, and by branch and bound."""

import heapq
import itertools

import numpy as np
import numpy.typing as npt

from .._compiled.simplex import project_simplex
from .._validation import Indices, Vector

Mask = npt.NDArray[np.bool_]

STEPS = 50
"""Halvings of the bracket of a threshold."""
MOST_LOOKS = 20_000
"""Branches looked at; a search that is longer ends with the best groups found."""
TIE = 1e-12
"""Relative gain below which a branch is closed."""


def gain(v: Vector) -> float:
    """How much nearer v is to the simplex on these entries than to zero: Σ v² - ‖p - v‖².

    -inf for none.
    """
    if not v.size:
        return -np.inf
    p = project_simplex(v)
    return float(2.0 * (p @ v) - p @ p)


def greedy_groups(v: Vector, groups: Mask, k: int) -> Indices:
    """Add the group that brings v nearest, k times, sorted.

    v: (n,), groups: (g, n), which may overlap.
    """
    inside = np.zeros(v.size, bool)
    gains = np.zeros(len(groups))
    for _ in range(min(k, len(groups))):
        for g in np.flatnonzero(gains > -np.inf):
            gains[g] = gain(v[inside | groups[g]])
        best = int(np.argmax(gains))
        inside |= groups[best]
        gains[best] = -np.inf
    return np.flatnonzero(gains == -np.inf)


def nearest_groups(v: Vector, groups: Mask, k: int) -> Indices:
    """The best k groups, proven, sorted. v: (n,), groups: (g, n), disjoint.

    A branch is bounded by `upper_bound`, and divided at the chosen group that weighs most there.

    >>> nearest_groups(
    ...     np.array([0.5, 0.1, 0.3, 0.3, 0.2]),
    ...     np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], bool),
    ...     1,
    ... ).tolist()
    [1]
    """
    codes = groups.argmax(axis=0)
    best = np.isin(np.arange(len(groups)), greedy_groups(v, groups, k))
    most = gain(v[best[codes]])
    free = np.full(len(groups), np.nan)  # of each group: 1 inside, 0 outside, nan undecided
    serial = itertools.count()
    heap = [(-np.inf, next(serial), free)]
    for _ in range(MOST_LOOKS):
        if not heap or -heap[0][0] <= most + TIE * abs(most):
            break
        _, _, fixed = heapq.heappop(heap)
        bound, units, squares = upper_bound(v, codes, fixed, k)
        value = gain(v[units[codes]])
        if value > most + TIE * abs(most):
            most, best = value, units
        open_units = np.flatnonzero(units & np.isnan(fixed))
        if not open_units.size or bound <= most + TIE * abs(most):
            continue
        at = open_units[np.argmax(squares[open_units])]
        for side in (1.0, 0.0):
            child = fixed.copy()
            child[at] = side
            if (child != 0.0).any():
                heapq.heappush(heap, (-bound, next(serial), child))
    return np.flatnonzero(best)


def upper_bound(v: Vector, codes: Indices, fixed: Vector, k: int) -> tuple[float, Mask, Vector]:
    """What k groups of a branch gain at most, the groups that attain it, and what each adds there.

    For any t that is 2t + the k largest Σ_g max(v - t, 0)², which is convex in t with the slope
    2 - 2 Σ_S max(v - t, 0).
    """
    low, high = float(v.min()) - 1.0, float(v.max())
    rank = np.where(fixed == 1.0, np.inf, -np.inf)
    least = np.inf
    for _ in range(STEPS):
        t = 0.5 * (low + high)
        above = np.maximum(v - t, 0.0)
        squares: Vector = np.bincount(codes, above * above, len(fixed)).astype(np.float64)
        order = np.argsort(-np.where(np.isnan(fixed), squares, rank), kind="stable")
        units = np.zeros(len(fixed), bool)
        units[order[:k]] = True
        units &= fixed != 0.0
        least = min(least, 2.0 * t + float(squares[units].sum()))
        if float(above[units[codes]].sum()) > 1.0:
            low = t
        else:
            high = t
        if high - low <= 1e-14 * max(abs(low), abs(high)):
            break
    return least, units, squares
