"""The distribution of many values: exact, or as far as counts in cells and a sketch tell."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._validation import Indices, InvalidInput, Vector, as_numbers
from ...tables.column import Table, nothing_whole, numbers_of_column
from ...tables.frames import height, is_table
from ...tables.schema import checked_weights
from ...tables.sketch import Sketch
from ...tables.source import Block

ROUNDING = 1e-12
"""Cumulative weights that differ by less than this share of the total count as equal."""
LARGEST = 1e100
"""Values are smaller than this in size, so that sums and squares of them stay finite."""


def check_size(x: Vector, name: str) -> None:
    """Refuse ascending numbers, squares of which would not be finite."""
    if max(-x[0], x[-1]) > LARGEST or 0 < x[-1] - x[0] < 1 / LARGEST:
        raise InvalidInput(
            f"{name} must be finite, at most {LARGEST:g} in size and not all closer than"
            f" {1 / LARGEST:g}, got {x[0]:g} to {x[-1]:g}; multiply them by a power of ten"
        )


@dataclass(frozen=True, eq=False)
class Empirical:
    """P(x), the share of values at or below x, at distinct sorted positions x (m,).

    Positions are the values themselves, or edges between which values were counted. before (m +
    1,): the weight of the values before each position, and of all. upto (m,): the weight up to and
    at each. dropped: missing values that were left out. error: by how much any cumulative weight
    may be off. area (m,): ∫ (P - P(x_t)) dx from each position to the next, where values lie
    between them; zero where none do.
    """

    x: Vector
    before: Vector
    upto: Vector
    dropped: int = 0
    error: float = 0.0
    area: Any = 0.0

    @classmethod
    def of(cls, x: Any, weights: Any = None, dropped: int = 0, error: float = 0.0) -> "Empirical":
        """The distribution of sorted values, weighted or not; equal ones become one.

        >>> P = Empirical.of(np.array([1.0, 2.0, 3.0, 3.0]))
        >>> P.x.tolist(), P.cdf([1.0, 2.5]).tolist(), P.quantile(0.5).tolist(), P.total
        ([1.0, 2.0, 3.0], [0.25, 0.5], 2.0, 4.0)
        """
        before = np.arange(x.size + 1.0) if weights is None else np.append(0.0, np.cumsum(weights))
        if not x.size and dropped:
            raise nothing_whole()
        if not 0 < before[-1] < np.inf:
            got = f"got {before[-1]:g}"
            raise InvalidInput(f"sample_weight must sum to a finite number above zero, {got}")
        check_size(x, "values")
        starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        if starts.size < x.size:
            before, x = before[np.append(starts, x.size)], x[starts]
        return cls(x, before, before[1:], dropped, error)

    @property
    def total(self) -> float:
        """The weight of all values."""
        return float(self.before[-1])

    @property
    def in_cells(self) -> bool:
        """Whether values lie between the positions."""
        return np.ndim(self.area) > 0

    def split(
        self, share: float, rng: np.random.Generator
    ) -> tuple["Empirical", "Empirical"] | None:
        """The distributions of the values but a random share, and of that share.

        None where one of them is empty.
        """
        weights = np.diff(self.before)
        whole = bool((weights == np.floor(weights)).all())
        drawn = rng.binomial(weights.astype(np.int64) if whole else 1, share, weights.size)
        out = drawn if whole else drawn * weights
        parts = weights - out, out
        if not all(part.any() for part in parts):
            return None
        most, rest = (Empirical.of(self.x[part > 0], part[part > 0]) for part in parts)
        return most, rest

    def share_before(self, at: Any) -> Vector:
        """The share of the values before these positions."""
        return np.asarray(self.before[at] / self.total)

    def cdf(self, x: npt.ArrayLike) -> Vector:
        """P at some x; where values lie in cells, at their edges."""
        levels = np.append(0.0, self.upto) / self.total
        return np.asarray(levels[np.searchsorted(self.x, x, "right")])

    def quantile(self, q: npt.ArrayLike) -> Vector:
        """The least value with P >= q."""
        at = self._reached(np.asarray(q) * self.total)
        return np.asarray(self.x[np.minimum(at, self.x.size - 1)])

    def _reached(self, weight: Any) -> Indices:
        """The position at which the cumulative weight reaches these."""
        return np.asarray(np.searchsorted(self.upto, weight - ROUNDING * self.total))

    def middles(self, low: Indices, high: Indices) -> Indices:
        """The position of the lower median of the values in each range of positions."""
        return np.clip(self._reached((self.before[low] + self.before[high]) / 2), low, high - 1)

    @cached_property
    def squares(self) -> tuple[Any, Any]:
        """The middle of what ∫ (P - P(x_t))² dx can be after each position, and how far it can be off.

        It lies between area² / width and area times the rise of P.
        """
        if not self.in_cells:
            return 0.0, 0.0
        width = np.maximum(np.diff(self.x, append=self.x[-1]), np.finfo(float).tiny)
        low = self.area**2 / width
        high = np.maximum(self.area * (self.before[1:] - self.upto) / self.total, low)
        return (low + high) / 2, (high - low) / 2

    def moments(self, starts: Indices) -> tuple[Vector, Vector, Vector, Vector]:
        """(P0, w, A, B) of the cells from the positions 0 = starts[0] < starts[1] ... to the next, at last to the largest.

        P0 is P at the start of a cell, w its width, A = ∫ (P - P0) dx and B = ∫ (P - P0)² dx; what
        is small is summed small, so that no digits are lost.
        """
        base = self.upto[starts] / self.total
        off = self.upto / self.total
        off -= np.repeat(base, np.diff(starts, append=self.x.size))
        width = np.zeros(self.x.size)
        np.subtract(self.x[1:], self.x[:-1], out=width[:-1])
        area = width * off
        square = area * off
        if self.in_cells:
            square += self.squares[0] + 2 * off * self.area
            area += self.area
        widths, areas, squares = (np.add.reduceat(part, starts) for part in (width, area, square))
        return base, widths, areas, squares

    def mean_difference(self, at: Vector, weights: Vector) -> float:
        """√(∫ (Q - P)² dP), the root mean squared difference at the values themselves, for Q with these masses."""
        levels = np.append(0.0, np.minimum(np.cumsum(weights), 1.0))
        off = levels[np.searchsorted(at, self.x, "right")] - self.upto / self.total
        return math.sqrt(float(np.diff(self.before) @ np.square(off)) / self.total)

    def largest_difference(self, at: Vector, weights: Vector) -> float:
        """The largest |Q - P|, the Kolmogorov distance."""
        levels = np.append(0.0, np.minimum(np.cumsum(weights), 1.0))
        after, until = self.cdf(at), self.share_before(np.searchsorted(self.x, at))
        return float(max(np.abs(levels[1:] - after).max(), np.abs(levels[:-1] - until).max()))


class Cells(NamedTuple):
    """One column counted at and between positions x (m,).

    `at` (m,) are the weights at each position, `between` (m - 1,) those strictly between it and the
    next, and `first` (m - 1,) Σ w (x_next - value) of these.
    """

    x: Vector
    at: Vector
    between: Vector
    first: Vector

    @classmethod
    def of(cls, values: Vector, weights: Vector | None, x: Vector) -> "Cells":
        """Count values in any order, all within the positions."""
        mass = np.ones(values.size) if weights is None else weights
        right = np.searchsorted(x, values)
        if right.size and (int(right.max()) >= x.size or values.min() < x[0]):
            raise InvalidInput(
                "the blocks of the second pass hold values that those of the first had not"
            )
        met = x[right] == values
        cell, inner = right[~met] - 1, mass[~met]
        gaps = inner * (x[cell + 1] - values[~met])
        sums = (
            (right[met], mass[met], x.size),
            (cell, inner, x.size - 1),
            (cell, gaps, x.size - 1),
        )
        return cls(x, *(np.bincount(*each).astype(np.float64) for each in sums))

    @classmethod
    def merged(cls, parts: Sequence["Cells"]) -> "Cells":
        """Add up counts at the same positions, in order."""
        sums = (np.add.reduce(each) for each in zip(*(part[1:] for part in parts), strict=True))
        return cls(parts[0].x, *sums)

    def empirical(self, dropped: int) -> Empirical:
        """The distribution of the values, exact at the positions."""
        steps = np.zeros(2 * self.x.size - 1)
        steps[0::2], steps[1::2] = self.at, self.between
        sums = np.cumsum(steps)
        before = np.concatenate([[0.0], sums[1::2], sums[-1:]])
        area = np.append(self.first, 0.0) / sums[-1]
        return Empirical(self.x, before, sums[0::2], dropped, area=area)


class BinsPlan(NamedTuple):
    """How blocks are counted: the rule for missing values, and in a second pass the positions of cells in each column."""

    missing: str = "error"
    positions: tuple[Vector, ...] | None = None


@dataclass(frozen=True, eq=False)
class BinsSummary:
    """Columns of values in blocks: a sketch of each, or in a second pass their counts in cells."""

    columns: tuple[Any, ...]
    rows: int
    dropped: int
    missing: str
    job = "bins"

    @classmethod
    def of(cls, block: Block, plan: BinsPlan) -> "BinsSummary":
        """Count the values of a block (n,) or (n, d)."""
        values, weights, dropped = read_values(block.X, block.weight, plan.missing)
        columns: list[Any] = [np.ascontiguousarray(column) for column in values.T]
        if plan.positions is None:
            columns = [Sketch.of(column, weights) for column in columns]
        else:
            each = zip(columns, plan.positions, strict=True)
            columns = [Cells.of(column, weights, x) for column, x in each]
        return cls(tuple(columns), height(block.X), dropped, plan.missing)

    @classmethod
    def merged(cls, parts: Sequence["BinsSummary"]) -> "BinsSummary":
        """Put together the summaries of blocks."""
        if len({len(part.columns) for part in parts}) > 1:
            raise InvalidInput("all blocks must have the same number of columns")
        each = zip(*(part.columns for part in parts), strict=True)
        columns = tuple(type(column[0]).merged(list(column)) for column in each)
        rows, dropped = sum(part.rows for part in parts), sum(part.dropped for part in parts)
        return cls(columns, rows, dropped, parts[0].missing)

    @property
    def exact(self) -> bool:
        """Whether no second pass is needed."""
        return all(getattr(column, "error", 0.0) == 0.0 for column in self.columns)

    def plan(self, edges: Callable[[Empirical], Vector | None] = lambda P: None) -> BinsPlan:
        """The plan of a second pass, which also counts between the edges of a grid on each distribution."""
        positions = []
        for P in self.distributions():
            inner = edges(P)
            positions.append(P.x if inner is None else np.union1d(P.x, inner.clip(P.x[0], P.x[-1])))
        return BinsPlan(self.missing, tuple(positions))

    def distributions(self) -> list[Empirical]:
        """The distribution of each column, as far as it is known."""
        return [
            column.empirical(self.dropped)
            if isinstance(column, Cells)
            else Empirical.of(column.x, column.weights, self.dropped, column.error)
            for column in self.columns
        ]


def distributions_in_memory(
    values: Any, sample_weight: Any = None, missing: str = "error"
) -> list[Empirical]:
    """The distribution of the values of each column; rows in which any is missing are left out."""
    x, weights, dropped = read_values(values, sample_weight, missing)
    if weights is None:
        return [Empirical.of(np.sort(column), None, dropped) for column in x.T]
    orders = [np.argsort(column, kind="stable") for column in x.T]
    each = zip(x.T, orders, strict=True)
    return [Empirical.of(column[order], weights[order], dropped) for column, order in each]


def numbers_of_values(values: Any, name: str = "values") -> npt.NDArray[Any]:
    """Values, or a table of several columns of them, as numbers, NaN where one is missing."""
    if not is_table(values):
        return as_numbers(values, name)
    return np.column_stack([numbers_of_column(column, name) for column in Table.of(values).columns])


def read_values(values: Any, weight: Any, missing: str) -> tuple[Vector, Vector | None, int]:
    """(x, w, dropped): finite numbers (n, d) and their weights, of the rows that have a weight and lack none."""
    x = np.asarray(numbers_of_values(values), np.float64)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or not x.size:
        raise InvalidInput(f"values must be numbers (n,), at least one, got shape {x.shape}")
    weights = checked_weights(weight, len(x))
    gone = np.isnan(x).any(axis=1)
    dropped = int(gone.sum())
    if dropped and missing == "error":
        raise InvalidInput(
            f"values has {dropped} missing of {len(x)}, the first at index {int(gone.argmax())};"
            ' fill them, or drop them by missing="drop"'
        )
    kept = ~gone if weights is None else ~gone & (weights > 0)
    if not kept.all():
        x, weights = x[kept], None if weights is None else weights[kept]
    return x, weights, dropped
