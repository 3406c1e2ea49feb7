"""Runs of the paper's experiments: resumed, killed, written whole; what is refused."""

import csv
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduction import __main__ as command
from reproduction import data, guard, store, theorem5
from reproduction.catalogue import EXPERIMENTS
from reproduction.experiment import Row, Setting, generated
from reproduction.pages import write_pictures
from reproduction.runner import Work, judged, measured, run

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs/reproduction"
DATA = ROOT / "../shared/data"

# the runner


def toy(name="toy", calls=None, twin=None):
    def measured(setting, seed, method):
        if calls is not None:
            calls.append((seed, method))
        return [Row(seed, method, x, seed + x / 3, math.nan, time.perf_counter()) for x in (0, 1)]

    methods = {"b": {"option": 1}, "a": {"option": 1}}
    return replace(
        EXPERIMENTS["theorem5"],
        name=name,
        methods=lambda setting: methods,
        measure=measured,
        twin=twin,
        x="k",
    )


def measure(experiment, setting, folder):
    """All of an experiment in this process."""
    list(measured([Work.begin((experiment, setting), folder, fresh=False)], 1, None))


def lines(path):
    """The csv without its seconds."""
    with open(path, newline="") as file:
        return [row[:6] for row in csv.reader(file)]


def test_rows_are_taken_over_only_where_everything_is_the_same(tmp_path):
    calls = []
    setting = Setting(2, source="x")
    measure(toy(calls=calls), setting, tmp_path)
    whole = lines(tmp_path / "toy.csv")
    assert whole[0] == ["figure", "seed", "method", "k", "train", "test"]
    assert [row[:4] for row in whole[1:3]] == [["toy", "0", "b", "0"], ["toy", "0", "b", "1"]]
    assert len(calls) == 4
    measure(toy(calls=calls), setting, tmp_path)
    assert len(calls) == 4  # nothing left to do
    text = (tmp_path / "toy.csv").read_text().splitlines(keepends=True)
    (tmp_path / "toy.csv").write_text(
        "".join(text[:1] + text[5:7])
    )  # as a killed run leaves it: some whole units
    measure(toy(calls=calls), setting, tmp_path)
    assert lines(tmp_path / "toy.csv") == whole
    assert len(calls) == 7
    measure(toy(calls=calls), replace(setting, runs=3), tmp_path)
    assert len(calls) == 9
    measure(toy(calls=calls), replace(setting, source="y"), tmp_path)
    assert len(calls) == 13  # other data: all over again
    fresh = replace(
        toy(calls=calls), methods=lambda setting: {"b": {"option": 2}, "a": {"option": 1}}
    )
    measure(fresh, replace(setting, source="y"), tmp_path)
    assert len(calls) == 15  # another option of one method: its rows alone
    measure(fresh, replace(setting, source="y", checksum="1"), tmp_path)
    assert len(calls) == 19  # other data of the same name
    measure(toy(calls=calls), replace(setting, source="y"), tmp_path)
    calls.clear()
    measure(toy("other", calls, "toy"), replace(setting, source="y"), tmp_path)
    assert not calls  # a twin has the same rows
    assert [row[1:] for row in lines(tmp_path / "other.csv")] == [
        row[1:] for row in lines(tmp_path / "toy.csv")
    ]


def test_a_method_that_draws_nothing_is_measured_once(tmp_path):
    calls = []
    measure(replace(toy(calls=calls), drawn=("b",)), Setting(3, source="x"), tmp_path)
    assert sorted(calls) == [(0, "a"), (0, "b"), (1, "b"), (2, "b")]
    rows = store.from_text((tmp_path / "toy.csv").read_text())
    assert [row.seed for row in rows if row.method == "a"] == [0, 0, 1, 1, 2, 2]
    assert {row.train for row in rows if row.method == "a"} == {0.0, round(1 / 3, 10)}


def test_fresh_takes_nothing_over(tmp_path):
    run("theorem2", runs=1, quick=True, out=tmp_path, jobs=1)
    rows = (tmp_path / "theorem2.csv").read_text()
    (tmp_path / "theorem2.csv").write_text(
        rows.replace(",greedy (Algorithm 2),1,", ",greedy (Algorithm 2),7,")
    )
    run("theorem2", runs=1, quick=True, out=tmp_path, jobs=1)
    assert (
        ",7," in (tmp_path / "theorem2.csv").read_text()
    )  # finished rows are taken over as they are
    run("theorem2", runs=1, quick=True, out=tmp_path, jobs=1, fresh=True)
    assert lines(tmp_path / "theorem2.csv") == [line[:6] for line in csv.reader(rows.splitlines())]


def test_half_a_csv_is_not_a_result(tmp_path):
    measure(toy(), Setting(2, source="x"), tmp_path)
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
        measure(replace(toy(), measure=fails), Setting(2, source="x"), tmp_path)
    assert len(lines(tmp_path / "toy.csv")) == 3


KILLED_IN_THE_MIDDLE = """
import os, signal, sys
from reproduction import runner
runner.SAVE_SECONDS = 0.0
def progress(name, done, of):
    if done == 7:
        os.kill(os.getpid(), signal.SIGKILL)
runner.run("theorem5", runs=4, seed=7, jobs=1, out=sys.argv[1], progress=progress)
"""


def test_a_killed_run_goes_on_to_the_same_csv(tmp_path):
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_IN_THE_MIDDLE, tmp_path / "a"], check=False, cwd=ROOT
    )
    assert killed.returncode == -signal.SIGKILL
    path = tmp_path / "a/theorem5.csv"
    assert len(lines(path)) == 6 * theorem5.BIJECTIONS + 1
    assert not (tmp_path / "a/theorem5.png").exists()
    for folder, jobs in (
        ("a", 2),
        ("b", 1),
    ):  # the rest in two processes, the uninterrupted run in one
        run("theorem5", runs=4, seed=7, jobs=jobs, out=tmp_path / folder)
    assert lines(path) == lines(tmp_path / "b/theorem5.csv")
    assert len(lines(path)) == 4 * 4 * theorem5.BIJECTIONS + 1


def test_the_page_holds_every_claim(tmp_path):
    done = run("theorem5", "theorem2", runs=3, quick=True, jobs=1, out=tmp_path / "deep/out")
    assert set(done.claims) == {"theorem2", "theorem5"}
    text = (done.out / "claims.md").read_text()
    for claims in done.claims.values():
        for claim in claims:
            assert claim.claim in text
            assert f"**{claim.verdict}**" in text
    assert "`python -m reproduction theorem2 --runs 3 --seed 0 --quick`" in text
    assert text.count("<details>") == text.count("</details>") == 2
    assert "![Theorem 2" in text
    assert "<svg" in (done.out / "theorem2.svg").read_text()
    again = run("theorem1", runs=1, quick=True, jobs=1, out=done.out)
    assert set(again.claims) == {
        "theorem1",
        "theorem2",
        "theorem5",
    }  # what the folder holds whole, together


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if EXPERIMENTS[name].picture])
def test_a_picture_is_drawn_from_the_stored_rows(name, tmp_path):
    for kind in ("csv", "json"):
        shutil.copy(STORED / f"{name}.{kind}", tmp_path)
    write_pictures(tmp_path, EXPERIMENTS[name])
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert (tmp_path / f"{name}.svg").stat().st_size > 10_000


# the command


@pytest.mark.parametrize("arguments", [["fig9"], [], ["theorem1", "--runs", "0"]])
def test_the_command_ends_with_two_and_a_sentence(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    assert "error: " in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_files_that_cannot_be_read_or_written_are_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main(["theorem1", "--quick", "--out", "/dev/null/x"]) == 2
    objects = np.array([object()])
    np.savez(tmp_path / "hospital_charges.npz", cms2011_counts_discharges=objects)
    (tmp_path / "usps.npz").write_bytes(b"PK\x03\x04 but not really")
    for name in ("fig2a", "fig2b"):
        assert command.main([name, "--quick", "--data", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("reproduction: ") == 3


def test_the_command_lists_and_prints_claims(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERIMENTS)
    assert command.main(["theorem2", "--quick", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert err == ""  # no bar where there is no terminal
    assert "theorem2: greedy projection and its adversary" in out
    assert "\n  reproduced\n  measured: reached at 39 of 39 points" in out
    assert sorted(path.name for path in (tmp_path / "build/reproduction").iterdir()) == [
        "claims.md",
        "theorem2.csv",
        "theorem2.json",
        "theorem2.png",
        "theorem2.svg",
    ]


def test_claims_are_judged_again_from_the_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main(["theorem2", "--quick", "--jobs", "1"]) == 0
    folder = tmp_path / "build/reproduction"
    before, rows = (folder / "claims.md").read_text(), (folder / "theorem2.csv").read_text()
    said = capsys.readouterr().out
    (folder / "claims.md").unlink()
    assert command.main(["--claims"]) == 0
    assert capsys.readouterr().out == said
    assert (folder / "claims.md").read_text() == before
    assert (folder / "theorem2.csv").read_text() == rows


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    """A copy of the pages, judged again from their rows, and what was found."""
    folder = tmp_path_factory.mktemp("docs") / "reproduction"
    shutil.copytree(STORED, folder)
    (folder / "claims.md").unlink()
    return judged(folder)


def test_the_verdicts_in_the_docs_are_those_of_their_rows(docs):
    assert (docs.out / "claims.md").read_text() == (STORED / "claims.md").read_text()


def test_every_experiment_claims_something_or_has_a_twin(docs):
    assert list(docs.claims) == list(EXPERIMENTS)
    assert all(claims or EXPERIMENTS[name].twin for name, claims in docs.claims.items())


def test_real_data_are_read_where_they_are():
    folder = DATA
    if not (folder / "usps.npz").exists():
        pytest.skip("the real charges and digits are not in ../shared/data")
    setting = Setting(1, data=folder)
    charges, digits = data.charges(setting), data.digits(setting)
    assert "Medicare" in charges.source
    assert charges.p.sum() == pytest.approx(1)
    assert np.count_nonzero(charges.p) == 433
    assert np.bincount(digits.y).tolist() == data.USPS_COUNTS
    assert json.loads(json.dumps(charges.source)) == charges.source


# stored rows are those of today's code: after a change of behaviour, `make reproduce` makes them
# anew


@pytest.mark.parametrize(
    "name", [name for name in EXPERIMENTS if EXPERIMENTS[name].source is generated]
)
def test_stored_rows_are_those_of_this_code(name):
    assert guard.differences(STORED, EXPERIMENTS[name]) == []


@pytest.mark.parametrize("name", ["fig2a", "fig2b", "fig3a"])
def test_stored_quick_rows_are_those_of_this_code(name):
    assert guard.differences(STORED / "quick", EXPERIMENTS[name], seconds=1.0) == []


@pytest.mark.parametrize("name", ["fig2a", "fig3a"])
def test_stored_rows_of_files_are_those_of_this_code(name):
    if not (DATA / "hospital_charges.npz").exists():
        pytest.skip("the real charges are not in ../shared/data")
    assert guard.differences(STORED, EXPERIMENTS[name], data=DATA, seconds=5.0, most=1) == []


def test_the_guard_sees_other_rows_and_other_parameters(tmp_path):
    run("theorem2", runs=1, quick=True, out=tmp_path, jobs=1)
    assert guard.differences(tmp_path, EXPERIMENTS["theorem2"]) == []
    path = tmp_path / "theorem2.csv"
    rows = path.read_text().splitlines(keepends=True)
    cells = rows[1].split(",")
    path.write_text(
        "".join(
            [rows[0], ",".join([*cells[:4], str(float(cells[4]) * 1.001), *cells[5:]]), *rows[2:]]
        )
    )
    (problem,) = guard.differences(tmp_path, EXPERIMENTS["theorem2"])
    assert problem.startswith("theorem2, seed 0, greedy (Algorithm 2), at 1: train is")
    path.write_text("".join(rows))
    note = json.loads((tmp_path / "theorem2.json").read_text())
    note["parameters"]["sizes"]["deltas"] = [1.0]
    (tmp_path / "theorem2.json").write_text(json.dumps(note))
    (problem,) = guard.differences(tmp_path, EXPERIMENTS["theorem2"])
    assert "sizes in theorem2.json" in problem
    path.unlink()
    assert guard.differences(tmp_path, EXPERIMENTS["theorem2"]) == [
        f"theorem2 is not finished in {tmp_path}"
    ]
