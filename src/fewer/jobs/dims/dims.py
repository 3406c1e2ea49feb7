"""Keep k dimensions of discrete data: which units of columns cover the most rows, within a number or a budget."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_generator,
    as_integer,
    as_number,
    as_units,
    as_vector,
    as_weights,
    read,
    shown,
)
from ...codes import MOST_CODES
from ...constraints.dimension_sparse import ROUNDING, DimensionSparse
from ...distribution import Distribution
from ...objectives.covered import KL, L2, ListedL2
from ...options import takes
from ...result import Result, Words
from ...rules import Rules
from ...solvers.minimize import minimize
from ...spaces import Lattice, States
from ...tables.column import nothing_whole
from ...tables.frames import by_name, known_name, positions, quoted
from ...tables.source import source_of
from .baskets import summary_of_lines
from .options import OBJECTIVES, DimsOptions
from .summary import DimsSummary, largest_codes, replace_columns, summary_of_rows

MAX_LATTICE_BITS = 13
"""For l2, a lattice of at most 2 to this many states is written out; beyond it only the seen states
are listed."""


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
    >>> lines = pd.DataFrame(
    ...     {"order": [1, 1, 2, 3, 3, 4], "item": ["tea", "milk", "tea", "rum", "cola", "rum"]}
    ... )
    >>> dims(lines, 2, order="order", item="item", exclude=["rum"]).labels.tolist()
    ['tea', 'milk']

    Columns that come together, and columns that cost:

    >>> dims(orders, 1, units=["a", "a", "b", "b"]).indices.tolist()
    [0, 1]
    >>> dims(orders, costs=[3.0, 3.0, 1.0, 1.5], budget=4.0).indices.tolist()
    [2, 3]
    """
    with DimsOptions.of(options).watched() as own:
        limit = own.limit(k)
        return DimsProblem.of(summarise(X, limit, own), own).solve(limit, own)


def summarise(X: Any, k: Any, options: DimsOptions) -> DimsSummary:
    """Rows of any container, of which states of more than k columns need not be kept."""
    source = source_of(X, None, options.sample_weight)
    if options.order is not None:
        return summary_of_lines(source, k, options)
    return summary_of_rows(source, k, options)


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
    options = DimsOptions.of(
        {"include": support, "sample_weight": sample_weight, "baseline": baseline}
    )
    problem = DimsProblem.of(summarise(X, None, options), options)
    return problem.rows.share(problem.include)


@dataclass(frozen=True, eq=False)
class StateRows:
    """Weighted rows of n small integers, as a CSR table in which every column's baseline is written as 0.

    A baseline changes places with 0. `origin` (n,) holds the baselines and `shape` the cardinalities; `counts` are the weights of the rows and
    `weights` their shares.
    """

    table: Any
    counts: Vector
    origin: Indices
    shape: tuple[int, ...]

    @classmethod
    def of(cls, summary: DimsSummary, baseline: Any) -> "StateRows":
        """Recode rows; those of weight zero are left out, and states that no face holds are one."""
        table, counts = summary.table, summary.weights
        if summary.heavy > 0:
            ones = sp.csr_array(np.ones((1, summary.n), table.dtype))
            table = sp.csr_array(sp.vstack([table, ones], format="csr"))
            counts = np.append(counts, summary.heavy)
        if not counts.size:
            raise (
                nothing_whole() if summary.dropped else InvalidInput("X must have at least one row")
            )
        if not counts.max() > 0:
            raise InvalidInput("sample_weight must have a positive sum, got all zeros")
        if not counts.all():
            used = np.flatnonzero(counts)
            table, counts = table[used], counts[used]
        origin = summary.origin(baseline)
        largest = np.maximum(largest_codes(table), origin)
        moved = np.flatnonzero(origin)
        if moved.size:
            table = replace_columns(table, moved, swapped(table[:, moved].toarray(), origin[moved]))
        return cls(table, counts, origin, tuple((largest + 1).tolist()))

    @property
    def n(self) -> int:
        """The number of columns."""
        return int(self.table.shape[1])

    @cached_property
    def weights(self) -> Vector:
        """The share of each row."""
        return as_weights(self.counts, len(self.counts), "sample_weight")

    def inside(self, face: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Which rows equal the baseline in every column outside the face."""
        outside = np.ones(self.n)
        outside[as_units(face, self.n, "columns", "support")] = 0.0
        return np.asarray(self.table @ outside == 0.0)

    def share(self, face: npt.ArrayLike) -> float:
        """Q(S), the share of the rows that a face holds."""
        return min(float(self.weights[self.inside(face)].sum()), 1.0)

    def joined(self, units: "ColumnUnits", objective: str) -> "StateRows":
        """The rows with a column for each unit: whether it is used (kl), or which of its states it is in (l2)."""
        count, table = len(units), self.table
        shape, strides = [1] * count, []
        for column, unit in enumerate(units.number.tolist()):
            strides.append(shape[unit])
            shape[unit] *= self.shape[column]
        if objective == "kl":
            shape, codes = [2] * count, np.ones(table.nnz, np.int32)
        elif max(shape) > MOST_CODES:
            unit = int(np.argmax(shape))
            raise InvalidInput(
                f"units: the columns of {shown(units.labels[unit])} have {shape[unit]:.3g} states"
                " together, more than the 2^31 that objective='l2' can tell apart; use"
                " objective='kl'"
            )
        else:
            codes = table.data * np.array(strides)[table.indices]
        entries = codes, units.number[table.indices], table.indptr.copy()
        joined = sp.csr_array(entries, shape=(table.shape[0], count))
        joined.sum_duplicates()
        if objective == "kl":
            joined.data[:] = 1
        return StateRows(joined, self.counts, np.zeros(count, np.int64), tuple(shape))


def swapped(codes: npt.NDArray[Any], origin: Indices) -> npt.NDArray[np.int64]:
    """Codes (s, d) in which 0 and the baselines (d,) have changed places.

    >>> swapped(np.array([[0, 1], [2, 1]]), np.array([2, 0])).tolist()
    [[2, 1], [0, 1]]
    """
    codes = codes.astype(np.int64)
    return np.where(codes == origin, 0, np.where(codes == 0, origin, codes))


@dataclass(frozen=True, eq=False)
class DimsProblem:
    """Units of columns to choose from, those to include and to exclude, and what they cost.

    `include`, `exclude` and `costs` (U,) are about units; costs are None where units are counted.
    """

    summary: DimsSummary
    rows: StateRows
    units: "ColumnUnits"
    include: Indices
    exclude: Indices
    costs: Vector | None

    @classmethod
    def of(cls, summary: DimsSummary, options: DimsOptions) -> "DimsProblem":
        """Resolve what the options say of columns."""
        names, n, unused = summary.names, summary.n, summary.unused
        units = ColumnUnits.of(options.units, names, n, unused)
        include = units.holding(options.include, names, "include")
        exclude = units.holding(options.exclude, names, "exclude")
        costs = None
        if options.costs is not None:
            costs = as_costs(options.costs, names, units, unused)
        out = units.number[unused]
        clash = np.intersect1d(include, out)
        if clash.size and names is not None:
            name = shown(names[units.columns(clash)[0]])
            raise InvalidInput(f"include: the column {name} is left out; columns= may take it in")
        both = np.intersect1d(include, exclude)
        if both.size:
            labels = both.tolist() if units.labels is None else units.labels[both].tolist()
            raise InvalidInput(
                f"include and exclude must not overlap, both hold {units.words} {shown(labels)}"
            )
        rows = StateRows.of(summary, options.baseline)
        return cls(summary, rows, units, include, np.union1d(exclude, out), costs)

    def rules(self, limit: Any) -> Rules:
        """What may be chosen: `limit` units, or what a budget of `limit` pays for.

        What costs nothing is held.
        """
        n, costs, include, exclude = len(self.units), self.costs, self.include, self.exclude
        if exclude.size == n:
            raise InvalidInput(f"exclude must leave a column, got all {n}")
        if costs is None:
            k = as_integer(limit, "k", 1, n, self.units.words)
            if include.size > k:
                raise InvalidInput(f"include must hold at most k = {k} columns, got {include.size}")
            return Rules(n, k, include=include, exclude=exclude)
        budget = as_number(limit, "budget")
        spent, least = float(costs[include].sum()), float(np.delete(costs, exclude).min())
        room = budget * (1.0 + ROUNDING)
        if least > room:
            raise InvalidInput(
                f"a budget of {budget:g} pays for none of the {self.units.words}: the cheapest"
                f" costs {least:g}"
            )
        if spent > room:
            raise InvalidInput(
                f"include costs {spent:g} together, more than the budget of {budget:g}"
            )
        free = np.setdiff1d(np.flatnonzero(costs == 0.0), exclude)
        include = np.union1d(include, free)
        return Rules(n, n, include=include, exclude=exclude, costs=costs, budget=budget)

    def solve(self, limit: Any, options: DimsOptions) -> Result:
        """The best columns within a number of units or a budget."""
        rules, rows, units = self.rules(limit), self.rows, self.units
        generator, seed = as_generator(options.rng)
        if units.labels is not None:
            rows = rows.joined(units, options.objective)
        result = best_units(rows, rules, options.replace(rng=generator))
        if units.labels is not None:
            labels = units.labels[result.indices]
            result = replace(result, indices=units.columns(result.indices), units=labels)
        result = place_on_states(result, self.rows, options.objective)
        summary = self.summary
        result = replace(
            result,
            seed=seed,
            seconds=options.deadline.elapsed(),
            note="; ".join(filter(None, (result.note, summary.notes))),
            labels=summary.labels(result.indices),
        )
        return summary.judge(result, options.objective) if summary.lost else result

    def covered(self, result: Result) -> float:
        """The share of the rows that the columns of a result cover."""
        return self.rows.share(result.indices) * (1.0 - self.summary.lost_share)


def best_units(rows: StateRows, rules: Rules, options: DimsOptions) -> Result:
    """The units of a union of faces whose best distribution is nearest to the rows."""
    table = rows.table
    uses = sp.csr_array((np.ones(table.nnz), table.indices, table.indptr), table.shape)
    counts = rows.counts
    if float((uses @ rules.added_costs).min()) > rules.spare:  # the origin, of no mass
        table = sp.vstack([table, sp.csr_array((1, rows.n), dtype=table.dtype)], format="csr")
        counts = np.append(counts, 0.0)
    states = States(table, counts, rows.shape)
    kl = options.objective == "kl"
    F: Any = KL(states, states.weights) if kl else squared_distance(states)
    limit: dict[str, Any] = {"k": rules.k}
    if rules.costs is not None:
        limit = {"costs": rules.costs, "budget": rules.budget}
    return minimize(
        F,
        DimensionSparse(F.space, **limit, include=rules.include, exclude=rules.exclude),
        options.solver,
        time_limit=options.deadline,
        rng=options.rng,
        callback=options.callback,
    )


def squared_distance(states: States) -> L2 | ListedL2:
    """l2 on all states: a small lattice is written out, for Algorithm 1 as printed."""
    if math.fsum(map(math.log2, states.cardinalities)) > MAX_LATTICE_BITS:
        return L2.on_lattice(states)
    space = Lattice(states.n, states.cardinalities)
    q = np.zeros(space.size)
    q[space.ravel(states.unravel(np.arange(states.size)))] = states.weights
    return L2(space, q)


def place_on_states(result: Result, rows: StateRows, objective: str) -> Result:
    """The chosen face as a distribution on the states inside it."""
    dims = result.indices
    size = math.prod(rows.shape[i] for i in dims)
    inside = np.flatnonzero(rows.inside(dims))
    space, p, Q = States(np.zeros((1, rows.n), np.int32), m=rows.shape), np.zeros(1), 0.0
    if inside.size:  # else the origin of the face is listed, which no row is at
        space = States(rows.table[inside], rows.counts[inside], rows.shape)
        p, Q = space.weights, min(float(rows.weights[inside].sum()), 1.0)
    rest = 0.0
    if objective == "l2" or not inside.size:  # what q lacks goes evenly to all states of the face
        p = p * Q + float(Fraction(1.0 - Q) / size)
        rest = max(1.0 - float(p.sum()), 0.0) if size > space.size else 0.0
    codes = swapped(space.rows[:, dims].toarray(), rows.origin[dims])
    kept = Distribution(codes, p, dims, rows.shape, rest, rows.origin)
    words = Words("columns", rows.n, OBJECTIVES[objective])
    return replace(result, weights=None, table=p, space=space, kept=kept, words=words)


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """Units of columns: `number` (n,) says which each column belongs to, `labels` (U,) what the units are called.

    `labels` is None where each column is a unit.
    """

    number: Indices
    labels: Any = None

    @classmethod
    def of(
        cls, units: Any, names: Sequence[Any] | None, n: int, alone: Collection[int] = ()
    ) -> "ColumnUnits":
        """From an array of labels, a mapping of names or a Series.

        Columns without a label, and `alone`, are units.
        """
        if units is None:
            return cls(np.arange(n))
        units = by_name(units, names)
        called = range(n) if names is None else names
        if isinstance(units, Mapping):
            for name in units:
                known_name(name, called, "units")
            labels = [units.get(name, name) for name in called]
        else:
            array = read(units, "units")
            if array.shape != (n,):
                raise InvalidInput(
                    f"units must have one label for each of the {n} columns, got shape"
                    f" {array.shape}"
                )
            labels = array.tolist()
        for i, label in enumerate(labels):
            if label is None or label != label:
                raise InvalidInput(f"units must have a label for each column, got {label!r} at {i}")
        order: dict[Any, int] = {}
        keys = [(i,) if i in alone else label for i, label in enumerate(labels)]
        number = np.array([order.setdefault(key, len(order)) for key in keys], np.int64)
        named = np.empty(len(order), object)
        named[number] = labels
        return cls(number, named)

    def __len__(self) -> int:
        return int(self.number.max()) + 1

    @property
    def words(self) -> str:
        """The plural of what is counted."""
        return "columns" if self.labels is None else "units"

    def columns(self, units: Indices) -> Indices:
        """The columns of these units, sorted."""
        return np.flatnonzero(np.isin(self.number, units))

    def holding(self, columns: Any, names: Sequence[Any] | None, option: str) -> Indices:
        """The units of columns by name or number, or by the label of their unit where no column is called so."""
        n = len(self.number)
        if self.labels is not None and isinstance(columns, Collection):
            wanted = [columns] if isinstance(columns, str) else columns
            first = {self.labels[self.number[i]]: i for i in reversed(range(n))}
            for name in names or ():
                first.pop(name, None)
            columns = [first.get(x, x) if isinstance(x, str) else x for x in wanted]
        return np.unique(
            self.number[as_units(positions(columns, names, option), n, "columns", option)]
        )


def as_costs(
    costs: Any, names: Sequence[Any] | None, units: ColumnUnits, unused: Indices
) -> Vector:
    """What each unit costs: a number for each column, added up, or by names of columns and labels of units.

    Columns that are `unused` need none.
    """
    costs, places = by_name(costs, names), units.number
    if not isinstance(costs, Mapping):
        amounts = as_vector(costs, places.shape, "costs")
    else:
        called = list(range(len(places)) if names is None else names)
        labels = called if units.labels is None else list(units.labels)
        unit = {label: at for at, label in enumerate(labels)}
        unit |= dict(zip(called, places.tolist(), strict=True))
        amounts = as_vector(list(costs.values()), (len(costs),), "costs")
        given = [unit[known_name(name, list(unit), "costs")] for name in costs]
        lacking = np.setdiff1d(places, [*given, *places[unused]])
        if lacking.size:
            raise InvalidInput(
                f"costs has none for the column {quoted([labels[i] for i in lacking])}"
            )
        places = np.array(given, np.int64)
    if amounts.min() < 0.0:
        raise InvalidInput(
            f"costs must not be negative, got {amounts.min():g} at index {int(amounts.argmin())}"
        )
    return np.bincount(places, amounts, len(units)).astype(np.float64)
