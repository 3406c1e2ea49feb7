"""`FewerPoints`: the job points as a scikit-learn transformer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..._validation import as_flag
from ...options import option
from ...result import Result
from ...tables.source import Block, is_lazy, lazily
from ..estimator import Learned
from .bandwidth import first_best
from .blocks import error_bound, solved
from .estimator import PointsEstimator
from .explain import criticisms
from .one_pass import Coreset, coreset_of, kept_for
from .options import PointsOptions
from .stream import streamed_plan


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TransformerOptions(PointsOptions):
    """Options of points, and whether y holds classes."""

    by_label: bool = option(
        False,
        "bool",
        "Whether y holds classes, each of which gets points of its own: similarities across classes are zero.",
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
        """Choose the points; y is ignored unless `by_label`: then similarities across its classes are zero.

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
            if first:
                self._plan = streamed_plan(X, self.k, options)
                self._encoding = self._plan.comparison.encoding
            block = Block(X, options.labels, options.sample_weight)
            self._update(coreset_of(block, self._plan, kept_for(self.k), originals=True))
        return self

    def _solved(self, summary: Coreset, options: PointsOptions) -> Result:
        """Return the result for the weighted rows that stand for all rows so far."""
        choice = solved(summary, self.k, options, self._plan.spec.seed, most=False)
        self.error_bound_ = error_bound(choice.result)
        return self._kept(choice, None)

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """The similarity of each row to each point, (n, k); of data in blocks block by block, when asked for."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self._similarities, len(self.indices_))  # type: ignore[no-any-return]
        return self._similarities(X)

    def _similarities(self, X: Any) -> npt.NDArray[np.float64]:
        """The similarity of each row to each point as an array, whatever container `set_output` asks for."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        if self._precomputed:
            return np.asarray(X[:, self.indices_], np.float64)
        comparison = self._comparison
        rows, few = (comparison.rows(part, np.float64) for part in (X, self.points_))
        return np.asarray(comparison.similarity(rows, few), np.float64)

    def assign(self, X: Any) -> npt.NDArray[np.int64]:
        """The most similar point of each row, as a position in `indices_` and `points_`, (n,); see `fewer.assign`."""
        if is_lazy(X):
            return lazily(X, self.assign, None, np.int64)  # type: ignore[no-any-return]
        return first_best(self._similarities(X)).astype(np.int64)

    def criticisms(self, n: int, method: str = "residual", X: Any = None) -> npt.NDArray[np.int64]:
        """The n rows that the points represent worst, the worst first; see `fewer.criticisms`.

        They are rows of what was fitted (of its target, if it had one), which `result_` holds by
        reference: it is not stored with the model. Of a loaded model give X.
        """
        check_is_fitted(self)
        if X is None:
            return np.asarray(self.result_.criticisms(n, method))
        return criticisms(self.result_, self._checked(X, reset=False), n, method)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns of `transform`: one for each point."""
        check_is_fitted(self)
        return np.array([f"fewerpoints{i}" for i in range(len(self.indices_))], object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = isinstance(self.missing, str) and self.missing in (
            "impute",
            "category",
            "drop",
        )
        tags.target_tags.required = self.by_label is True
        tags.transformer_tags.preserves_dtype = []
        return tags
