"""On a pseudo-terminal: the bar moves, and Ctrl-C keeps the best so far."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

import fewer

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
termios = pytest.importorskip("termios")
PATIENCE = 200.0
"""Seconds after which something hangs; the first run of all compiles."""


class Terminal:
    """The command on a terminal of its own, and what it has printed."""

    def __init__(self, *args, cwd):
        self.screen, line = pty.openpty()
        termios.tcsetwinsize(line, (40, 120))
        command = [sys.executable, "-m", "fewer", *map(str, args)]
        environment = {**os.environ, "TERM": "xterm-256color"}
        streams = {"stdin": line, "stdout": line, "stderr": line}
        self.process = subprocess.Popen(
            command, cwd=cwd, env=environment, start_new_session=True, **streams
        )
        os.close(line)
        self.text = ""

    def read(self):
        """Some more of the screen; nothing when the command has ended."""
        try:
            new = os.read(self.screen, 65536).decode(errors="replace")
        except OSError:
            new = ""
        self.text += new
        return bool(new)

    def until(self, pattern):
        deadline = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text):
            assert self.read(), self.text
            assert time.monotonic() < deadline, self.text

    def end(self):
        while self.read():
            pass
        os.close(self.screen)
        return self.process.wait(PATIENCE)


@pytest.fixture
def opened():
    """Opens terminals, whose commands end with the test at the latest."""
    terminals = []

    def start(*args, cwd):
        terminals.append(Terminal(*args, cwd=cwd))
        return terminals[-1]

    yield start
    for terminal in terminals:
        if terminal.process.poll() is None:
            os.killpg(terminal.process.pid, signal.SIGKILL)
            terminal.process.wait()


@pytest.fixture
def hard(tmp_path):
    """Rows whose best 40 of 120 columns take long to prove: the search goes on until it is told to stop."""
    rows = (np.random.default_rng(0).random((4000, 120)) < 0.05).astype(np.int8)
    pl.DataFrame(rows, schema=[f"c{i}" for i in range(120)]).write_csv(tmp_path / "hard.csv")
    return tmp_path, rows


def test_on_a_terminal_the_bar_moves_and_ctrl_c_keeps_the_best(hard, opened):
    folder, rows = hard
    terminal = opened(
        "dims", "hard.csv", "-k", "40", "--solver", "exact", "-o", "best.csv", cwd=folder
    )
    terminal.until(r"00:0[1-9], value \S+, gap \S+")
    assert len(set(re.findall(r"\d\d:\d\d", terminal.text))) > 1  # it moves
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.end() == 130
    assert "interrupted; this is the best so far" in terminal.text
    assert "Traceback" not in terminal.text
    kept = pl.read_csv(folder / "best.csv")["index"].to_numpy()
    assert len(kept) == 40
    greedy = fewer.coverage(rows, fewer.dims(rows, 40, solver="greedy").support)
    assert fewer.coverage(rows, kept) >= greedy
    assert [p.suffix for p in folder.iterdir() if p.suffix == ".part"] == []


def test_in_a_pipe_there_is_no_bar(hard):
    folder, _ = hard
    args = [
        sys.executable,
        "-m",
        "fewer",
        "dims",
        "hard.csv",
        "-k",
        "40",
        "--time-limit",
        "2",
        "-o",
        "best.csv",
    ]
    done = subprocess.run(args, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "|##" not in done.stdout
    assert "rows covered" in done.stdout
