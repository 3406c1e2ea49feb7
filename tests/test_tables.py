"""Points of mixed tables: what is compared, what is left out, what is missing, and what comes back."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fewer import FewerPoints, InvalidInput, points
from fewer.tables import schema
from fewer.tables.schema import Schema, encoded
from fewer.tables.source import Block


def customers(n=40, seed=0):
    """A small table of all kinds of columns."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "customer_id": np.arange(1000, 1000 + n),
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(10, 1, n),
            "plan": rng.choice(["free", "gold", "silver"], n),
            "active": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "segment": rng.choice(["a", "b"], n),
        }
    )


TABLE = customers()
QUICK = {"solver": "greedy", "rng": 0}


def rows_of(table, columns=None, missing="error", weight=None):
    return encoded(Block(table, None, weight), columns, missing=missing).encoded


def squared_by_hand(table, numbers, categories):
    """The squared distances of the formula, row by row."""
    Z = np.column_stack([table[name].astype(float) for name in numbers])
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    near = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    return near + sum(
        2.0 * (table[name].to_numpy()[:, None] != table[name].to_numpy()[None])
        for name in categories
    )


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_the_similarity_is_the_product_that_is_documented(form):
    table = TABLE.assign(since=(TABLE.since - pd.Timestamp("1970-01-01")).dt.total_seconds())
    K = np.exp(
        -0.1 * squared_by_hand(table, ["age", "income", "since"], ["plan", "active", "segment"])
    )
    result = points(form(TABLE), 4, gamma=0.1, **QUICK)
    q = result.p - 1 / len(TABLE)
    assert result.value == pytest.approx(q @ K @ q, rel=1e-9)
    assert np.linalg.eigvalsh(K)[0] > -1e-9
    assert "identifiers left out: 'customer_id'" in result.note
    assert type(result.rows) is type(form(TABLE))
    assert result.total == 40


@pytest.mark.parametrize("wide", [False, True])
def test_wide_tables_are_sparse_and_answer_alike(monkeypatch, wide):
    expected = points(TABLE, 4, gamma=0.1, **QUICK)
    if wide:
        monkeypatch.setattr(schema, "MAX_DENSE_WIDTH", 2)
        monkeypatch.setattr(schema, "MAX_FILLED_SHARE", 1.0)
    assert sp.issparse(rows_of(TABLE)) == wide
    result = points(TABLE, 4, gamma=0.1, **QUICK)
    assert result.indices.tolist() == expected.indices.tolist()
    assert result.value == pytest.approx(expected.value, rel=1e-9)
    model = FewerPoints(4, gamma=0.1, solver="greedy", random_state=0).fit(TABLE)
    assert model.mean_[0] == pytest.approx(TABLE.age.mean())
    np.testing.assert_allclose(np.diag(model.transform(model.points_)), 1.0)


def test_hamming_codes_tables_of_categories_by_themselves():
    table = TABLE[["plan", "active", "segment"]]
    codes = np.column_stack([table[name].astype("category").cat.codes for name in table])
    expected = points(codes, 3, similarity="hamming", gamma=1.0, **QUICK)
    result = points(table, 3, similarity="hamming", gamma=1.0, **QUICK)
    assert result.value == expected.value
    assert result.indices.tolist() == expected.indices.tolist()


def kinds(table, told=None):
    schema = Schema.of(table, told)
    return dict(zip(schema.names, schema.kinds, strict=True))


def test_kinds_are_inferred_and_overridden():
    every = {
        "age": "number",
        "income": "number",
        "plan": "category",
        "active": "boolean",
        "since": "date",
    }
    assert kinds(TABLE) == every | {"segment": "category"}
    assert (
        kinds(TABLE, {"age": "category", "plan": "ignore", "customer_id": "number"})["age"]
        == "category"
    )
    assert list(kinds(TABLE, ["income", "plan"])) == ["income", "plan"]
    text = pd.DataFrame({"x": ["1.5", "2"], "day": ["2024-03-01", "2024-03-02T12:00:00+02:00"]})
    rows = rows_of(text, {"x": "number", "day": "date"})
    assert rows[:, 0].tolist() == [1.5, 2.0]
    assert rows[1, 1] - rows[0, 1] == 86400 + 10 * 3600
    assert kinds(pd.DataFrame({"x": np.arange(3.0), "y": ["a", "b", "c"]})) == {
        "x": "number",
        "y": "category",
    }


def test_identifiers_free_text_and_constants_are_said():
    rng = np.random.default_rng(0)
    n = 200
    table = pl.DataFrame(
        {
            "uuid": [f"u{i}" for i in range(n)],
            "name": [f"n{i}" for i in range(n)],
            "comment": [f"text {i}" for i in rng.integers(0, 150, n)],
            "one": ["same"] * n,
            "x": rng.standard_normal(n),
        }
    )
    assert list(kinds(table)) == ["one", "x"]
    assert encoded(Block(table)).notes == [
        "identifiers left out: 'uuid', 'name'",
        "free text left out: 'comment'",
        "constant: 'one'",
    ]
    assert kinds(table.with_columns(pl.col("name").cast(pl.Categorical)))["name"] == "category"
    big = pl.DataFrame({"order_id": [2**60 + i for i in range(9)], "x": np.arange(9.0)})
    assert list(kinds(big)) == ["x"]


def test_integers_beyond_64_bits_are_numbers():
    table = pd.DataFrame({"big": np.array([2**70, 2**71, 1], object), "x": [1.0, 2.0, 3.0]})
    assert rows_of(table)[:, 0].tolist() == [2.0**70, 2.0**71, 1.0]


def test_a_column_without_any_value_may_be_a_category_of_its_own():
    table = pd.DataFrame({"gone": [np.nan] * 6, "x": np.arange(6.0)})
    assert points(table, 2, missing="category", **QUICK).weights.sum() == pytest.approx(1)


def test_options_may_be_arrays_without_axes():
    X, most = np.arange(6.0)[:, None], np.array(0.75)
    result = points(X, np.array(2), max_weight=most, **QUICK)
    assert len(result.weights) == 2
    assert result.weights.max() <= 0.75


REFUSED = {
    "X must have shape .* with at least one of each": lambda: points(
        TABLE[:0], 3, missing="impute"
    ),
    "X has masked entries": lambda: points(
        [np.ma.masked_equal([1.0, 2.0], 2), np.array([3.0, 4.0])], 1
    ),
    "columns: there is no column 'agee'; did you mean 'age'": lambda: points(
        TABLE, 3, columns={"agee": "number"}
    ),
    r"columns\['age'\] must be one of .*, got 'numer'; did you mean 'number'": lambda: points(
        TABLE, 3, columns={"age": "numer"}
    ),
    "columns must map names to kinds or list names, got 'age'": lambda: points(
        TABLE, 3, columns="age"
    ),
    "column 'plan', row 0: expected a number, got": lambda: points(
        TABLE, 3, columns={"plan": "number"}
    ),
    "column 'plan', row 0: expected a date, got": lambda: points(
        TABLE, 3, columns={"plan": "date"}
    ),
    "column 'plan' must hold two values to be a boolean": lambda: points(
        TABLE, 3, columns={"plan": "boolean"}
    ),
    r"column 'x', row 1: 'n/a' is no number among numbers.*columns=\{'x': 'category'\}": lambda: (
        points(pd.DataFrame({"x": pd.Series([1.5, "n/a", 2.0], dtype=object)}), 1)
    ),
    "column 'tags' holds list, which cannot be compared": lambda: points(
        pd.DataFrame({"tags": [[1], [2]]}), 1
    ),
    "column 'x', row 1: expected a finite number, got inf": lambda: points(
        pd.DataFrame({"x": [1.0, np.inf]}), 1
    ),
    "X has no column to compare: identifiers left out: 'id'": lambda: points(
        pd.DataFrame({"id": [1, 2, 3]}), 1
    ),
    "labels: there is no column 'segmant'; did you mean 'segment'": lambda: points(
        TABLE, 3, labels="segmant"
    ),
    "labels='segment' names a column, which needs a table": lambda: points(
        np.eye(3), 1, labels="segment"
    ),
    'gamma="cv" needs labels': lambda: points(TABLE, 3, gamma="cv"),
    "missing must be one of": lambda: points(TABLE, 3, missing="guess"),
    "columns and missing are for tables and dense arrays": lambda: points(
        sp.eye_array(4).tocsr(), 2, missing="drop"
    ),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_be_used_gets_a_sentence(sentence):
    with pytest.raises(InvalidInput, match=sentence):
        REFUSED[sentence]()


def with_gaps(frame=pd.DataFrame):
    table = TABLE.copy()
    table.loc[[3, 7], "age"] = np.nan
    table.loc[5, "plan"] = None
    return frame(table)


def test_a_missing_value_is_refused_with_its_column_and_row():
    sentence = (
        r"column 'age', row 3: is missing, and 1 more; missing='drop' .*'impute' .*'category'"
        r" .*'ignore'"
    )
    with pytest.raises(InvalidInput, match=sentence):
        points(with_gaps(), 3)


@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas])
def test_rows_with_missing_values_are_left_out_and_keep_their_numbers(form):
    table = with_gaps(form)
    result = points(table, 4, missing="drop", **QUICK)
    whole = np.delete(np.arange(40), [3, 5, 7])
    expected = points(TABLE.iloc[whole].reset_index(drop=True), 4, **QUICK)
    assert result.indices.tolist() == whole[expected.indices].tolist()
    assert result.value == expected.value
    assert result.total == 37
    assert "3 of 40 rows left out" in result.note
    labelled = points(
        table, 4, labels="segment", sample_weight=np.arange(1.0, 41.0), missing="drop", **QUICK
    )
    assert labelled.total == pytest.approx(820 - 4 - 6 - 8)


def test_missing_values_are_imputed_by_weighted_median_and_mode():
    table = pd.DataFrame({"x": [1.0, 2.0, 9.0, None], "c": ["a", "b", "b", None]})
    rows = rows_of(table, missing="impute")
    assert rows[3].tolist() == rows[1].tolist()
    heavy = rows_of(table, missing="impute", weight=np.array([0.6, 0.1, 0.2, 0.1]))
    assert heavy[3].tolist() == heavy[0].tolist()
    assert (
        "replaced by medians and modes: 'x' (1), 'c' (1)"
        in points(table, 2, missing="impute", **QUICK).note
    )
    with pytest.raises(InvalidInput, match="column 'x' has no value to impute from"):
        points(table.assign(x=np.nan), 2, missing="impute")


def test_missing_values_as_a_category_mismatch_all_that_are_there():
    table = pd.DataFrame({"x": [1.0, 2.0, 9.0, None, None], "c": ["a", "b", "b", None, "a"]})
    rows = rows_of(table, missing="category")
    apart = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert apart[1, 3] == pytest.approx(
        2.0 + 2.0
    )  # the median is 2: the mismatch of both is all there is
    assert apart[3, 4] == pytest.approx(2.0)
    assert apart[1, 2] == 49.0


def test_arrays_with_missing_values_go_by_column_too():
    X = np.array([[1.0, 0.0], [2.0, np.nan], [9.0, 1.0], [2.0, 1.0]])
    assert points(X, 2, missing="drop", gamma=1.0, **QUICK).indices.max() != 1
    same = points(X, 2, missing="impute", gamma=1.0, **QUICK)
    filled = points(np.nan_to_num(X, nan=1.0), 2, gamma=1.0, **QUICK)
    assert same.value == filled.value
    assert points(X[:, :1], 2, columns={0: "category"}, gamma=0.5, **QUICK).value > 0


def test_new_tables_are_encoded_alike_and_what_is_unknown_mismatches_all():
    model = FewerPoints(5, gamma=0.1, missing="category", solver="greedy", random_state=0).fit(
        TABLE
    )
    new = TABLE.iloc[model.indices_].reset_index(drop=True)
    np.testing.assert_allclose(np.diag(model.transform(new)), 1.0)
    odd = new.assign(plan=["bronze", *new.plan[1:]])
    assert model.transform(odd)[0, 0] == pytest.approx(np.exp(-0.1 * 2))
    odd.loc[0, "income"] = new.income[0]
    gone = new.copy()
    gone.loc[0, "income"] = np.nan
    middle = (np.median(TABLE.income) - new.income[0]) / model.scale_[1]
    assert model.transform(gone)[0, 0] == pytest.approx(np.exp(-0.1 * (2 + middle**2)))
    strict = FewerPoints(3, solver="greedy", random_state=0).fit(TABLE)
    with pytest.raises(InvalidInput, match="column 'income', row 0: is missing; fit with missing="):
        strict.transform(gone)
    with pytest.raises(InvalidInput, match="feature names"):
        strict.transform(new.rename(columns={"plan": "tariff"}))


def test_labels_and_weights_may_be_columns():
    weighted = TABLE.assign(mass=np.arange(1, 41))
    result = points(weighted, 4, labels="segment", sample_weight="mass", **QUICK)
    expected = points(
        TABLE.drop(columns="segment"),
        4,
        labels=TABLE.segment,
        sample_weight=np.arange(1, 41),
        **QUICK,
    )
    assert result.indices.tolist() == expected.indices.tolist()
    assert result.value == expected.value
    assert result.total == 820
    assert result.counts.sum() == pytest.approx(820)


def test_the_result_speaks_of_the_users_own_rows():
    frame = TABLE.set_index("customer_id")
    result = points(frame, 3, **QUICK)
    pd.testing.assert_frame_equal(result.rows, frame.iloc[result.indices])
    assert list(result.labels) == frame.index[result.indices].tolist()


EXAMPLES = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
VALUES = {
    "whole": st.integers(-(10**6), 10**6),
    "real": st.floats(-1e6, 1e6),
    "odd": st.floats(-1e60, 1e60) | st.sampled_from([float("nan"), float("inf")]),
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


def test_a_missing_category_is_only_another_level():
    table = mixed(0)
    gone = table.with_columns(
        pl.when(pl.col("c") == "red").then(None).otherwise(pl.col("c")).alias("c")
    )
    assert answer(gone, missing="category").value == pytest.approx(answer(table).value, rel=1e-9)
