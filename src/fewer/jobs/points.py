"""k weighted rows that stand for a whole data set."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import InvalidInput, gathered, is_frame, known, shown
from ..data.frames import take_rows
from ..deadline import Deadline
from ..result import Result
from ..similarity import similarity_of
from ..solvers.loop import Callback
from ..solvers.minimize import SOLVERS
from ._estimator import at_most, our_error, seed_of, unchanged_if_it_fails, validated
from ._given import is_encoded
from .sample import as_bytes
from .setting import SPARSE, Chosen, Comparison, Setting


def points(
    X: Any,
    k: int,
    *,
    labels: npt.ArrayLike | str | None = None,
    sample_weight: npt.ArrayLike | str | None = None,
    columns: Any = None,
    missing: str = "error",
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

    Of a table the numbers are scaled and the categories compared by equality:

        s(x, y) = exp(-gamma Σ_numbers (x_j - y_j)²) Π_categories exp(-2 gamma [x_c ≠ y_c])

    which is positive definite. Two random rows then differ by 2 in each scaled number, on average, and by 2 in each
    category in which they differ.

    Parameters
    ----------
    X : array, sparse matrix, or table of shape (N, d)
        A table is a DataFrame of pandas or polars or a Table of pyarrow, with numbers, booleans, texts and categories,
        dates and times. float32 stays float32; sparse rows are for rbf, matern, cosine and linear.
    k : int
        How many rows are kept, at most the number of distinct ones.
    labels : array of shape (N,) or str, optional
        Classes, or the name of their column in a table: similarities across classes are then zero ("local"). Many
        different floats are refused: they are no classes.
    sample_weight : array of shape (N,) or str, optional
        A weight counts as so many equal rows; or the name of a column of a table.
    columns : dict or list, optional
        A dict says what columns of a table are, {"age": "number", "plan": "category", "id": "ignore"}; the kinds are
        number, boolean, category, date and ignore. The others are inferred. Texts that are all different and
        different whole numbers in a column called id or such are identifiers, and texts that mostly differ are free
        text: both are left out, and `note` says so. A list names the only columns to use. Columns of an array are
        named by their numbers.
    missing : {"error", "drop", "impute", "category"}
        What is done about missing values: refused, their rows left out, replaced by the median or mode (weights
        count), or taken as a category of their own: a missing number is then the median, and mismatches all that are
        not missing.
    similarity : str or callable
        "rbf", "laplace", "matern32", "matern52", "cosine", "linear", "hamming" (codes), "precomputed" (X is the
        matrix), or a function of two blocks of rows; see `fewer.similarity`.
    gamma : float or {"median", "scale", "cv"}
        The bandwidth; "cv" needs labels: the multiple of the median with the lowest cross-validated 1-NN error. The
        rules see the rows as they are compared, a row as often as its weight says.
    standardize : bool or "auto"
        True brings each column to mean 0 and standard deviation 1 (constant ones to 0; weights count), False takes X as
        it is, and "auto" scales the columns of a table and takes arrays and sparse matrices as they are; so does
        the command for csv and parquet files, and npy. Codes (hamming) and what a function compares are never scaled
        by "auto", and categories never. `note` says when it was done.
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
        `indices` are rows of X (of equal rows the first), `rows` these rows in the container of X, `counts` how many
        rows each stands for, `value` is MMD², `bound` a proven lower bound over all rows, at least 0, or None where
        only some rows were candidates.

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
    how = (similarity, gamma, standardize, solver, as_bytes(max_memory), deadline, callback, columns, missing)
    return Setting(*how).solve(gathered(X), k, labels, sample_weight, rng).result


class FewerPoints(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """At most k weighted rows that stand for the rows of X in MMD; see `points`.

    `transform` gives the similarity of each row to each point, (n, k). `fit` ignores y, as transformers do, unless
    `by_label` is set. A fit that fails leaves the estimator as it was.

    Parameters
    ----------
    k : int
        How many rows are kept; a k above the number of distinct rows means all of them, with a warning.
    by_label : bool
        Whether y holds classes that are to be matched each by points of its own: similarities across them are zero.
    columns : dict or list, optional
        What the columns of a table are; see `points`.
    missing : {"error", "drop", "impute", "category"}
        What is done about missing values; see `points`. With "drop" rows to transform must have none.
    similarity : str or callable
        See `points`.
    gamma : float or {"median", "scale", "cv"}
        The bandwidth; see `points`. "cv" needs `by_label`.
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
    counts_ : ndarray of shape (k,)
        How many rows each stands for, weights times N (or the sum of the sample weights): what other estimators take
        as `sample_weight`.
    points_ : array, sparse matrix or table of shape (k, d)
        These rows.
    value_, mmd_ : float
        MMD² and its root.
    bound_, gap_ : float or None
        A proven lower bound on MMD², and how far the value is from it.
    gamma_ : float or None
        The bandwidth.
    mean_, scale_ : ndarray of shape (d,) or None
        What standardized columns were shifted and divided by; of a table its numbers and dates (in seconds).
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
        by_label: bool = False,
        columns: Any = None,
        missing: str = "error",
        similarity: Any = "rbf",
        gamma: Any = "median",
        standardize: Any = "auto",
        solver: str = "auto",
        max_memory: Any = "1GB",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.by_label = by_label
        self.columns = columns
        self.missing = missing
        self.similarity = similarity
        self.gamma = gamma
        self.standardize = standardize
        self.solver = solver
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> "FewerPoints":
        """Choose the points; y is ignored unless `by_label`: then similarities across its classes are zero."""
        deadline = Deadline.after(self.time_limit)
        with unchanged_if_it_fails(self):
            chosen(self, checked(self, X), labels_for(self, y), sample_weight, deadline)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """The similarity of each row to each point, (n, k)."""
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        if is_precomputed(self):
            return np.asarray(X[:, self.indices_], np.float64)
        comparison = fitted_comparison(self)
        rows, few = (comparison.rows(part, np.float64) for part in (X, self.points_))
        return np.asarray(comparison.similarity(rows, few), np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns of `transform`: one for each point."""
        check_is_fitted(self)
        return np.array([f"fewerpoints{i}" for i in range(len(self.indices_))], object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = isinstance(self.similarity, str) and self.similarity in SPARSE
        tags.input_tags.pairwise = is_precomputed(self)
        tags.input_tags.allow_nan = isinstance(self.missing, str) and self.missing in ("impute", "category", "drop")
        tags.target_tags.required = self.by_label is True
        tags.transformer_tags.preserves_dtype = []
        return tags


def is_precomputed(model: Any) -> bool:
    """Whether an estimator's X is the matrix of similarities."""
    return isinstance(model.similarity, str) and model.similarity == "precomputed"


def labels_for(model: Any, y: Any) -> Any:
    """The labels y where an estimator is to match classes, else None."""
    if not isinstance(model.by_label, (bool, np.bool_)):
        raise InvalidInput(f"by_label must be True or False, got {shown(model.by_label)}")
    if model.by_label and y is None:
        raise InvalidInput("by_label=True needs labels, got y=None")
    return y if model.by_label else None


def checked(model: Any, X: Any, **how: Any) -> Any:
    """X as scikit-learn checks it: a table by its names; arrays as float32 or float64, dense or CSR."""
    X = gathered(X)
    if how.get("reset", True):
        encodes = not is_precomputed(model) and is_encoded(X, model.columns, model.missing)
    else:
        encodes = model._encoding is not None
    if encodes and is_frame(X):
        with our_error():
            return validate_data(model, X, skip_check_array=True, **how)
    finite = "allow-nan" if encodes else True
    return validated(
        model, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=finite, missing=encodes, **how
    )


def chosen(model: Any, X: Any, labels: Any, sample_weight: Any, deadline: Deadline) -> Chosen:
    """Fit an estimator's points, heaviest first; a k above the number of distinct rows means all of them."""
    known(model.solver, SOLVERS, "solver")
    solver = "exchange" if getattr(model, "refine", False) and model.solver == "auto" else model.solver  # no proof
    how = (model.similarity, model.gamma, model.standardize, solver, as_bytes(model.max_memory), deadline)
    setting = Setting(*how, columns=model.columns, missing=model.missing)
    found = setting.solve(X, model.k, labels, sample_weight, seed_of(model.random_state), most=False)
    result, comparison = found.result, found.comparison
    model._scaling, model._width = comparison.scaling, (comparison.similarity.gamma, comparison.exponent)
    model._encoding = comparison.encoding
    model.mean_, model.scale_ = comparison.means_and_scales
    model.gamma_ = comparison.gamma
    at_most(model.k, len(found.sample.weights), "distinct rows")
    model.indices_, model.weights_ = result.heaviest_first()
    model.counts_ = model.weights_ * found.sample.total
    model.result_, model.points_ = result, take_rows(X, model.indices_)
    model.value_, model.bound_, model.gap_ = result.value, result.bound, result.gap
    model.mmd_ = math.sqrt(max(result.value, 0.0))
    return found


def fitted_comparison(model: Any) -> Comparison:
    """The similarity of a fitted estimator, and how rows are encoded and scaled for it."""
    gamma, exponent = model._width
    how = {"scaling": model._scaling, "encoding": model._encoding}
    if gamma is None:
        return Comparison(similarity_of(model.similarity), **how)
    return Comparison(similarity_of(model.similarity, gamma), model.gamma_, exponent, **how)
