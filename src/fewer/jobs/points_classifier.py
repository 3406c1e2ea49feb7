"""A nearest-neighbour classifier that keeps only k rows."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..door import Indices
from ..objectives._pairs import own_threads
from ._bandwidth import nearest
from ._refine import refined
from .points import SPARSE, Chosen, chosen, fitted_similarity


class PointsClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """The label of the nearest of at most k rows, which stand for each class in MMD (the paper's section 4.2).

    The rows are those of `points` with labels: similarities across classes are zero, so each class is matched by
    points of its own, as many as it needs. `gamma="cv"` chooses the bandwidth by the cross-validated error. With
    `refine` points are then swapped for other rows while that lowers a margin loss of the nearest-point rule on X,
    which lowers its error and raises MMD a little. After `fit`: `classes_`, `indices_`, `points_`, `labels_` (of the
    points), `weights_` and `value_` (the best weights in MMD, some may be zero, and MMD²), `gamma_`, `result_`.

    >>> X, y = [[0.0], [0.2], [1.0], [4.0], [4.4]], ["a", "a", "a", "b", "b"]
    >>> PointsClassifier(k=2, random_state=0).fit(X, y).predict([[0.5], [3.0]]).tolist()
    ['a', 'b']
    """

    indices_: Indices

    def __init__(
        self,
        k: int = 10,
        *,
        similarity: Any = "rbf",
        gamma: Any = "cv",
        refine: bool = True,
        solver: str = "auto",
        max_memory: Any = "1GB",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.similarity = similarity
        self.gamma = gamma
        self.refine = refine
        self.solver = solver
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> "PointsClassifier":
        """Choose the points of all classes together."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        found = chosen(self, X, y, sample_weight)
        if self.refine and len(self.classes_) > 1:
            self._swap(found, X)
        self.labels_ = y[self.indices_]
        return self

    def _swap(self, found: Chosen, X: Any) -> None:
        """Swap the points for better ones, and weigh them anew."""
        at, F = found.target.candidates, found.target.F
        assert F.labels is not None  # noqa: S101 - a classifier has labels
        rows, mass = found.sample.first[at], found.sample.weights[at]
        units = np.flatnonzero(np.isin(rows, self.indices_))
        rng = np.random.default_rng(found.result.seed)
        with own_threads():
            units = np.sort(refined(F.rows, F.labels, mass / mass.sum(), units, found.similarity, rng))
        weights = F.best_on(units)[units]
        order = np.argsort(-weights, kind="stable")
        self.indices_, self.weights_ = rows[units[order]], weights[order]
        self.points_ = X[self.indices_]
        self.value_ = F.value_at(units, weights)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of the nearest point: nearest in distance, or most similar where there is none."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        if self.similarity == "precomputed":
            return np.asarray(self.labels_[X[:, self.indices_].argmax(axis=1)])
        return np.asarray(self.labels_[nearest(X, self.points_, fitted_similarity(self))])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.similarity in SPARSE
        tags.input_tags.pairwise = self.similarity == "precomputed"
        return tags
