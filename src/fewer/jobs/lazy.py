"""Bins, dims and terms of data in blocks: gathered where they fit, else one or two passes and a small problem."""

from typing import Any

from ..options import IN_BLOCKS
from ..row_blocks import canonical_rows
from ..tables.cutting import width
from ..tables.source import Source
from ..threads import own_threads
from .terms.blocks import TermsSummary, terms_schema
from .terms.options import TermsOptions

HEAD_ROWS = 1024
"""Rows by which the width of blocks is known."""


def terms_of_blocks(blocks: Source, y: Any, options: TermsOptions) -> TermsSummary:
    """The triangular factor of [X y] of rows in blocks."""
    options.refuse("loss", "returns", "date", road=IN_BLOCKS)
    head = blocks.head(HEAD_ROWS).X
    rows = canonical_rows(width(head))
    schema = terms_schema(head, y, options).filled(blocks, "terms", rows)
    with own_threads():  # panels are too small for several
        return blocks.fold("terms-1", TermsSummary.of, schema, TermsSummary.merged, rows)
