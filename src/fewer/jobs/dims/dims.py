"""Keep k dimensions of discrete data: which units of columns cover the most rows, within a number or a budget."""

import math
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
    as_weights,
    shown,
)
from ...codes import as_table, distinct_rows
from ...constraints.dimension_sparse import ROUNDING, DimensionSparse
from ...distribution import Distribution
from ...objectives.kl import KL
from ...objectives.l2 import L2
from ...objectives.listed import MAX_COPIES
from ...options import takes
from ...result import Result, Status, Words
from ...rules import Rules
from ...solvers.loop import Affine
from ...solvers.minimize import minimize
from ...spaces import Lattice, States
from ...tables.missing import nothing_whole
from ...tables.source import source_of
from .baskets import summary_of_lines
from .options import OBJECTIVES, DimsOptions
from .summary import DimsSummary, largest_codes, replace_columns, summary_of_rows
from .units import ColumnUnits, as_costs

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

    A code below its baseline moves up by one to make room for it; `decode` undoes that. `origin`
    (n,) holds the baselines and `shape` the cardinalities; `counts` are the weights of the rows and
    `weights` their shares.
    """

    table: Any
    counts: Vector
    origin: Indices
    shape: tuple[int, ...]

    @classmethod
    def of(cls, summary: DimsSummary, baseline: Any) -> "StateRows":
        """Recode rows; those of weight zero are left out, and states that no face holds are one."""
        table, counts, largest = summary.table, summary.weights, summary.largest
        if summary.heavy > 0:
            heaviest = sp.csr_array(summary.largest[None].astype(table.dtype))
            table = sp.csr_array(sp.vstack([table, heaviest], format="csr"))
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
            largest = np.maximum(largest_codes(table), largest if summary.lost else 0)
        origin = summary.origin(baseline)
        moved = np.flatnonzero(origin)
        if moved.size:
            base, part = origin[moved], table[:, moved].toarray().astype(np.int64)
            part = np.where(part == base, 0, np.where(part < base, part + 1, part))
            table = replace_columns(table, moved, part)
        return cls(table, counts, origin, tuple((np.maximum(largest, origin) + 1).tolist()))

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
        return self.without(
            np.delete(np.arange(self.n), as_units(face, self.n, "columns", "support"))
        )

    def without(self, columns: Indices) -> npt.NDArray[np.bool_]:
        """Which rows equal the baseline in these columns."""
        barred = np.zeros(self.n)
        barred[columns] = 1.0
        return np.asarray(self.table @ barred == 0.0)

    def share(self, face: npt.ArrayLike) -> float:
        """Q(S), the share of the rows that a face holds."""
        return min(float(self.weights[self.inside(face)].sum()), 1.0)

    def states(self, rows: npt.NDArray[np.bool_] | None = None) -> States:
        """The distinct states of these rows, or of some of them."""
        if rows is None or rows.all():
            return States(self.table, self.counts, self.shape)
        return States(self.table[np.flatnonzero(rows)], self.counts[rows], self.shape)

    def part(self, rows: npt.NDArray[np.bool_], columns: Indices) -> "StateRows":
        """Some of the rows and columns."""
        table = self.table[np.flatnonzero(rows)][:, columns]
        shape = tuple(self.shape[i] for i in columns)
        return StateRows(table, self.counts[rows], self.origin[columns], shape)

    def decode(self, codes: npt.NDArray[np.int64], dims: Indices) -> npt.NDArray[np.int64]:
        """Codes (s, d) on these dimensions as they were in X."""
        base = self.origin[dims]
        return np.where(codes == 0, base, np.where(codes <= base, codes - 1, codes))

    def size(self, face: Indices) -> int:
        """M(S), the number of states on a face."""
        return math.prod(self.shape[i] for i in face)


@dataclass(frozen=True, eq=False)
class DimsProblem:
    """Units of columns to choose from, those to include and to exclude, and what they cost.

    `include`, `exclude` and `costs` (U,) are about units; costs are None where units are counted.
    """

    summary: DimsSummary
    rows: StateRows
    units: ColumnUnits
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
        clash = np.intersect1d(include, units.number[unused])
        if clash.size and names is not None:
            name = shown(names[units.columns(clash)[0]])
            raise InvalidInput(f"include: the column {name} is left out; columns= may take it in")
        both = np.intersect1d(include, exclude)
        if both.size and units.labels is not None:
            label = shown(units.labels[both[0]])
            raise InvalidInput(
                f"include and exclude must not overlap, both hold columns of unit {label}"
            )
        if both.size:
            raise InvalidInput(f"include and exclude must not overlap, both hold {both.tolist()}")
        exclude = np.union1d(exclude, units.number[unused])
        rows = StateRows.of(summary, options.baseline)
        return cls(summary, rows, units, include, exclude, costs)

    def rules(self, limit: Any) -> Rules:
        """What may be chosen: `limit` units, or what a budget of `limit` pays for.

        What costs nothing is held.
        """
        n, costs, include, exclude = len(self.units), self.costs, self.include, self.exclude
        if costs is None:
            k = as_integer(limit, "k", 1, n, self.units.words)
            rules = Rules(n, k, include=include, exclude=exclude)
            if include.size > k:
                raise InvalidInput(f"include must hold at most k = {k} columns, got {include.size}")
        else:
            budget = as_number(limit, "budget")
            free = np.setdiff1d(np.flatnonzero(costs == 0.0), exclude)
            with_free, spent = np.union1d(include, free), float(costs[include].sum())
            room = budget * (1.0 + ROUNDING)
            rules = Rules(n, n, include=with_free, exclude=exclude, costs=costs, budget=room)
            least = float(costs.min())
            if least > room:
                raise InvalidInput(
                    f"a budget of {budget:g} pays for none of the {self.units.words}: the cheapest"
                    f" costs {least:g}"
                )
            if spent > room:
                raise InvalidInput(
                    f"include costs {spent:g} together, more than the budget of {budget:g}"
                )
        if exclude.size == n:
            raise InvalidInput(f"exclude must leave a column, got all {n}")
        if not rules.include.size and rules.most_held == 0:
            least = float(rules.prices[rules.open].min())
            raise InvalidInput(
                f"a budget of {limit:g} pays for none of what exclude leaves: the cheapest costs"
                f" {least:g}"
            )
        return rules

    def solve(self, limit: Any, options: DimsOptions) -> Result:
        """The best columns within a number of units or a budget."""
        rules = self.rules(limit)
        rows, objective = self.rows, options.objective
        generator, seed = as_generator(options.rng)
        if self.units.labels is not None:
            rows = self.units.rows(rows, objective)
        result = best_units(rows, rules, options.replace(rng=generator))
        if self.units.labels is not None:
            units = self.units.labels[result.indices]
            result = replace(result, indices=self.units.columns(result.indices), units=units)
        result = place_on_states(result, self.rows, objective)
        note = "; ".join(filter(None, (result.note, self.summary.notes)))
        labels = self.summary.labels(result.indices)
        seconds = options.deadline.elapsed()
        result = replace(result, seed=seed, seconds=seconds, note=note, labels=labels)
        return self.summary.judge(result, objective) if self.summary.lost else result

    def covered(self, result: Result) -> float:
        """The share of the rows that the columns of a result cover."""
        return self.rows.share(result.indices) * (1.0 - self.summary.lost_share)


def best_units(rows: StateRows, rules: Rules, options: DimsOptions) -> Result:
    """The best units that hold `include` and none of `exclude`, by the problem of the others.

    With I the included units, X_{I ∪ T} covers the rows that lie in X_T but for their columns in I.
    So KL is that of the rows without columns in I, less the log of the share of rows that use no
    excluded unit, and ‖q‖² - Q2 + (1 - Q)² / (M(I) M(T)) is the squared distance of `L2.on_lattice`
    with M(I) copies, divided by M(I).
    """
    free = np.setdiff1d(np.flatnonzero(rules.open), rules.include)
    alive = rows.without(rules.exclude)
    part, left = rows, rules
    if len(free) < rows.n:
        part, left = rows.part(alive, free), rules_left(rules, free)
    if left.most_held == 0 or not alive.any():
        return answer_directly(rows, rules, free, left, options.objective)
    if options.objective == "kl":
        seen = reachable_states(part, left)
        F: Any = KL(seen, seen.weights)
        mass = 1.0 if alive.all() else min(float(rows.weights[alive].sum()), 1.0)
        change = Affine(shift=abs(math.log(mass)))
    else:
        F = squared_distance(rows, rules, free)
        change = Affine(factor=1.0 / getattr(F, "copies", 1))
    limit: dict[str, Any] = {"k": left.k}
    if left.costs is not None:
        limit = {"costs": left.costs, "budget": left.budget / (1.0 + ROUNDING)}
    result = minimize(
        F,
        DimensionSparse(F.space, **limit),
        options.solver,
        time_limit=options.deadline,
        rng=options.rng,
        callback=change.callback(options.callback),
    )
    indices = np.union1d(rules.include, free[result.indices])
    return replace(change.result(result), indices=indices, words=Words("columns", rows.n))


def rules_left(rules: Rules, free: Indices) -> Rules:
    """The rules for what may be chosen of `free` beside the units that are included."""
    left = max(rules.room - float(rules.prices[rules.include].sum()), 0.0)
    if rules.costs is None:
        return Rules(len(free), min(int(left), len(free)))
    return Rules(len(free), len(free), costs=rules.costs[free], budget=left)


def reachable_states(rows: StateRows, rules: Rules) -> States:
    """The distinct states.

    With the origin, of no mass, where what may be chosen reaches none of them.
    """
    seen = rows.states()
    used = sp.csr_array(
        (np.ones(seen.rows.nnz), seen.rows.indices, seen.rows.indptr), seen.rows.shape
    )
    if float((used @ rules.prices).min()) <= rules.room:
        return seen
    table = sp.vstack([seen.rows, sp.csr_array((1, rows.n), dtype=seen.rows.dtype)], format="csr")
    return States(table, np.append(seen.weights, 0.0), rows.shape)


def squared_distance(rows: StateRows, rules: Rules, free: Indices) -> Any:
    """l2 on the units to choose from, each state with the mass and the squares of all those it stands for."""
    whole = rows.states()
    if len(free) == rows.n:
        if math.fsum(map(math.log2, rows.shape)) > MAX_LATTICE_BITS:
            return L2.on_lattice(whole)
        space = Lattice(rows.n, rows.shape)
        on_lattice = np.zeros(space.size)
        on_lattice[space.ravel(whole.unravel(np.arange(whole.size)))] = whole.weights
        return L2(space, on_lattice)
    inside = whole.face(np.flatnonzero(rules.open))
    table = whole.rows[inside][:, free]
    of_state = distinct_rows(as_table(table))[1]
    seen = States(table, whole.weights[inside], tuple(rows.shape[i] for i in free))
    q: Vector = np.bincount(of_state, whole.weights[inside], seen.size).astype(np.float64)
    squares = np.bincount(of_state, whole.weights[inside] ** 2, seen.size)
    beyond = float(np.square(np.delete(whole.weights, inside)).sum())
    return L2.on_lattice(seen, q, squares, min(rows.size(rules.include), MAX_COPIES), beyond)


def answer_directly(
    rows: StateRows, rules: Rules, free: Indices, left: Rules, objective: str
) -> Result:
    """Where nothing is left to choose, or no row can be covered: the included units and those of most codes."""
    order = np.arange(len(free))
    if objective == "l2":
        sizes = np.log([rows.shape[i] for i in free])
        order = np.argsort(-sizes / left.prices, kind="stable")
    room, kept = left.room, []
    for unit in order.tolist():
        if left.prices[unit] <= room:
            kept.append(unit)
            room -= float(left.prices[unit])
    indices = np.union1d(rules.include, free[kept]).astype(np.int64)
    Q = rows.share(indices)
    value = bound = -math.log(Q) if Q > 0.0 else math.inf
    if objective == "l2":
        whole = rows.states()
        bound = float(np.square(np.delete(whole.weights, whole.face(indices))).sum())
        value = bound + (1.0 - Q) ** 2 * (1 / rows.size(indices))
        if kept and left.costs is not None:
            most = math.log(rows.size(rules.include)) + left.most_worth(sizes)
            bound = min(bound + (1.0 - Q) ** 2 * math.exp(-most), value)
        else:
            bound = value
    space = States(np.zeros((1, rows.n), np.int32), m=rows.shape)
    status = Status.OPTIMAL if value == bound else Status.FINISHED
    words, history = Words("columns", rows.n), np.array([value])
    return Result(
        indices, None, value, bound, status, history, 1, 0.0, space, table=np.ones(1), words=words
    )


def place_on_states(result: Result, rows: StateRows, objective: str) -> Result:
    """The chosen face as a distribution on the states inside it."""
    dims = result.support
    inside = rows.inside(dims)
    Q = min(float(rows.weights[inside].sum()), 1.0)
    size = rows.size(dims)
    if inside.any():
        space = rows.states(inside)
        q = space.weights * Q
    else:  # no row lies in the face: list its origin, which q gives no mass
        space, q = States(np.zeros((1, rows.n), np.int32), m=rows.shape), np.zeros(1)
    p, rest = q / max(Q, 1e-300), 0.0
    if objective == "l2" or not inside.any():  # what q lacks goes evenly to all states of the face
        p = q + float(Fraction(1.0 - Q) / size)
        rest = max(1.0 - float(p.sum()), 0.0) if size > space.size else 0.0
    codes = space.rows[:, dims].toarray().astype(np.int64)
    kept = Distribution(rows.decode(codes, dims), p, dims, rows.shape, rest, rows.origin)
    words = Words("columns", rows.n)
    result = replace(result, weights=None, table=p, space=space, kept=kept, words=words)
    return result.named("columns", OBJECTIVES[objective])
