"""The sum of absolute errors: tracking that a few bad rows do not rule."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._validation import Indices, Vector
from ..programmes import Solved, least_absolute
from ._residuals import ResidualLoss, column_sizes, columns, product


@dataclass(frozen=True, eq=False)
class AbsoluteError(ResidualLoss):
    """How far the expectations of some functions are from given ones, in absolute numbers.

        F[p] = Σ_i w_i |A p - b|_i + ridge ‖p‖²

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    A : array or sparse matrix of shape (r, size)
        The functions, one in each row.
    b : array of shape (r,)
        Their expectations.
    sample_weight : array of shape (r,), optional
        Row i counts w_i times.
    ridge : float
        A larger one spreads the mass over more entries; the error of the rows alone is `loss`.

    Attributes
    ----------
    smoothness : float
        Infinite: F has kinks.

    Examples
    --------
    >>> from fewer import Atoms
    >>> F = AbsoluteError(Atoms(3), [[0.0, 1.0, 4.0], [1.0, 1.0, 0.0]], [1.0, 1.0])
    >>> F.value(np.array([0.5, 0.5, 0.0]))
    0.5
    """

    @property
    def smoothness(self) -> float:
        """Infinite: F has kinks."""
        return math.inf

    @cached_property
    def scale(self) -> float:
        """The error of a typical column."""
        typical = float((column_sizes(self.A, self.b, 1)).mean() * self.sample_weight.max())
        return max(typical + self.ridge, 1e-300)

    def loss(self, p: Vector) -> float:
        """`Σ w |A p - b|`."""
        return float(self.sample_weight @ np.abs(product(self.A, p) - self.b))

    def loss_gradient(self, p: Vector) -> Vector:
        """Aᵀ(w sign(A p - b)): a subgradient."""
        return np.asarray(self.A.T @ (self.sample_weight * np.sign(product(self.A, p) - self.b)))

    def fitted(
        self, entries: Indices, low: Vector, high: Vector, rows: Vector, right: Vector
    ) -> tuple[Solved, Vector] | None:
        """The best weights on some entries by convex programmes, and the subgradient (size,) that proves them."""
        part = columns(self.A, entries)
        found = least_absolute(part, self.b, self.sample_weight, self.ridge, low, high, rows, right)
        if found is None:
            return None
        subgradient = np.asarray(self.A.T @ found[1])
        subgradient[entries] += 2.0 * self.ridge * found[0].weights
        return found[0], subgradient

    def fit_cost(self, count: int) -> float:
        """Multiplications of one fit, about."""
        return 3e6 + 20.0 * len(self.b) * count
