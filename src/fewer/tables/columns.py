"""Which columns of a table are compared, and as what: inferred from their values, or as the user says."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from .._validation import Fix, InvalidInput, shown
from ..parallel import in_threads
from .column import NUMBER, Column
from .names import known_name, quoted

KINDS = ("number", "boolean", "category", "date", "ignore")
MIN_IDENTIFIER_ROWS = 20
"""Rows from which texts that are all different are taken for identifiers, whatever their column is called."""
MAX_DISTINCT_SHARE, MIN_TEXT_ROWS = 0.5, 100
"""Texts of which more than this share of the rows differ are free text, in a table of at least so many rows."""
MAX_EXACT = 2.0**53
"""Whole numbers beyond it are told apart no more by float64: they are names, not quantities."""
IDENTIFIER = re.compile(r"(?:^|[\W_])(?i:id|uuid|guid|key|index)$|[a-z](?:Id|ID|Key)$|^Unnamed: 0$")


@dataclass(frozen=True, eq=False)
class Used:
    """The columns of a table that are compared, each with its kind, and sentences about those that are not."""

    columns: tuple[tuple[Column, str], ...]
    notes: tuple[str, ...] = ()
    ignored: tuple[Any, ...] = ()
    """Names of the columns that were left out unasked."""
    places: tuple[int, ...] = ()
    """Where in the table the columns are."""


def used_columns(columns: Sequence[Column], told: Any = None, apart: Sequence[Any] = ()) -> Used:
    """The columns to compare; `told` maps names to kinds or lists the only ones to use, `apart` are used otherwise.

    Texts that are all different, and different whole numbers or texts in a column with a name such
    as id, are identifiers; texts that mostly differ are free text. Both are left out, and a note
    says so. What holds numbers and texts, or nested values, is refused with its first cell unless
    `told` says what it is.

    >>> from .frames import columns_of
    >>> import polars
    >>> table = polars.DataFrame({"id": [7, 8, 9], "age": [30, 40, 30], "plan": ["a", "b", "a"]})
    >>> found = used_columns(columns_of(table), {"age": "category"})
    >>> [(column.name, kind) for column, kind in found.columns], found.notes
    ([('age', 'category'), ('plan', 'category')], ("identifiers left out: 'id'",))
    """
    names = [column.name for column in columns]
    kinds = told_kinds(told, names)
    used: list[tuple[Column, str]] = []
    places: list[int] = []
    left: dict[str, list[Any]] = {"identifiers": [], "free text": []}
    compared = {
        place: column
        for place, column in enumerate(columns)
        if column.name not in apart and kinds.get(column.name) != "ignore"
    }
    in_threads(
        lambda column: column.levels,
        [column for column in compared.values() if column.kind == "category"],
    )
    for place, column in compared.items():
        why = "" if column.name in kinds else left_out(column)
        if why:
            left[why].append(column.name)
            continue
        kind = kinds.get(column.name, column.kind)
        places.append(place)
        used.append((as_kind(column, kind) if column.name in kinds else column, kind))
    notes = tuple(f"{why} left out: {quoted(found)}" for why, found in left.items() if found)
    ignored = tuple(name for found in left.values() for name in found)
    if not used:
        fixes = [Fix("columns", {name: "category"}) for name in ignored[:1]]
        known = f": {'; '.join(notes)}; {fixes[0]} takes it" if ignored else ""
        text = f"X has no column to compare{known}, got {quoted(names) if names else 'no columns'}"
        raise InvalidInput(text, fixes=fixes)
    constant = [column.name for column, _ in used if is_constant(column)]
    notes += (f"constant: {quoted(constant)}",) if constant else ()
    return Used(tuple(used), notes, ignored, tuple(places))


def told_kinds(told: Any, names: Sequence[Any]) -> dict[Any, str]:
    """What the user says of columns: a mapping of names to kinds, or a list of the only names to use."""
    if told is None:
        return {}
    if isinstance(told, Mapping):
        for name, kind in told.items():
            known_name(name, names, "columns")
            if kind not in KINDS:
                near = difflib.get_close_matches(str(kind), KINDS, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise InvalidInput(
                    f"columns[{name!r}] must be one of {', '.join(map(repr, KINDS))}, got {shown(kind)}{hint}"
                )
        return dict(told)
    if isinstance(told, str) or not isinstance(told, Sequence | np.ndarray):
        raise InvalidInput(f"columns must map names to kinds or list names, got {shown(told)}")
    only = [known_name(name, names, "columns") for name in told]
    return {name: "ignore" for name in names if name not in only}


def left_out(column: Column) -> str:
    """Why a column is left out unasked, "" where it is not; a sentence where nobody can tell what it is."""
    if column.kind == "other":
        fix = Fix("columns", {column.name: "ignore"})
        text = f"column {column.name!r} holds {column.dtype}, which cannot be compared; leave it out with {fix}"
        raise InvalidInput(text, fixes=[fix])
    if column.kind == "category" and column.dtype != "category":
        refuse_mixed(column)
        levels, codes = column.levels
        present = len(codes) if column.missing is None else int((codes >= 0).sum())
        if len(levels) == present and (
            present >= MIN_IDENTIFIER_ROWS or (is_identifier(column.name) and present > 1)
        ):
            return "identifiers"
        if present >= MIN_TEXT_ROWS and len(levels) > MAX_DISTINCT_SHARE * present:
            return "free text"
    if (
        column.kind == "number"
        and is_identifier(column.name)
        and has_distinct_whole_numbers(column)
    ):
        return "identifiers"
    return ""


def is_identifier(name: Any) -> bool:
    """Whether a column is called as identifiers are.

    >>> [is_identifier(name) for name in ("id", "customer_id", "CustomerID", "uuid", "grid", "paid", 0)]
    [True, True, True, True, False, False, False]
    """
    return isinstance(name, str) and IDENTIFIER.search(name) is not None


def has_distinct_whole_numbers(column: Column) -> bool:
    """Whether the numbers are whole and all different, as far as float64 tells, and there are several."""
    values = column.values if column.missing is None else column.values[~column.missing]
    if len(values) < 2 or not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    return float(np.abs(values).max()) > MAX_EXACT or len(np.unique(values)) == len(values)


def is_constant(column: Column) -> bool:
    """Whether all rows are alike in a column."""
    if column.kind == "category":
        levels, codes = column.levels
        return len(codes) == 0 or (len(levels) < 2 and bool((codes == codes[:1]).all()))
    if column.missing is not None:
        return False
    if column.part is not None and len(np.unique(column.part(0, MIN_TEXT_ROWS))) > 1:
        return False
    values = column.values
    return bool((values == values[:1]).all())


def refuse_mixed(column: Column) -> None:
    """A sentence with the first text among numbers, or number among texts."""
    levels, codes = column.levels
    kinds = {kind: issubclass(kind, NUMBER) for kind in set(map(type, levels))}
    if len(set(kinds.values())) < 2:
        return
    numbers = np.array([kinds[type(value)] for value in levels], bool)
    mostly = int(np.isin(codes, np.flatnonzero(numbers)).sum()) * 2 >= int((codes >= 0).sum())
    stray = np.flatnonzero(~numbers if mostly else numbers)
    row = int(np.argmax(np.isin(codes, stray)))
    what, among = ("no number", "numbers") if mostly else ("a number", "texts")
    fixes = [Fix("columns", {column.name: kind}) for kind in ("category", "ignore")]
    raise InvalidInput(
        f"column {column.name!r}, row {row}: {shown(levels[codes[row]])} is {what} among {among}; mend it, or say "
        f"{fixes[0]} or {fixes[1]}",
        fixes=fixes,
    )


def as_kind(column: Column, kind: str) -> Column:
    """A column taken as another kind: text is parsed, and what cannot be is refused with its cell."""
    if column.kind == "other":
        raise InvalidInput(f"column {column.name!r} holds {column.dtype}, which cannot be a {kind}")
    if kind == column.kind or kind in ("category", "boolean"):
        if kind == "boolean" and len(column.levels.values) > 2:
            found = shown(column.levels.values[:3].tolist())
            raise InvalidInput(
                f"column {column.name!r} must hold two values to be a boolean, got {found}"
            )
        return column
    if column.kind != "category":
        return column
    levels, codes = column.levels
    table = np.append([_parsed(value, kind) for value in levels], np.nan)
    values = np.asarray(table[codes], np.float64)
    wrong = np.isnan(values) & (codes >= 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInput(
            f"column {column.name!r}, row {row}: expected a {kind}, got {shown(levels[codes[row]])}"
        )
    return Column(column.name, kind, column.missing, lambda: values)


def _parsed(value: Any, kind: str) -> float:
    """A level as a number, or as seconds from 1970; NaN where it is none."""
    try:
        if kind == "number":
            return float(value)
        moment = datetime.fromisoformat(str(value).strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return np.nan
