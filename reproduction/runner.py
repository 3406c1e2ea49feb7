"""Run experiments: in order or side by side in processes, resumed from the rows that are there."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from .catalogue import EXPERIMENTS, TITLES
from .experiment import Claim, Experiment, Row, Setting, Table, generated
from .store import finished, kept, save_rows, save_setting

Progress = Callable[[str, int, int], Any]
"""Called with the experiment's name, the units of work done and their number."""
Unit = tuple[int, str]
Plan = tuple[Experiment, Setting]
SAVE_SECONDS = 1.0
"""Seconds between two writes of the csv file: the most that a killed run can lose beside the unit
it was in."""


@dataclass(frozen=True)
class Reproduction:
    """What a run left behind: the folder, the rows and the claims of each experiment in it."""

    out: Path
    tables: dict[str, Table]
    claims: dict[str, list[Claim]]


def run(
    *names: str,
    runs: int | None = None,
    quick: bool = False,
    data: Path | None = None,
    out: Path | str = "reproduction",
    seed: int = 0,
    jobs: int | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduce figures and theorems of the paper: `run("fig1a", runs=20, out="results")`, or `run("all")`.

    Writes NAME.csv, NAME.json, NAME.png and NAME.svg for each, then claims.md over everything the
    folder holds. Rows of an earlier run with the same parameters are taken over unless `fresh`, so
    an interrupted run goes on where it was; every row but its seconds is the same as in an
    uninterrupted run. `runs` and `seed` give the seeds seed, ..., seed + runs - 1; `jobs` is the
    number of processes, two by default where there are two cores. A full run of an experiment that
    reads files also makes a quick run without them, in the folder `quick`: a check of behaviour
    that needs no files.
    """
    from .pages import write_pictures

    jobs = jobs or min(os.cpu_count() or 1, 2)
    folder = Path(out)
    asked = [name for name in TITLES if name in names or "all" in names]
    plans = [plan(EXPERIMENTS[name], runs, quick, seed, data) for name in asked]
    works = [Work.begin(one, folder, fresh) for one in plans]
    if not quick:
        readers = [one for one, _ in plans if one.source is not generated and one.twin is None]
        small = folder / "quick"
        works += [Work.begin(plan(one, 1, True, 0, None), small, fresh) for one in readers]
    for work in measured(works, jobs, progress):
        if work.folder == folder:
            write_pictures(folder, work.experiment)
    return judged(folder)


def judged(out: Path | str) -> Reproduction:
    """Claims and verdicts of every finished experiment in a folder, from its rows: writes claims.md."""
    from .pages import write_claims

    folder = Path(out)
    results = {
        name: whole for name in TITLES if (whole := finished(folder, EXPERIMENTS[name])) is not None
    }
    claims = {
        name: EXPERIMENTS[name].claims(whole.table, whole.setting)
        for name, whole in results.items()
    }
    write_claims(folder, EXPERIMENTS, results, claims)
    return Reproduction(folder, {name: whole.table for name, whole in results.items()}, claims)


def plan(
    experiment: Experiment, runs: int | None, quick: bool, seed: int, data: Path | None
) -> Plan:
    """An experiment with its setting.

    Data that cannot be read are refused here, before any work.
    """
    usual = experiment.quick_runs if quick else experiment.runs
    setting = Setting(runs or usual, quick, seed, data)
    source, checksum = experiment.source(setting)
    return experiment, replace(setting, source=source, checksum=checksum)


@dataclass
class Work:
    """An experiment under way in a folder: the rows of the units that are done, in memory and on disk."""

    experiment: Experiment
    setting: Setting
    folder: Path
    done: dict[Unit, list[Row]] = field(default_factory=dict)
    saved: float = 0.0

    @classmethod
    def begin(cls, one: Plan, folder: Path, fresh: bool) -> "Work":
        """Take over the rows on disk that are those of today's parameters."""
        work = cls(*one, folder)
        there: dict[Unit, list[Row]] = {}
        for row in () if fresh else kept(folder, work.experiment, work.setting):
            there.setdefault((row.seed, row.method), []).append(row)
        work.done = {unit: there[unit] for unit in work.units if unit in there}
        folder.mkdir(parents=True, exist_ok=True)
        save_setting(folder, work.experiment, work.setting)
        work.save()
        return work

    @property
    def units(self) -> list[Unit]:
        """Every unit, in the order of its rows."""
        methods = self.experiment.methods(self.setting)
        return [(seed, method) for seed in self.setting.seeds for method in methods]

    @property
    def rows(self) -> list[Row]:
        """The rows there are, in order."""
        return [row for unit in self.units for row in self.done.get(unit, ())]

    @property
    def complete(self) -> bool:
        """Whether every unit has its rows."""
        return len(self.done) == len(self.units)

    def source(self, unit: Unit) -> Unit:
        """The unit whose rows serve this one."""
        seed, method = unit
        return self.experiment.source_seed(self.setting, seed, method), method

    @property
    def left(self) -> list[Unit]:
        """The units to measure."""
        return list(
            dict.fromkeys(self.source(unit) for unit in self.units if unit not in self.done)
        )

    def add(self, measured: Unit, rows: list[Row], progress: Progress | None) -> None:
        """Keep the rows of a unit for all that they serve, and save them once in a while."""
        for unit in self.units:
            if unit not in self.done and self.source(unit) == measured:
                self.done[unit] = [row._replace(seed=unit[0]) for row in rows]
        if progress is not None:
            progress(self.experiment.name, len(self.done), len(self.units))
        if self.complete or time.monotonic() - self.saved > SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Write the csv file."""
        save_rows(self.folder, self.experiment, self.rows)
        self.saved = time.monotonic()


def measured(works: list[Work], jobs: int, progress: Progress | None) -> Iterator[Work]:
    """Measure what is left of these experiments; each as it is complete."""
    yield from (work for work in works if work.complete)
    try:
        for work, unit, rows in results([work for work in works if not work.complete], jobs):
            work.add(unit, rows, progress)
            if work.complete:
                yield work
    finally:  # also after Ctrl-C: what was done is saved, what was not begun is left
        for work in works:
            work.save()


def results(works: list[Work], jobs: int) -> Iterator[tuple[Work, Unit, list[Row]]]:
    """The rows of the units that are left, as they come: in order here, or from several processes."""
    if jobs == 1:
        with threadpool_limits(1):  # sums depend on the number of threads in their last bit
            for work in works:
                for unit in work.left:
                    yield work, unit, list(work.experiment.measure(work.setting, *unit))
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _start_worker)
    try:
        futures = {
            pool.submit(_rows_of, work.experiment.name, work.setting, unit): (work, unit)
            for work in works
            for unit in work.left
        }
        for future in as_completed(futures):
            yield *futures[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _start_worker() -> None:
    """A worker uses one thread, leaves Ctrl-C to its parent and ends with it, however that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _rows_of(name: str, setting: Setting, unit: Unit) -> list[Row]:
    return list(EXPERIMENTS[name].measure(setting, *unit))
