"""Local search among the supports in a pool: moves valued by the tableau, then made.

The support holds at most k units, at most `cap` of each group, and always the held ones.  Every move (add, drop,
swap) is first valued as if no further bound were met, then made, and the weights slide to the minimiser on the new
support; it is undone unless it lowers f.
"""

import numpy as np
import numpy.typing as npt

from ._compile import compiled
from .pool_face import INSIDE, Face, Pool, common_level, free_units, into_bounds, settle, slide
from .tableau import FLAT, sync

Vector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

CLOSE = 1e-9  # a smaller relative improvement is none
TRIES = 6  # moves made before a round is given up
SLACK = 1e-12  # how far sums of bounds may miss one


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
