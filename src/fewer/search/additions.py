"""Algorithm 3: units are added one by one, each time the one that lowers F most."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..deadline import Deadline
from ..rules import Rules
from .fits import Fit, with_unit


def trimmed(fit: Fit, rules: Rules) -> Fit:
    """Weights without units at zero, unless these must be held."""
    kept = (fit.weights > 0.0) | np.isin(fit.units, rules.include)
    if rules.min_weight > 0.0 or kept.all():
        return fit
    return fit._replace(units=fit.units[kept], weights=fit.weights[kept])


def additions(oracle: Any, rules: Rules, deadline: Deadline) -> Iterator[Fit]:
    """Algorithm 3: hold `include`, add the unit that lowers F most until the support is full; yields feasible answers."""
    units = np.sort(rules.include)
    while True:
        fit = oracle.fit(units)
        if fit is not None and not rules.lacking(units):
            yield trimmed(fit, rules)
        fits = rules.addable(units)
        fits[units] = False
        others = np.flatnonzero(fits)
        if not len(others):
            return
        lows = oracle.lows(units, fit, others)
        ceiling = fit.value if fit is not None and oracle.monotone else math.inf

        def value_of(unit: int, enough: float, units: Indices = units) -> float:
            longer = oracle.fit(with_unit(units, unit), enough)
            return math.inf if longer is None else longer.value

        units = with_unit(units, best_addition(others, lows, value_of, ceiling, oracle, deadline))


def best_addition(
    others: Indices,
    lows: Vector,
    value_of: Callable[[int, float], float],
    ceiling: float,
    oracle: Any,
    deadline: Deadline,
) -> int:
    """The unit whose entry lowers F most, ties to the lowest index; the lowest where none brings F below `ceiling`.

    Units are valued in the order of their lower bounds until the next cannot be the best.
    """
    values: dict[int, float] = {}
    least = ceiling
    for position in np.argsort(lows, kind="stable"):
        unit, low, near = int(others[position]), float(lows[position]), oracle.tie(least)
        if low > least + near or low >= ceiling - near or (values and deadline.passed):
            break
        tied = [u for u, value in values.items() if value <= least + near]
        if tied and min(tied) < unit and low >= least - near:
            continue
        values[unit] = value_of(unit, least + near)
        least = min(least, values[unit])
    near = oracle.tie(least)
    if least == math.inf or least >= ceiling - near:
        return int(others.min())
    return min(unit for unit, value in values.items() if value <= least + near)
