"""Distributions whose dimensions cost at most a budget: D_k with costs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._compiled.simplex import project_simplex, simplex_distance
from .._validation import Indices, InvalidInput, Vector, as_number, as_vector, shown
from ..cover import Allowance
from ..spaces import Lattice, States, Units
from .simplex import is_distribution

ROUNDING = 1e-9
"""The share of the budget by which sums of costs may exceed it: they are sums of decimals, mostly."""


@dataclass(frozen=True, eq=False)
class DimensionBudget:
    """The dimensions that are used cost at most `budget` together. A unit is a dimension.

        ∪_{Σ_{i in S} costs_i <= budget} {p : p(x) = 0 unless supp(x) ⊆ S}

    `DimensionSparse` is the case where each dimension costs one. The projection is Algorithm 2, the gain counted for
    each unit of cost; it is not exact.

    Parameters
    ----------
    space : Lattice or States
        Where p lives.
    costs : array of shape (n,)
        What each dimension costs, above zero.
    budget : float
        What may be spent.

    Attributes
    ----------
    n_units : int
        The number of dimensions.
    k : int
        How many dimensions may be used at most: the cheapest that the budget pays for.
    whole_faces : bool
        False: not every face of k dimensions is within the budget.

    Examples
    --------
    >>> from fewer import Lattice
    >>> C = DimensionBudget(Lattice(3, 2), [1.0, 2.0, 2.5], 3.0)
    >>> C.k, C.contains([0.5, 0, 0, 0, 0, 0, 0.5, 0]), C.contains([0.5, 0, 0, 0.5, 0, 0, 0, 0])
    (2, True, False)
    """

    space: Lattice | States
    costs: Any
    budget: float

    def __post_init__(self) -> None:
        if not isinstance(self.space, (Lattice, States)):
            raise InvalidInput(f"DimensionBudget needs a Lattice or States, got {shown(self.space)}")
        costs = as_vector(self.costs, (self.space.n,), "costs")
        if costs.min() <= 0.0:
            raise InvalidInput(f"costs must be above 0, got {costs.min():g} at index {int(costs.argmin())}")
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "budget", as_number(self.budget, "budget", allow_equal=True))
        if isinstance(self.space, States):
            least = float(self.allowance.of_supports(self.space.indptr, self.space.indices).min())
            if least > self.allowance.room:
                raise InvalidInput(
                    f"no listed state fits into the budget of {self.budget:g}: the cheapest costs {least:g}"
                )

    @cached_property
    def allowance(self) -> Allowance:
        """What dimensions cost, and how much a face may."""
        return Allowance(self.costs, self.budget * (1.0 + ROUNDING))

    @property
    def k(self) -> int:
        """How many dimensions may be used at most."""
        return self.allowance.most

    @property
    def n_units(self) -> int:
        """The number of dimensions."""
        return self.space.n

    @property
    def whole_faces(self) -> bool:
        """Never: the budget cuts some faces of k dimensions off."""
        return False

    def face(self, units: Units) -> Indices:
        """The states x with supp(x) ⊆ units."""
        return self.space.face(units)

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """A member near v: Algorithm 2 by gain for each unit of cost, or on the support of `near` if that is nearer."""
        v = as_vector(v, self.space.shape, "v")
        face = self.face(self._greedy(v))
        if near is not None:
            other = self.face(self.support(near))
            if other.size and (not face.size or simplex_distance(v[other]) < simplex_distance(v[face])):
                face = other
        if not face.size:  # no listed state is in reach of greedy: take the cheapest
            rows = self.space.indptr, self.space.indices  # type: ignore[union-attr] # a lattice has its origin
            face = np.array([self.allowance.of_supports(*rows).argmin()])
        p = np.zeros(v.size)
        p[face] = project_simplex(v[face])
        return p

    def _greedy(self, v: Vector) -> Indices:
        """Dimensions added one at a time while the budget pays for one."""
        chosen: list[int] = []
        left, current = self.allowance.room, self._distance(v, chosen)
        while True:
            fitting = [i for i in range(self.n_units) if i not in chosen and self.costs[i] <= left]
            if not fitting:
                return np.sort(np.array(chosen, np.int64))
            distances = np.array([self._distance(v, [*chosen, i]) for i in fitting])
            rates = np.where(np.isfinite(distances), (min(current, 1e300) - distances) / self.costs[fitting], -np.inf)
            best = int(rates.argmax())
            current = float(distances[best])
            chosen.append(fitting[best])
            left -= float(self.costs[fitting[best]])

    def _distance(self, v: Vector, units: list[int]) -> float:
        """The squared distance to the face, up to a constant; infinite where it holds no state."""
        face = self.face(units)
        return float(simplex_distance(v[face])) if face.size else np.inf

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution whose dimensions the budget pays for, to within tol."""
        p, tol = as_vector(p, self.space.shape, "p"), as_number(tol, "tol", allow_equal=True)
        used = self.support(np.where(np.abs(p) > tol, p, 0.0))
        return is_distribution(p, tol) and self.allowance.allows(used)

    def support(self, p: Vector) -> Indices:
        """The dimensions that the states with mass use."""
        states = np.flatnonzero(as_vector(p, self.space.shape, "p"))
        if isinstance(self.space, States):
            return np.unique(self.space.rows[states].indices).astype(np.int64)
        return np.flatnonzero(self.space.unravel(states).any(axis=0))
