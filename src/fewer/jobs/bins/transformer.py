"""Columns of numbers, each with few distinct values."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..._validation import InvalidInput, Vector, as_integer, as_numbers, gathered, is_frame, read
from ...result import Result
from ...tables.source import Block, head_of, is_lazy, lazily, source_of
from ..estimator import Estimator, Learned, at_most, check_columns, validated
from .bins import available, best_histogram, distributions_of
from .empirical import BinsPlan, BinsSummary, Empirical, numbers_of_values
from .options import BinsOptions


class FewerBins(
    OneToOneFeatureMixin,  # type: ignore[misc] # scikit-learn is untyped
    TransformerMixin,  # type: ignore[misc] # scikit-learn is untyped
    Estimator,
    options=BinsOptions,
    withheld=("preserve", "contiguous", "validation", "ridge"),
):
    """Keep k values of each column, and map every value to the nearest one that was kept.

        min ∫ (Q(x) - P(x))² dx   over distributions on at most k of the values of a column

    P is the cumulative distribution of the column and Q the new one: `bins(column, k)`. A time
    limit is for all columns together. With `missing="drop"` missing values are left out of the fit,
    and `transform` keeps them missing.

    Parameters
    ----------
    k : int
        How many values are kept of each column; a k above the number of distinct values means all
        of them, with a warning.
    {options}

    Attributes
    ----------
    kept_values_ : ndarray, or a list of one for each column
        The values that were kept, in ascending order. A column is given alone as x of shape (n,):
        then this and all that follows is not a list.
    indices_ : ndarray, or a list of them
        Their positions in the grid, aligned: among the distinct sorted values with weight, or the
        bins of the grid.
    weights_ : ndarray, or a list of them
        Their weights in Q, aligned. The shares of `transform` come near them but are not the same.
    value_, bound_, gap_ : float, or a list of them
        The integral in the units of the column, a proven lower bound on it over all positions, and
        their difference.
    result_ : Result, or a list of them

    Examples
    --------
    >>> model = FewerBins(k=2).fit([0.0, 0.0, 0.0, 1.0, 9.0, 10.0, 10.0, 10.0])
    >>> model.kept_values_.tolist(), model.transform([-3.0, 4.0, 5.0, 6.0]).tolist()
    ([0.0, 10.0], [0.0, 0.0, 0.0, 10.0])
    """

    kept_values_: Any = Learned("labels")
    weights_: Any = Learned("weights")
    error_bound_: Any = Learned()

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> "FewerBins":
        """Choose the values of each column of X (n, d), or of one column (n,); y is ignored.

        One column of shape (n,) together with a y is refused, as scikit-learn asks of estimators:
        give X[:, None].
        """
        with self._fitting() as options:
            source = source_of(X, None, sample_weight)
            whole = source.whole(options.max_memory // 2)
            if whole is None:
                self._read(source.head(HEAD_ROWS).X)
            else:
                numbers = self._read(whole.X, one=y is None)
                source = source_of(numbers, None, whole.weight)
            self.result_ = self._each(distributions_of(source, options), options)
        return self

    def _read(self, X: Any, reset: bool = True, one: bool = True) -> npt.NDArray[Any]:
        """X as numbers (n, d), NaN where a value is missing and may be; `one` column may come as (n,)."""
        X, one = gathered(X), one and is_column(X)
        if reset:
            self._one = one
        if one:
            X = as_numbers(X, "X")[:, None]
        if is_frame(X):
            check_columns(self, X, reset)
            numbers = numbers_of_values(X, "X")
        else:
            kinds = [np.float64, np.float32]
            some = {"dtype": kinds, "ensure_all_finite": "allow-nan", "reset": reset}
            numbers = validated(self, X, **some)
        gaps = np.isnan(numbers)
        if self.missing == "error" and gaps.any():
            row, column = (int(i) for i in np.argwhere(gaps)[0])
            rule = "missing='drop' leaves such rows out"
            raise InvalidInput(f"X has a missing value (NaN) in column {column}, row {row}; {rule}")
        return np.asarray(numbers)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> "FewerBins":
        """Learn from more rows of a stream, in memory that does not grow with them; y is ignored.

        Values are counted up to 65,536 different ones; beyond, their quantiles are kept, with a
        proven rank error `error_bound_` (of each column): no share of the values below any x is off
        by more. `bound_` allows for it.
        """
        with self._restored():
            plan = BinsPlan(self._options().missing)
            rows = self._read(X, reset=self._stream is None)
            self._update(BinsSummary.of(Block(rows, None, sample_weight), plan))
        return self

    def _solved(self, summary: BinsSummary, options: BinsOptions) -> Any:
        """Return the results for the summary of columns."""
        columns = summary.distributions()
        errors = [P.error / P.total for P in columns]
        self.error_bound_ = errors[0] if self._one else errors
        return self._each(columns, options)

    def _each(self, columns: list[Empirical], options: BinsOptions) -> Any:
        """Return one result for each column, each with its share of the time that is left."""
        sizes = [available(P, options.grid, options.n_bins) for P in columns]
        at_most(self.k, min(sizes), "distinct values" if options.automatic else "bins")
        k, results = as_integer(self.k, "k", 1), []
        for done, (P, size) in enumerate(zip(columns, sizes, strict=True)):
            share = options.deadline.share(1.0 / (len(columns) - done))
            results.append(best_histogram(P, min(k, size), options.replace(deadline=share)))
        return results[0] if self._one else results

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Each value replaced by the nearest that was kept, of two as near the lower.

        In the shape of X.
        """
        check_is_fitted(self)
        if is_lazy(X):
            columns = None if is_column(head_of(X)) else self.n_features_in_
            return lazily(X, self.transform, columns)  # type: ignore[no-any-return]
        one = self.n_features_in_ == 1
        numbers = self._read(X, reset=False, one=one)
        kept = [self.kept_values_] if isinstance(self.result_, Result) else self.kept_values_
        each = zip(numbers.T, kept, strict=True)
        mapped = np.column_stack([nearest(column, few) for column, few in each])
        mapped[np.isnan(numbers)] = np.nan
        return (mapped[:, 0] if one and is_column(X) else mapped).astype(numbers.dtype)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = self.missing == "drop"
        return tags


HEAD_ROWS = 1024
"""Rows by which the columns of blocks are known."""


def is_column(X: Any) -> bool:
    """Whether X is one column without a second axis: an array, a list or a Series."""
    return not sp.issparse(X) and not is_frame(X) and read(X, "X").ndim == 1


def nearest(x: Vector, kept: Vector) -> Vector:
    """The nearest of some ascending values, of two as near the lower.

    >>> nearest(np.array([-9.0, 1.0, 1.1, 9.0]), np.array([0.0, 2.0])).tolist()
    [0.0, 0.0, 2.0, 2.0]
    """
    above = np.searchsorted(kept, x).clip(0, len(kept) - 1)
    below = np.maximum(above - 1, 0)
    return np.asarray(np.where(kept[above] - x < x - kept[below], kept[above], kept[below]))
