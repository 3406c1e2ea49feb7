"""Algorithm 1: iterative hard thresholding over distributions."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import InvalidInput, Vector, as_generator, as_integer, as_number, shown
from ..protocols import (
    Constraint,
    FaceSolvable,
    Objective,
    Quadratic,
    Sparsity,
    implements,
    projection_note,
    refits,
    smoothness_of,
    whole_faces,
)
from ..result import Result
from ..search.select import distances, programmed
from .exchange import grown
from .loop import Callback, Step, Steps, as_start, check_partners
from .solve import Problem, counted, solve
from .steps import Backtracking, Doubling, Momentum, Refitting, StepLength, StepRule, best_near


def iht(
    objective: Objective,
    constraint: Constraint,
    *,
    start: npt.ArrayLike | None = None,
    step: StepRule | None = None,
    max_iter: int = 500,
    tol: float = 1e-10,
    budget: float | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """Iterative hard thresholding over distributions: the best iterate along the path.

        p <- Π(p - mu dF/dp)

    The paper's Algorithm 1 is `iht(F, C, step=Doubling(0.008))`, and its "IHT after Greedy" is that
    call with `start=greedy(F, C).p`. Without a `step`, weights are refitted on each support, which
    the paper does not do.

    Parameters
    ----------
    objective, constraint
        F, and the set it is minimised over.
    start : array_like, optional
        A member of the constraint. By default a random distribution on a random face; for
        quadratics on sparse simplices without a `step`, where an active-set path of non-negative
        least squares leads.
    step : step rule, optional
        `Constant`, `Doubling`, `Backtracking`, `Momentum` or `Refitting`. By default `Refitting`
        for quadratics on sparse simplices, the paper's doubling on other sparse sets (each support
        valued by its best distribution where that is known), and on convex ones momentum, or
        backtracking where F has no smoothness.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop when no entry changes by more than this.
    budget : float, optional
        Stop after about this many multiplications.
    time_limit : float, optional
        Wall time in seconds, but for compiling.
    callback : callable, optional
        Called with a `Progress` after each iterate; a true return value stops the search.
    rng : int, numpy Generator or None
        Seed or generator of the random start.

    Returns
    -------
    Result

    References
    ----------
    Blumensath and Davies (2009), Iterative hard thresholding for compressed sensing.

    Examples
    --------
    >>> from fewer import L2, DimensionSparse, Lattice
    >>> cube = Lattice(3, 2)
    >>> F, C = L2(cube, [0.4, 0.0, 0.3, 0.0, 0.0, 0.3, 0.0, 0.0]), DimensionSparse(cube, 1)
    >>> result = iht(F, C, rng=0)
    >>> result.support.tolist(), round(result.value, 3)
    ([1], 0.135)
    """
    tol = as_number(tol, "tol", allow_equal=True)
    if step is not None and not implements(step, StepRule):
        raise InvalidInput(
            f"step must be a step rule such as Constant(mu) or Doubling(mu), got {shown(step)}"
        )
    check_partners(objective, constraint, "iht")
    rng, _ = as_generator(rng)
    grows = step is None and (distances(objective, constraint) or programmed(objective, constraint))
    if start is not None:
        first: Vector | None = as_start(start, constraint)
    else:
        first = None if grows else random_member(constraint, rng)
    rule = default_rule(objective, constraint) if step is None else step

    def path(problem: Problem) -> Steps:
        F, C, p = problem.objective, problem.constraint, first
        if p is None:
            engine = problem.engine()
            yield from grown(engine)
            p = engine.answer()
        assert p is not None  # noqa: S101 - a support that has grown has an answer
        if isinstance(rule, Doubling) and rule.refit:  # as all that follow
            yield Step(best_near(F, C, p))
        near_one = rule.scaled(problem.exponent) if isinstance(rule, StepLength) else rule
        return (yield from near_one.path(F, C, p, tol))

    return solve(
        "iht",
        objective,
        constraint,
        counted(path),
        budget=budget,
        time_limit=time_limit,
        callback=callback,
        rng=rng,
        normalises=isinstance(rule, (StepLength, Refitting)),
        start=first,
        max_iter=as_integer(max_iter, "max_iter", 1),
        note=projection_note(constraint),
    )


def default_rule(objective: Objective, constraint: Constraint) -> StepRule:
    """Doubling where there are local optima to leave; otherwise the fastest rule that fits F."""
    if distances(objective, constraint):
        return Refitting()
    if programmed(objective, constraint):
        return Refitting() if implements(objective, Quadratic) else Doubling(refit=True)
    if implements(constraint, Sparsity):
        return Doubling(refit=implements(objective, FaceSolvable) and refits(constraint))
    return Momentum() if smoothness_of(objective) < math.inf else Backtracking()


def random_member(constraint: Constraint, rng: np.random.Generator) -> Vector:
    """A random distribution of the constraint: on a random face of k units where it has faces."""
    size = constraint.space.size
    if not whole_faces(constraint):
        return constraint.project(rng.dirichlet(np.ones(size)))
    sparse: Any = constraint
    face = sparse.face(np.sort(rng.choice(sparse.n_units, sparse.k, replace=False)))
    if face.size == 0:  # listed states need not fit into a random face
        return constraint.project(rng.random(size))
    p = np.zeros(size)
    p[face] = rng.dirichlet(np.ones(face.size))
    return p
