"""Algorithm 3: greedy selection of units."""

import math
from typing import Any

from ..protocols import Constraint, Objective
from ..result import Result, Status
from ..search.engine import engine_of
from .loop import Callback, Outcome, Problem, Step, Steps, solve


def greedy(
    objective: Objective,
    constraint: Constraint,
    *,
    budget: float | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """Algorithm 3 of the paper: add the unit whose face lowers F most, k times.

    Ties go to the lowest index.

        j = argmin_{i not in S} min_{p in P_{S + i}} F[p]

    With F = L2 this is Algorithm 2. Where F is infinite whatever unit is added, that is a tie of
    all, and so are values that differ by rounding alone, 1e-12 of F where a face has a closed form.
    Units that must be held come first, and a unit is added only where it fits. Limits on weights
    are part of F: it is infinite on a face where none meets them. Where the last face has no member
    at all, one that has is taken instead.

    Parameters
    ----------
    objective, constraint
        F, and the sparse set it is minimised over.
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
        `history` holds the value after each unit.

    Examples
    --------
    >>> from fewer import KL, DimensionSparse, Lattice
    >>> cube = Lattice(3, 2)
    >>> F = KL(cube, [0.3, 0.1, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])
    >>> result = greedy(F, DimensionSparse(cube, 2))
    >>> result.support.tolist(), result.history.round(4).tolist()
    ([1, 2], [0.6931, 0.3567])
    """
    limits: Any = {"budget": budget, "time_limit": time_limit, "callback": callback, "rng": rng}
    return solve("greedy", objective, constraint, one_at_a_time, **limits)


def one_at_a_time(problem: Problem) -> Steps:
    """The iterates of Algorithm 3, one for each unit added."""
    engine = engine_of(problem.objective, problem.constraint, "greedy", problem.deadline)
    most = math.inf if problem.budget is None else problem.budget
    engine.add_best()
    yield Step(engine.answer())
    while engine.work < most and engine.add_best():
        yield Step(engine.answer())
    return Outcome(Status.FINISHED)
