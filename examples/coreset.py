"""Train on a few weighted rows of a table in place of all: a coreset, and why its weights must be counts.

`FewerPoints.counts_` says how many rows each kept one stands for. As `sample_weight` of a model
they leave its regularisation what it is on all rows; weights that sum to one would let it dominate.
The command writes the same rows:

    fewer points train.csv -k 60 --label churn -o coreset.csv

and `weight` times the number of rows is the count.

Run: python examples/coreset.py
"""

from pathlib import Path

import numpy as np
import polars as pl
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fewer import FewerPoints
from fewer.datasets import customers

NUMBERS, CATEGORIES = (
    ["age", "income", "minutes", "calls"],
    ["plan", "channel", "region", "paperless"],
)


def model():
    """A regularised classifier of mixed columns."""
    columns = make_column_transformer(
        (StandardScaler(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), CATEGORIES)
    )
    return make_pipeline(columns, LogisticRegression(C=0.1, max_iter=500))


def score(train: pl.DataFrame, test: pl.DataFrame, weights=None) -> float:
    """The share of test rows whose label a model gets right."""
    extra = {} if weights is None else {"logisticregression__sample_weight": np.asarray(weights)}
    fitted = model().fit(train.drop("churn").to_pandas(), train["churn"].to_numpy(), **extra)
    return float(fitted.score(test.drop("churn").to_pandas(), test["churn"].to_numpy()))


def main(folder: Path, n: int = 2000, k: int = 60) -> dict[str, float]:
    """Write the training table and its coreset, and compare what models learn from each."""
    folder.mkdir(exist_ok=True)
    table = pl.DataFrame(customers(2 * n, rng=1))
    train, test = table[:n], table[n:]
    train.write_csv(folder / "train.csv")
    train = pl.read_csv(folder / "train.csv", try_parse_dates=True)
    points = FewerPoints(k, by_label=True, random_state=0).fit(train.drop("churn"), train["churn"])
    few = train[points.indices_].with_columns(count=pl.Series(points.counts_))
    few.write_csv(folder / "coreset.csv")
    few = pl.read_csv(folder / "coreset.csv", try_parse_dates=True)
    rows, rng = few.drop("count"), np.random.default_rng(0)
    drawn = [score(train[np.sort(rng.choice(n, k, replace=False))], test) for _ in range(5)]
    scores = {
        f"all {n} rows": score(train, test),
        f"{k} rows, counts": score(rows, test, few["count"]),
        f"{k} rows, weights that sum to one": score(rows, test, few["count"] / n),
        f"{k} random rows (mean of 5)": float(np.mean(drawn)),
    }
    for name, right in scores.items():
        print(f"{name:40s}{right:8.3f}")
    return scores


if __name__ == "__main__":
    main(Path("demo"))
