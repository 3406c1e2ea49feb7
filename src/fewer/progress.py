"""A bar while a call works, in a terminal or a notebook, and nothing where nobody looks."""

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
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
    bar = search_bar(label, deadline, callback, leave=True) if shows else nullcontext(callback)
    with own_threads(), np.errstate(invalid="ignore", over="ignore"), bar as watch:
        yield watch


@contextmanager
def search_bar(
    label: str, time_limit: Any, callback: Callback | None = None, leave: bool = False
) -> Iterator[Callback | None]:
    """Give a callback that shows a bar where the user looks, and asks another one."""
    deadline = Deadline.after(time_limit)
    total = deadline.seconds if deadline.limited else None
    bar = tqdm_bar(desc=label, total=total, bar_format=SEARCH_BAR, leave=leave)
    if bar is None:
        yield callback
        return

    def watch(step: Any) -> Any:
        if step.best < math.inf:
            gap = f", gap {max(step.best - step.bound, 0.0):.2g}" if step.bound else ""
            bar.set_postfix_str(f"value {step.best:.4g}{gap}", refresh=False)
        used = deadline.seconds - max(deadline.left(), 0.0) if deadline.limited else 0.0
        bar.update(used - bar.n)
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
    """Give a function that shows a bar of the rows that a pass has done, where the user looks."""
    bar = tqdm_bar(total=total, unit=" rows", unit_scale=True, leave=False)

    def update(name: str, done: int) -> None:
        bar.set_description_str(name, refresh=False)
        bar.update(done - bar.n)

    with nullcontext() if bar is None else bar:
        yield None if bar is None else update


def as_verbose(verbose: Any) -> bool:
    """Return whether an estimator is to show a bar: `verbose` is 0 or 1, as in scikit-learn."""
    if not isinstance(verbose, (bool, int, np.bool_, np.integer)) or verbose < 0:
        raise InvalidInput(f"verbose must be 0 or 1, got {shown(verbose)}")
    return bool(verbose)
