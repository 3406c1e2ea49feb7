"""dims with columns that are held in any case, and columns that never are: the problem on the others."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, Vector, as_units
from ..constraints.dimension_sparse import DimensionSparse
from ..objectives.kl import KL
from ..objectives.seen import MAX_COPIES, SeenL2
from ..result import Result, Status, Words
from ..solvers.loop import Callback, Progress
from ..spaces import States
from .rows import Rows, listed

Run = Callable[[Any, DimensionSparse, Callback | None], Result]
"""Minimise F over D_k, and show a callback the progress."""


@dataclass(frozen=True, eq=False)
class Restriction:
    """Columns that are held in any case, and columns that never are; `free` are the others, (n - both,)."""

    include: Indices
    exclude: Indices
    free: Indices

    @classmethod
    def of(cls, include: Any, exclude: Any, n: int, k: int) -> "Restriction":
        """Check both, for k of n columns."""
        held = as_units(include, n, "columns", "include")
        never = as_units(exclude, n, "columns", "exclude")
        both = np.intersect1d(held, never)
        if both.size:
            raise InvalidInput(f"include and exclude must not overlap, both hold {both.tolist()}")
        if held.size > k:
            raise InvalidInput(f"include must hold at most k = {k} columns, got {held.size}")
        if never.size == n:
            raise InvalidInput(f"exclude must leave a column, got all {n}")
        return cls(held, never, np.setdiff1d(np.arange(n), np.union1d(held, never)))

    def __bool__(self) -> bool:
        return bool(self.include.size or self.exclude.size)

    def allowed(self, table: Any) -> Any:
        """Which rows of a table use no excluded column, (N,)."""
        never = np.zeros(table.shape[1])
        never[self.exclude] = 1.0
        return np.asarray(table @ never == 0.0)


def restricted(
    rows: Rows, k: int, objective: str, held: Restriction, run: Run, callback: Callback | None = None
) -> Result:
    """The best k columns that hold `include` and none of `exclude`, by `run` on the problem of the other columns.

    With I the included columns, X_{I ∪ T} covers the rows that lie in X_T but for their columns in I. So
    -log Q(I ∪ T) is KL on the rows without these columns, less the log of the mass that rows without an excluded column
    have, and ‖q‖² - Q2 + (1 - Q)² / (M(I) M(T)) is the squared distance of `SeenL2` with M(I) copies, divided by M(I).
    """
    alive = held.allowed(rows.table)
    mass = float(rows.weights[alive].sum())
    count = min(k - held.include.size, held.free.size)
    if count == 0 or not alive.any():
        return _decided(rows, objective, held, count)
    part = _on_free(rows, held, alive)
    if objective == "kl":
        seen = listed(part, count)
        F: Any = KL(seen, seen.weights)
        units = 1.0, -math.log(mass) if mass < 1.0 else 0.0
    else:
        F = _squared_distance(rows, held, alive, part)
        units = 1.0 / F.copies, 0.0
    found = run(F, DimensionSparse(F.space, count), _told(callback, *units))
    indices = np.union1d(held.include, held.free[found.indices])
    return replace(_in_units(found, *units), indices=indices, words=Words("columns", rows.n))


def _on_free(rows: Rows, held: Restriction, alive: Any) -> Rows:
    """The rows that may be covered, on the columns to choose from."""
    shape = tuple(rows.shape[i] for i in held.free)
    given = rows.given[alive]
    table = rows.table[np.flatnonzero(alive)][:, held.free]
    return Rows(table, rows.weights[alive] / rows.weights[alive].sum(), given, rows.origin[held.free], shape)


def _squared_distance(rows: Rows, held: Restriction, alive: Any, part: Rows) -> SeenL2:
    """l2 on the columns to choose from, each state with the mass and the squares of all those it stands for."""
    whole = rows.states()
    inside = held.allowed(whole.rows)
    reduced = whole.rows[np.flatnonzero(inside)][:, held.free]
    seen, of_state = numbered(reduced, whole.weights[inside], part.shape)
    q: Vector = np.bincount(of_state, whole.weights[inside], seen.size).astype(np.float64)
    squares = np.bincount(of_state, whole.weights[inside] ** 2, seen.size)
    beyond = float(np.square(whole.weights[~inside]).sum())
    copies = min(math.prod(rows.shape[i] for i in held.include), MAX_COPIES)
    return SeenL2(seen, q, squares, copies, beyond)


def numbered(table: Any, weights: Vector, shape: tuple[int, ...]) -> tuple[States, Indices]:
    """The distinct rows of a table as states, and which of them each row is.

    >>> from fewer.tables import as_table
    >>> states, inverse = numbered(as_table([[0, 1], [1, 0], [0, 1]]), np.ones(3), (2, 2))
    >>> states.size, inverse.tolist()
    (2, [0, 1, 0])
    """
    from ..tables import distinct_rows

    return States(table, weights, shape), distinct_rows(table)[1]


def _decided(rows: Rows, objective: str, held: Restriction, count: int) -> Result:
    """Where nothing is left to choose, or no row can be covered: the included columns and those of most codes."""
    sizes = np.array([rows.shape[i] for i in held.free])
    chosen = held.free[np.argsort(-sizes, kind="stable")[:count]] if objective == "l2" else held.free[:count]
    indices = np.union1d(held.include, chosen).astype(np.int64)
    inside = rows.inside(indices)
    Q = min(float(rows.weights[inside].sum()), 1.0)
    if objective == "kl":
        value = -math.log(Q) if Q > 0.0 else math.inf
    else:
        whole = rows.states()
        outside = np.setdiff1d(np.arange(whole.size), whole.face(indices))
        spread = (1.0 - Q) ** 2 * math.exp(-math.fsum(math.log(rows.shape[i]) for i in indices))
        value = float(np.square(whole.weights[outside]).sum()) + spread
    space = States(np.zeros((1, rows.n), np.int32), m=rows.shape)
    status, words = Status.OPTIMAL, Words("columns", rows.n)
    history = np.array([value])
    return Result(indices, None, value, value, status, history, 1, 0.0, space, table=np.ones(1), words=words)


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
