"""How long `fewer` takes to read a csv beside polars and pyarrow alone, and the memory it needs above the columns.

Run: python benchmarks/reading.py [--megabytes 200]
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fewer.cli._read import open_table

COLUMNS = 20
REPEATS = 5


def write(folder: Path, megabytes: int) -> Path:
    """A csv file of about this size: 19 columns of numbers with six digits, and one of names."""
    path = folder / "table.csv"
    rows = megabytes * 10**6 // 170
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for start in range(0, rows, 10**5):
            count = min(10**5, rows - start)
            frame = pl.DataFrame({f"x{i}": np.round(rng.standard_normal(count), 6) for i in range(COLUMNS - 1)})
            named = frame.with_columns(pl.Series("name", [f"n{j}" for j in range(count)]))
            named.write_csv(file, include_header=start == 0)
    return path


def readers(path: Path, names: list[str]) -> dict[str, Callable[[], Any]]:
    """Each gives the named columns as one matrix."""
    found: dict[str, Callable[[], Any]] = {
        "fewer": lambda: open_table(str(path)).numbers(names),
        "polars": lambda: pl.read_csv(path, columns=names).to_numpy(order="c"),
    }
    try:
        import pyarrow.csv as arrow
    except ImportError:
        return found
    wanted = arrow.ConvertOptions(include_columns=names)

    def by_arrow() -> Any:
        table = arrow.read_csv(path, convert_options=wanted)
        return np.column_stack([table[name].to_numpy() for name in names])

    return {**found, "pyarrow": by_arrow}


def compare(path: Path, names: list[str]) -> None:
    """Best of some rounds, taken in turn."""
    ways = readers(path, names)
    best = dict.fromkeys(ways, np.inf)
    for _ in range(REPEATS):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - began)
    fastest = min(seconds for name, seconds in best.items() if name != "fewer")
    shown = "  ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items())
    print(f"{len(names):2d} of {COLUMNS} columns: {shown}  fewer / best other {best['fewer'] / fastest:.2f}")


def peak(path: Path, names: list[str]) -> None:
    """The most memory of a process of its own that reads the columns."""
    done = subprocess.run([sys.executable, __file__, "--peak", str(path), *names], capture_output=True, check=True)  # noqa: S603
    print(f"{len(names):2d} columns: {done.stdout.decode().strip()}")


def most_memory() -> float:
    """The most memory this process has had, in MB (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024


def main() -> None:
    if sys.argv[1:2] == ["--peak"]:
        before = most_memory()
        matrix = open_table(sys.argv[2]).numbers(sys.argv[3:])
        above = most_memory() - before
        print(f"peak {above:.0f} MB above the start, the matrix itself {matrix.nbytes / 2**20:.0f} MB")
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), parser.parse_args().megabytes)
        print(f"{path.name}: {path.stat().st_size / 10**6:.0f} MB")
        every = [f"x{i}" for i in range(COLUMNS - 1)]
        for names in (every[:1], every[:3], every):
            compare(path, names)
        for names in (every[:1], every):
            peak(path, names)


if __name__ == "__main__":
    main()
