"""Comparisons beyond chance: they answer yes, no, or None where a 95 % interval leaves both open."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from scipy.special import stdtrit

from .arrays import Indices, Vector

LEVEL = 0.95
"""The confidence of every interval."""
TIE = 1e-9
"""Differences of means below this are rounding: rows are written with ten digits."""
Answer = bool | None
"""Yes, no, or undecided."""


class Errors(Protocol):
    """Rows of several methods."""

    @property
    def methods(self) -> list[str]:
        """Their names."""
        ...

    def column(self, method: str, column: str, x: float | None = None) -> Vector:
        """A column of a method at one x, run by run."""
        ...


def interval(values: Vector) -> tuple[float, float]:
    """The mean of some runs and the half width of its t-interval, infinite for a single run.

    >>> interval(np.array([1.0, 2.0, 3.0]))[0], round(interval(np.array([1.0, 2.0, 3.0]))[1], 3)
    (2.0, 2.484)
    """
    if values.size < 2:
        return float(values.mean()), math.inf
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    return float(values.mean()), float(stdtrit(values.size - 1, (1.0 + LEVEL) / 2.0)) * error


def above_zero(values: Vector) -> Answer:
    """Whether the mean behind these runs is above zero; one that is zero in every run is not.

    >>> (
    ...     above_zero(np.array([1.0, 1.5, 2.0])),
    ...     above_zero(np.array([-1.0, 2.0])),
    ...     above_zero(np.zeros(3)),
    ... )
    (True, None, False)
    """
    if values.size > 1 and (np.abs(values) <= TIE).all():
        return False
    mean, half = interval(values)
    if abs(mean) <= max(half, TIE):
        return None
    return mean > 0


def everywhere(answers: Iterable[Answer]) -> Answer:
    """Yes where all say yes, no where one says no, else undecided.

    >>> everywhere([True, True]), everywhere([True, None]), everywhere([None, False])
    (True, None, False)
    """
    said = list(answers)
    return False if False in said else None if None in said else True


def lower(ours: Vector, theirs: Vector) -> tuple[Answer, str]:
    """Whether the mean of `ours` is below that of `theirs`, run by run, and the numbers that decide.

    >>> lower(np.array([1.0, 1.0, 2.0]), np.array([3.0, 2.0, 3.0]))
    (None, '1.33 ± 0.47 against 2.67 ± 0.47; lower in 3 of 3 runs, difference -1.33 ± 1.4, within
    chance')
    """
    gap = ours - theirs
    answer, (mean, half) = above_zero(-gap), interval(gap)
    width = f"{half:.2g}" if math.isfinite(half) else "unknown (one run)"
    chance = ", within chance" if answer is None else ""
    wins = f"lower in {(gap < -TIE).sum()} of {gap.size} runs"
    return (
        answer,
        f"{spread(ours)} against {spread(theirs)}; {wins}, difference {mean:.3g} ± {width}{chance}",
    )


def lower_at_all(
    pairs: Mapping[int, tuple[Vector, Vector]], what: str, form: str
) -> tuple[Answer, str]:
    """Whether the first of each pair is below the second, at every k, and the numbers."""
    answers = {k: lower(ours, theirs)[0] for k, (ours, theirs) in pairs.items()}
    won, open_ = (
        [str(k) for k, answer in answers.items() if answer is said] for said in (True, None)
    )
    parts = "; ".join(
        f"k = {k}: {a.mean():{form}} against {b.mean():{form}}" for k, (a, b) in pairs.items()
    )
    chance = f", within chance at {', '.join(open_)}" if open_ else ""
    return (
        everywhere(answers.values()),
        f"lower at {', '.join(won) or 'no k'}{chance}; {what}{parts}",
    )


def best_is_one_of(
    table: Errors, ours: Collection[str], budgets: Sequence[int], form: str
) -> tuple[Answer, str]:
    """Whether at every k the best of some methods, by their mean test error, is below the best of the others."""
    answers, parts = [], []
    for k in budgets:
        errors = {name: table.column(name, "test", k) for name in table.methods}
        first, second = (
            min(
                (name for name in errors if (name in ours) is mine),
                key=lambda each: float(errors[each].mean()),
            )
            for mine in (True, False)
        )
        answers.append(lower(errors[first], errors[second])[0])
        chance = ", within chance" if answers[-1] is None else ""
        shown = (f"{name} ({errors[name].mean():{form}})" for name in (first, second))
        parts.append(f"k = {k}: {' against '.join(shown)}{chance}")
    return everywhere(answers), "; ".join(parts)


def narrower(ours: Vector, theirs: Vector) -> tuple[Answer, str]:
    """Whether `ours` spread less than `theirs` over the same runs, and the numbers."""
    ratios = log_ratios(theirs, ours)
    answer = above_zero(ratios)
    return answer, f"std {ours.std():.3g} against {theirs.std():.3g}{factor(-ratios)}"


def within_factor(one: Vector, two: Vector, most: float) -> tuple[Answer, str]:
    """Whether two spreads over the same runs differ by at most a factor, and the numbers."""
    ratios = log_ratios(one, two)
    answer = everywhere([above_zero(math.log(most) - ratios), above_zero(math.log(most) + ratios)])
    return answer, f"std {one.std():.3g} and {two.std():.3g}{factor(ratios)}"


def factor(ratios: Vector) -> str:
    """The interval of a ratio from logarithms, in words."""
    mean, half = interval(ratios)
    if not math.isfinite(half):
        return ", too few runs for an interval"
    return (
        f", ratio {math.exp(mean):.3g} ({math.exp(mean - half):.3g} to {math.exp(mean + half):.3g})"
    )


def log_ratios(one: Vector, two: Vector) -> Vector:
    """The logarithm of a ratio of standard deviations over the same runs, as jackknife values of it.

    Their mean and standard error are those of the logarithm (Miller, The jackknife - a review,
    Biometrika 61, 1974). Fewer than three runs tell nothing. A spread of nothing is read as
    rounding.
    """

    def ratio(kept: Indices) -> float:
        return math.log(max(float(one[kept].std()), TIE) / max(float(two[kept].std()), TIE))

    return jackknife(ratio, one.size)


def jackknife(estimate: Callable[[Indices], float], n: int) -> Vector:
    """The jackknife's values of an estimate from n runs, given by an index of the runs it is made from; (n,)."""
    every = np.arange(n)
    if n < 3:
        return np.array([estimate(every)])
    return np.array(
        [n * estimate(every) - (n - 1) * estimate(np.delete(every, i)) for i in range(n)]
    )


def spread(values: Vector) -> str:
    """Mean and standard deviation.

    >>> spread(np.array([1.0, 3.0]))
    '2 ± 1'
    """
    return f"{values.mean():.3g} ± {values.std():.2g}"
