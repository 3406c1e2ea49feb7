"""Baselines for k-sparse least squares on the simplex, each tuned on the training error it may see.

All minimise ‖A q - b‖² over A (r, n), b (r,) in their own way and end on the k-sparse simplex: the
k largest entries, then either projected, as the paper does with Lasso, or refitted (`refit=True`)
by exact least squares on the same support, so that a baseline is judged by the support it found.
"""

import warnings
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path, orthogonal_mp

from fewer import Atoms, Moments, Momentum, Refitting, Simplex, SparseSimplex, iht

from ..arrays import Indices, Vector, project_simplex


def largest(v: Vector, k: int) -> Indices:
    """Sorted indices of the k largest entries; among equals the lowest indices."""
    return np.sort(np.argsort(-v, kind="stable")[:k])


def onto(F: Moments, k: int, q: Vector, refit: bool) -> Vector:
    """A vector brought onto the k-sparse simplex on its k largest positive entries: projected, or refitted.

    Entries at zero stay out. Filling up with them in index order would hand a histogram, whose mass
    lies in its first bins, a support that the baseline never found.
    """
    entries = largest(q, k)
    positive = entries[q[entries] > 0.0]
    entries = positive if positive.size else entries[:1]
    p = np.zeros(q.size)
    p[entries] = project_simplex(q[entries])
    return F.best_on(entries) if refit else p


def lasso(
    A: Any, b: Any, k: int, *, positive: bool = False, refit: bool = False, grid: int = 20
) -> Vector:
    """Min ‖A q - b‖² + gamma ‖q‖₁ (q >= 0 if `positive`) without the simplex, then onto it; the paper's baseline.

    gamma runs over `grid` values on a log scale, down to a thousandth of the largest useful one;
    the best by training error is returned.

    >>> A = np.eye(4)
    >>> lasso(A, [0.7, 0.3, 0.0, 0.0], 2).round(3).tolist()
    [0.7, 0.3, 0.0, 0.0]
    """
    F = moments(A, b)
    return best_of(
        F, [onto(F, k, q, refit) for q in lasso_solutions(F, positive=positive, grid=grid)]
    )


def lasso_solutions(
    F: Moments, *, positive: bool = False, grid: int = 20, gammas: list[float] | None = None
) -> list[Vector]:
    """Lasso's solutions along the gammas, largest first, off the simplex and whatever k: one path serves every k.

    >>> [q.round(2).tolist() for q in lasso_solutions(moments(np.eye(2), [0.5, 0.25]), grid=2)]
    [[0.0, 0.0], [0.5, 0.25]]
    """
    steepest = float(np.abs(F.A.T @ F.b).max()) / len(F.b)
    scaled = (
        steepest * np.logspace(0, -3, grid)
        if gammas is None
        else np.array(gammas) / (2.0 * len(F.b))
    )
    with (
        warnings.catch_warnings()
    ):  # the smallest gammas end at max_iter; the tuning passes them over
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, paths, _ = lasso_path(F.A, F.b, positive=positive, alphas=scaled, max_iter=2000)
    return list(paths.T)


def matching_pursuit(A: Any, b: Any, k: int, *, refit: bool = False) -> Vector:
    """Orthogonal matching pursuit for k columns, then onto the simplex.

    >>> matching_pursuit(np.eye(3), [0.2, 0.8, 0.0], 2).round(3).tolist()
    [0.2, 0.8, 0.0]
    """
    F = moments(A, b)
    return onto(F, k, pursuit_path(F, k)[:, -1], refit)


def pursuit_path(F: Moments, k: int) -> Vector:
    """Matching pursuit's coefficients with 1, 2, ... and at most k columns, (n, steps)."""
    path = orthogonal_mp(F.A, F.b, n_nonzero_coefs=min(k, len(F.b)), return_path=True)
    return np.asarray(path).reshape(F.space.size, -1)


def nonnegative(A: Any, b: Any, k: int, *, refit: bool = True) -> Vector:
    """SciPy's non-negative least squares, its k largest entries, then onto the simplex.

    >>> nonnegative(np.eye(3), [0.2, 0.8, 0.0], 2).round(3).tolist()
    [0.2, 0.8, 0.0]
    """
    F = moments(A, b)
    return onto(F, k, nonnegative_whole(F), refit)


def at_random(A: Any, b: Any, k: int, *, tries: int = 300, rng: Any = None) -> Vector:
    """The best of `tries` random k-sparse distributions, as in the paper.

    >>> int((at_random(np.eye(5), np.ones(5) / 5, 2, rng=0) > 0).sum())
    2
    """
    F = moments(A, b)
    generator = np.random.default_rng(rng)
    best, lowest = np.zeros(F.space.size), np.inf
    for _ in range(tries):
        entries = generator.choice(F.space.size, k, replace=False)
        weights = generator.dirichlet(np.ones(k))
        residual = F.A[:, entries] @ weights - F.b
        if residual @ residual < lowest:
            lowest = float(residual @ residual)
            best = np.zeros(F.space.size)
            best[entries] = weights
    return best


def two_stage(A: Any, b: Any, k: int, *, refit: bool = False, max_iter: int = 2000) -> Vector:
    """Minimise over the whole simplex to convergence, then project: the paper's appendix C.

    >>> two_stage(np.eye(3), [0.2, 0.7, 0.1], 2).round(3).tolist()
    [0.25, 0.75, 0.0]
    """
    F = moments(A, b)
    return onto(F, k, simplex_whole(F, max_iter), refit)


def simplex_whole(F: Moments, max_iter: int = 2000) -> Vector:
    """Least squares over the whole simplex by accelerated projected steps."""
    even = np.full(F.space.size, 1 / F.space.size)
    return iht(F, Simplex(F.space), step=Momentum(), start=even, max_iter=max_iter).p


def accelerated_iht(A: Any, b: Any, k: int, *, max_iter: int = 300) -> Vector:
    """Accelerated IHT with refits, from the k steepest entries; see `Refitting`.

    >>> accelerated_iht(np.eye(3), [0.2, 0.8, 0.0], 2).round(3).tolist()
    [0.2, 0.8, 0.0]
    """
    F = moments(A, b)
    C = SparseSimplex(F.space, k)
    start = F.best_on(largest(-F.gradient(np.zeros(F.space.size)), k))
    return iht(F, C, start=start, step=Refitting(), max_iter=max_iter).p


def nonnegative_whole(F: Moments) -> Vector:
    """Least squares over q >= 0, by SciPy's active set."""
    return np.asarray(nnls(F.A, F.b)[0])


def moments(A: Any, b: Any) -> Moments:
    """The least-squares objective of a dense A."""
    matrix = np.asarray(A, np.float64)
    return Moments(Atoms(matrix.shape[1]), matrix, b)


def best_of(F: Moments, candidates: list[Vector]) -> Vector:
    """The candidate of the lowest training error."""
    return min(candidates, key=F.value)
