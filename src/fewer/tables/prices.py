"""Prices in order of time: sorted by date, gaps filled, and turned into returns."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_numbers,
    gathered,
    is_frame,
    known,
    shown,
)
from .column import Column, Table, columns_of, dropped_note, missing_value, nothing_whole
from .frames import index_of, is_indexed, is_table, put_columns, quoted, take_rows
from .schema import as_kind, left_out
from .source import is_lazy

RETURNS = {"simple": "p(t) / p(t-1) - 1", "log": "log p(t) - log p(t-1)"}
"""Kinds of returns."""
PRICE_FIXES = ("drop", "ffill")
"""What may be done about missing prices, but for refusing them."""


def returns(prices: Any, kind: str = "simple", *, date: Any = None, missing: str = "error") -> Any:
    """Compute returns of prices from each row to the next, in the container of the prices.

        simple  p(t) / p(t-1) - 1
        log     log p(t) - log p(t-1)

    Parameters
    ----------
    prices : array, Series or table of shape (r, n) or (r,)
        One row for each time, positive numbers. In a table of pandas, polars or pyarrow the columns
        of numbers are prices; dates, identifiers and texts stay as they are. Rows of a table that
        are not in the order of the dates in its index or its one column of dates are sorted by
        them.
    kind : {"simple", "log"}
        The formula above.
    date : name, optional
        A column of dates, by which rows are sorted; none may occur twice.
    missing : {"error", "drop", "ffill"}
        How to treat missing prices: raise an error, drop their rows, or use the last price before.

    Returns
    -------
    array, Series or table of shape (r - 1, n) or (r - 1,)
        There is one row less: each has the date and the label of its later price.

    Examples
    --------
    >>> import numpy as np
    >>> returns(np.array([[100.0, 20.0], [110.0, 10.0]])).round(6).tolist()
    [[0.1, -0.5]]
    >>> import pandas as pd
    >>> frame = pd.DataFrame(
    ...     {"a": [12.0, 8.0, 10.0]}, index=["2024-01-03", "2024-01-01", "2024-01-02"]
    ... )
    >>> returns(frame).round(6).to_dict()
    {'a': {'2024-01-02': 0.25, '2024-01-03': 0.2}}
    """
    known(kind, RETURNS, "kind")
    known(missing, dict.fromkeys(("error", *PRICE_FIXES)), "missing")
    if is_lazy(prices):
        raise InvalidInput(
            "prices must be in memory, for returns compare a row with the one before; got data in"
            " blocks"
        )
    prices = gathered(prices)
    if is_table(prices) and not is_frame(prices):
        frame = returns(prices.to_frame(), kind, date=date, missing=missing)
        return frame.iloc[:, 0] if is_indexed(prices) else frame.to_series(0)
    framed, X = is_frame(prices), prices
    if date is not None and not framed:
        raise InvalidInput(f"date names a column of a table, but prices is {type(prices).__name__}")
    order = time_order(prices, date) if framed else None
    if not framed:
        X = as_numbers(prices, "prices")
        if X.ndim not in (1, 2) or 0 in X.shape:
            raise InvalidInput(
                f"prices must have shape (r,) or (r, n) with at least one price, got {X.shape}"
            )
    table = Table.of(X if framed else X.reshape(len(X), -1))
    columns = {
        place: column
        for place, column in enumerate(table.columns)
        if column.name != date and column.kind == "number" and not left_out(column)
    }
    if not columns:
        raise InvalidInput("prices has no column of numbers")
    matrix = np.column_stack([column.values for column in columns.values()])
    words = [f"column {shown(column.name)}" for column in columns.values()]
    panel = Panel(matrix, words, np.arange(table.rows), index_of(prices))
    panel = panel if order is None else panel.take(order.rows)
    panel = panel.without_gaps(missing).returns(kind)
    if not framed:
        return panel.values.reshape(-1, *X.shape[1:])
    each = dict(zip(columns, panel.values.T, strict=True))
    return put_columns(take_rows(prices, panel.rows), each)


@dataclass(frozen=True, eq=False)
class Panel:
    """Numbers (r, n) of the rows (r,) of a table in order of time, NaN where missing.

    `names` are words for the columns, `labels` those of all rows of the table, for errors.

    >>> panel = Panel(
    ...     np.array([[100.0, 20.0], [np.nan, 10.0], [110.0, 10.0]]), ["a", "b"], np.arange(3)
    ... )
    >>> panel.without_gaps("drop").returns("log").values.round(6).tolist()
    [[0.09531, -0.693147]]
    """

    values: Vector
    names: Sequence[str]
    rows: Indices
    labels: Any = None
    note: str = ""

    def row(self, i: int) -> str:
        """Return words for the i-th row: its number in the table from 0, and its index label where it has one."""
        row = int(self.rows[i])
        return f"row {row}" if self.labels is None else f"row {row} ({shown(self.labels[row])})"

    def take(self, rows: Any) -> "Panel":
        """Return some of the rows."""
        return replace(self, values=self.values[rows], rows=self.rows[rows])

    def without_gaps(self, rule: str, fixes: Sequence[str] = PRICE_FIXES) -> "Panel":
        """Treat missing entries by a rule.

        "error" names the first and the rules that would help, `fixes`.
        """
        gaps = np.isnan(self.values)
        if not gaps.any():
            return self
        if rule == "ffill":
            if gaps[0].any():
                raise InvalidInput(
                    f"{self.names[int(gaps[0].argmax())]} has no price to carry forward in"
                    f" {self.row(0)}; exclude the column or begin later"
                )
            last = np.where(gaps, 0, np.arange(len(gaps))[:, None])
            np.maximum.accumulate(last, axis=0, out=last)
            values = np.take_along_axis(self.values, last, axis=0)
            note = f"{gaps.sum()} missing prices carried forward"
            return replace(self, values=values, note=note)
        if rule == "drop":
            whole = ~gaps.any(axis=1)
            if not whole.any():
                raise nothing_whole()
            note = dropped_note(int((~whole).sum()), len(gaps))
            return replace(self.take(whole), note=note)
        column = int(np.argmax(gaps)) % gaps.shape[1]
        raise missing_value(self.names[column], gaps[:, column], fixes, self.row)

    def returns(self, kind: str) -> "Panel":
        """Return the change from each row to the next, as the row of the later price."""
        prices = self.values
        if len(prices) < 2:
            raise InvalidInput(f"returns need at least two rows of prices, got {len(prices)}")
        wrong = ~(prices > 0.0) | ~np.isfinite(prices)
        if wrong.any():
            r, c = (int(i) for i in np.argwhere(wrong)[0])
            raise InvalidInput(
                f"prices must be positive for {kind} returns, got {prices[r, c]:g} in"
                f" {self.names[c]}, {self.row(r)}"
            )
        steps = np.diff(np.log(prices), axis=0) if kind == "log" else prices[1:] / prices[:-1] - 1.0
        return replace(self, values=steps, rows=self.rows[1:])


class Order(NamedTuple):
    """The rows of a table in order of time, by dates (seconds from 1970, one for each row) called `name`."""

    name: Any
    dates: Vector
    rows: Indices


def time_order(table: Any, date: Any = None) -> Order | None:
    """Return the order by the column `date`, else by the dates that a table has.

    None where it is in order of these. No date may occur twice.

    A table tells the time by dates in its index or in a column; where several do and none is in
    order, it is refused.
    """
    if date is not None:
        known = {date: instants(Table.of(table).column(date, "date"))}
    else:
        known = dates_of(table)
        if not known or any((np.diff(dates) >= 0.0).all() for dates in known.values()):
            return None
    name = next(iter(known))
    if len(known) > 1:
        raise InvalidInput(
            "rows of prices must be in order of time, and are in that of none of"
            f" {quoted(list(known))}; date={name!r} sorts them"
        )
    dates = known[name]
    rows = np.argsort(dates, kind="stable")
    twice = np.flatnonzero(np.diff(dates[rows]) == 0.0)
    if twice.size:
        first, second = rows[twice[0]], rows[twice[0] + 1]
        day = np.datetime64(int(dates[first]), "s")
        raise InvalidInput(
            f"the date {day} is in rows {first} and {second} of column {shown(name)}; each date"
            " may be there once"
        )
    return Order(name, dates, rows)


def dates_of(table: Any) -> dict[Any, Vector]:
    """Return the dates that a table has, none missing, as seconds from 1970, by name: its index (dates or ISO text) and columns.

    >>> import pandas as pd
    >>> dates_of(pd.DataFrame({"a": [1.0, 2.0]}, index=["1970-01-02", "1970-01-01"]))
    {'index': array([86400.,     0.])}
    """
    dates = {}
    if index_of(table) is not None and table.index.nlevels == 1:
        name = "index" if table.index.name is None else table.index.name
        column = columns_of(table.index.to_frame(index=False, name=name))[0]
        with suppress(InvalidInput):
            if column.kind == "date" or (
                column.kind == "category" and str(column.values[0]).count("-") > 1
            ):
                dates[name] = instants(column)
    for column in columns_of(table):
        if column.kind == "date" and column.missing is None:
            dates[column.name] = np.asarray(column.values, np.float64)
    return dates


def instants(column: Column) -> Vector:
    """Return the dates of a column, none missing, as seconds from 1970, (N,); text is read as ISO dates."""
    if column.missing is not None:
        row = int(np.argmax(column.missing))
        raise InvalidInput(f"the date in column {shown(column.name)}, row {row} is missing")
    return np.asarray(as_kind(column, "date").values, np.float64)


def instant(text: Any, where: str) -> float:
    """Return a date such as 2019-01-31, or with a time, as seconds from 1970.

    >>> instant("1970-01-02", "--test-from")
    86400.0
    """
    try:
        return float(np.datetime64(str(text).strip(), "us").astype(np.int64)) * 1e-6
    except ValueError:
        raise InvalidInput(
            f"{where}: expected a date such as 2019-01-31, got {shown(text)}", where
        ) from None
