"""Columns of polars, by their dtype."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .column import SECONDS_PER_UNIT, Column, Levels, Mask, of_objects, sorted_levels


def column(series: Any) -> Column:
    """A Series as a column."""
    import polars as pl

    name, dtype = series.name, series.dtype
    missing = _mask(series.is_null() | series.is_nan() if dtype.is_float() else series.is_null())
    if dtype == pl.Boolean:
        return Column(name, "boolean", missing, lambda: _floats(series.cast(pl.UInt8)))
    if dtype.is_numeric() or dtype == pl.Null:
        part = lambda start, stop: _floats(series.slice(start, stop - start))  # noqa: E731
        return Column(name, "number", missing, lambda: _floats(series), dtype=str(dtype), part=part)
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


def _mask(gone: Any) -> Mask | None:
    return np.asarray(gone.to_numpy(), bool) if gone.any() else None


def _seconds(series: Any, step: float, start: int, stop: int) -> npt.NDArray[np.float64]:
    """Some dates, times or durations in seconds."""
    return _floats(series.slice(start, stop - start).to_physical()) * step


def _floats(series: Any) -> npt.NDArray[np.float64]:
    """Numbers as float64, without a copy where they are that already."""
    import polars as pl

    return np.asarray(series.cast(pl.Float64).to_numpy(), np.float64)


def _levels(series: Any) -> Levels:
    """Text by the distinct ones: ranks where nearly all differ, else the codes of a category, which are quicker."""
    import polars as pl

    if series.dtype == pl.String and series.head(1000).n_unique() > 900:
        present = series.unique().drop_nulls().sort()
        codes = series.rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
        return Levels(_objects(present), codes)
    coded = series.cast(pl.Categorical) if series.dtype == pl.String else series
    physical = coded.to_physical()
    found = physical.cast(pl.Int64).fill_null(-1).to_numpy()
    used, codes = np.unique(found, return_inverse=True) if found.max(initial=-1) > 2 * len(found) else (None, found)
    if used is not None:  # codes of a table of categories that other columns share
        codes = codes.reshape(-1) - int(used[:1].sum() == -1)
    first = pl.DataFrame({"code": pl.Series(codes), "value": coded.cast(pl.String)}).filter(pl.col("code") >= 0)
    pairs = first.unique("code")
    values = np.full(int(codes.max(initial=-1)) + 1, "", object)
    values[pairs["code"].to_numpy()] = _objects(pairs["value"])
    return sorted_levels(values, codes)


def _objects(series: Any) -> npt.NDArray[Any]:
    values = np.empty(len(series), object)
    values[:] = series.to_list()
    return values
