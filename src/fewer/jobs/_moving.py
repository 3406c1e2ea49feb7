"""Points that leave their rows: locations by L-BFGS-B, the best weights at each step exactly (variable projection)."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, Vector
from ..active_set import box_weights
from ..deadline import Deadline
from ..distances import Matrix, centre_of, distance_blocks
from ..lazy_rows import some_rows
from ..objectives.pairs import spans, spread
from ..objectives.rows_mmd import RowsMMD, mean_to
from ..similarity import Similarity
from ..solvers.loop import Callback, Progress
from ..spaces import Atoms
from ._places import Movable
from ._target import CANDIDATE_WORK_PER_SECOND, MIN_SAMPLED, Plan, Target, target_means
from .sample import Sample

FEWEST_ITER, MOST_ITER, ITER_TIMES_POINTS = 120, 400, 12_000
"""Steps of L-BFGS-B, at most: more for few points, whose steps cost less (`benchmarks/points.py --part move`)."""
MEMORY = 20
"""Steps that it remembers."""
MIN_GAIN = 2e-5
"""The share of the first value that a step must gain, else the points stay."""
EVALUATIONS = 100
"""About how many times value and gradient are computed, for deciding how many rows may be compared."""
MAX_WORK = 2 * 10**11
"""Pairs of rows times (columns + 20) that moving may compare; `python benchmarks/points.py --part move`."""
TIME_SHARE = 0.8
"""The share of what is left of a time limit that moving may take; judging the answer takes the rest."""
GONE = "the points moved away from the rows that `indices` names"
TILE = 2**17
"""Similarities of a tile."""

FLOAT32_ERROR = 1.5e-9
"""A gain that is told from rounding where points and rows are compared in float32."""


class Slope(NamedTuple):
    """A similarity s(y, x) as a function of v = -(scale ‖y - x‖)², and h: its gradient in y is -factor h (y - x)."""

    of: Callable[[Any], tuple[Any, Any]]
    scale: Callable[[float], float]
    factor: Callable[[float], float]


def _rbf(v: Any) -> tuple[Any, Any]:
    """exp(v), twice."""
    s = np.exp(v, out=v)
    return s, s


def _matern32(v: Any) -> tuple[Any, Any]:
    """(1 + r) exp(-r) and exp(-r), r = √(-3v)."""
    r = np.sqrt(-3.0 * v)
    fall = np.exp(-r)
    return (1.0 + r) * fall, fall


def _matern52(v: Any) -> tuple[Any, Any]:
    """(1 + r + r²/3) exp(-r) and (1 + r) exp(-r), r = √(-5v)."""
    r = np.sqrt(-5.0 * v)
    fall = np.exp(-r)
    return (1.0 + r + r * r / 3.0) * fall, (1.0 + r) * fall


SLOPES = {
    "matern32": Slope(_matern32, lambda gamma: gamma, lambda gamma: 3.0 * gamma**2),
    "matern52": Slope(_matern52, lambda gamma: gamma, lambda gamma: 5.0 / 3.0 * gamma**2),
    "rbf": Slope(_rbf, math.sqrt, lambda gamma: 2.0 * gamma),
}
"""Similarities whose points can move: the others have kinks, see means only, or compare what has no place."""


class Part(NamedTuple):
    """Points of one class and the rows that they stand for, in the columns that move and in units of the bandwidth.

    `rows` (n, m + 2) are rows z beside ‖z‖² and 1, so that one product with points gives v; `sums` (n, m + 1) are t z
    beside t, the weights, so that another gives all sums. `apart` (points, n) is what the columns that stay add to -v;
    None where there are none.
    """

    points: Indices
    rows: Any
    sums: Any
    apart: Any

    @classmethod
    def of(cls, points: Indices, z: Matrix, weights: Vector, apart: Matrix | None, dtype: Any) -> "Part":
        """From rows z (n, m)."""
        rows = np.column_stack([z, _lengths(z), np.ones(len(z))]).astype(dtype)
        sums = np.column_stack([weights[:, None] * z, weights]).astype(dtype)
        return cls(points, rows, sums, None if apart is None else apart.astype(dtype))


@dataclass(frozen=True, eq=False)
class Moving:
    """MMD² as a function of where k points are, at their best weights; without the constant, which never changes.

        f(Y) = min_w Σ w_i w_j s(y_i, y_j) - 2 Σ w_i t_n s(y_i, x_n),   low <= w <= high, Σ w = 1

    By the envelope theorem the gradient in Y is that at the best w, held fixed. `apart` (k, k) is what the columns that
    stay add to the points' -v, `same` (k, k) whether they are of one class.
    """

    similarity: Similarity
    parts: tuple[Part, ...]
    apart: Matrix
    same: Matrix
    low: float = 0.0
    high: float = 1.0

    @property
    def scale(self) -> float:
        """By what places are multiplied to be in units of the bandwidth."""
        return SLOPES[self.similarity.name].scale(float(self.similarity.gamma or 0.0))

    def __call__(self, Y: Matrix, start: Vector) -> tuple[float, Vector, Matrix]:
        """The value, the best weights (k,), and the gradient (k, m), at Y (k, m)."""
        slope, gamma = SLOPES[self.similarity.name], float(self.similarity.gamma or 0.0)
        scale, factor = self.scale, slope.factor(gamma)
        Z = scale * Y
        K, own = (part * self.same for part in slope.of(_exponents(Z, _beside(Z)) - self.apart))
        np.fill_diagonal(K, 1.0)
        c, pull, push = np.zeros(len(Y)), np.zeros(len(Y)), np.zeros_like(Y)
        for part in self.parts:
            c[part.points], pull[part.points], push[part.points] = _sums(part, Z[part.points], slope)
        w = box_weights(K, c, self.low, self.high, start)
        toward = push / scale - pull[:, None] * Y  # Σ_n t_n h(y_i, x_n) (x_n - y_i)
        away = own @ (w[:, None] * Y) - (own @ w)[:, None] * Y
        return float(w @ K @ w - 2.0 * (c @ w)), w, np.asarray(2.0 * factor * w[:, None] * (away - toward))


def _lengths(X: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _beside(Z: Matrix) -> Matrix:
    """Rows z beside ‖z‖² and 1."""
    return np.column_stack([Z, _lengths(Z), np.ones(len(Z))])


def _exponents(Z: Matrix, rows: Any) -> Any:
    """Minus ‖y - z‖² by one product, never above zero, (k, n)."""
    left = np.column_stack([2.0 * Z, -np.ones(len(Z)), -_lengths(Z)]).astype(rows.dtype)
    v = left @ rows.T
    return np.minimum(v, 0.0, out=v)


def _sums(part: Part, Z: Matrix, slope: Slope) -> tuple[Vector, Vector, Matrix]:
    """Σ_n t_n s(y, x_n), Σ_n t_n h(y, x_n) and Σ_n t_n h(y, x_n) z_n of each point y, in tiles."""

    def work(span: slice) -> tuple[Any, Any]:
        v = _exponents(Z, part.rows[span])
        if part.apart is not None:
            v -= part.apart[:, span]
        s, h = slope.of(v)
        return (s @ part.sums[span, -1] if h is not s else 0.0), h @ part.sums[span]

    done = spread(work, spans(len(part.rows), max(1, TILE // max(len(Z), 1))))
    own, both = (sum(np.asarray(sums, np.float64) for sums in each) for each in zip(*done, strict=True))
    both = np.asarray(both)
    return (both[:, -1] if np.ndim(own) == 0 else np.asarray(own)), both[:, -1], both[:, :-1]


class Start(NamedTuple):
    """Where points begin: rows `units` (k,) of a sample, their places `at` among the candidates, and weights (k,)."""

    units: Indices
    at: Indices
    weights: Vector


class Moved(NamedTuple):
    """Where the points are in the columns that move (k, m), their weights, what they are worth, and how it went."""

    places: Matrix
    weights: Vector
    value: float
    error: float
    history: Vector
    stopped: str
    note: str


class _Stop(Exception):  # noqa: N818 - an end, not an error
    """Why the descent ends early."""


def moved(
    sample: Sample,
    against: Sample,
    target: Target,
    similarity: Similarity,
    begin: Start,
    movable: Movable,
    bounds: tuple[float, float],
    memory: int,
    rng: np.random.Generator,
    deadline: Deadline,
    callback: Callback | None,
) -> Moved:
    """Points moved from rows of a sample, or left there where they stand better for those of `against`.

    Weights lie in `bounds`.
    """
    units = begin.units
    rows = _dense(sample.rows[units])
    labels = None if sample.labels is None else sample.labels[units]
    plan = Plan.of(sample, len(units), memory, deadline.seconds, against)
    until = deadline.share(TIME_SHARE)
    start = np.clip(rows[:, movable.columns], movable.low, movable.high)
    start = np.where(movable.fixed, rows[:, movable.columns], start)

    def judge(places: Matrix) -> tuple[Vector, float, float]:
        """The best weights at some places, the value and its error, by all rows or as many as work allows."""
        here = rows.copy()
        here[:, movable.columns] = places
        here = sp.csr_array(here) if getattr(sample.rows, "sparse", sp.issparse(sample.rows)) else here
        if target.whole:
            both = None if labels is None or against.labels is None else (labels, against.labels)
            mean = mean_to(here, against.rows, against.weights, similarity, both, memory)
        else:
            mean, _ = target_means(against, here, labels, similarity, plan, rng, deadline)
        F = RowsMMD(Atoms(len(units)), here, similarity, mean, target.F.constant, labels, memory)
        every = np.arange(len(units))
        w = box_weights(F.cross(every, every), mean, *bounds, begin.weights)
        return w, *replace(target, F=F, candidates=every).judged(every, w)

    first = judge(start)
    some, note = _compared(against, plan, until, rng, memory)
    dtype = np.float32 if MIN_GAIN * first[1] > FLOAT32_ERROR else np.float64
    problem, centre = _problem(against.take(some), rows, labels, similarity, movable.columns, bounds, dtype)
    tell = None if callback is None else _teller(callback, begin, target.F.space.size, first[1], deadline)
    found, history, stopped = _descend(problem, start, movable, centre, first, until, tell)
    last = judge(found)
    if not last[1] <= first[1]:
        return Moved(start, *first, np.array([first[1]]), stopped, "no move was better than the rows themselves")
    values = np.append(np.maximum(first[1] * np.asarray(history)[:-1], last[1]), last[1])  # the last as judged
    return Moved(found, *last, values, stopped, f"{GONE}{note}")


Tell = Callable[[int, float, Vector], Any]


def _teller(callback: Callback, begin: Start, size: int, unit: float, deadline: Deadline) -> Tell:
    """A callback as a function of the number of steps, the value in units of the first, and the weights."""

    def tell(count: int, value: float, weights: Vector) -> Any:
        p = np.zeros(size)
        p[begin.at] = weights
        return callback(Progress(count, p, unit * value, unit * value, None, deadline.elapsed()))

    return tell


def _compared(
    sample: Sample, plan: Plan, until: Deadline, rng: np.random.Generator, memory: int
) -> tuple[Indices, str]:
    """Which rows the points are compared with on their way, and what is to be said about it."""
    work = min(MAX_WORK, CANDIDATE_WORK_PER_SECOND * max(until.left(), 0.0)) / EVALUATIONS
    d = sample.rows.shape[1]
    most = int(min(work / (plan.k * plan.cost), memory / 8 / (8 * d)))
    if max(most, MIN_SAMPLED) >= plan.m:
        return np.arange(plan.m), ""
    count = max(most, MIN_SAMPLED)
    return np.sort(rng.choice(plan.m, count, replace=False)), f", by {count} of {plan.m} rows, drawn at random"


def _dense(rows: Any) -> Matrix:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, np.float64)


def _problem(
    data: Sample, rows: Matrix, labels: Indices | None, similarity: Similarity, moving: Indices, bounds: Any, dtype: Any
) -> tuple[Moving, Vector]:
    """The problem of moving points that begin at `rows` (k, d), and what was subtracted from all of them, (m,)."""
    mass = data.weights / data.weights.sum()
    staying = np.setdiff1d(np.arange(rows.shape[1]), moving)
    centre = np.asarray(centre_of(rows[:, moving]), np.float64)
    codes = np.zeros(len(rows), np.int64) if labels is None else labels
    scale = SLOPES[similarity.name].scale(float(similarity.gamma or 0.0))
    parts = []
    for code in np.unique(codes):
        mine = np.flatnonzero(codes == code)
        theirs = np.arange(len(mass)) if data.labels is None else np.flatnonzero(data.labels == code)
        if not len(theirs):
            continue
        X = some_rows(data.rows, theirs)[:]
        apart = None
        if staying.size:
            few = rows[np.ix_(mine, staying)]
            others = X[:, staying].astype(np.float64)
            apart = scale**2 * np.asarray(distance_blocks(sp.csr_array(few) if sp.issparse(X) else few, others))
        parts.append(Part.of(mine, scale * (_dense(X[:, moving]) - centre), mass[theirs], apart, dtype))
    own = rows[:, staying]
    apart = scale**2 * np.asarray(distance_blocks(own, own) if staying.size else np.zeros((len(rows), len(rows))))
    same = (codes[:, None] == codes[None]).astype(np.float64)
    return Moving(similarity, tuple(parts), apart, same, *bounds), centre


def _descend(
    problem: Moving,
    start: Matrix,
    movable: Movable,
    centre: Vector,
    first: tuple[Vector, float, float],
    until: Deadline,
    tell: Tell | None,
) -> tuple[Matrix, list[float], str]:
    """L-BFGS-B from `start` (k, m), places in units of the bandwidth and values in units of the first one."""
    from scipy.optimize import (
        minimize as descend,
    )  # here: it takes a third of a second to import, and few calls move points

    weights, unit = first[0], max(first[1], 1e-14)
    base = problem(start - centre, weights)[0]
    best: list[Any] = [start, 1.0, weights]
    history, stopped = [1.0], ""
    moves, scale = ~movable.fixed, problem.scale

    def value(flat: Vector) -> tuple[float, Matrix]:
        nonlocal stopped
        if until.passed:
            stopped = "time"
            raise _Stop
        places = start.copy()
        places[moves] = flat / scale
        f, w, slope = problem(places - centre, best[2])
        scaled = (f - base) / unit + 1.0
        if scaled < best[1]:
            best[:] = [places, scaled, w]
        return scaled, slope[moves] / (unit * scale)

    def step(flat: Vector) -> None:
        nonlocal stopped
        history.append(best[1])
        if tell is not None and tell(len(history) - 1, best[1], best[2]):
            stopped = "callback"
            raise _Stop

    ends = np.broadcast_arrays(movable.low, movable.high, start)[:2]
    box = scale * np.column_stack([end[moves] for end in ends])
    most = min(max(ITER_TIMES_POINTS // len(start), FEWEST_ITER), MOST_ITER)
    options = {"maxiter": most, "maxcor": MEMORY, "ftol": MIN_GAIN, "gtol": 0.0, "maxfun": 2 * most}
    try:
        if moves.any():
            descend(
                value, scale * start[moves], jac=True, method="L-BFGS-B", bounds=box, callback=step, options=options
            )
    except _Stop:
        pass
    return best[0], history, stopped
