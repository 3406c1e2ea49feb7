"""Made-up customers of a telephone company: numbers, categories, dates, missing values, and who left."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import as_generator, as_integer

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
