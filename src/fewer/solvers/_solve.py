"""How a solver that works by an engine is run: in numbers near one, by a deadline, through the loop."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .._validation import as_generator, as_number
from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..protocols import Constraint, Direct, Objective, implements
from ..result import Result, Status
from ..search.engine import Engine
from ..search.paths import lower_bound_of
from ..search.select import engine_of
from .loop import Callback, Outcome, Step, Steps, as_callback, check_partners, drive
from .units import in_units, normalised, watched

Method = Callable[[Engine, Any, float | None], Steps]
"""(engine, random generator, budget) -> iterates."""


def solve(
    name: str,
    objective: Objective,
    constraint: Constraint,
    method: Method,
    budget: Any,
    time_limit: "float | Deadline | None",
    callback: Callback | None,
    rng: Any,
    proves: bool = False,
) -> Result:
    """The result of a method on the engine of a problem; without a budget, a time limit is used up.

    Where it `proves` and the objective knows its own optimum, that is taken.
    """
    check_partners(objective, constraint, name)
    deadline = Deadline.after(time_limit)
    work = as_budget(budget, deadline)
    generator, seed = as_generator(rng)
    inner, exponent = normalised(objective, deadline.limited)

    def steps() -> Steps:
        known = lower_bound_of(inner, constraint)
        yield Step(bound=known if known > -math.inf else None)
        if (
            proves
            and implements(inner, Direct)
            and isinstance(constraint, SparseSimplex)
            and constraint.whole_faces
        ):
            return (yield from directly(inner, constraint.k))
        return (yield from method(engine_of(inner, constraint, name, deadline), generator, work))

    as_callback(callback)
    told: dict[str, Any] = {
        "time_limit": deadline,
        "callback": watched(callback, exponent),
        "seed": seed,
    }
    found = in_units(drive(inner, constraint, steps(), solver=name, **told), exponent)
    return found if found.seed == seed else replace(found, seed=seed)


def directly(objective: Any, k: int) -> Steps:
    """The steps by which an objective finds its own optimum."""
    value = math.nan
    for p, bound in objective.solved(k):
        value = yield Step(p, bound)
    return Outcome(Status.OPTIMAL, value)


def as_budget(budget: Any, deadline: Deadline) -> float | None:
    """Multiplications, without limit where only the time is limited; None leaves it to the engine."""
    if budget is None:
        return math.inf if deadline.limited else None
    return as_number(budget, "budget", allow_equal=True)
