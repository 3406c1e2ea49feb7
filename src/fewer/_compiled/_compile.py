"""The one decorator of compiled functions."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from . import compilation as compilation  # hears of everything that is compiled from now on

F = TypeVar("F", bound=Callable[..., object])
_warned = False


def compiled(function: F, nogil: bool = False) -> F:
    """`function`, compiled by numba at its first call and cached on disk; its static type is kept.

    Where no directory for the cache can be written to it works all the same, and each process
    compiles anew. Dividing by zero gives an infinity, as in NumPy: the check for it would keep
    loops from being vectorised. With `nogil` other threads run meanwhile.
    """
    try:
        dispatcher = numba.njit(cache=True, error_model="numpy", nogil=nogil)(function)
    except (RuntimeError, OSError) as error:  # numba found no directory that it may write to
        warn_uncached(error)
        return cast("F", numba.njit(error_model="numpy", nogil=nogil)(function))
    keep_going(dispatcher)
    return cast("F", dispatcher)


def compiled_for_threads(function: F) -> F:
    """Compile a function that several threads run at once, each on arrays of its own."""
    return compiled(function, nogil=True)


def keep_going(dispatcher: Any) -> None:
    """A cache that cannot be written to later on (a full disk, a directory taken away) costs time, not the answer."""
    cache = dispatcher._cache
    save, load = cache.save_overload, cache.load_overload

    def saved(*args: Any) -> None:
        try:
            save(*args)
        except OSError as error:
            warn_uncached(error)

    def loaded(*args: Any) -> Any:
        try:
            try:
                return load(*args)
            except (
                AttributeError,
                ImportError,
            ):  # another version's cache, with names that are gone
                cache.flush()
        except (OSError, EOFError) as error:
            warn_uncached(error)
        return None

    cache.save_overload, cache.load_overload = saved, loaded


def warn_uncached(error: Exception) -> None:
    """Say once what is missing, and what to set."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "compiled code cannot be kept on disk, so every process compiles anew: set the"
            " environment variable NUMBA_CACHE_DIR to a directory that can be written to"
            f" ({error})",
            RuntimeWarning,
            stacklevel=4,
        )
