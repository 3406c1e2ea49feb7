"""Work on many columns or blocks of rows at once."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

MAX_THREADS = 8
"""Threads that work at the same time."""

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
