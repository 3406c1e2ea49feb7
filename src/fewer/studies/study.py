"""One job, one data set, one or several k: solve, compare with baselines, hold out, and recommend a k."""

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
MAX_BASELINE_FACTOR = 100
"""A baseline is given at most this many times k units."""
SUFFICIENT_REDUCTION = 0.9
"""The share of the error reduction along a path that makes a k sufficient."""


class Problem(Protocol):
    """What a study asks of a job on a data set; errors are such that less is better."""

    job: str
    unit: str
    """What is kept, in the plural."""
    shares: frozenset[str]
    """The columns and facts that are shares of one."""

    @property
    def metric(self) -> str:
        """The metric that `error` is, in a few words; lower is better."""
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
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """The error of each baseline, for any k."""
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
    """The result for one k and its errors: on the data, held out, and of the baselines."""

    k: int
    result: Result
    error: float
    kept: Table
    lost: dict[str, float]
    baselines: dict[str, float]
    held_out: float | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """All answers, the recommended k and why, and how many units the best baseline needs for the same error."""

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
            baselines = {name: baseline(budget) for name, baseline in problem.baselines.items()}
            held = None if parts is None else _held_out(budget, parts, watch, {"rng": seed, **search})
            answers[-1] = replace(answers[-1], baselines=baselines, held_out=held)
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
    """The answer for the given k; else the smallest sufficient k by held-out error, or by error if none is held out."""
    if k is not None or len(answers) == 1:
        return next((a, "as requested") for a in answers if k is None or a.k == k)
    held = all(a.held_out is not None for a in answers)
    errors = [float(a.held_out if a.held_out is not None and held else a.error) for a in answers]
    at = sufficient(errors)
    kind = "held-out error" if held else "error"
    if at == len(answers) - 1:
        return answers[at], f"{kind} still decreasing; try larger k"
    if errors[at] == min(errors):
        return answers[at], f"lowest {kind}"
    return answers[at], f"smallest k with {100 * SUFFICIENT_REDUCTION:.0f} % of the {kind} reduction"


def sufficient(errors: Sequence[float]) -> int:
    """The first with 90 % of the reduction from the first error to the lowest.

    >>> sufficient([1.0, 0.4, 0.15, 0.1]), sufficient([0.2, 0.1]), sufficient([0.2, 0.1, 0.3])
    (2, 1, 1)
    """
    low = min(errors)
    most = low + (1.0 - SUFFICIENT_REDUCTION) * (errors[0] - low) if math.isfinite(errors[0]) else low
    return next(i for i, error in enumerate(errors) if error <= most)


def compare(problem: Problem, answer: Answer) -> str:
    """How many units the best baseline needs for the same error, measured."""
    if not answer.baselines or not math.isfinite(answer.error):
        return ""
    best = min(answer.baselines, key=lambda name: answer.baselines[name])
    if answer.baselines[best] <= answer.error * (1 + 1e-9):
        return f"baseline {best} does as well here"
    most = min(problem.size, MAX_BASELINE_FACTOR * answer.k)
    needs = needed(problem.baselines[best], answer.k, answer.error, most)
    if needs is None:
        return f"baseline {best} does not match this with {most} {problem.unit}"
    return f"baseline {best} needs {needs} {problem.unit} ({needs / answer.k:.1f}x) to match this"


def needed(baseline: Callable[[int], float], k: int, error: float, most: int) -> int | None:
    """The fewest units, by doubling and halving, for which a baseline's error is at most `error`; None above `most`.

    >>> needed(lambda k: 1 / k, 4, 0.1, 1000), needed(lambda k: 1 / k, 4, 0.1, 9)
    (10, None)
    """
    low, high = k, min(2 * k, most)
    while baseline(high) > error:
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if baseline(middle) <= error else (middle, high)
    return high
