"""The minimum of a convex F over the distributions on one face, with a proven lower bound."""

import math
from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, Vector
from ..probe import scale_of
from ..protocols import FaceSolvable, Objective, offers
from ._cuts import Cuts, game
from ._descent import accelerated, quasi_newton

PRECISION, ROUNDING = 1e-9, 1e-13
"""A minimum is found when its gap is below this share of |F|, plus this share of the size of F's terms."""
ROUGH = 0.1
"""The share of (enough - bound) at which a gap is small enough for a bound that only has to decide about a branch."""
LARGE_FACE = 300
"""Entries from which a quasi-Newton matrix costs more than the gradients it saves."""
MOST_CUTTING = 300
"""Cutting planes on one face."""
MOST_TRUST = 4
"""Descents that may fail in a row after many that did not; without trust it is cutting planes at once."""
NEAR = 1e-4
"""A descent that comes as near, relative to F, has not failed: F is smooth."""
MANY_CUTS = 40
"""Cutting planes on one face that are as dear as a descent: then descents are tried again."""
MOST_TRIED = 4096
"""Entries of a space on which each is tried by itself where F is infinite at the even distribution."""


class FaceOptimum(NamedTuple):
    """Weights on the entries of a face, F there, and a proven lower bound on F over that face."""

    weights: Vector
    value: float
    bound: float


class FaceSearch:
    """The search for the minimum on one face: the best point so far, the bound, and when it is enough.

    `enough`: a bound that high ends the search, for then the face is of no interest. `rough`: so does a value below
    it with a bound near, for then the face is of interest whatever its minimum.
    """

    def __init__(self, problem: "FaceSolver", face: Indices, enough: float, rough: bool) -> None:
        self.problem, self.face, self.enough, self.rough = problem, face, enough, rough
        self.weights, self.value, self.bound = np.full(face.size, 1.0 / face.size), math.inf, -math.inf
        self.size = problem.scale
        """The size of the terms of F, and of the slopes at the best point: near a zero they may be huge elsewhere."""

    def value_at(self, weights: Vector) -> float:
        """F at a point of the face, which is kept if it is the best."""
        value = self.problem.value(self.face, weights)
        if value < self.value:
            self.value, self.weights = value, weights.copy()
        return value

    def slopes_at(self, weights: Vector, value: float) -> Vector | None:
        """The gradient on the face at a point of this value, which raises the bound; None where it is not finite."""
        row, gradient = self.problem.cut(self.face, weights, value)
        if not np.isfinite(row).all():
            return None
        self.bound = max(self.bound, float(row.min()))
        if value <= self.value:
            self.size = max(self.problem.scale, float(np.abs(gradient) @ weights))
        return gradient

    def ends_with(self, bound: float) -> bool:
        """Raise the bound; whether nothing is left to find out."""
        self.bound = max(self.bound, bound)
        return self.done

    @property
    def precision(self) -> float:
        """The gap at which the minimum counts as found."""
        return PRECISION * abs(self.value) + ROUNDING * self.size

    @property
    def near(self) -> bool:
        """Whether the minimum is nearly found."""
        return self.done or self.value - self.bound <= NEAR * abs(self.value)

    @property
    def done(self) -> bool:
        """Whether nothing is left to find out."""
        gap = self.value - self.bound
        if self.bound >= self.enough or gap <= self.precision:
            return True
        return self.rough and self.value < self.enough and gap <= ROUGH * (self.enough - self.bound)


class FaceSolver:
    """Minimises one objective over one face after the other; what it learns on one it uses on the next.

    A gradient gives a cut, a linear function below F on all distributions. On each face the cuts of all faces so far
    give a first bound without any evaluation of F. Then a quasi-Newton descent follows, and where F is not smooth,
    cutting planes.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.evaluations, self.games = 0, 0
        self.smooth = 1
        """How much descents are trusted: more with each that ended at a minimum, less with each that did not."""
        self.cuts = Cuts(objective.space.size)
        self.scale = scale_of(objective)
        self.allowed = np.ones(objective.space.size, bool)
        self.decided = self._find_domain()

    def value(self, face: Indices, weights: Vector) -> float:
        """F at these weights; infinite where it is not a number."""
        self.evaluations += 1
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = float(self.objective.value(self.spread(face, weights)))
        return math.inf if math.isnan(value) else value

    def cut(self, face: Indices, weights: Vector, value: float) -> tuple[Vector, Vector]:
        """The cut at these weights and the gradient, on the face."""
        self.evaluations += 1
        p = self.spread(face, weights)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gradient = np.asarray(self.objective.gradient(p), np.float64)
        return self.cuts.add(p, value, gradient)[face], gradient[face]

    def spread(self, face: Indices, weights: Vector) -> Vector:
        """Weights on a face as a vector on the whole space."""
        p = np.zeros(self.objective.space.size)
        p[face] = weights
        return p

    def best(
        self, face: Indices, enough: float = math.inf, rough: bool = False, start: Vector | None = None
    ) -> FaceOptimum:
        """The minimum over the distributions on a face; see `FaceSearch` for `enough` and `rough`."""
        even = np.full(face.size, 1.0 / max(face.size, 1))
        inside = np.flatnonzero(self.allowed[face])
        if not inside.size:
            return FaceOptimum(even, math.inf, math.inf)
        search = FaceSearch(self, face[inside], enough, rough)
        self._search(search, None if start is None else start[inside])
        even[:] = 0.0
        even[inside] = search.weights
        return FaceOptimum(even, search.value, search.bound)

    def _search(self, search: FaceSearch, start: Vector | None) -> None:
        """Screen, descend, cut."""
        search.bound = self.screened(search.face, search.enough)
        if search.bound >= search.enough:
            return
        if start is not None and start.sum() > 0.0:
            search.value_at(start / start.sum())
        if search.value == math.inf:
            search.value_at(search.weights)
        if search.value == math.inf and self.decided:
            search.bound = math.inf
        if search.done or search.value == math.inf:
            return
        if self.smooth >= 0:
            (quasi_newton if search.face.size <= LARGE_FACE else accelerated)(search)
            self.smooth = min(self.smooth + (1 if search.near else -1), MOST_TRUST)
        if self._cut_down(search) > MANY_CUTS:
            self.smooth = max(self.smooth, 0)

    def screened(self, face: Indices, enough: float) -> float:
        """The bound that the cuts so far give on a face: one by one, and if that is not enough, together."""
        rows = self.cuts.on(face)
        if not len(rows):
            return -math.inf
        single = float(rows.min(axis=1).max())
        return single if single >= enough else max(single, self._game(rows)[0])

    def _game(self, rows: Vector) -> tuple[float, Vector]:
        """The lowest point of the highest cut."""
        self.games += 1
        return game(rows)

    def _cut_down(self, search: FaceSearch) -> int:
        """Kelley's cutting planes, every other one halfway to the best point, which damps their swings; how many."""
        for count in range(MOST_CUTTING):
            rows = self.cuts.on(search.face)
            if search.done or not len(rows):
                return count
            low, at = self._game(rows)
            if search.ends_with(low):
                return count
            if count % 2:
                at = 0.5 * (at + search.weights)
            self._look(search, at)
        return MOST_CUTTING

    def _look(self, search: FaceSearch, at: Vector) -> None:
        """A cut at a point, or where F has none there, on the way from it to the best one and the even ones."""
        inside = 0.5 * (search.weights + 1.0 / at.size)
        for _ in range(60):
            value = search.value_at(at)
            if value < math.inf and search.slopes_at(at, value) is not None:
                return
            at = 0.5 * (at + inside)

    def _find_domain(self) -> bool:
        """Find the entries that may have mass without F being infinite; whether that succeeded.

        Then F is infinite on a face if it is where all of them have mass: whether F is finite is taken to depend only
        on which entries have mass.
        """
        everything = np.arange(self.allowed.size)
        if self.value(everything, np.full(everything.size, 1.0 / everything.size)) < math.inf:
            return True
        if everything.size > MOST_TRIED:
            return False
        single = np.array([self.value(everything[i : i + 1], np.ones(1)) < math.inf for i in everything])
        if not single.any():
            return False
        base = single / single.sum()
        for i in np.flatnonzero(~single):
            single[i] = self.value(everything, 0.5 * base + 0.5 * (everything == i)) < math.inf
        self.allowed = single
        return True


def face_best(objective: Objective, face: Indices) -> Vector:
    """The distribution on the face that minimises F."""
    if offers(objective, FaceSolvable):
        solvable: Any = objective
        best: Vector = solvable.best_on(face)
        return best
    solver = FaceSolver(objective)
    return solver.spread(face, solver.best(face).weights)
