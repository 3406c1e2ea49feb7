"""Long tables in blocks: a line for each item of an order, in the order of the orders.

An order may begin in one block and end in the next: a summary holds its first and its last order
open, and merging closes them. So the states do not depend on where the lines were cut.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import InvalidInput, shown
from ...result import Result
from ...row_blocks import canonical_rows
from ...tables.baskets import NO_ORDERS, check_items, levels_of, orders_left_out
from ...tables.column import Table
from ...tables.frames import is_table
from ...tables.schema import MAX_LEVELS, Schema
from ...tables.source import Block, Source
from .blocks import DimsSpec, DimsSummary
from .coding import Coding, named_baseline


@dataclass(frozen=True)
class LongSpec:
    """Which columns say the order and the item."""

    order: Any
    item: Any
    memory: int
    most: int | None = None
    missing: str = "error"


@dataclass(frozen=True, eq=False)
class ItemsSummary:
    """How many lines each item has: what the first pass leaves."""

    items: dict[Any, int]
    spec: LongSpec
    rows: int
    job = "dims"

    @classmethod
    def of(cls, block: Block, spec: LongSpec) -> "ItemsSummary":
        """Of a block."""
        _, items, names = lines_of(block, spec)
        counts = np.bincount(items[items >= 0], minlength=len(names))
        return cls({name: int(c) for name, c in zip(names, counts, strict=True)}, spec, len(items))

    @classmethod
    def merged(cls, parts: Sequence["ItemsSummary"]) -> "ItemsSummary":
        """Of all their blocks."""
        found: dict[Any, int] = {}
        for part in parts:
            for name, count in part.items.items():
                found[name] = found.get(name, 0) + count
        if len(found) > 100 * MAX_LEVELS:
            raise InvalidInput(
                f"column {parts[0].spec.item!r} has more than {100 * MAX_LEVELS} different items"
            )
        return cls(found, parts[0].spec, sum(part.rows for part in parts))

    @property
    def names(self) -> list[Any]:
        """The items, the most frequent first, of equals the first by name."""
        try:
            order = sorted(self.items, key=lambda name: (name is None, name))
        except TypeError:
            order = sorted(self.items, key=str)
        return sorted(order, key=lambda name: -self.items[name])


class ItemsPlan:
    """Items with their numbers, for the second pass."""

    def __init__(self, first: ItemsSummary) -> None:
        self.spec, self.names = first.spec, first.names
        self.number = {name: i for i, name in enumerate(self.names)}


Open = tuple[Any, tuple[int, ...]]
"""An order that may go on in the next block: which, and its items so far."""


@dataclass(frozen=True, eq=False)
class LongSummary:
    """Baskets of the orders that begin and end in the blocks, and the first and the last order, still open."""

    states: DimsSummary
    first: Open | None
    last: Open | None
    rows: int
    orders: int
    dropped: int
    names: list[Any]
    job = "dims"
    exact = True

    @classmethod
    def of(cls, block: Block, plan: ItemsPlan) -> "LongSummary":
        """Of a block of lines."""
        orders, items, names = lines_of(block, plan.spec)
        place = np.array([plan.number.get(name, -1) for name in names], np.int64)
        if (place < 0).any():
            raise InvalidInput(
                "the lines of the second pass hold items that those of the first had not"
            )
        codes = np.append(place, len(plan.names))[items]  # a missing one is beyond all items
        starts = np.flatnonzero(np.append(True, orders[1:] != orders[:-1]))
        ends = np.append(starts[1:], len(orders))
        opened = [
            (orders[s], tuple(np.unique(codes[s:e]).tolist()))
            for s, e in {(starts[0], ends[0]): 0, (starts[-1], ends[-1]): 0}
        ]
        inner = slice(ends[0], max(starts[-1], ends[0])) if len(starts) > 1 else slice(0, 0)
        number = np.repeat(np.arange(len(starts)), ends - starts)[inner] - 1
        count = max(len(starts) - 2, 0)
        states, dropped = folded_baskets(number, codes[inner], count, plan)
        last = opened[-1] if len(starts) > 1 else None
        return cls(states, opened[0], last, len(orders), count, dropped, plan.names)

    @classmethod
    def merged(cls, parts: Sequence["LongSummary"]) -> "LongSummary":
        """Of blocks that follow each other."""
        found = parts[0]
        closed: list[Open] = []
        first, last = found.first, found.last
        for part in parts[1:]:
            assert part.first is not None and first is not None  # noqa: S101,PT018 - blocks are not empty
            before = last if last is not None else first
            if before[0] == part.first[0]:
                joint = before[0], tuple(sorted({*before[1], *part.first[1]}))
                if part.last is not None:
                    if last is None:
                        first, last = joint, part.last
                    else:
                        closed.append(joint)
                        last = part.last
                elif last is None:
                    first = joint
                else:
                    last = joint
                continue
            if before[0] > part.first[0]:
                late, early = shown(part.first[0]), shown(before[0])
                raise InvalidInput(
                    f"lines must stand in the order of their orders, got {late} after {early}"
                )
            if last is not None:
                closed.append(last)
            if part.last is not None:
                closed.append(part.first)
                last = part.last
            else:
                last = part.first
        return _united(parts, closed, first, last)

    def coding(self, baseline: Any = "auto", include: Any = (), exclude: Any = ()) -> Coding:
        """The baskets as `dims` takes rows."""
        from ...tables.names import positions

        whole = self.closed()
        if whole.dropped == whole.orders:
            raise InvalidInput(NO_ORDERS)
        held, never = (
            positions(value, self.names, name)
            for name, value in (("include", include), ("exclude", exclude))
        )
        notes = orders_left_out(whole.dropped, whole.orders)
        found = whole.states.coding("zero", (), ())
        return Coding(
            found.X,
            self.names,
            None,
            named_baseline(baseline, self.names),
            held,
            never,
            found.sample_weight,
            notes,
        )

    def closed(self) -> "LongSummary":
        """With the first and the last order among the others."""
        left = [one for one in (self.first, self.last) if one is not None]
        return _united([self], left, None, None)

    def judged(self, result: Result, objective: str) -> Result:
        """What is proven of all baskets."""
        return self.closed().states.judged(result, objective)


def _united(parts: Sequence[LongSummary], closed: list[Open], first: Any, last: Any) -> LongSummary:
    """Baskets of all parts and of orders that were closed between them."""
    plan = parts[0]
    states = [part.states for part in parts]
    dropped = sum(part.dropped for part in parts)
    if closed:
        codes = np.array([code for _, items in closed for code in items], np.int64)
        number = np.repeat(np.arange(len(closed)), [len(items) for _, items in closed])
        more, none = _baskets(number, codes, len(closed), plan.states.spec, len(plan.names))
        states, dropped = [*states, more], dropped + none
    return replace(
        plan,
        states=DimsSummary.merged(states) if len(states) > 1 else states[0],
        first=first,
        last=last,
        rows=sum(part.rows for part in parts),
        orders=sum(part.orders for part in parts) + len(closed),
        dropped=dropped,
    )


def folded_baskets(number: Any, codes: Any, count: int, plan: ItemsPlan) -> tuple[DimsSummary, int]:
    """The distinct baskets of orders numbered below `count`, and how many have missing items."""
    schema = Schema.of(np.empty((0, len(plan.names))))
    spec = DimsSpec(schema, plan.spec.most, plan.spec.memory)
    return _baskets(number, codes, count, spec, len(plan.names))


def _baskets(
    number: Any, codes: Any, count: int, spec: DimsSpec, width: int
) -> tuple[DimsSummary, int]:
    incomplete = np.unique(number[codes == width])
    held = ~np.isin(number, incomplete)
    ones = np.ones(int(held.sum()), np.int8)
    table = sp.csr_array((ones, (number[held], codes[held])), shape=(count, width))
    table.sum_duplicates()
    table.data[:] = 1
    table.sort_indices()
    whole = np.setdiff1d(np.arange(count), incomplete)
    return DimsSummary.folded(table[whole].astype(np.int32), None, spec, len(whole)), len(
        incomplete
    )


def lines_of(block: Block, spec: LongSpec) -> tuple[Any, Any, list[Any]]:
    """The order of each line, the number of its item (-1 where there is none), and the items' names."""
    if not is_table(block.X):
        raise InvalidInput(
            f"order and item name columns of a table, but blocks are {type(block.X).__name__}"
        )
    table = Table.of(block.X)
    which, what = table.column(spec.order, "order"), table.column(spec.item, "item")
    if which.missing is not None:
        raise InvalidInput(
            f"column {which.name!r}, row {int(np.argmax(which.missing))}: is missing, there is no order"
        )
    orders = which.values
    later = orders[1:] < orders[:-1]
    if later.any():
        row = int(np.argmax(later)) + 1
        raise InvalidInput(
            f"column {which.name!r}, row {row}: lines in blocks must stand in the order of their orders, got "
            f"{shown(orders[row])} after {shown(orders[row - 1])}"
        )
    items = levels_of(what)
    check_items(what, items.codes, spec.missing)
    names, codes = items.values.tolist(), items.codes
    if spec.missing == "category" and (codes < 0).any():
        return orders, np.where(codes < 0, len(names), codes), [*names, None]
    return orders, codes, names


def long_summary(blocks: Source, spec: LongSpec) -> LongSummary:
    """Two passes over a long table: items, then baskets."""
    rows = canonical_rows(2)
    first = blocks.fold("dims-1", ItemsSummary.of, spec, ItemsSummary.merged, rows)
    return blocks.fold("dims-2", LongSummary.of, ItemsPlan(first), LongSummary.merged, rows)
