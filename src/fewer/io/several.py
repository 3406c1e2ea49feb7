"""Several files as one table: their rows one after the other, in the order they were named."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from .._validation import InvalidInput
from .source import Refuse, Source


@dataclass(frozen=True, eq=False)
class SeveralSource:
    """Files with the same columns."""

    parts: list[Source]

    @property
    def label(self) -> str:
        """What to call them."""
        return f"{self.parts[0].label} and {len(self.parts) - 1} more"

    @property
    def names(self) -> list[str]:
        """All columns."""
        return self.parts[0].names

    @cached_property
    def numeric(self) -> list[str]:
        """The columns that hold numbers in every file."""
        known = set.intersection(*(set(part.numeric) for part in self.parts))
        return [name for name in self.names if name in known]

    @property
    def notes(self) -> list[str]:
        """What is said about any of them."""
        return list(dict.fromkeys(note for part in self.parts for note in part.notes))

    @cached_property
    def heights(self) -> list[int]:
        """The rows of each file."""
        return [sum(batch.height for batch in part.batches(part.names[:1])) for part in self.parts]

    def read(self, names: Sequence[str], as_text: Collection[str], refuse: Refuse) -> Any:
        """The columns of all files, of a type that holds those of each."""
        frames = [part.read(names, as_text, refuse) for part in self.parts]
        return stacked(frames, self.parts, refuse)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """File by file."""
        for part in self.parts:
            yield from part.batches(names)

    def original(self, rows: Any, names: Sequence[str], typed: bool) -> Any:
        """Rows, numbered through all files, as their files have them."""
        rows = np.asarray(rows)
        ends = np.cumsum(self.heights)
        home = np.searchsorted(ends, rows, side="right")
        found, places = [], []
        for i, part in enumerate(self.parts):
            here = np.flatnonzero(home == i)
            if len(here):
                found.append(part.original(rows[here] - (ends[i] - self.heights[i]), names, typed))
                places.append(here)
        frame = pl.concat([similar(frame, found) for frame in found], how="vertical_relaxed")
        return frame[np.argsort(np.concatenate(places))]


def similar(frame: Any, others: Sequence[Any]) -> Any:
    """The frame with those columns as texts that are texts in another one."""
    texts = {name for other in others for name, dtype in other.schema.items() if dtype == pl.String}
    return frame.with_columns(
        pl.col(name).cast(pl.String) for name in texts if frame.schema[name] != pl.String
    )


def stacked(frames: list[Any], parts: Sequence[Source], refuse: Refuse) -> Any:
    """The rows of all frames; texts in one and numbers in another are refused."""
    for name in frames[0].columns:
        kinds = [broad(frame[name]) for frame in frames]
        known = [i for i, kind in enumerate(kinds) if kind is not None]
        for i in known[1:]:
            if kinds[i] != kinds[known[0]]:
                first = f"{kinds[known[0]]} in {parts[known[0]].label}"
                refuse(
                    InvalidInput(
                        f"{parts[i].label}, column {name!r}: expected {first}, got {kinds[i]}"
                    )
                )
                frames = [frame.with_columns(pl.col(name).cast(pl.String)) for frame in frames]
                break
        else:
            typed = frames[known[0]].schema[name] if known else pl.Float64
            empty = [i for i, kind in enumerate(kinds) if kind is None]
            for i in empty:
                frames[i] = frames[i].with_columns(pl.lit(None, typed).alias(name))
    return pl.concat(frames, how="vertical_relaxed", rechunk=False)


def broad(column: Any) -> str | None:
    """The kind of a column, None where all of it is missing."""
    if column.null_count() == len(column):
        return None
    dtype = column.dtype
    if dtype.is_numeric() or dtype == pl.Boolean:
        return "numbers"
    return "dates" if dtype.is_temporal() else "texts"


def joined(parts: list[Source]) -> Source:
    """One source of several, if their columns have the same names; the order is that of the first."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part in parts[1:]:
        missing = [name for name in first.names if name not in set(part.names)]
        extra = [name for name in part.names if name not in set(first.names)]
        if missing or extra:
            what = f"has no column {missing[0]!r}" if missing else f"has a column {extra[0]!r} more"
            raise InvalidInput(f"{part.label}: {what}; expected the columns of {first.label}")
    return SeveralSource(parts)
