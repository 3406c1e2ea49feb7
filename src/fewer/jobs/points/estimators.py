"""k points as estimators of scikit-learn: the transformer `FewerPoints`, the sampler `FewerSampler`, their base."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..._validation import InvalidInput, as_flag, gathered, is_frame
from ...options import option
from ...result import Result
from ...tables.frames import take_rows
from ...tables.source import Block, head_of, is_lazy, lazily, source_of
from ..estimator import (
    Estimator,
    Learned,
    at_most,
    check_columns,
    our_error,
    validated,
    with_target,
)
from .answer import Answer
from .bandwidth import first_best
from .blocks import choose_points, error_bound, solve_summary, streamed_plan
from .explain import criticisms
from .one_pass import Coreset, OnePassPlan, kept_for
from .options import GROUP_LIMITS, SPARSE, WEIGHT_LIMITS, PointsOptions
from .rows import is_encoded


class PointsEstimator(Estimator):
    """k points chosen by `fit`, kept in attributes."""

    _encoding: Any = None
    counts_: Any = Learned()
    weights_: Any = Learned("weights")
    gamma_: Any = Learned()
    mean_: Any = Learned()
    mmd_: Any = Learned()
    points_: Any = Learned()
    scale_: Any = Learned()

    @property
    def _precomputed(self) -> bool:
        """Whether X is the matrix of similarities."""
        return isinstance(self.similarity, str) and self.similarity == "precomputed"

    def _labels(self, y: Any, by_label: bool) -> Any:
        """Return the labels y where classes are to be matched, else None."""
        by_label = as_flag(by_label, "by_label")
        if by_label and y is None:
            raise InvalidInput("by_label=True needs labels, got y=None")
        return y if by_label else None

    def _checked(self, X: Any, reset: bool = True) -> Any:
        """Check X as scikit-learn does: a table by its names.

        Arrays as float32 or float64, dense or CSR.
        """
        if is_lazy(X):
            X = source_of(X) if isinstance(X, Iterator) else X
            self._checked(head_of(X), reset)
            return X
        X = gathered(X)
        encodes = self._encoding is not None
        if reset or self._stream is not None:
            encodes = encodes and not reset
            encodes = encodes or (not self._precomputed and is_encoded(X, self))
        if encodes and is_frame(X):
            check_columns(self, X, reset)
            return X
        how = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": reset}
        finite = "allow-nan" if encodes else True
        return validated(self, X, missing=encodes, ensure_all_finite=finite, **how)

    def _choose(self, X: Any, options: PointsOptions) -> Answer:
        """Choose the points; a k above the number of distinct rows means all of them."""
        answer = choose_points(X, self.k, options, most=False)
        self.result_ = self._kept(answer, X)
        return answer

    def _kept(self, answer: Answer, X: Any) -> Result:
        """Set what is not read from the result, and return that.

        `X` holds the rows where it does not.
        """
        result, comparison = answer.result, answer.comparison
        self._encoding = comparison.encoding
        self.mean_, self.scale_ = comparison.means_and_scales
        self.gamma_ = comparison.gamma
        at_most(self.k, len(answer.sample.weights), "distinct rows")
        self.points_ = take_rows(X, result.indices) if result.rows is None else result.rows
        self.counts_ = np.asarray(result.weights) * answer.sample.total
        self.mmd_ = math.sqrt(max(result.value, 0.0))
        return result

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = isinstance(self.similarity, str) and self.similarity in SPARSE
        tags.input_tags.pairwise = self._precomputed
        return tags


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TransformerOptions(PointsOptions):
    """Options of points, and whether y holds classes."""

    by_label: bool = option(
        False,
        "bool",
        "Whether y holds classes, each of which gets points of its own: similarities across classes"
        " are zero.",
        as_flag,
    )


class FewerPoints(
    TransformerMixin,  # type: ignore[misc] # scikit-learn is untyped
    PointsEstimator,
    options=TransformerOptions,
):
    """At most k weighted rows that represent the rows of X in MMD; see `points`.

    `transform` gives the similarity of each row to each point, (n, k); with missing="drop" rows to
    transform must have no missing values. `fit` ignores y, as transformers do, unless `by_label` is
    set. A fit that fails leaves the estimator as it was.

    Parameters
    ----------
    k : int
        How many rows are kept; a k above the number of distinct rows means all of them, with a
        warning.
    {options}

    Attributes
    ----------
    indices_, weights_ : ndarray of shape (k,)
        The rows that were kept, in ascending order, and their weights.
    counts_ : ndarray of shape (k,)
        How many rows each represents, weights times N (or the sum of the sample weights): what
        other estimators take as `sample_weight`.
    points_ : array, sparse matrix or table of shape (k, d)
        These rows; with `move` where they have moved to.
    value_, mmd_ : float
        MMD² and its root.
    bound_, gap_ : float or None
        A proven lower bound on MMD², and how far the value is from it.
    gamma_ : float or None
        The bandwidth.
    mean_, scale_ : ndarray of shape (d,) or None
        What standardized columns were shifted and divided by; of a table its numbers and dates (in
        seconds).
    result_ : Result

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1], [5.2]]
    >>> model = FewerPoints(k=2, random_state=0).fit(X)
    >>> model.indices_.tolist(), model.weights_.round(2).tolist(), model.transform(X).shape
    ([0, 3], [0.4, 0.6], (5, 2))
    """

    error_bound_: Any = Learned()

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
        """Choose the points.

        y is ignored unless `by_label`: then similarities across its classes are zero.

        What is said of single rows is given here: `include`, `exclude`, `groups`, and a `target`;
        see `points`.
        """
        rows = {
            "labels": self._labels(y, self.by_label),
            "sample_weight": sample_weight,
            "include": include,
            "exclude": exclude,
            "groups": groups,
            "target": target,
            "target_weight": target_weight,
        }
        with self._fitting(**rows) as options:
            self._choose(self._checked(X), options)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> "FewerPoints":
        """Learn from more rows of a stream, in memory that does not grow with them.

        Weighted rows stand for all rows so far, at an MMD that is proven to be at most
        `error_bound_` less the root of `value_`. How columns are encoded, scaled and compared is
        decided by the first call, which should hold some hundred rows or more. `indices_` are
        positions in the stream; `value_` is MMD² to the rows that stand for all, `bound_` is 0, and
        `error_bound_` a proven bound on the MMD of the points to all rows so far. The points are
        chosen when one of these is first asked for.
        """
        with self._restored():
            options = self._options(
                labels=self._labels(y, self.by_label), sample_weight=sample_weight
            )
            first = self._stream is None
            X = self._checked(X, reset=first)
            block = Block(X, options.labels, options.sample_weight)
            if first:
                self._plan = streamed_plan(block, self.k, options)
                self._encoding = self._plan.comparison.encoding
            self._update(Coreset.of(block, OnePassPlan(self._plan, kept_for(self.k))))
        return self

    def _solved(self, summary: Coreset, options: PointsOptions) -> Result:
        """Return the result for the weighted rows that stand for all rows so far."""
        choice = solve_summary(summary, self.k, options, self._plan.first.seed, most=False)
        self.error_bound_ = error_bound(choice.result)
        return self._kept(choice, None)

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Compute the similarity of each row to each point, (n, k).

        Of data in blocks block by block, when asked for.
        """
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self._similarities, len(self.indices_))  # type: ignore[no-any-return]
        return self._similarities(X)

    def _similarities(self, X: Any) -> npt.NDArray[np.float64]:
        """Compute the similarity of each row to each point as an array, whatever container `set_output` asks for."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        if self._precomputed:
            return np.asarray(X[:, self.indices_], np.float64)
        comparison = self.result_.compared
        rows, few = (comparison.rows(part, np.float64) for part in (X, self.points_))
        return np.asarray(comparison.similarity(rows, few), np.float64)

    def assign(self, X: Any) -> npt.NDArray[np.int64]:
        """Find the most similar point of each row, as a position in `indices_` and `points_`, (n,).

        See `fewer.assign`.
        """
        if is_lazy(X):
            return lazily(X, self.assign, None, np.int64)  # type: ignore[no-any-return]
        return first_best(self._similarities(X)).astype(np.int64)

    def criticisms(self, n: int, method: str = "residual", X: Any = None) -> npt.NDArray[np.int64]:
        """List the n rows that the points represent worst, the worst first; see `fewer.criticisms`.

        They are rows of what was fitted (of its target, if it had one), which `result_` holds by
        reference: it is not stored with the model. Of a loaded model give X.
        """
        check_is_fitted(self)
        if X is None:
            return np.asarray(self.result_.criticisms(n, method))
        return criticisms(self.result_, self._checked(X, reset=False), n, method)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return names of the columns of `transform`: one for each point."""
        check_is_fitted(self)
        return np.array([f"fewerpoints{i}" for i in range(len(self.indices_))], object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing in ("impute", "category", "drop")
        tags.target_tags.required = self.by_label is True
        tags.transformer_tags.preserves_dtype = []
        return tags


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SamplerOptions(PointsOptions):
    """Options of points, and whether y holds classes."""

    by_label: bool = option(
        True,
        "bool",
        "Whether each class of y gets points of its own. With False, y is only returned for the"
        " kept rows; it may be continuous.",
        as_flag,
    )


class FewerSampler(
    PointsEstimator, options=SamplerOptions, withheld=("move", *GROUP_LIMITS, *WEIGHT_LIMITS)
):
    """k rows that represent all rows in MMD, with their labels: a sampler for imbalanced-learn.

    See `points`.

    In a pipeline of imbalanced-learn it takes effect in `fit` only. It has no `transform`: for the
    similarities to the points use `FewerPoints`.

    Parameters
    ----------
    k : int
        How many rows are kept; a k above the number of distinct rows means all of them, with a
        warning.
    {options}

    Attributes
    ----------
    sample_indices_ : ndarray of shape (k,)
        The rows that were kept, in ascending order.
    weights_, counts_ : ndarray of shape (k,)
        Their weights, and how many rows each represents.
    result_ : Result

    Examples
    --------
    >>> X, y = [[0.0], [0.1], [5.0], [5.1], [5.2]], ["a", "a", "b", "b", "b"]
    >>> FewerSampler(k=2, random_state=0).fit_resample(X, y)[1].tolist()
    ['a', 'b']
    """

    sample_indices_: Any = Learned("indices")

    def fit_resample(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> Any:
        """Return the chosen rows of X, and their labels where y is given, in the containers that they came in.

        y may name a column of the table X.
        """
        X, y = with_target(X, y)
        labels = self._labels(y, self.by_label)
        with self._fitting(labels=labels, sample_weight=sample_weight) as options:
            rows = self._checked(X)
            if y is not None:
                with our_error():
                    check_consistent_length(rows, y)
            self._choose(rows, options)
        few = take_rows(X, self.sample_indices_)
        return few if y is None else (few, take_rows(y, self.sample_indices_))

    def fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> "FewerSampler":
        """Choose the rows."""
        self.fit_resample(X, y, sample_weight)
        return self
