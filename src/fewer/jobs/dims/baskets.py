"""Long tables in blocks: a line for each item of an order, in the order of the orders.

An order may begin in one block and end in the next: a summary keeps the items of its first and its
last order apart, and merging joins them. So the states do not depend on where the lines were cut.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._validation import Indices, InvalidInput, shown
from ...row_blocks import canonical_rows
from ...tables.baskets import NO_ORDERS, baskets_of, check_items, levels_of, orders_left_out
from ...tables.column import Table
from ...tables.frames import is_table
from ...tables.source import Block, Source
from .options import DimsOptions
from .summary import DimsPlan, DimsSummary, most_used

MISSING = ("a missing item",)
"""Stands for a missing item, which leaves its order out; no item is a tuple."""
MAX_ITEMS = 1_000_000
"""Different items that a long table in blocks may have."""


class LinesPlan(NamedTuple):
    """Which columns say the order and the item, what is done about missing items, and what may be left out."""

    order: Any
    item: Any
    missing: str
    most: int | None
    memory: float


class OpenOrder(NamedTuple):
    """An order that may go on in a neighbouring block, and its items so far."""

    order: Any
    items: frozenset[Any]


@dataclass(frozen=True, eq=False)
class BasketsSummary:
    """Baskets of the orders that begin and end in the blocks, and the first and the last order, still open.

    `counts` says how many orders hold each item, heavy ones too; `orders` were closed, of which
    `dropped` lack an item.
    """

    states: DimsSummary
    counts: Counter[Any]
    open: tuple[OpenOrder, ...]
    orders: int
    dropped: int
    plan: LinesPlan

    @classmethod
    def of(cls, block: Block, plan: LinesPlan) -> "BasketsSummary":
        """Read a block of lines."""
        orders, items, names = lines_of(block, plan)
        starts = np.flatnonzero(np.append(True, orders[1:] != orders[:-1]))
        number = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(orders))))
        table = pattern(number, items, len(starts), len(names))
        ends = (0, len(starts) - 1) if len(starts) > 1 else (0,)
        edges = tuple(
            OpenOrder(orders[starts[i]], frozenset(names[j] for j in table[[i]].indices))
            for i in ends
        )
        return replace(cls.from_table(table[1:-1], names, plan), open=edges)

    @classmethod
    def from_table(cls, table: Any, names: list[Any], plan: LinesPlan) -> "BasketsSummary":
        """Keep whole orders, a CSR table of ones with a column for each name."""
        orders = table.shape[0]
        if MISSING in names:
            complete = table[:, [names.index(MISSING)]].toarray()[:, 0] == 0
            known = [j for j, name in enumerate(names) if name != MISSING]
            table, names = table[np.flatnonzero(complete)][:, known], [names[j] for j in known]
        frequency = np.bincount(table.indices, minlength=len(names))
        counts = Counter(dict(zip(names, frequency.tolist(), strict=True)))
        own = DimsPlan(None, plan.most, plan.memory)
        weights, largest = np.ones(table.shape[0]), np.ones(len(names), np.int64)
        states = DimsSummary(table, weights, largest, own, names).fold()
        return cls(states, counts, (), orders, orders - table.shape[0], plan)

    @classmethod
    def from_orders(cls, orders: Sequence[OpenOrder], plan: LinesPlan) -> "BasketsSummary":
        """Close some orders."""
        names = list(dict.fromkeys(name for one in orders for name in one.items))
        place = {name: j for j, name in enumerate(names)}
        items = np.array([place[name] for one in orders for name in one.items], np.int64)
        number = np.repeat(np.arange(len(orders)), [len(one.items) for one in orders])
        return cls.from_table(pattern(number, items, len(orders), len(names)), names, plan)

    @classmethod
    def merged(cls, parts: Sequence["BasketsSummary"]) -> "BasketsSummary":
        """Put together the summaries of blocks that follow each other."""
        plan, edges = parts[0].plan, [one for part in parts for one in part.open]
        for before, after in pairwise(edges):
            if before.order > after.order:
                raise out_of_order(before.order, after.order)
        whole = [
            OpenOrder(order, frozenset().union(*(one.items for one in group)))
            for order, group in groupby(edges, key=lambda one: one.order)
        ]
        every = [*parts, cls.from_orders(whole[1:-1], plan)]
        counts = sum((part.counts for part in every), Counter[Any]())
        if len(counts) > MAX_ITEMS:
            raise InvalidInput(f"column {plan.item!r} has more than {MAX_ITEMS} different items")
        return cls(
            DimsSummary.merged(unite_items([part.states for part in every])),
            counts,
            tuple(whole if len(whole) < 2 else (whole[0], whole[-1])),
            sum(part.orders for part in every),
            sum(part.dropped for part in every),
            plan,
        )

    def summary(self) -> DimsSummary:
        """The baskets as rows, a column for each item, the most frequent first, of equals the first by name."""
        rest = self.from_orders(self.open, self.plan)
        whole = self.merged([replace(self, open=()), rest])
        names = sorted(in_order(whole.counts), key=lambda name: -whole.counts[name])
        if whole.dropped == whole.orders:
            raise InvalidInput(NO_ORDERS)
        note = orders_left_out(whole.dropped, whole.orders)
        return replace(arrange_items(whole.states, names), note=note)


def summary_of_lines(source: Source, k: Any, options: DimsOptions) -> DimsSummary:
    """Read a long table: all at once where it fits into half of the memory, else block by block."""
    order, item, missing = options.order, options.item, options.missing
    whole = source.whole(options.max_memory // 2)
    if whole is not None:
        table, names, note = baskets_of(as_lines(whole.X), order, item, missing)
        weights, largest = np.ones(table.shape[0]), np.ones(len(names), np.int64)
        return DimsSummary(table, weights, largest, DimsPlan(None), names, note=note)
    plan = LinesPlan(order, item, missing, most_used(k, options), options.max_memory)
    work, merge = BasketsSummary.of, BasketsSummary.merged
    return source.fold("dims-1", work, plan, merge, canonical_rows(2)).summary()


def as_lines(X: Any) -> Any:
    """X, if it is a table with lines of orders."""
    if not is_table(X):
        raise InvalidInput(f"order and item name columns of a table, but X is {type(X).__name__}")
    return X


def lines_of(block: Block, plan: LinesPlan) -> tuple[Any, Any, list[Any]]:
    """The order of each line, the number of its item, and the items' names, `MISSING` for none."""
    table = Table.of(as_lines(block.X))
    which, what = table.column(plan.order, "order"), table.column(plan.item, "item")
    if which.missing is not None:
        raise InvalidInput(
            f"column {which.name!r}, row {int(np.argmax(which.missing))}: is missing, there is no"
            " order"
        )
    orders = which.values
    later = orders[1:] < orders[:-1]
    if later.any():
        row = int(np.argmax(later))
        raise out_of_order(orders[row], orders[row + 1])
    names, codes = levels_of(what)
    check_items(what, codes, plan.missing)
    unknown = None if plan.missing == "category" else MISSING
    gone = codes < 0
    return (
        orders,
        np.where(gone, len(names), codes),
        [*names.tolist(), *([unknown] if gone.any() else [])],
    )


def out_of_order(before: Any, after: Any) -> InvalidInput:
    """The error that lines of an order come after those of a later one."""
    return InvalidInput(
        f"lines in blocks must stand in the order of their orders, got {shown(after)} after"
        f" {shown(before)}"
    )


def pattern(rows: Indices, columns: Indices, height: int, width: int) -> Any:
    """A CSR table with ones at some places."""
    ones = np.ones(len(rows), np.int32)
    table = sp.csr_array((ones, (rows, columns)), shape=(height, width))
    table.sum_duplicates()
    table.data[:] = 1
    table.sort_indices()
    return table


def unite_items(parts: Sequence[DimsSummary]) -> list[DimsSummary]:
    """Summaries with a column for each item of any of them."""
    names = list(dict.fromkeys(name for part in parts for name in part.names or ()))
    return [arrange_items(part, names) for part in parts]


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
    return replace(summary, table=table, names=names, largest=np.ones(len(names), np.int64))


def in_order(names: Iterable[Any]) -> list[Any]:
    """Names in order, None last; names of different types by type and text."""
    try:
        return sorted(names, key=lambda name: (name is None, name))
    except TypeError:
        return sorted(names, key=lambda name: (name is None, type(name).__name__, str(name)))
