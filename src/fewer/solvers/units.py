"""Solving in numbers near one, answering in the user's units."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import wraps
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from ..deadline import Deadline
from ..protocols import Objective, implements
from ..result import Result, Status
from .loop import Callback, Progress
from .steps import Backtracking, Constant, Doubling, Momentum, Refitting

OURS = (Backtracking, Constant, Doubling, Momentum, Refitting)
LONGEST = 2.0**200
"""Where gradients are near one, a step as long as this loses sight of where it came from: longer is the same."""
LEAST, MOST = float(np.finfo(float).tiny), float(np.finfo(float).max)
Solver = TypeVar("Solver", bound=Callable[..., Result])


@runtime_checkable
class Normalisable(Protocol):
    """An objective that can be divided by a power of two, so that its numbers are near one."""

    def normalised(self) -> tuple[Objective, int]:
        """(G, e) with F = 2**e G."""
        ...


@runtime_checkable
class QuicklyNormalisable(Protocol):
    """One that can do so without any work."""

    def near_one(self) -> tuple[Objective, int]:
        """(G, e) with F = 2**e G."""
        ...


def normalised(objective: Any, limited: bool = False) -> tuple[Any, int]:
    """(G, e) with F = 2**e G and the numbers of G near one, where the objective can tell; else (F, 0).

    Within a time limit nothing is computed for that.
    """
    if limited and implements(objective, QuicklyNormalisable):
        return cast("QuicklyNormalisable", objective).near_one()
    return objective.normalised() if implements(objective, Normalisable) else (objective, 0)


def times(x: Any, exponent: int) -> Any:
    """X times 2**exponent; infinite or zero beyond the range of a float; None stays None."""
    if x is None or exponent == 0:
        return x
    with np.errstate(over="ignore", under="ignore"):
        product = np.ldexp(x, exponent)
    return product if isinstance(x, np.ndarray) else float(product)


def in_units(result: Result, exponent: int) -> Result:
    """A result for G as one for F = 2**exponent G; the note says where a float cannot hold its value."""
    if exponent == 0:
        return result
    value, bound = times(result.value, exponent), times(result.bound, exponent)
    history, value_se = times(result.history, exponent), times(result.value_se, exponent)
    notes, status = [result.note] if result.note else [], result.status
    if result.value and not LEAST <= abs(value) <= MOST:
        if (
            bound != value or status is not Status.OPTIMAL
        ):  # what is apart cannot be told in these units
            bound, status = None, Status.FINISHED if status is Status.OPTIMAL else status
        true = Decimal(result.value) * Decimal(2) ** exponent
        notes.append(
            f"in the units of the data the value is {true:.3g}, which no float can hold: here it is {value:g}"
        )
    changed = {
        "value": value,
        "bound": bound,
        "status": status,
        "history": history,
        "value_se": value_se,
    }
    return replace(result, **changed, note="; ".join(notes))


def watched(callback: Callback | None, exponent: int) -> Callback | None:
    """A callback of F for a solver that works on G, F = 2**exponent G."""
    if callback is None or exponent == 0 or not callable(callback):
        return callback

    def shown(progress: Progress) -> Any:
        value, best, bound = (
            times(x, exponent) for x in (progress.value, progress.best, progress.bound)
        )
        return callback(progress._replace(value=value, best=best, bound=bound))

    return shown


@dataclass(frozen=True)
class Affine:
    """F = factor G + shift, where a bound on G says `slack` less of F."""

    factor: float = 1.0
    shift: float = 0.0
    slack: float = 0.0

    def value(self, x: Any) -> Any:
        """Values of F for those of G."""
        return self.factor * x + self.shift

    def bound(self, x: float | None) -> float | None:
        """A lower bound on F >= 0 for one on G."""
        return None if x is None else max(self.value(x) - self.slack, 0.0)

    def result(self, result: Result) -> Result:
        """A result for G as one for F."""
        return replace(
            result,
            value=self.value(result.value),
            bound=self.bound(result.bound),
            history=self.value(result.history),
            value_se=self.factor * result.value_se,
        )

    def callback(self, callback: Callback | None) -> Callback | None:
        """A callback of F for a solver that works on G."""
        if callback is None or not callable(callback):
            return callback

        def shown(progress: Progress) -> Any:
            value, best = self.value(progress.value), self.value(progress.best)
            return callback(
                progress._replace(value=value, best=best, bound=self.bound(progress.bound))
            )

        return shown


def in_step(rule: Any, exponent: int) -> Any:
    """The rule that takes for G the steps that this one takes for F = 2**exponent G."""
    mu = getattr(rule, "mu", None)
    return (
        rule
        if mu is None
        else replace(rule, mu=min(max(times(mu, exponent), 1.0 / LONGEST), LONGEST))
    )


def near_one(solver: Solver) -> Solver:
    """A solver (objective, constraint, *, callback, ...) that works on numbers near one, whatever the data's units.

    A step rule that is given has its step length in the user's units. One of ours is told the
    others; for a user's own rule the objective stays as it is.
    """

    @wraps(solver)
    def solve(objective: Any, constraint: Any, **options: Any) -> Result:
        rule = options.get("step")
        limited = Deadline.after(options.get("time_limit")).limited
        ours = rule is None or isinstance(rule, OURS)
        inner, exponent = normalised(objective, limited) if ours else (objective, 0)
        if exponent:
            options = {**options, "callback": watched(options.get("callback"), exponent)}
        if exponent and rule is not None:
            options["step"] = in_step(rule, exponent)
        return in_units(solver(inner, constraint, **options), exponent)

    return cast("Solver", solve)
