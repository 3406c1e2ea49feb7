"""`FewerDims`: the job dims as a scikit-learn selector."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative

from ..._validation import Indices, InvalidInput, as_numbers
from ...options import IN_BLOCKS
from ...result import Result
from ...tables.column import taken_apart
from ...tables.frames import is_table, names_of
from ...tables.source import Block, head_of, is_lazy, lazily, source_of
from ..estimator import (
    Estimator,
    OfResult,
    SetWithResult,
    at_most,
    check_columns,
    our_error,
    readable,
    validated,
)
from ..lazy import dims_summary
from .blocks import DimsSpec, DimsSummary
from .coding import Coding, named_baseline
from .dims import cover, coverage, has_labels, take_columns
from .options import DimsOptions


class FewerDims(
    SelectorMixin,  # type: ignore[misc] # scikit-learn is untyped
    Estimator,
    options=DimsOptions,
    withheld=("order", "item"),
):
    """Select at most k columns that cover the most rows; see `dims` for what is minimised.

    Parameters
    ----------
    k : int
        How many columns are kept, or units; a k above their number means all of them, with a
        warning. Not used where there is a `budget`.
    {options}

    Attributes
    ----------
    indices_ : ndarray of int
        The columns that were kept, sorted.
    support_ : ndarray of bool of shape (n,)
        The same as a mask, as scikit-learn's selectors have it.
    coverage_ : float
        The share of the rows' weight that the columns cover.
    value_, bound_, gap_ : float
        The loss, a proven lower bound on it (None where nothing is proven), and their difference.
    distribution_ : Distribution
        The distribution on the states of these columns.
    baseline_ : ndarray of int of shape (n,)
        The code that counts as absent in each column.
    levels_ : list of ndarray, or None
        The labels of each column of a table with labels, in the order of their codes; None for
        columns of numbers.
    result_ : Result

    Examples
    --------
    >>> orders = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> selector = FewerDims(k=2).fit(orders)
    >>> selector.indices_.tolist(), round(selector.coverage_, 3), selector.score([[0, 1, 0, 0], [0, 1, 1, 0]])
    ([0, 1], 0.6, 0.5)

    """

    distribution_: Any = OfResult("distribution")
    levels_: Any = SetWithResult()
    coverage_: Any = SetWithResult()

    @property
    def support_(self) -> npt.NDArray[np.bool_]:
        """The columns that were kept as a mask."""
        mask = np.zeros(self.n_features_in_, bool)
        mask[self.indices_] = True
        return mask

    @property
    def baseline_(self) -> Indices:
        """The code that counts as absent in each column."""
        origin: Indices = self.distribution_.origin
        return origin

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> "FewerDims":
        """Choose the columns; y is ignored."""
        with self._fitting(sample_weight=sample_weight) as options:
            self.result_ = self._chosen_columns(X, options)
        return self

    def _chosen_columns(self, X: Any, options: DimsOptions) -> Result:
        """Return the result for rows in memory or in blocks."""
        weight = options.sample_weight
        if is_lazy(X):
            blocks = source_of(X, None, weight)
            whole = blocks.whole(options.max_memory // 2)
            if whole is None:
                head = taken_apart(blocks.head(1024).X, sample_weight=weight)[0]
                self._check_head(head)
                return self._solved(dims_summary(blocks, self.k, options), options)
            X, weight = whole.X, weight if isinstance(weight, str) else whole.weight
        X, weight = taken_apart(X, sample_weight=weight)
        options = options.replace(sample_weight=weight)
        names = names_of(X) if is_table(X) else None
        if names is None or (self.columns is None and not has_labels(X)):
            X = validated(self, X, accept_sparse="csr", dtype="numeric")
            with our_error():
                check_non_negative(X, "FewerDims.fit")
            baseline = options.baseline
            if isinstance(baseline, Mapping) and names is not None:
                baseline = named_baseline(baseline, names)
            own = options.replace(columns=None, baseline=baseline)
            return self._covered(Coding.of(X, own, names), options)
        check_columns(self, X, reset=True)
        return self._covered(Coding.of(X, options), options)

    def _check_head(self, X: Any, reset: bool = True) -> None:
        """What scikit-learn keeps of the columns."""
        if is_table(X):
            check_columns(self, X, reset)
        else:
            validated(self, X, accept_sparse="csr", dtype="numeric", reset=reset)

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> "FewerDims":
        """Learn from more rows of a stream: distinct states with their counts are kept; y is ignored.

        Where they exceed an eighth of `max_memory`, rare ones are left out and `bound_` allows for
        them. Columns hold small whole numbers; `baseline` is zero unless it is told. Columns are
        chosen when the answer is asked for.
        """
        with self._restored():
            first = self._stream is None
            options = self._options()
            options.refuse("units", "costs", "budget", road=IN_BLOCKS)
            X, sample_weight = taken_apart(X, sample_weight=sample_weight)
            self._check_head(X, reset=first)
            spec = DimsSpec.of(X, options)
            if spec.labelled:
                raise InvalidInput(
                    "partial_fit needs columns of whole numbers, got labels: code them first"
                )
            coded = X if is_table(X) or sp.issparse(X) else as_numbers(X, "X")
            self._update(DimsSummary.of(Block(coded, None, sample_weight), spec))
        return self

    def _solved(self, summary: DimsSummary, options: DimsOptions) -> Result:
        """Return the result for states of rows in blocks."""
        coding = summary.coding(options.baseline, options.include, options.exclude)
        result: Result = summary.judged(self._covered(coding, options), options.objective)
        self.coverage_ *= 1.0 - summary.lost / summary.total
        return result

    def _covered(self, coding: Coding, options: DimsOptions) -> Result:
        """Return the result for rows that were checked and coded."""
        limit = options.limit(self.k if options.budget is None else None)
        if options.budget is None:
            units = coding.units
            most = coding.X.shape[1] if units is None else len(units)
            limit = at_most(limit, most, "columns" if units is None else "units")
        result = cover(coding, limit, options)
        self._coding = replace(coding, X=None, sample_weight=None)
        self.levels_ = coding.levels
        self.coverage_ = coverage(
            coding.X,
            result.indices,
            sample_weight=coding.sample_weight,
            baseline=result.distribution.origin,
        )
        return result

    def transform(self, X: Any) -> Any:
        """The chosen columns of X; of a table with labels in its own container."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self.transform, len(self.indices_), np.asarray(head_of(X)).dtype)
        if self.levels_ is not None and is_table(X):
            check_columns(self, X, reset=False)
            return take_columns(X, self.indices_)
        with our_error():
            return super().transform(readable(X))

    def inverse_transform(self, X: Any) -> Any:
        """Columns as `transform` gives them, with columns of zeros for the others."""
        check_is_fitted(self)
        with our_error():
            return super().inverse_transform(readable(X))

    def score(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> float:
        """The share of these rows that the chosen columns cover."""
        check_is_fitted(self)
        if self.levels_ is not None and is_table(X):
            check_columns(self, X, reset=False)
            X = self._coding.again(X)
        else:
            X = validated(self, X, accept_sparse="csr", dtype="numeric", reset=False)
        return coverage(X, self.indices_, sample_weight=sample_weight, baseline=self.baseline_)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
