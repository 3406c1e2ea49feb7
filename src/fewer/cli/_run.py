"""From a request and its data to tables, files, a page and an exit code."""

import io
import json
import math
import platform
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .._validation import InvalidInput, renamed
from ..files import check_writable, destination, written_whole
from ..io.files import FileTable
from ..progress import rows_bar
from ..report.path import Answer, path
from ..report.path import Path as JobPath
from ..report.study import Table
from ..result import proves
from ..tables.source import Execution, executed
from ..text import CONTROL, csv_text, shown_path, visible
from ._app import complain
from ._options import Request
from ._process import INTERRUPTED, seen, stoppable
from ._show import console, show

Also = tuple[Path, Callable[[Path, JobPath], bytes]]
"""A file, and what is written to it."""
MAX_WHOLE_COLUMNS = 20_000
"""Columns up to which whole rows are written; beyond, those that were used."""
ENDINGS = (".csv", ".parquet", ".json", ".npz")
LIBRARIES = ("fewer", "numpy", "scipy", "numba", "scikit-learn")
OURS = ("k", "weight", "index")
"""Columns of ours; one of the file that is called so gets an ending."""


@dataclass(frozen=True, eq=False)
class Data:
    """The data and options that a job is called with, and how these are spoken of.

    `columns` are those of the file that X has, `names` what to call the columns of an array,
    `whole_rows` the file whose rows are written whole, and `test` the option that says what is held
    out.
    """

    X: Any
    options: dict[str, Any]
    words: str
    note: str = ""
    table: FileTable | None = None
    columns: Sequence[str] | None = None
    names: Sequence[str] | None = None
    whole_rows: FileTable | None = None
    test: str = "test"


def perform(job: str, data: Data, request: Request, also: Also | None = None) -> int:
    """Solve the job, then write and print under a title; return the exit code.

    `also` is a further file to write.
    """
    options: dict[str, Any] = {"baselines": request.compares, "progress": not request.quiet}
    options |= data.options
    if options.get("test") is None:
        options["test"] = "auto" if request.ks else None
    rows = None if data.table is None else data.table.stored_rows
    bar = nullcontext() if request.quiet else rows_bar(rows)
    try:
        with (
            stoppable(),
            bar as update,
            executed(Execution(request.workers, update)),
            renamed(test=data.test),
        ):
            answers = path(job, data.X, request.ks, k=request.k, names=data.names, **options)
    except InvalidInput as error:
        raise error.at(request.file) from None
    if data.table is not None and data.columns is not None:
        answers = in_file(answers, data.table.names, data.columns)
    note = "\n".join(filter(None, (data.note, answers.study.note)))
    title = f"{len(answers.answer.result.indices)} {answers.study.scope} {data.words}"
    deliver(answers, request, title, note, data.whole_rows, also)
    if answers.interrupted:
        return complain("interrupted; this is the best so far", INTERRUPTED)
    return INTERRUPTED if seen() else 0


def in_file(answers: JobPath, names: Sequence[str], columns: Sequence[str]) -> JobPath:
    """Return a path whose columns have their numbers in the file."""
    place = {name: i for i, name in enumerate(names)}
    places = [place[name] for name in columns]
    every = tuple(
        replace(one, kept={**one.kept, "index": [places[i] for i in one.kept["index"]]})
        for one in answers.answers
    )
    return replace(answers, answers=every, answer=every[answers.ks.index(answers.recommended)])


def deliver(
    answers: JobPath,
    request: Request,
    title: str,
    note: str,
    table: FileTable | None,
    also: Also | None,
) -> None:
    """Write files, then what goes to stdout, then what people read; a failed file is told last."""
    carried = request.json or (request.out is None and not sys.stdout.isatty())
    kept = [one.kept for one in answers.answers]

    @cache
    def tables(typed: bool) -> list[Table]:  # only as they are wanted: each reads the file
        return whole_rows(kept, table, typed=typed)

    text = as_json(summary(answers, tables(True), request, note)) if request.writes_json else ""
    to_stdout = text
    if carried and not request.json:  # before the file may be replaced
        to_stdout = as_csv(one_table(answers.ks, tables(False)))
    files: dict[Path, Callable[[], bytes]] = {}
    if request.out is not None:
        cells = tables(request.out.suffix.lower() != ".csv")
        files[request.out] = lambda: file_content(request.out, answers, cells, text)
    if request.report is not None:
        files[request.report] = lambda: page_content(answers, title, request)
    if also is not None:
        files[also[0]] = lambda: also[1](also[0], answers)
    failed: OSError | None = None
    try:
        for file, content in files.items():
            with written_whole(file, replace=request.force) as target:
                target.write(content())
    except OSError as error:
        failed = error
    with nullcontext() if failed is None else suppress(OSError):
        if carried:
            sys.stdout.write(to_stdout)
            sys.stdout.flush()
        if not request.quiet:
            tell(answers, carried, title, note, request.image_shape, [] if failed else [*files])
    if failed is not None:
        raise failed


def page_content(answers: JobPath, title: str, request: Request) -> bytes:
    """Return the page of a path."""
    from ..report.page import path_page

    page = path_page(answers, title, how(request), request.image_shape)
    return page.encode("utf-8", "backslashreplace")


def tell(answers: JobPath, carried: bool, title: str, note: str, shape: Any, files: Any) -> None:
    """Print what people read; on stderr nothing is lost if nobody does."""
    out = console(carried)
    with suppress(OSError) if carried else nullcontext():
        for line in note.splitlines():
            out.print(visible(line), markup=False)
        show(out, answers, title, 0 if shape is None else math.prod(shape))
        for file in files:
            out.print(f"wrote {shown_path(file)}", markup=False)


def check_targets(request: Request) -> None:
    """Refuse targets before any work: endings are known, folders exist, nothing is overwritten."""
    if request.out is not None:
        check_target("-o", request.out, request.force, ENDINGS)
    if request.report is not None:
        check_target("--report", request.report, request.force, (".html", ".htm"))


def check_target(option: str, path: Path, force: bool, endings: Sequence[str]) -> None:
    """Refuse a file that may not be written; a symbolic link is followed."""
    where = f"{option} {path}:"
    if path.suffix.lower() not in endings:
        expected = f"an ending of {', '.join(endings)}"
        raise InvalidInput(f"{where} expected {expected}, got {path.suffix!r}")
    try:
        target = destination(path)
    except OSError as error:
        raise InvalidInput(f"{where} {error.strerror}") from None
    if path.is_symlink() and not target.exists() and not force:
        gone = f"is a link to {target}, which is not there"
        raise InvalidInput(f"{where} {gone}; add --force to write that")
    if not target.parent.is_dir():
        folder = target.parent if path.is_symlink() else path.parent
        raise InvalidInput(f"{where} there is no folder {folder}")
    if target.exists() and not force:
        raise InvalidInput(f"{where} the file exists; add --force to overwrite it")
    try:
        check_writable(path)
    except OSError as error:
        raise InvalidInput(f"{where} cannot be written here ({error.strerror})") from None


def whole_rows(tables: list[Table], file: FileTable | None, *, typed: bool = False) -> list[Table]:
    """Return what was kept as whole rows of a file: cells as it has them, or `typed`."""
    if file is None or len(file.names) > MAX_WHOLE_COLUMNS:
        return tables
    ends = np.cumsum([0, *(len(table["index"]) for table in tables)])
    rows = file.rows(np.concatenate([table["index"] for table in tables]), typed=typed)
    cells = {file_name(name, rows.columns): rows[name].to_list() for name in rows.columns}
    return [
        {name: table[name] for name in ("weight", "index")}
        | {name: values[start:end] for name, values in cells.items()}
        for table, (start, end) in zip(tables, pairwise(ends), strict=True)
    ]


def file_name(name: str, names: Sequence[str]) -> str:
    """Return the name of a column of the file where ours are too.

    >>> file_name("weight", ["weight", "x"]), file_name("x", ["weight", "x"])
    ('weight_in_file', 'x')
    """
    if name in OURS:
        name = f"{name}_in_file"
        while name in names:
            name += "_"
    return name


def one_table(ks: Sequence[int], tables: Sequence[Table]) -> Table:
    """Return the tables of several k one after the other, with a first column that says which."""
    if len(tables) == 1:
        return tables[0]
    sizes = [len(table["index"]) for table in tables]
    joined: Table = {"k": np.repeat(ks, sizes).tolist()}
    return joined | {name: [x for table in tables for x in table[name]] for name in tables[0]}


def file_content(path: Any, answers: JobPath, tables: Sequence[Table], text: str) -> bytes:
    """Return the bytes of what was kept: csv, parquet, the summary, or the chosen k as npz."""
    kind = path.suffix.lower()
    if kind == ".json":
        return text.encode()
    if kind == ".npz":
        table = tables[answers.ks.index(answers.recommended)]
        return as_npz(answers.answer.result.distribution, table)
    return table_content(path, one_table(answers.ks, tables))


def table_content(path: Path, table: Table) -> bytes:
    """Return a table as csv or parquet, by the ending of the file."""
    if path.suffix.lower() == ".csv":
        return as_csv(table).encode()
    import polars as pl

    out = io.BytesIO()
    pl.DataFrame(table).write_parquet(out)
    return out.getvalue()


def as_csv(table: Table) -> str:
    r"""Return a table as csv.

    >>> as_csv({"name": ["a,b"], "weight": [0.5]})
    'name,weight\n"a,b",0.5\n'
    """
    return csv_text(table, zip(*table.values(), strict=True))


def as_npz(distribution: Any, table: Table) -> bytes:
    """Return a distribution's file, with the columns of what was kept beside it: `kept.NAME`."""
    with tempfile.TemporaryDirectory(prefix="fewer-") as folder:
        distribution.save(Path(folder) / "distribution.npz")
        with np.load(Path(folder) / "distribution.npz", allow_pickle=False) as file:
            arrays = dict(file)
    out = io.BytesIO()
    columns = {f"kept.{name}": as_array(values) for name, values in table.items()}
    np.savez_compressed(out, **arrays, **columns)
    return out.getvalue()


def as_array(values: list[Any]) -> Any:
    """Return a column for NumPy: missing numbers are NaN, dates NaT, texts empty.

    >>> as_array([1, None]).tolist(), as_array(["a", None]).tolist(), as_array([True]).dtype.kind
    ([1.0, nan], ['a', ''], 'b')
    """
    import polars as pl

    try:
        array = pl.Series(values).to_numpy()
    except (TypeError, OverflowError):
        array = np.array(values, object)
    if array.dtype.kind != "O":
        return array
    return np.array(["" if value is None else str(value) for value in values], np.str_)


def as_json(content: dict[str, Any]) -> str:
    """Return JSON; what is not a finite number becomes null, control characters are escaped."""
    text = json.dumps(plain(content), ensure_ascii=False, indent=2, allow_nan=False)

    def escaped(match: Any) -> str:
        return "\n" if match[0] == "\n" else f"\\u{ord(match[0]):04x}"

    return CONTROL.sub(escaped, text) + "\n"


def plain(value: Any) -> Any:
    """Return Python's own numbers, lists and dicts."""
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (date, time, timedelta, Decimal, bytes)):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def summary(
    answers: JobPath, tables: Sequence[Table], request: Request, note: str
) -> dict[str, Any]:
    """Return everything a machine may want to know."""
    return {
        "job": answers.study.job,
        "file": request.file,
        "command": command(),
        "versions": versions(),
        "seed": request.options.get("rng", 0),
        "interrupted": answers.interrupted,
        "seconds": answers.seconds,
        "metric": answers.metric,
        "k": answers.recommended,
        "why": answers.reason,
        "comparison": answers.comparison,
        "notes": note.splitlines(),
        "answers": [
            answer_summary(answer, table)
            for answer, table in zip(answers.answers, tables, strict=True)
        ],
    }


def answer_summary(answer: Answer, kept: Table) -> dict[str, Any]:
    """Return everything about one k."""
    result = answer.result
    proven = proves(result)
    on_a_line = result.kept is not None and result.kept.values is not None
    more: dict[str, Any] = {"distribution": result.distribution.to_dict()} if on_a_line else {}
    return {
        "k": answer.k,
        "value": result.value,
        "value_se": result.value_se,
        "bound": result.bound if proven else None,
        "gap": result.gap if proven else None,
        "status": result.status.name.lower(),
        "note": result.note,
        "error": answer.errors["fewer"],
        "held_out": answer.held_out.get("fewer"),
        "held_out_se": answer.held_out_se,
        "baselines": without_ours(answer.errors),
        "baselines_held_out": without_ours(answer.held_out),
        "lost": answer.lost,
        "seconds": result.seconds,
        "iterations": result.n_iter,
        "indices": sorted(kept["index"]),
        "kept": kept,
        **more,
        **answer.tables,
    }


def without_ours(errors: dict[str, float]) -> dict[str, float]:
    """Return the errors of baselines."""
    return {name: error for name, error in errors.items() if name != "fewer"}


def assigned(path: Path, answers: JobPath) -> bytes:
    """Return the most similar point of each row: its place among those kept, and its row."""
    result = answers.answer.result
    at = [None if i < 0 else i for i in result.assignment.tolist()]
    rows = [None if i is None else int(result.indices[i]) for i in at]
    return table_content(path, {"index": list(range(len(at))), "position": at, "point": rows})


def command() -> str:
    """Return the command that was given."""
    return shlex.join(["fewer", *sys.argv[1:]])


def versions() -> dict[str, str]:
    """Return what it was computed with."""
    return {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()}


def how(request: Request) -> dict[str, Any]:
    """Return how it was computed, for the page."""
    options = request.options
    facts = {"command": command(), "solver": options.get("solver", "auto")}
    facts["seed"] = options.get("rng", 0)
    if "time_limit" in options:
        facts["time limit"] = f"{options['time_limit']:g} s"
    return facts | {"versions": ", ".join(map(" ".join, versions().items()))}
