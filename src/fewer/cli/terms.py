"""`fewer terms`."""

from typing import Any

import click

from .._validation import InvalidInput
from ._options import asked, for_all_jobs


@click.command(epilog="Example: fewer terms returns.csv --target INDEX -k 20 --max-weight 0.2 --test-fraction 0.3")
@for_all_jobs
@click.option("--target", required=True, metavar="COL", help="The column to track.")
@click.option("--columns", help="Only these columns: a,b,c.")
@click.option("--min-weight", type=click.FloatRange(0, 1), default=0.0, help="Least weight of a column that is held.")
@click.option("--max-weight", type=click.FloatRange(0, 1), default=1.0, help="Most weight of a column.")
@click.option("--include", help="Columns that must be held: a,b.")
@click.option("--exclude", help="Columns that must not: c.")
@click.option(
    "--test-fraction",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Share of rows on which fits on the others are tested.",
)
def terms(
    target: str,
    columns: str | None,
    min_weight: float,
    max_weight: float,
    include: str | None,
    exclude: str | None,
    test_fraction: float | None,
    **options: Any,
) -> int:
    """Track a column of FILE by at most k others, with weights that sum to one.

    The weights are fitted on all rows. With --test-fraction (0.3 with --path) the same is also fitted without a
    random share of the rows, and its error on those is shown. FILE is csv, tsv, parquet, npy,
    npz, or - for stdin.
    """
    common = asked(options)
    from ..data.files import open_table
    from ._table import chosen_columns, known_column, listed, noted
    from ._write import check_targets

    check_targets(common)
    table = open_table(common.files)
    known_column(table, target, "--target")
    names = [name for name in chosen_columns(table, columns, "--columns", [target]) if name != target]
    numbers = table.numbers([*names, target])

    def positions(text: str | None, option: str) -> tuple[int, ...]:
        found = [known_column(table, name, option) for name in listed(text)]
        for name in found:
            if name not in names:
                raise InvalidInput(f"{table.label}: {name!r} ({option}) is not among the columns that may be held")
        return tuple(sorted(names.index(name) for name in found))

    from ..studies.terms import TermsProblem
    from ._run import perform

    bounds = min_weight, max_weight, positions(include, "--include"), positions(exclude, "--exclude")
    problem = TermsProblem(numbers[:, :-1], numbers[:, -1], names, *bounds)
    title = f"of {len(names)} columns of {table.label} that track {target}, on {len(numbers)} rows"
    return perform(problem, common, title, held_out=test_fraction, note=noted(table, None if columns else names))
