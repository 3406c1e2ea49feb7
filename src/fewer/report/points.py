"""A path of points: MMD² to all rows, against random sampling and k-means centres snapped to rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._result_frame import columns_of as columns_of_rows
from .._validation import Indices, Vector, as_generator, as_weights, renamed
from ..deadline import Deadline
from ..jobs.points.comparison import Comparison
from ..jobs.points.limits import Limits
from ..jobs.points.options import LIMITS, PointsOptions
from ..jobs.points.points import points
from ..jobs.points.sample import as_labels
from ..jobs.points.setting import Prepared, chosen, compared_move, prepare
from ..jobs.points.units import apart_by_unit
from ..result import Result
from ..tables.frames import is_table, names_of, take_rows
from ..tables.table import role
from ..threads import own_threads
from .kept import Table, kept_points
from .path import Baselines, Split
from .sampled import Sampled
from .views import Cloud, Plane, plane_of_rows, plane_of_similarities

MAX_COMPARED_ROWS = 2000
"""Rows on which baselines and held-out errors are measured, at most: all their pairs are compared."""
SHOWN_CRITICISMS = 10
"""Rows that the points represent worst that a page shows where no number was asked for."""


@dataclass(frozen=True, eq=False)
class PointsProblem:
    """Which k rows of X, with which weights, stand for all; `names` are those of the columns of an array.

    `solve` is `points` of X with `options`, the bandwidth as a number: `comparison` holds it, and
    how rows are encoded and scaled before they are compared. `rows` (M, d) are the encoded ones,
    `codes` and `weights` (M,) their labels and weights or None, and `used` which rows of X they
    are, all if None. Where points stand for another target, the first `choices` of `rows` are of X
    and the others of the target. `n_criticisms` says how many of the worst represented rows are
    listed. Make one with `PointsProblem.of`.
    """

    X: Any
    comparison: Comparison
    rows: Any
    codes: Indices | None = None
    weights: Vector | None = None
    used: Indices | None = None
    similarity: Any = "rbf"
    gamma: Any = "median"
    options: Mapping[str, Any] = field(default_factory=dict)
    choices: int | None = None
    names: Sequence[Any] | None = None
    n_criticisms: int = 0
    beside: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Further columns to show, (N,) each."""
    max_memory: Any = "1GB"
    ready: tuple[PointsOptions, Prepared] | None = None
    job = "points"
    unit = "points"
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
        names: Sequence[Any] | None = None,
        similarity: Any = "rbf",
        time_limit: float | None = None,
        max_memory: Any = "1GB",
        n_criticisms: int = 0,
        beside: Mapping[str, Sequence[Any]] | None = None,
        **options: Any,
    ) -> "PointsProblem":
        """The problem with its bandwidth as a number, so that every k and every part of the data is measured alike.

        It is the number that `points(X, k, gamma=gamma, rng=seed, ...)` takes; `options` are
        further ones of `points`.
        """
        own = {
            "similarity": similarity,
            "gamma": gamma,
            "time_limit": time_limit,
            "max_memory": max_memory,
        }
        asked = PointsOptions.of({**options, **own})
        whole = asked.units is not None
        with own_threads(), renamed(groups="units") if whole else nullcontext():
            rng = np.random.default_rng(seed)
            ready = prepare(X, k, apart_by_unit(asked) if whole else asked, rng, most=not whole)
        given, width = ready.given, ready.comparison.gamma
        number = gamma if width is None or not 0.0 < width < math.inf else width
        m = given.rows.shape[0]
        codes = None if given.labels is None else as_labels(given.labels, m)[1]
        weights = None if given.weights is None else as_weights(given.weights, m, "sample_weight")
        rows = X if isinstance(similarity, str) and similarity == "precomputed" else given.rows
        choices = None
        if asked.target is not None:
            n = ready.sample.size
            choices = n if given.kept is None else int(np.searchsorted(given.kept, n))
            weights = (np.ones(m) if weights is None else weights) * (np.arange(m) >= choices)
        seen = X, ready.comparison, rows, codes, weights, given.kept
        more: dict[str, Any] = {
            "names": names,
            "n_criticisms": n_criticisms,
            "max_memory": max_memory,
        }
        labels = options.get("labels")
        label = {} if labels is None or isinstance(labels, str) else {"label": np.asarray(labels)}
        more["beside"] = {**label, **(beside or {})}
        return cls(*seen, similarity, number, options, choices, **more, ready=(asked, ready))

    @cached_property
    def Z(self) -> Any:  # noqa: N802 - as statisticians write standardized rows
        """The rows as they are compared."""
        return self.comparison.scaled(self.rows)

    @property
    def size(self) -> int:
        """The number of rows to choose from."""
        return int(self.rows.shape[0]) if self.choices is None else self.choices

    @property
    def moves(self) -> bool:
        """Whether points leave their rows."""
        return self.options.get("move", False) is not False

    @cached_property
    def members(self) -> Any:
        """The unit of each row that is used, (M,), or None."""
        units = self.options.get("units")
        if units is None:
            return None
        if isinstance(units, str):
            column: Any = role(self.X, units, "units")
            units = column.levels.values[column.levels.codes]
        return np.asarray(units)[slice(None) if self.used is None else self.used]

    @property
    def masses(self) -> Vector:
        """The weights of the rows, of sum one; zero for those that are not to be stood for."""
        return (
            np.full(self.size, 1.0 / self.size)
            if self.weights is None
            else self.weights / self.weights.sum()
        )

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job on rows that were prepared once, but for those in whole units."""
        if self.options.get("units") is not None:
            how = {
                "similarity": self.similarity,
                "gamma": self.gamma,
                "max_memory": self.max_memory,
            }
            return points(self.X, k, **how, **self.options, **search)
        options, ready = self.prepared
        generator, seed = as_generator(search.pop("rng", None))
        options = options.replace(deadline=Deadline.after(search.pop("time_limit", None)), **search)
        with own_threads(), np.errstate(invalid="ignore", over="ignore"):
            return chosen(ready, self.X, k, options, generator, seed).result

    @cached_property
    def prepared(self) -> tuple[PointsOptions, Prepared]:
        """How points are chosen, and the rows made ready for that."""
        if self.ready is not None:
            return self.ready
        own = {"similarity": self.similarity, "gamma": self.gamma, "max_memory": self.max_memory}
        options = PointsOptions.of({**self.options, **own})
        with own_threads():
            return options, prepare(self.X, 1, options, np.random.default_rng(0))

    def places(self, indices: Indices) -> Indices:
        """Where rows of X are among those that are used."""
        return indices if self.used is None else np.searchsorted(self.used, indices)

    def error(self, result: Result) -> float:
        """MMD² to all rows."""
        return result.value

    def kept(self, result: Result) -> Table:
        """The rows with their weights, heaviest first, as the user's table has them."""
        table = kept_points(result, self.names)
        own = {name: table.pop(name) for name in ("index", "weight")}
        return own | self.shown_beside(own["index"]) | table

    def shown_beside(self, rows: Sequence[int]) -> Table:
        """Further columns of some rows of X."""
        at = np.asarray(rows, np.int64)
        return {name: np.asarray(values)[at].tolist() for name, values in self.beside.items()}

    def stands_for(self, result: Result) -> Table:
        """The points, heaviest first, with the rows that each is the most similar one of."""
        order = positions(result)
        counts = np.bincount(result.assignment[result.assignment >= 0], minlength=len(order))
        own = {"index": result.indices[order].tolist(), "rows": counts[order].tolist()}
        return own | {
            "share of rows": result.shares[order].tolist(),
            "weight": self.kept(result)["weight"],
        }

    def criticisms(self, result: Result, n: int | None = None) -> Table:
        """The n rows that the points represent worst, as the user's table has them."""
        n = self.n_criticisms or SHOWN_CRITICISMS if n is None else n
        count = self.size if self.choices is None else self.rows.shape[0] - self.choices
        rows = result.criticisms(min(n, count)).tolist()
        if isinstance(self.similarity, str) and self.similarity == "precomputed":
            return {"index": rows, **self.shown_beside(rows)}
        whole = self.X if self.choices is None else self.options["target"]
        columns = columns_of_rows(take_rows(whole, np.asarray(rows, np.int64)))
        called = (
            columns
            if self.names is None or len(self.names) != len(columns)
            else map(str, self.names)
        )
        own = {} if self.choices is not None else self.shown_beside(rows)
        return {"index": rows, **own} | dict(zip(called, columns.values(), strict=True))

    def pixels(self, rows: Sequence[int]) -> npt.NDArray[np.float64]:
        """Rows that the points stand for, as numbers."""
        at = np.asarray(rows) + (0 if self.choices is None else self.X.shape[0])
        return np.asarray(self.rows[self.places(at)])

    def more(self, result: Result) -> dict[str, Table]:
        """Further tables that were asked for."""
        return {"criticisms": self.criticisms(result)} if self.n_criticisms else {}

    def rows_of(self, result: Result) -> npt.NDArray[np.float64]:
        """The kept rows as numbers, in the same order."""
        if self.moves:
            few, encoding = take_rows(result.rows, positions(result)), self.comparison.encoding
            return np.asarray(few if encoding is None else encoding(few))
        return np.asarray(self.rows[self.places(result.heaviest_first()[0])])

    @cached_property
    def plane(self) -> Plane:
        """The rows in two dimensions, as they are compared."""
        if self.similarity in ("precomputed", "hamming") or sp.issparse(self.rows):
            return plane_of_similarities(self.block, self.size)
        return plane_of_rows(self.Z, self.compared_names)

    @property
    def compared_names(self) -> list[str]:
        """The names of the columns that are compared, where they are known."""
        if self.names is not None:
            return [str(name) for name in self.names]
        apart = [self.options.get(name) for name in ("labels", "sample_weight", "groups", "units")]
        return (
            [name for name in map(str, names_of(self.X)) if name not in apart]
            if is_table(self.X)
            else []
        )

    def view(self, result: Result) -> Cloud:
        """The kept rows among all."""
        rows, weights = result.heaviest_first()
        cloud = self.plane.cloud(self.places(rows), weights)
        if not self.moves:
            return cloud
        few = self.comparison.rows(take_rows(result.rows, positions(result)), np.float64)
        return replace(cloud, kept=self.plane.at(few))

    def lost(self, result: Result) -> dict[str, float]:
        """MMD² and its root, and the gap where a bound above zero is proven."""
        name = "MMD² to all rows" if self.choices is None else "MMD² to the target"
        facts = {name: result.value, "MMD": math.sqrt(max(result.value, 0.0))}
        if isinstance(self.gamma, float):
            facts["gamma"] = self.gamma
        return {**facts, "gap": result.gap} if result.gap is not None and result.bound else facts

    @cached_property
    def sample(self) -> "Sampled":
        """The rows, or as many as are compared pair by pair."""
        rng, total = np.random.default_rng(0), self.rows.shape[0]
        ends = [0, total] if self.choices is None else [0, self.choices, total]
        most = MAX_COMPARED_ROWS // (len(ends) - 1)
        parts = [
            np.arange(a, b)
            if b - a <= most
            else np.sort(a + rng.choice(b - a, most, replace=False))
            for a, b in pairwise(ends)
        ]
        few = np.concatenate(parts)
        masses = self.masses[few]
        choices = None if self.choices is None else len(parts[0])
        K, t = self.block(few, few), masses / masses.sum()
        b = K @ t
        return Sampled(self, few, K, t, b, float(t @ b), choices)

    def block(
        self, some: Indices, others: Indices, few: Any = None, rest: Any = None
    ) -> npt.NDArray[np.float64]:
        """Similarities between rows; zero across labels. `few` and `rest` are where these rows are now, if they moved.

        They are compared as they are.
        """
        if self.similarity == "precomputed":
            found = self.rows[np.ix_(some, others)]
        else:
            here, there = (
                self.Z[some] if few is None else few,
                self.Z[others] if rest is None else rest,
            )
            found = np.asarray(self.comparison.similarity(here, there), np.float64)
        if self.codes is not None:
            found = found * (self.codes[some][:, None] == self.codes[others][None, :])
        return np.asarray(found)

    def errors_on(self, sample: "Sampled") -> Baselines:
        """The errors of baselines by a sample: random rows of equal weight (mean of 10 draws).

        For few rows also k-means centres snapped to rows. Where whole units are kept, random units
        of equal weight.
        """
        if self.members is not None:
            return {"random units": sample.units_at_random}
        found: dict[str, Callable[[int], float]] = {"random sampling": sample.at_random}
        has_centres = self.similarity not in ("precomputed", "hamming") and not sp.issparse(
            self.rows
        )
        if self.rows.shape[0] <= MAX_COMPARED_ROWS and has_centres:
            found["k-means"] = sample.snapped
        return found

    @cached_property
    def baselines(self) -> Baselines:
        """The error of each baseline."""
        return self.errors_on(self.sample)

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Some rows are held out; the error there is MMD² to them. Rows that must be kept are not held out.

        None where each group must have some rows, and for another target.
        """
        if self.choices is not None or self.options.get("min_per_group") is not None:
            return None
        limits = self.limits
        order = rng.permutation(np.setdiff1d(np.arange(self.size), self.places(limits["include"])))
        held = max(round(share * self.size), 1)
        if held >= len(order):
            return None
        test = np.sort(order[:held][:MAX_COMPARED_ROWS])
        train = np.setdiff1d(np.arange(self.size), order[:held])
        masses = self.masses[test] / self.masses[test].sum()
        inner = float(masses @ self.block(test, test) @ masses)

        def judge(result: Result) -> float:
            assert result.weights is not None  # noqa: S101 - rows are entries
            units, q = train[result.indices], result.weights
            few = None if self.similarity == "precomputed" else result.rows
            cross = float(q @ self.block(units, test, few) @ masses)
            return max(float(q @ self.block(units, units, few, few) @ q) - 2.0 * cross + inner, 0.0)

        rows = (
            self.rows[np.ix_(train, train)] if self.similarity == "precomputed" else self.Z[train]
        )
        codes = None if self.codes is None else self.codes[train]
        weights = None if self.weights is None else self.weights[train]
        gamma = (
            self.comparison.similarity.gamma or self.gamma
        )  # rows and bandwidth in the units of all rows
        options = {"labels": codes, "sample_weight": weights, "standardize": False, **limits}
        options |= {
            name: np.searchsorted(train, self._within(limits[name], train))
            for name in ("include", "exclude")
        }
        if limits.get("groups") is not None:
            options["groups"] = limits["groups"][train]
        if self.moves:
            options["move"] = compared_move(
                self.options["move"], self.X, self.rows, self.comparison
            )
        if self.members is not None:
            options["units"] = self.members[train]
        part: dict[str, Any] = {
            "X": rows,
            "rows": rows,
            "codes": codes,
            "weights": weights,
            "used": None,
        }
        part |= {"names": None, "beside": {}, "gamma": gamma, "options": options, "ready": None}
        left = replace(self, **part)

        def rivals() -> Baselines:
            few = left.sample.rows
            return left.errors_on(
                replace(left.sample, b=self.block(train[few], test) @ masses, c=inner)
            )

        return Split(left, judge, rivals)

    @property
    def limits(self) -> dict[str, Any]:
        """What limits the points, as row numbers of X and labels of the rows that are used."""
        given: dict[str, Any] = {
            name: self.options[name] for name in LIMITS if name in self.options
        }
        held = Limits.of(self.X, self.X.shape[0], PointsOptions.of(given))
        given |= {"include": held.include, "exclude": held.exclude}
        if held.groups is not None:
            codes = held.groups.codes if self.used is None else held.groups.codes[self.used]
            given["groups"] = np.array(held.groups.names)[codes]
        return given

    def _within(self, rows: Indices, train: Indices) -> Indices:
        """Of rows of X those that are among the training rows, as numbers of used rows."""
        used = rows if self.used is None else self.places(np.intersect1d(rows, self.used))
        return np.intersect1d(used, train)


def positions(result: Result) -> Indices:
    """Where the points are in `indices`, heaviest first."""
    return np.searchsorted(result.indices, result.heaviest_first()[0])
