"""From a request and its data to tables, files, a page and an exit code."""

import io
import json
import math
import platform
import shlex
import sys
from collections.abc import Collection, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from .._validation import InvalidInput, renamed
from ..files import check_writable, destination, written_whole
from ..io.files import FileTable
from ..progress import rows_bar
from ..report.page import is_number, number_text
from ..report.path import Answer, path
from ..report.path import Path as JobPath
from ..report.study import Table
from ..result import free_name, proves
from ..tables.source import Execution, executed
from ..text import csv_text, sentence, shown_path, visible
from . import INTERRUPTED, seen, stoppable
from ._app import complain
from ._options import Request

MAX_WHOLE_COLUMNS = 20_000
"""Columns up to which whole rows are written; beyond, those that were used."""
MAX_SHOWN_COLUMNS, MAX_SHOWN_ROWS, MAX_NAME_CHARS = 8, 20, 44
"""Columns and rows of a table, and characters of a name, that a terminal shows."""
ENDINGS = (".csv", ".parquet", ".json", ".npz")
LIBRARIES = ("fewer", "numpy", "scipy", "numba", "scikit-learn")


@dataclass(frozen=True, eq=False)
class Data:
    """The data and options that a job is called with, and how these are spoken of.

    `columns` are those of the file that X has, `names` what to call the columns of an array,
    `whole_rows` the file whose rows are written whole, `test` the option that says what is held
    out, and `assign` the file for the most similar point of each row.
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
    assign: Path | None = None


def perform(job: str, data: Data, request: Request) -> int:
    """Solve the job, then write and print under a title; return the exit code."""
    options = {"baselines": request.compares, "progress": not request.quiet, **data.options}
    if options.get("test") is None:
        options["test"] = "auto" if request.ks else None
    rows = None if data.table is None else data.table.stored_rows
    bar = nullcontext() if request.quiet else rows_bar(rows)
    try:
        with (
            stoppable(),
            bar as update,
            renamed(test=data.test),
            executed(Execution(request.workers, update)),
        ):
            answers = path(job, data.X, request.ks, k=request.k, names=data.names, **options)
    except InvalidInput as error:
        raise error.at(request.file) from None
    if data.table is not None and data.columns is not None:
        places = {name: i for i, name in enumerate(data.table.names)}
        for answer in answers.answers:
            index = [places[data.columns[i]] for i in answer.kept["index"]]
            answer.kept["index"] = index
    deliver(answers, request, data)
    if answers.interrupted:
        return complain("interrupted; this is the best so far", INTERRUPTED)
    return INTERRUPTED if seen() else 0


def deliver(answers: JobPath, request: Request, data: Data) -> None:
    """Write files, then what goes to stdout, then what people read; a failed file is told last."""
    kept = [answer.kept for answer in answers.answers]
    note = "\n".join(filter(None, (data.note, answers.study.note)))
    title = f"{len(answers.answer.result.indices)} {answers.study.scope} {data.words}"

    @cache
    def tables(typed: bool) -> list[Table]:  # each reads the file
        return whole_rows(kept, data.whole_rows, typed)

    text, printed, contents = "", None, {}
    if request.writes_json:
        text = as_json(summary(answers, tables(True), request, note))
    if request.json:
        printed = text
    elif request.out is None and not sys.stdout.isatty():
        printed = as_csv(one_table(answers.ks, tables(False)))
    if request.out is not None:
        cells = tables(request.out.suffix.lower() != ".csv")
        contents[request.out] = file_content(request.out, answers, cells, text)
    if request.report is not None:
        from ..report.page import path_page

        page = path_page(answers, title, how(request), request.image_shape)
        contents[request.report] = page.encode("utf-8", "backslashreplace")
    if data.assign is not None:
        contents[data.assign] = table_content(data.assign, assignment(answers.answer))
    failed: OSError | None = None
    try:
        for file, content in contents.items():
            with written_whole(file, replace=request.force) as target:
                target.write(content)
    except OSError as error:
        failed = error
    with nullcontext() if failed is None else suppress(OSError):
        if printed is not None:
            sys.stdout.write(printed)
            sys.stdout.flush()
        if not request.quiet:
            out = console(printed is not None)
            with nullcontext() if printed is None else suppress(OSError):
                for line in note.splitlines():
                    out.print(visible(line), markup=False)
                show(out, answers, title, math.prod(request.image_shape or (0,)))
                for file in contents if failed is None else ():
                    out.print(f"wrote {shown_path(file)}", markup=False)
    if failed is not None:
        raise failed


def check_target(option: str, path: Path | None, force: bool, endings: Sequence[str]) -> None:
    """Refuse a file before any work: endings are known, folders exist, nothing is overwritten."""
    if path is None:
        return
    where = f"{option} {path}:"
    if path.suffix.lower() not in endings:
        expected = f"an ending of {', '.join(endings)}"
        raise InvalidInput(f"{where} expected {expected}, got {path.suffix!r}")
    try:
        target = destination(path)
    except OSError as error:
        raise InvalidInput(f"{where} {error.strerror}") from None
    if not target.parent.is_dir():
        raise InvalidInput(
            f"{where} there is no folder {target.parent if path.is_symlink() else path.parent}"
        )
    if path.is_symlink() and not target.exists() and not force:
        gone = f"is a link to {target}, which is not there"
        raise InvalidInput(f"{where} {gone}; add --force to write that")
    if target.exists() and not force:
        raise InvalidInput(f"{where} the file exists; add --force to overwrite it")
    try:
        check_writable(path)
    except OSError as error:
        raise InvalidInput(f"{where} cannot be written here ({error.strerror})") from None


def check_targets(request: Request) -> None:
    """Refuse files that may not be written."""
    check_target("-o", request.out, request.force, ENDINGS)
    check_target("--report", request.report, request.force, (".html", ".htm"))


def whole_rows(tables: list[Table], file: FileTable | None, typed: bool) -> list[Table]:
    """Return what was kept as whole rows of a file: cells as it has them, or `typed`."""
    if file is None or len(file.names) > MAX_WHOLE_COLUMNS:
        return tables
    rows = file.rows(np.concatenate([table["index"] for table in tables]), typed=typed)
    ours = "k", "weight", "index"
    names = [free_name(name, rows.columns, "_in_file", ours) for name in rows.columns]
    cells = dict(zip(names, rows.get_columns(), strict=True))
    ends = np.cumsum([0, *(len(table["index"]) for table in tables)])
    return [
        {name: table[name] for name in ("weight", "index")}
        | {name: column[start:end].to_list() for name, column in cells.items()}
        for table, (start, end) in zip(tables, pairwise(ends.tolist()), strict=True)
    ]


def one_table(ks: Sequence[int], tables: Sequence[Table]) -> Table:
    """Return the tables of several k one after the other, with a first column that says which."""
    if len(tables) == 1:
        return tables[0]
    joined: Table = {"k": np.repeat(ks, [len(table["index"]) for table in tables]).tolist()}
    return joined | {name: [x for table in tables for x in table[name]] for name in tables[0]}


def file_content(path: Path, answers: JobPath, tables: Sequence[Table], text: str) -> bytes:
    """Return the bytes of what was kept: csv, parquet, the summary, or the chosen k as npz."""
    kind = path.suffix.lower()
    if kind == ".json":
        return text.encode()
    if kind == ".npz":
        table, out = tables[answers.ks.index(answers.recommended)], io.BytesIO()
        columns = {f"kept.{name}": as_array(values) for name, values in table.items()}
        np.savez_compressed(out, **answers.answer.result.distribution.arrays, **columns)
        return out.getvalue()
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


def as_array(values: list[Any]) -> Any:
    """Return a column for NumPy: missing numbers are NaN, dates NaT, texts empty.

    >>> as_array([1, None]).tolist(), as_array(["a", None]).tolist(), as_array([True]).dtype.kind
    ([1.0, nan], ['a', ''], 'b')
    """
    import polars as pl

    array = pl.Series(values, strict=False).to_numpy()
    if array.dtype.kind != "O":
        return array
    return np.array(["" if value is None else str(value) for value in values], np.str_)


def as_json(content: Any) -> str:
    """Return JSON; what is not a finite number becomes null."""
    return json.dumps(plain(content), indent=2, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Return Python's own numbers, lists and dicts, and texts of everything else."""
    if isinstance(value, dict):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (int, str)) else str(value)


def summary(
    answers: JobPath, tables: Sequence[Table], request: Request, note: str
) -> dict[str, Any]:
    """Return everything a machine may want to know."""
    pairs = zip(answers.answers, tables, strict=True)
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
        "answers": [answer_summary(answer, table) for answer, table in pairs],
    }


def answer_summary(answer: Answer, kept: Table) -> dict[str, Any]:
    """Return everything about one k."""
    result, errors, held_out = answer.result, dict(answer.errors), dict(answer.held_out)
    proven = proves(result)
    content = {
        "k": answer.k,
        "value": result.value,
        "value_se": result.value_se,
        "bound": result.bound if proven else None,
        "gap": result.gap if proven else None,
        "status": result.status.name.lower(),
        "note": result.note,
        "error": errors.pop("fewer"),
        "held_out": held_out.pop("fewer", None),
        "held_out_se": answer.held_out_se,
        "baselines": errors,
        "baselines_held_out": held_out,
        "lost": answer.lost,
        "seconds": result.seconds,
        "iterations": result.n_iter,
        "indices": sorted(kept["index"]),
        "kept": kept,
    }
    if result.kept is not None and result.kept.values is not None:
        content["distribution"] = result.distribution.to_dict()
    return {**content, **answer.tables}


def assignment(answer: Answer) -> Table:
    """Return the most similar point of each row: its place among those kept, and its row."""
    at = [None if i < 0 else i for i in answer.result.assignment.tolist()]
    rows = [None if i is None else int(answer.result.indices[i]) for i in at]
    return {"index": list(range(len(at))), "position": at, "point": rows}


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


def cut(text: Any, most: int = MAX_NAME_CHARS) -> str:
    r"""Return a text of the user's file, cut, that cannot move the cursor or colour the screen.

    >>> cut("a\x1b[31m"), cut("abcdef", 4)
    ('a\\x1b[31m', 'abc…')
    """
    shown = visible(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def cell(value: Any, share: bool) -> str:
    """Return a number, a text, a date or a time for people."""
    if value is None:
        return "–"
    return number_text(value, share) if is_number(value) else cut(value)


class Screen(Console):
    """A console that leaves it to the command what a broken pipe means."""

    def on_broken_pipe(self) -> None:
        """Pass it on."""
        raise BrokenPipeError


def console(carried: bool = False) -> Console:
    """Return where tables go: stdout, or stderr when stdout carries the result itself."""
    if carried:
        return Screen(stderr=True, highlight=False, emoji=False)
    plain = not sys.stdout.isatty()
    return Screen(no_color=plain, highlight=False, width=100 if plain else None, emoji=False)


def show(out: Console, path: JobPath, title: str, pixels: int = 0) -> None:
    """Print what was kept and lost; the last `pixels` columns are not shown."""
    answer, shares = path.answer, path.shares
    out.print(Text(visible(title), style="bold"))
    if len(path.answers) > 1:
        columns = {
            name.replace("standard error", "s.e."): values
            for name, values in path.columns().items()
        }
        columns[""] = ["<" if k == path.recommended else "" for k in path.ks]
        percent = set(columns) - {"k", "gap"} if path.metric in shares else ()
        out.print(Text(f"metric: {path.metric} (lower is better)", style="dim"))
        out.print(rich_table(columns, percent))
        out.print(Text(f"k = {answer.k}: {path.reason}."))
    for name, table in {"": answer.kept, **answer.tables}.items():
        if name:
            out.print(Text(name, style="bold"))
        names = list(table)[: min(MAX_SHOWN_COLUMNS, len(table) - pixels)]
        rows = len(table["index"])
        columns = {name: table[name][:MAX_SHOWN_ROWS] for name in names}
        out.print(rich_table(columns, shares))
        rest = {"rows": rows - MAX_SHOWN_ROWS, "columns": len(table) - len(names)}
        words = " and ".join(f"{count} more {name}" for name, count in rest.items() if count > 0)
        if words:
            out.print(Text(f"{words}; -o FILE writes all", style="dim"))
    for name, value in path.lost(answer).items():
        out.print(Text.assemble((f"{name} ", "dim"), cell(value, name in shares)))
    for words in (str(answer.result.status), answer.result.note):
        if words:
            out.print(Text(sentence(visible(words))))
    if path.comparison:
        out.print(Text(sentence(path.comparison), style="bold"))


def rich_table(columns: Table, shares: Collection[str]) -> RichTable:
    """Return columns for people: numbers to the right, shares of one in percent."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for name, values in columns.items():
        numeric = all(value is None or is_number(value) for value in values)
        justify: Any = "right" if numeric else "left"
        table.add_column(Text(cut(name)), justify=justify, overflow="fold")
    cells = [[Text(cell(x, name in shares)) for x in values] for name, values in columns.items()]
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    return table
