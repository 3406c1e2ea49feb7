"""Distributions on at most k groups of entries."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._compiled.simplex import project_simplex
from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_integer,
    as_number,
    as_units,
    as_vector,
    read,
)
from ..spaces import Space, Units, as_space
from ._group_projection import branched, greedily
from .groups import as_groups
from .simplex import is_distribution

HUGE = 1e100
"""Entries beyond this are compared by their differences: their squares may be infinite."""
MOST_GROUPS = 100
"""Groups up to which the projection is exact."""
MOST_COVERS = 100_000
"""Ways to cover a support by overlapping groups that are looked at."""


@dataclass(frozen=True, eq=False)
class GroupSparse:
    """At most k groups of entries carry mass. A unit is a group.

        {p in the simplex : supp(p) lies in the union of k groups, at most max_per_group entries of
        each}

    Which k groups are nearest to a vector is NP-hard in general (it contains k-subset sum). For
    disjoint groups, up to MOST_GROUPS = 100 of them, the projection is exact, by branch and bound;
    for more, and for groups that overlap, it is greedy; past 20,000 branches, which random vectors
    never need, it is the best found. `projection` says which, and so does the note of a result that
    depends on a greedy one.

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    groups : array of shape (size,), or boolean of shape (groups, size)
        A label for each entry; groups are in the order of the sorted labels. Or for each group
        which entries it has; entries may be in several, and those in none never carry mass.
    k : int
        How many groups may carry mass.
    max_per_group : int, optional
        How many entries of one group may carry mass; not for groups that overlap.

    Attributes
    ----------
    n_units : int
        How many groups there are.
    whole_faces : bool
        Whether `max_per_group` is not given.

    Examples
    --------
    >>> from fewer import Atoms
    >>> C = GroupSparse(Atoms(5), ["a", "a", "b", "b", "b"], k=1)
    >>> C.project([0.5, 0.1, 0.3, 0.3, 0.2]).round(6).tolist()
    [0.0, 0.0, 0.366667, 0.366667, 0.266667]
    >>> C.face([0]).tolist(), C.projection
    ([0, 1], 'exact')
    """

    space: Space
    groups: Any
    k: int
    max_per_group: int | None = None

    def __post_init__(self) -> None:
        as_space(self.space, "GroupSparse")
        n, store = self.space.size, object.__setattr__
        given = self.groups if isinstance(self.groups, tuple) else read(self.groups, "groups")
        if not isinstance(given, tuple) and given.ndim == 2:
            if given.dtype != bool or given.shape[1] != n or not given.any(axis=1).all():
                raise InvalidInput(
                    f"groups must be (size,) labels, or a boolean matrix (groups, {n}) whose groups have entries, got "
                    f"{given.dtype} of shape {given.shape}"
                )
            overlap = bool((given.sum(axis=0) != 1).any())
            store(self, "groups", given if overlap else given.argmax(axis=0))
            store(self, "names", tuple(range(len(given))))
        else:
            codes, names = as_groups(self.groups, n)
            store(self, "groups", codes)
            store(self, "names", names)
        store(self, "k", as_integer(self.k, "k", 1, self.n_units, "groups"))
        if self.max_per_group is not None:
            store(self, "max_per_group", min(as_integer(self.max_per_group, "max_per_group", 1), n))
            if self.overlapping:
                raise InvalidInput(
                    "max_per_group needs groups that do not overlap: labels, one for each entry"
                )

    @property
    def overlapping(self) -> bool:
        """Whether an entry is in several groups, or in none."""
        return bool(self.groups.ndim == 2)

    @property
    def projection(self) -> str:
        """Whether `project` is "exact" or "greedy"."""
        return "greedy" if self.overlapping or self.n_units > MOST_GROUPS else "exact"

    @property
    def projection_note(self) -> str:
        """What a result says that depends on a projection which is not exact."""
        if self.projection == "exact":
            return ""
        why = "groups that overlap" if self.overlapping else f"more than {MOST_GROUPS} groups"
        return f"projections onto GroupSparse are greedy for {why}"

    @property
    def n_units(self) -> int:
        """How many groups there are."""
        return len(self.groups) if self.overlapping else int(self.groups.max()) + 1

    @property
    def whole_faces(self) -> bool:
        """Whether k is the only bound."""
        return self.max_per_group is None

    @cached_property
    def matrix(self) -> npt.NDArray[np.bool_]:
        """Which entries each group has, (groups, size)."""
        if self.overlapping:
            return np.asarray(self.groups, bool)
        return np.asarray(self.groups[None, :] == np.arange(self.n_units)[:, None])

    def face(self, units: Units) -> Indices:
        """The entries of these groups, sorted."""
        chosen = as_units(units, self.n_units, "groups")
        if self.overlapping:
            return np.flatnonzero(self.groups[chosen].any(axis=0))
        return np.flatnonzero(np.isin(self.groups, chosen))

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """argmin ‖p - v‖²: exact or greedy, see `projection`; a greedy one also looks at the groups of `near`.

        On a union S of groups the squared distance is ‖v‖² + max_t -2t - Σ_S φ_g(t), φ_g(t) = Σ_g
        max(v - t, 0)². So for any t the k largest φ_g(t) bound all S, and these bounds prune the
        search. With `max_per_group` only the largest entries of each group matter.
        """
        v = as_vector(v, self.space.shape, "v")
        if np.abs(v).max() > HUGE:  # what lies more than 1 below the largest entry never has mass
            inside = self.groups.any(axis=0) if self.overlapping else np.ones(v.size, bool)
            with np.errstate(over="ignore"):
                v = np.maximum(v - v[inside].max(), -2.0)
        p = np.zeros(v.size)
        if self.overlapping:
            units = greedily(v, self.groups, self.k)
            entries = np.flatnonzero(self.groups[units].any(axis=0))
        else:
            kept = self._largest_of_each(v)
            search = branched if self.n_units <= MOST_GROUPS else greedily
            units = search(v[kept], self.matrix[:, kept], self.k)
            entries = kept[np.isin(self.groups[kept], units)]
        p[entries] = project_simplex(v[entries])
        if near is not None and self.projection == "greedy":
            p = min(
                (p, self._on(self.support(near), v)),
                key=lambda each: float(np.square(each - v).sum()),
            )
        return p

    def _on(self, units: Indices, v: Vector) -> Vector:
        """The projection of v onto the groups of a member."""
        p, face = np.zeros(v.size), self.face(units)
        kept = self._largest_of_each(v)
        entries = face if self.overlapping else np.intersect1d(face, kept)
        p[entries] = project_simplex(v[entries])
        return p

    def _largest_of_each(self, v: Vector) -> Indices:
        """The entries that may carry mass: of each group the `max_per_group` largest, all where there is no limit."""
        if self.max_per_group is None:
            return np.arange(v.size)
        order = np.lexsort((-v, self.groups))
        codes = self.groups[order]
        rank = np.arange(v.size) - np.searchsorted(codes, codes)
        return np.sort(order[rank < self.max_per_group])

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution on at most k groups, within `max_per_group`."""
        p, tol = as_vector(p, self.space.shape, "p"), as_number(tol, "tol", allow_equal=True)
        used = np.flatnonzero(p)
        if (
            not is_distribution(p, tol)
            or not self.matrix[:, used].any(axis=0).all()
            or len(self.support(p)) > self.k
        ):
            return False
        return (
            self.max_per_group is None
            or int(np.bincount(self.groups[used]).max()) <= self.max_per_group
        )

    def support(self, p: Vector) -> Indices:
        """The groups that carry mass; of groups that overlap a few that hold it all."""
        used = np.flatnonzero(as_vector(p, self.space.shape, "p"))
        if not self.overlapping:
            return np.unique(self.groups[used])
        return covering(self.groups[:, used], self.k)

    # entries within groups: what an engine asks where max_per_group is given

    min_weight, max_weight, include, all_conditions = 0.0, 1.0, np.empty(0, np.int64), None

    @cached_property
    def open(self) -> npt.NDArray[np.bool_]:
        """Which entries may carry mass, (size,)."""
        return np.asarray(self.matrix.any(axis=0))

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """The fewest and the most entries that can carry mass."""
        each = np.sort(np.minimum(self.matrix.sum(axis=1), self.max_per_group or self.space.size))[
            ::-1
        ]
        return 1, int(each[: self.k].sum())

    def addable(self, entries: Indices) -> npt.NDArray[np.bool_]:
        """Which entries fit beside these, (size,)."""
        used = np.bincount(self.groups[entries], minlength=self.n_units)
        fits = used < (self.max_per_group or self.space.size)
        if (used > 0).sum() >= self.k:
            fits &= used > 0
        return np.asarray(fits[self.groups])

    def allows(self, entries: Indices) -> bool:
        """Whether these entries may carry mass together."""
        used = np.bincount(self.groups[entries], minlength=self.n_units)
        return bool(
            (used > 0).sum() <= self.k and used.max() <= (self.max_per_group or self.space.size)
        )

    def reachable(self, entries: Indices) -> bool:
        """Whether some of these entries may carry mass."""
        return len(entries) > 0

    def lacking(self, entries: Indices) -> int:
        """How many further entries are needed: one where there is none."""
        return int(len(entries) == 0)

    def fitting(self, ranked: Indices, size: int) -> Indices:
        """The first of a ranking of entries that may carry mass together."""
        kept: list[int] = []
        used = np.zeros(self.n_units, np.int64)
        for entry in ranked:
            g = self.groups[entry]
            room = used[g] > 0 or (used > 0).sum() < self.k
            if len(kept) < size and room and used[g] < (self.max_per_group or self.space.size):
                used[g] += 1
                kept.append(int(entry))
        return np.sort(np.array(kept, np.int64))


def covering(groups: npt.NDArray[np.bool_], k: int) -> Indices:
    """Groups (g, m) that together have all m entries: greedily; where these are more than k, k if a search finds them.

    >>> covering(np.array([[True, True, False], [True, False, True], [False, True, True]]), 2).tolist()
    [0, 1]
    """
    chosen: list[int] = []
    left = groups.any(axis=0)
    while left.any():
        best = int(np.argmax((groups & left).sum(axis=1)))
        chosen.append(best)
        left &= ~groups[best]
    if len(chosen) > k:
        stack: list[tuple[tuple[int, ...], Any]] = [((), groups.any(axis=0))]
        looks = 0
        while stack and looks < MOST_COVERS:
            units, rest = stack.pop()
            looks += 1
            if not rest.any():
                return np.sort(np.array(units, np.int64))
            if len(units) < k:
                entry = int(np.flatnonzero(rest)[np.argmin(groups[:, rest].sum(axis=0))])
                stack += [
                    ((*units, int(g)), rest & ~groups[g]) for g in np.flatnonzero(groups[:, entry])
                ]
    return np.sort(np.array(chosen, np.int64))
