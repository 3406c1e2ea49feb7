"""A support on the move in a pool of candidates whose whole matrix fits."""

import math

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._compiled import local_search as search
from .._compiled import response_table as tables
from .._compiled.box_quadratic import box_weights
from .._compiled.response_table import Rules, Table
from .._validation import Indices, Vector
from ..constraints.sparse_simplex import SparseSimplex
from ..protocols import Quadratic
from ._gram import Matrix, target_gram

RIDGE, SHIFT = 1e-12, 1e-10
"""Added to the diagonal and to all entries, as shares of the mean diagonal."""
NOISE = 1e-14
"""A fall of F below this share of the mean diagonal is rounding."""
MOST_REPLACED = 32
"""Units replaced in one perturbation, at most."""
SHARE_NEAR, SHARE_RANDOM = 0.5, 0.3
"""Shares of the perturbations that take similar units out, and that put random ones in."""


class CandidatePool:
    """A support on the move among some candidates, all rules of a `SparseSimplex` kept.

    >>> from fewer import Atoms, Moments
    >>> F = Moments(Atoms(3), np.eye(3), np.array([0.5, 0.1, 0.4]))
    >>> pool = CandidatePool(F, SparseSimplex(F.space, 2), np.arange(3))
    >>> pool.stand(np.array([0, 1]))
    >>> pool.improve(), pool.support.tolist(), pool.weights.round(3).tolist(), round(pool.value, 4)
    (1, [0, 2], [0.55, 0.45], 0.015)
    """

    def __init__(self, problem: Quadratic, limits: SparseSimplex, units: Indices) -> None:
        self.units, self.limits, self.work = units, limits, 0.0
        self.G, self._shift = regular(target_gram(problem, units, units))
        self.k = min(limits.sizes[1], len(units))
        self.rules = rules_of(limits, units, np.diag(self.G).copy(), self.k)
        self._table, self._start, self._kept = (blank(self.G, self.k) for _ in range(3))
        self._barred = np.zeros(len(units), bool)
        self.work += float(len(units)) ** 2
        self.value = math.inf

    @property
    def size(self) -> int:
        """How many units are in the support."""
        return int(self._table.count[0])

    @property
    def _order(self) -> Indices:
        return np.argsort(self.units[self._table.units[: self.size]])

    @property
    def support(self) -> Indices:
        """The units of the support, sorted."""
        return np.asarray(self.units[self._table.units[: self.size]][self._order])

    @property
    def weights(self) -> Vector:
        """Their weights."""
        return np.asarray(self._table.w[: self.size][self._order])

    @property
    def nothing(self) -> bool:
        """Whether F is zero to rounding: nothing can be gained any more."""
        return self.value <= 2.0 * self._shift

    def _cost(self, moves: float) -> None:
        self.work += moves * 8.0 * self.k * len(self.units)

    def stand(self, support: Indices, weights: Vector | None = None) -> None:
        """Move to a support with its best weights, the table computed afresh."""
        if not len(support):
            return
        at = np.searchsorted(self.units, support)
        s = len(at)
        start = np.full(s, 1.0 / s) if weights is None else weights
        w = box_weights(self.G[np.ix_(at, at)], np.zeros(s), self.rules.low, self.rules.high, start)
        kept = (w > 0.0) | self.rules.held[at]
        settle(self.G, self.rules, self._table, at[kept], w[kept])
        self._cost(s)
        self.value = float(tables.slide(self.rules, self._table, np.empty(len(self.units))))

    def _refresh(self) -> None:
        """Shed what rounding has piled up."""
        s = self.size
        settle(self.G, self.rules, self._table, self._table.units[:s].copy(), self._table.w[:s].copy())
        self.value = float(tables.slide(self.rules, self._table, np.empty(len(self.units))))

    def fill(self, size: int) -> int:
        """Add best candidates until `size` are in the support; how many were added."""
        before = self.size
        search.fill(self.G, self.rules, self._table, self._barred, min(size, self.k))
        self._cost(max(self.size - before, 1))
        self.value = float(tables.slide(self.rules, self._table, np.empty(len(self.units)))) if self.size else math.inf
        return self.size - before

    def improve(self, limit: int = 10**6) -> int:
        """Best moves until none lowers F, at most `limit`; how many were made."""
        _, made = search.improve(self.G, self.rules, self._table, self._kept, self._barred, limit)
        self._cost(made + 1)
        self._refresh()
        return int(made)

    def perturb(self, rng: np.random.Generator, limit: int = 10**6) -> bool:
        """Replace some units, improve, stay if F is lower; whether it is."""
        count = int(math.exp(rng.uniform(0.0, math.log(min(self.k, MOST_REPLACED) + 1))))
        near, random = bool(rng.random() < SHARE_NEAR), bool(rng.random() < SHARE_RANDOM)
        order = rng.permutation(len(self.units))
        leaving = order
        if near:
            first = order[self._table.inside[order] & ~self.rules.held[order]][:1]
            leaving = np.argsort(-self.G[first[0]], kind="stable") if len(first) else order
        entering = order[::-1].copy() if random else order[:0]
        copies = self._table, self._start, self._kept
        _, made = search.perturb(self.G, self.rules, *copies, self._barred, leaving, entering, count, limit)
        self._cost(abs(made) + 2.0 * count)
        if made > 0:
            self._refresh()
        return made > 0

    def replace_lightest(self) -> bool:
        """Replace the lightest units, a quarter of them, then half as many, while that lowers F; whether it did."""
        size, better = self.size // 4, False
        while size >= 2 and not self.nothing:
            weight = np.full(len(self.units), np.inf)
            weight[self._table.units[: self.size]] = self._table.w[: self.size]
            leaving, none = np.argsort(weight, kind="stable"), np.empty(0, np.int64)
            copies = self._table, self._start, self._kept
            _, made = search.perturb(self.G, self.rules, *copies, self._barred, leaving, none, size, 10**6)
            self._cost(abs(made) + 2.0 * size)
            if made > 0:
                self._refresh()
            better, size = better or made > 0, size if made > 0 else size // 2
        return better

    def release(self) -> None:
        """Forget the matrix and the table, so that those of the next pool take their place in memory."""
        self.G = np.empty((0, 0))
        self._table = self._start = self._kept = blank(self.G, 0)


def regular(G: Matrix) -> tuple[Matrix, float]:
    """G made positive definite in place where F is zero to rounding, and what was added to all entries.

    The shift changes no comparison, the ridge none that matters.
    """
    scale = max(float(np.abs(np.diag(G)).mean()), 1e-100)
    G += SHIFT * scale
    G[np.diag_indices(len(G))] = np.maximum(np.diag(G), SHIFT * scale) + RIDGE * scale
    return np.ascontiguousarray(G), SHIFT * scale


def rules_of(limits: SparseSimplex, units: Indices, diagonal: Vector, k: int) -> Rules:
    """The rules of a constraint for some candidates."""
    cap = k if limits.groups is None else int(limits.max_per_group or 0)
    held, group = np.isin(units, limits.include), limits.codes(units)
    high = float(limits.max_weight) if limits.max_weight < 1.0 else 2.0
    bounded = bool(limits.bounded or held.any())
    sizes = int(group.max()) + 1, cap, k, float(limits.min_weight), high
    return Rules(group, held, diagonal, *sizes, bounded, NOISE * float(diagonal.mean()))


def blank(G: Matrix, k: int) -> Table:
    """A table with an empty support."""
    p = len(G)
    wide, square, none = np.zeros((k + 1, p)), np.zeros((k + 1, k + 1)), np.zeros(k + 1, bool)
    numbers = (np.zeros(k + 1) for _ in range(2))
    w, u = numbers
    return Table(
        np.zeros(k + 1, np.int64),
        np.zeros(1, np.int64),
        none,
        w,
        wide,
        square,
        u,
        np.diag(G).copy(),
        np.ones(p),
        np.zeros(p, bool),
    )


def settle(G: Matrix, rules: Rules, table: Table, inside: Indices, w: Vector) -> None:
    """The table of a support and its weights afresh, in place; free units that depend on others rest."""
    s, free = len(inside), (w > rules.low + tables.INSIDE) & (w < rules.high - tables.INSIDE)
    table.count[0], table.inside[:] = s, False
    table.units[:s], table.w[:s], table.inside[inside] = inside, w, True
    table.M[:], table.u[:], table.free[:] = 0.0, 0.0, False
    F = np.flatnonzero(free)
    try:
        factor = cho_factor(G[np.ix_(inside[F], inside[F])], lower=True) if F.size else None
    except np.linalg.LinAlgError:
        factor = None
    if factor is None:
        table.T[:s], table.curve[:], table.edge[:] = G[inside], rules.diagonal, 1.0
        for a in F:
            if table.T[a, inside[a]] > tables.FLAT * rules.diagonal[inside[a]]:
                tables.let_go(table, int(a))
        return
    M, R, u = (cho_solve(factor, x) for x in (np.eye(F.size), G[inside[F]], np.ones(F.size)))
    table.M[np.ix_(F, F)], table.T[F], table.u[F], table.free[F] = M, R, u, True
    rest = np.flatnonzero(~free)
    table.T[rest] = G[inside[rest]] - G[np.ix_(inside[rest], inside[F])] @ R
    table.curve[:] = np.maximum(rules.diagonal - np.einsum("ij,ij->j", G[inside[F]], R), 0.0)
    table.edge[:] = 1.0 - u @ G[inside[F]]
    table.curve[inside[F]] = table.edge[inside[F]] = 0.0
