"""The moment by which a call must have answered, and callbacks that are asked before there is an answer."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ._compiled.compilation import CompilationTimeout, compiling_until
from ._validation import as_number

__all__ = ["CompilationTimeout", "Deadline", "Stopped", "answer_by", "asking", "pause", "pausing"]

T = TypeVar("T")
SECONDS_BETWEEN = 0.05
"""How often a callback is asked where there is no iterate yet, at most."""


@dataclass(frozen=True)
class Deadline:
    """When a call began and how many seconds it may take: wall time as the caller sees it, compiling included.

    >>> Deadline.after(None).limited, Deadline.after(None).left()
    (False, inf)
    >>> Deadline.after(60.0).passed
    False
    """

    began: float
    seconds: float = math.inf
    stops: Callable[[], bool] | None = field(default=None, compare=False)
    """Asks a caller who may want to stop before there is an answer."""

    @classmethod
    def after(cls, time_limit: Any) -> "Deadline":
        """`time_limit` seconds from now, or never for None; a deadline is handed through."""
        if isinstance(time_limit, Deadline):
            return time_limit
        began = time.perf_counter()
        return cls(began) if time_limit is None else cls(began, as_number(time_limit, "time_limit"))

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.seconds < math.inf

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return self.left() <= 0.0

    @property
    def ended(self) -> bool:
        """Whether the time is over or the caller wants to stop."""
        return self.passed or (self.stops is not None and self.stops())

    def left(self) -> float:
        """Seconds left; below zero when it has passed."""
        return self.seconds - self.elapsed()

    def elapsed(self) -> float:
        """Seconds since the call began."""
        return time.perf_counter() - self.began

    def share(self, part: float, least: float = 0.0) -> "Deadline":
        """Another deadline, after `part` of the time that is left, but not before `least` seconds."""
        return self if not self.limited else Deadline(time.perf_counter(), max(part * self.left(), least), self.stops)

    def enforced(self) -> AbstractContextManager[None]:
        """Within the block, compiling that does not fit into the time left raises `CompilationTimeout`."""
        return compiling_until(self.began + self.seconds)

    def uncompiled(self) -> AbstractContextManager[None]:
        """Within the block, under a limit, any compiling raises `CompilationTimeout`; loading may take its time."""
        return compiling_until(-math.inf if self.limited else math.inf, self.began + self.seconds)


def answer_by(deadline: Deadline, compiled: Callable[[], T], uncompiled: Callable[[], T]) -> T:
    """`compiled()`; under a limit and before anything was compiled `uncompiled()`, and then the former if time allows.

    So that the limit is kept on a machine where this is the first call.
    """
    try:
        with deadline.uncompiled():
            return compiled()
    except CompilationTimeout:
        pass
    with deadline.uncompiled():
        first = uncompiled()
    try:
        with deadline.enforced():
            return compiled()
    except CompilationTimeout:
        return first


class Stopped(Exception):  # noqa: N818 - what a caller wished, not an error
    """A callback said stop before there was an answer."""


class _Asking:
    """Whom to ask, in which thread, and when next."""

    def __init__(self, stops: Callable[[], bool]) -> None:
        self.stops, self.stopped = stops, False
        self.thread, self.due = threading.get_ident(), time.perf_counter() + SECONDS_BETWEEN

    def pause(self) -> None:
        """Ask if it is time to, in the caller's own thread; raise `Stopped` in any."""
        here = threading.get_ident() == self.thread
        if here and not self.stopped and time.perf_counter() >= self.due:
            self.stopped = self.stops()
            self.due = time.perf_counter() + SECONDS_BETWEEN
        if self.stopped:
            raise Stopped


_asking: ContextVar[_Asking | None] = ContextVar("asking", default=None)


@contextmanager
def asking(stops: Callable[[], bool] | None) -> Iterator[None]:
    """Within the block long work calls `pause`, which asks `stops` now and then whether to stop; None is not asked."""
    token = _asking.set(None if stops is None else _Asking(stops))
    try:
        yield
    finally:
        _asking.reset(token)


def pause() -> None:
    """A chance to stop between two pieces of long work: raises `Stopped` where a callback says so."""
    asked = _asking.get()
    if asked is not None:
        asked.pause()


def pausing(work: Callable[[Any], T]) -> Callable[[Any], T]:
    """The same work for another thread, whose pauses hear of a stop, too."""
    asked = _asking.get()

    def worked(part: Any) -> T:
        token = _asking.set(asked)
        try:
            return work(part)
        finally:
            _asking.reset(token)

    return worked
