"""Points that leave their rows: locations by L-BFGS-B, the best weights at each step exactly (variable projection)."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, Vector
from ...active_set import box_weights
from ...deadline import Deadline
from ...distances import Matrix, evenly
from ...objectives.rows_mmd import RowsMMD, mean_to
from ...similarity import Similarity
from ...solvers.loop import Callback, Progress
from ...spaces import Atoms
from .locations import dense, moving_of
from .places import Movable
from .relocation import MIN_GAIN, Descent, Seats, Tell
from .sample import Sample
from .target import CANDIDATE_WORK_PER_SECOND, MIN_SAMPLED, Plan, Target, target_means

# Tuned by `python benchmarks/points.py --part move`: values, and seconds beside those of the call without `move`.
TIMES_DEFAULT = 3.5
"""What moving may cost, in units of what choosing the rows costs."""
SEARCH_WORK, SEARCH_WORK_PER_POINT = 2e9, 4e7
"""The work of choosing rows beside comparing them, about, and for each of k."""
WORK_PER_VARIABLE, WORK_PER_EVALUATION = 5e3, 1e7
"""What an evaluation costs beside comparing points and rows: for each place and column in L-BFGS-B, and in any case."""
FEWEST_EVALUATIONS, MOST_EVALUATIONS = 60, 1000
"""How often value and gradient are computed, at least and at most."""
EVALUATIONS = 100
"""The same for deciding how many rows may be compared."""
MAX_WORK = 2 * 10**11
"""Pairs of rows times (columns + 20) that moving may compare."""
MAX_SEATS = 4000
"""Rows among which places for points are looked for, at most."""
TIME_SHARE = 0.8
"""The share of what is left of a time limit that moving may take; judging the answer takes the rest."""
GONE = "the points moved away from the rows that `indices` names"
FLOAT32_ERROR = 3e-10
"""A gain that is told from rounding where points and rows are compared in float32."""


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
    rows = dense(sample.rows[units])
    labels = None if sample.labels is None else sample.labels[units]
    plan = Plan.of(sample, len(units), memory, deadline.seconds, against)
    until = deadline.share(TIME_SHARE)
    start = np.clip(rows[:, movable.columns], movable.low, movable.high)
    start = np.where(movable.fixed, rows[:, movable.columns], start)

    def judge(places: Matrix) -> tuple[Vector, float, float]:
        """The best weights at some places, the value and its error, by all rows or as many as work allows."""
        here = rows.copy()
        here[:, movable.columns] = places
        here = (
            sp.csr_array(here) if getattr(sample.rows, "sparse", sp.issparse(sample.rows)) else here
        )
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
    problem, centre = moving_of(
        against.take(some), rows, labels, similarity, movable.columns, bounds, dtype
    )
    tell = (
        None
        if callback is None
        else _teller(callback, begin, target.F.space.size, first[1], deadline)
    )
    way = Descent(problem, start, first[0], first[1], movable, centre)
    way.search(
        _evaluations(plan, target.whole, len(some), start.size),
        _seats(target, labels, movable),
        rng,
        until,
        tell,
    )
    last = judge(way.places)
    if not last[1] <= first[1]:
        return Moved(
            start,
            *first,
            np.array([first[1]]),
            way.stopped,
            "no move was better than the rows themselves",
        )
    values = np.append(
        np.maximum(first[1] * np.asarray(way.history)[:-1], last[1]), last[1]
    )  # the last as judged
    return Moved(way.places, *last, values, way.stopped, f"{GONE}{note}")


def _evaluations(plan: Plan, whole: bool, compared: int, variables: int) -> int:
    """How often value and gradient may be computed, so that moving costs so many times what choosing rows did."""
    chosen = (
        (plan.pairs if whole else plan.count * plan.m) * plan.cost
        + SEARCH_WORK
        + SEARCH_WORK_PER_POINT * plan.k
    )
    each = 2.0 * plan.k * compared * plan.cost + WORK_PER_VARIABLE * variables + WORK_PER_EVALUATION
    return int(np.clip(TIMES_DEFAULT * chosen / each, FEWEST_EVALUATIONS, MOST_EVALUATIONS))


def _seats(target: Target, labels: Indices | None, movable: Movable) -> Seats | None:
    """Some of the rows to choose from, where points may be put; none where columns stay as they are in the row."""
    F = target.F
    if len(movable.columns) < F.rows.shape[1]:
        return None
    some = evenly(F.space.size, MAX_SEATS)
    return Seats(
        dense(F.rows[some]), F.mean[some], None if F.labels is None else F.labels[some], labels
    )


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
    return np.sort(
        rng.choice(plan.m, count, replace=False)
    ), f", by {count} of {plan.m} rows, drawn at random"
