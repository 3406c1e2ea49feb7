"""Any convex F on any union of faces: the minimum on one face after the other, with proven lower bounds.

A gradient gives a cut, a linear function below F on all distributions. On each face the cuts of all
faces so far give a first bound without any evaluation of F. Then a quasi-Newton descent follows,
and where F is not smooth, cutting planes.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector
from ..deadline import Deadline
from ..protocols import (
    FaceSolvable,
    Objective,
    Quadratic,
    implements,
    lower_bound_of,
    refits,
    samples,
    scale_of,
)
from ..rules import NO_UNITS, Rules
from .descent import accelerated, quasi_newton
from .fits import Fit, Relaxed, spread, with_unit

TIE, SOLVED_TIE = 1e-12, 1e-8
"""Values that differ by this share of their size are a tie: of closed forms, and of minima found by
a search."""
NOISE = 1e-15
"""Values of F that differ by this share of its scale are a tie: rounding near zero."""
CLOSED = 1e-7
"""A branch is closed when its bound is nearer to the value than this share of it, but for the
rounding of F."""
MOST_SWAPS, MOST_SEARCHED = 4000, 1000
"""Swaps that are all compared, with a closed form and without; of more, those to the most promising
units."""
EVALUATION, SEARCHING, GAME, LOOKUP = 2e4, 5e4, 1.5e6, 1e4
"""What F in closed form, one evaluation in a search, one game of the cuts and remembering cost, in
multiplications."""
SQUARES = 50.0
"""What a quadratic costs on a face in closed form, in squares of its size."""
MOST_KEPT = 50_000
"""Supports that are remembered at once."""
LARGE_RELAXATION = 1000
"""Entries of a face from which quadratics are relaxed by first-order steps: a closed form needs
their square."""
PRECISION, ROUNDING = 1e-9, 1e-13
"""A minimum is found when its gap is below this share of |F|, plus this share of the size of F's
terms."""
ROUGH = 0.1
"""The share of (enough - bound) at which a gap is small enough for a bound that only has to decide
about a branch."""
LARGE_FACE = 300
"""Entries from which a quasi-Newton matrix costs more than the gradients it saves."""
MOST_CUTTING, FEW_CUTS, MANY_CUTS = 300, 10, 40
"""Cutting planes on one face; for one price of mass outside it; and how many are as dear as a
descent."""
MOST_TRUST, NEAR = 4, 1e-4
"""Descents that may fail in a row after many that did not; one that comes as near, relative to F,
has not failed."""
STEEPEST = 1e7
"""A slope that promises a fall of so many times the size of F's terms is as good as infinite."""
MOST_TRIED, MOST_CORNERS = 4096, 64
"""Entries of a space and of a face that are tried one by one where F is infinite at the even
distribution."""
SHARES, MOST_MIXED = (0.5, 1e-3, 1e-6, 1e-12), 20
"""Shares of other entries that are mixed in to find out where F is finite, and how many mixtures of
several."""
PRICES, CANCELLED = (1.0, 1e2, 1e4, 1e6), 1e-14
"""Prices of mass outside a face, in sizes of F's terms, and the share of them that rounding may
take from a bound."""
MOST_CUTS, MOST_ENTRIES = 400, 2**23
"""Cuts kept at once, the oldest goes first; entries of all cuts together, 64 MB."""
ZERO = 1e-11
"""Below this a reduced cost or a pivot of the game, whose entries lie in [1, 2], is rounding."""
quiet = np.errstate(divide="ignore", invalid="ignore", over="ignore")


class Counts(NamedTuple):
    """What a search and a proof may cost, in multiplications."""

    patience: float
    """Of perturbations in a row without a gain, at most,"""
    per_support: float
    """and for each support there is."""
    proof: float
    most_supports: int
    """Without a limit, a proof over more supports is refused."""


class FaceOptimum(NamedTuple):
    """Weights on the entries of a face, F there, and a proven lower bound on F over that face."""

    weights: Vector
    value: float
    bound: float


class Faces:
    """F at the best weights on the face of a support, for any convex F and any constraint made of faces.

    In closed form where F offers `best_on` and `value_on`. A set whose faces are not whole says
    what is best on one by `best_with(F, units)`.
    """

    def __init__(self, objective: Objective, constraint: Any, deadline: Deadline) -> None:
        self.objective: Any = objective
        self.constraint, self.deadline = constraint, deadline
        rules = getattr(constraint, "rules", None)
        self.rules = rules if isinstance(rules, Rules) else Rules(constraint.n_units, constraint.k)
        self.solver = FaceSolver(objective)
        self.closed = implements(objective, FaceSolvable)
        self.monotone = refits(constraint)
        self.counts = Counts(1e9, 1e5, 1e9, 2_000_000)
        if not self.closed:
            self.counts = Counts(1e9, 2e6, 1e9, 200_000)
        self._quadratic = implements(objective, Quadratic)
        self._known: dict[bytes, tuple[FaceOptimum, bool]] = {}  # and whether it is the minimum
        self._counted = 0.0

    @property
    def work(self) -> float:
        """Multiplications so far, about."""
        each = SEARCHING + self.objective.space.size
        return self._counted + float(each * self.solver.searched + GAME * self.solver.games)

    @work.setter
    def work(self, work: float) -> None:
        self._counted += work - self.work

    def _face(self, units: Indices) -> Indices:
        """The entries that some units reach."""
        return np.asarray(self.constraint.face(units), np.int64)

    def fit(self, units: Indices, enough: float = math.inf) -> Fit | None:
        """F on a support; None where it reaches no entry.

        Where F is proven to be at least `enough`, the value may be any above that.
        """
        optimum = self._optimum(np.asarray(units, np.int64), enough)
        return None if optimum is None else Fit(units, np.ones(len(units)), optimum.value)

    def _optimum(self, units: Indices, enough: float = math.inf) -> FaceOptimum | None:
        """F on the face of some units, and a lower bound that is `enough` or the value to rounding."""
        self._counted += LOOKUP
        key = units.tobytes()
        optimum, minimal = self._known.get(key, (None, False))
        if optimum is not None and (minimal or optimum.bound >= enough):
            return optimum
        face = self._face(units)
        if not face.size:
            return None
        minimal = True
        if not self.monotone:
            p = self.constraint.best_with(self.objective, units)
            if p is None:
                return None
            optimum = FaceOptimum(np.empty(0), float(self.objective.value(p)), -math.inf)
        elif self.closed:
            self._count_closed_form(face)
            value = float(self.objective.value_on(face))
            value = math.inf if math.isnan(value) else value
            optimum = FaceOptimum(np.empty(0), value, value)
        else:
            start = None if optimum is None else optimum.weights
            optimum = self.solver.best(face, enough, start=start)
            minimal = optimum.bound < enough and optimum.value < math.inf
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        self._known[key] = optimum, minimal
        return optimum

    def member(self, fit: Fit) -> Vector:
        """The best member with a support."""
        if not self.monotone:
            return np.asarray(self.constraint.best_with(self.objective, fit.units))
        face = self._face(fit.units)
        if self.closed:
            return np.asarray(self.objective.best_on(face))
        optimum: Any = self._optimum(np.asarray(fit.units, np.int64))
        return self.solver.spread(face, optimum.weights)

    def _count_closed_form(self, face: Indices) -> None:
        squares = SQUARES * float(face.size) ** 2 if self._quadratic else 0.0
        self._counted += EVALUATION + face.size + squares

    def lows(self, units: Indices, fit: Fit | None, others: Indices) -> Vector:
        """F is at least this where a support and one of the others have mass; closed forms are cheaper than that."""
        if fit is None or (self.closed and self.monotone):
            return np.full(len(others), -math.inf)
        return self._tangents(fit, others)

    @quiet
    def _tangents(self, fit: Fit, others: Indices) -> Vector:
        """min F[p] + <g, q - p> over the face of a support and one other unit, (m,); g is the gradient at the best p."""
        p = self.member(fit)
        self._counted += EVALUATION + p.size
        value = float(self.objective.value(p))
        gradient = np.asarray(self.objective.gradient(p), np.float64)
        rest = value - float(gradient[p > 0.0] @ p[p > 0.0])
        lows = np.full(len(others), math.inf)
        for at, unit in enumerate(others):
            face = self._face(with_unit(fit.units, int(unit)))
            if face.size:
                lows[at] = rest + gradient[face].min()
        return np.where(np.isnan(lows), -math.inf, lows)

    def gains(self, fit: Fit) -> Vector:
        """How promising each unit is, (n,): how deep the tangent falls on its face."""
        gains = np.zeros(self.rules.n)
        others = np.setdiff1d(np.arange(self.rules.n), fit.units)
        gains[others] = -self._tangents(fit, others)
        largest = np.abs(gains[np.isfinite(gains)]).max(initial=0.0)
        return np.clip(gains, -largest, largest)

    def promising(self, fit: Fit, others: Indices, bar: float) -> Indices:
        """All units where they are few, else those where the tangent falls deepest."""
        most = (MOST_SWAPS if self.closed else MOST_SEARCHED) // max(len(fit.units), 1)
        if self.closed and self.monotone and len(others) <= most:
            return others
        if fit.value == math.inf:  # no tangent leads anywhere
            return others[: max(most, 1)]
        lows = self._tangents(fit, others)
        order = np.argsort(lows, kind="stable")[: max(most, 1)]
        return others[order[lows[order] < bar]]

    def tie(self, value: float) -> float:
        """Values of F that exceed this one by no more are the same."""
        if not math.isfinite(value):
            return 0.0
        return (TIE if self.closed else SOLVED_TIE) * abs(value) + NOISE * self.solver.scale

    def closing(self, value: float) -> float:
        """The bound from which a branch is closed."""
        if not math.isfinite(value):
            return value
        if self.closed:
            return value - TIE * abs(value)
        return value - CLOSED * abs(value) - ROUNDING * self.solver.scale

    def relaxed(self, units: Indices, included: Indices, enough: float, start: Any) -> Relaxed:
        """The minimum over the face of these units, however many they are."""
        face = self._face(units)
        if not face.size:
            return Relaxed(units, None, math.inf, math.inf)
        if self.closed and not (self._quadratic and face.size > LARGE_RELAXATION):
            self._count_closed_form(face)
            p = np.asarray(self.objective.best_on(face))
            value = float(self.objective.value(p))
            return Relaxed(units, p, value, value)
        if self.monotone and not self.closed and self.rules.allows(units):  # a support
            single: Any = self._optimum(units, enough)
            return Relaxed(units, self.solver.spread(face, single.weights), *single[1:])
        weights = None if start is None else start[face]
        optimum = self.solver.best(face, enough, True, weights)
        p = self.solver.spread(face, optimum.weights)
        finite = optimum.value < math.inf
        if finite and optimum.bound < enough and self.rules.allows(self.used(p)):  # it decides
            optimum = self.solver.best(face, enough, False, optimum.weights)
            p = self.solver.spread(face, optimum.weights)
        bound = optimum.bound
        if self.closed:
            bound = max(bound, lower_bound_of(self.objective))
        return Relaxed(units, p, optimum.value, bound)

    def used(self, p: Vector) -> Indices:
        """The units of a distribution."""
        return np.sort(self.constraint.support(p))

    def heaviest(self, p: Vector, units: Indices, undecided: Indices) -> int:
        """The undecided unit that carries most mass: without it, so much is not on the face.

        Where units overlap, the support of p may name others than those of the branch.
        """
        used = np.intersect1d(self.constraint.support(p), undecided)
        candidates = used if used.size else undecided[:1]
        self._counted += EVALUATION * len(candidates)
        left = [float(p[self._face(units[units != unit])].sum()) for unit in candidates]
        return int(candidates[int(np.argmin(left))])

    @quiet
    def starts(self) -> list[Indices]:
        """The support to which the gradient at the even distribution points."""
        size = self.objective.space.size
        gradient = np.nan_to_num(self.objective.gradient(np.full(size, 1.0 / size)))
        units = self.used(self.constraint.project(-gradient))
        return [units] if self.rules.allows(units) else []

    def rescue(self) -> Indices:
        """A support that reaches some entries, for when no unit alone does."""
        return next(iter(self.starts()), NO_UNITS)


class FaceSearch:
    """The search for the minimum on one face: the best point so far, the bound, and when it is enough.

    `enough`: a bound that high ends the search, for then the face is of no interest. `rough`: so
    does a value below it with a bound near, for then the face is of interest whatever its minimum.
    `price` (s,) is added to the slopes of F.
    """

    def __init__(
        self,
        solver: "FaceSolver",
        face: Indices,
        enough: float,
        rough: bool = False,
        price: Vector | float = 0.0,
    ) -> None:
        self.solver, self.face, self.enough, self.rough = solver, face, enough, rough
        self.price = np.zeros(face.size) + price
        self.weights, self.value = np.full(face.size, 1.0 / face.size), math.inf
        self.bound = -math.inf
        self.size = solver.scale
        """The size of the terms of F, and of the slopes at the best point: near a zero they may be
        huge elsewhere."""

    def value_at(self, weights: Vector) -> float:
        """F at a point of the face, which is kept if it is the best."""
        p = self.solver.spread(self.face, weights)
        value = self.solver.value(p) + float(self.price @ weights)
        if value < self.value:
            self.value, self.weights = value, weights.copy()
        return value

    def slopes_at(self, weights: Vector, value: float) -> Vector | None:
        """The gradient on the face at a point of this value, which raises the bound; None where it is no guide.

        That is, where it is not finite, or promises that F falls by far more than its size, as
        beside a vertical wall.
        """
        p = self.solver.spread(self.face, weights)
        row, gradient = self.solver.cut(p, value - float(self.price @ weights))
        row, gradient = row[self.face] + self.price, gradient[self.face] + self.price
        if not np.isfinite(row).all():
            return None
        self.bound = max(self.bound, float(row.min()))
        size = max(self.solver.scale, float(np.abs(gradient) @ weights))
        if value <= self.value:
            self.size = size
        fall = float(gradient @ weights) - float(gradient.min())
        return None if size > 0.0 and fall > STEEPEST * size else gradient

    def done(self) -> bool:
        """Whether nothing is left to find out."""
        if self.bound >= self.enough:
            return True
        if self.value == math.inf:
            return False
        gap = self.value - self.bound
        if gap <= PRECISION * abs(self.value) + ROUNDING * self.size:
            return True
        return self.rough and self.value < self.enough and gap <= ROUGH * (self.enough - self.bound)

    def descend(self, most_cuts: int = MOST_CUTTING) -> None:
        """Descend while descents are trusted, then make at most so many cuts."""
        solver = self.solver
        if solver.trust >= 0:
            (quasi_newton if self.face.size <= LARGE_FACE else accelerated)(self)
            near = self.done() or self.value - self.bound <= NEAR * abs(self.value)
            solver.trust = min(solver.trust + (1 if near else -1), MOST_TRUST)
        if self._cut_down(most_cuts) > MANY_CUTS:
            solver.trust = max(solver.trust, 0)

    def _cut_down(self, most: int) -> int:
        """Kelley's cutting planes, every other one halfway to the best point, which damps their swings; how many."""
        for count in range(most):
            rows = self.solver.cuts_on(self.face) + self.price
            if self.done() or not len(rows):
                return count
            low, at = self.solver.game(rows)
            self.bound = max(self.bound, low)
            if self.done():
                return count
            self._cut_near(0.5 * (at + self.weights) if count % 2 else at)
        return most

    def _cut_near(self, at: Vector) -> None:
        """A cut at a point, or where F has none there, on the way from it to the best one and the even ones."""
        inside = 0.5 * (self.weights + 1.0 / at.size)
        if self.value_at(inside) == math.inf:
            inside = self.weights
        for _ in range(60):
            value = self.value_at(at)
            if value < math.inf and self.slopes_at(at, value) is not None:
                return
            at = 0.5 * (at + inside)

    def enter(self) -> None:
        """Find a point of the face where F is finite, or a bound that says that there is no use in one.

        The corners, the centre of the domain, then the minimum of F over all entries with a price
        on mass outside the face, which is F itself on the face: the higher the price, the nearer to
        the face, or the higher the bound.
        """
        if self.face.size <= MOST_CORNERS:
            corners = np.eye(self.face.size)
            finite = corners[[self.value_at(corner) < math.inf for corner in corners]]
            if len(finite):
                self.value_at(finite.mean(axis=0))
        solver = self.solver
        if solver.centre is None or self.value < math.inf:
            return
        every = np.flatnonzero(solver.allowed)
        outside = ~np.isin(every, self.face)
        begin = solver.centre[every]
        whole = FaceSearch(solver, every, self.enough)
        value = whole.value_at(begin)
        whole.slopes_at(begin, value)
        size = max(whole.size, abs(value)) or 1.0
        self._try_inside(begin, outside)
        for price in PRICES:
            if self.done() or self.value < math.inf:
                return
            whole = FaceSearch(solver, every, self.enough, price=np.asarray(price * size * outside))
            whole.value_at(begin)
            whole.descend(FEW_CUTS)
            self.bound = max(self.bound, whole.bound - CANCELLED * price * size)
            begin = whole.weights
            self._try_inside(begin, outside)

    def _try_inside(self, weights: Vector, outside: npt.NDArray[np.bool_]) -> None:
        """Value the part of a point that lies on the face, scaled to one."""
        mass = float(weights[~outside].sum())
        if mass > 0.0:
            self.value_at(weights[~outside] / mass)


class FaceSolver:
    """Minimises one objective over one face after the other; what it learns on one it uses on the next.

    Cuts are rows r with F[p] >= Σ_j r_j p_j for every distribution p: value - <g, p> + g of a point
    and its subgradient g. An entry is -inf where the subgradient is not finite.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective, self.size = objective, objective.space.size
        self.evaluations, self.games = 0, 0
        self.trust = 1
        """How much descents are trusted: more with each that ended at a minimum, less with each
        that did not."""
        self._cuts = np.empty((max(8, min(MOST_CUTS, MOST_ENTRIES // self.size)), self.size))
        self._made = 0
        self.scale = scale_of(objective)
        self.allowed = np.ones(self.size, bool)
        self.centre = self._find_domain()
        self._begun = self.evaluations

    @property
    def searched(self) -> int:
        """How many times F was evaluated on faces."""
        return self.evaluations - self._begun

    @quiet
    def value(self, p: Vector) -> float:
        """F; infinite where it is not a number."""
        self.evaluations += 1
        value = float(self.objective.value(p))
        return math.inf if math.isnan(value) else value

    @quiet
    def cut(self, p: Vector, value: float) -> tuple[Vector, Vector]:
        """The cut at a point of this value, which is kept, and the gradient."""
        self.evaluations += 1
        gradient = np.asarray(self.objective.gradient(p), np.float64)
        used = np.flatnonzero(p)
        row = (value - float(gradient[used] @ p[used])) + gradient
        row[~np.isfinite(row)] = -np.inf
        self._cuts[self._made % len(self._cuts)] = row
        self._made += 1
        return row, gradient

    def cuts_on(self, face: Indices) -> Vector:
        """The cuts that say something on every entry of a face, (cuts, len(face))."""
        rows = self._cuts[: self._made, face]
        return rows[np.isfinite(rows).all(axis=1)]

    def spread(self, face: Indices, weights: Vector) -> Vector:
        """Weights on a face as a vector on the whole space."""
        return spread(face, weights, self.size)

    def best(
        self,
        face: Indices,
        enough: float = math.inf,
        rough: bool = False,
        start: Vector | None = None,
    ) -> FaceOptimum:
        """The minimum over the distributions on a face; see `FaceSearch` for `enough` and `rough`."""
        weights = np.full(face.size, 1.0 / max(face.size, 1))
        inside = np.flatnonzero(self.allowed[face])
        if not inside.size:
            return FaceOptimum(weights, math.inf, math.inf)
        search = FaceSearch(self, face[inside], enough, rough)
        search.bound = self._screened(search.face, enough)
        if search.bound < enough:
            begin = search.weights if start is None else start[inside]
            if begin.sum() > 0.0:
                search.value_at(begin / begin.sum())
            if search.value == math.inf:
                search.value_at(search.weights)
            if search.value == math.inf:
                search.enter()
            if not search.done() and search.value < math.inf:
                search.descend()
        weights[:] = 0.0
        weights[inside] = search.weights
        return FaceOptimum(weights, search.value, search.bound)

    def _screened(self, face: Indices, enough: float) -> float:
        """The bound that the cuts so far give on a face: one by one, and if that is not enough, together."""
        rows = self.cuts_on(face)
        if not len(rows):
            return -math.inf
        single = float(rows.min(axis=1).max())
        return single if single >= enough else max(single, self.game(rows)[0])

    def game(self, rows: Vector) -> tuple[float, Vector]:
        """The lowest point of the highest cut."""
        self.games += 1
        return game(rows)

    def _find_domain(self) -> Vector | None:
        """A point that has mass on every entry that may have some, and F finite there; None where none is found.

        An entry is left out where F is infinite whatever share of it is mixed in, alone or with
        others left out.
        """
        size = self.size
        even = np.full(size, 1.0 / size)
        if self._finite(even):
            return even
        if size > MOST_TRIED:
            return None
        some = [corner for corner in np.eye(size) if self._finite(corner)]
        some = some or [p for p in samples(size) if self._finite(p)]
        if not some or not self._finite(np.mean(some, axis=0)):
            return None
        base = np.mean(some, axis=0)
        points = [base]
        rng = np.random.default_rng(0)
        for i in np.flatnonzero(base == 0.0):
            points += self._mixed(base, self.spread(np.array([i]), np.ones(1)))
        for _ in range(MOST_MIXED):
            closed = np.flatnonzero(np.sum(points, axis=0) == 0.0)
            if closed.size > 1:
                part = self.spread(closed, rng.dirichlet(np.ones(closed.size)))
                points += self._mixed(base, part)
        centre = np.mean(points, axis=0)
        if not self._finite(centre):
            return None
        self.allowed = centre > 0.0
        return np.asarray(centre)

    def _finite(self, p: Vector) -> bool:
        """Whether F is finite at a distribution."""
        return self.value(p) < math.inf

    def _mixed(self, base: Vector, other: Vector) -> list[Vector]:
        """The first finite mixture of two distributions, where there is one."""
        mixtures = ((1.0 - share) * base + share * other for share in SHARES)
        return [p for p in mixtures if self._finite(p)][:1]


def face_best(objective: Objective, face: Indices) -> Vector:
    """The distribution on the face that minimises F."""
    if implements(objective, FaceSolvable):
        closed: Any = objective
        return np.asarray(closed.best_on(face))
    solver = FaceSolver(objective)
    return solver.spread(face, solver.best(face).weights)


def game(M: Vector) -> tuple[float, Vector]:
    """A lower bound on min_p max_i (Mp)_i over distributions p, and the p of the minimum.

    The simplex method on max Σx, Mx <= 1, x >= 0. With M shifted above zero x = 0 is a first basis;
    p is x, scaled to sum one. The bound is min_j (λᵀM)_j for the λ found, so it holds whatever
    rounding did to λ.

    Source: Dantzig, "Linear Programming and Extensions", 1963, ch. 13.
    """
    m, s = M.shape
    low = float(M.min())
    T = np.ones((m + 1, s + 1))
    T[:m, :s] += (M - low) / (float(M.max()) - low or 1.0)
    T[m, :s], T[m, s] = -1.0, 0.0
    rows, columns = np.arange(s, s + m), np.arange(s)
    for count in range(20 * (m + s)):
        costs = T[m, :s]
        j = int(costs.argmin())
        if costs[j] >= -ZERO:
            break
        if count > 4 * (m + s):  # the first label cannot cycle
            j = int(np.where(costs < -ZERO, columns, s + m).argmin())
        column, ratios = T[:, j].copy(), np.full(m, np.inf)
        np.divide(T[:m, s], column[:m], out=ratios, where=column[:m] > ZERO)
        i = int(ratios.argmin())
        row = T[i] / column[i]
        T -= column[:, None] * row
        T[:, j], T[i], T[i, j] = -column / column[i], row, 1.0 / column[i]
        rows[i], columns[j] = columns[j], rows[i]
    x, duals = np.zeros(s + m), np.zeros(s + m)
    x[rows], duals[columns] = np.maximum(T[:m, s], 0.0), np.maximum(T[m, :s], 0.0)
    weights, p = duals[s:], x[:s]
    return float((weights / weights.sum() @ M).min()), p / p.sum()
