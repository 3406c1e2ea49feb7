"""Studies of terms, beside rankings by correlation and NNLS, and of dims, beside frequent columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Fix, Indices, InvalidInput, Vector, as_array, as_numbers, as_units, known
from ..constraints.groups import as_groups
from ..deadline import Deadline
from ..jobs.dims.dims import DimsProblem, summarise
from ..jobs.dims.options import DimsOptions
from ..jobs.terms.options import LOSSES, TermsOptions
from ..jobs.terms.terms import Tracked, track
from ..programmes import nonnegative_least_squares
from ..result import Result
from ..spaces import Atoms
from ..tables.prices import instant
from ..threads import own_threads
from .charts import Html, bars, join, tag, tracks
from .study import (
    TEST_SHARE,
    UNBOUNDED,
    Baselines,
    Halves,
    Study,
    Table,
    as_share,
    halves,
    kept_table,
    taken,
)

MAX_NNLS_ENTRIES = 5_000_000
"""Entries of A up to which non-negative least squares over all columns is a baseline."""
RANDOM_DRAWS = 20
"""Random rankings over which the error of random selection is averaged."""
ERROR, NOT_COVERED = "root mean squared error", "share of rows not covered"


@dataclass(frozen=True, eq=False)
class TermsStudy(Study):
    """k columns that track a target, whose `test` rows, if any, are to be held out."""

    data: Tracked
    options: TermsOptions
    test: Indices | None = None
    job = "terms"
    unit = "columns"
    metric = ERROR
    shares = frozenset({"weight", "variance explained"})

    @classmethod
    def of(
        cls, X: Any, y: Any, *, names: Sequence[Any] | None = None, test: Any = None, **options: Any
    ) -> "TermsStudy":
        """Make the study of `terms` with these options; `test` says which rows are held out."""
        own = TermsOptions.of(options)
        data = Tracked.of(X, y, own)
        if data.names is None:
            A = data.X if sp.issparse(data.X) else as_numbers(data.X, "X")
            data = replace(data, X=A, names=list(range(A.shape[1]) if names is None else names))
        data = replace(data, y=np.asarray(as_array(data.y, "y"), np.float64))
        return cls(data, own, rows_to_test(data, test))

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of columns that may be held."""
        return self.data.candidates(self.data.X.shape[1])

    @property
    def random_splits(self) -> bool:  # type: ignore[override]
        """Whether the rows that are held out are drawn."""
        return self.test is None

    def solve(self, k: int, *, time_limit: Any = None, **search: Any) -> Result:
        """Run the job on data that were read once."""
        options = self.options.replace(deadline=Deadline.after(time_limit), **search)
        with own_threads(), np.errstate(invalid="ignore", over="ignore"):
            return track(self.data, k, options)

    def error(self, result: Result) -> float:
        """Return the root mean squared error."""
        return self.error_of(result.p)

    def error_of(self, p: Vector) -> float:
        """Return the root mean squared error of weights on columns, (n,)."""
        squares = np.square(self.data.X @ p - self.data.y)
        return math.sqrt(float(np.average(squares, weights=self.data.sample_weight)))

    def facts(self, result: Result) -> dict[str, float]:
        """Return the error, the variance explained, the value and the turnover."""
        facts = {ERROR: self.error(result)}
        spread = self.data.y.var()
        left = float(np.mean(np.square(self.data.X @ result.p - self.data.y)))
        if 0.0 < spread < left:
            facts["worse than the mean of the target by a factor of"] = math.sqrt(left / spread)
        elif spread > 0.0:
            facts["variance explained"] = 1.0 - left / spread
        facts[f"value ({self.options.objective_name})"] = result.value
        if self.options.ridge:
            facts[LOSSES[self.options.loss]] = float(result.loss or 0.0)
        conditions = self.options.conditions(self.data.names, len(result.p))
        if conditions is not None and conditions.previous is not None:
            facts["turnover"] = conditions.turnover(result.p)
        return facts

    def kept(self, result: Result) -> Table:
        """Return the columns and their weights, heaviest first."""
        return kept_table(result, self.data.names)

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the target and its track row by row, and what limits say of the weights."""
        parts: list[Any] = [tracks(self.data.y, self.data.X @ result.p)]
        if self.data.groups is not None:
            codes, labels = as_groups(self.data.groups, len(result.p))
            weights = np.bincount(codes, result.p, len(labels))
            held = [g for g in np.argsort(-weights) if weights[g] > 0.0]
            names = [labels[g] for g in held]
            parts.append(bars(names, weights[held].tolist(), "Weight of each group."))
        k = max(len(result.indices), 1)
        conditions = self.options.constraint(Atoms(len(result.p)), k, self.data).rules.conditions
        if conditions is not None:
            binding = "; ".join(conditions.binding(result.p)) or "none"
            parts.append(tag("p", f"Conditions that bind: {binding}."))
        return join(parts)

    @cached_property
    def rankings(self) -> dict[str, Indices]:
        """The columns ranked by correlation and by NNLS."""
        A, b = np.asarray(self.data.X, np.float64), self.data.y
        if self.data.sample_weight is not None:
            root = np.sqrt(np.asarray(self.data.sample_weight, np.float64))
            A, b = A * root[:, None], b * root
        centred = A - A.mean(axis=0)
        spread = np.linalg.norm(centred, axis=0)
        correlation = centred.T @ (b - b.mean()) / np.where(spread > 0, spread, np.inf)
        sizes = {"correlation ranking": correlation}
        if A.size <= MAX_NNLS_ENTRIES:
            sizes["NNLS ranking"] = nonnegative_least_squares(A, b)
        return {name: np.lexsort((-correlation, -size)) for name, size in sizes.items()}

    def best_of(self, ranking: Indices, k: int) -> Vector | None:
        """Return the best weights on the first k columns of a ranking that may be held together.

        None where there are no k such columns, or no weights on them within all limits.
        """
        options = self.options.replace(solver="exchange", rng=0, deadline=Deadline.after(None))
        n = len(ranking)
        try:
            rules = options.constraint(Atoms(n), k, self.data).rules
            columns = rules.fitting(ranking, k)
            if columns.size < k or not rules.sizes[0] <= k <= rules.sizes[1]:
                return None
            few = replace(self.data, exclude=np.setdiff1d(np.arange(n), columns))
            return replace(self, data=few, options=options).solve(k).p
        except InvalidInput:
            return None

    def baselines(self, test: "TermsStudy") -> Baselines:
        """Return the error of each ranking, fitted on these rows, on others."""

        def error(ranking: Indices, k: int) -> float:
            p = self.best_of(ranking, k)
            return math.inf if p is None else test.error_of(p)

        return {name: partial(error, ranking) for name, ranking in self.rankings.items()}

    def split(self, share: float, rng: np.random.Generator) -> Halves:
        """Hold out the test rows, or a share of the rows at random."""
        rows, test = np.arange(len(self.data.y)), self.test
        parts = halves(rows, max(round(share * len(rows)), 1), rng)
        if test is not None:
            parts = np.setdiff1d(rows, test), test
        if parts is None or not parts[0].size:
            return None
        left, held = (replace(self, data=self.data.of_rows(part)) for part in parts)
        return left, held


def rows_to_test(data: Tracked, test: Any) -> Indices | None:
    """Return the rows that ("last", share), ("from", date) or row numbers hold out; else None.

    "auto" is the last share of rows that have dates.
    """
    r = len(data.y)
    if isinstance(test, str):
        known(test, {"auto": None}, "test")
        test = ("last", TEST_SHARE) if data.dates is not None else None
    if test is None or isinstance(test, float):
        return None
    if not isinstance(test, tuple):
        return as_units(test, r, "rows", "test")
    rule, limit = test
    known(rule, {"last": None, "from": None}, "test")
    if rule == "last":
        return np.arange(r - min(max(round(as_share(limit) * r), 1), r - 1), r)
    if data.dates is None:
        raise InvalidInput(
            f"test: a day needs {Fix('date')}, the column that has it", "test", [Fix("date")]
        )
    rows = np.flatnonzero(data.dates >= instant(limit, "test"))
    if not 0 < rows.size < r:
        words = "after all dates: no row is tested"
        if rows.size:
            words = "before all dates: nothing is left to fit on"
        raise InvalidInput(f"test: {limit} is {words}", "test")
    return rows


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
    def unit(self) -> str:  # type: ignore[override]
        """The unit that k counts: columns, units of them, or cost."""
        return self.problem.units.words if self.problem.costs is None else "of cost"

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of columns or units that may be held; unbounded where they cost."""
        return len(self.allowed) if self.problem.costs is None else UNBOUNDED

    @property
    def scope(self) -> str:
        """What there is to choose from, in words."""
        units, rows = self.problem.units, len(self.problem.summary.weights)
        whole = "" if units.labels is None else f" in whole units ({len(units)} in all)"
        return f"of {len(units.columns(self.allowed))} columns{whole} for {rows} rows"

    @cached_property
    def allowed(self) -> Indices:
        """The units that may be held."""
        return np.setdiff1d(self.problem.units.number, self.problem.exclude)

    def solve(self, k: int, *, time_limit: Any = None, **search: Any) -> Result:
        """Run the job on rows that were coded once."""
        how = {"objective": self.options.objective, "time_limit": time_limit, **search}
        with own_threads():
            return self.problem.solve(k, DimsOptions.of(how))

    def error(self, result: Result) -> float:
        """Return the share of rows not covered."""
        return 1.0 - self.problem.covered(result)

    def facts(self, result: Result) -> dict[str, float]:
        """Return the coverage, the bound on it, the cost and the value."""
        facts = {"rows covered": self.problem.covered(result)}
        kl, costs = self.options.objective == "kl", self.problem.costs
        if kl and result.bound is not None:
            facts["upper bound on coverage"] = min(math.exp(-result.bound), 1.0)
        if costs is not None:
            held = np.unique(self.problem.units.number[result.indices])
            facts["cost"] = float(costs[held].sum())
        return {**facts, f"value ({'KL' if kl else 'squared l2'})": result.value}

    def kept(self, result: Result) -> Table:
        """Return the columns, the most used first, with the shares of rows that each occurs in."""
        rows, summary, units = self.problem.rows, self.problem.summary, self.problem.units
        inside, columns = rows.inside(result.indices), result.indices
        numbers = units.number[columns]
        names = columns if summary.names is None else [summary.names[i] for i in columns]
        table: dict[str, Any] = {"column": names}
        if units.labels is not None:
            table["unit"] = [units.labels[i] for i in numbers]
        if self.problem.costs is not None:
            heading = "cost" if units.labels is None else "cost of the unit"
            table[heading] = self.problem.costs[numbers]
        table["index"] = columns
        if rows.origin.any() or summary.levels:
            table["baseline"] = [summary.label(i, int(rows.origin[i])) for i in columns.tolist()]
        table["in rows"] = used(rows.table, rows.weights)[columns]
        covered = used(rows.table, rows.weights * inside)[columns]
        table["in covered rows"] = covered / max(float(rows.weights[inside].sum()), 1e-300)
        return taken(table, np.argsort(-covered, kind="stable"))

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the share of rows covered, and how often each kept column occurs in these."""
        kept, covered = self.kept(result), self.problem.covered(result)
        words = "The share of covered rows in which each column occurs."
        whole = bars(["rows covered"], [covered], "", "bars covered")
        return join(whole, bars(kept["column"], kept["in covered rows"], words))

    @cached_property
    def rankings(self) -> dict[str, list[Indices]]:
        """The units ranked by frequency, and random rankings of them."""
        rng = np.random.default_rng(0)
        rows, number = self.problem.rows, self.problem.units.number
        frequency = np.bincount(number, used(rows.table, rows.weights))[self.allowed]
        return {
            "frequency ranking": [self.allowed[np.argsort(-frequency, kind="stable")]],
            "random selection": [rng.permutation(self.allowed) for _ in range(RANDOM_DRAWS)],
        }

    def baselines(self, test: "DimsStudy") -> Baselines:
        """Return the share of rows of a study not covered by rankings of these columns."""

        def error(needs: list[Vector], k: int) -> float:
            weights = test.problem.rows.weights
            return float(np.mean([weights[need > k].sum() for need in needs]))

        needs = {
            name: [test.need(order) for order in orders] for name, orders in self.rankings.items()
        }
        return {name: partial(error, each) for name, each in needs.items()}

    def need(self, ranking: Indices) -> Vector:
        """Return how many units of a ranking each row needs to be covered, or what these cost."""
        first = np.isin(ranking, self.problem.include)
        order = np.concatenate([ranking[first], ranking[~first]])
        costs = np.ones(len(order)) if self.problem.costs is None else self.problem.costs[order]
        table, number = self.problem.rows.table, self.problem.units.number
        rank = np.full(int(number.max()) + 1, np.inf)
        rank[order] = np.cumsum(costs)
        entries = rank[number[table.indices]], table.indices, table.indptr
        ranks = sp.csr_array(entries, table.shape)
        return np.asarray(ranks.max(axis=1).toarray().ravel())

    def split(self, share: float, rng: np.random.Generator) -> Halves:
        """Hold out some rows; the error there is the share of them not covered."""
        N = len(self.problem.summary.weights)
        parts = halves(np.arange(N), max(round(share * N), 1), rng)
        if parts is None:
            return None
        train = self.part(parts[0], self.options)
        return train, self.part(parts[1], self.options.replace(baseline=train.problem.rows.origin))

    def part(self, rows: Indices, options: DimsOptions) -> "DimsStudy":
        """Return the study of some of the rows."""
        mask = np.isin(np.arange(len(self.problem.summary.weights)), rows)
        return replace(self, problem=DimsProblem.of(self.problem.summary.part(mask), options))


def used(table: Any, weights: Vector) -> Vector:
    """Return the weight of the rows in which each column is not at its baseline, (n,)."""
    owners = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    unit = float(weights.max(initial=0.0)) or 1.0  # equal weights are counted without rounding
    return np.asarray(unit * np.bincount(table.indices, weights[owners] / unit, table.shape[1]))
