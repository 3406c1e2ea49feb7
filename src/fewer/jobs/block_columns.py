"""Blocks as columns: which are used and as what, decided once by the first rows, and the same in every block."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import (
    Fix,
    Indices,
    InvalidInput,
    Vector,
    as_array,
    as_vector,
    gathered,
    is_frame,
    library_of,
    shown,
)
from ..tables.blocks import Block
from ..tables.column import Column, Levels
from ..tables.columns import as_kind, used_columns
from ..tables.cutting import height, some
from ..tables.missing import refuse_missing, whole_rows
from ..tables.names import quoted
from ..tables.table import Table, role

MAX_LEVELS = 10_000
"""Different labels that a column may have: all of them are kept."""
RULES = ("error", "drop", "impute", "category")
"""What is done about missing values in blocks; the last two take a pass of their own."""


@dataclass(frozen=True, eq=False)
class Fills:
    """What stands for missing values: numbers (p,), and a label for each column of labels, None for a label of its own.

    `rule` is what was asked for, `note` what is to be said.
    """

    numbers: Vector
    labels: tuple[Any, ...]
    rule: str
    note: str = ""


@dataclass(frozen=True)
class Chosen:
    """The columns of a table that are used, each with its kind; `apart` are those used otherwise, by their option."""

    names: tuple[Any, ...]
    kinds: tuple[str, ...]
    table: tuple[Any, ...]
    apart: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def places(self) -> list[int]:
        """Where in the table each used column is."""
        return [self.table.index(name) for name in self.names]

    def without(self, kind: str, called: str) -> "Chosen":
        """The same without the columns of a kind, which a note then names."""
        left = [name for name, one in zip(self.names, self.kinds, strict=True) if one == kind]
        if not left:
            return self
        kept = [
            (name, one) for name, one in zip(self.names, self.kinds, strict=True) if one != kind
        ]
        if not kept:
            raise InvalidInput(f"there is no column to use besides {called}: {quoted(left)}")
        names, kinds = zip(*kept, strict=True)
        return replace(
            self,
            names=names,
            kinds=kinds,
            notes=(*self.notes, f"{called} left out: {quoted(left)}"),
        )

    def table_of(self, block: Block) -> Table:
        """A block, which must have the columns that are looked at."""
        X = gathered(block.X)
        if not is_frame(X):
            raise InvalidInput(f"all blocks must be tables, got {shown(type(X).__name__)}")
        table = Table.of(X)
        names = table.names
        for name in [*self.names, *(name for _, name in self.apart)]:
            if name not in names:
                raise InvalidInput(f"all blocks must have the column {name!r}, got {shown(names)}")
        return table

    def used(self, table: Table) -> list[Column]:
        """The columns that are used, each of its kind."""
        columns = {column.name: column for column in table.columns}
        return [
            as_kind(columns[name], kind) for name, kind in zip(self.names, self.kinds, strict=True)
        ]


def chosen_columns(head: Any, told: Any, apart: dict[str, Any], missing: str) -> Chosen | None:
    """What the first rows of a table say; None for arrays, whose columns are all numbers."""
    if missing not in RULES:
        raise InvalidInput(
            f"missing must be one of {', '.join(RULES)} for data in blocks, got {shown(missing)}"
        )
    head = gathered(head)
    roles = {option: role(head, name, option) for option, name in apart.items()}
    named = {option: column.name for option, column in roles.items() if column is not None}
    if not is_frame(head):
        if told is not None:
            raise InvalidInput(
                f"columns are those of a table, but blocks are {type(head).__name__}"
            )
        return None
    table = Table.of(head)
    used = used_columns(table.columns, told, list(named.values()))
    notes = tuple(note for note in used.notes if not note.startswith("constant"))
    found = tuple(column.name for column, _ in used.columns)
    kinds = tuple(kind for _, kind in used.columns)
    return Chosen(found, kinds, tuple(table.names), tuple(named.items()), notes)


class Read(NamedTuple):
    """A block as columns: numbers (n, p) dense or CSR, labels of categories, and what belongs to the rows.

    `kept` (n,) are the rows of the block that these are; None where they are all.
    """

    numbers: Any
    categories: list[Levels]
    y: Any
    weight: Vector | None
    size: int
    kept: Indices | None = None


def read_block(block: Block, chosen: Chosen | None, missing: "str | Fills" = "error") -> Read:
    """The rows of a block that are used; what is missing is refused, dropped or filled."""
    size = height(block.X)
    if isinstance(missing, str) and missing not in ("error", "drop"):
        raise InvalidInput(
            f"missing={missing!r} takes a pass of its own; in own loops fill the blocks first, or drop"
        )
    if chosen is None:
        return _of_array(block, size, missing)
    table = chosen.table_of(block)
    used = chosen.used(table)
    beside = {option: table.column(name, option) for option, name in chosen.apart}
    fills = missing if isinstance(missing, Fills) else None
    rule = missing if isinstance(missing, str) else "error"
    needed = [*(used if fills is None else ()), *beside.values()]
    if rule == "error":
        refuse_missing(needed)
    kept = whole_rows(needed, size, block=True)
    numbers = [c for c, kind in zip(used, chosen.kinds, strict=True) if kind != "category"]
    labels = [c for c, kind in zip(used, chosen.kinds, strict=True) if kind == "category"]
    matrix = np.empty((size if kept is None else len(kept), len(numbers)))
    for j, column in enumerate(numbers):
        if column.kind == "category":
            raise InvalidInput(
                f"column {column.name!r} holds numbers in the first rows, and texts here"
            )
        matrix[:, j] = column.values if kept is None else column.values[kept]
        if fills is not None and column.missing is not None:
            matrix[np.asarray(column.missing), j] = fills.numbers[j]
    refuse_infinite(matrix, [c.name for c in numbers])
    weight = beside.get("sample_weight")
    y = beside.get("y", beside.get("labels"))
    return Read(
        matrix,
        [_levels(column, kept, fills, j) for j, column in enumerate(labels)],
        some(block.y, kept)
        if y is None and kept is not None
        else block.y
        if y is None
        else _kept(y, kept),
        checked_weights(block.weight if weight is None else weight.values, size, kept),
        size,
        kept,
    )


def _beside(values: Any, kept: Indices | None) -> Any:
    """Of what stands beside rows that of those kept."""
    return values if values is None or kept is None else np.asarray(values)[kept]


def _of_array(block: Block, size: int, missing: "str | Fills") -> Read:
    """Rows of numbers, dense or sparse."""
    weight = checked_weights(block.weight, size, None)
    if sp.issparse(block.X):
        rows = sp.csr_array(block.X)
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
        return Read(rows, [], block.y, weight, size)
    rows = as_array(block.X, "X") if missing == "error" else np.asarray(block.X, np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if isinstance(missing, Fills):
        rows = np.where(np.isnan(rows), missing.numbers, rows)
        return Read(rows, [], block.y, weight, size)
    if missing == "error" or not np.isnan(rows).any():
        return Read(rows, [], block.y, weight, size)
    kept = np.flatnonzero(~np.isnan(rows).any(axis=1))
    return Read(
        rows[kept], [], _beside(block.y, kept), None if weight is None else weight[kept], size, kept
    )


def refuse_infinite(matrix: Vector, names: Sequence[Any]) -> None:
    """A sentence about the first number that is not finite."""
    if not np.isfinite(matrix.sum()) and not np.isfinite(matrix).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        raise InvalidInput(
            f"column {names[column]!r}, row {row}: expected a finite number, got {matrix[row, column]}"
        )


def _levels(column: Column, kept: Indices | None, fills: Fills | None, place: int) -> Levels:
    """The labels of a column, and which of them each row has."""
    values, codes = column.levels
    if fills is not None and (codes < 0).any():
        label = fills.labels[place]
        known = list(values)
        if label not in known:
            values = np.empty(len(known) + 1, object)
            values[:] = [*known, label]
        codes = np.where(codes < 0, list(values).index(label), codes)
    return Levels(values, codes if kept is None else codes[kept])


def _kept(column: Column, kept: Indices | None) -> Any:
    """A column beside the rows: numbers, or labels as objects."""
    values = column.values
    return values if kept is None else values[kept]


def checked_weights(weight: Any, size: int, kept: Indices | None) -> Vector | None:
    """Weights that are finite and not negative."""
    if weight is None:
        return None
    values = as_vector(
        weight.to_numpy() if library_of(weight) is not None else weight, (size,), "sample_weight"
    )
    if values.size and values.min() < 0:
        at = int(values.argmin())
        raise InvalidInput(f"sample_weight must be non-negative, got {values[at]} at index {at}")
    return values if kept is None else values[kept]


def united(levels: Sequence[Sequence[Any]], name: Any) -> npt.NDArray[Any]:
    """All labels of a column, sorted where they can be; too many are refused."""
    found = {label for some in levels for label in some}
    if len(found) > MAX_LEVELS:
        fix = Fix("columns", {name: "ignore"})
        text = (
            f"column {name!r} has more than {MAX_LEVELS} different labels; leave it out with {fix}"
        )
        raise InvalidInput(text, fixes=[fix])
    values = np.empty(len(found), object)
    try:
        values[:] = sorted(found)
    except TypeError:  # of different types
        values[:] = sorted(found, key=lambda label: (type(label).__name__, str(label)))
    return values
