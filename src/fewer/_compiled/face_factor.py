"""The Cholesky factor of a face, and steps on it: what the active-set solvers are made of.

    passive face   the units allowed to be non-zero, in the order they entered
    factor         L L' = G_PP + sigma 11', the Cholesky factor of the passive face

Arrays named `factor`, `passive` and `w` are updated in place; `count` is the number of passive units, and
only that much of `factor` and `passive` is meaningful.
"""

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

EPS = 2.220446049250313e-16
DEPENDENT = 64.0 * EPS  # relative pivot below which a column counts as dependent


@compiled
def dot(x: Vector, y: Vector, size: int) -> float:
    """Inner product of two leading parts, in four lanes of fixed order.

    x[:size]' y[:size];  x, y: (>= size,).
    Source: Higham 2002, ch. 3 (blocked summation).
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
def solve_lower(factor: Matrix, count: int, x: Vector) -> None:
    """Forward substitution in place.

    x <- L^-1 x;  factor: (s, s), x: (>= count,).
    Source: Golub & Van Loan 2013, sec. 3.1.
    """
    for i in range(count):
        x[i] = (x[i] - dot(factor[i], x, i)) / factor[i, i]


@compiled
def solve_upper(factor: Matrix, count: int, x: Vector) -> None:
    """Back substitution in place with the transposed factor, along its rows.

    x <- L^-T x;  factor: (s, s), x: (>= count,).
    Source: Golub & Van Loan 2013, sec. 3.1.
    """
    for i in range(count - 1, -1, -1):
        x[i] /= factor[i, i]
        row = factor[i]
        for j in range(i):
            x[j] -= x[i] * row[j]


@compiled
def pivot_floor(G: Matrix, sigma: float, scale: Vector, unit: int) -> float:
    """The squared pivot at or below which a unit counts as dependent.

    min(DEPENDENT (sigma + scale_u), (sigma + G_uu) / 4);  G: (s, s), scale: (s,) the
    diagonal of the Gram matrix before centring, whose rounding G has inherited.
    Source: Higham 2002, sec. 10.3 (breakdown of Cholesky on semi-definite matrices).
    """
    return float(min(DEPENDENT * (sigma + scale[unit]), 0.25 * (sigma + G[unit, unit])))


@compiled
def append(G: Matrix, sigma: float, scale: Vector, factor: Matrix, passive: Indices, count: int, unit: int) -> int:
    """Let one unit into the passive face unless it depends on the units there.

    pivot^2 = G_uu + sigma - |L^-1 (G_Pu + sigma)|^2 must exceed `pivot_floor`;
    G, factor: (s, s), scale, passive: (s,).  Returns the new count.
    Source: Golub & Van Loan 2013, sec. 6.5.
    """
    row = factor[count]
    for k in range(count):
        row[k] = G[unit, passive[k]] + sigma
    solve_lower(factor, count, row)
    square = G[unit, unit] + sigma - dot(row, row, count)
    if not square > pivot_floor(G, sigma, scale, unit):
        return count
    row[count] = np.sqrt(square)
    passive[count] = unit
    return count + 1


@compiled
def remove(factor: Matrix, passive: Indices, count: int, position: int) -> int:
    """Take the unit at one position out of the passive face.

    Deleting row k leaves L lower Hessenberg; Givens rotations of the columns
    (j, j+1), j >= k, make it triangular again.  factor: (s, s), passive: (s,).
    Returns the new count.  Source: Golub & Van Loan 2013, sec. 6.5.
    """
    last = count - 1
    cosine = np.empty(last)
    sine = np.empty(last)
    for i in range(position, last):
        passive[i] = passive[i + 1]
        row = factor[i]
        row[: i + 2] = factor[i + 1, : i + 2]
        for j in range(position, i):
            left, right = row[j], row[j + 1]
            row[j] = cosine[j] * left + sine[j] * right
            row[j + 1] = cosine[j] * right - sine[j] * left
        length = np.hypot(row[i], row[i + 1])
        cosine[i] = row[i] / length
        sine[i] = row[i + 1] / length
        row[i] = length
    return last


@compiled
def seed(G: Matrix, sigma: float, scale: Vector, factor: Matrix, passive: Indices, w: Vector) -> int:
    """Factor the face spanned by the non-zeros of w, the heaviest first.

    Dependent units lose their weight; with sigma > 0 the rest is scaled to sum one.
    G, factor: (s, s), scale, passive, w: (s,).  Returns the count.
    """
    count = 0
    waiting = w.copy()
    unit = int(np.argmax(waiting))
    while waiting[unit] > 0.0:
        waiting[unit] = 0.0
        grown = append(G, sigma, scale, factor, passive, count, unit)
        if grown == count:
            w[unit] = 0.0
        count = grown
        unit = int(np.argmax(waiting))
    if sigma > 0.0:
        w /= w.sum()
    return count


@compiled
def gather(x: Vector, passive: Indices, count: int) -> Vector:
    """The passive entries of a vector, in passive order.

    x_P;  x, passive: (s,).  Returns (count,).
    """
    packed = np.empty(count)
    for k in range(count):
        packed[k] = x[passive[k]]
    return packed


@compiled
def face_step(factor: Matrix, count: int, sigma: float, total: float, x: Vector) -> None:
    """Turn the passive residual into the step to the minimiser of the face, in place.

    (L L') x = r + mu 1,  with mu such that 1'x = total if sigma > 0, else mu = 0;
    x: (count,), the residual r on entry.
    Source: Boyd & Vandenberghe 2004, sec. 10.1 (equality-constrained quadratic).
    """
    solve_lower(factor, count, x)
    if sigma > 0.0:
        ones = np.ones(count)
        solve_lower(factor, count, ones)
        mu = (total - dot(ones, x, count)) / dot(ones, ones, count)
        for k in range(count):
            x[k] += mu * ones[k]
    solve_upper(factor, count, x)


@compiled
def blocking(w: Vector, passive: Indices, count: int, step: Vector, longest: float) -> tuple[float, int]:
    """Longest feasible multiple of a step, and the position of the unit that stops it.

    max t <= longest with w_P + t step >= 0;  w, passive: (s,), step: (count,).
    The position is -1 if w_P + longest * step > 0.
    Source: Nocedal & Wright 2006, sec. 16.5 (ratio test).
    """
    length, position = longest, -1
    for k in range(count):
        weight = w[passive[k]]
        if weight + longest * step[k] <= 0.0:
            ratio = -weight / step[k] if step[k] < 0.0 else 0.0
            if position < 0 or ratio < length:
                length, position = ratio, k
    return length, position


@compiled
def move(w: Vector, passive: Indices, count: int, step: Vector, length: float) -> None:
    """Move the passive weights along a step, never below zero.

    w_P <- max(w_P + length * step, 0);  w, passive: (s,), step: (count,).
    """
    for k in range(count):
        unit = passive[k]
        w[unit] = max(w[unit] + length * step[k], 0.0)
