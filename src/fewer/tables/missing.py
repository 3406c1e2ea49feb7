"""Missing values of columns: the rows without any, and what is said of the others."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._validation import Fix, Indices, InvalidInput, shown
from .column import Column, Mask
from .names import quoted

ACTIONS = {
    "drop": "leaves such rows out",
    "impute": "takes the median or the most frequent value",
    "category": "makes missing a label of its own",
    "ffill": "carries the last price forward",
}
"""What each rule does about missing values, but for "error"."""
MAX_NAMED = 5
"""Columns that a note names."""


def refuse_missing(
    columns: Iterable[Column],
    rules: Sequence[str] = ("drop",),
    hint: str = "",
    *,
    ignorable: bool = False,
) -> None:
    """Refuse the first missing value.

    `rules` are those that would allow it, beside leaving an `ignorable` column.
    """
    for column in columns:
        if column.missing is not None:
            fixes = [ignored(column.name)] if ignorable else []
            raise missing_value(
                f"column {shown(column.name)}", column.missing, rules, hint=hint, fixes=fixes
            )


def ignored(name: Any) -> Fix:
    """That a column is left out."""
    return Fix("columns", {name: "ignore"})


def missing_value(
    what: str,
    missing: Mask,
    rules: Sequence[str] = ("drop",),
    row: Callable[[int], str] = "row {}".format,
    hint: str = "",
    fixes: Sequence[Fix] = (),
) -> InvalidInput:
    """The error that a value of `what` is missing: in which row, how many more, and which rules allow it.

    `fixes` leave the column out.

    >>> str(missing_value("column 'age'", np.array([False, True, True])))
    "column 'age', row 1: is missing, as is 1 more; missing='drop' leaves such rows out"
    """
    more = int(missing.sum()) - 1
    others = f", as {'is' if more == 1 else 'are'} {more} more" if more else ""
    allowing = [Fix("missing", rule) for rule in rules]
    remedies = [f"{fix} {ACTIONS[fix.value]}" for fix in allowing] + [
        f"{fix} leaves the column out" for fix in fixes
    ]
    remedy = ", ".join([*remedies, *([hint] if hint else [])])
    text = f"{what}, {row(int(np.argmax(missing)))}: is missing{others}; {remedy}"
    return InvalidInput(text, fixes=[*allowing, *fixes])


def whole_rows(columns: Iterable[Column]) -> Indices | None:
    """The rows in which nothing is missing; None where that is all of them.

    >>> age = Column("age", "number", np.array([False, True]), lambda: np.array([31.0, np.nan]))
    >>> whole_rows([age]).tolist(), whole_rows([])
    ([0], None)
    """
    gaps = [column.missing for column in columns if column.missing is not None]
    return np.flatnonzero(~np.logical_or.reduce(gaps)) if gaps else None


def nothing_whole(names: Sequence[Any] = ()) -> InvalidInput:
    """The error that no row is left; `names` are the columns with missing values."""
    fix = Fix("missing", "drop")
    where = f" in {quoted(names)}" if names else ""
    return InvalidInput(f"every row has a missing value{where}; {fix} leaves none", fixes=[fix])


def dropped_note(dropped: int, rows: int) -> str:
    """Say how many rows were left out.

    >>> dropped_note(2, 60), dropped_note(0, 60)
    ('2 of 60 rows left out, as values are missing there', '')
    """
    return f"{dropped} of {rows} rows left out, as values are missing there" if dropped else ""


def filled_note(counts: Mapping[Any, int], action: str) -> str:
    """Say how many missing values were filled; `counts` are the missing values of each column.

    >>> filled_note({"age": 3, "plan": 0}, "replaced by medians and modes")
    "missing values replaced by medians and modes: 'age' (3)"
    """
    gaps = [f"{name!r} ({count})" for name, count in counts.items() if count]
    if not gaps:
        return ""
    more = f" and {len(gaps) - MAX_NAMED} more" if len(gaps) > MAX_NAMED else ""
    return f"missing values {action}: {', '.join(gaps[:MAX_NAMED])}{more}"


def missing_count(column: Column) -> int:
    """How many values of a column are missing."""
    return 0 if column.missing is None else int(column.missing.sum())


def nothing_to_impute(name: Any) -> InvalidInput:
    """The error that a column has no value at all."""
    fix = ignored(name)
    return InvalidInput(
        f"column {name!r} has no value to impute from; leave it out with {fix}", fixes=[fix]
    )
