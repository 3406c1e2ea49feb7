"""Maximum mean discrepancy with a similarity matrix at hand."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import eigsh

from .._validation import Indices, InvalidInput, Vector, as_array, as_distribution, as_vector
from ..active_set import simplex_weights
from ..similarity import require_semidefinite
from ..spaces import Space, as_space

MOST_OFFSET = 1e3
"""Similarities this many times as large as squared distances are taken about the target, or rounding hides those."""
ORDINARY_POWER = 200
"""Powers of two between which similarities may lie as they are: their squares and products are finite."""


@dataclass(frozen=True, eq=False)
class MMD:
    """Maximum mean discrepancy from a distribution t, with the matrix of similarities at hand; the paper's section 4.2.

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
        """K; where most of it is an offset that no discrepancy depends on, the inner products about the target."""
        mean = self.gram @ self.target
        constant = float(self.target @ mean)
        distances = np.diag(self.gram) - 2.0 * mean + constant
        if np.abs(np.diag(self.gram)).mean() <= MOST_OFFSET * np.abs(distances).mean():
            return np.asarray(self.gram)
        centred = self.gram - mean - mean[:, None] + constant
        return np.asarray(0.5 * (centred + centred.T))

    @cached_property
    def smoothness(self) -> float:
        """Twice the largest eigenvalue of K."""
        if self.space.size <= 500:
            return 2.0 * float(np.linalg.eigvalsh(self._similarities)[-1])
        top = eigsh(
            self._similarities, k=1, return_eigenvectors=False, v0=np.ones(self.space.size)
        )[0]
        return 2.0 * (1 + 1e-6) * float(top)  # Lanczos comes from below

    @cached_property
    def _mean(self) -> Vector:
        """c = K t, the mean similarity of each entry to the target."""
        return np.asarray(self._similarities @ self.target)

    @cached_property
    def constant(self) -> float:
        """tᵀ K t, the value at p = 0."""
        return float(self.target @ self._mean)

    @property
    def lower_bound_attained(self) -> bool:
        """The target itself is a distribution."""
        return True

    @property
    def lower_bound(self) -> float:
        """A squared distance is never negative."""
        return 0.0

    @property
    def rounding(self) -> float:
        """How far the last digits of similarities may move F."""
        return float(4.0 * np.finfo(float).eps * np.abs(self.diagonal).max())

    @cached_property
    def scale(self) -> float:
        """The mean squared distance of an entry from the target, which no offset of K changes; above zero."""
        distances = self.diagonal - 2.0 * self._mean + self.constant
        return max(float(np.abs(distances).mean()), float(np.finfo(float).tiny))

    @property
    def diagonal(self) -> Vector:
        """The similarity of each entry to itself, (size,)."""
        return np.diag(self._similarities)

    def linear(self, units: Indices) -> Vector:
        """K t at these entries."""
        return self._mean[units]

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of K, (len(units), len(others))."""
        return np.asarray(self._similarities[np.ix_(units, others)])

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """Minus half the gradient at these weights, K (t - q), (size,)."""
        return np.asarray(
            self._mean - weights @ self._similarities[units]
        )  # rows are contiguous, and K is symmetric

    def value_at(self, units: Indices, weights: Vector) -> float:
        """(q - t)ᵀ K (q - t) for these weights on these entries, never below zero."""
        inner = weights @ (self.cross(units, units) @ weights)
        return max(float(inner - 2.0 * (self._mean[units] @ weights) + self.constant), 0.0)

    def value(self, p: Vector) -> float:
        """(p - t)ᵀ K (p - t), never below zero; only the columns where p is positive are touched."""
        units = np.flatnonzero(p)
        return self.value_at(units, p[units])

    def gradient(self, p: Vector) -> Vector:
        """2 K (p - t), from the columns where p is positive."""
        units = np.flatnonzero(p)
        gradient = self.slopes(units, p[units])
        gradient *= -2.0
        return gradient

    def best_on(self, face: Indices) -> Vector:
        """The best weights on the simplex of the face, by an active-set method exact to rounding."""
        p = np.zeros(self.space.size)
        p[face] = simplex_weights(self._similarities[np.ix_(face, face)], self._mean[face])
        return p

    def value_on(self, face: Indices) -> float:
        """The discrepancy of `best_on`."""
        return self.value(self.best_on(face)) if face.size else np.inf
