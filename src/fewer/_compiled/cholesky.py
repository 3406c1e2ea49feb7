"""A Cholesky factor of the free units of a quadratic, which units join and leave, and the steps it gives.

    passive    the free units, in the order they entered; `count` is how many
    factor     L L' = G_PP + sigma 11'

With sigma > 0 the weights sum to one: adding sigma 11' then changes the objective by a constant,
yet makes the passive block positive definite as soon as its columns are affinely independent. With
sigma = 0 there is no such constraint. Arrays are updated in place.
"""

import math

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

DEPENDENT = 64.0 * 2.220446049250313e-16  # relative pivot below which a column counts as dependent


@compiled
def dot(x: Vector, y: Vector, size: int) -> float:
    """Inner product of two leading parts, in four lanes of fixed order.

    x[:size]' y[:size];  x, y: (>= size,).  Source: Higham 2002, ch. 3 (blocked summation).
    """
    a = b = c = d = 0.0
    whole = size - size % 4
    for i in range(0, whole, 4):
        a += x[i] * y[i]
        b += x[i + 1] * y[i + 1]
        c += x[i + 2] * y[i + 2]
        d += x[i + 3] * y[i + 3]
    for i in range(whole, size):
        a += x[i] * y[i]
    return (a + b) + (c + d)


@compiled
def append(
    G: Matrix,
    sigma: float,
    scale: Vector,
    factor: Matrix,
    passive: Indices,
    count: int,
    units: Indices,
) -> int:
    """Free units one after the other, but for those that depend on the ones that are free by then.

    The new count.

    pivot^2 = G_uu + sigma - |L^-1 (G_Pu + sigma)|^2 must exceed min(DEPENDENT (sigma + scale_u),
    (sigma + G_uu) / 4); G, factor: (s, s), scale, passive: (s,), scale the diagonal before
    centring, whose rounding G has inherited. Sources: Golub & Van Loan 2013, sec. 6.5; Higham 2002,
    sec. 10.3 (breakdown on semi-definite matrices).
    """
    for unit in units:
        row = factor[count]
        for i in range(count):
            row[i] = (G[unit, passive[i]] + sigma - dot(factor[i], row, i)) / factor[i, i]
        square = G[unit, unit] + sigma - dot(row, row, count)
        if square > min(DEPENDENT * (sigma + scale[unit]), 0.25 * (sigma + G[unit, unit])):
            row[count] = math.sqrt(square)
            passive[count] = unit
            count += 1
    return count


@compiled
def remove(factor: Matrix, passive: Indices, count: int, position: int) -> int:
    """Take the unit at one position out of the passive ones; the new count.

    Deleting row k leaves L lower Hessenberg; Givens rotations of the columns (j, j+1), j >= k, make
    it triangular again.  factor: (s, s), passive: (s,).  Source: Golub & Van Loan 2013, sec. 6.5.
    """
    last = count - 1
    cosine, sine = np.empty(last), np.empty(last)
    for i in range(position, last):
        passive[i] = passive[i + 1]
        row, below = factor[i], factor[i + 1]
        for j in range(i + 2):
            row[j] = below[j]
        for j in range(position, i):
            left, right = row[j], row[j + 1]
            row[j] = cosine[j] * left + sine[j] * right
            row[j + 1] = cosine[j] * right - sine[j] * left
        length = math.hypot(row[i], row[i + 1])
        cosine[i], sine[i], row[i] = row[i] / length, row[i + 1] / length, length
    return last


@compiled
def advance(
    factor: Matrix,
    passive: Indices,
    sigma: float,
    total: float,
    x: Vector,
    t: float,
    w: Vector,
    lo: Vector,
    hi: Vector,
) -> tuple[int, float]:
    """Move the passive weights towards the minimiser of the face, w_P <- w_P + t x, as far as the bounds allow.

    (L L') x = r + mu 1, with mu such that 1'x = total if sigma > 0, else mu = 0;  x: (count,), r on
    entry. Returns the position that meets its bound, or -1, and t, at most as given.  passive:
    (count,), w, lo, hi: (s,). Sources: Boyd & Vandenberghe 2004, sec. 10.1 (equality constraints);
    Nocedal & Wright 2006, sec. 16.5.
    """
    count, ones = len(x), np.empty(len(x))
    for i in range(count):
        x[i] = (x[i] - dot(factor[i], x, i)) / factor[i, i]
        if sigma > 0.0:
            ones[i] = (1.0 - dot(factor[i], ones, i)) / factor[i, i]
    if sigma > 0.0:
        mu = (total - dot(ones, x, count)) / dot(ones, ones, count)
        for i in range(count):
            x[i] += mu * ones[i]
    for i in range(count - 1, -1, -1):
        x[i] /= factor[i, i]
        for j in range(i):
            x[j] -= x[i] * factor[i, j]
    longest, position, wall = t, -1, 0.0
    for i in range(count):
        now, low, high = w[passive[i]], lo[passive[i]], hi[passive[i]]
        end = now + longest * x[i]
        if not low < end < high:
            bound = low if end <= low else high
            ratio = max((bound - now) / x[i], 0.0) if x[i] != 0.0 else 0.0
            if position < 0 or ratio < t:
                position, t, wall = i, ratio, bound
    for i in range(count):
        unit = passive[i]
        w[unit] = wall if i == position else min(max(w[unit] + t * x[i], lo[unit]), hi[unit])
    return position, t


@compiled
def steepest(slope: Vector, error: Vector, w: Vector, lo: Vector, hi: Vector, tried: Mask) -> int:
    """The unit, not tried yet, of the steepest slope that its bounds let it follow.

    -1 where none exceeds its error.
    """
    best, most = -1, 0.0
    for unit in range(len(w)):
        able = w[unit] < hi[unit] if slope[unit] > 0.0 else w[unit] > lo[unit]
        if able and not tried[unit] and abs(slope[unit]) > max(error[unit], most):
            best, most = unit, abs(slope[unit])
    return best
