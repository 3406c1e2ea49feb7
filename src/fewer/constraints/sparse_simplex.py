"""Distributions with at most k entries: vector sparsity, with bounds on what is held."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._compiled.box import project_box
from .._compiled.simplex import project_simplex
from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_integer,
    as_number,
    as_units,
    as_vector,
    shown,
)
from ..spaces import Space, Units, as_space
from ._nearest import nearest
from .conditions import Conditions, group_rows, together
from .feasibility import Feasibility
from .groups import Counts, as_counts, as_groups, as_shares, numbers_of
from .simplex import is_distribution, largest


@dataclass(frozen=True, eq=False)
class SparseSimplex:
    """At most k entries carry mass, with bounds on what is held; the paper's appendix A. A unit is an entry.

        {p in the simplex, ‖p‖₀ <= k, p_i = 0 or min_weight <= p_i <= max_weight}

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    k : int
        How many entries may be held.
    min_weight, max_weight : float
        The mass of an entry that is held lies between them.
    include, exclude : list of int
        Entries that are held, and entries that are not. An included one is always in the support
        and takes up one of the k, and one of its group's, whatever its mass; with min_weight = 0
        its best mass may be zero.
    groups : array of shape (size,), optional
        A label for each entry; limits per group need it.
    max_per_group, min_per_group : int, mapping or sequence, optional
        How many entries of one label are held, at most and at least: one number for all, numbers by
        label, or one for each in the order of the sorted labels. Equal ones mean exactly. With
        min_weight = 0 an entry may be held at mass zero, as one of `include` may: it takes up one
        of the k.
    max_group_weight, min_group_weight : float, mapping or sequence, optional
        The mass of all entries of one label lies between them; given like the counts.
    conditions : Conditions, optional
        Further linear conditions on the weights, and a turnover.

    Attributes
    ----------
    n_units : int
        The size of the space.
    whole_faces : bool
        Whether k is the only limit.

    Examples
    --------
    >>> from fewer import Atoms
    >>> SparseSimplex(Atoms(4), 2).project([0.5, 0.1, 0.7, 0.2]).round(6).tolist()
    [0.4, 0.0, 0.6, 0.0]
    >>> SparseSimplex(Atoms(4), 3, max_weight=0.5, exclude=[2]).project([0.9, 0.1, 0.7, 0.2]).round(6).tolist()
    [0.5, 0.2, 0.0, 0.3]
    """

    space: Space
    k: int
    min_weight: float = 0.0
    max_weight: float = 1.0
    include: Any = ()
    exclude: Any = ()
    groups: Any = None
    max_per_group: Any = None
    min_per_group: Any = None
    max_group_weight: Any = None
    min_group_weight: Any = None
    conditions: Any = None

    def __post_init__(self) -> None:
        as_space(self.space, "SparseSimplex")
        n = self.space.size
        store = object.__setattr__
        store(self, "k", as_integer(self.k, "k", 1, n, "entries"))
        store(self, "min_weight", as_number(self.min_weight, "min_weight", allow_equal=True))
        store(self, "max_weight", as_number(self.max_weight, "max_weight"))
        for name in ("include", "exclude"):
            store(self, name, as_units(getattr(self, name), n, "entries", name))
        self._take_groups(n)
        if self.conditions is not None:
            if not isinstance(self.conditions, Conditions):
                raise InvalidInput(
                    f"conditions must be Conditions(G, h, previous, ...), got {shown(self.conditions)}"
                )
            self.conditions.check(n)
        problem = self._trouble()
        if not problem and self.all_conditions is not None:
            problem = Feasibility(self, self.all_conditions).conflict()
        if problem:
            raise InvalidInput(problem)

    def _take_groups(self, n: int) -> None:
        """Read the labels, and the counts that hold for each."""
        limits = "max_per_group", "min_per_group", "max_group_weight", "min_group_weight"
        given = [name for name in limits if getattr(self, name) is not None]
        if self.groups is None and given:
            raise InvalidInput(f"groups and {given[0]} go together: give both or neither")
        if self.groups is not None and not given:
            raise InvalidInput(
                "groups and max_per_group go together: give both, or another limit of groups"
            )
        if self.groups is None:
            return
        codes, names = as_groups(self.groups, n)
        object.__setattr__(self, "groups", codes)
        object.__setattr__(self, "_names", names)
        for name in given:
            read = as_counts if name.endswith("per_group") else as_shares
            object.__setattr__(self, name, read(getattr(self, name), names, name, n))

    def _trouble(self) -> str | None:
        """Why no distribution can meet the bounds, or None."""
        both = np.intersect1d(self.include, self.exclude) if self.include.size else self.include
        if both.size:
            return f"include and exclude must not overlap, both hold {both.tolist()}"
        if self.include.size > self.k:
            return f"include must hold at most k = {self.k} entries, got {self.include.size}"
        if self.min_weight > self.max_weight:
            return f"min_weight must be at most max_weight = {self.max_weight:g}, got {self.min_weight:g}"
        if self.groups is not None:
            problem = self._trouble_with_groups()
            if problem:
                return problem
        most = self.most_held
        if most * self.max_weight < 1.0 - 1e-12:
            return (
                f"max_weight = {self.max_weight:g} is too small: the {most} entries that may be held "
                f"sum to at most {most * self.max_weight:g}, not 1"
            )
        least = self._fewest_held
        if least * self.min_weight > 1.0 + 1e-12:
            return f"min_weight = {self.min_weight:g} is too large: {least} entries held sum to more than 1"
        if not any(True for _ in self._counts(most)):
            return (
                f"no number of entries from {least} to {most} can have weights in "
                f"[{self.min_weight:g}, {self.max_weight:g}] that sum to 1"
            )
        return None

    def _trouble_with_groups(self) -> str | None:
        """Why no support has the counts that groups ask for, or None."""
        names: tuple[Any, ...] = self._names  # type: ignore[attr-defined] # set beside `groups`
        fewest, most = (numbers_of(given, len(names), rest) for given, rest in self._asked)
        held = np.bincount(self.groups[self.include], minlength=len(names))
        free = np.bincount(np.delete(self.groups, self.exclude), minlength=len(names))
        for g in np.flatnonzero((fewest > most) | (held > most) | (fewest > free)):
            group = f"group {shown(names[g])}"
            if held[g] > most[g]:
                return f"include holds {held[g]} entries of one group, {group}: more than max_per_group = {most[g]}"
            if fewest[g] > most[g]:
                return f"min_per_group = {fewest[g]} is above max_per_group = {most[g]} in {group}"
            return f"min_per_group asks for {fewest[g]} entries of {group}, of which only {free[g]} may be held"
        needed = int(np.maximum(fewest, held).sum())
        if needed > self.k:
            beside = " beside those of include" if (held > fewest).any() else ""
            return f"min_per_group{beside} asks for {needed} entries in all, more than k = {self.k}"
        return None

    @cached_property
    def all_conditions(self) -> Conditions | None:
        """What weights must meet beside their own bounds: limits of groups, and `conditions`; None where nothing."""
        if self.max_group_weight is None and self.min_group_weight is None:
            return self.conditions  # type: ignore[no-any-return] # checked
        names: tuple[Any, ...] = self._names  # type: ignore[attr-defined] # set beside `groups`
        G, h, called = group_rows(self.groups, names, self.max_group_weight, self.min_group_weight)
        return together(Conditions(G, h, names=called) if len(G) else None, self.conditions)

    @property
    def _asked(self) -> tuple[tuple[Any, int], ...]:
        """What was asked of each group, at least and at most, and what holds where nothing was."""
        return (self.min_per_group, 0), (self.max_per_group, self.space.size)

    @cached_property
    def counts(self) -> Counts | None:
        """How many entries of each group may be held; None without groups.

        The largest counts are those that are left when all other groups hold no more than they
        must.
        """
        if self.groups is None:
            return None
        size = int(self.groups.max()) + 1
        fewest, most = (numbers_of(given, size, rest) for given, rest in self._asked)
        base = np.maximum(fewest, np.bincount(self.groups[self.include], minlength=size))
        free = np.bincount(np.delete(self.groups, self.exclude), minlength=size)
        return Counts(
            self.groups, fewest, np.minimum(np.minimum(most, free), self.k - base.sum() + base)
        )

    @property
    def strict(self) -> bool:
        """Whether groups must hold their fewest with mass: where weights have a lower bound above zero."""
        return self.counts is not None and self.min_weight > 0.0 and bool(self.counts.fewest.any())

    @cached_property
    def most_held(self) -> int:
        """How many entries can be held at once."""
        free = (
            self.space.size - self.exclude.size
            if self.counts is None
            else int(self.counts.most.sum())
        )
        return int(min(self.k, free))

    @cached_property
    def _fewest_held(self) -> int:
        """How many entries must be held, whatever the weights."""
        return max(
            self.include.size if self.counts is None else self.counts.needed(self.include), 1
        )

    def _counts(self, most: int) -> Iterator[int]:
        """The numbers of entries that weights in the box can sum to one on."""
        for count in range(self._fewest_held, most + 1):
            if count * self.min_weight <= 1.0 + 1e-12 and count * self.max_weight >= 1.0 - 1e-12:
                yield count

    @property
    def whole_faces(self) -> bool:
        """Whether k is the only bound."""
        free = (
            not self.include.size
            and not self.exclude.size
            and self.groups is None
            and self.conditions is None
        )
        return free and self.min_weight == 0.0 and self.max_weight >= 1.0

    @property
    def projection_note(self) -> str:
        """What a result says that depends on a projection which is not exact."""
        few = "projections under conditions on weights look at a few promising supports only"
        return few if self.all_conditions is not None else ""

    @property
    def bounded(self) -> bool:
        """Whether weights have bounds of their own."""
        return self.min_weight > 0.0 or self.max_weight < 1.0

    @property
    def n_units(self) -> int:
        """The size of the space."""
        return self.space.size

    def face(self, units: Units) -> Indices:
        """The entries themselves, sorted."""
        return as_units(units, self.space.size, "entries")

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """argmin ‖p - v‖²; exact, whatever the bounds, but for conditions on groups' weights and `conditions`.

        With k alone: the k largest entries (of equals, the first), projected onto their simplex.
        Otherwise: for a fixed number of entries, larger weights belong to larger values, and what
        may be held together is a matroid, so the largest entries that the groups allow are best;
        min_weight makes the number matter, so all numbers are tried. Under linear conditions on
        weights it is the nearest member on a few promising supports, that of `near` among them.

        Source (k alone): Kyrillidis, Becker, Cevher & Koch, "Sparse projections onto the simplex",
        ICML 2013.
        """
        v = as_vector(v, self.space.shape, "v")
        p = np.zeros(v.size)
        if self.whole_faces:
            entries = largest(v, self.k)
            p[entries] = project_simplex(v[entries])
            return p
        if self.all_conditions is not None:
            return nearest(self, self.all_conditions, v, near)
        order = np.argsort(-v, kind="stable")
        counts = list(self._counts(self.most_held))
        if self.min_weight == 0.0:
            counts = counts[-1:]  # a larger face is never worse
        supports = [self.fitting(order, count) for count in counts]
        trials = [(entries, self.fit_box(v[entries])) for entries in supports]
        entries, weights = min(
            trials, key=lambda t: float(((t[1] - v[t[0]]) ** 2).sum() - (v[t[0]] ** 2).sum())
        )
        p[entries] = weights
        return p

    def fit_box(self, v: Vector) -> Vector:
        """The projection of v onto the weights in [min_weight, max_weight] that sum to one."""
        return project_box(
            v, np.full(v.size, self.min_weight), np.full(v.size, min(self.max_weight, 1.0))
        )

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """The fewest and the most entries that can be held."""
        counts = list(self._counts(self.most_held))
        return counts[0], counts[-1]

    @cached_property
    def open(self) -> npt.NDArray[np.bool_]:
        """Which entries may be held, (size,)."""
        mask = np.ones(self.space.size, bool)
        mask[self.exclude] = False
        return mask if self.counts is None else mask & (self.counts.most[self.counts.codes] > 0)

    def lacking(self, entries: Indices) -> int:
        """How many further entries a support needs: for its size, and for the fewest of each group."""
        short = max(self.sizes[0] - len(entries), 0)
        return (
            max(short, self.counts.needed(entries) - len(entries))
            if self.counts is not None
            else short
        )

    def addable(self, entries: Indices) -> npt.NDArray[np.bool_]:
        """Which entries fit beside these, (size,): all that may be held, where there is room for one more."""
        if self.counts is None:
            return self.open & (len(entries) < self.sizes[1])
        return np.asarray(self.open & self.counts.room(entries, self.sizes[1])[self.counts.codes])

    def allows(self, entries: Indices) -> bool:
        """Whether no more are held than may be, in all and of each group."""
        if len(entries) > self.sizes[1] or not self.open[entries].all():
            return False
        C = self.counts
        return C is None or (
            bool((C.used(entries) <= C.most).all()) and C.needed(entries) <= self.sizes[1]
        )

    def reachable(self, entries: Indices) -> bool:
        """Whether some of these entries may be a support, as far as counts tell."""
        if len(entries) < self.sizes[0] and (self.counts is None or self.strict):
            return False
        if not self.strict or self.counts is None:
            return True
        return bool((self.counts.used(entries) >= self.counts.fewest).all())

    def fitting(self, ranked: Indices, size: int) -> Indices:
        """`include` and the first of a ranking of entries that fit beside it, `size` in all, sorted.

        Excluded entries, those past their group's cap, and those that leave no room for the fewest
        of other groups are passed over.
        """
        rest = ranked[self.open[ranked] & ~np.isin(ranked, self.include)]
        room = size - self.include.size
        if self.counts is None:
            return np.sort(np.concatenate([self.include, rest[: max(room, 0)]]))
        used = self.counts.used(self.include)
        kept, taken = list(self.include), self.counts.needed(self.include)
        for entry in rest:
            if len(kept) >= size:
                break
            g = self.counts.codes[entry]
            within = used[g] < self.counts.fewest[g]
            if used[g] < self.counts.most[g] and (within or taken < size):
                used[g] += 1
                taken += not within
                kept.append(entry)
        return np.sort(np.array(kept, np.int64))

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution within all bounds; masses may be off by tol, the entries held may not."""
        p, tol = as_vector(p, self.space.shape, "p"), as_number(tol, "tol", allow_equal=True)
        used = np.flatnonzero(p != 0.0)
        held = used if self.counts is None and not self.include.size else self.support(p)
        if not is_distribution(p, tol) or held.size > self.k or not self.open[used].all():
            return False
        if p[held].min() < self.min_weight - tol or p[held].max() > self.max_weight + tol:
            return False
        if self.all_conditions is not None and not self.all_conditions.holds(p, max(tol, 1e-9)):
            return False
        if self.counts is None:
            return True
        used = self.counts.used(held)
        return bool((used <= self.counts.most).all() and (used >= self.counts.fewest).all())

    def support(self, p: Vector) -> Indices:
        """The entries that are held: those with mass, those of `include`, and where groups still lack some the first.

        With a min_weight above zero none is added.
        """
        entries = np.flatnonzero(as_vector(p, self.space.shape, "p") != 0.0)
        entries = np.union1d(entries, self.include) if self.include.size else entries
        if self.counts is None or self.min_weight > 0.0 or not self.counts.fewest.any():
            return entries
        short = np.maximum(self.counts.fewest - self.counts.used(entries), 0)
        if not short.any():
            return entries
        rest = np.setdiff1d(np.flatnonzero(self.open), entries)
        rest = rest[np.argsort(self.counts.codes[rest], kind="stable")]
        codes = self.counts.codes[rest]
        rank = np.arange(len(rest)) - np.searchsorted(codes, codes)
        return np.union1d(entries, rest[rank < short[codes]])
