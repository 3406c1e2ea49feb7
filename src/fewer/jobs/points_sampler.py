"""A sampler for pipelines of imbalanced-learn: k rows in place of all."""

from typing import Any

import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length

from ..data.frames import take_rows
from ..deadline import Deadline
from ._estimator import Shown, our_error, unchanged_if_it_fails
from .points_transformer import checked, chosen, is_precomputed, labels_for
from .setting import SPARSE


class FewerSampler(Shown, BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """k rows that represent all rows in MMD, with their labels: a sampler for imbalanced-learn; see `points`.

    In a pipeline of imbalanced-learn it takes effect in `fit` only. It has no `transform`: for the similarities to the
    points use `FewerPoints`.

    Parameters
    ----------
    k : int
        How many rows are kept; a k above the number of distinct rows means all of them, with a warning.
    by_label : bool
        Whether each class of y gets points of its own. With False, y is only returned for the kept rows; it may be
        continuous.
    columns : dict or list, optional
        What the columns of a table are; see `points`.
    missing : {"error", "drop", "impute", "category"}
        How to treat missing values; see `points`.
    similarity : str or callable
        See `points`.
    gamma : float or {"median", "scale", "cv"}
        The bandwidth; see `points`. "cv" needs `by_label`.
    standardize : bool or "auto"
        Whether columns are scaled; see `points`.
    solver : {"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}
        See `points`.
    max_memory : int or str
        Bytes, or "500MB".
    time_limit : float, optional
        Wall time in seconds, but for compiling; a search goes on until it is over or the optimum is proven.
    random_state : None, int or RandomState
        Seed or generator of the random choices.
    verbose : int
        1 shows a progress bar, in a terminal or a notebook.

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

    def __init__(
        self,
        k: int = 10,
        *,
        by_label: bool = True,
        columns: Any = None,
        missing: str = "error",
        similarity: Any = "rbf",
        gamma: Any = "median",
        standardize: Any = "auto",
        solver: str = "auto",
        max_memory: Any = "1GB",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.k = k
        self.by_label = by_label
        self.columns = columns
        self.missing = missing
        self.similarity = similarity
        self.gamma = gamma
        self.standardize = standardize
        self.solver = solver
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def fit_resample(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Any:
        """The chosen rows of X, and their labels where y is given, in the containers that they came in."""
        deadline = Deadline.after(self.time_limit)
        with unchanged_if_it_fails(self):
            rows = checked(self, X)
            if y is not None:
                with our_error():
                    check_consistent_length(rows, y)
            chosen(self, rows, labels_for(self, y), sample_weight, deadline)
            self.sample_indices_ = self.indices_
        few = take_rows(X, self.sample_indices_)
        return few if y is None else (few, take_rows(y, self.sample_indices_))

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> "FewerSampler":
        """Choose the rows."""
        self.fit_resample(X, y, sample_weight)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = isinstance(self.similarity, str) and self.similarity in SPARSE
        tags.input_tags.pairwise = is_precomputed(self)
        return tags
