"""Run experiments: in order or side by side in processes, resumed from the rows that are there."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing.connection import wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from threadpoolctl import threadpool_limits

from .._validation import InvalidInput, as_integer, as_path, known
from .catalogue import EXPERIMENTS, TITLES
from .experiment import Claim, Experiment, Row, Setting, Table
from .store import as_folder, finished, kept, put_aside, save_rows, save_setting

Progress = Callable[[str, int, int], Any]
"""Called with the experiment's name, the units of work done and their number."""
Unit = tuple[int, str]
Plan = tuple[Experiment, Setting]
SAVE_SECONDS = 1.0
"""Seconds between two writes of the csv file: the most that a killed run can lose beside the unit it was in."""


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
    data: Any = None,
    out: Any = "reproduction",
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduce figures and theorems of the paper: `run("fig1a", runs=20, out="results")`, or `run("all")`.

    Writes NAME.csv, NAME.json (what the rows depend on), NAME.png and NAME.svg for each, then claims.md and
    index.html over everything the folder holds. Rows of an earlier run with the same data, version and `quick` are
    taken over, so an interrupted run goes on where it was; every row but its seconds is the same as in an
    uninterrupted run. Rows that are not taken over are put aside in NAME.before.csv. `runs` and `seed` give the seeds
    seed, ..., seed + runs - 1; `jobs` is the number of processes, two by default where there are two cores.
    """
    from .pages import write_pictures

    chosen = select(names)
    if find_spec("matplotlib") is None:
        raise InvalidInput("pictures need matplotlib: install fewer with the extra 'plot'")
    runs = None if runs is None else as_integer(runs, "--runs", 1)
    seed = as_integer(seed, "--seed", 0)
    jobs = min(os.cpu_count() or 1, 2) if jobs is None else as_integer(jobs, "--jobs", 1)
    source = None if data is None else as_data(data)
    folder = as_folder(out)
    plans = [plan(EXPERIMENTS[name], runs, quick, seed, source) for name in chosen]
    for experiment in measured(plans, folder, jobs, progress):
        write_pictures(folder, experiment)
    return judged(folder)


def judged(out: Any) -> Reproduction:
    """Claims and verdicts of every finished experiment in a folder, from its rows: writes claims.md and index.html."""
    from .pages import write_pages

    folder = as_folder(out)
    there = [name for name in TITLES if (folder / f"{name}.png").exists()]
    found = {name: results for name in there if (results := finished(folder, EXPERIMENTS[name])) is not None}
    claims = {name: EXPERIMENTS[name].claims(results.table, results.setting) for name, results in found.items()}
    write_pages(folder, EXPERIMENTS, found, claims)
    return Reproduction(folder, {name: results.table for name, results in found.items()}, claims)


def plan(experiment: Experiment, runs: int | None, quick: bool, seed: int, data: Path | None) -> Plan:
    """An experiment with its setting; data that cannot be read are refused here, before any work."""
    usual = experiment.quick_runs if quick else experiment.runs
    setting = Setting(runs or usual, quick, seed, data)
    return experiment, replace(setting, source=experiment.source(setting))


def listed() -> dict[str, str]:
    """The title of every experiment by its name.

    >>> listed()["theorem1"]
    'Theorem 1: subset sum through the projection onto D_k'
    """
    return dict(TITLES)


def select(names: tuple[str, ...]) -> list[str]:
    """These names, each once, in the paper's order; all of them for "all"."""
    if not names:
        raise InvalidInput(f"name at least one of {', '.join(TITLES)}, or all")
    for name in names:
        known(name, {**TITLES, "all": ""}, "NAME")
    return [name for name in TITLES if name in names or "all" in names]


def as_data(data: Any) -> Path:
    """`data` as an existing folder."""
    folder = as_path(data)
    if not folder.is_dir():
        raise InvalidInput(f"--data must be an existing folder, got {str(data)!r}")
    return folder


def measured(plans: list[Plan], folder: Path, jobs: int, progress: Progress | None) -> Iterator[Experiment]:
    """Measure the experiments; each as it is finished.

    With several processes, experiments of different homes run side by side, those of one home after each other: so
    hardly anything is compiled, or loaded, twice. Processes that are left share the units of an experiment.
    """
    if jobs == 1:
        for experiment, setting in plans:
            measure(experiment, setting, folder, None, progress)
            yield experiment
        return
    homes: dict[str, list[Plan]] = {}
    for one in plans:
        homes.setdefault(EXPERIMENTS.home(one[0].name), []).append(one)
    lanes = min(jobs, len(homes))
    context = multiprocessing.get_context("spawn")
    pools = [ProcessPoolExecutor(jobs // lanes + (i < jobs % lanes), context, _start_worker) for i in range(lanes)]
    threads, idle = ThreadPoolExecutor(lanes, initializer=_block_interrupts), SimpleQueue[ProcessPoolExecutor]()
    for pool in pools:
        idle.put(pool)

    def at_home(group: list[Plan]) -> list[Experiment]:
        pool = idle.get()
        try:
            for experiment, setting in group:
                measure(experiment, setting, folder, pool, progress)
        finally:
            idle.put(pool)
        return [experiment for experiment, _ in group]

    try:
        longest_first = sorted(homes.values(), key=len, reverse=True)
        for future in as_completed([threads.submit(at_home, group) for group in longest_first]):
            yield from future.result()
    finally:  # also after Ctrl-C: what was done is saved, what was not begun is left
        threads.shutdown(wait=False, cancel_futures=True)
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        threads.shutdown()


def measure(
    experiment: Experiment, setting: Setting, folder: Path, pool: ProcessPoolExecutor | None, progress: Progress | None
) -> None:
    """Write all rows of an experiment in the order of its units, those on disk taken over, the others computed."""
    order: list[Unit] = [(seed, method) for seed in setting.seeds for method in experiment.methods(setting)]
    done: dict[Unit, list[Row]] = {}
    for row in kept(folder, experiment, setting):
        done.setdefault((row.seed, row.method), []).append(row)
    done = {unit: done[unit] for unit in order if unit in done}
    missing = [unit for unit in order if unit not in done]
    put_aside(folder, experiment, [row for rows in done.values() for row in rows])
    save_setting(folder, experiment, setting)

    def save() -> None:
        save_rows(folder, experiment, [row for unit in order for row in done.get(unit, ())])

    save()
    saved = time.monotonic()
    try:
        for unit, rows in computed(experiment, setting, missing, pool):
            done[unit] = rows
            if progress is not None:
                progress(experiment.name, len(done), len(order))
            if time.monotonic() - saved > SAVE_SECONDS:
                save()
                saved = time.monotonic()
    finally:
        save()


def computed(
    experiment: Experiment, setting: Setting, units: list[Unit], pool: ProcessPoolExecutor | None
) -> Iterator[tuple[Unit, list[Row]]]:
    """The rows of the units as they are finished."""
    if pool is None:
        with threadpool_limits(1):  # sums depend on the number of threads in their last bit
            for unit in units:
                yield unit, list(experiment.measure(setting, *unit))
        return
    done = SimpleQueue[
        Future[tuple[Unit, list[Row]]]
    ]()  # not as_completed: after Ctrl-C it waits for what is cancelled
    for unit in units:
        pool.submit(_work, experiment.name, setting, unit).add_done_callback(done.put)
    for _ in units:
        yield done.get().result()


def _block_interrupts() -> None:
    """Ctrl-C is for the main thread: processes that this one starts do not hear it, not even while they import."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _start_worker() -> None:
    """A worker uses one thread and ends with its parent, however that ends."""
    threadpool_limits(1)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _work(name: str, setting: Setting, unit: Unit) -> tuple[Unit, list[Row]]:
    return unit, list(EXPERIMENTS[name].measure(setting, *unit))
