"""The points as an answer: which rows of X they are, and values in the units of X."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...bandwidths import times_power_of_two
from ...result import Result, Status, Words
from ...spaces import Atoms
from .comparison import Comparison
from .sample import Sample
from .target import Target


class Answer(NamedTuple):
    """The points, and what they were chosen from."""

    result: Result
    comparison: Comparison
    target: Target
    sample: Sample


def on_rows(
    solution: Result, target: Target, sample: Sample, unit: int, notes: list[str]
) -> Result:
    """Turn a result on candidates into one on all rows of X, its value judged anew where it was estimated.

    A bound over candidates is none over all rows.
    """
    assert solution.weights is not None  # noqa: S101 - rows are entries
    rows = sample.at(target.candidates[solution.indices])
    order = np.argsort(rows)
    value, error = target.judge(solution.indices, solution.weights)
    # a squared distance is never negative
    bound = min(max(solution.bound or 0.0, 0.0), value) if target.whole else None
    result = replace(
        solution,
        indices=rows[order],
        weights=solution.weights[order],
        value=value,
        bound=bound,
        history=solution.history + (value - solution.value),
        space=Atoms(sample.size),
        value_se=error,
        note="; ".join(filter(None, [*notes, solution.note])),
        words=Words("points", sample.size, "MMD²"),
        total=sample.total,
    )
    return in_own_units(result, unit)


def in_own_units(result: Result, unit: int) -> Result:
    """Bring values into the units of X, times 2^unit; what has no bound is not proven."""
    value, note, bound = times_power_of_two(result.value, unit), result.note, result.bound
    if (result.value > 0) != (0 < value < math.inf):
        lost = (
            f"the value is {result.value:g} times 2^{unit} in the units of X, beyond what float64"
            " holds"
        )
        note, bound = "; ".join(filter(None, [note, lost])), None  # a bound would tell nothing
    with np.errstate(over="ignore"):
        history = np.ldexp(result.history, unit)
    unproven = result.status is Status.OPTIMAL and bound is None
    return replace(
        result,
        value=value,
        value_se=times_power_of_two(result.value_se, unit),
        bound=None if bound is None else times_power_of_two(bound, unit),
        status=Status.FINISHED if unproven else result.status,
        history=history,
        note=note,
    )
