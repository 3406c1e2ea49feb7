"""Runs cases in worker processes, shares the time among the parts, and ends what hangs."""

import multiprocessing
import os
import shlex
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

from .parts import Part, attempt, find

START = 120.0
"""Seconds in which a worker must have started."""


class Task(NamedTuple):
    """One case to run, and whether it is repeated with nothing else running."""

    part: str
    index: int
    alone: bool = False


@dataclass
class Row:
    """Counts and failures of one part."""

    part: Part
    module: str
    tried: int = 0
    wrong: int = 0
    seconds: float = 0.0
    next: int = 0
    failures: list[tuple[int, str, list[str]]] = field(default_factory=list)


def serve(pipe: Connection, modules: list[str], seed: int) -> None:
    """A worker: run the cases that are asked for until the pipe closes."""
    # so that the parent can end it with all its children, and Ctrl-C reaches the parent alone
    os.setsid()
    parts = {part.name: part for part in map(find, modules)}
    with suppress(EOFError, KeyboardInterrupt):
        pipe.send(None)
        while True:
            name, index = pipe.recv()
            pipe.send(attempt(parts[name], seed, index))


class Worker:
    """A process that runs one case at a time."""

    def __init__(self, modules: list[str], seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, modules, seed))
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self.done: deque[Task] = deque(maxlen=5)
        self.began = time.monotonic()
        self.deadline = self.began + START
        self.ready = False

    def give(self, task: Task, limit: float) -> None:
        """Hand it a case."""
        self.task, self.began = task, time.monotonic()
        self.deadline = self.began + limit
        self.pipe.send((task.part, task.index))

    def end(self) -> None:
        """Kill it with everything it started."""
        with suppress(ProcessLookupError, PermissionError):
            if self.process.pid is not None and os.getpgid(self.process.pid) == self.process.pid:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Campaign:
    """Cases of some parts for some time; `rows` holds the counts."""

    def __init__(
        self, modules: list[str], seed: int, jobs: int, seconds: float, cases: int | None = None
    ) -> None:
        self.rows = {
            row.part.name: row for row in (Row(find(module), module) for module in modules)
        }
        self.modules, self.seed, self.jobs, self.cases = modules, seed, jobs, cases
        self.until = time.monotonic() + seconds
        self.again: deque[Task] = deque()
        self.workers: list[Worker] = []

    def run(self) -> None:
        """Run to the end of the time, or until each part has had its number of cases."""
        try:
            self.workers = [Worker(self.modules, self.seed) for _ in range(self.jobs)]
            while self._feed():
                self._collect()
        finally:
            for worker in self.workers:
                worker.end()

    def _feed(self) -> bool:
        """Give cases to idle workers; False when all is done."""
        busy = [worker for worker in self.workers if worker.task is not None]
        if any(worker.task.alone for worker in busy if worker.task):
            return True
        if self.again:
            if not busy:  # first let the others come to their end
                idle = next((worker for worker in self.workers if worker.ready), None)
                if idle is not None:
                    self._start(idle, self.again.popleft())
            return True
        for worker in self.workers:
            row = self._next_row()
            if row is not None and worker.ready and worker.task is None:
                self._start(worker, Task(row.part.name, row.next))
                row.next += 1
        return self._next_row() is not None or any(
            worker.task is not None for worker in self.workers
        )

    def _next_row(self) -> Row | None:
        """The part that has had least of its share, or None when the time is over."""
        open_rows = [
            row for row in self.rows.values() if self.cases is None or row.next < self.cases
        ]
        if not open_rows or time.monotonic() >= self.until:
            return None
        running = [worker.task.part for worker in self.workers if worker.task]
        return min(
            open_rows, key=lambda row: (row.seconds + running.count(row.part.name)) / row.part.share
        )

    def _start(self, worker: Worker, task: Task) -> None:
        worker.give(task, self.rows[task.part].part.seconds)

    def _collect(self) -> None:
        """Wait for answers, and end workers that are late."""
        now = time.monotonic()
        pipes = {worker.pipe: worker for worker in self.workers}
        busy = [worker for worker in self.workers if worker.task is not None or not worker.ready]
        timeout = max(0.0, min([worker.deadline - now for worker in busy] + [1.0]))
        for pipe in wait(list(pipes), timeout):
            self._hear(pipes[pipe])  # type: ignore[index]
        for worker in busy:
            if (
                worker in self.workers
                and time.monotonic() > worker.deadline
                and not worker.pipe.poll()
            ):
                limit = worker.deadline - worker.began
                self._lost(worker, f"the case hangs: no answer within {limit:.0f} s", slow=True)

    def _hear(self, worker: Worker) -> None:
        """Take what a worker sends; one that is gone has crashed."""
        try:
            answer = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(5.0)
            before = ", ".join(f"{task.part} {task.index}" for task in worker.done) or "none"
            self._lost(
                worker,
                f"the process died with exit code {worker.process.exitcode}; cases before it:"
                f" {before}",
            )
            return
        if answer is None:
            worker.ready = True
            return
        task, worker.task = worker.task, None
        if task is not None:
            worker.done.append(task)
            self._note(task, *answer, time.monotonic() - worker.began, slow=False)

    def _lost(self, worker: Worker, sentence: str, slow: bool = False) -> None:
        """Replace a worker that hangs or died, and note why."""
        task = worker.task
        worker.end()
        self.workers.remove(worker)
        if task is None:
            raise RuntimeError(f"a worker of the campaign could not start: {sentence}")
        self.workers.append(Worker(self.modules, self.seed))
        self._note(task, "no description", [sentence], time.monotonic() - worker.began, slow)

    def _note(
        self, task: Task, description: str, problems: list[str], seconds: float, slow: bool
    ) -> None:
        """Count a case.

        What depends on the clock or on memory counts only when it fails alone as well.
        """
        row = self.rows[task.part]
        row.seconds += seconds
        if problems and not task.alone and (slow or row.part.alone):
            self.again.append(task._replace(alone=True))
            return
        row.tried += 1
        if problems:
            row.wrong += 1
            row.failures.append((task.index, description, problems))
            print(
                f"{row.module} {task.index}: {description}\n    {problems[0]}",
                file=sys.stderr,
                flush=True,
            )

    def table(self, most: int) -> Iterator[str]:
        """The table, and the first failures of each part with the command that repeats them."""
        yield f"{'part':<10} {'tried':>8} {'wrong':>7} {'seconds':>9}"
        for row in self.rows.values():
            yield f"{row.part.name:<10} {row.tried:>8} {row.wrong:>7} {row.seconds:>9.1f}"
        for row in self.rows.values():
            for index, description, problems in sorted(row.failures)[:most]:
                yield ""
                yield f"{row.part.name} {index}: {description}"
                yield from (f"  - {problem}" for problem in problems)
                yield (
                    "  repeat: python -m soak --case"
                    f" {shlex.quote(f'{row.module}:{self.seed}:{index}')}"
                )

    @property
    def failed(self) -> bool:
        """Whether anything is wrong, or a part was never tried."""
        return any(row.wrong or not row.tried for row in self.rows.values())
