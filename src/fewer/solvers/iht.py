"""Algorithm 1: iterative hard thresholding over distributions."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import InvalidInput, Vector, as_generator, as_integer, as_number, shown
from ..deadline import Deadline
from ..protocols import Constraint, FaceSolvable, Objective, Sparsity, offers, whole_faces
from ..result import Result
from ._drive import Callback, as_start, drive, meet
from ._units import near_one
from .steps import Backtracking, Doubling, Momentum, StepRule
from .uncompiled import solve_by


@near_one
def iht(
    objective: Objective,
    constraint: Constraint,
    *,
    start: npt.ArrayLike | None = None,
    step: StepRule | None = None,
    max_iter: int = 500,
    tol: float = 1e-10,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """Algorithm 1 of the paper: p <- Π(p - mu dF/dp), the best iterate along the path.

    `start` is a member of the constraint; without one, `rng` draws a random face and a random distribution
    on it. `step` is a rule (`Constant`, `Doubling`, `Backtracking`, `Momentum`); by default the paper's
    doubling on a sparse constraint, whose local optima it leaves (each support valued by its best distribution where
    that is known), and on a convex one momentum, or backtracking where F has no smoothness. It stops when no entry moves by more than `tol`.
    "IHT after Greedy" is `iht(F, C, start=greedy(F, C).p)`.

    >>> from fewer import L2, DimensionSparse, Lattice
    >>> cube = Lattice(3, 2)
    >>> F, C = L2(cube, [0.4, 0.0, 0.3, 0.0, 0.0, 0.3, 0.0, 0.0]), DimensionSparse(cube, 1)
    >>> result = iht(F, C, rng=0)
    >>> result.support.tolist(), round(result.value, 3)
    ([1], 0.135)
    """
    meet(objective, constraint, "iht")
    tol = as_number(tol, "tol", allow_equal=True)
    max_iter = as_integer(max_iter, "max_iter", 1)
    if step is not None and not offers(step, StepRule):
        raise InvalidInput(f"step must be a step rule such as Constant(mu) or Doubling(mu), got {shown(step)}")
    generator, seed = as_generator(rng)
    deadline = Deadline.after(time_limit)
    rule = step or default_rule(objective, constraint)
    given = None if start is None else as_start(start, constraint)

    def solve() -> Result:
        p = random_member(constraint, generator) if given is None else given
        return drive(
            objective,
            constraint,
            rule.path(objective, constraint, p, tol),
            solver="iht",
            start=p,
            max_iter=max_iter,
            time_limit=deadline,
            callback=callback,
            seed=seed,
        )

    return solve_by(deadline, objective, constraint, "iht", solve)


def default_rule(objective: Objective, constraint: Constraint) -> StepRule:
    """Doubling where there are local optima to leave; otherwise the fastest rule that fits F."""
    if offers(constraint, Sparsity):
        return Doubling(refit=offers(objective, FaceSolvable) and whole_faces(constraint))
    return Momentum() if objective.smoothness < math.inf else Backtracking()


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
