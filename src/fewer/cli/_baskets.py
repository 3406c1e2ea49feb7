"""Transactions: one basket per line, items separated by comma, space or tab."""

from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from .._validation import InvalidInput
from ..data._copies import located
from ..data._formats import check_text, start_of


def read_baskets(file: str) -> tuple[Any, list[str], str]:
    """A CSR array (baskets, items) of ones, the items' names (most frequent first), and what to call the file.

    The separator is the first of tab, comma and space that occurs in the first lines, so that items separated by
    commas may have spaces in them. Empty lines are skipped; an item twice in a basket counts once.
    """
    path, label = located(file)
    taste = start_of(path)
    check_text(taste, label)
    separator = next((s for s in ("\t", ",", " ") if s.encode() in taste), ",")
    try:
        options: dict[str, Any] = {"has_header": False, "separator": "\x01", "quote_char": None, "infer_schema": False}
        lines = pl.scan_csv(path, new_columns=["line"], truncate_ragged_lines=True, glob=False, **options)
        items = (
            lines.filter(pl.col("line").str.strip_chars() != "")
            .with_row_index("basket")
            .with_columns(pl.col("line").str.split(separator).alias("item"))
            .select("basket", "item")
            .explode("item")
            .with_columns(pl.col("item").str.strip_chars())
            .filter(pl.col("item") != "")
            .collect(engine="streaming")
        )
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(f"{label}: cannot be read as lines of items: {str(error).splitlines()[0]}") from None
    if items.height == 0:
        raise InvalidInput(f"{label}: has no items; expected one basket per line")
    counts = items.group_by("item").len().sort("len", "item", descending=[True, False])
    ranked = items.join(counts.with_row_index("position"), on="item", maintain_order="left")
    rows, positions = ranked["basket"].to_numpy(), ranked["position"].to_numpy()
    shape = int(rows.max()) + 1, counts.height
    table = sp.csr_array((np.ones(len(rows), np.int8), (rows, positions.astype(np.int32))), shape=shape)
    table.sum_duplicates()
    table.data[:] = 1
    return table, counts["item"].to_list(), label
