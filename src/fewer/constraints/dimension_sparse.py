"""Distributions that use at most k dimensions: the paper's D_k."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from .._compiled.lattice import better, greedy_units
from .._compiled.simplex import project_simplex, simplex_distance
from .._compiled.states import greedy_state_units
from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_flag,
    as_integer,
    as_number,
    as_units,
    as_vector,
    known,
    magnitude,
    shown,
)
from ..codes import as_table
from ..rules import Rules
from ..spaces import Lattice, States, Units
from .simplex import is_distribution

MAX_STEPS, STEPS_PER_SUPPORT = 5 * 10**9, 10**4
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
    include, exclude : array of int
        Dimensions that count as used in any case, and dimensions that are never used.

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
    include: Any = ()
    exclude: Any = ()

    def __post_init__(self) -> None:
        if not isinstance(self.space, (Lattice, States)):
            raise InvalidInput(
                f"DimensionSparse needs a Lattice or States, got {shown(self.space)}"
            )
        for name in ("include", "exclude"):
            units = as_units(getattr(self, name), self.space.n, "dimensions", name)
            object.__setattr__(self, name, tuple(units.tolist()))
        if self.costs is None and self.budget is None:
            object.__setattr__(self, "k", as_integer(self.k, "k", 1, self.space.n, "dimensions"))
        else:
            self._read_costs()
        both = sorted(set(self.include) & set(self.exclude))
        if both:
            raise InvalidInput(f"include and exclude must not overlap, both hold {both}")
        if self.rules.prices[list(self.include)].sum() > self.rules.room:
            raise InvalidInput(f"include must be within k or the budget, got {list(self.include)}")
        as_flag(self.incumbent, "incumbent")
        known(self.projection, {"greedy": None, "exact": None}, "projection")
        if isinstance(self.space, States):
            self._require_a_state()
        if self.projection == "exact" and self._steps > MAX_STEPS:
            raise InvalidInput(
                f"an exact projection would walk {magnitude(math.comb(self.space.n, self.k))}"
                ' supports; use projection="greedy" or a smaller space'
            )

    def _read_costs(self) -> None:
        """Refuse costs and a budget that say nothing, and set k."""
        if self.costs is None or self.budget is None or self.k is not None:
            raise InvalidInput("give k, or costs and budget, what may be spent on them")
        if self.projection == "exact":
            raise InvalidInput(
                'projection must be "greedy" where dimensions have costs, got "exact"'
            )
        costs = as_vector(self.costs, (self.space.n,), "costs")
        paid = np.delete(costs, [*self.include, *self.exclude])
        if paid.size and paid.min() <= 0.0:
            raise InvalidInput(
                f"costs must be above 0, got {costs.min():g} at index {int(costs.argmin())}"
            )
        budget = as_number(self.budget, "budget", allow_equal=True)
        cheapest = np.cumsum(np.sort(costs))
        k = int(np.searchsorted(cheapest, budget * (1.0 + ROUNDING), side="right"))
        self.__dict__.update(costs=tuple(costs.tolist()), budget=budget, k=k)

    def _require_a_state(self) -> None:
        """Refuse a limit that no listed state is within."""
        indptr, indices = self._supports
        uses = np.repeat(np.arange(self.space.size), np.diff(indptr))
        least = float(np.bincount(uses, self.rules.added_costs[indices], self.space.size).min())
        if least > self.rules.spare:
            limit, verb = f"k = {self.k} dimensions", "the smallest uses"
            if self.budget is not None:
                limit, verb = f"the budget of {self.budget:g}", "the cheapest costs"
            raise InvalidInput(f"no listed state fits into {limit}: {verb} {least:g}")

    dimensions = True  # units are dimensions: of L2 and KL the mass on a face decides

    @property
    def n_units(self) -> int:
        """The number of dimensions."""
        return self.space.n

    @property
    def whole_faces(self) -> bool:
        """Whether k is the only bound."""
        return self.rules.only_k

    @cached_property
    def rules(self) -> Rules:
        """Which dimensions may be used together."""
        include, exclude = (np.array(x, np.int64) for x in (self.include, self.exclude))
        if self.budget is None:
            return Rules(self.space.n, self.k, include, exclude)
        costs, budget = np.array(self.costs), self.budget * (1.0 + ROUNDING)
        return Rules(self.space.n, self.space.n, include, exclude, costs=costs, budget=budget)

    @cached_property
    def _supports(self) -> tuple[Indices, Indices]:
        """The dimensions of each state that are not included, as `indptr` and `indices`."""
        if isinstance(self.space, States):
            table = self.space.rows
        else:
            table = as_table(self.space.unravel(np.arange(self.space.size)))
        left = ~np.isin(table.indices, self.include)
        before = np.concatenate([[0], np.cumsum(left)])
        return before[table.indptr], table.indices[left].astype(np.int64)

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
        face = self.face(self._nearest(v) if self.projection == "exact" else self._greedy(v))
        if self.incumbent:
            other = self.face(self._heaviest(v) if near is None else self.support(near))
            if other.size and simplex_distance(v[other]) < simplex_distance(v[face]):
                face = other
        p = np.zeros(v.size)
        p[face] = project_simplex(v[face])
        return p

    def _greedy(self, v: Vector) -> Indices:
        """The dimensions that Algorithm 2 picks for v."""
        costs, room = self.rules.added_costs, self.rules.spare
        if isinstance(self.space, States) or self.include or self.exclude:
            count = min(self.k, self.space.n) - len(self.include)
            units = greedy_state_units(v, *self._supports, count, costs, room)
            return np.union1d(units, self.rules.include)
        shape = np.array(self.space.shape, np.int64)
        return greedy_units(v, self.space.strides, shape, self.k, self._largest, costs, room)

    def _nearest(self, v: Vector) -> Indices:
        """The k dimensions whose face is nearest to v, by looking at all C(n, k).

        Of equals the first.
        """
        least, nearest = np.inf, np.arange(self.k)
        free = np.setdiff1d(np.arange(self.space.n), [*self.include, *self.exclude])
        for others in combinations(free, min(self.k - len(self.include), len(free))):
            units = np.sort(np.array([*self.include, *others], np.int64))
            face = self.space.face(units)
            distance = simplex_distance(v[face]) if face.size else np.inf
            if better(distance, least):
                least, nearest = distance, units
        return nearest

    def _heaviest(self, v: Vector) -> Indices:
        """The dimensions of the positive entries of v, heaviest first, each taken whole while k allows."""
        units = self.rules.include
        positive = np.flatnonzero(v > 0)
        for entry in positive[np.argsort(-v[positive], kind="stable")]:
            grown = np.union1d(units, np.flatnonzero(self.space.unravel(entry)))
            if self.rules.allows(grown):
                units = grown
            if len(units) == self.k:
                break
        return units

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution whose dimensions are within the limit, to within tol."""
        p = as_vector(p, self.space.shape, "p")
        if not is_distribution(p, tol):
            return False
        return self.rules.allows(self.support(np.where(np.abs(p) > tol, p, 0.0)))

    def support(self, p: Vector) -> Indices:
        """The dimensions that are included, and those that the states with mass use."""
        states = np.flatnonzero(as_vector(p, self.space.shape, "p"))
        if isinstance(self.space, States):
            used = self.space.rows[states].indices
        else:
            used = np.flatnonzero(self.space.unravel(states).any(axis=0))
        return np.union1d(used, self.rules.include).astype(np.int64)
