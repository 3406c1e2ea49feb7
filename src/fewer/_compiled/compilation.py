"""When numba compiles: counted, and refused where a call has to answer sooner than that takes."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from numba.core import event


class CompilationTimeout(BaseException):
    """Code would have to be compiled, and there is no time for it (`final`), or it is not to be compiled yet.

    Not an `Exception`: numba's type inference turns those into typing errors of its own.
    """

    def __init__(self, final: bool) -> None:
        super().__init__("there is no time to compile; call fewer.warm() once on this machine")
        self.final = final


START_SECONDS = 4.0
"""Seconds that one function may take to compile on an idle core: none is begun when less is left."""
PASS_SECONDS = 0.8
"""Seconds that one pass of the compiler may take there."""
SLOWER = 2.0
"""How many times the longest pause seen so far is kept in reserve: on a busy machine a pass takes longer."""

FIRST_SECONDS = 1.0
"""Seconds that numba takes to get ready in a process that has called no compiled function yet, cached or not."""

_ends: ContextVar[float] = ContextVar("ends", default=math.inf)
_first_ends: ContextVar[float] = ContextVar("first_ends", default=math.inf)
_ready = False
_misses = 0
_heard, _longest = 0.0, 0.0


class _Listener(event.Listener):
    """Hears of each function that has to be compiled, and of each pass of the compiler."""

    def on_start(self, news: Any) -> None:
        global _misses, _heard
        _heard = time.perf_counter()
        compiling = news.kind == "numba:compile"
        _misses += compiling
        needed = max(START_SECONDS if compiling else PASS_SECONDS, SLOWER * _longest)
        ends = _ends.get()
        if _heard + needed > ends:
            raise CompilationTimeout(final=ends > -math.inf)

    def on_end(self, news: Any) -> None:
        global _longest
        _longest = max(_longest, time.perf_counter() - _heard)


_listener = _Listener()
event.register("numba:compile", _listener)
event.register("numba:run_pass", _listener)


def count() -> int:
    """How many functions had to be compiled in this process so far; those loaded from the cache do not count."""
    return _misses


def get_ready() -> None:
    """Called before a function is loaded from the cache: the first one of a process has to wait for numba itself."""
    global _ready
    ends = _first_ends.get()
    if not _ready and time.perf_counter() + FIRST_SECONDS > ends:
        raise CompilationTimeout(final=_ends.get() > -math.inf)
    _ready = True


@contextmanager
def compiling_until(moment: float, first: float | None = None) -> Iterator[None]:
    """Within the block, in this thread, compiling that would not end by `moment` raises `CompilationTimeout`.

    So does the first use of compiled code in a process, where numba would not be ready by `first`, or by `moment`.
    """
    token, other = _ends.set(moment), _first_ends.set(moment if first is None else first)
    try:
        yield
    finally:
        _ends.reset(token)
        _first_ends.reset(other)
