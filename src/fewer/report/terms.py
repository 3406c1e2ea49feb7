"""A path of terms: root mean squared error, against a ranking by correlation and non-negative least squares."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, Vector, as_numbers, as_units, known
from ..constraints.groups import as_groups
from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..jobs.terms.options import LOSSES, TermsOptions
from ..jobs.terms.terms import track
from ..jobs.terms.tracking import Tracked
from ..objectives.matrix import scaled, typical_size
from ..objectives.moments import Moments
from ..programmes import nonnegative_least_squares
from ..result import Result
from ..search.conditioned import best_weights
from ..search.fit import refitted
from ..spaces import Atoms
from ..tables.prices import instant
from ..threads import own_threads
from .kept import Table, kept_table
from .path import TEST_SHARE, Baselines, Split
from .views import Tracking, tracking

UNLIMITED = TermsOptions()
"""No bounds, and squared errors."""
MAX_EXPONENT = 400
"""Powers of two up to which squares of entries are sure to stay in the range of floats."""
MAX_NNLS_ENTRIES = 5_000_000
"""Entries of A up to which non-negative least squares over all columns is a baseline."""


@dataclass(frozen=True, eq=False)
class TermsProblem:
    """Which k columns of A (r, n) track b (r,) with weights within bounds; `names` (n,).

    `test_rows` are the rows to be held out, where they are not drawn at random; `note` is said of
    every answer.
    """

    A: Any
    b: Vector
    names: Sequence[Any]
    limits: TermsOptions = UNLIMITED
    include: Any = ()
    exclude: Any = ()
    groups: Any = None
    test_rows: Indices | None = None
    note: str = ""
    sample_weight: Any = None
    job = "terms"
    unit = "columns"
    metric = "root mean squared error"
    shares = frozenset({"weight", "variance explained"})

    @classmethod
    def of(
        cls, X: Any, y: Any, *, names: Sequence[Any] | None = None, test: Any = None, **options: Any
    ) -> "TermsProblem":
        """The problem of `terms` with these options of it; `test` says which rows are held out."""
        own = TermsOptions.of(options)
        data = Tracked.of(X, y, own)
        A = data.X if data.names is not None or sp.issparse(data.X) else as_numbers(data.X, "X")
        n = A.shape[1]
        called = data.names or list(range(n) if names is None else names)
        chosen = {
            name: getattr(data, name)
            for name in ("include", "exclude", "groups", "sample_weight", "note")
        }
        return cls(
            A,
            np.asarray(data.y, np.float64),
            called,
            own,
            **chosen,
            test_rows=held_out_rows(data, test),
        )

    @property
    def size(self) -> int:
        """The number of columns that may be held."""
        return len(self.names) - len(self.exclude)

    def solve(self, k: int, *, time_limit: float | None = None, **search: Any) -> Result:
        """Run the job."""
        deadline = Deadline.after(time_limit)
        own = self.limits.replace(deadline=deadline, **search)
        with own_threads(), np.errstate(invalid="ignore", over="ignore"):
            return track(self._tracked, k, own)

    @property
    def _tracked(self) -> Tracked:
        columns = self.include, self.exclude, self.groups
        return Tracked(
            self.A,
            self.b,
            list(self.names),
            *columns,
            sample_weight=self.sample_weight,
            note=self.note,
        )

    @cached_property
    def _near_one(self) -> tuple[Any, Vector, int]:
        """A and b divided by 2**e, and e: 0 unless squares of their entries would leave the range of floats."""
        size = max(typical_size(np.asarray(self.A, np.float64)), float(np.abs(self.b).max()))
        power = int(np.frexp(size)[1])
        power = power if abs(power) > MAX_EXPONENT else 0
        return scaled(self.A, -power), np.asarray(scaled(self.b, -power)), power

    def error(self, result: Result) -> float:
        """The root mean squared error."""
        return self._error(result.p)

    def _error(self, p: Vector) -> float:
        """The root mean squared error of weights on columns, (n,)."""
        A, b, power = self._near_one
        left = np.asarray(A @ p - b)
        if self.sample_weight is not None:
            left = left * np.sqrt(self.sample_weight / np.mean(self.sample_weight))
        return float(scaled(typical_size(left), power))

    def kept(self, result: Result) -> Table:
        """The columns and their weights, heaviest first."""
        return kept_table(result, self.names)

    def rows_of(self, result: Result) -> Any:
        """The kept columns, heaviest first, as rows."""
        return self.A[:, result.heaviest_first()[0]].T

    def view(self, result: Result) -> Tracking:
        """The target and what tracks it, row by row."""
        A, b, power = self._near_one
        shown = tracking(
            np.asarray(scaled(b, power)), np.asarray(scaled(np.asarray(A @ result.p), power))
        )
        return replace(shown, **self._held(result))

    def _held(self, result: Result) -> dict[str, Any]:
        """What limits say of an answer: weights of groups, turnover, and the conditions that bind."""
        conditions = self._limited(len(result.indices)).all_conditions
        found: dict[str, Any] = {}
        if self.groups is not None:
            codes, labels = as_groups(self.groups, len(self.names))
            weights = np.bincount(codes, result.p, len(labels))
            found["groups"] = [
                (str(labels[g]), float(weights[g]))
                for g in np.argsort(-weights)
                if weights[g] > 0.0
            ]
        if conditions is not None:
            found["binding"] = conditions.binding(result.p)
            if conditions.previous is not None:
                found["turnover"] = conditions.turnover(result.p), conditions.max_turnover
        return found

    def _limited(self, k: int) -> SparseSimplex:
        """The set of weights on k columns."""
        return self.limits.constraint(Atoms(len(self.names)), max(k, 1), self._tracked)

    def lost(self, result: Result) -> dict[str, float]:
        """The error, how it compares with that of the target's mean, the value and its gap."""
        A, b, _ = self._near_one
        spread, left = float(((b - b.mean()) ** 2).sum()), float(((A @ result.p - b) ** 2).sum())
        facts = {"root mean squared error": self.error(result)}
        if 0.0 < spread < left:
            facts["worse than the mean of the target by a factor of"] = math.sqrt(left / spread)
        elif spread > 0.0:
            facts["variance explained"] = 1.0 - left / spread
        facts[f"value ({self.limits.objective_name})"] = result.value
        if self.limits.ridge:
            facts[LOSSES[self.limits.loss]] = float(result.loss or 0.0)
        conditions = self.limits.conditions(self.names, len(self.names))
        if conditions is not None and conditions.previous is not None:
            facts["turnover"] = conditions.turnover(result.p)
        return facts if result.gap is None else {**facts, "gap": result.gap}

    @cached_property
    def rankings(self) -> dict[str, Callable[[int], Vector | None]]:
        """Weights for any k by baselines: columns ranked by correlation, and by non-negative least squares (NNLS).

        Both with their best weights; None where no weights on k columns fit.
        """
        A, b, _ = self._near_one
        A = np.asarray(A, np.float64)
        if self.sample_weight is not None:
            root = np.sqrt(np.asarray(self.sample_weight, np.float64))
            A, b = A * root[:, None], b * root
        F = Moments(Atoms(A.shape[1]), A, b)
        correlation = self._correlation(A, b)
        firsts = {"correlation ranking": np.zeros(A.shape[1])}
        if A.size <= MAX_NNLS_ENTRIES:
            firsts["NNLS ranking"] = nonnegative_least_squares(A, b)
        orders = {name: np.lexsort((-correlation, -first)) for name, first in firsts.items()}
        return {name: partial(self._best, F, order) for name, order in orders.items()}

    def errors_on(self, other: "TermsProblem") -> Baselines:
        """The error of each baseline, fitted on these rows, on others."""

        def error(weights: Callable[[int], Vector | None], k: int) -> float:
            p = weights(k)
            return math.inf if p is None else other._error(p)

        return {name: partial(error, weights) for name, weights in self.rankings.items()}

    @property
    def baselines(self) -> Baselines:
        """The error of each baseline."""
        return self.errors_on(self)

    def _correlation(self, A: Any, b: Vector) -> Vector:
        """The correlation of each column with the target, up to a factor."""
        centred = A - A.mean(axis=0)
        spread = np.linalg.norm(centred, axis=0)
        correlation = centred.T @ (b - b.mean()) / np.where(spread > 0, spread, np.inf)
        return np.asarray(correlation, np.float64)

    def _best(self, F: Moments, ranking: Indices, k: int) -> Vector | None:
        """The best weights, within all bounds, on the first k columns of a ranking that may be held together.

        None where there are no k such columns, or no weights on them fit.
        """
        try:
            C = self._limited(k)
        except InvalidInput:
            return None
        columns = C.fitting(ranking, k)
        if columns.size < k or k not in range(C.sizes[0], C.sizes[1] + 1):
            return None
        p = np.zeros(F.space.size)
        if C.all_conditions is None:
            found = refitted(F, C, columns)
            p[found.units] = found.weights
            return p
        p[columns] = 1.0 / k
        p = best_weights(F, C, p)
        return p if C.contains(p) else None

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Some rows are held out: `test_rows`, or a share of them at random."""
        r = len(self.b)
        test = self.test_rows
        if test is None:
            test = np.sort(rng.permutation(r)[: max(round(share * r), 1)])
        train = np.setdiff1d(np.arange(r), test)
        if not train.size:
            return None
        left, held = self.part(train), self.part(test)
        return Split(left, held.error, lambda: left.errors_on(held))

    def part(self, rows: Indices) -> "TermsProblem":
        """The problem on some of the rows."""
        weights = None if self.sample_weight is None else np.asarray(self.sample_weight)[rows]
        return replace(self, A=self.A[rows], b=self.b[rows], sample_weight=weights, test_rows=None)


def held_out_rows(data: Tracked, test: Any) -> Indices | None:
    """The rows to test on where they are chosen: by ("last", share), ("from", date) or row numbers; else None.

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
    rule, given = test
    known(rule, dict.fromkeys(("last", "from")), "test")
    if rule == "last":
        return np.arange(r - min(max(round(given * r), 1), r - 1), r)
    if data.dates is None:
        raise InvalidInput("test: a date needs date, the column of dates", "test")
    rows = np.flatnonzero(data.dates >= instant(given, "test"))
    if not 0 < rows.size < r:
        left = (
            "before all dates: nothing is left to fit on"
            if rows.size
            else "after all dates: no row is tested"
        )
        raise InvalidInput(f"test: {given} is {left}", "test")
    return rows
