"""What quadratics over distributions share: values, gradients, and the best weights on faces."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from .._validation import Indices, Vector
from ..active_set import simplex_weights

DENSE_SPECTRUM = 1000
"""Up to this many entries the largest eigenvalue comes from the whole matrix."""
MOST_OFFSET = 1e3
"""Similarities this many times as large as squared distances are taken about the target, or
rounding hides those."""


class QuadraticForm:
    """F[p] = pᵀHp - 2 cᵀp + constant by `cross` (blocks of H), `linear` (c), `slopes` and `value_at`."""

    space: Any
    cross: Any
    linear: Any
    slopes: Any
    value_at: Any

    def value(self, p: Vector) -> float:
        """F[p]; only entries where p is not zero are touched."""
        units = p.nonzero()[0]
        return float(self.value_at(units, p[units]))

    def gradient(self, p: Vector) -> Vector:
        """2 (Hp - c), from the entries where p is not zero."""
        units = p.nonzero()[0]
        return np.asarray(-2.0 * self.slopes(units, p[units]))

    def best_on(self, face: Indices) -> Vector:
        """The best weights on the simplex of the face, by an active-set method exact to rounding."""
        p = np.zeros(self.space.size)
        if hasattr(self, "centred"):
            p[face] = simplex_weights(self.centred(face, face), np.zeros(face.size))
        else:
            p[face] = simplex_weights(self.cross(face, face), self.linear(face))
        return p

    def value_on(self, face: Indices) -> float:
        """F of `best_on`; infinite for an empty face."""
        return self.value(self.best_on(face)) if face.size else np.inf


class Discrepancy(QuadraticForm):
    """F[p] = (p - t)ᵀ K (p - t) for a target t: `diagonal` of K, `mean` = K t, `constant` = tᵀK t, `image` = K q."""

    diagonal: Any
    mean: Any
    constant: Any
    image: Any
    lower_bound = 0.0
    lower_bound_attained = True
    spectral_error = 1e-3
    """By which share Lanczos may end below the largest eigenvalue."""

    @cached_property
    def scale(self) -> float:
        """The mean squared distance of an entry from the target, which no offset of K changes.

        Above zero.
        """
        distances = self.diagonal - 2.0 * self.mean + self.constant
        return max(float(np.abs(distances).mean()), float(np.finfo(float).tiny))

    @property
    def rounding(self) -> float:
        """How far the last digits of similarities may move F."""
        return float(4.0 * np.finfo(float).eps * np.abs(self.diagonal).max())

    @cached_property
    def smoothness(self) -> float:
        """Twice the largest eigenvalue of K."""
        size = self.space.size
        every = np.arange(size)
        if size <= DENSE_SPECTRUM:
            return 2.0 * float(np.linalg.eigvalsh(self.cross(every, every))[-1])
        shape = size, size
        K = LinearOperator(shape, lambda v: self.image(every, v.reshape(-1)), dtype=np.float64)
        tol = 0.1 * self.spectral_error
        top = eigsh(K, k=1, return_eigenvectors=False, v0=np.ones(size), tol=tol)[0]
        return 2.0 * (1.0 + self.spectral_error) * float(top)

    def linear(self, units: Indices) -> Vector:
        """K t at these entries."""
        return np.asarray(self.mean[units])

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """Minus half the gradient at these weights, K (t - q), (size,)."""
        return np.asarray(self.mean - self.image(units, weights))

    def value_at(self, units: Indices, weights: Vector) -> float:
        """(q - t)ᵀ K (q - t) for these weights on these entries, never below zero.

        Where Σq = 1 no offset of K counts.
        """
        mean, total = self.mean[units], float(weights.sum())
        block = self.cross(units, units) - mean - mean[:, None] + self.constant
        rest = (1.0 - total) * (self.constant * (1.0 + total) - 2.0 * float(mean @ weights))
        return float(max(weights @ block @ weights + rest, 0.0))
