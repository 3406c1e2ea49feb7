"""MMD² as a function of where points are, at their best weights, and its descent by L-BFGS-B with restarts."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import Indices, Vector
from ...active_set import box_weights, simplex_weights
from ...deadline import Deadline
from ...distances import Matrix, centre_of, distance_blocks, squared_lengths
from ...objectives.mmd import spans, spread
from ...similarity import Similarity
from .rows import Sample

TILE = 2**17
"""Similarities of a tile."""
FAR = 1e6
"""The squared distance between classes, in bandwidths: their similarity is then zero."""
MEMORY = 20
"""Steps that L-BFGS-B remembers."""
MIN_GAIN = 5e-6
"""The share of the first value that a step must gain, else the points stay."""
FIRST_EVALUATIONS, ROUND_EVALUATIONS, FEWEST_EVALUATIONS = 500, 150, 40
"""Evaluations of the first descent and of those after points were put elsewhere, at most; and the
least for one."""
ENOUGH, IDLE_ROUNDS = 1e-3, 3
"""Rounds in a row that gain less than this share of the value, after which points are put elsewhere
no more."""
LEAST_WEIGHT = 0.05
"""Weights below this share of the mean weight count as so much in the unit of a point's steps."""

Tell = Callable[[int, float, Vector], Any]


class Slope(NamedTuple):
    """A similarity s(y, x) as a function of v = -(scale ‖y - x‖)², and h: its gradient in y is -factor h (y - x)."""

    of: Callable[[Any], tuple[Any, Any]]
    scale: Callable[[float], float]
    factor: Callable[[float], float]


def _rbf(v: Any) -> tuple[Any, Any]:
    """Compute exp(v), twice."""
    s = np.exp(v, out=v)
    return s, s


def _matern32(v: Any) -> tuple[Any, Any]:
    """Compute (1 + r) exp(-r) and exp(-r), r = √(-3v)."""
    r = np.sqrt(-3.0 * v)
    fall = np.exp(-r)
    return (1.0 + r) * fall, fall


def _matern52(v: Any) -> tuple[Any, Any]:
    """Compute (1 + r + r²/3) exp(-r) and (1 + r) exp(-r), r = √(-5v)."""
    r = np.sqrt(-5.0 * v)
    fall = np.exp(-r)
    return (1.0 + r + r * r / 3.0) * fall, (1.0 + r) * fall


SLOPES = {
    "matern32": Slope(_matern32, lambda gamma: gamma, lambda gamma: 3.0 * gamma**2),
    "matern52": Slope(_matern52, lambda gamma: gamma, lambda gamma: 5.0 / 3.0 * gamma**2),
    "rbf": Slope(_rbf, math.sqrt, lambda gamma: 2.0 * gamma),
}
"""Similarities whose points can move: the others have kinks, see means only, or compare what has no
place."""


@dataclass(frozen=True, eq=False)
class MovingMMD:
    """MMD² as a function of where k points are, at their best weights, without its constant.

        f(Y) = min_w Σ w_i w_j s(y_i, y_j) - 2 Σ w_i t_n s(y_i, x_n),   low <= w <= high, Σ w = 1

    By the envelope theorem the gradient in Y is that at the best w, held fixed. In units of the
    bandwidth, less the `centre` (m,), `rows` (n, m + 2) are rows z beside ‖z‖² and 1, so that one
    product with points gives -‖y - z‖², and `sums` (n, m + 1) are t z beside t, so that another
    gives all sums. `offsets` (k, n) and `own_offsets` (k, k) are what columns that stay, and
    classes, add to the squared distances; None where there are none.
    """

    similarity: Similarity
    rows: Matrix
    sums: Matrix
    centre: Vector
    offsets: Matrix | None
    own_offsets: Matrix
    low: float = 0.0
    high: float = 1.0

    @classmethod
    def of(
        cls,
        data: Sample,
        points: Matrix,
        labels: Indices | None,
        similarity: Similarity,
        columns: Indices,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> "MovingMMD":
        """Make the function for points that begin at rows (k, d) and move in some columns (m,) to stand for `data`."""
        staying = np.setdiff1d(np.arange(points.shape[1]), columns)
        centre = np.asarray(centre_of(points[:, columns]), np.float64)
        scale = SLOPES[similarity.name].scale(float(similarity.gamma or 0.0))
        X, t = data.rows[:], data.weights / data.weights.sum()
        z = scale * (dense(X[:, columns]) - centre)
        own_offsets: Matrix = np.zeros((len(points), len(points)))
        offsets: Matrix | None = None
        if staying.size:
            few = points[:, staying]
            own_offsets = scale**2 * distance_blocks(few, few)
            few = sp.csr_array(few) if sp.issparse(X) else few
            offsets = scale**2 * distance_blocks(few, X[:, staying].astype(np.float64))
        if labels is not None and data.labels is not None:
            own_offsets = own_offsets + FAR * (labels[:, None] != labels)
            offsets = (0.0 if offsets is None else offsets) + FAR * (labels[:, None] != data.labels)
        sums = np.column_stack([t[:, None] * z, t])
        return cls(similarity, _with_lengths(z), sums, centre, offsets, own_offsets, *bounds)

    @property
    def slope(self) -> Slope:
        """The similarity with its gradient."""
        return SLOPES[self.similarity.name]

    @property
    def scale(self) -> float:
        """The factor that brings places into units of the bandwidth."""
        return self.slope.scale(float(self.similarity.gamma or 0.0))

    def __call__(self, places: Matrix, start: Vector) -> tuple[float, Vector, Matrix]:
        """Compute the value, the best weights (k,), and the gradient (k, m), at places (k, m)."""
        Y = places - self.centre
        K, own, c, pull, push = self._compared(Y)
        w = box_weights(K, c, self.low, self.high, start)
        toward = push / self.scale - pull[:, None] * Y  # Σ_n t_n h(y_i, x_n) (x_n - y_i)
        away = own @ (w[:, None] * Y) - (own @ w)[:, None] * Y
        factor = 2.0 * self.slope.factor(float(self.similarity.gamma or 0.0))
        gradient = np.asarray(factor * w[:, None] * (away - toward))
        return float(w @ K @ w - 2.0 * (c @ w)), w, gradient

    def quadratic(self, places: Matrix) -> tuple[Vector, Vector]:
        """Compute the similarities of points to each other, (k, k), and their mean ones to the rows, (k,)."""
        K, _, c, _, _ = self._compared(places - self.centre)
        return K, c

    def _compared(self, Y: Matrix) -> tuple[Vector, Vector, Vector, Vector, Matrix]:
        """Compute similarities and h of points to each other, and Σ t s, Σ t h and Σ t h z over the rows, in tiles."""
        Z = self.scale * Y
        left = np.column_stack([2.0 * Z, -np.ones(len(Z)), -squared_lengths(Z)])
        K, own = self.slope.of(np.minimum(left @ _with_lengths(Z).T - self.own_offsets, 0.0))
        K = K.copy()  # for rbf it is h as well
        np.fill_diagonal(K, 1.0)

        def work(span: slice) -> tuple[Any, Any]:
            v = left @ self.rows[span].T
            if self.offsets is not None:
                v -= self.offsets[:, span]
            s, h = self.slope.of(np.minimum(v, 0.0, out=v))
            return s @ self.sums[span, -1], h @ self.sums[span]

        tiles = spread(work, spans(len(self.rows), max(1, TILE // len(Z))))
        c, both = (np.sum(each, axis=0) for each in zip(*tiles, strict=True))
        return K, own, c, both[:, -1], both[:, :-1]


def dense(rows: Any) -> Matrix:
    """Return rows as an array of float64."""
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, np.float64)


def _with_lengths(Z: Matrix) -> Matrix:
    """Return rows z beside ‖z‖² and 1."""
    return np.column_stack([Z, squared_lengths(Z), np.ones(len(Z))])


class Box(NamedTuple):
    """Columns in which points move (m,), between which ends (m,), and which entries of the points stay, (k, m)."""

    columns: Indices
    low: Vector
    high: Vector
    fixed: npt.NDArray[np.bool_]


class Seats(NamedTuple):
    """Rows where points may be put (n, m), their mean similarity to the target (n,), and which points (n, k)."""

    rows: Matrix
    means: Vector
    open: npt.NDArray[np.bool_]


class _Stop(Exception):  # noqa: N818 - an end, not an error
    """The descent ends early."""


class Descent:
    """The best places so far, with value and weights, and the way there.

    Values are in units of the first one.

    A point of weight w moves in units of 1 / √w bandwidths: the Hessian of its place grows with w.
    """

    def __init__(
        self, problem: MovingMMD, start: Matrix, weights: Vector, unit: float, box: Box
    ) -> None:
        self.problem, self.box, self.moves = problem, box, ~box.fixed
        self.places, self.value, self.weights = start, 1.0, weights
        self.unit, self.base = max(unit, 1e-14), problem(start, weights)[0]
        self.history, self.stopped = [1.0], ""

    def search(
        self, evaluations: int, seats: Seats | None, rng: Any, until: Deadline, tell: Tell | None
    ) -> None:
        """Descend from the first places, then from others near the best ones while that helps and work is left."""
        if not self.moves.any():
            return
        idle, most = 0, min(evaluations, FIRST_EVALUATIONS)
        try:
            left = evaluations - self._descend(self.places, self.weights, most, until, tell)
            while seats is not None and left >= FEWEST_EVALUATIONS and idle < IDLE_ROUNDS:
                before, most = self.value, min(left, ROUND_EVALUATIONS)
                left -= 1 + self._descend(*self._reseated(seats, rng), most, until, tell)
                idle = 0 if self.value < before * (1.0 - ENOUGH) else idle + 1
        except _Stop:
            pass

    def _descend(
        self, start: Matrix, weights: Vector, most: int, until: Deadline, tell: Tell | None
    ) -> int:
        """Run L-BFGS-B from some places, and return how often value and gradient were computed."""
        # here: SciPy's optimisers take a third of a second to import, and few calls move points
        from scipy.optimize import minimize as descend

        stiff = np.sqrt(np.maximum(len(weights) * weights, LEAST_WEIGHT))
        scale = self.problem.scale * np.broadcast_to(stiff[:, None], start.shape)[self.moves]
        last, count = weights, 0

        def value(flat: Vector) -> tuple[float, Vector]:
            nonlocal last, count
            if until.passed:
                self.stopped = "time"
                raise _Stop
            places = start.copy()
            places[self.moves] = flat / scale
            f, last, slope = self.problem(places, last)
            count += 1
            scaled = (f - self.base) / self.unit + 1.0
            if scaled < self.value:
                self.places, self.value, self.weights = places, scaled, last
            return scaled, slope[self.moves] / (self.unit * scale)

        def step(flat: Vector) -> None:
            self.history.append(self.value)
            if tell is not None and tell(len(self.history) - 1, self.value, self.weights):
                self.stopped = "callback"
                raise _Stop

        ends = np.broadcast_arrays(self.box.low, self.box.high, start)[:2]
        bounds = np.column_stack([end[self.moves] * scale for end in ends])
        options = {"maxiter": most, "maxfun": most, "maxcor": MEMORY, "ftol": MIN_GAIN, "gtol": 0.0}
        how = {"method": "L-BFGS-B", "bounds": bounds, "callback": step, "options": options}
        descend(value, scale * start[self.moves], jac=True, **how)
        return count

    def _reseated(self, seats: Seats, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        """Put a point and the most similar one of its class elsewhere, and weigh all points anew.

        Each goes where it is missed most: to the row of its class with the largest witness
        function, Σ_n t_n s(x, x_n) - Σ_i w_i s(x, y_i), of the others.
        """
        problem, places = self.problem, self.places.copy()
        K, c = problem.quadratic(places)
        S = problem.similarity(seats.rows, places) * seats.open
        movers = np.flatnonzero(self.moves.all(axis=1))
        if not movers.size:
            raise _Stop
        first = int(rng.choice(movers))
        kin = movers[(movers != first) & (problem.own_offsets[first, movers] < FAR)]
        out = [first, *kin[np.argsort(-K[first, kin], kind="stable")[:1]].tolist()]
        stay = np.setdiff1d(np.arange(len(K)), out)
        for point in out:
            witness = seats.means.copy()
            if len(stay):
                witness -= S[:, stay] @ simplex_weights(K[np.ix_(stay, stay)], c[stay])
            at = int(np.argmax(np.where(seats.open[:, point], witness, -np.inf)))
            K[point, stay] = K[stay, point] = S[at, stay]
            S[:, point] = problem.similarity(seats.rows, seats.rows[[at]])[:, 0]
            S[:, point] *= seats.open[:, point]
            c[point] = seats.means[at]
            stay = np.append(stay, point)
            places[point] = np.clip(seats.rows[at], self.box.low, self.box.high)
        even = np.full(len(K), 1.0 / len(K))
        return places, box_weights(K, c, problem.low, problem.high, even)
