"""The projection onto a sparse simplex with linear side conditions: not exact, but always a member."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, Vector
from ..programmes import quadratic_programme
from ..rules import SUM_ERROR, Rules
from .feasibility import feasible_member

MOST_RELAXED = 600
"""Entries among which the projection without a limit on their number is looked at."""


def nearest_member(constraint: Any, v: Vector, near: Vector | None) -> Vector:
    """The nearest member on a few supports: by the largest v, by the projection without k, that of `near`, by HiGHS.

    Exact on each of them. Where none of the first has a member, HiGHS finds one.
    """
    rules: Rules = constraint.rules
    supports = list(_supports(rules, v))
    if near is not None:
        supports.append(constraint.support(near))
    trials = [projected(rules, units, v) for units in supports]
    members = [p for p in trials if p is not None]
    if members:
        return min(members, key=lambda p: float(np.square(p - v).sum()))
    member = feasible_member(rules, v - v.min())
    if member is None:
        raise InvalidInput(
            "no weights that meet all conditions were found in time; leave some of them away"
        )
    p = projected(rules, np.flatnonzero(member), v)
    return member if p is None else p


def _supports(rules: Rules, v: Vector) -> Iterator[Indices]:
    """The supports of the largest entries of v, and of the projection without k."""
    orders = [np.argsort(-v, kind="stable")]
    units = np.flatnonzero(rules.open)
    if len(units) <= MOST_RELAXED:
        relaxed = projected(rules, units, v, least=0.0)
        if relaxed is not None:
            orders.append(np.lexsort((-v, -relaxed)))
    for order in orders:
        for count in dict.fromkeys((rules.sizes[1], rules.sizes[0])):
            yield rules.fitting(order, count)


def projected(rules: Rules, units: Indices, v: Vector, least: float | None = None) -> Vector | None:
    """The nearest weights to v on some entries under all conditions, none below `least`.

    None where there are none.
    """
    low, high = rules.bounds(len(units))
    if least is not None:
        low[:] = least
    if not len(units) or low.sum() > 1.0 + SUM_ERROR or high.sum() < 1.0 - SUM_ERROR:
        return None
    best = rules.conditions.solved(
        units,
        lambda rows, right: quadratic_programme(
            np.eye(len(units)), v[units], low, high, rows, right
        ),
    )
    if best is None:
        return None
    p = np.zeros(v.size)
    p[units] = best.weights
    return p
