"""dims on tables: labels coded by themselves, baselines by label, missing values by rule, long tables of baskets."""

import math
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fewer
from fewer import FewerDims, InvalidInput
from fewer import dims as dims_of_any_solver
from fewer.datasets import baskets
from fewer.tables.baskets import long_columns
from fewer.tables.column import columns_of

dims = partial(dims_of_any_solver, solver="exchange", rng=0)


def customers(seed=0, n=200):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "customer_id": [f"c{i:04d}" for i in range(n)],
            "plan": rng.choice(["free", "gold", "silver"], n, p=[0.7, 0.1, 0.2]),
            "region": rng.choice(["north", "south", "east"], n, p=[0.2, 0.6, 0.2]),
            "churned": rng.random(n) < 0.1,
            "tickets": rng.integers(0, 3, n) * (rng.random(n) < 0.3),
            "joined": pd.date_range("2020-01-01", periods=n),
        }
    )


def coded(table):
    """The same by hand: labels in sorted order, the left-out columns zero."""
    codes = table.assign(customer_id=0, joined=0)
    codes["plan"] = table.plan.map({"free": 0, "gold": 1, "silver": 2})
    codes["region"] = table.region.map({"east": 0, "north": 1, "south": 2})
    return codes.astype(int).to_numpy(), [0, 0, 2, 0, 0, 0]


@pytest.mark.parametrize("objective", ["kl", "l2"])
def test_labels_are_coded_by_themselves(objective):
    table = customers()
    X, origin = coded(table)
    expected = dims(X, 2, objective=objective, baseline=origin, exclude=[0, 5])
    forms = [table, table.astype({"plan": "category", "region": "category"}), pl.from_pandas(table)]
    for form in [*forms, pa.Table.from_pandas(table, preserve_index=False)]:
        found = dims(form, 2, objective=objective)
        assert found.indices.tolist() == expected.indices.tolist()
        assert found.value == pytest.approx(expected.value)
        assert found.labels.tolist() == [table.columns[i] for i in found.indices]
        assert "identifiers left out: 'customer_id'" in found.note
        assert "dates left out: 'joined'" in found.note
        assert found.distribution.origin.tolist() == origin


def test_the_baseline_by_its_label():
    table = customers()
    X, _ = coded(table)
    rows = X[:, 1:5]
    at = dict.fromkeys(["free", "gold"])
    for code, label in enumerate(at):
        found = dims(table, 2, baseline={"plan": label, "tickets": 1})
        expected = dims(X, 2, baseline=[0, code, 2, 0, 1, 0], exclude=[0, 5])
        assert found.value == pytest.approx(expected.value)
    mode = dims(table, 2, baseline="mode")
    assert mode.distribution.origin[1:5].tolist() == [
        np.bincount(column).argmax() for column in rows.T
    ]
    for words, wrong in {
        "column 'plan' holds labels, none of which is zero; give baseline='mode'": "zero",
        r"column 'plan' has no label 'platin'; it has 'free', 'gold', 'silver'": {"plan": "platin"},
        r"baseline: there is no column 'plans'; did you mean 'plan'\?": {"plans": "free"},
        "baseline of column 'tickets' must be an integer .*, got 'none'": {"tickets": "none"},
        "baseline must be one of 'auto', 'mode', 'zero'": "median",
    }.items():
        with pytest.raises(InvalidInput, match=words):
            dims(table, 2, baseline=wrong)


def test_missing_values_by_rule():
    table = customers()
    table.loc[[3, 9], "plan"] = None
    table["tickets"] = table["tickets"].astype("Int64")
    table.loc[9, "tickets"] = pd.NA
    sentence = r"column '\w+', row \d: is missing.*; missing='drop' .*'impute' .*'category'"
    with pytest.raises(InvalidInput, match=sentence):
        dims(table, 2)
    whole = table.dropna().astype({"tickets": int})
    dropped = dims(table, 2, missing="drop")
    assert dropped.value == pytest.approx(dims(whole, 2).value)
    assert "2 of 200 rows left out" in dropped.note
    filled = table.assign(
        plan=table.plan.fillna("free"), tickets=table.tickets.fillna(0).astype(int)
    )
    assert dims(table, 2, missing="impute").value == pytest.approx(dims(filled, 2).value)
    own = table.assign(
        plan=table.plan.fillna("unknown"), tickets=table.tickets.fillna(3).astype(int)
    )
    assert dims(table, 2, missing="category").value == pytest.approx(dims(own, 2).value)
    array = own[["churned", "tickets"]].to_numpy(float)
    array[5, 1] = np.nan
    assert dims(array, 1, missing="drop").value == pytest.approx(
        dims(np.delete(array, 5, axis=0), 1).value
    )


def test_what_cannot_be_coded_is_named():
    table = customers()
    table["score"] = np.random.default_rng(0).normal(size=200)
    with pytest.raises(
        InvalidInput, match=r"column 'score', row 0: expected a small whole number.*leaves it out"
    ):
        dims(table, 2)
    without = dims(table, 2, columns={"score": "ignore"})
    assert without.value == pytest.approx(dims(table.drop(columns="score"), 2).value)
    only = dims(table, 1, columns=["plan", "tickets"])
    assert only.value == pytest.approx(dims(table[["plan", "tickets"]], 1).value)
    assert (
        dims(
            table, 1, columns={"score": "category", "customer_id": "ignore"}, exclude=["score"]
        ).value
        > 4
    )
    with pytest.raises(InvalidInput, match="include: the column 'joined' is left out"):
        dims(table, 2, include=["joined"], columns={"score": "ignore"})
    with pytest.raises(InvalidInput, match="no column to compare: dates left out"):
        dims(table[["joined"]], 1)


def test_labels_that_come_late_are_coded_as_if_all_rows_had_come_at_once():
    table = customers().drop(columns=["customer_id", "joined"]).sort_values("plan")
    parts = [table[start : start + 70] for start in range(0, 200, 70)]
    assert set(parts[0].plan) < set(table.plan)
    whole = FewerDims(2, random_state=0).fit(table)
    stream = FewerDims(2, random_state=0)
    for part in parts:
        stream.partial_fit(part)
    first, *others = (fewer.summarize(part, "dims") for part in parts)
    for found in (stream.result_, first.merge(*others).solve(2)):
        assert found.indices.tolist() == whole.indices_.tolist()
        assert found.value == pytest.approx(whole.value_, abs=1e-12)
        assert found.distribution.origin.tolist() == whole.baseline_.tolist()
    assert stream.levels_[0].tolist() == whole.levels_[0].tolist()
    assert stream.score(table) == pytest.approx(whole.coverage_)
    with pytest.raises(InvalidInput, match="the same columns of the same kinds"):
        assert stream.partial_fit(parts[0].assign(tickets="none")).value_ > 0


def test_the_estimator_takes_labels_too():
    table = customers()
    model = FewerDims(2, solver="exchange").fit(table)
    found = dims(table, 2)
    assert model.indices_.tolist() == found.indices.tolist()
    assert model.result_.labels.tolist() == found.labels.tolist()
    assert model.levels_[1].tolist() == ["free", "gold", "silver"]
    assert (
        model.score(table)
        == pytest.approx(model.coverage_)
        == pytest.approx(math.exp(-found.value))
    )
    assert model.transform(table).columns.tolist() == found.labels.tolist()
    polars = FewerDims(2, solver="exchange").fit(pl.from_pandas(table))
    assert polars.transform(pl.from_pandas(table)).columns == found.labels.tolist()
    new = table.iloc[:4].assign(plan="free", region="never met", churned=True)
    assert model.score(new) == 0.0


def long_table(X, rng):
    """Lines of orders in any order, some of them twice."""
    rows, items = X.nonzero()
    again = rng.integers(0, len(rows), 20)
    rows, items = np.append(rows, rows[again]), np.append(items, items[again])
    order = rng.permutation(len(rows))
    return pd.DataFrame(
        {"order_id": rows[order] + 10_000, "item": [f"p{i:03d}" for i in items[order]]}
    )


def test_long_tables_are_the_wide_ones():
    X = baskets(300, 40, 3, rng=0)
    X = X[np.diff(X.indptr) > 0]
    lines = long_table(X, np.random.default_rng(0))
    expected = dims(X, 8)
    forms = [
        lines,
        lines.astype({"item": "category"}),
        pl.from_pandas(lines),
        pa.Table.from_pandas(lines),
    ]
    forms.append(lines.assign(order_id=lines.order_id.astype(str)))
    for form in forms:
        found = dims(form, 8, order="order_id", item="item")
        assert found.value == pytest.approx(expected.value, abs=1e-12)
        assert found.words.total == np.unique(X.indices).size
        assert set(found.labels) == {f"p{i:03d}" for i in expected.indices}
    held = dims(lines, 8, order="order_id", item="item", include=["p003"], exclude=["p000"])
    assert held.value == pytest.approx(dims(X, 8, include=[3], exclude=[0]).value, abs=1e-12)
    with pytest.raises(InvalidInput, match="item: there is no column 'product'"):
        dims(lines, 8, order="order_id", item="product")
    with pytest.raises(InvalidInput, match="order and item go together"):
        dims(lines, 8, order="order_id")
    with pytest.raises(InvalidInput, match="name columns of a table"):
        dims(X, 8, order="order_id", item="item")


def test_lines_are_read_once_and_the_cut_changes_nothing():
    X = baskets(300, 20, 3, rng=1)
    lines = long_table(X[np.diff(X.indptr) > 0], np.random.default_rng(1)).sort_values("order_id")
    lines = lines.loc[lines.index.repeat(8)]  # more than half of the memory, unlike their states
    how = {"order": "order_id", "item": "item", "max_memory": "120KB"}
    whole = dims(lines, 5, **how)
    for size in (7, 1000, 10**6):
        blocks = (lines[at : at + size] for at in range(0, len(lines), size))
        found = dims(blocks, 5, **how)
        assert found.labels.tolist() == whole.labels.tolist()
        assert found.indices.tolist() == whole.indices.tolist()
        assert "did not fit" not in found.note
    with pytest.raises(InvalidInput, match="must stand in the order of their orders"):
        dims(iter([lines[900:], lines[:900]]), 5, **how)


@pytest.mark.parametrize("blocks", [False, True])
def test_missing_items_of_orders(blocks):
    lines = pd.DataFrame({"o": [1, 1, 2, 3], "s": ["a", None, "a", "b"]})

    def found(missing):
        X = (lambda: iter([lines[:1], lines[1:3], lines[3:]])) if blocks else lines
        return dims(
            X, 1, order="o", item="s", missing=missing, max_memory="1KB" if blocks else "1GB"
        )

    with pytest.raises(InvalidInput, match="column 's', row 1: is missing; missing='drop'"):
        found("error")
    with pytest.raises(InvalidInput, match="missing must be"):
        found("impute")
    assert math.exp(-found("category").value) == pytest.approx(1 / 3)
    assert math.exp(-found("drop").value) == pytest.approx(1 / 2)
    assert "1 of 3 orders left out" in found("drop").note
    lines = lines[1:2]
    with pytest.raises(InvalidInput, match="there are no orders with items"):
        found("drop")


def covers(lines, expected, **options):
    """Rows and items of a long table are those of a wide one."""
    for k in range(1, expected.shape[1] + 1):
        found = dims(lines, k, order="order", item="item", **options)
        assert found.value == pytest.approx(dims(expected.to_numpy(), k).value, abs=1e-12)
        assert found.words.total == expected.shape[1]


@settings(max_examples=20, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=40),
    factor=st.sampled_from([1, 1000, 10**12]),
)
def test_baskets_are_those_of_pandas(pairs, factor):
    lines = pd.DataFrame(pairs, columns=["order", "item"]) * [factor, 1]
    expected = pd.crosstab(lines.order, lines.item).clip(upper=1)
    covers(lines, expected)
    frequency = expected.sum()
    names = sorted(expected.columns, key=lambda name: (-frequency[name], name))
    every = dims(lines, len(names), order="order", item="item")
    assert every.labels.tolist() == names


def test_two_columns_tell_what_they_are():
    def found(**columns):
        return long_columns(columns_of(pl.DataFrame(columns)))

    assert found(sku=["a", "b"], invoice=[1, 1]) == ("invoice", "sku", "by their names")
    assert found(user_id=[1, 1, 2], movie=[7, 8, 7])[:2] == ("user_id", "movie")
    assert found(x=[1, 2, 3, 4], y=["a", "b", "a", "b"]) == (
        "x",
        "y",
        "as it has more distinct values",
    )
    assert found(x=["a", "b", "a"], y=[1, 2, 3])[0] == "y"
    assert found(milk=[0, 1, 1], tea=[1, 1, 0]) is None
    assert found(a=[1], b=["x"], c=[2]) is None
    with pytest.raises(InvalidInput, match="2 distinct values each: say which"):
        found(x=[1, 2], y=["a", "b"])


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (pd.DataFrame([[1, 2], [0, 1]], columns=["a", "a"]), {}, "'a' twice"),
        (pd.DataFrame({"a": [1, None]}).iloc[1:], {"missing": "drop"}, "missing value"),
        (pd.DataFrame({"a": np.zeros(0, int)}), {}, "at least one row"),
    ],
)
def test_tables_without_an_answer_are_refused(table, options, message):
    with pytest.raises(InvalidInput, match=message):
        dims(table, 1, **options)
