"""A job on data in blocks as a problem of a study: several k from one set of passes, and what these leave to tell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..result import Result
from .path import Judge, Problem, Table
from .views import View

NOTE = "read in blocks: baselines, held-out errors and pictures need the rows in memory"


@dataclass(eq=False)
class BlocksProblem:
    """A job by its answers: `answer(k)` goes by what the passes left; `known` are answers that are there."""

    job: str
    first: Result
    answer: Callable[[int], Result]
    kept: Callable[[Result], Table]
    known: dict[int, Result] = field(default_factory=dict)
    shares: frozenset[str] = frozenset()
    usual_seconds: float | None = None

    @property
    def unit(self) -> str:
        """What is kept."""
        return self.first.words.unit

    @property
    def metric(self) -> str:
        """What was minimised."""
        return self.first.words.loss

    @property
    def size(self) -> int:
        """How many there are to choose from, where that is known."""
        return self.first.words.total or 2**53

    @property
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """None: they need the rows."""
        return {}

    def solve(self, k: int, **search: Any) -> Result:
        """The answer; how it is searched for was decided with `answer`."""
        if k not in self.known:
            self.known[k] = self.answer(k)
        return self.known[k]

    def error(self, result: Result) -> float:
        """What was minimised."""
        return float(result.value)

    def lost(self, result: Result) -> dict[str, float]:
        """The value, its standard error, and the gap to the bound."""
        found = {self.metric: float(result.value)}
        if result.value_se:
            found["standard error"] = float(result.value_se)
        if result.gap is not None:
            found["gap"] = float(result.gap)
        return found

    def view(self, result: Result) -> View | None:
        """Nothing: pictures need the rows."""
        return None

    def split(self, share: float, rng: np.random.Generator) -> tuple[Problem, Judge] | None:
        """Nothing is held out."""
        return None
