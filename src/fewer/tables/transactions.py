"""Transactions: text with one basket per line, as a long table of baskets and items."""

from pathlib import Path
from typing import Any

from .._validation import InvalidInput
from ..io.formats import check_text, located, start_of
from .baskets import ITEMS, ORDERS

MIN_LINES = 6
"""Lines from which pairs whose first parts repeat, and never are second ones, are taken for a long
table."""


def open_transactions(file: str) -> tuple[Any, str]:
    """The baskets of a file as a polars DataFrame with a line for each item, and what to call the file.

    The separator is the first of tab, comma and space that occurs in the first lines, so that items
    separated by commas may have spaces in them. An empty line is a basket without items.

    Parameters
    ----------
    file : str
        Text with one basket per line, compressed or not, or ``-`` for standard input.

    Returns
    -------
    frame : polars.DataFrame
        Columns `basket`, the number of the line, and `item`, null on an empty line.
    label : str
        What to call the file.
    """
    path, label = located(file)
    taste = start_of(path)
    check_text(taste, label)
    separator = next((s for s in ("\t", ",", " ") if s.encode() in taste), ",")
    refuse_long(taste, separator, label)
    frame = items_of(path, separator, label)
    if frame["item"].null_count() == frame.height:
        raise InvalidInput(f"{label}: has no items; expected one basket per line")
    return frame, label


def items_of(path: Path, separator: str, label: str) -> Any:
    """A line for each item, and one for each empty basket."""
    import polars as pl

    options: dict[str, Any] = {
        "has_header": False,
        "separator": "\x01",
        "quote_char": None,
        "infer_schema": False,
    }
    item = pl.col("item").str.strip_chars()
    try:
        lines = pl.scan_csv(
            path, new_columns=["line"], truncate_ragged_lines=True, glob=False, **options
        )
        items = (
            lines.with_row_index("basket")
            .with_columns(pl.col("line").fill_null("").str.split(separator).alias("item"))
            .select("basket", "item")
            .explode("item")
            .with_columns(pl.when(item != "").then(item).alias("item"))
            .collect(engine="streaming")
        )
    except pl.exceptions.NoDataError:
        return pl.DataFrame(schema={"basket": pl.UInt32, "item": pl.String})
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(
            f"{label}: cannot be read as lines of items: {str(error).splitlines()[0]}"
        ) from None
    gaps = items.filter(pl.col("item").is_null())
    if gaps.height == 0:
        return items
    filled = items.filter(pl.col("item").is_not_null())
    empty = gaps.unique("basket").join(filled, on="basket", how="anti")
    return pl.concat([filled, empty])


def refuse_long(taste: bytes, separator: str, label: str) -> None:
    """Refuse lines that are pairs of an order and an item, whose orders would be taken for products."""
    head, *lines = taste.decode("utf-8", "replace").splitlines()[:-1] or [""]
    pairs = [[cell.strip(' "') for cell in line.split(separator)] for line in (head, *lines)]
    if len(lines) < 1 or any(len(pair) != 2 for pair in pairs if pair != [""]):
        return
    first, second = pairs[0]
    named = any(ORDERS.search(a) and ITEMS.search(b) for a, b in ((first, second), (second, first)))
    orders, items = {pair[0] for pair in pairs[1:]}, {pair[-1] for pair in pairs[1:]}
    repeats = len(lines) >= MIN_LINES and len(orders) < len(lines) and not orders & items
    if named or repeats:
        raise InvalidInput(
            f"{label}: looks like a table with a line for each item ({first}, {second}), not one"
            " basket per line; leave out --transactions, and name the columns by --order and"
            " --item"
        )
