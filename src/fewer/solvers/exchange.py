"""Exchange: swaps and kicks over supports of k places, each refitted exactly."""

from typing import Any

from .._validation import InvalidInput
from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..protocols import Constraint, Objective, Quadratic, require
from ..result import Result
from . import places
from ._drive import Callback, as_generator, drive, meet
from ._units import near_one
from .uncompiled import solve_by


@near_one
def exchange(
    objective: Objective,
    constraint: Constraint,
    *,
    time_limit: float | None = None,
    callback: Callback | None = None,
    rng: Any = None,
) -> Result:
    """K places for a quadratic on the simplex, with all bounds of `SparseSimplex`.

    The active-set path of min F over p >= 0 gives the first support. Then the lightest places are exchanged for the
    steepest, many at once and one by one, each support refitted exactly; then kicks replace some places at random,
    exchange again, and are kept if better. It ends when many kicks in a row do not help, or at `time_limit`; the same
    `rng` gives the same answer unless the clock cut it short.

    >>> import numpy as np
    >>> from fewer import Atoms, Moments
    >>> F = Moments(Atoms(4), np.eye(4), [0.5, 0.3, 0.2, 0.0])
    >>> exchange(F, SparseSimplex(F.space, 2), rng=0).support.tolist()
    [0, 1]
    """
    meet(objective, constraint, "exchange")
    require(objective, Quadratic, "exchange's objective")
    if not isinstance(constraint, SparseSimplex):
        raise InvalidInput(f"exchange needs a SparseSimplex, got {constraint!r}; fewer.dims has an exchange of its own")
    generator, seed = as_generator(rng)
    deadline = Deadline.after(time_limit)
    problem: Any = objective
    state = generator.bit_generator.state

    def solve() -> Result:
        generator.bit_generator.state = state  # a second attempt meets the same random numbers
        steps = places.exchange(problem, constraint, generator, deadline=deadline)
        return drive(objective, constraint, steps, solver="exchange", time_limit=deadline, callback=callback, seed=seed)

    return solve_by(deadline, objective, constraint, "exchange", solve)
