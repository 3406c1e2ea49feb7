"""Prices in order of time: sorted by date, gaps filled, and turned into returns."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, InvalidInput, Vector, known, shown
from .column import Column
from .frames import columns_of, index_of

RETURNS = {"simple": "p(t) / p(t-1) - 1", "log": "log p(t) - log p(t-1)"}
"""Kinds of returns."""
Mask = npt.NDArray[np.bool_]
FEW_ROWS, MANY_ROWS, MANY_COLUMNS = 10, 2000, 64
"""Rows below which nothing is said of prices, and rows and columns that are looked at."""
STEADY = 0.5
"""Squared steps from row to row, relative to the variance: 2 where rows are independent, near 0 for prices."""


def resemble_prices(columns: Any, target: Vector) -> bool:
    """Whether numbers (r, n) and (r,) look like prices in order of time: positive, and each near the one before.

        Σ (x(t) - x(t-1))² <= 0.5 Σ (x(t) - mean x)²

    of the target and of half of the columns; the ratio is von Neumann's. Of many columns some are looked at.

    >>> days = np.arange(12.0)
    >>> resemble_prices(np.column_stack([50.0 + days, 900.0 - days**2]), 100.0 + days), resemble_prices(
    ...     np.column_stack([days % 2 + 1.0, days % 3 + 1.0]), days + 1.0)
    (True, False)
    """
    if len(target) < FEW_ROWS:
        return False
    some = np.unique(np.linspace(0, columns.shape[1] - 1, MANY_COLUMNS).astype(np.int64))
    values = np.column_stack([target[:MANY_ROWS], columns[:MANY_ROWS][:, some]]).astype(np.float64)
    if not (values > 0.0).all():
        return False
    values /= values.max(axis=0)
    steps, spread = np.square(np.diff(values, axis=0)).sum(axis=0), np.square(values - values.mean(axis=0)).sum(axis=0)
    steady = (steps <= STEADY * spread) & (spread > 0.0)
    return bool(steady[0] and steady[1:].mean() >= 0.5)


def returns_of(prices: Vector, kind: str, names: Sequence[Any], row: Callable[[int], str]) -> Vector:
    """Returns (r - 1, n) of prices (r, n) in order of time: p(t) / p(t-1) - 1, or log p(t) - log p(t-1).

    >>> prices = np.array([[100.0, 20.0], [110.0, 10.0]])
    >>> returns_of(prices, "simple", ["a", "b"], str).round(6).tolist()
    [[0.1, -0.5]]
    >>> returns_of(prices, "log", ["a", "b"], str).round(6).tolist()
    [[0.09531, -0.693147]]
    """
    known(kind, RETURNS, "returns")
    if len(prices) < 2:
        raise InvalidInput(f"returns need at least two rows of prices, got {len(prices)}")
    wrong = ~(prices > 0.0) | ~np.isfinite(prices)
    if wrong.any():
        r, c = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise InvalidInput(
            f"prices must be positive for {kind} returns, got {prices[r, c]:g} in column {shown(names[int(c)])}, "
            f"{row(int(r))}"
        )
    if kind == "log":
        return np.asarray(np.diff(np.log(prices), axis=0))
    return np.asarray(prices[1:] / prices[:-1] - 1.0)


def carried_forward(values: Vector, names: Sequence[Any], row: Callable[[int], str]) -> Vector:
    """Each missing entry as the last one before it; a column that begins with missing ones is named.

    >>> carried_forward(np.array([[1.0], [np.nan], [3.0]]), ["a"], str).ravel().tolist()
    [1.0, 1.0, 3.0]
    """
    missing = np.isnan(values)
    late = np.flatnonzero(missing[0])
    if late.size:
        column = int(late[0])
        first = int(np.argmin(missing[:, column]))
        since = f"its first is in {row(first)}" if not missing[first, column] else "it has none at all"
        raise InvalidInput(
            f"column {shown(names[column])} has no price to carry forward in {row(0)}: {since}; exclude the column or "
            f"begin later"
        )
    last = np.where(missing, 0, np.arange(len(values))[:, None])
    np.maximum.accumulate(last, axis=0, out=last)
    return np.asarray(np.take_along_axis(values, last, axis=0))


def dates_of(table: Any) -> dict[Any, Vector]:
    """What in a table has dates, none missing, as seconds from 1970: its index, as dates or as ISO text, and columns.

    >>> import pandas as pd
    >>> dates_of(pd.DataFrame({"a": [1.0, 2.0]}, index=["1970-01-02", "1970-01-01"]))
    {'index': array([86400.,     0.])}
    """
    found = {}
    if index_of(table) is not None and table.index.nlevels == 1:
        name = "index" if table.index.name is None else table.index.name
        column = columns_of(table.index.to_frame(index=False, name=name))[0]
        with suppress(InvalidInput):
            if column.kind == "date" or (column.kind == "category" and str(column.values[0]).count("-") > 1):
                found[name] = instants(column)
    for column in columns_of(table):
        if column.kind == "date" and column.missing is None:
            found[column.name] = np.asarray(column.values, np.float64)
    return found


def instants(column: Column) -> Vector:
    """The dates of a column as seconds from 1970, (N,); text is read as ISO dates, and nothing may be missing."""
    if column.missing is not None:
        raise InvalidInput(f"the date in column {shown(column.name)}, row {int(np.argmax(column.missing))} is missing")
    if column.kind != "category":
        return np.asarray(column.values, np.float64)
    levels, codes = column.levels
    seconds = np.array([instant(text, f"column {shown(column.name)}") for text in levels], np.float64)
    return np.asarray(seconds[codes])


def instant(text: Any, where: str) -> float:
    """A date such as 2019-01-31, or with a time, as seconds from 1970.

    >>> instant("1970-01-02", "--test-from")
    86400.0
    """
    try:
        return float(np.datetime64(str(text).strip(), "us").astype(np.int64)) * 1e-6
    except ValueError:
        raise InvalidInput(f"{where}: expected a date such as 2019-01-31, got {shown(text)}") from None


def by_date(dates: Vector, name: Any) -> Indices:
    """The order of time; no date may occur twice.

    >>> by_date(np.array([3.0, 1.0, 2.0]), "day").tolist()
    [1, 2, 0]
    """
    order = np.argsort(dates, kind="stable")
    twice = np.flatnonzero(np.diff(dates[order]) == 0.0)
    if twice.size:
        a, b = order[twice[0]], order[twice[0] + 1]
        day = np.datetime64(int(dates[a]), "s")
        raise InvalidInput(
            f"the date {day} is in rows {a} and {b} of column {shown(name)}; each date may be there once"
        )
    return np.asarray(order)
