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
from ..solvers.loop import Callback
from ..solvers.minimize import SOLVERS
from ._estimator import at_most, seed_of, unchanged_if_it_fails, validated
from ._scaling import standardizes
from .sample import as_bytes
from .setting import SPARSE, Chosen, Comparison, Setting


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
    """Choose k rows of X and weights q on them, as near as possible to all rows in MMD.

        MMD²(q) = Σ q_i q_j s(x_i, x_j) - 2 Σ q_i t_j s(x_i, x_j) + Σ t_i t_j s(x_i, x_j),   q >= 0, Σ q = 1

    with t the weights of the rows. No N x N matrix is formed: mean similarities are summed in tiles. Past 1e11
    operations for all pairs some thousand rows drawn at random are the candidates, each compared with all rows, and the
    value is an estimate by random Fourier features (for hamming and functions: a sample stands for all); then
    `value_se` is its standard error, `bound` is None, and `note` says what was done.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (N, d)
        float32 stays float32; sparse rows are for rbf, matern, cosine and linear.
    k : int
        How many rows are kept, at most the number of distinct ones.
    y : array of shape (N,), optional
        Labels: similarities across classes are then zero ("local").
    sample_weight : array of shape (N,), optional
        A weight counts as so many equal rows.
    similarity : str or callable
        "rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming" (codes), "precomputed" (X is the
        matrix), or a function of two blocks of rows; see `fewer.similarity`.
    gamma : float or {"median", "scale", "cv"}
        The bandwidth; "cv" needs y: the multiple of the median with the lowest cross-validated 1-NN error. The rules
        see the rows as they are compared, a row as often as its weight says.
    standardize : bool or "auto"
        True brings each column to mean 0 and standard deviation 1 (constant ones to 0; weights count), False takes X as
        it is, and "auto" scales the columns of a DataFrame and takes arrays and sparse matrices as they are; so does
        the command for csv and parquet files, and npy. Codes (hamming) and what a function compares are never scaled
        by "auto". `note` says when it was done.
    solver : {"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}
        "greedy" is Algorithm 3 with a full refit at each step, "iht" Algorithm 1 with momentum and refits,
        "frank_wolfe" the convex relaxation with its answer projected, "exchange" a local search with perturbations,
        "exact" goes on until the optimum is proven (few rows only), and "auto" is "exchange", then for few rows some
        steps towards a proof.
    max_memory : int or str
        Bytes, or "500MB": limits what is taken beside X, where X is an array of floats or CSR; anything else is first
        copied into one.
    time_limit : float, optional
        Wall time in seconds for the whole call, compiling included. A short one has fewer rows compared.
    rng : None, int or Generator
        The random choices.
    callback : callable, optional
        Sees the progress, and stops the run by returning something true.

    Returns
    -------
    Result
        `indices` are rows of X (of equal rows the first), `value` is MMD², `bound` a proven lower bound over all rows,
        at least 0, or None where only some rows were candidates.

    References
    ----------
    Gretton et al. (2012), A kernel two-sample test. Kim, Khanna and Koyejo (2016), Examples are not enough, learn to
    criticize!

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    >>> result = points(X, 2, rng=0)
    >>> result.indices.tolist(), result.weights.round(2).tolist()
    ([0, 3], [0.4, 0.6])
    """
    deadline = Deadline.after(time_limit)
    setting = Setting(similarity, gamma, standardize, solver, as_bytes(max_memory), deadline, callback)
    return setting.solve(X, k, y, sample_weight, rng).result


class FewerPoints(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """At most k weighted rows that stand for the rows of X in MMD; see `points`.

    `transform` gives the similarity of each row to each point, (n, k); `fit_resample` the chosen rows and their labels.
    A fit that fails leaves the estimator as it was.

    Parameters
    ----------
    k : int
        How many rows are kept; a k above the number of distinct rows means all of them, with a warning.
    similarity : str or callable
        See `points`.
    gamma : float or {"median", "scale", "cv"}
        The bandwidth; see `points`.
    standardize : bool or "auto"
        Whether columns are scaled; see `points`.
    solver : {"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}
        See `points`.
    max_memory : int or str
        Bytes, or "500MB".
    time_limit : float, optional
        Wall time in seconds.
    random_state : None, int or RandomState
        The random choices.

    Attributes
    ----------
    indices_, weights_ : ndarray of shape (k,)
        The rows that were kept, heaviest first, and their weights.
    points_ : array or sparse matrix of shape (k, d)
        These rows.
    value_, mmd_ : float
        MMD² and its root.
    bound_, gap_ : float or None
        A proven lower bound on MMD², and how far the value is from it.
    gamma_ : float or None
        The bandwidth.
    mean_, scale_ : ndarray of shape (d,) or None
        What standardized columns were shifted and divided by.
    result_ : Result

    Examples
    --------
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
    at_most(model.k, len(found.sample.weights), "distinct rows")
    model.indices_, model.weights_ = result.heaviest_first()
    model.result_, model.points_ = result, X[model.indices_]
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
