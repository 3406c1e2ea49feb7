"""Tall least squares in blocks: the triangular factor of [X y], block by block, merged in a tree.

‖X q - y‖² = ‖R_X q - r_y‖² for [X y] = Q R, and R of two blocks is the factor of one R below the
other. The Gram matrix would do as well, but squares the condition number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._validation import InvalidInput, Vector, as_vector, is_frame, known
from ...objectives.tall import factored, merged_factors
from ...tables.blocks import Block
from ...tables.missing import dropped_note
from ...tables.table import role
from ..block_columns import Chosen, Fills, chosen_columns, read_block
from .options import TermsOptions
from .tracking import Tracked

MAX_FACTOR_COLUMNS = 4096
"""Columns up to which X in blocks is factored; wider ones are refused."""


@dataclass(frozen=True)
class TermsSpec:
    """How blocks are read."""

    chosen: Chosen | None = None
    missing: Any = "error"

    @classmethod
    def of(cls, head: Any, y: Any, options: TermsOptions) -> "TermsSpec":
        """What the first rows say: of a table the columns of numbers are candidates."""
        missing = options.missing
        known(missing, dict.fromkeys(("error", "drop", "impute")), "missing of data in blocks")
        weight = options.sample_weight if isinstance(options.sample_weight, str) else None
        if not is_frame(head):
            role(head, y, "y")
            return cls(None, missing)
        found = chosen_columns(head, None, {"y": y, "sample_weight": weight}, missing)
        assert found is not None  # noqa: S101 - of a table
        found = found.without("date", "dates")
        texts = [
            name for name, kind in zip(found.names, found.kinds, strict=True) if kind == "category"
        ]
        if texts:
            raise InvalidInput(
                f"column {texts[0]!r} holds texts; expected numbers, or leave it out of the blocks"
            )
        return cls(found, missing)


@dataclass(frozen=True, eq=False)
class TermsSummary:
    """R (at most n + 1, n + 1) of [X y], with rows multiplied by the roots of their weights."""

    factor: Vector
    spec: TermsSpec
    rows: int
    dropped: int = 0
    job = "terms"
    exact = True

    @classmethod
    def of(cls, block: Block, spec: TermsSpec) -> "TermsSummary":
        """Of a block."""
        read = read_block(block, spec.chosen, spec.missing)
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
        return cls(factor, spec, read.size, read.size - len(X))

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
        from ...tables.align import group_codes
        from ...tables.names import positions

        include, exclude, groups = options.include, options.exclude, options.groups

        X, y = self.factor[:, :-1], self.factor[:, -1]
        chosen = self.spec.chosen
        names = None if chosen is None else list(chosen.table)
        held, never = (
            positions(value, names, name)
            for name, value in (("include", include), ("exclude", exclude))
        )
        notes = [] if chosen is None else list(chosen.notes)
        excluded = never
        if chosen is not None:
            wide = np.zeros((len(y), len(chosen.table)))
            wide[:, chosen.places] = X
            X = wide
            never = np.union1d(never, np.setdiff1d(np.arange(len(chosen.table)), chosen.places))
        codes = group_codes(groups, names, np.setdiff1d(np.arange(X.shape[1]), never), excluded)
        if isinstance(self.spec.missing, Fills):
            notes += [self.spec.missing.note] if self.spec.missing.note else []
        if self.dropped:
            notes.append(dropped_note(self.dropped, self.rows))
        places = np.arange(X.shape[1]) if chosen is None else chosen.places
        refused = np.intersect1d(excluded, places)
        note = "; ".join(notes)
        return Tracked(X, y, names, held, never, codes, note=note, refused=refused)
