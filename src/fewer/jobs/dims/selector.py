"""`FewerDims`: the job dims as a scikit-learn selector."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, check_non_negative

from ..._validation import Indices
from ...result import Result
from ...tables.column import without_roles
from ...tables.frames import is_table, take_columns
from ...tables.source import Block, head_of, is_lazy, lazily, source_of
from ..estimator import (
    Estimator,
    Learned,
    at_most,
    check_columns,
    our_error,
    readable,
    validated,
)
from .dims import DimsProblem, StateRows, coverage
from .options import DimsOptions
from .summary import HEAD_ROWS, DimsPlan, DimsSummary, relabel, schema_of, summary_of_rows


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
    >>> (
    ...     selector.indices_.tolist(),
    ...     round(selector.coverage_, 3),
    ...     selector.score([[0, 1, 0, 0], [0, 1, 1, 0]]),
    ... )
    ([0, 1], 0.6, 0.5)
    """

    distribution_: Any = Learned("distribution")
    levels_: Any = Learned()
    coverage_: Any = Learned()

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
            if not is_lazy(X):
                X, sample_weight = without_roles(X, sample_weight=sample_weight)
                X, options = self._checked(X), options.replace(sample_weight=sample_weight)
            source = source_of(X, None, sample_weight)
            if is_lazy(X):
                self._checked(
                    without_roles(source.head(HEAD_ROWS).X, sample_weight=sample_weight)[0]
                )
            summary = summary_of_rows(source, self.k, options)
            self.result_ = self._solved(summary, options)
        return self

    def _checked(self, X: Any, reset: bool = True) -> Any:
        """Rows as scikit-learn checks them: arrays of numbers, or tables by their columns."""
        if is_table(X):
            check_columns(self, X, reset)
            return X
        X = validated(self, X, accept_sparse="csr", dtype="numeric", reset=reset)
        with our_error():
            check_non_negative(X, "FewerDims")
        return X

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> "FewerDims":
        """Learn from more rows of a stream: distinct states with their counts are kept.

        y is ignored.

        Where they exceed an eighth of `max_memory`, rare ones are left out and `bound_` allows for
        them. Columns of labels may have new ones later. Columns are chosen when the answer is asked
        for.
        """
        with self._restored():
            first = self._stream is None
            options = self._options()
            X, sample_weight = without_roles(X, sample_weight=sample_weight)
            block = Block(self._checked(X, reset=first), None, sample_weight)
            plan = DimsPlan(schema_of(block.X, options), None, options.max_memory)
            self._update(DimsSummary.of(block, plan))
        return self

    def _solved(self, summary: DimsSummary, options: DimsOptions) -> Result:
        """Return the result for rows that were read."""
        problem = DimsProblem.of(summary, options)
        limit = options.limit(self.k if options.budget is None else None)
        if options.budget is None:
            limit = at_most(limit, len(problem.units), problem.units.words)
        result = problem.solve(limit, options)
        self.coverage_ = problem.covered(result)
        levels = [summary.levels.get(i) for i in range(summary.n)]
        self.levels_ = levels if summary.levels else None
        empty = np.zeros(0, np.int64)
        self._columns = replace(summary, table=summary.table[empty], weights=summary.weights[empty])
        return result

    def transform(self, X: Any) -> Any:
        """The chosen columns of X; of a table with labels in its own container."""
        check_is_fitted(self)
        if is_lazy(X):
            return lazily(X, self.transform, len(self.indices_), np.asarray(head_of(X)).dtype)
        if self._in_labels(X):
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
        if not self._in_labels(X):
            X = validated(self, X, accept_sparse="csr", dtype="numeric", reset=False)
            return coverage(X, self.indices_, sample_weight=sample_weight, baseline=self.baseline_)
        check_columns(self, X, reset=False)
        fitted = self._columns
        block = Block(X, None, sample_weight)
        summary = relabel(DimsSummary.of(block, DimsPlan(fitted.plan.schema)), fitted.levels)
        return StateRows.of(summary, self.baseline_).share(self.indices_)

    def _in_labels(self, X: Any) -> bool:
        """Whether X is a table, and the columns of that of `fit` were not all numbers."""
        labelled = self.levels_ is not None or self._columns.unused.size > 0
        return labelled and is_table(X)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        return tags
