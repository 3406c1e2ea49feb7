"""`fewer look`, and files that hold whole rows."""

import json

import numpy as np
import polars as pl
import pytest

from commands import run

N = 120
RNG = np.random.default_rng(3)


@pytest.fixture
def customers(tmp_path):
    """A table as people hold it, and what is in it."""
    frame = pl.DataFrame(
        {
            "customer_id": [f"C{i:04d}" for i in range(N)],
            "age": RNG.integers(18, 90, N),
            "income": [f"${value:,.2f}" for value in RNG.lognormal(10, 0.5, N)],
            "plan": np.array(["basic", "plus", "premium"])[RNG.integers(0, 3, N)],
            "active": RNG.random(N) < 0.5,
            "joined": np.datetime64("2015-01-01") + RNG.integers(0, 900, N),
            "weight": [None if i == 7 else round(60 + i / 7, 2) for i in range(N)],
        }
    )
    frame.write_csv(tmp_path / "customers.csv")
    return tmp_path


def test_look_says_what_columns_are_and_who_would_use_them(customers):
    out, _ = run("look customers.csv --json", cwd=customers)
    found = json.loads(out)
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert kinds == {
        "customer_id": "identifier",
        "age": "number",
        "income": "number",
        "plan": "category",
        "active": "boolean",
        "joined": "date",
        "weight": "number",
    }
    assert found["rows"] == N
    assert {
        column["name"]: column["missing"] for column in found["columns"] if column["missing"]
    } == {"weight": 1}
    assert found["jobs"]["points"]["leaves"] == ["customer_id"]
    assert found["jobs"]["bins"]["uses"] == ["age", "income", "weight"]
    assert found["jobs"]["terms"]["leaves"] == ["customer_id", "plan", "joined"]
    assert found["jobs"]["dims"]["uses"] == ["age", "plan", "active"]
    assert found["jobs"]["dims"]["refuses"] == ["income", "weight"]
    assert "income" in found["notes"][0]


def test_look_shows_ranges_with_six_digits(tmp_path):
    (tmp_path / "a.csv").write_text("cost\n2.03\n1283.82\n")
    assert "2.03 to 1283.82" in run("look a.csv", cwd=tmp_path)[0]


def test_look_says_of_a_long_table_what_dims_does_with_it(tmp_path):
    lines = [f"o{i},{item}\n" for i in range(30) for item in ("milk", "tea")[: 1 + i % 2]]
    (tmp_path / "long.csv").write_text("order_id,item\n" + "".join(lines))
    out, _ = run("look long.csv", cwd=tmp_path)
    assert "orders by order_id, items by item" in out
    _, said = run("dims long.csv -k 1", cwd=tmp_path)
    assert "orders are 'order_id'" in said


@pytest.mark.parametrize("width", [7, 40, 2000])
def test_look_is_one_screen(width, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    frame = pl.DataFrame({f"a column with a long name {i}": RNG.random(30) for i in range(width)})
    frame.with_columns(pl.Series("odd", ["1"] * 29 + ["x"])).write_csv(tmp_path / "a.csv")
    out, _ = run("look a.csv", cwd=tmp_path)
    lines = out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert f"30 rows, {width + 1} columns" in lines[0]
    assert "odd" in out
    assert "got 'x'" in " ".join(lines)


def test_look_cannot_be_driven_by_a_file(tmp_path):
    (tmp_path / "a.csv").write_text("\x1b[2Jx,b\n\x1b[31mred,1\nblue,2\n")
    out, _ = run("look a.csv", cwd=tmp_path)
    assert "\\x1b[31mred" in out


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_files_hold_the_whole_rows_with_weights_first(kind, customers):
    out = customers / f"out.{kind}"
    run(
        "points",
        "customers.csv",
        "-k",
        "4",
        "--columns",
        "age,income",
        "-o",
        out,
        "--quiet",
        cwd=customers,
    )
    if kind == "json":
        kept = json.loads(out.read_text())["answers"][0]["kept"]
        found = pl.DataFrame(kept)
    else:
        found = pl.read_csv(out, infer_schema=False) if kind == "csv" else pl.read_parquet(out)
    names = [
        "weight",
        "index",
        "customer_id",
        "age",
        "income",
        "plan",
        "active",
        "joined",
        "weight_in_file",
    ]
    assert found.columns == names
    original = pl.read_csv(customers / "customers.csv", infer_schema=False)
    rows = original[found["index"].cast(pl.Int64).to_list()]
    assert found["customer_id"].to_list() == rows["customer_id"].to_list()
    assert found["weight"].cast(pl.Float64).sum() == pytest.approx(1.0)
    if kind == "csv":  # as the file writes them
        assert found["income"].to_list() == rows["income"].to_list()
        assert found["weight_in_file"].to_list() == rows["weight"].to_list()
    else:
        assert found["income"].dtype == pl.Float64
        assert found["age"].to_list() == rows["age"].cast(pl.Int64).to_list()
