"""The optimum with its proof: branch and bound over supports."""

import heapq
import math
from collections.abc import Generator
from typing import Any

import numpy as np

from .._validation import InvalidInput, magnitude
from ..constraints.dimension_sparse import DimensionSparse
from ..deadline import Deadline
from ..protocols import (
    Constraint,
    Covered,
    FaceSolvable,
    Objective,
    offers,
    require_whole_faces,
)
from ..result import Result, Status
from . import faces
from ._drive import Callback, Outcome, Step, Steps, drive, meet
from ._face import face_best, face_value
from ._units import near_one
from .greedy import greedy_steps
from .uncompiled import solve_by

MOST_SUPPORTS = 2_000_000
"""Without a time limit, a problem with more supports than this is refused."""


@near_one
def exact(
    objective: Objective,
    constraint: Constraint,
    *,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Result:
    """The proven optimum over all C(n, k) supports, or with a `time_limit` the best found and its bound.

    L2 and KL over D_k only depend on the mass that a face covers: up to 24 dimensions all faces are valued at
    once (a zeta transform), beyond, supports are priced (`_compiled/prices.py`). Otherwise it is branch and bound:
    greedy gives the first answer. A node fixes some units in and some out; F over the face of all units
    not out is a lower bound for every support below it, so whole branches fall away. The node with the
    lowest bound is opened first, which makes the lowest open bound a proven one at any moment.

    >>> from fewer import L2, DimensionSparse, Lattice
    >>> cube = Lattice(3, 2)
    >>> result = exact(L2(cube, [0, 0, 0, 1, 0, 0, 0, 0]), DimensionSparse(cube, 2))
    >>> result.support.tolist(), result.value, result.gap
    ([1, 2], 0.0, 0.0)
    """
    meet(objective, constraint, "exact")
    require_whole_faces(constraint, "exact")
    deadline = Deadline.after(time_limit)
    return solve_by(
        deadline, objective, constraint, "exact", lambda: _proven(objective, constraint, deadline, callback)
    )


def _proven(objective: Objective, constraint: Constraint, deadline: Deadline, callback: Callback | None) -> Result:
    sparse: Any = constraint
    problem = _as_cover(objective, constraint)
    supports = math.comb(sparse.n_units, sparse.k)
    few = supports <= MOST_SUPPORTS or (problem is not None and sparse.n_units <= faces.SOME)
    if not few and not deadline.limited:
        raise InvalidInput(
            f"exact would have to tell {magnitude(supports)} supports apart "
            f"(k = {sparse.k} of {sparse.n_units} units); "
            f"give time_limit=seconds to take the best found by then, or use greedy or iht"
        )
    steps = _branches(objective, sparse) if problem is None else _expanded(problem, objective, sparse)
    return drive(objective, constraint, steps, solver="exact", time_limit=deadline, callback=callback)


def _as_cover(objective: Objective, constraint: Constraint) -> faces.FaceProblem | None:
    """The problem as a choice of dimensions of a cover, where the partners allow it."""
    if not isinstance(constraint, DimensionSparse) or not offers(objective, Covered, FaceSolvable):
        return None
    covered: Any = objective
    cover = covered.cover(constraint.k)
    if cover is None:
        return None
    found, norm, mode = cover
    return faces.FaceProblem(found, norm, constraint.k, mode)


def _expanded(problem: faces.FaceProblem, objective: Any, sparse: Any) -> Steps:
    """The steps of the search over faces, each face written as its best distribution."""
    steps = faces.exact(problem, 0)
    reply: float | None = None
    while True:
        try:
            step = next(steps) if reply is None else steps.send(reply)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        face = None if step.p is None else sparse.face(np.flatnonzero(step.p))
        empty = face is None or not face.size  # listed states need not lie in a face that is still growing
        reply = yield Step(None if empty else objective.best_on(face), step.bound)


def _branches(objective: Objective, sparse: Any) -> Steps:
    n, k = sparse.n_units, sparse.k
    best = yield from _lowest(greedy_steps(objective, sparse))
    _, root = face_value(objective, sparse.face(np.arange(n)))
    heap: list[tuple[float, int, tuple[int, ...], int]] = [(root, 0, (), 0)]
    serial = 0
    finished = math.inf  # the least bound among supports that were solved
    while heap:
        bound, _, chosen, at = heapq.heappop(heap)
        if bound >= best:
            break
        yield Step(bound=min(bound, finished))
        for units, position, alive in _children(chosen, at, n, k):
            value, low = face_value(objective, sparse.face(alive))
            low = max(low, bound)
            if len(alive) == k:
                finished = min(finished, low)
                if value < best:
                    best = min(best, (yield Step(face_best(objective, sparse.face(alive)))))
            elif low < best:
                serial += 1
                heapq.heappush(heap, (low, serial, units, position))
    return Outcome(Status.FINISHED, min(best, finished))


def _lowest(steps: Steps) -> Generator[Step, float, float]:
    """Pass another solver's steps on; return the lowest value they reached."""
    best, reply = math.inf, None
    while True:
        try:
            step = steps.send(reply) if reply is not None else next(steps)
        except StopIteration:
            return best
        reply = yield step
        if step.p is not None:
            best = min(best, reply)


def _children(chosen: tuple[int, ...], at: int, n: int, k: int) -> list[tuple[tuple[int, ...], int, tuple[int, ...]]]:
    """Unit `at` in, and unit `at` out: (units in, next undecided unit, units not out) of each child."""
    children = []
    rest = tuple(range(at + 1, n))
    inside = (*chosen, at)
    children.append((inside, at + 1, inside if len(inside) == k else inside + rest))
    if len(chosen) + len(rest) >= k:
        children.append((chosen, at + 1, chosen + rest))
    return children
