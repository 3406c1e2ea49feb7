"""A k-term convex combination of columns that tracks a target."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..._validation import as_integer
from ...constraints.sparse_simplex import SparseSimplex
from ...options import takes
from ...result import Result, Words
from ...solvers.minimize import minimize
from ...tables.prices import resemble_prices
from ...tables.source import source_of
from ..bins.options import BinsOptions
from .options import TermsOptions
from .tracking import Tracked, terms_summary

PRICES = "X and y look like prices in order of time: returns='simple' tracks their returns instead"
"""The note on numbers that are positive, steady, and badly tracked."""


@takes(TermsOptions)
def terms(X: Any, y: Any, k: int, **options: Any) -> Result:
    """Find weights q on at most k columns of X that track y.

        min ‖X q - y‖² + ridge ‖q‖²   over q >= 0, Σ q = 1, at most k entries not zero

    and, if given, bounds on weights, limits on the number and weight of columns in groups, on
    turnover, and G q <= h.

    Parameters
    ----------
    X : array, sparse matrix, LinearOperator or table of shape (r, n)
        Entries of any size; an array of float32 stays float32. Memory is X and a small multiple of
        k r; an array that is not in C order is copied. In a table of pandas, polars or pyarrow the
        columns of numbers are candidates; dates and identifiers are not (`note` says so), and other
        text is refused. Also data in blocks: a Dask array or frame, a list of delayed blocks, paths
        or a pattern of them, a callable that returns an iterator of blocks (X, y).
    y : array, Series or name of shape (r,)
        The target, or the name of a column of the table X, which is then no candidate. If both are
        pandas objects, rows are matched by their index labels.
    k : int
        How many columns may be held, at most n.
    {options}

    Returns
    -------
    Result
        `indices` are columns, and `labels` their names in a table. A value that a float cannot hold
        is 0 or infinite, and `note` says so.

    References
    ----------
    Beasley, Meade and Chang (2003), An evolutionary heuristic for the index tracking problem.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.eye(4), [0.5, 0.3, 0.2, 0.0]
    >>> result = terms(X, y, 2, rng=0)
    >>> result.indices.tolist(), result.weights.round(6).tolist(), round(abs(result.gap), 6)
    ([0, 1], [0.6, 0.4], 0.0)

    Prices in a table, of which one column is the index to track:

    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"a": [10.0, 11.0, 12.0], "b": [5.0, 4.0, 6.0], "index": [8.0, 8.1, 9.6]}
    ... )
    >>> result = terms(frame, "index", 1, returns="simple")
    >>> result.labels.tolist(), result.indices.tolist()
    (['a'], [0])

    No more than 30 % in one sector, and a turnover of at most 0.4:

    >>> held = terms(
    ...     X, y, 3, groups=["tech", "tech", "oil", "oil"], max_group_weight={"tech": 0.3}, rng=0
    ... )
    >>> held.weights.round(6).tolist()
    [0.3, 0.45, 0.25]
    >>> moved = terms(X, y, 3, previous=[0.0, 0.5, 0.5, 0.0], max_turnover=0.4, rng=0)
    >>> round(float(abs(moved.p - [0.0, 0.5, 0.5, 0.0]).sum()), 6)
    0.4
    """
    with TermsOptions.of(options).watched() as own:
        return track(prepare(X, y, own), k, own)


def prepare(X: Any, y: Any, options: TermsOptions) -> Tracked:
    """Return the problem: of rows that fit into memory, or what blocks of rows leave."""
    weight = options.sample_weight
    source = source_of(X, y, weight)
    whole = source.whole(options.max_memory // 2)
    if whole is None:
        return terms_summary(source, y, options).tracked(options)
    own = options.replace(sample_weight=weight if isinstance(weight, str) else whole.weight)
    return Tracked.of(whole.X, y if isinstance(y, str) else whole.y, own)


def track(data: Tracked, k: int, options: TermsOptions) -> Result:
    """Return at most k columns of data that were prepared."""
    F = options.objective(data.X, data.y, data.sample_weight)
    as_integer(k, "k", 1, F.space.size, "columns")
    return tracked_by(F, options.constraint(F.space, k, data), data, options)


def tracked_by(F: Any, C: SparseSimplex, data: Tracked, options: TermsOptions) -> Result:
    """Minimise F over C, with the names and notes of the data."""
    result = solve(F, C, options)
    hint = PRICES if misses_prices(F, result) else ""
    return replace(
        result,
        labels=data.labels(result.indices),
        note="; ".join(filter(None, (result.note, hint, data.note))),
        words=Words("columns", data.candidates(F.space.size), options.objective_name),
    )


def solve(F: Any, C: SparseSimplex, options: TermsOptions | BinsOptions) -> Result:
    """Run a solver by name."""
    deadline, callback = options.deadline, options.callback
    result = minimize(F, C, options.solver, time_limit=deadline, rng=options.rng, callback=callback)
    return replace(result, seconds=deadline.elapsed(), loss=loss_of(F, result))


def loss_of(F: Any, result: Result) -> float | None:
    """Return the loss of an answer without the ridge, where the objective has one."""
    if not hasattr(F, "ridge"):
        return None
    return float(F.loss(result.p)) if F.ridge else result.value


def misses_prices(F: Any, result: Result) -> bool:
    """Return whether F compares numbers like prices, of whose variance more than a tenth is left."""
    if not isinstance(F.A, np.ndarray) or not resemble_prices(F.A, F.b):
        return False
    size = np.abs(F.b).max()
    left, b = (F.A @ result.p - F.b) / size, F.b / size
    return bool(left @ left > 0.1 * np.square(b - b.mean()).sum())
