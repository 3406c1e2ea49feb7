"""Distributions that use at most k dimensions: the paper's D_k."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._compiled.lattice import exact_units, greedy_units
from .._compiled.simplex import project_simplex, simplex_distance
from .._compiled.states import exact_state_units, greedy_state_units
from .._validation import Indices, InvalidInput, Vector, as_integer, as_number, as_vector, known, magnitude, shown
from ..cover import Allowance
from ..spaces import Lattice, States, Units
from .simplex import is_distribution

MOST_STEPS = 5 * 10**9
"""An exact projection that would touch more entries than this is refused (about ten seconds)."""


@dataclass(frozen=True)
class DimensionSparse:
    """At most k dimensions are used; the paper's definition 1. A unit is a dimension.

        D_k = ∪_{|S| <= k} {p : p(x) = 0 unless supp(x) ⊆ S}

    Projecting is NP-hard (theorem 1). Algorithm 2 is not idempotent: a single state (0, 1, 1) lies in D_2, yet no first
    dimension shows any gain and it ends at squared distance 1.25.

    Parameters
    ----------
    space : Lattice or States
        Where p lives.
    k : int
        How many dimensions may be used.
    projection : {"greedy", "exact"}
        Algorithm 2, or a walk over all C(n, k) supports. What is projected may be any table: negative entries, any sum.
    incumbent : bool
        Whether the support of `near` (in a solver, of the iterate the step left from), or else the dimensions of the
        heaviest entries while they fit, is one more candidate of the greedy projection.

    Attributes
    ----------
    n_units : int
        The number of dimensions.
    whole_faces : bool
        True: k is the only limit.

    Examples
    --------
    >>> from fewer import Lattice
    >>> v = [0, 0, 0, 1, 0, 0, 0, 0]
    >>> DimensionSparse(Lattice(3, 2), 2).project(v).tolist()
    [0.25, 0.0, 0.25, 0.0, 0.25, 0.0, 0.25, 0.0]
    >>> DimensionSparse(Lattice(3, 2), 2, incumbent=True).project(v).tolist()
    [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """

    space: Lattice | States
    k: int
    projection: str = "greedy"
    incumbent: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.space, (Lattice, States)):
            raise InvalidInput(f"DimensionSparse needs a Lattice or States, got {shown(self.space)}")
        object.__setattr__(self, "k", as_integer(self.k, "k", 1, self.space.n, "dimensions"))
        if not isinstance(self.incumbent, (bool, np.bool_)):
            raise InvalidInput(f"incumbent must be True or False, got {shown(self.incumbent)}")
        known(self.projection, {"greedy": greedy_units, "exact": exact_units}, "projection")
        if isinstance(self.space, States):
            least = int(np.diff(self.space.indptr).min())
            if least > self.k:
                raise InvalidInput(f"no listed state fits into k = {self.k} dimensions: the smallest uses {least}")
        if self.projection == "exact" and self._steps > MOST_STEPS:
            raise InvalidInput(
                f"an exact projection would walk {magnitude(math.comb(self.space.n, self.k))} supports; "
                f'use projection="greedy" or a smaller space'
            )

    @property
    def n_units(self) -> int:
        """The number of dimensions."""
        return self.space.n

    @property
    def whole_faces(self) -> bool:
        """Always: k is the only bound."""
        return True

    @cached_property
    def allowance(self) -> Allowance:
        """Each dimension costs one, and k may be spent."""
        return Allowance.count(self.space.n, self.k)

    @cached_property
    def _largest(self) -> int:
        """The size of the largest face."""
        return math.prod(sorted(self.space.cardinalities)[-self.k :])

    @property
    def _steps(self) -> int:
        """How many entries an exact projection touches."""
        per_support = self._largest if isinstance(self.space, Lattice) else self.space.size + self.space.indices.size
        return math.comb(self.space.n, self.k) * per_support

    def face(self, units: Units) -> Indices:
        """The states x with supp(x) ⊆ units."""
        return self.space.face(units)

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """A distribution in D_k near v: Algorithm 2, or the nearest one when `projection="exact"`."""
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
        """The k dimensions that the chosen projection picks for v."""
        exact = self.projection == "exact"
        if isinstance(self.space, States):
            on_states: Callable[..., Indices] = exact_state_units if exact else greedy_state_units
            return on_states(v, self.space.indptr, self.space.indices, self.space.n, self.k)
        on_lattice: Callable[..., Indices] = exact_units if exact else greedy_units
        m = np.array(self.space.shape, np.int64)
        return on_lattice(v, self.space.strides, m, self.k, self._largest)

    def _heaviest(self, v: Vector) -> Indices:
        """The dimensions of the positive entries of v, heaviest first, each taken whole while k allows."""
        units: set[int] = set()
        positive = np.flatnonzero(v > 0)
        for entry in positive[np.argsort(-v[positive], kind="stable")]:
            grown = units | set(np.flatnonzero(self.space.unravel(entry)).tolist())
            if len(grown) <= self.k:
                units = grown
            if len(units) == self.k:
                break
        return np.array(sorted(units), np.int64)

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution that uses at most k dimensions, to within tol."""
        p, tol = as_vector(p, self.space.shape, "p"), as_number(tol, "tol", allow_equal=True)
        return is_distribution(p, tol) and self.support(np.where(np.abs(p) > tol, p, 0.0)).size <= self.k

    def support(self, p: Vector) -> Indices:
        """The dimensions that the states with mass use."""
        states = np.flatnonzero(as_vector(p, self.space.shape, "p"))
        if isinstance(self.space, States):
            return np.unique(self.space.rows[states].indices).astype(np.int64)
        return np.flatnonzero(self.space.unravel(states).any(axis=0))
