"""Distributions that use at most k dimensions: the paper's D_k."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from .._compiled.lattice import TIE, greedy_units
from .._compiled.simplex import project_simplex, simplex_distance
from .._compiled.states import greedy_state_units
from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_integer,
    as_number,
    as_vector,
    known,
    magnitude,
    shown,
)
from ..rules import Rules
from ..spaces import Lattice, States, Units
from .simplex import is_distribution

MOST_STEPS, STEPS_PER_SUPPORT = 5 * 10**9, 10**4
"""An exact projection that would touch more entries is refused (about ten seconds); entries that a
support costs beside those of its face."""
ROUNDING = 1e-9
"""The share of the budget by which sums of costs may exceed it: they are sums of decimals, mostly.
"""


@dataclass(frozen=True)
class DimensionSparse:
    """At most k dimensions are used; the paper's definition 1. A unit is a dimension.

        D_k = ∪_{|S| <= k} {p : p(x) = 0 unless supp(x) ⊆ S}

    With `costs` and `budget`, instead of k, S is any set of dimensions whose costs sum to at most
    the budget.

    Projecting is NP-hard (theorem 1). Algorithm 2 is not idempotent: a single state (0, 1, 1) lies
    in D_2, yet no first dimension shows any gain and it ends at squared distance 1.25.

    Parameters
    ----------
    space : Lattice or States
        Where p lives.
    k : int
        How many dimensions may be used; with costs, as many as the budget pays for of the cheapest.
    projection : {"greedy", "exact"}
        Algorithm 2, or a walk over all C(n, k) supports. What is projected may be any table:
        negative entries, any sum. Algorithm 2 with costs takes the gain as it is, of the dimensions
        that the rest of the budget pays for.
    incumbent : bool
        Whether the support of `near` (in a solver, of the iterate the step left from), or else the
        dimensions of the heaviest entries while they fit, is one more candidate of the greedy
        projection.
    costs : array of shape (n,), optional
        What each dimension costs, above zero.
    budget : float, optional
        What may be spent on costs.

    Attributes
    ----------
    n_units : int
        The number of dimensions.
    whole_faces : bool
        Whether k is the only limit: False with costs, as not every face of k dimensions is within
        the budget.

    Examples
    --------
    >>> from fewer import Lattice
    >>> v = [0, 0, 0, 1, 0, 0, 0, 0]
    >>> DimensionSparse(Lattice(3, 2), 2).project(v).tolist()
    [0.25, 0.0, 0.25, 0.0, 0.25, 0.0, 0.25, 0.0]
    >>> DimensionSparse(Lattice(3, 2), 2, incumbent=True).project(v).tolist()
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    >>> C = DimensionSparse(Lattice(3, 2), costs=[1.0, 2.0, 2.5], budget=3.0)
    >>> C.k, C.contains([0.5, 0, 0, 0, 0, 0, 0.5, 0]), C.contains([0.5, 0, 0, 0.5, 0, 0, 0, 0])
    (2, True, False)
    """

    space: Lattice | States
    k: Any = None
    projection: str = "greedy"
    incumbent: bool = False
    costs: Any = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.space, (Lattice, States)):
            raise InvalidInput(
                f"DimensionSparse needs a Lattice or States, got {shown(self.space)}"
            )
        if self.costs is None and self.budget is None:
            object.__setattr__(self, "k", as_integer(self.k, "k", 1, self.space.n, "dimensions"))
        else:
            self._check_costs()
        if not isinstance(self.incumbent, (bool, np.bool_)):
            raise InvalidInput(f"incumbent must be True or False, got {shown(self.incumbent)}")
        known(self.projection, dict.fromkeys(("greedy", "exact")), "projection")
        if isinstance(self.space, States):
            uses = np.repeat(np.arange(self.space.size), np.diff(self.space.indptr))
            costs = self.rules.prices[self.space.indices]
            least = float(np.bincount(uses, costs, self.space.size).min())
            if least > self.rules.room:
                limit, verb = f"k = {self.k} dimensions", "the smallest uses"
                if self.budget is not None:
                    limit, verb = f"the budget of {self.budget:g}", "the cheapest costs"
                raise InvalidInput(f"no listed state fits into {limit}: {verb} {least:g}")
        if self.projection == "exact" and self._steps > MOST_STEPS:
            raise InvalidInput(
                f"an exact projection would walk {magnitude(math.comb(self.space.n, self.k))}"
                " supports; "
                f'use projection="greedy" or a smaller space'
            )

    def _check_costs(self) -> None:
        """Refuse costs and a budget that say nothing, and set k."""
        if self.costs is None or self.budget is None or self.k is not None:
            raise InvalidInput("give k, or costs and budget, what may be spent on them")
        costs = as_vector(self.costs, (self.space.n,), "costs")
        if costs.min() <= 0.0:
            raise InvalidInput(
                f"costs must be above 0, got {costs.min():g} at index {int(costs.argmin())}"
            )
        if self.projection == "exact":
            raise InvalidInput(
                'projection must be "greedy" where dimensions have costs, got "exact"'
            )
        object.__setattr__(self, "costs", tuple(costs.tolist()))
        object.__setattr__(self, "budget", as_number(self.budget, "budget", allow_equal=True))
        cheapest = np.cumsum(np.sort(costs))
        affordable = np.searchsorted(cheapest, self.budget * (1.0 + ROUNDING), side="right")
        object.__setattr__(self, "k", int(affordable))

    dimensions = True  # units are dimensions: of L2 and KL the mass on a face decides

    @property
    def n_units(self) -> int:
        """The number of dimensions."""
        return self.space.n

    @property
    def whole_faces(self) -> bool:
        """Whether k is the only bound."""
        return self.costs is None

    @cached_property
    def rules(self) -> Rules:
        """Which dimensions may be used together."""
        if self.costs is None or self.budget is None:
            return Rules(self.space.n, self.k)
        budget = self.budget * (1.0 + ROUNDING)
        return Rules(self.space.n, self.space.n, costs=np.array(self.costs), budget=budget)

    @property
    def _steps(self) -> int:
        """How many entries an exact projection touches."""
        each = self._largest if isinstance(self.space, Lattice) else self.space.indices.size
        return math.comb(self.space.n, self.k) * (each + STEPS_PER_SUPPORT)

    @property
    def _largest(self) -> int:
        """The size of the largest face of a lattice."""
        return math.prod(sorted(self.space.cardinalities)[-self.k :])

    def face(self, units: Units) -> Indices:
        """The states x with supp(x) ⊆ units."""
        return self.space.face(units)

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """A member near v: Algorithm 2, or the nearest one when `projection="exact"`."""
        v = as_vector(v, self.space.shape, "v")
        face = self.face(self._search(v))
        if self.incumbent:
            units = self.support(near) if near is not None else self._heaviest(v)
            other = self.face(units)
            if other.size and simplex_distance(v[other]) < simplex_distance(v[face]):
                face = other
        p = np.zeros(v.size)
        p[face] = project_simplex(v[face])
        return p

    def _search(self, v: Vector) -> Indices:
        """The dimensions that the chosen projection picks for v."""
        if self.projection == "exact":
            return self._nearest(v)
        costs, room = self.rules.prices, self.rules.room
        if isinstance(self.space, States):
            supports = self.space.indptr, self.space.indices
            return greedy_state_units(v, *supports, self.k, costs, room)
        shape = np.array(self.space.shape, np.int64)
        return greedy_units(v, self.space.strides, shape, self.k, self._largest, costs, room)

    def _nearest(self, v: Vector) -> Indices:
        """The k dimensions whose face is nearest to v, by looking at all C(n, k).

        Of equals the first.
        """
        least, nearest = np.inf, np.arange(self.k)
        for units in combinations(range(self.space.n), self.k):
            face = self.space.face(units)
            distance = simplex_distance(v[face]) if face.size else np.inf
            if distance < least - (TIE * abs(least) if least < np.inf else 0.0):
                least, nearest = distance, np.array(units)
        return nearest

    def _heaviest(self, v: Vector) -> Indices:
        """The dimensions of the positive entries of v, heaviest first, each taken whole while k allows."""
        units: set[int] = set()
        positive = np.flatnonzero(v > 0)
        for entry in positive[np.argsort(-v[positive], kind="stable")]:
            grown = units | set(np.flatnonzero(self.space.unravel(entry)).tolist())
            if self.rules.allows(np.array(sorted(grown), np.int64)):
                units = grown
            if len(units) == self.k:
                break
        return np.array(sorted(units), np.int64)

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution whose dimensions are within the limit, to within tol."""
        p, tol = as_vector(p, self.space.shape, "p"), as_number(tol, "tol", allow_equal=True)
        units = self.support(np.where(np.abs(p) > tol, p, 0.0))
        return is_distribution(p, tol) and self.rules.allows(units)

    def support(self, p: Vector) -> Indices:
        """The dimensions that the states with mass use."""
        states = np.flatnonzero(as_vector(p, self.space.shape, "p"))
        if isinstance(self.space, States):
            return np.unique(self.space.rows[states].indices).astype(np.int64)
        return np.flatnonzero(self.space.unravel(states).any(axis=0))
