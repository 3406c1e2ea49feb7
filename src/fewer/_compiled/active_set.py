"""Exact active-set solvers for convex quadratics: on the simplex, and on the orthant.

Both solvers are the same walk (Lawson & Hanson 1974, ch. 23; Wolfe 1976) over faces:

    passive face   the units allowed to be non-zero, in the order they entered
    factor         L L' = G_PP + sigma 11', the Cholesky factor of the passive face
    residual       r = b - G w, minus half the gradient

`sigma` is the only switch.  With sigma > 0 the weights sum to one: adding sigma 11'
then changes the objective by a constant, yet makes the passive block positive definite
as soon as its columns are affinely independent.  With sigma = 0 there is no such
constraint.  Arrays named `factor`, `passive`, `w` and `residual` are updated in place;
`count` is the number of passive units, and only that much of `factor` and `passive`
is meaningful.
"""

import numpy as np
import numpy.typing as npt

from ._compile import compiled
from .face_factor import EPS, append, blocking, dot, face_step, gather, move, pivot_floor, remove, seed

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ROUNDING = 16.0 * EPS  # relative rounding error granted to one inner product
SPAN = 1e4  # how far sigma may be from the shortest passive column, squared
NEAR = 1e-8  # relative square below which a column counts as the origin itself


@compiled
def suited_sigma(squares: Vector, scale: Vector, sigma: float, w: Vector, unit: int) -> float:
    """Keep sigma, or match it to the shortest passive column if it is far off.

    m = min G_ii over w_i > 0 and i = unit, less the columns at the origin;  sigma if it
    is 0 or within SPAN of m, else m.  A sigma far above m drowns the digits of short
    columns, one far below m loses affine independence.  squares (G_ii), scale, w: (s,).
    """
    shortest = np.inf
    for i in range(w.size):
        if (w[i] > 0.0 or i == unit) and NEAR * abs(scale[i]) < squares[i] < shortest:
            shortest = squares[i]
    if sigma == 0.0 or shortest == np.inf:
        return sigma
    return sigma if sigma / SPAN <= shortest <= sigma * SPAN else shortest


@compiled
def refresh(G: Matrix, b: Vector, passive: Indices, count: int, w: Vector, residual: Vector) -> None:
    """Recompute the residual from the passive weights.

    r <- b - sum_{i in P} w_i G_i;  G: (s, s), b, passive, w, residual: (s,).

    """
    residual[:] = b
    for k in range(count):
        unit = passive[k]
        weight, row = w[unit], G[unit]
        for i in range(residual.size):
            residual[i] -= weight * row[i]


@compiled
def descend(
    G: Matrix, b: Vector, sigma: float, factor: Matrix, passive: Indices, count: int, w: Vector, residual: Vector
) -> tuple[int, int]:
    """Walk to the minimiser of the passive face, dropping each unit that reaches zero.

    Repeats  w <- w + min(1, block) (argmin over the face - w);  G, factor: (s, s),
    b, passive, w, residual: (s,).  Returns (count, steps); every passive weight is
    then positive.  Source: Lawson & Hanson 1974, algorithm NNLS.
    """
    steps = 0
    blocked = True
    while blocked and count > 0:
        step = gather(residual, passive, count)
        face_step(factor, count, sigma, 1.0 - w.sum(), step)
        length, position = blocking(w, passive, count, step, 1.0)
        move(w, passive, count, step, length)
        blocked = position >= 0
        if blocked:
            w[passive[position]] = 0.0
            count = remove(factor, passive, count, position)
        refresh(G, b, passive, count, w, residual)
        steps += 1
    return count, steps


@compiled
def restart(
    G: Matrix,
    b: Vector,
    sigma: float,
    scale: Vector,
    factor: Matrix,
    passive: Indices,
    w: Vector,
    residual: Vector,
) -> tuple[int, int]:
    """Factor the face of w afresh and descend on it.

    `seed`, `refresh`, `descend`;  G, factor: (s, s), the rest: (s,).
    Returns (count, steps).
    """
    count = seed(G, sigma, scale, factor, passive, w)
    refresh(G, b, passive, count, w, residual)
    return descend(G, b, sigma, factor, passive, count, w, residual)


@compiled
def exchange(
    G: Matrix, sigma: float, scale: Vector, factor: Matrix, passive: Indices, count: int, w: Vector, unit: int
) -> int:
    """Swap an affinely dependent unit for the passive unit that blocks its entry.

    Along d_u = 1, d_P = argmin d'Gd with 1'd = 0 the curvature is negligible, so the
    walk ends where a passive weight reaches zero, at w_u <= 1.  G, factor: (s, s),
    scale, passive, w: (s,).  Returns the count; if `unit` is still refused its weight
    is dropped, for `descend` to hand out again.
    Source: Nocedal & Wright 2006, sec. 16.5 (direction of zero curvature).
    """
    step = np.empty(count)
    for k in range(count):
        step[k] = -G[unit, passive[k]]
    face_step(factor, count, sigma, -1.0, step)
    length, position = blocking(w, passive, count, step, 2.0)
    move(w, passive, count, step, length)
    w[passive[position]] = 0.0
    w[unit] = length
    count = remove(factor, passive, count, position)
    grown = append(G, sigma, scale, factor, passive, count, unit)
    if grown == count:
        w[unit] = 0.0
    return grown


@compiled
def rounding_error(b: Vector, norms: Vector, w: Vector, sigma: float) -> Vector:
    """Bound on the rounding error of each residual, relative to the level.

    e_i = ROUNDING (|b_i| + n_i n'w), plus w'e for the level itself if sigma > 0;
    b, norms (n_i = sqrt G_ii), w: (s,).  Returns (s,).
    Source: Higham 2002, ch. 3, with |G_ij| <= n_i n_j.
    """
    error = ROUNDING * (np.abs(b) + norms * dot(norms, w, w.size))
    if sigma > 0.0:
        error += dot(w, error, w.size)
    return error


@compiled
def level_of(w: Vector, residual: Vector, sigma: float) -> float:
    """The value all passive residuals share at the minimiser of a face.

    w'r if sigma > 0 (the multiplier of the sum constraint), else 0;  w, residual: (s,).
    Source: KKT conditions, weighted by w.
    """
    return dot(w, residual, w.size) if sigma > 0.0 else 0.0


@compiled
def most_promising(residual: Vector, level: float, error: Vector, w: Vector, tried: Mask) -> int:
    """The unit outside the face whose entry promises the steepest descent.

    argmax r_i - level over w_i = 0, not tried, r_i - level > e_i;  all: (s,).
    Returns -1 if there is none, which is the optimality condition.
    Source: Lawson & Hanson 1974, algorithm NNLS.
    """
    best, unit = 0.0, -1
    for i in range(w.size):
        slope = residual[i] - level
        if w[i] == 0.0 and not tried[i] and slope > error[i] and slope > best:
            best, unit = slope, i
    return unit


@compiled
def objective_drop(w_old: Vector, w: Vector, residual_old: Vector, residual: Vector, level: float) -> float:
    """Decrease of the objective between two points, free of cancellation.

    f(v) - f(w) = (w - v)' (r_v + r_w)  for f(w) = w'Gw - 2 b'w;  any level may be
    taken off r where 1'w = 1'v;  all: (s,).  Source: expand the quadratic.
    """
    drop = 0.0
    for i in range(w.size):
        drop += (w[i] - w_old[i]) * (residual_old[i] + residual[i] - 2.0 * level)
    return drop


@compiled
def unevenness(residual: Vector, passive: Indices, count: int, level: float) -> float:
    """How far the passive residuals are from their common level.

    max_{i in P} |r_i - level|;  residual, passive: (s,).
    """
    worst = 0.0
    for k in range(count):
        worst = max(worst, abs(residual[passive[k]] - level))
    return worst


@compiled
def polish(
    G: Matrix, b: Vector, sigma: float, factor: Matrix, passive: Indices, count: int, w: Vector, residual: Vector
) -> Vector:
    """One step of iterative refinement on the final face, kept only if it helps.

    w_P <- w_P + step(r_P), if that stays positive and evens out r_P;
    G, factor: (s, s), b, passive, w, residual: (s,).  Returns the weights (s,).
    Source: Higham 2002, ch. 12.
    """
    before = unevenness(residual, passive, count, level_of(w, residual, sigma))
    step = gather(residual, passive, count)
    face_step(factor, count, sigma, 1.0 - w.sum(), step)
    _, position = blocking(w, passive, count, step, 1.0)
    refined = w.copy()
    move(refined, passive, count, step, 1.0)
    refresh(G, b, passive, count, refined, residual)
    after = unevenness(residual, passive, count, level_of(refined, residual, sigma))
    return refined if position < 0 and after < before else w


@compiled
def walk(G: Matrix, b: Vector, sigma: float, scale: Vector, w: Vector, limit: int) -> tuple[Vector, Indices, int]:
    """Minimise w'Gw - 2 b'w over w >= 0 (and 1'w = 1 if sigma > 0), starting at w.

    Alternates entering the most promising unit and descending on the face.  A unit
    enters at most once between two decreases that exceed rounding, and a step that
    increases the objective is undone, so the walk cannot cycle.  G: (s, s), b, scale,
    w: (s,).  Stops at `limit` passive units.  Returns (w, passive, steps).
    Source: Lawson & Hanson 1974, algorithm NNLS.
    """
    size = w.size
    factor = np.empty((size, size))
    passive = np.empty(size, np.int64)
    residual = np.empty(size)
    tried = np.zeros(size, np.bool_)
    squares = np.diag(G)
    norms = np.sqrt(np.maximum(squares, 0.0))
    count, steps = restart(G, b, sigma, scale, factor, passive, w, residual)
    while count < limit and steps < 10 * size + 100:
        level = level_of(w, residual, sigma)
        error = rounding_error(b, norms, w, sigma)
        unit = most_promising(residual, level, error, w, tried)
        if unit < 0:
            break
        tried[unit] = True
        suited = suited_sigma(squares, scale, sigma, w, unit)
        if suited != sigma:
            sigma = suited
            count, more = restart(G, b, sigma, scale, factor, passive, w, residual)
            steps += more
        w_old, residual_old = w.copy(), residual.copy()
        grown = append(G, sigma, scale, factor, passive, count, unit)
        if grown == count:  # dependent: swap it in if the slope beats the curvature
            curvature = 3.0 * pivot_floor(G, sigma, scale, unit)
            if sigma == 0.0 or residual[unit] - level <= curvature:
                continue
            grown = exchange(G, sigma, scale, factor, passive, count, w, unit)
            refresh(G, b, passive, grown, w, residual)
        count, more = descend(G, b, sigma, factor, passive, grown, w, residual)
        steps += more
        drop = objective_drop(w_old, w, residual_old, residual, level)
        doubt = 2.0 * dot(np.abs(w - w_old), error, size)
        if drop > doubt:
            tried[:] = False
        elif drop < -doubt:
            w[:] = w_old
            count, more = restart(G, b, sigma, scale, factor, passive, w, residual)
            steps += more
    if count > 0:
        w = polish(G, b, sigma, factor, passive, count, w, residual)
    return w, passive[:count].copy(), steps


@compiled
def centre(H: Matrix, c: Vector) -> tuple[Matrix, Vector]:
    """Move the origin to the shortest column, which the sum constraint permits.

    G_ij = (a_i - a_r)'(a_j - a_r) = H_ij - H_ir - H_rj + H_rr,
    b_i = (a_i - a_r)'(t - a_r) = c_i - c_r - H_ir + H_rr,  r = argmin H_ii.
    No |a_i - a_r| exceeds 2 |a_i|, and an offset common to all columns cancels.
    H: (s, s), c: (s,).  Returns G (s, s), b (s,).
    Source: expand |sum_i w_i a_i - t|^2 with 1'w = 1.
    """
    r = np.argmin(np.diag(H))
    shift = H[r] - H[r, r]
    G = np.empty(H.shape)
    for i in range(c.size):
        for j in range(c.size):
            G[i, j] = (H[i, j] - H[i, r]) - shift[j]
    return G, (c - c[r]) - shift


@compiled
def normalised(w: Vector) -> Vector:
    """Scale weights to sum one, the last rounding error going to the heaviest.

    w <- w / 1'w;  w: (s,).  Returns (s,).
    """
    w = w / w.sum()
    w[np.argmax(w)] += 1.0 - w.sum()
    return w


@compiled
def simplex_quadratic(H: Matrix, c: Vector, start: Vector) -> tuple[Vector, int]:
    """Minimise a convex quadratic on the simplex, exactly to rounding.

    min w'Hw - 2 c'w  subject to  w >= 0, 1'w = 1;  H: (s, s) symmetric positive
    semi-definite, c: (s,), start: (s,) weights whose non-zeros seed the passive
    face, or zeros to begin at the best vertex.  Returns the weights (s,) and the
    number of face minimisations.
    Source: Lawson & Hanson 1974, ch. 23; Wolfe 1976, Math. Programming 11.
    """
    G, b = centre(H, c)
    squares = np.diag(G)
    w = np.maximum(start, 0.0)
    if w.max() == 0.0:
        w[np.argmin(squares - 2.0 * b)] = 1.0
    scale = np.diag(H)
    sigma = squares.max() if squares.max() > 0.0 else 1.0
    sigma = suited_sigma(squares, scale, sigma, w, -1)
    w, _, steps = walk(G, b, sigma, scale, w, c.size)
    return normalised(w), steps


@compiled
def nonnegative_quadratic(H: Matrix, c: Vector, limit: int) -> tuple[Vector, Indices]:
    """Minimise a convex quadratic on the orthant, with at most `limit` units.

    min w'Hw - 2 c'w  subject to  w >= 0, from w = 0, stopped as soon as `limit`
    units are passive;  H: (s, s) symmetric positive semi-definite, c: (s,) in its
    range.  Returns the weights (s,) and the passive units in the order they entered
    (units that left again are not listed; undoing a step sorts them by weight).
    Source: Lawson & Hanson 1974, algorithm NNLS, in Gram form (Bro & De Jong 1997).
    """
    w, order, _ = walk(H, c, 0.0, np.diag(H), np.zeros(c.size), limit)
    return w, order
