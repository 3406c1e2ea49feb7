"""`fewer points` with everything about rows: what it writes is what the library gives."""

import json

import numpy as np
import polars as pl
import pytest

import fewer
from commands import run

RNG = np.random.default_rng(3)


def table(n, shift):
    numbers = {name: np.round(RNG.normal(shift, 1.0, n), 3) for name in ("x", "y")}
    return pl.DataFrame(
        {**numbers, "kind": RNG.choice(["a", "b", "c"], n), "team": np.arange(n) % 3}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("rows")
    table(90, 0.0).write_csv(home / "mine.csv")
    table(60, 0.5).with_columns(w=np.arange(60) % 4).write_csv(home / "theirs.csv")
    np.save(home / "mine.npy", RNG.standard_normal((50, 3)))
    np.save(home / "theirs.npy", RNG.standard_normal((70, 3)))
    return home


def asked(folder, *options, file="mine.csv"):
    return json.loads(
        run("points", folder / file, "-k", "6", "-q", "--json", "--no-baselines", *options)[0]
    )


@pytest.mark.parametrize("ending", ["csv", "npy"])
def test_rows_that_stand_for_another_file(folder, ending):
    weigh = ["--target-weight", "w"] if ending == "csv" else []
    out = folder / f"who-{ending}.csv"
    words = [
        "--target",
        folder / f"theirs.{ending}",
        *weigh,
        "--criticisms",
        "4",
        "--assign",
        out,
        "--force",
    ]
    answer = asked(folder, *words, file=f"mine.{ending}")["answers"][0]
    mine, theirs = (
        (pl.read_csv if ending == "csv" else np.load)(folder / f"{n}.{ending}")
        for n in ("mine", "theirs")
    )
    expected = fewer.points(mine, 6, target=theirs, target_weight="w" if weigh else None, rng=0)
    assert answer["indices"] == expected.indices.tolist()
    assert answer["value"] == pytest.approx(expected.value, rel=1e-9)
    assert answer["criticisms"]["index"] == fewer.criticisms(expected, theirs, 4).tolist()
    written = pl.read_csv(out)
    assert written["position"].to_list() == fewer.assign(expected, theirs).tolist()
    assert written["point"].to_list() == expected.indices[fewer.assign(expected, theirs)].tolist()


def test_every_k_of_a_path_keeps_the_limits_and_is_tested_on_rows_held_out(folder):
    words = ["--path", "3,5", "--include", "7", "--max-weight", "0.5", "--json", "-q"]
    found = json.loads(
        run(
            "points",
            folder / "mine.csv",
            *words,
            "--move",
            "range",
            "--groups",
            "team",
            "--max-per-group",
            "3",
        )[0]
    )
    for answer in found["answers"]:
        assert 7 in answer["indices"]
        assert max(answer["kept"]["weight"]) <= 0.5 + 1e-12
        assert 0.0 <= answer["held_out"] < 1.0
    assert found["answers"][0]["baselines"]["random sampling"] > found["answers"][1]["value"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--max-per-group 2", "--max-per-group needs --groups: a label for each row"),
        ("--groups team", "--groups needs --min-per-group or --max-per-group"),
        (
            "--groups temm --max-per-group 2",
            "has no column 'temm' (--groups); did you mean 'team'?",
        ),
        ("--target-weight w", "--target-weight needs a target"),
        ("--move far", "expected range, free, LOW:HIGH or COL=LOW:HIGH,..., got 'far'"),
        ("--include a", "expected row numbers from 0 such as 3,17 or 0-9, got 'a'"),
        ("--include 900", "include"),
        ("--groups team --max-per-group x=2", "there is no group 'x'"),
        ("--groups kind --max-per-group d=2", "there is no group 'd'"),
        ("--assign who.txt", "expected an ending of .csv, .parquet, got '.txt'"),
        ("--target nowhere.csv", "nowhere.csv"),
    ],
)
def test_what_does_not_go_together_is_said(folder, words, said):
    _, err = run(f"points mine.csv -k 3 {words}", cwd=folder, code=2)
    assert said in " ".join(err.split())


def test_an_npz_file_holds_the_rows_that_were_kept(folder, tmp_path):
    for options in ((), ("--move", "range")):
        files = [tmp_path / f"kept{len(options)}.{ending}" for ending in ("npz", "json")]
        for file in files:
            run(
                "points",
                folder / "mine.csv",
                "-k",
                "3",
                "--no-baselines",
                "-q",
                "-o",
                file,
                *options,
            )
        kept = json.loads(files[1].read_text())["answers"][0]["kept"]
        with np.load(files[0], allow_pickle=False) as arrays:
            found = {name[5:]: arrays[name] for name in arrays.files if name.startswith("kept.")}
        assert list(found) == list(kept)
        for name, values in kept.items():
            assert found[name].astype(str).tolist() == [str(value) for value in values]
        own = fewer.Distribution.load(files[0])
        assert sorted(own.weights) == pytest.approx(sorted(kept["weight"]))


def test_a_box_holds_on_rows_that_are_tested_on(folder):
    words = ["--path", "3,5", "--json", "-q", "--move", "x=9:9.5"]
    found = json.loads(run("points", folder / "mine.csv", *words)[0])
    free = json.loads(run("points", folder / "mine.csv", *words[:-1], "free")[0])
    for answer, other in zip(found["answers"], free["answers"], strict=True):
        assert min(answer["kept"]["x"]) >= 9.0
        assert answer["held_out"] > 2 * other["held_out"]
