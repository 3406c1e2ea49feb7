"""Columns of numbers, each with few distinct values."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..._validation import (
    InvalidInput,
    Vector,
    as_integer,
    as_numbers,
    as_weights,
    gathered,
    is_frame,
    known,
    read,
)
from ...result import Result
from ...tables.frames import put_columns
from ...tables.source import Block, head_of, is_lazy, lazily, source_of
from ..estimator import Estimator, Learned, at_most, validated
from .bins import HEAD_ROWS, best_histogram, distributions_of
from .empirical import BinsSummary, Empirical, numbers_of_values
from .options import BinsOptions
from .values import available


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
            self.result_ = self._binned(X, y, sample_weight, options)
        return self

    def _binned(self, X: Any, y: Any, sample_weight: Any, options: BinsOptions) -> Any:
        """Return the results for columns in memory or in blocks."""
        if is_lazy(X):
            source = source_of(X, None, sample_weight)
            whole = source.whole(options.max_memory // 2)
            if whole is None:
                head = source.head(HEAD_ROWS).X
                self._one = is_column(head)
                self._numbers(as_table(head) if self._one else head)
                return self._each(distributions_of(source, options), options)
            X, sample_weight = whole.X, whole.weight
        self._one = y is None and is_column(X)
        X = self._numbers(as_table(X) if self._one else X)
        if sample_weight is not None:
            as_weights(sample_weight, len(X), "sample_weight")
        return self._each(Empirical.of_columns(X, sample_weight, options.missing), options)

    def _numbers(self, X: Any, reset: bool = True) -> npt.NDArray[Any]:
        """X as numbers (n, d), NaN where a value is missing and may be."""
        drops = known(self.missing, {"error": False, "drop": True}, "missing")
        X, gaps = without_gaps(X) if drops and is_frame(X) else (X, None)
        kinds = [np.float64, np.float32]
        numbers = validated(
            self, X, missing=True, dtype=kinds, ensure_all_finite="allow-nan", reset=reset
        )
        if gaps is not None:
            numbers = np.where(gaps, np.nan, numbers)
        elif not drops and np.isnan(numbers).any():
            row, column = (int(i) for i in np.argwhere(np.isnan(numbers))[0])
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
            options = self._options()
            first = self._stream is None
            if first:
                self._one = is_column(X)
            rows = self._numbers(as_table(X) if is_column(X) else X, reset=first)
            self._update(BinsSummary.of(Block(rows, None, sample_weight), options.missing))
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
            head = head_of(X)
            return lazily(X, self.transform, None if is_column(head) else self.n_features_in_)  # type: ignore[no-any-return]
        one = self.n_features_in_ == 1 and is_column(X)
        X = self._numbers(as_table(X) if one else X, reset=False)
        kept = [self.kept_values_] if isinstance(self.result_, Result) else self.kept_values_
        mapped = np.column_stack(
            [nearest(column, np.sort(few)) for column, few in zip(X.T, kept, strict=True)]
        )
        mapped[np.isnan(X)] = np.nan
        return (mapped[:, 0] if one else mapped).astype(X.dtype)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = self.missing == "drop"
        return tags


def is_column(X: Any) -> bool:
    """Whether X is one column without a second axis: an array, a list or a Series."""
    return not sp.issparse(X) and not is_frame(X) and read(X, "X").ndim == 1


def as_table(x: Any) -> npt.NDArray[Any]:
    """One column (n,) as a table (n, 1)."""
    return as_numbers(x, "X")[:, None]


def without_gaps(X: Any) -> tuple[Any, npt.NDArray[np.bool_] | None]:
    """A table with zeros where values are missing, and where that is; None where none is."""
    X = gathered(X)
    values = numbers_of_values(X)
    gaps = np.isnan(values)
    if not gaps.any():
        return X, None
    return (
        put_columns(
            X, {i: np.where(gaps[:, i], 0.0, values[:, i]) for i in range(values.shape[1])}
        ),
        gaps,
    )


def nearest(x: Vector, kept: Vector) -> Vector:
    """The nearest of some sorted values, of two as near the lower.

    >>> nearest(np.array([-9.0, 1.0, 1.1, 9.0]), np.array([0.0, 2.0])).tolist()
    [0.0, 0.0, 2.0, 2.0]
    """
    half, low = x.astype(np.float64) / 2, kept / 2  # no difference of two halves is infinite
    above = np.searchsorted(kept, x).clip(0, len(kept) - 1)
    below = np.maximum(above - 1, 0)
    return np.asarray(np.where(low[above] - half < half - low[below], kept[above], kept[below]))
