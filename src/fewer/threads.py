"""Threads: how many there are, work shared over them, and BLAS kept to one: small products are faster, sums the same."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

MAX_THREADS = 8
"""Threads that work at the same time."""

T = TypeVar("T")
R = TypeVar("R")
_HERE: ContextVar[int] = ContextVar("threads", default=0)


@cache
def _libraries() -> list[Any]:
    """Return the libraries of BLAS in this process: NumPy's, and SciPy's own, which numba uses, too."""
    import scipy.linalg  # noqa: F401 - it brings it

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(library: Any, many: int) -> None:
    """Set the threads of a library, from any Python thread: threadpoolctl 3.8 heeds one alone, till it is forgotten."""
    forget = getattr(library, "clear_controlling_thread", lambda force: None)
    forget(force=True)
    library.set_num_threads(many)
    forget(force=True)


class _Limited:
    """BLAS on one thread from the first who enters to the last who leaves, on any Python thread."""

    def __init__(self) -> None:
        self.lock, self.inside = threading.Lock(), 0
        self.before: list[tuple[Any, int]] = []

    def enter(self) -> None:
        with self.lock:
            if self.inside == 0:
                self.before = [(each, each.get_num_threads() or 1) for each in _libraries()]
                self.set_threads(alone=True)
            self.inside += 1

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.set_threads(alone=False)

    def set_threads(self, alone: bool) -> None:
        """Set the threads of the libraries to one, or to what they were."""
        for library, many in self.before:
            if many > 1:
                _set_threads(library, 1 if alone else many)

    def threads(self) -> int:
        """Return the number of threads that BLAS had before anyone entered."""
        with self.lock:
            counts = [many for _, many in self.before] if self.inside else []
        return max(counts or [each.get_num_threads() or 1 for each in _libraries()], default=1)


_limited = _Limited()
if hasattr(os, "register_at_fork"):  # a lock of another thread would stay locked
    os.register_at_fork(after_in_child=_limited.__init__)  # type: ignore[misc]


def threads() -> int:
    """Return as many threads as BLAS would use, so that the user's settings for it hold."""
    return _HERE.get() or _limited.threads()


@contextmanager
def own_threads() -> Iterator[None]:
    """Within it work is shared over the threads and BLAS itself keeps to one: small products then never wait."""
    token = _HERE.set(threads())
    _limited.enter()
    try:
        yield
    finally:
        _limited.leave()
        _HERE.reset(token)


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it work is done one part after the other: others do more at the same time."""
    token = _HERE.set(1)
    try:
        yield
    finally:
        _HERE.reset(token)


def is_shared() -> bool:
    """Return whether the threads are the caller's to share, and BLAS keeps to one already."""
    return _HERE.get() > 0


def in_threads(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Run `work` on each of the items, in their order; the first of them that fails raises."""
    parts = list(items)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = min(cores or 1, MAX_THREADS, len(parts))
    if count < 2:
        return [work(item) for item in parts]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, parts))
