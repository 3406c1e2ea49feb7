"""A support on the move among p candidates, with the responses of all of them kept up to date in a table.

The origin lies in the target, so F(w) = w'Gw on weights of sum one. Each unit of the support S is free, or rests at a
bound. With F the free ones, M = G_FF^-1, u = M 1 and h = 1'u the table keeps, at one row for each unit of S,

    free a       T_a = M_a G_FN      how a's weight falls when a candidate takes some
    resting a    T_a = G_aN - G_aF M G_FN      what is left of its inner products

and for each candidate j: curve_j = G_jj - G_jF M G_Fj and edge_j = 1 - G_jF u, and with v_r the weights that rest:

    level = (1 - sum_r v_r edge_r) / h        slope_j = level edge_j - sum_r v_r T_rj
    w_a = level u_a - sum_r v_r T_ar          F = level - sum_r v_r slope_r

slope_j is how fast F falls, halved, when candidate j takes weight from the free ones. One change of S costs a few
passes over (|S|, p). Everything is updated in place. Loops are written out, as each NumPy call compiles functions of
its own.
Sources: block inverses; Goodnight 1979, "A tutorial on the SWEEP operator", for carrying all responses along.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FLAT = 1e-11  # curvature, relative to G_jj, below which a candidate depends on the free units
INSIDE = 1e-13  # a weight this far from its bounds is free
SLACK = 1e-12  # how far sums of bounds may miss one


class Table(NamedTuple):
    """Where the search stands: the first `count[0]` positions are the units of the support."""

    units: Indices  # (k + 1,)
    count: Indices  # (1,)
    free: Mask  # (k + 1,)
    w: Vector  # (k + 1,)
    T: Matrix  # (k + 1, p)
    M: Matrix  # (k + 1, k + 1), zero but for free units
    u: Vector  # (k + 1,), zero but for free units
    curve: Vector  # (p,)
    edge: Vector  # (p,)
    inside: Mask  # (p,)


class Rules(NamedTuple):
    """What supports are allowed: at most k units, `cap` of each group, weights in [low, high], the held ones always."""

    group: Indices  # (p,)
    held: Mask  # (p,)
    diagonal: Vector  # (p,), of G
    groups: int  # how many
    cap: int
    k: int
    low: float
    high: float
    bounded: bool  # whether weights have bounds of their own, or units are held
    noise: float  # an improvement of F below this is rounding


@compiled
def let_go(table: Table, a: int) -> None:
    """Free the resting unit at position a: its weight follows the others from now on.

    With pivot d = T_aa, e = edge_a and v = T_a:  T_b -= T_ba v / d,  M_bc += T_ba T_ca / d,  u_b -= T_ba e / d.
    """
    s, unit = table.count[0], table.units[a]
    T, M, u, free = table.T, table.M, table.u, table.free
    inverse, e = 1.0 / T[a, unit], table.edge[unit]
    row, response = T[a], np.empty(s)
    for b in range(s):
        response[b] = T[b, unit]
    for b in range(s):
        if b == a:
            continue
        part, target = response[b] * inverse, T[b]
        for i in range(row.size):
            target[i] -= part * row[i]
        if free[b]:
            for c in range(s):
                if free[c]:
                    M[b, c] += part * response[c]
            M[b, a] = M[a, b] = -part
            u[b] -= part * e
            target[unit] = 0.0
    M[a, a], u[a], free[a] = inverse, e * inverse, True
    for i in range(row.size):
        part = row[i] * inverse
        table.curve[i] -= row[i] * part
        table.edge[i] -= part * e
        row[i] = part
    table.edge[unit] = table.curve[unit] = 0.0


@compiled
def lay_down(table: Table, a: int) -> None:
    """Let the free unit at position a rest: its weight stays from now on.

    With m = M_aa and v = T_a:  T_b -= M_ba v / m (free b),  T_b += v_b v / m (resting b),  M_bc -= M_ba M_ac / m.
    """
    s = table.count[0]
    T, M, u, free = table.T, table.M, table.u, table.free
    inverse = 1.0 / M[a, a] if M[a, a] > 0.0 else 0.0  # what rounding has spoilt must not end the search
    row, mine, weight = T[a], np.empty(s), u[a]
    for b in range(s):
        mine[b] = M[a, b]
    free[a] = False
    for b in range(s):
        if b == a:
            continue
        part, target = (-mine[b] if free[b] else row[table.units[b]]) * inverse, T[b]
        for i in range(row.size):
            target[i] += part * row[i]
        if free[b]:
            for c in range(s):
                if free[c]:
                    M[b, c] += part * mine[c]
            u[b] += part * weight
    for i in range(row.size):
        part = row[i] * inverse
        table.curve[i] += row[i] * part
        table.edge[i] += part * weight
        row[i] = part
    for b in range(s):
        M[a, b] = M[b, a] = 0.0
    u[a] = 0.0


@compiled
def join(G: Matrix, table: Table, unit: int, weight: float) -> None:
    """Put a candidate into the support at the last position, resting at a weight.  G: (p, p)."""
    s = table.count[0]
    row, mine = table.T[s], G[unit]
    for i in range(row.size):
        row[i] = mine[i]
    for a in range(s):
        if table.free[a]:
            g, other = G[unit, table.units[a]], table.T[a]
            for i in range(row.size):
                row[i] -= g * other[i]
    for a in range(s + 1):
        table.M[s, a] = table.M[a, s] = 0.0
    table.units[s], table.free[s], table.w[s], table.u[s] = unit, False, weight, 0.0
    table.inside[unit], table.count[0] = True, s + 1


@compiled
def leave(table: Table, a: int) -> None:
    """Take the unit at position a out of the support; the last one moves to its place."""
    if table.free[a]:
        lay_down(table, a)
    s = table.count[0] - 1
    table.inside[table.units[a]] = False
    if a < s:
        table.units[a], table.free[a], table.w[a], table.u[a] = table.units[s], table.free[s], table.w[s], table.u[s]
        row, last = table.T[a], table.T[s]
        for i in range(row.size):
            row[i] = last[i]
        corner = table.M[s, s]
        for b in range(s):
            table.M[a, b] = table.M[b, a] = table.M[s, b]
        table.M[a, a] = corner
    table.count[0] = s


@compiled
def slopes(table: Table, slope: Vector) -> tuple[float, float, float]:
    """The slopes of all candidates, into slope (p,); returns (F, level, 1 / h), the latter two 0 where no unit is free.

    See the formulas at the top of the file.
    """
    s, h, rest = table.count[0], 0.0, 0.0
    for a in range(s):
        if table.free[a]:
            h += table.u[a]
        else:
            rest += table.w[a] * table.edge[table.units[a]]
    inverse = 1.0 / h if h > 0.0 else 0.0
    level = (1.0 - rest) * inverse
    for j in range(slope.size):
        slope[j] = level * table.edge[j]
    for a in range(s):
        if not table.free[a] and table.w[a] != 0.0:
            weight, row = table.w[a], table.T[a]
            for j in range(slope.size):
                slope[j] -= weight * row[j]
    value = level
    for a in range(s):
        if not table.free[a]:
            value -= table.w[a] * slope[table.units[a]]
    return value, level, inverse


@compiled
def within(rules: Rules, table: Table) -> bool:
    """Bring the weights into their bounds and to sum one, in place; whether that is possible.

    w = clip(w, low, high), then what is missing from (or above) one is shared in proportion to the room each has.
    """
    s = table.count[0]
    if s == 0 or s * rules.low > 1.0 + SLACK or s * rules.high < 1.0 - SLACK:
        return False
    w, missing, room = table.w, 1.0, 0.0
    for a in range(s):
        w[a] = min(max(w[a], rules.low), rules.high)
        missing -= w[a]
    for a in range(s):
        room += rules.high - w[a] if missing > 0.0 else w[a] - rules.low
    if room > 0.0:
        for a in range(s):
            w[a] += missing / room * (rules.high - w[a] if missing > 0.0 else w[a] - rules.low)
    return True


@compiled
def advance(rules: Rules, table: Table, level: float) -> bool:
    """Move the free weights towards the best ones as far as the bounds allow; whether a bound was met.

    The unit that meets it rests there; one that meets zero leaves, unless it is held.
    Source: Nocedal & Wright 2006, sec. 16.5 (ratio test).
    """
    s, length, stop, wall = table.count[0], 1.0, np.int64(-1), 0.0
    step = np.empty(s)
    for a in range(s):
        step[a] = 0.0
        if not table.free[a]:
            continue
        best = level * table.u[a]
        for b in range(s):
            if not table.free[b]:
                best -= table.w[b] * table.T[a, table.units[b]]
        step[a] = best - table.w[a]
        if rules.low < best < rules.high or (best == table.w[a] and best > 0.0):
            continue
        bound = rules.low if best <= rules.low else rules.high
        ratio = max((bound - table.w[a]) / step[a], 0.0) if step[a] != 0.0 else 0.0
        if stop < 0 or ratio < length:
            length, stop, wall = ratio, a, bound
    for a in range(s):
        table.w[a] += length * step[a]
    if stop < 0:
        return False
    table.w[stop] = wall
    lay_down(table, stop)
    if wall == 0.0 and not rules.held[table.units[stop]]:
        leave(table, stop)
    return True


@compiled
def slide(rules: Rules, table: Table, slope: Vector) -> float:
    """Walk to the best weights on the support from feasible ones; returns F.

    Steps to the best free weights, laying down what meets a bound, then letting go resting units that would gain by
    leaving theirs.  slope: (p,) is left up to date.
    """
    for _ in range(6 * table.count[0] + 20):
        value, level, _ = slopes(table, slope)
        if level != 0.0 and advance(rules, table, level):
            continue
        best, pick, low = 0.0, np.int64(-1), np.int64(-1)
        for a in range(table.count[0]):
            unit = table.units[a]
            if table.free[a]:
                continue
            if table.w[a] > rules.low + INSIDE and (low < 0 or slope[unit] < slope[table.units[low]]):
                low = a
            moves = table.w[a] < rules.high - INSIDE if slope[unit] > 0.0 else table.w[a] > rules.low + INSIDE
            curved = table.T[a, unit] > FLAT * rules.diagonal[unit]
            if moves and curved and abs(slope[unit]) > max(best, INSIDE * rules.diagonal[unit]):
                best, pick = abs(slope[unit]), a
        if level == 0.0:  # all rest: the one that gives most willingly goes first
            pick = low
            if low >= 0 and not table.T[low, table.units[low]] > FLAT * rules.diagonal[table.units[low]]:
                return value
        if pick < 0:
            return value
        let_go(table, pick)
    return slopes(table, slope)[0]


@compiled
def copied(source: Table, target: Table) -> None:
    """Copy one table onto another, in place."""
    target.count[0] = source.count[0]
    for a in range(source.count[0]):
        target.units[a], target.free[a], target.w[a] = source.units[a], source.free[a], source.w[a]
        target.u[a] = source.u[a]
        here, there = source.T[a], target.T[a]
        for i in range(here.size):
            there[i] = here[i]
        for b in range(source.count[0]):
            target.M[a, b] = source.M[a, b]
    for i in range(source.curve.size):
        target.curve[i], target.edge[i], target.inside[i] = source.curve[i], source.edge[i], source.inside[i]
