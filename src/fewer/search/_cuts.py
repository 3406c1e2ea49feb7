"""Linear lower bounds on a convex F, shared by all faces of one problem."""

import numpy as np
import numpy.typing as npt

from .._validation import Indices, Vector

MOST_CUTS = 400
"""Cuts kept at once; the oldest goes first."""
MOST_ENTRIES = 2**23
"""Entries of all cuts together: 64 MB."""
ZERO = 1e-11
"""Below this a reduced cost or a pivot of the game, whose entries lie in [1, 2], is rounding."""


class Cuts:
    """Rows r with F[p] >= Σ_j r_j p_j for every distribution p: value - <g, p> + g of a point and its subgradient g.

    An entry is -inf where the subgradient is not finite: there the row says nothing.
    """

    def __init__(self, size: int) -> None:
        self.most = max(8, min(MOST_CUTS, MOST_ENTRIES // size))
        self.rows = np.empty((0, size))
        self.count = 0

    def add(self, p: Vector, value: float, gradient: Vector) -> Vector:
        """Keep the cut at p, and return it."""
        held = np.flatnonzero(p)
        with np.errstate(invalid="ignore"):
            row = (value - float(gradient[held] @ p[held])) + gradient
        row[~np.isfinite(row)] = -np.inf
        if self.count >= len(self.rows) and len(self.rows) < self.most:
            more = np.empty((min(max(8, self.count), self.most - self.count), row.size))
            self.rows = np.vstack([self.rows, more])
        self.rows[self.count % self.most] = row
        self.count += 1
        return row

    def on(self, face: Indices) -> Vector:
        """The cuts that say something on every entry of a face, (cuts, len(face))."""
        rows = self.rows[: self.count, face]
        return rows[np.isfinite(rows).all(axis=1)]


def game(M: Vector) -> tuple[float, Vector]:
    """A lower bound on min_p max_i (Mp)_i over distributions p, and the p of the minimum.

    The simplex method on max Σx, Mx <= 1, x >= 0. With M shifted above zero x = 0 is a first basis;
    p is x, scaled to sum one. The bound is min_j (λᵀM)_j for the λ found, so it holds whatever
    rounding did to λ.

    Source: Dantzig, "Linear Programming and Extensions", 1963, ch. 13.
    """
    m, s = M.shape
    low = float(M.min())
    span = float(M.max()) - low or 1.0
    T = np.ones((m + 1, s + 1))
    T[:m, :s] += (M - low) / span
    T[m, :s], T[m, s] = -1.0, 0.0
    rows, columns = np.arange(s, s + m), np.arange(s)
    for count in range(20 * (m + s)):
        j = _entering(T[m, :s], columns, count > 4 * (m + s))
        if j < 0:
            break
        i = _leaving(T[:m, s], T[:m, j])
        _pivot(T, i, j)
        rows[i], columns[j] = columns[j], rows[i]
    p, weights = np.zeros(s), np.zeros(m)
    p[rows[rows < s]] = np.maximum(T[:m, s][rows < s], 0.0)
    weights[columns[columns >= s] - s] = np.maximum(T[m, :s][columns >= s], 0.0)
    return float((weights / weights.sum() @ M).min()), p / p.sum()


def _entering(costs: Vector, labels: Indices, careful: bool) -> int:
    """The column of the lowest reduced cost, or the first that is negative, which cannot cycle; -1 at the optimum."""
    j = int(costs.argmin())
    if costs[j] >= -ZERO:
        return -1
    return int(min(np.flatnonzero(costs < -ZERO), key=lambda c: labels[c])) if careful else j


def _leaving(right: Vector, column: Vector) -> int:
    """The row that reaches zero first."""
    usable = column > ZERO
    ratios: npt.NDArray[np.float64] = np.full(len(column), np.inf)
    np.divide(right, column, out=ratios, where=usable)
    return int(ratios.argmin())


def _pivot(T: Vector, i: int, j: int) -> None:
    """Exchange a row and a column of the tableau in place."""
    pivot, column = T[i, j], T[:, j].copy()
    row = T[i] / pivot
    T -= column[:, None] * row
    T[:, j] = -column / pivot
    T[i] = row
    T[i, j] = 1.0 / pivot
