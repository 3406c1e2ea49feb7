"""Whether any support and weights meet all conditions, by HiGHS, and which conditions conflict where none do."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Indices, Vector

Matrix = npt.NDArray[np.float64]

SECONDS = 10.0
"""What one question may take; one that stays open is no conflict."""
MOST_KINDS = 2000
"""Kinds of entries up to which HiGHS looks at all of them; beyond, at those with the largest and least coefficients."""
COUNTS = ("k", "max_weight", "min_weight", "include", "exclude", "max_per_group", "min_per_group")
"""Conditions of a support that may be part of a conflict, by the names of their options."""
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

    def some(self, kinds: Indices) -> "Kinds":
        """Those of some kinds."""
        sizes = self.sizes[kinds]
        parts = [
            self.order[start : start + size]
            for start, size in zip(self.starts[kinds], sizes, strict=True)
        ]
        return Kinds(np.concatenate(parts), np.cumsum(sizes) - sizes)

    def spread(self, held: Vector, weights: Vector, n: int) -> Vector:
        """So many entries of each kind with this weight in all, the same each, as weights of n entries."""
        q = np.zeros(n)
        for start, count, weight in zip(
            self.starts, np.rint(held).astype(np.int64), weights, strict=True
        ):
            q[self.order[start : start + count]] = max(weight / max(count, 1), 1e-12)
        return q


class Feasibility:
    """A mixed-integer programme over kinds of entries: their weight, how many are held, what lies below `previous`.

    Entries of one kind are alike to every condition, so that only their number and their weight
    matter: where both fit, equal weights do. It has as many variables as there are kinds, however
    many entries there are.
    """

    def __init__(self, limits: Any, conditions: Any) -> None:
        self.limits, self.conditions = limits, conditions
        self.n = limits.space.size

    def asked(self) -> list[str]:
        """Every condition by its name, the ones that are most often at fault last."""
        C, L = self.conditions, self.limits
        found = [name for name in COUNTS if self._says(name)]
        if C.G is not None:
            found += list(C.names)
        return (
            [*found, *(["max_turnover"] if C.previous is not None else [])]
            if L is not None
            else found
        )

    def _says(self, name: str) -> bool:
        """Whether an option forbids anything."""
        L = self.limits
        if name in ("include", "exclude"):
            return bool(getattr(L, name).size)
        if name in ("max_per_group", "min_per_group"):
            return getattr(L, name) is not None
        return bool(
            {"k": L.k < self.n, "max_weight": L.max_weight < 1.0, "min_weight": L.min_weight > 0.0}[
                name
            ]
        )

    def best(self, v: Vector) -> Vector | None:
        """A member with the largest v'q, of the kinds that are looked at; None where none was found."""
        every = kinds_of(self._told_apart(v), self._leading(v))
        few = self._few(every)
        return self._solved(v, few, frozenset())[1]

    def impossible(self, without: frozenset[str] = frozenset()) -> bool:
        """Whether it is proven that nothing is feasible, some conditions left out."""
        flat = np.zeros(self.n)
        every = kinds_of(self._told_apart(flat), np.arange(self.n))
        few = self._few(every)
        status, found = self._solved(flat, few, without)
        if found is None and len(few.starts) < len(every.starts):
            status, _ = self._solved(flat, every, without, whole=False)
        return found is None and status == INFEASIBLE

    def _told_apart(self, v: Vector) -> list[Vector]:
        """What conditions and v know of the entries, (n,) each; limits of groups know no more than the group."""
        L, C = self.limits, self.conditions
        own = None if L.conditions is None else L.conditions.G
        marks = np.zeros(self.n)
        marks[L.include], marks[L.exclude] = 1.0, 2.0
        told = [marks, v]
        if L.groups is not None:
            told.append(L.groups.astype(np.float64))
        if C.previous is not None:
            told.append(C.previous)
        return told + ([] if own is None else list(own))

    def _leading(self, v: Vector) -> Indices:
        """Entries that are worth holding: of those that only v tells apart the k largest, and all of `include`."""
        alike = kinds_of(self._told_apart(np.zeros(self.n)), np.argsort(-v, kind="stable"))
        rank = np.arange(self.n) - np.repeat(alike.starts, alike.sizes)
        return np.union1d(alike.order[rank < self.limits.k], self.limits.include)

    def _few(self, every: Kinds) -> Kinds:
        """At most about MOST_KINDS kinds: those that conditions may need most."""
        if len(every.starts) <= MOST_KINDS:
            return every
        told = [values[every.first] for values in self._told_apart(np.zeros(self.n))]
        each = max(MOST_KINDS // (2 * len(told)), 1)
        ranked = [np.argsort(values, kind="stable") for values in told]
        ends = np.concatenate([part for order in ranked for part in (order[:each], order[-each:])])
        needed = np.flatnonzero(told[0] == 1.0)
        if self.limits.groups is not None:
            ends = np.append(ends, np.unique(self.limits.groups[every.first], return_index=True)[1])
        return every.some(np.unique(np.append(needed, ends)))

    def _solved(
        self, v: Vector, kinds: Kinds, without: frozenset[str], whole: bool = True
    ) -> tuple[int, Vector | None]:
        """What HiGHS says of these kinds, in `whole` numbers or any, and the member it finds."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # here: it is slow to import

        m, L, first = len(kinds.starts), self.limits, kinds.first
        parts = self._rows(kinds, without)
        lower, upper = (
            np.zeros(3 * m),
            np.concatenate([np.ones(m), kinds.sizes.astype(float), np.full(m, np.inf)]),
        )
        if "include" not in without:
            at = np.isin(first, L.include)
            lower[m : 2 * m][at] = kinds.sizes[at]
        if "exclude" not in without:
            upper[m : 2 * m][np.isin(first, L.exclude)] = 0.0
        found = milp(
            np.concatenate([-v[first], np.zeros(2 * m)]),
            integrality=np.repeat([0, int(whole), 0], m),
            bounds=Bounds(lower, upper),
            constraints=[LinearConstraint(A, a, b) for A, a, b in parts],
            options={"time_limit": SECONDS},
        )
        q = None if found.x is None else kinds.spread(found.x[m : 2 * m], found.x[:m], self.n)
        return int(found.status), q

    def _rows(self, kinds: Kinds, without: frozenset[str]) -> list[tuple[Any, Any, Any]]:
        """The conditions as rows of a programme over kinds, each with its lower and upper side."""
        m, L, C, first = len(kinds.starts), self.limits, self.conditions, kinds.first
        low = 0.0 if "min_weight" in without else L.min_weight
        high = 1.0 if "max_weight" in without else min(L.max_weight, 1.0)
        eye, zero = sp.eye_array(m), sp.csr_array((m, m))
        parts: list[tuple[Any, Any, Any]] = [
            (sp.csr_array(np.repeat([1.0, 0.0, 0.0], m)[None]), 1.0, 1.0),
            (sp.hstack([eye, -high * eye, zero]), -np.inf, 0.0),
            (sp.hstack([-eye, low * eye, zero]), -np.inf, 0.0),
        ]
        if "k" not in without:
            parts.append((sp.csr_array(np.repeat([0.0, 1.0, 0.0], m)[None]), 0.0, float(L.k)))
        if L.groups is not None:
            parts.append(self._counted(first, without))
        stays = [] if C.G is None else [i for i, name in enumerate(C.names) if name not in without]
        if stays:
            rows = sp.csr_array(C.G[stays][:, first])
            parts.append(
                (sp.hstack([rows, sp.csr_array((len(stays), 2 * m))]), -np.inf, C.h[stays])
            )
        if C.previous is not None and "max_turnover" not in without:
            parts.extend(self._turned_over(kinds))
        return parts

    def _turned_over(self, kinds: Kinds) -> list[tuple[Any, Any, Any]]:
        """Rows for the turnover: what lies below `previous`, of those held in all, and of those not held all of it."""
        C, m, first = self.conditions, len(kinds.starts), kinds.first
        eye, zero, before = sp.eye_array(m), sp.csr_array((m, m)), C.previous[first]
        all_of_it = before * kinds.sizes
        left = float(
            np.delete(C.previous, kinds.order).clip(0.0).sum()
        )  # of entries that are not looked at
        room = C.max_turnover - 1.0 + float(C.previous.sum()) - 2.0 * left
        return [
            (sp.hstack([-eye, zero, -eye]), -np.inf, -all_of_it),
            (sp.hstack([zero, -sp.diags_array(before), -eye]), -np.inf, -all_of_it),
            (sp.csr_array(np.repeat([0.0, 0.0, 2.0], m)[None]), -np.inf, room),
        ]

    def _counted(self, first: Indices, without: frozenset[str]) -> tuple[Any, Any, Any]:
        """Rows for the numbers of entries of each group."""
        L, m = self.limits, len(first)
        size = int(L.groups.max()) + 1
        inside = sp.csr_array((np.ones(m), (L.groups[first], np.arange(m))), (size, m))
        fewest = (
            np.zeros(size)
            if "min_per_group" in without or L.min_per_group is None
            else L.min_per_group
        )
        most = (
            np.full(size, self.n)
            if "max_per_group" in without or L.max_per_group is None
            else L.max_per_group
        )
        empty = sp.csr_array((size, m))
        return (
            sp.hstack([empty, inside, empty]),
            np.broadcast_to(fewest, size),
            np.broadcast_to(most, size),
        )

    def conflict(self) -> str | None:
        """A sentence that names conditions which cannot hold together; None where all can, or that is not known.

        A deletion filter: each condition without which the rest stays impossible is left out.
        """
        if not self.impossible():
            return None
        left: set[str] = set()
        for name in self.asked():
            if self.impossible(frozenset(left | {name})):
                left.add(name)
        return self._sentence([name for name in self.asked() if name not in left])

    def _sentence(self, names: list[str]) -> str:
        """The conditions, with their numbers."""
        told = [
            f"{name} = {getattr(self.limits, name):g}" if name in COUNTS[:3] else name
            for name in names
        ]
        told = [
            f"max_turnover = {self.conditions.max_turnover:g}" if name == "max_turnover" else name
            for name in told
        ]
        if len(told) == 1:
            return f"no distribution meets {told[0]}"
        more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
        listed = told[:SHOWN]
        joined = ", ".join(listed) if more else f"{', '.join(listed[:-1])} and {listed[-1]}"
        return f"these conditions cannot hold together: {joined}{more}"


def kinds_of(told: list[Vector], entries: Indices) -> Kinds:
    """Entries by kind: those of which all that is `told`, (n,) each, is equal; of one kind in the order given.

    They are sorted by a random sum of what is told; where different ones have the same sum, they
    stay apart.

    >>> kinds = kinds_of([np.array([1.0, 2.0, 1.0]), np.array([0.0, 5.0, 0.0])], np.arange(3))
    >>> sorted(kinds.order[start : start + size].tolist() for start, size in zip(kinds.starts, kinds.sizes))
    [[0, 2], [1]]
    """
    values = np.array([part[entries] for part in told]) + 0.0
    key = np.zeros(len(entries))
    for factor, part in zip(np.random.default_rng(0).random(len(told)), values, strict=True):
        key += factor * part  # not by BLAS, which may round equal columns differently
    by = np.argsort(key, kind="stable")
    apart = (values[:, by[1:]] != values[:, by[:-1]]).any(axis=0)
    return Kinds(entries[by], np.flatnonzero(np.append(True, apart)))
