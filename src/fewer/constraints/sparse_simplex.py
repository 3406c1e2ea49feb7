"""Distributions with at most k places: vector sparsity."""

from dataclasses import dataclass

import numpy as np

from .._jit.simplex import project_simplex
from ..door import Indices, Vector, as_integer, as_units, as_vector
from ..spaces import Space, Units
from .simplex import is_distribution


@dataclass(frozen=True)
class SparseSimplex:
    """{p in the simplex, ‖p‖₀ <= k}: at most k places carry mass; the paper's appendix A. A unit is a place.

    >>> from fewer import Atoms
    >>> SparseSimplex(Atoms(4), 2).project([0.5, 0.1, 0.7, 0.2]).round(6).tolist()
    [0.4, 0.0, 0.6, 0.0]
    """

    space: Space
    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", as_integer(self.k, "k", 1, self.space.size, "places"))

    @property
    def n_units(self) -> int:
        """The size of the space."""
        return self.space.size

    def face(self, units: Units) -> Indices:
        """The places themselves, sorted."""
        return as_units(units, self.space.size, "places")

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """Argmin ‖p - v‖²: the k largest entries (of equals, the first), projected onto their simplex; exact.

        Source: Kyrillidis, Becker, Cevher & Koch, "Sparse projections onto the simplex", ICML 2013.
        """
        v = as_vector(v, self.space.shape, "v")
        places = largest(v, self.k)
        p = np.zeros(v.size)
        p[places] = project_simplex(v[places])
        return p

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution on at most k places, to within tol."""
        p = as_vector(p, self.space.shape, "p")
        return is_distribution(p, tol) and int((np.abs(p) > tol).sum()) <= self.k

    def support(self, p: Vector) -> Indices:
        """The places with mass."""
        return np.flatnonzero(as_vector(p, self.space.shape, "p"))


def largest(v: Vector, k: int) -> Indices:
    """Sorted indices of the k largest entries; among equals the lowest indices; O(n)."""
    if k >= v.size:
        return np.arange(v.size)
    least = np.partition(v, v.size - k)[v.size - k]
    above = np.flatnonzero(v > least)
    equal = np.flatnonzero(v == least)[: k - above.size]
    return np.sort(np.concatenate([above, equal]))
