"""Options of bins."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ..._validation import as_bytes, as_flag
from ...options import OneOf, Options, as_least, as_solver, option

OF_COUNTS = "For `counts`: "


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BinsOptions(Options):
    """Options of bins, checked."""

    job = "bins"
    counts: npt.ArrayLike | None = option(
        None,
        "array of shape (n,), optional",
        "A histogram instead of values: counts or probabilities. Exactly one of `values` and"
        " `counts` is given.",
        rows=True,
    )
    grid: Any = option(
        "auto",
        '{"auto", "equal", "log", "quantile"} or array of edges (n + 1,)',
        'For `values`, where the kept ones may sit. "auto": at every distinct value, or at so many'
        " of them that more would gain next to nothing. Otherwise each bin that holds values sits"
        " at their median: `n_bins` bins of equal width, of equal ratio or of equal share, or bins"
        " [edge, next edge), the last with its upper edge.",
    )
    n_bins: int | None = option(
        None, "int, optional", 'Bins of the grids "equal", "log" and "quantile"; 1000 unless given.'
    )
    sample_weight: npt.ArrayLike | None = option(
        None, "array of shape (N,), optional", "Weights of the values.", rows=True
    )
    missing: str = option(
        "error",
        OneOf("error", "drop"),
        "How to treat missing values (NaN): raise an error with the index, or drop them; `note`"
        " says how many.",
    )
    edges: npt.ArrayLike | None = option(
        None,
        "array of shape (n + 1,), optional",
        OF_COUNTS + "where bins begin and end.",
        rows=True,
    )
    positions: npt.ArrayLike | None = option(
        None,
        "array of shape (n,), optional",
        OF_COUNTS
        + 'where bins sit, increasing; the centres where only edges are given. Then "cdf" has g_t ='
        " positions_{t+1} - positions_t, so that the loss is the integral of (Q - P)² dx. Without"
        " both g_t = 1.",
        rows=True,
    )
    preserve: Any = option(
        "cdf",
        '{"cdf", "entries"} or a matrix or LinearOperator A of shape (r, n)',
        "What should change least: cumulative shares (for ordered bins), shares, or the"
        " expectations of functionals, of which only A p is used. Shares and cumulative ones are"
        ' solved to proven optimality on the n bins or positions of the grid, "cdf" by dynamic'
        ' programming in O(k n log n) time and 4 k n bytes. For `values` anything but "cdf" needs a'
        " grid with bins.",
    )
    contiguous: bool = option(
        False,
        "bool",
        "A histogram with k bars instead of k bins: constant on k runs that cover all bins, with"
        " the least squared difference of the entries (v-optimal), proven by dynamic programming in"
        " about k n log n steps. Where k times the number of bins is above 50 million, neighbours"
        " are merged first, and `gap` says what that may cost. For `values` a grid with bins is"
        ' needed; `preserve` is "entries" then, whatever it says.',
        as_flag,
    )
    validation: float | None = option(
        None,
        "float, optional",
        "For a matrix: a share of its rows that is held back to decide when to stop (early stopping"
        " by the one-standard-error rule); then all rows are fitted up to that point. A lower error"
        " on these rows can mean a higher one on others.",
    )
    ridge: float = option(
        0.0,
        "float",
        "For a matrix: a multiple of ‖q‖² that is added, and counted in `value`, `bound` and `gap`,"
        " not in `loss`.",
        as_least,
    )
    solver: str = option(
        "auto",
        '{"auto", "exact", "exchange", "frank_wolfe", "greedy", "iht"}',
        "As in `terms`.",
        as_solver,
    )
    max_memory: int = option(
        "1GB",
        "int or str",
        "Values in blocks are gathered where they take at most half of it. Others are counted, up"
        " to 65,536 different ones; beyond, a first pass finds quantiles with a proven rank error,"
        " and a second counts between them.",
        as_bytes,
    )
    time_limit: float | None = option(
        None,
        "float, optional",
        'Wall time in seconds, but for compiling. "cdf", cut short, gives k-means on the cumulative'
        " shares.",
    )

    @property
    def plain(self) -> bool:
        """Whether cumulative shares are preserved by single values or bins."""
        return isinstance(self.preserve, str) and self.preserve == "cdf" and not self.contiguous

    @property
    def automatic(self) -> bool:
        """Whether the grid has no bins."""
        return isinstance(self.grid, str) and self.grid == "auto"
