"""What terms is asked about: candidate columns and a target, from a table or arrays, in numbers without gaps."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import Fix, Indices, InvalidInput, Vector, as_numbers, as_units, gathered, shown
from ...constraints.groups import Groups
from ...tables.column import Column, Table, column_beside, columns_of, numbers_of_column
from ...tables.frames import index_of, is_table
from ...tables.names import aligned, group_codes, known_name, positions, quoted, refuse_twins
from ...tables.prices import (
    PRICE_FIXES,
    by_date,
    fill_gaps,
    instants,
    own_dates,
    returns_of,
    row_words,
)
from ...tables.schema import left_out
from .options import TermsOptions


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
        """Check and align what was given; arrays without prices and gaps pass as they are."""
        include, exclude, groups = options.include, options.exclude, options.groups
        missing, returns, date = options.missing, options.returns, options.date
        sample_weight = options.sample_weight
        weight, at = column_beside(X, sample_weight, "sample_weight")
        if is_table(X):
            X = gathered(X)
            found = _of_table(X, y, include, exclude, date, at)
            known_dates = own_dates(X) if returns is not None and date is None else None
            if known_dates is not None:
                date, dates = known_dates
                found = replace(found, dates=dates).said(f"sorted the rows by {shown(date)}")
        else:
            if date is not None:
                raise InvalidInput(f"date names a column of a table, but X is {type(X).__name__}")
            if returns is None and missing == "error":
                return cls(X, y, None, include, exclude, groups, sample_weight)
            found = _of_arrays(cls(X, y, None, include, exclude))
        held = np.setdiff1d(
            np.arange(found.X.shape[1]),
            as_units(found.exclude, found.X.shape[1], "columns", "exclude"),
        )
        labels = group_codes(groups, found.names, held, found.refused)
        given = None if weight is None else _vector(weight, "sample_weight", len(found.X))
        whole = replace(found, groups=labels, sample_weight=given)
        return _without_gaps(whole.in_order(date), held, missing, returns, index_of(X))

    def in_order(self, date: Any) -> "Tracked":
        """The rows in order of time, where there are dates."""
        if self.dates is None:
            return self
        return self.of_rows(by_date(self.dates, date))

    def of_rows(self, chosen: Any) -> "Tracked":
        """Some of the rows."""

        def taken(values: Any) -> Any:
            return None if values is None else values[chosen]

        rows = np.arange(len(self.y)) if self.rows is None else self.rows
        weight, dates = taken(self.sample_weight), taken(self.dates)
        return replace(
            self,
            X=self.X[chosen],
            y=self.y[chosen],
            sample_weight=weight,
            rows=rows[chosen],
            dates=dates,
        )

    def of_features(self) -> "Tracked":
        """The columns of a table that hold numbers, without the target, weights and dates; of an array all."""
        if self.names is None:
            return self
        n = self.X.shape[1]
        kept = np.union1d(np.setdiff1d(np.arange(n), self.exclude), self.refused).astype(np.int64)
        exclude, include = (np.searchsorted(kept, some) for some in (self.refused, self.include))
        groups = self.groups
        if groups is not None:
            groups = Groups(groups.codes[kept], groups.names)
        names = [self.names[i] for i in kept]
        return replace(
            self,
            X=self.X[:, kept],
            names=names,
            include=include,
            exclude=exclude,
            groups=groups,
            refused=exclude,
        )

    def said(self, note: str) -> "Tracked":
        """The same with one more note."""
        return replace(self, note="; ".join(filter(None, (self.note, note))))

    def candidates(self, n: int) -> int:
        """How many of n columns may be held."""
        return n - len(as_units(self.exclude, n, "columns", "exclude"))

    def labels(self, indices: Indices) -> Any:
        """The names of some columns, as objects; None where there are none."""
        if self.names is None:
            return None
        found = np.empty(len(indices), object)
        found[:] = [self.names[i] for i in indices]
        return found


def _of_table(X: Any, y: Any, include: Any, exclude: Any, date: Any, weight: int | None) -> Tracked:
    """Columns of a table as numbers; missing ones are NaN."""
    table = Table.of(X)
    names, columns = table.names, table.columns
    refuse_twins(names)
    held, never = positions(include, names, "include"), positions(exclude, names, "exclude")
    without = {*never.tolist(), *(() if weight is None else (weight,))}
    dates = None
    if date is not None:
        at = int(positions([date], names, "date")[0])
        dates = instants(columns[at])
        without.add(at)
    target = _named(y, names)
    if target is not None:
        values = numbers_of_column(columns[target], "y")
        without.add(target)
    else:
        values = _vector(aligned(y, X), "y", table.rows)
    reasons = {i: _reason(column) for i, column in enumerate(columns) if i not in without}
    left = {i: reason for i, reason in reasons.items() if reason}
    without.update(left)
    clash = sorted(without.intersection(held.tolist()) - set(never.tolist()))
    if clash:
        raise InvalidInput(
            f"include: the column {shown(names[clash[0]])} holds no candidate's numbers"
        )
    if len(without) == len(names):
        raise InvalidInput("X has no column of numbers that could be held")
    matrix = np.zeros((len(values), len(names)))
    for i, column in enumerate(columns):
        if i not in without:
            matrix[:, i] = column.values
    notes = [
        f"{reason} left out: {quoted([names[i] for i, why in left.items() if why == reason])}"
        for reason in dict.fromkeys(left.values())
    ]
    refused = [i for i in never if columns[i].kind in ("number", "boolean") and i != target]
    exclude, note = np.array(sorted(without), np.int64), "; ".join(notes)
    return Tracked(
        matrix,
        values,
        names,
        held,
        exclude,
        dates=dates,
        note=note,
        refused=np.array(refused, np.int64),
    )


def _named(y: Any, names: Sequence[Any]) -> int | None:
    """The column that y names, if it is a name."""
    if not isinstance(y, (str, tuple)) or (isinstance(y, tuple) and y not in names):
        return None
    return list(names).index(known_name(y, names, "y"))


def _reason(column: Column) -> str:
    """Why a column is no candidate, "" where it is one; text that is not an identifier's is refused."""
    if column.name == "":
        return "columns without a name"
    if column.kind in ("number", "boolean"):
        return left_out(column)
    if column.kind != "category":
        return "dates" if column.kind == "date" else f"columns of {column.dtype}"
    with suppress(InvalidInput):  # of numbers and texts, which the next sentence refuses too
        reason = left_out(column)
        if reason:
            return reason
    row = int(np.argmax(column.levels.codes >= 0))
    value = column.levels.values[column.levels.codes[row]] if len(column.levels.values) else None
    fix = Fix("exclude", [column.name])
    text = f"column {shown(column.name)}, row {row}: expected a number, got {shown(value)}; {fix} leaves it out"
    raise InvalidInput(text, fixes=[fix])


def _vector(y: Any, name: str, rows: int) -> Vector:
    """One number for each row, or one for each target, NaN where missing."""
    if is_table(y):
        columns = [numbers_of_column(column, name) for column in columns_of(y)]
        values = columns[0] if len(columns) == 1 else np.column_stack(columns)
    else:
        values = as_numbers(y, name).astype(np.float64)
    if len(values) != rows or values.ndim > 2:
        raise InvalidInput(
            f"{name} must have one entry for each of the {rows} rows of X, got shape {values.shape}"
        )
    return values


def _of_arrays(found: Tracked) -> Tracked:
    """Arrays as numbers, NaN where missing."""
    if sp.issparse(found.X) or not hasattr(found.X, "__array__"):
        found = replace(found, X=found.X.toarray() if sp.issparse(found.X) else found.X)
    X = as_numbers(found.X, "X").astype(np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise InvalidInput(
            f"X must be a table (r, n) with at least one row and one column, got shape {X.shape}"
        )
    return replace(found, X=X, y=_vector(found.y, "y", len(X)))


def _without_gaps(
    found: Tracked, held: Indices, missing: str, returns: str | None, labels: Any
) -> Tracked:
    """The numbers with missing values treated by rule, and as returns where they are prices; `labels` are of rows."""
    names = found.names or range(found.X.shape[1])
    called = [*(f"column {shown(names[i])}" for i in held), "y"]
    together = np.column_stack([found.X[:, held], found.y])
    gaps = np.isnan(together)
    fixes = PRICE_FIXES if returns else ("drop",) if gaps[:, -1].any() else ("drop", "impute")
    if missing == "impute":
        together, found = _imputed(together, called, found)
    filled = fill_gaps(together, missing, called, fixes, row_words(labels, found.rows))
    if returns is None and not gaps.any():
        return found
    found, values = found.of_rows(filled.rows).said(filled.note), filled.values
    if returns is not None:
        values = returns_of(values, returns, called, row_words(labels, found.rows))
        found = found.of_rows(np.arange(1, len(found.y)))
    X = np.zeros((len(values), found.X.shape[1]))
    X[:, held] = values[:, :-1]
    return replace(found, X=X, y=np.ascontiguousarray(values[:, -1]))


def _imputed(together: Vector, called: Sequence[str], found: Tracked) -> tuple[Vector, Tracked]:
    """Missing values of all columns but the last, the target, as the median of their column."""
    columns = together[:, :-1]
    gaps = np.isnan(columns)
    empty = np.flatnonzero(gaps.all(axis=0))
    if empty.size:
        raise InvalidInput(f"{called[int(empty[0])]} has no values at all; exclude it")
    if not gaps.any():
        return together, found
    columns = np.where(gaps, np.nanmedian(columns, axis=0), columns)
    said = found.said(f"{gaps.sum()} missing values taken as the median of their column")
    return np.column_stack([columns, together[:, -1]]), said
