"""Columns of pandas, by their dtype."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .column import SECONDS_PER_UNIT, Column, Levels, Mask, of_objects, sorted_levels


def column(name: Any, series: Any) -> Column:
    """A Series as a column."""
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype):
        from . import _arrow

        return _arrow.column(name, series.array.__arrow_array__())
    if isinstance(dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
        dtype = series.dtype
    if isinstance(dtype, pd.PeriodDtype):
        series = series.dt.to_timestamp()
        dtype = series.dtype
    missing = _mask(series)
    if isinstance(dtype, pd.CategoricalDtype):
        return Column(name, "category", missing, series.to_numpy, lambda: _levels(series), "category")
    if pd.api.types.is_bool_dtype(dtype):
        return Column(name, "boolean", missing, lambda: _floats(series))
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return Column(name, "number", missing, lambda: _floats(series), dtype=str(dtype))
    if isinstance(dtype, pd.DatetimeTZDtype) or getattr(dtype, "kind", "") in "Mm":
        kind = "number" if getattr(dtype, "kind", "") == "m" else "date"
        return Column(name, kind, missing, lambda: _seconds(series))
    if isinstance(dtype, pd.StringDtype):
        return Column(name, "category", missing, series.to_numpy, lambda: _levels(series))
    if dtype == np.dtype(object):
        return of_objects(name, series.to_numpy(), missing)
    if isinstance(dtype, pd.IntervalDtype):
        return of_objects(name, series.astype(object).to_numpy(), missing)
    return Column(name, "other", missing, series.to_numpy, dtype=str(dtype))


def _mask(series: Any) -> Mask | None:
    gone = np.asarray(series.isna(), bool)
    return gone if gone.any() else None


def _floats(series: Any) -> npt.NDArray[np.float64]:
    """Numbers as float64, without a copy where they are that already."""
    if isinstance(series.dtype, np.dtype):
        return np.asarray(series.to_numpy(), np.float64)
    return np.asarray(series.to_numpy(np.float64, na_value=np.nan))


def _seconds(series: Any) -> npt.NDArray[np.float64]:
    """Seconds from 1970, or of a length of time; NaN where missing."""
    values = series.to_numpy("datetime64[ns]") if hasattr(series.dtype, "tz") else series.to_numpy()
    unit = np.datetime_data(values.dtype)[0]
    found = values.astype(np.int64) * SECONDS_PER_UNIT[unit]
    found[np.isnat(values)] = np.nan
    return np.asarray(found, np.float64)


def _levels(series: Any) -> Levels:
    """Text or categories by the distinct ones."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, found = series.cat.codes.to_numpy(), series.cat.categories
    else:
        codes, found = pd.factorize(series)
    values = np.empty(len(found), object)
    values[:] = found.tolist()
    return sorted_levels(values, codes.astype(np.int64))
