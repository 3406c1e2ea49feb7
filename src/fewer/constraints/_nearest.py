"""The projection onto a sparse simplex with linear side conditions: not exact, but always a member."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, Vector
from ..programmes import Solved, quadratic_programme
from .conditions import Conditions
from .feasibility import Feasibility

MOST_RELAXED = 600
"""Entries among which the projection without a limit on their number is looked at."""


def nearest(limits: Any, conditions: Conditions, v: Vector, near: Vector | None) -> Vector:
    """The nearest member on a few supports: by the largest v, by the projection without k, that of `near`, by HiGHS.

    Exact on each of them. Where none of the first has a member, HiGHS finds one.
    """
    best, least = None, np.inf
    for support in _supports(limits, conditions, v, near):
        p = onto(limits, conditions, support, v)
        if p is not None and float(np.square(p - v).sum()) < least:
            best, least = p, float(np.square(p - v).sum())
    if best is not None:
        return best
    held = Feasibility(limits, conditions).best(v - v.min())
    if held is None:
        raise InvalidInput(
            "no weights that meet all conditions were found in time; leave some of them away"
        )
    found = onto(limits, conditions, np.flatnonzero(held), v)
    return held if found is None else found


def _supports(
    limits: Any, conditions: Conditions, v: Vector, near: Vector | None
) -> Iterator[Indices]:
    """Supports to look at."""
    orders = [np.argsort(-v, kind="stable")]
    units = np.flatnonzero(limits.open)
    if len(units) <= MOST_RELAXED:
        relaxed = onto(limits, conditions, units, v, loose=True)
        if relaxed is not None:
            orders.append(np.lexsort((-v, -relaxed)))
    for order in orders:
        for count in dict.fromkeys((limits.sizes[1], limits.sizes[0])):
            yield limits.fitting(order, count)
    if near is not None:
        yield limits.support(near)


def onto(
    limits: Any, conditions: Conditions, units: Indices, v: Vector, loose: bool = False
) -> Vector | None:
    """The nearest weights to v on some entries under all conditions; None where there are none."""
    low = np.full(len(units), 0.0 if loose else limits.min_weight)
    high = np.full(len(units), min(limits.max_weight, 1.0))
    if not len(units) or low.sum() > 1.0 + 1e-12 or high.sum() < 1.0 - 1e-12:
        return None

    def solve(rows: Any, right: Vector) -> Solved | None:
        return quadratic_programme(np.eye(len(units)), v[units], low, high, rows, right)

    found = conditions.solved(units, solve)
    if found is None:
        return None
    p = np.zeros(v.size)
    p[units] = found.weights
    return p
