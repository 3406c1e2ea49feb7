"""Runs tests in processes of their own, and records which of them enter which function of a file."""

import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

SECONDS = 600.0
"""Seconds after which tests count as failed: they hang."""
UNDECIDED = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED)
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["numpy", "scipy.optimize", "sklearn.base", "numba", "soak.mutant_tests"])

Entered = dict[str, list[int]]
"""The first lines of the functions that each test enters, the quickest test first."""


class Watcher:
    """A plugin of pytest that records which functions of one file each test enters."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.entered: Entered = {}
        self.seconds: dict[str, float] = {}
        self.now: set[int] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Watch one test, its fixtures included."""
        self.now = set()
        began = time.perf_counter()
        sys.settrace(self._trace)
        threading.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self.entered[item.nodeid] = sorted(self.now)
            self.seconds[item.nodeid] = time.perf_counter() - began

    def _trace(self, frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code.co_filename == self.file:
            self.now.add(frame.f_code.co_firstlineno)


def _child(home: str, tests: list[str], watched: str, report: str) -> None:
    """The tests in a process that has loaded nothing of the package yet."""
    os.chdir(home)
    sys.path[:0] = [f"{home}/src", home]
    os.environ |= {"PYTHONPATH": f"{home}/src{os.pathsep}{home}", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    watcher = Watcher(watched)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = pytest.main([*options, *tests], plugins=[watcher] if report else [])
    if report:
        tests = sorted(watcher.entered, key=watcher.seconds.__getitem__)  # what is quick finds most faults
        Path(report).write_text(json.dumps({test: watcher.entered[test] for test in tests}))
    sys.exit(int(code))


def exit_code(home: Path, tests: list[str], watched: str = "", report: str = "") -> int:
    """What pytest says of these tests on a copy of the sources; -1 where they hang."""
    process = _context.Process(target=_child, args=(str(home), tests, watched, report))
    process.start()
    process.join(SECONDS)
    if process.exitcode is None:
        process.kill()
        process.join()
        return -1
    return process.exitcode


def functions_entered(home: Path, tests: list[str], file: Path) -> Entered | None:
    """Which functions of a file each of these tests enters; None where one of them fails."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "entered.json"
        if exit_code(home, tests, str(file), str(report)) != 0:
            return None
        found: Entered = json.loads(report.read_text())
        return found
