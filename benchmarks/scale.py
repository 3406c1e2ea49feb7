"""Files larger than memory through the command, beside the time in which polars reads them: a table for docs/scaling.md.

    python benchmarks/scale.py [--rows 50000000] [--baskets 100000000] [--max-memory 1GB] [--folder
    build/scale]

Each run is a process of its own: seconds on the clock and of the processor, and the peak of its
memory, which includes the interpreter and all libraries. The files are made once, under --folder.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

FILE_ROWS = 2_500_000
READ = "import sys, polars; [polars.read_parquet(name) for name in sys.argv[1:]]"


class Run(NamedTuple):
    """What a process took, and what it wrote."""

    seconds: float
    cpu: float
    megabytes: float
    output: str


def mixture(n: int, seed: int) -> pl.DataFrame:
    """Rows of a mixture of 12 Gaussians in 8 dimensions."""
    rng = np.random.default_rng(seed)
    centres = 3.0 * np.random.default_rng(99).normal(size=(12, 8))
    weights = np.linspace(2.0, 0.5, 12)
    which = rng.choice(12, n, p=weights / weights.sum())
    return pl.DataFrame(
        centres[which] + rng.normal(size=(n, 8)), schema=[f"x{j}" for j in range(8)]
    )


def baskets(n: int, seed: int) -> pl.DataFrame:
    """Lines of n orders, each one of 20,000 usual baskets; few of these make up most orders."""
    rng, usual = np.random.default_rng(seed), np.random.default_rng(7)
    popularity = 1.0 / np.arange(1, 501) ** 0.9
    sizes = usual.integers(1, 6, 20_000)
    items = usual.choice(500, sizes.sum(), p=popularity / popularity.sum())
    ends = np.cumsum(sizes)
    rank = 1.0 / np.arange(1, 20_001)
    which = rng.choice(20_000, n, p=rank / rank.sum())
    lengths = sizes[which]
    first_lines = np.cumsum(lengths) - lengths
    offset = np.arange(lengths.sum()) - np.repeat(first_lines, lengths)
    order = np.repeat(np.arange(n) + seed * FILE_ROWS, lengths)
    item = items[np.repeat(ends[which] - lengths, lengths) + offset]
    return pl.DataFrame({"order": order.astype(np.int32), "item": item.astype(np.int16)})


def files(folder: Path, make: Any, n: int) -> list[str]:
    """Parquet files that hold n rows or orders, made where they are not there yet."""
    home = folder / f"{make.__name__}-{n}"
    home.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, start in enumerate(range(0, n, FILE_ROWS)):
        path = home / f"{number:03}.parquet"
        if not path.exists():
            make(min(FILE_ROWS, n - start), number).write_parquet(path, row_group_size=250_000)
        paths.append(str(path))
    return paths


def run(*command: str) -> Run:
    """Run a command and return what its process took."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command[:4])} ended with status {status}")
    seconds = time.perf_counter() - began
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


def measure(job: str, paths: list[str], n: int, options: list[str]) -> str:
    """A line of the table."""
    reading = run(sys.executable, "-c", READ, *paths)
    call = run(sys.executable, "-m", "fewer", job, *paths, "--json", "-q", *options)
    (answer,) = json.loads(call.output)["answers"]
    size = sum(Path(path).stat().st_size for path in paths) / 1e9
    times = f"{call.seconds:.0f} ({call.cpu:.0f}) | {reading.seconds:.1f} ({reading.cpu:.1f})"
    value = f"{answer['value']:.4g} | {answer['note']}"
    return f"| {job} | {n:,}, {size:.2f} GB | {times} | {call.megabytes:.0f} MB | {value} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of 8 numbers")
    parser.add_argument("--baskets", type=int, default=2_000_000, help="orders of 500 items")
    parser.add_argument("--max-memory", default="1GB")
    parser.add_argument("--folder", type=Path, default=Path("build/scale"))
    options = parser.parse_args()
    memory = ["--max-memory", options.max_memory]
    orders = ["--order", "order", "--item", "item"]
    print(
        "| job | data | s (processor) | polars reads | peak | value | note |\n" + "|---" * 7 + "|"
    )
    tables = files(options.folder, mixture, options.rows)
    print(measure("points", tables, options.rows, ["-k", "100", *memory]), flush=True)
    tables = files(options.folder, baskets, options.baskets)
    print(measure("dims", tables, options.baskets, ["-k", "50", *orders, *memory]))


if __name__ == "__main__":
    main()
