"""Exchange: local search over supports, with perturbations."""

import math
from typing import Any

import numpy as np

from ..protocols import Constraint, Objective
from ..result import Result, Status
from ..search.engine import Engine, engine_of
from .loop import Callback, Outcome, Problem, Step, Steps, solve

MOVES = 64
"""Moves between two chances to stop."""
GROWN = 32
"""Units added between two chances to stop."""
IDLE = 500
"""Perturbations without a gain after which a search ends."""
PATIENT = 300
"""So many times as many under a time limit alone."""


def exchange(
    objective: Objective,
    constraint: Constraint,
    *,
    budget: float | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """Local search: grow a support, swap units while that lowers F, then perturb it and swap again.

    A perturbation replaces some units at random, improves the support again, and is kept if F is
    lower. The search ends when perturbations in a row have cost `budget` without a gain; with a
    `time_limit` and no `budget` it goes on until the time is over. The same `rng` gives the same
    answer unless the clock cut it short.

    Parameters
    ----------
    objective, constraint
        F, and the sparse set it is minimised over.
    budget : float, optional
        About how many multiplications perturbations may cost without a gain.
    time_limit : float, optional
        Wall time in seconds, but for compiling.
    callback : callable, optional
        Called with a `Progress` after each iterate; a true return value stops the search.
    rng : int, numpy Generator or None
        Seed or generator of the random choices.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np
    >>> from fewer import Atoms, Moments, SparseSimplex
    >>> F = Moments(Atoms(4), np.eye(4), [0.5, 0.3, 0.2, 0.0])
    >>> exchange(F, SparseSimplex(F.space, 2), rng=0).support.tolist()
    [0, 1]
    """
    limits: Any = {"budget": budget, "time_limit": time_limit, "callback": callback, "rng": rng}
    return solve("exchange", objective, constraint, local_search, **limits)


def local_search(problem: Problem) -> Steps:
    """Grow, improve, perturb: the iterates of `exchange`."""
    engine = engine_of(problem.objective, problem.constraint, "exchange", problem.deadline)
    yield from climbed(engine)
    patience = engine.patience if problem.budget is None else problem.budget
    yield from perturbed(engine, problem.rng, patience)
    return Outcome(Status.FINISHED)


def grown(engine: Engine) -> Steps:
    """A full support; an answer whenever it has doubled, so that one is there early."""
    due = 1
    while engine.grow(GROWN):
        size = len(engine.support)
        yield Step(engine.answer() if size >= due else None)
        due = 2 * size if size >= due else due
    yield Step(engine.answer())
    return Outcome(Status.FINISHED)


def climbed(engine: Engine) -> Steps:
    """A full support, and moves until none helps."""
    yield from grown(engine)
    while engine.improve(MOVES):
        yield Step(engine.answer())
    return Outcome(Status.FINISHED)


def perturbed(engine: Engine, rng: np.random.Generator, budget: float) -> Steps:
    """Perturbations until they have cost `budget` in a row without a gain."""
    idle, since = 0, engine.work
    most = IDLE if budget < math.inf else PATIENT * IDLE
    while idle < most and engine.work - since < budget and engine.patience > 0.0:
        if not engine.perturb(rng):
            idle += 1
            yield Step()
            continue
        idle, since = 0, engine.work
        yield Step(engine.answer())
    return Outcome(Status.FINISHED)
