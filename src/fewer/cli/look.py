"""`fewer look`."""

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
from ._run import as_json, console, cut, rich_table

MAX_COLUMNS, MAX_NAMES, MAX_VALUES = 12, 3, 3
"""Columns that are shown, names in a line, and examples of values, so that all is on one screen."""


@dataclass(frozen=True)
class Look:
    """One column: a number, boolean, category, date, identifier, free text, or mixed (see `problem`).

    `coded` says whether dims takes it unasked.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    values: str
    problem: str = ""
    coded: bool = False


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
    pairs = zip(frame.get_columns(), columns, strict=True)
    looks = [look_at(series, column, problems.get(series.name, "")) for series, column in pairs]
    pair = None
    with suppress(InvalidInput):  # which of two columns is that of the orders nobody can tell
        pair = None if table.plain or problems else long_columns(columns)
    jobs = uses(looks, table.plain, pair)
    if json:
        about = {"file": table.label, "rows": frame.height, "columns": list(map(asdict, looks))}
        sys.stdout.write(as_json({**about, "jobs": jobs, "notes": table.notes}))
    else:
        show(table, frame.height, looks, jobs)
    return 0


def look_at(series: Any, column: Column, problem: str) -> Look:
    """Return what a column holds."""
    kind, coded, values = column.kind, False, "nothing"
    if problem:
        kind = "mixed"
    elif kind != "other":
        kind = left_out(column).replace("identifiers", "identifier") or kind
    if kind == "number":
        numbers = column.values
        coded = len(numbers) > 0 and bool((are_codes(numbers) | (numbers != numbers)).all())
    elif kind in ("category", "boolean"):
        coded = True
    present = series.drop_nulls()
    nested = series.dtype.is_nested()
    distinct = 0 if nested else present.n_unique()
    if nested:
        values = str(series.dtype)
    elif distinct and kind in ("number", "date"):
        ends = dict.fromkeys([present.min(), present.max()])
        values = " to ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in ends)
    elif distinct:
        few = present.unique(maintain_order=True).head(MAX_VALUES)
        values = ", ".join(map(str, few)) + (", …" if distinct > MAX_VALUES else "")
    return Look(series.name, kind, series.null_count(), distinct, values, problem, coded)


def uses(looks: Sequence[Look], plain: bool, pair: Any) -> dict[str, dict[str, Any]]:
    """Return which columns each job would use, and which it would leave out or refuse."""
    mixed = [one.name for one in looks if one.kind == "mixed"]

    def job(used: list[str], how: str, refused: Sequence[str] = ()) -> dict[str, Any]:
        others = {*used, *mixed, *refused}
        leaves = [one.name for one in looks if one.name not in others]
        return {"uses": used, "leaves": leaves, "refuses": [*mixed, *refused], "how": how}

    def of_kinds(*kinds: str) -> list[str]:
        return [one.name for one in looks if one.kind in kinds and one.name]

    numbers = of_kinds("number")
    coded = [one.name for one in looks if one.coded and one.name]
    fractions = [name for name in numbers if name not in coded]
    dims = job(coded, "of labels or whole numbers", fractions)
    if pair is not None:
        order, item, _ = pair
        dims = job([order, item], f"as a line for each item: orders by {order}, items by {item}")
    compared = "compared as they are" if plain else "compared, numbers scaled"
    return {
        "points": job(of_kinds("number", "boolean", "category", "date"), compared),
        "bins": job(numbers, "to choose from by --column"),
        "terms": job(of_kinds("number", "boolean"), "to choose from, the target by --target"),
        "dims": dims,
    }


def show(
    table: FileTable, rows: int, looks: Sequence[Look], jobs: dict[str, dict[str, Any]]
) -> None:
    """Print one screen."""
    out, width = console(), shutil.get_terminal_size().columns
    out.width = width
    out.print(f"{visible(table.label)}: {rows} rows, {len(looks)} columns", markup=False)
    shown = looks
    if len(looks) > MAX_COLUMNS:
        shown = sorted(looks, key=lambda one: one.kind != "mixed")[:MAX_COLUMNS]
    board: dict[str, list[Any]] = {
        "column": [cut(one.name, width // 4) for one in shown],
        "kind": [one.kind for one in shown],
        "missing": [one.missing for one in shown],
        "distinct": [one.distinct for one in shown],
        "values": [cut(one.values, width // 3) for one in shown],
    }
    out.print(rich_table(board, ()))
    if len(looks) > MAX_COLUMNS:
        kinds = Counter(one.kind for one in looks)
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        out.print(f"… {len(looks) - MAX_COLUMNS} more; all: {counts}")
    for name, job in jobs.items():
        used = len(job["uses"])
        line = f"{used} column{'s' * (used != 1)} {job['how']}" if used else "no column to use"
        for verb in ("refuses", "leaves"):
            names = [visible(each) or "''" for each in job[verb]]
            more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
            line += f"; {verb} {', '.join(names[:MAX_NAMES])}{more}" if names else ""
        out.print(cut(f"{name:6}  {line}", width), markup=False)
    problems = [one.problem for one in looks if one.problem]
    for note in problems[:2] + table.notes[:2]:
        out.print(cut(note, 2 * width), markup=False)
