"""Distances from a distribution whose minimum over X_S depends on the mass that X_S covers: KL and l2."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import rel_entr

from .._compiled.simplex import largest, project_simplex, simplex_distance
from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_distribution,
    as_number,
    as_vector,
    shown,
)
from ..codes import as_table
from ..cover import KL as KL_MODE
from ..cover import L2 as L2_MODE
from ..cover import Cover, cover_of
from ..spaces import Lattice, Space, States, as_space

TINY = float(np.finfo(np.float64).tiny)
HUGE = 1e150
"""Entries beyond this have infinite squares."""


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
    smoothness: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        as_space(self.space, "KL")
        q = as_distribution(as_vector(self.q, self.space.shape, "q"), "q")
        floor = 1.0 / self.space.size if self.floor is None else as_number(self.floor, "floor")
        self.__dict__.update(q=q, floor=floor)

    def value(self, p: Vector) -> float:
        """Σ p log(p/q), with 0 log 0 = 0."""
        return float(rel_entr(p, self.q).sum())

    def gradient(self, p: Vector) -> Vector:
        """log(max(p, floor) / q) + 1."""
        return np.asarray(np.log(np.maximum(p, self.floor)) - self._log_q + 1.0)

    @cached_property
    def _log_q(self) -> Vector:
        return np.asarray(np.log(np.maximum(self.q, TINY)))

    def best_on(self, face: Indices) -> Vector:
        """q restricted to the face and renormalised; uniform where q has no mass at all."""
        p = np.zeros(self.space.size)
        mass = self.q[face].sum()
        p[face] = self.q[face] / mass if mass > 0 else 1.0 / face.size
        return p

    def value_on(self, face: Indices) -> float:
        """-log of the mass of q on the face."""
        mass = self.q[face].sum()
        return 0.0 - float(np.log(mass)) if mass > 0 else np.inf  # a mass of one has 0, not -0

    @property
    def target(self) -> Vector:
        """q."""
        return np.asarray(self.q)

    def cover(self, k: int) -> Cover | None:
        """KL over D_k is -log of the largest mass that k dimensions cover."""
        if not isinstance(self.space, (Lattice, States)):
            return None
        return cover_of(self.space, self.q, k, KL_MODE)


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

    Examples
    --------
    >>> from fewer import Lattice
    >>> F = L2(Lattice(2, 2), [0.5, 0.1, 0.1, 0.3])
    >>> F.best_on(F.space.face([1])).round(3).tolist()
    [0.7, 0.3, 0.0, 0.0]
    """

    space: Space
    q: Any
    smoothness: ClassVar[float] = 2.0
    lower_bound: ClassVar[float] = 0.0

    @staticmethod
    def on_lattice(states: States, q: Any = None) -> "ListedL2":
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
        return float(np.square(self.slopes(units, weights)).sum())

    def value(self, p: Vector) -> float:
        """‖p - q‖²."""
        left: Vector = p - self.q
        return float(
            np.square(left, out=left).sum()
        )  # the threads of BLAS cost more than they save

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
        raised = rest >= 0.0 and part.min() >= 0.0
        p[face] = part + rest / face.size if raised else project_simplex(part)
        return p

    def value_on(self, face: Indices) -> float:
        """‖q‖² + Σ (tau² - q²) over the entries of the face that stay positive."""
        return max(self.constant + simplex_distance(self.q[face]), 0.0) if face.size else np.inf

    @property
    def target(self) -> Vector:
        """q."""
        return np.asarray(self.q)

    def cover(self, k: int) -> Cover | None:
        """min over X_S of ‖p - q‖² is ‖q‖² - Q2(S) + (1 - Q(S))² / M(S) for q on a lattice."""
        is_distribution = self.q.min() >= 0 and abs(self.q.sum() - 1.0) <= 1e-12
        if isinstance(self.space, Lattice) and is_distribution:
            return cover_of(self.space, self.q, k, L2_MODE)
        return None

    def solved(self, k: int) -> Iterator[tuple[Vector | None, float | None]]:
        """The projection of q: its k largest entries, of equals the first, on their simplex."""
        yield self.best_on(largest(self.q, k)), None


@dataclass(frozen=True, eq=False)
class ListedL2:
    """F[p] = Σ_x (p(x) - q(x))² over all states x, of which only the seen ones are listed.

    A state has n entries, entry i below `states.m[i]`; q is a distribution on the seen ones. The
    best p on a face X_S is q plus a constant on all of X_S, so a member also has mass on states
    that were never seen, the same on each. `space` lists the seen states and then, for each
    dimension, one entry for unseen states: p is the mass of each seen state, and the mass of all
    unseen ones together, divided among the dimensions of S in any way. On each face F is a convex
    quadratic, and its minimum is that of `L2` on the whole lattice.

    Attributes
    ----------
    space : States
        Where p lives.
    """

    states: States
    q: Any = None
    smoothness: ClassVar[float] = 2.0
    lower_bound: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.states, States):
            raise InvalidInput(f"L2.on_lattice needs States(rows), got {shown(self.states)}")
        q = self.states.weights if self.q is None else as_vector(self.q, self.states.shape, "q")
        object.__setattr__(self, "q", as_distribution(q, "q"))

    @cached_property
    def space(self) -> States:
        """The seen states and n more, each of one dimension and not seen."""
        codes = unseen_codes(self.states)
        alone = as_table(sp.diags_array(codes, format="csr", dtype=np.int32))
        m = np.maximum(self.states.cardinalities, codes.astype(np.int64) + 1)
        return States(sp.vstack([self.states.rows, alone], format="csr"), m=m)

    @cached_property
    def constant(self) -> float:
        """‖q‖²."""
        return float(np.square(self.q).sum())

    @property
    def scale(self) -> float:
        """1 + ‖q‖²: how far all mass at one state is from q."""
        return 1.0 + self.constant

    def value(self, p: Vector) -> float:
        """Σ (p - q)² over the seen states, and that over the unseen ones, of equal mass each."""
        left, unseen = p[: self.states.size] - self.q, float(p[self.states.size :].sum())
        return float(np.square(left).sum()) + (unseen * unseen * self._share(p) if unseen else 0.0)

    def gradient(self, p: Vector) -> Vector:
        """2 (p - q), and for the unseen states twice the mass that each of them has."""
        unseen = float(p[self.states.size :].sum())
        share = min(self._share(p), 1.0) if unseen else 0.0
        seen = 2.0 * (p[: self.states.size] - self.q)
        return np.concatenate([seen, np.full(self.states.n, 2.0 * unseen * share)])

    def best_on(self, face: Indices) -> Vector:
        """q plus a constant on all states of the face, seen or not."""
        seen, dims = self._parts(face)
        size = self._size(dims)
        p = np.zeros(self.space.size)
        p[seen] = self.q[seen] + max(1.0 - float(self.q[seen].sum()), 0.0) * (1 / size)
        if size > seen.size:
            p[self.states.size + dims] = max(1.0 - float(p[seen].sum()), 0.0) / dims.size
        return p

    def value_on(self, face: Indices) -> float:
        """‖q‖² - Q2 + (1 - Q)² / M; infinite on an empty face."""
        if not face.size:
            return np.inf
        seen, dims = self._parts(face)
        covered, squares = float(self.q[seen].sum()), float(np.square(self.q[seen]).sum())
        return max(self.constant - squares + (1.0 - covered) ** 2 * (1 / self._size(dims)), 0.0)

    @property
    def target(self) -> Vector:
        """q, and nothing on the unseen states."""
        return np.concatenate([self.q, np.zeros(self.states.n)])

    def cover(self, k: int) -> Cover | None:
        """min ‖p - q‖² over X_S is ‖q‖² - Q2(S) + (1 - Q(S))² / M(S)."""
        return cover_of(self.states, self.q, k, L2_MODE)

    def _parts(self, face: Indices) -> tuple[Indices, Indices]:
        """The seen states of a face X_S, and its dimensions; other sets of entries are refused."""
        count = self.states.size
        seen, dims = face[face < count], face[face >= count] - count
        if not np.array_equal(seen, self.states.face(dims)):
            raise InvalidInput(
                "constraint must have faces of whole dimensions for L2.on_lattice, whose unseen"
                f" states have no entries of their own; got a face of {face.size} entries; use"
                " DimensionSparse, or L2 on a Lattice"
            )
        return seen, dims

    def _size(self, dims: Indices) -> int:
        """How many states there are on these dimensions, a whole number however large."""
        return math.prod(self.states.cardinalities[i] for i in dims)

    def _share(self, p: Vector) -> float:
        """One over the number of unseen states on the dimensions that p uses; infinite for none."""
        dims = np.unique(self.space.rows[np.flatnonzero(p)].indices)
        unseen = self._size(dims) - self.states.face(dims).size
        return 1 / unseen if unseen else math.inf


def unseen_codes(states: States) -> Indices:
    """For each dimension the smallest code that is not seen alone, with zeros elsewhere.

    >>> unseen_codes(States([[1, 0], [3, 0], [2, 2], [0, 2]])).tolist()
    [2, 1]
    """
    alone = np.flatnonzero(np.diff(states.rows.indptr) == 1)
    where = states.rows.indptr[alone]
    codes = np.ones(states.n, np.int64)
    order = np.argsort(states.rows.data[where], kind="stable")
    for entry in where[order]:
        dimension, code = states.rows.indices[entry], states.rows.data[entry]
        codes[dimension] += code == codes[dimension]
    return codes
