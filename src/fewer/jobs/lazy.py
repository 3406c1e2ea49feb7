"""Bins, dims and terms of data in blocks: gathered where they fit, else one or two passes and a small problem."""

from dataclasses import replace
from typing import Any

from .._validation import as_integer
from ..options import IN_BLOCKS
from ..result import Result
from ..row_blocks import canonical_rows
from ..tables.frames import width
from ..tables.source import Block, Source, source_of
from .dims.blocks import DimsSpec, DimsSummary, LevelsSummary
from .dims.long import LongSpec, long_summary
from .dims.options import DimsOptions

HEAD_ROWS = 1024
"""Rows by which the width of blocks is known."""


def rows_of(blocks: Source) -> int:
    """The rows of a canonical block, by the number of columns."""
    return canonical_rows(width(blocks.head(HEAD_ROWS).X))


def dims_of_blocks(X: Any, k: Any, options: DimsOptions) -> Result | Block:
    """The answer for rows in blocks; where they fit into half of the memory, all of them instead."""
    from .dims.dims import cover

    blocks = source_of(X, None, options.sample_weight)
    whole = blocks.whole(options.max_memory // 2)
    if whole is not None:
        return whole
    summary = dims_summary(blocks, k, options)
    coding = summary.coding(options.baseline, options.include, options.exclude)
    judged: Result = summary.judged(cover(coding, k, options), options.objective)
    return judged


def dims_summary(blocks: Source, k: Any, options: DimsOptions) -> Any:
    """The states of rows in blocks; of a table with labels after a pass for these."""
    options.refuse("units", "costs", "budget", road=IN_BLOCKS)
    if options.order is not None:
        most = k if options.objective == "kl" else None
        lines = LongSpec(options.order, options.item, options.max_memory, most, options.missing)
        return long_summary(blocks, lines)
    rows = rows_of(blocks)
    spec = dims_spec(blocks, k, options)
    spec = replace(spec, schema=spec.schema.filled(blocks, "dims", rows, mode=True))
    plan: Any = spec
    if spec.labelled:
        plan = blocks.fold("dims-1", LevelsSummary.of, spec, LevelsSummary.merged, rows)
    return blocks.fold("dims-2", DimsSummary.of, plan, DimsSummary.merged, rows)


def dims_spec(blocks: Source, k: Any, options: DimsOptions) -> DimsSpec:
    """How rows are read; where only the share covered counts, states of more than k columns are not kept."""
    head = blocks.head(canonical_rows(width(blocks.head(HEAD_ROWS).X))).X
    spec = DimsSpec.of(head, options)
    from_zero = isinstance(options.baseline, str) and options.baseline in ("auto", "zero")
    if from_zero and options.objective == "kl" and not spec.labelled:
        return replace(spec, most=as_integer(k, "k", 1))
    return spec
