"""Commands in processes of their own: started, hit by a signal, judged by what they say at the end."""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np

from .fault_checks import write_counts

PATIENCE = 300.0
"""Seconds after which a command hangs."""
COMMAND = [sys.executable, "-m", "fewer"]
"""The command; a test puts a broken one in its place."""
BINS = [
    "bins",
    "counts.csv",
    "--column",
    "n",
    "--counts",
    "--preserve",
    "entries",
    "-k",
    "2000",
    "--quiet",
]
FILES = ["-o", "out.csv", "--report", "page.html"]
SHORT = 0.05
"""Seconds after a part of a file is first seen in which the command is hit, in half of the cases.
"""
WRITTEN = ("-o", "--report", "--out")
"""Options that name what is written."""


class Process(Protocol):
    """Members asked of a process: `subprocess.Popen` has it."""

    pid: int
    returncode: int

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""

    def wait(self, timeout: float) -> int:
        """Wait for the end, or raise TimeoutExpired."""

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end; what it said on stdout and stderr."""


def start(
    folder: Path, *arguments: str, before: str = "", **options: object
) -> subprocess.Popen[str]:
    """The command in a session of its own, as in a terminal of its own.

    Its process runs the Python `before` first.
    """
    confine(folder, arguments)
    command = [*COMMAND, *arguments]
    if before:  # not preexec_fn: forking a process that has threads, such as a test's, may hang
        then = f"import os, resource, sys\n{before}\nos.execv(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", then, *command]
    streams: dict[str, object] = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    }
    return subprocess.Popen(command, cwd=folder, start_new_session=True, **{**streams, **options})  # type: ignore[call-overload,no-any-return]  # noqa: S603


def confine(folder: Path, arguments: tuple[str, ...]) -> None:
    """Refuse a case that would write outside its folder: run by root, a fault could replace a device."""
    inside = os.path.realpath(folder)
    for option, name in pairwise(arguments):
        if option in WRITTEN and not Path(os.path.realpath(folder / name)).is_relative_to(inside):
            raise AssertionError(f"{name} is not inside the folder of the case")


class Forked:
    """A command in a process forked from one that has imported what it needs."""

    def __init__(self, folder: Path, arguments: tuple[str, ...]) -> None:
        confine(folder, arguments)
        self.asks, self.answers = server().stdin, server().stdout
        with tempfile.NamedTemporaryFile(prefix="fewer-soak-", delete=False) as file:
            self.err = file.name
        asked = {"folder": str(folder), "err": self.err, "arguments": arguments}
        assert self.asks is not None
        assert self.answers is not None
        self.asks.write(json.dumps(asked) + "\n")
        self.asks.flush()
        self.pid = int(self.answers.readline())
        self.returncode = 0
        self.ended = False

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0.0)
        return None

    def wait(self, timeout: float | None) -> int:
        """Wait for the end, or raise TimeoutExpired."""
        if not self.ended:
            if not select.select([self.answers], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("fewer", timeout or 0.0)
            self.returncode, self.ended = int(self.answers.readline()), True
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end; what it said on stderr."""
        self.wait(timeout)
        err = Path(self.err).read_text(errors="replace")
        os.unlink(self.err)
        return "", err


@cache
def server() -> subprocess.Popen[str]:
    """The process that commands are forked from; it ends with this one."""
    command = [sys.executable, "-m", "soak.prepared"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def begin(folder: Path, arguments: list[str], fresh: bool) -> Process:
    """A command in a new interpreter, or forked from one that has imported its libraries."""
    return start(folder, *arguments) if fresh else Forked(folder, tuple(arguments))


def finish(process: Process) -> tuple[int, str]:
    """Exit code and stderr of a command; one that hangs is killed with its children."""
    try:
        _, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return -1, f"it hangs: no end within {PATIENCE:.0f} s"
    return process.returncode, err


def hit(process: Process, folder: Path, sign: int, delay: float, at_part: bool) -> bool:
    """Send a signal to all of a command after some seconds, or as many after a part of a file is seen; False: ended."""
    until = time.monotonic() + PATIENCE
    while at_part and process.poll() is None and time.monotonic() < until:
        if any(name.endswith(".part") for name in os.listdir(folder)):
            break
        time.sleep(0.0002)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(delay)
        return False
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, sign)
        return True
    return False


def moment(rng: np.random.Generator, longest: float) -> tuple[float, bool]:
    """When to hit: at any time, or just when files are written."""
    at_part = bool(rng.random() < 0.5)
    return float(rng.uniform(0.0, SHORT if at_part else longest)), at_part


@cache
def seconds(fresh: bool, *arguments: str) -> float:
    """How long a command takes here."""
    with tempfile.TemporaryDirectory(prefix="fewer-soak-") as name:
        write_counts(Path(name))
        began = time.monotonic()
        finish(begin(Path(name), list(arguments), fresh))
        return time.monotonic() - began


FIRST_LINE = re.compile(r'File "[^"]*fewer/cli/__init__\.py", line \d+, in <module>')
"""Frames of the import by which the command begins; nothing can take Ctrl-C before it has ended."""


def before_us(code: int, err: str) -> bool:
    """Whether Ctrl-C came when the package could not take it.

    The interpreter's traceback has no line of the command but its first, which imports what takes
    Ctrl-C; or the interpreter had no handler yet, or no more, so that the process ends by the
    signal and says nothing.
    """
    if code == -signal.SIGINT and not err:
        return True
    return (
        code in (1, -signal.SIGINT)
        and "Traceback" in err
        and "fewer/cli" not in FIRST_LINE.sub("", err)
    )


def code_problems(code: int, err: str, expected: tuple[int, ...]) -> list[str]:
    """Faults of an exit code, and with what was said about it."""
    if code not in expected:
        return [f"exit code {code}, expected {expected}: {err[-300:]}"]
    if code == 2 and (not err.startswith("fewer: ") or err.count("\n") != 1):
        return [f"not one sentence: {err[-300:]}"]
    return []
