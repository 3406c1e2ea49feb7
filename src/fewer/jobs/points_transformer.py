"""`FewerPoints`: the job points as a scikit-learn transformer."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import InvalidInput, gathered, is_frame, known, shown
from ..data.blocks import head_of, is_lazy, lazily, refuse_for_blocks, reread
from ..data.frames import take_rows
from ..deadline import Deadline
from ..progress import as_verbose, watched_by_user
from ..solvers.loop import Callback
from ..solvers.minimize import SOLVERS
from ._aim import Aim, as_aim
from ._estimator import Shown, Streaming, at_most, our_error, seed_of, unchanged_if_it_fails, validated
from ._given import is_encoded
from ._held import UNLIMITED, Limits
from ._points_blocks import points_of_blocks
from ._points_stream import answered_points, continued
from .bandwidth import first_best
from .comparison import Comparison, comparison_of
from .explain import criticisms
from .sample import as_bytes
from .setting import SPARSE, Chosen, Setting

LIMITS = ("min_per_group", "max_per_group", "min_weight", "max_weight", "equal_weights")
"""Parameters that limit which rows are kept, and their weights."""


class FewerPoints(Shown, Streaming, TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """At most k weighted rows that represent the rows of X in MMD; see `points`.

    `transform` gives the similarity of each row to each point, (n, k). `fit` ignores y, as transformers do, unless
    `by_label` is set. A fit that fails leaves the estimator as it was.

    Parameters
    ----------
    k : int
        How many rows are kept; a k above the number of distinct rows means all of them, with a warning.
    by_label : bool
        Whether y holds classes, each of which gets points of its own: similarities across classes are zero.
    columns : dict or list, optional
        What the columns of a table are; see `points`.
    missing : {"error", "drop", "impute", "category"}
        How to treat missing values; see `points`. With "drop" rows to transform must have none.
    move : bool, "free", pair or dict
        Whether points may leave their rows, and to where; see `points`.
    min_per_group, max_per_group : int, dict or list, optional
        How many rows of each group are kept; see `points`. The `groups` are given to `fit`.
    min_weight, max_weight : float
        The weight of a row that is kept lies between them.
    equal_weights : bool
        Exactly k rows of weight 1 / k.
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
        Wall time in seconds, but for compiling; a search goes on until it is over or the optimum is proven.
    random_state : None, int or RandomState
        Seed or generator of the random choices.
    verbose : int
        1 shows a progress bar, in a terminal or a notebook.

    Attributes
    ----------
    indices_, weights_ : ndarray of shape (k,)
        The rows that were kept, in ascending order, and their weights.
    counts_ : ndarray of shape (k,)
        How many rows each represents, weights times N (or the sum of the sample weights): what other estimators take
        as `sample_weight`.
    points_ : array, sparse matrix or table of shape (k, d)
        These rows; with `move` where they have moved to.
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
    ([0, 3], [0.4, 0.6], (5, 2))
    """

    def __init__(
        self,
        k: int = 10,
        *,
        by_label: bool = False,
        columns: Any = None,
        missing: str = "error",
        move: Any = False,
        min_per_group: Any = None,
        max_per_group: Any = None,
        min_weight: float = 0.0,
        max_weight: float = 1.0,
        equal_weights: bool = False,
        similarity: Any = "rbf",
        gamma: Any = "median",
        standardize: Any = "auto",
        solver: str = "auto",
        max_memory: Any = "1GB",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.by_label = by_label
        self.columns = columns
        self.missing = missing
        self.move = move
        self.min_per_group = min_per_group
        self.max_per_group = max_per_group
        self.min_weight = min_weight
        self.max_weight = max_weight
        self.equal_weights = equal_weights
        self.similarity = similarity
        self.gamma = gamma
        self.standardize = standardize
        self.solver = solver
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        include: Any = (),
        exclude: Any = (),
        groups: Any = None,
        target: Any = None,
        target_weight: npt.ArrayLike | str | None = None,
    ) -> "FewerPoints":
        """Choose the points; y is ignored unless `by_label`: then similarities across its classes are zero.

        What is said of single rows is given here: `include`, `exclude`, `groups`, and a `target`; see `points`.
        """
        deadline = Deadline.after(self.time_limit)
        with unchanged_if_it_fails(self):
            self._no_stream()
            limits = Limits(include, exclude, groups, **{name: getattr(self, name) for name in LIMITS})
            aim = as_aim(target, target_weight)
            chosen(self, checked(self, X), labels_for(self, y), sample_weight, deadline, limits, aim)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> "FewerPoints":
        """Learn from more rows of a stream, in memory that does not grow with them.

        Weighted rows stand for all rows so far, at an MMD that is proven to be at most `error_bound_` less the root of
        `value_`. How columns are encoded, scaled and compared is decided by the first call, which should hold some
        hundred rows or more. `indices_` are positions in the stream; `value_` is MMD² to the rows that stand for all,
        `bound_` is 0, and `error_bound_` a proven bound on the MMD of the points to all rows so far. The points are
        chosen when one of these is first asked for.
        """
        as_verbose(self.verbose)
        refuse_for_blocks(min_per_group=self.min_per_group, max_per_group=self.max_per_group)
        with unchanged_if_it_fails(self):
            first = vars(self).get("_stream") is None
            X = checked(self, X, reset=first)
            self._streamed(continued(self, None if first else self._stream, X, labels_for(self, y), sample_weight))
            self._encoding = self._stream.plan.comparison.encoding
        return self

    def _answer(self) -> None:
        answered(self)

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """The similarity of each row to each point, (n, k); of data in blocks block by block, when asked for."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self._similarities, len(self.indices_))  # type: ignore[no-any-return]
        return self._similarities(X)

    def _similarities(self, X: Any) -> npt.NDArray[np.float64]:
        """The similarity of each row to each point as an array, whatever container `set_output` asks for."""
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        if is_precomputed(self):
            return np.asarray(X[:, self.indices_], np.float64)
        comparison = fitted_comparison(self)
        rows, few = (comparison.rows(part, np.float64) for part in (X, self.points_))
        return np.asarray(comparison.similarity(rows, few), np.float64)

    def assign(self, X: Any) -> npt.NDArray[np.int64]:
        """The most similar point of each row, as a position in `indices_` and `points_`, (n,); see `fewer.assign`."""
        if is_lazy(X):
            return lazily(X, self.assign, None, np.int64)  # type: ignore[no-any-return]
        return first_best(self._similarities(X)).astype(np.int64)

    def criticisms(self, n: int, method: str = "residual", X: Any = None) -> npt.NDArray[np.int64]:
        """The n rows that the points represent worst, the worst first; see `fewer.criticisms`.

        They are rows of what was fitted (of its target, if it had one), which `result_` holds by reference: it is not
        stored with the model. Of a loaded model give X.
        """
        check_is_fitted(self)
        if X is None:
            return np.asarray(self.result_.criticisms(n, method))
        return criticisms(self.result_, checked(self, X, reset=False), n, method)

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
    if is_lazy(X):
        X = reread(X)
        checked(model, head_of(X), **how)
        return X
    X = gathered(X)
    if how.get("reset", True):
        encodes = not is_precomputed(model) and is_encoded(X, model.columns, model.missing)
    else:
        streams = vars(model).get("_stream") is not None and is_encoded(X, model.columns, model.missing)
        encodes = model._encoding is not None or streams
    if encodes and is_frame(X):
        with our_error():
            return validate_data(model, X, skip_check_array=True, **how)
    finite = "allow-nan" if encodes else True
    return validated(
        model, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=finite, missing=encodes, **how
    )


def chosen(
    model: Any,
    X: Any,
    labels: Any,
    sample_weight: Any,
    deadline: Deadline,
    limits: Limits = UNLIMITED,
    aim: Aim | None = None,
) -> Chosen:
    """Fit an estimator's points; a k above the number of distinct rows means all of them."""
    seed = seed_of(model.random_state)
    with watched_by_user(as_verbose(model.verbose), type(model).__name__, deadline, None) as told:
        setting = setting_of(model, deadline, told, limits, aim)
        if is_lazy(X):
            found = points_of_blocks(X, model.k, labels, sample_weight, setting, seed, most=False)
        else:
            found = setting.solve(X, model.k, labels, sample_weight, seed, most=False)
    keep(model, found, X)
    return found


def setting_of(
    model: Any,
    deadline: Deadline,
    callback: Callback | None = None,
    limits: Limits = UNLIMITED,
    aim: Aim | None = None,
) -> Setting:
    """How an estimator chooses points."""
    known(model.solver, SOLVERS, "solver")
    solver = "exchange" if getattr(model, "refine", False) and model.solver == "auto" else model.solver  # no proof
    how = (model.similarity, model.gamma, model.standardize, solver, as_bytes(model.max_memory), deadline)
    more = {name: getattr(model, name) for name in ("move",) if hasattr(model, name)}
    return Setting(
        *how, callback=callback, columns=model.columns, missing=model.missing, limits=limits, aim=aim, **more
    )


def answered(model: Any) -> None:
    """Set what `fit` promises, by what is kept of a stream."""
    limits = Limits(**{name: getattr(model, name) for name in LIMITS})
    setting = setting_of(model, Deadline.after(model.time_limit), limits=limits)
    found, error = answered_points(model._stream, setting, model.k)
    keep(model, found, None)
    model.error_bound_ = error


def keep(model: Any, found: Chosen, X: Any) -> None:
    """Set what `fit` promises; `X` holds the rows where the result does not."""
    result, comparison = found.result, found.comparison
    model._encoding = comparison.encoding
    model.mean_, model.scale_ = comparison.means_and_scales
    model.gamma_ = comparison.gamma
    at_most(model.k, len(found.sample.weights), "distinct rows")
    model.indices_, model.weights_ = result.indices, result.weights
    model.counts_ = model.weights_ * found.sample.total
    model.result_ = result
    model.points_ = take_rows(X, result.indices) if result.rows is None else result.rows
    model.value_, model.bound_, model.gap_ = result.value, result.bound, result.gap
    model.mmd_ = math.sqrt(max(result.value, 0.0))


def fitted_comparison(model: Any) -> Comparison:
    """The similarity of a fitted estimator, and how rows are encoded and scaled for it."""
    return comparison_of(model.result_.compared)
