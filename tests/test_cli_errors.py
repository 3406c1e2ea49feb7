"""What goes wrong at the command line: one sentence, the right code, never a traceback."""

import numpy as np
import pytest

from commands import run, write_tables
from fewer.cli import _app


@pytest.fixture
def files(tmp_path):
    write_tables(tmp_path)
    return tmp_path


BAD = {
    "no file": ("dims none.csv -k 2", "none.csv: there is no such file"),
    "folder": ("dims . -k 2", "is a folder"),
    "empty": ("dims empty.csv -k 2", "empty.csv: is empty"),
    "no rows": ("bins head.csv -k 2", "head.csv"),
    "no k": ("dims wide.csv", "give -k"),
    "k zero": ("dims wide.csv -k 0", "-k must be in 1..9"),
    "k large": ("dims wide.csv -k 10", "-k must be in 1..9 (columns), got 10"),
    "path large": ("dims wide.csv --path 2,50", "--path must be in 1..9"),
    "path words": ("dims wide.csv --path 2,x", "--path"),
    "option": ("dims wide.csv -k 2 --frob", "--frob"),
    "solver": ("dims wide.csv -k 2 --solver magic", "magic"),
    "time": ("dims wide.csv -k 2 --time-limit -1", "--time-limit"),
    "command": ("dimz wide.csv", "no command 'dimz'; did you mean 'dims'?"),
    "capitals": ("Points wide.csv", "did you mean 'points'?"),
    "no command": ("frobnicate", "no command 'frobnicate'; there are points, bins, terms, dims,"),
    "misspelt option": ("dims wide.csv -k 2 --time-limt 3", "Did you mean"),
    "needs more": (
        "dims wide.csv -k 2 --solver frank_wolfe",
        "wide.csv: frank_wolfe needs",
    ),
    "no file can be here": (
        "dims wide.csv -k 2 -o /proc/out.csv",
        "-o /proc/out.csv: cannot be written",
    ),
    "text cell": (
        "dims typo.csv -k 1",
        "typo.csv, row 2, column 'b': expected a number (2 of 3 cells",
    ),
    "fraction": ("dims half.csv -k 1", "half.csv: column 'a', row 1: expected a small"),
    "negative": ("dims minus.csv -k 1", "minus.csv: column 'b', row 0: expected"),
    "hole": ("bins hole.csv --column b -k 1", "hole.csv, row 1, column 'b'"),
    "hole dims": (
        "dims hole.csv -k 1",
        "hole.csv: column 'b', row 1: is missing; --missing drop leaves",
    ),
    "ragged": ("dims ragged.csv -k 1", "ragged.csv, row 1: expected 2 cells, got 3"),
    "column": ("bins cost.csv --column costs -k 2", "did you mean 'cost'"),
    "which column": ("bins wide.csv -k 2", "name one by --column"),
    "both bins": (
        "bins cost.csv -k 2 --bins 5 --bin-width 1",
        "--bin-width says what bins there are",
    ),
    "width": ("bins cost.csv -k 2 --bin-width 0", "--bin-width"),
    "counts": ("bins cost.csv -k 2 --counts --bins 5", "--counts"),
    "negative count": (
        "bins minus.csv --column b --counts -k 1",
        "minus.csv: --counts must be",
    ),
    "target": (
        "terms returns.csv -k 2 --target none",
        "no column 'none' (--target)",
    ),
    "no target": ("terms returns.csv -k 2", "--target"),
    "include": (
        "terms returns.csv -k 2 --target INDEX --include INDEX",
        "--include",
    ),
    "weights": (
        "terms returns.csv -k 2 --target INDEX --max-weight 0.2",
        "max_weight = 0.2",
    ),
    "damaged parquet": ("dims bad.parquet -k 2", "bad.parquet"),
    "damaged npz": ("dims bad.npz -k 2", "bad.npz"),
    "pickle": ("dims pickle.npy -k 2", "pickle.npy"),
    "ending": (
        "dims wide.csv -k 2 -o out.xls",
        "-o out.xls: expected an ending of .csv",
    ),
    "page ending": ("dims wide.csv -k 2 --report page.txt", "--report page.txt"),
    "no folder": (
        "dims wide.csv -k 2 -o nowhere/out.csv",
        "there is no folder nowhere",
    ),
    "exists": (
        "dims wide.csv -k 2 -o cost.csv",
        "cost.csv: the file exists; add --force",
    ),
    "image": (
        "points cloud.csv -k 2 --image-shape 8x8",
        "--image-shape 8x8 needs 64 columns",
    ),
    "shape": ("points cloud.csv -k 2 --image-shape 8by8", "--image-shape"),
    "gamma": ("points cloud.csv -k 2 --gamma -1", "--gamma"),
    "cv": ("points cloud.csv -k 2 --gamma cv", "--label"),
    "negative weight": (
        "points minus.csv -k 1 --weight b",
        "minus.csv: --weight must be non-negative, got -1.0 at index 0",
    ),
    "label": ("points cloud.csv -k 2 --label kinds", "did you mean 'kind'"),
    "open range": ("points cloud.csv -k 2 --include 1-", "row numbers from 0 such as 3,17 or 0-9"),
    "rule": (
        "dims wide.csv -k 2 --baseline a=1,mode",
        "expected auto, zero, mode, or column=label",
    ),
    "transactions": ("dims blank.txt -k 1 --transactions", "blank.txt: has no items"),
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
    line, words = BAD[case]
    before = (files / "cost.csv").read_bytes()
    out, err = run(line, code=2, cwd=files)
    assert out == ""
    assert err.startswith("fewer: ")
    assert err.count("\n") == 1
    assert words in err
    assert (files / "cost.csv").read_bytes() == before


def test_late_mistakes_are_found_beyond_the_rows_that_types_are_guessed_from(tmp_path):
    rows = ["1,2"] * 3000 + ["1,x"] + ["1,2"] * 10
    (tmp_path / "late.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
    for job in ("dims late.csv -k 1", "bins late.csv -k 1 --column b"):
        _, err = run(job, code=2, cwd=tmp_path)
        assert "late.csv, row 3000, column 'b': expected a number (3010 of 3011 cells are" in err
        assert "such as '2'), got 'x'" in err


def test_our_own_bugs_are_code_1_and_a_sentence(monkeypatch, capsys):
    def broken(*args, **kwargs):
        raise RuntimeError("something\nof ours")

    monkeypatch.setattr(_app.app, "main", broken)
    assert _app.run([]) == 1
    assert (
        capsys.readouterr().err
        == "fewer: this is a bug of fewer, RuntimeError: something of ours; set FEWER_TRACEBACK=1"
        " to see where, and report it.\n"
    )
