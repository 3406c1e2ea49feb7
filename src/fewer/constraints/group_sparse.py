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
from ..rules import Rules
from ..spaces import Space, Units, as_space
from ._group_projection import greedy_groups, nearest_groups
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
        groups = self.groups if isinstance(self.groups, tuple) else read(self.groups, "groups")
        if np.ndim(groups) == 2 and not isinstance(groups, tuple):
            if groups.dtype != bool or groups.shape[1] != n or not groups.any(axis=1).all():
                raise InvalidInput(
                    f"groups must be (size,) labels, or a boolean matrix (groups, {n}) whose groups"
                    f" have entries, got {groups.dtype} of shape {groups.shape}"
                )
            disjoint = bool((groups.sum(axis=0) == 1).all())
            codes, names = groups.argmax(axis=0) if disjoint else groups, tuple(range(len(groups)))
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

    @property
    def entrywise(self) -> bool:
        """Whether the units of a support are entries: where their number in a group is limited."""
        return self.max_per_group is not None

    @cached_property
    def rules(self) -> Rules:
        """Which groups may carry mass together, or with `max_per_group` which entries."""
        if self.max_per_group is None:
            return Rules(self.n_units, self.k)
        n = self.space.size
        return Rules(n, n, groups=self.groups, most=self.max_per_group, most_groups=self.k)

    @cached_property
    def matrix(self) -> npt.NDArray[np.bool_]:
        """Which entries each group has, (groups, size)."""
        if self.overlapping:
            return np.asarray(self.groups, bool)
        return np.asarray(self.groups[None, :] == np.arange(self.n_units)[:, None])

    def face(self, units: Units) -> Indices:
        """The entries of these groups, sorted."""
        groups = as_units(units, self.n_units, "groups")
        if self.overlapping:
            return np.flatnonzero(self.groups[groups].any(axis=0))
        return np.flatnonzero(np.isin(self.groups, groups))

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """argmin ‖p - v‖²: exact or greedy, see `projection`.

        a greedy one also looks at the groups of `near`.

        On a union S of groups the squared distance is ‖v‖² + max_t -2t - Σ_S φ_g(t), φ_g(t) = Σ_g
        max(v - t, 0)². So for any t the k largest φ_g(t) bound all S, and these bounds prune the
        search. With `max_per_group` only the largest entries of each group matter.
        """
        v = as_vector(v, self.space.shape, "v")
        if np.abs(v).max() > HUGE:  # what lies more than 1 below the largest entry never has mass
            inside = self.face(np.arange(self.n_units))
            with np.errstate(over="ignore"):
                v = np.maximum(v - v[inside].max(), -2.0)
        kept = self._largest_of_each(v)
        search = nearest_groups if self.projection == "exact" else greedy_groups
        p = self._projected(search(v[kept], self.matrix[:, kept], self.k), v, kept)
        if near is None or self.projection == "exact":
            return p
        other = self._projected(self.support(near), v, kept)
        return min((p, other), key=lambda each: float(np.square(each - v).sum()))

    def _projected(self, groups: Indices, v: Vector, kept: Indices) -> Vector:
        """The projection of v onto the entries `kept` of some groups."""
        p, entries = np.zeros(v.size), np.intersect1d(self.face(groups), kept)
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
        if not is_distribution(p, tol) or len(self.support(p)) > self.k:
            return False
        if self.overlapping:
            return bool(self.groups[:, used].any(axis=0).all())
        return self.max_per_group is None or self.rules.allows(used)

    def support(self, p: Vector) -> Indices:
        """The groups that carry mass; of groups that overlap a few that hold it all."""
        used = np.flatnonzero(as_vector(p, self.space.shape, "p"))
        if not self.overlapping:
            return np.unique(self.groups[used])
        return covering_groups(self.groups[:, used], self.k)


def covering_groups(groups: npt.NDArray[np.bool_], k: int) -> Indices:
    """Groups (g, m) that together have all m entries: greedily.

    Where these are more than k, k if a search finds them.

    >>> groups = np.array([[True, True, False], [True, False, True], [False, True, True]])
    >>> covering_groups(groups, 2).tolist()
    [0, 1]
    """
    units: list[int] = []
    everything = groups.any(axis=0)
    left = everything.copy()
    while left.any():
        units.append(int(np.argmax((groups & left).sum(axis=1))))
        left &= ~groups[units[-1]]
    stack: list[tuple[list[int], Any]] = [([], everything)] if len(units) > k else []
    for _ in range(MOST_COVERS):
        if not stack:
            break
        cover, left = stack.pop()
        if not left.any():
            units = cover
            break
        if len(cover) < k:
            entry = np.flatnonzero(left)[np.argmin(groups[:, left].sum(axis=0))]
            others = np.flatnonzero(groups[:, entry]).tolist()
            stack += [([*cover, g], left & ~groups[g]) for g in others]
    return np.sort(np.array(units, np.int64))
