"""Bins of values in blocks: a sketch that is exact up to some hundred thousand distinct values, then exact counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._validation import Indices, InvalidInput, Vector, as_numbers
from ...result import Result
from ...tables.frames import is_table
from ...tables.schema import checked_weights
from ...tables.sketch import Sketch
from ...tables.source import Block
from ...tables.table import Table, numbers_of_column
from .empirical import ROUNDING, Empirical, as_values, column_of

EMPTY = 1e-14
"""Shares that are none but for rounding."""


@dataclass(frozen=True, eq=False)
class BinsSummary:
    """What blocks of values leave for `bins`: a sketch of each column; `rows` and missing values are counted."""

    columns: tuple[Sketch, ...]
    rows: int
    dropped: int = 0
    missing: str = "error"
    edges: tuple[Any, ...] | None = None
    job = "bins"

    @classmethod
    def of(cls, block: Block, missing: str = "error") -> "BinsSummary":
        """Of a block: values (n,), or a table with a column for each."""
        columns, weights, gone = columns_of_values(block, missing)
        return cls(
            tuple(Sketch.of(column, weights) for column in columns),
            len(gone),
            int(gone.sum()),
            missing,
        )

    @classmethod
    def merged(cls, parts: Sequence["BinsSummary"]) -> "BinsSummary":
        """Of all their blocks."""
        if len({len(part.columns) for part in parts}) > 1:
            raise InvalidInput("all blocks must have the same number of columns")
        each = zip(*(part.columns for part in parts), strict=True)
        rows, dropped = sum(part.rows for part in parts), sum(part.dropped for part in parts)
        return cls(
            tuple(Sketch.merged(list(column)) for column in each), rows, dropped, parts[0].missing
        )

    @property
    def exact(self) -> bool:
        """Whether all values are counted."""
        return all(column.error == 0.0 for column in self.columns)

    def distributions(self) -> list[Empirical]:
        """What is known of each column."""
        for column in self.columns:
            if not column.x.size:
                raise InvalidInput("there are no values with weight")
        return [
            Empirical.weighted(column.x, column.weights, self.dropped) for column in self.columns
        ]

    def judged(self, result: Result, column: int) -> Result:
        """A result on the sketch with what is proven of all values: ‖Q - P‖ differs by at most rank error √range."""
        sketch = self.columns[column]
        if sketch.error == 0.0:
            return result
        rank = sketch.error / sketch.total
        off = rank * math.sqrt(sketch.high - sketch.low)
        low = max(math.sqrt(max(result.bound or 0.0, 0.0)) - off, 0.0) ** 2
        most = (math.sqrt(max(result.value, 0.0)) + off) ** 2
        note = f"ranks are off by at most {rank:.2g} (proven), so the value is at most {most:.6g}"
        notes = "; ".join(filter(None, (result.note, note)))
        return replace(result, bound=low, value_se=most - result.value, note=notes)


def columns_of_values(block: Block, missing: str) -> tuple[list[Vector], Vector | None, Any]:
    """The columns of a block, the weights, and which rows were dropped."""
    X = block.X
    if is_table(X) and getattr(X, "ndim", 1) == 1:
        X = column_of(X, "values")
    array = as_numbers(X, "values") if not is_table(X) else table_of(X)
    array = array[:, None] if array.ndim == 1 else array
    weight = checked_weights(block.weight, len(array), None)
    gone = np.isnan(array).any(axis=1) if array.dtype.kind == "f" else np.zeros(len(array), bool)
    if gone.any() and missing == "error":
        as_values(array[:, int(np.argmax(np.isnan(array).any(axis=0)))], missing, "values")
    kept = array[~gone] if gone.any() else array
    if kept.size and not (np.isfinite(kept.min()) and np.isfinite(kept.max())):
        raise InvalidInput(
            f"values must be finite, got one infinite in row {int(np.argmax(np.isinf(array).any(axis=1)))}"
        )
    weight = weight if weight is None else weight[~gone]
    return [np.ascontiguousarray(column, np.float64) for column in kept.T], weight, gone


def table_of(X: Any) -> Any:
    """The columns of a table as numbers, NaN where one is missing."""
    return np.column_stack([numbers_of_column(column, "values") for column in Table.of(X).columns])


@dataclass(frozen=True, eq=False)
class Cells:
    """One column counted between edges e (m,).

    `between` (m - 1,) are the weights strictly between each edge and the next, `at` (m,) those at
    each, and `first` (m - 1,) Σ w (e_next - x) of those between.
    """

    edges: Vector
    between: Vector
    at: Vector
    first: Vector
    grid: Any = None

    @classmethod
    def of(cls, values: Vector, weights: Vector | None, edges: Vector) -> "Cells":
        """Of values in any order, all within the edges."""
        m = edges.size
        mass = np.ones(values.size) if weights is None else weights
        right = np.searchsorted(edges, values)
        if right.size and (int(right.max()) >= m or values.min() < edges[0]):
            raise InvalidInput(
                "the blocks of the second pass hold values that those of the first had not"
            )
        met = edges[right] == values
        cell = right[~met] - 1
        gap = mass[~met] * (edges[cell + 1] - values[~met])
        sums = ((cell, mass[~met], m - 1), (right[met], mass[met], m), (cell, gap, m - 1))
        return cls(edges, *(np.bincount(*each).astype(np.float64) for each in sums))

    @classmethod
    def merged(cls, parts: Sequence["Cells"]) -> "Cells":
        """The sums, in order."""
        between, at, first = (
            np.add.reduce([getattr(part, name) for part in parts])
            for name in ("between", "at", "first")
        )
        return cls(parts[0].edges, between, at, first, parts[0].grid)


@dataclass(frozen=True, eq=False)
class CountedSummary:
    """What a second pass leaves: exact counts between the values of the first pass's sketches."""

    columns: tuple[Cells, ...]
    rows: int
    dropped: int = 0
    missing: str = "error"
    job = "bins"
    exact = True

    @classmethod
    def of(cls, block: Block, plan: BinsSummary) -> "CountedSummary":
        """Of a block, by what the first pass found."""
        columns, weights, gone = columns_of_values(block, plan.missing)
        grids = [None] * len(plan.columns) if plan.edges is None else plan.edges
        edges = [_cell_edges(c, grid) for c, grid in zip(plan.columns, grids, strict=True)]
        if weights is not None:
            columns, weights = [column[weights > 0] for column in columns], weights[weights > 0]
        each = zip(columns, edges, grids, strict=True)
        cells = tuple(replace(Cells.of(x, weights, e), grid=grid) for x, e, grid in each)
        return cls(cells, len(gone), int(gone.sum()), plan.missing)

    @classmethod
    def merged(cls, parts: Sequence["CountedSummary"]) -> "CountedSummary":
        """Of all their blocks."""
        each = zip(*(part.columns for part in parts), strict=True)
        rows, dropped = sum(part.rows for part in parts), sum(part.dropped for part in parts)
        return cls(
            tuple(Cells.merged(list(column)) for column in each), rows, dropped, parts[0].missing
        )

    def distributions(self) -> list[Empirical]:
        """P of each column: exact at the edges, and its mean between them."""
        return [counted(cells, self.dropped) for cells in self.columns]

    def judged(self, result: Result, column: int) -> Result:
        """The value is exact but for where values lie inside cells, which is bounded."""
        P = self.distributions()[column]
        assert isinstance(P, Counted)  # noqa: S101 - made above
        half = math.ldexp(P.unknown, P.exponent)
        if half <= 0.0:
            return result
        note = (
            f"the value is exact to within {half:.2g}: values are counted in {P.x.size - 1} cells"
        )
        bound = None if result.bound is None else max(result.bound - half, 0.0)
        return replace(
            result, bound=bound, value_se=half, note="; ".join(filter(None, (result.note, note)))
        )


def _cell_edges(sketch: Sketch, grid: Any) -> Vector:
    """Between what values are counted: those of a sketch, and the edges of a grid that lie among them."""
    inner = [] if grid is None else grid[(grid > sketch.low) & (grid < sketch.high)]
    return np.unique(np.concatenate([[sketch.low], sketch.x, [sketch.high], inner]))


@dataclass(frozen=True, eq=False)
class Counted(Empirical):
    """P of values that were counted in cells: exact at the edges `x`, with its exact integral between them.

    `until` (m,) is the share before each edge, `upto` (m,) that up to it, `area` (m - 1,) = ∫ (P -
    upto_t) dx over each cell, in the unit of `exponents`. ∫ (P - upto_t)² lies between area² /
    width and area x rise.
    """

    until: Vector = None  # type: ignore[assignment] # always given; fields of the base have defaults
    upto: Vector = None  # type: ignore[assignment] # always given; fields of the base have defaults
    area: Vector = None  # type: ignore[assignment] # likewise

    @property
    def distinct(self) -> int:
        """How many edges there are: no fewer values than that."""
        return int(self.x.size)

    def share_before(self, at: Any) -> Vector:
        """The share of the values before these edges."""
        return np.asarray(np.append(self.until, 1.0)[np.asarray(at)])

    def cdf(self, x: Any) -> Vector:
        """P at some edges."""
        return np.asarray(np.append(0.0, self.upto)[np.searchsorted(self.x, x, "right")])

    def quantile(self, q: Any) -> Vector:
        """The least edge with P >= q."""
        at = np.searchsorted(self.upto, np.asarray(q) - ROUNDING)
        return np.asarray(self.x[np.clip(at, 0, self.x.size - 1)])

    def between(self, cuts: Indices) -> Vector:
        """The share of the values from each of these edges to before the next."""
        shares = np.diff(self.share_before(cuts))
        return np.where(shares > EMPTY, shares, 0.0)

    def middles(self, low: Indices, high: Indices) -> Indices:
        """The edge that is nearest above the median of the values in each range of edges."""
        half = (self.share_before(low) + self.share_before(high)) / 2
        return np.clip(np.searchsorted(self.upto, half - ROUNDING), low, high - 1)

    @cached_property
    def _cells(self) -> tuple[Vector, Vector]:
        """The middle of what ∫ (P - upto_t)² can be in each cell, and how far it can be off."""
        width = np.maximum(self.steps(self.x), 1e-300)
        low = self.area**2 / width
        high = np.maximum(self.area * (self.until[1:] - self.upto[:-1]), low)
        return (low + high) / 2, (high - low) / 2

    @property
    def unknown(self) -> float:
        """How far ∫ (Q - P)² dx can be off, in the unit of `exponents`."""
        return float(self._cells[1].sum())

    def moments(self, starts: Indices) -> tuple[Vector, Vector, Vector, Vector]:
        """The same as of `Empirical`, of cells that hold several of these."""
        base = self.upto[starts]
        owner = np.repeat(np.arange(starts.size), np.diff(np.append(starts, self.x.size - 1)))
        cells = slice(int(starts[0]), self.x.size - 1)
        width, area, second = self.steps(self.x)[cells], self.area[cells], self._cells[0][cells]
        off = self.upto[cells] - base[owner]
        sums = (width, area + off * width, second + 2 * off * area + off * off * width)
        widths, firsts, seconds = (
            np.bincount(owner, values, starts.size).astype(np.float64) for values in sums
        )
        return base, widths, firsts, seconds


def counted(cells: Cells, dropped: int) -> Counted:
    """The distribution of counted values."""
    upto = np.cumsum(cells.at + np.append(0.0, cells.between))
    total = float(upto[-1])
    until = (upto - cells.at) / total
    found = Counted(cells.edges, None, total, dropped, until, upto / total, np.zeros(0))
    return replace(found, area=np.ldexp(cells.first / total, -found.exponent))
