"""A bar while a call works, in a terminal or a notebook, and nothing where nobody looks."""

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from ._validation import InvalidInput, as_flag, shown
from .deadline import Deadline
from .threads import own_threads

STARTING = "reading, compiling and starting"
SEARCH_BAR = "{desc} |{bar:24}| {elapsed}{postfix}"
"""How tqdm writes the bar of a search: how much of its time is used, and the value so far."""
Callback = Callable[[Any], Any]


def tqdm_bar(**options: Any) -> Any:
    """Return a bar of tqdm where the user looks, a notebook or a terminal, else None."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    notebook = hasattr(shell, "kernel")
    if not notebook and not sys.stderr.isatty():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets gets a bar of characters
        from tqdm.auto import tqdm
    file = sys.stdout if notebook else sys.stderr  # a notebook shows the latter as a warning
    return tqdm(miniters=0, file=file, **options)


def progress_words(progress: Any) -> str:
    """Return the best value so far, and the gap where there is a bound that says something."""
    if progress.best == math.inf:
        return STARTING
    gap = f", gap {max(progress.best - progress.bound, 0.0):.2g}" if progress.bound else ""
    return f"value {progress.best:.4g}{gap}"


@contextmanager
def watched_by_user(
    progress: Any, label: str, deadline: Deadline, callback: Callback | None
) -> Iterator[Callback | None]:
    """Give a callback that shows a bar where `progress` is true, and asks the user's own.

    BLAS keeps to one thread meanwhile, so that the number of threads decides nothing. NumPy says
    nothing of invalid values and overflow: BLAS may raise these flags by itself, and answers are
    checked.
    """
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback must be a function of the progress, got {shown(callback)}")
    shows = as_flag(progress, "progress")
    bar = shown_bar(label, deadline, callback) if shows else nullcontext(callback)
    with own_threads(), np.errstate(invalid="ignore", over="ignore"), bar as watch:
        yield watch


def search_bar(label: str, time_limit: float | None) -> AbstractContextManager[Callback | None]:
    """Give a callback that shows a bar of one search, which goes when it ends.

    None where nobody looks.
    """
    return shown_bar(label, Deadline.after(time_limit), None, leave=False)


@contextmanager
def shown_bar(
    label: str, deadline: Deadline, callback: Callback | None, leave: bool = True
) -> Iterator[Callback | None]:
    """Give a callback that shows a bar where the user looks, and asks another one.

    `leave` it when it ends.
    """
    total = deadline.seconds if deadline.limited else None
    bar = tqdm_bar(desc=label, total=total, bar_format=SEARCH_BAR, leave=leave)
    if bar is None:
        yield callback
        return

    def watch(step: Any) -> Any:
        used = deadline.seconds - deadline.left() if deadline.limited else 0.0
        bar.set_postfix_str(progress_words(step), refresh=False)
        bar.update(min(used, deadline.seconds) - bar.n)
        return None if callback is None else callback(step)

    with bar:
        bar.set_postfix_str(STARTING)
        try:
            yield watch
        finally:
            if bar.postfix == STARTING:
                bar.set_postfix_str("no answer")


@contextmanager
def rows_bar(total: int | None) -> Iterator[Callable[[str, int], None] | None]:
    """Give a function that shows a bar of the rows that a pass has done.

    None where nobody looks.
    """
    bar = tqdm_bar(total=total, unit=" rows", unit_scale=True, leave=False)
    if bar is None:
        yield None
        return

    def update(name: str, done: int) -> None:
        bar.set_description_str(name, refresh=False)
        bar.update(done - bar.n)

    with bar:
        yield update


def as_verbose(verbose: Any) -> bool:
    """Return whether an estimator is to show a bar: `verbose` is 0 or 1, as in scikit-learn."""
    if not isinstance(verbose, (bool, int, np.bool_, np.integer)) or verbose < 0:
        raise InvalidInput(f"verbose must be 0 or 1, got {shown(verbose)}")
    return bool(verbose)
