"""Columns of few texts, or of booleans, numbered while they are read."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ._cells import MISSING
from .column import Column, Levels, sorted_levels

MAX_LEVELS = 250
"""Categories of a column that is numbered while it is read; texts with more are kept as they are."""


class Coded:
    """Codes of a column, -1 where it is missing; `levels` are what they stand for, in order as far as first seen."""

    def __init__(self, first: pl.Series, capacity: int) -> None:
        self.name, self.is_text = first.name, first.dtype == pl.String
        self.levels: list[Any] = [] if self.is_text else [False, True]
        self.gone: set[str] = set()
        self.codes = np.empty(capacity, np.int16)
        self.type: Any = pl.UInt8
        if self.is_text:
            self._learn(first)

    @property
    def is_full(self) -> bool:
        """Whether there are more levels than are numbered."""
        return len(self.levels) > MAX_LEVELS

    def _learn(self, part: pl.Series) -> None:
        """Take up levels; texts that say that there is no value are none."""
        known = {*self.levels, *self.gone}
        new = [text for text in part.unique().drop_nulls().to_list() if text not in known]
        bare = pl.Series(new, dtype=pl.String).str.strip_chars().to_list()
        self.gone |= {text for text, stripped in zip(new, bare, strict=True) if stripped in MISSING}
        self.levels += sorted(text for text in new if text not in self.gone)
        if not self.is_full:
            self.type = pl.Enum(self.levels)

    @property
    def numbered(self) -> pl.Expr:
        """The codes of a part by polars, null where a level is not known."""
        return pl.col(self.name).cast(self.type, strict=False).to_physical()

    def of(self, part: pl.Series, found: pl.Series) -> npt.NDArray[Any] | None:
        """The codes of a part, of which `found` are those that are known; None where there are too many levels."""
        if found.null_count() > part.null_count():
            self._learn(part)
            if self.is_full:
                return None
            found = part.to_frame().select(self.numbered).to_series()
        return (found.cast(pl.Int16).fill_null(-1) if found.null_count() else found).to_numpy()

    def texts(self, codes: npt.NDArray[Any]) -> pl.Series:
        """The values that codes stand for, null where they are missing."""
        kind = pl.String if self.is_text else pl.Boolean
        values = pl.Series(self.name, [*self.levels, None], kind)
        return values.gather(np.where(codes < 0, len(self.levels), codes).astype(np.uint32))

    def column(self, n: int) -> Column:
        """The first n rows as a column."""
        codes = self.codes[:n]
        gone = codes < 0 if codes.min(initial=0) < 0 else None
        if self.is_text:
            return Column(
                self.name, "category", gone, lambda: self.texts(codes).to_numpy(), lambda: self._levels(codes)
            )
        numbers = np.array([0.0, 1.0, np.nan])
        return Column(self.name, "boolean", gone, lambda: numbers[codes], lambda: self._levels(codes))

    def _levels(self, codes: npt.NDArray[Any]) -> Levels:
        """The distinct values; where all of them are there in order, the codes are as they are."""
        values: npt.NDArray[Any] = np.array(self.levels, object if self.is_text else np.float64)
        met = np.zeros(len(values) + 1, bool)
        met[codes] = True
        if met[:-1].all() and self.levels == sorted(self.levels):
            return Levels(values, codes)
        found = sorted_levels(values, codes)
        return found if self.is_text else Levels(found.values.astype(np.float64), found.codes)
