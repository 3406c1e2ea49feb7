"""A k-term convex combination of columns that tracks a target."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import (
    Fix,
    Indices,
    InvalidInput,
    Vector,
    as_integer,
    as_numbers,
    as_units,
    as_vector,
    gathered,
    shown,
)
from ...constraints.groups import Groups
from ...constraints.sparse_simplex import SparseSimplex
from ...objectives.factor import merged_factors, triangular_factor
from ...options import IN_BLOCKS, takes
from ...result import Result, Words
from ...row_blocks import canonical_rows
from ...solvers.minimize import minimize
from ...tables.column import (
    Column,
    Table,
    columns_of,
    dropped_note,
    filled_note,
    numbers_of_column,
    objects,
)
from ...tables.frames import (
    aligned,
    group_codes,
    index_of,
    is_table,
    known_name,
    positions,
    refuse_twins,
    width,
)
from ...tables.prices import PRICE_FIXES, Panel, time_order
from ...tables.schema import MEDIANS, Schema, left_out
from ...tables.source import Block, Source, source_of
from ...threads import own_threads
from ..bins.options import BinsOptions
from .options import TermsOptions

PRICES = "X and y look like prices in order of time: returns='simple' tracks their returns instead"
"""The note on numbers that are positive, steady, and badly tracked."""
FEW_ROWS, MANY_ROWS, MANY_COLUMNS = 10, 2000, 64
"""Rows below which nothing is said of prices, and rows and columns that are looked at."""
STEADY = 0.5
"""Squared steps from row to row, relative to the variance: 2 where rows are independent, near 0 for
prices."""


@takes(TermsOptions)
def terms(X: Any, y: Any, k: int, **options: Any) -> Result:
    """Find weights q on at most k columns of X that track y.

        min ‖X q - y‖² + ridge ‖q‖²   over q >= 0, Σ q = 1, at most k entries not zero

    and, if given, bounds on weights, limits on the number and weight of columns in groups, on
    turnover, and G q <= h.

    Parameters
    ----------
    X : array, sparse matrix, LinearOperator or table of shape (r, n)
        Entries between 1e-100 and 1e100 in size; an array of float32 stays float32. Memory is X and
        a small multiple of k r; an array that is not in C order is copied. In a table of pandas, polars or pyarrow the
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


def prepare(X: Any, y: Any, options: TermsOptions) -> "Tracked":
    """Return the problem: of rows that fit into memory, or what blocks of rows leave."""
    weight = options.sample_weight
    source = source_of(X, y, weight)
    whole = source.whole(options.max_memory // 2)
    if whole is None:
        return terms_summary(source, y, options).tracked(options)
    own = options.replace(sample_weight=weight if isinstance(weight, str) else whole.weight)
    return Tracked.of(whole.X, y if isinstance(y, str) else whole.y, own)


def track(data: "Tracked", k: int, options: TermsOptions) -> Result:
    """Return at most k columns of data that were prepared."""
    F = options.objective(data.X, data.y, data.sample_weight)
    as_integer(k, "k", 1, F.space.size, "columns")
    return tracked_by(F, options.constraint(F.space, k, data), data, options)


def tracked_by(F: Any, C: SparseSimplex, data: "Tracked", options: TermsOptions) -> Result:
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
    """Return whether F compares numbers like prices, of whose variance more than a tenth is left.

    Such are positive and each near the one before (von Neumann's ratio): of the target and of half
    of the columns,

        Σ (x(t) - x(t-1))² <= 0.5 Σ (x(t) - mean x)²

    Of many rows and columns some are looked at.
    """
    if not isinstance(F.A, np.ndarray) or len(F.b) < FEW_ROWS:
        return False
    some = np.unique(np.linspace(0, F.A.shape[1] - 1, MANY_COLUMNS).astype(np.int64))
    values = np.column_stack([F.b[:MANY_ROWS], F.A[:MANY_ROWS, some]]).astype(np.float64)
    if not (values > 0.0).all():
        return False
    values /= values.max(axis=0)
    steps = np.square(np.diff(values, axis=0)).sum(axis=0)
    spread = np.square(values - values.mean(axis=0)).sum(axis=0)
    steady = (steps <= STEADY * spread) & (spread > 0.0)
    if not steady[0] or steady[1:].mean() < 0.5:
        return False
    left = F.A @ result.p - F.b
    return bool(left @ left > 0.1 * np.square(F.b - F.b.mean()).sum())


RULES = ("error", "drop", "impute", "ffill")
"""How missing values are treated."""
HEAD_ROWS = 1024
"""Rows by which columns are known."""
MAX_FACTOR_COLUMNS = 4096
"""Columns up to which X in blocks is factored; wider ones are refused."""


def terms_schema(X: Any, options: TermsOptions, y: Any) -> Schema:
    """Decide which columns of X are candidates: those of numbers that are not excluded and have no role."""
    without = []
    if is_table(X) or isinstance(X, Table):
        names = Table.of(X).names
        without += [names[i] for i in positions(options.exclude, names, "exclude")]
        without += [] if options.date is None else [known_name(options.date, names, "date")]
    roles = {"y": y, "sample_weight": options.sample_weight}
    how: dict[str, Any] = {"rules": RULES, "reason": not_numbers, "without": without}
    return Schema.of(X, None, roles, options.missing, **how)


def not_numbers(column: Column) -> str:
    """Return why a column is no candidate, "" where it is one.

    Texts that are not identifiers are refused.
    """
    if column.name == "":
        return "columns without a name"
    if column.kind == "date":
        return "dates"
    if column.kind == "other":
        return f"columns of {column.dtype}"
    with suppress(InvalidInput):  # of numbers and texts, which the next sentence refuses too
        reason = left_out(column)
        if reason or column.kind != "category":
            return reason
    levels, codes = column.levels
    row = int(np.argmax(codes >= 0))
    value = levels[codes[row]] if len(levels) else None
    fix = Fix("exclude", [column.name])
    text = (
        f"column {shown(column.name)}, row {row}: expected a number, got {shown(value)}; {fix}"
        " leaves it out"
    )
    raise InvalidInput(text, fixes=[fix])


@dataclass(frozen=True, eq=False)
class Tracked:
    """Numbers X (r, n) that are to track y (r,), and what was asked about their columns.

    Columns are those of the table, in its order; the ones that hold no numbers, and y itself, are
    zero and excluded. `dates` (r,) are the instants of the rows, where they are known. `refused` are
    columns that could be held, were they not excluded.
    """

    X: Any
    y: Any
    names: list[Any] | None = None
    include: Any = ()
    exclude: Any = ()
    groups: Any = None
    sample_weight: Any = None
    dates: Vector | None = None
    note: str = ""
    refused: Any = ()

    @classmethod
    def of(cls, X: Any, y: Any, options: TermsOptions) -> "Tracked":
        """Return data in memory, checked and aligned.

        Arrays without prices and gaps pass as they are.
        """
        X = gathered(X)
        weight = options.sample_weight
        if not is_table(X):
            if options.date is not None:
                raise InvalidInput(f"date names a column of a table, but X is {type(X).__name__}")
            if options.returns is None and options.missing == "error":
                return cls(X, y, None, options.include, options.exclude, options.groups, weight)
        table = Table.of(X.toarray() if sp.issparse(X) else X)
        refuse_twins(table.names)
        schema = terms_schema(table, options, y)
        columns, _, roles = schema.split(table)

        def numbers(value: Any, name: str) -> Vector:
            column = roles.get(name)
            if column is not None:
                return numbers_of_column(column, name)
            return _vector(aligned(value, X, name), name, table.rows)

        target = numbers(y, "y")
        weight = None if weight is None else numbers(weight, "sample_weight")
        p, targets = len(columns), target.size // table.rows
        words = [f"column {shown(column.name)}" for column in columns] + ["y"] * targets
        values = np.column_stack([*(column.values for column in columns), target])
        panel = Panel(values, words, np.arange(table.rows), index_of(X))
        order, notes = None, list(schema.notes)
        if is_table(X) and (options.date is not None or options.returns is not None):
            order = time_order(X, options.date)
        if order is not None:
            panel = panel.take(order.rows)
        if order is not None and options.date is None:
            notes.append(f"sorted the rows by {shown(order.name)}")
        gaps = np.isnan(panel.values)
        fixes = ["drop"] if gaps[:, p:].any() else ["drop", "impute"]
        if options.missing == "impute":
            panel.values[:, :p] = _imputed(panel.values[:, :p], schema.names)
            counts = dict(zip(schema.names, gaps[:, :p].sum(axis=0).tolist(), strict=True))
            notes.append(filled_note(counts, MEDIANS))
        panel = panel.without_gaps(options.missing, PRICE_FIXES if options.returns else fixes)
        if options.returns is not None:
            panel = panel.returns(options.returns)
        kept, taken = panel.rows, schema.roles.values()
        refused = [
            i
            for i in positions(options.exclude, table.names, "exclude")
            if table.columns[i].kind in ("number", "boolean") and table.names[i] not in taken
        ]
        data = cls.of_columns(
            schema,
            panel.values[:, :p],
            np.ascontiguousarray(panel.values[:, p:]).reshape(-1, *target.shape[1:]),
            options,
            sample_weight=None if weight is None else weight[kept],
            dates=None if order is None else order.dates[kept],
            note="; ".join(filter(None, [*notes, panel.note])),
            refused=np.array(refused, np.int64),
        )
        return data if is_table(X) else replace(data, names=None)

    @classmethod
    def of_columns(
        cls, schema: Schema, numbers: Any, y: Any, options: TermsOptions, **more: Any
    ) -> "Tracked":
        """Return the candidates (r, p) of a schema, each at its place among all columns of the table."""
        names, n = list(schema.table), len(schema.table)
        places = np.array(schema.places, np.int64)
        include = positions(options.include, names, "include")
        excluded = positions(options.exclude, names, "exclude")
        clash = np.setdiff1d(include, [*places, *excluded])
        if clash.size:
            raise InvalidInput(
                f"include: the column {shown(names[clash[0]])} holds no candidate's numbers"
            )
        candidates = np.setdiff1d(places, excluded)
        groups = group_codes(options.groups, names, candidates, more["refused"])
        X = np.zeros((len(numbers), n))
        X[:, places] = numbers
        exclude = np.setdiff1d(np.arange(n), candidates)
        return cls(X, y, names, include, exclude, groups, **more)

    def of_rows(self, rows: Any) -> "Tracked":
        """Return some of the rows."""
        every = {name: getattr(self, name) for name in ("X", "y", "sample_weight", "dates")}
        return replace(self, **{name: x[rows] for name, x in every.items() if x is not None})

    def of_features(self) -> "Tracked":
        """Return the columns of a table that hold numbers, without target, weights and dates.

        Of an array all.
        """
        if self.names is None:
            return self
        n = self.X.shape[1]
        places = np.union1d(np.setdiff1d(np.arange(n), self.exclude), self.refused).astype(np.int64)
        exclude, include = (np.searchsorted(places, some) for some in (self.refused, self.include))
        groups = self.groups
        return replace(
            self,
            X=self.X[:, places],
            names=[self.names[i] for i in places],
            include=include,
            exclude=exclude,
            groups=None if groups is None else Groups(groups.codes[places], groups.names),
            refused=exclude,
        )

    def candidates(self, n: int) -> int:
        """Return how many of n columns may be held."""
        return n - len(as_units(self.exclude, n, "columns", "exclude"))

    def labels(self, indices: Indices) -> Any:
        """Return the names of some columns, as objects; None where there are none."""
        if self.names is None:
            return None
        return objects([self.names[i] for i in indices])


def _vector(y: Any, name: str, rows: int) -> Vector:
    """Return one number for each row, or one for each target, NaN where missing."""
    if is_table(y):
        columns = [numbers_of_column(column, name) for column in columns_of(y)]
        values = columns[0] if len(columns) == 1 else np.column_stack(columns)
    else:
        values = as_numbers(y, name).astype(np.float64)
    if values.shape[:1] != (rows,) or values.ndim > 2:
        raise InvalidInput(
            f"{name} must have one entry for each of the {rows} rows of X, got shape {values.shape}"
        )
    return values


def _imputed(columns: Vector, names: Sequence[Any]) -> Vector:
    """Return columns with missing values as the median of their column."""
    gaps = np.isnan(columns)
    empty = gaps.all(axis=0)
    if empty.any():
        name = names[int(empty.argmax())]
        raise InvalidInput(f"column {shown(name)} has no values at all; exclude it")
    return np.where(gaps, np.nanmedian(columns, axis=0), columns)


@dataclass(frozen=True, eq=False)
class TermsSummary:
    """R (at most n + 1, n + 1) of [X y], with rows multiplied by the roots of their weights.

    ‖X q - y‖² = ‖R_X q - r_y‖² for [X y] = Q R, and R of two blocks is the factor of one R below the
    other. The Gram matrix would do as well, but squares the condition number.
    """

    factor: Vector
    schema: Schema
    rows: int
    dropped: int = 0
    weighed: bool = True
    """Whether a row has a weight above zero."""
    job = "terms"
    exact = True

    @classmethod
    def of(cls, block: Block, schema: Schema) -> "TermsSummary":
        """Compute the factor of a block."""
        read = schema.read(block)
        X = read.numbers.toarray() if sp.issparse(read.numbers) else read.numbers
        if read.y is None:
            raise InvalidInput(
                "terms needs a target: give y, blocks (X, y), or the name of a column"
            )
        if X.shape[1] > MAX_FACTOR_COLUMNS:
            raise InvalidInput(
                f"more than {MAX_FACTOR_COLUMNS} columns are not for data in blocks, got"
                f" {X.shape[1]}; raise max_memory so that half of it holds them, or give some of"
                " the columns"
            )
        y = as_vector(read.y, (len(X),), "y")
        rows = np.column_stack([X, y]).astype(np.float64, copy=False)
        if read.weight is not None:
            rows *= np.sqrt(read.weight)[:, None]
        factor = triangular_factor(rows)
        if not np.isfinite(factor).all():
            raise InvalidInput(
                "X or y holds numbers too large to be squared in blocks; divide them by a power"
                " of ten"
            )
        weighed = read.weight is None or bool(np.any(read.weight))
        return cls(factor, schema, read.size, read.size - len(X), weighed)

    @classmethod
    def merged(cls, parts: Sequence["TermsSummary"]) -> "TermsSummary":
        """Compute the factor of several blocks."""
        if len({part.factor.shape[1] for part in parts}) > 1:
            raise InvalidInput(f"all blocks must have {parts[0].factor.shape[1] - 1} columns")
        rows, dropped = sum(part.rows for part in parts), sum(part.dropped for part in parts)
        return replace(
            parts[0],
            factor=merged_factors([part.factor for part in parts]),
            rows=rows,
            dropped=dropped,
            weighed=any(part.weighed for part in parts),
        )

    def tracked(self, options: TermsOptions) -> "Tracked":
        """Return the small problem with the same errors."""
        if not self.weighed:
            raise InvalidInput("sample_weight must have an entry above zero, got all zeros")
        X, y, schema = self.factor[:, :-1], self.factor[:, -1], self.schema
        notes = [*schema.notes, schema.note, dropped_note(self.dropped, self.rows)]
        note = "; ".join(filter(None, notes))
        if not schema.named:
            return Tracked(X, y, None, options.include, options.exclude, options.groups, note=note)
        excluded = positions(options.exclude, list(schema.table), "exclude")
        return Tracked.of_columns(schema, X, y, options, note=note, refused=excluded)


def terms_summary(source: Source, y: Any, options: TermsOptions) -> TermsSummary:
    """Compute the triangular factor of [X y] of rows in blocks."""
    options.refuse("loss", "returns", "date", road=IN_BLOCKS)
    head = source.head(HEAD_ROWS).X
    rows = canonical_rows(width(head))
    schema = terms_schema(head, options, y).filled(source, "terms", rows)
    with own_threads():  # panels are too small for several
        return source.fold("terms-1", TermsSummary.of, schema, TermsSummary.merged, rows)
