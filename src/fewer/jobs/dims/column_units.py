"""What dims chooses among: columns, or units of columns that are chosen whole, by number or by cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_integer,
    as_number,
    as_vector,
    read,
    shown,
    unmasked,
)
from ...codes import MOST_CODES, as_table
from ...constraints.dimension_sparse import ROUNDING, DimensionSparse
from ...spaces import Lattice, States
from ...tables.names import by_name, nearest, quoted
from .rows import Rows


def is_hashable(label: Any) -> bool:
    """Whether an object can be a key.

    >>> is_hashable("a"), is_hashable(("a", ["b"]))
    (True, False)
    """
    try:
        hash(label)
    except TypeError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """Units of columns: `number` (n,) says which each column belongs to, `labels` (U,) what the units are called."""

    number: Indices
    labels: Any

    @classmethod
    def of(cls, units: Any, names: Sequence[Any] | None, n: int, alone: Any = ()) -> "ColumnUnits":
        """From an array of labels, a mapping of names or a Series; columns without a label, and `alone`, are units."""
        given = by_name(units, names)
        if isinstance(given, Mapping):
            called = list(range(n)) if names is None else list(names)
            unknown = [name for name in given if name not in set(called)]
            if unknown:
                raise InvalidInput(
                    f"units: there is no column {shown(unknown[0])}{nearest(unknown[0], called)}"
                )
            labels = [given.get(name, name) for name in called]
        else:
            array = read(unmasked(given, "units"), "units")
            if array.shape != (n,):
                raise InvalidInput(
                    f"units must have one label for each of the {n} columns, got shape {array.shape}"
                )
            labels = array.tolist()
        for i, label in enumerate(labels):
            if not is_hashable(label):
                raise InvalidInput(
                    f"units must be labels such as numbers or strings, got {shown(label)} at {i}"
                )
        missing = [i for i, label in enumerate(labels) if label is None or label != label]
        if missing:
            raise InvalidInput(
                f"units must have a label for each column, got {labels[missing[0]]!r} at {missing[0]}"
            )
        order: dict[Any, int] = {}
        for i, label in enumerate(labels):
            order.setdefault((i,) if i in alone else label, len(order))
        number = np.array(
            [order[(i,) if i in alone else label] for i, label in enumerate(labels)], np.int64
        )
        named = np.empty(len(order), object)
        named[number] = labels
        return cls(number, named)

    def __len__(self) -> int:
        return len(self.labels)

    def of_columns(self, columns: Indices) -> Indices:
        """The units that hold any of these columns."""
        return np.unique(self.number[columns])

    def check_apart(self, include: Indices, exclude: Indices) -> None:
        """Refuse units that are held in any case and never."""
        both = np.intersect1d(include, exclude)
        if both.size:
            raise InvalidInput(
                f"include and exclude must not overlap, both hold columns of unit {shown(self.labels[both[0]])}"
            )

    def columns(self, units: Indices) -> Indices:
        """The columns of these units, sorted."""
        return np.flatnonzero(np.isin(self.number, units))

    def expanded(self, given: Any, names: Sequence[Any] | None) -> Any:
        """Labels of units among columns, where no column is called so, as the columns of the unit."""
        wanted = [given] if isinstance(given, str) else given
        try:
            wanted = list(wanted)
        except TypeError:
            return given
        called = list(names or [])
        place = {label: at for at, label in enumerate(self.labels) if isinstance(label, str)}
        found = [
            self.columns(np.array([place[one]])).tolist()
            if isinstance(one, str) and one in place and one not in called
            else [one]
            for one in wanted
        ]
        return [one for some in found for one in some]

    def rows(self, rows: Rows, objective: str) -> Rows:
        """The rows with a column for each unit: whether it is used (kl), or which of its states it is in (l2)."""
        count = len(self)
        if objective == "kl":
            entries = (
                np.ones(rows.table.nnz, np.int8),
                self.number[rows.table.indices],
                rows.table.indptr.copy(),
            )
            table = sp.csr_array(entries, shape=(rows.table.shape[0], count))
            table.sum_duplicates()
            table.data[:] = 1
            return Rows(
                as_table(table), rows.weights, rows.given, np.zeros(count, np.int64), (2,) * count
            )
        strides, shape = np.ones(rows.n, np.int64), []
        for unit in range(count):
            at = np.flatnonzero(self.number == unit)
            shape.append(self._size(unit, rows, at))
            strides[at[1:]] = np.cumprod([rows.shape[i] for i in at[:-1]])
        codes = (
            rows.table.data * strides[rows.table.indices]
        )  # digits of the state, which the sum puts together
        table = sp.csr_array(
            (codes, self.number[rows.table.indices], rows.table.indptr.copy()),
            (len(rows.given), count),
        )
        table.sum_duplicates()
        return Rows(
            as_table(table), rows.weights, rows.given, np.zeros(count, np.int64), tuple(shape)
        )

    def _size(self, unit: int, rows: Rows, at: Indices) -> int:
        """How many states a unit has."""
        size = 1
        for i in at:
            size *= rows.shape[i]
        if size > MOST_CODES:
            raise InvalidInput(
                f"units: the columns of {shown(self.labels[unit])} have {size:.3g} states together, more than the 2^31 "
                f"that objective='l2' can tell apart; use objective='kl'"
            )
        return size


def as_costs(
    costs: Any, names: Sequence[Any] | None, n: int, units: ColumnUnits | None, free: Any = ()
) -> Vector:
    """What each unit costs: a number for each column, added up, or by names of columns and labels of units.

    Columns in `free` need none.
    """
    given, called = by_name(costs, names), list(range(n)) if names is None else list(names)
    labels = called if units is None else list(units.labels)
    if isinstance(given, Mapping):
        place = {name: at for at, name in enumerate(called)}
        unit = {label: at for at, label in enumerate(labels)}
        number = np.arange(n) if units is None else units.number
        total = np.zeros(len(labels))
        seen = set(number[list(free)].tolist())
        for name, cost in given.items():
            at = number[place[name]] if name in place else unit.get(name)
            if at is None:
                raise InvalidInput(
                    f"costs: there is no column {shown(name)}{nearest(name, called)}"
                )
            total[at] += as_number(cost, f"costs of {shown(name)}", allow_equal=True)
            seen.add(int(at))
        lacking = [labels[i] for i in range(len(labels)) if i not in seen]
        if lacking:
            raise InvalidInput(f"costs has none for the column {quoted(lacking)}")
        return total
    vector = as_vector(given, (n,), "costs")
    if vector.min() < 0.0:
        raise InvalidInput(
            f"costs must not be negative, got {vector.min():g} at index {int(vector.argmin())}"
        )
    return (
        vector
        if units is None
        else np.bincount(units.number, vector, len(units)).astype(np.float64)
    )


@dataclass(frozen=True, eq=False)
class Limit:
    """How much may be chosen of n units: `most` of them, or units whose `costs` (n,) sum to at most `most`."""

    n: int
    most: float
    costs: Vector | None = None

    @classmethod
    def of(cls, k: Any, n: int, costs: Vector | None, what: str) -> "Limit":
        """Check k: a count, or where there are costs a budget that pays for something."""
        if costs is None:
            return cls(n, as_integer(k, "k", 1, n, what))
        limit = cls(n, as_number(k, "budget"), costs)
        if limit.size == 0:
            raise InvalidInput(
                f"a budget of {limit.most:g} pays for none of the {what}: the cheapest costs {costs.min():g}"
            )
        return limit

    @property
    def room(self) -> float:
        """What may be spent, rounding included."""
        return self.most if self.costs is None else self.most * (1.0 + ROUNDING)

    @property
    def size(self) -> int:
        """How many units may be chosen at most."""
        if self.costs is None:
            return int(self.most)
        return int(np.searchsorted(np.cumsum(np.sort(self.costs)), self.room, side="right"))

    def spent(self, units: Indices) -> float:
        """What units cost, or how many they are."""
        return float(len(units)) if self.costs is None else float(self.costs[units].sum())

    def after(self, held: Indices, free: Indices) -> "Limit":
        """What may be chosen of `free` beside the units that are held."""
        left = max(self.most - self.spent(held), 0.0)
        if self.costs is None:
            return Limit(len(free), min(int(left), len(free)))
        return Limit(len(free), left, self.costs[free])

    def first(self, order: Indices) -> Indices:
        """The first of units in this order that may be chosen together."""
        if self.costs is None:
            return order[: int(self.most)]
        kept, left = [], self.room
        for unit in order.tolist():
            if self.costs[unit] <= left:
                kept.append(unit)
                left -= float(self.costs[unit])
        return np.array(kept, np.int64)

    def on(self, space: Lattice | States) -> DimensionSparse:
        """The constraint."""
        if self.costs is None:
            return DimensionSparse(space, int(self.most))
        return DimensionSparse(space, costs=self.costs, budget=self.most)

    def reaches(self, table: Any) -> bool:
        """Whether any row of a CSR table can be covered."""
        if self.costs is None:
            return bool(np.diff(table.indptr).min() <= self.most)
        used = sp.csr_array((np.ones(table.nnz), table.indices, table.indptr), shape=table.shape)
        return bool((used @ self.costs).min() <= self.room)
