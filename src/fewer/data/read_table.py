"""A table that was read in parts: its numbers in one matrix, its texts as codes, its rows encoded while they came.

No frame is held. Where the columns turn out as the first rows show them (no category that these lack, nothing missing),
the matrix is what `encode` makes of a frame, bit for bit; where not, it is made of the columns.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from .._validation import Indices
from . import _polars
from ._blocks import zeros
from ._coded import Coded
from ._encoded_rows import MARK, is_thin
from ._line_blocks import Block, Lines
from .column import SECONDS_PER_UNIT, Column, Mask
from .columns import MAX_EXACT, is_identifier

FIRST_ROWS = 10_000
"""Rows by which the categories of a column are guessed."""
CACHED_ROWS = 2048
"""Rows that are put at a time: all their encoded columns fit into the cache (`benchmarks/reading.py`)."""
DAY = SECONDS_PER_UNIT["D"]
NUMBERS = (pl.Float64, pl.Int64, pl.Date)


class Layout(NamedTuple):
    """Where columns are in the matrix: numbers first, then categories by their levels, then what is not known."""

    starts: dict[str, int]
    levels: dict[str, list[Any]]
    width: int


class ReadTable:
    """Columns of a file, by name; `fewer.data.frames` knows it as a table.

    `matrix` (N, width) holds numbers and dates (in seconds), and as far as `encoded` says all columns as `layout` has
    them. What does not fit in there is kept as it was read, in `series`.
    """

    def __init__(self, names: Sequence[str], matrix: npt.NDArray[np.float64], layout: Layout, encoded: bool) -> None:
        self.columns, self.matrix, self.layout, self.encoded = list(names), matrix, layout, encoded
        self.types: dict[str, Any] = {}
        self.gaps: dict[str, Mask] = {}
        self.coded: dict[str, Coded] = {}
        self.series: dict[str, pl.Series] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.matrix), len(self.columns)

    def column(self, name: str) -> Column:
        """A column by its kind, as of a DataFrame of polars."""
        if name in self.series:
            return _polars.column(self.series[name])
        if name in self.coded:
            return self.coded[name].column(len(self.matrix))
        values, dtype = self.matrix[:, self.layout.starts[name]], self.types[name]
        part = lambda start, stop: values[start:stop].copy()  # noqa: E731
        told = ("date", "") if dtype == pl.Date else ("number", str(dtype))
        return Column(name, told[0], self.gaps.get(name), values.copy, dtype=told[1], part=part)

    def take(self, rows: Indices) -> pl.DataFrame:
        """Rows as a DataFrame of polars, with the types of the file."""
        return pl.DataFrame([_values(self, name, np.asarray(rows, np.int64)) for name in self.columns])

    def __getitem__(self, name: str) -> Any:
        """The cells of a column: a Series where it was kept as it is."""
        return self.series[name] if name in self.series else Cells(self, name)

    def encoded_as(self, codes: Iterable[Any], width: int) -> npt.NDArray[np.float64] | None:
        """The matrix, if it holds the rows that codes of columns (`encode.Code`) make; else None."""
        given = list(codes)
        if not self.encoded or width != self.layout.width or len(given) != len(self.layout.starts):
            return None
        for code in given:
            levels = None if code.levels is None else code.levels.tolist()
            here = code.name in self.layout.starts and code.start == self.layout.starts[code.name]
            if not here or levels != self.layout.levels.get(code.name) or code.flag >= 0 or code.name in self.gaps:
                return None
        return self.matrix


class Cells:
    """The cells of one column, which are looked up when they are asked for."""

    def __init__(self, table: ReadTable, name: str) -> None:
        self.table, self.name = table, name

    def __len__(self) -> int:
        return self.table.shape[0]

    def __getitem__(self, row: int) -> Any:
        return _values(self.table, self.name, np.array([row]))[0]


def read_table(
    blocks: Iterable[Block],
    names: Sequence[str],
    coded: Sequence[str],
    apart: Collection[str],
    rows: Callable[[], int],
    lines: Lines | None = None,
) -> ReadTable:
    """Put the columns `names` of the blocks of a file into one table.

    `coded` are columns of texts that may be numbered, `apart` those that are no part of the rows to come; `rows` says
    how many are expected, about. Texts of other columns, and what is found not to fit, are in `series`. With `lines`
    compiled code parses the blocks of lines that are plain.
    """
    left = iter(blocks)
    first = _first(left, names)
    filling = Filling(first, coded, apart, rows() if first.height >= FIRST_ROWS else first.height)
    filling.put(first)
    if lines is None:
        parts: Iterator[pl.DataFrame] = (block.frame(names) for block in left)
    else:
        from ._plain_rows import PlainRows

        parts = PlainRows(filling, lines, names).frames(left)
    for part in parts:
        filling.put(part)
    return filling.done()


def _first(blocks: Iterator[Block], names: Sequence[str]) -> pl.DataFrame:
    """The first rows: polars begins with small parts."""
    found: list[pl.DataFrame] = []
    for block in blocks:
        found.append(block.frame(names))
        if sum(one.height for one in found) >= FIRST_ROWS:
            break
    return pl.concat(found, rechunk=True)


class Filling:
    """A table as far as it is read."""

    def __init__(self, first: pl.DataFrame, coded: Sequence[str], apart: Collection[str], capacity: int) -> None:
        self.names, self.n = first.columns, 0
        self.kept: dict[str, list[pl.Series]] = {}
        self.coded: dict[str, Coded] = {}
        self.types: dict[str, Any] = {}
        self.gaps: dict[str, list[tuple[int, Mask]]] = {}
        for column in first.get_columns():
            self._begin(column, column.name in apart, column.name in coded, capacity)
        self.layout, self.encoded = _laid_out(list(self.types), self.coded)
        self.matrix: npt.NDArray[np.float64] = zeros((capacity, self.layout.width), np.float64)

    def _begin(self, first: pl.Series, apart: bool, is_text: bool, capacity: int) -> None:
        """Whether a column goes into the matrix, becomes codes, or is kept as it is."""
        if not apart and first.dtype in NUMBERS and not (first.dtype == pl.Int64 and is_identifier(first.name)):
            self.types[first.name] = first.dtype.base_type()
            return
        if not apart and (is_text or first.dtype == pl.Boolean):
            found = Coded(first, capacity)
            if not found.is_full:
                self.coded[first.name] = found
                return
        self.kept[first.name] = []

    def put(self, part: pl.DataFrame) -> None:
        """The next rows."""
        stop = self.n + part.height
        if stop > len(self.matrix):
            self.grow(stop)
        columns = dict(zip(part.columns, part.get_columns(), strict=True))
        numbers = [self._numbers(name, columns[name]) for name in list(self.types)]
        codes = self._codes(part, columns)
        for name, found in codes.items():
            self.coded[name].codes[self.n : stop] = found
        for name, kept in self.kept.items():
            kept.append(columns[name])
        for low in range(0, part.height, CACHED_ROWS):
            block = self.matrix[self.n + low : min(self.n + low + CACHED_ROWS, stop)]
            for place, values in numbers:
                block[:, place] = values[low : low + CACHED_ROWS]
            if self.encoded and codes:
                self._mark(block, low, codes)
        self.n = stop

    def _mark(self, block: npt.NDArray[np.float64], low: int, codes: dict[str, npt.NDArray[Any]]) -> None:
        """Set the columns of the categories of some rows."""
        flat = block.reshape(-1)
        rows = np.arange(0, flat.size, self.layout.width)
        for name, found in codes.items():
            flat[rows + (found[low : low + CACHED_ROWS] + np.int64(self.layout.starts[name]))] = MARK

    def _numbers(self, name: str, part: pl.Series) -> tuple[int, npt.NDArray[np.float64]]:
        """The place of a column, its numbers or seconds, and it is noted where they are missing."""
        dtype = self.types[name]
        values = _polars.floats(part.cast(pl.Int32)) * DAY if dtype is pl.Date else _polars.floats(part)
        with np.errstate(over="ignore", invalid="ignore"):
            odd = part.null_count() > 0 or not np.isfinite(values.sum())
        if odd:
            gone = np.isnan(values)
            if gone.any():
                self.gaps.setdefault(name, []).append((self.n, gone))
            self.encoded &= bool(np.isfinite(values).all())
        least, most = part.min() or 0, part.max() or 0
        if dtype is pl.Int64 and max(-least, most) > MAX_EXACT:  # type: ignore[operator] # whole numbers
            self._spill(name)
        return self.layout.starts[name], values

    def _codes(self, part: pl.DataFrame, columns: dict[str, pl.Series]) -> dict[str, npt.NDArray[Any]]:
        """Codes of texts and booleans; texts of which too many differ are kept as they are from here on."""
        if not self.coded:
            return {}
        known = part.select([column.numbered for column in self.coded.values()]).get_columns()
        codes = {}
        for (name, column), numbers in zip(list(self.coded.items()), known, strict=True):
            found = column.of(columns[name], numbers)
            if found is None:
                self._spill(name)
                continue
            codes[name] = found
            whole = len(column.levels) == len(self.layout.levels.get(name, ()))
            self.encoded &= whole and not (found.dtype == np.int16 and bool((found < 0).any()))
        return codes

    def _spill(self, name: str) -> None:
        """From here on keep a column as it is read."""
        self.kept[name] = [_values(self._table(), name, np.arange(self.n))]
        self.encoded = False
        self.types.pop(name, None)
        self.coded.pop(name, None)

    def start(self, name: str) -> int:
        """The first column of the matrix that a column goes to, -1 where it goes to none."""
        return self.layout.starts.get(name, -1)

    def written(self, rows: int, gone: Sequence[str], kept: pl.DataFrame | None) -> None:
        """Take up rows that are in the matrix and among the codes already; `gone` are columns with missing cells."""
        stop = self.n + rows
        for name in gone:
            self.encoded = False
            if name in self.types:
                self.gaps.setdefault(name, []).append((self.n, np.isnan(self.matrix[self.n : stop, self.start(name)])))
        for name, parts in self.kept.items():
            assert kept is not None  # noqa: S101 - there are such columns
            parts.append(kept[name])
        self.n = stop

    def grow(self, least: int) -> None:
        """More rows came than were expected."""
        capacity = max(least, len(self.matrix) + len(self.matrix) // 2)
        matrix = zeros((capacity, self.layout.width), np.float64)
        matrix[: self.n] = self.matrix[: self.n]
        self.matrix = matrix
        for column in self.coded.values():
            column.codes = np.concatenate([column.codes[: self.n], np.empty(capacity - self.n, np.int16)])

    def _table(self) -> ReadTable:
        found = ReadTable(self.names, self.matrix[: self.n], self.layout, self.encoded)
        found.types, found.coded = dict(self.types), dict(self.coded)
        return found

    def done(self) -> ReadTable:
        """The whole table."""
        found = self._table()
        for name, parts in self.gaps.items():
            found.gaps[name] = np.zeros(self.n, bool)
            for start, gone in parts:
                found.gaps[name][start : start + len(gone)] = gone
        found.series = {name: pl.concat(parts) for name, parts in self.kept.items()}
        return found


def _laid_out(numbers: Sequence[str], coded: dict[str, Coded]) -> tuple[Layout, bool]:
    """Where columns go by the categories that are known, and whether all of them do; not where rows would be sparse."""
    starts, at = {name: i for i, name in enumerate(numbers)}, len(numbers)
    for name, column in coded.items():
        starts[name] = at
        at += len(column.levels)
    width = at + bool(coded)
    if is_thin(len(starts), width):
        return Layout({name: starts[name] for name in numbers}, {}, len(numbers)), False
    return Layout(starts, {name: list(column.levels) for name, column in coded.items()}, width), True


def _values(table: ReadTable, name: str, rows: Indices) -> pl.Series:
    """Cells of a column with the type of the file."""
    if name in table.series:
        return table.series[name].gather(rows)
    if name in table.coded:
        return table.coded[name].texts(table.coded[name].codes[rows])
    dtype = table.types[name]
    found = pl.Series(name, table.matrix[rows, table.layout.starts[name]], nan_to_null=True)
    return (found / DAY).cast(pl.Int32).cast(dtype) if dtype == pl.Date else found.cast(dtype)
