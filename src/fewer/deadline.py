"""The moment by which a call must have answered."""

import math
import time
from dataclasses import dataclass, field
from typing import Any

from ._compiled import compilation
from ._validation import as_number

__all__ = ["Deadline"]

LONGEST = 1e9
"""Seconds, some thirty years: a longer limit is none. Searches use a limit up, so it must be one
that can end."""


@dataclass(frozen=True)
class Deadline:
    """When a call began and how many seconds it may take: wall time, but for compiling, which happens once.

    >>> Deadline.after(None).limited, Deadline.after(None).left()
    (False, inf)
    >>> Deadline.after(60.0).passed
    False
    """

    began: float
    seconds: float = math.inf
    compiled: float = field(default_factory=compilation.seconds, compare=False)
    """For how long this process had compiled when the call began."""
    before: float = 0.0
    """Seconds of the call before this part of it began."""

    @classmethod
    def after(cls, time_limit: Any) -> "Deadline":
        """Return `time_limit` seconds from now, or never for None or beyond `LONGEST`.

        a deadline is handed through.
        """
        if isinstance(time_limit, Deadline):
            return time_limit
        began = time.perf_counter()
        seconds = math.inf if time_limit is None else as_number(time_limit, "time_limit")
        return cls(began, seconds if seconds <= LONGEST else math.inf)

    @property
    def limited(self) -> bool:
        """True where there is a limit at all."""
        return self.seconds < math.inf

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return self.left() <= 0.0

    def left(self) -> float:
        """Return seconds left, while the clock stands still for compiling.

        Below zero when it has passed.
        """
        used = time.perf_counter() - self.began - (compilation.seconds() - self.compiled)
        return self.seconds - used

    def elapsed(self) -> float:
        """Return seconds since the call began, compiling included; of a share too."""
        return self.before + time.perf_counter() - self.began

    def share(self, part: float) -> "Deadline":
        """Return another deadline, after `part` of the time that is left."""
        if not self.limited:
            return self
        seconds = max(part * self.left(), 0.0)
        return Deadline(time.perf_counter(), seconds, before=self.elapsed())
