"""Bins, dims and terms of data in blocks: gathered where they fit, else one or two passes and a small problem."""

from dataclasses import replace
from typing import Any

from .._validation import InvalidInput, as_integer, known
from ..data.blocks import Block, Blocks, as_blocks, refuse_for_blocks
from ..data.cutting import width
from ..result import Result
from ..row_blocks import canonical_rows
from ..threads import own_threads
from ._bins_blocks import BinsSummary, CountedSummary
from ._dims_blocks import DimsSpec, DimsSummary, LevelsSummary
from ._dims_long import LongSpec, long_summary
from ._fills import filled
from ._terms_blocks import TermsSpec, TermsSummary

HEAD_ROWS = 1024
"""Rows by which the width of blocks is known."""


def rows_of(blocks: Blocks) -> int:
    """The rows of a canonical block, by the number of columns."""
    return canonical_rows(width(blocks.head(HEAD_ROWS).X))


def bins_of_blocks(blocks: Blocks, missing: str, grid: Any = "auto", n_bins: Any = None) -> Any:
    """The summary of values in blocks: of one pass where that counts all values, else of two.

    The second counts between the edges of the grid too.
    """
    rows = rows_of(blocks)
    first = blocks.fold("bins-1", _bins_first, missing, BinsSummary.merged, rows)
    if first.exact:
        return first
    if not isinstance(grid, str) or grid != "auto":
        from .grid import edges_of

        edges = tuple(edges_of(P, grid, n_bins) for P in first.distributions())
        first = replace(first, edges=edges)
    return blocks.fold("bins-2", CountedSummary.of, first, CountedSummary.merged, rows)


def _bins_first(block: Any, missing: str) -> BinsSummary:
    return BinsSummary.of(block, missing)


def solved_bins(summary: Any, column: int, k: int, grid: Any, n_bins: Any, search: dict[str, Any]) -> Result:
    """`bins` of one column that was summarised."""
    from ._values import best_values
    from .grid import grid_of

    P = summary.distributions()[column]
    grid, n_bins = counted_grid(summary, column, grid, n_bins)
    found = best_values(P, k, grid_of(P, k, grid, n_bins, search["deadline"].seconds), search)
    judged: Result = summary.judged(found, column)
    return judged


def counted_grid(summary: Any, column: int, grid: Any, n_bins: Any) -> tuple[Any, Any]:
    """The grid as edges, where values were counted between these in a second pass."""
    if not isinstance(summary, CountedSummary) or (isinstance(grid, str) and grid == "auto"):
        return grid, n_bins
    edges = summary.columns[column].grid
    if edges is None:
        raise InvalidInput("beyond 65,536 different values only `bins` counts by a grid other than 'auto'")
    return edges, None


def counted_values(summary: Any, grid: Any) -> Any:
    """Values by which a histogram is made: all of them, or those that were counted between its edges."""
    if isinstance(summary, CountedSummary) and isinstance(grid, str) and grid == "auto":
        raise InvalidInput('preserve other than "cdf" needs bins: give grid as "equal", "log", "quantile" or edges')
    return summary.distributions()[0]


def dims_summary(blocks: Blocks, spec: DimsSpec) -> DimsSummary:
    """The states of rows in blocks; of a table with labels after a pass for these."""
    rows = rows_of(blocks)
    spec = filled(spec, blocks, "dims", rows, most_frequent=True)
    plan: Any = spec
    if spec.labelled:
        plan = blocks.fold("dims-1", LevelsSummary.of, spec, LevelsSummary.merged, rows)
    return blocks.fold("dims-2", DimsSummary.of, plan, DimsSummary.merged, rows)


def dims_of_blocks(
    X: Any,
    k: int,
    *,
    refused: dict[str, Any],
    memory: int,
    objective: str,
    sample_weight: Any,
    baseline: Any,
    include: Any,
    exclude: Any,
    missing: str,
    columns: Any,
    order: Any,
    item: Any,
    search: dict[str, Any],
) -> Result | Block:
    """The answer for rows in blocks; where they fit into half of the memory, all of them instead."""
    from .dims import cover

    blocks = as_blocks(X, None, sample_weight)
    whole = blocks.gathered(memory // 2)
    if whole is not None:
        return whole
    refuse_for_blocks(**refused)
    if order is not None or item is not None:
        summary: Any = long_summary(blocks, LongSpec(order, item, memory, k if objective == "kl" else None, missing))
    else:
        summary = dims_summary(
            blocks, dims_spec(blocks, k, memory, objective, sample_weight, baseline, missing, columns)
        )
    found = cover(summary.coding(baseline, include, exclude), k, objective=objective, **search)
    judged: Result = summary.judged(found, objective)
    return judged


def dims_spec(
    blocks: Blocks, k: Any, memory: int, objective: str, weight: Any, baseline: Any, missing: str, columns: Any
) -> DimsSpec:
    """How rows are read; where only the share covered counts, states of more than k columns need not be kept."""
    head = blocks.head(canonical_rows(width(blocks.head(HEAD_ROWS).X))).X
    name = weight if isinstance(weight, str) else None
    spec = DimsSpec.of(head, columns=columns, missing=missing, max_memory=memory, weight=name)
    from_zero = isinstance(baseline, str) and baseline in ("auto", "zero") and not spec.labelled
    return replace(spec, most=as_integer(k, "k", 1)) if from_zero and objective == "kl" else spec


def terms_of_blocks(blocks: Blocks, y: Any, weight: Any, missing: str) -> TermsSummary:
    """The triangular factor of [X y] of rows in blocks."""
    head = blocks.head(HEAD_ROWS).X
    name = weight if isinstance(weight, str) else None
    known(missing, dict.fromkeys(("error", "drop", "impute")), "missing of data in blocks")
    rows = canonical_rows(width(head))
    spec = filled(TermsSpec.of(head, y, missing=missing, weight=name), blocks, "terms", rows)
    with own_threads():  # panels are too small for several
        return blocks.fold("terms-1", TermsSummary.of, spec, TermsSummary.merged, rows)
