"""Local search among the supports in a pool of units whose Gram matrix is at hand.

A `Pool` holds the problem, a `Face` one support on the move; arrays of a face are updated in place.

    f(w) = w'Gw - 2 b'w,  1'w = 1,  lo <= w <= hi on the support, w = 0 elsewhere

The support holds at most k units, at most `cap` of each group, and always the held ones.  Every move (add, drop,
swap) is first valued by the tableau as if no further bound were met, then made, and the weights slide to the
minimiser on the new support by pivots.  Units that reach zero leave the support unless they are held.
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
CLOSE = 1e-9  # a smaller relative improvement is none
TRIES = 6  # moves refitted before a round is given up
DRIFT = 1e-9  # a step this small ends a walk
RESTING = 1e-13  # slope, relative to the unit's own curvature, that does not move a resting unit
SLACK = 1e-12  # how far sums of bounds may miss one


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
    return step - step.mean()


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
            low = i
    if not face.swept[p]:
        if low < 0:
            return False
        level = face.residual[low]
    for i in np.flatnonzero(face.inside):
        slope = face.residual[i] - level
        way = face.w[i] < pool.hi[i] - INSIDE if slope > 0.0 else face.w[i] > pool.lo[i] + INSIDE
        curved = face.tableau[i, i] > FLAT * pool.K[i, i]
        if not face.swept[i] and way and curved and abs(slope) > max(best, RESTING * pool.K[i, i]):
            best, unit = abs(slope), i
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
    p = face.w.size
    if face.swept[:p].sum() > 1:
        sweep(face.tableau, face.swept, unit)
    else:
        rebuild(pool.K, face.tableau, face.swept, np.zeros(p, np.bool_))


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


@compiled
def counts(pool: Pool, face: Face) -> Indices:
    """How many units of each group are inside.

    Returns (p + 1,).
    """
    used = np.zeros(face.w.size + 1, np.int64)
    for unit in np.flatnonzero(face.inside):
        used[pool.group[unit]] += 1
    return used


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
def lone(pool: Pool, face: Face, i: int) -> bool:
    """Whether unit i is the only free one, so that its weight cannot change by itself."""
    return i >= 0 and face.swept[i] and -face.tableau[i, i] * pool.K[i, i] <= FLAT


@compiled
def leaving_terms(pool: Pool, face: Face, level: float, i: int) -> tuple[float, float, float]:
    """What forcing unit i to zero adds to the value of entering t of unit j, as (A, B, C); i = -1 stands for none.

    A x^2 t^2 - 2 B x t + C  with x = T_ij.  Free i:  (w_i - x t)^2 / -T_ii, and 0 if lone, as x t = w_i then.
    Resting i:  the Schur complement of the pair (i, j) at u = -w_i.
    """
    if i < 0 or lone(pool, face, i):
        return 0.0, 0.0, 0.0
    weight = face.w[i]
    if face.swept[i]:
        stiffness = -1.0 / face.tableau[i, i]
        return stiffness, stiffness * weight, stiffness * weight * weight
    slope = face.residual[i] - level
    return 0.0, weight, weight * (2.0 * slope + face.tableau[i, i] * weight)


@compiled
def entering_terms(pool: Pool, face: Face, level: float) -> tuple[Vector, Vector]:
    """Curvature and slope of entering each unit, the free weights responding: t^2 T_jj - 2 t (r_j - level).

    Returns two (p,).
    """
    slope = face.residual - level
    curvature = np.empty(slope.size)
    for j in range(slope.size):
        curvature[j] = max(face.tableau[j, j], 1e-14 * pool.K[j, j])
    return curvature, slope


@compiled
def move_value(
    lo: float, hi: float, terms: tuple[float, float, float], curvature: float, slope: float, response: float
) -> tuple[float, float]:
    """Change of f by a move (i out, j in), no further bound met, and the weight t of j.

    min over lo <= t <= hi of a t^2 - 2 b t + C,  a = T_jj + A T_ij^2,  b = r_j - level + B T_ij.  Exact where all
    other weights stay free.  Curvature 1, slope 0.5, nothing out, hi = 1: t = 0.5 and the value -0.25.
    """
    a = curvature + terms[0] * response * response
    b = slope + terms[1] * response
    t = b / a
    t = lo if t < lo else t
    t = hi if t > hi else t
    return terms[2] + t * (a * t - 2.0 * b), t


@compiled
def allowed(pool: Pool, used: Indices, count: int, sums: tuple[float, float], i: int, j: int) -> bool:
    """Whether the move (i out, j in) keeps the budget, the group caps and the bounds feasible."""
    lows, highs = sums
    if i >= 0:
        lows, highs, count = lows - pool.lo[i], highs - pool.hi[i], count - 1
    if j >= 0:
        lows, highs, count = lows + pool.lo[j], highs + pool.hi[j], count + 1
        same = i >= 0 and pool.group[i] == pool.group[j]
        if used[pool.group[j]] >= pool.cap and not same:
            return False
    return 0 < count <= pool.k and lows <= 1.0 + SLACK and highs >= 1.0 - SLACK


@compiled
def insert(out: Indices, enter: Indices, values: Vector, i: int, j: int, value: float) -> None:
    """Keep a move in its place of the sorted list, in place; the worst one falls out.

    out, enter, values: (TRIES,), value < values[-1].
    """
    place = values.size - 1
    while place > 0 and value < values[place - 1]:
        out[place], enter[place], values[place] = out[place - 1], enter[place - 1], values[place - 1]
        place -= 1
    out[place], enter[place], values[place] = i, j, value


@compiled
def tied(pool: Pool, face: Face, i: int) -> bool:
    """Whether no free weight can take up what unit i leaves, so that the unit that enters takes it all."""
    return not face.swept[face.w.size] or lone(pool, face, i)


@compiled
def candidates(face: Face, barred: Mask, curvature: Vector, slope: Vector) -> tuple[Indices, Vector]:
    """The units that may enter, best first, and what each gains were it free to enter with nothing leaving.

    (r_j - level)^2 / T_jj, 0 where the slope is not positive;  barred, curvature, slope: (p,).
    """
    units = np.flatnonzero(~face.inside & ~barred)
    rise = np.maximum(slope[units], 0.0)
    gain = rise * rise / curvature[units]
    order = np.argsort(-gain)
    return units[order], gain[order]


@compiled
def best_moves(pool: Pool, face: Face, barred: Mask, tol: float) -> tuple[Indices, Indices]:
    """The TRIES moves of lowest value below -tol, best first: (out, in), -1 for none.

    Units of `barred` (p,) may not enter.  Where unit i is free, no swap with j gains more than j alone would, so
    candidates are passed over from the first that could not enter the list.
    """
    out, enter, values = np.full(TRIES, -1), np.full(TRIES, -1), np.full(TRIES, -tol)
    units = np.flatnonzero(face.inside)
    level, used = common_level(face), counts(pool, face)
    sums = pool.lo[units].sum(), pool.hi[units].sum()
    curvature, slope = entering_terms(pool, face, level)
    others, gain = candidates(face, barred, curvature, slope)
    for a in range(0 if units.size >= pool.k else -1, units.size):
        i = units[a] if a >= 0 else -1
        if i >= 0 and pool.held[i]:
            continue
        terms, bound = leaving_terms(pool, face, level, i), tied(pool, face, i)
        weight, sure = face.w[i] if i >= 0 else 0.0, not bound and (i < 0 or face.swept[i])
        for e in range(others.size):
            if sure and gain[e] <= -values[TRIES - 1]:
                break
            j = others[e]
            low, high = (weight, weight) if bound else (pool.lo[j], pool.hi[j])
            value, _ = move_value(low, high, terms, curvature[j], slope[j], face.tableau[max(i, 0), j])
            if value < values[TRIES - 1] and allowed(pool, used, units.size, sums, i, j):
                insert(out, enter, values, i, j, value)
        if i >= 0 and not bound and terms[2] < values[TRIES - 1] and allowed(pool, used, units.size, sums, i, -1):
            insert(out, enter, values, i, -1, terms[2])
    return out, enter


@compiled
def shift(pool: Pool, face: Face, i: int, j: int) -> bool:
    """Make the move (i out, j in) on the weights; whether the result is surely the minimiser of the new face.

    Free weights respond by the tableau.  It is sure where all of them stay inside their bounds and no unit rests.
    """
    T, w, p = face.tableau, face.w, face.w.size
    level = common_level(face)
    t = 0.0
    if j >= 0:
        low, high = pool.lo[j], pool.hi[j]
        if tied(pool, face, i):
            low = high = w[i] if i >= 0 else 0.0
        curvature, slope = entering_terms(pool, face, level)
        terms = leaving_terms(pool, face, level, i)
        _, t = move_value(low, high, terms, curvature[j], slope[j], T[max(i, 0), j])
    sure = face.swept[p] and (j < 0 or pool.lo[j] + INSIDE < t < pool.hi[j] - INSIDE)
    pushed = 0.0
    if i >= 0:
        response = T[i, j] if j >= 0 else 0.0
        pushed = w[i]
        if face.swept[i]:
            pushed = 0.0 if lone(pool, face, i) else (w[i] - response * t) / -T[i, i]
    for u in range(p):
        if face.swept[u] and u != i:
            w[u] += (T[u, i] * pushed if i >= 0 else 0.0) - (T[u, j] * t if j >= 0 else 0.0)
            sure = sure and pool.lo[u] + INSIDE < w[u] < pool.hi[u] - INSIDE
        elif face.inside[u] and u != i:
            sure = False
    if i >= 0:
        w[i], face.inside[i] = 0.0, False
    if j >= 0:
        w[j], face.inside[j] = t, True
    return sure


@compiled
def attempt(pool: Pool, face: Face, i: int, j: int, f: float, tol: float) -> float:
    """Make the move (i out, j in) and slide; undone unless it lowers f by more than tol.  Returns f."""
    w_old, inside_old, residual_old = face.w.copy(), face.inside.copy(), face.residual.copy()
    if not shift(pool, face, i, j):
        face.w[:] = w_old
        if i >= 0 and j >= 0:
            face.w[j] = w_old[i]
        into_bounds(pool, face)
    free = face.swept[: face.w.size] & face.inside
    if j >= 0:
        free[j] = True
    sync(pool.K, face.tableau, face.swept, free)
    after = slide(pool, face)
    if after < f - tol:
        return after
    face.w[:], face.inside[:], face.residual[:] = w_old, inside_old, residual_old
    sync(pool.K, face.tableau, face.swept, free_units(pool, face))
    return f


@compiled
def tolerance(pool: Pool, f: float) -> float:
    """The improvement of f that counts: CLOSE relative to F, and above rounding."""
    return max(CLOSE * (f + pool.constant), pool.noise)


@compiled
def exchange(pool: Pool, face: Face, f: float, barred: Mask, limit: int) -> tuple[float, int]:
    """Best moves until none helps, at most `limit`; units of `barred` (p,) may not enter.  Returns (f, moves made)."""
    made = 0
    while made < limit:
        tol = tolerance(pool, f)
        out, enter = best_moves(pool, face, barred, tol)
        before = f
        for a in range(TRIES):
            if f < before or (out[a] < 0 and enter[a] < 0):
                break
            f = attempt(pool, face, out[a], enter[a], f, tol)
        if f == before:
            break
        made += 1
    return f, made


@compiled
def scramble(pool: Pool, face: Face, order: Indices, count: int, fill: bool) -> bool:
    """Replace `count` units of the support, in place; whether the new support is feasible.

    order: (p,) a permutation.  The first `count` units of it that are inside and not held leave; then the last
    ones that fit come in: as many if `fill`, else only what feasibility asks for.
    """
    left = 0
    for unit in order:
        if left < count and face.inside[unit] and not pool.held[unit]:
            face.inside[unit] = False
            face.w[unit] = 0.0
            left += 1
    used = counts(pool, face)
    inside = np.flatnonzero(face.inside)
    size, lows, highs = inside.size, pool.lo[inside].sum(), pool.hi[inside].sum()
    for unit in order[::-1]:
        if size >= pool.k or (highs >= 1.0 - SLACK and size > 0 and (left <= 0 or not fill)):
            break
        fits = used[pool.group[unit]] < pool.cap and lows + pool.lo[unit] <= 1.0 + SLACK
        if not face.inside[unit] and fits:
            face.inside[unit] = True
            used[pool.group[unit]] += 1
            size, lows, highs, left = size + 1, lows + pool.lo[unit], highs + pool.hi[unit], left - 1
    return size > 0 and highs >= 1.0 - SLACK


@compiled
def stand(pool: Pool, face: Face) -> float:
    """Slide on a support that was chosen by hand: newcomers begin with a fair share.  Returns f."""
    share = 1.0 / max(1, face.inside.sum())
    for unit in np.flatnonzero(face.inside):
        if face.w[unit] == 0.0:
            face.w[unit] = share
    total = face.w.sum()
    face.w[:] = face.w / total
    into_bounds(pool, face)
    sync(pool.K, face.tableau, face.swept, free_units(pool, face))
    return slide(pool, face)


@compiled
def go_back(pool: Pool, face: Face, w: Vector, inside: Mask) -> None:
    """Return to an earlier support and its weights, (p,) each."""
    face.w[:], face.inside[:] = w, inside
    settle(pool, face)
    sync(pool.K, face.tableau, face.swept, free_units(pool, face))


@compiled
def block_swap(pool: Pool, face: Face, size: int) -> None:
    """Put the `size` steepest units in place of the lightest ones, on the support only.

    Steepest by (r_j - level)^2 / T_jj.
    """
    curvature, slope = entering_terms(pool, face, common_level(face))
    gain = np.where(face.inside | (slope <= 0.0), 0.0, -slope * slope / curvature)
    weight = np.where(face.inside & ~pool.held, face.w, np.inf)
    light, steep = np.argsort(weight), np.argsort(gain)
    for a in range(min(size, light.size)):
        if gain[steep[a]] < 0.0 and weight[light[a]] < np.inf:
            face.inside[light[a]], face.w[light[a]] = False, 0.0
            face.inside[steep[a]] = True
