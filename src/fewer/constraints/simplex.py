"""All distributions."""

from dataclasses import dataclass

import numpy as np

from .._compiled.simplex import project_simplex
from .._validation import Indices, Vector, as_number, as_vector
from ..spaces import Space, as_space


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


def is_distribution(p: Vector, tol: float) -> bool:
    """Whether p is non-negative and sums to one, to within tol."""
    tol = as_number(tol, "tol", allow_equal=True)
    with np.errstate(over="ignore"):
        return bool(p.min() >= -tol and abs(p.sum() - 1.0) <= tol)
