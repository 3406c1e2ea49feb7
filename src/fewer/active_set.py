"""The exact active-set solver for convex quadratics on the simplex cut by a box.

A simplex is the box [0, 1].

Each step is a few passes of NumPy around the compiled Cholesky factor of the free units. Sources:
Lawson & Hanson 1974, ch. 23; Wolfe 1976, Math. Prog. 11; Nocedal & Wright 2006, ch. 16.
"""

from dataclasses import dataclass, field

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


@dataclass(eq=False)
class ActiveSet:
    """min w'Gw - 2 b'w over lo <= w <= hi (and 1'w = 1 if sigma > 0), on the way: some units are free, the others rest.

    G: (s, s), b, lo, hi, w: (s,), all float64 and in C order; w is changed in place. `scale` (s,)
    is the diagonal before the origin was moved, whose rounding G has inherited. `residual` is b - G
    w, minus half the gradient, as of the last `renew`.
    """

    G: Matrix
    b: Vector
    lo: Vector
    hi: Vector
    w: Vector
    sigma: float
    scale: Vector
    residual: Vector = field(init=False)
    count: int = 0
    steps: int = 0

    def __post_init__(self) -> None:
        size = len(self.b)
        self.squares = self.G.diagonal()
        self.norms = np.sqrt(np.maximum(self.squares, 0.0))
        self.factor, self._passive = np.empty((size, size)), np.empty(size, np.int64)

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

    def free(self, *units: int) -> bool:
        """Free units, but for those that depend on the ones that are free.

        Whether all were freed.
        """
        before, entering = self.count, np.array(units, np.int64)
        self.count = append(
            self.G, self.sigma, self.scale, self.factor, self._passive, before, entering
        )
        return self.count == before + len(units)

    def restart(self) -> None:
        """Free the units strictly inside their bounds and descend on them; dependent ones rest.

        Where all units rest, the one that may go down at the smallest residual is freed; none where
        none can move.
        """
        self.count = 0
        self.free(*np.flatnonzero((self.w > self.lo + AT_BOUND) & (self.w < self.hi - AT_BOUND)))
        self.renew()
        self.descend()
        able = np.flatnonzero(self.w > self.lo + AT_BOUND)
        if not self.count and len(able):
            self.free(able[np.argmin(self.residual[able])])

    def advance(self, residual: Vector, total: float, longest: float) -> tuple[int, float]:
        """Move the passive weights as far as the bounds allow; one that meets its bound rests.

        w_P <- w_P + t x, t <= longest, (L L') x = r + mu 1, with mu such that 1'x = total if sigma
        > 0; r (count,), changed in place. Returns the position that met its bound, or -1, and t.
        """
        ends = self.w, self.lo, self.hi
        position, t = advance(
            self.factor, self.passive, self.sigma, total, residual, longest, *ends
        )
        if position >= 0:
            self.count = remove(self.factor, self._passive, self.count, position)
        return position, t

    def towards(self) -> bool:
        """Move the passive weights towards their minimiser; whether a bound was in the way."""
        residual, missing = self.residual[self.passive], 1.0 - float(self.w.sum())
        position, _ = self.advance(residual, missing, 1.0)
        self.renew()
        return position >= 0

    def descend(self) -> None:
        """Walk to the minimiser of the passive units, fixing each one that meets a bound."""
        blocked = True
        while blocked and self.count:
            blocked = self.towards()
            self.steps += 1

    def move_dependent_unit(self, unit: int, way: float) -> None:
        """Move an affinely dependent unit until it or a passive one meets a bound.

        Along d_u = way, d_P = argmin d'Gd with 1'd = 0 the curvature is negligible. If a passive
        unit blocks, the two change places; else `unit` rests at its other bound. Source: Nocedal &
        Wright 2006, sec. 16.5.
        """
        room = self.hi[unit] - self.w[unit] if way > 0.0 else self.w[unit] - self.lo[unit]
        position, length = self.advance(-way * self.G[unit, self.passive], -way, float(room))
        self.w[unit] = np.clip(self.w[unit] + way * length, self.lo[unit], self.hi[unit])
        if position >= 0:
            self.free(unit)
        self.renew()

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
        shortest = float(squares.min(initial=np.inf))
        near = self.sigma / MAX_SIGMA_RATIO <= shortest <= self.sigma * MAX_SIGMA_RATIO
        return self.sigma if near or shortest == np.inf else shortest

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
        self.sigma = float(self.squares.max())
        self.sigma = self.suited(np.flatnonzero(self.w > 0.0)) if self.sigma > 0.0 else 1.0
        self.restart()
        while 0 < self.count < size and self.steps < 20 * size + 100:
            level, error = self.uneven()[0], self.rounding()
            error += float(self.w @ error)
            unit, slope = self.steepest(tried, error, level)
            if unit < 0:
                break
            tried[unit] = True
            sigma = self.suited(np.append(self.passive, unit))
            if sigma != self.sigma:
                self.sigma = sigma
                self.restart()
            if self.count and self._entered(unit, slope, level, error):
                tried[:] = False
        if self.count:
            before, w = self.uneven()[1], self.w.copy()
            if self.towards() or self.uneven()[1] >= before:
                self.w[:] = w

    def _entered(self, unit: int, slope: float, level: float, error: Vector) -> bool:
        """Let a unit enter and descend; whether F fell by more than rounding. Undone where it rose.

        A step shorter than rounding onto the last bound also counts: other units are free
        afterwards.
        """
        w, residual = self.w.copy(), self.residual
        if not self.free(unit):  # dependent: move it if the slope beats the curvature
            flat = DEPENDENT * (self.sigma + self.scale[unit])
            flat = min(flat, 0.25 * (self.sigma + self.squares[unit]))
            if abs(slope) <= 3.0 * flat:
                return False
            self.move_dependent_unit(unit, 1.0 if residual[unit] > level else -1.0)
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


def box_weights(
    H: Matrix, c: Vector, low: float | Vector, high: float | Vector, start: Vector
) -> Vector:
    """Minimise a convex quadratic on the simplex cut by a box, exactly to rounding.

    min w'Hw - 2 c'w  subject to  low <= w <= high, 1'w = 1;  H: (s, s) symmetric positive
    semi-definite, c: (s,), 0 <= low <= high, numbers or (s,), with 1'low <= 1 <= 1'high, start:
    (s,) where to begin, feasible or not; zeros begin at the best vertex where low is zero.

    The origin is moved to the shortest column, which the sum constraint permits: G_ij = H_ij - H_ir
    - H_rj + H_rr, b_i = c_i - c_r - H_ir + H_rr, r = argmin H_ii. No column exceeds twice its
    length then, and an offset common to all columns cancels.

    >>> w = box_weights(np.eye(3), np.array([1.0, 0.0, 0.0]), 0.0, 0.5, np.zeros(3))
    >>> w.round(12).tolist()
    [0.5, 0.25, 0.25]
    """
    lo, hi = np.empty(len(c)), np.empty(len(c))
    lo[:], hi[:] = low, high
    if len(c) == 1:  # all the weight
        return np.minimum(1.0, hi)
    H = np.ascontiguousarray(H, np.float64)
    r = int(H.diagonal().argmin())
    far = H[r] - H[r, r]
    G, b = H - H[:, r, None] - far, (c - c[r]) - far
    top = np.where(hi >= 1.0, UNBOUNDED, hi)
    w = feasible(start, lo, top, G, b)
    ActiveSet(G, b, lo, top, w, 1.0, H.diagonal()).minimise()
    for _ in range(2):  # the last rounding error of the sum goes to the unit with the most room
        np.minimum(w, hi, out=w)
        roomy = int(np.minimum(w - lo, top - w).argmax())
        w[roomy] = min(max(w[roomy] + (1.0 - w.sum()), lo[roomy]), hi[roomy])
        if w.sum() == 1.0:
            break
    return w


def simplex_weights(H: Matrix, c: Vector, start: Vector | None = None) -> Vector:
    """The minimiser of w'Hw - 2 c'w on the simplex, from the best vertex or from `start`.

    >>> simplex_weights(np.eye(2), np.array([1.0, 0.5])).tolist()
    [0.75, 0.25]
    """
    return box_weights(H, c, 0.0, 1.0, np.zeros(len(c)) if start is None else start)


def feasible(start: Vector, lo: Vector, top: Vector, G: Matrix, b: Vector) -> Vector:
    """Weights within bounds and of sum one, near `start` (s,), or the best vertex where that is zero."""
    w = np.minimum(np.maximum(start, lo), top)
    if not w.any():
        best = int(np.argmin(np.diag(G) - 2.0 * b))
        w[best] = min(1.0, top[best])
    for everyone in (False, True):  # units that have weight take what is missing, or all must
        missing = 1.0 - float(w.sum())
        if abs(missing) <= AT_BOUND:
            break
        room = np.where(everyone | (w > 0.0), top - w, 0.0) if missing > 0.0 else w - lo
        if room.sum() > 0.0:
            w += np.clip(missing / room.sum(), -1.0, 1.0) * room
    return w


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
    w, bounds = np.array(start, np.float64), (np.zeros(size), np.full(size, np.inf))
    path = ActiveSet(H, c, *bounds, w, sigma, np.diag(H))
    path.free(*np.flatnonzero(w))
    w[np.setdiff1d(np.flatnonzero(w), path.passive)] = 0.0
    path.renew()
    tried, floor, entered = np.zeros(size, np.bool_), 0.0, 0
    while path.count < limit:
        level = float(w @ path.residual) if sigma > 0.0 else 0.0
        error = path.rounding() * (2.0 if sigma > 0.0 else 1.0)
        unit, slope = path.steepest(tried, error, level)
        if unit < 0 or slope < floor:
            break
        floor = max(floor, share * slope) if entered == 0 else floor
        tried[unit] = True
        entered += 1
        if path.free(unit):
            path.descend()
            if w[unit] > 0.0:
                tried[:] = False
    return w, entered
