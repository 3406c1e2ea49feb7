"""The Lawson-Hanson path among listed units, stopped where units outside the list would do better."""

import math

import numpy as np
import numpy.typing as npt

from ._compile import compiled
from .box_quadratic import ROUNDING, append, descend, dot, residuals

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


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
    w, scale, norms = np.empty(size), np.empty(size), np.empty(size)
    factor, passive, residual = np.empty((size, size)), np.empty(size, np.int64), np.empty(size)
    tried, lo, hi, count = np.empty(size, np.bool_), np.empty(size), np.empty(size), np.int64(0)
    for i in range(size):
        w[i], scale[i], lo[i], hi[i], tried[i] = start[i], H[i, i], 0.0, np.inf, False
        norms[i] = math.sqrt(max(scale[i], 0.0))
    for held in range(size):
        if w[held] == 0.0:
            continue
        grown = append(H, sigma, scale, factor, passive, count, held)
        if grown == count:
            w[held] = 0.0
        count = grown
    residuals(H, c, w, residual)
    floor, entered = 0.0, 0
    while count < limit:
        level = dot(w, residual, size) if sigma > 0.0 else 0.0
        length, best, unit = dot(norms, w, size), 0.0, np.int64(-1)
        for i in range(size):
            slope = residual[i] - level
            error = ROUNDING * (abs(c[i]) + norms[i] * length) * (1.0 if sigma == 0.0 else 2.0)
            if w[i] == 0.0 and not tried[i] and slope > max(error, best):
                best, unit = slope, i
        if unit < 0 or best < floor:
            break
        floor = max(floor, share * best) if entered == 0 else floor
        tried[unit] = True
        entered += 1
        grown = append(H, sigma, scale, factor, passive, count, unit)
        if grown == count:
            continue
        count, _ = descend(H, c, lo, hi, sigma, factor, passive, grown, w, residual)
        for i in range(size):
            tried[i] = tried[i] and not w[unit] > 0.0
    return w, entered
