"""terms as a study: root mean squared error, against a ranking by correlation and non-negative least squares."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, Vector
from ..constraints.groups import as_groups
from ..constraints.sparse_simplex import SparseSimplex
from ..deadline import Deadline
from ..engines.conditioned import best_weights
from ..engines.fit import refitted
from ..jobs.terms import track
from ..jobs.terms_options import LOSSES, TermsOptions
from ..jobs.tracking import Tracked
from ..objectives.matrix import scaled, typical_size
from ..objectives.moments import Moments
from ..programmes import nonnegative_least_squares
from ..result import Result
from ..spaces import Atoms
from .path import Judge, Table
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

    `test_rows` are the rows to be held out, where they are not drawn at random; `note` is said of every answer.
    `places` (n,) are the columns' numbers in the user's table, where A has only some of them.
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
    places: Sequence[int] | None = None
    job = "terms"
    unit = "columns"
    usual_seconds = None
    metric = "root mean squared error"
    shares = frozenset({"weight", "variance explained"})

    @property
    def size(self) -> int:
        """The number of columns that may be held."""
        return len(self.names) - len(self.exclude)

    def solve(self, k: int, *, time_limit: float | None = None, **search: Any) -> Result:
        """Run the job."""
        deadline = Deadline.after(time_limit)
        own = self.limits.replace(deadline=deadline, **search)
        return track(self._tracked, k, own)

    @property
    def _tracked(self) -> Tracked:
        columns = self.include, self.exclude, self.groups
        return Tracked(self.A, self.b, list(self.names), *columns, note=self.note)

    @cached_property
    def _near_one(self) -> tuple[Any, Vector, int]:
        """A and b divided by 2**e, and e: 0 unless squares of their entries would leave the range of floats."""
        size = max(typical_size(np.asarray(self.A, np.float64)), float(np.abs(self.b).max()))
        power = int(np.frexp(size)[1])
        power = power if abs(power) > MAX_EXPONENT else 0
        return scaled(self.A, -power), np.asarray(scaled(self.b, -power)), power

    def error(self, result: Result) -> float:
        """The root mean squared error."""
        return self._error(result, slice(None))

    def _error(self, result: Result, rows: Any) -> float:
        """The root mean squared error on some rows."""
        A, b, power = self._near_one
        return float(scaled(typical_size(np.asarray(A[rows] @ result.p - b[rows])), power))

    def kept(self, result: Result) -> Table:
        """The columns and their weights, heaviest first."""
        order, weights = result.heaviest_first()
        return {
            "column": [self.names[i] for i in order],
            "index": order.tolist() if self.places is None else [self.places[i] for i in order.tolist()],
            "weight": weights.tolist(),
        }

    def rows_of(self, result: Result) -> Any:
        """The kept columns, heaviest first, as rows."""
        return self.A[:, result.heaviest_first()[0]].T

    def view(self, result: Result) -> Tracking:
        """The target and what tracks it, row by row."""
        A, b, power = self._near_one
        shown = tracking(np.asarray(scaled(b, power)), np.asarray(scaled(np.asarray(A @ result.p), power)))
        return replace(shown, **self._held(result))

    def _held(self, result: Result) -> dict[str, Any]:
        """What limits say of an answer: weights of groups, turnover, and the conditions that bind."""
        conditions = self._limited(len(result.indices)).all_conditions
        found: dict[str, Any] = {}
        if self.groups is not None:
            codes, labels = as_groups(self.groups, len(self.names))
            weights = np.bincount(codes, result.p, len(labels))
            found["groups"] = [(str(labels[g]), float(weights[g])) for g in np.argsort(-weights) if weights[g] > 0.0]
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
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """Columns ranked by correlation, and by non-negative least squares (NNLS); both with their best weights."""
        A, b, _ = self._near_one
        A = np.asarray(A, np.float64)
        F = Moments(Atoms(A.shape[1]), A, b)
        correlation = self._correlation(A, b)
        rankings = {"correlation ranking": np.zeros(A.shape[1])}
        if A.size <= MAX_NNLS_ENTRIES:
            rankings["NNLS ranking"] = nonnegative_least_squares(A, b)
        return {name: self._ranked(F, first, correlation) for name, first in rankings.items()}

    def _correlation(self, A: Any, b: Vector) -> Vector:
        """The correlation of each column with the target, up to a factor."""
        centred = A - A.mean(axis=0)
        spread = np.linalg.norm(centred, axis=0)
        correlation = centred.T @ (b - b.mean()) / np.where(spread > 0, spread, np.inf)
        return np.asarray(correlation, np.float64)

    def _ranked(self, F: Moments, first: Vector, then: Vector) -> Callable[[int], float]:
        """The error of the columns that come first by one criterion, and where that is equal by another."""
        ranking = np.lexsort((-then, -first))
        return lambda k: self._best(F, ranking, k)

    def _best(self, F: Moments, ranking: Indices, k: int) -> float:
        """The error of the best weights, within all bounds, on the first k columns that may be held together.

        Infinite where there are no k such columns, or no weights on them fit.
        """
        try:
            C = self._limited(k)
        except InvalidInput:
            return math.inf
        columns = C.fitting(ranking, k)
        if columns.size < k or k not in range(C.sizes[0], C.sizes[1] + 1):
            return math.inf
        value = refitted(F, C, columns).value
        if C.all_conditions is not None:
            p = np.zeros(F.space.size)
            p[columns] = 1.0 / k
            p = best_weights(F, C, p)
            value = F.value(p) if C.contains(p) else math.inf
        root = math.sqrt(max(value, 0.0) / len(self.b))
        return float(scaled(root, self._near_one[2]))

    def split(self, share: float, rng: np.random.Generator) -> tuple["TermsProblem", Judge] | None:
        """Some rows are held out: `test_rows`, or a share of them at random."""
        r = len(self.b)
        test = self.test_rows
        if test is None:
            test = np.sort(rng.permutation(r)[: max(round(share * r), 1)])
        train = np.setdiff1d(np.arange(r), test)
        if not train.size:
            return None

        def judge(result: Result) -> float:
            return self._error(result, test)

        return replace(self, A=self.A[train], b=self.b[train], test_rows=None), judge
