"""Runs tests in processes of their own, and records which of them enter which function."""

import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Generator, Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

LEAST_SECONDS, TIMES = 20.0, 5.0
"""A test hangs that takes more seconds of CPU than this, and than so many times what it took without any fault."""
WAITING = 10.0
"""Seconds that may pass for each of them: only what waits for nothing comes to this end, on however busy a machine."""
HUNG = (-signal.SIGPROF, -signal.SIGALRM)
"""How a process ends with a test that hangs."""
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        "numpy",
        "scipy.optimize",
        "scipy.sparse",
        "sklearn.base",
        "numba",
        "pandas",
        "soak.mutant_tests",
    ]
)


class Test(NamedTuple):
    """One test: the first lines of the functions it enters, by file; its seconds of CPU; whether it passes."""

    name: str
    entered: dict[str, list[int]]
    seconds: float
    passed: bool


def cpu() -> float:
    """Seconds of CPU so far, of ended children too."""
    return sum(os.times()[:4])


class Watcher:
    """A plugin of pytest that records which functions of some files each test enters."""

    def __init__(self, folder: str, files: Iterable[str]) -> None:
        self.names = {f"{folder}/{file}": file for file in files}
        self.now: dict[str, set[int]] = {}
        self.tests: list[Test] = []
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Watch one test, its fixtures included."""
        self.now = {file: set() for file in self.names}
        began = cpu()
        sys.settrace(self._trace)
        threading.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            entered = {self.names[file]: sorted(lines) for file, lines in self.now.items() if lines}
            self.tests.append(
                Test(item.nodeid, entered, cpu() - began, item.nodeid not in self.failed)
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails without any fault is no use."""
        if report.failed:
            self.failed.add(report.nodeid)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> None:
        lines = self.now.get(frame.f_code.co_filename)
        if lines is not None:
            lines.add(frame.f_code.co_firstlineno)


class Chosen:
    """A plugin of pytest that runs these tests alone, in this order, each with an end; where one is gone, all.

    The timers have no handlers: their signals end the process, whatever it is in.
    """

    def __init__(self, tests: list[Test]) -> None:
        self.seconds = {test.name: test.seconds for test in tests}

    def pytest_configure(self) -> None:
        """Importing and collecting may hang too."""
        self._allow(LEAST_SECONDS)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Choose and order."""
        found = {item.nodeid: item for item in items}
        if all(name in found for name in self.seconds):
            items[:] = [found[name] for name in self.seconds]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Let one test have its time."""
        self._allow(self.seconds.get(item.nodeid, LEAST_SECONDS))
        return (yield)

    def _allow(self, seconds: float) -> None:
        """End in so many times these seconds, unless more are allowed before."""
        most = LEAST_SECONDS + TIMES * seconds
        signal.setitimer(signal.ITIMER_PROF, most)
        signal.setitimer(signal.ITIMER_REAL, WAITING * most)


def _child(home: str, files: list[str], plugin: Any, more: list[str], report: str) -> None:
    """The tests in a process that has loaded nothing of the package yet."""
    os.setsid()
    os.chdir(home)
    sys.path[:0] = [f"{home}/src", home]
    os.environ |= {"PYTHONPATH": f"{home}/src{os.pathsep}{home}"}
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    code = pytest.main(
        ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *more, *files], plugins=[plugin]
    )
    if report:
        Path(report).write_text(json.dumps(plugin.tests))
    sys.exit(int(code))


def watch(home: Path, tests: list[str], folder: Path, files: Iterable[str]) -> list[Test]:
    """All tests of these files, run once, the quickest first: which functions of the sources each of them enters."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "tests.json"
        arguments = (str(home), tests, Watcher(str(folder), files), [], str(report))
        process = _context.Process(target=_child, args=arguments)
        process.start()
        process.join()
        if not report.exists():
            raise RuntimeError(f"the tests could not be run: exit code {process.exitcode}")
        return sorted(
            (Test(*row) for row in json.loads(report.read_text())), key=lambda test: test.seconds
        )


def exit_code(home: Path, tests: list[Test]) -> int:
    """What pytest says of these tests on a copy of the sources, ended at the first that fails or hangs."""
    files = sorted({test.name.split("::")[0] for test in tests})
    process = _context.Process(target=_child, args=(str(home), files, Chosen(tests), ["-x"], ""))
    process.start()
    process.join()
    if process.pid:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what a test that hangs has started
    return process.exitcode or 0
