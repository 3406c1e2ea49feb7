"""Runs of the paper's experiments: resumed, killed, written whole; what is refused."""

import csv
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fewer import InvalidInput
from fewer.cli import _app as app
from fewer.paper import data, store, theorem5
from fewer.paper.catalogue import EXPERIMENTS
from fewer.paper.experiment import Row, Setting
from fewer.paper.runner import computed, judged, measure, run

# the runner


def toy(name="toy", calls=None, twin=None):
    def measured(setting, seed, method):
        if calls is not None:
            calls.append((seed, method))
        return [Row(seed, method, x, seed + x / 3, math.nan, time.perf_counter()) for x in (0, 1)]

    return replace(
        EXPERIMENTS["theorem5"], name=name, methods=lambda setting: ["b", "a"], measure=measured, twin=twin, x="k"
    )


def lines(path):
    """The csv without its seconds."""
    with open(path, newline="") as file:
        return [row[:6] + row[7:] for row in csv.reader(file)]


def test_rows_are_taken_over_only_where_everything_is_the_same(tmp_path):
    calls = []
    setting = Setting(2, source="x")
    measure(toy(calls=calls), setting, tmp_path, None, None)
    whole = lines(tmp_path / "toy.csv")
    assert whole[0] == ["figure", "seed", "method", "k", "train", "test", "version"]
    assert [row[:4] for row in whole[1:3]] == [["toy", "0", "b", "0"], ["toy", "0", "b", "1"]]
    assert len(calls) == 4
    measure(toy(calls=calls), setting, tmp_path, None, None)
    assert len(calls) == 4  # nothing left to do
    text = (tmp_path / "toy.csv").read_text().splitlines(keepends=True)
    (tmp_path / "toy.csv").write_text("".join(text[:1] + text[5:7]))  # as a killed run leaves it: some whole units
    measure(toy(calls=calls), setting, tmp_path, None, None)
    assert lines(tmp_path / "toy.csv") == whole
    assert len(calls) == 7
    measure(toy(calls=calls), replace(setting, runs=3), tmp_path, None, None)
    assert len(calls) == 9
    assert not (tmp_path / "toy.before.csv").exists()
    measure(toy(calls=calls), replace(setting, source="y"), tmp_path, None, None)
    assert len(calls) == 13  # other data: all over again, and what was there is put aside
    assert len(lines(tmp_path / "toy.before.csv")) == 13
    measure(toy("other", calls, "toy"), replace(setting, source="y"), tmp_path, None, None)
    assert len(calls) == 13  # a twin has the same rows
    assert [row[1:] for row in lines(tmp_path / "other.csv")] == [row[1:] for row in lines(tmp_path / "toy.csv")]


def test_half_a_csv_is_not_a_result(tmp_path):
    measure(toy(), Setting(2, source="x"), tmp_path, None, None)
    assert store.finished(tmp_path, toy()) is not None
    text = (tmp_path / "toy.csv").read_text()
    (tmp_path / "toy.csv").write_text("".join(text.splitlines(keepends=True)[:-2]))
    assert store.finished(tmp_path, toy()) is None
    (tmp_path / "toy.csv").write_text("not a csv, really\n1")
    assert store.finished(tmp_path, toy()) is None
    assert store.kept(tmp_path, toy(), Setting(2, source="x")) == ()
    (tmp_path / "toy.json").write_text("{")
    assert store.kept(tmp_path, toy(), Setting(2, source="x")) == ()


def test_an_error_keeps_what_was_done(tmp_path):
    def fails(setting, seed, method):
        if seed == 1:
            raise KeyboardInterrupt
        return [Row(seed, method, 0, 1.0, math.nan, 0.0)]

    with pytest.raises(KeyboardInterrupt):
        measure(replace(toy(), measure=fails), Setting(2, source="x"), tmp_path, None, None)
    assert len(lines(tmp_path / "toy.csv")) == 3


def test_units_that_are_cancelled_end_the_wait():
    """As Ctrl-C leaves them: the command would hang."""

    def cancelled(*args):
        future = Future()
        future.cancel()
        return future

    with pytest.raises(CancelledError):
        list(computed(toy(), Setting(1), [(0, "a"), (0, "b")], SimpleNamespace(submit=cancelled)))


KILLED_IN_THE_MIDDLE = """
import os, signal, sys
from fewer.paper import runner
runner.SAVE_SECONDS = 0.0
def progress(name, done, of):
    if done == 13:
        os.kill(os.getpid(), signal.SIGKILL)
runner.run("theorem5", runs=8, seed=7, out=sys.argv[1], progress=progress)
"""


def test_a_killed_run_goes_on_to_the_same_csv(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED_IN_THE_MIDDLE, tmp_path / "a"], check=False)  # noqa: S603
    assert killed.returncode == -signal.SIGKILL
    path = tmp_path / "a/theorem5.csv"
    assert len(lines(path)) == 12 * theorem5.BIJECTIONS + 1
    assert not (tmp_path / "a/theorem5.png").exists()
    for folder, jobs in (("a", 2), ("b", 1)):  # the rest in two processes, the uninterrupted run in one
        run("theorem5", runs=8, seed=7, jobs=jobs, out=tmp_path / folder)
    assert lines(path) == lines(tmp_path / "b/theorem5.csv")
    assert len(lines(path)) == 8 * 4 * theorem5.BIJECTIONS + 1


def test_pages_hold_every_claim_and_need_no_network(tmp_path):
    done = run("theorem5", "theorem2", runs=3, quick=True, out=tmp_path / "deep/out")
    assert set(done.claims) == {"theorem2", "theorem5"}
    text = (done.out / "claims.md").read_text()
    page = (done.out / "index.html").read_text()
    for claims in done.claims.values():
        for claim in claims:
            assert claim.claim in text
            assert f"**{claim.verdict}**" in text
    assert "`fewer reproduce theorem2 --runs 3 --seed 0 --quick`" in text
    assert "<h2>Theorem 2" in page
    assert not re.search(r"""(src|href)=["'](?!data:)""", page)
    assert page.count("data:image/png;base64,") == 2
    assert "<svg" in (done.out / "theorem2.svg").read_text()
    (done.out / "theorem5.png").unlink()  # as a run that was killed before its picture leaves it
    again = run("theorem1", runs=1, quick=True, out=done.out)
    assert set(again.claims) == {"theorem1", "theorem2"}  # what the folder holds whole, together


def test_everything_runs_quickly_without_data(tmp_path):
    done = run("all", runs=1, jobs=1, quick=True, out=tmp_path)
    assert list(done.claims) == list(done.tables) == list(EXPERIMENTS)
    for name in EXPERIMENTS:
        assert done.claims[name], f"{name} claims nothing"
        assert len(lines(tmp_path / f"{name}.csv")) == len(done.tables[name].rows) + 1 > 1
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert (tmp_path / f"{name}.svg").stat().st_size > 10_000
    assert "stand-in" in (tmp_path / "claims.md").read_text()  # without data the titles say so


# validation


@pytest.mark.parametrize(
    ("names", "options", "sentence"),
    [
        ((), {}, "name at least one of fig1a, fig1b"),
        (("fig9",), {}, "NAME must be one of 'all', 'fig1a'.* got 'fig9'"),
        (("theorem1",), {"runs": 0}, "--runs must be at least 1, got 0"),
        (("theorem1",), {"jobs": 0}, "--jobs must be at least 1, got 0"),
        (("theorem1",), {"seed": -1}, "--seed must be at least 0, got -1"),
        (("theorem1",), {"data": "nowhere/at/all"}, "--data must be an existing folder, got 'nowhere/at/all'"),
    ],
)
def test_bad_options_are_sentences(tmp_path, names, options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        run(*names, **{"out": tmp_path, "quick": True, **options})


def test_an_out_that_cannot_be_written_and_corrupt_data_are_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="--out must be a folder that can be written into"):
        run("theorem1", quick=True, out=tmp_path / "file/inside")
    (tmp_path / "hospital_charges.npz").write_bytes(b"PK\x03\x04 but not really")
    np.savez(tmp_path / "usps.npz", X_train=np.zeros((3, 2)), y_train=np.zeros(2), X_test=np.zeros((1, 2)), y_test=[0])
    for name, file in (("fig2a", "hospital_charges.npz"), ("fig2b", "usps.npz")):
        with pytest.raises(InvalidInput, match=rf"{file} must"):
            run("theorem1", name, quick=True, data=tmp_path, out=tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())
    np.savez(tmp_path / "hospital_charges.npz", cms2011_counts_discharges=np.array([object()]))
    with pytest.raises(InvalidInput, match="cannot be read"):  # a pickle is never opened
        run("fig3a", quick=True, data=tmp_path, out=tmp_path / "out")


@pytest.mark.parametrize(
    "arguments",
    [["fig9"], [], ["theorem1", "--runs", "0"], ["theorem1", "--out", "/dev/null/x"], ["all", "--jobs", "x"]],
)
def test_the_command_ends_with_two_and_a_sentence(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    assert app.run(["reproduce", *arguments]) == 2
    out, err = capsys.readouterr()
    assert re.fullmatch(r"fewer: [^\n]+\.\n", err), err
    assert out == ""
    assert os.listdir(tmp_path) == []


def test_the_command_lists_and_prints_claims(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert app.run(["reproduce", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERIMENTS)
    assert app.run(["reproduce", "theorem2", "--quick"]) == 0
    out, err = capsys.readouterr()
    assert err == ""  # no bar where there is no terminal
    assert "theorem2: Against a deterministic projection" in out
    assert "\n  reproduced\n  measured: reached at 39 of 39 points" in out
    assert sorted(path.name for path in (tmp_path / "reproduction").iterdir()) == [
        "claims.md",
        "index.html",
        "theorem2.csv",
        "theorem2.json",
        "theorem2.png",
        "theorem2.svg",
    ]


def test_claims_are_judged_again_from_the_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert app.run(["reproduce", "--claims"]) == 2
    assert "no folder reproduction" in capsys.readouterr().err
    assert app.run(["reproduce", "theorem2", "--quick"]) == 0
    folder = tmp_path / "reproduction"
    before, rows = (folder / "claims.md").read_text(), (folder / "theorem2.csv").read_text()
    said = capsys.readouterr().out
    (folder / "claims.md").unlink()
    assert app.run(["reproduce", "--claims"]) == 0
    assert capsys.readouterr().out == said
    assert (folder / "claims.md").read_text() == before
    assert (folder / "theorem2.csv").read_text() == rows


def test_the_verdicts_in_the_docs_are_those_of_their_rows(tmp_path):
    docs = Path(__file__).parents[1] / "docs/reproduction"
    shutil.copytree(docs, tmp_path / "docs")
    (tmp_path / "docs/claims.md").unlink()
    judged(tmp_path / "docs")
    assert (tmp_path / "docs/claims.md").read_text() == (docs / "claims.md").read_text()


def test_real_data_are_read_where_they_are():
    folder = Path(__file__).parents[1] / "../shared/data"
    if not (folder / "usps.npz").exists():
        pytest.skip("the real charges and digits are not in ../shared/data")
    setting = Setting(1, data=folder)
    charges, digits = data.charges(setting), data.digits(setting)
    assert "Medicare" in charges.source
    assert charges.p.sum() == pytest.approx(1)
    assert np.count_nonzero(charges.p) == 433
    assert np.bincount(digits.y).tolist() == data.USPS_COUNTS
    assert json.loads(json.dumps(charges.source)) == charges.source
