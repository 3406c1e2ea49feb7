"""A study: a job on one data set, what its answers keep and lose, baselines, and held-out parts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from .._validation import Indices, InvalidInput, as_number
from ..options import IN_BLOCKS, refused
from ..result import IN_ORDER, Result, column_shares, columns_of, ours, proves
from ..tables.source import executed, execution
from .charts import Html

Table = dict[str, list[Any]]
"""A table by columns: name -> values."""
Baselines = Mapping[str, Callable[[int], float]]
"""The error of each baseline, for any k."""
Halves = tuple[Any, Any] | None
"""Studies of most of the data and of the rest, None where nothing is held out."""
UNBOUNDED = 10**18
"""The number of units of studies that do not limit k: no budget is above this."""
TEST_SHARE = 0.3
"""The share of the data that is held out."""


def as_share(x: Any) -> float:
    """Return a share of the rows to hold out, between 0 and 1."""
    share = as_number(x, "test")
    if share >= 1.0:
        raise InvalidInput(f"test must be a share below 1, got {share:g}", "test")
    return share


class Study(ABC):
    """A job on one data set; errors are such that less is better.

    `unit` is what k counts, in the plural, `size` how many there are, `metric` what errors are.
    `shares` are the names of columns and facts that are shares of one, `note` is said of the whole
    path. `random_splits` tells whether other random numbers give another split.
    """

    job: str
    unit: str
    metric: str
    size: int
    shares: frozenset[str] = frozenset()
    note = ""
    random_splits = True

    @property
    def largest_k(self) -> int:
        """The largest k that has an answer."""
        return self.size

    @property
    def scope(self) -> str:
        """What there is to choose from, in words."""
        return self.unit if self.size == UNBOUNDED else f"of {self.size} {self.unit}"

    @abstractmethod
    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""

    def error(self, result: Result) -> float:
        """Return the error of an answer on the data."""
        return float(result.value)

    def facts(self, result: Result) -> dict[str, float]:
        """Return the error and further measures of an answer by name."""
        return {self.metric: self.error(result)}

    def lost(self, result: Result) -> dict[str, float]:
        """Return the facts, and the gap to the bound where one is proven."""
        gap = {"gap": float(result.gap or 0.0)} if proves(result) else {}
        return self.facts(result) | gap

    def kept(self, result: Result) -> Table:
        """Return the units that were kept as a table."""
        return kept_table(result)

    def tables(self, result: Result) -> dict[str, Table]:
        """Return further tables that were asked for, by name."""
        return {}

    def details(self, result: Result) -> list[tuple[str, str, Table]]:
        """Return further tables of the page: a heading, a sentence, the table."""
        return []

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the answer; `captions` name what was kept."""
        return None

    def baselines(self, test: Self) -> Baselines:
        """Return the errors on some data of baselines that are fitted to these."""
        return {}

    def split(self, share: float, rng: np.random.Generator) -> Halves:
        """Return studies of most of the data and of a share that is held out."""
        return None


def halves(rows: Indices, held: int, rng: np.random.Generator) -> Halves:
    """Return the rows but so many that are drawn, and those; None where none would be left."""
    order = rng.permutation(rows)
    return (np.sort(order[held:]), np.sort(order[:held])) if held < len(rows) else None


def kept_table(result: Result, names: Sequence[Any] | None = None) -> Table:
    """Return points, terms and dims with the heaviest first, and bins in their order.

    `names` are those of the columns of the data where the result has none.
    """
    columns, sizes = ours(result), result.weights
    if result.words.unit == "points":
        columns = {"index": result.indices, "weight": sizes, **row_columns(result.rows, names)}
    elif result.words.unit == "columns":
        heading, labels = "weight", result.labels
        if sizes is None:
            heading, sizes = "in covered rows", column_shares(result)
        if names is not None:
            labels = [names[i] for i in result.indices]
        labels = result.indices if labels is None else labels
        columns = {"column": labels, "index": result.indices, heading: sizes}
    if result.words.unit in IN_ORDER or sizes is None:
        return taken(columns, range(len(result.indices)))
    return taken(columns, np.argsort(-sizes, kind="stable"))


def taken(table: Mapping[str, Any], order: Any) -> Table:
    """Return some rows of a table, in Python's own numbers."""
    lists = {
        name: values.tolist() if isinstance(values, np.ndarray) else list(values)
        for name, values in table.items()
    }
    return {name: [values[i] for i in order] for name, values in lists.items()}


def row_columns(rows: Any, names: Sequence[Any] | None) -> Table:
    """Return rows by columns; `names` are those of an array's columns."""
    columns = columns_of(rows)
    if names is None or len(names) != len(columns):
        return columns
    return dict(zip(map(str, names), columns.values(), strict=True))


class BlocksStudy(Study):
    """A job on data in blocks; `most` is the largest k, and passes are made once for all k."""

    shares = frozenset({"weight", "in covered rows"})
    note = "read in blocks: baselines, held-out errors and pictures need the rows in memory"

    def __init__(
        self, function: Callable[..., Result], X: Any, most: Any, options: Mapping[str, Any]
    ) -> None:
        self.function, self.X, self.most, self.options = function, X, most, dict(options)
        for name, default in (("test", "auto"), ("n_criticisms", 0)):
            if self.options.pop(name, default) not in (None, default):
                raise refused(name, IN_BLOCKS)
        self.passes: dict[str, Any] = {}
        self.first = self._solved(most)
        self.job = function.__name__
        self.unit, total, self.metric = self.first.words
        self.size = total or UNBOUNDED

    @property
    def scope(self) -> str:
        """What there is to choose from, in words."""
        if self.unit == "bars":
            return f"bars over {self.size} bins"
        scope = super().scope.replace("points", "rows")
        return f"{scope} for the rows" if self.job == "dims" else scope

    def solve(self, k: Any, **search: Any) -> Result:
        """Return the answer; how it is searched for was decided with the study."""
        return self.first if k == self.most else self._solved(k)

    def facts(self, result: Result) -> dict[str, float]:
        """Return the value and its standard error."""
        facts = super().facts(result)
        return facts | ({"standard error": float(result.value_se)} if result.value_se else {})

    def _solved(self, k: Any) -> Result:
        limit = {"k" if self.options.get("costs") is None else "budget": k}
        with executed(replace(execution(), passes=self.passes)):
            return self.function(self.X, **limit, **self.options)
