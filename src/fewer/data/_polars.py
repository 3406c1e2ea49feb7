"""Columns of polars, by their dtype."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .column import SECONDS_PER_UNIT, Column, Levels, Mask, of_objects

FEW_CELLS = 2000
"""Texts up to which Python numbers them sooner than polars does."""


def column(series: Any) -> Column:
    """A Series as a column."""
    import polars as pl

    name, dtype = series.name, series.dtype
    missing = _missing(series)
    if dtype == pl.Boolean:
        return Column(name, "boolean", missing, lambda: floats(series.cast(pl.UInt8)))
    if dtype.is_numeric() or dtype == pl.Null:
        part = lambda start, stop: floats(series.slice(start, stop - start))  # noqa: E731
        return Column(name, "number", missing, lambda: floats(series), dtype=str(dtype), part=part)
    if dtype.is_temporal():
        unit = "D" if dtype == pl.Date else "ns" if dtype == pl.Time else dtype.time_unit
        kind = "number" if isinstance(dtype, pl.Duration) else "date"
        seconds = partial(_seconds, series, SECONDS_PER_UNIT[unit])
        return Column(name, kind, missing, lambda: seconds(0, len(series)), part=seconds)
    if dtype == pl.String or isinstance(dtype, (pl.Categorical, pl.Enum)):
        told = "" if dtype == pl.String else "category"
        return Column(name, "category", missing, lambda: series.to_numpy(), lambda: _levels(series), told)
    if dtype == pl.Object:
        return of_objects(name, np.array([*series.to_list(), None], object)[:-1], missing)
    return Column(name, "other", missing, lambda: series.to_numpy(), dtype=str(dtype))


def _missing(series: Any) -> Mask | None:
    """Where a value is null, or a number NaN."""
    nan = series.is_nan().fill_null(True) if series.dtype.is_float() else None
    if series.null_count() == 0 and (nan is None or not nan.any()):
        return None
    return np.asarray((series.is_null() if nan is None else nan).to_numpy(), bool)


def _seconds(series: Any, step: float, start: int, stop: int) -> npt.NDArray[np.float64]:
    """Some dates, times or durations in seconds."""
    return floats(series.slice(start, stop - start).to_physical()) * step


def floats(series: Any) -> npt.NDArray[np.float64]:
    """Numbers as float64, without a copy where they are that already."""
    import polars as pl

    return np.asarray((series if series.dtype == pl.Float64 else series.cast(pl.Float64)).to_numpy(), np.float64)


def _levels(series: Any) -> Levels:
    """Text by the distinct ones: ranks where nearly all differ, else the codes of a category, which are quicker."""
    import polars as pl

    if series.dtype == pl.String and len(series) <= FEW_CELLS:
        texts = series.to_list()
        number = {text: i for i, text in enumerate(sorted(set(texts) - {None}))} | {None: -1}
        values = np.empty(len(number) - 1, object)
        values[:] = list(number)[:-1]
        return Levels(values, np.array([number[text] for text in texts], np.int64))
    if series.dtype == pl.String and series.head(1000).n_unique() > 900:
        present = series.unique().drop_nulls().sort()
        codes = series.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
        return Levels(_objects(present), codes)
    coded = series.cast(pl.Categorical) if series.dtype == pl.String else series
    physical = coded.to_physical()  # numbers in a table of categories that other columns may share
    rows = physical.arg_unique()
    rows = rows.filter(physical.gather(rows).is_not_null())
    number = physical.gather(rows).to_numpy()
    values = _objects(coded.gather(rows).cast(pl.String))
    order = np.array(sorted(range(len(values)), key=values.__getitem__), np.int64)
    place = np.full(int(number.max(initial=0)) + 1, -1, np.int64)
    place[number[order]] = np.arange(len(order))
    codes = pl.Series(place).gather(physical)
    return Levels(values[order], (codes.fill_null(-1) if codes.null_count() else codes).to_numpy())


def _objects(series: Any) -> npt.NDArray[Any]:
    values = np.empty(len(series), object)
    values[:] = series.to_list()
    return values
