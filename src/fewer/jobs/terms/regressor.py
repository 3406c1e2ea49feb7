"""`FewerTerms`: the job terms as a scikit-learn regressor."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..._validation import as_units, is_frame
from ...objectives.moments import as_matrix
from ...result import Result
from ...spaces import Atoms
from ...tables.align import group_codes, taken_apart
from ...tables.frames import is_table, names_of
from ...tables.names import positions
from ...tables.source import Source, is_lazy, lazily, source_of
from ..bins.transformer import filled
from ..estimator import Estimator, at_most, our_error, unchanged_if_it_fails, validated
from ..lazy import HEAD_ROWS, terms_of_blocks
from .options import TermsOptions
from .terms import tracked_by
from .tracking import Tracked


class FewerTerms(
    MultiOutputMixin,  # type: ignore[misc] # scikit-learn is untyped
    RegressorMixin,  # type: ignore[misc] # scikit-learn is untyped
    Estimator,
    options=TermsOptions,
):
    """Regression by at most k columns with non-negative weights that sum to one; see `terms`.

        min ‖X q - y‖² + ridge ‖q‖²   over q >= 0, Σ q = 1, at most k entries not zero

    `missing`, `returns` and `date` act in `fit` only: `predict` takes what the columns then are. A
    time limit is for all targets together.

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

    indices_: Any
    weights_: Any

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> "FewerTerms":
        """Find the weights, for each column of y; a time limit is for all of them together."""
        with (
            unchanged_if_it_fails(self),
            self._options(sample_weight=sample_weight).watched() as options,
        ):
            self._find(X, y, options)
        return self

    def _find(self, X: Any, y: Any, options: TermsOptions) -> None:
        """Set what `fit` promises."""
        weight = options.sample_weight
        if is_lazy(X):
            blocks = source_of(X, y, weight)
            whole = blocks.whole(options.max_memory // 2)
            if whole is None:
                self._fit_blocks(blocks, y, options)
                return
            X, y = whole.X, y if isinstance(y, str) else whole.y
            weight = weight if isinstance(weight, str) else whole.weight
            options = options.replace(sample_weight=weight)
        if any(map(options.differs, ("missing", "returns", "date"))):
            self._fit_prepared(X, y, options)
            return
        X, y, weight = taken_apart(X, y=y, sample_weight=weight)
        names = names_of(X) if is_table(X) else None
        X, y = validated(self, X, y, accept_sparse="csc", y_numeric=True, multi_output=True)
        matrix, targets = as_matrix(X), np.asarray(y, np.float64)
        include, exclude = (
            positions(getattr(options, name), names, name) for name in ("include", "exclude")
        )
        without = as_units(exclude, matrix.shape[1], "columns", "exclude")
        held = np.setdiff1d(np.arange(matrix.shape[1]), without)
        groups = group_codes(options.groups, names, held, without)
        data = Tracked(matrix, targets, names, include, exclude, groups, weight)
        self._keep(self._solve(data, options), y.ndim == 1)

    def _fit_prepared(self, X: Any, y: Any, options: TermsOptions) -> None:
        """Find the weights for one target after rows are sorted, gaps filled and prices turned into returns."""
        data = Tracked.of(X, y, options).of_features()
        validated(self, data.X, data.y, y_numeric=True)
        if data.names is not None and all(isinstance(name, str) for name in data.names):
            self.feature_names_in_ = np.array(data.names, object)
        self._keep(self._solve(data, options), True)

    def _fit_blocks(self, blocks: Source, y: Any, options: TermsOptions) -> None:
        """Find the weights for rows that come in blocks: y is given likewise, as an array, or names a column."""
        head = blocks.head(HEAD_ROWS).X
        data = terms_of_blocks(blocks, y, options).tracked(options)
        columns = head[data.names] if isinstance(y, str) else head
        gaps = options.missing != "error"
        if gaps and is_frame(columns):
            columns, _ = filled(columns)
        finite = "allow-nan" if gaps else True
        validated(self, columns, missing=gaps, accept_sparse="csc", ensure_all_finite=finite)
        self._keep(self._solve(data, options), True)

    def _keep(self, results: list[Result], one: bool) -> None:
        """Set what `fit` promises: plain values for one target, lists for several."""
        indices, weights = (
            [result.indices for result in results],
            [result.weights for result in results],
        )
        self.result_ = results[0] if one else results
        self.coef_ = results[0].p if one else np.array([result.p for result in results])
        self.indices_, self.weights_ = (indices[0], weights[0]) if one else (indices, weights)
        for name in ("value", "bound", "gap"):
            found = [getattr(result, name) for result in results]
            setattr(self, f"{name}_", found[0] if one else found)

    def _solve(self, data: Tracked, options: TermsOptions) -> list[Result]:
        """One result for each target, each with its share of the time that is left."""
        n = data.X.shape[1]
        C = options.constraint(Atoms(n), at_most(self.k, n, "columns"), data)
        targets = data.y.reshape(len(data.y), -1)
        F, results = options.objective(data.X, targets[:, 0], data.sample_weight), []
        for done, b in enumerate(targets.T):
            share = options.deadline.share(1.0 / (targets.shape[1] - done))
            toward = F if targets.shape[1] == 1 else F.toward(b)
            results.append(tracked_by(toward, C, data, options.replace(deadline=share)))
        return results

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """The mixture of the columns, `X @ coef_`."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self.predict, None)  # type: ignore[no-any-return]
        X = validated(self, X, accept_sparse="csc", reset=False)
        return np.asarray(X @ self.coef_.T)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """The coefficient of determination R² of `predict(X)`."""
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
