"""The Lawson-Hanson path among listed units, stopped where units outside the list would do better."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled
from .active_set import descend, level_of, refresh, rounding_error
from .face_factor import append

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@compiled
def steepest(residual: Vector, level: float, error: Vector, w: Vector, tried: npt.NDArray[np.bool_]) -> int:
    """The untried unit at zero with the largest residual above the level and its rounding error, or -1.

    argmax r_i - level;  all: (s,).
    """
    best, unit = 0.0, -1
    for i in range(w.size):
        slope = residual[i] - level
        if w[i] == 0.0 and not tried[i] and slope > error[i] and slope > best:
            best, unit = slope, i
    return unit


@compiled
def climb(H: Matrix, c: Vector, sigma: float, start: Vector, limit: int, share: float) -> tuple[Vector, int]:
    """Walk towards min w'Hw - 2 c'w over w >= 0 (and 1'w = 1 if sigma > 0), one steepest unit at a time.

    Stops at `limit` passive units, or once the steepest slope is below `share` of the first one.  H: (s, s)
    symmetric positive semi-definite, c: (s,), start: (s,) weights whose non-zeros are independent and are the
    minimiser of their face.  Returns the weights (s,) and the number of units that entered.
    H = I, c = (3, 2, 1), sigma = 0, limit = 2 gives (3, 2, 0).
    Source: Lawson & Hanson 1974, algorithm NNLS.
    """
    size = c.size
    w = start.copy()
    factor, passive, residual = np.empty((size, size)), np.empty(size, np.int64), np.empty(size)
    tried = np.zeros(size, np.bool_)
    scale = np.diag(H).copy()
    norms = np.sqrt(np.maximum(scale, 0.0))
    count = 0
    for held in np.flatnonzero(w):
        grown = append(H, sigma, scale, factor, passive, count, int(held))
        if grown == count:
            w[held] = 0.0
        count = grown
    refresh(H, c, passive, count, w, residual)
    floor, entered = 0.0, 0
    while count < limit:
        level = level_of(w, residual, sigma)
        unit = steepest(residual, level, rounding_error(c, norms, w, sigma), w, tried)
        if unit < 0 or residual[unit] - level < floor:
            break
        floor = max(floor, share * (residual[unit] - level)) if entered == 0 else floor
        tried[unit] = True
        entered += 1
        grown = append(H, sigma, scale, factor, passive, count, unit)
        if grown == count:
            continue
        count, _ = descend(H, c, sigma, factor, passive, grown, w, residual)
        if w[unit] > 0.0:
            tried[:] = False
    return w, entered
