"""Rows of codes in blocks: folded to distinct states with counts, which merge exactly."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import InvalidInput, Vector, is_frame, known, shown
from ...codes import MOST_CODES, as_table, distinct_rows
from ...result import Result, Status
from ...tables.column import Column
from ...tables.frames import height
from ...tables.missing import dropped_note
from ...tables.names import positions
from ...tables.schema import (
    Rows,
    Schema,
    checked_weights,
    label_weights,
    left_out,
    summed_labels,
    united,
)
from ...tables.source import Block
from .coding import Coding
from .options import DimsOptions

BYTES_PER_ENTRY, BYTES_PER_STATE = 5, 24
"""What an entry of a state takes, and a state beside its entries; merging takes some times as much."""
MEMORY_SHARE = 0.125
"""The share of `max_memory` that states may take: merging holds several lists of them."""


@dataclass(frozen=True)
class DimsSpec:
    """How blocks are read and what may be left out: states of more than `most` columns are only counted."""

    schema: Schema
    most: int | None = None
    memory: int = 10**9

    @classmethod
    def of(cls, head: Any, options: DimsOptions) -> "DimsSpec":
        """What the first rows say."""
        weight = {"sample_weight": options.sample_weight} if is_frame(head) else {}
        schema = Schema.of(head, options.columns, weight, options.missing, reason=without_dates)
        return cls(schema, None, options.max_memory)

    @property
    def labelled(self) -> bool:
        """Whether there are columns of labels, whose codes need a pass of their own."""
        return bool(self.schema.categories)


def without_dates(column: Column) -> str:
    """Why a column is left out unasked, "" where it is not."""
    return "dates" if column.kind == "date" else left_out(column)


@dataclass(frozen=True, eq=False)
class LevelsSummary:
    """The labels of each column of labels, with their weights: what the first pass over a table with labels leaves."""

    levels: tuple[dict[Any, float], ...]
    spec: DimsSpec
    rows: int
    job = "dims"
    exact = False

    @classmethod
    def of(cls, block: Block, spec: DimsSpec) -> "LevelsSummary":
        """Of a block."""
        read = spec.schema.read(block)
        found = tuple(label_weights(levels, read.weight) for levels in read.categories)
        return cls(found, spec, read.size)

    @classmethod
    def merged(cls, parts: Sequence["LevelsSummary"]) -> "LevelsSummary":
        """Of all their blocks."""
        each = zip(*(part.levels for part in parts), strict=True)
        names = parts[0].spec.schema.categories
        found = tuple(summed_labels(levels, name) for levels, name in zip(each, names, strict=True))
        return cls(found, parts[0].spec, sum(part.rows for part in parts))

    @property
    def codes(self) -> list[dict[Any, int]]:
        """The code of each label, in sorted order."""
        names = self.spec.schema.categories
        return [
            {label: i for i, label in enumerate(united([list(found)], name))}
            for found, name in zip(self.levels, names, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class DimsSummary:
    """Distinct states, CSR (s, n), with counts (s,), and what is only counted.

    `heavy` is the weight of states that use more than `spec.most` columns, which no face holds;
    `lost` the weight of rare ones that did not fit into the memory: any face may hold them.
    `largest` (n,) are the largest codes.
    """

    table: Any
    counts: Vector
    largest: Any
    spec: DimsSpec
    rows: int
    dropped: int = 0
    heavy: float = 0.0
    lost: float = 0.0
    levels: LevelsSummary | None = None
    job = "dims"
    exact = True

    @classmethod
    def of(cls, block: Block, plan: "DimsSpec | LevelsSummary") -> "DimsSummary":
        """Of a block, by what the first rows or the first pass said."""
        levels = plan if isinstance(plan, LevelsSummary) else None
        spec = plan.spec if isinstance(plan, LevelsSummary) else plan
        table, weight, size = codes_of(block, spec, levels)
        return cls.folded(table, weight, spec, size, levels)

    @classmethod
    def folded(
        cls,
        table: Any,
        weight: Vector | None,
        spec: DimsSpec,
        size: int,
        levels: "LevelsSummary | None" = None,
    ) -> "DimsSummary":
        """Of rows of codes."""
        if table.data.max(initial=0) <= 1:  # a fifth of the time of a block of baskets
            largest = np.minimum(
                np.bincount(table.indices[table.data > 0], minlength=table.shape[1]), 1
            )
        else:
            largest = np.zeros(table.shape[1], np.int64)
            np.maximum.at(largest, table.indices, table.data)
        mass = np.ones(table.shape[0]) if weight is None else weight
        found = cls(table, mass, largest, spec, size, size - table.shape[0], levels=levels)
        return found._light()._distinct()._fitting()

    @classmethod
    def merged(cls, parts: Sequence["DimsSummary"]) -> "DimsSummary":
        """Of all their blocks; of counts exactly."""
        if len({part.table.shape[1] for part in parts}) > 1:
            raise InvalidInput(f"all blocks must have {parts[0].table.shape[1]} columns")
        sums = {
            name: math.fsum(getattr(part, name) for part in parts) for name in ("heavy", "lost")
        } | {name: sum(getattr(part, name) for part in parts) for name in ("rows", "dropped")}
        table = sp.csr_array(sp.vstack([part.table for part in parts], format="csr"))
        largest = np.max([part.largest for part in parts], axis=0)
        counts = np.concatenate([part.counts for part in parts])
        return (
            replace(parts[0], table=table, counts=counts, largest=largest, **sums)
            ._distinct()
            ._fitting()
        )

    def _light(self) -> "DimsSummary":
        """Without states that use more columns than are kept."""
        if self.spec.most is None:
            return self
        light = np.diff(self.table.indptr) <= self.spec.most
        if light.all():
            return self
        heavy = self.heavy + float(self.counts[~light].sum())
        return replace(
            self, table=self.table[np.flatnonzero(light)], counts=self.counts[light], heavy=heavy
        )

    def _distinct(self) -> "DimsSummary":
        if self.table.shape[0] == 0:
            return self
        first, inverse = distinct_rows(self.table)
        counts = np.bincount(inverse, self.counts, len(first)).astype(np.float64)
        return replace(self, table=self.table[first], counts=counts)

    def _fitting(self) -> "DimsSummary":
        """Without as many of the rarest states as do not fit into the memory."""
        sizes = np.diff(self.table.indptr) * BYTES_PER_ENTRY + BYTES_PER_STATE
        room = MEMORY_SHARE * self.spec.memory
        if float(sizes.sum()) <= room:
            return self
        order = np.argsort(-self.counts, kind="stable")
        kept = np.sort(order[: max(int(np.searchsorted(np.cumsum(sizes[order]), room)), 1)])
        left = np.ones(len(self.counts), bool)
        left[kept] = False
        lost = self.lost + float(self.counts[left].sum())
        return replace(self, table=self.table[kept], counts=self.counts[kept], lost=lost)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.counts.sum()) + self.heavy + self.lost

    def coding(self, baseline: Any = "auto", include: Any = (), exclude: Any = ()) -> Coding:
        """The states as `dims` takes rows, each with its count for a weight."""
        table, counts = self.table, self.counts
        if self.heavy > 0:  # one state that no face holds stands for all of them
            table = sp.csr_array(
                sp.vstack(
                    [table, sp.csr_array(self.largest[None].astype(table.dtype))], format="csr"
                )
            )
            counts = np.append(counts, self.heavy)
        if not counts.size or not counts.max() > 0:
            raise InvalidInput("there are no rows with weight")
        schema = self.spec.schema
        names = list(schema.table) if schema.named else None
        held, never = (
            positions(value, names, name)
            for name, value in (("include", include), ("exclude", exclude))
        )
        ignored = frozenset(range(len(schema.table))) - set(schema.places)
        never = (
            np.union1d(np.asarray(never, np.int64), np.array(sorted(ignored), np.int64))
            if ignored
            else never
        )
        notes = [*schema.notes, schema.note, dropped_note(self.dropped, self.rows)]
        levels, rule = self._levels(baseline)
        note = "; ".join(filter(None, notes))
        return Coding(table, names, levels, rule, held, never, counts, note, ignored)

    def _levels(self, baseline: Any) -> tuple[list[Any] | None, Any]:
        """The labels of each column, and the codes that count as absent."""
        names = list(self.spec.schema.table)
        if self.levels is None:
            if isinstance(baseline, Mapping):
                from .coding import named_baseline

                return None, named_baseline(baseline, names)
            return None, "zero" if isinstance(baseline, str) and baseline == "auto" else baseline
        levels: list[Any] = [None] * len(names)
        origin = np.zeros(len(names), np.int64)
        told = baseline if isinstance(baseline, Mapping) else {}
        for name, mass in zip(self.spec.schema.categories, self.levels.levels, strict=True):
            place = names.index(name)
            labels = united([list(mass)], name)
            levels[place] = labels
            origin[place] = int(np.argmax([mass[label] for label in labels]))
            if name in told:
                if told[name] not in mass:
                    raise InvalidInput(
                        f"baseline: column {name!r} has no label {shown(told[name])}"
                    )
                origin[place] = list(labels).index(told[name])
        if (
            isinstance(baseline, str)
            and known(baseline, dict.fromkeys(("auto", "mode", "zero")), "baseline") is None
        ):
            if baseline == "zero":
                raise InvalidInput(
                    "baseline='zero' is for numbers; columns of labels have none: use 'auto' or 'mode'"
                )
            if baseline == "mode":
                return levels, "mode"
        elif not isinstance(baseline, Mapping | str):
            return levels, baseline
        for name, code in told.items():
            if name not in self.spec.schema.categories:
                origin[positions([name], names, "baseline")] = code
        return levels, origin

    def judged(self, result: Result, objective: str) -> Result:
        """A result on the states that were kept, with what is proven of all."""
        share = self.lost / self.total
        if share == 0.0:
            return result
        if objective != "kl":
            raise InvalidInput(
                f"l2 needs all states, but rare ones of share {share:.2g} did not fit into the memory; raise max_memory"
            )
        inside = math.exp(-result.value) * (1.0 - share)
        value = -math.log(inside) if inside > 0 else math.inf
        most = 1.0 if result.bound is None else math.exp(-result.bound) * (1.0 - share) + share
        bound = max(-math.log(min(most, 1.0)), 0.0)
        note = f"rare states of share {share:.3g} did not fit into the memory; the bound allows for them"
        status = Status.FINISHED if result.status is Status.OPTIMAL else result.status
        return replace(
            result,
            value=value,
            bound=min(bound, value),
            status=status,
            note="; ".join(filter(None, (result.note, note))),
        )


def codes_of(
    block: Block, spec: DimsSpec, levels: LevelsSummary | None
) -> tuple[Any, Vector | None, int]:
    """The rows of a block as codes, CSR (n, columns), their weights, and how many rows the block has."""
    if not spec.schema.named:
        size = height(block.X)
        if not size:
            raise InvalidInput("a block must have at least one row")
        return as_table(block.X, "X"), checked_weights(block.weight, size, None), size
    read = spec.schema.read(block)
    columns = _codes(read, spec.schema, levels)
    rows = len(read.numbers)
    table = np.zeros((rows, len(spec.schema.table)), np.int32)
    for place, codes in columns.items():
        table[:, place] = codes
    return (as_table(table, "X") if rows else sp.csr_array(table)), read.weight, read.size


def _codes(read: Rows, chosen: Schema, levels: LevelsSummary | None) -> dict[int, Any]:
    """The codes of each used column, by its place in the table."""
    found: dict[int, Any] = {}
    numbers = labels = 0
    known_codes = None if levels is None else levels.codes
    for name, kind, place in zip(chosen.names, chosen.kinds, chosen.places, strict=True):
        if kind == "category":
            assert known_codes is not None  # noqa: S101 - a table with labels has a first pass
            column, codes = read.categories[labels], known_codes[labels]
            labels += 1
            unknown = [label for label in column.values if label not in codes]
            if unknown:
                raise InvalidInput(
                    f"column {name!r} has the label {shown(unknown[0])}, which the first pass had not"
                )
            found[place] = np.array([codes[label] for label in column.values], np.int64)[
                column.codes
            ]
            continue
        values = read.numbers[:, numbers]
        numbers += 1
        right = (values >= 0) & (values == np.floor(values)) & (values < MOST_CODES)
        if not right.all():
            row = int(np.argmin(right))
            raise InvalidInput(
                f"column {name!r}, row {row}: expected a small whole number, got {values[row]:g}"
            )
        found[place] = values
    return found
