"""The command line: units, costs and bars give what the library gives."""

import numpy as np
import polars as pl
import pytest

import fewer
from commands import WIDE, run, table

NAMES = [f"c{j}" for j in range(9)]


def written(folder):
    """Small tables."""
    pl.DataFrame(WIDE, schema=NAMES, orient="row").write_csv(folder / "wide.csv")
    pl.DataFrame({"column": NAMES, "unit": [f"u{j // 3}" for j in range(9)]}).write_csv(
        folder / "units.csv"
    )
    pl.DataFrame({"column": NAMES, "cost": np.linspace(1.0, 2.0, 9)}).write_csv(
        folder / "costs.csv"
    )
    row, column = np.nonzero(WIDE)
    lines = {
        "order": row,
        "item": [NAMES[j] for j in column],
        "maker": [f"u{j // 3}" for j in column],
    }
    pl.DataFrame(lines).write_csv(folder / "lines.csv")
    return folder


def test_dims_with_units_and_costs(tmp_path):
    files = written(tmp_path)
    units, costs = np.arange(9) // 3, np.linspace(1.0, 2.0, 9)
    out, err = run("dims wide.csv -k 2 --units units.csv", cwd=files)
    assert sorted(table(out)["index"]) == fewer.dims(WIDE, 2, units=units, rng=0).indices.tolist()
    assert "Optimal (proven)." in err
    out, err = run("dims wide.csv --budget 4.5 --costs costs.csv", cwd=files)
    expected = fewer.dims(WIDE, costs=costs, budget=4.5, rng=0)
    assert sorted(table(out)["index"]) == expected.indices.tolist()
    assert f"cost {costs[expected.indices].sum():.4g}" in err
    page = files / "page.html"
    out, _ = run(
        "dims",
        files / "lines.csv",
        "--order",
        "order",
        "--item",
        "item",
        "--units",
        "maker",
        "-k",
        "1",
        "--report",
        page,
    )
    assert len(set(table(out)["unit"])) == 1
    assert f">{table(out)['unit'][0]}</td>" in page.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--budget 2", "--budget is what may be spent on --costs"),
        (
            "--budget 2 -k 2 --costs costs.csv",
            "give k, or costs and budget: how much may be chosen",
        ),
        ("-k 2 --costs costs.csv", "--costs need a --budget"),
        ("--budget 2 --costs few.csv", "costs has none for the column 'c1', 'c2', 'c3'"),
        ("-k 2 --units twice.csv", "has 'c0' twice"),
    ],
)
def test_dims_refuses_half_a_budget(words, said, tmp_path):
    files = written(tmp_path)
    (files / "few.csv").write_text("column,cost\nc0,1\n")
    (files / "twice.csv").write_text("column,unit\nc0,a\nc0,b\n")
    assert said in run(f"dims wide.csv {words}", cwd=files, code=2)[1]
