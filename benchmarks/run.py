"""`fewer` beside every peer, quality and time on the same inputs in one run.

    python benchmarks/run.py [--job points|bins|terms|dims|core] [--quick] [--peers a,b] [--out DIR]
    [--data DIR] python benchmarks/run.py --resume python benchmarks/run.py --part files --data DIR

The last runs on files of yours: every csv, npz and DEBD table of DIR, or the one file that DIR is,
each for the job that its shape and content suit (benchmarks/problems/files.py), which is printed.

Each peer (benchmarks/peers) runs in a process of its own, on one core, under a budget of seconds
for each method and input; a crash or a hang costs its own row. Written to --out after each answer:
results.csv, own.csv, unseen.csv (public data that nothing was tuned on, benchmarks/unseen.py) and
curves.csv; at the end tables.md, and plots of quality against time and of time and memory against
size. A run that was ended, or was over its --minutes, is completed by --resume, and can be
published as it is. Real data (--data) is used where the files are there.
"""

import argparse
import json
import os
import platform
import selectors
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any

import own
import plots
import summary
import tables
import unseen
import versions
from peers import Peer, every
from problems import Case, curve_cases, file_cases, files, full_cases, quick_cases
from tables import JOBS

HERE = Path(__file__).parent
COMPILING = 120.0
"""Seconds that a first call may take beyond the budget: it may compile."""
CURVES = {
    "fewer": {"points": ["auto"], "bins": ["auto"], "terms": ["exchange"], "dims": ["exchange"]},
    "k-means": {"points": ["snapped"]},
    "scikit-learn": {"terms": ["OMP"]},
    "greedy by NumPy": {"dims": ["greedy"]},
}
"""Cost curves are of the searches of `fewer` (proofs end by the clock), with a light peer for
scale."""
MINUTES = 55.0
"""No method is begun after these, and --resume completes the run: so `make bench` keeps to an hour.
"""
QUICK_BUDGET, BUDGET = 5.0, 15.0
ENDED = Event()
"""Set where the run was interrupted: no worker is started any more."""


def lines_of(process: subprocess.Popen[str], patience: float) -> Iterator[dict[str, Any] | None]:
    """The worker's lines as they come; None when none came for so long."""
    watch, last = selectors.DefaultSelector(), time.perf_counter()
    watch.register(process.stdout, selectors.EVENT_READ)
    while not ENDED.is_set():
        if watch.select(1.0):
            line, last = process.stdout.readline(), time.perf_counter()
            if not line:
                return
            yield json.loads(line)
        elif time.perf_counter() - last > patience:
            yield None
            return


def run_peer(
    peer: Peer, tasks: list[tuple[Case, str]], options: Namespace, core: int | None
) -> Iterator[tuple[Case, str, dict]]:
    """Every task's outcome.

    a worker that dies or is silent for too long is started again after the task it was at.
    """
    while tasks and not ENDED.is_set():
        at, silent, process = 0, False, started(peer, tasks, options, core)
        try:
            for line in lines_of(process, 1.3 * options.budget + COMPILING):
                silent = line is None
                if line is not None and "end" in line:
                    yield *tasks[at], line
                    at += 1
                if ENDED.is_set() or time.perf_counter() > options.until:
                    break
        finally:
            process.kill()
            code = process.wait()
        if ENDED.is_set():
            return
        if time.perf_counter() > options.until:
            why = f"left out: the {options.minutes:g} minutes of the run were over"
            yield from ((*task, {"error": why}) for task in tasks[at:])
            return
        if at < len(tasks):
            why = f"no answer in {1.3 * options.budget + COMPILING:.0f} s"
            yield *tasks[at], {"error": why if silent else f"the process died (code {code})"}
            at += 1
        tasks = tasks[at:]


def started(peer: Peer, tasks: list[tuple[Case, str]], options: Namespace, core: int | None) -> Any:
    """A worker that has been told its tasks."""
    listed = [{"case": asdict(case), "method": method} for case, method in tasks]
    order = {
        "peer": peer.name,
        "tasks": listed,
        "data": str(options.data),
        "budget": options.budget,
    }
    order |= {"runs": options.runs, "core": core}
    with (options.out / f"{peer.name}.log").open("a") as log:
        process = subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,  # Ctrl-C is for this process, which ends the workers
        )
    process.stdin.write(json.dumps(order))
    process.stdin.close()
    return process


def too_large(peer: Peer, method: str, case: Case, largest: int) -> str:
    """Why a method is not given this input, or nothing."""
    most = peer.modest.get(method)
    sizes = [value for key, value in case.params if key in ("N", "n", "rows", "items")]
    sizes += [{"digits": 1797, "usps": 7291, "charges": 10_000}.get(case.kind, 0)]
    if case.kind == "tracking":
        sizes += [{"hangseng31": 31, "ftse89": 89, "sp500": 386}[dict(case.params)["index"]]]
    if case.kind in files.KINDS:
        rows, columns = (int(number) for number in dict(case.params)["shape"].split(" x "))
        sizes += [columns if case.job == "terms" else rows]
    if max(sizes) > largest:
        return f"left out by --largest {largest}"
    if most is not None and max(sizes) > most:
        return f"not tried above {most:,} rows or columns: memory or time is out of reach"
    return ""


def rows_of(
    peer: Peer, case: Case, method: str, outcome: dict[str, Any], runs: int = 3
) -> list[dict[str, Any]]:
    """The lines of the csv for one outcome; fewer runs than were planned are noted."""
    head = {
        "job": case.job,
        "case": case.name,
        "kind": case.kind,
        "k": case.k,
        "axis": case.axis,
        "size": case.size if case.axis else "",
        "peer": peer.name,
        "version": peer.version,
        "method": method,
    }
    if "error" in outcome:
        return [{**head, "note": outcome["error"]}]
    note = "" if outcome["runs"] >= runs else f"{outcome['runs']} run(s)"
    shared = {"first": outcome["first"], "peak_mb": outcome["peak"], "runs": outcome["runs"]}
    proven = outcome.get("proven", False)
    return [{**head, **shared, **row, "proven": proven, "note": note} for row in outcome["rows"]]


def wanted(peer: Peer, case: Case) -> list[str]:
    """The methods of a peer for a case; on cost curves only those of CURVES."""
    served = list(peer.serves(case.job, case.kind))
    return [
        method
        for method in served
        if not case.axis or method in CURVES[peer.name].get(case.job, [])
    ]


def measured(
    peers: dict[str, Peer], cases: list[Case], options: Namespace
) -> Iterator[list[dict[str, Any]]]:
    """Rows as they come; with several lanes as many peers at a time, each on a core of its own."""
    pairs = [
        (peer, [case for case in cases if case.job == job])
        for job in JOBS
        for peer in peers.values()
    ]
    # what takes longest first: `fewer` compiles, and proofs have minutes
    pairs.sort(key=lambda pair: (pair[0].name != "fewer", not pair[0].minutes))
    cores = (
        sorted(os.sched_getaffinity(0))[: options.lanes] if hasattr(os, "sched_getaffinity") else []
    )
    if len(cores) < 2:
        for peer, mine in pairs:
            yield from answers(peer, mine, options, None)
        return
    free, heard = SimpleQueue[int](), SimpleQueue[list[dict[str, Any]] | None]()
    for core in cores:
        free.put(core)

    def on_a_core(pair: tuple[Peer, list[Case]]) -> None:
        core = free.get()
        try:
            for rows in answers(*pair, options, core):
                heard.put(rows)
        finally:
            free.put(core)
            heard.put(None)

    with ThreadPoolExecutor(len(cores)) as lanes:
        futures = [lanes.submit(on_a_core, pair) for pair in pairs]
        try:
            for _ in futures:
                yield from iter(heard.get, None)
        except BaseException:
            ENDED.set()  # else the lanes would go on, and be waited for
            raise
        for future in futures:
            future.result()  # what went wrong in a lane is heard


def answers(
    peer: Peer, cases: list[Case], options: Namespace, core: int | None
) -> Iterator[list[dict[str, Any]]]:
    """Rows of one peer; what is skipped has a row with its reason."""
    tasks = []
    for case in cases:
        for method in wanted(peer, case):
            if (case.name, case.axis, peer.name, method) in options.known:
                continue
            why = (
                case.missing(options.data)
                or peer.reason
                or too_large(peer, method, case, options.largest)
            )
            if why:
                yield rows_of(peer, case, method, {"error": why})
            else:
                tasks.append((case, method))
    for case, method, outcome in run_peer(peer, tasks, options, core):
        rows = rows_of(peer, case, method, outcome, options.runs)
        for row in rows:
            print(tables.one_line(row), flush=True)
        yield rows


def chosen_peers(names: str | None, alone: bool) -> dict[str, Peer]:
    peers = every()
    if names is None:
        return peers
    asked = [*([] if alone else ["fewer"]), *(name.strip() for name in names.split(","))]
    unknown = [name for name in asked if name not in peers]
    if unknown:
        sys.exit(f"--peers must name peers of {', '.join(peers)}, got {', '.join(unknown)}")
    return {name: peers[name] for name in dict.fromkeys(asked)}


def chosen_cases(options: Namespace) -> list[Case]:
    """The inputs that were asked for; of files it is said what they serve."""
    if options.part != "files":
        return quick_cases() if options.quick else full_cases()
    for job, name, shape, k in files.listed(options.data):
        print(
            f"{name}, {shape}: {f'{job}, k = {k}' if job else 'too small for any job'}", flush=True
        )
    return file_cases(options.data)


def machine() -> str:
    """Processor, cores, memory, Python."""
    info = Path("/proc/cpuinfo")
    names = (
        [
            line.split(":")[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        if (info.exists())
        else []
    )
    memory = Path("/proc/meminfo")
    ram = (
        f", {int(memory.read_text().split()[1]) / 2**20:.0f} GB of memory"
        if memory.exists()
        else ""
    )
    cpu = f"{names[0]}, {len(names)} cores" if names else platform.processor() or platform.machine()
    return f"{cpu}{ram}, Python {platform.python_version()}, {platform.system()}"


def kept(path: Path, resume: bool) -> list[dict[str, Any]]:
    """Rows of a run before this one; what the clock left out is measured again."""
    rows = tables.read_csv(path) if resume else []
    return [row for row in rows if not str(row["note"]).startswith("left out")]


def collect(name: str, peers: dict[str, Peer], cases: list[Case], options: Namespace) -> None:
    """Measure these inputs; the csv is written anew after each answer."""
    path = options.out / f"{name}.csv"
    rows = kept(path, options.resume)
    options.known = {(row["case"], row["axis"], row["peer"], row["method"]) for row in rows}
    for more in measured(peers, [case for case in cases if case.job in options.jobs], options):
        rows += more
        tables.write_csv(path, rows)
        options.note()


def collect_own(options: Namespace) -> None:
    """What `fewer` costs by itself: measured whole or taken over whole."""
    path = options.out / "own.csv"
    if options.resume and path.exists():
        return
    rows = []
    for row in own.measurements(options.quick):
        rows.append(row)
        print(f"{row['what']}: {row['value']:.4g} {row['unit']}, {row['note']}", flush=True)
    tables.write_csv(path, rows)


def collect_unseen(peers: dict[str, Peer], options: Namespace) -> None:
    """Public data that nothing was tuned on, with the settings of a quick run."""
    data = options.out / "unseen"
    unseen.write(data)
    changed = {"data": data, "budget": min(options.budget, QUICK_BUDGET), "runs": 1}
    collect("unseen", peers, file_cases(data), Namespace(**{**vars(options), **changed}))


def run(options: Namespace, peers: dict[str, Peer]) -> None:
    """Every part that was asked for, the most important first."""
    whole = options.part is None and not options.quick
    if (
        options.part is None and not options.resume
    ):  # nothing of a run before this one is taken for its own
        for name in ("results", "own", "unseen", "curves"):
            (options.out / f"{name}.csv").unlink(missing_ok=True)
    if options.part in (None, "tables", "files"):
        collect("results", peers, chosen_cases(options), options)
    if "core" in options.jobs and options.part in (None, "tables"):
        collect_own(options)
    if whole or options.part == "unseen":
        collect_unseen(peers, options)
    if whole or options.part == "curves":
        few = {name: peer for name, peer in peers.items() if name in CURVES}
        collect("curves", few, curve_cases(options.quick), options)


def commit() -> str:
    """The commit that is measured, and whether files differ from it."""
    try:
        changed = versions.git(
            "status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks"
        )
        return versions.git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def head_of(options: Namespace) -> dict[str, Any]:
    """The head of a run; a resumed one adds its command and seconds to those before."""
    path, command = (
        options.out / "run.json",
        " ".join(["python", "benchmarks/run.py", *sys.argv[1:]]),
    )
    before = json.loads(path.read_text()) if options.resume and path.exists() else {}
    if before and (before["quick"], before["budget"]) != (options.quick, options.budget):
        asked = f"--quick {before['quick']} and --budget {before['budget']:g}"
        sys.exit(f"--resume must complete a run of the same settings: {options.out} has {asked}")
    head = {
        "command": "`, `".join(dict.fromkeys([*filter(None, [before.get("command")]), command]))
    }
    head["commit"] = ", ".join(dict.fromkeys([*filter(None, [before.get("commit")]), commit()]))
    head |= {
        "machine": machine(),
        "quick": options.quick,
        "budget": options.budget,
        "lanes": options.lanes,
    }
    return head | {"before": before.get("seconds", 0.0), "seconds": before.get("seconds", 0.0)}


def parsed() -> Namespace:
    """The options, with what follows from them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--job", choices=JOBS)
    parser.add_argument(
        "--quick", action="store_true", help="small inputs and budgets: minutes in all"
    )
    parser.add_argument("--peers", help="only these, separated by commas; `fewer` is always there")
    parser.add_argument(
        "--alone", action="store_true", help="--peers without `fewer`, to complete another run"
    )
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument("--resume", action="store_true", help="complete the run that is in --out")
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help="nothing is begun after these; 55 unless told",
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--budget", type=float, help="seconds for the calls of one method on one input"
    )
    parser.add_argument(
        "--largest", type=int, default=10**9, help="leave out inputs of more rows or columns"
    )
    parser.add_argument(
        "--lanes",
        type=int,
        default=2,
        help="peers at a time, each on a core of its own; 2 unless told",
    )
    parts = ["tables", "unseen", "curves", "files"]
    parser.add_argument(
        "--part",
        choices=parts,
        help="only the tables, unseen data, cost curves, or files of --data",
    )
    options = parser.parse_args()
    options.budget = (
        (QUICK_BUDGET if options.quick else BUDGET) if options.budget is None else options.budget
    )
    options.runs = 1 if options.quick else 3
    if options.budget <= 0 or options.lanes < 1 or options.minutes <= 0:
        settings = f"{options.budget:g}, {options.lanes} and {options.minutes:g}"
        parser.error(f"--budget, --lanes and --minutes must be positive, got {settings}")
    options.jobs = [options.job] if options.job else list(JOBS)
    options.until = time.perf_counter() + 60.0 * options.minutes
    return options


def main() -> None:
    options = parsed()
    for name in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # also where a shell in the background ignores the first
        signal.signal(name, signal.default_int_handler)
    options.out.mkdir(parents=True, exist_ok=True)
    began, head = time.perf_counter(), head_of(options)

    def note() -> None:
        head["seconds"] = head["before"] + time.perf_counter() - began
        (options.out / "run.json").write_text(json.dumps(head))

    note()
    options.note = note
    try:
        run(options, chosen_peers(options.peers, options.alone))
    except KeyboardInterrupt:
        print(
            f"ended; what was measured is in {options.out}, and --resume completes it", flush=True
        )
    note()
    tables.write_report(options.out)
    plots.draw(options.out)
    print("\n".join(summary.summary(tables.read_csv(options.out / "results.csv"))))
    print(f"wrote {options.out}/tables.md after {head['seconds']:.0f} s")


if __name__ == "__main__":
    main()
