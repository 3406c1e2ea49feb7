"""What stands for missing values of data in blocks: medians by the sketch of bins, most frequent values and labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation import InvalidInput, Vector
from ..tables.blocks import Block, Blocks
from ..tables.cutting import height
from ..tables.missing import filled_note, missing_count, nothing_to_impute
from ..tables.sketch import Sketch
from .block_columns import Chosen, Fills, checked_weights, united

FILLED = ("impute", "category")
"""Rules for missing values that take a pass of their own."""


@dataclass(frozen=True)
class FillSpec:
    """Which columns, and whether the weights of rows count."""

    chosen: Chosen | None
    rule: str
    weighted: bool


@dataclass(frozen=True, eq=False)
class FillSummary:
    """Of each column of numbers a sketch, of each column of labels their weights, and how many are missing in each."""

    numbers: tuple[Sketch, ...]
    labels: tuple[dict[Any, float], ...]
    gone: tuple[int, ...]
    spec: FillSpec

    @classmethod
    def of(cls, block: Block, spec: FillSpec) -> "FillSummary":
        """Of a block."""
        size = height(block.X)
        columns, labels = _columns(block, spec.chosen)
        weight = (
            checked_weights(_weights(block, spec.chosen), size, None) if spec.weighted else None
        )
        numbers = [
            (values[~gone], None if weight is None else weight[~gone]) for values, gone in columns
        ]
        counted = []
        for column in labels:
            found, codes = column.levels
            mass = np.bincount(
                codes[codes >= 0], None if weight is None else weight[codes >= 0], len(found)
            )
            counted.append({label: float(m) for label, m in zip(found, mass, strict=True)})
        gaps = [int(gone.sum()) for _, gone in columns]
        gaps += [missing_count(column) for column in labels]
        return cls(tuple(Sketch.of(*each) for each in numbers), tuple(counted), tuple(gaps), spec)

    @classmethod
    def merged(cls, parts: Sequence["FillSummary"]) -> "FillSummary":
        """Of all their blocks."""
        numbers = [
            Sketch.merged(list(each))
            for each in zip(*(part.numbers for part in parts), strict=True)
        ]
        labels = []
        for each in zip(*(part.labels for part in parts), strict=True):
            every = united([list(found) for found in each], "labels")
            labels.append(
                {label: math.fsum(found.get(label, 0.0) for found in each) for label in every}
            )
        gone = [sum(each) for each in zip(*(part.gone for part in parts), strict=True)]
        return replace(parts[0], numbers=tuple(numbers), labels=tuple(labels), gone=tuple(gone))

    def fills(self, most_frequent: bool = False) -> Fills:
        """What stands for missing values: of numbers the median, or the most frequent one."""
        category = self.spec.rule == "category"
        numbers = []
        for sketch, gone, name in zip(self.numbers, self.gone, self.names, strict=False):
            if gone and category:
                raise InvalidInput(
                    f"column {name!r} holds numbers, and some are missing: in blocks missing='category' is for labels, "
                    f"'impute' and 'drop' for all"
                )
            numbers.append(_middle(sketch, name, most_frequent) if gone else 0.0)
        labels: list[Any] = []
        for found, gone, name in zip(
            self.labels, self.gone[len(numbers) :], self.names[len(numbers) :], strict=True
        ):
            if gone and not category and not found:
                raise nothing_to_impute(name)
            labels.append(None if category or not found else max(found, key=found.__getitem__))
        return Fills(
            np.array(numbers, np.float64),
            tuple(labels),
            self.spec.rule,
            self._note(category, most_frequent),
        )

    @property
    def names(self) -> list[Any]:
        """The columns of numbers, then those of labels."""
        chosen = self.spec.chosen
        if chosen is None:
            return list(range(len(self.numbers)))
        both = list(zip(chosen.names, chosen.kinds, strict=True))
        return [
            *(n for n, kind in both if kind != "category"),
            *(n for n, kind in both if kind == "category"),
        ]

    def _note(self, category: bool, most_frequent: bool) -> str:
        how = (
            "replaced by medians and modes"
            if not most_frequent
            else "replaced by the most frequent of their column"
        )
        note = filled_note(
            dict(zip(self.names, self.gone, strict=True)),
            "taken as a category of their own" if category else how,
        )
        off = max(
            (s.error / s.total for s, g in zip(self.numbers, self.gone, strict=False) if g),
            default=0.0,
        )
        ranks = f"; ranks of medians are off by at most {off:.2g}" if off else ""
        return f"{note}{ranks}" if note else ""


def _columns(block: Block, chosen: Chosen | None) -> tuple[list[tuple[Vector, Any]], list[Any]]:
    """Columns of numbers with what is missing in them, and columns of labels."""
    if chosen is None:
        rows = np.asarray(block.X, np.float64)
        rows = rows[:, None] if rows.ndim == 1 else rows
        return [(column, np.isnan(column)) for column in rows.T], []
    used = chosen.used(chosen.table_of(block))
    none = np.zeros(height(block.X), bool)
    numbers = [
        (
            np.asarray(column.values, np.float64),
            none if column.missing is None else np.asarray(column.missing),
        )
        for column, kind in zip(used, chosen.kinds, strict=True)
        if kind != "category"
    ]
    return numbers, [
        column for column, kind in zip(used, chosen.kinds, strict=True) if kind == "category"
    ]


def _weights(block: Block, chosen: Chosen | None) -> Any:
    """The weights of rows, beside them or a column of the table."""
    name = None if chosen is None else dict(chosen.apart).get("sample_weight")
    if chosen is None or name is None:
        return block.weight
    return chosen.table_of(block).column(name, "sample_weight").values


def _middle(sketch: Sketch, name: Any, most_frequent: bool) -> float:
    """The weighted median, or the most frequent number."""
    if not sketch.x.size:
        raise nothing_to_impute(name)
    if most_frequent:
        return float(sketch.x[int(np.argmax(sketch.weights))])
    sums = np.cumsum(sketch.weights)
    low, high = (
        int(np.searchsorted(sums, 0.5 * sums[-1] * side)) for side in (1 - 1e-12, 1 + 1e-12)
    )
    return float((sketch.x[low] + sketch.x[min(high, len(sums) - 1)]) / 2.0)


def filled(
    spec: Any,
    source: Blocks | Block,
    job: str,
    rows: int,
    *,
    weighted: bool = False,
    most_frequent: bool = False,
) -> Any:
    """How blocks are read, with what stands for missing values: by a pass over all, or by some rows alone."""
    if spec.missing not in FILLED:
        return spec
    asked = FillSpec(spec.chosen, spec.missing, weighted)
    if isinstance(source, Block):
        found = FillSummary.of(source, asked)
    else:
        found = source.fold(f"{job}-0", FillSummary.of, asked, FillSummary.merged, rows)
    return replace(spec, missing=found.fills(most_frequent))
