"""From a job, its data and what was asked to tables, files, a page and an exit code."""

import math
import platform
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from .._validation import InvalidInput, renamed
from ..files import written_whole
from ..io.files import FileTable
from ..progress import rows_bar
from ..report.path import Path as JobPath
from ..report.path import path
from ..report.study import UNBOUNDED
from ..report.study import Study as Problem
from ..tables.source import Execution, executed
from ..text import shown_path, visible
from ._app import complain
from ._options import Asked
from ._process import INTERRUPTED, seen, stoppable
from ._show import console, show
from ._write import Kept, as_csv, as_json, summary_of, write_result

Also = tuple[Path, Callable[[Path, JobPath], bytes]]
"""A file, and what is written to it."""


@dataclass(frozen=True, eq=False)
class Data:
    """What a job is called with, and how it is spoken of.

    `names` are those of the columns of an array and `places` where columns are in the file, None
    where that is where they are. `table` is the file whose rows are kept, for those who write them
    whole, and `rows` how many it has.
    """

    X: Any
    options: dict[str, Any]
    title: Callable[[Problem], str]
    note: str = ""
    names: Sequence[str] | None = None
    places: Sequence[int] | None = None
    table: FileTable | None = None
    rows: int | None = None
    spelling: dict[str, str] = field(default_factory=dict)


def perform(
    job: str, data: Data, asked: Asked, *, test: Any = None, also: Also | None = None
) -> int:
    """Solve the job as asked, then write and print under a title after the number kept; returns the exit code.

    `test` is what is held out where a path is not asked for; `also` is a further file to write.
    """
    watch = rows_bar(data.rows) if not asked.quiet else nullcontext()
    try:
        named = renamed(**data.spelling) if data.spelling else nullcontext()
        with stoppable(), watch as update, executed(Execution(asked.workers, update)), named:
            found = path(
                job,
                data.X,
                asked.path,
                k=asked.k,
                names=data.names,
                test="auto" if test is None and asked.path else test,
                baselines=compared(asked),
                solver=asked.solver,
                time_limit=asked.time_limit,
                rng=asked.seed,
                progress=not asked.quiet,
                max_memory=asked.max_memory,
                **data.options,
            )
    except InvalidInput as error:
        raise error.at(asked.file) from None
    found = in_file(found, data.places)
    note = "\n".join(filter(None, (data.note, found.study.note)))
    deliver(
        found,
        asked,
        f"{len(found.answer.result.indices)} {data.title(found.study)}",
        note,
        data.table,
        also,
    )
    if found.interrupted:
        return complain("interrupted; this is the best so far", INTERRUPTED)
    return INTERRUPTED if seen() else 0


def of_all(problem: Problem, what: str) -> str:
    """How many there were to choose from, where that is known.

    >>> from types import SimpleNamespace
    >>> of_all(SimpleNamespace(size=9), "rows"), of_all(SimpleNamespace(size=UNBOUNDED), "rows")
    ('of 9 rows', 'rows')
    """
    return what if problem.size >= UNBOUNDED else f"of {problem.size} {what}"


def in_file(found: JobPath, places: Sequence[int] | None) -> JobPath:
    """A path whose columns have their numbers in the file."""
    if places is None:
        return found
    answers = tuple(
        replace(answer, kept={**answer.kept, "index": [places[i] for i in answer.kept["index"]]})
        for answer in found.answers
    )
    return replace(found, answers=answers, answer=answers[found.answers.index(found.answer)])


def compared(asked: Asked) -> bool:
    """Whether baselines are wanted, and anything that is printed or written tells of them."""
    written = asked.report is not None or (
        asked.out is not None and asked.out.suffix.lower() == ".json"
    )
    return asked.baselines and (written or asked.json or not asked.quiet)


def deliver(
    found: JobPath,
    asked: Asked,
    title: str,
    note: str,
    table: FileTable | None = None,
    also: Also | None = None,
) -> None:
    """Files first, then what goes to stdout, then what people read; a file that fails is reported after the rest."""
    carried = asked.json or (asked.out is None and not sys.stdout.isatty())
    kept = Kept(found, table)
    summary = summary_of(kept, asked, command(), versions(), note) if wants_summary(asked) else {}
    text = (
        as_csv(kept.written) if carried and not asked.json else ""
    )  # before the file may be replaced
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
        from ..report.path_page import path_page

        save_page(
            asked.report,
            path_page(kept.path, title, how(asked), asked.image_shape),
            replace=asked.force,
        )


def tell(
    out: Console,
    found: JobPath,
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
    return {
        "command": command(),
        "solver": asked.solver,
        "seed": asked.seed,
        **limit,
        "versions": used,
    }
