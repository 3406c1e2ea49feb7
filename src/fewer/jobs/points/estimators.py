"""k points as estimators of scikit-learn: a transformer, a sampler, a nearest-neighbour classifier."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from ..._validation import Indices, InvalidInput, Vector, as_flag, gathered, is_frame, read
from ...deadline import Deadline
from ...options import option
from ...result import Result, Status
from ...tables.frames import index_of, take_rows
from ...tables.source import Block, head_of, is_lazy, lazily, source_of
from ...threads import own_threads
from ..estimator import (
    Estimator,
    Learned,
    at_most,
    check_columns,
    our_error,
    validated,
    with_target,
)
from .blocks import error_bound, solve_summary, streamed_plan
from .comparison import Comparison, first_best, log_similarities
from .explain import criticisms
from .options import GROUP_LIMITS, SPARSE, WEIGHT_LIMITS, PointsOptions, as_gamma
from .passes import Coreset
from .points import choose_points
from .refine import swap_points
from .rows import as_labels, is_encoded
from .target import Answer

SEARCH_TIME_SHARE = 0.8
"""The share of a time limit after which the points of a classifier are refined."""


class PointsEstimator(Estimator):
    """k points chosen by `fit`, kept in attributes."""

    _encoding: Any = None
    counts_: Any = Learned("counts")
    weights_: Any = Learned("weights")
    gamma_: Any = Learned()
    mean_: Any = Learned()
    mmd_: Any = Learned()
    points_: Any = Learned()
    scale_: Any = Learned()

    @property
    def _precomputed(self) -> bool:
        """Whether X is the matrix of similarities."""
        return bool(self.similarity == "precomputed")

    def _labels(self, y: Any) -> Any:
        """Return the labels y where classes are to be matched, else None."""
        if not as_flag(self.by_label, "by_label"):
            return None
        if y is None:
            raise InvalidInput("by_label=True needs labels, got y=None")
        return y

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
            encodes = not self._precomputed and is_encoded(X, self)
        if encodes and is_frame(X):
            check_columns(self, X, reset)
            return X
        how = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "reset": reset}
        finite = "allow-nan" if encodes else True
        return validated(self, X, ensure_all_finite=finite, **how)

    def _choose(self, X: Any, options: PointsOptions) -> Answer:
        """Choose the points; a k above the number of distinct rows means all of them."""
        answer = choose_points(X, self.k, options, most=False)
        at_most(self.k, len(answer.sample.weights), "distinct rows")
        self.result_ = self._learned(answer.result, X)
        return answer

    def _learned(self, result: Result, X: Any) -> Result:
        """Set what is not read from the result, and return that; `X` holds the rows where it does not."""
        comparison = result.compared or Comparison(self.similarity)
        self._encoding = comparison.encoding
        self.mean_, self.scale_ = comparison.means_and_scales
        self.gamma_ = comparison.gamma
        self.points_ = take_rows(X, result.indices) if result.rows is None else result.rows
        self.mmd_ = math.sqrt(max(result.value, 0.0))
        return result

    def _compared(self, X: Any, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
        """Return rows and points as they are compared, and their similarity."""
        check_is_fitted(self)
        X, comparison = self._checked(X, reset=False), self.result_.compared
        rows, few = (comparison.rows(part, dtype) for part in (X, self.points_))
        return rows, few, comparison.similarity

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.similarity in SPARSE
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
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc] # scikit-learn is untyped
    TransformerMixin,  # type: ignore[misc]
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
        sample_weight: Any = None,
        *,
        include: Any = (),
        exclude: Any = (),
        groups: Any = None,
        target: Any = None,
        target_weight: Any = None,
    ) -> "FewerPoints":
        """Choose the points.

        y is ignored unless `by_label`: then similarities across its classes are zero.

        What is said of single rows is given here: `include`, `exclude`, `groups`, and a `target`;
        see `points`.
        """
        rows = {"include": include, "exclude": exclude, "groups": groups}
        rows |= {"target": target, "target_weight": target_weight}
        labels = self._labels(y)
        with self._fitting(labels=labels, sample_weight=sample_weight, **rows) as options:
            self._choose(self._checked(X), options)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FewerPoints":
        """Learn from more rows of a stream, in memory that does not grow with them.

        Weighted rows stand for all rows so far, at an MMD that is proven to be at most
        `error_bound_` less the root of `value_`. How columns are encoded, scaled and compared is
        decided by the first call, which should hold some hundred rows or more. `indices_` are
        positions in the stream; `value_` is MMD² to the rows that stand for all, `bound_` is 0, and
        `error_bound_` a proven bound on the MMD of the points to all rows so far. The points are
        chosen when one of these is first asked for.
        """
        with self._restored():
            options = self._options(labels=self._labels(y), sample_weight=sample_weight)
            first = self._stream is None
            X = self._checked(X, reset=first)
            block = Block(X, options.labels, options.sample_weight)
            if first:
                self._plan = streamed_plan(block, self.k, options)
                self._encoding = self._plan.comparison.encoding
            self._update(Coreset.of(block, self._plan))
        return self

    def _solved(self, summary: Coreset, options: PointsOptions) -> Result:
        """Return the result for the weighted rows that stand for all rows so far."""
        answer = solve_summary(summary, self.k, options, self._plan.first.seed, most=False)
        at_most(self.k, len(answer.sample.weights), "distinct rows")
        self.error_bound_ = error_bound(answer.result)
        return self._learned(answer.result, None)

    def transform(self, X: Any) -> Vector:
        """Compute the similarity of each row to each point, (n, k).

        Of data in blocks block by block, when asked for.
        """
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self._similarities, len(self.indices_))  # type: ignore[no-any-return]
        return self._similarities(X)

    def _similarities(self, X: Any) -> Vector:
        """Compute the similarity of each row to each point as an array, whatever container `set_output` asks for."""
        if self._precomputed:
            check_is_fitted(self)
            return np.asarray(self._checked(X, reset=False)[:, self.indices_], np.float64)
        rows, few, similarity = self._compared(X)
        return np.asarray(similarity(rows, few), np.float64)

    def assign(self, X: Any) -> Indices:
        """Find the most similar point of each row, as a position in `indices_` and `points_`, (n,).

        See `fewer.assign`.
        """
        if is_lazy(X):
            return lazily(X, self.assign, None, np.int64)  # type: ignore[no-any-return]
        return first_best(self._similarities(X)).astype(np.int64)

    def criticisms(self, n: int, method: str = "residual", X: Any = None) -> Indices:
        """List the n rows that the points represent worst, the worst first; see `fewer.criticisms`.

        They are rows of what was fitted (of its target, if it had one), which `result_` holds by
        reference: it is not stored with the model. Of a loaded model give X.
        """
        check_is_fitted(self)
        if X is None:
            return np.asarray(self.result_.criticisms(n, method))
        return criticisms(self.result_, self._checked(X, reset=False), n, method)

    @property
    def _n_features_out(self) -> int:
        """The number of columns of `transform`: one for each point."""
        return len(self.indices_)

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

    def fit_resample(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return the chosen rows of X, and their labels where y is given, in the containers that they came in.

        y may name a column of the table X.
        """
        X, y = with_target(X, y)
        labels = self._labels(y)
        with self._fitting(labels=labels, sample_weight=sample_weight) as options:
            rows = self._checked(X)
            if y is not None:
                with our_error():
                    check_consistent_length(rows, y)
            self._choose(rows, options)
        few = take_rows(X, self.sample_indices_)
        return few if y is None else (few, take_rows(y, self.sample_indices_))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "FewerSampler":
        """Choose the rows."""
        self.fit_resample(X, y, sample_weight)
        return self


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClassifierOptions(PointsOptions):
    """Options of points, and whether they are refined."""

    gamma: Any = option(
        "cv",
        'float or {"median", "scale", "cv"}',
        'The bandwidth, or a rule for it. "cv" takes the multiple of the median with the lowest'
        " cross-validated 1-NN error.",
        as_gamma,
    )
    refine: bool = option(
        True,
        "bool",
        "Whether points are then swapped for other rows as long as that lowers a margin loss of the"
        " nearest-point rule on X. This lowers the error and raises MMD a little.",
        as_flag,
    )


class FewerPointsClassifier(
    ClassifierMixin,  # type: ignore[misc] # scikit-learn is untyped
    PointsEstimator,
    options=ClassifierOptions,
    withheld=("move", *GROUP_LIMITS, *WEIGHT_LIMITS),
):
    """Predict the label of the nearest of at most k rows, which represent each class in MMD (the paper's section 4.2).

    The rows are those of `points` with labels: similarities across classes are zero, so each class
    is matched by points of its own, as many as it needs.

    Parameters
    ----------
    k : int
        How many rows are kept; a k above the number of distinct rows means all of them, with a
        warning.
    {options}

    Attributes
    ----------
    classes_ : ndarray
        The labels there are.
    indices_, labels_ : ndarray of shape (k,)
        The rows that were kept, and their labels.
    weights_ : ndarray of shape (k,)
        Their best weights in MMD; some may be zero.
    counts_ : ndarray of shape (k,)
        How many rows each represents: weights times N (or the sum of the sample weights).
    points_ : array, sparse matrix or table of shape (k, d)
        These rows.
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
        These points; where some were swapped, with the value at their best weights.

    References
    ----------
    Bien and Tibshirani (2011), Prototype selection for interpretable classification.

    Examples
    --------
    >>> X, y = [[0.0], [0.2], [1.0], [4.0], [4.4]], ["a", "a", "a", "b", "b"]
    >>> FewerPointsClassifier(k=2, random_state=0).fit(X, y).predict([[0.5], [3.0]]).tolist()
    ['a', 'b']
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "FewerPointsClassifier":
        """Choose the points of all classes together."""
        with self._fitting(sample_weight=sample_weight) as options:
            X, y = with_target(X, y)
            X, y = self._checked(X), self._checked_labels(X, y)
            chosen = options.replace(labels=y)
            if options.refine:
                until = options.deadline.share(SEARCH_TIME_SHARE)
                solver = "exchange" if options.solver == "auto" else options.solver
                chosen = chosen.replace(deadline=until, solver=solver)  # nothing is to be proven
            answer = self._choose(X, chosen)
            if options.refine and len(self.classes_) > 1:
                with own_threads():
                    result = swapped(answer, X, options.deadline)
                self.result_ = self._learned(result, X)
            self.labels_ = y[self.indices_]
        return self

    def _checked_labels(self, X: Any, y: Any) -> Any:
        """The labels as scikit-learn checks those of a classifier: classes, one for each row."""
        if y is None:
            raise InvalidInput(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        labels = read(y, "y")
        if labels.dtype == object and labels.ndim == 1:
            as_labels(labels, len(labels))  # says what cannot be sorted
        with our_error(), np.errstate(invalid="ignore"):  # whether huge labels are whole
            labels = _check_y(labels, multi_output=False, y_numeric=False, estimator=self)
            check_consistent_length(X, labels)
            check_classification_targets(labels)
            self.classes_ = np.unique(labels)
        return np.asarray(labels)

    def predict(self, X: Any) -> Any:
        """The label of the nearest point: nearest in distance, or most similar where there is none."""
        likeliest = self._class_scores(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])

    def predict_proba(self, X: Any) -> Vector:
        """How likely each class is, by the nearest point of each, (n, classes).

        The likeliest one is `predict`.

            P(c | x) = s_c / Σ s_c',   s_c the similarity of x to the most similar point of class c

        For similarities without a bandwidth (cosine, linear, a function, precomputed) s_c is exp of
        that similarity. They are not calibrated.
        """
        scores = self._class_scores(X)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _class_scores(self, X: Any) -> Vector:
        """The logarithm of the similarity of each row to the nearest point of each class, (n, classes).

        Of classes that only rounding tells apart the first has the largest.
        """
        check_is_fitted(self)
        if self._precomputed:
            scores = np.asarray(self._checked(X, reset=False)[:, self.indices_], np.float64)
        else:
            scores = log_similarities(*self._compared(X, None))
        best = np.full((len(scores), len(self.classes_)), -np.inf)
        for code, label in enumerate(self.classes_):
            best[:, code] = scores.max(axis=1, where=self.labels_ == label, initial=-np.inf)
        best[np.arange(len(best)), first_best(best)] = best.max(axis=1)
        return best

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose label is predicted."""
        check_is_fitted(self)
        with our_error():
            return float(super().score(X, y, sample_weight))


def swapped(answer: Answer, X: Any, deadline: Deadline) -> Result:
    """Swap points for others that classify better, and weigh them anew."""
    result, F, sample = answer.result, answer.target.F, answer.sample.take(answer.target.candidates)
    units = np.flatnonzero(np.isin(sample.first, result.indices))
    mass = sample.weights / sample.weights.sum()
    rng = np.random.default_rng(result.seed)
    units = np.sort(swap_points(F.rows, F.labels, mass, units, F.similarity, rng, deadline))
    units = units[np.argsort(sample.first[units])]
    weights, indices = F.best_on(units)[units], sample.first[units]
    value, names = F.value_at(units, weights), index_of(X)
    return replace(
        result,
        indices=indices,
        weights=weights,
        value=value,
        rows=None if result.rows is None else take_rows(X, indices),
        labels=None if names is None else names[indices],
        bound=None if result.bound is None else min(result.bound, value),
        status=Status.FINISHED if result.status is Status.OPTIMAL else result.status,
    )
