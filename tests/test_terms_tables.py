"""terms on tables: columns by name, rows by index, prices, and missing values by rule."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fewer import FewerTerms, InvalidInput
from fewer import terms as terms_of_any_solver

terms = partial(terms_of_any_solver, solver="greedy")

NAMES = ["AAPL", "MSFT", "XOM", "CVX", "JPM", "BAC", "KO", "PEP"]
SECTORS = dict(
    zip(NAMES, ["tech", "tech", "oil", "oil", "bank", "bank", "drink", "drink"], strict=True)
)


def market(seed=0, days=60):
    """Prices of eight assets on business days, and of an index of five of them."""
    rng = np.random.default_rng(seed)
    returns = rng.normal(0.0003, 0.006, (days, 1)) + rng.normal(0, 0.012, (days, len(NAMES)))
    dates = pd.bdate_range("2018-11-01", periods=days, name="date")
    prices = pd.DataFrame(100 * np.exp(np.cumsum(returns, axis=0)), index=dates, columns=NAMES)
    index = (prices / prices.iloc[0]) @ [0.4, 0.25, 0.15, 0.1, 0.1, 0, 0, 0]
    return prices, (100 * index).rename("INDEX")


def same(found, twin):
    assert found.indices.tolist() == twin.indices.tolist()
    assert found.weights == pytest.approx(twin.weights, abs=1e-9)
    assert found.value == pytest.approx(twin.value)


def test_rows_belong_together_by_their_labels():
    prices, index = market()
    expected = terms(prices, index, 3, rng=0)
    rng = np.random.default_rng(1)
    mixed = index.iloc[rng.permutation(len(index))]
    same(terms(prices, mixed, 3, rng=0), expected)
    weight = pd.Series(rng.random(len(index)), prices.index)
    same(
        terms(prices, mixed, 3, sample_weight=weight[::-1], rng=0),
        terms(prices, index, 3, sample_weight=weight.to_numpy(), rng=0),
    )
    same(
        FewerTerms(3, random_state=0, solver="greedy").fit(prices, mixed).result_,
        FewerTerms(3, random_state=0, solver="greedy").fit(prices, index).result_,
    )


def test_other_rows_are_refused_by_name():
    prices, index = market()
    with pytest.raises(
        InvalidInput, match=r"different index labels: only X has Timestamp\('2018-11-01 00:00:00'\)"
    ):
        terms(prices, index.iloc[1:], 2)
    with pytest.raises(InvalidInput, match=r"only y has .*to_numpy"):
        terms(prices.iloc[1:], index, 2)
    with pytest.raises(InvalidInput, match=r"only X has .*; only y has 0, 1, 2 and 57 more"):
        terms(prices, index.reset_index(drop=True), 2)
    twice = index.iloc[[1, *range(1, 60)]]
    with pytest.raises(InvalidInput, match=r"y has .* twice"):
        terms(prices, twice, 2)
    assert terms(prices.iloc[[0, 0, 1, 2]], index.iloc[[0, 0, 1, 2]], 2).indices.size <= 2
    with pytest.raises(InvalidInput, match="one entry for each of the 60 rows of X"):
        terms(pl.from_pandas(prices), index.to_numpy()[1:], 2)


def test_columns_by_name():
    prices, index = market()
    asked = {"include": ["KO"], "exclude": ["AAPL", "XOM"], "max_per_group": 1}
    named = terms(prices, index, 4, groups=SECTORS, rng=0, **asked)
    plain = {
        "include": [6],
        "exclude": [0, 2],
        "groups": list(SECTORS.values()),
        "max_per_group": 1,
    }
    same(named, terms(prices.to_numpy(), index.to_numpy(), 4, rng=0, **plain))
    for groups in (
        pd.Series(SECTORS)[::-1],
        np.array(list(SECTORS.values())),
        {**SECTORS, "NEW": "tech"},
    ):
        same(terms(prices, index, 4, groups=groups, rng=0, **asked), named)
    less = {name: sector for name, sector in SECTORS.items() if name not in ("AAPL", "XOM")}
    same(terms(prices, index, 4, groups=less, rng=0, **asked), named)
    model = FewerTerms(4, groups=SECTORS, random_state=0, solver="greedy", **asked).fit(
        prices, index
    )
    assert model.result_.labels.tolist() == named.labels.tolist()
    assert model.feature_names_in_.tolist() == NAMES
    for words, wrong in {
        "include: there is no column 'APPL'; did you mean 'AAPL'": {"include": ["APPL"]},
        "exclude: there is no column 99": {"exclude": [99]},
        "groups has no label for the column 'MSFT'": {
            "groups": {"AAPL": 1, **dict.fromkeys(NAMES[2:], 2)},
            "max_per_group": 2,
        },
    }.items():
        with pytest.raises(InvalidInput, match=words):
            terms(prices, index, 3, **wrong)


def test_what_holds_no_numbers_is_left_out_or_refused():
    prices, index = market()
    table = prices.reset_index().assign(
        ticket=[f"t{i:03d}" for i in range(60)], desk=["a", "b"] * 30
    )
    with pytest.raises(
        InvalidInput, match=r"column 'desk', row 0: expected a number, got 'a'; exclude=\['desk'\]"
    ):
        terms(table, index.to_numpy(), 3)
    found = terms(table, index.to_numpy(), 3, exclude=["desk"], rng=0)
    assert "dates left out: 'date'" in found.note
    assert "identifiers left out: 'ticket'" in found.note
    assert [table.columns[i] for i in found.indices] == found.labels.tolist()
    twin = terms(prices, index, 3, rng=0)
    assert found.labels.tolist() == twin.labels.tolist()
    assert found.value == pytest.approx(twin.value)
    with pytest.raises(InvalidInput, match="y: there is no column 'INDX'"):
        terms(table, "INDX", 3)
    with pytest.raises(InvalidInput, match="no candidate's numbers"):
        terms(table, index.to_numpy(), 3, include=["date"], exclude=["desk"])
    with pytest.raises(InvalidInput, match="the column 'AAPL' twice"):
        terms(pd.concat([prices, prices[["AAPL"]]], axis=1), index, 3)


def test_prices_are_sorted_by_dates_that_the_table_has():
    prices, index = market()
    expected = terms(prices, index, 3, returns="simple", rng=0)
    mixed = prices.sample(frac=1, random_state=0)
    inside = mixed.assign(INDEX=index)
    text = inside.set_axis(inside.index.strftime("%Y-%m-%d"))
    forms = (
        inside,
        inside.sort_index(ascending=False),
        text,
        inside.reset_index(),
        pl.from_pandas(inside.reset_index()),
    )
    for form in forms:
        found = terms(form, "INDEX", 3, returns="simple", rng=0)
        assert found.labels.tolist() == expected.labels.tolist()
        assert found.value == expected.value
        assert "sorted the rows by" in found.note
    assert terms(mixed, index, 3, returns="simple", rng=0).value == expected.value
    assert "sorted" not in expected.note
    two = inside.reset_index().assign(listed=mixed.index[::-1])
    with pytest.raises(
        InvalidInput,
        match="in order of time, and are in that of none of 'date', 'listed'; date='date'",
    ):
        terms(two, "INDEX", 3, returns="simple")
    with pytest.raises(InvalidInput, match="each date may be there once"):
        terms(pd.concat([inside, inside.iloc[:1]]), "INDEX", 3, returns="simple")


def test_prices_without_returns_get_a_hint():
    prices, index = market()
    for X, y in (
        (prices, 30 * index),
        (prices.to_numpy(), 30 * index.to_numpy()),
        (prices[::-1], 30 * index[::-1]),
    ):
        assert "look like prices in order of time: returns='simple'" in terms(X, y, 3, rng=0).note
    assert "look like" not in terms(prices, 30 * index, 3, returns="simple", rng=0).note
    assert "look like" not in terms(prices, index, 8, rng=0).note  # levels that are tracked well
    rng = np.random.default_rng(0)
    for r in (10, 12, 200):  # positive, but of independent rows
        assert (
            "look like"
            not in terms(rng.uniform(1.0, 2.0, (r, 5)), rng.uniform(5.0, 9.0, r), 2, rng=0).note
        )


def test_missing_values_by_rule():
    prices, index = market()
    gaps = prices.copy()
    gaps.iloc[3, 1], gaps.iloc[10, 6] = np.nan, np.nan
    with pytest.raises(
        InvalidInput,
        match=r"column 'MSFT', row 3 \(.*: is missing; missing='drop' .*missing='impute'",
    ):
        terms(gaps, index, 3)
    dropped = terms(gaps, index, 3, missing="drop", rng=0)
    assert "2 of 60 rows left out" in dropped.note
    whole = gaps.notna().all(axis=1)
    same(dropped, terms(prices[whole], index[whole], 3, rng=0))
    same(
        terms(gaps, index, 3, missing="impute", rng=0),
        terms(gaps.fillna(gaps.median()), index, 3, rng=0),
    )
    filled = terms(gaps, index, 3, returns="log", missing="ffill", rng=0)
    same(filled, terms(gaps.ffill(), index, 3, returns="log", rng=0))
    assert "2 missing prices carried forward" in filled.note
    with pytest.raises(InvalidInput, match=r"missing='drop' .*, missing='ffill'"):
        terms(gaps, index, 3, returns="log")
    late = gaps.copy()
    late.iloc[:5, 4] = np.nan
    with pytest.raises(
        InvalidInput,
        match=r"column 'JPM' has no price to carry forward in row 0 .*exclude the column",
    ):
        terms(late, index, 3, returns="log", missing="ffill")
    same(
        terms(late, index, 3, returns="log", missing="ffill", exclude=["JPM"], rng=0),
        terms(gaps.ffill(), index, 3, returns="log", exclude=["JPM"], rng=0),
    )
    holes = index.copy()
    holes.iloc[8] = np.nan
    with pytest.raises(InvalidInput, match=r"y, row 8 .*is missing; missing='drop'"):
        terms(prices, holes, 3, missing="impute")
    assert "1 of 60 rows" in terms(prices, holes, 3, missing="drop").note
    for wrong in (
        {"missing": "ffill"},
        {"missing": "impute", "returns": "log"},
        {"missing": "mean"},
        {"returns": "pct"},
    ):
        with pytest.raises(InvalidInput, match=r"missing|returns"):
            terms(prices, index, 3, **wrong)


@pytest.mark.parametrize("in_blocks", [False, True])
def test_weights_that_are_all_zero_are_refused(in_blocks):
    X = np.random.default_rng(0).normal(size=(300, 5))
    frame = pd.DataFrame(X, columns=list("abcde")).assign(w=0.0)
    data = (lambda: iter([frame[:150], frame[150:]])) if in_blocks else frame
    with pytest.raises(InvalidInput, match=r"sample_weight must have .* got all zeros"):
        terms(data, "e", 2, sample_weight="w", max_memory="20kB" if in_blocks else "1GB")
