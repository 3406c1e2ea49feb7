"""The only loop: it values iterates, keeps the best and the history, obeys the limits, and says what is proven."""

import math
from collections.abc import Callable, Generator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, InvalidInput, Vector, as_vector, shown
from ..deadline import Deadline
from ..probe import probe, scale_of
from ..protocols import Constraint, Objective, Sparsity, implements, require
from ..result import Result, Status, Words
from ..threads import own_threads


class Step(NamedTuple):
    """What a solver yields: an iterate, a proven lower bound, both, or neither (a chance to stop)."""

    p: Vector | None = None
    bound: float | None = None


class Outcome(NamedTuple):
    """What a solver returns when it ends by itself."""

    status: Status
    bound: float | None = None


RELATIVE_GAP, ROUNDING = 1e-6, 1e-12
"""An answer is optimal when its gap is below this share of |value|, plus this share of the
objective's scale."""
SMALLEST, LARGEST = 1e-290, 1e300
"""Scales outside which products and differences of values are lost."""
MASS = 1e-9
"""Mass that may lie outside the support of an answer."""

Steps = Generator[Step, float, Outcome]
"""A solver's iterates; F of each yielded p is sent back."""


class Progress(NamedTuple):
    """What a callback sees after each iterate, and of the best one wherever a solver pauses between iterates."""

    n_iter: int
    p: Vector
    value: float
    best: float
    bound: float | None
    seconds: float


Callback = Callable[[Progress], Any]


def check_partners(objective: Objective, constraint: Constraint, who: str) -> None:
    """Check that a solver's partners are what they should be and live on the same space."""
    require(objective, Objective, f"{who}'s objective")
    require(constraint, Constraint, f"{who}'s constraint")
    if objective.space != constraint.space:
        raise InvalidInput(
            f"the objective lives on {objective.space!r} and the constraint on"
            f" {constraint.space!r}; give both the same space"
        )
    probe(objective, constraint)


def as_start(start: Any, constraint: Constraint) -> Vector:
    """`start` as a member of the constraint."""
    p = as_vector(start, constraint.space.shape, "start")
    if not constraint.contains(p):
        raise InvalidInput(
            f"start must lie in the constraint {constraint!r}; use constraint.project(start)"
        )
    return p


def as_callback(callback: Any) -> None:
    """Refuse a callback that cannot be called."""
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback must be a function of the progress, got {shown(callback)}")


def drive(
    objective: Any,
    constraint: Constraint,
    steps: Steps,
    *,
    solver: str = "the solver",
    start: Vector | None = None,
    max_iter: int | None = None,
    time_limit: "float | Deadline | None" = None,
    callback: Callback | None = None,
    seed: int | None = None,
    note: str = "",
) -> Result:
    """Run a solver's steps to their end or to a limit, and return the best iterate.

    Whatever the solver says of itself: the answer is a member of the constraint, the bound is at
    most its value, and the status is OPTIMAL if and only if the two are equal to the tolerance.
    """
    deadline = Deadline.after(time_limit)
    as_callback(callback)
    record = _Record(objective, deadline, [note] if note else [])
    try:
        with (
            own_threads()
        ):  # most products are small, and several threads would wait for each other
            if start is not None:
                record.start, record.begun = (start, record.take(start)), 1
            status = _run(steps, record, max_iter, callback)
    except KeyboardInterrupt:
        if record.p is None:
            raise
        status = Status.INTERRUPTED
    finally:
        steps.close()
    if record.p is None:
        raise InvalidInput(
            f"the time limit of {deadline.seconds:g} s ended before {solver} found a first answer"
        )
    record.keep_member(constraint, solver)
    record.keep_bound(solver)
    record.keep_scale()
    if record.closed:
        status = Status.OPTIMAL
    elif status is Status.OPTIMAL:
        status = Status.FINISHED
    p, indices = record.p, constraint.support(record.p)
    entries = units_are_entries(constraint, indices, p)
    weights = p[indices] if entries else None
    whole = weights is not None and np.count_nonzero(weights) == np.count_nonzero(p)
    return Result(
        indices=indices,
        weights=weights,
        value=record.value,
        bound=record.bound,
        status=status,
        history=np.array(record.history),
        n_iter=record.n_iter,
        seconds=deadline.elapsed(),
        space=constraint.space,
        seed=seed,
        table=None if whole else p,
        note="; ".join(record.notes),
        words=words_of(constraint, entries),
    )


def units_are_entries(constraint: Any, support: Indices, p: Vector) -> bool:
    """Whether the units of a support are entries of p, one each, and hold its mass."""
    if implements(constraint, Sparsity) and not np.array_equal(constraint.face(support), support):
        return False
    within = bool((support < p.size).all())
    return within and abs(float(p[support].sum() - p.sum())) <= MASS


def words_of(constraint: Any, entries: bool) -> Words:
    """What the units of a constraint are called, and how many there are."""
    space = constraint.space
    total = constraint.n_units if implements(constraint, Sparsity) else space.size
    if total == space.n_units:
        return Words(space.unit, total)
    return Words("states" if entries else "units", total)


def tolerance(objective: Any, value: float, scale: float | None = None) -> float:
    """The gap below which an answer of this value counts as optimal.

    `scale` is the size of F's terms, where known.
    """
    if not math.isfinite(value):
        return 0.0
    return RELATIVE_GAP * abs(value) + ROUNDING * (scale_of(objective) if scale is None else scale)


ULPS = 8.0
"""Units in the last place by which a weight, or a product with it, may be off."""


class _Record:
    """The best iterate, the history, the bound, the notes and the clock of one solve."""

    def __init__(self, objective: Any, deadline: Deadline, notes: list[str]) -> None:
        self.objective, self.deadline, self.notes = objective, deadline, notes
        self.p: Vector | None = None
        self.value = math.inf
        self.bound: float | None = None
        self.history: list[float] = []
        self.start: tuple[Vector, float] | None = None
        self.begun = 0
        """How many values of the history are not iterates but the start."""

    @property
    def n_iter(self) -> int:
        """How many iterates were valued."""
        return len(self.history) - self.begun

    @cached_property
    def scale(self) -> float:
        """The size of F's terms; where nothing else tells, that of the first finite value."""
        finite = (abs(value) for value in self.history if math.isfinite(value))
        return scale_of(self.objective) or next(finite, 0.0)

    @property
    def tolerance(self) -> float:
        """The gap below which the answer counts as optimal."""
        return tolerance(self.objective, self.value, self.scale)

    def rounding(self) -> float:
        """Return how far the last digits of the weights, or of F's own terms, may move F."""
        assert self.p is not None  # noqa: S101 - asked for after the first answer
        objective: Any = self.objective
        used = self.p != 0.0
        moved = float(np.abs(objective.gradient(self.p)[used] * self.p[used]).sum())
        by_weights = ULPS * np.finfo(float).eps * moved if math.isfinite(moved) else 0.0
        return max(by_weights, getattr(objective, "rounding", 0.0))

    @property
    def closed(self) -> bool:
        """Whether the bound reaches the value, to the tolerance."""
        if self.bound is None or self.bound >= self.value:  # both may be infinite
            return self.bound is not None
        return self.value - self.bound <= self.tolerance

    def keep_member(self, constraint: Constraint, solver: str) -> None:
        """The best iterate, or where that is not a member its projection.

        a set whose projection fails is named.
        """
        assert self.p is not None  # noqa: S101 - asked for after the first answer
        if constraint.contains(self.p):
            return
        self.p = constraint.project(self.p)
        if not constraint.contains(self.p):
            raise InvalidInput(
                f"{solver} ended outside the constraint {constraint!r}, and what its project() "
                "returns is not a member by its contains() either"
            )
        self.value = self.valued(self.p)
        self.notes.append(
            f"the answer of {solver} was no member of the constraint and was projected onto it"
        )
        start, value = self.start or (self.p, self.value)
        if value < self.value and constraint.contains(start):
            self.p, self.value = start, value
            self.notes.append("the start is better than that, and is the answer")

    def keep_bound(self, solver: str) -> None:
        """Keep a bound at or below the value; drop one that lies above it by more than rounding."""
        if self.bound is None or self.bound <= self.value:
            return
        if self.bound - self.value <= self.tolerance:
            self.bound = self.value
            return
        least, rounding = getattr(self.objective, "lower_bound", -math.inf), self.rounding()
        if 0.0 <= least - self.value <= max(self.tolerance, rounding):
            self.bound = self.value
        elif self.bound - self.value <= rounding:
            self.bound = max(least, self.bound - rounding)
        else:
            self.notes.append(
                f"no bound is claimed: that of {solver} lies above the value, so the objective is"
                " not convex, or its gradient or its lower bound is wrong"
            )
            self.bound = None

    def keep_scale(self) -> None:
        """Say so where F is of a size that floats do not tell apart."""
        scale = getattr(self.objective, "scale", 1.0)
        if not SMALLEST <= scale <= LARGEST:
            self.notes.append(
                f"values of this size, about {scale:.3g}, are beyond what a float can tell apart"
            )

    def valued(self, p: Vector) -> float:
        """F[p], which must be a number."""
        value = float(self.objective.value(p))
        if math.isnan(value):
            raise InvalidInput(f"the objective is not a number at iterate {len(self.history)}")
        return value

    def take(self, p: Vector) -> float:
        """Value an iterate and remember it if none was better."""
        value = self.valued(p)
        self.history.append(value)
        if self.p is None or value < self.value:
            self.p, self.value = p.copy(), value
        return value

    def raise_bound(self, bound: float | None) -> None:
        """A proven bound can only improve; neither -inf nor nan is one."""
        if bound is not None and bound > (-math.inf if self.bound is None else self.bound):
            self.bound = bound

    def shows(self, callback: Callback, p: Vector | None, value: float) -> bool:
        """Show a callback an iterate, or between iterates the best one so far.

        Whether it says stop.
        """
        if p is None:
            p, value = self.p, self.value
        if p is None:
            return False
        seconds = self.deadline.elapsed()
        return says_stop(callback, Progress(self.n_iter, p, value, self.value, self.bound, seconds))


def _run(steps: Steps, record: _Record, max_iter: int | None, callback: Callback | None) -> Status:
    """Value iterate after iterate and send their values back, until the solver or a limit ends it."""
    reply, send = math.nan, False
    while True:
        try:
            step = steps.send(reply) if send else next(steps)
        except StopIteration as end:
            outcome: Outcome = end.value
            record.raise_bound(outcome.bound)
            return outcome.status
        send = True
        record.raise_bound(step.bound)
        if step.p is not None:
            reply = record.take(step.p)
        if callback is not None and record.shows(callback, step.p, reply):
            return Status.CALLBACK
        if step.p is not None and record.n_iter == max_iter:
            return Status.MAX_ITER
        if record.deadline.passed and record.p is not None:
            return Status.TIME_LIMIT


def says_stop(callback: Callback, progress: Progress) -> bool:
    """Whether a callback that is shown the progress wants to stop."""
    answer = callback(progress)
    try:
        return bool(answer)
    except Exception:  # an array is neither true nor false
        raise InvalidInput(
            f"callback must return something that is true or false, got {shown(answer)}"
        ) from None
