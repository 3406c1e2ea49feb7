"""Where points may move: which columns, in which box, and the moved points in the user's own container."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, Vector, as_numbers, shown
from ...tables.encode import Encoding
from ...tables.frames import put_columns
from .row_input import Given
from .scaling import column_ends


class Ends(NamedTuple):
    """The encoded columns that move (m,), their names, their places in X, and the box of encoded numbers (m,) each."""

    columns: Indices
    names: list[Any]
    places: list[int]
    low: Vector
    high: Vector


class Movable(NamedTuple):
    """What may move: which encoded columns (m,), between which ends, and which entries of the points stay, (k, m)."""

    columns: Indices
    low: Vector
    high: Vector
    fixed: npt.NDArray[np.bool_]


def as_move(move: Any) -> bool:
    """Whether points move: not where `move` is False."""
    if isinstance(move, (bool, np.bool_)):
        return bool(move)
    if isinstance(move, str) and move != "free":
        raise InvalidInput(
            f"move must be True, False, 'free', a pair (low, high), or pairs by column, got {shown(move)}"
        )
    if not isinstance(move, (str, Mapping)):
        _pair(move, None, "move")
    return True


def ends_of(X: Any, given: Given, move: Any) -> Ends:
    """Which columns of X move, and the box in which they do: that of the data, the user's, or none."""
    if sp.issparse(X):
        raise InvalidInput(f"move needs a dense array or a table, got a {type(X).__name__}")
    encoding, width = given.encoding, given.rows.shape[1]
    if encoding is None:
        columns, names, places = np.arange(width), list(range(width)), list(range(width))
    else:
        codes = [code for code in encoding.codes if code.kind == "number" and code.levels is None]
        if not codes:
            raise InvalidInput(
                "move needs a column of numbers: categories and dates never move, and X has no other"
            )
        columns = np.array([code.start for code in codes])
        names, places = [code.name for code in codes], [code.place for code in codes]
    if isinstance(move, str):
        return Ends(
            columns, names, places, np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
        )
    shift = 0.0 if encoding is None or encoding.shift is None else encoding.shift[columns]
    low, high = (np.asarray(end, np.float64)[columns] + shift for end in column_ends(given.rows))
    low, high = (
        (low, high) if isinstance(move, (bool, np.bool_)) else _within(move, names, low, high)
    )
    return Ends(columns, names, places, low - shift, high - shift)


def _within(move: Any, names: list[Any], low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """The ends that the user gives, of all columns or some of them."""
    if isinstance(move, Mapping):
        low, high = low.copy(), high.copy()
        for name, pair in move.items():
            if name not in names:
                raise InvalidInput(
                    f"move: no column of numbers is called {shown(name)}; there are {shown(names)}"
                )
            at = names.index(name)
            low[at], high[at] = (float(end[0]) for end in _pair(pair, 1, f"move of {shown(name)}"))
    else:
        low, high = _pair(move, len(names), "move")
    if (low > high).any():
        at = int(np.argmax(low > high))
        raise InvalidInput(
            f"move of column {shown(names[at])} must be low <= high, got {low[at]:g} and {high[at]:g}"
        )
    return low, high


def _pair(pair: Any, width: int | None, what: str) -> tuple[Vector, Vector]:
    """Two ends, each a number or (width,) of them; infinite ones are none. A width None is not known yet."""
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise InvalidInput(f"{what} must be a pair (low, high), got {shown(pair)}")
    low, high = (as_numbers(end, what).astype(np.float64) for end in pair)
    for end in (low, high):
        if np.isnan(end).any() or (width is not None and end.shape not in ((), (width,))):
            raise InvalidInput(
                f"{what} must hold numbers or arrays of shape ({width},), got {shown(end.tolist())}"
            )
    if width is None:
        return low, high
    return np.array(np.broadcast_to(low, width)), np.array(np.broadcast_to(high, width))


def movable_of(
    ends: Ends, scaled: Callable[[Any], Any], rows: Any, encoding: Encoding | None
) -> Movable:
    """The same in the space where rows are compared; `rows` (k, d) are where points begin."""
    width = rows.shape[1]
    box = np.zeros((2, width))
    given = np.array([ends.low, ends.high])
    closed = np.isfinite(given)
    box[:, ends.columns] = np.where(closed, given, 0.0)
    low, high = np.where(closed, np.asarray(scaled(box))[:, ends.columns], given)
    fixed = np.zeros((rows.shape[0], len(ends.columns)), bool)
    flags = (
        []
        if encoding is None
        else [code.flag for code in encoding.codes if code.start in set(ends.columns)]
    )
    for at, flag in enumerate(flags):
        if flag >= 0:
            entry = rows[:, [flag]]
            fixed[:, at] = (
                np.asarray(entry.toarray() if sp.issparse(entry) else entry).reshape(-1) > 0
            )
    return Movable(ends.columns, low, high, fixed)


def in_rows(
    rows: Any, places: Vector, ends: Ends, gone: npt.NDArray[np.bool_], encoding: Encoding | None
) -> Any:
    """The rows that points began at, with the numbers where they are now; what is missing stays so."""
    places = np.clip(places, ends.low, ends.high)
    if encoding is not None and encoding.shift is not None:
        places = places + encoding.shift[ends.columns]
    places = np.where(gone, np.nan, places)
    return put_columns(rows, {place: places[:, at] for at, place in enumerate(ends.places)})
