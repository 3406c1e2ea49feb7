"""A support on the move among p units, with the responses of all of them kept up to date in a strip.

The origin lies in the target, so F(w) = w'Gw.  With A = G_SS and no sign constraint the best weights of sum one on S
are A^-1 1 / h, and F = 1/h with h = 1'A^-1 1.  For the support S = units[:count] the strip keeps

    M = A^-1 (s, s),  u = M 1 (s,),  R = M G_SN (s, p),  curve_j = G_jj - G_jS M G_Sj,  edge_j = 1 - G_jS u   (p,)

so adding j raises h by edge_j^2 / curve_j, dropping i lowers it by u_i^2 / M_ii, and the value of every swap follows.
One change of S costs a few passes over (s, p).  Everything is updated in place; units inside have curve = HUGE.
Source: block inverses; Goodnight 1979 for the idea of carrying all responses along.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

HUGE = 1e300
FLAT = 1e-11  # curvature, relative to G_jj, below which a unit depends on those inside
CLOSE = 1e-9  # a smaller relative improvement is none
NOISE = 1e-14  # and so is one of F below this share of the mean G_jj: that much is rounding


class Strip(NamedTuple):
    """Where the search stands; `count` (1,) units of `units` (k + 1,) are inside."""

    units: Indices
    count: Indices
    inside: Mask
    M: Matrix
    u: Vector
    R: Matrix
    curve: Vector
    edge: Vector


@compiled
def worth(h: float, scale: float) -> float:
    """The least rise of h that is an improvement: F = 1/h is known to a few eps times scale, so h to h^2 times that."""
    return h * (CLOSE + NOISE * scale * h)


@compiled
def reciprocal(x: float) -> float:
    """1/x where x > 0, else 0: a diagonal of an inverse that rounding has spoilt must not end the search."""
    return 1.0 / x if x > 0.0 else 0.0


@compiled
def join(G: Matrix, strip: Strip, j: int) -> None:
    """Let unit j in.  G: (p, p)."""
    s = strip.count[0]
    M, R, u, curve, edge = strip.M, strip.R, strip.u, strip.curve, strip.edge
    r, inverse, e = R[:s, j].copy(), 1.0 / curve[j], edge[j]
    v = G[j].copy()
    for a in range(s):
        g, row = G[j, strip.units[a]], R[a]
        for i in range(v.size):
            v[i] -= g * row[i]
    for a in range(s):
        part, row = r[a] * inverse, R[a]
        for i in range(v.size):
            row[i] -= part * v[i]
        for b in range(s):
            M[a, b] += part * r[b]
        M[a, s] = M[s, a] = -part
        u[a] -= part * e
    M[s, s], u[s] = inverse, e * inverse
    row = R[s]
    for i in range(v.size):
        row[i] = v[i] * inverse
        curve[i] -= v[i] * row[i]
        edge[i] -= row[i] * e
    strip.units[s], strip.inside[j], strip.count[0] = j, True, s + 1
    curve[j], edge[j] = HUGE, 0.0


@compiled
def leave(strip: Strip, a: int) -> None:
    """Take the unit at position a out; the last one moves to its place."""
    s, unit = strip.count[0] - 1, strip.units[a]
    M, R, u, curve, edge = strip.M, strip.R, strip.u, strip.curve, strip.edge
    m, inverse, weight = M[a, : s + 1].copy(), reciprocal(M[a, a]), u[a]
    row = R[a].copy()
    curve[unit], edge[unit] = 0.0, 0.0
    for i in range(row.size):
        part = row[i] * inverse
        curve[i] += part * row[i]
        edge[i] += part * weight
    for b in range(s + 1):
        if b != a:
            part, target = m[b] * inverse, R[b]
            for i in range(row.size):
                target[i] -= part * row[i]
            for c in range(s + 1):
                M[b, c] -= part * m[c]
            u[b] -= part * weight
    strip.inside[unit] = False
    strip.units[a], u[a] = strip.units[s], u[s]
    R[a] = R[s]
    M[a, : s + 1] = M[s, : s + 1]
    M[: s + 1, a] = M[: s + 1, s]
    strip.count[0] = s


@compiled
def best_addition(G: Matrix, strip: Strip, barred: Mask) -> int:
    """The unit whose entry raises h most, or -1; barred: (p,)."""
    best, unit = 0.0, -1
    for j in range(strip.curve.size):
        e = strip.edge[j]
        if e > 0.0 and not strip.inside[j] and not barred[j] and strip.curve[j] > FLAT * G[j, j]:
            gain = e * e / strip.curve[j]
            if gain > best:
                best, unit = gain, j
    return unit


@compiled
def swap_gains(strip: Strip, a: int, floor: Vector, gains: Vector) -> None:
    """What h gains when each unit replaces the one at position a, into gains (p,); floor: (p,) least curvatures."""
    inverse = reciprocal(strip.M[a, a])
    ratio, loss = strip.u[a] * inverse, strip.u[a] * strip.u[a] * inverse
    row, curve, edge = strip.R[a], strip.curve, strip.edge
    for j in range(row.size):
        e = max(edge[j] + row[j] * ratio, 0.0)
        gains[j] = e * e / max(curve[j] + row[j] * row[j] * inverse, floor[j]) - loss


@compiled
def positive_after(strip: Strip, a: int, j: int, least: float) -> bool:
    """Whether all weights stay positive when j replaces the unit at position a, and its curvature exceeds `least`."""
    s = strip.count[0]
    inverse, response = reciprocal(strip.M[a, a]), strip.R[a, j]
    curve = strip.curve[j] + response * response * inverse
    if not curve > least:
        return False
    t = (strip.edge[j] + response * strip.u[a] * inverse) / curve
    for b in range(s):
        if b != a:
            part = strip.M[b, a] * inverse
            if strip.u[b] - part * strip.u[a] - (strip.R[b, j] - part * response) * t <= 0.0:
                return False
    return t > 0.0


@compiled
def swap(G: Matrix, strip: Strip, barred: Mask, floor: Vector, gains: Vector, scale: float) -> bool:
    """Make the best swap that keeps all weights positive; whether there was one.  barred, floor, gains: (p,)."""
    s = strip.count[0]
    enter, value = np.full(s, -1), np.empty(s)
    least = worth(strip.u[:s].sum(), scale)
    for a in range(s):
        swap_gains(strip, a, floor, gains)
        best = least
        for j in range(gains.size):
            if gains[j] > best and not barred[j] and not strip.inside[j]:
                best, enter[a] = gains[j], j
        value[a] = best
    for a in np.argsort(-value):
        if enter[a] >= 0 and positive_after(strip, a, enter[a], floor[enter[a]]):
            j = enter[a]
            leave(strip, a)
            if strip.curve[j] > floor[j]:  # rounding may have taken what was left of it
                join(G, strip, j)
            return True
    return False


@compiled
def shed(strip: Strip) -> int:
    """Let units of negative weight go, the most negative first; how many went."""
    gone = 0
    while strip.count[0] > 1:
        worst = np.argmin(strip.u[: strip.count[0]])
        if strip.u[worst] > 0.0:
            break
        leave(strip, worst)
        gone += 1
    return gone


@compiled
def fill(G: Matrix, strip: Strip, k: int, barred: Mask) -> None:
    """Add best units until k are inside; those whose weight turns negative leave.  barred: (p,)."""
    for _ in range(2 * k + 10):
        if strip.count[0] >= k:
            break
        j = best_addition(G, strip, barred)
        if j < 0:
            break
        join(G, strip, j)
        shed(strip)


@compiled
def exchange(G: Matrix, strip: Strip, k: int, barred: Mask, limit: int) -> int:
    """Fill up, then best swaps until none helps, at most `limit`; how many were made."""
    floor, gains = FLAT * np.diag(G), np.empty(len(G))
    scale = np.diag(G).mean()
    made = 0
    fill(G, strip, k, barred)
    h = strip.u[: strip.count[0]].sum()
    while made < limit and swap(G, strip, barred, floor, gains, scale):
        made += 1
        if strip.count[0] < k:
            fill(G, strip, k, barred)
        before, h = h, strip.u[: strip.count[0]].sum()
        if not h > before:  # the gain was rounding
            break
    return made


@compiled
def copied(source: Strip, target: Strip) -> None:
    """Copy one strip onto another, in place."""
    s = source.count[0]
    target.units[:], target.count[:], target.inside[:] = source.units, source.count, source.inside
    target.M[:s, :s], target.u[:s], target.R[:s] = source.M[:s, :s], source.u[:s], source.R[:s]
    target.curve[:], target.edge[:] = source.curve, source.edge


@compiled
def kick(
    G: Matrix, strip: Strip, kept: Strip, k: int, order: Indices, count: int, near: bool, lucky: bool, most: int
) -> int:
    """Replace `count` units, exchange, and stay if h rose, else go back; the number of swaps made, minus if not.

    order: (p,) a permutation.  The first unit of it that is inside leaves, and with it the next ones, or (`near`) those
    most similar to it; the last ones of it come in (`lucky`), or the best ones that did not just leave.  Each
    exchange makes at most `most` swaps.
    """
    copied(strip, kept)
    before = strip.u[: strip.count[0]].sum()
    barred = np.zeros(order.size, np.bool_)
    first, left = -1, 0
    for unit in order:
        if strip.inside[unit] and first < 0:
            first = unit
    rank = np.argsort(-G[first]) if near else order
    for unit in rank:
        if left < count and strip.inside[unit] and strip.count[0] > 1:
            leave(strip, np.flatnonzero(strip.units[: strip.count[0]] == unit)[0])
            barred[unit] = True
            left += 1
    free = np.zeros(order.size, np.bool_)
    if lucky:
        for unit in order[::-1]:
            if left > 0 and not strip.inside[unit] and strip.curve[unit] > 1e-6 * G[unit, unit]:
                join(G, strip, unit)
                left -= 1
        shed(strip)
    else:
        exchange(G, strip, k, barred, min(2 * count, most))
    made = exchange(G, strip, k, free, min(4 * count + 20, most))
    if strip.count[0] <= k and strip.u[: strip.count[0]].sum() > before + worth(before, np.diag(G).mean()):
        return made + 1
    copied(kept, strip)
    return -made - 1
