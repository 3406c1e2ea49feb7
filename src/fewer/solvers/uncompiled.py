"""Answers without compiled code: for calls with a time limit on a machine that has not compiled anything yet."""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, Vector
from ..constraints.sparse_simplex import SparseSimplex
from ..cover import Allowance
from ..deadline import Deadline, answer_by
from ..programmes import nonnegative_least_squares
from ..protocols import (
    Budgeted,
    Combining,
    Constraint,
    Covered,
    FaceSolvable,
    Objective,
    Quadratic,
    offers,
    whole_faces,
)
from ..result import Result, Status
from ..spaces import States
from ..tables import as_table
from .loop import WARM, Outcome, Step, Steps, drive

STEPS = 50
"""Descent steps in refitting an answer, and single entries tried where an even distribution is no member."""
SHARE = 0.5
"""The share of the time left that choosing units may take; the rest is for refitting."""
MOST_STATES = 20000
"""States that columns are chosen by."""
DISCOUNT = 10.0
"""What a state counts less for each further column that it lacks, in look-ahead."""
ROUNDING = 1e-12
"""What sums of costs may be off."""
GRACE = 0.05
"""Seconds that choosing may take when loading numba has used up the limit."""


def solve_by(
    deadline: Deadline,
    objective: Objective,
    constraint: Constraint,
    solver: str,
    solve: Callable[[], Result],
    start: Vector | None = None,
) -> Result:
    """`solve()`, or where a time limit leaves no time to compile what it needs, an answer without compiled code."""
    return answer_by(deadline, solve, lambda: uncompiled_result(objective, constraint, deadline, solver, start))


def uncompiled_result(
    objective: Any, constraint: Any, deadline: Deadline, solver: str, start: Vector | None = None
) -> Result:
    """A member of the constraint found without compiled code, or the start if that is better; the result says so."""
    if offers(objective, Quadratic) and isinstance(constraint, SparseSimplex):
        p = uncompiled_greedy(objective, constraint, deadline)
        p = p if constraint.all_conditions is None else constraint.project(p)
    elif offers(constraint, Budgeted) and offers(objective, Covered, FaceSolvable):
        p = objective.best_on(_covering(objective.target, constraint))
    elif whole_faces(constraint):
        p = _on_units(objective, constraint, deadline)
    else:
        p = np.full(constraint.space.size, 1.0 / constraint.space.size)
        if offers(constraint, Combining):
            p = constraint.project(p)
        elif not constraint.contains(p):
            corners = (np.eye(1, p.size, entry)[0] for entry in range(min(p.size, STEPS)))
            p = next(filter(constraint.contains, corners), p)
        if not constraint.contains(p):
            raise InvalidInput(
                f"the time limit of {deadline.seconds:g} s is too short to compile what {solver} needs; "
                f"call fewer.warm() once on this machine"
            )

    def answered() -> Steps:
        yield Step(p)
        return Outcome(Status.TIME_LIMIT)

    return drive(objective, constraint, answered(), solver=solver, start=start, time_limit=deadline, note=WARM)


def uncompiled_greedy(problem: Quadratic, constraint: SparseSimplex, deadline: Deadline) -> Vector:
    """K entries for a quadratic by SciPy's non-negative least squares: one at a time, or the heaviest of many."""
    chosen = deadline.share(SHARE, GRACE)
    units, weights = _one_at_a_time(problem, constraint, chosen)
    if not chosen.passed:
        others, their = _heaviest_of_many(problem, constraint, units, weights)
        if problem.value_at(others, their) < problem.value_at(units, weights):
            units, weights = others, their
    p = np.zeros(constraint.space.size)
    p[units] = weights
    return p


def _heaviest_of_many(
    problem: Quadratic, constraint: SparseSimplex, units: Indices, weights: Vector
) -> tuple[Indices, Vector]:
    """The heaviest entries of the best weights on an answer's entries and the steepest others."""
    slopes = problem.slopes(units, weights)
    slopes[~constraint.open] = -np.inf
    slopes[units] = np.inf
    pool = np.sort(np.argsort(-slopes, kind="stable")[: min(4 * len(units) + 60, int(constraint.open.sum()))])
    order = np.full(len(slopes), -np.inf)
    order[constraint.open], order[pool], order[constraint.include] = -1.0, _refit(problem, pool), np.inf
    kept = np.sort(constraint.fitting(np.argsort(-order, kind="stable"), len(units)))
    return kept, _fitted(constraint, _refit(problem, kept))


def _one_at_a_time(problem: Quadratic, constraint: SparseSimplex, deadline: Deadline) -> tuple[Indices, Vector]:
    """The entry of largest gain at a time, refitted; after the deadline all that are lacking at once."""
    units, weights = np.empty(0, np.int64), np.empty(0)
    fewest, most = constraint.sizes
    c = problem.slopes(units, weights)
    while len(units) < most:
        gains = _gains(problem, c, units, weights)
        gains[~constraint.open] = -np.inf
        gains[constraint.include] = np.inf
        gains[units] = np.inf  # what is held comes first, in any order
        order = np.argsort(-gains, kind="stable")
        size = len(units) + 1 if not deadline.passed else most
        grown = constraint.fitting(order, max(size, fewest))
        if len(grown) == len(units):
            break
        units = np.sort(grown)
        weights = _refit(problem, units)
    return units, _fitted(constraint, weights)


def _gains(problem: Quadratic, c: Vector, units: Indices, weights: Vector) -> Vector:
    """What F falls by at most when mass moves from the weights to each entry; without weights, minus F there."""
    if not len(units):
        return np.asarray(2.0 * c - problem.diagonal)
    slopes = problem.slopes(units, weights)
    product = c - slopes  # H w
    steep = np.maximum(slopes - float(weights @ slopes[units]), 0.0)
    curve = problem.diagonal - 2.0 * product + float(weights @ product[units])
    return np.asarray(steep**2 / np.maximum(curve, 1e-12 * float(np.abs(problem.diagonal).max()) + 1e-300))


def _refit(problem: Quadratic, units: Indices) -> Vector:
    """Weights >= 0 of sum one that minimise F on these units: least squares on a factor of H, the sum as a heavy row.

    With the target for origin F = wᵀGw, and minimising w'Gw on the simplex is min ‖[L; h 1]ᵀ w - [0; h]‖² scaled to
    sum one, whatever h is.
    """
    c = problem.linear(units)
    G = problem.cross(units, units) + problem.constant - c[:, None] - c[None, :]
    eigenvalues, vectors = np.linalg.eigh(G / max(float(np.abs(G).max()), 1e-300))
    root = vectors * np.sqrt(np.maximum(eigenvalues, 1e-13))
    rows = np.vstack([root.T, np.ones(len(units))])
    w = nonnegative_least_squares(rows, np.append(np.zeros(len(units)), 1.0), 30 * len(units) + 100)
    total = float(w.sum())
    return np.asarray(w / total) if total > 0.0 else np.full(len(units), 1.0 / len(units))


def _fitted(constraint: SparseSimplex, weights: Vector) -> Vector:
    """The weights within the constraint's bounds."""
    low, high = constraint.min_weight, min(constraint.max_weight, 1.0)
    return weights if low == 0.0 and high >= 1.0 else box_by_bisection(weights, low, high)


def box_by_bisection(v: Vector, low: float, high: float) -> Vector:
    """The projection of v onto {low <= w <= high, Σ w = 1}: clip(v - tau) with tau by bisection.

    >>> box_by_bisection(np.array([0.9, 0.1, 0.0]), 0.1, 0.6).round(6).tolist()
    [0.6, 0.25, 0.15]
    """
    below, above = float(v.min()) - high, float(v.max()) - low
    for _ in range(200):
        tau = 0.5 * (below + above)
        if np.clip(v - tau, low, high).sum() > 1.0:
            below = tau
        else:
            above = tau
    w = np.clip(v - above, low, high)
    free = (w > low) & (w < high)
    if free.any():
        w[free] += (1.0 - w.sum()) / free.sum()
    return np.asarray(w)


def _covering(target: Vector, constraint: Any) -> Indices:
    """A face that covers much of the target, chosen by look-ahead on its heaviest states."""
    space = constraint.space
    states = np.flatnonzero(target > 0.0)
    states = states[np.argsort(-target[states], kind="stable")[:MOST_STATES]]
    table = space.rows[states] if isinstance(space, States) else as_table(space.unravel(states))
    face: Indices = constraint.face(look_ahead(table, target[states], constraint.allowance))
    if face.size:
        return face
    every = space.rows if isinstance(space, States) else table
    smallest = int(constraint.allowance.of_supports(every.indptr, every.indices).argmin())
    return np.asarray(constraint.face(every.indices[every.indptr[smallest] : every.indptr[smallest + 1]]))


def look_ahead(table: Any, weights: Vector, allowance: Allowance) -> Indices:
    """Allowed columns of a CSR table, each the one for its cost that the rows still lacking few columns lack most.

    >>> table = as_table([[0, 1, 1], [0, 0, 1], [1, 1, 1]])
    >>> look_ahead(table, np.array([0.5, 0.25, 0.25]), Allowance.count(3, 2)).tolist()
    [1, 2]
    """
    columns, n, costs = table.tocsc(), table.shape[1], allowance.costs
    owner = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    missing = np.diff(table.indptr).astype(np.int64)
    owed = allowance.of_supports(table.indptr, table.indices)
    inside, left = np.zeros(n, bool), allowance.room
    while (~inside & (costs <= left)).any():
        open_rows = (missing > 0) & (owed <= left + ROUNDING)
        values: Vector = np.where(open_rows, weights * DISCOUNT ** -(missing - 1.0).clip(0.0, 300.0), 0.0)
        scores: Vector = np.bincount(table.indices, values[owner], n) / costs
        scores[inside | (costs > left)] = -1.0
        best = int(scores.argmax())
        inside[best] = True
        left -= float(costs[best])
        holders = columns.indices[columns.indptr[best] : columns.indptr[best + 1]]
        missing[holders] -= 1
        owed[holders] -= costs[best]
    return np.flatnonzero(inside)


def _on_units(objective: Objective, sparse: Any, deadline: Deadline) -> Vector:
    """A distribution on the units whose faces, each by itself, have the lowest F where they are even."""
    chosen = deadline.share(SHARE)
    values = np.full(sparse.n_units, np.inf)
    for unit in range(sparse.n_units):
        face = sparse.face([unit])
        if face.size:
            values[unit] = objective.value(_even(objective.space.size, face))
        if chosen.passed:
            break
    units = np.sort(np.argsort(values, kind="stable")[: sparse.k])
    face = sparse.face(units)
    if not face.size:
        raise InvalidInput("the time limit is too short to find a face with states; call fewer.warm() on this machine")
    best, lowest = _even(objective.space.size, face), np.inf
    for p in _descent(objective, face):
        value = objective.value(p)
        if value < lowest:
            best, lowest = p, value
        if deadline.passed:
            break
    return best


def _even(size: int, face: Indices) -> Vector:
    p = np.zeros(size)
    p[face] = 1.0 / face.size
    return p


def _descent(objective: Objective, face: Indices) -> Generator[Vector, None, None]:
    """The even distribution on a face and a few steps of exponentiated gradient from it."""
    p = _even(objective.space.size, face)
    yield p
    for step in range(STEPS):
        gradient = objective.gradient(p)[face]
        spread = float(gradient.max() - gradient.min())
        if not 0.0 < spread < np.inf:
            return
        p = p.copy()
        p[face] *= np.exp(-(gradient - gradient.min()) / (spread * np.sqrt(step + 1.0)))
        p[face] /= p[face].sum()
        yield p
