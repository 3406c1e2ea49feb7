"""Maximum mean discrepancy with a similarity matrix at hand."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, Vector, as_array, as_distribution, as_vector
from ..similarity import require_semidefinite
from ..spaces import Space, as_space
from .quadratic import MOST_OFFSET, Discrepancy

ORDINARY_POWER = 200
"""Powers of two between which similarities may lie as they are: their squares and products are
finite."""


@dataclass(frozen=True, eq=False)
class MMD(Discrepancy):
    """Maximum mean discrepancy from a distribution t, with the matrix of similarities at hand.

    The paper's section 4.2.

        F[p] = MMD²(p, t) = (p - t)ᵀ K (p - t)

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    gram : array of shape (size, size)
        K, symmetric and positive semi-definite.
    target : array of shape (size,)
        t, a distribution.

    Attributes
    ----------
    smoothness : float
        Twice the largest eigenvalue of K.

    References
    ----------
    Gretton et al. (2012), A kernel two-sample test.

    Examples
    --------
    >>> from fewer import Atoms
    >>> F = MMD(Atoms(3), np.eye(3), [0.2, 0.3, 0.5])
    >>> round(F.value_on(np.array([1, 2])), 6), F.best_on(np.array([1, 2])).round(6).tolist()
    (0.06, [0.0, 0.4, 0.6])
    """

    spectral_error = 1e-6

    space: Space
    gram: Any
    target: Any

    def __post_init__(self) -> None:
        as_space(self.space, "MMD")
        size = self.space.size
        gram = as_array(self.gram, "gram")
        if gram.shape != (size, size):
            raise InvalidInput(f"gram must have shape ({size}, {size}), got {gram.shape}")
        skew = np.abs(gram - gram.T).max()
        if skew > 1e-8 * max(np.abs(gram).max(), 1e-300):
            raise InvalidInput(
                f"gram must be symmetric, got entries that differ from their mirror by {skew:.3g}"
            )
        require_semidefinite(gram, "gram")
        target = as_distribution(as_vector(self.target, self.space.shape, "target"), "target")
        object.__setattr__(self, "gram", gram)
        object.__setattr__(self, "target", target)

    def normalised(self) -> tuple["MMD", int]:
        """(G, e) with F = 2**e G: the same problem, its similarities near one where they are far from it."""
        exponent = int(np.frexp(np.abs(self.gram).max())[1])
        if abs(exponent) <= ORDINARY_POWER:
            return self, 0
        other = object.__new__(MMD)
        other.__dict__.update(
            space=self.space, gram=np.ldexp(self.gram, -exponent), target=self.target
        )
        return other, exponent

    @cached_property
    def _similarities(self) -> Vector:
        """K.

        Where most of it is an offset that no discrepancy depends on, the inner products about the
        target.
        """
        mean = self.gram @ self.target
        constant = float(self.target @ mean)
        distances = np.diag(self.gram) - 2.0 * mean + constant
        if np.abs(np.diag(self.gram)).mean() <= MOST_OFFSET * np.abs(distances).mean():
            return np.asarray(self.gram)
        centred = self.gram - mean - mean[:, None] + constant
        return np.asarray(0.5 * (centred + centred.T))

    @cached_property
    def mean(self) -> Vector:
        """c = K t, the mean similarity of each entry to the target."""
        return np.asarray(self._similarities @ self.target)

    @cached_property
    def constant(self) -> float:
        """tᵀ K t, the value at p = 0."""
        return float(self.target @ self.mean)

    @property
    def diagonal(self) -> Vector:
        """The similarity of each entry to itself, (size,)."""
        return np.diag(self._similarities)

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of K, (len(units), len(others))."""
        return np.asarray(self._similarities[np.ix_(units, others)])

    def image(self, units: Indices, weights: Vector) -> Vector:
        """K q for these weights, (size,)."""
        return np.asarray(
            weights @ self._similarities[units]
        )  # rows are contiguous, K is symmetric
