"""Frank-Wolfe on the whole simplex: the convex relaxation of every sparse problem, with its dual gap."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector, as_generator, as_integer, as_number
from ..deadline import Deadline
from ..engines.fit import affordable, refit_cost
from ..engines.paths import lower_bound_of, slope_error
from ..protocols import Centred, Constraint, Objective, Quadratic, Scaled, offers, projection_note
from ..result import Result, Status
from .iht import within_budget
from .loop import Callback, Outcome, Step, Steps, drive, meet
from .steps import best_near
from .uncompiled import solve_by
from .units import near_one

EVERY = 20
"""Steps between two sparse answers read off the relaxation."""


@near_one
def frank_wolfe(
    objective: Objective,
    constraint: Constraint,
    *,
    max_iter: int = 1000,
    tol: float = 1e-10,
    budget: float | None = None,
    time_limit: "float | Deadline | None" = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """Pairwise Frank-Wolfe over all distributions; a sparse answer is its projection, refitted on that support.

        F[p] - (<g, p> - min g) <= min F over the simplex,   g = dF/dp

    is a lower bound over any set inside the simplex: the result's `bound`, or what F can never be below where that is
    more. Each step moves mass from the worst entry that has some to the best one, as far as the curvature along that
    line, read from one more gradient, allows (exact for quadratics).

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
        Wall time in seconds, everything included.
    callback : callable, optional
        Called with a `Progress` after each iterate; a true return value stops the search.
    rng
        Not used: nothing here is random. All solvers accept it.

    Returns
    -------
    Result

    References
    ----------
    Lacoste-Julien and Jaggi (2015), On the global linear convergence of Frank-Wolfe optimization variants.

    Examples
    --------
    >>> from fewer import L2, Atoms, SparseSimplex
    >>> F = L2(Atoms(4), [0.5, 0.3, 0.2, 0.0])
    >>> result = frank_wolfe(F, SparseSimplex(F.space, 2))
    >>> result.support.tolist(), round(result.value, 6), round(abs(result.bound), 6)
    ([0, 1], 0.06, 0.0)
    """
    meet(objective, constraint, "frank_wolfe")
    tol = as_number(tol, "tol", allow_equal=True)
    max_iter = as_integer(max_iter, "max_iter", 1)
    most = math.inf if budget is None else as_number(budget, "budget", allow_equal=True)
    seed = None if rng is None else as_generator(rng)[1]  # nothing in it is random
    if not offers(objective, Quadratic) and objective.smoothness == math.inf:
        raise InvalidInput("frank_wolfe needs an objective of finite smoothness; use iht with Backtracking()")
    deadline = Deadline.after(time_limit)

    def solve() -> Result:
        steps = within_budget(objective, _path(objective, constraint, max_iter, tol, deadline), most)
        note = projection_note(constraint)
        told: dict[str, Any] = {"time_limit": deadline, "callback": callback, "seed": seed}
        return drive(objective, constraint, steps, solver="frank_wolfe", note=note, **told)

    return solve_by(deadline, objective, constraint, "frank_wolfe", solve)


def _path(objective: Objective, constraint: Constraint, max_iter: int, tol: float, deadline: Deadline) -> Steps:
    bound, closed = lower_bound_of(objective), False
    for count, (p, low, closed) in enumerate(relaxation(objective, max_iter, tol)):
        last, bound = closed or count == max_iter - 1, max(bound, low)
        known = bound if bound > -math.inf else None
        yield Step(answer(objective, constraint, p, deadline) if last or count % EVERY == 0 else None, known)
    return Outcome(Status.CONVERGED if closed else Status.MAX_ITER, bound)


def relaxation(objective: Any, max_iter: int, tol: float) -> Iterator[tuple[Vector, float, bool]]:
    """The iterates over the whole simplex, each with the best lower bound so far and whether it is reached."""
    p, bound = _vertex(objective), -math.inf
    size = float(objective.scale) if offers(objective, Scaled) else 1.0
    for _ in range(max_iter):
        gradient = objective.gradient(p)
        held = np.flatnonzero(p)
        best, worst = int(gradient.argmin()), int(held[gradient[held].argmax()])
        value = objective.value(p)
        gap = float(gradient[held] @ p[held] - gradient[best])
        bound = max(bound, value - gap - 4.0 * slope_error(objective, value))
        closed = gap <= tol * max(abs(value), size)
        yield p, bound, closed
        if closed:
            return
        p = _shift(objective, p, gradient, best, worst)


def _vertex(objective: Any) -> Vector:
    """All mass on the entry where the derivative is lowest: at the uniform distribution, of a quadratic at zero."""
    size = objective.space.size
    p = np.zeros(size)
    if offers(objective, Quadratic):
        p[int(objective.slopes(np.arange(0), np.zeros(0)).argmax())] = 1.0
    else:
        p[int(objective.gradient(np.full(size, 1.0 / size)).argmin())] = 1.0
    return p


def _shift(objective: Any, p: Vector, gradient: Vector, best: int, worst: int) -> Vector:
    """Move mass from one entry to another until the derivative along the line vanishes or the mass is gone."""
    slope, longest = float(gradient[best] - gradient[worst]), p[worst]
    rise = _rise(objective, p, best, worst, slope)
    length = longest if slope + rise <= 0.0 else longest * min(1.0, -slope / rise)
    after = p.copy()
    after[best] += length
    after[worst] = p[worst] - length if length < longest else 0.0
    return after


def _rise(objective: Any, p: Vector, best: int, worst: int, slope: float) -> float:
    """How much the derivative along the line grows until the mass is gone; of a quadratic from two columns alone."""
    if offers(objective, Quadratic):
        pair = np.array([best, worst])
        block = (objective.centred if offers(objective, Centred) else objective.cross)(pair, pair)
        return float(2.0 * p[worst] * (block[0, 0] + block[1, 1] - block[0, 1] - block[1, 0]))
    far = p.copy()
    far[best] += far[worst]
    far[worst] = 0.0
    beyond = objective.gradient(far)
    return float(beyond[best] - beyond[worst]) - slope


def answer(objective: Any, constraint: Any, p: Vector, deadline: Deadline) -> Vector:
    """A member of the constraint near p: projected, then, if time allows, the best weights on its support."""
    near: Vector = constraint.project(p)
    if not affordable(deadline, refit_cost(len(constraint.support(near)))):
        return near
    return best_near(objective, constraint, near)
