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
    """How much nearer v is to the simplex on these entries than to zero: Σ v² - ‖p - v‖²; -inf for none."""
    if not v.size:
        return -np.inf
    p = project_simplex(v)
    return float(2.0 * (p @ v) - p @ p)


def greedily(v: Vector, groups: Mask, k: int) -> Indices:
    """Add the group that brings v nearest, k times, sorted. v: (n,), groups: (g, n), which may overlap."""
    inside, chosen = np.zeros(v.size, bool), []
    for _ in range(min(k, len(groups))):
        gains = [
            -np.inf if g in chosen else gain(v[inside | groups[g]]) for g in range(len(groups))
        ]
        best = int(np.argmax(gains))
        chosen.append(best)
        inside |= groups[best]
    return np.sort(np.array(chosen, np.int64))


class _Bounds:
    """What a union of groups can gain at most: min over t of 2t + the k largest Σ_g max(v - t, 0)²."""

    def __init__(self, v: Vector, groups: Mask, k: int) -> None:
        self.v, self.k, self.count = v, k, len(groups)
        self.code = groups.argmax(axis=0)

    def shares(self, t: float) -> tuple[Vector, Vector]:
        """Σ_g max(v - t, 0)² and Σ_g max(v - t, 0) of each group."""
        above = np.maximum(self.v - t, 0.0)
        squares, sums = (
            np.bincount(self.code, each, self.count) for each in (above * above, above)
        )
        return squares.astype(np.float64), sums.astype(np.float64)

    def over(self, inside: Mask, out: Mask) -> tuple[float, Mask]:
        """The bound of a branch, and the k groups that attain it.

        2t + Σ φ is convex in t, with the slope 2 - 2 Σ_S max(v - t, 0).
        """
        usable = ~out
        low, high = float(self.v.min()) - 1.0, float(self.v.max())
        chosen = inside
        best = np.inf
        for _ in range(STEPS):
            t = 0.5 * (low + high)
            squares, sums = self.shares(t)
            chosen = self._top(squares, inside, usable)
            best = min(best, 2.0 * t + float(squares[chosen].sum()))
            if float(sums[chosen].sum()) > 1.0:
                low = t
            else:
                high = t
            if high - low <= 1e-14 * max(abs(low), abs(high)):
                break
        return best, chosen

    def _top(self, squares: Vector, inside: Mask, usable: Mask) -> Mask:
        """The groups inside, and of the others the largest."""
        rank = np.where(inside, np.inf, np.where(usable, squares, -np.inf))
        chosen = np.zeros(self.count, bool)
        chosen[np.argsort(-rank, kind="stable")[: self.k]] = True
        return chosen & usable


def branched(v: Vector, groups: Mask, k: int) -> Indices:
    """The best k groups, proven, sorted. v: (n,), groups: (g, n), disjoint.

    >>> branched(np.array([0.5, 0.1, 0.3, 0.3, 0.2]), np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], bool), 1).tolist()
    [1]
    """
    bounds, count = _Bounds(v, groups, k), len(groups)
    nothing = np.zeros(count, bool)

    def value(chosen: Mask) -> float:
        return gain(v[groups[chosen].any(axis=0)])

    best = np.zeros(count, bool)
    best[greedily(v, groups, k)] = True
    known = value(best)
    serial = itertools.count()
    looks = 0
    top, chosen = bounds.over(nothing, nothing)
    heap = [(-top, next(serial), nothing, nothing, chosen)]
    while heap and looks < MOST_LOOKS:
        looks += 1
        top, _, inside, out, chosen = heapq.heappop(heap)
        if -top <= known + TIE * max(abs(known), 1e-300):
            break
        found = value(chosen)
        if found > known + TIE * abs(known):
            known, best = found, chosen
        free = np.flatnonzero(chosen & ~inside)
        if not free.size:
            continue
        at = int(free[np.argmax(bounds.shares(_threshold(v, groups, chosen))[0][free])])
        for enters in (True, False):
            now_in, now_out = inside.copy(), out.copy()
            (now_in if enters else now_out)[at] = True
            if now_in.sum() > k or (~now_out).sum() < 1:
                continue
            upper, attained = bounds.over(now_in, now_out)
            if upper > known + TIE * max(abs(known), 1e-300):
                heapq.heappush(heap, (-upper, next(serial), now_in, now_out, attained))
    return np.flatnonzero(best)


def _threshold(v: Vector, groups: Mask, chosen: Mask) -> float:
    """What projecting onto a union of groups subtracts."""
    part = v[groups[chosen].any(axis=0)]
    p = project_simplex(part)
    held = p > 0.0
    return float((part[held] - p[held]).mean())
