"""What numba compiles: how often, and for how many seconds."""

import time
from typing import Any

from numba.core import event


class _Listener(event.Listener):
    """Hears of each function that has to be compiled.

    Numba compiles one at a time, with those it calls inside it.
    """

    def __init__(self) -> None:
        self.misses, self.depth, self.began, self.spent = 0, 0, 0.0, 0.0

    def on_start(self, news: Any) -> None:
        self.misses += 1
        if self.depth == 0:
            self.began = time.perf_counter()
        self.depth += 1

    def on_end(self, news: Any) -> None:
        self.depth = max(self.depth - 1, 0)
        if self.depth == 0:
            self.spent += time.perf_counter() - self.began


_listener = _Listener()
event.register("numba:compile", _listener)


def count() -> int:
    """How many functions had to be compiled in this process so far.

    Those loaded from the cache do not count.
    """
    return _listener.misses


def seconds() -> float:
    """For how long functions have been compiled in this process so far, on any thread, up to this moment."""
    return _listener.spent + (time.perf_counter() - _listener.began if _listener.depth else 0.0)
