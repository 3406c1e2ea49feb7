"""Convex quadratics on the simplex with bounds on the weights: a primal active-set method, and its duality gap."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int64]

ROUNDING = 1e-14  # relative rounding error granted to a slope
SINGULAR = 1e-13  # relative singular value below which a face counts as flat


@compiled
def fill(slopes: Vector, lower: Vector, upper: Vector) -> Vector:
    """The vertex of {lower <= w <= upper, 1'w = 1} with the least slopes'w.

    Lower bounds first, then what is left to the least slopes;  all: (s,).  Returns (s,).

    >>> fill(np.array([3.0, 1.0, 2.0]), np.zeros(3), np.full(3, 0.6))
    array([0. , 0.6, 0.4])
    """
    w = lower.copy()
    rest = 1.0 - lower.sum()
    for i in np.argsort(slopes):
        more = min(upper[i] - lower[i], max(rest, 0.0))
        w[i] += more
        rest -= more
    return w


@compiled
def face_move(H: Matrix, residual: Vector, free: Signs) -> Vector:
    """The step to the minimiser over the free weights, their sum kept.

    [H_FF 1; 1' 0] [p; t] = [r_F; 0], least norm if singular;  H: (s, s), residual: (s,), free: (f,) indices.
    Returns (f,).  Source: Nocedal & Wright 2006, sec. 16.1.
    """
    f = free.size
    K = np.zeros((f + 1, f + 1))
    right = np.zeros(f + 1)
    scale = 0.0
    for a in range(f):
        scale = max(scale, H[free[a], free[a]])
    scale = scale if scale > 0.0 else 1.0
    for a in range(f):
        right[a] = residual[free[a]] / scale
        K[a, f] = K[f, a] = 1.0
        for b in range(f):
            K[a, b] = H[free[a], free[b]] / scale
    solution = np.empty(f + 1)
    solution[:] = np.linalg.lstsq(K, right, SINGULAR)[0]
    return solution[:f]


@compiled
def advance(w: Vector, free: Signs, step: Vector, lower: Vector, upper: Vector, side: Signs) -> bool:
    """Walk along a step until it ends or a weight meets its bound, whose side is then recorded.

    w <- w + min(1, block) step;  w, lower, upper, side: (s,), free, step: (f,).  Returns whether it was blocked.
    """
    length, position = 1.0, -1
    for a in range(free.size):
        i = free[a]
        reach = upper[i] - w[i] if step[a] > 0.0 else w[i] - lower[i]
        if abs(step[a]) * length > reach:
            length, position = reach / abs(step[a]), a
    for a in range(free.size):
        w[free[a]] += length * step[a]
    if position >= 0:
        i = free[position]
        side[i] = 1 if step[position] > 0.0 else -1
        w[i] = upper[i] if side[i] > 0 else lower[i]
    return position >= 0


@compiled
def release(residual: Vector, side: Signs, lower: Vector, upper: Vector, doubt: float) -> bool:
    """Free the bounded weight, or the pair of them, that promises the steepest descent.

    Up from a lower bound the promise is r_i - level, down from an upper one level - r_i, where level is the mean
    residual of the free weights; without any, the best of each kind.  All: (s,).  Returns whether there was one.
    """
    total, count = 0.0, 0
    up, down = -1, -1
    for i in range(side.size):
        if side[i] == 0:
            total += residual[i]
            count += 1
        elif lower[i] < upper[i]:
            if side[i] < 0 and (up < 0 or residual[i] > residual[up]):
                up = i
            elif side[i] > 0 and (down < 0 or residual[i] < residual[down]):
                down = i
    if count == 0:
        if up < 0 or down < 0 or residual[up] - residual[down] <= doubt:
            return False
        side[up] = side[down] = 0
        return True
    level = total / count
    rise = residual[up] - level if up >= 0 else 0.0
    fall = level - residual[down] if down >= 0 else 0.0
    if max(rise, fall) <= doubt:
        return False
    side[up if rise >= fall else down] = 0
    return True


@compiled
def box_quadratic(H: Matrix, c: Vector, lower: Vector, upper: Vector) -> tuple[Vector, float]:
    """Minimise a convex quadratic over weights between bounds that sum to one.

    min w'Hw - 2 c'w  subject to  lower <= w <= upper, 1'w = 1;  H: (s, s) psd, c: (s,) in its range, a feasible
    set.  Returns the weights (s,) and a duality gap: no feasible point is lower by more.
    Source: Nocedal & Wright 2006, sec. 16.5;  the gap is Frank and Wolfe's, 2 (Hw - c)'(w - vertex).

    >>> w, gap = box_quadratic(np.eye(3), np.array([9.0, 0.0, 0.0]), np.zeros(3), np.full(3, 0.6))
    >>> w
    array([0.6, 0.2, 0.2])
    """
    size = c.size
    w = fill(np.diag(H) - 2.0 * c, lower, upper)
    side = np.zeros(size, np.int64)
    for i in range(size):
        if w[i] <= lower[i]:
            side[i] = -1
        elif w[i] >= upper[i]:
            side[i] = 1
    doubt = ROUNDING * (np.abs(c).max() + np.abs(H).max())
    for _ in range(100 + 20 * size):
        residual = c - np.dot(H, w)
        free = np.flatnonzero(side == 0)
        if free.size > 1 and advance(w, free, face_move(H, residual, free), lower, upper, side):
            continue
        if not release(c - np.dot(H, w), side, lower, upper, doubt):
            break
    slopes = 2.0 * (np.dot(H, w) - c)
    gap = np.sum(slopes * (w - fill(slopes, lower, upper)))
    return w, max(gap, 0.0)
