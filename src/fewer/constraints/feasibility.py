"""Whether any support and weights meet all rules, by HiGHS, and which rules conflict where none do."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, Vector, shown
from ..rules import Rules

SECONDS = 10.0
"""What one question may take; one that stays open is no conflict."""
MAX_WHOLE = 2000
"""Entries among which HiGHS decides which are held."""
MAX_NAMED = 20
"""Groups with limits that are told apart."""
MAX_LISTED = 6
"""Conditions that a message lists."""
INFEASIBLE = 2
"""What `milp` says where nothing is feasible."""
LEAST_WEIGHT = 1e-12
"""The weight of an entry that is held without any."""


class Row(NamedTuple):
    """low <= A x <= high for the variables x of a programme, and what a message calls it.

    "" is never at fault.
    """

    name: str
    A: Any
    low: Any
    high: Any


def feasible_member(rules: Rules, v: Vector, most: int = MAX_WHOLE) -> Vector | None:
    """A member with the largest v'q, on the entries that are looked at; None where none was found."""
    entries = few_entries(rules, candidates(rules, v, rules.k), v, most)
    return _solve(rules, entries, list(_rows(rules, entries)), v)[1]


def conflict(rules: Rules, most: int = MAX_WHOLE) -> str | None:
    """Name conditions which cannot hold together, in a sentence.

    None where all can, or that is not known. A deletion filter: each condition without which the
    rest stays impossible is left out, counts before rows.
    """
    flat = np.zeros(rules.n)
    enough = max(rules.k, math.ceil(1.0 / max(rules.max_weight, 1.0 / rules.n)))
    entries, conditions = candidates(rules, flat, enough), rules.conditions
    if conditions is not None and conditions.previous is not None:  # others count as sold
        every = np.union1d(entries, np.flatnonzero(conditions.previous))
        entries = every if len(every) <= most else entries
    rows, whole = list(_rows(rules, entries)), len(entries) <= most

    def impossible(without: set[str]) -> bool:
        left = [row for row in rows if row.name not in without]
        return _solve(rules, entries, left, flat, whole)[0] == INFEASIBLE

    names, idle = list(dict.fromkeys(row.name for row in rows if row.name)), set[str]()
    if impossible(set()):
        for name in names:
            if impossible(idle | {name}):
                idle.add(name)
    elif rules.possible:
        return None
    guilty = [name for name in names if name not in idle]
    if len(guilty) == 1:
        return f"no distribution meets {guilty[0]}"
    listed = f"{', '.join(guilty[:-1])} and {guilty[-1]}"
    if len(guilty) > MAX_LISTED:
        listed = f"{', '.join(guilty[:MAX_LISTED])} and {len(guilty) - MAX_LISTED} more"
    return f"these conditions cannot hold together: {listed}"


def candidates(rules: Rules, v: Vector, count: int) -> Indices:
    """Entries that suffice: of those that no condition tells apart `count` with the largest v."""
    order = np.argsort(-v, kind="stable")
    kinds = np.unique(_features(rules)[:, order], axis=1, return_inverse=True)[1].reshape(-1)
    by_kind = np.argsort(kinds, kind="stable")
    kinds = kinds[by_kind]
    rank = np.arange(rules.n) - np.searchsorted(kinds, kinds)
    return np.union1d(order[by_kind[rank < count]], rules.include)


def few_entries(rules: Rules, entries: Indices, v: Vector, most: int) -> Indices:
    """At most about `most` of the entries: those that conditions or v may need most."""
    if len(entries) <= most:
        return entries
    features = [v[entries], *_features(rules)[:, entries]]
    each = max(most // (2 * len(features)), 1)
    needed = [rules.include]
    for values in features:
        order = entries[np.argsort(values, kind="stable")]
        needed += [order[:each], order[-each:]]
    if rules.groups is not None:
        needed.append(entries[np.unique(rules.groups[entries], return_index=True)[1]])
    return np.unique(np.concatenate(needed))


def _features(rules: Rules) -> Vector:
    """What the conditions know of the entries, (features, n)."""
    marks = np.zeros(rules.n)
    marks[rules.include], marks[rules.exclude] = 1.0, 2.0
    features = [marks]
    if rules.groups is not None:
        features.append(rules.groups)
    if rules.conditions is not None:
        features += [*rules.conditions.G]
        if rules.conditions.previous is not None:
            features.append(rules.conditions.previous)
    return np.array(features, np.float64)


def _solve(
    rules: Rules, entries: Indices, rows: list[Row], v: Vector, whole: bool = True
) -> tuple[int, Vector | None]:
    """What HiGHS says of these entries, held in whole or in part, and the member it finds."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # here: it is slow to import

    m = len(entries)
    answer = milp(
        np.concatenate([-v[entries], np.zeros(2 * m)]),
        integrality=np.repeat([0, int(whole), 0], m),
        bounds=Bounds(0.0, np.repeat([1.0, 1.0, np.inf], m)),
        constraints=[LinearConstraint(A, low, high) for _, A, low, high in rows],
        options={"time_limit": SECONDS},
    )
    if answer.x is None:
        return int(answer.status), None
    weights, held, _ = np.split(answer.x, 3)
    q = np.zeros(rules.n)
    q[entries] = np.where(held > 0.5, np.maximum(weights, LEAST_WEIGHT), 0.0)
    return int(answer.status), q


def _rows(rules: Rules, entries: Indices) -> Iterator[Row]:
    """A mixed-integer programme over entries: their weight, whether they are held, what they lack to `previous`."""
    conditions, m = rules.conditions, len(entries)
    eye, zero = sp.eye_array(m, format="csr"), sp.csr_array((m, m))
    weight, held = sp.hstack([eye, zero, zero]).tocsr(), sp.hstack([zero, eye, zero]).tocsr()
    ones = sp.csr_array(np.ones((1, m)))
    yield Row("", ones @ weight, 1.0, 1.0)
    yield Row("", weight - held, -np.inf, 0.0)
    if rules.k < rules.n:
        yield Row(f"k = {rules.k}", ones @ held, 0.0, float(rules.k))
    if rules.max_weight < 1.0:
        name = f"max_weight = {rules.max_weight:g}"
        yield Row(name, weight - rules.max_weight * held, -np.inf, 0.0)
    if rules.min_weight > 0.0:
        name = f"min_weight = {rules.min_weight:g}"
        yield Row(name, rules.min_weight * held - weight, -np.inf, 0.0)
    if rules.include.size:
        yield Row("include", held[np.isin(entries, rules.include)], 1.0, 1.0)
    if rules.exclude.size:
        yield Row("exclude", held[np.isin(entries, rules.exclude)], 0.0, 0.0)
    if rules.groups is not None:
        yield from _counts(rules, rules.groups[entries], held)
    if conditions is None:
        return
    for name, row, right in zip(conditions.names, conditions.G, conditions.h, strict=True):
        yield Row(name, sp.csr_array(row[None, entries]) @ weight, -np.inf, right)
    if conditions.previous is not None:
        name = f"max_turnover = {conditions.max_turnover:g}"
        lack = sp.hstack([zero, zero, eye])
        sold = float(np.delete(conditions.previous, entries).clip(0.0).sum())
        room = conditions.max_turnover - 1.0 + float(conditions.previous.sum()) - 2.0 * sold
        yield Row(name, weight + lack, conditions.previous[entries], np.inf)
        yield Row(name, 2.0 * (ones @ lack), -np.inf, room)


def _counts(rules: Rules, groups: Indices, held: Any) -> Iterator[Row]:
    """How many entries of each group are held."""
    for option, limits, idle in (
        ("max_per_group", rules.most, rules.n),
        ("min_per_group", rules.fewest, 0),
    ):
        limited = np.flatnonzero(limits != idle)
        for g in limited:
            name = f"{option} = {limits[g]}"
            if len(limited) <= MAX_NAMED:
                name += f" of group {shown(rules.labels[g])}"
            low, high = (0.0, limits[g]) if option == "max_per_group" else (limits[g], np.inf)
            inside = sp.csr_array((groups == g)[None].astype(np.float64))
            yield Row(name, inside @ held, low, high)
