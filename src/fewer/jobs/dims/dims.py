"""Keep k dimensions of discrete data: which columns cover the most rows."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._validation import Indices, as_generator, as_units
from ...distribution import Distribution
from ...objectives.kl import KL
from ...objectives.l2 import L2
from ...options import takes
from ...result import Result, Words
from ...solvers.loop import Callback
from ...solvers.minimize import minimize
from ...spaces import Lattice, States
from ...tables.column import columns_of
from ...tables.frames import names_of
from ...tables.source import is_lazy
from ..lazy import dims_of_blocks
from .coding import Coding
from .column_units import Limit
from .options import OBJECTIVES, DimsOptions
from .restricted import Restriction, restricted
from .rows import Rows, listed

MAX_LATTICE_BITS = 13
"""For l2, a lattice of at most 2 to this many states is written out; beyond it only the seen states are listed."""


@takes(DimsOptions)
def dims(X: Any, k: Any = None, **options: Any) -> Result:
    """Choose k columns S of X, and the distribution on X_S = {x : x = baseline outside S} nearest to the rows.

    With q the distribution of the rows, Q(S) and Q2(S) the sums of q and q² over X_S and M(S) the
    number of its states, the optimum over distributions p on X_S is

        KL(p‖q) = -log Q(S)   for p = q restricted to X_S and rescaled (p ‖ q, the paper's section 4.1),
        ‖p - q‖² = ‖q‖² - Q2(S) + (1 - Q(S))² / M(S)   for p = q + (1 - Q(S)) / M(S) on X_S.

    So "kl" maximises the share of covered rows, those that equal the baseline outside the k
    columns. It is infinite if no row is covered.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (N, n)
        Small non-negative integers; a sparse matrix is never made dense. Columns of a table of
        pandas, polars or pyarrow may also hold truth values and labels, which are coded in sorted
        order; identifiers, free text and dates are left out (`note` says so). With `order` and
        `item` a long table. Also data in blocks: a Dask array or frame, a list of delayed blocks,
        paths or a pattern of them, a callable that returns an iterator of blocks.
    k : int
        How many columns are kept, at most n; with `units` how many units. With `costs` give
        `budget` instead.
    {options}

    Returns
    -------
    Result
        `indices` are the columns, `weights` is None. `p` lives on the distinct rows inside X_S, in
        codes where the baseline is 0; for l2 the mass of states never seen is in
        `distribution.rest`. `distribution` is in the codes of X, or numbers labels in their order.
        `labels` are the names of the columns, or the items; `units` the labels of the units that
        were chosen.

    Examples
    --------
    >>> import math
    >>> orders = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> result = dims(orders, k=2)
    >>> result.indices.tolist(), round(math.exp(-result.value), 3), result.gap
    ([0, 1], 0.6, 0.0)

    A long table, of which one item is out of the question:

    >>> import pandas as pd
    >>> lines = pd.DataFrame({"order": [1, 1, 2, 3, 3, 4], "item": ["tea", "milk", "tea", "rum", "cola", "rum"]})
    >>> dims(lines, 2, order="order", item="item", exclude=["rum"]).labels.tolist()
    ['tea', 'milk']

    Columns that come together, and columns that cost:

    >>> dims(orders, 1, units=["a", "a", "b", "b"]).indices.tolist()
    [0, 1]
    >>> dims(orders, costs=[3.0, 3.0, 1.0, 1.5], budget=4.0).indices.tolist()
    [2, 3]

    """
    with DimsOptions.of(options).watched() as given:
        return columns_of_rows(X, k, given)


def columns_of_rows(X: Any, k: Any, options: DimsOptions) -> Result:
    """The k columns that cover the most rows, or those that a budget buys."""
    k = options.limit(k)
    if is_lazy(X):
        found = dims_of_blocks(X, k, options)
        if isinstance(found, Result):
            return found
        weight = options.sample_weight if isinstance(options.sample_weight, str) else found.weight
        X, options = found.X, options.replace(sample_weight=weight)
    return cover(Coding.of(X, options), k, options)


def cover(coding: Coding, k: Any, options: DimsOptions, rows: Rows | None = None) -> Result:
    """Minimise over k columns of rows that were coded, which are `rows`; k is the budget where columns have costs."""
    rows = Rows.of(coding.X, coding.sample_weight, coding.baseline) if rows is None else rows
    generator, seed = as_generator(options.rng)
    units = coding.units
    count, what = (rows.n, "columns") if units is None else (len(units), "units")
    limit = Limit.of(k, count, coding.costs, what)
    held, never = (
        as_units(given, rows.n, "columns", name)
        for given, name in ((coding.include, "include"), (coding.exclude, "exclude"))
    )
    if units is not None:
        held, never = units.of_columns(held), units.of_columns(never)
        units.check_apart(held, never)
    restriction = Restriction.of(held, never, limit)

    def run(F: Any, C: Any, told: Callback | None) -> Result:
        return minimize(
            F, C, options.solver, time_limit=options.deadline, rng=generator, callback=told
        )

    used = rows if units is None else units.rows(rows, options.objective)
    if restriction:
        found = restricted(used, limit, options.objective, restriction, run, options.callback)
    else:
        found = run(*problem(used, limit, options.objective), options.callback)
    if units is not None:
        chosen = found.indices
        found = replace(found, indices=units.columns(chosen), units=units.labels[chosen])
    found = finish(found, rows, options.objective)
    note, labels = "; ".join(filter(None, (found.note, coding.note))), coding.labels(found.indices)
    return replace(found, seed=seed, seconds=options.deadline.elapsed(), note=note, labels=labels)


def problem(rows: Rows, limit: Limit, objective: str) -> tuple[Any, Any]:
    """(F, C) of which dims is the minimum: KL or the squared distance to the rows, over faces within the limit."""
    if objective == "kl":
        seen = listed(rows, limit.reaches)
        return KL(seen, seen.weights), limit.on(seen)
    seen = rows.states()
    if math.fsum(map(math.log2, rows.shape)) > MAX_LATTICE_BITS:
        F = L2.on_lattice(seen)
        return F, limit.on(F.space)
    space = Lattice(rows.n, rows.shape)
    q = np.zeros(space.size)
    q[space.ravel(seen.unravel(np.arange(seen.size)))] = seen.weights
    return L2(space, q), limit.on(space)


def finish(found: Result, rows: Rows, objective: str) -> Result:
    """The chosen face as a distribution on the states inside it."""
    dims = found.support
    inside = rows.inside(dims)
    Q = min(float(rows.weights[inside].sum()), 1.0)
    size = math.prod(rows.shape[i] for i in dims)
    if inside.any():
        space = rows.states(inside)
        q = space.weights * Q
    else:  # no row lies in the face: list its origin, which q gives no mass
        space, q = States(np.zeros((1, rows.n), np.int32), m=rows.shape), np.zeros(1)
    spread = (
        objective == "l2" or not inside.any()
    )  # what q lacks goes evenly to all states of the face
    p = q + float(Fraction(1.0 - Q) / size) if spread else q / Q
    rest = max(1.0 - float(p.sum()), 0.0) if spread and size > space.size else 0.0
    codes = space.rows[:, dims].toarray().astype(np.int64)
    kept = Distribution(rows.decode(codes, dims), p, dims, rows.shape, rest, rows.origin)
    found = replace(
        found, weights=None, table=p, space=space, kept=kept, words=Words("columns", rows.n)
    )
    return found.named("columns", OBJECTIVES[objective])


def coverage(
    X: Any, support: Any, *, sample_weight: npt.ArrayLike | None = None, baseline: Any = "auto"
) -> float:
    """The share of the rows' weight that these columns cover: Q(S), the weight of rows at the baseline outside S.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (N, n)
        As for `dims`.
    support : list of names or int
        Columns.
    sample_weight : array of shape (N,), optional
        Weights of the rows.
    baseline : {"auto", "zero", "mode"}, mapping or array of shape (n,)
        What counts as absent.

    Returns
    -------
    float

    Examples
    --------
    >>> coverage([[1, 1, 0], [0, 1, 0], [0, 0, 1]], [0, 1]) == 2 / 3
    True

    """
    given = {"include": support, "sample_weight": sample_weight, "baseline": baseline}
    coding = Coding.of(X, DimsOptions.of(given))
    rows = Rows.of(coding.X, coding.sample_weight, coding.baseline)
    return float(rows.weights[rows.inside(coding.include)].sum())


def has_labels(X: Any) -> bool:
    """Whether a table holds more than whole numbers: labels, dates, or missing values."""
    return any(
        column.kind not in ("number", "boolean") or column.missing is not None
        for column in columns_of(X)
    )


def take_columns(X: Any, indices: Indices) -> Any:
    """Columns of a table in the user's own container."""
    names = names_of(X)
    return X.iloc[:, indices] if hasattr(X, "iloc") else X.select([names[i] for i in indices])
