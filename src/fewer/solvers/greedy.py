"""Algorithm 3: greedy selection of units, for any objective."""

import math
from typing import Any

import numpy as np

from .._validation import Indices
from ..deadline import Deadline
from ..protocols import Constraint, Objective, require_whole_faces
from ..result import Result, Status
from ._drive import Callback, Outcome, Step, Steps, drive, meet
from ._face import face_best, face_value
from ._units import near_one
from .uncompiled import solve_by

TIE = 1e-12


@near_one
def greedy(
    objective: Objective,
    constraint: Constraint,
    *,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Result:
    """Algorithm 3 of the paper: add the unit whose face lowers F most, k times; ties go to the lowest index.

    Each candidate costs one minimisation over its face: a closed form where the objective offers
    `value_on`, a convex descent otherwise. With F = L2 this is Algorithm 2.

    >>> from fewer import KL, DimensionSparse, Lattice
    >>> cube = Lattice(3, 2)
    >>> F = KL(cube, [0.3, 0.1, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05])
    >>> result = greedy(F, DimensionSparse(cube, 2))
    >>> result.support.tolist(), result.history.round(4).tolist()
    ([1, 2], [0.6931, 0.3567])
    """
    meet(objective, constraint, "greedy")
    require_whole_faces(constraint, "greedy")
    deadline = Deadline.after(time_limit)

    def solve() -> Result:
        steps = greedy_steps(objective, constraint)
        return drive(objective, constraint, steps, solver="greedy", time_limit=deadline, callback=callback)

    return solve_by(deadline, objective, constraint, "greedy", solve)


def greedy_steps(objective: Objective, sparse: Any) -> Steps:
    """The iterates of Algorithm 3, one for each unit added."""
    units: list[int] = []
    while len(units) < sparse.k:
        best, pick = math.inf, -1
        for unit in range(sparse.n_units):
            if unit in units:
                continue
            value, _ = face_value(objective, sparse.face([*units, unit]))
            if pick < 0 or value < best - TIE * abs(best):
                best, pick = value, unit
            yield Step()
        units.append(pick)
        face = sparse.face(units)
        if face.size:
            yield Step(face_best(objective, face))
    if sparse.face(units).size == 0:
        yield Step(face_best(objective, _some_face(objective, sparse)))
    return Outcome(Status.FINISHED)


def _some_face(objective: Objective, sparse: Any) -> Indices:
    """A face that holds listed states, for when no unit alone reaches any: where descent leads."""
    uniform = np.full(sparse.space.size, 1.0 / sparse.space.size)
    face: Indices = sparse.face(sparse.support(sparse.project(-objective.gradient(uniform))))
    return face
