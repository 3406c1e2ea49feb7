"""`fewer bins`."""

from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._validation import InvalidInput, Vector
from ._options import WHOLE, asked, for_all_jobs
from ._table import known_column, noted

if TYPE_CHECKING:
    from ..data.files import FileTable

DEFAULT_BINS = 1000
"""Bins where nothing else was asked."""
MAX_BINS = 10_000_000
"""Bins up to which a histogram is made."""


@click.command(epilog="Example: fewer bins claims.csv --column cost --bin-width 1000 -k 50 -o cost50.csv")
@for_all_jobs
@click.option("--column", metavar="COL", help="The column; not needed where there is only one.")
@click.option("--bin-width", type=float, metavar="W", help="Bins of this width, from a multiple of it.")
@click.option("--bins", "count", type=WHOLE, metavar="N", help=f"This many bins, {DEFAULT_BINS} unless told.")
@click.option("--counts", is_flag=True, help="The column holds the counts of bins, not values.")
@click.option("--preserve", type=click.Choice(["cdf", "entries"]), default="cdf", show_default=True)
def bins(
    column: str | None, bin_width: float | None, count: int | None, counts: bool, preserve: str, **options: Any
) -> int:
    """Keep k weighted bins of the histogram of a column of FILE, proven best.

    Values are counted in bins of --bin-width, or in --bins bins from the least to the largest; whole numbers that
    span at most 1000 get a bin each. With --path a random part of the counted values is held out.
    FILE is csv, tsv, parquet, feather, xlsx, jsonl, sqlite, npy or npz, or - for stdin.
    """
    common = asked(options)
    if bin_width is not None and count is not None:
        raise click.UsageError("give --bin-width or --bins, not both")
    if counts and (bin_width is not None or count is not None):
        raise click.UsageError("--counts are bins already; leave out --bin-width and --bins")
    if bin_width is not None and not (np.isfinite(bin_width) and bin_width > 0):
        raise click.UsageError(f"--bin-width must be a number above 0, got {bin_width:g}")
    from ..data.files import open_table
    from ._write import check_targets

    check_targets(common)
    table = open_table(common.files)
    name = the_column(table, column)
    values = table.numbers([name])[:, 0]
    histogram, edges = (checked(table, name, values), None) if counts else binned(values, bin_width, count)
    from ..studies.bins import BinsProblem
    from ._run import perform

    problem = BinsProblem(histogram, edges, preserve)
    what = "counts" if counts else f"{len(values)} values"
    title = f"of {len(histogram)} bins for the {what} of {name} in {table.label}"
    return perform(problem, common, title, note=noted(table))


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


def binned(values: Vector, width: float | None, count: int | None) -> tuple[Vector, Vector]:
    """Counts and edges: the last bin includes its upper edge.

    >>> binned(np.array([0.0, 1.0, 1.0, 3.0]), None, None)[0].tolist()
    [1.0, 2.0, 0.0, 1.0]
    """
    low, high = float(values.min()), float(values.max())
    if width is None and count is None and high - low < DEFAULT_BINS and (values == np.round(values)).all():
        low, width = low - 0.5, 1.0
    if width is not None:
        start = low if width == 1.0 and low % 1 == 0.5 else np.floor(low / width) * width
        n = int(min(np.floor((high - start) / width) + 1, MAX_BINS + 1))
        if n > MAX_BINS:
            raise InvalidInput(f"--bin-width {width:g} makes more than {MAX_BINS} bins from {low:g} to {high:g}")
        edges = start + width * np.arange(n + 1)
    else:
        n = DEFAULT_BINS if count is None else count
        edges = np.linspace(low, high if high > low else low + 1.0, n + 1)
    histogram, _ = np.histogram(values, edges)
    return histogram.astype(np.float64), np.asarray(edges, np.float64)
