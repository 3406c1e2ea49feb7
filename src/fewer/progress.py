"""A bar while a call works: a line that moves in a terminal, a bar in a notebook, nothing where nobody looks."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import numpy as np

from ._validation import InvalidInput, shown
from .deadline import Deadline
from .threads import own_threads

WIDTH = 24
"""Characters of a bar in a terminal."""
SECONDS_BETWEEN = 0.1
"""A bar is drawn anew after so many seconds at the earliest."""
PULSE_SECONDS = 2.0
"""Where no end is known a block runs along the bar and back in this time."""
STARTING = "reading, compiling and starting"


class Screen(Protocol):
    """Where a bar is drawn."""

    def draw(self, label: str, share: float | None, seconds: float, words: str) -> None:
        """Show it; `share` of the time is used, None where that is not known."""
        ...

    def close(self, label: str, seconds: float, words: str) -> None:
        """Leave a last line."""
        ...

    def clear(self) -> None:
        """Leave nothing."""
        ...


class Terminal:
    """A line that is written over."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.length = stream, 0

    def draw(self, label: str, share: float | None, seconds: float, words: str) -> None:
        """The line as of now."""
        self._write(f"{label} [{bar(share, seconds)}] {seconds:.0f} s  {words}")

    def close(self, label: str, seconds: float, words: str) -> None:
        """The line without its bar, ended."""
        self._write(f"{label}: {seconds:.1f} s, {words}", "\n")

    def clear(self) -> None:
        """An empty line, at its begin."""
        self._write("", "\r")

    def _write(self, line: str, end: str = "") -> None:
        """Write over the last line, all of it."""
        self.stream.write("\r" + line.ljust(self.length) + end)
        self.stream.flush()
        self.length = len(line)


class Notebook:
    """A bar in the output of a cell, drawn by the browser."""

    def __init__(self) -> None:
        from IPython import display

        shows: Any = display
        self.html: Any = shows.HTML
        self.handle: Any = shows.display(self.html(""), display_id=True)

    def draw(self, label: str, share: float | None, seconds: float, words: str) -> None:
        """The bar as of now; without a share the browser moves it."""
        value = "" if share is None else f' value="{share:.4f}"'
        self._show(f"{label} <progress{value}></progress> {seconds:.0f} s &nbsp; {words}")

    def close(self, label: str, seconds: float, words: str) -> None:
        """A full bar."""
        self._show(f'{label} <progress value="1"></progress> {seconds:.1f} s &nbsp; {words}')

    def clear(self) -> None:
        """An empty output."""
        self._show("")

    def _show(self, html: str) -> None:
        """Replace what is shown."""
        self.handle.update(self.html(f"<div>{html}</div>"))


def bar(share: float | None, seconds: float) -> str:
    """A bar of characters.

    >>> bar(0.5, 3.0), bar(None, 0.0)
    ('############------------', '###---------------------')
    """
    if share is not None:
        full = round(WIDTH * min(share, 1.0))
        return "#" * full + "-" * (WIDTH - full)
    phase = abs((seconds / PULSE_SECONDS * 2.0 + 1.0) % 2.0 - 1.0)
    at = round((WIDTH - 3) * phase)
    return "-" * at + "###" + "-" * (WIDTH - 3 - at)


def screen() -> Screen | None:
    """Where the user looks: a notebook, a terminal, or nowhere."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and hasattr(shell, "kernel"):
        return Notebook()
    return Terminal(sys.stderr) if sys.stderr.isatty() else None


def said(progress: Any) -> str:
    """The best value so far, and the gap where there is a bound that says something; nothing of an infinite one."""
    if progress.best == math.inf:
        return STARTING
    gap = "" if not progress.bound else f", gap {max(progress.best - progress.bound, 0.0):.2g}"
    return f"value {progress.best:.4g}{gap}"


@contextmanager
def watched_by_user(
    progress: Any, label: str, deadline: Deadline, callback: Callable[[Any], Any] | None
) -> Iterator[Callable[[Any], Any] | None]:
    """Gives a callback that shows a bar where `progress` is true, and asks the user's own.

    BLAS keeps to one thread meanwhile, so that the number of threads decides nothing. NumPy says
    nothing of invalid values and overflow: BLAS may raise these flags by itself, and answers are
    checked.
    """
    if not isinstance(progress, (bool, np.bool_)):
        raise InvalidInput(f"progress must be True or False, got {shown(progress)}")
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback must be a function of the progress, got {shown(callback)}")
    bar = shown_bar(label, deadline, callback) if progress else nullcontext(callback)
    with own_threads(), np.errstate(invalid="ignore", over="ignore"), bar as told:
        yield told


def search_bar(
    label: str, time_limit: float | None
) -> AbstractContextManager[Callable[[Any], Any] | None]:
    """Gives a callback that shows a bar of one search, which goes when it ends; None where nobody looks."""
    return shown_bar(label, Deadline.after(time_limit), None, leave=False)


@contextmanager
def shown_bar(
    label: str, deadline: Deadline, callback: Callable[[Any], Any] | None, leave: bool = True
) -> Iterator[Callable[[Any], Any] | None]:
    """Gives a callback that shows a bar where the user looks, and asks another one; `leave` a line when it ends."""
    place = screen()
    if place is None:
        yield callback
        return
    drawn, words = -1.0, STARTING
    share = (
        (lambda: 1.0 - deadline.left() / deadline.seconds) if deadline.limited else (lambda: None)
    )
    place.draw(label, share(), deadline.elapsed(), words)

    def told(step: Any) -> Any:
        nonlocal drawn, words
        words = said(step)
        now = time.perf_counter()
        if now - drawn >= SECONDS_BETWEEN:
            drawn = now
            place.draw(label, share(), deadline.elapsed(), words)
        return None if callback is None else callback(step)

    try:
        yield told
    finally:
        if leave:
            place.close(label, deadline.elapsed(), "no answer" if words is STARTING else words)
        else:
            place.clear()


@contextmanager
def rows_bar(total: int | None) -> Iterator[Callable[[str, int], None] | None]:
    """Gives a function that shows a bar of the rows that a pass has done; None where nobody looks."""
    place, began, label, words = screen(), time.perf_counter(), "", ""
    if place is None:
        yield None
        return

    def update(name: str, done: int) -> None:
        nonlocal label, words
        label, words = name, f"{done:,} rows" if total is None else f"{done:,} of {total:,} rows"
        place.draw(
            label, None if total is None else done / total, time.perf_counter() - began, words
        )

    try:
        yield update
    finally:
        place.clear()


def as_verbose(verbose: Any) -> bool:
    """Whether an estimator is to show a bar: `verbose` is 0 or 1, as in scikit-learn."""
    if not isinstance(verbose, (bool, int, np.bool_, np.integer)) or verbose < 0:
        raise InvalidInput(f"verbose must be 0 or 1, got {shown(verbose)}")
    return bool(verbose)
