"""Any table gives an answer or a sentence that names the column.

What should not matter does not.
"""

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewer import InvalidInput, points

QUICK = {"solver": "greedy", "rng": 0}
EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
VALUES = {
    "whole": st.integers(-(10**6), 10**6),
    "real": st.floats(-1e6, 1e6),
    "odd": st.floats(),
    "decimal": st.decimals(-1000, 1000, places=2),
    "boolean": st.booleans(),
    "text": st.sampled_from(["a", "b", "c", ""]),
    "free": st.text(max_size=5),
    "day": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "moment": st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)),
    "time": st.times(),
    "length": st.timedeltas(dt.timedelta(0), dt.timedelta(days=99)),
    "nested": st.lists(st.integers(), max_size=2),
}


@st.composite
def tables(draw):
    """A table of a few columns of these kinds, with missing values in some."""
    n = draw(st.integers(2, 25))
    kinds = draw(st.lists(st.sampled_from([*VALUES, "nothing"]), min_size=1, max_size=4))
    columns = {}
    for i, kind in enumerate(kinds):
        one = st.none() if kind == "nothing" else VALUES[kind]
        one = st.none() | one if draw(st.booleans()) else one
        columns[f"{kind}{i}"] = draw(st.lists(one, min_size=n, max_size=n))
    return pl.DataFrame({name: pl.Series(values, strict=False) for name, values in columns.items()})


def answered(X, missing):
    """The result, or the sentence in its place."""
    try:
        return points(X, 1, missing=missing, **QUICK), ""
    except InvalidInput as error:
        return None, str(error)


@EXAMPLES
@given(tables(), st.sampled_from(["error", "drop", "impute", "category"]), st.booleans())
def test_any_table_gives_an_answer_or_a_sentence_that_names_a_column(table, missing, in_pandas):
    X = (
        table.to_pandas()
        if in_pandas and not any("nested" in name for name in table.columns)
        else table
    )
    result, sentence = answered(X, missing)
    if result is None:
        assert any(repr(name) in sentence for name in table.columns), sentence
    else:
        assert result.indices[0] < len(table)
        assert np.isfinite(result.value)


def mixed(seed, n=30):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "x": rng.standard_normal(n),
            "y": rng.lognormal(0, 1, n),
            "c": rng.choice(["red", "green", "blue"], n),
            "d": rng.choice(["s", "m", "l", "xl"], n),
            "price": [Decimal(int(p)) for p in rng.integers(1, 99, n)],
        }
    )


def answer(table, **options):
    return points(table, 4, gamma="median", **QUICK, **options)


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_rows_are_the_same_rows(seed):
    table, order = mixed(seed), np.random.default_rng(seed).permutation(30)
    plain, shuffled = answer(table), answer(table[order])
    assert sorted(order[shuffled.indices].tolist()) == plain.indices.tolist()
    assert shuffled.value == pytest.approx(plain.value, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_columns_units_and_names_of_categories_do_not_matter(seed):
    table = mixed(seed)
    plain = answer(table)
    shuffled = table.select(["d", "price", "y", "c", "x"])
    scaled = table.with_columns(pl.col("x") * 1000 - 7, pl.col("y") * 0.01)
    renamed = table.with_columns(
        pl.col("c").replace({"red": "zinnober", "blue": "azur"}), pl.col("d") + "-size"
    )
    for other in (
        shuffled,
        scaled,
        renamed,
        table.rename({"x": "first", "c": "colour"}),
        table.to_pandas(),
    ):
        found = answer(other)
        assert found.indices.tolist() == plain.indices.tolist()
        assert found.value == pytest.approx(plain.value, rel=1e-8)
        np.testing.assert_allclose(found.weights, plain.weights, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_what_should_matter_does(seed):
    table = mixed(seed)
    plain = answer(table)
    coarser = answer(table.with_columns(pl.col("c").replace({"red": "green"})))
    unscaled = answer(table.with_columns(pl.col("y") * 100), standardize=False)
    assert coarser.value != plain.value
    assert unscaled.value != answer(table, standardize=False).value
    assert answer(table, columns={"price": "category"}).value != plain.value
    assert answer(table, columns={"price": "ignore"}).value == answer(table.drop("price")).value


def test_a_missing_category_is_only_another_level():
    table = mixed(0)
    gone = table.with_columns(
        pl.when(pl.col("c") == "red").then(None).otherwise(pl.col("c")).alias("c")
    )
    assert answer(gone, missing="category").value == pytest.approx(answer(table).value, rel=1e-9)
