"""What terms is asked about: candidate columns and a target, from a table or arrays, in numbers without gaps."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import Fix, Indices, InvalidInput, Vector, as_numbers, as_units, gathered, shown
from ...constraints.groups import Groups
from ...tables.column import (
    Column,
    Table,
    columns_of,
    filled_note,
    numbers_of_column,
    objects,
    role_values,
)
from ...tables.frames import (
    aligned,
    group_codes,
    index_of,
    is_table,
    known_name,
    positions,
    refuse_twins,
)
from ...tables.prices import PRICE_FIXES, Panel, time_order
from ...tables.schema import MEDIANS, Schema, left_out
from .options import TermsOptions

RULES = ("error", "drop", "impute", "ffill")
"""What is done about missing values."""


def terms_schema(
    X: Any, options: TermsOptions, roles: dict[str, Any], taken: Sequence[Any] = ()
) -> Schema:
    """Decide which columns of X are candidates: those of numbers that are neither excluded nor `taken` otherwise."""
    without = list(taken)
    if is_table(X) or isinstance(X, Table):
        names = Table.of(X).names
        without += [names[i] for i in positions(options.exclude, names, "exclude")]
        without += [] if options.date is None else [known_name(options.date, names, "date")]
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
    zero and excluded. `rows` (r,) are the table's rows in use and `dates` their instants, where
    they are known. `refused` are columns that could be held, were they not excluded.
    """

    X: Any
    y: Any
    names: list[Any] | None = None
    include: Any = ()
    exclude: Any = ()
    groups: Any = None
    sample_weight: Any = None
    rows: Indices | None = None
    dates: Vector | None = None
    note: str = ""
    refused: Any = ()

    @classmethod
    def of(cls, X: Any, y: Any, options: TermsOptions) -> "Tracked":
        """Return data in memory, checked and aligned.

        Arrays without prices and gaps pass as they are.
        """
        X = gathered(X)
        weight, weight_place = role_values(X, options.sample_weight, "sample_weight")
        if not is_table(X):
            if options.date is not None:
                raise InvalidInput(f"date names a column of a table, but X is {type(X).__name__}")
            if options.returns is None and options.missing == "error":
                return cls(X, y, None, options.include, options.exclude, options.groups, weight)
        table = Table.of(X.toarray() if sp.issparse(X) else X)
        names, columns = table.names, table.columns
        refuse_twins(names)
        is_name = isinstance(y, str) or (isinstance(y, tuple) and y in names)
        target = names.index(known_name(y, names, "y")) if is_name else None
        if target is not None:
            y = numbers_of_column(columns[target], "y")
        taken = [names[i] for i in (target, weight_place) if i is not None]
        schema = terms_schema(table, options, {}, taken)
        excluded = positions(options.exclude, names, "exclude")
        refused = [i for i in excluded if columns[i].kind in ("number", "boolean") and i != target]
        data = cls.of_columns(
            schema,
            np.column_stack([column.values for column in schema.columns(table)]),
            _vector(aligned(y, X), "y", table.rows),
            options,
            sample_weight=None if weight is None else _vector(weight, "sample_weight", table.rows),
            note="; ".join(schema.notes),
            refused=np.array(refused, np.int64),
        )
        order = None
        if not is_table(X):
            data = replace(data, names=None)
        elif options.date is not None or options.returns is not None:
            order = time_order(X, options.date)
        if order is not None:
            data = replace(data, dates=order.dates)
            words = f"sorted the rows by {shown(order.name)}"
            data = data.noted("" if options.date is not None else words)
        rows = None if order is None else order.rows
        return data.cleaned(np.array(schema.places), options, rows, index_of(X))

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
        exclude = np.setdiff1d(np.arange(n), candidates)
        X = numbers
        if len(places) < n:
            X = np.zeros((len(numbers), n))
            X[:, places] = numbers
        return cls(
            X,
            y,
            names,
            include,
            exclude,
            group_codes(options.groups, names, candidates, more.get("refused", ())),
            **more,
        )

    def cleaned(
        self,
        places: Indices,
        options: TermsOptions,
        rows: Indices | None = None,
        labels: Any = None,
    ) -> "Tracked":
        """Return the rows in order, without gaps in the columns at `places`, as returns where they are prices.

        `rows` are those of the table in order of time, `labels` those of its index.
        """
        values, p = np.column_stack([self.X[:, places], self.y]), len(places)
        gaps = np.isnan(values)
        if options.returns is None and not gaps.any():
            return self if rows is None else self.of_rows(rows)
        rows = np.arange(len(values)) if rows is None else rows
        values, gaps = values[rows], gaps[rows]
        names = range(self.X.shape[1]) if self.names is None else self.names
        names = [names[i] for i in places]
        fixes, note = ["drop", "impute"], ""
        if options.returns is not None:
            fixes = [*PRICE_FIXES]
        elif gaps[:, p:].any():
            fixes = ["drop"]
        if options.missing == "impute":
            values[:, :p] = _imputed(values[:, :p], names)
            counts = dict(zip(names, gaps[:, :p].sum(axis=0).tolist(), strict=True))
            note = filled_note(counts, MEDIANS)
        words = [*(f"column {shown(name)}" for name in names), *["y"] * (values.shape[1] - p)]
        panel = Panel(values, words, rows, labels).without_gaps(options.missing, fixes)
        if options.returns is not None:
            panel = panel.returns(options.returns)
        data = self.of_rows(panel.rows).noted(note).noted(panel.note)
        X = np.zeros(data.X.shape)
        X[:, places] = panel.values[:, :p]
        y = np.ascontiguousarray(panel.values[:, p:]).reshape(data.y.shape)
        return replace(data, X=X, y=y)

    def of_rows(self, rows: Any) -> "Tracked":
        """Return some of the rows."""
        old: dict[str, Any] = {
            "X": self.X,
            "y": self.y,
            "sample_weight": self.sample_weight,
            "rows": np.arange(len(self.y)) if self.rows is None else self.rows,
            "dates": self.dates,
        }
        new = {name: values[rows] for name, values in old.items() if values is not None}
        return replace(self, **new)

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

    def noted(self, note: str) -> "Tracked":
        """Return the data with one more note."""
        return replace(self, note="; ".join(filter(None, (self.note, note))))

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
