"""k weighted rows that stand for a whole data set."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..constraints.sparse_simplex import SparseSimplex
from ..door import Indices, InvalidInput, as_integer, as_number, known
from ..objectives._pairs import own_threads
from ..result import Result
from ..similarity import BANDED, SIMILARITIES, Similarity, bandwidth, from_matrix, similarity_of
from ..solvers import crowds, places
from ..solvers._drive import Callback, Steps, as_generator, drive
from ..spaces import Atoms
from ._bandwidth import validated_gamma
from ._sample import Sample, as_bytes, as_gram, as_rows
from ._target import Target, target_of


def points(
    X: Any,
    k: int,
    *,
    y: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    similarity: Any = "rbf",
    gamma: Any = "median",
    solver: str = "auto",
    max_memory: Any = "1GB",
    time_limit: float | None = None,
    rng: Any = None,
    callback: Callback | None = None,
) -> Result:
    """Choose k rows of X (N, d) and weights q on them, as near as possible to all rows in MMD.

        MMD²(q) = Σ q_i q_j s(x_i, x_j) - 2 Σ q_i t_j s(x_i, x_j) + Σ t_i t_j s(x_i, x_j),   q >= 0, Σ q = 1

    with t the weights of the rows (`sample_weight`, equal if None; a weight counts as so many equal rows). X is dense
    (float32 stays so), a DataFrame, or `scipy.sparse` for rbf, matern, cosine and linear. With labels `y` (N,)
    similarities across classes are zero ("local").

    `similarity`: "rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming" (codes), "precomputed" (X is
    the matrix), or a function of two blocks of rows; see `fewer.similarity`. `gamma`: a number, "median", "scale", or
    "cv" (needs y: the multiple of the median with the lowest cross-validated 1-NN error).

    Solvers: "greedy" (Algorithm 3, a full refit at each step), "iht" (Algorithm 1 with momentum and refits), "exchange"
    (swaps and kicks; with a `time_limit` until it is over), "exact" (until the optimum is proven; few rows only) and
    "auto": exchange, then for at most 120 rows some steps towards a proof; for at most 600 while a `time_limit` lasts.

    No N x N matrix is formed: mean similarities are summed in tiles, and `max_memory` (bytes, or "500MB") limits what
    is kept. Past 1e11 operations for all pairs some thousand rows drawn at random are the candidates, each compared
    with all rows, and the value is an estimate by random Fourier features (for hamming and functions: a sample stands
    for all); then the result's `error` is its standard error and `note` says what was done. A `time_limit` counts
    the comparisons too: a short one has this done for fewer rows already.

    The result's `support` are indices into X (of equal rows the first), `p` (N,) the weights, `value` MMD², `bound` a
    proven lower bound, at least 0.

    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    >>> result = points(X, 2, rng=0)
    >>> result.support.tolist(), result.p[result.support].round(2).tolist()
    ([0, 3], [0.4, 0.6])
    """
    setting = Setting(similarity, gamma, solver, as_bytes(max_memory), time_limit, callback)
    return setting.solve(X, k, y, sample_weight, rng).result


SPARSE = ("rbf", "matern32", "matern52", "cosine", "linear")
"""Similarities that compare sparse rows."""
Start = Callable[[Any, SparseSimplex, np.random.Generator, bool], Steps]
SOLVERS: dict[str, Start] = {
    "auto": crowds.auto,
    "exact": crowds.exact,
    "exchange": crowds.exchange,
    "greedy": crowds.greedy,
    "iht": lambda F, C, rng, patient: places.iht(F, C, rng),
}


@dataclass(frozen=True)
class Setting:
    """How points are chosen: everything but the data and k."""

    similarity: Any
    gamma: Any
    solver: str
    memory: int
    time_limit: float | None
    callback: Callback | None = None

    def check(self) -> None:
        """Refuse names and numbers that are none, before any work."""
        known(self.solver, SOLVERS, "solver")
        if not callable(self.similarity):
            known(self.similarity, {**SIMILARITIES, "precomputed": None}, "similarity")
        if isinstance(self.gamma, str):
            known(self.gamma, {"median": None, "scale": None, "cv": None}, "gamma")
        else:
            as_number(self.gamma, "gamma")
        if self.time_limit is not None:
            as_number(self.time_limit, "time_limit")

    def rows(self, X: Any) -> Any:
        """X in the form that the similarity compares: for precomputed ones, row numbers."""
        if isinstance(self.similarity, str) and self.similarity == "precomputed":
            return np.arange(len(as_gram(X)))[:, None]
        return as_rows(X, similarity_of(self.similarity).sparse)

    def comparison(self, X: Any, sample: Sample, k: int, rng: np.random.Generator) -> Similarity:
        """The similarity with its bandwidth."""
        if isinstance(self.similarity, str) and self.similarity == "precomputed":
            return from_matrix(as_gram(X))
        name = self.similarity
        if callable(name) or name not in BANDED:
            return similarity_of(name)
        if isinstance(self.gamma, str) and self.gamma == "cv":
            return similarity_of(name, validated_gamma(sample, k, name, self.memory, rng))
        return similarity_of(name, bandwidth(sample.rows, name, self.gamma, sample.weights) or 1.0)

    def solve(self, X: Any, k: int, y: Any, sample_weight: Any, rng: Any, most: bool = True) -> "Chosen":
        """Choose the points; with `most` False a k above the distinct rows means all of them."""
        with own_threads():
            return self._solve(X, k, y, sample_weight, rng, most)

    def _solve(self, X: Any, k: int, y: Any, sample_weight: Any, rng: Any, most: bool) -> "Chosen":
        began = time.perf_counter()
        self.check()
        generator, seed = as_generator(rng)
        k = as_integer(k, "k", 1)
        sample = Sample.of(self.rows(X), y, sample_weight, merge=self.similarity != "precomputed")
        distinct = len(sample.weights)
        k = as_integer(k if most else min(k, distinct), "k", 1, distinct, "distinct rows")
        if 8 * k * k > self.memory:
            raise InvalidInput(
                f"max_memory must hold k = {k} columns of at least {k} similarities, {8 * k * k} bytes, "
                f"got {self.memory}"
            )
        similarity = self.comparison(X, sample, k, generator)
        target = target_of(sample, similarity, k, self.memory, generator, self.time_limit)
        C = SparseSimplex(target.F.space, k)
        limit = None if self.time_limit is None else max(self.time_limit - (time.perf_counter() - began), 1e-3)
        steps = SOLVERS[self.solver](target.F, C, generator, limit is not None)
        found = drive(target.F, C, steps, time_limit=limit, callback=self.callback, seed=seed)
        result = on_rows(found, target, sample, time.perf_counter() - began)
        return Chosen(result, similarity, target, sample)


class Chosen(NamedTuple):
    """The points chosen, and what they were chosen from."""

    result: Result
    similarity: Similarity
    target: Target
    sample: Sample


def on_rows(found: Result, target: Target, sample: Sample, seconds: float) -> Result:
    """A result on candidates as one on all rows of X, its value judged anew where it was estimated."""
    chosen = sample.first[target.candidates]
    p = np.zeros(sample.size)
    p[chosen] = found.p
    value, error = target.judged(found.support, found.p[found.support])
    bound = min(max(found.bound or 0.0, 0.0), value)  # a squared distance is never negative
    return replace(
        found,
        p=p,
        value=value,
        support=np.sort(chosen[found.support]),
        bound=bound,
        history=found.history + (value - found.value),
        space=Atoms(sample.size),
        seconds=seconds,
        error=error,
        note=target.note,
    )


class FewerPoints(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """At most k weighted rows that stand for the rows of X in MMD; see `points`.

    After `fit`: `indices_` (k,) into X, heaviest first, `weights_` (k,) of sum one, `points_` (k, d), `value_` (MMD²),
    `mmd_`, `gamma_`, `bound_`, `gap_`, `result_`. `transform(X)` gives similarities to the points, (n, k);
    `fit_resample(X, y)` the chosen rows and their labels.

    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    >>> model = FewerPoints(k=2, random_state=0).fit(X)
    >>> model.indices_.tolist(), model.weights_.round(2).tolist(), model.transform(X).shape
    ([3, 0], [0.6, 0.4], (5, 2))
    """

    def __init__(
        self,
        k: int = 10,
        *,
        similarity: Any = "rbf",
        gamma: Any = "median",
        solver: str = "auto",
        max_memory: Any = "1GB",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.similarity = similarity
        self.gamma = gamma
        self.solver = solver
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> "FewerPoints":
        """Choose the points; with labels y similarities across classes are zero."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        chosen(self, X, y, sample_weight)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """The similarity of each row to each point, (n, k)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        if self.similarity == "precomputed":
            return np.asarray(X[:, self.indices_], np.float64)
        return np.asarray(fitted_similarity(self)(X.astype(np.float64), self.points_.astype(np.float64)), np.float64)

    def fit_resample(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Any:
        """The chosen rows of X, and their labels where y is given."""
        self.fit(X, y, sample_weight)
        rows = taken(X, self.indices_)
        return rows if y is None else (rows, taken(y, self.indices_))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns of `transform`: one for each point."""
        check_is_fitted(self)
        return np.array([f"fewerpoints{i}" for i in range(len(self.indices_))], object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.similarity in SPARSE
        tags.input_tags.pairwise = self.similarity == "precomputed"
        tags.transformer_tags.preserves_dtype = []
        return tags


def chosen(model: Any, X: Any, y: Any, sample_weight: Any) -> Chosen:
    """Fit an estimator's points, heaviest first; a k above the number of distinct rows means all of them."""
    known(model.solver, SOLVERS, "solver")
    solver = "exchange" if getattr(model, "refine", False) and model.solver == "auto" else model.solver  # no proof
    setting = Setting(model.similarity, model.gamma, solver, as_bytes(model.max_memory), model.time_limit)
    seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    found = setting.solve(X, model.k, y, sample_weight, seed, most=False)
    result, model.gamma_ = found.result, found.similarity.gamma
    model.indices_ = result.support[np.argsort(-result.p[result.support], kind="stable")]
    model.result_, model.weights_, model.points_ = result, result.p[model.indices_], X[model.indices_]
    model.value_, model.bound_, model.gap_ = result.value, result.bound, result.gap
    model.mmd_ = math.sqrt(max(result.value, 0.0))
    return found


def fitted_similarity(model: Any) -> Similarity:
    """The similarity of a fitted estimator."""
    return similarity_of(model.similarity, 1.0 if model.gamma_ is None else model.gamma_)


def taken(table: Any, indices: Indices) -> Any:
    """Rows of an array, a sparse matrix, a list, or a DataFrame or Series."""
    if hasattr(table, "iloc"):
        return table.iloc[indices]
    return table[indices] if hasattr(table, "shape") else np.asarray(table)[indices]
