"""What may be held together: how many units, at what cost, of which groups, and with what weights."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ._validation import Indices, Vector

Mask = npt.NDArray[np.bool_]
NO_UNITS = np.empty(0, np.int64)
SUM_ERROR = 1e-12
"""How far bounds on weights may miss a sum of one."""


@dataclass(frozen=True, eq=False)
class Rules:
    """Which of n units may be held together, and what their weights must meet.

    At most k units are held, those of `include` always and those of `exclude` never, and their
    costs sum to at most `budget`. With `groups`, codes from 0, group g gives at most `most[g]`
    units, at least `fewest[g]` places are kept for it, and at most `most_groups` groups give any.
    What may be held is a matroid: S with Σ_g max(|S in g|, fewest_g) <= k, no group above its cap.

    Attributes
    ----------
    min_weight, max_weight : float
        The interval of each weight that is held.
    conditions : Conditions or None
        Linear conditions on the weights.
    labels : tuple
        What messages call the groups.

    Examples
    --------
    >>> rules = Rules(4, 2, groups=np.array([0, 0, 1, 1]), most=np.array([1, 1]))
    >>> rules.addable(np.array([0])).tolist()
    [False, False, True, True]
    >>> rules.fitting(np.array([1, 0, 3, 2]), 2).tolist(), rules.sizes
    ([1, 3], (1, 2))
    """

    n: int
    k: int
    include: Indices = field(default_factory=NO_UNITS.copy)
    exclude: Indices = field(default_factory=NO_UNITS.copy)
    groups: Any = None
    fewest: Any = None
    most: Any = None
    most_groups: int | None = None
    costs: Any = None
    budget: float = math.inf
    min_weight: float = 0.0
    max_weight: float = 1.0
    conditions: Any = None
    labels: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.groups is not None:
            counts = np.zeros(int(self.groups.max()) + 1, np.int64)
            fewest, most = self.fewest, self.most
            object.__setattr__(self, "fewest", counts + (0 if fewest is None else fewest))
            object.__setattr__(self, "most", counts + (self.n if most is None else most))

    @cached_property
    def open(self) -> Mask:
        """Which units may be held at all, (n,)."""
        mask = np.ones(self.n, bool)
        mask[self.exclude] = False
        return mask if self.groups is None else mask & (self.caps[self.groups] > 0)

    @cached_property
    def caps(self) -> Indices:
        """How many units each group may give when all others hold no more than they must, (groups,)."""
        inside = np.bincount(self.groups[self.include], minlength=len(self.most))
        least = np.maximum(self.fewest, inside)
        free = np.bincount(np.delete(self.groups, self.exclude), minlength=len(self.most))
        return np.asarray(np.minimum(np.minimum(self.most, free), self.k - least.sum() + least))

    @cached_property
    def classes(self) -> tuple[Indices, Indices, Indices]:
        """The group of each unit, what each group may give at most, and at least; one of all without groups."""
        if self.groups is None:
            most = np.array([self.sizes[1]])
            return np.zeros(self.n, np.int64), most, np.zeros(1, np.int64)
        return self.groups, self.caps, self.fewest

    @cached_property
    def most_held(self) -> int:
        """How many units can be held at once, whatever their weights."""
        if self.groups is not None:
            return int(min(self.k, np.sort(self.caps)[::-1][: self.most_groups].sum()))
        costs = np.sort(self.prices[self.open])
        affordable = int(np.searchsorted(np.cumsum(costs), self.budget, side="right"))
        return min(self.k, affordable)

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """The fewest and the most units on which weights can sum to one.

        The fewest are more where there are none.
        """
        shares = min((1.0 - SUM_ERROR) / self.max_weight, self.n + 1.0)
        fewest = max(self.needed(self.include), math.ceil(shares), 1)
        if self.min_weight == 0.0:
            return fewest, self.most_held
        most = (1.0 + SUM_ERROR) / self.min_weight
        return fewest, self.most_held if most >= self.most_held else math.floor(most)

    @property
    def possible(self) -> bool:
        """Whether some support has the counts and the sizes that are asked for, conditions left aside."""
        if self.sizes[0] > self.sizes[1] or self.min_weight > self.max_weight:
            return False
        if self.groups is None:
            return True
        free = np.bincount(np.delete(self.groups, self.exclude), minlength=len(self.most))
        least = np.maximum(self.fewest, self.used(self.include))
        return bool((least <= self.most).all() and (self.fewest <= free).all())

    @property
    def strict(self) -> bool:
        """Whether groups must hold their fewest with mass: where weights have a lower bound above zero."""
        return self.groups is not None and self.min_weight > 0.0 and bool(self.fewest.any())

    @property
    def bounded(self) -> bool:
        """Whether weights have bounds of their own."""
        return self.min_weight > 0.0 or self.max_weight < 1.0

    @cached_property
    def only_k(self) -> bool:
        """Whether k is the only limit."""
        forced = self.include.size or self.exclude.size or self.groups is not None
        return not (forced or self.bounded or self.costs is not None or self.conditions is not None)

    def used(self, units: Indices) -> Indices:
        """How many of these units are in each group, (groups,)."""
        return np.bincount(self.groups[units], minlength=len(self.most))

    def needed(self, units: Indices) -> int:
        """How many places a set takes up, those included that its groups still lack."""
        if self.groups is None:
            return len(units)
        return int(np.maximum(self.used(units), self.fewest).sum())

    def lacking(self, units: Indices) -> int:
        """How many further units a support needs: for its size, and for the fewest of each group."""
        return max(self.sizes[0], self.needed(units)) - len(units)

    def addable(self, units: Indices) -> Mask:
        """Which units fit beside these, (n,): all that are open, where there is room for one more."""
        fits = self.open & (len(units) < self.sizes[1])
        if self.costs is not None:
            fits &= self.costs <= self.budget - self.costs[units].sum()
        if self.groups is None:
            return fits
        used = self.used(units)
        spare = np.maximum(used, self.fewest).sum() < self.sizes[1]
        room = (used < self.caps) & (spare | (used < self.fewest))
        if self.most_groups is not None and (used > 0).sum() >= self.most_groups:
            room &= used > 0
        return np.asarray(fits & room[self.groups])

    def allows(self, units: Indices) -> bool:
        """Whether no more are held than may be: in all, of each group, of groups, and by their costs."""
        if len(units) > self.sizes[1] or not self.open[units].all():
            return False
        if self.costs is not None and self.costs[units].sum() > self.budget:
            return False
        if self.groups is None:
            return True
        used = self.used(units)
        few = self.most_groups is None or (used > 0).sum() <= self.most_groups
        return bool(few and (used <= self.caps).all() and self.needed(units) <= self.sizes[1])

    def reachable(self, units: Indices) -> bool:
        """Whether some of these units may be a support, as far as counts tell."""
        if self.groups is None:
            return len(units) >= self.sizes[0]
        if not self.strict:
            return len(units) > 0
        enough = self.used(units) >= self.fewest
        return len(units) >= self.sizes[0] and bool(enough.all())

    def fitting(self, ranked: Indices, size: int) -> Indices:
        """`include` and the first of a ranking of units that fit beside it, `size` in all, sorted.

        Excluded units, those past their group's cap, and those that leave no room for the fewest of
        other groups are passed over.
        """
        rest = ranked[self.open[ranked] & ~np.isin(ranked, self.include)]
        room = max(size - self.include.size, 0)
        if self.groups is None:
            return np.sort(np.concatenate([self.include, rest[:room]]))
        used, kept, taken = self.used(self.include), list(self.include), self.needed(self.include)
        most_groups = len(used) if self.most_groups is None else self.most_groups
        for unit in rest:
            if len(kept) >= size:
                break
            g = self.groups[unit]
            within = used[g] < self.fewest[g]
            another = used[g] > 0 or (used > 0).sum() < most_groups
            if used[g] < self.caps[g] and another and (within or taken < size):
                used[g] += 1
                taken += not within
                kept.append(unit)
        return np.sort(np.array(kept, np.int64))

    def most_worth(self, worth: Vector, among: Any = None, room: float | None = None) -> float:
        """No allowed set has more of `worth` (n,): the best by worth for its cost first, the last in part.

        >>> Rules(3, 3, costs=np.array([2.0, 1.0, 4.0]), budget=3.0).most_worth(
        ...     np.array([2.0, 3.0, 8.0])
        ... )
        7.0
        """
        units = np.arange(self.n) if among is None else np.flatnonzero(among)
        left = self.room if room is None else room
        rates = worth[units] / self.prices[units]
        order = units[np.argsort(-rates, kind="stable")]
        spent = np.cumsum(self.prices[order])
        whole = int(np.searchsorted(spent, left, side="right"))
        total = float(worth[order[:whole]].sum())
        left -= float(spent[whole - 1]) if whole else 0.0
        if whole < len(order) and left > 0.0:
            total += left * float(worth[order[whole]] / self.prices[order[whole]])
        return total

    def bounds(self, count: int) -> tuple[Vector, Vector]:
        """The least and the largest weight of `count` units that are held."""
        return np.full(count, self.min_weight), np.full(count, min(self.max_weight, 1.0))

    @cached_property
    def prices(self) -> Vector:
        """The cost of each unit, (n,): one each where there are no costs."""
        return np.ones(self.n) if self.costs is None else np.asarray(self.costs, np.float64)

    @property
    def spare(self) -> float:
        """What may be spent beside the units that are included."""
        return max(self.room - float(self.prices[self.include].sum()), 0.0)

    @cached_property
    def added_costs(self) -> Vector:
        """What each unit costs beside those included: nothing for these, infinite where it is excluded."""
        costs = np.where(self.open, self.prices, np.inf)
        costs[self.include] = 0.0
        return costs

    def reduce_to(self, free: Indices) -> "Rules":
        """What may be held of these units beside the ones that are included, without groups."""
        if self.costs is None:
            return Rules(len(free), min(int(self.spare), len(free)))
        return Rules(len(free), len(free), costs=self.costs[free], budget=self.spare)

    @property
    def room(self) -> float:
        """What the units of a support may cost together: k where each costs one."""
        return float(self.k) if self.costs is None else self.budget
