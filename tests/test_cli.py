"""The installed command as people run it: every job, every format, every way to go wrong."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fewer
from fewer.cli import _app

FEWER = Path(sys.executable).with_name("fewer")
RNG = np.random.default_rng(7)
WIDE = (RNG.random((120, 9)) < 0.3).astype(np.int64)
VALUES = np.round(RNG.lognormal(3.0, 0.8, 400), 3)
RETURNS = RNG.standard_normal((60, 8))
TARGET = RETURNS[:, [1, 4]] @ [0.7, 0.3] + 0.01 * RNG.standard_normal(60)
CLOUD = np.concatenate([RNG.normal(0, 0.3, (30, 2)), RNG.normal(4, 0.3, (60, 2))])


def run(*args, stdin=None, code=0, cwd=None, env=None):
    command = [FEWER if FEWER.exists() else sys.executable, *([] if FEWER.exists() else ["-m", "fewer"]), *args]
    environment = {**os.environ, **(env or {})}
    done = subprocess.run([str(a) for a in command], input=stdin, capture_output=True, cwd=cwd, env=environment)  # noqa: S603
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == code, (out, err)
    assert "Traceback" not in err
    assert "\x1b" not in out + err  # piped: no colour, no bar
    return out, err


@pytest.fixture
def files(tmp_path):
    pl.DataFrame(WIDE, schema=[f"item{i}" for i in range(9)]).write_csv(tmp_path / "wide.csv")
    pl.DataFrame({"who": [f"p{i}" for i in range(400)], "cost": VALUES}).write_csv(tmp_path / "cost.csv")
    returns = pl.DataFrame(RETURNS, schema=[f"S{i}" for i in range(8)])
    returns.with_columns(pl.Series("INDEX", TARGET)).write_csv(tmp_path / "returns.csv")
    cloud = pl.DataFrame(CLOUD, schema=["x", "y"]).with_columns(pl.Series("kind", ["a"] * 30 + ["b"] * 60))
    cloud.with_columns(pl.Series("mass", np.arange(90.0))).write_csv(tmp_path / "cloud.csv")
    return tmp_path


def table(text):
    return pl.read_csv(text.encode())


def test_dims_gives_what_the_library_gives(files):
    out, err = run("dims", files / "wide.csv", "-k", "3")
    expected = fewer.dims(WIDE, 3, rng=0)
    assert sorted(table(out)["position"].to_list()) == (expected.support + 1).tolist()
    share = fewer.coverage(WIDE, expected.support)
    assert f"rows expressed whole {100 * share:.2f} %" in err
    assert "The optimum is proven." in err


def test_bins_gives_what_the_library_gives(files):
    out, err = run("bins", files / "cost.csv", "--column", "cost", "-k", "6", "--bin-width", "2")
    counts = np.histogram(VALUES, np.arange(np.floor(VALUES.min() / 2) * 2, VALUES.max() + 2, 2))[0]
    expected = fewer.bins(counts, 6)
    assert table(out)["bin"].to_list() == expected.support.tolist()
    np.testing.assert_allclose(table(out)["weight"], expected.p[expected.support], rtol=1e-12)
    assert (table(out)["to"] - table(out)["from"]).to_list() == [2.0] * 6
    assert "quantiles of equal weight" in err


def test_terms_gives_what_the_library_gives(files):
    args = "terms", files / "returns.csv", "--target", "INDEX", "-k", "2", "--solver", "greedy", "--json"
    out, _ = run(*args, "--exclude", "S1", "--include", "S0,S2", "--max-weight", "0.8")
    options = {"exclude": [1], "include": [0, 2], "max_weight": 0.8}
    expected = fewer.terms(RETURNS, TARGET, 2, solver="greedy", rng=0, **options)
    answer = json.loads(out)["answers"][0]
    assert answer["support"] == expected.support.tolist() == [0, 2]
    assert sorted(answer["kept"]["column"]) == ["S0", "S2"]
    assert answer["value"] == pytest.approx(expected.value, rel=1e-9)
    assert max(answer["kept"]["weight"]) <= 0.8 + 1e-12


def test_terms_reports_the_error_on_rows_it_did_not_see(files):
    args = "terms", files / "returns.csv", "--target", "INDEX", "-k", "2", "--solver", "greedy", "--json"
    assert json.loads(run(*args)[0])["answers"][0]["held_out"] is None
    held = json.loads(run(*args, "--test-fraction", "0.5")[0])["answers"][0]["held_out"]
    order = np.random.default_rng(0).permutation(60)
    test, train = np.sort(order[:30]), np.sort(order[30:])
    p = fewer.terms(RETURNS[train], TARGET[train], 2, solver="greedy", rng=0).p
    assert held == pytest.approx(np.sqrt(np.mean((RETURNS[test] @ p - TARGET[test]) ** 2)), rel=1e-9)


def test_points_gives_what_the_library_gives(files):
    args = "points", files / "cloud.csv", "-k", "3", "--columns", "x,y", "--no-standardize", "--solver", "greedy"
    out, err = run(*args, "--label", "kind", "--weight", "mass", "--gamma", "0.5")
    kinds = np.array(["a"] * 30 + ["b"] * 60)
    options = {"y": kinds, "sample_weight": np.arange(90.0), "gamma": 0.5, "solver": "greedy", "rng": 0}
    expected = fewer.points(CLOUD, 3, **options)
    assert sorted(table(out)["row"].to_list()) == (expected.support + 1).tolist()
    heaviest = np.argsort(-expected.p[expected.support], kind="stable")
    np.testing.assert_allclose(table(out)["weight"], expected.p[expected.support][heaviest], rtol=1e-9)
    assert "MMD² to all rows" in err
    assert "random points" in err or "k-means points" in err


@pytest.mark.parametrize("kind", ["csv", "tsv", "semicolon", "headless", "parquet", "npy", "npz", "stdin", "stdin-npy"])
def test_every_format_says_the_same(kind, tmp_path):
    frame = pl.DataFrame({"cost": VALUES})
    path, stdin, options = tmp_path / f"cost.{kind}", None, ["--column", "cost"]
    if kind == "tsv":
        frame.write_csv(path, separator="\t")
    elif kind == "semicolon":
        path = tmp_path / "cost.csv"
        frame.with_columns(pl.Series("also", VALUES)).write_csv(path, separator=";")
    elif kind == "headless":
        path, options = tmp_path / "cost.csv", []
        frame.write_csv(path, include_header=False)
    elif kind == "parquet":
        frame.write_parquet(path)
    elif kind in ("npy", "stdin-npy"):
        path, options = tmp_path / "cost.npy", []
        np.save(path, VALUES)
    elif kind == "npz":
        np.savez(path, cost=VALUES, other=np.zeros((3, 2)))
    else:
        path = tmp_path / "cost.csv"
        frame.write_csv(path)
    if kind.startswith("stdin"):
        stdin, path = path.read_bytes(), "-"
    out, _ = run("bins", path, "-k", "4", "--bins", "50", "--quiet", *options, stdin=stdin)
    edges = np.linspace(VALUES.min(), VALUES.max(), 51)
    expected = fewer.bins(np.histogram(VALUES, edges)[0], 4)
    assert table(out)["bin"].to_list() == expected.support.tolist()
    np.testing.assert_allclose(table(out)["weight"], expected.p[expected.support], rtol=1e-12)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "npz"])
def test_wide_tables_in_every_format(kind, tmp_path):
    path = tmp_path / f"wide.{kind}"
    frame = pl.DataFrame(WIDE, schema=[f"item{i}" for i in range(9)])
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    elif kind == "npy":
        np.save(path, WIDE)
    else:
        np.savez(path, item=WIDE)
    out, _ = run("dims", path, "-k", "3", "--quiet")
    assert sorted(table(out)["position"].to_list()) == (fewer.dims(WIDE, 3, rng=0).support + 1).tolist()


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
    counts, _ = np.histogram(VALUES, np.linspace(VALUES.min(), VALUES.max(), 41))
    expected = fewer.bins(counts, 5)
    assert f"wrote {path}" in out.replace("\n", "")
    assert err == ""
    if kind == "npz":
        found = fewer.Distribution.load(path)
        np.testing.assert_allclose(found.weights, expected.p[expected.support], rtol=1e-12)
        return
    readers = {"csv": pl.read_csv, "parquet": pl.read_parquet}
    kept = readers[kind](path).to_dict(as_series=False) if kind != "json" else None
    if kind == "json":
        summary = json.loads(path.read_text())
        kept = summary["answers"][0]["kept"]
        assert summary["answers"][0]["gap"] == 0.0
        assert summary["versions"]["fewer"] == fewer.__version__
        assert summary["seed"] == 0
    assert kept["bin"] == expected.support.tolist()
    np.testing.assert_allclose(kept["weight"], expected.p[expected.support], rtol=1e-12)


def test_a_path_answers_which_k_with_held_out_error(files):
    out, err = run("dims", files / "wide.csv", "--path", "2,4,6", "--json", "--report", files / "page.html")
    summary = json.loads(out)
    assert [a["k"] for a in summary["answers"]] == [2, 4, 6]
    assert all(0 <= a["error"] <= a["held_out"] + 0.3 <= 1.3 for a in summary["answers"])
    assert summary["k"] in (2, 4, 6)
    assert summary["why"] in err.replace("\n", " ")
    held = [a["held_out"] for a in summary["answers"]]
    order = np.random.default_rng(0).permutation(120)
    test, train = np.sort(order[:36]), np.sort(order[36:])
    for k, found in zip((2, 4, 6), held, strict=True):
        support = fewer.dims(WIDE[train], k, rng=0).support
        assert found == pytest.approx(1 - fewer.coverage(WIDE[test], support))
    assert "<!doctype html>" in (files / "page.html").read_text()


def test_a_path_on_stdout_is_one_table(files):
    out, _ = run("bins", files / "cost.csv", "--path", "3,5", "-k", "4", "--bins", "30", "--quiet")
    assert table(out)["k"].to_list() == [3] * 3 + [4] * 4 + [5] * 5


BAD = {
    "no file": (["dims", "none.csv", "-k", "2"], "none.csv: there is no such file"),
    "folder": (["dims", ".", "-k", "2"], "is a folder"),
    "empty": (["dims", "empty.csv", "-k", "2"], "empty.csv: is empty"),
    "no rows": (["bins", "head.csv", "-k", "2"], "head.csv"),
    "no k": (["dims", "wide.csv"], "give -k"),
    "k zero": (["dims", "wide.csv", "-k", "0"], "'-k'"),
    "k large": (["dims", "wide.csv", "-k", "10"], "-k must be in 1..9 (columns), got 10"),
    "path large": (["dims", "wide.csv", "--path", "2,50"], "--path must be in 1..9"),
    "path words": (["dims", "wide.csv", "--path", "2,x"], "--path"),
    "option": (["dims", "wide.csv", "-k", "2", "--frob"], "--frob"),
    "solver": (["dims", "wide.csv", "-k", "2", "--solver", "magic"], "magic"),
    "time": (["dims", "wide.csv", "-k", "2", "--time-limit", "-1"], "--time-limit"),
    "command": (["dimz", "wide.csv"], "dimz"),
    "text cell": (["dims", "typo.csv", "-k", "1"], "typo.csv, row 3, column 'b': expected a number, got 'oops'"),
    "fraction": (["dims", "half.csv", "-k", "1"], "half.csv, row 2, column 'a'"),
    "negative": (["dims", "minus.csv", "-k", "1"], "minus.csv, row 1, column 'b'"),
    "hole": (["bins", "hole.csv", "--column", "b", "-k", "1"], "hole.csv, row 2, column 'b'"),
    "hole dims": (["dims", "hole.csv", "-k", "1"], "hole.csv, row 2, column 'b'"),
    "ragged": (["dims", "ragged.csv", "-k", "1"], "ragged.csv, row 2: expected 2 cells, got 3"),
    "column": (["bins", "cost.csv", "--column", "costs", "-k", "2"], "did you mean 'cost'?"),
    "which column": (["bins", "wide.csv", "-k", "2"], "name one by --column"),
    "both bins": (["bins", "cost.csv", "-k", "2", "--bins", "5", "--bin-width", "1"], "--bin-width or --bins"),
    "width": (["bins", "cost.csv", "-k", "2", "--bin-width", "0"], "--bin-width"),
    "counts": (["bins", "cost.csv", "-k", "2", "--counts", "--bins", "5"], "--counts"),
    "negative count": (["bins", "minus.csv", "--column", "b", "--counts", "-k", "1"], "minus.csv, row 1, column 'b'"),
    "target": (["terms", "returns.csv", "-k", "2", "--target", "none"], "no column 'none' (--target)"),
    "no target": (["terms", "returns.csv", "-k", "2"], "--target"),
    "include": (["terms", "returns.csv", "-k", "2", "--target", "INDEX", "--include", "INDEX"], "--include"),
    "weights": (["terms", "returns.csv", "-k", "2", "--target", "INDEX", "--max-weight", "0.2"], "max_weight"),
    "damaged parquet": (["dims", "bad.parquet", "-k", "2"], "bad.parquet"),
    "damaged npz": (["dims", "bad.npz", "-k", "2"], "bad.npz"),
    "pickle": (["dims", "pickle.npy", "-k", "2"], "pickle.npy"),
    "ending": (["dims", "wide.csv", "-k", "2", "-o", "out.xls"], "-o out.xls: expected an ending of .csv"),
    "page ending": (["dims", "wide.csv", "-k", "2", "--report", "page.txt"], "--report page.txt"),
    "no folder": (["dims", "wide.csv", "-k", "2", "-o", "nowhere/out.csv"], "there is no folder nowhere"),
    "exists": (["dims", "wide.csv", "-k", "2", "-o", "cost.csv"], "cost.csv: the file exists; add --force"),
    "image": (["points", "cloud.csv", "-k", "2", "--image-shape", "8x8"], "--image-shape 8x8 needs 64 columns"),
    "shape": (["points", "cloud.csv", "-k", "2", "--image-shape", "8by8"], "--image-shape"),
    "gamma": (["points", "cloud.csv", "-k", "2", "--gamma", "-1"], "--gamma"),
    "cv": (["points", "cloud.csv", "-k", "2", "--gamma", "cv"], "--label"),
    "negative weight": (["points", "minus.csv", "-k", "1", "--weight", "b"], "minus.csv, row 1, column 'b'"),
    "label": (["points", "cloud.csv", "-k", "2", "--label", "kinds"], "did you mean 'kind'?"),
    "transactions": (["dims", "blank.txt", "-k", "1", "--transactions"], "blank.txt: has no items"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_code_2(case, files):
    for name, text in {
        "empty.csv": "",
        "head.csv": "a\n",
        "typo.csv": "a,b\n1,2\n3,4\n5,oops\n",
        "half.csv": "a,b\n1,2\n1.5,2\n",
        "minus.csv": "a,b\n1,-1\n2,2\n",
        "hole.csv": "a,b\n1,2\n3,\n",
        "ragged.csv": "a,b\n1,2\n3,4,5\n",
        "bad.parquet": "PAR1 no",
        "bad.npz": "PK\x03\x04 no",
        "blank.txt": "\n\n",
    }.items():
        (files / name).write_text(text)
    np.save(files / "pickle.npy", np.array([{}], object), allow_pickle=True)
    args, words = BAD[case]
    before = (files / "cost.csv").read_bytes()
    out, err = run(*args, code=2, cwd=files)
    assert out == ""
    assert err.startswith("fewer: ")
    assert err.count("\n") == 1
    assert words in err
    assert (files / "cost.csv").read_bytes() == before


def test_late_mistakes_are_found_beyond_the_rows_that_types_are_guessed_from(tmp_path):
    rows = ["1,2"] * 3000 + ["1,x"] + ["1,2"] * 10
    (tmp_path / "late.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
    for job in (["dims"], ["bins", "--column", "b"]):
        _, err = run(job[0], "late.csv", "-k", "1", *job[1:], code=2, cwd=tmp_path)
        assert "late.csv, row 3001, column 'b': expected a number, got 'x'" in err


def test_our_own_bugs_are_code_1_and_a_sentence(monkeypatch, capsys):
    def broken(*args, **kwargs):
        raise RuntimeError("something\nof ours")

    monkeypatch.setattr(_app.app, "main", broken)
    assert _app.run([]) == 1
    assert capsys.readouterr().err == (
        "fewer: this is a bug of fewer, RuntimeError: something of ours; set FEWER_TRACEBACK=1 to see where, "
        "and report it.\n"
    )


def test_force_overwrites(files):
    args = "bins", files / "cost.csv", "-k", "3", "--bins", "20", "--quiet", "-o", files / "out.csv"
    run(*args)
    first = (files / "out.csv").read_text()
    (files / "out.csv").write_text("mine")
    run(*args, code=2)
    assert (files / "out.csv").read_text() == "mine"
    run(*args, "--force")
    assert (files / "out.csv").read_text() == first
    assert [p.name for p in files.iterdir() if p.suffix == ".part"] == []


def test_version_help_examples_and_completion(tmp_path):
    assert run("--version")[0] == f"fewer {fewer.__version__}\n"
    out, _ = run("--help")
    for name in ("points", "bins", "terms", "dims", "demo"):
        assert f"\n  {name} " in out
        text, _ = run(name, "--help")
        assert "Example: fewer " + name in text
    assert "Usage" in run()[0]
    assert "_FEWER_COMPLETE=bash_complete" in run("completion", "bash")[0]
    words = {"_FEWER_COMPLETE": "bash_complete", "COMP_WORDS": "fewer d", "COMP_CWORD": "1"}
    assert run(env=words)[0].split() == ["plain,dims", "plain,demo"]


def test_without_the_extra_one_sentence_says_what_to_install():
    code = "import sys; sys.modules['polars'] = None; from fewer.cli import main; main(['--version'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)  # noqa: S603
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'fewer: the command line needs polars; run: pip install "fewer[cli]"\n'


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "fewer", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"fewer {fewer.__version__}\n"


def test_names_from_the_file_cannot_drive_the_terminal(tmp_path):
    (tmp_path / "evil.csv").write_text("\x1b[2Jevil,b\n1,0\n1,1\n0,1\n")
    out, _ = run("dims", tmp_path / "evil.csv", "-k", "1", "-o", tmp_path / "out.csv")
    assert "\x1b" not in out


def test_quiet_says_nothing(files):
    assert run("dims", files / "wide.csv", "-k", "2", "--quiet", "-o", files / "out.csv") == ("", "")


def test_the_same_seed_gives_the_same_bytes(files):
    args = "terms", files / "returns.csv", "--target", "INDEX", "-k", "3", "--solver", "exchange", "--seed", "5"
    assert run(*args, "--quiet") == run(*args, "--quiet")


def test_counts(tmp_path):
    counts = RNG.integers(0, 50, 30)
    np.savez(tmp_path / "counts.npz", counts=counts, other=np.zeros(3))
    out, _ = run("bins", tmp_path / "counts.npz", "--column", "counts", "--counts", "-k", "5", "--preserve", "entries")
    assert table(out)["bin"].to_list() == fewer.bins(counts, 5, preserve="entries").support.tolist()


def test_the_demo_ends_with_the_path_of_a_page(tmp_path):
    out, _ = run("demo", cwd=tmp_path)
    for job in ("points", "bins", "terms", "dims"):
        assert f"\n{job}: " in "\n" + out
    assert out.endswith("page: demo/fewer.html\n")
    text = (tmp_path / "demo" / "fewer.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 2_000_000
    assert text.count("<article>") == 4
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n\$ (fewer (?:bins|dims)[^\n]*)\n(.*?)```", readme, re.DOTALL)
    assert len(blocks) == 2
    for command, shown in blocks:  # the README shows what is printed on the demo's data
        printed, _ = run(*shlex.split(command)[1:], cwd=tmp_path)
        assert [line.rstrip() for line in printed.splitlines()] == shown.splitlines()


def test_columns_without_numbers_or_name_are_left_out_and_named(tmp_path):
    (tmp_path / "index.csv").write_text(",a,b,who\n0,1,0,x\n1,0,1,y\n2,1,1,z\n")
    out, err = run("dims", "index.csv", "-k", "1", cwd=tmp_path)
    assert table(out)["column"].to_list() in (["a"], ["b"])
    assert "1 of 2 columns for 3 rows" in err
    assert "Not used (not numbers, or without a name): '', 'who'." in err
