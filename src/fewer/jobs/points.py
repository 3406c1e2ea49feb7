"""k weighted rows that stand for a whole data set."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._validation import Indices, known
from ..deadline import Deadline
from ..result import Result
from ..similarity import similarity_of
from ..solvers._drive import Callback
from ._estimator import seed_of, unchanged_if_it_fails, validated
from ._sample import as_bytes
from ._scaling import standardizes
from ._setting import SOLVERS, SPARSE, Chosen, Comparison, Setting


def points(
    X: Any,
    k: int,
    *,
    y: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    similarity: Any = "rbf",
    gamma: Any = "median",
    standardize: Any = "auto",
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
    "cv" (needs y: the multiple of the median with the lowest cross-validated 1-NN error). The rules see the rows as
    they are compared, a row as often as its weight says.

    `standardize`: True brings each column to mean 0 and standard deviation 1 (constant ones to 0; weights count), False
    takes X as it is, and "auto" scales the columns of a DataFrame and takes arrays and sparse matrices as they are; so
    does the command for csv and parquet files, and npy. Codes (hamming) and what a function compares are never scaled
    by "auto". `note` says when it was done.

    Solvers: "greedy" (Algorithm 3, a full refit at each step), "iht" (Algorithm 1 with momentum and refits), "exchange"
    (swaps and kicks; with a `time_limit` until it is over), "exact" (until the optimum is proven; few rows only) and
    "auto": exchange, then for at most 120 rows some steps towards a proof; for at most 600 while a `time_limit` lasts.

    No N x N matrix is formed: mean similarities are summed in tiles. `max_memory` (bytes, or "500MB") limits what is
    taken beside X, where X is an array of floats or CSR; anything else is first copied into one. Past 1e11 operations
    for all pairs some thousand rows drawn at random are the candidates, each compared with all rows, and the value is
    an estimate by random Fourier features (for hamming and functions: a sample stands for all); then the result's
    `error` is its standard error, `bound` is None, and `note` says what was done. A `time_limit` is wall time for the
    whole call, compiling included: a short one has this done for fewer rows already.

    The result's `support` are indices into X (of equal rows the first), `p` (N,) the weights, `value` MMD², `bound` a
    proven lower bound over all rows, at least 0, or None where only some rows were candidates.

    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    >>> result = points(X, 2, rng=0)
    >>> result.support.tolist(), result.p[result.support].round(2).tolist()
    ([0, 3], [0.4, 0.6])
    """
    deadline = Deadline.after(time_limit)
    setting = Setting(similarity, gamma, standardize, solver, as_bytes(max_memory), deadline, callback)
    return setting.solve(X, k, y, sample_weight, rng).result


class FewerPoints(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """At most k weighted rows that stand for the rows of X in MMD; see `points`.

    After `fit`: `indices_` (k,) into X, heaviest first, `weights_` (k,) of sum one, `points_` (k, d), `value_` (MMD²),
    `mmd_`, `gamma_`, `bound_`, `gap_`, `result_`; `mean_` and `scale_` (d,) of columns that were standardized, else
    None. `transform(X)` gives similarities to the points, (n, k); `fit_resample(X, y)` the chosen rows and their
    labels. A fit that fails leaves the estimator as it was.

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
        standardize: Any = "auto",
        solver: str = "auto",
        max_memory: Any = "1GB",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.similarity = similarity
        self.gamma = gamma
        self.standardize = standardize
        self.solver = solver
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> "FewerPoints":
        """Choose the points; with labels y similarities across classes are zero."""
        deadline = Deadline.after(self.time_limit)
        with unchanged_if_it_fails(self):
            scales = standardizes(self.standardize, X, self.similarity)
            chosen(self, checked(self, X), y, sample_weight, scales, deadline)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """The similarity of each row to each point, (n, k)."""
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        if is_precomputed(self):
            return np.asarray(X[:, self.indices_], np.float64)
        comparison = fitted_comparison(self)
        rows, few = (comparison.rows(part.astype(np.float64)) for part in (X, self.points_))
        return np.asarray(comparison.similarity(rows, few), np.float64)

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
        tags.input_tags.sparse = isinstance(self.similarity, str) and self.similarity in SPARSE
        tags.input_tags.pairwise = is_precomputed(self)
        tags.transformer_tags.preserves_dtype = []
        return tags


def is_precomputed(model: Any) -> bool:
    """Whether an estimator's X is the matrix of similarities."""
    return isinstance(model.similarity, str) and model.similarity == "precomputed"


def checked(model: Any, X: Any, *y: Any, **how: Any) -> Any:
    """X (and y) as scikit-learn checks them: float32 or float64, dense or CSR."""
    return validated(model, X, *y, accept_sparse="csr", dtype=[np.float64, np.float32], **how)


def chosen(model: Any, X: Any, y: Any, sample_weight: Any, scales: bool, deadline: Deadline) -> Chosen:
    """Fit an estimator's points, heaviest first; a k above the number of distinct rows means all of them."""
    known(model.solver, SOLVERS, "solver")
    solver = "exchange" if getattr(model, "refine", False) and model.solver == "auto" else model.solver  # no proof
    setting = Setting(model.similarity, model.gamma, scales, solver, as_bytes(model.max_memory), deadline)
    found = setting.solve(X, model.k, y, sample_weight, seed_of(model.random_state), most=False)
    result, comparison = found.result, found.comparison
    model._scaling, model._width = comparison.scaling, (comparison.similarity.gamma, comparison.exponent)
    model.mean_ = None if comparison.scaling is None else comparison.scaling.means
    model.scale_ = None if comparison.scaling is None else comparison.scaling.scales
    model.gamma_ = comparison.gamma
    model.indices_ = result.support[np.argsort(-result.p[result.support], kind="stable")]
    model.result_, model.weights_, model.points_ = result, result.p[model.indices_], X[model.indices_]
    model.value_, model.bound_, model.gap_ = result.value, result.bound, result.gap
    model.mmd_ = math.sqrt(max(result.value, 0.0))
    return found


def fitted_comparison(model: Any) -> Comparison:
    """The similarity of a fitted estimator, and how rows are scaled for it."""
    gamma, exponent = model._width
    if gamma is None:
        return Comparison(similarity_of(model.similarity), scaling=model._scaling)
    return Comparison(similarity_of(model.similarity, gamma), model.gamma_, exponent, 0, model._scaling)


def taken(table: Any, indices: Indices) -> Any:
    """Rows of an array, a sparse matrix, a list, or a DataFrame or Series."""
    if hasattr(table, "iloc"):
        return table.iloc[indices]
    if sp.issparse(table) and table.format in ("bsr", "coo", "dia"):  # which have no rows to take
        table = table.tocsr()
    return table[indices] if hasattr(table, "shape") else np.asarray(table)[indices]
