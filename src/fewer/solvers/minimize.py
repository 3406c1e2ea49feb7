"""One entry to all solvers: by name."""

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

from .._validation import InvalidInput, known, shown
from ..deadline import Deadline
from ..progress import watched_by_user
from ..protocols import Constraint, Objective
from ..result import Result
from . import SOLVER_NAMES
from .exact import auto, exact
from .exchange import exchange
from .frank_wolfe import frank_wolfe
from .greedy import greedy
from .iht import iht

_FUNCTIONS = (auto, exact, exchange, frank_wolfe, greedy, iht)
SOLVERS: dict[str, Callable[..., Result]] = dict(zip(SOLVER_NAMES, _FUNCTIONS, strict=True))
"""Every solver by its name, for `minimize` and the jobs."""


def minimize(
    objective: Objective,
    constraint: Constraint,
    solver: str | Callable[..., Result] = "auto",
    *,
    progress: bool = False,
    **options: Any,
) -> Result:
    """Minimise F over the constraint with a solver given by name or as a function.

    Options go to it.

    Parameters
    ----------
    objective, constraint
        F, and the set it is minimised over.
    solver : {"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"} or callable
        "auto" is a local search (`exchange`) and then, where that is promising, a proof (`exact`)
        for a fixed amount of work; with a time limit or a budget, search and proof in turns. For
        convex constraints `iht`.
    progress : bool
        Whether to show a progress bar, in a terminal or a notebook.
    **options
        `time_limit`, `callback`, `rng` and `budget` for every solver; see there for more.

    Returns
    -------
    Result

    Examples
    --------
    >>> from fewer import Atoms, Moments, SparseSimplex
    >>> F = Moments(Atoms(4), [[0.0, 1.0, 2.0, 3.0]], [2.0])
    >>> minimize(F, SparseSimplex(F.space, 1), solver="exact").support.tolist()
    [2]
    """
    if progress is not False:
        deadline = Deadline.after(options.get("time_limit"))
        with watched_by_user(progress, "minimize", deadline, options.get("callback")) as watch:
            return minimize(objective, constraint, solver, **{**options, "callback": watch})
    if callable(solver) and not isinstance(solver, type):
        result = solver(objective, constraint, **options)
    else:
        function: Callable[..., Result] = known(solver, SOLVERS, "solver")
        check_options(function, options)
        result = function(objective, constraint, **options)
    if not isinstance(result, Result):
        raise InvalidInput(
            f"a solver must return a Result, {shown(solver)} returned {shown(result)}"
        )
    return result


@cache
def options_of(solve: Callable[..., Result]) -> frozenset[str]:
    """The names of a solver's options: all but the objective and the constraint."""
    return frozenset(list(signature(solve).parameters)[2:])


def check_options(solve: Callable[..., Result], options: dict[str, Any]) -> None:
    """Refuse options that a solver does not have."""
    own = options_of(solve)
    unknown = sorted(options.keys() - own)
    if unknown:
        raise InvalidInput(
            f"{solve.__name__} has no option {unknown[0]!r}; its options are"
            f" {', '.join(sorted(own))}"
        )
