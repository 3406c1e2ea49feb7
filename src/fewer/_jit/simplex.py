"""Projection onto the probability simplex, without sorting."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]


@compiled
def shrink(active: Vector, count: int) -> tuple[int, float]:
    """Tau with Σ max(x - tau, 0) = 1 over the first `count` entries; the entries above tau move to the front.

    Every dropped pass raises tau, so what lies at or below it can go for good. Sums are taken relative to
    one entry, which keeps their digits when all entries share a large offset. Returns (how many stay, tau).

    Source: Michelot, "A finite algorithm for finding the projection of a point onto the canonical simplex
    of R^n", JOTA 50 (1986).
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
def near_top(v: Vector, active: Vector) -> int:
    """Copy the entries within 1 of the largest to the front of `active`; no other can stay positive."""
    top = v[0]
    for x in v:
        top = max(top, x)
    count = 0
    for x in v:
        if x > top - 1.0 or x == top:
            active[count] = x
            count += 1
    return count


@compiled
def fill(v: Vector, tau: float, out: Vector) -> None:
    """Out = max(v - tau, 0), scaled to sum to one exactly."""
    total = 0.0
    for i in range(v.size):
        out[i] = max(v[i] - tau, 0.0)
        total += out[i]
    if total > 0.0:
        for i in range(v.size):
            out[i] /= total
        return
    out[np.argmax(v)] = 1.0


@compiled
def project_simplex(v: Vector) -> Vector:
    """Argmin ‖p - v‖² over p >= 0, Σ p = 1; v (n,) with n >= 1 and finite entries."""
    active = np.empty(v.size)
    _, tau = shrink(active, near_top(v, active))
    out = np.empty(v.size)
    fill(v, tau, out)
    return out


@compiled
def relative_distance(active: Vector, count: int, tau: float) -> float:
    """‖p - v‖² - ‖v‖² = Σ (tau² - x²) over the entries x > tau of v, for p the projection of v."""
    total = 0.0
    for i in range(count):
        total += (tau - active[i]) * (tau + active[i])
    return total


@compiled
def simplex_distance(v: Vector) -> float:
    """Min ‖p - v‖² - ‖v‖² over the simplex, without forming p."""
    active = np.empty(v.size)
    count, tau = shrink(active, near_top(v, active))
    return relative_distance(active, count, tau)


@compiled
def squared_distance(p: Vector, q: Vector) -> float:
    """‖p - q‖² without a table for the difference."""
    total = 0.0
    for i in range(p.size):
        d = p[i] - q[i]
        total += d * d
    return total
