"""`fewer dims`."""

from typing import Any

import click

from ._options import asked, for_all_jobs


@click.command(epilog="Example: fewer dims baskets.txt --transactions --path 5,10,20 --report baskets.html")
@for_all_jobs
@click.option("--columns", help="Only these columns: a,b,c.")
@click.option("--objective", type=click.Choice(["kl", "l2"]), default="kl", show_default=True)
@click.option("--baseline", type=click.Choice(["zero", "mode"]), default="zero", show_default=True)
@click.option("--transactions", is_flag=True, help="One basket per line, items separated by comma, space or tab.")
def dims(columns: str | None, objective: str, baseline: str, transactions: bool, **options: Any) -> int:
    """Keep the k columns that cover the most rows of FILE.

    FILE is a wide table of small whole numbers (csv, tsv, parquet, npy, npz, or - for stdin), or --transactions. A
    row is covered when it equals the baseline in every column that is not kept: the order that ships complete.
    """
    common = asked(options)
    from ..data.files import open_table
    from ._baskets import read_baskets
    from ._table import chosen_columns, noted
    from ._write import check_targets

    check_targets(common)
    if transactions:
        if columns is not None:
            raise click.UsageError("--columns has no meaning with --transactions, whose items are the columns")
        (X, names, label), note = read_baskets(common.file), ""
    else:
        table = open_table(common.files)
        names, label = chosen_columns(table, columns, "--columns"), table.label
        note = noted(table, None if columns else names)
        X = table.whole(names)
    title = f"of {len(names)} columns for {X.shape[0]} rows of {label}"
    from ..studies.dims import DimsProblem
    from ._run import perform

    return perform(DimsProblem(X, names, objective, baseline), common, title, note=note)
