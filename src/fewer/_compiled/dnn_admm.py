"""A doubly non-negative relaxation of q'Hq over the sparse simplex, and the ADMM that solves it roughly.

    min <H, X>    X psd,  X >= 0,  1'X1 = 1,  X_ii z_i >= (X1)_i^2,  sum z <= k,  0 <= z <= 1

is the perspective relaxation of all diagonal splittings of H at once, and more, as products of
weights may not be negative. With limits, the triple (X_ii, (X1)_i, z_i) is kept in the hull of
(t^2, t, 1), and the sums of z per group are capped. The ADMM works on the bordered matrix Y = [s, r
q'; r q, X], r = sqrt(s), whose kernel holds (-1/r, 1): one Householder reflection takes that vector
to the first axis, and the psd part is taken of the rest (facial reduction). Its multipliers become
bounds in `certificate`.

    m         units that are not out; arrays of size m are in their order
    limits    (2, m) the least and largest weight of each unit once it is in

Sources: Zheng, Sun & Li 2014, INFORMS J. Comput. 26 (the best perspective splitting is an SDP);
Burer 2009, Math. Prog. 120 (doubly non-negative relaxations); Oliveira, Wolkowicz & Xu 2018, Math.
Prog. Comp. 10 (ADMM with facial reduction).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

RELAX = 1.618  # over-relaxation of the multipliers, below the golden ratio
BISECTIONS = 100  # halvings of a bracket: more than a double has digits
WIDE, COARSE = (
    600,
    5e-6,
)  # single precision for more units than this, if their mean X_ii is larger than this times |T|


class Places(NamedTuple):
    """Which units are in, and how many more may enter, in all and of each group."""

    inside: Mask  # (m,)
    room: int
    group: Indices  # (m,)
    left: Indices  # (groups,)


class Iterate(NamedTuple):
    """Where the ADMM stands: its arrays are updated in place."""

    Y: Matrix  # (m + 1, m + 1), the bordered matrix; s = Y_00
    Z: Matrix  # (m + 1, m + 1), its multipliers
    z: Vector  # (m,), s times the indicators
    y: Vector  # (m,), their multipliers


def mirror(border: float, m: int) -> Vector:
    """The unit vector u whose reflection I - 2uu' takes (-1/r, 1, ..., 1) to the first axis.

    u ~ a + sign(a_0) |a| e_0 with a = (-1/r, 1), s = r^2 = border.  Returns (m + 1,).
    Source: Golub & Van Loan 2013, sec. 5.1.
    """
    u = np.ones(m + 1)
    u[0] = -1.0 / np.sqrt(border)
    u[0] -= np.sqrt(u[0] * u[0] + m)
    u /= np.sqrt(np.sum(u * u))
    return u


def reflect(T: Matrix, u: Vector) -> None:
    """Reflect rows and columns of a symmetric matrix in place.

    T <- (I - 2uu') T (I - 2uu') = T - uv' - vu',  v = 2Tu - 2 (u'Tu) u;  T: (m+1, m+1), u: (m+1,).
    Source: Golub & Van Loan 2013, sec. 8.3.
    """
    v = 2.0 * (T @ u)
    v -= (u @ v) * u
    T -= u[:, None] * v
    T -= v[:, None] * u


def psd_on_face(T: Matrix, u: Vector, single: bool = False) -> Matrix:
    """The nearest positive semi-definite matrix whose kernel holds the vector behind u.

    Q [0, 0; 0, (Q T Q)_{1:,1:} +] Q with Q = I - 2uu', by the eigenvectors of the fewer signs;  T:
    (m+1, m+1), overwritten and returned;  `single`: those of negative sign, in single precision.
    Source: Higham 1988, Lin. Alg. Appl. 103.
    """
    reflect(T, u)
    T[0] = T[:, 0] = 0.0
    if single:
        narrow = T[1:, 1:].astype(np.float32)
        values, vectors = eigh(
            narrow, subset_by_value=(-np.inf, 0.0), overwrite_a=True, check_finite=False
        )
    else:
        values, vectors = np.linalg.eigh(T[1:, 1:])
    first = np.searchsorted(values, 0.0)
    small = slice(first) if single or 2 * first < len(values) else slice(first, None)
    root = vectors[:, small] * np.sqrt(np.abs(values[small]))
    T[1:, 1:] *= small.start is None
    T[1:, 1:] += np.dot(root, root.T)
    reflect(T, u)
    return T


@compiled
def project_psd_2x2(x: float, q: float, z: float) -> tuple[float, float, float]:
    """The nearest (x, q, z) with x z >= q^2, x, q, z >= 0: the psd part of a two by two matrix.

    Returns the three numbers.  Source: the two eigenvalues t +- r of [x, q; q, z].

    >>> project_psd_2x2(1.0, 1.0, 1.0), project_psd_2x2(1.0, -1.0, -1.0)
    ((1.0, 1.0, 1.0), (1.0, 0.0, 0.0))
    """
    if q <= 0.0:
        return max(x, 0.0), 0.0, max(z, 0.0)
    t, half = 0.5 * (x + z), 0.5 * (x - z)
    r = np.sqrt(half * half + q * q)
    if t >= r:
        return x, q, z
    top = t + r
    if top <= 0.0:
        return 0.0, 0.0, 0.0
    return 0.5 * top * (1.0 + half / r), 0.5 * top * q / r, 0.5 * top * (1.0 - half / r)


@compiled
def project_perspective_cone(
    x: float, q: float, z: float, low: float, high: float
) -> tuple[float, float, float]:
    """The nearest (x, q, z) in the cone of (t^2, t, 1) for low <= t <= high: a weight, its square, its indicator.

    {x z >= q^2, x <= (low + high) q - low high z}, in the norm x^2 + 2 q^2 + z^2.  Returns the
    three numbers. Source: outside the second half-space the nearest point lies on the plane, which
    meets the first cone in the two rays t = low and t = high.

    >>> (
    ...     project_perspective_cone(1.0, 1.0, 1.0, 0.0, 2.0),
    ...     project_perspective_cone(4.0, 0.0, 0.0, 0.0, 1.0),
    ... )
    ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0))
    """
    a, b, c = project_psd_2x2(x, q, z)
    if a <= (low + high) * b - low * high * c:
        return a, b, c
    at_low, at_high = low * (low * x + 2.0 * q) + z, high * (high * x + 2.0 * q) + z
    low_low, high_high, low_high = (
        (low * low + 1.0) ** 2,
        (high * high + 1.0) ** 2,
        (low * high + 1.0) ** 2,
    )
    first = at_low * high_high - at_high * low_high
    second = at_high * low_low - at_low * low_high
    det = low_low * high_high - low_high * low_high
    if first > 0.0 and second > 0.0 and det > 0.0:
        first, second = first / det, second / det
    elif max(at_low, 0.0) ** 2 * high_high > max(at_high, 0.0) ** 2 * low_low:
        first, second = at_low / low_low, 0.0
    else:
        first, second = 0.0, max(at_high, 0.0) / high_high
    return first * low * low + second * high * high, first * low + second * high, first + second


@compiled
def least_shift(v: Vector, floors: Vector, counted: Mask, total: float, top: float) -> float:
    """The least t >= 0 with a sum of clip(v_i - max(t, floor_i), 0, top) over counted units of at most `total`.

    By bisection;  v, floors, counted: (m,).
    """
    lowest, highest, shift = 0.0, 0.0, 0.0
    for i in range(v.size):
        highest = max(highest, v[i])
    for _ in range(BISECTIONS):
        found = 0.0
        for i in range(v.size):
            if counted[i]:
                found += min(max(v[i] - max(shift, floors[i]), 0.0), top)
        if found > total:
            lowest = shift
        else:
            highest = shift
        if highest - lowest <= 1e-13 * top:
            break
        shift = 0.5 * (lowest + highest)
    return highest


def capped(v: Vector, places: Places, top: float) -> Vector:
    """The nearest indicators: top where inside, elsewhere in [0, top] with capped sums, in all and per group.

    clip(v - max(t, t_g), 0, top), t_g the least shift for the cap of the group alone, then t for
    all;  the caps are room * top and left * top;  v: (m,).  Returns (m,). Source: KKT conditions;
    the caps are nested, so the larger shift of the two satisfies both.

    >>> places = Places(np.array([True, False, False]), 1, np.zeros(3, np.int64), np.array([3]))
    >>> capped(np.array([3.0, 3.0, 3.0]), places, 1.0)
    array([1. , 0.5, 0.5])
    """
    inside, group, left = places.inside, places.group, places.left
    floors = np.zeros(v.size)
    for g in range(left.size if left.size > 1 else 0):
        mine = (group == g) & ~inside
        if mine.sum() > left[g]:
            shift = least_shift(v, floors, mine, left[g] * top, top)
            floors = np.where(mine, shift, floors)
    shift = least_shift(v, floors, ~inside, places.room * top, top)
    t = np.minimum(np.maximum(v - np.maximum(shift, floors), 0.0), top)
    return np.where(inside, top, t)


@compiled
def projected(
    H: Matrix, ends: Matrix, beta: float, P: Matrix, t: Vector, at: Iterate
) -> tuple[float, float]:
    """One round after the psd part P and the capped indicators t are known, in place.

    The two squared residuals.

    (Y, z) <- project(P - (L + Z)/beta, t - y/beta),  Z <- Z + RELAX beta (Y - P),  y likewise;  H:
    (m, m), ends: (2, m).
    """
    Y, Z, z, y = at
    m, away, moved = z.size, 0.0, 0.0
    for i in range(m + 1):
        for j in range(i):
            new = P[i, j] - Z[i, j] / beta
            if j > 0:
                new = max(new - H[i - 1, j - 1] / beta, 0.0)
            else:
                x = P[i, i] - (H[i - 1, i - 1] + Z[i, i]) / beta
                x, new, z[i - 1] = project_perspective_cone(
                    x, new, t[i - 1] - y[i - 1] / beta, ends[0, i - 1], ends[1, i - 1]
                )
                y[i - 1] += RELAX * beta * (z[i - 1] - t[i - 1])
                moved += (x - Y[i, i]) ** 2
                away += (x - P[i, i]) ** 2
                Y[i, i] = x
            moved += 2.0 * (new - Y[i, j]) ** 2
            away += 2.0 * (new - P[i, j]) ** 2
            Y[i, j] = Y[j, i] = new
    for i in range(m + 1):
        for j in range(m + 1):
            Z[i, j] += RELAX * beta * (Y[i, j] - P[i, j])
    return away, moved


def rounds(
    H: Matrix, limits: Matrix, places: Places, beta: float, at: Iterate, count: int
) -> tuple[float, float, Matrix]:
    """Some rounds of the ADMM for the doubly non-negative relaxation.

    P <- psd(Y + Z/beta),  t <- capped(z + y/beta),  (Y, z) <- project(P - (L + Z)/beta, t -
    y/beta), Z <- Z + RELAX beta (Y - P),  y likewise;  L = [0, 0; 0, H].  H: (m, m), limits: (2, m)
    least and largest weights. Returns the primal and the dual residual of the last round, and beta (T - P), T =
    Y + Z/beta, of the last round: multipliers (m+1, m+1) that are negative semi-definite on the
    face, so bounds taken from them are closer than those from Z.  Source: Oliveira, Wolkowicz & Xu
    2018, sec. 3.
    """
    m, border = H.shape[0], float(at.Y[0, 0])
    u, ends = mirror(border, m), limits / np.sqrt(border)
    away, moved, rest = 0.0, 0.0, at.Z
    for left_over in range(count - 1, -1, -1):
        T = at.Y + at.Z / beta
        coarse = np.trace(at.Y) - border > COARSE * m * np.linalg.norm(T)
        P = psd_on_face(T.copy(), u, m > WIDE and coarse)
        if left_over == 0:
            rest = beta * (T - P)
        t = capped(at.z + at.y / beta, places, border)
        away, moved = projected(H, ends, beta, P, t, at)
    return float(np.sqrt(away)), float(beta * np.sqrt(moved)), rest
