"""Whether any support and weights meet all rules, by HiGHS, and which rules conflict where none do."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, Vector, shown
from ..rules import Rules

SECONDS = 10.0
"""What one question may take; one that stays open is no conflict."""
MOST_KINDS = 2000
"""Kinds of entries up to which HiGHS looks at all of them; beyond, at those with the largest and
least coefficients."""
MOST_NAMED = 20
"""Groups with limits that are told apart."""
SHOWN = 6
"""Conditions that a message lists."""
INFEASIBLE = 2
"""What `milp` says where nothing is feasible."""


class Kinds(NamedTuple):
    """Entries that no condition tells apart, as one: `order` (m,) sorts entries by kind, each begins at `starts`."""

    order: Indices
    starts: Indices

    @property
    def first(self) -> Indices:
        """An entry of each kind."""
        return self.order[self.starts]

    @property
    def sizes(self) -> Indices:
        """How many entries each has."""
        return np.diff(np.append(self.starts, len(self.order)))

    def take(self, kinds: Indices) -> "Kinds":
        """Some of the kinds."""
        sizes = self.sizes[kinds]
        ends = np.cumsum(sizes)
        shifts = np.repeat(self.starts[kinds] - (ends - sizes), sizes)
        return Kinds(self.order[np.arange(len(shifts)) + shifts], ends - sizes)

    def spread(self, counts: Vector, weights: Vector, n: int) -> Vector:
        """The weights of n entries: of each kind the first few, `counts` of them, share its weight evenly."""
        counts = np.rint(counts).astype(np.int64)
        rank = np.arange(len(self.order)) - np.repeat(self.starts, self.sizes)
        share = np.maximum(weights / np.maximum(counts, 1), 1e-12)
        q = np.zeros(n)
        q[self.order] = np.where(
            rank < np.repeat(counts, self.sizes), np.repeat(share, self.sizes), 0.0
        )
        return q


class Row(NamedTuple):
    """low <= A x <= high for the variables x of a programme, and what a message calls it.

    "" is never at fault.
    """

    name: str
    A: Any
    low: Any
    high: Any


def feasible_member(rules: Rules, v: Vector, most_kinds: int = MOST_KINDS) -> Vector | None:
    """A member with the largest v'q, of the kinds of entries that are looked at.

    None where none was found.
    """
    alike = kinds_of(_features(rules), np.argsort(-v, kind="stable"))
    rank = np.arange(rules.n) - np.repeat(alike.starts, alike.sizes)
    leading = np.union1d(alike.order[rank < rules.k], rules.include)
    kinds = _few(rules, kinds_of([v, *_features(rules)], leading), most_kinds)
    return _solve(rules, kinds, list(_rows(rules, kinds)), v)[1]


def conflict(rules: Rules, most_kinds: int = MOST_KINDS) -> str | None:
    """Name conditions which cannot hold together, in a sentence.

    None where all can, or that is not known.

    A deletion filter: each condition without which the rest stays impossible is left out, counts
    before rows.
    """
    every = kinds_of(_features(rules), np.arange(rules.n))
    few = _few(rules, every, most_kinds)
    rows, all_rows = list(_rows(rules, few)), list(_rows(rules, every))
    flat = np.zeros(rules.n)

    def impossible(without: set[str]) -> bool:
        status, member = _solve(rules, few, [row for row in rows if row.name not in without], flat)
        if member is None and len(few.starts) < len(every.starts):
            left = [row for row in all_rows if row.name not in without]
            status, _ = _solve(rules, every, left, flat, whole=False)
        return member is None and status == INFEASIBLE

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
    if len(guilty) > SHOWN:
        listed = f"{', '.join(guilty[:SHOWN])} and {len(guilty) - SHOWN} more"
    return f"these conditions cannot hold together: {listed}"


def _features(rules: Rules) -> list[Vector]:
    """What the conditions know of the entries, (n,) each."""
    marks = np.zeros(rules.n)
    marks[rules.include], marks[rules.exclude] = 1.0, 2.0
    features = [marks]
    if rules.groups is not None:
        features.append(rules.groups.astype(np.float64))
    if rules.conditions is None:
        return features
    if rules.conditions.previous is not None:
        features.append(rules.conditions.previous)
    return [*features, *rules.conditions.G]


def _few(rules: Rules, every: Kinds, most: int) -> Kinds:
    """At most about `most` kinds: those that conditions may need most."""
    if len(every.starts) <= most:
        return every
    features = [values[every.first] for values in _features(rules)]
    each = max(most // (2 * len(features)), 1)
    needed = [np.flatnonzero(features[0] == 1.0)]
    for values in features:
        order = np.argsort(values, kind="stable")
        needed += [order[:each], order[-each:]]
    if rules.groups is not None:
        needed.append(np.unique(rules.groups[every.first], return_index=True)[1])
    return every.take(np.unique(np.concatenate(needed)))


def _solve(
    rules: Rules, kinds: Kinds, rows: list[Row], v: Vector, whole: bool = True
) -> tuple[int, Vector | None]:
    """What HiGHS says of these kinds, in `whole` numbers or any, and the member it finds."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # here: it is slow to import

    m = len(kinds.starts)
    answer = milp(
        np.concatenate([-v[kinds.first], np.zeros(2 * m)]),
        integrality=np.repeat([0, int(whole), 0], m),
        bounds=Bounds(0.0, np.concatenate([np.ones(m), kinds.sizes, np.full(m, np.inf)])),
        constraints=[LinearConstraint(A, low, high) for _, A, low, high in rows],
        options={"time_limit": SECONDS},
    )
    if answer.x is None:
        return int(answer.status), None
    return int(answer.status), kinds.spread(answer.x[m : 2 * m], answer.x[:m], rules.n)


def _rows(rules: Rules, kinds: Kinds) -> Iterator[Row]:
    """A mixed-integer programme over kinds of entries: their weight, how many are held, what lies below `previous`.

    Entries of one kind are alike to every condition, so that only their number and their weight
    matter: where both fit, equal weights do.
    """
    conditions, first = rules.conditions, kinds.first
    m = len(first)
    eye, zero = sp.eye_array(m, format="csr"), sp.csr_array((m, m))
    weight, held = sp.hstack([eye, zero, zero]), sp.hstack([zero, eye, zero])
    below = sp.hstack([zero, zero, eye])
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
        at = np.isin(first, rules.include)
        yield Row("include", held.tocsr()[at], kinds.sizes[at], np.inf)
    if rules.exclude.size:
        yield Row("exclude", held.tocsr()[np.isin(first, rules.exclude)], 0.0, 0.0)
    if rules.groups is not None:
        cells = rules.groups[first], np.arange(m)
        counts = (sp.csr_array((np.ones(m), cells), (len(rules.most), m)) @ held).tocsr()
        for option, limits, idle in (
            ("max_per_group", rules.most, rules.n),
            ("min_per_group", rules.fewest, 0),
        ):
            limited = np.flatnonzero(limits != idle)
            for g in limited:
                name = f"{option} = {limits[g]}"
                if len(limited) <= MOST_NAMED:
                    name += f" of group {shown(rules.labels[g])}"
                ends = (0.0, limits[g]) if option == "max_per_group" else (limits[g], np.inf)
                yield Row(name, counts[[g]], *ends)
    if conditions is None:
        return
    for name, row, right in zip(conditions.names, conditions.G, conditions.h, strict=True):
        yield Row(name, sp.csr_array(row[None, first]) @ weight, -np.inf, right)
    if conditions.previous is not None:
        name = f"max_turnover = {conditions.max_turnover:g}"
        before = conditions.previous[first]
        unseen = float(np.delete(conditions.previous, kinds.order).clip(0.0).sum())
        room = conditions.max_turnover - 1.0 + float(conditions.previous.sum()) - 2.0 * unseen
        yield Row(name, weight + below, before * kinds.sizes, np.inf)
        yield Row(name, sp.diags_array(before) @ held + below, before * kinds.sizes, np.inf)
        yield Row(name, 2.0 * (ones @ below), -np.inf, room)


def kinds_of(features: list[Vector], entries: Indices) -> Kinds:
    """Entries by kind: those of which all features, (n,) each, are equal.

    Of one kind in the order of `entries`.

    They are sorted by a random sum of the features; where different ones have the same sum, they
    stay apart.

    >>> kinds = kinds_of([np.array([1.0, 2.0, 1.0]), np.array([0.0, 5.0, 0.0])], np.arange(3))
    >>> sorted(
    ...     kinds.order[start : start + size].tolist()
    ...     for start, size in zip(kinds.starts, kinds.sizes)
    ... )
    [[0, 2], [1]]
    """
    values = np.array([feature[entries] for feature in features]) + 0.0
    key = np.zeros(len(entries))
    for factor, part in zip(np.random.default_rng(0).random(len(features)), values, strict=True):
        key += factor * part  # not by BLAS, which may round equal columns differently
    by = np.argsort(key, kind="stable")
    differs = (values[:, by[1:]] != values[:, by[:-1]]).any(axis=0)
    return Kinds(entries[by], np.flatnonzero(np.append(True, differs)))
