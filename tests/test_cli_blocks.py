"""Commands on files that are read in blocks: several k from one set of passes, and the page."""

import csv
import io

import numpy as np
import polars as pl
import pytest

import fewer
from commands import run
from fewer.report.study import BlocksStudy


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(3000, 3)), 1)
    y = X @ [0.5, 0.5, 0.0] + 0.1 * rng.normal(size=3000)
    pl.DataFrame(np.c_[X, y], schema=["a", "b", "c", "y"]).write_parquet(tmp_path / "x.parquet")
    D = (rng.random((3000, 6)) < np.linspace(0.4, 0.05, 6)).astype(int)
    pl.DataFrame(D, schema=[f"d{i}" for i in range(6)]).write_parquet(tmp_path / "d.parquet")
    return tmp_path


ASKED = {
    "points": ("x.parquet",),
    "terms": ("x.parquet", "--target", "y"),
    "dims": ("d.parquet",),
}


@pytest.mark.parametrize("job", list(ASKED))
def test_a_path_in_blocks_is_the_answer_for_each_k(job, folder):
    file, *more = ASKED[job]
    out, page = folder / "kept.csv", folder / "page.html"
    asked = ("--path", "1,3", "--max-memory", "50KB", "-o", out, "--report", page)
    _, err = run(job, folder / file, *more, *asked)
    said = run(job, folder / file, *more, *asked, "--force")[0] + err
    assert BlocksStudy.note in said
    assert ("for the rows" in said) == (job == "dims")
    kept = pl.read_csv(out)
    given = (str(folder / file), "y") if job == "terms" else (str(folder / file),)
    for k in (1, 3):
        found = getattr(fewer, job)(*given, k, rng=0, max_memory="50KB")
        assert sorted(kept.filter(pl.col("k") == k)["index"]) == found.indices.tolist()
    assert "Which k?" in page.read_text()
    assert not (folder / "kept.csv.blocks").exists()


def test_one_k_with_a_page(folder):
    out, _ = run("bins x.parquet --column y -k 3 --max-memory 10KB --report p.html", cwd=folder)
    assert len(out.splitlines()) == 4
    assert (folder / "p.html").stat().st_size > 10_000


def test_options_about_rows_are_heeded_or_refused(folder):
    """None is passed over because the files are read in blocks."""
    few = ("--max-memory", "50KB", "-k", "3", "-q")
    out, _ = run("points", folder / "x.parquet", *few, "--max-weight", "0.5")
    assert all(float(row["weight"]) <= 0.5 for row in csv.DictReader(io.StringIO(out)))
    for option in (
        ("--move", "range"),
        ("--include", "7"),
        ("--exclude", "0-6"),
        ("--groups", "y", "--max-per-group", "1"),
    ):
        _, err = run("points", folder / "x.parquet", *few, *option, code=2)
        assert f"{option[0]} is not for data in blocks" in err
    _, err = run("terms", folder / "x.parquet", *few, "--target", "y", "--loss", "absolute", code=2)
    assert "--loss is not for data in blocks" in err
    for share in ("--test-last", "--test-fraction"):
        _, err = run("terms", folder / "x.parquet", *few, "--target", "y", share, "0.2", code=2)
        assert f"{share} is not for data in blocks" in err
