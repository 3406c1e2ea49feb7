"""Early stopping: rows held out say how far down a solver should go."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..._validation import InvalidInput, Vector, as_generator, as_number
from ...constraints.sparse_simplex import SparseSimplex
from ...deadline import Deadline
from ...objectives.moments import Moments
from ...result import Result, Status
from ...search.paths import stopped, walked
from ...solvers.loop import Callback, Outcome, Progress, Step, Steps, drive, says_stop
from ...solvers.minimize import minimize
from ...solvers.units import in_units, watched
from .options import BinsOptions

TINY = 1e-300
PERTURBING = ("auto", "exact", "exchange")
"""Solvers that would go on after a first local optimum: here they do not."""


def n_validation_rows(F: Moments, validation: Any) -> int:
    """How many rows a share of them is: at least one, and not all."""
    share, rows = as_number(validation, "validation"), int(F.A.shape[0])
    if share >= 1.0 or rows < 2:
        raise InvalidInput(
            "validation must be a share of the rows in (0, 1) of a dense or sparse matrix with at"
            f" least two rows, got {share:g} of {rows} rows"
        )
    return int(min(max(round(share * rows), 1), rows - 1))


def stop_early(F: Moments, C: SparseSimplex, options: BinsOptions) -> Result:
    """Solve on most rows and let the rest say how far down to go; then go as far on all rows.

    How far is F of an answer as a share of F of the first, which is the projection of non-negative
    least squares. Of the answers met the first is taken whose error on the rest is not above the
    best one's by more than the standard error of their difference (the one-standard-error rule,
    Breiman et al. 1984): a few rows cannot tell more. Half of a time limit is for most rows.
    """
    rng, seed = as_generator(options.rng)
    F, exponent = F.near_one()
    out_rows = n_validation_rows(F, options.validation)
    deadline, solver = options.deadline, options.solver
    order = rng.permutation(F.A.shape[0])
    kept, out = np.sort(order[out_rows:]), np.sort(order[:out_rows])
    watch = Watch(watched(options.callback, exponent))
    fitted, judge = (F.of_rows(part).near_one()[0] for part in (kept, out))
    first = positive(fitted, C, deadline.share(0.25))
    values, errors = [first.value], [squares(judge, first.p)]
    more: dict[str, Any] = {"budget": 0.0} if solver in PERTURBING else {}

    def judge_step(progress: Progress) -> bool:
        if progress.n_iter >= len(values):  # an iterate, not a pause after it
            values.append(progress.value)
            errors.append(squares(judge, progress.p))
        return watch(progress)

    if not deadline.passed:
        half = deadline.share(0.5)
        minimize(fitted, C, solver, time_limit=half, rng=rng, callback=judge_step, **more)
    best = positive(F, C, deadline)
    as_good = first_as_good(np.array(errors))
    enough = values[as_good] * (best.value / max(first.value, TINY))

    def far_enough(progress: Progress) -> bool:
        return watch(progress) or progress.value <= enough

    if watch.stopped or deadline.passed:
        best = min(best, drive(F, C, single_step(first.p)), key=lambda result: result.value)
    elif as_good > 0 and enough < best.value:
        best = minimize(F, C, solver, time_limit=deadline, rng=rng, callback=far_enough, **more)
    status = Status.TIME_LIMIT if deadline.passed else Status.FINISHED
    status = Status.CALLBACK if watch.stopped else status
    return replace(in_units(replace(best, bound=None, status=status), exponent), seed=seed)


class Watch:
    """A callback whose wish to stop is kept."""

    def __init__(self, callback: Callback | None) -> None:
        self.callback, self.stopped = callback, False

    def __call__(self, progress: Progress) -> bool:
        """Whether it wants to stop, or has wanted to."""
        if self.callback is not None and not self.stopped:
            self.stopped = says_stop(self.callback, progress)
        return self.stopped


def squares(F: Moments, p: Vector) -> Vector:
    """The squared error of each row."""
    support = np.flatnonzero(p)
    return np.asarray(F.residual(support, p[support]) ** 2)


def first_as_good(errors: Vector) -> int:
    """The first of some answers whose errors (answers, rows) sum to no more than the least, but for a standard error.

    >>> first_as_good(np.array([[9.0, 9.0, 9.0], [1.0, 2.1, 3.0], [1.0, 3.0, 2.0]]))
    1
    """
    best = int(np.argmin(errors.sum(axis=1)))
    above = errors - errors[best]
    spread = np.sqrt(above.shape[1]) * above.std(axis=1)
    return int(np.argmax(above.sum(axis=1) <= spread))


def positive(F: Moments, C: SparseSimplex, deadline: Deadline) -> Result:
    """Non-negative least squares without the sum constraint, projected: an answer that has not been polished."""
    q = np.zeros(C.space.size)
    units, weights = stopped(walked(F, C.rules, len(F.b), summed=False), deadline)
    if len(units):
        q[units] = weights
    else:
        q = F.slopes(units, weights)
    return drive(F, C, single_step(C.project(q)))


def single_step(p: Vector) -> Steps:
    """A solver that knows its answer."""
    yield Step(p)
    return Outcome(Status.FINISHED)
