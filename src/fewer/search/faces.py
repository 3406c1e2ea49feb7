"""The general engine: any convex objective, and any union of faces."""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, Vector, magnitude
from ..deadline import Deadline
from ..protocols import Constraint, FaceSolvable, Objective, Quadratic, implements, whole_faces
from ..rules import Rules
from .additions import best_addition
from .engine import Branch
from .face import ROUNDING, FaceOptimum, FaceSolver
from .face import face_best as face_best
from .paths import lower_bound_of

Support = tuple[int, ...]
"""Units, sorted."""
TIE, SOLVED_TIE = 1e-12, 1e-8
"""Values that differ by this share of their size are a tie: of closed forms, and of minima found by
a search."""
NOISE = 1e-15
"""Values of F that differ by this share of its scale are a tie when a unit is added: rounding near
zero."""
CLOSED = 1e-7
"""A branch is closed when its bound is nearer to the value than this share of it, but for the
rounding of F."""
MOST_SWAPS, MOST_SEARCHED = 4000, 1000
"""Swaps that are all compared, with a closed form and without; of more, those to the most promising
units."""
MOST_WEIGHED = 8
"""Units whose mass is compared to choose one to branch on: those of the heaviest entries."""
MOST_MOVES = 64
"""Swaps after one perturbation."""
MOST_SUPPORTS, MOST_SOLVED = 2_000_000, 200_000
"""Without a limit, a proof over more supports is refused; with a closed form and without."""
PATIENCE, PER_SUPPORT, PER_SEARCH = 1e9, 1e5, 5e5
"""Multiplications, about a second; less where there are few supports, with a closed form and
without."""
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
quiet = np.errstate(divide="ignore", invalid="ignore", over="ignore")


class FaceRelaxation(NamedTuple):
    """The minimum over a face that may have too many units: p, F there, and a lower bound on F over the face."""

    p: Vector
    value: float
    bound: float


class FacesEngine:
    """F at the best weights on a support, for any convex F and any constraint made of faces.

    min F[p] over p on the face of the units that `rules` allow together. Greedy additions and best
    swaps look at every unit; a support is bounded by F over the face of all units that a branch
    leaves. A set whose faces are not whole says what is best on one by `best_with(F, units)`.

    Parameters
    ----------
    objective : Objective
        A convex F with a subgradient, which may be infinite; in closed form where it offers
        `best_on` and `value_on`.
    constraint : Constraint and Sparsity
        A set whose faces are whole, or that offers `best_with`.
    deadline : Deadline, optional
        When to stop looking; the engine then answers with what it has.

    Examples
    --------
    >>> from fewer import L2, Atoms, SparseSimplex
    >>> F = L2(Atoms(3), [0.6, 0.1, 0.3])
    >>> engine = FacesEngine(F, SparseSimplex(F.space, 2))
    >>> engine.grow(2), engine.support.tolist(), round(engine.value, 6)
    (2, [0, 2], 0.015)

    """

    proof_budget = PATIENCE

    def __init__(
        self, objective: Objective, constraint: Constraint, deadline: Deadline | None = None
    ) -> None:
        self.objective: Any = objective
        self.constraint: Any = constraint
        self.deadline = Deadline.after(None) if deadline is None else deadline
        self.rules = unit_rules(constraint)
        self.k, self.n = self.rules.sizes[1], self.rules.n
        self.solver = FaceSolver(objective)
        self.closed_form = implements(objective, FaceSolvable)
        self.whole = whole_faces(constraint) or self.rules.costs is not None
        self._quadratic = implements(objective, Quadratic)
        self._known: dict[Support, tuple[FaceOptimum, bool]] = {}  # and whether it is the minimum
        self._units: Support = ()
        self._value, self._closed = math.inf, math.inf
        self._late, self._work = False, 0.0

    @property
    def value(self) -> float:
        """F at `answer()`."""
        return self._value

    @property
    def support(self) -> Indices:
        """The units in use, sorted."""
        return np.array(self._units, np.int64)

    @property
    def work(self) -> float:
        """Multiplications so far, about."""
        each = SEARCHING + self.objective.space.size
        searched = each * self.solver.searched + GAME * self.solver.games
        return self._work + float(searched)

    @property
    def patience(self) -> float:
        """What perturbations may cost without a gain: the more, the more supports there are."""
        each = PER_SUPPORT if self.closed_form else PER_SEARCH
        return each * min(self._n_supports, int(PATIENCE / each))

    @cached_property
    def _n_supports(self) -> int:
        return math.comb(self.n, self.k)

    def answer(self) -> Vector | None:
        """The distribution with the best weights on the support; None where it reaches no entry."""
        return self._point(self._units) if self._units else None

    # the value of a support

    def _face(self, units: Any) -> Indices:
        """The entries that some units reach."""
        return np.asarray(self.constraint.face(np.asarray(units, np.int64)), np.int64)

    def _point(self, support: Support) -> Vector | None:
        """The best member with a support; None where there is none."""
        if not self.whole:
            p: Vector | None = self.constraint.best_with(self.objective, np.array(support))
            return p
        face = self._face(support)
        if not face.size:
            return None
        if self.closed_form:
            return np.asarray(self.objective.best_on(face))
        return self.solver.spread(face, self._look(support).weights)

    def _look(self, support: Support, enough: float = math.inf) -> FaceOptimum:
        """F on a support, and a lower bound.

        Where the bound is `enough`, the value may be any above it.
        """
        self._work += LOOKUP
        optimum, minimal = self._known.get(support, (None, False))
        if optimum is not None and (minimal or optimum.bound >= enough):
            return optimum
        face = self._face(support)
        if not face.size:
            optimum, minimal = FaceOptimum(np.empty(0), math.inf, math.inf), True
        elif not self.whole:
            p = self._point(support)
            value = math.inf if p is None else float(self.objective.value(p))
            optimum, minimal = FaceOptimum(np.empty(0), value, -math.inf), True
        elif self.closed_form:
            value = self._closed_form_on(face)
            optimum, minimal = FaceOptimum(np.empty(0), value, value), True
        else:
            start = None if optimum is None else optimum.weights
            optimum = self.solver.best(face, enough, start=start)
            minimal = optimum.bound < enough and optimum.value < math.inf
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        self._known[support] = optimum, minimal
        return optimum

    def _closed_form_on(self, face: Indices) -> float:
        """min F over a face, by the objective itself."""
        self._count_closed_form(face)
        value = float(self.objective.value_on(face))
        return math.inf if math.isnan(value) else value

    def _count_closed_form(self, face: Indices) -> None:
        squares = SQUARES * float(face.size) ** 2 if self._quadratic else 0.0
        self._work += EVALUATION + face.size + squares

    @quiet
    def _lows(self, units: Indices, support: Support, ranks: bool = False) -> Vector:
        """No distribution on the face of a support and one of these units has a lower F, (m,).

        F[q] >= F[p] + <g, q - p> with the gradient g at the best p on the support. Closed forms are
        cheaper than that, and nothing is said of them unless it `ranks` very many units.
        """
        lows = np.full(len(units), -math.inf)
        if not support or (self.closed_form and self.whole and not ranks):
            return lows
        p = self._point(support)
        if p is None:
            return lows
        self._work += EVALUATION + p.size
        value = float(self.objective.value(p))
        gradient = np.asarray(self.objective.gradient(p), np.float64)
        rest = value - float(gradient[p > 0.0] @ p[p > 0.0])
        for at, unit in enumerate(units):
            face = self._face(_with(support, int(unit)))
            lows[at] = rest + gradient[face].min() if face.size else math.inf
        return np.where(np.isnan(lows), -math.inf, lows)

    @quiet
    def _near(self, support: Support) -> float:
        """F where most of the mass is even on a support and a little of it everywhere: how far F is from finite."""
        size, face = self.objective.space.size, self._face(support)
        p = np.full(size, 1e-3 / size)
        p[face] += 0.999 / max(face.size, 1)
        self._work += EVALUATION + size
        value = float(self.objective.value(p / p.sum()))
        return math.inf if math.isnan(value) else value

    @property
    def _tie(self) -> float:
        return TIE if self.closed_form else SOLVED_TIE

    def _below(self, value: float) -> float:
        """Return the highest value that is lower than this one by more than a tie."""
        return value - self._tie * abs(value) if math.isfinite(value) else value

    def _above(self, value: float) -> float:
        """Return the highest value that ties with this one."""
        return value + self._tie * abs(value) if math.isfinite(value) else value

    def _move(self, support: Support) -> None:
        """Take a support, with its value."""
        self._units, self._value = support, self._look(support).value

    def _move_to(self, support: Support) -> None:
        """Take a support if it is better."""
        if self._look(support).value < self._value:
            self._move(support)

    def _out_of_time(self) -> bool:
        self._late = self._late or self.deadline.passed
        return self._late

    # search

    def grow(self, count: int) -> int:
        """Add units: one by Algorithm 3, several by the same with a look-ahead where F is infinite for all."""
        added, free = 0, self._addable(self._units)
        while added < count and len(free):
            self._move(_with(self._units, self._best_addition(free, looks_ahead=count > 1)))
            added, free = added + 1, self._addable(self._units)
        if added and not len(free) and not self._face(self._units).size:
            self._move(self._some_support())
        return added

    def _addable(self, support: Support) -> Indices:
        """The units that fit beside a support."""
        fits = self.rules.addable(np.array(support, np.int64))
        fits[list(support)] = False
        return np.flatnonzero(fits)

    def _best_addition(self, free: Indices, looks_ahead: bool) -> int:
        """Algorithm 3: the unit whose face lowers F most, ties to the lowest index.

        By look-ahead where all are infinite.
        """
        best = math.inf

        def value_of(unit: int) -> float:
            nonlocal best
            value = self._look(_with(self._units, unit), self._above(best)).value
            best = min(best, value)
            return value

        def tie(value: float) -> float:
            return (
                self._above(value) - value + NOISE * self.solver.scale if best < math.inf else 0.0
            )

        lows = self._lows(free, self._units)
        unit = best_addition(free, lows, value_of, math.inf, tie, self.deadline)
        if best < math.inf or not looks_ahead:
            return unit
        return int(free[np.argmin([self._near(_with(self._units, int(u))) for u in free])])

    @quiet
    def _some_support(self) -> Support:
        """A support that reaches some entries, for when no unit alone does: where descent leads."""
        size = self.objective.space.size
        gradient = np.nan_to_num(self.objective.gradient(np.full(size, 1.0 / size)))
        return _sorted(self.constraint.support(self.constraint.project(-gradient)))

    def improve(self, moves: int) -> int:
        """Make at most `moves` best swaps."""
        for made in range(moves):
            better = self._best_swap()
            if better is None:
                return made
            self._move(better)
        return moves

    def _best_swap(self) -> Support | None:
        """The support after the best swap of one unit; None where none lowers F."""
        bar, best = self._below(self._value), None
        incoming = np.setdiff1d(np.flatnonzero(self.rules.open), self._units)
        most = (MOST_SWAPS if self.closed_form else MOST_SEARCHED) // max(len(self._units), 1)
        if len(incoming) > max(most, 1):
            order = np.argsort(self._lows(incoming, self._units, ranks=True), kind="stable")
            incoming = np.sort(incoming[order[: max(most, 1)]])
        for unit in self._units:
            rest = tuple(u for u in self._units if u != unit)
            fits = np.intersect1d(incoming, self._addable(rest))
            lows = self._lows(fits, rest)
            for at in np.argsort(lows, kind="stable"):
                if lows[at] >= bar or self._out_of_time():
                    break
                support = _with(rest, int(fits[at]))
                value = self._look(support, bar).value
                if value < bar:
                    bar, best = value, support
        return best

    def perturb(self, rng: np.random.Generator) -> bool:
        """Drop some units, add one at random and the best others, improve; stay if F is lower."""
        free = np.setdiff1d(np.flatnonzero(self.rules.open), self._units)
        if not len(free) or not self._units:
            self._work += PATIENCE  # nothing to replace: no perturbation will ever help
            return False
        before, value = self._units, self._value
        dropped = int(rng.integers(1, max(2, len(before) // 2) + 1))
        rest = _sorted(rng.permutation(before)[dropped:])
        unit = int(rng.choice(free))
        if not self.rules.allows(np.array(_with(rest, unit))):
            return False
        self._move(_with(rest, unit))
        self.grow(self.k)
        self.improve(MOST_MOVES)
        if self._value < self._below(value):
            return True
        self._units, self._value = before, value
        return False

    # proof

    @property
    def proof_refusal(self) -> str:
        """Why there are too many supports, where there are."""
        if self._n_supports <= (MOST_SUPPORTS if self.closed_form else MOST_SOLVED):
            return ""
        return (
            f"exact would have to tell {magnitude(self._n_supports)} supports apart "
            f"(k = {self.k} of {self.n} units)"
        )

    @property
    def proven(self) -> float:
        """The lowest bound of what is closed."""
        return min(self._value, self._closed) if self._closed < math.inf else math.inf

    @property
    def _goal(self) -> float:
        """A branch with this bound is closed."""
        if not math.isfinite(self._value) or self.closed_form:
            return self._below(self._value)
        return self._value - CLOSED * abs(self._value) - ROUNDING * self.solver.scale

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """Relax a branch to the face of all units that it leaves, and split it at the heaviest undecided one."""
        if not self.rules.allows(branch.included):
            return ()
        units = np.setdiff1d(np.flatnonzero(self.rules.open), branch.excluded)
        if len(branch.included) >= self.k:
            units = branch.included
        relaxed = branch.memory
        single = len(units) <= self.k and self.rules.allows(units)
        if single:
            relaxed = self._leaf(units)
        elif not isinstance(
            relaxed, FaceRelaxation
        ):  # its parent's, where no unit was excluded since
            relaxed = self._relaxed(units, rough=True, start=branch.memory)
            if relaxed.bound < self._goal and self._used(relaxed) is not None:
                relaxed = self._relaxed(units, rough=False, start=relaxed.p)  # it decides
        low = max(branch.bound, relaxed.bound)
        support = self._used(relaxed)
        if support is not None and relaxed.value < self._value:
            self._move_to(support)
        if single or low >= self._goal or (support is not None and self.whole):
            self._closed = min(self._closed, low)
            return ()
        unit = self._heaviest(relaxed.p, units, branch.included)
        inside = np.append(branch.included, unit)
        outside = np.append(branch.excluded, unit)
        return (
            Branch(inside, branch.excluded, low, relaxed),
            Branch(branch.included, outside, low, relaxed.p),
        )

    def _leaf(self, units: Indices) -> FaceRelaxation:
        """The one support that is left, as a relaxation."""
        support = _sorted(units)
        optimum = self._look(support, self._goal)
        if optimum.value < self._value:
            self._move(support)
        if not self.whole:
            return self._relaxed(units, rough=False, start=None)
        return FaceRelaxation(np.zeros(0), math.inf, optimum.bound)

    def _relaxed(self, units: Indices, rough: bool, start: Vector | None) -> FaceRelaxation:
        """The minimum over the face of these units, however many they are."""
        face, size = self._face(units), self.objective.space.size
        if not face.size:
            return FaceRelaxation(np.zeros(size), math.inf, math.inf)
        if self.closed_form and not (self._quadratic and face.size > LARGE_RELAXATION):
            self._count_closed_form(face)
            p = self.objective.best_on(face)
            value = float(self.objective.value(p))
            return FaceRelaxation(p, value, value)
        begin = None if start is None else start[face]
        optimum = self.solver.best(face, self._goal, rough, begin)
        bound = optimum.bound
        if self.closed_form:
            bound = max(bound, lower_bound_of(self.objective))
        return FaceRelaxation(self.solver.spread(face, optimum.weights), optimum.value, bound)

    def _used(self, relaxed: FaceRelaxation) -> Support | None:
        """The units of a relaxation where they may be held together."""
        if relaxed.value == math.inf:
            return None
        units = np.sort(self.constraint.support(relaxed.p))
        return _sorted(units) if self.rules.allows(units) else None

    def _heaviest(self, p: Vector, units: Indices, included: Indices) -> int:
        """The undecided unit that carries most mass: without it, so much is not on the face.

        Only units of the heaviest entries are compared; where units overlap, the support of p may
        name others than those of the branch.
        """
        undecided = np.setdiff1d(units, included)
        used = np.intersect1d(self.constraint.support(p), undecided)
        if len(used) > MOST_WEIGHED:
            heavy: set[int] = set()
            for entry in np.argsort(-p, kind="stable"):
                alone = np.zeros(p.size)
                alone[entry] = 1.0
                heavy |= set(self.constraint.support(alone).tolist()) & set(undecided.tolist())
                if len(heavy) >= MOST_WEIGHED:
                    break
            used = np.array(sorted(heavy), np.int64)
        candidates = used if used.size else undecided[:MOST_WEIGHED]
        self._work += EVALUATION * len(candidates)
        left = [float(p[self._face(units[units != unit])].sum()) for unit in candidates]
        return int(candidates[int(np.argmin(left))])


def unit_rules(constraint: Any) -> Rules:
    """What may be held together: what a constraint says, or any k of its units."""
    if isinstance(getattr(constraint, "rules", None), Rules):
        rules: Rules = constraint.rules
        return rules
    return Rules(constraint.n_units, constraint.k)


def _with(support: Support, unit: int) -> Support:
    """A support and one more unit."""
    return tuple(sorted((*support, unit)))


def _sorted(units: Any) -> Support:
    """Units as a support."""
    return tuple(sorted(int(unit) for unit in units))
