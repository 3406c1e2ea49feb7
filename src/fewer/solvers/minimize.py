"""The front door of the solvers: by name."""

from collections.abc import Callable
from typing import Any

from ..door import known
from ..protocols import Constraint, Objective
from ..result import Result
from .exact import exact
from .exchange import exchange
from .frank_wolfe import frank_wolfe
from .greedy import greedy
from .iht import iht

SOLVERS: dict[str, Callable[..., Result]] = {
    "exact": exact,
    "exchange": exchange,
    "frank_wolfe": frank_wolfe,
    "greedy": greedy,
    "iht": iht,
}


def minimize(
    objective: Objective,
    constraint: Constraint,
    solver: str | Callable[..., Result] = "iht",
    **options: Any,
) -> Result:
    """Minimise F over the constraint with a solver given by name or as a function; options go to it.

    >>> from fewer import Atoms, Moments, SparseSimplex
    >>> F = Moments(Atoms(4), [[0.0, 1.0, 2.0, 3.0]], [2.0])
    >>> minimize(F, SparseSimplex(F.space, 1), solver="exact").support.tolist()
    [2]
    """
    solve = solver if callable(solver) else known(solver, SOLVERS, "solver")
    result: Result = solve(objective, constraint, **options)
    return result
