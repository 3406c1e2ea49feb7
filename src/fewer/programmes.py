"""Convex programmes of a few weights: quadratic ones by DAQP, linear ones by HiGHS, least absolute errors by pivots.

Used where linear side conditions meet weights, or where the loss is no quadratic; the simplex cut
by a box has its own exact solver in `active_set`. DAQP was chosen by measurement
(docs/structure.md): the fastest of five, and exact to rounding.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

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
MAX_PIVOTED, PIVOTS = 32, 40
"""Variables up to which least absolute errors are found by pivots here, and pivots for each
variable at most."""
ZERO, FLAT = 1e-12, 1e-9
"""A residual or an excess of a multiplier that is none, and a slope that is none, where
coefficients are at most one."""
KINK = 1e-10
"""Residuals this small, relative to the largest number, count as zero."""
MAX_MODELS = 50
"""Models of absolute errors with a ridge, at most."""


class Solved(NamedTuple):
    """The best weights (s,), and the multipliers (m,) >= 0 of the rows."""

    weights: Vector
    multipliers: Vector


class Region(NamedTuple):
    """Weights w and further variables d >= 0 with Σw = 1, low <= w <= high, rows (w, d) <= right."""

    low: Vector
    high: Vector
    rows: Matrix
    right: Vector

    def holds(self, x: Vector) -> bool:
        """Whether x misses no row by more than counts."""
        sizes = np.maximum(np.linalg.norm(self.rows, axis=1), 1.0)
        return bool((self.rows @ x - self.right <= SLACK * sizes).all())


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
    >>> solved = quadratic_programme(
    ...     np.eye(2), np.array([1.0, 0.0]), *box, np.eye(2)[:1], np.array([0.7])
    ... )
    >>> solved.weights.round(9).tolist(), solved.multipliers.round(9).tolist()
    ([0.7, 0.3], [1.2])
    """
    s, n, region = len(c), rows.shape[1], Region(low, high, rows, right)
    if high.sum() <= 1.0 + ONE_POINT or low.sum() >= 1.0 - ONE_POINT:
        only = high if high.sum() <= 1.0 + ONE_POINT else low
        if n > s:
            return linear_programme(np.zeros(s), only, only, rows, right)
        return Solved(only.copy(), np.zeros(len(right))) if region.holds(only) else None
    linear = np.append(-c, np.zeros(n - s) if cost is None else 0.5 * cost)
    scale = max(float(np.abs(np.diag(H)).mean()), 1e-300)
    if cost is not None:  # a linear part far above H would drown the tolerances
        scale = max(scale, 2.0 * float(np.abs(linear).max()))
    H, linear = H / scale, linear / scale
    lengths = np.maximum(np.linalg.norm(rows, axis=1), SLACK)
    total = np.append(np.ones(s), np.zeros(n - s))
    A = np.vstack([rows / lengths[:, None], total])
    upper = np.concatenate([high, np.full(n - s, FREE), right / lengths, [1.0]])
    lower = np.concatenate([low, np.zeros(n - s), np.full(len(rows), -FREE), [1.0]])
    sense = np.zeros(len(upper), np.int32)
    sense[-1] = EQUALITY
    sense[:s][low == high] = EQUALITY
    for attempt, proximal in enumerate(PROXIMAL):
        pull = np.where(total > 0.0, proximal, max(proximal, PROXIMAL_FREE))
        flag, w, multipliers = _proximal(H, linear, pull, (A, upper, lower, sense))
        if flag > 0:
            weights = cleaned(w[:s], low, high)
            if region.holds(np.append(weights, w[s:])):
                prices = 2.0 * scale * multipliers[n:-1] / lengths
                return Solved(weights, np.maximum(prices, 0.0))
        if attempt == 0:  # DAQP may call infeasible what is not where H is nearly singular
            upper[n:-1] = (right + ROOM) / lengths
            if _daqp(np.eye(n), np.zeros(n), (A, upper, lower, sense))[0] == INFEASIBLE:
                return None
    return linear_programme(H.mean(axis=1) + linear[:s], low, high, rows, right)


def _daqp(P: Matrix, linear: Vector, sides: tuple[Any, ...]) -> tuple[int, Vector, Vector]:
    """DAQP's flag, answer and multipliers."""
    import daqp  # here: only calls with side conditions need it

    w, _, flag, info = daqp.solve(P, linear, *sides, primal_tol=PRIMAL_TOL)
    return int(flag), np.asarray(w), np.asarray(info["lam"])


def _proximal(
    H: Matrix, linear: Vector, pull: Vector, sides: tuple[Any, ...]
) -> tuple[int, Vector, Vector]:
    """DAQP's answer with a proximal term, whose centre follows it."""
    s, P = len(H), np.diag(pull)
    P[:s, :s] += H
    w = np.zeros(len(linear))
    w[:s] = 1.0 / s
    for _ in range(ROUNDS):
        before = w
        flag, w, multipliers = _daqp(P, linear - pull * before, sides)
        if flag <= 0 or float((np.abs(w - before) * pull).max()) < STILL:
            break
    return flag, w, multipliers


def cleaned(w: Vector, low: Vector, high: Vector) -> Vector:
    """Weights within their bounds that sum to one to the last digit."""
    w = np.clip(w, low, high)
    at = int(np.argmax(np.minimum(w - low, high - w)))
    w[at] = np.clip(w[at] + 1.0 - w.sum(), low[at], high[at])
    return w


def linear_programme(
    cost: Vector, low: Vector, high: Vector, rows: Matrix, right: Vector
) -> Solved | None:
    """min cost'w over the same set; None where nothing is feasible.

    >>> solved = linear_programme(
    ...     np.array([1.0, 0.0]), np.zeros(2), np.ones(2), np.eye(2)[1:], np.array([0.7])
    ... )
    >>> solved.weights.round(9).tolist(), solved.multipliers.round(9).tolist()
    ([0.3, 0.7], [1.0])
    """
    s, n = len(cost), rows.shape[1]
    total = np.append(np.ones(s), np.zeros(n - s))[None]
    answer = _highs(np.append(cost, np.zeros(n - s)), rows, right, total, np.ones(1), low, high)
    if answer is None:
        return None
    x, multipliers, _ = answer
    return Solved(cleaned(x[:s], low, high), np.maximum(multipliers, 0.0))


def _highs(
    cost: Vector, rows: Any, right: Vector, equal: Any, level: Vector, low: Vector, high: Vector
) -> tuple[Vector, Vector, Vector] | None:
    """x and the multipliers of both kinds of rows, of which `equal` hold with equality.

    Variables beyond the bounds given are only not negative.
    """
    from scipy.optimize import linprog  # here: it is slow to import

    more = len(cost) - len(low)
    lower, upper = np.append(low, np.zeros(more)), np.append(high, np.full(more, np.inf))
    answer = linprog(
        cost,
        *((rows, right) if len(right) else (None, None)),
        equal,
        level,
        np.column_stack([lower, upper]),
        method="highs",
        options={"primal_feasibility_tolerance": LP_TOL, "dual_feasibility_tolerance": LP_TOL},
    )
    if answer.status != 0:
        return None
    multipliers = -np.asarray(answer.ineqlin.marginals) if len(right) else np.zeros(0)
    return np.asarray(answer.x), multipliers, -np.asarray(answer.eqlin.marginals)


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
    >>> solved, _ = least_absolute(np.eye(2), np.array([0.9, 0.0]), np.ones(2), 0.0, *box, *rows)
    >>> solved.weights.round(9).tolist()
    [0.8, 0.2]
    """
    size = 2.0 ** np.frexp(max(np.abs(A).max(), np.abs(b).max()))[1]  # HiGHS counts 1e-10 as 0
    unit = 2.0 ** np.frexp(weights.max())[1]
    errors = AbsoluteErrors(A / size, b / size, weights / unit, Region(low, high, rows, right))
    answer = errors.by_pivots() if rows.shape[1] <= min(MAX_PIVOTED, len(b)) else None
    answer = answer or errors.by_highs()
    if answer is None:
        return None
    x, multipliers, signs = answer
    w = cleaned(x[: len(low)], low, high)
    if not errors.region.holds(np.append(w, x[len(low) :])):
        return None
    solved = Solved(w, np.maximum(multipliers, 0.0))
    signs = np.clip(signs, -errors.weights, errors.weights)
    if ridge > 0.0:
        solved, signs = errors.with_ridge(ridge / size / unit, solved, signs)
    return Solved(solved.weights, solved.multipliers * (size * unit)), signs * unit


class AbsoluteErrors(NamedTuple):
    """Σ_i weights_i |A w - b|_i in a region, in numbers near one. A: (r, s)."""

    A: Matrix
    b: Vector
    weights: Vector
    region: Region

    def by_highs(self) -> tuple[Vector, Vector, Vector] | None:
        """(x, multipliers of the rows, signs) as a linear programme with residuals split in two."""
        low, high, rows, right = self.region
        (r, s), n = self.A.shape, rows.shape[1]
        eye = sp.eye_array(r)
        total = sp.csr_array(np.append(np.ones(s), np.zeros(n - s + 2 * r)))
        split = sp.hstack([sp.csr_array(self.A), sp.csr_array((r, n - s)), -eye, eye])
        unequal = sp.hstack([sp.csr_array(rows), sp.csr_array((len(rows), 2 * r))])
        equal = sp.vstack([split, total]).tocsc()
        cost = np.concatenate([np.zeros(n), self.weights, self.weights])
        answer = _highs(cost, unequal, right, equal, np.append(self.b, 1.0), low, high)
        return None if answer is None else (answer[0][:n], answer[1], answer[2][:r])

    def by_pivots(self) -> tuple[Vector, Vector, Vector] | None:
        """(x, multipliers, signs): first a vertex that meets the rows, then the best one.

        None where that fails. A plane for each residual, row, lower bound, upper bound and the sum.
        """
        A, b, weights, (low, high, rows, right) = self
        (r, s), n, m = A.shape, rows.shape[1], len(rows)
        capped, eye = np.flatnonzero(high < 1.0), np.eye(n)
        total = np.append(np.ones(s), np.zeros(n - s))
        residuals = np.hstack([A, np.zeros((r, n - s))])
        planes = np.vstack([residuals, rows, eye, eye[capped], total])
        levels = np.concatenate([b, right, low, np.zeros(n - s), high[capped], [1.0]])
        below, above = np.zeros(len(levels)), np.zeros(len(levels))
        below[r + m : r + m + n] = below[-1] = above[r + m + n :] = np.inf
        basis = np.append(r + m + np.arange(n), len(levels) - 1)
        rest = 1.0 - float(low.sum())
        for j in np.argsort(weights @ np.abs(A - b[:, None]), kind="stable"):
            if rest <= high[j] - low[j] + ZERO:  # weights go to the top, the best first
                basis = np.delete(basis, j)
                break
            rest -= high[j] - low[j]
            basis[j] = r + m + n + np.searchsorted(capped, j)
        if len(basis) > n:
            return None
        if m:
            above[r : r + m] = 1.0
            start = _pivoted(planes, levels, below, above, basis)
            if start is None or (rows @ start[0] - right > ZERO).any():
                return None
            basis, above[r : r + m] = start[2], np.inf
        below[:r] = above[:r] = weights
        answer = _pivoted(planes, levels, below, above, basis)
        return None if answer is None else (answer[0], answer[1][r : r + m], answer[1][:r])

    def with_ridge(self, ridge: float, best: Solved, signs: Vector) -> tuple[Solved, Vector]:
        """Add ridge ‖w‖², from the best weights without it.

        A model below F keeps the sign of most residuals, and splits the others: |x| = x + 2e, e >=
        max(-x, 0). Residuals that change their sign at its minimum are split too; where none does,
        the minimum is that of F.
        """
        A, b, weights, (low, high, rows, right) = self
        more, m = rows.shape[1] - A.shape[1], len(rows)
        residual = A @ best.weights - b
        positive, split = residual > 0.0, np.abs(residual) <= KINK
        for _ in range(MAX_MODELS):
            some = np.flatnonzero(split)
            e = some.size
            apart = np.hstack([-A[some], np.zeros((e, more)), -np.eye(e)])
            planes = np.vstack([np.hstack([rows, np.zeros((m, e))]), apart])
            cost = np.append(np.zeros(more), 2.0 * weights[some])
            c = -0.5 * (A.T @ np.where(split | positive, weights, -weights))
            sides = low, high, planes, np.append(right, -b[some])
            solved = quadratic_programme(ridge * np.eye(A.shape[1]), c, *sides, cost)
            if solved is None:
                break
            best = Solved(solved.weights, solved.multipliers[:m])
            residual = A @ best.weights - b
            signs = np.where(residual > 0.0, weights, -weights)
            kinks = np.abs(residual[some]) <= KINK
            inner = (weights[some] - solved.multipliers[m:])[kinks]
            signs[some[kinks]] = np.clip(inner, -weights[some[kinks]], weights[some[kinks]])
            changed = ~split & ((residual > 0.0) != positive) & (np.abs(residual) > KINK)
            if not changed.any():
                break
            split |= changed
        return best, signs


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
        if not np.isfinite(y).all():
            return None
        excess = np.maximum(y - above, -below - y)[basis]
        leaving = int(np.argmax(excess))
        if excess[leaving] <= ZERO:
            return x, y, basis
        plane = basis[leaving]
        move = planes @ edges[:, leaving] * (1.0 if y[plane] > above[plane] else -1.0)
        move[basis] = 0.0
        ahead = np.flatnonzero((np.abs(move) > FLAT) & (t * np.sign(move) <= ZERO))
        speed, distance = np.abs(move[ahead]), np.abs(t[ahead])
        up, far = move[ahead] > 0.0, distance > ZERO
        jumps = np.where(up, above[ahead], below[ahead])
        jumps += np.where(far, np.where(up, below[ahead], above[ahead]), 0.0)
        order = np.argsort(np.where(far, distance, 0.0) / speed, kind="stable")
        rates = np.cumsum((jumps * speed)[order]) - excess[leaving]
        stop = int(np.searchsorted(rates, 0.0))
        if stop == len(order):
            return None
        basis = basis.copy()
        basis[leaving] = ahead[order[stop]]
    return None


def nonnegative_least_squares(A: Matrix, b: Vector) -> Vector:
    """min ‖A q - b‖² over q >= 0: SciPy's active set, and where that does not end, its interior method.

    >>> nonnegative_least_squares(np.eye(2), np.array([0.5, -1.0])).tolist()
    [0.5, 0.0]
    """
    from scipy.optimize import lsq_linear, nnls  # here: they are slow to import

    q, used = np.zeros(A.shape[1]), np.flatnonzero(A.any(axis=0))  # columns of zeros crash it
    if used.size:
        try:
            q[used] = nnls(A[:, used], b)[0]
        except RuntimeError:  # it may cycle where columns are nearly dependent
            q[used] = np.maximum(lsq_linear(A[:, used], b, (0.0, np.inf)).x, 0.0)
    return q
