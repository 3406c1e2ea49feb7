"""Columns of pyarrow, by their type."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .column import SECONDS_PER_UNIT, Column, Levels, Mask, sorted_levels


def column(name: Any, array: Any) -> Column:
    """An Array or ChunkedArray as a column."""
    import pyarrow as pa
    import pyarrow.types as is_type

    array = pa.chunked_array([array]) if isinstance(array, pa.Array) else array
    kind = array.type
    missing = _mask(array)
    if is_type.is_boolean(kind):
        return Column(name, "boolean", missing, lambda: _floats(array.cast(pa.uint8())))
    if is_type.is_integer(kind) or is_type.is_floating(kind) or is_type.is_decimal(kind) or is_type.is_null(kind):
        return Column(name, "number", missing, lambda: _floats(array), dtype=str(kind))
    if is_type.is_temporal(kind) and not is_type.is_interval(kind):
        length = is_type.is_duration(kind)
        return Column(name, "number" if length else "date", missing, lambda: _seconds(array))
    if is_type.is_dictionary(kind) or _is_text(kind):
        told = "" if _is_text(kind) else "category"
        return Column(name, "category", missing, array.to_numpy, lambda: _levels(array), told)
    return Column(name, "other", missing, array.to_numpy, dtype=str(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow.types as is_type

    return bool(is_type.is_string(kind) or is_type.is_large_string(kind) or is_type.is_string_view(kind))


def _mask(array: Any) -> Mask | None:
    import pyarrow.compute as pc
    import pyarrow.types as is_type

    floating = is_type.is_floating(array.type)
    if not floating and array.null_count == 0 and not is_type.is_dictionary(array.type):
        return None
    gone = np.asarray(pc.is_null(array, nan_is_null=floating).to_numpy(zero_copy_only=False), bool)
    return gone if gone.any() else None


def _floats(array: Any) -> npt.NDArray[np.float64]:
    """Numbers as float64, NaN where missing."""
    import pyarrow as pa

    return np.asarray(array.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def _seconds(array: Any) -> npt.NDArray[np.float64]:
    """Seconds from 1970, of a day, or of a length of time; NaN where missing."""
    import pyarrow as pa
    import pyarrow.types as is_type

    kind = array.type
    unit = "D" if is_type.is_date32(kind) else "ms" if is_type.is_date64(kind) else kind.unit
    narrow = is_type.is_date32(kind) or is_type.is_time32(kind)
    whole = array.cast(pa.int32()).cast(pa.int64()) if narrow else array.cast(pa.int64())
    return np.asarray(_floats(whole) * SECONDS_PER_UNIT[unit])


def _levels(array: Any) -> Levels:
    """Text or a dictionary by the distinct ones."""
    import pyarrow.types as is_type

    coded = array if is_type.is_dictionary(array.type) else array.dictionary_encode()
    coded = coded.unify_dictionaries()
    found = coded.chunk(0).dictionary.to_pylist() if coded.num_chunks else []
    values = np.empty(len(found), object)
    values[:] = found
    parts = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in coded.chunks]
    codes = np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, np.int64)
    return sorted_levels(values, codes)
