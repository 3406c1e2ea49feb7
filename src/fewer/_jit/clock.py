"""A clock that stands still while code is compiled: a time limit buys the same on a fresh machine as on any other."""

import time

from numba.core import event

_compiling = event.TimingListener()
event.register("numba:compiler_lock", _compiling)


def now() -> float:
    """Seconds since some moment, without those in which numba compiled or loaded code."""
    return time.perf_counter() - (_compiling.duration if _compiling.done else 0.0)
