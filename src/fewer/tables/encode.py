"""Tables as rows of numbers: numbers as they are, categories so that a mismatch adds to the squared distance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._validation import Indices, InvalidInput, Vector
from ..parallel import in_threads
from .column import Column, Mask
from .encoded_rows import MISMATCH, DenseRows, SparseRows, is_thin
from .missing import (
    dropped_note,
    filled_note,
    missing_count,
    nothing_to_impute,
    refuse_missing,
    whole_rows,
)
from .schema import MEDIANS, OWN_CATEGORY, RULES, Schema, as_kind, constant_note
from .table import Table

FILLED = {"error": "", "impute": MEDIANS, "category": OWN_CATEGORY}
"""What was done about missing values that stay."""
BLOCK_ROWS = 16384
"""Rows that are encoded at a time: some columns of them fit into the cache."""
NARROW = ("float16", "float32", "Float16", "Float32")
"""Types of numbers that float32 holds."""


@dataclass(frozen=True, eq=False)
class Code:
    """How one column is encoded: at `start` as a number, or as one of `levels` from there on.

    `fill` stands for a missing value: a number, or the number of a level; NaN or -1 where there is
    none. `flag` is the encoded column that is set where a number is missing, -1 where there is
    none.
    """

    place: int
    name: Any
    kind: str
    start: int
    levels: npt.NDArray[Any] | None = None
    fill: float = math.nan
    flag: int = -1


@dataclass(frozen=True, eq=False)
class Encoding:
    """A table's columns as rows z (N, width), fitted once, and new tables likewise.

        ‖z(x) - z(y)‖² = Σ_numbers (x_j - y_j)² + Σ_categories 2 [x_c ≠ y_c]

    so that rbf on z is the product of rbf on the numbers and of exp(-2 gamma [x_c ≠ y_c]) over the
    categories, which is positive definite. Numbers come first, in `numbers` columns, to be
    standardized by whoever compares the rows; two rows drawn at random then differ by 2 in each of
    them too, on average. A category takes one column for each of its levels. With
    missing="category" a missing category is a level of its own, and a missing number is the median
    and counts as a mismatch with all rows where it is not missing. What a new table has that the
    first had not (a category, a missing number) mismatches all: the last column says so. With
    `equality` (for hamming) rows are codes.

    `shift` is subtracted from numbers of sparse rows, which nobody shifts later.
    """

    codes: tuple[Code, ...]
    width: int
    numbers: int
    missing: str = "error"
    sparse: bool = False
    equality: bool = False
    dtype: Any = np.float64
    shift: Vector | None = None

    def __call__(self, X: Any) -> Any:
        """Rows of a table with the same columns, or of an array with them in the same order."""
        table = Table.of(X)
        used = [as_kind(table.columns[code.place], code.kind) for code in self.codes]
        if self.missing in ("error", "drop"):
            refuse_missing(used, (), "fit with missing='impute' or 'category' to allow it")
        return self.rows(used, table.rows)

    def rows(self, columns: Sequence[Column], n: int, kept: Indices | None = None) -> Any:
        """The rows of columns of the kinds of `codes`, or the kept ones of them."""
        size = n if kept is None else len(kept)
        parted = all(
            column.part is not None
            for code, column in zip(self.codes, columns, strict=True)
            if code.levels is None
        )
        if kept is None and not self.sparse and parted:
            return self._by_blocks(columns, n)
        table = SparseRows(self, size) if self.sparse else DenseRows(self, size)
        for code, column in zip(self.codes, columns, strict=True):
            gone = (
                column.missing if column.missing is None or kept is None else column.missing[kept]
            )
            if code.levels is None:
                values = column.values if kept is None else column.values[kept]
                self._number(table, code, values, gone)
            else:
                at = matched(column, code)
                self._category(table, code, at if kept is None else at[kept])
        return table.done()

    def _by_blocks(self, columns: Sequence[Column], n: int) -> Any:
        """The same, some thousand rows at a time, so that columns meet in the processor's cache and none is copied."""
        table = DenseRows(self, n)
        places = [
            None if code.levels is None else level_places(column, code)
            for code, column in zip(self.codes, columns, strict=True)
        ]

        def fill(start: int) -> None:
            stop = min(start + BLOCK_ROWS, n)
            block = table.block(start, stop)
            for code, column, place in zip(self.codes, columns, places, strict=True):
                if place is not None:
                    self._category(block, code, place[column.levels.codes[start:stop]])
                elif column.part is not None:
                    gone = None if column.missing is None else column.missing[start:stop]
                    self._number(block, code, column.part(start, stop), gone, start)
            block.done()

        in_threads(fill, range(0, n, BLOCK_ROWS))
        return table.table

    def _number(
        self, table: Any, code: Code, values: Vector, gone: Mask | None, first: int = 0
    ) -> None:
        """Put a column of numbers, of the rows from `first` on."""
        given = values if gone is None else values[~gone]
        with np.errstate(over="ignore", invalid="ignore"):
            total = given.sum()  # not finite where a number is not, or where many are large
        if not math.isfinite(total) and not np.isfinite(given).all():
            row = int(np.argmax(np.isinf(values)))
            raise InvalidInput(
                f"column {code.name!r}, row {first + row}: expected a finite number, got {values[row]}"
            )
        if gone is not None:
            values = np.where(gone, code.fill, values)
            if code.flag >= 0:
                table.put(code.flag, np.where(gone, math.sqrt(MISMATCH), 0.0))
            elif self.missing == "category":
                table.unknown += np.where(gone, MISMATCH, 0.0)
        table.put(code.start, values if self.shift is None else values - self.shift[code.start])

    def _category(self, table: Any, code: Code, at: Indices) -> None:
        """Put a column of categories; -1 stands for a level that is not known."""
        if self.equality:
            assert code.levels is not None  # noqa: S101 - of a category
            table.put(code.start, np.where(at < 0, len(code.levels), at))
            return
        if at.min(initial=0) < 0:
            table.unknown += np.where(at < 0, MISMATCH / 2.0, 0.0)
        table.choose(code.start, at)


class Encoded(NamedTuple):
    """The rows of a table, which of its rows they are (all if None), how they were made, and what is to be said."""

    rows: Any
    kept: Indices | None
    encoding: Encoding
    notes: list[str]


def encoded(
    X: Any,
    columns: Any = None,
    missing: str = "error",
    weights: Vector | None = None,
    *,
    apart: Sequence[Any] = (),
    complete: Mask | None = None,
    equality: bool = False,
    sparse: bool = True,
    shifts: bool = False,
) -> Encoded:
    """Encode a table, or an array by the places of its columns; `apart` are columns that are no part of the rows.

    `weights` (N,) count in medians and modes. `complete` (N,) says which rows have all that is not
    in the table, for missing="drop". `equality` asks for codes, `sparse` says whether rows may be
    CSR, and `shifts` whether numbers in these are to have mean zero.
    """
    table = Table.of(X)
    schema = Schema.of(table, columns, missing=missing, without=apart)
    used = schema.columns(table)
    n = table.rows
    if missing == "error":
        refuse_missing(used, RULES[1:], ignorable=True)
    kept = whole_rows(used, n, complete) if missing == "drop" else None
    shares = np.broadcast_to(1.0 / max(n, 1), n) if weights is None else weights
    encoding = _fitted(schema, used, shares, missing, kept, equality, sparse, shifts)
    rows = encoding.rows(used, n, kept)
    if missing == "drop":
        note = dropped_note(0 if kept is None else n - len(kept), n)
    else:
        note = filled_note({column.name: missing_count(column) for column in used}, FILLED[missing])
    said = [*schema.notes, constant_note(used), note]
    return Encoded(rows, kept, encoding, [part for part in said if part])


def _fitted(
    schema: Schema,
    used: Sequence[Column],
    shares: Vector,
    missing: str,
    kept: Indices | None,
    equality: bool,
    sparse: bool,
    shifts: bool,
) -> Encoding:
    """How columns are encoded: numbers first, then what says that they are missing, then categories."""
    some: Any = slice(None) if kept is None else kept
    places = schema.places
    is_number = [kind in ("number", "date") and not equality for kind in schema.kinds]
    order = sorted(range(len(places)), key=lambda i: not is_number[i])
    numbers = sum(is_number)
    codes: dict[int, Code] = {}
    at = numbers
    for i in order[:numbers]:
        column = used[i]
        flag = at if missing == "category" and column.missing is not None else -1
        at += flag >= 0
        fill = middle(column, shares, missing)
        codes[i] = Code(places[i], column.name, schema.kinds[i], len(codes), None, fill, flag)
    for i in order[numbers:]:
        column, kind = used[i], schema.kinds[i]
        levels, fill = levels_of(column, some, shares, missing)
        codes[i] = Code(places[i], column.name, kind, at, levels, fill)
        at += 1 if equality else len(levels)
    slot = not equality and (numbers < len(places) or missing == "category")
    width = at + slot
    is_sparse = sparse and not equality and is_thin(len(codes), width)
    chosen = [used[i] for i in order[:numbers]]
    narrow = numbers > 0 and all(column.dtype in NARROW for column in chosen)
    shift = (
        np.array([_mean(column, shares, some) for column in chosen])
        if is_sparse and shifts
        else None
    )
    every = tuple(codes[i] for i in range(len(places)))
    return Encoding(
        every,
        width,
        numbers,
        missing,
        is_sparse,
        equality,
        np.float32 if narrow else np.float64,
        shift,
    )


def _mean(column: Column, shares: Vector, some: Any) -> float:
    """The weighted mean of the numbers there are."""
    values, mass = column.values[some], shares[some]
    present = np.isfinite(values)
    total = float(mass[present].sum())
    return float(values[present] @ mass[present]) / total if total > 0 else 0.0


def middle(column: Column, shares: Vector, missing: str) -> float:
    """What stands for missing numbers: their weighted median; NaN where the rule has none."""
    if missing not in ("impute", "category"):
        return math.nan
    values = column.values
    present = shares > 0 if column.missing is None else (shares > 0) & ~column.missing
    if not present.any():
        if missing == "impute":
            raise nothing_to_impute(column.name)
        return 0.0
    values, mass = values[present], shares[present]
    if mass.min() == mass.max():
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(mass[order])
    low, high = (
        int(np.searchsorted(sums, 0.5 * sums[-1] * side)) for side in (1 - 1e-12, 1 + 1e-12)
    )
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2.0)


def levels_of(
    column: Column, some: Any, shares: Vector, missing: str
) -> tuple[npt.NDArray[Any], float]:
    """The levels that the rows have, one more for missing ones where the rule says so, and what a missing one is."""
    levels, codes = column.levels
    if missing == "impute":
        here = codes[some]
        mass = np.bincount(here[here >= 0], shares[some][here >= 0], len(levels))
        if len(levels) == 0 or mass.max() == 0:
            raise nothing_to_impute(column.name)
        return levels, float(mass.argmax())
    if missing == "category" and column.missing is not None:
        more = np.empty(len(levels) + 1, object)
        more[:-1] = levels
        return more, float(len(levels))
    if isinstance(some, slice):  # all rows, and a column has no levels but those of its rows
        return levels, -1.0
    here = codes[some]
    return levels[np.bincount(here[here >= 0], minlength=len(levels)) > 0], -1.0


def matched(column: Column, code: Code) -> Indices:
    """Which of the fitted levels each row has; -1 for one that is not among them."""
    return np.asarray(level_places(column, code)[column.levels.codes])


def level_places(column: Column, code: Code) -> Indices:
    """Which of the fitted levels each level of a column is, and last what a missing one is."""
    assert code.levels is not None  # noqa: S101 - of a category
    number = {value: i for i, value in enumerate(code.levels.tolist())}
    return np.array(
        [*(number.get(value, -1) for value in column.levels.values.tolist()), int(code.fill)],
        np.int64,
    )
