"""Local search among supports in a pool of candidates: moves valued by the response table, then made.

A move takes a unit out, puts a candidate in, or both. It is valued as if no further bound were met, which is exact
where all other weights stay inside theirs; such a move is made at once. Any other is tried, and undone unless it lowers
F.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._compile import compiled
from .response_table import (
    FLAT,
    INSIDE,
    SLACK,
    Rules,
    Table,
    copied,
    join,
    lay_down,
    leave,
    let_go,
    slide,
    slopes,
    within,
)

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

CLOSE = 1e-9  # a smaller relative improvement is none
TRIES = 6  # moves tried before a round is given up
SURE_TRIES = 4  # candidates for a unit's place looked at for one that turns no weight negative
FIRM = 1e-6  # curvature, relative to G_jj, of candidates that come in at random


class Moves(NamedTuple):
    """For each unit of the support, and at the end for none, the best move that takes it out."""

    change: Vector  # (k + 2,), of F
    enter: Indices  # (k + 2,), the candidate that comes in
    share: Vector  # (k + 2,), and its weight


@compiled
def worth(rules: Rules, value: float) -> float:
    """The least fall of F that is an improvement."""
    return CLOSE * value + rules.noise


@compiled
def used(rules: Rules, table: Table) -> Indices:
    """How many units of each group are in the support, (groups,)."""
    count = np.empty(rules.groups, np.int64)
    for g in range(count.size):
        count[g] = 0
    for a in range(table.count[0]):
        count[rules.group[table.units[a]]] += 1
    return count


@compiled
def move_values(
    rules: Rules, table: Table, a: int, slope: Vector, inverse: float, tied: bool, values: Vector, shares: Vector
) -> float:
    """How F changes when each candidate takes the place of the unit at position a (-1: of none), into values (p,).

    min over low <= t <= high of (c_j + A x_j^2) t^2 - 2 (slope_j + B x_j) t + C, with c_j = curve_j + edge_j^2 / h the
    curvature of entering and x_j the response of unit a.  Free a: A = 1 / q, B = w_a / q, C = w_a^2 / q with
    q = M_aa - u_a^2 / h.  Resting a: A = 0, B = w_a, C = w_a (2 slope_a + c_a w_a).  Where no free weight could take up
    what a leaves (`tied`), t = w_a.  shares (p,) become the t.  Returns C, the change when a leaves alone.
    """
    edge, curve, low, high = table.edge, table.curve, rules.low, rules.high
    A = B = C = ratio = 0.0
    row = table.T[max(a, 0)]
    if a >= 0:
        unit, w = table.units[a], table.w[a]
        if tied:
            low = high = w
        if not table.free[a]:
            ratio, B = edge[unit] * inverse, w
            C = w * (2.0 * slope[unit] + (row[unit] + edge[unit] * edge[unit] * inverse) * w)
        else:
            ratio = table.u[a] * inverse
            if not tied:
                A = 1.0 / max(table.M[a, a] - table.u[a] * ratio, 1e-300)
                B, C = A * w, A * w * w
    for j in range(values.size):
        x = row[j] + ratio * edge[j]
        bend = max(curve[j] + inverse * edge[j] * edge[j] + A * x * x, FLAT * rules.diagonal[j])
        pull = slope[j] + B * x
        t = min(max(pull / bend, low), high)
        shares[j] = t
        values[j] = C + t * (bend * t - 2.0 * pull)
    return C


@compiled
def sure(rules: Rules, table: Table, a: int, unit: int, inverse: float, t: float) -> bool:
    """Whether all weights stay inside their bounds, and none rests, when a candidate takes t and a's place."""
    if not rules.low + INSIDE < t < rules.high - INSIDE:
        return False
    s, edge = table.count[0], table.edge[unit]
    pushed = 0.0
    if a >= 0:
        if not table.free[a]:
            return False
        q = table.M[a, a] - table.u[a] * table.u[a] * inverse
        pushed = (table.w[a] - (table.T[a, unit] + table.u[a] * edge * inverse) * t) / max(q, 1e-300)
    for b in range(s):
        if b == a:
            continue
        if not table.free[b]:
            return False
        w = table.w[b] - (table.T[b, unit] + table.u[b] * edge * inverse) * t
        if a >= 0:
            w -= (table.M[b, a] - table.u[b] * table.u[a] * inverse) * pushed
        if not rules.low + INSIDE < w < rules.high - INSIDE:
            return False
    return True


@compiled
def attempt(
    G: Matrix, rules: Rules, table: Table, kept: Table, slope: Vector, a: int, unit: int, value: float, t: float
) -> float:
    """Take the unit at position a out, put a candidate in, and slide; undone unless F falls.  Returns F."""
    safe = unit >= 0 and sure(rules, table, a, unit, slopes(table, slope)[2], t)
    if not safe:
        copied(table, kept)
    weight = table.w[a] if a >= 0 else 0.0
    if a >= 0:
        leave(table, a)
    feasible = True
    if unit >= 0:
        join(G, table, unit, weight)
        if table.T[table.count[0] - 1, unit] > FLAT * rules.diagonal[unit]:
            let_go(table, table.count[0] - 1)
    if unit < 0 or a < 0:
        feasible = within(rules, table)
    after = slide(rules, table, slope) if feasible else np.inf
    if safe or after < value - worth(rules, value):
        return after
    copied(kept, table)
    return value


@compiled
def best_moves(
    rules: Rules, table: Table, slope: Vector, barred: Mask, value: float, inverse: float, moves: Moves
) -> None:
    """For each unit that may leave, and at the end for none, the best candidate to come in, into `moves`.

    A candidate of -1 stands for none, a change of infinity for no move.  Those of `barred` (p,) may not come in.
    """
    s, p, free = table.count[0], slope.size, 0
    values, shares, least = np.empty(p), np.empty(p), -worth(rules, value)
    count = used(rules, table)
    for a in range(s):
        free += table.free[a]
    for position in range(s + 1):
        a = position if position < s else np.int64(-1)
        moves.change[position], moves.enter[position], moves.share[position] = np.inf, -1, 0.0
        if a >= 0 and rules.held[table.units[a]]:
            continue
        if a < 0 and not (s < rules.k and (s + 1) * rules.low <= 1.0 + SLACK):
            continue
        tied = a >= 0 and free - int(table.free[a]) == 0
        alone = move_values(rules, table, a, slope, inverse, tied, values, shares)
        mine, best = rules.group[table.units[a]] if a >= 0 else np.int64(-1), least
        for turn in range(1 if rules.bounded or a < 0 else SURE_TRIES):
            found, pick = least, np.int64(-1)
            for j in range(p):
                if values[j] < found and not table.inside[j] and not barred[j]:
                    if count[rules.group[j]] < rules.cap or rules.group[j] == mine:
                        found, pick = values[j], j
            if pick < 0:
                break
            fits = rules.bounded or a < 0 or sure(rules, table, a, pick, inverse, shares[pick])
            if turn == 0 or fits:
                best, moves.enter[position], moves.share[position] = found, pick, shares[pick]
            if fits:
                break
            values[pick] = np.inf
        if a >= 0 and not tied and alone < best and (s - 1) * rules.high >= 1.0 - SLACK:
            best, moves.enter[position] = alone, -1
        if best < least:
            moves.change[position] = best


@compiled
def improve(G: Matrix, rules: Rules, table: Table, kept: Table, barred: Mask, limit: int) -> tuple[float, int]:
    """Best moves until none lowers F, at most `limit`; returns F and how many were made.

    G: (p, p).  `kept` is room for a copy of the table.
    """
    slope, made, size = np.empty(len(G)), 0, table.units.size + 1
    moves = Moves(np.empty(size), np.empty(size, np.int64), np.empty(size))
    value, _, inverse = slopes(table, slope)
    while made < limit:
        best_moves(rules, table, slope, barred, value, inverse, moves)
        before, tried, s = value, 0, table.count[0]
        while value >= before and tried < TRIES:
            position = np.int64(0)
            for other in range(s + 1):
                if moves.change[other] < moves.change[position]:
                    position = other
            if moves.change[position] == np.inf:
                break
            change, moves.change[position] = moves.change[position], np.inf
            a, unit, t = position if position < s else np.int64(-1), moves.enter[position], moves.share[position]
            unsure = not rules.bounded and a >= 0 and not sure(rules, table, a, unit, inverse, t)
            if unsure and change < 0.0:
                moves.change[position] = -1.0 / change  # after all others, the best of them first
                continue
            value = attempt(G, rules, table, kept, slope, a, unit, before, t)
            tried += rules.bounded or unsure
        value, _, inverse = slopes(table, slope)
        if not value < before:
            break
        made += 1
    return value, made


@compiled
def best_addition(rules: Rules, table: Table, barred: Mask, count: Indices) -> int:
    """The candidate whose entry lowers F most were no bound met, or -1: h rises by edge^2 / curve.  barred: (p,)."""
    best, unit = 0.0, np.int64(-1)
    for j in range(barred.size):
        e = table.edge[j]
        if e > 0.0 and not table.inside[j] and not barred[j] and table.curve[j] > FLAT * rules.diagonal[j]:
            gain = e * e / table.curve[j]
            if gain > best and count[rules.group[j]] < rules.cap:
                best, unit = gain, j
    return unit


@compiled
def fill(G: Matrix, rules: Rules, table: Table, barred: Mask, size: int) -> None:
    """Add best candidates until `size` are in the support; those whose weight meets zero leave.  All weights free."""
    slope = np.empty(len(G))
    for _ in range(2 * size + 10):
        s = table.count[0]
        if s >= size:
            break
        unit = best_addition(rules, table, barred, used(rules, table))
        if unit < 0:
            break
        join(G, table, unit, 1.0 if s == 0 else 0.0)
        let_go(table, s)
        slide(rules, table, slope)


@compiled
def perturb(
    G: Matrix,
    rules: Rules,
    table: Table,
    start: Table,
    kept: Table,
    barred: Mask,
    leaving: Indices,
    entering: Indices,
    count: int,
    limit: int,
) -> tuple[float, int]:
    """Replace `count` units, improve, and stay if F fell, else go back; returns F and the moves made, minus if it went.

    The first units of `leaving` (p,) that are in the support leave; the first candidates of `entering` that fit come
    in, or where that is empty the best ones that did not just leave.  `start` and `kept` are room for copies, `barred`
    (p,) is all False.
    """
    slope, left, made, again = np.empty(leaving.size), 0, 0, 0
    before, size = slopes(table, slope)[0], table.count[0]
    copied(table, start)
    for a in range(size):
        if not table.free[a] and table.T[a, table.units[a]] > FLAT * rules.diagonal[table.units[a]]:
            let_go(table, a)
    for unit in leaving:
        if left < count and table.inside[unit] and not rules.held[unit] and table.count[0] > 1:
            for a in range(table.count[0]):
                if table.units[a] == unit:
                    leave(table, a)
                    break
            barred[unit] = True
            left += 1
    groups = used(rules, table)
    for position in range(max(entering.size, size)):
        if table.count[0] >= size or position >= entering.size > 0:
            break
        if entering.size > 0:
            unit = entering[position]
            firm = table.curve[unit] > FIRM * rules.diagonal[unit]
            if table.inside[unit] or not firm or groups[rules.group[unit]] >= rules.cap:
                continue
        else:
            unit = best_addition(rules, table, barred, groups)
            if unit < 0:
                break
        join(G, table, unit, 0.0)
        let_go(table, table.count[0] - 1)
        groups[rules.group[unit]] += 1
    if spread(rules, table):
        slide(rules, table, slope)
        if entering.size == 0:
            _, again = improve(G, rules, table, kept, barred, min(2 * count, limit))
        for i in range(barred.size):
            barred[i] = False
        value, made = improve(G, rules, table, kept, barred, min(4 * count + 20, limit))
        if value < before - worth(rules, before):
            return value, made + again + 1
    for i in range(barred.size):
        barred[i] = False
    copied(start, table)
    return before, -made - again - 1


@compiled
def spread(rules: Rules, table: Table) -> bool:
    """Give all units the weights that are best without bounds, brought into them; whether that is possible.

    Units at a bound rest there; those at zero leave, unless they are held.
    """
    h = 0.0
    for a in range(table.count[0]):
        h += table.u[a]
    for a in range(table.count[0]):
        table.w[a] = table.u[a] / h if table.free[a] else rules.low
    if not h > 0.0 or not within(rules, table):
        return False
    for a in range(table.count[0] - 1, -1, -1):
        if table.free[a] and not rules.low + INSIDE < table.w[a] < rules.high - INSIDE:
            lay_down(table, a)
            if table.w[a] == 0.0 and not rules.held[table.units[a]]:
                leave(table, a)
    return True
