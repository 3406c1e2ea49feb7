"""Terms of prices in blocks: returns over the ends of blocks, dates in order, missing prices."""

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
    return lambda: iter([frame.iloc[:0], *(frame.iloc[p] for p in np.array_split(np.arange(len(frame)), n))])


def with_gaps(frame):
    gaps = frame.copy()
    gaps.loc[RNG.choice(np.arange(1, 400), 30), "b"] = np.nan
    gaps.loc[[63, 64, 65, 128], "index"] = np.nan
    return gaps


@pytest.mark.parametrize(
    ("frame", "how"),
    [
        (FRAME, {"returns": "simple"}),
        (FRAME, {"returns": "log", "sample_weight": np.linspace(1.0, 2.0, 400)}),
        (DATED, {"returns": "simple", "date": "day"}),
        (DATED, {"date": "day"}),
        (with_gaps(FRAME), {"returns": "simple", "missing": "drop"}),
        (with_gaps(DATED), {"returns": "log", "missing": "ffill", "date": "day"}),
    ],
    ids=lambda part: str(part) if isinstance(part, dict) else "",
)
def test_as_in_memory_whatever_the_cut(frame, how, blocks_of_64):
    whole = fewer.terms(frame, "index", 3, rng=0, **how)
    first, *others = [fewer.terms(cut(frame, n), "index", 3, rng=0, **how) for n in (1, 7, 64)]
    for other in others:
        assert (other.value, other.indices.tolist()) == (first.value, first.indices.tolist())
    first = [first, fewer.terms(dd.from_pandas(frame, npartitions=6), "index", 3, rng=0, **how)]
    for found in first:
        assert found.labels.tolist() == whole.labels.tolist()
        assert found.indices.tolist() == whole.indices.tolist()
        assert found.value == pytest.approx(whole.value, rel=1e-9, abs=1e-18)
        if how.get("missing") == "drop":
            assert next(note for note in whole.note.split("; ") if "rows left out" in note) in found.note
        assert ("carried forward" in found.note) == (how.get("missing") == "ffill")


def test_arrays_of_prices(blocks_of_64):
    X, y = PRICES, FRAME["index"].to_numpy()
    whole = fewer.terms(X, y, 3, returns="simple", rng=0)
    parts = list(zip(np.array_split(X, 9), np.array_split(y, 9), strict=True))
    found = fewer.terms(lambda: iter(parts), None, 3, returns="simple", rng=0)
    assert found.indices.tolist() == whole.indices.tolist()
    assert found.value == pytest.approx(whole.value, rel=1e-9, abs=1e-18)


@pytest.mark.parametrize(
    ("frame", "how", "words"),
    [
        (DATED.iloc[::-1], {"date": "day"}, "must stand in the order of 'day'.*row 1 is not later"),
        (with_gaps(FRAME), {"returns": "simple"}, "is missing in row"),
        (FRAME.assign(a=-1.0), {"returns": "simple"}, "prices must be positive"),
        (FRAME, {"returns": "simple", "missing": "impute"}, "missing of prices in blocks"),
        (FRAME, {"date": "day"}, "day"),
        (FRAME, {"loss": "absolute"}, "again and again"),
    ],
)
def test_what_is_refused(frame, how, words, blocks_of_64):
    with pytest.raises(InvalidInput, match=words):
        fewer.terms(cut(frame, 7), "index", 3, **how)
