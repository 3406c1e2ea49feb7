"""Keep k dimensions of discrete data: which columns cover the most rows."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, InvalidInput, as_generator, as_units, known
from ..data.blocks import is_lazy
from ..data.frames import columns_of, names_of
from ..deadline import Deadline
from ..distribution import Distribution
from ..objectives.kl import KL
from ..objectives.l2 import L2
from ..progress import watched_by_user
from ..result import Result, Words
from ..solvers.loop import Callback, as_callback
from ..solvers.minimize import SOLVERS, minimize
from ..spaces import Lattice, States
from ._lazy import dims_of_blocks
from ._restricted import Restriction, restricted
from .coding import Coding
from .column_units import Limit
from .rows import Rows, listed
from .sample import as_bytes

OBJECTIVES = {"kl": "KL", "l2": "squared distance"}
"""Objectives, and what their loss is called."""
MAX_LATTICE_BITS = 13
"""For l2, a lattice of at most 2 to this many states is written out; beyond it only the seen states are listed."""


def dims(
    X: Any,
    k: Any = None,
    *,
    units: Any = None,
    costs: Any = None,
    budget: float | None = None,
    objective: str = "kl",
    sample_weight: npt.ArrayLike | None = None,
    baseline: Any = "auto",
    include: Any = (),
    exclude: Any = (),
    missing: str = "error",
    columns: Any = None,
    order: Any = None,
    item: Any = None,
    solver: str = "auto",
    max_memory: Any = "1GB",
    time_limit: float | None = None,
    rng: Any = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """Choose k columns S of X, and the distribution on X_S = {x : x = baseline outside S} nearest to the rows.

    With q the distribution of the rows, Q(S) and Q2(S) the sums of q and q² over X_S and M(S) the number of its
    states, the optimum over distributions p on X_S is

        KL(p‖q) = -log Q(S)   for p = q restricted to X_S and rescaled (p ‖ q, the paper's section 4.1),
        ‖p - q‖² = ‖q‖² - Q2(S) + (1 - Q(S))² / M(S)   for p = q + (1 - Q(S)) / M(S) on X_S.

    So "kl" maximises the share of covered rows, those that equal the baseline outside the k columns. It is infinite if
    no row is covered.

    Parameters
    ----------
    X : array, sparse matrix or table of shape (N, n)
        Small non-negative integers; a sparse matrix is never made dense. Columns of a table of pandas, polars or
        pyarrow may also hold truth values and labels, which are coded in sorted order; identifiers, free text and dates
        are left out (`note` says so). With `order` and `item` a long table. Also data in blocks: a Dask array or
        frame, a list of delayed blocks, paths or a pattern of them, a callable that returns an iterator of blocks.
    k : int
        How many columns are kept, at most n; with `units` how many units. With `costs` give `budget` instead.
    units : array of shape (n,), mapping or Series, optional
        A label for each column, by position or by name. The columns of a label are chosen together or not at all: the
        dummies of one variable, the items of one supplier. A column without a label is a unit of its own. A table with
        labels needs no dummies: its columns are the units.
    costs : array of shape (n,), mapping or Series, optional
        What each column costs, at least 0: shelf metres, minutes of a questionnaire. The chosen columns cost at most
        `budget` together. A unit costs the sum of its columns; a mapping may also say what a unit costs.
    budget : float, optional
        What may be spent on `costs`, instead of k.
    objective : {"kl", "l2"}
        What is minimised.
    sample_weight : array of shape (N,), optional
        Weights of the rows.
    baseline : {"auto", "zero", "mode"}, mapping or array of shape (n,)
        What counts as absent: zero, each column's most frequent value, one for each name of a mapping, or one code for
        each column. "auto" is zero, and the most frequent one of columns of labels; so it is for names that a mapping
        lacks.
    include, exclude : list of names or int
        Columns to keep in any case, and columns never to keep: a row that uses one of those is not covered. With
        `units` a column means its whole unit, and the label of a unit may be given too.
    missing : {"error", "drop", "impute", "category"}
        How to treat missing values: raise an error, drop their rows, use the column's most frequent value, or a label
        of their own. `note` says how many there were.
    columns : mapping or list of names, optional
        What columns of a table are, {"grade": "category", "id": "ignore"}, or the only ones to use.
    order, item : name, optional
        X is a long table, a line for each item of an order; these columns say which order and which item. The items
        are the columns then, the most frequent first. Of lines without an item, missing="drop" drops the whole order,
        for what it held is unknown, and "category" counts the unknown item as one more, named None.
    solver : {"auto", "exact", "exchange", "greedy", "iht"}
        "greedy" is Algorithm 3, ties to the lowest index, "iht" Algorithm 1, "exchange" a local search with
        perturbations, "exact" goes on until the optimum is proven, and "auto" is "exact" for a fixed amount of work.
    max_memory : int or str
        Data in blocks are read into memory if they take at most half of it; otherwise their distinct rows are counted,
        which may take an eighth of it. If these do not fit, rare ones are left out, and the bound allows for them.
    time_limit : float, optional
        Wall time in seconds, but for compiling. Rows are read and folded first, whatever the limit; then a search goes
        on until it is over or the optimum is proven.
    rng : None, int or Generator
        Seed or generator of the random choices.
    callback : callable, optional
        Called with the progress so far; a true return value stops the run.
    progress : bool
        Whether to show a progress bar, in a terminal or a notebook.

    Returns
    -------
    Result
        `indices` are the columns, `weights` is None. `p` lives on the distinct rows inside X_S, in codes where the
        baseline is 0; for l2 the mass of states never seen is in `distribution.rest`. `distribution` is in the codes
        of X, or numbers labels in their order. `labels` are the names of the columns, or the items; `units` the labels
        of the units that were chosen.

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
    deadline = Deadline.after(time_limit)
    known(objective, dict.fromkeys(OBJECTIVES), "objective")
    known(solver, SOLVERS, "solver")
    given = {"sample_weight": sample_weight, "missing": missing, "columns": columns, "order": order, "item": item}
    chosen = {"units": units, "costs": costs, "include": include, "exclude": exclude}
    k = one_limit(k, budget, costs)
    if order is not None and sample_weight is not None:
        raise InvalidInput("sample_weight is for rows of a wide table, not for lines of orders")
    memory = as_bytes(max_memory)
    with watched_by_user(progress, "dims", deadline, callback) as told:
        if is_lazy(X):
            found = dims_of_blocks(
                X,
                k,
                refused={"units": units, "costs": costs, "budget": budget},
                memory=memory,
                objective=objective,
                baseline=baseline,
                include=include,
                exclude=exclude,
                search={"solver": solver, "deadline": deadline, "rng": rng, "callback": told},
                **given,
            )
            if isinstance(found, Result):
                return found
            X, given["sample_weight"] = found.X, sample_weight if isinstance(sample_weight, str) else found.weight
        coding = Coding.of(X, baseline=baseline, **chosen, **given)
        return cover(coding, k, objective=objective, solver=solver, deadline=deadline, rng=rng, callback=told)


def one_limit(k: Any, budget: Any, costs: Any) -> Any:
    """K, which counts columns, or the budget for their costs: exactly one of them is given."""
    if budget is not None and costs is None:
        raise InvalidInput("budget is what may be spent on costs; give costs too, or k to count columns")
    if costs is not None and budget is None:
        raise InvalidInput("costs need a budget, what may be spent on them: give budget instead of k")
    if (k is None) == (budget is None):
        spelled = "k or budget" if costs is not None else "k"
        raise InvalidInput(f"give {spelled}: how much may be chosen, got {'neither' if k is None else 'both'}")
    return k if budget is None else budget


def cover(
    coding: Coding,
    k: Any,
    *,
    objective: str = "kl",
    solver: str = "auto",
    deadline: Deadline,
    rng: Any = None,
    callback: Callback | None = None,
) -> Result:
    """`dims` on rows that were looked through; k is the budget where columns have costs."""
    as_callback(callback)
    rows = Rows.of(coding.X, coding.sample_weight, coding.baseline)
    generator, seed = as_generator(rng)
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
        return minimize(F, C, solver, time_limit=deadline, rng=generator, callback=told)

    used = rows if units is None else units.rows(rows, objective)
    if restriction:
        found = restricted(used, limit, objective, restriction, run, callback)
    else:
        found = run(*problem(used, limit, objective), callback)
    if units is not None:
        chosen = found.indices
        found = replace(found, indices=units.columns(chosen), units=units.labels[chosen])
    found = finish(found, rows, objective)
    note, labels = "; ".join(filter(None, (found.note, coding.note))), coding.labels(found.indices)
    return replace(found, seed=seed, seconds=deadline.elapsed(), note=note, labels=labels)


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
    spread = objective == "l2" or not inside.any()  # what q lacks goes evenly to all states of the face
    p = q + float(Fraction(1.0 - Q) / size) if spread else q / Q
    rest = max(1.0 - float(p.sum()), 0.0) if spread and size > space.size else 0.0
    codes = space.rows[:, dims].toarray().astype(np.int64)
    kept = Distribution(rows.decode(codes, dims), p, dims, rows.shape, rest, rows.origin)
    found = replace(found, weights=None, table=p, space=space, kept=kept, words=Words("columns", rows.n))
    return found.named("columns", OBJECTIVES[objective])


def coverage(X: Any, support: Any, *, sample_weight: npt.ArrayLike | None = None, baseline: Any = "auto") -> float:
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
    coding = Coding.of(X, include=support, sample_weight=sample_weight, baseline=baseline)
    rows = Rows.of(coding.X, coding.sample_weight, coding.baseline)
    return float(rows.weights[rows.inside(coding.include)].sum())


def has_labels(X: Any) -> bool:
    """Whether a table holds more than whole numbers: labels, dates, or missing values."""
    return any(column.kind not in ("number", "boolean") or column.missing is not None for column in columns_of(X))


def take_columns(X: Any, indices: Indices) -> Any:
    """Columns of a table in the user's own container."""
    names = names_of(X)
    return X.iloc[:, indices] if hasattr(X, "iloc") else X.select([names[i] for i in indices])
