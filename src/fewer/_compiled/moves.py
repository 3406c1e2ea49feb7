"""Inner loops of a local search: pivots of the response table (search/response_table.py), and the values of moves.

Loops are written out, as each NumPy call compiles functions of its own.
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
CLOSE = 1e-9  # a smaller relative improvement is none
FIRM = 1e-6  # the same for candidates that come in at random
SURE_TRIES = 4  # candidates for a unit's place looked at for one that turns no weight negative


class Table(NamedTuple):
    """Where the search stands: the units of the support are the first ones of `units`."""

    units: Indices  # (k + 1,)
    free: Mask  # (k + 1,)
    w: Vector  # (k + 1,)
    T: Matrix  # (k + 1, p)
    M: Matrix  # (k + 1, k + 1), zero but for free units
    u: Vector  # (k + 1,), zero but for free units
    schur: Vector  # (p,)
    ones_residual: Vector  # (p,)
    inside: Mask  # (p,)


class PoolRules(NamedTuple):
    """What supports are allowed: at most k units, some of each group, weights in [low, high], the held ones always.

    A group that has fewer than its fewest takes up as many as that of the k; where low > 0 it never
    has fewer.
    """

    group: Indices  # (p,)
    held: Mask  # (p,)
    diagonal: Vector  # (p,), of G
    fewest: Indices  # (groups,)
    cap: Indices  # (groups,)
    k: int
    low: float
    high: float
    bounded: bool  # whether weights have bounds of their own, or units are held
    noise: float  # an improvement of F below this is rounding


class Moves(NamedTuple):
    """For each unit of the support, and at the end for none, the best move that takes it out."""

    change: Vector  # (k + 2,), of F; infinity where there is no move
    enter: Indices  # (k + 2,), the candidate that comes in; -1 for none
    share: Vector  # (k + 2,), and its weight
    sure: Mask  # (k + 2,), whether all weights stay inside their bounds and none rests


@compiled
def add(target: Vector, x: float, row: Vector) -> None:
    """target += x row, in place."""
    for i in range(row.size):
        target[i] += x * row[i]


@compiled
def pivot(
    T: Matrix,
    a: int,
    part: Vector,
    inverse: float,
    schur: Vector,
    ones_residual: Vector,
    bend: float,
    tilt: float,
) -> None:
    """T_b += part_b T_a for b != a, schur += bend T_a^2 / d, ones_residual += tilt T_a / d, T_a /= d, in place.

    T: (s, p).
    """
    row = T[a]
    for b in range(part.size):
        if b != a and part[b] != 0.0:
            add(T[b], part[b], row)
    for i in range(row.size):
        x = row[i] * inverse
        schur[i] += bend * row[i] * x
        ones_residual[i] += tilt * x
        row[i] = x


@compiled
def sure(
    rules: PoolRules, table: Table, s: int, a: int, unit: int, inverse: float, t: float
) -> bool:
    """Whether all weights stay inside their bounds, and none rests, when a candidate takes t and a's place."""
    low, high = rules.low + INSIDE, rules.high - INSIDE
    if not low < t < high:
        return False
    u, lift = table.u, table.ones_residual[unit] * inverse
    pushed = 0.0
    if a >= 0:
        q = max(table.M[a, a] - u[a] * u[a] * inverse, 1e-300)
        pushed = (table.w[a] - (table.T[a, unit] + u[a] * lift) * t) / q
    for b in range(s):
        w = table.w[b] - (table.T[b, unit] + u[b] * lift) * t
        if a >= 0:
            w -= (table.M[b, a] - u[b] * u[a] * inverse) * pushed
        if not table.free[b] or (b != a and not low < w < high):
            return False
    return True


@compiled
def spare_units(rules: PoolRules, used: Indices, s: int) -> int:
    """How many of the k units are left when each group has its fewest; used: (groups,)."""
    spare = rules.k - s
    for g in range(used.size):
        spare -= max(rules.fewest[g] - used[g], 0)
    return spare


@compiled
def best_moves(
    rules: PoolRules,
    table: Table,
    s: int,
    slope: Vector,
    barred: Mask,
    used: Indices,
    least: float,
    h: float,
    moves: Moves,
) -> None:
    """For each unit that may leave, and at the end for none, the best candidate to come in, into `moves`.

    F changes by the minimum over low <= t <= high of (c_j + A x_j^2) t^2 - 2 (slope_j + B x_j) t +
    C when candidate j takes t and the place of unit a: c_j = schur_j + ones_residual_j^2 / h is the
    curvature of entering and x_j the response of a.  Free a: A = 1 / q, B = w_a / q, C = w_a^2 / q
    with q = M_aa - u_a^2 / h.  Resting a: A = 0, B = w_a, C = w_a (2 slope_a + c_a w_a).  Where no
    free weight could take up what a leaves, t = w_a.  C is the change when a leaves alone.  Only
    changes below `least` count.  Candidates of `barred` (p,) may not come in; used: (groups,) is
    how many of each group are in; `h` is 1 / h, 0 where no unit is free.
    """
    p, free, ones_residual, schur = slope.size, 0, table.ones_residual, table.schur
    values, shares = np.empty(p), np.empty(p)
    for a in range(s):
        free += table.free[a]
    spare = spare_units(rules, used, s)
    for position in range(s + 1):
        a, mine = (position if position < s else np.int64(-1)), np.int64(-1)
        moves.change[position], moves.enter[position], moves.share[position] = np.inf, -1, 0.0
        moves.sure[position] = False
        A = B = C = ratio = 0.0
        low, high, row, tied, opens, bound = (
            rules.low,
            rules.high,
            table.T[max(a, 0)],
            False,
            spare > 0,
            False,
        )
        if a >= 0:
            unit, w = table.units[a], table.w[a]
            mine, tied = rules.group[unit], free - int(table.free[a]) == 0
            bound = (
                rules.low > 0.0 and used[mine] <= rules.fewest[mine]
            )  # only its own group may follow it
            opens = used[mine] > rules.fewest[mine] or (opens and not bound)
            if rules.held[unit]:
                continue
            if tied:
                low = high = w
            if not table.free[a]:
                ratio, B = ones_residual[unit] * h, w
                C = w * (
                    2.0 * slope[unit]
                    + (row[unit] + ones_residual[unit] * ones_residual[unit] * h) * w
                )
            else:
                ratio = table.u[a] * h
                if not tied:
                    A = 1.0 / max(table.M[a, a] - table.u[a] * ratio, 1e-300)
                    B, C = A * w, A * w * w
        elif not (s < rules.k and (s + 1) * rules.low <= 1.0 + SLACK):
            continue
        for j in range(p):
            x = row[j] + ratio * ones_residual[j]
            bend = max(
                schur[j] + h * ones_residual[j] * ones_residual[j] + A * x * x,
                FLAT * rules.diagonal[j],
            )
            pull = slope[j] + B * x
            t = min(max(pull / bend, low), high)
            shares[j] = t
            values[j] = C + t * (bend * t - 2.0 * pull)
        best = least
        for turn in range(1 if rules.bounded or a < 0 else SURE_TRIES):
            found, pick = least, np.int64(-1)
            for j in range(p):
                if values[j] < found and not table.inside[j] and not barred[j]:
                    g = rules.group[j]
                    if g == mine or (
                        used[g] < rules.cap[g]
                        and (opens or (used[g] < rules.fewest[g] and not bound))
                    ):
                        found, pick = values[j], j
            if pick < 0:
                break
            fits = sure(rules, table, s, a, pick, h, shares[pick])
            if turn == 0 or fits:
                best, moves.enter[position], moves.share[position] = found, pick, shares[pick]
                moves.sure[position] = fits
            if fits:
                break
            values[pick] = np.inf
        if a >= 0 and not tied and not bound and best > C and (s - 1) * rules.high >= 1.0 - SLACK:
            best, moves.enter[position], moves.sure[position] = C, -1, False
        if best < least:
            moves.change[position] = best


@compiled
def swap(G: Matrix, table: Table, s: int, a: int, unit: int) -> None:
    """Put a candidate in the place of the free unit at position a, in place; all units are free.

    G: (p, p).

    That unit is fixed at its bound, the row of the candidate takes its place, and the candidate is
    made free: two pivots.
    """
    T, M, u, ones_residual = table.T[:s], table.M[:s, :s], table.u, table.ones_residual
    mine, weight, inverse = M[a].copy(), u[a], 1.0 / M[a, a] if M[a, a] > 0.0 else 0.0
    part = -inverse * mine
    part[a] = 0.0
    pivot(T, a, part, inverse, table.schur, ones_residual, 1.0, weight)
    fresh = G[unit].copy()
    for b in range(s):
        if b != a:
            add(M[b], part[b], mine)
            u[b] += part[b] * weight
            add(fresh, -G[unit, table.units[b]], T[b])
    T[a] = fresh
    response, inverse, e = T[:, unit].copy(), 1.0 / fresh[unit], ones_residual[unit]
    part = -inverse * response
    pivot(T, a, part, inverse, table.schur, ones_residual, -1.0, -e)
    for b in range(s):
        if b != a:
            add(M[b], -part[b], response)
            u[b] += part[b] * e
            T[b, unit], M[b, a], M[a, b] = 0.0, part[b], part[b]
    M[a, a], u[a] = inverse, e * inverse
    ones_residual[unit] = table.schur[unit] = 0.0
    table.inside[table.units[a]], table.inside[unit], table.units[a] = False, True, unit


@compiled
def best_entry(
    rules: PoolRules, table: Table, a: int, value: float, barred: Mask, used: Indices, opens: bool
) -> int:
    """The candidate that lowers F most when it takes the place of the unit at position a, or -1.

    All units are free.

    The formulas of `best_moves`, where `value` = F = 1 / h and no weight has bounds.  `opens`:
    whether it may be of a group that has its fewest.
    """
    u, ones_residual, row = table.u[a], table.ones_residual, table.T[a]
    A, mine = 1.0 / max(table.M[a, a] - u * u * value, 1e-300), rules.group[table.units[a]]
    best, pick = 0.0, np.int64(-1)
    for j in range(ones_residual.size):
        x = row[j] + u * value * ones_residual[j]
        bend = max(
            table.schur[j] + value * ones_residual[j] * ones_residual[j] + A * x * x,
            FLAT * rules.diagonal[j],
        )
        pull = value * (ones_residual[j] + A * u * x)
        if pull * abs(pull) > best * bend and not table.inside[j] and not barred[j]:
            g = rules.group[j]
            if g == mine or (used[g] < rules.cap[g] and (opens or used[g] < rules.fewest[g])):
                best, pick = pull * pull / bend, j
    return pick


@compiled
def forced_swaps(
    G: Matrix,
    rules: PoolRules,
    table: Table,
    s: int,
    out: Indices,
    listed: Indices,
    barred: Mask,
    used: Indices,
) -> None:
    """Put other candidates in the places of the units `out`, whether or not F falls.

    All units are free.

    The first of `listed` that fit come in, or where that is empty the best ones.  `used` is brought
    up to date.
    """
    at = 0
    for unit in out:
        a, h, pick = np.int64(0), 0.0, np.int64(-1)
        for b in range(s):
            a, h = (b if table.units[b] == unit else a), h + table.u[b]
        mine = rules.group[unit]
        opens = used[mine] > rules.fewest[mine] or spare_units(rules, used, s) > 0
        while at < listed.size and pick < 0:
            j, at = listed[at], at + 1
            if not table.inside[j] and not barred[j] and table.schur[j] > FIRM * rules.diagonal[j]:
                g = rules.group[j]
                if g == mine or (used[g] < rules.cap[g] and (opens or used[g] < rules.fewest[g])):
                    pick = j
        if listed.size == 0:
            pick = best_entry(rules, table, a, 1.0 / h, barred, used, opens)
        if pick >= 0:
            used[mine] -= 1
            used[rules.group[pick]] += 1
            swap(G, table, s, a, pick)


@compiled
def sure_moves(
    G: Matrix,
    rules: PoolRules,
    table: Table,
    s: int,
    barred: Mask,
    used: Indices,
    limit: int,
    slope: Vector,
    moves: Moves,
) -> int:
    """Best swaps that keep all weights inside their bounds, at most `limit`; how many were made.

    All units are free.

    It ends where no such swap lowers F, or where adding a unit lowers it more; `moves` are then
    those of where it stands.  G: (p, p); slope: (p,) and used: (groups,) are brought up to date.
    """
    made, before = 0, np.inf
    while True:
        h = 0.0
        for a in range(s):
            h += table.u[a]
        value = 1.0 / h
        for a in range(s):
            table.w[a] = value * table.u[a]
        for j in range(slope.size):
            slope[j] = value * table.ones_residual[j]
        best_moves(
            rules, table, s, slope, barred, used, -(CLOSE * value + rules.noise), value, moves
        )
        best, position = moves.change[s], np.int64(-1)
        for a in range(s):
            if moves.sure[a] and moves.change[a] < best:
                best, position = moves.change[a], a
        if position < 0 or made >= limit or not value < before:
            return made
        unit, made, before = moves.enter[position], made + 1, value
        used[rules.group[table.units[position]]] -= 1
        used[rules.group[unit]] += 1
        swap(G, table, s, position, unit)
