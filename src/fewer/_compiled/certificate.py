"""Lower bounds for q'Hq over the sparse simplex that hold however they were found.

For weights q >= 0 with 1'q = 1 and any mu, w, d and N >= 0 (zero diagonal) such that

    M = H - diag(d) - N - mu 11' + (w1' + 1w') / 2    is positive semi-definite,

    q'Hq >= mu + sum_i (d_i q_i^2 - w_i q_i) >= mu - max_S sum_{i in S} h_i(w_i),    h_i(s) = max_q  s q - d_i q^2,

where S runs over the supports allowed and q over the limits of unit i. The multipliers Z of the
ADMM in `dnn_admm`, at any time, give such a splitting of H once its diagonal is shifted by the
least eigenvalue of M. What a unit gains and what would replace it tell which units can be decided,
and how far their weights can go. Names as in `dnn_admm`.

Source: Jansson, Chaykin & Keil 2007, SIAM J. Numer. Anal. 46 (bounds from inexact dual points).
"""

import numpy as np

from ._compile import compiled
from .dnn_admm import BISECTIONS, Mask, Matrix, Places, Vector

EPS = 2.220446049250313e-16
ROUNDING = 8.0 * EPS  # relative error granted to each term of a sum
WIDER = 1e-9  # margin for rounding when limits of weights are narrowed


def splitting(H: Matrix, border: float, Z: Matrix) -> tuple[Vector, Vector, float]:
    """The splitting that multipliers stand for, made valid by shifting its diagonal.

    d_i = H_ii + Z_ii,  N = (H + Z)_+ off the diagonal,  w_i = -2 r Z_0i,  mu = s Z_00, then d is
    shifted by the least eigenvalue of M and a margin for its rounding.  H: (m, m), Z: (m+1, m+1).
    Returns d, w, mu. Source: the file's first formula.
    """
    mu, w = border * float(Z[0, 0]), -2.0 * np.sqrt(border) * Z[1:, 0]
    M = np.minimum(H, -Z[1:, 1:]) - mu + 0.5 * (w[:, None] + w)
    d = np.diag(H) + np.diag(Z)[1:]
    np.fill_diagonal(M, -np.diag(Z)[1:] - mu + w)
    values = np.linalg.eigvalsh(M)
    margin = ROUNDING * len(H) * max(abs(values[0]), abs(values[-1]))
    return d - (max(-values[0], 0.0) + margin), w, mu


@compiled
def choose(gains: Vector, places: Places) -> Mask:
    """The units of the largest total gain that fit: all inside, and others with a gain.

    Greedy, which is exact as the sets allowed form a matroid;  gains: (m,). Returns (m,).  Source:
    Edmonds 1971, Math. Prog. 1.
    """
    chosen, free = places.inside.copy(), places.left.copy()
    for _ in range(places.room):
        best = np.int64(-1)
        for i in range(gains.size):
            better = best < 0 or gains[i] > gains[best]
            if not chosen[i] and free[places.group[i]] > 0 and gains[i] > 0.0 and better:
                best = i
        if best < 0:
            break
        chosen[best] = True
        free[places.group[best]] -= 1
    return chosen


@compiled
def inner_maximum(
    w: Vector, d: Vector, level: float, limits: Matrix, places: Places
) -> tuple[Vector, Mask, Vector]:
    """The gains h_i(w_i + level), the support that collects most of them, and its weights.

    A weight is s / 2d within its limits where d > 0, else the better end; limits: (2, m). Returns
    gains (m,), chosen (m,), q (m,).
    """
    m = w.size
    q, gains = np.empty(m), np.empty(m)
    for i in range(m):
        s, low, high = w[i] + level, limits[0, i], limits[1, i]
        if d[i] > 0.0:
            q[i] = min(max(0.5 * s / d[i], low), high)
        else:
            q[i] = high if s >= d[i] * (low + high) else low
        gains[i] = (s - d[i] * q[i]) * q[i]
    chosen = choose(gains, places)
    return gains, chosen, q * chosen


def reduced_costs(gains: Vector, chosen: Mask, places: Places) -> tuple[Vector, Vector]:
    """What the bound would rise by, were a unit decided the other way: the price of each unit in, and out.

    In: it takes the place of the least gain it must displace. Out: the best unit that fits takes
    its place. gains, chosen: (m,).  Returns (m,), (m,): lower estimates, 0 if none is known.
    Source: exchanges in a matroid.
    """
    inside, room, group, left = places
    taken, idle = chosen & ~inside, ~chosen
    groups = left.size
    least, most = np.full(groups, np.inf), np.zeros(groups)
    np.minimum.at(least, group[taken], gains[taken])
    np.maximum.at(most, group[idle], gains[idle])
    full = np.bincount(group[taken], minlength=groups) >= left
    best_idle = gains[idle & ~full[group]].max(initial=0.0)
    replaced = np.maximum(-gains, 0.0)
    if taken.sum() == room:
        replaced = gains[taken].min(initial=np.inf) - gains
    replaced = np.where(full[group], least[group] - gains, replaced)
    replaced[(room == 0) | (left[group] == 0)] = np.inf
    price_in = np.where(idle & ~inside, replaced, 0.0)
    price_out = np.maximum(gains - np.maximum(best_idle, most[group]), 0.0)
    return price_in, np.where(taken, price_out, 0.0)


@compiled
def level_up(
    w: Vector, d: Vector, lowest: float, highest: float, limits: Matrix, places: Places
) -> tuple[float, float, Vector, Mask]:
    """The best shift t of w and mu together, which leaves M as it is.

    max_t t - max_S sum_{i in S} h_i(w_i + t), concave with slope 1 - 1'q(t), by bisection between
    lowest and highest;  the rest as in `inner_maximum`. Returns the maximum, t, the gains (m,) and the support chosen (m,) there.
    """
    for _ in range(BISECTIONS):
        middle = 0.5 * (lowest + highest)
        if not lowest < middle < highest:
            break
        _, _, q = inner_maximum(w, d, middle, limits, places)
        if q.sum() < 1.0:
            lowest = middle
        else:
            highest = middle
    gains, chosen, _ = inner_maximum(w, d, lowest, limits, places)
    return lowest - (gains * chosen).sum(), lowest, gains, chosen


def tightened_bounds(limits: Matrix, s: Vector, d: Vector, gains: Vector, spare: Vector) -> Matrix:
    """The weights a unit can have, if it enters, without raising the bound by more than it has to spare.

    s_i t - d_i t^2 >= h_i - spare_i,  so t lies within sqrt((s_i^2 / 4 d_i - h_i + spare_i) / d_i)
    of s_i / 2 d_i; limits: (2, m), the rest (m,).  Returns (2, m); a unit without curvature or
    spare keeps its limits. Source: reduced costs.
    """
    can = (d > 0.0) & (spare >= 0.0)
    curve = np.where(can, d, 1.0)
    middle = 0.5 * s / curve
    room = np.where(can, middle * middle + (spare - gains) / curve, 0.0)
    reach = np.sqrt(np.maximum(room, 0.0)) * (1.0 + WIDER) + WIDER
    low = np.minimum(np.maximum(limits[0], middle - reach), limits[1])
    high = np.maximum(np.minimum(limits[1], middle + reach), low)
    return np.where(can, np.stack([low, high]), limits)


def certify(
    H: Matrix, border: float, Z: Matrix, limits: Matrix, places: Places, cutoff: float
) -> tuple[float, Vector, Vector, Matrix]:
    """A bound that holds whatever the multipliers are, what deciding each unit would add to it, and new limits.

    `splitting`, `level_up`, `reduced_costs`, `tightened_bounds`;  H: (m, m), Z: (m+1, m+1), limits:
    (2, m).  Returns the bound, the prices (m,), (m,) of units
    in, and out, and limits (2, m) that all weights with a value below `cutoff` obey.
    """
    d, w, mu = splitting(H, border, Z)
    reach = float(2.0 * np.abs(d).max() + np.abs(w).max())
    ends = float(-w.max()) - reach, float(-w.min()) + reach
    value, level, gains, chosen = level_up(w, d, *ends, limits, places)
    price_in, price_out = reduced_costs(gains, chosen, places)
    paid = np.sum(np.where(chosen, np.abs(gains), 0.0))
    low = mu + value - ROUNDING * d.size * (abs(mu) + abs(level) + paid)
    enters = np.isfinite(price_in)
    spare = np.where(enters, cutoff - low - np.where(enters, price_in, 0.0), -np.inf)
    return low, price_in, price_out, tightened_bounds(limits, w + level, d, gains, spare)
