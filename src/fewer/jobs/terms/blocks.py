"""Tall least squares in blocks: the triangular factor of [X y], block by block, merged in a tree.

‖X q - y‖² = ‖R_X q - r_y‖² for [X y] = Q R, and R of two blocks is the factor of one R below the
other. The Gram matrix would do as well, but squares the condition number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import InvalidInput, Vector, as_vector
from ...objectives.factor import merged_factors, rooted_rows, triangular_factor
from ...options import IN_BLOCKS
from ...row_blocks import canonical_rows
from ...tables.column import dropped_note
from ...tables.frames import positions, width
from ...tables.schema import Schema
from ...tables.source import Block, Source
from ...threads import own_threads
from .options import TermsOptions
from .tracking import Tracked, terms_schema

HEAD_ROWS = 1024
"""Rows by which columns are known."""
MAX_FACTOR_COLUMNS = 4096
"""Columns up to which X in blocks is factored; wider ones are refused."""


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
        """Compute the factor of a block."""
        read = schema.read(block)
        X = read.numbers.toarray() if sp.issparse(read.numbers) else read.numbers
        if read.y is None:
            raise InvalidInput(
                "terms needs a target: give y, blocks (X, y), or the name of a column"
            )
        if X.shape[1] > MAX_FACTOR_COLUMNS:
            raise InvalidInput(
                f"more than {MAX_FACTOR_COLUMNS} columns are not for data in blocks, got"
                f" {X.shape[1]}; raise max_memory so that half of it holds them, or give some of"
                " the columns"
            )
        y = as_vector(read.y, (len(X),), "y")
        factor = triangular_factor(
            rooted_rows(X, y, None if read.weight is None else np.sqrt(read.weight))
        )
        if not np.isfinite(factor).all():
            raise InvalidInput(
                "X or y holds numbers too large to be squared in blocks; divide them by a power"
                " of ten"
            )
        return cls(factor, schema, read.size, read.size - len(X))

    @classmethod
    def merged(cls, parts: Sequence["TermsSummary"]) -> "TermsSummary":
        """Compute the factor of several blocks."""
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
        """Return the small problem with the same errors."""
        X, y, schema = self.factor[:, :-1], self.factor[:, -1], self.schema
        notes = [*schema.notes, schema.note, dropped_note(self.dropped, self.rows)]
        note = "; ".join(filter(None, notes))
        if not schema.named:
            return Tracked(X, y, None, options.include, options.exclude, options.groups, note=note)
        excluded = positions(options.exclude, list(schema.table), "exclude")
        return Tracked.of_columns(schema, X, y, options, note=note, refused=excluded)


def terms_summary(source: Source, y: Any, options: TermsOptions) -> TermsSummary:
    """Compute the triangular factor of [X y] of rows in blocks."""
    options.refuse("loss", "returns", "date", road=IN_BLOCKS)
    head = source.head(HEAD_ROWS).X
    rows = canonical_rows(width(head))
    schema = block_schema(head, y, options).filled(source, "terms", rows)
    with own_threads():  # panels are too small for several
        return source.fold("terms-1", TermsSummary.of, schema, TermsSummary.merged, rows)


def block_schema(head: Any, y: Any, options: TermsOptions) -> Schema:
    """Decide how blocks are read by the first rows."""
    roles = {"y": y, "sample_weight": options.sample_weight}
    return terms_schema(head, options, roles)
