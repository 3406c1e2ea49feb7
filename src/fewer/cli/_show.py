"""What people see: a compact table of what was kept and lost. Plain where nobody looks."""

import sys
from collections.abc import Sequence
from numbers import Real
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..report.path import Path
from ..report.study import Table as Columns
from ..text import sentence, short, visible

MAX_SHOWN_COLUMNS = 8
MAX_SHOWN_ROWS = 20
"""Rows of a table shown in a terminal."""
MAX_NAME_CHARS = 44
"""Characters of a name shown in a terminal."""


def clean(text: Any) -> str:
    r"""A text of the user's file that cannot move the cursor or colour the screen.

    >>> clean("a\x1b[31m"), len(clean("x" * 100))
    ('a\\x1b[31m', 44)
    """
    shown = visible(text)
    return shown if len(shown) <= MAX_NAME_CHARS else shown[: MAX_NAME_CHARS - 1] + "…"


def number(value: Any, share: bool) -> str:
    """A number for people."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, Real):  # a text, a date, a time
        return clean(value)
    return f"{100 * value:.2f} %" if share else short(float(value))


class Screen(Console):
    """A console that leaves it to the command what a broken pipe means."""

    def on_broken_pipe(self) -> None:
        """Pass it on."""
        raise BrokenPipeError


def console(carried: bool = False) -> Console:
    """Where the tables go: stdout, or stderr when stdout carries the result itself."""
    if carried:
        return Screen(stderr=True, highlight=False, emoji=False)
    plain = not sys.stdout.isatty()
    return Screen(no_color=plain, highlight=False, width=None if not plain else 100, emoji=False)


def show(out: Console, found: Path, title: str, pixels: int = 0) -> None:
    """What was kept and lost, and what the best baseline needs; the last `pixels` columns are not shown."""
    answer = found.answer
    out.print(Text(visible(title), style="bold"))
    if len(found.answers) > 1:
        out.print(Text(f"metric: {found.study.metric} (lower is better)", style="dim"))
        out.print(path_table(found))
        out.print(Text(f"k = {answer.k}: {found.reason}."))
    out.print(kept_table(answer.kept, found.study.shares, pixels))
    rest = left_out(answer.kept, pixels)
    if rest:
        out.print(Text(rest, style="dim"))
    for name, table in answer.tables.items():
        out.print(Text(name, style="bold"))
        out.print(kept_table(table, found.study.shares, pixels))
    for name, value in answer.lost.items():
        out.print(Text.assemble((f"{name} ", "dim"), number(value, name in found.study.shares)))
    if answer.held_out is not None and len(found.answers) == 1:
        out.print(
            Text.assemble(
                (f"held-out {found.study.metric} ", "dim"),
                number(answer.held_out, found.study.metric in found.study.shares),
            )
        )
    for words in filter(None, (str(answer.result.status), answer.result.note)):
        out.print(Text(sentence(visible(words))))
    if found.comparison:
        out.print(Text(sentence(found.comparison), style="bold"))


def kept_table(kept: Columns, shares: frozenset[str], pixels: int) -> Table:
    """The first rows of what was kept."""
    rows = len(next(iter(kept.values()), []))
    shown = dict(list(kept.items())[: most_columns(kept, pixels)])
    table = plain_table(
        [clean(name) for name in shown], [is_numeric(values) for values in shown.values()]
    )
    for i in range(min(rows, MAX_SHOWN_ROWS)):
        table.add_row(*(Text(number(values[i], name in shares)) for name, values in shown.items()))
    return table


def most_columns(kept: Columns, pixels: int) -> int:
    """How many columns of what was kept are shown."""
    return min(MAX_SHOWN_COLUMNS, len(kept) - pixels)


def left_out(kept: Columns, pixels: int) -> str:
    """How much of what was kept the table does not show."""
    rows = len(next(iter(kept.values()), [])) - MAX_SHOWN_ROWS
    columns = len(kept) - most_columns(kept, pixels)
    left = [
        f"{count} more {what}"
        for count, what in ((rows, "rows"), (columns, "columns"))
        if count > 0
    ]
    return f"{' and '.join(left)}; -o FILE writes all" if left else ""


def path_table(found: Path) -> Table:
    """One line for each k: its error, held out, the baselines', and the gap where one is known."""
    answers, share = found.answers, found.study.metric in found.study.shares
    columns: dict[str, list[Any]] = {"error": [a.error for a in answers]}
    if any(a.held_out is not None for a in answers):
        columns["held out"] = [a.held_out for a in answers]
    if any(a.held_out_se is not None for a in answers):
        columns["± s.e."] = [a.held_out_se for a in answers]
    columns |= {name: [a.baselines.get(name) for a in answers] for name in answers[0].baselines}
    texts = {name: [number(value, share) for value in values] for name, values in columns.items()}
    if any("gap" in a.lost for a in answers):
        texts["gap"] = [number(a.lost.get("gap"), False) for a in answers]
    table = plain_table(["k", *texts, ""], [True] * (len(texts) + 1) + [False])
    for i, a in enumerate(answers):
        table.add_row(
            str(a.k), *(cells[i] for cells in texts.values()), "<" if a is found.answer else ""
        )
    return table


def plain_table(heads: Sequence[str], numeric: Sequence[bool]) -> Table:
    """An empty table with these heads."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for head, right in zip(heads, numeric, strict=True):
        table.add_column(Text(head), justify="right" if right else "left", overflow="fold")
    return table


def is_numeric(values: Sequence[Any]) -> bool:
    """Whether all are numbers."""
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
