"""Projection onto the probability simplex, without sorting, and the largest entries of a vector."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

BLOCK = 64  # entries that are looked at or passed over together


@compiled
def shrink(active: Vector, count: int) -> tuple[int, float]:
    """tau with Σ max(x - tau, 0) = 1 over the first `count` entries.

    The entries above tau move to the front.

    Every dropped pass raises tau, so what lies at or below it can go for good. Sums are taken
    relative to one entry, which keeps their digits when all entries share a large offset. Returns
    (how many stay, tau).

    Source: Michelot, "A finite algorithm for finding the projection of a point onto the canonical
    simplex of R^n", JOTA 50 (1986).
    """
    while True:
        origin = active[0]
        total = 0.0
        for i in range(count):
            total += active[i] - origin
        tau = origin + (total - 1.0) / count
        kept = 0
        for i in range(count):
            if active[i] > tau:
                active[kept] = active[i]
                kept += 1
        if kept == count or kept == 0:
            # kept == 0 only when 1 / count is lost in rounding beside entries above 1e15
            return count, tau
        count = kept


@compiled
def tops(v: Vector) -> Vector:
    """The largest entry of each block of v, (ceil(n / BLOCK),)."""
    found = np.empty((v.size + BLOCK - 1) // BLOCK)
    for block in range(found.size):
        top = v[block * BLOCK]
        for x in v[block * BLOCK : (block + 1) * BLOCK]:
            top = max(top, x)
        found[block] = top
    return found


@compiled
def contenders(v: Vector, top: Vector, active: Vector) -> int:
    """Copy the entries that may stay positive to the front of `active`; top: `tops(v)`.

    Tau of some entries is never above that of all, and tau of the tops within 1 of the largest is
    near it: few others get past, and whole blocks need not be looked at. Returns how many there
    are.
    """
    highest = top.max()
    count = 0
    for x in top:
        if x > highest - 1.0 or x == highest:
            active[count] = x
            count += 1
    _, floor = shrink(active, count)
    floor = min(
        floor, np.nextafter(highest, -np.inf)
    )  # 1 / count is lost in rounding beside entries above 1e15
    count = 0
    for block in range(top.size):
        if top[block] > floor:
            for x in v[block * BLOCK : (block + 1) * BLOCK]:
                if x > floor:
                    active[count] = x
                    count += 1
    return count


@compiled
def project_simplex(v: Vector) -> Vector:
    """argmin ‖p - v‖² over p >= 0, Σ p = 1; v (n,) with n >= 1 and finite entries.

    p = max(v - tau, 0), scaled to sum to one exactly; only blocks with an entry above tau are
    written.
    """
    active, top = np.empty(v.size), tops(v)
    _, tau = shrink(active, contenders(v, top, active))
    p, total = np.zeros(v.size), 0.0
    for block in range(top.size):
        if top[block] > tau:
            for i in range(block * BLOCK, min((block + 1) * BLOCK, v.size)):
                p[i] = max(v[i] - tau, 0.0)
                total += p[i]
    if total == 0.0:
        p[np.argmax(v)] = total = 1.0
    for block in range(top.size):
        if top[block] > tau:
            for i in range(block * BLOCK, min((block + 1) * BLOCK, v.size)):
                p[i] /= total
    return p


@compiled
def relative_distance(active: Vector, count: int, tau: float) -> float:
    """‖p - v‖² - ‖v‖² = Σ (tau² - x²) over the entries x > tau of v, for p the projection of v."""
    total = 0.0
    for i in range(count):
        total += (tau - active[i]) * (tau + active[i])
    return total


@compiled
def simplex_distance(v: Vector) -> float:
    """min ‖p - v‖² - ‖v‖² over the simplex, without forming p."""
    active = np.empty(v.size)
    count, tau = shrink(active, contenders(v, tops(v), active))
    return relative_distance(active, count, tau)


def largest(v: Vector, k: int) -> Indices:
    """Sorted indices of the k largest entries of v (n,); of equal ones the first; O(n).

    >>> largest(np.array([1.0, 3.0, 2.0, 3.0, 2.0]), 3).tolist()
    [1, 2, 3]
    """
    if k >= v.size:
        return np.arange(v.size)
    least = np.partition(v, v.size - k)[v.size - k]
    above, equal = np.flatnonzero(v > least), np.flatnonzero(v == least)
    return np.sort(np.concatenate([above, equal[: k - above.size]]))
