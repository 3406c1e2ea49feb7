"""Studies of dims: the share of rows not covered, beside the most frequent and random columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, Vector
from ..jobs.dims.dims import DimsProblem, StateRows, summarise
from ..jobs.dims.options import DimsOptions
from ..result import Result
from ..threads import own_threads
from .drawings import shares
from .html import Html
from .study import UNBOUNDED, Baselines, Split, Study, Table, taken

RANDOM_DRAWS = 20
"""Random rankings over which the error of random selection is averaged."""
NOT_COVERED = "share of rows not covered"


@dataclass(frozen=True, eq=False)
class DimsStudy(Study):
    """k columns, or columns within a budget, that cover the most rows of a problem."""

    problem: DimsProblem
    options: DimsOptions
    job = "dims"
    metric = NOT_COVERED
    shares = frozenset(
        {NOT_COVERED, "rows covered", "upper bound on coverage", "in rows", "in covered rows"}
    )

    @classmethod
    def of(cls, X: Any, *, names: Sequence[Any] | None = None, **options: Any) -> "DimsStudy":
        """Make the study of `dims` with these options."""
        own = DimsOptions.of(options)
        if own.budget is not None:
            raise InvalidInput("budget of a path is each of its ks: give ks", "budget")
        summary = summarise(X, None, own)
        if names is not None:
            summary = replace(summary, names=list(names))
        return cls(DimsProblem.of(summary, own), own)

    @property
    def unit(self) -> str:
        """The unit that k counts: columns, units of them, or cost."""
        if self.problem.costs is not None:
            return "of cost"
        return self.problem.units.words

    @property
    def size(self) -> int:
        """The number of columns or units that may be held; unbounded where they cost."""
        if self.problem.costs is not None:
            return UNBOUNDED
        return len(self.allowed)

    @property
    def scope(self) -> str:
        """What there is to choose from, in words."""
        units, rows = self.problem.units, len(self.problem.summary.weights)
        whole = "" if units.labels is None else f" in whole units ({len(units)} in all)"
        return f"of {len(units.columns(self.allowed))} columns{whole} for {rows} rows"

    @cached_property
    def names(self) -> list[Any]:
        """The names of all columns, or their numbers."""
        names = self.problem.summary.names
        return list(range(self.problem.rows.n)) if names is None else list(names)

    @cached_property
    def number(self) -> Indices:
        """The unit of each column, (n,)."""
        return self.problem.units.number

    @cached_property
    def allowed(self) -> Indices:
        """The units that may be held."""
        return np.setdiff1d(self.number, self.problem.exclude)

    @property
    def rows(self) -> StateRows:
        """The rows, recoded so that the baseline is zero."""
        return self.problem.rows

    def solve(self, k: int, *, time_limit: float | None = None, **search: Any) -> Result:
        """Run the job on rows that were coded once."""
        options = DimsOptions.of(
            {"objective": self.options.objective, "time_limit": time_limit, **search}
        )
        with own_threads():
            return self.problem.solve(k, options)

    def covered(self, result: Result) -> float:
        """Return the share of rows that the kept columns cover."""
        return self.problem.covered(result)

    def error(self, result: Result) -> float:
        """Return the share of rows not covered."""
        return 1.0 - self.covered(result)

    def facts(self, result: Result) -> dict[str, float]:
        """Return the coverage, the bound on it, the cost and the value."""
        facts = {"rows covered": self.covered(result)}
        kl = self.options.objective == "kl"
        if kl and result.bound is not None:
            facts["upper bound on coverage"] = min(math.exp(-result.bound), 1.0)
        if self.problem.costs is not None:
            held = np.unique(self.number[result.indices])
            facts["cost"] = float(self.problem.costs[held].sum())
        return {**facts, f"value ({'KL' if kl else 'squared l2'})": result.value}

    def kept(self, result: Result) -> Table:
        """Return the columns, the most used first, with the shares of rows that each occurs in."""
        inside = self.rows.inside(result.indices)
        within = used(self.rows.table, self.rows.weights * inside)[result.indices]
        within = within / max(math.fsum(self.rows.weights[inside]), 1e-300)
        columns = result.indices[np.argsort(-within, kind="stable")]
        table: Table = {"column": taken(self.names, columns)}
        labels = self.problem.units.labels
        if labels is not None:
            table["unit"] = taken(labels, self.number[columns])
        if self.problem.costs is not None:
            name = "cost" if labels is None else "cost of the unit"
            table[name] = taken(self.problem.costs, self.number[columns])
        table["index"] = columns.tolist()
        if self.rows.origin.any() or self.problem.summary.levels:
            origin = self.rows.origin
            table["baseline"] = [
                self.problem.summary.label(i, int(origin[i])) for i in table["index"]
            ]
        table["in rows"] = taken(used(self.rows.table, self.rows.weights), columns)
        return table | {"in covered rows": sorted(within.tolist(), reverse=True)}

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the share of rows covered, and how often each kept column occurs in these."""
        kept = self.kept(result)
        words = "the share of covered rows in which each column occurs"
        return shares(self.covered(result), kept["column"], kept["in covered rows"], words)

    @cached_property
    def rankings(self) -> dict[str, list[Indices]]:
        """The units ranked by frequency, and random rankings of them."""
        rng = np.random.default_rng(0)
        frequency = used(self.unit_table, self.rows.weights)[self.allowed]
        return {
            "frequency ranking": [self.allowed[np.argsort(-frequency, kind="stable")]],
            "random selection": [rng.permutation(self.allowed) for _ in range(RANDOM_DRAWS)],
        }

    @cached_property
    def unit_table(self) -> Any:
        """The rows with a column for each unit, which says whether any of its columns is used."""
        table = self.rows.table
        entries = np.ones(table.nnz), self.number[table.indices], table.indptr.copy()
        units = sp.csr_array(entries, shape=(table.shape[0], int(self.number.max()) + 1))
        units.sum_duplicates()
        return units

    @property
    def baselines(self) -> Baselines:
        """The error of each baseline."""
        return self.baselines_on(self)

    def baselines_on(self, other: "DimsStudy") -> Baselines:
        """Return the share of rows of another study not covered by rankings of these columns."""

        def error(needs: list[Vector], k: int) -> float:
            weights = other.rows.weights
            return float(np.mean([weights[need > k].sum() for need in needs]))

        needs = {
            name: [other.need(order) for order in orders] for name, orders in self.rankings.items()
        }
        return {name: partial(error, each) for name, each in needs.items()}

    def need(self, ranking: Indices) -> Vector:
        """Return how many units of a ranking each row needs to be covered, or what these cost."""
        first = np.isin(ranking, self.problem.include)
        order = np.concatenate([ranking[first], ranking[~first]])
        costs = np.ones(len(order)) if self.problem.costs is None else self.problem.costs[order]
        table = self.unit_table
        rank = np.full(table.shape[1], np.inf)
        rank[order] = np.cumsum(costs)
        ranks = sp.csr_array((rank[table.indices], table.indices, table.indptr), table.shape)
        return np.asarray(ranks.max(axis=1).toarray().ravel())

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Hold out some rows; the error there is the share of them not covered."""
        N = len(self.problem.summary.weights)
        order = rng.permutation(N)
        held = max(round(share * N), 1)
        if held >= N:
            return None
        out = np.zeros(N, bool)
        out[order[:held]] = True
        train = self.part(~out, self.options)
        test = self.part(out, self.options.replace(baseline=train.rows.origin))
        return Split(train, test.error, train.baselines_on(test))

    def part(self, rows: npt.NDArray[np.bool_], options: DimsOptions) -> "DimsStudy":
        """Return the study of some of the rows."""
        return replace(self, problem=DimsProblem.of(self.problem.summary.part(rows), options))


def used(table: Any, weights: Vector) -> Vector:
    """Return the weight of the rows in which each column is not at its baseline, (n,)."""
    owners = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    unit = (
        float(weights.max(initial=0.0)) or 1.0
    )  # so that equal weights are counted without rounding
    counts = np.bincount(table.indices, weights[owners] / unit, table.shape[1])
    return np.asarray(counts * unit, np.float64)
