"""`fewer look`."""

import math
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from .._validation import InvalidInput

if TYPE_CHECKING:
    from ..io.files import FileTable
    from ..tables.column import Column

MAX_COLUMNS = 12
"""Columns that are shown one by one, so that all is on one screen."""


@dataclass(frozen=True)
class Look:
    """One column: `kind` is number, boolean, category, date, identifier, free text, or mixed (then `problem` says)."""

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
@click.option("--json", "as_json", is_flag=True, help="JSON output: every column.")
def look(files: tuple[str, ...], as_json: bool) -> int:
    """Show the columns of FILE, and which of them each job would use.

    For every column: its kind, how many values are missing, how many are distinct, and their range
    or an example. FILE is csv, tsv, parquet, feather, xlsx, jsonl, sqlite (base.sqlite::TABLE), npy
    or npz, one or several, compressed or not, or - for stdin.
    """
    from ..io.files import open_table
    from ._write import as_json as in_json

    table = open_table(files)
    rows, looks, pair = looked(table)
    jobs = uses(looks, table.plain, pair)
    if as_json:
        summary = {"file": table.label, "rows": rows, "columns": [asdict(found) for found in looks]}
        sys.stdout.write(in_json({**summary, "jobs": jobs, "notes": table.notes}))
        return 0
    show(table, rows, looks, jobs)
    return 0


def looked(table: "FileTable") -> tuple[int, list[Look], tuple[str, str] | None]:
    """The number of rows, every column, and those of orders and items where dims would read lines of orders."""
    from ..tables.baskets import long_columns
    from ..tables.column import columns_of
    from ..tables.schema import left_out

    problems: dict[str, str] = {}

    def refused(error: InvalidInput) -> None:
        problems.update(
            {name: str(error) for name in table.names if f"column {name!r}:" in str(error)}
        )

    frame = table.frame(refuse=refused)
    found, columns = [], columns_of(frame)
    for series, column in zip(frame.get_columns(), columns, strict=True):
        problem = problems.get(series.name, "")
        why = "" if problem or column.kind == "other" else left_out(column)
        kind = "mixed" if problem else {"identifiers": "identifier"}.get(why, why) or column.kind
        coded = kind == column.kind and is_coded(column)
        found.append(Look(series.name, kind, *facts(series), problem, coded))
    pair = None
    with suppress(InvalidInput):  # which of two columns is that of the orders nobody can tell
        pair = None if table.plain or problems else long_columns(columns)
    return frame.height, found, None if pair is None else pair[:2]


def facts(series: Any) -> tuple[int, int, str]:
    """Missing and distinct values of a column, and its range or its commonest values."""
    present = series.drop_nulls()
    if series.dtype.is_nested() or len(present) == 0:
        return series.null_count(), 0, "nothing" if len(present) == 0 else str(series.dtype)
    distinct = present.n_unique()
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        low, high = present.min(), present.max()
        shown = f"{spelt(low)}" if distinct == 1 else f"{spelt(low)} to {spelt(high)}"
    else:
        few = (
            present.value_counts(sort=True).head(3)[series.name].to_list()
            if distinct < len(present)
            else present[:2]
        )
        shown = ", ".join(str(value) for value in few) + (", …" if distinct > len(few) else "")
    return series.null_count(), distinct, shown


def spelt(value: Any) -> str:
    """A bound of a range."""
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    return str(value)


def uses(
    looks: Sequence[Look], plain: bool, pair: tuple[str, str] | None
) -> dict[str, dict[str, Any]]:
    """Which columns each job would use, and which it would leave out."""
    refused = [found.name for found in looks if found.kind == "mixed"]
    kinds = {
        kind: [found.name for found in looks if found.kind == kind]
        for kind in {one.kind for one in looks}
    }
    numbers = [found.name for found in looks if found.kind in ("number", "boolean") and found.name]
    compared = [
        found.name
        for found in looks
        if found.kind in ("number", "boolean", "category", "date") and found.name
    ]
    labels = [found.name for found in looks if found.name and found.coded]
    fractions = [
        found.name for found in looks if found.name and found.kind == "number" and not found.coded
    ]
    every = [found.name for found in looks if found.name not in refused]

    def job(used: list[str], how: str, more: Sequence[str] = ()) -> dict[str, Any]:
        named = {*used, *more}
        rest = [name for name in every if name not in named]
        return {"uses": used, "leaves": rest, "refuses": [*refused, *more], "how": how}

    return {
        "points": job(compared, "compared as they are" if plain else "compared, numbers scaled"),
        "bins": job(kinds.get("number", []), "to choose from by --column"),
        "terms": job(numbers, "to choose from, the target by --target"),
        "dims": job(labels, "of labels or whole numbers", fractions)
        if pair is None
        else job(list(pair), f"as a line for each item: orders by {pair[0]}, items by {pair[1]}"),
    }


def is_coded(column: "Column") -> bool:
    """Whether dims takes a column unasked: labels, truth values, or whole numbers from 0 on."""
    from ..jobs.dims.summary import are_codes

    if column.kind != "number":
        return column.kind in ("category", "boolean")
    values = column.values
    return len(values) > 0 and bool((are_codes(values) | (values != values)).all())


def show(
    table: "FileTable", rows: int, looks: Sequence[Look], jobs: dict[str, dict[str, Any]]
) -> None:
    """One screen."""
    from rich.console import Console

    from ..text import visible
    from ._show import plain_table

    width = shutil.get_terminal_size().columns
    out = Console(highlight=False, width=width)
    out.print(f"{visible(table.label)}: {rows} rows, {len(looks)} columns", markup=False)
    shown = chosen(looks)
    board = plain_table(
        ["column", "kind", "missing", "distinct", "values"], [False, False, True, True, False]
    )
    for found in shown:
        name, values = (
            shorten(visible(found.name), width // 4),
            shorten(visible(found.values), width // 3),
        )
        board.add_row(
            name,
            found.kind,
            str(found.missing) if found.missing else "",
            str(found.distinct),
            values,
        )
    out.print(board)
    if len(shown) < len(looks):
        kinds = {
            kind: sum(found.kind == kind for found in looks)
            for kind in dict.fromkeys(one.kind for one in looks)
        }
        out.print(
            f"… {len(looks) - len(shown)} more; all: "
            + ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        )
    for name, job in jobs.items():
        out.print(shorten(f"{name:6}  {summary(job)}", width), markup=False)
    for note in [found.problem for found in looks if found.problem][:2] + table.notes[:2]:
        out.print(shorten(visible(note), 2 * width), markup=False)


def chosen(looks: Sequence[Look]) -> Sequence[Look]:
    """The columns that are shown: all, or of many the first, and those that are mixed before them."""
    if len(looks) <= MAX_COLUMNS:
        return looks
    return sorted(looks, key=lambda found: found.kind != "mixed")[:MAX_COLUMNS]


def summary(job: dict[str, Any]) -> str:
    """What a job would use, in a line."""
    used, left, refused = job["uses"], job["leaves"], job["refuses"]
    text = (
        f"{len(used)} column{'s' * (len(used) != 1)} {job['how']}" if used else "no column to use"
    )
    text += f"; refuses {named(refused)}" if refused else ""
    return text + (f"; leaves {named(left)}" if left else "")


def named(names: Sequence[str]) -> str:
    """A few names.

    >>> named(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    from ..text import visible

    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(visible(name) or "''" for name in names[:3]) + more


def shorten(text: str, width: int) -> str:
    """A text of at most so many characters.

    >>> shorten("abcdef", 4), shorten("abc", 4)
    ('abc…', 'abc')
    """
    return text if len(text) <= width else f"{text[: max(width - 1, 1)]}…"
