"""What estimators of points share: X and labels as scikit-learn checks them, the choice, and what is kept of it."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from ..._validation import InvalidInput, as_flag, gathered, is_frame
from ...tables.frames import take_rows
from ...tables.source import head_of, is_lazy, source_of
from ..estimator import Estimator, at_most, our_error, validated
from .blocks import choose_points
from .comparison import Comparison, comparison_of
from .options import PointsOptions
from .row_input import is_encoded
from .setting import SPARSE, Chosen


class PointsEstimator(Estimator):
    """k points chosen by `fit`, kept in attributes."""

    _encoding: Any = None

    @property
    def _precomputed(self) -> bool:
        """Whether X is the matrix of similarities."""
        return isinstance(self.similarity, str) and self.similarity == "precomputed"

    @property
    def _comparison(self) -> Comparison:
        """The similarity, and how rows are encoded and scaled for it."""
        return comparison_of(self.result_.compared)

    def _labels(self, y: Any, by_label: bool) -> Any:
        """The labels y where classes are to be matched, else None."""
        by_label = as_flag(by_label, "by_label")
        if by_label and y is None:
            raise InvalidInput("by_label=True needs labels, got y=None")
        return y if by_label else None

    def _checked(self, X: Any, **how: Any) -> Any:
        """X as scikit-learn checks it: a table by its names; arrays as float32 or float64, dense or CSR."""
        if is_lazy(X):
            X = source_of(X) if isinstance(X, Iterator) else X
            self._checked(head_of(X), **how)
            return X
        X = gathered(X)
        if how.get("reset", True):
            encodes = not self._precomputed and is_encoded(X, self.columns, self.missing)
        else:
            streams = vars(self).get("_stream") is not None
            encodes = self._encoding is not None
            encodes = encodes or (streams and is_encoded(X, self.columns, self.missing))
        if encodes and is_frame(X):
            with our_error():
                return validate_data(self, X, skip_check_array=True, **how)
        how["ensure_all_finite"] = "allow-nan" if encodes else True
        kinds = [np.float64, np.float32]
        return validated(self, X, accept_sparse="csr", dtype=kinds, missing=encodes, **how)

    def _choose(self, X: Any, options: PointsOptions) -> Chosen:
        """Choose the points; a k above the number of distinct rows means all of them."""
        with options.watched() as watched:
            found = choose_points(X, self.k, watched, most=False)
        self._keep(found, X)
        return found

    def _keep(self, found: Chosen, X: Any) -> None:
        """Set what `fit` promises; `X` holds the rows where the result does not."""
        result, comparison = found.result, found.comparison
        self._encoding = comparison.encoding
        self.mean_, self.scale_ = comparison.means_and_scales
        self.gamma_ = comparison.gamma
        at_most(self.k, len(found.sample.weights), "distinct rows")
        self.indices_: Any = result.indices
        self.weights_ = np.asarray(result.weights)
        self.counts_ = self.weights_ * found.sample.total
        self.result_ = result
        few = take_rows(X, result.indices) if result.rows is None else result.rows
        self.points_: Any = few
        self.value_, self.bound_, self.gap_ = result.value, result.bound, result.gap
        self.mmd_ = math.sqrt(max(result.value, 0.0))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = isinstance(self.similarity, str) and self.similarity in SPARSE
        tags.input_tags.pairwise = self._precomputed
        return tags
