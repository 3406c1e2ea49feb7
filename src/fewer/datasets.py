"""Made-up data of realistic shape to try things on: baskets, customers, latencies, orders and prices."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._validation import as_generator, as_integer, as_number

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


GROUPS = ("student", "family", "senior", "business")
SHARES = (0.3, 0.4, 0.2, 0.1)
AGES, INCOMES = (23.0, 41.0, 70.0, 45.0), (14_000.0, 48_000.0, 26_000.0, 95_000.0)
PLANS = ("prepaid", "basic", "flat", "family", "office")
PLAN_SHARES = np.array(
    [
        [0.5, 0.2, 0.3, 0.0, 0.0],
        [0.1, 0.2, 0.2, 0.5, 0.0],
        [0.3, 0.6, 0.1, 0.0, 0.0],
        [0.0, 0.05, 0.15, 0.0, 0.8],
    ]
)
CHANNELS = ("web", "shop", "phone", "partner")
CHANNEL_SHARES = np.array(
    [[0.8, 0.1, 0.0, 0.1], [0.4, 0.4, 0.1, 0.1], [0.1, 0.5, 0.4, 0.0], [0.2, 0.1, 0.3, 0.4]]
)
REGIONS = ("north", "south", "east", "west", "centre")
LEAVING = (0.35, 0.1, 0.05, 0.15)
"""How many of each group leave, before their plan and calls count."""


def customers(n: int, rng: Any = None, missing: float = 0.0) -> dict[str, npt.NDArray[Any]]:
    """Columns of a table of n customers, by name: a mixture of four groups that no column names.

    `customer_id` (texts, all different), `age`, `income`, `minutes` and `calls` (to the hotline,
    whole), `plan`, `channel` and `region` (texts), `paperless` (booleans), `since` (dates), and
    `churn` ("yes" or "no"), which depends on the group, the plan and the calls. A share `missing`
    of the cells of income (NaN) and channel (None) is missing.

    Examples
    --------
    >>> table = customers(500, rng=0)
    >>> sorted(set(table["churn"])), table["since"].dtype, len(set(table["customer_id"]))
    (['no', 'yes'], dtype('<M8[D]'), 500)
    """
    n = as_integer(n, "n", 1)
    generator, _ = as_generator(rng)
    group = generator.choice(len(GROUPS), n, p=SHARES)
    age = np.clip(generator.normal(np.take(AGES, group), 6.0), 18, 95).round()
    income = (np.take(INCOMES, group) * generator.lognormal(0.0, 0.35, n)).round(2)
    plan, channel = _drawn(PLAN_SHARES[group], generator), _drawn(CHANNEL_SHARES[group], generator)
    minutes = generator.gamma(2.0, 40.0 * np.take((3.0, 5.0, 1.5, 9.0), group)).round(1)
    calls = generator.poisson(np.take((0.8, 0.6, 1.5, 1.0), group))
    days = generator.integers(0, np.take((900, 3000, 5000, 2500), group))
    odds = np.take(LEAVING, group) + 0.1 * (plan == 0) + 0.12 * calls - 0.1 * (plan == 3)
    columns: dict[str, npt.NDArray[Any]] = {
        "customer_id": np.array([f"C{i:07d}" for i in generator.permutation(n)], object),
        "age": age.astype(np.int64),
        "income": income,
        "minutes": minutes,
        "calls": calls,
        "plan": np.take(np.array(PLANS, object), plan),
        "channel": np.take(np.array(CHANNELS, object), channel),
        "region": np.take(np.array(REGIONS, object), generator.integers(0, len(REGIONS), n)),
        "paperless": generator.random(n) < np.take((0.9, 0.6, 0.15, 0.7), group),
        "since": np.datetime64("2024-06-30") - days,
        "churn": np.where(generator.random(n) < odds, "yes", "no").astype(object),
    }
    if missing > 0:
        columns["income"][generator.random(n) < missing] = np.nan
        columns["channel"][generator.random(n) < missing] = None
    return columns


def _drawn(shares: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return one choice for each row of shares (n, m)."""
    heights = np.cumsum(shares, axis=1)
    return np.asarray((rng.random((len(shares), 1)) * heights[:, -1:] > heights).sum(axis=1))


TIMEOUT_MS = 3000.0


def latencies(n: int = 1_000_000, rng: Any = None) -> npt.NDArray[np.float64]:
    """Milliseconds of n requests: most are quick, some wait for a slow back end, a few time out after 3 s.

    Examples
    --------
    >>> ms = latencies(10_000, rng=0)
    >>> ms.shape, bool(20 < ms.mean() < 60), float(ms.max())
    ((10000,), True, 861.556)
    """
    n = as_integer(n, "n", 1)
    generator, _ = as_generator(rng)
    slow = generator.random(n) < 0.06
    ms = np.where(slow, generator.lognormal(5.2, 0.5, n), generator.lognormal(3.04, 0.7, n))
    return np.minimum(ms, TIMEOUT_MS).round(3)


KITS = 25


def orders(
    n_orders: int = 5000, n_products: int = 60, rng: Any = None
) -> dict[str, npt.NDArray[Any]]:
    """Columns of a long table, by name: `order_id`, `sku` and `quantity`.

    Orders come in kits: each customer buys most of one of 25 kits of three to six products, and now
    and then more.

    Examples
    --------
    >>> lines = orders(1000, 30, rng=0)
    >>> sorted(lines), lines["sku"][:2].tolist(), len(set(lines["order_id"].tolist()))
    (['order_id', 'quantity', 'sku'], ['P000', 'P023'], 1000)
    """
    n_orders, n_products = (
        as_integer(n_orders, "n_orders", 1),
        as_integer(n_products, "n_products", 6),
    )
    generator, _ = as_generator(rng)
    kits = [
        generator.choice(n_products, generator.integers(3, 7), replace=False) for _ in range(KITS)
    ]
    popularity = generator.dirichlet(np.full(len(kits), 0.8))
    lines: list[tuple[int, str, int]] = []
    for order, kit in enumerate(generator.choice(len(kits), n_orders, p=popularity)):
        own = kits[kit][generator.random(len(kits[kit])) < 0.9]
        bought = {*own, *generator.choice(n_products, generator.binomial(2, 0.1))} or {kits[kit][0]}
        lines += [
            (100_000 + order, f"P{product:03d}", int(generator.integers(1, 4)))
            for product in sorted(bought)
        ]
    order_id, sku, quantity = zip(*lines, strict=True)
    return {
        "order_id": np.array(order_id),
        "sku": np.array(sku, object),
        "quantity": np.array(quantity),
    }


SECTORS = 8
FIRST_DAY = "2017-09-01"


def prices(
    days: int = 500, assets: int = 60, rng: Any = None
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """Columns of a table of daily prices, by name, and the sector of each asset.

    `day` (weekdays from September 2017), an asset in each of the columns A000, A001, ..., and
    `INDEX`, weighted by capital. Returns have a market factor, a factor for each of eight sectors,
    and noise of their own.

    Examples
    --------
    >>> table, sectors = prices(250, 40, rng=0)
    >>> len(table), table["INDEX"].shape, sectors["A000"]
    (42, (250,), 'sector 6')
    """
    days, assets = as_integer(days, "days", 2), as_integer(assets, "assets", 1)
    generator, _ = as_generator(rng)
    sector = generator.integers(0, SECTORS, assets)
    market, own = (
        generator.normal(0.0003, 0.009, (days, 1)),
        generator.normal(0, 0.005, (days, SECTORS)),
    )
    returns = (
        generator.uniform(0.6, 1.4, assets) * market
        + own[:, sector]
        + generator.normal(0, 0.009, (days, assets))
    )
    table = generator.uniform(20, 200, assets) * np.exp(np.cumsum(returns, axis=0))
    shares = generator.dirichlet(np.full(assets, 0.7)) / table[0]
    names = [f"A{i:03d}" for i in range(assets)]
    dates = np.busday_offset(FIRST_DAY, np.arange(days), roll="forward")
    columns = {"day": dates, **{name: table[:, i].round(4) for i, name in enumerate(names)}}
    sectors = {name: f"sector {s}" for name, s in zip(names, sector, strict=True)}
    return {**columns, "INDEX": (1000.0 * table @ shares).round(4)}, sectors


__all__ = ["baskets", "customers", "latencies", "orders", "prices"]
