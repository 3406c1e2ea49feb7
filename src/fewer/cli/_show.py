"""What people see: a compact table of what was kept and lost. Plain where nobody looks."""

import sys
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ..report.page import is_number, number_text
from ..report.path import Path
from ..report.study import Table
from ..text import sentence, visible

MAX_SHOWN_COLUMNS = 8
MAX_SHOWN_ROWS = 20
"""Rows of a table shown in a terminal."""
MAX_NAME_CHARS = 44
"""Characters of a name shown in a terminal."""


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


def show(out: Console, path: Path, title: str, pixels: int = 0) -> None:
    """Print what was kept and lost; the last `pixels` columns are not shown."""
    answer, shares = path.answer, path.study.shares
    lost = dict(answer.lost)
    out.print(Text(visible(title), style="bold"))
    if len(path.answers) > 1:
        out.print(Text(f"metric: {path.metric} (lower is better)", style="dim"))
        out.print(path_table(path))
        out.print(Text(f"k = {answer.k}: {path.reason}."))
    elif answer.held_out:
        lost[f"held-out {path.metric}"] = answer.held_out["fewer"]
        shares = shares | ({f"held-out {path.metric}"} if path.metric in shares else set())
    out.print(kept_table(answer.kept, shares, pixels))
    rest = left_out(answer.kept, pixels)
    if rest:
        out.print(Text(rest, style="dim"))
    for name, table in answer.tables.items():
        out.print(Text(name, style="bold"))
        out.print(kept_table(table, shares, pixels))
    for name, value in lost.items():
        out.print(Text.assemble((f"{name} ", "dim"), cell(value, name in shares)))
    for words in filter(None, (str(answer.result.status), answer.result.note)):
        out.print(Text(sentence(visible(words))))
    if path.comparison:
        out.print(Text(sentence(path.comparison), style="bold"))


def kept_table(kept: Table, shares: frozenset[str], pixels: int) -> RichTable:
    """Return the first rows and columns of what was kept."""
    names = list(kept)[: most_columns(kept, pixels)]
    numeric = [all(is_number(value) for value in kept[name]) for name in names]
    table = plain_table([cut(name) for name in names], numeric)
    columns = [kept[name][:MAX_SHOWN_ROWS] for name in names]
    for row in zip(*columns, strict=True):
        cells = zip(names, row, strict=True)
        table.add_row(*(Text(cell(value, name in shares)) for name, value in cells))
    return table


def most_columns(kept: Table, pixels: int) -> int:
    """Return how many columns of what was kept are shown."""
    return min(MAX_SHOWN_COLUMNS, len(kept) - pixels)


def left_out(kept: Table, pixels: int) -> str:
    """Return how much of what was kept the table does not show."""
    rows = len(next(iter(kept.values()), [])) - MAX_SHOWN_ROWS
    columns = len(kept) - most_columns(kept, pixels)
    counts = {"rows": rows, "columns": columns}
    rest = [f"{count} more {name}" for name, count in counts.items() if count > 0]
    return f"{' and '.join(rest)}; -o FILE writes all" if rest else ""


def path_table(path: Path) -> RichTable:
    """Return one line for each k: its error, held out, the baselines', and the gap where known."""
    columns, share = path.columns(), path.metric in path.study.shares
    heads = [name.replace("standard error", "s.e.") for name in columns]
    table = plain_table([*heads, ""], [True] * len(heads) + [False])
    for k, *row in zip(*columns.values(), strict=True):
        shown = [cell(x, share and head != "gap") for head, x in zip(heads[1:], row, strict=True)]
        table.add_row(str(k), *shown, "<" if k == path.recommended else "")
    return table


def plain_table(heads: Sequence[str], numeric: Sequence[bool]) -> RichTable:
    """Return an empty table with these heads."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for head, right in zip(heads, numeric, strict=True):
        table.add_column(Text(head), justify="right" if right else "left", overflow="fold")
    return table
