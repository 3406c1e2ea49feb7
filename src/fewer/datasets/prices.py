"""Made-up prices of assets and of their index."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import as_generator, as_integer

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
