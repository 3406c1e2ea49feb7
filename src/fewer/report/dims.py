"""dims as a study: the share of rows not covered, against the most frequent and random columns."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, Vector
from ..jobs.coding import Coding
from ..jobs.column_units import ColumnUnits
from ..jobs.dims import cover, coverage
from ..jobs.dims_options import DimsOptions
from ..jobs.rows import Rows
from ..result import Result
from .path import Judge, Table
from .views import Shares

ANY_COST = 10**18
"""No budget is above this."""
RANDOM_DRAWS = 20
"""Random rankings over which the error of random selection is averaged."""


@dataclass(frozen=True, eq=False)
class DimsProblem:
    """Which k columns of X (N, n) cover the most rows; X dense or sparse, `names` (n,).

    `levels` are the labels of columns whose codes stand for some; `note` is said of every answer. `units` are columns
    that are kept whole, and `costs` (U,) what they cost: k is a budget then. `places` (n,) are the columns' numbers in
    the user's table, where X has only some of them.
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
    places: Sequence[int] | None = None
    job = "dims"
    usual_seconds = None
    metric = "share of rows not covered"
    shares = frozenset({metric, "rows covered", "upper bound on coverage", "in rows", "in covered rows"})

    @property
    def unit(self) -> str:
        """What is counted, or what costs are counted in."""
        return "of cost" if self.costs is not None else "columns" if self.units is None else "units"

    @property
    def size(self) -> int:
        """The number of columns or units that may be held; of costs any."""
        if self.costs is not None:
            return ANY_COST
        return len(self.names) - len(self.exclude) if self.units is None else len(self.units) - len(self.never)

    @property
    def never(self) -> Indices:
        """The units that may not be held."""
        excluded = np.asarray(self.exclude, np.int64)
        return excluded if self.units is None else self.units.of_columns(excluded)

    @property
    def coding(self) -> Coding:
        """What the job is asked."""
        told = {"include": self.include, "exclude": self.exclude, "units": self.units, "costs": self.costs}
        return Coding(self.X, list(self.names), self.levels, self.baseline, note=self.note, **told)

    @cached_property
    def whole(self) -> Rows:
        """The rows with a column for each unit."""
        return self.rows if self.units is None else self.units.rows(self.rows, "kl")

    @cached_property
    def rows(self) -> Rows:
        """The rows, recoded so that the baseline is zero."""
        return Rows.of(self.X, None, self.baseline)

    def solve(self, k: int, *, time_limit: float | None = None, **search: Any) -> Result:
        """Run the job."""
        given = {"objective": self.objective, "time_limit": time_limit, **search}
        return cover(self.coding, k, DimsOptions.of(given))

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
        more: Table = {} if self.units is None else {"unit": [self.units.labels[number[i]] for i in columns]}
        if self.costs is not None:
            more["cost" if self.units is None else "cost of the unit"] = self.costs[number[columns]].tolist()
        return {
            "column": [self.names[i] for i in columns],
            **more,
            "index": columns if self.places is None else [self.places[i] for i in columns],
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
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """Columns ranked by frequency, and random columns (mean of 20 draws)."""
        frequency = used(self.whole.table, self.rows.weights)
        allowed = np.setdiff1d(np.arange(self.whole.n), self.never)
        rng = np.random.default_rng(0)
        rankings = {
            "frequency ranking": [allowed[np.argsort(-frequency[allowed], kind="stable")]],
            "random selection": [rng.permutation(allowed) for _ in range(RANDOM_DRAWS)],
        }
        return {name: self._left_over([self._need(r) for r in orders]) for name, orders in rankings.items()}

    def _need(self, ranking: Any) -> Any:
        """How many columns or units of a ranking each row needs to be covered, or what these cost."""
        include = np.asarray(self.include, np.int64)
        held = np.isin(ranking, include if self.units is None else self.units.of_columns(include))
        order = np.concatenate([ranking[held], ranking[~held]])
        rank = np.full(self.whole.n, np.inf)
        rank[order] = np.arange(1.0, len(order) + 1) if self.costs is None else np.cumsum(self.costs[order])
        rows = self.whole.table
        table = sp.csr_array((rank[rows.indices] + 1.0, rows.indices, rows.indptr), shape=rows.shape)  # none is zero
        return table.max(axis=1).toarray().ravel() - 1.0 if table.nnz else np.full(rows.shape[0], -1.0)

    def _left_over(self, needs: list[Any]) -> Callable[[int], float]:
        weights = self.rows.weights
        return lambda k: float(np.mean([weights[need > k].sum() for need in needs]))

    def split(self, share: float, rng: np.random.Generator) -> tuple["DimsProblem", Judge] | None:
        """Some rows are held out; the error there is the share of them not covered."""
        N = self.X.shape[0]
        order = rng.permutation(N)
        held = max(round(share * N), 1)
        if held >= N:
            return None
        test, train = self.X[np.sort(order[:held])], self.X[np.sort(order[held:])]

        def judge(result: Result) -> float:
            return 1.0 - coverage(test, result.indices, baseline=result.distribution.origin)

        return replace(self, X=train), judge


def used(table: Any, weights: Vector) -> Vector:
    """The weight of the rows in which each column is not at its baseline, (n,)."""
    owners = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    unit = float(weights.max(initial=0.0)) or 1.0  # so that equal weights are counted without rounding
    return np.asarray(np.bincount(table.indices, weights[owners] / unit, table.shape[1]) * unit, np.float64)
