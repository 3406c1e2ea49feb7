"""Where a local search starts: a first answer, and supports of the active-set path."""

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from .._validation import Indices
from ..deadline import Deadline
from ..protocols import Quadratic
from ..rules import Rules
from .fit import (
    Answers,
    Fit,
    affordable,
    feasible_support,
    refit_cost,
    refitted,
    steepest_units,
    target_gram,
)
from .paths import REACHED, WIDTH, Path, Walk, paused, prepared, walked

MAX_UNITS_OF_FURTHER_START = 350
"""Units up to which one more point of the path is worth its time."""
MOST_CAPPED = 4000
"""Units up to which the optimum over the whole simplex cut by max_weight is looked for."""
FIRST_UNITS = 64
"""Units looked at for a first answer."""
MAX_SUM_ERROR = 0.15
"""How far from one the weights of the path without the sum constraint may sum before the other path is tried."""


def first_answer(problem: Quadratic, rules: Rules) -> Fit:
    """The best weights on units near the target among a few that are evenly spread: quick, however many there are."""
    fewest, most = rules.sizes
    listed = np.flatnonzero(rules.open)
    some = np.linspace(0, len(listed) - 1, max(FIRST_UNITS, 2 * fewest)).astype(np.int64)
    units = np.union1d(listed[some], rules.include)
    distances = np.diag(target_gram(problem, units, units))
    size = max(fewest, min(most, FIRST_UNITS // 2))
    return refitted(
        problem, rules, feasible_support(problem, rules, units[np.argsort(distances)], size)
    )


def opening(problem: Quadratic, rules: Rules) -> Answers:
    """A first answer, then what every search needs to know of all units."""
    yield first_answer(problem, rules)
    for _ in prepared(problem):
        yield None


def glimpsed(problem: Quadratic, rules: Rules, walk: Walk) -> Generator[Fit | None, None, Path]:
    """A walk, with an answer read off it whenever it has twice as many units as at the last; returns its end."""
    size = FIRST_UNITS
    while True:
        try:
            units, weights = next(walk)
        except StopIteration as end:
            final: Path = end.value
            return final
        if len(units) < size:
            yield None
            continue
        size = 2 * len(units)
        heaviest = units[np.argsort(-weights, kind="stable")]
        yield refitted(problem, rules, feasible_support(problem, rules, heaviest))


def path_supports(problem: Quadratic, rules: Rules) -> Generator[Indices | Fit | None, None, None]:
    """Supports from the path without the sum constraint: at k units, from there a sixth further with it, and without.

    Each is the k heaviest units of where the path stands. Where it ends early, or its weights do
    not nearly sum to one, also from the path with the constraint from the beginning. In between
    answers read off it, or None: pauses.
    """
    k = rules.sizes[1]
    more = k + max(16, k // 6)
    free = yield from glimpsed(problem, rules, walked(problem, rules, k, summed=False))
    yield feasible_support(problem, rules, free[0])
    if len(free[0]):
        first = refitted(problem, replace(rules, min_weight=0.0, max_weight=1.0), np.sort(free[0]))
        bent = yield from paused(walked(problem, rules, more, True, (first.units, first.weights)))
        yield feasible_support(problem, rules, bent[0])
    if len(free[0]) == k and k <= MAX_UNITS_OF_FURTHER_START:
        free = yield from paused(walked(problem, rules, more, False, free))
        yield feasible_support(problem, rules, free[0])
    if len(free[0]) < k or abs(free[1].sum() - 1.0) > MAX_SUM_ERROR:
        summed = yield from paused(walked(problem, rules, more, summed=True))
        yield feasible_support(problem, rules, summed[0])


def capped(problem: Quadratic, rules: Rules, found: Fit | None) -> Answers:
    """The optimum over the whole simplex cut by max_weight, by column generation, where it has at most k units.

    The paths know no max_weight. Steep units join an answer, and the best weights on all of them
    leave some at zero, while F falls; it ends where too many have weight, and is not tried where
    other rules decide what is held.
    """
    other = rules.min_weight > 0.0 or len(rules.include) or rules.groups is not None
    if found is None or rules.max_weight >= 1.0 or other or int(rules.open.sum()) > MOST_CAPPED:
        return
    value = np.inf
    while found.value < value and len(found.units) <= rules.sizes[1] + WIDTH // 2:
        value, slopes = found.value, problem.slopes(found.units, found.weights)
        slopes[~rules.open | (slopes <= slopes[found.units].min())] = slopes[found.units] = -np.inf
        joined = np.union1d(found.units, steepest_units(slopes, WIDTH))
        start = np.where(np.isin(joined, found.units), 1.0, 0.0)
        start[start > 0.0] = found.weights
        found = refitted(problem, rules, joined, start)
        yield found if len(found.units) <= rules.sizes[1] else None


def starts(
    problem: Quadratic, rules: Rules, deadline: Deadline | None = None
) -> Generator[tuple[Indices | None, Fit] | None, None, None]:
    """Supports of the paths with their best weights; one that reaches the target is the last. None is a pause.

    An answer without a support was only passed by. It ends early where the time left is too short
    to refit.
    """
    for met in path_supports(problem, rules):
        if met is None or isinstance(met, Fit):
            yield None if met is None else (None, met)
            continue
        if not affordable(deadline, refit_cost(len(met))):
            return
        found = refitted(problem, rules, met)
        yield met, found
        if found.value <= REACHED * problem.constant:
            return
