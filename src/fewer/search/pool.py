"""Local search among supports in a pool of candidates whose whole matrix fits.

A move takes a unit out, puts a candidate in, or both. It is valued by the response table as if no
further bound were met, which is exact where all other weights stay inside theirs; such a move is
made at once. Any other is tried, and undone unless it lowers F.

The table: the origin lies in the target, so F(w) = w'Gw on weights of sum one. Each unit of the
support S is free, or rests at a bound. With F the free ones, M = G_FF^-1, u = M 1 and h = 1'u it
keeps, at one row for each unit of S,

    free a       T_a = M_a G_FN      how a's weight falls when a candidate takes some
    resting a    T_a = G_aN - G_aF M G_FN      what is left of its inner products

for each candidate j: schur_j = G_jj - G_jF M G_Fj and ones_residual_j = 1 - G_jF u, and with v_r
the weights that rest:

    multiplier = (1 - sum_r v_r ones_residual_r) / h        slope_j = multiplier ones_residual_j - sum_r v_r T_rj
    w_a = multiplier u_a - sum_r v_r T_ar          F = multiplier - sum_r v_r slope_r

slope_j is how fast F falls, halved, when candidate j takes weight from the free ones. One change of
S costs a few passes over (|S|, p). Sources: block inverses; Goodnight 1979, "A tutorial on the
SWEEP operator", for carrying all responses along.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from .._compiled.moves import (
    CLOSE,
    FIRM,
    FLAT,
    INSIDE,
    SLACK,
    Moves,
    PoolRules,
    Table,
    best_moves,
    forced_swaps,
    pivot,
    sure_moves,
)
from .._validation import Indices, Vector
from ..active_set import box_weights
from ..protocols import Quadratic
from ..rules import NO_UNITS, Rules
from .fits import Matrix, target_gram

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
quiet = np.errstate(divide="ignore", invalid="ignore", over="ignore")
"""What rounding has spoilt gives an infinity or NaN, which no comparison takes for an improvement.
"""


class ResponseTable:
    """The support, its weights, and the table; everything is updated in place.

    `slope` (p,), `value`, `multiplier` and `inverse` (1 / h) are those of the last call of
    `slopes`; `pivots` counts the units that were made free or fixed at a bound one by one.
    """

    def __init__(self, G: Matrix, rules: PoolRules) -> None:
        p, k = len(G), rules.k
        self.G, self.rules, self.size = G, rules, 0
        square, wide = np.zeros((k + 1, k + 1)), np.zeros((k + 1, p))
        self.arrays = Table(
            np.zeros(k + 1, np.int64),
            np.zeros(k + 1, np.bool_),
            np.zeros(k + 1),
            wide,
            square,
            np.zeros(k + 1),
            rules.diagonal.copy(),
            np.ones(p),
            np.zeros(p, np.bool_),
        )
        self.slope, self.value, self.multiplier, self.inverse = np.zeros(p), math.inf, 0.0, 0.0
        self.pivots = 0

    @property
    def units(self) -> Indices:
        """The units of the support, in the order of the table's rows."""
        return self.arrays.units[: self.size]

    @property
    def free(self) -> npt.NDArray[np.bool_]:
        """Which of them are free."""
        return self.arrays.free[: self.size]

    @property
    def w(self) -> Vector:
        """Their weights."""
        return self.arrays.w[: self.size]

    def copy_to(self, other: "ResponseTable") -> None:
        """Copy the table onto another of the same shape."""
        s = other.size = self.size
        for here, there in zip(self.arrays, other.arrays, strict=True):
            if here.ndim == 2:
                there[:s] = here[:s]
            else:
                there[:] = here
        other.value, other.multiplier, other.inverse = self.value, self.multiplier, self.inverse
        other.slope[:] = self.slope

    def refactorise(self, inside: Indices, w: Vector) -> None:
        """The table of a support and its weights afresh; free units that depend on others rest."""
        G, rules, table, s = self.G, self.rules, self.arrays, len(inside)
        free = (w > rules.low + INSIDE) & (w < rules.high - INSIDE)
        self.size, table.inside[:] = s, False
        table.units[:s], table.w[:s], table.inside[inside] = inside, w, True
        table.M[:], table.u[:], table.free[:] = 0.0, 0.0, False
        F, rest = np.flatnonzero(free), np.flatnonzero(~free)
        try:
            factor = cho_factor(G[np.ix_(inside[F], inside[F])], lower=True) if F.size else None
        except np.linalg.LinAlgError:
            factor = None
        if factor is None:
            table.T[:s], table.schur[:], table.ones_residual[:] = G[inside], rules.diagonal, 1.0
            for a in F:
                if self.curved(int(a)):
                    self.make_free(int(a))
            return
        right = G[inside[F]]
        M = cho_solve(factor, np.eye(F.size))
        R, u = M @ right, cho_solve(factor, np.ones(F.size))
        table.M[np.ix_(F, F)], table.T[F], table.u[F], table.free[F] = M, R, u, True
        table.T[rest] = G[inside[rest]] - G[np.ix_(inside[rest], inside[F])] @ R
        table.schur[:] = np.maximum(rules.diagonal - np.einsum("ij,ij->j", right, R), 0.0)
        table.ones_residual[:] = 1.0 - u @ right
        table.schur[inside[F]] = table.ones_residual[inside[F]] = 0.0

    def curved(self, a: int) -> bool:
        """Whether the resting unit at a position is independent of the free ones."""
        unit = self.arrays.units[a]
        return bool(self.arrays.T[a, unit] > FLAT * self.rules.diagonal[unit])

    def make_free(self, a: int) -> None:
        """Free the resting unit at position a: its weight follows the others from now on.

        With pivot d = T_aa, e = ones_residual_a and v = T_a:  T_b -= T_ba v / d,  M_bc += T_ba T_ca
        / d, u_b -= T_ba e / d.
        """
        s, table = self.size, self.arrays
        self.pivots += 1
        unit, free = table.units[a], self.free
        inverse, e = 1.0 / table.T[a, unit], float(table.ones_residual[unit])
        part = table.T[:s, unit] * -inverse
        moved = np.where(free, part, 0.0)
        pivot(table.T[:s], a, part, inverse, table.schur, table.ones_residual, -1.0, -e)
        table.M[:s, :s] += np.multiply.outer(moved, moved / inverse)
        table.M[a, :s] = table.M[:s, a] = moved
        table.u[:s] += moved * e
        table.T[:s, unit][free] = 0.0
        table.M[a, a], table.u[a], free[a] = inverse, e * inverse, True
        table.ones_residual[unit] = table.schur[unit] = 0.0

    def fix_at_bound(self, a: int) -> None:
        """Let the free unit at position a rest: its weight stays from now on.

        With m = M_aa and v = T_a:  T_b -= M_ba v / m (free b),  T_b += v_b v / m (resting b),  M_bc
        -= M_ba M_ac / m.
        """
        s, table = self.size, self.arrays
        self.pivots += 1
        inverse = (
            1.0 / table.M[a, a] if table.M[a, a] > 0.0 else 0.0
        )  # spoilt by rounding: must not end the search
        weight, free = float(table.u[a]), self.free
        free[a] = False
        mine = np.where(free, table.M[a, :s], 0.0)
        part = np.where(free, -mine, table.T[a, self.units]) * inverse
        pivot(table.T[:s], a, part, inverse, table.schur, table.ones_residual, 1.0, weight)
        table.M[:s, :s] -= np.multiply.outer(mine * inverse, mine)
        table.u[:s] -= mine * (inverse * weight)
        table.M[a, :s] = table.M[:s, a] = 0.0
        table.u[a] = 0.0

    def join(self, unit: int, weight: float) -> int:
        """Put a candidate into the support, resting at a weight; its position, the last one."""
        s, table = self.size, self.arrays
        table.T[s] = self.G[unit] - np.where(self.free, self.G[unit, self.units], 0.0) @ table.T[:s]
        table.M[s] = table.M[:, s] = 0.0
        table.units[s], table.free[s], table.w[s], table.u[s] = unit, False, weight, 0.0
        table.inside[unit], self.size = True, s + 1
        return s

    def leave(self, a: int) -> None:
        """Take the unit at position a out of the support; the last one moves to its place."""
        table, s = self.arrays, self.size - 1
        if table.free[a]:
            self.fix_at_bound(a)
        table.inside[table.units[a]] = False
        if a < s:
            for array in (table.units, table.free, table.w, table.u, table.T):
                array[a] = array[s]
            row = table.M[s, : s + 1].copy()
            row[a] = row[s]
            table.M[a, :s] = table.M[:s, a] = row[:s]
        self.size = s

    def slopes(self) -> float:
        """F.

        Brings the slopes, the multiplier and 1 / h (both 0 where no unit is free) up to date.
        """
        table, s = self.arrays, self.size
        h = float(table.u[:s].sum())
        self.inverse = 1.0 / h if h > 0.0 else 0.0
        rest = np.flatnonzero(~self.free & (self.w != 0.0))
        if not len(rest):
            self.value = self.multiplier = self.inverse
            np.multiply(table.ones_residual, self.multiplier, out=self.slope)
            return self.value
        w, units = table.w[rest], table.units[rest]
        self.multiplier = (1.0 - float(w @ table.ones_residual[units])) * self.inverse
        np.multiply(table.ones_residual, self.multiplier, out=self.slope)
        self.slope -= w @ table.T[rest]
        self.value = self.multiplier - float(w @ self.slope[units])
        return self.value

    def within(self) -> bool:
        """Bring the weights into their bounds and to sum one; whether that is possible.

        w = clip(w, low, high), then what is missing from (or above) one is shared in proportion to
        the room each has.
        """
        s, low, high, w = self.size, self.rules.low, self.rules.high, self.w
        if s == 0 or s * low > 1.0 + SLACK or s * high < 1.0 - SLACK:
            return False
        np.clip(w, low, high, out=w)
        missing = 1.0 - float(w.sum())
        room = high - w if missing > 0.0 else w - low
        if room.sum() > 0.0:
            w += missing / room.sum() * room
        return True

    def advance(self) -> bool:
        """Move the free weights towards the best ones as far as the bounds allow.

        Whether a bound was met.

        The unit that meets it rests there; one that meets zero leaves, unless it is held.
        Source: Nocedal & Wright 2006, sec. 16.5 (ratio test).
        """
        table, s, low, high = self.arrays, self.size, self.rules.low, self.rules.high
        free, w = self.free, self.w
        best, rest = self.multiplier * table.u[:s], np.flatnonzero(~free)
        if len(rest):
            best -= table.T[:s, self.units[rest]] @ w[rest]
        step = np.where(free, best - w, 0.0)
        hit = np.flatnonzero(
            free & ~(((low < best) & (best < high)) | ((step == 0.0) & (best > 0.0)))
        )
        if not len(hit):
            w += step
            return False
        wall = np.where(best[hit] <= low, low, high)
        moves = step[hit] != 0.0
        ratio = np.where(
            moves, np.maximum((wall - w[hit]) / np.where(moves, step[hit], 1.0), 0.0), 0.0
        )
        first = int(np.argmin(ratio))
        stop = int(hit[first])
        w += ratio[first] * step
        w[stop] = wall[first]
        self.fix_at_bound(stop)
        if wall[first] == 0.0 and not self.rules.held[table.units[stop]]:
            self.leave(stop)
        return True

    def solve_weights(self) -> float:
        """Walk to the best weights on the support from feasible ones; returns F.

        Steps to the best free weights, fixing what meets a bound there, then making those resting
        units free that would gain by leaving theirs.
        """
        for _ in range(6 * self.size + 20):
            self.slopes()
            if self.multiplier != 0.0 and self.advance():
                continue
            pick = self._entering_unit()
            if pick < 0:
                return self.value
            self.make_free(pick)
        return self.slopes()

    def _entering_unit(self) -> int:
        """The resting unit that gains most by leaving its bound.

        Where all rest the one whose loss costs least.
        """
        rules, rest = self.rules, np.flatnonzero(~self.free)
        if not len(rest):
            return -1
        units, w = self.units[rest], self.w[rest]
        slope, diagonal = self.slope[units], rules.diagonal[units]
        curved = self.arrays.T[rest, units] > FLAT * diagonal
        lower = w > rules.low + INSIDE
        if self.multiplier == 0.0:
            at = int(np.argmin(np.where(lower, slope, np.inf)))
            return int(rest[at]) if lower[at] and curved[at] else -1
        gain = np.abs(slope)
        moves = (
            np.where(slope > 0.0, w < rules.high - INSIDE, lower)
            & curved
            & (gain > INSIDE * diagonal)
        )
        at = int(np.argmax(np.where(moves, gain, 0.0)))
        return int(rest[at]) if moves[at] else -1

    def spread(self) -> bool:
        """Give all units the weights that are best without bounds, brought into them.

        Whether that is possible.

        Units at a bound rest there; those at zero leave, unless they are held.
        """
        table, s, rules = self.arrays, self.size, self.rules
        h = float(table.u[:s].sum())
        if not h > 0.0:
            return False
        table.w[:s] = np.where(self.free, table.u[:s] / h, rules.low)
        if not self.within():
            return False
        at_bound = (self.w <= rules.low + INSIDE) | (self.w >= rules.high - INSIDE)
        for a in np.flatnonzero(self.free & at_bound)[::-1]:
            self.fix_at_bound(int(a))
            if table.w[a] == 0.0 and not rules.held[table.units[a]]:
                self.leave(int(a))
        return True


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
        return self._replace(leaving, order[::-1] if random else NO_UNITS, count, ceiling)

    def replace_lightest(self) -> bool:
        """Replace the lightest units, an eighth of them, then half as many, while that lowers F.

        Whether it did.
        """
        size, better = self.size // 8, False
        while size >= 2 and not self.nothing:
            leaving = self.table.units[np.argsort(self.table.w, kind="stable")]
            made = self._replace(leaving, NO_UNITS, size)
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
    group, caps, least = rules.classes
    present, codes = np.unique(group[units], return_inverse=True)
    fewest, cap = least[present], caps[present]
    k = min(len(units), rules.sizes[1] - int(least.sum() - fewest.sum()))
    held = np.isin(units, rules.include)
    high = float(rules.max_weight) if rules.max_weight < 1.0 else 2.0
    bounded = bool(rules.bounded or held.any())
    sizes = fewest, cap, k, float(rules.min_weight), high
    return PoolRules(
        codes.astype(np.int64), held, diagonal, *sizes, bounded, NOISE * float(diagonal.mean())
    )
