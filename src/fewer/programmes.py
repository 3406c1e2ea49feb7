"""Convex programmes of a few weights: quadratic ones by DAQP, linear ones by HiGHS, least squares by SciPy.

Used where linear side conditions meet weights, or where the loss is no quadratic; the simplex cut by a box has its own
exact solver in `active_set`. DAQP was chosen by `benchmarks/qp_solvers.py`: the fastest of five, and exact to rounding.
"""

from typing import NamedTuple

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
LP_TOL = 1e-10
"""The tightest tolerance that HiGHS takes."""
PROXIMAL, ROUNDS = 1e-9, 4
"""Added to the diagonal, as a share of it, and how often the point it pulls to is renewed."""


class Solved(NamedTuple):
    """The best weights (s,), and the multipliers (m,) >= 0 of the rows."""

    weights: Vector
    multipliers: Vector


def quadratic_programme(H: Matrix, c: Vector, low: Vector, high: Vector, rows: Matrix, right: Vector) -> Solved | None:
    """Min w'Hw - 2c'w over Σw = 1, low <= w <= high, rows w <= right; None where nothing is feasible.

    H: (s, s) symmetric positive semi-definite, rows: (m, s). A singular H is made definite by a proximal term, whose
    centre follows the answer.

    >>> box = np.zeros(2), np.ones(2)
    >>> found = quadratic_programme(np.eye(2), np.array([1.0, 0.0]), *box, np.eye(2)[:1], np.array([0.7]))
    >>> found.weights.round(9).tolist(), found.multipliers.round(9).tolist()
    ([0.7, 0.3], [1.2])
    """
    import daqp  # here: only calls with side conditions need it

    s, lengths = len(c), np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    scale = max(float(np.abs(np.diag(H)).mean()), 1e-300) if s else 1.0
    A = np.ascontiguousarray(np.vstack([rows / lengths[:, None], np.ones(s)]))
    upper = np.concatenate([high, right / lengths, [1.0]])
    lower = np.concatenate([low, np.full(len(rows), -FREE), [1.0]])
    sense = np.zeros(len(upper), np.int32)
    sense[-1] = EQUALITY
    sense[:s][low == high] = EQUALITY
    P = np.ascontiguousarray(H / scale + PROXIMAL * np.eye(s))
    w, lam = np.full(s, 1.0 / s), np.zeros(len(upper))
    for _ in range(ROUNDS):
        before = w
        linear = -(c / scale + PROXIMAL * before)
        w, _, flag, info = daqp.solve(P, linear, A, upper, lower, sense, primal_tol=PRIMAL_TOL)
        if flag <= 0:
            return None
        lam = np.asarray(info["lam"])
        if float(np.abs(w - before).max()) * PROXIMAL < 1e-16:
            break
    w = cleaned(np.asarray(w), low, high)
    if (rows @ w - right > SLACK * np.maximum(lengths, 1.0)).any():
        return None
    return Solved(w, np.maximum(2.0 * scale * lam[s:-1] / lengths, 0.0))


def cleaned(w: Vector, low: Vector, high: Vector) -> Vector:
    """Weights within their bounds that sum to one to the last digit."""
    w = np.clip(w, low, high)
    at = int(np.argmax(np.minimum(w - low, high - w)))
    w[at] = min(max(w[at] + 1.0 - float(w.sum()), low[at]), high[at])
    return w


def linear_programme(cost: Vector, low: Vector, high: Vector, rows: Matrix, right: Vector) -> Solved | None:
    """Min cost'w over the same set; None where nothing is feasible.

    >>> found = linear_programme(np.array([1.0, 0.0]), np.zeros(2), np.ones(2), np.eye(2)[1:], np.array([0.7]))
    >>> found.weights.round(9).tolist(), found.multipliers.round(9).tolist()
    ([0.3, 0.7], [1.0])
    """
    from scipy.optimize import linprog  # here: it is slow to import

    limits = (rows, right) if len(rows) else (None, None)
    found = linprog(cost, *limits, np.ones((1, len(cost))), [1.0], np.column_stack([low, high]), method="highs")
    if found.status != 0:
        return None
    multipliers = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0) if len(rows) else np.zeros(0)
    return Solved(cleaned(np.asarray(found.x), low, high), multipliers)


def least_absolute(
    A: Matrix, b: Vector, weights: Vector, low: Vector, high: Vector, rows: Matrix, right: Vector
) -> tuple[Solved, Vector] | None:
    """Min Σ_i weights_i |A w - b|_i over the same set, and signs y (r,): weights_i |x_i| >= y_i x_i, tight there.

    A: (r, s). As a linear programme with residuals split in two. None where nothing is feasible.

    >>> box, rows = (np.zeros(2), np.full(2, 0.8)), (np.zeros((0, 2)), np.zeros(0))
    >>> found, _ = least_absolute(np.eye(2), np.array([0.9, 0.0]), np.ones(2), *box, *rows)
    >>> found.weights.round(9).tolist()
    [0.8, 0.2]
    """
    import scipy.sparse as sp
    from scipy.optimize import linprog  # here: it is slow to import

    r, s = A.shape
    eye = sp.eye_array(r)
    equal = sp.vstack([sp.hstack([sp.csr_array(A), -eye, eye]), sp.csr_array(np.append(np.ones(s), np.zeros(2 * r)))])
    unequal = sp.hstack([sp.csr_array(rows), sp.csr_array((len(rows), 2 * r))]) if len(rows) else None
    found = linprog(
        np.concatenate([np.zeros(s), weights, weights]),
        unequal,
        right if len(rows) else None,
        equal.tocsc(),
        np.append(b, 1.0),
        np.column_stack([np.append(low, np.zeros(2 * r)), np.append(high, np.full(2 * r, np.inf))]),
        method="highs",
        options={"primal_feasibility_tolerance": LP_TOL, "dual_feasibility_tolerance": LP_TOL},
    )
    if found.status != 0:
        return None
    w = cleaned(np.asarray(found.x[:s]), low, high)
    if len(rows) and (rows @ w - right > SLACK * np.maximum(np.linalg.norm(rows, axis=1), 1.0)).any():
        return None
    multipliers = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0) if len(rows) else np.zeros(0)
    signs = np.clip(-np.asarray(found.eqlin.marginals[:r]), -weights, weights)
    return Solved(w, multipliers), signs


def nonnegative_least_squares(A: Matrix, b: Vector, max_iter: int | None = None) -> Vector:
    """Min ‖A q - b‖² over q >= 0: SciPy's active set, and where that does not end, its interior method.

    >>> nonnegative_least_squares(np.eye(2), np.array([0.5, -1.0])).tolist()
    [0.5, 0.0]
    """
    from scipy.optimize import lsq_linear, nnls  # here: they are slow to import

    q, used = np.zeros(A.shape[1]), np.flatnonzero(np.any(A != 0.0, axis=0))  # columns of zeros crash it
    if used.size:
        try:
            q[used] = nnls(A[:, used], b, maxiter=max_iter)[0]
        except RuntimeError:  # too many iterations: it may cycle where columns are nearly dependent
            q[used] = np.maximum(lsq_linear(A[:, used], b, (0.0, np.inf)).x, 0.0)
    return q
