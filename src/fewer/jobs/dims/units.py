"""Units of columns, which are chosen whole, and what they cost."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import (
    Indices,
    InvalidInput,
    Vector,
    as_number,
    as_units,
    as_vector,
    read,
    shown,
)
from ...codes import MOST_CODES, as_table
from ...tables.names import by_name, nearest, positions, quoted


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """Units of columns: `number` (n,) says which each column belongs to, `labels` (U,) what the units are called.

    `labels` is None where each column is a unit.
    """

    number: Indices
    labels: Any = None

    @classmethod
    def of(
        cls, units: Any, names: Sequence[Any] | None, n: int, alone: Collection[int] = ()
    ) -> "ColumnUnits":
        """From an array of labels, a mapping of names or a Series.

        Columns without a label, and `alone`, are units.
        """
        if units is None:
            return cls(np.arange(n))
        labels = labels_of_columns(by_name(units, names), names, n)
        order: dict[Any, int] = {}
        keys = [(i,) if i in alone else label for i, label in enumerate(labels)]
        number = np.array([order.setdefault(key, len(order)) for key in keys], np.int64)
        named = np.empty(len(order), object)
        named[number] = labels
        return cls(number, named)

    def __len__(self) -> int:
        return int(self.number.max()) + 1

    @property
    def words(self) -> str:
        """The plural of what is counted."""
        return "columns" if self.labels is None else "units"

    def columns(self, units: Indices) -> Indices:
        """The columns of these units, sorted."""
        return np.flatnonzero(np.isin(self.number, units))

    def holding(self, columns: Any, names: Sequence[Any] | None, option: str) -> Indices:
        """The units of columns by name or number, or by the label of their unit where no column is called so."""
        if isinstance(columns, tuple) and not columns:
            return np.zeros(0, np.int64)
        if self.labels is not None:
            each = zip(self.labels[self.number[::-1]], range(len(self.number))[::-1], strict=True)
            first = dict(each)
            called = {x for x in first if isinstance(x, str)} - set(names or ())
            wanted = [columns] if isinstance(columns, str) else columns
            if isinstance(wanted, Collection):
                columns = [first[x] if isinstance(x, str) and x in called else x for x in wanted]
        at = as_units(positions(columns, names, option), len(self.number), "columns", option)
        return np.unique(self.number[at])

    def rows(self, rows: Any, objective: str) -> Any:
        """The rows with a column for each unit: whether it is used (kl), or which of its states it is in (l2)."""
        count, table = len(self), rows.table
        shape, strides = [2] * count, np.zeros(rows.n, np.int64)
        codes: Any = np.ones(table.nnz, np.int8)
        if objective == "l2":  # digits of the state, which the sum puts together
            strides[:] = 1
            for unit in range(count):
                at = self.columns(np.array([unit]))
                shape[unit] = self._size(unit, rows, at)
                strides[at[1:]] = np.cumprod([rows.shape[i] for i in at[:-1]])
            codes = table.data * strides[table.indices]
        entries = codes, self.number[table.indices], table.indptr.copy()
        joined = sp.csr_array(entries, shape=(table.shape[0], count))
        joined.sum_duplicates()
        if objective == "kl":
            joined.data[:] = 1
        origin = np.zeros(count, np.int64)
        return replace(rows, table=as_table(joined), origin=origin, shape=tuple(shape))

    def _size(self, unit: int, rows: Any, columns: Indices) -> int:
        """How many states a unit has."""
        size: int = rows.size(columns)
        if size > MOST_CODES:
            raise InvalidInput(
                f"units: the columns of {shown(self.labels[unit])} have {size:.3g} states together,"
                " more than the 2^31 that objective='l2' can tell apart; use objective='kl'"
            )
        return size


def labels_of_columns(units: Any, names: Sequence[Any] | None, n: int) -> list[Any]:
    """The label of the unit of each column: its own name where a mapping has none."""
    if isinstance(units, Mapping):
        called = list(range(n)) if names is None else list(names)
        unknown = [name for name in units if name not in set(called)]
        if unknown:
            raise InvalidInput(
                f"units: there is no column {shown(unknown[0])}{nearest(unknown[0], called)}"
            )
        labels = [units.get(name, name) for name in called]
    else:
        array = read(units, "units")
        if array.shape != (n,):
            raise InvalidInput(
                f"units must have one label for each of the {n} columns, got shape {array.shape}"
            )
        labels = array.tolist()
    for i, label in enumerate(labels):
        try:
            hash(label)
        except TypeError:
            raise InvalidInput(
                f"units must be labels such as numbers or strings, got {shown(label)} at {i}"
            ) from None
        if label is None or label != label:
            raise InvalidInput(f"units must have a label for each column, got {label!r} at {i}")
    return labels


def as_costs(costs: Any, names: Sequence[Any] | None, units: ColumnUnits, free: Indices) -> Vector:
    """What each unit costs: a number for each column, added up, or by names of columns and labels of units.

    Columns in `free` need none.
    """
    costs, number = by_name(costs, names), units.number
    if not isinstance(costs, Mapping):
        vector = as_vector(costs, number.shape, "costs")
        if vector.min() < 0.0:
            raise InvalidInput(
                f"costs must not be negative, got {vector.min():g} at index {int(vector.argmin())}"
            )
        return np.bincount(number, vector, len(units)).astype(np.float64)
    called = list(range(len(number))) if names is None else list(names)
    labels = called if units.labels is None else list(units.labels)
    unit = {label: at for at, label in enumerate(labels)}
    unit |= {name: int(at) for name, at in zip(called, number, strict=True)}
    total, lacking = np.zeros(len(units)), set(range(len(units))) - set(number[free].tolist())
    for name, cost in costs.items():
        if name not in unit:
            raise InvalidInput(f"costs: there is no column {shown(name)}{nearest(name, called)}")
        total[unit[name]] += as_number(cost, f"costs of {shown(name)}", allow_equal=True)
        lacking.discard(unit[name])
    if lacking:
        names_lacking = [labels[i] for i in sorted(lacking)]
        raise InvalidInput(f"costs has none for the column {quoted(names_lacking)}")
    return total
