"""Data beyond memory and beyond one machine: `python benchmarks/scale.py --part cut,kill`.

Parts: block, cut, kill, core, workers, stream.
Sizes are options; `--rows 50000000 --baskets 100000000` are the full ones. Data are made under `--folder`.
What was measured, with the commands, stands in docs/scaling.md.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import polars as pl

JOBS = ("points", "bins", "dims", "terms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", default="block,cut,kill,core,workers,stream")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the tables (x 8)")
    parser.add_argument("--baskets", type=int, default=2_000_000)
    parser.add_argument("--stream", type=int, default=1_000_000, help="rows of the stream")
    parser.add_argument(
        "--max-memory", default="1GB", help="max_memory of the calls in the part core"
    )
    parser.add_argument("--of", default="points,dims", help="jobs of the part core")
    parser.add_argument(
        "--once", action="store_true", help="points in one pass too, in the part core"
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    parser.add_argument("--child", help="what a process of its own does; for this script itself")
    given = parser.parse_args()
    if given.child:
        child(json.loads(given.child))
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    for part in given.part.split(","):
        print(f"\n## {part}\n", flush=True)
        PARTS[part](given)


# ---------------------------------------------------------------- data


def mixture(n: int, seed: int, shift: float = 0.0) -> np.ndarray:
    """Rows of a mixture of 12 Gaussians in 8 dimensions; `shift` moves all centres."""
    rng = np.random.default_rng(seed)
    centres = 3.0 * np.random.default_rng(99).normal(size=(12, 8)) + shift
    weights = np.linspace(2.0, 0.5, 12)
    which = rng.choice(12, n, p=weights / weights.sum())
    return centres[which] + rng.normal(size=(n, 8))


def lines_of_baskets(first: int, n: int, seed: int) -> pl.DataFrame:
    """Orders from `first` on: one of 20,000 usual baskets, some of them with one more item."""
    rng, usual = np.random.default_rng(seed), np.random.default_rng(7)
    popularity = 1.0 / np.arange(1, 501) ** 0.9
    sizes = usual.integers(1, 6, 20_000)
    items = usual.choice(500, sizes.sum(), p=popularity / popularity.sum())
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rank = 1.0 / np.arange(1, 20_001)
    which = rng.choice(20_000, n, p=rank / rank.sum())
    lengths = sizes[which]
    owner = np.repeat(np.arange(n), lengths)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found = items[starts[which][owner] + offset]
    more = np.flatnonzero(rng.random(n) < 0.03)
    owner, found = (
        np.concatenate([owner, more]),
        np.concatenate([found, rng.integers(0, 500, len(more))]),
    )
    order = np.argsort(owner, kind="stable")
    return pl.DataFrame(
        {"order": (owner[order] + first).astype(np.int32), "item": found[order].astype(np.int16)}
    )


def tables(folder: Path, rows: int) -> str:
    """Parquet files of the mixture, 2.5 million rows each; the pattern of their names."""
    home = folder / f"rows-{rows}"
    home.mkdir(parents=True, exist_ok=True)
    for i, start in enumerate(range(0, rows, 2_500_000)):
        file = home / f"{i:03}.parquet"
        if not file.exists():
            X = mixture(min(2_500_000, rows - start), i)
            pl.DataFrame(X, schema=[f"x{j}" for j in range(8)]).write_parquet(
                file, row_group_size=250_000
            )
    return str(home / "*.parquet")


def orders(folder: Path, baskets: int) -> str:
    """Parquet files of baskets, two million each."""
    home = folder / f"baskets-{baskets}"
    home.mkdir(parents=True, exist_ok=True)
    for i, start in enumerate(range(0, baskets, 2_000_000)):
        file = home / f"{i:03}.parquet"
        if not file.exists():
            lines_of_baskets(start, min(2_000_000, baskets - start), i).write_parquet(
                file, row_group_size=500_000
            )
    return str(home / "*.parquet")


# ---------------------------------------------------------------- processes of their own


def peak() -> int:
    """The most memory this process has taken, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


def child(what: dict) -> None:
    """One measurement in a process of its own; what it found goes to stdout as JSON."""
    import fewer
    from fewer.tables.source import Execution, executed

    empty, started, spent = peak(), time.perf_counter(), time.process_time()
    found: dict = {}
    if what["do"] == "read":
        for file in (
            sorted(Path().glob(what["files"]))
            if not os.path.isabs(what["files"])
            else expand(what["files"])
        ):
            pl.read_parquet(file)
    elif what["do"] == "points":
        files = expand(what["files"])
        X = (
            pl.read_parquet(files).head(what["head"]).to_pandas()
            if "head" in what
            else [str(f) for f in files]
        )
        passes: dict = {}
        with executed(
            Execution(
                what.get("workers", 1),
                lambda name, rows: passes.__setitem__(name, time.perf_counter() - started),
            )
        ):
            if what.get("once"):
                X = (pl.read_parquet(file) for file in files)
            result = fewer.points(X, what["k"], rng=0, max_memory=what["memory"])
        found = {
            "value": result.value,
            "se": result.value_se,
            "note": result.note,
            "weights": result.weights.tolist(),
        }
        found["passes"] = passes
        found["rows"] = (
            result.rows.to_numpy().tolist()
            if hasattr(result.rows, "to_numpy")
            else result.rows.tolist()
        )
        found["compared"] = [
            result.compared.width,
            result.compared.scaling.mean.tolist(),
            result.compared.scaling.spread.tolist(),
        ]
    elif what["do"] == "dims":
        files = expand(what["files"])
        X = pl.read_parquet(files) if what.get("whole") else [str(f) for f in files]
        result = fewer.dims(
            X, what["k"], order="order", item="item", rng=0, max_memory=what["memory"]
        )
        found = {
            "value": result.value,
            "bound": result.bound,
            "note": result.note,
            "covered": float(np.exp(-result.value)),
        }
        found["items"] = [int(label) for label in result.labels]
    found["cpu"] = time.process_time() - spent
    print(
        json.dumps(
            {
                "seconds": time.perf_counter() - started,
                "peak": peak() - empty,
                "empty": empty,
                **found,
            }
        )
    )


def expand(pattern: str) -> list:
    import glob

    return sorted(glob.glob(pattern))


def alone(**what) -> dict:
    """The same, asked for."""
    run = subprocess.run(  # noqa: S603
        [sys.executable, __file__, "--child", json.dumps(what)], capture_output=True, text=True
    )
    if run.returncode:
        raise SystemExit(run.stderr[-2000:])
    return json.loads(run.stdout.splitlines()[-1])


# ---------------------------------------------------------------- parts


def small_data() -> dict:
    rng = np.random.default_rng(5)
    X = mixture(20_000, 3)
    D = (rng.random((20_000, 20)) < np.linspace(0.3, 0.03, 20)).astype(np.uint8)
    return {
        "points": X,
        "bins": rng.lognormal(size=100_000),
        "dims": D,
        "terms": (X, X @ np.r_[0.5, 0.3, 0.2, np.zeros(5)] + rng.normal(size=len(X))),
    }


def answer(job: str, given, y=None):
    import fewer

    if job == "points":
        return fewer.points(given, 10, rng=0)
    if job == "bins":
        return fewer.bins(given, 20)
    return fewer.dims(given, 6, rng=0) if job == "dims" else fewer.terms(given, y, 3, rng=0)


def never_gather() -> None:
    """Have all data take the road of blocks, however small, cut into several canonical ones, with 1,000 candidates."""
    from fewer import row_blocks
    from fewer.jobs.points import blocks as _points_blocks
    from fewer.tables import dask as _dask
    from fewer.tables import source

    source.Stream.whole = lambda self, memory: None
    _dask.DaskBlocks.whole = lambda self, memory: None
    row_blocks.MAX_BLOCK_ROWS = 2**12
    _points_blocks.MAX_CANDIDATES = _points_blocks.MIN_CANDIDATES = 1000


def cluster(workers: int):
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": 10})
    local = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
    )
    return local, Client(local, timeout=60)


def in_dask(data, parts: int, slow: float = 0.0):
    """Delayed blocks, each of which takes a moment."""
    import dask

    def part(values, seconds):
        time.sleep(seconds)
        return values

    return [dask.delayed(part)(p, slow) for p in np.array_split(data, parts)]


def cut(given) -> None:
    """Same answers however the data are cut."""
    never_gather()
    print("| job | where | cut into | value | same indices | relative difference | s |")
    print("|---|---|---|---|---|---|---|")
    data, first = small_data(), {}
    for where, count in (
        ("memory", 0),
        ("npy files", 0),
        ("Dask, 1 worker process", 1),
        ("Dask, 2", 2),
    ):
        with on_cluster(count) if count else nullcontext():
            for job, given_data in data.items():
                X, y = given_data if job == "terms" else (given_data, None)
                for n in (1, 7, 64) if where == "memory" else (7, 64):
                    started = time.perf_counter()
                    found = answer(
                        job, given_as(given, where, job, X, y, n), None if where == "memory" else y
                    )
                    seconds = time.perf_counter() - started
                    same = (
                        "yes"
                        if np.array_equal(found.indices, first.setdefault(job, found).indices)
                        else "NO"
                    )
                    off = abs(found.value - first[job].value) / abs(first[job].value)
                    said = f"| {job} | {where} | {n} | {found.value:.12g} | {same} | {off:.1e} | {seconds:.1f} |"
                    print(said, flush=True)


def given_as(given, where: str, job: str, X, y, n: int):
    """Data in n blocks, from memory, files or Dask."""
    if where == "memory":
        parts = in_parts(X, y, n)
        return lambda: iter(parts)
    if where == "npy files":
        home = given.folder / f"cut-{job}-{n}"
        home.mkdir(exist_ok=True)
        for i, part in enumerate(np.array_split(X, n)):
            np.save(home / f"{i:03}.npy", part)
        return str(home / "*.npy")
    return in_dask(X, n)


def in_parts(X, y, n: int) -> list:
    """Blocks, or pairs of them."""
    if y is None:
        return np.array_split(X, n)
    return list(zip(np.array_split(X, n), np.array_split(y, n), strict=True))


@contextmanager
def on_cluster(workers: int):
    """Within it there is a cluster."""
    local, client = cluster(workers)
    with local, client:
        yield client


def kill(given) -> None:
    """Workers killed with -9 in the middle of each job."""
    never_gather()
    print("| job | killed | answer | s |")
    print("|---|---|---|---|")
    for job, given_data in small_data().items():
        X, y = given_data if job == "terms" else (given_data, None)
        parts = in_parts(X, y, 7)
        expected = answer(job, lambda parts=parts: iter(parts))
        for many in (1, 2):
            with on_cluster(2) as client:
                pids = list(client.run(os.getpid).values())[:many]
                timers = [threading.Timer(1.0, os.kill, (pid, signal.SIGKILL)) for pid in pids]
                for timer in timers:
                    timer.start()
                started = time.perf_counter()
                try:
                    found = answer(job, in_dask(X, 24, 0.15), y)
                    same = np.array_equal(found.indices, expected.indices)
                    said = (
                        f"same, value off by {abs(found.value / expected.value - 1):.0e}"
                        if same
                        else "OTHER"
                    )
                except Exception as error:
                    said = f"{type(error).__name__}: {error}"
                seconds = time.perf_counter() - started
                early = " (before the kill)" if any(timer.is_alive() for timer in timers) else ""
                print(f"| {job} | {many} of 2 | {said}{early} | {seconds:.1f} |", flush=True)
                for timer in timers:
                    timer.join()


class Judge:
    """MMD² of weighted points to very many rows by 2,048 random features drawn apart, in NumPy: no code of the road."""

    def __init__(self, compared: list, count: int = 2048) -> None:
        gamma, self.mean, self.spread = compared
        self.frequencies = np.sqrt(2 * gamma) * np.random.default_rng(12345).normal(size=(8, count))
        self.sums, self.rows = np.zeros(count, complex), 0

    def waves(self, X, dtype=np.float32) -> np.ndarray:
        phase = ((np.asarray(X) - self.mean) / self.spread).astype(dtype) @ self.frequencies.astype(
            dtype
        )
        return np.cos(phase) + 1j * np.sin(phase)

    def add(self, X: np.ndarray) -> None:
        for start in range(0, len(X), 2000):
            self.sums += self.waves(X[start : start + 2000]).sum(axis=0, dtype=complex)
        self.rows += len(X)

    def of(self, rows, weights, sampled: bool = False) -> tuple[float, float]:
        """The value and its standard error; where the rows were a sample, without what their number adds."""
        mean = self.sums / self.rows
        squared = np.abs(np.asarray(weights) @ self.waves(rows, np.float64) - mean) ** 2
        if sampled:
            squared -= (1.0 - np.abs(mean) ** 2) / self.rows
        return float(squared.mean()), float(squared.std() / len(squared) ** 0.5)


def core(given) -> None:
    """Out of core: points and dims from parquet files, beside the time to read them, and beside a tenth in memory."""
    for job in given.of.split(","):
        {"points": core_points, "dims": core_dims}[job](given)


def core_points(given) -> None:
    files = tables(given.folder, given.rows)
    size = sum(os.path.getsize(f) for f in expand(files)) / 1e9
    read = alone(do="read", files=files)
    print(f"{given.rows:,} rows x 8, {size:.2f} GB of parquet; polars reads them in {both(read)}\n")
    print(
        "| run | s (of processor) | rows per second | times the reading | peak above an empty process | value | se |"
    )
    print("|---|---|---|---|---|---|---|")
    answers = []
    for name, what in (
        ("100 points, two passes", {"files": files}),
        ("100 points, one pass", {"files": files, "once": True}) if given.once else ("", {}),
        ("a tenth in memory", {"files": files, "head": given.rows // 10}),
    ):
        if not what:
            continue
        found = alone(do="points", k=100, memory=given.max_memory, **what)
        answers.append((name, found))
        print(
            f"| {name} | {both(found)} | {what.get('head', given.rows) / found['seconds']:,.0f} | "
            f"{found['cpu'] / read['cpu']:.0f} | {found['peak']} MB | {found['value']:.4g} | {found['se']:.2g} |",
            flush=True,
        )
        print(f"<!-- ends of passes: {found['passes']} -->", flush=True)
    judge = Judge(answers[0][1]["compared"])
    step = max(given.rows // 2_500_000 // 10, 1)  # a tenth of all rows, from all over the files
    for file in expand(files)[::step]:
        judge.add(pl.read_parquet(file).to_numpy()[:: max(10 // step, 1)])
    for name, found in answers:
        value, error = judge.of(found["rows"], found["weights"], sampled=True)
        print(
            f"{name}: by 2,048 other features of {judge.rows:,} rows {value:.4g}, standard error {error:.2g}"
        )


def both(found: dict) -> str:
    """Seconds on the clock, and of the processor: the machine may have more to do."""
    return f"{found['seconds']:.1f} ({found['cpu']:.1f})"


def core_dims(given) -> None:
    files = orders(given.folder, given.baskets)
    size = sum(os.path.getsize(f) for f in expand(files)) / 1e9
    read = alone(do="read", files=files)
    print(
        f"\n{given.baskets:,} baskets, {size:.2f} GB of parquet; polars reads them in {both(read)}\n"
    )
    print(
        "| run | s (of processor) | baskets per second | times the reading | peak above an empty process | covered | "
        "at most | note |"
    )
    print("|---|---|---|---|---|---|---|---|")
    tenth = orders(given.folder, given.baskets // 10)
    for name, n, what in (
        ("50 items", given.baskets, {"files": files}),
        ("a tenth in memory", given.baskets // 10, {"files": tenth, "whole": True}),
    ):
        found = alone(do="dims", k=50, memory=given.max_memory, **what)
        ratio = found["cpu"] / read["cpu"]
        print(
            f"| {name} | {both(found)} | {n / found['seconds']:,.0f} | {ratio:.0f} | "
            f"{found['peak']} MB | {found['covered']:.6f} | {np.exp(-found['bound']):.6f} | {found['note']} |",
            flush=True,
        )


STAGES = {"head": "first rows", "fold": "passes", "take": "kept rows"}
"""What is timed of a run on Dask, by the method that does it; the rest is the search and the graph."""


@contextmanager
def timed_stages():
    """Within it the seconds of the stages of a run are summed up: first rows, counting rows, passes, kept rows."""
    from functools import cached_property

    from fewer.tables import dask as _dask

    spent: dict = {}

    def timed(name, work):
        def run(self, *args):
            started, before = time.perf_counter(), spent.get("counting rows", 0.0)
            found = work(self, *args)
            inner = spent.get("counting rows", 0.0) - before
            key = f"pass {args[0]}" if name == "passes" else name
            spent[key] = spent.get(key, 0.0) + time.perf_counter() - started - inner
            return found

        return run

    methods = {name: getattr(_dask.DaskBlocks, name) for name in STAGES}
    lengths = _dask.Partitions.__dict__["lengths"]
    counted = cached_property(timed("counting rows", lengths.func))
    counted.__set_name__(_dask.Partitions, "lengths")
    for name, work in methods.items():
        setattr(_dask.DaskBlocks, name, timed(STAGES[name], work))
    _dask.Partitions.lengths = counted
    try:
        yield spent
    finally:
        _dask.Partitions.lengths = lengths
        for name, work in methods.items():
            setattr(_dask.DaskBlocks, name, work)


def workers(given) -> None:
    """Speed-up from one to two workers, where one worker's time goes, and a cost model that a third run checks."""
    import dask

    from fewer.jobs.points import blocks as _points_blocks
    from fewer.tables import dask as _dask

    _dask.DaskBlocks.whole = lambda self, memory: None
    _points_blocks.MAX_CANDIDATES = (
        2000  # as many as very large data have: below 3.6 million rows there are more
    )

    def read(path, start, n):
        return pl.scan_parquet(path).slice(start, n).collect().to_numpy()

    files = expand(tables(given.folder, given.rows))
    parts = [
        dask.delayed(read)(path, start, 250_000)
        for path in files
        for start in range(0, 2_500_000, 250_000)
    ]
    parts = parts[: -(-given.rows // 250_000)]
    block, times, stages = one_block(given.rows), {}, {}
    for count, share in ((1, 1.0), (2, 1.0), (2, 0.5)):
        with on_cluster(count) as client, timed_stages() as spent:
            answer("points", parts[:count])  # have everything imported and compiled
            spent.clear()
            own, there = time.process_time(), sum(client.run(time.process_time).values())
            started = time.perf_counter()
            answer("points", parts[: max(int(share * len(parts)), 1)])
            times[count, share] = time.perf_counter() - started
            there = sum(client.run(time.process_time).values()) - there
            stages[count, share] = {**spent, "workers": there, "here": time.process_time() - own}
    fixed = float(
        np.clip(2 * times[2, 1.0] - times[1, 1.0], 0.0, times[1, 1.0])
    )  # T = fixed + work x share / workers
    work = times[1, 1.0] - fixed
    print(
        f"{given.rows:,} rows x 8 -> 10 points, blocks of {block['rows']:,} rows, Dask, seconds of the clock\n"
    )
    print(
        "| worker processes | rows | s | speed-up | by the model | s of the workers' processors | of this process |"
    )
    print("|---|---|---|---|---|---|---|")
    for (count, share), seconds in times.items():
        model = "fitted" if share == 1.0 else f"{fixed + work * share / count:.1f}"
        speed = f"{times[1, 1.0] / seconds:.2f}" if share == 1.0 else "(half of the rows)"
        cpu = f"{stages[count, share]['workers']:.1f} | {stages[count, share]['here']:.1f}"
        print(
            f"| {count} | {int(share * given.rows):,} | {seconds:.1f} | {speed} | {model} | {cpu} |"
        )
    print_stages(times, stages, block, given.rows)
    on_paper(given.rows, fixed, work, block)


def print_stages(times: dict, stages: dict, block: dict, rows: int) -> None:
    """Where the time of one and of two workers goes, and the share that is not work on blocks."""
    names = [name for name in stages[1, 1.0] if name not in ("workers", "here")]
    print(
        "\n| worker processes | "
        + " | ".join(names)
        + " | search, graph | outside blocks, clock | processor |"
    )
    print("|---|" + "---|" * (len(names) + 3))
    inside = -(-rows // block["rows"]) * (block["first_s"] + block["second_s"])
    for count in (1, 2):
        spent, whole = stages[count, 1.0], times[count, 1.0]
        rest, outside = (
            whole - sum(spent.get(name, 0.0) for name in names),
            1.0 - inside / count / whole,
        )
        cells = " | ".join(f"{spent.get(name, 0.0):.1f} s" for name in names)
        busy = 1.0 - inside / (spent["workers"] + spent["here"])
        print(f"| {count} | {cells} | {rest:.1f} s | {100 * outside:.0f} % | {100 * busy:.0f} % |")
    print(
        "\nOutside blocks is all that is not work on blocks, by what one block takes of a processor (below): of the"
    )
    print(
        "clock, which counts waiting for a core, and of the seconds that all processes were busy."
    )


def on_paper(rows: int, fixed: float, work: float, block: dict) -> None:
    """What one block costs and moves, and from it what more rows and workers would."""
    print("\n| | pass 1 | pass 2 |\n|---|---|---|")
    print(
        f"| work on a block, s of the processor | {block['first_s']:.3f} | {block['second_s']:.3f} |"
    )
    print(
        f"| moved for each block | {block['first'] / 1e3:.0f} kB | {block['second'] / 1e3:.0f} kB |"
    )
    print(f"| moved to each worker | the first rows | the plan, {block['plan'] / 1e6:.2f} MB |")
    print(f"\nT = {fixed:.1f} s + {1e9 * work / rows:.0f} ns x rows / workers\n")
    print("| on paper | workers | passes 1 and 2 | moved between workers |\n|---|---|---|---|")
    for n, count in ((10**9, 16), (10**9, 256), (10**12, 256), (10**12, 4096)):
        seconds = fixed + work * n / rows / count
        said = f"{seconds / 3600:.1f} h" if seconds > 7200 else f"{seconds / 60:.1f} min"
        moved = n / block["rows"] * (block["first"] + block["second"]) / 1e9
        print(f"| 10^{len(str(n)) - 1} rows | {count:,} | {said} | {moved:,.0f} GB |")


def one_block(rows: int) -> dict:
    """What one canonical block costs and leaves."""
    import pickle

    from fewer.jobs.points import blocks as _points_blocks
    from fewer.jobs.points import plan as _points_plan
    from fewer.jobs.points import second_pass as _points_second
    from fewer.jobs.points.first_pass import FirstSummary
    from fewer.jobs.points.options import PointsOptions
    from fewer.row_blocks import canonical_rows
    from fewer.tables.source import Block

    X = mixture(canonical_rows(8), 0)
    options = PointsOptions(standardize=False)
    spec = _points_blocks.spec_of(X, 10, options, 0)
    FirstSummary.of(Block(X), spec)  # have everything imported
    started = time.process_time()
    first = FirstSummary.of(Block(X), spec)
    first_s = time.process_time() - started
    plan = _points_plan.plan_of(_points_second.replace(first, rows=rows))
    _points_second.bare_second(Block(X), plan)  # and compiled
    started = time.process_time()
    second = _points_second.bare_second(Block(X), plan)
    second_s = time.process_time() - started
    sizes = {
        name: len(pickle.dumps(value))
        for name, value in (("first", first), ("second", second), ("plan", plan))
    }
    return {"rows": len(X), "first_s": first_s, "second_s": second_s, **sizes}


def block(given) -> None:
    """What the second pass of one block costs in compiled loops and in NumPy, by the number of columns."""
    from fewer.jobs.points import blocks as _points_blocks
    from fewer.jobs.points import narrow as _narrow
    from fewer.jobs.points import plan as _points_plan
    from fewer.jobs.points import second_pass as _points_second
    from fewer.jobs.points.first_pass import FirstSummary
    from fewer.jobs.points.options import PointsOptions
    from fewer.tables.source import Block
    from fewer.threads import one_thread

    _narrow.MAX_NARROW_COLUMNS = 10**6
    print(
        "| columns | rows | compiled, s of processor | NumPy | largest relative difference |\n|---|---|---|---|---|"
    )
    options = PointsOptions(standardize=False)
    for d in (2, 8, 16, 32, 64):
        X = np.random.default_rng(0).normal(size=(32768, d))
        spec = _points_blocks.spec_of(X, 10, options, 0)
        plan = _points_plan.plan_of(
            _points_second.replace(FirstSummary.of(Block(X), spec), rows=50_000_000)
        )
        found, times = [], []
        make = _points_second.NarrowSums.of
        for how in (make, lambda *parts: None):
            _points_second.NarrowSums.of = how
            with one_thread():
                _points_second.bare_second(Block(X), plan)
                started = time.process_time()
                found.append(_points_second.bare_second(Block(X), plan).sums)
                times.append(time.process_time() - started)
        _points_second.NarrowSums.of = make
        off = np.abs(found[0] / found[1] - 1).max()
        print(f"| {d} | {len(X):,} | {times[0]:.3f} | {times[1]:.3f} | {off:.1e} |", flush=True)


def stream(given) -> None:
    """partial_fit over a stream whose centres drift."""
    import fewer

    n, batch = given.stream, 50_000

    def batches(stop: int):
        return (mixture(batch, start, 4.0 * start / n) for start in range(0, stop, batch))

    model = fewer.FewerPoints(k=50, random_state=0)
    print(
        "| rows so far | s of partial_fit | MB | MMD | proven bound | refitted from scratch | s of it |"
    )
    print("|---|---|---|---|---|---|---|")
    spent, done, judge = 0.0, 0, None
    checks = {int(n * share) for share in (0.1, 0.25, 0.5, 1.0)}
    for X in batches(n):
        began = time.process_time()
        model.partial_fit(X)
        spent, done = spent + time.process_time() - began, done + batch
        judge = judge or Judge([model.gamma_, 0.0, 1.0], 512)
        judge.add(X)
        if done in checks:
            now = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 10**6
            true = judge.of(model.points_, model.weights_)[0] ** 0.5
            began = time.process_time()
            stop = done
            fresh = fewer.points(
                lambda stop=stop: batches(stop), 50, gamma=model.gamma_, rng=0, max_memory="64MB"
            )
            again = judge.of(fresh.rows, fresh.weights)[0] ** 0.5
            print(
                f"| {done:,} | {spent:.1f} | {now} | {true:.3g} | {model.error_bound_:.3g} | {again:.3g} | "
                f"{time.process_time() - began:.1f} |",
                flush=True,
            )


PARTS = {
    "block": block,
    "cut": cut,
    "kill": kill,
    "core": core,
    "workers": workers,
    "stream": stream,
}

if __name__ == "__main__":
    main()
