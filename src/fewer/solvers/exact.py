"""The optimum with its proof: branch and bound over supports; and "auto", which tries one."""

import heapq
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._validation import InvalidInput
from ..protocols import Constraint, Direct, Objective, entrywise, implements
from ..result import Result, Status
from ..search.engine import Branch, Engine, engine_of, served
from .exchange import climbed, perturbed
from .iht import iht
from .loop import Callback, Method, Outcome, Problem, Step, Steps, solve

SHARE = 0.25
"""The share of a budget that is spent on perturbations before a proof begins; by "auto", of its
default."""


def exact(
    objective: Objective,
    constraint: Constraint,
    *,
    budget: float | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """Local search, then branch and bound until the optimum is proven.

    A branch fixes some units in and some out; the engine bounds F over the supports that are left.
    The branch of the lowest bound is examined first, so the lowest open bound is a proven one at
    any moment.

    Parameters
    ----------
    objective, constraint
        F, and the sparse set it is minimised over.
    budget : float, optional
        Stop after about this many multiplications, with the bound reached by then.
    time_limit : float, optional
        Wall time in seconds, but for compiling; likewise.
    callback : callable, optional
        Called with a `Progress` after each iterate; a true return value stops the search.
    rng : int, numpy Generator or None
        Seed or generator of the random choices of the local search.

    Returns
    -------
    Result
        `status` is `Status.OPTIMAL` where the gap is closed.

    Examples
    --------
    >>> from fewer import L2, DimensionSparse, Lattice
    >>> cube = Lattice(3, 2)
    >>> result = exact(L2(cube, [0, 0, 0, 1, 0, 0, 0, 0]), DimensionSparse(cube, 2))
    >>> result.support.tolist(), result.value, result.gap
    ([1, 2], 0.0, 0.0)
    """
    limits: Any = {"budget": budget, "time_limit": time_limit, "callback": callback, "rng": rng}
    return solve("exact", objective, constraint, unless_known(prove), **limits)


def auto(
    objective: Objective,
    constraint: Constraint,
    *,
    budget: float | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """The default: `exchange`, then a proof as far as a fixed amount of work goes.

    `iht` where no support is sought.
    """
    limits: Any = {"budget": budget, "time_limit": time_limit, "callback": callback, "rng": rng}
    if not served(objective, constraint):
        return iht(objective, constraint, **limits)
    return solve("auto", objective, constraint, unless_known(search_and_prove), **limits)


def unless_known(search: Callable[[Problem, Engine], Steps]) -> Method:
    """A search by an engine, or the optimum of an objective that finds the best k entries by itself."""

    def method(problem: Problem) -> Steps:
        F, C = problem.objective, problem.constraint
        if implements(F, Direct) and entrywise(C) and C.whole_faces:
            value = math.nan
            for p, bound in F.solved(C.k):
                value = yield Step(p, bound)
            return Outcome(Status.OPTIMAL, value)
        return (yield from search(problem, engine_of(F, C, problem.solver, problem.deadline)))

    return method


def prove(problem: Problem, engine: Engine) -> Steps:
    """A local search and its proof, until it is complete or the budget is spent."""
    if problem.budget is None and engine.proof_refusal:
        raise InvalidInput(
            f"{engine.proof_refusal}; give time_limit=seconds for the best found by then, or use"
            " exchange"
        )
    most = math.inf if problem.budget is None else problem.budget
    yield first_bound(engine)
    yield from climbed(engine)
    yield from perturbed(engine, problem.rng, min(engine.patience, SHARE * most))
    return (yield from branched(engine, most))


def search_and_prove(problem: Problem, engine: Engine) -> Steps:
    """Some local search, as much of a proof as the engine thinks worth its while, and more search if it stays open."""
    budget, rng = problem.budget, problem.rng
    yield first_bound(engine)
    yield from climbed(engine)
    patience = engine.patience if budget is None else budget
    if not engine.proof_budget:
        yield from perturbed(engine, rng, patience)
        return Outcome(Status.FINISHED)
    yield from perturbed(engine, rng, SHARE * min(patience, engine.patience))
    most = engine.work + engine.proof_budget if budget is None else budget
    outcome = yield from branched(engine, most, None if budget is None else rng)
    if outcome.bound is not None and outcome.bound < engine.proven:
        yield from perturbed(engine, rng, (1.0 - SHARE) * patience)
    return outcome


def first_bound(engine: Engine) -> Step:
    """What an engine knows of all supports before it searches."""
    return Step(bound=engine.proven if math.isfinite(engine.proven) else None)


def branched(engine: Engine, budget: float, rng: np.random.Generator | None = None) -> Steps:
    """Branch and bound from the engine's support: the branch of the lowest bound first.

    A branch that comes back as it was, alone, says that the engine knows no better bound: the proof
    stays open. With `rng` the search goes on in between, in turns of equal work that get longer.
    """
    serial = itertools.count(0, -1)  # of equal bounds the newest first
    branches = [(-math.inf, next(serial), Branch())]
    turn, change = engine.proof_budget, engine.work + engine.proof_budget
    while branches and engine.work < budget:
        if rng is not None and engine.work >= change:
            yield from perturbed(engine, rng, turn)
            turn, change = 2.0 * turn, engine.work + 2.0 * turn
        bound, _, branch = heapq.heappop(branches)
        if bound >= engine.value:
            branches.clear()
            break
        before, parts = engine.value, engine.bound(branch)
        for rest in parts:
            if rest.bound < engine.value:
                heapq.heappush(branches, (rest.bound, next(serial), rest))
        if len(parts) == 1 and parts[0] is branch:
            break
        lowest = min(branches[0][0] if branches else math.inf, engine.proven)
        yield Step(engine.answer() if engine.value < before else None, lowest)
    return Outcome(
        Status.FINISHED, min(branches[0][0] if branches else engine.value, engine.proven)
    )
