"""The installed command as people run it: every job, every format, every output."""

import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import fewer
from commands import RETURNS, TARGET, VALUES, WIDE, run, table, write_tables
from fewer.cli import demo


@pytest.fixture
def files(tmp_path):
    write_tables(tmp_path)
    return tmp_path


def test_dims_gives_what_the_library_gives(files):
    out, err = run("dims wide.csv -k 3", cwd=files)
    expected = fewer.dims(WIDE, 3, rng=0)
    assert sorted(table(out)["index"].to_list()) == expected.support.tolist()
    share = fewer.coverage(WIDE, expected.support)
    assert f"rows covered {100 * share:.2f} %" in err
    assert "Optimal (proven)." in err


def same_as(kept, result):
    """A table of bins is what the library found, bit for bit."""
    expected = result.to_frame("polars")
    assert kept.select(expected.columns).equals(expected)


def test_missing_values_of_bins_are_dropped_when_asked(tmp_path):
    (tmp_path / "ms.csv").write_text("ms\n1\n\n3\n" + "5\n" * 4)
    pl.DataFrame({"ms": [1.0, None, 3.0] + [5.0] * 4}).write_parquet(tmp_path / "ms.parquet")
    out, err = run("bins ms.parquet -k 2 --missing drop", cwd=tmp_path)
    same_as(table(out), fewer.bins([1.0, 3.0, 5.0, 5.0, 5.0, 5.0], 2))
    assert "1 missing values were dropped" in err
    assert "row 1, column 'ms'" in run("bins ms.parquet -k 2", cwd=tmp_path, code=2)[1]


def test_terms_reports_the_error_on_rows_it_did_not_see(files):
    args = (
        "terms",
        files / "returns.csv",
        "--target",
        "INDEX",
        "-k",
        "2",
        "--solver",
        "greedy",
        "--json",
    )
    assert json.loads(run(*args)[0])["answers"][0]["held_out"] is None
    held = json.loads(run(*args, "--test-fraction", "0.5")[0])["answers"][0]["held_out"]
    order = np.random.default_rng(0).permutation(60)
    test, train = np.sort(order[:30]), np.sort(order[30:])
    p = fewer.terms(RETURNS[train], TARGET[train], 2, solver="greedy", rng=0).p
    assert held == pytest.approx(
        np.sqrt(np.mean((RETURNS[test] @ p - TARGET[test]) ** 2)), rel=1e-9
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "stdin"])
def test_every_format_says_the_same(kind, tmp_path):
    path, frame = tmp_path / f"cost.{kind}", pl.DataFrame({"cost": VALUES})
    if kind == "npy":
        np.save(path, VALUES)
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path)
    stdin = path.read_bytes() if kind == "stdin" else None
    file = "-" if kind == "stdin" else path
    out, _ = run("bins", file, "-k", "4", "--bins", "50", "--quiet", stdin=stdin)
    same_as(table(out), fewer.bins(VALUES, 4, grid="equal", n_bins=50))


@pytest.mark.parametrize("separator", [",", "\t", " "])
def test_transactions(separator, tmp_path):
    names = [f"item {i}" if separator != " " else f"item{i}" for i in range(9)]
    lines = [separator.join(names[j] for j in np.flatnonzero(row)) for row in WIDE if row.any()]
    (tmp_path / "orders.txt").write_text("\n\n".join(lines) + "\n")
    args = "dims", tmp_path / "orders.txt", "--transactions", "-k", "3"
    out, err = run(*args)
    kept = WIDE[WIDE.any(axis=1)]
    best = fewer.coverage(kept, fewer.dims(kept, 3, rng=0).support)
    chosen = [names.index(name) for name in table(out)["column"]]
    assert fewer.coverage(kept, chosen) == pytest.approx(best)
    assert f"for {len(kept)} rows" in err


@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "npz"])
def test_every_output(kind, files):
    path = files / f"out.{kind}"
    out, err = run("bins", files / "cost.csv", "-k", "5", "--bins", "40", "-o", path)
    expected = fewer.bins(VALUES, 5, grid="equal", n_bins=40)
    assert f"wrote {path}" in out.replace("\n", "")
    assert err == ""
    if kind == "npz":
        assert fewer.Distribution.load(path).to_dict() == expected.distribution.to_dict()
        return
    readers = {"csv": pl.read_csv, "parquet": pl.read_parquet}
    kept = readers[kind](path).to_dict(as_series=False) if kind != "json" else None
    if kind == "json":
        summary = json.loads(path.read_text())
        kept = summary["answers"][0]["kept"]
        assert summary["answers"][0]["gap"] is None
        assert expected.bound == 0.0
        assert summary["versions"]["fewer"] == fewer.__version__
        assert summary["seed"] == 0
    same_as(pl.DataFrame(kept), expected)


def test_a_path_answers_which_k_with_held_out_error(files):
    out, err = run("dims wide.csv --path 2,4,6 --json --report page.html", cwd=files)
    summary = json.loads(out)
    assert [a["k"] for a in summary["answers"]] == [2, 4, 6]
    assert all(0 <= a["error"] <= a["held_out"] + 0.3 <= 1.3 for a in summary["answers"])
    assert summary["k"] in (2, 4, 6)
    assert summary["why"] in err.replace("\n", " ")
    assert "<!doctype html>" in (files / "page.html").read_text()


def test_version_help_examples_and_completion(tmp_path):
    assert run("--version")[0] == f"fewer {fewer.__version__}\n"
    out, _ = run("--help")
    for name in ("points", "bins", "terms", "dims", "demo"):
        assert f"\n  {name} " in out
        text, _ = run(name, "--help")
        assert "Example: fewer " + name in text
    assert "Usage" in run()[0]
    assert "_FEWER_COMPLETE=bash_complete" in run("completion bash")[0]
    words = {"_FEWER_COMPLETE": "bash_complete", "COMP_WORDS": "fewer d", "COMP_CWORD": "1"}
    assert run(env=words)[0].split() == ["plain,dims", "plain,demo"]


def test_without_the_extra_one_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['polars'] = None; from fewer.cli import main; main(['--version'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'fewer: the command line needs polars; run: pip install "fewer[cli]"\n'


def test_the_demo_ends_with_the_path_of_a_page(tmp_path, monkeypatch):
    monkeypatch.setitem(
        demo.SEARCH, "time_limit", 0.05
    )  # the page is looked at, not how good the answers are
    out, _ = run("demo", cwd=tmp_path)
    for job in ("points", "bins", "terms", "dims"):
        assert f"\n{job}: " in "\n" + out
    assert out.endswith("page: demo/fewer.html\n")
    text = (tmp_path / "demo" / "fewer.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    assert text.count("<article>") == 5


def test_nothing_covered_is_an_answer_too(tmp_path):
    (tmp_path / "pairs.csv").write_text("a,b,c,d\n1,1,0,0\n0,0,1,1\n")
    out, err = run("dims pairs.csv -k 1 --report page.html", cwd=tmp_path)
    assert table(out).height == 0  # no single column covers a row
    assert "rows covered 0.00 %" in err
    summary = json.loads(run("dims pairs.csv -k 1 --json --quiet", cwd=tmp_path)[0])
    assert summary["answers"][0]["value"] is None


def test_terms_takes_conditions_from_options_and_files(files):
    columns = [name for name in pl.read_csv(files / "returns.csv").columns if name != "INDEX"]
    groups = pl.DataFrame({"column": columns, "group": ["a", "b"] * (len(columns) // 2)})
    groups.write_csv(files / "g.csv")
    pl.DataFrame({"column": columns[:2], "weight": [0.5, 0.5]}).write_csv(files / "w.csv")
    pl.DataFrame({columns[0]: [1], "limit": [0.4]}).write_csv(files / "c.csv")
    limits = "--groups g.csv --max-group-weight a=0.6 --min-per-group 1 --constraints c.csv"
    words = f"--previous w.csv --max-turnover 1 {limits} --solver greedy --json --report page.html"
    out, _ = run(f"terms returns.csv --target INDEX -k 3 {words}", cwd=files)
    kept = json.loads(out)["answers"][0]["kept"]
    weights = dict(zip(kept["column"], kept["weight"], strict=True))
    q = np.array([weights.get(name, 0.0) for name in columns])
    assert q[::2].sum() <= 0.6 + 1e-9
    assert q[0] <= 0.4 + 1e-9
    assert abs(q[0] - 0.5) + abs(q[1] - 0.5) + q[2:].sum() <= 1.0 + 1e-8
    page = (files / "page.html").read_text("utf-8")
    assert "Weight of each group." in page
    assert "turnover</dt>" in page
