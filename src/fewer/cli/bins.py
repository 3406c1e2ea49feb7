"""`fewer bins`."""

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._validation import InvalidInput, Vector
from ._options import WHOLE, asked, for_all_jobs
from ._table import known_column, noted, refuse_in_blocks, stored

if TYPE_CHECKING:
    from ..io.files import FileTable
    from ..jobs.bins.empirical import Empirical
    from ..report.study import Study as Problem

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
@click.option(
    "--bins",
    "count",
    type=WHOLE,
    metavar="N",
    help="This many bins; of equal width unless --grid is given.",
)
@click.option(
    "--bin-width", type=float, metavar="W", help="Bins of this width, starting at a multiple of it."
)
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
    themselves. With --counts the column holds the counts of bins. With --contiguous k bars cover
    all bins, with the least squared error (v-optimal). With --path a random part is held out. FILE
    is csv, tsv, parquet, feather, xlsx, jsonl, sqlite, npy or npz, or - for stdin.
    """
    common = asked(options)
    binned = [
        name
        for name, given in (("--grid", grid), ("--bins", count), ("--bin-width", bin_width))
        if given
    ]
    if bin_width is not None and len(binned) > 1:
        raise click.UsageError("give --bin-width or --bins with or without --grid, not both")
    if counts and binned:
        raise click.UsageError(f"--counts are bins already; leave out {binned[0]}")
    if contiguous:
        preserve = "entries"
    if grid == "auto" and (count is not None or preserve == "entries"):
        raise click.UsageError(
            "--grid auto has no bins; leave it out, or choose equal, log or quantile"
        )
    if bin_width is not None and not (np.isfinite(bin_width) and bin_width > 0):
        raise click.UsageError(f"--bin-width must be a number above 0, got {bin_width:g}")
    from ..io.files import open_table
    from ._run import Data, of_all, perform
    from ._write import check_targets

    check_targets(common)
    table = open_table(common.files)
    name = the_column(table, column)
    X = None if counts else stored(table, [name], common)
    what, note = f"values of {name} in {table.label}", noted(table)
    if counts:
        made: dict[str, Any] = {"counts": checked(table, name, table.numbers([name])[:, 0])}
        what = f"counts of {name} in {table.label}"
    else:
        chosen: Any = grid or ("equal" if count is not None or preserve == "entries" else "auto")
        made = {"grid": chosen, "n_bins": count}
        if X is None:
            X = read_values(table, name, missing)
            what = f"{X.total:.0f} {what}"
            note = "\n".join(
                filter(
                    None, [note, f"{X.dropped} missing values were dropped." if X.dropped else ""]
                )
            )
            if bin_width is not None:
                made["grid"] = edges_by_width(float(X.x[0]), float(X.x[-1]), bin_width)
        else:
            refuse_in_blocks({"bin_width": bin_width}, "bin_width")
            made["missing"] = missing
    made |= {"preserve": preserve, "contiguous": contiguous}

    def title(problem: "Problem") -> str:
        if contiguous:
            return f"bars for {of_all(problem, 'bins')[3:]}, the {what}"
        return (
            f"{of_all(problem, problem.unit)}, the {what}"
            if counts
            else f"{of_all(problem, problem.unit)} for the {what}"
        )

    return perform("bins", Data(X, made, title, note, rows=table.stored_rows), common)


def read_values(table: "FileTable", name: str, missing: str) -> "Empirical":
    """The values of a column; a missing one is refused by its cell, or dropped."""
    from ..jobs.bins.empirical import Empirical

    if missing == "error":
        return Empirical.of(table.numbers([name])[:, 0])
    try:
        return Empirical.of(table.frame([name])[name], missing=missing)
    except InvalidInput as error:
        raise InvalidInput(f"{table.label}, column {name!r}: {error}") from None


def the_column(table: "FileTable", name: str | None) -> str:
    """The column that was named, or the only one there is."""
    if name is not None:
        return known_column(table, name, "--column")
    if len(table.numeric) != 1:
        some = ", ".join(table.numeric[:8]) + (", …" if len(table.numeric) > 8 else "")
        raise InvalidInput(
            f"{table.label}: has {len(table.numeric)} columns of numbers ({some}); name one by --column"
        )
    return table.numeric[0]


def checked(table: "FileTable", name: str, counts: Vector) -> Vector:
    """Counts that are not negative and not all zero."""
    if counts.min() < 0:
        row = int(counts.argmin())
        raise InvalidInput(
            f"{table.label}, row {row}, column {name!r}: expected a count, got {counts[row]:g}"
        )
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
        raise InvalidInput(
            f"--bin-width {width:g} makes more than {MAX_BINS} bins from {low:g} to {high:g}"
        )
    return np.asarray(width * (start + np.arange(int(n) + 1)))
