"""Tables as rows of numbers: numbers as they are, categories so that a mismatch adds to the squared distance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._validation import Indices, Vector
from .column import Levels, Mask, Table, dropped_note, nothing_whole, refuse_missing
from .schema import Rows, Schema, constant_note
from .source import Block

MISMATCH = 2.0
"""What a mismatch of categories adds to a squared distance: the mean squared difference of two
rows, drawn at random, in a column of standard deviation one."""
MARK = math.sqrt(MISMATCH / 2.0)
"""What stands in the column of a category where a row has it."""
MAX_DENSE_WIDTH, MAX_FILLED_SHARE = 100, 0.3
"""Encoded columns beyond which rows with a smaller share of entries than this are kept as CSR."""
NARROW = ("float16", "float32", "Float16", "Float32")
"""Types of numbers that float32 holds."""
EVERY_KIND = dict.fromkeys(("number", "date", "boolean"), "category")


@dataclass(frozen=True, eq=False)
class Encoding:
    """A table's columns as rows z (N, width), fitted once, and new tables likewise.

        ‖z(x) - z(y)‖² = Σ_numbers (x_j - y_j)² + Σ_categories 2 [x_c ≠ y_c]

    so that rbf on z is the product of rbf on the numbers and of exp(-2 gamma [x_c ≠ y_c]) over the
    categories, which is positive definite. Numbers come first, to be standardized by whoever
    compares the rows; two rows drawn at random then differ by 2 in each of them too, on average. A
    category takes one column for each of its `levels`. With missing="category" a missing category
    is a level of its own, and a missing number is the median and counts as a mismatch with all rows
    where it is not missing: `flagged` numbers have a column that says so. What a new table has that
    the first had not (a category, a missing number) mismatches all: the last column says so. With
    `equality` (for hamming) rows are codes.

    `shift` is subtracted from numbers of sparse rows, which nobody shifts later.
    """

    schema: Schema
    levels: tuple[npt.NDArray[Any], ...]
    flagged: tuple[int, ...] = ()
    sparse: bool = False
    equality: bool = False
    dtype: Any = np.float64
    shift: Vector | None = None

    @cached_property
    def numbers(self) -> int:
        """The number of columns that hold numbers."""
        return len(self.schema.numbers)

    @property
    def width(self) -> int:
        """The number of encoded columns."""
        if self.equality:
            return self.numbers + len(self.levels)
        unknown = bool(self.levels) or self.schema.missing == "category"
        return self.numbers + len(self.flagged) + sum(map(len, self.levels)) + unknown

    @property
    def movable(self) -> list[tuple[int, Any, int, int]]:
        """Return for each column of plain numbers its place among them, its name, its place in the table, and its flag.

        The flag is the encoded column that says where a number was missing, -1 where there is none.
        """
        kinds = dict(zip(self.schema.names, self.schema.kinds, strict=True))
        flags = {j: self.numbers + at for at, j in enumerate(self.flagged)}
        return [
            (j, name, self.schema.table.index(name), flags.get(j, -1))
            for j, name in enumerate(self.schema.numbers)
            if kinds[name] == "number"
        ]

    def __call__(self, X: Any) -> Any:
        """Rows of a table with the same columns, or of an array with them in the same order."""
        table, schema = Table.of(X), replace(self.schema, roles={})
        if schema.fills is None:
            hint = "fit with missing='impute' or 'category' to allow it"
            refuse_missing(schema.columns(table), (), hint)
        rows = schema.read(Block(table))
        return self.rows(rows.numbers, rows.categories, rows.gone)

    def rows(
        self, numbers: Any, categories: Sequence[Levels], gone: Sequence[Mask | None] = ()
    ) -> Any:
        """Encode columns of numbers (N, p), labels, and what was missing in the numbers."""
        numbers = numbers if self.shift is None else numbers - self.shift
        if self.width == self.numbers and not self.sparse:
            return np.ascontiguousarray(numbers, self.dtype)
        codes = [level_codes(*pair) for pair in zip(categories, self.levels, strict=True)]
        sizes = [len(levels) for levels in self.levels]
        if self.equality:
            known = [np.where(at < 0, size, at) for at, size in zip(codes, sizes, strict=True)]
            return np.column_stack([numbers, *known]).astype(self.dtype)
        absent = [np.zeros(len(numbers), bool) if mask is None else mask for mask in gone]
        flags = [math.sqrt(MISMATCH) * absent[j] for j in self.flagged]
        unknown = MISMATCH / 2.0 * sum((at < 0 for at in codes), start=np.zeros(len(numbers)))
        if self.schema.missing == "category":
            for j in set(range(len(absent))) - set(self.flagged):
                unknown += MISMATCH * absent[j]
        marks = [one_hot(at, size) for at, size in zip(codes, sizes, strict=True)]
        blocks = [numbers, *(each[:, None] for each in flags), *marks, np.sqrt(unknown)[:, None]]
        if self.sparse:
            parts = [sp.csr_array(block) for block in blocks]
            return sp.csr_array(sp.hstack(parts, format="csr"), dtype=self.dtype)
        table, stop = np.empty((len(numbers), self.width), self.dtype), 0
        for block in blocks:
            start, stop = stop, stop + block.shape[1]
            table[:, start:stop] = block.toarray() if sp.issparse(block) else block
        return table


class Encoded(NamedTuple):
    """Encoded rows of a table, the rows before they were encoded, how they were, and what is to be said."""

    encoded: Any
    rows: Rows
    encoding: Encoding
    notes: list[str]


def encoded(
    block: Block,
    columns: Any = None,
    roles: Mapping[str, Any] | None = None,
    missing: str = "error",
    *,
    without: Sequence[Any] = (),
    equality: bool = False,
    sparse: bool = True,
    shifts: bool = False,
) -> Encoded:
    """Encode the rows of a table that are all in memory, by their own levels and medians.

    See `Schema.of`.

    `equality` asks for codes, `sparse` says whether rows may be CSR, which they are where encoded
    columns are mostly empty, and `shifts` whether numbers in these are to have mean zero.
    """
    recode = EVERY_KIND if equality else {"boolean": "category"}
    schema = Schema.of(block.X, columns, roles, missing, recode=recode, without=without)
    weighted = block.weight is not None or "sample_weight" in schema.roles
    schema = schema.filled(block, weighted=weighted, whole=True)
    rows, used = schema.read(block), schema.columns(block.X)
    kept = rows.size if rows.kept is None else len(rows.kept)
    if rows.kept is not None and not kept:
        raise nothing_whole([column.name for column in used if column.missing is not None])
    levels = tuple(values[np.unique(codes[codes >= 0])] for values, codes in rows.categories)
    own = schema.missing == "category" and not equality
    flagged = tuple(j for j, gone in enumerate(rows.gone) if gone is not None and own)
    numbers = [c.dtype for c, kind in zip(used, schema.kinds, strict=True) if kind != "category"]
    dtype = np.float32 if numbers and all(each in NARROW for each in numbers) else np.float64
    encoding = Encoding(schema, levels, flagged, False, equality, dtype)
    width = encoding.width
    if sparse and not equality and width > max(MAX_DENSE_WIDTH, len(used) / MAX_FILLED_SHARE):
        shift = np.average(rows.numbers, 0, rows.weight) if shifts else None
        encoding = replace(encoding, sparse=True, shift=shift)
    dropped = dropped_note(rows.size - kept, rows.size)
    notes = [*schema.notes, constant_note(used), schema.note, dropped]
    table = encoding.rows(rows.numbers, rows.categories, rows.gone)
    return Encoded(table, rows, encoding, [note for note in notes if note])


def one_hot(codes: Indices, width: int) -> Any:
    """Rows (N, width) with a mark at the code of each, nothing where it is negative; CSR."""
    present = codes >= 0
    starts = np.append(0, np.cumsum(present))
    return sp.csr_array((np.full(starts[-1], MARK), codes[present], starts), (len(codes), width))


def level_codes(column: Levels, levels: npt.NDArray[Any]) -> Indices:
    """Which of the fitted levels each row of a column has, -1 where it has none of them."""
    number = {value: i for i, value in enumerate(levels.tolist())}
    places = [*(number.get(value, -1) for value in column.values.tolist()), -1]
    return np.array(places, np.int64)[column.codes]
