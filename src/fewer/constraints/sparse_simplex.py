"""Distributions with at most k entries: vector sparsity, with bounds on what is held."""

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._compiled.simplex import largest, project_simplex
from .._validation import (
    Fix,
    Indices,
    InvalidInput,
    Vector,
    as_integer,
    as_number,
    as_units,
    as_vector,
    shown,
)
from ..programmes import cleaned, quadratic_programme
from ..rules import SUM_ERROR, Rules
from ..spaces import Space, Units, as_space
from .conditions import Conditions, group_conditions, together
from .feasibility import conflict, feasible_member
from .groups import as_groups, limits_of_groups
from .simplex import is_distribution

GROUP_LIMITS = "max_per_group", "min_per_group", "max_group_weight", "min_group_weight"
MAX_RELAXED = 600
"""Entries among which the projection without a limit on their number is looked at."""


@dataclass(frozen=True, eq=False)
class SparseSimplex:
    """At most k entries carry mass, with bounds on what is held; the paper's appendix A.

    A unit is an entry.

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
    >>> SparseSimplex(Atoms(4), 3, max_weight=0.5, exclude=[2]).project([0.9, 0.1, 0.7, 0.2]).round(
    ...     6
    ... ).tolist()
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
    labels: tuple[Any, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        as_space(self.space, "SparseSimplex")
        n = self.space.size
        read = {
            "k": as_integer(self.k, "k", 1, n, "entries"),
            "min_weight": as_number(self.min_weight, "min_weight", allow_equal=True),
            "max_weight": as_number(self.max_weight, "max_weight"),
            "include": as_units(self.include, n, "entries", "include"),
            "exclude": as_units(self.exclude, n, "entries", "exclude"),
        }
        self.__dict__.update(read)
        self._read_groups(n)
        if self.conditions is not None:
            if not isinstance(self.conditions, Conditions):
                raise InvalidInput(
                    "conditions must be Conditions(G, h, previous, ...), got"
                    f" {shown(self.conditions)}"
                )
            self.conditions.check(n)
        both = np.intersect1d(self.include, self.exclude)
        if both.size:
            raise InvalidInput(f"include and exclude must not overlap, both hold {both.tolist()}")
        if self.rules.conditions is not None or not self.rules.possible:
            problem = conflict(self.rules)
            if problem:
                raise InvalidInput(problem)

    def _read_groups(self, n: int) -> None:
        """Read the labels, and the limits that hold for each."""
        limits = [name for name in GROUP_LIMITS if getattr(self, name) is not None]
        if self.groups is None and not limits:
            return
        if self.groups is None or not limits:
            other = limits[0] if limits else "max_per_group"
            words = f"groups and {other} go together: give both"
            words += " or neither" if limits else ", or another limit of groups"
            raise InvalidInput(words, "groups", [Fix(other)])
        codes, names = as_groups(self.groups, n)
        self.__dict__.update(groups=codes, labels=names)
        for name in limits:
            self.__dict__[name] = limits_of_groups(getattr(self, name), names, name, n)

    @cached_property
    def rules(self) -> Rules:
        """Which entries may be held together, and what their weights must meet."""
        conditions = self.conditions
        if self.groups is not None:
            limits = self.max_group_weight, self.min_group_weight
            conditions = together(group_conditions(self.groups, self.labels, *limits), conditions)
        return Rules(
            self.space.size,
            self.k,
            self.include,
            self.exclude,
            self.groups,
            self.min_per_group,
            self.max_per_group,
            min_weight=self.min_weight,
            max_weight=self.max_weight,
            conditions=conditions,
            labels=self.labels,
        )

    entrywise = True

    @property
    def whole_faces(self) -> bool:
        """Whether k is the only bound."""
        return self.rules.only_k

    @property
    def projection_note(self) -> str:
        """What a result says that depends on a projection which is not exact."""
        if self.rules.conditions is None:
            return ""
        return "projections under conditions on weights look at a few promising supports only"

    @property
    def n_units(self) -> int:
        """The size of the space."""
        return self.space.size

    def face(self, units: Units) -> Indices:
        """The entries themselves, sorted."""
        return as_units(units, self.space.size, "entries")

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """argmin ‖p - v‖²; exact but for conditions on groups' weights and `conditions`.

        With k alone: the k largest entries (of equals, the first), projected onto their simplex.
        Otherwise: for a fixed number of entries, larger weights belong to larger values, and what
        may be held together is a matroid, so the largest entries that the groups allow are best;
        min_weight makes the number matter, so all numbers are tried. Under linear conditions on
        weights it is the nearest member on a few promising supports, that of `near` among them.

        Source (k alone): Kyrillidis, Becker, Cevher & Koch, "Sparse projections onto the simplex",
        ICML 2013.
        """
        v, rules = as_vector(v, self.space.shape, "v"), self.rules
        if rules.conditions is not None:
            return self._nearest_member(v, near)
        p = np.zeros(v.size)
        if rules.only_k:
            entries = largest(v, self.k)
            p[entries] = project_simplex(v[entries])
            return p
        order = np.argsort(-v, kind="stable")
        fewest, most = rules.sizes
        least = np.inf
        for count in range(fewest if rules.min_weight > 0.0 else most, most + 1):
            entries = rules.fitting(order, count)
            weights = project_box(v[entries], *rules.bounds(len(entries)))
            distance = float((weights * (weights - 2.0 * v[entries])).sum())
            if distance < least:
                least, best, best_weights = distance, entries, weights
        p[best] = best_weights
        return p

    def _nearest_member(self, v: Vector, near: Vector | None) -> Vector:
        """The nearest member on a few supports; where none of them has one, HiGHS finds one."""
        rules = self.rules
        supports = promising_supports(rules, v)
        if near is not None:
            supports.append(self.support(near))
        members = [p for p in (nearest_on(rules, units, v) for units in supports) if p is not None]
        if members:
            return min(members, key=lambda p: float(np.square(p - v).sum()))
        member = feasible_member(rules, v - v.min())
        if member is None:
            raise InvalidInput(
                "no weights that meet all conditions were found in time; leave some of them away"
            )
        p = nearest_on(rules, np.flatnonzero(member), v)
        return member if p is None else p

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution within all bounds.

        Masses may be off by tol, the entries held may not.
        """
        p, tol = as_vector(p, self.space.shape, "p"), as_number(tol, "tol", allow_equal=True)
        rules, units = self.rules, self.support(p)
        if not is_distribution(p, tol) or units.size > self.k or not rules.open[p != 0.0].all():
            return False
        if p[units].min() < self.min_weight - tol or p[units].max() > self.max_weight + tol:
            return False
        if rules.conditions is not None and not rules.conditions.holds(p, max(tol, 1e-9)):
            return False
        if rules.groups is None:
            return True
        used = rules.used(units)
        return bool((used <= rules.caps).all() and (used >= rules.fewest).all())

    def support(self, p: Vector) -> Indices:
        """The entries that are held: those with mass, those of `include`, and where groups still lack some the first.

        With a min_weight above zero none is added.
        """
        entries = np.flatnonzero(as_vector(p, self.space.shape, "p") != 0.0)
        entries, rules = np.union1d(entries, self.include), self.rules
        if rules.groups is None or self.min_weight > 0.0:
            return entries
        short = np.maximum(rules.fewest - rules.used(entries), 0)
        rest = np.setdiff1d(np.flatnonzero(rules.open), entries)
        rest = rest[np.argsort(rules.groups[rest], kind="stable")]
        codes = rules.groups[rest]
        rank = np.arange(len(rest)) - np.searchsorted(codes, codes)
        return np.union1d(entries, rest[rank < short[codes]])


def project_box(v: Vector, low: Vector, high: Vector) -> Vector:
    """argmin ‖q - v‖² over low <= q <= high, Σ q = 1, which must be feasible: q = clip(v - tau, low, high).

    Σ clip(v - tau, low, high) falls piecewise linearly in tau with kinks at v - high and v - low:
    the two kinks around 1 are found by bisection, and tau lies on the line between.
    """
    kinks = np.sort(np.concatenate([v - high, v - low]))

    def total(kink: int) -> float:
        return float(np.clip(v - kinks[kink], low, high).sum())

    left, right = 0, len(kinks) - 1
    while right - left > 1:
        middle = (left + right) // 2
        if total(middle) >= 1.0:
            left = middle
        else:
            right = middle
    above, below = total(left), total(right)
    share = (above - 1.0) / (above - below) if above > below else 0.0
    tau = kinks[left] + share * (kinks[right] - kinks[left])
    return cleaned(np.clip(v - tau, low, high), low, high)


def promising_supports(rules: Rules, v: Vector) -> list[Indices]:
    """The supports of the largest entries of v, and of its projection without k."""
    orders = [np.argsort(-v, kind="stable")]
    units = np.flatnonzero(rules.open)
    if len(units) <= MAX_RELAXED:
        relaxed = nearest_on(rules, units, v, least=0.0)
        if relaxed is not None:
            orders.append(np.lexsort((-v, -relaxed)))
    counts = dict.fromkeys((rules.sizes[1], rules.sizes[0]))
    return [rules.fitting(order, count) for order in orders for count in counts]


def nearest_on(
    rules: Rules, units: Indices, v: Vector, least: float | None = None
) -> Vector | None:
    """The nearest weights to v on some entries under all conditions, none below `least`.

    None where there are none.
    """
    low, high = rules.bounds(len(units))
    if least is not None:
        low[:] = least
    if not len(units) or low.sum() > 1.0 + SUM_ERROR or high.sum() < 1.0 - SUM_ERROR:
        return None
    solve = partial(quadratic_programme, np.eye(len(units)), v[units], low, high)
    best = rules.conditions.solved(units, solve)
    if best is None:
        return None
    p = np.zeros(v.size)
    p[units] = best.weights
    return p
