"""Projection onto the simplex cut by a box."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]


@compiled
def project_box(v: Vector, low: Vector, high: Vector) -> Vector:
    """argmin ‖q - v‖² over low <= q <= high, Σ q = 1: q = clip(v - tau, low, high).

    It must be feasible.

    Σ clip(v - tau, low, high) falls piecewise linearly in tau with kinks at v - high and v - low:
    the two kinks around 1 are found by bisection on their sorted list, and tau lies on the line
    between. O(s log s). Shapes: v, low, high (s,).
    """
    kinks = np.sort(np.concatenate((v - high, v - low)))
    left, right = 0, kinks.size - 1
    while right - left > 1:
        middle = (left + right) // 2
        if clipped_sum(v, low, high, kinks[middle]) >= 1.0:
            left = middle
        else:
            right = middle
    above, below = clipped_sum(v, low, high, kinks[left]), clipped_sum(v, low, high, kinks[right])
    tau = kinks[left]
    if above > below:
        tau += (above - 1.0) / (above - below) * (kinks[right] - kinks[left])
    q = np.minimum(np.maximum(v - tau, low), high)
    return spread(q, low, high)


@compiled
def clipped_sum(v: Vector, low: Vector, high: Vector, tau: float) -> float:
    """Σ clip(v - tau, low, high)."""
    total = 0.0
    for i in range(v.size):
        total += min(max(v[i] - tau, low[i]), high[i])
    return total


@compiled
def spread(q: Vector, low: Vector, high: Vector) -> Vector:
    """Hand the rounding error of Σ q = 1 to the entries that have room for it."""
    for _ in range(3):
        error = 1.0 - q.sum()
        for i in range(q.size):
            moved = min(max(q[i] + error, low[i]), high[i])
            error -= moved - q[i]
            q[i] = moved
    return q
