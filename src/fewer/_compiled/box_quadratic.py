"""Exact active-set solver for convex quadratics on the simplex cut by a box.

The walk of `active_set` with two bounds: every unit is either *passive* (free, its column is in the factor) or
rests, usually at one of its bounds.  A resting unit enters upwards if it is below `hi` and its residual is above
the common level of the passive ones, downwards if it is above `lo` and its residual is below.  Lower bounds alone
need no such walk: shifting by `lo` and scaling the rest to one gives the simplex again.
"""

import numpy as np
import numpy.typing as npt

from ._compile import compiled
from .active_set import (
    centre,
    objective_drop,
    refresh,
    rounding_error,
    simplex_quadratic,
    suited_sigma,
    unevenness,
)
from .face_factor import append, dot, face_step, gather, pivot_floor, remove

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

AT_BOUND = 1e-14  # weights this close to a bound rest on it


@compiled
def into_box(start: Vector, lo: Vector, hi: Vector) -> Vector:
    """A point of the simplex and the box near `start`.

    w = clip(start, lo, hi), then what is missing from (or above) one is shared in proportion to the room each
    unit has upwards (downwards);  1'lo <= 1 <= 1'hi;  all: (s,).  Returns (s,).
    """
    w = np.minimum(np.maximum(start, lo), hi)
    missing = 1.0 - w.sum()
    room = hi - w if missing > 0.0 else w - lo
    total = room.sum()
    if total > 0.0:
        w += room * (missing / total)
    return np.minimum(np.maximum(w, lo), hi)


@compiled
def blocking_box(
    w: Vector, lo: Vector, hi: Vector, passive: Indices, count: int, step: Vector, longest: float
) -> tuple[float, int, float]:
    """Longest feasible multiple of a step, the position that stops it, and the bound it meets.

    max t <= longest with lo_P <= w_P + t step <= hi_P;  w, lo, hi, passive: (s,), step: (count,).
    The position is -1 if the whole length stays strictly inside.
    Source: Nocedal & Wright 2006, sec. 16.5 (ratio test).
    """
    length, position, bound = longest, -1, 0.0
    for k in range(count):
        unit = passive[k]
        end = w[unit] + longest * step[k]
        if lo[unit] < end < hi[unit]:
            continue
        wall = lo[unit] if end <= lo[unit] else hi[unit]
        ratio = (wall - w[unit]) / step[k] if step[k] != 0.0 else 0.0
        ratio = max(ratio, 0.0)
        if position < 0 or ratio < length:
            length, position, bound = ratio, k, wall
    return length, position, bound


@compiled
def move_box(w: Vector, lo: Vector, hi: Vector, passive: Indices, count: int, step: Vector, length: float) -> None:
    """Move the passive weights along a step, never out of the box.

    w_P <- clip(w_P + length * step, lo_P, hi_P);  w, lo, hi, passive: (s,), step: (count,).
    """
    for k in range(count):
        unit = passive[k]
        w[unit] = min(max(w[unit] + length * step[k], lo[unit]), hi[unit])


@compiled
def descend_box(
    G: Matrix,
    b: Vector,
    lo: Vector,
    hi: Vector,
    sigma: float,
    factor: Matrix,
    passive: Indices,
    count: int,
    w: Vector,
    residual: Vector,
) -> tuple[int, int]:
    """Walk to the minimiser of the passive face, laying down each unit that meets a bound.

    Repeats  w <- w + min(1, block) (argmin over the face - w);  G, factor: (s, s), the rest (s,).
    Returns (count, steps); every passive weight is then strictly inside its bounds.
    Source: Nocedal & Wright 2006, sec. 16.5.
    """
    steps = 0
    blocked = True
    while blocked and count > 0:
        step = gather(residual, passive, count)
        face_step(factor, count, sigma, 1.0 - w.sum(), step)
        length, position, bound = blocking_box(w, lo, hi, passive, count, step, 1.0)
        move_box(w, lo, hi, passive, count, step, length)
        blocked = position >= 0
        if blocked:
            w[passive[position]] = bound
            count = remove(factor, passive, count, position)
        weigh_in(G, b, w, residual)
        steps += 1
    return count, steps


@compiled
def weigh_in(G: Matrix, b: Vector, w: Vector, residual: Vector) -> None:
    """Recompute the residual from all weights.

    r <- b - G w;  G: (s, s), b, w, residual: (s,).
    """
    held = np.flatnonzero(w)
    refresh(G, b, held, held.size, w, residual)


@compiled
def restart_box(
    G: Matrix,
    b: Vector,
    lo: Vector,
    hi: Vector,
    sigma: float,
    scale: Vector,
    factor: Matrix,
    passive: Indices,
    w: Vector,
    residual: Vector,
) -> tuple[int, int]:
    """Factor the units strictly inside their bounds and descend on them; dependent ones rest where they are.

    G, factor: (s, s), the rest (s,).  Returns (count, steps).
    """
    count = 0
    for unit in np.argsort(-w):
        if lo[unit] + AT_BOUND < w[unit] < hi[unit] - AT_BOUND:
            count = append(G, sigma, scale, factor, passive, count, unit)
    weigh_in(G, b, w, residual)
    return descend_box(G, b, lo, hi, sigma, factor, passive, count, w, residual)


@compiled
def level_box(residual: Vector, passive: Indices, count: int) -> float:
    """The value all passive residuals share at the minimiser of a face: their mean.

    residual, passive: (s,), count > 0.
    """
    total = 0.0
    for k in range(count):
        total += residual[passive[k]]
    return total / count


@compiled
def most_promising_box(
    residual: Vector, level: float, error: Vector, w: Vector, lo: Vector, hi: Vector, resting: Mask, tried: Mask
) -> int:
    """The resting unit whose release promises the steepest descent, upwards or downwards.

    argmax |r_i - level| over resting, untried i with r_i - level > e_i and w_i < hi_i, or < -e_i and w_i > lo_i;
    all: (s,).  Returns -1 if there is none, which is the optimality condition.
    """
    best, unit = 0.0, -1
    for i in range(w.size):
        slope = residual[i] - level
        open_way = w[i] < hi[i] if slope > 0.0 else w[i] > lo[i]
        if resting[i] and not tried[i] and open_way and abs(slope) > max(error[i], best):
            best, unit = abs(slope), i
    return unit


@compiled
def first_passive(
    G: Matrix,
    sigma: float,
    scale: Vector,
    residual: Vector,
    w: Vector,
    lo: Vector,
    factor: Matrix,
    passive: Indices,
) -> int:
    """Free the unit that may go down at the smallest residual, where all units rest.

    argmin r_i over w_i > lo_i + AT_BOUND;  G, factor: (s, s), the rest (s,).  Returns the count, 0 if none may go down.
    """
    unit = -1
    for i in range(w.size):
        if w[i] > lo[i] + AT_BOUND and (unit < 0 or residual[i] < residual[unit]):
            unit = i
    return append(G, sigma, scale, factor, passive, 0, unit) if unit >= 0 else 0


@compiled
def exchange_box(
    G: Matrix,
    lo: Vector,
    hi: Vector,
    sigma: float,
    scale: Vector,
    factor: Matrix,
    passive: Indices,
    count: int,
    w: Vector,
    unit: int,
    way: float,
) -> int:
    """Move an affinely dependent unit until it or a passive unit meets a bound.

    Along d_u = way, d_P = argmin d'Gd with 1'd = 0 the curvature is negligible.  If a passive unit blocks, the two
    change places; else `unit` rests at its other bound.  G, factor: (s, s), the rest (s,).  Returns the count.
    Source: Nocedal & Wright 2006, sec. 16.5 (direction of zero curvature).
    """
    step = np.empty(count)
    for k in range(count):
        step[k] = -way * G[unit, passive[k]]
    face_step(factor, count, sigma, -way, step)
    room = hi[unit] - w[unit] if way > 0.0 else w[unit] - lo[unit]
    length, position, bound = blocking_box(w, lo, hi, passive, count, step, room)
    move_box(w, lo, hi, passive, count, step, length)
    w[unit] = min(max(w[unit] + way * length, lo[unit]), hi[unit])
    if position < 0:
        return count
    w[passive[position]] = bound
    count = remove(factor, passive, count, position)
    return append(G, sigma, scale, factor, passive, count, unit)


@compiled
def polish_box(
    G: Matrix,
    b: Vector,
    lo: Vector,
    hi: Vector,
    sigma: float,
    factor: Matrix,
    passive: Indices,
    count: int,
    w: Vector,
    residual: Vector,
) -> Vector:
    """One step of iterative refinement on the final face, kept only if it helps.

    G, factor: (s, s), the rest (s,).  Returns the weights (s,).  Source: Higham 2002, ch. 12.
    """
    before = unevenness(residual, passive, count, level_box(residual, passive, count))
    step = gather(residual, passive, count)
    face_step(factor, count, sigma, 1.0 - w.sum(), step)
    _, position, _ = blocking_box(w, lo, hi, passive, count, step, 1.0)
    refined = w.copy()
    move_box(refined, lo, hi, passive, count, step, 1.0)
    weigh_in(G, b, refined, residual)
    after = unevenness(residual, passive, count, level_box(residual, passive, count))
    return refined if position < 0 and after < before else w


@compiled
def rest_of(passive: Indices, count: int, size: int) -> Mask:
    """Which units are not passive.

    passive: (s,).  Returns (s,).
    """
    resting = np.ones(size, np.bool_)
    for k in range(count):
        resting[passive[k]] = False
    return resting


@compiled
def walk_box(
    G: Matrix, b: Vector, lo: Vector, hi: Vector, sigma: float, scale: Vector, w: Vector
) -> tuple[Vector, int]:
    """Minimise w'Gw - 2 b'w over 1'w = 1, lo <= w <= hi, starting at the feasible w.

    Alternates releasing the most promising unit and descending on the face.  A unit is released at most once
    between two decreases that exceed rounding, and a step that increases the objective is undone, so the walk
    cannot cycle.  G: (s, s), the rest (s,).  Returns (w, steps).
    """
    size = w.size
    factor, passive, residual = np.empty((size, size)), np.empty(size, np.int64), np.empty(size)
    tried = np.zeros(size, np.bool_)
    norms = np.sqrt(np.maximum(np.diag(G), 0.0))
    count, steps = restart_box(G, b, lo, hi, sigma, scale, factor, passive, w, residual)
    while steps < 20 * size + 100:
        if count == 0:
            count = first_passive(G, sigma, scale, residual, w, lo, factor, passive)
            if count == 0:
                break
            tried[:] = False  # the level is another one
        level = level_box(residual, passive, count)
        error = rounding_error(b, norms, w, sigma)
        unit = most_promising_box(residual, level, error, w, lo, hi, rest_of(passive, count, size), tried)
        if unit < 0:
            break
        tried[unit] = True
        way = 1.0 if residual[unit] > level else -1.0
        w_old, residual_old = w.copy(), residual.copy()
        grown = append(G, sigma, scale, factor, passive, count, unit)
        if grown == count:  # dependent: move it if the slope beats the curvature
            if abs(residual[unit] - level) <= 3.0 * pivot_floor(G, sigma, scale, unit):
                continue
            grown = exchange_box(G, lo, hi, sigma, scale, factor, passive, count, w, unit, way)
            weigh_in(G, b, w, residual)
        count, more = descend_box(G, b, lo, hi, sigma, factor, passive, grown, w, residual)
        steps += more + 1
        drop = objective_drop(w_old, w, residual_old, residual, level)
        doubt = 2.0 * dot(np.abs(w - w_old), error, size)
        if drop > doubt:
            tried[:] = False
        elif drop < -doubt:
            w[:] = w_old
            count, more = restart_box(G, b, lo, hi, sigma, scale, factor, passive, w, residual)
            steps += more
    if count > 0:
        w = polish_box(G, b, lo, hi, sigma, factor, passive, count, w, residual)
    return w, steps


@compiled
def summed_to_one(w: Vector, lo: Vector, hi: Vector) -> Vector:
    """Give the last rounding error of the sum to the unit with the most room on both sides.

    w_i += 1 - 1'w,  i = argmax min(w_i - lo_i, hi_i - w_i);  all: (s,).  Returns (s,).
    """
    w = w.copy()
    roomy = np.argmax(np.minimum(w - lo, hi - w))
    w[roomy] = min(max(w[roomy] + (1.0 - w.sum()), lo[roomy]), hi[roomy])
    return w


@compiled
def box_quadratic(H: Matrix, c: Vector, lo: Vector, hi: Vector, start: Vector) -> tuple[Vector, int]:
    """Minimise a convex quadratic on the simplex cut by a box, exactly to rounding.

    min w'Hw - 2 c'w  subject to  lo <= w <= hi, 1'w = 1;  H: (s, s) symmetric positive semi-definite, c, lo, hi:
    (s,) with 0 <= lo <= hi and 1'lo <= 1 <= 1'hi, start: (s,) where to begin, feasible or not.  Where no upper
    bound can bind, w = lo + (1 - 1'lo) y with y on the simplex.  Returns the weights (s,) and the number of face
    minimisations.  H = I, c = (1, 0, 0), lo = 0, hi = 0.5 gives (0.5, 0.25, 0.25).
    Source: Nocedal & Wright 2006, ch. 16 (active-set methods for convex quadratics).
    """
    rest = 1.0 - lo.sum()
    if rest <= 0.0:
        return lo.copy(), 0
    if np.all(hi - lo >= rest):
        shifted = c - H @ lo if lo.max() > 0.0 else c
        y, steps = simplex_quadratic(H, shifted / rest, np.maximum((start - lo) / rest, 0.0))
        return np.minimum(lo + rest * y, hi), steps
    G, b = centre(H, c)
    squares = np.diag(G).copy()
    scale = np.diag(H).copy()
    sigma = squares.max() if squares.max() > 0.0 else 1.0
    sigma = suited_sigma(squares, scale, sigma, hi, -1)
    w, steps = walk_box(G, b, lo, hi, sigma, scale, into_box(start, lo, hi))
    return summed_to_one(w, lo, hi), steps
