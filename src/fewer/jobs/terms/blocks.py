"""Tall least squares in blocks: the triangular factor of [X y], block by block, merged in a tree.

‖X q - y‖² = ‖R_X q - r_y‖² for [X y] = Q R, and R of two blocks is the factor of one R below the
other. The Gram matrix would do as well, but squares the condition number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import InvalidInput, Vector, as_vector, is_frame
from ...objectives.tall import factored, merged_factors
from ...tables.column import Column
from ...tables.missing import dropped_note
from ...tables.schema import Schema, left_out
from ...tables.source import Block
from .options import TermsOptions
from .tracking import Tracked

MAX_FACTOR_COLUMNS = 4096
"""Columns up to which X in blocks is factored; wider ones are refused."""


def terms_schema(head: Any, y: Any, options: TermsOptions) -> Schema:
    """How blocks are read: of a table the columns of numbers are candidates."""
    roles = {"y": y} | ({"sample_weight": options.sample_weight} if is_frame(head) else {})
    rules = ("error", "drop", "impute")
    return Schema.of(head, None, roles, options.missing, rules=rules, reason=_not_numbers)


def _not_numbers(column: Column) -> str:
    """Why a column is left out unasked, "" where it is not; texts are refused."""
    if column.kind == "date":
        return "dates"
    reason = left_out(column)
    if column.kind == "category" and not reason:
        raise InvalidInput(
            f"column {column.name!r} holds texts; expected numbers, or leave it out of the blocks"
        )
    return reason


@dataclass(frozen=True, eq=False)
class TermsSummary:
    """R (at most n + 1, n + 1) of [X y], with rows multiplied by the roots of their weights."""

    factor: Vector
    schema: Schema
    rows: int
    dropped: int = 0
    job = "terms"
    exact = True

    @classmethod
    def of(cls, block: Block, schema: Schema) -> "TermsSummary":
        """Of a block."""
        read = schema.read(block)
        X = read.numbers.toarray() if sp.issparse(read.numbers) else read.numbers
        if read.y is None:
            raise InvalidInput(
                "terms needs a target: give y, blocks (X, y), or the name of a column"
            )
        if X.shape[1] > MAX_FACTOR_COLUMNS:
            raise InvalidInput(
                f"more than {MAX_FACTOR_COLUMNS} columns are not for data in blocks, got {X.shape[1]}; raise "
                f"max_memory so that half of it holds them, or give some of the columns"
            )
        y = as_vector(read.y, (len(X),), "y")
        factor = factored(X, y, None if read.weight is None else np.sqrt(read.weight))
        if not np.isfinite(factor).all():
            raise InvalidInput(
                "X or y holds numbers too large to be squared in blocks; divide them by a power of ten"
            )
        return cls(factor, schema, read.size, read.size - len(X))

    @classmethod
    def merged(cls, parts: Sequence["TermsSummary"]) -> "TermsSummary":
        """Of all their blocks."""
        if len({part.factor.shape[1] for part in parts}) > 1:
            raise InvalidInput(f"all blocks must have {parts[0].factor.shape[1] - 1} columns")
        rows, dropped = sum(part.rows for part in parts), sum(part.dropped for part in parts)
        return replace(
            parts[0],
            factor=merged_factors([part.factor for part in parts]),
            rows=rows,
            dropped=dropped,
        )

    def tracked(self, options: TermsOptions) -> Tracked:
        """The small problem with the same errors."""
        from ...tables.names import group_codes, positions

        include, exclude, groups = options.include, options.exclude, options.groups

        X, y = self.factor[:, :-1], self.factor[:, -1]
        schema = self.schema
        names = list(schema.table) if schema.named else None
        held, never = (
            positions(value, names, name)
            for name, value in (("include", include), ("exclude", exclude))
        )
        excluded = never
        if names is not None:
            wide = np.zeros((len(y), len(names)))
            wide[:, schema.places] = X
            X = wide
            never = np.union1d(never, np.setdiff1d(np.arange(len(names)), schema.places))
        codes = group_codes(groups, names, np.setdiff1d(np.arange(X.shape[1]), never), excluded)
        notes = [*schema.notes, schema.note, dropped_note(self.dropped, self.rows)]
        refused = np.intersect1d(excluded, schema.places)
        note = "; ".join(filter(None, notes))
        return Tracked(X, y, names, held, never, codes, note=note, refused=refused)
