"""Returns of prices, in the container of the prices."""

from functools import partial

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fewer
from fewer import InvalidInput

PRICES = 100.0 * np.exp(np.cumsum(np.random.default_rng(0).normal(0.0, 0.02, (12, 3)), axis=0))
EXPECTED = {"simple": PRICES[1:] / PRICES[:-1] - 1.0, "log": np.diff(np.log(PRICES), axis=0)}
DAYS = pd.date_range("2024-01-01", periods=12)


def table():
    """The prices with a column of dates and one of texts."""
    frame = pd.DataFrame(PRICES, columns=list("abc"))
    return frame.assign(day=DAYS, note=["x"] * 12)[["day", "a", "b", "note", "c"]]


@pytest.mark.parametrize("kind", EXPECTED)
def test_returns_by_their_definition_in_every_container(kind):
    expected = EXPECTED[kind]
    np.testing.assert_allclose(fewer.returns(PRICES, kind), expected, rtol=1e-12)
    np.testing.assert_allclose(fewer.returns(PRICES[:, 0], kind), expected[:, 0], rtol=1e-12)
    frame = table()
    for form in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        found = fewer.returns(form, kind)
        assert type(found) is type(form)
        plain = found if isinstance(found, pd.DataFrame) else found.to_pandas()
        assert list(plain.columns) == list(frame.columns)
        np.testing.assert_allclose(plain[list("abc")].to_numpy(np.float64), expected, rtol=1e-12)
        assert plain["day"].tolist() == DAYS[1:].tolist()
        assert plain["note"].tolist() == ["x"] * 11


def test_a_series_stays_a_series():
    found = fewer.returns(table().set_index("day")["a"])
    assert (found.name, found.index.tolist()) == ("a", DAYS[1:].tolist())
    np.testing.assert_allclose(found, EXPECTED["simple"][:, 0], rtol=1e-12)
    assert fewer.returns(pl.Series("a", PRICES[:, 0])).to_list() == found.tolist()


def test_rows_are_sorted_by_dates():
    shuffled = table().sample(frac=1.0, random_state=1)
    texts = shuffled.assign(day=shuffled["day"].dt.strftime("%Y-%m-%d"))
    for form, date in (
        (shuffled, None),
        (shuffled, "day"),
        (texts, "day"),
        (shuffled.set_index("day"), None),
    ):
        found = fewer.returns(form, date=date)
        np.testing.assert_allclose(found[list("abc")], EXPECTED["simple"], rtol=1e-12)
    with pytest.raises(InvalidInput, match="no column 'dya'; did you mean 'day'"):
        fewer.returns(shuffled, date="dya")
    with pytest.raises(InvalidInput, match="each date may be there once"):
        fewer.returns(pd.concat([shuffled, shuffled.iloc[:1]]))


def test_missing_prices_by_rule():
    gaps = PRICES.copy()
    gaps[4, 1] = np.nan
    with pytest.raises(
        InvalidInput, match=r"column 1, row 4: is missing; missing='drop' .*missing='ffill'"
    ):
        fewer.returns(gaps)
    filled, kept = gaps.copy(), np.delete(PRICES, 4, axis=0)
    filled[4, 1] = PRICES[3, 1]
    np.testing.assert_allclose(
        fewer.returns(gaps, missing="ffill"), filled[1:] / filled[:-1] - 1.0, rtol=1e-12
    )
    np.testing.assert_allclose(
        fewer.returns(gaps, missing="drop"), kept[1:] / kept[:-1] - 1.0, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("prices", "options", "words"),
    [
        (PRICES, {"kind": "pct"}, "kind must be"),
        (PRICES, {"missing": "impute"}, "missing must be"),
        (PRICES, {"date": "day"}, "date names a column of a table, but prices is ndarray"),
        (PRICES[:1], {}, "at least two rows"),
        (-PRICES, {}, "must be positive for simple returns, got .* in column 0, row 0"),
        (np.zeros((3, 2, 2)), {}, "must have shape"),
        (pd.DataFrame({"day": DAYS}), {}, "no column of numbers"),
        (["prices-*.csv"], {}, "must be in memory"),
    ],
)
def test_what_is_no_price_is_refused(prices, options, words):
    with pytest.raises(InvalidInput, match=words):
        fewer.returns(prices, **options)


@pytest.mark.parametrize("kind", EXPECTED)
def test_terms_compares_these_returns(kind):
    """`terms(returns=)` is `terms` of `fewer.returns`."""
    prices = table().sample(frac=1.0, random_state=1)
    prices.loc[5, "b"] = np.nan
    direct = fewer.terms(prices, "c", 1, exclude=["note"], returns=kind, missing="ffill", rng=0)
    steps = fewer.returns(prices, kind, missing="ffill")
    again = fewer.terms(steps, "c", 1, exclude=["note"], rng=0)
    assert direct.labels.tolist() == again.labels.tolist()
    assert direct.value == again.value


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.Table])
@pytest.mark.parametrize(
    "options",
    [
        {"returns": "simple", "missing": "ffill"},
        {
            "returns": "log",
            "date": "day",
            "missing": "drop",
            "include": ["b"],
            "groups": {"a": 0, "b": 1},
        },
        {"missing": "impute"},
    ],
)
def test_the_estimator_fits_what_terms_compares_and_predicts_returns(options, library):
    prices = table().sample(frac=1.0, random_state=1)
    prices.loc[5, "b"] = np.nan
    options = {
        **options,
        "exclude": ["note"],
        **({"max_per_group": 1} if "groups" in options else {}),
    }
    arrow = partial(pa.Table.from_pandas, preserve_index=False)
    convert = {pd.DataFrame: lambda x: x, pl.DataFrame: pl.from_pandas, pa.Table: arrow}[library]
    expected = fewer.terms(convert(prices), "c", 2, rng=0, **options)
    model = fewer.FewerTerms(2, random_state=0, **options).fit(convert(prices), "c")
    assert model.result_.labels.tolist() == expected.labels.tolist()
    assert model.value_ == pytest.approx(expected.value, rel=1e-9)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    steps = fewer.returns(table())
    features = steps[["a", "b"]].to_numpy()
    np.testing.assert_allclose(
        model.predict(convert(steps[["a", "b"]])), features @ model.coef_, rtol=1e-12
    )


WALKS = np.exp(np.cumsum(0.01 * np.random.default_rng(1).normal(size=(400, 6)), axis=0))
WALK_FRAME = pd.DataFrame(WALKS, columns=list("abcdef")).assign(index=WALKS[:, :3].mean(axis=1))
DATED = WALK_FRAME.assign(day=pd.date_range("2020-01-01", periods=400))


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
