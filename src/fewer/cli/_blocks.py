"""Commands on files that are larger than the memory: blocks, and progress by rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import numpy as np
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .._validation import InvalidInput, as_bytes
from ..data.blocks import Execution, executed
from ..data.files import FileTable
from ..report.in_blocks import NOTE, BlocksProblem
from ..result import Result
from ._options import Asked
from ._process import stoppable
from ._run import perform
from ._show import Screen
from ._table import known_column, listed, numbered
from ._write import Columns, beside


def is_large(table: FileTable, asked: Asked, names: Sequence[str] | None = None) -> bool:
    """Whether the files take more than half of --max-memory, and can be read in blocks."""
    from ..data.streams import stored_bytes

    memory = as_bytes(asked.max_memory, "--max-memory")
    size = stored_bytes(table, table.names if names is None else names)
    return size is not None and size > memory // 2


@contextmanager
def progress_by_rows(asked: Asked, rows: int | None) -> Iterator[Callable[[str, int], None] | None]:
    """A bar on stderr that counts rows, where stderr is a terminal."""
    import sys

    if asked.quiet or not sys.stderr.isatty():
        yield None
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TextColumn("{task.fields[note]}")
    with Progress(*columns, TimeElapsedColumn(), console=Screen(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(name: str, done: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(f"pass {len(tasks) + 1}", total=rows, note="")
            of = "" if rows is None else f" of {rows:,}"
            bar.update(tasks[name], completed=done, note=f"{done:,}{of} rows")

        yield update


def run_in_blocks(
    table: FileTable,
    asked: Asked,
    names: Sequence[str],
    name: str,
    job: Callable[[Any, int], Result],
    long: bool = False,
) -> int:
    """Run the job `name` on blocks of the files, and write what was kept; `long` tables have a line for each item."""
    from ..data.blocks import as_blocks
    from ..data.streams import of_table, stored_rows

    mapped = all(file.endswith(".npy") for file in asked.files)
    data = as_blocks(list(asked.files)) if mapped else of_table(table, names)
    passes: dict[str, Any] = {}
    most = int(max(asked.ks))
    try:
        with (
            stoppable(),
            progress_by_rows(asked, stored_rows(table)) as update,
            executed(Execution(asked.workers, update, passes)),
        ):
            result = job(data, most)
    except InvalidInput as error:
        raise InvalidInput(f"{asked.file}: {error}") from None

    def answer(k: int) -> Result:
        with executed(Execution(asked.workers, None, passes)):
            return job(data, k)

    def kept(result: Result) -> Columns:
        return kept_of(result, in_file(result, table, long))

    problem = BlocksProblem(name, result, answer, kept, {most: result})
    return perform(problem, asked, f"{problem.unit} of {table.label}", note=NOTE)


def in_file(result: Result, table: FileTable, long: bool) -> Sequence[int]:
    """The numbers in the file of what was kept: of columns their places, unless they are items of a `long` table."""
    if result.words.unit != "columns" or result.labels is None or long:
        return [int(i) for i in result.indices]
    return numbered(table, result.labels.tolist())


def kept_of(result: Result, places: Sequence[int]) -> Columns:
    """What was kept, by columns; `places` are the indices in the file."""
    frame = result.to_frame("polars")
    table = {
        name if i < len(frame.columns) - _own(result) else beside(name, frame.columns): frame[name].to_list()
        for i, name in enumerate(frame.columns)
    }
    place = dict(zip(result.indices.tolist(), np.asarray(places).tolist(), strict=True))
    table["index"] = [place[i] for i in table["index"]]
    return table


def _own(result: Result) -> int:
    """How many of the last columns are those of the file."""
    return 0 if result.rows is None else int(result.rows.shape[1]) if hasattr(result.rows, "shape") else 0


def search_of(asked: Asked) -> dict[str, Any]:
    """What all jobs are asked about their search."""
    return {
        "solver": asked.solver,
        "time_limit": asked.time_limit,
        "rng": asked.seed,
        "max_memory": asked.max_memory,
    }


IN_MEMORY = ("units", "move", "target", "assign", "criticisms", "include", "exclude", "groups")
"""Options of `fewer points` that need all rows."""


def refuse(option: str) -> None:
    """Refuse an option that needs all rows in memory."""
    raise click.UsageError(f"--{option.replace('_', '-')} is not for data in blocks; raise --max-memory, or omit it")


def points_in_blocks(
    table: FileTable,
    asked: Asked,
    columns: str | None,
    ignore: str | None,
    data: dict[str, Any],
    options: dict[str, Any],
) -> int:
    """`fewer points` on blocks."""
    from ..jobs.points import points
    from ._points_options import limits_of
    from ._table import asked_columns

    for name in IN_MEMORY:
        if options[name]:
            refuse(name)
    named = (data["labels"], "--label"), (data["sample_weight"], "--weight")
    apart = [known_column(table, name, option) for name, option in named if name]
    if table.plain and apart:
        raise click.UsageError("--label and --weight name columns of tables, and npy files have none")
    names, kinds = asked_columns(table, columns, ignore, apart)
    data = {**data, **limits_of(options, table, False), "columns": kinds or None}
    used = [*names, *(name for name in apart if name not in names)]
    return run_in_blocks(table, asked, used, "points", lambda X, k: points(X, k, **data, **search_of(asked)))


def bins_in_blocks(table: FileTable, asked: Asked, name: str, options: dict[str, Any]) -> int:
    """`fewer bins` on blocks."""
    from ..jobs.bins import bins

    return run_in_blocks(table, asked, [name], "bins", lambda X, k: bins(X, k, **options, **search_of(asked)))


def dims_in_blocks(table: FileTable, asked: Asked, objective: str, options: dict[str, Any]) -> int:
    """`fewer dims` on blocks."""
    from ..jobs.dims import dims
    from ._table import asked_columns

    data: dict[str, Any] = {"objective": objective, "baseline": options["baseline"], "missing": options["missing"]}
    data |= {name: listed(options[name]) for name in ("include", "exclude")}
    data |= {name: options[name] for name in ("order", "item")}
    for name in ("units", "costs", "budget"):
        if options[name] is not None:
            refuse(name)
    if data["order"]:
        names = [known_column(table, data[name], f"--{name}") for name in ("order", "item")]
    else:
        names, kinds = asked_columns(table, options["columns"], options["ignore"])
        data |= {"columns": kinds or None}
    long = bool(data["order"])
    return run_in_blocks(table, asked, names, "dims", lambda X, k: dims(X, k, **data, **search_of(asked)), long)


def terms_in_blocks(
    table: FileTable, asked: Asked, target: str, columns: str | None, groups: str | None, options: dict[str, Any]
) -> int:
    """`fewer terms` on blocks."""
    from ..jobs.terms import terms
    from ._table import chosen_columns
    from .terms import grouping, limits_of_options

    alone = ("test_fraction", "test_last", "test_from")
    for name in ("returns", "date", *alone, *(["loss"] if options["loss"] != "squared" else [])):
        if options[name]:
            refuse(name)
    known_column(table, target, "--target")
    chosen = chosen_columns(table, columns, "--columns", [target])
    data: dict[str, Any] = {**limits_of_options(options), "groups": grouping(groups), "missing": options["missing"]}
    data |= {name: listed(options[name]) for name in ("include", "exclude")}
    names = [*(name for name in chosen if name != target), target]
    return run_in_blocks(table, asked, names, "terms", lambda X, k: terms(X, target, k, **data, **search_of(asked)))
