"""Points that leave their rows: which columns move, in which box, and the moved points in the user's container."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, Vector, shown
from ...active_set import box_weights
from ...distances import Matrix, evenly
from ...result import Result, Status
from ...solvers.loop import Progress
from ...tables.encode import Encoding
from ...tables.frames import put_columns
from .comparison import Comparison, column_ends
from .moving import Box, Descent, MovingMMD, Seats, Tell, dense
from .options import PointsOptions, as_ends
from .rows import Sample
from .target import CANDIDATE_WORK_PER_SECOND, MIN_SAMPLED, Target, WorkPlan

if TYPE_CHECKING:
    from .points import PreparedRows

# Tuned on the inputs of docs/points.md: values, and seconds beside those of the call without
# `move`.
TIMES_DEFAULT = 3.5
"""What moving may cost, in units of what choosing the rows costs."""
SEARCH_WORK, SEARCH_WORK_PER_POINT = 2e9, 4e7
"""The work of choosing rows beside comparing them, about, and for each of k."""
WORK_PER_VARIABLE, WORK_PER_EVALUATION = 5e3, 1e7
"""What an evaluation costs beside comparing points and rows: for each place and column in L-BFGS-B,
and in any case."""
FEWEST_EVALUATIONS, MOST_EVALUATIONS = 60, 1000
"""How often value and gradient are computed, at least and at most."""
EVALUATIONS = 100
"""Evaluations by which it is decided how many rows may be compared."""
MAX_WORK = 2 * 10**11
"""Pairs of rows times (columns + 20) that moving may compare."""
MAX_SEATS = 4000
"""Rows among which places for points are looked for, at most."""
TIME_SHARE = 0.8
"""The share of what is left of a time limit that moving may take; judging the answer takes the
rest."""
STOPPED = {"": Status.FINISHED, "time": Status.TIME_LIMIT, "callback": Status.CALLBACK}


class MovingColumns(NamedTuple):
    """The encoded columns that move (m,), their names, their places in X, and the box of encoded numbers (m,) each."""

    columns: Indices
    names: list[Any]
    places: list[int]
    low: Vector
    high: Vector

    @classmethod
    def of(cls, X: Any, rows: Any, encoding: Encoding | None, move: Any) -> "MovingColumns":
        """Find the columns of X that move, and the box in which they do: that of encoded rows, the user's, or none."""
        if sp.issparse(X):
            raise InvalidInput(f"move needs a dense array or a table, got a {type(X).__name__}")
        columns = np.arange(rows.shape[1])
        names = places = columns.tolist()
        shift = np.zeros(len(columns))
        if encoding is not None:
            movable = encoding.movable
            if not movable:
                raise InvalidInput(
                    "move needs a column of numbers: categories and dates never move, and X has no"
                    " other"
                )
            columns = np.array([column for column, *_ in movable])
            names, places = [name for _, name, *_ in movable], [place for *_, place, _ in movable]
            shift = np.zeros(encoding.numbers) if encoding.shift is None else encoding.shift
        low, high = np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
        if not isinstance(move, str):
            low, high = (
                np.asarray(end, np.float64)[columns] + shift[columns] for end in column_ends(rows)
            )
            if not isinstance(move, (bool, np.bool_)):
                low, high = _box_of_user(move, names, low, high)
        return cls(columns, names, places, low - shift[columns], high - shift[columns])

    def box(self, comparison: Comparison, rows: Any) -> Box:
        """Bring the box into the space where rows are compared.

        Points begin at `rows` (k, d) there.
        """
        ends, own = np.zeros((2, rows.shape[1])), np.array([self.low, self.high])
        closed = np.isfinite(own)
        ends[:, self.columns] = np.where(closed, own, 0.0)
        scaled = np.asarray(comparison.scaled(ends))[:, self.columns]
        low, high = np.where(closed, scaled, own)
        fixed = np.zeros((rows.shape[0], len(self.columns)), bool)
        movable = () if comparison.encoding is None else comparison.encoding.movable
        for at, (*_, flag) in enumerate(movable):
            if flag >= 0:
                fixed[:, at] = dense(rows[:, [flag]])[:, 0] > 0
        return Box(self.columns, low, high, fixed)

    def put(self, rows: Any, numbers: Vector, missing: Any, encoding: Encoding | None) -> Any:
        """Put encoded numbers (k, m) into rows of the user; what is missing stays so."""
        numbers = np.clip(numbers, self.low, self.high)
        if encoding is not None and encoding.shift is not None:
            numbers = numbers + encoding.shift[self.columns]
        numbers = np.where(missing, np.nan, numbers)
        return put_columns(rows, {place: numbers[:, at] for at, place in enumerate(self.places)})


def _box_of_user(move: Any, names: list[Any], low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Read the ends that the user gives, of all columns or some of them."""
    if not isinstance(move, Mapping):
        return as_ends(move, len(names))
    low, high = low.copy(), high.copy()
    for name, pair in move.items():
        if name not in names:
            raise InvalidInput(
                f"move: no column of numbers is called {shown(name)}; there are {shown(names)}"
            )
        at = names.index(name)
        low[at], high[at] = as_ends(pair)
    return low, high


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
    at = solution.indices[np.argsort(sample.first[target.candidates[solution.indices]])]
    own = sample.take(target.candidates[at]).loaded()
    columns = MovingColumns.of(prepared.X, entry.rows, entry.encoding, options.move)
    box = columns.box(comparison, own.rows)
    missing, stays = box.fixed.copy(), np.isin(result.indices, prepared.limits.include)
    box.fixed[stays] = True
    journey = Journey(own, np.asarray(result.weights), box, target, options, rng)
    descent, value, error, history, note = journey.travel(at)
    numbers = comparison.unscaled(descent.places, columns.columns)
    kept = entry.rows[entry.at(result.indices[stays], "include")]
    numbers[stays] = dense(kept)[:, columns.columns]  # as they were, without any rounding
    return replace(
        result,
        rows=columns.put(result.rows, numbers, missing, entry.encoding),
        weights=descent.weights,
        value=value,
        value_se=error,
        bound=None,
        status=STOPPED[descent.stopped] if result.success else result.status,
        history=np.maximum(np.concatenate([result.history, history]), value),
        n_iter=result.n_iter + len(history),
        seconds=options.deadline.elapsed(),
        note="; ".join(filter(None, (result.note, note))),
    )


class Journey(NamedTuple):
    """Points that begin at rows `own` (k, d) with weights (k,), and what bounds their way."""

    own: Sample
    weights: Vector
    box: Box
    target: Target
    options: PointsOptions
    rng: np.random.Generator

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest weight of a point."""
        return self.options.weights(len(self.weights))

    def travel(self, at: Indices) -> tuple[Descent, float, float, Vector, str]:
        """Descend, and judge where it ends; the points stay where that is no better.

        They begin at candidates `at`.
        """
        target, box, rows = self.target, self.box, dense(self.own.rows)
        assert target.rows is not None  # noqa: S101 - targets of rows in memory
        plan = replace(target.rows.plan, k=len(self.weights))
        until = self.options.deadline.share(TIME_SHARE)
        inside = np.clip(rows[:, box.columns], box.low, box.high)
        start = np.where(box.fixed, rows[:, box.columns], inside)
        weights, first, error = self.judge(start)
        data, note = target.rows.data, "the points moved away from the rows that `indices` names"
        count = rows_compared(plan, until.left(), rows.shape[1])
        if count < plan.m:
            data = data.take(np.sort(self.rng.choice(plan.m, count, replace=False)))
            note += f", by {count} of {plan.m} rows, drawn at random"
        how = target.F.similarity, box.columns, self.bounds
        problem = MovingMMD.of(data, rows, self.own.labels, *how)
        descent = Descent(problem, start, weights, first, box)
        most = evaluations(plan, target.whole, count, start.size)
        descent.search(most, self.seats(), self.rng, until, self.teller(at, first))
        weights, value, last_error = self.judge(descent.places)
        if not value <= first:
            descent.places, descent.weights = start, self.judge(start)[0]
            note = "no move was better than the rows themselves"
            return descent, first, error, np.array([first]), note
        descent.weights = weights
        history = np.maximum(first * np.asarray(descent.history)[:-1], value)
        return descent, value, last_error, np.append(history, value), note

    def judge(self, places: Matrix) -> tuple[Vector, float, float]:
        """Compute the best weights at some places, the value and its error, by all rows or as many as work allows."""
        here: Any = dense(self.own.rows).copy()
        here[:, self.box.columns] = places
        here = sp.csr_array(here) if sp.issparse(self.own.rows) else here
        target, every = self.target.at(here, self.own.labels), np.arange(len(places))
        own = target.F.cross(every, every)
        weights = box_weights(own, target.F.mean, *self.bounds, self.weights)
        return weights, *target.judge(every, weights)

    def seats(self) -> Seats | None:
        """Find some of the rows to choose from, where points may be put.

        None where columns stay as in the row.
        """
        F, own = self.target.F, self.own.labels
        if len(self.box.columns) < F.rows.shape[1]:
            return None
        some = evenly(F.space.size, MAX_SEATS)
        free = np.ones((len(some), len(self.weights)), bool)
        if F.labels is not None and own is not None:
            free = F.labels[some][:, None] == own
        return Seats(dense(F.rows[some]), F.mean[some], free)

    def teller(self, at: Indices, unit: float) -> Tell | None:
        """Make the callback a function of the number of steps, the value in units of the first, and the weights."""
        callback, deadline, size = self.options.callback, self.options.deadline, self.target.F.space
        if callback is None:
            return None

        def tell(count: int, value: float, weights: Vector) -> Any:
            p = np.zeros(size.size)
            p[at] = weights
            value *= unit
            return callback(Progress(count, p, value, value, None, deadline.elapsed()))

        return tell


def evaluations(plan: WorkPlan, whole: bool, compared: int, variables: int) -> int:
    """Count how often value and gradient may be computed, so that moving costs so many times what choosing rows did."""
    pairs = plan.pairs if whole else plan.candidates * plan.m
    choosing = pairs * plan.cost + SEARCH_WORK + SEARCH_WORK_PER_POINT * plan.k
    each = 2.0 * plan.k * compared * plan.cost + WORK_PER_VARIABLE * variables + WORK_PER_EVALUATION
    return int(np.clip(TIMES_DEFAULT * choosing / each, FEWEST_EVALUATIONS, MOST_EVALUATIONS))


def rows_compared(plan: WorkPlan, seconds: float, columns: int) -> int:
    """Count the rows of the target with which moving points are compared on their way."""
    work = min(MAX_WORK, CANDIDATE_WORK_PER_SECOND * max(seconds, 0.0)) / EVALUATIONS
    most = int(min(work / (plan.k * plan.cost), plan.memory / 8 / (8 * columns)))
    return min(max(most, MIN_SAMPLED), plan.m)
