"""points as a study: MMD² to all rows, against random sampling and k-means centres snapped to rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Indices, Vector, as_weights
from ..baselines.lloyd import lloyd, nearest
from ..deadline import Deadline
from ..jobs.comparison import Comparison
from ..jobs.points import points
from ..jobs.sample import as_bytes, as_labels
from ..jobs.setting import Setting
from ..objectives.pairs import own_threads
from ..result import Result
from .study import Judge, Table
from .views import Cloud, Plane, plane_of_rows, plane_of_similarities

MAX_COMPARED_ROWS = 2000
"""Rows on which baselines and held-out errors are measured, at most: all their pairs are compared."""
RANDOM_DRAWS = 10
"""Samples over which the error of random sampling is averaged."""


@dataclass(frozen=True, eq=False)
class PointsProblem:
    """Which k rows of X, with which weights, stand for all; `shown` is the table as the user knows it.

    `solve` is `points` of X with `options`, the bandwidth as a number: `comparison` holds it, and how rows are encoded
    and scaled before they are compared. `rows` (M, d) are the encoded ones, `codes` and `weights` (M,) their labels and
    weights or None, and `used` which rows of X they are, all if None. Make one with `PointsProblem.of`.
    """

    X: Any
    shown: Mapping[str, Sequence[Any]]
    comparison: Comparison
    rows: Any
    codes: Indices | None = None
    weights: Vector | None = None
    used: Indices | None = None
    similarity: str = "rbf"
    gamma: Any = "median"
    options: Mapping[str, Any] = field(default_factory=dict)
    job = "points"
    unit = "points"
    usual_seconds = None
    metric = "MMD²"
    shares = frozenset({"weight"})

    @classmethod
    def of(
        cls,
        X: Any,
        k: int,
        seed: int,
        gamma: Any = "median",
        *,
        shown: Mapping[str, Sequence[Any]],
        similarity: str = "rbf",
        time_limit: float | None = None,
        **options: Any,
    ) -> "PointsProblem":
        """The problem with its bandwidth as a number, so that every k and every part of the data is measured alike.

        It is the number that `points(X, k, gamma=gamma, rng=seed, ...)` takes; `options` are its labels,
        sample_weight, columns, missing and standardize.
        """
        deadline = Deadline.after(time_limit)
        rules = {name: options[name] for name in ("columns", "missing") if name in options}
        scales = options.get("standardize", "auto")
        setting = Setting(similarity, gamma, scales, "auto", as_bytes("1GB"), deadline, **rules)
        data = options.get("labels"), options.get("sample_weight")
        with own_threads(), deadline.enforced():
            _, comparison, _, given = setting.prepared(X, k, *data, np.random.default_rng(seed))
        width = comparison.gamma
        number = gamma if width is None or not 0.0 < width < math.inf else width
        m = given.rows.shape[0]
        codes = None if given.labels is None else as_labels(given.labels, m)[1]
        weights = None if given.weights is None else as_weights(given.weights, m, "sample_weight")
        rows = X if similarity == "precomputed" else given.rows
        return cls(X, shown, comparison, rows, codes, weights, given.kept, similarity, number, options)

    @cached_property
    def Z(self) -> Any:  # noqa: N802 - as statisticians write standardized rows
        """The rows as they are compared."""
        return self.comparison.scaled(self.rows)

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.rows.shape[0])

    @property
    def members(self) -> Any:
        """The unit of each row that is used, (M,), or None."""
        units = self.options.get("units")
        return None if units is None else np.asarray(units)[slice(None) if self.used is None else self.used]

    @property
    def masses(self) -> Vector:
        """The weights of the rows, of sum one."""
        return np.full(self.size, 1.0 / self.size) if self.weights is None else self.weights / self.weights.sum()

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job."""
        return points(self.X, k, similarity=self.similarity, gamma=self.gamma, **self.options, **search)

    def places(self, indices: Indices) -> Indices:
        """Where rows of X are among those that are used."""
        return indices if self.used is None else np.searchsorted(self.used, indices)

    def error(self, result: Result) -> float:
        """MMD² to all rows."""
        return result.value

    def kept(self, result: Result) -> Table:
        """The rows with their weights, heaviest first, as the user's table has them."""
        rows, weights = result.heaviest_first()
        table: Table = {"index": rows.tolist(), "weight": weights.tolist()}
        return table | {name: [plain(values[i]) for i in rows.tolist()] for name, values in self.shown.items()}

    def rows_of(self, result: Result) -> npt.NDArray[np.float64]:
        """The kept rows as numbers, in the same order."""
        return np.asarray(self.rows[self.places(result.heaviest_first()[0])])

    @cached_property
    def plane(self) -> Plane:
        """The rows in two dimensions, as they are compared."""
        if self.similarity in ("precomputed", "hamming") or sp.issparse(self.rows):
            return plane_of_similarities(self.block, self.size)
        return plane_of_rows(self.Z, list(self.shown))

    def view(self, result: Result) -> Cloud:
        """The kept rows among all."""
        rows, weights = result.heaviest_first()
        return self.plane.cloud(self.places(rows), weights)

    def lost(self, result: Result) -> dict[str, float]:
        """MMD² and its root, and the gap where a bound above zero is proven."""
        facts = {"MMD² to all rows": result.value, "MMD": math.sqrt(max(result.value, 0.0))}
        if isinstance(self.gamma, float):
            facts["gamma"] = self.gamma
        return {**facts, "gap": result.gap} if result.gap is not None and result.bound else facts

    @cached_property
    def sample(self) -> "Sampled":
        """The rows, or as many as are compared pair by pair."""
        rng = np.random.default_rng(0)
        few = (
            np.arange(self.size)
            if self.size <= MAX_COMPARED_ROWS
            else np.sort(rng.choice(self.size, MAX_COMPARED_ROWS, replace=False))
        )
        masses = self.masses[few]
        return Sampled(self, few, self.block(few, few), masses / masses.sum())

    def block(self, some: Indices, others: Indices) -> npt.NDArray[np.float64]:
        """Similarities between rows; zero across labels."""
        if self.similarity == "precomputed":
            found = self.rows[np.ix_(some, others)]
        else:
            found = np.asarray(self.comparison.similarity(self.Z[some], self.Z[others]), np.float64)
        if self.codes is not None:
            found = found * (self.codes[some][:, None] == self.codes[others][None, :])
        return np.asarray(found)

    @cached_property
    def baselines(self) -> Mapping[str, Callable[[int], float]]:
        """Random rows of equal weight (mean of 10 draws); for few rows also k-means centres snapped to rows.

        Where whole units are kept, random units of equal weight.
        """
        if self.members is not None:
            return {"random units": self.sample.units_at_random}
        found: dict[str, Callable[[int], float]] = {"random sampling": self.sample.at_random}
        has_centres = self.similarity not in ("precomputed", "hamming") and not sp.issparse(self.rows)
        if self.size <= MAX_COMPARED_ROWS and has_centres:
            found["k-means"] = self.sample.snapped
        return found

    def split(self, share: float, rng: np.random.Generator) -> tuple["PointsProblem", Judge] | None:
        """Some rows are held out; the error there is MMD² to them."""
        order = rng.permutation(self.size)
        held = max(round(share * self.size), 1)
        if held >= self.size:
            return None
        test, train = np.sort(order[:held][:MAX_COMPARED_ROWS]), np.sort(order[held:])
        masses = self.masses[test] / self.masses[test].sum()
        inner = float(masses @ self.block(test, test) @ masses)

        def judge(result: Result) -> float:
            units, q = train[result.indices], result.p[result.indices]
            cross = float(q @ self.block(units, test) @ masses)
            return max(float(q @ self.block(units, units) @ q) - 2.0 * cross + inner, 0.0)

        rows = self.rows[np.ix_(train, train)] if self.similarity == "precomputed" else self.Z[train]
        codes = None if self.codes is None else self.codes[train]
        weights = None if self.weights is None else self.weights[train]
        gamma = self.comparison.similarity.gamma or self.gamma  # rows and bandwidth in the units of all rows
        options = {"labels": codes, "sample_weight": weights, "standardize": False}
        if self.members is not None:
            options["units"] = self.members[train]
        part: dict[str, Any] = {"X": rows, "rows": rows, "codes": codes, "weights": weights, "used": None}
        part |= {"shown": {}, "gamma": gamma, "options": options}
        return replace(self, **part), judge


@dataclass(frozen=True, eq=False)
class Sampled:
    """Some rows with all similarities K between them and weights t: where baselines are measured."""

    problem: PointsProblem
    rows: Indices
    K: npt.NDArray[np.float64]
    t: Vector

    def discrepancy(self, q: Vector) -> float:
        """(q - t)ᵀ K (q - t)."""
        d = q - self.t
        return max(float(d @ (self.K @ d)), 0.0)

    def at_random(self, k: int) -> float:
        """The mean over draws of k rows with equal weights; rows may come twice where they weigh differently."""
        rng = np.random.default_rng(1)
        n, again = len(self.t), self.problem.weights is not None or k > len(self.t) or self.problem.size > len(self.t)
        draws = (rng.choice(n, k, replace=again, p=self.t) for _ in range(RANDOM_DRAWS))
        return float(np.mean([self.discrepancy(np.bincount(draw, minlength=n) / k) for draw in draws]))

    def units_at_random(self, k: int) -> float:
        """The mean over draws of k units with equal weights; infinite where there are fewer."""
        _, members = np.unique(self.problem.members[self.rows], return_inverse=True)
        rng, total = np.random.default_rng(1), np.bincount(members, self.t)
        if k > len(total):
            return math.inf
        draws = (np.isin(members, rng.choice(len(total), k, replace=False)) for _ in range(RANDOM_DRAWS))
        return float(np.mean([self.discrepancy(drawn * self.t / total[members] / k) for drawn in draws]))

    def snapped(self, k: int) -> float:
        """The rows nearest to k-means centres, with the shares of their clusters."""
        Z = self.problem.Z[self.rows]
        k = min(k, len(Z))
        with own_threads():
            centres, labels = lloyd(Z, k, self.t, np.random.default_rng(0))
            shares = np.bincount(labels, self.t, k)
            return self.discrepancy(np.asarray(np.bincount(nearest(centres, Z)[0], shares, len(Z)), np.float64))


def plain(value: Any) -> Any:
    """A value as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
