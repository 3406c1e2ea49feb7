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

from fewer import InvalidInput

from .catalogue import EXPERIMENTS, TITLES
from .experiment import Claim, Experiment, Row, Setting, Table, generated
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
    fresh: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Reproduce figures and theorems of the paper: `run("fig1a", runs=20, out="results")`, or `run("all")`.

    Writes NAME.csv, NAME.json, NAME.png and NAME.svg for each, then claims.md over everything the
    folder holds. Rows of an earlier run with the same parameters are taken over unless `fresh`, so
    an interrupted run goes on where it was; every row but its seconds is the same as in an
    uninterrupted run. Rows that are not taken over are put aside in NAME.before.csv. `runs` and
    `seed` give the seeds seed, ..., seed + runs - 1; `jobs` is the number of processes, two by
    default where there are two cores. A full run of an experiment that reads files also makes a
    quick run without them, in the folder `quick`: a check of behaviour that needs no files.
    """
    from .pages import write_pictures

    chosen = select(names)
    if find_spec("matplotlib") is None:
        raise InvalidInput("pictures need matplotlib: install fewer with the extra 'plot'")
    for name, value, least in (("runs", runs, 1), ("seed", seed, 0), ("jobs", jobs, 1)):
        if value is not None and value < least:
            raise InvalidInput(f"--{name} must be at least {least}, got {value}")
    jobs = jobs or min(os.cpu_count() or 1, 2)
    source = None if data is None else as_data(data)
    folder = as_folder(out)
    plans = [plan(EXPERIMENTS[name], runs, quick, seed, source) for name in chosen]
    if fresh:
        for experiment, _ in plans:
            put_aside(folder, experiment, [])
            (folder / f"{experiment.name}.csv").unlink(missing_ok=True)
    for experiment in measured(plans, folder, jobs, progress):
        write_pictures(folder, experiment)
    readers = [
        each
        for each, _ in plans
        if each.source is not generated and each.twin is None and not quick
    ]
    small = [plan(each, 1, True, 0, None) for each in readers]
    if small:
        small_folder = as_folder(folder / "quick")
        for experiment, setting in small:
            measure(experiment, setting, small_folder, None, progress, fresh=fresh)
    return judged(folder)


def judged(out: Any) -> Reproduction:
    """Claims and verdicts of every finished experiment in a folder, from its rows: writes claims.md."""
    from .pages import write_claims

    folder = as_folder(out)
    there = [name for name in TITLES if (folder / f"{name}.png").exists()]
    results = {
        name: whole for name in there if (whole := finished(folder, EXPERIMENTS[name])) is not None
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
    """An experiment with its setting; data that cannot be read are refused here, before any work."""
    usual = experiment.quick_runs if quick else experiment.runs
    setting = Setting(runs or usual, quick, seed, data)
    source, checksum = experiment.source(setting)
    return experiment, replace(setting, source=source, checksum=checksum)


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
        if name not in TITLES and name != "all":
            raise InvalidInput(f"NAME must be all or one of {', '.join(TITLES)}, got {name!r}")
    return [name for name in TITLES if name in names or "all" in names]


def as_data(data: Any) -> Path:
    """`data` as an existing folder."""
    folder = Path(data)
    if not folder.is_dir():
        raise InvalidInput(f"--data must be an existing folder, got {str(data)!r}")
    return folder


def measured(
    plans: list[Plan], folder: Path, jobs: int, progress: Progress | None
) -> Iterator[Experiment]:
    """Measure the experiments; each as it is finished.

    With several processes, experiments of different homes run side by side, those of one home after
    each other: so hardly anything is compiled, or loaded, twice. Processes that are left share the
    units of an experiment.
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
    pools = [
        ProcessPoolExecutor(jobs // lanes + (i < jobs % lanes), context, _start_worker)
        for i in range(lanes)
    ]
    threads, idle = (
        ThreadPoolExecutor(lanes, initializer=_block_interrupts),
        SimpleQueue[ProcessPoolExecutor](),
    )
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
    experiment: Experiment,
    setting: Setting,
    folder: Path,
    pool: ProcessPoolExecutor | None,
    progress: Progress | None,
    *,
    fresh: bool = False,
) -> None:
    """Write all rows of an experiment in the order of its units, those on disk taken over, the others computed."""
    order: list[Unit] = [
        (seed, method) for seed in setting.seeds for method in experiment.methods(setting)
    ]
    done: dict[Unit, list[Row]] = {}
    for row in () if fresh else kept(folder, experiment, setting):
        done.setdefault((row.seed, row.method), []).append(row)
    done = {unit: done[unit] for unit in order if unit in done}
    served: dict[Unit, list[Unit]] = {}
    for seed, method in order:
        if (seed, method) not in done:
            served.setdefault((experiment.source_seed(setting, seed, method), method), []).append(
                (seed, method)
            )
    put_aside(folder, experiment, [row for rows in done.values() for row in rows])
    save_setting(folder, experiment, setting)

    def save() -> None:
        save_rows(folder, experiment, [row for unit in order for row in done.get(unit, ())])

    save()
    saved = time.monotonic()
    try:
        for unit, rows in computed(experiment, setting, list(served), pool):
            done.update(
                {each: [row._replace(seed=each[0]) for row in rows] for each in served[unit]}
            )
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
