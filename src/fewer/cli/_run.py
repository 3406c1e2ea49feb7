"""From a problem and what was asked to tables, files, a page and an exit code."""

import math
import platform
import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from .._validation import InvalidInput
from ..data.files import FileTable
from ..files import written_whole
from ..report.path import Problem, Study, study
from ..text import shown_path, visible
from ._app import complain
from ._options import Asked
from ._process import INTERRUPTED, seen, stoppable
from ._show import Watcher, console, show
from ._write import Kept, as_csv, as_json, summary_of, write_result

Also = tuple[Path, Callable[[Path, Study], bytes]]
"""A file, and what is written to it."""
TEST_FRACTION = 0.3
"""The share of the data held out where nothing else was asked."""


def perform(
    problem: Problem,
    asked: Asked,
    title: str,
    *,
    held_out: float | None = None,
    note: str = "",
    table: FileTable | None = None,
    also: Also | None = None,
) -> int:
    """Study the problem as asked, then write and print under a title after the number kept; returns the exit code.

    `table` is the file whose rows are kept, for those who write them whole; None where no rows are. `also` is a further
    file to write.
    """
    for k in asked.ks:
        if k > problem.size:
            option = "-k" if k == asked.k else "--path"
            raise InvalidInput(f"{asked.file}: {option} must be in 1..{problem.size} ({problem.unit}), got {k}")
    limit = asked.time_limit if asked.time_limit is not None or asked.solver != "auto" else problem.usual_seconds
    share = TEST_FRACTION if held_out is None and asked.path else held_out
    search: dict[str, Any] = {"solver": asked.solver, "time_limit": asked.time_limit}
    watch = Watcher(limit, asked.quiet)
    try:
        with stoppable():
            found = study(
                problem,
                asked.ks,
                k=asked.k,
                held_out=share,
                seed=asked.seed,
                baselines=compared(asked),
                watch=watch,
                **search,
            )
    except InvalidInput as error:
        raise InvalidInput(f"{asked.file}: {error}") from None
    deliver(found, asked, f"{len(found.chosen.result.indices)} {title}", note, table, also)
    if found.interrupted:
        return complain("interrupted; this is the best so far", INTERRUPTED)
    return INTERRUPTED if seen() else 0


def compared(asked: Asked) -> bool:
    """Whether baselines are wanted, and anything that is printed or written tells of them."""
    written = asked.report is not None or (asked.out is not None and asked.out.suffix.lower() == ".json")
    return asked.baselines and (written or asked.json or not asked.quiet)


def deliver(
    found: Study, asked: Asked, title: str, note: str, table: FileTable | None = None, also: Also | None = None
) -> None:
    """Files first, then what goes to stdout, then what people read; a file that fails is reported after the rest."""
    carried = asked.json or (asked.out is None and not sys.stdout.isatty())
    kept = Kept(found, table)
    summary = summary_of(kept, asked, command(), versions(), note) if wants_summary(asked) else {}
    text = as_csv(kept.written) if carried and not asked.json else ""  # before the file may be replaced
    failed: OSError | None = None
    try:
        write_files(kept, asked, title, summary)
        if also is not None:
            with written_whole(also[0], replace=asked.force) as file:
                file.write(also[1](also[0], found))
    except OSError as error:
        failed = error
    with nullcontext() if failed is None else suppress(OSError):
        if carried:
            sys.stdout.write(as_json(summary) if asked.json else text)
            sys.stdout.flush()
        if not asked.quiet:
            written = () if failed else (asked.out, asked.report, None if also is None else also[0])
            tell(console(carried), found, title, note, asked.image_shape, written)
    if failed is not None:
        raise failed


def wants_summary(asked: Asked) -> bool:
    """Whether JSON is printed or written."""
    return asked.json or (asked.out is not None and asked.out.suffix.lower() == ".json")


def write_files(kept: Kept, asked: Asked, title: str, summary: dict[str, Any]) -> None:
    """The result and the page, if they were asked for."""
    if asked.out is not None:
        write_result(kept, asked.out, summary, asked.force)
    if asked.report is not None:
        from ..report import save_page
        from ..report.path_page import study_page

        save_page(asked.report, study_page(kept.study, title, how(asked), asked.image_shape), replace=asked.force)


def tell(
    out: Console,
    found: Study,
    title: str,
    note: str,
    image_shape: tuple[int, int] | None,
    written: tuple[Path | None, ...],
) -> None:
    """What people read; on stderr nothing is lost if nobody does."""
    with suppress(OSError) if out.stderr else nullcontext():
        for line in note.splitlines():
            out.print(visible(line), markup=False)
        show(out, found, title, 0 if image_shape is None else math.prod(image_shape))
        for path in filter(None, written):
            out.print(f"wrote {shown_path(path)}", markup=False)


def command() -> str:
    """The command that was given."""
    return shlex.join(["fewer", *sys.argv[1:]])


def versions() -> dict[str, str]:
    """What it was computed with."""
    found = {name: version(name) for name in ("fewer", "numpy", "scipy", "numba", "scikit-learn")}
    return {**found, "python": platform.python_version()}


def how(asked: Asked) -> dict[str, Any]:
    """How it was computed, for the page."""
    limit = {} if asked.time_limit is None else {"time limit": f"{asked.time_limit:g} s"}
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    return {"command": command(), "solver": asked.solver, "seed": asked.seed, **limit, "versions": used}
