"""Work on many columns or blocks of rows at once, and the memory that holds large tables."""

import math
import mmap
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

MAX_THREADS = 8
"""Threads that work at the same time."""
MIN_MAPPED_BYTES = 1 << 22
"""Bytes from which NumPy asks for huge pages, which it may take long to get."""

T = TypeVar("T")
R = TypeVar("R")


def in_threads(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """`work` on each of the items, in their order; the first of them that fails raises."""
    parts = list(items)
    if len(parts) < 2:
        return [work(item) for item in parts]
    count = min(usable_cores(), MAX_THREADS, len(parts))
    if count < 2:
        return [work(item) for item in parts]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, parts))


def usable_cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def zeros(shape: tuple[int, int], dtype: Any) -> npt.NDArray[Any]:
    """A table of zeros; a large one in pages of the usual size, which are there as soon as they are touched.

    >>> zeros((2, 3), np.float32).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < MIN_MAPPED_BYTES or not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.zeros(shape, dtype)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.ndarray(shape, dtype, buffer=pages)
