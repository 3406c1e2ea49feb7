"""The exact active-set solver for convex quadratics on the simplex cut by a box.

a simplex is the box [0, 1].

Each step is a few passes of NumPy around the compiled Cholesky factor of the free units. Sources:
Lawson & Hanson 1974, ch. 23; Wolfe 1976, Math. Prog. 11; Nocedal & Wright 2006, ch. 16.
"""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ._compiled.cholesky import DEPENDENT, advance, append, remove, steepest
from ._validation import Indices, Vector

Matrix = npt.NDArray[np.float64]

ROUNDING = 16.0 * float(np.finfo(float).eps)
"""Relative rounding error granted to one inner product."""
MAX_SIGMA_RATIO = 1e4
"""How far sigma may be from the shortest passive column, squared."""
AT_ORIGIN = 1e-8
"""Relative square below which a column counts as the origin itself."""
AT_BOUND = 1e-14
"""Weights this close to a bound rest on it."""
UNBOUNDED = 2.0
"""An upper bound that no weight meets."""


class ActiveSet:
    """min w'Gw - 2 b'w over lo <= w <= hi (and 1'w = 1 if sigma > 0), on the way: some units are free, the others rest.

    G: (s, s), b, lo, hi, w: (s,), all float64 and in C order; w is changed in place. `scale` (s,)
    is the diagonal before the origin was moved, whose rounding G has inherited. `residual` is b - G
    w, minus half the gradient, as of the last `renew`.
    """

    def __init__(
        self, G: Matrix, b: Vector, lo: Any, hi: Any, w: Vector, sigma: float, scale: Vector
    ) -> None:
        self.G, self.b, self.lo, self.hi, self.w, self.sigma, self.scale = (
            G,
            b,
            lo,
            hi,
            w,
            sigma,
            scale,
        )
        size = len(b)
        self.squares = G.diagonal()
        self.factor, self._passive, self.count = np.empty((size, size)), np.empty(size, np.int64), 0
        self.steps = 0

    @cached_property
    def norms(self) -> Vector:
        """The lengths of the columns, (s,)."""
        return np.sqrt(np.maximum(self.squares, 0.0))

    @property
    def passive(self) -> Indices:
        """The free units, in the order they entered."""
        return self._passive[: self.count]

    def renew(self) -> None:
        """Compute the residual afresh."""
        self.residual = self.b - self.G @ self.w

    def rounding(self) -> Vector:
        """How far rounding may move each residual, (s,)."""
        return ROUNDING * (np.abs(self.b) + self.norms * float(self.norms @ self.w))

    def free(self, units: Indices) -> bool:
        """Free units, but for those that depend on the ones that are free.

        Whether all were freed.
        """
        before = self.count
        self.count = append(
            self.G, self.sigma, self.scale, self.factor, self._passive, before, units
        )
        return self.count == before + len(units)

    def restart(self) -> None:
        """Free the units strictly inside their bounds and descend on them; dependent ones rest.

        Where all units rest, the one that may go down at the smallest residual is freed; none where
        none can move.
        """
        self.count = 0
        self.free(((self.w > self.lo + AT_BOUND) & (self.w < self.hi - AT_BOUND)).nonzero()[0])
        self.renew()
        self.descend()
        if not self.count:
            able = np.flatnonzero(self.w > self.lo + AT_BOUND)
            if len(able):
                self.free(able[[np.argmin(self.residual[able])]])

    def advance(self, residual: Vector, total: float, longest: float) -> tuple[int, float]:
        """Move the passive weights as far as the bounds allow.

        The position that meets its, or -1, and how far.

        w_P <- w_P + t x, t <= longest, (L L') x = r + mu 1, with mu such that 1'x = total if sigma
        > 0; r (count,), changed in place.
        """
        bounds = self.lo, self.hi
        return advance(
            self.factor, self.passive, self.sigma, total, residual, longest, self.w, *bounds
        )

    def towards(self) -> int:
        """Move the passive weights towards their minimiser.

        The position that meets its bound first, or -1.
        """
        position, _ = self.advance(self.residual[self.passive], 1.0 - float(self.w.sum()), 1.0)
        self.renew()
        return position

    def fix_at_bound(self, position: int) -> None:
        """Let the unit at a position of `passive` rest."""
        self.count = remove(self.factor, self._passive, self.count, position)

    def descend(self) -> None:
        """Walk to the minimiser of the passive units, fixing each one that meets a bound."""
        blocked = True
        while blocked and self.count:
            position = self.towards()
            blocked = position >= 0
            if blocked:
                self.fix_at_bound(position)
            self.steps += 1

    def move_dependent_unit(self, unit: int, way: float) -> None:
        """Move an affinely dependent unit until it or a passive one meets a bound.

        Along d_u = way, d_P = argmin d'Gd with 1'd = 0 the curvature is negligible. If a passive
        unit blocks, the two change places; else `unit` rests at its other bound. Source: Nocedal &
        Wright 2006, sec. 16.5.
        """
        room = self.hi[unit] - self.w[unit] if way > 0.0 else self.w[unit] - self.lo[unit]
        position, length = self.advance(-way * self.G[unit, self.passive], -way, float(room))
        self.w[unit] = min(max(self.w[unit] + way * length, self.lo[unit]), self.hi[unit])
        if position >= 0:
            self.fix_at_bound(position)
            self.free(np.array([unit]))

    def uneven(self) -> tuple[float, float]:
        """The mean of the passive residuals, which they share at the minimiser, and how far one is from it at most."""
        residual = self.residual[self.passive]
        level = float(residual.sum()) / len(residual)
        return level, float(np.abs(residual - level).max())

    def suited(self, units: Indices) -> float:
        """Keep sigma, or match it to the shortest of some columns where it is far off.

        m = min G_ii, less the columns at the origin; sigma if it is within MAX_SIGMA_RATIO of m,
        else m. A sigma far above m drowns the digits of short columns, one far below m loses affine
        independence.
        """
        squares = self.squares[units]
        squares = squares[squares > AT_ORIGIN * np.abs(self.scale[units])]
        shortest = float(squares.min()) if len(squares) else self.sigma
        near = self.sigma / MAX_SIGMA_RATIO <= shortest <= self.sigma * MAX_SIGMA_RATIO
        return self.sigma if near else shortest

    def polish(self) -> None:
        """One step of iterative refinement on the passive units, kept only if it evens out their residuals."""
        before, kept = self.uneven()[1], self.w.copy()
        if self.towards() >= 0 or self.uneven()[1] >= before:
            self.w[:] = kept

    def steepest(
        self, tried: npt.NDArray[np.bool_], error: Vector, level: float
    ) -> tuple[int, float]:
        """The resting unit, not tried yet, whose slope promises most, and the slope.

        -1 where all are within error.
        """
        slope = self.residual - level
        slope[self.passive] = 0.0
        unit = steepest(slope, error, self.w, self.lo, self.hi, tried)
        return unit, float(slope[unit])

    def minimise(self) -> None:
        """Alternate freeing the unit whose slope promises most and descending, from the feasible w.

        A unit is freed at most once between two decreases that exceed rounding, and a step that
        increases the objective is undone, so the walk cannot cycle. A last step of iterative
        refinement is kept if it evens out the residuals.
        """
        size, tried = len(self.w), np.zeros(len(self.w), np.bool_)
        longest = float(self.squares.max())
        self.sigma = longest if longest > 0.0 else 1.0
        self.sigma = self.suited((self.w > 0.0).nonzero()[0])
        self.restart()
        while 0 < self.count < size and self.steps < 20 * size + 100:
            level, error = self.uneven()[0], self.rounding()
            error += float(self.w @ error)
            unit, slope = self.steepest(tried, error, level)
            if unit < 0:
                break
            tried[unit] = True
            if self._settled(unit) and self._entered(unit, slope, level, error):
                tried[:] = False
        if self.count:
            self.polish()

    def _settled(self, unit: int) -> bool:
        """Fit sigma to the unit that is to enter; whether any unit can still move."""
        sigma = self.suited(np.append(self.passive, unit))
        if sigma != self.sigma:
            self.sigma = sigma
            self.restart()
        return self.count > 0

    def _entered(self, unit: int, slope: float, level: float, error: Vector) -> bool:
        """Let a unit enter and descend; whether F fell by more than rounding. Undone where it rose.

        A step shorter than rounding onto the last bound also counts: other units are free
        afterwards.
        """
        w, residual = self.w.copy(), self.residual
        way = 1.0 if residual[unit] > level else -1.0
        if not self.free(np.array([unit])):  # dependent: move it if the slope beats the curvature
            flat = min(
                DEPENDENT * (self.sigma + self.scale[unit]),
                0.25 * (self.sigma + self.squares[unit]),
            )
            if abs(slope) <= 3.0 * flat:
                return False
            self.move_dependent_unit(unit, way)
            self.renew()
        self.descend()
        self.steps += 1
        moved = self.w - w
        drop = float(moved @ (residual + self.residual - 2.0 * level))
        doubt = 2.0 * float(np.abs(moved) @ error)
        if drop < -doubt:
            self.w[:] = w
        emptied = not self.count and bool((self.w != w).any())
        if drop < -doubt or not self.count:
            self.restart()
        return drop > doubt or emptied


def box_quadratic(
    H: Matrix, c: Vector, lo: Vector, hi: Vector, start: Vector
) -> tuple[Vector, int]:
    """Minimise a convex quadratic on the simplex cut by a box, exactly to rounding.

    min w'Hw - 2 c'w  subject to  lo <= w <= hi, 1'w = 1;  H: (s, s) symmetric positive
    semi-definite, c, lo, hi: (s,) with 0 <= lo <= hi and 1'lo <= 1 <= 1'hi, start: (s,) where to
    begin, feasible or not; zeros begin at the best vertex where lo is zero. Returns the weights
    (s,) and the number of steps.

    The origin is moved to the shortest column, which the sum constraint permits: G_ij = H_ij - H_ir
    - H_rj + H_rr, b_i = c_i - c_r - H_ir + H_rr, r = argmin H_ii. No column exceeds twice its
    length then, and an offset common to all columns cancels.

    >>> w, steps = box_quadratic(
    ...     np.eye(3), np.array([1.0, 0.0, 0.0]), np.zeros(3), np.full(3, 0.5), np.zeros(3)
    ... )
    >>> w.round(12).tolist()
    [0.5, 0.25, 0.25]
    """
    r = int(H.diagonal().argmin())
    far = H[r] - H[r, r]
    G, b = H - H[:, r, None] - far, (c - c[r]) - far
    top = hi.copy()
    top[hi >= 1.0] = UNBOUNDED
    w = feasible(start, lo, top, G, b)
    found = ActiveSet(G, b, lo, top, w, 1.0, H.diagonal())
    found.minimise()
    for _ in range(2):  # the last rounding error of the sum goes to the unit with the most room
        np.minimum(w, hi, out=w)
        roomy = int(np.minimum(w - lo, top - w).argmax())
        w[roomy] = min(max(w[roomy] + (1.0 - w.sum()), lo[roomy]), hi[roomy])
        if w.sum() == 1.0:
            break
    return w, found.steps


def feasible(start: Vector, lo: Vector, top: Vector, G: Matrix, b: Vector) -> Vector:
    """Weights within bounds and of sum one, near `start` (s,), or the best vertex where that is zero."""
    w = np.minimum(np.maximum(start, lo), top)
    if not w.any():
        best = int(np.argmin(np.diag(G) - 2.0 * b))
        w[best] = min(1.0, top[best])
    for everyone in (
        False,
        True,
    ):  # what is missing goes to the units that have weight, and to others if they must
        missing = 1.0 - float(w.sum())
        if abs(missing) <= AT_BOUND:
            break
        room = np.where(everyone | (w > 0.0), top - w, 0.0) if missing > 0.0 else w - lo
        if room.sum() > 0.0:
            w += min(max(missing / float(room.sum()), -1.0), 1.0) * room
    return w


def simplex_weights(H: Matrix, c: Vector, start: Vector | None = None) -> Vector:
    """The minimiser of w'Hw - 2 c'w on the simplex, from the best vertex or from `start`.

    >>> simplex_weights(np.eye(2), np.array([1.0, 0.5])).tolist()
    [0.75, 0.25]
    """
    return box_weights(H, c, 0.0, 1.0, np.zeros(len(c)) if start is None else start)


def box_weights(
    H: Matrix, c: Vector, low: float | Vector, high: float | Vector, start: Vector
) -> Vector:
    """The minimiser of w'Hw - 2 c'w on the simplex cut by bounds; arrays of any layout."""
    lo, hi = np.empty(len(c)), np.empty(len(c))
    lo[:], hi[:] = low, high
    if len(c) == 1:  # all the weight
        return np.minimum(1.0, hi)
    H, c, start = (
        np.ascontiguousarray(H, np.float64),
        np.ascontiguousarray(c, np.float64),
        np.asarray(start, np.float64),
    )
    return box_quadratic(H, c, lo, hi, start)[0]


def climb(
    H: Matrix, c: Vector, sigma: float, start: Vector, limit: int, share: float
) -> tuple[Vector, int]:
    """Walk towards min w'Hw - 2 c'w over w >= 0 (and 1'w = 1 if sigma > 0), one steepest unit at a time.

    Stops at `limit` passive units, or once the steepest slope is below `share` of the first one. H:
    (s, s) symmetric positive semi-definite, c: (s,), start: (s,) weights whose non-zeros are
    independent and are the minimiser of their face. Returns the weights (s,) and the number of
    units that entered. Source: Lawson & Hanson 1974, algorithm NNLS.

    >>> climb(np.eye(3), np.array([3.0, 2.0, 1.0]), 0.0, np.zeros(3), 2, 0.0)[0].tolist()
    [3.0, 2.0, 0.0]
    """
    size = len(c)
    path = ActiveSet(
        H, c, np.zeros(size), np.full(size, np.inf), np.array(start, np.float64), sigma, np.diag(H)
    )
    held = path.w.nonzero()[0]
    if not path.free(held):
        path.w[np.setdiff1d(held, path.passive)] = 0.0
    path.renew()
    tried, floor, entered = np.zeros(size, np.bool_), 0.0, 0
    while path.count < limit:
        level = float(path.w @ path.residual) if sigma > 0.0 else 0.0
        error = path.rounding() * (1.0 if sigma == 0.0 else 2.0)
        unit, slope = path.steepest(tried, error, level)
        if unit < 0 or slope < floor:
            break
        floor = max(floor, share * slope) if entered == 0 else floor
        tried[unit] = True
        entered += 1
        if path.free(np.array([unit])):
            path.descend()
            if path.w[unit] > 0.0:
                tried[:] = False
    return path.w, entered
