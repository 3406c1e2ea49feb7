"""Commands on files that are larger than the memory: blocks, progress by rows, and states that are kept and resumed."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from .. import __version__
from .._validation import InvalidInput
from ..data.blocks import Execution, executed
from ..data.files import FileTable, expanded
from ..files import written_whole
from ..jobs.packing import packed, unpacked
from ..jobs.sample import as_bytes
from ..result import Result
from ..studies.in_blocks import NOTE, BlocksProblem, Remembering
from ..text import sentence, shown_path, visible
from ._options import Asked
from ._process import INTERRUPTED, seen, stoppable
from ._run import perform
from ._show import Screen, console, number, plain_table
from ._table import known_column, listed, numbered
from ._write import as_csv, as_json, as_parquet, beside, saved

MIN_SECONDS, COST_SHARE = 1.0, 0.05
"""States are kept at most this often, and take at most this share of the time."""
READ_IN_BLOCKS = ("parquet", "csv", "arrow")
"""Formats of which parts can be read; npy files are mapped."""


def is_large(table: FileTable, asked: Asked, names: Sequence[str] | None = None) -> bool:
    """Whether the files take more than half of --max-memory, and can be read in blocks."""
    from ..data.streams import stored_bytes

    memory = as_bytes(asked.max_memory, "--max-memory")
    size = stored_bytes(table, table.names if names is None else names)
    large = size is not None and size > memory // 2
    if asked.resume and not large:
        raise click.UsageError("--resume goes on with runs in blocks; these files fit into --max-memory")
    if not large:
        return False
    if asked.resume and asked.out is None:
        raise click.UsageError("--resume needs -o: what is kept stands beside that file")
    return True


class Folder:
    """Where the state of a run is kept, beside its output: `out.csv.blocks`."""

    def __init__(self, path: Path, about: dict[str, Any], resume: bool) -> None:
        self.path, self.last, self.cost = path, time.monotonic(), 0.0
        key = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()
        mark = path / "run.json"
        if path.exists() and not mark.exists():
            raise InvalidInput(f"{path}: is in the way of what this run keeps; remove it")
        if resume and path.exists() and json.loads(mark.read_text())["run"] != key:
            raise InvalidInput(f"{path}: was kept by a run with other options, files or version; leave --resume away")
        if path.exists() and not resume:
            shutil.rmtree(path)
        path.mkdir(exist_ok=True)
        with written_whole(mark) as file:
            file.write(json.dumps({"run": key, "about": about}, default=str, indent=1).encode())

    def load(self, name: str) -> tuple[list[list[Any]], int, bool] | None:
        """What was kept of a pass."""
        file = self.path / f"{name}.npz"
        if not file.exists():
            return None
        with np.load(file, allow_pickle=False) as arrays:
            levels, done, whole = unpacked(arrays)
        return levels, done, whole

    def save(self, name: str, levels: list[list[Any]], done: int, last: bool) -> None:
        """Keep the state of a pass, whole or not at all."""
        now = time.monotonic()
        if not last and now - self.last < max(MIN_SECONDS, self.cost / COST_SHARE):
            return
        with written_whole(self.path / f"{name}.npz") as file:
            np.savez(file, **packed([levels, done, last]))
        self.last = time.monotonic()
        self.cost = self.last - now

    def remove(self) -> None:
        """All is done."""
        shutil.rmtree(self.path, ignore_errors=True)


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
    table: FileTable, asked: Asked, names: Sequence[str], about: dict[str, Any], job: Callable[[Any, int], Result]
) -> int:
    """Run a job on blocks of the files, keep its states beside the output, and write what was kept."""
    from ..data.blocks import as_blocks
    from ..data.streams import stored_rows

    files = [path for file in asked.files for path in expanded(file)]
    stamps = [(path, Path(path).stat().st_size, Path(path).stat().st_mtime_ns) for path in files]
    about = {**about, "files": stamps, "k": asked.ks, "seed": asked.seed, "solver": asked.solver}
    about |= {"memory": asked.max_memory, "version": __version__}
    folder = None
    if asked.out is not None:
        folder = Folder(asked.out.with_name(f"{asked.out.name}.blocks"), about, asked.resume)
    keeper, data, most = Remembering(folder), as_blocks(files, names=names), int(max(asked.ks))
    started = time.monotonic()
    try:
        with (
            stoppable(),
            progress_by_rows(asked, stored_rows(table)) as update,
            executed(Execution(asked.workers, update, keeper)),
        ):
            result = job(data, most)
    except InvalidInput as error:
        raise InvalidInput(f"{asked.file}: {error}") from None

    def answer(k: int) -> Result:
        with executed(Execution(asked.workers, None, keeper)):
            return job(data, k)

    if asked.path or asked.report:
        problem = BlocksProblem(about["job"], result, answer, {most: result})
        code = perform(problem, asked, f"{problem.unit} of {table.label}", note=NOTE)
    else:
        write(result, asked, time.monotonic() - started, in_file(result, table, bool(about.get("order"))))
        code = INTERRUPTED if seen() else 0
    if folder is not None:
        folder.remove()
    return code


def in_file(result: Result, table: FileTable, long: bool) -> Sequence[int]:
    """The numbers in the file of what was kept: of columns their places, unless they are items of a `long` table."""
    if result.words.unit != "columns" or result.labels is None or long:
        return [int(i) for i in result.indices]
    return numbered(table, result.labels.tolist())


def write(result: Result, asked: Asked, seconds: float, places: Sequence[int]) -> None:
    """What was kept, to -o, to stdout and for people; `places` are the indices in the file."""
    import sys

    frame = result.to_frame("polars")
    table = {
        name if i < len(frame.columns) - _own(result) else beside(name, frame.columns): frame[name].to_list()
        for i, name in enumerate(frame.columns)
    }
    place = dict(zip(result.indices.tolist(), np.asarray(places).tolist(), strict=True))
    table["index"] = [place[i] for i in table["index"]]
    about = {"value": result.value, "value_se": result.value_se, "bound": result.bound, "note": result.note}
    summary: dict[str, Any] = {
        "file": asked.file,
        "k": asked.k,
        "seed": asked.seed,
        "status": result.status.name.lower(),
        **about,
    }
    summary |= {"indices": places, "kept": table}
    if asked.out is not None:
        kind = asked.out.suffix.lower()
        content = {
            ".csv": lambda: as_csv(table).encode(),
            ".json": lambda: as_json(summary).encode(),
            ".npz": lambda: saved(result.distribution, table),
            ".parquet": lambda: as_parquet(table),
        }[kind]()
        with written_whole(asked.out, replace=asked.force) as file:
            file.write(content)
    carried = asked.json or (asked.out is None and not sys.stdout.isatty())
    if carried:
        sys.stdout.write(as_json(summary) if asked.json else as_csv(table))
        sys.stdout.flush()
    if asked.quiet:
        return
    out = console(carried)
    shown = plain_table([visible(name) for name in list(table)[:8]], [True] * min(len(table), 8))
    for i in range(min(len(result.indices), 20)):
        shown.add_row(*(number(values[i], False) for values in list(table.values())[:8]))
    out.print(shown)
    loss = f"{result.words.loss} {result.value:.6g}"
    bound = "" if result.bound is None else f", at least {result.bound:.6g}"
    out.print(f"{loss}{bound}; {seconds:.1f} s", markup=False)
    for words in filter(None, (str(result.status), result.note)):
        out.print(sentence(visible(words)), markup=False)
    if asked.out is not None:
        out.print(f"wrote {shown_path(asked.out)}", markup=False)


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
    about = {"job": "points", "names": used, **data}
    return run_in_blocks(table, asked, used, about, lambda X, k: points(X, k, **data, **search_of(asked)))


def bins_in_blocks(
    table: FileTable, asked: Asked, name: str, binned: Sequence[str], missing: str, preserve: str
) -> int:
    """`fewer bins` on blocks."""
    from ..jobs.bins import bins

    if binned or preserve != "cdf":
        refuse(binned[0][2:] if binned else "preserve entries")
    about = {"job": "bins", "column": name, "missing": missing}
    return run_in_blocks(table, asked, [name], about, lambda X, k: bins(X, k, missing=missing, **search_of(asked)))


def dims_in_blocks(table: FileTable, asked: Asked, objective: str, options: dict[str, Any]) -> int:
    """`fewer dims` on blocks."""
    from ..jobs.dims import dims
    from ._table import asked_columns

    data: dict[str, Any] = {"objective": objective, "baseline": options["baseline"], "missing": options["missing"]}
    data |= {name: listed(options[name]) for name in ("include", "exclude")}
    data |= {name: options[name] for name in ("order", "item")}
    if data["order"]:
        names = [known_column(table, data[name], f"--{name}") for name in ("order", "item")]
    else:
        names, kinds = asked_columns(table, options["columns"], options["ignore"])
        data |= {"columns": kinds or None}
    about = {"job": "dims", "names": names, **data}
    return run_in_blocks(table, asked, names, about, lambda X, k: dims(X, k, **data, **search_of(asked)))


def terms_in_blocks(
    table: FileTable, asked: Asked, target: str, columns: str | None, groups: str | None, options: dict[str, Any]
) -> int:
    """`fewer terms` on blocks."""
    from ..jobs.terms import terms
    from ._table import chosen_columns

    alone = ("test_fraction", "test_last", "test_from", "previous", "max_turnover", "constraints")
    for name in ("validation", "returns", "date", *alone, *(["loss"] if options["loss"] != "squared" else [])):
        if options[name]:
            refuse(name)
    if groups is not None:
        refuse("groups")
    known_column(table, target, "--target")
    chosen = chosen_columns(table, columns, "--columns", [target])
    data: dict[str, Any] = {name: options[name] for name in ("min_weight", "max_weight", "missing")}
    data |= {name: listed(options[name]) for name in ("include", "exclude")}
    names = [*(name for name in chosen if name != target), target]
    about = {"job": "terms", "names": names, **data}
    return run_in_blocks(table, asked, names, about, lambda X, k: terms(X, target, k, **data, **search_of(asked)))
