"""A few customers that stand for all: from a file of mixed columns to weighted rows in a file.

The table has numbers, categories, dates, booleans, missing values and an identifier. `fewer.points`
scales the numbers, compares the categories by equality, leaves the identifier out and says so. The
command does the same with the same options:

    fewer points customers.csv -k 8 --ignore churn --missing category -o typical.csv

Run: python examples/customers.py [customers.csv]   (made-up ones without)
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

from fewer import points
from fewer.datasets import customers


def main(folder: Path, file: Path | None = None, n: int = 1000, k: int = 8) -> Path:
    """Choose k typical customers, write them with their weights, and say what is kept of the whole."""
    folder.mkdir(exist_ok=True)
    if file is None:
        file = folder / "customers.csv"
        pl.DataFrame(customers(n, rng=0, missing=0.02), nan_to_null=True).write_csv(file)
    table = pl.read_csv(file, try_parse_dates=True)
    result = points(table, k, columns={"churn": "ignore"}, missing="category", rng=0)
    print(result.message)
    few = result.rows.insert_column(0, pl.Series("weight", result.weights)).sort(
        "weight", descending=True
    )
    print(few)
    for name in ("plan", "channel"):
        whole = dict(table[name].value_counts(normalize=True).iter_rows())
        kept = {
            level: float(few.filter(pl.col(name) == level)["weight"].sum())
            for level in whole
            if level
        }
        print(
            f"{name}: "
            + ", ".join(
                f"{level} {kept[level]:.0%} (all: {whole[level]:.0%})" for level in sorted(kept)
            )
        )
    age = float(np.average(few["age"], weights=few["weight"]))
    print(f"mean age {age:.1f} (all: {table['age'].mean():.1f})")
    few.write_csv(folder / "typical.csv")
    return folder / "typical.csv"


if __name__ == "__main__":
    main(Path("demo"), Path(sys.argv[1]) if len(sys.argv) > 1 else None)
