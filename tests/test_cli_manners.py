"""The command line as a good neighbour: quick help, short options, nothing computed that nobody reads."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from commands import run, write_tables
from fewer.cli import _app
from fewer.datasets import customers


@pytest.fixture
def files(tmp_path):
    write_tables(tmp_path)
    return tmp_path


def test_help_and_version_are_there_before_numpy(files):
    code = (
        "import sys; from fewer.cli._app import run; run(sys.argv[1:]); sys.exit('numpy' in"
        " sys.modules)"
    )
    for arguments in ("--help", "-V", "dimz"):
        subprocess.run([sys.executable, "-c", code, arguments], check=True, capture_output=True)
    assert run("-V") == run("--version")
    assert set(_app.app.list_commands(None)) <= set(_app.COMMANDS)
    for name in _app.app.list_commands(None):
        assert _app.app.get_command(None, name).name == name


def test_dates_categories_and_missing_values_are_shown_as_they_are(tmp_path):
    frame = pl.DataFrame(customers(80, rng=0, missing=0.03))
    frame.write_csv(tmp_path / "customers.csv")
    asked = (
        "points",
        "customers.csv",
        "-k",
        4,
        "--missing",
        "impute",
        "--no-baselines",
        "--report",
        "page.html",
    )
    out, _ = run(*asked, "--json", cwd=tmp_path)
    kept = json.loads(out)["answers"][0]["kept"]
    assert set(kept["churn"]) <= {"yes", "no"}
    assert all(text[:2] == "20" and text[4] == "-" for text in kept["since"])
    page = (tmp_path / "page.html").read_text()
    assert "4 kept points among all 80 rows" in page
    assert page.count("<circle") == 4


def test_columns_keep_their_numbers_in_the_file_and_kinds_can_be_said(tmp_path):
    rows = "".join(f"{i / 7},{'ab'[i % 2]},{'xyz'[i % 3]},{i % 2}\n" for i in range(30))
    (tmp_path / "t.csv").write_text("size,plan,place,flag\n" + rows)
    out, _ = run("dims t.csv -k 2 --ignore size -q", cwd=tmp_path)
    index = dict(line.split(",")[:2] for line in out.splitlines()[1:])
    assert index.items() <= {"plan": "1", "place": "2", "flag": "3"}.items()
    out, _ = run("dims t.csv -k 1 --columns size:category,flag:ignore -q", cwd=tmp_path)
    assert out.splitlines()[1].split(",")[0] in ("size", "plan", "place")
    (tmp_path / "p.csv").write_text(
        "a,b,c,y\n" + "".join(f"{i},{i % 3},{i % 5},{i}\n" for i in range(20))
    )
    np.save(tmp_path / "a.npy", np.array([[0.5, 1.0]]))
    assert run("dims a.npy -k 1", cwd=tmp_path, code=2)[1].count("a.npy") == 1
    asked = ["terms", "p.csv", "--target", "y", "--columns", "c,a", "-k", "1", "-q"]
    assert run(*asked, cwd=tmp_path)[0].splitlines()[1].startswith("a,0,")
    assert run(*asked, "--max-memory", "100B", cwd=tmp_path)[0].splitlines()[1].startswith("a,0,")


@pytest.mark.filterwarnings("default:counts are neither whole:UserWarning")
def test_sentences_speak_of_options_and_warnings_are_sentences(tmp_path):
    (tmp_path / "t.csv").write_text("age,plan\n31,a\n,b\n40,a\n")
    _, said = run("points t.csv -k 1", cwd=tmp_path, code=2)
    assert "--missing drop leaves such rows out" in said
    assert said.endswith("--ignore age leaves the column out.\n")
    (tmp_path / "v.csv").write_text("ms\n1.5\n2.25\n9.125\n")
    _, said = run("bins v.csv --column ms --counts -k 1", cwd=tmp_path)
    assert said.startswith("fewer: counts are neither whole")
    assert "numbers that are not counted yet are values" in said
    assert "UserWarning" not in said


REMEMBERED = """
import ctypes
from fewer.cli import INTERRUPTED, end, prepare

prepare()
ctypes.pythonapi.PyRun_SimpleString(b"raise KeyboardInterrupt")
end(INTERRUPTED)
"""


def test_a_ctrl_c_that_the_interpreter_remembers_ends_with_130(tmp_path):
    """Python source that a C library runs may see it; the process would end by the signal."""
    (tmp_path / "remembered.py").write_text(REMEMBERED)
    command = [sys.executable, "-m", "remembered"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 130
