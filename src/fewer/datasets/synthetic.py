"""Made-up data of realistic shape."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._validation import as_generator, as_integer, as_number

THEME = 25
"""Items of one theme."""


def baskets(n_rows: int, n_items: int, per_row: float = 10.0, rng: Any = None) -> Any:
    """Shopping baskets: a CSR array (n_rows, n_items) of int8 ones, about `per_row` items in a row.

    The size of a basket is geometric. Six items in ten are drawn by popularity (Zipf, exponent
    1.1), the others from the 25 items of the basket's theme; there is a theme for every 20 items,
    and popular themes are met more often. An item drawn twice counts once.

    >>> X = baskets(1000, 200, per_row=5, rng=0)
    >>> X.shape, X.dtype, bool((X.data == 1).all())
    ((1000, 200), dtype('int8'), True)
    """
    n_rows = as_integer(n_rows, "n_rows", 1, 2**31 - 1)
    n_items = as_integer(n_items, "n_items", 1, 2**31 - 1)
    per_row = as_number(per_row, "per_row", above=1.0, allow_equal=True)
    generator, _ = as_generator(rng)
    starts = np.concatenate(
        [[0], np.cumsum(np.minimum(generator.geometric(1.0 / per_row, n_rows), n_items))]
    )
    items = _by_rank(n_items, 1.1, generator.random(starts[-1], np.float32))
    themes = generator.integers(0, n_items, (max(n_items // 20, 1), THEME)).astype(np.int32)
    theme = _by_rank(len(themes), 1.0, generator.random(n_rows))
    themed = np.flatnonzero(generator.random(starts[-1], np.float32) < 0.4)
    owner = np.searchsorted(starts, themed, side="right") - 1
    items[themed] = themes[theme[owner], generator.integers(0, THEME, themed.size)]
    table = sp.csr_array(
        (np.ones(items.size, np.int8), items, starts.astype(np.int32)), shape=(n_rows, n_items)
    )
    table.sum_duplicates()
    table.data[:] = 1
    return table


def _by_rank(n: int, exponent: float, uniform: Any) -> Any:
    """Return indices below n with probability ∝ (1 + index)^-exponent, one for each uniform number."""
    heights = np.cumsum((1.0 + np.arange(n)) ** -exponent)
    return np.minimum(np.searchsorted(heights, uniform * heights[-1]), n - 1).astype(np.int32)
