"""Long tables: a line for each item of an order, as rows of ones.

An order may begin in one block and end in the next: a summary keeps the lines of its first and its
last order, and merging joins them. So the rows do not depend on where the lines were cut.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, shown
from ...row_blocks import canonical_rows
from ...tables.baskets import levels_of
from ...tables.column import Table
from ...tables.frames import is_table
from ...tables.source import Block, Source
from .options import DimsOptions
from .summary import DimsPlan, DimsSummary, most_used

MISSING = ("a missing item",)
"""Stands for a missing item, which leaves its order out; no item is a tuple."""


class LinesPlan(NamedTuple):
    """Which columns say the order and the item, what is done about missing items, and what may be left out."""

    order: Any
    item: Any
    missing: str
    most: int | None = None
    memory: float = np.inf


class Lines(NamedTuple):
    """The order of each line, ascending, the number of its item, and what the items are called."""

    orders: Any
    items: Indices
    names: Sequence[Any]

    def part(self, lines: Any) -> "Lines":
        """Some of the lines."""
        return self._replace(orders=self.orders[lines], items=self.items[lines])


@dataclass(frozen=True, eq=False)
class BasketsSummary:
    """Baskets of the orders that begin and end in the blocks, and the lines of the first and the last order.

    `counts` says how many orders hold each item, heavy ones too; orders that lack an item are
    dropped.
    """

    states: DimsSummary
    counts: Counter[Any]
    open: Lines
    plan: LinesPlan

    @classmethod
    def of(cls, block: Block, plan: LinesPlan) -> "BasketsSummary":
        """Read a block of lines."""
        return cls.closed(lines_of(block.X, plan), plan)

    @classmethod
    def closed(cls, lines: Lines, plan: LinesPlan, every: bool = False) -> "BasketsSummary":
        """Close the orders of lines; the first and the last stay open unless `every` one is closed."""
        orders = lines.orders
        later = orders[1:] < orders[:-1]
        if later.any():
            row = int(np.argmax(later))
            raise InvalidInput(
                "lines in blocks must stand in the order of their orders, got"
                f" {shown(orders[row + 1])} after {shown(orders[row])}"
            )
        first = np.append(True, orders[1:] != orders[:-1])[: len(orders)]
        number = np.cumsum(first)
        inside = np.full(len(orders), every) | ((number > 1) & (number < number.max(initial=0)))
        own, names = lines.part(inside), list(lines.names)
        table = pattern(np.cumsum(first[inside]) - 1, own.items, len(names))
        total = table.shape[0]
        if MISSING in names:
            at = names.index(MISSING)
            known = np.delete(np.arange(len(names)), at)
            complete = np.flatnonzero(table[:, [at]].toarray()[:, 0] == 0)
            table, names = table[complete][:, known], [names[j] for j in known]
        frequency = np.bincount(table.indices, minlength=len(names))
        counts = Counter(dict(zip(names, frequency.tolist(), strict=True)))
        size, own_plan = table.shape[0], DimsPlan(None, plan.most, plan.memory)
        states = DimsSummary(
            table, np.ones(size), own_plan, names, rows=total, dropped=total - size
        )
        return cls(states.fold(), counts, lines.part(~inside), plan)

    @classmethod
    def merged(cls, parts: Sequence["BasketsSummary"]) -> "BasketsSummary":
        """Put together the summaries of blocks that follow each other."""
        items = [part.open.names[j] for part in parts for j in part.open.items]
        numbers: dict[Any, int] = {}
        codes = np.array([numbers.setdefault(item, len(numbers)) for item in items], np.int64)
        lines = Lines(np.concatenate([part.open.orders for part in parts]), codes, list(numbers))
        between = cls.closed(lines, parts[0].plan)
        every = [*parts, between]
        counts = sum((part.counts for part in every), Counter[Any]())
        states = DimsSummary.merged([arrange_items(part.states, list(counts)) for part in every])
        return cls(states, counts, between.open, between.plan)

    def summary(self) -> DimsSummary:
        """The baskets as rows, a column for each item, the most frequent first, of equals the first by name."""
        rest = self.closed(self.open, self.plan, every=True)
        whole = self.merged([replace(self, open=self.open.part(slice(0))), rest])
        states, counts, note = whole.states, +whole.counts, ""
        if states.dropped == states.rows:
            raise InvalidInput(
                "there are no orders with items; those with missing ones were left out"
            )
        names = sorted(in_order(counts), key=lambda name: -counts[name])
        if states.dropped:
            note = f"{states.dropped} of {states.rows} orders left out, as items are missing there"
        elif self.plan.missing == "category" and counts[None]:
            note = f"missing items of {counts[None]} orders taken as one more item"
        return replace(arrange_items(states, names), note=note, dropped=0)


def summary_of_lines(source: Source, k: Any, options: DimsOptions) -> DimsSummary:
    """Read a long table: all at once where it fits into half of the memory, else block by block."""
    plan = LinesPlan(options.order, options.item, options.missing)
    whole = source.whole(options.max_memory // 2)
    if whole is not None:
        lines = lines_of(whole.X, plan, coded=True)
        lines = lines.part(np.argsort(lines.orders, kind="stable"))
        return BasketsSummary.closed(lines, plan, every=True).summary()
    plan = plan._replace(most=most_used(k, options), memory=options.max_memory)
    work, merge = BasketsSummary.of, BasketsSummary.merged
    return source.fold("dims-1", work, plan, merge, canonical_rows(2)).summary()


def lines_of(X: Any, plan: LinesPlan, coded: bool = False) -> Lines:
    """The lines of a table; orders are numbered where they are `coded`."""
    if not is_table(X):
        raise InvalidInput(f"order and item name columns of a table, but X is {type(X).__name__}")
    table = Table.of(X)
    which, what = table.column(plan.order, "order"), table.column(plan.item, "item")
    if which is what:
        raise InvalidInput(f"order and item must be two columns, both are {shown(which.name)}")
    if plan.missing == "impute":
        raise InvalidInput(
            'missing must be "error", "drop" or "category" for lines of orders, got "impute"'
        )
    if which.missing is not None:
        row = int(np.argmax(which.missing))
        raise InvalidInput(
            f"column {shown(which.name)}, row {row}: is missing, there is no order to put the"
            " item in"
        )
    names, codes = levels_of(what)
    gone = codes < 0
    if gone.any() and plan.missing == "error":
        raise InvalidInput(
            f"column {shown(what.name)}, row {int(np.argmax(gone))}: is missing;"
            " missing='drop' leaves out its whole order, missing='category' counts it as one more"
            " item"
        )
    every = names.tolist()
    if gone.any():
        codes = np.where(gone, len(names), codes)
        every.append(None if plan.missing == "category" else MISSING)
    return Lines(levels_of(which).codes if coded else which.values, codes, every)


def pattern(rows: Indices, columns: Indices, width: int) -> Any:
    """A CSR table with ones at some places, and no more rows than these say."""
    height = int(rows.max(initial=-1)) + 1
    table = sp.csr_array((np.ones(len(rows), np.int32), (rows, columns)), shape=(height, width))
    table.sum_duplicates()
    table.data[:] = 1
    return table


def arrange_items(summary: DimsSummary, names: list[Any]) -> DimsSummary:
    """A summary whose columns are these items, among them all that its states hold."""
    if summary.names == names:
        return summary
    place = {name: j for j, name in enumerate(names)}
    number = np.array([place.get(name, 0) for name in summary.names or ()], np.int32)
    table = summary.table
    entries = table.data, number[table.indices], table.indptr
    table = sp.csr_array(entries, shape=(table.shape[0], len(names)))
    table.sort_indices()
    return replace(summary, table=table, names=names)


def in_order(names: Iterable[Any]) -> list[Any]:
    """Names in order, None last; names of different types by type and text."""
    try:
        return sorted(names, key=lambda name: (name is None, name))
    except TypeError:
        return sorted(names, key=lambda name: (type(name).__name__, str(name)))
