"""One column of a table: its name, its kind, its values, and where they are missing."""

import datetime
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import Indices, InvalidInput, shown

Mask = npt.NDArray[np.bool_]
SECONDS_PER_UNIT = {"D": 86400.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
"""Seconds in one step of a date, a time or a duration."""
NUMBER = (numbers.Real, Decimal, np.bool_)
DATE = (datetime.date, np.datetime64)
"""`datetime.datetime` and the timestamps of pandas are dates too."""


class Levels(NamedTuple):
    """The distinct values of a column, sorted where they can be, and which of them each row has, -1 where missing."""

    values: npt.NDArray[Any]
    codes: Indices


@dataclass(frozen=True, eq=False)
class Column:
    """A column as the containers of `fewer.tables.frames` hand it out; its values are made when they are asked for.

    `kind` is "number" (durations too, in seconds), "boolean" (0 and 1), "date" (dates, instants,
    times of day, in seconds), "category" (text, and what its container calls categories), or
    "other": nested or binary values that no job can use. `dtype` names the type where that matters:
    "category" for what its container calls one, of numbers and others their type. `missing` is None
    where nothing is missing.
    """

    name: Any
    kind: str
    missing: Mask | None
    read: Callable[[], npt.NDArray[Any]]
    group: Callable[[], Levels] | None = None
    dtype: str = ""
    part: Callable[[int, int], npt.NDArray[Any]] | None = None
    """The values of some rows, where that costs less than all of them."""

    @property
    def values(self) -> npt.NDArray[Any]:
        """float64, NaN where missing; of a category objects, None where missing: (N,)."""
        if self.kind != "category":
            return self.read()
        values = np.empty(len(self.levels.values) + 1, object)
        values[:-1] = self.levels.values
        values[-1] = None
        return values[self.levels.codes]

    @cached_property
    def levels(self) -> Levels:
        """The distinct values, and which of them each row has."""
        if self.group is not None:
            return self.group()
        values = self.read()
        found, codes = np.unique(values, return_inverse=True)
        present = found if self.missing is None else found[~np.isnan(found)]
        codes = codes.reshape(-1).astype(np.int64)
        return Levels(present, np.where(codes < len(present), codes, -1))


def objects(entries: Sequence[Any]) -> npt.NDArray[Any]:
    """Values as an array of objects with one axis, whatever they are."""
    values = np.empty(len(entries), object)
    values[:] = entries
    return values


def seconds(instants: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Seconds from 1970, or of a length of time; NaN where missing.

    >>> seconds(np.array(["1970-01-02", "NaT"], "datetime64[D]")).tolist()
    [86400.0, nan]
    """
    unit = np.datetime_data(instants.dtype)[0]
    found = instants.astype(np.int64) * SECONDS_PER_UNIT[unit]
    found[np.isnat(instants)] = np.nan
    return np.asarray(found, np.float64)


def sorted_levels(values: npt.NDArray[Any], codes: Indices) -> Levels:
    """Levels in order, whatever order they were met in; those that no row has are left out."""
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(values)))
    entries = values[used].tolist()
    try:
        order = sorted(range(len(entries)), key=entries.__getitem__)
    except TypeError:  # of different types
        order = sorted(
            range(len(entries)), key=lambda i: (type(entries[i]).__name__, str(entries[i]))
        )
    place = np.full(len(values) + 1, -1, np.int64)
    place[used[order]] = np.arange(len(order))
    return Levels(
        objects([entries[i] for i in order]), place[codes]
    )  # -1 finds the last place, which stays -1


def of_objects(name: Any, entries: npt.NDArray[Any], missing: Mask | None) -> Column:
    """A column of Python's objects: of the one kind that all of them are, else a category of different types."""
    given = entries if missing is None else entries[~missing]
    kinds = set(map(type, given.tolist() if given.dtype != object else given))
    if not kinds:
        return Column(name, "number", missing, lambda: np.full(len(entries), np.nan), dtype="null")
    for kind, types, number in _READERS:
        if all(issubclass(one, types) for one in kinds):
            return Column(name, kind, missing, partial(_numbers, name, entries, missing, number))
    wrong = next(
        (one for one in kinds if one.__hash__ is None or issubclass(one, (bytes, tuple, complex))),
        None,
    )
    if wrong is not None:
        return Column(name, "other", missing, lambda: entries, dtype=wrong.__name__)
    return Column(
        name, "category", missing, lambda: entries, lambda: grouped_objects(entries, missing)
    )


def grouped_objects(entries: npt.NDArray[Any], missing: Mask | None) -> Levels:
    """The distinct ones of hashable objects."""
    number: dict[Any, int] = {}
    gone = np.zeros(len(entries), bool) if missing is None else missing
    codes = (
        -1 if out else number.setdefault(entry, len(number))
        for entry, out in zip(entries, gone, strict=True)
    )
    found = np.fromiter(codes, np.int64, len(entries))
    return sorted_levels(objects(list(number)), found)


def _numbers(
    name: Any, entries: npt.NDArray[Any], missing: Mask | None, number: Callable[[Any], float]
) -> npt.NDArray[np.float64]:
    """Objects as float64, NaN where missing."""
    found = np.full(len(entries), np.nan)
    for i in range(len(entries)) if missing is None else np.flatnonzero(~missing):
        try:
            found[i] = number(entries[i])
        except (OverflowError, ValueError) as error:
            raise InvalidInput(
                f"column {name!r}, row {i}: {shown(entries[i])} is more than float64 can hold: {error}"
            ) from None
    return found


def _instant(value: Any) -> float:
    """Seconds from 1970 of a date or a datetime; one without a zone is taken as UTC."""
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[us]").astype(np.int64)) * 1e-6
    if not isinstance(value, datetime.datetime):
        return float(value.toordinal() - datetime.date(1970, 1, 1).toordinal()) * 86400.0
    zoned = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    return float((zoned - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)).total_seconds())


def _clock(value: datetime.time) -> float:
    return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond * 1e-6


def _length(value: Any) -> float:
    if isinstance(value, np.timedelta64):
        return float(value.astype("timedelta64[us]").astype(np.int64)) * 1e-6
    return float(value.total_seconds())


_READERS: tuple[tuple[str, tuple[type, ...], Callable[[Any], float]], ...] = (
    ("boolean", (bool, np.bool_), float),
    ("number", NUMBER, float),
    ("date", DATE, _instant),
    ("date", (datetime.time,), _clock),
    ("number", (datetime.timedelta, np.timedelta64), _length),
)
"""Kinds of objects: what all entries must be, and how one is read."""
