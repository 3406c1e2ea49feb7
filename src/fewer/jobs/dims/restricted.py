"""dims with units that are held in any case, and units that never are: the problem on the others."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._validation import Indices, InvalidInput, Vector
from ...objectives.kl import KL
from ...objectives.l2 import L2
from ...objectives.listed import MAX_COPIES, ListedL2
from ...result import Result, Status, Words
from ...rules import Rules
from ...solvers.loop import Callback, Progress
from ...spaces import States
from .column_units import Limit
from .rows import Rows, listed

Run = Callable[[Any, Any, Callback | None], Result]
"""Minimise F over faces of dimensions, and show a callback the progress."""


@dataclass(frozen=True, eq=False)
class Restriction:
    """Units that are held in any case, and units that never are; `free` are the others, (n - both,)."""

    include: Indices
    exclude: Indices
    free: Indices

    @classmethod
    def of(cls, include: Indices, exclude: Indices, limit: Limit) -> "Restriction":
        """Check both, for as many units as the limit allows; what costs nothing is held."""
        both = np.intersect1d(include, exclude)
        if both.size:
            raise InvalidInput(f"include and exclude must not overlap, both hold {both.tolist()}")
        if limit.costs is None and include.size > limit.most:
            raise InvalidInput(
                f"include must hold at most k = {limit.most} columns, got {include.size}"
            )
        if limit.spent(include) > limit.room:
            raise InvalidInput(
                f"include costs {limit.spent(include):g} together, more than the budget of {limit.most:g}"
            )
        if exclude.size == limit.n:
            raise InvalidInput(f"exclude must leave a column, got all {limit.n}")
        if limit.costs is not None:
            include = np.union1d(include, np.setdiff1d(np.flatnonzero(limit.costs == 0.0), exclude))
        free = np.setdiff1d(np.arange(limit.n), np.union1d(include, exclude))
        if not include.size and exclude.size and limit.after(include, free).size == 0:
            least = min(limit.costs[free]) if limit.costs is not None else 1
            raise InvalidInput(
                f"a budget of {limit.most:g} pays for none of what exclude leaves: the cheapest costs {least:g}"
            )
        return cls(include, exclude, free)

    def __bool__(self) -> bool:
        return bool(self.include.size or self.exclude.size)

    def allowed(self, table: Any) -> Any:
        """Which rows of a table use no excluded column, (N,)."""
        never = np.zeros(table.shape[1])
        never[self.exclude] = 1.0
        return np.asarray(table @ never == 0.0)


def restricted(
    rows: Rows,
    limit: Limit,
    objective: str,
    held: Restriction,
    run: Run,
    callback: Callback | None = None,
) -> Result:
    """The best columns that hold `include` and none of `exclude`, by `run` on the problem of the other columns.

    With I the included columns, X_{I ∪ T} covers the rows that lie in X_T but for their columns in
    I. So
    -log Q(I ∪ T) is KL on the rows without these columns, less the log of the mass that rows without an excluded column
    have, and ‖q‖² - Q2 + (1 - Q)² / (M(I) M(T)) is the squared distance of `L2.on_lattice` with
    M(I) copies, divided by M(I).
    """
    alive = held.allowed(rows.table)
    mass = float(rows.weights[alive].sum())
    left = limit.after(held.include, held.free)
    if left.size == 0 or not alive.any():
        return _decided(rows, objective, held, left)
    part = _on_free(rows, held, alive)
    if objective == "kl":
        seen = listed(part, left.reaches)
        F: Any = KL(seen, seen.weights)
        units = 1.0, -math.log(mass) if mass < 1.0 else 0.0
    else:
        F = _squared_distance(rows, held, alive, part)
        units = 1.0 / F.copies, 0.0
    C = left.on(F.space)
    found = run(F, C, _told(callback, *units))
    indices = np.union1d(held.include, held.free[found.indices])
    return replace(_in_units(found, *units), indices=indices, words=Words("columns", rows.n))


def _on_free(rows: Rows, held: Restriction, alive: Any) -> Rows:
    """The rows that may be covered, on the columns to choose from."""
    shape = tuple(rows.shape[i] for i in held.free)
    given = rows.given[alive]
    table = rows.table[np.flatnonzero(alive)][:, held.free]
    return Rows(
        table, rows.weights[alive] / rows.weights[alive].sum(), given, rows.origin[held.free], shape
    )


def _squared_distance(rows: Rows, held: Restriction, alive: Any, part: Rows) -> ListedL2:
    """l2 on the columns to choose from, each state with the mass and the squares of all those it stands for."""
    whole = rows.states()
    inside = held.allowed(whole.rows)
    reduced = whole.rows[np.flatnonzero(inside)][:, held.free]
    seen, of_state = numbered(reduced, whole.weights[inside], part.shape)
    q: Vector = np.bincount(of_state, whole.weights[inside], seen.size).astype(np.float64)
    squares = np.bincount(of_state, whole.weights[inside] ** 2, seen.size)
    beyond = float(np.square(whole.weights[~inside]).sum())
    copies = min(math.prod(rows.shape[i] for i in held.include), MAX_COPIES)
    return L2.on_lattice(seen, q, squares, copies, beyond)


def numbered(table: Any, weights: Vector, shape: tuple[int, ...]) -> tuple[States, Indices]:
    """The distinct rows of a table as states, and which of them each row is.

    >>> from fewer.codes import as_table
    >>> states, inverse = numbered(as_table([[0, 1], [1, 0], [0, 1]]), np.ones(3), (2, 2))
    >>> states.size, inverse.tolist()
    (2, [0, 1, 0])
    """
    from ...codes import distinct_rows

    return States(table, weights, shape), distinct_rows(table)[1]


def _decided(rows: Rows, objective: str, held: Restriction, left: Limit) -> Result:
    """Where nothing is left to choose, or no row can be covered: the included columns and those of most codes."""
    sizes = np.log([rows.shape[i] for i in held.free])
    order = np.arange(len(held.free))
    if objective == "l2":
        order = np.argsort(-sizes if left.costs is None else -sizes / left.costs, kind="stable")
    indices = np.union1d(held.include, held.free[left.first(order)]).astype(np.int64)
    inside = rows.inside(indices)
    Q = min(float(rows.weights[inside].sum()), 1.0)
    if objective == "kl":
        value = bound = -math.log(Q) if Q > 0.0 else math.inf
    else:
        whole = rows.states()
        outside = np.setdiff1d(np.arange(whole.size), whole.face(indices))
        lost = float(np.square(whole.weights[outside]).sum())
        value = lost + (1.0 - Q) ** 2 * math.exp(
            -math.fsum(math.log(rows.shape[i]) for i in indices)
        )
        most = (
            Rules(sizes.size, sizes.size, costs=left.costs, budget=left.room).most_worth(sizes)
            if left.size and left.costs is not None
            else 0.0
        )
        held_size = math.fsum(math.log(rows.shape[i]) for i in held.include)
        bound = lost + (1.0 - Q) ** 2 * math.exp(-held_size - most) if most else value
    space = States(np.zeros((1, rows.n), np.int32), m=rows.shape)
    status, words = Status.OPTIMAL if value == bound else Status.FINISHED, Words("columns", rows.n)
    history = np.array([value])
    return Result(
        indices, None, value, bound, status, history, 1, 0.0, space, table=np.ones(1), words=words
    )


def _in_units(found: Result, factor: float, shift: float) -> Result:
    """The value, the bound and the history of the whole problem."""
    bound = None if found.bound is None else factor * found.bound + shift
    value, history = factor * found.value + shift, factor * found.history + shift
    error = factor * found.value_se
    return replace(found, value=value, bound=bound, history=history, value_se=error)


def _told(callback: Callback | None, factor: float, shift: float) -> Callback | None:
    """A callback that hears of the whole problem."""
    if callback is None:
        return None

    def tell(progress: Progress) -> Any:
        bound = None if progress.bound is None else factor * progress.bound + shift
        value, best = factor * progress.value + shift, factor * progress.best + shift
        return callback(progress._replace(value=value, best=best, bound=bound))

    return tell
