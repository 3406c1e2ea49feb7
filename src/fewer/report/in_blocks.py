"""A job on data in blocks as the problem of a path: several k from one set of passes."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..options import IN_BLOCKS, refused
from ..result import Result
from ..tables.source import executed, execution
from .kept import Table, kept_table
from .path import ANY_COST, Baselines, Split
from .views import View

NOTE = "read in blocks: baselines, held-out errors and pictures need the rows in memory"


@dataclass(frozen=True, eq=False)
class BlocksProblem:
    """A function of a job on data in blocks, with its options; `most` is the largest k that is asked for."""

    function: Callable[..., Result]
    X: Any
    most: Any
    search: dict[str, Any]
    options: dict[str, Any]
    passes: dict[str, Any] = field(default_factory=dict)
    shares = frozenset({"weight", "in covered rows"})
    note_of_path = NOTE

    @classmethod
    def of(
        cls,
        function: Callable[..., Result],
        X: Any,
        most: Any,
        search: dict[str, Any],
        options: dict[str, Any],
    ) -> "BlocksProblem":
        """The problem; options of paths that need all rows are refused."""
        options = dict(options)
        test, n_criticisms = options.pop("test", "auto"), options.pop("n_criticisms", 0)
        if test is not None and test != "auto":
            raise refused("test", IN_BLOCKS)
        if n_criticisms:
            raise refused("n_criticisms", IN_BLOCKS)
        return cls(function, X, most, search, options)

    @property
    def job(self) -> str:
        """The name of the job."""
        return self.function.__name__

    def answer(self, k: Any) -> Result:
        """The answer for k, from the passes that the first call makes."""
        with executed(replace(execution(), passes=self.passes)):
            most = {"k" if self.options.get("costs") is None else "budget": k}
            return self.function(self.X, **most, **self.options, **self.search)

    @cached_property
    def first(self) -> Result:
        """The answer for the largest k."""
        return self.answer(self.most)

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
        return self.first.words.total or ANY_COST

    @property
    def baselines(self) -> Baselines:
        """None: they need the rows."""
        return {}

    def solve(self, k: Any, **search: Any) -> Result:
        """The answer; how it is searched for was decided with the problem."""
        return self.first if k == self.most else self.answer(k)

    def error(self, result: Result) -> float:
        """What was minimised."""
        return float(result.value)

    def kept(self, result: Result) -> Table:
        """What was kept, in the columns that rows in memory have too."""
        return kept_table(result)

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

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Nothing is held out."""
        return None
