"""Track an index with few assets, from a file of prices to a file of weights.

Prices become daily returns; each asset held has 1 % to 25 %, at most three are of one sector. For
each k the fit on the days before 2019 is judged on the days since; the weights written are fitted
on all days.

Run: python examples/index_tracking.py [FOLDER] [PRICES.csv]   (made-up prices of 60 assets without a file)
The same by the command line:

    fewer terms prices.csv --target INDEX --date day --returns simple --groups sectors.csv
    --max-per-group 3 \
        --min-weight 0.01 --max-weight 0.25 -k 12 --test-from 2019-01-01 -o weights.csv
"""

import datetime
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fewer import Result, terms
from fewer.datasets import prices as made_up

BUDGETS = (6, 12, 24)
BOUNDS = {"min_weight": 0.01, "max_weight": 0.25, "max_per_group": 3}
SPLIT = datetime.date(2019, 1, 1)


def write_prices(folder: Path, days: int = 500, assets: int = 60, seed: int = 0) -> Path:
    """Made-up prices of assets and of their index, and a file of sectors."""
    table, sectors = made_up(days, assets, rng=seed)
    pl.DataFrame(table).write_csv(folder / "prices.csv")
    pl.DataFrame({"column": list(sectors), "group": list(sectors.values())}).write_csv(
        folder / "sectors.csv"
    )
    return folder / "prices.csv"


def track(prices: pl.DataFrame, sectors: dict[str, str], k: int, **search: Any) -> Result:
    """At most k assets whose returns are near those of the index."""
    return terms(
        prices, "INDEX", k, returns="simple", date="day", groups=sectors, **BOUNDS, **search
    )


def error(prices: pl.DataFrame, result: Result) -> float:
    """Root mean squared daily tracking error, in basis points."""
    returns = prices.select(pl.exclude("day").pct_change()).slice(1)
    gap = (
        returns.select(result.labels.tolist()).to_numpy() @ result.weights
        - returns["INDEX"].to_numpy()
    )
    return 1e4 * float(np.sqrt(np.mean(gap**2)))


def main(
    folder: Path, file: Path | None = None, budgets: tuple[int, ...] = BUDGETS, **search: Any
) -> Result:
    """Print errors for each k, and write the weights of the middle one."""
    path = write_prices(folder) if file is None else file
    prices = pl.read_csv(path, try_parse_dates=True).sort("day")
    sectors = dict(pl.read_csv(path.with_name("sectors.csv")).iter_rows())
    before, since = prices.filter(pl.col("day") < SPLIT), prices.filter(pl.col("day") >= SPLIT)
    print(
        f"{prices.width - 2} assets, {before.height} days to fit, {since.height} to judge; basis"
        " points a day"
    )
    print("  k  fitted  judged")
    for k in budgets:
        fitted = track(before, sectors, k, **search)
        print(f"{k:3d} {error(before, fitted):7.2f} {error(since, fitted):7.2f}")
    best = track(prices, sectors, budgets[len(budgets) // 2], **search)
    order = np.argsort(-best.weights, kind="stable")
    weights = {
        "column": best.labels[order].tolist(),
        "index": best.indices[order],
        "weight": best.weights[order],
    }
    pl.DataFrame(weights).write_csv(folder / "weights.csv")
    print(f"{best}\nweights: {folder / 'weights.csv'}")
    return best


if __name__ == "__main__":
    home = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    home.mkdir(exist_ok=True)
    main(home, Path(sys.argv[2]) if len(sys.argv) > 2 else None, rng=0)
