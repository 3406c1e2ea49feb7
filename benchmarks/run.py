"""`fewer` beside every peer, quality and time on the same inputs in one run.

    python benchmarks/run.py [--job points|bins|terms|dims|core] [--quick] [--peers a,b] [--out DIR] [--data DIR]
    python benchmarks/run.py --part files --data DIR

The second runs on files of yours: every csv, npz and DEBD table of DIR, or the one file that DIR is, each for the job
that its shape and content suit (benchmarks/problems/files.py), which is printed.

Each peer (benchmarks/peers) runs in a process of its own, on one core, under a budget of seconds for each method and
input; a crash or a hang costs its own row. Written to --out: results.csv, curves.csv, own.csv, tables.md, and plots of
quality against time and of time and memory against size. Real data (--data) is used where the files are there.
"""

import argparse
import json
import os
import platform
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import own
import plots
import summary
import tables
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
"""Cost curves are of the searches of `fewer` (proofs end by the clock), with a light peer for scale."""


def lines_of(process: subprocess.Popen[str], patience: float) -> Iterator[dict[str, Any] | None]:
    """The worker's lines as they come; None when none came for so long."""
    watch = selectors.DefaultSelector()
    watch.register(process.stdout, selectors.EVENT_READ)
    while True:
        if not watch.select(patience):
            yield None
            return
        line = process.stdout.readline()
        if not line:
            return
        yield json.loads(line)


def run_peer(
    peer: Peer, tasks: list[tuple[Case, str]], options: argparse.Namespace, core: int | None
) -> Iterator[tuple[Case, str, dict]]:
    """Every task's outcome; a worker that dies or is silent for too long is started again after the task it was at."""
    if not tasks:
        return
    log = (options.out / f"{peer.name}.log").open("a")
    data, budget = options.data, options.budget
    while tasks:
        listed = [{"case": asdict(case), "method": method} for case, method in tasks]
        order = {"peer": peer.name, "tasks": listed, "data": str(data), "budget": budget}
        order |= {"runs": options.runs, "core": core}
        process = subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        process.stdin.write(json.dumps(order))
        process.stdin.close()
        at, silent = 0, False
        for line in lines_of(process, 1.3 * budget + COMPILING):
            silent = line is None
            if line is not None and "end" in line:
                yield *tasks[at], line
                at += 1
        process.kill()
        code = process.wait()
        if at < len(tasks):
            why = f"no answer in {1.3 * budget + COMPILING:.0f} s" if silent else f"the process died (code {code})"
            yield *tasks[at], {"error": why}
            at += 1
        tasks = tasks[at:]


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


def rows_of(peer: Peer, case: Case, method: str, outcome: dict[str, Any], runs: int = 3) -> list[dict[str, Any]]:
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
    return [method for method in served if not case.axis or method in CURVES[peer.name].get(case.job, [])]


def measured(peers: dict[str, Peer], cases: list[Case], options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """Rows, peer by peer within a job; with several lanes as many peers at a time, each on a core of its own."""
    pairs = [(peer, [case for case in cases if case.job == job]) for job in JOBS for peer in peers.values()]
    cores = sorted(os.sched_getaffinity(0))[: options.lanes] if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        for peer, mine in pairs:
            yield from answers(peer, mine, options, None)
        return
    free = SimpleQueue[int]()
    for core in cores:
        free.put(core)

    def on_a_core(pair: tuple[Peer, list[Case]]) -> list[list[dict[str, Any]]]:
        core = free.get()
        try:
            return list(answers(*pair, options, core))
        finally:
            free.put(core)

    # what takes longest first: `fewer` compiles, and proofs have minutes
    pairs.sort(key=lambda pair: (pair[0].name != "fewer", not pair[0].minutes))
    with ThreadPoolExecutor(len(cores)) as lanes:
        for future in as_completed([lanes.submit(on_a_core, pair) for pair in pairs]):
            yield from future.result()


def answers(
    peer: Peer, cases: list[Case], options: argparse.Namespace, core: int | None
) -> Iterator[list[dict[str, Any]]]:
    """Rows of one peer; what is skipped has a row with its reason."""
    tasks = []
    for case in cases:
        for method in wanted(peer, case):
            why = case.missing(options.data) or peer.reason or too_large(peer, method, case, options.largest)
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


def chosen_cases(options: argparse.Namespace) -> list[Case]:
    """The inputs that were asked for; of files it is said what they serve."""
    if options.part != "files":
        return quick_cases() if options.quick else full_cases()
    for job, name, shape, k in files.listed(options.data):
        print(f"{name}, {shape}: {f'{job}, k = {k}' if job else 'too small for any job'}", flush=True)
    return file_cases(options.data)


def machine() -> str:
    """Processor, cores, memory, Python."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.split(":")[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if (info.exists())
        else []
    )
    memory = Path("/proc/meminfo")
    ram = f", {int(memory.read_text().split()[1]) / 2**20:.0f} GB of memory" if memory.exists() else ""
    cpu = f"{names[0]}, {len(names)} cores" if names else platform.processor() or platform.machine()
    return f"{cpu}{ram}, Python {platform.python_version()}, {platform.system()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", choices=JOBS)
    parser.add_argument("--quick", action="store_true", help="small inputs and budgets: minutes in all")
    parser.add_argument("--peers", help="only these, separated by commas; `fewer` is always there")
    parser.add_argument("--alone", action="store_true", help="--peers without `fewer`, to complete another run")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--budget", type=float, help="seconds for the calls of one method on one input")
    parser.add_argument("--largest", type=int, default=10**9, help="leave out inputs of more rows or columns")
    parser.add_argument("--lanes", type=int, help="peers at a time, each on a core of its own; 2 unless told")
    parts = ["tables", "curves", "files"]
    parser.add_argument("--part", choices=parts, help="only the tables, the cost curves, or the files of --data")
    options = parser.parse_args()
    options.budget = (5.0 if options.quick else 15.0) if options.budget is None else options.budget
    options.runs = 1 if options.quick else 3
    options.lanes = 2 if options.lanes is None else options.lanes
    if options.budget <= 0 or options.lanes < 1:
        parser.error(f"--budget and --lanes must be positive, got {options.budget:g} and {options.lanes}")
    options.out.mkdir(parents=True, exist_ok=True)
    began, peers = time.perf_counter(), chosen_peers(options.peers, options.alone)
    jobs = [options.job] if options.job else list(JOBS)
    command = " ".join(["python", "benchmarks/run.py", *sys.argv[1:]])
    head = {"command": command, "machine": machine(), "quick": options.quick, "budget": options.budget}
    head["lanes"] = options.lanes
    (options.out / "run.json").write_text(json.dumps(head))  # for a run that is cut short

    def save(name: str, rows: list[dict[str, Any]]) -> None:
        tables.write_csv(options.out / name, rows)

    if options.part != "curves":
        rows: list[dict[str, Any]] = []
        for more in measured(peers, [case for case in chosen_cases(options) if case.job in jobs], options):
            rows += more
            save("results.csv", rows)
        if "core" in jobs and options.part != "files":
            alone: list[dict[str, Any]] = []
            for row in own.measurements(options.quick):
                alone.append(row)
                save("own.csv", alone)
    if options.part == "curves" or (options.part is None and not options.quick):
        few = {name: peer for name, peer in peers.items() if name in CURVES}
        rows = []
        for more in measured(few, [case for case in curve_cases(options.quick) if case.job in jobs], options):
            rows += more
            save("curves.csv", rows)
    head["seconds"] = time.perf_counter() - began
    (options.out / "run.json").write_text(json.dumps(head))
    tables.write_report(options.out)
    plots.draw(options.out)
    print("\n".join(summary.summary(tables.read_csv(options.out / "results.csv"))))
    print(f"wrote {options.out}/tables.md after {head['seconds']:.0f} s")


if __name__ == "__main__":
    main()
