"""The exact active-set solver for convex quadratics on the simplex cut by a box; a simplex is the box [0, 1].

    passive    the free units, in the order they entered; the others rest, usually at one of their bounds
    factor     L L' = G_PP + sigma 11', the Cholesky factor of the passive units
    residual   r = b - G w, minus half the gradient

With sigma > 0 the weights sum to one: adding sigma 11' then changes the objective by a constant, yet makes the passive
block positive definite as soon as its columns are affinely independent. With sigma = 0 there is no such constraint.
Arrays are updated in place; `count` is the number of passive units.

Sources: Lawson & Hanson 1974, ch. 23; Wolfe 1976, Math. Prog. 11; Nocedal & Wright 2006, ch. 16.
"""

import math

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

EPS = 2.220446049250313e-16
DEPENDENT = 64.0 * EPS  # relative pivot below which a column counts as dependent
ROUNDING = 16.0 * EPS  # relative rounding error granted to one inner product
SPAN = 1e4  # how far sigma may be from the shortest passive column, squared
NEAR = 1e-8  # relative square below which a column counts as the origin itself
AT_BOUND = 1e-14  # weights this close to a bound rest on it
UNBOUNDED = 2.0  # an upper bound that no weight meets


@compiled
def dot(x: Vector, y: Vector, size: int) -> float:
    """Inner product of two leading parts, in four lanes of fixed order.

    x[:size]' y[:size];  x, y: (>= size,).  Source: Higham 2002, ch. 3 (blocked summation).
    """
    a = b = c = d = 0.0
    whole = size - size % 4
    for i in range(0, whole, 4):
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
    for i in range(whole, size):
        a += x[i] * y[i]
    return (a + b) + (c + d)


@compiled
def total(x: Vector) -> float:
    """The sum of a vector."""
    found = 0.0
    for i in range(x.size):
        found += x[i]
    return found


@compiled
def append(G: Matrix, sigma: float, scale: Vector, factor: Matrix, passive: Indices, count: int, unit: int) -> int:
    """Free one unit unless it depends on those that are free; the new count.

    pivot^2 = G_uu + sigma - |L^-1 (G_Pu + sigma)|^2 must exceed min(DEPENDENT (sigma + scale_u), (sigma + G_uu) / 4);
    G, factor: (s, s), scale, passive: (s,), scale the diagonal before centring, whose rounding G has inherited.
    Sources: Golub & Van Loan 2013, sec. 6.5; Higham 2002, sec. 10.3 (breakdown on semi-definite matrices).
    """
    row = factor[count]
    for i in range(count):
        row[i] = (G[unit, passive[i]] + sigma - dot(factor[i], row, i)) / factor[i, i]
    square = G[unit, unit] + sigma - dot(row, row, count)
    if not square > min(DEPENDENT * (sigma + scale[unit]), 0.25 * (sigma + G[unit, unit])):
        return count
    row[count] = math.sqrt(square)
    passive[count] = unit
    return count + 1


@compiled
def remove(factor: Matrix, passive: Indices, count: int, position: int) -> int:
    """Take the unit at one position out of the passive ones; the new count.

    Deleting row k leaves L lower Hessenberg; Givens rotations of the columns (j, j+1), j >= k, make it triangular
    again.  factor: (s, s), passive: (s,).  Source: Golub & Van Loan 2013, sec. 6.5.
    """
    last = count - 1
    cosine, sine = np.empty(last), np.empty(last)
    for i in range(position, last):
        passive[i] = passive[i + 1]
        row, below = factor[i], factor[i + 1]
        for j in range(i + 2):
            row[j] = below[j]
        for j in range(position, i):
            left, right = row[j], row[j + 1]
            row[j] = cosine[j] * left + sine[j] * right
            row[j + 1] = cosine[j] * right - sine[j] * left
        length = math.hypot(row[i], row[i + 1])
        cosine[i], sine[i], row[i] = row[i] / length, row[i + 1] / length, length
    return last


@compiled
def face_step(factor: Matrix, count: int, sigma: float, change: float, x: Vector) -> None:
    """Turn a passive residual into the step to the minimiser of the face, in place.

    (L L') x = r + mu 1, with mu such that 1'x = change if sigma > 0, else mu = 0;  x: (count,), r on entry.
    Source: Boyd & Vandenberghe 2004, sec. 10.1 (equality-constrained quadratic).
    """
    ones = np.empty(count)
    for i in range(count):
        x[i] = (x[i] - dot(factor[i], x, i)) / factor[i, i]
        if sigma > 0.0:
            ones[i] = (1.0 - dot(factor[i], ones, i)) / factor[i, i]
    if sigma > 0.0:
        mu = (change - dot(ones, x, count)) / dot(ones, ones, count)
        for i in range(count):
            x[i] += mu * ones[i]
    for i in range(count - 1, -1, -1):
        x[i] /= factor[i, i]
        for j in range(i):
            x[j] -= x[i] * factor[i, j]


@compiled
def residuals(G: Matrix, b: Vector, w: Vector, residual: Vector) -> None:
    """Recompute the residual: r <- b - G w;  G: (s, s), b, w, residual: (s,)."""
    for i in range(b.size):
        residual[i] = b[i]
    for unit in range(w.size):
        if w[unit] != 0.0:
            weight, row = w[unit], G[unit]
            for i in range(residual.size):
                residual[i] -= weight * row[i]


@compiled
def advance(w: Vector, lo: Vector, hi: Vector, passive: Indices, count: int, step: Vector, longest: float) -> int:
    """Move the passive weights along a step as far as the bounds allow; the position that meets its bound, or -1.

    w_P <- w_P + t step, t <= longest the ratio test;  w, lo, hi, passive: (s,), step: (count,).  The length t is left
    in step[0] where a unit is met, so that a unit that is not passive can follow.
    """
    length, position, wall = longest, -1, 0.0
    for k in range(count):
        unit = passive[k]
        end = w[unit] + longest * step[k]
        if lo[unit] < end < hi[unit]:
            continue
        bound = lo[unit] if end <= lo[unit] else hi[unit]
        ratio = max((bound - w[unit]) / step[k], 0.0) if step[k] != 0.0 else 0.0
        if position < 0 or ratio < length:
            length, position, wall = ratio, k, bound
    for k in range(count):
        unit = passive[k]
        w[unit] = min(max(w[unit] + length * step[k], lo[unit]), hi[unit])
    if position >= 0:
        w[passive[position]] = wall
        step[0] = length
    return position


@compiled
def descend(
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
    """Walk to the minimiser of the passive units, laying down each one that meets a bound.

    Repeats w <- w + min(1, block) (argmin over the face - w);  G, factor: (s, s), the rest (s,).  Returns
    (count, steps); every passive weight is then strictly inside its bounds.
    """
    steps, blocked = 0, True
    while blocked and count > 0:
        step = np.empty(count)
        for k in range(count):
            step[k] = residual[passive[k]]
        face_step(factor, count, sigma, 1.0 - total(w), step)
        position = advance(w, lo, hi, passive, count, step, 1.0)
        blocked = position >= 0
        if blocked:
            count = remove(factor, passive, count, position)
        residuals(G, b, w, residual)
        steps += 1
    return count, steps


@compiled
def slide(
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
    """Move an affinely dependent unit until it or a passive one meets a bound; the new count.

    Along d_u = way, d_P = argmin d'Gd with 1'd = 0 the curvature is negligible.  If a passive unit blocks, the two
    change places; else `unit` rests at its other bound.  G, factor: (s, s), the rest (s,).
    Source: Nocedal & Wright 2006, sec. 16.5 (direction of zero curvature).
    """
    step = np.empty(count)
    for k in range(count):
        step[k] = -way * G[unit, passive[k]]
    face_step(factor, count, sigma, -way, step)
    length = hi[unit] - w[unit] if way > 0.0 else w[unit] - lo[unit]
    position = advance(w, lo, hi, passive, count, step, length)
    length = step[0] if position >= 0 else length
    w[unit] = min(max(w[unit] + way * length, lo[unit]), hi[unit])
    if position < 0:
        return count
    count = remove(factor, passive, count, position)
    return append(G, sigma, scale, factor, passive, count, unit)


@compiled
def freed(
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
    """Free the units strictly inside their bounds and descend on them; dependent ones rest.

    Where all units rest, the one that may go down at the smallest residual is freed.  G, factor: (s, s), the rest (s,).
    Returns (count, steps); the count is 0 where no unit can move.
    """
    count, low = np.int64(0), np.int64(-1)  # a literal would be another type, and compile all that is called again
    for unit in range(w.size):
        if lo[unit] + AT_BOUND < w[unit] < hi[unit] - AT_BOUND:
            count = append(G, sigma, scale, factor, passive, count, unit)
    residuals(G, b, w, residual)
    count, steps = descend(G, b, lo, hi, sigma, factor, passive, count, w, residual)
    if count == 0:
        for i in range(w.size):
            if w[i] > lo[i] + AT_BOUND and (low < 0 or residual[i] < residual[low]):
                low = i
        if low >= 0:
            count = append(G, sigma, scale, factor, passive, count, low)
    return count, steps


@compiled
def uneven(residual: Vector, passive: Indices, count: int) -> tuple[float, float]:
    """The mean of the passive residuals, which they share at the minimiser, and how far one is from it at most.

    residual, passive: (s,), count > 0.
    """
    level, worst = 0.0, 0.0
    for k in range(count):
        level += residual[passive[k]]
    level /= count
    for k in range(count):
        worst = max(worst, abs(residual[passive[k]] - level))
    return level, worst


@compiled
def suited(squares: Vector, scale: Vector, passive: Indices, count: int, unit: int, sigma: float) -> float:
    """Keep sigma, or match it to the shortest free column where it is far off.

    m = min G_ii over the passive ones and `unit`, less the columns at the origin;  sigma if it is within SPAN of m,
    else m.  A sigma far above m drowns the digits of short columns, one far below m loses affine independence.
    squares (G_ii), scale, passive: (s,).
    """
    shortest = np.inf
    for k in range(count + 1):
        i = passive[k] if k < count else unit
        if i >= 0 and NEAR * abs(scale[i]) < squares[i] < shortest:
            shortest = squares[i]
    return sigma if shortest == np.inf or sigma / SPAN <= shortest <= sigma * SPAN else shortest


@compiled
def walk(G: Matrix, b: Vector, lo: Vector, hi: Vector, scale: Vector, w: Vector) -> int:
    """Minimise w'Gw - 2 b'w over 1'w = 1, lo <= w <= hi from the feasible w, in place; how many steps were made.

    Alternates freeing the unit whose slope promises most and descending.  A unit is freed at most once between two
    decreases that exceed rounding, and a step that increases the objective is undone, so the walk cannot cycle.  A last
    step of iterative refinement is kept if it evens out the residuals.  G: (s, s), the rest (s,).
    """
    size = w.size
    factor, passive, residual = np.empty((size, size)), np.empty(size, np.int64), np.empty(size)
    w_old, residual_old = np.empty(size), np.empty(size)
    tried, resting = np.empty(size, np.bool_), np.empty(size, np.bool_)
    squares, norms, error, largest, count = np.empty(size), np.empty(size), np.empty(size), 0.0, np.int64(0)
    for i in range(size):
        tried[i], squares[i] = False, G[i, i]
        norms[i] = math.sqrt(max(squares[i], 0.0))
        largest = max(largest, squares[i])
        if w[i] > 0.0:
            passive[count] = i
            count += 1
    sigma = suited(squares, scale, passive, count, np.int64(-1), largest if largest > 0.0 else 1.0)
    count, steps = freed(G, b, lo, hi, sigma, scale, factor, passive, w, residual)
    while count > 0 and steps < 20 * size + 100:
        level, _ = uneven(residual, passive, count)
        length = dot(norms, w, size)
        for i in range(size):
            error[i] = ROUNDING * (abs(b[i]) + norms[i] * length)
            resting[i] = True
        common = dot(w, error, size)
        for k in range(count):
            resting[passive[k]] = False
        best, unit = 0.0, np.int64(-1)
        for i in range(size):
            error[i] += common
            slope = residual[i] - level
            way_open = w[i] < hi[i] if slope > 0.0 else w[i] > lo[i]
            if resting[i] and not tried[i] and way_open and abs(slope) > max(error[i], best):
                best, unit = abs(slope), i
        if unit < 0:
            break
        tried[unit] = True
        other = suited(squares, scale, passive, count, unit, sigma)
        if other != sigma:
            sigma = other
            count, more = freed(G, b, lo, hi, sigma, scale, factor, passive, w, residual)
            steps += more
            if count == 0:
                break
        way = 1.0 if residual[unit] > level else -1.0
        for i in range(size):
            w_old[i], residual_old[i] = w[i], residual[i]
        grown = append(G, sigma, scale, factor, passive, count, unit)
        if grown == count:  # dependent: move it if the slope beats the curvature
            if best <= 3.0 * min(DEPENDENT * (sigma + scale[unit]), 0.25 * (sigma + squares[unit])):
                continue
            grown = slide(G, lo, hi, sigma, scale, factor, passive, count, w, unit, way)
            residuals(G, b, w, residual)
        count, more = descend(G, b, lo, hi, sigma, factor, passive, grown, w, residual)
        steps += more + 1
        drop = doubt = 0.0
        for i in range(size):
            drop += (w[i] - w_old[i]) * (residual_old[i] + residual[i] - 2.0 * level)
            doubt += 2.0 * abs(w[i] - w_old[i]) * error[i]
        for i in range(size):
            tried[i] = tried[i] and not drop > doubt
            if drop < -doubt:
                w[i] = w_old[i]
        if drop < -doubt or count == 0:
            count, more = freed(G, b, lo, hi, sigma, scale, factor, passive, w, residual)
            steps += more
    if count > 0:
        polish(G, b, lo, hi, sigma, factor, passive, count, w, residual)
    return steps


@compiled
def polish(
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
) -> None:
    """One step of iterative refinement on the passive units, kept only if it evens out their residuals.

    G, factor: (s, s), the rest (s,).  Source: Higham 2002, ch. 12.
    """
    _, before = uneven(residual, passive, count)
    kept, step = np.empty(w.size), np.empty(count)
    for i in range(w.size):
        kept[i] = w[i]
    for k in range(count):
        step[k] = residual[passive[k]]
    face_step(factor, count, sigma, 1.0 - total(w), step)
    position = advance(w, lo, hi, passive, count, step, 1.0)
    residuals(G, b, w, residual)
    if position >= 0 or uneven(residual, passive, count)[1] >= before:
        for i in range(w.size):
            w[i] = kept[i]


@compiled
def box_quadratic(H: Matrix, c: Vector, lo: Vector, hi: Vector, start: Vector) -> tuple[Vector, int]:
    """Minimise a convex quadratic on the simplex cut by a box, exactly to rounding.

    min w'Hw - 2 c'w  subject to  lo <= w <= hi, 1'w = 1;  H: (s, s) symmetric positive semi-definite, c, lo, hi:
    (s,) with 0 <= lo <= hi and 1'lo <= 1 <= 1'hi, start: (s,) where to begin, feasible or not; zeros begin at the best
    vertex where lo is zero.  Returns the weights (s,) and the number of steps.  H = I, c = (1, 0, 0), lo = 0, hi = 0.5
    gives (0.5, 0.25, 0.25).

    The origin is moved to the shortest column, which the sum constraint permits: G_ij = H_ij - H_ir - H_rj + H_rr,
    b_i = c_i - c_r - H_ir + H_rr, r = argmin H_ii.  No column exceeds twice its length then, and an offset common to
    all columns cancels.
    """
    size, r = c.size, 0
    for i in range(size):
        if H[i, i] < H[r, r]:
            r = i
    G, scale, b, top, w = np.empty((size, size)), np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    heaviest = 0.0
    for i in range(size):
        for j in range(size):
            G[i, j] = (H[i, j] - H[i, r]) - (H[r, j] - H[r, r])
        scale[i] = H[i, i]
        b[i] = (c[i] - c[r]) - (H[r, i] - H[r, r])
        top[i] = UNBOUNDED if hi[i] >= 1.0 else hi[i]
        w[i] = min(max(start[i], lo[i]), top[i])
        heaviest = max(heaviest, w[i])
    if heaviest == 0.0:
        best = 0
        for i in range(size):
            if G[i, i] - 2.0 * b[i] < G[best, best] - 2.0 * b[best]:
                best = i
        w[best] = min(1.0, top[best])
    for everyone in range(2):  # what is missing goes to the units that have weight, and to others if they must
        missing, room = 1.0 - total(w), 0.0
        for i in range(size):
            room += (top[i] - w[i] if w[i] > 0.0 or everyone else 0.0) if missing > 0.0 else w[i] - lo[i]
        if abs(missing) > AT_BOUND and room > 0.0:
            part = min(max(missing / room, -1.0), 1.0)
            for i in range(size):
                w[i] += part * ((top[i] - w[i] if w[i] > 0.0 or everyone else 0.0) if missing > 0.0 else w[i] - lo[i])
    steps = walk(G, b, lo, top, scale, w)
    for _ in range(2):  # the last rounding error of the sum goes to the unit with the most room
        roomy = 0
        for i in range(size):
            w[i] = min(w[i], hi[i])
            if min(w[i] - lo[i], top[i] - w[i]) > min(w[roomy] - lo[roomy], top[roomy] - w[roomy]):
                roomy = i
        w[roomy] = min(max(w[roomy] + (1.0 - total(w)), lo[roomy]), hi[roomy])
    return w, steps


def simplex_weights(H: Matrix, c: Vector, start: Vector | None = None) -> Vector:
    """The minimiser of w'Hw - 2 c'w on the simplex, from the best vertex or from `start`.

    >>> simplex_weights(np.eye(2), np.array([1.0, 0.5])).tolist()
    [0.75, 0.25]
    """
    return box_weights(H, c, 0.0, 1.0, np.zeros(len(c)) if start is None else start)


def box_weights(H: Matrix, c: Vector, low: float | Vector, high: float | Vector, start: Vector) -> Vector:
    """The minimiser of w'Hw - 2 c'w on the simplex cut by bounds; arrays of any layout, one compiled signature."""
    low, high = (np.array(np.broadcast_to(x, len(c)), np.float64) for x in (low, high))  # a view is read-only
    H, c, start = (np.ascontiguousarray(x, np.float64) for x in (H, c, start))
    return box_quadratic(H, c, low, high, start)[0]
