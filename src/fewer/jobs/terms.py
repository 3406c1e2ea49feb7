"""A k-term convex combination of columns that tracks a target."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import InvalidInput, as_integer, known, read
from ..constraints.sparse_simplex import SparseSimplex
from ..data.blocks import as_blocks, is_lazy, refuse_for_blocks
from ..data.prices import resemble_prices
from ..deadline import Deadline
from ..objectives.moments import Moments
from ..progress import watched_by_user
from ..result import Result, Words
from ..solvers.loop import Callback, as_callback
from ..solvers.minimize import SOLVERS, minimize
from ._lazy import terms_of_blocks
from .holdings import Holdings, conditions_of
from .sample import as_bytes
from .tracking import Tracked

PRICES = "X and y look like prices in order of time: returns='simple' tracks their returns instead"
"""What is said of numbers that are positive, steady, and badly tracked."""


def terms(
    X: Any,
    y: Any,
    k: int,
    *,
    min_weight: float = 0.0,
    max_weight: float = 1.0,
    include: Any = (),
    exclude: Any = (),
    groups: Any = None,
    max_per_group: Any = None,
    min_per_group: Any = None,
    max_group_weight: Any = None,
    min_group_weight: Any = None,
    previous: Any = None,
    max_turnover: float | None = None,
    constraints: Any = None,
    loss: str = "squared",
    ridge: float = 0.0,
    sample_weight: npt.ArrayLike | None = None,
    missing: str = "error",
    returns: str | None = None,
    date: Any = None,
    solver: str = "auto",
    max_memory: Any = "1GB",
    time_limit: float | None = None,
    rng: Any = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Weights q on at most k columns of X that track y.

        min ‖X q - y‖² + ridge ‖q‖²   over q >= 0, Σ q = 1, at most k entries not zero

    and, if given, bounds on weights, limits on the number and weight of columns in groups, on turnover, and G q <= h.

    Parameters
    ----------
    X : array, sparse matrix, LinearOperator or table of shape (r, n)
        Entries of any size; an array of float32 stays float32. Memory is X and a small multiple of k r; an array that
        is not in C order is copied. In a table of pandas, polars or pyarrow the columns of numbers are candidates;
        dates and identifiers are not (`note` says so), and other text is refused. Also data in blocks: a Dask array
        or frame, a list of delayed blocks, paths or a pattern of them, a callable that returns an iterator of blocks
        (X, y).
    y : array, Series or name of shape (r,)
        The target, or the name of a column of the table X, which is then no candidate. If both are pandas
        objects, rows are matched by their index labels.
    k : int
        How many columns may be held, at most n.
    min_weight, max_weight : float
        Each weight that is held lies between them.
    include, exclude : list of names or int
        Columns that are held (with min_weight = 0 their best weight may be zero), and columns that are not.
    groups : array of shape (n,), mapping or Series, optional
        A label for each column, by position or by name; limits of groups need it.
    max_per_group, min_per_group : int, mapping or sequence, optional
        How many columns of one label are held, at most and at least: one number for all, numbers by label, or one for
        each label in sorted order. With min_weight = 0 a column may be held at weight zero.
    max_group_weight, min_group_weight : float, mapping or sequence, optional
        The weight of all columns of one label lies between them, such as max_group_weight={"tech": 0.3}.
    previous : array, mapping, Series or Result, optional
        Weights held before, by position or by name.
    max_turnover : float, optional
        Given together with `previous`: `Σ |q - previous|` is at most this.
    constraints : pair (G, h), optional
        G q <= h: an array (m, n), or a table whose columns are names of X (others count 0), and m numbers.
    loss : {"squared", "absolute", "downside"}
        `‖X q - y‖²`, `Σ |X q - y|`, or `Σ max(y - X q, 0)²`, with `sample_weight` as weights of the rows.
    ridge : float
        A multiple of ‖q‖² that is added to the loss: it spreads the weights, and chooses among them where there are
        fewer rows than columns. `value`, `bound` and `gap` include it, `loss` does not.
    sample_weight : array of shape (r,), optional
        Weights of the rows' errors.
    missing : {"error", "drop", "impute", "ffill"}
        How to treat missing values: raise an error, drop their rows, use the column's median (not for y), or for prices
        the last one before. `note` says how many there were. Excluded columns may have missing values.
    returns : {"simple", "log"}, optional
        X and y are prices in order of time, and their returns are compared: p(t) / p(t-1) - 1, or differences of
        logarithms. There is one row less. Rows of a table that are not in the order of the dates in its index or its
        one column of dates are sorted by them.
    date : name, optional
        A column of dates of the table X, by which rows are sorted; none may occur twice.
    solver : {"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}
        "greedy" is Algorithm 3, "iht" Algorithm 1 with momentum and refits, "frank_wolfe" the convex relaxation with
        its answer projected, "exchange" a local search, "exact" goes on until the optimum is proven, and "auto" is
        "exact" for a fixed amount of work where no `time_limit` is set.
    max_memory : int or str
        Data in blocks are read into memory if they take at most half of it. Otherwise they are factored block by block,
        [X y] = Q R, which leaves a problem of n + 1 rows with the same errors.
    time_limit : float, optional
        Wall time in seconds, but for compiling; a search goes on until it is over or the optimum is proven.
        Without it the same `rng` gives the same answer on any machine.
    rng : None, int or Generator
        Seed or generator of the random choices.
    callback : callable, optional
        Called with the progress so far; a true return value stops the run.
    progress : bool
        Whether to show a progress bar, in a terminal or a notebook.

    Returns
    -------
    Result
        `indices` are columns, and `labels` their names in a table. A value that a float cannot hold is 0 or infinite,
        and `note` says so.

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
    >>> frame = pd.DataFrame({"a": [10.0, 11.0, 12.0], "b": [5.0, 4.0, 6.0], "index": [8.0, 8.1, 9.6]})
    >>> result = terms(frame, "index", 1, returns="simple")
    >>> result.labels.tolist(), result.indices.tolist()
    (['a'], [0])

    No more than 30 % in one sector, and a turnover of at most 0.4:

    >>> held = terms(X, y, 3, groups=["tech", "tech", "oil", "oil"], max_group_weight={"tech": 0.3}, rng=0)
    >>> held.weights.round(6).tolist()
    [0.3, 0.45, 0.25]
    >>> moved = terms(X, y, 3, previous=[0.0, 0.5, 0.5, 0.0], max_turnover=0.4, rng=0)
    >>> round(float(abs(moved.p - [0.0, 0.5, 0.5, 0.0]).sum()), 6)
    0.4
    """
    deadline = Deadline.after(time_limit)
    known(solver, SOLVERS, "solver")
    columns = {"include": include, "exclude": exclude, "groups": groups}
    given = {"sample_weight": sample_weight, "missing": missing, "returns": returns, "date": date}
    memory = as_bytes(max_memory)
    data = looked_through(X, y, columns, given, memory, loss)
    conditions = conditions_of(previous, max_turnover, constraints, data.names, _width(data.X))
    groups_have = max_per_group, min_per_group, max_group_weight, min_group_weight
    limits = Holdings(min_weight, max_weight, *groups_have, conditions, loss, ridge)
    with watched_by_user(progress, "terms", deadline, callback) as told:
        search = {"solver": solver, "deadline": deadline, "rng": rng, "callback": told}
        return track(data, k, limits, **search)


def looked_through(X: Any, y: Any, columns: dict[str, Any], given: dict[str, Any], memory: int, loss: str) -> Tracked:
    """The problem in memory: as it was given, gathered, or what blocks of rows leave."""
    if not is_lazy(X):
        return Tracked.of(X, y, **columns, **given)
    blocks = as_blocks(X, y, given["sample_weight"])
    whole = blocks.gathered(memory // 2)
    if whole is not None:
        weight = given["sample_weight"]
        own = {**given, "sample_weight": weight if isinstance(weight, str) else whole.weight}
        return Tracked.of(whole.X, y if isinstance(y, str) else whole.y, **columns, **own)
    refuse_for_blocks(loss=None if loss == "squared" else loss, returns=given["returns"], date=given["date"])
    return terms_of_blocks(blocks, y, given["sample_weight"], given["missing"]).tracked(**columns)


def track(
    data: Tracked,
    k: int,
    limits: Holdings,
    *,
    solver: str = "auto",
    deadline: Deadline | None = None,
    rng: Any = None,
    callback: Callback | None = None,
) -> Result:
    """`terms` on data that were looked through."""
    F = limits.objective(data.X, data.y, data.sample_weight)
    as_integer(k, "k", 1, F.space.size, "columns")
    C = limits.constraint(F.space, k, data.include, data.exclude, data.groups)
    found = hinted(solve(F, C, solver, deadline or Deadline.after(None), rng, callback), F)
    words = Words("columns", data.candidates(F.space.size), limits.objective_name)
    note = "; ".join(filter(None, (found.note, data.note)))
    return replace(found, labels=data.labels(found.indices), note=note, words=words)


def _width(X: Any) -> int:
    """How many columns there are."""
    shape = getattr(X, "shape", None)
    shape = shape if isinstance(shape, tuple) else read(X, "X").shape
    if len(shape) != 2:
        raise InvalidInput(f"X must be a matrix with at least one row and one column, got shape {shape}")
    return int(shape[1])


def least_squares(X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Moments:
    """‖X q - y‖², rows weighted; X is looked through once."""
    F: Moments = Holdings().objective(X, y, sample_weight)
    return F


def solve(
    F: Any,
    C: SparseSimplex,
    solver: str,
    deadline: Deadline,
    rng: Any,
    callback: Callback | None = None,
) -> Result:
    """Run a solver by name."""
    known(solver, SOLVERS, "solver")
    as_callback(callback)
    found = minimize(F, C, solver, time_limit=deadline, rng=rng, callback=callback)
    return replace(found, seconds=deadline.elapsed(), loss=loss_of(F, found))


def loss_of(F: Any, found: Result) -> float | None:
    """The loss of an answer without the ridge, where the objective has one."""
    if not hasattr(F, "ridge"):
        return None
    return float(F.loss(found.p)) if F.ridge else found.value


def hinted(found: Result, F: Any) -> Result:
    """The result, with a hint where F compares numbers like prices, of whose variance more than a tenth is left."""
    if not isinstance(F.A, np.ndarray) or not resemble_prices(F.A, F.b):
        return found
    size = np.abs(F.b).max()
    left, b = (F.A @ found.p - F.b) / size, F.b / size
    if left @ left <= 0.1 * np.square(b - b.mean()).sum():
        return found
    return replace(found, note="; ".join(filter(None, (found.note, PRICES))))
