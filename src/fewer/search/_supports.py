"""F on the face of a support, remembered."""

import math
from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, Vector
from ..protocols import FaceSolvable, Objective, Quadratic, implements
from ._face import FaceOptimum, FaceSolver
from ._gram_faces import GramFaces, gram_of
from .paths import lower_bound_of

Support = tuple[int, ...]
"""Units, sorted."""
EVALUATION, SEARCHING, GAME = 2e4, 5e4, 1.5e6
"""What F in closed form, one evaluation in a search and one game of the cuts cost, in multiplications of 1 ns."""
SQUARES = 50.0
"""What a quadratic costs on a face in closed form, in squares of its size."""
LOOKUP = 1e4
"""What it costs to remember."""
MOST_KEPT = 50_000
"""Supports that are remembered at once."""
LARGE_RELAXATION = 1000
"""Entries of a face from which quadratics are relaxed by first-order steps: a closed form needs their square."""


class FaceRelaxation(NamedTuple):
    """The minimum over a face that may have too many units: p, F there, and a lower bound on F over the face."""

    p: Vector
    value: float
    bound: float


class Supports:
    """Values F at the best weights on supports: in closed form where the objective has one, by a search otherwise."""

    def __init__(self, objective: Objective, constraint: Any) -> None:
        self.objective: Any = objective
        self.constraint = constraint
        self.closed_form = implements(objective, FaceSolvable)
        self.work = 0.0
        self._squares = SQUARES if implements(objective, Quadratic) else 0.0
        self._gram: GramFaces | None = gram_of(objective)
        self._solver: FaceSolver | None = None
        self._known: dict[Support, tuple[FaceOptimum, bool]] = {}
        """Each with whether its minimum was found, and not only that it is high enough."""

    @property
    def solver(self) -> FaceSolver:
        """The search on faces, made when it is first needed."""
        if self._solver is None:
            self._solver = FaceSolver(self.objective)
        return self._solver

    def face(self, units: Support | Indices) -> Indices:
        """The entries that a support reaches."""
        return np.asarray(self.constraint.face(np.asarray(units, np.int64)), np.int64)

    def look(self, support: Support, enough: float = math.inf) -> FaceOptimum:
        """F on a support, and a lower bound; where the bound is `enough`, the value may be any above it."""
        self.work += LOOKUP
        known = self._known.get(support)
        if known is not None and (known[1] or known[0].bound >= enough):
            return known[0]
        found = self._solved(
            self.face(support), enough, None if known is None else known[0].weights
        )
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        solved = found.value < math.inf if enough == math.inf else found.bound < enough
        self._known[support] = found, solved or self.closed_form
        return found

    def knows(self, support: Support) -> bool:
        """Whether the support was looked at before."""
        return support in self._known

    def _solved(self, face: Indices, enough: float, start: Vector | None) -> FaceOptimum:
        """F on a face."""
        if not face.size:
            return FaceOptimum(np.empty(0), math.inf, math.inf)
        if not self.closed_form:
            return self._searched(face, enough, False, start)
        self.work += EVALUATION + face.size + self._squares * face.size**2
        if self._gram is not None:
            value = self._gram.best(face)[1]
            return FaceOptimum(np.empty(0), value, value)
        value = float(self.objective.value_on(face))
        value = math.inf if math.isnan(value) else value
        return FaceOptimum(np.empty(0), value, value)

    def _searched(
        self, face: Indices, enough: float, rough: bool, start: Vector | None
    ) -> FaceOptimum:
        """F on a face by a search, which is work."""
        solver = self.solver
        evaluations, games = solver.evaluations, solver.games
        found = solver.best(face, enough, rough, start)
        each = SEARCHING + self.objective.space.size
        self.work += each * (solver.evaluations - evaluations) + GAME * (solver.games - games)
        return found

    def point(self, support: Support) -> Vector | None:
        """The distribution with the best weights on a support; None where it reaches no entry."""
        face = self.face(support)
        if not face.size:
            return None
        if self.closed_form:
            best: Vector = self.objective.best_on(face)
            return best
        return self.solver.spread(face, self.look(support).weights)

    def relaxed(
        self, units: Indices, enough: float, rough: bool, start: Vector | None
    ) -> FaceRelaxation:
        """The minimum over the face of these units, however many they are."""
        face = self.face(units)
        if not face.size:
            return FaceRelaxation(np.zeros(self.objective.space.size), math.inf, math.inf)
        if self.closed_form and not (
            face.size > LARGE_RELAXATION and implements(self.objective, Quadratic)
        ):
            self.work += EVALUATION + face.size + self._squares * face.size**2
            if self._gram is not None:
                p = np.zeros(self.objective.space.size)
                p[face], value = self._gram.best(face, None if start is None else start[face])
                return FaceRelaxation(p, value, value)
            p = self.objective.best_on(face)
            value = float(self.objective.value(p))
            return FaceRelaxation(p, value, value)
        found = self._searched(face, enough, rough, None if start is None else start[face])
        bound = (
            max(found.bound, lower_bound_of(self.objective)) if self.closed_form else found.bound
        )
        return FaceRelaxation(self.solver.spread(face, found.weights), found.value, bound)

    def slopes(self, support: Support) -> Vector:
        """The gradient at the best weights on a support; zero where there is none."""
        p = self.point(support)
        size = self.objective.space.size
        if p is None:
            return np.zeros(size)
        self.work += EVALUATION + size
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gradient = np.asarray(self.objective.gradient(p), np.float64)
        return np.nan_to_num(gradient, copy=True, nan=0.0, posinf=math.inf, neginf=-math.inf)

    def near(self, support: Support) -> float:
        """F where most of the mass is even on a support and a little of it everywhere: how far F is from finite."""
        size = self.objective.space.size
        face = self.face(support)
        p = np.full(size, 1e-3 / size)
        p[face] += 0.999 / max(face.size, 1)
        self.work += EVALUATION + size
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = float(self.objective.value(p / p.sum()))
        return math.inf if math.isnan(value) else value
