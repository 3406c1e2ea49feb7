"""One entry to all solvers: by name."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from .._validation import InvalidInput, known, shown
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
    if callable(solver) and not isinstance(solver, type):
        result = solver(objective, constraint, **options)
    else:
        solve: Callable[..., Result] = known(solver, SOLVERS, "solver")
        check_options(solve, options)
        result = solve(objective, constraint, **options)
    if not isinstance(result, Result):
        raise InvalidInput(f"a solver must return a Result, {shown(solver)} returned {shown(result)}")
    return result


def check_options(solve: Callable[..., Result], options: dict[str, Any]) -> None:
    """Refuse options that a solver does not have."""
    known_options = list(signature(solve).parameters)[2:]
    unknown = sorted(options.keys() - set(known_options))
    if unknown:
        raise InvalidInput(
            f"{solve.__name__} has no option {unknown[0]!r}; its options are {', '.join(sorted(known_options))}"
        )
