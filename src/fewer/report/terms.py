"""Studies of terms: root mean squared error, beside rankings by correlation and NNLS."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, Vector, as_array, as_numbers, as_units, known
from ..constraints.groups import as_groups
from ..deadline import Deadline
from ..jobs.terms.options import LOSSES, TermsOptions
from ..jobs.terms.terms import track
from ..jobs.terms.tracking import Tracked
from ..objectives.moments import largest_size
from ..programmes import nonnegative_least_squares
from ..result import Result
from ..spaces import Atoms
from ..tables.prices import instant
from ..threads import own_threads
from .drawings import few_bars, tracks
from .html import Html, join, tag
from .study import Baselines, Split, Study, Table, as_share, kept_table

TEST_SHARE = 0.3
"""The share of rows in order of time that is held out."""
MAX_EXPONENT = 400
"""Powers of two up to which squares of entries are sure to stay in the range of floats."""
MAX_NNLS_ENTRIES = 5_000_000
"""Entries of A up to which non-negative least squares over all columns is a baseline."""
ERROR = "root mean squared error"


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
    def n(self) -> int:
        """The number of columns."""
        return int(self.data.X.shape[1])

    @property
    def size(self) -> int:
        """The number of columns that may be held."""
        return self.data.candidates(self.n)

    @property
    def random_splits(self) -> bool:
        """Whether the rows that are held out are drawn."""
        return self.test is None

    def solve(self, k: int, *, time_limit: float | None = None, **search: Any) -> Result:
        """Run the job on data that were read once."""
        options = self.options.replace(deadline=Deadline.after(time_limit), **search)
        with own_threads(), np.errstate(invalid="ignore", over="ignore"):
            return track(self.data, k, options)

    @cached_property
    def near_one(self) -> tuple[Any, Vector, int]:
        """A and b divided by 2**e, and e: 0 unless squares of entries leave the range of floats."""
        A, b = self.data.X, self.data.y
        size = max(largest_size(np.asarray(A, np.float64)), float(np.abs(b).max()))
        power = int(np.frexp(size)[1])
        power = power if abs(power) > MAX_EXPONENT else 0
        return A * 2.0**-power, np.asarray(b) * 2.0**-power, power

    def error(self, result: Result) -> float:
        """Return the root mean squared error."""
        return self.error_of(result.p)

    def error_of(self, p: Vector) -> float:
        """Return the root mean squared error of weights on columns, (n,)."""
        A, b, power = self.near_one
        residual = np.asarray(A @ p - b)
        weights = self.data.sample_weight
        if weights is not None:
            residual = residual * np.sqrt(weights / np.mean(weights))
        return math.ldexp(math.sqrt(float(np.mean(np.square(residual)))), power)

    def facts(self, result: Result) -> dict[str, float]:
        """Return the error, the variance explained, the value and the turnover."""
        A, b, _ = self.near_one
        spread, left = (float(x @ x) for x in (b - b.mean(), A @ result.p - b))
        facts = {ERROR: self.error(result)}
        if 0.0 < spread < left:
            facts["worse than the mean of the target by a factor of"] = math.sqrt(left / spread)
        elif spread > 0.0:
            facts["variance explained"] = 1.0 - left / spread
        facts[f"value ({self.options.objective_name})"] = result.value
        if self.options.ridge:
            facts[LOSSES[self.options.loss]] = float(result.loss or 0.0)
        if self.conditions is not None and self.conditions.previous is not None:
            facts["turnover"] = self.conditions.turnover(result.p)
        return facts

    def kept(self, result: Result) -> Table:
        """Return the columns and their weights, heaviest first."""
        return kept_table(result, self.data.names)

    def pixels(self, table: Table, count: int) -> Any:
        """Return the kept columns, in the order of the table, as rows of numbers."""
        return self.data.X[:, table["index"]].T

    @cached_property
    def conditions(self) -> Any:
        """Linear conditions and turnover, None where there are none."""
        return self.options.conditions(self.data.names, self.n)

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the target and its track row by row, and what limits say of the weights."""
        A, b, power = self.near_one
        target, track = (np.ldexp(each, power) for each in (b, A @ result.p))
        return join(tracks(target, track), self.limits(result))

    def limits(self, result: Result) -> Html | None:
        """Draw the weights of groups, and say the turnover and which conditions bind."""
        parts: list[Any] = []
        if self.data.groups is not None:
            codes, labels = as_groups(self.data.groups, self.n)
            weights = np.bincount(codes, result.p, len(labels))
            held = [g for g in np.argsort(-weights) if weights[g] > 0.0]
            names = [labels[g] for g in held]
            parts += few_bars(names, weights[held].tolist(), "Weight of each group.")
        k = max(len(result.indices), 1)
        conditions = self.options.constraint(Atoms(self.n), k, self.data).rules.conditions
        if conditions is not None and conditions.previous is not None:
            turnover, most = conditions.turnover(result.p), conditions.max_turnover
            words = f"Turnover from the previous weights: {turnover:.4g} of at most {most:g}."
            parts.append(tag("p", words))
        if conditions is not None:
            binding = "; ".join(conditions.binding(result.p))
            words = f"Conditions that bind: {binding}." if binding else "No condition binds."
            parts.append(tag("p", words))
        return tag("figure", parts) if parts else None

    @cached_property
    def rankings(self) -> dict[str, Indices]:
        """The columns ranked by correlation and by NNLS."""
        A, b, _ = self.near_one
        A = np.asarray(A, np.float64)
        if self.data.sample_weight is not None:
            root = np.sqrt(np.asarray(self.data.sample_weight, np.float64))
            A, b = A * root[:, None], b * root
        correlation = correlations(A, b)
        sizes = {"correlation ranking": correlation}
        if A.size <= MAX_NNLS_ENTRIES:
            sizes["NNLS ranking"] = nonnegative_least_squares(A, b)
        return {name: np.lexsort((-correlation, -size)) for name, size in sizes.items()}

    def best_of(self, ranking: Indices, k: int) -> Vector | None:
        """Return the best weights on the first k columns of a ranking that may be held together.

        None where there are no k such columns, or no weights on them within all limits.
        """
        options = self.options.replace(solver="exchange", rng=0, deadline=Deadline.after(None))
        try:
            limits = options.constraint(Atoms(self.n), k, self.data)
            columns = limits.rules.fitting(ranking, k)
            if columns.size < k or not limits.rules.sizes[0] <= k <= limits.rules.sizes[1]:
                return None
            few = replace(self.data, exclude=np.setdiff1d(np.arange(self.n), columns))
            with own_threads(), np.errstate(invalid="ignore", over="ignore"):
                return track(few, k, options).p
        except InvalidInput:
            return None

    @property
    def baselines(self) -> Baselines:
        """The error of each baseline."""
        return self.baselines_on(self)

    def baselines_on(self, other: "TermsStudy") -> Baselines:
        """Return the error of each baseline, fitted on these rows, on others."""

        def error(ranking: Indices, k: int) -> float:
            p = self.best_of(ranking, k)
            return math.inf if p is None else other.error_of(p)

        return {name: partial(error, ranking) for name, ranking in self.rankings.items()}

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Hold out the test rows, or a share of the rows at random."""
        r = len(self.data.y)
        test = self.test
        if test is None:
            test = np.sort(rng.permutation(r)[: max(round(share * r), 1)])
        train = np.setdiff1d(np.arange(r), test)
        if not train.size:
            return None
        left, held = (replace(self, data=self.data.of_rows(rows)) for rows in (train, test))
        return Split(left, held.error, left.baselines_on(held))


def correlations(A: Any, b: Vector) -> Vector:
    """Return the correlation of each column with b, up to a common factor."""
    centred = A - A.mean(axis=0)
    spread = np.linalg.norm(centred, axis=0)
    return np.asarray(centred.T @ (b - b.mean()) / np.where(spread > 0, spread, np.inf))


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
    known(rule, dict.fromkeys(("last", "from")), "test")
    if rule == "last":
        return np.arange(r - min(max(round(as_share(limit) * r), 1), r - 1), r)
    if data.dates is None:
        raise InvalidInput("test: a date needs date, the column of dates", "test")
    rows = np.flatnonzero(data.dates >= instant(limit, "test"))
    if rows.size == r:
        raise InvalidInput(f"test: {limit} is before all dates: nothing is left to fit on", "test")
    if not rows.size:
        raise InvalidInput(f"test: {limit} is after all dates: no row is tested", "test")
    return rows
