"""Two stories from file to answer to file, in the library and by the command, with equal answers."""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from fewer import points
from fewer.cli.jobs import points as command
from fewer.datasets import customers

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))


def run(*args):
    done = CliRunner().invoke(
        command, [*map(str, args), "--quiet"], standalone_mode=False, catch_exceptions=False
    )
    assert done.return_value == 0
    return done.stdout


def test_customers_from_file_to_file(tmp_path, capsys):
    import customers as story

    written = pl.read_csv(story.main(tmp_path, n=150, k=4), try_parse_dates=True)
    assert written.columns[:2] == ["weight", "customer_id"]
    assert "missing values taken as a category of their own" in capsys.readouterr().out
    out = tmp_path / "by_command.csv"
    run(
        tmp_path / "customers.csv",
        "-k",
        4,
        "--ignore",
        "churn",
        "--missing",
        "category",
        "-o",
        out,
        "--no-baselines",
    )
    found = pl.read_csv(out, try_parse_dates=True)
    assert found["customer_id"].to_list() == written["customer_id"].to_list()
    assert found["weight"].to_list() == written["weight"].to_list()
    table = pl.read_csv(tmp_path / "customers.csv", try_parse_dates=True)
    assert (
        table[found["index"].to_list()]["customer_id"].to_list() == found["customer_id"].to_list()
    )


def test_a_coreset_learns_what_all_rows_teach_if_its_weights_are_counts(tmp_path):
    import coreset as story

    scores = list(story.main(tmp_path, n=600, k=40).values())
    assert scores[1] > scores[2]
    assert scores[1] >= scores[0] - 0.05
    coreset = pl.read_csv(tmp_path / "coreset.csv")
    assert coreset["count"].sum() == pytest.approx(600)
    answer = json.loads(
        run(tmp_path / "train.csv", "-k", 6, "--label", "churn", "--solver", "greedy", "--json")
    )
    table = pl.read_csv(tmp_path / "train.csv", try_parse_dates=True)
    expected = points(table, 6, labels="churn", solver="greedy", rng=0)
    assert answer["answers"][0]["indices"] == expected.indices.tolist()
    assert answer["answers"][0]["value"] == expected.value


def test_with_several_k_and_rows_left_out_the_held_out_error_is_measured(tmp_path):
    file = tmp_path / "c.csv"
    pl.DataFrame(customers(80, rng=0, missing=0.1), nan_to_null=True).write_csv(file)
    page = tmp_path / "page.html"
    options = [
        "--path",
        "2,4",
        "--missing",
        "drop",
        "--solver",
        "greedy",
        "--report",
        page,
        "--json",
    ]
    answers = json.loads(run(file, *options))["answers"]
    assert all(0 <= answer["held_out"] < 1 for answer in answers)
    assert answers[0]["baselines"].keys() == {"random sampling", "k-means"}
    assert page.stat().st_size > 0
    assert np.diff([answer["error"] for answer in answers])[0] < 0
