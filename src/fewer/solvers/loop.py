"""The one loop: it values iterates, keeps the best, obeys the limits, and says what is proven.

Solvers work on G with F = 2**e G and numbers near one; answers are in the units of F.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_generator,
    as_number,
    as_vector,
    shown,
)
from ..deadline import Deadline
from ..protocols import (
    Constraint,
    Objective,
    Sparsity,
    entrywise,
    implements,
    lower_bound_of,
    probe,
    require,
    scale_of,
)
from ..result import Result, Status, Words
from ..threads import own_threads

RELATIVE_GAP, ROUNDING = 1e-6, 1e-12
"""An answer is optimal when its gap is below this share of |value|, plus this share of the
objective's scale."""
MASS = 1e-9
"""Mass that may lie outside the support of an answer."""
ULPS = 8.0
"""Units in the last place by which a weight, or a product with it, may be off."""
TABLES_PER_STEP = 4.0
"""What a first-order step costs, in passes over all entries, where an objective does not count."""


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
    """What a callback sees after each iterate, and of the best one wherever a solver pauses between iterates."""

    n_iter: int
    p: Vector
    value: float
    best: float
    bound: float | None
    seconds: float


Callback = Callable[[Progress], Any]


class Problem(NamedTuple):
    """What a method works on: G in numbers near one with F = 2**exponent G, a constraint, limits, randomness."""

    objective: Any
    constraint: Any
    solver: str
    deadline: Deadline
    budget: float | None
    rng: np.random.Generator
    exponent: int


Method = Callable[[Problem], Steps]


def solve(
    solver: str,
    objective: Objective,
    constraint: Any,
    method: Method,
    *,
    budget: Any,
    time_limit: "float | Deadline | None",
    callback: Callback | None,
    rng: Any,
    normalises: bool = True,
    **loop: Any,
) -> Result:
    """The result of a method; without a budget, a time limit is used up.

    `loop`: `start`, `max_iter` and `note`.
    """
    check_partners(objective, constraint, solver)
    check_callback(callback)
    deadline = Deadline.after(time_limit)
    generator, seed = as_generator(rng)
    if budget is not None:
        budget = as_number(budget, "budget", allow_equal=True)
    elif deadline.limited:
        budget = math.inf
    inner, exponent = normalised(objective, deadline.limited) if normalises else (objective, 0)
    problem = Problem(inner, constraint, solver, deadline, budget, generator, exponent)

    def steps() -> Steps:
        rules = constraint.rules if entrywise(constraint) else None
        yield Step(bound=lower_bound_of(inner, rules))
        return (yield from method(problem))

    units = power_of_two(exponent)
    loop |= {"time_limit": deadline, "callback": units.callback(callback), "seed": seed}
    return units.result(drive(inner, constraint, steps(), solver=solver, **loop))


def counted(method: Method) -> Method:
    """A first-order method until it has cost about `budget` multiplications."""

    def within(problem: Problem) -> Steps:
        F, steps = problem.objective, method(problem)
        budget = math.inf if problem.budget is None else problem.budget
        began = getattr(F, "work", None)
        work, reply = 0.0, math.nan
        while work <= budget:
            try:
                step = steps.send(reply) if work else next(steps)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            each = TABLES_PER_STEP * problem.constraint.space.size
            work = work + each if began is None else F.work - began + 1.0
            reply = yield step
        return Outcome(Status.FINISHED)

    return within


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


def check_callback(callback: Any) -> None:
    """Refuse a callback that cannot be called."""
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback must be a function of the progress, got {shown(callback)}")


def says_stop(callback: Callback, progress: Progress) -> bool:
    """Whether a callback that is shown the progress wants to stop."""
    answer = callback(progress)
    try:
        return bool(answer)
    except Exception:  # an array is neither true nor false
        raise InvalidInput(
            f"callback must return something that is true or false, got {shown(answer)}"
        ) from None


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
    check_callback(callback)
    record = Record(objective, deadline, [note] if note else [])
    try:
        with own_threads():  # several threads would wait for each other in small products
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


def _run(steps: Steps, record: "Record", max_iter: int | None, callback: Callback | None) -> Status:
    """Value iterate after iterate and send their values back, until the solver or a limit ends it."""
    reply: float | None = None
    while True:
        try:
            step = next(steps) if reply is None else steps.send(reply)
        except StopIteration as end:
            outcome: Outcome = end.value
            record.raise_bound(outcome.bound)
            return outcome.status
        record.raise_bound(step.bound)
        p, value = record.p, record.value
        if step.p is not None:
            p, value = step.p, record.take(step.p)
        reply = value
        if callback is not None and p is not None:
            seconds = record.deadline.elapsed()
            seen = Progress(record.n_iter, p, value, record.value, record.bound, seconds)
            if says_stop(callback, seen):
                return Status.CALLBACK
        if step.p is not None and record.n_iter == max_iter:
            return Status.MAX_ITER
        if record.deadline.passed and record.p is not None:
            return Status.TIME_LIMIT


class Record:
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
    def tolerance(self) -> float:
        """The gap below which the answer counts as optimal."""
        finite = (abs(value) for value in self.history if math.isfinite(value))
        return tolerance(self.objective, self.value, next(finite, 0.0))

    @property
    def closed(self) -> bool:
        """Whether the bound reaches the value, to the tolerance."""
        if self.bound is None or self.bound >= self.value:  # both may be infinite
            return self.bound is not None
        return self.value - self.bound <= self.tolerance

    def take(self, p: Vector) -> float:
        """Value an iterate and remember it if none was better."""
        value = self._value_of(p)
        self.history.append(value)
        if self.p is None or value < self.value:
            self.p, self.value = p.copy(), value
        return value

    def _value_of(self, p: Vector) -> float:
        """F[p], which must be a number."""
        value = float(self.objective.value(p))
        if math.isnan(value):
            raise InvalidInput(f"the objective is not a number at iterate {len(self.history)}")
        return value

    def raise_bound(self, bound: float | None) -> None:
        """A proven bound can only improve; neither -inf nor nan is one."""
        if bound is not None and bound > (-math.inf if self.bound is None else self.bound):
            self.bound = bound

    def keep_member(self, constraint: Constraint, solver: str) -> None:
        """Project the best iterate where it is no member; name a set whose projection fails."""
        assert self.p is not None  # noqa: S101 - asked for after the first answer
        if constraint.contains(self.p):
            return
        self.p = constraint.project(self.p)
        if not constraint.contains(self.p):
            raise InvalidInput(
                f"{solver} ended outside the constraint {constraint!r}, and what its project() "
                "returns is not a member by its contains() either"
            )
        self.value = self._value_of(self.p)
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
        excess = self.bound - self.value
        if excess <= self.tolerance:
            self.bound = self.value
            return
        least, rounding = getattr(self.objective, "lower_bound", -math.inf), self._rounding()
        if 0.0 <= least - self.value <= max(self.tolerance, rounding):
            self.bound = self.value
        elif excess <= rounding:
            self.bound = max(least, self.bound - rounding)
        else:
            self.notes.append(
                f"no bound is claimed: that of {solver} lies above the value, so the objective is"
                " not convex, or its gradient or its lower bound is wrong"
            )
            self.bound = None

    def _rounding(self) -> float:
        """How far the last digits of the weights, or of F's own terms, may move F."""
        p: Any = self.p
        moved = float(np.abs(self.objective.gradient(p)[p != 0.0] * p[p != 0.0]).sum())
        by_weights = ULPS * np.finfo(float).eps * moved if math.isfinite(moved) else 0.0
        return max(by_weights, getattr(self.objective, "rounding", 0.0))


def tolerance(objective: Any, value: float, scale: float = 0.0) -> float:
    """The gap below which an answer of this value counts as optimal.

    `scale` is the size of F's terms where the objective cannot tell.
    """
    if not math.isfinite(value):
        return 0.0
    return RELATIVE_GAP * abs(value) + ROUNDING * (scale_of(objective) or scale)


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


@dataclass(frozen=True)
class Affine:
    """F = factor G + shift, where a bound on G says `slack` less of F, which is at least `least`."""

    factor: float = 1.0
    shift: float = 0.0
    slack: float = 0.0
    least: float = 0.0

    def value(self, x: Any) -> Any:
        """Values of F for those of G."""
        return self.factor * x + self.shift

    def bound(self, x: float | None) -> float | None:
        """A lower bound on F for one on G."""
        return None if x is None else max(float(self.value(x)) - self.slack, self.least)

    def result(self, result: Result) -> Result:
        """A result for G as one for F."""
        return replace(
            result,
            value=self.value(result.value),
            bound=self.bound(result.bound),
            history=self.value(result.history),
            value_se=self.factor * result.value_se,
        )

    def callback(self, callback: Callback | None) -> Callback | None:
        """A callback of F for a solver that works on G."""
        if callback is None or not callable(callback):
            return callback

        def show(progress: Progress) -> Any:
            value, best = self.value(progress.value), self.value(progress.best)
            bound = self.bound(progress.bound)
            return callback(progress._replace(value=value, best=best, bound=bound))

        return show


def normalised(objective: Any, limited: bool = False) -> tuple[Any, int]:
    """(G, e) with F = 2**e G and the numbers of G near one, where the objective can tell; else (F, 0).

    `normalised()` may compute something for that; within a time limit `near_one()` is asked first,
    which does not.
    """
    for name in ("near_one", "normalised") if limited else ("normalised",):
        if hasattr(objective, name):
            inner, exponent = getattr(objective, name)()
            return inner, exponent
    return objective, 0


def power_of_two(exponent: int) -> Affine:
    """The change from G to F = 2**exponent G."""
    with np.errstate(over="ignore", under="ignore"):
        return Affine(float(np.ldexp(1.0, exponent)), least=-math.inf)
