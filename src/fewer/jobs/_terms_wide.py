"""Terms of very many columns: passes over blocks of columns, each by the residual of what is known so far.

With q the best weights of some columns, without a limit on their number, and r = y - X q, convexity gives for all p on
the simplex ‖X p - y‖² >= ‖r‖² - 2 max_j x_jᵀr + 2 (X q)ᵀr: the bound of Frank and Wolfe (1956). A pass over all columns
finds the largest x_jᵀr, which makes the bound one over all columns, and those that lead down furthest, which join.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._validation import Indices, InvalidInput, Vector, as_array, as_units, as_vector
from ..active_set import simplex_weights
from ..constraints.groups import Groups, as_groups
from ..data.blocks import Block, Blocks, columns_as_blocks
from ..deadline import Deadline
from ..objectives.matrix import as_row_weights
from ..result import Result, Status
from ..row_blocks import canonical_rows
from ..spaces import Atoms
from ._terms_blocks import MAX_FACTOR_COLUMNS
from .holdings import Holdings
from .tracking import Tracked

JOINING = 256
"""Columns that join after a pass, at most."""
MAX_ROUNDS = 12
"""Passes over all columns, at most."""
MAX_GAP = 1e-6
"""The relative gap of the relaxation at which no more columns join."""
MEMORY_SHARE = 0.125
"""The share of `max_memory` that the columns which joined may take."""


@dataclass(frozen=True, eq=False)
class Direction:
    """What columns are compared with: x_jᵀv, less half of Σ w x_j² where `squares` are w (r,).

    `never` are columns that do not count.
    """

    v: Vector
    squares: Vector | None
    never: Indices
    most: int


@dataclass(frozen=True, eq=False)
class Steepest:
    """The columns with the largest x_jᵀv of blocks: positions and values (s,), largest first; the largest ‖x_j‖²."""

    positions: Indices
    values: Vector
    longest: float
    columns: int
    job = "terms"
    exact = True

    @classmethod
    def of(cls, block: Block, plan: Direction) -> "Steepest":
        """Of a block of columns, each a row of it."""
        columns = as_array(block.X, "X").astype(np.float64, copy=False)
        if columns.shape[1] != len(plan.v):
            raise InvalidInput(f"y must have an entry for each of the {columns.shape[1]} rows, got {len(plan.v)}")
        values = columns @ plan.v
        longest = 0.0
        if plan.squares is not None:
            lengths = np.square(columns) @ plan.squares
            values -= 0.5 * lengths
            longest = float(lengths.max(initial=0.0))
        here = plan.never[(plan.never >= block.start) & (plan.never < block.start + len(columns))] - block.start
        values[here] = -np.inf
        return cls(np.arange(len(values)) + block.start, values, longest, len(values))._first(plan.most)

    @classmethod
    def merged(cls, parts: Sequence["Steepest"]) -> "Steepest":
        """Of all their blocks."""
        positions, values = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("positions", "values")
        )
        longest, columns = max(part.longest for part in parts), sum(part.columns for part in parts)
        return cls(positions, values, longest, columns)._first(max(len(part.positions) for part in parts))

    def _first(self, most: int) -> "Steepest":
        """The first of them, of equals those that stand first."""
        order = np.lexsort((self.positions, -self.values))[:most]
        return replace(self, positions=self.positions[order], values=self.values[order])


class ColumnBlocks(NamedTuple):
    """Columns in blocks, each a row of theirs, and how many there are."""

    blocks: Blocks
    size: int


def wide_columns(X: Any) -> ColumnBlocks | None:
    """Columns in blocks, where there are too many for the factor of all, and they can be read so."""
    found = columns_as_blocks(X)
    return ColumnBlocks(*found) if found is not None and found[1] > MAX_FACTOR_COLUMNS else None


class WideTerms:
    """Columns (r, c) that have joined, the target (r,), and what is proven of all columns."""

    def __init__(self, blocks: Blocks, y: Any, weight: Any, exclude: Any, memory: int) -> None:
        self.blocks, self.y = blocks, as_array(y, "y").astype(np.float64)
        if self.y.ndim != 1:
            raise InvalidInput(f"y must have shape (r,) where X comes in blocks of columns, got {self.y.shape}")
        r = len(self.y)
        self.weight = np.ones(r) if weight is None else as_row_weights(as_vector(weight, (r,), "sample_weight"), r)
        self.most = max(int(MEMORY_SHARE * memory / (8 * r)), 2)
        self.never = np.asarray(exclude, np.int64)
        self.size, self.longest, self.passes, self.bound = 0, 0.0, 0, 0.0
        self.positions, self.X = np.zeros(0, np.int64), np.zeros((r, 0))

    def steepest(self, v: Vector, first: bool = False) -> Steepest:
        """One pass over all columns."""
        self.passes += 1
        plan = Direction(self.weight * v, self.weight if first else None, self.never, JOINING)
        name, rows = f"terms-{self.passes}", canonical_rows(len(self.y))
        found: Steepest = self.blocks.fold(name, Steepest.of, plan, Steepest.merged, rows)
        if first:
            self.size, self.longest = found.columns, found.longest
        return found

    def join(self, positions: Any) -> bool:
        """Have more columns compared with each other; whether there were any, and room for them."""
        room = self.most - len(self.positions)
        new = np.array([p for p in dict.fromkeys(np.asarray(positions).tolist()) if p not in set(self.positions)])
        new = new[: max(room, 0)].astype(np.int64)
        if new.size:
            self.X = np.hstack([self.X, np.asarray(self.blocks.take(new), np.float64).T])
            self.positions = np.concatenate([self.positions, new])
        return bool(new.size)

    def residual(self, weights: Vector) -> Vector:
        """What weights on the columns that joined leave of y."""
        return np.asarray(self.y - self.X @ weights)

    def relaxed(self, deadline: Deadline) -> None:
        """Let columns join until no column of all leads down, so that the bound is that of the relaxation."""
        for _ in range(MAX_ROUNDS):
            off = (self.X - self.y[:, None]) * np.sqrt(self.weight)[:, None]
            q = simplex_weights(off.T @ off, np.zeros(off.shape[1]))
            found = self.steepest(self.residual(q))
            value = self.learn(q, found)
            joined = value - self.bound > MAX_GAP * value and self.join(found.positions[found.values > -np.inf])
            if not joined or deadline.passed:
                return

    def learn(self, q: Vector, found: Steepest) -> float:
        """Raise the bound by a pass with the residual of q; the value of q."""
        left = self.residual(q)
        value = float(left @ (self.weight * left))
        eps = float(np.finfo(np.float64).eps)
        rounding = 4.0 * (len(left) + 4) * eps * np.sqrt(self.longest * value)
        steep = 2.0 * float(found.values[0]) - 2.0 * float((self.X @ q) @ (self.weight * left))
        self.bound = max(self.bound, value - max(steep, 0.0) - rounding)
        return value


def wide_terms(
    data: ColumnBlocks,
    y: Any,
    k: int,
    limits: Holdings,
    *,
    weight: Any,
    include: Any,
    exclude: Any,
    groups: Any,
    memory: int,
    search: dict[str, Any],
) -> Result:
    """`terms` for columns in blocks: the best of those that joined, and a bound over all."""
    from .terms import track

    if limits.conditions is not None or limits.min_per_group is not None or limits.min_group_weight is not None:
        raise InvalidInput("conditions on columns that are not held need all columns in memory, got blocks of columns")
    size = data.size
    held, never = (as_units(c, size, "columns", name) for c, name in ((include, "include"), (exclude, "exclude")))
    codes = None if groups is None else as_groups(groups, size)
    wide = WideTerms(data.blocks, y, weight, never, memory)
    deadline = search["deadline"]
    first = wide.steepest(wide.y, first=True)
    wide.join([*held.tolist(), *first.positions[first.values > -np.inf].tolist()])
    wide.relaxed(deadline)
    for last in (False, False, True):
        place = {int(p): i for i, p in enumerate(wide.positions)}
        own = np.array([place[int(p)] for p in held], np.int64)
        labels = None if codes is None else Groups(codes.codes[wide.positions], codes.names)
        known = Tracked(wide.X, wide.y, None, own, (), labels, None if weight is None else wide.weight)
        found = track(known, min(k, len(wide.positions)), limits, **search)
        if last or deadline.passed:
            break
        steep = wide.steepest(wide.residual(found.p))
        if not wide.join(steep.positions[steep.values > -np.inf][: JOINING // 4]):
            break
    return answered(found, wide)


def answered(found: Result, wide: WideTerms) -> Result:
    """A result on the columns that joined as one on all."""
    chosen = wide.positions[found.indices]
    order = np.argsort(chosen)
    assert found.weights is not None  # noqa: S101 - columns are entries
    proven = found.value - wide.bound <= 1e-9 * found.value
    unproven = Status.FINISHED if found.status is Status.OPTIMAL else found.status
    note = (
        f"{len(wide.positions)} of {wide.size} columns were compared with each other, chosen in {wide.passes} passes "
        f"over all of them; the bound is over all columns"
    )
    return replace(
        found,
        indices=chosen[order],
        weights=found.weights[order],
        bound=min(wide.bound, found.value),
        status=Status.OPTIMAL if proven else unproven,
        space=Atoms(wide.size),
        words=found.words._replace(total=wide.size),
        note="; ".join(filter(None, (found.note, note))),
    )
