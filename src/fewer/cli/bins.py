"""`fewer bins`."""

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._validation import InvalidInput, Vector
from ._options import WHOLE, asked, for_all_jobs
from ._table import known_column, noted

if TYPE_CHECKING:
    from ..data.files import FileTable
    from ..jobs.empirical import Empirical
    from ..report.path import Problem

MAX_BINS = 10_000_000
"""Bins up to which edges are made."""


@click.command(epilog="Example: fewer bins requests.csv --column ms -k 50 -o ms50.csv")
@for_all_jobs
@click.option("--column", metavar="COL", help="The column; not needed if there is only one.")
@click.option(
    "--grid",
    type=click.Choice(["auto", "equal", "log", "quantile"]),
    help="Where kept values may sit: anywhere (auto), or one in each bin of equal width, ratio or share.",
)
@click.option("--bins", "count", type=WHOLE, metavar="N", help="This many bins; of equal width unless --grid is given.")
@click.option("--bin-width", type=float, metavar="W", help="Bins of this width, starting at a multiple of it.")
@click.option("--counts", is_flag=True, help="The column holds the counts of bins, not values.")
@click.option("--contiguous", is_flag=True, help="A histogram with k bars that cover all bins.")
@click.option("--missing", type=click.Choice(["error", "drop"]), default="error", show_default=True)
@click.option(
    "--preserve",
    type=click.Choice(["cdf", "entries"]),
    default="cdf",
    show_default=True,
    help="Keep cumulative shares, or shares.",
)
def bins(
    column: str | None,
    grid: str | None,
    count: int | None,
    bin_width: float | None,
    counts: bool,
    contiguous: bool,
    missing: str,
    preserve: str,
    **options: Any,
) -> int:
    """Keep k weighted values of a column of FILE whose distribution is nearest to that of all values.

    --grid, --bins and --bin-width limit where the kept values may sit; the error is still measured on the values
    themselves. With --counts the column holds the counts of bins. With --contiguous k bars cover all bins, with the
    least squared error (v-optimal). With --path a random part is held out.
    FILE is csv, tsv, parquet, feather, xlsx, jsonl, sqlite, npy or npz, or - for stdin.
    """
    common = asked(options)
    binned = [name for name, given in (("--grid", grid), ("--bins", count), ("--bin-width", bin_width)) if given]
    if bin_width is not None and len(binned) > 1:
        raise click.UsageError("give --bin-width or --bins with or without --grid, not both")
    if counts and binned:
        raise click.UsageError(f"--counts are bins already; leave out {binned[0]}")
    if contiguous:
        preserve = "entries"
    if grid == "auto" and (count is not None or preserve == "entries"):
        raise click.UsageError("--grid auto has no bins; leave it out, or choose equal, log or quantile")
    if bin_width is not None and not (np.isfinite(bin_width) and bin_width > 0):
        raise click.UsageError(f"--bin-width must be a number above 0, got {bin_width:g}")
    from ..data.files import open_table
    from ._blocks import bins_in_blocks, is_large, refuse
    from ._write import check_targets

    check_targets(common)
    table = open_table(common.files)
    name = the_column(table, column)
    if not counts and is_large(table, common, [name]):
        if bin_width is not None:
            refuse("bin_width")
        given = {"grid": grid or ("equal" if binned else "auto"), "n_bins": count, "preserve": preserve}
        return bins_in_blocks(table, common, name, {**given, "contiguous": contiguous, "missing": missing})
    if counts:
        from ..report.bins import BinsProblem

        found: Problem = barred(
            BinsProblem(checked(table, name, table.numbers([name])[:, 0]), None, preserve), contiguous
        )
        title = f"{'bars for' if contiguous else 'of'} {found.size} bins, the counts of {name} in {table.label}"
        note = noted(table)
    else:
        P = read_values(table, name, missing)
        found = barred(of_values(P, grid, count, bin_width, preserve), contiguous)
        where = f"bars for {found.size} bins" if contiguous else f"of {found.size} {found.unit}"
        title = f"{where} for the {P.size} values of {name} in {table.label}"
        note = "\n".join(filter(None, [noted(table), f"{P.dropped} missing values were dropped." if P.dropped else ""]))
    from ._run import perform

    return perform(found, common, title, note=note)


def barred(problem: Any, contiguous: bool) -> "Problem":
    """The same histogram with k bars where these are asked for."""
    from ..report.bars import BarsProblem

    found: Problem = BarsProblem(problem.counts, problem.edges) if contiguous else problem
    return found


def read_values(table: "FileTable", name: str, missing: str) -> "Empirical":
    """The values of a column; a missing one is refused by its cell, or dropped."""
    from ..jobs.empirical import Empirical

    if missing == "error":
        return Empirical.of(table.numbers([name])[:, 0])
    try:
        return Empirical.of(table.frame([name])[name], missing=missing)
    except InvalidInput as error:
        raise InvalidInput(f"{table.label}, column {name!r}: {error}") from None


def of_values(
    P: "Empirical", grid: str | None, count: int | None, width: float | None, preserve: str = "cdf"
) -> "Problem":
    """The study of values that was asked for."""
    from ..jobs.grid import cuts_of, edges_of
    from ..report.bins import BinsProblem
    from ..report.values import ValuesProblem

    chosen: Any = grid or ("equal" if count is not None or preserve == "entries" else "auto")
    if width is not None:
        chosen = edges_by_width(float(P.x[0]), float(P.x[-1]), width)
    if preserve == "cdf":
        return ValuesProblem(P, chosen, count)
    edges = np.asarray(edges_of(P, chosen, count))
    return BinsProblem(np.diff(cuts_of(P, edges)).astype(np.float64), edges, preserve)


def the_column(table: "FileTable", name: str | None) -> str:
    """The column that was named, or the only one there is."""
    if name is not None:
        return known_column(table, name, "--column")
    if len(table.numeric) != 1:
        some = ", ".join(table.numeric[:8]) + (", …" if len(table.numeric) > 8 else "")
        raise InvalidInput(f"{table.label}: has {len(table.numeric)} columns of numbers ({some}); name one by --column")
    return table.numeric[0]


def checked(table: "FileTable", name: str, counts: Vector) -> Vector:
    """Counts that are not negative and not all zero."""
    if counts.min() < 0:
        row = int(counts.argmin())
        raise InvalidInput(f"{table.label}, row {row}, column {name!r}: expected a count, got {counts[row]:g}")
    if counts.max() == 0:
        raise InvalidInput(f"{table.label}, column {name!r}: all counts are zero")
    return counts


def edges_by_width(low: float, high: float, width: float) -> Vector:
    """Edges at multiples of a width, from below the least to above the largest value.

    >>> edges_by_width(1.5, 4.0, 2.0).tolist()
    [0.0, 2.0, 4.0, 6.0]
    """
    start = np.floor(low / width)
    n = min(np.floor(high / width) - start + 1, MAX_BINS + 1)
    if not n <= MAX_BINS:
        raise InvalidInput(f"--bin-width {width:g} makes more than {MAX_BINS} bins from {low:g} to {high:g}")
    return np.asarray(width * (start + np.arange(int(n) + 1)))
