"""The search for k units: a good start, exchange in a pool of promising units, kicks."""

import math
import time
from collections.abc import Generator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._jit.active_set import simplex_quadratic
from .._jit.box_quadratic import box_quadratic
from .._jit.pool_face import Face, Pool
from .._jit.pool_search import block_swap, exchange, go_back, scramble, stand, tolerance
from .._jit.tableau import bordered
from ..constraints.sparse_simplex import SparseSimplex
from ..door import Indices, Vector
from ..protocols import Centred, Quadratic, offers
from ._starts import REACHED, path, steepest_units, target_gram

Mask = npt.NDArray[np.bool_]
NONE = np.empty(0, np.int64)

SMALL = 600
"""Up to this many units the pool is everything."""
AROUND = 256
"""Units in the pool beside the support, at least; half of k where that is more."""
WORK = 2e9
"""Multiplications that idle kicks may cost before a search ends, times its effort; all kicks together, twice that."""
IDLE = 1000
"""Idle kicks after which a search of effort 1 ends in any case; ten times as many at any effort."""
MOST_KICKED = 32
"""Units replaced in one kick, at most."""
MOVES = 64
"""Moves between two chances to stop."""
MANY = 350
"""Units up to which kicks, and one more point of the path, are worth their time where no limit is set."""
ASTRAY = 0.15
"""How far from one the weights of the path without the sum constraint may sum before the other path is tried."""
ENOUGH = 1e-4
"""Relative gain for which a new pool is worth gathering."""
EPS = float(np.finfo(float).eps)


class Found(NamedTuple):
    """A feasible answer: sorted units, their weights (which sum to one), and F."""

    units: Indices
    weights: Vector
    value: float


Answers = Generator[Found | None, None, None]
"""What searches yield: a better answer, or nothing (a chance to stop)."""


def bounds(limits: SparseSimplex, count: int) -> tuple[Vector, Vector]:
    """Lower and upper bounds of `count` units."""
    return np.full(count, limits.min_weight), np.full(count, limits.max_weight)


def on_support(problem: Quadratic, units: Indices) -> tuple[Vector, Vector]:
    """(H, c) of F on a few units whose weights sum to one, but for a constant; about the target where possible."""
    if offers(problem, Centred):
        return target_gram(problem, units, units), np.zeros(len(units))
    return problem.cross(units, units), problem.linear(units)


def refitted(problem: Quadratic, limits: SparseSimplex, units: Indices, start: Vector | None = None) -> Found:
    """The best weights on a support of feasible size, exact to rounding; units at zero are left out unless included.

    min F over Σw = 1, min_weight <= w <= max_weight. units: sorted.
    """
    first = np.full(len(units), 1.0 / len(units)) if start is None else start
    H, c = on_support(problem, units)
    if limits.bounded:
        w, _ = box_quadratic(H, c, *bounds(limits, len(units)), first)
    else:  # the same weights, and bounds need not be compiled
        w, _ = simplex_quadratic(H, c, first)
    kept = (w > 0.0) | np.isin(units, limits.include)
    return Found(units[kept], w[kept], problem.value_at(units[kept], w[kept]))


def polished(problem: Quadratic, limits: SparseSimplex, found: Found) -> Found:
    """Newton steps with slopes from F itself rather than from the Gram matrix, kept while they help.

    H_FF d = s_F + mu 1, 1ᵀd = 0 on the weights F strictly inside their bounds. Matters where F is nearly zero.
    """
    lo, hi = bounds(limits, len(found.units))
    free = (found.weights > lo) & (found.weights < hi)
    units, size = found.units[free], int(free.sum())
    if size < 2:
        return found
    K = np.ones((size + 1, size + 1))
    K[:size, :size] = on_support(problem, units)[0]
    K[size, size] = 0.0
    for _ in range(2):
        slopes = problem.slopes(found.units, found.weights)[units]
        step = np.linalg.lstsq(K, np.append(slopes - slopes.mean(), 0.0), rcond=None)[0][:size]
        w = found.weights.copy()
        w[free] += step - step.mean()
        w[free] /= w[free].sum() / (1.0 - w[~free].sum())
        value = problem.value_at(found.units, w)
        if not value < found.value or np.any(w < lo) or np.any(w > hi):
            break
        found = Found(found.units, w, value)
    return found


def promising(problem: Quadratic, limits: SparseSimplex, found: Found, count: int) -> Indices:
    """The units outside a support whose vertex lies in the best direction, best first.

    F falls by at most g_j² / c_j on the line to vertex j: g_j = s_j - wᵀs, c_j = H_jj - 2 (Hq)_j + qᵀHq. Where
    fewer have g_j > 0 than asked for, those that lose least fill up. Source: Frank & Wolfe 1956, exact line search.
    """
    units, weights = found.units, found.weights
    slopes = problem.slopes(units, weights)
    image = problem.slopes(NONE, np.empty(0)) - slopes
    curvature = np.maximum(problem.diagonal - 2.0 * image + weights @ image[units], EPS * problem.diagonal)
    slopes -= float(weights @ slopes[units])
    gains = slopes / np.sqrt(np.maximum(curvature, 1e-300))
    gains[units] = -np.inf
    gains[~limits.open] = -np.inf
    return steepest_units(gains, count)


def feasible_support(problem: Quadratic, limits: SparseSimplex, ranked: Indices, size: int | None = None) -> Indices:
    """The first units of a ranking that fit; where they are too few to carry weight one, steep ones are added."""
    units = limits.fitting(ranked, limits.sizes[1] if size is None else size)
    if len(units) >= limits.sizes[0]:
        return units
    slopes = problem.slopes(units, np.full(len(units), 1.0 / max(1, len(units))))
    slopes[~limits.open] = -np.inf
    slopes[units] = -np.inf
    rest = steepest_units(slopes, problem.space.size)
    return limits.fitting(np.concatenate([units, rest]), limits.sizes[0])


class Search:
    """A support on the move in a pool of promising units; the same generator and calls give the same bits.

    `exchange` and `kick` never worsen the answer; `renew` gathers a new pool around it.

    >>> from fewer import Atoms, Moments
    >>> F = Moments(Atoms(3), np.eye(3), np.array([0.5, 0.1, 0.4]))
    >>> search = Search(F, SparseSimplex(F.space, 2), np.array([0, 1]), np.random.default_rng(0))
    >>> search.exchange(), search.found.units.tolist(), search.found.weights.round(3).tolist()
    (1, [0, 2], [0.55, 0.45])
    """

    def __init__(self, problem: Quadratic, limits: SparseSimplex, units: Indices, rng: np.random.Generator) -> None:
        self.problem, self.limits, self.rng = problem, limits, rng
        self.budget, self.work = limits.sizes[1], 0.0
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
        return int(made)

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
        p = len(self.units)
        self.work += (made + again + 2.0 * count) * p * (2.0 * p + 2.0 * self.budget)
        return self._keep(f, kept)

    def _keep(self, f: float, kept: tuple[Vector, Mask]) -> bool:
        """Stay on the face if its value is better, else go back to the one kept; whether it stayed."""
        if f < self.f - tolerance(self.pool, self.f):
            self.f = f
            return True
        go_back(self.pool, self._face, *kept)
        return False


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


def settled(search: Search) -> Answers:
    """Exchange and renew until neither helps."""
    while True:
        before = search.f
        if search.blocks():
            yield search.found
        while search.exchange(MOVES) == MOVES:
            yield search.found
        yield search.found
        if search.whole or search.finished or not search.f < before - ENOUGH * abs(before):
            return
        search.renew()


def kicked(search: Search, effort: float = 1.0) -> Answers:
    """Kicks until many in a row do not help, the more the greater the effort; it may be infinite."""
    work = WORK * effort if search.budget <= MANY or effort > 1.0 else 0.0
    most, idle, before = int(IDLE * min(effort, 10.0)), 0, search.work
    while idle < most and search.work < before + work and search.work < 2 * work and not search.finished:
        idle += 1
        if not search.kick():
            yield None
            continue
        idle, before = 0, search.work
        yield search.found
        if not search.whole:
            search.renew()
            yield from settled(search)


def path_supports(problem: Quadratic, limits: SparseSimplex) -> Generator[Indices, None, None]:
    """Supports from the path without the sum constraint: at k units, from there a sixth further with it, and without.

    Each is the k heaviest units of where the path stands. Where it ends early, or its weights do not nearly sum to
    one, also from the path with the constraint from the beginning.
    """
    k = limits.sizes[1]
    more = k + max(16, k // 6)
    free = path(problem, limits, k, summed=False)
    yield feasible_support(problem, limits, free[0])
    if len(free[0]):
        first = refitted(problem, replace(limits, min_weight=0.0, max_weight=1.0), np.sort(free[0]))
        bent = path(problem, limits, more, summed=True, begin=(first.units, first.weights))
        yield feasible_support(problem, limits, bent[0])
    if len(free[0]) == k and k <= MANY:
        free = path(problem, limits, more, summed=False, begin=free)
        yield feasible_support(problem, limits, free[0])
    if len(free[0]) < k or abs(free[1].sum() - 1.0) > ASTRAY:
        yield feasible_support(problem, limits, path(problem, limits, more, summed=True)[0])


def starts(problem: Quadratic, limits: SparseSimplex) -> Generator[tuple[Indices, Found], None, None]:
    """Supports of the paths with their best weights; one that reaches the target is the last."""
    for units in path_supports(problem, limits):
        found = refitted(problem, limits, units)
        yield units, found
        if found.value <= REACHED * problem.constant:
            return


def rounded_supports(
    problem: Quadratic, limits: SparseSimplex, supports: list[Indices], rng: np.random.Generator
) -> list[Indices]:
    """The heaviest units of what is best without bounds on the weights, for a few sizes."""
    fewest, most = limits.sizes
    loose = replace(limits, min_weight=0.0, max_weight=1.0)
    best = min((refitted(problem, loose, units) for units in supports), key=lambda found: found.value)
    search = Search(problem, loose, best.units, rng)
    search.exchange()
    heaviest = search.found.units[np.argsort(-search.found.weights, kind="stable")]
    sizes = sorted({int(size) for size in np.linspace(fewest, most, 8)})
    return [feasible_support(problem, limits, heaviest, size) for size in sizes]


def auto(problem: Quadratic, limits: SparseSimplex, rng: np.random.Generator, effort: float = 1.0) -> Answers:
    """A few starts, exchange from each, kicks from the best; yields answers, the last one polished."""
    best: Search | None = None
    supports = []
    for units, start in starts(problem, limits):
        supports.append(units)
        yield start
    if start.value <= REACHED * problem.constant:
        return
    if limits.bounded:
        rounded = rounded_supports(problem, limits, supports, rng)
        supports.append(min(rounded, key=lambda units: refitted(problem, limits, units).value))
    for units in supports:
        search = Search(problem, limits, units, rng)
        yield from settled(search)
        if best is None or search.f < best.f:
            best = search
        if best.finished:
            break
    if best is not None:
        yield from kicked(best, effort)
        yield polished(problem, limits, best.found)


def best_of(answers: Answers, seconds: float = math.inf) -> Found:
    """The best answer of a search, stopped at its first chance after `seconds`."""
    began, best = time.perf_counter(), None
    for found in answers:
        if found is not None and (best is None or found.value < best.value):
            best = found
        if best is not None and time.perf_counter() - began > seconds:
            break
    if best is None:
        raise ValueError("the search ended without an answer")
    return best
