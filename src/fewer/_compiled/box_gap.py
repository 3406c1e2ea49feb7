"""The duality gap of a convex quadratic on the simplex with bounds on the weights."""

import numpy as np
import numpy.typing as npt

from ._compile import compiled

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]


@compiled
def fill(slopes: Vector, lower: Vector, upper: Vector) -> Vector:
    """The vertex of {lower <= w <= upper, 1'w = 1} with the least slopes'w.

    Lower bounds first, then what is left to the least slopes;  all: (s,).  Returns (s,).

    >>> fill(np.array([3.0, 1.0, 2.0]), np.zeros(3), np.full(3, 0.6))
    array([0. , 0.6, 0.4])
    """
    w = lower.copy()
    rest = 1.0 - lower.sum()
    for i in np.argsort(slopes):
        more = min(upper[i] - lower[i], max(rest, 0.0))
        w[i] += more
        rest -= more
    return w


@compiled
def box_gap(H: Matrix, c: Vector, lower: Vector, upper: Vector, w: Vector) -> float:
    """How far w may be from the minimum of w'Hw - 2 c'w over lower <= w <= upper, 1'w = 1: no point is lower by more.

    2 (Hw - c)'(w - vertex), the vertex of least slope;  H: (s, s) psd, the rest (s,).
    Source: Frank & Wolfe 1956.

    >>> c, w = np.array([9.0, 0.0, 0.0]), np.array([0.6, 0.4, 0.0])
    >>> round(box_gap(np.eye(3), c, np.zeros(3), np.full(3, 0.6), w), 6)
    0.32
    """
    slopes = 2.0 * (np.dot(H, w) - c)
    return max(np.sum(slopes * (w - fill(slopes, lower, upper))), 0.0)
