"""Projections onto D_k over a dense lattice: Algorithm 2 of the paper."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled
from .simplex import relative_distance, shrink

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

TIE = 1e-12
"""Distances closer than this, relative to their size, are a tie, which the lowest index wins."""


@compiled
def better(value: float, best: float) -> bool:
    """Whether `value` is below `best` by more than rounding."""
    return best == np.inf or value < best - TIE * abs(best)


@compiled
def join(
    v: Vector, face: Indices, size: int, stride: int, m: int, tau: float, trial: Vector, count: int
) -> int:
    """Append to `trial` the entries above tau that one more dimension adds to the face.

    X_{S ∪ i} is X_S and m - 1 copies of it shifted by the stride of i. A larger face has a larger
    tau, so what is at or below the old one need not be looked at again.
    """
    for level in range(1, m):
        for j in range(size):
            x = v[face[j] + level * stride]
            if x > tau:
                trial[count] = x
                count += 1
    return count


@compiled
def grow(face: Indices, size: int, stride: int, m: int) -> int:
    """Turn the flat indices of X_S, in the front of `face`, into those of X_{S ∪ i}.

    Returns their number.
    """
    for level in range(1, m):
        for j in range(size):
            face[level * size + j] = face[j] + level * stride
    return size * m


@compiled
def greedy_units(
    v: Vector, strides: Indices, m: Indices, k: int, largest: int, costs: Vector, room: float
) -> Indices:
    """The dimensions that Algorithm 2 picks for v, in the order picked.

    Ties go to the lowest index.

    At most k, whose costs sum to at most `room`. Shapes: v (Π m,), strides, m and costs (n,),
    `largest` the size of the largest face of k dimensions. Beside v it holds two arrays of that
    size, and each candidate costs only the part it adds to the face.
    """
    n = strides.size
    units = np.empty(k, np.int64)
    chosen = np.zeros(n, np.bool_)
    face = np.empty(largest, np.int64)
    active = np.empty(largest)
    trial = np.empty(largest)
    face[0], active[0] = 0, v[0]
    size, count, tau = 1, 1, v[0] - 1.0
    for step in range(k):
        best, pick = np.inf, -1
        for i in range(n):
            if chosen[i] or costs[i] > room:
                continue
            trial[:count] = active[:count]
            joined = join(v, face, size, strides[i], m[i], tau, trial, count)
            kept, raised = shrink(trial, joined)
            distance = relative_distance(trial, kept, raised)
            if pick < 0 or better(distance, best):
                best, pick = distance, i
        if pick < 0:
            return units[:step]
        units[step] = pick
        chosen[pick] = True
        room -= costs[pick]
        count = join(v, face, size, strides[pick], m[pick], tau, active, count)
        count, tau = shrink(active, count)
        size = grow(face, size, strides[pick], m[pick])
    return units
