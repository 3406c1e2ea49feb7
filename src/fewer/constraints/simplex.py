"""Convex sets: all distributions, and those on states that are sparse themselves."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._compiled.simplex import project_simplex
from .._validation import Indices, InvalidInput, Vector, as_integer, as_number, as_vector, shown
from ..spaces import Lattice, Space, States, as_space


@dataclass(frozen=True)
class Simplex:
    """Every distribution on the space; convex.

        P = {p >= 0, Σ p = 1}

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.

    Examples
    --------
    >>> from fewer import Atoms
    >>> Simplex(Atoms(3)).project([0.5, 0.9, -1.0]).round(6).tolist()
    [0.3, 0.7, 0.0]
    """

    space: Space

    def __post_init__(self) -> None:
        as_space(self.space, "Simplex")

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """argmin ‖p - v‖²: max(v - tau, 0) with the tau that makes it sum to one; exact."""
        return project_simplex(as_vector(v, self.space.shape, "v"))

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is non-negative and sums to one, to within tol."""
        return is_distribution(as_vector(p, self.space.shape, "p"), tol)

    def support(self, p: Vector) -> Indices:
        """The entries with mass."""
        return np.flatnonzero(as_vector(p, self.space.shape, "p"))


@dataclass(frozen=True)
class SparseStates(Simplex):
    """No state uses more than k dimensions; convex, one face.

    The paper's remark after definition 1.

        D'_k = {p : p(x) = 0 where ‖x‖₀ > k}, which holds D_k

    Parameters
    ----------
    space : Lattice or States
        Where p lives.
    k : int
        How many dimensions a state may use.

    Attributes
    ----------
    allowed : ndarray of int
        The flat indices of the states that are allowed.

    Examples
    --------
    >>> from fewer import Lattice
    >>> SparseStates(Lattice(2, 2), 1).project([0.0, 0.5, 0.5, 3.0]).round(6).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """

    space: Lattice | States
    k: int

    def __post_init__(self) -> None:
        if not isinstance(self.space, (Lattice, States)):
            raise InvalidInput(f"SparseStates needs a Lattice or States, got {shown(self.space)}")
        object.__setattr__(self, "k", as_integer(self.k, "k", 1, self.space.n, "dimensions"))
        if self.allowed.size == 0:
            raise InvalidInput(
                f"no listed state has at most k = {self.k} non-zero entries: the set is empty"
            )

    @cached_property
    def allowed(self) -> Indices:
        """The states x with ‖x‖₀ <= k, ascending."""
        if isinstance(self.space, States):
            return np.flatnonzero(np.diff(self.space.indptr) <= self.k)
        used = np.zeros(1, np.int16)
        for m in self.space.shape:
            used = np.add.outer(used, np.arange(m) > 0).reshape(-1)
        return np.flatnonzero(used <= self.k)

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """argmin ‖p - v‖²: the simplex of the allowed states; exact."""
        v = as_vector(v, self.space.shape, "v")
        p = np.zeros(v.size)
        p[self.allowed] = project_simplex(v[self.allowed])
        return p

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution on the allowed states, to within tol."""
        p = as_vector(p, self.space.shape, "p")
        outside = np.delete(p, self.allowed)
        return is_distribution(p, tol) and bool((np.abs(outside) <= tol).all())


def is_distribution(p: Vector, tol: float) -> bool:
    """Whether p is non-negative and sums to one, to within tol."""
    tol = as_number(tol, "tol", allow_equal=True)
    return bool(p.min() >= -tol and abs(p.sum() - 1.0) <= tol)
