"""Two parts of a data set that are as alike as possible: train/test twins."""

from typing import Any

import numpy as np

from .._validation import Indices, InvalidInput, gathered
from ..tables.frames import height, is_table
from .points.points import points

FIXED = ("equal_weights", "max_weight", "min_weight", "move", "sample_weight")
"""Options of `points` that a split leaves no choice about: its rows count alike, and stay rows."""


def split_evenly(X: Any, k: int, **options: Any) -> tuple[Indices, Indices]:
    """Cut the rows of X into two parts of nearly equal distribution, the second with k rows.

    The second part are k rows of equal weight that are as near as possible to all rows in MMD. With
    p and t the mean embeddings of this part and of all N rows the first part is as near, for its
    own is t + (t - p) k / (N - k).

    Parameters
    ----------
    X : array, sparse matrix or table of shape (N, d)
        The rows; see `points`.
    k : int
        How many rows the second part has, fewer than there are and at most the number of distinct
        ones.
    **options
        Options of `points`, such as labels, include (in the second part), exclude (in the first),
        groups, similarity, time_limit and rng. Those about weights and moving are not for a split,
        nor is missing="drop".

    Returns
    -------
    first, second : ndarray of int
        Sorted row numbers, (N - k,) and (k,).

    Examples
    --------
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> first, second = split_evenly(X, 2, rng=0)
    >>> len(first), len(second), sorted(int(i > 1) for i in second)
    (2, 2, [0, 1])
    """
    fixed = [name for name in FIXED if name in options]
    if fixed:
        raise InvalidInput(f"{fixed[0]} is not for a split: its rows count alike, and stay rows")
    if options.get("missing") == "drop":
        raise InvalidInput(
            "missing='drop' would leave rows in neither part; use 'impute' or 'category', or drop them"
        )
    X = gathered(X)
    second = points(X, k, equal_weights=True, **options).indices
    n = height(X) if is_table(X) else X.shape[0] if hasattr(X, "shape") else len(X)
    if len(second) == n:
        raise InvalidInput(
            f"k must be below the number of rows, {n}, so that a first part is left, got {k}"
        )
    return np.setdiff1d(np.arange(n), second), second
