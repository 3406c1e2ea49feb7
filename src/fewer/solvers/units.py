"""Solving in numbers near one, answering in the user's units."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, cast

import numpy as np

from ..result import Result, Status
from .loop import Callback, Progress

LEAST, MOST = float(np.finfo(float).tiny), float(np.finfo(float).max)


def normalised(objective: Any, limited: bool = False) -> tuple[Any, int]:
    """(G, e) with F = 2**e G and the numbers of G near one, where the objective can tell.

    Else (F, 0).

    `normalised()` may compute something for that; within a time limit `near_one()` is asked first,
    which does not.
    """
    for name in ("near_one", "normalised") if limited else ("normalised",):
        if hasattr(objective, name):
            return cast("tuple[Any, int]", getattr(objective, name)())
    return objective, 0


def times(x: Any, exponent: int) -> Any:
    """x times 2**exponent; infinite or zero beyond the range of a float; None stays None."""
    if x is None or exponent == 0:
        return x
    with np.errstate(over="ignore", under="ignore"):
        product = np.ldexp(x, exponent)
    return product if isinstance(x, np.ndarray) else float(product)


def in_units(result: Result, exponent: int) -> Result:
    """A result for G as one for F = 2**exponent G.

    The note says where a float cannot hold its value.
    """
    if exponent == 0:
        return result
    value, bound = times(result.value, exponent), times(result.bound, exponent)
    notes, status = [result.note] if result.note else [], result.status
    if result.value and not LEAST <= abs(value) <= MOST:
        proven = bound == value and status is Status.OPTIMAL
        if not proven:  # these units cannot tell value and bound apart
            bound = None
            status = Status.FINISHED if status is Status.OPTIMAL else status
        true = Decimal(result.value) * Decimal(2) ** exponent
        notes.append(
            f"in the units of the data the value is {true:.3g}, which no float can hold: here it is"
            f" {value:g}"
        )
    return replace(
        result,
        value=value,
        bound=bound,
        status=status,
        history=times(result.history, exponent),
        value_se=times(result.value_se, exponent),
        note="; ".join(notes),
    )


def watched(callback: Callback | None, exponent: int) -> Callback | None:
    """A callback of F for a solver that works on G, F = 2**exponent G."""
    if callback is None or exponent == 0:
        return callback

    def show(progress: Progress) -> Any:
        values = {name: getattr(progress, name) for name in ("value", "best", "bound")}
        return callback(
            progress._replace(**{name: times(x, exponent) for name, x in values.items()})
        )

    return show


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
