"""The only loop: it values iterates, keeps the best and the history, and obeys the limits."""

import math
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._jit import clock
from ..door import Indices, InvalidInput, Vector, as_integer, as_number, as_vector
from ..protocols import Constraint, Objective, require
from ..result import Result, Status
from ..spaces import Space


class Step(NamedTuple):
    """What a solver yields: an iterate, a proven lower bound, both, or neither (a chance to stop)."""

    p: Vector | None = None
    bound: float | None = None


class Outcome(NamedTuple):
    """What a solver returns when it ends by itself."""

    status: Status
    bound: float | None = None


Steps = Generator[Step, float, Outcome]
"""A solver's iterates; F of each yielded p is sent back."""


class Progress(NamedTuple):
    """What a callback sees after each iterate, and of the best one when its bound improves."""

    n_iter: int
    p: Vector
    value: float
    best: float
    bound: float | None
    seconds: float


Callback = Callable[[Progress], Any]


def meet(objective: Objective, constraint: Constraint, who: str) -> None:
    """Check that a solver's partners are what they should be and live on the same space."""
    require(objective, Objective, f"{who}'s objective")
    require(constraint, Constraint, f"{who}'s constraint")
    if objective.space != constraint.space:
        raise InvalidInput(
            f"the objective lives on {objective.space!r} and the constraint on {constraint.space!r}; "
            f"give both the same space"
        )


def as_start(start: Any, constraint: Constraint) -> Vector:
    """`start` as a member of the constraint."""
    p = as_vector(start, constraint.space.shape, "start")
    if not constraint.contains(p):
        raise InvalidInput(f"start must lie in the constraint {constraint!r}; use constraint.project(start)")
    return p


def as_generator(rng: Any) -> tuple[np.random.Generator, int | None]:
    """The one door of randomness: a generator, and the seed that makes it again."""
    try:
        generator = np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"rng must be None, a non-negative seed or a Generator, got {rng!r}: {error}") from None
    entropy = getattr(generator.bit_generator.seed_seq, "entropy", None)
    return generator, entropy if isinstance(entropy, int) else None


class Valued(Protocol):
    """What the driver asks of an objective."""

    def value(self, p: Vector) -> float:
        """F[p]."""
        ...


class Supported(Protocol):
    """What the driver asks of a constraint."""

    @property
    def space(self) -> Space:
        """Where p lives."""
        ...

    def support(self, p: Vector) -> Indices:
        """The units that p uses, sorted."""
        ...


def drive(
    objective: Valued,
    constraint: Supported,
    steps: Steps,
    *,
    start: Vector | None = None,
    max_iter: int | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    seed: int | None = None,
) -> Result:
    """Run a solver's steps to their end or to a limit, and return the best iterate."""
    max_iter = None if max_iter is None else as_integer(max_iter, "max_iter", 1)
    limit = math.inf if time_limit is None else as_number(time_limit, "time_limit")
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback must be a function of the progress, got {callback!r}")
    record = _Record(objective, limit)
    if start is not None:
        record.take(start)
        record.started = 1
    try:
        status = _run(steps, record, max_iter, callback)
    except KeyboardInterrupt:
        if record.p is None:
            raise
        status = Status.INTERRUPTED
    finally:
        steps.close()
    if record.bound is not None and record.value <= record.bound:
        status = Status.OPTIMAL
    if record.p is None:
        raise InvalidInput(f"the time limit of {time_limit} s ended before a first answer was found")
    return Result(
        p=record.p,
        value=record.value,
        support=constraint.support(record.p),
        bound=record.bound,
        status=status,
        history=np.array(record.history),
        n_iter=len(record.history) - record.started,
        seconds=record.seconds,
        space=constraint.space,
        seed=seed,
    )


class _Record:
    """The best iterate, the history, the bound and the clock of one solve."""

    def __init__(self, objective: Valued, limit: float) -> None:
        self.objective, self.limit = objective, limit
        self.began = clock.now()
        self.p: Vector | None = None
        self.value = math.inf
        self.bound: float | None = None
        self.history: list[float] = []
        self.started = 0  # how many entries of the history were given, not computed

    @property
    def seconds(self) -> float:
        return clock.now() - self.began

    def take(self, p: Vector) -> float:
        """Value an iterate and remember it if none was better."""
        value = float(self.objective.value(p))
        if math.isnan(value):
            raise InvalidInput(f"the objective is not a number at iterate {len(self.history)}")
        self.history.append(value)
        if self.p is None or value < self.value:
            self.p, self.value = p.copy(), value
        return value

    def progress(self, p: Vector, value: float) -> Progress:
        return Progress(len(self.history) - self.started, p, value, self.value, self.bound, self.seconds)

    def raise_bound(self, bound: float | None) -> bool:
        """A proven bound can only improve; says whether it did."""
        improved = bound is not None and (self.bound is None or bound > self.bound)
        if improved:
            self.bound = bound
        return improved


def _run(steps: Steps, record: _Record, max_iter: int | None, callback: Callback | None) -> Status:
    reply, count = math.nan, 0
    while True:
        try:
            step = steps.send(reply) if count else next(steps)
        except StopIteration as end:
            outcome: Outcome = end.value
            record.raise_bound(outcome.bound)
            return outcome.status
        count += 1
        news = record.raise_bound(step.bound)
        if step.p is not None:
            reply = record.take(step.p)
        if callback is not None and (news or step.p is not None) and _called(callback, record, step.p, reply):
            return Status.CALLBACK
        if max_iter is not None and step.p is not None and len(record.history) - record.started >= max_iter:
            return Status.MAX_ITER
        if record.seconds > record.limit and record.p is not None:
            return Status.TIME_LIMIT


def _called(callback: Callback, record: _Record, p: Vector | None, value: float) -> bool:
    """Show the callback an iterate, or the best one when only its bound has improved; whether it says stop."""
    if p is None:
        p, value = record.p, record.value
    return p is not None and bool(callback(record.progress(p, value)))
