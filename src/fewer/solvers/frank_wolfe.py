"""Frank-Wolfe on the simplex of all entries that may be held: the convex relaxation, with its dual gap."""

import math
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, Vector, as_integer, as_number
from ..active_set import box_weights
from ..deadline import Deadline
from ..protocols import (
    Constraint,
    Objective,
    Quadratic,
    entrywise,
    implements,
    projection_note,
    scale_of,
    slope_error,
    smoothness_of,
)
from ..result import Result, Status
from ..search.engine import best_near
from ..search.fits import affordable, on_support, refit_cost
from .loop import Callback, Outcome, Problem, Step, Steps, check_partners, counted, solve

MOST_CORRECTED = 500
"""Entries with mass up to which each step finds the best weights of all."""
DIGITS = 10
"""Digits of a weight, relative to the largest, that decide which are held."""
EVERY = 20
"""Pairwise steps between two sparse answers read off the relaxation."""


def frank_wolfe(
    objective: Objective,
    constraint: Constraint,
    *,
    max_iter: int = 1000,
    tol: float = 1e-10,
    budget: float | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """Frank-Wolfe over all distributions on the entries that may be held.

    The answer is its projection, refitted.

        F[p] - (<g, p> - min g) <= min F over the simplex,   g = dF/dp

    is a lower bound over any set inside the simplex: the result's `bound`, or what F can never be
    below where that is more. For quadratics a step adds the best entries and finds the best weights
    of all (fully corrective). For other F, and where very many entries have mass, it moves mass
    from the worst entry that has some to the best one, as far as the curvature along that line,
    read from one more gradient, allows (pairwise).

    Parameters
    ----------
    objective, constraint
        F, of finite smoothness, and the set that the answer is projected onto.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when the dual gap is below this, relative to F or to its scale.
    budget : float, optional
        Stop after about this many multiplications.
    time_limit : float, optional
        Wall time in seconds, but for compiling.
    callback : callable, optional
        Called with a `Progress` after each iterate; a true return value stops the search.
    rng
        Not used: nothing here is random. All solvers accept it.

    Returns
    -------
    Result

    References
    ----------
    Lacoste-Julien and Jaggi (2015), On the global linear convergence of Frank-Wolfe optimization
    variants.

    Examples
    --------
    >>> from fewer import L2, Atoms, SparseSimplex
    >>> F = L2(Atoms(4), [0.5, 0.3, 0.2, 0.0])
    >>> result = frank_wolfe(F, SparseSimplex(F.space, 2))
    >>> result.support.tolist(), round(result.value, 6), round(abs(result.bound), 6)
    ([0, 1], 0.06, 0.0)
    """
    tol = as_number(tol, "tol", allow_equal=True)
    max_iter = as_integer(max_iter, "max_iter", 1)
    check_partners(objective, constraint, "frank_wolfe")
    if not implements(objective, Quadratic) and smoothness_of(objective) == math.inf:
        raise InvalidInput(
            "frank_wolfe needs an objective of finite smoothness; use iht with Backtracking()"
        )

    def path(problem: Problem) -> Steps:
        F, C, deadline = problem.objective, problem.constraint, problem.deadline
        entries = np.flatnonzero(C.rules.open) if entrywise(C) else np.arange(C.space.size)
        quadratic, size = implements(F, Quadratic), scale_of(F)
        p, corrects = first_vertex(F, entries), quadratic
        for count in range(max_iter):
            gradient, value = F.gradient(p), F.value(p)
            held, slopes = np.flatnonzero(p), gradient[entries]
            gap = float(gradient[held] @ p[held] - slopes.min())
            closed = gap <= tol * max(abs(value), size)
            few = len(held) <= MOST_CORRECTED
            shows = closed or (few and quadratic) or count % EVERY == 0 or count == max_iter - 1
            bound = value - gap - 4.0 * slope_error(F, value)
            yield Step(sparse_answer(F, C, p, deadline) if shows else None, bound)
            if closed:
                return Outcome(Status.CONVERGED)
            before = p
            corrects = corrects and few and affordable(deadline, refit_cost(2 * len(held)))
            if corrects:
                ranked = entries[np.argsort(slopes, kind="stable")]
                p = corrected(F, p, held, ranked, gradient)
                corrects = not np.array_equal(p, before)
            if not corrects:
                best = int(entries[slopes.argmin()])
                worst = int(held[gradient[held].argmax()])
                p = pairwise_step(F, before, gradient, best, worst)
        return Outcome(Status.MAX_ITER)

    return solve(
        "frank_wolfe",
        objective,
        constraint,
        counted(path),
        budget=budget,
        time_limit=time_limit,
        callback=callback,
        rng=0 if rng is None else rng,  # nothing in it is random
        note=projection_note(constraint),
    )


def first_vertex(objective: Any, entries: Indices) -> Vector:
    """All mass on the entry where the derivative is lowest: at the even distribution, of a quadratic at zero."""
    p = np.zeros(objective.space.size)
    if implements(objective, Quadratic):
        slopes = -objective.slopes(np.arange(0), np.zeros(0))
    else:
        p[entries] = 1.0 / len(entries)
        slopes = objective.gradient(p)
        p[:] = 0.0
    p[entries[slopes[entries].argmin()]] = 1.0
    return p


def corrected(
    objective: Any, p: Vector, held: Indices, ranked: Indices, gradient: Vector
) -> Vector:
    """The best distribution on the entries with mass and the steepest others, a quarter as many, that lower F."""
    others = ranked[(p[ranked] == 0.0) & (gradient[ranked] < float(gradient[held] @ p[held]))]
    units = np.sort(np.append(held, others[: 1 + len(held) // 4]))
    after = np.zeros(p.size)
    after[units] = box_weights(*on_support(objective, units), 0.0, 1.0, p[units])
    return after


def pairwise_step(objective: Any, p: Vector, gradient: Vector, best: int, worst: int) -> Vector:
    """Move mass from one entry to another until the derivative along the line vanishes or the mass is gone."""
    slope = float(gradient[best] - gradient[worst])
    far = p.copy()
    far[best] += far[worst]
    far[worst] = 0.0
    beyond = objective.gradient(far)
    rise = float(beyond[best] - beyond[worst]) - slope
    if slope + rise <= 0.0:
        return far
    return p + min(1.0, -slope / rise) * (far - p)


def sparse_answer(objective: Any, constraint: Any, p: Vector, deadline: Deadline) -> Vector:
    """A member of the constraint near p: projected, then, if time allows, the best weights on its support.

    Weights that differ by rounding alone count as equal, so that the first of them is held.
    """
    most = float(p.max())
    near: Vector = constraint.project(most * np.round(p / most, DIGITS))
    if not affordable(deadline, refit_cost(len(constraint.support(near)))):
        return near
    return best_near(objective, constraint, near)
