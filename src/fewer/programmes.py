"""Convex programmes of a few weights: quadratic ones by DAQP, linear ones by HiGHS, least squares by SciPy.

Used where linear side conditions meet weights, or where the loss is no quadratic; the simplex cut
by a box has its own exact solver in `active_set`. DAQP was chosen by measurement
(docs/structure.md): the fastest of five, and exact to rounding.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._validation import Vector

Matrix = npt.NDArray[np.float64]

PRIMAL_TOL = 1e-11
"""How far DAQP may leave a row, once rows are scaled to length one."""
EQUALITY = 5
"""DAQP's word for a row that must hold with equality."""
FREE = 1e30
"""What DAQP takes for no bound."""
SLACK = 2e-9
"""How far a row may be missed by an answer that counts as feasible, relative to its size."""
ROOM = 3e-11
"""By how much rows are loosened where they leave no room between them, so that rounding decides
what is feasible."""
LP_TOL = 1e-10
"""The tightest tolerance that HiGHS takes."""
PROXIMAL, PROXIMAL_FREE, ROUNDS = (1e-9, 1e-6, 1e-9, 1e-4), 1e-7, 12
"""Added to the diagonal, as a share of it, for weights and at least for variables without a cost;
and how often the point it pulls to is renewed at most."""
ONE_POINT = 1e-12
"""Bounds whose sum is this close to one leave one choice of weights."""
INFEASIBLE = -1
"""DAQP's word for a programme that nothing meets; other failures have others."""
STILL = 1e-16
"""A smaller pull is none."""
MOST_PIVOTED, PIVOTS = 32, 40
"""Variables up to which least absolute errors are found by pivots here, and pivots for each
variable at most."""
ZERO, FLAT = 1e-12, 1e-9
"""A residual or an excess of a multiplier that is none, and a slope that is none, where
coefficients are at most one."""
KINK = 1e-10
"""Residuals this small, relative to the largest number, count as zero."""
MOST_MODELS = 50
"""Models of absolute errors with a ridge, at most."""


class Solved(NamedTuple):
    """The best weights (s,), and the multipliers (m,) >= 0 of the rows."""

    weights: Vector
    multipliers: Vector


def quadratic_programme(
    H: Matrix,
    c: Vector,
    low: Vector,
    high: Vector,
    rows: Matrix,
    right: Vector,
    cost: Vector | None = None,
) -> Solved | None:
    """min w'Hw - 2c'w + cost'd over Σw = 1, low <= w <= high, rows (w, d) <= right, d >= 0.

    None where nothing is feasible. H: (s, s) symmetric positive semi-definite, rows: (m, s + e)
    with e further variables d, which cost nothing unless `cost` says so. A singular H is made
    definite by a proximal term, whose centre follows the answer; where DAQP cycles, by a larger
    one. Where that fails, too, the answer is feasible but not the best one.

    >>> box = np.zeros(2), np.ones(2)
    >>> found = quadratic_programme(
    ...     np.eye(2), np.array([1.0, 0.0]), *box, np.eye(2)[:1], np.array([0.7])
    ... )
    >>> found.weights.round(9).tolist(), found.multipliers.round(9).tolist()
    ([0.7, 0.3], [1.2])
    """
    if high.sum() <= 1.0 + ONE_POINT or low.sum() >= 1.0 - ONE_POINT:
        only = high if high.sum() <= 1.0 + ONE_POINT else low
        if rows.shape[1] > len(c):
            return linear_programme(np.zeros(len(c)), only, only, rows, right)
        return Solved(only.copy(), np.zeros(len(right))) if _meets(rows, only, right) else None
    s, n, lengths = len(c), rows.shape[1], np.maximum(np.linalg.norm(rows, axis=1), SLACK)
    scale = max(float(np.abs(np.diag(H)).mean()), 1e-300) if s else 1.0
    linear = np.append(-c, np.zeros(n - s) if cost is None else 0.5 * cost)
    if cost is not None:  # a linear part far above H would drown the tolerances
        scale = max(scale, float(np.abs(c).max()), float(cost.max(initial=0.0)))
    H, linear = H / scale, linear / scale
    A = np.zeros((len(rows) + 1, n))
    A[:-1], A[-1, :s] = rows / lengths[:, None], 1.0
    upper = np.concatenate([high, np.full(n - s, FREE), right / lengths, [1.0]])
    lower = np.concatenate([low, np.zeros(n - s), np.full(len(rows), -FREE), [1.0]])
    sense = np.zeros(len(upper), np.int32)
    sense[-1] = EQUALITY
    sense[:s][low == high] = EQUALITY
    for attempt, proximal in enumerate(PROXIMAL):
        pull = np.where(np.arange(n) < s, proximal, np.maximum(proximal, PROXIMAL_FREE))
        flag, w, lam = _followed(H, linear, pull, (A, upper, lower, sense))
        if flag > 0:
            weights = cleaned(w[:s], low, high)
            if _meets(rows, np.append(weights, w[s:]), right):
                return Solved(weights, np.maximum(2.0 * scale * lam[n:-1] / lengths, 0.0))
        if (
            attempt == 0
        ):  # of a nearly singular H it may call infeasible what is not: ask without it
            upper[n:-1] = (right + ROOM) / lengths
            if _daqp(np.eye(n), np.zeros(n), (A, upper, lower, sense))[0] == INFEASIBLE:
                return None
    return linear_programme(H @ np.full(s, 1.0 / s) + linear[:s], low, high, rows, right)


def _meets(rows: Matrix, x: Vector, right: Vector) -> bool:
    """Whether x misses no row by more than counts."""
    return bool((rows @ x - right <= SLACK * np.maximum(np.linalg.norm(rows, axis=1), 1.0)).all())


def _daqp(P: Matrix, linear: Vector, sides: tuple[Any, ...]) -> tuple[int, Vector, Vector]:
    """DAQP's flag, answer and multipliers."""
    import daqp  # here: only calls with side conditions need it

    w, _, flag, info = daqp.solve(P, linear, *sides, primal_tol=PRIMAL_TOL)
    return int(flag), np.asarray(w), np.asarray(info["lam"])


def _followed(
    H: Matrix, linear: Vector, pull: Vector, sides: tuple[Any, ...]
) -> tuple[int, Vector, Vector]:
    """DAQP's flag, answer and multipliers, with a proximal term whose centre follows the answer."""
    s, n = len(H), len(linear)
    P = np.diag(pull)
    P[:s, :s] += H
    w = np.where(np.arange(n) < s, 1.0 / s, 0.0)
    for _ in range(ROUNDS):
        before = w
        flag, w, lam = _daqp(P, linear - pull * before, sides)
        if flag <= 0 or float((np.abs(w - before) * pull).max()) < STILL:
            break
    return flag, w, lam


def cleaned(w: Vector, low: Vector, high: Vector) -> Vector:
    """Weights within their bounds that sum to one to the last digit."""
    w = np.clip(w, low, high)
    at = int(np.argmax(np.minimum(w - low, high - w)))
    w[at] = min(max(w[at] + 1.0 - float(w.sum()), low[at]), high[at])
    return w


def linear_programme(
    cost: Vector, low: Vector, high: Vector, rows: Matrix, right: Vector
) -> Solved | None:
    """min cost'w over the same set; None where nothing is feasible.

    >>> found = linear_programme(
    ...     np.array([1.0, 0.0]), np.zeros(2), np.ones(2), np.eye(2)[1:], np.array([0.7])
    ... )
    >>> found.weights.round(9).tolist(), found.multipliers.round(9).tolist()
    ([0.3, 0.7], [1.0])
    """
    s, more = len(cost), rows.shape[1] - len(cost)
    total, free = np.append(np.ones(s), np.zeros(more))[None], np.append(cost, np.zeros(more))
    found = _highs(free, (rows, right), (total, np.ones(1)), low, high)
    if found is None:
        return None
    return Solved(cleaned(found[0][:s], low, high), np.maximum(found[1], 0.0))


def _highs(
    cost: Vector, unequal: tuple[Any, Vector], equal: tuple[Any, Vector], low: Vector, high: Vector
) -> tuple[Vector, Vector, Vector] | None:
    """x and the multipliers of both kinds of rows by HiGHS.

    Variables beyond the bounds given are only not negative.
    """
    from scipy.optimize import linprog  # here: it is slow to import

    more = len(cost) - len(low)
    ends = np.append(low, np.zeros(more)), np.append(high, np.full(more, np.inf))
    rows, right = unequal if len(unequal[1]) else (None, None)
    tolerances = {"primal_feasibility_tolerance": LP_TOL, "dual_feasibility_tolerance": LP_TOL}
    found = linprog(
        cost, rows, right, *equal, np.column_stack(ends), method="highs", options=tolerances
    )
    if found.status != 0:
        return None
    multipliers = np.zeros(0) if rows is None else -np.asarray(found.ineqlin.marginals)
    return np.asarray(found.x), multipliers, -np.asarray(found.eqlin.marginals)


def least_absolute(
    A: Matrix,
    b: Vector,
    weights: Vector,
    ridge: float,
    low: Vector,
    high: Vector,
    rows: Matrix,
    right: Vector,
) -> tuple[Solved, Vector] | None:
    """min Σ_i weights_i |A w - b|_i + ridge ‖w‖² over the same set, and signs y (r,), as sums of weights.

    weights_i |x_i| >= y_i x_i, tight at x = A w - b. A: (r, s). By pivots where weights are few,
    and no more than rows, else by HiGHS; from that answer the ridge moves on. None where nothing is
    feasible.

    >>> box, rows = (np.zeros(2), np.full(2, 0.8)), (np.zeros((0, 2)), np.zeros(0))
    >>> found, _ = least_absolute(np.eye(2), np.array([0.9, 0.0]), np.ones(2), 0.0, *box, *rows)
    >>> found.weights.round(9).tolist()
    [0.8, 0.2]
    """
    size, weight = (
        int(np.frexp(x)[1]) for x in (max(np.abs(A).max(), np.abs(b).max()), weights.max())
    )
    A, b, weights = (
        np.ldexp(A, -size),
        np.ldexp(b, -size),
        np.ldexp(weights, -weight),
    )  # HiGHS counts below 1e-10 as 0
    sides = A, b, weights, low, high, rows, right
    found = _pivoted_absolute(*sides) if rows.shape[1] <= min(MOST_PIVOTED, len(b)) else None
    found = found or _absolute_by_highs(*sides)
    if found is None:
        return None
    x, multipliers, signs = found
    w = cleaned(x[: len(low)], low, high)
    if not _meets(rows, np.append(w, x[len(low) :]), right):
        return None
    multipliers, signs = np.maximum(multipliers, 0.0), np.clip(signs, -weights, weights)
    solved = Solved(w, multipliers)
    if ridge > 0.0:
        scaled_ridge = float(np.ldexp(ridge, -size - weight))
        solved, signs = _with_ridge(
            (A, b, weights), scaled_ridge, solved, signs, (low, high, rows, right)
        )
    return Solved(solved.weights, np.ldexp(solved.multipliers, size + weight)), np.ldexp(
        signs, weight
    )


def _absolute_by_highs(
    A: Matrix, b: Vector, weights: Vector, low: Vector, high: Vector, rows: Matrix, right: Vector
) -> tuple[Vector, Vector, Vector] | None:
    """(x, multipliers of the rows, signs) as a linear programme with residuals split in two."""
    import scipy.sparse as sp

    (r, s), more = A.shape, rows.shape[1] - A.shape[1]
    eye = sp.eye_array(r)
    parts = sp.csr_array(A), sp.csr_array((r, more)), -eye, eye
    total = sp.csr_array(np.append(np.ones(s), np.zeros(more + 2 * r)))
    unequal = sp.hstack([sp.csr_array(rows), sp.csr_array((len(rows), 2 * r))])
    equal = sp.vstack([sp.hstack(parts), total]).tocsc()
    cost = np.concatenate([np.zeros(s + more), weights, weights])
    found = _highs(cost, (unequal, right), (equal, np.append(b, 1.0)), low, high)
    return None if found is None else (found[0][: s + more], found[1], found[2][:r])


def _pivoted_absolute(
    A: Matrix, b: Vector, weights: Vector, low: Vector, high: Vector, rows: Matrix, right: Vector
) -> tuple[Vector, Vector, Vector] | None:
    """The same by pivots: first to a vertex that meets the rows, then to the best one.

    None where that fails.
    """
    (r, s), n, m = A.shape, rows.shape[1], len(rows)
    at, free = np.flatnonzero(high < 1.0), np.eye(n)
    planes = np.vstack(
        [np.zeros((r, n)), rows, free, free[at], np.append(np.ones(s), np.zeros(n - s))]
    )
    planes[:r, :s] = A
    levels = np.concatenate([b, right, low, np.zeros(n - s), high[at], [1.0]])
    below, above = np.zeros(len(levels)), np.zeros(len(levels))
    below[r + m : r + m + n], above[r + m + n :], below[-1] = np.inf, np.inf, np.inf
    basis = np.append(r + m + np.arange(n), len(levels) - 1)
    rest = 1.0 - float(low.sum())
    for j in np.argsort(
        weights @ np.abs(A - b[:, None]), kind="stable"
    ):  # weights raised to the top, the best first
        if rest <= high[j] - low[j] + ZERO:
            basis = np.delete(basis, j)
            break
        rest -= high[j] - low[j]
        basis[j] = r + m + n + np.searchsorted(at, j)
    if len(basis) > n:
        return None
    if m:
        above[r : r + m] = 1.0
        found = _pivoted(planes, levels, below, above, basis)
        if found is None or (planes[r : r + m] @ found[0] - right > ZERO).any():
            return None
        basis, above[r : r + m] = found[2], np.inf
    below[:r], above[:r] = weights, weights
    found = _pivoted(planes, levels, below, above, basis)
    return None if found is None else (found[0], found[1][r : r + m], found[1][:r])


def _pivoted(
    planes: Matrix, levels: Vector, below: Vector, above: Vector, basis: Vector
) -> tuple[Vector, Vector, Vector] | None:
    """min Σ_i above_i max(t_i, 0) + below_i max(-t_i, 0), t = planes x - levels, from the vertex of a basis.

    (x, y, basis) with y a subgradient in t and y @ planes = 0. A plane leaves the basis, and x goes
    along the edge until F rises. None where that does not end. Source: Barrodale & Roberts 1973,
    SIAM J. Numer. Anal. 10.
    """
    for _ in range(PIVOTS * len(basis)):
        try:
            edges = np.linalg.inv(planes[basis])
        except np.linalg.LinAlgError:
            return None
        x = edges @ levels[basis]
        t = planes @ x - levels
        t[basis] = 0.0
        y = np.where(t > ZERO, above, np.where(t < -ZERO, -below, 0.0))
        y[basis] = -(y @ planes) @ edges
        excess = np.maximum(y - above, -below - y)[basis]
        leaving = int(np.argmax(excess))
        if not np.isfinite(y).all():
            return None
        if excess[leaving] <= ZERO:
            return x, y, basis
        plane = basis[leaving]
        move = planes @ edges[:, leaving] * (1.0 if y[plane] > above[plane] else -1.0)
        move[basis] = 0.0
        ahead = np.flatnonzero((np.abs(move) > FLAT) & (t * np.sign(move) <= ZERO))
        up, far = move[ahead] > 0.0, np.abs(t[ahead]) > ZERO
        jumps = np.where(up, above[ahead], below[ahead]) + np.where(
            far, np.where(up, below[ahead], above[ahead]), 0.0
        )
        lengths = np.where(far, np.abs(t[ahead]), 0.0) / np.abs(move[ahead])
        order = np.argsort(lengths, kind="stable")
        rates = np.cumsum((jumps * np.abs(move[ahead]))[order]) - excess[leaving]
        stop = int(np.searchsorted(rates, 0.0))
        if stop == len(order):
            return None
        basis = basis.copy()
        basis[leaving] = ahead[order[stop]]
    return None


def _with_ridge(
    data: tuple[Matrix, Vector, Vector],
    ridge: float,
    start: Solved,
    signs: Vector,
    sides: tuple[Any, ...],
) -> tuple[Solved, Vector]:
    """Add ridge ‖w‖² to Σ_i weights_i |A w - b|_i, from the best weights without it.

    A model below F keeps the sign of most residuals, and splits the others: |x| = x + 2e, e >=
    max(-x, 0). Residuals that change their sign at its minimum are split too; where none does, the
    minimum is that of F.
    """
    A, b, weights = data
    low, high, rows, right = sides
    best, more = start, rows.shape[1] - A.shape[1]
    residual = A @ best.weights - b
    positive, split = residual > 0.0, np.abs(residual) <= KINK
    for _ in range(MOST_MODELS):
        some = np.flatnonzero(split)
        slopes = np.where(split | positive, weights, -weights)
        apart = np.hstack([-A[some], np.zeros((some.size, more)), -np.eye(some.size)])
        together = np.vstack([np.hstack([rows, np.zeros((len(rows), some.size))]), apart])
        cost = np.append(np.zeros(more), 2.0 * weights[some])
        H, c = ridge * np.eye(A.shape[1]), -0.5 * (A.T @ slopes)
        found = quadratic_programme(H, c, low, high, together, np.append(right, -b[some]), cost)
        if found is None:
            break
        residual = A @ found.weights - b
        best = Solved(found.weights, found.multipliers[: len(rows)])
        signs = np.where(residual > 0.0, weights, -weights)
        inner = np.clip(
            weights[some] - found.multipliers[len(rows) :], -weights[some], weights[some]
        )
        signs[some] = np.where(np.abs(residual[some]) <= KINK, inner, signs[some])
        changed = ~split & ((residual > 0.0) != positive) & (np.abs(residual) > KINK)
        if not changed.any():
            break
        split |= changed
    return best, signs


def nonnegative_least_squares(A: Matrix, b: Vector, max_iter: int | None = None) -> Vector:
    """min ‖A q - b‖² over q >= 0: SciPy's active set, and where that does not end, its interior method.

    >>> nonnegative_least_squares(np.eye(2), np.array([0.5, -1.0])).tolist()
    [0.5, 0.0]
    """
    from scipy.optimize import lsq_linear, nnls  # here: they are slow to import

    q, used = (
        np.zeros(A.shape[1]),
        np.flatnonzero(np.any(A != 0.0, axis=0)),
    )  # columns of zeros crash it
    if used.size:
        try:
            q[used] = nnls(A[:, used], b, maxiter=max_iter)[0]
        except RuntimeError:  # too many iterations: it may cycle where columns are nearly dependent
            q[used] = np.maximum(lsq_linear(A[:, used], b, (0.0, np.inf)).x, 0.0)
    return q
