"""A study: a job on one data set, what its answers keep and lose, baselines, and held-out parts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._result_display import proves
from .._result_frame import columns_of, ours
from .._validation import InvalidInput, as_number
from ..options import IN_BLOCKS, refused
from ..result import Result
from ..tables.frames import take_rows
from ..tables.source import executed, execution
from .html import Html

Table = dict[str, list[Any]]
"""A table by columns: name -> values."""
Baselines = Mapping[str, Callable[[int], float]]
"""The error of each baseline, for any k."""
UNBOUNDED = 10**18
"""The number of units of studies that do not limit k: no budget is above this."""
BLOCKS_NOTE = "read in blocks: baselines, held-out errors and pictures need the rows in memory"


def as_share(x: Any) -> float:
    """Return a share of the rows to hold out, between 0 and 1."""
    share = as_number(x, "test")
    if share >= 1.0:
        raise InvalidInput(f"test must be a share below 1, got {share:g}", "test")
    return share


class Split(NamedTuple):
    """The study of most of the data, and errors on the rest: of its answers and of its baselines."""

    study: "Study"
    error: Callable[[Result], float]
    baselines: Baselines


class Study(ABC):
    """A job on one data set; errors are such that less is better.

    `shares` are the names of columns and facts that are shares of one, `note` is said of the whole
    path.
    """

    shares: frozenset[str] = frozenset()
    note: str = ""

    @property
    @abstractmethod
    def job(self) -> str:
        """The name of the job."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """The unit that k counts, in the plural."""

    @property
    @abstractmethod
    def metric(self) -> str:
        """The metric that `error` is, in a few words."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of units to choose from."""

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

    @abstractmethod
    def error(self, result: Result) -> float:
        """Return the error of an answer on the data."""

    def facts(self, result: Result) -> dict[str, float]:
        """Return the error and further measures of an answer by name."""
        return {self.metric: self.error(result)}

    def lost(self, result: Result) -> dict[str, float]:
        """Return the facts, and the gap to the bound where one is proven."""
        facts = self.facts(result)
        if result.gap is not None and proves(result):
            facts["gap"] = float(result.gap)
        return facts

    def kept(self, result: Result) -> Table:
        """Return the units that were kept as a table."""
        return kept_table(result)

    def tables(self, result: Result) -> dict[str, Table]:
        """Return further tables that were asked for, by name."""
        return {}

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the answer; `captions` name what was kept. None where there is nothing to see."""
        return None

    def pixels(self, table: Table, count: int) -> Any:
        """Return the last `count` columns of a table of rows as numbers."""
        return np.array([table[name] for name in list(table)[-count:]], np.float64).T

    @property
    def baselines(self) -> Baselines:
        """The error of each baseline on the data."""
        return {}

    @property
    def random_splits(self) -> bool:
        """Whether other random numbers give another split."""
        return True

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Hold out a share of the data; None where that has no meaning."""
        return None


def kept_table(result: Result, names: Sequence[Any] | None = None) -> Table:
    """Return points, terms and dims with the heaviest first, and bins in their order.

    `names` are those of the columns of the data where the result has none.
    """
    columns = ours(result)
    order = np.arange(len(result.indices))
    if result.words.unit == "points":
        order = heaviest_first(result.weights)
        columns = {name: columns[name] for name in ("index", "weight")} | row_columns(result, names)
    elif result.words.unit == "columns":
        sizes, heading = result.weights, "weight"
        if sizes is None:
            sizes, heading = column_shares(result), "in covered rows"
        order = heaviest_first(sizes)
        columns = {"column": column_names(result, names), "index": result.indices, heading: sizes}
    return {name: taken(values, order) for name, values in columns.items()}


def heaviest_first(sizes: Any) -> Any:
    """Return the order by size, of equal ones the lowest index first."""
    return np.argsort(-np.asarray(sizes), kind="stable")


def taken(values: Any, order: Any) -> list[Any]:
    """Return the values in an order, as a list of Python's own numbers."""
    if isinstance(values, list):
        return [values[i] for i in order]
    return list(np.asarray(values)[order].tolist())


def row_columns(result: Result, names: Sequence[Any] | None) -> dict[str, list[Any]]:
    """Return the columns of kept rows; `names` are those of an array's columns."""
    if result.rows is None:
        return {}
    columns = columns_of(result.rows)
    if names is None or len(names) != len(columns):
        return columns
    return dict(zip(map(str, names), columns.values(), strict=True))


def column_names(result: Result, names: Sequence[Any] | None) -> list[Any]:
    """Return the names of kept columns: those of the study, the result's own, or numbers."""
    if names is not None:
        return [names[i] for i in result.indices.tolist()]
    return list(result.indices.tolist() if result.labels is None else result.labels)


def column_shares(result: Result) -> Any:
    """Return the share of covered rows in which each kept column occurs, (k,)."""
    states = result.distribution
    occurs = states.codes != states.origin[states.dims]
    shares = np.zeros(max(states.dims.max(initial=0), result.indices.max(initial=0)) + 1)
    shares[states.dims] = states.weights @ occurs
    return shares[result.indices]


def table_of_rows(X: Any, rows: Sequence[int], names: Sequence[Any] | None) -> Table:
    """Return some rows of X as columns; `names` are those of an array's columns."""
    columns = columns_of(take_rows(X, np.asarray(rows, np.int64)))
    if names is None or len(names) != len(columns):
        return columns
    return dict(zip(map(str, names), columns.values(), strict=True))


@dataclass(frozen=True, eq=False)
class BlocksStudy(Study):
    """A job on data in blocks; `most` is the largest k, and passes are made once for all k."""

    function: Callable[..., Result]
    X: Any
    most: Any
    options: dict[str, Any]
    passes: dict[str, Any] = field(default_factory=dict)
    shares = frozenset({"weight", "in covered rows"})
    note = BLOCKS_NOTE

    @classmethod
    def of(
        cls, function: Callable[..., Result], X: Any, most: Any, options: dict[str, Any]
    ) -> "BlocksStudy":
        """Make a study; options of paths that need all rows are refused."""
        options = dict(options)
        for name, default in (("test", "auto"), ("n_criticisms", 0)):
            if options.pop(name, default) not in (None, default):
                raise refused(name, IN_BLOCKS)
        return cls(function, X, most, options)

    @property
    def job(self) -> str:
        """The name of the job."""
        return self.function.__name__

    @cached_property
    def first(self) -> Result:
        """The answer for the largest k, which decides what the passes collect."""
        return self._solved(self.most)

    @property
    def unit(self) -> str:
        """The unit that k counts."""
        return self.first.words.unit

    @property
    def metric(self) -> str:
        """The loss."""
        return self.first.words.loss

    @property
    def size(self) -> int:
        """The number of units to choose from, where that is known."""
        return self.first.words.total or UNBOUNDED

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

    def error(self, result: Result) -> float:
        """Return the value that was minimised."""
        return float(result.value)

    def facts(self, result: Result) -> dict[str, float]:
        """Return the value and its standard error."""
        facts = {self.metric: float(result.value)}
        return facts | ({"standard error": float(result.value_se)} if result.value_se else {})

    def _solved(self, k: Any) -> Result:
        limit = {"k" if self.options.get("costs") is None else "budget": k}
        with executed(replace(execution(), passes=self.passes)):
            return self.function(self.X, **limit, **self.options)
