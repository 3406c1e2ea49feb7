"""A nearest-neighbour classifier that keeps only k rows."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length, check_is_fitted

from ..._validation import Indices, InvalidInput, as_array, as_flag, read
from ...bandwidths import times_power_of_two
from ...deadline import Deadline
from ...options import option
from ...tables.frames import take_rows
from ...threads import own_threads
from ..estimator import our_error, with_target
from .answer import Answer
from .bandwidth import first_best, scores_and_nearest
from .estimators import PointsEstimator
from .options import GROUP_LIMITS, WEIGHT_LIMITS, PointsOptions, as_gamma
from .refine import swap_points
from .rows import as_labels

SEARCH_TIME_SHARE = 0.8
"""The share of a time limit after which the points are refined."""


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
        What `points` gave, before points were swapped.

    References
    ----------
    Bien and Tibshirani (2011), Prototype selection for interpretable classification.

    Examples
    --------
    >>> X, y = [[0.0], [0.2], [1.0], [4.0], [4.4]], ["a", "a", "a", "b", "b"]
    >>> FewerPointsClassifier(k=2, random_state=0).fit(X, y).predict([[0.5], [3.0]]).tolist()
    ['a', 'b']
    """

    def fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None
    ) -> "FewerPointsClassifier":
        """Choose the points of all classes together."""
        with self._fitting(sample_weight=sample_weight) as options:
            X, y = with_target(X, y)
            X, y = self._checked(X), self._checked_labels(X, y)
            self.classes_ = np.unique(y)
            until, solver = options.deadline, options.solver
            if options.refine:
                until = until.share(SEARCH_TIME_SHARE)
                solver = "exchange" if solver == "auto" else solver  # nothing is to be proven
            answer = self._choose(X, options.replace(labels=y, deadline=until, solver=solver))
            if options.refine and len(self.classes_) > 1:
                with own_threads():
                    self._swap(answer, X, options.deadline)
            self.labels_ = y[self.indices_]
        return self

    def _checked_labels(self, X: Any, y: Any) -> npt.NDArray[Any]:
        """The labels as scikit-learn checks those of a classifier: classes, one for each row."""
        if y is None:
            raise InvalidInput(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        labels = read(y, "y")
        if labels.dtype == np.longdouble:
            as_array(labels, "y")
        if labels.dtype == object and labels.ndim == 1:
            as_labels(labels, len(labels))  # says what cannot be sorted
        with our_error(), np.errstate(invalid="ignore"):  # whether huge labels are whole
            labels = _check_y(y, multi_output=False, y_numeric=False, estimator=self)
            check_consistent_length(X, labels)
            check_classification_targets(labels)
        return np.asarray(labels)

    def _swap(self, answer: Answer, X: Any, deadline: Deadline) -> None:
        """Swap the points for better ones, and weigh them anew."""
        at, F = answer.target.candidates, answer.target.F
        assert F.labels is not None  # noqa: S101 - a classifier has labels
        rows, mass = answer.sample.at(at), answer.sample.weights[at]
        units = np.flatnonzero(np.isin(rows, self.indices_))
        rng = np.random.default_rng(answer.result.seed)
        similarity = answer.comparison.similarity
        units = np.sort(
            swap_points(F.rows, F.labels, mass / mass.sum(), units, similarity, rng, deadline)
        )
        weights = F.best_on(units)[units]
        order = np.argsort(rows[units])
        self.indices_, self.weights_ = rows[units[order]], weights[order]
        self.counts_, self.points_ = (
            self.weights_ * answer.sample.total,
            take_rows(X, self.indices_),
        )
        self.value_ = times_power_of_two(F.value_at(units, weights), answer.comparison.unit)
        self.gap_ = None if self.bound_ is None else self.value_ - self.bound_
        self.mmd_ = math.sqrt(self.value_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of the nearest point: nearest in distance, or most similar where there is none."""
        check_is_fitted(self)
        return np.asarray(self.labels_[self._scores(X)[1]])

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """How likely each class is, by the nearest point of each, (n, classes).

        The likeliest one is `predict`.

            P(c | x) = s_c / Σ s_c',   s_c the similarity of x to the most similar point of class c

        For similarities without a bandwidth (cosine, linear, a function, precomputed) s_c is exp of
        that similarity. They are not calibrated.
        """
        scores, winner = self._scores(X)
        best = np.full((len(scores), len(self.classes_)), -np.inf)
        codes = np.searchsorted(self.classes_, self.labels_)
        for code in np.unique(codes):
            best[:, code] = scores[:, codes == code].max(axis=1)
        shares = np.exp(best - best.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        every, likeliest = np.arange(len(shares)), shares.argmax(axis=1)
        least = shares[every, codes[winner]]
        shares[every, codes[winner]] = shares[every, likeliest]  # what rounding made equal
        shares[every, likeliest] = np.where(
            codes[winner] == likeliest, shares[every, likeliest], least
        )
        return np.asarray(shares)

    def _scores(self, X: Any) -> tuple[npt.NDArray[np.float64], Indices]:
        """The logarithm of the similarity of each row to each point, (n, k), and the nearest point of each row."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        if self._precomputed:
            scores = np.asarray(X[:, self.indices_], np.float64)
            return scores, first_best(scores)
        comparison = self.result_.compared
        rows, few = comparison.rows(X), comparison.rows(self.points_)
        return scores_and_nearest(rows, few, comparison.similarity)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The share of rows whose label is predicted."""
        check_is_fitted(self)
        with our_error():
            return float(super().score(X, y, sample_weight))
