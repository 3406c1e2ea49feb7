"""The engine for squared distances over entries: all bounds, groups, few columns or millions of candidates."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from .._validation import Indices, Vector
from ..active_set import box_weights
from ..deadline import Deadline
from ..protocols import Quadratic, lower_bound_of, slope_error
from ..rules import NO_UNITS, Rules
from .additions import additions
from .engine import Branch, Incumbent
from .fits import (
    REACHED,
    SLACK,
    Fit,
    affordable,
    bounds,
    first_answer,
    on_support,
    path_supports,
    promising,
    refit_cost,
    refitted,
    relaxed_bounds,
    simplex_bound,
    target_gram,
)
from .pool import CandidatePool, move_work
from .relaxation import PROVABLE, Relaxations

# Tuned by `python benchmarks/against.py a220a01`: values and seconds beside the search before
# engines.
WHOLE = 600
"""Up to this many units all are candidates."""
WIDE = 2000
"""Candidates of a pool, at least; at most twice as many, but for a very large k."""
PER_UNIT, CELLS = 20, 1.6e6
"""Candidates for each of the k units, while k times the pool is no more than so many cells."""
AROUND = 256
"""Candidates of a pool beside the support where slopes are cheap, at least; half of k where that is
more."""
POOL_WORK = 1e9
"""Multiplications that forming the matrix of a pool may cost."""
POOL_SHARE = 0.4
"""The share of `max_memory` for a pool's matrix and tables."""
PER_SECOND = 4e6
"""Entries of a pool's matrix for each second of a time limit."""
RANDOM_SHARE = 0.3
"""The share of random units in a pool that is not everything."""
POOL_PATIENCE, KERNEL_POOL_PATIENCE = 1.5e6, 6e4
"""Work of perturbations after which a pool that is not everything is renewed, in roots of the work
of a move; the same where F is known by entries of H alone."""
BLAS_WORK = 0.25
"""Work of a multiplication by BLAS: it makes four while the search makes one."""
FIRST_FILLED = 128
"""Units that are added before a first answer is given."""
ENOUGH = 1e-3
"""Relative gain for which a further pool is worth gathering."""
FEWEST_POOLS, MOST_POOLS = 3, 8
"""Pools gathered around the answer before the first perturbation."""
NARROW_POOLS = 3
"""Pools in a row without a gain that end a search whose memory holds fewer than `WHOLE` candidates,
where F is known by entries of H alone."""
PATIENCE, KERNEL_PATIENCE = 6e8, 9e7
"""Default work that perturbations may cost in a row without a gain; where F is known by entries of
H alone."""
FEW_UNITS = 14
"""So many units or fewer get at least twice that: moves are cheap, and local optima far apart."""
FEWEST_IDLE, IDLE_PER_UNIT, MOVES_PER_PERTURBATION = 20, 2, 8
"""Perturbations in a row without a gain that are enough for few units, and for each of them; their
moves, about."""
TOLERATED, MOVED = 0.05, 5
"""How far above the best answer a search may go on from, as a share of its value, where F is not
known by entries of H alone; after how many such steps a small pool is gathered anew around where it
stands."""
FEW_CANDIDATES, TOLERATED_OF_FEW = 400, 0.3
"""Where F is known by entries of H alone: up to how many candidates a search goes on from worse
answers, and from how much worse ones; with more candidates that only loses time."""
SETTLED = 1e-4
"""Relative gain for which a small pool is renewed once more."""
MATRIX_SHARE = 0.5
"""What perturbations may cost in any case, as a share of the work of forming the matrix of all
units."""
PROVEN_GAP = 1e-7
"""Share of the value within which the bound over the whole simplex proves an answer."""
BRIEF = 5e7
"""Work between two chances to stop: some hundredths of a second."""
PROVABLE_ATTAINED = 2000
"""Units up to which a proof forms their whole matrix under a time limit, where F reaches its lower
bound outside the constraint: the convex relaxation would say nothing there, and a proof takes
hours."""
SPECTRAL = 150
"""Units from which on a proof starts from the best value, where F reaches its lower bound outside
the constraint: with fewer, hundreds of rounds are cheap, and rounds from no multipliers end nearer
to the optimum of the relaxation."""
LOOK_WORK = 0.2
"""Multiplications of a look at a relaxation that cannot be stopped, in cubed units."""
PROOF_BUDGET = 5e8
"""Default work of a proof by "auto"."""
BRIEF_BUDGET = 1e8
"""The same where relaxations say little, as F reaches its lower bound outside the constraint, or
where only the convex relaxation is looked at."""


TIE, NOISE = 1e-12, 1e-15
"""Values of F that differ by this share of F, and this share of its largest terms, are a tie."""
MARGIN = 1e-12
"""Rounding granted to what bounds are made of, as a share of its terms."""
quiet = np.errstate(divide="ignore", invalid="ignore", over="ignore")
"""Units without curvature rise as far as their weight may: their quotient is left out."""


class QuadraticEngine(Incumbent):
    """F[p] = pᵀHp - 2cᵀp + constant over at most k weighted units, all rules kept.

    The support grows along an active-set path of non-negative least squares; it is improved by
    swaps in a pool of candidates, which is everything where that is not much and else gathered
    around the answer again and again.
    """

    proof_refusal = ""  # a proof of any size ends in a bound

    def __init__(
        self, problem: Any, rules: Rules, deadline: Deadline, width: int | None = None
    ) -> None:
        self.problem, self.rules, self.deadline = problem, rules, deadline
        self.k, self.open = rules.sizes[1], int(rules.open.sum())
        self.centred = hasattr(problem, "centred")  # else F is known by entries of H alone
        self.attained = bool(getattr(problem, "lower_bound_attained", False))
        self.entry_cost = float(getattr(problem, "entry_cost", 1.0))
        self.width = self._pool_width() if width is None else width
        self._pool: CandidatePool | None = None
        self._spent, self._gathered = 0.0, 0  # work in pools that are gone, and how many drew
        self._starts: list[Indices] = []
        self._pool_began, self._moved = 0.0, 0
        self._simplex_bound = -math.inf
        self._adding = additions(QuadraticAdditions(problem, rules), rules, deadline)
        self._growing, self._improving = self._grown(), self._improved()
        self._relaxations: Relaxations | None = None
        self._loose: Iterator[float | None] | None = None

    # what it stands on

    @property
    def work(self) -> float:
        """Multiplications so far, about."""
        counted = BLAS_WORK * float(getattr(self.problem, "work", 0.0))
        parts = [part.work for part in (self._relaxations, self._pool) if part is not None]
        return self._spent + counted + sum(parts)

    @property
    def patience(self) -> float:
        """Work of idle perturbations: more where pools have to be renewed on the way, 0 where nothing can be gained."""
        if self._reached or (self._pool is not None and self._hopeless(self._pool)):
            return 0.0
        matrix = BLAS_WORK * self.entry_cost * float(self.width) ** 2
        if self.width < self.open:
            few = self.width < WHOLE and not self.centred
            return (NARROW_POOLS if few else 1) * self._pool_patience + matrix
        each = MOVES_PER_PERTURBATION * move_work(self.k, self.open)
        most = (PATIENCE if self.centred else KERNEL_PATIENCE) * (1.0 + FEW_UNITS / self.k)
        most = max(most, MATRIX_SHARE * matrix)
        return min(most, (FEWEST_IDLE + IDLE_PER_UNIT * self.open) * each)

    @property
    def _pool_patience(self) -> float:
        """Work of perturbations in one pool that is not everything."""
        each = POOL_PATIENCE if self.centred else KERNEL_POOL_PATIENCE
        return each * math.sqrt(move_work(self.k, self.width))

    def answer(self) -> Vector | None:
        """The weights on all units."""
        return None if self.best is None else self.best.on_all(self.rules.n)

    def _take(self, fit: Fit | None) -> bool:
        """Move to an answer if it is better; whether it is."""
        if fit is None or not fit.value < self.value:
            return False
        self.best = fit
        return True

    @property
    def _convex(self) -> bool:
        """Whether the answer is the optimum over the whole simplex, which happens to have few units."""
        return self._simplex_bound >= (1.0 - PROVEN_GAP) * self.value

    @property
    def _reached(self) -> bool:
        """Whether the target or the optimum over the whole simplex is reached: nothing can be gained any more."""
        target = REACHED * abs(self.problem.constant)
        return self.best is not None and (self.value <= target or self._convex)

    # growing

    def add_best(self) -> int:
        """A step of Algorithm 3."""
        for fit in self._adding:
            self.best = fit
            return 1
        return 0

    def grow(self, count: int) -> int:
        """A stretch of the path from which searches start."""
        for _ in self._growing:
            return 1
        return 0

    def _grown(self) -> Iterator[None]:
        """A first answer, then supports of the path; each is kept to start a local search from.

        Where F is known by entries of H alone, slopes cost more than the path gains: it grows in a
        pool instead.
        """
        self._take(first_answer(self.problem, self.rules))
        yield
        if hasattr(self.problem, "prepare"):
            yield from self.problem.prepare()
        if not self.centred and not self.rules.bounded and not len(self.rules.include):
            yield from self._filled()
            return
        for start in path_supports(self.problem, self.rules):
            if start is not None:
                ends, units = start
                if not affordable(self.deadline, refit_cost(len(units))):
                    return
                if ends:
                    self._starts.append(units)
                fit = refitted(self.problem, self.rules, units)
                self._take(fit)
                self._bound_by_simplex()
                if self._reached or fit.value <= REACHED * self.problem.constant:
                    return
            yield

    def _bound_by_simplex(self) -> None:
        """Bound F over the whole simplex from where the answer is."""
        if self.centred and self.best is not None and not self._reached:
            bound = simplex_bound(self.problem, self.rules, self.best)
            self._simplex_bound = max(self._simplex_bound, bound)

    def _filled(self) -> Iterator[None]:
        """Best additions in a pool of everything, or of random units; an answer whenever the support has doubled."""
        units = np.flatnonzero(self.rules.open)
        if not affordable(self.deadline, self.entry_cost * float(self.width) ** 2):
            return
        if self.width < len(units):
            units = np.sort(np.random.default_rng(0).choice(units, self.width, replace=False))
        self._pool, size = self._pool_of(units), 0
        while size < self.k:
            size = min(max(FIRST_FILLED, 2 * size), self.k)
            self._pool.fill(size)
            self._take(self._fit_of(self._pool))
            yield

    # improving

    def improve(self, moves: int) -> int:
        """A stretch of local search from each start, in pools that are renewed while that helps."""
        for _ in self._improving:
            return 1
        return 0

    def _improved(self) -> Iterator[None]:
        """Local search from every start, then in new pools around the best answer."""
        best: Any = self.best
        if self._reached or best is None:
            return
        if not affordable(self.deadline, refit_cost(self.k) + self.k * float(self.width) ** 2):
            return
        known = np.unique(np.concatenate([best.units, *self._starts]))
        pool = self._pool_around(best, known) if self._pool is None else self._pool
        for units in self._starts or [pool.support]:
            pool.stand(np.sort(units))
            yield from self._climbed(pool, replaces=True)
        self._starts = []
        best = self.best
        pool.stand(best.units, best.weights)
        for turn in range(1, MOST_POOLS + 1):
            if len(pool.units) == self.open or pool.nothing:
                break
            before = self.value
            pool = self._pool_after(pool, self.best)
            yield from self._climbed(pool)
            if turn >= FEWEST_POOLS and self.value >= before * (1.0 - ENOUGH):
                break
        self._pool, self._pool_began = pool, pool.work

    def _climbed(self, pool: CandidatePool, replaces: bool = False) -> Iterator[None]:
        """Moves until none helps, with pauses; then the lightest units are replaced too if so asked."""
        brief = min(64, max(1, int(BRIEF / (8.0 * pool.k * len(pool.units)))))
        while pool.improve(brief) == brief:
            yield
        if replaces:
            pool.replace_lightest()
        self._take(self._fit_of(pool))
        yield

    def _fit_of(self, pool: CandidatePool) -> Fit:
        """The support of a pool with its best weights."""
        return refitted(self.problem, self.rules, pool.support, pool.weights)

    # leaving local optima

    def perturb(self, rng: np.random.Generator) -> bool:
        """Replace some units and improve; go on from there unless that is much worse than the answer.

        Small pools follow the search, and one that has been searched enough is followed by another
        around the answer. Source: Lourenço, Martin & Stützle 2003, "Iterated local search", sec.
        3.3 (acceptance of worse local optima).
        """
        pool, best = self._pool, self.best
        if pool is None or best is None or self._hopeless(pool):
            self._spent += math.inf
            return False
        if len(pool.units) < self.open and pool.work - self._pool_began > self._pool_patience:
            return self._renewed(pool, best)
        if not pool.perturb(rng, self._ceiling()):
            return False
        better = False
        if pool.promises(self.value):
            better = self._take(self._fit_of(pool))
        self._moved = 0 if better else self._moved + 1
        if self.centred and self.width < self.open and (better or self._moved == MOVED):
            self._moved = 0
            here = self.best if better else self._fit_of(pool)
            better |= self._renewed(pool, here, settles=better)
        return better

    def _ceiling(self) -> float:
        """The value below which a search goes on from a worse answer."""
        if self.centred:
            return (1.0 + TOLERATED) * self.value
        return (1.0 + TOLERATED_OF_FEW) * self.value if self.open <= FEW_CANDIDATES else -math.inf

    def _hopeless(self, pool: CandidatePool) -> bool:
        """Whether nothing can be gained: the target is reached, or there is no other support."""
        included = len(self.rules.include)
        alone = self.open <= max(included, self.k) and not self.rules.bounded
        return pool.nothing or self._reached or alone or included == self.k

    def _renewed(self, pool: CandidatePool, here: Any, settles: bool = False) -> bool:
        """Local search in a new pool around an answer, in place of another pool; whether the best answer is new.

        If it `settles`, the lightest units are replaced too, and this is repeated while it helps.
        """
        better = False
        while True:
            before, pool = here.value, self._pool_after(pool, here)
            if settles:
                pool.replace_lightest()
            pool.improve()
            here = self._fit_of(pool)
            better |= self._take(here)
            if not settles or not here.value < before * (1.0 - SETTLED):
                self._pool, self._pool_began = pool, pool.work
                return better

    # pools

    def _pool_width(self) -> int:
        """How many candidates a pool has: as many as memory, time and the cost of their matrix allow."""
        if self.centred and self.open > 2 * WIDE:
            return min(self.open, self.k + max(AROUND, self.k // 2))
        memory = float(getattr(self.problem, "memory", 2**33))
        return pool_width(self.open, self.k, self.entry_cost, memory, self.deadline.seconds)

    def _pool_of(self, units: Indices) -> CandidatePool:
        """A pool of these units; the work of forming its matrix is counted once."""
        entry = 1.0 if hasattr(self.problem, "work") else BLAS_WORK * self.entry_cost
        return CandidatePool(self.problem, self.rules, units, entry)

    def _pool_around(self, fit: Fit, known: Indices) -> CandidatePool:
        """A pool around an answer: what is known, the most promising units, and some random ones."""
        units = np.flatnonzero(self.rules.open)
        width = max(self.width, len(known))
        if width < len(units):
            share = 0.0 if self.centred else RANDOM_SHARE
            drawn = int(share * (width - len(known))) if len(units) > 2 * width else 0
            near = promising(self.problem, self.rules, fit, width - len(known) - drawn)
            known = np.union1d(known, near)
            rest = np.setdiff1d(units, known)
            self._gathered += 1
            rng = np.random.default_rng(self._gathered)
            units = np.union1d(known, rng.choice(rest, min(drawn, len(rest)), replace=False))
        pool = self._pool_of(units)
        pool.stand(fit.units, fit.weights)
        return pool

    def _pool_after(self, pool: CandidatePool, fit: Any) -> CandidatePool:
        """The pool around an answer that follows one that ends, in its place in memory."""
        self._spent += pool.work
        pool.release()
        return self._pool_around(fit, fit.units)

    # proofs

    @property
    def proof_budget(self) -> float:
        """Work of a proof by default; none for many units where the convex relaxation says nothing new."""
        if not self._convex and self.rules.n <= PROVABLE and not self.attained:
            return PROOF_BUDGET
        nothing_new = self.attained and not self._convex and self.rules.n > PROVABLE
        return 0.0 if nothing_new else BRIEF_BUDGET

    @property
    def proven(self) -> float:
        """What is known of branches that were closed, and before that what F can never be below."""
        if self._loose is not None:
            return math.inf  # it closes none
        known = max(self._simplex_bound, lower_bound_of(self.problem, self.rules))
        return known if self._relaxations is None else max(self._relaxations.proven, known)

    def bound(self, branch: Branch) -> tuple[Branch, ...]:
        """Branch and bound on doubly non-negative relaxations; for many units the convex relaxation at the root."""
        if self._convex:
            return ()
        size = self.rules.n
        if size > (PROVABLE_ATTAINED if self.attained and self.deadline.limited else PROVABLE):
            return self._bound_loosely(branch)
        if size > PROVABLE and not affordable(self.deadline, LOOK_WORK * float(size) ** 3):
            return (branch,)
        if self._relaxations is None:
            units = np.arange(size)
            G = target_gram(self.problem, units, units)
            self._relaxations = Relaxations(G, self.rules, self.attained and size > SPECTRAL)
        known = self._relaxations
        rest = known.look(branch, self.best)
        if known.value < self.value:
            self._take(refitted(self.problem, self.rules, known.support, known.weights))
        return rest

    def _bound_loosely(self, branch: Branch) -> tuple[Branch, ...]:
        """The convex relaxation, a stretch further; when it has no more to say the branch stays open."""
        if self._loose is None:
            loose = replace(self.rules, min_weight=0.0, max_weight=1.0, include=NO_UNITS)
            start = refitted(self.problem, loose, self.support)
            self._loose = relaxed_bounds(self.problem, loose, (start.units, start.weights))
        for low in self._loose:
            known = -math.inf if low is None else min(low, self.value)
            return (branch._replace(bound=max(branch.bound, known)),)
        return (branch,)


def pool_width(n: int, k: int, entry_cost: float, memory: float, seconds: float) -> int:
    """Candidates of a pool for k of n units: as many as memory, a time limit and the cost of their matrix allow.

    >>> pool_width(500, 10, 100.0, 2**30, math.inf), pool_width(10**6, 20, 28.0, 2**30, math.inf)
    (500, 2000)
    """
    per_unit = max(WIDE, min(PER_UNIT * k, int(CELLS / k)))
    wide = min(per_unit, 2 * WIDE, int(math.sqrt(POOL_WORK / entry_cost)))
    wide = max(wide, WHOLE, k + WHOLE // 2)
    fits = int(math.sqrt(2.25 * k * k + POOL_SHARE * memory / 8) - 1.5 * k)
    in_time = max(int(math.sqrt(PER_SECOND * min(seconds, 1e9))), k + WHOLE // 5)
    return min(n, max(min(wide, fits, in_time), k + 1))


class QuadraticAdditions:
    """The least F that a support S of a quadratic and one more unit could reach.

    `slopes` (S, n) are those at the vertices of S, `whitened` the differences H_t - H_r to the
    first unit r, reduced by a Cholesky factorisation: what remains of the squared distance of j
    from r is its curvature beside S.
    """

    def __init__(self, problem: Quadratic, rules: Rules) -> None:
        self.problem, self.rules = problem, rules
        self.monotone = rules.min_weight == 0.0
        self._origin = problem.slopes(NO_UNITS, np.empty(0))
        self._diagonal = np.asarray(problem.diagonal, np.float64)
        rows = min(rules.sizes[1], 8), len(self._origin)
        self._slopes, self._whitened = np.empty(rows), np.empty(rows)
        self._order: list[int] = []
        self._pivots = 0
        self._curvature, self._distances = np.empty(0), np.empty(0)
        self._base: Fit | None = None

    def fit(self, units: Indices, enough: float = math.inf) -> Fit | None:
        """The best weights on a support, from those on the support before."""
        rules, size = self.rules, len(units)
        short = not size or (rules.min_weight > 0.0 and rules.lacking(units))
        if short or size * rules.min_weight > 1.0 + SLACK or size * rules.max_weight < 1.0 - SLACK:
            return None
        return self._fit(units, *bounds(rules, np.ones(size, np.bool_)))

    def _fit(self, units: Indices, low: Vector, high: Vector) -> Fit:
        start = np.full(len(units), 1.0 / len(units))
        if self._base is not None:
            start = np.zeros(len(units))
            start[np.searchsorted(units, self._base.units)] = self._base.weights
        w = box_weights(*on_support(self.problem, units), low, high, start)
        used = w > 0.0
        return Fit(units, w, self.problem.value_at(units[used], w[used]))

    def tie(self, value: float) -> float:
        """Rounding of F and of its largest terms."""
        noise = NOISE * float(self._diagonal.max())
        return TIE * abs(value) + noise if value < math.inf else 0.0

    def _hold(self, unit: int) -> None:
        """Let one more unit into S."""
        at, first = len(self._order), self._order[0] if self._order else unit
        self._slopes = _with_row(
            self._slopes, at, self.problem.slopes(np.array([unit]), np.ones(1))
        )
        self._order.append(unit)
        if at == 0:
            row = self._origin - self._slopes[0]
            self._distances = np.maximum(self._diagonal - 2.0 * row + self._diagonal[first], 0.0)
            self._curvature = self._distances.copy()
            return
        if not self._curvature[unit] > MARGIN * self._distances[unit]:
            return  # S reaches it already
        known = self._whitened[: self._pivots]
        row = self._slopes[0] - self._slopes[at]
        row -= row[first] + known[:, unit] @ known
        row /= math.sqrt(self._curvature[unit])
        self._whitened = _with_row(self._whitened, self._pivots, row)
        self._pivots += 1
        self._curvature -= np.square(row)

    @quiet
    def lows(self, units: Indices, fit: Fit | None, others: Indices) -> Vector:
        """F[w] - 2 g t + s t² for the best weight t of each of the others, (m,).

        g is the slope above the level that free weights share, s the curvature beside S. It is the
        minimum over all weights whose sum is one, the multipliers of the bounds at w kept, so no
        weights within the bounds are better.
        """
        for unit in units[~np.isin(units, self._order)]:
            self._hold(int(unit))
        self._base = fit
        if not len(units):
            terms = self._diagonal[others], 2.0 * self._origin[others]
            error = MARGIN * (terms[0] + np.abs(terms[1]))
            return np.asarray(terms[0] - terms[1] + self.problem.constant - error)
        low, high = self.rules.min_weight, min(self.rules.max_weight, 1.0)
        if fit is None:
            low, high = 0.0, 1.0
            fit = self._fit(units, np.zeros(len(units)), np.ones(len(units)))
        w, value = fit.weights, fit.value
        slopes = w[np.searchsorted(units, self._order)] @ self._slopes[: len(w)]
        own = slopes[units]
        free = (w > low) & ((w < high) | (high == 1.0))
        multiplier = float(own[free].mean() if free.any() else own.min())
        distances = self._distances[others]
        error = MARGIN * (np.sqrt(distances * max(value, 0.0)) + NOISE * self._diagonal[others])
        error = error + 2.0 * slope_error(self.problem, value)
        excess = np.maximum(slopes[others] - multiplier + error, 0.0)
        curvature = np.maximum(self._curvature[others] - MARGIN * distances, 0.0)
        t = np.clip(np.where(curvature > 0.0, excess / curvature, np.inf), low, high)
        return np.asarray(value - 2.0 * excess * t + curvature * np.square(t))


def _with_row(rows: Vector, count: int, row: Vector) -> Vector:
    """Rows with one more after the first `count`; twice as many where there is no place for it."""
    if count == len(rows):
        rows = np.concatenate([rows, np.empty_like(rows)])
    rows[count] = row
    return rows
