"""A support on the move in a pool of promising units: swaps and kicks."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._compiled.pool_face import Face, Pool
from .._compiled.pool_search import block_swap, exchange, go_back, scramble, stand, tolerance
from .._compiled.tableau import bordered
from .._validation import Indices, Vector
from ..constraints.sparse_simplex import SparseSimplex
from ..protocols import Centred, Quadratic, offers
from ._fit import EPS, Found, bounds, promising, refitted
from ._starts import target_gram

Mask = npt.NDArray[np.bool_]

SMALL = 600
"""Up to this many units the pool is everything."""
AROUND = 256
"""Units in the pool beside the support, at least; half of k where that is more."""
MOST_KICKED = 32
"""Units replaced in one kick, at most."""


@dataclass
class Work:
    """Multiplications that searches and proofs have made so far: what default budgets are counted in."""

    spent: float = 0.0


class Search:
    """A support on the move in a pool of promising units; the same generator and calls give the same bits.

    `exchange` and `kick` never worsen the answer; `renew` gathers a new pool around it.

    >>> from fewer import Atoms, Moments
    >>> F = Moments(Atoms(3), np.eye(3), np.array([0.5, 0.1, 0.4]))
    >>> search = Search(F, SparseSimplex(F.space, 2), np.array([0, 1]), np.random.default_rng(0))
    >>> search.exchange(), search.found.units.tolist(), search.found.weights.round(3).tolist()
    (1, [0, 2], [0.55, 0.45])
    """

    def __init__(
        self,
        problem: Quadratic,
        limits: SparseSimplex,
        units: Indices,
        rng: np.random.Generator,
        total: Work | None = None,
    ) -> None:
        self.problem, self.limits, self.rng = problem, limits, rng
        self.budget, self.work, self.total = limits.sizes[1], 0.0, total or Work()
        self._gather(refitted(problem, limits, units))

    def _gather(self, found: Found) -> None:
        """Build the pool around an answer and stand on it."""
        n, around = self.problem.space.size, max(AROUND, self.budget // 2)
        if n <= max(SMALL, self.budget + around):
            others = np.setdiff1d(np.flatnonzero(self.limits.open), found.units)
        else:
            others = promising(self.problem, self.limits, found, around)
        self.units = np.concatenate([found.units, others])
        self.pool = pool_of(self.problem, self.limits, self.units, self.budget)
        p = len(self.units)
        self._face = Face(np.zeros(p, bool), np.zeros(p), np.zeros(p), np.empty((p + 1, p + 1)), np.zeros(p + 1, bool))
        self._face.inside[: len(found.units)] = True
        self._face.w[: len(found.units)] = found.weights
        self.f = stand(self.pool, self._face)
        self._nothing = np.zeros(p, bool)

    @property
    def whole(self) -> bool:
        """Whether the pool is everything."""
        return len(self.units) == int(self.limits.open.sum())

    @property
    def found(self) -> Found:
        """The answer the search stands on, refitted exactly."""
        inside = np.flatnonzero(self._face.inside)
        inside = inside[np.argsort(self.units[inside])]
        return refitted(self.problem, self.limits, self.units[inside], self._face.w[inside])

    @property
    def finished(self) -> bool:
        """Whether nothing can be gained any more: F is zero to rounding, or the pool holds no other unit."""
        return self.f <= self.pool.noise or len(self.units) <= len(self.limits.include)

    def renew(self) -> None:
        """Gather the pool anew around the current answer."""
        self._gather(self.found)

    def blocks(self) -> bool:
        """Swap the s lightest for the s steepest, s halved when that fails; whether anything was gained.

        Only where no group cap and no upper bound is in the way.
        """
        before, size = self.f, self.budget // 4
        if (self.limits.groups is not None) or self.limits.max_weight < 1.0:
            return False
        while size >= 2 and not self.finished:
            kept = self._face.w.copy(), self._face.inside.copy()
            block_swap(self.pool, self._face, size)
            if not self._keep(stand(self.pool, self._face), kept):
                size //= 2
        return self.f < before

    def exchange(self, limit: int = 1_000_000) -> int:
        """Best moves until none in the pool helps, at most `limit`; returns how many were made."""
        self.f, made = exchange(self.pool, self._face, self.f, self._nothing, limit)
        self.total.spent += self._cost(made + 1)
        return int(made)

    def _cost(self, moves: float) -> float:
        """Multiplications that this many moves take, about."""
        p = len(self.units)
        return moves * p * (2.0 * p + 2.0 * self.budget)

    def kick(self) -> bool:
        """Replace 1..k units (mostly few), exchange, keep if better; whether it was.

        The newcomers are random, or (every other kick) the best ones other than those that left.
        """
        most = min(self.budget, MOST_KICKED)
        count = int(math.exp(self.rng.uniform(0.0, math.log(most + 1))))
        fill = bool(self.rng.random() < 0.5)
        pool, face = self.pool, self._face
        kept = face.w.copy(), face.inside.copy()
        f, made, again = math.inf, 0, 0
        if scramble(pool, face, self.rng.permutation(len(self.units)), count, fill):
            f = stand(pool, face)
            if not fill:
                f, made = exchange(pool, face, f, kept[1] & ~face.inside, 2 * count)
            f, again = exchange(pool, face, f, self._nothing, 4 * count + 20)
        self.work += self._cost(made + again + 2.0 * count)
        self.total.spent += self._cost(made + again + 2.0 * count)
        return self._keep(f, kept)

    def _keep(self, f: float, kept: tuple[Vector, Mask]) -> bool:
        """Stay on the face if its value is better, else go back to the one kept; whether it stayed."""
        if f < self.f - tolerance(self.pool, self.f):
            self.f = f
            return True
        go_back(self.pool, self._face, *kept)
        return False


def search_cost(limits: SparseSimplex) -> float:
    """Multiplications before the first move of a search, about: a pool is gathered and its tableau swept."""
    k = limits.sizes[1]
    pool = min(limits.space.size, max(SMALL, k + max(AROUND, k // 2)))
    return float(k * pool**2 + 5.0 * k**3)


def pool_of(problem: Quadratic, limits: SparseSimplex, units: Indices, budget: int) -> Pool:
    """The problem on a few units, the origin moved to the target: G_ij = H_ij - c_i - c_j + constant, so F = wᵀGw."""
    G = target_gram(problem, units, units)
    lengths = np.diag(G)
    if not offers(problem, Centred):  # what cancelled has left its rounding
        lengths = problem.diagonal[units] + 2.0 * np.abs(problem.linear(units)) + abs(problem.constant)
    noise = EPS * float(np.mean(lengths))
    np.fill_diagonal(G, np.maximum(np.diag(G), 0.0))
    cap = limits.max_per_group if (limits.groups is not None) else budget
    lo, hi = bounds(limits, len(units))
    held = np.isin(units, limits.include)
    return Pool(
        G, np.zeros(len(units)), bordered(G), lo, hi, limits.codes(units), held, int(cap or 0), budget, 0.0, noise
    )
