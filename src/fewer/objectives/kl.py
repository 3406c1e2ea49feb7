"""Kullback-Leibler divergence from a distribution."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import rel_entr

from .._validation import Indices, Vector, as_distribution, as_number, as_vector
from ..cover import KL as KL_MODE
from ..cover import Cover, cover_of
from ..spaces import Lattice, Space, States, as_space

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class KL:
    """Kullback-Leibler divergence from a distribution q; the paper's section 4.1.

        F[p] = KL(p‖q) = Σ_x p(x) log(p(x) / q(x))

    Finite only where p > 0 implies q > 0. The derivative log(p/q) + 1 tends to -∞ as p(x) -> 0,
    which no Euclidean step survives, so `gradient` reads p(x) below `floor` as `floor`: an empty
    entry then pulls by log(q/floor), the more the likelier it is under q, and entries with q <
    floor push away. Where q = 0 it reads q as the smallest normal number, so the derivative is
    large and finite, and no mass goes there.

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    q : array of shape (size,) or the space's shape
        A distribution.
    floor : float, optional
        The least mass that `gradient` sees; 1/size, the mass of an entry under the uniform
        distribution, if not given.

    Attributes
    ----------
    smoothness : float
        Infinite: the curvature 1/p has no bound.

    Examples
    --------
    >>> from fewer import Lattice
    >>> F = KL(Lattice(2, 2), [0.5, 0.1, 0.1, 0.3])
    >>> p = F.best_on(F.space.face([1]))
    >>> p.round(3).tolist(), round(F.value(p), 6) == round(-np.log(0.6).item(), 6)
    ([0.833, 0.167, 0.0, 0.0], True)
    """

    space: Space
    q: Any
    floor: Any = None

    def __post_init__(self) -> None:
        as_space(self.space, "KL")
        q = as_distribution(as_vector(self.q, self.space.shape, "q"), "q")
        object.__setattr__(self, "q", q)
        floor = 1.0 / self.space.size if self.floor is None else as_number(self.floor, "floor")
        object.__setattr__(self, "floor", floor)

    @property
    def smoothness(self) -> float:
        """Infinite: the curvature 1/p has no bound."""
        return np.inf

    def value(self, p: Vector) -> float:
        """Σ p log(p/q), with 0 log 0 = 0."""
        return float(rel_entr(p, self.q).sum())

    def gradient(self, p: Vector) -> Vector:
        """log(max(p, floor) / q) + 1."""
        gradient: Vector = np.maximum(p, self.floor)
        np.log(gradient, out=gradient)
        gradient -= np.log(np.maximum(self.q, TINY))
        gradient += 1.0
        return gradient

    def best_on(self, face: Indices) -> Vector:
        """q restricted to the face and renormalised; uniform where q has no mass at all."""
        p = np.zeros(self.space.size)
        mass = self.q[face].sum()
        p[face] = self.q[face] / mass if mass > 0 else 1.0 / face.size
        return p

    @property
    def target(self) -> Vector:
        """q."""
        return np.asarray(self.q)

    def cover(self, k: int) -> Cover | None:
        """KL over D_k is -log of the largest mass that k dimensions cover."""
        if not isinstance(self.space, (Lattice, States)):
            return None
        return cover_of(self.space, self.q, k, KL_MODE)

    def value_on(self, face: Indices) -> float:
        """-log of the mass of q on the face."""
        mass = self.q[face].sum()
        return 0.0 - float(np.log(mass)) if mass > 0 else np.inf  # a mass of one has 0, not -0
