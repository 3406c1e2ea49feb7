"""Files in the campaign: some of its cases, and whether it notices what is broken on purpose."""

import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from soak import commands, fault_checks, faults, hostile

QUICK = ("pickles", "headers", "archives", "tables", "start", "texts")
IN_PLACE = """
import contextlib, sys, fewer.files

@contextlib.contextmanager
def in_place(path, *, replace=True):
    with open(path, "wb") as file:
        yield file

fewer.files.written_whole = in_place
from fewer.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("kind", QUICK)
def test_hostile_files_are_refused_or_read_but_never_obeyed(kind, tmp_path, capsys):
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng = np.random.default_rng(seed)
        assert hostile.KINDS[kind][0](rng, folder, hostile.JOBS[seed % 4]) == [], (kind, seed)


def full_disk(seed, folder):
    fault_checks.write_counts(folder)
    return faults.full(np.random.default_rng(seed), folder)


def test_a_full_disk_leaves_what_was_there(tmp_path):
    assert full_disk(1, tmp_path)[1] == []


@pytest.mark.parametrize("seed", [1, 3])
def test_the_campaign_notices_files_that_are_written_in_place(seed, tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "COMMAND", [sys.executable, "-c", IN_PLACE])
    text, problems = full_disk(seed, tmp_path)
    assert any("the previous out." in problem and "is lost" in problem for problem in problems), (
        text
    )


def test_the_checks_of_a_folder_notice_halves_losses_and_lies(tmp_path):
    expected = fault_checks.expected_csv()
    page = b"<!doctype html>\n...</html>\n"

    def problems(csv, html, **must):
        for name, content in (("out.csv", csv), ("page.html", html)):
            Path(tmp_path / name).unlink(missing_ok=True)
            if content is not None:
                (tmp_path / name).write_bytes(content)
        return fault_checks.whole_problems(tmp_path, **must)

    assert problems(expected, page) == problems(fault_checks.OLD, fault_checks.OLD) == []
    assert problems(expected[:-9], page) == [f"out.csv is half written: {len(expected) - 9} bytes"]
    assert problems(expected, page[:-3]) == ["page.html is half written: 24 bytes"]
    assert problems(None, page) == ["out.csv is gone"]
    assert problems(fault_checks.OLD, page, must_be_new=True) == ["out.csv was not written"]
    assert problems(fault_checks.OLD, page, must_be_old=True) == [
        "page.html was written, but that was denied"
    ]
    (tmp_path / ".out.csv.0123abcd.part").touch()
    assert fault_checks.left_over(tmp_path) == [".out.csv.0123abcd.part is left over"]


@pytest.mark.parametrize(
    "arguments", [["-o", "/dev/null"], ["--report", "../page.html"], ["-o", "away.csv"]]
)
def test_no_case_can_write_outside_its_folder(arguments, tmp_path):
    (tmp_path / "away.csv").symlink_to("/dev/null")
    with pytest.raises(AssertionError, match="not inside the folder of the case"):
        commands.start(tmp_path, *commands.BINS, *arguments, "--force")
    with pytest.raises(AssertionError, match="not inside the folder of the case"):
        commands.Forked(tmp_path, (*commands.BINS, *arguments, "--force"))


def test_a_command_forked_from_a_prepared_process_is_the_command(tmp_path):
    fault_checks.write_counts(tmp_path)
    refused = commands.Forked(tmp_path, ("bins", "counts.csv", "--column", "no", "-k", "3"))
    code, err = commands.finish(refused)
    assert (code, err.startswith("fewer: "), err.count("\n")) == (2, True, 1)
    slow = commands.Forked(tmp_path, (*commands.BINS, "-o", "out.csv"))
    assert commands.hit(slow, tmp_path, signal.SIGKILL, 0.0, at_part=False)
    assert commands.finish(slow)[0] == -signal.SIGKILL
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("code", "err", "expected"),
    [
        (-signal.SIGINT, "", True),  # no handler yet, or no more
        (1, "Traceback\n  File site.py", True),
        (-signal.SIGINT, "Traceback\n  File fewer/cli/__init__.py", False),
        (
            -signal.SIGINT,
            (
                'Traceback\n  File "/x/fewer/cli/__init__.py", line 3, in <module>\n    from'
                " ._process"
            ),
            True,
        ),
        (
            -signal.SIGINT,
            (
                'Traceback\n  File "/x/fewer/cli/__init__.py", line 9, in main\n    from ._app'
                " import run"
            ),
            False,
        ),
        (1, "", False),
        (130, "", False),
    ],
)
def test_what_counts_as_ctrl_c_that_the_package_could_not_take(code, err, expected):
    assert commands.before_us(code, err) is expected
