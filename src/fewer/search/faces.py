"""The general engine: any convex objective, and any union of faces."""

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Indices, Vector, magnitude
from ..deadline import Deadline
from ..protocols import Constraint, Objective
from ._face import ROUNDING
from ._face import face_best as face_best
from ._supports import FaceRelaxation, Support, Supports
from .engine import Branch

TIE = 1e-12
"""Closed forms that differ by this share of their size are a tie."""
NOISE = 1e-15
"""Values of F that differ by this share of its scale are a tie when a unit is added: rounding near zero."""
SOLVED_TIE = 1e-8
"""Minima found by a search that differ by this share are a tie."""
CLOSED = 1e-7
"""A branch is closed when its bound is nearer to the value than this share of it, but for the rounding of F."""
MOST_SWAPS, MOST_SEARCHED = 4000, 1000
"""Swaps that are all compared, with a closed form and without; of more, those to the most promising units."""
WEIGHING = 1e5
"""What it costs to find the mass of a unit, in multiplications."""
MOST_WEIGHED = 8
"""Units whose mass is compared to choose one to branch on; of more, those of the heaviest entries."""
MOST_MOVES = 64
"""Swaps after one perturbation."""
MOST_SUPPORTS, MOST_SOLVED = 2_000_000, 200_000
"""Without a limit, a proof over more supports is refused; with a closed form and without."""
PATIENCE, PER_SUPPORT, PER_SEARCH = 1e9, 1e5, 5e5
"""Multiplications, about a second; less where there are few supports, with a closed form and without."""


class FacesEngine:
    """F at the best weights on a support, for any convex F and any constraint made of whole faces.

    min F[p] over p on the face of at most k units. Greedy additions and best swaps look at every
    unit; a support is bounded by F over the face of all units that a branch leaves.

    Parameters
    ----------
    objective : Objective
        A convex F with a subgradient, which may be infinite; in closed form where it offers
        `best_on` and `value_on`.
    constraint : Constraint and Sparsity
        A set whose faces are whole.
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

    def __init__(
        self, objective: Objective, constraint: Constraint, deadline: Deadline | None = None
    ) -> None:
        self._objective: Any = objective
        self._sparse: Any = constraint
        self._deadline = Deadline.after(None) if deadline is None else deadline
        self._late = False
        self._supports = Supports(objective, constraint)
        self._units: Support = ()
        self._value = math.inf
        self._closed = math.inf

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
        return self._supports.work

    @property
    def patience(self) -> float:
        """What perturbations may cost without a gain: the more, the more supports there are."""
        each = PER_SUPPORT if self._supports.closed_form else PER_SEARCH
        return each * min(self._n_supports, int(PATIENCE / each))

    def grow(self, count: int) -> int:
        """Add units: one by Algorithm 3, several by the same with a look-ahead where F is infinite for all."""
        added = 0
        while added < count and len(self._units) < self._sparse.k:
            self._move(_with(self._units, self._best_addition(looks_ahead=count > 1)))
            added += 1
        if (
            added
            and len(self._units) == self._sparse.k
            and not self._supports.face(self._units).size
        ):
            self._move(self._some_support())
        return added

    def improve(self, moves: int) -> int:
        """Make at most `moves` best swaps."""
        made = 0
        while made < moves:
            better = self._best_swap()
            if better is None:
                break
            self._move(better)
            made += 1
        return made

    def perturb(self, rng: np.random.Generator) -> bool:
        """Drop some units, add one at random and the best others, improve; stay if F is lower."""
        free = self._free
        if not len(free) or not self._units:
            self._supports.work += PATIENCE  # nothing to replace: no perturbation will ever help
            return False
        before, value = self._units, self._value
        dropped = int(rng.integers(1, max(2, len(before) // 2) + 1))
        kept = rng.permutation(before)[dropped:]
        self._move(_with(tuple(sorted(int(u) for u in kept)), int(rng.choice(free))))
        self.grow(self._sparse.k)
        self.improve(MOST_MOVES)
        if self._value < self._below(value):
            return True
        self._units, self._value = before, value
        return False

    def answer(self) -> Vector | None:
        """The distribution with the best weights on the support."""
        return self._supports.point(self._units) if self._units else None

    @property
    def proof_refusal(self) -> str:
        """Why there are too many supports, where there are."""
        if self._n_supports <= (MOST_SUPPORTS if self._supports.closed_form else MOST_SOLVED):
            return ""
        return (
            f"exact would have to tell {magnitude(self._n_supports)} supports apart "
            f"(k = {self._sparse.k} of {self._sparse.n_units} units)"
        )

    @property
    def proof_budget(self) -> float:
        """As much as for a search."""
        return PATIENCE

    @property
    def proven(self) -> float:
        """The lowest bound of what is closed."""
        return min(self._value, self._closed) if self._closed < math.inf else math.inf

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """Relax a branch to the face of all units that it leaves, and split it at the heaviest undecided one."""
        units = np.setdiff1d(np.arange(self._sparse.n_units), branch.excluded)
        if len(branch.included) >= self._sparse.k:
            units = branch.included
        if len(units) <= self._sparse.k:
            return self._leaf(branch, units)
        relaxed = self._relaxed(branch, units)
        low = max(branch.bound, relaxed.bound)
        if low >= self._goal or self._is_member(relaxed):
            return self._close(low)
        unit = self._heaviest(relaxed.p, units, branch.included)
        inside = branch._replace(
            included=np.append(branch.included, unit), bound=low, memory=relaxed
        )
        outside = branch._replace(
            excluded=np.append(branch.excluded, unit), bound=low, memory=relaxed.p
        )
        return inside, outside

    def _leaf(self, branch: Branch, units: Indices) -> tuple[Branch, ...]:
        """A branch with one support left."""
        support = tuple(int(u) for u in np.sort(units))
        found = self._supports.look(support, self._goal)
        low = max(branch.bound, found.bound)
        if found.value < self._value:
            self._move(support)
        return self._close(low)

    def _relaxed(self, branch: Branch, units: Indices) -> FaceRelaxation:
        """The relaxation of a branch: that of its parent where no unit was excluded since."""
        if isinstance(branch.memory, FaceRelaxation):
            return branch.memory
        relaxed = self._supports.relaxed(units, self._goal, True, branch.memory)
        if relaxed.bound < self._goal and self._sparse.support(relaxed.p).size <= self._sparse.k:
            return self._supports.relaxed(
                units, self._goal, False, relaxed.p
            )  # it decides, so it has to be precise
        return relaxed

    def _is_member(self, relaxed: FaceRelaxation) -> bool:
        """Whether a relaxation uses k units only, so that nothing in its branch is better; then move there."""
        used = self._sparse.support(relaxed.p)
        if used.size > self._sparse.k or relaxed.value == math.inf:
            return False
        support = tuple(int(u) for u in np.sort(used))
        if relaxed.value < self._value and self._supports.look(support).value < self._value:
            self._move(support)
        return True

    def _close(self, low: float) -> tuple[Branch, ...]:
        self._closed = min(self._closed, low)
        return ()

    def _heaviest(self, p: Vector, units: Indices, included: Indices) -> int:
        """The undecided unit that carries most mass: without it, so much is not on the face.

        The support of p may name other units than those of the branch, where units overlap.
        """
        open_units = np.setdiff1d(units, included)
        used = np.intersect1d(self._sparse.support(p), open_units)
        undecided = used if used.size else open_units
        if len(undecided) > MOST_WEIGHED:
            heavy = np.intersect1d(self._units_of_heavy_entries(p, included), open_units)
            undecided = heavy if heavy.size else undecided[:MOST_WEIGHED]
        self._supports.work += WEIGHING * len(undecided)
        left = [float(p[self._supports.face(units[units != unit])].sum()) for unit in undecided]
        return int(undecided[int(np.argmin(left))])

    def _units_of_heavy_entries(self, p: Vector, included: Indices) -> Indices:
        """Some undecided units: those of the heaviest entries."""
        found: set[int] = set()
        decided = set(included.tolist())
        for entry in np.argsort(-p, kind="stable"):
            alone = np.zeros(p.size)
            alone[entry] = 1.0
            found.update(set(self._sparse.support(alone).tolist()) - decided)
            if len(found) >= MOST_WEIGHED:
                break
        return np.array(sorted(found), np.int64)

    @property
    def _goal(self) -> float:
        """A branch with this bound is closed."""
        if not math.isfinite(self._value) or self._supports.closed_form:
            return self._below(self._value)
        return self._value - CLOSED * abs(self._value) - ROUNDING * self._supports.solver.scale

    @property
    def _tie(self) -> float:
        return TIE if self._supports.closed_form else SOLVED_TIE

    def _below(self, value: float) -> float:
        """What is lower than a value by more than a tie."""
        return value - self._tie * abs(value) if math.isfinite(value) else value

    @cached_property
    def _n_supports(self) -> int:
        return math.comb(self._sparse.n_units, self._sparse.k)

    @property
    def _free(self) -> Indices:
        """The units not in use."""
        return np.setdiff1d(np.arange(self._sparse.n_units), self._units)

    def _move(self, support: Support) -> None:
        """Take a support, with its value."""
        self._units, self._value = support, self._supports.look(support).value

    def _out_of_time(self) -> bool:
        self._late = self._late or self._deadline.passed
        return self._late

    def _best_addition(self, looks_ahead: bool) -> int:
        """The unit whose face lowers F most, ties to the lowest index; by look-ahead where F is infinite for all."""
        free, best = self._free, math.inf
        values: dict[int, float] = dict.fromkeys(free.tolist(), math.inf)
        for unit in self._promising(free, self._units):
            enough = best + self._tie * abs(best) if best < math.inf else math.inf
            values[unit] = self._supports.look(_with(self._units, unit), enough).value
            best = min(best, values[unit])
            if self._out_of_time():
                break
        if best == math.inf and looks_ahead:
            values = {unit: self._supports.near(_with(self._units, unit)) for unit in free.tolist()}
            best = min(values.values())
        noise = NOISE * self._supports.solver.scale
        highest = best + self._tie * abs(best) + noise if best < math.inf else math.inf
        return next(unit for unit, value in values.items() if value <= highest)

    def _promising(self, free: Indices, support: Support) -> list[int]:
        """Free units, the steepest descent from a support first: what they are measured by rules out the others."""
        if (
            self._supports.closed_form
            or not support
            or all(self._supports.knows(_with(support, u)) for u in free.tolist())
        ):
            return [int(unit) for unit in free]
        order = np.argsort(self._steepest(free, support), kind="stable")
        return [int(unit) for unit in free[order]]

    def _steepest(self, free: Indices, support: Support) -> Vector:
        """The lowest slope at the best weights on a support among the entries that each free unit adds."""
        slopes = self._supports.slopes(support)
        slopes[self._supports.face(support)] = math.inf
        steepest = np.full(len(free), math.inf)
        for i, unit in enumerate(free):
            face = self._supports.face(_with(support, int(unit)))
            steepest[i] = slopes[face].min() if face.size else math.inf
        return steepest

    def _some_support(self) -> Support:
        """A support that reaches some entries, for when no unit alone does: where descent leads."""
        size = self._sparse.space.size
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gradient = np.nan_to_num(self._objective.gradient(np.full(size, 1.0 / size)))
        return tuple(int(u) for u in self._sparse.support(self._sparse.project(-gradient)))

    def _best_swap(self) -> Support | None:
        """The support after the best swap of one unit; None where none lowers F."""
        bar, best = self._below(self._value), None
        incoming = self._candidates()
        for unit in self._units:
            kept = tuple(u for u in self._units if u != unit)
            for other in self._promising(incoming, kept):
                if self._out_of_time():
                    return best
                support = _with(kept, other)
                value = self._supports.look(support, bar).value
                if value < bar:
                    bar, best = value, support
        return best

    def _candidates(self) -> Indices:
        """The free units that swaps are tried with: all, or of many the steepest."""
        free = self._free
        most = (MOST_SWAPS if self._supports.closed_form else MOST_SEARCHED) // max(
            len(self._units), 1
        )
        if len(free) <= max(most, 1):
            return free
        order = np.argsort(self._steepest(free, self._units), kind="stable")
        return np.sort(free[order[: max(most, 1)]])


def _with(support: Iterable[int], unit: int) -> Support:
    """A support and one more unit."""
    return tuple(sorted((*support, unit)))
