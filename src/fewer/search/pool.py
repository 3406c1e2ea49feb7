"""Local search among supports in a pool of candidates whose whole matrix fits.

A move takes a unit out, puts a candidate in, or both. It is valued by the response table as if no
further bound were met, which is exact where all other weights stay inside theirs; such a move is
made at once. Any other is tried, and undone unless it lowers F.
"""

import math

import numpy as np
import numpy.typing as npt

from .._compiled.moves import (
    CLOSE,
    FIRM,
    FLAT,
    Moves,
    PoolRules,
    best_moves,
    forced_swaps,
    sure_moves,
)
from .._validation import Indices, Vector
from ..active_set import box_weights
from ..protocols import Quadratic
from ..rules import Rules
from .fit import Matrix, target_gram
from .response_table import ResponseTable

RIDGE, SHIFT = 1e-12, 1e-10
"""Added to the diagonal and to all entries, as shares of the mean diagonal."""
NOISE = 1e-14
"""A fall of F below this share of the mean diagonal is rounding."""
TRIES = 3
"""Moves that meet a bound tried before a round is given up."""
MOST_REPLACED = 10
"""Units replaced in one perturbation, at most; a tenth of k where that is more."""
SHARE_NEAR, SHARE_RANDOM = 0.5, 0.15
"""Shares of the perturbations that take similar units out, and that put random ones in."""
MOVE_WORK = 6e4
"""Work that a move costs beside its passes over the table: what Python does meanwhile."""
MOVES_PER_PIVOT = 0.25
"""Work of a pivot by itself, in moves."""
NONE = np.empty(0, np.int64)
quiet = np.errstate(divide="ignore", invalid="ignore", over="ignore")
"""What rounding has spoilt gives an infinity or NaN, which no comparison takes for an improvement.
"""


class CandidatePool:
    """A support on the move among some candidates, all rules kept.

    >>> from fewer import Atoms, Moments, SparseSimplex
    >>> F = Moments(Atoms(3), np.eye(3), np.array([0.5, 0.1, 0.4]))
    >>> pool = CandidatePool(F, SparseSimplex(F.space, 2).rules, np.arange(3))
    >>> pool.stand(np.array([0, 1]))
    >>> pool.improve(), pool.support.tolist(), pool.weights.round(3).tolist(), round(pool.value, 4)
    (1, [0, 2], [0.55, 0.45], 0.015)
    """

    def __init__(
        self, problem: Quadratic, rules: Rules, units: Indices, entry_cost: float = 1.0
    ) -> None:
        self.units = units
        self.G, self._shift = regular(target_gram(problem, units, units))
        self.rules = pool_rules(rules, units, np.diag(self.G).copy())
        self.k = self.rules.k
        self.table, self._start, self._kept = (ResponseTable(self.G, self.rules) for _ in range(3))
        self._barred = np.zeros(len(units), np.bool_)
        numbers = (np.empty(self.k + 2) for _ in range(2))
        self._moves = Moves(
            next(numbers),
            np.empty(self.k + 2, np.int64),
            next(numbers),
            np.empty(self.k + 2, np.bool_),
        )
        self.work = entry_cost * float(len(units)) ** 2

    @property
    def value(self) -> float:
        """F at the support's best weights, as the table has it."""
        return self.table.value

    @property
    def size(self) -> int:
        """How many units are in the support."""
        return self.table.size

    @property
    def support(self) -> Indices:
        """The units of the support, sorted."""
        return np.sort(self.units[self.table.units])

    @property
    def weights(self) -> Vector:
        """Their weights."""
        return np.asarray(self.table.w[np.argsort(self.units[self.table.units])])

    @property
    def nothing(self) -> bool:
        """Whether F is zero to rounding: nothing can be gained any more."""
        return self.value <= 2.0 * self._shift

    def promises(self, value: float) -> bool:
        """Whether F, as the table has it, may be below a value that is free of the table's rounding."""
        return self.value - self._shift < (1.0 + CLOSE) * value

    def _cost(self, moves: float) -> None:
        """Count moves.

        Where bounds make weights slide from one to the next, the pivots of that too.
        """
        pivots, self.table.pivots = self.table.pivots, 0
        slid = MOVES_PER_PIVOT * pivots if self.rules.bounded else 0.0
        self.work += (moves + slid) * move_work(self.k, len(self.units))

    @quiet
    def stand(self, support: Indices, weights: Vector | None = None) -> None:
        """Move to a support with its best weights, the table computed afresh."""
        if not len(support):
            return
        at = np.searchsorted(self.units, support)
        s = len(at)
        start = np.full(s, 1.0 / s) if weights is None else weights
        w = box_weights(self.G[np.ix_(at, at)], np.zeros(s), self.rules.low, self.rules.high, start)
        kept = (w > 0.0) | self.rules.held[at]
        self.table.refactorise(at[kept], w[kept])
        self._cost(1.0 + s / 8.0)
        self.table.solve_weights()

    def _refresh(self) -> None:
        """Shed what rounding has piled up."""
        self.table.refactorise(self.table.units.copy(), self.table.w.copy())
        self.table.solve_weights()

    def _worth(self, value: float) -> float:
        """The least fall of F that is an improvement."""
        return CLOSE * value + self.rules.noise

    def _used(self) -> Indices:
        """How many units of each group are in the support, (groups,)."""
        return np.bincount(self.rules.group[self.table.units], minlength=len(self.rules.cap))

    @quiet
    def improve(self, limit: int = 10**6) -> int:
        """Best moves until none lowers F, at most `limit`; how many were made."""
        made = self._improve(limit)
        self._cost(made + 1)
        self._refresh()
        return made

    def _improve(self, limit: int) -> int:
        """Swaps that are sure first, then others, each tried; how many were made."""
        table, made = self.table, 0
        value = table.slopes()
        while made < limit:
            made += self._look(limit - made)
            value, before, s, tried = table.value, table.value, table.size, 0
            change, late = self._moves.change[: s + 1], ~self._moves.sure[: s + 1]
            late[s] = False
            if self.rules.bounded:
                late[:] = False
            order = np.lexsort((change, late))
            for position in order[np.isfinite(change[order])]:
                if tried >= TRIES or value < before or made >= limit:
                    break
                value = self._attempt(int(position), before)
                tried += bool(self.rules.bounded or late[position])
            if not value < before:
                break
            made += 1
        return made

    def _look(self, limit: int) -> int:
        """Value all moves, making those that are sure on the way; how many were made."""
        table, rules, used, made = self.table, self.rules, self._used(), 0
        if not rules.bounded and table.free.all():
            made = sure_moves(
                self.G,
                rules,
                table.arrays,
                table.size,
                self._barred,
                used,
                limit,
                table.slope,
                self._moves,
            )
            table.slopes()
        else:
            rest = (
                table.slope,
                self._barred,
                used,
                -self._worth(table.value),
                table.inverse,
                self._moves,
            )
            best_moves(rules, table.arrays, table.size, *rest)
        return made

    def _attempt(self, position: int, value: float) -> float:
        """Make the best move that takes the unit at a position out; undone unless F falls.

        Returns F.
        """
        table = self.table
        unit, safe = int(self._moves.enter[position]), bool(self._moves.sure[position])
        leaves = position < table.size
        if not safe:
            table.copy_to(self._kept)
        weight = float(table.w[position]) if leaves else 0.0
        if leaves:
            table.leave(position)
        if unit >= 0:
            at = table.join(unit, weight)
            if table.curved(at):
                table.make_free(at)
        feasible = table.within() if unit < 0 or not leaves else True
        after = table.solve_weights() if feasible else math.inf
        if safe or after < value - self._worth(value):
            return after
        self._kept.copy_to(table)
        return value

    def _best_addition(self, used: Indices) -> int:
        """The candidate whose entry lowers F most were no bound met, or -1: h rises by ones_residual² / schur."""
        table, rules = self.table.arrays, self.rules
        fits = (
            (table.ones_residual > 0.0)
            & ~table.inside
            & ~self._barred
            & (table.schur > FLAT * rules.diagonal)
        )
        if len(rules.cap) > 1:
            fits &= self._room(used, self.k)[rules.group]
        gain = np.where(fits, table.ones_residual**2 / np.where(fits, table.schur, 1.0), 0.0)
        unit = int(np.argmax(gain))
        return unit if gain[unit] > 0.0 else -1

    def _room(self, used: Indices, size: int) -> npt.NDArray[np.bool_]:
        """For each group whether one more of its units fits into a support of `size`."""
        spare = np.maximum(used, self.rules.fewest).sum() < size
        return np.asarray((used < self.rules.cap) & (spare | (used < self.rules.fewest)))

    @quiet
    def fill(self, size: int) -> int:
        """Add best candidates until `size` are in; those whose weight meets zero leave.

        How many came in.
        """
        before, size = self.size, min(size, self.k)
        for _ in range(2 * size + 10):
            unit = self._best_addition(self._used()) if self.size < size else -1
            if unit < 0:
                break
            self.table.make_free(self.table.join(unit, 0.0 if self.size else 1.0))
            self.table.solve_weights()
        self._cost(max(self.size - before, 1))
        return self.size - before

    def perturb(self, rng: np.random.Generator, ceiling: float = -math.inf) -> bool:
        """Replace some units, improve, stay if F is lower, or at least below a ceiling.

        Whether the support is new.
        """
        count = int(
            math.exp(
                rng.uniform(
                    0.0, math.log(min(self.k, max(MOST_REPLACED, self.k // MOST_REPLACED)) + 1)
                )
            )
        )
        near, random = bool(rng.random() < SHARE_NEAR), bool(rng.random() < SHARE_RANDOM)
        order = rng.permutation(len(self.units))
        leaving = order[self.table.arrays.inside[order] & ~self.rules.held[order]]
        if near and len(leaving):
            leaving = leaving[np.argsort(-self.G[leaving[0], leaving], kind="stable")]
        return self._replace(leaving, order[::-1] if random else NONE, count, ceiling)

    def replace_lightest(self) -> bool:
        """Replace the lightest units, an eighth of them, then half as many, while that lowers F.

        Whether it did.
        """
        size, better = self.size // 8, False
        while size >= 2 and not self.nothing:
            leaving = self.table.units[np.argsort(self.table.w, kind="stable")]
            made = self._replace(leaving, NONE, size)
            better, size = better or made, size if made else size // 2
        return better

    @quiet
    def _replace(
        self, leaving: Indices, entering: Indices, count: int, ceiling: float = -math.inf
    ) -> bool:
        """Replace `count` units, improve, and stay if F fell or is below the ceiling, else go back.

        Whether it stayed.

        The first units of `leaving`, which are in the support, leave; the first candidates of
        `entering` that fit come in, or where that is empty the best ones that did not just leave.
        """
        table, made = self.table, 0
        before = table.slopes()
        table.copy_to(self._start)
        out = leaving[~self.rules.held[leaving]][: min(count, table.size - 1)]
        self._barred[out] = True
        feasible = self._forced(out, entering)
        if feasible and not entering.size:
            made = self._improve(2 * count)
        self._barred[out] = False
        if feasible:
            made += self._improve(4 * count + 20)
        fell = table.value < before - self._worth(before)
        stays = feasible and (
            fell or before + self._worth(before) < table.value < ceiling + self._shift
        )
        self._cost(made + 1.0 + 0.5 * count)
        if stays:
            self._refresh()
        else:
            self._start.copy_to(table)
        return stays

    def _forced(self, out: Indices, entering: Indices) -> bool:
        """Replace the units `out` by others, whether or not F falls.

        Whether there are weights for the new support.
        """
        table = self.table
        if not self.rules.bounded and table.free.all():
            forced_swaps(
                self.G,
                self.rules,
                table.arrays,
                table.size,
                out,
                entering,
                self._barred,
                self._used(),
            )
        else:
            size = table.size
            for a in np.flatnonzero(~table.free):
                if table.curved(int(a)):
                    table.make_free(int(a))
            for unit in out:
                table.leave(int(np.flatnonzero(table.units == unit)[0]))
            self._enter(entering, size)
        if not (self._allowed() and table.spread()):
            return False
        table.solve_weights()
        return True

    def _enter(self, entering: Indices, size: int) -> None:
        """Put candidates in until there are `size` units: the first of a list that fit, or the best ones."""
        table, rules, used = self.table, self.rules, self._used()
        listed = iter(entering.tolist())
        while table.size < size:
            unit = next(listed, -1) if entering.size else self._best_addition(used)
            if unit < 0:
                return
            if entering.size:
                firm = table.arrays.schur[unit] > FIRM * rules.diagonal[unit]
                if (
                    table.arrays.inside[unit]
                    or not firm
                    or not self._room(used, self.k)[rules.group[unit]]
                ):
                    continue
            table.make_free(table.join(unit, 0.0))
            used[rules.group[unit]] += 1

    def _allowed(self) -> bool:
        """Whether no group lacks units that must have weight."""
        return self.rules.low == 0.0 or bool((self._used() >= self.rules.fewest).all())

    def release(self) -> None:
        """Forget the matrix and the tables, so that those of the next pool take their place in memory."""
        del self.G, self.table, self._start, self._kept


def move_work(k: int, candidates: int) -> float:
    """The work of a move: passes over the table, and what Python does meanwhile."""
    return 8.0 * k * candidates + MOVE_WORK


def regular(G: Matrix) -> tuple[Matrix, float]:
    """G made positive definite in place where F is zero to rounding, and what was added to all entries.

    The shift changes no comparison, the ridge none that matters.
    """
    scale = max(float(np.abs(np.diag(G)).mean()), 1e-100)
    G += SHIFT * scale
    G[np.diag_indices(len(G))] = np.maximum(np.diag(G), SHIFT * scale) + RIDGE * scale
    return np.ascontiguousarray(G), SHIFT * scale


def pool_rules(rules: Rules, units: Indices, diagonal: Vector) -> PoolRules:
    """The rules for some candidates.

    The fewest of groups that have none among them are set aside.
    """
    k = min(rules.sizes[1], len(units))
    group, fewest, cap = np.zeros(len(units), np.int64), np.zeros(1, np.int64), np.array([k])
    if rules.groups is not None:
        present, codes = np.unique(rules.groups[units], return_inverse=True)
        group, fewest, cap = codes.astype(np.int64), rules.fewest[present], rules.caps[present]
        k = min(k, rules.sizes[1] - int(rules.fewest.sum() - fewest.sum()))
    held = np.isin(units, rules.include)
    high = float(rules.max_weight) if rules.max_weight < 1.0 else 2.0
    bounded = bool(rules.bounded or held.any())
    sizes = fewest, cap, k, float(rules.min_weight), high
    return PoolRules(group, held, diagonal, *sizes, bounded, NOISE * float(diagonal.mean()))
