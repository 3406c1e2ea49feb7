"""A pool of units whose Gram matrix is at hand, a support in it, and the walk to the best weights on that support.

A `Pool` holds the problem, a `Face` one support on the move; arrays of a face are updated in place.

    f(w) = w'Gw - 2 b'w,  1'w = 1,  lo <= w <= hi on the support, w = 0 elsewhere

The swept units of the tableau are the free ones; the rest of the support rests, usually at bounds.  Units that
reach zero leave the support unless they are held.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._compile import compiled
from .tableau import FLAT, rebuild, sweep, sync

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

INSIDE = 1e-13  # a weight this far from its bounds is free
DRIFT = 1e-9  # a step this small ends a walk
RESTING = 1e-13  # slope, relative to the unit's own curvature, that does not move a resting unit


class Pool(NamedTuple):
    """The problem on p units: G, b, the bounds, the groups, and K (the bordered G).  F = f + constant."""

    G: Matrix  # (p, p)
    b: Vector  # (p,)
    K: Matrix  # (p + 1, p + 1)
    lo: Vector  # (p,)
    hi: Vector  # (p,)
    group: Indices  # (p,), codes in 0..p
    held: Mask  # (p,)
    cap: int
    k: int
    constant: float
    noise: float  # rounding error of f


class Face(NamedTuple):
    """A support on the move: its weights, the residual b - Gw of all units, and the tableau."""

    inside: Mask  # (p,)
    w: Vector  # (p,)
    residual: Vector  # (p,)
    tableau: Matrix  # (p + 1, p + 1)
    swept: Mask  # (p + 1,)


@compiled
def settle(pool: Pool, face: Face) -> float:
    """Recompute the residual of a face and return f.

    r = b - Gw, f = -w'(b + r).
    """
    held = np.flatnonzero(face.w)
    face.residual[:] = pool.b
    for unit in held:
        weight, row = face.w[unit], pool.G[unit]
        for i in range(row.size):
            face.residual[i] -= weight * row[i]
    total = 0.0
    for unit in held:
        total -= face.w[unit] * (pool.b[unit] + face.residual[unit])
    return total


@compiled
def free_units(pool: Pool, face: Face) -> Mask:
    """Which units are strictly inside their bounds.

    Returns (p,).
    """
    return face.inside & (face.w > pool.lo + INSIDE) & (face.w < pool.hi - INSIDE)


@compiled
def common_level(face: Face) -> float:
    """The mean residual of the swept units: the multiplier of the sum constraint; 0 if none is swept."""
    total, count = 0.0, 0
    for i in range(face.w.size):
        if face.swept[i]:
            total += face.residual[i]
            count += 1
    return total / count if count else 0.0


@compiled
def into_bounds(pool: Pool, face: Face) -> None:
    """Bring the weights of the support into their bounds and to sum one, in place.

    w = clip(w, lo, hi), then what is missing from (or above) one is shared in proportion to the room each unit
    has upwards (downwards).
    """
    units = np.flatnonzero(face.inside)
    w = np.minimum(np.maximum(face.w[units], pool.lo[units]), pool.hi[units])
    missing = 1.0 - w.sum()
    room = pool.hi[units] - w if missing > 0.0 else w - pool.lo[units]
    if missing != 0.0 and room.sum() > 0.0:
        w += room * (missing / room.sum())
    face.w[:] = 0.0
    face.w[units] = w


@compiled
def step_of(pool: Pool, face: Face, units: Indices) -> Vector:
    """The step to the minimiser of the swept face: -T_FF r_F with r = b - Gw.

    units: (s,) the swept ones.  Returns (s,), sum zero to rounding.
    """
    held = np.flatnonzero(face.w)
    r = pool.b[units].copy()
    for a in range(units.size):
        row, total = pool.G[units[a]], 0.0
        for unit in held:
            total += row[unit] * face.w[unit]
        r[a] -= total
    r -= r.mean()
    step = np.zeros(units.size)
    for a in range(units.size):
        row, total = face.tableau[units[a]], 0.0
        for e in range(units.size):
            total -= row[units[e]] * r[e]
        step[a] = total
    step -= step.mean()
    return step


@compiled
def advance(pool: Pool, face: Face, units: Indices, step: Vector) -> int:
    """Move the swept weights along a step as far as the bounds allow; the unit that stops it rests, -1 if none.

    units, step: (s,).  Source: Nocedal & Wright 2006, sec. 16.5 (ratio test).
    """
    length, stop, wall = 1.0, -1, 0.0
    for a in range(units.size):
        unit = units[a]
        end = face.w[unit] + step[a]
        if pool.lo[unit] < end < pool.hi[unit] or step[a] == 0.0:
            continue
        bound = pool.lo[unit] if step[a] < 0.0 else pool.hi[unit]
        ratio = max((bound - face.w[unit]) / step[a], 0.0)
        if stop < 0 or ratio < length:
            length, stop, wall = ratio, unit, bound
    for a in range(units.size):
        unit = units[a]
        face.w[unit] = min(max(face.w[unit] + length * step[a], pool.lo[unit]), pool.hi[unit])
    if stop >= 0:
        face.w[stop] = wall
        face.inside[stop] = wall > 0.0 or pool.held[stop]
    return stop


@compiled
def release(pool: Pool, face: Face) -> bool:
    """Sweep in the resting unit of the support that gains most by leaving its bound; whether there was one.

    r_i - level > 0 below hi_i, or < 0 above lo_i, beyond rounding.  With nothing swept, the pair that gains most
    is freed.
    """
    p = face.w.size
    settle(pool, face)
    level, best, unit, low = common_level(face), 0.0, -1, -1
    for i in np.flatnonzero(face.inside):
        if face.w[i] > pool.lo[i] + INSIDE and (low < 0 or face.residual[i] < face.residual[low]):
            low = int(i)
    if not face.swept[p]:
        if low < 0:
            return False
        level = face.residual[low]
    for i in np.flatnonzero(face.inside):
        slope = face.residual[i] - level
        way = face.w[i] < pool.hi[i] - INSIDE if slope > 0.0 else face.w[i] > pool.lo[i] + INSIDE
        curved = face.tableau[i, i] > FLAT * pool.K[i, i]
        if not face.swept[i] and way and curved and abs(slope) > max(best, RESTING * pool.K[i, i]):
            best, unit = abs(slope), int(i)
    if unit < 0:
        return False
    if not face.swept[p]:
        sweep(face.tableau, face.swept, low)
        sweep(face.tableau, face.swept, p)
        if face.tableau[unit, unit] <= FLAT * pool.K[unit, unit]:
            return False
    sweep(face.tableau, face.swept, unit)
    return True


@compiled
def lay_down(pool: Pool, face: Face, unit: int) -> None:
    """Sweep out a unit that met its bound; with the last one the border goes too, in place."""
    free = face.swept[: face.w.size].copy()
    free[unit] = False
    sync(pool.K, face.tableau, face.swept, free)


@compiled
def slide(pool: Pool, face: Face) -> float:
    """Walk to the minimiser on the support by pivots, from feasible weights.  Returns f.

    Steps to the minimiser of the swept face, laying down each unit that meets a bound, then releasing resting
    ones.  A last step that is not small says that the tableau has drifted: it is then built anew, once.
    """
    p = face.w.size
    bounded = pool.lo.max() > 0.0 or pool.hi.min() < 1.0 or pool.held.any()
    fresh = False
    for turn in range(4 * face.inside.sum() + 20):
        units = np.flatnonzero(face.swept[:p])
        step = step_of(pool, face, units) if units.size > 1 else np.zeros(units.size)
        stop = advance(pool, face, units, step)
        if stop >= 0:
            lay_down(pool, face, stop)
            continue
        size = np.abs(step).max() if units.size else 0.0
        if size > DRIFT and turn > 0 and not fresh:
            step = step_of(pool, face, units)
            if np.abs(step).max() > 0.5 * size:
                rebuild(pool.K, face.tableau, face.swept, face.swept[:p].copy())
                fresh = True
        if size > DRIFT:
            continue
        if not bounded or not release(pool, face):
            break
    return settle(pool, face)
