"""What a second thread gives: every job on one input of real size, by one thread and by two, in processes of their own.

    python benchmarks/threads.py [--data DIR] [--threads 1,2] [--repeats 3] [--only points,terms]

The numbers of threads of BLAS, numba and OpenMP are told to each process before it starts, and it is bound to as many
cores; `fewer` itself uses as many threads as BLAS has. The processes take turns. Seconds are those of the clock, the
least of several calls after one that compiles, so the machine has to be quiet: the last column has the CPU seconds of
the call with most threads, divided by its seconds of the clock, which is how many cores it had and used. With --data
DIR the returns and USPS are real ones; else returns of the same size are made up, and the digits are scikit-learn's.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")
Call = Callable[[], Any]


def stored(data: Path, file: str, *names: str) -> list[Any] | None:
    """Arrays of a file of real data, if it is there."""
    import numpy as np

    if not (data / file).exists():
        return None
    with np.load(data / file, allow_pickle=False) as found:
        return [found[name] for name in names]


def points_call(data: Path) -> tuple[str, Call]:
    import numpy as np

    from fewer import points

    X = np.random.default_rng(0).normal(size=(50_000, 16)).astype(np.float32)
    return "normal, 50,000 x 16, k = 100", lambda: points(X, 100, rng=0)


def digits_call(data: Path) -> tuple[str, Call]:
    from sklearn.datasets import load_digits

    from fewer import points

    found = stored(data, "usps.npz", "X_train")
    X = load_digits().data if found is None else found[0]
    return (
        f"{'digits' if found is None else 'USPS'}, {len(X):,} x {X.shape[1]}, k = 100",
        lambda: points(X, 100, rng=0),
    )


def bins_call(data: Path) -> tuple[str, Call]:
    import numpy as np

    from fewer import bins

    rng = np.random.default_rng(0)
    A, p = rng.normal(size=(500, 10_000)), rng.dirichlet(np.ones(10_000))
    return "10,000 bins, 500 expectations, k = 100", lambda: bins(
        counts=p, k=100, preserve=A, rng=0
    )


def terms_call(data: Path) -> tuple[str, Call]:
    import numpy as np

    from fewer import terms

    found = stored(
        data, "index_tracking.npz", "sp500_2010_asset_returns", "sp500_2010_index_returns"
    )
    if found is None:
        rng = np.random.default_rng(0)
        returns = 0.01 * (rng.normal(size=(252, 386)) + rng.normal(size=(252, 1)))
        found = [returns, returns @ rng.dirichlet(np.ones(386))]
    X, y = found
    return "252 days x 386 assets, k = 40, `exchange`", lambda: terms(
        X, y, 40, solver="exchange", rng=0
    )


def tall_call(data: Path) -> tuple[str, Call]:
    import numpy as np

    from fewer import terms

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 200)) + rng.normal(size=(100_000, 1))
    y = X @ rng.dirichlet(np.ones(200))
    return "100,000 x 200, k = 20, `exchange`", lambda: terms(X, y, 20, solver="exchange", rng=0)


def dims_call(data: Path) -> tuple[str, Call]:
    import numpy as np
    import scipy.sparse as sp

    from fewer import dims

    rng = np.random.default_rng(0)
    weights = 1.0 / np.arange(1, 1001) ** 0.8
    rows = np.repeat(np.arange(100_000), 6)
    items = rng.choice(1000, size=len(rows), p=weights / weights.sum())
    X = sp.csr_array((np.ones(len(rows)), (rows, items)), shape=(100_000, 1000)) > 0
    return "100,000 baskets of 1,000 items, k = 20, `exchange`", lambda: dims(
        X, 20, solver="exchange", rng=0
    )


CALLS: dict[str, Callable[[Path], tuple[str, Call]]] = {
    "points": points_call,
    "points, pixels": digits_call,
    "bins": bins_call,
    "terms": terms_call,
    "terms, tall": tall_call,
    "dims": dims_call,
}
"""One call for each job; those that prove are run by their search alone, since proofs end by work and not by result."""


def serve(name: str, data: Path) -> None:
    """Answer each line of input by one call: its seconds of the clock and of the processor, and its value."""
    title, call = CALLS[name](data)
    call()
    print(json.dumps(title), flush=True)
    for _ in sys.stdin:
        clock, own = time.perf_counter(), time.process_time()
        value = call().value
        print(
            json.dumps([time.perf_counter() - clock, time.process_time() - own, value]), flush=True
        )


def started(name: str, data: Path, threads: int) -> Any:
    """A process that is told to use so many threads, on so many cores."""
    env = {**os.environ, **{f"{library}_NUM_THREADS": str(threads) for library in THREADS}}
    cores = sorted(os.sched_getaffinity(0))[:threads] if hasattr(os, "sched_getaffinity") else []
    bound = f"import os; os.sched_setaffinity(0, {set(cores)}); " if cores else ""
    code = f"{bound}import threads; from pathlib import Path; threads.serve({name!r}, Path({str(data)!r}))"
    place = {"env": env, "cwd": Path(__file__).parent, "text": True}
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **place)  # noqa: S603


def measured(
    name: str, data: Path, counts: list[int], repeats: int
) -> tuple[str, dict[int, list[float]]]:
    """What the input is, and for each number of threads the fastest call: seconds, CPU seconds, value."""
    processes = {count: started(name, data, count) for count in counts}
    try:
        titles = [json.loads(process.stdout.readline()) for process in processes.values()]
        best: dict[int, list[float]] = {}
        for _ in range(repeats):
            for count, process in processes.items():
                process.stdin.write("\n")
                process.stdin.flush()
                found = json.loads(process.stdout.readline())
                best[count] = min(best.get(count, found), found)
        return titles[0], best
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def main() -> None:
    """One line of a Markdown table for each job."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--threads", default="1,2", help="numbers of threads, separated by commas")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", help="jobs, separated by commas, of " + "; ".join(CALLS))
    args = parser.parse_args()
    counts = [int(count) for count in args.threads.split(",")]
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if min(counts) < 1 or max(counts) > cores:
        parser.error(
            f"--threads must be between 1 and the {cores} cores of this process, got {args.threads}"
        )
    names = [name.strip() for name in args.only.split(",")] if args.only else list(CALLS)
    unknown = [name for name in names if name not in CALLS]
    if unknown:
        parser.error(f"--only must name jobs of {'; '.join(CALLS)}, got {', '.join(unknown)}")
    heads = [f"{count} thread{'s' if count > 1 else ''}, s" for count in counts]
    print("| job | input | " + " | ".join(heads) + " | speed-up | cores used |")
    print("|---" * (len(counts) + 4) + "|")
    for name in names:
        title, best = measured(name, args.data.resolve(), counts, args.repeats)
        first, last = best[counts[0]], best[counts[-1]]
        cells = [f"{best[count][0]:.3g}" for count in counts]
        cells += [f"{first[0] / last[0]:.2f}", f"{last[1] / last[0]:.2f}"]
        print(f"| {name} | {title} | " + " | ".join(cells) + " |", flush=True)
        if abs(first[2] - last[2]) > 1e-6 * abs(first[2]):
            print(
                f"| | the values differ: {first[2]:.6g}, {last[2]:.6g} |"
                + " |" * (len(counts) + 2),
                flush=True,
            )


if __name__ == "__main__":
    main()
