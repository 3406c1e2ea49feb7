"""A path of dims: the share of rows not covered, against the most frequent and random columns."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, Vector
from ..jobs.dims.coding import Coding
from ..jobs.dims.column_units import ColumnUnits
from ..jobs.dims.dims import cover
from ..jobs.dims.options import DimsOptions
from ..jobs.dims.rows import Rows
from ..result import Result
from ..threads import own_threads
from .kept import Table
from .path import ANY_COST, Baselines, Split
from .views import Shares

RANDOM_DRAWS = 20
"""Random rankings over which the error of random selection is averaged."""


@dataclass(frozen=True, eq=False)
class DimsProblem:
    """Which k columns of X (N, n) cover the most rows; X dense or sparse, `names` (n,).

    `levels` are the labels of columns whose codes stand for some; `note` is said of every answer.
    `units` are columns that are kept whole, and `costs` (U,) what they cost: k is a budget then.
    """

    X: Any
    names: Sequence[Any]
    objective: str = "kl"
    baseline: Any = "zero"
    units: ColumnUnits | None = None
    costs: Vector | None = None
    include: Any = ()
    exclude: Any = ()
    levels: Any = None
    note: str = ""
    sample_weight: Any = None
    job = "dims"
    metric = "share of rows not covered"
    shares = frozenset(
        {metric, "rows covered", "upper bound on coverage", "in rows", "in covered rows"}
    )

    @classmethod
    def of(cls, X: Any, *, names: Sequence[Any] | None = None, **options: Any) -> "DimsProblem":
        """The problem of `dims` with these options of it."""
        own = DimsOptions.of(options)
        if own.budget is not None:
            raise InvalidInput("budget of a path is each of its ks: give ks")
        found = Coding.of(X, own, None if names is None else list(names))
        called = list(range(found.n)) if found.names is None else found.names
        chosen = {
            name: getattr(found, name)
            for name in ("include", "exclude", "levels", "note", "sample_weight")
        }
        return cls(
            found.X, called, own.objective, found.baseline, found.units, found.costs, **chosen
        )

    @property
    def unit(self) -> str:
        """What is counted, or what costs are counted in."""
        return "of cost" if self.costs is not None else "columns" if self.units is None else "units"

    @property
    def size(self) -> int:
        """The number of columns or units that may be held; of costs any."""
        if self.costs is not None:
            return ANY_COST
        return (
            len(self.names) - len(self.exclude)
            if self.units is None
            else len(self.units) - len(self.never)
        )

    @property
    def never(self) -> Indices:
        """The units that may not be held."""
        excluded = np.asarray(self.exclude, np.int64)
        return excluded if self.units is None else self.units.of_columns(excluded)

    @property
    def coding(self) -> Coding:
        """What the job is asked."""
        told = {
            name: getattr(self, name)
            for name in ("include", "exclude", "sample_weight", "note", "units", "costs")
        }
        return Coding(self.X, list(self.names), self.levels, self.baseline, **told)

    @cached_property
    def whole(self) -> Rows:
        """The rows with a column for each unit."""
        return self.rows if self.units is None else self.units.rows(self.rows, "kl")

    @cached_property
    def rows(self) -> Rows:
        """The rows, recoded so that the baseline is zero."""
        return Rows.of(self.X, self.sample_weight, self.baseline)

    def solve(self, k: int, *, time_limit: float | None = None, **search: Any) -> Result:
        """Run the job."""
        given = {"objective": self.objective, "time_limit": time_limit, **search}
        with own_threads():
            return cover(self.coding, k, DimsOptions.of(given), self.rows)

    def covered(self, result: Result) -> float:
        """The share of rows that the kept columns cover."""
        return float(self.rows.weights[self.rows.inside(result.indices)].sum())

    def error(self, result: Result) -> float:
        """The share of rows not covered."""
        return 1.0 - self.covered(result)

    def kept(self, result: Result) -> Table:
        """The columns, most used first: the share of all rows, and of the covered ones, in which each occurs."""
        inside = self.rows.inside(result.indices)
        everywhere = used(self.rows.table, self.rows.weights)[result.indices]
        within = used(self.rows.table, self.rows.weights * inside)[result.indices]
        within = within / max(math.fsum(self.rows.weights[inside]), 1e-300)
        order = np.argsort(-within, kind="stable")
        columns = result.indices[order].tolist()
        absent = {"baseline": [self.coding.label(i, self.rows.origin[i]) for i in columns]}
        number = np.arange(len(self.names)) if self.units is None else self.units.number
        more: Table = (
            {} if self.units is None else {"unit": [self.units.labels[number[i]] for i in columns]}
        )
        if self.costs is not None:
            more["cost" if self.units is None else "cost of the unit"] = self.costs[
                number[columns]
            ].tolist()
        return {
            "column": [self.names[i] for i in columns],
            **more,
            "index": columns,
            **(absent if self.rows.origin.any() or self.levels is not None else {}),
            "in rows": everywhere[order].tolist(),
            "in covered rows": within[order].tolist(),
        }

    def view(self, result: Result) -> Shares:
        """The share of rows covered, and how often each kept column occurs in these."""
        kept = self.kept(result)
        return Shares(
            self.covered(result),
            kept["column"],
            kept["in covered rows"],
            "the share of covered rows in which each column occurs",
        )

    def lost(self, result: Result) -> dict[str, float]:
        """Coverage and what is proven about it, the value and its gap."""
        facts = {"rows covered": self.covered(result)}
        if self.objective == "kl" and result.bound is not None:
            facts["upper bound on coverage"] = min(math.exp(-result.bound), 1.0)
        if self.costs is not None:
            facts["cost"] = self.spent(result)
        facts["value (KL)" if self.objective == "kl" else "value (squared l2)"] = result.value
        return facts if result.gap is None else {**facts, "gap": result.gap}

    def spent(self, result: Result) -> float:
        """What the kept columns cost."""
        assert self.costs is not None  # noqa: S101 - asked where there are costs
        chosen = result.indices if self.units is None else self.units.of_columns(result.indices)
        return float(self.costs[chosen].sum())

    @cached_property
    def rankings(self) -> dict[str, list[Any]]:
        """Columns ranked by frequency, and random columns (20 draws)."""
        frequency = used(self.whole.table, self.rows.weights)
        allowed = np.setdiff1d(np.arange(self.whole.n), self.never)
        rng = np.random.default_rng(0)
        return {
            "frequency ranking": [allowed[np.argsort(-frequency[allowed], kind="stable")]],
            "random selection": [rng.permutation(allowed) for _ in range(RANDOM_DRAWS)],
        }

    def errors_of(self, rankings: dict[str, list[Any]]) -> Baselines:
        """The mean share of rows not covered, by rankings of columns."""
        return {
            name: self._left_over([self._need(order) for order in orders])
            for name, orders in rankings.items()
        }

    @cached_property
    def baselines(self) -> Baselines:
        """The error of each baseline."""
        return self.errors_of(self.rankings)

    def _need(self, ranking: Any) -> Any:
        """How many columns or units of a ranking each row needs to be covered, or what these cost."""
        include = np.asarray(self.include, np.int64)
        held = np.isin(ranking, include if self.units is None else self.units.of_columns(include))
        order = np.concatenate([ranking[held], ranking[~held]])
        rank = np.full(self.whole.n, np.inf)
        rank[order] = (
            np.arange(1.0, len(order) + 1) if self.costs is None else np.cumsum(self.costs[order])
        )
        rows = self.whole.table
        table = sp.csr_array(
            (rank[rows.indices] + 1.0, rows.indices, rows.indptr), shape=rows.shape
        )  # none is zero
        return (
            table.max(axis=1).toarray().ravel() - 1.0 if table.nnz else np.full(rows.shape[0], -1.0)
        )

    def _left_over(self, needs: list[Any]) -> Callable[[int], float]:
        weights = self.rows.weights
        return lambda k: float(np.mean([weights[need > k].sum() for need in needs]))

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Some rows are held out; the error there is the share of them not covered."""
        N = self.X.shape[0]
        order = rng.permutation(N)
        held = max(round(share * N), 1)
        if held >= N:
            return None
        train, test = self.part(np.sort(order[held:])), self.part(np.sort(order[:held]))
        test = replace(test, baseline=train.rows.origin)
        return Split(train, test.error, lambda: test.errors_of(train.rankings))

    def part(self, rows: Indices) -> "DimsProblem":
        """The problem on some of the rows."""
        weights = None if self.sample_weight is None else np.asarray(self.sample_weight)[rows]
        return replace(self, X=self.X[rows], sample_weight=weights)


def used(table: Any, weights: Vector) -> Vector:
    """The weight of the rows in which each column is not at its baseline, (n,)."""
    owners = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    unit = (
        float(weights.max(initial=0.0)) or 1.0
    )  # so that equal weights are counted without rounding
    return np.asarray(
        np.bincount(table.indices, weights[owners] / unit, table.shape[1]) * unit, np.float64
    )
