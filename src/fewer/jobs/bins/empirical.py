"""The distribution of many values: exact, or as far as counts in cells and a sketch tell."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._validation import Indices, InvalidInput, Vector, as_numbers
from ...tables.column import Table, nothing_whole, numbers_of_column
from ...tables.frames import is_table
from ...tables.schema import checked_weights
from ...tables.sketch import Sketch
from ...tables.source import Block

PIECE = 2**19
"""Values that are looked at together; what is made from them takes a few times 4 MB."""
ROUNDING = 1e-12
"""Cumulative weights that differ by less than this share of the total count as equal."""
SMALLEST_WIDTH = 1e-300
"""Cells less wide than this share of the range are told apart from nothing, not from each other."""


def exponents_of(x: Vector) -> tuple[int, int]:
    """(a, b): differences of sorted x times 2**-a are finite, and times 2**-(a + b) their sum is in 1..2."""
    first = int(np.frexp(max(abs(x[0]), abs(x[-1])))[1]) + 1
    span = float(np.diff(np.ldexp(x[[0, -1]], -first))[0])
    return first, int(np.frexp(span)[1]) - 1 if span else 0


def widths_of(low: Vector, high: Vector, exponents: tuple[int, int]) -> Vector:
    """How far it is from each low to each high, times 2**-(a + b)."""
    first, further = exponents
    return np.asarray(np.ldexp(np.ldexp(high, -first) - np.ldexp(low, -first), -further))


@dataclass(frozen=True, eq=False)
class Empirical:
    """P(x), the share of values at or below x, at distinct sorted positions x (m,).

    Positions are the values themselves, or edges between which values were counted. before (m +
    1,): the weight of the values before each position, and of all. upto (m,): the weight up to and
    at each. dropped: missing values that were left out. error: by how much any cumulative weight
    may be off. area (m - 1,): ∫ (P - P(x_t)) dx over each cell, in the unit of `exponents`, where
    values lie between the positions; None where none do.
    """

    x: Vector
    before: Vector
    upto: Vector
    dropped: int = 0
    error: float = 0.0
    area: Vector | None = None

    @classmethod
    def of(cls, values: Any, sample_weight: Any = None, missing: str = "error") -> "Empirical":
        """Sort values, weighted or not; those without weight are left out.

        >>> P = Empirical.of([3.0, 1.0, 3.0, 2.0])
        >>> P.x.tolist(), P.cdf([1.0, 2.5]).tolist(), P.quantile(0.5).tolist(), P.total
        ([1.0, 2.0, 3.0], [0.25, 0.5], 2.0, 4.0)
        """
        columns = cls.of_columns(values, sample_weight, missing)
        if len(columns) == 1:
            return columns[0]
        some = ", ".join(map(str, Table.of(values).names[:8]))
        raise InvalidInput(
            f"values must be one column, got {len(columns)} ({some}); give one of them"
        )

    @classmethod
    def of_columns(
        cls, values: Any, sample_weight: Any = None, missing: str = "error"
    ) -> list["Empirical"]:
        """Sort the values of each column; rows in which any is missing are left out."""
        x, kept = read_values(values, missing)
        dropped = 0 if kept is None else int((~kept).sum())
        if not x.size:
            raise nothing_whole()
        if sample_weight is None:
            before = np.arange(len(x) + 1.0)
            return [cls.from_sorted(np.sort(column), before, dropped) for column in x.T]
        weights = np.asarray(checked_weights(sample_weight, len(x) + dropped, None))
        weights = weights if kept is None else weights[kept]
        if not weights.max() > 0 or not np.isfinite(weights.sum()):
            raise InvalidInput(
                f"sample_weight must have a positive, finite sum, got {weights.sum():g}"
            )
        columns = []
        for column in x.T:
            order = np.argsort(column, kind="stable")
            order = order[weights[order] > 0]
            before = np.append(0.0, np.cumsum(weights[order]))
            columns.append(cls.from_sorted(column[order], before, dropped))
        return columns

    @classmethod
    def from_sorted(
        cls, x: Vector, before: Vector, dropped: int = 0, error: float = 0.0
    ) -> "Empirical":
        """The distribution of sorted values, with the weight before each and of all.

        Equal ones become one.
        """
        starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        before = before[np.append(starts, x.size)]
        return cls(x[starts], before, before[1:], dropped, error)

    @property
    def total(self) -> float:
        """The weight of all values."""
        return float(self.before[-1])

    @cached_property
    def exponents(self) -> tuple[int, int]:
        """Powers of two by which differences of the values stay finite and near one."""
        return exponents_of(self.x)

    @property
    def exponent(self) -> int:
        """The integrals of this class times 2**exponent are in the units of the values."""
        return sum(self.exponents)

    def width(self, low: Vector, high: Vector) -> Vector:
        """How far it is from some values to others, in the unit of `exponents`."""
        return widths_of(low, high, self.exponents)

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
        parts = [(self.x[part > 0], part[part > 0]) for part in (weights - out, out)]
        if not all(x.size for x, _ in parts):
            return None
        most, rest = (Empirical.from_sorted(x, np.append(0.0, np.cumsum(w))) for x, w in parts)
        return most, rest

    def share_before(self, at: Any) -> Vector:
        """The share of the values before these positions."""
        return np.asarray(self.before[at] / self.total)

    def cdf(self, x: npt.ArrayLike) -> Vector:
        """P at some x; where values lie in cells, at their edges."""
        at = np.searchsorted(self.x, x, "right")
        return np.asarray(np.where(at > 0, self.upto[at - 1], 0.0) / self.total)

    def quantile(self, q: npt.ArrayLike) -> Vector:
        """The least value with P >= q."""
        return np.asarray(
            self.x[np.minimum(self._reached(np.asarray(q) * self.total), self.x.size - 1)]
        )

    def _reached(self, weight: Any) -> Indices:
        """The position at which the cumulative weight reaches these."""
        return np.asarray(np.searchsorted(self.upto, weight - ROUNDING * self.total))

    def between(self, cuts: Indices) -> Vector:
        """The weight of the values from each of these positions to before the next."""
        return np.diff(self.before[cuts])

    def middles(self, low: Indices, high: Indices) -> Indices:
        """The position of the lower median of the values in each range of positions."""
        return np.clip(self._reached((self.before[low] + self.before[high]) / 2), low, high - 1)

    @cached_property
    def squares(self) -> tuple[Vector, Vector] | None:
        """The middle of what ∫ (P - P(x_t))² dx can be in each cell, and how far it can be off.

        None without cells.

        It lies between area² / width and area times the rise of P.
        """
        if self.area is None:
            return None
        width = np.maximum(self.width(self.x[:-1], self.x[1:]), SMALLEST_WIDTH)
        rise = (self.before[1:-1] - self.upto[:-1]) / self.total
        low = self.area**2 / width
        high = np.maximum(self.area * rise, low)
        return (low + high) / 2, (high - low) / 2

    @property
    def unknown(self) -> float:
        """How far ∫ (Q - P)² dx can be off for values that lie in cells, in the unit of `exponents`."""
        return 0.0 if self.squares is None else float(self.squares[1].sum())

    def moments(self, starts: Indices) -> tuple[Vector, Vector, Vector, Vector]:
        """(P0, w, A, B) of the cells from each position x[start] to the next, the last one up to the largest value.

        P0 is P at the start of a cell, w its width, A = ∫ (P - P0) dx and B = ∫ (P - P0)² dx; what
        is small is summed small, so that no digits are lost.
        """
        base = self.upto[starts] / self.total
        sums = np.zeros((3, starts.size))
        for low in range(int(starts[0]), self.x.size - 1, PIECE):
            high = min(low + PIECE, self.x.size - 1)
            first = int(np.searchsorted(starts, low, "right")) - 1
            last = int(np.searchsorted(starts, high))
            cuts = np.maximum(starts[first:last], low) - low
            width = self.width(self.x[low:high], self.x[low + 1 : high + 1])
            off = self.upto[low:high] / self.total
            off -= np.repeat(base[first:last], np.diff(np.append(cuts, high - low)))
            parts = [width, width * off, width * off * off]
            if self.area is not None and self.squares is not None:
                area = self.area[low:high]
                parts[1] += area
                parts[2] += self.squares[0][low:high] + 2 * off * area
            for total, part in zip(sums, parts, strict=True):
                total[first:last] += np.add.reduceat(part, cuts)
        return base, sums[0], sums[1], sums[2]

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


@dataclass(frozen=True, eq=False)
class Cells:
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
        gap = inner * (x[cell + 1] - values[~met])
        sums = ((right[met], mass[met], x.size), (cell, inner, x.size - 1), (cell, gap, x.size - 1))
        return cls(x, *(np.bincount(*each).astype(np.float64) for each in sums))

    @classmethod
    def merged(cls, parts: Sequence["Cells"]) -> "Cells":
        """Add up counts at the same positions, in order."""
        names = ("at", "between", "first")
        sums = (np.add.reduce([getattr(part, name) for part in parts]) for name in names)
        return cls(parts[0].x, *sums)

    def empirical(self, dropped: int) -> Empirical:
        """The distribution of the values, exact at the positions."""
        steps = np.zeros(2 * self.x.size - 1)
        steps[0::2], steps[1::2] = self.at, self.between
        sums = np.cumsum(steps)
        before = np.concatenate([[0.0], sums[1::2], sums[-1:]])
        P = Empirical(self.x, before, sums[0::2], dropped)
        return replace(P, area=np.ldexp(self.first / P.total, -P.exponent))


@dataclass(frozen=True, eq=False)
class BinsSummary:
    """Columns of values in blocks: a sketch of each, or in a second pass their counts in cells.

    `positions` are those of the cells, where they are not those of the sketches.
    """

    columns: tuple[Any, ...]
    rows: int
    dropped: int = 0
    missing: str = "error"
    positions: tuple[Vector, ...] | None = None
    job = "bins"

    @classmethod
    def of(cls, block: Block, plan: "str | BinsSummary") -> "BinsSummary":
        """Count the values of a block (n,) or (n, d).

        `plan` is the rule for missing ones, or the first pass.
        """
        first, missing = (None, plan) if isinstance(plan, str) else (plan, plan.missing)
        values, kept = read_values(block.X, missing)
        dropped = 0 if kept is None else int((~kept).sum())
        rows = len(values) + dropped
        weights = checked_weights(block.weight, rows, None)
        if weights is not None:
            weights = weights if kept is None else weights[kept]
            values, weights = values[weights > 0], weights[weights > 0]
        columns = [np.ascontiguousarray(column) for column in values.T]
        counts: list[Any]
        if first is None:
            counts = [Sketch.of(column, weights) for column in columns]
        else:
            each = zip(columns, first.cells, strict=True)
            counts = [Cells.of(column, weights, x) for column, x in each]
        return cls(tuple(counts), rows, dropped, missing)

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

    @property
    def cells(self) -> tuple[Vector, ...]:
        """The positions between which a second pass counts values."""
        return tuple(c.x for c in self.columns) if self.positions is None else self.positions

    def with_cells(self, edges: Callable[[Empirical], Vector | None]) -> "BinsSummary":
        """The plan of a second pass that also counts between the edges of a grid, which depend on the distribution."""
        positions = []
        for P in self.distributions():
            inner = edges(P)
            positions.append(P.x if inner is None else np.union1d(P.x, inner.clip(P.x[0], P.x[-1])))
        return replace(self, positions=tuple(positions))

    def distributions(self) -> list[Empirical]:
        """The distribution of each column, as far as it is known."""
        distributions = []
        for column in self.columns:
            if not column.x.size:
                raise InvalidInput("there are no values with weight")
            if isinstance(column, Cells):
                distributions.append(column.empirical(self.dropped))
            else:
                before = np.append(0.0, np.cumsum(column.weights))
                distributions.append(
                    Empirical.from_sorted(column.x, before, self.dropped, column.error)
                )
        return distributions


def numbers_of_values(values: Any) -> npt.NDArray[Any]:
    """Values, or a table of several columns of them, as numbers, NaN where one is missing."""
    if not is_table(values):
        return as_numbers(values, "values")
    columns = Table.of(values).columns
    return np.column_stack([numbers_of_column(column, "values") for column in columns])


def read_values(values: Any, missing: str) -> tuple[Vector, npt.NDArray[np.bool_] | None]:
    """(x, kept): finite numbers (n, d).

    Where rows with missing ones are dropped, which rows were kept.
    """
    array = numbers_of_values(values)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        raise InvalidInput(f"values must be numbers (n,), at least one, got shape {array.shape}")
    with np.errstate(over="ignore"):  # a longdouble beyond float64 becomes infinite
        x = array.astype(np.float64, copy=False)
    if np.isfinite(x.min()) and np.isfinite(x.max()):
        return x, None
    gone = np.isnan(x).any(axis=1)
    if gone.any() and missing == "error":
        raise InvalidInput(
            f"values has {int(gone.sum())} missing of {len(x)}, the first at index"
            f" {int(np.argmax(gone))}; "
            f'fill them, or drop them by missing="drop"'
        )
    infinite = np.isinf(x).any(axis=1)
    if infinite.any():
        at = int(np.argmax(infinite))
        raise InvalidInput(f"values must be finite, got {x[at, np.isinf(x[at])][0]} at index {at}")
    kept = np.asarray(~gone)
    return x[kept], kept
