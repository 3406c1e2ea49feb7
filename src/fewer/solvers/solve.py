"""How every solver is run: in numbers near one, within its limits, through the loop.

Answered in the user's units.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np

from .._validation import as_generator, as_number
from ..deadline import Deadline
from ..protocols import Objective
from ..result import Result, Status
from ..search.engine import Engine
from ..search.paths import lower_bound_of
from ..search.select import engine_of, entrywise, knows_its_optimum
from .loop import Callback, Outcome, Step, Steps, as_callback, check_partners, drive
from .units import in_units, normalised, watched

TABLES_PER_STEP = 4.0
"""What a first-order step costs, in passes over all entries, where an objective does not count."""


class Problem(NamedTuple):
    """What a method works on: G in numbers near one with F = 2**exponent G, a constraint, limits, randomness."""

    objective: Any
    constraint: Any
    solver: str
    deadline: Deadline
    budget: float | None
    rng: np.random.Generator
    exponent: int

    def engine(self) -> Engine:
        """The engine that searches supports."""
        return engine_of(self.objective, self.constraint, self.solver, self.deadline)


Method = Callable[[Problem], Steps]


def solve(
    solver: str,
    objective: Objective,
    constraint: Any,
    method: Method,
    *,
    budget: Any,
    time_limit: "float | Deadline | None",
    callback: Callback | None,
    rng: Any,
    normalises: bool = True,
    **loop: Any,
) -> Result:
    """The result of a method; without a budget, a time limit is used up.

    `loop`: `start`, `max_iter` and `note`.
    """
    check_partners(objective, constraint, solver)
    as_callback(callback)
    deadline = Deadline.after(time_limit)
    generator, seed = as_generator(rng)
    if budget is not None:
        budget = as_number(budget, "budget", allow_equal=True)
    elif deadline.limited:
        budget = math.inf
    inner, exponent = normalised(objective, deadline.limited) if normalises else (objective, 0)
    problem = Problem(inner, constraint, solver, deadline, budget, generator, exponent)

    def steps() -> Steps:
        rules = constraint.rules if entrywise(constraint) else None
        yield Step(bound=lower_bound_of(inner, rules))
        return (yield from method(problem))

    loop |= {"time_limit": deadline, "callback": watched(callback, exponent), "seed": seed}
    return in_units(drive(inner, constraint, steps(), solver=solver, **loop), exponent)


def by_engine(
    search: Callable[[Engine, np.random.Generator, float | None], Steps], proves: bool = False
) -> Method:
    """A search of supports as a method.

    One that `proves` takes the optimum of an objective that knows its own.
    """

    def method(problem: Problem) -> Steps:
        if proves and knows_its_optimum(problem.objective, problem.constraint):
            value = math.nan
            for p, bound in problem.objective.solved(problem.constraint.k):
                value = yield Step(p, bound)
            return Outcome(Status.OPTIMAL, value)
        return (yield from search(problem.engine(), problem.rng, problem.budget))

    return method


def counted(method: Method) -> Method:
    """A first-order method until it has cost about `budget` multiplications."""

    def within(problem: Problem) -> Steps:
        F, steps = problem.objective, method(problem)
        budget = math.inf if problem.budget is None else problem.budget
        began = getattr(F, "work", None)
        work, reply = 0.0, math.nan
        while work <= budget:
            try:
                step = steps.send(reply) if work else next(steps)
            except StopIteration as end:
                return cast("Outcome", end.value)
            each = TABLES_PER_STEP * problem.constraint.space.size
            work = work + each if began is None else F.work - began + 1.0
            reply = yield step
        return Outcome(Status.FINISHED)

    return within
