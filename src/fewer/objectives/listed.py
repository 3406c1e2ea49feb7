"""Squared distance to a distribution over more states than can be listed."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_distribution,
    as_vector,
    shown,
)
from ..codes import as_table
from ..cover import L2 as L2_MODE
from ..cover import Cover, cover_of
from ..spaces import States


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

    @property
    def smoothness(self) -> float:
        """2."""
        return 2.0

    @property
    def lower_bound(self) -> float:
        """0: a squared distance is never less."""
        return 0.0

    @cached_property
    def constant(self) -> float:
        """‖q‖²."""
        return float(np.square(self.q).sum())

    @property
    def scale(self) -> float:
        """1 + ‖q‖²: how far all mass at one state is from q."""
        return 1.0 + self.constant

    def value(self, p: Vector) -> float:
        """Σ (p - q)² over the seen states, and the square of the other mass divided by the number of unseen states."""
        left, unseen = p[: self.states.size] - self.q, float(p[self.states.size :].sum())
        rest = unseen * unseen * self._share(p) if unseen else 0.0
        return float(np.square(left).sum()) + rest

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
        seen, dims = (
            face[face < self.states.size],
            face[face >= self.states.size] - self.states.size,
        )
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
        """One divided by the number of unseen states on the dimensions that p uses.

        Infinite where there are none.
        """
        seen = np.flatnonzero(p[: self.states.size])
        tail = np.flatnonzero(p[self.states.size :])
        dims = np.union1d(self.states.rows[seen].indices, tail)
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
