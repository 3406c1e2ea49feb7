"""The minimum of a convex F over the distributions on one face, with a proven lower bound."""

import math
from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, Vector
from ..probe import samples, scale_of
from ..protocols import FaceSolvable, Objective, implements
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
FEW_CUTS, STAYS = 10, 0.5
"""Cutting planes for one price of mass outside a face, and the share of that mass that a price has to take away."""
MOST_TRUST = 4
"""Descents that may fail in a row after many that did not; without trust it is cutting planes at once."""
NEAR = 1e-4
"""A descent that comes as near, relative to F, has not failed: F is smooth."""
MANY_CUTS = 40
"""Cutting planes on one face that are as dear as a descent: then descents are tried again."""
STEEPEST = 1e7
"""A slope that promises a fall of so many times the size of F's terms is as good as infinite."""
MOST_TRIED, MOST_CORNERS = 4096, 64
"""Entries of a space and of a face that are tried one by one where F is infinite at the even distribution."""
SHARES, MOST_MIXED = (0.5, 1e-3, 1e-6, 1e-12), 20
"""Shares of other entries that are mixed in to find out where F is finite, and how many mixtures of several."""
PRICES, CANCELLED = (1.0, 1e2, 1e4, 1e6), 1e-14
"""Prices of mass outside a face, in sizes of F's terms, and the share of them that rounding may take from a bound."""


class FaceOptimum(NamedTuple):
    """Weights on the entries of a face, F there, and a proven lower bound on F over that face."""

    weights: Vector
    value: float
    bound: float


class FaceSearch:
    """The search for the minimum on one face: the best point so far, the bound, and when it is enough.

    `enough`: a bound that high ends the search, for then the face is of no interest. `rough`: so
    does a value below it with a bound near, for then the face is of interest whatever its minimum.
    `price` (s,) is added to the slopes of F.
    """

    def __init__(
        self,
        problem: "FaceSolver",
        face: Indices,
        enough: float,
        rough: bool,
        price: Vector | float = 0.0,
    ) -> None:
        self.problem, self.face, self.enough, self.rough = problem, face, enough, rough
        self.price = np.zeros(face.size) + price
        self.weights, self.value, self.bound = (
            np.full(face.size, 1.0 / face.size),
            math.inf,
            -math.inf,
        )
        self.size = problem.scale
        """The size of the terms of F, and of the slopes at the best point: near a zero they may be huge elsewhere."""

    def value_at(self, weights: Vector) -> float:
        """F at a point of the face, which is kept if it is the best."""
        value = self.problem.value(self.face, weights) + float(self.price @ weights)
        if value < self.value:
            self.value, self.weights = value, weights.copy()
        return value

    def slopes_at(self, weights: Vector, value: float) -> Vector | None:
        """The gradient on the face at a point of this value, which raises the bound; None where it is no guide.

        That is, where it is not finite, or promises that F falls by far more than its size, as
        beside a vertical wall.
        """
        row, gradient = self.problem.cut(self.face, weights, value - float(self.price @ weights))
        row, gradient = row + self.price, gradient + self.price
        if not np.isfinite(row).all():
            return None
        self.bound = max(self.bound, float(row.min()))
        level = float(gradient @ weights)
        size = max(self.problem.scale, float(np.abs(gradient) @ weights))
        if value <= self.value:
            self.size = size
        return None if size > 0.0 and float(gradient.min()) < level - STEEPEST * size else gradient

    def ends_with(self, bound: float) -> bool:
        """Raise the bound; whether nothing is left to find out."""
        self.bound = max(self.bound, bound)
        return self.done

    @property
    def precision(self) -> float:
        """The gap at which the minimum counts as found."""
        return PRECISION * abs(self.value) + ROUNDING * self.size if self.value < math.inf else 0.0

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

    A gradient gives a cut, a linear function below F on all distributions. On each face the cuts of
    all faces so far give a first bound without any evaluation of F. Then a quasi-Newton descent
    follows, and where F is not smooth, cutting planes.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.evaluations, self.games = 0, 0
        self.smooth = 1
        """How much descents are trusted: more with each that ended at a minimum, less with each that did not."""
        self.cuts = Cuts(objective.space.size)
        self.scale = scale_of(objective)
        self.allowed = np.ones(objective.space.size, bool)
        self.centre = self._find_domain()

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
        self,
        face: Indices,
        enough: float = math.inf,
        rough: bool = False,
        start: Vector | None = None,
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
        if search.value == math.inf:
            self._enter(search)
        if search.done or search.value == math.inf:
            return
        self._descend(search)

    def _enter(self, search: FaceSearch) -> None:
        """Find a point of a face where F is finite, or a bound that says that there is no use in one.

        The corners, the centre of the domain, then the minimum of F over all entries with a price
        on mass outside the face, which is F itself on the face: the higher the price, the nearer to
        the face, or the higher the bound.
        """
        if search.face.size <= MOST_CORNERS:
            corners = np.eye(search.face.size)
            inside = corners[[search.value_at(corner) < math.inf for corner in corners]]
            if len(inside):
                search.value_at(inside.mean(axis=0))
        if self.centre is None or search.value < math.inf:
            return
        everything = np.flatnonzero(self.allowed)
        outside = ~np.isin(everything, search.face)
        begin = self.centre[everything]
        if begin[~outside].sum() > 0.0:
            search.value_at(begin[~outside] / begin[~outside].sum())
        size, mass = 0.0, 0.0
        for price in PRICES:
            if search.done or search.value < math.inf:
                return
            whole = FaceSearch(self, everything, search.enough, False)
            value = whole.value_at(begin)
            whole.slopes_at(begin, value)
            size = size or max(whole.size, abs(value)) or 1.0
            whole = FaceSearch(
                self, everything, search.enough, False, np.asarray(price * size * outside)
            )
            whole.value_at(begin)
            self._descend(whole, FEW_CUTS)
            search.bound = max(search.bound, whole.bound - CANCELLED * price * size)
            begin = whole.weights
            before, mass = mass, float(begin[~outside].sum())
            if mass > 0.0:
                search.value_at(begin[~outside] / mass)
            if search.enough == math.inf and 1.0 - mass > STAYS * (1.0 - before):
                return

    def _descend(self, search: FaceSearch, most: int = MOST_CUTTING) -> None:
        """Descend, then make at most so many cuts."""
        if self.smooth >= 0:
            (quasi_newton if search.face.size <= LARGE_FACE else accelerated)(search)
            self.smooth = min(self.smooth + (1 if search.near else -1), MOST_TRUST)
        if self._cut_down(search, most) > MANY_CUTS:
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

    def _cut_down(self, search: FaceSearch, most: int) -> int:
        """Kelley's cutting planes, every other one halfway to the best point, which damps their swings; how many."""
        for count in range(most):
            rows = self.cuts.on(search.face) + search.price
            if search.done or not len(rows):
                return count
            low, at = self._game(rows)
            if search.ends_with(low):
                return count
            if count % 2:
                at = 0.5 * (at + search.weights)
            self._look(search, at)
        return most

    def _look(self, search: FaceSearch, at: Vector) -> None:
        """A cut at a point, or where F has none there, on the way from it to the best one and the even ones."""
        inside = 0.5 * (search.weights + 1.0 / at.size)
        if search.value_at(inside) == math.inf:
            inside = search.weights
        for _ in range(60):
            value = search.value_at(at)
            if value < math.inf and search.slopes_at(at, value) is not None:
                return
            at = 0.5 * (at + inside)

    def _find_domain(self) -> Vector | None:
        """A point that has mass on every entry that may have some, and F finite there; None where none is found.

        An entry is left out where F is infinite whatever share of it is mixed in, alone or with
        others left out.
        """
        size = self.allowed.size
        even = np.full(size, 1.0 / size)
        if self.finite(even):
            return even
        if size > MOST_TRIED:
            return None
        corners = np.array([self.finite(corner) for corner in np.eye(size)])
        some = (
            [corners / corners.sum()]
            if corners.any()
            else [p for p in samples(size) if self.finite(p)]
        )
        base = np.mean(some, axis=0) if some else even
        if not self.finite(base):
            return None
        for i in np.flatnonzero(base == 0.0):
            some += self._mixed(base, np.eye(1, size, int(i))[0])
        rng = np.random.default_rng(0)
        for _ in range(MOST_MIXED):
            closed = np.flatnonzero(np.sum(some, axis=0) == 0.0)
            if closed.size > 1:
                part = np.zeros(size)
                part[closed] = rng.dirichlet(np.ones(closed.size))
                some += self._mixed(base, part)
        centre = np.mean(some, axis=0)
        if not self.finite(centre):
            return None
        self.allowed = centre > 0.0
        return np.asarray(centre)

    def finite(self, p: Vector) -> bool:
        """Whether F is finite at a distribution."""
        return self.value(np.arange(p.size), p) < math.inf

    def _mixed(self, base: Vector, other: Vector) -> list[Vector]:
        """The first finite mixture of two distributions, where there is one."""
        mixtures = ((1.0 - share) * base + share * other for share in SHARES)
        return [p for p in mixtures if self.finite(p)][:1]


def face_best(objective: Objective, face: Indices) -> Vector:
    """The distribution on the face that minimises F."""
    if implements(objective, FaceSolvable):
        solvable: Any = objective
        best: Vector = solvable.best_on(face)
        return best
    solver = FaceSolver(objective)
    return solver.spread(face, solver.best(face).weights)
