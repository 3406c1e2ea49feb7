"""Baskets from long tables: one line for each item of an order."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._validation import Indices, InvalidInput, shown
from .column import Column, Levels, Table

ORDERS = re.compile(
    r"order|basket|transaction|invoice|customer|user|session|receipt|ticket|cart|visit|member", re.I
)
ITEMS = re.compile(r"item|product|sku|article|good|stock|description|name|movie|title|page", re.I)
"""How columns of orders and of items are called."""
MAX_CODES = 255
"""Distinct whole numbers up to which a column may be one of a wide table."""
NO_ORDERS = "there are no orders with items; those with missing ones were left out"


class Baskets(NamedTuple):
    """Orders as rows of ones: a CSR array (orders, items) of int8, and the items' names, the most frequent first.

    `note` says how missing items were treated.
    """

    table: Any
    names: list[Any]
    note: str


def baskets_of(table: Any, order: Any, item: Any, missing: str = "error") -> Baskets:
    """The baskets in a long table of pandas, polars or pyarrow with a line for each item of an order.

    An item that occurs twice in an order counts once. Lines without an order are refused.

    Parameters
    ----------
    table : DataFrame or Table
        At least the two columns.
    order, item : str
        The columns that say which order, and which item.
    missing : {"error", "drop", "category"}
        How to treat lines without an item: raise an error, drop their whole orders, or count the
        unknown item as one more item, named None.

    Returns
    -------
    Baskets
        The rows, the items' names, and what was left out.

    Examples
    --------
    >>> import polars
    >>> lines = polars.DataFrame({"order": [7, 7, 8, 9], "item": ["tea", "milk", "tea", None]})
    >>> found = baskets_of(lines, "order", "item", missing="drop")
    >>> found.table.toarray().tolist(), found.names, found.note
    ([[1, 1], [1, 0]], ['tea', 'milk'], '1 of 3 orders left out, as items are missing there')
    """
    columns = Table.of(table)
    which, what = columns.column(order, "order"), columns.column(item, "item")
    if which is what:
        raise InvalidInput(f"order and item must be two columns, both are {shown(which.name)}")
    orders, items = levels_of(which).codes, levels_of(what)
    if (orders < 0).any():
        row = int(np.argmax(orders < 0))
        raise InvalidInput(
            f"column {shown(which.name)}, row {row}: is missing, there is no order to put the"
            " item in"
        )
    names, codes, note = items.values.tolist(), items.codes, ""
    check_items(what, codes, missing)
    gone = codes < 0
    count = int(orders.max(initial=-1)) + 1
    if gone.any() and missing == "category":
        codes, names = np.where(gone, len(names), codes), [*names, None]
        note = f"{int(gone.sum())} missing items taken as one more item"
    elif gone.any():
        incomplete = np.unique(orders[gone])
        whole = ~np.isin(orders, incomplete)
        orders, codes = orders[whole], codes[whole]
        note = orders_left_out(incomplete.size, count)
    if len(orders) == 0:
        raise InvalidInput(NO_ORDERS)
    ones = np.ones(len(orders), np.int8)
    pattern = sp.csr_array((ones, (orders, codes)), shape=(count, len(names)))
    pattern.sum_duplicates()
    pattern.data[:] = 1
    frequency = np.bincount(pattern.indices, minlength=len(names))
    ranked = np.argsort(-frequency, kind="stable")  # of equals the first by name
    ranked = ranked[frequency[ranked] > 0]
    rows = pattern[np.flatnonzero(np.diff(pattern.indptr))][:, ranked]
    rows.sort_indices()
    return Baskets(rows, [names[i] for i in ranked], note)


def check_items(column: Column, codes: Indices, missing: str) -> None:
    """Refuse items that are missing, if they are to be."""
    if missing == "impute":
        raise InvalidInput(
            'missing must be "error", "drop" or "category" for lines of orders, got "impute"'
        )
    if missing == "error" and (codes < 0).any():
        raise InvalidInput(
            f"column {shown(column.name)}, row {int(np.argmax(codes < 0))}: is missing;"
            " missing='drop' leaves out its whole order, missing='category' counts it as one more"
            " item"
        )


def orders_left_out(some: int, count: int) -> str:
    """Say how many orders have missing items; nothing where none has."""
    return f"{some} of {count} orders left out, as items are missing there" if some else ""


def levels_of(column: Column) -> Levels:
    """The distinct values of a column and which of them each row has; whole numbers as such."""
    if column.kind == "other":
        raise InvalidInput(
            f"column {shown(column.name)} holds {column.dtype}; expected texts or numbers"
        )
    values, codes = column.levels
    whole = False
    if column.kind == "number":
        whole = bool(((values == np.floor(values)) & (np.abs(values) < 2.0**63)).all())
    return Levels(values.astype(np.int64) if whole else values, codes)


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
    names = [str(column.name) for column in columns]
    calls = [(ORDERS.search(name) is not None, ITEMS.search(name) is not None) for name in names]
    for first, second in ((0, 1), (1, 0)):
        reverse = calls[second][0] and calls[first][1]
        if calls[first][0] and calls[second][1] and not reverse:
            return columns[first].name, columns[second].name, "by their names"
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
    return columns[first].name, columns[1 - first].name, "as it has more distinct values"
