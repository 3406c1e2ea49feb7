"""A support on the move among p candidates, with the responses of all of them kept up to date in a table.

The origin lies in the target, so F(w) = w'Gw on weights of sum one. Each unit of the support S is
free, or rests at a bound. With F the free ones, M = G_FF^-1, u = M 1 and h = 1'u the table keeps,
at one row for each unit of S,

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

from .._compiled.moves import FLAT, INSIDE, SLACK, PoolRules, Table, pivot
from .._validation import Indices, Vector

Matrix = npt.NDArray[np.float64]


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
