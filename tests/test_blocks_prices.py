"""Terms of prices: gathered blocks are as in memory, larger ones are refused."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import fewer
from fewer import InvalidInput

RNG = np.random.default_rng(1)
PRICES = np.exp(np.cumsum(0.01 * RNG.normal(size=(400, 6)), axis=0))
FRAME = pd.DataFrame(PRICES, columns=list("abcdef")).assign(index=PRICES[:, :3].mean(axis=1))
DATED = FRAME.assign(day=pd.date_range("2020-01-01", periods=400))


def cut(frame, n):
    return lambda: iter(
        [frame.iloc[:0], *(frame.iloc[p] for p in np.array_split(np.arange(len(frame)), n))]
    )


def test_gathered_prices_are_as_in_memory():
    how = {"returns": "log", "date": "day", "rng": 0}
    whole = fewer.terms(DATED, "index", 3, **how)
    for given in (cut(DATED, 7), dd.from_pandas(DATED, npartitions=6)):
        found = fewer.terms(given, "index", 3, **how)
        assert found.indices.tolist() == whole.indices.tolist()
        assert found.value == whole.value


@pytest.mark.parametrize("how", [{"returns": "simple"}, {"date": "day"}, {"loss": "absolute"}])
def test_what_is_not_for_data_in_blocks(how, blocks_of_64):
    with pytest.raises(
        InvalidInput, match=f"{next(iter(how))} is not for data in blocks; raise max_memory"
    ):
        fewer.terms(cut(DATED, 7), "index", 3, **how)
