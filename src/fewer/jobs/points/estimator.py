"""What estimators of points share: X and labels as scikit-learn checks them, the choice, and what is kept of it."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import Tags

from ..._validation import InvalidInput, as_flag, gathered, is_frame
from ...result import Result
from ...tables.frames import take_rows
from ...tables.source import head_of, is_lazy, source_of
from ..estimator import Estimator, Learned, at_most, check_columns, validated
from .blocks import choose_points
from .comparison import Comparison, comparison_of
from .options import PointsOptions
from .row_input import is_encoded
from .setting import SPARSE, Chosen


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
            streams = self._stream is not None
            encodes = self._encoding is not None
            encodes = encodes or (streams and is_encoded(X, self.columns, self.missing))
        if encodes and is_frame(X):
            check_columns(self, X, how.get("reset", True))
            return X
        how["ensure_all_finite"] = "allow-nan" if encodes else True
        kinds = [np.float64, np.float32]
        return validated(self, X, accept_sparse="csr", dtype=kinds, missing=encodes, **how)

    def _choose(self, X: Any, options: PointsOptions) -> Chosen:
        """Choose the points; a k above the number of distinct rows means all of them."""
        choice = choose_points(X, self.k, options, most=False)
        self.result_ = self._kept(choice, X)
        return choice

    def _kept(self, choice: Chosen, X: Any) -> Result:
        """Set what is not read from the result, and return that; `X` holds the rows where it does not."""
        result, comparison = choice.result, choice.comparison
        self._encoding = comparison.encoding
        self.mean_, self.scale_ = comparison.means_and_scales
        self.gamma_ = comparison.gamma
        at_most(self.k, len(choice.sample.weights), "distinct rows")
        few = take_rows(X, result.indices) if result.rows is None else result.rows
        self.points_ = few
        self.counts_ = np.asarray(result.weights) * choice.sample.total
        self.mmd_ = math.sqrt(max(result.value, 0.0))
        return result

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = isinstance(self.similarity, str) and self.similarity in SPARSE
        tags.input_tags.pairwise = self._precomputed
        return tags
