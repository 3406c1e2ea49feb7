"""Distributions on at most k groups of entries."""

import heapq
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._compiled.simplex import project_simplex, simplex_distance
from .._validation import Indices, InvalidInput, Vector, as_integer, as_units, as_vector, read
from ..rules import Rules
from ..spaces import Space, Units, as_space
from .groups import Groups, as_groups
from .simplex import is_distribution

Mask = npt.NDArray[np.bool_]

MAX_GROUPS = 100
"""Groups up to which the projection is exact."""
MAX_COVERS = 100_000
"""Ways to cover a support by overlapping groups that are looked at."""
HALVINGS = 50
"""Halvings of the bracket of a threshold."""
MAX_BRANCHES = 20_000
"""Branches looked at; a search that is longer ends with the best groups found."""
TIE = 1e-12
"""Relative gain below which a branch is closed."""


@dataclass(frozen=True, eq=False)
class GroupSparse:
    """At most k groups of entries carry mass. A unit is a group.

        {p in the simplex : supp(p) lies in the union of k groups, at most max_per_group entries of
        each}

    Which k groups are nearest to a vector is NP-hard in general (it contains k-subset sum). For
    disjoint groups, up to MAX_GROUPS = 100 of them, the projection is exact, by branch and bound;
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
        n, codes = self.space.size, self.groups
        if not isinstance(codes, Groups):
            codes = read(codes, "groups")
        if np.ndim(codes) == 2 and not isinstance(codes, Groups):
            if codes.dtype != bool or codes.shape[1] != n or not codes.any(axis=1).all():
                raise InvalidInput(
                    f"groups must be (size,) labels, or a boolean matrix (groups, {n}) whose groups"
                    f" have entries, got {codes.dtype} of shape {codes.shape}"
                )
            names: tuple[Any, ...] = tuple(range(len(codes)))
            if (codes.sum(axis=0) == 1).all():
                codes = codes.argmax(axis=0)
        else:
            codes, names = as_groups(self.groups, n)
        self.__dict__.update(groups=codes, names=names)
        self.__dict__["k"] = as_integer(self.k, "k", 1, self.n_units, "groups")
        if self.max_per_group is not None:
            most = min(as_integer(self.max_per_group, "max_per_group", 1), n)
            self.__dict__["max_per_group"] = most
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
        return "greedy" if self.overlapping or self.n_units > MAX_GROUPS else "exact"

    @property
    def projection_note(self) -> str:
        """What a result says that depends on a projection which is not exact."""
        if self.projection == "exact":
            return ""
        why = "groups that overlap" if self.overlapping else f"more than {MAX_GROUPS} groups"
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
    def matrix(self) -> Mask:
        """Which entries each group has, (groups, size)."""
        if self.overlapping:
            return np.asarray(self.groups, bool)
        return np.asarray(np.equal.outer(np.arange(self.n_units), self.groups))

    def face(self, units: Units) -> Indices:
        """The entries of these groups, sorted."""
        groups = as_units(units, self.n_units, "groups")
        if self.overlapping:
            return np.flatnonzero(self.groups[groups].any(axis=0))
        return np.flatnonzero(np.isin(self.groups, groups))

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """argmin ‖p - v‖²: exact or greedy, see `projection`.

        A greedy one also looks at the groups of `near`. With `max_per_group` only the largest
        entries of each group matter.
        """
        v = as_vector(v, self.space.shape, "v")
        kept, exact = self._largest_of_each(v), self.projection == "exact"
        search = nearest_groups if exact else greedy_groups
        choices = [search(v[kept], self.matrix[:, kept], self.k)]
        if near is not None and not exact:
            choices.append(self.support(near))
        faces = [np.intersect1d(self.face(groups), kept) for groups in choices]
        face = min(faces, key=lambda face: simplex_distance(v[face]))
        p = np.zeros(v.size)
        p[face] = project_simplex(v[face])
        return p

    def _largest_of_each(self, v: Vector) -> Indices:
        """The entries that may carry mass: the `max_per_group` largest of each group."""
        if self.max_per_group is None:
            return np.arange(v.size)
        order = np.lexsort((-v, self.groups))
        codes = self.groups[order]
        rank = np.arange(v.size) - np.searchsorted(codes, codes)
        return np.sort(order[rank < self.max_per_group])

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution on at most k groups, within `max_per_group`."""
        p = as_vector(p, self.space.shape, "p")
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


def covering_groups(groups: Mask, k: int) -> Indices:
    """Groups (g, m) that together have all m entries: k, if a search finds them, or greedily more.

    >>> groups = np.array([[True, True, False], [True, False, True], [False, True, True]])
    >>> covering_groups(groups, 2).tolist()
    [0, 1]
    """
    everything = groups.any(axis=0)
    units, left = list[int](), everything
    while left.any():
        units.append(int(np.argmax((groups & left).sum(axis=1))))
        left = left & ~groups[units[-1]]
    stack: list[tuple[list[int], Any]] = [([], everything)] if len(units) > k else []
    for _ in range(MAX_COVERS):
        if not stack:
            break
        cover, left = stack.pop()
        if not left.any():
            units = cover
            break
        if len(cover) < k:
            entry = np.flatnonzero(left)[np.argmin(groups[:, left].sum(axis=0))]
            owners = np.flatnonzero(groups[:, entry]).tolist()
            stack += [([*cover, g], left & ~groups[g]) for g in owners]
    return np.sort(np.array(units, np.int64))


def gain(v: Vector) -> float:
    """How much nearer v is to the simplex on these entries than to zero; -inf for none."""
    return -simplex_distance(v) if v.size else -np.inf


def greedy_groups(v: Vector, groups: Mask, k: int) -> Indices:
    """Add the group that brings v nearest, k times, sorted.

    v: (n,), groups: (g, n), which may overlap.
    """
    inside = np.zeros(v.size, bool)
    gains = np.zeros(len(groups))
    for _ in range(min(k, len(groups))):
        for g in np.flatnonzero(gains > -np.inf):
            gains[g] = gain(v[inside | groups[g]])
        best = int(np.argmax(gains))
        inside |= groups[best]
        gains[best] = -np.inf
    return np.flatnonzero(gains == -np.inf)


def nearest_groups(v: Vector, groups: Mask, k: int) -> Indices:
    """The best k groups, proven, sorted. v: (n,), groups: (g, n), disjoint.

    A branch is bounded by `upper_bound`, and divided at the chosen group that weighs most there.

    >>> nearest_groups(
    ...     np.array([0.5, 0.1, 0.3, 0.3, 0.2]),
    ...     np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]], bool),
    ...     1,
    ... ).tolist()
    [1]
    """
    codes = groups.argmax(axis=0)
    best = np.isin(np.arange(len(groups)), greedy_groups(v, groups, k))
    most = gain(v[best[codes]])
    serial = itertools.count()
    undecided = np.full(len(groups), np.nan)  # of each group: 1 inside, 0 outside, nan undecided
    heap = [(-np.inf, next(serial), undecided)]
    for _ in range(MAX_BRANCHES):
        if not heap or -heap[0][0] <= most + TIE * abs(most):
            break
        _, _, fixed = heapq.heappop(heap)
        bound, units, squares = upper_bound(v, codes, fixed, k)
        value = gain(v[units[codes]])
        if value > most + TIE * abs(most):
            most, best = value, units
        open_units = np.flatnonzero(units & np.isnan(fixed))
        if not open_units.size or bound <= most + TIE * abs(most):
            continue
        at = open_units[np.argmax(squares[open_units])]
        for side in (1.0, 0.0):
            child = fixed.copy()
            child[at] = side
            if child.any():
                heapq.heappush(heap, (-bound, next(serial), child))
    return np.flatnonzero(best)


def upper_bound(v: Vector, codes: Indices, fixed: Vector, k: int) -> tuple[float, Mask, Vector]:
    """What k groups of a branch gain at most, the groups that attain it, and what each adds there.

    For any t that is 2t + the k largest Σ_g max(v - t, 0)², which is convex in t with the slope
    2 - 2 Σ_S max(v - t, 0).
    """
    low, high = float(v.min()) - 1.0, float(v.max())
    rank = np.where(fixed == 1.0, np.inf, -np.inf)
    least = np.inf
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        above = np.maximum(v - t, 0.0)
        squares: Vector = np.bincount(codes, above * above, len(fixed)).astype(np.float64)
        order = np.argsort(-np.where(np.isnan(fixed), squares, rank), kind="stable")
        units = np.zeros(len(fixed), bool)
        units[order[:k]] = True
        units &= fixed != 0.0
        least = min(least, 2.0 * t + float(squares[units].sum()))
        if float(above[units[codes]].sum()) > 1.0:
            low = t
        else:
            high = t
    return least, units, squares
