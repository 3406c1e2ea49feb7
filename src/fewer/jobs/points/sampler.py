"""A sampler for pipelines of imbalanced-learn: k rows in place of all."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length

from ..._validation import as_flag
from ...options import option
from ...tables.frames import take_rows
from ..estimator import Learned, our_error
from .estimator import PointsEstimator
from .options import GROUP_LIMITS, WEIGHT_LIMITS, PointsOptions


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SamplerOptions(PointsOptions):
    """Options of points, and whether y holds classes."""

    by_label: bool = option(
        True,
        "bool",
        "Whether each class of y gets points of its own. With False, y is only returned for the kept rows; it may be "
        "continuous.",
        as_flag,
    )


class FewerSampler(
    PointsEstimator, options=SamplerOptions, withheld=("move", *GROUP_LIMITS, *WEIGHT_LIMITS)
):
    """k rows that represent all rows in MMD, with their labels: a sampler for imbalanced-learn; see `points`.

    In a pipeline of imbalanced-learn it takes effect in `fit` only. It has no `transform`: for the
    similarities to the points use `FewerPoints`.

    Parameters
    ----------
    k : int
        How many rows are kept; a k above the number of distinct rows means all of them, with a
        warning.
    {options}

    Attributes
    ----------
    sample_indices_ : ndarray of shape (k,)
        The rows that were kept, in ascending order.
    weights_, counts_ : ndarray of shape (k,)
        Their weights, and how many rows each represents.
    result_ : Result

    Examples
    --------
    >>> X, y = [[0.0], [0.1], [5.0], [5.1], [5.2]], ["a", "a", "b", "b", "b"]
    >>> FewerSampler(k=2, random_state=0).fit_resample(X, y)[1].tolist()
    ['a', 'b']
    """

    sample_indices_: Any = Learned("indices")

    def fit_resample(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> Any:
        """The chosen rows of X, and their labels where y is given, in the containers that they came in."""
        labels = self._labels(y, self.by_label)
        with self._fitting(labels=labels, sample_weight=sample_weight) as options:
            rows = self._checked(X)
            if y is not None:
                with our_error():
                    check_consistent_length(rows, y)
            self._choose(rows, options)
        few = take_rows(X, self.sample_indices_)
        return few if y is None else (few, take_rows(y, self.sample_indices_))

    def fit(
        self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None
    ) -> "FewerSampler":
        """Choose the rows."""
        self.fit_resample(X, y, sample_weight)
        return self
