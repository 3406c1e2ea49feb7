"""Reading and encoding a csv beside what polars takes to read it, and the memory that takes.

Two files of two million rows and twenty columns are made: numbers only (336 MB), and mixed (numbers, whole numbers,
texts of four categories, dates). Each way runs in processes of its own, in turn. Their time is taken inside, without
imports and without numba's getting ready (0.2 s, which every search needs too); their peak memory from outside: all
pages, and without those of files (`RssAnon`, looked at every 5 ms, Linux only), as the csv that polars maps belongs to
the system's cache. `fewer` reads as `fewer points FILE` does. "frame" is what nobody can save who first holds a frame
of polars: to read it, to number its texts (a cast to Categorical), and to touch every page of the encoded table once.
"work" is the time of the processor, which a busy machine changes less.
Exits with 1 unless `fewer` reads and encodes in at most 1.3 times the time that `polars.read_csv` takes to read, and
its process needs at most 2.5 times the memory of the encoded table.

Run: python benchmarks/reading.py [--rows 2000000] [--repeats 5]
"""

import argparse
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

MAX_TIME_RATIO, MAX_MEMORY_RATIO = 1.3, 2.5
COLUMNS = 20
WAYS = ("polars", "frame", "fewer")
CHUNK_ROWS = 100_000
PAGE_BYTES = 4096
SAMPLED_SECONDS = 0.005


def made(rng: Any, kind: str, count: int) -> Any:
    """A part of a file."""
    import numpy as np
    import polars as pl

    numbers = COLUMNS if kind == "numbers" else 13
    data: dict[str, Any] = {f"x{i}": np.round(rng.standard_normal(count), 5) for i in range(numbers)}
    if kind == "mixed":
        plans = np.array(["basic", "plus", "premium", "family"])
        data |= {f"plan{i}": plans[rng.integers(0, len(plans), count)] for i in range(4)}
        data |= {f"count{i}": rng.integers(0, 1000, count) for i in range(2)}
        data["day"] = np.datetime64("2020-01-01") + rng.integers(0, 1000, count)
    return pl.DataFrame(data)


def write(path: Path, kind: str, rows: int) -> None:
    """A csv file."""
    import numpy as np

    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for start in range(0, rows, CHUNK_ROWS):
            made(rng, kind, min(CHUNK_ROWS, rows - start)).write_csv(file, include_header=start == 0)


def by_polars(path: str) -> int:
    """The file as a frame; its bytes."""
    import polars as pl

    return int(pl.read_csv(path, try_parse_dates=True).estimated_size())


def by_frame(path: str) -> int:
    """The file as a frame with its texts numbered, and one write to each page of a table as large as the rows."""
    import numpy as np
    import polars as pl

    from fewer.data._blocks import zeros

    frame = pl.read_csv(path, try_parse_dates=True)
    texts = [column.cast(pl.Categorical) for column in frame.get_columns() if column.dtype == pl.String]
    levels = sum(column.head(CHUNK_ROWS).n_unique() for column in texts)
    table = zeros((frame.height, COLUMNS - len(texts) + levels + bool(texts)), np.float64)
    table.reshape(-1)[:: PAGE_BYTES // table.itemsize] = 1.0
    return int(table.nbytes)


def by_fewer(path: str) -> int:
    """The file as encoded rows; their bytes."""
    from fewer.data.encode import encoded
    from fewer.data.files import open_table

    return int(encoded(open_table(path).table()).rows.nbytes)


def child(way: str, path: str) -> None:
    """One reading: imports first, then seconds and bytes on stdout."""
    import polars  # noqa: F401

    if way != "polars":
        import fewer.data._csv
        import fewer.data.encode
        import fewer.data.read_table  # noqa: F401
        from fewer.data.files import compile_ahead

        compile_ahead()
    read = {"polars": by_polars, "frame": by_frame, "fewer": by_fewer}[way]
    began, worked = time.perf_counter(), time.process_time()
    size = read(path)
    print(time.perf_counter() - began, time.process_time() - worked, size)


class Measured(NamedTuple):
    """Seconds, those of the processor, bytes of the answer, and the peak memory of a process of its own."""

    seconds: float
    work: float
    size: int
    memory: int
    anonymous: int


def measured(way: str, path: Path) -> Measured:
    """One reading."""
    anonymous = 0
    with subprocess.Popen([sys.executable, __file__, "--child", way, str(path)], stdout=subprocess.PIPE) as process:  # noqa: S603
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        while not select.select([process.stdout], [], [], SAMPLED_SECONDS)[0]:
            anonymous = max(anonymous, anonymous_bytes(process.pid))
        words = process.stdout.read().split()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or len(words) != 3:
        raise SystemExit(f"{way} failed with {process.returncode}")
    return Measured(float(words[0]), float(words[1]), int(words[2]), usage.ru_maxrss * 1024, anonymous)


def anonymous_bytes(pid: int) -> int:
    """The memory of a process that is no file's; 0 where the system does not say."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:")), 0)


def compare(path: Path, kind: str, repeats: int) -> bool:
    """All ways in turn; whether the bounds hold for the best of each."""
    runs: dict[str, list[Measured]] = {way: [] for way in WAYS}
    for _ in range(repeats):
        for way in WAYS:
            runs[way].append(measured(way, path))
    encoded = runs["fewer"][0].size
    print(f"{kind}: {path.stat().st_size / 1e6:.0f} MB of csv, encoded {encoded / 1e6:.0f} MB, best of {repeats}")
    held = True
    for name in ("work", "seconds"):
        best = {way: min(getattr(run, name) for run in runs[way]) for way in WAYS}
        slower = {way: best[way] / best["polars"] for way in WAYS}
        print(
            f"  {name:9} polars reads {best['polars']:.2f} s, fewer reads and encodes {best['fewer']:.2f} s: ", end=""
        )
        print(f"{slower['fewer']:.2f}x (a frame first: at least {slower['frame']:.2f}x)")
        held &= slower["fewer"] <= MAX_TIME_RATIO
    for name in ("memory", "anonymous"):
        peak = {way: max(getattr(run, name) for run in runs[way]) for way in WAYS}
        print(f"  {name:9} peak {peak['fewer'] / 1e6:.0f} MB (polars {peak['polars'] / 1e6:.0f} MB): ", end="")
        print(f"{peak['fewer'] / encoded:.2f}x of the encoded table")
        held &= peak["fewer"] <= MAX_MEMORY_RATIO * encoded
    return held


def main() -> int:
    """Make the files and measure."""
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    held = True
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("numbers", "mixed"):
            path = Path(folder) / f"{kind}.csv"
            write(path, kind, given.rows)
            held &= compare(path, kind, given.repeats)
            path.unlink()
    print("held" if held else f"BROKEN: expected at most {MAX_TIME_RATIO}x the time and {MAX_MEMORY_RATIO}x the memory")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
