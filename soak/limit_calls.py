"""Calls of the jobs with their options, on large inputs: what the campaign of limits runs beside the plain ones."""

from collections.abc import Callable
from typing import Any

import numpy as np


def of_counts(counts: Any, k: int, **options: Any) -> Any:
    """Bins of a histogram."""
    import fewer

    return fewer.bins(counts=counts, k=k, **options)


def bars_of(counts: Any, k: int, **options: Any) -> Any:
    """Bins with k bars."""
    import fewer

    return fewer.bins(counts=counts, k=k, contiguous=True, **options)


def of_values(values: Any, k: int, **options: Any) -> Any:
    """Bins of values."""
    import fewer

    return fewer.bins(values, k, **options)


def grouped(A: Any, b: Any, k: int, **options: Any) -> Any:
    """Terms with limits on the weights of groups."""
    import fewer

    return fewer.terms(A, b, k, groups=np.arange(A.shape[1]) % 50, max_group_weight=0.3, **options)


def held_out(A: Any, b: Any, k: int, **options: Any) -> Any:
    """Bins that preserve a matrix, with rows held out."""
    import fewer

    return fewer.bins(
        counts=np.arange(1.0, A.shape[1] + 1.0), k=k, preserve=A, validation=0.2, **options
    )


def of_units(X: Any, k: int, **options: Any) -> Any:
    """Points that are whole units of rows, all as large."""
    import fewer

    count = len(X) // 10 if len(X) < 10**4 else 2000
    return fewer.points(X, k, units=np.arange(len(X)) % count, **options)


def optional(X: Any, k: int, option: str, **options: Any) -> Any:
    """Points with one of their options."""
    import fewer

    rows = np.arange(len(X))
    more: dict[str, Any] = {
        "labels": {"labels": rows % 3},
        "cv": {"labels": (X[:, 0] > 0).astype(int), "gamma": "cv"},
        "target": {"target": X[: len(X) // 2] + 1.0},
        "move": {"move": True},
        "groups": {"groups": rows % 5, "min_per_group": 1},
        "include": {"include": [0, 1], "exclude": rows[2::2]},
        "equal": {"equal_weights": True},
        "weights": {"sample_weight": 1.0 + rows % 4},
        "laplace": {"similarity": "laplace"},
        "linear": {"similarity": "linear"},
        "standardize": {"standardize": True, "gamma": "scale"},
    }
    return fewer.points(X, k, **more[option], **options)


def restricted(A: Any, b: Any, k: int, option: str, **options: Any) -> Any:
    """Terms with one of their options."""
    import fewer

    n = A.shape[1]
    more: dict[str, Any] = {
        "bounds": {"min_weight": 0.02, "max_weight": 0.3},
        "include": {"include": [3, 5], "exclude": np.arange(10, n, 3)},
        "counts": {"groups": np.arange(n) % 7, "max_per_group": 3},
        "turnover": {"previous": np.append(np.ones(5) / 5, np.zeros(n - 5)), "max_turnover": 1.0},
        "rows": {"constraints": ((np.arange(n) % 2).astype(float), 0.4)},
        "absolute": {"loss": "absolute"},
        "downside": {"loss": "downside"},
        "weights": {"sample_weight": 1.0 + np.arange(len(b)) % 3},
    }
    return fewer.terms(A, b, k, **more[option], **options)


def chosen(X: Any, k: int, option: str, **options: Any) -> Any:
    """Dims with one of their options."""
    import fewer

    n = X.shape[1]
    costs = 1.0 + np.arange(n) % 3
    more: dict[str, Any] = {
        "include": {"k": k, "include": [0, 7], "exclude": [1, 2]},
        "units": {"k": k, "units": np.arange(n) // 2},
        "costs": {"costs": costs, "budget": 1.5 * k},
        "weights": {"k": k, "sample_weight": 1.0 + np.arange(X.shape[0]) % 2},
    }
    return fewer.dims(X, **more[option], **options)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "bins": of_counts,
    "bars": bars_of,
    "values": of_values,
    "grouped": grouped,
    "held out": held_out,
    "units": of_units,
    "points with": optional,
    "terms with": restricted,
    "dims with": chosen,
}
"""Calls that are no job with its own defaults."""
