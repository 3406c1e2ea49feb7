"""Points that leave their rows: MMD² as a function of where they are, descended by L-BFGS-B with restarts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, Vector, shown
from ...active_set import box_weights
from ...deadline import Deadline
from ...distances import centre_of, evenly, row_slices, squared_lengths
from ...objectives.mmd import spans, spread
from ...result import Result, Status
from ...similarity import Similarity
from ...solvers.loop import Progress
from ...tables.frames import put_columns
from ...tables.schema import Encoding
from .options import PointsOptions, as_ends
from .rows import Sample
from .target import CANDIDATE_WORK_PER_SECOND, MIN_SAMPLED, Target

if TYPE_CHECKING:
    from .points import PreparedRows

TILE = 2**17
"""Similarities of a tile."""
APART = 60.0
"""How far classes lie apart in units of a similarity, which is zero there."""
STEPS_KEPT = 20
"""Steps that L-BFGS-B remembers."""
MIN_GAIN = 5e-6
"""The share of the first value that a step must gain, else the points stay."""
FIRST_EVALUATIONS, ROUND_EVALUATIONS, LEAST_EVALUATIONS = 500, 150, 40
"""Evaluations of the first descent and of those after points were put elsewhere, at most; and the
least for one."""
ENOUGH, IDLE_ROUNDS = 1e-3, 3
"""Rounds in a row that gain less than this share of the value, after which points are put elsewhere
no more."""
LEAST_WEIGHT = 0.05
"""Weights below this share of the mean weight count as so much in the unit of a point's steps."""
MAX_SEATS = 4000
"""Rows among which places for points are looked for, at most."""
MAX_WORK = 4 * 10**11
"""Pairs of rows times (columns + 20) that moving may compare, about."""
MIN_EVALUATIONS, USUAL_EVALUATIONS, MAX_EVALUATIONS = 60, 200, 1000
"""How often value and gradient are computed, at least, for deciding how many rows are compared, and
at most."""
TIME_SHARE = 0.8
"""The share of what is left of a time limit that moving may take; judging the answer takes the
rest."""
SCALES: dict[str, Callable[[float], float]] = {
    "matern32": lambda gamma: math.sqrt(3.0) * gamma,
    "matern52": lambda gamma: math.sqrt(5.0) * gamma,
    "rbf": lambda gamma: math.sqrt(2.0 * gamma),
}
"""One over the unit of distance of the similarities whose points can move."""

Tell = Callable[[int, float, Vector], Any]


def similar(squared: Vector, name: str) -> tuple[Vector, Vector]:
    """Compute s of squared distances ‖y - z‖², and h: the gradient of s in y is -h (y - z)."""
    if name == "rbf":
        s = np.exp(-0.5 * squared)
        return s, s
    r = np.sqrt(squared)
    fall = np.exp(-r)
    if name == "matern32":
        return (1.0 + r) * fall, fall
    return (1.0 + r + squared / 3.0) * fall, (1.0 + r) * fall / 3.0


class Places(NamedTuple):
    """Rows as places, in units of a similarity from a centre; a last column sets classes apart."""

    scale: float
    centre: Vector

    @classmethod
    def about(cls, rows: Any, similarity: Similarity) -> "Places":
        """Take the median of rows for centre, zero of sparse ones."""
        centre = np.zeros(rows.shape[1]) if sp.issparse(rows) else centre_of(rows)
        scale = SCALES[similarity.name](float(similarity.gamma or 0.0))
        return cls(scale, np.asarray(centre, np.float64))

    def of(self, rows: Any, labels: Indices | None = None) -> Any:
        """Return the places of rows (n, d), (n, d + 1)."""
        classes = np.zeros((rows.shape[0], 1)) if labels is None else APART * labels[:, None]
        if sp.issparse(rows):
            return sp.hstack([self.scale * rows.astype(np.float64), classes], format="csr")
        return np.hstack([self.scale * (rows - self.centre), classes])

    def rows(self, places: Vector) -> Vector:
        """Return the rows at some places."""
        return np.asarray(places[:, :-1] / self.scale + self.centre)


@dataclass(frozen=True, eq=False)
class MovingMMD:
    """MMD² as a function of the places of k points, at their best weights, without its constant.

        f(Y) = min_w Σ w_i w_j s(y_i, y_j) - 2 Σ w_i t_n s(y_i, x_n),   low <= w <= high, Σ w = 1

    By the envelope theorem the gradient in Y is that at the best w, held fixed. `rows` (n, d + 2)
    are places z beside ‖z‖² and 1, so that one product with points gives ‖y - z‖², and `weighted`
    are t times these, so that another gives all sums.
    """

    name: str
    rows: Any
    weighted: Any
    low: float
    high: float

    @classmethod
    def of(
        cls, places: Any, weights: Vector, name: str, low: float = 0.0, high: float = 1.0
    ) -> "MovingMMD":
        """Make the function for a target of weighted places (n, d) and a similarity."""
        rows, shares = _with_lengths(places), (weights / weights.sum())[:, None]
        weighted = rows.multiply(shares).tocsr() if sp.issparse(rows) else rows * shares
        return cls(name, rows, weighted, low, high)

    def __call__(self, Y: Vector, start: Vector) -> tuple[float, Vector, Vector]:
        """Compute the value, the best weights (k,), and the gradient (k, d), at places (k, d)."""
        K, own = self.compared(Y, _with_lengths(Y))
        c, push, pull = self.sums(Y)
        w = box_weights(K, c, self.low, self.high, start)
        toward = push - pull[:, None] * Y  # Σ_n t_n h(y_i, x_n) (x_n - y_i)
        away = own @ (w[:, None] * Y) - (own @ w)[:, None] * Y
        return float(w @ K @ w - 2.0 * (c @ w)), w, 2.0 * w[:, None] * (away - toward)

    def compared(self, Y: Vector, rows: Any) -> tuple[Vector, Vector]:
        """Compute s and h of places and of rows beside ‖z‖² and 1, (k, n) each."""
        left = np.column_stack([-2.0 * Y, np.ones(len(Y)), squared_lengths(Y)])
        return similar(np.maximum(left @ rows.T, 0.0), self.name)

    def sums(self, Y: Vector) -> tuple[Vector, Vector, Vector]:
        """Compute Σ t s, Σ t h z and Σ t h over the rows, in tiles."""

        def work(span: slice) -> Any:
            s, h = self.compared(Y, self.rows[span])
            weighted = self.weighted[span]
            return np.hstack([h @ weighted, s @ weighted[:, [-1]]])

        tiles = spread(work, spans(self.rows.shape[0], max(1, TILE // len(Y))))
        total = np.sum(tiles, axis=0)
        return total[:, -1], total[:, :-3], total[:, -2]


def _with_lengths(places: Any) -> Any:
    """Return places z beside ‖z‖² and 1."""
    lengths = np.stack([squared_lengths(places), np.ones(places.shape[0])], axis=1)
    if sp.issparse(places):
        return sp.hstack([places, lengths], format="csr")
    return np.hstack([places, lengths])


class Seats(NamedTuple):
    """Places where points may be put (n, d), and their mean similarity to the target (n,)."""

    places: Vector
    means: Vector


class Box(NamedTuple):
    """Between which ends (d,) the entries of places move that are free (k, d)."""

    low: Vector
    high: Vector
    free: npt.NDArray[np.bool_]


@dataclass(eq=False)
class Descent:
    """The way of points from where they begin, and the best places (k, d) and weights (k,) so far.

    Values are in units of the `first` one. A point of weight w moves in units of 1 / √w: the Hessian
    of its place grows with w.
    """

    problem: MovingMMD
    places: Vector
    weights: Vector
    box: Box
    first: float
    until: Deadline
    tell: Tell | None = None
    stopped: Status = Status.FINISHED
    value: float = 1.0

    def __post_init__(self) -> None:
        self.base = self.problem(self.places, self.weights)[0]
        self.history = [self.value]

    def search(self, evaluations: int, seats: Seats | None, rng: np.random.Generator) -> None:
        """Descend from the first places, then from others near the best ones while that helps and work is left."""
        if not self.box.free.any():
            return
        idle, even = 0, np.full(len(self.weights), 1.0 / len(self.weights))
        most = min(evaluations, FIRST_EVALUATIONS)
        left = evaluations - self._descend(self.places, self.weights, most)
        while seats is not None and left >= LEAST_EVALUATIONS and idle < IDLE_ROUNDS:
            if self.stopped is not Status.FINISHED:
                return
            start, before = self._reseated(seats, rng), self.value
            weights = self.problem(start, even)[1]
            left -= 3 + self._descend(start, weights, min(left, ROUND_EVALUATIONS))
            idle = 0 if self.value < before * (1.0 - ENOUGH) else idle + 1

    def _descend(self, start: Vector, weights: Vector, most: int) -> int:
        """Run L-BFGS-B from some places, and return how often value and gradient were computed."""
        # here: SciPy's optimisers take a third of a second to import, and few calls move points
        from scipy.optimize import minimize

        low, high, free = self.box
        stiff = np.sqrt(np.maximum(len(weights) * weights, LEAST_WEIGHT))
        scale = np.broadcast_to(stiff[:, None], start.shape)[free]
        latest = weights

        def value(flat: Vector) -> tuple[float, Vector]:
            nonlocal latest
            places = start.copy()
            places[free] = flat / scale
            f, latest, slope = self.problem(places, latest)
            f = (f - self.base) / self.first + 1.0
            if f < self.value:
                self.places, self.value, self.weights = places, f, latest
            return f, slope[free] / (self.first * scale)

        def step(flat: Vector) -> None:
            self.history.append(self.value)
            if self.until.passed:
                self.stopped = Status.TIME_LIMIT
            if self.tell is not None and self.tell(len(self.history) - 1, self.value, self.weights):
                self.stopped = Status.CALLBACK
            if self.stopped is not Status.FINISHED:
                raise StopIteration

        ends = [np.broadcast_to(end, start.shape)[free] * scale for end in (low, high)]
        options: dict[str, Any] = {"maxiter": most, "maxfun": most, "maxcor": STEPS_KEPT}
        options |= {"ftol": MIN_GAIN, "gtol": 0.0}
        how = {"method": "L-BFGS-B", "bounds": np.transpose(ends), "options": options}
        return int(minimize(value, scale * start[free], jac=True, callback=step, **how).nfev)

    def _reseated(self, seats: Seats, rng: np.random.Generator) -> Vector:
        """Put a point elsewhere, where it is missed most.

        That is the row of its class with the largest witness function, Σ_n t_n s(x, x_n) - Σ_i w_i
        s(x, y_i), of the others.
        """
        movers = np.flatnonzero(self.box.free[:, :-1].all(axis=1))
        point, places = rng.choice(movers), self.places.copy()
        stay = np.arange(len(places)) != point
        S, _ = self.problem.compared(seats.places, _with_lengths(places[stay]))
        witness = seats.means - S @ self.weights[stay]
        kindred = seats.places[:, -1] == places[point, -1]
        at = int(np.argmax(np.where(kindred, witness, -np.inf)))
        places[point, :-1] = np.clip(seats.places[at], self.box.low, self.box.high)[:-1]
        return places


class MovingColumns(NamedTuple):
    """The encoded columns that move (m,), their places in X, and their box in the units of X, (m,) each.

    `flags` are the columns that say where a number was missing, -1 where there is none; `shift` is
    what was subtracted from numbers.
    """

    columns: Indices
    places: list[int]
    flags: list[int]
    shift: Vector
    low: Vector
    high: Vector

    @classmethod
    def of(cls, X: Any, rows: Any, encoding: Encoding | None, move: Any) -> "MovingColumns":
        """Find the columns of X that move, and the box in which they do: that of encoded rows, the user's, or none."""
        if sp.issparse(X):
            raise InvalidInput(f"move needs a dense array or a table, got a {type(X).__name__}")
        movable = [(j, j, j, -1) for j in range(rows.shape[1])]
        movable = movable if encoding is None else encoding.movable
        if not movable:
            raise InvalidInput(
                "move needs a column of numbers: categories and dates never move, and X has no other"
            )
        columns, names, places, flags = map(list, zip(*movable, strict=True))
        shift = np.zeros(len(columns))
        if encoding is not None and encoding.shift is not None:
            shift = encoding.shift[columns]
        low, high = np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
        if not isinstance(move, str):
            parts = (dense(rows[part])[:, columns] for part in row_slices(rows))
            ends = np.array([(part.min(axis=0), part.max(axis=0)) for part in parts])
            low, high = ends[:, 0].min(axis=0) + shift, ends[:, 1].max(axis=0) + shift
        if isinstance(move, Mapping):
            for name, pair in move.items():
                if name not in names:
                    raise InvalidInput(
                        f"move: no column of numbers is called {shown(name)}; there are"
                        f" {shown(names)}"
                    )
                low[names.index(name)], high[names.index(name)] = as_ends(pair)
        elif not isinstance(move, (str, bool, np.bool_)):
            low, high = as_ends(move, len(names))
        return cls(np.array(columns), places, flags, shift, low, high)

    def put(self, rows: Any, numbers: Vector, missing: npt.NDArray[np.bool_]) -> Any:
        """Put encoded numbers (k, m) into rows of the user; what is missing stays so."""
        numbers = np.clip(numbers + self.shift, self.low, self.high)
        numbers = np.where(missing, np.nan, numbers)
        return put_columns(rows, {place: numbers[:, at] for at, place in enumerate(self.places)})


def move_points(
    result: Result,
    solution: Result,
    target: Target,
    prepared: "PreparedRows",
    options: PointsOptions,
    rng: np.random.Generator,
) -> Result:
    """Move points away from their rows, which `indices` goes on to name, where they stand better for the target.

    `solution` is the result on candidates, `result` that on rows of X.
    """
    sample, comparison, entry = prepared.sample, prepared.comparison, prepared.input
    F, every = target.F, np.arange(len(result.indices))
    at = solution.indices[np.argsort(sample.first[target.candidates[solution.indices]])]
    own = sample.take(target.candidates[at]).loaded()
    rows, bounds = dense(own.rows), options.weights(len(every))
    moving = MovingColumns.of(prepared.X, entry.rows, entry.encoding, options.move)
    columns, ends = moving.columns, np.repeat([[-np.inf], [np.inf]], rows.shape[1], axis=1)
    ends[:, columns] = np.array([moving.low, moving.high]) - moving.shift
    missing = (rows[:, moving.flags] > 0) & (np.array(moving.flags) >= 0)
    space = Places.about(own.rows, F.similarity)
    start = space.of(rows, own.labels)
    low, high = space.of(dense(comparison.scaled(ends)))
    stays = np.isin(result.indices, prepared.limits.include)
    free = np.zeros(start.shape, bool)
    free[:, columns] = ~missing & ~stays[:, None]
    start = np.where(free, np.clip(start, low, high), start)

    def judge(places: Vector) -> tuple[Vector, float, float]:
        here: Any = space.rows(places)
        here = sp.csr_array(here) if sp.issparse(own.rows) else here
        there = target.at(here, own.labels)
        weights = box_weights(there.F.cross(every, every), there.F.mean, *bounds, first_weights)
        return weights, *there.judge(every, weights)

    def tell(count: int, share: float, weights: Vector) -> Any:
        p = np.zeros(F.space.size)
        p[at] = weights
        seconds = options.deadline.elapsed()
        return options.callback(Progress(count, p, share * first, share * first, None, seconds))

    first_weights = np.asarray(result.weights)
    weights, first, error = judge(start)
    until = options.deadline.share(TIME_SHARE)
    data, evaluations, note = _compared_rows(target, len(every), options, until, rng)
    there = space.of(data.rows[:], data.labels)
    problem = MovingMMD.of(there, data.weights, F.similarity.name, *bounds)
    how = Box(low, high, free), max(first, 1e-14), until, None if options.callback is None else tell
    descent = Descent(problem, start, weights, *how)
    seats = None
    if free[:, :-1].all(axis=1).any():
        some = evenly(F.space.size, MAX_SEATS)
        labels = None if F.labels is None else F.labels[some]
        seats = Seats(space.of(dense(F.rows[some]), labels), F.mean[some])
    descent.search(evaluations, seats, rng)
    places, way = descent.places, first * np.asarray(descent.history)
    best, value, last_error = judge(places)
    if value <= first:
        weights, error = best, last_error
    else:
        places, value, way = start, first, way[:1]
        note = "no move was better than the rows themselves"
    numbers = comparison.unscaled(space.rows(places)[:, columns], columns)
    kept = entry.rows[entry.at(result.indices[stays], "include")]
    numbers[stays] = dense(kept)[:, columns]  # as they were, without any rounding
    return replace(
        result,
        rows=moving.put(result.rows, numbers, missing),
        weights=weights,
        value=value,
        value_se=error,
        bound=None,
        status=descent.stopped if result.success else result.status,
        history=np.maximum([*result.history, *way[:-1], value], value),
        n_iter=result.n_iter + len(way),
        seconds=options.deadline.elapsed(),
        note="; ".join(filter(None, (result.note, note))),
    )


def dense(rows: Any) -> Vector:
    """Return rows as an array of float64."""
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, np.float64)


def _compared_rows(
    target: Target, k: int, options: PointsOptions, until: Deadline, rng: np.random.Generator
) -> tuple[Sample, int, str]:
    """Choose the rows with which k moving points are compared, how often that is done, and say so."""
    assert target.rows is not None  # noqa: S101 - targets of rows in memory
    data, note = target.rows.data, "the points moved away from the rows that `indices` names"
    n, d = data.rows.shape
    pairs = min(MAX_WORK, CANDIDATE_WORK_PER_SECOND * max(until.left(), 0.0)) / (k * (d + 20))
    most = int(min(pairs / USUAL_EVALUATIONS, options.max_memory / (128 * d)))
    count = min(max(most, MIN_SAMPLED), n)
    if count < n:
        data = data.take(np.sort(rng.choice(n, count, replace=False)))
        note += f", by {count} of {n} rows, drawn at random"
    return data, int(np.clip(pairs / count, MIN_EVALUATIONS, MAX_EVALUATIONS)), note
