"""`FewerTerms`: the job terms as a scikit-learn regressor."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..._validation import Vector, gathered, is_frame
from ...spaces import Atoms
from ...tables.frames import is_table, names_of, take_columns
from ...tables.source import is_lazy, lazily
from ..estimator import Estimator, Learned, at_most, our_error, validated
from .options import TermsOptions
from .terms import Tracked, prepare, tracked_by


class FewerTerms(
    MultiOutputMixin,  # type: ignore[misc] # scikit-learn is untyped
    RegressorMixin,  # type: ignore[misc] # scikit-learn is untyped
    Estimator,
    options=TermsOptions,
):
    """Regression by at most k columns with non-negative weights that sum to one; see `terms`.

        min ‖X q - y‖² + ridge ‖q‖²   over q >= 0, Σ q = 1, at most k entries not zero

    `missing`, `returns` and `date` act in `fit` only: `predict` takes what the columns then are,
    and passes over columns of a table that `fit` left out. A time limit is for all targets
    together.

    Parameters
    ----------
    k : int
        How many columns may be held; a k above the number of columns means all of them, with a
        warning.
    {options}

    Attributes
    ----------
    coef_ : ndarray of shape (n,) or (targets, n)
        The weights of all columns.
    indices_, weights_ : ndarray, or a list of one for each target
        The columns that are held, in ascending order, and their weights.
    value_, bound_, gap_ : float, or a list of them
        The loss, a proven lower bound on the best one (None where nothing is proven), and their
        difference.
    result_ : Result, or a list of them

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
    >>> model = FewerTerms(k=2).fit(X, X @ [0.25, 0.0, 0.75])
    >>> model.indices_.tolist(), model.weights_.round(6).tolist(), model.coef_.round(6).tolist()
    ([0, 2], [0.25, 0.75], [0.25, 0.0, 0.75])
    """

    weights_: Any = Learned("weights")

    @property
    def coef_(self) -> Vector:
        """The weights of all columns, one row for each target where there are several."""
        if isinstance(self.result_, list):
            return np.array([result.p for result in self.result_])
        weights: Vector = self.result_.p
        return weights

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> "FewerTerms":
        """Find the weights, for each column of y; a time limit is for all of them together."""
        with self._fitting(sample_weight=sample_weight) as options:
            self.result_ = self._solved(self._features(X, y, options), options)
        return self

    def _features(self, X: Any, y: Any, options: TermsOptions) -> Tracked:
        """Return the columns that may be used and the target, and keep the number and names of these columns."""
        cleans = any(map(options.differs, ("missing", "returns", "date")))
        is_array = not is_lazy(X) and not is_table(X)
        checks = {"y_numeric": True, "multi_output": True}
        if is_array and not cleans:
            X, y = validated(self, X, y, accept_sparse="csc", **checks)
        table = prepare(X, y, options)
        data = table.of_features()
        self._left_out = set(table.names or ()).difference(data.names or ())
        if is_frame(y):
            data = replace(data, y=data.y.reshape(len(data.y), -1))
        if is_array and cleans:
            validated(self, data.X, data.y, **checks)
        self.n_features_in_ = data.X.shape[1]
        if data.names is not None and all(isinstance(name, str) for name in data.names):
            self.feature_names_in_ = np.array(data.names, object)
        return data

    def _solved(self, data: Tracked, options: TermsOptions) -> Any:
        """Return the result, or one for each target, each with its share of the time that is left."""
        n, targets = data.X.shape[1], np.asarray(data.y).T
        C = options.constraint(Atoms(n), at_most(self.k, n, "columns"), data)
        first = targets if targets.ndim == 1 else targets[0].astype(np.float64)
        F = options.objective(data.X, first, data.sample_weight)
        if targets.ndim == 1:
            return tracked_by(F, C, data, options)
        results = []
        for left, target in zip(range(len(targets), 0, -1), targets, strict=True):
            share = options.replace(deadline=options.deadline.share(1.0 / left))
            results.append(tracked_by(F.toward(target.astype(np.float64)), C, data, share))
        return results

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the mixture of the columns, `X @ coef_`."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self.predict, None)  # type: ignore[no-any-return]
        if is_frame(X) and self._left_out:
            X = gathered(X)
            used = [i for i, name in enumerate(names_of(X)) if name not in self._left_out]
            X = take_columns(X, used)
        X = validated(self, X, accept_sparse="csc", reset=False)
        return np.asarray(X @ self.coef_.T)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the coefficient of determination R² of `predict(X)`."""
        check_is_fitted(self)
        with (
            our_error(),
            np.errstate(over="ignore", invalid="ignore"),
        ):  # squares of huge numbers are infinite
            return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.regressor_tags.poor_score = True  # weights on the simplex cannot fit any target
        return tags
