"""Baskets: text with one per line, and which columns of a long table say order and item."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._validation import InvalidInput, shown
from ..io.formats import check_text, located, start_of
from .column import Column, Levels

ORDERS = re.compile(
    r"order|basket|transaction|invoice|customer|user|session|receipt|ticket|cart|visit|member", re.I
)
ITEMS = re.compile(r"item|product|sku|article|good|stock|description|name|movie|title|page", re.I)
"""How columns of orders and of items are called."""
MAX_CODES = 255
"""Distinct whole numbers up to which a column may be one of a wide table."""


def levels_of(column: Column) -> Levels:
    """The distinct values of a column and which of them each row has; whole numbers as such."""
    if column.kind == "other":
        raise InvalidInput(
            f"column {shown(column.name)} holds {column.dtype}; expected texts or numbers"
        )
    values, codes = column.levels
    whole = column.kind == "number" and (values == np.floor(values)) & (np.abs(values) < 2.0**63)
    return Levels(values.astype(np.int64) if np.all(whole) else values, codes)


def long_columns(columns: Sequence[Column]) -> tuple[Any, Any, str] | None:
    """The columns of orders and of items of a table of two columns, and why.

    None where it is a wide table.

    By their names; failing that the column with more distinct values is that of the orders.

    >>> import polars
    >>> from .column import columns_of
    >>> long_columns(columns_of(polars.DataFrame({"sku": ["a", "b"], "invoice": [1, 1]})))
    ('invoice', 'sku', 'by their names')
    >>> long_columns(columns_of(polars.DataFrame({"a": [0, 1], "b": [1, 1]})))
    """
    if len(columns) != 2:
        return None
    names = [column.name for column in columns]
    if named_long(*names) != named_long(*names[::-1]):
        first = 0 if named_long(*names) else 1
        return names[first], names[1 - first], "by their names"
    counts = [len(levels_of(column).values) for column in columns]
    texts = any(column.kind == "category" for column in columns)
    if not texts and max(counts) <= MAX_CODES:
        return None
    if counts[0] == counts[1]:
        raise InvalidInput(
            f"{names[0]!r} and {names[1]!r} have {counts[0]} distinct values each: say which column"
            " is that of the orders, and which that of the items"
        )
    first = int(counts[1] > counts[0])
    return names[first], names[1 - first], "as it has more distinct values"


def named_long(order: Any, item: Any) -> bool:
    """Whether two columns are called as those of orders and of items are."""
    return ORDERS.search(str(order)) is not None and ITEMS.search(str(item)) is not None


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
    import polars as pl

    path, label = located(file)
    taste = start_of(path)
    check_text(taste, label)
    separator = next((s for s in ("\t", ",", " ") if s.encode() in taste), ",")
    refuse_long(taste, separator, label)
    item = pl.element().str.strip_chars()
    items = pl.col("line").fill_null("").str.split(separator).list.eval(item.filter(item != ""))
    try:
        lines = pl.scan_csv(
            path,
            has_header=False,
            separator="\x01",
            quote_char=None,
            infer_schema=False,
            new_columns=["line"],
            truncate_ragged_lines=True,
            glob=False,
        )
        baskets = lines.with_row_index("basket").select("basket", item=items)
        frame = baskets.explode("item").collect(engine="streaming")
    except pl.exceptions.NoDataError:
        frame = pl.DataFrame(schema={"basket": pl.UInt32, "item": pl.String})
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(
            f"{label}: cannot be read as lines of items: {str(error).splitlines()[0]}"
        ) from None
    if frame["item"].null_count() == frame.height:
        raise InvalidInput(f"{label}: has no items; expected one basket per line")
    return frame, label


def refuse_long(taste: bytes, separator: str, label: str) -> None:
    """Refuse lines that are pairs of an order and an item, whose orders would be taken for products."""
    lines = taste.decode("utf-8", "replace").splitlines()[:-1]
    pairs = [[cell.strip(' "') for cell in line.split(separator)] for line in lines if line]
    if len(pairs) < 2 or any(len(pair) != 2 for pair in pairs):
        return
    first, second = pairs[0]
    if named_long(first, second) or named_long(second, first):
        raise InvalidInput(
            f"{label}: looks like a table with a line for each item ({first}, {second}), not one"
            " basket per line; leave out --transactions, and name the columns by --order and"
            " --item"
        )
