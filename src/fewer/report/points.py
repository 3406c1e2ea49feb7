"""Studies of points: MMD² to all rows, beside random rows, random units and k-means."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Indices, Vector, as_generator
from ..deadline import Deadline
from ..jobs.points.options import PointsOptions
from ..jobs.points.points import PreparedRows, prepare
from ..result import Result
from ..tables.column import role
from ..tables.frames import is_table, names_of
from ..threads import own_threads
from .drawings import Plane, cloud, drawn_rows, plane_of
from .html import Html
from .study import Baselines, Split, Study, Table, heaviest_first, kept_table, table_of_rows, taken

Matrix = npt.NDArray[np.float64]
MAX_COMPARED_ROWS = 2000
"""Rows on which baselines and held-out errors are measured, at most: all pairs are compared."""
SHOWN_CRITICISMS = 10
"""Rows that the points represent worst that a page shows where no number was asked for."""
RANDOM_DRAWS = 10
"""Samples over which the error of random sampling is averaged."""
MAX_LANDMARKS = 200
"""Rows whose similarities stand for coordinates where rows have none."""
MAX_ROUNDS = 30
"""Rounds of k-means, at most."""
ROLES = ("labels", "sample_weight", "groups", "units")
"""Options that may name a column, which is then not compared."""


@dataclass(frozen=True, eq=False)
class PointsStudy(Study):
    """k weighted rows of X that stand for all rows, or for those of another target.

    `ready` has the rows as they are compared, with the bandwidth as a number in `options`, so that
    every k and every part of the data is measured alike. `names` are those of the columns of an
    array, `captions` further columns (N,) to show, `n_criticisms` how many of the worst represented
    rows are listed.
    """

    X: Any
    options: PointsOptions
    ready: PreparedRows
    names: Sequence[Any] | None = None
    captions: Mapping[str, Any] = field(default_factory=dict)
    n_criticisms: int = 0
    job = "points"
    unit = "points"
    metric = "MMD²"
    shares = frozenset({"weight"})

    @classmethod
    def of(
        cls,
        X: Any,
        k: int,
        seed: Any = 0,
        *,
        names: Sequence[Any] | None = None,
        captions: Mapping[str, Any] | None = None,
        n_criticisms: int = 0,
        **options: Any,
    ) -> "PointsStudy":
        """Make the study of `points` with these options; k is the largest that is asked for."""
        own = PointsOptions.of(options)
        ready = prepared(X, k, own, seed)
        width = ready.comparison.gamma
        if width is not None and 0.0 < width < math.inf:
            own = own.replace(gamma=width)
        shown = dict(captions or {})
        if own.labels is not None and not isinstance(own.labels, str):
            shown = {"label": np.asarray(own.labels), **shown}
        return cls(X, own, ready, names, shown, n_criticisms)

    @property
    def rows(self) -> Any:
        """The rows that are compared, encoded, (M, d): of X, and below them of another target."""
        return self.X if self.options.precomputed else self.ready.input.rows

    @cached_property
    def Z(self) -> Any:  # noqa: N802 - as statisticians write standardized rows
        """The rows as they are compared."""
        return self.ready.comparison.scaled(self.rows)

    @cached_property
    def size(self) -> int:
        """The number of rows of X to choose from."""
        return int(np.searchsorted(self.used, self.ready.sample.size))

    @property
    def largest_k(self) -> int:
        """The number of distinct rows with weight, where rows are chosen one by one."""
        return self.size if self.members is not None else len(self.ready.sample.weights)

    @property
    def scope(self) -> str:
        """What there is to choose from, in words."""
        return f"of {self.size} rows"

    @cached_property
    def used(self) -> Indices:
        """The rows of X and of the target that are compared."""
        return self.ready.input.kept

    @cached_property
    def stands(self) -> slice:
        """The rows that are stood for."""
        return slice(0 if self.options.target is None else self.size, None)

    @cached_property
    def masses(self) -> Vector:
        """The weights (M,) of the rows that are stood for, of sum one; zero for the others."""
        masses = np.array(self.ready.input.weights)
        masses[: self.stands.start] = 0.0
        return np.asarray(masses / masses.sum())

    @cached_property
    def classes(self) -> Indices | None:
        """The codes of labels, across which rows are not compared."""
        return self.ready.input.labels

    @cached_property
    def members(self) -> Indices | None:
        """The unit of each row that is compared, where whole units are kept."""
        units = self.options.units
        if units is None:
            return None
        if isinstance(units, str):
            column: Any = role(self.X, units, "units")
            units = column.levels.codes
        return np.unique(np.asarray(units)[self.used], return_inverse=True)[1].reshape(-1)

    def solve(self, k: int, **search: Any) -> Result:
        """Run the job on rows that were prepared once."""
        generator, seed = as_generator(search.pop("rng", None))
        deadline = Deadline.after(search.pop("time_limit", None))
        options = self.options.replace(deadline=deadline, **search)
        with own_threads(), np.errstate(invalid="ignore", over="ignore"):
            return self.ready.solve(k, options, generator, seed).result

    def error(self, result: Result) -> float:
        """Return MMD² to the rows that are stood for."""
        return result.value

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
        return own | self.captions_of(own["index"]) | table

    def captions_of(self, rows: Sequence[int]) -> Table:
        """Return further columns of some rows of X."""
        return {name: taken(np.asarray(values), rows) for name, values in self.captions.items()}

    def stands_for(self, result: Result) -> Table:
        """Return the points, heaviest first, with the rows that each is the most similar one of."""
        order = heaviest_first(result.weights)
        assigned = result.assignment[result.assignment >= 0]
        columns = {
            "index": result.indices,
            "rows": np.bincount(assigned, minlength=len(order)),
            "share of rows": result.shares,
            "weight": result.weights,
        }
        return {name: taken(values, order) for name, values in columns.items()}

    def criticisms(self, result: Result) -> Table:
        """Return the rows that the points represent worst."""
        most = len(self.used[self.stands])
        rows = result.criticisms(min(self.n_criticisms or SHOWN_CRITICISMS, most)).tolist()
        table: Table = {"index": rows}
        if self.options.target is not None:
            return table | table_of_rows(self.options.target, rows, self.names)
        table |= self.captions_of(rows)
        return (
            table if self.options.precomputed else table | table_of_rows(self.X, rows, self.names)
        )

    def tables(self, result: Result) -> dict[str, Table]:
        """Return the criticisms that were asked for."""
        return {"criticisms": self.criticisms(result)} if self.n_criticisms else {}

    @property
    def known_by_rows(self) -> bool:
        """Whether rows have coordinates, by which they are averaged and drawn."""
        return self.options.similarity not in ("precomputed", "hamming") and not sp.issparse(self.Z)

    @property
    def compared_names(self) -> list[str]:
        """The names of the columns that are compared, where they are known."""
        if self.names is not None or not is_table(self.X):
            return list(map(str, self.names or ()))
        roles = [getattr(self.options, name) for name in ROLES]
        return [str(name) for name in names_of(self.X) if not any(name is one for one in roles)]

    @cached_property
    def drawn(self) -> Indices:
        """The rows that are drawn behind the kept ones."""
        return drawn_rows(self.size)

    @cached_property
    def plane(self) -> Plane:
        """The map of the rows into two dimensions, as they are compared."""
        names = self.compared_names if self.known_by_rows else ()
        return plane_of(self.coordinates(self.drawn), names)

    def picture(self, result: Result, captions: Sequence[str]) -> Html | None:
        """Draw the kept rows among all."""
        order = heaviest_first(result.weights)
        rows, weights = self.coordinates(self.drawn), np.asarray(result.weights)[order]
        few = self.compared(result)[order]
        return cloud(self.plane, rows, few, weights, self.size, captions)

    def coordinates(self, places: Indices) -> Any:
        """Return rows as they are compared; else their similarities to some rows stand for them."""
        if self.known_by_rows:
            return self.Z[places]
        return self.block(places, self.drawn[:: -(-len(self.drawn) // MAX_LANDMARKS)])

    def compared(self, result: Result) -> Any:
        """Return the kept rows as they are compared."""
        if self.options.moves and self.known_by_rows:
            return self.ready.comparison.rows(result.rows, np.float64)
        return self.coordinates(np.searchsorted(self.used, result.indices))

    def block(self, some: Indices, others: Indices) -> Matrix:
        """Return the similarities between rows; zero across labels."""
        if self.options.precomputed:
            K = self.rows[np.ix_(some, others)]
        else:
            K = self.ready.comparison.similarity(self.Z[some], self.Z[others])
        return np.asarray(K * self.alike(some, others), np.float64)

    def alike(self, some: Indices, others: Indices) -> Any:
        """Return where rows have the same label."""
        if self.classes is None:
            return 1.0
        return self.classes[some][:, None] == self.classes[others][None, :]

    def discrepancy(self, result: Result, test: Indices, within: float) -> float:
        """Return MMD² between an answer and some rows, whose mean similarity is `within`."""
        t = self.masses[test] / self.masses[test].sum()
        q, places = np.asarray(result.weights), np.searchsorted(self.used, result.indices)
        if self.options.moves:
            few, similarity = self.compared(result), self.ready.comparison.similarity
            inner = similarity(few, few) * self.alike(places, places)
            cross = similarity(few, self.Z[test]) * self.alike(places, test)
        else:
            inner, cross = self.block(places, places), self.block(places, test)
        return max(float(q @ inner @ q - 2.0 * (q @ cross @ t)) + within, 0.0)

    @property
    def baselines(self) -> Baselines:
        """The error of each baseline."""
        return self.baselines_on(self.masses)

    def baselines_on(self, masses: Vector) -> Baselines:
        """Return the errors of random rows or units, and of k-means, to rows of these masses (M,)."""
        rivals = Rivals(self, masses)
        if self.members is not None:
            return {"random units": rivals.random_units}
        if not self.known_by_rows or len(self.used) > MAX_COMPARED_ROWS:
            return {"random sampling": rivals.random_rows}
        return {"random sampling": rivals.random_rows, "k-means": rivals.snapped}

    def split(self, share: float, rng: np.random.Generator) -> Split | None:
        """Hold out some rows, which then have no weight; the error there is MMD² to them.

        Rows that must be kept are not held out. None where each group must have some rows, and for
        another target.
        """
        if self.options.target is not None or self.options.min_per_group is not None:
            return None
        include = np.searchsorted(self.used, self.ready.limits.include)
        order = rng.permutation(np.setdiff1d(np.arange(self.size), include))
        held = max(round(share * self.size), 1)
        if held >= len(order):
            return None
        weights = np.zeros(self.ready.sample.size)
        weights[self.used] = self.masses
        weights[self.used[order[:held]]] = 0.0
        options = self.weighted(weights)
        train = replace(self, options=options, ready=prepared(self.X, 1, options, 0))
        test = np.sort(order[:held][:MAX_COMPARED_ROWS])
        masses = np.zeros(len(self.used))
        masses[test] = self.masses[test]
        within = self.mean_similarity(test, masses[test])
        error = partial(self.discrepancy, test=test, within=within)
        return Split(train, error, train.baselines_on(masses))

    def weighted(self, weights: Vector) -> PointsOptions:
        """Return the options with other weights (N,) of the rows of X."""
        column, columns = self.options.sample_weight, self.options.columns
        if isinstance(column, str) and not isinstance(columns, list):
            columns = {**(columns or {}), column: "ignore"}
        return self.options.replace(sample_weight=weights, columns=columns)

    def mean_similarity(self, rows: Indices, masses: Vector) -> float:
        """Return the mean similarity within rows of these masses."""
        return float(masses @ self.block(rows, rows) @ masses) / float(masses.sum()) ** 2


def prepared(X: Any, k: int, options: PointsOptions, seed: Any) -> PreparedRows:
    """Return the rows of X ready to be compared."""
    with own_threads():
        return prepare(X, k, options, np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class Rivals:
    """Baselines among some rows of a study, whose errors are MMD² to rows of these masses (M,)."""

    study: PointsStudy
    masses: Vector

    @cached_property
    def rows(self) -> Indices:
        """The rows of X with weight that may be chosen, or a random sample of them."""
        study = self.study
        rows = np.arange(study.size)
        if study.options.target is None:
            rows = np.flatnonzero(study.masses > 0.0)
        return sampled(rows)

    @cached_property
    def target(self) -> Indices:
        """The rows with mass, or a random sample of them."""
        return sampled(np.flatnonzero(self.masses > 0.0))

    @cached_property
    def t(self) -> Vector:
        """The masses of the target's rows, of sum one."""
        masses = self.masses[self.target]
        return np.asarray(masses / masses.sum())

    @cached_property
    def shares(self) -> Vector:
        """The masses of the rows to choose from, of sum one."""
        masses = self.study.masses[self.rows]
        if self.study.options.target is not None:
            masses = np.ones(len(self.rows))
        return np.asarray(masses / masses.sum())

    @cached_property
    def parts(self) -> tuple[Matrix, Vector, float]:
        """Similarities K between the rows, b of each with the target, and c within the target."""
        block, t = self.study.block, self.t
        cross, inner = block(self.rows, self.target), block(self.target, self.target)
        return block(self.rows, self.rows), cross @ t, float(t @ inner @ t)

    def error(self, q: Vector) -> float:
        """Return qᵀKq - 2 qᵀb + c."""
        K, b, c = self.parts
        return max(float(q @ (K @ q) - 2.0 * (q @ b) + c), 0.0)

    def random_rows(self, k: int) -> float:
        """Return the mean error of k random rows of equal weight."""
        rng, m = np.random.default_rng(1), len(self.rows)
        again = k > m or bool(np.ptp(self.shares) > 0.0)
        draws = [rng.choice(m, k, replace=again, p=self.shares) for _ in range(RANDOM_DRAWS)]
        return float(np.mean([self.error(np.bincount(draw, minlength=m) / k) for draw in draws]))

    def random_units(self, k: int) -> float:
        """Return the mean error of k random units of equal weight.

        Infinite where there are fewer.
        """
        members = np.asarray(self.study.members)[self.rows]
        total = np.bincount(members, self.shares)
        units = np.flatnonzero(total)
        if k > len(units):
            return math.inf
        rng = np.random.default_rng(1)
        draws = [rng.choice(units, k, replace=False) for _ in range(RANDOM_DRAWS)]
        q = self.shares / total[members] / k
        return float(np.mean([self.error(np.isin(members, draw) * q) for draw in draws]))

    def snapped(self, k: int) -> float:
        """Return the error of the rows nearest to k-means centres, weighted by their clusters."""
        Z, fitted = self.study.Z[self.rows], self.rows
        if self.study.options.target is not None:
            fitted = self.target
        weights = self.study.masses[fitted]
        k = min(k, len(fitted))
        from sklearn.cluster import KMeans  # here: it is slow to import
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.metrics import pairwise_distances_argmin

        with own_threads(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct rows than k
            model = KMeans(k, n_init=1, max_iter=MAX_ROUNDS, random_state=0)
            model.fit(self.study.Z[fitted], sample_weight=weights)
            nearest = pairwise_distances_argmin(model.cluster_centers_, Z)
        clusters = np.bincount(model.labels_, weights, k) / weights.sum()
        return self.error(np.asarray(np.bincount(nearest, clusters, len(Z)), np.float64))


def sampled(rows: Indices) -> Indices:
    """Return the rows, or as many of them as are compared pair by pair, at random."""
    if len(rows) <= MAX_COMPARED_ROWS:
        return rows
    return np.sort(np.random.default_rng(0).choice(rows, MAX_COMPARED_ROWS, replace=False))
