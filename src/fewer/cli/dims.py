"""`fewer dims`."""

from typing import TYPE_CHECKING, Any

import click

from .._validation import InvalidInput
from ._options import asked, for_all_jobs

if TYPE_CHECKING:
    from ..data.files import FileTable
    from ..jobs.coding import Coding

Found = tuple["Coding", str, str, list[int] | None]
"""What `dims` is asked, what to call the file, a note, and where columns are in the file, None of items."""
MAX_COLUMNS_READ_WHOLE = 2000
"""Columns up to which a table is read with its types; wider ones are read in parts that keep no zeros."""


@click.command(epilog="Example: fewer dims orders.csv --order order_id --item sku --path 5,10,20 --report orders.html")
@for_all_jobs
@click.option("--columns", metavar="A,B,…", help="Use only these columns, or say what they are: size:category.")
@click.option("--ignore", metavar="A,B,…", help="Leave these columns out.")
@click.option("--objective", type=click.Choice(["kl", "l2"]), default="kl", show_default=True)
@click.option(
    "--baseline",
    default="auto",
    show_default=True,
    help="What counts as absent: zero, mode (the most frequent) or plan=free,...; auto: the mode of labels, else 0.",
)
@click.option("--transactions", is_flag=True, help="One basket per line, items separated by comma, space or tab.")
@click.option("--order", metavar="COL", help="For a table with a line per item: the column of the order.")
@click.option("--item", metavar="COL", help="For a table with a line per item: the column of the item.")
@click.option(
    "--units", metavar="FILE|COL", help="Columns chosen together: a table column,unit; or a column of a long table."
)
@click.option(
    "--costs", metavar="FILE|COL", help="What columns cost: a table column,cost; or a column of a long table."
)
@click.option("--budget", type=float, metavar="B", help="How much the columns may cost together; replaces -k.")
@click.option("--include", help="Columns or items that must be held: a,b.")
@click.option("--exclude", help="Columns or items that must not be held; rows with one are not covered.")
@click.option(
    "--missing",
    type=click.Choice(["error", "drop", "impute", "category"]),
    default="error",
    show_default=True,
    help="Missing values: stop, drop the row, use the most frequent value, or a label of their own.",
)
def dims(transactions: bool, objective: str, **options: Any) -> int:
    """Keep the k columns that cover the most rows of FILE.

    A row is covered when it equals the baseline in every column that is not kept: the order ships complete. FILE is a
    wide table of labels or small whole numbers (csv, tsv, parquet, feather, xlsx, jsonl, sqlite, npy, npz, or - for
    stdin). With --order and --item it has a line per item, with --transactions a line per basket. With --units k counts
    units; with --costs give --budget instead.
    """
    budget = options["budget"]
    if budget is not None:
        if options["costs"] is None:
            raise click.UsageError("--budget is what may be spent on --costs; give these too, or -k")
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
        raise click.UsageError("--columns, --ignore, --order and --item have no meaning with --transactions")
    if transactions:
        coding, label, note, places = transacted(common.files, options)
    else:
        from ..data.files import open_table
        from ._blocks import dims_in_blocks, is_large

        table = open_table(common.files)
        if is_large(table, common):
            return dims_in_blocks(table, common, objective, {**options, "baseline": baseline_of(options["baseline"])})
        coding, label, note, places = tabled(table, options)
    from ..report.dims import DimsProblem
    from ._run import perform

    names = list(coding.names or range(coding.X.shape[1]))
    chosen = {"include": coding.include, "exclude": coding.exclude, "levels": coding.levels, "note": coding.note}
    chosen |= {"places": places}
    problem = DimsProblem(coding.X, names, objective, coding.baseline, coding.units, coding.costs, **chosen)
    units = "" if coding.units is None else f" in whole units ({len(coding.units)} in all)"
    title = f"of {len(names) - len(coding.exclude)} columns{units} for {coding.X.shape[0]} rows of {label}"
    return perform(problem, common, title, note=note)


def transacted(files: tuple[str, ...], options: dict[str, Any]) -> Found:
    """The baskets of files with one on each line."""
    import polars as pl

    from ..data.files import expanded
    from ..data.transactions import open_transactions

    parts, labels, before = [], [], 0
    for file in (one for pattern in files for one in expanded(pattern)):
        frame, label = open_transactions(file)
        parts.append(frame.with_columns((pl.col("basket") + before).cast(pl.Int64)))
        before += int(frame["basket"].max()) + 1
        labels.append(label)
    label = labels[0] + (f" and {len(labels) - 1} more" if len(labels) > 1 else "")
    lines = pl.concat(parts).drop_nulls("item")
    empty = before - lines["basket"].n_unique()
    said = f"{empty} of {before} baskets {'is' if empty == 1 else 'are'} empty and left out" if empty else ""
    return coded(lines, label, {**options, "order": "basket", "item": "item"}), label, said, None


def tabled(table: "FileTable", options: dict[str, Any]) -> Found:
    """The rows of a wide table, or of a long one: as asked, or found by its two columns."""
    from ..data.baskets import long_columns
    from ..data.frames import columns_of
    from ._table import asked_columns, framed, known_column, noted, numbered

    if options["order"]:
        pair = [known_column(table, options[name], f"--{name}") for name in ("order", "item")]
        more = [options[name] for name in ("units", "costs") if options[name] in table.names]
        frame = table.frame(
            [*pair, *more], categories=[name for name in (*pair, options["units"]) if name in table.names]
        )
        return coded(frame, table.label, options), table.label, noted(table), None
    names, kinds = asked_columns(table, options["columns"], options["ignore"])
    places = numbered(table, names)
    if table.plain or (len(names) > MAX_COLUMNS_READ_WHOLE and set(names) <= set(table.numeric)):
        return whole(table, names, options), table.label, noted(table), places
    frame, said = framed(table, names, [name for name, kind in kinds.items() if kind == "category"]), noted(table)
    try:
        found = long_columns(columns_of(frame)) if len(names) == len(table.names) == 2 else None
    except InvalidInput as error:
        raise InvalidInput(f"{table.label}: {error} (--order COL --item COL)") from None
    if found is None:
        return coded(frame, table.label, options, kinds), table.label, said, places
    order, item, why = found
    said = "\n".join(
        filter(None, [f"Read as a line for each item: orders are {order!r}, {why}; items {item!r}.", said])
    )
    frame = table.frame([order, item], categories=[order, item])
    return coded(frame, table.label, {**options, "order": order, "item": item}), table.label, said, None


def coded(frame: Any, label: str, options: dict[str, Any], kinds: dict[str, str] | None = None) -> "Coding":
    """A frame as `dims` takes it."""
    from ..jobs.coding import Coding
    from ..jobs.dims_options import DimsOptions
    from ._table import listed

    given: dict[str, Any] = {name: options[name] for name in ("missing", "order", "item")}
    given |= {"columns": kinds} if kinds else {}
    chosen: dict[str, Any] = {name: listed(options[name]) for name in ("include", "exclude")}
    chosen |= paired(options, frame if options["order"] else None, label)
    if options["order"]:
        frame = frame.select([options["order"], options["item"]])
    try:
        rule = baseline_of(options["baseline"])
        return Coding.of(frame, DimsOptions.of({"baseline": rule, **chosen, **given}))
    except InvalidInput as error:
        raise InvalidInput(f"{label}: {error}") from None


def whole(table: "FileTable", names: list[str], options: dict[str, Any]) -> "Coding":
    """A table of numbers only, without its zeros."""
    from ..data.names import positions
    from ..jobs.coding import Coding, named_baseline
    from ..jobs.dims_options import DimsOptions
    from ._table import listed

    try:
        include, exclude = (positions(listed(options[name]), names, f"--{name}") for name in ("include", "exclude"))
        rule = named_baseline(baseline_of(options["baseline"]), names)
    except InvalidInput as error:
        raise InvalidInput(f"{table.label}: {error}") from None
    chosen, X = paired(options, None, table.label), table.whole(names)
    try:
        chosen |= {"baseline": rule, "include": include, "exclude": exclude}
        found = Coding.of(X, DimsOptions.of(chosen), names)
    except InvalidInput as error:
        raise InvalidInput(f"{table.label}: {error}") from None
    return found


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
    return {name.strip(): int(label) if label.strip().isdigit() else label.strip() for name, label in pairs}
