"""Checks of every answer."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from fewer import InvalidInput, Result, Status

from .referee import NEAR, ROUND, Problem, Region, Wide, optimum, shown, wide

LONGEST = 5000
"""More iterates than this on a tiny problem mean that the search runs in circles."""
SMALLEST, LARGEST = Wide(np.finfo(np.float64).tiny), Wide(np.finfo(np.float64).max)
Checks = Callable[[Result], list[str]]


@dataclass
class Trial:
    """A call, what it must be judged by, and the arrays that it must not touch.

    refuse: "never", "maybe" or "must" says whether `InvalidInput` is right. lying: the constraint
    says of itself what does not hold, so that a solver may leave it and be brought back.
    """

    text: str
    call: Callable[[], Result]
    problem: Problem | None = None
    region: Region | None = None
    arrays: Sequence[Any] = ()
    refuse: str = "never"
    checks: list[Checks] = field(default_factory=list)
    seeded: bool = True
    lying: bool = False


def tried(trial: Trial, rng: np.random.Generator) -> tuple[str, list[str]]:
    """Run a trial and say what is wrong with it."""
    before = [fingerprint(a) for a in trial.arrays]
    result, problems = guarded(trial)
    if [fingerprint(a) for a in trial.arrays] != before:
        problems.append("the caller's arrays were changed")
    if result is not None:
        problems += judged(trial, result)
        if trial.seeded and rng.random() < 0.25:
            again, _ = guarded(trial)
            problems += (
                []
                if again is not None and bits(again) == bits(result)
                else ["a second run gave other bits"]
            )
    return trial.text, problems


def guarded(trial: Trial) -> tuple[Result | None, list[str]]:
    """The result of a call, and its complaints: exceptions that are not right, warnings that leak."""
    result, problems = None, []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = trial.call()
        except InvalidInput as error:
            problems = [f"it refuses: {error}"] if trial.refuse == "never" else []
        except Exception as error:
            problems = [f"it raises {type(error).__name__}: {error}"]
    if result is not None and trial.refuse == "must":
        problems.append(f"it should refuse, and answers {result.p}")
    leaks = sorted({str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)})
    return result, problems + [f"a warning leaks: {leak}" for leak in leaks]


def judged(trial: Trial, result: Result) -> list[str]:
    """Faults of a result."""
    problems = sound(result)
    if trial.problem is not None and trial.region is not None and trial.refuse != "must":
        outside = trial.region.trouble(result.p, result.support)
        if "projected" in result.note and not trial.lying:
            outside.append(f"a solver left the constraint: {result.note}")
        best, _ = optimum(trial.problem, trial.region)
        problems += outside
        if not outside:
            problems += claims(
                result,
                trial.problem.value(result.p),
                best,
                trial.problem.scale,
                trial.problem.positive,
            )
    for check in trial.checks:
        problems += check(result)
    return problems


def sound(result: Result) -> list[str]:
    """What a result must be whatever was solved."""
    problems = []
    if np.isnan(result.value) or (result.bound is not None and np.isnan(result.bound)):
        problems.append(f"value {result.value} or bound {result.bound} is not a number")
    if len(result.history) > LONGEST:
        problems.append(f"{len(result.history)} iterates on a tiny problem")
    if (
        "projected" not in result.note
        and result.history.size
        and result.value > result.history.min() + NEAR * abs(result.history.min())
    ):
        problems.append(
            f"value {result.value!r} is above the best iterate {result.history.min()!r}"
        )
    if (np.diff(result.support) <= 0).any():
        problems.append(f"support {result.support} is not sorted")
    if not isinstance(result.status, Status) or result.seconds < 0:
        problems.append(f"status {result.status!r} or seconds {result.seconds} cannot be")
    if "no bound is claimed" in result.note:
        problems.append(f"a bound was wrong: {result.note}")
    return problems


def claims(result: Result, value: Any, best: Any, scale: Any, positive: bool) -> list[str]:
    """Faults of value, bound and status, given F(p), the optimum and the size of the problem's numbers."""
    rounding = ROUND * scale
    return [
        *as_reported(result, value, rounding),
        *bounded(result, best, rounding, positive),
        *optimal(result, value, best, rounding),
    ]


def as_reported(result: Result, value: Any, rounding: Any) -> list[str]:
    """Whether the value is F(p), or says that it cannot be represented."""
    if np.isinf(value):
        return (
            []
            if np.isinf(result.value)
            else [f"value {result.value!r} is reported, F(p) is infinite"]
        )
    if abs(wide(result.value) - value) <= NEAR * abs(value) + rounding + last_digit(result.value):
        return []
    if (
        np.isinf(result.value) and result.note and rounding > LARGEST
    ):  # rounding alone is beyond a float
        return []
    if value > LARGEST or value < SMALLEST:
        right = np.isinf(result.value) if value > LARGEST else result.value < SMALLEST
        if right and result.note:
            return []
        return [
            f"F(p) = {shown(value)} cannot be represented; value is {result.value!r}, note"
            f" {result.note!r}"
        ]
    return [
        f"value {result.value!r} is reported, F(p) is {shown(value)} (rounding"
        f" {float(rounding):.1e})"
    ]


def last_digit(number: float) -> Any:
    """What a number so small that floats have few digits there may be off by being one.

    0 for others.
    """
    return Wide(np.finfo(np.float64).smallest_subnormal) if 0 < abs(number) < SMALLEST else Wide(0)


def bounded(result: Result, best: Any, rounding: Any, positive: bool = True) -> list[str]:
    """Whether the bound is below the optimum, not above the value and, where F is known to be positive, not below 0."""
    if result.bound is None:
        return []
    bound, problems = wide(result.bound), []
    if (
        np.isinf(bound) and best > LARGEST and result.note
    ):  # neither can be represented, and it says so
        return []
    if bound > best + NEAR * abs(best) + rounding + last_digit(result.bound):
        problems.append(
            f"bound {result.bound!r} is above the optimum {shown(best)} (rounding"
            f" {float(rounding):.1e})"
        )
    if bound > wide(result.value) + NEAR * abs(wide(result.value)) + rounding:
        problems.append(f"bound {result.bound!r} is above the value {result.value!r}")
    if positive and bound < -rounding:
        problems.append(f"bound {result.bound!r} is below zero, which no such F is")
    return problems


def optimal(result: Result, value: Any, best: Any, rounding: Any) -> list[str]:
    """Whether OPTIMAL is said exactly where it holds, and nobody is better than the optimum."""
    problems = []
    tolerance = 1e-6 * abs(value) + 2 * rounding
    if (
        np.isfinite(best) and value < best - NEAR * abs(best) - rounding
    ):  # an infinite optimum leaves room for all
        problems.append(f"the referee's optimum {shown(best)} is above F(p) = {shown(value)}")
    if result.status is Status.OPTIMAL:
        if value > best + tolerance + rounding:
            problems.append(
                f"OPTIMAL is said at F(p) = {shown(value)}; the optimum is {shown(best)}"
            )
        if result.gap is None or not result.gap <= tolerance:
            problems.append(
                f"OPTIMAL is said with value {result.value!r} and bound {result.bound!r}"
            )
    elif (
        result.gap is not None
        and 0 < value < np.inf
        and abs(result.gap) <= 1e-7 * abs(result.value)
    ):
        problems.append(
            f"the gap is {result.gap!r} at value {result.value!r}, but the status is"
            f" {result.status.name}"
        )
    return problems


def not_worse(start: Callable[[], float], problem: Problem) -> Checks:
    """A check that the answer is not worse than where it began, but for rounding at the scale of the problem."""

    def check(result: Result) -> list[str]:
        value = start()
        reached = (
            problem.value(result.p) if np.isinf(result.value) else wide(result.value)
        )  # no float may hold it
        worse = reached > wide(value) + NEAR * abs(wide(value)) + ROUND * problem.scale
        return [f"value {result.value!r} is worse than the start's {value!r}"] if worse else []

    return check


def fingerprint(array: Any) -> Any:
    """Everything that a callee could change of an array, a sparse matrix or a list."""
    if sp.issparse(array):
        parts = [
            getattr(array, name)
            for name in ("data", "indices", "indptr", "row", "col")
            if hasattr(array, name)
        ]
        return array.format, array.shape, [fingerprint(part) for part in parts]
    if isinstance(array, np.ndarray):
        return array.dtype.str, array.shape, array.strides, array.flags.writeable, array.tobytes()
    return repr(array)


def bits(result: Result) -> tuple[Any, ...]:
    """A result down to its last bit, up to the seconds."""
    numbers = result.p, result.support, result.history, np.array([result.value])
    return (
        *(np.asarray(a).tobytes() for a in numbers),
        repr(result.bound),
        result.status,
        result.n_iter,
        result.note,
    )
