"""The optimum with its proof: branch and bound over supports."""

import heapq
import itertools
import math
from typing import Any

import numpy as np

from .._validation import InvalidInput
from ..protocols import Constraint, Objective, implements
from ..result import Result, Status
from ..search.engine import Bounding, Branch, Engine
from .exchange import grown, improved, perturbed
from .loop import Callback, Outcome, Step, Steps
from .solve import by_engine, solve

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
    return solve("exact", objective, constraint, by_engine(proven, proves=True), **limits)


def proven(engine: Engine, rng: np.random.Generator, budget: float | None) -> Steps:
    """A local search and its proof, until it is complete or the budget is spent."""
    bounding: Any = engine
    if not implements(engine, Bounding):
        raise InvalidInput("exact needs a problem whose branches can be bounded; use exchange")
    if budget is None and bounding.proof_refusal:
        raise InvalidInput(
            f"{bounding.proof_refusal}; give time_limit=seconds for the best found by then, or use"
            " exchange"
        )
    most = math.inf if budget is None else budget
    yield Step(bound=bounding.proven if abs(bounding.proven) < math.inf else None)
    yield from grown(engine)
    yield from improved(engine)
    yield from perturbed(engine, rng, min(engine.patience, SHARE * most))
    return (yield from branched(bounding, most))


def branched(engine: Any, budget: float, rng: np.random.Generator | None = None) -> Steps:
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
