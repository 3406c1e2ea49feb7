"""Squared distance to a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._compiled.simplex import project_simplex, simplex_distance
from .._validation import Indices, InvalidInput, Vector, as_vector
from ..cover import L2 as L2_MODE
from ..cover import Cover, cover_of
from ..spaces import Lattice, Space, States, as_space
from .listed import ListedL2

HUGE = 1e150
"""Entries beyond this have infinite squares; beside them a distribution is nothing."""


@dataclass(frozen=True, eq=False)
class L2:
    """Squared distance to a table q; the paper's section 4.1, and its projection problem.

        F[p] = ‖p - q‖² = Σ_x (p(x) - q(x))²

    Parameters
    ----------
    space : Atoms, Lattice or States
        Where p lives.
    q : array of shape (size,) or the space's shape
        Any finite table: it need not be a distribution.

    Attributes
    ----------
    smoothness : float
        2.
    floor : float
        0: F is never less.

    Examples
    --------
    >>> from fewer import Lattice
    >>> F = L2(Lattice(2, 2), [0.5, 0.1, 0.1, 0.3])
    >>> F.best_on(F.space.face([1])).round(3).tolist()
    [0.7, 0.3, 0.0, 0.0]
    """

    space: Space
    q: Any

    @staticmethod
    def on_lattice(states: States, q: Any = None) -> ListedL2:
        """Squared distance on the whole lattice that these states are listed of.

        q is 0 on all others, which p may use.

        Parameters
        ----------
        states : States
            The listed states.
        q : array of `states.size` numbers, optional
            Their masses; by default `states.weights`.

        Returns
        -------
        ListedL2
            Its `space` holds the listed states, and for each dimension one entry for the mass of
            the others.

        Examples
        --------
        >>> from fewer import DimensionSparse, L2, States, exact
        >>> F = L2.on_lattice(States([[0, 1, 1], [0, 1, 1], [0, 0, 1], [1, 0, 0]]))
        >>> result = exact(F, DimensionSparse(F.space, 2))
        >>> result.support.tolist(), result.value == (1 / 4) ** 2 + (1 / 4) ** 2 / 4
        ([1, 2], True)
        >>> result.p.tolist()  # of three seen states, and of the two unseen ones of X_{1, 2}
        [0.5625, 0.3125, 0.0, 0.0, 0.0625, 0.0625]
        """
        return ListedL2(states, q)

    def __post_init__(self) -> None:
        as_space(self.space, "L2")
        q = as_vector(self.q, self.space.shape, "q")
        if max(float(q.max()), -float(q.min())) > HUGE:
            raise InvalidInput(
                f"q must stay below {HUGE:g} in size, so that squares are finite; rescale it"
            )
        object.__setattr__(self, "q", q)

    @property
    def smoothness(self) -> float:
        """2."""
        return 2.0

    @property
    def lower_bound(self) -> float:
        """0: a squared distance is never less."""
        return 0.0

    @cached_property
    def scale(self) -> float:
        """1 + ‖q‖²: how far all mass on one entry is from q."""
        return 1.0 + self.constant

    @cached_property
    def constant(self) -> float:
        """‖q‖², the value at p = 0."""
        return float(np.square(self.q).sum())

    @cached_property
    def diagonal(self) -> Vector:
        """H is the identity."""
        return np.ones(self.space.size)

    def linear(self, units: Indices) -> Vector:
        """q at these entries."""
        return np.asarray(self.q[units])

    def cross(self, units: Indices, others: Indices) -> Vector:
        """The block of the identity at these entries."""
        return np.equal.outer(units, others).astype(np.float64)

    def slopes(self, units: Indices, weights: Vector) -> Vector:
        """q - p for p with these weights: minus half the gradient."""
        slopes: Vector = self.q.copy()
        slopes[units] -= weights
        return slopes

    def value_at(self, units: Indices, weights: Vector) -> float:
        """‖p - q‖² for p with these weights."""
        left = self.slopes(units, weights)
        return float(left @ left)

    def value(self, p: Vector) -> float:
        """‖p - q‖²."""
        left: Vector = p - self.q
        return float(
            np.square(left, out=left).sum()
        )  # not by BLAS, whose threads cost more than they save here

    def gradient(self, p: Vector) -> Vector:
        """2 (p - q)."""
        gradient: Vector = p - self.q
        gradient *= 2.0
        return gradient

    def best_on(self, face: Indices) -> Vector:
        """The projection of q restricted to the face onto the simplex of that face."""
        p = np.zeros(self.space.size)
        part = self.q[face]
        rest = 1.0 - float(part.sum())
        plain = (
            rest >= 0.0 and part.min() >= 0.0
        )  # then all entries are raised by the same share of what is missing
        p[face] = part + rest / face.size if plain else project_simplex(part)
        return p

    @property
    def target(self) -> Vector:
        """q."""
        return np.asarray(self.q)

    def cover(self, k: int) -> Cover | None:
        """Where q is a distribution on a lattice, min ‖p - q‖² over X_S is ‖q‖² - Q2(S) + (1 - Q(S))² / M(S)."""
        if (
            not isinstance(self.space, Lattice)
            or self.q.min() < 0
            or abs(self.q.sum() - 1.0) > 1e-12
        ):
            return None
        return cover_of(self.space, self.q, k, L2_MODE)

    def solved(self, k: int) -> Iterator[tuple[Vector | None, float | None]]:
        """The projection of q: its k largest entries (of equals the first), projected onto their simplex."""
        yield self.best_on(largest_entries(self.q, k)), None

    def value_on(self, face: Indices) -> float:
        """‖q‖² + Σ (tau² - q²) over the entries of the face that stay positive."""
        return max(self.constant + simplex_distance(self.q[face]), 0.0) if face.size else np.inf


def largest_entries(v: Vector, k: int) -> Indices:
    """Where the k largest entries of v (n,) are, sorted; of equal ones the first.

    One partition, no sort.

    >>> largest_entries(np.array([1.0, 3.0, 2.0, 3.0, 2.0]), 3).tolist()
    [1, 2, 3]
    """
    least = np.partition(v, len(v) - k)[len(v) - k]
    above, equal = np.flatnonzero(v > least), np.flatnonzero(v == least)
    return np.sort(np.concatenate([above, equal[: k - len(above)]]))
