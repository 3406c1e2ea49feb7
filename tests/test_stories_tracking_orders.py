"""From a file of prices to one of weights, and from lines of orders to one of stock: by library and by command."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fewer
from commands import run
from fewer.report.path import compare, solve_path, study_of

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_index_tracking_from_prices(tmp_path, capsys):
    story = example("index_tracking")
    best = story.main(tmp_path, budgets=(4, 8), solver="greedy")
    assert "60 assets, 347 days to fit, 153 to judge" in capsys.readouterr().out
    bounds = (
        "--min-weight",
        "0.01",
        "--max-weight",
        "0.25",
        "--groups",
        "sectors.csv",
        "--max-per-group",
        "3",
    )
    asked = "--target", "INDEX", "--date", "day", "--returns", "simple", "--solver", "greedy"
    split = "--test-from", "2019-01-01"
    run(
        "terms",
        "prices.csv",
        *asked,
        *bounds,
        *split,
        "-k",
        "8",
        "-o",
        "cli.csv",
        "-q",
        cwd=tmp_path,
    )
    library, command = pl.read_csv(tmp_path / "weights.csv"), pl.read_csv(tmp_path / "cli.csv")
    assert command["column"].to_list() == library["column"].to_list()
    assert command["index"].to_list() == library["index"].to_list()
    assert command["weight"].to_numpy() == pytest.approx(library["weight"].to_numpy(), abs=1e-12)
    groups = dict(pl.read_csv(tmp_path / "sectors.csv").iter_rows())
    held = [groups[name] for name in best.labels]
    assert max(held.count(group) for group in held) <= 3


def test_tests_by_time_judge_the_days_since(tmp_path):
    """The held-out error is that of the fit on the days before, whatever the order of the lines in the file."""
    story = example("index_tracking")
    prices = pl.read_csv(story.write_prices(tmp_path), try_parse_dates=True)
    prices.sample(fraction=1, shuffle=True, seed=0).write_csv(tmp_path / "mixed.csv")
    asked = (
        "--target",
        "INDEX",
        "--date",
        "day",
        "--returns",
        "simple",
        "--solver",
        "greedy",
        "-k",
        "5",
        "--json",
    )
    before = prices.filter(pl.col("day") < story.SPLIT)
    fitted = fewer.terms(before, "INDEX", 5, returns="simple", date="day", solver="greedy")
    returns = prices.select(pl.exclude("day").pct_change()).slice(before.height)
    gap = (
        returns.select(fitted.labels.tolist()).to_numpy() @ fitted.weights
        - returns["INDEX"].to_numpy()
    )
    expected = math.sqrt(np.mean(gap**2))
    share = len(gap) / (prices.height - 1)
    for test in (("--test-from", "2019-01-01"), ("--test-last", f"{share:.6f}")):
        out, _ = run("terms", "mixed.csv", *asked, *test, cwd=tmp_path)
        answer = pl.read_json(out.encode())["answers"][0][0]
        assert answer["held_out"] == pytest.approx(expected, rel=1e-6)


def test_orders_from_lines(tmp_path, capsys):
    story = example("orders")
    stock = story.main(tmp_path, budgets=(3, 6), rng=0)
    assert "share that ships complete" in capsys.readouterr().out
    assert (tmp_path / "orders.png").stat().st_size > 1000
    asked = "--order", "order_id", "--item", "sku", "--exclude", "P007"
    run("dims", "orders.csv", *asked, "-k", "6", "-o", "cli.csv", "-q", cwd=tmp_path)
    command = pl.read_csv(tmp_path / "cli.csv")
    assert sorted(command["column"]) == sorted(stock.labels)
    assert (
        sorted(command["index"])
        == stock.indices.tolist()
        == pl.read_csv(tmp_path / "stock.csv")["index"].to_list()
    )
    lines = pl.read_csv(tmp_path / "orders.csv")
    assert story.stocked(lines, stock) == pytest.approx(math.exp(-stock.value))


def test_two_columns_are_read_as_lines_and_said(tmp_path):
    story = example("orders")
    lines = pl.read_csv(story.write_orders(tmp_path, 300, 20)).drop("quantity")
    lines.write_csv(tmp_path / "two.csv")
    expected = fewer.dims(lines, 4, order="order_id", item="sku", solver="greedy")
    out, err = run("dims two.csv -k 4 --solver greedy", cwd=tmp_path)
    assert sorted(pl.read_csv(out.encode())["column"]) == sorted(expected.labels)
    assert "orders are 'order_id', by their names" in err.replace("\n", " ")
    _, err = run("dims two.csv -k 4 --transactions", cwd=tmp_path, code=2)
    assert "a line for each item (order_id, sku)" in err
    with (tmp_path / "two.csv").open("a") as file:
        file.write("999999,\n")
    _, err = run("dims two.csv -k 4 --solver greedy", cwd=tmp_path, code=2)
    assert "is missing; missing='drop'" in err.replace(
        "\n", " "
    ) or "--missing drop" in err.replace("\n", " ")
    _, err = run("dims two.csv -k 4 --solver greedy --missing drop", cwd=tmp_path)
    assert "1 of 301 orders left out, as items are missing there" in err.replace("\n", " ")


def test_empty_lines_are_empty_baskets(tmp_path):
    (tmp_path / "lines.txt").write_text("tea,milk\n\ntea\n  \nrum,cola\n")
    out, err = run("dims lines.txt --transactions -k 2", cwd=tmp_path)
    assert sorted(pl.read_csv(out.encode())["column"]) == ["milk", "tea"]
    assert "2 of 5 baskets, which are empty" in err.replace("\n", " ")
    assert "for 3 rows" in err


def test_baselines_are_refitted_within_all_bounds():
    """A ranking obeys groups, excluded columns and weights: what it is said to match, it matches."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((80, 30)) + rng.standard_normal((80, 1))
    b = A @ rng.dirichlet(np.full(30, 0.5))
    groups = [i % 5 for i in range(30)]
    bounds = {
        "min_weight": 0.05,
        "max_per_group": 2,
        "groups": groups,
        "exclude": [0, 1],
    }
    problem = study_of("terms", A, y=b, **bounds)
    for baseline in problem.baselines(problem).values():
        assert baseline(11) == math.inf  # five groups of two
        assert math.isfinite(baseline(10))
    found = solve_path(problem, [6], solver="greedy")
    assert found.comparison == compare(problem, found.answer)
    if "matches this with" in found.comparison:
        size = int(found.comparison.split("matches this with ")[1].split()[0])
        name = found.comparison.removeprefix("baseline ").split(" matches")[0]
        assert problem.baselines(problem)[name](size) <= found.errors["fewer"][0]
