"""`fewer look`."""

import math
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import click

from .._validation import InvalidInput
from ..io.files import FileTable, open_table
from ..jobs.dims.summary import are_codes
from ..tables.baskets import long_columns
from ..tables.column import Column, columns_of
from ..tables.schema import left_out
from ..text import visible
from ._run import as_json
from ._show import console, cut, plain_table

MAX_COLUMNS = 12
"""Columns that are shown one by one, so that all is on one screen."""
MAX_NAMES = 3
"""Names of columns in a line."""


@dataclass(frozen=True)
class Look:
    """One column: a number, boolean, category, date, identifier, free text, or mixed (see `problem`)."""

    name: str
    kind: str
    missing: int
    distinct: int
    values: str
    problem: str = ""
    coded: bool = False
    """Whether dims takes it."""


@click.command(epilog="Example: fewer look customers.csv")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--json", is_flag=True, help="JSON output: every column.")
def look(files: tuple[str, ...], json: bool) -> int:
    """Show the columns of FILE, and which of them each job would use.

    For every column: its kind, how many values are missing, how many are distinct, and their range
    or an example. FILE is csv, tsv, parquet, feather, xlsx, jsonl, sqlite (base.sqlite::TABLE), npy
    or npz, one or several, compressed or not, or - for stdin.
    """
    table = open_table(files)
    problems: dict[str, str] = {}

    def note(error: InvalidInput) -> None:
        text = str(error)
        problems.update({name: text for name in table.names if f"column {name!r}:" in text})

    frame = table.frame(refuse=note)
    columns = columns_of(frame)
    looks = [
        look_at(series, column, problems.get(series.name, ""))
        for series, column in zip(frame.get_columns(), columns, strict=True)
    ]
    pair = None
    with suppress(InvalidInput):  # which of two columns is that of the orders nobody can tell
        pair = None if table.plain or problems else long_columns(columns)
    jobs = uses(looks, table.plain, pair)
    if json:
        rows = {
            "file": table.label,
            "rows": frame.height,
            "columns": [asdict(one) for one in looks],
        }
        sys.stdout.write(as_json({**rows, "jobs": jobs, "notes": table.notes}))
    else:
        show(table, frame.height, looks, jobs)
    return 0


def look_at(series: Any, column: Column, problem: str) -> Look:
    """Return what a column holds."""
    why = "" if problem or column.kind == "other" else left_out(column)
    kind = "mixed" if problem else why.replace("identifiers", "identifier") or column.kind
    coded = kind == column.kind and is_coded(column)
    present = series.drop_nulls()
    distinct, values = 0, "nothing"
    if series.dtype.is_nested():
        values = str(series.dtype)
    elif len(present):
        distinct = present.n_unique()
        values = (
            value_range(present) if kind in ("number", "date") else commonest(present, distinct)
        )
    return Look(series.name, kind, series.null_count(), distinct, values, problem, coded)


def value_range(present: Any) -> str:
    """Return the least and the largest value."""
    ends = dict.fromkeys([present.min(), present.max()])
    return " to ".join(bound_text(end) for end in ends)


def bound_text(value: Any) -> str:
    """Return a bound of a range."""
    return f"{value:.6g}" if isinstance(value, float) and math.isfinite(value) else str(value)


def commonest(present: Any, distinct: int) -> str:
    """Return the commonest values, or the first where all differ."""
    few = present[:2].to_list()
    if distinct < len(present):
        few = present.value_counts(sort=True).head(3)[present.name].to_list()
    return ", ".join(map(str, few)) + (", …" if distinct > len(few) else "")


def uses(looks: Sequence[Look], plain: bool, pair: Any) -> dict[str, dict[str, Any]]:
    """Return which columns each job would use, and which it would leave out."""
    refused = [one.name for one in looks if one.kind == "mixed"]
    every = [one.name for one in looks if one.name not in refused]

    def of_kinds(*kinds: str) -> list[str]:
        return [one.name for one in looks if one.kind in kinds and one.name]

    def job(used: list[str], how: str, more: Sequence[str] = ()) -> dict[str, Any]:
        leaves = [name for name in every if name not in {*used, *more}]
        return {"uses": used, "leaves": leaves, "refuses": [*refused, *more], "how": how}

    compared = of_kinds("number", "boolean", "category", "date")
    coded = [one.name for one in looks if one.name and one.coded]
    fractions = [name for name in of_kinds("number") if name not in coded]
    dims = job(coded, "of labels or whole numbers", fractions)
    if pair is not None:
        order, item, _ = pair
        dims = job([order, item], f"as a line for each item: orders by {order}, items by {item}")
    return {
        "points": job(compared, "compared as they are" if plain else "compared, numbers scaled"),
        "bins": job(
            [one.name for one in looks if one.kind == "number"], "to choose from by --column"
        ),
        "terms": job(of_kinds("number", "boolean"), "to choose from, the target by --target"),
        "dims": dims,
    }


def is_coded(column: Column) -> bool:
    """Return whether dims takes a column unasked: labels, truth values, or whole numbers from 0 on."""
    if column.kind != "number":
        return column.kind in ("category", "boolean")
    values = column.values
    return len(values) > 0 and bool((are_codes(values) | (values != values)).all())


def show(
    table: FileTable, rows: int, looks: Sequence[Look], jobs: dict[str, dict[str, Any]]
) -> None:
    """Print one screen."""
    width = shutil.get_terminal_size().columns
    out = console()
    out.width = width
    out.print(f"{visible(table.label)}: {rows} rows, {len(looks)} columns", markup=False)
    heads = ["column", "kind", "missing", "distinct", "values"]
    board = plain_table(heads, [False, False, True, True, False])
    shown = (
        sorted(looks, key=lambda one: one.kind != "mixed") if len(looks) > MAX_COLUMNS else looks
    )
    for one in shown[:MAX_COLUMNS]:
        name, values = cut(one.name, width // 4), cut(one.values, width // 3)
        board.add_row(name, one.kind, str(one.missing or ""), str(one.distinct), values)
    out.print(board)
    if len(looks) > MAX_COLUMNS:
        kinds = Counter(one.kind for one in looks)
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        out.print(f"… {len(looks) - MAX_COLUMNS} more; all: {counts}")
    for name, job in jobs.items():
        out.print(cut(f"{name:6}  {job_line(job)}", width), markup=False)
    problems = [one.problem for one in looks if one.problem]
    for note in problems[:2] + table.notes[:2]:
        out.print(cut(note, 2 * width), markup=False)


def job_line(job: dict[str, Any]) -> str:
    """Return what a job would use, in a line."""
    used = job["uses"]
    columns = f"{len(used)} column{'s' * (len(used) != 1)}"
    line = f"{columns} {job['how']}" if used else "no column to use"
    for verb in ("refuses", "leaves"):
        line += f"; {verb} {few_names(job[verb])}" if job[verb] else ""
    return line


def few_names(names: Sequence[str]) -> str:
    """Return a few names.

    >>> few_names(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(visible(name) or "''" for name in names[:MAX_NAMES]) + more
