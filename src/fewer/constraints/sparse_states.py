"""Distributions on states that are sparse themselves."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .._compiled.simplex import project_simplex
from .._validation import Indices, InvalidInput, Vector, as_integer, as_number, as_vector, shown
from ..spaces import Lattice, States
from .simplex import is_distribution


@dataclass(frozen=True)
class SparseStates:
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
        used: npt.NDArray[np.int16] = np.zeros(1, np.int16)
        for m in self.space.shape:
            used = (used[:, None] + (np.arange(m) > 0)).reshape(-1).astype(np.int16)
        return np.flatnonzero(used <= self.k)

    def project(self, v: Vector, near: Vector | None = None) -> Vector:
        """argmin ‖p - v‖²: the simplex of the allowed states; exact."""
        v = as_vector(v, self.space.shape, "v")
        p = np.zeros(v.size)
        p[self.allowed] = project_simplex(v[self.allowed])
        return p

    def contains(self, p: Vector, tol: float = 1e-9) -> bool:
        """Whether p is a distribution on the allowed states, to within tol."""
        p, tol = as_vector(p, self.space.shape, "p"), as_number(tol, "tol", allow_equal=True)
        outside = np.ones(p.size, bool)
        outside[self.allowed] = False
        return is_distribution(p, tol) and not (np.abs(p[outside]) > tol).any()

    def support(self, p: Vector) -> Indices:
        """The entries with mass."""
        return np.flatnonzero(as_vector(p, self.space.shape, "p"))
