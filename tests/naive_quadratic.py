"""Slow, obvious twins for quadratics on sparse simplices: enumeration, inverses, and an outside solver."""

from itertools import combinations, product

import cvxpy as cp
import numpy as np


def value(H, c, w):
    return float(w @ H @ w - 2 * c @ w)


def refit_by_clarabel(A, b, lo, hi):
    """Least squares over sum w = 1, lo <= w <= hi; returns the value."""
    w = cp.Variable(A.shape[1])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ w - b)), [cp.sum(w) == 1, w >= lo, w <= hi])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return float(problem.value)


def refit_by_active_sets(H, c, lo, hi):
    """The best of all 3^s ways to put units at lo, at hi or free.

    The value of the best feasible point.
    """
    size = len(c)
    best = np.inf
    for state in product((0, 1, 2), repeat=size):
        state = np.array(state)
        w = np.where(state == 0, lo, hi)
        free = np.flatnonzero(state == 2)
        rest = np.flatnonzero(state != 2)
        if len(free):
            K = np.ones((len(free) + 1,) * 2)
            K[:-1, :-1] = H[np.ix_(free, free)]
            K[-1, -1] = 0
            right = np.append(c[free] - H[np.ix_(free, rest)] @ w[rest], 1 - w[rest].sum())
            w[free] = np.linalg.lstsq(K, right, rcond=None)[0][:-1]
        if abs(w.sum() - 1) < 1e-9 and np.all(w >= lo - 1e-9) and np.all(w <= hi + 1e-9):
            best = min(best, value(H, c, w))
    return best


def nonnegative_path(A, b, limit):
    """Lawson-Hanson from zero, one unit and one fresh least-squares fit at a time.

    The support at `limit` units.
    """
    support = []
    w = np.zeros(A.shape[1])
    while len(support) < limit:
        slopes = A.T @ (b - A @ w)
        slopes[support] = -np.inf
        if slopes.max() <= 1e-10:
            break
        support.append(int(np.argmax(slopes)))
        while True:
            z = np.zeros_like(w)
            z[support] = np.linalg.lstsq(A[:, support], b, rcond=None)[0]
            if z[support].min() > 0:
                w = z
                break
            falling = [i for i in support if z[i] <= 0]
            t = min(w[i] / (w[i] - z[i]) for i in falling)
            w = w + t * (z - w)
            support = [i for i in support if w[i] > 1e-14]
            w[[i for i in range(len(w)) if i not in support]] = 0
    return w


def feasible_supports(limits):
    """Every support the limits allow."""
    for size in range(max(1, len(limits.include)), limits.k + 1):
        if not size * limits.min_weight <= 1 + 1e-12 or not size * limits.max_weight >= 1 - 1e-12:
            continue
        for units in combinations(range(limits.space.size), size):
            if not set(limits.include.tolist()) <= set(units) or set(limits.exclude.tolist()) & set(
                units
            ):
                continue
            if (
                limits.groups is not None
                and (
                    np.bincount(limits.groups[list(units)], minlength=len(limits.labels))
                    > limits.max_per_group
                ).any()
            ):
                continue
            yield list(units)


def best_by_enumeration(A, b, limits, refit):
    """The least value over every feasible support; refit(A_S, b, lo, hi) gives the value on one."""
    best = np.inf
    for units in feasible_supports(limits):
        lo, hi = np.full(len(units), limits.min_weight), np.full(len(units), limits.max_weight)
        best = min(best, refit(A[:, units], b, lo, hi))
    return best


def response_table(G, units, free):
    """(M, u, T, schur, ones_residual) of a support, of whose units some are free: by inverting the matrix of those."""
    s, F = len(units), np.flatnonzero(free)
    inverse = np.linalg.inv(G[np.ix_(units[F], units[F])])
    M, u = np.zeros((s, s)), np.zeros(s)
    M[np.ix_(F, F)], u[F] = inverse, inverse.sum(axis=1)
    response = inverse @ G[units[F]]
    T = G[units] - G[np.ix_(units, units[F])] @ response
    T[F] = response
    schur = np.diag(G) - np.einsum("ij,ij->j", G[units[F]], response)
    return M, u, T, schur, 1.0 - u[F] @ G[units[F]]
