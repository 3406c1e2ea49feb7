"""Places of points by L-BFGS-B, and points taken out where they are close and put in again where they are missed."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._validation import Indices, Vector
from ...active_set import box_weights, simplex_weights
from ...deadline import Deadline
from ...distances import Matrix
from .locations import Moving
from .places import Movable

MEMORY = 20
"""Steps that L-BFGS-B remembers."""
MIN_GAIN = 5e-6
"""The share of the first value that a step must gain, else the points stay."""
FIRST_EVALUATIONS, ROUND_EVALUATIONS, FEWEST_EVALUATIONS = 500, 150, 40
"""Evaluations of the first descent and of those after points were put elsewhere, at most; and the least for one."""
ENOUGH, IDLE_ROUNDS = 1e-3, 3
"""Rounds in a row that gain less than this share of the value, after which points are put elsewhere no more."""
LEAST_WEIGHT = 0.05
"""Weights below this share of the mean weight count as so much in the unit of a point's steps."""

Tell = Callable[[int, float, Vector], Any]


class Seats(NamedTuple):
    """Where points may be put: rows (n, m), their mean similarity to the target, and their classes, (n,) each.

    `own` (k,) are the classes of the points.
    """

    rows: Matrix
    means: Vector
    labels: Indices | None
    own: Indices | None


class _Stop(Exception):  # noqa: N818 - an end, not an error
    """The descent ends early."""


class Descent:
    """The best places so far, with value and weights, and the way there; values are in units of the first one.

    A point of weight w moves in units of 1 / √w bandwidths: the Hessian of its place grows with w.
    """

    def __init__(
        self,
        problem: Moving,
        start: Matrix,
        weights: Vector,
        unit: float,
        movable: Movable,
        centre: Vector,
    ) -> None:
        self.problem, self.movable, self.centre = problem, movable, centre
        self.moves, self.unit = ~movable.fixed, max(unit, 1e-14)
        self.places, self.value, self.weights = start, 1.0, weights
        self.base = problem(start - centre, weights)[0]
        self.history, self.stopped = [1.0], ""

    def search(
        self, evaluations: int, seats: Seats | None, rng: Any, until: Deadline, tell: Tell | None
    ) -> None:
        """Descend from the first places, then from others near the best ones while that helps and work is left."""
        if not self.moves.any():
            return
        try:
            left, idle = (
                evaluations - self._descend(min(evaluations, FIRST_EVALUATIONS), until, tell),
                0,
            )
            while seats is not None and left >= FEWEST_EVALUATIONS and idle < IDLE_ROUNDS:
                before = self.value
                places, weights = self._reseated(seats, rng)
                left -= 1 + self._descend(
                    min(left, ROUND_EVALUATIONS), until, tell, places, weights
                )
                idle = 0 if self.value < before * (1.0 - ENOUGH) else idle + 1
        except _Stop:
            pass

    def _descend(
        self,
        evaluations: int,
        until: Deadline,
        tell: Tell | None,
        start: Matrix | None = None,
        weights: Vector | None = None,
    ) -> int:
        """L-BFGS-B from some places, or the best ones; how often value and gradient were computed."""
        from scipy.optimize import (
            minimize as descend,
        )  # here: it takes a third of a second to import, and few calls move points

        first = self.places if start is None else start
        w0 = self.weights if weights is None else weights
        stiff = np.sqrt(np.maximum(len(w0) * w0, LEAST_WEIGHT))
        scale = self.problem.scale * np.broadcast_to(stiff[:, None], first.shape)[self.moves]
        last, count = w0, 0

        def value(flat: Vector) -> tuple[float, Vector]:
            nonlocal last, count
            if until.passed:
                self.stopped = "time"
                raise _Stop
            places = first.copy()
            places[self.moves] = flat / scale
            f, last, slope = self.problem(places - self.centre, last)
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

        ends = np.broadcast_arrays(self.movable.low, self.movable.high, first)[:2]
        box = np.column_stack([end[self.moves] * scale for end in ends])
        options = {
            "maxiter": evaluations,
            "maxcor": MEMORY,
            "ftol": MIN_GAIN,
            "gtol": 0.0,
            "maxfun": evaluations,
        }
        begin = scale * first[self.moves]
        descend(
            value, begin, jac=True, method="L-BFGS-B", bounds=box, callback=step, options=options
        )
        return count

    def _reseated(self, seats: Seats, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        """The best places with a point and the most similar one of its class put elsewhere."""
        K, c = self.problem.quadratic(self.places - self.centre)
        movers = np.flatnonzero(self.moves.all(axis=1))
        if not movers.size:
            raise _Stop
        first = int(rng.choice(movers))
        kin = movers[(movers != first) & (self.problem.same[first, movers] > 0)]
        out = [first, *kin[np.argsort(-K[first, kin], kind="stable")[:1]].tolist()]
        at, weights = _Known(
            self.problem, seats, K, c, self.problem.similarity(seats.rows, self.places)
        ).put(out)
        places = self.places.copy()
        places[out] = np.clip(seats.rows[at], self.movable.low, self.movable.high)
        return places, weights


class _Known(NamedTuple):
    """Similarities of points, (k, k), mean ones (k,), and those of seats to points, (n, k)."""

    problem: Moving
    seats: Seats
    K: Vector
    c: Vector
    S: Matrix

    def put(self, out: list[int]) -> tuple[list[int], Vector]:
        """The seats that points take, one after the other, and the weights of all points then.

        Each goes where it is missed most: to the row of its class with the largest witness
        function, Σ_n t_n s(x, x_n) - Σ_i w_i s(x, y_i), of the others.
        """
        problem, seats = self.problem, self.seats
        taken: list[int] = []
        K, c, S = self.K.copy(), self.c.copy(), self.S.copy()
        stay = np.setdiff1d(np.arange(len(K)), out)
        for point in out:
            witness = seats.means.copy()
            if len(stay):
                w = simplex_weights(K[np.ix_(stay, stay)], c[stay]) * problem.same[point, stay]
                witness -= S[:, stay] @ w
            if seats.labels is not None and seats.own is not None:
                witness[seats.labels != seats.own[point]] = -np.inf
            at = int(np.argmax(witness))
            K[point, stay] = K[stay, point] = S[at, stay] * problem.same[point, stay]
            S[:, point] = problem.similarity(seats.rows, seats.rows[[at]])[:, 0]
            c[point] = seats.means[at]
            stay = np.append(stay, point)
            taken.append(at)
        return taken, box_weights(K, c, problem.low, problem.high, np.full(len(K), 1.0 / len(K)))
