"""One job, one data set, one or several k: solve, compare with simple rivals, hold out, and say which k."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ..result import Result, Status

Table = dict[str, list[Any]]
"""A table by columns: name -> values."""
Judge = Callable[[Result], float]
Watch = Callable[[str], AbstractContextManager[Any]]
"""Gives, for what is being computed, a callback to hand to the solver."""
MOST_TIMES = 100
"""A rival is given at most this many times as many units."""
ENOUGH = 0.9
"""The share of the fall of the error along a path that is good enough."""


class Problem(Protocol):
    """What a study asks of a job on a data set; errors are such that less is better."""

    job: str
    unit: str
    """What is kept, in the plural."""
    shares: frozenset[str]
    """The columns and facts that are shares of one."""

    @property
    def measure(self) -> str:
        """What `error` means, in a few words."""
        ...

    @property
    def usual_seconds(self) -> float | None:
        """How long "auto" searches when no limit is given; None where it ends by itself."""
        ...

    @property
    def size(self) -> int:
        """How many units there are to choose from."""
        ...

    @property
    def rivals(self) -> Mapping[str, Callable[[int], float]]:
        """The error of simple baselines, for any k."""
        ...

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        ...

    def error(self, result: Result) -> float:
        """What was lost."""
        ...

    def kept(self, result: Result) -> Table:
        """What was kept, heaviest first."""
        ...

    def lost(self, result: Result) -> dict[str, float]:
        """What was lost, in several measures."""
        ...

    def split(self, share: float, rng: np.random.Generator) -> tuple["Problem", Judge] | None:
        """The problem on most of the data and the error on the `share` held out; None where that has no meaning."""
        ...


@dataclass(frozen=True, eq=False)
class Answer:
    """The result for one k and its errors: on the data, held out, and of the rivals."""

    k: int
    result: Result
    error: float
    kept: Table
    lost: dict[str, float]
    rivals: dict[str, float]
    held_out: float | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """All answers, the k that is taken and why, and how many units the best rival needs for the same."""

    problem: Problem
    answers: tuple[Answer, ...]
    chosen: Answer
    why: str
    comparison: str
    interrupted: bool
    seconds: float

    @property
    def ks(self) -> list[int]:
        """The budgets that were answered."""
        return [answer.k for answer in self.answers]


def study(
    problem: Problem,
    ks: Sequence[int],
    *,
    k: int | None = None,
    held_out: float | None = None,
    seed: int = 0,
    watch: Watch = lambda label: nullcontext(),
    **search: Any,
) -> Study:
    """Solve for every k and compare; `held_out` is the share of the data on which fits on the rest are tested.

    The answers themselves are fitted on all data. An interrupt ends the study with what it has so far.
    """
    began = time.perf_counter()
    answers: list[Answer] = []
    interrupted, comparison = False, ""
    parts = None if held_out is None else problem.split(held_out, np.random.default_rng(seed))
    try:
        for budget in sorted(set(ks)):
            answers.append(_answer(problem, budget, watch, {"rng": seed, **search}))
            if answers[-1].result.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            rivals = {name: rival(budget) for name, rival in problem.rivals.items()}
            held = None if parts is None else _held_out(budget, parts, watch, {"rng": seed, **search})
            answers[-1] = replace(answers[-1], rivals=rivals, held_out=held)
        chosen, why = choose(answers, k)
        comparison = compare(problem, chosen)
    except KeyboardInterrupt:
        if not answers:
            raise
        interrupted = True
        chosen, why = answers[-1], "the last before the interrupt"
    return Study(problem, tuple(answers), chosen, why, comparison, interrupted, time.perf_counter() - began)


def _answer(problem: Problem, k: int, watch: Watch, search: dict[str, Any]) -> Answer:
    """One k on all data."""
    with watch(f"{problem.job} k = {k}") as callback:
        result = problem.solve(k, callback=callback, **search)
    return Answer(k, result, problem.error(result), problem.kept(result), problem.lost(result), {})


def _held_out(k: int, parts: tuple[Problem, Judge], watch: Watch, search: dict[str, Any]) -> float:
    """The error on the held-out data of the same search on the rest."""
    train, judge = parts
    with watch(f"{train.job} k = {k}, on the training part") as callback:
        result = train.solve(min(k, train.size), callback=callback, **search)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return judge(result)


def choose(answers: Sequence[Answer], k: int | None) -> tuple[Answer, str]:
    """The answer for the given k; else the first that is good enough by its held-out error, else by its error."""
    if k is not None or len(answers) == 1:
        return next((a, "as asked") for a in answers if k is None or a.k == k)
    held = all(a.held_out is not None for a in answers)
    errors = [float(a.held_out if a.held_out is not None and held else a.error) for a in answers]
    at = enough(errors)
    kind = "held-out error" if held else "error"
    if at == len(answers) - 1:
        return answers[at], f"the {kind} still falls here; try larger k"
    if errors[at] == min(errors):
        return answers[at], f"the {kind} is lowest here"
    return answers[at], f"the smallest with {100 * ENOUGH:.0f} % of all that the {kind} falls"


def enough(errors: Sequence[float]) -> int:
    """The first that has made 90 % of the fall from the first error to the lowest.

    >>> enough([1.0, 0.4, 0.15, 0.1]), enough([0.2, 0.1]), enough([0.2, 0.1, 0.3])
    (2, 1, 1)
    """
    low = min(errors)
    most = low + (1.0 - ENOUGH) * (errors[0] - low) if math.isfinite(errors[0]) else low
    return next(i for i, error in enumerate(errors) if error <= most)


def compare(problem: Problem, answer: Answer) -> str:
    """How many units the best simple rival needs to lose as little, measured."""
    if not answer.rivals or not math.isfinite(answer.error):
        return ""
    best = min(answer.rivals, key=lambda name: answer.rivals[name])
    if answer.rivals[best] <= answer.error * (1 + 1e-9):
        return f"{best} do as well here"
    most = min(problem.size, MOST_TIMES * answer.k)
    needs = needed(problem.rivals[best], answer.k, answer.error, most)
    if needs is None:
        return f"even {most} {best} do not reach this"
    return f"{best} need {needs / answer.k:.1f}x as many {problem.unit} for this ({needs})"


def needed(rival: Callable[[int], float], k: int, error: float, most: int) -> int | None:
    """The fewest units, by doubling and halving, for which a rival's error is at most `error`; None above `most`.

    >>> needed(lambda k: 1 / k, 4, 0.1, 1000), needed(lambda k: 1 / k, 4, 0.1, 9)
    (10, None)
    """
    low, high = k, min(2 * k, most)
    while rival(high) > error:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rival(middle) <= error else (middle, high)
    return high
