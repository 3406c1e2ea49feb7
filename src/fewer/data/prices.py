"""Prices in order of time: sorted by date, gaps filled, and turned into returns."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import Indices, InvalidInput, Vector, known, shown
from .column import Column

RETURNS = {"simple": "p(t) / p(t-1) - 1", "log": "log p(t) - log p(t-1)"}
"""Kinds of returns."""
Mask = npt.NDArray[np.bool_]


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
