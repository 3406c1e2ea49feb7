"""Answers without compiled code: for calls with a time limit on a machine that has not compiled anything yet."""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline, answer_by
from ..door import Indices, InvalidInput, Vector
from ..protocols import Constraint, Objective, Quadratic, offers, whole_faces
from ..result import Result, Status
from ._drive import WARM, Outcome, Step, Steps, drive

STEPS = 50
"""Descent steps in refitting an answer."""
SHARE = 0.5
"""The share of the time left that choosing units may take; the rest is for refitting."""


def solve_by(
    deadline: Deadline, objective: Objective, constraint: Constraint, solver: str, solve: Callable[[], Result]
) -> Result:
    """`solve()`, or where a time limit leaves no time to compile what it needs, an answer without compiled code."""
    return answer_by(deadline, solve, lambda: uncompiled_result(objective, constraint, deadline, solver))


def uncompiled_result(objective: Any, constraint: Any, deadline: Deadline, solver: str) -> Result:
    """A member of the constraint found without compiled code, as a result that says so."""
    if offers(objective, Quadratic) and isinstance(constraint, SparseSimplex):
        p = uncompiled_greedy(objective, constraint, deadline)
    elif whole_faces(constraint):
        p = _on_units(objective, constraint, deadline)
    else:
        p = np.full(constraint.space.size, 1.0 / constraint.space.size)
        if not constraint.contains(p):
            raise InvalidInput(
                f"the time limit of {deadline.seconds:g} s is too short to compile what {solver} needs; "
                f"call fewer.warm() once on this machine"
            )
    return drive(objective, constraint, _answered(p), solver=solver, time_limit=deadline, note=WARM)


def _answered(p: Vector) -> Steps:
    yield Step(p)
    return Outcome(Status.TIME_LIMIT)


def uncompiled_greedy(problem: Quadratic, constraint: SparseSimplex, deadline: Deadline) -> Vector:
    """K places for a quadratic: the steepest one at a time, refitted by SciPy's non-negative least squares.

    When half of the time is over the places that are still lacking are the steepest ones, all at once.
    """
    units, weights = np.empty(0, np.int64), np.empty(0)
    chosen = deadline.share(SHARE)
    fewest, most = constraint.sizes
    order: Indices = np.empty(0, np.int64)
    while len(units) < most:
        slopes = problem.slopes(units, weights) - 0.5 * problem.diagonal * (len(units) == 0)
        slopes[~constraint.open] = -np.inf
        slopes[constraint.include] = np.inf
        slopes[units] = np.inf  # what is held comes first, in any order
        order = np.argsort(-slopes, kind="stable")
        size = len(units) + 1 if not chosen.passed else most
        grown = constraint.fitting(order, max(size, fewest))
        if len(grown) == len(units):
            break
        units = np.sort(grown)
        weights = _refit(problem, units)
    return _fitted(constraint, units, weights)


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
    w, _ = nnls(rows, np.append(np.zeros(len(units)), 1.0), maxiter=30 * len(units) + 100)
    total = float(w.sum())
    return np.asarray(w / total) if total > 0.0 else np.full(len(units), 1.0 / len(units))


def _fitted(constraint: SparseSimplex, units: Indices, weights: Vector) -> Vector:
    """The weights as a member: clipped to the bounds, the rest spread over what is not at a bound."""
    low, high = constraint.min_weight, min(constraint.max_weight, 1.0)
    p = np.zeros(constraint.space.size)
    if low == 0.0 and high >= 1.0:
        p[units] = weights
        return p
    p[units] = box_by_bisection(weights, low, high)
    return p


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
    best, lowest = None, np.inf
    for p in _descent(objective, face):
        value = objective.value(p)
        if best is None or value < lowest:
            best, lowest = p, value
        if deadline.passed:
            break
    assert best is not None  # noqa: S101 - the first iterate is the even distribution
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
        after = p.copy()
        after[face] *= np.exp(-(gradient - gradient.min()) / (spread * np.sqrt(step + 1.0)))
        after[face] /= after[face].sum()
        p = after
        yield p
