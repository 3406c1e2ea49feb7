"""`fewer dims`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from .._validation import InvalidInput
from ._options import asked, for_all_jobs

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..io.files import FileTable
    from ..report.study import Study as Problem
    from ._options import Asked
    from ._run import Data

MAX_COLUMNS_READ_WHOLE = 2000
"""Columns up to which a table is read with its types; wider ones are read in parts that keep no zeros."""


@click.command(
    epilog="Example: fewer dims orders.csv --order order_id --item sku --path 5,10,20 --report orders.html"
)
@for_all_jobs
@click.option(
    "--columns",
    metavar="A,B,…",
    help="Use only these columns, or say what they are: size:category.",
)
@click.option("--ignore", metavar="A,B,…", help="Leave these columns out.")
@click.option("--objective", type=click.Choice(["kl", "l2"]), default="kl", show_default=True)
@click.option(
    "--baseline",
    default="auto",
    show_default=True,
    help="What counts as absent: zero, mode (the most frequent) or plan=free,...; auto: the mode of labels, else 0.",
)
@click.option(
    "--transactions",
    is_flag=True,
    help="One basket per line, items separated by comma, space or tab.",
)
@click.option(
    "--order", metavar="COL", help="For a table with a line per item: the column of the order."
)
@click.option(
    "--item", metavar="COL", help="For a table with a line per item: the column of the item."
)
@click.option(
    "--units",
    metavar="FILE|COL",
    help="Columns chosen together: a table column,unit; or a column of a long table.",
)
@click.option(
    "--costs",
    metavar="FILE|COL",
    help="What columns cost: a table column,cost; or a column of a long table.",
)
@click.option(
    "--budget", type=float, metavar="B", help="How much the columns may cost together; replaces -k."
)
@click.option("--include", help="Columns or items that must be held: a,b.")
@click.option(
    "--exclude", help="Columns or items that must not be held; rows with one are not covered."
)
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "impute", "category"]),
    default="error",
    show_default=True,
    help="Missing values: stop, drop the row, use the most frequent value, or a label of their own.",
)
def dims(transactions: bool, objective: str, **options: Any) -> int:
    """Keep the k columns that cover the most rows of FILE.

    A row is covered when it equals the baseline in every column that is not kept: the order ships
    complete. FILE is a wide table of labels or small whole numbers (csv, tsv, parquet, feather,
    xlsx, jsonl, sqlite, npy, npz, or - for stdin). With --order and --item it has a line per item,
    with --transactions a line per basket. With --units k counts units; with --costs give --budget
    instead.
    """
    budget = options["budget"]
    if budget is not None:
        if options["costs"] is None:
            raise click.UsageError(
                "--budget is what may be spent on --costs; give these too, or -k"
            )
        if options["k"] is not None:
            raise click.UsageError("--budget replaces -k: give one of them")
        options["k"] = budget
    elif options["costs"] is not None and options["k"] is not None:
        raise click.UsageError("--costs needs --budget, what may be spent on them, instead of -k")
    common = asked(options)
    from ._write import check_targets

    check_targets(common)
    if (options["order"] is None) != (options["item"] is None):
        raise click.UsageError("--order and --item go together: give both or neither")
    if transactions and (options["columns"] or options["ignore"] or options["order"]):
        raise click.UsageError(
            "--columns, --ignore, --order and --item have no meaning with --transactions"
        )
    from ._run import perform

    options["baseline"] = baseline_of(options["baseline"])
    if transactions:
        data = transacted(common.files, options)
    else:
        from ..io.files import open_table

        data = tabled(open_table(common.files), options, common)
    data.options["objective"] = objective
    return perform("dims", data, common)


def title_of(label: str) -> "Callable[[Problem], str]":
    """What is kept of which columns, for how many rows of a file."""
    from ._run import of_all

    def title(problem: Any) -> str:
        if not hasattr(problem, "problem"):
            return f"{of_all(problem, 'columns')} for the rows of {label}"
        units, rows = problem.problem.units, len(problem.problem.summary.weights)
        whole = "" if units.labels is None else f" in whole units ({len(units)} in all)"
        return f"of {len(units.columns(problem.allowed))} columns{whole} for {rows} rows of {label}"

    return title


def transacted(files: tuple[str, ...], options: dict[str, Any]) -> "Data":
    """The baskets of files with one on each line."""
    import polars as pl

    from ..io.files import expanded
    from ..tables.transactions import open_transactions

    parts, labels, before = [], [], 0
    for file in (one for pattern in files for one in expanded(pattern)):
        frame, label = open_transactions(file)
        parts.append(frame.with_columns((pl.col("basket") + before).cast(pl.Int64)))
        before += int(frame["basket"].max()) + 1
        labels.append(label)
    label = labels[0] + (f" and {len(labels) - 1} more" if len(labels) > 1 else "")
    lines = pl.concat(parts).drop_nulls("item")
    empty = before - lines["basket"].n_unique()
    said = (
        f"{empty} of {before} baskets {'is' if empty == 1 else 'are'} empty and left out"
        if empty
        else ""
    )
    return as_data(lines, label, {**options, "order": "basket", "item": "item"}, note=said)


def tabled(table: "FileTable", options: dict[str, Any], common: "Asked") -> "Data":
    """The rows of a wide table, or of a long one: as asked, or found by its two columns."""
    from ..tables.baskets import long_columns
    from ..tables.column import columns_of
    from ._table import asked_columns, framed, known_column, noted, numbered, stored

    long = options["order"] is not None
    if long:
        names = [known_column(table, options[name], f"--{name}") for name in ("order", "item")]
        more = [options[name] for name in ("units", "costs") if options[name] in table.names]
        kinds: dict[str, str] = {}
    else:
        names, kinds = asked_columns(table, options["columns"], options["ignore"])
        more = []
    X = stored(table, names, common)
    if X is not None:
        data = as_data(X, table.label, options, kinds, None if long else numbered(table, names))
        return replace(data, rows=table.stored_rows)
    if long:
        texts = [name for name in (*names, options["units"]) if name in table.names]
        return as_data(
            table.frame([*names, *more], categories=texts), table.label, options, note=noted(table)
        )
    places = numbered(table, names)
    if table.plain or (len(names) > MAX_COLUMNS_READ_WHOLE and set(names) <= set(table.numeric)):
        data = as_data(table.whole(names), table.label, options, None, places, noted(table))
        return replace(data, names=names)
    frame, said = (
        framed(table, names, [name for name, kind in kinds.items() if kind == "category"]),
        noted(table),
    )
    try:
        pair = long_columns(columns_of(frame)) if len(names) == len(table.names) == 2 else None
    except InvalidInput as error:
        raise InvalidInput(f"{table.label}: {error} (--order COL --item COL)") from None
    if pair is None:
        return as_data(frame, table.label, options, kinds, places, said)
    order, item, why = pair
    said = "\n".join(
        filter(
            None,
            [f"Read as a line for each item: orders are {order!r}, {why}; items {item!r}.", said],
        )
    )
    frame = table.frame([order, item], categories=[order, item])
    return as_data(frame, table.label, {**options, "order": order, "item": item}, note=said)


def as_data(
    X: Any,
    label: str,
    options: dict[str, Any],
    kinds: dict[str, str] | None = None,
    places: list[int] | None = None,
    note: str = "",
) -> "Data":
    """Rows as `dims` takes them, with its options."""
    from ._run import Data
    from ._table import listed

    given = {name: options[name] for name in ("missing", "order", "item", "baseline")}
    given |= {name: listed(options[name]) for name in ("include", "exclude")}
    given |= {"columns": kinds} if kinds else {}
    given |= paired(options, X if options["order"] and hasattr(X, "columns") else None, label)
    if options["order"] and hasattr(X, "columns"):
        X = X.select([options["order"], options["item"]])
    return Data(X, given, title_of(label), note, places=places)


def paired(options: dict[str, Any], long: Any, label: str) -> dict[str, Any]:
    """Units and costs by the names of columns or items: from files, or from columns of a long table."""
    from ._table import pairs_in, pairs_of

    found: dict[str, Any] = {}
    for option, second in (("units", "unit"), ("costs", "cost")):
        given = options[option]
        if given is not None and long is not None and given in long.columns:
            found[option] = pairs_of(long, options["item"], given, label)
        elif given is not None:
            found[option] = pairs_in(given, second, numbers=option == "costs")
    return found


def baseline_of(text: str) -> Any:
    """A rule, or labels of columns: plan=free,tickets=0.

    >>> baseline_of("mode"), baseline_of("plan=free,tickets=0")
    ('mode', {'plan': 'free', 'tickets': 0})
    """
    if "=" not in text:
        if text not in ("auto", "zero", "mode"):
            raise click.BadParameter(
                f"expected auto, zero, mode, or column=label, got {text!r}", param_hint="--baseline"
            )
        return text
    pairs = [part.split("=", 1) for part in text.split(",") if part.strip()]
    if any(len(pair) != 2 for pair in pairs):
        raise click.BadParameter(
            f"expected column=label with commas between them, got {text!r}", param_hint="--baseline"
        )
    return {
        name.strip(): int(label) if label.strip().isdigit() else label.strip()
        for name, label in pairs
    }
