"""What terms is asked about: candidate columns and a target, from a table or arrays, in numbers without gaps."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, Vector, as_numbers, as_units, gathered, known, shown
from ..data.align import aligned, column_beside, group_codes
from ..data.columns import left_out
from ..data.frames import Column, columns_of, index_of, is_table
from ..data.missing import dropped_note, missing_value
from ..data.names import known_name, positions, quoted, refuse_twins
from ..data.prices import RETURNS, by_date, carried_forward, dates_of, instants, returns_of
from ..data.table import Table, numbers_of_column

RULES = ("error", "drop", "impute", "ffill")
"""What is done with missing values."""


@dataclass(frozen=True, eq=False)
class Tracked:
    """Numbers X (r, n) that are to track y (r,), and what was asked about their columns.

    Columns are those of the table, in its order; the ones that hold no numbers, and y itself, are zero and excluded.
    `rows` (r,) are the table's rows in use and `dates` their instants, where they are known. `refused` are columns that
    could be held, were they not excluded.
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
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        include: Any = (),
        exclude: Any = (),
        groups: Any = None,
        sample_weight: Any = None,
        missing: str = "error",
        returns: str | None = None,
        date: Any = None,
    ) -> "Tracked":
        """Check and align what was given; arrays without prices and gaps pass as they are."""
        known(missing, dict.fromkeys(RULES), "missing")
        if returns is not None:
            known(returns, RETURNS, "returns")
        if missing == ("impute" if returns else "ffill"):
            instead = "a price is not a median of others" if returns else "only prices are carried forward"
            raise InvalidInput(f"missing={missing!r} does not go with returns={returns!r}: {instead}")
        weight, at = column_beside(X, sample_weight, "sample_weight")
        if is_table(X):
            X = gathered(X)
            found = _of_table(X, y, include, exclude, date, at)
            if returns is not None and date is None:
                date, found = _by_own_dates(found, X)
        else:
            if date is not None:
                raise InvalidInput(f"date names a column of a table, but X is {type(X).__name__}")
            if returns is None and missing == "error":
                return cls(X, y, None, include, exclude, groups, sample_weight)
            found = _of_arrays(cls(X, y, None, include, exclude))
        held = np.setdiff1d(
            np.arange(found.X.shape[1]), as_units(found.exclude, found.X.shape[1], "columns", "exclude")
        )
        labels = group_codes(groups, found.names, held, found.refused)
        given = None if weight is None else _vector(weight, "sample_weight", len(found.X))
        whole = replace(found, groups=labels, sample_weight=given)
        return _without_gaps(whole.in_order(date), held, missing, returns, _row_words(index_of(X)))

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
        return replace(self, X=self.X[chosen], y=self.y[chosen], sample_weight=weight, rows=rows[chosen], dates=dates)

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
        raise InvalidInput(f"include: the column {shown(names[clash[0]])} holds no candidate's numbers")
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
    return Tracked(matrix, values, names, held, exclude, dates=dates, note=note, refused=np.array(refused, np.int64))


def _by_own_dates(found: Tracked, X: Any) -> tuple[Any, Tracked]:
    """The name of what rows of prices must be sorted by, None where they are in order of time, and the same with dates.

    A table tells the time by dates in its index or in a column; where several do and none is in order, it is refused.
    """
    known = dates_of(X)
    if not known or any((np.diff(dates) >= 0.0).all() for dates in known.values()):
        return None, found
    name, dates = next(iter(known.items()))
    if len(known) > 1:
        raise InvalidInput(
            f"rows of prices must be in order of time, and are in that of none of {quoted(list(known))}; "
            f"date={name!r} sorts them"
        )
    return name, replace(found, dates=dates).said(f"sorted the rows by {shown(name)}")


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
    raise InvalidInput(
        f"column {shown(column.name)}, row {row}: expected a number, got {shown(value)}; "
        f"exclude=[{column.name!r}] leaves it out"
    )


def _vector(y: Any, name: str, rows: int) -> Vector:
    """One number for each row, NaN where missing."""
    if is_table(y):
        columns = columns_of(y)
        if len(columns) != 1:
            raise InvalidInput(f"{name} must be one column, got {len(columns)}")
        values = numbers_of_column(columns[0], name)
    else:
        values = as_numbers(y, name).astype(np.float64)
    if values.shape != (rows,):
        raise InvalidInput(f"{name} must have one entry for each of the {rows} rows of X, got shape {values.shape}")
    return values


def _of_arrays(found: Tracked) -> Tracked:
    """Arrays as numbers, NaN where missing."""
    if sp.issparse(found.X) or not hasattr(found.X, "__array__"):
        found = replace(found, X=found.X.toarray() if sp.issparse(found.X) else found.X)
    X = as_numbers(found.X, "X").astype(np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise InvalidInput(f"X must be a table (r, n) with at least one row and one column, got shape {X.shape}")
    return replace(found, X=X, y=_vector(found.y, "y", len(X)))


def _row_words(index: Any) -> Callable[[int], str]:
    """How a row of the table is called: its number from 0, and its index label where it has one."""
    return (lambda i: f"row {i}") if index is None else (lambda i: f"row {i} ({shown(index[i])})")


def _without_gaps(
    found: Tracked, held: Indices, missing: str, returns: str | None, words: Callable[[int], str]
) -> Tracked:
    """Missing values by rule, and returns of prices where they were asked for."""
    names = [*(found.names or range(found.X.shape[1])), "y"]
    kept = [*held.tolist(), len(names) - 1]
    together = np.column_stack([found.X[:, held], found.y])
    called = [names[i] for i in kept]
    gaps = np.isnan(together)
    if gaps.any():
        found, together = _filled(found, together, gaps, called, missing, returns, words)
    if returns is not None:
        together = returns_of(together, returns, called, _of_rows(found, words))
        found = found.of_rows(np.arange(1, len(found.y)))
    elif len(together) == len(found.y) and not gaps.any():
        return found
    X = np.zeros((len(together), found.X.shape[1]))
    X[:, held] = together[:, :-1]
    return replace(found, X=X, y=np.ascontiguousarray(together[:, -1]))


def _of_rows(found: Tracked, words: Callable[[int], str]) -> Callable[[int], str]:
    """Words for rows by their place among those in use."""
    return words if found.rows is None else lambda i: words(int(found.rows[i]))  # type: ignore[index] # not None here


def _filled(
    found: Tracked,
    together: Vector,
    gaps: Any,
    called: Sequence[Any],
    missing: str,
    returns: str | None,
    words: Callable[[int], str],
) -> tuple[Tracked, Vector]:
    """What the rule makes of missing values in the columns and the target, which is the last."""
    count, names = int(gaps.sum()), _of_rows(found, words)
    if missing == "drop":
        whole = np.flatnonzero(~gaps.any(axis=1))
        if whole.size == 0:
            raise InvalidInput("every row has a missing value; missing='drop' leaves none")
        return found.of_rows(whole).said(dropped_note(len(gaps) - whole.size, len(gaps))), together[whole]
    if missing == "ffill":
        filled = carried_forward(together, called, names)
        return found.said(f"{count} missing prices carried forward"), filled
    if missing == "impute" and not gaps[:, -1].any():
        empty = np.flatnonzero(gaps.all(axis=0))
        if empty.size:
            raise InvalidInput(f"column {shown(called[int(empty[0])])} has no values at all; exclude it")
        filled = np.where(gaps, np.nanmedian(together, axis=0), together)
        return found.said(f"{count} missing values taken as the median of their column"), filled
    if missing == "impute":
        gaps = np.where(np.arange(gaps.shape[1]) == gaps.shape[1] - 1, gaps, False)
    c = int(np.argmax(gaps)) % gaps.shape[1]
    rules = ("drop", "ffill") if returns else ("drop",) if c == gaps.shape[1] - 1 else ("drop", "impute")
    what = "y" if c == gaps.shape[1] - 1 else f"column {shown(called[int(c)])}"
    raise missing_value(what, gaps[:, c], rules, names)
