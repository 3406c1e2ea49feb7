"""Distributions with at most k entries: vector sparsity, with bounds on what is held."""

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._compiled.box import project_box
from .._compiled.simplex import BLOCK, project_simplex
from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_integer,
    as_number,
    as_units,
    as_vector,
    read,
    shown,
    unmasked,
)
from ..spaces import Space, Units, as_space
from .simplex import is_distribution


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
        Entries that are held, and entries that are not. An included one is always in the support and takes up one of
        the k, and one of its group's, whatever its mass; with min_weight = 0 its best mass may be zero.
    groups : array of shape (size,), optional
        A label for each entry; of the entries with one label at most `max_per_group` are held.
    max_per_group : int, optional
        Given together with `groups`.

    Attributes
    ----------
    n_units : int
        The size of the space.
    whole_faces : bool
        Whether k is the only bound.

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
    max_per_group: int | None = None

    def __post_init__(self) -> None:
        as_space(self.space, "SparseSimplex")
        n = self.space.size
        store = object.__setattr__
        store(self, "k", as_integer(self.k, "k", 1, n, "entries"))
        store(self, "min_weight", as_number(self.min_weight, "min_weight", allow_equal=True))
        store(self, "max_weight", as_number(self.max_weight, "max_weight"))
        for name in ("include", "exclude"):
            store(self, name, as_units(getattr(self, name), n, "entries", name))
        if (self.groups is None) != (self.max_per_group is None):
            raise InvalidInput("groups and max_per_group go together: give both or neither")
        if self.groups is not None:
            store(self, "groups", as_groups(self.groups, n))
            store(self, "max_per_group", min(as_integer(self.max_per_group, "max_per_group", 1), n))
        problem = self._trouble()
        if problem:
            raise InvalidInput(problem)

    def _trouble(self) -> str | None:
        """Why no distribution can meet the bounds, or None."""
        both = np.intersect1d(self.include, self.exclude)
        if both.size:
            return f"include and exclude must not overlap, both hold {both.tolist()}"
        if self.include.size > self.k:
            return f"include must hold at most k = {self.k} entries, got {self.include.size}"
        if self.min_weight > self.max_weight:
            return f"min_weight must be at most max_weight = {self.max_weight:g}, got {self.min_weight:g}"
        if self.groups is not None and self.include.size:
            held = np.bincount(self.groups[self.include])
            if held.max() > (self.max_per_group or 0):
                most_in = f"more than max_per_group = {self.max_per_group}"
                return f"include holds {held.max()} entries of one group, {most_in}"
        most = self.most_held
        if most * self.max_weight < 1.0 - 1e-12:
            return (
                f"max_weight = {self.max_weight:g} is too small: the {most} entries that may be held "
                f"sum to at most {most * self.max_weight:g}, not 1"
            )
        least = max(self.include.size, 1)
        if least * self.min_weight > 1.0 + 1e-12:
            return f"min_weight = {self.min_weight:g} is too large: {least} entries held sum to more than 1"
        if not any(True for _ in self._counts(most)):
            return (
                f"no number of entries from {least} to {most} can have weights in "
                f"[{self.min_weight:g}, {self.max_weight:g}] that sum to 1"
            )
        return None

    @cached_property
    def most_held(self) -> int:
        """How many entries can be held at once."""
        free = self.space.size - self.exclude.size
        if self.groups is not None:
            allowed = np.delete(self.groups, self.exclude)
            free = int(np.minimum(np.bincount(allowed), self.max_per_group or 0).sum()) if allowed.size else 0
        return int(min(self.k, free))

    def _counts(self, most: int) -> Iterator[int]:
        """The numbers of entries that weights in the box can sum to one on."""
        for count in range(max(self.include.size, 1), most + 1):
            if count * self.min_weight <= 1.0 + 1e-12 and count * self.max_weight >= 1.0 - 1e-12:
                yield count

    @property
    def whole_faces(self) -> bool:
        """Whether k is the only bound."""
        free = not self.include.size and not self.exclude.size and self.groups is None
        return free and self.min_weight == 0.0 and self.max_weight >= 1.0

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
        """Argmin ‖p - v‖²; exact, whatever the bounds.

        With k alone: the k largest entries (of equals, the first), projected onto their simplex. Otherwise:
        for a fixed number of entries, larger weights belong to larger values, and what may be held together is
        a matroid, so the largest entries that the groups allow are best; min_weight makes the number matter, so
        all numbers are tried.

        Source (k alone): Kyrillidis, Becker, Cevher & Koch, "Sparse projections onto the simplex", ICML 2013.
        """
        v = as_vector(v, self.space.shape, "v")
        p = np.zeros(v.size)
        if self.whole_faces:
            entries = largest(v, self.k)
            p[entries] = project_simplex(v[entries])
            return p
        order = np.argsort(-v, kind="stable")
        counts = list(self._counts(self.most_held))
        if self.min_weight == 0.0:
            counts = counts[-1:]  # a larger face is never worse
        supports = [self.fitting(order, count) for count in counts]
        trials = [(entries, self.fit_box(v[entries])) for entries in supports]
        entries, weights = min(trials, key=lambda t: float(((t[1] - v[t[0]]) ** 2).sum() - (v[t[0]] ** 2).sum()))
        p[entries] = weights
        return p

    def fit_box(self, v: Vector) -> Vector:
        """The projection of v onto the weights in [min_weight, max_weight] that sum to one."""
        return project_box(v, np.full(v.size, self.min_weight), np.full(v.size, min(self.max_weight, 1.0)))

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
        return mask

    def codes(self, entries: Indices) -> Indices:
        """The groups of these entries as small integers; all zero without groups."""
        if self.groups is None:
            return np.zeros(len(entries), np.int64)
        return np.unique(self.groups[entries], return_inverse=True)[1].astype(np.int64).reshape(-1)

    def fitting(self, ranked: Indices, size: int) -> Indices:
        """`include` and the first of a ranking of entries that fit beside it, `size` in all, sorted.

        Excluded entries and those past their group's cap are passed over.
        """
        rest = ranked[self.open[ranked] & ~np.isin(ranked, self.include)]
        room = size - self.include.size
        if self.groups is None:
            return np.sort(np.concatenate([self.include, rest[: max(room, 0)]]))
        held = np.bincount(self.groups[self.include], minlength=int(self.groups.max()) + 1)
        kept = list(self.include)
        for entry in rest:
            if len(kept) >= size:
                break
            if held[self.groups[entry]] < (self.max_per_group or 0):
                held[self.groups[entry]] += 1
                kept.append(entry)
        return np.sort(np.array(kept, np.int64))

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution within all bounds; masses may be off by tol, the entries held may not."""
        p, tol = as_vector(p, self.space.shape, "p"), as_number(tol, "tol", allow_equal=True)
        used, held = np.flatnonzero(p), self.support(p)
        if not is_distribution(p, tol) or held.size > self.k or not self.open[used].all():
            return False
        if p[held].min() < self.min_weight - tol or p[held].max() > self.max_weight + tol:
            return False
        return self.groups is None or int(np.bincount(self.groups[held]).max()) <= (self.max_per_group or 0)

    def support(self, p: Vector) -> Indices:
        """The entries that are held: those with mass, and those of `include`."""
        entries = np.flatnonzero(as_vector(p, self.space.shape, "p"))
        return np.union1d(entries, self.include) if self.include.size else entries


def as_groups(labels: Any, n: int) -> Indices:
    """Labels of n entries, of one kind that can be told apart, as integers from 0."""
    labels = unmasked(labels, "groups")
    array = read(labels, "groups")
    if array.shape != (n,):
        raise InvalidInput(f"groups must have shape ({n},), one label for each entry, got {array.shape}")
    if not isinstance(labels, np.ndarray) or array.dtype == object:
        kinds = {kind_of(label) for label in labels}
        if len(kinds) > 1 or None in kinds:
            raise InvalidInput(
                f"groups must be labels of one kind (integers, numbers or strings) without gaps, got {shown(labels)}"
            )
        array = np.array([str(label) for label in labels]) if kinds == {"text"} else array
    if array.dtype.kind not in "biufUSmM" or (array.dtype.kind in "fmM" and (array != array).any()):
        raise InvalidInput(f"groups must be integers, numbers or strings without gaps, got {shown(labels)}")
    return np.asarray(np.unique(array, return_inverse=True)[1], np.int64).reshape(-1)


def kind_of(label: Any) -> str | None:
    """What kind of label this is; None where it is none."""
    if isinstance(label, (bool, np.bool_)):
        return "flag"
    if isinstance(label, (str, bytes)):
        return type(label).__name__ if isinstance(label, bytes) else "text"
    return "number" if isinstance(label, numbers.Real) and label == label else None


def largest(v: Vector, k: int) -> Indices:
    """Sorted indices of the k largest entries; among equals the lowest indices; O(n).

    Of a long v only what reaches the k-th largest top of a block of BLOCK entries is looked at twice.
    """
    blocks = v.size // BLOCK
    if blocks > k:
        tops = v[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
        near = np.flatnonzero(v >= np.partition(tops, blocks - k)[blocks - k])
        return near[_largest(v[near], k)]
    return _largest(v, k)


def _largest(v: Vector, k: int) -> Indices:
    """`largest` by partial sorting."""
    if k >= v.size:
        return np.arange(v.size)
    least = np.partition(v, v.size - k)[v.size - k]
    above = np.flatnonzero(v > least)
    equal = np.flatnonzero(v == least)[: k - above.size]
    return np.sort(np.concatenate([above, equal]))
