"""Prices in blocks: returns need the row before, which is carried from block to block."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector, as_vector, gathered, is_frame, known, shown
from ..data.blocks import Block, Blocks, carried
from ..data.columns import known_name
from ..data.cutting import height
from ..data.frames import columns_of, names_of
from ..data.prices import RETURNS, carried_forward, instants, returns_of
from ._block_columns import checked_weights
from ._terms_blocks import TermsSpec

MISSING = ("error", "drop", "ffill")
"""What may become of missing prices."""


@dataclass(frozen=True, eq=False)
class Carried:
    """The last row in use, prices and target (n + 1,), its date, where there are any, and how many rows came before."""

    last: Vector | None = None
    date: float = -np.inf
    rows: int = 0


@dataclass(frozen=True)
class Prices:
    """How blocks of prices become blocks of returns; `returns` None leaves them as they are, in the order of `date`."""

    spec: TermsSpec
    y: Any
    weight: Any
    returns: str | None
    date: Any

    def of(self, block: Block, before: Carried) -> tuple[Block, Carried]:
        """The returns of a block, and what the next one needs."""
        both, weight, dates, names = self._numbers(block)
        at = before.rows
        if dates is not None:
            self._check(dates, before)
        gaps = np.isnan(both)
        if gaps.any() and self.spec.missing == "drop":
            kept = np.flatnonzero(~gaps.any(axis=1))
            both, weight = both[kept], None if weight is None else weight[kept]
            rows = [at + int(i) for i in kept]
        else:
            rows = list(range(at, at + len(both)))
        first = [] if before.last is None else [before.last]
        together = np.vstack([*first, both]) if len(first) + len(both) else both
        words = [*([at - 1] if first else []), *rows]
        together = self._without_gaps(together, names, words)
        size = height(block.X)
        date = before.date if dates is None or not size else float(dates[-1])
        after = Carried(together[-1] if len(together) else before.last, date, at + size)
        if self.returns is None:
            together = together[len(first) :]
        elif len(together) >= 2:
            together = returns_of(together, self.returns, names, lambda i: f"row {words[i]}")
            weight = weight if weight is None or first else weight[1:]
        else:
            together, weight = together[:0], None if weight is None else weight[:0]
        return Block(together[:, :-1], together[:, -1], weight), after

    def _numbers(self, block: Block) -> tuple[Vector, Any, Any, list[Any]]:
        """Prices and target (r, n + 1), NaN where missing, weights, dates, and what the columns are called."""
        X, size, chosen = gathered(block.X), height(block.X), self.spec.chosen
        if chosen is None:
            rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
            if block.y is None:
                raise InvalidInput("terms needs a target: give y, blocks (X, y), or the name of a column")
            y = np.asarray(block.y, np.float64)
            if y.shape != (size,):
                raise InvalidInput(f"y must have one entry for each of the {size} rows of X, got shape {y.shape}")
            return (
                np.column_stack([rows, y]),
                checked_weights(block.weight, size, None),
                None,
                [*range(rows.shape[1]), "y"],
            )
        if not is_frame(X):
            raise InvalidInput(f"all blocks must be tables, got {shown(type(X).__name__)}")
        columns = dict(zip(names_of(X), columns_of(X), strict=True))
        for name in chosen.all_names:
            if name not in columns:
                raise InvalidInput(f"all blocks must have the column {name!r}, got {shown(names_of(X))}")
        apart = {option: columns[name] for option, name in chosen.apart}
        y = apart["y"].values if "y" in apart else as_vector(block.y, (size,), "y")
        weight = apart["sample_weight"].values if "sample_weight" in apart else block.weight
        both = np.column_stack([*(columns[name].values for name in chosen.names), np.asarray(y, np.float64)])
        dates = instants(apart["date"]) if "date" in apart else None
        return both.astype(np.float64), checked_weights(weight, size, None), dates, [*chosen.names, "y"]

    def _check(self, dates: Vector, before: Carried) -> None:
        """A sentence where dates do not increase: blocks cannot be sorted."""
        steps = np.diff(np.append(before.date, dates))
        if (steps > 0).all():
            return
        row = before.rows + int(np.argmin(steps > 0))
        raise InvalidInput(
            f"rows of data in blocks must stand in the order of {self.date!r}, each date once, but row {row} is not "
            f"later than the one before; sort the files by it first"
        )

    def _without_gaps(self, together: Vector, names: list[Any], rows: list[int]) -> Vector:
        """Prices with nothing missing, the first row being the one carried."""
        gaps = np.isnan(together)
        if not gaps.any():
            return together
        if self.spec.missing == "ffill":
            return carried_forward(together, names, lambda i: f"row {rows[i]}")
        r, c = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
        raise InvalidInput(
            f"column {shown(names[int(c)])} is missing in row {rows[int(r)]}; missing='drop' leaves such rows out, "
            f"missing='ffill' carries the last price forward"
        )


def price_blocks(
    blocks: Blocks, head: Any, y: Any, weight: Any, missing: str, returns: str | None, date: Any
) -> tuple[Blocks, TermsSpec, Callable[[], int | None]]:
    """Blocks of returns, or of rows whose dates were looked at, the columns that they have, and what counts all rows.

    Counting is for after a pass; None where that was resumed at its end.
    """
    if returns is not None:
        known(returns, RETURNS, "returns")
    known(missing, dict.fromkeys(MISSING if returns else MISSING[:2]), "missing of prices in blocks")
    if date is not None and not is_frame(head):
        raise InvalidInput(f"date names a column of a table, but X is {type(head).__name__}")
    if date is not None:
        known_name(date, names_of(head), "date")
    name = weight if isinstance(weight, str) else None
    rule = missing if missing != "ffill" else "drop"
    spec = TermsSpec.of(head, y, missing=rule, weight=name, date=date)
    how = Prices(replace(spec, missing=missing), y, weight, returns, date)
    found, count = carried(blocks, how.of, Carried())
    return found, spec, count
