"""Studies of points: MMD² to all rows, beside random rows, random units and k-means."""

import math
import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, Vector, as_generator
from ..deadline import Deadline
from ..jobs.points.options import PointsOptions
from ..jobs.points.points import prepare
from ..result import Result
from ..tables.frames import is_table, names_of, take_rows
from ..threads import own_threads
from .charts import Html, cloud, drawn_rows
from .study import Baselines, Halves, Study, Table, halves, kept_table, row_columns, taken

MAX_COMPARED_ROWS = 2000
"""Rows on which baselines and held-out errors are measured, at most: all pairs are compared."""
SHOWN_CRITICISMS = 10
"""Rows that the points represent worst that a page shows where no number was asked for."""
RANDOM_DRAWS = 10
"""Samples over which the error of random sampling is averaged."""
MAX_ROUNDS = 30
"""Rounds of k-means, at most."""


class PointsStudy(Study):
    """k weighted rows of X that stand for all rows, or for those of another target.

    Rows are prepared once, so that every k and every part of the data is measured alike; k is the
    largest that is asked for. `names` are those of the columns of an array, `captions` further
    columns (N,) to show, `n_criticisms` how many of the worst represented rows are listed. `masses`
    (M,) are the weights of the rows that are stood for, of those with `held_out` only some.
    """

    job = "points"
    unit = "points"
    metric = "MMD²"
    shares = frozenset({"weight", "share of rows"})
    held_out = False

    def __init__(
        self,
        X: Any,
        options: PointsOptions,
        k: int = 1,
        seed: Any = 0,
        *,
        names: Sequence[Any] | None = None,
        captions: Mapping[str, Any] | None = None,
        n_criticisms: int | None = None,
    ) -> None:
        with own_threads():
            self.ready = prepare(X, k, options, np.random.default_rng(seed))
        self.X, self.options, self.names = X, options, names
        self.captions, self.n_criticisms = dict(captions or {}), n_criticisms
        gamma = self.ready.comparison.gamma
        if gamma is not None and 0.0 < gamma < math.inf:
            self.options = options.replace(gamma=gamma)
        if options.labels is not None and not isinstance(options.labels, str):
            self.captions = {"label": np.asarray(options.labels), **self.captions}
        entry = self.ready.input
        self.used = entry.kept
        self.size = int(np.searchsorted(self.used, self.ready.sample.size))
        self.masses = np.array(entry.weights, np.float64)
        if options.target is not None:
            self.masses[: self.size] = 0.0
        self.masses /= self.masses.sum()
        self.members = None
        if self.ready.units is not None:
            self.members = self.ready.units.codes[self.used]

    @cached_property
    def Z(self) -> Any:  # noqa: N802 - as statisticians write standardized rows
        """The rows as they are compared: of X, and below them of another target."""
        rows = self.ready.input.rows
        return rows if self.options.precomputed else self.ready.comparison.scaled(rows)

    @property
    def largest_k(self) -> int:
        """The number of distinct rows with weight, where rows are chosen one by one."""
        return self.size if self.members is not None else len(self.ready.sample.weights)

    @property
    def scope(self) -> str:
        """What there is to choose from, in words."""
        return f"of {self.size} rows"

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job on rows that were prepared once."""
        generator, seed = as_generator(search.pop("rng", None))
        deadline = Deadline.after(search.pop("time_limit", None))
        options = self.options.replace(deadline=deadline, **search)
        with own_threads(), np.errstate(invalid="ignore", over="ignore"):
            return self.ready.solve(k, options, generator, seed).result

    def facts(self, result: Result) -> dict[str, float]:
        """Return MMD² and its root, and the bandwidth."""
        target = "all rows" if self.options.target is None else "the target"
        facts = {f"MMD² to {target}": result.value, "MMD": math.sqrt(max(result.value, 0.0))}
        gamma = self.options.gamma
        return facts if isinstance(gamma, str) else {**facts, "gamma": gamma}

    def kept(self, result: Result) -> Table:
        """Return the rows with their weights, heaviest first."""
        table = kept_table(result, self.names)
        own = {name: table.pop(name) for name in ("index", "weight")}
        return own | taken(self.captions, own["index"]) | table

    def stands_for(self, result: Result) -> Table:
        """Return the points, heaviest first, with the rows that each is the most similar one of."""
        assigned = result.assignment[result.assignment >= 0]
        columns = {
            "index": result.indices,
            "rows": np.bincount(assigned, minlength=len(result.indices)),
            "share of rows": result.shares,
            "weight": result.weights,
        }
        return taken(columns, np.argsort(-np.asarray(result.weights), kind="stable"))

    def criticisms(self, result: Result) -> Table:
        """Return the rows that the points represent worst."""
        most = len(self.used) if self.options.target is None else len(self.used) - self.size
        rows = result.criticisms(min(self.n_criticisms or SHOWN_CRITICISMS, most))
        table: Table = {"index": rows.tolist()}
        X = self.options.target
        if X is None:
            X = self.X
            table |= taken(self.captions, rows)
        return (
            table
            if self.options.precomputed
            else table | row_columns(take_rows(X, rows), self.names)
        )

    def tables(self, result: Result) -> dict[str, Table]:
        """Return the criticisms that were asked for."""
        return {"criticisms": self.criticisms(result)} if self.n_criticisms else {}

    def details(self, result: Result) -> list[tuple[str, str, Table]]:
        """Return what each point represents, and the rows that the points represent worst."""
        shares = (
            "The rows that are more similar to this point than to any other, beside its weight."
        )
        worst = "The rows that the points represent worst, the worst first."
        return [
            ("What each point represents", shares, self.stands_for(result)),
            ("Criticisms", worst, self.criticisms(result)),
        ]

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the kept rows among all, where rows have coordinates."""
        if not self.has_coordinates:
            return None
        drawn, order = drawn_rows(self.size), np.argsort(-np.asarray(result.weights), kind="stable")
        names = self.names or (names_of(self.X) if is_table(self.X) else ())
        names = [str(name) for name in names] if len(names) == self.Z.shape[1] else []
        points, weights = self.compared(result)[order], np.asarray(result.weights)[order]
        return cloud(self.Z[drawn], points, weights, self.size, captions, names)

    @property
    def has_coordinates(self) -> bool:
        """Whether rows can be averaged and drawn."""
        return self.options.similarity not in ("precomputed", "hamming") and not sp.issparse(self.Z)

    def compared(self, result: Result) -> Any:
        """Return the kept rows as they are compared."""
        if self.options.moves:
            return self.ready.comparison.rows(result.rows, np.float64)
        return self.Z[np.searchsorted(self.used, result.indices)]

    def similarities(self, rows: Any, places: Indices, others: Any, at: Indices) -> Any:
        """Return similarities of rows, which have the labels of these places; zero across labels."""
        K, labels = self.ready.comparison.similarity(rows, others), self.ready.input.labels
        return K if labels is None else K * (labels[places][:, None] == labels[at])

    @cached_property
    def target(self) -> tuple[Indices, Vector, float]:
        """The rows that are stood for, or a sample of them: places, weights, mean similarity."""
        rows = sampled(np.flatnonzero(self.masses))
        t = self.masses[rows] / self.masses[rows].sum()
        return rows, t, float(t @ self.similarities(self.Z[rows], rows, self.Z[rows], rows) @ t)

    def discrepancy(self, rows: Any, places: Indices, q: Vector) -> float:
        """Return MMD² between rows of these weights and those that are stood for."""
        target, t, within = self.target
        inner = self.similarities(rows, places, rows, places)
        cross = self.similarities(rows, places, self.Z[target], target)
        return max(float(q @ inner @ q - 2.0 * (q @ cross @ t)) + within, 0.0)

    def error(self, result: Result) -> float:
        """Return MMD² to the rows that are stood for."""
        if not self.held_out:
            return float(result.value)
        places = np.searchsorted(self.used, result.indices)
        return self.discrepancy(self.compared(result), places, np.asarray(result.weights))

    def baselines(self, test: "PointsStudy") -> Baselines:
        """Return the errors of random rows or units, and of k-means, to the rows of a study."""
        rows, masses = np.arange(self.size), np.ones(self.size)
        if self.options.target is None:
            rows = sampled(np.flatnonzero(self.masses))
            masses = self.masses[rows]
        shares = masses / masses.sum()

        def error(places: Indices, q: Vector) -> float:
            return test.discrepancy(test.Z[places], places, q)

        def random_rows(k: int) -> float:
            rng, even = np.random.default_rng(1), np.full(k, 1 / k)
            again = k > len(rows) or bool(np.ptp(shares) > 0.0)
            draws = [rng.choice(rows, k, replace=again, p=shares) for _ in range(RANDOM_DRAWS)]
            return float(np.mean([error(draw, even) for draw in draws]))

        def random_units(k: int) -> float:
            members = np.asarray(self.members)[rows]
            total = np.bincount(members, shares)
            units = np.flatnonzero(total)
            if k > len(units):
                return math.inf
            rng = np.random.default_rng(1)
            draws = [rng.choice(units, k, replace=False) for _ in range(RANDOM_DRAWS)]
            q = shares / total[members] / k
            drawn = [np.isin(members, draw) for draw in draws]
            return float(np.mean([error(rows[each], q[each]) for each in drawn]))

        def means(k: int) -> float:
            fitted = np.flatnonzero(self.masses)
            return error(*snapped_means(self.Z, fitted, self.masses[fitted], rows, k))

        if self.members is not None:
            return {"random units": random_units}
        if self.has_coordinates and len(self.used) <= MAX_COMPARED_ROWS:
            return {"random sampling": random_rows, "k-means": means}
        return {"random sampling": random_rows}

    def split(self, share: float, rng: np.random.Generator) -> Halves:
        """Hold out some rows, which then have no weight; the error there is MMD² to them.

        Rows that must be kept are not held out. None where each group must have some rows, and for
        another target.
        """
        if self.options.target is not None or self.options.min_per_group is not None:
            return None
        include = np.searchsorted(self.used, self.ready.limits.include)
        rows = np.setdiff1d(np.arange(self.size), include)
        parts = halves(rows, max(round(share * self.size), 1), rng)
        if parts is None:
            return None
        weights = np.zeros(self.ready.sample.size)
        weights[self.used] = self.masses
        weights[self.used[parts[1]]] = 0.0
        column, columns = self.options.sample_weight, self.options.columns
        if isinstance(column, str) and not isinstance(columns, list):
            columns = {**(columns or {}), column: "ignore"}
        options = self.options.replace(sample_weight=weights, columns=columns)
        test = copy(self)
        test.held_out, test.masses = True, np.zeros(len(self.used))
        test.masses[parts[1]] = self.masses[parts[1]]
        test.__dict__.pop("target", None)
        return PointsStudy(self.X, options), test


def sampled(rows: Indices) -> Indices:
    """Return the rows, or as many of them as are compared pair by pair, at random."""
    if len(rows) <= MAX_COMPARED_ROWS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MAX_COMPARED_ROWS, replace=False))


def snapped_means(
    Z: Any, fitted: Indices, weights: Vector, rows: Indices, k: int
) -> tuple[Indices, Vector]:
    """Return the rows that are nearest to k-means centres, and the shares of their clusters."""
    from sklearn.cluster import KMeans  # here: it is slow to import
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import pairwise_distances_argmin

    k = min(k, len(fitted))
    with own_threads(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct rows than k
        model = KMeans(k, n_init=1, max_iter=MAX_ROUNDS, random_state=0)
        model.fit(Z[fitted], sample_weight=weights)
        nearest = pairwise_distances_argmin(model.cluster_centers_, Z[rows])
    return rows[nearest], np.bincount(model.labels_, weights, k) / weights.sum()
