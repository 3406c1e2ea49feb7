"""k of many values: the problem on a grid, solved, and answered in values."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..._validation import Vector
from ...constraints.sparse_simplex import SparseSimplex
from ...distribution import Distribution
from ...result import Result, Status, Words
from ...solvers.loop import Callback, Progress
from ...solvers.solve import in_units, watched
from ...spaces import Atoms
from ..terms.terms import solve
from .empirical import Empirical
from .grid import Grid
from .options import BinsOptions

TOLERANCE = 1e-6
"""A gap of this share of the value counts as none, as in the loop of solvers."""
LOSS = "squared difference of the cdf"


def best_values(P: Empirical, k: int, grid: Grid, options: BinsOptions) -> Result:
    """The best k positions of a grid, with the loss to the values and a bound over all positions there are."""
    callback = shifted(watched(options.callback, P.exponent), grid)
    C = SparseSimplex(Atoms(grid.positions.size), k)
    found = solve(grid.target, C, options.replace(callback=callback))
    found = in_units(against_values(found, grid, P), P.exponent)
    at, weights = found.indices, np.asarray(found.weights)
    if grid.edges is None:
        ends, unit = ranges(P, grid.positions[at], weights), "values"
    else:
        ends, unit = (
            np.column_stack([grid.edges[grid.numbers[at]], grid.edges[grid.numbers[at] + 1]]),
            "bins",
        )
    total = P.distinct if grid.edges is None else grid.n_bins
    named = replace(found, words=Words(unit, total, LOSS), total=P.total)
    named = replace(named, indices=grid.numbers[at], space=Atoms(grid.n_bins))
    return in_values(named, grid.positions[at], ends)


def in_values(found: Result, values: Vector, edges: Any) -> Result:
    """A result that knows where what was kept sits."""
    weights = np.asarray(found.weights)
    size = found.space.size
    kept = Distribution(
        found.indices[:, None], weights, np.array([0]), (size,), values=values, edges=edges
    )
    return replace(found, labels=values, kept=kept)


def ranges(P: Empirical, at: Vector, weights: Vector) -> Vector:
    """From where to where the values lie that each kept one stands for, (k, 2): quantiles of P at the levels of Q."""
    inner = np.clip(P.quantile(np.cumsum(weights)[:-1]), at[:-1], at[1:])
    return np.column_stack([np.append(P.x[0], inner), np.append(inner, P.x[-1])])


def against_values(found: Result, grid: Grid, P: Empirical) -> Result:
    """The loss to the values instead of that to the means between positions, and what is proven of it."""
    value = found.value + grid.constant
    low = max((found.bound or 0.0) + grid.constant - grid.slack, 0.0)
    status, notes = found.status, [found.note] if found.note else []
    if P.dropped:
        notes.append(f"{P.dropped} missing values were dropped")
    if status is Status.OPTIMAL and not grid.exhaustive and value - low > TOLERANCE * value:
        status = Status.FINISHED
        notes.append(
            f"this is proven best on the grid of {grid.positions.size} positions; any other positions could gain at "
            f"most the gap"
        )
    history = found.history + grid.constant
    return replace(
        found, value=value, bound=low, status=status, history=history, note="; ".join(notes)
    )


def shifted(callback: Callback | None, grid: Grid) -> Callback | None:
    """A callback of the loss to the values for a solver of that on the grid."""
    if callback is None or not callable(callback):
        return callback

    def shown(progress: Progress) -> Any:
        bound = (
            None
            if progress.bound is None
            else max(progress.bound + grid.constant - grid.slack, 0.0)
        )
        value, best = progress.value + grid.constant, progress.best + grid.constant
        return callback(progress._replace(value=value, best=best, bound=bound))

    return shown
