"""The search for k units: a good start, exchange in a pool of promising units, kicks."""

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from .._validation import Indices
from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..protocols import Quadratic
from ._fit import Answers, Found, affordable, feasible_support, polished, promising, refit_cost, refitted
from ._pool import Search, Work, search_cost
from ._starts import REACHED, Path, Walk, paused, prepared, target_gram, walked

__all__ = [
    "Answers",
    "Found",
    "Search",
    "Work",
    "auto",
    "feasible_support",
    "first_answer",
    "kicked",
    "opening",
    "polished",
    "promising",
    "refitted",
    "starts",
]

WORK = 2e9
"""Multiplications that idle kicks may cost before a search ends, times its effort; all kicks together, twice that."""
IDLE = 1000
"""Idle kicks after which a search of effort 1 ends in any case; ten times as many at any effort."""
MOVES = 64
"""Moves between two chances to stop."""
MANY = 350
"""Units up to which kicks, and one more point of the path, are worth their time where no limit is set."""
FIRST = 64
"""Units looked at for a first answer."""
ASTRAY = 0.15
"""How far from one the weights of the path without the sum constraint may sum before the other path is tried."""
ENOUGH = 1e-4
"""Relative gain for which a new pool is worth gathering."""


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


def first_answer(problem: Quadratic, limits: SparseSimplex) -> Found:
    """The best weights on units near the target among a few that are evenly spread: quick, however many there are."""
    fewest, most = limits.sizes
    listed = np.flatnonzero(limits.open)
    some = np.linspace(0, len(listed) - 1, max(FIRST, 2 * fewest)).astype(np.int64)
    units = np.union1d(listed[some], limits.include)
    distances = np.diag(target_gram(problem, units, units))
    size = max(fewest, min(most, FIRST // 2))
    return refitted(problem, limits, feasible_support(problem, limits, units[np.argsort(distances)], size))


def opening(problem: Quadratic, limits: SparseSimplex) -> Answers:
    """A first answer, then what every search needs to know of all units."""
    yield first_answer(problem, limits)
    for _ in prepared(problem):
        yield None


def glimpsed(problem: Quadratic, limits: SparseSimplex, walk: Walk) -> Generator[Found | None, None, Path]:
    """A walk, with an answer read off it whenever it has twice as many units as at the last; returns its end."""
    size = FIRST
    while True:
        try:
            units, weights = next(walk)
        except StopIteration as end:
            final: Path = end.value
            return final
        if len(units) < size:
            yield None
            continue
        q, size = np.zeros(limits.space.size), 2 * len(units)
        q[units] = weights
        p = limits.project(q)
        held = limits.support(p)
        yield Found(held, p[held], problem.value_at(held, p[held]))


def path_supports(problem: Quadratic, limits: SparseSimplex) -> Generator[Indices | Found | None, None, None]:
    """Supports from the path without the sum constraint: at k units, from there a sixth further with it, and without.

    Each is the k heaviest units of where the path stands. Where it ends early, or its weights do not nearly sum to
    one, also from the path with the constraint from the beginning. In between answers read off it, or None: pauses.
    """
    k = limits.sizes[1]
    more = k + max(16, k // 6)
    free = yield from glimpsed(problem, limits, walked(problem, limits, k, summed=False))
    yield feasible_support(problem, limits, free[0])
    if len(free[0]):
        first = refitted(problem, replace(limits, min_weight=0.0, max_weight=1.0), np.sort(free[0]))
        bent = yield from paused(walked(problem, limits, more, True, (first.units, first.weights)))
        yield feasible_support(problem, limits, bent[0])
    if len(free[0]) == k and k <= MANY:
        free = yield from paused(walked(problem, limits, more, False, free))
        yield feasible_support(problem, limits, free[0])
    if len(free[0]) < k or abs(free[1].sum() - 1.0) > ASTRAY:
        summed = yield from paused(walked(problem, limits, more, summed=True))
        yield feasible_support(problem, limits, summed[0])


def starts(
    problem: Quadratic, limits: SparseSimplex, deadline: Deadline | None = None
) -> Generator[tuple[Indices | None, Found] | None, None, None]:
    """Supports of the paths with their best weights; one that reaches the target is the last. None is a pause.

    An answer without a support was only passed by. It ends early where the time left is too short to refit.
    """
    for met in path_supports(problem, limits):
        if met is None or isinstance(met, Found):
            yield None if met is None else (None, met)
            continue
        if not affordable(deadline, refit_cost(len(met))):
            return
        found = refitted(problem, limits, met)
        yield met, found
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


def auto(
    problem: Quadratic,
    limits: SparseSimplex,
    rng: np.random.Generator,
    effort: float = 1.0,
    total: Work | None = None,
    deadline: Deadline | None = None,
) -> Answers:
    """A first answer, a few starts, exchange from each, kicks from the best; yields answers, the last one polished."""
    best: Search | None = None
    supports = []
    yield from opening(problem, limits)
    for begun in starts(problem, limits, deadline):
        if begun is None or begun[0] is None:
            yield None if begun is None else begun[1]
            continue
        supports.append(begun[0])
        yield begun[1]
        if begun[1].value <= REACHED * problem.constant:
            return
    if not supports or not affordable(deadline, search_cost(limits)):
        return
    if limits.bounded:
        rounded = rounded_supports(problem, limits, supports, rng)
        supports.append(min(rounded, key=lambda units: refitted(problem, limits, units).value))
    for units in supports:
        search = Search(problem, limits, units, rng, total)
        yield from settled(search)
        if best is None or search.f < best.f:
            best = search
        if best.finished:
            break
    if best is not None:
        yield from kicked(best, effort)
        yield polished(problem, limits, best.found)
